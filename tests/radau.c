/// Position-based Radau IIA: golden steps, measured orders, energy, L-stability, fallbacks.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch_config radau(int stages)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = stages;
    return cfg;
}

START_TEST(golden_steps)
{
    static const char *const models[] = {"double-pendulum", "chain5", "ball5", "flying-tree5", "spring-chain4"};
    for (int s = 1; s <= 3; s++) {
        const ctn_batch_config cfg = radau(s);
        const int n = golden_steps_agree(models[_i], &cfg, s == 1 ? "order2" : "radau", s);
        ck_assert_msg(n >= 10, "%d stages: %d steps compared", s, n);
    }
}
END_TEST

/// Halving the step divides the error by 2^(2 s - 1). With 4 stages the error soon meets rounding: models that move fast only, at
/// steps where the order is seen less sharply.
START_TEST(order_of_convergence)
{
    static const struct {
        const char *model;
        int most;  // stages
    } cases[] = {{"double-pendulum", 4}, {"chain5", 3}, {"ball5", 4}, {"prismatic-mix", 3}, {"flying-tree5", 3}};
    static const double dt[] = {1.25e-4, 5e-3, 0.01, 0.02};
    for (int s = 1; s <= cases[_i].most; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.tolerance = 1e-13;
        double e[2];
        for (int h = 0; h < 2; h++) {
            cfg.dt = dt[s - 1] / (1 << h);
            e[h] = golden_trajectory_error(cases[_i].model, &cfg, 2, true);
        }
        const double order = log2(e[0] / e[1]);
        ck_assert_msg(fabs(order - (2 * s - 1)) < (s < 4 ? 0.2 : 1.2), "%s, %d stages: order %.3f (errors %.3g, %.3g)",
                      cases[_i].model, s, order, e[0], e[1]);
    }
}
END_TEST

/// State after `seconds` from a random one; the largest difference from `want`, if it is given (quaternions up to the sign).
static double run_random(const ctn_model *m, ctn_batch_config cfg, uint64_t seed, double seconds, double *q, double *v,
                         const double *want_q, const double *want_v)
{
    const int nv = ctn_model_nv(m);
    rng r = {seed};
    random_state(m, &r, q, v);
    for (int k = 0; k < nv; k++) v[k] *= 0.3;
    ctn_error err = {0};
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    double *tau = malloc((size_t)(nv + 1) * sizeof *tau);
    for (int k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -1, 1);
    ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
    ctn_batch_set_force(b, tau);
    const ctn_status status = ctn_batch_step(b, (int)lrint(seconds / cfg.dt), NULL, &err);
    ck_assert_msg(status == CTN_OK, "seed %llu, dt %g: %s", (unsigned long long)seed, cfg.dt, err.message);
    ctn_batch_state(b, q, v);
    ctn_batch_free(b), free(tau);
    if (!want_q) return 0;
    double worst = 0;
    for (int k = 0; k < nv; k++) worst = worse(worst, fabs(v[k] - want_v[k]));
    return worse(worst, coordinate_distance(m, q, want_q));
}

/// The order holds with springs, dampers and armature on every joint type, balls included, and applied forces: the mean over
/// forests. Compared with dop853 at small steps.
START_TEST(order_with_joint_terms)
{
    static const struct {
        int radau, collocation;
        double dt, order;
    } cases[] = {{2, 0, 0.01, 3},   {3, 0, 0.0125, 5}, {4, 0, 0.0125, 7}, {0, 3, 2.5e-3, 2},
                 {0, 4, 2.5e-3, 3}, {0, 5, 2.5e-3, 4}, {0, 6, 5e-3, 5}};
    enum { CASES = sizeof cases / sizeof *cases };
    double mean[CASES] = {0};
    int count[CASES] = {0};
    FOR_ALL_SEEDS(seed, 10)
    {
        const random_options o = {.links = 4, .passive = true, .smooth = true};
        ctn_model *m = random_model(seed, &o);
        const size_t nq = (size_t)ctn_model_nq(m) + 1, nv = (size_t)ctn_model_nv(m) + 1;
        double *q = calloc(nq, 8), *v = calloc(nv, 8), *wq = calloc(nq, 8), *wv = calloc(nv, 8);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_DOP853, cfg.dt = 0.1 / 512;
        run_random(m, cfg, seed, 0.1, wq, wv, NULL, NULL);
        for (int c = 0; c < CASES; c++) {
            double e[2];
            for (int h = 0; h < 2; h++) {
                cfg = radau(cases[c].radau);
                if (cases[c].collocation) cfg.method = CTN_COLLOCATION, cfg.order = cases[c].collocation;
                cfg.dt = cases[c].dt / (1 << h), cfg.tolerance = 1e-13;
                e[h] = run_random(m, cfg, seed, 0.1, q, v, wq, wv);
            }
            if (e[1] < 1e-10) continue;  // rounding
            mean[c] += log2(e[0] / e[1]), count[c]++;
        }
        free(q), free(v), free(wq), free(wv), ctn_model_free(m);
    }
    for (int c = 0; c < CASES; c++)
        ck_assert_msg(count[c] > 5 && fabs(mean[c] / count[c] - cases[c].order) < 0.2, "%s %d: mean order %.3f in %d cases",
                      cases[c].radau ? "radau" : "collocation", cases[c].radau + cases[c].collocation, mean[c] / count[c],
                      count[c]);
}
END_TEST

/// The paper's collocation: order K - 1 in coordinates and velocities, at small steps. The flying tree soon meets rounding.
START_TEST(order_of_collocation)
{
    static const double dt[] = {1.25e-4, 1e-3, 2e-3, 4e-3, 8e-3};
    for (int K = 2; K <= 6; K++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_COLLOCATION, cfg.order = K, cfg.tolerance = 1e-13;
        double e[2];
        for (int h = 0; h < 2; h++) {
            cfg.dt = dt[K - 2] / (1 << h);
            e[h] = golden_trajectory_error(_i ? "flying-tree5" : "double-pendulum", &cfg, 2, true);
        }
        const double order = log2(e[0] / e[1]);
        ck_assert_msg((_i && K > 4) || fabs(order - (K - 1)) < 0.2, "K = %d: order %.3f (errors %.3g, %.3g)", K, order, e[0],
                      e[1]);
    }
}
END_TEST

/// A free-flying tree of 5 links, 1 s at 0.1 s: its energy changes by less than 1e-3 with 2 stages, 2e-5 with 3.
START_TEST(energy_in_free_flight)
{
    cJSON *json = golden_json("flying-tree5", "trajectory.json");
    ctn_model *m = golden_model("flying-tree5");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "samples"), 0);
    double *q = golden_numbers(first, "q", ctn_model_nq(m)), *v = golden_numbers(first, "v", ctn_model_nv(m));
    static const double most[] = {0, 0, 1e-3, 2e-5, 2e-6};
    for (int s = 2; s <= 4; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.dt = 0.1;
        ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
        ctn_step_stats stats;
        ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 10, &stats, NULL), CTN_OK);
        const double change = (stats.energy_after - stats.energy_before) / fabs(stats.energy_before);
        ck_assert_msg(fabs(change) < most[s], "%d stages: energy changed by %.3g", s, change);
        ctn_batch_free(b);
    }
    free(q), free(v), ctn_model_free(m), cJSON_Delete(json);
}
END_TEST

/// L-stability: a chain on springs of 1e8 N m/rad with dampers settles at once, in steps of 0.1 s, into the pose in which the
/// springs carry its weight.
START_TEST(stiff_springs)
{
    ctn_model *m = model_of("catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: 5\n      step: [0.3, 0, 0]\n"
                            "      joint: {type: revolute, axis: [0, 1, 0], stiffness: 1e8, damping: 1e4, rest: 0.2}\n"
                            "      mass: 1\n      com: [0.15, 0, 0]\n      inertia: [0.01, 0.01, 0.01, 0, 0, 0]\n");
    for (int s = 1; s <= 4; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.dt = 0.1;
        ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
        double q[5] = {0}, v[5] = {0};
        ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
        double before = INFINITY;
        for (int k = 0; k < 60; k++) {
            ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
            ctn_batch_state(b, q, v);
            double away = 0;
            for (int j = 0; j < 5; j++) away = worse(away, fabs(q[j] - 0.2));
            ck_assert_msg(away <= before + 1e-6, "%d stages, step %d: moved away from rest, %.3g after %.3g", s, k, away, before);
            before = away;
        }
        ck_assert_msg(before < 1e-6, "%d stages: %.3g rad from rest", s, before);
        for (int j = 0; j < 5; j++) ck_assert_msg(fabs(v[j]) < 1e-6, "%d stages: still turns at %.3g", s, v[j]);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A chain of 10 links that whips: it falls from a horizontal arc.
static ctn_model *whip(void)
{
    char text[4000];
    int at = sprintf(text, "catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: 10\n      step: [0, 0, -0.2]\n"
                           "      joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}\n      mass: 0.1\n"
                           "      com: [0, 0, -0.1]\n      inertia: [3.43e-4, 3.43e-4, 2e-5, 0, 0, 0]\n"
                           "state:\n  q: [1.5707963267948966, 0");
    for (int i = 1; i < 10; i++) at += sprintf(text + at, ", 0, 0.1");
    sprintf(text + at, "]\n");
    return model_of(text);
}

/// A chain that whips, in steps far beyond what resolves it: fallbacks are reported, no world freezes, energy never ends above
/// its start (one stage: never rises).
START_TEST(whips_survive)
{
    ctn_model *m = whip();
    static const double dt[] = {0.05, 0.1, 0.3};
    for (int s = 1; s <= 4; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.dt = dt[_i];
        ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
        ctn_step_stats stats;
        long fallbacks = 0, iterations = 0, steps = 0;
        for (int k = 0; k < (int)(20 / dt[_i]); k++) {
            ck_assert_int_eq(ctn_batch_step(b, 1, &stats, NULL), CTN_OK);
            ck_assert_int_eq(stats.fallbacks, stats.fewer_stages || stats.substeps > 1);
            ck_assert_msg(stats.energy_after < (s == 1 ? stats.energy_before + 1e-9 : 0.2),
                          "%d stages, step %d: energy %.6g after %.6g", s, k, stats.energy_after, stats.energy_before);
            fallbacks += stats.fallbacks, iterations += stats.iterations, steps++;
        }
        ck_assert_int_eq(ctn_batch_fallbacks(b), fallbacks);
        ck_assert_msg(s > 1 || fallbacks == 0, "%ld fallbacks of one stage", fallbacks);
        ck_assert_msg(s != 2 || dt[_i] > 0.05 || (double)iterations / (double)steps <= 5, "%g iterations a step",
                      (double)iterations / (double)steps);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A hundred links fall from a coil: those that are pushed together fold up, and light ends whip. Links follow each other and
/// hold what pulls at them, so that one stage finds its minimum: without that these steps took 74 iterations each, and were made
/// in 95 parts.
START_TEST(whips_are_solved)
{
    enum { LINKS = 100 };
    char text[8000];
    int at = sprintf(text,
                     "catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: %d\n      step: [0, 0, -0.02]\n"
                     "      joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}\n      mass: 0.01\n"
                     "      com: [0, 0, -0.01]\n      inertia: [1.33e-6, 1.33e-6, 2e-6, 0, 0, 0]\n"
                     "state:\n  q: [1.5707963267948966, 0",
                     LINKS);
    for (int i = 1; i < LINKS; i++) at += sprintf(text + at, ", 0, 0.1");
    sprintf(text + at, "]\n");
    ctn_model *m = model_of(text);
    ctn_batch_config cfg = radau(2);
    cfg.dt = 0.05;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats stats;
    ck_assert_int_eq(ctn_batch_step(b, 60, &stats, NULL), CTN_OK);
    ck_assert_msg(stats.iterations < 60 * 25, "%g iterations a step", (double)stats.iterations / 60);
    ck_assert_msg(stats.substeps < 60 + 15, "60 steps in %ld parts", stats.substeps);
    ck_assert_msg(stats.energy_max < stats.energy_before + 1e-9, "energy rose by %g J", stats.energy_max - stats.energy_before);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// 200 links straight from the horizontal, for 50 s in steps of 0.1 s. Residuals are periodic in angles: without a bound on the
/// turn of a Newton step this chain wound itself up by thousands of turns, out of the range of angles.
START_TEST(long_chain_survives)
{
    ctn_model *m = model_of("catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: 200\n      step: [0, 0, -0.01]\n"
                            "      joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}\n      mass: 0.005\n"
                            "      com: [0, 0, -0.005]\n      inertia: [5.416666666666666e-07, 5.416666666666666e-07, "
                            "1.0000000000000002e-06, 0, 0, 0]\n");
    ctn_batch_config cfg = radau(2 + _i);
    cfg.dt = 0.1;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    double q[400] = {1.5707963267948966}, v[400] = {0}, most = 0;
    ctn_step_stats stats;
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    ctn_batch_step(b, 500, &stats, NULL);
    ck_assert_msg(!stats.frozen, "%d stages: frozen at %g s: %s", cfg.stages, stats.frozen_time, ctn_freeze_text(stats.frozen));
    ck_assert_msg(stats.energy_max < stats.energy_before + 0.02, "%d stages: energy rose to %g J", cfg.stages, stats.energy_max);
    ctn_batch_state(b, q, v);
    for (int k = 0; k < 400; k++) most = fmax(most, fabs(q[k]));
    ck_assert_msg(most < 1000, "%d stages: a joint stands at %g rad", cfg.stages, most);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A humanoid in free fall for 60 s in steps of 0.1 s: what it gains is compared with its motion about its centre of mass, not
/// with that of its fall, which is 200 times as energetic in the end. And a smooth start from rest in small steps needs no
/// fallback.
START_TEST(falling_makes_no_room_for_errors)
{
    static const char path[] = CATENA_SOURCE_DIR "/scenes/humanoid.yaml", chain[] = CATENA_SOURCE_DIR "/scenes/chain40.yaml";
    ctn_error err = {0};
    for (int s = 2; s <= 4; s++) {
        ctn_scene *scene = ctn_scene_load(path, &err), *smooth = ctn_scene_load(chain, &err);
        ck_assert_msg(scene && smooth, "%s", err.message);
        ctn_model *m = ctn_model_create(scene, &err), *n = ctn_model_create(smooth, &err);
        ctn_batch_config cfg = radau(s);
        cfg.dt = 0.1;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ctn_step_stats stats;
        ctn_batch_step(b, 600, &stats, NULL);
        ck_assert_int_eq(stats.frozen, CTN_RUNNING);
        ck_assert_msg(stats.energy_max < 1.001 * stats.energy_before, "%d stages: energy rose from %g to %g J", s,
                      stats.energy_before, stats.energy_max);
        ctn_batch_free(b);
        cfg.dt = 0.001;
        b = ctn_batch_create(n, &cfg, &err);
        ck_assert_int_eq(ctn_batch_step(b, 20, &stats, &err), CTN_OK);
        ctn_batch_free(b), ctn_model_free(m), ctn_model_free(n), ctn_scene_free(scene), ctn_scene_free(smooth);
    }
}
END_TEST

/// What the method has created, the last number of a saved state but one, is what the energy has gained beyond the work of the
/// joint forces, through fallbacks to fewer stages and halved steps, too.
START_TEST(created_energy)
{
    ctn_model *m = whip();
    double tau[20], q[2][20];
    for (int k = 0; k < 20; k++) tau[k] = k % 3 ? 0.01 : -0.02;
    for (int s = 2; s <= 4; s++) {
        ctn_batch_config cfg = radau(s);
        cfg.dt = 0.3, cfg.max_iterations = 12;
        ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
        ctn_batch_set_force(b, tau);
        ctn_batch_state(b, q[0], NULL);
        ctn_step_stats stats;
        ctn_batch_step(b, 60, &stats, NULL);
        ck_assert_msg(stats.fewer_stages > 3 && stats.substeps > stats.steps && !stats.frozen,
                      "%d stages: %ld parts, %ld with fewer stages", s, (long)stats.substeps, (long)stats.fewer_stages);
        ctn_batch_state(b, q[1], NULL);
        double work = 0;
        for (int k = 0; k < 20; k++) work += tau[k] * (q[1][k] - q[0][k]);
        const size_t size = ctn_batch_saved_size(b);
        char *saved = malloc(size);
        ctn_batch_save(b, saved);
        double created;
        memcpy(&created, saved + size - (2 + 20) * sizeof created, sizeof created);  // before the turns of joints
        const double gained = stats.energy_after - stats.energy_before - work;
        ck_assert_msg(fabs(work) > 1e-3 && fabs(created - gained) < 1e-10,
                      "%d stages: %.12g created, but %.12g gained beyond work of %g", s, created, gained, work);
        free(saved);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("radau");
    TCase *t = tcase_create("radau");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, golden_steps, 0, 5);
    tcase_add_loop_test(t, order_of_convergence, 0, 5);
    tcase_add_test(t, order_with_joint_terms);
    tcase_add_loop_test(t, order_of_collocation, 0, 2);
    tcase_add_test(t, energy_in_free_flight);
    tcase_add_test(t, stiff_springs);
    tcase_add_loop_test(t, whips_survive, 0, 3);
    tcase_add_test(t, whips_are_solved);
    tcase_add_loop_test(t, long_chain_survives, 0, 2);
    tcase_add_test(t, falling_makes_no_room_for_errors);
    tcase_add_test(t, created_energy);
    suite_add_tcase(s, t);
    return run_suite(s);
}
