/// Links that touch each other, and loops, in batches: the same bits whoever is beside a world, on every engine, by any number of threads,
/// from a state that was saved; what they feel; and that no energy comes of it.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 7, STEPS = 40 };

/// Boxes and balls that fall on each other, and a linkage of capsules that closes and is hit by one of them.
static const char heap[] =
    "catena: 1\n"
    "contact: {between: all, friction: 0.5, depth: 0.001}\n"
    "ground: {height: 0}\n"
    "links:\n"
    "  - {name: a, joint: {type: free}, mass: 1, shapes: [{type: box, size: [0.2, 0.15, 0.1]}]}\n"
    "  - {name: b, joint: {type: free}, mass: 0.5, shapes: [{type: box, size: [0.12, 0.12, 0.12]}]}\n"
    "  - {name: c, joint: {type: free}, mass: 0.3, shapes: [{type: sphere, radius: 0.06}]}\n"
    "  - {name: d, joint: {type: free}, mass: 0.3, shapes: [{type: capsule, radius: 0.04, from: [-0.08, "
    "0, 0], to: [0.08, 0, 0]}]}\n"
    "  - {name: p, position: [0.5, 0, 0.4], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.4, shapes: "
    "[{type: capsule, radius: 0.02, from: [0, 0, 0], to: [0.3, 0, 0]}]}\n"
    "  - {name: r, parent: p, position: [0.3, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.4, "
    "shapes: [{type: capsule, radius: 0.02, from: [0, 0, 0], to: [0.3, 0, 0]}]}\n"
    "loops:\n"
    "  - {type: distance, a: r, b: world, at_a: [0.3, 0, 0], at_b: [1.1, 0, 0.5]}\n"
    "springs:\n"
    "  - {link: c, point: [0, 0, 0], b: d, b_point: [0, 0, 0], stiffness: 5, rest: 0.1, damping: 0.1}\n"
    "tendons:\n"
    "  - {name: cord, path: [{link: world, at: [0, 0, 1]}, {link: c}, {link: r, at: [0.1, 0, 0]}, {pulley: 2}, "
    "{link: a}, {link: world}], stiffness: 8, rest: [0, 1.2], damping: 0.2, range: [0, 2]}\n"
    "motors:\n"
    "  - {tendon: cord, type: position, kp: 2, kd: 0.1, target: 1, effort: 0.5}\n"
    "state: {q: [0, 0, 0.06, 1, 0, 0, 0,  0.02, 0.01, 0.2, 0.99, 0.1, 0.05, 0,  0.03, 0, 0.36, 1, 0, 0, "
    "0,  0, 0.02, 0.5, 0.9, 0, 0.2, 0.3,  0.2, -0.3]}\n"
    "integrator: {method: collocation, order: 2, dt: 0.01}\n";

/// Boxes of one size that stand on each other: with edges that lie side by side, elements come and go.
static const char tower[] =
    "catena: 1\n"
    "contact: {between: all, friction: 0.5, depth: 0.0005}\n"
    "ground: {height: 0}\n"
    "links:\n"
    "  - {name: a, joint: {type: free}, mass: 1, shapes: [{type: box, size: [0.1, 0.1, 0.1]}]}\n"
    "  - {name: b, joint: {type: free}, mass: 2, shapes: [{type: box, size: [0.1, 0.1, 0.1]}]}\n"
    "  - {name: c, joint: {type: free}, mass: 3, shapes: [{type: box, size: [0.1, 0.1, 0.1]}]}\n"
    "  - {name: d, joint: {type: free}, mass: 4, shapes: [{type: box, size: [0.1, 0.1, 0.1]}]}\n"
    "state: {q: [0, 0, 0.05, 1, 0, 0, 0,  0, 0, 0.15, 1, 0, 0, 0,  0, 0, 0.25, 1, 0, 0, 0,  0, 0, 0.35, 1, "
    "0, 0, 0]}\n";

/// Cylinders and ellipsoids, whose points slide, on each other and on a box.
static const char rounds[] =
    "catena: 1\n"
    "contact: {between: all, friction: 0.5, depth: 0.001}\n"
    "ground: {height: 0}\n"
    "links:\n"
    "  - {name: a, joint: {type: free}, mass: 1, shapes: [{type: box, size: [0.3, 0.25, 0.1]}]}\n"
    "  - {name: b, joint: {type: free}, mass: 2, shapes: [{type: cylinder, radius: 0.08, from: [0, -0.1, 0], to: [0, 0.1, 0]}]}\n"
    "  - {name: c, joint: {type: free}, mass: 1, shapes: [{type: ellipsoid, radii: [0.15, 0.06, 0.04]}]}\n"
    "  - {name: d, joint: {type: free}, mass: 1, shapes: [{type: ellipsoid, radii: [0.03, 0.05, 0.12]}]}\n"
    "state: {q: [0, 0, 0.05, 1, 0, 0, 0,  0.1, 0, 0.181, 1, 0, 0, 0,  0.02, 0, 0.31, 0.9, 0.1, 0.2, 0,  -0.08, 0, 0.2, 1, "
    "0, 0, 0]}\n";

/// Knots with rods between neighbours that fall onto a fixed ball: what lands in a step was not near when it began.
static const char *net(void)
{
    enum { SIDE = 4 };
    static char text[8000];
    int n = snprintf(text, sizeof text,
                     "catena: 1\ncontact: {between: all, friction: 0.6, depth: 0.001}\n"
                     "obstacles: [{type: sphere, center: [0.02, 0.01, 0.25], radius: 0.15}]\n"
                     "defaults: {joint: free, density: 500, shapes: [{type: sphere, radius: 0.03}]}\nlinks:\n");
    for (int k = 0; k < SIDE * SIDE; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "  - {name: k%d, position: [%g, %g, 0.46]}\n", k, 0.1 * (k / SIDE - 1.5),
                      0.1 * (k % SIDE - 1.5));
    n += snprintf(text + n, sizeof text - (size_t)n, "loops:\n");
    for (int k = 0; k < SIDE * SIDE; k++)
        for (int across = 0; across < 2; across++) {
            const int other = across ? k + SIDE : k + 1;
            if (across ? other >= SIDE * SIDE : other % SIDE == 0) continue;
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {type: distance, a: k%d, b: k%d, at_a: [0, 0, 0], at_b: [0, 0, 0]}\n", k, other);
        }
    return text;
}

/// Balls of 0.1 and 2 kg that fall on each other between walls, others on others in each world: each has an order of elimination of
/// its own. tall: boxes on top of each other, where all have the same.
static const char *pile(bool tall)
{
    enum { COUNT = 11 };
    static char text[8000];
    int n = snprintf(text, sizeof text,
                     "catena: 1\ncontact: {between: all, friction: 0.6, depth: 0.001}\nground: true\n"
                     "obstacles: [{type: box, center: [0.2, 0, 0.2], size: [0.1, 0.4, 0.4]}, "
                     "{type: box, center: [-0.2, 0, 0.2], size: [0.1, 0.4, 0.4]}]\nlinks:\n");
    for (int k = 0; k < COUNT; k++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  - {name: k%d, position: [%g, %g, %g], joint: free, mass: %g, shapes: [%s]}\n", k,
                      tall ? 0 : 0.055 * (k % 2 ? 1 : -1), tall ? 0 : 0.02 * (k % 3 - 1), tall ? 0.05 + 0.1 * k : 0.06 + 0.06 * k,
                      k % 2 ? 0.1 : 2, tall ? "{type: box, size: [0.1, 0.1, 0.1]}" : "{type: sphere, radius: 0.05}");
    return text;
}

/// Where world w begins: a little elsewhere.
static void start_of(const ctn_model *m, int w, double *q, double *v)
{
    rng r = {(uint64_t)w + 5};
    memcpy(q, m->q0, sizeof *q * (size_t)m->nq), memcpy(v, m->v0, sizeof *v * (size_t)m->nv);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 2; i++) q[7 * k + i] += rng_uniform(&r, -0.01, 0.01), q[7 * k + 2] += rng_uniform(&r, 0, 0.01);
    for (int i = 0; i < ctn_model_nv(m); i++) v[i] = rng_uniform(&r, -0.2, 0.2);
}

static ctn_batch_config config_of(const char *engine, int worlds, int threads)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 0.01, cfg.worlds = worlds, cfg.threads = threads, cfg.engine = engine;
    return cfg;
}

/// The worlds from `first` on, side by side, after the steps: q [worlds][nq], v [worlds][nv]. saved: in two calls, between which another
/// batch takes over.
static void run_worlds(const ctn_model *m, ctn_method method, double dt, const char *engine, int first, int worlds, int threads,
                       bool saved, double *q, double *v)
{
    ctn_batch_config cfg = config_of(engine, worlds, threads);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    cfg.dt = dt, cfg.method = method;
    ctn_batch *b = batch_with(m, &cfg);
    ctn_error err;
    for (int w = 0; w < worlds; w++) start_of(m, first + w, q + w * nq, v + w * nv);
    ck_assert_msg(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK, "%s", err.message);
    for (int part = 0; part < (saved ? 2 : 1); part++) {
        ck_assert_msg(ctn_batch_step(b, saved ? STEPS / 2 : STEPS, NULL, &err) == CTN_OK, "%s", err.message);
        if (!saved || part) continue;
        const size_t size = ctn_batch_saved_size(b);
        void *const state = malloc(size);
        ctn_batch_save(b, state);
        ctn_batch_free(b), b = batch_with(m, &cfg);
        ck_assert_msg(ctn_batch_restore(b, state, size, &err) == CTN_OK, "%s", err.message);
        free(state);
    }
    ctn_batch_state(b, q, v);
    ctn_batch_free(b);
}

/// Side by side each world has the bits that it has alone.
static void check_bits(const char *scene, ctn_method method, double dt)
{
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    ctn_model *const m = model_of(scene);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    double *q = malloc(sizeof *q * (size_t)(WORLDS * nq)), *v = malloc(sizeof *v * (size_t)(WORLDS * nv));
    double *x = malloc(sizeof *x * (size_t)(WORLDS * nq)), *y = malloc(sizeof *y * (size_t)(WORLDS * nv));
    for (int w = 0; w < WORLDS; w++) run_worlds(m, method, dt, "scalar", w, 1, 1, false, q + w * nq, v + w * nv);
    ck_assert(memcmp(q, q + nq, sizeof *q * (size_t)nq) != 0);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
        for (int way = 0; way < 3; way++) {
            if (!engine_find(engines[e], WORLDS, NULL)) continue;
            run_worlds(m, method, dt, engines[e], 0, WORLDS, way == 1 ? 2 : 1, way == 2, x, y);
            for (int w = 0; w < WORLDS; w++)
                ck_assert_msg(!memcmp(x + w * nq, q + w * nq, sizeof *q * (size_t)nq) &&
                                  !memcmp(y + w * nv, v + w * nv, sizeof *v * (size_t)nv),
                              "dt %g: world %d has other bits by %s, way %d", dt, w, engines[e], way);
        }
    free(q), free(v), free(x), free(y), ctn_model_free(m);
}

START_TEST(same_bits_everywhere)
{
    check_bits(heap, CTN_COLLOCATION, 0.01), check_bits(heap, CTN_ALPHA, 0.01);
    check_bits(tower, CTN_COLLOCATION, 1. / 60), check_bits(tower, CTN_COLLOCATION, 1. / 30);
    check_bits(net(), CTN_COLLOCATION, 1. / 60), check_bits(rounds, CTN_COLLOCATION, 1. / 60);
    check_bits(pile(false), CTN_COLLOCATION, 1. / 60), check_bits(pile(true), CTN_COLLOCATION, 1. / 60);
}
END_TEST

/// A rod holds two knots of a net together as soon as the later one is eliminated: it does not wait for the others. What turns,
/// which rods do not hold, is eliminated before all of them.
START_TEST(loops_come_among_bodies)
{
    ctn_model *const m = model_of(net());
    ck_assert_int_eq(m->nbond, 24);
    for (int k = 0; k < m->nbond; k++) {
        const int turns = m->bonds[k].a, node = m->bond_nodes[k];
        const int a = m->body_nodes[m->bodies[turns].parent], b = m->body_nodes[m->bodies[m->bonds[k].b].parent];
        ck_assert_int_eq(m->bodies[turns].kind, JOINT_BALL);
        ck_assert_int_ge(m->body_nodes[turns], m->nmatrix_node - m->nbody / 2);
        ck_assert(m->matrix_nodes[node].equations && m->matrix_nodes[node].width == 1);
        ck_assert_msg(node > (a < b ? a : b) && node < (a < b ? b : a), "rod %d is node %d, its knots are %d and %d", k, node, a,
                      b);
    }
    ctn_model_free(m);
}
END_TEST

/// A stack at rest: each box bears those above it.
START_TEST(a_stack_bears_its_weight)
{
    enum { BOXES = 4 };
    char text[4000] = "catena: 1\ncontact: {between: all, friction: 0.5, depth: 0.0005}\nground: {height: 0}\nlinks:\n",
         start[1000] = "state: {q: [";
    for (int k = 0; k < BOXES; k++) {
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "  - {name: b%d, joint: {type: free}, mass: %d, shapes: [{type: box, size: [0.1, 0.1, 0.1]}]}\n", k, k + 1);
        snprintf(start + strlen(start), sizeof start - strlen(start), "%s%g, 0, %g, %.15g, 0, 0, %.15g", k ? ", " : "", 0.003 * k,
                 0.05 + 0.1 * k, cos(0.04 * k), sin(0.04 * k));
    }
    strcat(start, "]}\n"), strcat(text, start);
    strcat(text, "sensors:\n  - {name: presses, type: touch, link: b1}\n  - {name: bears, type: contact_force, link: b1}\n"
                 "  - {name: above, type: contact_force, link: b1, point: [0, 0, 0.05], radius: 0.08}\n"
                 "  - {name: on_ground, type: contact_force, link: b0}\n");
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of("scalar", 1, 1);
    cfg.dt = 1. / 60;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_error err;
    ck_assert_int_eq(ctn_batch_step(b, 240, NULL, &err), CTN_OK);
    ctn_link_touch list[100];
    int count, more;
    ck_assert_int_eq(ctn_batch_touches(b, 0, list, 100, &count, &err), CTN_OK);
    ck_assert_int_ge(count, 3 * (BOXES - 1));
    ck_assert_int_le(count, 100);
    ck_assert_int_eq(ctn_batch_touches(b, 0, NULL, 0, &more, &err), CTN_OK);
    ck_assert_int_eq(more, count);
    double lifts[BOXES] = {0};
    for (int k = 0; k < count; k++) {
        ctn_pair pair;
        ck_assert(ctn_model_pair(m, list[k].pair, &pair));
        ck_assert_int_eq(pair.link_a, list[k].link_a);
        ck_assert_int_eq(pair.link_b, list[k].link_b);
        ck_assert_int_eq(list[k].touch, CTN_STICKS);
        ck_assert(list[k].depth > 0 && list[k].depth < 0.0005);
        lifts[list[k].link_a] += list[k].force[2], lifts[list[k].link_b] -= list[k].force[2];
        const double z = list[k].point[2] * 10;
        ck_assert_msg(fabs(z - round(z)) < 0.02, "link %d touches at a height of %g m", list[k].link_a, list[k].point[2]);
    }
    double above = 0;
    for (int k = BOXES - 1; k > 0; k--) {
        const double weight = 9.81 * (k + 1);
        ck_assert_msg(fabs(lifts[k] - weight) < 1e-3 * weight, "box %d of %g N is lifted by %g N", k, weight, lifts[k]);
        above += weight;
    }
    // what sensors feel of it
    double sensed[10], presses = 0, bears[3] = {0, 0, 0};
    ck_assert_int_eq(ctn_batch_sensors(b, sensed, &err), CTN_OK);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) {
            const double sign = list[k].link_a == 1 ? 1 : list[k].link_b == 1 ? -1 : 0;
            presses += fabs(sign) * list[k].normal[i] * list[k].force[i], bears[i] += sign * list[k].force[i];
        }
    ck_assert_msg(fabs(sensed[0] - presses) < 1e-9 * presses, "presses %.12g, sensed %.12g", presses, sensed[0]);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(fabs(sensed[1 + i] - bears[i]) < 1e-9 * presses, "%d: bears %g, sensed %g", i, bears[i], sensed[1 + i]);
    ck_assert_msg(fabs(sensed[3] - 2 * 9.81) < 1e-3 * above, "box 1 is held up by %g N", sensed[3]);
    ck_assert_msg(fabs(sensed[6] + 7 * 9.81) < 1e-3 * above, "box 1 is pressed by %g N", sensed[6]);
    ck_assert_msg(fabs(sensed[9] - 9.81) < 1e-3 * above, "box 0 is held up by %g N", sensed[9]);
    ck_assert_msg(fabs(lifts[0] + above) < 1e-3 * above, "box 0 bears %g N, not %g N", -lifts[0], above);
    // the same by links: forces, and their torques about where they act
    const int points = ctn_model_ncontact(m);
    ck_assert_int_eq(points, 8 * BOXES + BOXES);
    double(*const felt)[CTN_CONTACT_NUMBERS] = malloc((size_t)points * sizeof *felt);
    ck_assert_int_eq(ctn_batch_contacts(b, felt[0], &err), CTN_OK);
    for (int l = 0; l < BOXES; l++) {
        ctn_contact_point at;
        ck_assert(ctn_model_contact(m, 8 * BOXES + l, &at) && at.link == l && at.surface == CTN_SURFACE_LINKS);
        const double *const x = felt[8 * BOXES + l];
        double f[3] = {0, 0, 0}, torque[3] = {0, 0, 0}, deepest = 0;
        for (int k = 0; k < count; k++) {
            const double sign = list[k].link_a == l ? 1 : list[k].link_b == l ? -1 : 0, *const g = list[k].force;
            double arm[3];
            for (int i = 0; i < 3; i++) f[i] += sign * g[i], arm[i] = list[k].point[i] - x[i];
            for (int i = 0; i < 3; i++)
                torque[i] += sign * (arm[(i + 1) % 3] * g[(i + 2) % 3] - arm[(i + 2) % 3] * g[(i + 1) % 3]);
            if (sign != 0) deepest = fmax(deepest, list[k].depth);
        }
        for (int i = 0; i < 3; i++)
            ck_assert_msg(fabs(x[3 + i] - f[i]) < 1e-9 && fabs(x[8 + i] - torque[i]) < 1e-9, "link %d: %g N, %g N m; not %g, %g",
                          l, x[3 + i], x[8 + i], f[i], torque[i]);
        ck_assert(x[6] == deepest && x[7] == CTN_STICKS && fabs(x[0]) < 0.05 && fabs(x[1]) < 0.05);
    }
    free(felt);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A bar that hangs on the world at one end, and at the other in a loop, at rest: half of its weight each.
START_TEST(a_loop_bears_its_half)
{
    static const char bar[] = "catena: 1\nlinks:\n"
                              "  - {name: bar, joint: {type: revolute, axis: [0, 1, 0]}, mass: 3, com: [0.5, 0, 0], inertia: "
                              "[0.01, 0.25, 0.25, 0, 0, 0]}\n"
                              "loops: [{type: point, a: bar, b: world, at: [1, 0, 0]}]\n";
    ctn_model *const m = model_of(bar);
    ctn_batch_config cfg = config_of("scalar", 1, 1);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_error err;
    double force[3];
    ck_assert_int_eq(ctn_model_nequation(m), 3);
    ck_assert_int_eq(ctn_batch_step(b, 10, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_equation_forces(b, force, &err), CTN_OK);
    ck_assert_msg(fabs(fabs(force[2]) - 3 * 9.81 / 2) < 1e-9, "the loop bears %g N", force[2]);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A spring with a damper between two links that fly apart and come back: what it takes is what is missing, but for what the steps take,
/// which goes with their size.
START_TEST(dampers_between_links_are_in_the_books)
{
    static const char pair[] =
        "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
        "  - {name: a, joint: {type: free}, mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"
        "  - {name: b, joint: {type: free}, mass: 2, inertia: [0.02, 0.02, 0.02, 0, 0, 0]}\n"
        "springs: [{link: a, point: [0, 0, 0], b: b, b_point: [0, 0, 0], stiffness: 20, rest: 0.5, damping: 0.6}]\n"
        "state: {q: [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]}\n";
    ctn_model *const m = model_of(pair);
    double lost[2];
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.dt = k ? 0.001 : 0.002;
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_error err;
        ctn_step_stats stats = {0};
        ck_assert_int_eq(ctn_batch_step(b, (int)round(1 / cfg.dt), &stats, &err), CTN_OK);
        ck_assert_msg(stats.dissipated > 0.5 && stats.dissipated < 2.5, "the damper has taken %g J of 2.5", stats.dissipated);
        lost[k] = -stats.created;
        ctn_batch_free(b);
    }
    ck_assert_msg(lost[0] > 0 && fabs(lost[0] / lost[1] - 2) < 0.1, "steps have lost %g and %g J", lost[0], lost[1]);
    ctn_model_free(m);
}
END_TEST

/// Heaps of random boxes, balls and capsules, and chains of them, lose energy, in steps of any size, and none of them is lost below others.
START_TEST(no_energy_comes_of_it)
{
    FOR_ALL_SEEDS(seed, 12)
    {
        rng r = {seed};
        char text[6000] = "catena: 1\ncontact: {between: all, friction: 0.6, depth: 0.002}\nground: {height: 0}\nlinks:\n";
        const int n = 3 + rng_below(&r, 4);
        char start[2000] = "state: {q: [";
        for (int k = 0; k < n; k++) {
            const int kind = rng_below(&r, 3);
            const double size = rng_uniform(&r, 0.08, 0.16);
            char shape[200];
            if (kind == 0) snprintf(shape, sizeof shape, "type: sphere, radius: %g", size / 2);
            else if (kind == 1)
                snprintf(shape, sizeof shape, "type: capsule, radius: %g, from: [-%g, 0, 0], to: [%g, 0, 0]", size / 3, size / 2,
                         size / 2);
            else snprintf(shape, sizeof shape, "type: box, size: [%g, %g, %g]", size, size * 0.8, size * 0.6);
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "  - {name: l%d, joint: {type: free}, mass: %g, shapes: [{%s}]}\n", k, rng_uniform(&r, 0.2, 2), shape);
            double q[4];
            rng_quaternion(&r, q);
            snprintf(start + strlen(start), sizeof start - strlen(start), "%s%g, %g, %g, %.12g, %.12g, %.12g, %.12g",
                     k ? ", " : "", rng_uniform(&r, -0.06, 0.06), rng_uniform(&r, -0.06, 0.06), 0.15 + 0.22 * k, q[0], q[1], q[2],
                     q[3]);
        }
        strcat(start, "]}\n"), strcat(text, start);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.dt = seed % 3 == 0 ? 1. / 60 : seed % 3 == 1 ? 1. / 240 : 0.005;
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_error err;
        ctn_totals before, now;
        ctn_batch_totals(b, &before);
        const double first = before.kinetic + before.potential + before.spring;
        double last = first;
        for (int k = 0; k < (int)(1.5 / cfg.dt); k++) {
            ck_assert_msg(ctn_batch_step(b, 1, NULL, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
            ctn_batch_totals(b, &now);
            const double E = now.kinetic + now.potential + now.spring;
            ck_assert_msg(E <= last + 1e-3 * now.kinetic + 1e-3 * first, "seed %llu: energy rises from %.9g to %.9g J in step %d",
                          (unsigned long long)seed, last, E, k);
            last = E;
        }
        ck_assert_msg(last < first, "seed %llu: %g J of %g J are left", (unsigned long long)seed, last, first);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// A rod that is laid across a disc which is shorter lies on its rim at two places, whichever way it points, where no point
/// of the rim stands.
START_TEST(rods_lie_on_rims)
{
    static const char *const rods[] = {"capsule, radius: 0.02", "cylinder, radius: 0.02"};
    for (int i = 0; i < 12; i++) {
        char text[1000];
        snprintf(
            text, sizeof text,
            "catena: 1\ncontact: {between: all, depth: 0.001}\nlinks:\n"
            "  - {name: disc, joint: fixed, shapes: [{type: cylinder, radius: 0.1, from: [0, 0, -0.02], to: [0, 0, 0.02]}]}\n"
            "  - {name: rod, position: [0.004, 0, 0.0401], euler: [0, 0, %g], joint: free, density: 1000, shapes: [{type: %s, "
            "from: [-0.3, 0, 0], to: [0.3, 0, 0]}]}\n",
            0.1 + 0.09 * (i / 2), rods[i % 2]);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.dt = 0.01;
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_error err;
        double q[7], v[6];
        ck_assert_msg(ctn_batch_step(b, 100, NULL, &err) == CTN_OK, "%s", err.message);
        ctn_batch_state(b, q, v);
        ck_assert_msg(q[2] > 0.039 && q[2] < 0.04, "%s at %g rad is %g m above the disc's middle", rods[i % 2],
                      0.1 + 0.09 * (i / 2), q[2]);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// What stands on the ground and is pushed over does not go to and fro between sticking and sliding (integrators/fixed_touches.h): a row of
/// dominoes that fall on each other takes few iterations, and hardly ever shortens a step.
START_TEST(sliding_on_the_ground_takes_few_iterations)
{
    enum { PIECES = 6, LONG = 90 };
    char text[4000] = "catena: 1\nground: true\ncontact: {between: all, friction: 0.4, depth: 0.002}\nlinks:\n";
    for (int k = 0; k < PIECES; k++)
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "  - {name: d%d, position: [%g, 0, 0], joint: {type: free, v0: [0, 0, 0, 0, %g, 0]}, density: 500, shapes: [{type: "
            "box, size: [0.04, 0.12, 0.24], center: [0, 0, 0.12], contact: {rounding: 0.008}}]}\n",
            k, 0.12 * k, k ? 0. : 1.5);
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of("scalar", 1, 1);
    cfg.dt = 1. / 60;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_error err;
    ctn_step_stats s;
    double q[7 * PIECES], v[6 * PIECES];
    ck_assert_msg(ctn_batch_step(b, LONG, &s, &err) == CTN_OK, "%s", err.message);
    ctn_batch_state(b, q, v);
    for (int k = 0; k < PIECES; k++) ck_assert_msg(fabs(q[7 * k + 5]) > 0.3, "domino %d still stands", k);
    ck_assert_msg(s.iterations < 5 * LONG && s.line_search < LONG, "%ld iterations, %ld shortened", s.iterations, s.line_search);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Balls that fall into a box: what may hit a wall is known of before it does, so that no step of Newton's method runs into one and
/// is cut. In lanes as alone.
START_TEST(balls_between_walls)
{
    enum { BALLS = 24, MOST = 12000, DROPS = 3 };
    static char text[MOST];
    int at = snprintf(text, MOST, "catena: 1\ncontact: {between: all, friction: 0.7, depth: 0.001}\nground: true\nobstacles:\n");
    for (int k = 0; k < 4; k++)
        at += snprintf(text + at, MOST - (size_t)at, "  - {type: sphere, center: [%g, %g, 0.3], radius: 1}\n",
                       1.2 * (k % 2 ? k - 2 : 0), 1.2 * (k % 2 ? 0 : k - 1));
    at += snprintf(text + at, MOST - (size_t)at, "links:\n");
    rng r = {4};
    for (int k = 0; k < BALLS; k++) {
        const double x = rng_uniform(&r, -0.01, 0.01), y = rng_uniform(&r, -0.01, 0.01);
        at += snprintf(
            text + at, MOST - (size_t)at,
            "  - {name: b%d, position: [%.9g, %.9g, %.9g], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.04}]}\n",
            k, 0.1 * (k % 2) - 0.05 + x, 0.1 * (k / 2 % 2) - 0.05 + y, 0.06 + 0.09 * (k / 4));
    }
    ctn_model *const m = model_of(text);
    uint64_t first[DROPS] = {0};
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int worlds = 1; worlds <= DROPS; worlds += 2) {
            ctn_batch_config cfg = ctn_batch_config_default();
            cfg.order = 2, cfg.method = CTN_COLLOCATION, cfg.dt = 1. / 60, cfg.worlds = worlds, cfg.engine = (*e)->name;
            ctn_batch *const b = batch_with(m, &cfg);
            const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
            double *const q = malloc((size_t)(DROPS * nq) * sizeof *q), *const v = calloc((size_t)(DROPS * nv), sizeof *v);
            for (int w = 0; w < worlds; w++) {
                ctn_model_initial_state(m, q + w * nq, v + w * nv);
                for (int k = 0; k < BALLS; k++) q[w * nq + 7 * k + 2] += 0.01 * w * k;
            }
            ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            ctn_step_stats s[DROPS];
            uint64_t hash[DROPS];
            ck_assert_int_eq(ctn_batch_step(b, 180, s, NULL), CTN_OK);
            ctn_batch_hashes(b, hash);
            for (int w = 0; w < worlds; w++) {
                if (!first[w]) first[w] = hash[w];
                ck_assert_msg(hash[w] == first[w], "%s, world %d of %d: other bits", (*e)->name, w, worlds);
                ck_assert_msg(100 * s[w].line_search <= s[w].iterations, "world %d: %ld of %ld iterations were shortened", w,
                              s[w].line_search, s[w].iterations);
            }
            free(q), free(v), ctn_batch_free(b);
        }
    ctn_model_free(m);
}
END_TEST

/// What statistics tell: pairs that press, and what is joined, not by way of the world.
START_TEST(statistics)
{
#define BALL(name, x)                                                                                                            \
    "  - {name: " name ", position: [" x ", 0, 0], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n"
    static const char text[] = "catena: 1\ngravity: [0, 0, 0]\ncontact: {between: links, depth: 0.01}\nlinks:\n" BALL("a", "0")
        BALL("b", "0.199") BALL("c", "1") BALL("d", "2") BALL("e", "3") BALL("f", "4")
        "springs: [{link: c, b: d, stiffness: 10, rest: 1}]\n"
        "tendons: [{path: [{link: f}, {link: world}, {link: d}], damping: 1}]\n"
        "loops: [{type: point, a: e, b: world, at: [0.1, 0, 0]}, {type: point, a: a, b: world, at: [0, 0.1, 0]}]\n";
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of("scalar", 1, 1);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_step_stats s;
    ctn_error err;
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, &err), CTN_OK);
    ck_assert(s.near == 1 && s.meeting == 1 && s.places == 1);
    ck_assert_msg(s.islands == 3 && s.island == 18, "%d islands, the largest of %d", s.islands, s.island);  // a b, c d f, e
    ck_assert(s.joined == s.iterations && s.joined > 0);
    ctn_batch_free(b), ctn_model_free(m);
#undef BALL
}
END_TEST

/// A world in which more is near than it may look at freezes, and says why; with as much as it needs it goes on.
START_TEST(capacity)
{
    enum { BOXES = 3 };
    for (int room = 4; room <= 40; room += 36) {
        char text[2000], report[512];
        int at = snprintf(text, sizeof text,
                          "catena: 1\ncontact: {between: links, depth: 0.001, capacity: %d}\nlinks:\n  - {name: floor, shapes: "
                          "[{type: box, size: [2, 2, 0.2], center: [0, 0, -0.1]}]}\n",
                          room);
        for (int k = 0; k < BOXES; k++)
            at += snprintf(text + at, sizeof text - (size_t)at,
                           "  - {name: b%d, position: [0, 0, %g], joint: free, density: 500, shapes: "
                           "[{type: box, size: [0.1, 0.1, 0.1]}]}\n",
                           k, 0.052 + 0.11 * k);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ctn_error err;
        ck_assert_int_eq(m->touch_capacity, room);
        ctn_batch_step(b, 60, &s, &err);
        ck_assert_int_eq(s.frozen, room == 4 ? CTN_FREEZE_CAPACITY : CTN_RUNNING);
        if (s.frozen) {
            ctn_freeze_report(m, &cfg, &s, report, sizeof report);
            ck_assert_msg(strstr(report, "more places than there is room for") && strstr(report, "a larger capacity"), "%s",
                          report);
        } else ck_assert(s.places >= 4 * BOXES && s.places <= room && s.islands == 1 && s.island == 6 * BOXES);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// Worlds with factors on friction and depth of pairs do what a scene with these numbers does; one of 1 what the scene does. Forces
/// that are told are theirs, too.
START_TEST(scales_of_worlds)
{
    static const char text[] =
        "catena: 1\ncontact: {between: links, friction: %g, depth: %g, relaxation: 0.01}\nlinks:\n"
        "  - {name: plate, euler: [0, 25 deg, 0], shapes: [{type: box, size: [4, 2, 0.2], center: [0, 0, -0.1], contact: "
        "{rounding: 0.02}}]}\n"
        "  - {name: box, position: [0, 0, 0.056], euler: [0, 25 deg, 10 deg], joint: free, density: 500, shapes: "
        "[{type: box, size: [0.2, 0.15, 0.1], contact: {rounding: 0.02}}]}\n"
        "sensors: [{name: f, type: contact_force, link: box}]\n";
    enum { NQ = 7, NV = 6 };
    static const double friction[] = {0.25, 0.5, 0.125}, depth[] = {0.001, 0.001, 0.004};  // times 1 and 1, 2 and 1, 1/2 and 4
    const ctn_parameter list[] = {{CTN_PAIR_FRICTION_SCALE, 0}, {CTN_PAIR_DEPTH_SCALE, 0}};
    double q[3 * NQ], v[3 * NV], felt[9], told[3][3] = {{0}};
    char one[sizeof text + 40];
    ctn_error err;
    snprintf(one, sizeof one, text, friction[0], depth[0]);
    ctn_model *const m = model_of(one);
    ctn_batch_config cfg = config_of("scalar", 3, 1);
    cfg.parameters = list, cfg.parameter_count = 2;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_parameters(b, (const double[]){1, 1, 2, 1, 0.5, 4}, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 40, NULL, &err), CTN_OK);
    ctn_batch_state(b, q, v);
    ck_assert_int_eq(ctn_batch_sensors(b, felt, &err), CTN_OK);
    for (int w = 0; w < 3; w++) {
        ctn_link_touch list_of[40];
        int count;
        ck_assert_int_eq(ctn_batch_touches(b, w, list_of, 40, &count, &err), CTN_OK);
        for (int k = 0; k < count; k++)
            for (int i = 0; i < 3; i++) told[w][i] += (list_of[k].link_a == 1 ? 1 : -1) * list_of[k].force[i];
        snprintf(one, sizeof one, text, friction[w], depth[w]);
        ctn_model *const as = model_of(one);
        ctn_batch_config alone = config_of("scalar", 1, 1);
        ctn_batch *const c = batch_with(as, &alone);
        double x[NQ], y[NV];
        ck_assert_int_eq(ctn_batch_step(c, 40, NULL, &err), CTN_OK);
        ctn_batch_state(c, x, y);
        for (int k = 0; k < NQ; k++)
            ck_assert_msg(fabs(q[w * NQ + k] - x[k]) < 1e-7, "world %d: q %d off by %g", w, k, q[w * NQ + k] - x[k]);
        for (int i = 0; i < 3; i++)
            ck_assert_msg(count > 0 && fabs(told[w][i] - felt[3 * w + i]) < 1e-9, "world %d: told %g, felt %g", w, told[w][i],
                          felt[3 * w + i]);
        ctn_batch_free(c), ctn_model_free(as);
    }
    ck_assert_msg(fabs(v[0] - v[NV]) > 0.1 && fabs(v[0] - v[2 * NV]) > 0.1, "slide at %g, %g and %g m/s", v[0], v[NV], v[2 * NV]);
    ctn_batch_free(b), ctn_model_free(m);
    snprintf(one, sizeof one, "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}]\n");
    ctn_model *const none = model_of(one);
    cfg.worlds = 1;
    ck_assert_ptr_null(ctn_batch_create(none, &cfg, &err));
    ck_assert_msg(strstr(err.message, "pair_friction_scale: no links touch each other"), "%s", err.message);
    ctn_model_free(none);
}
END_TEST

/// Balls that roll over each other gain no more in a step than its curved gaps allow: the normal force times what the gap has
/// closed by more than along the normal at the end, as told of the places where they are.
START_TEST(curved_gaps_are_told)
{
    int told = 0;
    FOR_ALL_SEEDS(seed, 20)
    {
        rng r = {seed};
        const double radius[] = {rng_uniform(&r, 0.05, 0.3), rng_uniform(&r, 0.05, 0.3)}, apart = radius[0] + radius[1],
                     speed = rng_uniform(&r, 0.1, 1), tilt = rng_uniform(&r, -0.5, 0.5);
        const bool rubs = seed % 4 < 2;  // then forces that are told have friction in them, across the normal of before
        char text[1000];
        snprintf(text, sizeof text,
                 "catena: 1\ncontact: {between: all, friction: %g}\nlinks:\n"
                 "  - {name: a, joint: %s, mass: 2, shapes: [{type: sphere, radius: %.9g}]}\n"
                 "  - {name: b, position: [%.9g, 0, %.9g], joint: {type: free, v0: [%.9g, 0.1, -0.2, 1, 2, 3]}, mass: 1, shapes: "
                 "[{type: sphere, radius: %.9g}]}\n",
                 rubs ? 0.5 : 0, seed % 3 ? "fixed" : "free", radius[0], sin(tilt) * apart, cos(tilt) * apart, speed, radius[1]);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.dt = seed % 2 ? 1. / 60 : 0.005;
        ctn_batch *const b = batch_with(m, &cfg);
        const int other = m->nq == 14 ? 7 : 0;  // where b is, and a, if it is free
        double from[14], q[14], v[12];
        ctn_batch_state(b, from, v);
        for (int step = 0; step < 30; step++) {
            ctn_step_stats s;
            ctn_link_touch touch;
            ctn_error err;
            int count;
            ck_assert_msg(ctn_batch_step(b, 1, &s, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
            ctn_batch_state(b, q, v);
            ck_assert_int_eq(ctn_batch_touches(b, 0, &touch, 1, &count, NULL), CTN_OK);
            double gap[2] = {0}, press = 0, way = 0;
            for (int k = 0; k < 3; k++) {
                const double was = from[other + k] - (other ? from[k] : 0), is = q[other + k] - (other ? q[k] : 0);
                gap[0] += was * was, gap[1] += is * is;
                if (count) press += touch.force[k] * touch.normal[k], way -= touch.normal[k] * (is - was);  // the normal: from b
            }
            const double closed = sqrt(gap[0]) - sqrt(gap[1]) + way;
            memcpy(from, q, sizeof q);
            if (s.substeps > 1) continue;
            told += count && !rubs;
            ck_assert_msg(rubs || fabs(s.curved - press * closed) < 1e-7 * (fabs(press * closed) + 1e-6),
                          "seed %llu, step %d: %.12g J, expected %.12g", (unsigned long long)seed, step, s.curved,
                          press * closed);
            ck_assert(s.energy_after - s.energy_before <= s.curved + 1e-9);
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_int_gt(told, getenv("CTN_SEED") ? 0 : 40);
}
END_TEST

/// A domino that tips beside others, on the ground alone, is held to its energy as if there were no others.
START_TEST(beside_others_nothing_is_gained)
{
    static const double sizes[] = {1. / 120, 1. / 60};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ctn_error err = {0};
        ctn_scene *const scene = ctn_scene_load(CATENA_SOURCE_DIR "/scenes/dominoes.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *const m = model_of_scene(scene);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.dt = sizes[k];
        ctn_batch *const b = batch_with(m, &cfg);
        for (int step = 0; step < (int)round(0.3 / cfg.dt); step++) {
            ctn_step_stats s;
            ck_assert_int_eq(ctn_batch_step(b, 1, &s, &err), CTN_OK);
            const double rise = s.energy_after - s.energy_before;
            ck_assert_msg(rise < 1e-12, "step %d of %g s gains %g J", step, cfg.dt, rise);
        }
        ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    }
}
END_TEST

/// Dominoes that in one step of 0.1 s would come to lie across each other: their edges are parallel there and hardly count, and
/// no corner of one is in another. That is no step to have: no energy comes of it, and none of them is deep in the next one.
START_TEST(what_falls_over_stays_beside_the_next_one)
{
    static const ctn_method methods[] = {CTN_RADAU, CTN_COLLOCATION};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        ctn_error err = {0};
        ctn_scene *const scene = ctn_scene_load(CATENA_SOURCE_DIR "/scenes/dominoes.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *const m = model_of_scene(scene);
        ctn_batch_config cfg = config_of("scalar", 1, 1);
        cfg.method = methods[k], cfg.stages = 2, cfg.dt = 0.1;
        ctn_batch *const b = batch_with(m, &cfg);
        double first = 0;
        for (int step = 0; step < 8; step++) {
            ctn_step_stats s;
            ck_assert_int_eq(ctn_batch_step(b, 1, &s, &err), CTN_OK);
            if (!step) first = s.energy_before;
            ck_assert_msg(s.energy_after < first, "method %zu: %g J after step %d, %g J at the start", k, s.energy_after, step,
                          first);
            ctn_link_touch touches[64];
            int n;
            ck_assert_int_eq(ctn_batch_touches(b, 0, touches, 64, &n, &err), CTN_OK);
            for (int i = 0; i < n && i < 64; i++)
                ck_assert_msg(touches[i].depth < 0.004, "method %zu: a domino is %g m deep in another after step %d", k,
                              touches[i].depth, step);
        }
        ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("links_touch");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, beside_others_nothing_is_gained);
    tcase_add_test(all, curved_gaps_are_told);
    tcase_add_test(all, what_falls_over_stays_beside_the_next_one);
    tcase_add_test(all, same_bits_everywhere);
    tcase_add_test(all, loops_come_among_bodies);
    tcase_add_test(all, a_stack_bears_its_weight);
    tcase_add_test(all, a_loop_bears_its_half);
    tcase_add_test(all, dampers_between_links_are_in_the_books);
    tcase_add_test(all, no_energy_comes_of_it);
    tcase_add_test(all, rods_lie_on_rims);
    tcase_add_test(all, sliding_on_the_ground_takes_few_iterations);
    tcase_add_test(all, balls_between_walls);
    tcase_add_test(all, statistics);
    tcase_add_test(all, capacity);
    tcase_add_test(all, scales_of_worlds);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
