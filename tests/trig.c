/// The elementary functions against long double, and the exponential chart against its definition.
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>

/// |a - b| in units of the last place of b as a double.
static double ulps(double a, long double b)
{
    int e;
    frexpl(b, &e);
    return (double)(fabsl((long double)a - b) / ldexpl(1, e - 53));
}

START_TEST(sincos_reduced)
{
    rng r = {1};
    double worst = 0;
    for (int i = 0; i < 1000000; i++) {
        const double x = rng_uniform(&r, -M_PI_4, M_PI_4) * (i % 3 ? 1 : 1e-3);
        double s, c;
        sincosr(x, &s, &c);
        worst = worse(worse(worst, ulps(s, sinl(x))), ulps(c, cosl(x)));
    }
    ck_assert_msg(worst <= 1, "worst %.3f ulp", worst);
    double s, c;
    sincosr(0, &s, &c);
    ck_assert(s == 0 && c == 1);
}
END_TEST

START_TEST(sincos_whole_range)
{
    rng r = {2};
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        double x = rng_uniform(&r, -1, 1) * (i % 2 ? CTN_MAX_ANGLE : 100);
        if (i % 5 == 0) x = rint(x) * M_PI_2;  // near the places where one of them vanishes
        double s, c;
        sincosr(x, &s, &c);
        worst = worse(worse(worst, (double)fabsl(s - sinl(x))), (double)fabsl(c - cosl(x)));
    }
    ck_assert_msg(worst <= 0x1p-52, "worst %.3g = %.3f * 2^-53", worst, worst * 0x1p53);
}
END_TEST

START_TEST(quarter_turns_are_exact)
{
    rng r = {3};
    for (int i = 0; i < 1000; i++) {
        const double x = rng_uniform(&r, -10, 10);
        double s0, c0, s, c;
        sincosr(x, &s0, &c0);
        sincos_quarters(x, 1, &s, &c);
        ck_assert(s == c0 && c == -s0);
        sincos_quarters(x, 2, &s, &c);
        ck_assert(s == -s0 && c == -c0);
        sincos_quarters(x, 3, &s, &c);
        ck_assert(s == -c0 && c == s0);
    }
}
END_TEST

START_TEST(arc_tangent)
{
    rng r = {4};
    double worst = 0;
    for (int i = 0; i < 1000000; i++) {
        const double y = rng_uniform(&r, -1, 1) * (i % 3 ? 1 : 1e-6), x = rng_uniform(&r, -1, 1) * (i % 5 ? 1 : 1e-9);
        worst = worse(worst, ulps(atan2r(y, x), atan2l(y, x)));
    }
    ck_assert_msg(worst <= 3, "worst %.3f ulp", worst);
    ck_assert(atan2r(0, 0) == 0);
    ck_assert(atan2r(0, -1) == M_PI && atan2r(1, 0) == M_PI_2 && atan2r(-1, 0) == -M_PI_2);
}
END_TEST

START_TEST(exponential_and_logarithm)
{
    rng r = {5};
    for (int i = 0; i < 20000; i++) {
        const double size = i % 4 == 0 ? 1e-7 : i % 4 == 1 ? 1e-2 : 3.1;
        double u[3] = {rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1)};
        const double n = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), t = size * rng_uniform(&r, 0.01, 1);
        for (int k = 0; k < 3; k++) u[k] *= t / n;
        const quat q = quat_exp(vec(u[0], u[1], u[2]));
        ck_assert(fabs(quat_square(q) - 1) < 1e-15);
        ck_assert(fabs(q.w - cos(t / 2)) < 5e-16);
        const vec3 l = quat_log(q);
        ck_assert(fabs(l.x - u[0]) + fabs(l.y - u[1]) + fabs(l.z - u[2]) < 2e-15 * fmax(1, t) + 4e-16 * t);
        // the other quaternion of the same rotation has the same logarithm
        quat p = q;
        p.w = -p.w, p.x = -p.x, p.y = -p.y, p.z = -p.z;
        const vec3 k = quat_log(p);
        ck_assert(fabs(l.x - k.x) + fabs(l.y - k.y) + fabs(l.z - k.z) < 1e-15);
    }
}
END_TEST

START_TEST(chart_coefficient)
{
    double worst = 0, worst_slope = 0;
    for (double t = 1e-3; t < 6; t *= 1.003) {
        const long double h = (long double)t / 2, T = (long double)t * t;
        const long double y = h * cosl(h) / sinl(h);
        long double c = (1 - y) / T, slope = -((y - y * y - T / 4) / (2 * T) + c) / T;
        if (t < 0.3) {  // the closed form loses digits
            static const long double k[] = {12, 720, 30240, 1209600, 47900160, 1307674368000.0L / 691, 74724249600.0L};
            c = slope = 0;
            for (int n = 6; n >= 0; n--) c = c * T + 1 / k[n];
            for (int n = 6; n > 0; n--) slope = slope * T + n / k[n];
        }
        double s;
        const double v = chart_c(t * t, &s);
        worst = worse(worst, (double)fabsl(v / c - 1));
        worst_slope = worse(worst_slope, (double)fabsl(s / slope - 1));
    }
    ck_assert_msg(worst < 3e-14, "c: %.3g", worst);
    ck_assert_msg(worst_slope < 3e-11, "slope: %.3g", worst_slope);
}
END_TEST

/// u' by the formula against a difference of log(exp(u) exp(w dt)).
START_TEST(chart_rate_of_turns)
{
    rng r = {6};
    for (int i = 0; i < 1000; i++) {
        double a[3], w[3];
        for (int k = 0; k < 3; k++) a[k] = rng_uniform(&r, -1.5, 1.5), w[k] = rng_uniform(&r, -1, 1);
        const double e = 1e-5;
        vec3 log[2];
        for (int s = 0; s < 2; s++) {
            const double d = s ? e : -e;
            log[s] = quat_log(quat_mul(quat_exp(vec(a[0], a[1], a[2])), quat_exp(vec(d * w[0], d * w[1], d * w[2]))));
        }
        const vec3 x = vec(a[0], a[1], a[2]), y = vec(w[0], w[1], w[2]), xy = cross(x, y);
        const vec3 z = add_scaled(add_scaled(y, xy, 0.5), cross(x, xy), chart_c(dot(x, x), NULL));
        const vec3 d = scale(sub(log[1], log[0]), 1 / (2 * e));
        ck_assert_msg(fabs(z.x - d.x) + fabs(z.y - d.y) + fabs(z.z - d.z) < 1e-8, "case %d", i);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trig");
    TCase *t = tcase_create("functions");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, sincos_reduced);
    tcase_add_test(t, sincos_whole_range);
    tcase_add_test(t, quarter_turns_are_exact);
    tcase_add_test(t, arc_tangent);
    tcase_add_test(t, exponential_and_logarithm);
    tcase_add_test(t, chart_coefficient);
    tcase_add_test(t, chart_rate_of_turns);
    suite_add_tcase(s, t);
    return run_suite(s);
}
