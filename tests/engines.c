/// The same bits on every engine, in every batch and lane.
#include "sim/engine/engine.h"
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__  // the lane of two would show no more than that of four
enum { STEPS = 100 };
#define engine_two engine_scalar
#else
enum { STEPS = 1000 };
extern const ctn_engine engine_two;
#endif

static uint64_t hash_of(uint64_t h, const double *x, size_t n)
{
    const unsigned char *b = (const unsigned char *)x;
    for (size_t k = 0; k < n * sizeof *x; k++) h = (h ^ b[k]) * 0x100000001b3u;
    return h;
}

/// State of world w: the same whatever the batch.
static void world_state(const ctn_model *m, int w, double *q, double *v)
{
    rng r = {(uint64_t)w * 7919 + 3};
    random_state(m, &r, q, v);
}

/// Joint forces on world w; odd worlds feel none, as a lane may.
static void world_force(const ctn_model *m, int w, double *tau)
{
    rng r = {(uint64_t)w * 104729 + 11};
    for (int k = 0; k < ctn_model_nv(m); k++) tau[k] = w % 2 ? 0 : rng_uniform(&r, -3, 3);
}

/// Hash of every world's trajectory in a batch of `worlds`: state, residual, energy and iterations every `every` steps. Forces
/// act on it from the third part of the run on, other ones in the last part.
static uint64_t *trajectories(const ctn_model *m, const char *engine, ctn_batch_config cfg, int worlds, int steps, int every)
{
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), W = (size_t)worlds;
    ctn_error err = {0};
    cfg.worlds = worlds, cfg.engine = engine;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    double *q = malloc((W * nq + 1) * sizeof *q), *v = malloc((W * nv + 1) * sizeof *v),
           *tau = malloc((W * nv + 1) * sizeof *tau);
    uint64_t *h = malloc(W * sizeof *h);
    ctn_step_stats *stats = calloc(W, sizeof *stats);
    for (int w = 0; w < worlds; w++) world_state(m, w, q + (size_t)w * nq, v + (size_t)w * nv), h[w] = 0xcbf29ce484222325u;
    ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
    for (int s = 0; s < steps; s += every) {
        for (int w = 0; w < worlds; w++) world_force(m, s == steps - every ? w + 1 : w, tau + (size_t)w * nv);
        ctn_batch_set_force(b, s < 2 * every ? NULL : tau);
        ctn_batch_step(b, every, stats, NULL);
        ctn_batch_state(b, q, v);
        for (size_t w = 0; w < W; w++) {
            h[w] = hash_of(h[w], q + w * nq, nq);
            h[w] = hash_of(h[w], v + w * nv, nv);
            h[w] = hash_of(h[w], &stats[w].residual, 1);
            h[w] = hash_of(h[w], &stats[w].energy_after, 1);
            h[w] = hash_of(h[w], (double[]){stats[w].work, stats[w].dissipated, stats[w].created}, 3);
            h[w] = (h[w] ^ (uint64_t)stats[w].iterations) * 0x100000001b3u;
            h[w] = (h[w] ^ (uint64_t)(stats[w].substeps + 1000000 * stats[w].rejected)) * 0x100000001b3u;
        }
    }
    free(q), free(v), free(tau), free(stats);
    ctn_batch_free(b);
    return h;
}

static const struct {
    ctn_method method;
    double dt;
    int number;     // order or stages; 0: the default
    bool adaptive;  // each lane its own parts
    int share;      // of the steps, one in so many: costly methods
} methods[] = {
    {CTN_SEMI_IMPLICIT, 1e-3, 0, false, 1}, {CTN_RK4, 2e-3, 0, false, 1},          {CTN_DOP853, 4e-3, 0, false, 5},
    {CTN_DOP853, 0.04, 0, true, 5},         {CTN_COLLOCATION, 0.02, 2, false, 1},  {CTN_COLLOCATION, 0.2, 2, false, 1},
    {CTN_COLLOCATION, 2e-3, 3, false, 20},  {CTN_COLLOCATION, 2e-3, 6, false, 20}, {CTN_RADAU, 0.05, 1, false, 5},
    {CTN_RADAU, 0.05, 2, false, 10},        {CTN_RADAU, 0.2, 3, false, 20},        {CTN_RADAU, 0.05, 3, true, 20},
    {CTN_RADAU, 0.02, 4, false, 20},        {CTN_VARIATIONAL, 0.005, 2, false, 2}, {CTN_VARIATIONAL, 0.05, 2, false, 5},
    {CTN_ALPHA, 0.02, 0, false, 2},         {CTN_ALPHA, 0.2, 0, false, 5},         {CTN_ALPHA, 2e-3, 0, true, 20}};

static ctn_batch_config config_of(size_t k)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.dt = methods[k].dt, cfg.method = methods[k].method, cfg.adaptive = methods[k].adaptive;
    if (methods[k].number) cfg.order = methods[k].method == CTN_RADAU ? cfg.order : methods[k].number;
    if (methods[k].number) cfg.stages = methods[k].method == CTN_RADAU ? methods[k].number : cfg.stages;
    return cfg;
}

/// Whether the method takes the springs of a model.
static bool takes(const ctn_model *m, size_t k)
{
    return !m->nload || methods[k].method != CTN_COLLOCATION || methods[k].number == 2;
}

/// Batches of 1, 3, 64 and 1000 worlds: 1000 steps (fewer under sanitizers, and of costly methods) on every engine, the same bits
/// for the worlds they share.
START_TEST(batches)
{
    static const int sizes[] = {1, 3, 64, 1000};
    const random_options o = {.links = 4,
                              .passive = true,
                              .joints = _i % 2 ? 0 : 1u << CTN_UNIVERSAL | 1u << CTN_BALL,
                              .springs = _i % 2 ? 3 : 0,
                              .wrenches = _i % 2 ? 2 : 0,
                              .motors = _i % 2 ? 3 : 0,
                              .plain_springs = true};
    ctn_model *m = random_model(40 + (uint64_t)_i, &o);
    const ctn_engine *const *list = engines_available();
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        uint64_t *first = NULL;  // of the largest batch on the last engine
        if (!takes(m, k)) continue;
        const int steps = STEPS / methods[k].share < 10 ? 10 : STEPS / methods[k].share;
        int engines = 0;
        while (list[engines]) engines++;
        for (int e = engines - 1; e >= 0; e--)
            for (int s = 3; s >= 0; s--) {
                // a thousand worlds on the narrower engines: one method; of costly methods on none
                if (s == 3 && ((e < engines - 1 && k != 1) || methods[k].share > 1)) continue;
                uint64_t *h = trajectories(m, list[e]->name, config_of(k), sizes[s], steps, steps / 10);
                if (!first) first = h;
                for (int w = 0; w < sizes[s]; w++)
                    ck_assert_msg(h[w] == first[w], "%s, method %zu, world %d of %d: other bits", list[e]->name, k, w, sizes[s]);
                if (h != first) free(h);
            }
        ck_assert(first[0] != first[1]);
        free(first);
    }
    ctn_model_free(m);
}
END_TEST

/// Engines that are not chosen on this machine: library fma, and the lane of two. Fewer steps, but every method and joint.
START_TEST(other_lanes)
{
    const random_options o = {
        .links = 9, .passive = true, .springs = _i % 2 ? 3 : 0, .wrenches = _i % 2 ? 2 : 0, .motors = 4, .plain_springs = true};
    ctn_model *m = random_model(7 + (uint64_t)_i, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    const ctn_engine *const engines[] = {engines_available()[0], &engine_scalar, &engine_two};
    double *q = malloc(8 * nq * sizeof *q), *v = malloc(8 * nv * sizeof *v), *tau = malloc(8 * nv * sizeof *tau), *x[3] = {0};
    for (int w = 0; w < 8; w++)
        world_state(m, w, q + (size_t)w * nq, v + (size_t)w * nv), world_force(m, w, tau + (size_t)w * nv);
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        if (!takes(m, k)) continue;
        const ctn_batch_config cfg = config_of(k);
        const int s = methods[k].share > 1 ? 4 : 25, many[8] = {s, s, s, s, s, s, s, s}, one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        lane_model *first = engine_model(engines[0], m, cfg.dt);
        const size_t flat = engines[0]->flat_size(first, &cfg), bar = engines[0]->bar_size(first, &cfg);
        free(first);
        const size_t n = 2 * flat + 2 * bar + 3 * nv;
        for (int e = 0; e < 3; e++) {
            const ctn_engine *g = engines[e];
            lane_model *lanes = engine_model(g, m, cfg.dt);
            void *state = aligned_alloc(64, g->state_size(lanes, &cfg) + 64), *work = aligned_alloc(64, g->work_size(lanes, &cfg) + 64);
            void *adjoint = aligned_alloc(64, g->adjoint_size(lanes, &cfg) + 64);
            memset(state, 0, g->state_size(lanes, &cfg)), memset(work, 0, g->work_size(lanes, &cfg));
            x[e] = calloc(8 * n, sizeof *x[e]);
            for (int w = 0; w < 8; w += g->lanes) {
                const double *qr[8], *vr[8], *tr[8];
                ctn_step_stats stats[8] = {{0}};
                engine_use use = {0};
                for (int l = 0; l < g->lanes; l++)
                    qr[l] = q + (size_t)(w + l) * nq, vr[l] = v + (size_t)(w + l) * nv, tr[l] = tau + (size_t)(w + l) * nv;
                g->set(lanes, &cfg, state, work, qr, vr);
                g->step(lanes, &cfg, state, work, NULL, NULL, many, true, g->lanes, stats, &use);
                g->step(lanes, &cfg, state, work, NULL, tr, many, true, g->lanes, stats, &use);
                // and one step back: before, after, gradients by the state after it, by that before it, by forces, q and v
                double *at[6][8], *const all = x[e];
                const size_t place[6] = {0, flat, 2 * flat, 2 * flat + bar, 2 * flat + 2 * bar, 2 * flat + 2 * bar + nv};
                double *v_bar[8];
                for (int l = 0; l < g->lanes; l++) {
                    for (int k = 0; k < 6; k++) at[k][l] = all + (size_t)(w + l) * n + place[k];
                    v_bar[l] = at[5][l] + nv;
                    g->flatten(lanes, &cfg, state, l, false, at[0][l]);
                }
                g->step(lanes, &cfg, state, work, NULL, tr, one, true, g->lanes, stats, &use);
                for (int l = 0; l < g->lanes; l++) g->flatten(lanes, &cfg, state, l, false, at[1][l]);
#define ROWS(p) ((const double *const *)(p))
                if (cfg.adaptive) continue;
                g->adjoint_output(lanes, &cfg, adjoint, g->lanes, ROWS(at[1]), tr, vr, at[2]);
                g->adjoint_prepare(lanes, &cfg, adjoint, NULL, cfg.dt, _i % 2 ? g->adjoint_ways(&cfg) - 1 : 0, ROWS(at[0]),
                                   ROWS(at[1]), tr, NULL);
                g->adjoint_step(lanes, &cfg, adjoint, g->lanes, ROWS(at[2]), at[3], at[4], NULL, NULL);
                g->adjoint_start(lanes, &cfg, adjoint, g->lanes, ROWS(at[0]), vr, ROWS(at[3]), at[5], v_bar, NULL);
#undef ROWS
            }
            free(state), free(work), free(adjoint), free(lanes);
            ck_assert_msg(!memcmp(x[e], x[0], 8 * n * sizeof *x[e]), "engine %d, method %zu: other bits", e, k);
        }
        double sum = 0;
        for (size_t j = 0; j < 8 * n; j++) sum += x[0][j] * 0;
        ck_assert_msg(sum == 0, "method %zu: not finite", k);  // equal NaNs would prove nothing
        for (int e = 0; e < 3; e++) free(x[e]);
    }
    free(q), free(v), free(tau);
    ctn_model_free(m);
}
END_TEST

/// The dynamics calls: every engine, odd counts.
START_TEST(dynamics_calls)
{
    const random_options o = {.links = 12,
                              .passive = true,
                              .springs = _i % 2 ? 3 : 0,
                              .wrenches = _i % 2 ? 2 : 0,
                              .motors = 4,
                              .winding = true,
                              .speeds = true};
    ctn_model *m = random_model(100 + (uint64_t)_i, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nl = (size_t)m->nlink, sums = sizeof(ctn_totals) / sizeof(double);
    const size_t count = 11, n = count * (7 * nv * nv + 5 * nv + 18 * nl + 12 * nv + sums);
    double *q = malloc(count * nq * sizeof *q), *v = malloc(count * nv * sizeof *v), *want = malloc(n * sizeof *want),
           *got = malloc(n * sizeof *got);
    double *tau = malloc(count * nv * sizeof *tau);
    for (size_t w = 0; w < count; w++) world_state(m, (int)w, q + w * nq, v + w * nv), world_force(m, (int)w, tau + w * nv);
    const ctn_engine *engines[8] = {&engine_scalar, &engine_two};
    int ne = 2;
    for (const ctn_engine *const *l = engines_available(); *l; l++) engines[ne++] = *l;
    for (int e = 0; e < ne; e++) {
        const ctn_engine *g = engines[e];
        lane_model *lanes = engine_model(g, m, 0);
        void *scratch = aligned_alloc(64, g->dynamics_size(lanes) + 64);
        double *const all = e ? got : want, *x = all;
        const int c = (int)count;
        for (size_t k = 0; k < n; k++) all[k] = NAN;
        g->crba(lanes, scratch, c, q, x), x += count * nv * nv;
        g->aba(lanes, scratch, c, q, v, tau, x), x += count * nv;
        g->aba(lanes, scratch, c, q, v, NULL, x), x += count * nv;
        g->rnea(lanes, scratch, c, q, v, v, x), x += count * nv;
        g->rnea(lanes, scratch, c, q, v, NULL, x), x += count * nv;
        g->passive(lanes, scratch, c, q, v, x), x += count * nv;
        g->rnea_derivatives(lanes, scratch, c, q, v, tau, x, x + count * nv * nv, x + 2 * count * nv * nv), x += 3 * count * nv * nv;
        g->aba_derivatives(lanes, scratch, c, q, v, tau, x, x + count * nv * nv, x + 2 * count * nv * nv), x += 3 * count * nv * nv;
        g->forward_kinematics(lanes, scratch, c, q, x, x + count * 9 * nl), x += count * 12 * nl;
        g->link_twists(lanes, scratch, c, q, v, x), x += count * 6 * nl;
        g->jacobian(lanes, scratch, c, q, 0, x), x += count * 6 * nv;
        g->jacobian(lanes, scratch, c, q, (int)nl - 1, x), x += count * 6 * nv;
        g->totals(lanes, scratch, c, NULL, q, v, (ctn_totals *)(void *)x), x += count * sums;
        ck_assert(x == all + n);
        free(scratch), free(lanes);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(isfinite(all[k]), "engine %s (%d): number %zu is %g", g->name, e, k, all[k]);  // and all are written
        ck_assert_msg(!memcmp(got, want, e ? n * sizeof *got : 0), "engine %s (%d): other bits", g->name, e);
    }
    free(q), free(v), free(tau), free(want), free(got);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engines");
    TCase *t = tcase_create("bits");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, batches, 0, 2);
    tcase_add_loop_test(t, other_lanes, 0, 4);
    tcase_add_loop_test(t, dynamics_calls, 0, 6);
    suite_add_tcase(s, t);
    return run_suite(s);
}
