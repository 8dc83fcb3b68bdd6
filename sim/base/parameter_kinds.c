/// Names and rules of the kinds of parameters, as in docs/scene.md.
#include "sim/base/parameter_kinds.h"

#include <float.h>
#include <math.h>

#define ANY -DBL_MAX, DBL_MAX, false
#define NOT_NEGATIVE 0, DBL_MAX, false, NAN, "a number >= 0"
#define POSITIVE 0, DBL_MAX, true, NAN, "a positive number"

static const struct {
    const char *name;
    parameter_range range;
} kinds[] = {
    [CTN_GRAVITY] = {"gravity", {ANY, NAN, "a finite number"}},
    [CTN_MASS_SCALE] = {"mass_scale", {POSITIVE}},
    [CTN_ARMATURE] = {"armature", {NOT_NEGATIVE}},
    [CTN_DAMPING] = {"damping", {NOT_NEGATIVE}},
    [CTN_STIFFNESS] = {"stiffness", {NOT_NEGATIVE}},
    [CTN_REST] = {"rest", {ANY, NAN, "a finite number"}},
    [CTN_LIMIT_LOWER] = {"limit_lower", {ANY, -INFINITY, "a finite number"}},
    [CTN_LIMIT_UPPER] = {"limit_upper", {ANY, INFINITY, "a finite number"}},
    [CTN_LIMIT_STIFFNESS] = {"limit_stiffness", {POSITIVE}},
    [CTN_LIMIT_DAMPING] = {"limit_damping", {NOT_NEGATIVE}},
    [CTN_TIME_STEP] = {"time_step", {POSITIVE}},
    [CTN_SPRING_STIFFNESS] = {"spring_stiffness", {NOT_NEGATIVE}},
    [CTN_SPRING_DAMPING] = {"spring_damping", {NOT_NEGATIVE}},
    [CTN_SPRING_ANCHOR] = {"spring_anchor", {ANY, NAN, "a finite number"}},
    [CTN_FORCE] = {"force", {ANY, NAN, "a finite number"}},
    [CTN_TORQUE] = {"torque", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_TARGET] = {"motor_target", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_VELOCITY] = {"motor_velocity", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_FEEDFORWARD] = {"motor_feedforward", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_KP] = {"motor_kp", {NOT_NEGATIVE}},
    [CTN_MOTOR_KD] = {"motor_kd", {NOT_NEGATIVE}},
    [CTN_MOTOR_EFFORT] = {"motor_effort", {0, DBL_MAX, false, INFINITY, "a number >= 0"}},
    [CTN_FRICTION] = {"friction", {NOT_NEGATIVE}},
    [CTN_CURRENT] = {"current", {ANY, NAN, "a finite number"}},
    [CTN_DRAG_SCALE] = {"drag_scale", {NOT_NEGATIVE}},
    [CTN_MOTOR_ROTATION] = {"motor_rotation", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_SPIN] = {"motor_spin", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_TORQUE] = {"motor_torque", {ANY, NAN, "a finite number"}},
    [CTN_MOTOR_KI] = {"motor_ki", {NOT_NEGATIVE}},
    [CTN_MOTOR_SPEED] = {"motor_speed", {0, DBL_MAX, true, INFINITY, "a positive number"}},
    [CTN_GROUND_FRICTION] = {"ground_friction", {NOT_NEGATIVE}},
    [CTN_GROUND_DEPTH] = {"ground_depth", {POSITIVE}},
    [CTN_CONTACT_FRICTION] = {"contact_friction", {NOT_NEGATIVE}},
    [CTN_PAIR_FRICTION_SCALE] = {"pair_friction_scale", {NOT_NEGATIVE}},
    [CTN_PAIR_DEPTH_SCALE] = {"pair_depth_scale", {POSITIVE}},
};
_Static_assert(sizeof kinds / sizeof *kinds == PARAMETER_KINDS, "every kind is in the table");

/// Half the angle of a ball's cone.
static const parameter_range cone = {0, 3.14159265358979323846, true, INFINITY, "an angle in (0, pi] for a ball joint"};

const char *ctn_parameter_name(ctn_parameter_kind kind) { return (unsigned)kind < PARAMETER_KINDS ? kinds[kind].name : NULL; }

const char *parameter_objection(ctn_parameter_kind kind, ctn_joint_type joint, bool limited)
{
    if (kind == CTN_MASS_SCALE || kind == CTN_DRAG_SCALE || kind == CTN_CONTACT_FRICTION) return NULL;
    if (joint == CTN_FIXED) return "is fixed: it has no parameters";
    if (kind == CTN_DAMPING) return NULL;
    if (joint == CTN_FREE) return "is free: of a joint's parameters it has damping alone";
    if (joint == CTN_BALL && kind == CTN_REST) return "is a ball: its rest is no number";
    if (joint == CTN_BALL && kind == CTN_LIMIT_LOWER) return "is a ball: it has no lower limit";
    if (kind == CTN_FRICTION) return joint == CTN_BALL ? "is a ball: it has no dry friction in this version" : NULL;
    if (kind >= CTN_LIMIT_LOWER && !limited) return "has no limits; give it `limits` in the scene";
    return NULL;
}

parameter_range parameter_values(ctn_parameter_kind kind, ctn_joint_type joint)
{
    return kind == CTN_LIMIT_UPPER && joint == CTN_BALL ? cone : kinds[kind].range;
}

bool parameter_of_motor(ctn_parameter_kind kind)
{
    return (kind >= CTN_MOTOR_TARGET && kind <= CTN_MOTOR_EFFORT) || (kind >= CTN_MOTOR_ROTATION && kind <= CTN_MOTOR_SPEED);
}

bool parameter_of_ground(ctn_parameter_kind kind) { return kind == CTN_GROUND_FRICTION || kind == CTN_GROUND_DEPTH; }
bool parameter_of_pairs(ctn_parameter_kind kind) { return kind == CTN_PAIR_FRICTION_SCALE || kind == CTN_PAIR_DEPTH_SCALE; }
bool parameter_of_contact(ctn_parameter_kind kind) { return parameter_of_ground(kind) || kind == CTN_CONTACT_FRICTION; }

int parameter_components(ctn_parameter_kind kind) { return kind >= CTN_MOTOR_ROTATION && kind <= CTN_MOTOR_TORQUE ? 3 : 1; }

bool motor_has(motor_traits of, ctn_parameter_kind kind)
{
    const motor_type type = of.type;
    const int told = of.told;
    switch (kind) {
    case CTN_MOTOR_TARGET: return told == 1;
    case CTN_MOTOR_VELOCITY: return told == 1 && type == MOTOR_POSITION;
    case CTN_MOTOR_FEEDFORWARD: return told == 1 && type < MOTOR_TORQUE;
    case CTN_MOTOR_ROTATION: return told == 3 && type == MOTOR_POSITION;
    case CTN_MOTOR_SPIN: return told == 3 && type != MOTOR_TORQUE;
    case CTN_MOTOR_TORQUE: return told == 3;
    case CTN_MOTOR_KP: return type == MOTOR_POSITION;
    case CTN_MOTOR_KD: return type < MOTOR_TORQUE;
    case CTN_MOTOR_KI: return of.winds;
    case CTN_MOTOR_SPEED: return of.fast;
    default: return true;
    }
}

motor_traits traits_of_motor(const ctn_model *m, const joint_motor *a)
{
    const bool ball = a->type < MOTOR_THRUST && !a->tendon && m->bodies[a->body].kind == JOINT_BALL;
    return (motor_traits){.type = a->type, .told = ball ? 3 : 1, .winds = a->wound >= 0, .fast = a->fast};
}

bool parameter_allows(const parameter_range *r, double x)
{
    return (x >= r->least && x <= r->most && !(r->above && x == r->least)) || x == r->unlimited;
}
