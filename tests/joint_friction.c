/// Dry friction of joints (forces/joint_friction.h): closed forms of what sticks, slides and comes to rest, the ledger of energy,
/// the same bits on every engine and after a save, friction by world, and what takes none.
#include "dynamics/lane_scalar.h"
#include "dynamics/model.h"
#include "forces/joint_friction.h"
#include "sim/engine/engine.h"
#include "sim/model/step_limit.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <stdlib.h>

static const struct {
    ctn_method method;
    int number;
    double error;  // of a motion that slides, m/s
} methods[] = {{CTN_COLLOCATION, 2, 1e-12}, {CTN_RADAU, 1, 1e-12},        {CTN_RADAU, 2, 1e-11},
               {CTN_RADAU, 3, 1e-11},       {CTN_RADAU, 4, 1e-11},        {CTN_ALPHA, 2, 1e-3},
               {CTN_RK4, 0, 2e-3},          {CTN_SEMI_IMPLICIT, 0, 2e-3}, {CTN_DOP853, 0, 2e-3}};
enum { METHODS = sizeof methods / sizeof *methods, IMPLICIT = 6, STILL = 2 };  // STILL: these let nothing swing on its bristles

static ctn_batch_config config_of(int k, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = dt;
    if (cfg.method == CTN_RADAU) cfg.stages = methods[k].number;
    if (cfg.method == CTN_COLLOCATION) cfg.order = methods[k].number;
    return cfg;
}

#define SLIDER                                                                                                                   \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0], friction: 6, presliding: "   \
    "%s}, mass: 2, inertia: [0, 0, 0, 0, 0, 0]}\n"

static ctn_model *slider(const char *presliding)
{
    char text[400];
    snprintf(text, sizeof text, SLIDER, presliding);
    return model_of(text);
}

// ---- the potential

/// Value, gradient and second derivative go together; it is convex, its force at most the friction.
START_TEST(potential)
{
    lane_body b = {.flags = BODY_FRICTION};
    FOR_ALL_SEEDS(seed, 2000)
    {
        rng r = {seed * 31};
        b.own.friction = rng_uniform(&r, 0, 5), b.own.presliding = rng_uniform(&r, 1e-3, 1);
        const double p = b.own.presliding, s = p * rng_uniform(&r, -3, 3), e = 1e-4 * p;
        if (fabs(fabs(s) - p) < 2 * e) continue;
        const potential1 W = friction_potential(&b, s), up = friction_potential(&b, s + e), down = friction_potential(&b, s - e);
        ck_assert_msg(fabs((up.E - down.E) / (2 * e) - W.g) < 1e-8 * b.own.friction &&
                          fabs((up.g - down.g) / (2 * e) - W.k) < 1e-8 * b.own.friction / p && W.k >= 0 &&
                          fabs(W.g) <= b.own.friction * (1 + 1e-15),
                      "seed %llu: at %g of %g", (unsigned long long)seed, s, p);
        ck_assert(fabs(bent(&b, s)) <= p && (fabs(s) > p || bent(&b, s) == s));
    }
}
END_TEST

// ---- closed forms

/// Once it slides, friction takes F/m of the velocity a second, to the last digits; what is lost goes into heat.
START_TEST(slides)
{
    for (int h = 0; h < 3; h++) {
        const double dt = (double[]){1 / 240., 1 / 60., 0.1}[h];
        if (_i >= IMPLICIT && h > 0) continue;
        ctn_model *const m = slider("0.001");
        const ctn_batch_config cfg = config_of(_i, dt);
        ctn_batch *const b = batch_with(m, &cfg);
        double q = 0, v = 30, before;
        ctn_step_stats s;
        ck_assert_int_eq(ctn_batch_set_state(b, &q, &v, 0, NULL), CTN_OK);
        ctn_batch_step(b, 5, &s, NULL);
        ctn_batch_state(b, &q, &before);
        ctn_batch_step(b, 20, &s, NULL);
        ctn_batch_state(b, &q, &v);
        ck_assert_msg(fabs(before - v - 20 * dt * 3) < methods[_i].error, "%s, dt %g: from %.15g to %.15g",
                      ctn_method_name(cfg.method), dt, before, v);
        ck_assert_msg(s.dissipated > 0 && fabs(s.spring_after - 0.5 * 6 * 0.001) < 1e-12, "stores %g", s.spring_after);
        // order 2 counts the way of a step at its end's velocity
        const double lost = 0.5 * 2 * (before * before - v * v), way = _i < 2 ? 3 * dt * 20 * dt * 3 : 2e-3 * lost;
        ck_assert_msg(fabs(s.dissipated - lost) < 2 * way + 1e-9, "%s, dt %g: %g J lost, %g by friction",
                      ctn_method_name(cfg.method), dt, lost, s.dissipated);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// Under a force below the friction a slider gives as its bristles do, and stays: no creep, at any step.
START_TEST(sticks)
{
    for (int h = 0; h < 4; h++) {
        const double dt = (double[]){1 / 1000., 1 / 240., 1 / 60., 0.1}[h], tau = 5.9;
        ctn_model *const m = slider("0.001");
        const ctn_batch_config cfg = config_of(_i, dt);
        ctn_batch *const b = batch_with(m, &cfg);
        double q, v, later, force = tau;
        ctn_batch_set_force(b, &force);
        ctn_batch_step(b, (int)ceil(20 / dt), NULL, NULL);
        ctn_batch_state(b, &q, &v);
        ctn_batch_step(b, 1000, NULL, NULL);
        ctn_batch_state(b, &later, &v);
        ck_assert_msg(fabs(v) < 1e-12 && fabs(later - q) < 1e-12 * 1000 * dt, "%s, dt %g: creeps by %g m at %g m/s",
                      ctn_method_name(cfg.method), dt, later - q, v);
        ck_assert_msg(q > 0 && q < 0.1, "at %g", q);
        // and back where it was pushed the other way: by what the bristles gave
        force = 0;
        ctn_batch_set_force(b, &force);
        ctn_batch_step(b, (int)ceil(20 / dt), NULL, NULL);
        ctn_batch_state(b, &later, &v);
        ck_assert_msg(q - later > 0 && q - later < 2 * 0.001, "%s, dt %g: comes back by %g", ctn_method_name(cfg.method), dt,
                      q - later);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// A pendulum comes to rest where friction holds its weight.
START_TEST(pendulum_rests_off_the_vertical)
{
    const char *const text = "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], friction: 1, q0: 1.5}, "
                             "mass: 1, com: [0, 0, -0.5], inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n";
    ctn_model *const m = model_of(text);
    const ctn_batch_config cfg = config_of(_i, 0.01);
    ctn_batch *const b = batch_with(m, &cfg);
    double q, v, later;
    ctn_step_stats s;
    ctn_batch_step(b, 4000, &s, NULL), ctn_batch_state(b, &q, &v);
    ctn_batch_step(b, 4000, &s, NULL), ctn_batch_state(b, &later, &v);
    ck_assert_msg(fabs(q) > 1e-3 && 9.81 * 0.5 * fabs(sin(q)) < 1 + 1e-6, "rests at %g", q);
    ck_assert_msg(fabs(later - q) < (_i < STILL ? 1e-9 : 2e-3), "%s: goes on from %.12g to %.12g", ctn_method_name(cfg.method), q,
                  later);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- energy

/// Forests with friction, springs and dampers: by order 2 no step ends with more energy than it begins with, and friction only
/// takes; the books balance to what the method's errors are.
START_TEST(energy_never_rises)
{
    int rubbing = 0;
    FOR_SEEDS(seed, 15)
    {
        const random_options o = {.links = 6, .passive = seed % 2, .friction = true, .smooth = true};
        ctn_model *const m = random_model(seed, &o);
        rubbing += m->rubs;
        const ctn_batch_config cfg = config_of(0, 0.02);
        ctn_batch *const b = batch_with(m, &cfg);
        rng r = {seed};
        double *const q = calloc((size_t)m->nq + 1, sizeof *q), *const v = calloc((size_t)m->nv + 1, sizeof *v);
        random_state(m, &r, q, v);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        double scale = 0;
        for (int k = 0; k < 200; k++) {
            ctn_step_stats s;
            ctn_batch_step(b, 1, &s, NULL);
            if (!k) scale = s.kinetic_before + fabs(s.potential_before) + s.spring_before;
            ck_assert_msg(s.energy_after <= s.energy_before + 1e-8 * scale, "seed %llu, step %d: from %.12g to %.12g J",
                          (unsigned long long)seed, k, s.energy_before, s.energy_after);
            ck_assert(s.dissipated >= 0 && s.work == 0);
        }
        free(q), free(v), ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert(rubbing > 0);
}
END_TEST

/// What friction takes is its force times the way: with smaller steps the books come out, for every method.
START_TEST(ledger)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], friction: 0.4, "
                 "presliding: 0.05, q0: 1.5}, mass: 1, com: [0, 0, -0.5], inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n");
    double created[2];
    for (int k = 0; k < 2; k++) {
        const int steps = k ? 4000 : 1000;
        const ctn_batch_config cfg = config_of(_i, 2. / steps);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ctn_batch_step(b, steps, &s, NULL);
        created[k] = fabs(s.created);
        ck_assert_msg(fabs(s.energy_after - s.energy_before - s.work + s.dissipated - s.created) < 1e-9, "the books");
        ck_assert_msg(s.dissipated > 1, "only %g J", s.dissipated);
        ctn_batch_free(b);
    }
    ck_assert_msg(created[1] < 1e-4 || created[1] < 0.35 * created[0], "%s creates %g J, with a quarter of the step %g J",
                  ctn_method_name(methods[_i].method), created[0], created[1]);
    ctn_model_free(m);
}
END_TEST

/// The energy that a batch tells of is that of its steps' books: with what bristles store.
START_TEST(totals)
{
    ctn_model *const m = slider("0.5");
    const ctn_batch_config cfg = config_of(_i, 1 / 240.);
    ctn_batch *const b = batch_with(m, &cfg);
    double q = 0, v = 1;
    ctn_step_stats s;
    ctn_totals t;
    ck_assert_int_eq(ctn_batch_set_state(b, &q, &v, 0, NULL), CTN_OK);
    ctn_batch_step(b, 30, &s, NULL);
    ctn_batch_totals(b, &t);
    ctn_batch_state(b, &q, &v);
    ck_assert_msg(fabs(t.spring - s.spring_after) < 1e-14 && fabs(t.spring - 3 / 0.5 * q * q) < 1e-9, "%g, %g, at %g", t.spring,
                  s.spring_after, q);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- bits

/// Worlds of random forests, on all engines, in batches of several sizes, saved half way and gone on with elsewhere: the same.
START_TEST(same_bits)
{
    enum { WORLDS = 9 };
    const random_options o = {.links = 7, .passive = true, .friction = true, .motors = 3};
    ctn_model *const m = random_model(500 + (uint64_t)_i, &o);
    ck_assert(m->rubs);
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    double *const q = calloc(WORLDS * nq, sizeof *q), *const v = calloc(WORLDS * nv, sizeof *v);
    rng r = {9 + (uint64_t)_i};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    uint64_t first[WORLDS] = {0}, hash[WORLDS];
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int count = 1; count <= WORLDS; count += 4) {
            ctn_batch_config cfg = config_of(_i, _i >= IMPLICIT ? 0.001 : 0.02);
            cfg.worlds = count, cfg.threads = 1 + count % 3, cfg.engine = (*e)->name;
            ctn_batch *b = batch_with(m, &cfg), *const c = batch_with(m, &cfg);
            ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            ctn_batch_step(b, 40, NULL, NULL);
            const size_t size = ctn_batch_saved_size(b);
            char *const saved = malloc(size);
            ctn_batch_save(b, saved);
            ck_assert_int_eq(ctn_batch_restore(c, saved, size, NULL), CTN_OK);
            ctn_batch_free(b), b = c;
            ctn_batch_step(b, 40, NULL, NULL);
            ctn_batch_hashes(b, hash);
            for (int w = 0; w < count; w++) {
                if (!first[w]) first[w] = hash[w];
                ck_assert_msg(hash[w] == first[w], "%s, world %d of %d: other bits", (*e)->name, w, count);
            }
            free(saved), ctn_batch_free(b);
        }
    free(q), free(v), ctn_model_free(m);
}
END_TEST

/// Between the steps: where a step ends, and begins, its dense output is the state there.
START_TEST(dense)
{
    ctn_model *const m = slider("0.5");
    ctn_batch_config cfg = config_of(_i, 1 / 240.);
    cfg.dense = true;
    ctn_batch *const b = batch_with(m, &cfg);
    double q = 0, v = 1, before, rate, x, w;
    ck_assert_int_eq(ctn_batch_set_state(b, &q, &v, 0, NULL), CTN_OK);
    ctn_batch_step(b, 30, NULL, NULL), ctn_batch_state(b, &before, &rate);
    ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, &q, &v);
    ck_assert_int_eq(ctn_batch_dense(b, 1, &x, &w, NULL, NULL), CTN_OK);
    ck_assert_msg(fabs(x - q) < 1e-12 && fabs(w - v) < 1e-9, "ends at %g, %g, not %g, %g", x, w, q, v);
    ck_assert_int_eq(ctn_batch_dense(b, 0, &x, &w, NULL, NULL), CTN_OK);
    ck_assert_msg(fabs(x - before) < 1e-12, "begins at %g, not %g", x, before);
    if (_i >= IMPLICIT && methods[_i].method != CTN_SEMI_IMPLICIT) {
        // half way a slider on its bristles is a vibration: x' = v with the frequency of its stiffness, 12 N/m over 2 kg
        ck_assert_int_eq(ctn_batch_dense(b, 0.5, &x, &w, NULL, NULL), CTN_OK);
        const double c = sqrt(6.), t = 0.5 / 240, want = before * cos(c * t) + rate / c * sin(c * t);
        ck_assert_msg(fabs(x - want) < 1e-9, "half way at %.12g, not %.12g", x, want);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- by world; what takes none

/// Worlds with a friction of their own move as models that have it, and a joint may get its friction so alone.
START_TEST(friction_by_world)
{
    enum { WORLDS = 4 };
    static const char *const own[WORLDS] = {"0", "0.3", "1", "4"};
    char text[400];
    const char *const arm =
        "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]%s%s, q0: 1.5}, mass: 1, com: "
        "[0, 0, -0.5], inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n";
    snprintf(text, sizeof text, arm, "", "");
    ctn_model *const m = model_of(text);
    const ctn_parameter list[] = {{CTN_FRICTION, 0}};
    ctn_batch_config cfg = config_of(_i, 0.004);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    double values[WORLDS], q[WORLDS], v[WORLDS];
    for (int w = 0; w < WORLDS; w++) values[w] = atof(own[w]);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
    ctn_batch_step(b, 300, NULL, NULL), ctn_batch_state(b, q, v);
    for (int w = 0; w < WORLDS; w++) {
        snprintf(text, sizeof text, arm, ", friction: ", own[w]);
        ctn_model *const alone = model_of(text);
        const ctn_batch_config one = config_of(_i, 0.004);
        ctn_batch *const c = batch_with(alone, &one);
        double x, y;
        ctn_batch_step(c, 300, NULL, NULL), ctn_batch_state(c, &x, &y);
        ck_assert_msg(x == q[w] && y == v[w], "world %d: %.17g, alone %.17g", w, q[w], x);
        ctn_batch_free(c), ctn_model_free(alone);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        ctn_method method;
        int order;
        const char *says;
    } no[] = {{CTN_VARIATIONAL, 2, "method: variational takes no dry `friction` of joints; take alpha, or radau"},
              {CTN_COLLOCATION, 4, "order: collocation takes dry `friction` of joints at order 2 alone; take that, or radau"}};
    ctn_model *const m = slider("0.001");
    ctn_error err = {0};
    for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = no[k].method, cfg.order = no[k].order;
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_str_eq(err.message, no[k].says);
    }
    ctn_model_free(m);
}
END_TEST

/// Keys of a scene: a number for each degree of freedom, angles with units, and what is not taken.
START_TEST(keys)
{
    ctn_scene *const scene =
        parse(LINKS "  - {name: a, joint: {type: universal, friction: [1, 2], presliding: [1 deg, 2 deg]}, " MASS
                    "}\n  - {name: b, joint: {type: planar, friction: 3}, " MASS "}\n"
                    "  - {name: c, joint: {type: revolute, presliding: 0.1}, " MASS "}\n");
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m, "%s", err.message);
    static const double friction[] = {1, 2, 3, 3, 3, 0}, give[] = {M_PI / 180, M_PI / 90, 1e-4, 1e-4, 1e-3, 0.1};
    for (int i = 0; i < 6; i++)
        ck_assert_msg(m->bodies[i].friction == friction[i] && fabs(m->bodies[i].presliding - give[i]) < 1e-15 &&
                          !(m->bodies[i].flags & BODY_FRICTION) == (i == 5),
                      "body %d: %g, %g", i, m->bodies[i].friction, m->bodies[i].presliding);
    ck_assert_msg(strstr(ctn_scene_warnings(scene), "joint.presliding: not used: the joint has no friction"), "%s",
                  ctn_scene_warnings(scene));
    ctn_model_free(m), ctn_scene_free(scene);
    const char *const bad[] = {"ball, friction: 1",
                               "a ball joint has none",
                               "revolute, friction: -1",
                               "expected a number >= 0",
                               "revolute, friction: 1, presliding: 0",
                               "expected a positive number"};
    for (int k = 0; k < 6; k += 2) {
        char text[300];
        snprintf(text, sizeof text, LINKS "  - {name: a, joint: {type: %s}, " MASS "}\n", bad[k]);
        ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k + 1]), "%s", err.message);
    }
}
END_TEST

/// Bristles that an explicit method cannot follow are a warning.
START_TEST(too_stiff)
{
    ctn_scene *const scene =
        parse("catena: 1\nintegrator: {method: rk4, dt: 0.1}\nlinks:\n  - {name: a, joint: {type: prismatic, "
              "friction: 60}, " MASS "}\n");
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert(warn_of_stiffness(scene, m, &cfg));
    ck_assert_msg(strstr(ctn_scene_warnings(scene), "joint.friction: the friction of 'a'"), "%s", ctn_scene_warnings(scene));
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("joint friction");
    TCase *const t = tcase_create("joint friction");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, potential);
    tcase_add_loop_test(t, slides, 0, METHODS);
    tcase_add_loop_test(t, sticks, 0, STILL);
    tcase_add_loop_test(t, pendulum_rests_off_the_vertical, 0, METHODS);
    tcase_add_test(t, energy_never_rises);
    tcase_add_loop_test(t, ledger, 0, METHODS);
    tcase_add_loop_test(t, totals, 0, METHODS);
    tcase_add_loop_test(t, same_bits, 0, METHODS);
    tcase_add_loop_test(t, dense, 0, METHODS);
    tcase_add_loop_test(t, friction_by_world, 0, METHODS);
    tcase_add_test(t, refused);
    tcase_add_test(t, keys);
    tcase_add_test(t, too_stiff);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
