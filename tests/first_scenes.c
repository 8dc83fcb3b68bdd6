/// What a first scene meets that names nothing: the default method and step hold whatever springs and limits it has, and limits
/// brake.
#include "dynamics/model.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAR "mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1, 0, 0, 0]"

static const char *const scenes[] = {
    "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1]}, " BAR "}\n",
    "catena: 1\nlinks:\n  - {name: upper, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1]}, " BAR "}\n"
    "  - {name: lower, parent: upper, position: [1, 0, 0], joint: {type: revolute, axis: [0, 1, 0], limits: [-0.5, 0.5]}, " BAR
    "}\n",
    "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1], q0: 1.5}, " BAR "}\n",
    "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], stiffness: 100000}, " BAR "}\n",
    "catena: 1\ndefaults: {density: 1000, joint: {type: revolute, axis: [0, 1, 0]}}\nlinks:\n  - chain: {name: rod, count: 10, "
    "step: [0.2, 0, 0], shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n",
    "catena: 1\nlinks:\n  - {name: brick, joint: {type: free, v0: [0, 0, 5, 0.1, 7, 0.1]}, density: 1000, "
    "shapes: [{type: box, size: [0.1, 0.2, 0.4]}]}\n",
    // each limit that universal, ball and sliding joints have, and a light link behind a heavy one
    "catena: 1\nlinks:\n  - {name: a, joint: {type: universal, axis: [0, 1, 0], limits: [[-0.5, 0.5], [-0.2, 0.2]]}, " BAR "}\n"
    "  - {name: b, parent: a, position: [1, 0, 0], joint: {type: ball, limits: 0.3}, " BAR "}\n"
    "  - {name: c, parent: b, position: [1, 0, 0], joint: {type: prismatic, axis: [1, 0, 0], limits: [-0.1, 0.1]}, mass: "
    "0.01, inertia: [0, 0, 0, 0, 0, 0]}\n"};
enum { SCENES = sizeof scenes / sizeof *scenes, BEYOND = 2 };

/// Steps the model with the configuration for `seconds`; what the energy was at the start goes into *start, and its scale, the
/// energy that moved, into *moved.
static ctn_step_stats march(const ctn_model *m, const ctn_batch_config *cfg, double seconds, double *start, double *moved)
{
    ctn_error err;
    ctn_step_stats all = {0}, second;
    ctn_batch *const b = ctn_batch_create(m, cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    *moved = 0;
    for (int k = 0; k < (int)seconds; k++) {
        ctn_batch_step(b, (int)lround(1 / cfg->dt), &second, NULL);
        if (k == 0) all = second, *start = second.energy_before;
        else ctn_step_stats_add(&all, &second);
        *moved = fmax(*moved, fmax(fabs(second.kinetic_after), fabs(second.energy_max - second.energy_min)));
    }
    ctn_batch_free(b);
    return all;
}

/// 60 s of what a new user writes, without a word about methods, limits' dampers and steps: no world freezes, and none gains
/// energy.
START_TEST(hold)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(scenes[_i], strlen(scenes[_i]), "first.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    // what is warned of is the start that is meant to be beyond a limit, and no step
    const char *const said = ctn_scene_warnings(scene);
    ck_assert_msg(_i == BEYOND ? strstr(said, "outside its limits") && !strchr(said, '\n') : !*said, "%s", said);
    ctn_model *const m = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    double start, moved;
    const ctn_step_stats s = march(m, &cfg, 60, &start, &moved);
    ck_assert_msg(!s.frozen, "frozen at %g s", s.frozen_time);
    ck_assert_msg(s.energy_max <= start + 1e-5 * fmax(moved, 1), "from %g to %g J", start, s.energy_max);
    ck_assert(s.dissipated >= 0);
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// The same of random trees with dampers, springs and limits as stiff as they are where nothing says how stiff.
START_TEST(hold_random_trees)
{
    FOR_SEEDS(seed, 12)
    {
        // joints that slide far away without stops are not what is tested here
        const random_options o = {.links = 2 + (int)(seed % 7),
                                  .passive = true,
                                  .plain_limits = true,
                                  .joints = 1u << CTN_REVOLUTE | 1u << CTN_UNIVERSAL | 1u << CTN_BALL};
        ctn_model *const m = random_model(seed, &o);
        const ctn_batch_config cfg = ctn_batch_config_default();
        double start, moved;
        const ctn_step_stats s = march(m, &cfg, 10, &start, &moved);
        ck_assert_msg(!s.frozen, "seed %lu: frozen at %g s", (unsigned long)seed, s.frozen_time);
        ck_assert_msg(s.energy_max <= start + 1e-4 * moved, "seed %lu: from %g to %g J, of %g", (unsigned long)seed, start,
                      s.energy_max, moved);
        ctn_model_free(m);
    }
}
END_TEST

/// The articulated inertia that degree of freedom i meets, of a model whose links follow each other: 1 over the first diagonal of
/// the inverse of the block of H that belongs to i and all below it, by elimination from the end.
static double inertia_met(const ctn_model *m, int i)
{
    enum { MOST = 32 };
    const int nv = ctn_model_nv(m);
    double q[2 * MOST] = {0}, H[MOST * MOST];
    ck_assert_int_le(nv, MOST);
    for (int b = 0; b < m->nbody; b++)
        if (m->bodies[b].kind == JOINT_BALL) q[m->bodies[b].qadr] = 1;
    ctn_dynamics *const d = ctn_dynamics_create(m, NULL, NULL);
    ctn_crba(d, 1, q, H);
    ctn_dynamics_free(d);
    for (int k = nv - 1; k > i; k--)
        for (int r = i; r < k; r++)
            for (int c = i; c < k; c++) H[r * nv + c] -= H[r * nv + k] * H[k * nv + c] / H[k * nv + k];
    return H[i * nv + i];
}

/// Where a scene does not say how limits are damped: half of critical for the inertia that the joint meets; of a bar, by its
/// length and mass.
START_TEST(damping_of_limits)
{
    ctn_model *m = model_of("catena: 1\nlinks:\n  - {name: bar, joint: {type: revolute, axis: [0, 1, 0], limits: [-1, 1], "
                            "limit_stiffness: 300, armature: 0.5}, mass: 3, com: [1, 0, 0], inertia: [0, 1, 1, 0, 0, 0]}\n");
    ck_assert_double_eq_tol(m->bodies[0].limit_b, 2 * 0.5 * sqrt(300 * (1 + 3 * 1 + 0.5)), 1e-12);
    ctn_model_free(m);
    FOR_SEEDS(seed, 20)
    {
        const random_options o = {
            .links = 8, .chain = true, .passive = true, .plain_limits = true, .joints = ~(1u << CTN_BALL | 1u << CTN_FREE)};
        m = random_model(seed, &o);
        for (int i = 0; i < m->nbody; i++) {
            const ctn_body *const b = &m->bodies[i];
            const double want = isfinite(b->limit[1]) ? sqrt(b->limit_k * inertia_met(m, b->vadr)) : 0;
            ck_assert_msg(fabs(b->limit_b - want) <= 1e-9 * want, "seed %lu, body %d: %g, not %g", (unsigned long)seed, i,
                          b->limit_b, want);
        }
        ctn_model_free(m);
    }
    // a ball that is alike about all axes
    m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: ball, limits: 1, limit_stiffness: 8}, mass: 1, "
                 "inertia: [2, 2, 2, 0, 0, 0]}\n");
    ck_assert_double_eq_tol(m->bodies[0].limit_b, 4, 1e-12);
    ctn_model_free(m);
    // what the scene says, and nothing without limits or where nothing has inertia
    m = model_of("catena: 1\ndefaults: {joint: {type: revolute, limit_damping: 0.25}}\nlinks:\n"
                 "  - {name: a, joint: {axis: [0, 1, 0], limits: [-1, 1], limit_damping: 0}, " BAR "}\n"
                 "  - {name: b, parent: a, joint: {axis: [0, 1, 0], limits: [-1, 1]}, " BAR "}\n");
    ck_assert_double_eq(m->bodies[0].limit_b, 0);
    ck_assert_double_eq(m->bodies[1].limit_b, 0.25);
    ctn_model_free(m);
    m = model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, stiffness: 3}, " BAR "}\n");
    ck_assert_double_eq(m->bodies[0].limit_b, 0);
    ctn_model_free(m);
}
END_TEST

/// A bar falls on its limit: the damper takes nearly all it has, counted as dissipated, and it comes back with little of its
/// speed. Undamped it comes back with all but what the method loses, and nothing is dissipated.
START_TEST(limits_brake)
{
    char text[300];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0], limits: [-2, 0.5], q0: 0%s}, " BAR
             "}\n",
             _i ? ", limit_damping: 0" : "");
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.stages = 3, cfg.dt = 1e-3;
    ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats all = {0}, one;
    double q = 0, v = 0, hit = 0, back = 0;
    for (int k = 0; k < 1000; k++) {
        ctn_batch_step(b, 1, &one, NULL);
        if (k == 0) all = one;
        else ctn_step_stats_add(&all, &one);
        ctn_batch_state(b, &q, &v);
        hit = fmax(hit, v);
        if (hit > 0 && q < 0.5) back = fmax(back, -v);
    }
    ck_assert_double_gt(hit, 3);
    if (_i) {
        ck_assert_double_eq(all.dissipated, 0);
        ck_assert_double_gt(back, 0.9 * hit);
    } else {
        ck_assert_double_lt(back, 0.25 * hit);
        ck_assert_double_gt(all.dissipated, 0.9 * 9.81 * 0.5 * sin(0.5));  // of the weight's work down to the limit
    }
    ck_assert_double_eq_tol(all.energy_after - all.energy_before, all.created - all.dissipated, 1e-9);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// variational of order 4 takes no dampers: it says which key takes the limit's away.
START_TEST(order_four)
{
    ctn_error err;
    ctn_model *const m = model_of(scenes[0]);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_VARIATIONAL, cfg.order = 4;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "the joint of link 'arm' has limit_damping; take order 2, or write limit_damping: 0 (limits brake by default)") != NULL,
                  "%s", err.message);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("first scenes");
    TCase *const t = tcase_create("first scenes");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, hold, 0, SCENES);
    tcase_add_test(t, hold_random_trees);
    tcase_add_test(t, damping_of_limits);
    tcase_add_loop_test(t, limits_brake, 0, 2);
    tcase_add_test(t, order_four);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
