/// Derivatives of time steps: every Jacobian and gradient against differences of the steps themselves, on random forests of all
/// joints.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Methods, their order or stages (0: neither), and steps: for one step, for a run of eight.
typedef struct {
    ctn_method method;
    int number;
    double dt[2];
} tested;
static const tested methods[] = {{CTN_COLLOCATION, 2, {0.03, 0.02}},   {CTN_SEMI_IMPLICIT, 0, {0.005, 0.002}},
                                 {CTN_EULER, 0, {0.005, 0.002}},       {CTN_RK2, 0, {0.005, 0.002}},
                                 {CTN_RK3, 0, {0.005, 0.002}},         {CTN_RK4, 0, {0.005, 0.002}},
                                 {CTN_RADAU, 1, {0.03, 0.02}},         {CTN_RADAU, 2, {0.02, 0.004}},
                                 {CTN_RADAU, 3, {0.02, 0.004}},        {CTN_RADAU, 4, {0.02, 0.004}},
                                 {CTN_COLLOCATION, 3, {0.01, 0.004}},  {CTN_COLLOCATION, 4, {0.01, 0.004}},
                                 {CTN_COLLOCATION, 5, {0.01, 0.004}},  {CTN_COLLOCATION, 6, {0.01, 0.004}},
                                 {CTN_VARIATIONAL, 2, {0.005, 0.002}}, {CTN_VARIATIONAL, 4, {0.005, 0.002}},
                                 {CTN_ALPHA, 0, {0.03, 0.02}}};
enum { METHODS = sizeof methods / sizeof *methods };

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

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
static size_t *places(const fixture *f)
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

static fixture open_model(ctn_model *m, ctn_batch_config cfg, int steps, uint64_t seed)
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

static ctn_batch_config config_of(tested t, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = t.method, cfg.dt = dt, cfg.tolerance = 1e-13;
    if (t.method == CTN_RADAU) cfg.stages = t.number;
    else if (t.number) cfg.order = t.number;
    return cfg;
}

/// order 4 of `variational` knows no dampers.
static fixture open_fixture(uint64_t seed, random_options o, tested t, double dt, int steps)
{
    o.conservative = t.method == CTN_VARIATIONAL && t.number == 4;
    o.plain_springs = t.method == CTN_VARIATIONAL;
    const bool takes = t.method != CTN_COLLOCATION || t.number <= 2;
    o.springs = takes ? (int)(seed % 3) : 0, o.wrenches = takes ? (int)(seed % 4) : 0;
    o.motors = (int)(seed % 5);
    o.fluid = takes && t.method != CTN_VARIATIONAL && seed % 5 == 2, o.stream = seed % 10 == 2;
    return open_model(random_model(seed, &o), config_of(t, dt), steps, seed);
}

static flat_places places_of(const fixture *f) { return (flat_places){f->nv, f->n, f->flat, f->place, NULL}; }

static void close_fixture(fixture *f)
{
    ctn_tape_free(f->r);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place);
}

static void load(const fixture *f, const double *flat)
{
    double *copy = numbers(f->flat);
    memcpy(copy, flat, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
}

/// One step under tau from one flat state to the next. Returns whether it was done in one part, with all stages.
static bool step_flat(const fixture *f, const double *from, const double *tau, double *to)
{
    ctn_step_stats stats = {0};
    load(f, from);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, NULL, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return stats.steps == 1 && stats.substeps == 1 && stats.fewer_stages == 0;
}

static void start_flat(const fixture *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

static void read_flat(const fixture *f, const double *from, double *q, double *v)
{
    load(f, from);
    f->engine->get(f->lanes, &f->cfg, f->state, f->work, 1, &q, &v);
}

/// What makes a coordinate of alpha's state a length or an angle: h of rates, h^2 of accelerations, without which their entries
/// in a Jacobian would hide all others. 1 for other methods.
static double unit_of(const fixture *f, size_t k)
{
    const size_t rates = (f->n - f->nv) / 3;
    if (f->cfg.method != CTN_ALPHA || k < f->nv) return 1;
    return k < f->nv + rates ? f->cfg.dt : f->cfg.dt * f->cfg.dt;
}

/// A [n][n] and B [n][nv] in these units.
static void make_lengths(const fixture *f, double *A, double *B)
{
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= unit_of(f, i) / unit_of(f, j);
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= unit_of(f, i);
    }
}

enum { STENCIL = 4 };
/// Derivative of fourth order from values at -2, -1, 1, 2 times e.
static double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }
static double node(int s) { return s < 2 ? s - 2 : s - 1; }

/// Compares column j of `analytic` [rows][columns] with differences: got[s] [rows], the outputs at the nodes.
static double column_error(const double *analytic, size_t rows, size_t columns, size_t j, double *const *got, double e)
{
    double worst = 0;
    for (size_t i = 0; i < rows; i++) {
        const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]};
        worst = worse(worst, fabs(derivative(x, e) - analytic[i * columns + j]));
    }
    return worst;
}

static double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// A and B of a step: the first one, or one in the midst of motion.
START_TEST(steps_against_differences)
{
    const tested t = methods[_i];
    int tried = 0;
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 4 != 0, .chain = seed % 3 == 0};
        fixture f = open_fixture(seed, o, t, t.dt[0], 2);
        const double e = t.number ? 3e-5 : 5e-5;  // limits are kinks, and methods of high order swing far
        const int step = seed % 5 != 0;
        double *A = numbers(f.n * f.n), *B = numbers(f.n * f.nv), *one = numbers(f.flat), *from = numbers(f.flat),
               *two = numbers(f.flat), *d = numbers(f.n), *tau = numbers(f.nv), *got[STENCIL], scale_b = 0;
        for (int s = 0; s < STENCIL; s++) got[s] = numbers(f.n);
        ctn_error err = {0};
        start_flat(&f, f.q, f.v, one);
        const bool whole = step_flat(&f, one, f.tau, from) && step_flat(&f, from, f.tau + f.nv, two);
        if (!step) memcpy(two, from, f.flat * sizeof *two), memcpy(from, one, f.flat * sizeof *from);
        if (!whole || f.nv == 0 || ctn_tape_run(f.r, f.q, f.v, f.tau, &err) != CTN_OK || ctn_tape_fallbacks(f.r)) goto next;
        tried++;
        ck_assert_int_eq(ctn_step_jacobian(f.r, step, A, B, &err), CTN_OK);
        make_lengths(&f, A, B);
        scale_b = largest(B, f.n * f.nv);
        const double force = 100;  // how much larger the differences of forces are: a step feels little of them
        for (size_t j = 0; j < f.n + f.nv; j++) {
            for (int s = 0; s < STENCIL; s++) {
                memset(d, 0, f.n * sizeof *d), memcpy(tau, f.tau + (size_t)step * f.nv, f.nv * sizeof *tau);
                if (j < f.n) d[j] = 1 / unit_of(&f, j);
                else tau[j - f.n] += node(s) * force * e;
                flat_move(f.m, places_of(&f), from, d, node(s) * e, one);
                ck_assert(step_flat(&f, one, tau, one));
                flat_between(f.m, places_of(&f), two, one, got[s]);
                for (size_t k = 0; k < f.n; k++) got[s][k] *= unit_of(&f, k);
            }
            const double error =
                j < f.n ? column_error(A, f.n, f.n, j, got, e) : column_error(B, f.n, f.nv, j - f.n, got, force * e);
            const double scale = j < f.n ? largest(A, f.n * f.n) : scale_b;
            ck_assert_msg(error <= 1e-7 * scale + 1e-10, "seed %llu, %s %d: column %zu of %zu + %zu is off by %.3g of %.3g",
                          (unsigned long long)seed, ctn_method_name(t.method), t.number, j, f.n, f.nv, error, scale);
        }
    next:
        free(A), free(B), free(one), free(from), free(two), free(d), free(tau);
        for (int s = 0; s < STENCIL; s++) free(got[s]);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_ge(tried, SEEDS_TRIED(30));
}
END_TEST

/// S: the state that starts from (q, v). C: (q, v) read from a state in the midst of motion.
START_TEST(start_and_output_against_differences)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 2, .chain = seed % 3 == 0};
        const tested t = methods[seed % METHODS];
        fixture f = open_fixture(seed, o, t, t.dt[1], 1);
        const double e = 1e-3;
        ctn_error err = {0};
        double *S = numbers(f.n * 2 * f.nv), *C = numbers(f.n * 2 * f.nv), *base = numbers(f.flat), *flat = numbers(f.flat),
               *d = numbers(f.n + 2 * f.nv), *q = numbers(f.nq), *v = numbers(f.nv), *q0 = numbers(f.nq), *v0 = numbers(f.nv),
               *got[STENCIL];
        for (int s = 0; s < STENCIL; s++) got[s] = numbers(f.n + 2 * f.nv);
        ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
        ck_assert_int_eq(ctn_start_jacobian(f.r, S, &err), CTN_OK);
        ck_assert_int_eq(ctn_output_jacobian(f.r, 1, C, &err), CTN_OK);
        start_flat(&f, f.q, f.v, base);
        for (size_t j = 0; j < 2 * f.nv; j++) {
            for (int s = 0; s < STENCIL; s++) {
                memset(d, 0, 2 * f.nv * sizeof *d), d[j] = 1;
                tangent_move(f.m, f.q, d, node(s) * e, q);
                for (size_t k = 0; k < f.nv; k++) v[k] = f.v[k] + node(s) * e * d[f.nv + k];
                start_flat(&f, q, v, flat);
                flat_between(f.m, places_of(&f), base, flat, got[s]);
            }
            const double error = column_error(S, f.n, 2 * f.nv, j, got, e);
            ck_assert_msg(error <= 1e-9 * largest(S, f.n * 2 * f.nv), "seed %llu: column %zu of S is off by %.3g",
                          (unsigned long long)seed, j, error);
        }
        ck_assert(step_flat(&f, base, f.tau, base));
        read_flat(&f, base, q0, v0);
        for (size_t j = 0; j < f.n; j++) {
            for (int s = 0; s < STENCIL; s++) {
                memset(d, 0, f.n * sizeof *d), d[j] = 1;
                flat_move(f.m, places_of(&f), base, d, node(s) * e, flat);
                read_flat(&f, flat, q, v);
                tangent_between(f.m, q0, q, got[s]);
                for (size_t k = 0; k < f.nv; k++) got[s][f.nv + k] = v[k] - v0[k];
            }
            const double error = column_error(C, 2 * f.nv, f.n, j, got, e);
            ck_assert_msg(error <= 1e-8 * largest(C, f.n * 2 * f.nv), "seed %llu: column %zu of C is off by %.3g",
                          (unsigned long long)seed, j, error);
        }
        free(S), free(C), free(base), free(flat), free(d), free(q), free(v), free(q0), free(v0);
        for (int s = 0; s < STENCIL; s++) free(got[s]);
        close_fixture(&f);
    }
}
END_TEST

/// A scalar of a run: weights on q (as increments from `origin`) and v of every state.
static double scalar(const fixture *f, double *const *origin, const double *dq, const double *dv)
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
static uint64_t way_of_run(const fixture *f, const double *q, const double *v, const double *tau)
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
static int check_gradient(fixture *f, uint64_t seed, double tolerance, double e)
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

START_TEST(gradients_of_runs)
{
    const tested t = methods[_i];
    int compared = 0;
    FOR_SEEDS(seed, 20)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 3 != 0, .smooth = true, .chain = seed % 2};
        fixture f = open_fixture(seed, o, t, t.dt[1], 8);
        ctn_error err = {0};
        ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
        const bool whole = ctn_tape_fallbacks(f.r) == 0;
        if (f.nv > 0) compared += check_gradient(&f, seed, whole ? 1e-7 : 1e-5, whole ? 1e-4 : 1e-6);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_ge(compared, SEEDS_TRIED(100));
}
END_TEST

/// A chain of 20 links; order 4 of `variational` knows no dampers.
static ctn_model *chain20(tested t)
{
    static const char text[] = "catena: 1\n"
                               "links:\n"
                               "  - chain: {name: c, count: 20, step: [0.1, 0, 0], density: 1000,\n"
                               "            joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1], damping: %s},\n"
                               "            shapes: [{type: capsule, from: [0, 0, 0], to: [0.1, 0, 0], radius: 0.01}]}\n"
                               "  - {name: tip, parent: c.19, position: [0.1, 0, 0]}\n";
    char scene[sizeof text + 16];
    snprintf(scene, sizeof scene, text, t.method == CTN_VARIATIONAL && t.number == 4 ? "0" : "0.001");
    return model_of(scene);
}

/// Where the tip of the chain is after all steps, along a direction.
static double tip(fixture *f, ctn_dynamics *dyn, const double *q, const double *v, const double *tau, const double *along,
                  double *end)
{
    ctn_error err = {0};
    double R[9 * 21], p[3 * 21];
    ck_assert_int_eq(ctn_tape_run(f->r, q, v, tau, &err), CTN_OK);
    ctn_tape_state(f->r, f->steps, end, NULL, &err);
    ctn_forward_kinematics(dyn, 1, end, R, p);
    return along[0] * p[60] + along[1] * p[61] + along[2] * p[62];
}

static const tested chains[] = {
    {CTN_COLLOCATION, 2, {0.01, 0}},  {CTN_COLLOCATION, 2, {0.03, 0}},  {CTN_RK4, 0, {0.001, 0}},
    {CTN_RADAU, 3, {0.002, 0}},       {CTN_COLLOCATION, 4, {0.001, 0}}, {CTN_VARIATIONAL, 2, {0.002, 0}},
    {CTN_VARIATIONAL, 4, {0.002, 0}}, {CTN_ALPHA, 0, {0.01, 0}},
};

/// The end point of a falling chain of 20 links after 100 steps, by its initial state and by the forces of every step.
START_TEST(tip_of_a_chain)
{
    static const double along[] = {0.3, -0.5, 0.8};
    const tested t = chains[_i];
    const ctn_batch_config cfg = config_of(t, t.dt[0]);
    fixture f = open_model(chain20(t), cfg, 100, 3);
    const size_t nv = f.nv, K = 100;
    ctn_dynamics *dyn = ctn_dynamics_create(f.m, NULL, NULL);
    ctn_error err = {0};
    rng r = {17};
    for (size_t k = 0; k < nv; k++) f.q[k] = rng_uniform(&r, -0.2, 0.2), f.v[k] = rng_uniform(&r, -0.5, 0.5);
    for (size_t k = 0; k < K * nv; k++) f.tau[k] *= 0.01;
    double *J = numbers(6 * nv), *dq = numbers((K + 1) * nv), *g[3] = {numbers(nv), numbers(nv), numbers(K * nv)},
           *end = numbers(f.nq);
    tip(&f, dyn, f.q, f.v, f.tau, along, end);
    ctn_jacobian(dyn, 1, end, 20, J);
    for (size_t k = 0; k < nv; k++)
        for (size_t c = 0; c < 3; c++) dq[K * nv + k] += along[c] * J[(3 + c) * nv + k];
    ck_assert_int_eq(ctn_tape_gradient(f.r, dq, NULL, g[0], g[1], g[2], &err), CTN_OK);
    double *const inputs[] = {f.q, f.v, f.tau};
    const size_t sizes[] = {nv, nv, K * nv};
    for (int what = 0; what < 3; what++) {
        const double size = largest(g[what], sizes[what]), e = 1e-4;
        for (int trial = 0; trial < 25; trial++) {
            const size_t k = (size_t)rng_below(&r, (int)sizes[what]);
            const double x = inputs[what][k];
            double y[STENCIL];
            for (int s = 0; s < STENCIL; s++) {
                inputs[what][k] = x + node(s) * e;
                y[s] = tip(&f, dyn, f.q, f.v, f.tau, along, end);
            }
            inputs[what][k] = x;
            ck_assert_msg(fabs(derivative(y, e) - g[what][k]) <= 1e-6 * size,
                          "%s, dt %g, by %s[%zu]: %.12g, by differences %.12g (largest %.3g)", ctn_method_name(t.method), cfg.dt,
                          (const char *[]){"q", "v", "tau"}[what], k, g[what][k], derivative(y, e), size);
        }
    }
    free(J), free(dq), free(g[0]), free(g[1]), free(g[2]), free(end);
    ctn_dynamics_free(dyn);
    close_fixture(&f);
}
END_TEST

/// Steps that are too large for what they are given: `fewer`, some parts are made with fewer stages; `halved`, some steps in
/// parts.
static const struct {
    tested t;  // dt[0]
    int max_iterations, steps;
    bool fewer, halved;
} hard[] = {
    {{CTN_COLLOCATION, 2, {0.1, 0}}, 8, 12, false, true},   {{CTN_RADAU, 2, {0.1, 0}}, 5, 2, true, true},
    {{CTN_RADAU, 3, {0.1, 0}}, 5, 2, true, true},           {{CTN_COLLOCATION, 3, {0.05, 0}}, 4, 2, true, true},
    {{CTN_COLLOCATION, 4, {0.05, 0}}, 20, 2, true, false},  {{CTN_VARIATIONAL, 2, {0.05, 0}}, 60, 12, false, true},
    {{CTN_VARIATIONAL, 4, {0.02, 0}}, 60, 12, false, true}, {{CTN_ALPHA, 0, {0.1, 0}}, 6, 12, true, true},
};

/// They are taken part by part. The run is that of a batch, to the last bit.
START_TEST(steps_that_fall_back)
{
    const int steps = hard[_i].steps;
    ctn_batch_config cfg = config_of(hard[_i].t, hard[_i].t.dt[0]);
    cfg.tolerance = 1e-12, cfg.max_iterations = hard[_i].max_iterations;
    fixture f = open_model(chain20(hard[_i].t), cfg, steps, 5);
    for (size_t k = 0; k < f.nv; k++) f.q[k] *= 0.05, f.v[k] *= 0.05;
    for (size_t k = 0; k < (size_t)steps * f.nv; k++) f.tau[k] *= 0.01;
    ctn_error err = {0};
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_OK);
    ctn_batch *b = ctn_batch_create(f.m, &cfg, &err);
    ctn_batch_set_state(b, f.q, f.v, 0, &err);
    double *q[2] = {numbers(f.nq), numbers(f.nq)}, *v[2] = {numbers(f.nv), numbers(f.nv)};
    long fewer = 0, halved = 0, parts = 0, fallbacks = 0;
    for (int k = 0; k < steps; k++) {
        ctn_step_stats stats;
        ctn_batch_set_force(b, f.tau + (size_t)k * f.nv);
        ctn_batch_step(b, 1, &stats, NULL);
        fewer += stats.fewer_stages, halved += stats.substeps > 1, parts += stats.substeps;
        fallbacks += stats.fallbacks;
        ctn_batch_state(b, q[0], v[0]);
        ck_assert_int_eq(ctn_tape_state(f.r, k + 1, q[1], v[1], &err), CTN_OK);
        ck_assert_msg(!memcmp(q[0], q[1], f.nq * sizeof(double)) && !memcmp(v[0], v[1], f.nv * sizeof(double)),
                      "step %d: other bits", k);
    }
    ck_assert_msg((fewer > 0) == hard[_i].fewer && (halved > 0) == hard[_i].halved,
                  "%ld of %d steps were halved, %ld of %ld parts made with fewer stages", halved, steps, fewer, parts);
    ck_assert_int_gt(fallbacks, 0);
    ck_assert_int_eq(ctn_tape_fallbacks(f.r), fallbacks);
    ck_assert_int_eq(ctn_batch_fallbacks(b), fallbacks);
    ctn_batch_free(b);
    free(q[0]), free(q[1]), free(v[0]), free(v[1]);
    ck_assert_int_ge(check_gradient(&f, 5, 1e-5, 1e-6), 3);
    close_fixture(&f);
}
END_TEST

/// A state that ends by one bit elsewhere is not that of the step: no derivative is given for it.
START_TEST(another_end)
{
    const tested t = methods[_i];
    const random_options o = {.links = 5, .passive = true};
    fixture f = open_fixture(3, o, t, t.dt[1], 1);
    void *work = aligned_alloc(64, (f.engine->adjoint_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    double *from = numbers(f.flat), *to = numbers(f.flat);
    const double *at[2] = {from, to}, *tau = f.tau;
    const int ways = f.engine->adjoint_ways(&f.cfg);
    start_flat(&f, f.q, f.v, from);
    ck_assert(step_flat(&f, from, f.tau, to));
    ck_assert(f.engine->adjoint_prepare(f.lanes, &f.cfg, work, 0, f.cfg.dt, 0, &at[0], &at[1], &tau));
    to[0] = nextafter(to[0], 10);
    const bool solved_again = ways > 1 || t.method == CTN_VARIATIONAL;  // else the state tells the whole step, as alpha's does first
    for (int k = t.method == CTN_ALPHA; k < ways && solved_again; k++)
        ck_assert(!f.engine->adjoint_prepare(f.lanes, &f.cfg, work, 0, f.cfg.dt, k, &at[0], &at[1], &tau));
    free(work), free(from), free(to);
    close_fixture(&f);
}
END_TEST

START_TEST(mistakes)
{
    ctn_error err = {0};
    const tested t = {CTN_RK4, 0, {0.1, 0}};
    ctn_batch_config cfg = config_of(t, 0.1);
    fixture f = open_model(chain20(t), cfg, 50, 1);
    double *A = numbers(f.n * f.n), *q = numbers(f.nq);
    ck_assert_int_eq(ctn_tape_gradient(f.r, NULL, NULL, A, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "ctn_tape_run") != NULL, "%s", err.message);
    // an explicit method in steps far too large: frozen, nothing to differentiate
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_FROZEN);
    ck_assert_int_eq(ctn_step_jacobian(f.r, 0, A, NULL, &err), CTN_BAD_ARGUMENT);
    memcpy(q, f.q, f.nq * sizeof *q), q[3] = NAN;
    ck_assert_int_eq(ctn_tape_run(f.r, q, f.v, f.tau, &err), CTN_BAD_ARGUMENT);
    f.tau[f.nv + 2] = INFINITY;
    ck_assert_int_eq(ctn_tape_run(f.r, f.q, f.v, f.tau, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "step 1: tau[2] is not finite");
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 0, &err));
    ck_assert_str_eq(err.message, "steps: expected 1 or more, found 0");
    cfg.worlds = 2;
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    cfg.worlds = 1, cfg.method = CTN_RADAU, cfg.adaptive = true;
    ck_assert_ptr_null(ctn_tape_create(f.m, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ctn_model *const light = model_of("catena: 1\n"
                                      "links:\n"
                                      "  - {name: hook, joint: {type: revolute, axis: [0, 1, 0]}, mass: 0}\n"
                                      "  - {name: load, parent: hook, mass: 1, inertia: [1, 1, 1, 0, 0, 0],\n"
                                      "     joint: {type: revolute, axis: [1, 0, 0]}}\n"
                                      "springs:\n"
                                      "  - {link: hook, stiffness: 10, anchor: [0, 0, 1]}\n");
    cfg = ctn_batch_config_default(), cfg.method = CTN_ALPHA;
    ck_assert_ptr_null(ctn_tape_create(light, &cfg, 1, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "link 'hook' has no mass") != NULL, "%s", err.message);
    ctn_model_free(light);
    cfg = f.cfg, cfg.dt = 1e-4;
    ctn_tape *r = ctn_tape_create(f.m, &cfg, 2, &err);
    ck_assert_int_eq(ctn_tape_run(r, f.q, f.v, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_step_jacobian(r, 2, A, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "step: expected 0 to 1, found 2");
    ck_assert_int_eq(ctn_output_jacobian(r, -1, A, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_tape_state(r, 2, q, NULL, &err), CTN_OK);
    ctn_tape_free(r), ctn_tape_free(NULL);
    free(A), free(q);
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("step_jacobian");
    TCase *t = tcase_create("step_jacobian");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, steps_against_differences, 0, METHODS);
    tcase_add_loop_test(t, gradients_of_runs, 0, METHODS);
    tcase_add_loop_test(t, tip_of_a_chain, 0, sizeof chains / sizeof *chains);
    tcase_add_loop_test(t, steps_that_fall_back, 0, sizeof hard / sizeof *hard);
    tcase_add_loop_test(t, another_end, 0, METHODS);
    tcase_add_test(t, mistakes);
    tcase_add_test(t, start_and_output_against_differences);
    suite_add_tcase(s, t);
    return run_suite(s);
}
