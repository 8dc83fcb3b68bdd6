/// `catena search`: programs that reward, several seeds, and the way from a robot's file to a gait that the docs show.
#include "sim/scene/scene.h"
#include "tests/command.h"
#include "tests/slider.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- programs

#define SAYS_Q                                                                                                                   \
    "tee -a told | sed -un '/\"protocol\"/d; /\"begin\"/d; s/.*\"q\":\\[\\(.*\\)\\],\"v\":.*/\\1/; s/[][]//g; "                  \
    "s/.*/{\"reward\": "                                                                                                         \
    "[&]}/p'"

/// A program says what worlds earn: as a term of the same worth.
START_TEST(a_program_rewards)
{
    enter_scratch();
    spit("scene.yaml", SLIDER SPLINE "search: {generations: 3, population: 4}\n");
    outcome o = catena("search", "scene.yaml", "--out", "found.yaml", "--reward", SAYS_Q);
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const told = slurp("told", NULL), *second = strchr(told, '\n');
    ck_assert_ptr_nonnull(strstr(told, "\"protocol\":1,\"duration\":1,\"nq\":1,\"nv\":1,\"nu\":1"));
    ck_assert(second && strstr(second, "{\"begin\":true,\"worlds\":4,\"time\":0,\"dt\":0,\"q\":[[0],[0],[0],[0]]") == second + 1);
    ck_assert_ptr_nonnull(strstr(second, "\"over\":[false,false,false,false],\"last\":true}"));
    free(told);
    // a term of the same worth, times the 0.04 s of an interval
    spit("term.yaml", SLIDER SPLINE "reward: [{term: progress, link: a, weight: 25, when: running}]\nsearch: {generations: 3, "
                                    "population: 4}\n");
    o = catena("search", "term.yaml", "--out", "by-term.yaml");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    ctn_error err;
    ctn_scene *const a = ctn_scene_load("found.yaml", &err), *const b = ctn_scene_load("by-term.yaml", &err);
    for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(a->controller.parameters[k], b->controller.parameters[k], 1e-9);
    ctn_scene_free(a), ctn_scene_free(b);
    // a checkpoint belongs to its program
    o = catena("search", "scene.yaml", "--out", "found.yaml", "--reward", "cat", "--resume");
    ck_assert_msg(o.status == 2 && strstr(o.err, "belongs to another scene, reward, method"), "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

START_TEST(programs_that_do_not_answer)
{
    static const struct {
        const char *command, *says;
    } bad[] = {
        {"read x; exit 7", "--reward: the process ended with status 7 at 0"},
        {"read x; read x; read x; exit 0", "--reward: the process ended with status 0 at 0.04 s of an episode; it has to answer"},
        {"read x; kill -9 $$", "--reward: the process was ended by signal 9 at 0"},
        {"read x; read x; read x; echo hello; cat > /dev/null", "--reward: expected an object of JSON in a line, as"},
        {"read x; read x; read x; echo '{\"reward\": [1]}'; cat > /dev/null",
         "--reward: \"reward\": expected a list of 4, a number or null for each world, found 1"},
        {"read x; read x; read x; echo '{\"reward\": [1, 2, null, true]}'; cat > /dev/null",
         "--reward: \"reward\": world 3: expected a number or null"},
        {"/nowhere/at-all", "--reward: the process ended with status 127 at 0"}};
    enter_scratch();
    spit("scene.yaml", SLIDER SPLINE "search: {generations: 3, population: 4}\n");
    outcome o = catena("search", "scene.yaml", "--out", "found.yaml", "--quiet", "--reward", bad[_i].command);
    ck_assert_msg(o.status == 1 && strstr(o.err, bad[_i].says), "%d: %s", o.status, o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

// ---- seeds

/// By a policy gradient: half of it and then the rest give the same scene; it is told in steps.
START_TEST(the_command_by_gradients)
{
    enter_scratch();
    spit("scene.yaml", SLIDER "sensors: [{name: x, type: joint_position, joint: a}, {name: w, type: joint_velocity, joint: a}]\n"
                              "controller: {type: tanh, sensors: all, hidden: [6], range: [-1, 1], every: 0.04}\n"
                              "reward: [{term: posture, weight: -1}]\nsample: {q: {a: {uniform: [-1, 1]}}}\n"
                              "search: {method: shac, generations: 12, worlds: 8, horizon: 0.2, critic: [8]}\n");
    outcome o = catena("search", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    ck_assert_msg(strstr(o.out, "generation 12    steps 960 "), "%s", o.out);
    ck_assert_msg(strstr(o.out, "parameters after 960 steps in 12 generations"), "%s", o.out);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "again.yaml", "--generations", "5", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "again.yaml", "--resume", "--threads", "2");
    ck_assert_msg(o.status == 0 && strstr(o.out, "generation 6 ") == o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const a = slurp("found.yaml", NULL), *const b = slurp("again.yaml", NULL);
    ck_assert_str_eq(a, b);
    free(a), free(b);
    o = catena("run", "found.yaml", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "own.yaml", "--reward", "cat");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--reward goes with method: cma"), "%d %s", o.status, o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// Waits until a file is there; false: it does not come.
static bool comes(const char *path)
{
    for (int k = 0; k < 60000; k++, usleep(1000))
        if (!access(path, F_OK)) return true;
    return false;
}

/// Ctrl-C while a policy is judged for the first time, which takes long: no generation is kept yet, and none is told of. And while
/// candidates are judged at the end: they are kept, and judged after --resume.
START_TEST(interrupted_while_judging)
{
    enter_scratch();
    spit("scene.yaml", SLIDER "sensors: [{name: x, type: joint_position, joint: a}, {name: w, type: joint_velocity, joint: a}]\n"
                              "controller: {type: tanh, sensors: all, hidden: [6], range: [-1, 1], every: 0.04}\n"
                              "reward: [{term: posture, weight: -1}]\nsample: {q: {a: {uniform: [-1, 1]}}}\n"
                              "search: {method: shac, generations: 12, worlds: 8, horizon: 0.2, critic: [8]}\n");
    const char *const policy[] = {"search", "scene.yaml", "--out", "found.yaml", "--duration", "200000", NULL};
    pid_t pid = catena_start(policy);
    ck_assert(comes("found.yaml.csv"));
    usleep(300000);
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    outcome o = catena_wait(pid);
    ck_assert_msg(o.status == 1 && strstr(o.err, "interrupted before the first generation was made"), "%d %s", o.status, o.err);
    ck_assert_int_ne(access("found.yaml.checkpoint", F_OK), 0);
    outcome_free(&o);

    spit("long.yaml", SLIDER SPLINE REACH SAMPLED "search: {generations: 1, population: 2}\n");
    const char *const again[] = {"search", "long.yaml", "--out", "long-found.yaml", "--duration", "1000", NULL};
    pid = catena_start(again);
    ck_assert(comes("long-found.yaml.checkpoint"));
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    o = catena_wait(pid);
    ck_assert_msg(o.status == 1 &&
                      strstr(o.err, "interrupted after 1 generation, while what they found was judged; --resume goes on"),
                  "%d %s", o.status, o.err);
    outcome_free(&o);
    o = catena("search", "long.yaml", "--out", "long-found.yaml", "--duration", "1000", "--resume");
    ck_assert_msg(o.status == 0 && strstr(o.out, "\njudged ") && !strstr(o.out, "generation 2"), "%d %s%s", o.status, o.out,
                  o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

/// Several seeds are searches of their own, of which the best is written; --resume makes what is missing.
START_TEST(several_seeds)
{
    enter_scratch();
    spit("scene.yaml", SLIDER SPLINE REACH SAMPLED "search: {generations: 4, population: 4}\n");
    double each[3], most = -INFINITY;
    int seed = 0;
    char name[40], number[20], *best = NULL;
    for (int k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "one%d.yaml", k), snprintf(number, sizeof number, "%d", 7 + k);
        outcome o = catena("search", "scene.yaml", "--out", name, "--seed", number);
        ck_assert_int_eq(o.status, 0);
        const char *const judged = strstr(o.out, "\njudged ");
        ck_assert_msg(judged != NULL, "%s", o.out);
        each[k] = strtod(judged + 8, NULL);
        if (each[k] > most) most = each[k], seed = k;
        outcome_free(&o);
    }
    outcome o = catena("search", "scene.yaml", "--out", "all.yaml", "--seed", "7", "--seeds", "3");
    ck_assert_msg(o.status == 0, "%s", o.err);
    for (int k = 0; k < 3; k++) {
        char row[80];
        snprintf(row, sizeof row, "\n%-12d %-12.6g 16           4\n", 7 + k, each[k]);
        ck_assert_msg(strstr(o.out, row) != NULL, "%s not in %s", row, o.out);
        snprintf(name, sizeof name, "all.yaml.seed-%d.csv", 7 + k);
        char *const table = slurp(name, NULL);
        ck_assert_ptr_nonnull(strstr(table, "\n4,16,"));
        free(table);
    }
    double sorted[3] = {each[0], each[1], each[2]};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (sorted[j] < sorted[j + 1]) {
                const double x = sorted[j];
                sorted[j] = sorted[j + 1], sorted[j + 1] = x;
            }
    char line[120];
    snprintf(line, sizeof line, "best %.6g, median %.6g, worst %.6g\n", sorted[0], sorted[1], sorted[2]);
    ck_assert_msg(strstr(o.out, line) != NULL, "%s not in %s", line, o.out);
    outcome_free(&o);
    // the scene is that of the best
    snprintf(name, sizeof name, "one%d.yaml", seed);
    best = slurp(name, NULL);
    char *const found = slurp("all.yaml", NULL);
    ck_assert_str_eq(strchr(best, '\n'), strchr(found, '\n'));
    snprintf(line, sizeof line, "16 evaluations, seed %d.\n", 7 + seed);
    ck_assert_msg(strstr(found, line) != NULL, "%s", found);
    // a search that was ended after the first two, and goes on
    remove("all.yaml.seed-9.checkpoint");
    o = catena("search", "scene.yaml", "--out", "all.yaml", "--seed", "7", "--seeds", "3", "--resume", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const again = slurp("all.yaml", NULL);
    ck_assert_str_eq(found, again);
    free(best), free(found), free(again);
    o = catena("search", "scene.yaml", "--out", "new.yaml", "--seeds", "3", "--resume");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--resume: new.yaml.seed-1.checkpoint: cannot be read"), "%s", o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "new.yaml", "--seed", "2147483646", "--seeds", "3");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--seeds: from 2147483646 on there are no 3 seeds"), "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

// ---- docs/search.md

/// Runs a line "catena ..." of the docs, in words that have no quotes.
static void run_line(char *line)
{
    const char *words[20] = {NULL};
    int n = 0;
    for (char *rest, *word = strtok_r(line, " ", &rest); word && n < 19; word = strtok_r(NULL, " ", &rest)) words[n++] = word;
    ck_assert_str_eq(words[0], "catena");
    words[0] = CATENA_BINARY;
    outcome o = catena_wait(program_start(words));
    ck_assert_msg(o.status == 0, "%s: %d: %s", words[1], o.status, o.err);
    outcome_free(&o);
}

/// The commands of "From a URDF to a gait", one after the other: the dog gets on.
START_TEST(from_a_urdf_to_a_gait)
{
    enter_scratch();
    char *const page = slurp(source("docs/search.md"), NULL), *const section = strstr(page, "## From a URDF to a gait");
    ck_assert_ptr_nonnull(section);
    char *const scene = between(section, "```yaml\n", "```\n"), *const session = between(section, "```console\n", "```\n");
    ck_assert(!symlink(source("scenes"), "scenes") && !mkdir("mine", 0700) && !chdir("mine"));
    spit("dog.yaml", scene);
    int commands = 0;
    for (char *rest, *line = strtok_r(session, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), commands++) {
        ck_assert_msg(!strncmp(line, "$ ", 2), "%s", line);
        run_line(line + 2);
    }
    ck_assert_int_eq(commands, 6);
    cJSON *const j = catena_json(0, "run", "trot.yaml", "--json", NULL);
    const double x = member(j, "final.q")->child->valuedouble;
    ck_assert_msg(x > 1, "it comes to x = %g m", x);
    cJSON_Delete(j);
    ck_assert(!access("learning.png", F_OK) && !access("gait.png", F_OK));
    free(page), free(scene), free(session);
    ck_assert(!chdir(".."));
    leave_scratch();
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("all");
    Suite *const suite = suite_create("cli search");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_program_rewards), tcase_add_loop_test(t, programs_that_do_not_answer, 0, 7);
    tcase_add_test(t, the_command_by_gradients), tcase_add_test(t, several_seeds);
    tcase_add_test(t, interrupted_while_judging);
    tcase_add_test(t, from_a_urdf_to_a_gait);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
