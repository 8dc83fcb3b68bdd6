/// Jacobians of steps and gradients of runs against differences of the steps themselves: of random models, or of others.
#ifndef CATENA_TESTS_STEP_DIFFERENCES_H
#define CATENA_TESTS_STEP_DIFFERENCES_H

#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/tangent.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Methods, their order or stages (0: neither), and steps: for one step, for a run of eight.
typedef struct {
    ctn_method method;
    int number;
    double dt[2];
} tested;
static inline double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// A model, its steps, and room for one world of the engine.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    const ctn_engine *engine;
    lane_model *lanes;
    void *state, *work;
    size_t nq, nv, flat, n;
    size_t *place;        // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *q, *v, *tau;  // tau [steps][nv]
    int steps;
    ctn_tape *r;
} fixture;

/// The flat form is q, v or joint rates, their gain, V of every body, rates and V since the old point, ..., momenta; of alpha,
/// after two sums of energy, A and B of every body, a and b.
static inline size_t *places(const fixture *f)
{
    const ctn_model *m = f->m;
    const bool alpha = f->cfg.method == CTN_ALPHA,
               position = alpha || f->cfg.method == CTN_RADAU || f->cfg.method == CTN_COLLOCATION;
    const size_t V = 12 * (size_t)m->nbody, after_gain = f->nq + 2 * f->nv;
    size_t *place = calloc(f->n + 1, sizeof *place), at = f->nv;
    const size_t starts[2][2] = {{f->nq, after_gain}, {after_gain + V, after_gain + V + f->nv}};
    if (f->cfg.method == CTN_VARIATIONAL)
        for (size_t k = 0; k < f->nv; k++) place[at++] = after_gain + k;
    for (int old = 0; old < (alpha ? 1 : 2) && at < f->n; old++) {
        for (size_t k = 0; k < f->nv; k++) place[at++] = starts[old][0] + k;
        for (int i = 0; i < m->nbody && position; i++)
            for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++) place[at++] = starts[old][1] + 12 * (size_t)i + k;
    }
    for (int which = 0; which < 2 && alpha; which++)
        for (int i = 0; i < m->nbody; i++)
            for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++)
                place[at++] = after_gain + V + 2 + (size_t)which * V + 12 * (size_t)i + k;
    for (size_t k = 0; k < 2 * f->nv && alpha; k++) place[at++] = after_gain + 3 * V + 2 + k;
    ck_assert_uint_eq(at, f->n);
    return place;
}

static inline fixture open_model(ctn_model *m, ctn_batch_config cfg, int steps, uint64_t seed)
{
    fixture f = {.m = m, .cfg = cfg, .engine = engines_available()[0], .steps = steps};
    ctn_error err = {0};
    rng r = {seed ^ 0x57e9};
    f.lanes = engine_model(f.engine, m, cfg.dt);
    f.nq = (size_t)m->nq, f.nv = (size_t)m->nv;
    f.flat = f.engine->flat_size(f.lanes, &f.cfg);
    f.state = aligned_alloc(64, (f.engine->state_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    f.work = aligned_alloc(64, (f.engine->work_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    memset(f.state, 0, f.engine->state_size(f.lanes, &f.cfg)), memset(f.work, 0, f.engine->work_size(f.lanes, &f.cfg));
    f.q = numbers(f.nq), f.v = numbers(f.nv), f.tau = numbers((size_t)steps * f.nv);
    random_state(m, &r, f.q, f.v);
    for (size_t k = 0; k < (size_t)steps * f.nv; k++) f.tau[k] = rng_uniform(&r, -2, 2);
    f.r = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.r != NULL, "%s", err.message);
    f.n = (size_t)ctn_tape_state_size(f.r);
    f.place = places(&f);
    return f;
}

static inline ctn_batch_config config_of(tested t, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = t.method, cfg.dt = dt, cfg.tolerance = 1e-13;
    if (t.method == CTN_RADAU) cfg.stages = t.number;
    else if (t.number) cfg.order = t.number;
    return cfg;
}

static inline flat_places places_of(const fixture *f) { return (flat_places){f->nv, f->n, f->flat, f->place, NULL}; }

static inline void close_fixture(fixture *f)
{
    ctn_tape_free(f->r);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place);
}

static inline void load(const fixture *f, const double *flat)
{
    double *copy = numbers(f->flat);
    memcpy(copy, flat, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
}

/// One step under tau from one flat state to the next. Returns whether it was done in one part, with all stages.
static inline bool step_flat(const fixture *f, const double *from, const double *tau, double *to)
{
    ctn_step_stats stats = {0};
    load(f, from);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, NULL, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return stats.steps == 1 && stats.substeps == 1 && stats.fewer_stages == 0;
}

static inline void start_flat(const fixture *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

static inline void read_flat(const fixture *f, const double *from, double *q, double *v)
{
    load(f, from);
    f->engine->get(f->lanes, &f->cfg, f->state, f->work, 1, &q, &v);
}

/// What makes a coordinate of alpha's state a length or an angle: h of rates, h^2 of accelerations, without which their entries
/// in a Jacobian would hide all others. 1 for other methods.
static inline double unit_of(const fixture *f, size_t k)
{
    const size_t rates = (f->n - f->nv) / 3;
    if (f->cfg.method != CTN_ALPHA || k < f->nv) return 1;
    return k < f->nv + rates ? f->cfg.dt : f->cfg.dt * f->cfg.dt;
}

/// A [n][n] and B [n][nv] in these units.
static inline void make_lengths(const fixture *f, double *A, double *B)
{
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= unit_of(f, i) / unit_of(f, j);
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= unit_of(f, i);
    }
}

enum { STENCIL = 4 };
/// Derivative of fourth order from values at -2, -1, 1, 2 times e.
static inline double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }
static inline double node(int s) { return s < 2 ? s - 2 : s - 1; }

/// Compares column j of `analytic` [rows][columns] with differences: got[s] [rows], the outputs at the nodes.
static inline double column_error(const double *analytic, size_t rows, size_t columns, size_t j, double *const *got, double e)
{
    double worst = 0;
    for (size_t i = 0; i < rows; i++) {
        const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]};
        worst = worse(worst, fabs(derivative(x, e) - analytic[i * columns + j]));
    }
    return worst;
}

static inline double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// A and B of a step of f, which has two: the first one, or one in the midst of motion. Returns whether the steps were done in one part
/// each, with all stages: others are not looked at.
static inline bool check_step(const fixture *f, tested t, uint64_t seed, int step)
{
    const double e = t.number ? 3e-5 : 5e-5;  // limits are kinks, and methods of high order swing far
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *one = numbers(f->flat), *from = numbers(f->flat),
           *two = numbers(f->flat), *d = numbers(f->n), *tau = numbers(f->nv), *got[STENCIL], scale_b = 0;
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    ctn_error err = {0};
    start_flat(f, f->q, f->v, one);
    bool whole = step_flat(f, one, f->tau, from) && step_flat(f, from, f->tau + f->nv, two);
    if (!step) memcpy(two, from, f->flat * sizeof *two), memcpy(from, one, f->flat * sizeof *from);
    if (!whole || f->nv == 0 || ctn_tape_run(f->r, f->q, f->v, f->tau, &err) != CTN_OK || ctn_tape_fallbacks(f->r)) {
        whole = false;
        goto done;
    }
    ck_assert_int_eq(ctn_step_jacobian(f->r, step, A, B, &err), CTN_OK);
    make_lengths(f, A, B);
    scale_b = largest(B, f->n * f->nv);
    const double force = 100;  // how much larger the differences of forces are: a step feels little of them
    for (size_t j = 0; j < f->n + f->nv; j++) {
        for (int s = 0; s < STENCIL; s++) {
            memset(d, 0, f->n * sizeof *d), memcpy(tau, f->tau + (size_t)step * f->nv, f->nv * sizeof *tau);
            if (j < f->n) d[j] = 1 / unit_of(f, j);
            else tau[j - f->n] += node(s) * force * e;
            flat_move(f->m, places_of(f), from, d, node(s) * e, one);
            ck_assert(step_flat(f, one, tau, one));
            flat_between(f->m, places_of(f), two, one, got[s]);
            for (size_t k = 0; k < f->n; k++) got[s][k] *= unit_of(f, k);
        }
        const double error =
            j < f->n ? column_error(A, f->n, f->n, j, got, e) : column_error(B, f->n, f->nv, j - f->n, got, force * e);
        const double scale = j < f->n ? largest(A, f->n * f->n) : scale_b;
        ck_assert_msg(error <= 1e-7 * scale + 1e-10, "seed %llu, %s %d: column %zu of %zu + %zu is off by %.3g of %.3g",
                      (unsigned long long)seed, ctn_method_name(t.method), t.number, j, f->n, f->nv, error, scale);
    }
done:
    free(A), free(B), free(one), free(from), free(two), free(d), free(tau);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
    return whole;
}

/// A scalar of a run: weights on q (as increments from `origin`) and v of every state.
static inline double scalar(const fixture *f, double *const *origin, const double *dq, const double *dv)
{
    ctn_error err = {0};
    double *q = numbers(f->nq), *v = numbers(f->nv), *u = numbers(f->nv), sum = 0;
    for (int k = 0; k <= f->steps; k++) {
        ck_assert_int_eq(ctn_tape_state(f->r, k, q, v, &err), CTN_OK);
        tangent_between(f->m, origin[k], q, u);
        for (size_t j = 0; j < f->nv; j++) sum += dq[(size_t)k * f->nv + j] * u[j] + dv[(size_t)k * f->nv + j] * v[j];
    }
    free(q), free(v), free(u);
    return sum;
}

/// Which way the steps of a run were made: on which rung, in how many parts.
static inline uint64_t way_of_run(const fixture *f, const double *q, const double *v, const double *tau)
{
    ctn_error err = {0};
    ctn_batch *b = ctn_batch_create(f->m, &f->cfg, &err);
    uint64_t way = 0;
    ctn_batch_set_state(b, q, v, 0, &err);
    for (int k = 0; k < f->steps; k++) {
        ctn_step_stats stats;
        ctn_batch_set_force(b, tau + (size_t)k * f->nv);
        ctn_batch_step(b, 1, &stats, NULL);
        way = (way * 31 + (uint64_t)stats.substeps) * 31 + (uint64_t)stats.fewer_stages;
    }
    ctn_batch_free(b);
    return way;
}

/// The gradient of a run against differences along random directions of start and forces, and against the product of the
/// Jacobians. Returns along how many of six directions: others lead to runs whose steps are made in other ways.
static inline int check_gradient(fixture *f, uint64_t seed, double tolerance, double e)
{
    const size_t nv = f->nv, n = f->n, K = (size_t)f->steps;
    ctn_error err = {0};
    rng r = {seed * 31 + 7};
    double *dq = numbers((K + 1) * nv), *dv = numbers((K + 1) * nv), *gq = numbers(nv), *gv = numbers(nv), *gt = numbers(K * nv),
           *u = numbers(nv), *q = numbers(f->nq), *v = numbers(nv), *tau = numbers(K * nv), *along = numbers((K + 2) * nv);
    double **origin = calloc(K + 1, sizeof *origin);
    ck_assert_int_eq(ctn_tape_run(f->r, f->q, f->v, f->tau, &err), CTN_OK);
    for (size_t k = 0; k <= K; k++) {
        origin[k] = numbers(f->nq);
        ctn_tape_state(f->r, (int)k, origin[k], NULL, &err);
        for (size_t j = 0; j < nv && (k == K || k % 3 == 0); j++)
            dq[k * nv + j] = rng_uniform(&r, -1, 1), dv[k * nv + j] = rng_uniform(&r, -0.1, 0.1);
    }
    ck_assert_int_eq(ctn_tape_gradient(f->r, dq, dv, gq, gv, gt, &err), CTN_OK);

    // the same by C A ... A S and the Bs, row by row backwards
    double *A = numbers(n * n), *B = numbers(n * nv), *S = numbers(n * 2 * nv), *C = numbers(2 * nv * n), *g = numbers(n),
           *h = numbers(n);
    double *hq = numbers(nv), *hv = numbers(nv), *ht = numbers(K * nv);
    for (size_t k = K; k > 0; k--) {
        ctn_output_jacobian(f->r, (int)k, C, &err);
        for (size_t i = 0; i < nv; i++)
            for (size_t j = 0; j < n; j++) g[j] += dq[k * nv + i] * C[i * n + j] + dv[k * nv + i] * C[(nv + i) * n + j];
        ctn_step_jacobian(f->r, (int)k - 1, A, B, &err);
        memset(h, 0, n * sizeof *h);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) h[j] += g[i] * A[i * n + j];
            for (size_t j = 0; j < nv; j++) ht[(k - 1) * nv + j] += g[i] * B[i * nv + j];
        }
        memcpy(g, h, n * sizeof *g);
    }
    ctn_start_jacobian(f->r, S, &err);
    for (size_t j = 0; j < nv; j++) {
        hq[j] = dq[j], hv[j] = dv[j];
        for (size_t i = 0; i < n; i++) hq[j] += g[i] * S[i * 2 * nv + j], hv[j] += g[i] * S[i * 2 * nv + nv + j];
    }
    const double size = largest(gq, nv) + largest(gv, nv) + largest(gt, K * nv);
    for (size_t j = 0; j < nv; j++)
        ck_assert_msg(fabs(hq[j] - gq[j]) + fabs(hv[j] - gv[j]) <= 1e-9 * size, "seed %llu: by the start, %zu",
                      (unsigned long long)seed, j);
    for (size_t j = 0; j < K * nv; j++)
        ck_assert_msg(fabs(ht[j] - gt[j]) <= 1e-9 * size, "seed %llu: by the forces, %zu", (unsigned long long)seed, j);

    const uint64_t way = way_of_run(f, f->q, f->v, f->tau);
    int compared = 0;
    for (int trial = 0; trial < 6; trial++) {  // q alone, v alone, forces alone, all
        double x[STENCIL], slope = 0;
        bool same = true;
        for (size_t j = 0; j < (K + 2) * nv; j++) {
            const int what = j < nv ? 0 : j < 2 * nv ? 1 : 2;
            along[j] = trial < 3 && what != trial ? 0 : rng_uniform(&r, -1, 1);
            slope += along[j] * (what == 0 ? gq[j] : what == 1 ? gv[j - nv] : gt[j - 2 * nv]);
        }
        for (int s = 0; s < STENCIL; s++) {
            tangent_move(f->m, f->q, along, node(s) * e, q);
            for (size_t j = 0; j < nv; j++) v[j] = f->v[j] + node(s) * e * along[nv + j];
            for (size_t j = 0; j < K * nv; j++) tau[j] = f->tau[j] + node(s) * e * along[2 * nv + j];
            same = same && way_of_run(f, q, v, tau) == way;
            ck_assert_int_eq(ctn_tape_run(f->r, q, v, tau, &err), CTN_OK);
            x[s] = scalar(f, origin, dq, dv);
        }
        if (!same) continue;  // there the run is not differentiable
        compared++;
        const double d = derivative(x, e);
        ck_assert_msg(fabs(d - slope) <= tolerance * (size + fabs(slope)),
                      "seed %llu: slope %.12g, by differences %.12g (gradient %.3g)", (unsigned long long)seed, slope, d, size);
    }
    for (size_t k = 0; k <= K; k++) free(origin[k]);
    free(origin), free(dq), free(dv), free(gq), free(gv), free(gt), free(u), free(q), free(v), free(tau), free(along);
    free(A), free(B), free(S), free(C), free(g), free(h), free(hq), free(hv), free(ht);
    return compared;
}

#endif
