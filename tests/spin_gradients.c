/// Derivatives of steps of position-based methods in which bodies spin, and are seen from frames that turn with them
/// (integrators/turning_frame.h): every Jacobian and gradient against differences of the steps themselves.
#include "tests/random_scene.h"
#include "tests/step_differences.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tested methods[] = {{CTN_COLLOCATION, 2, {0.03, 0.02}}, {CTN_ALPHA, 0, {0.03, 0.02}},
                                 {CTN_RADAU, 2, {0.02, 0.01}},       {CTN_RADAU, 3, {0.02, 0.01}},
                                 {CTN_RADAU, 4, {0.02, 0.01}},       {CTN_COLLOCATION, 4, {0.01, 0.004}}};
enum { METHODS = sizeof methods / sizeof *methods };

/// Links that spin, by the kind of their frames.
static const char *const scenes[] = {
    // wheels whose axes stand
    "  - {name: w, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1.5, com: [0, 0.1, 0], inertia: [0.01, 0.02, 0.01, 0, 0, 0]}\n"
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.2, 0, 0.1], inertia: [0.01, 0.03, 0.02, 0, 0.001, "
    "0]}\n"
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: revolute, axis: [0, 1, 0], damping: 0.01}, mass: 0.5,\n"
    "     inertia: [0.002, 0.004, 0.002, 0, 0, 0]}\n"
    "  - {name: c, parent: b, position: [0, 0.1, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.2, com: [0.1, 0, 0],\n"
    "     inertia: [0.001, 0.001, 0.001, 0, 0, 0]}\n",
    // wheels whose axes turn
    "  - {name: a, joint: {type: revolute, axis: [0, 0, 1]}, mass: 0.3, inertia: [0.01, 0.01, 0.02, 0, 0, 0]}\n"
    "  - {name: b, parent: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.4, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.02, "
    "0, 0, 0]}\n"
    "  - {name: c, parent: b, position: [0.2, 0, 0], joint: {type: revolute, axis: [1, 0, 0], armature: 0.001}, mass: 1,\n"
    "     com: [0.05, 0, 0], inertia: [0.01, 0.006, 0.006, 0, 0, 0]}\n",
    "  - {name: a, joint: free, mass: 3, com: [0.02, 0, 0.05], inertia: [0.05, 0.1, 0.12, 0, 0, 0]}\n"
    "  - {name: b, parent: a, position: [0.2, 0.2, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.5, inertia: [0.003, "
    "0.006, 0.003, 0, 0, 0]}\n"
    "  - {name: c, parent: a, position: [-0.2, 0.2, 0], joint: {type: revolute, axis: [0, 1, 1]}, mass: 0.5, inertia: [0.003, "
    "0.0045, 0.0045, 0, 0, 0.0015]}\n",
    // on a ball joint of the world
    "  - {name: a, joint: ball, mass: 1.5, com: [0, 0, 0.06], inertia: [0.02, 0.02, 0.03, 0, 0, 0]}\n",
    // balls
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.2, 0, 0], inertia: [0.01, 0.03, 0.02, 0, 0, 0]}\n"
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: {type: ball, damping: 0.002}, mass: 0.5, inertia: [0.02, 0.02, 0.02, "
    "0, 0, 0]}\n"
    "  - {name: c, joint: ball, mass: 0.7, inertia: [0.03, 0.03, 0.03, 0, 0, 0]}\n"
    "  - {name: d, joint: free, mass: 0.7, inertia: [0.03, 0.03, 0.03, 0, 0, 0]}\n",
    // tops
    "  - {name: a, joint: free, mass: 1.2, com: [0.03, 0.05, -0.02], inertia: [0.03, 0.06, 0.075, 0, 0.003, 0]}\n",
    ("  - {name: a, joint: ball, mass: 0.8, com: [0.03, 0.05, -0.1], inertia: [0.03, 0.036, 0.018, 0.001, 0, 0]}\n"
     "  - {name: b, joint: free, mass: 0.5, inertia: [0.02, 0.02, 0.03, 0, 0, 0]}\n"),
};
enum { SCENES = sizeof scenes / sizeof *scenes };

/// What acts on them besides: of `which`, torques of motors, springs, forces and drag.
static ctn_model *spinning(int scene, int which)
{
    static const char *const acts[] = {
        "",
        "springs:\n  - {link: a, point: [0.1, 0.05, 0], anchor: [0.3, 0, 0.5], stiffness: 20, damping: 0.5}\n",
        "forces:\n  - {link: a, axes: link, point: [0.1, 0, 0.05], force: [1, -2, 0.5], torque: [0.1, 0.05, -0.1]}\n"
        "  - {link: a, point: [0, 0.1, 0.05], force: [1, 0.5, 2], torque: [-0.1, 0.05, 0.1]}\n",
        "springs:\n  - {link: b, point: [0.1, 0.05, 0], anchor: [0.3, 0, 0.5], stiffness: 20, damping: 0.5}\n"
        "forces:\n  - {link: b, axes: link, point: [0.1, 0, 0.05], force: [1, -2, 0.5], torque: [0.1, 0.05, -0.1]}\n"
        "  - {link: b, point: [0, 0.1, 0.05], force: [1, 0.5, 2], torque: [-0.1, 0.05, 0.1]}\n",
    };
    if (which == 3 && !strstr(scenes[scene], "name: b")) which = 2;
    char text[4000];
    snprintf(text, sizeof text, "catena: 1\nlinks:\n%s%s", scenes[scene], acts[which]);
    return model_of(text);
}

/// A fixture of `steps` whose bodies spin by some tenths of a radian a step.
static fixture open_spinning(int scene, int which, tested t, double dt, int steps, uint64_t seed)
{
    fixture f = open_model(spinning(scene, which), config_of(t, dt), steps, seed);
    for (size_t k = 0; k < f.nv; k++) f.v[k] *= 6;
    for (size_t k = 0; k < (size_t)steps * f.nv; k++) f.tau[k] *= 0.02;
    return f;
}

/// A and B of a step.
START_TEST(spinning_steps)
{
    const tested t = methods[_i / SCENES];
    const int scene = _i % SCENES, loads = t.number == 4 && t.method == CTN_COLLOCATION ? 1 : 4;
    for (int which = 0; which < loads; which++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            fixture f = open_spinning(scene, which, t, t.dt[0], 2, seed);
            ck_assert(check_step(&f, t, seed, seed % 2));
            close_fixture(&f);
        }
}
END_TEST

/// Gradients of runs.
START_TEST(gradients_of_spinning_runs)
{
    const tested t = methods[_i / SCENES];
    const int scene = _i % SCENES, which = t.number == 4 && t.method == CTN_COLLOCATION ? 0 : _i % 4;
    fixture f = open_spinning(scene, which, t, t.dt[1], 8, (uint64_t)_i + 1);
    ck_assert_int_ge(check_gradient(&f, (uint64_t)_i + 1, 1e-7, 1e-4), 5);
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spin_gradients");
    TCase *t = tcase_create("spin_gradients");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, spinning_steps, 0, METHODS * SCENES);
    tcase_add_loop_test(t, gradients_of_spinning_runs, 0, METHODS * SCENES);
    suite_add_tcase(s, t);
    return run_suite(s);
}
