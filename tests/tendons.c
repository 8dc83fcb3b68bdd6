/// Tendons along paths: lengths, moment arms and accelerations as MuJoCo has them; what hangs on pulleys in closed form; cords that
/// are slack; the books of motors that pull.
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

static ctn_batch *start(const ctn_model *m, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-13;
    return batch_with(m, &cfg);
}

static ctn_step_stats step(ctn_batch *batch, int steps, double *q, double *v)
{
    ctn_error err = {0};
    ctn_step_stats stats;
    ck_assert_int_eq(ctn_batch_step(batch, steps, &stats, &err), CTN_OK);
    ctn_batch_state(batch, q, v);
    return stats;
}

// ---- beside MuJoCo 4.0.0: mj_forward() at this key

#define ARM(rest, sling, q)                                                                                                      \
    "<mujoco><option gravity='0 0 -9.81'/><worldbody><site name='hook' pos='0.1 0.2 1.3'/>"                                      \
    "<body name='a' pos='0 0 1'><joint name='p' type='hinge' axis='0 1 0.3'/><geom type='box' size='0.2 0.05 0.04' "             \
    "pos='0.2 0 0' density='800'/><site name='s' pos='0.15 0.06 0.05'/>"                                                         \
    "<body name='b' pos='0.4 0 0'><joint name='q' type='hinge' axis='0.2 1 0'/><geom type='box' size='0.15 0.03 0.05' "          \
    "pos='0.15 0 0' density='700'/><site name='t' pos='0.05 0.04 0.08'/><site name='u' pos='0.25 0 0.06'/></body></body>"        \
    "<body name='c' pos='0.5 0.4 0.8'><freejoint/><geom type='box' size='0.1 0.08 0.06' density='500'/>"                         \
    "<site name='w' pos='0.1 0.02 0.06'/></body></worldbody><tendon><spatial name='cord' stiffness='150' damping='6' " rest      \
    "><site site='hook'/><site site='s'/><site site='t'/><site site='u'/></spatial><spatial name='sling' stiffness='90' " sling  \
    "><site site='u'/><site site='w'/><pulley divisor='2'/><site site='hook'/><site site='w'/></spatial>"                        \
    "<spatial name='drive'><site site='hook'/><site site='u'/></spatial></tendon><actuator><motor tendon='drive' gear='3'/>"     \
    "<position tendon='cord' kp='40' kv='5'/></actuator><keyframe><key name='home' qpos='" q                                     \
    " 0.5 0.4 0.8 0.9 0.2 -0.3 0.1' qvel='0.4 -0.7 0.1 -0.2 0.3 0.5 -0.4 0.6' ctrl='-5 0.3'/></keyframe></mujoco>"

static ctn_model *model_of_mjcf(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "arm.xml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = model_of_scene(scene);
    ctn_scene_free(scene);
    return m;
}

static const double lengths[3] = {0.7899703226164783, 0.662076845695633, 0.611893547682134};
static const double arms[3][2] = {{0.1126555509043449, 0.0881927534650528},
                                  {-0.3131653290428448, -0.0118155139746807},
                                  {0.2340083132887938, 0.2091693020448188}};
static const double accelerations[8] = {73.18762090541107, -369.93664419312336, -0.43837464100813334, -3.2241963371377463,
                                        -8.19695581660014, 57.29945675564596,   -56.47687034220619,   -42.46844311236364};

/// Lengths at rest that nothing is said of are those at the start.
START_TEST(lengths_and_arms)
{
    static const char *const moved[] = {ARM("", "", "0.3 -0.5"), ARM("", "", "0.3001 -0.5"), ARM("", "", "0.2999 -0.5"),
                                        ARM("", "", "0.3 -0.4999"), ARM("", "", "0.3 -0.5001")};
    double found[5][3];
    for (int k = 0; k < 5; k++) {
        ctn_model *const m = model_of_mjcf(moved[k]);
        ck_assert_int_eq(m->nbond, 3);
        for (int i = 0; i < 3; i++) found[k][i] = m->bonds[i].rest[0];
        ctn_model_free(m);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(fabs(found[0][i] - lengths[i]) < 1e-14, "%d: %.17g", i, found[0][i]);
        for (int j = 0; j < 2; j++) {
            const double arm = (found[1 + 2 * j][i] - found[2 + 2 * j][i]) / 2e-4;
            ck_assert_msg(fabs(arm - arms[i][j]) < 1e-8, "%d, %d: %.12g", i, j, arm);
        }
    }
}
END_TEST

/// Of two step sizes, taken on to none.
START_TEST(accelerates_as_mujoco)
{
    ctn_model *const m = model_of_mjcf(ARM("springlength='0.5'", "springlength='0.2 0.6'", "0.3 -0.5"));
    ck_assert(m->nmotor == 2 && m->motors[0].tendon == 3 && m->motors[1].tendon == 1 && m->motors[0].gear == 3);
    ck_assert(m->bonds[1].rest[0] == 0.2 && m->bonds[1].rest[1] == 0.6 && m->bonds[1].points == 4 &&
              m->bond_points[5].share == 0);
    double a[2][8], q[9], v[8], v0[8];
    for (int k = 0; k < 2; k++) {
        const double h = k ? 1e-5 : 2e-5;
        ctn_batch *const batch = start(m, h);
        ctn_model_initial_state(m, q, v0);
        step(batch, 1, q, v);
        for (int i = 0; i < 8; i++) a[k][i] = (v[i] - v0[i]) / h;
        ctn_batch_free(batch);
    }
    for (int i = 0; i < 8; i++) {
        const double found = 2 * a[1][i] - a[0][i];
        ck_assert_msg(fabs(found - accelerations[i]) < 1e-6 * 370, "%d: %.12g, MuJoCo has %.12g", i, found, accelerations[i]);
    }
    ctn_model_free(m);
}
END_TEST

// ---- in closed form

#define WEIGHT(z)                                                                                                                \
    "catena: 1\nlinks: [{name: a, position: [0, 0, " z                                                                           \
    "], joint: {type: prismatic, axis: [0, 0, 1]}, mass: 2, inertia: [0, 0, 0, 0, 0, 0]}]\n"

/// On a block and tackle: two branches that go down to the weight and back, each counted by a third. It hangs where 4/3 of the force
/// carry it.
START_TEST(hangs_on_pulleys)
{
    ctn_model *const m = model_of(
        WEIGHT("-1") "tendons: [{path: [{link: world}, {link: a}, {link: world}, {pulley: 3}, {link: world}, {link: a}, "
                     "{link: world}, {pulley: 1.5}, {link: world, at: [1, 0, 0]}, {link: world}], stiffness: 300, damping: 30, "
                     "rest: 2}]\n");
    // l = 2 z + 2 z / 3 + 1 / 1.5 with z below
    const double s = 2 + 2. / 3, force = 2 * 9.81 / s, z = (2 + force / 300 - 1 / 1.5) / s;
    double q[1], v[1];
    ctn_batch *const batch = start(m, 0.02);
    step(batch, 2000, q, v);
    ck_assert_msg(fabs(q[0] - (1 - z)) < 1e-10 && fabs(v[0]) < 1e-10, "hangs at %.12g, expected %.12g", q[0], 1 - z);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// A cord that is slack lets a weight fall as it does without, and holds it once it is taut; it never pushes.
START_TEST(slack_cords_do_nothing)
{
    ctn_model *const with = model_of(WEIGHT(
                         "-1") "tendons: [{path: [{link: world}, {link: a}], stiffness: 1e4, damping: 0, rest: [0, 1.2]}]\n"),
                     *const without = model_of(WEIGHT("-1"));
    ctn_batch *const held = start(with, 0.005), *const free_ = start(without, 0.005);
    double q[1], v[1], x[1], w[1], lowest = 0, energy = 0;
    for (int k = 0; k < 400; k++) {
        const ctn_step_stats stats = step(held, 1, q, v);
        if (k) ck_assert_msg(stats.energy_after <= energy + 1e-9, "step %d: %g from %g", k, stats.energy_after, energy);
        energy = stats.energy_after;
        lowest = fmin(lowest, q[0]);
        if (k >= 39) continue;  // 0.2 m
        step(free_, 1, x, w);
        ck_assert_msg(fabs(x[0] - q[0]) < 1e-12 && fabs(w[0] - v[0]) < 1e-10, "step %d: %g, %g", k, x[0] - q[0], w[0] - v[0]);
    }
    // m g (0.2 + s) = k s^2 / 2, less what the method takes
    ck_assert_msg(lowest < -0.22 && lowest > -0.2 - 0.032, "falls to %g", lowest);
    ctn_batch_free(held), ctn_batch_free(free_), ctn_model_free(with), ctn_model_free(without);
}
END_TEST

/// What a motor of the type torque puts in is its force times the way of the length; a servo goes where it is told, and its books
/// close as steps get smaller.
START_TEST(motors_pull)
{
    static const char *const motors[] = {
        "{tendon: t, type: torque, target: -15, gear: 2}",
        "{tendon: t, type: position, kp: 800, kd: 40, target: {table: {times: [0, 0.3], values: [1, 0.8]}}}"};
    for (int k = 0; k < 2; k++) {
        double lost[2], q[1], v[1];
        char text[1024];
        snprintf(
            text, sizeof text,
            WEIGHT("-1") "tendons: [{name: t, path: [{link: world, at: [0.5, 0, 0]}, {link: a}, {link: world}]}]\nmotors: [%s]\n",
            motors[k]);
        ctn_model *const m = model_of(text);
        for (int half = 0; half < 2; half++) {
            ctn_batch *const batch = start(m, half ? 0.001 : 0.002);
            const ctn_step_stats s = step(batch, half ? 240 : 120, q, v);
            lost[half] = s.energy_after - s.energy_before - s.work + s.dissipated;
            const double z = 1 - q[0], way = z + hypot(z, 0.5) - 1 - hypot(1, 0.5);
            if (!k) ck_assert_msg(fabs(s.work + 30 * way) < 1e-9, "work %.12g, expected %.12g", s.work, -30 * way);
            ctn_batch_free(batch);
        }
        ck_assert_msg(lost[0] <= 0 && fabs(lost[1] / lost[0] - 0.5) < 0.05, "motor %d: lost %g, then %g", k, lost[0], lost[1]);
        ctn_model_free(m);
    }
}
END_TEST

/// The cords of scenes/claw-crane.yaml close the claw on the box, which it lifts, holds still while it is carried, and lets fall.
START_TEST(claw_lifts)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load(CATENA_SOURCE_DIR "/scenes/claw-crane.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = model_of_scene(scene);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ctn_batch *const batch = batch_with(m, &cfg);
    double *const q = calloc((size_t)m->nq, sizeof *q), *const v = calloc((size_t)m->nv, sizeof *v), *const box = q + m->nq - 7;
    step(batch, 110, q, v);
    ck_assert_msg(fabs(box[2] - 0.04) < 1e-3, "the box is at %g m before the claw closes", box[2]);
    step(batch, 190, q, v);  // the hoist is up
    const double above = box[2] - q[1], beside = box[0] - q[0];
    ck_assert_msg(box[2] > 0.2, "the box is at %g m", box[2]);
    step(batch, 100, q, v);
    ck_assert_msg(fabs(box[2] - q[1] - above) < 5e-3 && fabs(box[0] - q[0] - beside) < 1e-2 && box[0] > 0.2,
                  "carried to %g, %g m; the claw is at %g, %g", box[0], box[2], q[0], q[1]);
    step(batch, 250, q, v);
    ck_assert_msg(fabs(box[2] - 0.04) < 1e-3 && fabs(box[0] - 0.4) < 0.05, "lies at %g, %g m", box[0], box[2]);
    free(q), free(v), ctn_batch_free(batch), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("tendons");
    TCase *const all = tcase_create("all");
    tcase_add_test(all, lengths_and_arms);
    tcase_add_test(all, accelerates_as_mujoco);
    tcase_add_test(all, hangs_on_pulleys);
    tcase_add_test(all, slack_cords_do_nothing);
    tcase_add_test(all, motors_pull);
    tcase_add_test(all, claw_lifts);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
