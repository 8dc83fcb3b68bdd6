/// Derivatives of steps of several stages that touch (integrators/stage_contact_adjoint.h): Jacobians along random changes of the
/// state, and gradients of runs, against differences of the steps themselves. What falls, lands (with one stage), slides and lies, on
/// the ground and on obstacles; machines with motors, springs and dry friction in their joints.
#include "tests/contact_world.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE = GROUND_KINDS, KINDS };

/// A trunk on a leg with motors, a springy one, and one on a ball.
static ctn_model *machine(uint64_t seed, double *q, double *v)
{
    static const char text[] =
        "catena: 1\nground: true\ncontact: {friction: %g}\nlinks:\n"
        "  - {name: trunk, joint: free, density: 300, shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}\n"
        "  - {name: thigh, parent: trunk, position: [0.15, 0.1, 0], density: 500,\n"
        "     joint: {type: revolute, axis: [0, 1, 0], armature: 0.01, stiffness: 3, limits: [-40 deg, 40 deg], friction: 0.2,\n"
        "     presliding: 0.05, damping: 0.05}, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.2], radius: 0.03}]}\n"
        "  - {name: foot, parent: thigh, position: [0, 0, -0.2], joint: {type: prismatic, axis: [0, 0, 1], damping: 2, armature: "
        "0.1},\n"
        "     density: 500, shapes: [{type: sphere, radius: 0.04}]}\n"
        "  - {name: leg, parent: trunk, position: [0.15, -0.1, 0], joint: {type: revolute, axis: [0.2, 1, 0], damping: 0.1},\n"
        "     density: 500, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.25], radius: 0.03}]}\n"
        "  - {name: tail, parent: trunk, position: [-0.2, 0, 0], joint: {type: ball, damping: 0.1, stiffness: 4, armature: "
        "0.01},\n"
        "     density: 500, shapes: [{type: capsule, from: [0, 0, 0], to: [-0.1, 0, -0.2], radius: 0.03}]}\n"
        "motors:\n"
        "  - {joint: thigh, type: position, kp: 40, kd: 1, effort: 12, target: {sinusoid: {amplitude: 0.4, frequency: 2, phase: "
        "%g}}}\n"
        "  - {joint: foot, type: position, kp: 2000, kd: 20, target: %g}\n"
        "  - {joint: leg, type: velocity, kd: 2, gear: 2, target: %g, effort: 3}\n";
    rng r = {seed * 433 + 1};
    char scene[sizeof text + 100];
    const double friction = rng_uniform(&r, 0, 1), phase = rng_uniform(&r, 0, 6), way = rng_uniform(&r, -0.05, 0.05);
    snprintf(scene, sizeof scene, text, friction, phase, way, rng_uniform(&r, -6, 6));
    ctn_model *const m = model_of(scene);
    random_state(m, &r, q, v);
    for (int k = 0; k < m->nv; k++) v[k] *= 0.5;
    memcpy(q, (double[7]){0, 0, 0.4, 1, 0, 0, 0}, 7 * sizeof *q);
    for (int k = 7; k < m->nq; k++) q[k] *= 0.3;
    return m;
}

/// A fall that is checked, by radau of 2, 3 or 4 stages: on the ground alone, or over obstacles.
static contact_world open_fall(int kind, uint64_t seed, bool obstacles, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = kind == MACHINE ? machine(seed, q, v)
                         : obstacles     ? obstacle_model((ground_kind)kind, seed, depth, q, v)
                                         : ground_model((ground_kind)kind, seed, depth, q, v);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = seed % 8 == 7 ? 4 : 2 + (int)(seed / 2 % 2), cfg.tolerance = 1e-13;
    cfg.dt = seed % 2 ? 1. / 60 : 1. / 240;
    contact_world f = open_world(m, cfg, seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

/// What was compared, and how many steps of it were made with fewer stages.
typedef struct {
    comparison all;
    long landed;
} tally;

/// A and B of a step along random changes of each part of the state, of forces, and of all of these.
static void check_step(const contact_world *f, int step, const double *from, const double *to, const double *tau, made_step how,
                       uint64_t seed, comparison *t)
{
    enum { FORCES = GRADIENT_PARTS, ALL };
    ctn_error err = {0};
    rng r = {seed * 977 + (uint64_t)step};
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *d = numbers(f->n + f->nv), *told = numbers(f->n),
           *slope = numbers(f->n);
    ck_assert_msg(ctn_step_jacobian(f->tape, step, A, B, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double scale = largest(A, f->n * f->n), force = scale / largest(B, f->n * f->nv);
    for (int what = 0; what <= ALL; what++) {
        double error = 0, bend;
        size_t row = 0;
        if (what < FORCES && f->part[what] == f->part[what + 1]) continue;
        memset(d, 0, (f->n + f->nv) * sizeof *d), memset(told, 0, f->n * sizeof *told);
        for (size_t j = what < FORCES ? f->part[what] : 0; j < (what < FORCES ? f->part[what + 1] : f->n) && what != FORCES;
             j++) {
            if (is_at_edge(f, from, j)) continue;
            const double x = rng_uniform(&r, -1, 1);
            d[j] = x / f->unit[j];
            for (size_t i = 0; i < f->n; i++) told[i] += A[i * f->n + j] * x;
        }
        for (size_t j = 0; j < f->nv && what >= FORCES; j++) {
            d[f->n + j] = rng_uniform(&r, -1, 1) * force;
            for (size_t i = 0; i < f->n; i++) told[i] += B[i * f->nv + j] * d[f->n + j];
        }
        const bool smooth = slopes_along(f, step, from, to, tau, how, d, 1e-6, false, slope, &bend);
        if (!smooth || bend > BENT * scale) {
            t->kinks++;
            continue;
        }
        for (size_t i = 0; i < f->n; i++) {
            const double off = fabs(slope[i] - told[i]);
            if (off > error) row = i;
            error = worse(error, off);
        }
        t->compared++, t->worst = worse(t->worst, error / scale);
        ck_assert_msg(error <= 1e-6 * scale, "seed %llu, step %d: along part %d off by %.3g of %.3g in row %zu of %zu",
                      (unsigned long long)seed, step, what, error, scale, row, f->n);
    }
    free(A), free(B), free(d), free(told), free(slope);
}

/// Some steps of a fall, in which something touches: up to `most` with all stages, and some with fewer.
static void check_fall(contact_world *f, long most, uint64_t seed, tally *t)
{
    ctn_error err = {0};
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    long landed = 0, others = 0;
    const ctn_status status = ctn_tape_run(f->tape, f->q, f->v, f->tau, &err);
    start_flat(f, f->q, f->v, flat[0]);
    for (int k = 0; k < f->steps && status == CTN_OK; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const made_step how = step_flat(f, k, flat[0], tau, flat[1]);
        const bool touches = touching(f, flat[0]) || touching(f, flat[1]);
        if (touches && how.fewer && landed < (most + 7) / 8)
            check_step(f, k, flat[0], flat[1], tau, how, seed, &t->all), landed++;
        if (touches && !how.fewer && others < most && k % 3 == 0)
            check_step(f, k, flat[0], flat[1], tau, how, seed, &t->all), others++;
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x;
    }
    t->landed += landed;
    free(flat[0]), free(flat[1]);
}

/// share: how many comparisons there are at least for one at a kink
static void check_tally(const tally *t, const char *what, double share)
{
    const comparison *const c = &t->all;
    printf("%s: %ld compared, worst %.3g; %ld at kinks; %ld steps with fewer stages\n", what, c->compared, c->worst, c->kinks,
           t->landed);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg((double)c->compared > share * (double)c->kinks, "%s: %ld of %ld comparisons at kinks", what, c->kinks, c->kinks + c->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        contact_world f = open_fall(_i, seed, false, 60);
        check_fall(&f, 12, seed, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on the ground", 3);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.landed, 0);
}
END_TEST

START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, _i == GROUND_RAGDOLL ? 1 : 2)
    {
        contact_world f = open_fall(_i, seed, true, 60);
        check_fall(&f, 6, seed, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on obstacles", 3);
}
END_TEST

/// Gradients of whole falls of machines by what their motors are told in every step, some of whose steps are held to their energy.
START_TEST(targets_of_machines)
{
    tally t = {0};
    FOR_SEEDS(seed, 4)
    {
        contact_world f = open_fall(MACHINE, seed, false, 60);
        const size_t nv = f.nv, n = (size_t)f.steps * (size_t)f.m->ncontrol;
        const double e = 1e-6;
        double *dq = numbers(((size_t)f.steps + 1) * nv), *dv = numbers(((size_t)f.steps + 1) * nv), *g = numbers(n),
               *u = numbers(n), *along = numbers(n), x[STENCIL], slope = 0;
        double *const weights = dq + (size_t)f.steps * nv, origin[GROUND_MOST], q[GROUND_MOST], way[GROUND_MOST];
        bool smooth = true;
        ctn_error err = {0};
        rng r = {seed * 71 + 5};
        for (size_t k = 0; k < nv; k++) weights[k] = rng_uniform(&r, -1, 1);
        ck_assert_int_eq(ctn_tape_set_targets(f.tape, u, &err), CTN_OK);
        ck_assert_int_eq(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err), CTN_OK);
        ck_assert_int_eq(ctn_tape_state(f.tape, f.steps, origin, NULL, &err), CTN_OK);
        ck_assert_msg(ctn_tape_target_gradient(f.tape, dq, dv, NULL, NULL, NULL, g, &err) == CTN_OK, "%s", err.message);
        const double size = largest(g, n);
        for (size_t k = 0; k < n; k++) along[k] = rng_uniform(&r, -1, 1), slope += along[k] * g[k];
        const int fallbacks = ctn_tape_fallbacks(f.tape);
        for (int s = 0; s < STENCIL; s++) {
            for (size_t k = 0; k < n; k++) u[k] = node(s) * e * along[k];
            ctn_tape_set_targets(f.tape, u, &err);
            ck_assert_int_eq(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err), CTN_OK);
            ctn_tape_state(f.tape, f.steps, q, NULL, &err), tangent_between(f.m, origin, q, way);
            smooth = smooth && ctn_tape_fallbacks(f.tape) == fallbacks, x[s] = 0;
            for (size_t k = 0; k < nv; k++) x[s] += weights[k] * way[k];
        }
        const double error = fabs(derivative(x, e) - slope) / size;
        if (!smooth || kink_of(x, 0, e) > 1e-5 * size) t.all.kinks++;
        else {
            t.all.compared++, t.all.worst = worse(t.all.worst, error);
            ck_assert_msg(error <= 1e-5, "seed %llu: slope %.12g of %.3g, off by %.3g", (unsigned long long)seed, slope, size,
                          error);
        }
        free(dq), free(dv), free(g), free(u), free(along);
        close_world(&f);
    }
    check_tally(&t, "targets of machines", 3);
}
END_TEST

/// Runs that begin shortly before something lands, and while it lies or slides.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        made_step made[RUN];
        contact_world f = open_fall(_i, seed, seed % 4 == 1 && seed % 3 != 0, 60);
        ctn_error err = {0};
        const bool ran = ctn_tape_run(f.tape, f.q, f.v, f.tau, &err) == CTN_OK;
        for (int part = 0; part < 2 && ran; part++) {
            check_run_from(&f, f.steps * (2 * part + 4) / 8 + (int)(seed % 7), seed, 3, 0, &t.all, made);
            for (int k = 0; k < RUN; k++) t.landed += made[k].fewer;
        }
        close_world(&f);
    }
    check_tally(&t, "runs", 0.25);
}
END_TEST

/// A step back of worlds at different times of a fall, of which some touch.
START_TEST(same_bits)
{
    contact_world f = open_fall(GROUND_TREE, 2, true, 60);
    double *before[SAME_WORLDS], *after[SAME_WORLDS], *const next = numbers(f.flat);
    int found = 0;
    for (int w = 0; w < SAME_WORLDS; w++) before[w] = numbers(f.flat), after[w] = numbers(f.flat);
    start_flat(&f, f.q, f.v, before[0]);
    for (int k = 0; found < SAME_WORLDS && k < f.steps; k++) {
        const made_step how = step_flat(&f, 0, before[found], f.tau, after[found]);
        memcpy(next, after[found], f.flat * sizeof *next);
        found += how.parts == 1 && !how.fewer && (touching(&f, next) || found < 2);  // two that fly
        if (found < SAME_WORLDS) memcpy(before[found], next, f.flat * sizeof *next);
    }
    ck_assert_int_eq(found, SAME_WORLDS);
    check_same_bits(&f, before, after);
    for (int w = 0; w < SAME_WORLDS; w++) free(before[w]), free(after[w]);
    free(next);
    close_world(&f);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("stage_contact_gradients");
    TCase *const t = tcase_create("stage_contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, KINDS);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_test(t, targets_of_machines);
    tcase_add_loop_test(t, gradients_of_runs, 0, KINDS);
    tcase_add_test(t, same_bits);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
