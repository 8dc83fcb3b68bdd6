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
    {"springs",
     "catena: 1\nlinks:\n" CHAIN("joint: ball, ") LOOSE(
         "f", "0.9") "springs: [{link: d, b: f, point: [0.3, 0.1, 0], b_point: [0.3, 0, 0.2], stiffness: 300, damping: 30},\n"
                     "  {link: a, b: d, point: [0.1, 0.1, 0], stiffness: 30, damping: 10}]\n",
     NULL, 0.02, 2},
    {"Stewart platform", NULL, "stewart-platform", 0.01, 0.2},
    {"leg on the ground", NULL, "cassie-leg", 0.005, 0.2},
};
enum { BOND_CASES = sizeof bond_cases / sizeof *bond_cases };

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
    long fallbacks;
} tally;

/// Gradients of the run along random changes of q, v, forces, targets, and all together.
static void check_run(run_of *f, uint64_t seed, const char *name, double most, tally *t)
{
    static const double widths[] = {1e-4, 1e-5, 1e-6};
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
    ck_assert_msg(ctn_tape_target_gradient(f->tape, dq, dv, g, g + nv, g + 2 * nv, told ? g + 2 * nv + n * nv : NULL, &err) ==
                      CTN_OK,
                  "%s, seed %llu: %s", name, (unsigned long long)seed, err.message);
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
            if (!smooth || kink_of(x, middle, e) > 10 * most) continue;
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

START_TEST(bonds)
{
    const bond_case *const c = &bond_cases[_i];
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        rng r = {seed * 7 + 3};
        ctn_model *const m = model_of_case(c);
        run_of f = open_run(m, config_of(c->dt), 20, seed);
        for (size_t k = 0; k < f.nv; k++) f.v[k] += c->fast * rng_uniform(&r, -1, 1);
        for (size_t k = 0; k < f.nv * (size_t)f.steps; k++) f.tau[k] = rng_uniform(&r, -0.3, 0.3);
        check_run(&f, seed, c->name, 3e-8, &t);
        close_run(&f);
        ctn_model_free(m);
    }
    printf("%s: %ld compared, worst %.3g; %ld at kinks; %ld steps in parts\n", c->name, t.all.compared, t.all.worst, t.all.kinks,
           t.fallbacks);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.all.compared, 3);
}
END_TEST

/// By other methods such steps are left to order 2, and have no derivatives.
START_TEST(refused)
{
    static const struct {
        ctn_method method;
        const char *says;
    } no[] = {{CTN_ALPHA, "method: alpha has no derivatives of steps with `loops`"},
              {CTN_RADAU, "method: radau has no derivatives of steps with `loops`"}};
    for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
        ctn_error err = {0};
        ctn_model *const m = model_of_case(&bond_cases[0]);
        ctn_batch_config cfg = config_of(0.01);
        cfg.method = no[k].method, cfg.stages = 2;
        ck_assert_ptr_null(ctn_tape_create(m, &cfg, 5, &err));
        ck_assert_msg(strstr(err.message, no[k].says), "%s", err.message);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("between_gradients");
    TCase *const t = tcase_create("between_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, bonds, 0, BOND_CASES);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
