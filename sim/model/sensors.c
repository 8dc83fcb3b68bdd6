/// Sensors of a model: compiled from those of a scene, and questions about them.
#include "sim/base/sensor_types.h"
#include "sim/model/bodies.h"
#include "sim/model/model.h"
#include "sim/scene/scene.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void sense_its_joint(const ctn_model *m, const scene_sensor *s, model_sensor *to)
{
    if (s->motor >= 0) {  // a thruster, or on a tendon
        to->motor = s->motor, to->about.count = 1;
        return;
    }
    const ctn_link *const l = &m->links[s->link];
    to->qadr = l->qadr, to->nq = l->nq, to->vadr = l->vadr, to->nv = l->nv;
    if (s->dof >= 0) to->qadr += s->dof, to->vadr += s->dof, to->nq = to->nv = 1;
    to->about.count = s->type == CTN_SENSE_JOINT_POSITION ? to->nq : to->nv;
    if (s->type != CTN_SENSE_MOTOR_EFFORT) return;
    for (int k = 0; k < m->nmotor; k++) {
        const ctn_body *const b = &m->bodies[m->motors[k].body];
        if (m->motors[k].type >= MOTOR_THRUST || m->motors[k].tendon) continue;
        if (to->vadr >= b->vadr && to->vadr < b->vadr + b->nv) to->motor = k;
    }
}

static void sense_frames(const ctn_model *m, const scene_sensor *s, model_sensor *to)
{
    const ctn_frame *const F = &m->frames[s->link];
    double own[9];
    rotation_matrix(s->axes, own);
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++) to->R[i] += F->R[i - i % 3 + k] * own[3 * k + i % 3];
    to->body = F->body;
    body_point(m, s->link, s->point, to->p);
    memcpy(to->to_p, s->to_point, sizeof to->to_p);
    if (s->to_link < 0) return;
    to->to_body = m->frames[s->to_link].body;
    body_point(m, s->to_link, s->to_point, to->to_p);
}

/// The first of the bodies that carry a link and make up its joint; of a fixed link the one that carries it.
static int joint_body(const ctn_model *m, int link)
{
    int body = m->frames[link].body;
    while (m->links[link].nv && m->bodies[body].vadr > m->links[link].vadr) body = m->bodies[body].parent;
    return body;
}

/// What the joint of a link carries, or what is fixed to it holds: the link, and all that hangs on it. False: no memory.
static bool sense_reactions(const ctn_model *m, const ctn_scene *scene, int link, model_sensor *to)
{
    bool *const bodies = calloc((size_t)m->nbody + 1, sizeof *bodies), *const links = calloc((size_t)m->nlink + 1, sizeof *links);
    to->carries_body = bodies, to->carries_link = links;
    if (!bodies || !links) return false;
    for (int l = link; l < m->nlink; l++) {
        const int up = m->links[l].parent;
        links[l] = l == link || (up >= link && links[up]);
        if (links[l] && m->links[l].nv) bodies[m->frames[l].body] = true;
    }
    if (!m->links[link].nv) mass_of_links(m, scene, links, to->body, &to->part_mass, to->part_h, to->part_I);
    return true;
}

bool compile_sensors(ctn_model *m, const ctn_scene *scene)
{
    m->sensors = calloc((size_t)scene->nsensor + 1, sizeof *m->sensors);
    int first = 0;
    for (; m->sensors && m->nsensor < scene->nsensor; m->nsensor++) {
        const scene_sensor *const s = &scene->sensors[m->nsensor];
        const sensor_type *const type = &sensor_types[s->type];
        model_sensor *const to = &m->sensors[m->nsensor];
        *to = (model_sensor){.needs = type->needs, .motor = -1, .bond = s->bond, .body = -1, .to_body = -1};
        to->about = (ctn_sensor){.name = strdup(s->name),
                                 .type = s->type,
                                 .link = s->link,
                                 .dof = s->dof,
                                 .to_link = s->to_link,
                                 .delay = s->delay,
                                 .radius = s->radius,
                                 .first = first,
                                 .count = type->count};
        if (s->bond >= 0) to->about.bond = strdup(scene->bonds[s->bond].name);
        if (!to->about.name || (s->bond >= 0 && !to->about.bond)) {
            m->nsensor++;  // to be freed
            return false;
        }
        memcpy(to->about.point, s->point, sizeof s->point), memcpy(to->about.axes, s->axes, sizeof s->axes);
        memcpy(to->about.to_point, s->to_point, sizeof s->to_point), memcpy(to->about.noise, s->noise, sizeof s->noise);
        if (type->of <= SENSOR_OF_MOTOR) sense_its_joint(m, s, to);
        else if (type->of < SENSOR_OF_TREE) sense_frames(m, s, to);
        if (type->needs & SENSOR_REACTIONS && !sense_reactions(m, scene, s->link, to)) {
            m->nsensor++;  // to be freed
            return false;
        }
        to->whole = s->link < 0, to->end_body = m->nbody;
        if (type->of == SENSOR_OF_TREE && s->link >= 0)
            to->first_body = joint_body(m, s->link), to->end_body = m->bodies[to->first_body].end;
        first += to->about.count;
    }
    return m->sensors;
}

void free_sensors(ctn_model *m)
{
    for (int k = 0; k < m->nsensor; k++) {
        model_sensor *const s = &m->sensors[k];
        free((char *)(uintptr_t)s->about.name), free((char *)(uintptr_t)s->about.bond);
        free((bool *)(uintptr_t)s->carries_body), free((bool *)(uintptr_t)s->carries_link);
    }
    free(m->sensors);
}

int ctn_model_nsensor(const ctn_model *m) { return m ? m->nsensor : 0; }

int ctn_model_sensor_numbers(const ctn_model *m)
{
    const ctn_sensor *const last = ctn_model_sensor(m, ctn_model_nsensor(m) - 1);
    return last ? last->first + last->count : 0;
}

const ctn_sensor *ctn_model_sensor(const ctn_model *m, int sensor)
{
    return m && sensor >= 0 && sensor < m->nsensor ? &m->sensors[sensor].about : NULL;
}

int ctn_model_find_sensor(const ctn_model *m, const char *name)
{
    for (int k = 0; m && name && k < m->nsensor; k++)
        if (!strcmp(m->sensors[k].about.name, name)) return k;
    return -1;
}
