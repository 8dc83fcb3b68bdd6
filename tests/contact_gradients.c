/// Derivatives of steps that touch (integrators/contact_adjoint.h): Jacobians and gradients against differences of the steps
/// themselves, on what falls, lands, slides and lies. Where a point begins or ends to touch or to slide between the ends of a
/// difference, the step has a kink: such a comparison is left out, and counted.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "sim/model/parameters.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// A model, its steps, and room for one world of the engine.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    const ctn_engine *engine;
    lane_model *lanes;
    void *state, *work;
    size_t nq, nv, flat, n, contacts, bristles;
    size_t *place;             // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *unit;              // [n] what makes it a length or an angle
    const point_load **point;  // [contacts]
    double *q, *v, *tau;       // tau [nv]
    int steps;
    ctn_tape *r;
} fixture;

/// The flat form is q, joint rates, their gain, V of every body, bristles of joints, integral terms, bristles and normal forces of
/// contact points.
static void find_places(fixture *f)
{
    const ctn_model *m = f->m;
    const size_t V = f->nq + 2 * f->nv, slip = f->flat - f->contacts - 3 * f->bristles;
    size_t at = 0;
    f->place = calloc(f->n + 1, sizeof *f->place), f->unit = numbers(f->n);
    for (; at < f->nv; at++) f->unit[at] = 1;
    for (size_t k = 0; k < f->nv; k++) f->unit[at] = f->cfg.dt, f->place[at++] = f->nq + k;
    for (int i = 0; i < m->nbody; i++)
        for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++)
            f->unit[at] = f->cfg.dt, f->place[at++] = V + 12 * (size_t)i + k;
    for (size_t k = slip - (size_t)m->nwound; k < slip; k++) f->unit[at] = 0.01, f->place[at++] = k;  // m/(N m)
    for (size_t k = 0; k < 3 * f->bristles; k++) f->unit[at] = 1, f->place[at++] = slip + k;
    for (size_t k = 0; k < f->contacts; k++) f->unit[at] = 1 / f->point[k]->grip, f->place[at++] = slip + 3 * f->bristles + k;
    ck_assert_uint_eq(at, f->n);
}

static fixture open_fixture(ctn_model *m, ctn_batch_config cfg, int steps)
{
    fixture f = {.m = m, .cfg = cfg, .engine = engines_available()[0], .steps = steps};
    ctn_error err = {0};
    f.lanes = engine_model(f.engine, m, cfg.dt);
    f.nq = (size_t)m->nq, f.nv = (size_t)m->nv, f.contacts = (size_t)m->ncontact, f.bristles = (size_t)m->nbent;
    f.flat = f.engine->flat_size(f.lanes, &f.cfg);
    f.state = aligned_alloc(64, (f.engine->state_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    f.work = aligned_alloc(64, (f.engine->work_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    memset(f.state, 0, f.engine->state_size(f.lanes, &f.cfg)), memset(f.work, 0, f.engine->work_size(f.lanes, &f.cfg));
    f.q = numbers(GROUND_MOST), f.v = numbers(GROUND_MOST), f.tau = numbers(f.nv * (size_t)steps);
    f.point = calloc(f.contacts + 1, sizeof *f.point);
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) f.point[m->loads[k].contact] = &m->loads[k];
    f.r = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.r != NULL, "%s", err.message);
    f.n = (size_t)ctn_tape_state_size(f.r);
    find_places(&f);
    return f;
}

static ctn_batch_config config_of(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-13;
    return cfg;
}

static flat_places places_of(const fixture *f) { return (flat_places){f->nv, f->n, f->flat, f->place, f->unit}; }

static void close_fixture(fixture *f)
{
    ctn_tape_free(f->r);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place), free(f->unit), free(f->point);
}

/// One step under tau from one flat state to the next. Returns whether it was made in one part.
static bool step_flat(const fixture *f, const double *from, const double *tau, double *to)
{
    ctn_step_stats stats = {0};
    double *copy = numbers(f->flat);
    memcpy(copy, from, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, NULL, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return stats.steps == 1 && stats.substeps == 1;
}

static void start_flat(const fixture *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

/// What contact point k does in a state: 0 nothing, 1 sticks, 2 slides, by what it remembers.
static int touch_of(const fixture *f, const double *flat, size_t k)
{
    const double *z = flat + f->flat - f->contacts - 3 * (f->bristles - k), l = flat[f->flat - f->contacts + k];
    const point_load *s = f->point[k];
    const double bent = s->grip * sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
    return l <= 0 ? 0 : bent < (1 - 1e-9) * s->friction * l ? 1 : 2;
}

static long touching(const fixture *f, const double *flat)
{
    long n = 0;
    for (size_t k = 0; k < f->contacts; k++) n += touch_of(f, flat, k) > 0;
    return n;
}

static bool same_touches(const fixture *f, const double *a, const double *b)
{
    for (size_t k = 0; k < f->contacts; k++)
        if (touch_of(f, a, k) != touch_of(f, b, k)) return false;
    return true;
}

enum { STENCIL = 4 };
/// A kink between the ends that points do not tell of, one that slides for a part of the solve alone or a tree that is just held,
/// is where kink_of() is more than this share of the largest number.
#define BENT 1e-6
/// Derivatives of fourth and second order from values at -2, -1, 1, 2 times e.
static double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }
/// By how much these differ from derivatives on less of the way, to the sides of the middle and, with the value x0 there, at it.
static double kink_of(const double x[STENCIL], double x0, double e)
{
    const double inner = (x[2] - x[1]) / (2 * e), near = (x[1] + x[2]) - 2 * x0, far = (x[0] + x[3]) - 2 * x0;
    return worse(fabs(derivative(x, e) - inner), fabs(far - 4 * near) / (4 * e));
}
static double node(int s) { return s < 2 ? s - 2 : s - 1; }

static double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// What was compared, and left out for a kink.
typedef struct {
    long compared, kinks, held;
    double worst;
} tally;

/// Whether a step from one flat state to the next was held to its energy (integrators/hold_energy.h): then rates are not those of
/// the way.
static bool is_held(const fixture *f, const double *from, const double *to)
{
    double u[GROUND_MOST], off = 0;
    tangent_between(f->m, from, to, u);
    for (size_t k = 0; k < f->nv; k++) off = worse(off, fabs(to[f->nq + k] * f->cfg.dt - u[k]));
    return off > 1e-11;
}

/// One of EACH columns of A and B of the step from the flat state `from` to `to`, as lengths, against differences.
enum { EACH = 3 };
static void check_jacobian(const fixture *f, int step, const double *from, const double *to, const double *tau, uint64_t seed,
                           tally *t)
{
    const double e = 1e-6;
    ctn_error err = {0};
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *one = numbers(f->flat), *d = numbers(f->n),
           *pushed = numbers(f->nv), *got[STENCIL];
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    ck_assert_msg(ctn_step_jacobian(f->r, step, A, B, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double scale_a = largest(A, f->n * f->n), scale_b = largest(B, f->n * f->nv), force = 1 / scale_b;
    for (size_t j = 0; j < f->n + f->nv; j++) {
        bool smooth = true;
        if ((j + (size_t)step) % EACH) continue;
        // a normal force of 0 has one side
        if (j >= f->n - f->contacts && j < f->n && !touch_of(f, from, j - (f->n - f->contacts))) continue;
        for (int s = 0; s < STENCIL && smooth; s++) {
            memset(d, 0, f->n * sizeof *d), memcpy(pushed, tau, f->nv * sizeof *pushed);
            if (j < f->n) d[j] = 1 / f->unit[j];
            else pushed[j - f->n] += node(s) * force * e;
            flat_move(f->m, places_of(f), from, d, node(s) * e, one);
            smooth = same_touches(f, one, from) && step_flat(f, one, pushed, one) && same_touches(f, one, to);
            flat_between(f->m, places_of(f), to, one, got[s]);
        }
        const double width = j < f->n ? e : force * e, scale = j < f->n ? scale_a : scale_b;
        const double *const column = j < f->n ? A + j : B + (j - f->n);
        const size_t stride = j < f->n ? f->n : f->nv;
        double error = 0, bend = 0;
        size_t row = 0;
        for (size_t i = 0; i < f->n && smooth; i++) {
            const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]}, slope = derivative(x, width);
            const double off = fabs(slope - column[i * stride]);
            bend = worse(bend, kink_of(x, 0, width));
            if (off > error) row = i;
            error = worse(error, off);
        }
        if (!smooth || bend > BENT * scale) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error / scale);
        ck_assert_msg(error <= 1e-6 * scale, "seed %llu, step %d: column %zu of %zu + %zu is off by %.3g of %.3g in row %zu",
                      (unsigned long long)seed, step, j, f->n, f->nv, error, scale, row);
    }
    free(A), free(B), free(one), free(d), free(pushed);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
}

/// Jacobians of some steps of a fall, in which something touches.
static void check_fall(fixture *f, uint64_t seed, tally *t)
{
    ctn_error err = {0};
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    if (ctn_tape_run(f->r, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    start_flat(f, f->q, f->v, flat[0]);
    long before = 0, changes = 0, holds = 0, others = 0;
    for (int k = 0; k < f->steps; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const bool whole = step_flat(f, flat[0], tau, flat[1]), held = is_held(f, flat[0], flat[1]);
        const long now = touching(f, flat[1]);
        // where contacts change, where energy is held, and now and then
        long *const kind = held ? &holds : !now ? NULL : now != before ? &changes : k % 16 == 15 ? &others : NULL;
        if (whole && kind && *kind < 2) check_jacobian(f, k, flat[0], flat[1], tau, seed, t), (*kind)++, t->held += held;
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x, before = now;
    }
end:
    free(flat[0]), free(flat[1]);
}

/// A fall that is checked: on the ground alone, or over obstacles. turns: with friction of turns.
static fixture open_fall(ground_kind kind, uint64_t seed, bool obstacles, bool turns, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = obstacles ? obstacle_model(kind, seed, depth, q, v) : ground_model(kind, seed, depth, q, v);
    if (turns) resist_turns(m, seed);
    fixture f = open_fixture(m, config_of(seed % 2 ? 1. / 60 : 1. / 240), seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

static void check_tally(const tally *t, const char *what)
{
    printf("%s: %ld compared, worst %.3g; %ld at kinks; %ld steps held\n", what, t->compared, t->worst, t->kinks, t->held);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(t->compared > 2 * t->kinks, "%s: %ld of %ld comparisons at kinks", what, t->kinks, t->kinks + t->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        fixture f = open_fall((ground_kind)_i, seed, false, false, 60);
        check_fall(&f, seed, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on the ground");
}
END_TEST

/// Every third seed has a terrain.
START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        fixture f = open_fall((ground_kind)_i, seed, true, false, 60);
        check_fall(&f, seed, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on obstacles");
}
END_TEST

/// Tells motors u [ncontrol], of a variant of the model.
static void tell(const fixture *f, const double *u)
{
    const int count = f->m->ncontrol;
    double dt = f->cfg.dt;
    ctn_parameter *const list = calloc((size_t)count + 1, sizeof *list);
    ctn_model_target_parameters(f->m, list);
    parameters *const p = parameters_create(f->m, list, count, NULL);
    ctn_model *const variant = parameters_variant(p);
    parameters_apply(p, u, variant, &dt);
    f->engine->model_load((const ctn_model *const[]){variant}, &dt, f->lanes);
    free(variant), parameters_free(p), free(list);
}

/// A, B and U of the step from the flat state `from` to `to` along random ways: of coordinates, of what else the state has, of
/// forces, of targets, and of all together; against differences.
static void check_ways(const fixture *f, int step, const double *from, const double *to, const double *tau, uint64_t seed,
                       tally *t)
{
    const size_t n = f->n, nv = f->nv, nu = (size_t)f->m->ncontrol, all = n + nv + nu;
    const double e = 1e-6;
    ctn_error err = {0};
    rng r = {seed * 977 + (uint64_t)step};
    double *A = numbers(n * n), *B = numbers(n * nv), *U = numbers(n * nu), *d = numbers(all), *one = numbers(f->flat),
           *pushed = numbers(nv), *u = numbers(nu), *told = numbers(nu), *got[STENCIL];
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(n);
    ck_assert_msg(ctn_step_target_jacobian(f->r, step, A, B, U, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed,
                  err.message);
    ctn_model_targets(f->m, told);
    const double force = 1 / (largest(B, n * nv) * 0.01 + 1e-9), target = 1 / (largest(U, n * nu) * 0.01 + 1e-9);
    for (int kind = 0; kind < 5; kind++) {
        bool smooth = true;
        for (size_t j = 0; j < all; j++) {
            const int what = j < nv ? 0 : j < n ? 1 : j < n + nv ? 2 : 3;
            const double unit = what == 0 ? 1 : what == 1 ? 0.1 / f->unit[j] : what == 2 ? force : target;
            const size_t press = n - f->contacts, slip = press - 3 * f->bristles;
            // what lies apart or slides is at an edge of what it may remember
            const bool edge = j >= slip && j < n && touch_of(f, from, j < press ? (j - slip) / 3 % f->contacts : j - press) != 1;
            d[j] = (what == kind || kind == 4) && !edge ? unit * rng_uniform(&r, -1, 1) : 0;
        }
        for (int s = 0; s < STENCIL && smooth; s++) {
            flat_move(f->m, places_of(f), from, d, node(s) * e, one);
            for (size_t j = 0; j < nv; j++) pushed[j] = tau[j] + node(s) * e * d[n + j];
            for (size_t j = 0; j < nu; j++) u[j] = told[j] + node(s) * e * d[n + nv + j];
            if (nu) tell(f, u);
            smooth = same_touches(f, one, from) && step_flat(f, one, pushed, one) && same_touches(f, one, to);
            flat_between(f->m, places_of(f), to, one, got[s]);
        }
        if (nu) tell(f, told);
        double error = 0, bend = 0, scale = 0;
        for (size_t i = 0; i < n && smooth; i++) {
            const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]}, slope = derivative(x, e);
            double told_so = 0;
            for (size_t j = 0; j < all; j++)
                told_so += d[j] * (j < n ? A[i * n + j] : j < n + nv ? B[i * nv + j - n] : U[i * nu + j - n - nv]);
            bend = worse(bend, kink_of(x, 0, e)), scale = worse(scale, fabs(slope));
            error = worse(error, fabs(slope - told_so * f->unit[i]));
        }
        if (!smooth || bend > BENT * (scale + 0.1)) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error / (scale + 0.01));
        ck_assert_msg(error <= 3e-6 * (scale + 0.01), "seed %llu, step %d, way %d: off by %.3g of %.3g",
                      (unsigned long long)seed, step, kind, error, scale);
    }
    free(A), free(B), free(U), free(d), free(one), free(pushed), free(u), free(told);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
}

/// Steps that are held to their energy, whatever acts besides; every other seed with friction of turns.
START_TEST(held_steps)
{
    tally t = {0};
    FOR_SEEDS(seed, 8)
    {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_error err = {0};
        if (t.held >= 4) break;
        ctn_model *const m = loaded_doll((doll_load)_i, seed, q, v);
        if (seed % 2) resist_turns(m, seed);
        fixture f = open_fixture(m, config_of(1. / 30), 120);
        double *flat[2] = {numbers(f.flat), numbers(f.flat)};
        start_flat(&f, q, v, flat[0]);
        const bool ran = ctn_tape_run(f.r, q, v, f.tau, &err) == CTN_OK;
        for (int k = 0, held = 0; k < f.steps && ran && held < 2; k++) {
            const bool whole = step_flat(&f, flat[0], f.tau + (size_t)k * f.nv, flat[1]);
            if (whole && is_held(&f, flat[0], flat[1]))
                check_ways(&f, k, flat[0], flat[1], f.tau + (size_t)k * f.nv, seed, &t), held++, t.held++;
            double *const x = flat[0];
            flat[0] = flat[1], flat[1] = x;
        }
        free(flat[0]), free(flat[1]);
        close_fixture(&f);
    }
    printf("held steps: %ld compared, worst %.3g; %ld at kinks; %ld steps held\n", t.compared, t.worst, t.kinks, t.held);
    if (getenv("CTN_SEED")) return;
#ifndef __SANITIZE_ADDRESS__
    ck_assert_msg(t.held > 1 && t.compared > 5, "%ld steps held, %ld comparisons, %ld at kinks", t.held, t.compared, t.kinks);
#endif
}
END_TEST

START_TEST(steps_that_resist_turns)
{
    tally t = {0};
    FOR_SEEDS(seed, 1)
    {
        fixture f = open_fall((ground_kind)_i, seed, _i == GROUND_LOOSE, true, 60);
        check_fall(&f, seed, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps that resist turns");
}
END_TEST

enum { RUN = 10 };

/// Which points touch and slide in a run, step by step.
static void touches_of_run(const fixture *f, const double *q, const double *v, const double *tau, int *touches)
{
    double *flat = numbers(f->flat);
    start_flat(f, q, v, flat);
    for (int k = 0; k < RUN; k++) {
        const bool whole = step_flat(f, flat, tau + (size_t)k * f->nv, flat);
        for (size_t p = 0; p < f->contacts; p++) *touches++ = whole ? touch_of(f, flat, p) : -1;
    }
    free(flat);
}

/// Where coordinates and velocities come to, weighed, from `origin`.
static double weigh(const fixture *f, const double *origin, const double *weights)
{
    ctn_error err = {0};
    double q[GROUND_MOST], v[GROUND_MOST], u[GROUND_MOST], sum = 0;
    ck_assert_int_eq(ctn_tape_state(f->r, RUN, q, v, &err), CTN_OK);
    tangent_between(f->m, origin, q, u);
    for (size_t k = 0; k < f->nv; k++) sum += weights[k] * u[k] + weights[f->nv + k] * f->cfg.dt * v[k];
    return sum;
}

/// The gradient of a run of RUN steps, from the state of the fixture, by q, by v, by forces and by all of these.
static void check_run(const fixture *f, uint64_t seed, tally *t)
{
    const size_t nv = f->nv, force = RUN * nv;
    // solves leave normal forces a billionth of the weight (is_corrected()), ten steps more of it: noise by which differences are off,
    // by more the narrower they are
    static const double widths[] = {1e-6, 3e-6, 1e-5};
    ctn_error err = {0};
    rng r = {seed * 31 + 7};
    double *weights = numbers(2 * nv), *dq = numbers((RUN + 1) * nv), *dv = numbers((RUN + 1) * nv), *g = numbers(2 * nv + force),
           *along = numbers(2 * nv + force), *q = numbers(f->nq), *v = numbers(nv), *tau = numbers(force),
           *origin = numbers(f->nq);
    int *touches[2];
    for (int k = 0; k < 2; k++) touches[k] = calloc(RUN * f->contacts + 1, sizeof(int));
    for (size_t k = 0; k < 2 * nv; k++) weights[k] = rng_uniform(&r, -1, 1);
    memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[RUN * nv + k] = weights[nv + k] * f->cfg.dt;
    if (ctn_tape_run(f->r, f->q, f->v, f->tau, &err) != CTN_OK || ctn_tape_fallbacks(f->r)) goto end;
    ctn_tape_state(f->r, RUN, origin, NULL, &err);
    ck_assert_msg(ctn_tape_gradient(f->r, dq, dv, g, g + nv, g + 2 * nv, &err) == CTN_OK, "%s", err.message);
    for (size_t k = nv; k < 2 * nv; k++) g[k] /= f->cfg.dt;  // by lengths: velocities times dt
    touches_of_run(f, f->q, f->v, f->tau, touches[0]);
    const double middle = weigh(f, origin, weights);
    const double by_force = largest(g + 2 * nv, force), size = largest(g, 2 * nv) + 1;  // the largest by forces is 1 below
    for (int trial = 0; trial < 6; trial++) {
        double slope = 0, error = INFINITY;
        for (size_t j = 0; j < 2 * nv + force; j++) {
            const int what = j < nv ? 0 : j < 2 * nv ? 1 : 2;
            along[j] = trial < 3 && what != trial ? 0 : rng_uniform(&r, -1, 1) * (what == 2 ? 1 / by_force : 1);
            slope += along[j] * g[j];
        }
        for (size_t width = 0; width < sizeof widths / sizeof *widths && error > 1e-6; width++) {
            const double e = widths[width];
            double x[STENCIL];
            bool smooth = true;
            for (int s = 0; s < STENCIL && smooth; s++) {
                tangent_move(f->m, f->q, along, node(s) * e, q);
                for (size_t j = 0; j < nv; j++) v[j] = f->v[j] + node(s) * e * along[nv + j] / f->cfg.dt;
                for (size_t j = 0; j < force; j++) tau[j] = f->tau[j] + node(s) * e * along[2 * nv + j];
                touches_of_run(f, q, v, tau, touches[1]);
                smooth = !memcmp(touches[0], touches[1], RUN * f->contacts * sizeof(int)) &&
                         ctn_tape_run(f->r, q, v, tau, &err) == CTN_OK;
                if (smooth) x[s] = weigh(f, origin, weights);
            }
            if (!smooth || kink_of(x, middle, e) > BENT * size) continue;
            error = fmin(error, fabs(derivative(x, e) - slope) / size);
        }
        if (error == INFINITY) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error);
        ck_assert_msg(error <= 1e-6, "seed %llu, trial %d: slope %.12g, off by %.3g", (unsigned long long)seed, trial, slope, error);
    }
end:
    free(weights), free(dq), free(dv), free(g), free(along), free(q), free(v), free(tau), free(origin);
    free(touches[0]), free(touches[1]);
}

/// Runs that begin shortly before something lands, and while it lies or slides: normal forces at the start go by q and v.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 6)
    {
        const bool obstacles = seed % 4 == 1 || seed % 3 == 0;
        fixture fall = open_fall((ground_kind)_i, seed, obstacles, seed % 4 == 3, 60), f = fall;
        ctn_error err = {0};
        f.r = NULL;
        if (ctn_tape_run(fall.r, fall.q, fall.v, fall.tau, &err) != CTN_OK) goto next;
        for (int part = 0; part < 3; part++) {
            const int step = fall.steps * (part + 4) / 8 + (int)(seed % 7);
            f.r = ctn_tape_create(f.m, &f.cfg, RUN, &err), f.steps = RUN;
            ck_assert_int_eq(ctn_tape_state(fall.r, step < fall.steps ? step : fall.steps, f.q, f.v, &err), CTN_OK);
            check_run(&f, seed, &t);
            ctn_tape_free(f.r);
        }
    next:
        close_fixture(&fall);
    }
    check_tally(&t, "runs");
}
END_TEST

/// Large steps that are halved while something touches: between parts the rates are made those of a rigid motion, and what points
/// remember goes on.
START_TEST(halved_steps)
{
    int compared = 0;
    FOR_SEEDS(seed, 6)
    {
        double q[GROUND_MOST], v[GROUND_MOST], g[2 * GROUND_MOST], along[2 * GROUND_MOST], weights[2 * GROUND_MOST], origin[GROUND_MOST],
            slope = 0, size = 0, got[2];
        ctn_error err = {0};
        rng r = {seed};
        ctn_model *const m = ground_model(seed % 2 ? GROUND_ROPE : GROUND_RAGDOLL, seed, 0, q, v);
        ctn_batch_config cfg = config_of(0.1);
        cfg.max_iterations = 25;
        fixture f = open_fixture(m, cfg, RUN + 2);
        const size_t nv = f.nv;
        double *dq = numbers((RUN + 3) * nv);
        for (size_t k = 0; k < 2 * nv; k++) weights[k] = k < nv ? rng_uniform(&r, -1, 1) : 0, along[k] = rng_uniform(&r, -1, 1);
        memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
        if (ctn_tape_run(f.r, q, v, NULL, &err) != CTN_OK || !ctn_tape_fallbacks(f.r)) goto next;
        ctn_tape_state(f.r, RUN, origin, NULL, &err);
        ck_assert_msg(ctn_tape_gradient(f.r, dq, NULL, g, g + nv, NULL, &err) == CTN_OK, "%s", err.message);
        for (size_t k = 0; k < 2 * nv; k++) slope += along[k] * g[k], size = worse(size, fabs(g[k]));
        for (int width = 0; width < 2; width++) {
            const double e = width ? 1e-8 : 1e-7;
            double x[2], a[GROUND_MOST], b[GROUND_MOST];
            for (int s = 0; s < 2; s++) {
                const double to = s ? e : -e;
                tangent_move(m, q, along, to, a);
                for (size_t k = 0; k < nv; k++) b[k] = v[k] + to * along[nv + k];
                ck_assert_int_eq(ctn_tape_run(f.r, a, b, NULL, &err), CTN_OK);
                x[s] = weigh(&f, origin, weights);
            }
            got[width] = (x[1] - x[0]) / (2 * e);
        }
        if (fabs(got[0] - got[1]) > 1e-3 * size) goto next;  // a kink
        compared++;
        ck_assert_msg(fabs(slope - got[0]) < 1e-4 * size, "seed %llu: slope %g, not %g", (unsigned long long)seed, slope, got[0]);
    next:
        free(dq);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_gt(compared, 0);
}
END_TEST

/// One step back of eight worlds at different times of a fall: every engine has the bits of the first.
START_TEST(same_bits)
{
    enum { WORLDS = 8 };
    fixture f = open_fall((ground_kind)_i, 4, false, true, 60);
    double *at[WORLDS + 1], *got[WORLDS], *want[WORLDS], *bar = numbers(f.n), *tau_bar[WORLDS];
    const double *pushed = f.tau;
    rng r = {3};
    for (size_t k = 0; k < f.n; k++) bar[k] = rng_uniform(&r, -1, 1);
    for (int w = 0; w < WORLDS; w++) got[w] = numbers(f.n), want[w] = numbers(f.n), tau_bar[w] = numbers(f.nv);
    for (int w = 0; w <= WORLDS; w++) at[w] = numbers(f.flat);
    start_flat(&f, f.q, f.v, at[0]);
    for (int k = 0; k < f.steps && !touching(&f, at[0]); k++) step_flat(&f, at[0], pushed, at[0]);
    ck_assert_int_gt(touching(&f, at[0]), 0);
    for (int w = 0; w < WORLDS; w++) ck_assert(step_flat(&f, at[w], pushed, at[w + 1]));
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        const ctn_engine *g = *e;
        lane_model *const lanes = engine_model(g, f.m, f.cfg.dt);
        void *const adjoint = aligned_alloc(64, (g->adjoint_size(lanes, &f.cfg) + 127) / 64 * 64);
        memset(adjoint, 0, g->adjoint_size(lanes, &f.cfg));
        for (int w = 0; w < WORLDS; w += g->lanes) {
            const double *before[WORLDS], *after[WORLDS], *bars[WORLDS], *tau[WORLDS];
            double *to[WORLDS], *by_tau[WORLDS];
            for (int l = 0; l < g->lanes; l++)
                before[l] = at[w + l], after[l] = at[w + l + 1], bars[l] = bar, tau[l] = pushed, to[l] = got[w + l],
                by_tau[l] = tau_bar[w + l];
            ck_assert(g->adjoint_prepare(lanes, &f.cfg, adjoint, 0, f.cfg.dt, 0, before, after, tau));
            g->adjoint_step(lanes, &f.cfg, adjoint, g->lanes, bars, to, by_tau, NULL, NULL);
        }
        for (int w = 0; w < WORLDS; w++) {
            if (e == engines_available()) memcpy(want[w], got[w], f.n * sizeof *bar);
            ck_assert_msg(!memcmp(want[w], got[w], f.n * sizeof *bar), "%s, world %d: other bits", g->name, w);
            ck_assert(largest(got[w], f.n) > 0 && largest(got[w], f.n) < 1e300);
        }
        free(adjoint), free(lanes);
    }
    for (int w = 0; w < WORLDS; w++) free(got[w]), free(want[w]), free(tau_bar[w]), free(at[w]);
    free(at[WORLDS]), free(bar);
    close_fixture(&f);
}
END_TEST

/// What has no derivatives yet is refused by name.
START_TEST(refused)
{
    static const char *const plain =
        "catena: 1\nground: true\nlinks:\n"
        "  - {name: a, position: [0, 0, 1], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n";
    static const struct {
        ctn_method method;
        const char *says;
    } no[] = {{CTN_RK4, "method: rk4 has no derivatives where links touch"},
              {CTN_VARIATIONAL, "method: variational has no derivatives where links touch"}};
    for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
        ctn_error err = {0};
        ctn_model *const m = model_of(plain);
        ctn_batch_config cfg = config_of(0.01);
        cfg.method = no[k].method;
        ck_assert_ptr_null(ctn_tape_create(m, &cfg, 5, &err));
        ck_assert_msg(strstr(err.message, no[k].says), "%s", err.message);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_gradients");
    TCase *const t = tcase_create("contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, GROUND_KINDS);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_loop_test(t, held_steps, 0, DOLL_LOADS);
    tcase_add_loop_test(t, steps_that_resist_turns, 0, GROUND_KINDS);
    tcase_add_loop_test(t, gradients_of_runs, 0, GROUND_KINDS);
    tcase_add_test(t, halved_steps);
    tcase_add_loop_test(t, same_bits, 0, GROUND_KINDS);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
