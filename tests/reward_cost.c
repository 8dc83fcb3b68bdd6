/// Rewards as costs of trajectories: values by hand, derivatives by differences, and an optimum in closed form.
#include "control/reward_cost.h"
#include "control/trajectory.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <string.h>

#define CART(reward, optimize)                                                                                                   \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"                        \
    "motors: [{joint: cart, type: torque}]\nintegrator: {method: semi-implicit, dt: 0.1}\nduration: 2\nreward:\n" reward         \
    "optimize:\n  cost: [{term: control, weight: 0.05}]\n" optimize
#define ARM(reward)                                                                                                              \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], q0: 0.3}, mass: 1, com: [0, 0, -0.3], inertia: [1, 1, 1, 0, 0, "     \
    "0]}\n"                                                                                                                      \
    "  - {name: b, parent: a, position: [0, 0, -0.6], joint: {type: ball}, mass: 0.5, com: [0, 0.1, -0.3],\n"                    \
    "     inertia: [0.1, 0.2, 0.3, 0, 0, 0]}\n"                                                                                  \
    "motors: [{joint: a, type: torque}]\nreward:\n" reward                                                                       \
    "optimize: {cost: [{term: control, weight: 1}], reward: 0.7}\nduration: 1\n"

static ctn_scene *parse(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "rewards", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

static double cost_at(reward_cost *r, int knot, const double *x, const double *u)
{
    const added_cost c = reward_cost_added(r);
    double cost = 0;
    c.cost(c.context, 1, &knot, x, u, &cost);
    return cost;
}

static const char *const arms[] = {
    ARM("  - {term: speed, link: b, point: [0, 0, -0.4], axis: [1, 0, 0], weight: 2, target: 0.3}\n"),
    ARM("  - {term: height, link: b, point: [0, 0, -0.4], weight: 1, from: 0.2, to: 0.6}\n  - {term: effort, weight: -0.1}\n"),
    ARM("  - {term: reach, link: b, point: [0, 0.1, -0.4], target: [0.5, 0, 0], weight: -3, when: end}\n"),
    ARM("  - {term: energy, weight: -0.2}\n  - {term: upright, link: b, axis: [0, 0, 1], weight: 1}\n")};
enum { ARMS = sizeof arms / sizeof *arms };

/// _i: the reward. Knots in a window, outside of it, and the end.
START_TEST(differences)
{
    enum { KNOTS = 10 };
    ctn_error err;
    ctn_scene *const scene = parse(arms[_i]);
    ctn_model *const model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    reward_cost *const r = reward_cost_open(scene, model, KNOTS, 0.1, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    const added_cost c = reward_cost_added(r);
    const int knots[] = {0, 3, KNOTS};
    const double x[9] = {0.4, 0.8, 0.2, 0.4, 0.4, 0.5, -0.7, 0.3, 0.9}, u[1] = {1.3};  // angle, quaternion, rates
    double most = 0;
    for (int k = 0; k < 3; k++) {
        double gx[8] = {0}, gu[1] = {0}, xx[64] = {0}, uu[1] = {0}, ux[8] = {0};
        c.derivatives(c.context, 1, &knots[k], x, u, &(plant_costs){gx, gu, xx, uu, ux});
        for (int j = 0; j < 9; j++) {
            const double step = 1e-6;
            double cost[2];
            for (int side = 0; side < 2; side++) {
                double to[9], told[1] = {u[0]}, turn[4] = {0};
                const double by = side ? step : -step;
                memcpy(to, x, sizeof x);
                if (j < 4) turn[j] = by, ctn_model_integrate(model, 1, x, turn, 1, to);
                else if (j < 8) to[1 + j] += by;
                else told[0] += by;
                cost[side] = cost_at(r, knots[k], to, told);
            }
            const double slope = (cost[1] - cost[0]) / (2 * step), told = j < 8 ? gx[j] : gu[0];
            ck_assert_msg(fabs(slope - told) < 1e-8, "reward %d, knot %d, number %d: %.10g, expected %.10g", _i, knots[k], j,
                          told, slope);
            most = fmax(most, fabs(told));
        }
    }
    ck_assert_double_gt(most, 1e-3);
    reward_cost_close(r), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// As many points as one likes, each as alone.
START_TEST(side_by_side)
{
    enum { KNOTS = 40 };
    ctn_error err;
    ctn_scene *const scene = parse(CART("  - {term: speed, link: cart, axis: [1, 0, 0], weight: 2}\n"
                                        "  - {term: progress, link: cart, axis: [1, 0, 0], weight: 5, when: end}\n",
                                        "  reward: 0.5\n"));
    ctn_model *const model = ctn_model_create(scene, &err);
    reward_cost *const r = reward_cost_open(scene, model, KNOTS, 0.1, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    const added_cost c = reward_cost_added(r);
    double x[2 * (KNOTS + 1)], u[KNOTS + 1], cost[KNOTS + 1] = {0};
    int knots[KNOTS + 1];
    for (int k = 0; k <= KNOTS; k++) knots[k] = k, x[2 * k] = 0.1 * k, x[2 * k + 1] = 1 + 0.01 * k, u[k] = 0;
    c.cost(c.context, KNOTS + 1, knots, x, u, cost);
    for (int k = 0; k <= KNOTS; k++) {
        const double expected = k < KNOTS ? -0.5 * 2 * 0.1 * x[2 * k + 1] : -0.5 * 5 * x[2 * k];
        ck_assert_double_eq_tol(cost[k], expected, 1e-14);
        ck_assert_double_eq(cost[k], cost_at(r, k, x + 2 * k, u + k));
    }
    reward_cost_close(r), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A cart that is paid for how far it comes: u_k = w h (N - k) / 0.05, as x_N = sum of h^2 (N - k) u_k.
START_TEST(farthest)
{
    ctn_error err;
    ctn_scene *const scene = parse(
        CART("  - {term: progress, link: cart, axis: [1, 0, 0], weight: 1, when: end}\n", "  reward: 0.5\n  tolerance: 1e-11\n"));
    ctn_model *const model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    trajectory *const t = trajectory_open(scene, model, &cfg, 2, NULL, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    for (int k = 0; k < 60 && trajectory_state(t).stop == ILQR_RUNS; k++) ck_assert_int_eq(trajectory_step(t, &err), CTN_OK);
    const double *const U = ilqr_controls(trajectory_solver(t));
    for (int k = 0; k < 20; k++) ck_assert_double_eq_tol(U[k], 0.5 * 0.1 * (20 - k) / 0.05, 1e-6);
    trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

START_TEST(refused)
{
    const struct {
        const char *text, *says;
    } bad[] = {{ARM("  - {term: alive, link: a, above: -1, weight: 1}\n"), "optimize.reward: the term `alive`"},
               {ARM("  - {term: effort, weight: -1, when: end}\n"), "motors are told nothing any more at the end"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ctn_error err;
        ctn_scene *const scene = parse(bad[k].text);
        ctn_model *const model = ctn_model_create(scene, &err);
        ck_assert(!reward_cost_open(scene, model, 10, 0.1, &err));
        ck_assert_msg(err.status == CTN_BAD_SCENE && strstr(err.message, bad[k].says), "%s", err.message);
        ctn_model_free(model), ctn_scene_free(scene);
    }
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("reward_cost");
    TCase *const c = tcase_create("rewards");
    tcase_add_loop_test(c, differences, 0, ARMS);
    tcase_add_test(c, side_by_side);
    tcase_add_test(c, farthest);
    tcase_add_test(c, refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
