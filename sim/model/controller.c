/// Controllers of models: what they tell and go by, and where their parameters are looked for.
#include "sim/model/controller.h"

#include "dynamics/sensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- compiling

/// Numbers that are told, and from where to where they go: of a ball three alike.
static void list_outputs(const ctn_model *m, const scene_controller *s, model_controller *c)
{
    for (int k = 0; k < s->nmotor; k++) {
        const joint_motor *const a = &m->motors[s->motors[k]];
        const int end = s->motors[k] + 1 < m->nmotor ? a[1].control : m->ncontrol;
        for (int i = a->control; i < end; i++, c->outputs++) {
            c->target[c->outputs] = i;
            if (s->range) memcpy(c->range[c->outputs], s->range[k], sizeof *c->range);
        }
    }
}

/// Whose leg each number is; all legs have numbers alike.
static void list_legs(const ctn_model *m, const scene_controller *s, model_controller *c)
{
    const int each = c->outputs / s->legs;
    for (int k = 0, i = 0; k < s->nmotor; k++) {
        const int end = s->motors[k] + 1 < m->nmotor ? m->motors[s->motors[k] + 1].control : m->ncontrol;
        for (int n = end - m->motors[s->motors[k]].control; n > 0; n--, i++)
            c->leg[i] = i / each, c->joint[i] = i % each, c->sign[i] = s->mirror[k] ? -1 : 1;
    }
    if (s->phases) memcpy(c->phases, s->phases, (size_t)s->legs * sizeof *c->phases);
}

static void list_inputs(const ctn_model *m, const scene_controller *s, model_controller *c)
{
    for (int k = 0; k < s->nsensor; k++) {
        const ctn_sensor *const x = &m->sensors[s->sensors[k]].about;
        for (int i = 0; i < x->count; i++, c->sensors++) c->sensed[c->sensors] = x->first + i, c->scale[c->sensors] = s->scale[k];
    }
}

static void look_within(model_controller *c, int k, double lo, double hi, double start)
{
    c->bounds[k][0] = lo, c->bounds[k][1] = hi, c->start[k] = start, c->sigma[k] = 0.3 * (hi - lo);
}

/// Weights of a layer of so many inputs have the deviation that leaves the size of what goes through, one over their root.
static void look_for_weights(model_controller *c)
{
    int width = c->inputs, k = 0;
    for (int l = 0; l < c->net.layers; width = c->net.width[l++])
        for (int i = 0; i < c->net.width[l]; i++)
            for (int j = 0; j <= width; j++, k++)
                c->bounds[k][0] = -INFINITY, c->bounds[k][1] = INFINITY, c->start[k] = 0, c->sigma[k] = 1 / sqrt(width + 1.0);
}

static void look_for_gait(const scene_controller *s, model_controller *c)
{
    const int each = c->outputs / c->legs;
    look_within(c, 0, s->frequency[0], s->frequency[1], (s->frequency[0] + s->frequency[1]) / 2);
    look_within(c, 1, s->duty[0], s->duty[1], (s->duty[0] + s->duty[1]) / 2);
    int k = 2;
    for (; k < c->count - 3 * each; k++) look_within(c, k, -1, 1, 0);
    for (int i = 0; i < each; i++, k += 3) {
        const double lo = c->range[i][0], hi = c->range[i][1], half = (hi - lo) / 2;
        look_within(c, k, lo, hi, (lo + hi) / 2);
        look_within(c, k + 1, -half, half, 0), look_within(c, k + 2, -half, half, 0);
    }
}

static void look_for(const scene_controller *s, model_controller *c)
{
    switch (c->type) {
    case CONTROLLER_SINUSOIDS:
        look_within(c, 0, s->frequency[0], s->frequency[1], (s->frequency[0] + s->frequency[1]) / 2);
        for (int i = 0; i < c->outputs; i++) {
            const double lo = c->range[i][0], hi = c->range[i][1];
            look_within(c, 3 * i + 1, lo, hi, (lo + hi) / 2);
            look_within(c, 3 * i + 2, 0, (hi - lo) / 2, (hi - lo) / 4);
            look_within(c, 3 * i + 3, -1, 1, 0);
        }
        break;
    case CONTROLLER_SPLINE:
        for (int k = 0; k < c->count; k++) {
            const double lo = c->range[k / c->knots][0], hi = c->range[k / c->knots][1];
            look_within(c, k, lo, hi, (lo + hi) / 2);
        }
        break;
    case CONTROLLER_GAIT: look_for_gait(s, c); break;
    case CONTROLLER_PLAN: break;
    default: look_for_weights(c);
    }
}

static bool copy_plan(const scene_controller *s, model_controller *c)
{
    c->plan_rows = s->plan_rows, c->plan_width = s->plan_width, c->feeds = s->plan_feeds, c->gains = s->plan_gains;
    const size_t size = (size_t)c->plan_rows * (size_t)c->plan_width * sizeof *c->plan;
    c->plan = malloc(size);
    if (c->plan) memcpy(c->plan, s->plan, size);
    return c->plan != NULL;
}

bool compile_controller(ctn_model *m, const ctn_scene *scene)
{
    const scene_controller *const s = &scene->controller;
    if (!s->given) return true;
    model_controller *const c = m->controller = calloc(1, sizeof *c);
    if (!c) return false;
    const size_t outputs = (size_t)m->ncontrol + 1, inputs = (size_t)ctn_model_sensor_numbers(m) + 1;
    c->type = s->type, c->knots = s->knots, c->period = s->period, c->once = s->once, c->ramp = s->ramp, c->every = s->every;
    c->count = scene_controller_parameters(scene, s);
    const size_t count = (size_t)c->count + 1;
    c->target = calloc(outputs, sizeof *c->target), c->range = calloc(outputs, sizeof *c->range);
    c->sensed = calloc(inputs * ((size_t)s->nsensor + 1), sizeof *c->sensed);
    c->scale = calloc(inputs * ((size_t)s->nsensor + 1), sizeof *c->scale);
    c->start = calloc(count, sizeof *c->start), c->bounds = calloc(count, sizeof *c->bounds),
    c->sigma = calloc(count, sizeof *c->sigma);
    c->legs = s->legs;
    c->leg = calloc(outputs, sizeof *c->leg), c->joint = calloc(outputs, sizeof *c->joint);
    c->sign = calloc(outputs, sizeof *c->sign);
    c->phases = s->phases ? calloc((size_t)s->legs, sizeof *c->phases) : NULL;
    if (!c->leg || !c->joint || !c->sign || (s->phases && !c->phases)) return false;
    if (!c->target || !c->range || !c->sensed || !c->scale || !c->start || !c->bounds || !c->sigma) return false;
    list_outputs(m, s, c), list_inputs(m, s, c);
    c->clock = s->clock, c->inputs = c->sensors + (c->clock > 0 ? CLOCK_NUMBERS : 0);
    if (c->legs) list_legs(m, s, c);
    if (s->type == CONTROLLER_PLAN && !copy_plan(s, c)) return false;
    network *const net = &c->net;
    *net = (network){.inputs = c->inputs, .bounded = c->type == CONTROLLER_TANH};
    for (int l = 0; l < 2 && s->hidden[l]; l++) net->width[net->layers++] = s->hidden[l];
    net->width[net->layers++] = c->outputs;
    look_for(s, c);
    if (s->parameters) memcpy(c->start, s->parameters, (size_t)c->count * sizeof *c->start);
    return true;
}

void free_controller_of(ctn_model *m)
{
    model_controller *const c = m->controller;
    if (!c) return;
    free(c->leg), free(c->joint), free(c->sign), free(c->phases), free(c->plan);
    free(c->target), free(c->range), free(c->sensed), free(c->scale), free(c->start), free(c->bounds), free(c->sigma);
    free(c);
}
