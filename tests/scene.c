/// Good scenes: what the reader makes of them, number by number. Defaults are in scene_defaults.c, chains and trees in
/// scene_generators.c, mass properties in scene_mass.c, errors in scene_errors.c.
#include "sim/scene/scene.h"
#include "sim/base/config.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <locale.h>

START_TEST(what_is_omitted)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n  - name: a\n    joint: revolute\n    mass: 2\n    inertia: [1, 2, 2.5, 0, 0, 0]\n"
              "  - name: frame\n    parent: a\n");
    ck_assert_str_eq(scene->path, "folder/t.yaml");
    ck_assert_str_eq(ctn_scene_name(scene), "t");
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    ck_assert_double_eq(ctn_scene_duration(scene), -1);
    EXACT(scene->gravity, 0, 0, -9.81);
    ck_assert_int_eq(scene->nfile, 1);
    ck_assert_str_eq(scene->files[0].path, "folder/t.yaml");
    const ctn_batch_config cfg = ctn_scene_config(scene), standard = ctn_batch_config_default();
    ck_assert_int_eq(cfg.method, standard.method);
    ck_assert_double_eq(cfg.dt, standard.dt);
    ck_assert_double_eq(cfg.tolerance, standard.tolerance);
    ck_assert_int_eq(config_check(&cfg, 0), CTN_OK);
    ck_assert_int_eq(scene->nlink, 2);
    ck_assert_int_eq(scene->nq, 1);
    ck_assert_int_eq(scene->nv, 1);

    const scene_link *const a = &scene->links[0], *const frame = &scene->links[1];
    ck_assert_str_eq(a->name, "a");
    ck_assert_int_eq(a->parent, -1);
    ck_assert_int_eq(a->line, 3);
    ck_assert_int_eq(a->column, 5);
    ck_assert_ptr_eq(a->file, scene->files[0].path);
    EXACT(a->position, 0, 0, 0);
    EXACT(a->rotation, 1, 0, 0, 0);
    ck_assert_int_eq(a->joint.type, CTN_REVOLUTE);
    EXACT(a->joint.axis, 0, 0, 1);
    ck_assert_double_eq(a->joint.damping[0] + a->joint.stiffness[0] + a->joint.rest[0] + a->joint.armature[0], 0);
    ck_assert(!a->joint.limited[0]);
    ck_assert(isnan(a->joint.limit_stiffness));
    ck_assert(isnan(a->joint.limit_damping));
    ck_assert_double_eq(a->joint.effort[0], INFINITY);
    ck_assert_double_eq(a->joint.q0[0], 0);
    ck_assert_double_eq(a->joint.v0[0], 0);
    ck_assert_double_eq(a->mass, 2);
    EXACT(a->com, 0, 0, 0);
    EXACT(a->inertia, 1, 2, 2.5, 0, 0, 0);
    ck_assert_int_eq(a->nshape, 0);

    ck_assert_int_eq(frame->parent, 0);
    ck_assert_int_eq(frame->joint.type, CTN_FIXED);
    ck_assert_int_eq(frame->line, 7);
    ck_assert_double_eq(frame->mass, 0);
    EXACT(frame->inertia, 0, 0, 0, 0, 0, 0);
    ctn_scene_free(scene);
}
END_TEST

/// `dt: auto` gives `tolerance` another meaning and another default.
START_TEST(automatic_steps)
{
    static const char *const texts[] = {"{method: dop853, dt: auto}",
                                        "{interval: 0.25, tolerance: 1e-5, dt: auto, method: dop853}",
                                        "{method: dop853, dt: 0.5, tolerance: 1e-5}"};
    static const double dt[] = {0.01, 0.25, 0.5}, error_tolerance[] = {1e-6, 1e-5, 1e-6}, tolerance[] = {1e-9, 1e-9, 1e-5};
    for (int k = 0; k < 3; k++) {
        char text[300];
        snprintf(text, sizeof text,
                 "catena: 1\nintegrator: %s\nlinks:\n  - {name: a, joint: ball, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n",
                 texts[k]);
        ctn_scene *const scene = parse(text);
        const ctn_batch_config cfg = ctn_scene_config(scene);
        ck_assert_int_eq(cfg.method, CTN_DOP853);
        ck_assert_int_eq(cfg.adaptive, k < 2);
        ck_assert_double_eq(cfg.dt, dt[k]);
        ck_assert_double_eq(cfg.error_tolerance, error_tolerance[k]);
        ck_assert_double_eq(cfg.tolerance, tolerance[k]);
        ctn_scene_free(scene);
    }
}
END_TEST

START_TEST(every_key)
{
    const char *const text =
        "catena: 1\n"
        "name: all of it\n"
        "gravity: [1, -2.5, +.5e1]\n"
        "duration: 1e1\n"
        "integrator: {method: collocation, order: 2, solver: newton, dt: 5e-2, tolerance: 1e-12, max_iterations: 7, "
        "max_halvings: 0, parallel: both, lanes: 24}\n"
        "links:\n"
        "  - name: base\n"
        "  - name: a\n"
        "    parent: base\n"
        "    position: [0.1, 0.2, -0.3]\n"
        "    rotation: [0, 3, 0, 4]\n"
        "    joint: {type: helical, axis: [0, 3, -4], pitch: -0.02, damping: 0.5, stiffness: [3], rest: 0.25, armature: 0.125,\n"
        "            limits: [-3, 2.5], limit_stiffness: 100, limit_damping: 4, effort: 50, q0: 0.75, v0: [-1.5]}\n"
        "    mass: 1.5\n"
        "    com: [0.5, 0.25, 0]\n"
        "    inertia: [0.02, 0.03, 0.04, 0.001, -0.002, 0.003]\n"
        "    shapes:\n"
        "      - {type: sphere, center: [1, 2, 3], radius: 0.5, density: 7}\n"
        "      - {type: box, center: [4, 5, 6], size: [1, 2, 3], rotation: [0, 0, 0, 2], color: [1, 0.5, 0]}\n"
        "      - {type: capsule, from: [1, 0, 0], to: [2, 0, 0], radius: 0.25}\n"
        "      - {type: cylinder, from: [1, 0, 1], to: [2, 0, 1], radius: 0.125}\n"
        "      - {type: ellipsoid, radii: [1, 2, 3], euler: [0, 0, 1.5]}\n";
    ctn_scene *const scene = parse(text);
    ck_assert_str_eq(ctn_scene_text(scene), text);
    ck_assert_str_eq(ctn_scene_name(scene), "all of it");
    ck_assert_str_eq(ctn_scene_warnings(scene),
                     "folder/t.yaml:13:80: joint.effort: not used: the scene has no `motors` that it could limit");
    ck_assert_double_eq(ctn_scene_duration(scene), 10);
    EXACT(scene->gravity, 1, -2.5, 5);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert_int_eq(cfg.method, CTN_COLLOCATION);
    ck_assert_int_eq(cfg.order, 2);
    ck_assert_int_eq(cfg.solver, CTN_NEWTON);
    ck_assert_double_eq(cfg.dt, 0.05);
    ck_assert_double_eq(cfg.tolerance, 1e-12);
    ck_assert_int_eq(cfg.max_iterations, 7);
    ck_assert_int_eq(cfg.max_halvings, 0);
    ck_assert_int_eq(cfg.parallel, CTN_PARALLEL_BOTH);
    ck_assert_int_eq(cfg.lanes, 24);

    const scene_link *const a = &scene->links[1];
    ck_assert_int_eq(a->parent, 0);
    EXACT(a->position, 0.1, 0.2, -0.3);
    EXACT(a->rotation, 0, 0.6, 0, 0.8);
    const scene_joint *const j = &a->joint;
    ck_assert_int_eq(j->type, CTN_HELICAL);
    EXACT(j->axis, 0, 0.6, -0.8);
    EXACT(&j->pitch, -0.02);
    EXACT(j->damping, 0.5);
    EXACT(j->stiffness, 3);
    EXACT(j->rest, 0.25);
    EXACT(j->armature, 0.125);
    ck_assert(j->limited[0]);
    EXACT(j->limits[0], -3, 2.5);
    EXACT(&j->limit_stiffness, 100);
    EXACT(&j->limit_damping, 4);
    EXACT(j->effort, 50);
    EXACT(j->q0, 0.75);
    EXACT(j->v0, -1.5);
    EXACT(&a->mass, 1.5);
    EXACT(a->com, 0.5, 0.25, 0);
    EXACT(a->inertia, 0.02, 0.03, 0.04, 0.001, -0.002, 0.003);

    ck_assert_int_eq(a->nshape, 5);
    const scene_shape *const s = a->shapes;
    ck_assert_int_eq(s[0].type, SHAPE_SPHERE);
    EXACT(s[0].center, 1, 2, 3);
    EXACT(&s[0].radius, 0.5);
    EXACT(&s[0].density, 7);
    EXACT(s[0].color, 0.7, 0.7, 0.7);
    ck_assert_int_eq(s[1].type, SHAPE_BOX);
    EXACT(s[1].center, 4, 5, 6);
    EXACT(s[1].size, 1, 2, 3);
    EXACT(s[1].rotation, 0, 0, 0, 1);
    EXACT(s[1].color, 1, 0.5, 0);
    ck_assert(isnan(s[1].density));
    ck_assert_int_eq(s[2].type, SHAPE_CAPSULE);
    EXACT(s[2].from, 1, 0, 0);
    EXACT(s[2].to, 2, 0, 0);
    EXACT(&s[2].radius, 0.25);
    ck_assert_int_eq(s[3].type, SHAPE_CYLINDER);
    EXACT(s[3].from, 1, 0, 1);
    EXACT(s[3].to, 2, 0, 1);
    EXACT(&s[3].radius, 0.125);
    ck_assert_int_eq(s[4].type, SHAPE_ELLIPSOID);
    EXACT(s[4].size, 1, 2, 3);
    NEAR(s[4].rotation, 1e-16, cos(0.75), 0, 0, sin(0.75));
    ctn_scene_free(scene);
}
END_TEST

START_TEST(joint_types)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n"
              "  - {name: fixed, joint: fixed}\n"
              "  - {name: revolute, joint: {type: revolute, q0: [0.5], limits: none}, " MASS "}\n"
              "  - {name: prismatic, joint: {type: prismatic, axis: [2, 0, 0]}, " MASS "}\n"
              "  - {name: helical, joint: {type: helical, pitch: 0}, " MASS "}\n"
              "  - {name: universal, joint: {type: universal, axis2: [0, 1, 1], damping: 2, stiffness: [3, 4], rest: 0.5, "
              "armature: [5, 6],\n"
              "     limits: [[-1, 1], none], effort: [7, 8], q0: [0.1, 0.2], v0: [0.3, 0.4]}, " MASS "}\n"
              "  - {name: ball, joint: {type: ball, damping: 2, stiffness: 3, rest: [0, -2, 0, 0], armature: 4, limits: 1.5, "
              "effort: 3,\n"
              "     q0: [3, 0, 0, 4], v0: [1, 2, 3]}, " MASS "}\n"
              "  - {name: planar, joint: {type: planar, damping: [1, 2, 3], stiffness: 4, rest: [5, 6, 7], armature: 8,\n"
              "     limits: [[-1, 1], [-2, 2], [-3, 3]], effort: 9, q0: [0.1, 0.2, 0.3], v0: [0.4, 0.5, 0.6]}, " MASS "}\n"
              "  - {name: free, joint: {type: free, damping: [1, 2, 3, 4, 5, 6], q0: [1, 2, 3, 0, 0, 5, 0], v0: [1, 2, 3, 4, 5, "
              "6]}, " MASS "}\n");
    static const int nq[] = {0, 1, 1, 1, 2, 4, 3, 7}, nv[] = {0, 1, 1, 1, 2, 3, 3, 6};
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(scene->links[i].joint.type, i);
        ck_assert_str_eq(scene->links[i].name, joint_name((ctn_joint_type)i));
        ck_assert_int_eq(joint_nq((ctn_joint_type)i), nq[i]);
        ck_assert_int_eq(joint_nv((ctn_joint_type)i), nv[i]);
    }
    ck_assert_int_eq(scene->nq, 19);
    ck_assert_int_eq(scene->nv, 17);
    EXACT(scene->links[1].joint.q0, 0.5);
    ck_assert(!scene->links[1].joint.limited[0]);
    EXACT(scene->links[2].joint.axis, 1, 0, 0);

    const scene_joint *const u = &scene->links[4].joint;
    EXACT(u->axis, 0, 0, 1);
    NEAR(u->axis2, 2e-16, 0, sqrt(0.5), sqrt(0.5));
    EXACT(u->damping, 2, 2);
    EXACT(u->stiffness, 3, 4);
    EXACT(u->rest, 0.5, 0.5);
    EXACT(u->armature, 5, 6);
    ck_assert(u->limited[0] && !u->limited[1]);
    EXACT(u->limits[0], -1, 1);
    EXACT(u->effort, 7, 8);
    EXACT(u->q0, 0.1, 0.2);
    EXACT(u->v0, 0.3, 0.4);

    const scene_joint *const b = &scene->links[5].joint;
    EXACT(b->damping, 2, 2, 2);
    EXACT(b->stiffness, 3, 3, 3);
    EXACT(b->rest, 0, -1, 0, 0);
    EXACT(b->armature, 4, 4, 4);
    ck_assert(b->limited[0] && !b->limited[1] && !b->limited[2]);
    EXACT(b->limits[0], 0, 1.5);
    EXACT(b->effort, 3, 3, 3);
    EXACT(b->q0, 0.6, 0, 0, 0.8);
    EXACT(b->v0, 1, 2, 3);

    const scene_joint *const p = &scene->links[6].joint;
    EXACT(p->damping, 1, 2, 3);
    EXACT(p->stiffness, 4, 4, 4);
    EXACT(p->rest, 5, 6, 7);
    EXACT(p->armature, 8, 8, 8);
    EXACT(p->limits[0], -1, 1, -2, 2, -3, 3);
    ck_assert(p->limited[0] && p->limited[1] && p->limited[2]);
    EXACT(p->effort, 9, 9, 9);
    EXACT(p->q0, 0.1, 0.2, 0.3);
    EXACT(p->v0, 0.4, 0.5, 0.6);

    const scene_joint *const f = &scene->links[7].joint;
    EXACT(f->damping, 1, 2, 3, 4, 5, 6);
    EXACT(f->q0, 1, 2, 3, 0, 0, 1, 0);
    EXACT(f->v0, 1, 2, 3, 4, 5, 6);
    ctn_scene_free(scene);

    ctn_scene *const plain =
        parse("catena: 1\nlinks:\n  - {name: b, joint: ball, " MASS "}\n  - {name: u, joint: universal, " MASS "}\n"
              "  - {name: f, joint: {type: free, damping: 3}, " MASS "}\n");
    EXACT(plain->links[0].joint.q0, 1, 0, 0, 0);
    EXACT(plain->links[0].joint.rest, 1, 0, 0, 0);
    EXACT(plain->links[1].joint.axis, 0, 0, 1);
    EXACT(plain->links[1].joint.axis2, 1, 0, 0);
    EXACT(plain->links[2].joint.damping, 3, 3, 3, 3, 3, 3);
    EXACT(plain->links[2].joint.q0, 0, 0, 0, 1, 0, 0, 0);
    ctn_scene_free(plain);
}
END_TEST

/// Euler angles turn about fixed x, then y, then z; checked by turning vectors with rotation matrices.
START_TEST(euler_angles)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n  - {name: a, euler: [0.3, -1.1, 2.2]}\n  - {name: b, euler: [0, 0, 1.5707963267948966]}\n");
    const double *const q = scene->links[0].rotation;
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    const double cx = cos(0.3), sx = sin(0.3), cy = cos(-1.1), sy = sin(-1.1), cz = cos(2.2), sz = sin(2.2);
    NEAR(R, 1e-15, cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, sz * cy, sz * sy * sx + cz * cx,
         sz * sy * cx - cz * sx, -sy, cy * sx, cy * cx);
    NEAR(scene->links[1].rotation, 2e-16, sqrt(0.5), 0, 0, sqrt(0.5));
    ctn_scene_free(scene);
}
END_TEST

START_TEST(numbers)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"1e-9", 1e-9},
                 {"1E3", 1000},
                 {"1.e1", 10},
                 {".5", 0.5},
                 {"+7", 7},
                 {"007", 7},
                 {"1e+2", 100},
                 {"5.", 5},
                 {"0e-400", 0},
                 {"0.1", 0.1},
                 {"4.9e-324", 4.9e-324},
                 {"1.7976931348623157e308", 1.7976931348623157e308},
                 {"0.30000000000000004", 0.1 + 0.2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "catena: 1\nduration: %s\nlinks: [{name: a}]\n", cases[i].text);
        ctn_scene *const scene = parse(text);
        ck_assert_msg(ctn_scene_duration(scene) == cases[i].value, "%s: %.17g", cases[i].text, ctn_scene_duration(scene));
        ctn_scene_free(scene);
    }
}
END_TEST

START_TEST(long_and_short_directions)
{
    ctn_scene *const scene = parse("catena: 1\nlinks:\n"
                                   "  - {name: a, joint: {type: revolute, axis: [3e200, 0, 4e200]}, " MASS "}\n"
                                   "  - {name: b, joint: {type: revolute, axis: [0, 1.7e308, 1.7e308]}, " MASS "}\n"
                                   "  - {name: c, joint: {type: revolute, axis: [0, -3e-6, 4e-6]}, " MASS "}\n"
                                   "  - {name: d, joint: {type: revolute, axis: [0, 1e-6, 0]}, " MASS "}\n");
    NEAR(scene->links[0].joint.axis, 2e-16, 0.6, 0, 0.8);
    NEAR(scene->links[1].joint.axis, 2e-16, 0, sqrt(0.5), sqrt(0.5));
    NEAR(scene->links[2].joint.axis, 2e-16, 0, -0.6, 0.8);
    EXACT(scene->links[3].joint.axis, 0, 1, 0);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(floors)
{
    static const struct {
        const char *text;
        double height;
    } of[] = {{"", NAN}, {"view: {}", NAN}, {"view: {floor: -1.5}", -1.5}, {"view: {floor: none}", -INFINITY}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s\n", TOP(""), of[k].text);
        ctn_scene *const scene = parse(text);
        ck_assert(isnan(of[k].height) ? isnan(scene->floor) : scene->floor == of[k].height);
        ctn_scene_free(scene);
    }
}
END_TEST

/// A program may use decimal commas; scene files do not.
START_TEST(cameras)
{
    ctn_scene *scene = parse(TOP(""));
    ck_assert_int_eq(scene->ncamera, 0);
    ctn_scene_free(scene);

    scene = parse(TOP("camera: {azimuth: 30}"));
    const scene_camera *c = scene->cameras;
    ck_assert(scene->ncamera == 1 && c->type == CAMERA_ORBIT && !c->name && c->link == -1);
    NEAR(&c->azimuth, 1e-15, 0.5235987755982988);
    ck_assert(isnan(c->elevation) && isnan(c->distance) && isnan(c->field) && isnan(c->target[0]));
    ctn_scene_free(scene);

    scene = parse(LINKS "  - {name: z, mass: 0}\n" A "cameras:\n"
                        "  - {name: one, target: [1, 2, 3], elevation: -90, distance: 2, field_of_view: 90}\n"
                        "  - {name: two, target: a}\n"
                        "  - {name: three, type: track, link: a, offset: [3, 3, -4.242640687119285], smooth: 0.25}\n"
                        "  - {name: four, type: first-person, link: a, position: [1, 2, 3], look: [0, 0, 5], up: [0, -2, 0]}\n");
    c = scene->cameras;
    ck_assert_int_eq(scene->ncamera, 4);
    ck_assert_str_eq(c[0].name, "one");
    ck_assert_str_eq(c[3].name, "four");
    EXACT(c[0].target, 1, 2, 3), EXACT(&c[0].distance, 2);
    NEAR(&c[0].elevation, 1e-15, -1.5707963267948966), NEAR(&c[0].field, 1e-15, 1.5707963267948966);
    ck_assert(c[0].link == -1 && c[1].link == 1 && isnan(c[1].target[0]));
    ck_assert(c[2].type == CAMERA_TRACK && c[2].link == 1);
    NEAR(&c[2].azimuth, 1e-15, 0.7853981633974483), NEAR(&c[2].elevation, 1e-15, -0.7853981633974483),
        NEAR(&c[2].distance, 1e-14, 6);
    EXACT(&c[2].smooth, 0.25);
    ck_assert(c[3].type == CAMERA_FIRST_PERSON && c[3].link == 1);
    EXACT(c[3].position, 1, 2, 3), EXACT(c[3].look, 0, 0, 1), EXACT(c[3].up, 0, -1, 0);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(decimal_comma)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "da_DK.UTF-8"};
    size_t i = 0;
    while (i < sizeof locales / sizeof *locales && !setlocale(LC_NUMERIC, locales[i])) i++;
    if (i == sizeof locales / sizeof *locales) {
        printf("decimal_comma: skipped, this machine has no locale with a decimal comma\n");
        return;
    }
    ctn_scene *const scene = parse("catena: 1\nduration: 1.5\nlinks: [{name: a}]\n");
    ck_assert_double_eq(ctn_scene_duration(scene), 1.5);
    ctn_scene_free(scene);
    ctn_error err = {0};
    const char *const bad = "catena: 1\nlinks: [{name: a, rotation: [1.5e-7, 0, 0, 0]}]\n";
    ck_assert_ptr_null(ctn_scene_parse(bad, strlen(bad), "t", &err));
    ck_assert_ptr_nonnull(strstr(err.message, "1.5e-07"));
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, "0,5");  // and the program keeps its own
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(free_joints)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n"
              "  - {name: a, position: [1, 2, 3], rotation: [0, 0, 0, 1], joint: free, " MASS "}\n"
              "  - {name: b, parent: world, position: [1, 2, 3], joint: {type: free, q0: [4, 5, 6, 0, 1, 0, 0]}, " MASS "}\n");
    // the zero frame of a free joint is the world's
    EXACT(scene->links[0].joint.q0, 1, 2, 3, 0, 0, 0, 1);
    EXACT(scene->links[0].position, 0, 0, 0);
    EXACT(scene->links[0].rotation, 1, 0, 0, 0);
    EXACT(scene->links[1].joint.q0, 4, 5, 6, 0, 1, 0, 0);
    EXACT(scene->links[1].position, 0, 0, 0);
    ck_assert_str_eq(ctn_scene_warnings(scene),
                     "folder/t.yaml:4:40: position: not used: `q0` gives the position of a free joint");
    ctn_scene_free(scene);
}
END_TEST

START_TEST(names_of_scenes)
{
    static const char *const cases[][2] = {
        {"arm.yaml", "arm"}, {"a/b.c/arm.v2.yaml", "arm.v2"}, {"a.b/arm", "arm"}, {".yaml", ".yaml"}, {"", ""}};
    const char *const text = "\xef\xbb\xbf"
                             "catena: 1\r\nlinks: [{name: a}]\r\n";  // as some editors write it
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), cases[i][0], 0);
        ck_assert_ptr_nonnull(scene);
        ck_assert_str_eq(ctn_scene_name(scene), cases[i][1]);
        ck_assert_int_eq(scene->links[0].line, 2);
        ck_assert_int_eq(scene->links[0].column, 9);
        ctn_scene_free(scene);
    }
}
END_TEST

// ---- docs/scene.md

START_TEST(documentation)
{
    FILE *const file = fopen(CATENA_SOURCE_DIR "/docs/scene.md", "r");
    ck_assert_ptr_nonnull(file);
    static char block[1 << 16];
    char line[1024];
    int number = 0, start = 0, blocks = 0;
    bool inside = false;
    while (fgets(line, sizeof line, file)) {
        number++;
        if (!inside && !strcmp(line, "```yaml\n")) {
            inside = true, start = number, block[0] = 0;
        } else if (inside && !strcmp(line, "```\n")) {
            inside = false;
            blocks++;
            ctn_error err = {0};
            ctn_scene *const scene = ctn_scene_parse(block, strlen(block), "docs/scene.md", &err);
            ck_assert_msg(scene != 0, "the block that starts in line %d of docs/scene.md:\n%s", start, err.message);
            ck_assert_msg(!*ctn_scene_warnings(scene), "line %d: %s", start, ctn_scene_warnings(scene));
            ctn_scene_free(scene);
        } else if (inside) {
            ck_assert_uint_lt(strlen(block) + strlen(line), sizeof block);
            strcat(block, line);
        }
    }
    fclose(file);
    ck_assert(!inside);
    ck_assert_int_ge(blocks, 8);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene");
    TCase *const texts = tcase_create("texts");
    tcase_set_timeout(texts, 120);
    tcase_add_test(texts, what_is_omitted);
    tcase_add_test(texts, automatic_steps);
    tcase_add_test(texts, every_key);
    tcase_add_test(texts, joint_types);
    tcase_add_test(texts, euler_angles);
    tcase_add_test(texts, numbers);
    tcase_add_test(texts, long_and_short_directions);
    tcase_add_test(texts, cameras);
    tcase_add_test(texts, floors);
    tcase_add_test(texts, decimal_comma);
    tcase_add_test(texts, free_joints);
    tcase_add_test(texts, names_of_scenes);
    tcase_add_test(texts, documentation);
    suite_add_tcase(suite, texts);
    return run_suite(suite);
}
