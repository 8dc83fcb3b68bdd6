/// Derivatives of time steps: every Jacobian and gradient against differences of the steps themselves, on random forests of all
/// joints.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/step_differences.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tested methods[] = {{CTN_COLLOCATION, 2, {0.03, 0.02}},   {CTN_SEMI_IMPLICIT, 0, {0.005, 0.002}},
                                 {CTN_EULER, 0, {0.005, 0.002}},       {CTN_RK2, 0, {0.005, 0.002}},
                                 {CTN_RK3, 0, {0.005, 0.002}},         {CTN_RK4, 0, {0.005, 0.002}},
                                 {CTN_RADAU, 1, {0.03, 0.02}},         {CTN_RADAU, 2, {0.02, 0.004}},
                                 {CTN_RADAU, 3, {0.02, 0.004}},        {CTN_RADAU, 4, {0.02, 0.004}},
                                 {CTN_COLLOCATION, 3, {0.01, 0.004}},  {CTN_COLLOCATION, 4, {0.01, 0.004}},
                                 {CTN_COLLOCATION, 5, {0.01, 0.004}},  {CTN_COLLOCATION, 6, {0.01, 0.004}},
                                 {CTN_VARIATIONAL, 2, {0.005, 0.002}}, {CTN_VARIATIONAL, 4, {0.005, 0.002}},
                                 {CTN_ALPHA, 0, {0.03, 0.02}}};
enum { METHODS = sizeof methods / sizeof *methods };

/// order 4 of `variational` knows no dampers.
static fixture open_fixture(uint64_t seed, random_options o, tested t, double dt, int steps)
{
    o.conservative = t.method == CTN_VARIATIONAL && t.number == 4;
    o.plain_springs = t.method == CTN_VARIATIONAL;
    const bool takes = t.method != CTN_COLLOCATION || t.number <= 2;
    o.springs = takes ? (int)(seed % 3) : 0, o.wrenches = takes ? (int)(seed % 4) : 0;
    o.motors = (int)(seed % 5);
    o.fluid = takes && t.method != CTN_VARIATIONAL && seed % 5 == 2, o.stream = seed % 10 == 2;
    return open_model(random_model(seed, &o), config_of(t, dt), steps, seed);
}

/// A and B of a step: the first one, or one in the midst of motion.
START_TEST(steps_against_differences)
{
    const tested t = methods[_i];
    int tried = 0;
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 4 != 0, .chain = seed % 3 == 0};
        fixture f = open_fixture(seed, o, t, t.dt[0], 2);
        tried += check_step(&f, t, seed, seed % 5 != 0);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_ge(tried, SEEDS_TRIED(30));
}
END_TEST

/// S: the state that starts from (q, v). C: (q, v) read from a state in the midst of motion.
START_TEST(start_and_output_against_differences)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 2, .chain = seed % 3 == 0};
        const tested t = methods[seed % METHODS];
        fixture f = open_fixture(seed, o, t, t.dt[1], 1);
        const double e = 1e-3;
        ctn_error err = {0};
        double *S = numbers(f.n * 2 * f.nv), *C = numbers(f.n * 2 * f.nv), *base = numbers(f.flat), *flat = numbers(f.flat),
               *d = numbers(f.n + 2 * f.nv), *q = numbers(f.nq), *v = numbers(f.nv), *q0 = numbers(f.nq), *v0 = numbers(f.nv),
               *got[STENCIL];
        for (int s = 0; s < STENCIL; s++) got[s] = numbers(f.n + 2 * f.nv);
        ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
        ck_assert_int_eq(ctn_start_jacobian(f.r, S, &err), CTN_OK);
        ck_assert_int_eq(ctn_output_jacobian(f.r, 1, C, &err), CTN_OK);
        start_flat(&f, f.q, f.v, base);
        for (size_t j = 0; j < 2 * f.nv; j++) {
            for (int s = 0; s < STENCIL; s++) {
                memset(d, 0, 2 * f.nv * sizeof *d), d[j] = 1;
                tangent_move(f.m, f.q, d, node(s) * e, q);
                for (size_t k = 0; k < f.nv; k++) v[k] = f.v[k] + node(s) * e * d[f.nv + k];
                start_flat(&f, q, v, flat);
                flat_between(f.m, places_of(&f), base, flat, got[s]);
            }
            const double error = column_error(S, f.n, 2 * f.nv, j, got, e);
            ck_assert_msg(error <= 1e-9 * largest(S, f.n * 2 * f.nv), "seed %llu: column %zu of S is off by %.3g",
                          (unsigned long long)seed, j, error);
        }
        ck_assert(step_flat(&f, base, f.tau, base));
        read_flat(&f, base, q0, v0);
        for (size_t j = 0; j < f.n; j++) {
            for (int s = 0; s < STENCIL; s++) {
                memset(d, 0, f.n * sizeof *d), d[j] = 1;
                flat_move(f.m, places_of(&f), base, d, node(s) * e, flat);
                read_flat(&f, flat, q, v);
                tangent_between(f.m, q0, q, got[s]);
                for (size_t k = 0; k < f.nv; k++) got[s][f.nv + k] = v[k] - v0[k];
            }
            const double error = column_error(C, 2 * f.nv, f.n, j, got, e);
            ck_assert_msg(error <= 1e-8 * largest(C, f.n * 2 * f.nv), "seed %llu: column %zu of C is off by %.3g",
                          (unsigned long long)seed, j, error);
        }
        free(S), free(C), free(base), free(flat), free(d), free(q), free(v), free(q0), free(v0);
        for (int s = 0; s < STENCIL; s++) free(got[s]);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(gradients_of_runs)
{
    const tested t = methods[_i];
    int compared = 0;
    FOR_SEEDS(seed, 20)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 3 != 0, .smooth = true, .chain = seed % 2};
        fixture f = open_fixture(seed, o, t, t.dt[1], 8);
        ctn_error err = {0};
        ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
        const bool whole = ctn_tape_fallbacks(f.r) == 0;
        if (f.nv > 0) compared += check_gradient(&f, seed, whole ? 1e-7 : 1e-5, whole ? 1e-4 : 1e-6);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_ge(compared, SEEDS_TRIED(100));
}
END_TEST

/// A chain of 20 links; order 4 of `variational` knows no dampers.
static ctn_model *chain20(tested t)
{
    static const char text[] = "catena: 1\n"
                               "links:\n"
                               "  - chain: {name: c, count: 20, step: [0.1, 0, 0], density: 1000,\n"
                               "            joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1], damping: %s},\n"
                               "            shapes: [{type: capsule, from: [0, 0, 0], to: [0.1, 0, 0], radius: 0.01}]}\n"
                               "  - {name: tip, parent: c.19, position: [0.1, 0, 0]}\n";
    char scene[sizeof text + 16];
    snprintf(scene, sizeof scene, text, t.method == CTN_VARIATIONAL && t.number == 4 ? "0" : "0.001");
    return model_of(scene);
}

/// Where the tip of the chain is after all steps, along a direction.
static double tip(fixture *f, ctn_dynamics *dyn, const double *q, const double *v, const double *tau, const double *along,
                  double *end)
{
    ctn_error err = {0};
    double R[9 * 21], p[3 * 21];
    ck_assert_int_eq(ctn_tape_run(f->r, q, v, tau, &err), CTN_OK);
    ctn_tape_state(f->r, f->steps, end, NULL, &err);
    ctn_forward_kinematics(dyn, 1, end, R, p);
    return along[0] * p[60] + along[1] * p[61] + along[2] * p[62];
}

static const tested chains[] = {
    {CTN_COLLOCATION, 2, {0.01, 0}},  {CTN_COLLOCATION, 2, {0.03, 0}},  {CTN_RK4, 0, {0.001, 0}},
    {CTN_RADAU, 3, {0.002, 0}},       {CTN_COLLOCATION, 4, {0.001, 0}}, {CTN_VARIATIONAL, 2, {0.002, 0}},
    {CTN_VARIATIONAL, 4, {0.002, 0}}, {CTN_ALPHA, 0, {0.01, 0}},
};

/// The end point of a falling chain of 20 links after 100 steps, by its initial state and by the forces of every step.
START_TEST(tip_of_a_chain)
{
    static const double along[] = {0.3, -0.5, 0.8};
    const tested t = chains[_i];
    const ctn_batch_config cfg = config_of(t, t.dt[0]);
    fixture f = open_model(chain20(t), cfg, 100, 3);
    const size_t nv = f.nv, K = 100;
    ctn_dynamics *dyn = ctn_dynamics_create(f.m, NULL, NULL);
    ctn_error err = {0};
    rng r = {17};
    for (size_t k = 0; k < nv; k++) f.q[k] = rng_uniform(&r, -0.2, 0.2), f.v[k] = rng_uniform(&r, -0.5, 0.5);
    for (size_t k = 0; k < K * nv; k++) f.tau[k] *= 0.01;
    double *J = numbers(6 * nv), *dq = numbers((K + 1) * nv), *g[3] = {numbers(nv), numbers(nv), numbers(K * nv)},
           *end = numbers(f.nq);
    tip(&f, dyn, f.q, f.v, f.tau, along, end);
    ctn_jacobian(dyn, 1, end, 20, J);
    for (size_t k = 0; k < nv; k++)
        for (size_t c = 0; c < 3; c++) dq[K * nv + k] += along[c] * J[(3 + c) * nv + k];
    ck_assert_int_eq(ctn_tape_gradient(f.r, dq, NULL, g[0], g[1], g[2], &err), CTN_OK);
    double *const inputs[] = {f.q, f.v, f.tau};
    const size_t sizes[] = {nv, nv, K * nv};
    for (int what = 0; what < 3; what++) {
        const double size = largest(g[what], sizes[what]), e = 1e-4;
        for (int trial = 0; trial < 25; trial++) {
            const size_t k = (size_t)rng_below(&r, (int)sizes[what]);
            const double x = inputs[what][k];
            double y[STENCIL];
            for (int s = 0; s < STENCIL; s++) {
                inputs[what][k] = x + node(s) * e;
                y[s] = tip(&f, dyn, f.q, f.v, f.tau, along, end);
            }
            inputs[what][k] = x;
            ck_assert_msg(fabs(derivative(y, e) - g[what][k]) <= 1e-6 * size,
                          "%s, dt %g, by %s[%zu]: %.12g, by differences %.12g (largest %.3g)", ctn_method_name(t.method), cfg.dt,
                          (const char *[]){"q", "v", "tau"}[what], k, g[what][k], derivative(y, e), size);
        }
    }
    free(J), free(dq), free(g[0]), free(g[1]), free(g[2]), free(end);
    ctn_dynamics_free(dyn);
    close_fixture(&f);
}
END_TEST

/// Steps that are too large for what they are given: `fewer`, some parts are made with fewer stages; `halved`, some steps in
/// parts.
static const struct {
    tested t;  // dt[0]
    int max_iterations, steps;
    bool fewer, halved;
} hard[] = {
    {{CTN_COLLOCATION, 2, {0.1, 0}}, 8, 12, false, true},   {{CTN_RADAU, 2, {0.1, 0}}, 5, 2, true, true},
    {{CTN_RADAU, 3, {0.1, 0}}, 5, 2, true, true},           {{CTN_COLLOCATION, 3, {0.05, 0}}, 4, 2, true, true},
    {{CTN_COLLOCATION, 4, {0.05, 0}}, 20, 2, true, false},  {{CTN_VARIATIONAL, 2, {0.05, 0}}, 60, 12, false, true},
    {{CTN_VARIATIONAL, 4, {0.02, 0}}, 60, 12, false, true}, {{CTN_ALPHA, 0, {0.1, 0}}, 6, 12, true, true},
};

/// They are taken part by part. The run is that of a batch, to the last bit.
START_TEST(steps_that_fall_back)
{
    const int steps = hard[_i].steps;
    ctn_batch_config cfg = config_of(hard[_i].t, hard[_i].t.dt[0]);
    cfg.tolerance = 1e-12, cfg.max_iterations = hard[_i].max_iterations;
    fixture f = open_model(chain20(hard[_i].t), cfg, steps, 5);
    for (size_t k = 0; k < f.nv; k++) f.q[k] *= 0.05, f.v[k] *= 0.05;
    for (size_t k = 0; k < (size_t)steps * f.nv; k++) f.tau[k] *= 0.01;
    ctn_error err = {0};
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
    ctn_batch *b = ctn_batch_create(f.m, &cfg, &err);
    ctn_batch_set_state(b, f.q, f.v, 0, &err);
    double *q[2] = {numbers(f.nq), numbers(f.nq)}, *v[2] = {numbers(f.nv), numbers(f.nv)};
    long fewer = 0, halved = 0, parts = 0, fallbacks = 0;
    for (int k = 0; k < steps; k++) {
        ctn_step_stats stats;
        ctn_batch_set_force(b, f.tau + (size_t)k * f.nv);
        ctn_batch_step(b, 1, &stats, NULL);
        fewer += stats.fewer_stages, halved += stats.substeps > 1, parts += stats.substeps;
        fallbacks += stats.fallbacks;
        ctn_batch_state(b, q[0], v[0]);
        ck_assert_int_eq(ctn_tape_state(f.r, k + 1, q[1], v[1], &err), CTN_OK);
        ck_assert_msg(!memcmp(q[0], q[1], f.nq * sizeof(double)) && !memcmp(v[0], v[1], f.nv * sizeof(double)),
                      "step %d: other bits", k);
    }
    ck_assert_msg((fewer > 0) == hard[_i].fewer && (halved > 0) == hard[_i].halved,
                  "%ld of %d steps were halved, %ld of %ld parts made with fewer stages", halved, steps, fewer, parts);
    ck_assert_int_gt(fallbacks, 0);
    ck_assert_int_eq(ctn_tape_fallbacks(f.r), fallbacks);
    ck_assert_int_eq(ctn_batch_fallbacks(b), fallbacks);
    ctn_batch_free(b);
    free(q[0]), free(q[1]), free(v[0]), free(v[1]);
    ck_assert_int_ge(check_gradient(&f, 5, 1e-5, 1e-6), 3);
    close_fixture(&f);
}
END_TEST

/// A state that ends by one bit elsewhere is not that of the step: no derivative is given for it.
START_TEST(another_end)
{
    const tested t = methods[_i];
    const random_options o = {.links = 5, .passive = true};
    fixture f = open_fixture(3, o, t, t.dt[1], 1);
    void *work = aligned_alloc(64, (f.engine->adjoint_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    double *from = numbers(f.flat), *to = numbers(f.flat);
    const double *at[2] = {from, to}, *tau = f.tau;
    const int ways = f.engine->adjoint_ways(&f.cfg);
    start_flat(&f, f.q, f.v, from);
    ck_assert(step_flat(&f, from, f.tau, to));
    ck_assert(f.engine->adjoint_prepare(f.lanes, &f.cfg, work, NULL, f.cfg.dt, 0, &at[0], &at[1], &tau, NULL));
    to[0] = nextafter(to[0], 10);
    const bool solved_again = ways > 1 || t.method == CTN_VARIATIONAL;  // else the state tells the whole step, as alpha's does first
    for (int k = t.method == CTN_ALPHA; k < ways && solved_again; k++)
        ck_assert(!f.engine->adjoint_prepare(f.lanes, &f.cfg, work, NULL, f.cfg.dt, k, &at[0], &at[1], &tau, NULL));
    free(work), free(from), free(to);
    close_fixture(&f);
}
END_TEST

START_TEST(mistakes)
{
    ctn_error err = {0};
    const tested t = {CTN_RK4, 0, {0.1, 0}};
    ctn_batch_config cfg = config_of(t, 0.1);
    fixture f = open_model(chain20(t), cfg, 50, 1);
    double *A = numbers(f.n * f.n), *q = numbers(f.nq);
    ck_assert_int_eq(ctn_tape_gradient(f.r, NULL, NULL, A, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "ctn_tape_run") != NULL, "%s", err.message);
    // an explicit method in steps far too large: frozen, nothing to differentiate
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_FROZEN);
    ck_assert_int_eq(ctn_step_jacobian(f.r, 0, A, NULL, &err), CTN_BAD_ARGUMENT);
    memcpy(q, f.q, f.nq * sizeof *q), q[3] = NAN;
    ck_assert_int_eq(ctn_tape_run(f.r, q, f.v, f.tau, &err), CTN_BAD_ARGUMENT);
    f.tau[f.nv + 2] = INFINITY;
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "step 1: tau[2] is not finite");
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 0, &err));
    ck_assert_str_eq(err.message, "steps: expected 1 or more, found 0");
    cfg.worlds = 2;
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    cfg.worlds = 1, cfg.method = CTN_RADAU, cfg.adaptive = true;
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ctn_model *const light = model_of("catena: 1\n"
                                      "links:\n"
                                      "  - {name: hook, joint: {type: revolute, axis: [0, 1, 0]}, mass: 0}\n"
                                      "  - {name: load, parent: hook, mass: 1, inertia: [1, 1, 1, 0, 0, 0],\n"
                                      "     joint: {type: revolute, axis: [1, 0, 0]}}\n"
                                      "springs:\n"
                                      "  - {link: hook, stiffness: 10, anchor: [0, 0, 1]}\n");
    cfg = ctn_batch_config_default(), cfg.method = CTN_ALPHA;
    ck_assert_ptr_null(ctn_tape_create(light, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "link 'hook' has no mass") != NULL, "%s", err.message);
    ctn_model_free(light);
    cfg = f.cfg, cfg.dt = 1e-4;
    ctn_tape *r = ctn_tape_create(f.m, &cfg, 2, &err);
    ck_assert_int_eq(ctn_tape_run(r, f.q, f.v, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_step_jacobian(r, 2, A, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "step: expected 0 to 1, found 2");
    ck_assert_int_eq(ctn_output_jacobian(r, -1, A, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_tape_state(r, 2, q, NULL, &err), CTN_OK);
    ctn_tape_free(r), ctn_tape_free(NULL);
    free(A), free(q);
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("step_jacobian");
    TCase *t = tcase_create("step_jacobian");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, steps_against_differences, 0, METHODS);
    tcase_add_loop_test(t, gradients_of_runs, 0, METHODS);
    tcase_add_loop_test(t, tip_of_a_chain, 0, sizeof chains / sizeof *chains);
    tcase_add_loop_test(t, steps_that_fall_back, 0, sizeof hard / sizeof *hard);
    tcase_add_loop_test(t, another_end, 0, METHODS);
    tcase_add_test(t, mistakes);
    tcase_add_test(t, start_and_output_against_differences);
    suite_add_tcase(s, t);
    return run_suite(s);
}
