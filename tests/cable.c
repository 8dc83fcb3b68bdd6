/// Cables against the theory of elastic rods: what bends under its own weight, hangs between two points, buckles, twists.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 50 };
#define ROD "cable: {name: rod, links: 50, length: 1, radius: 0.01, density: 1000, "

static const double pi = 3.14159265358979323846, g = 9.81;

/// Steps to rest and returns where the far end of the cable is; q [nq] receives the coordinates if it is not NULL.
static void come_to_rest(const char *text, double end[3], double *q)
{
    ctn_error err = {0};
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 0.2;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b, "%s", err.message);
    double *const x = calloc((size_t)ctn_model_nq(m), sizeof *x), *const v = calloc((size_t)ctn_model_nv(m), sizeof *v);
    double fastest = 1;
    for (int k = 0; k < 5000 && fastest > 1e-9; k++) {
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ctn_batch_state(b, x, v);
        fastest = 0;
        for (int i = 0; i < ctn_model_nv(m); i++) fastest = fmax(fastest, fabs(v[i]));
    }
    ck_assert_msg(fastest <= 1e-9, "still moves by %g rad/s", fastest);
    const int nlink = ctn_model_nlink(m);
    double *const R = calloc((size_t)nlink, 9 * sizeof *R), *const p = calloc((size_t)nlink, 3 * sizeof *p);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    ctn_forward_kinematics(dyn, 1, x, R, p);
    for (int i = 0; i < 3; i++) end[i] = p[3 * (nlink - 1) + i] + R[9 * (nlink - 1) + 3 * i] / LINKS;  // l along its x
    if (q) memcpy(q, x, (size_t)ctn_model_nq(m) * sizeof *q);
    ctn_dynamics_free(dyn);
    free(R), free(p), free(x), free(v);
    ctn_batch_free(b);
    ctn_model_free(m);
}

/// The elastica under its own weight w per length, clamped at the origin along x: EI theta'' = w (L - s) cos(theta), theta(0) =
/// 0, theta'(L) = 0; its end by Simpson's rule over Runge-Kutta's steps, theta' at 0 by bisection.
static void elastica(double EI, double w, double end[3])
{
    enum { STEPS = 2000 };
    const double h = 1.0 / STEPS;
    double low = -100, high = 0;
    for (int k = 0; k < 200; k++) {
        double t = 0, u = (low + high) / 2, x = 0, z = 0;
        for (int i = 0; i < STEPS; i++) {
            double a[4], b[4];
            for (int j = 0; j < 4; j++) {
                const double c = j == 0 ? 0 : j == 3 ? 1 : 0.5, s = (i + c) * h;
                b[j] = u + (j ? c * h * a[j - 1] : 0);
                const double angle = t + (j ? c * h * b[j - 1] : 0);
                a[j] = w / EI * (1 - s) * cos(angle);
            }
            const double middle = t + h / 2 * b[1], before = t;
            t += h / 6 * (b[0] + 2 * b[1] + 2 * b[2] + b[3]), u += h / 6 * (a[0] + 2 * a[1] + 2 * a[2] + a[3]);
            x += h / 6 * (cos(before) + 4 * cos(middle) + cos(t)), z += h / 6 * (sin(before) + 4 * sin(middle) + sin(t));
        }
        if (u > 0) high = (low + high) / 2;
        else low = (low + high) / 2;
        end[0] = x, end[1] = 0, end[2] = z;
    }
}

/// From stiff to soft: the end moves by 5 % of the length, and by most of it.
START_TEST(cantilevers_bend)
{
    static const double young[] = {1e9, 1e8, 1e7};
    char text[400];
    snprintf(text, sizeof text, "catena: 1\nlinks:\n  - " ROD "young: %g, damping: 1}\n", young[_i]);
    double end[3], exact[3];
    come_to_rest(text, end, NULL);
    elastica(young[_i] * pi * 1e-8 / 4, 1000 * pi * 1e-4 * g, exact);
    const double off = hypot(end[0] - exact[0], end[2] - exact[2]), moved = hypot(1 - exact[0], exact[2]);
    ck_assert_msg(fabs(end[1]) < 1e-9 && off < 0.01 * moved, "end %g %g %g, exact %g %g", end[0], end[1], end[2], exact[0],
                  exact[2]);
}
END_TEST

/// Without stiffness, between two points of one height 0.8 m apart: z = a (cosh(x / a) - cosh(0.4 / a)), 2 a sinh(0.4 / a) = 1.
START_TEST(cables_hang_as_catenaries)
{
    double a = 0.3, q[2 * LINKS], end[3];
    for (int k = 0; k < 100; k++) {
        const double f = 2 * a * sinh(0.4 / a) - 1, d = 2 * sinh(0.4 / a) - 0.8 / a * cosh(0.4 / a);
        a -= f / d;
    }
    come_to_rest("catena: 1\nlinks:\n  - " ROD "young: 1e4, damping: 10, start: hinged}\n"
                 "springs: [{link: rod.49, point: [0.02, 0, 0], anchor: [0.8, 0, 0], stiffness: 1e6, damping: 100}]\n",
                 end, q);
    ck_assert_msg(fabs(end[0] - 0.8) < 1e-4 && fabs(end[2]) < 1e-4, "end %g %g %g", end[0], end[1], end[2]);
    double x = 0, z = 0, angle = 0, deepest = 0;
    for (int i = 0; i < LINKS; i++) {  // in the plane: the first axis of every joint is y
        angle += q[2 * i];
        x += cos(angle) / LINKS, z -= sin(angle) / LINKS;
        const double exact = a * (cosh((x - 0.4) / a) - cosh(0.4 / a));
        deepest = fmin(deepest, exact);
        ck_assert_msg(fabs(z - exact) < 0.003, "at %g: %g, exact %g", x, z, exact);
    }
    ck_assert(deepest < -0.2);
}
END_TEST

/// Whether a symmetric matrix is positive definite, by Cholesky's factors in its place.
static bool positive(double *A, int n)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++) A[j * n + j] -= A[j * n + k] * A[j * n + k];
        if (!(A[j * n + j] > 0)) return false;
        A[j * n + j] = sqrt(A[j * n + j]);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++) A[i * n + j] -= A[i * n + k] * A[j * n + k];
            A[i * n + j] /= A[j * n + j];
        }
    }
    return true;
}

/// A column buckles under its own weight from w L^3 = 7.8373 EI on (Greenhill 1881): up to there its potential has a minimum at
/// rest. With the tip held in its place by a load instead, from P L^2 = pi^2 EI / 4 on (Euler).
START_TEST(columns_buckle)
{
    enum { N = 2 * LINKS };
    char text[600];
    static double K[N * N], by_v[N * N], by_a[N * N], q[N], v[N];
    const double EI = 1e7 * pi * 1e-8 / 4, own = 7.8373473 * EI / (1000 * pi * 1e-4), tip = pi * pi / 4 * EI;
    for (int k = 0; k < 4; k++) {
        const double share = k % 2 ? 1.01 : 0.99;
        int used = snprintf(text, sizeof text,
                            "catena: 1\ngravity: [0, 0, %.17g]\nlinks:\n  - cable: {name: rod, links: 50, length: 1, "
                            "radius: 0.01, density: %g, young: 1e7, euler: [0, -90 deg, 0]}\n",
                            k < 2 ? -own * share : -tip * share, k < 2 ? 1000 : 1e-6);
        if (k >= 2)
            snprintf(text + used, sizeof text - (size_t)used,
                     "  - {name: load, parent: rod.49, position: [0.02, 0, 0], mass: 1, inertia: [0, 0, 0, 0, 0, 0]}\n");
        ctn_model *const m = model_of(text);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        ck_assert_int_eq(ctn_model_nv(m), N);
        ctn_rnea_derivatives(dyn, 1, q, v, v, K, by_v, by_a);
        for (int i = 0; i < N; i++) K[i * N + i] += (i < 2 ? 2 : 1) * EI * LINKS;  // the springs: EI / l, twice at the clamp
        ck_assert_msg(positive(K, N) == (k % 2 == 0), "%s at %g of its critical load", k % 2 ? "stands" : "buckles", share);
        ctn_dynamics_free(dyn);
        ctn_model_free(m);
    }
}
END_TEST

/// A torque T about the axis at the free end turns it by T L / (G J).
START_TEST(rods_twist)
{
    double q[3 * LINKS], end[3], turned = 0;
    come_to_rest("catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - " ROD "young: 1e9, shear: 4e8, damping: 1}\n"
                 "forces: [{link: rod.49, torque: [0.5, 0, 0], axes: link}]\n",
                 end, q);
    const double exact = 0.5 / (4e8 * pi * 1e-8 / 2), half = 0.5 / LINKS;  // the last joint stands for half a link beyond it, too
    for (int i = 0; i < LINKS; i++) turned += q[3 * i + 2];
    ck_assert_msg(fabs(turned - exact * (1 - half)) < 1e-6 * exact && fabs(turned - exact) < 0.0101 * exact, "%g, exact %g",
                  turned, exact);
}
END_TEST

START_TEST(starts_differ)
{
    static const struct {
        const char *start;
        int nv;
    } starts[] = {{"clamped", 150}, {"hinged", 150}, {"free", 153}};
    for (size_t k = 0; k < 3; k++) {
        char text[400];
        snprintf(text, sizeof text, "catena: 1\nlinks:\n  - " ROD "young: 1, shear: 1, start: %s, position: [0, 0, 2]}\n",
                 starts[k].start);
        ctn_model *const m = model_of(text);
        ck_assert_int_eq(ctn_model_nv(m), starts[k].nv);
        double q[200], v[200], R[9 * 100], p[3 * 100];
        ctn_model_initial_state(m, q, v);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_forward_kinematics(dyn, 1, q, R, p);
        const int last = ctn_model_find(m, "rod.49");
        ck_assert(p[3 * last] > 0.9799999 && p[3 * last] < 0.9800001 && p[3 * last + 2] == 2);
        ctn_dynamics_free(dyn);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cable");
    TCase *const rods = tcase_create("rods");
    tcase_set_timeout(rods, 60);
    tcase_add_loop_test(rods, cantilevers_bend, 0, 3);
    tcase_add_test(rods, cables_hang_as_catenaries);
    tcase_add_test(rods, columns_buckle);
    tcase_add_test(rods, rods_twist);
    tcase_add_test(rods, starts_differ);
    suite_add_tcase(suite, rods);
    return run_suite(suite);
}
