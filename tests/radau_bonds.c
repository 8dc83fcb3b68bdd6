/// Radau of several stages with loops and couplings: the order of places and velocities, what loops open by, the energy of a linkage,
/// what is left to order 2, and the same bits by every engine.
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

static ctn_batch_config radau(int stages, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = stages, cfg.dt = dt, cfg.tolerance = 1e-14;
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
    int steps;  // of the coarser of two runs
} bond_case;

static const bond_case cases[] = {
    {"four-bar", FOUR_BAR("", "", ""), 0.4, 40},
    {"four-bar in motion", FOUR_BAR(", v0: 6", ", v0: -5.502659573854792", ", v0: 3.283454317669063"), 0.15, 40},
    {"point", BALLS "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n", 0.3, 40},
    {"weld", BALLS LOOSE("f", "0.9") "loops: [{type: weld, a: d, b: f, at: [0.1, 0.02, 0.03]}]\n", 0.3, 40},
    {"hinge", BALLS LOOSE("f", "0.9") "loops: [{type: hinge, a: f, b: c, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n", 0.3, 40},
    {"slider", BALLS LOOSE("f", "0.9") "loops: [{type: slider, a: d, b: f, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n", 0.3, 40},
    {"distance",
     BALLS LOOSE("f",
                 "0.9") "loops: [{type: distance, a: d, b: f, at_a: [0.3, 0.1, 0], at_b: [0.3, 0, 0.2]},\n"
                        "  {type: distance, a: b, b: world, at_a: [0.3, 0.1, 0], at_b: [0.3, 0.4, 0.2], compliance: 0.01}]\n",
     0.3, 40},
    {"couplings",
     HINGES "couplings: [{joint: b, follows: a, poly: [0.1, 0.5, 0.3, -0.2]}, {joint: d, follows: c, ratio: -2, compliance: "
            "0.1}]\n",
     0.3, 40},
    {"Stewart platform", NULL, 0.5, 40}};
enum { CASES = sizeof cases / sizeof *cases };

/// Of a platform the servos are softer than the scene's: what is stiff lowers the order of stages (docs/integrators.md).
static ctn_model *model_of_case(const bond_case *c)
{
    static char text[20000];
    if (c->text) return model_of(c->text);
    FILE *const file = fopen(CATENA_SOURCE_DIR "/scenes/stewart-platform.yaml", "r");
    ck_assert(file != NULL);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file), text[n] = 0;
    for (char *at = text; (at = strstr(at, "kp: 2e5, kd: 2e4")) != NULL;) memcpy(at, "kp: 2e3, kd: 1e2", 16);
    return model_of(text);
}

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

static double farthest(const double *x, const double *y, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++) most = worse(most, fabs(x[k] - y[k]));
    return most;
}

/// Steps of order 2, extrapolated to none.
static void reference(const ctn_model *m, double duration, ended *to)
{
    enum { LEVELS = 5 };
    ended at[LEVELS];
    for (int k = 0; k < LEVELS; k++) {
        ctn_batch_config cfg = radau(1, duration / (200 << k));
        run(m, cfg, duration, &at[k]);
    }
    for (int power = 1; power < LEVELS; power++)
        for (int k = 0; k < LEVELS - power; k++) {
            combine(at[k].q, at[k].q, at[k + 1].q, power, m->nq);
            combine(at[k].v, at[k].v, at[k + 1].v, power, m->nv);
        }
    *to = at[0];
}

/// Of places and velocities 2 s - 1, of s = 2 and 3, against 4 stages, which agree with what steps of order 2 come to.
START_TEST(order)
{
    const bond_case *const c = &cases[_i];
    ctn_model *const m = model_of_case(c);
    ended best, other, end;
    ck_assert(m->nq < MOST && m->nrow < MOST);
    run(m, radau(4, c->duration / 80), c->duration, &best);
    reference(m, c->duration, &other);
    const double off = coordinate_distance(m, best.q, other.q), off_v = farthest(best.v, other.v, m->nv);
    ck_assert_msg(off < 1e-6 && off_v < 3e-5, "%s: 4 stages are off by %g and %g", c->name, off, off_v);
    for (int stages = 2; stages < 4; stages++) {
        double error[2][2];
        for (int k = 0; k < 2; k++) {
            const ctn_step_stats s = run(m, radau(stages, c->duration / (c->steps << k)), c->duration, &end);
            error[0][k] = coordinate_distance(m, end.q, best.q), error[1][k] = farthest(end.v, best.v, m->nv);
            ck_assert_msg(!s.fewer_stages && s.substeps == s.steps, "%s: %ld steps of order 2", c->name, s.fewer_stages);
        }
        for (int i = 0; i < 2; i++) {
            const double found = log2(error[i][0] / error[i][1]), want = 2 * stages - 1;
            printf("%s, %d stages: order %.2f of %s, error %.2g\n", c->name, stages, found, i ? "v" : "q", error[i][1]);
            ck_assert_msg(error[i][1] < 1e-11 || (found > want - 0.5 && found < want + 0.7), "%s, %d stages: order %.2f of %s",
                          c->name, stages, found, i ? "v" : "q");
        }
    }
    ctn_model_free(m);
}
END_TEST

/// Velocities that are read keep to the loops: the energy that they have is that of the state.
START_TEST(velocities_keep_to_loops)
{
    ctn_model *const m = model_of(cases[1].text);
    ctn_batch_config cfg = radau(2, 0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[2][3], v[3];
    for (int k = 0; k < 20; k++) {
        const double e = 1e-6;
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, q[0], v);
        double gap[2][2];
        for (int side = 0; side < 2; side++) {
            for (int j = 0; j < 3; j++) q[1][j] = q[0][j] + (side ? e : -e) * v[j];
            // crank + rod against ground + rocker; axes are [0, -1, 0]
            gap[side][0] = 0.2 * cos(q[1][0]) + 0.5 * cos(q[1][0] + q[1][1]) - 0.5 - 0.35 * cos(q[1][2]);
            gap[side][1] = 0.2 * sin(q[1][0]) + 0.5 * sin(q[1][0] + q[1][1]) - 0.35 * sin(q[1][2]);
        }
        for (int j = 0; j < 2; j++)
            ck_assert_msg(fabs(gap[1][j] - gap[0][j]) < 2 * e * 1e-7, "step %d: the loop opens by %g m/s", k,
                          (gap[1][j] - gap[0][j]) / (2 * e));
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
    ctn_batch_config cfg = radau(2, 0.05);
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

/// 3.09 J from the height of the start down to rest, of which order 2 takes 3.05.
START_TEST(a_linkage_keeps_its_energy)
{
    ctn_model *const m = model_of(cases[0].text);
    const double two = lost(m, radau(2, 1. / 240)), three = lost(m, radau(3, 1. / 240));
    printf("lost: %g J by 2 stages, %g J by 3\n", two, three);
    ck_assert_msg(two > 0 && two < 5e-3 && three < 1e-5 && three > -1e-6, "lost: %g J by 2 stages, %g J by 3", two, three);
    ctn_model_free(m);
}
END_TEST

/// Large steps of closed linkages go on, and gain nothing.
START_TEST(large_steps)
{
    static const double dt[] = {0.02, 0.05, 0.1};
    for (size_t k = 0; k < sizeof dt / sizeof *dt; k++) {
        ctn_model *const m = model_of_case(&cases[_i]);
        ended end;
        const ctn_step_stats s = run(m, radau(2, dt[k]), 100 * dt[k], &end);
        printf("%s, %g s: %ld of %ld parts by order 2\n", cases[_i].name, dt[k], s.fewer_stages, s.substeps);
        if (!m->nmotor)
            ck_assert_msg(s.energy_max < s.energy_before + 0.02 * fabs(s.energy_before) + 0.02, "%s: from %g up to %g J",
                          cases[_i].name, s.energy_before, s.energy_max);
        ctn_model_free(m);
    }
}
END_TEST

/// Springs and tendons, ground below, and more than the border holds: all of order 2.
START_TEST(others_are_left_to_order_2)
{
    static const char *const texts[] = {HINGES "tendons: [{joints: {a: 0.1, b: -0.05, d: 0.2}, stiffness: 500}]\n"
                                               "couplings: [{joint: b, follows: a, ratio: 2}]\n",
                                        "catena: 1\nground: {height: -5}\nlinks:\n" CHAIN(
                                            "joint: ball") "  - {name: e, position: [3, 0, 1], joint: free, density: 1000, "
                                                           "shapes: [{type: sphere, radius: 0.1}]}\n"
                                                           "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n"};
    ctn_model *const m = model_of(texts[_i]);
    ended end;
    const ctn_step_stats s = run(m, radau(2, 0.01), 0.1, &end);
    ck_assert_msg(s.fewer_stages == 10, "%ld steps of order 2", s.fewer_stages);
    ctn_model_free(m);
}
END_TEST

// ---- bits

enum { WORLDS = 5 };

static void run_worlds(const ctn_model *m, const char *engine, int stages, int first, int worlds, double *q, double *v)
{
    ctn_batch_config cfg = radau(stages, 0.01);
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
    ctn_model *const m = model_of_case(&cases[_i]);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const q = calloc(2 * WORLDS * nq, sizeof *q), *const v = calloc(2 * WORLDS * nv, sizeof *v),
                  *const x = q + WORLDS * nq, *const y = v + WORLDS * nv;
    for (int w = 0; w < WORLDS; w++) run_worlds(m, "scalar", 2 + _i % 2, w, 1, q + (size_t)w * nq, v + (size_t)w * nv);
    ck_assert(memcmp(q, q + nq, nq * sizeof *q) != 0);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        if (!engine_find(engines[e], WORLDS, NULL)) continue;
        run_worlds(m, engines[e], 2 + _i % 2, 0, WORLDS, x, y);
        ck_assert_msg(!memcmp(x, q, WORLDS * nq * sizeof *q) && !memcmp(y, v, WORLDS * nv * sizeof *v), "%s: other bits by %s",
                      cases[_i].name, engines[e]);
    }
    free(q), free(v), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("radau_bonds");
    TCase *const t = tcase_create("radau_bonds");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, order, 0, CASES);
    tcase_add_test(t, velocities_keep_to_loops);
    tcase_add_loop_test(t, loops_stay_closed, 0, 3);
    tcase_add_test(t, a_linkage_keeps_its_energy);
    tcase_add_loop_test(t, large_steps, 0, CASES);
    tcase_add_loop_test(t, others_are_left_to_order_2, 0, 2);
    tcase_add_loop_test(t, same_bits, 0, CASES);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
