/// Fuzzing of the readers of scenes and robots: any bytes give a scene or an error that says where, never a crash. Lines
/// "<?file NAME?>" cut an input into files, as recordings hold them: what comes before the first one, and then what it reads, in
/// that order: included scenes and robots, meshes, tables.
/// Built with libFuzzer (CATENA_FUZZ), or with tests/fuzz/replay.c, which runs the corpus through it.
#define _GNU_SOURCE  // memmem
#include "sim/scene/scene.h"
#include "tests/fuzz/claim.h"

#include <catena/catena.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FOLDER "nowhere/"
enum { MOST_FILES = 8, MOST_LINKS = 50 };

static void check_error(const ctn_error *err)
{
    claim(err->status == CTN_BAD_SCENE || err->status == CTN_UNAVAILABLE || err->status == CTN_IO);
    claim(err->count >= 1 && err->count <= 20);
    claim(memchr(err->message, 0, sizeof err->message) != 0);
    int lines = 1;
    for (const char *c = err->message; *c; c++) lines += *c == '\n';
    const char *const last = strrchr(err->message, '\n');
    claim(lines == err->count + (last && !strncmp(last, "\n... and ", strlen("\n... and "))));
    claim(err->message[0] == '/' || !strncmp(err->message, FOLDER, strlen(FOLDER)));
}

static int all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static int unit(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return fabs(sum - 1) < 1e-12;
}

static void check_scene(const ctn_scene *scene)
{
    int nq = 0, nv = 0;
    claim(scene->nlink > 0);
    claim(ctn_scene_name(scene) && ctn_scene_text(scene) && ctn_scene_warnings(scene));
    claim(all_finite(scene->gravity, 3) && isfinite(scene->duration));
    for (int i = 0; i < scene->nlink; i++) {
        const scene_link *const link = &scene->links[i];
        const scene_joint *const joint = &link->joint;
        claim(link->name && *link->name && strlen(link->name) <= 255);
        claim(link->parent >= -1 && link->parent < i);
        claim(link->mass >= 0 && all_finite(&link->mass, 1) && all_finite(link->com, 3) && all_finite(link->inertia, 6));
        claim(all_finite(link->position, 3) && unit(link->rotation, 4));
        claim(unit(joint->axis, 3) && unit(joint->axis2, 3));
        claim(all_finite(joint->q0, 7) && all_finite(joint->v0, 6) && all_finite(joint->rest, 4));
        claim(joint->type != CTN_BALL || (unit(joint->q0, 4) && unit(joint->rest, 4)));
        claim(joint->type != CTN_FREE || (unit(joint->q0 + 3, 4) && link->parent == -1));
        nq += joint_nq(joint->type), nv += joint_nv(joint->type);
    }
    claim(nq == scene->nq && nv == scene->nv);
    for (int i = 0; i < scene->nload; i++) {
        const scene_load *const l = &scene->loads[i];
        claim(l->link >= 0 && l->link < scene->nlink && l->stiffness >= 0 && l->damping >= 0);
        claim(isfinite(l->stiffness) && isfinite(l->damping) && all_finite(l->point, 3) && all_finite(l->anchor, 3));
    }
    for (int i = 0; i < scene->fluid.ndrag; i++) {
        const scene_drag *const d = &scene->fluid.drag[i];
        claim(d->link >= 0 && d->link < scene->nlink && d->damping >= 0 && d->damping + d->axial >= -1e-12 * d->damping);
        claim(isfinite(d->damping) && isfinite(d->axial) && all_finite(d->point, 3) && all_finite(d->axis, 3));
    }
    for (int i = 0; i < scene->ncamera; i++) {
        const scene_camera *const c = &scene->cameras[i];
        claim(c->link >= (c->type == CAMERA_ORBIT ? -1 : 0) && c->link < scene->nlink);
        claim(unit(c->look, 3) && unit(c->up, 3) && !(c->distance <= 0) && !isinf(c->distance) && !(c->field <= 0) &&
              c->smooth >= 0);
    }
}

/// What can be read has a model, or an error.
static void compile(ctn_scene *scene)
{
    ctn_error err = {0};
    ctn_model *const model = ctn_model_create(scene, &err);
    claim(model ? ctn_model_nq(model) == scene->nq && ctn_model_nv(model) == scene->nv : err.status != CTN_OK && err.message[0]);
    ctn_model_free(model);
}

/// Cuts a text, which ends with a zero, into files; returns how many they are. Their paths are the caller's.
static int cut(char *text, size_t size, scene_file *files)
{
    static const char begin[] = "\n<?file ", end[] = "?>\n";
    char *const stop = text + size;
    int count = 0;
    for (char *at = text, *next, *name = "fuzz.yaml"; at && count < MOST_FILES; at = next) {
        char *const cut_at = memmem(at, (size_t)(stop - at), begin, sizeof begin - 1);
        char *const name_at = cut_at ? cut_at + sizeof begin - 1 : NULL;
        char *const name_ends = name_at ? memmem(name_at, (size_t)(stop - name_at), end, sizeof end - 1) : NULL;
        next = name_ends ? name_ends + sizeof end - 1 : NULL;
        scene_file *const f = &files[count++];
        *f = (scene_file){.text = at, .length = (size_t)((name_ends ? cut_at : stop) - at)};
        const size_t room = sizeof FOLDER + strlen(name);
        if ((f->path = malloc(room))) snprintf(f->path, room, "%s%s", FOLDER, name);
        claim(f->path != NULL);
        if (!name_ends) continue;
        *cut_at = *name_ends = 0, name = name_at;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ctn_error err = {0};
    scene_file files[MOST_FILES];
    char *const text = malloc(size + 1);
    claim(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    const int count = cut(text, size, files);
    // of one file the folder does not exist, so that nothing is included by a relative name
    ctn_scene *const scene = count > 1 ? scene_from_files(files, count, &err) : ctn_scene_parse(text, size, files[0].path, &err);
    if (scene) check_scene(scene);
    else check_error(&err);
    if (scene && scene->nlink <= MOST_LINKS) compile(scene);
    ctn_scene_free(scene);
    for (int i = 0; i < count; i++) free(files[i].path);
    free(text);
    return 0;
}
