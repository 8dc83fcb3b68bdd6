/// Along the links onto the ground: steps that touch, stick, slide and land, with what contact points remember and the ledger of
/// energy. Against the serial engine; the same bits whatever the lanes and threads of a class, and from saved states.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/along_cases.h"
#include "tests/ground_scenes.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 40 };

static const struct {
    ctn_method method;
    int stages;
} ways[] = {{CTN_COLLOCATION, 0}, {CTN_RADAU, 1}, {CTN_ALPHA, 0}, {CTN_RADAU, 2}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config steps_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = 0.004, cfg.tolerance = 1e-13;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

/// A rope of 80 links, held at one end half a metre above the ground; from odd seeds above a slope. 60 links are capsules, the last
/// 20 have no shapes and pass through the ground.
static ctn_model *rope(uint64_t seed)
{
    char text[2000];
    const char *const joint = seed % 4 < 2 ? "universal" : "ball";
    snprintf(text, sizeof text,
             "catena: 1\nground: {height: -0.5, normal: [%g, 0, 1]}\ncontact: {friction: 0.5, depth: 0.002}\n"
             "links:\n  - chain:\n      name: rope\n      count: 60\n      step: [0.05, 0, 0]\n"
             "      joint: {type: %s, damping: 0.0001}\n"
             "      shapes: [{type: capsule, from: [0, 0, 0], to: [0.05, 0, 0], radius: 0.01}]\n      density: 1000\n"
             "  - chain:\n      name: end\n      parent: rope.59\n      position: [0.05, 0, 0]\n      count: 20\n"
             "      step: [0.05, 0, 0]\n      joint: {type: %s, damping: 0.0001}\n      mass: 0.02\n      com: [0.025, 0, 0]\n"
             "      inertia: [1e-6, 4e-6, 4e-6, 0, 0, 0]\n",
             seed % 2 ? 0.05 : 0, joint, joint);
    return model_of(text);
}

/// Its state: let go from the horizontal, a little bent.
static void start_rope(const ctn_model *m, double *q, double *v)
{
    ctn_model_initial_state(m, q, v);
    for (int l = 0; l < m->nlink; l++) {
        const ctn_link *const k = ctn_model_link(m, l);
        const double bend = 0.02 * sin(0.9 * l);
        if (k->joint == CTN_BALL) q[k->qadr + 2] = 0.5 * bend, q[k->qadr + 3] = 0.5 * bend;
        else q[k->qadr] = bend, q[k->qadr + 1] = bend;
    }
}

static ctn_model *scene_of(int kind, uint64_t seed, double *q, double *v)
{
    if (kind < GROUND_KINDS) return ground_model((ground_kind)kind, seed, 0, q, v);
    ctn_model *const m = rope(seed);
    start_rope(m, q, v);
    return m;
}

static ctn_batch *falling(const ctn_model *m, ctn_batch_config cfg, const double *q, const double *v)
{
    ctn_error err;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    for (int w = 0; w < cfg.worlds; w++) ck_assert(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK);
    return b;
}

static bool agree(double x, double y, double scale) { return fabs(x - y) <= 1e-8 * (1 + scale); }

/// The largest difference, rad or m, rad/s or m/s.
static double off(const double *x, const double *y, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++)
        if (!(fabs(x[k] - y[k]) <= most)) most = fabs(x[k] - y[k]);
    return most;
}

enum { ROOM = 1000 };

/// From the same states, step by step, from before the first touch to where all lies.
START_TEST(steps_are_those_of_the_serial_engine)
{
    const int kind = _i % (GROUND_KINDS + 1), way = _i / (GROUND_KINDS + 1);
    long serial = 0, steps = 0, helped = 0, touched = 0, fewer = 0, parted = 0;
    double most = 0, slipped = 0;
    FOR_SEEDS(seed, kind < GROUND_KINDS ? 4 : 2)
    {
        ctn_error err;
        double start[2][ROOM];
        ctn_model *m = scene_of(kind, seed, start[0], start[1]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = (size_t)m->ncontact;
        double *x = numbers(2 * (nq + nv)), *q[2] = {x, x + nq}, *v[2] = {x + 2 * nq, x + 2 * nq + nv};
        ctn_batch_config cfg = steps_of(way);
        cfg.parallel = CTN_PARALLEL_WORLDS, cfg.engine = "scalar";
        ctn_batch *one = falling(m, cfg, start[0], start[1]);
        cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = seed % 2 ? 8 : 16, cfg.engine = NULL;
        ctn_batch *along = falling(m, cfg, start[0], start[1]);
        const size_t size = ctn_batch_saved_size(along);
        char *saved[2] = {malloc(size), malloc(size)};
        for (int k = 0; k < 4 * STEPS; k++) {
            ctn_step_stats a, b;
            ctn_batch_save(along, saved[0]);
            if (k % 4) {  // on the way
                ck_assert(ctn_batch_step(along, 1, NULL, &err) == CTN_OK);
                continue;
            }
            ck_assert(ctn_batch_restore(one, saved[0], size, &err) == CTN_OK);
            const long before = ctn_batch_serial_steps(along);
            ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            ctn_batch_save(one, saved[0]), ctn_batch_save(along, saved[1]);
            const double *end[2];
            for (int e = 0; e < 2; e++) end[e] = (const double *)(void *)(saved[e] + size) - 4 * n;
            double pressed = 0;
            for (size_t c = 0; c < n; c++) pressed += end[0][3 * n + c];
            const double far = off(q[1], q[0], nq), fast = off(v[1], v[0], nv);
            const double slip = distance(end[1], end[0], 3 * n), press = distance(end[1] + 3 * n, end[0] + 3 * n, n);
            const size_t gain = way < 2 ? nv + 12 * (size_t)m->nbody : 0;  // the next guess, before velocities of bodies
            const double guess = off(end[1] - gain, end[0] - gain, way < 2 ? nv : 0);
            const double E = fabs(a.energy_after) + a.dissipated + fabs(a.work);
            touched += pressed > 0;
            helped += a.fallbacks > 0, fewer += a.fewer_stages > 0, steps++, serial += ctn_batch_serial_steps(along) - before;
            if (!a.fallbacks != !b.fallbacks) {  // only one of them has found the solution of all stages
                parted++;
                continue;
            }
            most = far > most ? far : most, slipped = slip > slipped ? slip : slipped;
            ck_assert_msg(far < 1e-6 && fast < 1e-3 && guess < 1e-3 && (pressed < 1e-6 || (slip < 1e-5 && press < 1e-5)),
                          "kind %d, seed %llu, step %d: q %g, v %g, gain %g, slip %g, press %g of %g", kind,
                          (unsigned long long)seed, k, far, fast, guess, slip, press, pressed);
            ck_assert_msg(agree(b.energy_before, a.energy_before, E) && agree(b.energy_after, a.energy_after, E) &&
                              agree(b.work, a.work, E) && agree(b.dissipated, a.dissipated, E) && agree(b.created, a.created, E),
                          "kind %d, seed %llu, step %d: energy %g %g, lost %g %g, created %g %g", kind, (unsigned long long)seed,
                          k, b.energy_after, a.energy_after, b.dissipated, a.dissipated, b.created, a.created);
        }
        free(saved[0]), free(saved[1]), free(x);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
    }
    printf(
        "%s %d, kind %d: %ld of %ld steps made serially, %ld touched, %ld with fallbacks, %ld by order 2, %ld parted; q off by "
        "%.1e, slip by %.1e\n",
        ctn_method_name(ways[way].method), ways[way].stages, kind, serial, steps, touched, helped, fewer, parted, most, slipped);
    ck_assert_int_gt(touched, steps / 50);  // some of a single seed, too
    ck_assert_int_le(parted, steps / 40);
    ck_assert_int_le(serial, helped + 4);
}
END_TEST

/// On every engine, by any number of threads, in calls of any length, with statistics or without, from a saved state.
START_TEST(steps_have_the_same_bits_everywhere)
{
    for (int kind = 1; kind <= GROUND_KINDS; kind++) {
        ctn_error err;
        double start[2][ROOM];
        ctn_model *m = scene_of(kind, 3, start[0], start[1]);
        uint64_t first, hash;
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int way = 0; way < 4; way++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.threads = way % 2 ? 5 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.dt = 0.01;
                ctn_batch *b = falling(m, cfg, start[0], start[1]), *const c = falling(m, cfg, start[0], start[1]);
                ctn_step_stats stats;
                for (int k = 0; k < 60; k += way ? 20 : 10)
                    ck_assert(ctn_batch_step(b, way ? 20 : 10, way % 2 ? &stats : NULL, &err) == CTN_OK);
                if (way == 3) {
                    const size_t size = ctn_batch_saved_size(b);
                    void *const saved = malloc(size);
                    ctn_batch_save(b, saved);
                    ck_assert(ctn_batch_restore(c, saved, size, &err) == CTN_OK);
                    free(saved);
                }
                ctn_batch *const on = way == 3 ? c : b;
                ck_assert(ctn_batch_step(on, 4, NULL, &err) == CTN_OK);
                ctn_batch_hashes(on, any ? &hash : &first);
                ck_assert_msg(!any || hash == first, "kind %d, %s, way %d", kind, (*e)->name, way);
                any = true;
                ctn_batch_free(b), ctn_batch_free(c);
            }
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_ground");
    TCase *c = tcase_create("along_ground");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, WAYS * (GROUND_KINDS + 1));
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, WAYS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
