/// How exactly steps of long ropes are solved, and what that costs, through the public headers; bench/ropes builds and runs it.
///
///     ropes [--most N] [--steps K]
///
/// A rope on universal joints falls from the horizontal (scenes/rope1000.yaml with other numbers of links), K steps (20) by order 2
/// and alpha, of 1 ms, 1/60 s and 0.1 s. A line a case: the largest |q - q'| (rad) between the default tolerance and one of
/// 1e-14, by worlds and along the links; the same between the two schedules; iterations a step; us of wall time a link and step.
/// Tabs between, to be drawn.
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const ctn_error *err)
{
    fprintf(stderr, "ropes: %s\n", err->message);
    exit(1);
}

static ctn_model *rope(int links)
{
    char text[500];
    ctn_error err;
    snprintf(text, sizeof text,
             "catena: 1\nname: rope\nlinks:\n  - chain: {name: rope, count: %d, step: [0.01, 0, 0], joint: {type: universal, "
             "axis: [0, 1, 0], axis2: [0, 0, 1]}, mass: 0.001, com: [0.005, 0, 0], "
             "inertia: [5.0e-8, 3.3333333333e-8, 3.3333333333e-8, 0, 0, 0]}\n",
             links);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "ropes", &err);
    ctn_model *const m = scene ? ctn_model_create(scene, &err) : NULL;
    if (!m) stop(&err);
    ctn_scene_free(scene);
    return m;
}

typedef struct {
    double iterations, seconds;
    long serial;
} cost;

/// q [nq] after the steps.
static cost run(const ctn_model *m, ctn_method method, ctn_parallel parallel, double dt, double tolerance, int steps, double *q)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_step_stats stats;
    ctn_error err;
    double *const v = malloc((size_t)ctn_model_nv(m) * sizeof *v);
    cfg.method = method, cfg.parallel = parallel, cfg.dt = dt;
    if (tolerance > 0) cfg.tolerance = tolerance;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    if (!b || !v) stop(&err);
    const double start = now();
    if (ctn_batch_step(b, steps, &stats, &err) != CTN_OK) stop(&err);
    const cost of = {(double)stats.iterations / steps, now() - start, ctn_batch_serial_steps(b)};
    ctn_batch_state(b, q, v);
    ctn_batch_free(b), free(v);
    return of;
}

static double distance(const double *x, const double *y, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = fmax(most, fabs(x[k] - y[k]));
    return most;
}

int main(int count, char **argument)
{
    static const double dts[] = {0.001, 1. / 60, 0.1};
    static const ctn_method methods[] = {CTN_COLLOCATION, CTN_ALPHA};
    int most = 100000, steps = 20;
    for (int k = 1; k + 1 < count; k += 2) {
        if (!strcmp(argument[k], "--most")) most = atoi(argument[k + 1]);
        else if (!strcmp(argument[k], "--steps")) steps = atoi(argument[k + 1]);
    }
    printf("method\tdt (s)\tlinks\tworlds (rad)\tlinks (rad)\tworlds - links (rad)\titerations\titerations at 1e-14\tworlds (us)\tlinks "
           "(us)\tserial steps\n");
    for (int links = 10; links <= most; links *= 10) {
        ctn_model *const m = rope(links);
        const int nq = ctn_model_nq(m);
        double *const exact = malloc(3 * (size_t)nq * sizeof *exact), *const one = exact + nq, *const along = one + nq;
        for (int k = 0; k < 6; k++) {
            const ctn_method method = methods[k / 3];
            const double dt = dts[k % 3], per = 1e6 / ((double)links * steps);
            const cost finest = run(m, method, CTN_PARALLEL_WORLDS, dt, 1e-14, steps, exact);
            const cost a = run(m, method, CTN_PARALLEL_WORLDS, dt, 0, steps, one);
            const cost b = run(m, method, CTN_PARALLEL_LINKS, dt, 0, steps, along);
            printf("%s\t%.4g\t%d\t%.1e\t%.1e\t%.1e\t%.2f\t%.2f\t%.3f\t%.3f\t%ld\n", ctn_method_name(method), dt, links,
                   distance(one, exact, nq), distance(along, exact, nq), distance(one, along, nq), a.iterations, finest.iterations,
                   per * a.seconds, per * b.seconds, b.serial);
            fflush(stdout);
        }
        free(exact), ctn_model_free(m);
    }
}
