/// Parameters of a model that can differ from world to world.
#ifndef CATENA_PARAMETERS_H
#define CATENA_PARAMETERS_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ctn_parameter_kind {
    CTN_GRAVITY,            // a component, m/s^2
    CTN_MASS_SCALE,         // of a link, > 0: mass and inertia are those of the scene times this
    CTN_ARMATURE,           // of a link's joint, >= 0, every degree of freedom alike: kg m^2 or kg; not of free joints
    CTN_DAMPING,            // likewise: N m s/rad or N s/m; of free joints, too
    CTN_STIFFNESS,          // likewise: N m/rad or N/m; not of free joints
    CTN_REST,               // where springs are at rest, rad or m; not of ball and free joints
    CTN_LIMIT_LOWER,        // of joints with `limits` in the scene, as the next three; rad or m, -infinity: none; not of balls
    CTN_LIMIT_UPPER,        // above the lower one, rad or m, infinity: none; ball: half the angle of the cone, in (0, pi]
    CTN_LIMIT_STIFFNESS,    // N m/rad or N/m, > 0
    CTN_LIMIT_DAMPING,      // N m s/rad or N s/m, >= 0
    CTN_TIME_STEP,          // dt of the world, s, > 0
    CTN_SPRING_STIFFNESS,   // of one of the scene's `springs`, in its order, >= 0: N/m
    CTN_SPRING_DAMPING,     // likewise: N s/m; not with the method variational
    CTN_SPRING_ANCHOR,      // likewise, a component of where it holds its link, m, world
    CTN_FORCE,              // of one of the scene's `forces`, a component, N, in the axes that the scene names
    CTN_TORQUE,             // likewise of one with a `torque`, N m
    CTN_MOTOR_TARGET,       // of one of the scene's `motors`, in its order: rad or m, rad/s or m/s, N m or N, by its type
    CTN_MOTOR_VELOCITY,     // likewise of type position: its `velocity_target`, rad/s or m/s
    CTN_MOTOR_FEEDFORWARD,  // likewise of types position and velocity, N m or N
    CTN_MOTOR_KP,           // likewise of type position, >= 0: N m/rad or N/m
    CTN_MOTOR_KD,           // likewise of types position and velocity, >= 0: N m s/rad or N s/m; not with the method variational
    CTN_MOTOR_EFFORT,       // likewise of all types, >= 0, infinity: no limit; N m or N; of thrusters the upper limit
    CTN_FRICTION,           // dry, of a link's joint, >= 0, every degree of freedom alike: N m or N; not of ball and free joints
    CTN_CURRENT,            // a component of the velocity of the scene's `fluid`, m/s, world; where something has drag in it
    CTN_DRAG_SCALE,         // of a link that has drag in it, >= 0: its drag is that of the scene times this
    CTN_MOTOR_ROTATION,     // of a position motor on a ball: a component of its target, a rotation vector, rad
    CTN_MOTOR_SPIN,         // of one on a ball, types position, velocity: a component of what it aims at, rad/s, link axes
    CTN_MOTOR_TORQUE,       // likewise of all types: of its feedforward, or torque, N m; balls have no motor_target, velocity
                            // and feedforward
    CTN_MOTOR_KI,           // of motors that have `ki`, >= 0: N m/(rad s) or N/(m s); of servos of velocity N m/rad or N/m
    CTN_MOTOR_SPEED,        // of motors that have `speed`, or whose joint has it, > 0, infinity: no limit; rad/s or m/s
    CTN_GROUND_FRICTION,    // of the scene's `contact`, >= 0: of all shapes that have no friction of their own
    CTN_GROUND_DEPTH,      // likewise, > 0, m: of the tree that sinks the deepest; others keep their share of it, and the damper,
                           // where the scene has no `relaxation`, stays critical
    CTN_CONTACT_FRICTION,  // of all contact points of a link, >= 0
    CTN_PAIR_FRICTION_SCALE,  // >= 0: where links touch each other, friction is that of the scene times this
    CTN_PAIR_DEPTH_SCALE,     // > 0: likewise how deep they press into each other; dampers keep their relaxation
} ctn_parameter_kind;

/// One number.
typedef struct ctn_parameter {
    ctn_parameter_kind kind;
    int index;  // gravity and current: component 0 .. 2 (x, y, z); time_step and what is the ground's or of pairs: 0; springs and motors:
                // which; vectors of these (anchors, forces, torques, rotation, spin and torque of balls): 3 times that +
                // component; else the link
} ctn_parameter;

/// "gravity", "mass_scale", "armature", "damping", "stiffness", "rest", "limit_lower", "limit_upper", "limit_stiffness",
/// "limit_damping", "time_step", "spring_stiffness", "spring_damping", "spring_anchor", "force", "torque", "motor_target",
/// "motor_velocity", "motor_feedforward", "motor_kp", "motor_kd", "motor_effort", "friction", "current", "drag_scale",
/// "motor_rotation", "motor_spin", "motor_torque", "motor_ki", "motor_speed", "ground_friction", "ground_depth",
/// "contact_friction", "pair_friction_scale" or "pair_depth_scale"; NULL for a value out of range.
CTN_API const char *ctn_parameter_name(ctn_parameter_kind kind);

/// What the model has for a parameter; 1 for scales of mass and drag; the first degree of freedom's where there are several. Returns
/// CTN_BAD_ARGUMENT if the parameter does not belong to the model (or is time_step, which is the configuration's).
CTN_API ctn_status ctn_model_parameter(const ctn_model *model, ctn_parameter parameter, double *value, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
