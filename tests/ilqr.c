/// Iterative LQR of scenes against golden data (an independent program over its own dynamics): the first iteration number by number,
/// optima, bounded ones, how many iterations blocks cost; defects vanish; the same bits for threads and lanes.
#include "tests/golden.h"
#include "tests/golden_plans.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void close_to(const char *name, const char *what, double found, double expected, double tolerance)
{
    ck_assert_msg(fabs(found - expected) <= tolerance * fmax(1, fabs(expected)), "%s: %s is %.15g, expected %.15g", name, what,
                  found, expected);
}

/// `found` [rows][2 nv or cols] in the scene's order against golden numbers in theirs. which: rows and columns are coordinates.
static void same_matrix(const problem *p, const cJSON *first, const char *key, const double *found, bool by_row, int cols,
                        bool by_col, double tolerance)
{
    const int n = 2 * p->nv, rows = by_row ? n : cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(first, key)) / cols;
    double *const expected = golden_numbers(first, key, rows * cols);
    double scale = 1;
    for (int i = 0; i < rows * cols; i++) scale = fmax(scale, fabs(expected[i]));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            const int a = by_row ? i / p->nv * p->nv + p->of->order[i % p->nv] : i,
                      b = by_col ? j / p->nv * p->nv + p->of->order[j % p->nv] : j;
            ck_assert_msg(fabs(found[a * cols + b] - expected[i * cols + j]) <= tolerance * scale,
                          "%s: %s[%d][%d] is %.15g, expected %.15g", p->of->name, key, i, j, found[a * cols + b],
                          expected[i * cols + j]);
        }
    free(expected);
}

/// The first iteration, number by number.
START_TEST(first_iteration)
{
    problem p = open_problem(&cases[_i], NULL, 1, INFINITY);
    const char *const name = p.of->name;
    const cJSON *const first = cJSON_GetObjectItemCaseSensitive(p.file, "first_iteration");
    const int n = 2 * p.nv, mid = p.N / 2;
    ilqr_config cfg = config_of(&p);
    cfg.rho = cJSON_GetObjectItemCaseSensitive(first, "rho")->valuedouble;
    ilqr *const s = begin_problem(&p, &cfg);
    close_to(name, "J", ilqr_get_state(s).cost, cJSON_GetObjectItemCaseSensitive(first, "J")->valuedouble, 1e-11);
    double *const A = calloc((size_t)(p.N * n * n), sizeof *A), *const B = calloc((size_t)(p.N * n * p.nu), sizeof *B), linear,
                  quadratic;
    ctn_error err;
    const plant *const plant = scene_plant_of(p.plant);
    ck_assert_msg(plant->linearise(plant->context, ilqr_states(s), ilqr_controls(s), A, B, &err) == CTN_OK, "%s", err.message);
    same_matrix(&p, first, "A_0", A, true, n, true, 1e-10), same_matrix(&p, first, "B_0", B, true, p.nu, false, 1e-10);
    iterate(s);
    const double *gradient, *const value = ilqr_value(s, 0, &gradient);
    same_matrix(&p, first, "K_0", ilqr_gains(s), false, n, true, 1e-8);
    same_matrix(&p, first, "K_mid", ilqr_gains(s) + mid * p.nu * n, false, n, true, 1e-8);
    same_matrix(&p, first, "kappa_0", ilqr_feedforward(s), false, 1, false, 1e-8);
    same_matrix(&p, first, "kappa_mid", ilqr_feedforward(s) + mid * p.nu, false, 1, false, 1e-8);
    same_matrix(&p, first, "V_xx_0", value, true, n, true, 1e-8), same_matrix(&p, first, "V_x_0", gradient, true, 1, false, 1e-8);
    ilqr_expected(s, &linear, &quadratic);
    close_to(name, "kappa'Q_u", linear, cJSON_GetObjectItemCaseSensitive(first, "kappaQu")->valuedouble, 1e-9);
    close_to(name, "kappa'Q_uu kappa / 2", quadratic, cJSON_GetObjectItemCaseSensitive(first, "half_kappaQuukappa")->valuedouble,
             1e-9);
    const cJSON *const alpha = cJSON_GetObjectItemCaseSensitive(first, "alpha"), *const J = cJSON_GetObjectItemCaseSensitive(
                                                                                     first, "J_alpha");
    for (int k = 0; k < cJSON_GetArraySize(alpha); k++) {
        const int a = (int)lrint(-log2(cJSON_GetArrayItem(alpha, k)->valuedouble));
        if (cJSON_IsNumber(cJSON_GetArrayItem(J, k)) && cJSON_GetArrayItem(J, k)->valuedouble < 1e8)
            close_to(name, "J(alpha)", ilqr_tried(s)[a], cJSON_GetArrayItem(J, k)->valuedouble, 1e-7);
    }
    free(A), free(B);
    ilqr_close(s), close_problem(&p);
}
END_TEST

/// How many iterations there are until the cost is within 1e-4 of the optimum, with defects below 1e-2; -1: there is no end of it.
static int iterations_to(const problem *p, ilqr_config cfg, double optimum, double share, int most)
{
    ilqr *const s = begin_problem(p, &cfg);
    int found = -1;
    while (found < 0 && ilqr_get_state(s).iteration < most && ilqr_get_state(s).stop == ILQR_RUNS) {
        iterate(s);
        const ilqr_state x = ilqr_get_state(s);
        if (x.defect < 1e-2 && x.cost <= optimum * (1 + share)) found = x.iteration;
    }
    ilqr_close(s);
    return found;
}

/// The optimum, from the guess: its cost, states and controls, and no gradient.
START_TEST(optimum)
{
    problem p = open_problem(&cases[_i], NULL, 2, INFINITY);
    const double expected = cJSON_GetObjectItemCaseSensitive(p.file, "cost")->valuedouble;
    ilqr_config cfg = config_of(&p);
    cfg.tolerance = 1e-8;
    ilqr *const s = begin_problem(&p, &cfg);
    for (int k = 0; k < 300 && ilqr_get_state(s).stop == ILQR_RUNS; k++) iterate(s);
    const ilqr_state x = ilqr_get_state(s);
    if (_i == 1) {  // slow: after 300 iterations the oracle is 0.17 above the optimum, and so are these
        close_to(p.of->name, "what is left", x.cost - expected, 0.17, 0.01);
        ilqr_close(s), close_problem(&p);
        return;
    }
    ck_assert_msg(fabs(x.cost - expected) <= p.of->tolerance * expected,
                  "%s: %.13g after %d iterations, expected %.13g, gradient %g", p.of->name, x.cost, x.iteration, expected,
                  x.gradient);
    ck_assert_msg(x.stop == ILQR_OPTIMAL || x.gradient < 1e-5, "%s: gradient %g after %d iterations", p.of->name, x.gradient,
                  x.iteration);
    ilqr_close(s), close_problem(&p);
}
END_TEST

static const int blocks[][2] = {{1, 1}, {4, 1}, {16, 1}, {1, 4}, {1, 16}, {4, 4}, {16, 16}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

/// With stale values and defects: the same optimum, in about the golden number of iterations.
START_TEST(in_blocks)
{
    const int c = _i / BLOCKS, b = _i % BLOCKS;
    problem p = open_problem(&cases[c], NULL, 1, INFINITY);
    const double optimum = cJSON_GetObjectItemCaseSensitive(p.file, "cost")->valuedouble;
    char key[16];
    snprintf(key, sizeof key, "%d,%d", blocks[b][0], blocks[b][1]);
    const cJSON *const row = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(p.file, "iterations"), key);
    const cJSON *const to = row ? cJSON_GetObjectItemCaseSensitive(row, "iterations_to") : NULL;
    const cJSON *const within = to ? cJSON_GetObjectItemCaseSensitive(to, "0.0001") : NULL;
    if (within && cJSON_IsNumber(within)) {
        ilqr_config cfg = config_of(&p);
        cfg.backward = blocks[b][0], cfg.forward = blocks[b][1], cfg.zero_start = true;
        const int found = iterations_to(&p, cfg, optimum, 1e-4, 300), golden = within->valueint;
        ck_assert_msg(found > 0 && found <= golden + golden / 4 + 3, "%s, blocks %s: %d iterations, expected %d", p.of->name, key,
                      found, golden);
        if (blocks[b][0] > 1) {  // a whole pass at first saves some
            cfg.zero_start = false;
            const int warm = iterations_to(&p, cfg, optimum, 1e-4, 300);
            ck_assert_msg(warm > 0 && warm <= found + 1, "%s, blocks %s: %d iterations with a whole pass, %d without", p.of->name,
                          key, warm, found);
        }
    }
    close_problem(&p);
}
END_TEST

/// Bounded controls: the optimum, and which ones are at their bounds.
START_TEST(bounded)
{
    problem p = open_problem(&cases[0], NULL, 1, 8);
    cJSON *const golden = golden_json("control", "ddp/pendulum-short-bounded.json");
    double *const U = golden_numbers(golden, "U", p.N * p.nu), lower[1], upper[1];
    ilqr_config cfg = config_of(&p);
    cfg.tolerance = 1e-10;
    ck_assert(scene_plant_bounds(p.plant, lower, upper));
    cfg.lower = lower, cfg.upper = upper;
    ilqr *const s = begin_problem(&p, &cfg);
    for (int k = 0; k < 100 && ilqr_get_state(s).stop == ILQR_RUNS; k++) iterate(s);
    close_to("bounded", "cost", ilqr_get_state(s).cost, cJSON_GetObjectItemCaseSensitive(golden, "cost")->valuedouble, 1e-10);
    int active = 0;
    for (int k = 0; k < p.N; k++) {
        active += fabs(ilqr_controls(s)[k]) == 8;
        ck_assert_double_eq_tol(ilqr_controls(s)[k], U[k], 1e-5);
    }
    ck_assert_int_eq(active, cJSON_GetObjectItemCaseSensitive(golden, "active")->valueint);
    ck_assert_int_eq(ilqr_get_state(s).stop, ILQR_OPTIMAL);
    free(U), cJSON_Delete(golden);
    ilqr_close(s), close_problem(&p);
}
END_TEST

/// A horizon that recedes: from where the plan led the plan goes on; from beside it gains bring it back, and some iterations make
/// it better.
START_TEST(shifted)
{
    problem p = open_problem(&cases[2], NULL, 1, INFINITY);
    ilqr_config cfg = config_of(&p);
    ilqr *const s = begin_problem(&p, &cfg);
    for (int k = 0; k < 20; k++) iterate(s);
    const size_t nx = (size_t)(2 * p.nv), nu = (size_t)p.nu, N = (size_t)p.N;
    double *const X = malloc((N + 1) * nx * sizeof *X), *const U = malloc(N * nu * sizeof *U), x0[4];
    memcpy(X, ilqr_states(s), (N + 1) * nx * sizeof *X), memcpy(U, ilqr_controls(s), N * nu * sizeof *U);
    ctn_error err;
    ck_assert_msg(ilqr_shift(s, X + nx, &err) == CTN_OK, "%s", err.message);
    ck_assert(!memcmp(ilqr_states(s), X + nx, N * nx * sizeof *X) && !memcmp(ilqr_controls(s), U + nu, (N - 1) * nu * sizeof *U));
    ck_assert(!memcmp(ilqr_controls(s) + (N - 1) * nu, U + (N - 1) * nu, nu * sizeof *U));
    memcpy(x0, ilqr_states(s) + nx, sizeof x0);
    for (size_t i = 0; i < nx; i++) x0[i] += 0.01;
    ck_assert_msg(ilqr_shift(s, x0, &err) == CTN_OK, "%s", err.message);
    ck_assert(!memcmp(ilqr_states(s), x0, sizeof x0));
    double away = 0;  // in the middle of the horizon
    for (size_t i = 0; i < nx; i++) away = fmax(away, fabs(ilqr_states(s)[N / 2 * nx + i] - X[(N / 2 + 2) * nx + i]));
    ck_assert_msg(away < 0.03, "%g away", away);
    const double before = ilqr_get_state(s).cost;
    for (int k = 0; k < 3; k++) iterate(s);
    ck_assert_msg(ilqr_get_state(s).cost < before, "%g, before %g", ilqr_get_state(s).cost, before);
    free(X), free(U);
    ilqr_close(s), close_problem(&p);
}
END_TEST

/// Threads and lanes change no bit.
START_TEST(same_bits)
{
    double *X = NULL, *U = NULL;
    static const char *const engines[] = {"scalar", NULL, NULL};
    for (int run = 0; run < 3; run++) {
        problem p = open_problem(&cases[4], engines[run], 1 + run % 2, INFINITY);
        ilqr_config cfg = config_of(&p);
        cfg.backward = 4, cfg.forward = 4;
        ilqr *const s = begin_problem(&p, &cfg);
        for (int k = 0; k < 5; k++) iterate(s);
        const size_t nx = (size_t)((p.N + 1) * 2 * p.nv) * sizeof *X, nu = (size_t)(p.N * p.nu) * sizeof *U;
        if (!run) X = malloc(nx), U = malloc(nu), memcpy(X, ilqr_states(s), nx), memcpy(U, ilqr_controls(s), nu);
        ck_assert_msg(!memcmp(X, ilqr_states(s), nx) && !memcmp(U, ilqr_controls(s), nu), "run %d has other bits", run);
        ilqr_close(s), close_problem(&p);
    }
    free(X), free(U);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("ilqr");
    TCase *const c = tcase_create("ilqr");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, first_iteration, 0, CASES);
    tcase_add_loop_test(c, optimum, 0, CASES);
    tcase_add_loop_test(c, in_blocks, 0, CASES * BLOCKS);
    tcase_add_test(c, bounded);
    tcase_add_test(c, shifted);
    tcase_add_test(c, same_bits);
    suite_add_tcase(s, c);
    return run_suite(s);
}
