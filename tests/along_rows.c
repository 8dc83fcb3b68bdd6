/// The rows of a plan as models for kernels, from within: what the kernels write about them.
#include <string.h>

#include "dynamics/lane_scalar.h"

#include "sim/along/along_kernels.h"
#include "tests/along_cases.h"
#include "tests/suite.h"

/// The first row is a port: it has no parent, and is no root. What joints that slide carry off is noted for no row before it.
START_TEST(nothing_reaches_beyond_the_rows)
{
    FOR_SEEDS(seed, 20)
    {
        const random_options sliders = {.links = 60, .chain = seed % 2, .joints = 1u << CTN_PRISMATIC | 1u << CTN_HELICAL};
        ctn_model *const m = random_model(seed, &sliders);
        along_plan *const p = along_plan_create(m, 8, true);
        ck_assert(p && m->slides);
        double *const q = numbers((size_t)m->nq), *const v = numbers((size_t)m->nv);
        rng r = {seed};
        random_state(m, &r, q, v);
        for (int number = 0; number < p->blocks * PARTS; number++) {
            arena a = {NULL, 0};
            layout_rows(NULL, p, number, &a);
            a.base = aligned_alloc(64, (a.used + 63) / 64 * 64), a.used = 0;
            lane_rows B = {0};
            layout_rows(&B, p, number, &a);
            load_rows(&B, 0.01, true);
            const size_t n = (size_t)B.m.nbody;
            const double guard = -1;  // less than any reach
            double *const rows = numbers((size_t)B.m.nq), *const reach = numbers(n + 2);
            rows_in(&B, false, q, rows);
            reach[0] = reach[n + 1] = guard;
            find_reach(&B.m, rows, reach + 1);
            ck_assert_msg(reach[0] == guard && reach[n + 1] == guard, "seed %llu, lane %d: %g before, %g behind",
                          (unsigned long long)seed, number, reach[0], reach[n + 1]);
            free(rows), free(reach), free(a.base);
        }
        free(q), free(v), along_plan_free(p), ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_rows");
    TCase *c = tcase_create("along_rows");
    tcase_add_test(c, nothing_reaches_beyond_the_rows);
    suite_add_tcase(s, c);
    return run_suite(s);
}
