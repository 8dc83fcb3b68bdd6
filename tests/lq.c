/// Linear-quadratic problems against golden data (Riccati in 80-bit floats): the recursion, scans by blocks with and without a
/// guess.
#include "control/lq.h"
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    cJSON *file;
    lq_problem lq;
    lq_solution found;
    double *X, *U, *x0;
} problem;

static double *copies(const cJSON *file, const char *key, int each, int knots, bool constant, int extra)
{
    double *const given = golden_numbers(file, key, each * (constant ? 1 : knots));
    double *const all = calloc((size_t)(each * (knots + extra)) + 1, sizeof *all);
    for (int k = 0; k < knots; k++)
        memcpy(all + (size_t)(k * each), given + (constant ? 0 : k * each), (size_t)each * sizeof *all);
    free(given);
    return all;
}

static void put_last(double *all, const cJSON *file, const char *key, int each, int knots)
{
    double *const last = golden_numbers(file, key, each);
    memcpy(all + (size_t)(knots * each), last, (size_t)each * sizeof *last);
    free(last);
}

static problem open_problem(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "lq/%s.json", name);
    problem p = {.file = golden_json("control", path)};
    ck_assert_msg(p.file, "%s is not there", path);
    const int N = cJSON_GetObjectItemCaseSensitive(p.file, "N")->valueint,
              n = cJSON_GetObjectItemCaseSensitive(p.file, "n")->valueint,
              m = cJSON_GetObjectItemCaseSensitive(p.file, "m")->valueint;
    const bool once = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p.file, "constant"));
    double *const Q = copies(p.file, "Q", n * n, N, once, 1), *const q = copies(p.file, "q", n, N, once, 1);
    put_last(Q, p.file, "Q_N", n * n, N), put_last(q, p.file, "q_N", n, N);
    p.lq = (lq_problem){N,
                        n,
                        m,
                        copies(p.file, "A", n * n, N, once, 0),
                        copies(p.file, "B", n * m, N, once, 0),
                        copies(p.file, "c", n, N, once, 0),
                        Q,
                        copies(p.file, "R", m * m, N, once, 0),
                        copies(p.file, "S", m * n, N, once, 0),
                        q,
                        copies(p.file, "r", m, N, once, 0)};
    const size_t knots = (size_t)N + 1, nn = (size_t)(n * n);
    p.found = (lq_solution){calloc(knots * nn, sizeof(double)), calloc(knots * (size_t)n, sizeof(double)),
                            calloc(knots * (size_t)(n * m), sizeof(double)), calloc(knots * (size_t)m, sizeof(double))};
    p.X = calloc(knots * (size_t)n, sizeof(double)), p.U = calloc(knots * (size_t)m, sizeof(double));
    p.x0 = golden_numbers(p.file, "x0", n);
    return p;
}

static void close_problem(problem *p)
{
    const lq_problem *const l = &p->lq;
    const double *const given[] = {l->A, l->B, l->c, l->Q, l->R, l->S, l->q, l->r};
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) free((void *)given[k]);
    free(p->found.P), free(p->found.s), free(p->found.K), free(p->found.k), free(p->X), free(p->U), free(p->x0);
    cJSON_Delete(p->file);
}

static double error_of(const problem *p, const char *key, const double *found, int n)
{
    double *const expected = golden_numbers(p->file, key, n);
    const double e = relative_error(found, expected, n);
    free(expected);
    return e;
}

/// The largest error of values, gains, states and controls, each relative to its largest entry.
static double largest_error(problem *p, ctn_status status, const ctn_error *err)
{
    if (status != CTN_OK) return INFINITY;
    (void)err;
    const int N = p->lq.N, n = p->lq.n, m = p->lq.m, mid = N / 2;
    double cost;
    lq_rollout(&p->lq, &p->found, p->x0, p->X, p->U, &cost);
    const double e[] = {error_of(p, "P_0", p->found.P, n * n),
                        error_of(p, "s_0", p->found.s, n),
                        error_of(p, "P_mid", p->found.P + mid * n * n, n * n),
                        error_of(p, "s_mid", p->found.s + mid * n, n),
                        error_of(p, "K_0", p->found.K, m * n),
                        error_of(p, "k_0", p->found.k, m),
                        error_of(p, "K_last", p->found.K + (N - 1) * m * n, m * n),
                        error_of(p, "k_last", p->found.k + (N - 1) * m, m),
                        error_of(p, "X", p->X, (N + 1) * n),
                        error_of(p, "U", p->U, N * m),
                        error_of(p, "cost", &cost, 1)};
    double most = 0;
    for (size_t k = 0; k < sizeof e / sizeof *e; k++) most = fmax(most, e[k]);
    return most;
}

static const struct {
    const char *name;
    double riccati, scan;  // as golden data's `difference_from`, with room; of blocks without a guess
} cases[] = {{"scalar", 1e-14, 1e-14},
             {"small", 1e-14, 1e-14},
             {"medium", 1e-13, 1e-12},
             {"free-direction", 1e-13, 1e-13},
             {"arm-size", 1e-12, 1e-12},
             {"unstable-short", 1e-11, 1e-11},
             {"unstable-terminal-cost-only", 1e-10, 1e-10}};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(golden)
{
    problem p = open_problem(cases[_i].name);
    ctn_error err;
    const double e = largest_error(&p, lq_riccati(&p.lq, &p.found, &err), &err);
    ck_assert_msg(e <= cases[_i].riccati, "%s: Riccati is %g off", cases[_i].name, e);
    for (int blocks = 1; blocks <= 16; blocks += blocks < 4 ? 1 : 4) {
        const double scan = largest_error(&p, lq_blocks(&p.lq, blocks, NULL, NULL, &p.found, &err), &err);
        ck_assert_msg(scan <= cases[_i].scan, "%s: %d blocks are %g off", cases[_i].name, blocks, scan);
    }
    close_problem(&p);
}
END_TEST

/// With the value of a plant that is 5 % off as a guess blocks are as exact as the recursion.
START_TEST(telescoped)
{
    problem p = open_problem(cases[_i].name);
    const int N = p.lq.N, n = p.lq.n, m = p.lq.m;
    const size_t rows = (size_t)(N + 1), nn = (size_t)(n * n);
    ctn_error err;
    rng r = {11};
    double *const A = calloc((size_t)N * nn + 1, sizeof *A), *const B = calloc((size_t)(N * n * m) + 1, sizeof *B),
                  *const guess_P = calloc(rows * nn, sizeof *A), *const guess_s = calloc(rows * (size_t)n, sizeof *A);
    for (int j = 0; j < N * n * n; j++) A[j] = p.lq.A[j] * (1 + rng_uniform(&r, -0.05, 0.05));
    for (int j = 0; j < N * n * m; j++) B[j] = p.lq.B[j] * (1 + rng_uniform(&r, -0.05, 0.05));
    lq_problem nearby = p.lq;
    nearby.A = A, nearby.B = B;
    ck_assert_msg(lq_riccati(&nearby, &p.found, &err) == CTN_OK, "%s", err.message);
    memcpy(guess_P, p.found.P, rows * nn * sizeof *A), memcpy(guess_s, p.found.s, rows * (size_t)n * sizeof *A);
    for (int blocks = 1; blocks <= 16; blocks *= 2) {
        const double e = largest_error(&p, lq_blocks(&p.lq, blocks, guess_P, guess_s, &p.found, &err), &err);
        ck_assert_msg(e <= cases[_i].riccati, "%s: %d blocks with a guess are %g off", cases[_i].name, blocks, e);
    }
    free(A), free(B), free(guess_P), free(guess_s);
    close_problem(&p);
}
END_TEST

/// Controls that cost less than nothing have no minimum.
START_TEST(refused)
{
    problem p = open_problem("small");
    ctn_error err;
    double *const R = (double *)p.lq.R;
    R[3] = -1e6;
    ck_assert_int_eq(lq_riccati(&p.lq, &p.found, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "knot 3"), "%s", err.message);
    ck_assert_int_eq(lq_blocks(&p.lq, 2, NULL, NULL, &p.found, &err), CTN_BAD_ARGUMENT);
    close_problem(&p);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("lq");
    TCase *const c = tcase_create("lq");
    tcase_add_loop_test(c, golden, 0, CASES);
    tcase_add_loop_test(c, telescoped, 0, CASES);
    tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
