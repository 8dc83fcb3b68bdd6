/// Knots that are linearised by accelerations (control/accelerations.h), against differences of their steps: torques and servos, told
/// enough to be bent by their effort, with springs, limits of joints, forces and drag.
#include "control/accelerations.h"
#include "control/scene_plant.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const motors[] = {
    "[{joint: a, type: torque}, {joint: b, type: torque, gear: 3}, {joint: c, dof: 1, type: torque, rotor: 0.01}]",
    "[{joint: a, type: torque, effort: 0.8}, {joint: b, type: torque, gear: 3, effort: 1},\n"
    "  {joint: c, dof: 1, type: torque, effort: 0.5}]",
    "[{joint: a, type: position, kp: 20, kd: 1, effort: 2}, {joint: b, type: velocity, kd: 3, gear: 2},\n"
    "  {joint: c, dof: 1, type: position, kp: 5, kd: 0.2}]",
    "[{joint: a, type: torque}, {link: c, type: thrust, point: [0.1, 0, 0], reaction: 0.1, axis: [0, 0, 1]},\n"
    "  {link: b, type: thrust, point: [0, 0.1, 0.05], reaction: -0.1, axis: [1, 0, 0]}]",
};
static const ctn_method methods[] = {CTN_EULER, CTN_SEMI_IMPLICIT, CTN_RK2, CTN_RK3, CTN_RK4};
enum { METHODS = sizeof methods / sizeof *methods };
enum { MOTORS = sizeof motors / sizeof *motors, KNOTS = 5, NV = 4, N = 2 * NV, M = 3 };

static ctn_scene *read_scene(int k)
{
    static const char links[] =
        "catena: 1\n"
        "links:\n"
        "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1, stiffness: 2}, mass: 1, com: [0.2, 0, -0.3],\n"
        "     inertia: [0.03, 0.03, 0.01, 0, 0, 0], shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.5], radius: 0.03}]}\n"
        "  - {name: b, parent: a, position: [0, 0, -0.5], joint: {type: prismatic, axis: [1, 0, 0], limits: [-0.05, 0.05]},\n"
        "     mass: 0.5, inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"
        "  - {name: c, parent: b, position: [0, 0, -0.5], joint: universal, mass: 0.5, com: [0, 0.1, -0.1],\n"
        "     inertia: [0.01, 0.02, 0.02, 0, 0, 0]}\n"
        "fluid: {density: 100, current: [0.1, 0, 0], drag: {normal: 2, tangential: 1}}\n"
        "springs: [{link: a, point: [0, 0, -0.2], anchor: [1, 0, 0], stiffness: 30, damping: 1}]\n"
        "forces: [{link: c, axes: link, force: [0.3, 0, 0.5], torque: [0, 0.1, 0]}]\n"
        "optimize: {cost: [{term: control, weight: 1}]}\n";
    char text[2000];
    const int length = snprintf(text, sizeof text, "%smotors: %s\n", links, motors[k]);
    ck_assert(length > 0 && (size_t)length < sizeof text);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, (size_t)length, "joints", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

/// How a step changes with number j of (x, u), by central differences.
static void differences(const plant *p, const double *x, const double *u, int j, double slope[N])
{
    static const double e = 1e-6;
    double next[2][N];
    for (int side = 0; side < 2; side++) {
        double moved[N], told[M], dx[N] = {0};
        memcpy(told, u, sizeof told);
        *(j < N ? &dx[j] : &told[j - N]) += side ? e : -e;
        p->add(p->context, x, dx, moved);
        bool good;
        ck_assert_int_eq(plant_step(p, moved, told, next[side], &good, NULL), CTN_OK);
        ck_assert(good);
    }
    p->difference(p->context, next[0], next[1], slope);
    for (int i = 0; i < N; i++) slope[i] /= 2 * e;
}

/// _i: motors and method.
START_TEST(knots_are_linearised_as_steps_change)
{
    ctn_error err;
    ctn_scene *const scene = read_scene(_i / METHODS);
    ctn_model *const model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[_i % METHODS], cfg.dt = 0.01, cfg.threads = 1;
    ck_assert(accelerations_suffice(model, &cfg, 1));
    scene_plant *const s = scene_plant_open(scene, model, &cfg, KNOTS * cfg.dt, 16, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    const plant *const p = scene_plant_of(s);
    ck_assert(p->knots == KNOTS && p->n == N && p->nx == N && p->m == M);
    double X[(KNOTS + 1) * N], U[KNOTS * M], A[KNOTS * N * N], B[KNOTS * N * M], worst = 0;
    for (int i = 0; i < (KNOTS + 1) * N; i++) X[i] = 0.3 * sin(1 + 2.3 * i);
    for (int i = 0; i < KNOTS * M; i++) U[i] = 0.8 * cos(1.7 * i);  // some are the effort itself, or beyond it
    ck_assert_int_eq(p->linearise(p->context, X, U, A, B, &err), CTN_OK);
    for (int k = 0; k < KNOTS; k++)
        for (int j = 0; j < N + M; j++) {
            double slope[N];
            differences(p, X + k * N, U + k * M, j, slope);
            for (int i = 0; i < N; i++) {
                const double by = j < N ? A[(k * N + i) * N + j] : B[(k * N + i) * M + j - N];
                worst = fmax(worst, fabs(by - slope[i]) / (1 + fabs(slope[i])));
            }
        }
    ck_assert_msg(worst < 1e-6, "off by %g", worst);
    scene_plant_close(s), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("accelerations");
    TCase *const c = tcase_create("accelerations");
    tcase_add_loop_test(c, knots_are_linearised_as_steps_change, 0, METHODS * MOTORS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
