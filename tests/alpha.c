/// Generalised-alpha (integrators/alpha_step.h): its steps beside golden ones, its order with all joints, terms and loads, and
/// that it gains no energy. The same bits everywhere: engines.c, worlds.c, device.c, bits.c.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <cjson/cJSON.h>
#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static ctn_batch_config alpha(double rho, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.rho = rho, cfg.dt = dt, cfg.tolerance = 1e-13, cfg.max_iterations = 200;
    return cfg;
}

/// Twenty steps of a dense reference in 80 bits, of several sizes and rho; one run changes its step size half way.
START_TEST(golden_steps)
{
    static const char *const models[] = {"chain5", "ball5", "spring-chain4", "flying-tree5"};
    cJSON *const json = golden_json(models[_i], "alpha_steps.json");
    ctn_model *const m = golden_model(models[_i]);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    double *const q = calloc((size_t)nq, sizeof *q), *const v = calloc((size_t)nv, sizeof *v);
    int compared = 0;
    for (const cJSON *run = cJSON_GetObjectItem(json, "runs")->child; run; run = run->next) {
        const cJSON *const changed = cJSON_GetObjectItem(run, "dt_from_step_11");
        const ctn_parameter dt = {CTN_TIME_STEP, 0};
        ctn_batch_config cfg = alpha(cJSON_GetObjectItem(run, "rho")->valuedouble, cJSON_GetObjectItem(run, "dt")->valuedouble);
        cfg.parameters = &dt, cfg.parameter_count = 1;
        ctn_batch *const batch = batch_with(m, &cfg);
        int index = 0;
        for (const cJSON *step = cJSON_GetObjectItem(run, "steps")->child; step; step = step->next, index++) {
            double *const want_q = golden_numbers(step, "q", nq), *const want_v = golden_numbers(step, "v", nv);
            if (!index) ctn_batch_set_state(batch, want_q, want_v, 0, NULL);
            else {
                ctn_step_stats s;
                if (changed && index == 11) ctn_batch_set_parameters(batch, &changed->valuedouble, NULL);
                ctn_batch_step(batch, 1, &s, NULL), ctn_batch_state(batch, q, v);
                ck_assert_msg(!s.fallbacks && coordinate_distance(m, q, want_q) < 1e-7 && relative_error(v, want_v, nv) < 1e-7,
                              "%s, rho %g, dt %g, step %d: q %.3g, v %.3g, %ld fallbacks", models[_i], cfg.rho, cfg.dt, index,
                              coordinate_distance(m, q, want_q), relative_error(v, want_v, nv), s.fallbacks);
                compared++;
            }
            free(want_q), free(want_v);
        }
        ctn_batch_free(batch);
    }
    ck_assert_int_ge(compared, 60);
    free(q), free(v), ctn_model_free(m), cJSON_Delete(json);
}
END_TEST

/// Where a random model is after 0.1 s under joint forces.
static double end_of(const ctn_model *m, ctn_batch_config cfg, uint64_t seed, double *q, double *v, const double *want_q)
{
    rng r = {seed};
    random_state(m, &r, q, v);
    double *const tau = calloc((size_t)ctn_model_nv(m) + 1, sizeof *tau);
    for (int k = 0; k < ctn_model_nv(m); k++) tau[k] = rng_uniform(&r, -1, 1);
    ctn_batch *const batch = batch_with(m, &cfg);
    ctn_step_stats s;
    ctn_batch_set_state(batch, q, v, 0, NULL), ctn_batch_set_force(batch, tau);
    ctn_batch_step(batch, (int)lrint(0.1 / cfg.dt), &s, NULL), ctn_batch_state(batch, q, v);
    ck_assert_msg(!s.frozen && !s.fallbacks, "seed %llu: %ld fallbacks", (unsigned long long)seed, s.fallbacks);
    ctn_batch_free(batch), free(tau);
    return want_q ? coordinate_distance(m, q, want_q) : 0;
}

/// Order 2 with every joint, springs, dampers, armature, forces and loads on links, as a mean over forests.
START_TEST(order)
{
    double mean = 0;
    int count = 0;
    FOR_ALL_SEEDS(seed, 12)
    {
        const random_options o = loaded_forest(seed);
        ctn_model *const m = random_model(seed, &o);
        const size_t nq = (size_t)ctn_model_nq(m) + 1, nv = (size_t)ctn_model_nv(m) + 1;
        double *const q = calloc(nq, sizeof *q), *const v = calloc(nv, sizeof *v), *const want = calloc(nq, sizeof *want), e[2];
        ctn_batch_config exact = ctn_batch_config_default();
        exact.method = CTN_DOP853, exact.dt = 0.1 / 512;
        end_of(m, exact, seed, want, v, NULL);
        for (int h = 0; h < 2; h++) e[h] = end_of(m, alpha(_i ? 0 : 0.2, 1e-3 / (1 << h)), seed, q, v, want);
        if (e[1] > 1e-10) mean += log2(e[0] / e[1]), count++;
        free(q), free(v), free(want), ctn_model_free(m);
    }
    ck_assert_msg(count > 6 || getenv("CTN_SEED"), "only %d cases", count);
    ck_assert_msg(count < 7 || fabs(mean / count - 2) < 0.1, "order %.3f, mean of %d", mean / count, count);
}
END_TEST

/// A flywheel that turns by up to 2.5 rad a step keeps its energy to a hundredth, whatever rho up to 0.2; so does one that
/// tumbles.
START_TEST(flywheels)
{
    static const double rhos[] = {0, 0.1, 0.2};
    ctn_model *const m =
        model_of("catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                 "  - {name: a, joint: {type: revolute, axis: [0, 0, 1]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n");
    for (double turn = 0.1; turn < 2.6; turn += 0.2) {
        const ctn_batch_config cfg = alpha(rhos[_i], 0.05);
        ctn_batch *const batch = batch_with(m, &cfg);
        const double q = 0, v = turn / cfg.dt;
        ctn_step_stats s;
        ctn_batch_set_state(batch, &q, &v, 0, NULL), ctn_batch_step(batch, 400, &s, NULL);
        ck_assert_msg(!s.frozen && s.energy_max < 1.01 * s.energy_before, "rho %g, %g rad a step: %.6g of %.6g J", rhos[_i], turn,
                      s.energy_max, s.energy_before);
        ctn_batch_free(batch);
    }
    ctn_model_free(m);
}
END_TEST

/// Undamped chains in violent motion, at steps far too long for them: their energy stays below that of the start.
START_TEST(chains_survive)
{
    static const double steps[] = {0.1, 0.05, 0.02};
    FOR_SEEDS(seed, 4)
    {
        const random_options o = {.links = 6 + (int)(seed % 3) * 3,
                                  .chain = true,
                                  .joints = seed % 2 ? 1u << CTN_UNIVERSAL : 1u << CTN_BALL | 1u << CTN_REVOLUTE};
        ctn_model *const m = random_model(seed, &o);
        ctn_batch_config cfg = alpha(0.2, steps[_i]);
        cfg.tolerance = 1e-9;
        ctn_batch *const batch = batch_with(m, &cfg);
        double *const q = calloc((size_t)ctn_model_nq(m) + 1, sizeof *q), *const v =
                                                                              calloc((size_t)ctn_model_nv(m) + 1, sizeof *v);
        rng r = {seed};
        random_state(m, &r, q, v);
        ctn_step_stats s;
        ctn_batch_set_state(batch, q, v, 0, NULL), ctn_batch_step(batch, (int)(10 / cfg.dt), &s, NULL);
        const double size = s.kinetic_before + fabs(s.energy_before) + 1;
        ck_assert_msg(!s.frozen && s.energy_max < s.energy_before + 0.02 * size,
                      "seed %llu, dt %g: from %.6g to %.6g J, frozen %d", (unsigned long long)seed, cfg.dt, s.energy_before,
                      s.energy_max, (int)s.frozen);
        free(q), free(v), ctn_batch_free(batch), ctn_model_free(m);
    }
}
END_TEST

/// Saved in the middle of a run and restored, it goes on with the same bits; a state saved with another rho is refused.
START_TEST(saved)
{
    const random_options o = {.links = 5, .passive = true};
    ctn_model *const m = random_model(3, &o);
    ctn_batch_config cfg = alpha(0.1, 0.01);
    ctn_batch *const a = batch_with(m, &cfg), *const b = batch_with(m, &cfg);
    cfg.rho = 0.15;
    ctn_batch *const other = batch_with(m, &cfg);
    ctn_batch_step(a, 7, NULL, NULL);
    const size_t size = ctn_batch_saved_size(a);
    char *const block = malloc(size);
    uint64_t h[2];
    ctn_batch_save(a, block);
    ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
    ck_assert_int_eq(ctn_batch_restore(other, block, size, NULL), CTN_BAD_ARGUMENT);
    ctn_batch_step(a, 9, NULL, NULL), ctn_batch_step(b, 9, NULL, NULL);
    ctn_batch_hashes(a, &h[0]), ctn_batch_hashes(b, &h[1]);
    ck_assert(h[0] == h[1]);
    free(block), ctn_batch_free(a), ctn_batch_free(b), ctn_batch_free(other), ctn_model_free(m);
}
END_TEST

/// Between the ends of a step the motion is a cubic with the velocities of both: it meets them there, and is close to the motion
/// between.
START_TEST(dense_output)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], q0: 1}, mass: 1, "
                                  "com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01, 0, 0, 0]}\n");
    ctn_batch_config cfg = alpha(0.2, 0.01), fine = alpha(0.2, 1e-4);
    cfg.dense = true;
    ctn_batch *const batch = batch_with(m, &cfg), *const exact = batch_with(m, &fine);
    ctn_batch_step(batch, 20, NULL, NULL), ctn_batch_step(exact, 1900, NULL, NULL);
    for (int k = 0; k <= 10; k++) {
        double q, v, qe, ve;
        ctn_batch_dense(batch, 0.1 * k, &q, &v, NULL, NULL), ctn_batch_state(exact, &qe, &ve);
        ck_assert_msg(fabs(q - qe) < 5e-4 && fabs(v - ve) < 5e-3, "at %d: %.6g %.6g, not %.6g %.6g", k, q, v, qe, ve);
        ctn_batch_step(exact, 10, NULL, NULL);
    }
    ctn_batch_free(batch), ctn_batch_free(exact), ctn_model_free(m);
}
END_TEST

/// A stiff spring to the world on a body that slides as it turns: rates off by whole turns once carried it along the axis, where
/// each turn ends in a minimum of its own, and 5.8 kJ came of 0.1.
START_TEST(whole_turns)
{
    ctn_model *const m = model_of(
        "catena: 1\nlinks:\n"
        "  - {name: a, position: [0.016740990766783925, -0.2893979604834875, 0.28382737140547193], "
        "rotation: [-0.6361964503345516, 0.3167181784476747, -0.5789052009875426, 0.3997654816165052], "
        "joint: {type: helical, axis: [0.2256036015305012, -0.15125241368331535, 0.5522018793766159], pitch: 0.028343567940648656, "
        "q0: 0.2390709894472942, v0: -0.007709139875168969}, mass: 1.6580722477793048, "
        "com: [0.09429605850431366, 0.0706610581831498, -0.03636285270357213], "
        "inertia: [0.003678938393644582, 0.003205317937324382, 0.0016251590327648554, 0, 0, 0]}\n"
        "springs: [{link: a, point: [0.06194225528571651, 0.1918650323528801, 0.1371489878122203], "
        "anchor: [0.03635390125125415, 0.8218282270125499, 0.21119901684338616], stiffness: 182.45413426390928, "
        "damping: 0.28540501581067823}]\n");
    ctn_batch_config cfg = alpha(0.2, 0.1);
    cfg.tolerance = 1e-9, cfg.max_iterations = 60;
    ctn_batch *const batch = batch_with(m, &cfg);
    ctn_step_stats s;
    ctn_batch_step(batch, 100, &s, NULL);
    ck_assert_msg(!s.frozen && s.energy_max < s.energy_before + 1e-6, "from %.6g to %.6g J", s.energy_before, s.energy_max);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

/// A rope of links of 1 cm, 1 g, from the horizontal.
static ctn_model *rope(int links, double *q)
{
    char scene[600];
    snprintf(scene, sizeof scene,
             "catena: 1\n"
             "links:\n"
             "  - chain: {name: c, count: %d, step: [0, 0, -0.01], mass: 0.001, com: [0, 0, -0.005],\n"
             "            inertia: [3.3333333333333334e-8, 3.3333333333333334e-8, 5.0e-8, 0, 0, 0],\n"
             "            joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}}\n",
             links);
    q[0] = 1.5707963267948966;
    return model_of(scene);
}

/// In whips hinges lose whole turns: a state taken up after that goes on to the same bits.
START_TEST(taken_up_after_turns)
{
    double q[400] = {0}, v[400] = {0};
    ctn_model *const m = rope(200, q);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.dt = 1. / 60;
    ctn_batch *const a = batch_with(m, &cfg), *const b = batch_with(m, &cfg);
    const size_t size = ctn_batch_saved_size(a);
    char *const block = malloc(size);
    ctn_batch_set_state(a, q, v, 0, NULL), ctn_batch_set_state(b, q, v, 0, NULL);
    ctn_batch_step(a, 200, NULL, NULL);
    for (int k = 0; k < 200; k++) {
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_save(b, block);
        ck_assert_int_eq(ctn_batch_restore(b, block, size, NULL), CTN_OK);
    }
    uint64_t h[2];
    ctn_batch_hashes(a, &h[0]), ctn_batch_hashes(b, &h[1]);
    ck_assert(h[0] == h[1]);
    free(block), ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A long rope whips, and is given too few iterations. Where no step is found, velocities are often those of no motion that the
/// joints allow; begun anew from the nearest ones it takes few halves. (It took 91 without.)
START_TEST(long_rope)
{
    static double q[2000], v[2000];
    ctn_model *const m = rope(1000, q);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.rho = 0, cfg.dt = 1. / 60, cfg.max_iterations = 10;
    ctn_batch *const batch = batch_with(m, &cfg);
    ctn_step_stats s;
    ctn_batch_set_state(batch, q, v, 0, NULL);
    ctn_batch_step(batch, 300, &s, NULL);
    ck_assert_msg(!s.frozen, "frozen at %g s", s.frozen_time);
    ck_assert_msg(s.energy_max <= s.energy_before + 1e-5, "%g J above the start", s.energy_max - s.energy_before);
    ck_assert_msg(s.fallbacks > 0 && s.substeps < 330, "%ld fallbacks, %ld parts", s.fallbacks, s.substeps);
    ctn_batch_free(batch), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("alpha");
    TCase *const t = tcase_create("alpha");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, golden_steps, 0, 4);
    tcase_add_loop_test(t, order, 0, 2);
    tcase_add_loop_test(t, flywheels, 0, 3);
    tcase_add_loop_test(t, chains_survive, 0, 3);
    tcase_add_test(t, saved);
    tcase_add_test(t, dense_output);
    tcase_add_test(t, whole_turns);
    tcase_add_test(t, taken_up_after_turns);
    tcase_add_test(t, long_rope);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
