/// The command line: help, versions, usage errors with suggestions, exit statuses, `info` and `check`.
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDULUM "scenes/double-pendulum.yaml"
enum { MOST_ARGS = 8 };

static const struct {
    const char *args[MOST_ARGS];  // SCENE stands for a good one
    int status;
    const char *out, *err;  // what they contain; NULL: nothing was printed
} cases[] = {
    {{"--version"}, 0, "catena 0.1.0", NULL},
    {{"--help"}, 0, "eval SCENE", NULL},
    {{"help", "run"}, 0, "usage: catena run SCENE", NULL},
    {{0}, 2, NULL, "usage: catena COMMAND"},
    {{"rnu", "SCENE"}, 2, NULL, "unknown command 'rnu'; did you mean 'catena run'?"},
    {{"simulate"}, 2, NULL, "unknown command 'simulate'; see 'catena --help'"},
    {{"--verson"}, 2, NULL, "did you mean '--version'?"},
    {{"run"}, 2, NULL, "SCENE is missing"},
    {{"run", "SCENE", "SCENE"}, 2, NULL, "one file too many"},
    {{"run", "SCENE", "--stepz", "3"}, 2, NULL, "unknown option '--stepz'; did you mean '--steps'?"},
    {{"run", "SCENE", "--frobnicate"}, 2, NULL, "'catena run' has no option '--frobnicate'"},
    {{"run", "SCENE", "-z"}, 2, NULL, "no option '-z'"},
    {{"run", "SCENE", "--dt"}, 2, NULL, "--dt: a value is missing"},
    {{"run", "SCENE", "--json=1"}, 2, NULL, "--json takes no value"},
    {{"run", "SCENE", "--s", "3"}, 2, NULL, "several options begin like this"},
    {{"run", "SCENE", "--dt", "0"}, 2, NULL, "--dt: expected a positive time (s), found 0"},
    {{"run", "SCENE", "--dt", "fast"}, 2, NULL, "--dt: expected a number, found 'fast'"},
    {{"run", "SCENE", "--dt", "0.1s"}, 2, NULL, "--dt: expected a number, found '0.1s'; it is in seconds: give the number alone"},
    {{"run", "SCENE", "--dt", "10ms"}, 2, NULL, "--dt: expected a number, found '10ms'; it is in seconds: give the number alone"},
    {{"run", "SCENE", "--duration", "1 min"}, 2, NULL, "--duration: expected a number, found '1 min'; it is in seconds"},
    {{"run", "SCENE", "--dt", "nan"}, 2, NULL, "--dt: expected a finite number, found 'nan'"},
    {{"run", "SCENE", "--dt", "1e400"}, 2, NULL, "--dt: expected a finite number, found '1e400'; the largest is 1.8e308"},
    {{"run", "SCENE", "--dt", "1e-400"}, 2, NULL, "--dt: expected a number, found '1e-400'; it would be rounded to zero"},
    {{"run", "SCENE", "--dt", "0x1"}, 2, NULL, "--dt: expected a number, found '0x1'; numbers are decimal"},
    {{"run", "SCENE", "--dt", "0,1"}, 2, NULL, "--dt: expected a number, found '0,1'; numbers have a decimal point, no comma"},
    {{"run", "SCENE", "--steps", "10k"}, 2, NULL, "--steps: expected a number, found '10k'\n"},
    {{"run", "SCENE", "--method", "collocation", "--order", "1000000"}, 2, NULL, "found 1000000\n"},
    {{"run", "SCENE", "--timestep", "0.1"}, 2, NULL, "unknown option '--timestep'; catena calls it '--dt'"},
    {{"run", "SCENE", "--t-end=3"}, 2, NULL, "unknown option '--t-end'; catena calls it '--duration'"},
    {{"run", "SCENE", "--integrator", "rk4"}, 2, NULL, "unknown option '--integrator'; catena calls it '--method'"},
    {{"rollout", "SCENE", "--num-envs", "9"}, 2, NULL, "unknown option '--num-envs'; catena calls it '--worlds'"},
    {{"check", "SCENE", "--dt", "0.1"}, 2, NULL, "'catena check' has no option '--dt'"},  // not short for --dt-sweep
    {{"check", "SCENE", "--dt=0.1"}, 2, NULL, "'catena check' has no option '--dt'"},
    {{"info", "SCENE", "--fps", "9"}, 2, NULL, "'catena info' has no option '--fps'"},
    {{"run", "SCENE", "--framerate", "9"},
     2,
     NULL,
     "catena calls it '--fps', which 'catena run' does not have; see 'catena run --help'"},
    {{"run", "SCENE", "--headless"}, 2, NULL, "unknown option '--headless'; 'catena view' opens a window"},
    {{"run", "SCENE", "--gravity", "1"}, 2, NULL, "gravity is in the scene"},
    {{"run", "SCENE", "--duration", "1", "--dt", "1e9"},
     2,
     NULL,
     "--duration: 1 s is less than a step of 1e+09 s; give a smaller --dt, or --steps 1"},
    {{"run", "SCENE", "--duration", "1e-9"}, 2, NULL, "--duration: 1e-09 s is less than a step of 0.002 s"},
    {{"run", "SCENE", "--dt", "1e9"}, 2, NULL, "the scene's duration: 10 s is less than a step of 1e+09 s"},
    {{"run", "SCENE", "--dt", "1e-300"}, 2, NULL, "the scene's duration: 10 s is too many steps of 1e-300 s; give a larger --dt"},
    {{"run", "SCENE", "--dt", "auto", "--method", "dop853", "--interval", "20"},
     2,
     NULL,
     "step of 20 s; give a smaller --interval"},
    {{"run", "SCENE", "--duration", "0.011"},
     0,
     "steps         6, 0.012 s",
     "warning: --duration: 0.011 s is not a whole number of steps of 0.002 s: 6 of them end at 0.012 s"},
    {{"run", "SCENE", "--duration", "0"}, 0, "steps         0", NULL},
    {{"run", "SCENE", "--steps", "0"}, 0, "steps         0", NULL},
    {{"run", "SCENE", "--method", "rk5"}, 2, NULL, "--method: unknown method 'rk5'; did you mean"},
    {{"run", "SCENE", "--method", "radua"}, 2, NULL, "--method: unknown method 'radua'; did you mean 'radau'?"},
    {{"run", "SCENE", "--stages", "2"}, 2, NULL, "--stages belongs to the method radau, not to rk4"},
    {{"run", "SCENE", "--rho", "0.1"}, 2, NULL, "--rho belongs to the method alpha, not to rk4"},
    {{"run", "SCENE", "--method", "collocation", "--order", "7"}, 2, NULL, "--order: expected 2, 3, 4, 5 or 6, found 7"},
    {{"run", "SCENE", "--order", "2"}, 2, NULL, "--order belongs to the methods collocation and variational, not to rk4"},
    {{"run", "SCENE", "--method", "collocation", "--solver", "lbgfs"},
     2,
     NULL,
     "--solver: unknown solver 'lbgfs'; did you mean 'lbfgs'? allowed: newton, lm, lbfgs"},
    {{"run", "SCENE", "--method", "variational", "--solver", "lm"},
     2,
     NULL,
     "--solver: lm is for the methods collocation and radau; variational has newton alone"},
    {{"run", "SCENE", "--solver", "newton"},
     2,
     NULL,
     "--solver belongs to the methods collocation, radau, variational and alpha, not to rk4"},
    {{"run", "SCENE", "--tolerance", "1e-9"},
     2,
     NULL,
     "--tolerance belongs to the methods collocation, radau, variational and alpha and to --dt auto, not to rk4"},
    {{"run", "SCENE", "--dt", "auto"},
     2,
     NULL,
     "--dt: auto needs a method that estimates its error; rk4 does not; these do: dop853, radau, alpha"},
    {{"run", "SCENE", "--method", "dop853", "--interval", "0.1"}, 2, NULL, "--interval belongs to --dt auto"},
    {{"run", "SCENE", "--method", "dop853", "--dt", "auto", "--interval", "0"},
     2,
     NULL,
     "--interval: expected a positive time (s), found 0"},
    {{"run", "SCENE", "--method", "dop853", "--dt", "auto", "--tolerance", "0"},
     2,
     NULL,
     "--tolerance: expected a number, 1e-15 or more, found 0"},
    {{"run", "SCENE", "--max-iterations", "9"},
     2,
     NULL,
     "--max-iterations belongs to the methods collocation, radau, variational and alpha, not to rk4"},
    {{"info", "SCENE", "--max-halvings", "9"},
     2,
     NULL,
     "--max-halvings belongs to the methods collocation, radau, variational and alpha, not to rk4"},
    {{"info", "SCENE", "--quiet"}, 2, NULL, "'catena info' has no option '--quiet'"},
    {{"run", "SCENE", "--method", "collocation", "--tolerance", "-1"},
     2,
     NULL,
     "--tolerance: expected a positive number, found -1"},
    {{"run", "SCENE", "--method", "collocation", "--max-iterations", "0"},
     2,
     NULL,
     "--max-iterations: expected a whole number from 1"},
    {{"run", "SCENE", "--method", "collocation", "--max-halvings", "-1"},
     2,
     NULL,
     "--max-halvings: expected a whole number from 0"},
    {{"run", "SCENE", "--schedule", "steps"},
     2,
     NULL,
     "--schedule: unknown schedule 'steps'; did you mean 'step'? allowed: auto, iteration, step"},
    {{"run", "SCENE", "-qn3", "--schedule", "iteration"}, 0, NULL, NULL},
    {{"run", "SCENE", "--parallel", "link"},
     2,
     NULL,
     "--parallel: unknown parallel 'link'; did you mean 'links'? allowed: auto, worlds, links, both"},
    {{"run", "SCENE", "--parallel", "links", "--method", "collocation", "--order", "3"},
     2,
     NULL,
     "--parallel: links takes collocation of order 2, not 3; take that, the method alpha, or worlds"},
    {{"run", "SCENE", "--lanes", "12"}, 2, NULL, "--lanes: expected a multiple of 8 from 0 to 8192, found 12"},
    {{"run", "SCENE", "--parallel", "worlds", "--lanes", "8"},
     2,
     NULL,
     "--lanes belongs to --parallel links, both and auto, not to worlds"},
    {{"run", "SCENE", "-qn3", "--method=alpha", "--parallel=links", "--lanes=8"}, 0, NULL, NULL},
    {{"run", "SCENE", "--method", "rk4", "--parallel", "both", "--engine", "cuda"},
     2,
     NULL,
     "parallel: both: the engine 'cuda' takes alpha, collocation of order 2 and radau, not rk4; take one of these, or worlds"},
    {{"run", "SCENE", "--worlds", "0"}, 2, NULL, "--worlds: expected a whole number from 1 to 2147483647, found 0"},
    {{"run", "SCENE", "--engine", "abacus"}, 2, NULL, "engine: unknown 'abacus'"},
    {{"run", "SCENE", "--steps", "-1"}, 2, NULL, "--steps: expected a whole number, 0 or more, found -1"},
    {{"run", "SCENE", "--steps", "1.5"}, 2, NULL, "--steps: expected a whole number, 0 or more, found 1.5"},
    {{"run", "SCENE", "--steps", "1e17"}, 2, NULL, "--steps: expected at most 9000000000000000, found 1e17"},
    {{"run", "SCENE", "--duration", "-1"}, 2, NULL, "--duration: expected a time (s), 0 or more, found -1"},
    {{"run", "SCENE", "--duration", "inf"}, 2, NULL, "--duration: expected a finite number, found 'inf'"},
    {{"run", "SCENE", "--steps", "1", "--duration", "1"}, 2, NULL, "give one of them"},
    {{"run", "SCENE", "--steps", "1", "--out", "x.txt"}, 2, NULL, "x.txt: a recording ends in .csv, .h5 or .hdf5"},
    {{"run", "SCENE", "--steps", "1", "--every", "2"}, 2, NULL, "give --out FILE with it"},
    {{"run", "SCENE", "--steps", "1", "--plot", "x.gif"}, 2, NULL, "should end in .png, .svg or .pdf"},
    {{"run", "SCENE", "--steps", "1", "--out", "nowhere/x.h5"}, 1, NULL, "nowhere/x.h5: cannot be written: No such file"},
    {{"run", "SCENE", "--steps", "1", "--out", "nowhere/x.csv"}, 1, NULL, "nowhere/x.csv: cannot be written: No such file"},
    {{"run", "SCENE", "--steps", "1", "--plot", "nowhere/x.png"}, 1, NULL, "nowhere/x.png: cannot be written: No such file"},
    {{"run", "missing.yaml"}, 2, NULL, "missing.yaml: cannot be read: No such file"},
    {{"run", "chian10"}, 2, NULL, "error: chian10: no such file; did you mean the scene 'chain10'? 'catena scenes' lists all"},
    {{"info", "elsewhere/chain40.yaml"}, 2, NULL, "elsewhere/chain40.yaml: no such file; did you mean the scene 'chain40'?"},
    {{"check", "nonesuch"}, 2, NULL, "nonesuch: no such file, and no scene of this name; 'catena scenes' lists"},
    {{"check", "-q", "chain10", "wrench"}, 0, NULL, NULL},
    {{"run", "."}, 2, NULL, ".: "},
    {{"scenes"},
     0,
     "\n  double-pendulum     Two links on revolute joints about y, in a plane: chaotic, and conservative.\n",
     NULL},
    {{"scenes", "chain10"}, 2, NULL, "'chain10': 'catena scenes' takes no files"},
    {{"bench", "speed"}, 2, NULL, "bench: expected crossover, found 'speed'"},
    {{"bench", "crossover", "--threads", "0"}, 2, NULL, "--threads: expected a whole number, 1 or more, found 0"},
    {{"bench", "crossover", "--engine", "abacus"}, 2, NULL, "engine: unknown 'abacus'"},
    {{"eval", "SCENE", "--dt", "1"}, 2, NULL, "'catena eval' has no option '--dt'"},
    {{"run", "SCENE", "--steps", "3", "--quiet"}, 0, NULL, NULL},
    {{"run", "SCENE", "-qn3", "--method=rk2"}, 0, NULL, NULL},
    {{"check", "SCENE"}, 0, "ok, 2 links, 2 degrees of freedom", NULL},
    {{"check", "SCENE", "--quiet"}, 0, NULL, NULL},
    {{"check", "SCENE", "--error", "1"}, 2, NULL, "--error belongs to --dt-sweep"},
    {{"check", "SCENE", "--plot", "x.png"}, 2, NULL, "--plot belongs to --dt-sweep"},
    {{"check", "SCENE", "SCENE", "--dt-sweep"}, 2, NULL, "--dt-sweep takes one scene, found 2"},
    {{"check", "SCENE", "--dt-sweep", "--error", "0"}, 2, NULL, "--error: expected a positive distance (m), found 0"},
    {{"check", "SCENE", "--dt-sweep", "--error", "small"}, 2, NULL, "--error: expected a number, found 'small'"},
    {{"check", "SCENE", "--dt-sweep", "--duration", "0"}, 2, NULL, "--duration: expected a positive time (s), found 0"},
    {{"check", "SCENE", "--dt-sweep", "--duration", "1e6"}, 2, NULL, "1e+06 s are too long for 2 links"},
    {{"check", "SCENE", "--dt-sweep", "--plot", "x.gif"}, 2, NULL, "should end in .png, .svg or .pdf"},
    {{"check", "missing.yaml", "--dt-sweep"}, 2, NULL, "missing.yaml: cannot be read: No such file"},
    {{"check", "SCENE", "missing.yaml"}, 2, "ok, 2 links", "missing.yaml: cannot be read"},
};

START_TEST(usage)
{
    const char *args[MOST_ARGS + 1] = {0};
    for (int k = 0; k < MOST_ARGS && cases[_i].args[k]; k++)
        args[k] = strcmp(cases[_i].args[k], "SCENE") ? cases[_i].args[k] : source(PENDULUM);
    remove("in");
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == cases[_i].status, "exit status %d: %s%s", o.status, o.out, o.err);
    if (cases[_i].out) ck_assert_msg(strstr(o.out, cases[_i].out) != NULL, "found: %s", o.out);
    else ck_assert_str_eq(o.out, "");
    if (cases[_i].err) ck_assert_msg(strstr(o.err, cases[_i].err) != NULL, "found: %s", o.err);
    else ck_assert_str_eq(o.err, "");
    outcome_free(&o);
}
END_TEST

static const char *const commands[] = {"run", "rollout", "replay", "plot", "info", "eval", "check", "scenes", "bench"};

/// Every option that --help tells of is in docs/cli.md, and every command has examples.
START_TEST(help_and_docs)
{
    char *const docs = slurp(source("docs/cli.md"), NULL);
    outcome o = catena(commands[_i], "--help");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "\nexamples:\n  catena "));
    int found = 0;
    char *const options = strstr(o.out, "\noptions:\n"), *const end = strstr(o.out, "\nexamples:\n");
    ck_assert_ptr_nonnull(options);
    *end = 0;
    for (const char *at = options; (at = strstr(at, "--")); found++) {
        char name[40];
        snprintf(name, sizeof name, "`%.*s", (int)strcspn(at, " \n,;"), at);
        ck_assert_msg(strstr(docs, name) != NULL, "docs/cli.md does not tell of %s`", name);
        at += 2;
    }
    ck_assert_int_ge(found, 2);
    outcome_free(&o);
    free(docs);
}
END_TEST

/// The defaults that --help tells of are those of the configuration, and its lines fit a terminal of 105 columns.
START_TEST(help_tells_defaults)
{
    const ctn_batch_config d = ctn_batch_config_default();
    outcome o = catena("run", "--help");
    char text[9][80];
    snprintf(text[0], 80, "time step in seconds (%g)", d.dt);
    snprintf(text[1], 80, " %s (the default), ", ctn_method_name(d.method));
    snprintf(text[2], 80, "1 to 4 (default %d)", d.stages);
    snprintf(text[3], 80, "%d (default) to 6; of variational: %d (default)", d.order, d.order);
    snprintf(text[4], 80, "solve stops (%g);", d.tolerance);
    snprintf(text[5], 80, "part (%g)", d.error_tolerance);
    snprintf(text[6], 80, "halved (%d; ", d.max_iterations);
    snprintf(text[7], 80, "freezes (%d)", d.max_halvings);
    snprintf(text[8], 80, "how many worlds (%d)", d.worlds);
    for (char *at = o.out; (at = strchr(at, '\n')); at++) {
        ck_assert_msg(strcspn(at + 1, "\n") <= 105, "%.120s", at + 1);
        const size_t indent = strspn(at + 1, " ");
        if (indent == 28) memmove(at + 1, at + 1 + indent, strlen(at + 1 + indent) + 1), *at = ' ';  // a line that was broken
    }
    for (int k = 0; k < 9; k++) ck_assert_msg(strstr(o.out, text[k]) != NULL, "'%s' is not in\n%s", text[k], o.out);
    outcome_free(&o);
}
END_TEST

/// Standard error is no terminal here: no colours, and no progress bar.
START_TEST(plain_errors)
{
    outcome o = catena("run", "missing.yaml");
    ck_assert_str_eq(o.err, "error: missing.yaml: cannot be read: No such file or directory\n");
    outcome_free(&o);
}
END_TEST

/// The file of a scene, as `catena scenes` has it.
static char *file_of(const char *name)
{
    char *file = NULL;
    cJSON *const list = catena_json(0, "scenes", "--json", NULL);
    for (const cJSON *one = list->child; one; one = one->next)
        if (!strcmp(member(one, "name")->valuestring, name)) {
            ck_assert_ptr_null(file);
            file = strdup(member(one, "file")->valuestring);
        }
    cJSON_Delete(list);
    return file;
}

/// The name of the scene that `catena info WORD` reads.
static void check_info(const char *word, const char *name)
{
    cJSON *const info = catena_json(0, "info", word, "--json", NULL);
    ck_assert_str_eq(member(info, "scene")->valuestring, name);
    cJSON_Delete(info);
}

/// Every scene of the source has a name; a file of that name comes first, then folders of CATENA_SCENES, in their order.
START_TEST(scene_names)
{
    static const char mine[] = "# Mine, with \xe2\x80\xae colours. And more.\ncatena: 1\nname: mine\nlinks: [{name: a}]\n";
    cJSON *const list = catena_json(0, "scenes", "--json", NULL);
    int files = 0;
    DIR *const folder = opendir(source("scenes"));
    for (const struct dirent *entry; (entry = readdir(folder));) files += strstr(entry->d_name, ".yaml") != NULL;
    closedir(folder);
    ck_assert_int_eq(cJSON_GetArraySize(list), files);
    for (const cJSON *one = list->child; one; one = one->next) {
        check_info(member(one, "name")->valuestring, member(one, "name")->valuestring);
        ck_assert_int_eq(access(member(one, "file")->valuestring, R_OK), 0);
        ck_assert_int_ge((int)strlen(member(one, "about")->valuestring), 20);
    }
    cJSON_Delete(list);

    ck_assert_int_eq(mkdir("one", 0777) | mkdir("two", 0777) | mkdir("chain40", 0777), 0);
    spit("one/chain10.yaml", mine), spit("two/chain10.yaml", mine), spit("two/mine.yaml", mine), spit("one/bad name.yaml", mine);
    setenv("CATENA_SCENES", "nowhere::one:two", 1);
    check_info("chain10", "mine"), check_info("mine", "mine"), check_info("chain40", "chain40");
    char *const first = file_of("chain10"), *const second = file_of("mine");
    ck_assert_str_eq(first, "one/chain10.yaml");
    ck_assert_str_eq(second, "two/mine.yaml");
    ck_assert_ptr_null(file_of("bad name"));
    free(first), free(second);
    outcome o = catena("scenes");
    ck_assert_ptr_nonnull(strstr(o.out, "\ntwo\n  mine                Mine, with ? colours.\n"));
    outcome_free(&o);
    unsetenv("CATENA_SCENES");
    spit("chain10", mine);
    check_info("chain10", "mine");
}
END_TEST

/// An installation that was moved finds its scenes, and no program of another folder changes that.
START_TEST(moved_installation)
{
    ck_assert_int_eq(mkdir("bin", 0777) | mkdir("share", 0777) | mkdir("share/catena", 0777) | mkdir("share/catena/scenes", 0777),
                     0);
    spit("share/catena/scenes/moved.yaml", "# Here now\ncatena: 1\nlinks: [{name: a}]\n");
    ck_assert_int_eq(system("cp " CATENA_BINARY " bin/catena"), 0);
    FILE *const said = popen("bin/catena scenes", "r");
    char text[4096] = "";
    text[fread(text, 1, sizeof text - 1, said)] = 0;
    ck_assert_int_eq(pclose(said), 0);
    ck_assert_ptr_nonnull(strstr(text, "/share/catena/scenes\n  moved               Here now\n"));
}
END_TEST

START_TEST(no_duration)
{
    spit("scene.yaml",
         "catena: 1\nlinks:\n  - {name: a, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n");
    outcome o = catena("run", "scene.yaml");
    ck_assert_int_eq(o.status, 2);
    ck_assert_str_eq(o.err, "error: how long? give --steps or --duration, or write 'duration:' into scene.yaml\n");
    outcome_free(&o);
}
END_TEST

/// An entry of `errors` or `warnings` of check --json; line 0: no place, key NULL: none.
static void finding(const cJSON *f, const char *file, int line, int column, const char *key, const char *text)
{
    ck_assert_str_eq(member(f, "file")->valuestring, file);
    ck_assert(line ? number(f, "line") == line && number(f, "column") == column
                   : cJSON_IsNull(member(f, "line")) && cJSON_IsNull(member(f, "column")));
    ck_assert(key ? !strcmp(member(f, "key")->valuestring, key) : cJSON_IsNull(member(f, "key")));
    ck_assert_msg(!strncmp(member(f, "text")->valuestring, text, strlen(text)), "%s", member(f, "text")->valuestring);
}

/// What is too stiff for the method and its step: said of the scene's own by check, of the one asked for by what makes steps, and
/// by nothing else.
START_TEST(stiff_scenes)
{
    spit("stiff.yaml", "catena: 1\nintegrator: {method: rk4, dt: 0.01}\nduration: 0.02\nlinks:\n"
                       "  - {name: a, joint: {type: revolute, stiffness: 1e6}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n");
    static const char says[] =
        "warning: stiff.yaml:5:50: joint.stiffness: the spring of 'a' (1e+03 rad/s with what it moves) is too stiff for ";
    static const char *const calls[][5] = {{"check", "stiff.yaml"},
                                           {"run", "stiff.yaml"},
                                           {"info", "stiff.yaml"},
                                           {"run", "stiff.yaml", "--method", "semi-implicit"},
                                           {"run", "stiff.yaml", "--method", "radau"},
                                           {"run", "stiff.yaml", "--dt", "0.002"},
                                           {"run", "stiff.yaml", "--quiet"},
                                           {"eval", "stiff.yaml"}};
    for (int k = 0; k < 8; k++) {
        outcome o = catena_with("[]", calls[k][0], calls[k][1], calls[k][2], calls[k][3], NULL);
        ck_assert_int_eq(o.status, 0);
        ck_assert_msg((strstr(o.err, says) != NULL) == (k < 4), "call %d: %s", k, o.err);
        if (k == 3)
            ck_assert_ptr_nonnull(strstr(o.err, "too stiff for semi-implicit in steps of 0.01 s: take dt 0.002 or less, or "));
        outcome_free(&o);
    }
    cJSON *const list = catena_json(0, "check", "--json", "stiff.yaml", NULL);
    finding(member(list->child, "warnings")->child, "stiff.yaml", 5, 50, "joint.stiffness", "the spring of 'a' (1e+03 rad/s");
    cJSON_Delete(list);
}
END_TEST

/// All errors of a scene, each on a line that begins with its place after "error: "; warnings do not fail.
START_TEST(check_scenes)
{
    spit("bad.yaml", "catena: 1\nlinks:\n  - {name: a, joint: revolut, mass: -1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n");
    outcome o = catena("check", "bad.yaml", source(PENDULUM));
    ck_assert_int_eq(o.status, 2);
    ck_assert_ptr_nonnull(strstr(o.err, "error: bad.yaml:3:22: joint: unknown 'revolut'"));
    ck_assert_ptr_nonnull(strstr(o.err, "error: bad.yaml:3:37: mass: "));
    ck_assert_ptr_nonnull(strstr(o.out, "double-pendulum.yaml: ok"));
    outcome_free(&o);

    spit("odd.yaml", "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, q0: 1}, mass: 1, com: [1, 0, 0], "
                     "inertia: [1, 1, 1, 0, 0, 0]}\nstate: {q: [0.5]}\nduration: 1\n");
    o = catena("check", "odd.yaml");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.err, "warning: odd.yaml:3:"));
    outcome_free(&o);
    o = catena("run", "odd.yaml");
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.err, "warning: odd.yaml:3:"));
    outcome_free(&o);

    cJSON *const list = catena_json(2, "check", "--json", "bad.yaml", "odd.yaml", NULL);
    ck_assert_int_eq(cJSON_GetArraySize(list), 2);
    ck_assert(cJSON_IsFalse(member(list->child, "ok")));
    ck_assert_int_eq(cJSON_GetArraySize(member(list->child, "errors")), 2);
    ck_assert(cJSON_IsTrue(member(list->child->next, "ok")));
    ck_assert_int_eq(cJSON_GetArraySize(member(list->child->next, "warnings")), 1);
    const cJSON *const errors = member(list->child, "errors")->child;
    finding(errors, "bad.yaml", 3, 22, "joint", "unknown 'revolut'");
    finding(errors->next, "bad.yaml", 3, 37, "mass", "expected a number >= 0, found '-1'");
    const cJSON *const warning = member(list->child->next, "warnings")->child;
    ck_assert_str_eq(member(warning, "file")->valuestring, "odd.yaml");
    ck_assert_double_eq(number(warning, "line"), 3);
    cJSON_Delete(list);

    cJSON *const none = catena_json(2, "check", "--json", "none.yaml", NULL);
    finding(member(none->child, "errors")->child, "none.yaml", 0, 0, NULL, "cannot be read: No such file");
    cJSON_Delete(none);
    char text[8000] = "catena: 1\nlinks:\n";
    for (int i = 0; i < 30; i++) sprintf(text + strlen(text), "  - {wrong%d: 1}\n", i);
    spit("many.yaml", text);
    cJSON *const many = catena_json(2, "check", "--json", "many.yaml", NULL);
    const cJSON *last = member(many->child, "errors")->child;
    while (last->next) last = last->next;
    finding(last, "many.yaml", 0, 0, NULL, "... and ");
    cJSON_Delete(many);
}
END_TEST

START_TEST(info)
{
    cJSON *const one = catena_json(0, "info", source("scenes/humanoid.yaml"), "--json", "--method", "rk3", "--dt", "0.25", NULL);
    ck_assert_str_eq(member(one, "scene")->valuestring, "humanoid");
    ck_assert_double_eq(number(one, "nlink"), 18);
    ck_assert_double_eq(number(one, "nq"), 44);
    ck_assert_double_eq(number(one, "nv"), 38);
    ck_assert_double_eq_tol(number(one, "mass"), 64.2, 1e-12);
    ck_assert_str_eq(member(one, "integrator.method")->valuestring, "rk3");
    ck_assert_double_eq(number(one, "integrator.dt"), 0.25);
    ck_assert_int_eq(cJSON_GetArraySize(member(one, "links")), 18);
    ck_assert_int_eq(cJSON_GetArraySize(member(one, "state.q")), 44);
    ck_assert_str_eq(member(one, "engine")->valuestring, "scalar");
    const cJSON *const waist = member(one, "links")->child->next;
    ck_assert_str_eq(member(waist, "name")->valuestring, "waist");
    ck_assert_str_eq(member(waist, "parent")->valuestring, "pelvis");
    ck_assert_str_eq(member(waist, "joint")->valuestring, "universal");
    ck_assert_double_eq(member(waist, "q")->child->valuedouble, 7);
    cJSON_Delete(one);

    outcome o = catena("info", source("scenes/rope1000.yaml"), "--method", "collocation", "--order", "4");
    ck_assert_ptr_nonnull(strstr(o.out, "\nstability  vibrations of w rad/s grow where w dt is within 0.03..3.2 or 6.0..6.9, "));
    outcome_free(&o);
    o = catena("info", source("scenes/rope1000.yaml"));
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "1000 links, 2000 coordinates, 2000 degrees of freedom, 1 kg"));
    ck_assert_ptr_nonnull(strstr(o.out, "... 960 more links"));
    ck_assert_ptr_null(strstr(o.out, "rope.500"));
    outcome_free(&o);
    o = catena("info", source("scenes/rope1000.yaml"), "--all");
    ck_assert_ptr_nonnull(strstr(o.out, "rope.500"));
    outcome_free(&o);
}
END_TEST

/// Motors and fluid, as text and as JSON.
START_TEST(info_motors)
{
    cJSON *const crane = catena_json(0, "info", source("scenes/crane.yaml"), "--json", NULL);
    const cJSON *const boom = member(crane, "motors")->child, *const trolley = boom->next;
    ck_assert_int_eq(cJSON_GetArraySize(member(crane, "motors")), 2);
    ck_assert_str_eq(member(boom, "joint")->valuestring, "boom");
    ck_assert_str_eq(member(boom, "type")->valuestring, "velocity");
    ck_assert_double_eq(number(boom, "target"), 0.25);
    ck_assert_double_eq(number(boom, "kp"), 0);
    ck_assert_str_eq(member(trolley, "type")->valuestring, "position");
    ck_assert_double_eq(number(trolley, "target"), 2.5);
    ck_assert_double_eq(number(trolley, "effort"), 1000);
    cJSON_Delete(crane);
    cJSON *const swimmer = catena_json(0, "info", source("scenes/corkscrew.yaml"), "--json", NULL);
    ck_assert_double_eq(number(swimmer, "fluid.density"), 0);
    ck_assert_double_gt(number(swimmer, "fluid.parts"), 20);
    cJSON_Delete(swimmer);
    outcome o = catena("info", source("scenes/crane.yaml"));
    ck_assert_ptr_nonnull(
        strstr(o.out, "    1  trolley                0  position         2.5        4000        4000           0        1000 "));
    ck_assert_ptr_null(strstr(o.out, "fluid "));
    outcome_free(&o);
    o = catena("info", source("scenes/corkscrew.yaml"));
    ck_assert_ptr_nonnull(strstr(o.out, "\nfluid      0 kg/m3, current 0 0 0 m/s, on "));
    outcome_free(&o);
}
END_TEST

/// What is between links: counts by hand, of a scene whose five degrees of freedom eleven equations hold.
START_TEST(info_between)
{
    cJSON *const j = catena_json(0, "info", source("tests/fuzz/corpus/between.yaml"), "--json", NULL);
    ck_assert_double_eq(number(j, "pairs.count"), 2);
    ck_assert_double_eq(number(j, "pairs.elements"), 2);
    ck_assert_double_eq(number(j, "bytes_between"), 2 * 40 + 11 * 8);
    ck_assert_double_eq(number(j, "equations"), 11);
    ck_assert_double_eq(number(j, "rank"), 5);
    const cJSON *const loop = cJSON_GetArrayItem(member(j, "bonds"), 1);  // a ball joint's end that is held: 2 of 3 count
    ck_assert_str_eq(member(loop, "name")->valuestring, "x");
    ck_assert_double_eq(number(loop, "redundant"), 1);
    cJSON_Delete(j);
    outcome o = catena("info", source("tests/fuzz/corpus/between.yaml"));
    ck_assert_msg(
        strstr(o.out,
               "\npairs      2 of 3 shapes of links, 2 elements, 2 remembered: 168 bytes a world; room for 2 places in a step: "),
        "%s", o.out);
    ck_assert_msg(
        strstr(o.out, "\nbonds      3 loops, 1 coupling, 2 tendons, 1 spring between links: 11 equations, rank 5 at the start; "
                      "follow from others: 1 of loops[0] x, 4 of loops[2], 1 of couplings[0]\n"),
        "%s", o.out);
    outcome_free(&o);
    o = catena("check", source("tests/fuzz/corpus/between.yaml"));
    ck_assert_msg(strstr(o.err, "couplings[0]: contradicts those before it"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

/// The engine and the reason for it.
START_TEST(info_engine)
{
    cJSON *j = catena_json(0, "info", source(PENDULUM), "--json", "--engine", "scalar", NULL);
    ck_assert_str_eq(member(j, "engine_reason")->valuestring, "asked for");
    cJSON_Delete(j);
    setenv("CTN_ENGINE", "scalar", 1);
    j = catena_json(0, "info", source(PENDULUM), "--json", "--worlds", "100", NULL);
    ck_assert_str_eq(member(j, "engine_reason")->valuestring, "asked for by CTN_ENGINE");
    ck_assert_str_eq(member(j, "engine")->valuestring, "scalar");
    cJSON_Delete(j);
    unsetenv("CTN_ENGINE");
    j = catena_json(0, "info", source(PENDULUM), "--json", "--worlds", "100", NULL);
    const cJSON *const engines = member(j, "engines"), *const widest =
                                                           cJSON_GetArrayItem(engines, cJSON_GetArraySize(engines) - 1);
    ck_assert_str_eq(member(j, "engine")->valuestring, member(widest, "name")->valuestring);
    cJSON_Delete(j);
}
END_TEST

/// What goes side by side, and why.
START_TEST(info_parallel)
{
    static const struct {
        const char *option[4], *parallel, *reason;
        int lanes;
    } cases[] = {
        {{"--method=collocation", "--order=3"}, "worlds", "links takes collocation of order 2, not 3", 0},
        {{"--method=radau"}, "worlds", "radau of several stages takes links if asked", 0},
        {{"--method=radau", "--stages=1"}, "worlds", "its longest path has 2 of 2 bodies: too short to pay", 0},
        {{"--method=alpha"}, "worlds", "its longest path has 2 of 2 bodies: too short to pay", 0},
        {{"--method=alpha", "--worlds=7"},
         "worlds",
         "its longest path has 2 of 2 bodies, in each of 7 worlds: too short to pay",
         0},
        {{"--method=alpha", "--parallel=worlds"}, "worlds", "asked for", 0},
        {{"--method=alpha", "--parallel=links"}, "links", "asked for", 8},
        {{"--method=alpha", "--parallel=both", "--lanes=24"}, "both", "asked for", 24},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *const *const o = cases[k].option;
        cJSON *const j = catena_json(0, "info", source(PENDULUM), "--json", o[0], o[1], o[2], NULL);
        ck_assert_str_eq(member(j, "parallel")->valuestring, cases[k].parallel);
        ck_assert_str_eq(member(j, "parallel_reason")->valuestring, cases[k].reason);
        if (cases[k].lanes) ck_assert_double_eq(number(j, "lanes"), cases[k].lanes);
        cJSON_Delete(j);
    }
    FILE *const rope = fopen("rope.yaml", "w");
    ck_assert(rope && fputs("{catena: 1, links: [{chain: {name: r, count: 600, step: [0, 0, -1], joint: {type: revolute, "
                            "axis: [1, 0, 0]}, mass: 1, com: [0, 0, -0.5], inertia: [1, 1, 1, 0, 0, 0]}}]}\n",
                            rope) >= 0);
    ck_assert_int_eq(fclose(rope), 0);
    cJSON *const one = catena_json(0, "info", "rope.yaml", "--json", "--method=alpha", "--engine=scalar", NULL);
    ck_assert_str_eq(member(one, "parallel")->valuestring, "links");  // as on every engine
    ck_assert_str_eq(
        member(one, "parallel_reason")->valuestring,
        "its longest path has 600 of 600 bodies, which pays in lanes; the engine scalar has one: worlds are faster there");
    cJSON_Delete(one);
    outcome o = catena("info", source(PENDULUM), "--method=alpha", "--parallel=links");
    ck_assert_ptr_nonnull(strstr(o.out, "for 1 world: the widest that this CPU has, for pieces of a world\n"
                                        "parallel   links, 8 lanes: asked for\n"));
    outcome_free(&o);
    o = catena("run", source(PENDULUM), "-n3", "--method=alpha", "--parallel=links");  // alpha begins with forward dynamics
    ck_assert_ptr_nonnull(strstr(o.out, "\nparallel      links, 8 lanes; 1 step made serially\n"));
    outcome_free(&o);
    cJSON *const j = catena_json(0, "run", source(PENDULUM), "-n3", "--json", "--method=alpha", "--parallel=links", NULL);
    ck_assert_str_eq(member(j, "parallel")->valuestring, "links");
    ck_assert_double_eq(number(j, "lanes"), 8);
    ck_assert_double_eq(number(j, "serial_steps"), 1);
    cJSON_Delete(j);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE"), unsetenv("CATENA_SCENES");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    tcase_add_loop_test(all, usage, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(all, help_tells_defaults);
    tcase_add_loop_test(all, help_and_docs, 0, (int)(sizeof commands / sizeof *commands));
    tcase_add_test(all, plain_errors);
    tcase_add_test(all, scene_names);
    tcase_add_test(all, moved_installation);
    tcase_add_test(all, no_duration);
    tcase_add_test(all, stiff_scenes);
    tcase_add_test(all, check_scenes);
    tcase_add_test(all, info);
    tcase_add_test(all, info_motors);
    tcase_add_test(all, info_between);
    tcase_add_test(all, info_engine);
    tcase_add_test(all, info_parallel);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
