/// Parameters of a model that can differ from world to world.
#ifndef CATENA_PARAMETERS_H
#define CATENA_PARAMETERS_H

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ctn_parameter_kind {
    CTN_GRAVITY,     // a component, m/s^2
    CTN_MASS_SCALE,  // of a link: mass and inertia are those of the scene times this
    CTN_ARMATURE,    // the others are those of a link's joint, as in scene files
    CTN_DAMPING,
    CTN_STIFFNESS,
    CTN_REST,
    CTN_LIMIT_LOWER,
    CTN_LIMIT_UPPER,
    CTN_LIMIT_STIFFNESS,
    CTN_LIMIT_DAMPING
} ctn_parameter_kind;

/// One number.
typedef struct ctn_parameter {
    ctn_parameter_kind kind;
    int index;  // gravity: component 0 .. 2 (x, y, z); else the link
} ctn_parameter;

/// "gravity", "mass_scale", "armature", "damping", "stiffness", "rest", "limit_lower", "limit_upper", "limit_stiffness" or
/// "limit_damping"; NULL for a value out of range.
CTN_API const char *ctn_parameter_name(ctn_parameter_kind kind);

#ifdef __cplusplus
}
#endif
#endif
