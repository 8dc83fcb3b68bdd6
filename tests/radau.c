/// Position-based Radau IIA: golden steps, measured orders, energy, L-stability, fallbacks.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch_config radau(int stages)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = stages;
    return cfg;
}

START_TEST(golden_steps)
{
    static const char *const models[] = {"double-pendulum", "chain5", "ball5", "flying-tree5", "spring-chain4"};
    for (int s = 1; s <= 3; s++) {
        const ctn_batch_config cfg = radau(s);
        const int n = golden_steps_agree(models[_i], &cfg, s == 1 ? "order2" : "radau", s);
        ck_assert_msg(n >= 10, "%d stages: %d steps compared", s, n);
    }
}
END_TEST

START_TEST(order_of_convergence)
{
    static const char *const models[] = {"double-pendulum", "chain5", "ball5", "prismatic-mix", "flying-tree5"};
    static const double dt[] = {1.25e-4, 5e-3, 0.01, 0.02};
    for (int s = 1; s <= 4; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.tolerance = 1e-13;
        double e[2];
        for (int h = 0; h < 2; h++) {
            cfg.dt = dt[s - 1] / (1 << h);
            e[h] = golden_trajectory_error(models[_i], &cfg, 2, true);
        }
        printf("%s s=%d order %.3f (%.3g %.3g)\n", models[_i], s, log2(e[0] / e[1]), e[0], e[1]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("radau");
    TCase *t = tcase_create("radau");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, golden_steps, 0, 5);
    tcase_add_loop_test(t, order_of_convergence, 0, 5);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
