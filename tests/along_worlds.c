/// Worlds along their links that have parameters of their own: as side by side, to the last bit what each of them is alone, and
/// from saved states; with wrenches besides.
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 3, STEPS = 5, MOST = 120 };

static const struct {
    ctn_method method;
    int number;
} ways[] = {{CTN_COLLOCATION, 2}, {CTN_ALPHA, 0}, {CTN_RADAU, 2}, {CTN_VARIATIONAL, 2}, {CTN_VARIATIONAL, 4}, {CTN_RK4, 0},
            {CTN_SEMI_IMPLICIT, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config steps_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = 1e-4, cfg.tolerance = 1e-12, cfg.worlds = WORLDS;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    return cfg;
}

/// A chain or a tree with all that the method takes.
static ctn_model *model_for(uint64_t seed, int way)
{
    const bool some = ways[way].method != CTN_VARIATIONAL;
    return random_model(seed, &(random_options){.links = 45,
                                                .chain = seed % 2,
                                                .passive = some || ways[way].number == 2,
                                                .springs = some ? 3 : 0,
                                                .wrenches = some ? 3 : 0,
                                                .motors = 6,
                                                .moving = some && seed % 3 == 0,
                                                .plain_springs = !some});
}

typedef struct {
    ctn_parameter list[MOST];
    int count;
    double *values;  // [WORLDS][count]
} differences;

static void add(const ctn_model *m, int kind, int index, differences *d)
{
    const ctn_parameter p = {(ctn_parameter_kind)kind, index};
    double value;
    if (d->count < MOST && (kind == CTN_TIME_STEP || ctn_model_parameter(m, p, &value, NULL) == CTN_OK)) d->list[d->count++] = p;
}

static double draw(rng *r, ctn_parameter p, double dt)
{
    switch (p.kind) {
    case CTN_GRAVITY: return rng_uniform(r, -12, -2);
    case CTN_TIME_STEP: return dt * rng_uniform(r, 0.5, 1);
    case CTN_MASS_SCALE: return rng_uniform(r, 0.5, 2);
    case CTN_LIMIT_LOWER: return rng_uniform(r, -3, -0.5);
    case CTN_LIMIT_UPPER: return rng_uniform(r, 0.5, 3);
    case CTN_LIMIT_STIFFNESS: return rng_uniform(r, 10, 100);
    default: return rng_uniform(r, 0, 0.5);
    }
}

/// Parameters of every kind that the model and the method have; bodies: of links, too.
static differences differ(const ctn_model *m, uint64_t seed, int way, bool bodies)
{
    const bool variational = ways[way].method == CTN_VARIATIONAL;
    differences d = {.count = 0};
    rng r = {seed * 7 + 1};
    add(m, CTN_GRAVITY, 2, &d), add(m, CTN_TIME_STEP, 0, &d);
    for (int k = CTN_SPRING_STIFFNESS; k <= CTN_MOTOR_EFFORT; k++) {
        if (variational && (k == CTN_SPRING_DAMPING || k == CTN_MOTOR_KD)) continue;
        for (int i = 0; i < 3; i++) add(m, k, i, &d);
    }
    for (int l = 0; l < ctn_model_nlink(m) && bodies; l++)
        for (int k = CTN_MASS_SCALE; k <= CTN_FRICTION; k++) {
            const bool of_link = k <= CTN_LIMIT_DAMPING || (k == CTN_FRICTION && !variational);
            const bool lossy = k == CTN_DAMPING || k == CTN_LIMIT_DAMPING;
            if (!of_link || (l + k) % 3 || (lossy && ways[way].number == 4)) continue;
            if (k == CTN_ARMATURE && ctn_model_link(m, l)->nv > 1) continue;  // rotors are on one of its degrees of freedom
            add(m, k, l, &d);
        }
    d.values = numbers((size_t)(WORLDS * d.count));
    for (int w = 0; w < WORLDS; w++)
        for (int k = 0; k < d.count; k++) d.values[w * d.count + k] = draw(&r, d.list[k], 1e-4);
    return d;
}

/// Worlds first to first + cfg.worlds of those of a seed; forces act with odd seeds.
static ctn_batch *differing(const ctn_model *m, uint64_t seed, int first, ctn_batch_config cfg, const differences *d)
{
    ctn_error err;
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), from = (size_t)first;
    double *const q = numbers(WORLDS * nq), *const v = numbers(WORLDS * nv), *const tau = numbers(WORLDS * nv);
    rng r = {seed * 31 + 7};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    for (size_t k = 0; k < WORLDS * nv; k++) tau[k] = rng_uniform(&r, -1, 1), v[k] *= 0.1;
    cfg.parameters = d->list, cfg.parameter_count = d->count;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ck_assert(ctn_batch_set_state(b, q + from * nq, v + from * nv, 0, &err) == CTN_OK);
    if (seed % 2) ctn_batch_set_force(b, tau + from * nv);
    ck_assert_msg(ctn_batch_set_parameters(b, d->values + from * (size_t)d->count, &err) == CTN_OK, "%s", err.message);
    free(q), free(v), free(tau);
    return b;
}

static bool agree(double x, double y, double scale) { return fabs(x - y) <= 1e-9 * (1 + scale); }

/// From the same states, step by step; constants of links or not (which equal links share, then).
START_TEST(steps_are_those_of_worlds)
{
    long serial = 0;
    double most = 0;
    FOR_SEEDS(seed, 6)
    {
        ctn_error err;
        ctn_model *m = model_for(seed, _i);
        differences d = differ(m, seed, _i, seed % 2);
        const size_t nq = WORLDS * (size_t)ctn_model_nq(m), nv = WORLDS * (size_t)ctn_model_nv(m);
        double *x = numbers(2 * (nq + nv)), *q[2] = {x, x + nq}, *v[2] = {x + 2 * nq, x + 2 * nq + nv};
        ctn_batch_config cfg = steps_of(_i);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = differing(m, seed, 0, cfg, &d);
        cfg.parallel = seed % 4 < 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = 8, cfg.threads = seed % 3 ? 2 : 3;
        ctn_batch *along = differing(m, seed, 0, cfg, &d);
        const size_t size = ctn_batch_saved_size(along);
        void *saved = malloc(size);
        for (int k = 0; k < STEPS; k++) {
            ctn_step_stats a[WORLDS], b[WORLDS];
            ctn_batch_save(along, saved);
            ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
            ck_assert(ctn_batch_step(one, 1, a, &err) == CTN_OK && ctn_batch_step(along, 1, b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            const double far = distance(q[1], q[0], nq), fast = distance(v[1], v[0], nv);
            most = far > most ? far : most;
            ck_assert_msg(far < 1e-9 && fast < 1e-7, "%s, seed %llu, step %d: q %g, v %g", ctn_method_name(cfg.method),
                          (unsigned long long)seed, k, far, fast);
            for (int w = 0; w < WORLDS; w++) {
                const double E = fabs(a[w].energy_after) + a[w].dissipated + fabs(a[w].work);
                ck_assert_msg(agree(b[w].energy_before, a[w].energy_before, E) && agree(b[w].energy_after, a[w].energy_after, E) &&
                                  agree(b[w].work, a[w].work, E) && agree(b[w].dissipated, a[w].dissipated, E) &&
                                  agree(b[w].created, a[w].created, E),
                              "%s, seed %llu, step %d, world %d: energy %g %g", ctn_method_name(cfg.method),
                              (unsigned long long)seed, k, w, b[w].energy_after, a[w].energy_after);
                ck_assert(ctn_batch_time(along, w) == ctn_batch_time(one, w));
            }
        }
        serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m), free(x), free(saved), free(d.values);
    }
    printf("%s %d: %ld steps made serially, q off by %.1e\n", ctn_method_name(ways[_i].method), ways[_i].number, serial, most);
    ck_assert_int_le(serial, WORLDS * (ways[_i].method == CTN_ALPHA ? 6 : ways[_i].method == CTN_RADAU ? 3 : 0));
}
END_TEST

/// A world has the bits that it has alone: by `links` and `both`, on any engine, by any number of threads, with parameters that
/// change, wrenches, and from a saved state.
START_TEST(worlds_are_what_they_are_alone)
{
    FOR_SEEDS(seed, 3)
    {
        ctn_error err;
        ctn_model *m = model_for(seed, _i);
        differences d = differ(m, seed, _i, true), later = differ(m, seed + 50, _i, true);
        const ctn_wrench pull = {.force = {0.1, 0.2, 0.3}, .torque = {0.01, 0, 0.02}};
        uint64_t first[WORLDS], hash[WORLDS];
        int link = m->nlink - 1;
        while (m->frames[link].body < 0) link--;
        memcpy(later.list, d.list, sizeof d.list);
        ck_assert_int_eq(later.count, d.count);
        for (int way = -1; way < 4; way++)
            for (const ctn_engine *const *e = engines_available(); *e; e++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.lanes = 16, cfg.engine = (*e)->name, cfg.threads = way % 2 ? 3 : 1;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
                ctn_batch *b = differing(m, seed, 0, cfg, &d), *const c = differing(m, seed, 0, cfg, &later);
                for (int w = 0; w < WORLDS && way < 0; w++) {  // the first of all: each alone, and with all that it has
                    ctn_batch_config own = cfg;
                    own.worlds = 1;
                    ctn_batch *const alone = differing(m, seed, w, own, &d);
                    ck_assert(ctn_batch_step(alone, 2, NULL, &err) == CTN_OK);
                    ck_assert(ctn_batch_set_parameters(alone, later.values + w * d.count, &err) == CTN_OK);
                    if (w == 1) ck_assert(ctn_batch_set_wrench(alone, 0, link, &pull, &err) == CTN_OK);
                    ck_assert(ctn_batch_step(alone, 3, NULL, &err) == CTN_OK);
                    ctn_batch_hashes(alone, &first[w]);
                    ctn_batch_free(alone);
                }
                ck_assert(ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
                if (way == 1) {
                    const size_t size = ctn_batch_saved_size(b);
                    void *const saved = malloc(size);
                    ctn_batch_save(b, saved);
                    ck_assert(ctn_batch_step(c, 1, NULL, &err) == CTN_OK && ctn_batch_restore(c, saved, size, &err) == CTN_OK);
                    free(saved);
                }
                ctn_batch *const on = way == 1 ? c : b;
                ck_assert(ctn_batch_set_parameters(on, later.values, &err) == CTN_OK);
                ck_assert(ctn_batch_set_wrench(on, 1, link, &pull, &err) == CTN_OK);
                for (int k = 0; k < 3; k += way == 2 ? 1 : 3) ck_assert(ctn_batch_step(on, way == 2 ? 1 : 3, NULL, &err) == CTN_OK);
                ctn_batch_hashes(on, hash);
                for (int w = 0; w < WORLDS; w++)
                    ck_assert_msg(hash[w] == first[w], "%s, seed %llu, way %d, %s: world %d", ctn_method_name(cfg.method),
                                  (unsigned long long)seed, way, (*e)->name, w);
                ctn_batch_free(b), ctn_batch_free(c);
            }
        free(d.values), free(later.values), ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_worlds");
    TCase *c = tcase_create("along_worlds");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, steps_are_those_of_worlds, 0, WAYS);
    tcase_add_loop_test(c, worlds_are_what_they_are_alone, 0, WAYS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
