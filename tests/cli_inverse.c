/// `catena inverse`: forces that take one scene through the motion of another, by its own steps, played back by a rollout; on the
/// ground; what does not fit is refused.
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARM(masses, method)                                                                                                      \
    "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], q0: 0.5}, mass: " masses                          \
    ", com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n"                                                                  \
    "  - {name: b, parent: a, position: [0, 0, -1], joint: {type: ball}, mass: 1, com: [0.1, 0, -0.5],\n"                        \
    "     inertia: [0.1, 0.1, 0.05, 0, 0, 0]}\nduration: 1\nintegrator: {method: " method ", dt: 0.02}\n"

/// Coordinates of the rows of a recording, [rows][5], which are beside each other from q.a on.
static double *coordinates(const char *path, int *rows)
{
    char *const text = slurp(path, NULL), *at = text;
    while (*at == '#') at = strchr(at, '\n') + 1;
    int column = 0;
    for (char *name = at; strncmp(name, "q.a", 3); name = strchr(name, ',') + 1) column++;
    double *q = NULL;
    for (*rows = 0, at = strchr(at, '\n') + 1; *at; ++*rows, at = strchr(at, '\n') + 1) {
        char *field = at;
        for (int k = 0; k < column; k++) field = strchr(field, ',') + 1;
        q = realloc(q, (size_t)(*rows + 1) * 5 * sizeof *q);
        for (int i = 0; i < 5; i++) q[*rows * 5 + i] = strtod(field, &field), field++;
    }
    free(text);
    return q;
}

static const char *const methods[] = {"radau", "collocation", "alpha", "rk4"};

START_TEST(played_back)
{
    enter_scratch();
    char text[1000];
    spit("light.yaml", ARM("1", "radau"));  // the motion is that of another arm, by another method
    snprintf(text, sizeof text, ARM("3", "%s"), methods[_i]);
    spit("heavy.yaml", text);
    outcome o = catena("run", "light.yaml", "--out", "motion.csv", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("inverse", "heavy.yaml", "--motion", "motion.csv", "--out", "forces.csv");
    ck_assert_msg(o.status == 0 && !*o.err && strstr(o.out, "forces.csv, 50 steps of 0.02 s"), "%s%s", o.out, o.err);
    outcome_free(&o);
    // played back in C: the same coordinates after every step
    ctn_error err;
    ctn_scene *const scene = ctn_scene_load("heavy.yaml", &err);
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.tolerance = 1e-13;
    ctn_batch *const batch = ctn_batch_create(m, &cfg, &err);
    int rows, steps = 0;
    double *const q = coordinates("motion.csv", &rows), tau[4], now[5], farthest = 0;
    char *const text_forces = slurp("forces.csv", NULL), *at = strchr(text_forces, '\n') + 1;
    ck_assert_msg(!strncmp(text_forces, "tau.a,tau.b.wx,tau.b.wy,tau.b.wz\n", 33), "%.60s", text_forces);
    for (; *at; steps++) {
        for (int i = 0; i < 4; i++) tau[i] = strtod(at, &at), at++;
        ck_assert_int_eq(ctn_batch_run(batch, &(ctn_run){.steps = 1, .force = tau}, NULL, &err), CTN_OK);
        ctn_batch_state(batch, now, NULL);
        const double sign = now[1] * q[(steps + 1) * 5 + 1] + now[2] * q[(steps + 1) * 5 + 2] + now[3] * q[(steps + 1) * 5 + 3] +
                                        now[4] * q[(steps + 1) * 5 + 4] <
                                    0
                                ? -1
                                : 1;
        for (int i = 0; i < 5; i++) farthest = fmax(farthest, fabs((i ? sign : 1) * now[i] - q[(steps + 1) * 5 + i]));
    }
    ck_assert_int_eq(steps, rows - 1);
    ck_assert_msg(farthest < 1e-7, "%s: %g away", methods[_i], farthest);
    free(q), free(text_forces);
    ctn_batch_free(batch), ctn_model_free(m), ctn_scene_free(scene);
    o = catena("rollout", "heavy.yaml", "--worlds", "1", "--controls", "forces.csv", "--out", "again.h5", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

START_TEST(refused)
{
    enter_scratch();
    spit("scene.yaml", ARM("1", "radau"));
    spit("one.csv", "q.a\n0.1\n");
    spit("euler.yaml", ARM("1", "euler"));
    spit("two.csv", "q.a\n0.5\n0.51\n");
    spit("slow.csv", "time,q.a\n0,0.5\n0.02,0.51\n0.06,0.52\n");
    spit("worlds.csv", "time,world,q.a\n0,0,0.5\n0,1,0.6\n0.02,0,0.51\n0.02,1,0.61\n");
    const struct {
        const char *scene, *motion, *says;
    } bad[] = {{"scene.yaml", "one.csv", "expected two states at least, a step apart, found 1"},
               {"scene.yaml", "nowhere.csv", "nowhere.csv"},
               {"scene.yaml", "slow.csv", "slow.csv: state 3 is 0.04 s after the one before it, and a step is 0.02 s"},
               {"scene.yaml", "worlds.csv", "worlds.csv: state 2 is 0 s after the one before it"},
               {"euler.yaml", "two.csv", "method: a step of euler leads where velocities say"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        outcome o = catena("inverse", bad[k].scene, "--motion", bad[k].motion, "--out", "f.csv");
        ck_assert_msg(o.status && strstr(o.err, bad[k].says), "%d: %s\nexpected: %s", o.status, o.err, bad[k].says);
        outcome_free(&o);
    }
    spit("rounded.csv", "time,q.a\n1,0.5\n1.02001,0.51\n1.04,0.52\n");
    outcome o = catena("inverse", "scene.yaml", "--motion", "rounded.csv", "--out", "f.csv");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("inverse", "scene.yaml", "--out", "f.csv");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--motion is missing"), "%s", o.err);
    outcome_free(&o);
    leave_scratch();
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli_inverse");
    TCase *const c = tcase_create("cli_inverse");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, played_back, 0, 4);
    tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
