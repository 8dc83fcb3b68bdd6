#include "tests/ground_scenes.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/model/model.h"
#include "tests/text_model.h"

typedef struct {
    char text[16000];
    size_t used;
} scene_text;

__attribute__((format(printf, 2, 3))) static void add(scene_text *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->used += (size_t)vsnprintf(s->text + s->used, sizeof s->text - s->used, format, args);
    va_end(args);
    ck_assert(s->used < sizeof s->text);
}

static void add_limb(scene_text *s, const char *name, const char *parent, double y, double z, const char *joint, double length,
                     double radius)
{
    add(s,
        "  - {name: %s, parent: %s, position: [0, %g, %g], joint: {%s, damping: 0.2}, shapes: [{type: capsule, from: [0, 0, %g], "
        "to: [0, 0, %g], radius: %g}], density: 1000}\n",
        name, parent, y, z, joint, -0.04, 0.04 - length, radius);
}

/// A person without hands and feet.
static void add_ragdoll(scene_text *s)
{
    static const char *const ball = "type: ball", *const hinge = "type: revolute, axis: [0, 1, 0]";
    add(s, "  - {name: pelvis, joint: free, shapes: [{type: box, size: [0.2, 0.3, 0.15]}], density: 1000}\n"
           "  - {name: torso, parent: pelvis, position: [0, 0, 0.12], joint: {type: ball, damping: 0.2}, shapes: [{type: box, "
           "size: [0.2, 0.3, 0.4], center: [0, 0, 0.2]}], density: 700}\n"
           "  - {name: head, parent: torso, position: [0, 0, 0.42], joint: {type: ball, damping: 0.2}, shapes: [{type: sphere, "
           "radius: 0.11, center: [0, 0, 0.13]}], density: 1000}\n");
    for (int side = -1; side < 2; side += 2) {
        char upper[2][12], lower[2][12];
        for (int k = 0; k < 2; k++)
            snprintf(upper[k], 12, "%s_%c", k ? "thigh" : "arm", side < 0 ? 'r' : 'l'),
                snprintf(lower[k], 12, "%s_%c", k ? "shin" : "forearm", side < 0 ? 'r' : 'l');
        add_limb(s, upper[0], "torso", 0.2 * side, 0.35, ball, 0.3, 0.045);
        add_limb(s, lower[0], upper[0], 0, -0.3, hinge, 0.28, 0.04);
        add_limb(s, upper[1], "pelvis", 0.1 * side, -0.08, ball, 0.42, 0.07);
        add_limb(s, lower[1], upper[1], 0, -0.42, hinge, 0.42, 0.05);
    }
}

static void add_rope(scene_text *s, rng *r)
{
    const int links = 5 + rng_below(r, 8);
    const bool hinges = rng_below(r, 2);
    const double length = rng_uniform(r, 0.05, 0.12), radius = rng_uniform(r, 0.1, 0.25) * length;
    for (int k = 0; k < links; k++) {
        add(s, "  - {name: r%d, ", k);
        if (k) add(s, "parent: r%d, position: [%g, 0, 0], ", k - 1, length);
        if (!k) add(s, "joint: free");
        else if (hinges) add(s, "joint: {type: revolute, axis: [0, %d, %d], damping: 0.001}", k % 2, 1 - k % 2);
        else add(s, "joint: {type: ball, damping: 0.001}");
        add(s, ", shapes: [{type: capsule, from: [0, 0, 0], to: [%g, 0, 0], radius: %g}], density: 1000}\n", length, radius);
    }
}

static void add_shape(scene_text *s, rng *r)
{
    const int shape = rng_below(r, 3);
    const double a = rng_uniform(r, 0.1, 0.4);
    if (shape == 0) add(s, "shapes: [{type: capsule, from: [0, 0, 0], to: [%g, 0, 0], radius: 0.04}], density: 500}\n", a);
    else if (shape == 1) add(s, "shapes: [{type: sphere, radius: %g}], density: 500}\n", a / 2);
    else add(s, "shapes: [{type: box, size: [%g, 0.1, 0.2], center: [0.1, 0, 0]}], density: 500}\n", a);
}

static void add_loose(scene_text *s, rng *r)
{
    const int bodies = 1 + rng_below(r, 4);
    for (int k = 0; k < bodies; k++) add(s, "  - {name: b%d, joint: free, ", k), add_shape(s, r);
}

static void add_tree(scene_text *s, rng *r)
{
    const int links = 2 + rng_below(r, 6);
    for (int k = 0; k < links; k++) {
        add(s, "  - {name: l%d, ", k);
        if (k) add(s, "parent: l%d, position: [0.2, 0, 0], ", rng_below(r, k));
        add(s, "joint: {type: %s, damping: 0.05}, ", !k ? "free" : k % 2 ? "ball" : "revolute");
        add_shape(s, r);
    }
}

/// Half as fast and as bent as anything may be, and above the ground.
static void start_above(const ctn_model *m, rng *r, double height, double *q, double *v)
{
    random_state(m, r, q, v);
    for (int l = 0; l < m->nlink; l++) {
        const ctn_link *const k = ctn_model_link(m, l);
        if (k->joint == CTN_FREE) q[k->qadr + 2] = height;
        for (int i = 0; i < k->nv; i++) v[k->vadr + i] *= 0.5;
        if (k->joint == CTN_REVOLUTE) q[k->qadr] *= 0.5;
        if (k->joint == CTN_BALL) q[k->qadr] += 1.5;  // towards no turn; normalised when it is set
    }
}

static void add_obstacles(scene_text *s, rng *r, bool hills)
{
    const int count = 2 + rng_below(r, 4);
    add(s, "obstacles:\n");
    for (int k = 0; k < count; k++) {
        double x[12];
        for (int i = 0; i < 12; i++) x[i] = rng_uniform(r, -0.5, 0.5);
        const int kind = rng_below(r, 6);
        const double radius = rng_uniform(r, 0.1, 0.4), friction = rng_uniform(r, 0, 1);
        if (kind == 0) add(s, "  - {type: sphere, center: [%g, %g, %g]", x[0], x[1], 0.4 * x[2]);
        else if (kind == 1)
            add(s, "  - {type: box, center: [%g, %g, %g], size: [%g, %g, %g], euler: [%g, %g, %g]", x[0], x[1], 0.4 * x[2],
                0.8 + x[3], 0.8 + x[4], 0.6 + x[5], x[6], x[7], x[8]);
        else if (kind == 4)
            add(s, "  - {type: ellipsoid, center: [%g, %g, %g], radii: [%g, %g, %g], euler: [%g, %g, %g]", x[0], x[1], 0.4 * x[2],
                0.6 + x[3], 0.6 + x[4], 0.6 + x[5], x[6], x[7], x[8]);
        else if (kind == 5)
            add(s,
                "  - {type: mesh, file: " CATENA_SOURCE_DIR
                "/tests/golden/rock.obj, position: [%g, %g, %g], scale: [%g, %g, %g], "
                "euler: [%g, %g, %g]",
                x[0], x[1], 0.4 * x[2], 0.6 + x[3], 0.6 + x[4], 0.6 + x[5], x[6], x[7], x[8]);
        else
            add(s, "  - {type: %s, from: [%g, %g, %g], to: [%g, %g, %g]", kind == 2 ? "capsule" : "cylinder", x[0], x[1],
                0.4 * x[2], 2 * x[3], 2 * x[4], 0.4 * x[5]);
        if (kind != 1 && kind < 4) add(s, ", radius: %g", radius);
        add(s, ", friction: %g}\n", friction);
    }
    if (hills)
        add(s,
            "terrain: {file: " CATENA_SOURCE_DIR "/scenes/hills.pgm, size: [2, 2], height: [-0.2, 0.3], position: [0, 0, %g]}\n",
            rng_uniform(r, -0.1, 0.1));
}

/// more: of the scene; may be empty.
static ctn_model *falling_model(ground_kind kind, uint64_t seed, double depth, bool obstacles, const char *more, double *q,
                                double *v)
{
    static const double heights[GROUND_KINDS] = {1.6, 0.8, 0.7, 1.5};
    scene_text s = {.used = 0};
    rng r = {seed * 7919 + (uint64_t)kind};
    add(&s, "catena: 1\nground: {normal: [%g, 0, 1]}\ncontact: {friction: %g", seed % 2 ? 0 : 0.2, rng_uniform(&r, 0, 1));
    if (depth > 0) add(&s, ", depth: %g", depth);
    add(&s, "}\n");
    if (obstacles) add_obstacles(&s, &r, seed % 3 == 0);
    add(&s, "links:\n");
    if (kind == GROUND_RAGDOLL) add_ragdoll(&s);
    else if (kind == GROUND_ROPE) add_rope(&s, &r);
    else if (kind == GROUND_LOOSE) add_loose(&s, &r);
    else add_tree(&s, &r);
    add(&s, "%s", more);
    ctn_model *const m = model_of(s.text);
    ck_assert(m->nq <= GROUND_MOST && m->nv <= GROUND_MOST);
    start_above(m, &r, heights[kind] + 0.5 * obstacles, q, v);
    return m;
}

ctn_model *ground_model(ground_kind kind, uint64_t seed, double depth, double *q, double *v)
{
    return falling_model(kind, seed, depth, false, "", q, v);
}

ctn_model *obstacle_model(ground_kind kind, uint64_t seed, double depth, double *q, double *v)
{
    return falling_model(kind, seed, depth, true, "", q, v);
}

ctn_model *loaded_doll(doll_load load, uint64_t seed, double *q, double *v)
{
    static const char *const more[DOLL_LOADS] = {
        "springs: [{link: torso, point: [0.1, 0, 0.3], anchor: [0.5, 0, 1.5], stiffness: 100, damping: 6}]\n"
        "forces:\n"
        "  - {link: head, point: [0, 0, 0.2], force: [20, 10, -20], torque: [2, 1, -2]}\n"
        "  - {link: thigh_l, axes: link, point: [0, 0.05, -0.2], force: [15, -10, 8], torque: [1, -2, 3]}\n"
        "motors:\n"
        "  - {link: pelvis, type: thrust, point: [0.1, 0, 0], axis: [1, 0, 2], reaction: 0.05, target: 30}\n"
        "  - {link: torso, type: moment, axis: [0, 1, 1], target: 3}\n",
        "fluid: {density: 300, current: [1, -2, 0.5], added_mass: 0.3, drag: {coefficient: 40}, links: [\n"
        "  {link: shin_l, drag: {normal: 60, tangential: 10}}, {link: arm_r, drag: {normal: 90, tangential: 20}}]}\n",
        "fluid:\n"
        "  current: {velocity: [3, 2, 0], profile: {heights: [0, 3], shares: [0, 1]}}\n"
        "  drag: {coefficient: 5, law: quadratic}\n"
        "  links: [{link: head, drag: {coefficient: 10, law: quadratic}},\n"
        "    {link: forearm_r, drag: {normal: 30, tangential: 5, law: quadratic}}]\n",
        "motors:\n"
        "  - {joint: head, type: position, kp: 40, kd: 1, effort: 15, target: [0.3, -0.2, 0.5], feedforward: [1, 2, 0]}\n"
        "  - {joint: torso, type: velocity, kd: 5, effort: 30, target: [1, -2, 1]}\n"
        "  - {joint: arm_l, type: torque, target: [3, -4, 2]}\n"
        "  - {joint: thigh_r, type: position, kp: 300, kd: 9, target: [0.4, -0.6, 0.1], velocity_target: [1, 0, 2]}\n",
        "motors:\n"
        "  - {joint: shin_l, type: position, kp: 200, kd: 6, ki: 900, target: 0.6, feedforward: 3}\n"
        "  - {joint: shin_r, type: velocity, kd: 8, ki: 90, target: 2}\n"
        "  - {joint: forearm_l, type: position, kp: 90, kd: 2, ki: 400, effort: 9, target: 1}\n"
        "  - {joint: forearm_r, type: velocity, kd: 3, ki: 60, effort: 6, target: -4, gear: 2}\n"};
    return falling_model(GROUND_RAGDOLL, seed, 0, false, more[load], q, v);
}

void resist_turns(ctn_model *m, uint64_t seed)
{
    rng r = {seed};
    for (int k = 0; k < m->nload; k++) {
        point_load *const o = &m->loads[k];
        if (!(o->flags & LOAD_TOUCHES)) continue;
        o->torsional = rng_uniform(&r, 0, 0.02), o->rolling = rng_uniform(&r, 0, 0.01), o->rolls = 1;
    }
    m->nbent = 2 * m->ncontact;
}
