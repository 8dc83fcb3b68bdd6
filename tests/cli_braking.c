/// What `catena run` and `catena rollout` warn of: runs whose method takes energy from the motion, and no others.
#include "tests/command.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Two links that whirl.
#define ARM                                                                                                                      \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: upper, parent: world, joint: {type: revolute, axis: [0, 0, 1]},\n"                                               \
    "     mass: 1, com: [0.25, 0, 0], inertia: [0.001, 0.02, 0.02, 0, 0, 0]}\n"                                                  \
    "  - {name: lower, parent: upper, position: [0.5, 0, 0], joint: {type: revolute, axis: [0, 0, 1]},\n"                        \
    "     mass: 1, com: [0.25, 0, 0], inertia: [0.001, 0.02, 0.02, 0, 0, 0]}\n"                                                  \
    "state: {q: [0, 1], v: [20, 0]}\nduration: 1\n"

#define ECCENTRIC                                                                                                                \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: base, parent: world, joint: {type: prismatic, axis: [1, 0, 0], stiffness: 1000, damping: 10}, mass: 2,\n"        \
    "     inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"                                                                               \
    "  - {name: wheel, parent: base, joint: {type: revolute, axis: [0, 0, 1]}, mass: 1, com: [0.05, 0, 0],\n"                    \
    "     inertia: [0.01, 0.01, 0.02, 0, 0, 0]}\n"                                                                               \
    "state: {v: [0, 30]}\nduration: 1\n"

/// A propeller of two blades; `inertia` about its axis, `more` of its joint.
#define PROPELLER(inertia, more)                                                                                                 \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: mast, parent: world, joint: {type: revolute, axis: [0, 1, 0], damping: 1}, mass: 1, com: [0, 0, 0.2],\n"         \
    "     inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n"                                                                               \
    "  - {name: blades, parent: mast, position: [0, 0, 0.3], joint: {type: revolute, axis: [0, 0, 1]" more "}, mass: 0.2,\n"     \
    "     inertia: " inertia "}\n"                                                                                               \
    "state: {v: [0, 60]}\nduration: 1\n"

/// A box that is thrown, turning slowly, and comes to rest.
#define BOX                                                                                                                      \
    "catena: 1\nground: true\ndefaults: {density: 500}\nlinks:\n"                                                                \
    "  - {name: box, position: [0, 0, 1], joint: {type: free, v0: [1, 0, 0, 0.5, 0, 0]},\n"                                      \
    "     shapes: [{type: box, size: [0.3, 0.2, 0.1]}]}\nduration: 2\n"

#define PENDULUM                                                                                                                 \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: rod, parent: world, joint: {type: revolute, axis: [0, 1, 0], damping: 0.5}, mass: 1, com: [0.5, 0, 0],\n"        \
    "     inertia: [0.001, 0.08, 0.08, 0, 0, 0]}\nduration: 5\n"

#define FALLING                                                                                                                  \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: stone, joint: {type: free}, mass: 1, inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\nduration: 2\n"

/// What it prints on standard error, to be freed.
static char *warned(const char *scene, const char *method, const char *dt)
{
    spit("scene.yaml", scene);
    outcome o = catena("run", "scene.yaml", "--method", method, "--dt", dt);
    ck_assert_msg(o.status == 0, "%s", o.err);
    char *const err = strdup(o.err);
    outcome_free(&o);
    return err;
}

static void names(const char *scene, const char *method, const char *dt, const char *who, const char *link, const char *remedy)
{
    char *const err = warned(scene, method, dt);
    ck_assert_msg(strstr(err, "warning: ") == err && strstr(err, who) && strstr(err, link) && strstr(err, remedy),
                  "%s in steps of %s s: %s", method, dt, err);
    ck_assert_msg(strchr(err, '\n')[1] == 0, "one line: %s", err);
    free(err);
}

static void silent(const char *scene, const char *method, const char *dt)
{
    char *const err = warned(scene, method, dt);
    ck_assert_msg(!*err, "%s in steps of %s s: %s", method, dt, err);
    free(err);
}

/// Large steps brake, with the joint and a remedy named; small ones, and methods that keep the energy, do not.
START_TEST(whirling)
{
    names(ARM, "radau", "0.02", "radau takes ", "'lower' turns, by up to 0.", "variational");
    names(ARM, "collocation", "0.02", "collocation takes ", "'upper' turns, by up to 0.", "variational");
    names(ARM, "alpha", "0.02", "alpha takes ", "'lower' turns, by up to 0.", "variational");
    names(ECCENTRIC, "radau", "0.02", "radau takes ", "'wheel' turns, by up to 0.6 rad a step", "radau with 3 stages");
    names(ECCENTRIC, "collocation", "0.02", "collocation takes ", "'wheel' turns, by up to 0.6 rad a step",
          "radau with 3 stages");
    static const char *const methods[] = {"radau", "alpha"};
    for (int k = 0; k < 2; k++) silent(ARM, methods[k], "0.0005"), silent(ECCENTRIC, methods[k], "0.0005");
    silent(ARM, "variational", "0.02");
    silent(ARM, "radau", "auto");
}
END_TEST

/// What it says helps.
START_TEST(remedies)
{
    char *const err = warned(ARM, "radau", "0.01");
    double dt = NAN;
    ck_assert_msg(strstr(err, "try dt ") && sscanf(strstr(err, "try dt "), "try dt %lf or less", &dt) == 1, "%s", err);
    char text[40];
    snprintf(text, sizeof text, "%g", dt);
    silent(ARM, "radau", text);
    ck_assert_ptr_nonnull(strstr(err, "radau with 3 stages"));
    outcome o = catena("run", "scene.yaml", "--dt", "0.01", "--stages", "3");
    ck_assert_str_eq(o.err, "");
    outcome_free(&o);
    free(err);
    names(PROPELLER("[0.0001, 0.002, 0.002, 0, 0, 0]", ""), "radau", "0.02", "radau takes ", "'blades' turns",
          "or its inertia as `armature` of its joint");
    silent(PROPELLER("[1e-4, 1e-4, 1e-6, 0, 0, 0]", ", armature: 0.002"), "radau", "0.02");
}
END_TEST

/// A linkage, of which only alpha brakes less than order 2.
START_TEST(loops)
{
    static const char linkage[] =
        "catena: 1\ndefaults: {joint: {type: revolute, axis: [0, -1, 0]}, density: 2000}\nlinks:\n"
        "  - {name: crank, joint: {q0: 2.2}, shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n"
        "  - {name: rod, parent: crank, position: [0.2, 0, 0], joint: {q0: -1.8792025567767237}, shapes: [{type: capsule, from: "
        "[0, "
        "0, 0], to: [0.5, 0, 0], radius: 0.015}]}\n"
        "  - {name: rocker, position: [0.5, 0, 0], joint: {q0: 1.992336156794888}, shapes: [{type: capsule, from: [0, 0, 0], to: "
        "[0.35, 0, 0], radius: 0.02}]}\n"
        "loops: [{type: hinge, a: rod, b: rocker, at: [0.5, 0, 0], at_b: [0.35, 0, 0], axis: [0, 1, 0]}]\nduration: 4\n";
    char *const err = warned(linkage, "collocation", "0.002");
    ck_assert_msg(strstr(err, "alpha") && !strstr(err, "radau") && !strstr(err, "variational"), "%s", err);
    free(err);
    silent(linkage, "alpha", "0.002");
}
END_TEST

/// Impacts, falls, dampers and rest are no braking.
START_TEST(healthy)
{
    static const char *const methods[] = {"collocation", "alpha", "radau"};
    for (int k = 0; k < 3; k++) silent(BOX, methods[k], "0.01"), silent(FALLING, methods[k], "0.02");
    silent(PENDULUM, "radau", "0.01"), silent(PENDULUM, "alpha", "0.01");
    static const char *const scenes[] = {"g1",     "go2",       "stand",         "landing", "spider",  "rover",   "quadruped",
                                         "wire",   "walker",    "gripper",       "crane",   "swimmer", "slope",   "quadrotor",
                                         "iiwa14", "arm-reach", "iiwa14-driven", "kite",    "snake",   "humanoid"};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        char path[100];
        snprintf(path, sizeof path, "scenes/%s.yaml", scenes[k]);
        outcome o = catena("run", source(path));
        ck_assert_msg(!strstr(o.err, "energy of motion"), "%s: %s", path, o.err);
        outcome_free(&o);
    }
}
END_TEST

/// A ragdoll that tumbles, where impacts take most, and a chain that cracks like a whip.
START_TEST(braked_scenes)
{
    outcome o = catena("run", source("scenes/ragdoll.yaml"));
    ck_assert_msg(strstr(o.err, "warning: collocation takes "), "%s", o.err);
    outcome_free(&o);
    o = catena("run", source("scenes/chain10.yaml"));
    ck_assert_msg(strstr(o.err, "most where 'rod.9' turns"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

START_TEST(where_it_is_said)
{
    spit("scene.yaml", ARM);
    outcome o = catena("run", "scene.yaml", "--dt", "0.02", "--quiet");
    ck_assert_str_eq(o.err, "");
    outcome_free(&o);
    cJSON *const j = catena_json(0, "run", "scene.yaml", "--dt", "0.02", "--worlds", "3", "--json", NULL);
    const cJSON *const list = member(j, "warnings");
    ck_assert_int_eq(cJSON_GetArraySize(list), 1);
    ck_assert_ptr_nonnull(strstr(list->child->valuestring, "radau takes "));
    cJSON_Delete(j);
}
END_TEST

/// A rollout tells of how many of its first worlds.
START_TEST(rollouts)
{
    spit("scene.yaml", ARM);
    outcome o = catena("rollout", "scene.yaml", "--dt", "0.02", "--worlds", "20", "--out", "x.h5");
    ck_assert_int_eq(o.status, 0);
    ck_assert_msg(strstr(o.err, "the method brakes 8 of the first 8 worlds made; of world 0: radau takes "), "%s", o.err);
    outcome_free(&o);
    o = catena("rollout", "scene.yaml", "--dt", "0.0005", "--worlds", "3", "--out", "x.h5");
    ck_assert_ptr_null(strstr(o.err, "brakes"));
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cli_braking");
    TCase *const tc = tcase_create("cli_braking");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, enter_scratch, leave_scratch);
    tcase_add_test(tc, whirling);
    tcase_add_test(tc, remedies);
    tcase_add_test(tc, loops);
    tcase_add_test(tc, healthy);
    tcase_add_test(tc, braked_scenes);
    tcase_add_test(tc, where_it_is_said);
    tcase_add_test(tc, rollouts);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
