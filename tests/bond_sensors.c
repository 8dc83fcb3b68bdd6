/// Sensors of loops, couplings and tendons: what hangs is held by its weight, what swings by that and what turns it, what is
/// thrown gains what they put in; lengths as MuJoCo has them; the same bits in every lane; tendons that are only measured.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <catena/catena.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

static ctn_batch *start(const ctn_model *m, double dt, int worlds, const char *engine)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-13, cfg.worlds = worlds, cfg.engine = engine;
    return batch_with(m, &cfg);
}

static void step(ctn_batch *batch, int steps)
{
    ctn_error err = {0};
    ck_assert_msg(ctn_batch_step(batch, steps, NULL, &err) == CTN_OK, "%s", err.message);
}

/// What the sensors of the first world say.
static void sense(ctn_batch *batch, double *values)
{
    ctn_error err = {0};
    ck_assert_msg(ctn_batch_sensors(batch, values, &err) == CTN_OK, "%s", err.message);
}

// ---- loops

/// A body whose middle is beside the point that holds it, at rest: its weight, and the moment of that about the point.
START_TEST(holds_what_hangs)
{
    static const struct {
        const char *loop;
        double torque;  // about y, over the weight: x of the middle
    } loops[] = {
        {"type: weld, at: [0.1, 0, 0.2]", 0.3},
        {"type: hinge, at: [0.1, 0, 0.2], axis: [0, 0, 1]", 0.3},
        {"type: hinge, at: [0.1, 0, 0.2], axis: [1, 0, 0], length: 0.7", 0.3},
        {"type: slider, at: [0.1, 0, 0.2], axis: [1, 0, 0]", 0.3},
        {"type: point, at: [0.4, 0, 0.2]", 0},
        {"type: distance, at_a: [0.4, 0, 0], at_b: [0.4, 0, 2]", 0},
        {"type: weld, at: [0.1, 0, 0.2], compliance: 1e-7", 0.3},
    };
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        char text[1024];
        double x[12];
        snprintf(
            text, sizeof text,
            "catena: 1\nlinks: [{name: a, joint: {type: free}, mass: 2, com: [0.4, 0, 0], inertia: [0.1, 0.2, 0.3, 0, 0, 0]}]\n"
            "loops: [{name: held, a: a, b: world, %s}]\n"
            "sensors: [{name: all, type: loop_wrench, loop: held}, {name: f, type: loop_force, loop: held}, "
            "{name: t, type: loop_torque, loop: held}]\n",
            loops[k].loop);
        ctn_model *const m = model_of(text);
        ctn_batch *const batch = start(m, 0.01, 1, NULL);
        sense(batch, x);
        for (int i = 0; i < 12; i++) ck_assert_msg(x[i] == 0, "%s: %g before the first step", loops[k].loop, x[i]);
        step(batch, 20);
        sense(batch, x);
        const double weight = 2 * 9.81, right[6] = {0, -loops[k].torque * weight, 0, 0, 0, weight};
        for (int i = 0; i < 6; i++)
            ck_assert_msg(fabs(x[i] - right[i]) < 1e-4, "%s: number %d is %.9g, expected %.9g", loops[k].loop, i, x[i], right[i]);
        for (int i = 0; i < 3; i++) ck_assert(x[6 + i] == x[3 + i] && x[9 + i] == x[i]);
        ctn_batch_free(batch), ctn_model_free(m);
    }
}
END_TEST

/// A bob on a string that swings: m (g cos + l w^2) along the string, but for what the step size makes of it.
START_TEST(holds_what_swings)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks: [{name: bob, position: [0.6, 0, -0.8], joint: {type: free}, mass: 2, inertia: [0.1, 0.1, 0.1, 0, 0, "
        "0]}]\nloops: [{name: string, type: distance, a: bob, b: world, at_a: [0, 0, 0], at_b: [0, 0, 0]}]\n"
        "sensors: [{name: pull, type: loop_force, loop: string}, {name: at, type: position, link: bob}, {name: v, type: "
        "velocity, link: bob}]\n");
    double off[2];
    for (int half = 0; half < 2; half++) {
        ctn_batch *const batch = start(m, half ? 5e-4 : 1e-3, 1, NULL);
        off[half] = 0;
        for (int k = 0; k < 10; k++) {
            double x[9];
            step(batch, half ? 200 : 100), sense(batch, x);
            const double speed2 = x[6] * x[6] + x[7] * x[7] + x[8] * x[8], pull = 2 * (-9.81 * x[5] + speed2);
            for (int i = 0; i < 3; i++) off[half] = worse(off[half], fabs(x[i] + pull * x[3 + i]));
        }
        ctn_batch_free(batch);
    }
    ck_assert_msg(off[0] < 0.1 && fabs(off[1] / off[0] - 0.5) < 0.05, "off by %g N, then by %g", off[0], off[1]);
    ctn_model_free(m);
}
END_TEST

#define BODY(name, at, mass)                                                                                                     \
    "  - {name: " name ", position: " at ", joint: {type: free}, mass: " mass                                                    \
    ", com: [0.05, -0.03, 0.02], inertia: [0.02, 0.03, 0.025, 0.001, 0, 0]}\n"
#define BODIES BODY("a", "[0, 0, 0]", "1") BODY("b", "[0.4, 0.1, 0]", "2")
#define MEASURED                                                                                                                 \
    "sensors:\n  - {name: all, type: loop_wrench, loop: pin}\n"                                                                  \
    "  - {name: twist, type: twist, link: a, point: [0.2, 0.05, 0.1]}\n"                                                         \
    "  - {name: ea, type: kinetic_energy, link: a}\n  - {name: pa, type: potential_energy, link: a}\n"
#define THROWN "state: {v: [0.6, -0.4, 1, 4, -3, 2, -0.2, 0.4, 0, 0, 0, 0]}\n"
#define JOINED(loop) "catena: 1\nlinks:\n" BODIES "loops: [{name: pin, a: a, b: b, " loop "}]\n" MEASURED THROWN

/// Two bodies, thrown: what one gains is what the loop puts on it, force and torque by the motion of its point, as steps become
/// small.
START_TEST(puts_in_what_is_gained)
{
    static const char *const scenes[] = {
        JOINED("type: point, at: [0.2, 0.05, 0.1]"),
        JOINED("type: hinge, at: [0.2, 0.05, 0.1], axis: [1, 2, -1]"),
        JOINED("type: weld, at: [0.2, 0.05, 0.1]"),
        JOINED("type: slider, at: [0.2, 0.05, 0.1], axis: [1, 0.5, 0.2]"),
        JOINED("type: distance, at_a: [0.2, 0.05, 0.1], at_b: [0.1, 0.1, 0.2]"),
    };
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        ctn_model *const m = model_of(scenes[k]);
        double off[2], gained = 0;
        for (int half = 0; half < 2; half++) {
            const double h = half ? 5e-4 : 1e-3;
            ctn_batch *const batch = start(m, h, 1, NULL);
            double x[14], before = 0, put = 0;
            gained = 0;
            step(batch, half ? 2 : 1);  // that takes what does not fit the loop out of the start
            sense(batch, x), before = x[12] + x[13];
            for (int n = 0; n < (half ? 400 : 200); n++) {
                step(batch, 1), sense(batch, x);
                for (int i = 0; i < 6; i++) put += h * x[i] * x[6 + i];
                gained = worse(gained, fabs(x[12] + x[13] - before));
            }
            off[half] = x[12] + x[13] - before - put;
            ctn_batch_free(batch);
        }
        ck_assert_msg(gained > 0.02, "%zu: only %g J go through the loop", k, gained);
        ck_assert_msg(fabs(2 * off[1] - off[0]) < 1e-2 * gained, "%zu: off by %g J of %g, then by %g", k, off[0], gained, off[1]);
        ctn_model_free(m);
    }
}
END_TEST

/// The equations' own forces have the same sign: on link a, of a coupling on the joint that follows.
START_TEST(forces_of_equations)
{
    ctn_model *const m = model_of(JOINED("type: point, at: [0.2, 0.05, 0.1]"));
    ctn_batch *const batch = start(m, 0.01, 1, NULL);
    ctn_error err;
    double x[14], force[3];
    step(batch, 3), sense(batch, x);
    ck_assert_int_eq(ctn_batch_equation_forces(batch, force, &err), CTN_OK);
    for (int i = 0; i < 3; i++) ck_assert_msg(fabs(force[i] - x[3 + i]) < 1e-12, "%d: %g, %g", i, force[i], x[3 + i]);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// Two weights on a gear: m1 a = -m1 g - r F, m2 r a = -m2 g + F.
START_TEST(couplings_force_what_follows)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks:\n  - {name: one, joint: {type: prismatic, axis: [0, 0, 1]}, mass: 3, inertia: [1, 1, 1, 0, 0, 0]}\n"
        "  - {name: two, joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [1, 1, 1, 0, 0, 0]}\n"
        "couplings: [{name: gear, joint: two, follows: one, ratio: -1.5}]\n"
        "sensors: [{name: f, type: coupling_force, coupling: gear}]\n");
    ctn_batch *const batch = start(m, 0.01, 1, NULL);
    ctn_error err;
    double x[1], y[1];
    step(batch, 20), sense(batch, x);
    const double r = -1.5, g = 9.81, a = (-3 * g - r * 2 * g) / (3 + r * r * 2), force = 2 * (r * a + g);
    ck_assert_msg(fabs(x[0] - force) < 1e-9 * force, "%.12g N, expected %.12g", x[0], force);
    ck_assert_int_eq(ctn_batch_equation_forces(batch, y, &err), CTN_OK);
    ck_assert(y[0] == x[0]);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

// ---- tendons

/// Over a pulley to a weight, slack and taut, with a damper and a motor behind a gear; a belt in its range and beyond.
START_TEST(lengths_speeds_and_forces)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks: [{name: a, position: [0, 0, -1], joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [0, 0, "
        "0, 0, 0, 0]}]\n"
        "tendons:\n  - {name: cord, path: [{link: world, at: [0.5, 0, 0]}, {link: a}, {pulley: 2}, {link: world}, "
        "{link: a}], stiffness: 300, damping: 7, rest: [0, 1.4]}\n"
        "  - {name: belt, joints: {a: 0.25}, range: [-0.01, 1]}\n  - {name: plain, path: [{link: a}, {link: world}]}\n"
        "motors: [{tendon: cord, type: position, kp: 40, kd: 3, target: 4.5, gear: 3}]\n"
        "sensors:\n  - {name: l, type: tendon_length, tendon: cord}\n  - {name: u, type: tendon_velocity, tendon: cord}\n"
        "  - {name: f, type: tendon_force, tendon: cord}\n  - {name: e, type: motor_effort, tendon: cord}\n"
        "  - {name: bl, type: tendon_length, tendon: belt}\n  - {name: bu, type: tendon_velocity, tendon: belt}\n"
        "  - {name: bf, type: tendon_force, tendon: belt}\n  - {name: pl, type: tendon_length, tendon: plain}\n"
        "  - {name: pf, type: tendon_force, tendon: plain}\n");
    ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", NULL);
    const double stop = 1 / m->bonds[1].compliance;
    bool slack[2] = {false}, stopped[2] = {false};
    for (double q = -0.5; q < 0.6; q += 0.1)
        for (double v = -2; v < 3; v += 2) {
            double x[9];
            const double z = 1 - q, c = hypot(z, 0.5), l = c + z / 2, u = -v * (z / c + 0.5);
            const double effort = 40 * (4.5 - 3 * l) - 3 * 3 * u;
            const double right[9] = {l,     u,     3 * effort - 300 * fmax(0, l - 1.4) - 7 * u, effort,
                                     q / 4, v / 4, q / 4 < -0.01 ? -stop * (q / 4 + 0.01) : 0,  z,
                                     0};
            slack[l < 1.4] = stopped[q / 4 < -0.01] = true;
            ctn_sensors(dyn, 1, &q, &v, NULL, x);
            for (int i = 0; i < 9; i++)
                ck_assert_msg(fabs(x[i] - right[i]) < 1e-12 * (1 + fabs(right[i])), "%s at %g, %g: %.15g, expected %.15g",
                              ctn_model_sensor(m, i)->name, q, v, x[i], right[i]);
        }
    ck_assert(slack[0] && slack[1] && stopped[0] && stopped[1]);
    ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

/// MuJoCo 4.0.0's sensordata at this key, and what has no place here.
START_TEST(as_mujoco_has_them)
{
    static const char text[] =
        "<mujoco><option gravity='0 0 -9.81'/><worldbody><site name='hook' pos='0.1 0.2 1.3'/><body name='a' pos='0 0 1'>"
        "<joint name='p' type='hinge' axis='0 1 0.3'/><geom type='box' size='0.2 0.05 0.04' pos='0.2 0 0' density='800'/>"
        "<site name='s' pos='0.15 0.06 0.05'/><body name='b' pos='0.4 0 0'><joint name='q' type='hinge' axis='0.2 1 0'/>"
        "<geom type='box' size='0.15 0.03 0.05' pos='0.15 0 0' density='700'/><site name='t' pos='0.05 0.04 0.08'/>"
        "<site name='u' pos='0.25 0 0.06'/></body></body></worldbody><tendon><spatial name='cord'><site site='hook'/>"
        "<site site='s'/><site site='t'/><pulley divisor='2'/><site site='hook'/><site site='u'/></spatial><fixed name='sum'>"
        "<joint joint='p' coef='0.3'/><joint joint='q' coef='-0.2'/></fixed><spatial name='drive' stiffness='20' "
        "springlength='0.3'><site site='hook'/><site site='u'/></spatial><fixed name='unused'><joint joint='p' coef='1'/></fixed>"
        "</tendon><actuator><position name='servo' tendon='drive' gear='3' kp='40' kv='5'/></actuator><sensor>"
        "<tendonpos name='l' tendon='cord' noise='0.1'/><tendonvel name='u' tendon='cord'/><tendonpos tendon='sum'/>"
        "<tendonvel tendon='sum'/><actuatorfrc name='f' actuator='servo'/><tendonpos tendon='gone'/></sensor><keyframe>"
        "<key name='home' qpos='0.3 -0.5' qvel='0.4 -0.7' ctrl='0.5'/></keyframe></mujoco>";
    static const double right[] = {0.8909780811383534, -0.04308030012172677, 0.19, 0.26, -52.634997930118246};
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "arm.xml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = model_of_scene(scene);
    double q[2], v[2], x[5];
    const char *const told = ctn_scene_warnings(scene);
    ck_assert_msg(strstr(told, "<tendonpos>: there is no such tendon") && strstr(told, "no actuator and no sensor"), "%s", told);
    ck_assert_int_eq(ctn_model_sensor_numbers(m), 5);
    ck_assert(ctn_model_sensor(m, 0)->noise[0] == 0.1 && !strcmp(ctn_model_sensor(m, 2)->bond, "sum"));
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    ctn_model_initial_state(m, q, v);
    ctn_sensors(dyn, 1, q, v, NULL, x);
    for (int i = 0; i < 5; i++)
        ck_assert_msg(fabs(x[i] - right[i]) < 1e-12 * 53, "%d: %.15g, MuJoCo has %.15g", i, x[i], right[i]);
    ctn_dynamics_free(dyn), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

#define ARM                                                                                                                      \
    "catena: 1\nlinks:\n  - {name: upper, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.2], inertia: "       \
    "[0.02, 0.02, 0, 0, 0, 0]}\n  - {name: lower, parent: upper, position: [0, 0, -0.4], joint: {type: revolute, axis: [0, 1, "  \
    "0]}, mass: 1, com: [0, 0, -0.2], inertia: [0.02, 0.02, 0, 0, 0, 0]}\n"

/// A tendon that does nothing but be measured changes no bit of what any method makes, along the links, too; without a sensor it is
/// refused.
START_TEST(only_measured)
{
    static const char tendon[] =
        ARM "tendons: [{name: t, path: [{link: world, at: [0.3, 0, 0]}, {link: lower, at: [0, 0, -0.3]}]}]\n";
    char text[2048];
    snprintf(text, sizeof text, "%sstate: {q: [1, -0.5]}\nsensors: [{name: l, type: tendon_length, tendon: t}]\n", tendon);
    ctn_model *const with = model_of(text), *const without = model_of(ARM "state: {q: [1, -0.5]}\n");
    ck_assert_int_eq(with->nbond, 0);
    static const ctn_method methods[] = {CTN_RK4, CTN_VARIATIONAL, CTN_RADAU, CTN_COLLOCATION};
    for (size_t k = 0; k < 2 * sizeof methods / sizeof *methods; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = methods[k / 2], cfg.order = 2, cfg.dt = 0.005, cfg.parallel = k % 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_AUTO;
        ctn_batch *const a = batch_with(with, &cfg), *const b = batch_with(without, &cfg);
        double q[2], v[2], x[2], y[2], l;
        step(a, 20), step(b, 20);
        ctn_batch_state(a, q, v), ctn_batch_state(b, x, y), sense(a, &l);
        ck_assert(!memcmp(q, x, sizeof q) && !memcmp(v, y, sizeof v));
        const double s = q[0] + q[1], right = hypot(-0.4 * sin(q[0]) - 0.3 * sin(s) - 0.3, -0.4 * cos(q[0]) - 0.3 * cos(s));
        ck_assert_msg(fabs(l - right) < 1e-14, "%zu: %.15g, expected %.15g", k, l, right);
        ctn_batch_free(a), ctn_batch_free(b);
    }
    ctn_error err = {0};
    ck_assert(ctn_scene_parse(tendon, strlen(tendon), "t.yaml", &err) == NULL);
    ck_assert_msg(strstr(err.message, "tendons[0].stiffness: missing") != NULL, "%s", err.message);
    ctn_model_free(with), ctn_model_free(without);
}
END_TEST

// ---- lanes

/// All of them in worlds that move each on their own, alone by one engine and side by side by every other: the same bits; and after
/// a saved state is taken up.
START_TEST(same_bits)
{
    enum { WORLDS = 5 };
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    char text[4096];
    snprintf(
        text, sizeof text,
        "%s  - {name: rod, position: [0.4, 0, 0], joint: {type: free}, mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.02, 0, "
        "0, 0]}\n"
        "  - {name: slide, position: [1, 0, 0], joint: {type: prismatic, axis: [1, 0, 0]}, mass: 2, inertia: [0.1, 0.1, 0.1, 0, "
        "0, 0]}\n"
        "loops: [{name: w, type: hinge, a: rod, b: slide, at: [0.6, 0, 0], axis: [0, 1, 0]}]\n"
        "couplings: [{name: c, joint: lower, follows: upper, ratio: -0.5}]\n"
        "tendons: [{name: t, path: [{link: upper}, {link: lower, at: [0, 0, -0.3]}, {link: rod}], stiffness: 30, damping: 1}]\n"
        "motors: [{tendon: t, type: torque, target: -3}]\nsensors:\n  - {name: w, type: loop_wrench, loop: w}\n"
        "  - {name: c, type: coupling_force, coupling: c}\n  - {name: l, type: tendon_length, tendon: t}\n"
        "  - {name: u, type: tendon_velocity, tendon: t, noise: 0.01}\n  - {name: f, type: tendon_force, tendon: t, delay: "
        "0.02}\n"
        "  - {name: e, type: motor_effort, tendon: t}\n",
        ARM);
    ctn_model *const m = model_of(text);
    const int n = ctn_model_sensor_numbers(m), nq = m->nq, nv = m->nv;
    double q[MOST], v[MOST], expected[MOST], found[MOST];
    ctn_error err = {0};
    ck_assert_int_eq(n, 11);
    for (int w = 0; w < WORLDS; w++) {
        ctn_model_initial_state(m, q + w * nq, v + w * nv);
        v[w * nv] = 0.3 * w, v[w * nv + 1] = -0.15 * w;
    }
    for (int w = 0; w < WORLDS; w++) {
        ctn_batch *const one = start(m, 0.01, 1, "scalar");
        ck_assert_int_eq(ctn_batch_set_state(one, q + w * nq, v + w * nv, 0, &err), CTN_OK);
        ctn_batch_number_worlds(one, 7, w);
        step(one, 10), sense(one, expected + w * n);
        const size_t size = ctn_batch_saved_size(one);
        void *const saved = malloc(size);
        ctn_batch_save(one, saved);
        ctn_batch *const other = start(m, 0.01, 1, "scalar");
        ck_assert_msg(ctn_batch_restore(other, saved, size, &err) == CTN_OK, "%s", err.message);
        sense(other, found);
        ck_assert(!memcmp(found, expected + w * n, (size_t)n * sizeof *found));
        for (int i = 0; i < n; i++)
            ck_assert_msg(expected[w * n + i] != 0 || (i >= 0 && i < 5), "world %d: number %d is 0", w, i);
        free(saved), ctn_batch_free(one), ctn_batch_free(other);
    }
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        if (!engine_find(engines[e], WORLDS, NULL)) continue;
        ctn_batch *const all = start(m, 0.01, WORLDS, engines[e]);
        ck_assert_int_eq(ctn_batch_set_state(all, q, v, 0, &err), CTN_OK);
        ctn_batch_number_worlds(all, 7, 0);
        step(all, 10), sense(all, found);
        ck_assert_msg(!memcmp(found, expected, (size_t)(WORLDS * n) * sizeof *found), "other bits by %s", engines[e]);
        ctn_batch_free(all);
    }
    ctn_model_free(m);
}
END_TEST

// ---- what is said about them

START_TEST(bad_sensors)
{
    static const char scene[] = ARM "loops: [{name: pin, type: point, a: lower, b: world, at: [0, 0, -0.4]}]\n"
                                    "couplings: [{name: gear, joint: lower, follows: upper}]\n"
                                    "tendons: [{name: cord, joints: {upper: 0.1}, stiffness: 1}]\nsensors: [%s]\n";
    static const struct {
        const char *sensor, *message;
    } bad[] = {
        {"{name: s, type: loop_force}", "sensors[0].loop: missing; it is the name of one of `loops`"},
        {"{name: s, type: loop_force, loop: cord}", "sensors[0].loop: no loop is called 'cord'; `loops` have a `name`"},
        {"{name: s, type: coupling_force, coupling: pin}", "no coupling is called 'pin'"},
        {"{name: s, type: tendon_force, tendon: gear}", "no tendon is called 'gear'"},
        {"{name: s, type: tendon_force, tendon: cord, link: upper}",
         "sensors[0].link: a sensor of the type tendon_force has none"},
        {"{name: s, type: pose, link: upper, tendon: cord}", "sensors[0].tendon: a sensor of the type pose has none"},
        {"{name: s, type: motor_effort, tendon: cord}",
         "'cord' has no motor; give it one in `motors`, or measure its tendon_force"},
        {"{name: s, type: motor_effort, tendon: cord, joint: upper}", "sensors[0].joint: stands beside `tendon`"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[2048];
        ctn_error err = {0};
        snprintf(text, sizeof text, scene, bad[k].sensor);
        ck_assert(ctn_scene_parse(text, strlen(text), "s.yaml", &err) == NULL);
        ck_assert_msg(strstr(err.message, bad[k].message) != NULL, "%s: %s", bad[k].sensor, err.message);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("bond_sensors");
    TCase *const all = tcase_create("all");
    tcase_add_test(all, holds_what_hangs);
    tcase_add_test(all, holds_what_swings);
    tcase_add_test(all, puts_in_what_is_gained);
    tcase_add_test(all, forces_of_equations);
    tcase_add_test(all, couplings_force_what_follows);
    tcase_add_test(all, lengths_speeds_and_forces);
    tcase_add_test(all, as_mujoco_has_them);
    tcase_add_test(all, only_measured);
    tcase_add_test(all, same_bits);
    tcase_add_test(all, bad_sensors);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
