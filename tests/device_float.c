/// The engine "cuda-float", through its twin: how far its worlds are from those in double precision, what it says about itself,
/// and that they do not depend on company either.
#include "sim/engine/device.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 8 };

static const struct {
    ctn_method method;
    int number;  // order or stages
    double dt;
    bool adaptive;
    double most;  // difference in q after a second, rad or m
} methods[] = {
    {CTN_SEMI_IMPLICIT, 0, 1e-3, false, 1e-4}, {CTN_RK4, 0, 2e-3, false, 1e-4},         {CTN_DOP853, 0, 0.04, true, 1e-4},
    {CTN_COLLOCATION, 2, 0.02, false, 2e-3},   {CTN_COLLOCATION, 4, 0.01, false, 5e-3}, {CTN_RADAU, 1, 0.05, false, 1e-3},
    {CTN_RADAU, 2, 0.05, false, 1e-3},         {CTN_RADAU, 3, 0.05, false, 1e-3},       {CTN_VARIATIONAL, 2, 0.01, false, 5e-3},
};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_batch_config config_of(int k, const char *engine)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = methods[k].dt, cfg.adaptive = methods[k].adaptive, cfg.worlds = WORLDS,
    cfg.engine = engine;
    if (methods[k].adaptive) cfg.error_tolerance = 1e-4;
    if (cfg.method == CTN_RADAU) cfg.stages = methods[k].number;
    else if (methods[k].number) cfg.order = methods[k].number;
    return cfg;
}

static ctn_batch *batch_of(const ctn_model *m, const ctn_batch_config *cfg, const double *q, const double *v)
{
    ctn_error err;
    ctn_batch *const b = ctn_batch_create(m, cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
    return b;
}

/// Worlds at random states, and room for where they are later.
typedef struct {
    ctn_model *m;
    size_t nq, nv;
    double *q, *v, *x[2];
} setting;

static setting open_setting(uint64_t seed, bool passive)
{
    setting s = {.m = random_model(seed, &(random_options){.links = 5, .passive = passive, .smooth = true})};
    s.nq = (size_t)ctn_model_nq(s.m), s.nv = (size_t)ctn_model_nv(s.m);
    s.q = calloc(WORLDS * s.nq, sizeof *s.q), s.v = calloc(WORLDS * s.nv, sizeof *s.v);
    for (int k = 0; k < 2; k++) s.x[k] = calloc(WORLDS * (s.nq + s.nv), sizeof *s.q);
    rng r = {seed};
    for (size_t w = 0; w < WORLDS; w++) random_state(s.m, &r, s.q + w * s.nq, s.v + w * s.nv);
    return s;
}

static void close_setting(setting *s)
{
    ctn_model_free(s->m);
    free(s->q), free(s->v), free(s->x[0]), free(s->x[1]);
}

/// A second in both precisions.
START_TEST(close_to_double)
{
    double worst = 0;
    long iterations[2] = {0, 0};
    FOR_SEEDS(seed, 4)
    {
        setting s = open_setting(seed, methods[_i].method != CTN_VARIATIONAL);
        for (int k = 0; k < 2; k++) {
            const ctn_batch_config cfg = config_of(_i, k ? "cuda-float" : "scalar");
            ctn_batch *const b = batch_of(s.m, &cfg, s.q, s.v);
            ctn_step_stats stats[WORLDS];
            ctn_batch_step(b, (int)lround(1 / cfg.dt), stats, NULL);
            ctn_batch_state(b, s.x[k], NULL);
            for (int w = 0; w < WORLDS; w++) {
                ck_assert_msg(!stats[w].frozen, "seed %llu: world %d: %s", (unsigned long long)seed, w,
                              ctn_freeze_text(stats[w].frozen));
                iterations[k] += stats[w].iterations;
            }
            ctn_batch_free(b);
        }
        for (size_t k = 0; k < WORLDS * s.nq; k++) worst = fmax(worst, fabs(s.x[1][k] - s.x[0][k]));
        close_setting(&s);
    }
    printf("float: %s %d, dt %g: q differs by up to %.1e after 1 s; %ld iterations, %ld in double precision\n",
           ctn_method_name(methods[_i].method), methods[_i].number, methods[_i].dt, worst, iterations[1], iterations[0]);
    fflush(stdout);
    ck_assert_msg(worst > 0 && worst <= methods[_i].most, "%g", worst);
}
END_TEST

/// A world alone, and one that was saved and restored, move like those of a batch, to the last bit.
START_TEST(company_and_saving)
{
    setting s = open_setting(17, methods[_i].method != CTN_VARIATIONAL);
    ctn_batch_config cfg = config_of(_i, "cuda-float");
    ctn_batch *const all = batch_of(s.m, &cfg, s.q, s.v);
    ctn_batch_step(all, 7, NULL, NULL);
    const size_t size = ctn_batch_saved_size(all);
    char *const saved = malloc(size);
    ctn_batch_save(all, saved);
    ctn_batch *const restored = batch_of(s.m, &cfg, s.q, s.v);
    ck_assert_int_eq(ctn_batch_restore(restored, saved, size, NULL), CTN_OK);
    ctn_batch *const both[] = {all, restored};
    uint64_t hash[2][WORLDS], one;
    for (int k = 0; k < 2; k++) {
        ctn_batch_step(both[k], 9, NULL, NULL);
        ctn_batch_state(both[k], s.x[k], s.x[k] + WORLDS * s.nq);
        ctn_batch_hashes(both[k], hash[k]);
    }
    ck_assert(!memcmp(s.x[0], s.x[1], WORLDS * (s.nq + s.nv) * sizeof *s.q));
    ck_assert(!memcmp(hash[0], hash[1], sizeof hash[0]));
    cfg.worlds = 1;
    ctn_batch *const alone = batch_of(s.m, &cfg, s.q + 3 * s.nq, s.v + 3 * s.nv);
    ctn_batch_step(alone, 7, NULL, NULL), ctn_batch_step(alone, 9, NULL, NULL);
    ctn_batch_hashes(alone, &one);
    ck_assert_uint_eq(one, hash[0][3]);
    free(saved), ctn_batch_free(all), ctn_batch_free(restored), ctn_batch_free(alone), close_setting(&s);
}
END_TEST

/// What it says of tolerances that it cannot meet, and of angles that it cannot resolve; worlds that freeze.
START_TEST(limits)
{
    setting s = open_setting(3, true);
    ctn_error err;
    ctn_batch_config cfg = config_of(3, "cuda-float");
    ctn_batch *b = batch_of(s.m, &cfg, s.q, s.v);
    ck_assert_str_eq(ctn_batch_configuration(b)->engine, "cuda-float");
    ck_assert_double_eq(ctn_batch_configuration(b)->tolerance, 2e-6);
    ctn_batch_free(b);
    cfg = config_of(2, "cuda-float"), cfg.error_tolerance = 1e-6;
    ck_assert_ptr_null(ctn_batch_create(s.m, &cfg, &err));
    ck_assert_str_eq(err.message, "error_tolerance: the engine 'cuda-float' works with 0.0001 or more, found 1e-06");
    close_setting(&s);

    ctn_model *const m = random_model(5, &(random_options){.links = 3, .joints = 1u << CTN_REVOLUTE});
    cfg = config_of(1, "cuda-float"), cfg.worlds = 2;
    const double q[6] = {0, 0, 0, 1.1e4}, v[6] = {1e300, 0, 0, 1e6};
    b = batch_of(m, &cfg, q, v);
    ctn_step_stats stats[2];
    ck_assert_int_eq(ctn_batch_step(b, 1, stats, &err), CTN_FROZEN);
    ck_assert_int_eq(stats[0].frozen, CTN_FREEZE_NOT_FINITE);
    ck_assert_int_eq(stats[1].frozen, CTN_FREEZE_ANGLE);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// What sensors say is measured in double precision, at the states that the worlds have but for rounding.
START_TEST(sensors)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks:\n  - {name: a, joint: ball, mass: 1, com: [0, 0, 1], inertia: [1, 1, 1, 0, 0, 0]}\n"
        "  - {name: b, parent: a, position: [0, 0, 1], joint: revolute, mass: 1, com: [0, 1, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
        "sensors: [{name: imu, type: imu, link: b, point: [0.1, 0, 0]}, {name: late, type: joint_position, joint: b, delay: "
        "0.1}]\n");
    ctn_batch_config cfg = config_of(3, "cuda-float");
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    enum { NUMBERS = 7, STEPS = 12, LATE = 5 };  // 0.1 s are 5 steps
    double q[WORLDS * 5], v[WORLDS * 4], said[WORLDS * NUMBERS], now[WORLDS * NUMBERS], was[STEPS];
    for (int k = 0; k < STEPS; k++) {
        ctn_batch_state(b, q, v), ctn_sensors(dyn, WORLDS, q, v, NULL, now);
        was[k] = q[4];
        ck_assert(ctn_batch_sensors(b, said, NULL) == CTN_OK);
        for (int i = 0; i < WORLDS * NUMBERS; i++)
            ck_assert_msg(i % NUMBERS == 6 || fabs(said[i] - now[i]) < 5e-6, "%d: %.9g, not %.9g", i, said[i], now[i]);
        ck_assert(said[3 * NUMBERS + 6] == was[k < LATE ? 0 : k - LATE]);
        ck_assert(ctn_batch_step(b, 1, NULL, NULL) == CTN_OK);
    }
    ctn_batch_free(b), ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

static bool is_there(ctn_error *err) { return device_find("cuda-float", err) != NULL; }

int main(void)
{
    if (!machine_has("device_float", is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("device, float");
    TCase *const t = tcase_create("device, float");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, close_to_double, 0, METHODS);
    tcase_add_loop_test(t, company_and_saving, 0, METHODS);
    tcase_add_test(t, limits);
    tcase_add_test(t, sensors);
    suite_add_tcase(s, t);
    return run_suite(s);
}
