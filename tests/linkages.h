/// Linkages that close, with what tests of methods ask of them: runs, what steps of order 2 come to, whether loops stay closed, what
/// energy is lost, and the same bits by every engine.
#ifndef CATENA_TESTS_LINKAGES_H
#define CATENA_TESTS_LINKAGES_H

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

static const bond_case linkages[] = {
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
     0.3}};
enum { LINKAGES = sizeof linkages / sizeof *linkages };

// ---- runs

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
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = duration / (200 << k), cfg.tolerance = 1e-14;
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

// ---- loops

/// X of a point of a link, of the world: -1.
static void place(const double *R, const double *p, int link, const double *at, double *x)
{
    for (int i = 0; i < 3; i++) {
        x[i] = link < 0 ? at[i] : p[3 * link + i];
        for (int j = 0; j < 3 && link >= 0; j++) x[i] += R[9 * link + 3 * i + j] * at[j];
    }
}

/// Points that are to stay together, in steps so large that they are braked: no drift comes of it. loop: 0 to 2.
static void check_stays_closed(int loop, ctn_batch_config cfg)
{
    static const struct {
        int of, a, b;
        double at_a[3], at_b[3];
    } closed[] = {
        {0, 1, 2, {0.5, 0, 0}, {0.35, 0, 0}}, {2, 3, -1, {0.3, 0.02, 0}, {0, 0, 0}}, {3, 3, 4, {0.1, 0.02, 0.03}, {0, 0, 0}}};
    ctn_model *const m = model_of(linkages[closed[loop].of].text);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double *const q = calloc((size_t)m->nq, sizeof *q), *const R = calloc((size_t)m->nlink * 9, sizeof *R),
                  *const p = calloc((size_t)m->nlink * 3, sizeof *p), at_b[3], a[3], b[3], worst = 0;
    const int j = closed[loop].b;
    cfg.dt = 0.05;
    cfg.tolerance = ctn_batch_config_default().tolerance;
    ctn_batch *const batch = batch_with(m, &cfg);
    memcpy(at_b, closed[loop].at_b, sizeof at_b);
    for (int step = 0; step <= 200; step++) {
        ctn_batch_state(batch, q, NULL), ctn_forward_kinematics(dyn, 1, q, R, p);
        place(R, p, closed[loop].a, closed[loop].at_a, a);
        for (int k = 0; k < 3 && !step && loop; k++) {  // where it is at the start
            at_b[k] = j < 0 ? a[k] : 0;
            for (int l = 0; l < 3 && j >= 0; l++) at_b[k] += R[9 * j + 3 * l + k] * (a[l] - p[3 * j + l]);
        }
        place(R, p, j, at_b, b);
        for (int k = 0; k < 3; k++) worst = worse(worst, fabs(a[k] - b[k]));
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, NULL), CTN_OK);
    }
    ck_assert_msg(worst < 1e-8, "%s opens by %g m", linkages[closed[loop].of].name, worst);
    free(q), free(R), free(p), ctn_batch_free(batch), ctn_dynamics_free(dyn), ctn_model_free(m);
}

/// What a four-bar that swings freely for 10 s at 1/240 s has lost of its energy in motion, J.
static double lost(const ctn_model *m, ctn_batch_config cfg)
{
    ended end;
    const ctn_step_stats s = run(m, cfg, 10, &end);
    ck_assert_msg(s.energy_max < s.energy_before + 1e-4, "it gains %g J", s.energy_max - s.energy_before);
    return s.energy_before - s.energy_after;
}

// ---- bits

enum { WORLDS = 5 };

static void run_worlds(const ctn_model *m, ctn_batch_config cfg, const char *engine, int first, int worlds, double *q, double *v)
{
    cfg.dt = 0.01, cfg.worlds = worlds, cfg.engine = engine;
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
static void check_same_bits(const ctn_model *m, const char *name, ctn_batch_config cfg)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const q = calloc(2 * WORLDS * nq, sizeof *q), *const v = calloc(2 * WORLDS * nv, sizeof *v),
                  *const x = q + WORLDS * nq, *const y = v + WORLDS * nv;
    for (int w = 0; w < WORLDS; w++) run_worlds(m, cfg, "scalar", w, 1, q + (size_t)w * nq, v + (size_t)w * nv);
    ck_assert(memcmp(q, q + nq, nq * sizeof *q) != 0);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        if (!engine_find(engines[e], WORLDS, NULL)) continue;
        run_worlds(m, cfg, engines[e], 0, WORLDS, x, y);
        ck_assert_msg(!memcmp(x, q, WORLDS * nq * sizeof *q) && !memcmp(y, v, WORLDS * nv * sizeof *v), "%s: other bits by %s",
                      name, engines[e]);
    }
    free(q), free(v);
}

#endif
