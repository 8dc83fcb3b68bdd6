#include "tests/random_scene.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double rng_uniform(rng *r, double lo, double hi) { return lo + (hi - lo) * (double)(rng_next(r) >> 11) * 0x1p-53; }

int rng_below(rng *r, int n) { return (int)(rng_next(r) % (uint64_t)n); }

void rng_quaternion(rng *r, double *q)
{
    double n = 0;
    while (n < 0.1 || n > 1) {
        n = 0;
        for (int k = 0; k < 4; k++) q[k] = rng_uniform(r, -1, 1), n += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++) q[k] /= sqrt(n);
}

typedef struct {
    int parent, joint;
    double position[3], rotation[4], axis[3], axis2[3], pitch, mass, com[3], inertia[6];
    double damping, stiffness, rest[4], armature, limit;
    bool limited;
} plan;

static void quat_mul(const double *a, const double *b, double *c)
{
    const double r[4] = {
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(c, r, sizeof r);
}

static void quat_turn(const double *q, const double *a, double *b)
{
    const double p[4] = {0, a[0], a[1], a[2]}, c[4] = {q[0], -q[1], -q[2], -q[3]};
    double t[4];
    quat_mul(q, p, t);
    quat_mul(t, c, t);
    memcpy(b, t + 1, 3 * sizeof *b);
}

static void unit_axis(rng *r, double *a)
{
    static const double plain[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (rng_below(r, 2)) {  // half of them along coordinate axes, as in real robots
        memcpy(a, plain[rng_below(r, 3)], 3 * sizeof *a);
        if (rng_below(r, 4) == 0)
            for (int k = 0; k < 3; k++) a[k] = -a[k];
        return;
    }
    double q[4];
    rng_quaternion(r, q);
    quat_turn(q, plain[0], a);
}

static plan draw_link(rng *r, int i, const random_options *o)
{
    static const double chances[] = {1, 4, 2, 2, 2, 3, 1.5, 1};  // by ctn_joint_type
    plan l = {0};
    const bool root = i == 0 || (!o->chain && !o->floating && rng_below(r, 8) == 0);
    l.parent = root ? -1 : o->chain ? i - 1 : rng_below(r, 3) ? i - 1 : rng_below(r, i);
    double sum = 0;
    for (int t = 0; t < 8; t++)
        if ((o->joints == 0 || o->joints >> t & 1) && (t != CTN_FREE || l.parent < 0)) sum += chances[t];
    double pick = rng_uniform(r, 0, sum);
    for (int t = 0; t < 8; t++) {
        if (!((o->joints == 0 || o->joints >> t & 1) && (t != CTN_FREE || l.parent < 0))) continue;
        l.joint = t;
        pick -= chances[t];
        if (pick < 0) break;
    }
    if (o->floating && l.parent < 0) l.joint = CTN_FREE;
    for (int k = 0; k < 3; k++) l.position[k] = rng_uniform(r, -0.3, 0.3), l.com[k] = rng_uniform(r, -0.1, 0.1);
    rng_quaternion(r, l.rotation);
    if (rng_below(r, 3) == 0) memcpy(l.rotation, (double[]){1, 0, 0, 0}, sizeof l.rotation);
    if (rng_below(r, 6) == 0) memset(l.position, 0, sizeof l.position);
    if (l.joint == CTN_FREE)
        memset(l.position, 0, sizeof l.position), memcpy(l.rotation, (double[]){1, 0, 0, 0}, sizeof l.rotation);
    unit_axis(r, l.axis);
    double dot;
    do {
        unit_axis(r, l.axis2);
        dot = l.axis[0] * l.axis2[0] + l.axis[1] * l.axis2[1] + l.axis[2] * l.axis2[2];
    } while (fabs(dot) > 0.8);
    l.pitch = rng_uniform(r, -0.1, 0.1);
    l.mass = rng_uniform(r, 0.5, 2);
    // a box of random size, turned
    double q[4], d[3], s[3];
    rng_quaternion(r, q);
    for (int k = 0; k < 3; k++) s[k] = rng_uniform(r, 0.05, 0.2);
    for (int k = 0; k < 3; k++) d[k] = l.mass * (s[(k + 1) % 3] * s[(k + 1) % 3] + s[(k + 2) % 3] * s[(k + 2) % 3]) / 3;
    double c[3][3];
    for (int k = 0; k < 3; k++) quat_turn(q, (double[]){k == 0, k == 1, k == 2}, c[k]);
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++)
        for (int e = 0; e < 3; e++) l.inertia[k] += d[e] * c[e][row[k]] * c[e][col[k]];
    rng_quaternion(r, l.rest);
    if (l.joint != CTN_BALL) l.rest[0] = rng_uniform(r, -0.5, 0.5);
    l.damping = o->conservative ? 0 : rng_uniform(r, 0, 0.5);
    l.stiffness = rng_below(r, 2) ? rng_uniform(r, 0, 20) : 0;
    l.armature = rng_below(r, 2) ? rng_uniform(r, 0, 0.1) : 0;
    l.limited = rng_below(r, 2) && !o->smooth, l.limit = rng_uniform(r, 0.1, 0.8);
    return l;
}

typedef struct {
    char *text;
    size_t used, size;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...)
{
    va_list args;
    for (;;) {
        va_start(args, format);
        const int n = vsnprintf(w->text + w->used, w->size - w->used, format, args);
        va_end(args);
        if (w->used + (size_t)n < w->size) {
            w->used += (size_t)n;
            return;
        }
        w->text = realloc(w->text, w->size = 2 * w->size + (size_t)n);
    }
}

static void put_array(writer *w, const char *key, const double *x, int n)
{
    put(w, "%s: [", key);
    for (int k = 0; k < n; k++) put(w, "%s%.17g", k ? ", " : "", x[k]);
    put(w, "]");
}

static void put_joint(writer *w, const plan *l, const random_options *o)
{
    static const char *const names[] = {"fixed", "revolute", "prismatic", "helical", "universal", "ball", "planar", "free"};
    put(w, "    joint: {type: %s", names[l->joint]);
    if (l->joint >= CTN_REVOLUTE && l->joint <= CTN_UNIVERSAL) put(w, ", "), put_array(w, "axis", l->axis, 3);
    if (l->joint == CTN_UNIVERSAL) put(w, ", "), put_array(w, "axis2", l->axis2, 3);
    if (l->joint == CTN_HELICAL) put(w, ", pitch: %.17g", l->pitch);
    if (o->passive && l->joint != CTN_FIXED) {
        put(w, ", damping: %.17g", l->damping);
        if (l->joint == CTN_FREE && o->free_armature) put(w, ", armature: %.17g", l->armature);
        if (l->joint != CTN_FREE) {
            put(w, ", stiffness: %.17g, armature: %.17g, ", l->stiffness, l->armature);
            if (l->joint == CTN_BALL) put_array(w, "rest", l->rest, 4);
            else put(w, "rest: %.17g", l->rest[0]);
            if (l->limited) {
                const double a = l->limit;
                const int dofs = l->joint == CTN_UNIVERSAL ? 2 : l->joint == CTN_PLANAR ? 3 : 1;
                if (l->joint == CTN_BALL) put(w, ", limits: %.17g", a);
                else if (dofs == 1) put(w, ", limits: [%.17g, %.17g]", -a, a);
                else
                    for (int k = 0; k < dofs; k++)
                        put(w, "%s[%.17g, %.17g]%s", k ? ", " : ", limits: [", -a, a, k == dofs - 1 ? "]" : "");
                if (!o->plain_limits) put(w, ", limit_stiffness: 50, limit_damping: %.17g", l->damping);
            }
        }
    }
    if (o->friction && l->mass > 1.2 && l->joint >= CTN_REVOLUTE && l->joint != CTN_BALL && l->joint != CTN_FREE)
        put(w, ", friction: %.17g, presliding: %.17g", l->mass - 1.1, 0.03 * l->mass);
    put(w, "}\n");
}

/// Springs from links that move to points of the world, and with several of them a force; wrenches.
static void put_loads(writer *w, uint64_t seed, const plan *l, const char *prefix, const random_options *o, bool turned)
{
    rng r = {seed * 0x2545f4914f6cdd1du + 77};
    int moving[64], n = 0;
    for (int i = 0; i < o->links && n < 64; i++) {
        int k = i;
        while (k >= 0 && l[k].joint == CTN_FIXED) k = l[k].parent;
        if (k >= 0) moving[n++] = i;
    }
    if (n && o->springs) put(w, "springs:\n");
    for (int k = 0; k < o->springs && n; k++) {
        double point[3], anchor[3];
        const int link = moving[rng_below(&r, n)];
        for (int c = 0; c < 3; c++) point[c] = rng_uniform(&r, -0.3, 0.3), anchor[c] = rng_uniform(&r, -1, 1);
        if (turned) quat_turn(o->turn, anchor, anchor);
        for (int c = 0; c < 3; c++) anchor[c] += o->shift[c];
        const double stiffness = rng_uniform(&r, 0, 60), damping = rng_uniform(&r, 0, 2);
        put(w, "  - {link: %s%d, ", prefix, link), put_array(w, "point", point, 3), put(w, ", "),
            put_array(w, "anchor", anchor, 3);
        put(w, ", stiffness: %.17g", stiffness);
        if (!o->conservative && !o->plain_springs) put(w, ", damping: %.17g", damping);
        put(w, "}\n");
    }
    if (n && (o->springs > 1 || o->wrenches)) put(w, "forces:\n");
    if (n && o->springs > 1) {
        put(w, "  - {link: %s%d, ", prefix, moving[rng_below(&r, n)]);
        double point[3], force[3];
        for (int c = 0; c < 3; c++) point[c] = rng_uniform(&r, -0.3, 0.3), force[c] = rng_uniform(&r, -5, 5);
        if (turned) quat_turn(o->turn, force, force);
        put_array(w, "point", point, 3), put(w, ", "), put_array(w, "force", force, 3), put(w, "}\n");
    }
    for (int k = 0; k < o->wrenches && n; k++) {
        const bool world = k % 2;
        double point[3], force[3], torque[3];
        put(w, "  - {link: %s%d, axes: %s, ", prefix, moving[rng_below(&r, n)], world ? "world" : "link");
        for (int c = 0; c < 3; c++) {
            point[c] = rng_uniform(&r, -0.3, 0.3), force[c] = rng_uniform(&r, -5, 5);
            torque[c] = rng_uniform(&r, -1, 1);
        }
        if (turned && world) quat_turn(o->turn, force, force), quat_turn(o->turn, torque, torque);
        put_array(w, "point", point, 3), put(w, ", "), put_array(w, "force", force, 3), put(w, ", ");
        put_array(w, "torque", torque, 3), put(w, "}\n");
    }
}

/// A number that a motor is told, lo to hi; moves: as a signal about it, of any kind. (Gaits: "slow" and "fast".)
static void put_told(writer *w, const char *key, double x, rng *moves)
{
    static const char *const waves[] = {"stride", "lift", "sine"};
    put(w, "%s: ", key);
    const int kind = moves ? rng_below(moves, 6) : 5;
    if (kind == 5) {
        put(w, "%.17g", x);
        return;
    }
    const double size = rng_uniform(moves, 0.1, 1), phase = rng_uniform(moves, 0, 1), frequency = rng_uniform(moves, 0.2, 6);
    const bool other = rng_below(moves, 2), zero = rng_below(moves, 2), held = kind < 4 && !rng_below(moves, 3);
    if (kind == 0)
        put(w, "{sinusoid: {mean: %.17g, amplitude: %.17g, frequency: %.17g, phase: %.17g%s}", x, size, frequency, phase,
            other ? ", ramp: 0.7" : "");
    if (kind == 1 || kind == 2)
        put(w, "{gait: %s, wave: %s, mean: %.17g, amplitude: %.17g, phase: %.17g", other ? "slow" : "fast",
            waves[rng_below(moves, 3)], x, size, phase);
    if (kind == 3)
        put(w, "{spline: {times: [0, 0.3, 0.5, 1], values: [%.17g, %.17g, %.17g, %.17g]%s}", x, x + size, x - size, x,
            other ? ", period: 1.1" : "");
    if (kind == 4)
        put(w, "{table: {times: [0, 0.2, 0.4, 0.8], values: [%.17g, %.17g, %.17g, %.17g]}, hold: %s%s", x, x - size, x + size, x,
            zero ? "zero" : "first", other ? ", period: 1" : "");
    if (held) put(w, ", hold: %s, every: %.17g", zero ? "zero" : "first", 1e-4 * (1 + rng_below(moves, 4)));
    put(w, "}");
}

static void put_three(writer *w, rng *r, const char *key, double most)
{
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = rng_uniform(r, -most, most);
    put(w, ", "), put_array(w, key, x, 3);
}

/// The motor of a ball joint.
static void put_ball_motor(writer *w, rng *r, const char *prefix, int link, bool undamped, bool winding, bool first)
{
    const int type = rng_below(r, 3);
    put(w, "%s  - {joint: %s%d, ", first ? "motors:\n" : "", prefix, link);
    if (type == 2) put(w, "type: torque"), put_three(w, r, "target", 2);
    else if (type == 1 && !undamped) {
        put(w, "type: velocity, kd: %.17g", rng_uniform(r, 0.1, 3));
        put_three(w, r, "target", 2), put_three(w, r, "feedforward", 1);
    } else {
        put(w, "type: position, kp: %.17g", rng_uniform(r, 1, 30));
        put_three(w, r, "target", 1.5), put_three(w, r, "feedforward", 1);
        if (!undamped) put(w, ", kd: %.17g", rng_uniform(r, 0, 3)), put_three(w, r, "velocity_target", 1);
        if (!undamped && winding) put(w, ", ki: %d", 3 + 7 * link);
    }
    if (rng_below(r, 2)) put(w, ", effort: %.17g", pow(10, rng_uniform(r, -1, 2)));
    put(w, ", rotor: %.17g}\n", rng_uniform(r, 0, 0.01));
}

/// Motors, some of which are at their effort most of the time.
static void put_motors(writer *w, uint64_t seed, const plan *l, const char *prefix, const random_options *o)
{
    static const int dofs[] = {
        [CTN_REVOLUTE] = 1, [CTN_PRISMATIC] = 1, [CTN_HELICAL] = 1, [CTN_UNIVERSAL] = 2, [CTN_PLANAR] = 3, [CTN_FREE] = 0};
    static const double gears[] = {1, -2, 1.5};
    const bool undamped = o->conservative || o->plain_springs;
    rng r = {seed * 0x9fb21c651e98df25u + 33}, apart = {seed * 0x2545f4914f6cdd1du + 5}, *const moves = o->moving ? &apart : NULL;
    rng more = {seed * 0xaef17502108ef2d9u + 5};  // what options add is drawn apart
    int made = 0;
    if (o->moving) put(w, "gaits:\n  - {name: slow, frequency: 0.7, ramp: 0.5}\n  - {name: fast, frequency: 4, duty: 0.3}\n");
    for (int i = 0; i < o->links && made < o->motors; i++)
        for (int k = 0; k < dofs[l[i].joint] && made < o->motors; k++) {
            const int type = rng_below(&r, 3);
            put(w, "%s  - {joint: %s%d, dof: %d, ", made++ ? "" : "motors:\n", prefix, i, k);
            if (type == 2) put_told(w, "type: torque, target", rng_uniform(&r, -3, 3), moves);
            else if (type == 1 && !undamped) {
                const double kd = rng_uniform(&r, 0.1, 3), target = rng_uniform(&r, -2, 2), ahead = rng_uniform(&r, -2, 2);
                put(w, "type: velocity, kd: %.17g, ", kd), put_told(w, "target", target, moves);
                put_told(w, ", feedforward", ahead, moves);
            } else {
                const double kp = rng_uniform(&r, 1, 50), target = rng_uniform(&r, -1, 1), ahead = rng_uniform(&r, -2, 2);
                put(w, "type: position, kp: %.17g, ", kp), put_told(w, "target", target, moves);
                put_told(w, ", feedforward", ahead, moves);
                if (!undamped) {
                    const double kd = rng_uniform(&r, 0, 3), speed = rng_uniform(&r, -2, 2);
                    put(w, ", kd: %.17g", kd);
                    if (!moves || rng_below(moves, 2)) put_told(w, ", velocity_target", speed, moves);
                }
            }
            const bool bounded = rng_below(&r, 2);
            if (bounded) put(w, ", effort: %.17g", pow(10, rng_uniform(&r, -1, 2)));
            const double speed = rng_uniform(&more, 0.5, 5), ki = rng_uniform(&more, 0, 40);
            if (bounded && o->speeds && !undamped) put(w, ", speed: %.17g", speed);
            if (type != 2 && o->winding && !undamped) put(w, ", ki: %.17g", ki);
            put(w, ", gear: %g, rotor: %.17g}\n", gears[rng_below(&r, 3)], rng_uniform(&r, 0, 0.01));
        }
    rng turned = {seed * 0xd1342543de82ef95u + 71};  // those of balls are drawn apart
    for (int i = 0, balls = 0; i < o->links && balls < o->motors; i++) {
        if (l[i].joint != CTN_BALL) continue;
        put_ball_motor(w, &turned, prefix, i, undamped, o->winding, !made++);
        balls++;
    }
}

/// A rod on a link, and what it moves in; their numbers are drawn apart, so that all others stay as they are.
static void put_rod(writer *w, rng *r)
{
    double from[3], to[3];
    for (int c = 0; c < 3; c++) from[c] = rng_uniform(r, -0.2, 0), to[c] = rng_uniform(r, 0.05, 0.3);
    put(w, "    shapes: [{type: capsule, radius: %.17g, ", rng_uniform(r, 0.01, 0.04)), put_array(w, "from", from, 3),
        put(w, ", ");
    put_array(w, "to", to, 3), put(w, "}]\n");
}

/// What touches the ground, likewise.
static void put_touch(writer *w, rng *r)
{
    double at[2][3];
    for (int c = 0; c < 6; c++) at[c / 3][c % 3] = rng_uniform(r, -0.2, 0.2);
    const double radius = rng_uniform(r, 0.02, 0.1), friction = rng_uniform(r, 0, 1);
    if (rng_below(r, 2)) put(w, "    shapes: [{type: sphere, "), put_array(w, "center", at[0], 3);
    else put(w, "    shapes: [{type: capsule, "), put_array(w, "from", at[0], 3), put(w, ", "), put_array(w, "to", at[1], 3);
    put(w, ", radius: %.17g, contact: {friction: %.17g}}]\n", radius, friction);
}

static void put_ground(writer *w, rng *r)
{
    put(w, "ground: {height: %.17g, normal: [%.17g, %.17g, 1]}\n", rng_uniform(r, -0.3, 0.3), rng_uniform(r, -0.3, 0.3),
        rng_uniform(r, -0.3, 0.3));
    put(w, "contact: {depth: %.17g, relaxation: %.17g}\n", rng_uniform(r, 0.02, 0.1), rng_uniform(r, 0, 0.05));
}

static void put_fluid(writer *w, rng *r, const char *prefix, int last, bool stream)
{
    double current[3];
    for (int c = 0; c < 3; c++) current[c] = rng_uniform(r, -1, 1);
    put(w, "fluid:\n  density: %.17g\n  ", rng_uniform(r, 0, 800));
    if (stream)
        put(w, "current: {"), put_array(w, "velocity", current, 3),
            put(w, ", profile: {heights: [-4, -1.3, 0.7, 5], "
                   "shares: [-1, 0.4, 1, 3]}}");
    else put_array(w, "current", current, 3);
    const double tangential = rng_uniform(r, 0, 2), normal = rng_uniform(r, 0, 4);
    const char *const law = stream && rng_below(r, 2) ? ", law: quadratic" : "";
    put(w, "\n  drag: {normal: %.17g, tangential: %.17g%s}\n", normal, tangential, law);
    put(w, "  links: [{link: %s%d, drag: {coefficient: %.17g, over: surface%s}}]\n", prefix, last, rng_uniform(r, 0, 20), law);
    if (stream) put(w, "  added_mass: %.17g\n", rng_uniform(r, 0, 1));
}

char *random_scene(uint64_t seed, const random_options *o)
{
    rng r = {seed * 0x9e3779b97f4a7c15u + 12345}, water = {seed * 0x9fb21c651e98df25u + 3},
        earth = {seed * 0x9fb21c651e98df25u + 5};
    plan *l = calloc((size_t)o->links, sizeof *l);
    int *order = malloc((size_t)o->links * sizeof *order), n = 0;
    for (int i = 0; i < o->links; i++) l[i] = draw_link(&r, i, o);
    const bool turned = o->turn[0] || o->turn[1] || o->turn[2] || o->turn[3];
    double gravity[3] = {0, 0, o->no_gravity ? 0 : -9.81};
    if (turned) quat_turn(o->turn, gravity, gravity);
    // links in order of depth, siblings backwards, or as drawn
    if (o->reverse) {
        for (int depth = 0; n < o->links; depth++)
            for (int i = o->links - 1; i >= 0; i--) {
                int d = 0;
                for (int p = l[i].parent; p >= 0; p = l[p].parent) d++;
                if (d == depth) order[n++] = i;
            }
    } else
        for (; n < o->links; n++) order[n] = n;

    writer w = {malloc(4096), 0, 4096};
    put(&w, "catena: 1\nname: random-%llu\n", (unsigned long long)seed);
    put_array(&w, "gravity", gravity, 3), put(&w, "\n");
    if (o->ground) put_ground(&w, &earth);
    put(&w, "links:\n");
    const char *prefix = o->reverse ? "other" : "l";
    for (int k = 0; k < n; k++) {
        plan p = l[order[k]];
        if (p.parent < 0 && p.joint != CTN_FREE) {
            if (turned) {
                quat_turn(o->turn, p.position, p.position);
                quat_mul(o->turn, p.rotation, p.rotation);
            }
            for (int c = 0; c < 3; c++) p.position[c] += o->shift[c];
        }
        put(&w, "  - name: %s%d\n", prefix, order[k]);
        if (p.parent >= 0) put(&w, "    parent: %s%d\n", prefix, p.parent);
        put(&w, "    "), put_array(&w, "position", p.position, 3), put(&w, "\n");
        put(&w, "    "), put_array(&w, "rotation", p.rotation, 4), put(&w, "\n");
        put_joint(&w, &p, o);
        put(&w, "    mass: %.17g\n    ", p.mass), put_array(&w, "com", p.com, 3), put(&w, "\n    ");
        put_array(&w, "inertia", p.inertia, 6), put(&w, "\n");
        if (o->fluid) put_rod(&w, &water);
        else if (o->ground) put_touch(&w, &earth);
    }
    put_loads(&w, seed, l, prefix, o, turned);
    put_motors(&w, seed, l, prefix, o);
    if (o->fluid) put_fluid(&w, &water, prefix, o->links - 1, o->stream);
    free(l), free(order);
    return w.text;
}

ctn_model *random_model(uint64_t seed, const random_options *o)
{
    ctn_error err = {0};
    char *text = random_scene(seed, o);
    ctn_scene *scene = ctn_scene_parse(text, strlen(text), "random.yaml", &err);
    ck_assert_msg(scene != NULL, "seed %llu: %s", (unsigned long long)seed, err.message);
    ctn_model *m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "seed %llu: %s", (unsigned long long)seed, err.message);
    ctn_scene_free(scene);
    free(text);
    return m;
}

void random_state(const ctn_model *m, rng *r, double *q, double *v)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *k = ctn_model_link(m, l);
        for (int i = 0; i < k->nv; i++) v[k->vadr + i] = rng_uniform(r, -2, 2);
        double *a = q + k->qadr;
        switch (k->joint) {
        case CTN_PRISMATIC: a[0] = rng_uniform(r, -0.5, 0.5); break;
        case CTN_BALL: rng_quaternion(r, a); break;
        case CTN_FREE:
            for (int i = 0; i < 3; i++) a[i] = rng_uniform(r, -0.5, 0.5);
            rng_quaternion(r, a + 3);
            break;
        case CTN_PLANAR:
            a[0] = rng_uniform(r, -0.5, 0.5), a[1] = rng_uniform(r, -0.5, 0.5), a[2] = rng_uniform(r, -2.5, 2.5);
            break;
        default:
            for (int i = 0; i < k->nq; i++) a[i] = rng_uniform(r, -2.5, 2.5);
        }
    }
}
