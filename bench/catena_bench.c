/// The worker that measures catena, through its public header alone. run.py talks to it; bench/README.md explains the cases.
///
///     catena_bench MODELS
///     about MODEL                                          version, engine
///     eval MODEL ALGORITHM STATES FILE                     results of the first STATES states into FILE
///     dynamics MODEL ALGORITHM COUNT SECONDS               ns a state, COUNT states a call
///     steps MODEL METHOD WORLDS DT STEPS SECONDS           ns a step and world, from the model's first states
///     many MODEL METHOD WORLDS THREADS SCHEDULE DT SHARE STEPS SECONDS
///                                                          wall time of such steps, the least in SECONDS; worlds beyond the
///                                                          model's states take these again; SCHEDULE: auto, iteration, step;
///                                                          three worlds in four have a time step of SHARE DT
///     work MODEL METHOD WORLDS DT STEPS                    untimed: iterations, evaluations, residual of such steps
///     path MODEL METHOD DT DURATION LIMIT X Y Z            untimed, one world from the first state: energies, a point of the last
///                                                          link, and whether it survived: finite, and the energy never above
///                                                          the start by LIMIT times (energy at the start - at zero coordinates)
///     knows MODEL METHOD                                   whether the library has that method, and it takes that model
///     finish MODEL METHOD WORLDS DT STEPS SECONDS X Y Z FILE
///                                                          time of such a run by the wall clock, the least in SECONDS; where its first world ends:
///                                                          origins of all links and a point of the last one into FILE
///     survive MODEL METHOD DT DURATION MOST CPU            one world until it dies: frozen, or its energy 100 MOST J above the start;
///                                                          or until DURATION, or until it has taken CPU s; gained: when its energy
///                                                          was MOST J above the start
///     trace MODEL METHOD DT STEPS FILE                     a row a step: time, energy, iterations, residual; ends where it freezes
///
/// METHOD is a name with the keys of a scene's `integrator:` section behind it: collocation,order=2,tolerance=1e-12. With dt=auto
/// DT is the interval.
#include "bench.h"

#include <catena/catena.h>
#include <math.h>

/// The model that the last request named; the next one usually names it again.
static struct {
    const char *folder;
    char name[64];
    ctn_model *model;
    ctn_dynamics *dynamics;
    bench_states states;
    double *out;  // [count][nv] or [count][nv][nv] of the largest request
    size_t out_size;
} now;

static bool load(const char *name)
{
    if (!strcmp(now.name, name)) return true;
    char path[1024];
    ctn_error err = {0};
    ctn_dynamics_free(now.dynamics), now.dynamics = NULL;
    ctn_model_free(now.model), now.model = NULL;
    now.name[0] = 0;
    snprintf(path, sizeof path, "%s/%s.yaml", now.folder, name);
    ctn_scene *scene = ctn_scene_load(path, &err);
    if (scene) now.model = ctn_model_create(scene, &err);
    ctn_scene_free(scene);
    if (now.model) now.dynamics = ctn_dynamics_create(now.model, NULL, &err);
    snprintf(path, sizeof path, "%s/%s.states", now.folder, name);
    if (!now.dynamics) {
        err.message[strcspn(err.message, "\n")] = 0;
        printf("error %s", err.message);
    } else if (!bench_states_load(&now.states, path)) {
        printf("error %s: not read", path);
    } else {
        snprintf(now.name, sizeof now.name, "%s", name);
    }
    return now.name[0];
}

static double *room(size_t numbers)
{
    if (numbers > now.out_size) {
        free(now.out);
        now.out = malloc(numbers * sizeof *now.out);
        now.out_size = now.out ? numbers : 0;
    }
    return now.out;
}

/// `count` states from state `at` on.
static void evaluate(bench_algorithm which, int at, int count)
{
    const bench_states *s = &now.states;
    const double *q = bench_row(s->q, at, s->nq), *v = bench_row(s->v, at, s->nv);
    switch (which) {
    case BENCH_ABA: ctn_aba(now.dynamics, count, q, v, bench_row(s->tau, at, s->nv), now.out); break;
    case BENCH_RNEA: ctn_rnea(now.dynamics, count, q, v, bench_row(s->a, at, s->nv), now.out); break;
    default: ctn_crba(now.dynamics, count, q, now.out); break;
    }
}

static void answer_eval(bench_algorithm which, int count, const char *path)
{
    const size_t size = bench_size(which, now.states.nv) * (size_t)count;
    if (!room(size)) return (void)printf("error out of memory");
    evaluate(which, 0, count);
    printf(bench_write(path, now.out, size) ? "ok states %d" : "error results not written (%d states)", count);
}

/// Dynamics: rotates over the pool of states, one call a run.
typedef struct {
    bench_algorithm which;
    int count, at;
} sweep;

static void run_sweep(void *self)
{
    sweep *s = self;
    evaluate(s->which, s->at, s->count);
    bench_sink = now.out[0];
    s->at += s->count;
    if (s->at + s->count > now.states.count) s->at = 0;
}

static void answer_dynamics(bench_algorithm which, int count, double seconds)
{
    if (count < 1 || count > now.states.count || !room(bench_size(which, now.states.nv) * (size_t)count))
        return (void)printf("error %d states of %d", count, now.states.count);
    sweep s = {which, count, 0};
    bench_time(&(bench_job){NULL, run_sweep, &s, count}, seconds);
}

/// The configuration that the reader of scenes makes of METHOD, so that what it knows is what can be asked for.
static bool configure(const char *method, double dt, ctn_batch_config *cfg)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "catena: 1\nlinks:\n  - {name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                     "integrator: {%s: %.17g, method: ",
                     strstr(method, "dt=") ? "interval" : "dt", dt);
    for (; *method && n < (int)sizeof text - 4; method++) {
        if (*method == ',') text[n++] = ',', text[n++] = ' ';
        else if (*method == '=') text[n++] = ':', text[n++] = ' ';
        else text[n++] = *method;
    }
    text[n++] = '}';
    ctn_error err = {0};
    ctn_scene *scene = ctn_scene_parse(text, (size_t)n, "METHOD", &err);
    err.message[strcspn(err.message, "\n")] = 0;
    if (scene) *cfg = ctn_scene_config(scene);
    else printf("error %s", err.message);
    ctn_scene_free(scene);
    return scene;
}

static ctn_batch *make_batch(const char *method, int worlds, double dt)
{
    if (worlds < 1 || worlds > now.states.count) return printf("error %d worlds of %d states", worlds, now.states.count), NULL;
    ctn_error err = {0};
    ctn_batch_config cfg;
    if (!configure(method, dt, &cfg)) return NULL;
    cfg.worlds = worlds;
    ctn_batch *batch = ctn_batch_create(now.model, &cfg, &err);
    if (!batch) printf("error %s", err.message);
    return batch;
}

/// Stepping: every run starts again from the first states, as what a step costs may depend on the state.
typedef struct {
    ctn_batch *batch;
    int steps, lost;  // lost: runs in which a world was frozen
} march;

static void prepare_march(void *self)
{
    march *m = self;
    ctn_batch_set_state(m->batch, now.states.q, now.states.v, 0, NULL);
}

static void run_march(void *self)
{
    march *m = self;
    m->lost += ctn_batch_step(m->batch, m->steps, NULL, NULL) == CTN_FROZEN;
}

/// What those steps take of the solver: nothing is timed.
static void answer_work(const char *method, int worlds, double dt, int steps)
{
    march m = {make_batch(method, worlds, dt), steps, 0};
    if (!m.batch) return;
    ctn_step_stats *stats = calloc((size_t)worlds, sizeof *stats), sum = {0};
    prepare_march(&m);
    ctn_batch_step(m.batch, steps, stats, NULL);
    int frozen = 0;
    for (int w = 0; w < worlds; w++) {
        sum.iterations += stats[w].iterations, sum.evaluations += stats[w].evaluations, sum.fallbacks += stats[w].fallbacks;
        if (stats[w].iterations_max > sum.iterations_max) sum.iterations_max = stats[w].iterations_max;
        if (stats[w].residual > sum.residual) sum.residual = stats[w].residual;
        frozen += stats[w].frozen != CTN_RUNNING;
    }
    const double all = (double)steps * worlds;
    printf("ok iterations %.6g evaluations %.6g iterations_max %d residual %.3g fallbacks %ld frozen %d",
           (double)sum.iterations / all, (double)sum.evaluations / all, sum.iterations_max, sum.residual, sum.fallbacks, frozen);
    free(stats);
    ctn_batch_free(m.batch);
}

static void answer_steps(const char *method, int worlds, double dt, int steps, double seconds)
{
    march m = {make_batch(method, worlds, dt), steps, 0};
    if (!m.batch) return;
    bench_time(&(bench_job){prepare_march, run_march, &m, (double)steps * worlds}, seconds);
    printf("lost %d", m.lost);
    ctn_batch_free(m.batch);
}

static void answer_many(const char *method, int worlds, int threads, const char *schedule, double dt, double share, int steps,
                        double seconds)
{
    ctn_error err = {0};
    ctn_batch_config cfg;
    if (!configure(method, dt, &cfg)) return;
    cfg.worlds = worlds, cfg.threads = threads;
    if (ctn_schedule_from_name(schedule, &cfg.schedule, &err) != CTN_OK) return (void)printf("error %s", err.message);
    const ctn_parameter time_step = {CTN_TIME_STEP, 0};
    if (share != 1) cfg.parameters = &time_step, cfg.parameter_count = 1;
    ctn_batch *batch = ctn_batch_create(now.model, &cfg, &err);
    if (!batch) return (void)printf("error %s", err.message);
    const size_t nq = (size_t)now.states.nq, nv = (size_t)now.states.nv, n = (size_t)worlds;
    double *dts = malloc(n * sizeof *dts);
    for (size_t w = 0; w < n; w++) dts[w] = w % 4 ? share * dt : dt;
    if (share != 1) ctn_batch_set_parameters(batch, dts, NULL);
    free(dts);
    double *q = malloc(n * nq * sizeof *q), *v = malloc(n * nv * sizeof *v);
    for (size_t w = 0; w < n; w++) {
        const size_t from = w % (size_t)now.states.count;
        memcpy(q + w * nq, now.states.q + from * nq, nq * sizeof *q), memcpy(v + w * nv, now.states.v + from * nv, nv * sizeof *v);
    }
    ctn_step_stats *stats = calloc(n, sizeof *stats);
    const double end = bench_clock(CLOCK_MONOTONIC) + seconds;
    double least = INFINITY, occupancy = 0;
    do {
        ctn_batch_set_state(batch, q, v, 0, NULL);
        const double start = bench_clock(CLOCK_MONOTONIC);
        ctn_batch_step(batch, steps, NULL, NULL);
        least = fmin(least, bench_clock(CLOCK_MONOTONIC) - start);
        occupancy = ctn_batch_occupancy(batch);
    } while (bench_clock(CLOCK_MONOTONIC) < end);
    ctn_batch_set_state(batch, q, v, 0, NULL);
    ctn_batch_step(batch, steps, stats, NULL);
    long iterations = 0, fallbacks = 0;
    double fewest = INFINITY, most = 0;
    int frozen = 0;
    for (size_t w = 0; w < n; w++)
        fewest = fmin(fewest, (double)stats[w].iterations / steps), most = fmax(most, (double)stats[w].iterations / steps), iterations += stats[w].iterations, fallbacks += stats[w].fallbacks, frozen += stats[w].frozen != CTN_RUNNING;
    printf("ok wall %.9g threads %d occupancy %.4g iterations %.6g fewest %.4g most %.4g fallbacks %ld frozen %d bytes %.6g", least,
           ctn_batch_configuration(batch)->threads, occupancy, (double)iterations / ((double)steps * worlds), fewest, most, fallbacks, frozen,
           (double)ctn_batch_bytes(batch) / worlds);
    free(q), free(v), free(stats);
    ctn_batch_free(batch);
}

/// Origins of all links in the world, and point `x` of the last one behind them: [links + 1][3], to be freed.
static double *points_at(const double *q, const double *x)
{
    const int links = ctn_model_nlink(now.model);
    double *p = malloc((size_t)(links + 1) * 12 * sizeof *p), *R = p + (size_t)(links + 1) * 3;
    ctn_forward_kinematics(now.dynamics, 1, q, R, p);
    const double *Rl = R + (size_t)(links - 1) * 9, *pl = p + (size_t)(links - 1) * 3;
    double *point = p + (size_t)links * 3;
    for (int i = 0; i < 3; i++) point[i] = pl[i] + Rl[3 * i] * x[0] + Rl[3 * i + 1] * x[1] + Rl[3 * i + 2] * x[2];
    return p;
}

/// Point `x` of the last link's frame, in the world.
static void last_point(const double *q, const double *x, double *point)
{
    double *p = points_at(q, x);
    memcpy(point, p + (size_t)ctn_model_nlink(now.model) * 3, 3 * sizeof *point);
    free(p);
}

static void answer_knows(const char *method)
{
    ctn_batch *batch = make_batch(method, 1, 0.01);
    if (batch) printf("ok engine %s", ctn_batch_configuration(batch)->engine);
    ctn_batch_free(batch);
}

static void answer_finish(const char *method, int worlds, double dt, int steps, double seconds, const double *x, const char *path)
{
    march m = {make_batch(method, worlds, dt), steps, 0};
    if (!m.batch) return;
    const double end = bench_clock(CLOCK_MONOTONIC) + seconds;
    double least = INFINITY;
    do {
        prepare_march(&m);
        const double start = bench_clock(CLOCK_MONOTONIC);
        run_march(&m);
        least = fmin(least, bench_clock(CLOCK_MONOTONIC) - start);
    } while (bench_clock(CLOCK_MONOTONIC) < end);
    double *q = malloc((size_t)worlds * (size_t)now.states.nq * sizeof *q);
    ctn_batch_state(m.batch, q, NULL);
    double *points = points_at(q, x);
    const bool written = bench_write(path, points, (size_t)(ctn_model_nlink(now.model) + 1) * 3);
    printf(written ? "ok cpu %.9g frozen %d" : "error results not written (%g s, %d)", least, m.lost > 0);
    free(points), free(q);
    ctn_batch_free(m.batch);
}

static void answer_survive(const char *method, double dt, double duration, double most, double limit)
{
    ctn_batch *batch = make_batch(method, 1, dt);
    if (!batch) return;
    ctn_batch_set_state(batch, now.states.q, now.states.v, 0, NULL);
    const long all = lround(duration / dt), each = lround(fmax(1, 0.1 / dt));
    const double begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    ctn_step_stats sum, part;
    ctn_batch_step(batch, 0, &sum, NULL);
    const char *how = "yes";
    double cpu = 0, gained = NAN;
    while (sum.steps < all) {
        ctn_batch_step(batch, (int)(all - sum.steps < each ? all - sum.steps : each), &part, NULL);
        ctn_step_stats_add(&sum, &part);
        cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
        if (isnan(gained) && sum.energy_max > sum.energy_before + most) gained = ctn_batch_time(batch, 0);
        if (part.frozen) how = "frozen";
        else if (!isfinite(sum.energy_after)) how = "nan";
        else if (sum.energy_max > sum.energy_before + 100 * most) how = "energy";
        if (strcmp(how, "yes")) break;
        if (sum.steps < all && cpu > limit) {
            how = "stopped";
            break;
        }
    }
    const double steps = fmax(1, (double)sum.steps);
    printf("ok how %s time %.9g gained %.9g start %.17g most %.17g end %.17g cpu %.6g iterations %.6g iterations_max %d "
           "fallbacks %ld "
           "residual %.3g",
           how, ctn_batch_time(batch, 0), gained, sum.energy_before, sum.energy_max, sum.energy_after, cpu,
           (double)sum.iterations / steps, sum.iterations_max, sum.fallbacks, sum.residual);
    ctn_batch_free(batch);
}

static void answer_trace(const char *method, double dt, int steps, const char *path)
{
    ctn_batch *batch = make_batch(method, 1, dt);
    if (!batch) return;
    ctn_batch_set_state(batch, now.states.q, now.states.v, 0, NULL);
    double *rows = malloc(((size_t)steps + 1) * 4 * sizeof *rows);
    ctn_step_stats s;
    ctn_batch_step(batch, 0, &s, NULL);
    int n = 0;
    do {
        double *row = rows + 4 * (size_t)n++;
        row[0] = ctn_batch_time(batch, 0), row[1] = s.energy_after, row[2] = (double)s.iterations, row[3] = s.residual;
        if (n <= steps) ctn_batch_step(batch, 1, &s, NULL);
    } while (n <= steps && !s.frozen);
    const bool written = bench_write(path, rows, (size_t)n * 4);
    printf(written ? "ok rows %d" : "error %d rows not written", n);
    free(rows);
    ctn_batch_free(batch);
}

/// Energy of the model at rest with all coordinates zero.
static double energy_at_zero(void)
{
    double *zero = calloc((size_t)(now.states.nq + now.states.nv), sizeof *zero);
    ctn_totals totals;
    ctn_energy_momentum(now.dynamics, 1, zero, zero + now.states.nq, &totals);
    free(zero);
    return totals.potential;
}

static void answer_path(const char *method, double dt, double duration, double limit, const double *x)
{
    ctn_batch *batch = make_batch(method, 1, dt);
    if (!batch) return;
    const bench_states *s = &now.states;
    ctn_batch_set_state(batch, s->q, s->v, 0, NULL);
    double *q = malloc((size_t)s->nq * sizeof *q), tip[2][3] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    double start = NAN, least = INFINITY, most = -INFINITY, end = NAN;
    long fallbacks = 0;

    // half seconds, so that a run that is lost ends soon; the point is taken after the first and the second
    const double zero = energy_at_zero();
    const long each = lround(0.5 / dt), parts = lround(duration / 0.5);
    bool survived = true;
    for (long k = 0; k < parts && survived; k++) {
        ctn_step_stats stats;
        ctn_batch_step(batch, (int)each, &stats, NULL);
        if (k == 0) start = stats.energy_before;
        least = fmin(least, stats.energy_min), most = fmax(most, stats.energy_max), end = stats.energy_after;
        fallbacks += stats.fallbacks;
        survived = !stats.frozen && isfinite(end) && most - start <= limit * (start - zero);
        if (k < 2) ctn_batch_state(batch, q, NULL), last_point(q, x, tip[k]);
    }
    printf("ok survived %d start %.17g zero %.17g least %.17g most %.17g end %.17g fallbacks %ld ", survived, start, zero, least,
           most, end, fallbacks);
    printf("x0 %.17g y0 %.17g z0 %.17g x1 %.17g y1 %.17g z1 %.17g", tip[0][0], tip[0][1], tip[0][2], tip[1][0], tip[1][1],
           tip[1][2]);
    free(q);
    ctn_batch_free(batch);
}

static void answer(int n, char **w)
{
    if (n < 2 || !load(w[1])) return (void)(n < 2 && printf("error '%s': a model is missing", w[0]));
    const bench_algorithm which = n > 2 ? bench_algorithm_from(w[2]) : BENCH_ALGORITHMS;
    if (!strcmp(w[0], "about")) printf("ok version %s engine %s", ctn_version(), ctn_dynamics_engine(now.dynamics));
    else if (!strcmp(w[0], "eval") && n == 5 && which != BENCH_ALGORITHMS) answer_eval(which, atoi(w[3]), w[4]);
    else if (!strcmp(w[0], "dynamics") && n == 5 && which != BENCH_ALGORITHMS) answer_dynamics(which, atoi(w[3]), atof(w[4]));
    else if (!strcmp(w[0], "steps") && n == 7) answer_steps(w[2], atoi(w[3]), atof(w[4]), atoi(w[5]), atof(w[6]));
    else if (!strcmp(w[0], "many") && n == 10)
        answer_many(w[2], atoi(w[3]), atoi(w[4]), w[5], atof(w[6]), atof(w[7]), atoi(w[8]), atof(w[9]));
    else if (!strcmp(w[0], "work") && n == 6) answer_work(w[2], atoi(w[3]), atof(w[4]), atoi(w[5]));
    else if (!strcmp(w[0], "path") && n == 9)
        answer_path(w[2], atof(w[3]), atof(w[4]), atof(w[5]), (double[3]){atof(w[6]), atof(w[7]), atof(w[8])});
    else if (!strcmp(w[0], "knows") && n == 3) answer_knows(w[2]);
    else if (!strcmp(w[0], "finish") && n == 11)
        answer_finish(w[2], atoi(w[3]), atof(w[4]), atoi(w[5]), atof(w[6]), (double[3]){atof(w[7]), atof(w[8]), atof(w[9])},
                      w[10]);
    else if (!strcmp(w[0], "survive") && n == 7) answer_survive(w[2], atof(w[3]), atof(w[4]), atof(w[5]), atof(w[6]));
    else if (!strcmp(w[0], "trace") && n == 6) answer_trace(w[2], atof(w[3]), atoi(w[4]), w[5]);
    else printf("error request '%s' not understood", w[0]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: catena_bench MODELS, then requests as at the head of bench/catena_bench.c\n"), 2;
    now.folder = argv[1];
    bench_serve(answer);
    ctn_dynamics_free(now.dynamics), ctn_model_free(now.model);
    free(now.states.numbers), free(now.out);
    return 0;
}
