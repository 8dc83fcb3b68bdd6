/// From which size on a world goes faster along its links than serially, through the public headers; bench/crossover builds and
/// runs it.
///
///     crossover [--quick] [--threads N] [--seconds S]
///
/// Chains on universal joints and trees, both hanging, in lanes of several classes on 1 and N threads (default 2): one call of
/// forward dynamics (ctn_along_aba against ctn_aba), one step of order 2, of alpha, variational and of radau with two stages,
/// in turns, the least of several rounds of about S s each (default 0.01). A gain is the serial time over that along the links.
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLASSES = 4, WAYS = 2 * CLASSES, ROUNDS = 3, STEPS = 2 };
enum { ABA, ORDER_2, ALPHA, VARIATIONAL, RADAU, TASKS };

static const int lanes[CLASSES] = {8, 16, 32, 64};
static const char *const tasks[TASKS] = {"forward dynamics", "a step of order 2", "a step of alpha", "a variational step",
                                         "a step of radau with two stages"};
static const ctn_method methods[TASKS] = {CTN_SEMI_IMPLICIT, CTN_COLLOCATION, CTN_ALPHA, CTN_VARIATIONAL, CTN_RADAU};  // of steps

/// Times of one model: [0] serial, then by class on one thread, then by class on several. s
typedef struct {
    int bodies;
    double time[TASKS][1 + WAYS];
    long serial[TASKS][1 + WAYS];  // steps that went serially
} measured;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int stop(const ctn_error *err)
{
    fprintf(stderr, "crossover: %s\n", err->message);
    exit(1);
}

static ctn_model *model_of(const char *links)
{
    char text[1000];
    ctn_error err;
    snprintf(text, sizeof text, "catena: 1\nname: crossover\nlinks:\n  - %s\n", links);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "crossover", &err);
    ctn_model *const m = scene ? ctn_model_create(scene, &err) : NULL;
    if (!m) stop(&err);
    ctn_scene_free(scene);
    return m;
}

#define ROD "mass: 0.025, com: [0, 0, -0.025], inertia: [7.7e-06, 7.7e-06, 5e-06, 0, 0, 0]"

static ctn_model *chain(int count)
{
    char links[600];
    snprintf(
        links, sizeof links,
        "chain: {name: rod, count: %d, step: [0, 0, -0.05], joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}, " ROD
        "}",
        count);
    return model_of(links);
}

static ctn_model *tree(int depth)
{
    char links[600];
    snprintf(links, sizeof links,
             "tree: {name: twig, depth: %d, branching: 3, step: [0.02, 0, -0.05], joint: {type: universal, axis: [1, 0, 0], "
             "axis2: [0, 1, 0]}, " ROD "}",
             depth);
    return model_of(links);
}

/// A call of one of the ways, some times; s each.
typedef struct {
    ctn_dynamics *dyn;
    ctn_along *along;
    ctn_batch *batch;
    void *start;  // state of the batch
    size_t size;
    const double *q, *v;
    double *out;
} subject;

static double call(const subject *s, int times)
{
    double took = 0;
    for (int k = 0; k < times; k++) {
        if (s->batch) ctn_batch_restore(s->batch, s->start, s->size, NULL);
        const double start = now();
        if (s->dyn) ctn_aba(s->dyn, 1, s->q, s->v, NULL, s->out);
        else if (s->along) ctn_along_aba(s->along, s->q, s->v, NULL, s->out);
        else ctn_batch_step(s->batch, STEPS, NULL, NULL);
        took += now() - start;
    }
    return took / times / (s->batch ? STEPS : 1);
}

static subject open_subject(const ctn_model *m, int task, int way, int threads, const double *q, const double *v, double *out)
{
    ctn_error err;
    subject s = {.q = q, .v = v, .out = out};
    const int class = way ? lanes[(way - 1) % CLASSES] : 0, own = way > CLASSES ? threads : 1;
    if (task == ABA) {
        if (way) s.along = ctn_along_create(m, NULL, own, class, &err);
        else s.dyn = ctn_dynamics_create(m, NULL, &err);
        if (!s.along && !s.dyn) stop(&err);
        return s;
    }
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[task], cfg.dt = 0.005, cfg.threads = own;
    cfg.parallel = way ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, cfg.lanes = class;
    if (!(s.batch = ctn_batch_create(m, &cfg, &err))) stop(&err);
    s.size = ctn_batch_saved_size(s.batch), s.start = malloc(s.size);
    // the first step of alpha finds its accelerations
    if (!s.start || ctn_batch_set_state(s.batch, q, v, 0, &err) != CTN_OK || ctn_batch_step(s.batch, 1, NULL, &err) != CTN_OK)
        stop(&err);
    ctn_batch_save(s.batch, s.start);
    return s;
}

static void close_subject(subject *s)
{
    ctn_dynamics_free(s->dyn), ctn_along_free(s->along), ctn_batch_free(s->batch);
    free(s->start);
}

static measured measure(ctn_model *m, int threads, double seconds)
{
    measured out = {0};
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = calloc(nq, sizeof *q), *const v = calloc(nv, sizeof *v), *const to = calloc(nv, sizeof *to);
    if (!q || !v || !to) exit(1);
    ctn_model_initial_state(m, q, v);
    // small enough for whole steps, however long the chain
    for (size_t k = 0; k < nv; k++) v[k] = ((double)(k * 104729 % 1000) / 1000 - 0.5) / sqrt((double)nv);
    for (int task = 0; task < TASKS; task++) {
        subject s[1 + WAYS];
        int times[1 + WAYS];
        for (int w = 0; w <= WAYS; w++) {
            s[w] = open_subject(m, task, w, threads, q, v, to);
            const long before = ctn_batch_serial_steps(s[w].batch);
            const double once = call(&s[w], 1) * (s[w].batch ? STEPS : 1);
            out.serial[task][w] = ctn_batch_serial_steps(s[w].batch) - before;
            times[w] = once < seconds ? (int)(seconds / once) + 1 : 1;
            out.time[task][w] = INFINITY;
        }
        for (int r = 0; r < ROUNDS; r++)
            for (int w = 0; w <= WAYS; w++) out.time[task][w] = fmin(out.time[task][w], call(&s[w], times[w]));
        if (task == ABA) out.bodies = ctn_along_about(s[1].along).bodies;
        for (int w = 0; w <= WAYS; w++) close_subject(&s[w]);
    }
    free(q), free(v), free(to);
    ctn_model_free(m);
    return out;
}

/// From which size on a way is faster than serially, and stays so; -1: it never is.
static int crossover(const measured *x, int sizes, int task, int way)
{
    int k = sizes;
    while (k && x[k - 1].time[task][way] < x[k - 1].time[task][0]) k--;
    return k < sizes ? x[k].bodies : -1;
}

static void print_table(const char *what, const measured *x, int sizes, int task, int threads)
{
    printf("\n%s, %s: gain over serial; * some steps went serially all the same\n\n| bodies | serial (us) |", what, tasks[task]);
    for (int w = 0; w < WAYS; w++) printf(" %d x %d |", lanes[w % CLASSES], w < CLASSES ? 1 : threads);
    printf("\n|---:|---:|");
    for (int w = 0; w < WAYS; w++) printf("---:|");
    for (int k = 0; k < sizes; k++) {
        printf("\n| %d | %.4g |", x[k].bodies, 1e6 * x[k].time[task][0]);
        for (int w = 1; w <= WAYS; w++)
            printf(" %.2f%s |", x[k].time[task][0] / x[k].time[task][w], x[k].serial[task][w] ? "*" : "");
    }
    printf("\n| pays from | |");
    for (int w = 1; w <= WAYS; w++) {
        const int from = crossover(x, sizes, task, w);
        if (from < 0) printf(" never |");
        else printf(" %d |", from);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static const int chains[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 30000};
    enum { CHAINS = sizeof chains / sizeof *chains, DEEPEST = 9, FIRST = 3 };
    int threads = 2, most = CHAINS, deepest = DEEPEST;
    double seconds = 0.01;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--quick")) most = 5, deepest = 5, seconds = 0.001;
        else if (!strcmp(argv[k], "--threads") && k + 1 < argc) threads = atoi(argv[++k]);
        else if (!strcmp(argv[k], "--seconds") && k + 1 < argc) seconds = atof(argv[++k]);
        else return fprintf(stderr, "usage: bench/crossover [--quick] [--threads N] [--seconds S]\n"), 2;
    }
    measured chain_times[CHAINS], tree_times[DEEPEST];
    for (int k = 0; k < most; k++) {
        fprintf(stderr, "a chain of %d links\n", chains[k]);
        chain_times[k] = measure(chain(chains[k]), threads, seconds);
    }
    fprintf(stderr, "trees\n");
    for (int d = FIRST; d <= deepest; d++) tree_times[d - FIRST] = measure(tree(d), threads, seconds);
    printf("lanes x threads; a universal joint is two bodies; engine as by default\n");
    for (int task = 0; task < TASKS; task++) print_table("chains", chain_times, most, task, threads);
    for (int task = 0; task < TASKS; task++)
        print_table("trees of three branches", tree_times, deepest - FIRST + 1, task, threads);
    return 0;
}
