/// Coefficients of the Runge-Kutta methods: the conditions of Butcher for every rooted tree up to a method's order, which are all
/// that its order means. [Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, section II.2]
#include "dynamics/lane_scalar.h"

#include "integrators/tableaux.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

enum { ORDER = 9, TREES = 1 + 1 + 2 + 4 + 9 + 20 + 48 + 115 + 286, CHILDREN = ORDER - 1 };

/// A rooted tree: its children come before it in the list, each child's number at most that of the child before.
typedef struct {
    int order, children, child[CHILDREN];
    long gamma;  // the product of the orders of all its subtrees
} tree;

static tree trees[TREES];
static int ntree;

/// Adds all trees whose root has the children of `t` and further ones, numbered up to `most`, with `left` vertices together.
static void grow(tree t, int most, int left)
{
    if (!left) {
        t.gamma = t.order;
        for (int c = 0; c < t.children; c++) t.gamma *= trees[t.child[c]].gamma;
        ck_assert_int_lt(ntree, TREES);
        trees[ntree++] = t;
        return;
    }
    for (int c = 0; c <= most; c++) {
        if (trees[c].order > left) continue;
        tree more = t;
        more.child[more.children++] = c;
        grow(more, c, left - trees[c].order);
    }
}

static void plant(void)
{
    ntree = 0;
    for (int order = 1; order <= ORDER; order++) grow((tree){.order = order}, ntree - 1, order - 1);
    ck_assert_int_eq(ntree, TREES);
}

/// The elementary weights of a tree at all stages, sum_j a_sj ... of its children multiplied; scale: the same of magnitudes, the
/// unit of rounding errors. a: rows of ALL_STAGES.
static void elementary_weights(int stages, const double (*a)[ALL_STAGES], long double (*phi)[ALL_STAGES],
                               long double (*scale)[ALL_STAGES])
{
    for (int t = 0; t < ntree; t++)
        for (int s = 0; s < stages; s++) {
            phi[t][s] = scale[t][s] = 1;
            for (int c = 0; c < trees[t].children; c++) {
                const int child = trees[t].child[c];
                long double sum = 0, size = 0;
                for (int j = 0; j < s; j++)
                    sum += (long double)a[s][j] * phi[child][j], size += fabsl((long double)a[s][j]) * scale[child][j];
                phi[t][s] *= sum, scale[t][s] *= size;
            }
        }
}

static long double phi[TREES][ALL_STAGES], scale[TREES][ALL_STAGES];

/// The order up to which weights b fulfil sum b phi(t) = target^order / gamma (all zero if target is zero), to 1e-14 of the sum
/// of magnitudes.
static int order_of(int stages, const double *b, double target)
{
    int order = ORDER;
    for (int t = 0; t < ntree; t++) {
        long double sum = 0, size = 1;
        for (int s = 0; s < stages; s++)
            sum += (long double)b[s] * phi[t][s], size = fmaxl(size, fabsl((long double)b[s]) * scale[t][s]);
        const long double want = powl((long double)target, trees[t].order) / (long double)trees[t].gamma;
        if (!(fabsl(sum - want) <= 1e-14L * size) && trees[t].order <= order) order = trees[t].order - 1;
    }
    return order;
}

static void set_stages(const tableau *t, double (*a)[ALL_STAGES])
{
    for (int s = 0; s < t->stages; s++)
        for (int j = 0; j < EXPLICIT_STAGES; j++) a[s][j] = t->a[s][j];
}

static const struct {
    const char *name;
    const tableau *t;
    int order;
} methods[] = {{"euler", &tableau_euler, 1},
               {"rk2", &tableau_rk2, 2},
               {"rk3", &tableau_rk3, 3},
               {"rk4", &tableau_rk4, 4},
               {"dop853", &tableau_dop853, 8}};

/// Each method has its order, and not one more.
START_TEST(order_conditions)
{
    double a[ALL_STAGES][ALL_STAGES] = {{0}};
    plant();
    set_stages(methods[_i].t, a);
    elementary_weights(methods[_i].t->stages, a, phi, scale);
    ck_assert_int_eq(order_of(methods[_i].t->stages, methods[_i].t->b, 1), methods[_i].order);
}
END_TEST

/// The nodes of dop853, sums of its rows, are those that the literature names.
START_TEST(nodes_of_dop853)
{
    const double r = sqrt(6);
    const double c[] = {
        0, (12 - 2 * r) / 135, (6 - r) / 45, (6 - r) / 30, (6 + r) / 30, 1. / 3, 0.25, 4. / 13, 127. / 195, 0.6, 6. / 7, 1};
    for (int s = 0; s < 12; s++) {
        long double sum = 0, size = 1;
        for (int j = 0; j < s; j++) {
            const long double a = (long double)tableau_dop853.a[s][j];
            sum += a, size = fmaxl(size, fabsl(a));
        }
        ck_assert_msg(fabsl(sum - (long double)c[s]) < 1e-15L * size, "node %d: %.17Lg, not %.17g", s, sum, c[s]);
    }
}
END_TEST

/// The error estimates of dop853 are of order 5 and 3, its interpolant of order 7 at every t, and one at the end of the step of
/// order 8.
START_TEST(estimates_of_dop853)
{
    double a[ALL_STAGES][ALL_STAGES] = {{0}};
    plant();
    set_stages(&tableau_dop853, a);
    for (int j = 0; j < 12; j++) a[12][j] = tableau_dop853.b[j];
    for (int s = 0; s < 3; s++)
        for (int j = 0; j < ALL_STAGES; j++) a[13 + s][j] = dop853_more[s][j];
    elementary_weights(ALL_STAGES, (const double(*)[ALL_STAGES])a, phi, scale);
    ck_assert_int_eq(order_of(12, dop853_error[0], 0), 5);
    ck_assert_int_eq(order_of(12, dop853_error[1], 0), 3);
    for (int n = 1; n <= 8; n++) {
        const double t = n / 8., rest = 1 - t;
        double b[ALL_STAGES];
        for (int j = 0; j < ALL_STAGES; j++) {
            const double c0 = j < 12 ? tableau_dop853.b[j] : 0, first = j == 0, last = j == 12;
            const double c[INTERPOLANT_TERMS] = {c0,
                                                 first - c0,
                                                 2 * c0 - first - last,
                                                 dop853_dense[0][j],
                                                 dop853_dense[1][j],
                                                 dop853_dense[2][j],
                                                 dop853_dense[3][j]};
            b[j] = 0;
            for (int k = INTERPOLANT_TERMS - 1; k >= 0; k--) b[j] = (k % 2 ? rest : t) * (c[k] + b[j]);
        }
        ck_assert_msg(order_of(ALL_STAGES, b, t) == (n < 8 ? 7 : 8), "t = %g: order %d", t, order_of(ALL_STAGES, b, t));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tableaux");
    TCase *t = tcase_create("tableaux");
    tcase_add_loop_test(t, order_conditions, 0, sizeof methods / sizeof *methods);
    tcase_add_test(t, nodes_of_dop853);
    tcase_add_test(t, estimates_of_dop853);
    suite_add_tcase(s, t);
    return run_suite(s);
}
