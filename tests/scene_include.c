/// Included files: where their links come in, how they are named and placed, and their errors, which name the file.
#include "sim/scene/scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/catena-scene-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void make_folder(void)
{
    char path[256];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/parts", folder);
    ck_assert_int_eq(mkdir(path, 0777), 0);
}

static void remove_folder(void)
{
    static const char *const names[] = {
        "main.yaml",       "part.yaml",       "link.yaml",       "part.obj",         "parts/arm.yaml",
        "parts/hand.yaml", "parts/body.yaml", "parts/part.yaml", "parts/inner.yaml", "parts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

// ---- good ones

static ctn_scene *load_main(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/main.yaml", folder);
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != 0, "%s", err.message);
    return scene;
}

START_TEST(include_tree)
{
    write_file("main.yaml", "catena: 1\n"
                            "defaults: {joint: {damping: 9}}\n"
                            "links:\n"
                            "  - {name: lamp, parent: left.hand.palm, joint: revolute, " MASS "}\n"
                            "include:\n"
                            "  - parts/body.yaml\n"
                            "  - {file: parts/arm.yaml, as: left, parent: torso, position: [0, 1, 0], rotation: [0, 0, 0, 1]}\n"
                            "  - {file: parts/arm.yaml, as: right, parent: torso, position: [0, -1, 0]}\n"
                            "camera: {type: track, link: right.lower}\n");
    write_file("parts/body.yaml", "catena: 1\nname: body\ngravity: [0, 0, 5]\nduration: 3\nintegrator: {dt: 0.5}\n"
                                  "links:\n  - {name: torso, joint: free, " MASS "}\n");
    write_file("parts/arm.yaml",
               "catena: 1\ndefaults: {joint: {damping: 2}}\n"
               "include: [{file: hand.yaml, as: hand}]\n"
               "links:\n  - {name: upper, position: [1, 2, 3], rotation: [0, 1, 0, 0], joint: universal, " MASS "}\n"
               "  - {name: lower, parent: upper, position: [1, 2, 3], joint: revolute, " MASS "}\n"
               "camera: {type: track, link: lower}\n");
    write_file("parts/hand.yaml", "catena: 1\nlinks:\n  - {name: palm, position: [0, 0, 1], joint: ball, " MASS "}\n");
    ctn_scene *const scene = load_main();
    static const char *const names[] = {"torso",           "left.hand.palm", "left.upper",  "left.lower",
                                        "right.hand.palm", "right.upper",    "right.lower", "lamp"};
    static const int parents[] = {-1, 0, 0, 2, 0, 0, 5, 1};
    ck_assert_int_eq(scene->nlink, 8);
    for (int i = 0; i < 8; i++) {
        ck_assert_str_eq(scene->links[i].name, names[i]);
        ck_assert_int_eq(scene->links[i].parent, parents[i]);
    }
    ck_assert_int_eq(scene->nq, 7 + 4 + 2 + 1 + 4 + 2 + 1 + 1);
    // settings and defaults of a file are its own
    ck_assert_str_eq(ctn_scene_name(scene), "main");
    EXACT(scene->gravity, 0, 0, -9.81);
    ck_assert_double_eq(ctn_scene_duration(scene), -1);
    ck_assert_double_eq(scene->config.dt, 0.01);
    ck_assert(scene->ncamera == 1 && scene->cameras->link == 6);
    EXACT(scene->links[0].joint.damping, 0);
    EXACT(scene->links[2].joint.damping, 2, 2);
    EXACT(scene->links[7].joint.damping, 9);
    // what hung on the world in the file is turned and placed
    EXACT(scene->links[1].position, 0, 1, 1);
    EXACT(scene->links[1].rotation, 0, 0, 0, 1);
    EXACT(scene->links[2].position, -1, -1, 3);
    EXACT(scene->links[2].rotation, 0, 0, 1, 0);  // k i = j
    EXACT(scene->links[3].position, 1, 2, 3);
    EXACT(scene->links[5].position, 1, 1, 3);
    EXACT(scene->links[5].rotation, 0, 1, 0, 0);
    // every file once for each time it was read, with the links it has
    ck_assert_int_eq(scene->nfile, 6);
    char path[256];
    snprintf(path, sizeof path, "%s/parts/hand.yaml", folder);
    ck_assert_str_eq(scene->links[1].file, path);
    ck_assert_int_eq(scene->links[1].line, 3);
    ck_assert_str_eq(scene->links[7].file, scene->files[0].path);
    ck_assert_int_eq(scene->links[7].line, 4);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(include_state)
{
    // the state of an included file goes with its links, and is placed with them; q: includes first, then links
    write_file("parts/body.yaml", "catena: 1\nlinks:\n  - {name: f, joint: {type: free, q0: [9, 9, 9, 1, 0, 0, 0]}, " MASS "}\n"
                                  "  - {name: j, parent: f, joint: revolute, " MASS "}\n"
                                  "state: {q: [1, 2, 3, 0, 1, 0, 0, 0.5], v: [1, 2, 3, 4, 5, 6, 7]}\n");
    write_file("main.yaml", "catena: 1\nlinks:\n  - {name: own, joint: {type: revolute, q0: 0.125}, " MASS "}\n"
                            "include: [{file: parts/body.yaml, position: [10, 0, 0], rotation: [0, 0, 0, 1]}]\n");
    ctn_scene *scene = load_main();
    EXACT(scene->links[0].joint.q0, 9, -2, 3, 0, 0, 1, 0);
    EXACT(scene->links[0].joint.v0, -1, -2, 3, 4, 5, 6);
    EXACT(scene->links[1].joint.q0, 0.5);
    EXACT(scene->links[1].joint.v0, 7);
    EXACT(scene->links[2].joint.q0, 0.125);
    char expected[512];
    snprintf(expected, sizeof expected, "%s/parts/body.yaml:3:39: joint.q0: not used: `state` gives q", folder);
    ck_assert_str_eq(ctn_scene_warnings(scene), expected);
    ctn_scene_free(scene);

    // the state of the scene itself covers all
    write_file("main.yaml", "catena: 1\nlinks:\n  - {name: own, joint: revolute, " MASS "}\n"
                            "include: [{file: parts/body.yaml, position: [10, 0, 0]}]\n"
                            "state: {q: [7, 6, 5, 1, 0, 0, 0, 0.25, 0.75]}\n");
    scene = load_main();
    EXACT(scene->links[0].joint.q0, 7, 6, 5, 1, 0, 0, 0);
    EXACT(scene->links[1].joint.q0, 0.25);
    EXACT(scene->links[2].joint.q0, 0.75);
    EXACT(scene->links[1].joint.v0, 7);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(include_beside_and_absolute)
{
    char text[512], name[256];
    write_file("parts/arm.yaml", "catena: 1\nlinks: [{name: a}]\n");
    // from text, beside the name it was given
    snprintf(name, sizeof name, "%s/nothing-here.yaml", folder);
    const char *const relative = "catena: 1\ninclude: [parts/arm.yaml]\n";
    ctn_error err = {0};
    ctn_scene *scene = ctn_scene_parse(relative, strlen(relative), name, &err);
    ck_assert_msg(scene != 0, "%s", err.message);
    ck_assert_int_eq(scene->nlink, 1);
    ctn_scene_free(scene);
    snprintf(text, sizeof text, "catena: 1\ninclude: [%s/parts/arm.yaml]\n", folder);
    scene = ctn_scene_parse(text, strlen(text), "elsewhere/t.yaml", &err);
    ck_assert_msg(scene != 0, "%s", err.message);
    ctn_scene_free(scene);
}
END_TEST

// ---- bad ones

/// Loads main.yaml and expects exactly these errors: file, line, column, words.
static void expect_errors(int count, const char *const files[], const int places[][2], const char *const words[])
{
    char path[256], file[256];
    snprintf(path, sizeof path, "%s/main.yaml", folder);
    ctn_error err = {0};
    ck_assert_ptr_null(ctn_scene_load(path, &err));
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, files[i]);
        ck_assert_msg(has_error(err.message, file, places[i][0], places[i][1], words[i], false), "expected %s:%d:%d: %s in\n%s",
                      files[i], places[i][0], places[i][1], words[i], err.message);
    }
    ck_assert_msg(err.count == count, "expected %d errors, got\n%s", count, err.message);
}

START_TEST(errors_in_included_files)
{
    write_file("main.yaml", "catena: 1\ninclude: [parts/part.yaml]\nlinks:\n" A "  - {name: b, parent: p, wrong: 1, " MASS "}\n");
    write_file("parts/part.yaml", "catena: 1\ninclude: [inner.yaml]\nlinks:\n  - {name: p, mass: -1}\nrecord: []\n");
    write_file("parts/inner.yaml", "catena: 1\nlinks:\n  - {name: i, mass: 1, inertia: [1]}\n");
    // the link `p` could not be read, so that nothing is said about the parent of b
    expect_errors(4, (const char *[]){"main.yaml", "parts/part.yaml", "parts/part.yaml", "parts/inner.yaml"},
                  (int[][2]){{5, 26}, {4, 21}, {5, 1}, {3, 33}},
                  (const char *[]){"wrong: unknown key", "mass: expected a number >= 0, found '-1'",
                                   "record: not available in this version", "inertia: expected 6 numbers, found 1"});

    write_file("parts/inner.yaml", "catena: 1\nlinks: [\n");
    write_file("parts/part.yaml", "catena: 1\ninclude: [inner.yaml]\n");
    write_file("main.yaml", "catena: 1\ninclude: [parts/part.yaml]\n");
    expect_errors(1, (const char *[]){"parts/inner.yaml"}, (int[][2]){{3, 1}}, (const char *[]){"syntax: "});
}
END_TEST

START_TEST(cycles)
{
    write_file("main.yaml", "catena: 1\ninclude: [part.yaml]\n");
    write_file("part.yaml", "catena: 1\ninclude:\n  - {file: ./main.yaml, as: x}\n");
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 12}}, (const char *[]){"include[0].file: a cycle: '"});

    write_file("main.yaml", "catena: 1\ninclude: [main.yaml]\n");
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{2, 11}}, (const char *[]){"include[0]: a cycle: '"});

    // another name of the same file
    char link[256];
    snprintf(link, sizeof link, "%s/link.yaml", folder);
    ck_assert_int_eq(symlink("main.yaml", link), 0);
    write_file("main.yaml", "catena: 1\ninclude: [link.yaml]\n");
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{2, 11}}, (const char *[]){"include[0]: a cycle: '"});
}
END_TEST

START_TEST(includes_that_do_not_fit)
{
    // the same names twice
    write_file("part.yaml", LINKS A);
    write_file("main.yaml", "catena: 1\ninclude: [part.yaml, {file: part.yaml, as: b}, part.yaml]\n");
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 12}},
                  (const char *[]){"name: 'a' is already the name of the link at"});

    // a free joint under a link; a parent that comes later, or from the file itself
    write_file("part.yaml", LINKS "  - {name: f, joint: free, " MASS "}\n");
    write_file("main.yaml", "catena: 1\ninclude:\n  - {file: part.yaml, as: x}\n  - {file: part.yaml, parent: x.f}\n");
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{4, 31}},
                  (const char *[]){"include[1].parent: link 'f' of the file has a free joint"});
    write_file("main.yaml", "catena: 1\ninclude:\n  - {file: part.yaml, parent: a}\nlinks:\n" A);
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{3, 31}}, (const char *[]){"include[0].parent: unknown link 'a'"});

    // an included file knows its own links only
    write_file("part.yaml", LINKS "  - {name: p, parent: x.a, " MASS "}\n");
    write_file("link.yaml", LINKS A);
    write_file("main.yaml", "catena: 1\ninclude: [{file: link.yaml, as: x}, part.yaml]\n");
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 23}}, (const char *[]){"parent: unknown link 'x.a'"});

    // without mass, and nothing hung below it after all
    write_file("part.yaml", LINKS "  - {name: p, joint: revolute, mass: 0}\n");
    write_file("main.yaml", "catena: 1\ninclude: [part.yaml]\nlinks:\n" A);
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 38}}, (const char *[]){"mass: a moving link needs mass"});

    // names that grow too long
    char text[1024], as[256];
    memset(as, 'n', 250);
    as[250] = 0;
    write_file("part.yaml", "catena: 1\ninclude: [{file: link.yaml, as: inner}]\n");
    snprintf(text, sizeof text, "catena: 1\ninclude: [{file: part.yaml, as: %s}]\n", as);
    write_file("main.yaml", text);
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{2, 33}},
                  (const char *[]){"include[0].as: expected a shorter name"});
}
END_TEST

/// Numbers that are finite in their files, and no more where the entry puts the links.
START_TEST(includes_too_far_away)
{
    write_file("part.yaml", LINKS "  - {name: p, joint: revolute, position: [1.7e308, 0, 0], " MASS "}\n");
    write_file("main.yaml", "catena: 1\ninclude: [{file: part.yaml, position: [1.7e308, 0, 0]}]\n");
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 5}},
                  (const char *[]){"links[0]: numbers of 'p' are too large to compute with"});
    write_file("part.yaml", LINKS "  - {name: p, joint: {type: free, v0: [1.7e308, 1.7e308, 0, 0, 0, 0]}, " MASS "}\n");
    write_file("main.yaml", "catena: 1\ninclude: [{file: part.yaml, euler: [0, 0, 0.5]}]\n");
    expect_errors(1, (const char *[]){"part.yaml"}, (int[][2]){{3, 5}},
                  (const char *[]){"links[0]: numbers of 'p' are too large to compute with"});
}
END_TEST

/// A broken mesh that one shape can do without is an error of another one that needs it, whichever comes first.
START_TEST(mesh_of_two_shapes)
{
    static const char *const shapes[] = {"{type: mesh, file: part.obj, optional: true}, {type: mesh, file: part.obj}",
                                         "{type: mesh, file: part.obj}, {type: mesh, file: part.obj, optional: true}"};
    char text[512];
    write_file("part.obj", "v 1 2 x\n");
    snprintf(text, sizeof text, LINKS "  - {name: a, joint: revolute, " MASS ", shapes: [%s]}\n", shapes[_i]);
    write_file("main.yaml", text);
    expect_errors(1, (const char *[]){"part.obj"}, (int[][2]){{1, 7}}, (const char *[]){"expected a finite number, found 'x'"});
}
END_TEST

START_TEST(too_large_or_deep_files)
{
    char path[256];
    write_file("main.yaml", "catena: 1\ninclude: [part.yaml]\n");
    snprintf(path, sizeof path, "%s", write_file("part.yaml", ""));
    ck_assert_int_eq(truncate(path, 128L * 1024 * 1024), 0);  // with main.yaml more than all files may have
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{2, 11}},
                  (const char *[]){"is too large; the files of a scene have at most 134217728 bytes together"});

    // main.yaml includes 0.yaml, which includes 1.yaml ...; the seventeenth is one too many
    char name[16], text[64];
    for (int i = 0; i < 17; i++) {
        snprintf(name, sizeof name, "%d.yaml", i);
        snprintf(text, sizeof text, "catena: 1\ninclude: [%d.yaml]\n", i + 1);
        write_file(i == 0 ? "main.yaml" : name, text);
    }
    expect_errors(1, (const char *[]){"16.yaml"}, (int[][2]){{2, 11}},
                  (const char *[]){"include[0]: too deep; at most 16 files include each other"});
    write_file("16.yaml", LINKS A);
    snprintf(path, sizeof path, "%s/main.yaml", folder);
    ctn_scene *const scene = ctn_scene_load(path, 0);
    ck_assert_ptr_nonnull(scene);
    ctn_scene_free(scene);
    for (int i = 1; i < 17; i++) {
        snprintf(path, sizeof path, "%s/%d.yaml", folder, i);
        remove(path);
    }
}
END_TEST

START_TEST(too_many_files)
{
    write_file("part.yaml", "catena: 1\nlinks: []\n");
    char path[256];
    snprintf(path, sizeof path, "%s/main.yaml", folder);
    FILE *const file = fopen(path, "w");
    fputs("catena: 1\ninclude:\n", file);
    for (int i = 0; i < 1000; i++) fprintf(file, "  - {file: link.yaml, as: a%d}\n", i);
    fclose(file);
    write_file("link.yaml", LINKS A);
    expect_errors(1, (const char *[]){"main.yaml"}, (int[][2]){{1002, 12}},
                  (const char *[]){"include[999].file: too many files; a scene has at most 1000"});
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene include");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, make_folder, remove_folder);
    tcase_add_test(all, include_tree);
    tcase_add_test(all, include_state);
    tcase_add_test(all, include_beside_and_absolute);
    tcase_add_test(all, errors_in_included_files);
    tcase_add_test(all, cycles);
    tcase_add_test(all, includes_that_do_not_fit);
    tcase_add_test(all, includes_too_far_away);
    tcase_add_loop_test(all, mesh_of_two_shapes, 0, 2);
    tcase_add_test(all, too_large_or_deep_files);
    tcase_add_test(all, too_many_files);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
