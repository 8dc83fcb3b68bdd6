/// URDF: the same model as the scene that says the same; every wrong file is named with its place; `convert` gives the same
/// model.
#include "dynamics/model.h"
#include "sim/scene/scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

static ctn_model *robot_of(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s", err.message);
    ctn_scene_free(scene);
    return m;
}

static uint64_t seed;
static double some(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}

/// Poses, mass matrix and forces of both, whose first joint is free, at states drawn by chance, within `bound` of the largest
/// entry.
static void same_models(const ctn_model *a, const ctn_model *b, double bound)
{
    enum { NQ = 40, NV = 40, LINKS = 20 };
    const int nq = ctn_model_nq(a), nv = ctn_model_nv(a), nlink = ctn_model_nlink(a);
    ck_assert_int_eq(nq, ctn_model_nq(b));
    ck_assert_int_eq(nv, ctn_model_nv(b));
    ck_assert_int_eq(nlink, ctn_model_nlink(b));
    ck_assert(nq <= NQ && nv <= NV && nlink <= LINKS);
    ctn_dynamics *const dyn[2] = {ctn_dynamics_create(a, NULL, NULL), ctn_dynamics_create(b, NULL, NULL)};
    static double R[2][9 * LINKS], p[2][3 * LINKS], H[2][NV * NV], bias[2][NV], passive[2][NV];
    for (int state = 0; state < 20; state++) {
        double q[NQ], v[NV];
        for (int i = 0; i < nq; i++) q[i] = some(-1, 1);
        const double size = sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]);
        for (int i = 3; i < 7; i++) q[i] /= size;  // the first joint is free
        for (int i = 0; i < nv; i++) v[i] = some(-2, 2);
        for (int k = 0; k < 2; k++) {
            ctn_forward_kinematics(dyn[k], 1, q, R[k], p[k]);
            ctn_crba(dyn[k], 1, q, H[k]);
            ctn_bias(dyn[k], 1, q, v, bias[k]);
            ctn_passive(dyn[k], 1, q, v, passive[k]);
        }
        const struct {
            const char *name;
            const double *x, *y;
            int n;
        } all[] = {{"R", R[0], R[1], 9 * nlink},
                   {"p", p[0], p[1], 3 * nlink},
                   {"H", H[0], H[1], nv * nv},
                   {"bias", bias[0], bias[1], nv},
                   {"passive", passive[0], passive[1], nv}};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            double most = 0, far = 0;
            for (int i = 0; i < all[k].n; i++)
                most = fmax(most, fabs(all[k].x[i])), far = fmax(far, fabs(all[k].x[i] - all[k].y[i]));
            ck_assert_msg(far <= bound * most, "state %d: %s differs by %g of %g", state, all[k].name, far, most);
        }
    }
    ctn_dynamics_free(dyn[0]), ctn_dynamics_free(dyn[1]);
}

#define INERTIAL                                                                                                                 \
    "<inertial><origin xyz='0.1 0 0.2' rpy='0.3 -0.2 0.5'/><mass value='2'/>"                                                    \
    "<inertia ixx='0.03' iyy='0.02' izz='0.04' ixy='0.001' ixz='-0.002' iyz='0.003'/></inertial>"

/// Every joint type; children before parents; a base called world.
static const char robot[] =
    "<?xml version='1.0'?>\n<robot name='all'>\n"
    "<joint name='j3' type='prismatic'><parent link='b'/><child link='c'/><axis xyz='0 2 0'/><origin xyz='0 0 .3' rpy='1 2 3'/>"
    "<limit lower='-0.5' upper='0.5' effort='3' velocity='1'/></joint>\n"
    "<link name='c'>" INERTIAL "</link>\n<link name='b'>" INERTIAL "</link>\n<link name='a'>" INERTIAL "</link>\n"
    "<link name='world'/>\n<link name='d'>" INERTIAL "</link>\n<link name='e'>" INERTIAL "</link>\n<link name='f'>" INERTIAL
    "</link>\n"
    "<joint name='j1' type='floating'><parent link='world'/><child link='a'/><origin xyz='1 2 3'/></joint>\n"
    "<joint name='j2' type='revolute'><parent link='a'/><child link='b'/><origin rpy='0 0.4 0'/><dynamics damping='0.2'/>"
    "<limit lower='-2' upper='2' effort='3' velocity='1'/></joint>\n"
    "<joint name='j4' type='fixed'><parent link='c'/><child link='d'/><origin xyz='0 1e-1 0' rpy='1 0 0'/></joint>\n"
    "<joint name='j5' type='continuous'><parent link='b'/><child link='e'/><axis xyz='0 0 1'/></joint>\n"
    "<joint name='j6' type='planar'><parent link='e'/><child link='f'/><axis xyz='0 1 0'/><origin xyz='0.2 0 0'/></joint>\n"
    "</robot>\n";

START_TEST(joints_are_those_of_scenes)
{
    // I = R J R' of INERTIAL, found with numpy
    const char inertia[] = "inertia: [0.026695096528745969, 0.024379204355525166, 0.038925699115728865, 0.0057741659052689825, "
                           "-0.0016628723765148841, -0.0040990176737804359]";
    char text[4096];
    const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    const char *const keys[] = {
        "position: [1, 2, 3], joint: free",
        "parent: a, euler: [0, 0.4, 0], joint: {type: revolute, axis: [1, 0, 0], damping: 0.2, limits: [-2, 2]}",
        "parent: b, position: [0, 0, 0.3], euler: [1, 2, 3], joint: {type: prismatic, axis: [0, 1, 0], limits: [-0.5, 0.5]}",
        "parent: c, position: [0, 0.1, 0], euler: [1, 0, 0]",
        "parent: b, joint: {type: revolute, axis: [0, 0, 1]}",
        "parent: plane, rotation: [1, 1, 0, 0]",
    };
    int used = snprintf(text, sizeof text, "catena: 1\nlinks:\n");
    for (int i = 0; i < 6; i++) {
        if (i == 5)
            used += snprintf(
                text + used, sizeof text - (size_t)used,
                "  - {name: plane, parent: e, position: [0.2, 0, 0], rotation: [1, -1, 0, 0], joint: planar, mass: 0}\n");
        used += snprintf(text + used, sizeof text - (size_t)used, "  - {name: %s, %s, mass: 2, com: [0.1, 0, 0.2], %s}\n",
                         names[i], keys[i], inertia);
    }
    ctn_model *const a = robot_of(robot), *const b = model_of(text);
    same_models(a, b, 1e-12);
    ctn_model_free(a), ctn_model_free(b);
}
END_TEST

/// Writes a text into a file of this process's own; the name is freed by the caller.
static char *file_of(const char *text)
{
    char *const path = strdup("/tmp/catena-urdf-XXXXXX");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    return path;
}

START_TEST(converted_files_are_the_same_model)
{
    ctn_error err = {0};
    char *const path = file_of(robot), *const yaml = ctn_scene_convert(path, NULL, &err);
    ck_assert_msg(yaml, "%s", err.message);
    ck_assert_msg(!strncmp(yaml, "catena: 1\nname: all\n", 20), "%s", yaml);
    ctn_model *const a = robot_of(robot), *const b = model_of(yaml);
    same_models(a, b, 0);
    ctn_model_free(a), ctn_model_free(b);
    ck_assert_ptr_null(ctn_scene_convert("/", NULL, &err));
    ck_assert_str_eq(err.message, "/: cannot be read: it is a folder");
    remove(path);
    char *const scene = file_of(yaml);
    ck_assert_ptr_null(ctn_scene_convert(scene, NULL, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "is no robot file"));
    remove(scene);
    free(path), free(yaml), free(scene);
}
END_TEST

START_TEST(bases_can_be_free)
{
    ctn_error err = {0};
    char *const path = file_of("<robot name='r'><link name='a'>" INERTIAL "</link></robot>");
    char text[400];
    snprintf(text, sizeof text, "catena: 1\nurdf: {file: %s, as: left, base: free, position: [0, 0, 2]}\n", path);
    ctn_model *const m = model_of(text);
    double q[7], v[6];
    ck_assert_int_eq(ctn_model_nv(m), 6);
    ctn_model_initial_state(m, q, v);
    ck_assert(q[2] == 2);
    ctn_model_free(m);
    snprintf(text, sizeof text, "catena: 1\nmjcf: nowhere.xml\n");
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
    ck_assert_ptr_nonnull(strstr(err.message, "t.yaml:2:7: mjcf: "));
    remove(path);
    free(path);
}
END_TEST

#define ROBOT(text) "<robot name='r'><link name='a'/>\n" text "</robot>"
#define LINK_B "<link name='b'>" INERTIAL "</link>\n"

static const struct {
    const char *text, *error;
} wrong[] = {
    {"<robot>\n <link name='a'>\n</robot>", "t.urdf:3:3: XML: expected the end </link> of the element of line 2"},
    {"<robot><link name='a'/>", "t.urdf:1:24: XML: no element found"},
    {"<!DOCTYPE r [<!ENTITY a 'b'>]><robot/>", "t.urdf:1:25: an entity of its own"},
    {"<robot name='r'/>", "t.urdf:1:1: <robot>: has no <link>"},
    {"<robot xmlns:xacro='x'/>", "t.urdf:1:1: <robot>: this is a file of macros, no URDF; `xacro FILE` makes URDF of it"},
    {"<robot xmlns:xacro='x'><link name='a'/>\n<xacro:property name='b' value='1'/><joint name='c'/></robot>",
     "t.urdf:2:1: <xacro:property>: this is a file of macros, no URDF; `xacro FILE` makes URDF of it"},
    {"<sdf/>", "t.urdf:1:1: is SDF"},
    {"<html/>", "t.urdf:1:1: <html> is no robot file"},
    {ROBOT("<link name='a'/>"), "t.urdf:2:1: <link>: the name 'a' is already that of the link in line 1"},
    {ROBOT("<link/>"), "t.urdf:2:1: <link>: missing attribute name="},
    {ROBOT(LINK_B), "t.urdf:2:1: <link>: 'b' hangs on no joint, as does 'a'; a robot has one base"},
    {ROBOT("<joint name='j' type='fixed'><parent link='a'/></joint>"), "t.urdf:2:1: <joint>: missing <child link"},
    {ROBOT("<joint name='j' type='fixed'><parent link='a'/><child link='bb'/></joint>" LINK_B),
     "t.urdf:2:48: <child>: unknown link 'bb'; did you mean 'b'?"},
    {ROBOT("<joint name='j' type='revolut'><parent link='a'/><child link='b'/></joint>" LINK_B),
     "t.urdf:2:17: <joint>: unknown type 'revolut'; did you mean 'revolute'?"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>\n<link name='b'><inertial>"
           "<mass value='1'/><inertia ixx='-0.0012' iyy='-0.0012' izz='0.0003'/></inertial></link>"),
     "t.urdf:3:1: inertia: that of link 'b' is negative about an axis: its least principal moment is -0.0012 kg m^2"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><mimic joint='x'/></joint>" LINK_B),
     "t.urdf:2:70: <mimic>: unknown joint 'x'; the file has no <joint> of this name"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><mimic joint='j'/></joint>" LINK_B),
     "t.urdf:2:70: <mimic>: a joint follows another one, both revolute, continuous or prismatic"},
    {ROBOT("<joint name='j' type='planar'><parent link='a'/><child link='b'/></joint>" LINK_B
           "<joint name='k' type='continuous'><parent link='b'/><child link='c'/><mimic joint='j'/></joint><link name='c'/>"),
     "<mimic>: a joint follows another one, both revolute, continuous or prismatic"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 1'/></joint>" LINK_B),
     "t.urdf:2:76: xyz: expected 3 numbers, found '0 1'"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 0 0'/></joint>" LINK_B),
     "t.urdf:2:70: joint.axis: "},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 0,1 0'/></joint>" LINK_B),
     "t.urdf:2:76: xyz: expected 3 numbers, found '0 0,1 0'; blanks part numbers, no commas"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0, 1, 0'/></joint>" LINK_B),
     "t.urdf:2:76: xyz: expected 3 numbers, found '0, 1, 0'; blanks part numbers, no commas"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>\n<link name='b'><inertial>"
           "<mass value='-1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"),
     "t.urdf:3:32: mass: expected"},
    {ROBOT("<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>\n<link name='b'/>"),
     "t.urdf:3:1: mass: a moving link needs mass, of its own or below it; found none: give it an <inertial> of a mass > 0, or "
     "no joint that moves"},
    {ROBOT("<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>\n<link name='b'><visual><geometry>"
           "<cone/></geometry></visual></link>"),
     "t.urdf:3:24: <geometry>: expected <box>, <cylinder>"},
    {ROBOT("<joint name='j' type='fixed'><parent link='c'/><child link='b'/></joint>" LINK_B
           "<joint name='k' type='fixed'><parent link='b'/><child link='c'/></joint><link name='c'/>"),
     "t.urdf:2:73: <link>: 'b' hangs on itself, by a circle of joints"},
};

START_TEST(wrong_files_are_named)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(wrong[_i].text, strlen(wrong[_i].text), "t.urdf", &err);
    ck_assert_msg(!scene, "accepted:\n%s", wrong[_i].text);
    ck_assert_msg(strstr(err.message, wrong[_i].error), "expected %s\nin\n%s\nof\n%s", wrong[_i].error, err.message,
                  wrong[_i].text);
}
END_TEST

/// Joints that follow others, one after the other, in any order of the file; and what follows a fixed one is held.
START_TEST(followers)
{
#define FOLLOWS(name, type, parent, child, more)                                                                                 \
    "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child "'/><limit lower='0.5' upper='2'/>" more     \
    "</joint><link name='" child "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
    const char *const text =
        ROBOT(FOLLOWS("j", "revolute", "a", "b", "<mimic joint='k' multiplier='2' offset='-0.5'/>")
                  FOLLOWS("k", "prismatic", "b", "c", "<mimic joint='l'/>") FOLLOWS("l", "revolute", "c", "d", "")
                      FOLLOWS("m", "continuous", "d", "e", "<mimic joint='n' offset='0.25'/>") FOLLOWS("n", "fixed", "e", "f", ""));
    ctn_error err = {0};
    ctn_scene *const s = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(s, "%s", err.message);
    ctn_model *const m = ctn_model_create(s, &err);
    ck_assert_msg(m, "%s", err.message);
    ck_assert_int_eq(m->nbond, 3);
    const double q0[] = {0.5, 0.5, 0.5, 0.25};  // l starts at its lower limit, what follows it where it follows
    for (int i = 0; i < 4; i++) ck_assert_msg(m->q0[i] == q0[i], "q[%d] = %g", i, m->q0[i]);
    const model_bond *const b = m->bonds;
    ck_assert(b[0].follower == m->frames[1].body && b[0].leader == m->frames[2].body && b[0].poly[0] == -0.5 && b[0].poly[1] == 2);
    ck_assert(b[1].follower == m->frames[2].body && b[1].leader == m->frames[3].body && b[1].poly[0] == 0 && b[1].poly[1] == 1);
    ck_assert(b[2].follower == m->frames[4].body && b[2].leader == -1 && b[2].poly[0] == 0.25 && b[2].poly[1] == 0);
    ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

#define SPHERE(radius) "<geometry><sphere radius='" radius "'/></geometry>"
#define DAE "<geometry><mesh filename='a.dae'/></geometry>"

/// Of each shape its radius, whether it is drawn, whether it touches, and whether fluids meet it.
static const struct {
    const char *shapes;
    int count;
    struct {
        double radius;
        bool drawn, touches, solid;
    } is[3];
} kinds[] = {
    {"<collision>" SPHERE("1") "</collision><visual>" SPHERE("2") "</visual><collision>" SPHERE("3") "</collision>",
     3,
     {{2, true, false, false}, {1, false, true, true}, {3, false, true, true}}},
    {"<visual>" SPHERE("2") "</visual>", 1, {{2, true, false, true}}},
    {"<collision>" SPHERE("1") "</collision>", 1, {{1, true, true, true}}},
    {"<visual>" DAE "</visual><collision>" SPHERE("1") "</collision>", 1, {{1, true, true, true}}},
    {"<visual>" SPHERE("2") "</visual><collision>" DAE "</collision>", 1, {{2, true, true, true}}},
    {"<visual>" SPHERE("2") "</visual><collision>" DAE "</collision><collision>" SPHERE("1") "</collision>",
     2,
     {{2, true, false, false}, {1, false, true, true}}},
};

START_TEST(shapes_are_drawn_or_touch)
{
    ctn_error err = {0};
    char text[2000];
    snprintf(text, sizeof text, "<robot name='r'><link name='a'>" INERTIAL "%s</link></robot>", kinds[_i].shapes);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    const scene_link *const link = &scene->links[0];
    ck_assert_int_eq(link->nshape, kinds[_i].count);
    for (int k = 0; k < link->nshape; k++) {
        const scene_shape *const s = &link->shapes[k];
        ck_assert_double_eq(s->radius, kinds[_i].is[k].radius);
        ck_assert_int_eq(!s->hidden, kinds[_i].is[k].drawn);
        ck_assert_int_eq(s->touch != TOUCH_NO, kinds[_i].is[k].touches);
        ck_assert_int_eq(s->density != 0, kinds[_i].is[k].solid);
    }
    ck_assert(link->mass == 2);
    ck_assert_int_eq(strstr(kinds[_i].shapes, "<collision>" DAE) != NULL, strstr(ctn_scene_warnings(scene), "a.dae") != NULL);
    ctn_scene_free(scene);
}
END_TEST

/// What is ignored is listed once, with its number; what cannot be drawn is left out.
START_TEST(what_is_ignored_is_listed)
{
    static const char text[] = "<robot name='r'>\n<gazebo/><gazebo x='1'/>\n<link name='a'><visual><geometry>"
                               "<mesh filename='package://none/a.stl'/></geometry></visual></link>\n"
                               "<joint name='j' type='revolute'><parent link='a'/><child link='b'/>"
                               "<limit lower='1' upper='2' effort='0' velocity='3'/></joint>\n" LINK_B "</robot>";
    static const char *const expected[] = {
        "t.urdf:2:1: ignored: <gazebo>, 2 times", "t.urdf:3:40: shapes[0].file: a.stl of package 'none' is not in the folders",
        "t.urdf:4:68: <limit>: 0 is not from 1 to 2: the joint starts at 1", "ignored: velocity of <limit>, 1 time"};
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(ctn_scene_warnings(scene), expected[i]), "%s is not in\n%s", expected[i], ctn_scene_warnings(scene));
    ctn_scene_free(scene);
}
END_TEST

/// Of each kind there is one warning; what has no size is left out; a mass without an inertia is a point; what a robot's motors can
/// do is no matter of a scene without motors.
START_TEST(kinds_of_warnings_are_told_once)
{
    static const char text[] =
        "<robot name='r'>\n<link name='a'><inertial><mass value='1'/></inertial><visual><geometry><sphere radius='0'/></geometry>"
        "</visual></link>\n<joint name='j' type='revolute'><parent link='a'/><child link='b'/><limit lower='1' upper='2' "
        "effort='5' "
        "velocity='3'/></joint>" LINK_B "<joint name='k' type='revolute'><parent link='b'/><child link='c'/><limit lower='1' "
        "upper='3' effort='5' velocity='3'/></joint><link name='c'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
        "izz='1'/></inertial></link></robot>";
    static const char *const expected[] = {"t.urdf:2:16: <inertial>: no <inertia>: taken for a point",
                                           "t.urdf:2:62: <geometry>: of a size of 0; left out",
                                           "<limit>: 0 is not from 1 to 2: the joint starts at 1 (and 1 more like it)"};
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    const char *const told = ctn_scene_warnings(scene);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(told, expected[i]), "%s is not in\n%s", expected[i], told);
    ck_assert_msg(!strstr(told, "effort") && !strstr(told, "from 1 to 3"), "%s", told);
    ctn_scene_free(scene);
}
END_TEST

/// That a state takes the place of where a robot's reader begins is no news to who wrote the state.
START_TEST(states_of_robots_are_given_in_silence)
{
    char folder[] = "/tmp/catena-urdf-XXXXXX", file[80], text[200];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/r.urdf", folder);
    FILE *const f = fopen(file, "w");
    fputs("<robot name='r'><link name='a'/><joint name='j' type='revolute'><parent link='a'/><child link='b'/>"
          "<limit lower='1' upper='2' effort='5' velocity='3'/></joint>" LINK_B "</robot>",
          f);
    fclose(f);
    snprintf(text, sizeof text, "catena: 1\nurdf: %s\nstate: {q: [1.5]}\n", file);
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene, "%s", err.message);
    ck_assert_msg(!strstr(ctn_scene_warnings(scene), "not used"), "%s", ctn_scene_warnings(scene));
    ctn_scene_free(scene);
    unlink(file), rmdir(folder);
}
END_TEST

/// A floating joint inside a tree moves and turns its link as it likes, wherever it hangs.
START_TEST(floating_joints_hang_anywhere)
{
    static const char text[] =
        "<robot name='r'><link name='a'><inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>" LINK_B
        "<joint name='k' type='floating'><origin xyz='0 0 1' rpy='0 0 1.5707963267948966'/><parent link='b'/><child "
        "link='c'/></joint>"
        "<link name='c'><inertial><mass value='3'/><inertia ixx='1' iyy='2' izz='2.5'/></inertial></link></robot>";
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s", err.message);
    ck_assert_int_eq(ctn_model_nv(m), 7);
    const double q[8] = {0, 0.5, 0, 0, 1, 0, 0, 0};
    double R[6 * 9], p[6 * 3];
    ctn_dynamics *const dynamics = ctn_dynamics_create(m, NULL, &err);
    ck_assert_msg(dynamics, "%s", err.message);
    ctn_forward_kinematics(dynamics, 1, q, R, p);
    ctn_dynamics_free(dynamics);
    const double *const at = p + 3 * (ctn_model_nlink(m) - 1);
    ck_assert_msg(fabs(at[0]) < 1e-15 && fabs(at[1] - 0.5) < 1e-15 && fabs(at[2] - 1) < 1e-15, "%g %g %g", at[0], at[1], at[2]);
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// A chain of links that the reader must not follow by recursion, and elements within each other.
START_TEST(depth_costs_no_stack)
{
    enum { LINKS = 20000 };
    char *const text = malloc((size_t)LINKS * 300 + 100);
    ck_assert_ptr_nonnull(text);
    size_t used = (size_t)sprintf(text, "<robot name='r'><link name='l0'/>");
    for (int i = 1; i < LINKS; i++)
        used += (size_t)sprintf(
            text + used, "<link name='l%d'/><joint name='j%d' type='fixed'><parent link='l%d'/><child link='l%d'/></joint>", i, i,
            i - 1, i);
    strcpy(text + used, "</robot>");
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.urdf", &err);
    ck_assert_msg(scene, "%s", err.message);
    ctn_scene_free(scene);
    for (int i = 0; i < LINKS; i++) memcpy(text + 3 * i, "<a>", 4);
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.urdf", &err));
    ck_assert_ptr_nonnull(strstr(err.message, "t.urdf:1:3001: nested too deeply"));
    free(text);
}
END_TEST

int main(void)
{
    seed = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    Suite *const suite = suite_create("urdf");
    TCase *const files = tcase_create("files");
    tcase_add_test(files, joints_are_those_of_scenes);
    tcase_add_test(files, converted_files_are_the_same_model);
    tcase_add_test(files, bases_can_be_free);
    tcase_add_test(files, followers);
    tcase_add_loop_test(files, wrong_files_are_named, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_loop_test(files, shapes_are_drawn_or_touch, 0, (int)(sizeof kinds / sizeof *kinds));
    tcase_add_test(files, what_is_ignored_is_listed);
    tcase_add_test(files, kinds_of_warnings_are_told_once);
    tcase_add_test(files, floating_joints_hang_anywhere);
    tcase_add_test(files, states_of_robots_are_given_in_silence);
    tcase_add_test(files, depth_costs_no_stack);
    suite_add_tcase(suite, files);
    return run_suite(suite);
}
