/// Knots of explicit steps of joints that add up, linearised by the derivatives of accelerations a(q, v, u):
///
///     euler: q' = q + h v, v' = v + h a      semi-implicit: v' = v + h a, q' = q + h v'
///     rk2, rk3, rk4: stage by stage, what changes by x and u going along
///
/// which costs less than to go back over the steps themselves. All knots go over lanes and threads.
#ifndef CATENA_CONTROL_ACCELERATIONS_H
#define CATENA_CONTROL_ACCELERATIONS_H

#include "sim/base/pool.h"

#include <catena/batch.h>
#include <catena/model.h>

typedef struct accelerations accelerations;

/// Whether a knot of `hold` steps is no more than that.
bool accelerations_suffice(const ctn_model *m, const ctn_batch_config *cfg, int hold);

/// What is known of motors: nothing; that they are torques along joints and thrusters, whose forces go by what they are told
/// and by positions; that they are such torques alone, which do not go by positions; and that these have no effort, which
/// bends them.
typedef enum motors_are { MOTORS_ANY, MOTORS_PUSH, MOTORS_TORQUES, MOTORS_PLAIN } motors_are;

/// Bytes of a knot.
size_t accelerations_bytes(const ctn_model *m, const ctn_batch_config *cfg);

/// For that configuration, and so many knots; keeps `threads`. The model must last. NULL: see err.
accelerations *accelerations_open(const ctn_model *m, const ctn_batch_config *cfg, int knots, motors_are motors, pool *threads,
                                  ctn_error *err);
void accelerations_close(accelerations *a);  // NULL is allowed

/// A [knots][2 nv][2 nv], B [knots][2 nv][nu] at q [knots][nq], v [knots][nv], u [knots][nu]. CTN_INTERRUPTED: `interrupt` of the
/// configuration ended it, and they are not all there.
ctn_status accelerations_linearise(accelerations *a, const double *q, const double *v, const double *u, double *A, double *B,
                                   ctn_error *err);

#endif
