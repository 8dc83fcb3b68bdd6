/// Derivatives of steps along the links against those of the serial engine, and the same bits whatever the lanes and threads of a
/// class.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"

#include <catena/derivatives.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };

/// Random trees and chains; a chain of many links, at random angles to each other, is known to no more digits than these are
/// compared by, so long ones are ropes.
static const struct {
    random_options random;
    int rope;  // links; 0: none
} kinds[] = {
    {.random = {.links = 50, .passive = true, .motors = 20}},
    {.random = {.links = 50, .chain = true, .passive = true, .motors = 20, .floating = true}},
    {.random = {.links = 24, .chain = true, .joints = 1u << CTN_BALL, .passive = true}},
    {.random = {.links = 300, .floating = true, .passive = true, .motors = 100}},
    {.random = {.links = 3000, .passive = true, .motors = 300}},
    {.random = {.links = 60, .chain = true, .passive = true, .joints = (1u << CTN_UNIVERSAL) | (1u << CTN_REVOLUTE)}},
    {.rope = 100},
    {.rope = 200},
    {.rope = 1000},
};
enum { KINDS = sizeof kinds / sizeof *kinds, METHODS = 3, TREE = 4, ROPE = 8 };

/// A rope of joints of all sorts with springs, dampers and limits, from which half way down another one hangs.
static ctn_model *rope_of(int links)
{
    static const char form[] =
        "catena: 1\nlinks:\n"
        "  - chain: {name: a, count: %d, step: [0, 0, -0.05], mass: 0.01, com: [0, 0, -0.025], inertia: [4e-6, 4e-6, 1e-6, 0, 0, "
        "0],\n      joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], damping: 1e-4, stiffness: 1e-3, armature: "
        "1e-6}}\n"
        "  - chain: {name: b, parent: a.%d, position: [0, 0, -0.05], count: %d, step: [0, 0, -0.05], mass: 0.01, com: [0, 0, "
        "-0.025],\n      inertia: [4e-6, 4e-6, 1e-6, 0, 0, 0], joint: {type: ball, damping: 1e-4, stiffness: 1e-3}}\n"
        "  - chain: {name: c, parent: b.%d, position: [0, 0, -0.05], count: %d, step: [0, 0, -0.05], mass: 0.01, com: [0, 0, "
        "-0.025],\n      inertia: [4e-6, 4e-6, 1e-6, 0, 0, 0], joint: {type: revolute, axis: [1, 0, 0], damping: 1e-4, limits: "
        "[-0.01, 0.01], limit_stiffness: 0.1}, axes: [[1, 0, 0], [0, 1, 0]]}\n"
        "  - chain: {name: d, parent: a.%d, position: [0.05, 0, 0], count: %d, step: [0, 0, -0.05], mass: 0.01, com: [0, 0, "
        "-0.025],\n      inertia: [4e-6, 4e-6, 1e-6, 0, 0, 0], joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], "
        "damping: "
        "1e-4}}\n";
    const int part = links / 4;
    char text[sizeof form + 100];
    snprintf(text, sizeof text, form, part, part - 1, part, part - 1, part, part / 2, part);
    return model_of(text);
}

static ctn_model *model_of_kind(int kind, uint64_t seed)
{
    return kinds[kind].rope ? rope_of(kinds[kind].rope) : random_model(seed, &kinds[kind].random);
}

static ctn_batch_config config_of(int method, ctn_parallel parallel, int lanes)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = (const ctn_method[]){CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU}[method];
    cfg.stages = cfg.method == CTN_RADAU ? 1 : cfg.stages;
    cfg.dt = 1e-3, cfg.tolerance = 1e-17, cfg.parallel = parallel, cfg.lanes = lanes;
    return cfg;
}

/// A run of a random state under random forces, and the gradient of a random scalar of all its states.
typedef struct {
    int nq, nv;
    double *q, *v, *tau, *dq, *dv;       // what it is of
    double *end, *by_q, *by_v, *by_tau;  // [nq], [nv], [nv], [STEPS][nv] what comes of it
} run;

/// gently: from the model's own state, almost.
static run random_run(const ctn_model *m, uint64_t seed, bool gently)
{
    run r = {ctn_model_nq(m), ctn_model_nv(m), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    const size_t nq = (size_t)r.nq, nv = (size_t)r.nv;
    rng g = {seed * 31 + 7};
    r.q = numbers(nq), r.v = numbers(nv), r.tau = numbers(STEPS * nv), r.dq = numbers((STEPS + 1) * nv),
    r.dv = numbers((STEPS + 1) * nv), r.end = numbers(nq), r.by_q = numbers(nv), r.by_v = numbers(nv),
    r.by_tau = numbers(STEPS * nv);
    random_state(m, &g, r.q, r.v);
    if (gently) {
        double *const x = numbers(nq), *const bend = numbers(nv);
        ctn_model_initial_state(m, x, bend);
        for (size_t k = 0; k < nv; k++) bend[k] = rng_uniform(&g, -0.02, 0.02);
        tangent_move(m, x, bend, 1, r.q);
        free(x), free(bend);
    }
    for (size_t k = 0; k < nv; k++) r.v[k] *= gently ? 0.01 : 0.1;
    for (size_t k = 0; k < STEPS * nv; k++) r.tau[k] = rng_uniform(&g, -1, 1) * (gently ? 1e-3 : 1);
    for (size_t k = 0; k < (STEPS + 1) * nv; k++) r.dq[k] = rng_uniform(&g, -1, 1), r.dv[k] = rng_uniform(&g, -1e-3, 1e-3);
    return r;
}

static void run_free(run *r)
{
    free(r->q), free(r->v), free(r->tau), free(r->dq), free(r->dv), free(r->end), free(r->by_q), free(r->by_v), free(r->by_tau);
}

static ctn_tape *tape_of(const ctn_model *m, const ctn_batch_config *cfg, const run *r)
{
    ctn_error err;
    ctn_tape *const tape = ctn_tape_create(m, cfg, STEPS, &err);
    ck_assert_msg(tape != NULL, "%s", err.message);
    ck_assert_msg(ctn_tape_run(tape, r->q, r->v, r->tau, &err) == CTN_OK, "%s", err.message);
    return tape;
}

static void gradient_of(ctn_tape *tape, run *r)
{
    ctn_error err;
    ck_assert(ctn_tape_state(tape, STEPS, r->end, NULL, &err) == CTN_OK);
    ck_assert_msg(ctn_tape_gradient(tape, r->dq, r->dv, r->by_q, r->by_v, r->by_tau, &err) == CTN_OK, "%s", err.message);
}

/// The gradient of a run by a configuration.
static void differentiate(const ctn_model *m, ctn_batch_config cfg, run *r)
{
    ctn_tape *const tape = tape_of(m, &cfg, r);
    gradient_of(tape, r);
    ctn_tape_free(tape);
}

static bool same_bits(const run *a, const run *b)
{
    const size_t nv = (size_t)a->nv * sizeof(double);
    return !memcmp(a->end, b->end, (size_t)a->nq * sizeof(double)) && !memcmp(a->by_q, b->by_q, nv) &&
           !memcmp(a->by_v, b->by_v, nv) && !memcmp(a->by_tau, b->by_tau, STEPS * nv);
}

/// How far the gradient of a run moves, at most, when the last digits of its state do.
static double digits_lost(const ctn_model *m, ctn_batch_config cfg, const run *r, uint64_t seed)
{
    const size_t nv = (size_t)r->nv;
    run moved = random_run(m, seed, true);
    rng g = {seed};
    for (int k = 0; k < r->nq; k++) moved.q[k] *= 1 + rng_uniform(&g, -4e-16, 4e-16);
    for (int k = 0; k < r->nv; k++) moved.v[k] *= 1 + rng_uniform(&g, -4e-16, 4e-16);
    differentiate(m, cfg, &moved);
    const double most = fmax(distance(moved.by_q, r->by_q, nv),
                             fmax(distance(moved.by_v, r->by_v, nv), distance(moved.by_tau, r->by_tau, STEPS * nv)));
    run_free(&moved);
    return most;
}

/// Gradients are those of serial steps, of runs that end where a batch along the links ends; and were not made serially, but
/// where something spins.
START_TEST(gradients_are_those_of_the_serial_engine)
{
    const int kind = _i % KINDS, method = _i / KINDS;
    double most = 0;
    FOR_SEEDS(seed, kinds[kind].random.links < 1000 && !kinds[kind].rope ? 6 : 2)
    {
        ctn_error err;
        ctn_model *const m = model_of_kind(kind, seed);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        run a = random_run(m, seed, kinds[kind].rope), b = random_run(m, seed, kinds[kind].rope);
        const ctn_batch_config links = config_of(method, CTN_PARALLEL_LINKS, seed % 2 ? 8 : 16);
        differentiate(m, links, &a), differentiate(m, config_of(method, CTN_PARALLEL_WORLDS, 0), &b);
        const double far = distance(a.end, b.end, nq), by_q = distance(a.by_q, b.by_q, nv), by_v = distance(a.by_v, b.by_v, nv),
                     by_tau = distance(a.by_tau, b.by_tau, STEPS * nv);
        double blur = 0;
        if (kinds[kind].rope) blur = digits_lost(m, config_of(method, CTN_PARALLEL_WORLDS, 0), &b, seed);
        ck_assert_msg(by_q < 1e-9 + 64 * blur && by_v < 1e-9 + 64 * blur && by_tau < 1e-9 + 64 * blur && far < 1e-9,
                      "method %d, kind %d, seed %llu: q %g, gradients by q %g, v %g, tau %g; blur %g", method, kind,
                      (unsigned long long)seed, far, by_q, by_v, by_tau, blur);
        ck_assert_msg(m->spins || memcmp(a.by_q, b.by_q, nv * sizeof *a.by_q), "method %d, kind %d, seed %llu: made serially",
                      method, kind, (unsigned long long)seed);
        most = fmax(most, fmax(by_q, fmax(by_v, by_tau)));
        ctn_batch *const batch = ctn_batch_create(m, &links, &err);
        double *const q = numbers(nq);
        const ctn_run run = {.steps = STEPS, .force = a.tau};
        ck_assert(batch && ctn_batch_set_state(batch, a.q, a.v, 0, &err) == CTN_OK);
        ck_assert(ctn_batch_run(batch, &run, NULL, &err) == CTN_OK);
        ctn_batch_state(batch, q, NULL);
        ck_assert(m->spins ? distance(q, a.end, nq) < 1e-9 : !memcmp(q, a.end, nq * sizeof *q));
        free(q), ctn_batch_free(batch), run_free(&a), run_free(&b), ctn_model_free(m);
    }
    printf("method %d, kind %d: gradients differ by %.2g\n", method, kind, most);
}
END_TEST

/// The Jacobians of one step.
START_TEST(jacobians_are_those_of_the_serial_engine)
{
    FOR_SEEDS(seed, 4)
    {
        ctn_error err;
        ctn_model *const m = random_model(seed, &(random_options){.links = 12, .chain = seed % 2, .passive = true, .motors = 5});
        const size_t nv = (size_t)ctn_model_nv(m);
        run r = random_run(m, seed, false);
        double *A[2], *B[2];
        size_t n = 0;
        for (int k = 0; k < 2; k++) {
            const ctn_batch_config cfg = config_of(_i, k ? CTN_PARALLEL_WORLDS : CTN_PARALLEL_LINKS, k ? 0 : 8);
            ctn_tape *const tape = tape_of(m, &cfg, &r);
            n = (size_t)ctn_tape_state_size(tape);
            A[k] = numbers(n * n), B[k] = numbers(n * nv);
            ck_assert_msg(ctn_step_jacobian(tape, 1, A[k], B[k], &err) == CTN_OK, "%s", err.message);
            ctn_tape_free(tape);
        }
        const double a = distance(A[0], A[1], n * n), b = distance(B[0], B[1], n * nv);
        ck_assert_msg(a < 1e-9 && b < 1e-9, "method %d, seed %llu: %g, %g", _i, (unsigned long long)seed, a, b);
        for (int k = 0; k < 2; k++) free(A[k]), free(B[k]);
        run_free(&r), ctn_model_free(m);
    }
}
END_TEST

/// A class has the same bits on every engine, by any number of threads.
START_TEST(gradients_have_the_same_bits_everywhere)
{
    const int kind = _i % 2 ? TREE : ROPE, method = _i / 2;
    ctn_model *const m = _i % 2 ? random_model(3, &(random_options){.links = 4000, .passive = true}) : rope_of(3000);
    run first = random_run(m, 3, kinds[kind].rope);
    ck_assert_int_ge(m->nbody, 4096);  // else there is one thread
    bool any = false;
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int threads = 1; threads <= 4; threads++) {
            ctn_batch_config cfg = config_of(method, CTN_PARALLEL_LINKS, 16);
            run r = random_run(m, 3, kinds[kind].rope);
            cfg.engine = (*e)->name, cfg.threads = threads;
            differentiate(m, cfg, any ? &r : &first);
            ck_assert_msg(!any || same_bits(&r, &first), "kind %d, method %d, %s, %d threads", kind, method, (*e)->name, threads);
            any = true;
            run_free(&r);
        }
    run_free(&first), ctn_model_free(m);
}
END_TEST

/// What is not made along the links is made serially, bit by bit: runs with springs and forces on links, and of other methods.
START_TEST(others_are_made_serially)
{
    ctn_model *const m = random_model(4, &(random_options){.links = 40, .passive = true, .springs = _i ? 0 : 9});
    run a = random_run(m, 4, false), b = random_run(m, 4, false);
    ctn_batch_config cfg = config_of(0, CTN_PARALLEL_LINKS, 8);
    if (_i) cfg.method = _i == 1 ? CTN_RK4 : CTN_VARIATIONAL, cfg.dt = 1e-5;
    differentiate(m, cfg, &a);
    cfg.parallel = CTN_PARALLEL_WORLDS, cfg.lanes = 0;
    differentiate(m, cfg, &b);
    ck_assert(same_bits(&a, &b));
    run_free(&a), run_free(&b), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_adjoint");
    TCase *c = tcase_create("along_adjoint");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, gradients_are_those_of_the_serial_engine, 0, METHODS * KINDS);
    tcase_add_loop_test(c, jacobians_are_those_of_the_serial_engine, 0, METHODS);
    tcase_add_loop_test(c, gradients_have_the_same_bits_everywhere, 0, 2 * METHODS);
    tcase_add_loop_test(c, others_are_made_serially, 0, 3);
    suite_add_tcase(s, c);
    return run_suite(s);
}
