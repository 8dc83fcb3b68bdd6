/// The papers' forms on the engine "cuda": those of the CPU up to the order of sums, on a GPU or, where CTN_CUDA_LIBRARY names
/// it, through its twin (tests/forms_twin.cpp); what is refused, and a device that fails.
#include "sim/engine/device.h"
#include "tests/forms_cases.h"
#include "tests/drawn_tree.h"
#include "tests/golden.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double branchings[] = {1, 1.01, 1.5, 2, 8, BY_CHANCE, FOREST};
enum { BRANCHINGS = sizeof branchings / sizeof *branchings };

/// On both sides of one tile, of one tile of tiles.
static const int sizes[] = {1, 2, 7, 128, 129, 256, 257, 300, 513, 1025, 10000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/// Forms of a tree here and on the device.
typedef struct {
    drawn_tree drawn;
    ctn_tree *tree;
    ctn_forms *here, *there;
} pair;

static pair pair_of(uint64_t seed, int n, double branching)
{
    ctn_error err;
    pair p = {.drawn = draw_tree(seed, n, branching)};
    p.tree = drawn_forms(&p.drawn, 2);
    p.here = ctn_forms_create(p.tree, 1, &err), p.there = ctn_forms_create_on(p.tree, "cuda", &err);
    ck_assert_msg(p.here && p.there, "%s", err.message);
    return p;
}
static void pair_free(pair *p)
{
    ctn_forms_free(p->here), ctn_forms_free(p->there);
    ctn_tree_free(p->tree), drawn_free(&p->drawn);
}

/// Sums of whole numbers, which no order of adding changes.
START_TEST(rootfix_and_leaffix_are_those_of_the_cpu)
{
    for (int s = 0; s < SIZES; s++) {
        const size_t n = (size_t)sizes[s];
        pair p = pair_of((uint64_t)(50 + s), sizes[s], branchings[_i]);
        double *x = nans(6 * n), *got = nans(6 * n), *want = nans(6 * n);
        rng r = {3};
        for (size_t k = 0; k < 6 * n; k++) x[k] = rng_below(&r, 2001) - 1000;
        ck_assert(ctn_forms_rootfix(p.here, CTN_SCAN_SERIAL, x, want, NULL) == CTN_OK);
        ck_assert(ctn_forms_rootfix(p.there, CTN_SCAN_SIMULATED, x, got, NULL) == CTN_OK);
        for (size_t k = 0; k < 6 * n; k++) MUST(got[k] == want[k]);
        ck_assert(ctn_forms_leaffix(p.here, CTN_SCAN_SERIAL, x, want, NULL) == CTN_OK);
        ck_assert(ctn_forms_leaffix(p.there, CTN_SCAN_SIMULATED, x, got, NULL) == CTN_OK);
        for (size_t k = 0; k < 6 * n; k++) MUST(got[k] == want[k]);
        free(x), free(got), free(want);
        pair_free(&p);
    }
}
END_TEST

START_TEST(inverse_dynamics_are_those_of_the_cpu)
{
    for (int s = 0; s < SIZES; s++) {
        const int n = sizes[s];
        const size_t N = (size_t)n;
        pair p = pair_of((uint64_t)(100 + s), n, branchings[_i]);
        double *q = nans(N), *v = nans(N), *a = nans(N), *got = nans(6 * N), *want = nans(6 * N), *exact = nans(N);
        rng r = {(uint64_t)n};
        draw_state(&p.drawn, &r, q, v, a);
        long_rnea(&p.drawn, q, v, a, exact);
        for (int o = 0; o < 2; o++) {
            const ctn_origin origin = o ? CTN_ORIGIN_CENTRE : CTN_ORIGIN_ROOT;
            ctn_forms_set_origin(p.here, origin), ctn_forms_set_origin(p.there, origin);
            ck_assert(ctn_forms_rnea(p.here, CTN_SCAN_SIMULATED, 1, q, v, a, want, NULL) == CTN_OK);
            ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, q, v, a, got, NULL) == CTN_OK);
            const double here = relative_error(want, exact, n), there = relative_error(got, exact, n);
            ck_assert_msg(there < 1e-13 * (n > 1000 ? n / 100 : 10) && there < 20 * here + 1e-15,
                          "seed %d, branching %g, %d links: %.3g of the truth, the CPU %.3g", 100 + s, branchings[_i], n, there,
                          here);
            ck_assert(ctn_forms_twists(p.here, CTN_SCAN_SIMULATED, q, v, want, NULL) == CTN_OK);
            ck_assert(ctn_forms_twists(p.there, CTN_SCAN_SIMULATED, q, v, got, NULL) == CTN_OK);
            ck_assert_msg(relative_error(got, want, 6 * n) < 1e-12, "%d links: twists off by %.3g", n,
                          relative_error(got, want, 6 * n));
        }
        free(q), free(v), free(a), free(got), free(want), free(exact);
        pair_free(&p);
    }
}
END_TEST

/// Whole, and by rows in any order; the same after other calls.
START_TEST(inertias_are_those_of_the_cpu)
{
    for (int s = 0; s < SIZES && sizes[s] <= 1025; s++) {
        const int n = sizes[s];
        const size_t N = (size_t)n;
        pair p = pair_of((uint64_t)(300 + s), n, branchings[_i]);
        double *q = nans(N), *v = nans(N), *a = nans(N), *want = nans(N * N), *got = nans(N * N), *rows = nans(N * N);
        rng r = {(uint64_t)n};
        draw_state(&p.drawn, &r, q, v, a);
        ck_assert(ctn_forms_crba(p.here, CTN_SCAN_SERIAL, q, want, NULL) == CTN_OK);
        ck_assert(ctn_forms_crba(p.there, CTN_SCAN_SIMULATED, q, got, NULL) == CTN_OK);
        ck_assert_msg(relative_error(got, want, n * n) < 1e-11, "seed %d, branching %g, %d links: off by %.3g", 300 + s,
                      branchings[_i], n, relative_error(got, want, n * n));
        for (size_t k = 0; k < N * N; k++) MUST((got[k] == 0) == (want[k] == 0));
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < i; j++) MUST(got[i * N + j] == got[j * N + i]);
        ck_assert(ctn_forms_crba_begin(p.there, CTN_SCAN_SIMULATED, q, NULL) == CTN_OK);
        ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, a, v, q, rows, NULL) == CTN_OK);
        for (int first = (n - 1) / 37 * 37; first >= 0; first -= 37) {
            const int count = n - first < 37 ? n - first : 37;
            ck_assert(ctn_forms_crba_rows(p.there, first, count, rows + (size_t)first * N, NULL) == CTN_OK);
        }
        MUST(!memcmp(rows, got, N * N * sizeof *got));
        ck_assert(ctn_forms_crba_rows(p.there, n, 0, rows, NULL) == CTN_OK);
        free(q), free(v), free(a), free(want), free(got), free(rows);
        pair_free(&p);
    }
}
END_TEST

/// Against the acceleration that the forces are of, and the serial form. JSIIA of 1300 links has columns in two groups.
START_TEST(forward_dynamics_are_those_of_the_cpu)
{
    static const int links[] = {1, 2, 31, 64, 65, 129, 513, 1300, 10000};
    for (int s = 0; s < 9; s++) {
        const int n = links[s], count = n < 600 ? 3 : 1;
        const size_t N = (size_t)n, all = N * (size_t)count;
        pair p = pair_of((uint64_t)(200 + s), n, branchings[_i]);
        double *q = nans(all), *v = nans(all), *a = nans(all), *tau = nans(all), *want = nans(all), *one = nans(N);
        rng r = {(uint64_t)n};
        for (size_t at = 0; at < all; at += N) {
            draw_state(&p.drawn, &r, q + at, v + at, a + at);
            long_rnea(&p.drawn, q + at, v + at, a + at, tau + at);
        }
        if (s % 2) ctn_forms_set_origin(p.there, CTN_ORIGIN_CENTRE);
        ck_assert(ctn_forms_forward(p.here, CTN_FORWARD_SERIAL, count, q, v, tau, want, NULL) == CTN_OK);
        for (int star = 0; star < 2; star++) {
            if (!star && n > (_i ? 600 : 1300)) continue;
            ctn_error err = {0};
            const ctn_forward form = star ? CTN_FORWARD_STAR : CTN_FORWARD_JSIIA;
            double *const got = nans(all);
            ck_assert_msg(ctn_forms_forward(p.there, form, count, q, v, tau, got, &err) == CTN_OK, "%s", err.message);
            for (size_t at = 0; at < all; at += N) {
                const double here = relative_error(want + at, a + at, n), there = relative_error(got + at, a + at, n);
                // on bushy trees torques of JSIIA's bias near tips are differences of large sums; scans of the tour lose with n
                const double most = star || !_i ? 1e-11 * fmax(1, n / 1000.) : 1e-9;
                ck_assert_msg(there < fmax(most, 10 * here),
                              "seed %d, branching %g, %d links, %s: %.3g of the truth, the CPU %.3g", 200 + s, branchings[_i], n,
                              star ? "star" : "jsiia", there, here);
                ck_assert(ctn_forms_forward(p.there, form, 1, q + at, v + at, tau + at, one, NULL) == CTN_OK);
                MUST(!memcmp(one, got + at, N * sizeof *one));
                if (star) MUST(memcmp(one, want + at, N * sizeof *one) || n < 31);  // not by the recursion
            }
            free(got);
        }
        free(q), free(v), free(a), free(tau), free(want), free(one);
        pair_free(&p);
    }
}
END_TEST

/// A cut behind a link without inertia about its axis by itself: that state is left to the recursion here, the others are not.
START_TEST(stars_fall_back_where_a_cut_is_bad)
{
    const int n = 48;
    drawn_tree d = draw_tree(8, n, 1);
    double q[3 * 48], v[3 * 48], tau[3 * 48], got[3 * 48], want[3 * 48];
    for (int i = 15; i < n; i += 16) {
        d.links[i].joint = CTN_REVOLUTE, d.links[i].armature = i == n - 1 ? 0.1 : 0;
        memset(d.links[i].inertia, 0, sizeof d.links->inertia), memset(d.links[i].com, 0, sizeof d.links->com);
    }
    rng r = {2};
    for (int k = 0; k < 3; k++) draw_state(&d, &r, q + k * n, v + k * n, tau + k * n);
    ctn_tree *t = drawn_forms(&d, 1);
    ctn_forms *here = ctn_forms_create(t, 1, NULL), *there = ctn_forms_create_on(t, "cuda", NULL);
    ck_assert_int_eq(ctn_forms_forward(here, CTN_FORWARD_SERIAL, 3, q, v, tau, want, NULL), CTN_OK);
    ck_assert_int_eq(ctn_forms_forward(there, CTN_FORWARD_STAR, 3, q, v, tau, got, NULL), CTN_OK);
    ck_assert(!memcmp(got, want, sizeof got));
    ctn_forms_free(here), ctn_forms_free(there), ctn_tree_free(t), drawn_free(&d);
}
END_TEST

/// A point on the axis of the last joint, alone among several states and sizes of matrices.
START_TEST(joints_without_inertia_are_named)
{
    enum { MOST = 70 };
    for (int n = 2; n <= MOST; n += MOST - 2) {
        ctn_error err;
        int parent[MOST];
        ctn_tree_link links[MOST];
        double x[3 * MOST] = {0}, qdd[3 * MOST];
        const double down[] = {0, 0, -9.81};
        for (int i = 0; i < n; i++) {
            parent[i] = i - 1;
            links[i] = (ctn_tree_link){
                .joint = CTN_PRISMATIC, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .axis = {1, 0, 0}, .mass = 1, .armature = 1};
        }
        links[n - 1].joint = CTN_REVOLUTE, links[n - 1].armature = 0;
        ctn_tree *t = ctn_tree_create(n, parent, n, links, down, 1, &err);
        ctn_forms *f = ctn_forms_create_on(t, "cuda", &err);
        ck_assert_msg(f != NULL, "%s", err.message);
        char want[64];
        snprintf(want, sizeof want, "link %d: no inertia against its joint", n - 1);
        for (int star = 0; star < 2; star++) {
            const ctn_forward form = star ? CTN_FORWARD_STAR : CTN_FORWARD_JSIIA;
            ck_assert_int_eq(ctn_forms_forward(f, form, 3, x, x, x, qdd, &err), CTN_BAD_ARGUMENT);
            ck_assert_msg(strstr(err.message, want), "%s", err.message);
        }
        ctn_forms_free(f), ctn_tree_free(t);
    }
}
END_TEST

/// More states than are done at once, the bits of each alone.
START_TEST(states_have_the_bits_of_single_ones)
{
    const int n = _i ? 7 : 1300, count = _i ? 200000 : 820;
    const size_t N = (size_t)n, all = N * (size_t)count;
    pair p = pair_of(11, n, _i ? 2 : BY_CHANCE);
    double *x = nans(4 * all), *q = x, *v = q + all, *a = v + all, *tau = a + all, *one = nans(N);
    rng r = {5};
    for (int k = 0; k < count; k++) draw_state(&p.drawn, &r, q + (size_t)k * N, v + (size_t)k * N, a + (size_t)k * N);
    ctn_forms_set_origin(p.there, CTN_ORIGIN_CENTRE);
    ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, count, q, v, a, tau, NULL) == CTN_OK);
    for (int k = 0; k < count; k += count / 60) {
        const size_t at = (size_t)k * N;
        ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, q + at, v + at, a + at, one, NULL) == CTN_OK);
        MUST(!memcmp(one, tau + at, N * sizeof *one));
    }
    const size_t last = all - N;
    ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, q + last, v + last, a + last, one, NULL) == CTN_OK);
    MUST(!memcmp(one, tau + last, N * sizeof *one));
    ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 0, q, v, a, tau, NULL) == CTN_OK);
    free(x), free(one);
    pair_free(&p);
}
END_TEST

START_TEST(what_it_has_not_is_refused)
{
    ctn_error err;
    pair p = pair_of(3, 40, 2);
    double x[240] = {0}, y[40 * 40];
    for (int scan = CTN_SCAN_SERIAL; scan <= CTN_SCAN_PATHS; scan++) {
        const ctn_status want = scan == CTN_SCAN_SIMULATED ? CTN_OK : CTN_UNAVAILABLE;
        ck_assert_int_eq(ctn_forms_rootfix(p.there, (ctn_scan)scan, x, y, &err), want);
        ck_assert_int_eq(ctn_forms_leaffix(p.there, (ctn_scan)scan, x, y, &err), want);
        ck_assert_int_eq(ctn_forms_twists(p.there, (ctn_scan)scan, x, x, y, &err), want);
        ck_assert_int_eq(ctn_forms_rnea(p.there, (ctn_scan)scan, 1, x, x, x, y, &err), want);
    }
    ck_assert_int_eq(ctn_forms_rnea(p.there, CTN_SCAN_PATHS, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "ctn_forms_rnea: this form is not on a device"), "%s", err.message);
    ck_assert_int_eq(ctn_forms_forward(p.there, CTN_FORWARD_SERIAL, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_forward(p.there, CTN_FORWARD_HYBRID, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_crba_packed(p.there, CTN_SCAN_SIMULATED, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_crba_rows(p.there, 0, 1, y, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_forms_crba_begin(p.there, CTN_SCAN_PATHS, x, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_set_limit(p.there, 8 * 40 * 40 - 1), CTN_OK);
    ck_assert_int_eq(ctn_forms_crba(p.there, CTN_SCAN_SIMULATED, x, y, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_forms_forward(p.there, CTN_FORWARD_JSIIA, 1, x, x, x, y, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "the matrix of 40 links has 12800 bytes"), "%s", err.message);

    ck_assert_ptr_null(ctn_forms_create_on(NULL, "cuda", &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(ctn_forms_create_on(p.tree, NULL, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(ctn_forms_create_on(p.tree, "avx2", &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "engine: expected 'cuda', found 'avx2'"), "%s", err.message);
    if (!device_missing("cuda-float")) {
        ck_assert_ptr_null(ctn_forms_create_on(p.tree, "cuda-float", &err));
        ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
        ck_assert_msg(strstr(err.message, "'cuda-float' has no forms"), "%s", err.message);
    }
    pair_free(&p);
}
END_TEST

START_TEST(memory_on_the_device_is_counted)
{
    pair p = pair_of(4, 1000, 1);
    double *x = calloc(6000, sizeof *x), *y = calloc(6000, sizeof *y);
    const size_t tree = ctn_forms_bytes(p.there), here = 0;
    ck_assert_uint_gt(tree, 1000 * 200 + here);
    ck_assert_int_eq(ctn_forms_threads(p.there), 1);
    ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, x, x, x, y, NULL) == CTN_OK);
    const size_t once = ctn_forms_bytes(p.there);
    ck_assert_uint_gt(once, tree + 1000 * 300);
    ck_assert(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, x, x, x, y, NULL) == CTN_OK);
    ck_assert_uint_eq(ctn_forms_bytes(p.there), once);
    free(x), free(y), pair_free(&p);
}
END_TEST

/// The twin's launches fail from one on: the call says so.
START_TEST(a_device_that_fails_is_told_of)
{
    ctn_error err;
    pair p = pair_of(2, 700, 2);
    double *x = calloc(4200, sizeof *x), *y = calloc(4200, sizeof *y);
    char most[16];
    snprintf(most, sizeof most, "%d", _i);
    setenv("CTN_TWIN_LAUNCHES", most, 1);
    ck_assert_int_eq(ctn_forms_rnea(p.there, CTN_SCAN_SIMULATED, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "device: it failed: the twin was told to"), "%s", err.message);
    ck_assert_int_eq(ctn_forms_forward(p.there, CTN_FORWARD_JSIIA, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_forward(p.there, CTN_FORWARD_STAR, 1, x, x, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_crba_begin(p.there, CTN_SCAN_SIMULATED, x, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_rootfix(p.there, CTN_SCAN_SIMULATED, x, y, &err), CTN_UNAVAILABLE);
    ck_assert_int_eq(ctn_forms_twists(p.there, CTN_SCAN_SIMULATED, x, x, y, &err), CTN_UNAVAILABLE);
    free(x), free(y), pair_free(&p);
}
END_TEST

static bool is_there(ctn_error *err) { return device_find("cuda", err) != NULL; }

int main(void)
{
    if (!machine_has("forms_device", is_there)) return EXIT_SKIPPED;
    Suite *s = suite_create("forms_device");
    TCase *c = tcase_create("forms_device");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, rootfix_and_leaffix_are_those_of_the_cpu, 0, BRANCHINGS);
    tcase_add_loop_test(c, inverse_dynamics_are_those_of_the_cpu, 0, BRANCHINGS);
    tcase_add_loop_test(c, inertias_are_those_of_the_cpu, 0, BRANCHINGS);
    tcase_add_loop_test(c, forward_dynamics_are_those_of_the_cpu, 0, BRANCHINGS);
    tcase_add_test(c, stars_fall_back_where_a_cut_is_bad);
    tcase_add_test(c, joints_without_inertia_are_named);
    tcase_add_loop_test(c, states_have_the_bits_of_single_ones, 0, 2);
    tcase_add_test(c, what_it_has_not_is_refused);
    tcase_add_test(c, memory_on_the_device_is_counted);
    const char *const library = getenv("CTN_CUDA_LIBRARY");
    if (library && strstr(library, "twin")) tcase_add_loop_test(c, a_device_that_fails_is_told_of, 0, 17);
    suite_add_tcase(s, c);
    return run_suite(s);
}
