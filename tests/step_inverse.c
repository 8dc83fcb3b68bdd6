/// The inverse of steps: forces that lead to recorded coordinates exactly, by every method that asks what forces are, contact
/// included; motions that no step made; worlds side by side, of which one is lost.
#include "dynamics/model.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 5, STEPS = 6 };

typedef struct {
    ctn_method method;
    int number;
    double dt;
} kind;

static const kind kinds[] = {{CTN_COLLOCATION, 2, 0.05},    {CTN_RADAU, 1, 0.05}, {CTN_RADAU, 2, 0.02},      {CTN_ALPHA, 0, 0.02},
                             {CTN_SEMI_IMPLICIT, 0, 0.005}, {CTN_RK4, 0, 0.01},   {CTN_VARIATIONAL, 2, 0.01}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ctn_batch_config config_of(kind k, int worlds)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = k.method, cfg.dt = k.dt, cfg.worlds = worlds, cfg.tolerance = 1e-13;
    if (k.method == CTN_RADAU) cfg.stages = k.number;
    else if (k.number) cfg.order = k.number;
    return cfg;
}

/// What a run under random forces goes through is gone through again, from the coordinates alone.
static void check_found(const ctn_model *m, const ctn_batch_config *cfg, uint64_t seed, bool contact)
{
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    rng r = {seed};
    ctn_error err;
    double *const q = calloc(WORLDS * nq + 1, sizeof *q), *const v = calloc(WORLDS * nv + 1, sizeof *v),
                  *const tau = calloc(STEPS * WORLDS * nv + 1, sizeof *tau),
                  *const to = calloc(STEPS * WORLDS * nq + 1, sizeof *to), *const found = calloc(WORLDS * nv + 1, sizeof *found),
                  distance[WORLDS];
    bool *const fine = calloc(WORLDS, sizeof *fine);
    for (size_t w = 0; w < WORLDS; w++) {
        fine[w] = true;
        if (contact) ctn_model_initial_state(m, q + w * nq, v + w * nv);
        else random_state(m, &r, q + w * nq, v + w * nv);
    }
    for (size_t k = 0; k < STEPS * WORLDS * nv; k++) tau[k] = rng_uniform(&r, -2, 2);
    ctn_batch *const batch = batch_with(m, cfg);
    ctn_step_stats stats[WORLDS];
    ck_assert(ctn_batch_set_state(batch, q, v, 0, &err) == CTN_OK);
    for (size_t k = 0; k < STEPS; k++) {
        ctn_batch_run(batch, &(ctn_run){.steps = 1, .force = tau + k * WORLDS * nv}, stats, &err);
        ctn_batch_state(batch, to + k * WORLDS * nq, NULL);
        for (size_t w = 0; w < WORLDS; w++) fine[w] = fine[w] && !stats[w].frozen && stats[w].substeps <= 1;
    }
    ctn_batch_free(batch);
    ctn_tapes *const tapes = ctn_tapes_create(m, cfg, 1, true, &err);
    ck_assert_msg(tapes, "%s", err.message);
    int compared = 0;
    for (size_t k = 0; k < STEPS; k++) {
        const bool on[WORLDS] = {false};
        ck_assert_msg(ctn_step_inverse(tapes, q, v, k ? on : NULL, to + k * WORLDS * nq, found, distance, &err) == CTN_OK, "%s",
                      err.message);
        for (size_t w = 0; w < WORLDS; w++) {
            if (!fine[w]) continue;
            ck_assert_msg(distance[w] <= 1e-10, "seed %llu, %s, world %zu, step %zu: %g away", (unsigned long long)seed,
                          ctn_method_name(cfg->method), w, k, distance[w]);
            compared++;
            for (size_t j = 0; j < nv && !contact; j++)
                ck_assert_msg(fabs(found[w * nv + j] - tau[(k * WORLDS + w) * nv + j]) < 1e-4,
                              "seed %llu, %s, world %zu, step %zu: tau[%zu] is %.12g, it was %.12g", (unsigned long long)seed,
                              ctn_method_name(cfg->method), w, k, j, found[w * nv + j], tau[(k * WORLDS + w) * nv + j]);
        }
    }
    ck_assert_int_ge(compared, STEPS * WORLDS / 2);
    ctn_tapes_free(tapes);
    free(q), free(v), free(tau), free(to), free(found), free(fine);
}

START_TEST(forces_are_found)
{
    const kind k = kinds[_i];
    FOR_SEEDS(seed, 4)
    {
        const random_options o = {.links = 2 + (int)(seed % 4), .passive = true, .plain_springs = k.method == CTN_VARIATIONAL};
        ctn_model *const m = random_model(seed, &o);
        const ctn_batch_config cfg = config_of(k, WORLDS);
        check_found(m, &cfg, seed, false);
        ctn_model_free(m);
    }
}
END_TEST

/// A leg that stands on the ground, pushed about: the ground's own forces are what they are, and the motors' are found.
START_TEST(on_the_ground)
{
    ctn_model *const m =
        model_of("catena: 1\nground: true\ncontact: {friction: 0.8}\n"
                 "links: [{name: body, joint: {type: planar, q0: [0, 0.0, 0]}, mass: 2, inertia: [0.1, 0.1, 0.1, 0, 0, 0],\n"
                 "   position: [0, 0, 0.42], euler: [1.5707963267948966, 0, 0]},\n"
                 "  {name: leg, parent: body, joint: {type: revolute, axis: [0, 0, 1]}, mass: 0.5, com: [0, -0.2, 0],\n"
                 "   inertia: [0.01, 0.01, 0.01, 0, 0, 0], shapes: [{type: sphere, center: [0, -0.4, 0], radius: 0.025}]}]\n");
    for (int k = 0; k < 4; k++) {
        kind on = kinds[k];
        on.dt = 0.02;
        const ctn_batch_config cfg = config_of(on, WORLDS);
        check_found(m, &cfg, 77, true);
    }
    ctn_model_free(m);
}
END_TEST

/// A motion that nothing made, in steps of 50 ms, and a world that is lost beside it.
START_TEST(any_motion)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, -0.5],\n"
                 "  inertia: [0.1, 0.1, 0.1, 0, 0, 0]}, {name: b, parent: a, position: [0, 0, -1],\n"
                 "  joint: {type: ball}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1, 0, 0, 0]}]\n");
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    ctn_batch_config cfg = config_of(kinds[0], 2);
    ctn_error err;
    ctn_tapes *const tapes = ctn_tapes_create(m, &cfg, 1, true, &err);
    ck_assert_msg(tapes, "%s", err.message);
    double q[10] = {0}, v[8] = {0}, to[10], tau[8] = {0}, distance[2];
    q[1] = q[6] = 1, v[4] = 1e12;
    for (int k = 0; k < 20; k++) {
        const bool begin[2] = {k == 0, k == 0};
        const double t = (k + 1) * cfg.dt, a = 0.4 * sin(2 * t);
        for (size_t w = 0; w < 2; w++) {
            double *const x = to + w * nq;
            x[0] = 0.8 * sin(3 * t), x[1] = cos(a), x[2] = sin(a) * 0.6, x[3] = 0, x[4] = sin(a) * 0.8;
        }
        ck_assert_msg(ctn_step_inverse(tapes, q, v, begin, to, tau, distance, &err) == CTN_OK, "%s", err.message);
        ck_assert_msg(distance[0] <= 1e-12, "step %d: %g away", k, distance[0]);
        ck_assert(!(distance[1] <= 1e-3));
        for (size_t j = 0; j < nv; j++) ck_assert(isfinite(tau[j]));
    }
    ctn_tapes_free(tapes);
    cfg.method = CTN_EULER;
    ctn_tapes *const euler = ctn_tapes_create(m, &cfg, 1, true, &err);
    ck_assert_int_eq(ctn_step_inverse(euler, q, v, NULL, to, tau, distance, &err), CTN_UNAVAILABLE);
    ctn_tapes_free(euler);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("step_inverse");
    TCase *const c = tcase_create("step_inverse");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, forces_are_found, 0, KINDS);
    tcase_add_test(c, on_the_ground);
    tcase_add_test(c, any_motion);
    suite_add_tcase(s, c);
    return run_suite(s);
}
