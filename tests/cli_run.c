/// `catena run`: its numbers against the library's, its summary, recordings, plots, signals and exit statuses.
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDULUM "scenes/double-pendulum.yaml"

/// The same steps by the library; final q, v and the statistics. Returns the final time.
static double step_directly(const char *scene_file, ctn_method method, double dt, int steps, double *q, double *v,
                            ctn_step_stats *stats)
{
    ctn_scene *const scene = ctn_scene_load(scene_file, NULL);
    ctn_model *const model = ctn_model_create(scene, NULL);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.method = method, cfg.dt = dt;
    ctn_batch *const batch = ctn_batch_create(model, &cfg, NULL);
    ck_assert_ptr_nonnull(batch);
    ctn_batch_step(batch, steps, stats, NULL);
    ctn_batch_state(batch, q, v);
    const double time = ctn_batch_time(batch, 0);
    ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
    return time;
}

static void same_numbers(const cJSON *list, const double *x, int n)
{
    ck_assert_int_eq(cJSON_GetArraySize(list), n);
    int k = 0;
    for (const cJSON *e = list->child; e; e = e->next, k++)
        ck_assert_msg(e->valuedouble == x[k], "[%d] %.17g, not %.17g", k, e->valuedouble, x[k]);
}

/// Every number of the JSON summary, bit for bit.
START_TEST(json)
{
    double q[20], v[20];
    ctn_step_stats s;
    const char *const scene = source("scenes/chain10.yaml");
    const double time = step_directly(scene, CTN_COLLOCATION, 0.07, 41, q, v, &s);
    cJSON *const j = catena_json(0, "run", scene, "--method", "collocation", "--dt", "0.07", "--steps", "41", "--json", NULL);
    ck_assert_str_eq(member(j, "scene")->valuestring, "chain10");
    ck_assert_str_eq(member(j, "file")->valuestring, scene);
    ck_assert_str_eq(member(j, "method")->valuestring, "collocation");
    ck_assert_str_eq(member(j, "solver")->valuestring, "newton");
    ck_assert_str_eq(member(j, "engine")->valuestring, "scalar");
    ck_assert_double_eq(number(j, "dt"), 0.07);
    ck_assert_double_eq(number(j, "order"), 2);
    ck_assert_double_eq(number(j, "tolerance"), 1e-9);
    ck_assert_double_eq(number(j, "worlds"), 1);
    ck_assert_double_eq(number(j, "steps"), 41);
    ck_assert_double_eq(number(j, "steps_asked"), 41);
    ck_assert_double_eq(number(j, "final.time"), time);
    same_numbers(member(j, "final.q"), q, 20);
    same_numbers(member(j, "final.v"), v, 20);
    ck_assert_double_eq(number(j, "energy.initial"), s.energy_before);
    ck_assert_double_eq(number(j, "energy.final"), s.energy_after);
    ck_assert_double_eq(number(j, "energy.min"), s.energy_min);
    ck_assert_double_eq(number(j, "energy.max"), s.energy_max);
    ck_assert_double_eq(number(j, "energy.drift"), s.energy_after - s.energy_before);
    ck_assert_double_eq(number(j, "energy.work"), 0);
    ck_assert_double_eq(number(j, "energy.dissipated"), 0);
    ck_assert_double_eq(number(j, "energy.kinetic.initial"), s.kinetic_before);
    ck_assert_double_eq(number(j, "energy.kinetic.final"), s.kinetic_after);
    ck_assert_double_eq(number(j, "energy.potential.final"), s.potential_after);
    ck_assert_double_eq(number(j, "energy.spring.final"), s.spring_after);
    ck_assert_double_eq_tol(number(j, "energy.created"), s.created, 1e-12);
    ck_assert_double_eq(number(j, "iterations.mean"), (double)s.iterations / 41);
    ck_assert_double_eq(number(j, "iterations.max"), s.iterations_max);
    ck_assert_int_gt(s.iterations_max, 0);
    ck_assert_double_eq(number(j, "residual"), s.residual);
    ck_assert_double_eq(number(j, "fallbacks"), (double)s.fallbacks);
    ck_assert_double_eq(number(j, "substeps"), (double)s.substeps);
    ck_assert_double_eq(number(j, "line_search"), (double)s.line_search);
    ck_assert_double_ge(number(j, "wall_seconds"), 0);
    ck_assert_int_eq(cJSON_GetArraySize(member(j, "frozen")), 0);
    ck_assert_int_eq(cJSON_GetArraySize(member(j, "warnings")), 1);  // that order 2 brakes it
    ck_assert(cJSON_IsFalse(member(j, "interrupted")));
    cJSON_Delete(j);
}
END_TEST

/// Options choose the method; chunks, recording and plot do not change a bit.
START_TEST(same_bits)
{
    double q[2], v[2];
    ctn_step_stats s;
    step_directly(source(PENDULUM), CTN_RK3, 0.01, 333, q, v, &s);
    cJSON *j = catena_json(0, "run", source(PENDULUM), "--method", "rk3", "--dt=0.01", "-n", "333", "--json", NULL);
    same_numbers(member(j, "final.q"), q, 2), same_numbers(member(j, "final.v"), v, 2);
    cJSON_Delete(j);
    j = catena_json(0, "run", source(PENDULUM), "--method", "rk3", "--dt", "0.01", "--steps", "333", "--json", "--out", "x.csv",
                    "--every", "7", NULL);
    same_numbers(member(j, "final.q"), q, 2), same_numbers(member(j, "final.v"), v, 2);
    ck_assert_double_eq(number(j, "recording.records"), 1 + 333 / 7 + 1);  // the first, every seventh, the last
    ck_assert(cJSON_IsTrue(member(j, "recording.complete")));
    cJSON_Delete(j);
    j = catena_json(0, "run", source("scenes/chain10.yaml"), "--steps", "100", "--json", NULL);
    cJSON *const k = catena_json(0, "run", source("scenes/chain10.yaml"), "--steps", "100", "--json", "--out", "x.h5", NULL);
    ck_assert(cJSON_Compare(member(j, "final"), member(k, "final"), 1));
    for (const cJSON *e = member(j, "energy")->child, *f = member(k, "energy")->child; e; e = e->next, f = f->next)
        if (strcmp(e->string, "created")) ck_assert_msg(cJSON_Compare(e, f, 1), "energy.%s", e->string);
        else ck_assert_double_eq_tol(e->valuedouble, f->valuedouble, 1e-12);  // a sum over calls
    ck_assert(cJSON_Compare(member(j, "iterations"), member(k, "iterations"), 1));
    cJSON_Delete(j), cJSON_Delete(k);
}
END_TEST

/// --duration, the scene's duration, and how they are rounded: a part of a step is a whole one.
START_TEST(durations)
{
    static const struct {
        const char *duration, *dt;
        double steps;
    } table[] = {{"1", "0.1", 10}, {"0.3", "0.1", 3}, {"0.7", "0.1", 7}, {"1.05", "0.1", 11}, {"0", "0.1", 0}, {"1", "0.3", 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        cJSON *const j = catena_json(0, "run", source(PENDULUM), "--duration", table[i].duration, "--dt", table[i].dt, "--json",
                                     "--method", "collocation", NULL);
        ck_assert_double_eq(number(j, "steps"), table[i].steps);
        cJSON_Delete(j);
    }
    cJSON *const j = catena_json(0, "run", source(PENDULUM), "--json", NULL);
    ck_assert_double_eq(number(j, "steps"), 5000);  // its 10 s
    ck_assert_double_eq(number(j, "final.time"), 10);
    cJSON_Delete(j);
}
END_TEST

START_TEST(worlds)
{
    cJSON *const one = catena_json(0, "run", source(PENDULUM), "--steps", "50", "--json", NULL);
    cJSON *const j = catena_json(0, "run", source(PENDULUM), "--steps", "50", "--json", "--worlds", "5", NULL);
    ck_assert(cJSON_Compare(member(one, "final"), member(j, "final"), 1));
    ck_assert_int_eq(cJSON_GetArraySize(member(j, "each_world")), 5);
    for (const cJSON *w = member(j, "each_world")->child; w; w = w->next) {
        ck_assert(cJSON_Compare(member(one, "final"), member(w, "final"), 1));
        ck_assert_double_eq(number(w, "steps"), 50);
    }
    cJSON_Delete(j), cJSON_Delete(one);
}
END_TEST

/// The text says the same, and shortens long vectors.
START_TEST(summary)
{
    outcome o = catena("run", source("scenes/chain10.yaml"), "--steps", "20");
    ck_assert_int_eq(o.status, 0);
    const char *const words[] = {"scene         chain10 (",
                                 "method        alpha, rho 0.2, dt 0.01 s, newton, tolerance 1e-09",
                                 "engine        scalar, 1 world",
                                 "steps         20, 0.2 s simulated in",
                                 "times real time",
                                 "iterations    mean ",
                                 "residual      ",
                                 "fallbacks     0 steps; 0 parts with fewer stages, 20 substeps",
                                 "energy        0 J at the start",
                                 "drift         ",
                                 "final state   t = 0.2 s",
                                 "... 10 more ..."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(o.out, words[i]) != NULL, "no '%s' in\n%s", words[i], o.out);
    ck_assert_str_eq(o.err, "");
    outcome_free(&o);
}
END_TEST

/// Every scene that is shipped runs as it is, without a word of warning, but of what a robot's file has that catena has not, and of
/// links that pass through each other.
static const char *const scenes[] = {"chain10",
                                     "chain10-sampled",
                                     "chain10-randomised",
                                     "chain40",
                                     "chain100",
                                     "double-pendulum",
                                     "iiwa14",
                                     "quadrotor",
                                     "kite",
                                     "humanoid",
                                     "flying-tree",
                                     "rope1000",
                                     "swimmer",
                                     "wrench",
                                     "wire",
                                     "iiwa14-driven",
                                     "crane",
                                     "arm-reach",
                                     "corkscrew",
                                     "eel",
                                     "quadruped",
                                     "gripper",
                                     "landing",
                                     "imu",
                                     "walker",
                                     "slope",
                                     "rope-drop",
                                     "ragdoll",
                                     "spider",
                                     "ragdoll-stairs",
                                     "rope-over",
                                     "marble",
                                     "stand",
                                     "snake",
                                     "rover",
                                     "go2",
                                     "g1",
                                     "swimmer-search",
                                     "cartpole-search",
                                     "cartpole-swing-up",
                                     "cartpole-track",
                                     "acrobot",
                                     "iiwa14-reach",
                                     "iiwa14-eight",
                                     "quadrotor-slalom",
                                     "quadrotor-chain",
                                     "iiwa14-throw",
                                     "go2-stands-up",
                                     "go2-steps-over",
                                     "dog-search",
                                     "pendulum-search",
                                     "double-pendulum-search",
                                     "crane-search",
                                     "throw-search",
                                     "hopper-search",
                                     "spider-search",
                                     "quadruped-search",
                                     "spider-policy",
                                     "cartpole-policy",
                                     "hopper-policy",
                                     "quadruped-policy",
                                     "swimmer-policy",
                                     "stack-of-ten",
                                     "card-house",
                                     "dominoes",
                                     "newtons-cradle",
                                     "gripper-lifts",
                                     "gripper-picks",
                                     "hand-with-a-cup",
                                     "claw-crane",
                                     "two-ragdolls",
                                     "rope-coils",
                                     "rope-ties",
                                     "net",
                                     "four-bar",
                                     "stewart-platform",
                                     "cassie-leg",
                                     "swimmer-swims",
                                     "double-pendulum-stands",
                                     "spider-walks",
                                     "quadruped-trots"};

START_TEST(shipped_scenes)
{
    char path[100];
    snprintf(path, sizeof path, "scenes/%s.yaml", scenes[_i]);
    outcome o = catena("check", source(path));
    ck_assert_int_eq(o.status, 0);
    if (strcmp(scenes[_i], "arm-reach") && !strstr(o.err, "links do not touch each other")) ck_assert_str_eq(o.err, "");
    outcome_free(&o);
    ctn_scene *const scene = ctn_scene_load(source(path), NULL);
    ck_assert_double_gt(ctn_scene_duration(scene), 0);  // so that `catena run` needs no option
    ck_assert_str_eq(ctn_scene_name(scene), scenes[_i]);
    ctn_scene_free(scene);
    cJSON *const j = catena_json(0, "run", source(path), "--steps", "5", "--json", NULL);
    ck_assert_double_eq(number(j, "steps"), 5);
    ck_assert_double_gt(number(j, "final.time"), 0);
    ck_assert_double_ne(number(j, "energy.initial"), number(j, "energy.final"));
    cJSON_Delete(j);
    char *const list = slurp(source("scenes/README.md"), NULL);
    ck_assert_ptr_nonnull(strstr(list, scenes[_i]));
    free(list);
}
END_TEST

START_TEST(all_shipped)
{
    glob_t found;
    ck_assert_int_eq(glob(source("scenes/*.yaml"), 0, NULL, &found), 0);
    ck_assert_int_eq((int)found.gl_pathc, (int)(sizeof scenes / sizeof *scenes));
    globfree(&found);
}
END_TEST

/// Steps that choose their size: by option, and as a scene says, with what they took.
START_TEST(adaptive)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load(source(PENDULUM), &err);
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_DOP853, cfg.adaptive = true, cfg.dt = 0.5, cfg.error_tolerance = 1e-7;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    double q[2], v[2];
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 10, &s, NULL), CTN_OK);
    ctn_batch_state(b, q, v);
    cJSON *j = catena_json(0, "run", source(PENDULUM), "--method", "dop853", "--dt", "auto", "--interval", "0.5", "--tolerance",
                           "1e-7", "--duration", "5", "--json", "--out", "a.csv", NULL);
    char *const text = slurp("a.csv", NULL);
    ck_assert_ptr_nonnull(strstr(text, "\n# dt: 0.5\n# error_tolerance: 9.9999999999999995e-08\n"));
    ck_assert_ptr_nonnull(strstr(text, ",stats.substeps,stats.rejected,stats.residual,"));
    free(text);
    same_numbers(member(j, "final.q"), q, 2), same_numbers(member(j, "final.v"), v, 2);
    ck_assert_double_eq(number(j, "dt"), 0.5);
    ck_assert_double_eq(number(j, "tolerance"), 1e-7);
    ck_assert(cJSON_IsTrue(member(j, "adaptive")));
    ck_assert_double_eq(number(j, "steps"), 10);
    ck_assert_double_eq(number(j, "substeps"), (double)s.substeps);
    ck_assert_double_eq(number(j, "rejected"), (double)s.rejected);
    ck_assert_int_gt(s.rejected, 0);
    cJSON_Delete(j);
    j = catena_json(0, "info", source(PENDULUM), "--method", "dop853", "--dt", "auto", "--json", NULL);
    ck_assert_double_eq(number(j, "integrator.dt"), 0.01);  // not the scene's, which is a step
    ck_assert_double_eq(number(j, "integrator.error_tolerance"), 1e-6);
    cJSON_Delete(j);
    j = catena_json(0, "run", source(PENDULUM), "--method", "radau", "--stages", "3", "--dt", "auto", "--interval", "0.5",
                    "--tolerance", "1e-7", "--duration", "5", "--json", NULL);
    ck_assert(cJSON_IsTrue(member(j, "adaptive")) && number(j, "stages") == 3);
    ck_assert_double_eq(number(j, "tolerance"), 1e-7);
    ck_assert_double_eq(number(j, "solver_tolerance"), 1e-6 * 1e-7);
    for (int k = 0; k < 2; k++) ck_assert_double_eq_tol(cJSON_GetArrayItem(member(j, "final.q"), k)->valuedouble, q[k], 1e-4);
    cJSON_Delete(j);
    char parts[60];
    snprintf(parts, sizeof parts, "parts         %ld, and %ld rejected", s.substeps, s.rejected);
    outcome o = catena("run", source(PENDULUM), "--method", "dop853", "--dt", "auto", "--interval", "0.5", "--tolerance", "1e-7",
                       "--duration", "5");
    ck_assert_ptr_nonnull(strstr(o.out, "method        dop853, dt auto, interval 0.5 s, tolerance 1e-07"));
    ck_assert_ptr_nonnull(strstr(o.out, parts));
    outcome_free(&o);
    spit("stiff.yaml",
         "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], stiffness: 1e30, q0: 0.1}, mass: 1, "
         "com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n");
    o = catena("run", "stiff.yaml", "--method", "dop853", "--dt", "auto", "--duration", "1");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "the step size that the tolerance asks for is too small"));
    ck_assert_ptr_nonnull(strstr(o.err, "; try radau, or a larger tolerance"));
    outcome_free(&o);
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// A world that cannot go on: said why and when, exit status 1, and the recording is there.
START_TEST(frozen)
{
    outcome o = catena("run", source(PENDULUM), "--method", "euler", "--dt", "10", "--steps", "1000000", "--out", "f.csv");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "error: world 0 is frozen at "));
    ck_assert_ptr_nonnull(strstr(o.err, "s: a joint turned by more than 1e4 rad in a step"));
    ck_assert_ptr_nonnull(strstr(o.err, "; try radau, or a smaller dt"));
    ck_assert_ptr_nonnull(strstr(o.out, "final state"));
    outcome_free(&o);
    cJSON *const j =
        catena_json(1, "run", source(PENDULUM), "--method", "euler", "--dt", "10", "--steps", "1000000", "--json", NULL);
    const cJSON *const one = member(j, "frozen")->child;
    ck_assert_ptr_nonnull(one);
    ck_assert_double_eq(number(one, "world"), 0);
    ck_assert_double_eq(number(one, "time"), number(j, "final.time"));
    ck_assert_double_eq(number(j, "steps") * 10, number(one, "time"));
    ck_assert_double_lt(number(j, "steps"), 1000000);
    char *const text = slurp("f.csv", NULL), *const last = strrchr(text, ',');
    char frozen_time[40];
    snprintf(frozen_time, sizeof frozen_time, ",%d,%.17g,", CTN_FREEZE_ANGLE, number(one, "time"));
    ck_assert_ptr_nonnull(last);
    const char *line = last;
    while (line > text && line[-1] != '\n') line--;
    ck_assert_msg(strstr(line, frozen_time) != NULL, "%s", line);
    free(text);
    cJSON_Delete(j);
}
END_TEST

/// Ctrl-C: the recording is closed, the summary printed, and the exit status is 1.
START_TEST(interrupted)
{
    static const int signals[] = {SIGINT, SIGTERM};
    const char *const scene = source(PENDULUM);
    const char *const args[] = {"run", scene, "--steps", "1000000000000", "--out", "i.csv", "--every", "1000", "--json", NULL};
    const pid_t pid = catena_start(args);
    struct stat info = {0};
    // records beyond the header: the run is under way
    while (stat("i.csv", &info) || info.st_size < 20000) usleep(10000);
    ck_assert_int_eq(kill(pid, signals[_i]), 0);
    outcome o = catena_wait(pid);
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "error: interrupted after "));
    cJSON *const j = cJSON_Parse(o.out);
    ck_assert_ptr_nonnull(j);
    ck_assert(cJSON_IsTrue(member(j, "interrupted")));
    ck_assert_double_lt(number(j, "steps"), 1e12);
    // the last record is the final state
    char *const text = slurp("i.csv", NULL), *line = text + strlen(text) - 1;
    ck_assert_int_eq(*line, '\n');
    while (line[-1] != '\n') line--;
    ck_assert_double_eq(strtod(line, NULL), number(j, "final.time"));
    cJSON_Delete(j);
    free(text);
    outcome_free(&o);
}
END_TEST

/// What the method created is said to be lost where it is.
START_TEST(balance)
{
    static const char *const methods[] = {"collocation", "euler"};
    for (int k = 0; k < 2; k++) {
        char line[100];
        cJSON *const j =
            catena_json(0, "run", source(PENDULUM), "--duration", "1", "--dt", "0.01", "--method", methods[k], "--json", NULL);
        const double created = number(j, "energy.created");
        ck_assert(k ? created > 0 : created < 0);
        outcome o = catena("run", source(PENDULUM), "--duration", "1", "--dt", "0.01", "--method", methods[k]);
        snprintf(line, sizeof line, "dissipated 0 J, %s %.3g J\n", k ? "created by the method" : "lost to the method",
                 fabs(created));
        ck_assert_msg(strstr(o.out, line), "%s", o.out);
        outcome_free(&o);
        cJSON_Delete(j);
    }
}
END_TEST

/// A plot of each kind, with its signature, and data of both ends of the run behind it.
START_TEST(plot)
{
    static const struct {
        const char *file, *begins;
    } kinds[] = {{"energy.png", "\211PNG\r\n\032\n"}, {"it's.svg", "<?xml"}, {"energy.pdf", "%PDF"}};
    size_t size;
    if (system("gnuplot --version >/dev/null 2>&1")) {
        fprintf(stderr, "plot: skipped: gnuplot is not installed\n");
        return;
    }
    outcome o = catena("run", source(PENDULUM), "--duration", "1", "--plot", kinds[_i].file);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_str_eq(o.err, "");
    char *const picture = slurp(kinds[_i].file, &size);
    ck_assert_msg(!memcmp(picture, kinds[_i].begins, strlen(kinds[_i].begins)), "not a picture of its kind");
    ck_assert_int_gt((int)size, 5000);
    free(picture);
    outcome_free(&o);
    // it cannot be written there: the data is kept, and the error says where
    ck_assert_int_eq(mkdir("dir.png", 0777), 0);
    o = catena("run", source(PENDULUM), "--duration", "1", "--plot", "dir.png");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(
        strstr(o.err, "dir.png: cannot be written: Is a directory; its script and data are in dir.png.gnuplot"));
    ck_assert_ptr_nonnull(strstr(o.out, "final state"));
    outcome_free(&o);
}
END_TEST

/// Without gnuplot the run is done, its recording written, and the plot's script holds the first and the last energy.
START_TEST(no_gnuplot)
{
    setenv("PATH", "/nonexistent", 1);
    cJSON *const j =
        catena_json(1, "run", source(PENDULUM), "--steps", "5001", "--plot", "e.png", "--out", "e.csv", "--json", NULL);
    char *const err = slurp("err", NULL), *const script = slurp("e.png.gnuplot", NULL);
    ck_assert_ptr_nonnull(strstr(err, "warning: --plot: gnuplot is not installed"));
    ck_assert_ptr_nonnull(strstr(err, "error: --plot: gnuplot is not installed; its script and data are in e.png.gnuplot"));
    ck_assert_double_eq(number(j, "recording.records"), 5002);
    double first[6], last[6];
    const char *at = strstr(script, "EOD\n") + 4, *const end = strstr(script, "\nEOD\n");
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(sscanf(at, "%lf %lf %lf %lf %lf %lf", first, first + 1, first + 2, first + 3, first + 4, first + 5), 6);
    for (at = end; at[-1] != '\n'; at--) {}
    ck_assert_int_eq(sscanf(at, "%lf %lf %lf %lf %lf %lf", last, last + 1, last + 2, last + 3, last + 4, last + 5), 6);
    ck_assert_double_eq(first[0], 0);
    ck_assert_double_eq(first[5], number(j, "energy.initial"));
    ck_assert_double_eq(last[0], number(j, "final.time"));
    ck_assert_double_eq(last[5], number(j, "energy.final"));
    ck_assert_double_eq_tol(last[1] + last[2] + last[3], last[5], 1e-9);
    cJSON_Delete(j);
    free(err), free(script);
}
END_TEST

/// A disk that is full in the middle of a run: said, exit status 1, and never a half line.
START_TEST(full_disk)
{
    ck_assert_int_eq(symlink("/dev/full", "full.csv"), 0);
    outcome o = catena("run", source(PENDULUM), "--steps", "10", "--out", "full.csv");
    ck_assert_int_eq(o.status, 1);
    ck_assert_ptr_nonnull(strstr(o.err, "error: full.csv: cannot be written: No space left on device"));
    outcome_free(&o);
}
END_TEST

/// Every method steps every scene that is shipped, or says before the first step why the two do not go together, or that a spring
/// is too stiff for its steps.
START_TEST(every_method_on_every_scene)
{
    static const char *const methods[][3] = {{"euler"},
                                             {"semi-implicit"},
                                             {"rk2"},
                                             {"rk3"},
                                             {"rk4"},
                                             {"dop853"},
                                             {"collocation", "--order", "2"},
                                             {"collocation", "--order", "3"},
                                             {"collocation", "--order", "4"},
                                             {"collocation", "--order", "5"},
                                             {"collocation", "--order", "6"},
                                             {"radau", "--stages", "1"},
                                             {"radau", "--stages", "2"},
                                             {"radau", "--stages", "3"},
                                             {"radau", "--stages", "4"},
                                             {"variational", "--order", "2"},
                                             {"variational", "--order", "4"}};
    glob_t scenes;
    ck_assert_int_eq(glob(source("scenes/*.yaml"), 0, NULL, &scenes), 0);
    ck_assert_uint_ge(scenes.gl_pathc, 8);
    for (size_t i = 0; i < scenes.gl_pathc; i++)
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
            const char *const *m = methods[k];
            outcome o = m[1] ? catena("run", scenes.gl_pathv[i], "--dt", "1e-4", "--steps", "2", "--method", m[0], m[1], m[2])
                             : catena("run", scenes.gl_pathv[i], "--dt", "1e-4", "--steps", "2", "--method", m[0]);
            const bool damped = strstr(o.err, "damp") && !strcmp(m[0], "variational") && !strcmp(m[2], "4");
            const bool refused = o.status == 2 && (damped || strstr(o.err, "take radau") || strstr(o.err, "or radau"));
            const bool warned = o.status == 1 && strstr(o.err, "is too stiff for");
            ck_assert_msg(o.status == 0 || refused || warned, "%s, %s %s: %s", scenes.gl_pathv[i], m[0], m[1] ? m[2] : "", o.err);
            outcome_free(&o);
        }
    globfree(&scenes);
}
END_TEST

/// What a scene asks of a method that this does not do: said by `check`, with its place, where `run` says it without.
static const struct {
    const char *integrator, *rest, *place, *key, *why;
} refusals[] = {
    {"{method: variational, order: 4}", "ground: true\n", "2:42", "integrator.order", "variational takes a `ground` at order 2"},
    {"{method: collocation, order: 4}", "springs: [{link: a, anchor: [0, 0, 0], stiffness: 1}]\n", "2:42", "integrator.order",
     "collocation takes `springs`"},
    {"{solver: lm}", "forces: [{link: a, force: [0, 0, 1]}]\n", "2:22", "integrator.solver", "lm takes no `springs`, `forces`"},
    {"{method: variational}", "motors: [{joint: b, type: velocity, kd: 1}]\n", "2:22", "integrator.method",
     "variational takes `motors` without kd"},
    {"{method: rk4, parallel: links}", "ground: true\n", "2:37", "integrator.parallel", "links takes no `ground` by rk4"},
    {NULL, "fluid: {drag: {law: as-published, coefficient: 0.1}}\n", "1:1", "integrator.method", "radau takes no `drag` of"},
    {"{dt: 1e-9}", "sensors: [{name: s, type: position, link: a, delay: 0.1}]\n", NULL, NULL,
     "sensor 's': its `delay` of 0.1 s is 100000000 steps"}};

START_TEST(check_refuses_what_run_refuses)
{
    char text[900], expected[300];
    snprintf(text, sizeof text,
             "catena: 1\n%s%s\nlinks:\n  - {name: a, joint: free, density: 500, shapes: [{type: sphere, radius: 0.1}]}\n"
             "  - {name: b, parent: a, joint: revolute, density: 500, shapes: [{type: sphere, radius: 0.1}]}\n%s",
             refusals[_i].integrator ? "integrator: " : "", refusals[_i].integrator ? refusals[_i].integrator : "",
             refusals[_i].rest);
    spit("refused.yaml", text);
    outcome run = catena("run", "refused.yaml", "--steps", "1"), check = catena("check", "refused.yaml");
    ck_assert_int_eq(run.status, 2);
    ck_assert_int_eq(check.status, 2);
    ck_assert_msg(strstr(run.err, refusals[_i].why) != NULL, "%s", run.err);
    if (refusals[_i].place)
        snprintf(expected, sizeof expected, "error: refused.yaml:%s: %s: %s", refusals[_i].place, refusals[_i].key,
                 refusals[_i].why);
    else snprintf(expected, sizeof expected, "error: refused.yaml: %s", refusals[_i].why);
    ck_assert_msg(strstr(check.err, expected) != NULL, "%s, not %s", check.err, expected);
    ck_assert_str_eq(check.out, "");
    outcome_free(&run), outcome_free(&check);
    check = catena("check", "--json", "refused.yaml");
    cJSON *const list = cJSON_Parse(check.out);
    const cJSON *const one = list->child, *const key = member(one, "errors")->child;
    ck_assert(check.status == 2 && cJSON_IsFalse(member(one, "ok")));
    ck_assert(refusals[_i].key ? !strcmp(member(key, "key")->valuestring, refusals[_i].key) : cJSON_IsNull(member(key, "key")));
    ck_assert_msg(!strncmp(member(key, "text")->valuestring, refusals[_i].why, strlen(refusals[_i].why)), "%s",
                  member(key, "text")->valuestring);
    cJSON_Delete(list);
    outcome_free(&check);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli_run");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 300);
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    tcase_add_test(all, json);
    tcase_add_loop_test(all, check_refuses_what_run_refuses, 0, (int)(sizeof refusals / sizeof *refusals));
    tcase_add_test(all, same_bits);
    tcase_add_test(all, durations);
    tcase_add_test(all, worlds);
    tcase_add_test(all, summary);
    tcase_add_loop_test(all, shipped_scenes, 0, (int)(sizeof scenes / sizeof *scenes));
    tcase_add_test(all, all_shipped);
    tcase_add_test(all, adaptive);
    tcase_add_test(all, frozen);
    tcase_add_loop_test(all, interrupted, 0, 2);
    tcase_add_test(all, balance);
    tcase_add_loop_test(all, plot, 0, 3);
    tcase_add_test(all, no_gnuplot);
    tcase_add_test(all, full_disk);
    tcase_add_test(all, every_method_on_every_scene);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
