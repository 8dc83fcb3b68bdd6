/// `motors:` on joints: servos of position and of velocity, and torques; on a ball they turn it as a whole. On a tendon they do the
/// same with its length. Those of the types thrust and moment push a link.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum motor_key {
    MOTOR_KEY_JOINT,
    MOTOR_KEY_DOF,
    MOTOR_KEY_TYPE,
    MOTOR_KEY_KP,
    MOTOR_KEY_KD,
    MOTOR_KEY_TARGET,
    MOTOR_KEY_VELOCITY_TARGET,
    MOTOR_KEY_FEEDFORWARD,
    MOTOR_KEY_EFFORT,
    MOTOR_KEY_GEAR,
    MOTOR_KEY_ROTOR,
    MOTOR_KEY_KI,
    MOTOR_KEY_SPEED,
    MOTOR_KEY_LINK,
    MOTOR_KEY_POINT,
    MOTOR_KEY_AXIS,
    MOTOR_KEY_REACTION,
    MOTOR_KEY_LIMITS,
    MOTOR_KEY_DAMPING_RATIO,
    MOTOR_KEY_TENDON,
    MOTOR_KEYS
};

static const key motor_keys[MOTOR_KEYS] = {
    [MOTOR_KEY_JOINT] = {.name = "joint"},
    [MOTOR_KEY_DOF] = {.name = "dof"},
    [MOTOR_KEY_TYPE] = {.name = "type"},
    [MOTOR_KEY_KP] = {.name = "kp"},
    [MOTOR_KEY_KD] = {.name = "kd"},
    [MOTOR_KEY_TARGET] = {.name = "target"},
    [MOTOR_KEY_VELOCITY_TARGET] = {.name = "velocity_target"},
    [MOTOR_KEY_FEEDFORWARD] = {.name = "feedforward"},
    [MOTOR_KEY_EFFORT] = {.name = "effort"},
    [MOTOR_KEY_GEAR] = {.name = "gear"},
    [MOTOR_KEY_ROTOR] = {.name = "rotor"},
    [MOTOR_KEY_KI] = {.name = "ki"},
    [MOTOR_KEY_SPEED] = {.name = "speed"},
    [MOTOR_KEY_LINK] = {.name = "link"},
    [MOTOR_KEY_POINT] = {.name = "point"},
    [MOTOR_KEY_AXIS] = {.name = "axis"},
    [MOTOR_KEY_REACTION] = {.name = "reaction"},
    [MOTOR_KEY_LIMITS] = {.name = "limits"},
    [MOTOR_KEY_DAMPING_RATIO] = {.name = "damping_ratio"},
    [MOTOR_KEY_TENDON] = {.name = "tendon"},
};

#define BIT(k) (1u << (k))
enum {
    OF_ALL = BIT(MOTOR_KEY_JOINT) | BIT(MOTOR_KEY_DOF) | BIT(MOTOR_KEY_TYPE) | BIT(MOTOR_KEY_TARGET) | BIT(MOTOR_KEY_EFFORT) |
             BIT(MOTOR_KEY_GEAR) | BIT(MOTOR_KEY_ROTOR) | BIT(MOTOR_KEY_SPEED) | BIT(MOTOR_KEY_TENDON),
    NOT_OF_TENDONS = BIT(MOTOR_KEY_JOINT) | BIT(MOTOR_KEY_DOF) | BIT(MOTOR_KEY_ROTOR) | BIT(MOTOR_KEY_SPEED) | BIT(MOTOR_KEY_KI) |
                     BIT(MOTOR_KEY_DAMPING_RATIO),
    OF_LINKS = BIT(MOTOR_KEY_LINK) | BIT(MOTOR_KEY_TYPE) | BIT(MOTOR_KEY_TARGET) | BIT(MOTOR_KEY_AXIS) | BIT(MOTOR_KEY_LIMITS)
};

/// What a motor of each type has.
static const struct {
    const char *name;
    unsigned keys;
    enum motor_key gain;  // that it cannot do without; MOTOR_KEYS: none
} types[] = {
    [MOTOR_POSITION] = {"position",
                        OF_ALL | BIT(MOTOR_KEY_KP) | BIT(MOTOR_KEY_KD) | BIT(MOTOR_KEY_VELOCITY_TARGET) |
                            BIT(MOTOR_KEY_FEEDFORWARD) | BIT(MOTOR_KEY_KI) | BIT(MOTOR_KEY_DAMPING_RATIO),
                        MOTOR_KEY_KP},
    [MOTOR_VELOCITY] = {"velocity", OF_ALL | BIT(MOTOR_KEY_KD) | BIT(MOTOR_KEY_FEEDFORWARD) | BIT(MOTOR_KEY_KI), MOTOR_KEY_KD},
    [MOTOR_TORQUE] = {"torque", OF_ALL, MOTOR_KEYS},
    [MOTOR_THRUST] = {"thrust", OF_LINKS | BIT(MOTOR_KEY_POINT) | BIT(MOTOR_KEY_REACTION), MOTOR_KEYS},
    [MOTOR_MOMENT] = {"moment", OF_LINKS, MOTOR_KEYS},
};
enum { TYPES = sizeof types / sizeof *types };

const char *motor_type_name(motor_type type) { return types[type].name; }

motor_traits scene_motor_traits(const scene_motor *a)
{
    return (motor_traits){.type = a->type, .told = a->told, .winds = a->winds, .fast = a->fast};
}

static bool read_type(source *s, const node *n, motor_type *type)
{
    int row;
    if (!read_kind(s, n, types, sizeof *types, TYPES, "motors are position, velocity, torque, or, on links, thrust, moment", &row)) return false;
    *type = (motor_type)row;
    return true;
}

/// The joint on which a motor is, and the one of its degrees of freedom.
static bool read_driven(source *s, const node *n, const node *const v[MOTOR_KEYS], scene_motor *motor)
{
    const node *const joint = v[MOTOR_KEY_JOINT], *const dof = v[MOTOR_KEY_DOF];
    if (!joint) return missing_key(s, n, "joint", "missing; it is the link whose joint the motor drives; or say `tendon`");
    if (!read_link_name(s, joint, &motor->link)) return false;
    const ctn_joint_type type = s->r->scene->links[motor->link].joint.type;
    const int nv = joint_nv(type);
    if (type == CTN_FIXED || type == CTN_FREE)
        return bad_value(s, joint, "the joint of %s is %s: %s", found(joint).text, joint_name(type),
                         type == CTN_FIXED ? "there is nothing to drive"
                                           : "nothing holds a motor there; push its link with `forces`");
    motor->told = type == CTN_BALL ? 3 : 1;
    if (type == CTN_BALL) return !dof || bad_key(s, dof, "a motor turns a ball joint as a whole; leave it out");
    if (dof) return read_whole(s, dof, 0, nv - 1, &motor->dof);
    return nv == 1 || missing_key(s, n, "dof", "missing; the joint has several degrees of freedom: 0 to %d", nv - 1);
}

/// The tendon that a motor is on, by its name; and one of the links that it pulls at.
static bool read_pulled(source *s, const node *n, scene_motor *motor)
{
    const ctn_scene *const scene = s->r->scene;
    const int bond = read_bond_name(s, n, "tendons");
    if (bond < 0) return false;
    const scene_bond *const o = &scene->bonds[bond];
    motor->told = 1, motor->tendon = bond + 1;
    motor->link = o->njoint ? o->joints[0] : -1;
    for (int k = 0; k < o->npoint && motor->link < 0; k++)
        if (o->points[k].link >= 0 && link_moves(scene, o->points[k].link)) motor->link = o->points[k].link;
    for (const scene_motor *other = scene->motors; other < motor; other++)
        if (other->tendon == motor->tendon) return bad_value(s, n, "%s has a motor already", found(n).text);
    return true;
}

/// What a motor is told, which may move with time: one number, of a ball a list of three.
static bool read_told(source *s, const node *n, value_unit unit, motor_told told, scene_motor *motor)
{
    double *const x = told == TOLD_TARGET ? motor->target : told == TOLD_VELOCITY ? motor->velocity : motor->feedforward;
    if (motor->told == 1) return read_signal(s, n, unit, &x[0], &motor->moves[told][0]);
    if (n->kind != NODE_SEQUENCE || n->size != motor->told)
        return bad_value(s, n, "expected a list of 3%s, found %s",
                         told == TOLD_TARGET ? " (a rotation vector) or 4 (a quaternion)" : "", found(n).text);
    bool ok = true;
    int k = 0;
    for (const node *entry = n->child; entry; entry = entry->next, k++)
        ok = read_signal(s, entry, unit, &x[k], &motor->moves[told][k]) && ok;
    return ok;
}

/// The target of a ball as a quaternion.
static bool read_orientation(source *s, const node *n, double target[3])
{
    double q[4];
    if (!read_quaternion(s, n, q)) return false;
    const double length = norm(q + 1, 3), side = q[0] < 0 ? -1 : 1, angle = 2 * atan2(length, fabs(q[0]));
    for (int k = 0; k < 3; k++) target[k] = length > 0 ? side * angle / length * q[1 + k] : 0;
    return true;
}

/// Its target, of which kind that is, the one of its velocity, and its feedforward. An angle and an angular velocity may have units.
static bool read_targets(source *s, const node *const v[MOTOR_KEYS], scene_motor *motor)
{
    const ctn_joint_type joint = s->r->scene->links[motor->link].joint.type;
    const value_unit rate = motor->tendon ? NO_UNIT : velocity_units(joint)[motor->dof];
    const value_unit angle = motor->tendon ? NO_UNIT : joint == CTN_BALL ? ANGLE : coordinate_units(joint)[motor->dof];
    const node *const target = v[MOTOR_KEY_TARGET], *const velocity = v[MOTOR_KEY_VELOCITY_TARGET];
    const node *const push = v[MOTOR_KEY_FEEDFORWARD];
    const bool quaternion = motor->told == 3 && target && target->kind == NODE_SEQUENCE && target->size == 4;
    bool ok = true;
    if (target && motor->type == MOTOR_POSITION && quaternion) ok = read_orientation(s, target, motor->target);
    else if (target && motor->type == MOTOR_POSITION) ok = read_told(s, target, angle, TOLD_TARGET, motor);
    if (target && motor->type == MOTOR_VELOCITY) ok = read_told(s, target, rate, TOLD_VELOCITY, motor);
    if (target && motor->type == MOTOR_TORQUE) ok = read_told(s, target, NO_UNIT, TOLD_FEEDFORWARD, motor);
    if (push) ok = read_told(s, push, NO_UNIT, TOLD_FEEDFORWARD, motor) && ok;
    for (int k = 0; k < motor->told; k++) motor->follows = motor->follows || (motor->moves[TOLD_TARGET][k] && !velocity);
    return (!velocity || read_told(s, velocity, rate, TOLD_VELOCITY, motor)) && ok;
}

/// The limit of its speed, its own or the joint's on the motor's side of the gear. It is where the effort ends, and there must be one.
static bool read_speed(source *s, const node *n, const node *speed, scene_motor *motor)
{
    const scene_joint *const joint = &s->r->scene->links[motor->link].joint;
    if (motor->told > 1) return !speed || bad_key(s, speed, "the motor of a ball joint has none in this version");
    const value_unit unit = velocity_units(joint->type)[motor->dof];
    if (speed && !read_quantity(s, speed, POSITIVE, unit, &motor->speed)) return false;
    if (!speed) motor->speed = joint->speed[motor->dof] * fabs(motor->gear);
    motor->fast = isfinite(motor->speed);
    if (!motor->fast || isfinite(motor->effort)) return true;
    if (speed)
        return bad_value(s, speed,
                         "expected an `effort` beside it, of the motor or of its joint: at this speed it has fallen to 0");
    return missing_key(s, n, "effort", "missing; the joint has a `speed`, at which the effort of its motor has fallen to 0");
}

/// The gear, the rotor, which becomes armature of the joint, and the effort: its own, or the joint's on the motor's side of the
/// gear.
static bool read_drive(source *s, const node *n, const node *const v[MOTOR_KEYS], scene_motor *motor)
{
    scene_joint *const joint = &s->r->scene->links[motor->link].joint;
    double rotor = 0;
    bool ok = true;
    if (v[MOTOR_KEY_GEAR]) ok = read_number(s, v[MOTOR_KEY_GEAR], ANY_SIGN, &motor->gear);
    if (ok && motor->gear == 0) ok = bad_value(s, v[MOTOR_KEY_GEAR], "expected a number that is not 0, found 0");
    if (v[MOTOR_KEY_ROTOR]) ok = read_number(s, v[MOTOR_KEY_ROTOR], NOT_NEGATIVE, &rotor) && ok;
    if (v[MOTOR_KEY_EFFORT]) ok = read_number(s, v[MOTOR_KEY_EFFORT], NOT_NEGATIVE, &motor->effort) && ok;
    else if (!motor->tendon) motor->effort = joint->effort[motor->dof] / fabs(motor->gear);
    if (motor->tendon) return ok;
    if (!ok || !read_speed(s, n, v[MOTOR_KEY_SPEED], motor)) return false;
    for (int k = motor->dof; k < motor->dof + motor->told; k++) joint->armature[k] += motor->gear * motor->gear * rotor;
    return isfinite(joint->armature[motor->dof]) ||
           bad_value(s, v[MOTOR_KEY_ROTOR], "expected a finite inertia behind the gear, gear^2 rotor");
}

/// From what to what a thruster gives: it can be off.
static bool read_limits(source *s, const node *n, scene_motor *motor)
{
    double limits[2];
    if (!read_vector(s, n, 2, ANY_SIGN, limits)) return false;
    motor->least = limits[0], motor->effort = limits[1];
    return (limits[0] <= 0 && limits[1] >= 0) ||
           bad_value(s, n, "expected [least, most] with 0 between them, or one of them 0, found [%g, %g]", limits[0], limits[1]);
}

/// What pushes a link: where, and along or about which of its axes.
static bool read_thruster(source *s, const node *n, const node *const v[MOTOR_KEYS], scene_motor *motor)
{
    const node *const link = v[MOTOR_KEY_LINK], *const target = v[MOTOR_KEY_TARGET];
    bool ok = true;
    motor->told = 1, motor->axis[2] = 1;
    if (!link)
        ok = missing_key(s, n, "link", "missing; it is the one that a motor of the type %s pushes", types[motor->type].name);
    else if (!read_link_name(s, link, &motor->link)) ok = false;
    else if (!link_moves(s->r->scene, motor->link))
        ok = bad_value(s, link, "%s does not move: nothing can push it", found(link).text);
    if (v[MOTOR_KEY_POINT]) ok = read_vector(s, v[MOTOR_KEY_POINT], 3, ANY_SIGN, motor->point) && ok;
    if (v[MOTOR_KEY_AXIS]) ok = read_direction(s, v[MOTOR_KEY_AXIS], motor->axis) && ok;
    if (v[MOTOR_KEY_REACTION]) ok = read_number(s, v[MOTOR_KEY_REACTION], ANY_SIGN, &motor->reaction) && ok;
    if (v[MOTOR_KEY_LIMITS]) ok = read_limits(s, v[MOTOR_KEY_LIMITS], motor) && ok;
    if (target) ok = read_signal(s, target, NO_UNIT, &motor->feedforward[0], &motor->moves[TOLD_FEEDFORWARD][0]) && ok;
    return ok;
}

/// The gain of the velocity as a share of what is critical: of servos that have no kd, and drive one inertia.
static bool read_damping_ratio(source *s, const node *const v[MOTOR_KEYS], scene_motor *motor)
{
    const node *const ratio = v[MOTOR_KEY_DAMPING_RATIO];
    if (v[MOTOR_KEY_KD]) return bad_key(s, ratio, "stands beside `kd`; one of both says how the motor is damped");
    if (motor->told > 1)
        return bad_key(s, ratio, "the motor of a ball joint has none: it meets an inertia about each axis; give it `kd`");
    return read_number(s, ratio, NOT_NEGATIVE, &motor->damping_ratio);
}

static bool read_motor(source *s, const node *n, scene_motor *motor)
{
    const node *v[MOTOR_KEYS];
    bool ok = true;
    *motor = (scene_motor){.link = -1,
                           .effort = INFINITY,
                           .gear = 1,
                           .damping_ratio = NAN,
                           .speed = INFINITY,
                           .least = -INFINITY,
                           .file = s->r->scene->files[s->file].path};
    if (!read_keys(s, n, "a motor", motor_keys, MOTOR_KEYS, v)) return false;
    if (!v[MOTOR_KEY_TYPE])
        ok = missing_key(s, n, "type",
                         "missing; a motor is of the type position, velocity or torque, or, on a link, thrust or moment");
    else ok = read_type(s, v[MOTOR_KEY_TYPE], &motor->type);
    const bool thrusts = motor->type >= MOTOR_THRUST;
    const node *const tendon = thrusts ? NULL : v[MOTOR_KEY_TENDON];
    const bool placed = thrusts  ? read_thruster(s, n, v, motor)
                        : tendon ? read_pulled(s, tendon, motor)
                                 : read_driven(s, n, v, motor);
    if (!ok || !placed) return false;
    for (int k = 0; k < MOTOR_KEYS; k++)
        if (v[k] && !(types[motor->type].keys & BIT(k)))
            ok = bad_key(s, v[k], "a motor of the type %s has none", types[motor->type].name);
        else if (v[k] && tendon && (NOT_OF_TENDONS & BIT(k))) ok = bad_key(s, v[k], "a motor on a tendon has none");
    if (thrusts) return ok;
    if (v[MOTOR_KEY_GEAR] && motor->told > 1) ok = bad_key(s, v[MOTOR_KEY_GEAR], "the motor of a ball joint has none");
    if (types[motor->type].gain < MOTOR_KEYS && !v[types[motor->type].gain])
        ok = missing_key(s, n, motor_keys[types[motor->type].gain].name, "missing; a motor of the type %s has one",
                         types[motor->type].name);
    if (!ok) return false;
    for (int k = 0; k < 2; k++) {
        const node *const gain = v[MOTOR_KEY_KP + k];
        if (gain) ok = read_number(s, gain, NOT_NEGATIVE, k ? &motor->kd : &motor->kp) && ok;
        motor->at[k] = (scene_place){(gain ? gain : n)->line, (gain ? gain : n)->column};
    }
    if (v[MOTOR_KEY_DAMPING_RATIO]) ok = read_damping_ratio(s, v, motor) && ok;
    if (v[MOTOR_KEY_KI]) ok = read_number(s, v[MOTOR_KEY_KI], NOT_NEGATIVE, &motor->ki) && ok;
    motor->winds = v[MOTOR_KEY_KI];
    if (motor->winds && motor->told > 1 && motor->type == MOTOR_VELOCITY)
        ok = bad_key(s, v[MOTOR_KEY_KI], "a servo of velocity on a ball joint has none; take one of position whose target moves");
    ok = read_targets(s, v, motor) && ok;
    return read_drive(s, n, v, motor) && ok;
}

// ---- one motor a degree of freedom

typedef struct {
    int link, dof, number;
} driven;

static int driven_order(const void *a, const void *b)
{
    const driven *const x = a, *const y = b;
    if (x->link != y->link) return (x->link > y->link) - (x->link < y->link);
    if (x->dof != y->dof) return (x->dof > y->dof) - (x->dof < y->dof);
    return (x->number > y->number) - (x->number < y->number);
}

/// `first` is the number of the first motor of the list `n`, of which all could be read.
static bool check_driven(source *s, const node *n, int first)
{
    const ctn_scene *const scene = s->r->scene;
    size_t count = 0;
    driven *const all = reader_alloc(s->r, (size_t)scene->nmotor * sizeof *all);
    const node **const nodes = reader_alloc(s->r, (size_t)n->size * sizeof *nodes);
    bool ok = all && nodes;
    if (ok) {
        int k = 0;
        for (const node *motor = n->child; motor; motor = motor->next) nodes[k++] = motor;
        for (int i = 0; i < scene->nmotor; i++)
            if (scene->motors[i].type < MOTOR_THRUST && !scene->motors[i].tendon)
                all[count++] = (driven){scene->motors[i].link, scene->motors[i].dof, i};
        if (count) qsort(all, count, sizeof *all, driven_order);
    }
    for (size_t i = 1; i < count && all && nodes; i++)
        if (all[i].link == all[i - 1].link && all[i].dof == all[i - 1].dof && all[i].number >= first)
            ok = bad_value(s, nodes[all[i].number - first], "the joint of '%s' has a motor already%s",
                           printable(scene->links[all[i].link].name).text,
                           joint_nv(scene->links[all[i].link].joint.type) > 1 ? " for this degree of freedom" : "");
    free(all), free(nodes);
    return ok;
}

bool read_motors(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of motors, found %s", found(n).text);
    const int first = scene->nmotor;
    scene_motor *const motors = realloc(scene->motors, ((size_t)first + (size_t)n->size + 1) * sizeof *motors);
    if (!motors) return out_of_memory(s);
    scene->motors = motors;
    bool ok = true;
    for (const node *motor = n->child; motor && !hopeless(s); motor = motor->next) {
        scene_motor *const to = &motors[scene->nmotor++];
        ok = read_motor(s, motor, to) && ok;
        to->entry = scene->nmotor - 1 - first;
    }
    return ok && check_driven(s, n, first);
}
