/// Runs and gradients of many worlds side by side (catena/tapes.h) beside those of one world after another (ctn_tape), through the
/// public headers; bench/gradients builds and runs it.
///
///     gradients [--quick] [--seconds S]
///
/// 64 worlds of the scenes below, 16 steps, from states around the scene's, told nothing: a run and the way back from a gradient by
/// the last state, in turns, the least of several rounds of about S s each (default 0.2). One thread. The gradients are compared
/// before they are timed.
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORLDS = 64, STEPS = 16, ROUNDS = 5 };

static const struct {
    const char *scene;
    ctn_method method;
    int stages;
    double dt;
} cases[] = {{"scenes/chain10.yaml", CTN_COLLOCATION, 2, 0.02},  {"scenes/chain10.yaml", CTN_RADAU, 2, 0.02},
             {"scenes/chain10.yaml", CTN_ALPHA, 2, 0.02},        {"scenes/chain10.yaml", CTN_RK4, 2, 0.005},
             {"scenes/humanoid.yaml", CTN_COLLOCATION, 2, 0.01}, {"scenes/spider.yaml", CTN_COLLOCATION, 2, 0.01},
             {"scenes/spider.yaml", CTN_RADAU, 2, 0.01}};

typedef struct {
    ctn_model *model;
    ctn_batch_config cfg;
    ctn_tapes *tapes;
    ctn_tape *tape;
    size_t nq, nv;
    double *q, *v, *by_q, *by_v, *want_q, *want_v, *dq;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const ctn_error *err)
{
    fprintf(stderr, "gradients: %s\n", err->message);
    exit(1);
}

static void back(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                 double *by_q, double *by_v)
{
    const bench *const b = context;
    (void)q, (void)v, (void)by_u, (void)by_tau, (void)by_v;
    for (size_t k = 0; k < WORLDS * b->nv && step == STEPS; k++) by_q[k] += b->dq[STEPS * b->nv + k % b->nv];
}

static void run_tapes(bench *b, int which)
{
    ctn_error err;
    const ctn_tapes_hooks hooks = {.back = back, .context = b};
    if (which == 0 && ctn_tapes_run(b->tapes, STEPS, b->q, b->v, NULL, NULL, &err) != CTN_OK) stop(&err);
    if (which == 1 && ctn_tapes_gradient(b->tapes, &hooks, b->by_q, b->by_v, &err) != CTN_OK) stop(&err);
}

static double timed_alone[2];

static void run_tape(bench *b)
{
    ctn_error err;
    timed_alone[0] = timed_alone[1] = 0;
    for (size_t w = 0; w < WORLDS; w++) {
        const double begin = now();
        if (ctn_tape_run(b->tape, b->q + w * b->nq, b->v + w * b->nv, NULL, &err) != CTN_OK) stop(&err);
        const double middle = now();
        if (ctn_tape_gradient(b->tape, b->dq, NULL, b->want_q + w * b->nv, b->want_v + w * b->nv, NULL, &err) != CTN_OK)
            stop(&err);
        timed_alone[0] += middle - begin, timed_alone[1] += now() - middle;
    }
}

static bench open_bench(const char *path, ctn_method method, int stages, double dt, const char *engine)
{
    ctn_error err;
    bench b = {0};
    ctn_scene *const scene = ctn_scene_load(path, &err);
    if (!scene || !(b.model = ctn_model_create(scene, &err))) stop(&err);
    b.cfg = ctn_scene_config(scene);
    b.cfg.method = method, b.cfg.stages = stages, b.cfg.order = 2, b.cfg.dt = dt, b.cfg.adaptive = false, b.cfg.worlds = WORLDS;
    b.cfg.parallel = CTN_PARALLEL_WORLDS, b.cfg.threads = 1, b.cfg.engine = engine;
    b.tapes = ctn_tapes_create(b.model, &b.cfg, STEPS, true, &err);
    b.cfg.worlds = 1;
    if (!b.tapes || !(b.tape = ctn_tape_create(b.model, &b.cfg, STEPS, &err))) stop(&err);
    b.nq = (size_t)ctn_model_nq(b.model), b.nv = (size_t)ctn_model_nv(b.model);
    b.q = calloc(WORLDS * b.nq, sizeof *b.q), b.v = calloc(WORLDS * b.nv, sizeof *b.v);
    b.by_q = calloc(WORLDS * b.nv, sizeof *b.v), b.by_v = calloc(WORLDS * b.nv, sizeof *b.v);
    b.want_q = calloc(WORLDS * b.nv, sizeof *b.v), b.want_v = calloc(WORLDS * b.nv, sizeof *b.v);
    b.dq = calloc((STEPS + 1) * b.nv, sizeof *b.dq);
    for (size_t w = 0; w < WORLDS; w++) {
        ctn_model_initial_state(b.model, b.q + w * b.nq, b.v + w * b.nv);
        for (size_t k = 0; k < b.nv; k++) b.v[w * b.nv + k] += 0.3 * sin((double)(w * b.nv + k));
    }
    for (size_t k = 0; k < b.nv; k++) b.dq[STEPS * b.nv + k] = cos((double)k);
    ctn_scene_free(scene);
    return b;
}

static void close_bench(bench *b)
{
    ctn_tapes_free(b->tapes), ctn_tape_free(b->tape), ctn_model_free(b->model);
    free(b->q), free(b->v), free(b->by_q), free(b->by_v), free(b->want_q), free(b->want_v), free(b->dq);
}

int main(int argc, char **argv)
{
    double seconds = 0.2;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--quick")) seconds = 0.01;
        else if (!strcmp(argv[k], "--seconds") && k + 1 < argc) seconds = atof(argv[++k]);
        else return fprintf(stderr, "usage: bench/gradients [--quick] [--seconds S]\n"), 2;
    }
    printf("%d worlds, %d steps, one thread: us a world and step; the run and the way back\n", WORLDS, STEPS);
    printf("%-22s %-12s %-8s %10s %10s %10s %10s %8s %8s %9s\n", "scene", "method", "engine", "alone", "back", "in lanes", "back",
           "gain", "back", "bytes");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int e = 0; e < 3; e++) {
            static const char *const engines[] = {"scalar", "avx2", "avx512"};
            ctn_error err;
            ctn_scene *const scene = ctn_scene_load(cases[c].scene, &err);
            ctn_model *const model = scene ? ctn_model_create(scene, &err) : NULL;
            if (!model) stop(&err);
            ctn_dynamics *const dyn = ctn_dynamics_create(model, engines[e], &err);
            const bool here = dyn != NULL;
            ctn_dynamics_free(dyn), ctn_model_free(model), ctn_scene_free(scene);
            if (!here) continue;
            bench b = open_bench(cases[c].scene, cases[c].method, cases[c].stages, cases[c].dt, engines[e]);
            run_tapes(&b, 0), run_tapes(&b, 1), run_tape(&b);
            int compared = 0;
            for (size_t w = 0; w < WORLDS; w++) {
                if (ctn_tapes_lost(b.tapes, (int)w) >= 0) continue;
                compared++;
                for (size_t k = w * b.nv; k < (w + 1) * b.nv; k++)
                    if (b.by_q[k] != b.want_q[k] || b.by_v[k] != b.want_v[k])
                        return fprintf(stderr, "gradients: other bits\n"), 1;
            }
            double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
            for (int r = 0; r < ROUNDS; r++) {
                const double begin = now();
                while (now() - begin < seconds) {
                    run_tape(&b);
                    least[0] = fmin(least[0], timed_alone[0]), least[1] = fmin(least[1], timed_alone[1]);
                    for (int which = 0; which < 2; which++) {
                        const double before = now();
                        run_tapes(&b, which);
                        least[2 + which] = fmin(least[2 + which], now() - before);
                    }
                }
            }
            const double each = 1e6 / (WORLDS * STEPS);
            printf("%-22s %-12s %-8s %10.2f %10.2f %10.2f %10.2f %8.2f %8.2f %9zu%s\n", cases[c].scene,
                   ctn_method_name(cases[c].method), engines[e], each * least[0], each * least[1], each * least[2],
                   each * least[3], least[0] / least[2], least[1] / least[3], ctn_tapes_bytes(b.tapes) / WORLDS,
                   compared < WORLDS ? "  (some worlds lost)" : "");
            fflush(stdout);
            close_bench(&b);
        }
    return 0;
}
