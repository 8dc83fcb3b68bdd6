/// Generalised-alpha with loops, couplings, tendons and springs between links: its order against another method, what loops open
/// by, the energy of a linkage, stops, and the same bits by every engine.
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

static ctn_batch_config alpha(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.dt = dt, cfg.tolerance = 1e-12;
    return cfg;
}

// ---- models

#define LINK(name, rest, z)                                                                                                      \
    "  - {name: " name ", " rest ", mass: 1, com: [0.1, 0.03, " z "], inertia: [0.02, 0.03, 0.04, 0.002, 0, 0.001]}\n"
#define CHAIN(joint)                                                                                                             \
    LINK("a", "position: [0, 0, 1], " joint, "0")                                                                                \
    LINK("b", "parent: a, position: [0.3, 0, 0.02], " joint, "0.02")                                                             \
    LINK("c", "parent: b, position: [0.3, 0.02, 0], " joint, "0")                                                                \
    LINK("d", "parent: c, position: [0.3, 0, 0.1], " joint, "0.01")
#define LOOSE(name, x)                                                                                                           \
    "  - {name: " name ", position: [" x                                                                                         \
    ", 0.1, 0.9], joint: free, mass: 0.7, com: [0.02, 0, 0.05], inertia: [0.01, 0.02, 0.02, "                                    \
    "0, 0.001, 0]}\n"
#define BALLS "catena: 1\nlinks:\n" CHAIN("joint: ball")
#define HINGES "catena: 1\nlinks:\n" CHAIN("joint: {type: revolute, axis: [0, 1, 1]}")

/// Free, with rates of its joints.
#define FOUR_BAR(crank, rod, rocker)                                                                                             \
    "catena: 1\ndefaults: {joint: {type: revolute, axis: [0, -1, 0]}, density: 2000}\nlinks:\n"                                  \
    "  - {name: crank, joint: {q0: 2.2" crank "}, shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n"  \
    "  - {name: rod, parent: crank, position: [0.2, 0, 0], joint: {q0: -1.8792025567767237" rod "}, shapes: [{type: capsule, "   \
    "from: [0, 0, 0], to: [0.5, 0, 0], radius: 0.015}]}\n"                                                                       \
    "  - {name: rocker, position: [0.5, 0, 0], joint: {q0: 1.992336156794888" rocker "}, shapes: [{type: capsule, from: [0, 0, " \
    "0], to: [0.35, 0, 0], radius: 0.02}]}\n"                                                                                    \
    "loops:\n  - {type: hinge, a: rod, b: rocker, at: [0.5, 0, 0], at_b: [0.35, 0, 0], axis: [0, 1, 0]}\n"

typedef struct {
    const char *name, *text;
    double duration;
} bond_case;

static const bond_case cases[] = {
    {"four-bar", FOUR_BAR("", "", ""), 0.4},
    {"four-bar in motion", FOUR_BAR(", v0: 6", ", v0: -5.502659573854792", ", v0: 3.283454317669063"), 0.15},
    {"point", BALLS "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n", 0.3},
    {"weld", BALLS LOOSE("f", "0.9") "loops: [{type: weld, a: d, b: f, at: [0.1, 0.02, 0.03]}]\n", 0.3},
    {"hinge", BALLS LOOSE("f", "0.9") "loops: [{type: hinge, a: f, b: c, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n", 0.3},
    {"slider", BALLS LOOSE("f", "0.9") "loops: [{type: slider, a: d, b: f, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n", 0.3},
    {"distance",
     BALLS LOOSE("f",
                 "0.9") "loops: [{type: distance, a: d, b: f, at_a: [0.3, 0.1, 0], at_b: [0.3, 0, 0.2]},\n"
                        "  {type: distance, a: b, b: world, at_a: [0.3, 0.1, 0], at_b: [0.3, 0.4, 0.2], compliance: 0.01}]\n",
     0.3},
    {"couplings",
     HINGES "couplings: [{joint: b, follows: a, poly: [0.1, 0.5, 0.3, -0.2]}, {joint: d, follows: c, ratio: -2, compliance: "
            "0.1}]\n",
     0.3},
    {"tendons", HINGES "tendons: [{joints: {a: 0.1, b: -0.05, d: 0.2}, stiffness: 500, damping: 20, rest: 0.01}]\n", 0.3},
    {"paths",
     BALLS LOOSE("f",
                 "0.9") "tendons: [{name: t, path: [{link: world, at: [0, 0.1, 1.1]}, {link: b, at: [0.1, 0.05, 0.1]}, {link: "
                        "b, at: [0.2, 0.1, 0]}, {link: d, at: [0.3, 0, 0.1]}, {link: f}], stiffness: 500, damping: 20, rest: "
                        "1.5},\n  {name: w, path: [{link: world}, {link: f, at: [0.1, 0, 0]}]}]\n"
                        "motors: [{tendon: t, type: position, kp: 300, kd: 30, target: 3.1, gear: 2}, {tendon: w, type: "
                        "velocity, kd: 50, target: 0.3}]\n",
     0.3},
    {"springs",
     BALLS LOOSE("f",
                 "0.9") "springs: [{link: d, b: f, point: [0.3, 0.1, 0], b_point: [0.3, 0, 0.2], stiffness: 300, damping: 30},"
                        "\n  {link: a, b: d, point: [0.1, 0.1, 0], stiffness: 30, damping: 10}]\n",
     0.3}};
enum { CASES = sizeof cases / sizeof *cases };

// ---- order

enum { MOST = 64 };

typedef struct {
    double q[MOST], v[MOST], f[MOST];  // f: forces of equations
} ended;

static ctn_step_stats run(const ctn_model *m, ctn_batch_config cfg, double duration, ended *end)
{
    ctn_step_stats s;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_batch_step(b, (int)lrint(duration / cfg.dt), &s, NULL), ctn_batch_state(b, end->q, end->v);
    ctn_batch_equation_forces(b, end->f, NULL);
    ck_assert_msg(!s.frozen, "frozen after %ld steps", s.steps);
    ctn_batch_free(b);
    return s;
}

static void combine(double *to, const double *coarse, const double *fine, int power, int n)
{
    for (int k = 0; k < n; k++) to[k] = fine[k] + (fine[k] - coarse[k]) / ((1 << power) - 1);
}

/// Steps of order 2, extrapolated to none: their error is a series in h, h^2, ..
static void reference(const ctn_model *m, double duration, ended *to)
{
    enum { LEVELS = 5 };
    ended at[LEVELS];
    for (int k = 0; k < LEVELS; k++) {
        ctn_batch_config cfg = alpha(duration / (200 << k));
        cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.tolerance = 1e-14;
        run(m, cfg, duration, &at[k]);
    }
    for (int power = 1; power < LEVELS; power++)
        for (int k = 0; k < LEVELS - power; k++) {
            combine(at[k].q, at[k].q, at[k + 1].q, power, m->nq);
            combine(at[k].f, at[k].f, at[k + 1].f, power, m->nrow);
            combine(at[k].v, at[k].v, at[k + 1].v, power, m->nv);
        }
    *to = at[0];
}

static double farthest(const double *x, const double *y, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = worse(most, fabs(x[k] - y[k]));
    return most;
}

/// Of coordinates, velocities and the forces of equations.
START_TEST(order)
{
    const bond_case *const c = &cases[_i];
    ctn_model *const m = model_of(c->text);
    ended want, end;
    double error[3][2];
    ck_assert(m->nq < MOST && m->nrow < MOST);
    reference(m, c->duration, &want);
    for (int k = 0; k < 2; k++) {
        const ctn_step_stats s = run(m, alpha(c->duration / (320 << k)), c->duration, &end);
        error[0][k] = coordinate_distance(m, end.q, want.q), error[1][k] = farthest(end.v, want.v, m->nv);
        error[2][k] = farthest(end.f, want.f, m->nrow);
        ck_assert_msg(s.fewer_stages == 1 && s.substeps == s.steps, "%s: %ld steps of order 2", c->name, s.fewer_stages);
    }
    for (int i = 0; i < (m->nrow ? 3 : 2); i++) {
        static const char *const of[] = {"q", "v", "forces"};
        const double found = log2(error[i][0] / error[i][1]);
        ck_assert_msg(found > 1.75 && found < 2.6, "%s: order %.2f of %s, errors %g and %g", c->name, found, of[i], error[i][0],
                      error[i][1]);
    }
    ctn_model_free(m);
}
END_TEST

/// A body that runs round on a rod at 2 m/s has no energy about its own centre of mass: what it has is its scale, and no step of it is
/// left to order 2 but the first one. What the rod bears rings no longer than 10 steps.
START_TEST(runs_round)
{
    ctn_model *const m =
        model_of("catena: 1\ngravity: [0, 0, 0]\nlinks: [{name: a, joint: free, mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0]}]\n"
                 "loops: [{type: distance, a: a, b: world, at_a: [0, 0, 0], at_b: [1, 0, 0]}]\nstate: {v: [0, 2, 0, 0, 0, 0]}\n");
    const ctn_batch_config cfg = alpha(0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    for (int k = 0; k < 20; k++) {
        double f;
        ctn_step_stats s;
        ck_assert(ctn_batch_step(b, 1, &s, NULL) == CTN_OK && ctn_batch_equation_forces(b, &f, NULL) == CTN_OK);
        ck_assert_msg(s.fewer_stages == !k && (k < 10 || fabs(fabs(f) - 4) < 0.04), "step %d, of order 2 %ld: %g N", k,
                      s.fewer_stages, f);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- what loops open by

/// X of a point of a link, of the world: -1.
static void place(const double *R, const double *p, int link, const double *at, double *x)
{
    for (int i = 0; i < 3; i++) {
        x[i] = link < 0 ? at[i] : p[3 * link + i];
        for (int j = 0; j < 3 && link >= 0; j++) x[i] += R[9 * link + 3 * i + j] * at[j];
    }
}

/// Points that are to stay together, in steps so large that they are braked: no drift comes of it.
START_TEST(loops_stay_closed)
{
    static const struct {
        int of, a, b;
        double at_a[3], at_b[3];
    } loops[] = {
        {0, 1, 2, {0.5, 0, 0}, {0.35, 0, 0}}, {2, 3, -1, {0.3, 0.02, 0}, {0, 0, 0}}, {3, 3, 4, {0.1, 0.02, 0.03}, {0, 0, 0}}};
    ctn_model *const m = model_of(cases[loops[_i].of].text);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double *const q = calloc((size_t)m->nq, sizeof *q), *const R = calloc((size_t)m->nlink * 9, sizeof *R),
                  *const p = calloc((size_t)m->nlink * 3, sizeof *p), at_b[3], a[3], b[3], worst = 0;
    const int j = loops[_i].b;
    ctn_batch_config cfg = alpha(0.05);
    cfg.tolerance = ctn_batch_config_default().tolerance;
    ctn_batch *const batch = batch_with(m, &cfg);
    memcpy(at_b, loops[_i].at_b, sizeof at_b);
    for (int step = 0; step <= 200; step++) {
        ctn_batch_state(batch, q, NULL), ctn_forward_kinematics(dyn, 1, q, R, p);
        place(R, p, loops[_i].a, loops[_i].at_a, a);
        for (int k = 0; k < 3 && !step && _i; k++) {  // where it is at the start
            at_b[k] = j < 0 ? a[k] : 0;
            for (int l = 0; l < 3 && j >= 0; l++) at_b[k] += R[9 * j + 3 * l + k] * (a[l] - p[3 * j + l]);
        }
        place(R, p, j, at_b, b);
        for (int k = 0; k < 3; k++) worst = worse(worst, fabs(a[k] - b[k]));
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, NULL), CTN_OK);
    }
    ck_assert_msg(worst < 1e-8, "%s opens by %g m", cases[loops[_i].of].name, worst);
    free(q), free(R), free(p), ctn_batch_free(batch), ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

// ---- energy

/// What a four-bar that swings freely for 10 s at 1/240 s has lost of its energy in motion, J.
static double lost(const ctn_model *m, ctn_batch_config cfg)
{
    ended end;
    const ctn_step_stats s = run(m, cfg, 10, &end);
    ck_assert_msg(s.energy_max < s.energy_before + 1e-4, "it gains %g J", s.energy_max - s.energy_before);
    return s.energy_before - s.energy_after;
}

/// 3.09 J from the height of the start down to rest.
START_TEST(a_linkage_keeps_its_energy)
{
    ctn_model *const m = model_of(cases[0].text);
    ctn_batch_config cfg = alpha(1. / 240), plain = cfg;
    plain.method = CTN_COLLOCATION, plain.order = 2;
    const double braked = lost(m, plain), by_alpha = lost(m, cfg);
    cfg.rho = 0.3;
    const double by_more = lost(m, cfg);
    ck_assert_msg(braked > 2.9 && by_alpha > 0 && by_alpha < 0.09 && by_more < 0.05,
                  "lost: %g J by order 2, %g and %g J by alpha", braked, by_alpha, by_more);
    ctn_model_free(m);
}
END_TEST

/// A damped spring between links that fly apart and turn: what it takes is what is missing, to the second order.
START_TEST(dampers_are_in_the_books)
{
    ctn_model *const m = model_of(cases[_i].text);
    double missing[2];
    ended end;
    for (int k = 0; k < 2; k++) {
        const ctn_step_stats s = run(m, alpha(0.3 / (300 << k)), 0.3, &end);
        missing[k] = s.created;
    }
    ck_assert_msg(missing[0] / missing[1] > 3, "%s: %g and %g J are missing", cases[_i].name, missing[0], missing[1]);
    ctn_model_free(m);
}
END_TEST

/// A weight falls into a cord, which has a stop, and is thrown up again: steps in which it comes to it or leaves it are those of
/// order 2, as the next one.
START_TEST(stops_are_left_to_order_2)
{
    ctn_model *const m = model_of("catena: 1\nlinks: [{name: a, position: [0, 0, -1], joint: {type: prismatic, axis: [0, 0, 1]}, "
                                  "mass: 2, inertia: [0, 0, 0, 0, 0, 0]}]\n"
                                  "tendons: [{path: [{link: world}, {link: a}], range: [0, 1.2]}]\n");
    ended end;
    const ctn_step_stats s = run(m, alpha(0.005), 10, &end);
    ck_assert_msg(s.fewer_stages > 20 && s.fewer_stages < 60, "%ld steps of order 2", s.fewer_stages);
    ck_assert_msg(s.energy_max < s.energy_before + 1e-9, "from %g up to %g J", s.energy_before, s.energy_max);
    ctn_model_free(m);
}
END_TEST

// ---- bits

enum { WORLDS = 5 };

static void run_worlds(const ctn_model *m, const char *engine, int first, int worlds, double *q, double *v)
{
    ctn_batch_config cfg = alpha(0.01);
    cfg.worlds = worlds, cfg.engine = engine;
    ctn_batch *const b = batch_with(m, &cfg);
    for (int w = 0; w < worlds; w++) {
        ctn_model_initial_state(m, q + w * m->nq, v + w * m->nv);
        for (int k = 0; k < m->nv; k++) v[w * m->nv + k] += 0.1 * (first + w) * (k % 3);
    }
    ctn_error err;
    ck_assert_msg(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK, "%s", err.message);
    ctn_batch_step(b, 20, NULL, NULL), ctn_batch_state(b, q, v);
    ctn_batch_free(b);
}

/// Side by side each world has the bits that it has alone.
START_TEST(same_bits)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    ctn_model *const m = model_of(cases[_i].text);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const q = calloc(2 * WORLDS * nq, sizeof *q), *const v = calloc(2 * WORLDS * nv, sizeof *v),
                  *const x = q + WORLDS * nq, *const y = v + WORLDS * nv;
    for (int w = 0; w < WORLDS; w++) run_worlds(m, "scalar", w, 1, q + (size_t)w * nq, v + (size_t)w * nv);
    ck_assert(memcmp(q, q + nq, nq * sizeof *q) != 0);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        if (!engine_find(engines[e], WORLDS, NULL)) continue;
        run_worlds(m, engines[e], 0, WORLDS, x, y);
        ck_assert_msg(!memcmp(x, q, WORLDS * nq * sizeof *q) && !memcmp(y, v, WORLDS * nv * sizeof *v), "%s: other bits by %s",
                      cases[_i].name, engines[e]);
    }
    free(q), free(v), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("alpha_bonds");
    TCase *const t = tcase_create("alpha_bonds");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, order, 0, CASES);
    tcase_add_test(t, runs_round);
    tcase_add_loop_test(t, loops_stay_closed, 0, 3);
    tcase_add_test(t, a_linkage_keeps_its_energy);
    tcase_add_loop_test(t, dampers_are_in_the_books, CASES - 3, CASES);
    tcase_add_test(t, stops_are_left_to_order_2);
    tcase_add_loop_test(t, same_bits, 0, CASES);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
