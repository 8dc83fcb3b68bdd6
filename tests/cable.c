/// Cables against the theory of elastic rods: what bends under its own weight, hangs between two points, buckles, twists.
#include "dynamics/lane_scalar.h"

#include "dynamics/model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
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
    double q[5 * LINKS], end[3], turned = 0;
    come_to_rest("catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - " ROD "young: 1e9, shear: 4e8, damping: 1}\n"
                 "forces: [{link: rod.49, torque: [0.5, 0, 0], axes: link}]\n",
                 end, q);
    const double exact = 0.5 / (4e8 * pi * 1e-8 / 2), half = 0.5 / LINKS;  // the last joint stands for half a link beyond it, too
    for (int i = 0; i < LINKS; i++) turned += 2 * atan2(q[5 * i + 1], q[5 * i]) + q[5 * i + 4];  // of a ball, and a hinge
    ck_assert_msg(fabs(turned - exact * (1 - half)) < 1e-6 * exact && fabs(turned - exact) < 0.0101 * exact, "%g, exact %g",
                  turned, exact);
}
END_TEST

// ---- ends that are held

/// How the forces along joints, where they are in balance at q, answer motions: K [nv][nv], by differences. Returns the largest force.
static double stiffness_at(const ctn_model *m, const double *q, double *K)
{
    const size_t n = (size_t)ctn_model_nv(m);
    const double e = 1e-5;
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double *const x = calloc((size_t)ctn_model_nq(m) + 4 * n, sizeof *x), *const still = x + ctn_model_nq(m),
                  *const d = still + n, *const more = d + n, *const less = more + n, most = 0;
    ctn_passive(dyn, 1, q, still, more);
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(more[i]));
    for (size_t j = 0; j < n; j++) {
        d[j] = 1;
        ctn_model_integrate(m, 1, q, d, e, x), ctn_passive(dyn, 1, x, still, more);
        ctn_model_integrate(m, 1, q, d, -e, x), ctn_passive(dyn, 1, x, still, less);
        for (size_t i = 0; i < n; i++) K[i * n + j] = (less[i] - more[i]) / (2 * e);
        d[j] = 0;
    }
    free(x), ctn_dynamics_free(dyn);
    return most;
}

/// Between walls a column buckles from P L^2 = b EI on (Euler): b = 4 pi^2 where both ends are clamped, 20.19 where one is, pi^2
/// where none is. The end, held so that its spring pushes with P, stays in line with the start.
START_TEST(columns_between_walls)
{
    static const struct {
        const char *start, *end;
        double critical;
    } of[] = {{"clamped", "clamped", 39.4784176},
              {"clamped", "hinged", 20.1907286},
              {"hinged", "clamped", 20.1907286},
              {"hinged", "hinged", 9.8696044}};
    enum { MOST = 4 * LINKS };
    static double K[MOST * MOST];
    for (int k = 0; k < 16; k++) {
        const double share = k % 2 ? 1.01 : 0.99, EI = 1e7 * pi * 1e-8 / 4, P = share * of[k / 4].critical * EI;
        const bool twists = k / 2 % 2;
        char text[600];
        snprintf(text, sizeof text, "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - " ROD "young: 1e7, %sstart: %s, end: %s}\n",
                 twists ? "shear: 4e6, " : "", of[k / 4].start, of[k / 4].end);
        ctn_model *const m = model_of(text);
        double stiffness = 0;
        for (int i = 0; i < m->nload; i++) stiffness += m->loads[i].stiffness;
        for (int i = 0; i < m->nload; i++) m->loads[i].anchor[0] -= P / stiffness;
        const int n = ctn_model_nv(m);
        double q[5 * LINKS], v[MOST];
        ck_assert_int_le(n, MOST);
        ctn_model_initial_state(m, q, v);
        stiffness_at(m, q, K);
        for (int i = 0; i < n; i++) K[i * n + i] += 1e-5;  // nothing else holds a rod with two hinges from turning about its axis
        ck_assert_msg(positive(K, n) == (k % 2 == 0), "%s, %s: %s at %g of its critical load", of[k / 4].start, of[k / 4].end,
                      k % 2 ? "stands" : "buckles", share);
        ctn_model_free(m);
    }
}
END_TEST

/// A beam between walls sags by w L^4 / (384 EI), one on two hinges by 5 times as much, one with one wall by w L^4 / (184.6 EI) at
/// most; little, as it does not stretch.
START_TEST(beams_sag)
{
    static const struct {
        const char *start, *end;
        double share;
    } of[] = {{"clamped", "clamped", 1 / 384.}, {"hinged", "hinged", 5 / 384.}, {"clamped", "hinged", 0.0054161}};
    for (int k = 0; k < 3; k++) {
        char text[500];
        double end[3], q[2 * LINKS], z = 0, angle = 0, deepest = 0;
        const double EI = 1e9 * pi * 1e-8 / 4, w = 1000 * pi * 1e-4 * 0.01;
        snprintf(text, sizeof text,
                 "catena: 1\ngravity: [0, 0, -0.01]\nlinks:\n  - " ROD "young: 1e9, damping: 1, start: %s, end: %s}\n",
                 of[k].start, of[k].end);
        come_to_rest(text, end, q);
        for (int i = 0; i < LINKS; i++) angle += q[2 * i], z -= sin(angle) / LINKS, deepest = fmin(deepest, z);
        const double exact = -of[k].share * w / EI;
        ck_assert_msg(fabs(deepest - exact) < -0.01 * exact, "%s, %s: %.6g m, exact %.6g", of[k].start, of[k].end, deepest,
                      exact);
    }
}
END_TEST

/// Ends are where they are to be from the first moment on, and stay there to a ten-thousandth of the length; a clamped one keeps its
/// direction as the material's clamp does, a hinged one takes none.
START_TEST(ends_stay)
{
    static const char *const starts[] = {"clamped", "hinged", "free"}, *const ends[] = {"clamped", "hinged"};
    for (int k = 0; k < 12; k++) {
        char text[900];
        const bool twists = k >= 6, clamped = k % 2 == 0;
        snprintf(
            text, sizeof text,
            "catena: 1\nlinks:\n  - {name: wall, position: [0.1, 0.2, 0.3], euler: [0, 0, 90 deg]}\n"
            "  - " ROD
            "young: 1e7, damping: 0.1, %sstart: %s, %s, position: [0, 0, 1], end: {hold: %s, position: [0.5, 0.6, 1.2]%s}}\n",
            twists ? "shear: 4e6, " : "", starts[k / 2 % 3], k / 2 % 3 == 2 ? "euler: [0, 0, 0.3]" : "parent: wall", ends[k % 2],
            clamped ? ", euler: [0, 0, 90 deg]" : "");
        ctn_model *const m = model_of(text);
        const bool flies = k / 2 % 3 == 2;
        const double want[3] = {flies ? 0.5 : 0.1 - 0.6, flies ? 0.6 : 0.2 + 0.5, flies ? 1.2 : 1.5};
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 0.05;
        ctn_error err;
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(b != NULL, "%s", err.message);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        double q[5 * LINKS + 7], R[9 * (2 * LINKS + 1)], p[3 * (2 * LINKS + 1)], length = 0;
        const int last = ctn_model_find(m, "rod.49");
        for (int n = 0; n < 2; n++) {
            ctn_batch_state(b, q, NULL), ctn_forward_kinematics(dyn, 1, q, R, p);
            for (int i = 0; i < 3; i++) {
                const double at = p[3 * last + i] + R[9 * last + 3 * i] / LINKS;
                ck_assert_msg(fabs(at - want[i]) < (n ? 2e-4 : 1e-9), "%d, %d: [%d] %.12g m, not %g", k, n, i, at, want[i]);
            }
            // x of the last link along the axis of the clamp, but for what half a link bends under its own weight
            const double *const clamp = flies ? (const double[]){0, 1, 0} : (const double[]){-1, 0, 0};
            for (int i = 0; i < 3; i++) length = i ? length + R[9 * last + 3 * i] * clamp[i] : R[9 * last] * clamp[0];
            ck_assert_msg(!clamped || !n || length > 0.99, "%d: the end is turned by %g", k, acos(length));
            ctn_step_stats stats;
            ctn_batch_step(b, 400, &stats, NULL);
            ck_assert_int_eq((int)stats.frozen, 0);
        }
        ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
    }
    ctn_error err;
    const char *const moving = "catena: 1\nlinks:\n  - {name: arm, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
                               "  - " ROD "young: 1e7, parent: arm, end: hinged}\n",
                      *const far = "catena: 1\nlinks:\n  - " ROD "young: 1e7, end: {hold: hinged, position: [0, 0, 1.1]}}\n",
                      *const turned = "catena: 1\nlinks:\n  - " ROD "young: 1e7, end: {hold: hinged, euler: [0, 0, 1]}}\n";
    ck_assert(!ctn_scene_parse(moving, strlen(moving), "t.yaml", &err) &&
              strstr(err.message, "the start of this cable moves with 'arm'"));
    ck_assert(!ctn_scene_parse(far, strlen(far), "t.yaml", &err) &&
              strstr(err.message, "held 1.1 m from the start, and the cable is 1 m long"));
    ck_assert(!ctn_scene_parse(turned, strlen(turned), "t.yaml", &err) && strstr(err.message, "belongs to a clamped end"));
}
END_TEST

// ---- a rod that writhes

/// The writhe of a polygon of `n` vertices whose ends go on straight to infinity, by the angles under which its pieces cross seen
/// from all sides [Klenin, Langowski 2000: Biopolymers 54, method 1a].
static double writhe_of(const double (*p)[3], int n)
{
    double sum = 0;
    for (int i = 0; i + 1 < n; i++)
        for (int j = i + 2; j + 1 < n; j++) {
            const double *const corner[4] = {p[i], p[i + 1], p[j], p[j + 1]};
            double r[4][3], c[4][3], side[3], a[3], b[3], omega = 0;  // r13, r14, r24, r23
            static const int from[4] = {0, 0, 1, 1}, to[4] = {2, 3, 3, 2};
            for (int k = 0; k < 4; k++)
                for (int d = 0; d < 3; d++) r[k][d] = corner[to[k]][d] - corner[from[k]][d];
            bool flat = false;
            for (int k = 0; k < 4; k++) {
                const double *const x = r[k], *const y = r[(k + 1) % 4];
                const double v[3] = {x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
                const double size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
                flat = flat || size < 1e-14;
                for (int d = 0; d < 3; d++) c[k][d] = v[d] / size;
            }
            if (flat) continue;
            for (int k = 0; k < 4; k++)
                omega += asin(
                    fmax(-1, fmin(1, c[k][0] * c[(k + 1) % 4][0] + c[k][1] * c[(k + 1) % 4][1] + c[k][2] * c[(k + 1) % 4][2])));
            for (int d = 0; d < 3; d++) a[d] = p[i + 1][d] - p[i][d], b[d] = p[j + 1][d] - p[j][d];
            side[0] = b[1] * a[2] - b[2] * a[1], side[1] = b[2] * a[0] - b[0] * a[2], side[2] = b[0] * a[1] - b[1] * a[0];
            const double sign = side[0] * r[0][0] + side[1] * r[0][1] + side[2] * r[0][2];
            sum += (sign > 0 ? 1 : -1) * omega;
        }
    return sum / (2 * pi);
}

/// Where the joints of a rod are: frames of its links [LINKS] after the quaternion and the hinge of each.
static quat link_frames(const double *q, vec3 axis[LINKS])
{
    quat F = {1, 0, 0, 0};
    for (int i = 0; i < LINKS; i++, q += 5) {
        F = quat_mul(quat_mul(F, quat_load(q)), quat_exp(vec(q[4], 0, 0)));
        axis[i] = quat_rotation(F).x;
    }
    return F;
}

/// Quaternion and hinge of each link of a rod with these axes, each twisted by `twist` against the one before, of which the balls
/// have a share. Returns the last frame.
static quat lay_rod(const vec3 axis[LINKS], double twist, double share, double *q)
{
    quat F = {1, 0, 0, 0};
    for (int i = 0; i < LINKS; i++, q += 5) {
        const vec3 u = tmul(quat_rotation(F), axis[i]);
        const quat bend = quat_normalised((quat){1 + u.x, 0, -u.z, u.y});
        const quat ball = quat_mul(bend, quat_exp(vec(share * twist, 0, 0)));
        quat_store(q, ball), q[4] = (1 - share) * twist;
        F = quat_mul(quat_mul(F, ball), quat_exp(vec(q[4], 0, 0)));
    }
    return F;
}

static double roll_of(quat F)
{
    const mat3 R = quat_rotation(F);
    return atan2(R.y.z, R.y.y);
}

/// A long rod with the stiffness B, C against bending and twist, whose ends are turned against each other and drawn together, rolls
/// up in one place. Under the tension T and the twisting moment M its axis is, with m = M/(2 sqrt(B T)) and the arc s from the
/// middle [Coyne 1990; van der Heijden, Thompson 2000],
///
///     cos(theta) = 1 - 2 (1 - m^2) sech^2 x,   psi = m s sqrt(T/B) + atan(sqrt(1/m^2 - 1) tanh x),   x = s sqrt((1 - m^2) T/B)
///
/// its ends are 4 sqrt((1 - m^2) B/T) closer than it is long, and turned by M L/C for its twist and 4 acos(m) for its writhe, 2/pi
/// acos(m) turns. 50 links between two clamps that are as close and turned as much come to rest with that writhe; and of the turn
/// of the clamps all that is not writhe is twist.
START_TEST(rods_writhe)
{
    const double E = 1e7, G = 4e6, r = 0.01, B = E * pi * pow(r, 4) / 4, C = 2 * G * pi * pow(r, 4) / 4, L = 1, scale = L / 16,
                 l = L / LINKS;
    for (int k = 0; k < 2; k++) {
        const double m = k ? 0.85 : 0.8, T = B / (scale * scale), M = 2 * m * sqrt(B * T), w = sqrt(1 - m * m) / scale;
        const double D = 4 * sqrt(1 - m * m) * scale, turned = M * L / C + 4 * acos(m), exact = 2 / pi * acos(m);
        char text[800];
        snprintf(text, sizeof text,
                 "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - " ROD
                 "young: %g, shear: %g, damping: 0.3, end: {hold: clamped, position: [%.17g, 0, 0], "
                 "euler: [%.17g, 0, 0]}}\n",
                 E, G, L - D, remainder(turned, 2 * pi));
        ctn_model *const model = model_of(text);
        // the axis of the long rod, cut off where its ends are nearly straight; twisted so that the last link is turned as the clamp
        double q[5 * LINKS], v[4 * LINKS] = {0}, twist = M * L / C / LINKS, fastest = 0;
        vec3 axis[LINKS];
        for (int i = 0; i < LINKS; i++) {
            const double s = (i + 0.5) * l - L / 2, t = 1 / cosh(w * s), c = 1 - 2 * (1 - m * m) * t * t,
                         psi = m * s / scale + atan(sqrt(1 / (m * m) - 1) * tanh(w * s)), sn = sqrt(fmax(0, 1 - c * c));
            axis[i] = vec(c, sn * cos(psi), sn * sin(psi));
        }
        for (int pass = 0; pass < 3; pass++)
            twist += remainder(turned - roll_of(lay_rod(axis, twist, 2 * G / E, q)), 2 * pi) / LINKS;
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 0.06;
        ctn_batch *const b = batch_with(model, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_batch_step(b, 200, NULL, NULL), ctn_batch_state(b, q, v);
        for (int i = 0; i < 4 * LINKS; i++) fastest = fmax(fastest, fabs(v[i]));
        ck_assert_msg(fastest < 1e-2, "still moves by %g rad/s", fastest);
        const quat F = link_frames(q, axis);
        double p[LINKS + 3][3] = {{-1e3, 0, 0}}, tw = 0;
        for (int i = 0; i < LINKS; i++) {
            const double u[3] = {axis[i].x, axis[i].y, axis[i].z};
            for (int d = 0; d < 3; d++) p[i + 2][d] = p[i + 1][d] + l * u[d];
            tw += 2 * atan2(q[5 * i + 1], q[5 * i]) + q[5 * i + 4];
        }
        p[LINKS + 2][0] = 1e3, p[LINKS + 2][1] = p[LINKS + 1][1], p[LINKS + 2][2] = p[LINKS + 1][2];
        const double writhe = writhe_of((const double(*)[3])p, LINKS + 3),
                     left = remainder(turned - roll_of(F), 2 * pi);  // in the clamp
        ck_assert_msg(fabs(writhe - exact) < 0.01 * exact, "m %g: writhe %.5f, exact %.5f", m, writhe, exact);
        ck_assert_msg(fabs((turned - left - tw) / (2 * pi) - writhe) < 2e-4,
                      "m %g: the ends are turned by %.5f, twist and writhe are %.5f", m, (turned - left) / (2 * pi),
                      tw / (2 * pi) + writhe);
        ck_assert_msg(fabs(C * (tw / (L - l / 2)) - M) < 0.01 * M, "m %g: twists with %g N m, not %g", m, C * tw / L, M);
        ctn_batch_free(b), ctn_model_free(model);
    }
}
END_TEST

/// A straight rod between two clamps buckles from a twisting moment of 8.9868 B/L on [Greenhill 1883]: up to there its potential has
/// a minimum.
START_TEST(twisted_rods_buckle)
{
    enum { N = 4 * LINKS };
    static double K[N * N];
    const double E = 1e7, G = 4e6, B = E * pi * 1e-8 / 4, C = 2 * G * pi * 1e-8 / 4, l = 1.0 / LINKS;
    for (int k = 0; k < 2; k++) {
        const double M = (k ? 1.01 : 0.99) * 8.9868188 * B, last = asin(M / (2 * C / l)), turned = M * (1 - l / 2) / C + last;
        char text[600];
        double q[5 * LINKS];
        snprintf(text, sizeof text,
                 "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - " ROD
                 "young: %g, shear: %g, end: {hold: clamped, position: [1, 0, 0], euler: [%.17g, 0, 0]}}\n",
                 E, G, remainder(turned, 2 * pi));
        ctn_model *const m = model_of(text);
        for (int i = 0; i < LINKS; i++) {
            const double twist = M * l / C * (i ? 1 : 0.5);
            quat_store(q + 5 * i, quat_exp(vec(2 * G / E * twist, 0, 0))), q[5 * i + 4] = (1 - 2 * G / E) * twist;
        }
        const double most = stiffness_at(m, q, K);
        ck_assert_msg(most < 1e-9 * M, "not at rest: %g N m", most);
        ck_assert_msg(positive(K, N) == (k == 0), "%s at %g N m", k ? "stands" : "buckles", M);
        ctn_model_free(m);
    }
}
END_TEST

/// A rod that twists has balls, and hinges for what is softer than these; all of its twist is in hinges where it is harder.
START_TEST(starts_differ)
{
    static const struct {
        const char *start, *shear;
        int nv;
    } starts[] = {{"clamped", "1", 150},   {"hinged", "1", 150},   {"free", "1", 153},
                  {"clamped", "0.4", 200}, {"hinged", "0.4", 199}, {"free", "0.4", 202},
                  {"clamped", "0.5", 150}, {"free", "0.5", 153},   {"clamped", NULL, 100}};
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        char text[400];
        snprintf(text, sizeof text, "catena: 1\nlinks:\n  - " ROD "young: 1, %s%s%sstart: %s, position: [0, 0, 2]}\n",
                 starts[k].shear ? "shear: " : "", starts[k].shear ? starts[k].shear : "", starts[k].shear ? ", " : "",
                 starts[k].start);
        ctn_model *const m = model_of(text);
        ck_assert_int_eq(ctn_model_nv(m), starts[k].nv);
        double q[260], v[210], R[9 * 100], p[3 * 100];
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
    tcase_add_test(rods, columns_between_walls);
    tcase_add_test(rods, beams_sag);
    tcase_add_test(rods, ends_stay);
    tcase_add_test(rods, rods_writhe);
    tcase_add_test(rods, twisted_rods_buckle);
    suite_add_tcase(suite, rods);
    return run_suite(suite);
}
