/// `catena eval` against the golden files, and its complaints about bad states.
#include "tests/command.h"
#include "tests/golden.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MODELS = 17 };
#define TOLERANCE 1e-9  // relative to the largest entry of a field; 3e-14 was found

static const char *golden_path(const char *model, const char *file)
{
    char path[300];
    snprintf(path, sizeof path, "tests/golden/%s/%s", model, file);
    return source(path);
}

/// The numbers of lists in lists, in order; returns what comes after them.
static double *flatten(const cJSON *array, double *x)
{
    if (cJSON_IsNumber(array)) *x++ = array->valuedouble;
    for (const cJSON *entry = array->child; entry; entry = entry->next) x = flatten(entry, x);
    return x;
}

/// Same keys in the same order, inputs echoed, all else within the tolerance.
static void compare_state(const char *model, int state, const cJSON *found, const cJSON *golden)
{
    const cJSON *b = golden->child;
    int index = 0;
    for (const cJSON *a = found->child; a; a = a->next, b = b->next, index++) {
        ck_assert_msg(b != NULL, "%s: state %d: unexpected field %s", model, state, a->string);
        ck_assert_str_eq(a->string, b->string);
        const int n = cJSON_IsNumber(b) ? 1 : cJSON_GetArraySize(b);
        double *const x = malloc(((size_t)n + 1) * sizeof *x), *const y = golden_numbers(golden, b->string, n);
        ck_assert_int_eq((int)(flatten(a, x) - x), n);
        const double error = relative_error(x, y, n);
        ck_assert_msg(error <= (index < 4 ? 0 : TOLERANCE), "%s: state %d: %s: off by %.3g", model, state, a->string, error);
        free(x), free(y);
    }
    ck_assert_msg(b == NULL, "%s: state %d: no field %s", model, state, b ? b->string : "");
    ck_assert_int_eq(index, 19);
}

static void compare(const char *model, const char *scene)
{
    const char *const top[] = {"gravity", "nlinks", "nq", "nv", "links"};
    cJSON *const golden = golden_json(model, "dynamics.json");
    outcome o = catena("eval", golden_path(model, scene), "--in", golden_path(model, "dynamics.json"), "--out", "out.json");
    ck_assert_msg(o.status == 0, "%s: %s", model, o.err);
    ck_assert_str_eq(o.out, "");
    ck_assert_str_eq(o.err, "");
    char *const text = slurp("out.json", NULL);
    cJSON *const found = cJSON_ParseWithOpts(text, NULL, 1);
    ck_assert_msg(found != NULL, "%s: not JSON", model);
    ck_assert_int_eq(cJSON_GetArraySize(found), 8);
    ck_assert_str_eq(member(found, "format")->valuestring, "catena dynamics 1");
    if (!strcmp(scene, "scene.yaml")) ck_assert_str_eq(member(found, "model")->valuestring, member(golden, "model")->valuestring);
    for (size_t k = 0; k < sizeof top / sizeof *top; k++)
        ck_assert_msg(cJSON_Compare(member(found, top[k]), member(golden, top[k]), 1), "%s: %s differs", model, top[k]);
    const cJSON *b = member(golden, "states")->child;
    int state = 0;
    for (const cJSON *a = member(found, "states")->child; a; a = a->next, b = b->next) {
        ck_assert_ptr_nonnull(b);
        compare_state(model, state++, a, b);
    }
    ck_assert_ptr_null(b);
    ck_assert_int_ge(state, 2);
    cJSON_Delete(golden), cJSON_Delete(found);
    free(text);
    outcome_free(&o);
}

START_TEST(golden)
{
    const char *const model = golden_models[_i];
    ck_assert_ptr_nonnull(model);
    compare(model, "scene.yaml");
    if (!access(golden_path(model, "scene_chain.yaml"), R_OK)) compare(model, "scene_chain.yaml");
}
END_TEST

START_TEST(all_golden) { ck_assert_ptr_null(golden_models[MODELS]); }
END_TEST

/// Every engine writes the same text, and so does reading the output in again, from standard input.
START_TEST(same_text)
{
    const char *const scene = golden_path("mixed-joints", "scene.yaml"), *const in = golden_path("mixed-joints", "dynamics.json");
    outcome first = catena("eval", scene, "--in", in);
    ck_assert_int_eq(first.status, 0);
    cJSON *const info = catena_json(0, "info", scene, "--json", NULL);
    int engines = 0;
    for (const cJSON *e = member(info, "engines")->child; e; e = e->next, engines++) {
        outcome o = catena("eval", scene, "--in", in, "--engine", member(e, "name")->valuestring);
        ck_assert_str_eq(o.out, first.out);
        outcome_free(&o);
    }
    ck_assert_int_ge(engines, 1);
    cJSON_Delete(info);
    outcome again = catena_with(first.out, "eval", scene, "--in", "-", "--out", "-", NULL);
    ck_assert_int_eq(again.status, 0);
    ck_assert_str_eq(again.out, first.out);
    outcome_free(&first), outcome_free(&again);
}
END_TEST

/// More states than are computed in one go; each as if it were alone.
START_TEST(many_states)
{
    enum { COUNT = 150 };
    char *const text = malloc(COUNT * 60);
    strcpy(text, "[");
    for (int i = 0; i < COUNT; i++) sprintf(text + strlen(text), "%s{\"q\": [%.17g, %d]}", i ? "," : "", 0.01 * i, -i);
    strcat(text, "]");
    outcome all = catena_with(text, "eval", source("scenes/double-pendulum.yaml"), NULL);
    ck_assert_msg(all.status == 0, "%s", all.err);
    cJSON *const found = cJSON_Parse(all.out);
    ck_assert_int_eq(cJSON_GetArraySize(member(found, "states")), COUNT);
    for (int i = 0; i < COUNT; i += 67) {
        sprintf(text, "[{\"q\": [%.17g, %d]}]", 0.01 * i, -i);
        outcome one = catena_with(text, "eval", source("scenes/double-pendulum.yaml"), NULL);
        cJSON *const alone = cJSON_Parse(one.out);
        ck_assert(cJSON_Compare(member(alone, "states")->child, cJSON_GetArrayItem(member(found, "states"), i), 1));
        cJSON_Delete(alone);
        outcome_free(&one);
    }
    cJSON_Delete(found);
    outcome_free(&all);
    free(text);
}
END_TEST

/// Fails the test unless it is a list of `count` lists of `length` numbers.
static void is_matrix(const cJSON *rows, int count, int length)
{
    ck_assert_int_eq(cJSON_GetArraySize(rows), count);
    for (const cJSON *row = rows->child; row; row = row->next) {
        ck_assert(cJSON_IsArray(row));
        ck_assert_int_eq(cJSON_GetArraySize(row), length);
        for (const cJSON *x = row->child; x; x = x->next) ck_assert(cJSON_IsNumber(x));
    }
}

/// Matrices are lists of rows: rotations turn, inertia is symmetric, and the Jacobian gives the last link's twist.
START_TEST(matrices)
{
    outcome o = catena_with("[{\"q\": [0.3, -2], \"v\": [2, -3]}]", "eval", source("scenes/double-pendulum.yaml"), NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    cJSON *const j = cJSON_Parse(o.out);
    const cJSON *const state = member(j, "states")->child, *const R = member(state, "R"), *const J = member(state, "J_last"),
                       *const M = member(state, "M");
    ck_assert_int_eq(cJSON_GetArraySize(R), 2);
    is_matrix(R->child, 3, 3), is_matrix(R->child->next, 3, 3);
    is_matrix(member(state, "p"), 2, 3), is_matrix(member(state, "link_com"), 2, 3), is_matrix(member(state, "twist"), 2, 6);
    is_matrix(M, 2, 2), is_matrix(J, 6, 2);
    ck_assert_double_eq_tol(R->child->child->child->valuedouble, cos(0.3), 1e-15);
    ck_assert_double_eq_tol(R->child->child->child->next->next->valuedouble, sin(0.3), 1e-15);  // about y
    ck_assert_double_eq(M->child->child->next->valuedouble, M->child->next->child->valuedouble);
    const cJSON *twist = member(state, "twist")->child->next->child;
    for (const cJSON *row = J->child; row; row = row->next, twist = twist->next)
        ck_assert_double_eq_tol(2 * row->child->valuedouble - 3 * row->child->next->valuedouble, twist->valuedouble, 1e-14);
    cJSON_Delete(j);
    outcome_free(&o);
}
END_TEST

/// What is left out is zero: v, a, tau_ext, and what comes of them.
START_TEST(defaults)
{
    outcome a = catena_with("[{\"q\": [0.3, -2]}]", "eval", source("scenes/double-pendulum.yaml"), NULL);
    outcome b = catena_with("{\"nq\": 2, \"states\": [{\"tau_ext\": [0, 0], \"a\": [0, 0], \"v\": [0, 0], \"q\": [0.3, -2]}]}",
                            "eval", source("scenes/double-pendulum.yaml"), "-i", "-", NULL);
    ck_assert_int_eq(a.status, 0);
    ck_assert_str_eq(a.out, b.out);
    cJSON *const j = cJSON_Parse(a.out);
    const cJSON *const state = member(j, "states")->child;
    ck_assert_double_eq(number(state, "kinetic"), 0);
    ck_assert(cJSON_Compare(member(state, "tau_id"), member(state, "bias"), 1));
    cJSON_Delete(j);
    outcome_free(&a), outcome_free(&b);
}
END_TEST

/// A quaternion that is not quite of length one counts as its direction, and is echoed as it was given.
START_TEST(quaternions)
{
    const char *const scene = golden_path("ball5", "scene.yaml");
    outcome a = catena_with("[{\"q\": [2,0,0,0, 0,3,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0]}]", "eval", scene, NULL);
    outcome b = catena_with("[{\"q\": [1,0,0,0, 0,1,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0]}]", "eval", scene, NULL);
    ck_assert_msg(a.status == 0, "%s", a.err);
    cJSON *const x = cJSON_Parse(a.out), *const y = cJSON_Parse(b.out);
    const cJSON *const p = member(x, "states")->child, *const q = member(y, "states")->child;
    ck_assert(cJSON_Compare(member(p, "R"), member(q, "R"), 1));
    ck_assert_double_eq(member(p, "q")->child->valuedouble, 2);
    cJSON_Delete(x), cJSON_Delete(y);
    outcome_free(&a), outcome_free(&b);
}
END_TEST

static const struct {
    const char *input, *err;  // what the error contains
} bad[] = {
    {"", "standard input: empty; expected an object with a list 'states', or a list of states"},
    {" \n\t", "standard input: empty"},
    {"[{\"q\": [0, 0]},\n {\"q\": [0, 0 0]}]", "standard input:2:14: not JSON"},
    {"{\"states\": [\n  {\"q\": [0, 0],}]}", "standard input:2:"},
    {"[{\"q\": [0, 0]}] x", "not JSON"},
    {"3", "expected an object with a list 'states'"},
    {"{\"state\": []}", "expected an object with a list 'states'"},
    {"{\"nq\": 3, \"states\": []}", "nq: the scene has 2"},
    {"{\"nlinks\": 3, \"states\": []}", "nlinks: the scene has 2"},
    {"[{\"q\": [0, 0]}, {}]", "state 1: q: missing"},
    {"[{\"q\": [0, 0]}, 7]", "state 1: expected an object"},
    {"[{\"q\": [0]}]", "state 0: q: expected 2 numbers, found 1"},
    {"[{\"q\": [0, 0], \"v\": [0, 0, 0]}]", "state 0: v: expected 2 numbers, found 3"},
    {"[{\"q\": [0, 0], \"tau_ext\": 1}]", "state 0: tau_ext: expected a list of 2 numbers"},
    {"[{\"q\": [0, 0], \"a\": [0, null]}]", "state 0: a[1]: expected a finite number"},
    {"[{\"q\": [0, 0], \"a\": [0, \"1\"]}]", "state 0: a[1]: expected a finite number"},
    {"[{\"q\": [0, 0]}, {\"q\": [0, 0]}, {\"q\": [0, 0], \"v\": [NaN, 0]}]", "state 2: v[0]: expected a finite number"},
    {"[{\"q\": [-Infinity, 0]}]", "state 0: q[0]: expected a finite number"},
    {"[{\"q\": [0, Infinity]}]", "state 0: q[1]: expected a finite number"},
    {"[{\"q\": [0, 1e999]}]", "state 0: q[1]: expected a finite number"},
    {"[{\"q\": [0, 0], \"vel\": [0, 0]}]", "state 0: vel: unknown key"},
    {"[{\"q\": [0, 0], \"tau\": [0, 0]}]", "state 0: tau: unknown key"},
    {"[{\"q\": [0, 0], \"tau_exr\": [0, 0]}]", "state 0: tau_exr: unknown key; did you mean 'tau_ext'?"},
    {"[{\"q\": [0, 0], \"q\": [0, 0]}]", "state 0: q: given twice"},
};

START_TEST(bad_states)
{
    outcome o = catena_with(bad[_i].input, "eval", source("scenes/double-pendulum.yaml"), "--out", "o.json", NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_str_eq(o.out, "");
    ck_assert_msg(strstr(o.err, bad[_i].err) != NULL, "found: %s", o.err);
    ck_assert_msg(access("o.json", F_OK) != 0, "an output was written");
    outcome_free(&o);
}
END_TEST

START_TEST(more_errors)
{
    const char *const scene = source("scenes/double-pendulum.yaml");
    // all errors at once, but not too many
    outcome o = catena_with("[{\"q\": [0], \"b\": 1}, {\"q\": [1, 2], \"v\": [NaN, 1]}]", "eval", scene, NULL);
    ck_assert_ptr_nonnull(strstr(o.err, "state 0: q: "));
    ck_assert_ptr_nonnull(strstr(o.err, "state 0: b: "));
    ck_assert_ptr_nonnull(strstr(o.err, "state 1: v[0]: "));
    outcome_free(&o);
    char text[2000] = "[{}";
    for (int i = 0; i < 29; i++) strcat(text, ",{}");
    strcat(text, "]");
    o = catena_with(text, "eval", scene, NULL);
    ck_assert_ptr_nonnull(strstr(o.err, "state 19: q: missing"));
    ck_assert_ptr_null(strstr(o.err, "state 20: "));
    ck_assert_ptr_nonnull(strstr(o.err, "... and 10 more errors"));
    outcome_free(&o);
    // words within texts are left alone; a zero quaternion; files that cannot be read or written
    o = catena_with("{\"note\": \"NaN \\\" Infinity\", \"states\": [{\"q\": [0, 0]}]}", "eval", scene, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena_with("[{\"q\": [0,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0, 1,0,0,0]}]", "eval", golden_path("ball5", "scene.yaml"), NULL);
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "state 0: q: the quaternion of link '"));
    outcome_free(&o);
    o = catena("eval", scene, "--in", "missing.json");
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "missing.json: cannot be read: No such file"));
    outcome_free(&o);
    o = catena_with("[{\"q\": [0, 0]}]", "eval", scene, "--out", "/dev/full", NULL);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "/dev/full: cannot be written: No space left"));
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli_eval");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    tcase_add_loop_test(all, golden, 0, MODELS);
    tcase_add_test(all, matrices);
    tcase_add_test(all, all_golden);
    tcase_add_test(all, same_text);
    tcase_add_test(all, many_states);
    tcase_add_test(all, defaults);
    tcase_add_test(all, quaternions);
    tcase_add_loop_test(all, bad_states, 0, (int)(sizeof bad / sizeof *bad));
    tcase_add_test(all, more_errors);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
