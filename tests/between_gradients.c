/// Derivatives of steps in which something acts between links (integrators/between_adjoint.h): gradients of runs and Jacobians of
/// steps against differences of the runs themselves.
#include "tests/contact_world.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- scenes

#define BODY "density: 1000, shapes: [{type: capsule, from: [0, 0, 0], to: [0.3, 0, 0], radius: 0.03}]"
#define HINGE(axis) "joint: {type: revolute, axis: " axis "}, "
#define CHAIN(joint_)                                                                                                            \
    "  - {name: a, position: [0, 0, 1], " joint_ BODY "}\n"                                                                      \
    "  - {name: b, parent: a, position: [0.3, 0, 0], " joint_ BODY "}\n"                                                         \
    "  - {name: c, parent: b, position: [0.3, 0, 0], " joint_ BODY "}\n"                                                         \
    "  - {name: d, parent: c, position: [0.3, 0, 0], " joint_ BODY "}\n"
#define LOOSE(name, x) "  - {name: " name ", position: [" x ", 0.1, 1], joint: free, " BODY "}\n"

typedef struct {
    const char *name, *text, *file;
    double dt, fast;  // how fast coordinates are at the start, 1/s
} bond_case;

static const bond_case bond_cases[] = {
    {"four-bar", NULL, "four-bar", 0.01, 1},
    {"ring of balls", "catena: 1\nlinks:\n" CHAIN("joint: ball, ") "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n",
     NULL, 0.02, 2},
    {"weld, two trees",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ") LOOSE("f", "0.9") "loops: [{type: weld, a: d, b: f, at: [0.1, 0.02, 0.03]}]\n",
     NULL, 0.02, 2},
    {"hinge, two trees",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ")
         LOOSE("f", "0.9") "loops: [{type: hinge, a: f, b: c, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n",
     NULL, 0.02, 2},
    {"slider",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ")
         LOOSE("f", "0.9") "loops: [{type: slider, a: d, b: f, at: [0.1, 0.02, 0.03], axis: [1, 2, 3]}]\n",
     NULL, 0.02, 2},
    {"slider on one tree",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ") "loops: [{type: slider, a: a, b: d, at: [0.1, 0.02, 0.03], "
                                                  "axis: [1, 2, 3], compliance: 1e-5}]\n",
     NULL, 0.02, 2},
    {"distance",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ")
         LOOSE("f", "0.9") "loops: [{type: distance, a: d, b: f, at_a: [0.3, 0.1, 0], at_b: [0.3, 0, 0.2]},\n"
                           "  {type: distance, a: b, b: world, at_a: [0.3, 0.1, 0], at_b: [0.3, 0.4, 0.2], compliance: 1e-4}]\n",
     NULL, 0.02, 2},
    {"couplings",
     "catena: 1\nlinks:\n" CHAIN(HINGE("[0, 1, 1]")) "couplings: [{joint: b, follows: a, poly: [0.1, 0.5, 0.3, -0.2]}, "
                                                     "{joint: d, follows: c, ratio: -2, compliance: 1e-3}]\n",
     NULL, 0.02, 2},
    {"tendons",
     "catena: 1\nlinks:\n" CHAIN(HINGE("[0, 1, 1]")) "tendons: [{joints: {a: 0.1, b: -0.05, d: 0.2}, stiffness: 500, "
                                                     "damping: 20, rest: 0.01}, {joints: {c: 0.1}, range: [-0.2, 0.002]}]\n",
     NULL, 0.02, 2},
    {"tendons along paths",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ") LOOSE(
         "f", "0.9") "tendons: [{name: t, path: [{link: world, at: [0, 0.1, 1.1]}, {link: b, at: [0.1, 0.05, 0.1]}, {link: b, "
                     "at: [0.2, 0.1, 0]}, {link: d, at: [0.3, 0, 0.1]}, {link: f}], stiffness: 500, damping: 20, rest: 1.5},\n"
                     "  {name: u, path: [{link: a, at: [0, 0, 0.2]}, {link: c}, {pulley: 2}, {link: f}, {link: a}], range: [0, "
                     "1.12]},\n"
                     "  {name: w, path: [{link: world}, {link: f, at: [0.1, 0, 0]}]}]\n"
                     "motors: [{tendon: t, type: position, kp: 300, kd: 30, target: 3.1, gear: 2, effort: 90}, {tendon: u, type: "
                     "torque, target: -20}, {tendon: w, type: velocity, kd: 50, target: 0.3}]\n",
     NULL, 0.02, 2},
    {"motors on tendons of joints",
     "catena: 1\nlinks:\n" CHAIN(HINGE("[0, 1, 1]")) "tendons: [{name: t, joints: {a: 0.1, b: -0.05, d: 0.2}}]\n"
                                                     "motors: [{tendon: t, type: position, kp: 900, kd: 20, target: 0.1}]\n",
     NULL, 0.02, 2},
    {"springs",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ") LOOSE(
         "f", "0.9") "springs: [{link: d, b: f, point: [0.3, 0.1, 0], b_point: [0.3, 0, 0.2], stiffness: 300, damping: 30},\n"
                     "  {link: a, b: d, point: [0.1, 0.1, 0], stiffness: 30, damping: 10}]\n",
     NULL, 0.02, 2},
    {"Stewart platform", NULL, "stewart-platform", 0.01, 0.2},
    {"leg on the ground", NULL, "cassie-leg", 0.005, 0.2},
};
enum { BOND_CASES = sizeof bond_cases / sizeof *bond_cases };

#define TOUCH "catena: 1\ncontact: {between: links, depth: 0.01, friction: 0.5}\nlinks:\n"
#define BALL_AT(name, at)                                                                                                        \
    "  - {name: " name ", position: " at ", joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n"
#define ROD_AT(name, at)                                                                                                         \
    "  - {name: " name ", position: " at                                                                                         \
    ", joint: free, density: 1000, shapes: [{type: capsule, from: [-0.2, 0, 0], to: [0.2, 0.05, 0], "                            \
    "radius: 0.05}]}\n"
#define BOX_AT(name, at, euler)                                                                                                  \
    "  - {name: " name ", position: " at ", euler: " euler                                                                       \
    ", joint: free, density: 500, shapes: [{type: box, size: [0.3, 0.2, 0.1]}]}\n"
#define PLATE(euler)                                                                                                             \
    "  - {name: plate, joint: fixed, euler: " euler ", shapes: [{type: box, size: [2, 2, 0.2], center: [0, 0, -0.1]}]}\n"

#define EGG_AT(name, at, euler)                                                                                                  \
    "  - {name: " name ", position: " at ", euler: " euler ", joint: free, density: 1000, shapes: [{type: ellipsoid, radii: "    \
    "[0.15, 0.1, 0.08]}]}\n"
/// Links that touch each other.
static const bond_case pair_cases[] = {
    {"balls", TOUCH BALL_AT("a", "[0, 0, 0]") BALL_AT("b", "[0.12, 0.02, 0.145]") BALL_AT("c", "[0.02, 0.19, 0.02]"), NULL, 0.01,
     1},
    {"ball on a plate", TOUCH PLATE("[10 deg, 5 deg, 0]") BALL_AT("a", "[0, 0, 0.097]"), NULL, 0.01, 0.3},
    {"rods",
     TOUCH ROD_AT("a", "[0, 0, 0]") "  - {name: b, parent: a, position: [0.3, 0, 0], joint: ball, density: 1000, shapes: [{type: "
                                    "capsule, from: [0, 0, 0], to: [0.2, 0.05, 0.2], radius: 0.04}]}\n" ROD_AT(
                                        "c", "[0.05, 0.02, 0.095]"),
     NULL, 0.01, 1},
    {"rod on a plate", TOUCH PLATE("[5 deg, -5 deg, 0]") ROD_AT("a", "[0, 0, 0.047]"), NULL, 0.01, 0.3},
    {"box at rest", TOUCH PLATE("[2 deg, 1 deg, 0]") BOX_AT("a", "[0, 0, 0.0495]", "[2 deg, 1 deg, 0]"), NULL, 0.01, 0},
    {"box that slides", TOUCH PLATE("[2 deg, 1 deg, 0]") BOX_AT("a", "[0, 0, 0.0495]", "[2 deg, 1 deg, 0]"), NULL, 0.01, 1},
    {"box that lands", TOUCH PLATE("[0, 0, 0]") BOX_AT("a", "[0, 0, 0.055]", "[1 deg, 1 deg, 20 deg]"), NULL, 0.01, 0.5},
    {"box on a corner", TOUCH PLATE("[0, 0, 0]") BOX_AT("a", "[0, 0, 0.18]", "[40 deg, 30 deg, 20 deg]"), NULL, 0.01, 0.5},
    {"boxes on each other", TOUCH BOX_AT("a", "[0, 0, 0]", "[0, 0, 0]") BOX_AT("b", "[0.05, 0.03, 0.0985]", "[0, 0, 0]"), NULL,
     0.01, 0.2},
    {"boxes across each other",
     TOUCH BOX_AT("a", "[0, 0, 0]", "[0, 0, 0]") BOX_AT("b", "[0.05, 0.03, 0.0985]", "[1 deg, 0, 30 deg]"), NULL, 0.01, 0.2},
    {"box that falls onto another",
     TOUCH PLATE("[0, 0, 0]") BOX_AT("a", "[0, 0, 0.0495]", "[0, 0, 0]")
         BOX_AT("b", "[0.05, 0.03, 0.155]", "[2 deg, 3 deg, 40 deg]"),
     NULL, 0.01, 0.5},
    {"rod across a box", TOUCH PLATE("[0, 0, 0]") BOX_AT("a", "[0, 0, 0.0495]", "[0, 0, 0]") ROD_AT("b", "[0.05, 0.03, 0.145]"),
     NULL, 0.01, 0.3},
    {"cylinder that rolls",
     TOUCH PLATE("[3 deg, 2 deg, 0]") "  - {name: a, position: [0, 0, 0.097], joint: free, density: 1000, shapes: [{type: "
                                      "cylinder, from: [-0.1, 0, 0], to: [0.1, 0, 0], radius: 0.1}]}\n",
     NULL, 0.01, 0.5},
    {"egg",
     TOUCH PLATE("[3 deg, 2 deg, 0]") "  - {name: a, position: [0, 0, 0.077], euler: [0, 10 deg, 0], joint: free, density: 1000, "
                                      "shapes: [{type: ellipsoid, radii: [0.15, 0.1, 0.08]}]}\n",
     NULL, 0.01, 0.5},
    {"eggs and a rod",
     TOUCH EGG_AT("a", "[0, 0, 0]", "[20 deg, 0, 0]") EGG_AT("b", "[0.03, 0.02, 0.155]", "[0, 30 deg, 10 deg]")
         ROD_AT("c", "[0.05, 0.01, -0.118]"),
     NULL, 0.01, 0.5},
    {"egg across the edge of a box",
     TOUCH BOX_AT("a", "[0, 0, 0]", "[0, 0, 0]") EGG_AT("b", "[0.13, 0.03, 0.12]", "[0, 0, 30 deg]"), NULL, 0.01, 0.5},
    {"stack on the ground",
     "catena: 1\nground: true\ncontact: {between: all, depth: 0.01, friction: 0.5}\nlinks:\n" BOX_AT(
         "a", "[0, 0, 0.049]", "[0, 0, 0]") BOX_AT("b", "[0.02, 0.01, 0.147]", "[0, 0, 25 deg]"),
     NULL, 0.01, 0.1},
};
enum { PAIR_CASES = sizeof pair_cases / sizeof *pair_cases };

/// What meets in flight, or not: first friction stands where it is foreseen.
static const bond_case meeting_cases[] = {
    {"boxes that meet", TOUCH BOX_AT("a", "[0, 0, 0]", "[0, 0, 0]") BOX_AT("b", "[0.05, 0.03, 0.113]", "[4 deg, 5 deg, 40 deg]"),
     NULL, 0.01, 1},
    {"boxes that meet fast",
     TOUCH BOX_AT("a", "[0, 0, 0]", "[0, 0, 0]") BOX_AT("b", "[0.05, 0.03, 0.16]", "[10 deg, 15 deg, 40 deg]"), NULL, 0.01, 3},
};

/// Of what stands on the ground, or closes a loop, too, before it meets something.
static const bond_case mixed_cases[] = {
    {"balls that roll and meet",
     "catena: 1\nground: true\ncontact: {between: all, depth: 0.01, friction: 0.5}\nlinks:\n" BALL_AT("a", "[0, 0, 0.098]")
         BALL_AT("b", "[0.205, 0.02, 0.098]") BALL_AT("c", "[0.05, 0.21, 0.103]"),
     NULL, 0.01, 0.5},
    {"ring that meets a ball",
     "catena: 1\ncontact: {between: links, depth: 0.01, friction: 0.5}\nlinks:\n" CHAIN("joint: ball, ")
         BALL_AT("f", "[0.45, 0.01, 1.14]") "loops: [{type: point, a: d, b: world, at: [0.3, 0.02, 0]}]\n",
     NULL, 0.01, 0.5},
};

static ctn_model *model_of_case(const bond_case *c)
{
    char path[512];
    ctn_error err = {0};
    if (c->text) return model_of(c->text);
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", c->file);
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    ctn_scene_free(scene);
    return m;
}

// ---- runs

/// A run, and what is differentiated of it: weights of the coordinates and velocities at its end.
typedef struct {
    const ctn_model *m;
    ctn_tape *tape;
    int steps;
    size_t nq, nv, nu, all;
    double dt, *q, *v, *tau, *u;
    double *weights, *origin;  // [2 nv], [nq]
    double *to_q, *to_v, *moved, *told, *pushed, *speed;
} run_of;

static run_of open_run(const ctn_model *m, ctn_batch_config cfg, int steps, uint64_t seed)
{
    ctn_error err = {0};
    rng r = {seed * 31 + 7};
    run_of f = {.m = m, .steps = steps, .nq = (size_t)m->nq, .nv = (size_t)m->nv, .nu = (size_t)m->ncontrol, .dt = cfg.dt};
    const size_t n = (size_t)steps;
    f.all = 2 * f.nv + n * (f.nv + f.nu);
    f.tape = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.tape != NULL, "%s", err.message);
    f.q = numbers(f.nq), f.v = numbers(f.nv), f.tau = numbers(n * f.nv), f.u = numbers(n * f.nu);
    f.weights = numbers(2 * f.nv), f.origin = numbers(f.nq), f.to_q = numbers(f.nq), f.to_v = numbers(f.nv);
    f.moved = numbers(f.nq), f.told = numbers(n * f.nu), f.pushed = numbers(n * f.nv), f.speed = numbers(f.nv);
    for (size_t k = 0; k < 2 * f.nv; k++) f.weights[k] = rng_uniform(&r, -1, 1);
    ctn_model_initial_state(m, f.q, f.v);
    for (size_t k = 0; k < n; k++) ctn_model_targets(m, f.u + k * f.nu);
    return f;
}
static void close_run(run_of *f)
{
    double *const all[] = {f->q,    f->v,    f->tau,   f->u,    f->weights, f->origin,
                           f->to_q, f->to_v, f->moved, f->told, f->pushed,  f->speed};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    ctn_tape_free(f->tape);
}

/// Runs from where the change d [all] times e leads: of q, v, forces and targets. Whether it came to its end.
static bool run_along(run_of *f, const double *d, double e)
{
    ctn_error err = {0};
    const size_t n = (size_t)f->steps, nv = f->nv;
    tangent_move(f->m, f->q, d, e, f->moved);
    for (size_t k = 0; k < nv; k++) f->speed[k] = f->v[k] + e * d[nv + k];
    for (size_t k = 0; k < n * nv; k++) f->pushed[k] = f->tau[k] + e * d[2 * nv + k];
    for (size_t k = 0; k < n * f->nu; k++) f->told[k] = f->u[k] + e * d[2 * nv + n * nv + k];
    if (f->nu && !f->m->nsignal) ck_assert_int_eq(ctn_tape_set_targets(f->tape, f->told, &err), CTN_OK);
    const ctn_status status = ctn_tape_run(f->tape, f->moved, f->speed, f->pushed, &err);
    if (status != CTN_OK) return false;
    ck_assert_int_eq(ctn_tape_state(f->tape, f->steps, f->to_q, f->to_v, &err), CTN_OK);
    return true;
}

static double value_of(run_of *f)
{
    double *const u = f->speed, x = 0;
    tangent_between(f->m, f->origin, f->to_q, u);
    for (size_t k = 0; k < f->nv; k++) x += f->weights[k] * u[k] + f->weights[f->nv + k] * f->dt * f->to_v[k];
    return x;
}

typedef struct {
    comparison all;
    long fallbacks, sticks, slides;  // steps in parts; places that touch at the ends of steps
    long made, left;                 // parts of steps made by the method; and of these those that were left to order 2
    int refused, moved;              // runs with a step that has no derivative; derivatives above 1e-4
} tally;

/// Counts what touches in the run.
static void count_touches(const run_of *f, ctn_batch_config cfg, tally *t)
{
    enum { ROOM = 256 };
    ctn_error err = {0};
    ctn_link_touch list[ROOM];
    ctn_batch *const batch = batch_with(f->m, &cfg);
    ck_assert_int_eq(ctn_batch_set_state(batch, f->q, f->v, 0, &err), CTN_OK);
    for (int k = 0; k < f->steps; k++) {
        int count = 0;
        ctn_batch_set_force(batch, f->tau + (size_t)k * f->nv);
        ctn_step_stats stats;
        ck_assert_int_eq(ctn_batch_step(batch, 1, &stats, &err), CTN_OK);
        t->made += stats.substeps, t->left += stats.fewer_stages;
        ck_assert_int_eq(ctn_batch_touches(batch, 0, list, ROOM, &count, &err), CTN_OK);
        for (int i = 0; i < count && i < ROOM; i++)
            t->sticks += list[i].touch == CTN_STICKS, t->slides += list[i].touch == CTN_SLIDES;
    }
    ctn_batch_free(batch);
}

/// Gradients of the run along random changes of q, v, forces, targets, and all together.
static void check_run(run_of *f, uint64_t seed, const char *name, double most, tally *t)
{
    static const double widths[] = {1e-4, 1e-5, 3e-6};
    const size_t n = (size_t)f->steps, nv = f->nv;
    const bool told = f->nu && !f->m->nsignal;
    ctn_error err = {0};
    rng r = {seed * 977 + 5};
    double *const g = numbers(f->all), *const d = numbers(f->all), *const dq = numbers((n + 1) * nv),
                  *const dv = numbers((n + 1) * nv);
    memcpy(f->origin, f->q, f->nq * sizeof *f->q);
    if (!run_along(f, d, 0)) goto end;
    memcpy(f->origin, f->to_q, f->nq * sizeof *f->q);
    memcpy(dq + n * nv, f->weights, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[n * nv + k] = f->weights[nv + k] * f->dt;
    const double middle = value_of(f);
    const int parts = ctn_tape_fallbacks(f->tape);
    t->fallbacks += parts;
    const ctn_status status =
        ctn_tape_target_gradient(f->tape, dq, dv, g, g + nv, g + 2 * nv, told ? g + 2 * nv + n * nv : NULL, &err);
    if (status == CTN_UNAVAILABLE && f->m->npair) {
        ck_assert_msg(strstr(err.message, "it has no derivative: links land in it faster"), "%s", err.message);
        t->refused++;
        goto end;
    }
    ck_assert_msg(status == CTN_OK, "%s, seed %llu: %s", name, (unsigned long long)seed, err.message);
    for (int kind = 0; kind < 5; kind++) {
        double slope = 0, size = 0, error = INFINITY;
        const size_t first[] = {0, nv, 2 * nv, 2 * nv + n * nv, f->all};
        if (kind == 3 && !told) continue;
        memset(d, 0, f->all * sizeof *d);
        for (int what = 0; what < 4; what++) {
            if ((what != kind && kind != 4) || (what == 3 && !told)) continue;
            // so that each part has an effect of about 1
            double unit = 0;
            for (size_t k = first[what]; k < first[what + 1]; k++) unit += g[k] * g[k];
            unit = 1 / (sqrt(unit) + 1e-3);
            for (size_t k = first[what]; k < first[what + 1]; k++) {
                d[k] = unit * rng_uniform(&r, -1, 1), slope += d[k] * g[k], size = worse(size, fabs(d[k] * g[k]));
            }
        }
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            const double e = widths[w];
            double x[STENCIL];
            bool smooth = true;
            for (int s = 0; s < STENCIL && smooth; s++) {
                smooth = run_along(f, d, node(s) * e) && ctn_tape_fallbacks(f->tape) == parts;
                x[s] = value_of(f);
            }
            if (!smooth || kink_of(x, middle, e) > most) continue;
            error = fmin(error, fabs(derivative(x, e) - slope) / fmax(size, 1));
        }
        if (error == INFINITY) {
            t->all.kinks++;
            continue;
        }
        t->all.compared++, t->all.worst = worse(t->all.worst, error);
        ck_assert_msg(error <= most, "%s, seed %llu, kind %d: slope %.12g, off by %.3g", name, (unsigned long long)seed, kind,
                      slope, error);
    }
end:
    free(g), free(d), free(dq), free(dv);
}

static ctn_batch_config config_of(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-15;
    return cfg;
}

static ctn_batch_config alpha_of(double dt)
{
    ctn_batch_config cfg = config_of(dt);
    cfg.method = CTN_ALPHA;
    return cfg;
}

static ctn_batch_config radau_of(double dt, int stages)
{
    ctn_batch_config cfg = config_of(dt);
    cfg.method = CTN_RADAU, cfg.stages = stages;
    return cfg;
}

/// first: of the seeds, less 1.
static tally check_case(const bond_case *c, ctn_batch_config cfg, uint64_t first, int seeds, int steps, double most)
{
    tally t = {0};
    FOR_SEEDS(trial, (uint64_t)seeds)
    {
        const uint64_t seed = getenv("CTN_SEED") ? trial : trial + first;
        rng r = {seed * 7 + 3};
        ctn_model *const m = model_of_case(c);
        run_of f = open_run(m, cfg, steps, seed);
        for (size_t k = 0; k < f.nv; k++) f.v[k] += c->fast * rng_uniform(&r, -1, 1);
        for (size_t k = 0; k < f.nv * (size_t)f.steps; k++) f.tau[k] = rng_uniform(&r, -0.3, 0.3);
        check_run(&f, seed, c->name, most, &t);
        count_touches(&f, cfg, &t);
        close_run(&f);
        ctn_model_free(m);
    }
    printf("%s, %s: %ld compared, worst %.3g; %ld at kinks; %ld steps in parts; %d runs refused; %ld places stick, %ld slide; "
           "%ld of "
           "%ld parts by order 2\n",
           c->name, ctn_method_name(cfg.method), t.all.compared, t.all.worst, t.all.kinks, t.fallbacks, t.refused, t.sticks,
           t.slides, t.left, t.made);
    if (getenv("CTN_SEED")) return t;
    ck_assert_int_ge(t.all.compared, 2 * seeds);
    ck_assert_int_le(t.refused, 2);
    return t;
}

static void check_on(const bond_case *c, uint64_t first, int seeds, int steps, double most)
{
    check_case(c, config_of(c->dt), first, seeds, steps, most);
}

START_TEST(bonds) { check_on(&bond_cases[_i], 0, 3, 20, 3e-8); }
END_TEST

/// By alpha, whose first step is that of order 2.
START_TEST(bonds_by_alpha) { check_case(&bond_cases[_i], alpha_of(bond_cases[_i].dt), 0, 3, 20, 3e-8); }
END_TEST

/// Likewise by radau, whose stages take loops and couplings.
START_TEST(bonds_by_radau) { check_case(&bond_cases[_i], radau_of(bond_cases[_i].dt, 2), 0, 3, 10, 3e-8); }
END_TEST

START_TEST(pairs) { check_on(&pair_cases[_i], 0, 8, 6, 2e-8); }
END_TEST

/// Methods that leave what touches to order 2: runs go from one to the other where something lands or lets go.
static ctn_batch_config method_of(int k, double dt) { return k == 0 ? alpha_of(dt) : radau_of(dt, k + 1); }
enum { OTHERS = 3 };  // alpha, radau of 2 and 3 stages

START_TEST(pairs_by_others)
{
    const bond_case *const c = _i / OTHERS < PAIR_CASES ? &pair_cases[_i / OTHERS] : &meeting_cases[_i / OTHERS - PAIR_CASES];
    const tally t = check_case(c, method_of(_i % OTHERS, c->dt), 0, 4, 8, 1e-7);
    if (!getenv("CTN_SEED") && _i / OTHERS >= PAIR_CASES) ck_assert(t.left > 0 && t.left < t.made);
}
END_TEST

START_TEST(mixed)
{
    const bond_case *const c = &mixed_cases[_i / (OTHERS + 1)];
    const int k = _i % (OTHERS + 1) - 1;
    const tally t = check_case(c, k < 0 ? config_of(c->dt) : method_of(k, c->dt), 0, 6, 12, 1e-7);
    if (!getenv("CTN_SEED") && k >= 0) ck_assert(t.left > 0 && t.left < t.made);
}
END_TEST

/// Large steps, few iterations: steps that are halved, with rates made those of a rigid motion in between.
START_TEST(halved_steps)
{
    static const bond_case *const of[] = {&bond_cases[1], &bond_cases[2], &meeting_cases[0], &meeting_cases[1]};
    const bond_case *const c = of[_i];
    ctn_batch_config cfg = config_of(_i < 2 ? 0.1 : 0.02);
    cfg.max_iterations = _i < 2 ? 9 : 5;
    const tally t = check_case(c, cfg, 0, 8, 6, 1e-7);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.fallbacks, 0);
}
END_TEST

/// The same of methods that look back: halved steps have other ones before and after them.
START_TEST(halved_by_others)
{
    static const struct {
        const bond_case *of;
        int method, iterations;
        double dt;
    } all[] = {{&bond_cases[7], 0, 4, 0.05},    {&bond_cases[11], 1, 4, 0.05},   {&meeting_cases[0], 0, 5, 0.02},
               {&meeting_cases[0], 1, 5, 0.02}, {&meeting_cases[0], 2, 5, 0.02}, {&meeting_cases[1], 0, 5, 0.02},
               {&meeting_cases[1], 1, 5, 0.02}, {&meeting_cases[1], 2, 5, 0.02}};
    ctn_batch_config cfg = method_of(all[_i].method, all[_i].dt);
    cfg.max_iterations = all[_i].iterations;
    const tally t = check_case(all[_i].of, cfg, 0, 8, 6, 3e-7);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.made, 8 * 6);  // as many as steps, if none was halved
}
END_TEST

START_TEST(meetings)
{
    static const uint64_t first[] = {5, 5, 45, 33};  // with what counts in part where it was foreseen, or was brought up
    check_on(&meeting_cases[_i % 2], first[_i], 8, 6, 2e-8);
}
END_TEST

/// Jacobians of the steps of a run, one after the other, make the gradient of the run.
static void check_jacobians(const bond_case *c, ctn_batch_config cfg)
{
    ctn_error err = {0};
    rng r = {9};
    ctn_model *const m = model_of_case(c);
    run_of f = open_run(m, cfg, 5, 3);
    const size_t nv = f.nv, steps = (size_t)f.steps;
    for (size_t k = 0; k < nv; k++) f.v[k] += c->fast * rng_uniform(&r, -1, 1);
    ck_assert_msg(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err) == CTN_OK, "%s", err.message);
    const size_t n = (size_t)ctn_tape_state_size(f.tape);
    double *const dq = numbers((steps + 1) * nv), *const dv = numbers((steps + 1) * nv), *const g = numbers(2 * nv),
                  *const by_tau = numbers(steps * nv), *const A = numbers(n * n), *const B = numbers(n * nv),
                  *const C = numbers(2 * nv * n), *const S = numbers(n * 2 * nv), *const row = numbers(n),
                  *const next = numbers(n);
    memcpy(dq + steps * nv, f.weights, nv * sizeof *dq), memcpy(dv + steps * nv, f.weights + nv, nv * sizeof *dv);
    ck_assert_msg(ctn_tape_gradient(f.tape, dq, dv, g, g + nv, by_tau, &err) == CTN_OK, "%s", err.message);
    const double size = largest(g, 2 * nv), force = largest(by_tau, steps * nv);
    ck_assert(ctn_output_jacobian(f.tape, f.steps, C, &err) == CTN_OK && ctn_start_jacobian(f.tape, S, &err) == CTN_OK);
    for (size_t i = 0; i < 2 * nv; i++)
        for (size_t j = 0; j < n; j++) row[j] += f.weights[i] * C[i * n + j];
    for (size_t k = steps; k-- > 0;) {
        ck_assert_msg(ctn_step_jacobian(f.tape, (int)k, A, B, &err) == CTN_OK, "%s", err.message);
        for (size_t j = 0; j < nv; j++) {
            double by = 0;
            for (size_t i = 0; i < n; i++) by += row[i] * B[i * nv + j];
            ck_assert_msg(fabs(by - by_tau[k * nv + j]) <= 1e-9 * force, "%s: %g, not %g", c->name, by, by_tau[k * nv + j]);
        }
        for (size_t j = 0; j < n; j++) next[j] = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) next[j] += row[i] * A[i * n + j];
        memcpy(row, next, n * sizeof *row);
    }
    for (size_t j = 0; j < 2 * nv; j++) {
        double by = 0;
        for (size_t i = 0; i < n; i++) by += row[i] * S[i * 2 * nv + j];
        ck_assert_msg(fabs(by - g[j]) <= 1e-9 * size, "%s: %g, not %g", c->name, by, g[j]);
    }
    double *const all[] = {dq, dv, g, by_tau, A, B, C, S, row, next};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    close_run(&f), ctn_model_free(m);
}

START_TEST(jacobians)
{
    const bond_case *const c = _i < BOND_CASES ? &bond_cases[_i] : &pair_cases[_i - BOND_CASES];
    check_jacobians(c, config_of(c->dt));
    for (int k = 0; k < OTHERS; k++) check_jacobians(c, method_of(k, c->dt));
}
END_TEST

// ---- parameters

enum { MOST_LIST = 4, NODES = STENCIL + 1 };

/// The value of f at the ends of runs of a batch whose worlds have the parameters values [NODES][count]. False: a step was made in
/// parts.
static bool values_of_worlds(run_of *f, ctn_batch *b, const double *values, double x[NODES])
{
    ctn_error err = {0};
    ctn_step_stats stats[NODES];
    double *const q = numbers(NODES * f->nq), *const v = numbers(NODES * f->nv);
    bool whole = true;
    for (size_t w = 0; w < NODES; w++)
        memcpy(q + w * f->nq, f->q, f->nq * sizeof *q), memcpy(v + w * f->nv, f->v, f->nv * sizeof *v);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, f->steps, stats, &err), CTN_OK);
    ctn_batch_state(b, q, v);
    for (size_t w = 0; w < NODES; w++) {
        whole = whole && stats[w].substeps == f->steps;
        memcpy(f->to_q, q + w * f->nq, f->nq * sizeof *q), memcpy(f->to_v, v + w * f->nv, f->nv * sizeof *v);
        x[w] = value_of(f);
    }
    free(q), free(v);
    return whole;
}

/// Gradients of a run by friction and depth of pairs, and of the ground, against batches whose worlds have their own.
static void check_parameters(const bond_case *c, ctn_batch_config cfg, uint64_t seed, tally *t)
{
    static const ctn_parameter all[MOST_LIST] = {{.kind = CTN_PAIR_FRICTION_SCALE},
                                                 {.kind = CTN_PAIR_DEPTH_SCALE},
                                                 {.kind = CTN_GROUND_FRICTION},
                                                 {.kind = CTN_GROUND_DEPTH}};
    static const double widths[] = {1e-4, 1e-5, 3e-6};
    enum { RUN = 8 };
    const double most = 1e-7;
    ctn_error err = {0};
    rng r = {seed * 7 + 3};
    ctn_model *const m = model_of_case(c);
    const int count = m->ncontact ? 4 : 2;
    run_of f = open_run(m, cfg, RUN, seed);
    double *const dq = numbers((RUN + 1) * f.nv), *const dv = numbers((RUN + 1) * f.nv), grad[MOST_LIST], value[MOST_LIST],
                  values[NODES * MOST_LIST];
    for (size_t k = 0; k < f.nv; k++) f.v[k] += c->fast * rng_uniform(&r, -1, 1);
    for (size_t k = 0; k < f.nv; k++) dq[RUN * f.nv + k] = f.weights[k], dv[RUN * f.nv + k] = f.dt * f.weights[f.nv + k];
    ck_assert_msg(ctn_tape_run(f.tape, f.q, f.v, NULL, &err) == CTN_OK, "%s", err.message);
    ck_assert_int_eq(ctn_tape_state(f.tape, RUN, f.origin, NULL, &err), CTN_OK);
    cfg.worlds = NODES, cfg.parameters = all, cfg.parameter_count = count;
    ctn_batch *const b = batch_with(m, &cfg);
    if (ctn_tape_parameter_gradient(f.tape, dq, dv, all, count, grad, &err) != CTN_OK) t->refused++;
    else
        for (int k = 0; k < count; k++) {
            double error = INFINITY;
            for (int i = 0; i < count; i++) ck_assert_int_eq(ctn_model_parameter(m, all[i], &value[i], &err), CTN_OK);
            const double slope = grad[k] * value[k], size = fmax(fabs(slope), 1e-3);
            for (size_t e = 0; e < sizeof widths / sizeof *widths; e++) {
                double x[NODES];
                for (int w = 0; w < NODES; w++)
                    for (int i = 0; i < count; i++)
                        values[w * count + i] = value[i] * (i == k && w < STENCIL ? 1 + node(w) * widths[e] : 1);
                if (!values_of_worlds(&f, b, values, x) || kink_of(x, x[STENCIL], widths[e]) > most * size) continue;
                error = fmin(error, fabs(derivative(x, widths[e]) - slope) / size);
            }
            if (error == INFINITY) {
                t->all.kinks++;
                continue;
            }
            t->all.compared++, t->all.worst = worse(t->all.worst, error), t->moved += fabs(slope) > 1e-4;
            ck_assert_msg(error <= most, "%s, seed %llu: by %s %.12g, off by %.3g", c->name, (unsigned long long)seed,
                          ctn_parameter_name(all[k].kind), slope, error);
        }
    free(dq), free(dv), ctn_batch_free(b), close_run(&f), ctn_model_free(m);
}

START_TEST(by_parameters)
{
    const bond_case *const c = _i < PAIR_CASES ? &pair_cases[_i] : _i == PAIR_CASES ? &meeting_cases[0] : &mixed_cases[0];
    tally t = {0};
    FOR_SEEDS(seed, 4) check_parameters(c, config_of(c->dt), seed, &t);
    for (int k = 0; k < 2 && _i >= PAIR_CASES - 1; k++) FOR_SEEDS(seed, 4) check_parameters(c, method_of(k, c->dt), seed, &t);
    printf("%s: %ld compared, %d of them above 1e-4, worst %.3g; %ld at kinks; %d runs refused\n", c->name, t.all.compared,
           t.moved, t.all.worst, t.all.kinks, t.refused);
    if (!getenv("CTN_SEED")) ck_assert(t.all.compared >= 4 && t.refused <= 2);
}
END_TEST

// ---- many worlds

enum { WORLDS = 7, TOGETHER = 6 };
typedef struct {
    int nv;
    double dt, *weights, *tau;  // [2 nv]; [WORLDS][nv]
} told;

static void push_worlds(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const told *const of = context;
    (void)step, (void)q, (void)v, (void)u;
    memcpy(tau, of->tau, (size_t)(WORLDS * of->nv) * sizeof *tau);
}
static void weigh_worlds(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                         double *by_q, double *by_v)
{
    const told *const of = context;
    (void)q, (void)v, (void)by_u, (void)by_tau;
    for (int k = 0; k < WORLDS * of->nv && step == TOGETHER; k++)
        by_q[k] += of->weights[k % of->nv], by_v[k] += of->dt * of->weights[of->nv + k % of->nv];
}

/// Whether a step of the run from q and v under the forces that f has is made in parts.
static bool has_parts(const run_of *f, ctn_batch_config cfg, const double *q, const double *v)
{
    ctn_error err = {0};
    ctn_step_stats stats = {0};
    bool some = false;
    cfg.worlds = 1;
    ctn_batch *const batch = batch_with(f->m, &cfg);
    ck_assert_int_eq(ctn_batch_set_state(batch, q, v, 0, &err), CTN_OK);
    for (int k = 0; k < f->steps; k++) {
        ctn_batch_set_force(batch, f->tau + (size_t)k * f->nv);
        ck_assert_int_eq(ctn_batch_step(batch, 1, &stats, &err), CTN_OK);
        some = some || stats.substeps > 1;
    }
    ctn_batch_free(batch);
    return some;
}

/// Gradients of worlds side by side in the lanes of every engine: as many tapes of one world have, to the last bit, where runs have; those
/// of links that touch each other can differ by rounding (docs/contact.md).
static void check_worlds(const bond_case *c, ctn_batch_config cfg, int *lost, int *alike)
{
    ctn_error err = {0};
    rng r = {77};
    ctn_model *const m = model_of_case(c);
    run_of f = open_run(m, cfg, TOGETHER, 5);
    const size_t nq = f.nq, nv = f.nv;
    double *const q = numbers(WORLDS * nq), *const v = numbers(WORLDS * nv), *const tau = numbers(WORLDS * nv),
                  *const want = numbers(WORLDS * 2 * nv), *const by_q = numbers(WORLDS * nv), *const by_v = numbers(WORLDS * nv),
                  *const d = numbers(nv), *const dq = numbers((TOGETHER + 1) * nv), *const dv = numbers((TOGETHER + 1) * nv),
                  *const path = numbers(WORLDS * (TOGETHER + 1) * nq);
    bool none[WORLDS] = {false};
    for (size_t k = 0; k < nv; k++) dq[TOGETHER * nv + k] = f.weights[k], dv[TOGETHER * nv + k] = f.dt * f.weights[nv + k];
    for (size_t w = 0; w < WORLDS; w++) {
        for (size_t k = 0; k < nv; k++) d[k] = rng_uniform(&r, -1, 1), v[w * nv + k] = f.v[k] + c->fast * rng_uniform(&r, -1, 1);
        for (size_t k = 0; k < nv; k++) tau[w * nv + k] = rng_uniform(&r, -0.3, 0.3);
        tangent_move(m, f.q, d, w ? 1e-4 : 0, q + w * nq);
        for (int k = 0; k < TOGETHER; k++) memcpy(f.tau + (size_t)k * nv, tau + w * nv, nv * sizeof *tau);
        ck_assert_msg(ctn_tape_run(f.tape, q + w * nq, v + w * nv, f.tau, &err) == CTN_OK, "%s", err.message);
        for (size_t k = 0; k <= TOGETHER; k++) ctn_tape_state(f.tape, (int)k, path + (w * (TOGETHER + 1) + k) * nq, NULL, &err);
        none[w] = has_parts(&f, cfg, q + w * nq, v + w * nv) ||
                  ctn_tape_gradient(f.tape, dq, dv, want + w * 2 * nv, want + (w * 2 + 1) * nv, NULL, &err) != CTN_OK;
    }
    told of = {m->nv, f.dt, f.weights, tau};
    const ctn_tapes_hooks hooks = {push_worlds, weigh_worlds, &of};
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        cfg.worlds = WORLDS, cfg.engine = (*e)->name;
        ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, TOGETHER, true, &err);
        ck_assert_msg(tapes != NULL, "%s", err.message);
        ck_assert_msg(ctn_tapes_run(tapes, TOGETHER, q, v, NULL, &hooks, &err) == CTN_OK, "%s", err.message);
        ck_assert_msg(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK, "%s", err.message);
        for (size_t w = 0; w < WORLDS; w++) {
            const bool gone = ctn_tapes_lost(tapes, (int)w) >= 0;
            *lost += gone;
            ck_assert_msg(gone == none[w], "%s, %s, world %zu: lost %d, not %d", c->name, cfg.engine, w, gone, none[w]);
            bool same = true;
            double off = 0;
            for (size_t k = 0; k <= TOGETHER; k++)
                same =
                    same && !memcmp(path + (w * (TOGETHER + 1) + k) * nq, ctn_tapes_q(tapes, (int)k) + w * nq, nq * sizeof *path);
            for (size_t k = 0; k < nv; k++) {
                off = worse(off, fabs(by_q[w * nv + k] - want[w * 2 * nv + k]));
                off = worse(off, fabs(by_v[w * nv + k] - want[(w * 2 + 1) * nv + k]));
            }
            ck_assert(same || m->npair);
            if (gone) continue;
            *alike += same;
            ck_assert_msg(off <= (same ? 0 : 1e-9 * largest(want + w * 2 * nv, 2 * nv)), "%s, %s, world %zu: off by %.3g",
                          c->name, cfg.engine, w, off);
        }
        ctn_tapes_free(tapes);
    }
    double *const all[] = {q, v, tau, want, by_q, by_v, d, dq, dv, path};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    close_run(&f), ctn_model_free(m);
}

START_TEST(same_bits)
{
    int lost = 0, alike = 0;
    const bond_case *const c = _i < BOND_CASES ? &bond_cases[_i] : &pair_cases[_i - BOND_CASES];
    check_worlds(c, config_of(c->dt), &lost, &alike);
    ck_assert_int_le(lost, 6);
    ck_assert_int_ge(alike, WORLDS);
}
END_TEST

/// Lanes beside each other may have made a step in different ways.
START_TEST(same_bits_by_others)
{
    static const bond_case *const of[] = {&bond_cases[1], &bond_cases[8],    &pair_cases[0],  &pair_cases[6],
                                          &pair_cases[7], &meeting_cases[0], &mixed_cases[0], &mixed_cases[1]};
    int lost = 0, alike = 0;
    const bond_case *const c = of[_i / OTHERS];
    check_worlds(c, method_of(_i % OTHERS, c->dt), &lost, &alike);
    ck_assert_int_le(lost, 6);
    ck_assert_int_ge(alike, WORLDS);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("between_gradients");
    TCase *const t = tcase_create("between_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, bonds, 0, BOND_CASES);
    tcase_add_loop_test(t, bonds_by_alpha, 0, BOND_CASES);
    tcase_add_loop_test(t, bonds_by_radau, 0, BOND_CASES);
    tcase_add_loop_test(t, pairs, 0, PAIR_CASES);
    tcase_add_loop_test(t, pairs_by_others, 0, OTHERS * (PAIR_CASES + 2));
    tcase_add_loop_test(t, halved_steps, 0, 4);
    tcase_add_loop_test(t, halved_by_others, 0, 8);
    tcase_add_loop_test(t, meetings, 0, 4);
    tcase_add_loop_test(t, jacobians, 0, BOND_CASES + PAIR_CASES);
    tcase_add_loop_test(t, by_parameters, 0, PAIR_CASES + 2);
    tcase_add_loop_test(t, mixed, 0, 2 * (OTHERS + 1));
    tcase_add_loop_test(t, same_bits_by_others, 0, 8 * OTHERS);
    tcase_add_loop_test(t, same_bits, 0, BOND_CASES + PAIR_CASES);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
