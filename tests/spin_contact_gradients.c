/// Gradients of runs in which bodies that spin touch (integrators/turning_frame.h), against differences of the runs themselves: balls and
/// loose bodies that roll, and vehicles whose wheels have round points, on a slope and over obstacles.
#include "tests/contact_world.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define WHEEL(name, x, y)                                                                                                        \
    "  - {name: " name ", parent: body, position: [" x ", " y ", 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.8,\n"     \
    "     inertia: [0.003, 0.004, 0.003, 0, 0, 0], shapes: [{type: sphere, radius: 0.1}]}\n"

static const struct {
    const char *links;
    double v[6];  // of the first link
    double spin;  // of all others
} scenes[] = {
    {"  - {name: body, position: [0, 0, 0.101], joint: free, density: 500, shapes: [{type: sphere, radius: 0.1}]}\n",
     {1, 0.2, 0, 0, 9, 3},
     0},
    {"  - {name: body, position: [0, 0, 0.101], joint: free, mass: 2, com: [0.01, 0, 0.02], inertia: [0.01, 0.014, 0.016, 0, 0, "
     "0],\n"
     "     shapes: [{type: sphere, radius: 0.1}]}\n",
     {1, 0.2, 0, 2, 9, 3},
     0},
    {"  - {name: body, position: [0, 0, 0.101], joint: free, mass: 10, com: [0.02, 0, 0.03], inertia: [0.1, 0.3, 0.35, 0, 0, "
     "0]}\n" WHEEL("a", "0.25", "0.2") WHEEL("b", "0.25", "-0.2") WHEEL("c", "-0.25", "0.2") WHEEL("d", "-0.25", "-0.2"),
     {0.8, 0, 0, 0, 0, 0.3},
     9},
    {"  - {name: body, position: [0, 0, 0.101], joint: free, mass: 5, com: [0.02, 0, 0.01], inertia: [0.1, 0.3, 0.35, 0, 0, "
     "0]}\n" WHEEL("a", "0.25", "0.2")
         WHEEL("b", "0.25", "-0.2") "  - {name: caster, parent: body, position: [-0.25, 0, 0], joint: ball, mass: 0.8, inertia: "
                                    "[0.003, 0.003, 0.003, 0, 0, 0],\n"
                                    "     shapes: [{type: sphere, radius: 0.1}]}\n",
     {0.8, 0, 0, 0, 0, 0.3},
     9},
};
enum { SCENES = sizeof scenes / sizeof *scenes, GROUNDS = 2, METHODS = 4 };

static contact_world open_rolling(int scene, bool obstacles, int method)
{
    static const char *const grounds[GROUNDS] = {
        "ground: {normal: [0.1, 0.05, 1]}\n",
        "ground: true\nobstacles:\n  - {type: capsule, from: [0.3, -1, -0.05], to: [0.3, 1, -0.05], radius: 0.07}\n"
        "  - {type: sphere, center: [-0.2, 0.25, -0.3], radius: 0.32}\n",
    };
    char text[4000];
    snprintf(text, sizeof text, "catena: 1\n%scontact: {friction: 0.5, depth: 0.004}\nlinks:\n%s", grounds[obstacles],
             scenes[scene].links);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method == 0 ? CTN_COLLOCATION : method == 1 ? CTN_ALPHA : CTN_RADAU, cfg.tolerance = 1e-13, cfg.dt = 0.01;
    if (method == 0) cfg.order = 2;
    if (method > 1) cfg.stages = method;
    contact_world f = open_world(model_of(text), cfg, 40);
    memset(f.q, 0, f.nq * sizeof *f.q), memset(f.v, 0, f.nv * sizeof *f.v);
    f.q[2] = 0.101, f.q[3] = 1;
    for (int l = 0; l < ctn_model_nlink(f.m); l++) {
        const ctn_link *k = ctn_model_link(f.m, l);
        if (k->joint == CTN_BALL) memcpy(f.q + k->qadr, (double[4]){0.8, 0, 0.6, 0}, 4 * sizeof *f.q);
        else if (l) f.q[k->qadr] = 0.3 * l;
        f.v[k->vadr + (k->joint == CTN_BALL)] = scenes[scene].spin;
    }
    memcpy(f.v, scenes[scene].v, sizeof scenes[scene].v);
    return f;
}

START_TEST(rolling_runs)
{
    const int scene = _i % SCENES, ground = _i / SCENES % GROUNDS, method = _i / SCENES / GROUNDS;
    comparison t = {0};
    ctn_error err = {0};
    made_step made[RUN];
    contact_world f = open_rolling(scene, ground, method);
    ck_assert_int_eq(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err), CTN_OK);
    for (int step = 3; step < 40; step += 9) check_run_from(&f, step, (uint64_t)(_i + step), 4, 3, &t, made);
    printf("method %d, ground %d, scene %d: %ld compared, worst %.3g; %ld at kinks\n", method, ground, scene, t.compared, t.worst,
           t.kinks);
    ck_assert_int_gt(t.compared, 0);
    close_world(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spin_contact_gradients");
    TCase *t = tcase_create("spin_contact_gradients");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rolling_runs, 0, SCENES * GROUNDS * METHODS);
    suite_add_tcase(s, t);
    return run_suite(s);
}
