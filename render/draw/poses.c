/// Forward kinematics, masses, and the centre of mass out of both.
#include "render/draw/poses.h"

#include <stdlib.h>

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

bool drawn_masses(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t first, int worlds, int64_t all,
                  double **scale)
{
    const int count = ctn_scene_parameters(scene, model, NULL);
    const size_t links = (size_t)ctn_model_nlink(model), room = (size_t)worlds * links;
    *scale = NULL;
    if (!count) return true;
    ctn_parameter *const list = malloc((size_t)count * sizeof *list);
    double *const values = malloc((size_t)count * sizeof *values), *const made = malloc((room + 1) * sizeof *made);
    const bool ok = list && values && made;
    bool drawn = false;
    if (ok) ctn_scene_parameters(scene, model, list);
    for (size_t k = 0; k < room && ok; k++) made[k] = 1;
    for (int w = 0; w < worlds && ok; w++) {
        ctn_sample_parameters(scene, model, seed, first + w, all, values);
        for (int k = 0; k < count; k++)
            if (list[k].kind == CTN_MASS_SCALE) made[(size_t)w * links + (size_t)list[k].index] = values[k], drawn = true;
    }
    free(list), free(values);
    if (ok && drawn) *scale = made;
    else free(made);
    return ok;
}
