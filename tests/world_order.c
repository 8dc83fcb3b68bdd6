/// Orders of elimination that worlds have of their own, and the factors in them, against LAPACK: random graphs of groups of columns.
#include "dynamics/lane_scalar.h"
#include "integrators/world_factors.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100 };

/// Groups with an order, and the matrix of all their columns.
typedef struct {
    int groups, size;
    matrix_group group[MOST];
    world_order order;
    double *A;  // [size][size]
} fixture;

static void open_fixture(fixture *f, int groups, int width, rng *r)
{
    const size_t n = (size_t)groups, words = (n + 63) / 64;
    f->groups = groups, f->size = 0;
    for (int a = 0; a < groups; a++) {
        const int w = width ? width : 1 + (int)(rng_uniform(r, 0, MATRIX_GROUP) * 0.999);
        f->group[a] = (matrix_group){f->size, w}, f->size += w;
    }
    world_order *const o = &f->order;
    o->group = f->group, o->groups = groups, o->words = (int)words, o->numbers = 0;
    o->joined = calloc(n * words, sizeof *o->joined), o->seen = calloc(n * words, sizeof *o->seen);
    o->graph = calloc(n * words, sizeof *o->graph), o->panel = calloc(n, sizeof *o->panel);
    o->later = calloc(n * n, sizeof *o->later), o->earlier = calloc(n * n, sizeof *o->earlier);
    o->number = calloc(n, sizeof *o->number), o->degree = calloc(n, sizeof *o->degree);
    o->place = calloc(n, sizeof *o->place), o->run = calloc(n, sizeof *o->run);
    f->A = calloc((size_t)(f->size * f->size), sizeof *f->A);
}

static void close_fixture(fixture *f)
{
    world_order *const o = &f->order;
    free(o->joined), free(o->seen), free(o->graph), free(o->panel), free(o->later), free(o->earlier);
    free(o->number), free(o->degree), free(o->place), free(o->run), free(f->A);
}

static void join(fixture *f, int a, int b)
{
    uint64_t some[(MOST + 63) / 64] = {0};
    some[a / 64] |= (uint64_t)1 << (a % 64), some[b / 64] |= (uint64_t)1 << (b % 64);
    join_groups(&f->order, some);
}

/// A block of both, random and with a positive part that outweighs it.
static void fill_block(fixture *f, int a, int b, rng *r)
{
    const matrix_group g = f->group[a], h = f->group[b];
    for (int i = g.start; i < g.start + g.width; i++)
        for (int j = h.start; j < h.start + h.width; j++) {
            const double x = rng_uniform(r, -1, 1);
            f->A[i * f->size + j] += x, f->A[j * f->size + i] += x;
            f->A[i * f->size + i] += fabs(x) + 0.01, f->A[j * f->size + j] += fabs(x) + 0.01;
        }
}

/// The panels of A.
static double *panels_of(const fixture *f)
{
    const world_order *const o = &f->order;
    double *const F = calloc(o->numbers, sizeof *F);
    for (int p = 0; p < o->groups; p++) {
        const row_panel *const P = &o->panel[p];
        for (int i = 0; i < P->width; i++) {
            double *const row = F + P->at + (size_t)(i * P->stride), *const from = f->A + (P->start + i) * f->size;
            for (int c = 0; c < P->width; c++) row[c] = from[P->start + c];
            for (int e = P->later; e < P->later + P->laters; e++) {
                const row_panel *const Q = &o->panel[o->later[e].panel];
                for (int c = 0; c < Q->width; c++) row[o->later[e].at + c] = from[Q->start + c];
            }
        }
    }
    return F;
}

START_TEST(solutions_are_lapack_s)
{
    FOR_ALL_SEEDS(seed, 200)
    {
        rng r = {seed};
        fixture f = {0};
        const int groups = 1 + (int)(seed % 90);
        open_fixture(&f, groups, 0, &r);
        for (int a = 0; a < groups; a++) join(&f, a, a), fill_block(&f, a, a, &r);
        for (int k = 0; k < 2 * groups; k++) {
            const int a = (int)(rng_uniform(&r, 0, groups) * 0.9999), b = (int)(rng_uniform(&r, 0, groups) * 0.9999);
            if (a != b) join(&f, a, b), fill_block(&f, a, b, &r);
        }
        find_order(&f.order);
        const int n = f.size;
        double *F = panels_of(&f), *inverse = malloc(sizeof *inverse * (size_t)n), *scratch = malloc(sizeof *scratch * (size_t)n);
        double *x = malloc(sizeof *x * (size_t)n), *y = malloc(sizeof *y * (size_t)n), worst = 0, most = 0;
        int *const pivots = malloc(sizeof *pivots * (size_t)n);
        for (int i = 0; i < n; i++) x[i] = y[i] = rng_uniform(&r, -1, 1);
        ck_assert_msg(factor_panels(&f.order, F, inverse, true), "seed %llu", (unsigned long long)seed);
        solve_panels(&f.order, F, inverse, scratch, y);
        ck_assert_int_eq(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, f.A, n, pivots, x, 1), 0);
        for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i])), most = fmax(most, fabs(x[i]));
        ck_assert_msg(worst <= 1e-10 * most, "seed %llu: differs by %g of %g", (unsigned long long)seed, worst, most);
        free(F), free(inverse), free(scratch), free(x), free(y), free(pivots), close_fixture(&f);
    }
}
END_TEST

/// A pivot below 0 is told, or taken.
START_TEST(signs_of_pivots)
{
    rng r = {3};
    fixture f = {0};
    open_fixture(&f, 8, 3, &r);
    for (int a = 0; a < 8; a++) join(&f, a, a), fill_block(&f, a, a, &r);
    for (int a = 1; a < 8; a++) join(&f, a, a - 1), fill_block(&f, a, a - 1, &r);
    f.A[10 * f.size + 10] -= 50;
    find_order(&f.order);
    for (int minimum = 0; minimum < 2; minimum++) {
        double *const F = panels_of(&f), inverse[8 * MATRIX_GROUP];
        ck_assert_int_eq(factor_panels(&f.order, F, inverse, minimum), !minimum);
        free(F);
    }
    close_fixture(&f);
}
END_TEST

/// On a plane of 10 x 10 with neighbours joined a good order has a third of the numbers of the one by rows, whose band is full. What is
/// not joined at all has its own alone; and nothing is done twice.
START_TEST(fills_in_little)
{
    enum { SIDE = 10 };
    rng r = {1};
    fixture f = {0};
    open_fixture(&f, SIDE * SIDE, 6, &r);
    for (int a = 0; a < SIDE * SIDE; a++) join(&f, a, a);
    find_order(&f.order);
    ck_assert_uint_eq(f.order.numbers, 36 * SIDE * SIDE);
    for (int a = 0; a < SIDE * SIDE; a++) {
        if (a % SIDE) join(&f, a, a - 1);
        if (a >= SIDE) join(&f, a, a - SIDE);
    }
    find_order(&f.order);
    const size_t band = 36 * (SIDE + 1) * SIDE * SIDE;
    printf("%zu numbers, by rows %zu, all %d\n", f.order.numbers, band, 36 * SIDE * SIDE * (SIDE * SIDE + 1) / 2);
    ck_assert_uint_lt(f.order.numbers, band * 6 / 10);
    int *const was = malloc(sizeof *was * SIDE * SIDE), number = f.order.number[0];
    memcpy(was, f.order.number, sizeof *was * SIDE * SIDE);
    f.order.number[0] = -1, find_order(&f.order);
    ck_assert_int_eq(f.order.number[0], -1);
    f.order.number[0] = number, f.order.numbers = 0, find_order(&f.order);
    ck_assert_mem_eq(was, f.order.number, sizeof *was * SIDE * SIDE);
    free(was), close_fixture(&f);
}
END_TEST

static Suite *world_order_suite(void)
{
    Suite *const s = suite_create("world_order");
    TCase *const t = tcase_create("world_order");
    tcase_add_test(t, solutions_are_lapack_s);
    tcase_add_test(t, signs_of_pivots);
    tcase_add_test(t, fills_in_little);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(world_order_suite()); }
