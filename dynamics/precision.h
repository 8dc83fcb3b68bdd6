/// Numbers that depend on how many digits a real has: 53 bits in every engine but "cuda-float", which is compiled with
/// CATENA_FLOAT (docs/batches.md says what becomes of accuracy there).
#ifndef CATENA_PRECISION_H
#define CATENA_PRECISION_H

#include "dynamics/model.h"

#ifdef CATENA_FLOAT
#define REAL_MAX_ANGLE 1.0e4  // rad, as CTN_MAX_ANGLE
#define REAL_MAX_TURN 1.0e3   // as CTN_MAX_TURN
#define NOT_REACHED 1e30      // more than any residual, squared residual or energy that is of use
#define SOLVE_FLOOR 2e-3      // residual, relative, up to which a solve may end because rounding lets it fall no more
#define PLACE_FLOOR 1e-2      // of a body's own extent: larger steps than this are no rounding
#define HELD_DIGITS 1e-3      // of the extent: what rounding leaves uncertain of where a spring holds a body, over SOLVE_FLOOR
#define ENERGY_ROUNDING 1e-5  // of an energy, relative: what summing it leaves uncertain
#define PLACE_ROUNDING 5e-7   // of the axes of a body, after one joint: sqrt(n) times as much after n
#define GAP_ROUNDING 1e-5     // of the lengths that a gap is made of: what is clear by more is so however it is added up
#define LEAST_PART 1e-5       // of a step: an adaptive method makes no smaller ones
#define LEAST_TOLERANCE 2e-6  // of a solve: what is asked for below it is not to be had
#define LEAST_ERROR 1e-4      // of an adaptive step, likewise
#define NEAREST_WHOLE 12582912.0  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
#define HALF_PI 1.57079637050628662
#define HALF_PI_REST -4.37113900018624283e-08
#else
#define REAL_MAX_ANGLE CTN_MAX_ANGLE
#define REAL_MAX_TURN CTN_MAX_TURN
#define NOT_REACHED 1e300
#define SOLVE_FLOOR 1e-10
#define PLACE_FLOOR 1e-5
#define HELD_DIGITS 1e-5
#define ENERGY_ROUNDING 1e-12
#define PLACE_ROUNDING 1e-15
#define GAP_ROUNDING 1e-9
#define LEAST_PART 1e-12
#define LEAST_TOLERANCE 0.0
#define LEAST_ERROR 0.0
#define NEAREST_WHOLE 6755399441055744.0
#define HALF_PI 1.57079632679489656
#define HALF_PI_REST 6.12323399573676604e-17
#endif

#endif
