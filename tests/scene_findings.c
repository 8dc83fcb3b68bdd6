/// Errors and warnings in pieces: file, line, column, key and text, whatever stands in them.
#include "sim/scene/scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

static void is(const ctn_finding *f, const char *file, int line, int column, const char *key, const char *text)
{
    ck_assert_str_eq(f->file, file);
    ck_assert_int_eq(f->line, line);
    ck_assert_int_eq(f->column, column);
    ck_assert_str_eq(f->key, key);
    ck_assert_str_eq(f->text, text);
}

/// A name and keys that look like places do not mislead.
START_TEST(errors)
{
    const char *const text = LINKS "  - {name: a, joint: {type: revolute, axis: [0, 1]}, " MASS "}\n\"b:1:2: c\": 5\n";
    ctn_error err;
    ctn_finding f;
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "odd:7:7: name.yaml", &err));
    ck_assert_int_eq(err.count, 2);
    ck_assert_int_eq(ctn_error_finding(&err, 0, &f), CTN_OK);
    is(&f, "odd:7:7: name.yaml", 3, 45, "joint.axis", "expected 3 numbers, found 2");
    ck_assert_int_eq(ctn_error_finding(&err, 1, &f), CTN_OK);
    is(&f, "odd:7:7: name.yaml", 4, 1, "b:1:2: c",
       "unknown key; a scene has: catena, name, gravity, inertias, defaults, include, urdf, mjcf, links, springs, "
       "pairs, exclude, loops, couplings, tendons, forces, gaits, motors, sensors, controller, search, fluid, ground, obstacles, terrain, contact, integrator, duration, state, "
       "sample, reward, optimize, camera, "
       "cameras, view");
    ck_assert_int_eq(ctn_error_finding(&err, 2, &f), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_error_finding(&err, -1, &f), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_error_finding(&err, 0, NULL), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_error_finding(NULL, 0, &f), CTN_BAD_ARGUMENT);
}
END_TEST

/// The pieces, put together, are the lines of the message, also of one that was cut.
START_TEST(pieces_make_the_message)
{
    char name[1200], text[4096] = LINKS, line[8192];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - {name: a%d, wrong: 1, " MASS "}\n", i);
    ctn_error err;
    ctn_finding f;
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), name, &err));
    const char *rest = err.message;
    for (int i = 0; i < err.count; i++) {
        ck_assert_int_eq(ctn_error_finding(&err, i, &f), CTN_OK);
        const int length = snprintf(line, sizeof line, "%s:%d:%d: %s: %s\n", f.file, f.line, f.column, f.key, f.text);
        ck_assert_int_eq(strncmp(rest, line, (size_t)length), 0);
        rest += length;
    }
    ck_assert_str_eq(rest, "... and 14 more; reading stopped here");

    static char longer[9000];  // no room for its name, nor for anything behind it
    memset(longer, 'n', sizeof longer - 1);
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), longer, &err));
    ck_assert_int_eq(ctn_error_finding(&err, 0, &f), CTN_OK);
    ck_assert_uint_eq(strlen(f.file), sizeof f.file - 1);
    ck_assert_int_eq(f.line, 3);
    ck_assert_str_eq(f.key, "");
    ck_assert_str_eq(f.text, "");
}
END_TEST

START_TEST(without_a_place)
{
    ctn_error err;
    ctn_finding f;
    ck_assert_ptr_null(ctn_scene_parse(LINKS, strlen(LINKS), "t.yaml", &err));  // leaves places behind
    ck_assert_int_gt(err.placed, 0);
    ck_assert_ptr_null(ctn_scene_load("not/there.yaml", &err));
    ck_assert_int_eq(err.count, 1);
    ck_assert_int_eq(ctn_error_finding(&err, 0, &f), CTN_OK);
    is(&f, "", 0, 0, "", err.message);
}
END_TEST

/// What only the compiler finds has a place as well.
START_TEST(compiled)
{
    ctn_error err;
    ctn_finding f;
    ctn_scene *const scene = parse(LINKS "  - {name: a, joint: revolute, " MASS "}\n");
    scene->links[0].mass = 0;
    memset(scene->links[0].inertia, 0, sizeof scene->links[0].inertia);
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_int_eq(ctn_error_finding(&err, 0, &f), CTN_OK);
    is(&f, "folder/t.yaml", 3, 5, "links", "'a' moves no mass: give it, or a link that hangs on it, a mass");
    ctn_scene_free(scene);
}
END_TEST

START_TEST(warnings)
{
    ctn_finding f;
    ctn_scene *const scene = parse(LINKS "  - {name: a, joint: {type: revolute, effort: 1}, " MASS "}\n"
                                         "  - {name: b, joint: {type: revolute, effort: 1}, " MASS "}\n");
    ck_assert_int_eq(ctn_scene_warning_count(scene), 2);
    ck_assert_int_eq(ctn_scene_warning(scene, 1, &f), CTN_OK);
    is(&f, "folder/t.yaml", 4, 47, "joint.effort", "not used: the scene has no `motors` that it could limit");
    ck_assert_int_eq(ctn_scene_warning(scene, 2, &f), CTN_BAD_ARGUMENT);

    // what is found later stands among them, once
    for (int twice = 0; twice < 2; twice++) scene_warn(scene, &scene->links[1], NULL, "joint", "%s is odd", "it");
    ck_assert_int_eq(ctn_scene_warning_count(scene), 3);
    ck_assert_int_eq(ctn_scene_warning(scene, 1, &f), CTN_OK);
    is(&f, "folder/t.yaml", 4, 5, "joint", "it is odd");
    ck_assert_str_eq(ctn_scene_warnings(scene),
                     "folder/t.yaml:3:47: joint.effort: not used: the scene has no `motors` that it could limit\n"
                     "folder/t.yaml:4:5: joint: it is odd\n"
                     "folder/t.yaml:4:47: joint.effort: not used: the scene has no `motors` that it could limit");
    for (int i = 0; i < 30; i++) scene_warn(scene, &scene->links[0], NULL, "joint", "odd %d", i);
    ck_assert_int_eq(ctn_scene_warning_count(scene), 20);
    ck_assert_ptr_nonnull(strstr(ctn_scene_warnings(scene), "\n... and 1 more"));  // 13 of one place
    ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("findings");
    TCase *const tcase = tcase_create("pieces");
    tcase_add_test(tcase, errors);
    tcase_add_test(tcase, pieces_make_the_message);
    tcase_add_test(tcase, without_a_place);
    tcase_add_test(tcase, compiled);
    tcase_add_test(tcase, warnings);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
