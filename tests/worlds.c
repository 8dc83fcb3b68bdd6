/// Worlds of a batch, each with parameters, a horizon and forces of its own: every one is, to the last bit and with all its
/// statistics, what it is alone, whichever way the batch is scheduled, on any engine, number of threads and lane.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/seal.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WORLDS = 11, STEPS = 9, MOST_PARAMETERS = 64 };

/// Methods. At steps of 0.1 s few iterations are allowed, so that some fall back.
static const struct {
    ctn_method method;
    int number;  // order or stages
    double dt;
} methods[] = {
    {CTN_COLLOCATION, 2, 0.1}, {CTN_COLLOCATION, 2, 0.02}, {CTN_RADAU, 1, 0.1},        {CTN_RADAU, 2, 0.1},
    {CTN_RADAU, 3, 0.05},      {CTN_COLLOCATION, 4, 0.01}, {CTN_VARIATIONAL, 2, 0.01}, {CTN_SEMI_IMPLICIT, 0, 0.002},
    {CTN_RK4, 0, 0.005},       {CTN_DOP853, 0, 0.005},     {CTN_ALPHA, 0, 0.1},
};
enum { METHODS = sizeof methods / sizeof *methods };

/// What worlds differ in, of a random model: one of each kind that it has, for some links.
static int choose_parameters(const ctn_model *m, ctn_method method, ctn_parameter *list)
{
    int n = 0;
    list[n++] = (ctn_parameter){CTN_GRAVITY, 2}, list[n++] = (ctn_parameter){CTN_TIME_STEP, 0};
    for (int k = CTN_SPRING_STIFFNESS; k <= CTN_TORQUE; k++) {
        const ctn_parameter p = {(ctn_parameter_kind)k, k == CTN_SPRING_ANCHOR ? 2 : 0};
        double value;
        if ((k != CTN_SPRING_DAMPING || method != CTN_VARIATIONAL) && ctn_model_parameter(m, p, &value, NULL) == CTN_OK)
            list[n++] = p;
    }
    for (int k = CTN_MOTOR_TARGET; k <= CTN_MOTOR_EFFORT; k++) {
        const ctn_parameter p = {(ctn_parameter_kind)k, k % 2};
        double value;
        if ((k != CTN_MOTOR_KD || method != CTN_VARIATIONAL) && ctn_model_parameter(m, p, &value, NULL) == CTN_OK) list[n++] = p;
    }
    for (int k = CTN_MOTOR_KI; k <= CTN_MOTOR_SPEED; k++) {
        const ctn_parameter p = {(ctn_parameter_kind)k, 0};
        double value;
        if (ctn_model_parameter(m, p, &value, NULL) == CTN_OK) list[n++] = p;
    }
    for (int k = CTN_MOTOR_ROTATION; k <= CTN_MOTOR_TORQUE; k++) {  // of a ball, whose motors are the last ones
        const ctn_parameter p = {(ctn_parameter_kind)k, 3 * m->nmotor - 1 - k % 3};
        double value;
        if (ctn_model_parameter(m, p, &value, NULL) == CTN_OK) list[n++] = p;
    }
    for (int l = 0; l < ctn_model_nlink(m); l++)
        for (int k = CTN_MASS_SCALE; k <= CTN_LIMIT_DAMPING && n < MOST_PARAMETERS; k++) {
            const ctn_parameter p = {(ctn_parameter_kind)k, l};
            double value;
            // armature is one for all degrees of freedom, a rotor on one of them
            if (k == CTN_ARMATURE && m->nmotor && ctn_model_link(m, l)->nv > 1) continue;
            if ((l + k) % 3 == 0 && ctn_model_parameter(m, p, &value, NULL) == CTN_OK) list[n++] = p;
        }
    return n;
}

static double draw_parameter(rng *r, ctn_parameter p, double dt)
{
    switch (p.kind) {
    case CTN_GRAVITY: return rng_uniform(r, -12, -2);
    case CTN_TIME_STEP: return dt * rng_uniform(r, 0.5, 1);
    case CTN_MASS_SCALE: return rng_uniform(r, 0.5, 2);
    case CTN_LIMIT_LOWER: return rng_uniform(r, -3, -0.5);
    case CTN_LIMIT_UPPER: return rng_uniform(r, 0.5, 3);
    case CTN_REST: return rng_uniform(r, -1, 1);
    case CTN_MOTOR_SPEED: return rng_uniform(r, 0.5, 4);
    case CTN_LIMIT_STIFFNESS: return rng_uniform(r, 10, 100);
    default: return rng_uniform(r, 0, 0.5);
    }
}

/// A batch of WORLDS worlds and all that they differ in.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    ctn_parameter list[MOST_PARAMETERS];
    size_t nq, nv;
    double *values, *q, *v, *force;  // [WORLDS] rows
    int horizon[WORLDS];
} worlds;

static worlds open_worlds(uint64_t seed, int method, bool own)
{
    const random_options o = {.links = 4 + (int)(seed % 4),
                              .passive = methods[method].method != CTN_VARIATIONAL,
                              .springs =
                                  methods[method].method == CTN_COLLOCATION && methods[method].number > 2 ? 0 : (int)(seed % 3),
                              .motors = (int)(seed % 4),
                              .winding = seed % 2,
                              .speeds = seed % 3 != 0,
                              .plain_springs = methods[method].method == CTN_VARIATIONAL};
    worlds f = {.m = random_model(seed, &o), .cfg = ctn_batch_config_default()};
    rng r = {seed * 7 + 1};
    f.nq = (size_t)ctn_model_nq(f.m), f.nv = (size_t)ctn_model_nv(f.m);
    f.cfg.worlds = WORLDS, f.cfg.method = methods[method].method, f.cfg.dt = methods[method].dt;
    f.cfg.order = f.cfg.stages = methods[method].number ? methods[method].number : 2;
    if (f.cfg.dt >= 0.1) f.cfg.max_iterations = 4;
    if (own) f.cfg.parameter_count = choose_parameters(f.m, f.cfg.method, f.list);
    const size_t n = (size_t)f.cfg.parameter_count;
    f.values = calloc(WORLDS * n + 1, sizeof *f.values), f.q = calloc(WORLDS * f.nq, sizeof *f.q);
    f.v = calloc(WORLDS * f.nv, sizeof *f.v), f.force = calloc(WORLDS * STEPS * f.nv, sizeof *f.force);
    for (size_t w = 0; w < WORLDS; w++) {
        for (size_t k = 0; k < n; k++) f.values[w * n + k] = draw_parameter(&r, f.list[k], f.cfg.dt);
        random_state(f.m, &r, f.q + w * f.nq, f.v + w * f.nv);
        f.horizon[w] = (int)(w * 5 % (STEPS + 1));
    }
    for (size_t k = 0; k < WORLDS * STEPS * f.nv; k++) f.force[k] = rng_uniform(&r, -2, 2);
    return f;
}

static void close_worlds(worlds *f)
{
    free(f->values), free(f->q), free(f->v), free(f->force);
    ctn_model_free(f->m);
}

/// What is left of a world: its state and statistics.
typedef struct {
    ctn_step_stats stats;
    double *saved;  // all that its future depends on
    size_t size;
    double time;
} ending;

/// Runs worlds first .. first + count - 1, with a horizon for each or not, with a table of forces, forces that are held or none.
static void run(const worlds *f, ctn_batch_config cfg, int first, int count, int forces, bool horizon, ending *end)
{
    ctn_error err = {0};
    const size_t w = (size_t)first, n = (size_t)cfg.parameter_count;
    cfg.worlds = count, cfg.parameters = f->list;
    ctn_batch *b = ctn_batch_create(f->m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    if (n) ck_assert_msg(ctn_batch_set_parameters(b, f->values + w * n, &err) == CTN_OK, "%s", err.message);
    ck_assert_msg(ctn_batch_set_state(b, f->q + w * f->nq, f->v + w * f->nv, 0.25, &err) == CTN_OK, "%s", err.message);
    if (forces == 2) ctn_batch_set_force(b, f->force + w * f->nv);
    ctn_run what = {.steps = STEPS, .horizon = horizon ? f->horizon + first : NULL};
    if (forces == 1) what.force = f->force + w * STEPS * f->nv;
    ctn_step_stats *stats = calloc((size_t)count, sizeof *stats);
    ctn_batch_run(b, &what, stats, &err);
    const size_t size = ctn_batch_saved_size(b);
    char *saved = malloc(size);
    ctn_batch_save(b, saved);
    uint64_t numbers;  // of each world: the last of what is saved, their count in its head
    memcpy(&numbers, saved + 24, sizeof numbers);
    numbers *= sizeof(double);
    for (int k = 0; k < count; k++) {
        end[k] = (ending){.stats = stats[k], .size = numbers, .time = ctn_batch_time(b, k)};
        end[k].saved = malloc(numbers);
        memcpy(end[k].saved, saved + size - (size_t)(count - k) * numbers, numbers);
    }
    free(saved), free(stats);
    ctn_batch_free(b);
}

static void same_ending(const ending *got, const ending *want, int method, int w, const char *how)
{
    ck_assert_msg(!memcmp(&got->stats, &want->stats, sizeof got->stats), "method %d, world %d, %s: other statistics", method, w, how);
    ck_assert_msg(got->size == want->size && !memcmp(got->saved, want->saved, got->size), "method %d, world %d, %s: other bits",
                  method, w, how);
    ck_assert_msg(got->time == want->time, "method %d, world %d, %s: other time", method, w, how);
}

/// Worlds whose steps cost the more the longer they are, in every order: by iteration, lanes beside each other have worlds alike.
/// They wait for each other if they are taken up as they come, or in step.
START_TEST(like_beside_like)
{
    worlds f = open_worlds(5, 0, false);
    const ctn_parameter own = {CTN_TIME_STEP, 0};
    enum { MANY = 8 * WORLDS };
    double dt[MANY], use[2], *const q = calloc(MANY * f.nq, sizeof *q), *const v = calloc(MANY * f.nv, sizeof *v);
    for (size_t w = 0; w < MANY; w++) {
        dt[w] = w % 4 == 1 ? 0.1 : 1e-4;
        memcpy(q + w * f.nq, f.q + w % WORLDS * f.nq, f.nq * sizeof *q), memcpy(v + w * f.nv, f.v + w % WORLDS * f.nv, f.nv * sizeof *v);
    }
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = f.cfg;
        cfg.method = CTN_RADAU, cfg.stages = 2, cfg.parameters = &own, cfg.parameter_count = 1;
        cfg.worlds = MANY, cfg.schedule = k ? CTN_BY_ITERATION : CTN_BY_STEP;
        ctn_batch *const b = ctn_batch_create(f.m, &cfg, NULL);
        ck_assert_int_eq(ctn_batch_set_parameters(b, dt, NULL), CTN_OK);
        ctn_batch_set_state(b, q, v, 0, NULL);
        ctn_batch_step(b, 20, NULL, NULL);
        use[k] = ctn_batch_occupancy(b);
        ctn_batch_free(b);
    }
    free(q), free(v), close_worlds(&f);
    ck_assert_msg(isnan(use[0]) || use[0] > 0.99 || use[1] > use[0] + 0.2, "%g of the iterations of use, by step %g", use[1], use[0]);
}
END_TEST

/// The loop: forces in three ways, with parameters and horizons or without.
START_TEST(worlds_are_alone)
{
    static const struct {
        const char *engine;
        ctn_schedule schedule;
        int threads;
    } ways[] = {{"scalar", CTN_BY_STEP, 1},  {"auto", CTN_BY_STEP, 1}, {"auto", CTN_BY_ITERATION, 1},
                {"auto", CTN_BY_ITERATION, 3}, {"auto", CTN_BY_STEP, 2}};
    long fallbacks = 0, unequal = 0;
    for (int variant = 0; variant < 6; variant++) {
        worlds f = open_worlds(100 + (uint64_t)(_i * 6 + variant), _i, variant % 2);
        ending alone[WORLDS], got[WORLDS];
        for (int w = 0; w < WORLDS; w++) {
            ctn_batch_config cfg = f.cfg;
            cfg.engine = "scalar";
            run(&f, cfg, w, 1, variant % 3, variant >= 2, &alone[w]);
            fallbacks += alone[w].stats.fallbacks;
            unequal += alone[w].stats.iterations != alone[0].stats.iterations;
            ck_assert_int_eq(alone[w].stats.steps, alone[w].stats.frozen ? alone[w].stats.steps : variant >= 2 ? f.horizon[w] : STEPS);
        }
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char how[80];
            ctn_batch_config cfg = f.cfg;
            cfg.engine = ways[k].engine, cfg.schedule = ways[k].schedule, cfg.threads = ways[k].threads;
            snprintf(how, sizeof how, "variant %d, engine %s, schedule %d, %d threads", variant, ways[k].engine, (int)ways[k].schedule,
                     ways[k].threads);
            run(&f, cfg, 0, WORLDS, variant % 3, variant >= 2, got);
            for (int w = 0; w < WORLDS; w++) same_ending(&got[w], &alone[w], _i, w, how), free(got[w].saved);
        }
        for (int w = 0; w < WORLDS; w++) free(alone[w].saved);
        close_worlds(&f);
    }
    if (methods[_i].dt >= 0.1) ck_assert_msg(fallbacks > 0, "method %d: no step fell back: nothing is tested there", _i);
    if (ctn_method_is_implicit(methods[_i].method)) ck_assert_msg(unequal > 0, "method %d: all worlds iterate alike", _i);
}
END_TEST

/// A force that depends on the state, asked for step by step, is the table of what it said.
typedef struct {
    size_t nq, nv;
    double *said;  // [WORLDS][STEPS][nv]
    double dt;
} steering;

static void steer(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    steering *s = context;
    for (int w = 0; w < count; w++) {
        const long step = lrint((time[w] - 0.25) / s->dt);
        double *said = s->said + ((size_t)(first + w) * STEPS + (size_t)step) * s->nv;
        for (size_t k = 0; k < s->nv; k++)
            said[k] = tau[(size_t)w * s->nv + k] = -v[(size_t)w * s->nv + k] + 0.1 * q[(size_t)w * s->nq + k] + first + w;
    }
}

START_TEST(control_is_the_table_it_makes)
{
    worlds f = open_worlds(31, _i, false);
    steering s = {f.nq, f.nv, calloc(WORLDS * STEPS * f.nv, sizeof(double)), f.cfg.dt};
    ctn_error err = {0};
    double *q[2], *v[2];
    for (int k = 0; k < 2; k++) {
        ctn_batch *b = ctn_batch_create(f.m, &f.cfg, &err);
        ck_assert_msg(b != NULL, "%s", err.message);
        ctn_batch_set_state(b, f.q, f.v, 0.25, &err);
        const ctn_run what = {.steps = STEPS, .control = k ? NULL : steer, .context = &s, .force = k ? s.said : NULL};
        const ctn_status status = ctn_batch_run(b, &what, NULL, &err);
        ck_assert_msg(status == CTN_OK, "%s", err.message);
        q[k] = calloc(WORLDS * f.nq, sizeof(double)), v[k] = calloc(WORLDS * f.nv, sizeof(double));
        ctn_batch_state(b, q[k], v[k]);
        ctn_batch_free(b);
    }
    ck_assert(!memcmp(q[0], q[1], WORLDS * f.nq * sizeof(double)) && !memcmp(v[0], v[1], WORLDS * f.nv * sizeof(double)));
    for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    free(s.said);
    close_worlds(&f);
}
END_TEST

/// The times at which a control is asked: those that ctn_batch_time has at that step, however steps are put into calls, and the
/// last one of a world that is past its horizon or frozen.
typedef struct {
    double asked[WORLDS][STEPS];
    int calls[WORLDS], thrown;  // world that is to freeze in its third step
    size_t nv;
} asking;

static void ask(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    (void)q, (void)v;
    asking *const a = context;
    for (int w = 0; w < count; w++) {
        const int k = a->calls[first + w]++;
        a->asked[first + w][k] = time[w];
        if (first + w == a->thrown && k >= 2) tau[(size_t)w * a->nv] = NAN;
    }
}

START_TEST(times_of_a_control)
{
    static const int groups[][3] = {{STEPS, 0, 0}, {4, 5, 0}, {1, 1, STEPS - 2}};
    worlds f = open_worlds(31, _i, false);
    int horizon[WORLDS];
    for (int w = 0; w < WORLDS; w++) horizon[w] = w % 3 == 1 ? 4 : STEPS;
    for (int g = 0; g < 4; g++) {
        asking a = {.thrown = g == 3 ? 5 : -1, .nv = f.nv}, other = a;
        double want[WORLDS][STEPS + 1];
        ctn_batch *const b = ctn_batch_create(f.m, &f.cfg, NULL), *const by_one = ctn_batch_create(f.m, &f.cfg, NULL);
        ctn_batch_set_state(b, f.q, f.v, 0.3, NULL), ctn_batch_set_state(by_one, f.q, f.v, 0.3, NULL);
        for (int k = 0; k <= STEPS; k++) {
            for (int w = 0; w < WORLDS; w++) want[w][k] = ctn_batch_time(by_one, w);
            if (k < STEPS) ctn_batch_run(by_one, &(ctn_run){.steps = 1, .control = ask, .context = &other}, NULL, NULL);
        }
        for (int k = 0; k < 3 && g < 3; k++)
            if (groups[g][k]) ctn_batch_run(b, &(ctn_run){.steps = groups[g][k], .control = ask, .context = &a}, NULL, NULL);
        if (g == 3) ctn_batch_run(b, &(ctn_run){.steps = STEPS, .horizon = horizon, .control = ask, .context = &a}, NULL, NULL);
        for (int w = 0; w < WORLDS; w++) {
            for (int k = 0; k < a.calls[w]; k++) {
                const double time = want[w][g == 3 && k > horizon[w] ? horizon[w] : k];
                ck_assert_msg(a.asked[w][k] == time, "calls %d, world %d, step %d: asked at %.17g, not %.17g", g, w, k, a.asked[w][k], time);
            }
            ck_assert(ctn_batch_time(b, w) == want[w][g == 3 ? horizon[w] : STEPS]);
        }
        if (g == 3) ck_assert(want[5][STEPS] == want[5][3] && want[5][STEPS] < want[3][STEPS]);
        ctn_batch_free(b), ctn_batch_free(by_one);
    }
    close_worlds(&f);
}
END_TEST

/// Statistics of no steps: nobody is asked for forces, and a table has no row to be read.
static void never(void *context, int first, int count, const double *time, const double *q, const double *v, double *tau)
{
    (void)context, (void)time, (void)q, (void)v, (void)tau;
    ck_abort_msg("%d worlds from %d on are asked for forces", count, first);
}

START_TEST(no_steps_no_forces)
{
    worlds f = open_worlds(31, _i, false);
    static const int horizon[WORLDS];
    const size_t page = 4096;  // what follows it may not be read
    char *const pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE));
    const double *const empty = (double *)(void *)(pages + page);
    const ctn_run runs[] = {{.steps = 0}, {.steps = 0, .force = empty}, {.steps = 0, .control = never}, {.steps = 4, .horizon = horizon, .control = never}};
    ctn_batch *const b = ctn_batch_create(f.m, &f.cfg, NULL);
    ctn_step_stats stats[4][WORLDS];
    ctn_batch_set_state(b, f.q, f.v, 0.25, NULL);
    for (int k = 0; k < 4; k++) {
        ck_assert_int_eq(ctn_batch_run(b, &runs[k], stats[k], NULL), CTN_OK);
        ck_assert_mem_eq(stats[k], stats[0], sizeof stats[0]);
    }
    ck_assert(stats[0][WORLDS - 1].kinetic_before > 0 && ctn_batch_time(b, 0) == 0.25);
    ctn_batch_free(b), close_worlds(&f);
    munmap(pages, 2 * page);
}
END_TEST

/// The values that the model has are no change; other ones are what the same model with these numbers written into it does.
START_TEST(parameters_are_those_of_scenes)
{
    for (int method = 0; method < METHODS; method++) {
        worlds f = open_worlds(57 + (uint64_t)method, method, true);
        ctn_error err = {0};
        ending with, without;
        const size_t n = (size_t)f.cfg.parameter_count;
        for (size_t k = 0; k < n; k++) {
            if (f.list[k].kind == CTN_TIME_STEP) f.values[k] = f.cfg.dt;
            else ck_assert_msg(ctn_model_parameter(f.m, f.list[k], &f.values[k], &err) == CTN_OK, "%s", err.message);
            if (f.list[k].kind == CTN_MASS_SCALE) ck_assert(f.values[k] == 1);
        }
        ctn_batch_config cfg = f.cfg;
        run(&f, cfg, 0, 1, 1, false, &with);
        cfg.parameter_count = 0;
        run(&f, cfg, 0, 1, 1, false, &without);
        // springs of no stiffness that are looked at may turn a -0 to 0
        double difference = 0;
        for (size_t k = 0; k < with.size / sizeof(double); k++) difference = worse(difference, fabs(with.saved[k] - without.saved[k]));
        ck_assert_msg(difference < 1e-13, "method %d: off by %g", method, difference);
        free(with.saved), free(without.saved);
        close_worlds(&f);
    }
}
END_TEST

/// A saved state brings its parameters along, and with them its time, into the batch that it comes from and into a new one.
START_TEST(saved_with_parameters)
{
    worlds f = open_worlds(91, _i, true);
    ctn_error err = {0};
    const size_t n = (size_t)f.cfg.parameter_count;
    f.cfg.parameters = f.list;
    ctn_batch *b[2];
    for (int k = 0; k < 2; k++) {
        b[k] = ctn_batch_create(f.m, &f.cfg, &err);
        ck_assert_msg(b[k] != NULL, "%s", err.message);
    }
    const size_t size = ctn_batch_saved_size(b[0]);
    char *const saved = malloc(size), *const again = malloc(size);
    uint64_t hash[2][WORLDS];
    ctn_step_stats stats[3][WORLDS];
    double time[WORLDS];
    ck_assert_int_eq(ctn_batch_set_parameters(b[0], f.values, &err), CTN_OK);
    ctn_batch_set_state(b[0], f.q, f.v, 0.25, NULL);
    ctn_batch_step(b[0], 3, NULL, NULL);
    ctn_batch_save(b[0], saved);
    ctn_batch_hashes(b[0], hash[0]);
    for (int w = 0; w < WORLDS; w++) time[w] = ctn_batch_time(b[0], w);
    ctn_batch_step(b[0], 3, stats[0], NULL);
    for (size_t k = 0; k < WORLDS * n; k++) f.values[k] *= f.list[k % n].kind == CTN_TIME_STEP ? 2 : 1;
    ck_assert_int_eq(ctn_batch_set_parameters(b[0], f.values, &err), CTN_OK);
    for (int k = 0; k < 2; k++) {
        ck_assert_msg(ctn_batch_restore(b[k], saved, size, &err) == CTN_OK, "%s", err.message);
        ctn_batch_save(b[k], again), ctn_batch_hashes(b[k], hash[1]);
        ck_assert_mem_eq(saved, again, size);
        ck_assert_mem_eq(hash[0], hash[1], sizeof hash[0]);
        for (int w = 0; w < WORLDS; w++) ck_assert(ctn_batch_time(b[k], w) == time[w]);
        ctn_batch_step(b[k], 3, stats[1 + k], NULL);
        ck_assert_mem_eq(stats[0], stats[1 + k], sizeof stats[0]);
    }
    ctn_batch_free(b[1]);

    // a hash is of the parameters, too
    ctn_batch_hashes(b[0], hash[0]);
    for (size_t k = 0; k < n; k++) f.values[4 * n + k] = f.list[k].kind == CTN_GRAVITY ? -3 : f.values[4 * n + k];
    for (size_t k = 0; k < WORLDS * n; k++) f.values[k] /= f.list[k % n].kind == CTN_TIME_STEP ? 2 : 1;
    ctn_batch_set_parameters(b[0], f.values, NULL), ctn_batch_hashes(b[0], hash[1]);
    for (int w = 0; w < WORLDS; w++) ck_assert((hash[0][w] == hash[1][w]) == (w != 4));

    // refused, and nothing changed: values that a world cannot have, and other configurations
    ctn_batch_save(b[0], saved), ctn_batch_hashes(b[0], hash[0]);
    uint64_t numbers;
    memcpy(&numbers, saved + 24, sizeof numbers);
    memcpy(again, saved, size);
    memset(again + size - WORLDS * ((size_t)numbers + n) * sizeof(double), 0xff, sizeof(double));
    seal(again, size);
    ck_assert_int_eq(ctn_batch_restore(b[0], again, size, &err), CTN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "world 0: gravity: expected a finite number"));
    ctn_batch_hashes(b[0], hash[1]);
    ck_assert_mem_eq(hash[0], hash[1], sizeof hash[0]);
    const ctn_parameter first = f.list[0];
    for (int k = 0; k < 3; k++) {
        ctn_batch_config cfg = f.cfg;
        if (k == 0) f.list[0].index = 1;
        if (k == 1) cfg.parameter_count = 0;
        if (k == 2 && cfg.method == CTN_RADAU) cfg.stages = cfg.stages % 4 + 1;
        else if (k == 2 && cfg.method == CTN_COLLOCATION && !f.m->nload) cfg.order = cfg.order % 6 + 1 + (cfg.order == 6);
        else if (k == 2) continue;
        ctn_batch *const other = ctn_batch_create(f.m, &cfg, &err);
        ck_assert_msg(other != NULL, "%s", err.message);
        ck_assert_int_eq(ctn_batch_restore(other, saved, size, &err), CTN_BAD_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(err.message, "list of parameters"));
        ctn_batch_free(other);
        f.list[0] = first;
    }
    free(saved), free(again);
    ctn_batch_free(b[0]), close_worlds(&f);
}
END_TEST

/// Dense output is that of the part that was carried out, with the parameters that it was carried out with.
START_TEST(dense_before_other_parameters)
{
    worlds f = open_worlds(57, _i, true);
    const size_t n = (size_t)f.cfg.parameter_count, size = WORLDS * (f.nq + f.nv);
    double *const x[2] = {calloc(size, sizeof(double)), calloc(size, sizeof(double))}, time[2][WORLDS];
    f.cfg.parameters = f.list, f.cfg.dense = true;
    for (int k = 0; k < 2; k++) {
        ctn_batch *const b = ctn_batch_create(f.m, &f.cfg, NULL);
        ck_assert(b && ctn_batch_set_parameters(b, f.values, NULL) == CTN_OK);
        ctn_batch_set_state(b, f.q, f.v, 0.25, NULL);
        ctn_batch_step(b, 2, NULL, NULL);
        double *const other = malloc(WORLDS * n * sizeof *other);
        for (size_t i = 0; i < WORLDS * n; i++) other[i] = f.values[i] * (f.list[i % n].kind <= CTN_MASS_SCALE ? 3 : 1);
        if (k) ck_assert_int_eq(ctn_batch_set_parameters(b, other, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_dense(b, 0.4, x[k], x[k] + WORLDS * f.nq, time[k], NULL), CTN_OK);
        free(other), ctn_batch_free(b);
    }
    ck_assert_mem_eq(x[0], x[1], size * sizeof(double));
    for (int w = 0; w < WORLDS; w++) ck_assert(fabs(time[0][w] - time[1][w]) < 1e-15);
    free(x[0]), free(x[1]), close_worlds(&f);
}
END_TEST

START_TEST(totals_are_of_each_world)
{
    worlds f = open_worlds(77, 0, true);
    ctn_error err = {0};
    ctn_totals totals[WORLDS];
    ctn_step_stats stats[WORLDS];
    double values[WORLDS * MOST_PARAMETERS];
    const size_t n = (size_t)f.cfg.parameter_count;
    f.cfg.parameters = f.list, f.cfg.method = CTN_RK4;
    ctn_batch *b = ctn_batch_create(f.m, &f.cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    memcpy(values, f.values, WORLDS * n * sizeof *values);
    for (size_t k = 0; k < WORLDS * n; k++)
        if (f.list[k % n].kind == CTN_MASS_SCALE) values[k] = 1;
    ctn_batch_set_parameters(b, values, &err);
    ctn_batch_set_state(b, f.q, f.v, 0, &err);
    ctn_batch_totals(b, totals);
    const double mass = totals[0].mass;
    for (size_t k = 0; k < WORLDS * n; k++)
        if (f.list[k % n].kind == CTN_MASS_SCALE) values[k] = 1 + (double)(k / n);
    ck_assert_msg(ctn_batch_set_parameters(b, values, &err) == CTN_OK, "%s", err.message);
    ctn_batch_totals(b, totals);
    ctn_batch_step(b, 0, stats, &err);
    double scaled = 0;
    for (size_t k = 0; k < n; k++)
        if (f.list[k].kind == CTN_MASS_SCALE) scaled += ctn_model_link(f.m, f.list[k].index)->mass;
    ck_assert(scaled > 0);
    for (int w = 0; w < WORLDS; w++) {
        ck_assert_msg(fabs(totals[w].mass - (mass + w * scaled)) < 1e-12 * totals[w].mass, "world %d: %g kg", w, totals[w].mass);
        ck_assert(fabs(totals[w].kinetic - stats[w].kinetic_before) <= 1e-12 * (1 + totals[w].kinetic));
        ck_assert(fabs(totals[w].spring - stats[w].spring_before) <= 1e-12 * (1 + totals[w].spring));
    }
    ctn_batch_free(b);
    close_worlds(&f);
}
END_TEST

START_TEST(what_is_refused)
{
    worlds f = open_worlds(100, 0, true);
    ctn_error err = {0};
    const size_t n = (size_t)f.cfg.parameter_count;
    ctn_parameter list[2] = {{CTN_MASS_SCALE, 99}};
    ctn_batch_config cfg = f.cfg;
    cfg.parameters = list, cfg.parameter_count = 1;
    ck_assert_ptr_null(ctn_batch_create(f.m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "parameters: mass_scale of link 99: there are links 0 to "), "%s", err.message);
    list[0] = list[1] = (ctn_parameter){CTN_GRAVITY, 1}, cfg.parameter_count = 2;
    ck_assert_ptr_null(ctn_batch_create(f.m, &cfg, &err));
    ck_assert_str_eq(err.message, "parameters: gravity 1 is given twice");
    list[0].index = 3;
    ck_assert_ptr_null(ctn_batch_create(f.m, &cfg, &err));
    ck_assert_str_eq(err.message, "parameters: gravity has the indices 0 to 2, found 3");

    f.cfg.parameters = f.list;
    ctn_batch *b = ctn_batch_create(f.m, &f.cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    for (size_t k = 0; k < n; k++) {
        if (f.list[k].kind != CTN_MASS_SCALE) continue;
        f.values[2 * n + k] = 0;
        ck_assert_int_eq(ctn_batch_set_parameters(b, f.values, &err), CTN_BAD_ARGUMENT);
        ck_assert_msg(strstr(err.message, "world 2: mass_scale of link '") && strstr(err.message, "expected a positive number, found 0"),
                      "%s", err.message);
        break;
    }
    ctn_run what = {.steps = 3, .force = f.force, .control = steer};
    ck_assert_int_eq(ctn_batch_run(b, &what, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "forces: give a table or a control, not both");
    what = (ctn_run){.steps = 3, .horizon = f.horizon};
    ck_assert_int_eq(ctn_batch_run(b, &what, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "horizon of world 1: expected 0 to 3 steps, found 5");
    ctn_batch_free(b);
    cfg = ctn_batch_config_default();
    b = ctn_batch_create(f.m, &cfg, &err);
    ck_assert_int_eq(ctn_batch_set_parameters(b, f.values, &err), CTN_BAD_ARGUMENT);
    ctn_batch_free(b);
    close_worlds(&f);
}
END_TEST

#define LINK "mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1, 0, 0, 0]"
static const char joints[] = "catena: 1\n"
                             "links:\n"
                             "  - {name: base, joint: fixed, " LINK "}\n"
                             "  - {name: hinge, joint: {type: revolute, axis: [0, 1, 0]}, " LINK "}\n"
                             "  - {name: rail, joint: {type: prismatic, limits: [-1, 1]}, " LINK "}\n"
                             "  - {name: fork, joint: {type: universal, limits: [none, [-1, 1]]}, " LINK "}\n"
                             "  - {name: head, joint: {type: ball, limits: 1}, " LINK "}\n"
                             "  - {name: body, joint: free, " LINK "}\n";
enum { BASE, HINGE, RAIL, FORK, HEAD, BODY };

static const struct {
    ctn_parameter of;
    const char *says;
} not_there[] = {
    {{CTN_SPRING_ANCHOR, 0}, "spring_anchor: the model has no springs; give the scene `springs`"},
    {{CTN_FORCE, 0}, "force: the model has no forces; give the scene `forces`"},
    {{CTN_TORQUE, 0}, "torque: the model has no forces; give the scene `forces`"},
    {{CTN_MOTOR_TARGET, 0}, "motor_target: the model has no motors; give the scene `motors`"},
    {{CTN_DAMPING, BASE}, "damping of link 'base': the joint is fixed: it has no parameters"},
    {{CTN_LIMIT_UPPER, HINGE}, "limit_upper of link 'hinge': the joint has no limits; give it `limits` in the scene"},
    {{CTN_LIMIT_STIFFNESS, HINGE}, "limit_stiffness of link 'hinge': the joint has no limits; give it `limits` in the scene"},
    {{CTN_REST, HEAD}, "rest of link 'head': the joint is a ball: its rest is no number"},
    {{CTN_LIMIT_LOWER, HEAD}, "limit_lower of link 'head': the joint is a ball: it has no lower limit"},
    {{CTN_ARMATURE, BODY}, "armature of link 'body': the joint is free: of a joint's parameters it has damping alone"},
};

static const struct {
    ctn_parameter of;
    double value;
    const char *says;  // NULL: it may be that
} edges[] = {
    {{CTN_GRAVITY, 0}, INFINITY, "gravity: expected a finite number, found inf"},
    {{CTN_MASS_SCALE, BASE}, 0, "mass_scale of link 'base': expected a positive number, found 0"},
    {{CTN_ARMATURE, HINGE}, 0, NULL},
    {{CTN_ARMATURE, HINGE}, -1e-300, "armature of link 'hinge': expected a number >= 0, found -1e-300"},
    {{CTN_DAMPING, BODY}, INFINITY, "damping of link 'body': expected a number >= 0, found inf"},
    {{CTN_REST, HINGE}, NAN, "rest of link 'hinge': expected a finite number, found nan"},
    {{CTN_LIMIT_LOWER, RAIL}, -INFINITY, NULL},
    {{CTN_LIMIT_LOWER, RAIL}, INFINITY, "limit_lower of link 'rail': expected a finite number, or -infinity, found inf"},
    {{CTN_LIMIT_LOWER, RAIL}, 1, "the limits of link 'rail' are [1, 1]: the lower one is not below the upper one"},
    {{CTN_LIMIT_LOWER, FORK}, 0.5, NULL},
    {{CTN_LIMIT_LOWER, FORK}, 2, "the limits of link 'fork' are [2, 1]: the lower one is not below the upper one"},
    {{CTN_LIMIT_UPPER, RAIL}, INFINITY, NULL},
    {{CTN_LIMIT_UPPER, HEAD}, INFINITY, NULL},
    {{CTN_LIMIT_UPPER, HEAD}, 3.14159265358979323846, NULL},
    {{CTN_LIMIT_UPPER, HEAD},
     3.1416,
     "limit_upper of link 'head': expected an angle in (0, pi] for a ball joint, or infinity, found 3.1416"},
    {{CTN_LIMIT_UPPER, HEAD},
     0,
     "limit_upper of link 'head': expected an angle in (0, pi] for a ball joint, or infinity, found 0"},
    {{CTN_LIMIT_STIFFNESS, FORK}, 0, "limit_stiffness of link 'fork': expected a positive number, found 0"},
    {{CTN_LIMIT_DAMPING, FORK}, 0, NULL},
    {{CTN_TIME_STEP, 0}, 0, "time_step: expected a positive number, found 0"},
};

/// Which joint has which parameter, and the edges of what it may be.
START_TEST(rules_of_parameters)
{
    ctn_error err = {0};
    ctn_model *const m = model_of(joints);
    ctn_batch_config cfg = ctn_batch_config_default();
    for (size_t k = 0; k < sizeof not_there / sizeof *not_there; k++) {
        char says[200];
        snprintf(says, sizeof says, "parameters: %s", not_there[k].says);
        cfg.parameters = &not_there[k].of, cfg.parameter_count = 1;
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_str_eq(err.message, says);
    }
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        char says[200];
        snprintf(says, sizeof says, "world 0: %s", edges[k].says ? edges[k].says : "");
        cfg.parameters = &edges[k].of, cfg.parameter_count = 1;
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(b != NULL, "%s", err.message);
        const ctn_status status = ctn_batch_set_parameters(b, &edges[k].value, &err);
        ck_assert_msg(status == (edges[k].says ? CTN_BAD_ARGUMENT : CTN_OK), "%s, %g: status %d",
                      ctn_parameter_name(edges[k].of.kind), edges[k].value, (int)status);
        if (edges[k].says) ck_assert_str_eq(err.message, says);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("worlds");
    TCase *t = tcase_create("worlds");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, worlds_are_alone, 0, METHODS);
    tcase_add_loop_test(t, control_is_the_table_it_makes, 1, METHODS);
    tcase_add_loop_test(t, times_of_a_control, 0, METHODS);
    tcase_add_loop_test(t, no_steps_no_forces, 0, METHODS);
    tcase_add_loop_test(t, saved_with_parameters, 0, METHODS);
    const char *const engine = getenv("CTN_ENGINE");
    for (int k = 0; k < METHODS && (!engine || !strstr(engine, "cuda")); k++)
        if (methods[k].method != CTN_VARIATIONAL) tcase_add_loop_test(t, dense_before_other_parameters, k, k + 1);
    tcase_add_test(t, parameters_are_those_of_scenes);
    tcase_add_test(t, like_beside_like);
    tcase_add_test(t, totals_are_of_each_world);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, rules_of_parameters);
    suite_add_tcase(s, t);
    return run_suite(s);
}
