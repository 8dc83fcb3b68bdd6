/// Forward kinematics, and the centre of mass out of it.
#include "render/poses.h"

void world_poses(ctn_dynamics *dyn, const ctn_model *model, const double *mass_scale, const double *q, const double *offset,
                 double *R, double *p, double *com)
{
    double mass = 0;
    ctn_forward_kinematics(dyn, 1, q, R, p);
    com[0] = com[1] = com[2] = 0;
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const ctn_link *const l = ctn_model_link(model, i);
        const double m = l->mass * (mass_scale ? mass_scale[i] : 1);
        mass += m;
        for (int k = 0; k < 3; k++) {
            const double *const row = R + 9 * (size_t)i + 3 * k;
            p[3 * (size_t)i + (size_t)k] += offset[k];
            com[k] += m * (p[3 * (size_t)i + (size_t)k] + row[0] * l->com[0] + row[1] * l->com[1] + row[2] * l->com[2]);
        }
    }
    for (int k = 0; k < 3; k++) com[k] = mass > 0 ? com[k] / mass : offset[k];
}
