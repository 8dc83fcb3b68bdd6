/// The public calls of catena/motors.h.
#include "sim/base/parameter_kinds.h"
#include "sim/batch/dynamics.h"

#include <catena/motors.h>

int ctn_model_ntarget(const ctn_model *m) { return m ? m->ncontrol : 0; }

void ctn_model_target_parameters(const ctn_model *m, ctn_parameter *list)
{
    static const ctn_parameter_kind of_ball[] = {
        [MOTOR_POSITION] = CTN_MOTOR_ROTATION, [MOTOR_VELOCITY] = CTN_MOTOR_SPIN, [MOTOR_TORQUE] = CTN_MOTOR_TORQUE};
    for (int k = 0; m && list && k < m->nmotor; k++) {
        const joint_motor *const a = &m->motors[k];
        const int told = traits_of_motor(m, a).told;
        for (int c = 0; c < told; c++)
            list[a->control + c] = (ctn_parameter){told > 1 ? of_ball[a->type] : CTN_MOTOR_TARGET, told * k + c};
    }
}

void ctn_model_targets(const ctn_model *m, double *u)
{
    for (int k = 0; m && u && k < m->nmotor; k++) {
        const joint_motor *const a = &m->motors[k];
        const double *const x = a->type == MOTOR_POSITION ? a->target : a->type == MOTOR_VELOCITY ? a->velocity : a->feedforward;
        for (int c = 0; c < traits_of_motor(m, a).told; c++) u[a->control + c] = x[c];
    }
}

void ctn_motor_map(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *u, double *tau)
{
    if (!dyn || count < 1 || !dyn->model->nv || !q || !v || !tau) return;
    (count > 1 ? dyn->many : dyn->one)
        ->motor_map(count > 1 ? dyn->lanes : dyn->lane, dyn->scratch, count, q, v, u, tau, NULL, NULL, NULL);
}

void ctn_motor_map_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *u, double *dtau_dq,
                               double *dtau_dv, double *dtau_du)
{
    if (!dyn || count < 1 || !dyn->model->nv || !q || !v || (!dtau_dq && !dtau_dv && !dtau_du)) return;
    (count > 1 ? dyn->many : dyn->one)
        ->motor_map(count > 1 ? dyn->lanes : dyn->lane, dyn->scratch, count, q, v, u, NULL, dtau_dq, dtau_dv, dtau_du);
}
