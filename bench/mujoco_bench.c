/// The worker that measures MuJoCo, through the C library of its Python wheel. Contacts and constraints are off in the models.
///
///     mujoco_bench MODELS
///     eval MODEL ALGORITHM STATES FILE                 results of the first STATES states into FILE
///     dynamics MODEL ALGORITHM - SECONDS               ns a state
///     steps MODEL INTEGRATOR 1 DT STEPS SECONDS        ns a step, from the model's first state
///     path MODEL INTEGRATOR DT DURATION LIMIT          untimed: energies, survival as in catena_bench.c, the site "tip"
///     finish MODEL INTEGRATOR 1 DT STEPS SECONDS - - - FILE
///     survive MODEL INTEGRATOR DT DURATION MOST CPU    both as in catena_bench.c
#include "bench.h"

#include <math.h>
#include <mujoco/mujoco.h>
#include <unistd.h>

static struct {
    const char *folder;
    char name[64];
    mjModel *model;
    mjData *data;
    mjtNum *force;  // [nv]
    bench_states states;
} now;

static void quiet(const char *message) { (void)message; }

static bool load(const char *name)
{
    if (!strcmp(now.name, name)) return true;
    char path[1024], err[512] = "";
    mj_deleteData(now.data), now.data = NULL;
    mj_deleteModel(now.model), now.model = NULL;
    now.name[0] = 0;
    snprintf(path, sizeof path, "%s/%s.mjb", now.folder, name);  // of models too deep for the XML reader
    if (!access(path, R_OK)) now.model = mj_loadModel(path, NULL);
    else snprintf(path, sizeof path, "%s/%s.xml", now.folder, name), now.model = mj_loadXML(path, NULL, err, sizeof err);
    if (!now.model) {
        err[strcspn(err, "\n")] = 0;
        return printf("error %s: %s", path, err), false;
    }
    now.data = mj_makeData(now.model);
    free(now.force);
    now.force = calloc((size_t)now.model->nv, sizeof *now.force);
    snprintf(path, sizeof path, "%s/%s.states", now.folder, name);
    if (!bench_states_load(&now.states, path)) return printf("error %s: not read", path), false;
    snprintf(now.name, sizeof now.name, "%s", name);
    return true;
}

static void set_state(int i)
{
    const bench_states *s = &now.states;
    mju_copy(now.data->qpos, bench_row(s->q, i, s->nq), s->nq);
    mju_copy(now.data->qvel, bench_row(s->v, i, s->nv), s->nv);
}

/// What of MuJoCo answers the same question, stage by stage: less than mj_forward and mj_inverse do. It has no ABA, but factors
/// the joint-space inertia.
static void evaluate(bench_algorithm which, int i)
{
    const mjModel *m = now.model;
    mjData *d = now.data;
    const bench_states *s = &now.states;
    set_state(i);
    mj_kinematics(m, d), mj_comPos(m, d);
    switch (which) {
    case BENCH_ABA:
        mj_makeM(m, d), mj_factorM(m, d);
        mj_comVel(m, d), mj_rne(m, d, 0, now.force);
        mju_sub(now.force, bench_row(s->tau, i, s->nv), now.force, s->nv);
        mj_solveM(m, d, d->qacc, now.force, 1);
        break;
    case BENCH_RNEA:
        mju_copy(d->qacc, bench_row(s->a, i, s->nv), s->nv);
        mj_comVel(m, d), mj_rne(m, d, 1, now.force);
        break;
    default: mj_crb(m, d);
    }
}

static void answer_eval(bench_algorithm which, int count, const char *path)
{
    const int nv = now.states.nv;
    const size_t size = bench_size(which, nv);
    double *out = malloc((size_t)count * size * sizeof *out);
    mj_resetData(now.model, now.data);
    for (int i = 0; i < count; i++) {
        evaluate(which, i);
        if (which == BENCH_CRBA) mj_makeM(now.model, now.data), mj_fullM(now.model, now.data, out + (size_t)i * size);
        else mju_copy(out + (size_t)i * size, which == BENCH_ABA ? now.data->qacc : now.force, nv);
    }
    printf(bench_write(path, out, (size_t)count * size) ? "ok states %d" : "error results not written (%d states)", count);
    free(out);
}

/// Dynamics: rotates over the pool of states.
typedef struct {
    bench_algorithm which;
    int at;
} sweep;

static void run_sweep(void *self)
{
    sweep *s = self;
    evaluate(s->which, s->at);
    bench_sink = now.data->qacc[0] + now.force[0];
    if (++s->at == now.states.count) s->at = 0;
}

static void answer_dynamics(bench_algorithm which, double seconds)
{
    sweep s = {which, 0};
    mj_resetData(now.model, now.data);
    bench_time(&(bench_job){NULL, run_sweep, &s, 1}, seconds);
}

static bool set_integrator(const char *name, double dt)
{
    static const struct {
        const char *name;
        int integrator;
    } known[] = {{"euler", mjINT_EULER},
                 {"rk4", mjINT_RK4},
                 {"implicit", mjINT_IMPLICIT},
                 {"implicitfast", mjINT_IMPLICITFAST},
                 {"discrete", mjINT_DISCRETE}};
    now.model->opt.timestep = dt;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) {
            now.model->opt.integrator = known[i].integrator;
            // what `discrete` does for springs is part of its constraint solver
            if (known[i].integrator == mjINT_DISCRETE) now.model->opt.disableflags &= ~mjDSBL_CONSTRAINT;
            else now.model->opt.disableflags |= mjDSBL_CONSTRAINT;
            return true;
        }
    return printf("error unknown integrator '%s'", name), false;
}

static int warnings(void)
{
    int n = 0;
    for (int k = 0; k < mjNWARNING; k++) n += now.data->warning[k].number;
    return n;
}

/// Stepping: every run starts again from the first state.
typedef struct {
    int steps, lost;  // lost: warnings, such as of numbers that are not finite
} march;

static void prepare_march(void *self)
{
    march *m = self;
    m->lost += warnings();
    mj_resetData(now.model, now.data);
    set_state(0);
}

static void run_march(void *self)
{
    const march *m = self;
    for (int k = 0; k < m->steps; k++) mj_step(now.model, now.data);
}

static void answer_steps(const char *integrator, double dt, int steps, double seconds)
{
    if (!set_integrator(integrator, dt)) return;
    march m = {steps, 0};
    mj_resetData(now.model, now.data);
    bench_time(&(bench_job){prepare_march, run_march, &m, steps}, seconds);
    printf("lost %d", m.lost + warnings());
}

/// Energy of the state as it is now; leaves the state alone.
static double energy(void)
{
    mj_fwdPosition(now.model, now.data), mj_fwdVelocity(now.model, now.data);
    mj_energyPos(now.model, now.data), mj_energyVel(now.model, now.data);
    return now.data->energy[0] + now.data->energy[1];
}

static void answer_path(const char *integrator, double dt, double duration, double limit)
{
    if (!set_integrator(integrator, dt)) return;
    const int tip = mj_name2id(now.model, mjOBJ_SITE, "tip");
    double point[2][3] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    mj_resetData(now.model, now.data);
    mju_zero(now.data->qpos, now.states.nq);
    const double zero = energy();
    set_state(0);
    const double start = energy();
    double least = start, most = start, end = start;
    const long half = lround(0.5 / dt), steps = lround(duration / dt);
    bool survived = true;
    for (long k = 1; k <= steps && survived; k++) {
        mj_step(now.model, now.data);
        end = energy();
        least = fmin(least, end), most = fmax(most, end);
        survived = isfinite(end) && !warnings() && most - start <= limit * (start - zero);
        if (tip >= 0 && (k == half || k == 2 * half)) mju_copy(point[k / half - 1], now.data->site_xpos + 3 * tip, 3);
    }
    printf("ok survived %d start %.17g zero %.17g least %.17g most %.17g end %.17g ", survived, start, zero, least, most, end);
    printf("x0 %.17g y0 %.17g z0 %.17g x1 %.17g y1 %.17g z1 %.17g", point[0][0], point[0][1], point[0][2], point[1][0],
           point[1][1], point[1][2]);
}

static void answer_finish(const char *integrator, double dt, int steps, double seconds, const char *path)
{
    if (!set_integrator(integrator, dt)) return;
    march m = {steps, 0};
    mj_resetData(now.model, now.data);
    const double end = bench_clock(CLOCK_MONOTONIC) + seconds;
    double least = INFINITY;
    do {
        prepare_march(&m);
        const double start = bench_clock(CLOCK_MONOTONIC);
        run_march(&m);
        least = fmin(least, bench_clock(CLOCK_MONOTONIC) - start);
    } while (bench_clock(CLOCK_MONOTONIC) < end);
    const int lost = m.lost + warnings(), tip = mj_name2id(now.model, mjOBJ_SITE, "tip"), bodies = now.model->nbody;
    mj_kinematics(now.model, now.data);
    double *points = malloc((size_t)bodies * 3 * sizeof *points), *last = points + (size_t)(bodies - 1) * 3;
    mju_copy(points, now.data->xpos + 3, 3 * (bodies - 1));  // body 0 is the world
    mju_copy(last, tip >= 0 ? now.data->site_xpos + 3 * tip : now.data->xpos + 3 * (bodies - 1), 3);
    const bool written = bench_write(path, points, (size_t)bodies * 3);
    printf(written ? "ok cpu %.9g frozen %d" : "error results not written (%g s, %d)", least, lost > 0);
    free(points);
}

/// Looks at the energy after every step; where that may count, the same steps are done again for the time that they take.
static void answer_survive(const char *integrator, double dt, double duration, double most, double limit)
{
    if (!set_integrator(integrator, dt)) return;
    mj_resetData(now.model, now.data);
    set_state(0);
    const double start = energy(), begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    double high = start, end = start, gained = NAN, cpu = 0;
    const long all = lround(duration / dt);
    long done = 0;
    const char *how = "yes";
    while (done < all && !strcmp(how, "yes")) {
        mj_step(now.model, now.data), done++;
        end = energy();
        high = fmax(high, end);
        how = !isfinite(end) || warnings() ? "nan" : end > start + 100 * most ? "energy" : how;
        if (isnan(gained) && end > start + most) gained = (double)done * dt;
        cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
        if (done < all && cpu > limit && !strcmp(how, "yes")) how = "stopped";
    }
    if (cpu < 2) {
        march m = {(int)done, 0};
        prepare_march(&m);
        const double before = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        run_march(&m);
        cpu = bench_clock(CLOCK_THREAD_CPUTIME_ID) - before;
    }
    printf("ok how %s time %.9g gained %.9g start %.17g most %.17g end %.17g cpu %.6g", how, (double)done * dt, gained, start,
           high, end, cpu);
}

static void answer(int n, char **w)
{
    if (n < 2 || !load(w[1])) return (void)(n < 2 && printf("error '%s': a model is missing", w[0]));
    const bench_algorithm which = n > 2 ? bench_algorithm_from(w[2]) : BENCH_ALGORITHMS;
    if (!strcmp(w[0], "eval") && n == 5 && which != BENCH_ALGORITHMS) answer_eval(which, atoi(w[3]), w[4]);
    else if (!strcmp(w[0], "dynamics") && n == 5 && which != BENCH_ALGORITHMS) answer_dynamics(which, atof(w[4]));
    else if (!strcmp(w[0], "steps") && n == 7) answer_steps(w[2], atof(w[4]), atoi(w[5]), atof(w[6]));
    else if (!strcmp(w[0], "path") && n >= 6) answer_path(w[2], atof(w[3]), atof(w[4]), atof(w[5]));
    else if (!strcmp(w[0], "finish") && n == 11) answer_finish(w[2], atof(w[4]), atoi(w[5]), atof(w[6]), w[10]);
    else if (!strcmp(w[0], "survive") && n == 7) answer_survive(w[2], atof(w[3]), atof(w[4]), atof(w[5]), atof(w[6]));
    else printf("error request '%s' not understood", w[0]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: mujoco_bench MODELS, then requests as at the head of bench/mujoco_bench.c\n"), 2;
    mju_user_warning = quiet;
    now.folder = argv[1];
    bench_serve(answer);
    mj_deleteData(now.data), mj_deleteModel(now.model);
    free(now.force), free(now.states.numbers);
    return 0;
}
