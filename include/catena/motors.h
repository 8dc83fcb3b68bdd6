/// Motors as a map from what they are told to forces along the joints: tau(q, v, u), and its derivatives.
///
/// u are the *targets* of a model's motors, in the order of the scene: one number each, of a motor on a ball three. Of a motor of
/// the type position that is an angle or a distance (rad, m; of a tendon its length; of a ball a rotation vector), on its side of the gear; velocity:
/// rad/s or m/s; torque: N m or N; of a thruster the thrust, N, or the moment, N m. These are the parameters motor_target, and of
/// balls motor_rotation, motor_spin or motor_torque (catena/parameters.h). To a target that moves u is added, at the time of
/// ctn_dynamics_set_time. All else that motors have, as gains, limits and feedforward, is the model's; integral terms are 0.
#ifndef CATENA_MOTORS_OF_MODELS_H
#define CATENA_MOTORS_OF_MODELS_H

#include <catena/dynamics.h>
#include <catena/parameters.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Number of targets nu of all motors; 0 for NULL.
CTN_API int ctn_model_ntarget(const ctn_model *model);

/// The model's own targets u [nu].
CTN_API void ctn_model_targets(const ctn_model *model, double *u);

/// The parameters that the targets are: list [nu].
CTN_API void ctn_model_target_parameters(const ctn_model *model, ctn_parameter *list);

/// What motors that are told u [count][nu] (NULL: the model's own) give along the joints at q and v: tau [count][nv], N m or N.
/// All that ctn_passive has of motors and thrusters, and nothing else: motors on tendons, which steps solve for, give nothing here.
CTN_API void ctn_motor_map(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *u, double *tau);

/// Its derivatives, analytic: dtau_dq, dtau_dv [count][nv][nv] and dtau_du [count][nv][nu], row i that of tau[i]; each may be
/// NULL. By q in tangent coordinates, as ctn_aba_derivatives. Where a limit is just reached they are one-sided. O(links) a row.
CTN_API void ctn_motor_map_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *u,
                                       double *dtau_dq, double *dtau_dv, double *dtau_du);

#ifdef __cplusplus
}
#endif
#endif
