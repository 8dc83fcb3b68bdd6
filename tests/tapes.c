/// Tapes of many worlds against tapes of each of them, to the last bit, by every method and engine; runs that go on; lost worlds.
#include "dynamics/model.h"
#include "sim/batch/tapes_play.h"
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 11, STEPS = 5 };

typedef struct {
    ctn_method method;
    int number;
    double dt;
} kind;

static const kind kinds[] = {{CTN_COLLOCATION, 2, 0.03}, {CTN_RADAU, 1, 0.02},          {CTN_RADAU, 2, 0.02},
                             {CTN_RADAU, 3, 0.02},       {CTN_COLLOCATION, 4, 0.01},    {CTN_ALPHA, 0, 0.02},
                             {CTN_RK4, 0, 0.005},        {CTN_SEMI_IMPLICIT, 0, 0.005}, {CTN_VARIATIONAL, 2, 0.005}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ctn_batch_config config_of(kind k, const char *engine, int worlds)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = k.method, cfg.dt = k.dt, cfg.worlds = worlds, cfg.tolerance = 1e-12, cfg.engine = engine;
    if (k.method == CTN_RADAU) cfg.stages = k.number;
    else if (k.number) cfg.order = k.number;
    return cfg;
}

/// What a run is told, and what the scalar has of it; and what is heard on the way back.
typedef struct {
    size_t worlds, nv, nu;
    double *u, *tau;        // [steps][worlds][nu], [nv]
    double *dq, *dv;        // [steps + 1][worlds][nv]
    double *by_u, *by_tau;  // [steps][worlds][nu], [nv]
    int steps;
} told;

static double *drawn(rng *r, size_t n, double size)
{
    double *const x = calloc(n + 1, sizeof *x);
    for (size_t k = 0; k < n; k++) x[k] = rng_uniform(r, -size, size);
    return x;
}

static told open_told(const ctn_model *m, size_t worlds, int steps, rng *r)
{
    told t = {.worlds = worlds, .nv = (size_t)m->nv, .nu = (size_t)m->ncontrol, .steps = steps};
    const size_t n = (size_t)steps * worlds;
    t.u = drawn(r, n * t.nu, 0.7), t.tau = drawn(r, n * t.nv, 0.5);
    t.dq = drawn(r, (n + worlds) * t.nv, 1), t.dv = drawn(r, (n + worlds) * t.nv, 1);
    t.by_u = drawn(r, n * t.nu, 0), t.by_tau = drawn(r, n * t.nv, 0);
    return t;
}

static void close_told(told *t) { free(t->u), free(t->tau), free(t->dq), free(t->dv), free(t->by_u), free(t->by_tau); }

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const told *const t = context;
    (void)q, (void)v;
    memcpy(u, t->u + (size_t)step * t->worlds * t->nu, t->worlds * t->nu * sizeof *u);
    memcpy(tau, t->tau + (size_t)step * t->worlds * t->nv, t->worlds * t->nv * sizeof *tau);
}

static void back(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                 double *by_q, double *by_v)
{
    told *const t = context;
    (void)q, (void)v;
    ck_assert((step < t->steps) == (by_u != NULL) && (by_u != NULL) == (by_tau != NULL));
    if (by_u) memcpy(t->by_u + (size_t)step * t->worlds * t->nu, by_u, t->worlds * t->nu * sizeof *by_u);
    if (by_tau) memcpy(t->by_tau + (size_t)step * t->worlds * t->nv, by_tau, t->worlds * t->nv * sizeof *by_tau);
    for (size_t k = 0; k < t->worlds * t->nv; k++)
        by_q[k] += t->dq[(size_t)step * t->worlds * t->nv + k], by_v[k] += t->dv[(size_t)step * t->worlds * t->nv + k];
}

static ctn_tapes_hooks hooks_of(told *t) { return (ctn_tapes_hooks){tell, back, t}; }

/// Rows of world w of an array [steps][worlds][n].
static double *rows_of_world(const double *x, int steps, size_t worlds, size_t n, size_t w)
{
    double *const y = calloc((size_t)steps * n + 1, sizeof *y);
    for (size_t k = 0; k < (size_t)steps; k++) memcpy(y + k * n, x + (k * worlds + w) * n, n * sizeof *y);
    return y;
}

static void assert_same(const double *x, const double *y, size_t n, const char *what, uint64_t seed, size_t world)
{
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(x[k] == y[k], "seed %llu, world %zu: %s[%zu] is %.17g, alone %.17g", (unsigned long long)seed, world, what,
                      k, x[k], y[k]);
}

/// World w alone: its states and gradients have the same bits.
static void check_world(const ctn_model *m, kind k, const ctn_tapes *tapes, const told *t, size_t w, const double *q,
                        const double *v, const double *by_q, const double *by_v, uint64_t seed)
{
    ctn_error err;
    const ctn_batch_config cfg = config_of(k, "scalar", 1);
    ctn_tape *const tape = ctn_tape_create(m, &cfg, t->steps, &err);
    ck_assert_msg(tape, "%s", err.message);
    const size_t nq = (size_t)m->nq, steps = (size_t)t->steps;
    double *const u = rows_of_world(t->u, t->steps, t->worlds, t->nu, w),
                  *const tau = rows_of_world(t->tau, t->steps, t->worlds, t->nv, w),
                  *const dq = rows_of_world(t->dq, t->steps + 1, t->worlds, t->nv, w),
                  *const dv = rows_of_world(t->dv, t->steps + 1, t->worlds, t->nv, w),
                  *const by_u = rows_of_world(t->by_u, t->steps, t->worlds, t->nu, w),
                  *const by_tau = rows_of_world(t->by_tau, t->steps, t->worlds, t->nv, w);
    double *const x = calloc(2 * t->nv + steps * (t->nu + t->nv) + nq + 1, sizeof *x);
    double *const want_q = x, *const want_v = x + t->nv, *const want_u = x + 2 * t->nv, *const want_tau = want_u + steps * t->nu,
                  *const at = want_tau + steps * t->nv;
    ck_assert(ctn_tape_set_targets(tape, t->nu ? u : NULL, &err) == CTN_OK);
    ck_assert_msg(ctn_tape_run(tape, q + w * nq, v + w * t->nv, tau, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed,
                  err.message);
    ck_assert_int_eq(ctn_tapes_lost(tapes, (int)w), -1);
    for (int s = 0; s <= t->steps; s++) {
        ck_assert(ctn_tape_state(tape, s, at, want_v, &err) == CTN_OK);
        assert_same(ctn_tapes_q(tapes, s) + w * nq, at, nq, "q", seed, w);
        assert_same(ctn_tapes_v(tapes, s) + w * t->nv, want_v, t->nv, "v", seed, w);
    }
    ck_assert_msg(ctn_tape_target_gradient(tape, dq, dv, want_q, want_v, want_tau, want_u, &err) == CTN_OK, "%s", err.message);
    assert_same(by_q + w * t->nv, want_q, t->nv, "by_q", seed, w);
    assert_same(by_v + w * t->nv, want_v, t->nv, "by_v", seed, w);
    assert_same(by_tau, want_tau, steps * t->nv, "by_tau", seed, w);
    assert_same(by_u, want_u, steps * t->nu, "by_u", seed, w);
    ctn_tape_free(tape);
    free(u), free(tau), free(dq), free(dv), free(by_u), free(by_tau), free(x);
}

static const char *engine_at(int k)
{
    const ctn_engine *const *e = engines_available();
    for (; k > 0 && *e; e++) k--;
    return *e ? (*e)->name : NULL;
}

/// Side by side as alone. _i: the method; all engines that are here.
START_TEST(as_alone)
{
    const kind k = kinds[_i];
    const bool touches = k.method == CTN_ALPHA || k.method == CTN_RADAU || (k.method == CTN_COLLOCATION && k.number == 2);
    FOR_SEEDS(seed, 4)
    {
        const bool variational = k.method == CTN_VARIATIONAL;
        const random_options o = {.links = 2 + (int)(seed % 4),
                                  .passive = true,
                                  .motors = k.method == CTN_ALPHA && seed % 2 == 0 ? 0 : 3,
                                  .plain_springs = variational,
                                  .ground = touches && seed % 2 == 0};
        ctn_model *const m = random_model(seed, &o);
        const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
        rng r = {seed};
        told t = open_told(m, WORLDS, STEPS, &r);
        double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v),
                      *const by_q = drawn(&r, WORLDS * nv, 1), *const by_v = drawn(&r, WORLDS * nv, 1);
        for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
        int compared = 0;
        for (int e = 0; engine_at(e); e++) {
            ctn_error err;
            ctn_batch_config cfg = config_of(k, engine_at(e), WORLDS);
            cfg.threads = 1 + e % 2;
            ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, STEPS, true, &err);
            ck_assert_msg(tapes, "seed %llu: %s", (unsigned long long)seed, err.message);
            const ctn_tapes_hooks hooks = hooks_of(&t);
            ck_assert_msg(ctn_tapes_run(tapes, STEPS, q, v, NULL, &hooks, &err) == CTN_OK, "%s", err.message);
            ck_assert_msg(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK, "%s", err.message);
            for (size_t w = 0; w < WORLDS; w++) {
                if (ctn_tapes_lost(tapes, (int)w) >= 0) continue;
                check_world(m, k, tapes, &t, w, q, v, by_q, by_v, seed), compared++;
            }
            ctn_tapes_free(tapes);
        }
        ck_assert_msg(compared >= WORLDS / 2, "seed %llu: only %d worlds could be compared", (unsigned long long)seed, compared);
        free(q), free(v), free(by_q), free(by_v), close_told(&t);
        ctn_model_free(m);
    }
}
END_TEST

enum { ROUNDS = 3, HOLD = 2 };

/// What worlds are told in a round, by where they are, and where they have been seen.
typedef struct {
    size_t nx, nu;
    double *seen;  // [ROUNDS + 1][WORLDS][nx]
    bool good[ROUNDS + 1][WORLDS];
} round_of_play;

static double law(int round, size_t k, double x) { return 0.3 * sin(x) + 0.1 * (double)(k + 1) - 0.05 * round; }

static void tell_lanes(void *context, int first, int count, int lanes, int round, const double *x, const bool *good, double *u)
{
    round_of_play *const p = context;
    ck_assert((u == NULL) == (round == ROUNDS));
    for (int i = 0; i < count; i++) {
        double *const seen = p->seen + ((size_t)round * WORLDS + (size_t)(first + i)) * p->nx;
        for (size_t k = 0; k < p->nx; k++) seen[k] = x[k * (size_t)lanes + (size_t)i];
        p->good[round][first + i] = good[i];
    }
    for (size_t k = 0; k < p->nu && u; k++)
        for (size_t l = 0; l < (size_t)lanes; l++) u[k * (size_t)lanes + l] = law(round, k, x[(k % p->nx) * (size_t)lanes + l]);
}

/// The same by runs that are told rows; a run begins at q and v, of which it may see another rounding.
typedef struct {
    size_t nq, nv, nu;
    int round;
    const double *q, *v;
} round_of_run;

static void tell_rows(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const round_of_run *const p = context;
    (void)tau;
    if (step % HOLD) return;
    if (!step) q = p->q, v = p->v;
    for (size_t w = 0; w < WORLDS; w++)
        for (size_t k = 0; k < p->nu; k++) {
            const size_t at = k % (p->nq + p->nv);
            u[w * p->nu + k] = law(p->round + step / HOLD, k, at < p->nq ? q[w * p->nq + at] : v[w * p->nv + at - p->nq]);
        }
}

/// Worlds that are played, in lanes, go where runs lead. _i: the method; all engines; as one run, and begun anew in every round.
START_TEST(played)
{
    const kind k = kinds[_i];
    const bool touches = k.method == CTN_ALPHA || k.method == CTN_RADAU || (k.method == CTN_COLLOCATION && k.number == 2);
    FOR_SEEDS(seed, 4)
    {
        const random_options o = {.links = 2 + (int)(seed % 4),
                                  .passive = true,
                                  .motors = 3,
                                  .plain_springs = k.method == CTN_VARIATIONAL,
                                  .ground = touches && seed % 2 == 0};
        ctn_model *const m = random_model(seed, &o);
        const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nx = nq + nv;
        rng r = {seed};
        double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v);
        double *const seen = calloc((ROUNDS + 1) * WORLDS * nx, sizeof *seen);
        for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
        int compared = 0;
        for (int e = 0; engine_at(e); e++)
            for (int anew = 0; anew < 2; anew++) {
                ctn_error err;
                ctn_batch_config cfg = config_of(k, engine_at(e), WORLDS);
                cfg.threads = 1 + e % 2, cfg.max_halvings = 0;
                round_of_play p = {nx, (size_t)m->ncontrol, seen, {{false}}};
                round_of_run told_rows = {nq, nv, (size_t)m->ncontrol, 0, q, v};
                ctn_tapes *const played_ = ctn_tapes_create(m, &cfg, 1, false, &err), *const run = ctn_tapes_create(
                                                                                          m, &cfg, ROUNDS * HOLD, false, &err);
                ck_assert_msg(played_ && run, "seed %llu: %s", (unsigned long long)seed, err.message);
                ck_assert_msg(tapes_play(played_, WORLDS, ROUNDS, HOLD, anew, q, v, tell_lanes, &p, &err) == CTN_OK, "%s", err.message);
                const ctn_tapes_hooks hooks = {.tell = tell_rows, .context = &told_rows};
                if (!anew) ck_assert(ctn_tapes_run(run, ROUNDS * HOLD, q, v, NULL, &hooks, &err) == CTN_OK);
                double *const at_q = calloc(WORLDS * nq + 1, sizeof *q), *const at_v = calloc(WORLDS * nv + 1, sizeof *v);
                memcpy(at_q, q, WORLDS * nq * sizeof *q), memcpy(at_v, v, WORLDS * nv * sizeof *v);
                for (int round = 1; round <= ROUNDS; round++) {
                    told_rows.round = round - 1, told_rows.q = at_q, told_rows.v = at_v;
                    if (anew) ck_assert(ctn_tapes_run(run, HOLD, at_q, at_v, NULL, &hooks, &err) == CTN_OK);
                    const int step = anew ? HOLD : round * HOLD;
                    memcpy(at_q, ctn_tapes_q(run, step), WORLDS * nq * sizeof *q);
                    memcpy(at_v, ctn_tapes_v(run, step), WORLDS * nv * sizeof *v);
                    for (size_t w = 0; w < WORLDS; w++) {
                        const bool fine = ctn_tapes_frozen(run, (int)w) == CTN_RUNNING;
                        if (anew && !p.good[round][w]) continue;  // runs begin again where worlds that are played stay frozen
                        if (anew || round == ROUNDS) ck_assert(p.good[round][w] == fine);
                        if (!p.good[round][w]) continue;
                        const double *const x = seen + ((size_t)round * WORLDS + w) * nx;
                        assert_same(x, at_q + w * nq, nq, "q", seed, w), assert_same(x + nq, at_v + w * nv, nv, "v", seed, w);
                        compared++;
                    }
                }
                free(at_q), free(at_v);
                ctn_tapes_free(played_), ctn_tapes_free(run);
            }
        ck_assert_msg(compared >= WORLDS, "seed %llu: only %d states could be compared", (unsigned long long)seed, compared);
        free(q), free(v), free(seen);
        ctn_model_free(m);
    }
}
END_TEST

/// Two runs, of which the second goes on, are one; worlds of the same block may begin anew in between.
START_TEST(goes_on)
{
    const kind k = kinds[_i];
    const uint64_t seed = 7;
    const random_options o = {.links = 4, .passive = true, .motors = 3, .plain_springs = k.method == CTN_VARIATIONAL};
    ctn_model *const m = random_model(seed, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    rng r = {seed};
    ctn_error err;
    told t = open_told(m, WORLDS, 2 * STEPS, &r);
    double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v);
    bool begin[WORLDS];
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv), begin[w] = w % 3 == 1;
    const ctn_batch_config cfg = config_of(k, NULL, WORLDS);
    ctn_tapes *const whole = ctn_tapes_create(m, &cfg, 2 * STEPS, true, &err), *const half =
                                                                                   ctn_tapes_create(m, &cfg, STEPS, true, &err);
    ck_assert(whole && half);
    ctn_tapes_hooks hooks = hooks_of(&t);
    ck_assert(ctn_tapes_run(whole, 2 * STEPS, q, v, NULL, &hooks, &err) == CTN_OK);
    memset(t.dq, 0, (STEPS + 1) * WORLDS * nv * sizeof *t.dq), memset(t.dv, 0, (STEPS + 1) * WORLDS * nv * sizeof *t.dv);
    ck_assert(ctn_tapes_gradient(whole, &hooks, NULL, NULL, &err) == CTN_OK);
    told later = t;  // the second half
    later.steps = STEPS;
    later.u += STEPS * WORLDS * t.nu, later.tau += STEPS * WORLDS * nv, later.dq += STEPS * WORLDS * nv;
    later.dv += STEPS * WORLDS * nv;
    later.by_u = calloc(STEPS * WORLDS * t.nu + 1, sizeof *later.by_u);
    later.by_tau = calloc(STEPS * WORLDS * nv + 1, sizeof *later.by_tau);
    double *const by_q = drawn(&r, WORLDS * nv, 1);
    ck_assert(ctn_tapes_run(half, STEPS, q, v, NULL, &hooks, &err) == CTN_OK);
    hooks.context = &later;
    ck_assert(ctn_tapes_run(half, STEPS, q, v, begin, &hooks, &err) == CTN_OK);
    ck_assert(ctn_tapes_gradient(half, &hooks, by_q, NULL, &err) == CTN_OK);
    int gone_on = 0;
    for (size_t w = 0; w < WORLDS; w++) {
        if (ctn_tapes_lost(whole, (int)w) >= 0 || ctn_tapes_lost(half, (int)w) >= 0) continue;
        const double began = begin[w] ? 0 : STEPS * cfg.dt;
        ck_assert_double_eq_tol(ctn_tapes_time(half, (int)w, 0), began, 1e-15);
        double moved = 0;
        for (size_t j = 0; j < nv; j++) moved += fabs(by_q[w * nv + j]);
        ck_assert((moved > 0) == begin[w]);
        if (begin[w]) {
            assert_same(ctn_tapes_q(half, 0) + w * nq, ctn_tapes_q(whole, 0) + w * nq, nq, "q at the start", seed, w);
            continue;
        }
        gone_on++;
        assert_same(ctn_tapes_q(half, STEPS) + w * nq, ctn_tapes_q(whole, 2 * STEPS) + w * nq, nq, "q", seed, w);
        for (size_t s = 0; s < STEPS; s++) {
            const size_t row = s * WORLDS + w, whole_row = (s + STEPS) * WORLDS + w;
            assert_same(later.by_u + row * t.nu, t.by_u + whole_row * t.nu, t.nu, "by_u", seed, w);
            assert_same(later.by_tau + row * nv, t.by_tau + whole_row * nv, nv, "by_tau", seed, w);
        }
    }
    ck_assert_int_ge(gone_on, 3);
    free(later.by_u), free(later.by_tau), free(by_q), free(q), free(v), close_told(&t);
    ctn_tapes_free(whole), ctn_tapes_free(half), ctn_model_free(m);
}
END_TEST

/// A world that freezes is lost, those beside it are as without it, and it can begin anew.
START_TEST(lost)
{
    const kind k = kinds[_i];
    const uint64_t seed = 3;
    const random_options o = {.links = 3, .motors = 2, .plain_springs = true, .joints = 1u << CTN_REVOLUTE};
    ctn_model *const m = random_model(seed, &o);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    rng r = {seed};
    ctn_error err;
    told t = open_told(m, WORLDS, STEPS, &r);
    double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v),
                  *const by_q = drawn(&r, WORLDS * nv, 1), *const by_v = drawn(&r, WORLDS * nv, 1);
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    enum { LOST = 2 };
    const double kept = v[LOST * nv];
    v[LOST * nv] = 1e9;
    const ctn_batch_config cfg = config_of(k, NULL, WORLDS);
    ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, STEPS, true, &err);
    const ctn_tapes_hooks hooks = hooks_of(&t);
    ck_assert_msg(tapes, "%s", err.message);
    ck_assert_msg(ctn_tapes_run(tapes, STEPS, q, v, NULL, &hooks, &err) == CTN_OK, "%s", err.message);
    ck_assert(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK);
    ck_assert_int_eq(ctn_tapes_lost(tapes, LOST), 0);
    for (size_t j = 0; j < nv; j++) ck_assert(by_q[LOST * nv + j] == 0 && by_v[LOST * nv + j] == 0);
    for (size_t s = 0; s < STEPS * t.nu; s++) ck_assert(t.by_u[(s / t.nu * WORLDS + LOST) * t.nu + s % t.nu] == 0);
    for (size_t w = 0; w < WORLDS; w++)
        if (w != LOST) check_world(m, k, tapes, &t, w, q, v, by_q, by_v, seed);
    v[LOST * nv] = kept;
    bool begin[WORLDS] = {false};
    begin[LOST] = true;
    ck_assert(ctn_tapes_run(tapes, STEPS, q, v, begin, &hooks, &err) == CTN_OK);
    ck_assert(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK);
    check_world(m, k, tapes, &t, LOST, q, v, by_q, by_v, seed);
    free(q), free(v), free(by_q), free(by_v), close_told(&t);
    ctn_tapes_free(tapes), ctn_model_free(m);
}
END_TEST

/// Linearised runs: a row is the gradient of that coordinate after the last step, to the last bit, of every world that has one.
START_TEST(linearised)
{
    const kind k = kinds[_i];
    FOR_SEEDS(seed, 3)
    {
        const bool variational = k.method == CTN_VARIATIONAL;
        const random_options o = {
            .links = 2 + (int)(seed % 3), .passive = true, .motors = k.method == CTN_ALPHA ? 0 : 2, .plain_springs = variational};
        ctn_model *const m = random_model(seed, &o);
        const size_t nq = (size_t)m->nq, nv = (size_t)m->nv, n = 2 * nv;
        enum { RUN = 3 };
        rng r = {seed};
        ctn_error err;
        told t = open_told(m, WORLDS, RUN, &r);
        for (size_t s = 1; s < RUN; s++)  // held in all steps
            memcpy(t.u + s * WORLDS * t.nu, t.u, WORLDS * t.nu * sizeof *t.u),
                memcpy(t.tau + s * WORLDS * nv, t.tau, WORLDS * nv * sizeof *t.tau);
        double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v),
                      *const by_q = drawn(&r, WORLDS * nv, 1), *const by_v = drawn(&r, WORLDS * nv, 1),
                      *const A = drawn(&r, WORLDS * n * n, 1), *const B = drawn(&r, WORLDS * n * t.nu, 1),
                      *const F = drawn(&r, WORLDS * n * nv, 1);
        for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
        v[5 * nv] = seed % 2 ? v[5 * nv] : 1e9;  // a world that is lost
        ctn_batch_config cfg = config_of(k, NULL, WORLDS);
        cfg.threads = 2;
        ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, RUN, true, &err);
        ck_assert_msg(tapes, "seed %llu: %s", (unsigned long long)seed, err.message);
        const ctn_tapes_hooks hooks = hooks_of(&t);
        ck_assert_msg(ctn_tapes_run(tapes, RUN, q, v, NULL, &hooks, &err) == CTN_OK, "%s", err.message);
        ck_assert_msg(ctn_tapes_jacobian(tapes, A, B, F, &err) == CTN_OK, "%s", err.message);
        for (size_t row = 0; row < n; row++) {
            memset(t.dq, 0, (RUN + 1) * WORLDS * nv * sizeof *t.dq), memset(t.dv, 0, (RUN + 1) * WORLDS * nv * sizeof *t.dv);
            for (size_t w = 0; w < WORLDS; w++) (row < nv ? t.dq : t.dv)[(RUN * WORLDS + w) * nv + row % nv] = 1;
            ck_assert_msg(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK, "%s", err.message);
            for (size_t w = 0; w < WORLDS; w++) {
                assert_same(A + (w * n + row) * n, by_q + w * nv, nv, "A by q", seed, w);
                assert_same(A + (w * n + row) * n + nv, by_v + w * nv, nv, "A by v", seed, w);
                for (size_t j = 0; j < t.nu + nv; j++) {
                    double sum = 0;
                    for (size_t s = RUN; s-- > 0;)
                        sum += j < t.nu ? t.by_u[(s * WORLDS + w) * t.nu + j] : t.by_tau[(s * WORLDS + w) * nv + j - t.nu];
                    const double found = j < t.nu ? B[(w * n + row) * t.nu + j] : F[(w * n + row) * nv + j - t.nu];
                    ck_assert_msg(found == sum, "seed %llu, world %zu, row %zu, column %zu: %.17g, by gradients %.17g",
                                  (unsigned long long)seed, w, row, j, found, sum);
                }
            }
        }
        if (seed % 2 == 0) ck_assert_int_eq(ctn_tapes_lost(tapes, 5), 0);
        bool begin[WORLDS] = {true};
        const double time[WORLDS] = {1.5};
        ck_assert_int_eq(ctn_tapes_begin_at(tapes, time, &err), CTN_OK);
        ck_assert_int_eq(ctn_tapes_run(tapes, RUN, q, v, begin, &hooks, &err), CTN_OK);
        ck_assert_double_eq(ctn_tapes_time(tapes, 0, 0), 1.5);
        ck_assert_int_eq(ctn_tapes_jacobian(tapes, A, B, F, &err), CTN_BAD_ARGUMENT);
        free(q), free(v), free(by_q), free(by_v), free(A), free(B), free(F), close_told(&t);
        ctn_tapes_free(tapes), ctn_model_free(m);
    }
}
END_TEST

/// Thrusters are told, too, though the scene says one thing for all times.
START_TEST(thrusters)
{
    const kind k = kinds[_i];
    if (k.method == CTN_COLLOCATION && k.number > 2) return;  // takes none
    ctn_model *const m =
        model_of("catena: 1\nlinks: [{name: a, joint: {type: free}, mass: 1, inertia: [1, 2, 3, 0, 0, 0]},\n"
                 "  {name: b, parent: a, joint: {type: revolute, axis: [1, 0, 0]}, mass: 0.5, com: [0, 0, -0.3],\n"
                 "   inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\n"
                 "motors: [{link: a, type: thrust, point: [0.1, 0, 0], reaction: 0.3},\n"
                 "  {joint: b, type: torque}, {link: b, type: moment, axis: [0, 0, 1], target: 2}]\n");
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    rng r = {5};
    ctn_error err;
    told t = open_told(m, WORLDS, STEPS, &r);
    double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v),
                  *const by_q = drawn(&r, WORLDS * nv, 1), *const by_v = drawn(&r, WORLDS * nv, 1);
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    const ctn_batch_config cfg = config_of(k, NULL, WORLDS);
    ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, STEPS, true, &err);
    ck_assert_msg(tapes, "%s", err.message);
    const ctn_tapes_hooks hooks = hooks_of(&t);
    ck_assert_msg(ctn_tapes_run(tapes, STEPS, q, v, NULL, &hooks, &err) == CTN_OK, "%s", err.message);
    ck_assert(ctn_tapes_gradient(tapes, &hooks, by_q, by_v, &err) == CTN_OK);
    for (size_t w = 0; w < WORLDS; w++) check_world(m, k, tapes, &t, w, q, v, by_q, by_v, 5);
    free(q), free(v), free(by_q), free(by_v), close_told(&t);
    ctn_tapes_free(tapes), ctn_model_free(m);
}
END_TEST

static void tell_nothing(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    (void)context, (void)step, (void)q, (void)v, (void)tau;
    if (u) u[0] = NAN;
}

START_TEST(mistakes)
{
    const random_options o = {.links = 3, .motors = 2, .joints = 1u << CTN_REVOLUTE};
    ctn_model *const m = random_model(5, &o);
    ctn_error err;
    ctn_batch_config cfg = config_of(kinds[0], NULL, 2);
    const ctn_parameter own = {.kind = CTN_TIME_STEP};
    cfg.parameters = &own, cfg.parameter_count = 1;
    ck_assert(!ctn_tapes_create(m, &cfg, 3, true, &err));
    ck_assert_msg(err.status == CTN_UNAVAILABLE, "%s", err.message);
    cfg.parameter_count = 0, cfg.adaptive = true;
    ck_assert(!ctn_tapes_create(m, &cfg, 3, true, &err));
    cfg.adaptive = false;
    ck_assert(!ctn_tapes_create(m, &cfg, 0, true, &err) && err.status == CTN_BAD_ARGUMENT);
    ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, 3, true, &err);
    double q[8], v[8];
    const ctn_tapes_hooks hooks = {.tell = tell_nothing};
    for (size_t w = 0; w < 2; w++) ctn_model_initial_state(m, q + w * (size_t)m->nq, v + w * (size_t)m->nv);
    ck_assert_int_eq(ctn_tapes_gradient(tapes, &hooks, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_tapes_run(tapes, 4, q, v, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_tapes_run(tapes, 3, q, v, NULL, &hooks, &err), CTN_BAD_ARGUMENT);
    ck_assert(strstr(err.message, "u[0] of world 0 is not finite"));
    ck_assert_int_eq(ctn_tapes_run(tapes, 3, q, v, NULL, NULL, &err), CTN_OK);
    ck_assert(ctn_tapes_q(tapes, 3) && !ctn_tapes_q(tapes, 4) && isnan(ctn_tapes_time(tapes, 2, 0)));
    ck_assert_uint_gt(ctn_tapes_bytes(tapes), ctn_tapes_bytes(NULL));
    v[1] = NAN;
    ck_assert_int_eq(ctn_tapes_run(tapes, 3, q, v, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ctn_tapes_free(tapes), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("tapes");
    TCase *const c = tcase_create("tapes");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, as_alone, 0, KINDS);
    tcase_add_loop_test(c, played, 0, KINDS);
    tcase_add_loop_test(c, goes_on, 0, KINDS);
    tcase_add_loop_test(c, linearised, 0, KINDS);
    tcase_add_loop_test(c, thrusters, 0, KINDS);
    tcase_add_loop_test(c, lost, 0, 3);
    tcase_add_test(c, mistakes);
    suite_add_tcase(s, c);
    return run_suite(s);
}
