/// Times the papers' forms (catena/forms.h): reads cases, a line each, and answers each with a line of numbers. For bench/forms.
///
///     FORM N BRANCHING COUNT THREADS SECONDS   ->   least median repeats tree_bytes work_bytes
///
/// FORM: rnea, twists, rootfix, crba, packed with :serial, :blelloch, :blocked, :simulated, :paths; forward:serial, :jsiia,
/// :hybrid, :star; tour; engine:rnea, :crba, :aba, which are the library's for models (chains alone). BRANCHING as
/// ctn_tree_generate() has it. COUNT states a call; THREADS of the forms, or cuda: on a GPU. Times are in s a call: the least and
/// the median of all calls within SECONDS, at least 3 after one to warm up. crba is by rows, in blocks that stay in the cache:
/// the whole is computed, and not kept.
#define _GNU_SOURCE
#include <catena/catena.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 100000, BLOCK_OF_ROWS = 32 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double drawn(unsigned long long *state)  // in -1 .. 1
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

typedef struct {
    char form[16], kind[16], where[16];
    int n, count, threads;
    double branching, seconds;
    ctn_tree *tree;
    ctn_forms *forms;
    ctn_model *model;
    ctn_dynamics *engine;
    double *q, *v, *a, *out;  // [count][n]; out has room for any result
    ctn_error err;
} bench_case;

static const char *const scans[] = {"serial", "blelloch", "blocked", "simulated", "paths"};
static const char *const forwards[] = {"serial", "jsiia", "hybrid", "star"};

static int among(const char *const *names, int count, const char *name)
{
    for (int k = 0; k < count; k++)
        if (!strcmp(names[k], name)) return k;
    return -1;
}

/// The cylinders as a scene: a chain of hinges along z.
static ctn_model *chain_model(int n, ctn_error *err)
{
    char text[512];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - chain:\n      name: c\n      count: %d\n      step: [1, 0, 0]\n      joint: {type: "
             "revolute, axis: [0, 0, 1]}\n"
             "      mass: 1\n      com: [0.5, 0, 0]\n      inertia: [0.0025, %.17g, %.17g, 0, 0, 0]\n",
             n, 1.015 / 12, 1.015 / 12);
    ctn_scene *scene = ctn_scene_parse(text, strlen(text), "chain", err);
    ctn_model *m = scene ? ctn_model_create(scene, err) : NULL;
    ctn_scene_free(scene);
    return m;
}

/// One call; 0: done.
static int call(bench_case *c)
{
    const int scan = among(scans, 5, c->kind), forward = among(forwards, 4, c->kind);
    if (!strcmp(c->form, "tour")) {
        ctn_tree *t = ctn_tree_generate(c->n, c->branching, 1, c->threads, &c->err);
        ctn_tree_free(t);
        return !t;
    }
    if (!strcmp(c->form, "engine")) {
        if (!strcmp(c->kind, "rnea")) ctn_rnea(c->engine, c->count, c->q, c->v, c->a, c->out);
        else if (!strcmp(c->kind, "crba")) ctn_crba(c->engine, c->count, c->q, c->out);
        else if (!strcmp(c->kind, "aba")) ctn_aba(c->engine, c->count, c->q, c->v, c->a, c->out);
        else return 1;
        return 0;
    }
    if (!strcmp(c->form, "forward") && forward >= 0)
        return (int)ctn_forms_forward(c->forms, (ctn_forward)forward, c->count, c->q, c->v, c->a, c->out, &c->err);
    if (scan < 0) return 1;
    if (!strcmp(c->form, "rnea"))
        return (int)ctn_forms_rnea(c->forms, (ctn_scan)scan, c->count, c->q, c->v, c->a, c->out, &c->err);
    if (!strcmp(c->form, "twists")) return (int)ctn_forms_twists(c->forms, (ctn_scan)scan, c->q, c->v, c->out, &c->err);
    if (!strcmp(c->form, "rootfix")) return (int)ctn_forms_rootfix(c->forms, (ctn_scan)scan, c->q, c->out, &c->err);
    if (!strcmp(c->form, "packed")) return (int)ctn_forms_crba_packed(c->forms, (ctn_scan)scan, c->q, c->out, &c->err);
    if (strcmp(c->form, "crba")) return 1;
    if (ctn_forms_crba_begin(c->forms, (ctn_scan)scan, c->q, &c->err)) return 1;
    for (int first = 0; first < c->n; first += BLOCK_OF_ROWS)
        if (ctn_forms_crba_rows(c->forms, first, c->n - first < BLOCK_OF_ROWS ? c->n - first : BLOCK_OF_ROWS, c->out, &c->err))
            return 1;
    return 0;
}

/// Room and states; 0: made.
static int make(bench_case *c)
{
    const size_t n = (size_t)c->n, states = (size_t)c->count * n;
    const int engine = !strcmp(c->form, "engine"), wide = !strcmp(c->form, "rootfix") || !strcmp(c->form, "twists");
    size_t out = states;
    if (!strcmp(c->form, "tour")) return 0;
    if (engine) {
        c->model = c->branching == 1 ? chain_model(c->n, &c->err) : NULL;
        c->engine = c->model ? ctn_dynamics_create(c->model, NULL, &c->err) : NULL;
        if (!c->engine) return 1;
        if (!strcmp(c->kind, "crba")) out = states * n;
    } else {
        c->tree = ctn_tree_generate(c->n, c->branching, 1, 0, &c->err);
        if (c->tree && c->threads) c->forms = ctn_forms_create(c->tree, c->threads, &c->err);
        else if (c->tree) c->forms = ctn_forms_create_on(c->tree, c->where, &c->err);
        if (!c->forms) return 1;
        ctn_forms_set_limit(c->forms, (size_t)1 << 33);
        if (wide) out = 6 * n;
        if (!strcmp(c->form, "packed")) out = ctn_tree_pairs(c->tree, NULL);
        if (!strcmp(c->form, "crba")) out = BLOCK_OF_ROWS * n;
    }
    const size_t in = wide ? 6 * n : states;
    c->q = malloc(in * sizeof *c->q), c->v = malloc(states * sizeof *c->v), c->a = malloc(states * sizeof *c->a);
    c->out = malloc(out * sizeof *c->out);
    if (!c->q || !c->v || !c->a || !c->out) return 1;
    unsigned long long state = 7;
    for (size_t k = 0; k < in; k++) c->q[k] = 3 * drawn(&state);
    for (size_t k = 0; k < states; k++) c->v[k] = drawn(&state), c->a[k] = drawn(&state);
    return 0;
}

int main(void)
{
    static double times[MOST];
    char line[256], form[32];
    while (fgets(line, sizeof line, stdin)) {
        bench_case c = {0};
        if (sscanf(line, "%31s %d %lf %d %15s %lf", form, &c.n, &c.branching, &c.count, c.where, &c.seconds) != 6 ||
            sscanf(form, "%15[^:]:%15s", c.form, c.kind) < 1) {
            printf("refused: not a case: %s", line);
        } else if (c.threads = atoi(c.where), make(&c) || call(&c)) {
            printf("refused: %s\n", c.err.message[0] ? c.err.message : "no such form, or no memory");
        } else {
            int repeats = 0;
            for (const double begin = now(); repeats < MOST && (repeats < 3 || now() - begin < c.seconds); repeats++) {
                const double before = now();
                if (call(&c)) break;
                times[repeats] = now() - before;
            }
            qsort(times, (size_t)repeats, sizeof *times, by_size);
            printf("%.9g %.9g %d %zu %zu\n", times[0], times[repeats / 2], repeats, ctn_tree_bytes(c.tree),
                   ctn_forms_bytes(c.forms));
        }
        fflush(stdout);
        ctn_forms_free(c.forms), ctn_tree_free(c.tree), ctn_dynamics_free(c.engine), ctn_model_free(c.model);
        free(c.q), free(c.v), free(c.a), free(c.out);
    }
    return 0;
}
