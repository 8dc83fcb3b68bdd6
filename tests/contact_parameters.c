/// Gradients of runs by friction and depth (ctn_tape_parameter_gradient) against differences of batches whose worlds have a friction
/// and a depth of their own, and against closed forms. Runs in which a point begins or ends to touch or to slide between the ends of
/// a difference have a kink there: these comparisons are left out, and counted.
#include "sim/model/model.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, WORLDS = 5, MOST_LIST = 3 };  // worlds: at -2, -1, 0, 1, 2 times the difference

static const double node[WORLDS] = {-2, -1, 0, 1, 2};

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// The parameters that a model has: ground friction, depth, and friction of the first link that touches, where this is the same on
/// all that it touches.
static int list_of(const ctn_model *m, ctn_parameter *list)
{
    ctn_contact_point first, point;
    bool same = true;
    ctn_model_contact(m, 0, &first);
    for (int k = 0; ctn_model_contact(m, k, &point); k++)
        same = same && (point.link != first.link || memcmp(&point.friction, &first.friction, sizeof point.friction) == 0);
    const ctn_parameter all[MOST_LIST] = {{CTN_GROUND_FRICTION, 0}, {CTN_GROUND_DEPTH, 0}, {CTN_CONTACT_FRICTION, first.link}};
    int count = 0;
    for (int k = 0; k < MOST_LIST - !same; k++) {
        double value;
        ctn_error err;
        if (ctn_model_parameter(m, all[k], &value, &err) == CTN_OK) list[count++] = all[k];
    }
    return count;
}

/// How steps are made.
enum { ORDER2, TURNS, ALPHA, RADAU2, WAYS };  // TURNS: order 2, with torsional and rolling friction

static ctn_batch_config config_of(int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = way == ALPHA ? CTN_ALPHA : way == RADAU2 ? CTN_RADAU : CTN_COLLOCATION;
    cfg.order = 2, cfg.stages = 2, cfg.dt = dt, cfg.tolerance = 1e-15, cfg.threads = 1, cfg.engine = "scalar";
    return cfg;
}

/// Steps all worlds from q and v; what their points do after every step: touches [STEPS][WORLDS][ncontact]. False: steps
/// were made in several parts, or not all alike.
static bool run_worlds(ctn_batch *b, const ctn_model *m, const double *q, const double *v, double *q_end, double *v_end,
                       signed char *touches)
{
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, n = (size_t)m->ncontact;
    double *const all_q = numbers(WORLDS * nq), *const all_v = numbers(WORLDS * nv),
                  *const felt = numbers(WORLDS * n * CTN_CONTACT_NUMBERS);
    ctn_error err = {0};
    bool whole = true;
    for (size_t w = 0; w < WORLDS; w++) memcpy(all_q + w * nq, q, nq * sizeof *q), memcpy(all_v + w * nv, v, nv * sizeof *v);
    ck_assert_int_eq(ctn_batch_set_state(b, all_q, all_v, 0, &err), CTN_OK);
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats stats[WORLDS];
        ck_assert_int_eq(ctn_batch_step(b, 1, stats, &err), CTN_OK);
        for (size_t w = 0; w < WORLDS; w++)
            whole = whole && stats[w].steps == 1 && stats[w].substeps == 1 && stats[w].fewer_stages == stats[0].fewer_stages;
        ck_assert_int_eq(ctn_batch_contacts(b, felt, &err), CTN_OK);
        for (size_t i = 0; i < WORLDS * n; i++)
            touches[(size_t)k * WORLDS * n + i] = (signed char)felt[i * CTN_CONTACT_NUMBERS + 7];
    }
    ctn_batch_state(b, q_end, v_end);
    free(all_q), free(all_v), free(felt);
    return whole;
}

typedef struct {
    long compared, kinks, moved;
    double worst;
} tally;

/// Gradients of weighted coordinates and velocities at the end of a run from q and v.
static void check_run(const ctn_model *m, const ctn_batch_config *with, const double *q, const double *v, uint64_t seed, tally *t)
{
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, n = (size_t)m->ncontact;
    ctn_parameter list[MOST_LIST];
    const int count = list_of(m, list);
    rng r = {seed * 17 + 3};
    ctn_error err = {0};
    ctn_batch_config cfg = *with;
    const double dt = cfg.dt;
    double *const dq = numbers((STEPS + 1) * nv), *const dv = numbers((STEPS + 1) * nv), *const q_end = numbers(WORLDS * nq),
                  *const v_end = numbers(WORLDS * nv), *const u = numbers(nv), *const weight = numbers(2 * nv);
    signed char *const touches = calloc(STEPS * WORLDS * n + 1, 1);
    double grad[MOST_LIST], value[MOST_LIST], values[WORLDS * MOST_LIST];
    ctn_tape *const tape = ctn_tape_create(m, &cfg, STEPS, &err);
    ck_assert_msg(tape != NULL, "%s", err.message);
    for (size_t k = 0; k < 2 * nv; k++) weight[k] = rng_uniform(&r, -1, 1);
    memcpy(dq + STEPS * nv, weight, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[STEPS * nv + k] = weight[nv + k] * dt;
    if (ctn_tape_run(tape, q, v, NULL, &err) != CTN_OK) goto end;
    ck_assert_msg(ctn_tape_parameter_gradient(tape, dq, dv, list, count, grad, &err) == CTN_OK, "%s", err.message);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = count;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    for (int k = 0; k < count; k++) ck_assert_int_eq(ctn_model_parameter(m, list[k], &value[k], &err), CTN_OK);
    for (int k = 0; k < count; k++) {
        const double e = 1e-6 * value[k];
        double x[WORLDS] = {0};
        for (int w = 0; w < WORLDS; w++)
            for (int i = 0; i < count; i++) values[w * count + i] = value[i] + (i == k ? node[w] * e : 0);
        ck_assert_int_eq(ctn_batch_set_parameters(b, values, &err), CTN_OK);
        bool smooth = run_worlds(b, m, q, v, q_end, v_end, touches);
        for (size_t s = 0; s < STEPS; s++)
            for (size_t w = 1; w < WORLDS; w++)
                smooth = smooth && !memcmp(touches + s * WORLDS * n, touches + (s * WORLDS + w) * n, n);
        for (size_t w = 0; w < WORLDS; w++) {
            tangent_between(m, q_end + 2 * nq, q_end + w * nq, u);
            for (size_t j = 0; j < nv; j++) x[w] += weight[j] * u[j] + weight[nv + j] * dt * v_end[w * nv + j];
        }
        // by the share of the parameter; lengths of a few metres
        const double slope = (8 * (x[3] - x[1]) - (x[4] - x[0])) / 12e-6, inner = (x[3] - x[1]) / 2e-6;
        const double bend = worse(fabs(slope - inner), fabs(x[0] + x[4] - 2 * x[2] - 4 * (x[1] + x[3] - 2 * x[2])) / 4e-6);
        if (!smooth || bend > 1e-6) {
            t->kinks++;
            continue;
        }
        const double error = fabs(slope - grad[k] * value[k]) / (1 + fabs(slope));
        t->compared++, t->moved += fabs(slope) > 1e-4, t->worst = worse(t->worst, error);
        ck_assert_msg(error <= 1e-6, "seed %llu: by %s: %.12g, differences %.12g", (unsigned long long)seed,
                      ctn_parameter_name(list[k].kind), grad[k] * value[k], slope);
    }
    ctn_batch_free(b);
end:
    ctn_tape_free(tape);
    free(dq), free(dv), free(q_end), free(v_end), free(u), free(weight), free(touches);
}

/// Runs that begin at several moments of a fall.
START_TEST(against_differences)
{
    enum { FALL = 60 };
    const int kind = _i % GROUND_KINDS, way = _i / GROUND_KINDS;
    tally t = {0};
    FOR_SEEDS(seed, way == ORDER2 ? 5 : 2)
    {
        double q[GROUND_MOST], v[GROUND_MOST];
        const bool obstacles = seed % 4 == 1;
        const double dt = seed % 2 ? 1. / 60 : 1. / 240, depth = seed % 3 ? 0 : 0.02;
        ctn_model *const m =
            obstacles ? obstacle_model((ground_kind)kind, seed, depth, q, v) : ground_model((ground_kind)kind, seed, depth, q, v);
        const ctn_batch_config cfg = config_of(way, dt);
        if (way == TURNS) resist_turns(m, seed);
        ctn_error err = {0};
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
        for (int part = 0; part < 4; part++) {
            ck_assert_int_eq(ctn_batch_step(b, (seed % 2 ? FALL : 3 * FALL) / 4, NULL, &err), CTN_OK);
            ctn_batch_state(b, q, v);
            check_run(m, &cfg, q, v, seed, &t);
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
    printf("runs: %ld compared, %ld of them moved, worst %.3g; %ld at kinks\n", t.compared, t.moved, t.worst, t.kinks);
    if (getenv("CTN_SEED")) return;
    ck_assert_int_gt(t.compared, (way == ORDER2 ? 4 : 1) * t.kinks);
    ck_assert_int_gt(t.moved, 0);
}
END_TEST

#define BOX(friction)                                                                                                            \
    "catena: 1\ncontact: {friction: 0.3, depth: 0.004}\nground: true\nlinks:\n"                                                  \
    "  - {name: a, position: [0, 0, 0.049], joint: free, mass: 2, shapes: [{type: box, size: [0.4, 0.4, 0.1]" friction "}]}\n"

/// A block slides by v0 t - m g t^2/2: its end, at t, goes by m as -g t^2/2, its velocity as -g t, but for the steps in which it
/// settles; and it rests at depth/4, so that its height goes by depth as -1/4.
START_TEST(closed_forms)
{
    ctn_error err = {0};
    ctn_model *const m = model_of(BOX(""));
    enum { LONG = 200 };
    ctn_batch_config cfg = config_of(ORDER2, 0.005);
    ctn_tape *const tape = ctn_tape_create(m, &cfg, LONG, &err);
    ck_assert_msg(tape != NULL, "%s", err.message);
    double q[7], v[6], dq[(LONG + 1) * 6] = {0}, grad[2];
    ctn_model_initial_state(m, q, v);
    v[0] = 5;  // at its depth on four corners
    const ctn_parameter list[2] = {{CTN_GROUND_FRICTION, 0}, {CTN_GROUND_DEPTH, 0}};
    ck_assert_int_eq(ctn_tape_run(tape, q, v, NULL, &err), CTN_OK);
    dq[LONG * 6] = 1;
    ck_assert_msg(ctn_tape_parameter_gradient(tape, dq, NULL, list, 2, grad, &err) == CTN_OK, "%s", err.message);
    ck_assert_double_eq_tol(grad[0], -0.5 * 9.81, 0.02 * 0.5 * 9.81);
    memset(dq, 0, sizeof dq), dq[LONG * 6 + 2] = 1;
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, dq, NULL, list, 2, grad, &err), CTN_OK);
    ck_assert_double_eq_tol(grad[1], -0.25, 1e-3);
    ctn_tape_free(tape), ctn_model_free(m);
}
END_TEST

/// A box that lies has no changes; one that falls flat, slides and comes to rest has two at each of four corners.
START_TEST(changes)
{
    ctn_error err = {0};
    ctn_model *const m = model_of(BOX(""));
    enum { LONG = 400 };
    ctn_batch_config cfg = config_of(ORDER2, 0.005);
    ctn_tape *const tape = ctn_tape_create(m, &cfg, LONG, &err);
    double q[7], v[6];
    long count = 7;
    ck_assert_int_eq(ctn_tape_contact_changes(tape, &count, &err), CTN_BAD_ARGUMENT);
    ctn_model_initial_state(m, q, v);
    ck_assert_int_eq(ctn_tape_run(tape, q, v, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_tape_contact_changes(tape, &count, &err), CTN_OK);
    ck_assert_int_eq(count, 0);
    q[2] = 0.0501, v[0] = 3;
    ck_assert_int_eq(ctn_tape_run(tape, q, v, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_tape_contact_changes(tape, &count, &err), CTN_OK);
    ck_assert_int_eq(count, 8);  // each lands sliding, and sticks
    ctn_tape_free(tape), ctn_model_free(m);
}
END_TEST

/// What is not there is refused by name, and leaves the gradients as they were.
START_TEST(refused)
{
    ctn_error err = {0};
    ctn_model *const m = model_of(BOX(", contact: {friction: 0.2}"));
    ctn_batch_config cfg = config_of(ORDER2, 0.01);
    ctn_tape *const tape = ctn_tape_create(m, &cfg, 3, &err);
    double q[7], v[6], grad[2] = {7, 7};
    const ctn_parameter ground[] = {{CTN_GROUND_FRICTION, 0}}, other[] = {{CTN_GROUND_DEPTH, 0}, {CTN_MASS_SCALE, 0}},
                        own[] = {{CTN_CONTACT_FRICTION, 0}};
    ctn_model_initial_state(m, q, v);
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, NULL, NULL, own, 1, grad, &err), CTN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "nothing is recorded"));
    ck_assert_int_eq(ctn_tape_run(tape, q, v, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, NULL, NULL, ground, 1, grad, &err), CTN_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.message, "all shapes have a friction of their own"));
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, NULL, NULL, other, 2, grad, &err), CTN_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "no gradients by mass_scale"));
    ck_assert_double_eq(grad[0], 7);
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, NULL, NULL, own, 1, grad, &err), CTN_OK);
    ck_assert_double_eq(grad[0], 0);
    ck_assert_int_eq(ctn_tape_parameter_gradient(tape, NULL, NULL, NULL, 0, NULL, &err), CTN_OK);
    ctn_tape_free(tape), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_parameters");
    TCase *const t = tcase_create("contact_parameters");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, against_differences, 0, WAYS * GROUND_KINDS);
    tcase_add_test(t, closed_forms);
    tcase_add_test(t, changes);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
