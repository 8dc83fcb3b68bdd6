/// Forward kinematics, masses, and the centre of mass out of both.
#include "render/draw/poses.h"

#include "render/draw/instances.h"
#include "render/draw/vectors.h"
#include "sim/model/surfaces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/// How high a point is above the terrain, along `up`, its axis, m; beyond its border as above that.
static double over_terrain(const scene_terrain *t, const fixed_surface *f, const double *point, double *up)
{
    double R[9], x[3] = {0};
    quaternion_matrix(t->rotation, R);
    for (int k = 0; k < 3; k++) {
        up[k] = R[3 * k + 2];
        for (int i = 0; i < 3; i++) x[k] += R[3 * i + k] * (point[i] - t->position[i]);
    }
    for (int k = 0; k < 2; k++) x[k] = fmin(fmax(x[k], -t->size[k] / 2), t->size[k] / 2);
    return x[2] - terrain_height(f, x[0], x[1]);
}

void world_followed(const ctn_scene *scene, const ctn_model *model, double radius, const double *offset, const double *com,
                    double *place)
{
    enum { STAYS = 4 };
    const scene_contact *const c = &scene->contact;
    const double at[3] = {com[0] - offset[0], com[1] - offset[1], com[2] - offset[2]};
    double height = INFINITY, up[3] = {0};
    memmove(place, com, 3 * sizeof *com);
    if (c->ground) height = vector_dot(c->normal, at) - c->height, memcpy(up, c->normal, sizeof up);
    if (c->terrain.columns) {
        double axis[3];
        const double over = over_terrain(&c->terrain, &model->surfaces[model->nsurface - 1], at, axis);
        if (!(height >= 0 && height < over)) height = over, memcpy(up, axis, sizeof up);
    }
    if (!isfinite(height)) return;
    for (int k = 0; k < 3; k++) place[k] -= fmin(fmax(height, 0), STAYS * radius) * up[k];
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
