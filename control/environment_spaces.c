#include "control/environment_spaces.h"

#include "dynamics/sensor.h"
#include "sim/base/sensor_types.h"
#include "sim/base/status.h"
#include "sim/batch/batch_controller.h"

#include <catena/record.h>
#include <catena/sensors.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

// ---- actions

/// Whether the number of a motor moves with time by itself.
static bool moves(const joint_motor *a, int number)
{
    const motor_told told = a->type == MOTOR_POSITION   ? TOLD_TARGET
                            : a->type == MOTOR_VELOCITY ? TOLD_VELOCITY
                                                        : TOLD_FEEDFORWARD;
    return a->moves[told][number] > 0;
}

/// What a motor can do, in the unit of its target.
static void bounds_of_motor(const ctn_scene *scene, const scene_motor *s, const joint_motor *a, double bounds[2])
{
    const scene_joint *const joint = &scene->links[s->link].joint;
    bounds[0] = -INFINITY, bounds[1] = INFINITY;
    switch (a->type) {
    case MOTOR_TORQUE: bounds[0] = -a->effort, bounds[1] = a->effort; return;
    case MOTOR_VELOCITY: bounds[0] = -a->speed, bounds[1] = a->speed; return;
    case MOTOR_THRUST:
    case MOTOR_MOMENT: bounds[0] = a->least, bounds[1] = a->effort; return;
    case MOTOR_POSITION: break;
    }
    if (a->tendon) return;
    if (s->told == 3) bounds[0] = -PI, bounds[1] = PI;
    else if (joint->limited[s->dof]) {
        const double lo = a->gear * joint->limits[s->dof][0], hi = a->gear * joint->limits[s->dof][1];
        bounds[0] = fmin(lo, hi), bounds[1] = fmax(lo, hi);
    }
}

/// "hip", of several numbers "hip[1]".
static void name_number(char *name, const char *prefix, const char *of, int number, int count)
{
    if (count > 1) snprintf(name, SPACE_NAME, "%s%s[%d]", prefix, of, number);
    else snprintf(name, SPACE_NAME, "%s%s", prefix, of);
}

/// The motor that has a target.
static int motor_of(const ctn_model *m, int target)
{
    int k = 0;
    while (k + 1 < m->nmotor && m->motors[k + 1].control <= target) k++;
    return k;
}

/// By the joint, or the link that is pushed; of several of one joint or link, "trunk[1]".
static void name_action(const ctn_scene *scene, const ctn_model *m, int target, char *name)
{
    const int k = motor_of(m, target);
    const scene_motor *const s = &scene->motors[k];
    int number = target - m->motors[k].control, count = s->told;
    if (m->motors[k].type >= MOTOR_THRUST) {
        number = count = 0;
        for (int j = 0; j < m->nmotor; j++) {
            if (m->motors[j].type < MOTOR_THRUST || scene->motors[j].link != s->link) continue;
            number += j < k, count++;
        }
    } else if (!s->tendon && count == 1) number = s->dof, count = joint_nv(scene->links[s->link].joint.type);
    name_number(name, "", m->links[s->link].name, number, count);
}

static void list_actions(environment_spaces *s, const ctn_scene *scene, const ctn_model *m)
{
    const model_controller *const c = m->controller;
    if (c && c->type != CONTROLLER_PLAN) {
        for (int i = 0; i < c->outputs; i++, s->actions++) {
            const bool mirrored = c->legs && c->sign[i] < 0;
            s->target[i] = c->target[i];
            s->action_bounds[i][0] = mirrored ? -c->range[i][1] : c->range[i][0];
            s->action_bounds[i][1] = mirrored ? -c->range[i][0] : c->range[i][1];
        }
    } else
        for (int k = 0; k < m->nmotor; k++)
            for (int i = 0; i < scene->motors[k].told; i++) {
                if (moves(&m->motors[k], i)) continue;
                s->target[s->actions] = m->motors[k].control + i;
                bounds_of_motor(scene, &scene->motors[k], &m->motors[k], s->action_bounds[s->actions++]);
            }
    for (int i = 0; i < s->actions; i++) name_action(scene, m, s->target[i], s->action_names[i]);
}

// ---- observations

/// Between what a number of a sensor lies, without noise.
static void bounds_of_sensor(const ctn_model *m, const ctn_sensor *x, int number, double bounds[2])
{
    bounds[0] = -INFINITY, bounds[1] = INFINITY;
    const ctn_link *const link = x->link >= 0 ? ctn_model_link(m, x->link) : NULL;
    const int quaternion = x->type == CTN_SENSE_JOINT_POSITION ? (link->joint == CTN_BALL && x->dof < 0   ? 0
                                                                  : link->joint == CTN_FREE && x->dof < 0 ? 3
                                                                                                          : -1)
                                                               : sensor_type_quaternion(x->type);
    if (quaternion >= 0 && number >= quaternion) {
        const bool first = number == quaternion && x->type != CTN_SENSE_JOINT_POSITION;
        bounds[0] = first ? 0 : -1, bounds[1] = 1;  // noise turns it, and it stays a unit quaternion
        return;
    }
    if (x->noise[number] > 0) return;
    switch (x->type) {
    case CTN_SENSE_DISTANCE:
    case CTN_SENSE_KINETIC_ENERGY:
    case CTN_SENSE_TOUCH:
    case CTN_SENSE_TENDON_LENGTH: bounds[0] = 0; return;
    default: return;
    }
}

static void name_sensor(const ctn_model *m, int number, char *name)
{
    static const char prefix[] = "sensor.";
    char full[SPACE_NAME + sizeof prefix];
    ctn_sensor_number(m, number, full, sizeof full);
    snprintf(name, SPACE_NAME, "%.*s", SPACE_NAME - 1,
             strncmp(full, prefix, sizeof prefix - 1) ? full : full + sizeof prefix - 1);
}

static const ctn_sensor *sensor_of_number(const ctn_model *m, int number)
{
    int k = 0;
    while (k + 1 < m->nsensor && m->sensors[k + 1].about.first <= number) k++;
    return &m->sensors[k].about;
}

static void list_sensors(environment_spaces *s, const ctn_model *m)
{
    const model_controller *const c = m->controller;
    const bool chosen = c && (c->type == CONTROLLER_LINEAR || c->type == CONTROLLER_TANH);
    const int count = chosen ? c->sensors : ctn_model_sensor_numbers(m);
    s->sensed = true, s->clock = chosen && c->clock > 0 ? c : NULL;
    for (int i = 0; i < count; i++) {
        const int number = s->number[i] = chosen ? c->sensed[i] : i;
        const ctn_sensor *const x = sensor_of_number(m, number);
        s->scale[i] = chosen ? c->scale[i] : 1;
        bounds_of_sensor(m, x, number - x->first, s->observation_bounds[i]);
        for (int k = 0; k < 2; k++) s->observation_bounds[i][k] /= s->scale[i];
        name_sensor(m, number, s->observation_names[i]);
    }
    s->observations = count;
    if (!s->clock) return;
    static const char *const says[CLOCK_NUMBERS] = {"clock.sine", "clock.cosine"};
    for (int k = 0; k < CLOCK_NUMBERS; k++, s->observations++) {
        s->observation_bounds[s->observations][0] = -1, s->observation_bounds[s->observations][1] = 1;
        snprintf(s->observation_names[s->observations], SPACE_NAME, "%s", says[k]);
    }
}

static void list_coordinates(environment_spaces *s, const ctn_model *m)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *const link = ctn_model_link(m, l);
        const int quaternion = link->joint == CTN_BALL ? 0 : link->joint == CTN_FREE ? 3 : link->nq;
        for (int i = 0; i < link->nq; i++) {
            const bool unit = i >= quaternion;
            s->observation_bounds[link->qadr + i][0] = unit ? -1 : -INFINITY;
            s->observation_bounds[link->qadr + i][1] = unit ? 1 : INFINITY;
            name_number(s->observation_names[link->qadr + i], "q.", link->name, i, link->nq);
        }
        for (int i = 0; i < link->nv; i++) {
            const int at = m->nq + link->vadr + i;
            s->observation_bounds[at][0] = -INFINITY, s->observation_bounds[at][1] = INFINITY;
            name_number(s->observation_names[at], "v.", link->name, i, link->nv);
        }
    }
    s->observations = m->nq + m->nv;
    for (int i = 0; i < s->observations; i++) s->number[i] = i, s->scale[i] = 1;
}

ctn_status environment_spaces_open(environment_spaces *s, const ctn_scene *scene, const ctn_model *m, ctn_error *err)
{
    const model_controller *const c = m->controller;
    const int numbers = ctn_model_sensor_numbers(m), named = c ? c->sensors : 0, states = m->nq + m->nv;
    const size_t actions = (size_t)m->ncontrol + 1,
                 observations = (size_t)(numbers > named ? numbers : named) + (size_t)states + CLOCK_NUMBERS;
    *s = (environment_spaces){0};
    s->target = calloc(actions, sizeof *s->target), s->action_bounds = calloc(actions, sizeof *s->action_bounds);
    s->action_names = calloc(actions, sizeof *s->action_names);
    s->number = calloc(observations, sizeof *s->number), s->scale = calloc(observations, sizeof *s->scale);
    s->observation_bounds = calloc(observations, sizeof *s->observation_bounds);
    s->observation_names = calloc(observations, sizeof *s->observation_names);
    if (!s->target || !s->action_bounds || !s->action_names || !s->number || !s->scale || !s->observation_bounds ||
        !s->observation_names)
        return fail(err, CTN_NO_MEMORY, "not enough memory for environments");
    list_actions(s, scene, m);
    if (!s->actions)
        return fail(err, CTN_BAD_SCENE, "%s: there is nothing to act on: give the scene `motors` whose targets do not move",
                    scene->path);
    if (m->nsensor) list_sensors(s, m);
    else list_coordinates(s, m);
    return CTN_OK;
}

void environment_spaces_close(environment_spaces *s)
{
    free(s->target), free(s->action_bounds), free(s->action_names), free(s->number), free(s->scale), free(s->observation_bounds),
        free(s->observation_names);
    *s = (environment_spaces){0};
}

void environment_observe(const environment_spaces *s, const ctn_model *m, const double *sensed, const double *q, const double *v,
                         double time, double *observation)
{
    const int count = s->observations - (s->clock ? CLOCK_NUMBERS : 0);
    for (int i = 0; i < count; i++) {
        const int k = s->number[i];
        const double x = s->sensed ? sensed[k] : k < m->nq ? q[k] : v[k - m->nq];
        observation[i] = fmin(fmax(x / s->scale[i], s->observation_bounds[i][0]), s->observation_bounds[i][1]);  // rounding
    }
    if (s->clock) controller_clock(s->clock, time, observation + count);
}
