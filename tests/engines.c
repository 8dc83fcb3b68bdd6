/// The same bits on every engine, in every batch and lane.
#include "sim/engine.h"
#include "tests/golden.h"
#include "tests/random_scene.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const ctn_engine engine_eight;

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

/// Hash of the trajectories of worlds first .. first + count - 1 of a batch of `worlds`, a sample every `every` steps.
static uint64_t trajectory(const ctn_model *m, const char *engine, ctn_method method, double dt, int worlds, int first, int count,
                           int steps, int every, long *fallbacks)
{
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), W = (size_t)worlds;
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.worlds = worlds, cfg.dt = dt, cfg.method = method, cfg.engine = engine;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    double *q = malloc((W * nq + 1) * sizeof *q), *v = malloc((W * nv + 1) * sizeof *v);
    ctn_step_stats *stats = calloc(W, sizeof *stats);
    for (int w = 0; w < worlds; w++) world_state(m, w, q + (size_t)w * nq, v + (size_t)w * nv);
    ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
    uint64_t h = 0xcbf29ce484222325u;
    for (int s = 0; s < steps; s += every) {
        ctn_batch_step(b, every, stats, NULL);
        ctn_batch_state(b, q, v);
        h = hash_of(h, q + (size_t)first * nq, (size_t)count * nq);
        h = hash_of(h, v + (size_t)first * nv, (size_t)count * nv);
        for (int w = first; w < first + count; w++) {
            h = hash_of(h, &stats[w].residual, 1);
            h = hash_of(h, &stats[w].energy_after, 1);
            h = (h ^ (uint64_t)stats[w].iterations) * 0x100000001b3u;
            *fallbacks += stats[w].fallbacks;
        }
    }
    free(q), free(v), free(stats);
    ctn_batch_free(b);
    return h;
}

static const struct {
    ctn_method method;
    double dt;
} methods[] = {{CTN_SEMI_IMPLICIT, 1e-3}, {CTN_RK4, 2e-3}, {CTN_COLLOCATION, 0.02}, {CTN_COLLOCATION, 0.2}};

/// Batches of 1, 3, 64 and 1000 worlds: 1000 steps, every engine, the same bits for the worlds they share.
START_TEST(batches)
{
    const random_options o = {.links = 4, .passive = true, .joints = _i % 2 ? 0 : 1u << CTN_UNIVERSAL | 1u << CTN_BALL};
    ctn_model *m = random_model(40 + (uint64_t)_i, &o);
    const ctn_engine *const *list = engines_available();
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        long fallbacks = 0;
        uint64_t first = 0, third = 0, last = 0;
        for (int e = 0; list[e]; e++) {
            const char *name = list[e]->name;
            const uint64_t one = trajectory(m, name, methods[k].method, methods[k].dt, 1, 0, 1, 1000, 100, &fallbacks);
            const uint64_t three = trajectory(m, name, methods[k].method, methods[k].dt, 3, 0, 3, 1000, 100, &fallbacks);
            if (e == 0) first = one, third = three;
            ck_assert_msg(one == first && three == third, "%s, method %zu: other bits than %s", name, k, list[0]->name);
            for (int W = 64; W <= 1000; W += 936) {
                if (e == 0 && W == 1000 && k > 0) continue;  // the scalar engine in all of it once
                ck_assert(trajectory(m, name, methods[k].method, methods[k].dt, W, 0, 1, 1000, 100, &fallbacks) == first);
                ck_assert(trajectory(m, name, methods[k].method, methods[k].dt, W, 0, 3, 1000, 100, &fallbacks) == third);
                const uint64_t end = trajectory(m, name, methods[k].method, methods[k].dt, W, 61, 3, 1000, 100, &fallbacks);
                if (!last) last = end;
                ck_assert_msg(end == last, "%s, method %zu, %d worlds: other bits", name, k, W);
            }
        }
    }
    ctn_model_free(m);
}
END_TEST

/// Engines that are not chosen on this machine: library fma, and the lane of eight. Fewer steps, but every method and joint.
START_TEST(other_lanes)
{
    const random_options o = {.links = 9, .passive = true};
    ctn_model *m = random_model(7 + (uint64_t)_i, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    const ctn_engine *const engines[] = {engines_available()[0], &engine_scalar, &engine_eight};
    double *q = malloc(8 * nq * sizeof *q), *v = malloc(8 * nv * sizeof *v), *x[3] = {0};
    for (int w = 0; w < 8; w++) world_state(m, w, q + (size_t)w * nq, v + (size_t)w * nv);
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.dt = methods[k].dt, cfg.method = methods[k].method;
        const size_t n = engines[0]->flat_size(m, cfg.method);
        for (int e = 0; e < 3; e++) {
            const ctn_engine *g = engines[e];
            void *state = aligned_alloc(64, g->state_size(m, cfg.method) + 64), *work = aligned_alloc(64, g->work_size(m, cfg.method) + 64);
            memset(state, 0, g->state_size(m, cfg.method)), memset(work, 0, g->work_size(m, cfg.method));
            x[e] = malloc(8 * n * sizeof *x[e]);
            for (int w = 0; w < 8; w += g->lanes) {
                const double *qr[8], *vr[8];
                ctn_step_stats stats[8] = {{0}};
                for (int l = 0; l < g->lanes; l++) qr[l] = q + (size_t)(w + l) * nq, vr[l] = v + (size_t)(w + l) * nv;
                g->set(m, &cfg, state, work, qr, vr);
                g->step(m, &cfg, state, work, NULL, 50, true, g->lanes, stats);
                for (int l = 0; l < g->lanes; l++) g->flatten(m, &cfg, state, l, false, x[e] + (size_t)(w + l) * n);
            }
            free(state), free(work);
            ck_assert_msg(!memcmp(x[e], x[0], 8 * n * sizeof *x[e]), "engine %d, method %zu: other bits", e, k);
        }
        double sum = 0;
        for (size_t j = 0; j < 8 * n; j++) sum += x[0][j] * 0;
        ck_assert_msg(sum == 0, "method %zu: not finite", k);  // equal NaNs would prove nothing
        for (int e = 0; e < 3; e++) free(x[e]);
    }
    free(q), free(v);
    ctn_model_free(m);
}
END_TEST

/// The dynamics calls: every engine, odd counts.
START_TEST(dynamics_calls)
{
    const random_options o = {.links = 12, .passive = true};
    ctn_model *m = random_model(100 + (uint64_t)_i, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, count = 11, n = count * (nv * nv + 4 * nv);
    double *q = malloc(count * nq * sizeof *q), *v = malloc(count * nv * sizeof *v), *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
    for (size_t w = 0; w < count; w++) world_state(m, (int)w, q + w * nq, v + w * nv);
    const ctn_engine *engines[8] = {&engine_scalar, &engine_eight};
    int ne = 2;
    for (const ctn_engine *const *l = engines_available(); *l; l++) engines[ne++] = *l;
    for (int e = 0; e < ne; e++) {
        const ctn_engine *g = engines[e];
        void *scratch = aligned_alloc(64, g->dynamics_size(m) + 64);
        double *x = e ? got : want;
        const int c = (int)count;
        g->crba(m, scratch, c, q, x);
        g->aba(m, scratch, c, q, v, v, x + count * nv * nv);
        g->rnea(m, scratch, c, q, v, v, x + count * nv * (nv + 1));
        g->rnea(m, scratch, c, q, v, NULL, x + count * nv * (nv + 2));
        g->passive(m, scratch, c, q, v, x + count * nv * (nv + 3));
        free(scratch);
        ck_assert_msg(!memcmp(got, want, e ? n * sizeof *got : 0), "engine %s (%d): other bits", g->name, e);
    }
    free(q), free(v), free(want), free(got);
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
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
