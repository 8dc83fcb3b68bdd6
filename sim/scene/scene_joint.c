/// Joints of a scene: their types, which keys each type takes, and what the keys say.
#include "sim/scene/foreign.h"
#include "sim/scene/scene_reader.h"
#include "sim/base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int nq, nv;
} types[] = {
    [CTN_FIXED] = {"fixed", 0, 0},     [CTN_REVOLUTE] = {"revolute", 1, 1},   [CTN_PRISMATIC] = {"prismatic", 1, 1},
    [CTN_HELICAL] = {"helical", 1, 1}, [CTN_UNIVERSAL] = {"universal", 2, 2}, [CTN_BALL] = {"ball", 4, 3},
    [CTN_PLANAR] = {"planar", 3, 3},   [CTN_FREE] = {"free", 7, 6},
};
enum { TYPES = sizeof types / sizeof *types };

int joint_nq(ctn_joint_type type) { return types[type].nq; }
int joint_nv(ctn_joint_type type) { return types[type].nv; }
const char *joint_name(ctn_joint_type type) { return types[type].name; }

#define BIT(type) (1u << (type))
#define WITH_AXIS (BIT(CTN_REVOLUTE) | BIT(CTN_PRISMATIC) | BIT(CTN_HELICAL) | BIT(CTN_UNIVERSAL))
#define WITH_FRICTION (WITH_AXIS | BIT(CTN_PLANAR))
#define WITH_FORCES (WITH_AXIS | BIT(CTN_BALL) | BIT(CTN_PLANAR))
#define MOVING (WITH_FORCES | BIT(CTN_FREE))
#define ALL (MOVING | BIT(CTN_FIXED))

static const key joint_keys[JOINT_KEYS] = {
    [JOINT_KEY_TYPE] = {.name = "type"},
    [JOINT_KEY_AXIS] = {.name = "axis"},
    [JOINT_KEY_AXIS2] = {.name = "axis2"},
    [JOINT_KEY_PITCH] = {.name = "pitch"},
    [JOINT_KEY_DAMPING] = {.name = "damping"},
    [JOINT_KEY_STIFFNESS] = {.name = "stiffness"},
    [JOINT_KEY_REST] = {.name = "rest"},
    [JOINT_KEY_ARMATURE] = {.name = "armature"},
    [JOINT_KEY_LIMITS] = {.name = "limits"},
    [JOINT_KEY_LIMIT_STIFFNESS] = {.name = "limit_stiffness"},
    [JOINT_KEY_LIMIT_DAMPING] = {.name = "limit_damping"},
    [JOINT_KEY_FRICTION] = {.name = "friction"},
    [JOINT_KEY_PRESLIDING] = {.name = "presliding"},
    [JOINT_KEY_EFFORT] = {.name = "effort"},
    [JOINT_KEY_SPEED] = {.name = "speed"},
    [JOINT_KEY_Q0] = {.name = "q0"},
    [JOINT_KEY_V0] = {.name = "v0"},
};

static const unsigned taken_by[JOINT_KEYS] = {
    [JOINT_KEY_TYPE] = ALL,
    [JOINT_KEY_AXIS] = WITH_AXIS,
    [JOINT_KEY_AXIS2] = BIT(CTN_UNIVERSAL),
    [JOINT_KEY_PITCH] = BIT(CTN_HELICAL),
    [JOINT_KEY_DAMPING] = MOVING,
    [JOINT_KEY_STIFFNESS] = WITH_FORCES,
    [JOINT_KEY_REST] = WITH_FORCES,
    [JOINT_KEY_ARMATURE] = MOVING,
    [JOINT_KEY_LIMITS] = WITH_FORCES,
    [JOINT_KEY_LIMIT_STIFFNESS] = WITH_FORCES,
    [JOINT_KEY_LIMIT_DAMPING] = WITH_FORCES,
    [JOINT_KEY_FRICTION] = WITH_FRICTION,
    [JOINT_KEY_PRESLIDING] = WITH_FRICTION,
    [JOINT_KEY_EFFORT] = WITH_FORCES,
    [JOINT_KEY_SPEED] = WITH_FRICTION,
    [JOINT_KEY_Q0] = MOVING,
    [JOINT_KEY_V0] = MOVING,
};

bool joint_has_axis(ctn_joint_type type) { return WITH_AXIS & BIT(type); }

const value_unit *coordinate_units(ctn_joint_type type)
{
    static const value_unit units[TYPES][7] = {[CTN_REVOLUTE] = {ANGLE},
                                               [CTN_HELICAL] = {ANGLE},
                                               [CTN_UNIVERSAL] = {ANGLE, ANGLE},
                                               [CTN_PLANAR] = {NO_UNIT, NO_UNIT, ANGLE}};
    return units[type];
}

const value_unit *velocity_units(ctn_joint_type type)
{
    static const value_unit units[TYPES][6] = {
        [CTN_REVOLUTE] = {ANGULAR_VELOCITY},
        [CTN_HELICAL] = {ANGULAR_VELOCITY},
        [CTN_UNIVERSAL] = {ANGULAR_VELOCITY, ANGULAR_VELOCITY},
        [CTN_BALL] = {ANGULAR_VELOCITY, ANGULAR_VELOCITY, ANGULAR_VELOCITY},
        [CTN_PLANAR] = {NO_UNIT, NO_UNIT, ANGULAR_VELOCITY},
        [CTN_FREE] = {NO_UNIT, NO_UNIT, NO_UNIT, ANGULAR_VELOCITY, ANGULAR_VELOCITY, ANGULAR_VELOCITY}};
    return units[type];
}

// ---- type

static bool read_type(source *s, const node *n, ctn_joint_type *type)
{
    const char *names[TYPES], *text;
    if (n->kind != NODE_SCALAR) return bad_value(s, n, "expected the name of a joint type, found %s", found(n).text);
    if (!read_text(s, n, &text)) return false;
    for (int i = 0; i < TYPES; i++) {
        names[i] = types[i].name;
        if (strcmp(text, names[i])) continue;
        *type = (ctn_joint_type)i;
        return true;
    }
    const char *meant = foreign_joint(text);
    if (!meant) meant = nearest_name(text, names, TYPES);
    if (meant) return bad_value(s, n, "unknown %s; did you mean '%s'?", found(n).text, meant);
    return bad_value(s, n, "unknown %s; joints are fixed, revolute, prismatic, helical, universal, ball, planar, free",
                     found(n).text);
}

void reset_joint(scene_joint *joint, ctn_joint_type type)
{
    *joint = (scene_joint){.type = type, .axis = {0, 0, 1}, .axis2 = {1, 0, 0}, .limit_stiffness = NAN, .limit_damping = NAN};
    for (int i = 0; i < 6; i++) joint->effort[i] = INFINITY;
    for (int i = 0; i < 3; i++) joint->speed[i] = INFINITY;
    // how far dry friction gives: a thousandth of a turn's radian, a tenth of a millimetre
    for (int i = 0; i < 3; i++) joint->presliding[i] = coordinate_units(type)[i] == ANGLE ? 1e-3 : 1e-4;
    if (type == CTN_BALL) joint->rest[0] = joint->q0[0] = 1;
    if (type == CTN_FREE) joint->q0[3] = 1;
}

// ---- values of keys

/// Coordinates [nq] of a joint of type `type`; quaternions are normalised.
static bool read_coordinates(source *s, const node *n, ctn_joint_type type, double *q)
{
    const int nq = types[type].nq;
    double x[7];
    const value_unit *const of = coordinate_units(type);
    if (nq == 1 ? !read_each(s, n, 1, ANY_SIGN, of, x) : !read_quantities(s, n, nq, ANY_SIGN, of, x)) return false;
    if (type == CTN_BALL && !unit_quaternion(s, n, x)) return false;
    if (type == CTN_FREE && !unit_quaternion(s, n, x + 3)) return false;
    memcpy(q, x, (size_t)nq * sizeof *q);
    return true;
}

static bool is_none(const node *n) { return n->kind == NODE_SCALAR && n->plain && !strcmp(n->text, "none"); }

/// One pair [lo, hi], or `none`.
static bool read_range(source *s, const node *n, value_unit unit, bool *limited, double range[2])
{
    double x[2];
    if (is_none(n)) {
        *limited = false;
        return true;
    }
    if (!read_quantities(s, n, 2, ANY_SIGN, (value_unit[]){unit, unit}, x)) return false;
    if (!(x[0] < x[1])) return bad_value(s, n, "expected limits [low, high] with low < high, found [%g, %g]", x[0], x[1]);
    *limited = true, range[0] = x[0], range[1] = x[1];
    return true;
}

static bool read_limits(source *s, const node *n, scene_joint *joint)
{
    const int nv = types[joint->type].nv;
    const value_unit *const of = coordinate_units(joint->type);
    if (is_none(n)) {
        memset(joint->limited, 0, sizeof joint->limited);
        return true;
    }
    if (joint->type == CTN_BALL) {
        double angle;
        if (!read_quantity(s, n, POSITIVE, ANGLE, &angle)) return false;
        if (angle > M_PI)
            return bad_value(s, n, "expected an angle of at most pi (rad), found %s%s", found(n).text,
                             has_unit(n) ? "" : "; degrees are written as in `90 deg`");
        joint->limited[0] = true, joint->limits[0][0] = 0, joint->limits[0][1] = angle;
        return true;
    }
    if (nv == 1) return read_range(s, n, of[0], &joint->limited[0], joint->limits[0]);
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected %d pairs [low, high], found %s", nv, found(n).text);
    if (n->size != nv)
        return bad_value(s, n, "expected %d pairs [low, high], one for each degree of freedom, found %d", nv, n->size);
    bool ok = true;
    int i = 0;
    for (const node *pair = n->child; pair; pair = pair->next, i++)
        ok = read_range(s, pair, of[i], &joint->limited[i], joint->limits[i]) && ok;
    return ok;
}

static void note_place(scene_joint *joint, stiff_key key, const node *n) { joint->at[key] = (scene_place){n->line, n->column}; }

/// Warns of degrees in a key that has been read. A screw may make many turns.
static void notice_turns(source *s, const node *n, enum joint_key k, ctn_joint_type type)
{
    if (k != JOINT_KEY_LIMITS && k != JOINT_KEY_REST && k != JOINT_KEY_Q0) return;
    if (type == CTN_REVOLUTE || type == CTN_UNIVERSAL) notice_degrees(s, n);
    else if (type == CTN_PLANAR && n->size == 3) notice_degrees(s, n->child->next->next);
}

/// Reads one key into a joint whose type is known and takes it.
static bool read_key(source *s, const node *n, enum joint_key k, scene_joint *joint)
{
    const int nv = types[joint->type].nv;
    const bool ball = joint->type == CTN_BALL;
    switch (k) {
    case JOINT_KEY_AXIS: return read_direction(s, n, joint->axis);
    case JOINT_KEY_AXIS2: return read_direction(s, n, joint->axis2);
    case JOINT_KEY_PITCH: return read_number(s, n, ANY_SIGN, &joint->pitch);
    case JOINT_KEY_DAMPING:
    case JOINT_KEY_STIFFNESS:
    case JOINT_KEY_ARMATURE: {
        double x[6];
        if (!read_each(s, n, ball ? 1 : nv, NOT_NEGATIVE, NULL, x)) return false;  // a ball joint is alike about all axes
        double *const to = k == JOINT_KEY_DAMPING     ? joint->damping
                           : k == JOINT_KEY_STIFFNESS ? joint->stiffness
                                                      : joint->armature;
        for (int i = 0; i < nv; i++) to[i] = x[ball ? 0 : i];
        for (int i = 0; i < nv && k == JOINT_KEY_ARMATURE && joint->type == CTN_FREE; i++)
            if (to[i] != to[i - i % 3])
                return bad_value(s, n, "of a free joint the first three are alike (kg), and the last three (kg m^2)");
        if (k != JOINT_KEY_ARMATURE) note_place(joint, k == JOINT_KEY_DAMPING ? STIFF_DAMPING : STIFF_STIFFNESS, n);
        return true;
    }
    case JOINT_KEY_REST:
        return ball ? read_quaternion(s, n, joint->rest)
                    : read_each(s, n, nv, ANY_SIGN, coordinate_units(joint->type), joint->rest);
    case JOINT_KEY_LIMITS:
        note_place(joint, STIFF_LIMIT_STIFFNESS, n), note_place(joint, STIFF_LIMIT_DAMPING, n);
        return read_limits(s, n, joint);
    case JOINT_KEY_LIMIT_STIFFNESS:
        note_place(joint, STIFF_LIMIT_STIFFNESS, n);
        return read_number(s, n, POSITIVE, &joint->limit_stiffness);
    case JOINT_KEY_LIMIT_DAMPING:
        note_place(joint, STIFF_LIMIT_DAMPING, n);
        return read_number(s, n, NOT_NEGATIVE, &joint->limit_damping);
    case JOINT_KEY_FRICTION:
        note_place(joint, STIFF_FRICTION, n);
        return read_each(s, n, nv, NOT_NEGATIVE, NULL, joint->friction);
    case JOINT_KEY_PRESLIDING: return read_each(s, n, nv, POSITIVE, coordinate_units(joint->type), joint->presliding);
    case JOINT_KEY_EFFORT:
        if (!read_each(s, n, ball ? 1 : nv, NOT_NEGATIVE, NULL, joint->effort)) return false;
        for (int i = 1; i < nv && ball; i++) joint->effort[i] = joint->effort[0];
        return true;
    case JOINT_KEY_SPEED: return read_each(s, n, nv, POSITIVE, velocity_units(joint->type), joint->speed);
    case JOINT_KEY_Q0: return read_coordinates(s, n, joint->type, joint->q0);
    case JOINT_KEY_V0: {
        const value_unit *const of = velocity_units(joint->type);
        return nv == 1 ? read_each(s, n, 1, ANY_SIGN, of, joint->v0) : read_quantities(s, n, nv, ANY_SIGN, of, joint->v0);
    }
    default: return true;
    }
}

/// Whether `n` would be a good value of key `k` for a joint of this type; if so and `joint` is given, it is one now.
static bool try_key(source *s, const node *n, enum joint_key k, ctn_joint_type type, scene_joint *joint)
{
    scene_joint trial;
    if (joint) trial = *joint;
    else reset_joint(&trial, type);
    s->quiet++;
    const bool fits = taken_by[k] & BIT(type) && read_key(s, n, k, &trial);
    s->quiet--;
    if (!fits || !joint) return fits;
    *joint = trial;
    notice_turns(s, n, k, type);
    return true;
}

// ---- defaults and joints

/// A bare word is short for {type: word}.
static bool joint_nodes(source *s, const node *n, const node *own[JOINT_KEYS])
{
    if (n->kind != NODE_SCALAR) return read_keys(s, n, "a joint", joint_keys, JOINT_KEYS, own);
    for (int k = 0; k < JOINT_KEYS; k++) own[k] = 0;
    own[JOINT_KEY_TYPE] = n;
    return true;
}

bool read_joint_defaults(source *s, const node *n)
{
    const node **const values = s->default_joint;
    if (!joint_nodes(s, n, values)) return false;
    ctn_joint_type given = CTN_FREE;
    bool ok = true, typed = false;
    if (values[JOINT_KEY_TYPE]) {
        typed = read_type(s, values[JOINT_KEY_TYPE], &given);
        if (!typed) ok = false, values[JOINT_KEY_TYPE] = 0;
    }
    for (int k = JOINT_KEY_TYPE + 1; k < JOINT_KEYS; k++) {
        if (!values[k]) continue;
        bool fits = false;
        for (int t = 0; t < TYPES && !fits; t++) fits = try_key(s, values[k], k, (ctn_joint_type)t, 0);
        if (fits) continue;
        // good for no type: say why for the one that was meant, or else for the first that takes the key
        ctn_joint_type type = given;
        for (int t = 0; !typed && t < TYPES && !(taken_by[k] & BIT(type = (ctn_joint_type)t)); t++) continue;
        if (!(taken_by[k] & BIT(type))) type = CTN_REVOLUTE;
        scene_joint unused;
        reset_joint(&unused, type);
        read_key(s, values[k], k, &unused);
        ok = false, values[k] = 0;
    }
    return ok;
}

bool axes_apart(const double axis[3], const double axis2[3])
{
    const double cross[3] = {axis[1] * axis2[2] - axis[2] * axis2[1], axis[2] * axis2[0] - axis[0] * axis2[2],
                             axis[0] * axis2[1] - axis[1] * axis2[0]};
    return norm(cross, 3) >= 1e-6;
}

bool check_axes(source *s, const node *at, const double axis[3], const double axis2[3])
{
    if (axes_apart(axis, axis2)) return true;
    return bad_value(s, at, "the two axes of a universal joint must not be parallel (axis [%g, %g, %g], axis2 [%g, %g, %g])",
                     axis[0], axis[1], axis[2], axis2[0], axis2[1], axis2[2]);
}

/// The type of the joint that `n` describes (NULL: none), with its other nodes in `own`.
static bool joint_type(source *s, const node *n, const node *own[JOINT_KEYS], ctn_joint_type *type)
{
    *type = CTN_FIXED;
    if (n && !joint_nodes(s, n, own)) return false;
    const node *const given = own[JOINT_KEY_TYPE] ? own[JOINT_KEY_TYPE] : s->default_joint[JOINT_KEY_TYPE];
    if (given) return read_type(s, given, type);
    if (!n) return true;
    return !s->defaults_failed && missing_key(s, n, "type", "missing; a joint has a type: revolute, ball, ...");
}

bool read_joint(source *s, const node *link, const node *n, bool axes, scene_joint *joint, const node *own[JOINT_KEYS],
                bool *has_q0)
{
    const node *const *const defaults = s->default_joint;
    for (int k = 0; k < JOINT_KEYS; k++) own[k] = 0;
    *has_q0 = true;
    reset_joint(joint, CTN_FIXED);
    ctn_joint_type type;
    if (!joint_type(s, n, own, &type)) {
        s->layout_known = false;
        return false;
    }
    reset_joint(joint, type);
    bool ok = true;
    const node *effort = own[JOINT_KEY_EFFORT], *speed = own[JOINT_KEY_SPEED];
    for (int k = JOINT_KEY_TYPE + 1; k < JOINT_KEYS; k++) {
        if (!own[k]) {
            const bool rotor = type == CTN_FREE && k == JOINT_KEY_ARMATURE;  // which is meant for joints with motors
            const bool applied = defaults[k] && !rotor && try_key(s, defaults[k], k, type, joint);
            if (k == JOINT_KEY_Q0) *has_q0 = applied;
            if (k == JOINT_KEY_EFFORT && applied) effort = defaults[k];
            if (k == JOINT_KEY_SPEED && applied) speed = defaults[k];
        } else if (taken_by[k] & BIT(type)) {
            const bool good = read_key(s, own[k], k, joint);
            if (good) notice_turns(s, own[k], k, type);
            ok = ok && good;
        } else {
            const bool is_free = type == CTN_FREE && taken_by[k] & BIT(CTN_BALL);
            ok = bad_key(s, own[k], is_free ? "a %s joint takes damping and armature only" : "a %s joint has none",
                         types[type].name);
        }
    }
    if (type == CTN_HELICAL && !own[JOINT_KEY_PITCH] && !defaults[JOINT_KEY_PITCH] && !s->defaults_failed)
        ok = missing_key(s, n ? n : link, n ? "pitch" : "joint.pitch", "missing; a helical joint has a pitch (m/rad)");
    if (ok && type == CTN_UNIVERSAL && !axes) {
        const node *const at = own[JOINT_KEY_AXIS2]        ? own[JOINT_KEY_AXIS2]
                               : own[JOINT_KEY_AXIS]       ? own[JOINT_KEY_AXIS]
                               : defaults[JOINT_KEY_AXIS2] ? defaults[JOINT_KEY_AXIS2]
                                                           : defaults[JOINT_KEY_AXIS];
        ok = check_axes(s, at ? at : link, joint->axis, joint->axis2);
    }
    if (ok && own[JOINT_KEY_LIMIT_STIFFNESS] && !joint->limited[0] && !joint->limited[1] && !joint->limited[2])
        warn(s, own[JOINT_KEY_LIMIT_STIFFNESS], "not used: the joint has no limits");
    if (ok && own[JOINT_KEY_PRESLIDING] && !(joint->friction[0] > 0 || joint->friction[1] > 0 || joint->friction[2] > 0))
        warn(s, own[JOINT_KEY_PRESLIDING], "not used: the joint has no friction");
    if (s->of_robot) return ok;  // a robot says what its motors can do, whoever drives them
    if (ok && effort && !s->r->motors) warn(s, effort, "not used: the scene has no `motors` that it could limit");
    else if (ok && speed && !s->r->motors) warn(s, speed, "not used: the scene has no `motors` that it could limit");
    return ok;
}
