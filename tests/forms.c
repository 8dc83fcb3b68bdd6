/// The papers' forms: vector trees against brute force, every form against the serial engines and against long double, bits and
/// refusals.
#include "sim/forms/angles.h"
#include "sim/forms/fix.h"
#include "sim/base/lapack.h"
#include "sim/forms/star.h"
#include "tests/forms_cases.h"
#include "tests/drawn_tree.h"
#include "tests/golden.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double branchings[] = {1, 1.01, 1.5, 2, 8, BY_CHANCE, FOREST};
enum { BRANCHINGS = sizeof branchings / sizeof *branchings };
static const ctn_scan scans[] = {CTN_SCAN_SERIAL, CTN_SCAN_BLELLOCH, CTN_SCAN_BLOCKED, CTN_SCAN_SIMULATED, CTN_SCAN_PATHS};
static const char *const scan_names[] = {"serial", "blelloch", "blocked", "simulated", "paths"};
enum { SCANS = 5 };
static const ctn_forward forwards[] = {CTN_FORWARD_SERIAL, CTN_FORWARD_HYBRID, CTN_FORWARD_STAR, CTN_FORWARD_JSIIA};
static const char *const forward_names[] = {"serial", "hybrid", "star", "jsiia"};
enum { FORWARDS = 4, JSIIA = 3 };

static double draw_in(rng *r) { return rng_uniform(r, -1, 1); }
static v3 draw_v3(rng *r) { return (v3){draw_in(r), draw_in(r), draw_in(r)}; }
static vec6 draw_vec6(rng *r) { return (vec6){draw_v3(r), draw_v3(r)}; }
static se3 draw_se3(rng *r)
{
    double q[4];
    rng_quaternion(r, q);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    return (se3){{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                 {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                 {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
                 draw_v3(r)};
}
static double apart(const void *a, const void *b, size_t bytes) { return relative_error(a, b, (int)(bytes / sizeof(double))); }

START_TEST(operators_are_associative)
{
    FOR_SEEDS(seed, 200)
    {
        rng r = {seed};
        const recurrence a = {draw_se3(&r), draw_vec6(&r)}, b = {draw_se3(&r), draw_vec6(&r)}, c = {draw_se3(&r), draw_vec6(&r)};
        const recurrence left = recurrence_times(recurrence_times(a, b), c), right = recurrence_times(a, recurrence_times(b, c));
        ck_assert_msg(apart(&left, &right, sizeof left) < 1e-14, "seed %llu", (unsigned long long)seed);
        const recurrence none = recurrence_one(), undone = recurrence_times(a, recurrence_inverse(a)),
                         same = recurrence_times(recurrence_times(none, a), none);
        ck_assert_msg(apart(&undone, &none, sizeof none) < 1e-14, "seed %llu", (unsigned long long)seed);
        ck_assert(apart(&same, &a, sizeof a) == 0);
        const se3 home = se3_times(a.T, se3_inverse(a.T)), one = se3_one();
        ck_assert(apart(&home, &one, sizeof one) < 1e-14);

        // a pose takes points as its two parts do one after the other; motions and wrenches keep their power
        const v3 x = draw_v3(&r);
        const se3 ab = se3_times(a.T, b.T);
        const v3 inner = v3_add(b.T.p, se3_turn(&b.T, x)), outer = v3_add(a.T.p, se3_turn(&a.T, inner)),
                 at_once = v3_add(ab.p, se3_turn(&ab, x));
        ck_assert(apart(&outer, &at_once, sizeof outer) < 1e-14);
        const vec6 m = draw_vec6(&r), f = draw_vec6(&r), m_out = se3_motion_out(&a.T, m), f_out = se3_wrench_out(&a.T, f),
                   back = se3_motion_in(&a.T, m_out);
        ck_assert_double_eq_tol(vec6_dot(m, f), vec6_dot(m_out, f_out), 1e-14);
        ck_assert(apart(&back, &m, sizeof m) < 1e-14);

        // two masses together are their inertias' sum: against the kinetic energy of points
        const inertia I = inertia_add(inertia_about(2, draw_v3(&r), (sym33){1, 2, 3, 0.1, 0.2, 0.3}), inertia_zero()),
                      nothing = inertia_add(I, inertia_opposite(I));
        ck_assert(apart(&nothing, &(inertia){0}, sizeof nothing) == 0);
        const v3 at = draw_v3(&r), speed = v3_add(m.l, v3_cross(m.w, at));
        const inertia point = inertia_about(3, at, (sym33){0, 0, 0, 0, 0, 0});
        ck_assert_double_eq_tol(vec6_dot(m, inertia_times(&point, m)), 3 * v3_dot(speed, speed), 1e-13);
    }
}
END_TEST

START_TEST(angles_have_the_same_bits_with_and_without_fma)
{
    enum { n = 5000 };
    static double x[n], a[2][n], b[2][n];
    rng r = {9};
    for (int k = 0; k < n; k++) x[k] = rng_uniform(&r, -1, 1) * pow(10, rng_below(&r, 6));
    angles_plain(n, x, a[0], a[1]), angles_of(n, x, b[0], b[1]);
    ck_assert_int_eq(memcmp(a, b, sizeof a), 0);
    for (int k = 0; k < n; k++) MUST(fabs(a[0][k] - sin(x[k])) < 1e-15 && fabs(a[1][k] - cos(x[k])) < 1e-15);
}
END_TEST

/// Enters a link, then its children, the one with the largest subtree first, and leaves it.
typedef struct {
    const drawn_tree *t;
    int *lp, *rp, *size, step;
} walk;

static void walk_link(walk *w, int i)
{
    if (i >= 0) w->lp[i] = w->step++;
    int large = -1;
    for (int c = 0; c < w->t->n; c++)
        if (w->t->parent[c] == i && (large < 0 || w->size[c] > w->size[large])) large = c;
    if (large >= 0) walk_link(w, large);
    for (int c = 0; c < w->t->n; c++)
        if (w->t->parent[c] == i && c != large) walk_link(w, c);
    if (i >= 0) w->rp[i] = w->step++;
}

START_TEST(euler_tours_are_those_of_a_walk)
{
    static const int sizes[] = {1, 2, 3, 7, 100, 513, 1500};
    for (int s = 0; s < 7; s++) {
        const int n = sizes[s];
        drawn_tree d = draw_tree(5, n, branchings[_i]);
        walk w = {&d, malloc(4 * (size_t)n), malloc(4 * (size_t)n), calloc((size_t)n, 4), 0};
        for (int i = n - 1; i >= 0; i--) {
            w.size[i]++;
            if (d.parent[i] >= 0) w.size[d.parent[i]] += w.size[i];
        }
        walk_link(&w, -1);
        int *lp = malloc(4 * (size_t)n), *rp = malloc(4 * (size_t)n);
        for (int threads = 1; threads <= 3; threads += 2) {
            ctn_tree *t = drawn_forms(&d, threads);
            ck_assert_int_eq(ctn_tree_tour(t, lp, rp), CTN_OK);
            ck_assert_int_eq(memcmp(lp, w.lp, 4 * (size_t)n), 0);
            ck_assert_int_eq(memcmp(rp, w.rp, 4 * (size_t)n), 0);
            for (int i = 0; i < n; i++) {
                int depth = 1;
                for (int p = d.parent[i]; p >= 0; p = d.parent[p]) depth++;
                MUST(ctn_tree_depth(t, i) == depth);
                MUST(ctn_tree_parent(t, i) == d.parent[i]);
                const int k = t->place[i];
                MUST(t->given[k] == i && t->tour[tree_lp(t, k)] == k && t->tour[tree_rp(t, k)] == ~k);
            }
            // levels: a path hangs on one of the level before; every path is there once
            for (int l = 0, seen = 0; l < t->nlevel; l++)
                for (int b = t->level[l]; b < t->level[l + 1]; b++, seen++) {
                    const int top = t->path[t->by_level[b]], p = t->parent[top];
                    int light = 0;
                    for (int k = top; t->parent[k] >= 0; k = t->parent[k]) light += t->parent[k] != k - 1;
                    MUST(light == l);
                    MUST(p < 0 || p != top - 1);
                    if (l == t->nlevel - 1 && b == t->level[l + 1] - 1) MUST(seen == t->npath - 1);
                }
            ctn_tree_free(t);
        }
        free(lp), free(rp), free(w.lp), free(w.rp), free(w.size);
        drawn_free(&d);
    }
}
END_TEST

/// Sums of whole numbers, which no order of adding changes, against every link's own way to the world.
START_TEST(rootfix_and_leaffix_are_sums_over_ancestors_and_subtrees)
{
    static const int sizes[] = {1, 2, 65, 513, 1500};
    for (int s = 0; s < 5; s++) {
        const int n = sizes[s];
        const size_t N = (size_t)n;
        drawn_tree d = draw_tree((uint64_t)(50 + s), n, branchings[_i]);
        ctn_tree *t = drawn_forms(&d, 2);
        ctn_forms *f = ctn_forms_create(t, 2, NULL);
        double *x = nans(6 * N), *y = nans(6 * N), *up = calloc(6 * N, sizeof *up), *down = calloc(6 * N, sizeof *down);
        rng r = {3};
        for (size_t k = 0; k < 6 * N; k++) x[k] = rng_below(&r, 2001) - 1000;
        for (int i = 0; i < n; i++)
            for (int p = i; p >= 0; p = d.parent[p])
                for (int k = 0; k < 6; k++) up[6 * i + k] += x[6 * p + k], down[6 * p + k] += x[6 * i + k];
        for (int c = 0; c < SCANS; c++) {
            ck_assert_int_eq(ctn_forms_rootfix(f, scans[c], x, y, NULL), CTN_OK);
            for (size_t k = 0; k < 6 * N; k++) MUST(y[k] == up[k]);
            ck_assert_int_eq(ctn_forms_leaffix(f, scans[c], x, y, NULL), CTN_OK);
            for (size_t k = 0; k < 6 * N; k++) MUST(y[k] == down[k]);
        }
        free(x), free(y), free(up), free(down);
        ctn_forms_free(f), ctn_tree_free(t), drawn_free(&d);
    }
}
END_TEST

START_TEST(links_may_come_in_any_order)
{
    const int n = 3000;
    drawn_tree d = draw_tree(7, n, branchings[_i]), turned = draw_tree(7, n, branchings[_i]);
    int *to = malloc((size_t)n * sizeof *to);
    rng r = {17};
    for (int i = 0; i < n; i++) to[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = rng_below(&r, i + 1), swap = to[i];
        to[i] = to[k], to[k] = swap;
    }
    double *x[3], *y[3], *tau = nans((size_t)n), *other = nans((size_t)n), *moved = nans((size_t)n);
    for (int k = 0; k < 3; k++) x[k] = nans((size_t)n), y[k] = nans((size_t)n);
    draw_state(&d, &r, x[0], x[1], x[2]);
    for (int i = 0; i < n; i++) {
        turned.links[to[i]] = d.links[i];
        turned.parent[to[i]] = d.parent[i] < 0 ? -1 : to[d.parent[i]];
        for (int k = 0; k < 3; k++) y[k][to[i]] = x[k][i];
    }
    ctn_tree *trees[2] = {drawn_forms(&d, 2), drawn_forms(&turned, 2)};
    ctn_forms *f[2] = {ctn_forms_create(trees[0], 2, NULL), ctn_forms_create(trees[1], 2, NULL)};
    ck_assert_int_eq(ctn_forms_rnea(f[0], CTN_SCAN_SIMULATED, 1, x[0], x[1], x[2], tau, NULL), CTN_OK);
    ck_assert_int_eq(ctn_forms_rnea(f[1], CTN_SCAN_SIMULATED, 1, y[0], y[1], y[2], other, NULL), CTN_OK);
    for (int i = 0; i < n; i++) moved[i] = other[to[i]];
    ck_assert_msg(relative_error(moved, tau, n) < 1e-11, "%g", relative_error(moved, tau, n));
    for (int k = 0; k < 3; k++) free(x[k]), free(y[k]);
    for (int k = 0; k < 2; k++) ctn_forms_free(f[k]), ctn_tree_free(trees[k]);
    free(tau), free(other), free(moved), free(to);
    drawn_free(&d), drawn_free(&turned);
}
END_TEST

/// Sizes on both sides of blocks and of powers of two.
static const int sizes[] = {1, 2, 3, 31, 64, 129, 511, 512, 513, 1025, 10000};
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(inverse_dynamics_are_those_of_the_engine)
{
    const double branching = branchings[_i];
    for (int s = 0; s < SIZES; s++) {
        const int n = sizes[s];
        drawn_tree d = draw_tree((uint64_t)(100 + s), n, branching);
        ctn_model *m = drawn_model(&d);
        ctn_dynamics *dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_tree *trees[2] = {drawn_forms(&d, 2), ctn_tree_of_model(m, 2, NULL)};
        ck_assert(trees[1] != NULL);
        double *q = nans((size_t)n), *v = nans((size_t)n), *a = nans((size_t)n), *want = nans((size_t)n),
               *exact = nans((size_t)n);
        rng r = {(uint64_t)n};
        draw_state(&d, &r, q, v, a);
        ctn_rnea(dyn, 1, q, v, a, want);
        long_rnea(&d, q, v, a, exact);
        ck_assert(relative_error(want, exact, n) < 1e-10);
        for (int k = 0; k < 2; k++) {
            ctn_forms *f = ctn_forms_create(trees[k], 2, NULL);
            for (int o = 0; o < 2; o++)
                for (int c = 0; c < SCANS; c++) {
                    double *tau = nans((size_t)n);
                    ctn_forms_set_origin(f, o ? CTN_ORIGIN_CENTRE : CTN_ORIGIN_ROOT);
                    ck_assert_int_eq(ctn_forms_rnea(f, scans[c], 1, q, v, a, tau, NULL), CTN_OK);
                    const double error = relative_error(tau, want, n), from_exact = relative_error(tau, exact, n);
                    ck_assert_msg(error < 1e-9 && from_exact < 1e-9,
                                  "seed %d, branching %g, %d links, %s, tree %d: %.3g of the engine, %.3g of the truth", 100 + s,
                                  branching, n, scan_names[c], k, error, from_exact);
                    free(tau);
                }
            // twists are in axes that the tree has chosen: their lengths are the engine's
            double *twist = nans(6 * (size_t)n), *length = nans(2 * (size_t)n), *engines = nans(2 * (size_t)n);
            ctn_link_twists(dyn, 1, q, v, twist);
            for (int i = 0; i < 2 * n; i++) engines[i] = hypot(hypot(twist[3 * i], twist[3 * i + 1]), twist[3 * i + 2]);
            for (int c = 0; c < SCANS; c++) {
                ck_assert_int_eq(ctn_forms_twists(f, scans[c], q, v, twist, NULL), CTN_OK);
                for (int i = 0; i < 2 * n; i++) length[i] = hypot(hypot(twist[3 * i], twist[3 * i + 1]), twist[3 * i + 2]);
                ck_assert_msg(relative_error(length, engines, 2 * n) < 1e-11, "branching %g, %d links, %s: twists off by %.3g",
                              branching, n, scan_names[c], relative_error(length, engines, 2 * n));
            }
            free(twist), free(length), free(engines);
            ctn_forms_free(f);
            ctn_tree_free(trees[k]);
        }
        free(q), free(v), free(a), free(want), free(exact);
        ctn_dynamics_free(dyn), ctn_model_free(m), drawn_free(&d);
    }
}
END_TEST

/// Whether forms that need LAPACK are there; a test that lacks them says so.
static bool has_lapack(const char *test)
{
    ctn_error err;
    if (!lapack_find("jsiia", &err)) return true;
    printf("%s: skipped: %s\n", test, err.message);
    return false;
}

START_TEST(star_products_are_associative)
{
    FOR_SEEDS(seed, 100)
    {
        rng r = {seed};
        star s[3], joints[4];
        for (int k = 0; k < 3; k++) {  // stretches of a few joints
            s[k] = star_one();
            for (int i = 0; i < 3; i++) {
                const se3 T = draw_se3(&r);
                const joint_at j = {T.Z, draw_v3(&r), rng_below(&r, 2), draw_vec6(&r), draw_in(&r), 0.1};
                const inertia I = inertia_about(1 + rng_uniform(&r, 0, 1), draw_v3(&r), (sym33){2, 3, 4, 0.1, 0.2, 0.3});
                const port own = {.A = I.I,
                                  .C = {I.m, I.m, I.m, 0, 0, 0},
                                  .B = {{0, -I.h.z, I.h.y}, {I.h.z, 0, -I.h.x}, {-I.h.y, I.h.x, 0}},
                                  .p = draw_vec6(&r)};
                port_add(&s[k].P, &own);
                const pivot e = joint_pivot(&j, &s[k].P);
                if (k == 0) {  // the joint alone is a stretch, too: its product with the rest is the closed form
                    joints[i] = star_one();
                    port_add(&joints[i].P, &own);
                    const pivot alone = joint_pivot(&j, &joints[i].P);
                    star_joint(&j, &alone, &joints[i]);
                }
                star_joint(&j, &e, &s[k]);
            }
        }
        star whole = joints[0], left, right;
        for (int i = 1; i < 3; i++) ck_assert(star_product(&joints[i], &whole, &whole));
        ck_assert_msg(apart(&whole, &s[0], sizeof whole) < 1e-12, "seed %llu: %g", (unsigned long long)seed,
                      apart(&whole, &s[0], sizeof whole));
        ck_assert(star_product(&s[0], &s[1], &left) && star_product(&left, &s[2], &left));
        ck_assert(star_product(&s[1], &s[2], &right) && star_product(&s[0], &right, &right));
        ck_assert_msg(apart(&left, &right, sizeof left) < 1e-12, "seed %llu: %g", (unsigned long long)seed,
                      apart(&left, &right, sizeof left));
        const star one = star_one();
        star same;
        ck_assert(star_product(&one, &s[0], &same) && apart(&same, &s[0], sizeof same) < 1e-15);
        ck_assert(star_product(&s[0], &one, &same) && apart(&same, &s[0], sizeof same) < 1e-15);
        // a port behind is a stretch behind of which nobody asks what comes out
        port closed;
        ck_assert(star_close(&s[0], &right.P, &closed) && star_product(&s[0], &right, &same));
        ck_assert(apart(&closed, &same.P, sizeof closed) < 1e-13);
    }
}
END_TEST

START_TEST(forward_dynamics_are_those_of_the_engine)
{
    const double branching = branchings[_i];
    const bool lapack = has_lapack("forward_dynamics_are_those_of_the_engine");
    for (int s = 0; s < SIZES; s++) {
        const int n = sizes[s];
        drawn_tree d = draw_tree((uint64_t)(200 + s), n, branching);
        ctn_model *m = drawn_model(&d);
        ctn_dynamics *dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_tree *t = drawn_forms(&d, 2);
        ctn_forms *f = ctn_forms_create(t, 2, NULL);
        double *q = nans((size_t)n), *v = nans((size_t)n), *a = nans((size_t)n), *tau = nans((size_t)n), *want = nans((size_t)n);
        rng r = {(uint64_t)n};
        draw_state(&d, &r, q, v, a);
        long_rnea(&d, q, v, a, tau);  // so that the answer is a
        ctn_aba(dyn, 1, q, v, tau, want);
        double *serial = NULL;
        for (int c = 0; c < FORWARDS; c++) {
            if (c == JSIIA && (n > (_i ? 64 : 600) || !lapack)) continue;
            double *qdd = nans((size_t)n);
            ctn_error err = {0};
            ck_assert_msg(ctn_forms_forward(f, forwards[c], 1, q, v, tau, qdd, &err) == CTN_OK, "%s", err.message);
            const double error = relative_error(qdd, want, n), from_exact = relative_error(qdd, a, n),
                         engine = relative_error(want, a, n);
            if (getenv("CTN_PRINT"))
                printf("%g %d %s: %.2g of the engine, %.2g of the truth (engine %.2g)\n", branching, n, forward_names[c], error,
                       from_exact, engine);
            const double most = fmax(1e-9, 4 * engine);  // random chains may be hard: as far off as the engine is
            ck_assert_msg(error < most && from_exact < most,
                          "seed %d, branching %g, %d links, %s: %.3g of the engine, %.3g of the truth (engine %.3g)", 200 + s,
                          branching, n, forward_names[c], error, from_exact, engine);
            // chains that are cut were not left to the recursion, whose bits a fall-back would have
            if (forwards[c] == CTN_FORWARD_STAR && branching == 1 && n > 64) MUST(memcmp(qdd, serial, (size_t)n * sizeof *qdd));
            if (c == 0) serial = qdd;
            else free(qdd);
        }
        free(serial);
        ctn_forms_free(f), ctn_tree_free(t);
        free(q), free(v), free(a), free(tau), free(want);
        ctn_dynamics_free(dyn), ctn_model_free(m), drawn_free(&d);
    }
}
END_TEST

START_TEST(joint_space_inertias_are_those_of_the_engine)
{
    static const int few[] = {1, 2, 3, 31, 129, 513, 1025};
    const double branching = branchings[_i];
    for (int s = 0; s < 7; s++) {
        const int n = few[s];
        const size_t N = (size_t)n;
        drawn_tree d = draw_tree((uint64_t)(300 + s), n, branching);
        ctn_model *m = drawn_model(&d);
        ctn_dynamics *dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_tree *t = drawn_forms(&d, 2);
        ctn_forms *f = ctn_forms_create(t, 2, NULL);
        double *q = nans(N), *v = nans(N), *a = nans(N), *want = nans(N * N), *H = nans(N * N), *rows = nans(N * N);
        size_t *start = malloc((N + 1) * sizeof *start);
        rng r = {(uint64_t)n};
        draw_state(&d, &r, q, v, a);
        ctn_crba(dyn, 1, q, want);
        const size_t pairs = ctn_tree_pairs(t, start);
        ck_assert_uint_eq(pairs, start[n]);
        double *packed = nans(pairs);
        for (int c = 0; c < SCANS; c++) {
            ctn_forms_set_origin(f, c % 2 ? CTN_ORIGIN_CENTRE : CTN_ORIGIN_ROOT);
            ck_assert_int_eq(ctn_forms_crba(f, scans[c], q, H, NULL), CTN_OK);
            const double error = relative_error(H, want, n * n);
            ck_assert_msg(error < 1e-11, "seed %d, branching %g, %d links, %s: %.3g", 300 + s, branching, n, scan_names[c],
                          error);
            // rows in blocks, the last first, and pairs alone are the same numbers
            ck_assert_int_eq(ctn_forms_crba_begin(f, scans[c], q, NULL), CTN_OK);
            for (int end = n; end > 0; end -= 37) {
                const int first = end > 37 ? end - 37 : 0;
                ck_assert_int_eq(ctn_forms_crba_rows(f, first, end - first, rows + (size_t)first * N, NULL), CTN_OK);
            }
            ck_assert_int_eq(memcmp(rows, H, N * N * sizeof *H), 0);
            ck_assert_int_eq(ctn_forms_crba_packed(f, scans[c], q, packed, NULL), CTN_OK);
            memset(rows, 0, N * N * sizeof *rows);
            for (int i = 0; i < n; i++) {
                MUST(start[i + 1] - start[i] == (size_t)ctn_tree_depth(t, i));
                size_t at = start[i + 1];
                for (int j = i; j >= 0; j = ctn_tree_parent(t, j))
                    rows[(size_t)i * N + (size_t)j] = rows[(size_t)j * N + (size_t)i] = packed[--at];
            }
            ck_assert_int_eq(memcmp(rows, H, N * N * sizeof *H), 0);
        }
        ctn_forms_free(f), ctn_tree_free(t);
        free(q), free(v), free(a), free(want), free(H), free(rows), free(start), free(packed);
        ctn_dynamics_free(dyn), ctn_model_free(m), drawn_free(&d);
    }
}
END_TEST

/// Everything that forms compute of some states, one after the other.
static double *everything(const ctn_tree *t, int threads, const double *q, const double *v, const double *a, int count,
                          bool lapack, size_t *size)
{
    const size_t n = (size_t)ctn_tree_links(t), each = n * (size_t)count;
    ctn_forms *f = ctn_forms_create(t, threads, NULL);
    ck_assert(f != NULL);
    ck_assert_int_eq(ctn_forms_threads(f), threads);
    *size = (SCANS + FORWARDS) * each + SCANS * (6 * n + ctn_tree_pairs(t, NULL));
    double *const all = nans(*size), *at = all;
    for (int c = 0; c < SCANS; c++, at += each) ck_assert_int_eq(ctn_forms_rnea(f, scans[c], count, q, v, a, at, NULL), CTN_OK);
    for (int c = 0; c < FORWARDS; c++, at += each)
        if (c != JSIIA || lapack) ck_assert_int_eq(ctn_forms_forward(f, forwards[c], count, q, v, a, at, NULL), CTN_OK);
        else memset(at, 0, each * sizeof *at);
    for (int c = 0; c < SCANS; c++) {
        ck_assert_int_eq(ctn_forms_twists(f, scans[c], q, v, at, NULL), CTN_OK);
        at += 6 * n;
        ck_assert_int_eq(ctn_forms_crba_packed(f, scans[c], q, at, NULL), CTN_OK);
        at += ctn_tree_pairs(t, NULL);
    }
    ctn_forms_free(f);
    return all;
}

START_TEST(threads_change_no_bit)
{
    static const int ns[] = {5, 700, 1500};
    const bool lapack = has_lapack("threads_change_no_bit");
    for (int s = 0; s < 3; s++)
        for (int count = 1; count <= 9; count += 8) {  // all threads on a state, and a state a thread
            const int n = ns[s];
            drawn_tree d = draw_tree((uint64_t)(400 + s), n, branchings[_i]);
            const size_t each = (size_t)n * (size_t)count;
            double *q = nans(each), *v = nans(each), *a = nans(each);
            rng r = {11};
            for (int k = 0; k < count; k++)
                draw_state(&d, &r, q + (size_t)k * (size_t)n, v + (size_t)k * (size_t)n, a + (size_t)k * (size_t)n);
            double *first = NULL;
            size_t size;
            for (int threads = 1; threads <= 8; threads += n < 100 ? 1 : count > 1 || n > 700 ? 7 : 2) {
                ctn_tree *t = drawn_forms(&d, threads);
                double *all = everything(t, threads, q, v, a, count, lapack && n < 1000 && (n < 100 || _i == 0), &size);
                for (size_t k = 0; k < size; k++) MUST(isfinite(all[k]));
                if (!first) first = all;
                else {
                    ck_assert_msg(!memcmp(first, all, size * sizeof *all), "%d links, %d states: other bits with %d threads", n,
                                  count, threads);
                    free(all);
                }
                ctn_tree_free(t);
            }
            free(first), free(q), free(v), free(a), drawn_free(&d);
        }
}
END_TEST

/// Large trees against long double. CTN_LINKS=4000000 CTN_PRINT=1 shows how errors grow: docs/scans.md has these numbers.
START_TEST(large_trees_are_as_far_off_as_is_said)
{
    static const struct {
        const char *name;
        double branching, angles;  // rad: of joints; 0: all are straight, with parallel axes
        double simulated, paths;   // at most so far off at 100 000 links, of the largest torque
    } cases[] = {{"coiled chain", 1, 3, 2e-12, 2e-12},
                 {"straight chain", 1, 1e-6, 2e-12, 2e-12},
                 {"branching 1.01", 1.01, 3, 2e-12, 2e-13},
                 {"branching 2", 2, 3, 3e-12, 1e-14},
                 {"by chance", BY_CHANCE, 3, 1e-12, 1e-14}};
    const int n = getenv("CTN_LINKS") ? atoi(getenv("CTN_LINKS")) : 100000;
    const uint64_t seed = cases[_i].angles < 1 ? 0 : 3;
    drawn_tree d = draw_cylinders(n, cases[_i].branching, seed);
    ctn_tree *t = ctn_tree_generate(n, cases[_i].branching, seed, 2, NULL);
    ctn_forms *f = ctn_forms_create(t, 2, NULL);
    double *q = nans((size_t)n), *v = nans((size_t)n), *a = nans((size_t)n), *want = nans((size_t)n), *tau = nans((size_t)n);
    rng r = {5};
    draw_state(&d, &r, q, v, a);
    for (int i = 0; i < n; i++) q[i] *= cases[_i].angles / 3;
    long_rnea(&d, q, v, a, want);
    if (getenv("CTN_PRINT")) printf("%s, %d links:", cases[_i].name, n);
    for (int c = 1; c < 6; c++) {  // all but the recursion, simulated about both origins
        ctn_forms_set_origin(f, c == 5 ? CTN_ORIGIN_CENTRE : CTN_ORIGIN_ROOT);
        const ctn_scan scan = c == 5 ? CTN_SCAN_SIMULATED : scans[c];
        ck_assert_int_eq(ctn_forms_rnea(f, scan, 1, q, v, a, tau, NULL), CTN_OK);
        const double error = relative_error(tau, want, n), most = scan == CTN_SCAN_PATHS ? cases[_i].paths : cases[_i].simulated;
        double own = 0;  // of each torque itself, where that is more than 1 N m
        for (int i = 0; i < n; i++) own = fmax(own, fabs(tau[i] - want[i]) / (fabs(want[i]) + 1));
        if (getenv("CTN_PRINT"))
            printf("  %s%s %.1e (own %.0e)", scan_names[scan], c == 5 ? " about the centre" : "", error, own);
        if (n <= 100000) ck_assert_msg(error < most, "%s, %s: %.3g", cases[_i].name, scan_names[scan], error);
    }
    if (getenv("CTN_PRINT")) printf("\n");
    ctn_forms_free(f), ctn_tree_free(t), drawn_free(&d);
    free(q), free(v), free(a), free(want), free(tau);
}
END_TEST

/// What a call says when it refuses.
#define REFUSES(code, text, call)                                                                                                \
    do {                                                                                                                         \
        ctn_error err = {0};                                                                                                     \
        call;                                                                                                                    \
        ck_assert_msg(err.status == (code) && strstr(err.message, text), "status %d: '%s' has no '%s'", (int)err.status,         \
                      err.message, text);                                                                                        \
    } while (0)

START_TEST(what_cannot_be_is_refused)
{
    enum { n = 5 };
    drawn_tree d = draw_tree(1, n, 1);
    int *const p = d.parent;
#define TREE ck_assert(ctn_tree_create(n, p, n, d.links, d.gravity, 1, &err) == NULL)
    p[3] = 5;
    REFUSES(CTN_BAD_ARGUMENT, "link 3: its parent is 5", TREE);
    p[3] = -2;
    REFUSES(CTN_BAD_ARGUMENT, "link 3: its parent is -2", TREE);
    p[3] = 3;
    REFUSES(CTN_BAD_ARGUMENT, "link 3: its parent is 3", TREE);
    p[3] = 2, p[2] = 4, p[4] = 3;
    REFUSES(CTN_BAD_ARGUMENT, "link 2: its parent is link 4, and so on in a circle of 3 links", TREE);
    p[0] = 1, p[1] = 0, p[2] = 1, p[3] = 2, p[4] = 3;
    REFUSES(CTN_BAD_ARGUMENT, "link 0: its parent is link 1, and so on in a circle of 2 links", TREE);
    p[0] = -1, p[1] = 0;
    const ctn_tree_link good = d.links[2];
    ctn_tree_link *const l = &d.links[2];
#define SPOILT(change, code, text)                                                                                               \
    do {                                                                                                                         \
        change;                                                                                                                  \
        REFUSES(code, text, TREE);                                                                                               \
        *l = good;                                                                                                               \
    } while (0)
    SPOILT(l->mass = 0, CTN_BAD_ARGUMENT, "link 2: mass");
    SPOILT(l->mass = -1, CTN_BAD_ARGUMENT, "link 2: mass");
    SPOILT(l->mass = NAN, CTN_BAD_ARGUMENT, "link 2: mass");
    SPOILT(l->joint = CTN_HELICAL, CTN_UNAVAILABLE, "link 2: joint: trees have revolute and prismatic joints, found helical");
    SPOILT(l->joint = CTN_BALL, CTN_UNAVAILABLE, "found ball");
    SPOILT(l->joint = (ctn_joint_type)77, CTN_UNAVAILABLE, "found none that is known");
    SPOILT(l->R[0] += 1e-6, CTN_BAD_ARGUMENT, "link 2: R");
    SPOILT((l->R[0] = -l->R[0], l->R[3] = -l->R[3], l->R[6] = -l->R[6]), CTN_BAD_ARGUMENT, "link 2: R");
    SPOILT(l->p[1] = INFINITY, CTN_BAD_ARGUMENT, "link 2: p");
    SPOILT(l->axis[0] = l->axis[1] = l->axis[2] = 0, CTN_BAD_ARGUMENT, "link 2: axis");
    SPOILT(l->com[1] = NAN, CTN_BAD_ARGUMENT, "link 2: com");
    SPOILT((l->inertia[0] = 1, l->inertia[1] = 1, l->inertia[2] = 2.01), CTN_BAD_ARGUMENT, "link 2: inertia");
    SPOILT(l->inertia[3] = 1, CTN_BAD_ARGUMENT, "link 2: inertia");
    SPOILT(l->inertia[0] = -1, CTN_BAD_ARGUMENT, "link 2: inertia");
    SPOILT(l->armature = -1e-9, CTN_BAD_ARGUMENT, "link 2: armature");
    REFUSES(CTN_BAD_ARGUMENT, "n: expected 1 to 4194304", ck_assert(!ctn_tree_create(0, p, 1, l, d.gravity, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "n: expected 1 to 4194304",
            ck_assert(!ctn_tree_create(CTN_TREE_MAX_LINKS + 1, p, 1, l, d.gravity, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "records: expected 5", ck_assert(!ctn_tree_create(n, p, 2, l, d.gravity, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "threads: expected 0", ck_assert(!ctn_tree_create(n, p, 1, l, d.gravity, -1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "gravity", ck_assert(!ctn_tree_create(n, p, 1, l, (double[]){0, NAN, 0}, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "parent", ck_assert(!ctn_tree_create(n, NULL, 1, l, d.gravity, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "branching", ck_assert(!ctn_tree_generate(n, 0.5, 1, 1, &err)));
    REFUSES(CTN_BAD_ARGUMENT, "branching", ck_assert(!ctn_tree_generate(n, NAN, 1, 1, &err)));

    ctn_tree *t = drawn_forms(&d, 1);
    REFUSES(CTN_BAD_ARGUMENT, "threads", ck_assert(!ctn_forms_create(t, 1025, &err)));
    ctn_forms *f = ctn_forms_create(t, 1, NULL);
    double x[n] = {0}, H[n * n];
    REFUSES(CTN_BAD_ARGUMENT, "scan: expected", ctn_forms_rnea(f, (ctn_scan)9, 1, x, x, x, H, &err));
    REFUSES(CTN_BAD_ARGUMENT, "form: expected", ctn_forms_forward(f, (ctn_forward)9, 1, x, x, x, H, &err));
    REFUSES(CTN_BAD_ARGUMENT, "tau", ctn_forms_rnea(f, CTN_SCAN_BLOCKED, 1, x, x, x, NULL, &err));
    REFUSES(CTN_BAD_ARGUMENT, "ctn_forms_crba_begin first", ctn_forms_crba_rows(f, 0, 1, H, &err));
    ck_assert_int_eq(ctn_forms_crba_begin(f, CTN_SCAN_PATHS, x, NULL), CTN_OK);
    REFUSES(CTN_BAD_ARGUMENT, "rows 4 and on, 2 of them", ctn_forms_crba_rows(f, 4, 2, H, &err));
    REFUSES(CTN_BAD_ARGUMENT, "rows -1 and on", ctn_forms_crba_rows(f, -1, 2, H, &err));
    ck_assert_int_eq(ctn_forms_set_limit(f, 8 * n * n - 1), CTN_OK);
    REFUSES(CTN_BAD_ARGUMENT, "the matrix of 5 links has 200 bytes", ctn_forms_crba(f, CTN_SCAN_PATHS, x, H, &err));
    if (has_lapack("what_cannot_be_is_refused"))
        REFUSES(CTN_BAD_ARGUMENT, "the matrix of 5 links has 200 bytes",
                ctn_forms_forward(f, CTN_FORWARD_JSIIA, 1, x, x, x, H, &err));
    ck_assert_int_eq(ctn_forms_set_origin(f, (ctn_origin)3), CTN_BAD_ARGUMENT);
    ck_assert(ctn_tree_parent(t, n) == -2 && ctn_tree_depth(t, n) == 0 && ctn_tree_links(NULL) == 0);
    ctn_forms_free(f), ctn_tree_free(t);
    ctn_forms_free(NULL), ctn_tree_free(NULL);

    // a point on the axis of the last joint: no form can say how it turns
    d.links[n - 1].joint = CTN_REVOLUTE, d.links[n - 1].armature = 0;
    memset(d.links[n - 1].inertia, 0, sizeof d.links->inertia);
    memset(d.links[n - 1].com, 0, sizeof d.links->com);
    t = drawn_forms(&d, 1), f = ctn_forms_create(t, 1, NULL);
    const bool lapack = has_lapack("what_cannot_be_is_refused");
    for (int c = 0; c < FORWARDS; c++)
        if (c != JSIIA || lapack)
            REFUSES(CTN_BAD_ARGUMENT, "link 4: no inertia against its joint",
                    ctn_forms_forward(f, forwards[c], 1, x, x, x, H, &err));
    ctn_forms_free(f), ctn_tree_free(t);
    drawn_free(&d);

    ctn_model *ball =
        model_of("catena: 1\nlinks:\n  - name: it\n    joint: ball\n    mass: 1\n    inertia: [1, 1, 1, 0, 0, 0]\n");
    REFUSES(CTN_UNAVAILABLE, "link 0, 'it': joint", ck_assert(!ctn_tree_of_model(ball, 1, &err)));
    ctn_model_free(ball);
}
END_TEST

START_TEST(without_lapack_jsiia_says_so)
{
    setenv("CTN_LAPACK_LIBRARY", "/nowhere/liblapack.so", 1);
    ctn_tree *t = ctn_tree_generate(3, 1, 1, 1, NULL);
    ctn_forms *f = ctn_forms_create(t, 1, NULL);
    double x[3] = {0}, qdd[3];
    ctn_error err = {0};
    const ctn_status status = ctn_forms_forward(f, CTN_FORWARD_JSIIA, 1, x, x, x, qdd, &err);
    if (getenv("CK_FORK") && !strcmp(getenv("CK_FORK"), "no")) ck_assert(status == CTN_OK || status == CTN_UNAVAILABLE);
    else ck_assert_msg(status == CTN_UNAVAILABLE && strstr(err.message, "/nowhere/liblapack.so"), "%s", err.message);
    ctn_forms_free(f), ctn_tree_free(t);
}
END_TEST

START_TEST(without_a_gpu_forms_on_one_say_so)
{
    setenv("CTN_CUDA_LIBRARY", "/nowhere/libcatena-cuda.so", 1);
    ctn_tree *t = ctn_tree_generate(3, 1, 1, 1, NULL);
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_forms_create_on(t, "cuda", &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "engine: 'cuda' cannot be opened: CTN_CUDA_LIBRARY: /nowhere/libcatena-cuda.so") &&
                      strstr(err.message, "forms on threads are made by ctn_forms_create"),
                  "%s", err.message);
    ctn_tree_free(t);
}
END_TEST

/// Cuts behind links that have no inertia about their axes by themselves, or next to none, but have with what follows: products
/// would lose digits, and the recursion is taken instead. Where they have enough, it is not.
START_TEST(stars_fall_back_where_a_cut_is_bad)
{
    static const double coms[] = {0, 1e-6, 1e-5, 0.1};  // m, from the axis
    const int n = 256;
    drawn_tree d = draw_tree(8, n, 1);
    double *x[3], *tau = nans((size_t)n), *a[2] = {nans((size_t)n), nans((size_t)n)};
    for (int k = 0; k < 3; k++) x[k] = nans((size_t)n);
    for (int i = 0; i < n; i++) {
        d.links[i].joint = CTN_REVOLUTE;
        if (i % 64 != 63) continue;
        memset(d.links[i].inertia, 0, sizeof d.links->inertia), memset(d.links[i].com, 0, sizeof d.links->com);
        memcpy(d.links[i].axis, (double[]){0, 0, 1}, sizeof d.links->axis);
        d.links[i].com[0] = coms[_i];
        d.links[i].armature = 0;
    }
    d.links[n - 1].armature = 0.1;
    rng r = {2};
    draw_state(&d, &r, x[0], x[1], x[2]);
    long_rnea(&d, x[0], x[1], x[2], tau);
    ctn_tree *t = drawn_forms(&d, 2);
    ctn_forms *f = ctn_forms_create(t, 2, NULL);
    ck_assert_int_eq(ctn_forms_forward(f, CTN_FORWARD_SERIAL, 1, x[0], x[1], tau, a[0], NULL), CTN_OK);
    ck_assert_int_eq(ctn_forms_forward(f, CTN_FORWARD_STAR, 1, x[0], x[1], tau, a[1], NULL), CTN_OK);
    ck_assert_msg((memcmp(a[0], a[1], (size_t)n * sizeof *tau) == 0) == (coms[_i] < 0.01), "com %g m off the axis", coms[_i]);
    const double error = relative_error(a[1], x[2], n), serial = relative_error(a[0], x[2], n);
    ck_assert_msg(error < fmax(1e-9, 50 * serial), "com %g m off the axis: %.3g of the truth, the recursion %.3g", coms[_i],
                  error, serial);
    for (int k = 0; k < 3; k++) free(x[k]);
    free(tau), free(a[0]), free(a[1]);
    ctn_forms_free(f), ctn_tree_free(t), drawn_free(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("forms");
    TCase *c = tcase_create("forms");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, operators_are_associative);
    tcase_add_test(c, angles_have_the_same_bits_with_and_without_fma);
    tcase_add_loop_test(c, euler_tours_are_those_of_a_walk, 0, BRANCHINGS);
    tcase_add_loop_test(c, rootfix_and_leaffix_are_sums_over_ancestors_and_subtrees, 0, BRANCHINGS);
    tcase_add_loop_test(c, links_may_come_in_any_order, 0, BRANCHINGS);
    tcase_add_loop_test(c, inverse_dynamics_are_those_of_the_engine, 0, BRANCHINGS);
    tcase_add_test(c, star_products_are_associative);
    tcase_add_loop_test(c, forward_dynamics_are_those_of_the_engine, 0, BRANCHINGS);
    tcase_add_loop_test(c, joint_space_inertias_are_those_of_the_engine, 0, BRANCHINGS);
    tcase_add_loop_test(c, threads_change_no_bit, 0, BRANCHINGS);
    tcase_add_loop_test(c, large_trees_are_as_far_off_as_is_said, 0, 5);
    tcase_add_test(c, what_cannot_be_is_refused);
    tcase_add_test(c, without_lapack_jsiia_says_so);
    tcase_add_test(c, without_a_gpu_forms_on_one_say_so);
    tcase_add_loop_test(c, stars_fall_back_where_a_cut_is_bad, 0, 4);
    suite_add_tcase(s, c);
    return run_suite(s);
}
