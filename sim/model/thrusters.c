/// Thrusters of a model: their loads, and what these give.
#include "sim/model/thrusters.h"

#include "sim/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int count_thrusters(const ctn_scene *scene)
{
    int count = 0;
    for (int k = 0; k < scene->nmotor; k++) count += scene->motors[k].type >= MOTOR_THRUST;
    return count;
}

/// Whether the scene's controller tells motor k.
static bool is_controlled(const ctn_scene *scene, int k)
{
    for (int i = 0; i < scene->controller.nmotor; i++)
        if (scene->controller.motors[i] == k) return true;
    return false;
}

/// The load is of what is told in the moment.
static void drive(ctn_model *m, point_load *o)
{
    o->flags |= LOAD_DRIVEN, m->driven = true;
    for (int i = 0; i < 3; i++) o->force[i] = o->push[i], o->torque[i] = o->push[3 + i];
}

void add_thrusters(ctn_model *m, const ctn_scene *scene, point_load *loads, int first)
{
    for (int k = 0; k < scene->nmotor; k++) {
        const scene_motor *const s = &scene->motors[k];
        if (s->type < MOTOR_THRUST) continue;
        const bool turns = s->type == MOTOR_MOMENT || s->reaction != 0,
                   moves = s->moves[TOLD_FEEDFORWARD][0] || is_controlled(scene, k);
        point_load *const o = loads++;
        *o = (point_load){.body = m->frames[s->link].body,
                          .number = first++,
                          .link = s->link,
                          .flags = LOAD_FOLLOWS | (turns ? LOAD_TURNS : 0u),
                          .motor = k + 1};
        for (int i = 0; i < 3; i++) {
            const double e = s->axis[i];
            o->push[i] = s->type == MOTOR_THRUST ? e : 0, o->push[3 + i] = s->type == MOTOR_THRUST ? s->reaction * e : e;
        }
        body_point(m, s->link, s->point, o->point);
        if (moves) drive(m, o);
    }
}

void set_thrusts(ctn_model *m)
{
    for (int k = 0; k < m->nload; k++) {
        point_load *const o = &m->loads[k];
        if (!o->motor || (o->flags & LOAD_DRIVEN)) continue;
        const joint_motor *const a = &m->motors[o->motor - 1];
        const double thrust = fmax(fmin(a->feedforward[0], a->effort), a->least);
        for (int i = 0; i < 3; i++) o->force[i] = thrust * o->push[i], o->torque[i] = thrust * o->push[3 + i];
    }
}

static bool stays(const point_load *o) { return o->motor && !(o->flags & LOAD_DRIVEN); }

bool model_has_still_thrusters(const ctn_model *m)
{
    for (int k = 0; k < m->nload; k++)
        if (stays(&m->loads[k])) return true;
    return false;
}

ctn_model *model_with_told_thrusters(const ctn_model *m)
{
    ctn_model *const to = malloc(sizeof *to + ((size_t)m->nload + 1) * sizeof *to->loads);
    if (!to) return NULL;
    *to = *m;
    to->loads = (point_load *)(void *)(to + 1);
    memcpy(to->loads, m->loads, (size_t)m->nload * sizeof *m->loads);
    for (int k = 0; k < to->nload; k++)
        if (stays(&to->loads[k])) drive(to, &to->loads[k]);
    return to;
}
