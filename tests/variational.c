/// The variational method: its order, and the laws that make it one: momenta, reversibility, symplecticity, energy without drift.
#include "tests/random_scene.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch *open_batch(const ctn_model *m, ctn_method method, int order, double dt, double tolerance)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.order = order, cfg.dt = dt, cfg.tolerance = tolerance;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

/// A state of a model in one array: q, then v.
static double *state_array(const ctn_model *m) { return calloc((size_t)(ctn_model_nq(m) + ctn_model_nv(m) + 1), sizeof(double)); }

/// `steps` steps from x to y, with the joint forces tau (NULL: none).
static ctn_step_stats advance(const ctn_model *m, ctn_method method, int order, double dt, int steps, const double *tau,
                              const double *x, double *y)
{
    const int nq = ctn_model_nq(m);
    ctn_batch *b = open_batch(m, method, order, dt, 1e-13);
    ctn_step_stats stats;
    ck_assert_int_eq(ctn_batch_set_state(b, x, x + nq, 0, NULL), CTN_OK);
    ctn_batch_set_force(b, tau);
    ck_assert_int_eq(ctn_batch_step(b, steps, &stats, NULL), CTN_OK);
    ctn_batch_state(b, y, y + nq);
    ctn_batch_free(b);
    return stats;
}

static double distance(const double *x, const double *y, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++) s += (x[k] - y[k]) * (x[k] - y[k]);
    return sqrt(s);
}

/// Halving the step divides the errors of q and v by 2^order, on forests of all joints with springs, armature and joint forces; at order
/// 2 also with dampers, soft and stiff ones. The reference is rk4 with small steps.
START_TEST(order_of_convergence)
{
    static const struct {
        int order, steps;
        bool damped;
    } cases[] = {{2, 100, false}, {2, 200, true}, {4, 100, false}};
    const double T = 0.2;
    FOR_SEEDS(seed, 12)
    {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const random_options o = {.links = 5, .passive = true, .conservative = !cases[c].damped, .smooth = true};
            ctn_model *m = random_model(seed, &o);
            const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
            double *x = state_array(m), *exact = state_array(m), *y = state_array(m), *tau = state_array(m), e[2][2];
            rng r = {seed};
            random_state(m, &r, x, x + nq);
            for (int k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -1, 1);
            advance(m, CTN_RK4, 2, T / 4000, 4000, tau, x, exact);
            for (int k = 0; k < 2; k++) {
                const int steps = cases[c].steps << k;
                advance(m, CTN_VARIATIONAL, cases[c].order, T / steps, steps, tau, x, y);
                e[k][0] = distance(y, exact, nq), e[k][1] = distance(y + nq, exact + nq, nv);
            }
            for (int s = 0; s < 2; s++) {
                const double order = log2(e[0][s] / e[1][s]);
                ck_assert_msg(fabs(order - cases[c].order) < 0.2, "seed %llu, case %zu, %c: order %.3f (errors %.3g, %.3g)",
                              (unsigned long long)seed, c, "qv"[s], order, e[0][s], e[1][s]);
            }
            free(x), free(exact), free(y), free(tau);
            ctn_model_free(m);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("variational");
    TCase *t = tcase_create("variational");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, order_of_convergence);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
