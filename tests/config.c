/// Names of methods, solvers, schedules and what is parallel, ranges of a configuration, and the nearest name of a misspelt one.
#include "sim/base/config.h"
#include "sim/base/suggest.h"
#include "tests/suite.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <string.h>

START_TEST(defaults)
{
    const ctn_batch_config cfg = ctn_batch_config_default();
    ck_assert_int_eq(cfg.worlds, 1);
    ck_assert_double_eq(cfg.dt, 0.01);
    ck_assert_int_eq(cfg.method, CTN_RADAU);
    ck_assert_int_eq(cfg.stages, 2);
    ck_assert_int_eq(cfg.order, 2);
    ck_assert_int_eq(cfg.solver, CTN_NEWTON);
    ck_assert_double_eq(cfg.tolerance, 1e-9);
    ck_assert_double_eq(cfg.error_tolerance, 1e-6);
    ck_assert(!cfg.adaptive && !cfg.dense);
    ck_assert_int_eq(cfg.max_iterations, 60);
    ck_assert_int_eq(cfg.max_halvings, 10);
    ck_assert_ptr_null(cfg.engine);
    ck_assert_int_eq(config_check(&cfg, 0), CTN_OK);
}
END_TEST

START_TEST(names)
{
    static const struct {
        ctn_method method;
        const char *name;
    } methods[] = {{CTN_EULER, "euler"},
                   {CTN_SEMI_IMPLICIT, "semi-implicit"},
                   {CTN_RK2, "rk2"},
                   {CTN_RK3, "rk3"},
                   {CTN_RK4, "rk4"},
                   {CTN_COLLOCATION, "collocation"},
                   {CTN_DOP853, "dop853"},
                   {CTN_RADAU, "radau"},
                   {CTN_VARIATIONAL, "variational"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ctn_method method = (ctn_method)77;
        ck_assert_str_eq(ctn_method_name(methods[i].method), methods[i].name);
        ck_assert_int_eq(ctn_method_from_name(methods[i].name, &method, 0), CTN_OK);
        ck_assert_int_eq(method, methods[i].method);
    }
    ck_assert_ptr_null(ctn_method_name((ctn_method)999));
    ck_assert_ptr_null(ctn_method_name((ctn_method)-1));
    ck_assert_str_eq(ctn_solver_name(CTN_NEWTON), "newton");
    ck_assert_ptr_null(ctn_solver_name((ctn_solver)3));
    ck_assert_ptr_null(ctn_solver_name((ctn_solver)-1));
    static const char *const schedules[] = {"auto", "iteration", "step"};  // in the order of ctn_schedule
    for (int i = 0; i < 3; i++) {
        ctn_schedule schedule = (ctn_schedule)77;
        ck_assert_str_eq(ctn_schedule_name((ctn_schedule)i), schedules[i]);
        ck_assert_int_eq(ctn_schedule_from_name(schedules[i], &schedule, 0), CTN_OK);
        ck_assert_int_eq(schedule, i);
    }
    ck_assert_ptr_null(ctn_schedule_name((ctn_schedule)3));
    ck_assert_ptr_null(ctn_schedule_name((ctn_schedule)-1));
    static const char *const parallels[] = {"auto", "worlds", "links", "both"};  // in the order of ctn_parallel
    for (int i = 0; i < 4; i++) {
        ctn_parallel parallel = (ctn_parallel)77;
        ck_assert_str_eq(ctn_parallel_name((ctn_parallel)i), parallels[i]);
        ck_assert_int_eq(ctn_parallel_from_name(parallels[i], &parallel, 0), CTN_OK);
        ck_assert_int_eq(parallel, i);
    }
    ck_assert_ptr_null(ctn_parallel_name((ctn_parallel)4));
    ck_assert_ptr_null(ctn_parallel_name((ctn_parallel)-1));
}
END_TEST

START_TEST(names_that_are_refused)
{
    static const struct {
        const char *name;
        ctn_status status;
        const char *message;
    } cases[] = {
        {"RK4", CTN_BAD_CONFIG, "unknown method 'RK4'; did you mean 'rk4'? allowed: "},
        {"semi_implicit", CTN_BAD_CONFIG, "unknown method 'semi_implicit'; did you mean 'semi-implicit'? allowed: "},
        {"leapfrog", CTN_BAD_CONFIG,
         "unknown method 'leapfrog'; allowed: semi-implicit, euler, rk2, rk3, rk4, dop853, collocation, radau, variational"},
        {"", CTN_BAD_CONFIG, "unknown method ''; allowed: "},
        {0, CTN_BAD_ARGUMENT, "the method is NULL; allowed: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ctn_method method = CTN_RK3;
        ctn_error err = {0};
        ck_assert_int_eq(ctn_method_from_name(cases[i].name, &method, &err), cases[i].status);
        ck_assert_int_eq(err.status, cases[i].status);
        ck_assert_int_eq(err.count, 1);
        ck_assert_msg(!strncmp(err.message, cases[i].message, strlen(cases[i].message)), "%s: %s", cases[i].name, err.message);
        ck_assert_int_eq(method, CTN_RK3);
    }
    ctn_solver solver = CTN_NEWTON;
    ctn_error err;
    ck_assert_int_eq(ctn_solver_from_name("lbfgs", &solver, &err), CTN_OK);
    ck_assert_int_eq(solver, CTN_LBFGS);
    ck_assert_int_eq(ctn_solver_from_name("lm", &solver, &err), CTN_OK);
    ck_assert_int_eq(solver, CTN_LM);
    ck_assert_int_eq(ctn_solver_from_name("newtons", &solver, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "unknown solver 'newtons'; did you mean 'newton'? allowed: newton, lm, lbfgs");
    ck_assert_int_eq(ctn_solver_from_name("newton", &solver, 0), CTN_OK);
    ctn_schedule schedule = CTN_BY_STEP;
    ck_assert_int_eq(ctn_schedule_from_name("iterations", &schedule, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "unknown schedule 'iterations'; did you mean 'iteration'? allowed: auto, iteration, step");
    ck_assert_int_eq(schedule, CTN_BY_STEP);
    ctn_parallel parallel = CTN_PARALLEL_BOTH;
    ck_assert_int_eq(ctn_parallel_from_name("link", &parallel, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "unknown parallel 'link'; did you mean 'links'? allowed: auto, worlds, links, both");
    ck_assert_int_eq(parallel, CTN_PARALLEL_BOTH);
}
END_TEST

static const struct {
    const char *field;
    double value;
    ctn_status status;
    const char *message;  // of config_set; config_check puts the field before it
} ranges[] = {
    {"worlds", 1, CTN_OK, 0},
    {"worlds", 0, CTN_BAD_CONFIG, "expected a whole number from 1 to 2147483647, found 0"},
    {"worlds", 1e10, CTN_BAD_CONFIG, "expected a whole number from 1 to 2147483647, found 10000000000"},
    {"lanes", 0, CTN_OK, 0},
    {"lanes", 8192, CTN_OK, 0},
    {"lanes", 8200, CTN_BAD_CONFIG, "expected a multiple of 8 from 0 to 8192, found 8200"},
    {"lanes", 12, CTN_BAD_CONFIG, "expected a multiple of 8 from 0 to 8192, found 12"},
    {"dt", 1e-300, CTN_OK, 0},
    {"dt", 0, CTN_BAD_CONFIG, "expected a positive time (s), found 0"},
    {"dt", -0.01, CTN_BAD_CONFIG, "expected a positive time (s), found -0.01"},
    {"dt", INFINITY, CTN_BAD_CONFIG, "expected a positive time (s), found inf"},
    {"dt", NAN, CTN_BAD_CONFIG, "expected a positive time (s), found nan"},
    {"error_tolerance", 1e-12, CTN_OK, 0},
    {"error_tolerance", 1e-30, CTN_BAD_CONFIG, "expected a number, 1e-15 or more, found 1e-30"},
    {"order", 2, CTN_OK, 0},
    {"order", 6, CTN_OK, 0},
    {"order", 1, CTN_BAD_CONFIG, "expected 2, 3, 4, 5 or 6, found 1"},
    {"order", 7, CTN_BAD_CONFIG, "expected 2, 3, 4, 5 or 6, found 7"},
    {"order", 2.5, CTN_BAD_CONFIG, "expected 2, 3, 4, 5 or 6, found 2.5"},
    {"stages", 4, CTN_OK, 0},
    {"stages", 0, CTN_BAD_CONFIG, "expected 1, 2, 3 or 4, found 0"},
    {"stages", 5, CTN_BAD_CONFIG, "expected 1, 2, 3 or 4, found 5"},
    {"tolerance", 1e-12, CTN_OK, 0},
    {"tolerance", 0, CTN_BAD_CONFIG, "expected a positive number, found 0"},
    {"max_iterations", 1, CTN_OK, 0},
    {"max_iterations", 1000000, CTN_OK, 0},
    {"max_iterations", 1000001, CTN_BAD_CONFIG, "expected a whole number from 1 to 1000000, found 1000001"},
    {"max_iterations", 0, CTN_BAD_CONFIG, "expected a whole number from 1 to 1000000, found 0"},
    {"max_iterations", 1.5, CTN_BAD_CONFIG, "expected a whole number from 1 to 1000000, found 1.5"},
    {"max_halvings", 0, CTN_OK, 0},
    {"max_halvings", 30, CTN_OK, 0},
    {"max_halvings", 31, CTN_BAD_CONFIG, "expected a whole number from 0 to 30, found 31"},
    {"max_halvings", -1, CTN_BAD_CONFIG, "expected a whole number from 0 to 30, found -1"},
    {"method", 1, CTN_BAD_ARGUMENT, "a configuration has no number 'method'"},
};

START_TEST(set_numbers)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_batch_config before;
    memcpy(&before, &cfg, sizeof cfg);  // with the bytes between the fields
    ctn_error err = {0};
    ck_assert_int_eq(config_set(&cfg, ranges[_i].field, ranges[_i].value, &err), ranges[_i].status);
    if (ranges[_i].message) {
        ck_assert_str_eq(err.message, ranges[_i].message);
        ck_assert_mem_eq(&cfg, &before, sizeof cfg);
    }
}
END_TEST

START_TEST(set_and_check)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    ck_assert_int_eq(config_set(&cfg, "worlds", 64, 0), CTN_OK);
    ck_assert_int_eq(config_set(&cfg, "dt", 0.05, 0), CTN_OK);
    ck_assert_int_eq(config_set(&cfg, "tolerance", 1e-6, 0), CTN_OK);
    ck_assert_int_eq(config_set(&cfg, "max_iterations", 99, 0), CTN_OK);
    ck_assert_int_eq(config_set(&cfg, "max_halvings", 3, 0), CTN_OK);
    ck_assert_int_eq(cfg.worlds, 64);
    ck_assert_double_eq(cfg.dt, 0.05);
    ck_assert_double_eq(cfg.tolerance, 1e-6);
    ck_assert_int_eq(cfg.max_iterations, 99);
    ck_assert_int_eq(cfg.max_halvings, 3);
    ck_assert_int_eq(config_check(&cfg, 0), CTN_OK);

    ctn_error err = {0};
    ctn_batch_config bad = {0};
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "the configuration was not initialised; start from ctn_batch_config_default()");
    ck_assert_int_eq(config_check(0, &err), CTN_BAD_ARGUMENT);

    bad = cfg, bad.dt = 0;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "dt: expected a positive time (s), found 0");
    bad = cfg, bad.worlds = -3;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "worlds: expected a whole number from 1 to 2147483647, found -3");
    bad = cfg, bad.max_iterations = 0;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    bad = cfg, bad.max_halvings = -1;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    bad = cfg, bad.tolerance = NAN;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    bad = cfg, bad.method = (ctn_method)99;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "method: unknown value 99");
    bad = cfg, bad.solver = (ctn_solver)4;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "solver: unknown value 4");

    // the order matters to the method that has one
    bad = cfg, bad.method = CTN_RK4, bad.order = 7, bad.stages = 9;
    ck_assert_int_eq(config_check(&bad, &err), CTN_OK);
    bad.method = CTN_COLLOCATION;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "order: expected 2, 3, 4, 5 or 6, found 7");
    bad.method = CTN_RADAU;
    ck_assert_int_eq(config_check(&bad, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "stages: expected 1, 2, 3 or 4, found 9");
    for (bad.method = CTN_VARIATIONAL, bad.order = 1; bad.order <= 5; bad.order++)
        ck_assert_int_eq(config_check(&bad, &err), bad.order == 2 || bad.order == 4 ? CTN_OK : CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "order: expected 2 or 4, found 5");
    ck_assert_int_eq(config_set(&bad, "order", 3, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "expected 2 or 4, found 3");
    ck_assert_int_eq(config_set(&bad, "order", 6, &err), CTN_BAD_CONFIG);
    ck_assert_str_eq(err.message, "expected 2 or 4, found 6");
}
END_TEST

START_TEST(distances)
{
    static const struct {
        const char *a, *b;
        int distance;
    } pairs[] = {
        {"", "", 0},         {"mass", "mass", 0},        {"masss", "mass", 1}, {"mas", "mass", 1}, {"msas", "mass", 1},
        {"mess", "mass", 1}, {"mass", "MASS", 0},        {"", "abc", 3},       {"abc", "", 3},     {"kitten", "sitting", 3},
        {"ca", "abc", 3},    {"revolut", "revolute", 1}, {"abcd", "badc", 2},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        ck_assert_msg(edit_distance(pairs[i].a, pairs[i].b) == pairs[i].distance, "%s %s: %d", pairs[i].a, pairs[i].b,
                      edit_distance(pairs[i].a, pairs[i].b));
    ck_assert_int_eq(edit_distance("0123456789012345678901234567890", "012345678901234567890123456789"), 1);
    ck_assert_int_eq(edit_distance("01234567890123456789012345678901", "mass"), INT_MAX);
    ck_assert_int_eq(edit_distance("mass", "01234567890123456789012345678901"), INT_MAX);
}
END_TEST

START_TEST(nearest)
{
    const char *const words[] = {"mass", 0, "radius", "gravity", "com"};
    ck_assert_str_eq(nearest_name("masss", words, 5), "mass");
    ck_assert_str_eq(nearest_name("gravitiy", words, 5), "gravity");
    ck_assert_str_eq(nearest_name("radii", words, 5) ? "near" : "far", "far");
    ck_assert_str_eq(nearest_name("Com", words, 5), "com");
    ck_assert_ptr_null(nearest_name("x", words, 5));
    ck_assert_ptr_null(nearest_name("", words, 5));
    ck_assert_ptr_null(nearest_name("length", words, 5));
    ck_assert_ptr_null(nearest_name("mass", words, 0));
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("config");
    TCase *const all = tcase_create("all");
    tcase_add_test(all, defaults);
    tcase_add_test(all, names);
    tcase_add_test(all, names_that_are_refused);
    tcase_add_loop_test(all, set_numbers, 0, (int)(sizeof ranges / sizeof *ranges));
    tcase_add_test(all, set_and_check);
    tcase_add_test(all, distances);
    tcase_add_test(all, nearest);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
