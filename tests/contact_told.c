/// What contact tells, and what worlds may have of their own of it: statistics of steps, friction and depth of the ground by
/// world, sensors of contact; the same on all engines, a device's among them.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    ctn_method method;
    int number;  // order or stages
    double dt;
    bool adaptive;
} ways[] = {{CTN_COLLOCATION, 2, 0.01, false}, {CTN_ALPHA, 0, 0.01, false},         {CTN_RADAU, 2, 0.02, false},
            {CTN_RADAU, 1, 0.01, false},       {CTN_SEMI_IMPLICIT, 0, 2e-4, false}, {CTN_VARIATIONAL, 2, 2e-4, false},
            {CTN_DOP853, 0, 0.01, true}};
enum { WAYS = sizeof ways / sizeof *ways, WORLDS = 3, STEPS = 70 };

static ctn_batch_config config_of(int way, const char *engine)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.adaptive = ways[way].adaptive;
    if (ways[way].number) cfg.order = cfg.stages = ways[way].number;
    cfg.worlds = WORLDS, cfg.engine = engine, cfg.parallel = CTN_PARALLEL_WORLDS;
    return cfg;
}

/// The engines of this CPU, and the device's that is compiled for it.
static int engine_names(const char **names)
{
    int count = 0;
    for (const ctn_engine *const *e = engines_available(); *e; e++) names[count++] = (*e)->name;
    if (getenv("CTN_CUDA_LIBRARY")) names[count++] = "cuda";
    return count;
}

/// As many worlds of a state, each a little higher than the one before, and the lowest so that it soon lands.
static void start(ctn_batch *b, const ctn_model *m, const double *q, const double *v)
{
    double all_q[WORLDS * GROUND_MOST], all_v[WORLDS * GROUND_MOST];
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    for (int w = 0; w < WORLDS; w++) {
        double *const own = all_q + (size_t)w * nq;
        memcpy(own, q, nq * sizeof *q), memcpy(all_v + (size_t)w * nv, v, nv * sizeof *v);
        for (int l = 0; l < ctn_model_nlink(m); l++) {
            const ctn_link *const k = ctn_model_link(m, l);
            if (k->joint == CTN_FREE) own[k->qadr + 2] -= 0.5 - 0.1 * w;
        }
    }
    ck_assert_int_eq(ctn_batch_set_state(b, all_q, all_v, 0, NULL), CTN_OK);
}

// ---- statistics

/// What the statistics of a world's last step must say of its contact points.
static void check_against_contacts(ctn_batch *b, const ctn_step_stats *stats)
{
    const int n = ctn_model_ncontact(ctn_batch_model(b));
    double *const x = malloc((size_t)(WORLDS * n) * CTN_CONTACT_NUMBERS * sizeof *x);
    ck_assert_int_eq(ctn_batch_contacts(b, x, NULL), CTN_OK);
    for (int w = 0; w < WORLDS; w++) {
        int sticks = 0, slides = 0;
        double depth = -INFINITY;
        for (int k = 0; k < n; k++) {
            const double *const at = x + (size_t)(w * n + k) * CTN_CONTACT_NUMBERS;
            sticks += at[7] == CTN_STICKS, slides += at[7] == CTN_SLIDES, depth = fmax(depth, at[6]);
        }
        const ctn_step_stats *const s = &stats[w];
        ck_assert_msg(s->sticking == sticks && s->sliding == slides && s->touching == sticks + slides,
                      "world %d: %d stick and %d slide, found %d and %d of %d", w, sticks, slides, s->sticking, s->sliding,
                      s->touching);
        ck_assert_msg(s->depth >= depth - 1e-12, "world %d: %g m deep, found %g", w, depth, s->depth);
    }
    free(x);
}

/// Step by step they are what ctn_batch_contacts says, in one call what the steps add up to; and on every engine, by every
/// schedule, all of them are the same to the last bit.
START_TEST(statistics)
{
    const int way = _i % WAYS, kind = _i / WAYS;
    double q[GROUND_MOST], v[GROUND_MOST];
    ctn_model *const m = ground_model((ground_kind)kind, (uint64_t)_i + 3, 0, q, v);
    const char *names[8];
    ctn_step_stats sum[WORLDS], one[WORLDS];
    ctn_batch_config cfg = config_of(way, "scalar");
    ctn_batch *b = batch_with(m, &cfg);
    const int steps = ways[way].dt < 1e-3 ? 50 * STEPS : STEPS;
    double deepest[WORLDS];
    start(b, m, q, v);
    for (int k = 0; k < steps; k++) {
        ctn_batch_step(b, 1, one, NULL);
        check_against_contacts(b, one);
        for (int w = 0; w < WORLDS; w++) {
            deepest[w] = k ? fmax(deepest[w], one[w].depth) : one[w].depth;
            if (k) ctn_step_stats_add(&sum[w], &one[w]);
            else sum[w] = one[w];
        }
    }
    int touched = 0, corrected = 0;
    for (int w = 0; w < WORLDS; w++) {
        ck_assert(sum[w].depth == deepest[w]);
        touched += sum[w].depth > 0, corrected += sum[w].corrections > 0;
    }
    ck_assert_int_gt(touched, 0);
    if (way < 2) ck_assert_int_gt(corrected, 0);
    if (way > 3) ck_assert_int_eq(corrected, 0);
    ctn_batch_free(b);
    const int engines = engine_names(names);
    for (int e = 0; e < engines; e++)
        for (int schedule = CTN_SCHEDULE_AUTO; schedule <= CTN_BY_STEP; schedule++) {
            if (!strcmp(names[e], "cuda") && ways[way].adaptive) continue;
            cfg = config_of(way, names[e]), cfg.schedule = (ctn_schedule)schedule;
            b = batch_with(m, &cfg);
            start(b, m, q, v);
            ctn_batch_step(b, steps, one, NULL);
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(one[w].touching == sum[w].touching && one[w].sticking == sum[w].sticking &&
                                  one[w].sliding == sum[w].sliding && one[w].corrections == sum[w].corrections &&
                                  one[w].depth == sum[w].depth,
                              "%s, schedule %d, world %d: %d %d %d, %ld, %.17g m; found %d %d %d, %ld, %.17g m", names[e],
                              schedule, w, sum[w].touching, sum[w].sticking, sum[w].sliding, sum[w].corrections, sum[w].depth,
                              one[w].touching, one[w].sticking, one[w].sliding, one[w].corrections, one[w].depth);
            ctn_batch_free(b);
        }
    ctn_model_free(m);
}
END_TEST

/// Along the links, too; on the CPU and on a device, one world after the other or all together.
START_TEST(statistics_along)
{
    static const ctn_parallel parallel[] = {CTN_PARALLEL_LINKS, CTN_PARALLEL_BOTH};
    double q[GROUND_MOST], v[GROUND_MOST];
    ctn_model *const m = ground_model(GROUND_ROPE, 11, 0, q, v);
    const char *const engines[] = {"scalar", "auto", "cuda"};
    const int way = _i;  // order 2, alpha, radau
    for (int e = 0; e < (getenv("CTN_CUDA_LIBRARY") ? 3 : 2); e++)
        for (int p = 0; p < 2; p++) {
            ctn_step_stats all[WORLDS], one[WORLDS];
            ctn_batch_config cfg = config_of(way, engines[e]);
            cfg.parallel = parallel[p], cfg.lanes = 8;
            ctn_batch *const whole = batch_with(m, &cfg), *const b = batch_with(m, &cfg);
            double deepest[WORLDS] = {0};
            long corrections[WORLDS] = {0};
            start(b, m, q, v), start(whole, m, q, v);
            for (int k = 0; k < STEPS; k++) {
                ctn_batch_step(b, 1, one, NULL);
                check_against_contacts(b, one);
                for (int w = 0; w < WORLDS; w++)
                    deepest[w] = k ? fmax(deepest[w], one[w].depth) : one[w].depth, corrections[w] += one[w].corrections;
            }
            ctn_batch_step(whole, STEPS, all, NULL);
            check_against_contacts(whole, all);
            ck_assert(ctn_batch_serial_steps(b) < WORLDS * STEPS);
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(all[w].corrections == corrections[w] && fabs(all[w].depth - deepest[w]) < 1e-12 &&
                                  all[w].touching == one[w].touching,
                              "%s, %s, world %d: %ld, %.17g m; found %ld, %.17g m", engines[e], ctn_parallel_name(parallel[p]), w,
                              corrections[w], deepest[w], all[w].corrections, all[w].depth);
            ctn_batch_free(b), ctn_batch_free(whole);
        }
    ctn_model_free(m);
}
END_TEST

/// Nothing is told of models without a ground, and of calls that nobody asks.
START_TEST(nothing_to_tell)
{
    ctn_model *const m = model_of("catena: 1\nlinks: [{name: a, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n");
    ctn_batch_config cfg = config_of(0, NULL);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_step_stats s[WORLDS];
    ctn_batch_step(b, 5, s, NULL);
    ck_assert(!s->touching && !s->sticking && !s->sliding && !s->corrections && s->depth == 0);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- friction and depth by world

/// A box on a leg and a ball of another size, on a slope; with these numbers.
static ctn_model *pair(const char *contact, const char *leg)
{
    char text[2000];
    snprintf(text, sizeof text,
             "catena: 1\nground: {normal: [0.3, 0, 1]}\n%slinks:\n"
             "  - {name: body, position: [0, 0, 0.5], joint: free, density: 500, shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}\n"
             "  - {name: leg, parent: body, position: [0.1, 0, -0.1], joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, "
             "density: 500, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.2], radius: 0.04%s}]}\n"
             "  - {name: ball, position: [0, 1, 0.4], joint: free, density: 300, shapes: [{type: sphere, radius: 0.1}]}\n",
             contact, leg);
    return model_of(text);
}

/// What worlds have: friction of the ground and of the leg, depth.
static const struct {
    double ground, leg, depth;
} own[WORLDS] = {{0.8, 0.2, 0.003}, {0.1, 0.9, 0.01}, {0, 0, 0.05}};

/// Each world moves, to the last bit, as one of a model with these numbers: on every engine, and along the links up to rounding.
START_TEST(parameters)
{
    static const ctn_parameter list[] = {{CTN_CONTACT_FRICTION, 1}, {CTN_GROUND_DEPTH, 0}, {CTN_GROUND_FRICTION, 0}};
    const int way = _i;
    ctn_model *const m = pair("contact: {depth: 0.02, friction: 0.5}\n", ", contact: {friction: 0.4}");
    const char *names[8];
    enum { NQ = 15, NV = 13 };
    double values[WORLDS * 3], expected[WORLDS * NQ], q[WORLDS * NQ];
    ctn_step_stats told[WORLDS], found[WORLDS];
    const int steps = ways[way].dt < 1e-3 ? 2000 : STEPS, engines = engine_names(names);
    ck_assert_int_eq(ctn_model_nq(m), NQ);
    for (int w = 0; w < WORLDS; w++) {
        char contact[80], leg[60];
        snprintf(contact, sizeof contact, "contact: {depth: %.17g, friction: %.17g}\n", own[w].depth, own[w].ground);
        snprintf(leg, sizeof leg, ", contact: {friction: %.17g}", own[w].leg);
        ctn_model *const alone = pair(contact, leg);
        ctn_batch_config cfg = config_of(way, "scalar");
        cfg.worlds = 1;
        ctn_batch *const b = batch_with(alone, &cfg);
        ctn_batch_step(b, steps, &told[w], NULL);
        ctn_batch_state(b, expected + (size_t)w * NQ, NULL);
        ctn_batch_free(b), ctn_model_free(alone);
        values[3 * w] = own[w].leg, values[3 * w + 1] = own[w].depth, values[3 * w + 2] = own[w].ground;
    }
    ck_assert_double_gt(coordinate_distance(m, expected, expected + NQ), 1e-3);
    for (int e = 0; e < engines + 2; e++) {
        const bool along = e >= engines;
        if (along && (way > 2 || ways[way].adaptive)) continue;
        if (e < engines && !strcmp(names[e], "cuda") && ways[way].adaptive) continue;
        ctn_batch_config cfg = config_of(way, along ? "auto" : names[e]);
        cfg.parameters = list, cfg.parameter_count = 3;
        if (along) cfg.parallel = e == engines ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH, cfg.lanes = 8;
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
        ctn_batch_step(b, steps, found, NULL);
        ctn_batch_state(b, q, NULL);
        for (int w = 0; w < WORLDS; w++) {
            const double *const x = expected + (size_t)w * NQ, *const y = q + (size_t)w * NQ;
            if (along) ck_assert_double_lt(coordinate_distance(m, x, y), 1e-6);
            else
                ck_assert_msg(!memcmp(x, y, NQ * sizeof *x) && found[w].touching == told[w].touching &&
                                  found[w].depth == told[w].depth,
                              "%s: world %d moves %g off the model with its numbers", names[e], w, coordinate_distance(m, x, y));
        }
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// Trees whose depths go by their size keep them in proportion; numbers of the model change no bit.
START_TEST(depths_in_proportion)
{
    static const ctn_parameter list[] = {{CTN_GROUND_DEPTH, 0}, {CTN_GROUND_FRICTION, 0}};
    ctn_model *const m = pair("", "");
    double values[2] = {0, 0}, q[2][15], rest[2][2] = {{0, 0}, {0, 0}};
    for (int k = 0; k < 2; k++) ck_assert_int_eq(ctn_model_parameter(m, list[k], &values[k], NULL), CTN_OK);
    ck_assert(values[0] == m->depth && values[1] == 0.8);
    for (int changed = 0; changed < 2; changed++) {
        ctn_batch_config cfg = config_of(0, "scalar");
        cfg.worlds = 1, cfg.parameters = changed ? list : NULL, cfg.parameter_count = changed ? 2 : 0;
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_batch_step(b, STEPS, NULL, NULL);
        ctn_batch_state(b, q[changed], NULL);
        ctn_batch_free(b);
    }
    ck_assert(!memcmp(q[0], q[1], sizeof q[0]));
    ctn_model_free(m);
    // on a level ground both rest: a ball as deep as its tree sinks on one point, the body on four at a quarter of that
    ctn_model *const level = model_of(
        "catena: 1\nground: true\nlinks:\n"
        "  - {name: box, position: [0, 0, 0.1], joint: free, density: 500, shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}\n"
        "  - {name: ball, position: [0, 1, 0.05], joint: free, density: 500, shapes: [{type: sphere, radius: 0.05}]}\n");
    for (int twice = 0; twice < 2; twice++) {
        ctn_batch_config cfg = config_of(0, "scalar");
        cfg.worlds = 1, cfg.parameters = list, cfg.parameter_count = 1;
        ctn_batch *const b = batch_with(level, &cfg);
        double x[9 * CTN_CONTACT_NUMBERS];
        const double depth = level->depth * (1 + twice);
        ck_assert_int_eq(ctn_batch_set_parameters(b, &depth, NULL), CTN_OK);
        ctn_batch_step(b, 300, NULL, NULL);
        ctn_batch_contacts(b, x, NULL);
        rest[twice][1] = x[8 * CTN_CONTACT_NUMBERS + 6];
        for (int k = 0; k < 8; k++) rest[twice][0] = fmax(rest[twice][0], x[k * CTN_CONTACT_NUMBERS + 6]);
        ctn_batch_free(b);
    }
    for (int k = 0; k < 2; k++)
        ck_assert_msg(fabs(rest[1][k] / rest[0][k] - 2) < 1e-6, "tree %d rests at %g m and then at %g m", k, rest[0][k],
                      rest[1][k]);
    ck_assert(fabs(4 * rest[0][0] - level->depth) < 1e-6 * level->depth);
    ctn_model_free(level);
}
END_TEST

/// What is refused, in words.
START_TEST(refused)
{
    static const struct {
        ctn_parameter of;
        double value;
        const char *says;
    } bad[] = {{{CTN_GROUND_FRICTION, 0}, -0.1, "ground_friction: expected a number >= 0, found -0.1"},
               {{CTN_GROUND_DEPTH, 0}, 0, "ground_depth: expected a positive number, found 0"},
               {{CTN_GROUND_DEPTH, 0}, -1, "ground_depth: expected a positive number, found -1"},
               {{CTN_GROUND_DEPTH, 0}, INFINITY, "ground_depth: expected a positive number, found inf"},
               {{CTN_CONTACT_FRICTION, 1}, -2, "contact_friction of link 'leg': expected a number >= 0, found -2"},
               {{CTN_GROUND_DEPTH, 1}, 1, "ground_depth has the index 0 alone, found 1"},
               {{CTN_CONTACT_FRICTION, 3}, 1, "there are links 0 to 2"}};
    ctn_model *const m = pair("", "");
    ctn_error err;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ctn_batch_config cfg = config_of(0, NULL);
        cfg.worlds = 1, cfg.parameters = &bad[k].of, cfg.parameter_count = 1;
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
        if (b) ck_assert_int_eq(ctn_batch_set_parameters(b, &bad[k].value, &err), CTN_BAD_ARGUMENT);
        ck_assert_msg(strstr(err.message, bad[k].says), "expected '%s', found '%s'", bad[k].says, err.message);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
    static const struct {
        const char *scene, *says;
        ctn_parameter of;
    } none[] = {
        {"catena: 1\nlinks: [{name: a, joint: free, density: 1, shapes: [{type: sphere, radius: 1}]}]\n",
         "ground_friction: nothing touches a ground; give the scene a `ground`",
         {CTN_GROUND_FRICTION, 0}},
        {"catena: 1\nground: true\nlinks: [{name: a, joint: free, density: 1, shapes: [{type: sphere, radius: 1, contact: "
         "{friction: 1}}]}]\n",
         "all shapes have a friction of their own; take contact_friction of links",
         {CTN_GROUND_FRICTION, 0}},
        {"catena: 1\nground: true\nlinks: [{name: a, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}, {name: b, joint: free, "
         "density: 1, shapes: [{type: sphere, radius: 1}]}]\n",
         "contact_friction of link 'a': it touches no ground",
         {CTN_CONTACT_FRICTION, 0}}};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        ctn_model *const of = model_of(none[k].scene);
        double value;
        ck_assert_int_eq(ctn_model_parameter(of, none[k].of, &value, &err), CTN_BAD_ARGUMENT);
        ck_assert_msg(strstr(err.message, none[k].says), "expected '%s', found '%s'", none[k].says, err.message);
        ctn_model_free(of);
    }
}
END_TEST

/// They can be drawn.
START_TEST(sampled)
{
    static const char links[] = "links:\n  - {name: a, joint: free, density: 1, shapes: [{type: sphere, radius: 0.1}]}\n"
                                "  - {name: b, joint: free, density: 1, shapes: [{type: box, size: [1, 1, 1]}]}\n";
    static const struct {
        const char *sample, *says;
    } bad[] = {{"ground_friction: {uniform: [-1, 1]}", "expected a number >= 0, found -1 as the least"},
               {"ground_depth: {uniform: [0, 1]}", "expected a positive number, found 0 as the least"},
               {"ground_depth: {all: {uniform: [1, 2]}}", "unknown key"},
               {"contact_friction: {c: {uniform: [0, 1]}}", "no link is called 'c'"}};
    char text[900];
    ctn_error err;
    snprintf(
        text, sizeof text,
        "catena: 1\nground: true\n%ssample: {parameters: {ground_friction: {uniform: [0.2, 0.4]}, ground_depth: {grid: [0.01, "
        "0.02, 2]}, contact_friction: {b: {uniform: [0.6, 0.7]}}}}\n",
        links);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_parameter list[3];
    double x[2][3];
    ck_assert_int_eq(ctn_scene_parameters(scene, m, list), 3);
    ck_assert(list[0].kind == CTN_GROUND_FRICTION && list[1].kind == CTN_GROUND_DEPTH && list[2].kind == CTN_CONTACT_FRICTION);
    ck_assert(list[2].index == 1 && ctn_scene_grid(scene) == 2);
    for (int w = 0; w < 2; w++) ctn_sample_parameters(scene, m, 5, w, 2, x[w]);
    ck_assert(x[0][0] != x[1][0] && x[0][0] > 0.2 && x[0][0] < 0.4 && x[0][1] == 0.01 && x[1][1] == 0.02 && x[1][2] > 0.6);
    ctn_model_free(m), ctn_scene_free(scene);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, "catena: 1\nground: true\n%ssample: {parameters: {%s}}\n", links, bad[k].sample);
        ck_assert(!ctn_scene_parse(text, strlen(text), "text.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k].says), "expected '%s', found '%s'", bad[k].says, err.message);
    }
    snprintf(text, sizeof text, "catena: 1\n%ssample: {parameters: {ground_depth: {uniform: [1, 2]}}}\n", links);
    ck_assert(!ctn_scene_parse(text, strlen(text), "text.yaml", &err) && strstr(err.message, "nothing touches a ground"));
    snprintf(text, sizeof text, "catena: 1\n%ssample: {parameters: {contact_friction: {a: {uniform: [1, 2]}}}}\n", links);
    ck_assert(!ctn_scene_parse(text, strlen(text), "text.yaml", &err) && strstr(err.message, "touches no ground"));
}
END_TEST

// ---- sensors

#define STANDING                                                                                                                 \
    "catena: 1\nground: {normal: [0.2, 0, 1]}\nlinks:\n"                                                                         \
    "  - {name: body, position: [0, 0, 0.3], joint: free, density: 500, shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}\n"         \
    "  - {name: foot, parent: body, position: [0.1, 0, -0.1], joint: {type: revolute, axis: [0, 1, 0], stiffness: 50, damping: " \
    "1}, density: 500, shapes: [{type: box, size: [0.2, 0.3, 0.05], center: [0, 0, -0.1]}]}\n"                                   \
    "  - {name: pad, parent: foot, position: [-0.15, 0, -0.1], joint: fixed, density: 500, shapes: [{type: sphere, radius: "     \
    "0.03}]}\n"

/// Sensors of contact are what the contact points of their link feel: on every engine, drawn together with all other sensors.
START_TEST(sensors)
{
    ctn_model *const m = model_of(STANDING "sensors:\n"
                                           "  - {name: foot, type: touch, link: foot}\n"
                                           "  - {name: push, type: contact_force, link: foot}\n"
                                           "  - {name: pad, type: touch, link: pad}\n"
                                           "  - {name: toe, type: touch, link: foot, point: [0.1, 0.15, -0.125], radius: 0.05}\n"
                                           "  - {name: imu, type: imu, link: body}\n"
                                           "  - {name: late, type: touch, link: foot, delay: 0.02}\n");
    const int n = ctn_model_ncontact(m);
    const char *names[8];
    const int engines = engine_names(names), way = _i;
    double first[WORLDS * 13], values[WORLDS * 13], (*x)[CTN_CONTACT_NUMBERS] = malloc((size_t)(WORLDS * n) * sizeof *x);
    ck_assert_int_eq(ctn_model_sensor_numbers(m), 13);
    for (int e = 0; e < engines; e++) {
        ctn_batch_config cfg = config_of(way, names[e]);
        if (!strcmp(names[e], "cuda") && ways[way].adaptive) continue;
        ctn_batch *const b = batch_with(m, &cfg);
        for (int k = 0; k < 4; k++) {
            double before[WORLDS * 13];
            ctn_batch_step(b, (ways[way].dt < 1e-3 ? 1500 : 30) - 2, NULL, NULL);
            ctn_batch_sensors(b, before, NULL);
            ctn_batch_step(b, (int)(0.02 / cfg.dt + 0.5), NULL, NULL);
            ck_assert_int_eq(ctn_batch_sensors(b, values, NULL), CTN_OK);
            ck_assert_int_eq(ctn_batch_contacts(b, x[0], NULL), CTN_OK);
            ck_assert(values[12] == before[0]);  // what it was a delay ago
            double sum[2][3] = {{0}}, toe = 0;
            const double tilt[3] = {0.2 / sqrt(1.04), 0, 1 / sqrt(1.04)};
            for (int i = 0; i < n; i++) {
                ctn_contact_point p;
                ck_assert(ctn_model_contact(m, i, &p));
                const double *const f = x[i] + 3;
                for (int c = 0; c < 3 && p.link; c++) sum[p.link - 1][c] += f[c];
                const bool near = fabs(p.point[0] - 0.1) < 0.01 && fabs(p.point[1] - 0.15) < 0.01 && p.point[2] < -0.12;
                if (p.link == 1 && near) toe += f[0] * tilt[0] + f[2] * tilt[2];
            }
            for (int c = 0; c < 3; c++) ck_assert_double_lt(fabs(values[1 + c] - sum[0][c]), 1e-9);
            ck_assert_double_lt(fabs(values[0] - (sum[0][0] * tilt[0] + sum[0][2] * tilt[2])), 1e-9);
            ck_assert_double_lt(fabs(values[4] - (sum[1][0] * tilt[0] + sum[1][2] * tilt[2])), 1e-9);
            ck_assert_double_lt(fabs(values[5] - toe), 1e-9);
        }
        if (!e) memcpy(first, values, sizeof first);
        ck_assert_msg(!memcmp(first, values, sizeof first), "%s says something else", names[e]);
        ctn_batch_free(b);
    }
    free(x), ctn_model_free(m);
}
END_TEST

/// What stands still weighs what it weighs; at a state that a program brings, depth and its rate say the force.
START_TEST(weight)
{
    ctn_model *const m =
        model_of("catena: 1\nground: true\ncontact: {depth: 0.01}\nlinks:\n"
                 "  - {name: box, position: [0, 0, 0.1], joint: free, mass: 3, inertia: [0.1, 0.1, 0.1, 0, 0, 0], "
                 "shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}\n"
                 "sensors: [{name: t, type: touch, link: box}, {name: f, type: contact_force, link: box}]\n");
    ctn_batch_config cfg = config_of(0, NULL);
    cfg.worlds = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const d = ctn_dynamics_create(m, NULL, NULL);
    double x[4], q[7] = {0, 0, 0.1 - 0.002, 1, 0, 0, 0}, v[6] = {0};
    ctn_batch_step(b, 400, NULL, NULL);
    ctn_batch_sensors(b, x, NULL);
    ck_assert_msg(fabs(x[0] - 3 * 9.81) < 1e-9 && fabs(x[3] - 3 * 9.81) < 1e-9 && fabs(x[1]) < 1e-9, "%g N, %g N", x[0], x[3]);
    ctn_sensors(d, 1, q, v, NULL, x);
    const double grip = 3 * 9.81 / 0.01;  // of each of four points
    ck_assert_msg(fabs(x[0] - 4 * grip * 0.002) < 1e-9, "%g N at rest 2 mm deep", x[0]);
    v[2] = 1, ctn_sensors(d, 1, q, v, NULL, x);
    ck_assert(x[0] == 0 && x[3] == 0);  // the damper does not pull
    ctn_dynamics_free(d), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A sensor of a link that touches nothing says 0, and a warning says so; what is wrong is an error.
START_TEST(sensors_of_nothing)
{
    static const char link[] = "links: [{name: a, joint: free, density: 1, shapes: [{type: sphere, radius: 1}]}]\n";
    static const struct {
        const char *sensor, *says;
    } bad[] = {{"{name: t, type: touch}", "link"},
               {"{name: t, type: touch, link: a, point: [0, 0, 0]}", "radius"},
               {"{name: t, type: touch, link: a, radius: 0}", "positive"},
               {"{name: t, type: contact_force, link: a, rotation: [1, 0, 0, 0]}", "a sensor of the type contact_force has none"},
               {"{name: t, type: gyro, link: a, radius: 1}", "a sensor of the type gyro has none"}};
    char text[600];
    ctn_error err;
    snprintf(text, sizeof text, "catena: 1\n%ssensors: [{name: t, type: touch, link: a}]\n", link);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
    ck_assert(scene && strstr(ctn_scene_warnings(scene), "touches no ground"));
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_batch_config cfg = config_of(0, NULL);
    cfg.worlds = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    double x = 1;
    ck_assert(ctn_batch_sensors(b, &x, NULL) == CTN_OK && x == 0);
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, "catena: 1\nground: true\n%ssensors: [%s]\n", link, bad[k].sensor);
        ck_assert(!ctn_scene_parse(text, strlen(text), "text.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k].says), "expected '%s', found '%s'", bad[k].says, err.message);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_told");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, statistics, 0, WAYS * GROUND_KINDS);
    tcase_add_loop_test(all, statistics_along, 0, 3);
    tcase_add_test(all, nothing_to_tell);
    tcase_add_loop_test(all, parameters, 0, WAYS);
    tcase_add_test(all, depths_in_proportion);
    tcase_add_test(all, refused);
    tcase_add_test(all, sampled);
    tcase_add_loop_test(all, sensors, 0, WAYS);
    tcase_add_test(all, weight);
    tcase_add_test(all, sensors_of_nothing);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
