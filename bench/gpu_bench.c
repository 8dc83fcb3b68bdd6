/// How many steps of how many worlds a second, through the public header; for tools/gpu-check.
///
///     gpu_bench SCENE METHOD DT WORLDS STEPS SECONDS ENGINE [LANES]
///
/// Calls of STEPS steps, each from the scene's start with the worlds pushed apart, until SECONDS have passed, at least three,
/// after one that does not count. METHOD as in bench/README.md, without keys: the rest is as by default. Prints steps of a world
/// in a second of the median call, how far apart the fastest and the slowest were, the share of frozen worlds, and the batch's
/// memory in bytes. With LANES worlds go along their links, among so many lanes (0: by the model), and the share of steps made
/// serially is printed, too.
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_CALLS = 1000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int stop(const ctn_error *err)
{
    fprintf(stderr, "gpu_bench: %s\n", err->message);
    return 1;
}

/// Worlds at the start of the model, with velocities of their own.
static void push_apart(const ctn_model *m, int worlds, double *q, double *v)
{
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    for (size_t w = 0; w < (size_t)worlds; w++) {
        ctn_model_initial_state(m, q + w * nq, v + w * nv);
        for (size_t k = 0; k < nv; k++) v[w * nv + k] += 0.5 * ((double)((w * 7919 + k * 104729) % 1000) / 1000 - 0.5);
    }
}

/// Times calls and prints what came out.
static int measure(ctn_batch *b, const double *q, const double *v, int steps, double seconds)
{
    ctn_error err;
    double took[MOST_CALLS];
    const int worlds = ctn_batch_configuration(b)->worlds;
    ctn_step_stats *const stats = calloc((size_t)worlds, sizeof *stats);
    if (!stats) return 1;
    int calls = -1, frozen = 0;
    for (double end = 0; calls < 3 || (now() < end && calls < MOST_CALLS); calls++) {
        if (ctn_batch_set_state(b, q, v, 0, &err) != CTN_OK) return free(stats), stop(&err);
        const double start = now();
        const ctn_status status = ctn_batch_step(b, steps, NULL, &err);
        if (status != CTN_OK && status != CTN_FROZEN) return free(stats), stop(&err);
        if (calls < 0) end = now() + seconds;
        else took[calls] = now() - start;
    }
    ctn_batch_step(b, 0, stats, NULL);
    for (int w = 0; w < worlds; w++) frozen += stats[w].frozen != CTN_RUNNING;
    free(stats);
    qsort(took, (size_t)calls, sizeof *took, compare);
    const double serial = (double)ctn_batch_serial_steps(b) / ((double)worlds * steps * (calls + 1));
    printf("%.4g %.2f %.4g %zu", (double)worlds * steps / took[calls / 2], took[calls - 1] / took[0], (double)frozen / worlds,
           ctn_batch_bytes(b));
    if (ctn_batch_lanes(b)) printf(" %.3g", serial);
    printf("\n");
    return 0;
}

int main(int count, char **argument)
{
    ctn_error err;
    if (count != 8 && count != 9)
        return fprintf(stderr, "usage: gpu_bench SCENE METHOD DT WORLDS STEPS SECONDS ENGINE [LANES]\n"), 2;
    ctn_scene *const scene = ctn_scene_load(argument[1], &err);
    ctn_model *const m = scene ? ctn_model_create(scene, &err) : NULL;
    ctn_batch_config cfg = ctn_batch_config_default();
    if (!m || ctn_method_from_name(argument[2], &cfg.method, &err) != CTN_OK) return stop(&err);
    cfg.dt = atof(argument[3]), cfg.worlds = atoi(argument[4]), cfg.engine = argument[7], cfg.threads = 0;
    if (count == 9) cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = atoi(argument[8]);
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    if (!b) return stop(&err);
    const size_t worlds = (size_t)cfg.worlds;
    double *const q = calloc(worlds, (size_t)ctn_model_nq(m) * sizeof *q), *const v = calloc(worlds,
                                                                                             (size_t)ctn_model_nv(m) * sizeof *v);
    if (!q || !v) return fprintf(stderr, "gpu_bench: not enough memory\n"), 1;
    push_apart(m, cfg.worlds, q, v);
    const int status = measure(b, q, v, atoi(argument[5]), atof(argument[6]));
    free(q), free(v);
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    return status;
}
