/// Searches on the disk: checkpoints, and scenes with what was found.
#include "control/search_parts.h"

#include "sim/base/new_file.h"
#include "sim/base/status.h"

#include <catena/scene.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// ---- checkpoints

/// What a checkpoint begins with; then the best parameters, then what CMA-ES saves, or numbers of a policy.
typedef struct {
    char magic[16];
    uint64_t of;  // scene, method and episode, hashed
    uint64_t count, size;
    double best, mean, worst;
    int64_t lost, judged;
    uint64_t checksum;  // of all that follows and, with 0 here, of this
} saved_search;

static const char magic[16] = "catena search 2";

static uint64_t identity_of(const search *s)
{
    const ctn_scene *const scene = s->scene;
    const ctn_batch_config *const c = &s->cfg;
    const double numbers[] = {c->method,         c->order,        c->stages,          c->rho,     c->dt, c->solver, c->tolerance,
                              c->max_iterations, c->max_halvings, scene->search.seed, s->duration};
    XXH64_hash_t h = XXH3_64bits(numbers, sizeof numbers);
    if (s->own.earn) h = XXH3_64bits_withSeed(s->own.name, strlen(s->own.name), h);
    for (int k = 0; k < scene->nfile; k++) h = XXH3_64bits_withSeed(scene->files[k].text, scene->files[k].length, h);
    return h;
}

static uint64_t checksum_of(saved_search head, const char *rest, size_t size)
{
    head.checksum = 0;
    return XXH3_64bits_withSeed(rest, size, XXH3_64bits(&head, sizeof head));
}

static size_t state_bytes(const search *s)
{
    return s->policy ? policy_numbers(s->policy) * sizeof(double) : ctn_cma_saved_bytes(s->cma);
}

static ctn_status save_state(const search *s, char *to, size_t size, ctn_error *err)
{
    return s->policy ? policy_flatten(s->policy, false, (double *)(void *)to, err) : ctn_cma_save(s->cma, to, size, err);
}

static ctn_status restore_state(search *s, char *from, size_t size, ctn_error *err)
{
    if (!s->policy) return ctn_cma_restore(s->cma, from, size, err);
    if (size != state_bytes(s)) return fail(err, CTN_BAD_ARGUMENT, "the checkpoint is of another number of worlds");
    return policy_flatten(s->policy, true, (double *)(void *)from, err);
}

ctn_status search_save(const search *s, const char *path, ctn_error *err)
{
    const size_t own = (size_t)s->count * sizeof(double), state = state_bytes(s), size = own + state;
    char *const rest = malloc(size);
    saved_search head = {.of = identity_of(s),
                         .count = (uint64_t)s->count,
                         .size = size,
                         .best = s->best,
                         .mean = s->mean,
                         .worst = s->worst,
                         .lost = s->lost,
                         .judged = s->judged};
    if (!rest) return fail(err, CTN_NO_MEMORY, "not enough memory for a checkpoint");
    memcpy(head.magic, magic, sizeof magic), memcpy(rest, s->best_x, own);
    new_file f = {0};
    ctn_status status = save_state(s, rest + own, state, err);
    if (status == CTN_OK) head.checksum = checksum_of(head, rest, size), status = new_file_open(&f, path, err);
    if (status == CTN_OK) {
        fwrite(&head, sizeof head, 1, f.stream), fwrite(rest, size, 1, f.stream);  // what fails is told when it is closed
        status = new_file_close(&f, true, err);
    }
    free(rest);
    return status;
}

ctn_status search_restore(search *s, const char *path, ctn_error *err)
{
    const size_t own = (size_t)s->count * sizeof(double), most = 1u << 31;
    saved_search head;
    FILE *const f = fopen(path, "rb");
    if (!f) return fail(err, CTN_IO, "%s: cannot be read: %s", path, strerror(errno));
    char *rest = NULL;
    ctn_status status = CTN_OK;
    if (fread(&head, sizeof head, 1, f) != 1 || memcmp(head.magic, magic, sizeof magic) || head.size < own || head.size > most)
        status = fail(err, CTN_BAD_ARGUMENT, "%s: this is no checkpoint of a search, or only its beginning", path);
    else if (head.of != identity_of(s) || head.count != (uint64_t)s->count)
        status =
            fail(err, CTN_BAD_ARGUMENT,
                 "%s: the checkpoint belongs to another scene, reward, method, step, duration or seed: take these, or begin anew "
                 "without --resume",
                 path);
    else if (!(rest = malloc(head.size))) status = fail(err, CTN_NO_MEMORY, "not enough memory for a checkpoint");
    else if (fread(rest, head.size, 1, f) != 1 || checksum_of(head, rest, head.size) != head.checksum)
        status = fail(err, CTN_BAD_ARGUMENT, "%s: the checkpoint is damaged", path);
    if (status == CTN_OK) status = restore_state(s, rest + own, head.size - own, err);
    if (status == CTN_OK) {
        memcpy(s->best_x, rest, own);
        s->best = head.best, s->mean = head.mean, s->worst = head.worst, s->lost = (long)head.lost, s->judged = head.judged;
    }
    fclose(f), free(rest);
    return status;
}

// ---- scenes

/// Where a line and a column of characters (from 1) of a text in UTF-8 are.
static const char *place_in(const char *text, scene_place at)
{
    for (int line = 1; line < at.line && text; line++) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    for (int column = 1; column < at.column && text && *text; column++)
        for (text++; (*text & 0xc0) == 0x80;) text++;
    return text;
}

/// Behind the bracket that ends a list of numbers, comments passed over; NULL: it does not end.
static const char *end_of_list(const char *at)
{
    for (; *at && *at != ']'; at++)
        if (*at == '#') at += strcspn(at, "\n") - 1;
    return *at ? at + 1 : NULL;
}

/// "[...]" of numbers that read back as they are.
static char *list_of(const double *x, int count)
{
    enum { NUMBER = 26 };
    char *const text = malloc((size_t)count * NUMBER + 3), *to = text;
    if (!text) return NULL;
    *to++ = '[';
    for (int k = 0; k < count; k++) to += sprintf(to, k ? ", %.17g" : "%.17g", x[k]);
    *to++ = ']', *to = 0;
    return text;
}

/// Whether a text is a scene whose controller has these parameters.
static bool is_as_found(const ctn_scene *scene, const char *text, const double *parameters, int count)
{
    ctn_error err;
    ctn_scene *const made = ctn_scene_parse(text, strlen(text), scene->path, &err);
    const double *const x = made ? made->controller.parameters : NULL;
    bool same = x && scene_controller_parameters(made, &made->controller) == count;
    for (int k = 0; k < count && same; k++) same = x[k] == parameters[k];
    ctn_scene_free(made);
    return same;
}

char *search_scene(const ctn_scene *scene, const double *parameters, int count, const char *about, ctn_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";  // that some editors begin with
    const char *const whole = scene->files[0].text, *const text = strncmp(whole, mark, 3) ? whole : whole + 3, *from, *to;
    const scene_controller *const c = &scene->controller;
    const char *before = "", *after = "";
    char gap[128] = "";
    if (c->found.line) {
        from = place_in(text, c->found), to = from && *from == '[' ? end_of_list(from) : NULL;
        if (!to)
            return fail(err, CTN_BAD_SCENE,
                        "%s:%d: controller.parameters: write them as a list in brackets, which can be replaced", scene->path,
                        c->found.line),
                   NULL;
    } else {
        from = to = place_in(text, c->at);
        if (!from) return fail(err, CTN_BAD_SCENE, "%s: the controller is not where it was", scene->path), NULL;
        before = "parameters: ";
        if (*from == '{') from++, to++, after = ", ";
        else snprintf(gap, sizeof gap, "\n%*s", c->at.column - 1, ""), after = gap;
    }
    char *const list = list_of(parameters, count);
    const size_t length = strlen(text) + (list ? strlen(list) : 0) + strlen(about) + strlen(before) + strlen(after) + 8;
    char *const made = list ? malloc(length) : NULL;
    if (made) snprintf(made, length, "# %s\n%.*s%s%s%s%s", about, (int)(from - text), text, before, list, after, to);
    else fail(err, CTN_NO_MEMORY, "not enough memory for a scene");
    free(list);
    if (!made || is_as_found(scene, made, parameters, count)) return made;
    free(made);
    fail(err, CTN_BAD_SCENE,
         "%s: what is found cannot be written into this text; give its controller a mapping of its own, and list "
         "parameters in one line",
         scene->path);
    return NULL;
}
