/// Meshes of COLLADA (.dae): known vertices, files that are no good, robots and recordings that have them. Where catena was built
/// without assimp: what it says of such files.
#include "sim/scene/scene.h"
#include "tests/command.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>

static const char scene_text[] = "catena: 1\nlinks:\n  - {name: a, joint: {type: ball, v0: [1, 2, 3]}, density: 1, shapes: "
                                 "[{type: mesh, file: a.dae}]}\n";

/// tests/meshes/two-nodes.dae as a.dae, with one word in the place of another.
static void write_dae(const char *word, const char *other)
{
    char *const text = slurp(CATENA_SOURCE_DIR "/tests/meshes/two-nodes.dae", NULL), *const at = strstr(text, word);
    ck_assert_ptr_nonnull(at);
    FILE *const out = fopen("a.dae", "wb");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "%.*s%s%s", (int)(at - text), text, other, at + strlen(word));
    ck_assert_int_eq(fclose(out), 0);
    free(text);
}

static void expect_vertex(const mesh_surface *m, double x, double y, double z)
{
    bool found = false;
    for (int i = 0; i < m->nvertex; i++)
        found = found || fabs(m->vertices[i][0] - x) + fabs(m->vertices[i][1] - y) + fabs(m->vertices[i][2] - z) < 2e-6;
    ck_assert_msg(found, "no vertex at %g %g %g", x, y, z);
}

/// A corner of 1 m that is turned and moved by two nodes, and a box that a third one mirrors; in centimetres, whichever axis is up.
START_TEST(known_vertices)
{
    static const char *const up[] = {"Y_UP", "Z_UP", "X_UP"};
    ctn_error err = {0};
    write_dae("Y_UP", up[_i]);
    spit("main.yaml", scene_text);
    ctn_scene *const scene = ctn_scene_load("main.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ck_assert_int_eq(scene->nmesh, 1);
    const mesh_surface *const m = &scene->meshes[0]->surface;
    ck_assert_int_eq(m->nvertex, 12);
    ck_assert_int_eq(m->ntriangle, 16);
    expect_vertex(m, 10, 0, 0), expect_vertex(m, 10, 1, 0), expect_vertex(m, 9, 0, 0), expect_vertex(m, 10, 0, 1);
    for (int k = 0; k < 8; k++) expect_vertex(m, k & 1 ? 0.1 : -0.1, k & 2 ? 0.2 : -0.2, k & 4 ? 5.3 : 4.7);
    ck_assert_str_eq(m->flaw, "");  // so it is not inside out
    ck_assert_double_eq_tol(m->volume, 1.0 / 6 + 0.2 * 0.4 * 0.6, 1e-6);
    ctn_scene_free(scene);
}
END_TEST

static const struct {
    const char *word, *other, *says;
} broken[] = {
    {"</COLLADA>", "", "a.dae:1:1: assimp cannot read this as COLLADA: "},
    {"<COLLADA ", "<html ", "a.dae:1:1: assimp cannot read this as COLLADA: "},
    {"<instance_visual_scene url=\"#all\"/>", "", "a.dae:1:1: "},
    {"-10 0 0", "1e39 0 0", "a.dae:1:1: a vertex of the mesh "},
};
enum { BROKEN = sizeof broken / sizeof *broken };

START_TEST(bad_files)
{
    ctn_error err = {0};
    write_dae(broken[_i].word, broken[_i].other);
    spit("main.yaml", scene_text);
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    ck_assert_msg(!strncmp(err.message, broken[_i].says, strlen(broken[_i].says)), "%s", err.message);
    ck_assert_int_eq(err.count, 1);
}
END_TEST

/// Cut off anywhere: an error or a surface.
START_TEST(cut_off)
{
    size_t length;
    char *const text = slurp(CATENA_SOURCE_DIR "/tests/meshes/two-nodes.dae", &length);
    for (size_t n = 0; n < length; n += 7) {
        char *const bytes = malloc(n + 1), *msh = NULL;
        size_t size;
        mesh_problem problem = {0};
        memcpy(bytes, text, n), bytes[n] = 0;
        const ctn_status status = mesh_from_collada(bytes, n, 1000000, &msh, &size, &problem);
        ck_assert(status == CTN_OK || (status == CTN_BAD_SCENE && problem.line == 1 && *problem.text));
        if (status == CTN_OK) free(msh);
        free(bytes);
    }
    mesh_problem problem = {0};
    char *msh = NULL;
    size_t size;
    ck_assert_int_eq(mesh_from_collada(text, length, 100, &msh, &size, &problem), CTN_BAD_SCENE);
    ck_assert_str_eq(problem.text, "it is too large; the files of the scene may have 100 bytes more");
    free(text);
}
END_TEST

#define INERTIAL "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
#define MESH(kind, file) "<" kind "><geometry><mesh filename='" file "'/></geometry></" kind ">"

/// A recording has what the file became: it plays the same when the file is gone. One that is broken is left out there, too.
START_TEST(recorded)
{
    static const char robot[] = "<robot name='r'><link name='world'/><link name='a'>" INERTIAL MESH("visual", "package://p/a.dae")
        MESH("collision",
             "b.dae") "</link>\n<joint name='j' type='continuous'><parent link='world'/><child link='a'/></joint></robot>";
    write_dae("Y_UP", "Z_UP");
    if (_i) spit("b.dae", "no COLLADA");
    else ck_assert_int_eq(system("mkdir p && mv a.dae p && cp p/a.dae b.dae"), 0);
    spit("robot.urdf", robot);
    outcome o = catena("run", "robot.urdf", "--steps", "9", "--out", "r.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(!strstr(o.err, "left out") == !_i, "%s", o.err);
    outcome_free(&o);
    ck_assert_int_eq(system("rm -r p *.dae robot.urdf 2>/dev/null") < 0, 0);
    o = catena("replay", "r.h5", "--verify");
    ck_assert_msg(o.status == 0 && strstr(o.out, "identical: 1 world, 9 steps"), "%s%s", o.out, o.err);
    outcome_free(&o);
}
END_TEST

START_TEST(told_what_is_missing)
{
    ctn_error err = {0};
    write_dae("Y_UP", "Z_UP");
    spit("main.yaml", scene_text);
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    ck_assert_msg(strstr(err.message, "shapes[0].file: a.dae is COLLADA, and this catena was built without assimp") &&
                      strstr(err.message, "libassimp-dev"),
                  "%s", err.message);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("collada");
    TCase *const all = tcase_create("all");
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    if (mesh_reads_collada()) {
        tcase_add_loop_test(all, known_vertices, 0, 3);
        tcase_add_loop_test(all, bad_files, 0, BROKEN);
        tcase_add_test(all, cut_off);
        tcase_add_loop_test(all, recorded, 0, 2);
    } else tcase_add_test(all, told_what_is_missing);
    suite_add_tcase(suite, all);
    const int status = run_suite(suite);
    if (mesh_reads_collada() || status) return status;
    puts("collada: skipped: built without assimp (Debian: libassimp-dev)");
    return EXIT_SKIPPED;
}
