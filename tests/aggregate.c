/// Quantiles by their definition, and extremes of random lines that may not be lost.
#include "cli/plots/aggregate.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>

/// Numbers that are the same in every run of the test.
static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/// Against the definition: the number below and above which lie the right shares, exact where (n - 1) p is whole.
START_TEST(quantiles_of_numbers)
{
    double five[] = {5, 1, 4, 2, 3}, out[5];
    const double p[5] = {0, 0.25, 0.5, 0.6, 1};
    quantiles(five, 5, p, 5, out);
    ck_assert(out[0] == 1 && out[1] == 2 && out[2] == 3 && out[4] == 5);
    ck_assert_double_eq_tol(out[3], 3.4, 1e-15);
    uint64_t state = 1;
    for (int n = 1; n < 60; n++) {
        double x[60], share;
        for (int k = 0; k < n; k++) x[k] = random_number(&state);
        share = random_number(&state);
        quantiles(x, (size_t)n, &share, 1, out);
        int below = 0, above = 0;
        for (int k = 0; k < n; k++) below += x[k]<out[0], above += x[k]> out[0];
        ck_assert_int_le(below, (int)ceil((n - 1) * share));
        ck_assert_int_le(above, n - 1 - (int)floor((n - 1) * share));
    }
}
END_TEST

/// Of random lines with gaps: in each column of pixels extremes, ends and ends of gaps are kept, gaps stay gaps, and little else
/// is there.
START_TEST(extremes_are_kept)
{
    enum { ROWS = 5000, LINES = 3 };
    static double time[ROWS], y[LINES][ROWS];
    static bool kept[ROWS];
    const int columns = 10 + 37 * _i;
    uint64_t state = 7 + (uint64_t)_i;
    double t = 0;
    for (int k = 0; k < ROWS; k++) {
        const bool gap = k % 1000 > 600 && k % 1000 < 650 + 40 * _i;
        time[k] = t += random_number(&state) < 0.1 ? 0 : random_number(&state);
        for (int l = 0; l < LINES; l++) y[l][k] = gap ? NAN : tan(3 * random_number(&state));
    }
    keep_extremes(time, y[0], LINES, ROWS, columns, kept);
    int count = 0, gaps = 0;
    ck_assert(kept[0] && kept[ROWS - 1]);
    for (int k = 0; k < ROWS; k++) {
        const bool gap = isnan(y[0][k]), gap_before = k && isnan(y[0][k - 1]);
        count += kept[k], gaps += gap && !gap_before;
        if (k && gap != gap_before)
            ck_assert(kept[k] && (gap_before || kept[k - 1]));  // one of a gap, and the ends of what it parts
        if (gap && gap_before) ck_assert(!kept[k]);
    }
    ck_assert_int_le(count, (2 + 2 * LINES) * (columns + gaps) + gaps);  // a gap may part a column
    for (int c = 0, from = 0, to; c < columns; c++, from = to) {
        const double width = (time[ROWS - 1] - time[0]) / columns;
        for (to = from; to < ROWS && (c == columns - 1 || time[to] - time[0] < (c + 1) * width);) to++;
        for (int l = 0; l < LINES; l++) {
            double all[2] = {INFINITY, -INFINITY}, drawn[2] = {INFINITY, -INFINITY};
            for (int k = from; k < to; k++) {
                all[0] = fmin(all[0], y[l][k]), all[1] = fmax(all[1], y[l][k]);
                if (kept[k]) drawn[0] = fmin(drawn[0], y[l][k]), drawn[1] = fmax(drawn[1], y[l][k]);
            }
            ck_assert_msg(all[0] == drawn[0] && all[1] == drawn[1], "column %d of %d: %g to %g of %g to %g", c, columns, drawn[0],
                          drawn[1], all[0], all[1]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("aggregate");
    TCase *const t = tcase_create("aggregate");
    tcase_add_test(t, quantiles_of_numbers);
    tcase_add_loop_test(t, extremes_are_kept, 0, 8);
    suite_add_tcase(s, t);
    return run_suite(s);
}
