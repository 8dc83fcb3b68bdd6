/// Derivatives of steps that touch by the method alpha (integrators/alpha_contact_adjoint.h): Jacobians and gradients against
/// differences of the steps themselves, on what falls, lands, slides and lies: of alpha's own steps, of those of order 2 in their
/// place where contacts change, and of the first ones, whose accelerations are those of forward dynamics. Where a point begins or
/// ends to touch or to slide between the ends of a difference, the step has a kink: such a comparison is left out, and counted.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
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
    size_t nq, nv, flat, n, contacts;
    size_t fresh;              // where the flat state says how a step begins
    size_t *place;             // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *unit;              // [n] what makes it a length or an angle
    bool *idle;                // [n] which mean nothing: bristles of joints without friction
    const point_load **point;  // [contacts]
    double *q, *v, *tau;       // tau [nv]
    int steps;
    ctn_tape *r;
} fixture;

/// The flat form is q, joint rates, their gain, V of every body, two sums of energy, A and B of every body, a and b, the size that
/// these fit, how the next step begins, bristles of joints, and at the end those and normal forces of contact points.
static void find_places(fixture *f)
{
    const ctn_model *m = f->m;
    const double h = f->cfg.dt;
    const size_t V = f->nq + 2 * f->nv, bodies = 12 * (size_t)m->nbody, A = V + bodies + 2, a = A + 2 * bodies,
                 slip = f->flat - 4 * f->contacts;
    size_t at = 0;
    f->place = calloc(f->n + 1, sizeof *f->place), f->unit = numbers(f->n), f->fresh = a + 2 * f->nv + 1;
    for (; at < f->nv; at++) f->unit[at] = 1;
    for (size_t k = 0; k < f->nv; k++) f->unit[at] = h, f->place[at++] = f->nq + k;
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < m->nbody; i++)
            for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++) {
                f->unit[at] = which ? h * h : h;
                f->place[at++] = (which == 0 ? V : which == 1 ? A : A + bodies) + 12 * (size_t)i + k;
            }
    for (size_t k = 0; k < 2 * f->nv; k++) f->unit[at] = h * h, f->place[at++] = a + k;
    const bool rubs = f->n - at > 4 * f->contacts;
    f->idle = calloc(f->n + 1, sizeof *f->idle);
    for (int i = 0; i < m->nbody && rubs; i++)
        for (int k = 0; k < m->bodies[i].nv; k++, at++) {
            f->unit[at] = 1, f->place[at] = f->fresh + 1 + (size_t)(m->bodies[i].vadr + k);
            f->idle[at] = !(m->bodies[i].flags & BODY_FRICTION);
        }
    for (size_t k = 0; k < 3 * f->contacts; k++) f->unit[at] = 1, f->place[at++] = slip + k;
    for (size_t k = 0; k < f->contacts; k++) f->unit[at] = 1 / f->point[k]->grip, f->place[at++] = slip + 3 * f->contacts + k;
    ck_assert_uint_eq(at, f->n);
}

static fixture open_fixture(ctn_model *m, ctn_batch_config cfg, int steps)
{
    fixture f = {.m = m, .cfg = cfg, .engine = engines_available()[0], .steps = steps};
    ctn_error err = {0};
    f.lanes = engine_model(f.engine, m, cfg.dt);
    f.nq = (size_t)m->nq, f.nv = (size_t)m->nv, f.contacts = (size_t)m->ncontact;
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
    cfg.method = CTN_ALPHA, cfg.dt = dt, cfg.tolerance = 1e-13;
    return cfg;
}

static flat_places places_of(const fixture *f) { return (flat_places){f->nv, f->n, f->flat, f->place, f->unit}; }

static void close_fixture(fixture *f)
{
    ctn_tape_free(f->r);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place), free(f->unit), free(f->idle), free(f->point);
}

/// How a step was made: in several parts, or by alpha (or, of order 2, in its place), from accelerations carried or found.
typedef enum { PARTS, CARRIED, FOUND, ORDER2, KINDS } kind_of_step;

/// One step under tau from one flat state to the next.
static kind_of_step step_flat(const fixture *f, const double *from, const double *tau, double *to)
{
    ctn_step_stats stats = {0};
    double *copy = numbers(f->flat);
    memcpy(copy, from, f->flat * sizeof *copy);
    const bool found = copy[f->fresh] == 1;
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, NULL, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    if (stats.steps != 1 || stats.substeps != 1) return PARTS;
    return stats.fewer_stages ? ORDER2 : found ? FOUND : CARRIED;
}

static void start_flat(const fixture *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

/// What contact point k does in a state: 0 nothing, 1 sticks, 2 slides, by what it remembers.
static int touch_of(const fixture *f, const double *flat, size_t k)
{
    const double *z = flat + f->flat - 4 * f->contacts + 3 * k, l = flat[f->flat - f->contacts + k];
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
    return a[f->fresh] == b[f->fresh];
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

/// What was compared, by kind of the step, and left out for a kink.
typedef struct {
    long compared, kinks, steps[KINDS], held;
    double worst;
} tally;

/// Whether a step of alpha from one flat state to the next was held to its energy (integrators/hold_energy.h): then rates are not
/// those of its accelerations.
static bool is_held(const fixture *f, const double *from, const double *to)
{
    const double rho = f->cfg.rho, h = f->cfg.dt, gamma = 0.5 + (1 - rho) / (1 + rho);
    const size_t a = f->fresh - 1 - 2 * f->nv;
    double off = 0;
    for (size_t k = 0; k < f->nv; k++) {
        const double by = (1 - gamma) * from[a + k] + gamma * to[a + k];
        off = worse(off, h * fabs(to[f->nq + k] - from[f->nq + k] - h * by));
    }
    return off > 1e-11;
}

/// How many columns and rows of Jacobians there are for one that is compared.
enum { EACH = 7, EACH_ROW = 5 };
static bool is_compared(size_t k, int step, size_t each) { return (k + (size_t)step) % each == 0; }

/// Those rows of A [n][n] and B [n][nv] of the step from one flat state to the next, by the engine's adjoint.
static void find_jacobian(const fixture *f, int step, const double *from, const double *to, const double *tau, double *A, double *B,
                          uint64_t seed)
{
    const ctn_engine *const g = f->engine;
    void *const work = aligned_alloc(64, (g->adjoint_size(f->lanes, &f->cfg) + 127) / 64 * 64);
    double *const unit = numbers(f->n);
    const double *const bar = unit;
    bool found = false;
    memset(work, 0, g->adjoint_size(f->lanes, &f->cfg));
    for (int way = 0; way < g->adjoint_ways(&f->cfg) && !found; way++)
        found = g->adjoint_prepare(f->lanes, &f->cfg, work, 0, f->cfg.dt, way, &from, &to, &tau);
    ck_assert_msg(found, "seed %llu: a step was not found again", (unsigned long long)seed);
    for (size_t i = 0; i < f->n; i++) {
        if (!is_compared(i, step, EACH_ROW)) continue;
        double *const row = A + i * f->n, *const by_tau = B + i * f->nv;
        unit[i] = 1;
        g->adjoint_step(f->lanes, &f->cfg, work, 1, &bar, &row, &by_tau, NULL, NULL);
        unit[i] = 0;
    }
    free(work), free(unit);
}

/// Columns of A and B of the step from the flat state `from` to `to`, as lengths, against differences.
static void check_jacobian(const fixture *f, int step, kind_of_step kind, const double *from, const double *to,
                           const double *tau, uint64_t seed, tally *t)
{
    const double e = 1e-6;
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *one = numbers(f->flat), *d = numbers(f->n),
           *pushed = numbers(f->nv), *got[STENCIL];
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    find_jacobian(f, step, from, to, tau, A, B, seed);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double scale_a = largest(A, f->n * f->n), scale_b = largest(B, f->n * f->nv), force = 1 / scale_b;
    for (size_t j = 0; j < f->n + f->nv; j++) {
        bool smooth = true;
        if (!is_compared(j, step, EACH) || (j < f->n && f->idle[j])) continue;
        // a normal force of 0 has one side
        if (j >= f->n - f->contacts && j < f->n && !touch_of(f, from, j - (f->n - f->contacts))) continue;
        for (int s = 0; s < STENCIL && smooth; s++) {
            memset(d, 0, f->n * sizeof *d), memcpy(pushed, tau, f->nv * sizeof *pushed);
            if (j < f->n) d[j] = 1 / f->unit[j];
            else pushed[j - f->n] += node(s) * force * e;
            flat_move(f->m, places_of(f), from, d, node(s) * e, one);
            smooth = same_touches(f, one, from) && step_flat(f, one, pushed, one) == kind && same_touches(f, one, to);
            flat_between(f->m, places_of(f), to, one, got[s]);
        }
        const double width = j < f->n ? e : force * e, scale = j < f->n ? scale_a : scale_b;
        const double *const column = j < f->n ? A + j : B + (j - f->n);
        const size_t stride = j < f->n ? f->n : f->nv;
        double error = 0, bend = 0;
        size_t row = 0;
        for (size_t i = 0; i < f->n && smooth; i++) {
            if (!is_compared(i, step, EACH_ROW)) continue;
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
        ck_assert_msg(error <= 1e-6 * scale, "seed %llu, step %d of kind %d: column %zu of %zu + %zu is off by %.3g of %.3g in row %zu",
                      (unsigned long long)seed, step, kind, j, f->n, f->nv, error, scale, row);
    }
    free(A), free(B), free(one), free(d), free(pushed);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
}

/// Jacobians of some steps of a fall, in which something touches, and of the same where accelerations are found anew; or of those
/// alone that were held.
static void check_fall(fixture *f, uint64_t seed, bool held_alone, tally *t)
{
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    static const long most[KINDS] = {0, 2, 1, 1};
    start_flat(f, f->q, f->v, flat[0]);
    long made[KINDS] = {0}, holds = 0;
    for (int k = 0; k < f->steps; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const kind_of_step kind = step_flat(f, flat[0], tau, flat[1]);
        const bool held = kind == CARRIED && is_held(f, flat[0], flat[1]);
        const bool now = kind == CARRIED ? touching(f, flat[1]) && (held || k % 8 == 7) : kind != PARTS;
        long *const done = held ? &holds : &made[kind];
        if (now && *done < most[kind] && (held || !held_alone)) {
            check_jacobian(f, k, kind, flat[0], flat[1], tau, seed, t);
            ++*done, t->steps[kind]++, t->held += held;
            if (kind == CARRIED && !held) {
                double *const anew = numbers(2 * f->flat), *const to = anew + f->flat;
                memcpy(anew, flat[0], f->flat * sizeof *anew);
                anew[f->fresh] = 1;
                if (step_flat(f, anew, tau, to) == FOUND) check_jacobian(f, k, FOUND, anew, to, tau, seed, t), t->steps[FOUND]++;
                free(anew);
            }
        }
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x;
    }
    free(flat[0]), free(flat[1]);
}

/// A fall that is checked: on the ground alone, or over obstacles.
static fixture open_fall(ground_kind kind, uint64_t seed, bool obstacles, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = obstacles ? obstacle_model(kind, seed, depth, q, v) : ground_model(kind, seed, depth, q, v);
    fixture f = open_fixture(m, config_of(seed % 2 ? 1. / 60 : 1. / 240), seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

/// share: how many comparisons there are at least for one at a kink
static void check_tally(const tally *t, const char *what, int share)
{
    printf("%s: %ld compared, worst %.3g; %ld at kinks; steps: %ld by carried accelerations, %ld by found ones, %ld of order 2; %ld held\n",
           what, t->compared, t->worst, t->kinks, t->steps[CARRIED], t->steps[FOUND], t->steps[ORDER2], t->held);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(t->compared > share * t->kinks, "%s: %ld of %ld comparisons at kinks", what, t->kinks, t->kinks + t->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        fixture f = open_fall((ground_kind)_i, seed, false, 60);
        check_fall(&f, seed, false, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on the ground", 4);
}
END_TEST

/// A ball that rolls on a slope, with a pendulum in it that has springs, friction and a rotor, pushed at every joint.
static fixture open_marble(uint64_t seed)
{
    rng r = {seed ^ 0x3a7};
    fixture f = open_fixture(
        model_of("catena: 1\nground: {normal: [0.3, 0.1, 1]}\nlinks:\n"
                 "  - {name: a, position: [0, 0, 0.4], joint: free, density: 300, shapes: [{type: sphere, radius: 0.3}]}\n"
                 "  - {name: b, parent: a, joint: {type: revolute, axis: [0, 1, 0.2], stiffness: 3, damping: 0.1, armature: 0.2, "
                 "friction: 0.5, presliding: 0.3}, mass: 5, com: [0, 0, -0.2], inertia: [0.1, 0.1, 0.05, 0, 0, 0]}\n"
                 "  - {name: c, parent: b, position: [0, 0, -0.1], joint: {type: ball, stiffness: 2, damping: 0.1, armature: 0.1}, "
                 "mass: 2, com: [0, 0.1, 0], inertia: [0.02, 0.01, 0.02, 0, 0, 0]}\n"),
        config_of(1. / 60), 60);
    ctn_model_initial_state(f.m, f.q, f.v);
    for (size_t k = 0; k < f.nv; k++) f.v[k] = rng_uniform(&r, -3, 3);
    for (size_t k = 0; k < f.nv * (size_t)f.steps; k++) f.tau[k] = rng_uniform(&r, -2, 2);
    return f;
}

/// What rolls is held now and then.
START_TEST(held_steps)
{
    static const struct {
        uint64_t seed;
        bool obstacles;
    } falls[] = {{7, true}, {19, false}, {20, false}};
    tally t = {0};
    for (size_t k = 0; k < sizeof falls / sizeof *falls; k++) {
        fixture f = open_fall(GROUND_LOOSE, falls[k].seed, falls[k].obstacles, 60);
        check_fall(&f, falls[k].seed, true, &t);
        close_fixture(&f);
    }
    check_tally(&t, "held loose bodies", 4);
    ck_assert_int_gt(t.held, 0);
    t = (tally){0};
    FOR_SEEDS(seed, 4)
    {
        fixture f = open_marble(seed);
        check_fall(&f, seed, true, &t);
        close_fixture(&f);
    }
    check_tally(&t, "held marbles", 4);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.held, 0);
}
END_TEST

/// Every third seed has a terrain.
START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        fixture f = open_fall((ground_kind)_i, seed, true, 60);
        check_fall(&f, seed, false, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on obstacles", 4);
}
END_TEST

enum { RUN = 10 };

/// Which points touch and slide in a run, and how it is made, step by step; and the q and v to which it comes.
static void touches_of_run(const fixture *f, const double *q, const double *v, const double *tau, int *touches, double *to_q,
                           double *to_v)
{
    double *flat = numbers(f->flat);
    start_flat(f, q, v, flat);
    for (int k = 0; k < RUN; k++) {
        *touches++ = (int)step_flat(f, flat, tau + (size_t)k * f->nv, flat);
        for (size_t p = 0; p < f->contacts; p++) *touches++ = touch_of(f, flat, p);
    }
    f->engine->get(f->lanes, &f->cfg, f->state, f->work, 1, &to_q, &to_v);
    free(flat);
}

/// q from `origin`, and v, weighed.
static double weigh(const fixture *f, const double *origin, const double *q, const double *v, const double *weights)
{
    double u[GROUND_MOST], sum = 0;
    tangent_between(f->m, origin, q, u);
    for (size_t k = 0; k < f->nv; k++) sum += weights[k] * u[k] + weights[f->nv + k] * f->cfg.dt * v[k];
    return sum;
}

/// The gradient of a run of RUN steps, from the state of the fixture, by q, by v, by forces and by all of these.
static void check_run(const fixture *f, uint64_t seed, tally *t)
{
    const size_t nv = f->nv, force = RUN * nv, told = RUN * (f->contacts + 1);
    // solves leave normal forces a billionth of the weight (is_corrected()), ten steps more of it: noise by which differences are off,
    // by more the narrower they are
    static const double widths[] = {1e-6, 3e-6, 1e-5};
    ctn_error err = {0};
    rng r = {seed * 31 + 7};
    double *weights = numbers(2 * nv), *dq = numbers((RUN + 1) * nv), *dv = numbers((RUN + 1) * nv), *g = numbers(2 * nv + force),
           *along = numbers(2 * nv + force), *q = numbers(f->nq), *v = numbers(nv), *tau = numbers(force),
           *origin = numbers(f->nq), *to_q = numbers(f->nq), *to_v = numbers(nv);
    int *touches[2];
    for (int k = 0; k < 2; k++) touches[k] = calloc(told + 1, sizeof(int));
    for (size_t k = 0; k < 2 * nv; k++) weights[k] = rng_uniform(&r, -1, 1);
    memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[RUN * nv + k] = weights[nv + k] * f->cfg.dt;
    touches_of_run(f, f->q, f->v, f->tau, touches[0], origin, to_v);
    if (ctn_tape_run(f->r, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    ck_assert_msg(ctn_tape_gradient(f->r, dq, dv, g, g + nv, g + 2 * nv, &err) == CTN_OK, "%s", err.message);
    for (int k = 0; k < RUN; k++) t->steps[touches[0][(size_t)k * (f->contacts + 1)]]++;
    for (size_t k = nv; k < 2 * nv; k++) g[k] /= f->cfg.dt;  // by lengths: velocities times dt
    const double middle = weigh(f, origin, origin, to_v, weights);
    const double by_force = largest(g + 2 * nv, force), size = largest(g, 2 * nv) + 1;  // the largest by forces is 1 below
    for (int trial = 0; trial < 4; trial++) {
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
                touches_of_run(f, q, v, tau, touches[1], to_q, to_v);
                smooth = !memcmp(touches[0], touches[1], told * sizeof(int));
                x[s] = weigh(f, origin, to_q, to_v, weights);
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
    free(weights), free(dq), free(dv), free(g), free(along), free(q), free(v), free(tau), free(origin), free(to_q), free(to_v);
    free(touches[0]), free(touches[1]);
}

/// Runs that begin shortly before something lands, and while it lies or slides: accelerations at the start are of what touches.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        const bool obstacles = seed % 4 == 1 || seed % 3 == 0;
        fixture fall = open_fall((ground_kind)_i, seed, obstacles, 60), f = fall;
        ctn_error err = {0};
        f.r = NULL;
        if (ctn_tape_run(fall.r, fall.q, fall.v, fall.tau, &err) != CTN_OK) goto next;
        for (int part = 0; part < 2; part++) {
            const int step = fall.steps * (part + 2) / 4 + (int)(seed % 7);
            f.r = ctn_tape_create(f.m, &f.cfg, RUN, &err), f.steps = RUN;
            ck_assert_int_eq(ctn_tape_state(fall.r, step < fall.steps ? step : fall.steps, f.q, f.v, &err), CTN_OK);
            check_run(&f, seed, &t);
            ctn_tape_free(f.r);
        }
    next:
        close_fixture(&fall);
    }
    check_tally(&t, "runs", 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("alpha_contact_gradients");
    TCase *const t = tcase_create("alpha_contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, GROUND_KINDS);
    TCase *const held = tcase_create("held");
    tcase_set_timeout(held, 300);
    tcase_add_test(held, held_steps);
    suite_add_tcase(suite, held);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_loop_test(t, gradients_of_runs, 0, GROUND_KINDS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
