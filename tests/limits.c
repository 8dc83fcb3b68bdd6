/// Limits of trajectories: optima of a double integrator by the KKT conditions of the dense quadratic program, multipliers included;
/// numbers of all forms by hand and their derivatives by differences; the same bits for threads and lanes.
#include "control/limits.h"
#include "control/scene_plant.h"
#include "control/trajectory.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- a mass on a rail, whose force is looked for: v' = v + h u, q' = q + h v'

#define RAIL                                                                                                                     \
    "catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, "   \
    "0, "                                                                                                                        \
    "0, 0]}]\nmotors: [{joint: a, type: torque}]\nintegrator: {method: semi-implicit, dt: 0.1}\nduration: 2\n"                   \
    "optimize:\n  tolerance: 1e-9\n  limit_tolerance: 1e-8\n  iterations: 300\n  cost:\n"                                        \
    "    - {term: posture, weight: 2, end: 3, target: 1}\n    - {term: velocity, weight: 0.1, end: 1}\n"                         \
    "    - {term: control, weight: 0.05}\n  limits:\n"
enum { N = 20 };
static const double h = 0.1;

static const struct {
    const char *text;
    double q[2], v[2], u[2];  // bounds over time
    int from, to;             // knots that they count at
    bool exactly;             // q = 1, v = 0 at the end
    double rises;             // 1/s: bounds of q
} rails[] = {
    {"    - {term: velocity, within: [-0.5, 0.5]}\n", {-INFINITY, INFINITY}, {-0.5, 0.5}, {-INFINITY, INFINITY}, 1, N, false, 0},
    {"    - {term: posture, within: [none, 0.8]}\n",
     {-INFINITY, 0.8},
     {-INFINITY, INFINITY},
     {-INFINITY, INFINITY},
     1,
     N,
     false,
     0},
    {"    - {term: posture, within: [0.2, 0.3], from: 0.5, to: 1}\n    - {term: control, within: [-2, 2], from: 0.5, to: 1}\n",
     {0.2, 0.3},
     {-INFINITY, INFINITY},
     {-2, 2},
     5,
     10,
     false,
     0},
    {"    - {term: posture, target: 1, when: end}\n    - {term: velocity, target: 0, when: end}\n    - {term: velocity, within: "
     "[none, 0.7]}\n",
     {-INFINITY, INFINITY},
     {-INFINITY, 0.7},
     {-INFINITY, INFINITY},
     1,
     N,
     true,
     0},
    {"    - {term: posture, within: [{table: {times: [0, 2], values: [-0.1, 0.9]}}, {table: {times: [0, 2], values: [0.2, 1.2]}"
     "}]}\n",
     {-0.1, 0.2},
     {-INFINITY, INFINITY},
     {-INFINITY, INFINITY},
     1,
     N,
     false,
     0.5},
};
enum { RAILS = sizeof rails / sizeof *rails };

/// Adds lambda times the derivative of a state's q or v by all controls, at knot k, to g.
static void push_back(int k, double by_q, double by_v, double g[N])
{
    for (int j = 0; j < k; j++) g[j] += by_q * h * h * (k - j) + by_v * h;
}

/// The trajectory solves the quadratic program: nothing pushes, with multipliers only of what is at its bound, on its side.
START_TEST(rail_is_optimal)
{
    ctn_error err;
    char text[3000];
    snprintf(text, sizeof text, "%s%s", RAIL, rails[_i].text);
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const model = model_of_scene(scene);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    trajectory *const t = trajectory_open(scene, model, &cfg, 2, NULL, &err);
    ck_assert_msg(t != NULL, "%s", err.message);
    for (int k = 0; k < 300 && trajectory_state(t).stop == ILQR_RUNS; k++) ck_assert_int_eq(trajectory_step(t, &err), CTN_OK);
    ck_assert_msg(trajectory_state(t).stop == ILQR_OPTIMAL, "case %d: stop %d, violation %g after %d iterations", _i,
                  trajectory_state(t).stop, trajectory_limits(t).violation, trajectory_state(t).iteration);
    const double *const X = ilqr_states(trajectory_solver(t)), *const U = ilqr_controls(trajectory_solver(t));
    double g[N] = {0}, J = 0, scale = 0;
    for (int k = 0; k <= N; k++) {
        const double w = k < N ? h * 2 : 3, d = k < N ? h * 0.1 : 1, q = X[2 * k] - 1, v = X[2 * k + 1];
        push_back(k, w * q, d * v, g);
        J += 0.5 * (w * q * q + d * v * v);
        if (k == N) continue;
        g[k] += h * 0.05 * U[k], J += 0.5 * h * 0.05 * U[k] * U[k];
    }
    for (int k = 0; k < N; k++) scale = fmax(scale, fabs(g[k]));
    ck_assert_double_eq_tol(J, trajectory_state(t).cost, 1e-10 * J);
    // least squares would hide a multiplier of the wrong side: those of the solver are taken
    int rows, active = 0;
    const double *const lambda = trajectory_multipliers(t, &rows);
    for (int k = 0; k <= N; k++)
        for (int i = 0, at = 0; i < 3; i++) {
            const double *const first = i == 0   ? rails[_i].q
                                        : i == 1 ? rails[_i].v
                                                 : rails[_i].u,
                                rise = i ? 0 : rails[_i].rises * k * h, bound[2] = {first[0] + rise, first[1] + rise};
            const double x = i < 2 ? X[2 * k + i] : k < N ? U[k] : 0;
            const bool here = k >= rails[_i].from && k <= rails[_i].to && !(i == 2 && k == N);
            const bool target = rails[_i].exactly && i < 2;
            if (target) {  // its row comes first
                const double end = lambda[k * rows + i];
                if (k < N) ck_assert_double_eq(end, 0);
                else {
                    push_back(k, i == 0 ? end : 0, i == 1 ? end : 0, g), active++;
                    ck_assert_double_eq_tol(x, i == 0 ? 1 : 0, 1e-8);
                }
            }
            if (isinf(bound[0]) && isinf(bound[1])) continue;
            const double own = lambda[k * rows + (rails[_i].exactly ? 2 : at)] * h;
            at++;
            if (!here) {
                ck_assert_double_eq(own, 0);
                continue;
            }
            ck_assert_msg(x >= bound[0] - 1e-8 && x <= bound[1] + 1e-8, "case %d, knot %d: %.12g", _i, k, x);
            if (own > 0) ck_assert_double_eq_tol(x, bound[1], 1e-7);
            if (own < 0) ck_assert_double_eq_tol(x, bound[0], 1e-7);
            active += own != 0;
            if (i < 2) push_back(k, i == 0 ? own : 0, i == 1 ? own : 0, g);
            else g[k] += own;
        }
    ck_assert_int_gt(active, 0);
    for (int k = 0; k < N; k++) ck_assert_msg(fabs(g[k]) <= 1e-6 * scale, "case %d, knot %d: %g of %g", _i, k, g[k], scale);
    trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

// ---- all forms

#define TREE                                                                                                                     \
    "catena: 1\nlinks:\n"                                                                                                        \
    "  - {name: base, joint: free, mass: 2, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"                                    \
    "  - {name: arm, parent: base, position: [0.3, 0, 0.1], joint: {type: revolute, axis: [0, 1, 0], limits: [-0.5, 2]},\n"      \
    "     mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"                                                                               \
    "  - {name: ball, parent: arm, position: [0, 0, 0.5], joint: {type: ball, limits: 0.4, rest: [0.9, 0.1, 0.3, 0.2]},\n"       \
    "     mass: 1, com: [0, 0, 0.2], inertia: [1, 1, 1, 0, 0, 0]}\n"                                                             \
    "  - {name: slide, parent: ball, position: [0, 0.1, 0.4], joint: {type: prismatic, axis: [1, 1, 0]},\n"                      \
    "     mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"                                                                               \
    "motors: [{joint: arm, type: torque}, {joint: slide, type: torque}]\nduration: 0.3\n"                                        \
    "integrator: {method: rk4, dt: 0.1}\noptimize:\n  cost: [{term: control, weight: 1}]\n  limits:\n"                           \
    "    - {term: posture, within: own}\n"                                                                                       \
    "    - {term: posture, target: [1, 0.2, 0.1, 0.3], joints: [ball], when: end}\n"                                             \
    "    - {term: velocity, joints: [arm, slide], within: [[-1, 1], [none, 2]]}\n"                                               \
    "    - {term: control, within: [-3, 4]}\n"                                                                                   \
    "    - {term: place, link: slide, point: [0.1, 0.2, 0.3], above: 0.2, below: 3}\n"                                           \
    "    - {term: place, link: slide, plane: {normal: [1, 2, 2], height: -0.7}}\n"                                               \
    "    - {term: place, link: slide, outside: {type: sphere, center: [1, 0, 0], radius: 0.3}}\n"                                \
    "    - {term: place, link: arm, point: [0, 0, 0.3], inside: {type: capsule, from: [0, 0, 0], to: [0, 0, 1], radius: 2}}\n"   \
    "    - {term: place, link: arm, point: [0, 0, 0.3], outside: {type: capsule, from: [1, 0, -3], to: [2, 0, -2], radius: "     \
    "2}}\n"                                                                                                                      \
    "    - {term: place, link: base, within: [[-1, 1], none, [none, 2]]}\n"                                                      \
    "    - {term: orientation, link: slide, target: [1, 0.1, 0, 0], angle: 60 deg}\n"                                            \
    "    - {term: orientation, link: arm, target: [1, 0.3, 0.2, 0], when: end}\n"                                                \
    "    - {term: com, target: [0.1, 0.2, 0.3], when: end}\n    - {term: com, above: -1}\n"

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    scene_plant *plant;
    limits *limits;
    int nq, nv, nu, n, rows;
} tree;

static tree open_tree(void)
{
    ctn_error err;
    tree t = {.scene = parsed_scene(TREE)};
    t.model = model_of_scene(t.scene);
    const ctn_batch_config cfg = ctn_scene_config(t.scene);
    t.plant = scene_plant_open(t.scene, t.model, &cfg, 0.3, 4, &err);
    ck_assert_msg(t.plant != NULL, "%s", err.message);
    t.limits = limits_open(t.scene, t.model, 3, 0.1, &err);
    ck_assert_msg(t.limits != NULL, "%s", err.message);
    t.nq = ctn_model_nq(t.model), t.nv = ctn_model_nv(t.model), t.nu = ctn_model_ntarget(t.model), t.n = 2 * t.nv;
    t.rows = limits_of(t.limits)->rows;
    return t;
}

static void close_tree(tree *t)
{
    limits_close(t->limits), scene_plant_close(t->plant), ctn_model_free(t->model), ctn_scene_free(t->scene);
}

/// Some state and controls, away from kinks.
static void some_point(const tree *t, double *x, double *u)
{
    const plant *const p = scene_plant_of(t->plant);
    double start[64], dx[64];
    ctn_model_initial_state(t->model, start, start + t->nq);
    for (int i = 0; i < t->n; i++) dx[i] = 0.4 * sin(1.7 * i + 0.3);
    p->add(p->context, start, dx, x);
    for (int i = 0; i < t->nu; i++) u[i] = 1.5 - i;
}

/// Numbers by the calls of catena/dynamics.h.
START_TEST(numbers)
{
    tree t = open_tree();
    double x[64], u[8], c[64], R[4 * 9], p[4 * 3];
    some_point(&t, x, u);
    const plant_limits *const l = limits_of(t.limits);
    l->evaluate(l->context, 1, x, u, c, NULL);
    ctn_error err;
    ctn_dynamics *const dyn = ctn_dynamics_create(t.model, NULL, &err);
    ctn_forward_kinematics(dyn, 1, x, R, p);
    ctn_totals sum;
    ctn_energy_momentum(dyn, 1, x, x + t.nq, &sum);
    double at[3], arm[3];
    for (int i = 0; i < 3; i++) {
        const double *const S = R + 27 + 3 * i, *const A = R + 9 + 3 * i;
        at[i] = p[9 + i] + 0.1 * S[0] + 0.2 * S[1] + 0.3 * S[2], arm[i] = p[3 + i] + 0.3 * A[2];
    }
    ck_assert_int_eq(t.rows, 1 + 1 + 3 + 2 + 2 + 1 + 1 + 1 + 1 + 1 + 3 + 1 + 3 + 3 + 1);
    int row = 0;
    const double turn[4] = {x[8], x[9], x[10], x[11]};  // of the ball, from its rest
    const double rest = sqrt(0.9 * 0.9 + 0.01 + 0.09 + 0.04),
                 cosine = fabs(0.9 * turn[0] + 0.1 * turn[1] + 0.3 * turn[2] + 0.2 * turn[3]) / rest;
    ck_assert_double_eq_tol(c[row++], 2 * acos(cosine), 1e-12);  // cones come before coordinates
    ck_assert_double_eq_tol(c[row++], x[7], 1e-15);
    row += 3;
    ck_assert_double_eq_tol(c[row++], x[t.nq + 6], 1e-15);
    ck_assert_double_eq_tol(c[row++], x[t.nq + 10], 1e-15);
    ck_assert_double_eq(c[row++], u[0]);
    ck_assert_double_eq(c[row++], u[1]);
    ck_assert_double_eq_tol(c[row++], at[2], 1e-12);
    ck_assert_double_eq_tol(c[row++], (p[9] + 2 * p[10] + 2 * p[11]) / 3, 1e-12);
    ck_assert_double_eq_tol(c[row++], sqrt((p[9] - 1) * (p[9] - 1) + p[10] * p[10] + p[11] * p[11]), 1e-12);
    const double above = fmax(arm[2] - 1, 0), under = fmin(arm[2], 0), far = above + under;
    ck_assert_double_eq_tol(c[row++], sqrt(arm[0] * arm[0] + arm[1] * arm[1] + far * far), 1e-12);
    const double b[3] = {arm[0] - 2, arm[1], arm[2] + 2};  // beyond the capsule's second end
    ck_assert_double_eq_tol(c[row++], sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]), 1e-12);
    for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(c[row++], x[i], 1e-12);
    row += 4;
    for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(c[row++], sum.com[i] - 0.1 * (i + 1), 1e-12);
    ck_assert_double_eq_tol(c[row++], sum.com[2], 1e-12);
    // where they count: states from the first knot on, controls to the last but one, ends at the end
    ck_assert(isinf(l->lower[1]) && l->lower[t.rows + 1] == -0.5 && l->upper[3 * t.rows + 1] == 2);
    ck_assert(l->lower[7] == -3 && isinf(l->lower[3 * t.rows + 7]));
    ck_assert(isinf(l->lower[2 * t.rows + 2]) && l->lower[3 * t.rows + 2] == 0 && l->upper[3 * t.rows + 2] == 0);
    ck_assert(l->weight[2] == 1 && l->weight[1] == 0.1);
    ck_assert_double_eq_tol(limits_missed(t.limits, 0, false, x, (double[]){5, -4}), 1, 1e-12);  // of controls alone
    ctn_dynamics_free(dyn), close_tree(&t);
}
END_TEST

/// Bounds of a horizon that begins later are those of later knots; multipliers move with them, the last ones stay.
START_TEST(bounds_move_on)
{
    enum { KNOTS = 12 };
    static const char *const said = "    - {term: posture, within: [0, 1], from: 0.5, to: 1}\n"
                                    "    - {term: control, within: [-2, 2]}\n    - {term: velocity, target: 0, when: end}\n";
    ctn_error err;
    char text[3000];
    snprintf(text, sizeof text, "%s%s", RAIL, said);
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const model = model_of_scene(scene);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    scene_plant *const s = scene_plant_open(scene, model, &cfg, KNOTS * h, 4, &err);
    limits *const l = limits_open(scene, model, KNOTS, h, &err);
    ck_assert_msg(s && l, "%s", err.message);
    const plant_limits *const rows = limits_of(l);
    lagrangian *const a = lagrangian_open(scene_plant_of(s), rows, 1e-4, 10, &err);
    const size_t all = lagrangian_numbers(a), first = all - 3 * (KNOTS + 1);
    double *const flat = calloc(all, sizeof *flat), *const lambda = flat + first;
    ck_assert_int_eq(rows->rows, 3);
    lagrangian_flatten(a, false, flat);
    for (int k = 0; k <= KNOTS; k++)
        for (int i = 0; i < 3; i++) lambda[3 * k + i] = isinf(rows->lower[3 * k + i]) ? 0 : 1 + 3 * k + i;
    lagrangian_flatten(a, true, flat);
    for (int moved = 1; moved < 16; moved++) {
        limits_begin(l, moved * h, false), lagrangian_shift(a), lagrangian_flatten(a, false, flat);
        for (int k = 0; k <= KNOTS; k++) {
            const int at = k + moved;  // knots of the first horizon
            const bool here[3] = {k > 0 && at >= 5 && at <= 10, k < KNOTS, k == KNOTS};
            const double was[3] = {1 + 3 * at, 1 + 3 * (at < KNOTS ? at : KNOTS - 1) + 1, 1 + 3 * KNOTS + 2};
            for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(!isinf(rows->lower[3 * k + i]), here[i]);
                ck_assert_msg(lambda[3 * k + i] == (here[i] ? was[i] : 0), "moved by %d, knot %d, row %d: %g", moved, k, i,
                              lambda[3 * k + i]);
            }
        }
        const double x[2] = {1.5, 0.3}, u = -2.25;
        ck_assert_double_eq_tol(limits_missed_at(l, 0, moved * h, x, &u), moved >= 5 && moved <= 10 ? 0.5 : 0, 1e-15);
        ck_assert_double_eq_tol(limits_missed_at(l, 1, moved * h, x, &u), 0.25, 1e-15);
        ck_assert_double_eq(limits_missed_at(l, 2, moved * h, x, &u), 0);
    }
    limits_begin(l, 0.7, true);  // all knots are then
    for (int k = 1; k <= KNOTS; k++) ck_assert_double_eq(rows->upper[3 * k], 1);
    free(flat), lagrangian_close(a), limits_close(l), scene_plant_close(s), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Each knot has the bounds of its time, wherever the horizon begins; what is to be met exactly has both.
START_TEST(bounds_move_with_time)
{
    enum { KNOTS = 6, ROWS = 5 };
    static const char *const said =
        "    - {term: posture, within: [none, {sinusoid: {mean: 0.5, amplitude: 0.2, frequency: 0.7}}]}\n"
        "    - {term: control, within: [{table: {times: [0.2, 0.4], values: [-3, -1]}, hold: zero}, 2]}\n"
        "    - {term: place, link: a, above: {table: {times: [0, 1], values: [-1, 1]}}, below: 7}\n"
        "    - {term: place, link: a, plane: {normal: [1, 0, 0], height: {table: {times: [0, 1], values: [-2, 0]}}}}\n"
        "    - {term: velocity, target: {sinusoid: {mean: 0.1, amplitude: 3, frequency: 0.2}}}\n";
    ctn_error err;
    char text[3000];
    snprintf(text, sizeof text, "%s%s", RAIL, said);
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const model = model_of_scene(scene);
    limits *const l = limits_open(scene, model, KNOTS, h, &err);
    ck_assert_msg(l != NULL, "%s", err.message);
    const plant_limits *const rows = limits_of(l);
    ck_assert_int_eq(rows->rows, ROWS);
    const double x[2] = {0.9, 1.5}, u = -2;
    double c[ROWS];
    rows->evaluate(rows->context, 1, x, &u, c, NULL);
    for (int way = 0; way < 3; way++) {
        const double begin = way ? 0.15 : 0;
        limits_begin(l, begin, way == 2);
        for (int k = 1; k <= KNOTS; k++) {
            const double *const lo = rows->lower + ROWS * k, *const hi = rows->upper + ROWS * k;
            const double t = begin + (way == 2 ? 0 : k * h);
            const double tau = 6.283185307179586 * t, late = fmin(t, 1), least = t > 0.4 - 1e-6 ? -1 : -3;
            ck_assert(isinf(lo[0]));
            ck_assert_double_eq_tol(hi[0], 0.5 + 0.2 * sin(0.7 * tau), 1e-12);
            if (k < KNOTS) ck_assert(lo[1] == least && hi[1] == 2);
            ck_assert_double_eq_tol(lo[2], -1 + 2 * late, 1e-12);
            ck_assert_double_eq(hi[2], 7);
            ck_assert_double_eq_tol(lo[3], -2 + 2 * late, 1e-12);
            const double v = 0.1 + 3 * sin(0.2 * tau);  // the number is what is above the part that stands
            ck_assert(lo[4] == hi[4]);
            ck_assert_double_eq_tol(x[1] - c[4] + lo[4], v, 1e-12);
            const double missed[ROWS] = {fmax(x[0] - hi[0], 0), fmax(least - u, 0), fmax(-1 + 2 * late, 0), 0, fabs(x[1] - v)};
            for (int i = 0; i < ROWS; i++) ck_assert_double_eq_tol(limits_missed_at(l, i, t, x, &u), missed[i], 1e-12);
        }
    }
    limits_close(l), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Central differences: of all numbers, and of what an augmented Lagrangian adds to costs.
START_TEST(derivatives)
{
    tree t = open_tree();
    const plant *const p = scene_plant_of(t.plant);
    const plant_limits *const l = limits_of(t.limits);
    const int width = t.n + t.nu;
    double x[64], u[8], dx[64], moved[2][64], told[2][8], value[2][64], c[64];
    double *const J = calloc((size_t)(t.rows * width), sizeof *J);
    some_point(&t, x, u);
    l->evaluate(l->context, 1, x, u, c, J);
    for (int j = 0; j < width; j++) {
        for (int side = 0; side < 2; side++) {
            memset(dx, 0, sizeof dx), memcpy(told[side], u, sizeof u);
            if (j < t.n) dx[j] = side ? 1e-6 : -1e-6;
            else told[side][j - t.n] += side ? 1e-6 : -1e-6;
            p->add(p->context, x, dx, moved[side]);
            l->evaluate(l->context, 1, moved[side], told[side], value[side], NULL);
        }
        for (int i = 0; i < t.rows; i++)
            ck_assert_msg(fabs((value[1][i] - value[0][i]) / 2e-6 - J[i * width + j]) < 1e-8, "row %d by %d: %g, %g", i, j,
                          (value[1][i] - value[0][i]) / 2e-6, J[i * width + j]);
    }
    free(J);
    ctn_error err;
    lagrangian *const a = lagrangian_open(p, l, 1e-4, 7, &err);
    double *const flat = calloc(lagrangian_numbers(a), sizeof *flat);
    lagrangian_flatten(a, false, flat);
    for (int k = 0; k < 4 * t.rows; k++)  // of what counts alone, as they come about
        flat[lagrangian_numbers(a) - (size_t)(4 * t.rows) + (size_t)k] =
            isinf(l->lower[k]) && isinf(l->upper[k]) ? 0 : sin(0.9 * k);
    lagrangian_flatten(a, true, flat);
    const added_cost added = lagrangian_added(a);
    for (int knot = 1; knot < 4; knot += 2) {
        double by_x[64] = {0}, by_u[8] = {0}, uu[64] = {0}, cost[2];
        double *const xx = calloc((size_t)(t.n * t.n), sizeof *xx), *const ux = calloc((size_t)(t.nu * t.n), sizeof *ux);
        added.derivatives(added.context, 1, &knot, x, u, &(plant_costs){by_x, by_u, xx, uu, ux});
        for (int j = 0; j < width; j++) {
            for (int side = 0; side < 2; side++) {
                memset(dx, 0, sizeof dx), memcpy(told[side], u, sizeof u), cost[side] = 0;
                if (j < t.n) dx[j] = side ? 1e-6 : -1e-6;
                else told[side][j - t.n] += side ? 1e-6 : -1e-6;
                p->add(p->context, x, dx, moved[side]);
                added.cost(added.context, 1, &knot, moved[side], told[side], &cost[side]);
            }
            const double expected = (cost[1] - cost[0]) / 2e-6, found = j < t.n ? by_x[j] : by_u[j - t.n];
            ck_assert_msg(fabs(expected - found) < 1e-7 * fmax(1, fabs(expected)), "knot %d by %d: %g, %g", knot, j, found,
                          expected);
        }
        for (int i = 0; i < t.n; i++) {
            ck_assert(xx[i * t.n + i] >= 0);
            for (int j = 0; j < i; j++) ck_assert_double_eq_tol(xx[i * t.n + j], xx[j * t.n + i], 1e-12);
        }
        free(xx), free(ux);
    }
    free(flat), lagrangian_close(a), close_tree(&t);
}
END_TEST

/// Threads and lanes change no bit.
START_TEST(same_bits)
{
    static const char *const engines[] = {"scalar", NULL, NULL};
    double first[N] = {0};
    for (int run = 0; run < 3; run++) {
        ctn_error err;
        char text[3000];
        snprintf(text, sizeof text, "%s%s", RAIL, rails[3].text);
        ctn_scene *const scene = parsed_scene(text);
        ctn_model *const model = model_of_scene(scene);
        ctn_batch_config cfg = ctn_scene_config(scene);
        cfg.engine = engines[run], cfg.threads = 1 + run % 2;
        trajectory *const t = trajectory_open(scene, model, &cfg, 2, NULL, &err);
        for (int k = 0; k < 30; k++) ck_assert_int_eq(trajectory_step(t, &err), CTN_OK);
        const double *const U = ilqr_controls(trajectory_solver(t));
        if (!run) memcpy(first, U, sizeof first);
        ck_assert_msg(!memcmp(first, U, sizeof first), "run %d has other bits", run);
        trajectory_close(t), ctn_model_free(model), ctn_scene_free(scene);
    }
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("limits");
    TCase *const c = tcase_create("limits");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, rail_is_optimal, 0, RAILS);
    tcase_add_test(c, numbers);
    tcase_add_test(c, bounds_move_on);
    tcase_add_test(c, bounds_move_with_time);
    tcase_add_test(c, derivatives);
    tcase_add_test(c, same_bits);
    suite_add_tcase(s, c);
    return run_suite(s);
}
