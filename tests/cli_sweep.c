/// `catena check --dt-sweep` against closed forms: a mass on a spring, whose motion is a cosine.
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDULUM "scenes/double-pendulum.yaml"

static const double duration = 3, omega = 2;  // s, rad/s

static void write_oscillator(void)
{
    spit("oscillator.yaml", "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                            "  - name: mass\n    joint: {type: prismatic, axis: [1, 0, 0], stiffness: 4, q0: 1}\n"
                            "    mass: 1\n    inertia: [1, 1, 1, 0, 0, 0]\nduration: 3\n");
}

/// How far the mass is from where it should be after `steps` steps of one entry of `methods`.
static double true_error(const cJSON *method, long steps)
{
    char dt[40], count[40], parameter[16] = "";
    const char *key = NULL;
    snprintf(dt, sizeof dt, "%.17g", duration / (double)steps);
    snprintf(count, sizeof count, "%ld", steps);
    static const char *const keys[] = {"order", "stages"}, *const options[] = {"--order", "--stages"};
    for (int k = 0; k < 2; k++) {
        const cJSON *const item = cJSON_GetObjectItemCaseSensitive(method, keys[k]);
        if (item) key = options[k], snprintf(parameter, sizeof parameter, "%d", item->valueint);
    }
    cJSON *const j = catena_json(0, "run", "oscillator.yaml", "--json", "--method", member(method, "method")->valuestring, "--dt",
                                 dt, "--steps", count, key, parameter, NULL);
    const double q = member(j, "final.q")->child->valuedouble;
    cJSON_Delete(j);
    return fabs(q - cos(omega * duration));
}

static const cJSON *find(const cJSON *sweep, const char *name)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, member(sweep, "methods")) if (!strcmp(member(m, "method")->valuestring, name)) return m;
    ck_abort_msg("no method %s", name);
}

/// The step that is found meets the error, one somewhat larger does not, and every method of the library is asked.
START_TEST(largest)
{
    write_oscillator();
    cJSON *const sweep = catena_json(0, "check", "oscillator.yaml", "--dt-sweep", "--error", "2e-3", "--json", NULL);
    ck_assert_double_eq(number(sweep, "duration"), duration);
    ck_assert_double_eq(number(sweep, "error"), 2e-3);
    ck_assert_double_le(number(sweep, "reference.change"), 2e-5);
    for (int k = 0; ctn_method_name((ctn_method)k); k++) {
        const cJSON *const m = find(sweep, ctn_method_name((ctn_method)k));
        const long steps = (long)number(m, "largest.steps"), fewer = (long)((double)steps / 1.06);
        const double error = true_error(m, steps), above = true_error(m, fewer < steps ? fewer : steps - 1);
        const char *const name = member(m, "method")->valuestring;
        ck_assert_msg(error <= 2e-3, "%s: %g with %ld steps", name, error, steps);
        // the sweep begins with steps of 0.5 s, which may be good enough for a method of high order
        const bool first = steps == (long)number(member(m, "runs")->child, "steps");
        ck_assert_msg(first || above > 2e-3, "%s: %g with less than %ld steps already", name, above, steps);
        ck_assert_double_eq_tol(number(m, "largest.error"), error, 2e-5);
        ck_assert_double_eq_tol(number(m, "largest.dt"), duration / (double)steps, 1e-15);
    }
    cJSON_Delete(sweep);
}
END_TEST

/// A link that turns about its own origin has errors, too: a period of a pendulum at 60 degrees is not met by steps of half a
/// second.
START_TEST(about_its_origin)
{
    spit("pendulum.yaml", "catena: 1\nlinks:\n  - name: rod\n    joint: {type: revolute, axis: [0, 1, 0], q0: 60 deg}\n"
                          "    mass: 1\n    com: [0, 0, -0.5]\n    inertia: [0.1, 0.1, 0.001, 0, 0, 0]\nduration: 3\n");
    cJSON *const sweep = catena_json(0, "check", "pendulum.yaml", "--dt-sweep", "--json", NULL);
    for (int k = 0; ctn_method_name((ctn_method)k); k++) {
        const cJSON *const m = find(sweep, ctn_method_name((ctn_method)k));
        ck_assert_msg(number(member(m, "runs")->child, "error") > 1e-6, "%s", member(m, "method")->valuestring);
    }
    cJSON_Delete(sweep);
}
END_TEST

/// Errors of the runs fall with the order of the method.
START_TEST(orders)
{
    static const struct {
        const char *name;
        double order;
    } known[] = {{"euler", 1}, {"rk2", 2}, {"rk3", 3}, {"rk4", 4}, {"collocation", 1}};
    write_oscillator();
    cJSON *const sweep = catena_json(0, "check", "oscillator.yaml", "--dt-sweep", "--error", "1e-4", "--json", NULL);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const double found = number(find(sweep, known[k].name), "convergence");
        ck_assert_msg(fabs(found - known[k].order) < 0.25, "%s: order %g", known[k].name, found);
    }
    cJSON_Delete(sweep);
}
END_TEST

/// A run that was made in halves says nothing of its step: it is not the largest one, nor is it drawn.
START_TEST(halved)
{
    setenv("PATH", "/nonexistent", 1);
    cJSON *const sweep = catena_json(1, "check", source("scenes/chain10.yaml"), "--dt-sweep", "--duration", "0.5", "--error",
                                     "0.05", "--json", "--plot", "e.png", NULL);
    char *const script = slurp("e.png.gnuplot", NULL), *block = script;
    const cJSON *m;
    int passed_over = 0;
    cJSON_ArrayForEach(m, member(sweep, "methods"))
    {
        const cJSON *run, *const largest = member(m, "largest");
        block = strstr(block, " << EOD\n") + 1;
        char *const end = strstr(block, "EOD\n$");
        if (end) *end = 0;
        if (!cJSON_IsNull(largest)) ck_assert_double_le(2 * number(largest, "fallbacks"), number(largest, "steps"));
        cJSON_ArrayForEach(run, member(m, "runs"))
        {
            char point[80];
            if (2 * number(run, "fallbacks") <= number(run, "steps") || !cJSON_IsNumber(member(run, "error"))) continue;
            snprintf(point, sizeof point, "%.17g %.17g\n", number(run, "dt"), number(run, "error"));
            ck_assert_ptr_null(strstr(block, point));
            passed_over += number(run, "error") <= 0.05;
        }
        if (end) block = end + 1;
    }
    ck_assert_int_gt(passed_over, 0);  // some would have been taken for good
    cJSON_Delete(sweep);
    free(script);
}
END_TEST

/// A scene that stands still has no errors to draw.
START_TEST(nothing_to_draw)
{
    spit("still.yaml", "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: revolute, mass: 1, com: [1, 0, 0], inertia: "
                       "[1, 1, 1, 0, 0, 0]}\n");
    outcome o = catena("check", "still.yaml", "--dt-sweep", "--duration", "0.1", "--plot", "e.png");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "error: --plot: there is nothing to draw: no run of any method has an error above 0"));
    ck_assert_ptr_nonnull(strstr(o.out, "\norder         how the error fell between the two runs with the smallest steps"));
    ck_assert_ptr_null(strstr(o.out, "nan"));
    outcome_free(&o);
}
END_TEST

/// A method that cannot meet the error in the steps allowed is said not to; the others go on.
START_TEST(none)
{
    write_oscillator();
    outcome o = catena("check", "oscillator.yaml", "--dt-sweep", "--error", "1e-9");
    ck_assert_int_eq(o.status, 0);
    const char *const euler = strstr(o.out, "\neuler "), *const rk4 = strstr(o.out, "\nrk4 ");
    ck_assert_ptr_nonnull(euler);
    ck_assert_ptr_nonnull(rk4);
    double dt;
    ck_assert_int_eq(strncmp(euler + 1 + strspn(euler + 1, "euler "), "none", 4), 0);
    ck_assert_int_eq(sscanf(rk4 + 5, "%lf", &dt), 1);
    ck_assert_double_lt(dt, 0.1);
    outcome_free(&o);
}
END_TEST

/// A motion too sensitive for any step size is not compared with numbers that mean nothing.
START_TEST(no_reference)
{
    spit("chaos.yaml",
         "catena: 1\nlinks:\n"
         "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], q0: 2}, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
         "  - {name: b, parent: a, position: [1, 0, 0], joint: {type: revolute, axis: [0, 1, 0], v0: 20}, mass: 1, "
         "com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n"
         "  - {name: c, parent: b, position: [1, 0, 0]}\n");
    outcome o = catena("check", "chaos.yaml", "--dt-sweep", "--duration", "60");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "error: no reference: with "));
    ck_assert_str_eq(o.out, "");
    outcome_free(&o);
}
END_TEST

START_TEST(no_duration)
{
    spit("scene.yaml",
         "catena: 1\nlinks:\n  - {name: a, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n");
    outcome o = catena("check", "scene.yaml", "--dt-sweep");
    ck_assert_int_eq(o.status, 2);
    ck_assert_str_eq(o.err, "error: how long? give --duration, or write 'duration:' into scene.yaml\n");
    outcome_free(&o);
}
END_TEST

/// The picture's script, kept where gnuplot is missing, has the points of every method.
START_TEST(plot)
{
    write_oscillator();
    setenv("PATH", "/nonexistent", 1);
    cJSON *const sweep = catena_json(1, "check", "oscillator.yaml", "--dt-sweep", "--plot", "e.png", "--json", NULL);
    char *const script = slurp("e.png.gnuplot", NULL);
    const char *at = script;
    const cJSON *m;
    cJSON_ArrayForEach(m, member(sweep, "methods"))
    {
        const cJSON *run;
        at = strstr(at, " << EOD\n");
        ck_assert_ptr_nonnull(at);
        at += strlen(" << EOD\n");
        cJSON_ArrayForEach(run, member(m, "runs"))
        {
            double dt, error;
            int length;
            if (!cJSON_IsNumber(member(run, "error"))) continue;                // of a frozen world
            if (2 * number(run, "fallbacks") > number(run, "steps")) continue;  // it does not count
            ck_assert_int_eq(sscanf(at, "%lf %lf\n%n", &dt, &error, &length), 2);
            ck_assert_double_eq(dt, number(run, "dt"));
            ck_assert_double_eq(error, number(run, "error"));
            at += length;
        }
        ck_assert_int_eq(strncmp(at, "EOD\n", 4), 0);
    }
    cJSON_Delete(sweep);
    free(script);
}
END_TEST

START_TEST(drawn)
{
    size_t size;
    if (system("gnuplot --version >/dev/null 2>&1")) {
        fprintf(stderr, "drawn: skipped: gnuplot is not installed\n");
        return;
    }
    outcome o = catena("check", source(PENDULUM), "--dt-sweep", "--duration", "0.2", "--plot", "e.png");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_str_eq(o.err, "");
    char *const picture = slurp("e.png", &size);
    ck_assert_int_eq(memcmp(picture, "\211PNG\r\n\032\n", 8), 0);
    ck_assert_int_gt((int)size, 5000);
    free(picture);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli_sweep");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    tcase_add_test(all, about_its_origin);
    tcase_add_test(all, largest);
    tcase_add_test(all, orders);
    tcase_add_test(all, none);
    tcase_add_test(all, halved);
    tcase_add_test(all, nothing_to_draw);
    tcase_add_test(all, no_reference);
    tcase_add_test(all, no_duration);
    tcase_add_test(all, plot);
    tcase_add_test(all, drawn);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
