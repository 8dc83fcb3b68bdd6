/// `catena diff`: the first place where two recordings part, the largest differences and the set-ups, against a search of the
/// datasets by brute force, and against files that were spoilt at a known place.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scene_text[] =
    "catena: 1\n"
    "name: bush\n"
    "integrator: {method: collocation, dt: 0.02}\n"
    "links:\n"
    "  - {name: trunk, joint: ball, mass: 1, com: [0, 0.1, 0.2], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: left, parent: trunk, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0], q0: 0.3}, mass: 1, com: [0.2, "
    "0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: right, parent: trunk, position: [0, 0, 1], joint: {type: prismatic, axis: [1, 0, 0], q0: 0.1}, mass: 2, com: [0, "
    "0.1, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "sample: {seed: 5, q: {left: {uniform: [-0.5, 0.25]}}, v: {all: {normal: [0, 2]}}}\n";

enum { NQ = 6, NV = 5, NLINK = 3 };

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
}

static void teardown(void) { leave_scratch(); }

/// `catena COMMAND scene.yaml --quiet --out FILE OPTIONS`
static void make(const char *command, const char *file, const char *const *options)
{
    const char *args[30] = {command, "scene.yaml", "--quiet", "--out", file};
    for (int n = 5; n < 29 && *options; n++) args[n] = *options++;
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == 0, "%s%s", o.out, o.err);
    outcome_free(&o);
}
#define MAKE(command, file, ...) make(command, file, (const char *const[]){__VA_ARGS__, NULL})

/// Expects an exit status, and words in what was printed.
static void expect(int status, const char *says, const char *const *args)
{
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == status, "exit status %d: %s%s", o.status, o.out, o.err);
    const char *const said = status == 2 ? o.err : o.out;
    ck_assert_msg(strstr(said, says) != NULL, "expected '%s', found '%s'", says, said);
    outcome_free(&o);
}
#define EXPECT(status, says, ...) expect(status, says, (const char *const[]){"diff", __VA_ARGS__, NULL})

static const cJSON *quantity(const cJSON *all, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(all, "quantities")) if (!strcmp(cJSON_GetObjectItem(one, "quantity")->valuestring,
                                                                                name)) return one;
    ck_abort_msg("no quantity %s", name);
    return NULL;
}

/// All engines and numbers of threads: one line, and nothing with --quiet.
START_TEST(equal)
{
    const char *const command = _i ? "rollout" : "run";
    MAKE(command, "a.h5", "--worlds", "9", "--steps", "40", "--hash", "--engine", "scalar", "--threads", "1");
    MAKE(command, "b.h5", "--worlds", "9", "--steps", "40", "--hash", "--engine", "auto", "--threads", "3");
    outcome o = catena("diff", "a.h5", "b.h5");
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(!strncmp(o.out, "equal: 9 worlds, 41 records from 0 to 0.8 s", 43), "%s", o.out);
    ck_assert_ptr_eq(strchr(o.out, '\n'), o.out + strlen(o.out) - 1);
    ck_assert_str_eq(o.err, "");
    outcome_free(&o);
    o = catena("diff", "a.h5", "b.h5", "--quiet");
    ck_assert_int_eq(o.status, 0);
    ck_assert_str_eq(o.out, "");
    outcome_free(&o);
    cJSON *const all = catena_json(0, "diff", "a.h5", "b.h5", "--json", NULL);
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(all, "equal")));
    ck_assert(cJSON_IsNull(cJSON_GetObjectItem(all, "first")));
    ck_assert_double_eq(number(quantity(all, "q"), "compared"), 9 * 41 * NQ);
    cJSON_Delete(all);
}
END_TEST

/// One number of a run, by one bit.
START_TEST(spoilt_run)
{
    enum { WORLDS = 3, RECORDS = 6 };
    static const struct {
        const char *set;
        size_t at;
        const char *says;
    } places[] = {
        {"q", (2 * WORLDS + 1) * NQ + 4, "first number  step 8 (0.16 s), world 1, link 'left': q.left is "},
        {"v", (4 * WORLDS + 2) * NV + 1, "first number  step 16 (0.32 s), world 2, link 'trunk': v.trunk.wy is "},
        {"pose", ((3 * WORLDS) * NLINK + 2) * 7 + 5, "first number  step 12 (0.24 s), world 0, link 'right': pose.right.qy is "},
        {"stats/created", 5 * WORLDS + 1, "first number  step 20 (0.4 s), world 1: stats/created is "},
        {"energy/kinetic", 1 * WORLDS, "first number  step 4 (0.08 s), world 0: energy/kinetic is "},
        {"hash", 13 * WORLDS + 2, "first hash    step 13 (0.26 s), world 2: its hash is "}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        MAKE("run", "a.h5", "--worlds", "3", "--steps", "20", "--every", "4", "--hash");
        ck_assert_int_eq(system("cp a.h5 b.h5"), 0);
        spoil("b.h5", places[k].set, places[k].at);
        EXPECT(1, places[k].says, "a.h5", "b.h5");
        EXPECT(1, places[k].says, "b.h5", "a.h5");
        cJSON *const all = catena_json(1, "diff", "a.h5", "b.h5", "--json", NULL);
        ck_assert_double_eq(number(quantity(all, places[k].set), "differ"), 1);
        const char *const first = cJSON_GetObjectItem(cJSON_GetObjectItem(all, "first"), "quantity")->valuestring;
        ck_assert_str_eq(first, places[k].set);
        cJSON_Delete(all);
        if (k == 0) {
            EXPECT(0, "equal: 1 world, 6 records", "a.h5", "b.h5", "--world", "2");
            EXPECT(1, "world 1, link 'left'", "a.h5", "b.h5", "--world", "1");
            EXPECT(0, "absolute tolerance 1e-12", "a.h5", "b.h5", "--tolerance", "1e-12");
            EXPECT(1, "relative tolerance 1e-17", "a.h5", "b.h5", "--tolerance", "1e-17", "--relative");
            EXPECT(0, "relative tolerance 1e-15", "a.h5", "b.h5", "--tolerance", "1e-15", "--relative");
        }
        if (k == 5) EXPECT(1, "first number  none", "a.h5", "b.h5");
    }
}
END_TEST

/// Likewise of a rollout; worlds that are not done are no difference.
START_TEST(spoilt_rollout)
{
    enum { TIMES = 7 };
    MAKE("rollout", "a.h5", "--worlds", "9", "--steps", "21", "--stride", "4", "--hash", "--keep", "q,v,pose");
    ck_assert_int_eq(system("cp a.h5 b.h5 && cp a.h5 c.h5"), 0);
    spoil("b.h5", "energy_after", 4);
    EXPECT(1, "first number  at the end, world 4: energy_after is ", "a.h5", "b.h5");
    spoil("b.h5", "hash", 6 * 22 + 11);
    EXPECT(1, "first hash    step 11 (0.22 s), world 6: its hash is ", "a.h5", "b.h5");
    spoil("b.h5", "v", (7 * TIMES + 6) * NV + 4);
    EXPECT(1, "first number  step 21 (0.42 s), world 7, link 'right': v.right is ", "a.h5", "b.h5");
    spoil("b.h5", "q", (8 * TIMES + 5) * NQ + 5);
    EXPECT(1, "first number  step 20 (0.4 s), world 8, link 'right': q.right is ", "a.h5", "b.h5");
    for (size_t w = 4; w < 9; w++) spoil("c.h5", "status", w);
    spoil("c.h5", "q", 8 * TIMES * NQ);
    EXPECT(0, "equal: 4 worlds, 7 records from 0 to 0.42 s; 5 worlds are not done in both", "a.h5", "c.h5");
    for (size_t w = 0; w < 4; w++) spoil("c.h5", "status", w);
    EXPECT(2, "a.h5 and c.h5 have no world in common that is done", "a.h5", "c.h5");
}
END_TEST

/// What the search finds in q, compared with one over the whole datasets: records every 2 and every 3 steps, of runs and
/// rollouts, more numbers than are read at a time.
START_TEST(by_brute_force)
{
    enum { WORLDS = 200, STEPS = 1800 };
    const int kinds[2] = {_i & 1, _i >> 1};  // rollouts
    const size_t every[2] = {2, 3}, records[2] = {STEPS / 2 + 1, STEPS / 3 + 1};
    double *q[2];
    for (int side = 0; side < 2; side++) {
        const char *const file = side ? "b.h5" : "a.h5", *const n = side ? "3" : "2",
                          *const method = side ? "euler" : "semi-implicit";
        MAKE(kinds[side] ? "rollout" : "run", file, "--worlds", "200", "--steps", "1800", "--dt", "0.0001", "--method", method,
             kinds[side] ? "--stride" : "--every", n);
        size_t count;
        q[side] = numbers(file, "q", &count);
        ck_assert_uint_eq(count, records[side] * WORLDS * NQ);
    }
    size_t first[3] = {STEPS + 1}, differ = 0, compared = 0;
    double largest = -1;
    for (size_t step = 0; step <= STEPS; step += 6)
        for (size_t w = 0; w < WORLDS; w++)
            for (size_t e = 0; e < NQ; e++) {
                double x[2];
                for (int side = 0; side < 2; side++) {
                    const size_t k = step / every[side];
                    x[side] = q[side][(kinds[side] ? w * records[side] + k : k * WORLDS + w) * NQ + e];
                }
                compared++;
                if (x[0] == x[1]) continue;
                if (!differ++) first[0] = step, first[1] = w, first[2] = e;
                largest = fmax(largest, fabs(x[0] - x[1]));
            }
    ck_assert_uint_gt(differ, 0);
    cJSON *const all = catena_json(1, "diff", "a.h5", "b.h5", "--json", NULL);
    const cJSON *const found = quantity(all, "q");
    ck_assert_double_eq(number(found, "compared"), (double)compared);
    ck_assert_double_eq(number(found, "differ"), (double)differ);
    ck_assert_double_eq(number(found, "first.step"), (double)first[0]);
    ck_assert_double_eq(number(found, "first.world"), (double)first[1]);
    ck_assert_double_eq(number(found, "largest.difference"), largest);
    static const char *const names[NQ] = {"q.trunk.qw", "q.trunk.qx", "q.trunk.qy", "q.trunk.qz", "q.left", "q.right"};
    ck_assert_str_eq(member(found, "first.number")->valuestring, names[first[2]]);
    cJSON_Delete(all);
    free(q[0]), free(q[1]);
}
END_TEST

/// The earliest difference is found in worlds that are read after others, with later ones.
START_TEST(across_blocks)
{
    enum { WORLDS = 200, TIMES = 901 };
    MAKE("rollout", "a.h5", "--worlds", "200", "--steps", "900", "--dt", "0.0001", "--method", "euler");
    ck_assert_int_eq(system("cp a.h5 b.h5"), 0);
    spoil("b.h5", "q", TIMES * NQ - 1);
    spoil("b.h5", "q", ((WORLDS - 1) * TIMES + 3) * NQ + 4);
    EXPECT(1, "first number  step 3 (0.0003 s), world 199, link 'left': q.left is ", "a.h5", "b.h5");
    cJSON *const all = catena_json(1, "diff", "a.h5", "b.h5", "--json", NULL);
    ck_assert_double_eq(number(quantity(all, "q"), "differ"), 2);
    cJSON_Delete(all);
}
END_TEST

/// The common part of recordings of other lengths and intervals is compared, and the rest is told.
START_TEST(lengths)
{
    MAKE("run", "a.h5", "--steps", "40", "--engine", "scalar");
    MAKE("run", "b.h5", "--steps", "30", "--every", "7", "--engine", "scalar");
    EXPECT(0, "equal: 1 world, 6 records from 0 to 0.6 s; A has 35 records more; made with another every", "a.h5", "b.h5");
    MAKE("run", "c.h5", "--steps", "30", "--every", "7", "--worlds", "3", "--engine", "scalar");
    EXPECT(0, "equal: 1 world, 6 records from 0 to 0.6 s; made with another worlds", "b.h5", "c.h5");
    MAKE("rollout", "d.h5", "--worlds", "2", "--steps", "35", "--keep", "q");
    MAKE("rollout", "e.h5", "--worlds", "2", "--steps", "45", "--keep", "q,energy");
    EXPECT(0, "equal: 2 worlds, 36 records from 0 to 0.7 s; B has 10 records more", "d.h5", "e.h5");
}
END_TEST

/// What of the set-ups differs.
START_TEST(setups)
{
    MAKE("run", "a.h5", "--steps", "40", "--engine", "scalar");
    MAKE("run", "b.h5", "--steps", "80", "--dt", "0.01", "--method", "radau", "--engine", "auto");
    EXPECT(1, "method: collocation in A, radau in B (another motion)", "a.h5", "b.h5");
    EXPECT(1, "dt: 0.02 in A, 0.01 in B (another motion)", "a.h5", "b.h5");
    EXPECT(1, "step 1 (0.02 s), world 0", "a.h5", "b.h5");
    EXPECT(0, "equal: 1 world, 41 records from 0 to 0.8 s, absolute tolerance 1000", "a.h5", "b.h5", "--tolerance", "1000");
    MAKE("run", "b.h5", "--steps", "40", "--parallel", "links");
    EXPECT(0, "made with another parallel, lanes", "a.h5", "b.h5", "--tolerance", "1e-5");
    EXPECT(1, "parallel: nothing in A, links in B (the same up to rounding)", "a.h5", "b.h5");

    char text[sizeof scene_text];
    memcpy(text, scene_text, sizeof text);
    memcpy(strstr(text, "mass: 2"), "mass: 3", 7);
    spit("scene.yaml", text);
    MAKE("run", "b.h5", "--steps", "40", "--engine", "scalar");
    EXPECT(1, "set-up        scene, line 7 of scene.yaml: - {name: right", "a.h5", "b.h5");
    EXPECT(1, "              link 'right', mass (kg): 2 in A, 3 in B (another motion)", "a.h5", "b.h5");
    EXPECT(1, "first number  step 0 (0 s), world 0: energy/potential is ", "a.h5", "b.h5");
    memcpy(strstr(text, "prismatic, axis: [1, 0, 0]"), "revolute,  axis: [1, 0, 0]", 26);
    memcpy(strstr(text, "name: left"), "name: lost", 10), memcpy(strstr(text, "{left"), "{lost", 5);
    spit("scene.yaml", text);
    MAKE("run", "b.h5", "--steps", "40", "--engine", "scalar");
    EXPECT(1, "links: left in A, nothing in B", "a.h5", "b.h5");
    EXPECT(1, "links: nothing in A, lost in B", "a.h5", "b.h5");
    EXPECT(1, "link 'right', joint: prismatic in A, revolute in B", "a.h5", "b.h5");
    cJSON *const all = catena_json(1, "diff", "a.h5", "b.h5", "--json", NULL);
    ck_assert_double_eq(number(quantity(all, "q"), "compared"), 41 * 4);  // those of the trunk
    cJSON_Delete(all);
}
END_TEST

/// Links in another order are known by their names.
START_TEST(other_order)
{
    MAKE("run", "a.h5", "--steps", "10");
    char text[sizeof scene_text];
    const char *const left = strstr(scene_text, "  - {name: left"), *const right = strstr(scene_text, "  - {name: right"),
                      *const rest = strstr(scene_text, "sample:");
    snprintf(text, sizeof text, "%.*s%.*s%.*s%s", (int)(left - scene_text), scene_text, (int)(rest - right), right,
             (int)(right - left), left, rest);
    spit("scene.yaml", text);
    MAKE("run", "b.h5", "--steps", "10");
    EXPECT(0, "equal: 1 world, 11 records", "a.h5", "b.h5", "--tolerance", "1e-9");
    cJSON *const all = catena_json(0, "diff", "a.h5", "b.h5", "--json", "--tolerance", "1e-9", NULL);
    ck_assert_double_eq(number(quantity(all, "q"), "compared"), 11 * NQ);
    cJSON_Delete(all);
}
END_TEST

START_TEST(wrong)
{
    MAKE("run", "a.h5", "--steps", "4");
    MAKE("run", "a.csv", "--steps", "4");
    EXPECT(2, "A B is missing", "a.h5");
    EXPECT(2, "nowhere.h5: cannot be read: No such file or directory", "a.h5", "nowhere.h5");
    EXPECT(2, "a.csv: cannot be read: it is no HDF5 file", "a.csv", "a.h5");
    EXPECT(2, "--tolerance: expected 0 or more, found -1", "a.h5", "a.h5", "--tolerance", "-1");
    EXPECT(2, "--relative says what --tolerance is relative to", "a.h5", "a.h5", "--relative");
    EXPECT(2, "--world: a.h5 has 1 world, from 0 on, found 1", "a.h5", "a.h5", "--world", "1");
    EXPECT(2, "'catena diff' has no option '--dt'", "a.h5", "a.h5", "--dt", "1");
    MAKE("rollout", "q.h5", "--worlds", "2", "--steps", "4", "--keep", "q");
    MAKE("rollout", "v.h5", "--worlds", "2", "--steps", "5", "--keep", "v");
    EXPECT(2, "q.h5 and v.h5 have no quantity in common", "q.h5", "v.h5");
    MAKE("run", "b.h5", "--steps", "4", "--dt", "0.03", "--every", "4");
    MAKE("run", "c.h5", "--steps", "8", "--dt", "0.01", "--every", "8");
    EXPECT(0, "equal: 1 world, 1 record from 0 to 0 s", "b.h5", "c.h5");
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli_diff");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, equal, 0, 2);
    tcase_add_test(all, spoilt_run);
    tcase_add_test(all, spoilt_rollout);
    tcase_add_loop_test(all, by_brute_force, 0, 4);
    tcase_add_test(all, across_blocks);
    tcase_add_test(all, lengths);
    tcase_add_test(all, setups);
    tcase_add_test(all, other_order);
    tcase_add_test(all, wrong);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
