/// How a point stands at a surface, and what the distances of solid bodies share.
#ifndef CATENA_SURFACE_POINT_H
#define CATENA_SURFACE_POINT_H

#include "dynamics/spatial.h"

/// A point at a surface: its gap, the gradient, and across it the plane of friction has the normal `face`, a unit vector.
typedef struct {
    real gap;
    vec3 n, face;
} surface_point;

FN real sign_of(real x) { return sel(lt(x, rset(0)), rset(-1), rset(1)); }
FN real above_zero(real x) { return sel(gt(x, rset(0)), x, rset(0)); }

#endif
