/// Derivatives of inverse and forward dynamics: against differences on random forests of all joints, and against each other.
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    ctn_model *m;
    ctn_dynamics *d;
    int nq, nv;
    double *q, *v, *a, *tau;
    double *x[3], *by[3];  // derivatives by differences, and analytic, by q, v and a or tau: [nv][nv]
} fixture;

static double *nans(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t k = 0; k < n; k++) x[k] = NAN;
    return x;
}

static fixture open_fixture(uint64_t seed, const random_options *o)
{
    fixture f = {.m = random_model(seed, o)};
    rng r = {seed ^ 0xd1ff};
    f.nq = ctn_model_nq(f.m), f.nv = ctn_model_nv(f.m);
    f.d = ctn_dynamics_create(f.m, NULL, NULL);
    const size_t n = (size_t)f.nv;
    f.q = nans((size_t)f.nq), f.v = nans(n), f.a = nans(n), f.tau = nans(n);
    for (int k = 0; k < 3; k++) f.x[k] = nans(n * n), f.by[k] = nans(n * n);
    random_state(f.m, &r, f.q, f.v);
    for (int k = 0; k < f.nv; k++) f.a[k] = rng_uniform(&r, -5, 5), f.tau[k] = rng_uniform(&r, -5, 5);
    return f;
}

static void close_fixture(fixture *f)
{
    ctn_dynamics_free(f->d);
    ctn_model_free(f->m);
    free(f->q), free(f->v), free(f->a), free(f->tau);
    for (int k = 0; k < 3; k++) free(f->x[k]), free(f->by[k]);
}

/// ID(q, v, a) or, forward, FD(q, v, tau), with input `which` moved by e along coordinate k.
static void moved(const fixture *f, bool forward, int which, int k, double e, double *out)
{
    double *q = nans((size_t)f->nq), *v = nans((size_t)f->nv), *a = nans((size_t)f->nv),
           *u = calloc((size_t)f->nv + 1, sizeof *u);
    memcpy(v, f->v, (size_t)f->nv * sizeof *v), memcpy(a, forward ? f->tau : f->a, (size_t)f->nv * sizeof *a);
    if (which == 0) u[k] = e;
    tangent_move(f->m, f->q, u, 1, q);
    if (which == 1) v[k] += e;
    if (which == 2) a[k] += e;
    if (forward) ctn_aba(f->d, 1, q, v, a, out);
    else ctn_rnea(f->d, 1, q, v, a, out);
    free(q), free(v), free(a), free(u);
}

/// Differences of fourth order. Into f->x.
static void differences(fixture *f, bool forward)
{
    const double e = 1e-4;  // smaller than the distance of these seeds from the kinks of limits
    double *y[4];
    for (int s = 0; s < 4; s++) y[s] = nans((size_t)f->nv);
    for (int which = 0; which < 3; which++)
        for (int k = 0; k < f->nv; k++) {
            for (int s = 0; s < 4; s++) moved(f, forward, which, k, e * (s < 2 ? s - 2 : s - 1), y[s]);
            for (int i = 0; i < f->nv; i++)
                f->x[which][i * f->nv + k] = (8 * (y[2][i] - y[1][i]) - (y[3][i] - y[0][i])) / (12 * e);
        }
    for (int s = 0; s < 4; s++) free(y[s]);
}

static double largest(const double *x, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

static void compare(const fixture *f, uint64_t seed, const char *what)
{
    for (int which = 0; which < 3; which++) {
        const double size = largest(f->x[which], f->nv * f->nv);
        for (int k = 0; k < f->nv * f->nv; k++)
            ck_assert_msg(fabs(f->by[which][k] - f->x[which][k]) <= 1e-8 * size + 1e-11,
                          "seed %llu: %s by %s, entry [%d][%d]: %.12g, by differences %.12g (largest %.3g)",
                          (unsigned long long)seed, what, (const char *[]){"q", "v", "a or tau"}[which], k / f->nv, k % f->nv,
                          f->by[which][k], f->x[which][k], size);
    }
}

START_TEST(inverse_dynamics_against_differences)
{
    FOR_SEEDS(seed, 120)
    {
        const random_options o = {.links = 1 + (int)(seed % 12), .passive = seed % 2, .chain = seed % 3 == 0};
        fixture f = open_fixture(seed, &o);
        differences(&f, false);
        ctn_rnea_derivatives(f.d, 1, f.q, f.v, f.a, f.by[0], f.by[1], f.by[2]);
        compare(&f, seed, "ID");
        close_fixture(&f);
    }
}
END_TEST

START_TEST(forward_dynamics_against_differences)
{
    FOR_SEEDS(seed, 120)
    {
        const random_options o = {.links = 1 + (int)(seed % 12),
                                  .passive = seed % 2,
                                  .chain = seed % 3 == 0,
                                  .springs = (int)(seed % 4),
                                  .wrenches = (int)(seed % 3),
                                  .motors = (int)(seed % 5)};
        fixture f = open_fixture(seed, &o);
        differences(&f, true);
        ctn_aba_derivatives(f.d, 1, f.q, f.v, f.tau, f.by[0], f.by[1], f.by[2]);
        compare(&f, seed, "FD");
        close_fixture(&f);
    }
}
END_TEST

/// Each matrix may be left out, and comes out the same alone.
START_TEST(matrices_one_by_one)
{
    const random_options o = {.links = 9, .passive = true, .springs = 2, .wrenches = 2, .motors = 4};
    fixture f = open_fixture(5, &o);
    const size_t size = (size_t)f.nv * (size_t)f.nv * sizeof(double);
    for (int forward = 0; forward < 2; forward++) {
        if (forward) ctn_aba_derivatives(f.d, 1, f.q, f.v, f.tau, f.by[0], f.by[1], f.by[2]);
        else ctn_rnea_derivatives(f.d, 1, f.q, f.v, f.a, f.by[0], f.by[1], f.by[2]);
        for (int k = 0; k < 3; k++) {
            double *alone[3] = {NULL};
            alone[k] = f.x[k];
            if (forward) ctn_aba_derivatives(f.d, 1, f.q, f.v, f.tau, alone[0], alone[1], alone[2]);
            else ctn_rnea_derivatives(f.d, 1, f.q, f.v, f.a, alone[0], alone[1], alone[2]);
            ck_assert_int_eq(memcmp(f.x[k], f.by[k], size), 0);
        }
    }
    close_fixture(&f);
}
END_TEST

/// The derivative of the inverse dynamics by a is the joint-space inertia, that of the forward dynamics by tau its inverse.
START_TEST(inertia_and_its_inverse)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 33), .passive = seed % 2};
        fixture f = open_fixture(seed, &o);
        const int n = f.nv;
        ctn_crba(f.d, 1, f.q, f.x[0]);
        ctn_rnea_derivatives(f.d, 1, f.q, f.v, f.a, NULL, NULL, f.by[2]);
        const double size = largest(f.x[0], n * n);
        for (int k = 0; k < n * n; k++)
            ck_assert_msg(fabs(f.by[2][k] - f.x[0][k]) <= 1e-12 * size, "seed %llu", (unsigned long long)seed);
        ctn_aba_derivatives(f.d, 1, f.q, f.v, f.tau, NULL, NULL, f.by[0]);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double s = 0, sum = 0;
                for (int k = 0; k < n; k++)
                    s += f.x[0][i * n + k] * f.by[0][k * n + j], sum += fabs(f.x[0][i * n + k] * f.by[0][k * n + j]);
                ck_assert_msg(fabs(s - (i == j)) <= 1e-9 * (1 + sum), "seed %llu: (H H^-1)[%d][%d] = %.12g",
                              (unsigned long long)seed, i, j, s);
            }
        close_fixture(&f);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("derivatives");
    TCase *t = tcase_create("derivatives");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, inverse_dynamics_against_differences);
    tcase_add_test(t, forward_dynamics_against_differences);
    tcase_add_test(t, matrices_one_by_one);
    tcase_add_test(t, inertia_and_its_inverse);
    suite_add_tcase(s, t);
    return run_suite(s);
}
