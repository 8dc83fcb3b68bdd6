/// Reads states and checks them: every complaint names the state and the key.
#include "cli/commands/states.h"

#include "cli/base/message.h"
#include "sim/base/suggest.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const state_outputs[] = {"R",
                                     "p",
                                     "link_com",
                                     "twist",
                                     "M",
                                     "bias",
                                     "passive",
                                     "tau_id",
                                     "qdd_fd",
                                     "kinetic",
                                     "potential",
                                     "momentum_linear",
                                     "momentum_angular",
                                     "tree_com",
                                     "J_last",
                                     NULL};

enum { INPUTS = 4, MOST_ERRORS = 20, MOST_NAMES = 32 };
static const char *const inputs[INPUTS] = {"q", "v", "a", "tau_ext"};

typedef struct reading {
    const char *path;
    int errors;
} reading;

/// Counts errors; false once there are enough of them.
static bool complain(reading *r) { return ++r->errors <= MOST_ERRORS; }

/// The whole of a stream, terminated; NULL on error, which is printed.
static char *read_all(const char *path, int *status)
{
    errno = 0;
    FILE *const in = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    char *text = NULL;
    size_t used = 0, size = 0;
    bool memory = true;
    for (size_t n = 1; in && n && memory; used += n) {
        if (size - used < 2) {
            size = size ? 2 * size : 1 << 16;
            char *const larger = realloc(text, size);
            if (!larger) {
                memory = false;
                break;
            }
            text = larger;
        }
        n = fread(text + used, 1, size - used - 1, in);
    }
    const bool bad = !in || ferror(in);
    *status = !memory ? run_error("not enough memory for %s", path)
              : bad   ? usage_error("%s: cannot be read: %s", path, strerror(errno))
                      : EXIT_OK;
    if (in && in != stdin) fclose(in);
    if (*status == EXIT_OK) {
        text[used] = 0;
        if (memchr(text, 0, used)) *status = usage_error("%s: not JSON: it contains a zero byte", path);
    }
    if (*status != EXIT_OK) free(text), text = NULL;
    return text;
}

/// Python and others write NaN and Infinity, which JSON does not have. They become a text of the same length here, so that the
/// complaint can name the state and the key instead of a place in the file.
static void replace_not_finite(char *text)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (char *c = text; *c; c++) {
        if (quoted && *c == '\\' && c[1]) c++;
        else if (*c == '"') quoted = !quoted;
        for (int w = 0; w < 3 && !quoted; w++) {
            const size_t length = strlen(words[w]);
            if (strncmp(c, words[w], length)) continue;
            memset(c, ' ', length);
            memcpy(c, "\"?\"", 3);
            c += length - 1;
            break;
        }
    }
}

static cJSON *parse(const char *path, char *text, int *status)
{
    const char *end = NULL;
    if (!text[strspn(text, " \t\r\n")]) {
        *status = usage_error("%s: empty; expected an object with a list 'states', or a list of states", path);
        return NULL;
    }
    replace_not_finite(text);
    cJSON *const root = cJSON_ParseWithOpts(text, &end, 1);
    if (root) return root;
    int line = 1, column = 1;
    for (const char *c = text; c < end; c++) column = *c == '\n' ? line++, 1 : column + 1;
    *status = usage_error("%s:%d:%d: not JSON", path, line, column);
    return NULL;
}

/// Reads `item`, the value of `key`, into row [n].
static bool read_row(reading *r, int state, const char *key, const cJSON *item, double *row, int n)
{
    if (!cJSON_IsArray(item)) {
        if (complain(r)) usage_error("%s: state %d: %s: expected a list of %d number%s", r->path, state, key, n, plural(n));
        return false;
    }
    const int found = cJSON_GetArraySize(item);
    if (found != n) {
        if (complain(r))
            usage_error("%s: state %d: %s: expected %d number%s, found %d", r->path, state, key, n, plural(n), found);
        return false;
    }
    int k = 0;
    for (const cJSON *x = item->child; x; x = x->next, k++) {
        row[k] = x->valuedouble;
        if (cJSON_IsNumber(x) && isfinite(row[k])) continue;
        if (complain(r)) usage_error("%s: state %d: %s[%d]: expected a finite number", r->path, state, key, k);
        return false;
    }
    return true;
}

/// Quaternions of row q to unit length.
static void normalise(reading *r, int state, const ctn_model *model, double *q)
{
    for (int l = 0; l < ctn_model_nlink(model); l++) {
        const ctn_link *const link = ctn_model_link(model, l);
        if (link->joint != CTN_BALL && link->joint != CTN_FREE) continue;
        double *const x = q + link->qadr + link->nq - 4;
        const double most = fmax(fmax(fabs(x[0]), fabs(x[1])), fmax(fabs(x[2]), fabs(x[3])));
        if (most > 1e100)  // the squares might overflow
            for (int k = 0; k < 4; k++) x[k] /= most;
        const double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
        if (length < 1e-6) {
            if (complain(r)) usage_error("%s: state %d: q: the quaternion of link '%s' is zero", r->path, state, link->name);
            return;
        }
        for (int k = 0; k < 4; k++) x[k] /= length;
    }
}

static void unknown_key(reading *r, int state, const char *key)
{
    const char *names[MOST_NAMES];
    int n = 0;
    for (int i = 0; i < INPUTS; i++) names[n++] = inputs[i];
    for (int i = 0; state_outputs[i]; i++) {
        if (!strcmp(key, state_outputs[i])) return;
        names[n++] = state_outputs[i];
    }
    const char *const meant = nearest_name(key, names, n);
    if (!complain(r)) return;
    if (meant) usage_error("%s: state %d: %.40s: unknown key; did you mean '%s'?", r->path, state, key, meant);
    else usage_error("%s: state %d: %.40s: unknown key; a state has q, v, a, tau_ext", r->path, state, key);
}

static void read_state(reading *r, const ctn_model *model, const cJSON *item, int i, states *s)
{
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    double *const rows[INPUTS] = {s->given + (size_t)i * nq, s->v + (size_t)i * nv, s->a + (size_t)i * nv,
                                  s->tau + (size_t)i * nv};
    bool seen[INPUTS] = {false}, have_q = false;
    if (!cJSON_IsObject(item)) {
        if (complain(r)) usage_error("%s: state %d: expected an object with q, v, a, tau_ext", r->path, i);
        return;
    }
    for (const cJSON *value = item->child; value; value = value->next) {
        int k = 0;
        while (k < INPUTS && strcmp(inputs[k], value->string)) k++;
        if (k == INPUTS) {
            unknown_key(r, i, value->string);
        } else if (seen[k]) {
            if (complain(r)) usage_error("%s: state %d: %s: given twice", r->path, i, inputs[k]);
        } else {
            const bool ok = read_row(r, i, inputs[k], value, rows[k], (int)(k ? nv : nq));
            seen[k] = true;
            have_q = have_q || (ok && !k);
        }
    }
    if (!seen[0] && complain(r)) usage_error("%s: state %d: q: missing", r->path, i);
    if (!have_q) return;
    memcpy(s->q + (size_t)i * nq, rows[0], nq * sizeof *s->q);
    normalise(r, i, model, s->q + (size_t)i * nq);
}

/// Sizes that the file states must be those of the model: it may belong to another one.
static void check_sizes(reading *r, const cJSON *root, const ctn_model *model)
{
    const struct {
        const char *key;
        int size;
    } sizes[] = {{"nlinks", ctn_model_nlink(model)}, {"nq", ctn_model_nq(model)}, {"nv", ctn_model_nv(model)}};
    for (int i = 0; i < 3; i++) {
        const cJSON *const item = cJSON_GetObjectItemCaseSensitive(root, sizes[i].key);
        if (!item || (cJSON_IsNumber(item) && item->valuedouble == sizes[i].size)) continue;
        if (complain(r))
            usage_error("%s: %s: the scene has %d; are these states of another model?", r->path, sizes[i].key, sizes[i].size);
    }
}

static int read_list(const char *path, const ctn_model *model, const cJSON *root, states *s)
{
    reading r = {.path = path};
    const cJSON *const list = cJSON_IsArray(root) ? root : cJSON_GetObjectItemCaseSensitive(root, "states");
    if (!cJSON_IsArray(list)) return usage_error("%s: expected an object with a list 'states', or a list of states", path);
    if (cJSON_IsObject(root)) check_sizes(&r, root, model);
    const size_t count = (size_t)cJSON_GetArraySize(list), nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    s->count = (int)count;
    s->given = calloc(count * nq + 1, sizeof(double));
    s->q = calloc(count * nq + 1, sizeof(double));
    s->v = calloc(count * nv + 1, sizeof(double));
    s->a = calloc(count * nv + 1, sizeof(double));
    s->tau = calloc(count * nv + 1, sizeof(double));
    if (!s->given || !s->q || !s->v || !s->a || !s->tau) return run_error("not enough memory for %zu states", count);
    int i = 0;
    for (const cJSON *item = list->child; item; item = item->next, i++) read_state(&r, model, item, i, s);
    if (r.errors > MOST_ERRORS) usage_error("%s: ... and %d more errors", path, r.errors - MOST_ERRORS);
    return r.errors ? EXIT_USAGE : EXIT_OK;
}

int states_read(const char *path, const ctn_model *model, states *s)
{
    int status;
    *s = (states){0};
    char *const text = read_all(path, &status);
    if (!strcmp(path, "-")) path = "standard input";
    if (!text) return status;
    cJSON *const root = parse(path, text, &status);
    free(text);
    if (!root) return status;
    status = read_list(path, model, root, s);
    cJSON_Delete(root);
    if (status != EXIT_OK) states_free(s);
    return status;
}

void states_free(states *s)
{
    free(s->given), free(s->q), free(s->v), free(s->a), free(s->tau);
    *s = (states){0};
}
