/// Names that would be commands, of gnuplot or of a terminal, were they not kept from it: of files, of scenes, in recordings.
#include "tests/command.h"
#include "tests/suite.h"

#include <check.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Each would make a file `hacked` if gnuplot took a part of it for a command.
static const char *const commands[] = {"a\n!touch hacked\nb",
                                       "a\r!touch hacked\rb",
                                       "a'\n!touch hacked\n'b",
                                       "' ; system('touch hacked') #",
                                       "'.system('touch hacked').'",
                                       "\"; system(\"touch hacked\") #",
                                       "`touch hacked`",
                                       "\\`touch hacked\\`\\",
                                       "\xff\n!touch hacked\n@ARG0"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/// What a terminal would obey, or nobody see: ESC, C1 as a character and as a byte, DEL, an override, an isolate, no width.
static const char hostile[] = "x\033[2J\xc2\x9b"
                              "31m\x9b\x7f\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8by";

static const char scene_text[] = "catena: 1\nduration: 0.02\nintegrator: {method: rk4, dt: 0.002}\nlinks:\n"
                                 "  - {name: arm, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5], "
                                 "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n"
                                 "  - {name: tip, joint: fixed, parent: arm, position: [0, 0, -1], mass: 1, "
                                 "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\nstate: {q: [1]}\n";

/// A file's name out of the text of a command, which has no slash.
static const char *named(const char *text, const char *ending)
{
    static char names[8][200];
    static int at;
    char *const name = names[at++ % 8];
    snprintf(name, sizeof names[0], "%s%s", text, ending);
    return name;
}

static bool has_gnuplot(void) { return !system("gnuplot --version >/dev/null 2>&1"); }

static void nothing_ran(const char *what) { ck_assert_msg(access("hacked", F_OK) != 0, "%s has run a command", what); }

static void drawn(outcome o, const char *file)
{
    ck_assert_msg(o.status == 0 && !*o.err, "%d: %s", o.status, o.err);
    ck_assert_msg(!access(file, R_OK), "%s is not there", file);
    outcome_free(&o);
    nothing_ran(file);
}

/// By way of the names of the scene's file, of the recording and of the picture.
START_TEST(names_of_files)
{
    const char *const text = commands[_i], *const scene = named(text, ".yaml"), *const h5 = named(text, ".h5"),
                      *const png = named(text, ".png");
    if (!has_gnuplot()) return;
    spit(scene, scene_text);
    drawn(catena("run", scene, "-q", "--out", h5, "--plot", png), png);
    ck_assert_int_eq(remove(png), 0);
    drawn(catena("plot", h5, "-q", "--out", png), png);
    drawn(catena("plot", h5, h5, "-q", "--out", "two.svg"), "two.svg");
    drawn(catena("check", scene, "-q", "--dt-sweep", "--error=0.1", "--plot", png), png);
}
END_TEST

/// The scripts that are kept are as safe, and draw the picture.
START_TEST(kept_scripts)
{
    const char *const text = commands[_i], *const scene = named(text, ".yaml"), *const h5 = named(text, ".h5"),
                      *const png = named(text, ".png");
    char *const path = strdup(getenv("PATH"));
    outcome o[3];
    if (!has_gnuplot()) return;
    spit(scene, scene_text);
    setenv("PATH", "/nonexistent", 1);
    o[0] = catena("run", scene, "-q", "--out", h5, "--plot", "0.png");
    o[1] = catena("plot", h5, "-q", "--out", "1.png");
    o[2] = catena("plot", h5, "-q", "--out", png);
    setenv("PATH", path, 1);
    free(path);
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(o[k].status == 1 && strstr(o[k].err, "draw them with 'gnuplot -d "), "%s", o[k].err);
        outcome_free(&o[k]);
    }
    ck_assert_int_eq(rename(named(text, ".png.gnuplot"), "2.png.gnuplot"), 0);
    for (int k = 0; k < 3; k++) {
        char command[80];
        snprintf(command, sizeof command, "gnuplot -d %d.png.gnuplot > drawn.png", k);
        ck_assert_int_eq(system(command), 0);
        nothing_ran("a script");
        size_t size;
        char *const picture = slurp("drawn.png", &size);
        ck_assert(size > 1000 && !memcmp(picture, "\211PNG\r\n\032\n", 8));
        free(picture);
    }
}
END_TEST

/// Replaces a text of a recording; `of`: a dataset, NULL: the file.
static void forge(const char *path, const char *of, const char *name, const char *text)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), at = of ? H5Dopen2(file, of, H5P_DEFAULT) : file,
                type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text)), H5Tset_strpad(type, H5T_STR_NULLPAD), H5Tset_cset(type, H5T_CSET_UTF8);
    ck_assert(H5Adelete(at, name) >= 0);
    const hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
    if (of) H5Dclose(at);
    ck_assert(H5Fclose(file) >= 0);
}

/// Replaces the scene's text of a recording.
static void forge_scene(const char *path, const char *text)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text)), H5Tset_strpad(type, H5T_STR_NULLPAD);
    ck_assert(H5Ldelete(file, "scene/0", H5P_DEFAULT) >= 0);
    const hid_t set = H5Dcreate2(file, "scene/0", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    const hid_t path_type = H5Tcopy(H5T_C_S1);
    H5Tset_size(path_type, 6);
    const hid_t at = H5Acreate2(set, "path", path_type, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Awrite(at, path_type, "a.yaml") >= 0);
    H5Aclose(at), H5Tclose(path_type), H5Dclose(set), H5Sclose(space), H5Tclose(type);
    ck_assert(H5Fclose(file) >= 0);
}

/// Recordings of strangers: the path of the scene is drawn as its name; names in it, and what the file says of itself, are
/// refused.
START_TEST(forged_recordings)
{
    static const char *const attributes[] = {"scene", "started", "catena_version", "engine"};
    char text[400];
    spit("a.yaml", scene_text);
    for (int k = 0; k < COMMANDS && has_gnuplot(); k++) {
        outcome o = catena("run", "a.yaml", "-q", "--out", "a.h5");
        ck_assert_int_eq(o.status, 0);
        outcome_free(&o);
        forge("a.h5", "scene/0", "path", named(commands[k], ".yaml"));
        drawn(catena("plot", "a.h5", "-q", "--out", "a.png"), "a.png");
    }
    for (int k = 0; k < 4; k++) {
        outcome o = catena("run", "a.yaml", "-q", "--out", "a.h5");
        outcome_free(&o);
        forge("a.h5", NULL, attributes[k], commands[0]);
        o = catena("plot", "a.h5", "-q", "--out", "a.png");
        snprintf(text, sizeof text, "a.h5: its attribute `%s` has characters that cannot be printed", attributes[k]);
        ck_assert_msg(o.status == 2 && strstr(o.err, text), "%s", o.err);
        outcome_free(&o);
        o = catena("replay", "a.h5");
        ck_assert_int_eq(o.status, 2);
        outcome_free(&o);
    }
    outcome o = catena("run", "a.yaml", "-q", "--out", "a.h5");
    outcome_free(&o);
    snprintf(text, sizeof text, "%sname: \"a\\n!touch hacked\"\n", scene_text);
    forge_scene("a.h5", text);
    o = catena("plot", "a.h5", "-q", "--out", "a.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "name: expected a name of printable characters"), "%s", o.err);
    outcome_free(&o);
    nothing_ran("a recording");
}
END_TEST

/// Nothing that a terminal would obey or hide, but the ends of lines.
static void calm(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    for (; *c; c++) {
        bool bad = (*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f;
        if (*c == 0xc2) bad = c[1] < 0xa0;
        if (*c == 0xe2) bad = (c[1] == 0x80 && (c[2] == 0x8b || c[2] == 0xae)) || (c[1] == 0x81 && c[2] == 0xa6);
        if (*c == 0x9b && (c == (const unsigned char *)text || c[-1] != 0xc2)) bad = true;
        ck_assert_msg(!bad, "at byte %td of: %s", c - (const unsigned char *)text, text);
    }
}

static void printed(int status, outcome o)
{
    ck_assert_msg(o.status == status, "%d: %s", o.status, o.err);
    calm(o.out), calm(o.err);
    ck_assert_msg(strstr(o.out, "x?[2J?31m?????y") || strstr(o.err, "x?[2J?31m?????y") || strstr(o.out, "x\\u001b[2J\\u009b31m"),
                  "%s%s", o.out, o.err);
    outcome_free(&o);
}

/// What every command prints of a file with such a name, also where it is not there or bad.
START_TEST(printed_names)
{
    const char *const scene = named(hostile, ".yaml"), *const h5 = named(hostile, ".h5"), *const other = named(hostile, ".7");
    spit(scene, scene_text);
    printed(0, catena("check", scene));
    printed(0, catena("check", scene, "--json"));
    printed(0, catena("info", scene));
    printed(0, catena("info", scene, "--json"));
    printed(0, catena("run", scene, "--out", h5));
    printed(0, catena("run", scene, "--json"));
    printed(0, catena("replay", h5));
    printed(0, catena_with("[{\"q\": [1]}]", "eval", scene, NULL));
    printed(0, catena("rollout", scene, "--worlds", "2", "--out", named(hostile, "2.h5")));
    printed(0, catena("check", scene, "--dt-sweep", "--error", "0.1"));
    if (has_gnuplot()) printed(0, catena("plot", h5, "--out", named(hostile, ".svg")));
    printed(2, catena("run", other));
    printed(2, catena("plot", named(hostile, "9.h5"), "--out", "a.png"));
    printed(2, catena(hostile));
    printed(2, catena("run", scene, "--method", hostile));
    printed(2, catena("run", scene, named("--", hostile)));
    spit(named(hostile, "bad.h5"), "no HDF5");
    printed(2, catena("replay", named(hostile, "bad.h5")));
    spit(named(hostile, "bad.yaml"), "catena: 1\nlinks: [");
    printed(2, catena("check", named(hostile, "bad.yaml")));
}
END_TEST

/// What errors quote of a scene, and of JSON.
START_TEST(printed_excerpts)
{
    static const char *const bad[] = {
        "catena: 1\nlinks: []\nintegrator: {method: \"x\\e[2J\\x9b31m\\x9b\\x7f\\u202e\\u2066\\u200by\"}\n",
        "catena: 1\nlinks: []\n\"x\\e[2J\\x9b31m\\x9b\\x7f\\u202e\\u2066\\u200by\": 1\n",
        "catena: 1\nlinks:\n  - {name: a, joint: \"x\\e[2J\\x9b31m\\x9b\\x7f\\u202e\\u2066\\u200by\"}\n",
        "catena: 1\nlinks: []\ninclude:\n  - {file: \"x\\e[2J\\x9b31m\\x9b\\x7f\\u202e\\u2066\\u200by\"}\n"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        spit("a.yaml", bad[k]);
        printed(2, catena("check", "a.yaml"));
    }
}
END_TEST

/// JSON has the name as it is, in escapes.
START_TEST(names_in_json)
{
    static const char name[] =
        "x\033[2J\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81\xf0\x9f\x98\x80.yaml";  // also beyond 16 bits: hidden, and shown
    spit(name, scene_text);
    cJSON *const list = catena_json(0, "check", "--json", name, NULL);
    ck_assert_str_eq(member(list->child, "file")->valuestring, name);
    cJSON_Delete(list);
    outcome o = catena("check", "--json", name);
    ck_assert(strstr(o.out, "x\\u001b[2J\\u009b\\u202e\\udb40\\udc01\xf0\x9f\x98\x80.yaml"));
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli names");
    TCase *const t = tcase_create("cli names");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 120);
    if (!has_gnuplot()) printf("cli_names: pictures skipped: gnuplot is not installed\n");
    tcase_add_loop_test(t, names_of_files, 0, COMMANDS);
    tcase_add_loop_test(t, kept_scripts, 0, COMMANDS);
    tcase_add_test(t, forged_recordings);
    tcase_add_test(t, printed_names);
    tcase_add_test(t, printed_excerpts);
    tcase_add_test(t, names_in_json);
    suite_add_tcase(s, t);
    return run_suite(s);
}
