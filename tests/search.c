/// Searches for controllers: what they find, that they go on with the same bits, and what they refuse.
#include "control/search.h"
#include "tests/command.h"
#include "tests/slider.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_scene *parse(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

static search *open(ctn_scene *scene, const char *engine, int threads, ctn_error *err)
{
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.engine = engine, cfg.threads = threads;
    static ranks alone;
    alone = ranks_alone();
    return search_open(scene, &cfg, ctn_scene_duration(scene), &alone, NULL, err);
}

static search *opened(ctn_scene *scene, const char *engine, int threads)
{
    ctn_error err;
    search *const s = open(scene, engine, threads, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    return s;
}

static void make(search *s, int generations)
{
    ctn_error err;
    for (int g = 0; g < generations; g++) ck_assert_msg(search_step(s, &err) == CTN_OK, "%s", err.message);
}

enum { KNOTS = 3 };

// ---- what it finds

START_TEST(finds_what_is_asked_for)
{
    ctn_scene *const scene = parse(SLIDER SPLINE REACH "search: {seed: 3, population: 8}\n");
    search *const s = opened(scene, NULL, 1);
    double found[KNOTS], value;
    ctn_error err;
    ck_assert_int_eq(search_parameters(s), KNOTS);
    ck_assert_int_eq(search_worlds(s), 8);
    ck_assert_int_eq(search_best(s, found, &err), CTN_BAD_ARGUMENT);
    make(s, 1);
    const double first = search_get_state(s).best;
    make(s, 39);
    const ctn_search_state x = search_get_state(s);
    ck_assert_int_eq((int)x.evaluations, 320);
    ck_assert_double_gt(x.best, -1e-4);
    ck_assert_double_lt(first, -1e-3);  // it was no accident
    ck_assert_int_eq((int)x.lost, 0);
    ck_assert_int_eq(search_best(s, found, &err), CTN_OK);
    // its value is that of the candidate, and steps a tenth as long say about the same, as the controller is told as before
    ck_assert_int_eq(search_value(s, found, 1, &value, &err), CTN_OK);
    ck_assert_double_eq(value, x.best);
    ck_assert_int_eq(search_value(s, found, 10, &value, &err), CTN_OK);
    ck_assert_double_eq_tol(value, x.best, 1e-3);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

/// The scene that is made of what is found is another one in its parameters alone, and earns the same.
START_TEST(makes_a_scene)
{
    static const char *const written[] = {
        "controller: {type: spline, parameters: [1, # no ] here\n  2, 3], knots: 3, period: 4, range: [-1, 1], every: 0.04}\n",
        ("controller: {type: spline, motors: [\"a\"], every: 0.04, # \xc3\xa4\n  knots: 3, period: 4, range: [-1, 1]}\n"
         "camera: {target: a}\n"),
        SPLINE, "controller: {type: spline, parameters: [1, 2,\n  3], knots: 3, period: 4, range: [-1, 1], every: 0.04}\n",
        "controller:\n  type: spline\n  knots: 3\n  period: 4\n  range: [-1, 1]\n  every: 0.04\n"};
    char text[2000];
    ctn_error err;
    snprintf(text, sizeof text, "%s%s%s", SLIDER, written[_i], REACH);
    ctn_scene *const scene = parse(text);
    const double numbers[KNOTS] = {1.0 / 3, -0.1, 6.02e-23};
    char *const made = search_scene(scene, numbers, KNOTS, "found", &err);
    ck_assert_msg(made != NULL, "%s", err.message);
    ck_assert_msg(strstr(made, "# found\ncatena: 1\n") == made, "%s", made);
    ctn_scene *const found = parse(made);
    ctn_model *const m = ctn_model_create(found, &err);
    double start[KNOTS];
    ck_assert_int_eq(ctn_model_controller_parameters(m), KNOTS);
    ctn_model_controller(m, start, NULL, NULL);
    ck_assert(!memcmp(start, numbers, sizeof start));
    search *const a = opened(scene, NULL, 1), *const b = opened(found, NULL, 1);
    double x, y;
    ck_assert_int_eq(search_value(a, numbers, 1, &x, &err), CTN_OK);
    ck_assert_int_eq(search_value(b, start, 1, &y, &err), CTN_OK);
    ck_assert_double_eq(x, y);
    search_close(a), search_close(b);
    ctn_model_free(m), ctn_scene_free(found), ctn_scene_free(scene), free(made);
}
END_TEST

START_TEST(writes_no_scene_that_it_would_spoil)
{
    ctn_error err;
    ctn_scene *const scene = parse(SLIDER "controller:\n  type: spline\n  knots: 3\n  period: 4\n  range: [-1, 1]\n"
                                          "  parameters:\n    - 1\n    - 2\n    - 3\n" REACH);
    const double numbers[KNOTS] = {1, 2, 3};
    ck_assert_ptr_null(search_scene(scene, numbers, KNOTS, "found", &err));
    ck_assert_msg(strstr(err.message, "controller.parameters: write them as a list in brackets"), "%s", err.message);
    ctn_scene_free(scene);
}
END_TEST

// ---- bits

/// Engines, threads, and a pause with a checkpoint make no difference.
START_TEST(same_bits)
{
    enter_scratch();
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    const char *const text = SLIDER SPLINE REACH SAMPLED "search: {seed: 3, population: 6, worlds: 3}\n";
    ctn_scene *const scene = parse(text);
    double best[KNOTS], other[KNOTS];
    ctn_error err;
    search *const s = opened(scene, "scalar", 1);
    make(s, 10);
    const ctn_search_state x = search_get_state(s);
    ck_assert_int_eq(search_best(s, best, &err), CTN_OK);
    for (int e = 0; e < 3; e++)
        for (int threads = 1; threads < 3; threads++) {
            search *const t = open(scene, engines[e], threads, &err);
            if (!t) continue;  // a CPU without it
            make(t, 4);
            ck_assert_msg(search_save(t, "t.checkpoint", &err) == CTN_OK, "%s", err.message);
            search_close(t);
            search *const u = opened(scene, engines[e], threads);
            ck_assert_msg(search_restore(u, "t.checkpoint", &err) == CTN_OK, "%s", err.message);
            make(u, 6);
            const ctn_search_state y = search_get_state(u);
            ck_assert_int_eq(search_best(u, other, &err), CTN_OK);
            ck_assert_msg(!memcmp(best, other, sizeof best) && x.best == y.best && x.mean == y.mean && x.sigma == y.sigma &&
                              x.generation == y.generation,
                          "%s, %d threads", engines[e], threads);
            search_close(u);
        }
    search_close(s), ctn_scene_free(scene);
    leave_scratch();
}
END_TEST

/// Candidates are compared in the same worlds: two that are alike earn the same, and generations have other worlds.
START_TEST(draws_worlds_in_common)
{
    ctn_scene *const scene = parse(SLIDER SPLINE REACH SAMPLED "search: {population: 4, worlds: 5, sigma: 1e-6}\n");
    search *const s = opened(scene, NULL, 1);
    make(s, 1);
    const ctn_search_state a = search_get_state(s);
    ck_assert_double_eq_tol(a.best, a.worst, 2e-6);
    make(s, 1);
    ck_assert_double_gt(fabs(search_get_state(s).mean - a.mean), 1e-5);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

/// Worlds that freeze are counted, and never the best.
/// In worlds drawn anew in each generation the luckiest candidate is not the best: at the end it is judged beside the mean.
START_TEST(judges_what_is_found)
{
    int means = 0, lower = 0;
    for (int seed = 1; seed <= 6; seed++) {
        char text[1500];
        snprintf(text, sizeof text, "%ssample: {v: {a: {normal: [0, 2]}}}\nsearch: {seed: %d, population: 6, sigma: 0.05}\n",
                 SLIDER SPLINE REACH, seed);
        ctn_scene *const scene = parse(text);
        ctn_error err;
        search *const s = opened(scene, NULL, 1);
        make(s, 12);
        const double lucky = search_get_state(s).best;
        double before[KNOTS], after[KNOTS];
        ck_assert(search_best(s, before, &err) == CTN_OK && search_finish(s, &err) == CTN_OK);
        ck_assert(search_best(s, after, &err) == CTN_OK);
        ck_assert_int_eq(search_get_state(s).judges, 8);
        means += memcmp(before, after, sizeof before) != 0, lower += search_get_state(s).best < lucky;
        search_close(s), ctn_scene_free(scene);
    }
    ck_assert_msg(means && lower >= 3, "the mean was better %d times, luck told %d times", means, lower);
}
END_TEST

START_TEST(counts_what_is_lost)
{
    ctn_error err;
    double found[KNOTS];
    ctn_scene *const scene = parse(
        "catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
        "motors: [{joint: a, type: position, kp: 1e9, kd: 10}]\nintegrator: {method: semi-implicit, dt: 0.05}\nduration: "
        "5\n" SPLINE REACH "search: {population: 4}\n");
    search *const s = opened(scene, NULL, 1);
    make(s, 2);
    const ctn_search_state x = search_get_state(s);
    ck_assert_int_eq((int)x.lost, 8);
    ck_assert(isnan(x.mean) && x.best == -INFINITY);
    ck_assert_int_eq(search_best(s, found, &err), CTN_BAD_ARGUMENT);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

// ---- rewards of one's own

/// What the slider's path earns, out of the states that the caller is shown: as `progress` does that runs.
typedef struct {
    int begun, ended, asked;
    double worth;
    ctn_status fails;
} watcher;

static ctn_status watch(void *with, const ctn_search_moment *now, double *earned, ctn_error *err)
{
    watcher *const x = with;
    if (!(now->dt > 0)) {
        x->begun++;
        for (int w = 0; w < now->worlds; w++) ck_assert(now->time[w] == 0 && now->q[w] == 0 && !now->over[w]);
        return CTN_OK;
    }
    x->asked++, x->ended += now->last;
    ck_assert_double_eq_tol(now->dt, 0.04, 1e-15);
    for (int w = 0; w < now->worlds; w++) earned[w] = x->worth * now->q[w] * now->dt;
    *err = (ctn_error){.status = x->fails};
    return x->fails;
}

static search *opened_with(ctn_scene *scene, watcher *with)
{
    ctn_error err;
    const ctn_batch_config cfg = ctn_scene_config(scene);
    static ranks alone;
    alone = ranks_alone();
    const search_reward own = {.earn = watch, .with = with, .name = "watch"};
    search *const s = search_open(scene, &cfg, ctn_scene_duration(scene), &alone, &own, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    return s;
}

#define GOES "reward: [{term: progress, link: a, weight: 2, when: running}]\n"

/// A reward that says what a term says finds what that finds; two that are half of it each do, too.
START_TEST(rewards_of_ones_own)
{
    static const double worths[] = {2, 1};
    ctn_scene *const by_term = parse(SLIDER SPLINE GOES),
                     *const other = parse(_i ? SLIDER SPLINE "reward: [{term: progress, link: a, weight: 1, when: running}]\n"
                                             : SLIDER SPLINE);
    watcher x = {.worth = worths[_i]};
    search *const s = opened(by_term, NULL, 1), *const t = opened_with(other, &x);
    make(s, 5), make(t, 5);
    const ctn_search_state a = search_get_state(s), b = search_get_state(t);
    ck_assert(x.begun == 5 && x.ended == 5 && x.asked == 5 * 25);
    ck_assert_double_eq_tol(a.best, b.best, 1e-12);
    ck_assert_double_eq_tol(a.mean, b.mean, 1e-12);
    double found[KNOTS], value;
    ctn_error err;
    ck_assert_int_eq(search_best(t, found, &err), CTN_OK);
    ck_assert_int_eq(search_value(t, found, 1, &value, &err), CTN_OK);
    ck_assert_double_eq(value, b.best);
    // where it fails the search stays where it was
    x.fails = CTN_INTERRUPTED;
    ck_assert_int_eq(search_step(t, &err), CTN_INTERRUPTED);
    x.fails = CTN_OK, make(s, 1), make(t, 1);
    ck_assert_double_eq_tol(search_get_state(s).mean, search_get_state(t).mean, 1e-12);
    // no number is no reward
    x.worth = NAN, make(t, 1);
    ck_assert_int_eq((int)search_get_state(t).lost, search_worlds(t));
    search_close(s), search_close(t), ctn_scene_free(by_term), ctn_scene_free(other);
}
END_TEST

/// In an episode that has ended nothing is earned any more.
START_TEST(ended_episodes_earn_no_more)
{
    ctn_scene *const scene =
        parse("catena: 1\ngravity: [0, 0, -1]\nlinks:\n"
              "  - {name: a, joint: {type: prismatic, axis: [0, 0, 1]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
              "motors: [{joint: a, type: torque, effort: 1e-9}]\nintegrator: {method: radau, dt: 0.04}\nduration: 2\n" SPLINE
              "reward: [{term: alive, link: a, above: -0.49, weight: 1}]\nsearch: {population: 2}\n");
    watcher x = {.worth = -1};
    search *const s = opened_with(scene, &x);
    make(s, 1);
    double sum = 0, t = 0;
    for (double z = 0; z >= -0.49;) t += 0.04, z = -t * t / 2, sum += (0.5 * t * t + (z >= -0.49)) * 0.04;
    ck_assert_double_eq_tol(search_get_state(s).best, sum, 1e-6);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

/// Where the first world of all plays began, and how many there were.
typedef struct {
    int plays;
    double q[20];
} beginnings;

static ctn_status note_beginning(void *with, const ctn_search_moment *now, double *earned, ctn_error *err)
{
    beginnings *const x = with;
    (void)err;
    if (!(now->dt > 0) && x->plays < 20) x->q[x->plays++] = now->q[0];
    for (int w = 0; w < now->worlds && now->dt > 0; w++) earned[w] = -now->q[w] * now->q[w];
    return CTN_OK;
}

/// Of what was found is chosen, it is judged, and told what it is worth, each in worlds that nothing before had.
START_TEST(judges_in_worlds_of_their_own)
{
    enum { MADE = 3 };
    ctn_scene *const scene = parse(SLIDER SPLINE "sample: {q: {a: {normal: [0, 0.3]}}}\nsearch: {population: 4}\n");
    const ctn_batch_config cfg = ctn_scene_config(scene);
    static ranks alone;
    alone = ranks_alone();
    beginnings x = {0};
    const search_reward own = {.earn = note_beginning, .with = &x, .name = "note"};
    double found[KNOTS], value;
    ctn_error err;
    search *const s = search_open(scene, &cfg, ctn_scene_duration(scene), &alone, &own, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    make(s, MADE);
    ck_assert(search_finish(s, &err) == CTN_OK && search_best(s, found, &err) == CTN_OK);
    ck_assert_int_eq(search_value(s, found, 1, &value, &err), CTN_OK);
    ck_assert_int_eq(search_value(s, found, 10, &value, &err), CTN_OK);
    ck_assert_int_eq(x.plays, MADE + 3 + 2);
    ck_assert_double_eq(x.q[MADE], x.q[MADE + 1]);      // two are compared in the same worlds
    ck_assert_double_eq(x.q[MADE + 3], x.q[MADE + 4]);  // steps of two sizes, too
    for (int k = 0; k < MADE + 4; k++)
        for (int j = 0; j < k; j++)
            if (k != MADE + 1 || j != MADE) ck_assert_msg(x.q[k] != x.q[j], "plays %d and %d begin alike", j, k);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

/// A policy that cannot do anything earns what its worlds are worth: others when it is judged at the end than when it was chosen, and
/// others again when it is told.
START_TEST(judges_policies_in_worlds_of_their_own)
{
    ctn_scene *const scene =
        parse("catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
              "  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
              "motors: [{joint: a, type: torque, effort: 1e-9}]\nsensors: [{name: x, type: joint_position, joint: a}]\n"
              "controller: {type: tanh, sensors: all, hidden: [2], range: [-1, 1], every: 0.04}\n"
              "reward: [{term: posture, weight: -1}]\nsample: {q: {a: {uniform: [-1, 1]}}}\n"
              "integrator: {method: radau, dt: 0.02}\nduration: 1\nsearch: {method: ppo, worlds: 4, critic: [4]}\n");
    double found[20], value, chosen;
    ctn_error err;
    search *const s = opened(scene, NULL, 1);
    ck_assert_int_le(search_parameters(s), 20);
    make(s, 1);
    chosen = search_get_state(s).best;
    ck_assert_int_eq(search_get_state(s).judges, 0);
    make(s, 9);
    ck_assert_double_eq_tol(search_get_state(s).best, chosen, 1e-6);  // of all policies alike
    ck_assert(search_finish(s, &err) == CTN_OK && search_best(s, found, &err) == CTN_OK);
    const ctn_search_state x = search_get_state(s);
    ck_assert_int_eq(x.judges, 8);
    ck_assert_int_eq(search_value(s, found, 1, &value, &err), CTN_OK);
    ck_assert_double_gt(fabs(x.best - chosen), 1e-3);
    ck_assert_double_gt(fabs(value - chosen), 1e-3);
    ck_assert_double_gt(fabs(value - x.best), 1e-3);
    search_close(s), ctn_scene_free(scene);
}
END_TEST

// ---- what it refuses

START_TEST(refuses)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {SLIDER REACH, "t.yaml: there is nothing to search for: the scene has no `controller`"},
        {SLIDER SPLINE, "t.yaml: there is nothing to go by: the scene has no `reward`"},
        {"catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
         "motors: [{joint: a, type: position, kp: 50, kd: 10}]\n" SPLINE REACH,
         "t.yaml: duration: a search plays so many seconds"},
        {SLIDER SPLINE REACH "search: {method: shac}\n",
         "t.yaml:10: search.method: policy gradients are for networks of sensors"}};
    ctn_error err;
    ctn_scene *const scene = parse(bad[_i].text);
    ck_assert_ptr_null(open(scene, NULL, 1, &err));
    ck_assert_msg(strstr(err.message, bad[_i].says), "%s", err.message);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(refuses_other_checkpoints)
{
    enter_scratch();
    ctn_error err;
    ctn_scene *const scene = parse(SLIDER SPLINE REACH), *const other = parse(SLIDER SPLINE REACH "# other\n");
    search *const s = opened(scene, NULL, 1), *const t = opened(other, NULL, 1);
    make(s, 1);
    ck_assert_int_eq(search_save(s, "s.checkpoint", &err), CTN_OK);
    ck_assert_int_eq(search_restore(t, "s.checkpoint", &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "s.checkpoint: the checkpoint belongs to another scene"), "%s", err.message);
    ck_assert_int_eq(search_restore(s, "none.checkpoint", &err), CTN_IO);
    FILE *const f = fopen("s.checkpoint", "r+b");
    fseek(f, -3, SEEK_END), fputc('x', f), fclose(f);
    ck_assert_int_eq(search_restore(s, "s.checkpoint", &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "damaged"), "%s", err.message);
    spit("s.checkpoint", "catena search");
    ck_assert_int_eq(search_restore(s, "s.checkpoint", &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "no checkpoint of a search"), "%s", err.message);
    search_close(s), search_close(t), ctn_scene_free(scene), ctn_scene_free(other);
    leave_scratch();
}
END_TEST

// ---- the command

START_TEST(the_command)
{
    enter_scratch();
    spit("scene.yaml", SLIDER SPLINE REACH "search: {generations: 12, population: 6}\n");
    outcome o = catena("search", "scene.yaml", "--out", "found.yaml");
    ck_assert_msg(o.status == 0 && !*o.err, "%s%s", o.out, o.err);
    ck_assert_msg(strstr(o.out, "generation 12 ") && strstr(o.out, "reward        "), "%s", o.out);
    outcome_free(&o);
    o = catena("run", "found.yaml", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    // half of it, then the rest: the same scene
    o = catena("search", "scene.yaml", "--out", "again.yaml", "--generations", "5", "--quiet");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "again.yaml", "--resume");
    ck_assert_msg(o.status == 0 && strstr(o.out, "generation 6 ") == o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const a = slurp("found.yaml", NULL), *const b = slurp("again.yaml", NULL);
    ck_assert_str_eq(a, b);
    free(a), free(b);
    char *const c = slurp("found.yaml.csv", NULL), *const d = slurp("again.yaml.csv", NULL);
    ck_assert_str_eq(c, d);
    int lines = 0;
    for (const char *at = c; (at = strchr(at, '\n')); at++) lines++;
    ck_assert_int_eq(lines, 13);
    ck_assert_msg(strstr(c, "generation,evaluations,best,mean,worst,sigma,lost,steps\n1,6,") == c && strstr(c, "\n12,72,"), "%s",
                  c);
    free(c), free(d);
    o = catena("search", "scene.yaml", "--out", "other.yaml", "--resume");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--resume: other.yaml.checkpoint: cannot be read"), "%s", o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--out is missing"), "%s", o.err);
    outcome_free(&o);
    // what is found can stand twice in another scene; what a controller drives may be braked, and is told so
    spit("two.yaml", "catena: 1\ninclude: [{file: found.yaml, as: left}, {file: found.yaml, as: right}]\n");
    o = catena("check", "two.yaml");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    spit("braked.yaml", "catena: 1\nlinks:\n"
                        "  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.3, 0, 0], inertia: [0.01, "
                        "0.03, 0.03, 0, 0, 0]}\n"
                        "  - {name: b, parent: a, position: [0.6, 0, 0], joint: {type: revolute, axis: [0, 1, 0], v0: 20}, mass: "
                        "1, com: [0.3, 0, 0],\n"
                        "     inertia: [0.01, 0.03, 0.03, 0, 0, 0]}\n"
                        "motors: [{joint: a, type: torque, effort: 1}, {joint: b, type: torque, effort: 1}]\n"
                        "sensors: [{name: turn, type: joint_velocity, joint: b}]\n"
                        "controller: {type: linear, sensors: all, range: [-1, 1], parameters: [0, 0.1, 0, 0.1]}\n"
                        "integrator: {method: radau, stages: 1, dt: 0.05}\nduration: 2\n");
    o = catena("run", "braked.yaml");
    ck_assert_msg(o.status == 0 && strstr(o.err, "of the energy of motion a second"), "%d: %s%s", o.status, o.out, o.err);
    outcome_free(&o);
    o = catena("search", "scene.yaml", "--out", "scene.yaml");
    ck_assert_msg(o.status == 2, "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("all");
    Suite *const suite = suite_create("search");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, finds_what_is_asked_for);
    tcase_add_loop_test(t, makes_a_scene, 0, 5);
    tcase_add_test(t, writes_no_scene_that_it_would_spoil);
    tcase_add_test(t, same_bits), tcase_add_test(t, draws_worlds_in_common), tcase_add_test(t, counts_what_is_lost);
    tcase_add_test(t, judges_what_is_found), tcase_add_test(t, judges_in_worlds_of_their_own);
    tcase_add_test(t, judges_policies_in_worlds_of_their_own);
    tcase_add_loop_test(t, rewards_of_ones_own, 0, 2), tcase_add_test(t, ended_episodes_earn_no_more);
    tcase_add_loop_test(t, refuses, 0, 4);
    tcase_add_test(t, refuses_other_checkpoints), tcase_add_test(t, the_command);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
