/// MJCF: models beside what MuJoCo makes of them (tests/golden/mjcf, by bench/mjcf_golden.py) and beside scenes that say the
/// same, masses in closed form, and mistakes with their places.
#include "sim/model/between.h"
#include "sim/model/model.h"
#include "sim/scene/scene.h"
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORLD(text) "<mujoco>\n<worldbody>\n" text "\n</worldbody>\n</mujoco>\n"
#define BALL_GEOM "<geom size='0.1'/>"

static ctn_scene *read_mjcf(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "folder/t.xml", &err);
    ck_assert_msg(scene != 0, "%s\nin\n%s", err.message, text);
    return scene;
}

static int link_of(const ctn_scene *scene, const char *name)
{
    for (int i = 0; i < scene->nlink; i++)
        if (!strcmp(scene->links[i].name, name)) return i;
    ck_abort_msg("no link %s", name);
}

// ---- beside MuJoCo

static const char *const models[] = {"arm", "swarm", "bounds", "meshes"};

static void compare(const char *model, int state, const char *what, const double *got, const cJSON *golden, int n)
{
    double *const expected = golden_numbers(golden, what, n);
    const double error = relative_error(got, expected, n);
    ck_assert_msg(error < 1e-12, "%s, state %d: %s differs by %.3g", model, state, what, error);
    free(expected);
}

START_TEST(as_mujoco)
{
    const char *const name = models[_i];
    char path[512], file[64];
    snprintf(path, sizeof path, "%s/tests/golden/mjcf/%s.xml", CATENA_SOURCE_DIR, name);
    snprintf(file, sizeof file, "%s.json", name);
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != 0, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m != 0, "%s", err.message);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", &err);
    cJSON *const golden = golden_json("mjcf", file);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), nlink = ctn_model_nlink(m);
    ck_assert_int_eq(nq, cJSON_GetObjectItem(golden, "nq")->valueint);
    ck_assert_int_eq(nv, cJSON_GetObjectItem(golden, "nv")->valueint);
    const cJSON *const bodies = cJSON_GetObjectItem(golden, "bodies"), *state;
    const int nbody = cJSON_GetArraySize(bodies);
    double *const R = malloc(((size_t)nlink * 12 + (size_t)nbody * 12 + (size_t)(nv * nv)) * sizeof *R), *const p = R + 9 * nlink,
                  *const places = p + 3 * nlink, *const out = places + 12 * nbody;
    int i = 0;
    cJSON_ArrayForEach(state, cJSON_GetObjectItem(golden, "states"))
    {
        double *const q = golden_numbers(state, "q", nq), *const v = golden_numbers(state, "v", nv);
        ctn_crba(dyn, 1, q, out), compare(name, i, "inertia", out, state, nv * nv);
        ctn_bias(dyn, 1, q, v, out), compare(name, i, "bias", out, state, nv);
        ctn_passive(dyn, 1, q, v, out), compare(name, i, "passive", out, state, nv);
        ctn_forward_kinematics(dyn, 1, q, R, p);
        for (int b = 0; b < nbody; b++) {
            const int link = link_of(scene, cJSON_GetArrayItem(bodies, b)->valuestring);
            memcpy(places + 12 * b, p + 3 * link, 3 * sizeof *p), memcpy(places + 12 * b + 3, R + 9 * link, 9 * sizeof *R);
        }
        compare(name, i++, "places", places, state, 12 * nbody);
        free(q), free(v);
    }
    ck_assert_int_ge(i, 4);
    free(R);
    cJSON_Delete(golden);
    ctn_dynamics_free(dyn), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// Sensors of a tumbling body with an arm on a servo, where the model starts: MuJoCo's sensordata.
START_TEST(sensors_as_mujoco)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/mjcf/sensors.xml", CATENA_SOURCE_DIR);
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != 0 && !ctn_scene_warning_count(scene), "%s%s", err.message, ctn_scene_warnings(scene));
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", &err);
    cJSON *const golden = golden_json("mjcf", "sensors.json");
    double q[20], v[20], out[120];
    const int n = ctn_model_sensor_numbers(m);
    ck_assert_int_eq(ctn_model_nsensor(m), 34);
    ctn_model_initial_state(m, q, v);
    ctn_sensors(dyn, 1, q, v, NULL, out);
    double *const expected = golden_numbers(golden, "sensordata", n);
    for (int k = 0; k < n; k++)
        ck_assert_msg(fabs(out[k] - expected[k]) < 1e-12 * (1 + fabs(expected[k])), "number %d: %.17g, not %.17g", k, out[k],
                      expected[k]);
    free(expected), cJSON_Delete(golden);
    ctn_dynamics_free(dyn), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

// ---- beside scenes

typedef struct pair {
    const char *mjcf, *yaml;
} pair;

static const pair pairs[] = {
    {"<mujoco model='two'><compiler angle='radian'/><option gravity='1 2 -3'/>"
     "<default><geom density='500'/><joint damping='0.5'/><default class='soft'><joint stiffness='2' "
     "springref='0.3'/></default></default>"
     "<worldbody><body name='a' pos='0 0 1' childclass='soft'><joint name='j' axis='0 1 0'/><geom type='capsule' size='0.05' "
     "fromto='0 0 0 0.5 0 0'/><body name='b' pos='0.5 0 0' euler='0.1 0 0'><joint type='ball' class='main' armature='0.02'/>"
     "<geom type='box' size='0.1 0.2 0.3' pos='0 0 0.1' euler='0 0 0.4'/></body></body></worldbody></mujoco>",
     "catena: 1\ngravity: [1, 2, -3]\nlinks:\n"
     "  - {name: a, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0], damping: 0.5, stiffness: 2, rest: 0.3}, "
     "density: 500,\n"
     "     shapes: [{type: capsule, from: [0, 0, 0], to: [0.5, 0, 0], radius: 0.05}]}\n"
     "  - {name: b, parent: a, position: [0.5, 0, 0], euler: [0.1, 0, 0], joint: {type: ball, damping: 0.5, armature: 0.02}, "
     "density: 500,\n"
     "     shapes: [{type: box, size: [0.2, 0.4, 0.6], center: [0, 0, 0.1], euler: [0, 0, 0.4]}]}\n"},
    {"<mujoco><worldbody><body name='cart'><joint name='x' type='slide' axis='1 0 0'/><joint name='y' type='slide' axis='0 1 0'/>"
     "<joint axis='0 0 1' pos='0.2 0 0'/><inertial pos='0.1 0 0' mass='3' diaginertia='0.1 0.2 0.25'/>"
     "<body name='tip' pos='1 0 0'><geom type='sphere' size='0.1' mass='2'/></body></body></worldbody></mujoco>",
     "catena: 1\nlinks:\n"
     "  - {name: cart.x, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 0}\n"
     "  - {name: cart.y, parent: cart.x, joint: {type: prismatic, axis: [0, 1, 0]}, mass: 0}\n"
     "  - {name: cart, parent: cart.y, position: [0.2, 0, 0], joint: revolute, mass: 3, com: [-0.1, 0, 0], inertia: [0.1, 0.2, "
     "0.25, 0, 0, 0]}\n"
     "  - {name: tip, parent: cart, position: [0.8, 0, 0], mass: 2, inertia: [0.008, 0.008, 0.008, 0, 0, 0]}\n"},
};

/// All numbers of dynamics at a state, one after the other.
static int all_numbers(const ctn_model *m, const double *q, const double *v, double *x)
{
    const int nv = ctn_model_nv(m), n = ctn_model_nlink(m);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", NULL);
    double *at = x;
    ctn_crba(dyn, 1, q, at), at += nv * nv;
    ctn_bias(dyn, 1, q, v, at), at += nv;
    ctn_passive(dyn, 1, q, v, at), at += nv;
    ctn_forward_kinematics(dyn, 1, q, at, at + 9 * n), at += 12 * n;
    ctn_dynamics_free(dyn);
    return (int)(at - x);
}

START_TEST(as_scenes)
{
    ctn_scene *const mjcf = read_mjcf(pairs[_i].mjcf), *const yaml = parse(pairs[_i].yaml);
    ck_assert_int_eq(mjcf->nlink, yaml->nlink);
    for (int i = 0; i < yaml->nlink; i++) ck_assert_str_eq(mjcf->links[i].name, yaml->links[i].name);
    ctn_error err = {0};
    ctn_model *const a = ctn_model_create(mjcf, &err), *const b = ctn_model_create(yaml, &err);
    ck_assert_msg(a && b, "%s", err.message);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        rng r = {seed};
        double q[32], v[32], x[512], y[512];
        random_state(b, &r, q, v);
        const int n = all_numbers(a, q, v, x);
        ck_assert_int_eq(n, all_numbers(b, q, v, y));
        ck_assert_msg(relative_error(x, y, n) < 1e-12, "pair %d, seed %d: differs by %.3g", _i, (int)seed,
                      relative_error(x, y, n));
    }
    ctn_model_free(a), ctn_model_free(b), ctn_scene_free(mjcf), ctn_scene_free(yaml);
}
END_TEST

/// Armature of a free joint and of a ball: qacc of MuJoCo 4.0.0.
START_TEST(armatures)
{
    static const double q[] = {.1, .2, 1, .5, .5, -.5, .5, .7, .5, -.5, .5, .5}, v[] = {1, 2, 3, .4, .5, -.6, .7, .3, -.8, .9};
    static const double expected[] = {-0.010030267161484988, -0.0054694630760824588, -8.5953909139740841,  -0.071934763610787544,
                                      -0.68613720838294423,  0.015273894420287464,   -0.16788736800779858, 0.0091782682000344784,
                                      -0.010835114972102867, 0.26576197474817365};
    ctn_scene *const s = read_mjcf(
        "<mujoco><default><joint armature='0.3'/></default><worldbody><body pos='0 0 1'><joint type='free'/>"
        "<geom type='box' size='.1 .2 .3' pos='.1 0 .05' mass='2'/><body pos='0 0 .3'><joint axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 .3' size='.02' mass='.3'/><body pos='0 0 .3'><joint type='ball' armature='0.05'/>"
        "<geom type='box' size='.1 .05 .02' pos='.1 0 0' mass='.2'/></body></body></body></worldbody></mujoco>");
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ctn_model *const m = ctn_model_create(s, NULL);
    ctn_dynamics *const d = ctn_dynamics_create(m, "scalar", NULL);
    double a[10];
    ctn_aba(d, 1, q, v, NULL, a);
    ck_assert_msg(relative_error(a, expected, 10) < 1e-13, "differs by %.3g", relative_error(a, expected, 10));
    ctn_dynamics_free(d), ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

// ---- what the reader makes of it

START_TEST(masses_of_geoms)
{
    ctn_scene *const s = read_mjcf(
        WORLD("<body><joint/><geom type='cylinder' size='0.1 0.3' pos='0 0 1' density='500'/></body>\n"
              "<body name='ball'><joint/><geom size='0.2' mass='3' pos='1 0 0'/><geom size='0.2' mass='1' pos='-1 0 0'/></body>\n"
              "<body name='given'><joint/><inertial pos='0 1 0' mass='2' diaginertia='1 2 2.5'/><geom size='1'/></body>\n"
              "<body name='drawn'><geom size='1' mass='0'/></body>"));
    const double m = 500 * M_PI * 0.01 * 0.6, across = m * (3 * 0.01 + 0.36) / 12;
    const scene_link *const rod = &s->links[0], *const ball = &s->links[1];
    ck_assert_str_eq(rod->name, "body.1");
    NEAR(&rod->mass, 1e-12, m);
    NEAR(rod->com, 1e-15, 0, 0, 1);
    NEAR(rod->inertia, 1e-12, across, across, m * 0.01 / 2, 0, 0, 0);
    const double own = 2.0 / 5 * 4 * 0.04, far = 3 * 0.25 + 2.25;
    NEAR(&ball->mass, 1e-14, 4);
    NEAR(ball->com, 1e-15, 0.5, 0, 0);
    NEAR(ball->inertia, 1e-14, own, own + far, own + far, 0, 0, 0);
    NEAR(s->links[2].inertia, 1e-15, 1, 2, 2.5, 0, 0, 0);
    ck_assert_double_eq(s->links[3].mass, 0);
    ck_assert_int_eq(s->links[3].nshape, 1);
    ctn_scene_free(s);
}
END_TEST

/// What is drawn, what touches, and what fluids meet: that of a body which touches, if something of it does.
START_TEST(geoms)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><default><default class='seen'><geom contype='0' conaffinity='0' group='2'/></default></default><worldbody>"
        "<geom size='1' group='3'/>\n"
        "<body name='a'><freejoint/>" BALL_GEOM "<geom size='0.2' rgba='1 1 1 0'/><geom size='0.3' group='3'/>"
        "<geom size='0.4' class='seen'/><geom size='0.5' class='seen' conaffinity='1'/>"
        "<geom size='0.6' contype='0' conaffinity='0' group='3'/></body>\n"
        "<body name='b'><freejoint/><geom size='0.1' class='seen'/></body></worldbody></mujoco>");
    static const struct {
        double radius;
        bool drawn, touches, solid;
    } is[] = {{0.1, true, true, true},   {0.2, false, true, true}, {0.3, false, true, true},
              {0.4, true, false, false}, {0.5, true, true, true},  {0.1, true, false, true}};
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ck_assert_int_eq(s->nlink, 2);  // nothing of the world is drawn
    ck_assert_int_eq(s->links[0].nshape, 5);
    ck_assert_int_eq(s->links[1].nshape, 1);
    for (int k = 0; k < 6; k++) {
        const scene_shape *const shape = k < 5 ? &s->links[0].shapes[k] : &s->links[1].shapes[0];
        ck_assert_double_eq(shape->radius, is[k].radius);
        ck_assert_int_eq(!shape->hidden, is[k].drawn);
        ck_assert_int_eq(shape->touch != TOUCH_NO, is[k].touches);
        ck_assert_int_eq(shape->density != 0, is[k].solid);
    }
    ctn_scene_free(s);
}
END_TEST

START_TEST(joints)
{
    ctn_scene *const s =
        read_mjcf("<mujoco><option timestep='0.004'/><worldbody><geom type='box' size='1 2 3' rgba='1 0 0 1'/>\n"
                  "<body name='a' pos='1 2 3' quat='0 1 0 0'><freejoint/>" BALL_GEOM "</body>\n"
                  "<body name='b'><joint range='-90 45' ref='30' actuatorfrcrange='-5 5'/>" BALL_GEOM "</body>\n"
                  "<body name='c'><joint type='slide' axis='1 0 0' ref='0.5' range='-1 1' limited='false'/>" BALL_GEOM "</body>\n"
                  "<body name='d'><joint type='ball' range='0 60'/>" BALL_GEOM "</body></worldbody></mujoco>");
    ck_assert_double_eq(ctn_scene_config(s).dt, 0.004);
    ck_assert_str_eq(s->links[0].name, "world.fixed");
    EXACT(s->links[0].shapes[0].size, 2, 4, 6);
    EXACT(s->links[0].shapes[0].color, 1, 0, 0);
    EXACT(s->links[1].joint.q0, 1, 2, 3, 0, 1, 0, 0);
    const scene_joint *const b = &s->links[2].joint, *const c = &s->links[3].joint, *const d = &s->links[4].joint;
    NEAR(b->limits[0], 1e-15, -M_PI / 2, M_PI / 4);
    NEAR(b->q0, 1e-15, M_PI / 6);
    EXACT(b->effort, 5);
    NEAR(s->links[2].rotation, 1e-15, cos(M_PI / 12), 0, 0, -sin(M_PI / 12));
    ck_assert(!c->limited[0]);
    EXACT(c->q0, 0.5);
    EXACT(s->links[3].position, -0.5, 0, 0);
    NEAR(d->limits[0], 1e-15, 0, M_PI / 3);
    ctn_scene_free(s);
}
END_TEST

/// At controls of 0 MuJoCo's actuators give gear (b0 + b1 gear q + b2 gear v): all that moves these joints besides gravity and
/// inertia.
START_TEST(actuators)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><default><position kp='30'/></default><worldbody><body name='a'><joint name='j' axis='0 1 0'/>" BALL_GEOM
        "<body name='b' pos='1 0 0'><joint name='k' axis='0 1 0'/><joint name='l' type='slide' axis='1 0 0'/>" BALL_GEOM
        "<body name='c' pos='0 0 1'><joint name='n' axis='1 0 0'/>" BALL_GEOM "</body></body></body></worldbody>\n"
        "<actuator><position joint='j' kv='3' forcerange='-400 400'/><general joint='k' gainprm='20' biastype='affine' "
        "biasprm='1 -20 -2' gear='2'/><velocity joint='l' kv='5' gear='-3'/><motor joint='n' gear='7'/></actuator></mujoco>");
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ctn_model *const m = ctn_model_create(s, NULL);
    ctn_dynamics *const d = ctn_dynamics_create(m, NULL, NULL);
    const double q[4] = {0.3, -0.2, 0.1, 0.5}, v[4] = {1, -2, 0.5, 3};
    double a[4], tau[4], bias[4], H[16];
    ctn_aba(d, 1, q, v, NULL, a);
    ctn_bias(d, 1, q, v, bias);
    ctn_crba(d, 1, q, H);
    for (int i = 0; i < 4; i++) {
        tau[i] = bias[i];
        for (int k = 0; k < 4; k++) tau[i] += H[4 * i + k] * a[k];
    }
    NEAR(tau, 1e-9, -30 * q[0] - 3 * v[0], 2 * (1 - 40 * q[1] - 4 * v[1]), -3 * (-5 * -3 * v[2]), 0);
    ctn_dynamics_free(d);
    ctn_model_free(m);
    ctn_scene_free(s);
}
END_TEST

/// Whose gains an actuator has: of MuJoCo 4.0.0, actuator_gainprm and actuator_biasprm of the last one in the model.
static const struct {
    const char *classes, *actuator;
    double gain, bias[3], gear;
} laws[] = {
    {"<position kp='30' kv='3'/>", "<general joint='j'/>", 30, {0, -30, -3}, 1},
    {"<position kp='30' kv='3'/>", "<motor joint='j'/>", 1, {0}, 1},
    {"<position kp='30' kv='3'/>", "<velocity joint='j'/>", 1, {0, 0, -1}, 1},
    {"<general gainprm='500 1' biastype='affine' biasprm='3 -500 -20' gear='2'/>",
     "<position joint='j'/>",
     500,
     {0, -500, -20},
     2},
    {"<general gainprm='500' biastype='affine' biasprm='3 -500 -20' gear='2'/>", "<velocity joint='j'/>", 500, {0, 0, -500}, 2},
    {"<motor gear='3'/>", "<position joint='j' kp='5'/>", 5, {0, -5, 0}, 3},
    {"<position kp='50' kv='2' gear='2'/><velocity kv='3'/>", "<position joint='j'/>", 1, {0, -1, 0}, 2},
    {"<position kp='50' kv='2'/><default class='c'><velocity kv='9'/></default>",
     "<position joint='j' class='c'/>",
     50,
     {0, -50, -2},
     1},
    {"<position kp='50' kv='2'/><default class='c'><general gainprm='9'/></default>",
     "<position joint='j' class='c'/>",
     9,
     {0, -9, -2},
     1},
    {"<position kp='4' timeconst='0'/>", "<position joint='j' kv='2'/>", 4, {0, -4, -2}, 1},
    {"<muscle/>", "<position joint='j'/>", 1, {0, -1, 0}, 1},
    {"<position kp='30' dampratio='1'/>", "<position joint='j' kv='3'/>", 30, {0, -30, -3}, 1},
    {"<position kp='30' kv='3'/>", "<position joint='j' dampratio='1'/>", 30, {0, -30, -5.2535702146254781}, 1},
    {"", "<position joint='j' kp='60' dampratio='1' gear='-3'/>", 60, {0, -60, -2.4765567494675609}, -3},
    {"<motor armature='0.1'/>", "<position joint='j' kp='60' dampratio='1' gear='-3'/>", 60, {0, -60, -5.4893836933970395}, -3},
    {"", "<general joint='j' gainprm='60' biastype='affine' biasprm='0 -60 0.5'/>", 60, {0, -60, -3.7148351242013415}, 1},
    {"",
     "<general joint='j' gainprm='50 0 0 0 0 0 0 0 0 0' biastype='affine' biasprm='0 -50 -4 0 0 0 0 0 0 0'/>",
     50,
     {0, -50, -4},
     1},
};

START_TEST(laws_of_actuators)
{
    char text[1024];
    snprintf(text, sizeof text,
             "<mujoco><default>%s</default><worldbody><body><joint name='j' axis='0 1 0'/>"
             "<inertial pos='0.3 0 0' mass='2' diaginertia='0.01 0.05 0.05'/></body></worldbody><actuator>%s</actuator></mujoco>",
             laws[_i].classes, laws[_i].actuator);
    ctn_scene *const s = read_mjcf(text);
    ctn_model *const m = ctn_model_create(s, NULL);
    const double *const b = laws[_i].bias, rotor = strstr(laws[_i].classes, "armature") ? 0.1 * laws[_i].gear * laws[_i].gear : 0;
    ck_assert_double_eq_tol(s->links[0].joint.armature[0], rotor, 1e-15);
    ck_assert_msg(m && m->nmotor == 1, "%s", text);
    const joint_motor *const a = &m->motors[0];
    const motor_type type = b[1] != 0 ? MOTOR_POSITION : b[2] != 0 ? MOTOR_VELOCITY : MOTOR_TORQUE;
    ck_assert_msg(a->type == type && a->kp == -b[1] && fabs(a->kd + b[2]) < 1e-14 * (1 - b[2]) && a->gear == laws[_i].gear,
                  "%s: type %d, kp %.17g, kd %.17g, gear %g", text, (int)a->type, a->kp, a->kd, a->gear);
    ck_assert_msg(!ctn_scene_warning_count(s), "%s%s", text, ctn_scene_warnings(s));
    ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

/// The inertia of a damping ratio is the one met where all joints are at their ref, the others free, masses as `settotalmass` has
/// them; kv are MuJoCo 4.0.0's actuator_biasprm.
START_TEST(damping_ratios)
{
    static const double kv[] = {28.751609130377716, 3.3336055770548754, 4, 1.9173101248535531, 3.8541538480913577};
    ctn_scene *const s = read_mjcf(
        "<mujoco><compiler settotalmass='7'/><default><position kp='50'/><joint armature='0.1'/><default class='slow'>"
        "<position kv='4'/></default><default class='other'><general biastype='affine' gainprm='30' biasprm='0 -30 -2' "
        "forcerange='-9 9'/></default></default>"
        "<default><position dampratio='0.8'/><joint armature='0.2'/><default class='late'><motor gear='3'/></default></default>"
        "<worldbody><body name='a' pos='0 0 1' euler='10 20 30'><joint name='x' type='slide' axis='1 1 0' ref='0.3'/>"
        "<joint name='h' axis='1 2 3' pos='0.1 0.2 0.3' ref='40'/><geom type='box' size='.1 .2 .3'/>"
        "<body pos='0.5 0 0'><geom type='capsule' size='.1' fromto='0 0 0 .3 .2 .1'/><body name='b' pos='0.2 0 0' euler='40 0 0'>"
        "<joint name='k' axis='0 1 0' pos='0 0 .1'/><geom size='0.1' pos='0.3 0 0'/><body pos='0 0.2 0.1'>"
        "<joint name='l' axis='0 0 1'/><joint name='q' axis='1 0 0' class='slow' pos='0.3 0.2 0'/>"
        "<geom type='cylinder' size='0.1 0.2' pos='0.2 0.1 0'/></body></body></body></body></worldbody>"
        "<actuator><position joint='x'/><position joint='h' gear='-4'/><position joint='k' class='slow'/>"
        "<position joint='l' class='late'/><position joint='q' class='other' dampratio='1'/></actuator>"
        "<keyframe><key qpos='1 2 1 2 1'/></keyframe></mujoco>");
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ctn_model *const m = ctn_model_create(s, NULL);
    ck_assert_int_eq(m->nmotor, 5);
    for (int k = 0; k < 5; k++) ck_assert_double_eq_tol(m->motors[k].kd, kv[k], 1e-12 * kv[k]);
    ck_assert(m->motors[3].gear == 3 && m->motors[4].effort == 9);
    ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

/// A class is what the one around it was when it was made: what a later <default> at the top says is not in it. Masses of MuJoCo.
START_TEST(defaults_at_the_top)
{
    ctn_scene *const s =
        read_mjcf("<mujoco><default><joint damping='0.3'/><default class='s'><joint armature='0.1'/></default></default>"
                  "<default><geom density='500'/><default class='t'/></default>"
                  "<worldbody><body><joint/>" BALL_GEOM "</body><body childclass='s'><joint/>" BALL_GEOM "</body>"
                  "<body childclass='t'><joint/>" BALL_GEOM "</body></worldbody></mujoco>");
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(s->links[k].mass, k == 1 ? 4.1887902047863905 : 2.0943951023931953, 1e-14);
        ck_assert_double_eq(s->links[k].joint.damping[0], 0.3);
    }
    ctn_scene_free(s);
}
END_TEST

/// A damper is told how much it brakes, nothing at first.
START_TEST(damper)
{
    ctn_scene *const s = read_mjcf("<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM "</body></worldbody><actuator>"
                                   "<damper joint='j' kv='4' ctrlrange='0 1' gear='2'/></actuator></mujoco>");
    ck_assert_int_eq(s->nmotor, 1);
    ck_assert(s->motors[0].type == MOTOR_VELOCITY && s->motors[0].kd == 0 && s->motors[0].gear == 2);
    ck_assert(strstr(ctn_scene_warnings(s), "a damper, whose control is how much it brakes, 1 time") != 0);
    ctn_scene_free(s);
}
END_TEST

/// Controls of the key that the model starts with, within their ranges: what motors are told.
START_TEST(controls_of_the_key)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><worldbody><body><joint name='a' axis='0 1 0'/>" BALL_GEOM "<site name='s'/><body><joint name='b'/>" BALL_GEOM
        "<body><joint name='c'/>" BALL_GEOM "<body><joint name='d'/>" BALL_GEOM "</body></body></body></body></worldbody>"
        "<actuator><position joint='a' kp='30'/><velocity joint='b' kv='4' ctrlrange='-3 3'/><motor joint='c' gear='7'/>"
        "<adhesion body='a' ctrlrange='0 1'/><damper joint='d' kv='8' ctrlrange='0 1'/><motor site='s' gear='0 0 2 0 0 0'/>"
        "</actuator><keyframe><key ctrl='0.5 5 -2 0.9 0.25 1.5'/></keyframe></mujoco>");
    ck_assert_int_eq(s->nmotor, 5);
    ck_assert_double_eq(s->motors[0].target[0], 0.5);
    ck_assert_double_eq(s->motors[1].velocity[0], 3);
    ck_assert_double_eq(s->motors[2].feedforward[0], -2);
    ck_assert_double_eq(s->motors[3].kd, 2);
    ck_assert_double_eq(s->motors[4].feedforward[0], 3);
    ctn_scene_free(s);
}
END_TEST

/// On sites they are thrusters: a force in the site's axes with a torque along it, or a torque alone.
START_TEST(thrusters)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><worldbody><body name='b' pos='0 0 1'><freejoint/>" BALL_GEOM "<body name='arm' pos='0 0 0.5'>" BALL_GEOM
        "<site name='p' pos='0.1 0 0' euler='90 0 0'/></body>"
        "<site name='c'/></body></worldbody>\n"
        "<actuator><motor site='p' gear='0 0 2 0 0 -0.04' ctrlrange='0 13' ctrllimited='true'/>"
        "<general site='c' gear='0 0 0 0 -0.5 0' gainprm='3' biastype='affine' biasprm='0.2 0 0' forcerange='-1 2'/></actuator>"
        "</mujoco>");
    ck_assert_int_eq(s->nmotor, 2);
    const scene_motor *const a = &s->motors[0], *const b = &s->motors[1];
    ck_assert(a->type == MOTOR_THRUST && b->type == MOTOR_MOMENT);
    ck_assert_str_eq(s->links[a->link].name, "arm");
    ck_assert_str_eq(s->links[b->link].name, "b");
    NEAR(a->point, 1e-15, 0.1, 0, 0);
    NEAR(a->axis, 1e-15, 0, -1, 0);
    ck_assert_double_eq_tol(a->reaction, -0.02, 1e-15);
    ck_assert(a->least == 0 && a->effort == 26 && a->feedforward[0] == 0);
    NEAR(b->axis, 1e-15, 0, -1, 0);
    ck_assert(b->least == -0.5 && b->effort == 1);
    ck_assert_double_eq_tol(b->feedforward[0], 0.1, 1e-15);
    ck_assert(strstr(ctn_scene_warnings(s), "on a site: its control is not its target, 2 times") != 0);
    ctn_scene_free(s);
}
END_TEST

START_TEST(home)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/mjcf/swarm.xml", CATENA_SOURCE_DIR);
    ctn_scene *const s = ctn_scene_load(path, NULL);
    ck_assert_ptr_nonnull(s);
    const scene_joint *const root = &s->links[link_of(s, "drone")].joint, *const rod = &s->links[link_of(s, "rod")].joint;
    EXACT(root->q0, 0.5, 0.1, 2, 0.6, 0.8, 0, 0);
    EXACT(root->v0, 1, 2, 3, 4, 5, 6);
    EXACT(rod->q0, -0.5);
    EXACT(rod->v0, 11);
    ck_assert_int_eq(s->nfile, 3);  // the model, its part, its mesh
    ck_assert(has_error(ctn_scene_warnings(s), path, 0, 0, "<key>, 1 time", false));

    ctn_scene *const moving = read_mjcf("<mujoco><worldbody><body><joint ref='90'/>" BALL_GEOM "</body></worldbody><keyframe>"
                                        "<key qvel='3'/></keyframe></mujoco>");  // a key without qpos leaves it as it is
    NEAR(moving->links[0].joint.q0, 1e-15, M_PI / 2);
    EXACT(moving->links[0].joint.v0, 3);
    ctn_scene_free(moving);

    ctn_scene *const turned =
        read_mjcf(  // mj_resetDataKeyframe of MuJoCo 4.0.0; the joint of a body comes before those within it
            "<mujoco><worldbody><body><body><joint/>" BALL_GEOM "</body><joint type='ball'/>" BALL_GEOM
            "</body><body><freejoint/>" BALL_GEOM
            "</body></worldbody><keyframe><key qpos='0 0 0 0 0.5 1 2 3 0 3 4 0'/></keyframe></mujoco>");
    EXACT(turned->links[0].joint.q0, 1, 0, 0, 0);
    EXACT(turned->links[1].joint.q0, 0.5);
    NEAR(turned->links[2].joint.q0, 1e-15, 1, 2, 3, 0, 0.6, 0.8, 0);
    ctn_scene_free(turned);

    // what a recording keeps of it is enough
    ctn_error err = {0};
    ctn_scene *const again = scene_from_files(s->files, s->nfile, &err);
    ck_assert_msg(again != 0, "%s", err.message);
    ck_assert_int_eq(again->nlink, s->nlink);
    for (int i = 0; i < s->nlink; i++)
        ck_assert_int_eq(memcmp(again->links[i].inertia, s->links[i].inertia, 6 * sizeof(double)), 0);
    ctn_scene_free(again);
    ctn_scene_free(s);
}
END_TEST

// ---- mistakes

static const struct {
    const char *text;
    int line, column;
    const char *words;
} mistakes[] = {
    {WORLD("<body name='a'><joint type='hinged'/>" BALL_GEOM "</body>"), 3, 23,
     "type: unknown 'hinged'; allowed: free, ball, hinge, slide"},
    {WORLD("<body><joint axis='0 1'/>" BALL_GEOM "</body>"), 3, 14, "axis: expected 3 numbers, found '0 1'"},
    {WORLD("<body><joint axis='0 0 0'/>" BALL_GEOM "</body>"), 3, 14, "axis: too short"},
    {WORLD("<body><joint range='1 -1' limited='true'/>" BALL_GEOM "</body>"), 3, 14,
     "range: expected two numbers, the lower one first"},
    {WORLD("<body><joint/><geom type='box' size='1 2'/></body>"), 3, 15, "size: a box needs 3 numbers, found 2"},
    {WORLD("<body><joint/><geom size='-1'/></body>"), 3, 15, "numbers > 0"},
    {WORLD("<body><joint/><geom type='capsule' fromto='0 0 0 0 0 0' size='1'/></body>"), 3, 15, "too close"},
    {WORLD("<body><joint class='x'/>" BALL_GEOM "</body>"), 3, 14, "class: unknown class 'x'"},
    {WORLD("<body quat='0 0 0 0'/>"), 3, 7, "quat: too short"},
    {WORLD("<body quat='1 0 0 0' euler='1 2 3'/>"), 3, 22, "euler: there is quat already"},
    {WORLD("<body><joint/></body>"), 3, 1, "mass: a moving link needs mass"},
    {WORLD("<body>\n<freejoint/>" BALL_GEOM "<joint/></body>"), 4, 1, "a free joint is the only one of its body"},
    {WORLD("<body name='a'><body>\n<freejoint/>" BALL_GEOM "</body></body>"), 4, 1, "for bodies of <worldbody> only"},
    {WORLD("<body name='a'/>\n<body name='a'/>"), 4, 1, "'a' is already the name of the link"},
    {WORLD("<joint/>"), 3, 1, "the world does not move"},
    {WORLD("<replicate count='3'><body/></replicate>"), 3, 1, "<replicate>: is not read; let MuJoCo write the model out"},
    {WORLD("<body><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 5'/></body>"), 3, 15, "no body has principal moments"},
    {WORLD("<body><joint/><inertial pos='0 0 0' diaginertia='1 1 5'/></body>"), 3, 15, "missing attribute mass"},
    {WORLD("<body><joint/><geom type='mesh' mesh='m'/></body>"), 3, 33, "mesh: unknown mesh 'm'"},
    {WORLD("<body><joint/>" BALL_GEOM "</body>\n<include/>"), 4, 1, "<include>: missing attribute file"},
    {"<mujoco><worldbody/>\n<contact><exclude body1='world' body2='a'/></contact></mujoco>", 2, 10, "there is no body 'a'"},
    {WORLD("<include file='nowhere.xml'/>"), 3, 10, "cannot be read"},
    {WORLD("<include file='t.xml'/>"), 3, 10, "part of the model already"},
    {"<mujoco/>", 1, 1, "missing <worldbody>"},
    {"<!DOCTYPE m [\n<!ENTITY a 'aaaa'>]><mujoco/>", 2, 12, "an entity of its own"},
    {"<mujoco>\n<default class='x'/>\n<worldbody/></mujoco>", 2, 1, "at the top it is the class main"},
    {"<mujoco>\n<default><default class='x'/>\n<default class='x'/></default><worldbody/></mujoco>", 3, 1,
     "there already, in line 2"},
    {"<mujoco>\n<default><default class='main'/></default><worldbody/></mujoco>", 2, 10, "main is the class at the top"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM "</body></worldbody>\n<actuator><position joint='j' kv='1' "
     "dampratio='1'/></actuator></mujoco>",
     2, 38, "dampratio: there is kv already"},
    {"<mujoco><worldbody><body name='a'><joint name='j'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor joint='j'/></actuator>"
     "<keyframe><key ctrl='1 2'/></keyframe></mujoco>",
     2, 55, "ctrl: expected 1 number, found more"},
    {"<mujoco>\n<default><position dampratio='-1'/></default><worldbody/><actuator/></mujoco>", 2, 20, "expected a number >= 0"},
    {"<mujoco>\n<compiler coordinate='global'/><worldbody/></mujoco>", 2, 11, "global ones are not read"},
    {"<mujoco>\n<compiler eulerseq='xyw'/><worldbody/></mujoco>", 2, 11, "three of x, y, z"},
    {"<mujoco>\n<compiler inertiafromgeom='false'/><worldbody><body><joint/>" BALL_GEOM "</body></worldbody></mujoco>", 2, 47,
     "missing <inertial>"},
    {"<mujoco><worldbody><body name='a'><joint/>" BALL_GEOM
     "</body></worldbody>\n<keyframe><key qpos='1 2'/></keyframe></mujoco>",
     2, 16, "expected 1 number (q of all links in order), found 2"},
};

START_TEST(mistake)
{
    ctn_error err = {0};
    const char *const text = mistakes[_i].text;
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "folder/t.xml", &err));
    ck_assert_msg(has_error(err.message, "folder/t.xml", mistakes[_i].line, mistakes[_i].column, mistakes[_i].words, false),
                  "expected %d:%d %s, found\n%s\nin\n%s", mistakes[_i].line, mistakes[_i].column, mistakes[_i].words, err.message,
                  text);
}
END_TEST

static const struct {
    const char *text;
    int line, column;
    const char *words;
} remarks[] = {
    {WORLD("<geom type='plane' size='1 1 1'/><geom type='plane' size='1 1 1'/><body><joint/>" BALL_GEOM "</body>"), 3, 34,
     "ignored: planes but the first one of the world that touches, and height fields"},
    {WORLD("<geom type='plane' size='1 1 1' contype='0' conaffinity='0'/><body><joint/>" BALL_GEOM "</body>"), 3, 1,
     "ignored: planes but the first one of the world that touches"},
    {"<mujoco><asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset>\n<worldbody><geom type='hfield' hfield='h'/>"
     "<body><joint/>" BALL_GEOM "</body></worldbody></mujoco>",
     2, 12, "height fields but the first one with an image or `elevation`"},
    {WORLD("<geom size='1' friction='0.1'/>\n<geom size='1' friction='5'/><body><freejoint/><geom size='1' "
           "friction='0.7'/></body>"),
     4, 1, "friction of 1 pair of geoms is not MuJoCo's"},
    {WORLD("<geom type='plane' size='1 1 1'/><body><joint/><geom size='1' solref='0.01 1'/></body>"), 3, 48,
     "ignored: how soft geoms touch"},
    {WORLD("<geom size='1' solref='0.01 1'/><body><joint/><geom size='1'/></body>"), 3, 1, "ignored: how soft geoms touch"},
    {WORLD("<site/><site/><body><joint frictionloss='1'/>" BALL_GEOM "</body>"), 3, 1, "ignored: <site>, 2 times"},
    {WORLD("<site/><body><joint type='ball' frictionloss='1'/>" BALL_GEOM "</body>"), 3, 14, "ignored: frictionloss of ball"},
    {WORLD("<body><joint/><geom size='1' contype='0' friction='1'/></body>"), 3, 15,
     "ignored: friction, condim and priority of geoms, 1 time"},
    {WORLD("<body><joint/>" BALL_GEOM "</body><body mocap='true'/>"), 3, 40, "is moved by hand (mocap)"},
    {WORLD("<body gravcomp='1'><joint/>" BALL_GEOM "</body>"), 3, 1, "ignored: gravcomp"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><muscle joint='j'/></actuator></mujoco>",
     2, 11, "ignored: <muscle>, 1 time"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor site='j'/></actuator></mujoco>",
     2, 11, "ignored: <motor>: there is no such site"},
    {"<mujoco><worldbody><body><joint name='j' springdamper='1 1'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor site='j'/><motor site='k'/><motor joint='k'/></actuator></mujoco>",
     2, 11, "ignored: <motor>, 2 times: there is no such site"},
    {WORLD("<body><joint springdamper='1 1'/>" BALL_GEOM "</body>"), 3, 7, "ignored: <joint>: its springdamper"},
    {"<mujoco><worldbody><site name='s'/><body><joint name='j'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor site='s'/></actuator></mujoco>",
     2, 11, "ignored: <motor>: it is on the world"},
    {"<mujoco><worldbody><body><joint/><site name='s'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor site='s' gear='0 0 1 .1 0 0'/></actuator></mujoco>",
     2, 11, "ignored: <motor>: its gear turns about another axis than it pushes along"},
    {"<mujoco><worldbody><body><joint/><site name='s'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><position site='s'/></actuator></mujoco>",
     2, 11, "ignored: <position>: its force goes by the place or the motion of its site"},
    {"<mujoco><worldbody><body><joint/><site name='s'/>" BALL_GEOM
     "</body></worldbody>\n<actuator><motor site='s' ctrlrange='1 2' ctrllimited='true'/></actuator></mujoco>",
     2, 11, "its range, which leaves out 0: taken as none"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM "</body></worldbody>\n<actuator><motor joint='j'/><motor joint='j'/>"
     "</actuator></mujoco>",
     2, 29, "ignored: <motor>: its joint has one already"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM "</body></worldbody>\n<actuator><general joint='j' dyntype='filter'/>"
     "</actuator></mujoco>",
     2, 11, "ignored: <general>: dyntype"},
    {"<mujoco><worldbody><body><joint name='j'/>" BALL_GEOM "</body></worldbody>\n<actuator><general joint='j' gainprm='2'/>"
     "</actuator></mujoco>",
     2, 11, "its control is not its target, 1 time"},
};

START_TEST(remark)
{
    ctn_scene *const s = read_mjcf(remarks[_i].text);
    const char *const found = ctn_scene_warnings(s);
    ck_assert_msg(has_error(found, "folder/t.xml", remarks[_i].line, remarks[_i].column, remarks[_i].words, false),
                  "expected %d:%d %s, found\n%s", remarks[_i].line, remarks[_i].column, remarks[_i].words, found);
    ctn_scene_free(s);
}
END_TEST

// ---- the ground

#define GROUNDED(plane, geom)                                                                                                    \
    WORLD("<geom type='plane' size='0 0 1' " plane "/><body name='b'><freejoint/><geom size='0.1' " geom "/></body>")

/// What MuJoCo 4 has in mjData.contact for these two: friction, 0 with condim 1; NAN: no contact.
static const struct {
    const char *text;
    double friction;
} touching[] = {
    {GROUNDED("", ""), 1},
    {GROUNDED("friction='0.5'", ""), 1},
    {GROUNDED("friction='0.5'", "friction='0.3 0.1 0.1'"), 0.5},
    {GROUNDED("friction='0.5' priority='1'", "friction='0.9'"), 0.5},
    {GROUNDED("friction='0.5'", "friction='0.9' priority='2'"), 0.9},
    {GROUNDED("condim='1'", "condim='1'"), 0},
    {GROUNDED("condim='1' friction='2'", "condim='4'"), 2},
    {GROUNDED("condim='1' priority='1'", ""), 0},
    {GROUNDED("contype='2' conaffinity='0'", ""), NAN},
    {GROUNDED("contype='2' conaffinity='0'", "conaffinity='3'"), 1},
    {GROUNDED("contype='0' conaffinity='4'", "contype='6' conaffinity='0'"), 1},
    {GROUNDED("", "contype='0' conaffinity='0'"), NAN},
};

/// Torsional and rolling friction, m: the second and third numbers where condim has them.
START_TEST(friction_by_turns)
{
    static const struct {
        const char *text;
        double torsional, rolling;
    } pairs[] = {
        {GROUNDED("", "friction='1 0.1 0.02'"), 0, 0},
        {GROUNDED("condim='4'", ""), 0.005, 0},
        {GROUNDED("condim='6' friction='1 0.1 0.02'", "friction='1 0.2 0.01'"), 0.2, 0.02},
        {GROUNDED("condim='6' friction='1 0.1 0.02' priority='1'", "friction='1 0.2 0.01'"), 0.1, 0.02},
        {GROUNDED("priority='1'", "condim='6'"), 0, 0},
        {GROUNDED("", "condim='6'"), 0.005, 0.0001},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        ctn_scene *const s = read_mjcf(pairs[k].text);
        ctn_model *const m = ctn_model_create(s, NULL);
        ck_assert(m && m->ncontact == 1);
        ck_assert_msg(m->loads[0].torsional == pairs[k].torsional && m->loads[0].rolling == pairs[k].rolling, "%s: %g, %g",
                      pairs[k].text, m->loads[0].torsional, m->loads[0].rolling);
        ctn_model_free(m), ctn_scene_free(s);
    }
}
END_TEST

/// The same for a plane, and for a box of the world in its place.
START_TEST(friction_of_pairs)
{
    for (int box = 0; box < 2; box++) {
        char text[512];
        const char *const plane = "type='plane'", *const at = strstr(touching[_i].text, plane);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - touching[_i].text), touching[_i].text,
                 box ? "type='box' pos='0 0 -9' " : plane, at + strlen(plane));
        if (box) memcpy(strstr(text, "size='0 0 1'"), "size='1 1 1'", 12);
        ctn_scene *const s = read_mjcf(text);
        ctn_error err = {0};
        ctn_model *const m = ctn_model_create(s, &err);
        ctn_contact_point p;
        ck_assert_msg(m != NULL, "%s", err.message);
        if (isnan(touching[_i].friction)) {
            ck_assert_int_eq(ctn_model_ncontact(m), 0);
        } else {
            ck_assert_int_eq(ctn_model_ncontact(m), 1);
            ck_assert(s->contact.ground == !box && s->contact.nobstacle == box);
            ck_assert(ctn_model_contact(m, 0, &p) && p.surface == box);
            ck_assert_double_eq(p.friction, touching[_i].friction);
        }
        ctn_model_free(m), ctn_scene_free(s);
    }
}
END_TEST

/// Which of many geoms touches which, by random bits, and pairs of bodies that are excluded: MuJoCo's rule.
START_TEST(bits_of_pairs)
{
    enum { FIXED = 5, BALLS = 6 };
    FOR_ALL_SEEDS(seed, 40)
    {
        rng r = {seed};
        unsigned types[FIXED + BALLS], with[FIXED + BALLS];
        char text[4096];
        size_t n = (size_t)sprintf(text, "<mujoco><worldbody>");
        for (int k = 0; k < FIXED + BALLS; k++) {
            types[k] = (unsigned)rng_below(&r, 8), with[k] = (unsigned)rng_below(&r, 8);
            const bool plane = k == 0 && seed % 2;
            n += (size_t)sprintf(text + n,
                                 "<body name='b%d'>%s<geom name='g%d' type='%s' size='1 1 1' contype='%u' conaffinity='%u'/>"
                                 "</body>",
                                 k, k < FIXED ? "" : "<freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>", k,
                                 plane ? "plane" : "sphere", types[k], with[k]);
        }
        const int out[2] = {(int)rng_below(&r, FIXED), (int)rng_below(&r, BALLS)};
        const int also = (int)rng_below(&r, BALLS);
        sprintf(text + n,
                "</worldbody><contact><exclude body1='b%d' body2='b%d'/><exclude body1='b%d' body2='b%d'/></contact></mujoco>",
                out[0], FIXED + out[1], FIXED + also, FIXED);
        ctn_scene *const s = read_mjcf(text);
        ctn_model *const m = ctn_model_create(s, NULL);
        bool met[FIXED][BALLS] = {{false}};
        ctn_contact_point p;
        for (int k = 0; ctn_model_contact(m, k, &p); k++) {
            const char *const name = ctn_model_surface(m, p.surface), *const body = s->links[p.link].name;
            const int surface = !strcmp(name, "ground") ? 0 : name[1] - '0', ball = atoi(body + 1) - FIXED;
            ck_assert(ball >= 0 && ball < BALLS && !met[surface][ball]);
            met[surface][ball] = true;
        }
        for (int a = 0; a < FIXED; a++)
            for (int b = 0; b < BALLS; b++) {
                const bool expected =
                    !(a == out[0] && b == out[1]) && ((types[a] & with[FIXED + b]) || (types[FIXED + b] & with[a]));
                ck_assert_msg(met[a][b] == expected, "seed %d: geom %d and ball %d: %d", (int)seed, a, b, met[a][b]);
            }
        ctn_model_free(m);
        // balls with each other, where a scene asks for that
        s->contact.between = BETWEEN_ALL;
        ctn_model *const all = ctn_model_create(s, NULL);
        bool touch[BALLS][BALLS] = {{false}};
        for (int k = 0; k < all->npair; k++) {
            const int a = all->touch_shapes[all->touch_pairs[k].a].link, b = all->touch_shapes[all->touch_pairs[k].b].link;
            const int x = atoi(s->links[a].name + 1) - FIXED, y = atoi(s->links[b].name + 1) - FIXED;
            ck_assert(x >= 0 && y >= 0 && x != y && !touch[x][y]);  // what is fixed is an obstacle, and no shape of a link
            touch[x][y] = touch[y][x] = true;
        }
        for (int a = 0; a < BALLS; a++)
            for (int b = 0; b < a; b++) {
                const bool apart = (a == also && b == 0) || (a == 0 && b == also);
                const bool expected = !apart && ((types[FIXED + a] & with[FIXED + b]) || (types[FIXED + b] & with[FIXED + a]));
                ck_assert_msg(touch[a][b] == expected, "seed %d: balls %d and %d: %d", (int)seed, a, b, touch[a][b]);
            }
        ctn_model_free(all), ctn_scene_free(s);
    }
}
END_TEST

#define TWO_WITH(in_b)                                                                                                                      \
    "<body name='a' pos='0 0 1'><joint name='p' axis='0 1 0' pos='0.1 0 0' ref='20'/><geom name='g' size='0.1'/></body>"           \
    "<body name='b' pos='1 0 1' euler='0 0 90'><joint name='q' type='slide' axis='0 0 1' ref='0.5'/><geom name='h' size='0.1'/>" in_b "</body>"
#define TWO TWO_WITH("")

/// The place in the world of a bond's point on a link (-1: the world).
static void place_of(const ctn_model *m, int link, const double *at, double *x)
{
    double *p, *const R = places_at_start(m, &p), point[3];
    if (link < 0) memcpy(x, at, 3 * sizeof *x);
    else {
        link_point(m, link, at, point);
        for (int i = 0; i < 3; i++) {
            x[i] = p[3 * link + i];
            for (int k = 0; k < 3; k++) x[i] += R[9 * link + 3 * i + k] * point[k];
        }
    }
    free(R);
}

/// Loops, by hand: where they are in the world, as links' frames are at their joints.
START_TEST(equalities)
{
    static const struct {
        const char *text;
        bond_kind kind;
        double at[3];  // of the second body, with `both` of the first one too
        bool both;
    } cases[] = {
        {"<connect body1='a' body2='b' anchor='0.5 0 0'/>", BOND_POINT, {0.5, 0, 1}, true},
        {"<connect body1='b' anchor='0.5 0 0'/>", BOND_POINT, {1, 0.5, 1}, true},
        {"<connect body1='world' body2='b' anchor='0.5 0 0'/>", BOND_POINT, {0.5, 0, 0}, true},
        {"<weld body1='a' body2='b' anchor='0.5 0 0'/>", BOND_WELD, {1, 0.5, 1}, true},
        {"<weld body1='a' body2='b' anchor='0.5 0 0' relpose='1 0.5 0 0.7071067811865476 0 0 0.7071067811865476'/>", BOND_WELD, {1, 0.5, 1}, true},
        {"<connect site1='post' site2='end'/>", BOND_POINT, {1, 0.5, 1}, true},
        {"<connect site1='end' site2='post'/>", BOND_POINT, {1, 0.5, 1}, true},
        {"<weld site1='post' site2='end'/>", BOND_WELD, {1, 0.5, 1}, true},
        {"<weld body1='a'/>", BOND_WELD, {0, 0, 0}, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1000];
        double x[3], y[3];
        const bool sites = strstr(cases[k].text, "site1");
        snprintf(text, sizeof text, "<mujoco><worldbody>" TWO_WITH("%s") "%s</worldbody><equality>%s</equality></mujoco>",
                 sites ? "<site name='end' pos='0.5 0 0' euler='0 0 -90'/>" : "", sites ? "<site name='post' pos='1 0.5 1'/>" : "",
                 cases[k].text);
        ctn_scene *const s = read_mjcf(text);
        ctn_error err = {0};
        ctn_model *const m = ctn_model_create(s, &err);
        ck_assert_msg(m, "case %zu: %s", k, err.message);
        ck_assert(m->nbond == 1 && m->bonds[0].kind == cases[k].kind);
        place_of(m, s->bonds[0].a, m->bonds[0].at_a, x), place_of(m, s->bonds[0].b, m->bonds[0].at_b, y);
        near(x, cases[k].at, 3, 1e-12, cases[k].text), near(y, cases[k].at, 3, 1e-12, cases[k].text);
        ck_assert_msg(warn_of_between(s, m) && !*ctn_scene_warnings(s), "case %zu: %s", k, ctn_scene_warnings(s));
        ctn_model_free(m), ctn_scene_free(s);
    }
}
END_TEST

/// q = ref + p(q' - ref'): as one polynomial; a joint that is held; tendons; pairs; what is not there.
START_TEST(couplings_and_tendons)
{
    ctn_scene *s = read_mjcf("<mujoco><default><tendon damping='3'/></default><worldbody>" TWO "</worldbody><equality><joint joint1='q' joint2='p' "
                             "polycoef='0 2 3 4 5'/><joint joint1='p'/></equality><tendon><fixed name='t' stiffness='7' range='0 1'>"
                             "<joint joint='p' coef='2'/><joint joint='q' coef='-1'/></fixed></tendon></mujoco>");
    ctn_error err = {0};
    ctn_model *m = ctn_model_create(s, &err);
    ck_assert_msg(m, "%s", err.message);
    ck_assert(m->nbond == 3 && m->nrow == 2);
    const double ref = 20 * M_PI / 180, *const c = m->bonds[0].poly;
    for (double q = -1; q < 2; q += 0.3) {
        const double d = q - ref, expected = 0.5 + d * (2 + d * (3 + d * (4 + d * 5)));
        const double found = c[0] + q * (c[1] + q * (c[2] + q * (c[3] + q * c[4])));
        NEAR(&found, 1e-12, expected);
    }
    ck_assert(m->bonds[1].leader == -1 && m->bonds[1].follower == m->frames[0].body);
    NEAR(m->bonds[1].poly, 1e-15, ref, 0);
    const model_bond *const t = &m->bonds[2];
    ck_assert(t->kind == BOND_TENDON && t->joints == 2 && t->stiffness == 7 && t->damping == 3 && t->range[0] == 0 && t->range[1] == 1);
    NEAR(&t->rest[0], 1e-15, 2 * ref - 0.5);  // at the joints' ref
    ck_assert(m->bond_joints[0].share == 2 && m->bond_joints[1].share == -1 && m->bond_joints[1].body == m->frames[1].body);
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ctn_model_free(m), ctn_scene_free(s);

    s = read_mjcf("<mujoco><worldbody>" TWO "</worldbody><contact><pair geom1='g' geom2='h' friction='0.3 0.3 0 0 0'/><pair geom1='h' geom2='g'/>"
                  "</contact><equality><connect body1='a' anchor='0 0 0' active='false'/><weld body1='a' body2='a'/><weld body1='a' solref='0.1 1'/>"
                  "<tendon tendon1='x'/></equality><tendon><spatial name='u'><site site='n'/></spatial><spatial name='w' stiffness='1'><geom geom='g'/></spatial>"
                  "<fixed name='d'><joint joint='p' coef='1'/></fixed></tendon><actuator><motor tendon='d'/><motor tendon='d'/><motor tendon='w'/>"
                  "<motor tendon='d' armature='1'/></actuator></mujoco>");
    m = ctn_model_create(s, &err);
    ck_assert_msg(m, "%s", err.message);
    ck_assert(m->npair == 1 && m->touch_pairs[0].friction == 0.3 && m->nbond == 2 && m->nmotor == 1 && m->motors[0].tendon == 2);
    static const char *const says[] = {"<pair>: its bodies are a pair already", "<connect>: it is not active", "<weld>: it joins a body to itself",
                                       "how soft <equality> holds", "ignored: <tendon>", "<spatial>: there is no such site", "<spatial>: it wraps around a <geom>", "<motor>: its tendon has one already", "<motor>: there is no such tendon",
                                       "<motor>: its armature: a tendon turns no rotor"};
    for (size_t k = 0; k < sizeof says / sizeof *says; k++)
        ck_assert_msg(strstr(ctn_scene_warnings(s), says[k]), "no '%s' in %s", says[k], ctn_scene_warnings(s));
    ctn_model_free(m), ctn_scene_free(s);
}
END_TEST

/// Where geoms of bodies that hang on the world are, in frames and turned bodies; what moves is no obstacle, nor what nothing meets.
START_TEST(obstacles)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><worldbody><geom name='rock' type='box' size='1 2 3' pos='4 5 6' euler='0 0 90'/>"
        "<body pos='1 0 0' euler='0 90 0'><geom type='capsule' size='0.1 0.4' pos='0 0 1'/><frame pos='0 0 2'>"
        "<body pos='0 1 0' euler='90 0 0'><geom name='c' type='cylinder' fromto='0 0 0 0 0 1' size='0.2' rgba='1 1 1 0'/></body>"
        "</frame><geom contype='4' conaffinity='4' size='1'/></body>"
        "<body name='b' pos='0 0 9'><joint/><geom size='0.1'/><body><geom size='0.1'/></body></body></worldbody></mujoco>");
    const scene_obstacle *const o = s->contact.obstacles;
    ck_assert_int_eq(s->contact.nobstacle, 3);
    ck_assert_str_eq(o[0].name, "rock");
    EXACT(o[0].shape.size, 2, 4, 6);
    EXACT(o[0].shape.center, 4, 5, 6);
    NEAR(o[0].shape.rotation, 1e-15, sqrt(0.5), 0, 0, sqrt(0.5));
    ck_assert_str_eq(o[1].name, "obstacle.1");
    NEAR(o[1].shape.from, 1e-15, 1.6, 0, 0);
    NEAR(o[1].shape.to, 1e-15, 2.4, 0, 0);
    ck_assert_str_eq(o[2].name, "c");  // z of its body is -y of the one around it, which is -y of the world
    NEAR(o[2].shape.from, 1e-15, 3, 1, 0);
    NEAR(o[2].shape.to, 1e-15, 3, 0, 0);
    ck_assert(!s->contact.ground && o[2].shape.hidden && o[0].shape.layers == o[2].shape.layers);
    ck_assert_str_eq(ctn_scene_warnings(s), "");
    ctn_scene_free(s);
}
END_TEST

START_TEST(plane_is_ground)
{
    static const char *const flags[] = {"", "<option><flag contact='disable'/></option>"};
    for (int off = 0; off < 2; off++) {
        char text[512];
        snprintf(text, sizeof text,
                 "<mujoco>%s<worldbody><frame pos='0 0 1' euler='0 30 0'><geom type='plane' size='1 1 1' pos='7 0 1'/></frame>"
                 "<body><freejoint/>" BALL_GEOM "</body></worldbody></mujoco>",
                 flags[off]);
        ctn_scene *const s = read_mjcf(text);
        ck_assert_int_eq(s->contact.ground, !off);
        if (!off) {  // the normal is z turned by 30 degrees about y
            const double x = sin(M_PI / 6), z = cos(M_PI / 6);
            ck_assert_double_eq_tol(s->contact.normal[0], x, 1e-15);
            ck_assert_double_eq_tol(s->contact.normal[1], 0, 1e-15);
            ck_assert_double_eq_tol(s->contact.normal[2], z, 1e-15);
            ck_assert_double_eq_tol(s->contact.height, 1 + z, 1e-15);
        }
        ctn_scene_free(s);
    }
}
END_TEST

/// Rows of a height field: the first one has the highest y, stretched from 0 to the third of its sizes, as MuJoCo's rays find it.
START_TEST(height_field)
{
    ctn_scene *const s = read_mjcf(
        "<mujoco><asset><hfield name='h' nrow='2' ncol='3' elevation='1 2 3  4 5 9' size='3 1 0.5 0.1'/></asset><worldbody>"
        "<body pos='0 0 1'><geom type='hfield' hfield='h' pos='1 0 0' rgba='1 0 0 1'/></body><body><freejoint/>" BALL_GEOM
        "</body></worldbody></mujoco>");
    static const double heights[] = {0, 0.0625, 0.125, 0.1875, 0.25, 0.5};
    const scene_terrain *const t = &s->contact.terrain;
    ck_assert(t->columns == 3 && t->rows == 2 && !t->hidden);
    for (int k = 0; k < 6; k++) ck_assert_double_eq(t->heights[k], heights[k]);
    EXACT(t->size, 6, 2);
    EXACT(t->position, 1, 0, 1);
    EXACT(t->color, 1, 0, 0);
    ctn_scene_free(s);
}
END_TEST

// ---- files

static char folder[] = "/tmp/catena-mjcf-XXXXXX";

static void make_folder(void) { ck_assert_ptr_nonnull(mkdtemp(folder)); }

static const char *file_path(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *const file = fopen(file_path(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void remove_folder(void)
{
    remove(file_path("main.xml")), remove(file_path("part.xml")), remove(file_path("main.yaml"));
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

/// Sensors of sites, joints, bodies and trees; what has no place here is named.
START_TEST(sensors)
{
    ctn_error err = {0};
    write_file(
        "main.xml",
        "<mujoco>\n<worldbody><site name='w'/><body name='a' pos='0 0 1'><joint name='j' pos='0 0 0.5'/>" BALL_GEOM
        "<frame pos='1 0 0'><site name='s' pos='0 0 0.25' quat='0 1 0 0'/><site name='u'/></frame>"
        "<body name='b'>" BALL_GEOM "</body></body></worldbody>\n"
        "<actuator><motor name='m' joint='j'/></actuator>\n"
        "<sensor><accelerometer name='acc' site='s' noise='0.5'/><gyro site='s'/><jointpos joint='j'/>"
        "<actuatorfrc actuator='m'/><framepos objtype='xbody' objname='a'/><subtreecom body='world'/><subtreelinvel body='a'/>\n"
        "<magnetometer site='s'/><subtreeangmom body='b'/><gyro site='w'/><jointpos joint='x'/></sensor></mujoco>");
    ctn_scene *const s = ctn_scene_load(file_path("main.xml"), &err);
    ck_assert_msg(s != 0, "%s", err.message);
    static const struct {
        const char *name;
        ctn_sensor_type type;
        int link;
    } expected[] = {{"acc", CTN_SENSE_ACCELEROMETER, 0},           {"gyro.1", CTN_SENSE_GYRO, 0},
                    {"jointpos.2", CTN_SENSE_JOINT_POSITION, 0},   {"actuatorfrc.3", CTN_SENSE_MOTOR_EFFORT, 0},
                    {"framepos.4", CTN_SENSE_POSITION, 0},         {"subtreecom.5", CTN_SENSE_COM, -1},
                    {"subtreelinvel.6", CTN_SENSE_COM_VELOCITY, 0}};
    ck_assert_int_eq(s->nsensor, (int)(sizeof expected / sizeof *expected));
    for (int k = 0; k < s->nsensor; k++) {
        ck_assert_str_eq(s->sensors[k].name, expected[k].name);
        ck_assert(s->sensors[k].type == expected[k].type && s->sensors[k].link == expected[k].link);
    }
    EXACT(s->sensors[0].point, 1, 0, -0.25);  // the link's frame is where its joint is
    EXACT(s->sensors[0].axes, 0, 1, 0, 0);
    EXACT(s->sensors[4].point, 0, 0, -0.5);
    ck_assert_double_eq(s->sensors[0].noise[2], 0.5);
    const char *const warnings = ctn_scene_warnings(s);
    ck_assert_msg(strstr(warnings, "ignored: <magnetometer>") &&
                      strstr(warnings, "ignored: <subtreeangmom>: its body has no joint") &&
                      strstr(warnings, "ignored: <gyro>: it is on the world") &&
                      strstr(warnings, "ignored: <jointpos>: there is no such joint") && strstr(warnings, "ignored: <site>"),
                  "%s", warnings);
    ctn_scene_free(s);
}
END_TEST

/// Principal axes of bodies: body_iquat of MuJoCo 4.0.0, which ends its turns at 1e-6.
START_TEST(principal_axes)
{
    static const struct {
        const char *body;
        double q[4];
    } bodies[] = {
        {"<inertial pos='0 0 0' quat='1 2 3 4' mass='1' diaginertia='1 2 2.5'/>",
         {0.18257419, 0.36514837, 0.54772256, 0.73029674}},
        {"<inertial pos='0 0 0' mass='1' fullinertia='1 2 2.5 .1 .2 .3'/>", {0.16614751, 0.73397173, 0.14137253, 0.64319072}},
        {"<inertial pos='0 0 0' mass='1' fullinertia='1 2 2.5 0 0 0'/>", {0, 0.70710678, 0, 0.70710678}},
        {"<geom type='box' size='.1 .2 .3' euler='10 20 30'/><geom size='.1' mass='0'/>",
         {0.94371436, 0.12767944, 0.14487813, 0.26853582}},
        {"<geom type='box' size='.1 .2 .3' euler='10 20 30'/><geom size='.1' pos='.3 .2 0'/>",
         {0.97322989, 0.03443802, 0.22125475, -0.05180682}},
        {"<geom type='capsule' size='.1' fromto='0 0 0 .1 .2 .3'/>", {0.31481445, 0.84894846, -0.42447423, 0}},
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "<mujoco><worldbody><body name='b'><freejoint/>%s</body></worldbody><sensor><framequat objtype='body' "
                 "objname='b'/></sensor></mujoco>",
                 bodies[k].body);
        ctn_scene *const s = read_mjcf(text);
        ck_assert_msg(s->nsensor == 1 && !ctn_scene_warning_count(s), "%s", ctn_scene_warnings(s));
        const double side = s->sensors[0].axes[0] * bodies[k].q[0] < 0 ? -1 : 1;
        for (int i = 0; i < 4; i++)
            ck_assert_msg(fabs(side * s->sensors[0].axes[i] - bodies[k].q[i]) < 1e-6, "%s: %g", text, s->sensors[0].axes[i]);
        ctn_scene_free(s);
    }
}
END_TEST

/// Sensors of touch in a scene with a ground: on sites that are balls.
START_TEST(touch)
{
    ctn_error err = {0};
    write_file(
        "part.xml",
        "<mujoco><default><default class='foot'><site size='0.03'/></default></default>\n<worldbody><body name='a' pos='0 0 "
        "1'><joint type='free'/>" BALL_GEOM "<site name='s' class='foot' pos='0 0 -0.1'/><site name='b' type='box' "
        "size='1 1 1'/></body></worldbody>\n<sensor><touch name='t' site='s'/><touch site='b'/></sensor></mujoco>");
    write_file("main.yaml", "catena: 1\nground: true\nmjcf: part.xml\n");
    ctn_scene *const s = ctn_scene_load(file_path("main.yaml"), &err);
    ck_assert_msg(s != 0, "%s", err.message);
    ck_assert(s->nsensor == 1 && s->sensors[0].type == CTN_SENSE_TOUCH && s->sensors[0].radius == 0.03);
    EXACT(s->sensors[0].point, 0, 0, -0.1);
    ck_assert_msg(strstr(ctn_scene_warnings(s), "ignored: <touch>: its site is no sphere"), "%s", ctn_scene_warnings(s));
    ctn_scene_free(s);
}
END_TEST

START_TEST(mistake_in_part)
{
    ctn_error err = {0};
    write_file("main.xml", WORLD("<include file='part.xml'/>"));
    write_file("part.xml", "<mujocoinclude>\n  <body><joint/><geom size='1 2 3 4'/></body>\n</mujocoinclude>");
    ck_assert_ptr_null(ctn_scene_load(file_path("main.xml"), &err));
    ck_assert_msg(has_error(err.message, file_path("part.xml"), 2, 23, "size: expected 3 numbers, found more", false), "%s",
                  err.message);
    write_file("part.xml", "<mujocoinclude>\n  <body><joint/></body>\n</mujocoinclude>");  // found by the reader of scenes
    ck_assert_ptr_null(ctn_scene_load(file_path("main.xml"), &err));
    ck_assert_msg(has_error(err.message, file_path("part.xml"), 2, 3, "needs mass", false), "%s", err.message);
    write_file("part.xml", "<mujocoinclude>\n  <include file='main.xml'/></mujocoinclude>");
    ck_assert_ptr_null(ctn_scene_load(file_path("main.xml"), &err));
    ck_assert_msg(has_error(err.message, file_path("part.xml"), 2, 12, "part of the model already", false), "%s", err.message);
}
END_TEST

START_TEST(part_of_a_scene)
{
    write_file("main.xml", "<mujoco><worldbody><body name='a'><joint/>" BALL_GEOM "</body></worldbody>"
                           "<sensor><framepos objtype='xbody' objname='a'/></sensor></mujoco>");
    write_file("main.yaml",
               "catena: 1\ninclude:\n  - {file: main.xml, as: left, position: [0, 1, 0]}\n  - {file: main.xml, as: right}\n");
    ctn_error err = {0};
    ctn_scene *const s = ctn_scene_load(file_path("main.yaml"), &err);
    ck_assert_msg(s != 0, "%s", err.message);
    ck_assert_int_eq(s->nlink, 2);
    ck_assert_str_eq(s->links[0].name, "left.a");
    EXACT(s->links[0].position, 0, 1, 0);
    ck_assert_int_eq(s->nsensor, 2);
    ck_assert_str_eq(s->sensors[1].name, "right.framepos.0");
    ck_assert_int_eq(s->sensors[1].link, 1);
    ctn_scene_free(s);
}
END_TEST

START_TEST(free_base)
{
    ctn_error err = {0};
    write_file("main.xml",
               WORLD("<geom size='1'/><body name='a' pos='1 2 3'>" BALL_GEOM "<body name='b'><joint/>" BALL_GEOM "</body></body>"
                     "</worldbody><keyframe><key qpos='1'/></keyframe><worldbody>"));
    write_file("main.yaml", "catena: 1\nurdf: {file: main.xml, base: free, position: [0, 0, 1]}\n");
    ctn_scene *const s = ctn_scene_load(file_path("main.yaml"), &err);
    ck_assert_msg(s != 0, "%s", err.message);
    ck_assert_int_eq(s->links[1].joint.type, CTN_FREE);
    EXACT(s->links[1].joint.q0, 1, 2, 4, 1, 0, 0, 0);
    ck_assert(has_error(ctn_scene_warnings(s), file_path("main.xml"), 3, 0, "<key>: not used", false));
    ctn_scene_free(s);
    write_file("main.xml", WORLD("<body name='a'><joint/>" BALL_GEOM "</body>"));
    ck_assert_ptr_null(ctn_scene_load(file_path("main.yaml"), &err));
    ck_assert_msg(has_error(err.message, file_path("main.xml"), 3, 1, "has a joint of its own", false), "%s", err.message);
}
END_TEST

#define LENGTH(list) (int)(sizeof(list) / sizeof *(list))

int main(void)
{
    Suite *const suite = suite_create("mjcf");
    TCase *const good = tcase_create("good"), *const bad = tcase_create("bad"), *const files = tcase_create("files");
    tcase_add_loop_test(good, as_mujoco, 0, LENGTH(models));
    tcase_add_test(good, sensors_as_mujoco);
    tcase_add_loop_test(good, as_scenes, 0, LENGTH(pairs));
    tcase_add_test(good, armatures);
    tcase_add_test(good, masses_of_geoms);
    tcase_add_test(good, geoms);
    tcase_add_test(good, joints);
    tcase_add_test(good, actuators);
    tcase_add_loop_test(good, laws_of_actuators, 0, LENGTH(laws));
    tcase_add_test(good, damping_ratios);
    tcase_add_test(good, defaults_at_the_top);
    tcase_add_test(good, damper);
    tcase_add_test(good, controls_of_the_key);
    tcase_add_test(good, thrusters);
    tcase_add_test(good, home);
    tcase_add_loop_test(good, friction_of_pairs, 0, LENGTH(touching));
    tcase_add_test(good, friction_by_turns);
    tcase_add_test(good, bits_of_pairs);
    tcase_add_test(good, equalities);
    tcase_add_test(good, couplings_and_tendons);
    tcase_add_test(good, plane_is_ground);
    tcase_add_test(good, obstacles);
    tcase_add_test(good, height_field);
    tcase_add_loop_test(bad, mistake, 0, LENGTH(mistakes));
    tcase_add_loop_test(bad, remark, 0, LENGTH(remarks));
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, sensors);
    tcase_add_test(files, touch);
    tcase_add_test(good, principal_axes);
    tcase_add_test(files, mistake_in_part);
    tcase_add_test(files, part_of_a_scene);
    tcase_add_test(files, free_base);
    suite_add_tcase(suite, good), suite_add_tcase(suite, bad), suite_add_tcase(suite, files);
    return run_suite(suite);
}
