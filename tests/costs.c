/// Derivatives of every term of `optimize.cost` against differences of the cost itself, on a tree with all kinds of joints.
#include "control/costs.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BODY "mass: 1, com: [0.1, 0.05, -0.2], inertia: [0.1, 0.12, 0.08, 0.01, 0, 0.02]}\n"

static const char scene_text[] =
    "catena: 1\nlinks:\n"
    "  - {name: a, joint: free, " BODY
    "  - {name: b, parent: a, position: [0.1, 0.2, -0.3], euler: [0.3, 0.2, 0.1], joint: ball, " BODY
    "  - {name: c, parent: b, position: [0.2, -0.1, -0.3], joint: {type: universal, axis: [1, 0, 0], axis2: [0.1, 1, 0]}, " BODY
    "  - {name: d, parent: c, position: [0, 0.1, -0.3], euler: [0, 0.5, 0], joint: {type: helical, axis: [0, 1, 1], pitch: "
    "0.1}, " BODY "  - {name: e, parent: d, position: [0.1, 0, -0.3], joint: ball, " BODY
    "  - {name: f, parent: e, position: [0.1, 0, -0.3], joint: {type: prismatic, axis: [1, 0, 1]}, " BODY
    "  - {name: g, parent: f, position: [0, 0, -0.2], euler: [0.2, 0, 0], joint: planar, " BODY
    "  - {name: h, parent: g, position: [0, 0, -0.2], joint: {type: revolute, axis: [0, 1, 0]}, " BODY
    "motors: [{joint: d, type: torque}, {joint: h, type: torque}, {link: a, type: thrust}]\n"
    "optimize:\n  cost:\n"
    "    - {term: posture, weight: 1, target: [1, 2, 3, 0.1, 0.7, -0.5, 0.2, 1, 0, 0.3, 0, 0, 0, 0, 0.5, 0.5, 0.5, -0.5,\n"
    "       0, 0, 0, 0, 0]}\n"
    "    - {term: velocity, weight: 1, target: 0.3}\n"
    "    - {term: control, weight: 1}\n"
    "    - {term: place, link: h, point: [0.1, 0.2, 0.3], target: [0.4, 0.5, 0.6], weight: 1}\n"
    "    - {term: orientation, link: h, target: [0.5, -0.5, 0.5, 0.5], weight: 1}\n"
    "    - {term: com, target: [0.4, 0.5, 0.6], weight: 1}\n"
    "    - {term: point_velocity, link: h, point: [0.1, 0.2, 0.3], target: [0.4, 0.5, 0.6], weight: 1}\n"
    "    - {term: point_velocity, link: b, target: [0.4, 0.5, 0.6], weight: 1}\n";

enum { TERMS = 8, KNOTS = 3, MOST = 64 };
static const double KNOT = 0.25, STEP = 1e-6;

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    costs *costs;
    int nq, nv, nu;
} problem;

static problem open_problem(void)
{
    ctn_error err;
    problem p = {.scene = ctn_scene_parse(scene_text, strlen(scene_text), "costs", &err)};
    ck_assert_msg(p.scene != NULL, "%s", err.message);
    p.model = ctn_model_create(p.scene, &err);
    ck_assert_msg(p.model != NULL, "%s", err.message);
    p.costs = costs_open(cost_terms_of(p.scene), p.model, KNOTS, KNOT, &err);
    ck_assert_msg(p.costs != NULL, "%s", err.message);
    p.nq = ctn_model_nq(p.model), p.nv = ctn_model_nv(p.model), p.nu = ctn_model_ntarget(p.model);
    ck_assert_int_eq(p.scene->optimize.ncost, TERMS);
    return p;
}

static void close_problem(problem *p) { costs_close(p->costs), ctn_model_free(p->model), ctn_scene_free(p->scene); }

/// A random state x [nq + nv] and controls.
static void draw(const problem *p, uint64_t seed, double *x, double *u)
{
    rng r = {seed};
    double start[MOST], turn[MOST];
    ctn_model_initial_state(p->model, start, x + p->nq);
    for (int i = 0; i < p->nv; i++) turn[i] = rng_uniform(&r, -1, 1), x[p->nq + i] = rng_uniform(&r, -2, 2);
    for (int i = 0; i < p->nu; i++) u[i] = rng_uniform(&r, -1, 1);
    tangent_move(p->model, start, turn, 1, x);
}

/// The cost of a knot where coordinate i of x (in tangent coordinates) or u is moved by `by`.
static double moved(const problem *p, const double *x, const double *u, bool control, int i, double by)
{
    double to[2 * MOST], told[MOST], along[MOST] = {0}, cost;
    memcpy(to, x, (size_t)(p->nq + p->nv) * sizeof *x), memcpy(told, u, (size_t)p->nu * sizeof *u);
    if (control) told[i] += by;
    else if (i >= p->nv) to[p->nq + i - p->nv] += by;
    else along[i] = 1, tangent_move(p->model, x, along, by, to);
    costs_cost(p->costs, 1, (const int[]){1}, to, told, &cost);
    return cost;
}

/// A list of terms costs what each of them alone does.
START_TEST(lists)
{
    problem p = open_problem();
    const cost_terms all = cost_terms_of(p.scene);
    double x[2 * MOST], u[MOST], whole, sum = 0;
    draw(&p, 5, x, u);
    costs_cost(p.costs, 1, (const int[]){1}, x, u, &whole);
    for (int k = 0; k < all.count; k++) {
        ctn_error err;
        cost_terms one = all;
        double cost;
        one.term += k, one.count = 1;
        costs *const c = costs_open(one, p.model, KNOTS, KNOT, &err);
        ck_assert_msg(c != NULL, "%s", err.message);
        ck_assert_int_eq(costs_squares(c), all.term[k].count);
        costs_cost(c, 1, (const int[]){1}, x, u, &cost), costs_close(c);
        sum += cost;
    }
    ck_assert_double_eq_tol(sum, whole, 1e-13 * whole);
    close_problem(&p);
}
END_TEST

/// Each square alone: its gradient is that of the cost, w r J; and with one row J, w J'J is the gradient's square over twice the cost.
START_TEST(derivatives)
{
    problem p = open_problem();
    const int n = 2 * p.nv, m = p.nu;
    double x[2 * MOST], u[MOST], gx[2 * MOST], gu[MOST], gxx[4 * MOST * MOST], guu[MOST * MOST], gux[2 * MOST * MOST], cost;
    const scene_cost *const all = p.scene->optimize.cost;
    const int term = _i / 4;
    draw(&p, 17 + (uint64_t)_i, x, u);
    for (int k = 0; k < TERMS; k++) memset(all[k].weight, 0, (size_t)all[k].count * sizeof *all[k].weight);
    for (int j = 0; j < all[term].count; j++) {
        ctn_error err;
        all[term].weight[j] = 3;
        costs_close(p.costs);
        p.costs = costs_open(cost_terms_of(p.scene), p.model, KNOTS, KNOT, &err);
        ck_assert_msg(p.costs, "%s", err.message);
        costs_cost(p.costs, 1, (const int[]){1}, x, u, &cost);
        ck_assert_msg(cost > 1e-9, "term %d, square %d costs %g", term, j, cost);
        costs_derivatives(p.costs, 1, (const int[]){1}, x, u, &(plant_costs){gx, gu, gxx, guu, gux});
        for (int control = 0; control < 2; control++) {
            const double *const g = control ? gu : gx, *const second = control ? guu : gxx;
            const int size = control ? m : n;
            for (int a = 0; a < size; a++) {
                const double slope = (moved(&p, x, u, control, a, STEP) - moved(&p, x, u, control, a, -STEP)) / (2 * STEP);
                ck_assert_msg(fabs(slope - g[a]) < 1e-7 * fmax(1, cost), "%s, square %d by %s %d: %.12g, expected %.12g",
                              cost_term_name(all[term].term), j, control ? "u" : "x", a, g[a], slope);
                for (int b = 0; b < size; b++)
                    ck_assert_double_eq_tol(second[a * size + b], g[a] * g[b] / (2 * cost), 1e-9 * fmax(1, cost));
            }
        }
        for (int a = 0; a < m * n; a++) ck_assert_double_eq(gux[a], 0);
        all[term].weight[j] = 0;
    }
    close_problem(&p);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("costs");
    TCase *const c = tcase_create("costs");
    tcase_add_loop_test(c, derivatives, 0, 4 * TERMS);
    tcase_add_test(c, lists);
    suite_add_tcase(s, c);
    return run_suite(s);
}
