/// Numbers beyond all reason: whatever a scene holds, every method makes its steps, or freezes the world at its last good state,
/// soon. A step that does not end runs into the test's time limit. And worlds that have gone far, for good reasons.
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/hash.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

// ---- scenes

/// A joint and a link on it; the values that are extreme are put in for each scene.
typedef struct {
    const char *name, *first, *second, *gravity, *mass[2], *inertia, *length;
} extreme;

#define HINGE "revolute, axis: [0, 1, 0]"

static const extreme extremes[] = {
    {"massless balls", "ball", "ball", "-9.81", {"0", "0"}, "0", "0.3"},
    {"pitch", "helical, axis: [0, 1, 0], pitch: 1.0e+150", "ball", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"pitch of a leaf", HINGE, "helical, axis: [1, 0, 0], pitch: 1.0e+150", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"length", HINGE, "ball", "-9.81", {"1", "1"}, "0.01", "1.0e+300"},
    {"gravity", HINGE, "ball", "-1.0e+308", {"1", "1"}, "0.01", "0.3"},
    {"damping", HINGE ", damping: 1.0e+308", "ball, damping: 1.0e+308", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"stiffness", HINGE ", stiffness: 1.0e+12, rest: 1", "ball, stiffness: 1.0e+12", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"more stiffness", HINGE ", stiffness: 1.0e+308, rest: 1", "ball", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"light", HINGE, "ball", "-9.81", {"1.0e-300", "1.0e-300"}, "1.0e-300", "0.3"},
    {"heavy", HINGE, "ball", "-9.81", {"1.0e+300", "1"}, "1.0e+300", "0.3"},
    {"light and heavy", HINGE, HINGE, "-9.81", {"1.0e-300", "1.0e+300"}, "1.0e-300", "0.3"},
    {"far away", "prismatic, axis: [1, 0, 1], q0: 1.0e+300", "ball", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"far out", HINGE, "prismatic, axis: [0, 1, 0], q0: 1.0e+300", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"angle", HINGE ", q0: 1.0e+300", "ball", "-9.81", {"1", "1"}, "0.01", "0.3"},
    {"speed", HINGE ", v0: 1.0e+300", "ball", "-9.81", {"1", "1"}, "0.01", "0.3"},
};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

static ctn_model *model_of_extreme(const extreme *e)
{
    char text[2000];
    int n = snprintf(text, sizeof text, "catena: 1\ngravity: [0, 0, %s]\nlinks:\n", e->gravity);
    for (int k = 0; k < 2; k++) {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  - name: %s\n%s    joint: {type: %s}\n    position: [%s, 0, 0]\n    mass: %s\n"
                      "    inertia: [%s, %s, %s, 0, 0, 0]\n    com: [0, 0, %s]\n",
                      k ? "b" : "a", k ? "    parent: a\n" : "", k ? e->second : e->first, k ? e->length : "0", e->mass[k],
                      e->inertia, e->inertia, e->inertia, *e->mass[k] == '0' ? "0" : e->length);
    }
    // what hangs on links without mass
    if (*e->mass[1] == '0')
        snprintf(text + n, sizeof text - (size_t)n,
                 "  - {name: c, parent: b, joint: ball, mass: 1, com: [0.1, 0, -0.3], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n");
    return model_of(text);
}

// ---- methods

typedef struct {
    ctn_method method;
    int number;  // order or stages; 0: the default
    ctn_solver solver;
    bool adaptive;
} way;

static const way ways[] = {
    {CTN_EULER, 0, CTN_NEWTON, false},       {CTN_SEMI_IMPLICIT, 0, CTN_NEWTON, false}, {CTN_RK2, 0, CTN_NEWTON, false},
    {CTN_RK3, 0, CTN_NEWTON, false},         {CTN_RK4, 0, CTN_NEWTON, false},           {CTN_DOP853, 0, CTN_NEWTON, false},
    {CTN_DOP853, 0, CTN_NEWTON, true},       {CTN_COLLOCATION, 2, CTN_NEWTON, false},   {CTN_COLLOCATION, 4, CTN_NEWTON, false},
    {CTN_COLLOCATION, 6, CTN_NEWTON, false}, {CTN_COLLOCATION, 2, CTN_LM, false},       {CTN_COLLOCATION, 2, CTN_LBFGS, false},
    {CTN_RADAU, 1, CTN_NEWTON, false},       {CTN_RADAU, 2, CTN_NEWTON, false},         {CTN_RADAU, 4, CTN_NEWTON, false},
    {CTN_RADAU, 2, CTN_LM, false},           {CTN_RADAU, 2, CTN_LBFGS, false},          {CTN_RADAU, 1, CTN_NEWTON, true},
    {CTN_RADAU, 2, CTN_NEWTON, true},        {CTN_RADAU, 4, CTN_NEWTON, true},          {CTN_VARIATIONAL, 2, CTN_NEWTON, false},
    {CTN_VARIATIONAL, 4, CTN_NEWTON, false}, {CTN_ALPHA, 0, CTN_NEWTON, false},         {CTN_ALPHA, 0, CTN_NEWTON, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(const way *w, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = w->method, cfg.solver = w->solver, cfg.adaptive = w->adaptive, cfg.dt = dt;
    if (w->number && w->method == CTN_RADAU) cfg.stages = w->number;
    else if (w->number) cfg.order = w->number;
    cfg.max_halvings = 4, cfg.error_tolerance = 1e-3;
    return cfg;
}

/// Two worlds, so that lanes wait for each other: they end the call as they should.
static void try(const extreme *e, const way *w, double dt)
{
    enum { STEPS = 3, WORLDS = 2 };
    ctn_model *const m = model_of_extreme(e);
    ctn_batch_config cfg = config_of(w, dt);
    ctn_error err = {0};
    cfg.worlds = WORLDS;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    if (!b) ck_assert_msg(err.status == CTN_BAD_CONFIG, "%s", err.message);  // variational 4 has no dampers
    ctn_step_stats stats[WORLDS];
    double q[WORLDS * 12], v[WORLDS * 9];
    if (b) {
        const ctn_status status = ctn_batch_step(b, STEPS, stats, &err);
        ck_assert_msg(status == CTN_OK || status == CTN_FROZEN, "%s", err.message);
        ctn_batch_state(b, q, v);
    }
    for (int k = 0; k < WORLDS && b; k++) {
        char what[200];
        snprintf(what, sizeof what, "%s, %s %d%s, dt %g, world %d", e->name, ctn_method_name(w->method), w->number,
                 w->adaptive ? " adaptive" : "", dt, k);
        ck_assert_msg(stats[k].frozen != CTN_RUNNING || stats[k].steps == STEPS, "%s: %ld steps", what, stats[k].steps);
        for (int j = 0; j < ctn_model_nq(m); j++) ck_assert_msg(isfinite(q[k * ctn_model_nq(m) + j]), "%s: q[%d]", what, j);
        for (int j = 0; j < ctn_model_nv(m); j++) ck_assert_msg(isfinite(v[k * ctn_model_nv(m) + j]), "%s: v[%d]", what, j);
    }
    ctn_batch_free(b), ctn_model_free(m);
}

START_TEST(every_method_ends)
{
    static const double sizes[] = {0.01, 1e300};
    for (int k = 0; k < WAYS; k++)
        for (int d = 0; d < 2; d++) try(&extremes[_i], &ways[k], sizes[d]);
}
END_TEST

/// The step with which it began: no iteration but the first, no halving.
START_TEST(a_step_without_a_solution_ends)
{
    ctn_model *const m = model_of_extreme(&extremes[0]);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.max_iterations = 1, cfg.max_halvings = 0;
    ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_FROZEN);
    ck_assert_int_eq(s.frozen, CTN_FREEZE_NOT_CONVERGED);
    ck_assert(s.frozen_time == 0 && s.steps == 0);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A spring that swings some million times in an interval: more parts than a step may have.
START_TEST(a_step_of_too_many_parts_freezes)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0], stiffness: 1.0e+12, "
                 "q0: 1}, mass: 1, inertia: [0, 0, 0, 0, 0, 0]}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_DOP853, cfg.adaptive = true, cfg.dt = 10;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_FROZEN);
    ck_assert_int_eq(s.frozen, CTN_FREEZE_PARTS);
    ck_assert_int_eq(s.substeps + s.rejected, 100000);
    ck_assert(s.frozen_time > 0 && s.frozen_time < 10);
    ctn_batch_free(b);
    // in shorter intervals it goes on, and keeps its energy
    cfg.dt = 0.01;
    b = ctn_batch_create(m, &cfg, NULL);
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_OK);
    ck_assert_msg(fabs(s.energy_after / s.energy_before - 1) < 1e-3, "energy %g", s.energy_after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A solver that may iterate for ever, in steps that may be halved a thousand million times, gives up; every world for itself.
START_TEST(a_step_of_too_much_work_freezes)
{
    static const struct {
        ctn_method method;
        ctn_solver solver;
        bool adaptive;
    } of[] = {{CTN_COLLOCATION, CTN_LBFGS, false}, {CTN_COLLOCATION, CTN_LM, false}, {CTN_RADAU, CTN_LBFGS, true}};
    ctn_model *const m = model_of_extreme(&extremes[6]);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = of[_i].method, cfg.solver = of[_i].solver, cfg.adaptive = of[_i].adaptive;
    cfg.dt = 100, cfg.max_iterations = 1000000, cfg.max_halvings = 30, cfg.worlds = 3, cfg.tolerance = 1e-300;
    ctn_step_stats s[3];
    for (int e = 0; e < 2; e++) {
        cfg.engine = e ? "scalar" : NULL;
        ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
        ck_assert_int_eq(ctn_batch_step(b, 1, s, NULL), CTN_FROZEN);
        for (int w = 0; w < 3; w++) {
            char why[500];
            ck_assert_int_eq(s[w].frozen, CTN_FREEZE_WORK);
            ck_assert(s[w].steps == 0 && s[w].evaluations <= 300000 && s[w].evaluations > 1000);
            ck_assert_ptr_nonnull(strstr(ctn_freeze_report(m, &cfg, &s[w], why, sizeof why), "try the solver newton"));
        }
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// Hinges with springs and limits that turn by several rounds in a step: bodies do not show whole turns, springs do, and no
/// solution is taken that makes energy of the difference.
START_TEST(whole_turns_make_no_energy)
{
    rng r = {(uint64_t)_i + 1};
    char text[2000] = "catena: 1\nlinks:\n";
    const int links = 1 + rng_below(&r, 4);
    for (int k = 0; k < links; k++)
        sprintf(text + strlen(text),
                "  - {name: l%d, %s joint: {type: revolute, axis: [0, 1, 0], stiffness: %g, q0: %g, v0: %g, limits: [-1, 1], "
                "limit_damping: 0}, mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n",
                k, k ? "parent: l0, position: [1, 0, 0]," : "", pow(10, rng_uniform(&r, 0, 4)), rng_uniform(&r, -30, 30),
                pow(10, rng_uniform(&r, 1, 3)));
    ctn_model *const m = model_of(text);
    static const int steps[] = {20, 50, 100};  // of a second
    for (int stages = 0; stages < 4; stages++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        const int n = steps[rng_below(&r, 3)];
        cfg.method = stages ? CTN_RADAU : CTN_COLLOCATION, cfg.stages = stages ? stages : 2, cfg.dt = 1. / n;
        ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
        ctn_step_stats s;
        ctn_batch_step(b, n, &s, NULL);
        ck_assert_msg(s.frozen == CTN_RUNNING, "%d stages: frozen at %g s in\n%s", stages, s.frozen_time, text);
        ck_assert_msg(s.energy_max <= 1.001 * s.energy_before, "%d stages, dt %g: from %g to %g J in\n%s", stages, cfg.dt,
                      s.energy_before, s.energy_max, text);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

// ---- calls that are ended

static volatile int flag;

static void set_flag(int signal)
{
    (void)signal;
    flag = 1;
}

/// Sets the flag in a fifth of a second.
static void set_flag_soon(void)
{
    flag = 0;
    ck_assert(signal(SIGALRM, set_flag) != SIG_ERR);
    ck_assert(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 200000}}, NULL) == 0);
}

static ctn_model *hanging_chain(int links)
{
    char text[400];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - chain: {name: c, count: %d, step: [0, 0, -0.2], joint: {type: revolute, axis: [0, 1, 0], "
             "q0: 0.3}, "
             "mass: 1, com: [0, 0, -0.1], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n",
             links);
    return model_of(text);
}

/// A call that would take minutes: one step of it, or many.
typedef struct {
    const char *name;
    way of;
    ctn_schedule schedule;
    int links, worlds, steps;
    double dt;
} lengthy;

static const lengthy calls[] = {
    {"parts of dop853", {CTN_DOP853, 0, CTN_NEWTON, true}, CTN_SCHEDULE_AUTO, 1000, 1, 1, 1000},
    {"parts of radau", {CTN_RADAU, 3, CTN_NEWTON, true}, CTN_SCHEDULE_AUTO, 1000, 1, 1, 1000},
    {"halves", {CTN_VARIATIONAL, 2, CTN_NEWTON, false}, CTN_SCHEDULE_AUTO, 1000, 1, 1, 1000},
    {"a dense matrix", {CTN_COLLOCATION, 2, CTN_LM, false}, CTN_SCHEDULE_AUTO, 2000, 1, 1, 1},
    {"explicit steps", {CTN_EULER, 0, CTN_NEWTON, false}, CTN_SCHEDULE_AUTO, 3, 1, 1000000000, 1e-12},
    {"steps together", {CTN_RADAU, 2, CTN_NEWTON, false}, CTN_BY_STEP, 3, 5, 1000000000, 1e-3},
    {"steps by iteration", {CTN_RADAU, 2, CTN_NEWTON, false}, CTN_BY_ITERATION, 3, 5, 1000000000, 1e-3},
};
enum { CALLS = sizeof calls / sizeof *calls };

START_TEST(a_call_ends_when_asked_to)
{
    const lengthy *const c = &calls[_i];
    ctn_model *const m = hanging_chain(c->links);
    ctn_batch_config cfg = config_of(&c->of, c->dt);
    cfg.worlds = c->worlds, cfg.schedule = c->schedule, cfg.interrupt = &flag, cfg.max_halvings = 30;
    if (c->of.adaptive) cfg.error_tolerance = 1e-12;
    ctn_error err = {0};
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    uint64_t before[8], after[8];
    ctn_batch_hashes(b, before);
    set_flag_soon();
    ck_assert_msg(ctn_batch_step(b, c->steps, NULL, &err) == CTN_INTERRUPTED, "%s: %s", c->name, err.message);
    // all worlds are where they were, to the last bit
    ctn_batch_hashes(b, after);
    ck_assert_msg(!memcmp(before, after, (size_t)c->worlds * sizeof *before), "%s", c->name);
    ck_assert(ctn_batch_time(b, 0) == 0);
    ck_assert_int_eq(ctn_batch_step(b, 0, NULL, NULL), CTN_OK);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A batch that may be interrupted makes the bits of one that may not, also after it was.
START_TEST(interruptions_leave_no_trace)
{
    ctn_model *const m = hanging_chain(5);
    for (int k = 0; k < WAYS; k++) {
        uint64_t hash[2][3];
        for (int watched = 0; watched < 2; watched++) {
            ctn_batch_config cfg = config_of(&ways[k], 0.01);
            cfg.worlds = 3, cfg.interrupt = watched ? &flag : NULL;
            ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
            for (int n = 0; n < 5; n++) {
                flag = 1;
                if (watched) ck_assert_int_eq(ctn_batch_step(b, 4, NULL, NULL), CTN_INTERRUPTED);
                flag = 0;
                ck_assert_int_le(ctn_batch_step(b, 2, NULL, NULL), CTN_FROZEN);
            }
            ctn_batch_hashes(b, hash[watched]);
            ctn_batch_free(b);
        }
        ck_assert_msg(!memcmp(hash[0], hash[1], sizeof hash[0]), "%s", ctn_method_name(ways[k].method));
    }
    ctn_model_free(m);
}
END_TEST

// ---- where worlds freeze

/// What the report of a frozen world must name.
typedef struct {
    const char *name, *scene;
    way of;
    double dt;
    int dof;
    const char *joint, *why, *try;
} fall;

static const fall falls[] = {
    {"stiff spring",
     "catena: 1\nlinks:\n  - {name: base, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [0, 0, 0, 0, 0, 0]}\n"
     "  - {name: spring, parent: base, joint: {type: prismatic, axis: [0, 1, 0], stiffness: 1.0e+8, q0: 0.1}, mass: 1, "
     "inertia: [0, 0, 0, 0, 0, 0]}\n",
     {CTN_RK4, 0, CTN_NEWTON, false},
     0.01,
     1,
     "'spring'",
     "infinite or undefined",
     "try radau"},
    {"runs away",
     "catena: 1\nlinks:\n  - {name: slow, joint: {type: revolute, axis: [0, 0, 1], v0: 1}, mass: 1, inertia: [1, 1, 1, 0, 0, "
     "0]}\n"
     "  - {name: wheel, joint: {type: revolute, axis: [0, 0, 1], v0: 2.0e+6}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n",
     {CTN_RK4, 0, CTN_NEWTON, false},
     0.01,
     1,
     "'wheel'",
     "by more than 1e4 rad in a step",
     "a smaller dt"},
    {"no solution",
     "catena: 1\nlinks:\n  - {name: calm, joint: {type: revolute, axis: [0, 0, 1]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
     "  - {name: whirl, joint: {type: revolute, axis: [0, 0, 1], v0: 1.0e+200}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n",
     {CTN_VARIATIONAL, 2, CTN_NEWTON, false},
     0.01,
     1,
     "'whirl'",
     "no step was found",
     "try radau"},
    {"no inertia",
     "catena: 1\nlinks:\n  - {name: a, joint: {type: ball}, mass: 0}\n  - {name: b, parent: a, joint: {type: ball}, mass: 0}\n"
     "  - {name: c, parent: b, joint: {type: ball}, position: [0, 0, -1], mass: 1, inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n",
     {CTN_RADAU, 2, CTN_NEWTON, false},
     0.01,
     -1,
     "no motion follows",
     "no step was found",
     "mass, or its joint armature"},
};
enum { FALLS = sizeof falls / sizeof *falls };

/// On every engine and by both schedules the same joint, where it was, and what to try: in the statistics and in the error.
START_TEST(a_frozen_world_says_where)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    const fall *const f = &falls[_i];
    ctn_model *const m = model_of(f->scene);
    ctn_step_stats first = {0};
    for (int k = 0; k < 3; k++) {
        ctn_batch_config cfg = config_of(&f->of, f->dt);
        ctn_error err = {0};
        cfg.worlds = 3, cfg.engine = engines[k], cfg.max_halvings = 2;
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
        if (!b && err.status == CTN_UNAVAILABLE) continue;
        ctn_step_stats s[3];
        char why[600];
        ck_assert_msg(ctn_batch_step(b, 1000000, s, &err) == CTN_FROZEN, "%s: %s", f->name, err.message);
        if (!k) first = s[0];
        for (int w = 0; w < 3; w++) ck_assert_msg(!memcmp(&s[w], &first, sizeof first), "%s on %s", f->name, engines[k]);
        ck_assert_int_eq(s[0].frozen_dof, f->dof);
        const char *const said[] = {ctn_freeze_report(m, &cfg, &s[0], why, sizeof why), err.message};
        for (int t = 0; t < 2; t++)
            ck_assert_msg(strstr(said[t], f->joint) && strstr(said[t], f->why) && strstr(said[t], f->try), "%s: %s", f->name,
                          said[t]);
        // where it was at its last good state
        double q[3 * 12], v[3 * 9];
        ctn_batch_state(b, q, v);
        if (f->dof < 0) {
            ctn_batch_free(b);
            continue;
        }
        ck_assert_msg(s[0].frozen_position == q[f->dof], "%s: %g, %g", f->name, s[0].frozen_position, q[f->dof]);
        ck_assert_msg(fabs(s[0].frozen_velocity - v[f->dof]) <= 1e-6 * fabs(v[f->dof]), "%s: %g, %g", f->name,
                      s[0].frozen_velocity, v[f->dof]);
        // later calls say the same
        ctn_step_stats again[3];
        ck_assert_int_eq(ctn_batch_step(b, 1, again, NULL), CTN_FROZEN);
        ck_assert(again[0].frozen_dof == s[0].frozen_dof && again[0].frozen_position == s[0].frozen_position);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A text that is too short is cut, and ended.
START_TEST(reports_fit_their_memory)
{
    ctn_model *const m = model_of(falls[0].scene);
    const ctn_step_stats s = {.frozen = CTN_FREEZE_NOT_FINITE, .frozen_dof = 1, .frozen_position = 3, .frozen_velocity = 4};
    char whole[400], part[400];
    ctn_freeze_report(m, NULL, &s, whole, sizeof whole);
    for (size_t size = 1; size < sizeof part; size++) {
        memset(part, 'x', sizeof part);
        ctn_freeze_report(m, NULL, &s, part, size);
        ck_assert_msg(strlen(part) == (strlen(whole) < size ? strlen(whole) : size - 1) && !strncmp(part, whole, strlen(part)),
                      "%zu", size);
    }
    ctn_model_free(m);
}
END_TEST

// ---- far away

/// Sliders without stops on hinges: after a minute they are 7 and 15 km out, and every method knows where.
static const char far_tree[] =
    "catena: 1\nlinks:\n"
    "  - {name: l0, joint: {type: prismatic, axis: [0.731, 0.714, 0.562]}, mass: 1.013, com: [0.213, -0.186, 0.182], "
    "inertia: [0.0290, 0.0319, 0.0348, 0, 0, 0]}\n"
    "  - {name: l1, parent: l0, position: [-0.053, -0.358, 0.039], joint: {type: revolute, axis: [0.781, 0.269, 0.191]}, "
    "mass: 0.913, com: [-0.028, 0.143, 0.090], inertia: [0.0349, 0.0384, 0.0419, 0, 0, 0]}\n"
    "  - {name: l2, parent: l0, position: [-0.464, 0.380, 0.100], joint: {type: revolute, axis: [0.556, -0.347, 0.182]}, "
    "mass: 0.552, com: [-0.160, -0.124, -0.297], inertia: [0.0134, 0.0147, 0.0161, 0, 0, 0]}\n"
    "  - {name: l3, parent: l1, position: [0.498, 0.496, 0.340], joint: {type: prismatic, axis: [0.416, -0.369, -0.541]}, "
    "mass: 0.720, com: [-0.258, 0.160, -0.060], inertia: [0.0439, 0.0482, 0.0526, 0, 0, 0]}\n";

START_TEST(sliders_run_for_kilometres)
{
    static const ctn_method methods[] = {CTN_DOP853, CTN_COLLOCATION, CTN_RADAU};
    ctn_model *const m = model_of(far_tree);
    double q[3][4];
    for (int k = 0; k < 3; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = methods[k], cfg.dt = 0.02;
        ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
        ctn_error err = {0};
        ctn_step_stats s;
        ck_assert_msg(ctn_batch_step(b, 3000, &s, &err) != CTN_FROZEN, "%s", err.message);
        ck_assert_int_eq(s.steps, 3000);
        ctn_batch_state(b, q[k], NULL);
        ctn_batch_free(b);
    }
    ck_assert(fabs(q[0][0]) > 7000 && fabs(q[0][3]) > 14000);
    for (int i = 0; i < 4; i += 3) {  // collocation is of order 1
        ck_assert_msg(fabs(q[1][i] - q[0][i]) < 0.01 * fabs(q[0][i]), "collocation: q[%d] %g, %g", i, q[1][i], q[0][i]);
        ck_assert_msg(fabs(q[2][i] - q[0][i]) < 1e-5 * fabs(q[0][i]), "radau: q[%d] %g, %g", i, q[2][i], q[0][i]);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("extremes");
    TCase *t = tcase_create("extremes");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, every_method_ends, 0, EXTREMES);
    tcase_add_test(t, a_step_without_a_solution_ends);
    tcase_add_test(t, a_step_of_too_many_parts_freezes);
    tcase_add_loop_test(t, a_step_of_too_much_work_freezes, 0, 3);
    tcase_add_loop_test(t, whole_turns_make_no_energy, 0, 40);
    tcase_add_loop_test(t, a_call_ends_when_asked_to, 0, CALLS);
    tcase_add_test(t, interruptions_leave_no_trace);
    tcase_add_loop_test(t, a_frozen_world_says_where, 0, FALLS);
    tcase_add_test(t, reports_fit_their_memory);
    tcase_add_test(t, sliders_run_for_kilometres);
    suite_add_tcase(s, t);
    return run_suite(s);
}
