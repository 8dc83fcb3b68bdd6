/// Controllers of batches: what a scene's `controller` tells motors before steps. Targets stay until they are told anew, and are a
/// part of the state.
#include "sim/batch/batch_controller.h"

#include "sim/base/status.h"
#include "sim/batch/batch_sensors.h"
#include "sim/forms/angles.h"
#include "sim/model/controller.h"

#include <catena/controller.h>
#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct batch_telling {
    int numbers;         // all targets
    bool *own;           // [numbers], whether the controller tells them; others are as worlds have them
    int *column;         // [numbers], which of the parameters of worlds they are; -1: none
    double *base;        // [numbers], those of the model
    double *targets;     // [worlds][numbers + 1], told last; then whether the controller has told any
    double *kept;        // likewise, before a call that may be interrupted
    double *parameters;  // [worlds][count] of the scene's controller
    double *room;        // [threads][room of each]
    size_t room_size;
};

// ---- the law

static bool is_due(const model_controller *c, double time, double dt)
{
    const double blur = 1e-6 * dt;  // a time that is a sum of steps
    return c->every <= dt || floor((time + blur) / c->every) > floor((time - dt + blur) / c->every);
}

static double ramp_of(const model_controller *c, double time) { return time >= c->ramp ? 1 : time > 0 ? time / c->ramp : 0; }

static void tell_sinusoids(const model_controller *c, const double *p, double time, double *u)
{
    const double ramp = ramp_of(c, time);
    for (int i = 0; i < c->outputs; i++) {
        const double *const of = p + 1 + 3 * i, cycles = p[0] * time + of[2],
                            angle = 2 * 3.14159265358979323846 * (cycles - floor(cycles));
        double sine, cosine;
        angles_of(1, &angle, &sine, &cosine);
        u[c->target[i]] = of[0] + ramp * of[1] * sine;
    }
}

/// Which of so many control points the k-th one in turn is: one of those around the circle, or with the first and the last one
/// three times, so that the curve begins and ends there, at rest.
static int control_point(const model_controller *c, int k)
{
    if (!c->once) return (k + c->knots) % c->knots;
    return k < 0 ? 0 : k < c->knots ? k : c->knots - 1;
}

/// The four basis functions of a uniform cubic B-spline at x in [0, 1) between two knots. [de Boor 1978, chapter IX]
static void tell_spline(const model_controller *c, const double *p, double time, double *u)
{
    const double share = c->once ? fmin(fmax(time / c->period, 0), 1) : time / c->period - floor(time / c->period),
                 at = share * (c->once ? c->knots + 1 : c->knots), x = at - floor(at), y = 1 - x, ramp = ramp_of(c, time);
    const double basis[4] = {y * y * y / 6, (4 - 6 * x * x + 3 * x * x * x) / 6, (4 - 6 * y * y + 3 * y * y * y) / 6,
                             x * x * x / 6};
    const int first = (int)floor(at) - (c->once ? 2 : 1);
    for (int i = 0; i < c->outputs; i++) {
        const double middle = (c->range[i][0] + c->range[i][1]) / 2;
        double sum = 0;
        for (int k = 0; k < 4; k++) sum += basis[k] * p[i * c->knots + control_point(c, first + k)];
        u[c->target[i]] = middle + ramp * (sum - middle);
    }
}

/// The waves of `gaits` (forces/signals.h): a foot is on the ground for the share `duty` of a cycle, and swings for the rest.
static void tell_gait(const model_controller *c, const double *p, double time, double *u)
{
    const double duty = p[1],
                 ramp = ramp_of(c, time), *const found = p + 2, *const joints = found + (c->phases ? 0 : c->legs - 1);
    double stride = 0, lift = 0;
    for (int i = 0, leg = -1; i < c->outputs; i++) {
        if (c->leg[i] != leg) {
            leg = c->leg[i];
            const double phase = c->phases ? c->phases[leg]
                                 : leg     ? found[leg - 1]
                                           : 0,
                         cycles = p[0] * time + phase, r = cycles - floor(cycles);
            const bool stands = r < duty;
            const double angle = 3.14159265358979323846 * (stands ? r / duty : (r - duty) / (1 - duty));
            double sine, cosine;
            angles_of(1, &angle, &sine, &cosine);
            stride = stands ? cosine : -cosine, lift = stands ? 0 : sine * sine;
        }
        const double *const of = joints + 3 * c->joint[i];
        u[c->target[i]] = c->sign[i] * (of[0] + ramp * (of[1] * stride + of[2] * lift));
    }
}

void controller_clock(const model_controller *c, double time, double says[CLOCK_NUMBERS])
{
    const double turns = c->clock * time, angle = 2 * 3.14159265358979323846 * (turns - floor(turns));
    angles_of(1, &angle, &says[0], &says[1]);
}

/// room: the inputs, then what layers say.
static void tell_network(const model_controller *c, const double *p, double time, const double *sensors, double *u, double *room)
{
    for (int j = 0; j < c->sensors; j++) room[j] = sensors[c->sensed[j]] / c->scale[j];
    if (c->clock > 0) controller_clock(c, time, room + c->sensors);
    network_forward(&c->net, p, 1, room, room + c->inputs);
    const double *const says = network_says(&c->net, 1, room + c->inputs);
    for (int i = 0; i < c->outputs; i++) {
        const double lo = c->range[i][0], hi = c->range[i][1];
        u[c->target[i]] = (lo + hi) / 2 + (hi - lo) / 2 * says[i];
    }
}

/// The row of the time, the last one from then on; with gains, u + K (x - x of the row), where x may have what was told last: u, of
/// which the plan has the row before. room: [gains].
static void tell_plan(const ctn_model *m, double time, double dt, const double *q, const double *v, double *u, double *room)
{
    const model_controller *const c = m->controller;
    int row = 0;
    for (int most = c->plan_rows; row + 1 < most;) {  // the last row that is not later
        const int middle = (row + most) / 2;
        if (c->plan[middle * c->plan_width] <= time + 1e-6 * dt) row = middle;
        else most = middle;
    }
    const double *const of = c->plan + row * c->plan_width, *const at = of + 1 + c->outputs;
    for (int j = 2 * m->nv; j < c->gains && c->feeds; j++) {  // before the first row nothing is planned
        const int i = j - 2 * m->nv;
        room[j] = row ? u[c->target[i]] - of[1 + i - c->plan_width] : 0;
    }
    for (int i = 0; i < c->outputs; i++) u[c->target[i]] = of[1 + i];
    if (!c->feeds) return;
    const double *const K = at + m->nq + m->nv;
    ctn_model_difference(m, 1, at, q, room);
    for (int i = 0; i < m->nv; i++) room[m->nv + i] = v[i] - at[m->nq + i];
    for (int i = 0; i < c->outputs; i++)
        for (int j = 0; j < c->gains; j++) u[c->target[i]] += K[i * c->gains + j] * room[j];
}

static size_t room_of(const ctn_model *m)
{
    const model_controller *const c = m->controller;
    return c->type == CONTROLLER_PLAN ? (size_t)c->gains : (size_t)c->inputs + (size_t)network_outputs(&c->net);
}

static void tell(const model_controller *c, const double *p, double time, const double *sensors, double *u, double *room)
{
    switch (c->type) {
    case CONTROLLER_SINUSOIDS: tell_sinusoids(c, p, time, u); break;
    case CONTROLLER_SPLINE: tell_spline(c, p, time, u); break;
    case CONTROLLER_GAIT: tell_gait(c, p, time, u); break;
    default: tell_network(c, p, time, sensors, u, room);
    }
}

// ---- in batches

static double *targets_of(const ctn_batch *batch, int world)
{
    return batch->telling->targets + (size_t)world * (size_t)(batch->telling->numbers + 1);
}

/// What a motor is told in a world that the controller does not tell it.
static double other_target(const ctn_batch *batch, int world, int k)
{
    const batch_telling *const t = batch->telling;
    if (t->column[k] < 0) return t->base[k];
    return batch->values[(size_t)world * (size_t)batch->cfg.parameter_count + (size_t)t->column[k]];
}

static void start_targets(const ctn_batch *batch)
{
    const batch_telling *const t = batch->telling;
    for (int w = 0; w < batch->cfg.worlds; w++) {
        double *const u = targets_of(batch, w);
        for (int k = 0; k < t->numbers; k++) u[k] = other_target(batch, w, k);
        u[t->numbers] = 0;
    }
}

/// Which targets are whose. False: no memory.
static bool list_targets(const ctn_batch *batch, batch_telling *t)
{
    const model_controller *const c = batch->model->controller;
    ctn_parameter *const list = calloc((size_t)t->numbers + 1, sizeof *list);
    t->own = calloc((size_t)t->numbers + 1, sizeof *t->own), t->column = calloc((size_t)t->numbers + 1, sizeof *t->column);
    t->base = calloc((size_t)t->numbers + 1, sizeof *t->base);
    const bool room = list && t->own && t->column && t->base;
    if (room) ctn_model_target_parameters(batch->model, list), ctn_model_targets(batch->model, t->base);
    for (int i = 0; room && i < c->outputs; i++) t->own[c->target[i]] = true;
    for (int k = 0; room && k < t->numbers; k++) {
        t->column[k] = -1;
        for (int i = 0; i < batch->cfg.parameter_count; i++) {
            const ctn_parameter p = batch->cfg.parameters[i];
            if (p.kind == list[k].kind && p.index == list[k].index) t->column[k] = i;
        }
    }
    free(list);
    return room;
}

bool batch_telling_open(ctn_batch *batch)
{
    const model_controller *const c = batch->model->controller;
    const size_t worlds = (size_t)batch->cfg.worlds, threads = (size_t)job_threads(batch);
    if (!c) return true;
    batch_telling *const t = batch->telling = calloc(1, sizeof *t);
    if (!t) return false;
    t->numbers = batch->model->ncontrol, t->room_size = room_of(batch->model);
    t->targets = calloc(worlds * ((size_t)t->numbers + 1), sizeof *t->targets);
    t->kept = batch->cfg.interrupt ? calloc(worlds * ((size_t)t->numbers + 1), sizeof *t->kept) : NULL;
    t->parameters = calloc(worlds * (size_t)c->count + 1, sizeof *t->parameters);
    t->room = calloc(threads * t->room_size + 1, sizeof *t->room);
    if (!t->targets || (batch->cfg.interrupt && !t->kept) || !t->parameters || !t->room || !list_targets(batch, t)) return false;
    start_targets(batch);
    for (size_t w = 0; w < worlds; w++)
        memcpy(t->parameters + w * (size_t)c->count, c->start, (size_t)c->count * sizeof *c->start);
    return true;
}

void batch_telling_close(ctn_batch *batch)
{
    batch_telling *const t = batch->telling;
    if (!t) return;
    free(t->own), free(t->column), free(t->base), free(t->targets), free(t->kept), free(t->parameters), free(t->room);
    free(t);
}

size_t batch_telling_bytes(const ctn_batch *batch)
{
    const batch_telling *const t = batch->telling;
    const model_controller *const c = batch->model->controller;
    return t ? (((size_t)t->numbers + 1) * (t->kept ? 2 : 1) + (size_t)c->count) * sizeof(double) : 0;
}

size_t batch_telling_numbers(const ctn_batch *batch) { return batch->telling ? (size_t)batch->telling->numbers + 1 : 0; }

const double *batch_told(const ctn_batch *batch, int world) { return targets_of(batch, world); }

void batch_telling_flatten(const ctn_batch *batch, int world, bool load, double *flat)
{
    if (!batch->telling) return;
    double *const u = targets_of(batch, world);
    memcpy(load ? u : flat, load ? flat : u, batch_telling_numbers(batch) * sizeof *u);
}

void batch_telling_keep(const ctn_batch *batch, bool back)
{
    const batch_telling *const t = batch->telling;
    if (!t) return;
    const size_t size = (size_t)batch->cfg.worlds * batch_telling_numbers(batch) * sizeof *t->kept;
    memcpy(back ? t->targets : t->kept, back ? t->kept : t->targets, size);
    if (back) batch_telling_load(batch);
}

void batch_telling_restart(ctn_batch *batch)
{
    if (!batch->telling) return;
    start_targets(batch);
    batch_telling_load(batch);
}

void batch_tell_lanes(const ctn_batch *batch, int block)
{
    const batch_telling *const t = batch->telling;
    const double *u[MOST_LANES];
    if (!t) return;
    for (int l = 0; l < worlds_in(batch, block); l++) {
        const int w = block * batch->engine->lanes + l;
        double *const x = targets_of(batch, w);
        for (int k = 0; k < t->numbers; k++)
            if (!t->own[k]) x[k] = other_target(batch, w, k);
    }
    rows_of(batch, block, t->targets, t->numbers + 1, u);
    batch->engine->model_tell(lanes_of(batch, block), u);
}

void batch_telling_load(const ctn_batch *batch)
{
    for (int b = 0; b < batch->blocks && batch->telling; b++) batch_tell_lanes(batch, b);
}

bool batch_tells(const ctn_batch *batch) { return batch->telling; }

void batch_tell_block(ctn_batch *batch, int thread, int block, const int *steps, const ctn_step_stats *made)
{
    const batch_telling *const t = batch->telling;
    const model_controller *const c = batch->model->controller;
    const int count = worlds_in(batch, block), first = block * batch->engine->lanes;
    double time[MOST_LANES];
    bool due[MOST_LANES], any = false;
    for (int l = 0; l < count; l++) {
        const bool rests = !steps[l] || batch->clocks[first + l].frozen || (made && made[l].frozen);
        const bool begins = targets_of(batch, first + l)[t->numbers] == 0;
        time[l] = time_after(batch, first + l, made ? &made[l] : NULL);
        due[l] = !rests && (begins || is_due(c, time[l], dt_of(batch, first + l))), any = any || due[l];
    }
    if (!any) return;
    const double *const sensors = c->sensors ? batch_sense_block(batch, thread, block, time) : NULL;
    const size_t width = (size_t)ctn_model_sensor_numbers(batch->model);
    world_rows rows = {0};
    if (c->feeds) rows = block_rows(batch, thread, block);
    for (int l = 0; l < count; l++) {
        double *const u = targets_of(batch, first + l);
        if (!due[l]) continue;
        if (c->type == CONTROLLER_PLAN)
            tell_plan(batch->model, time[l], dt_of(batch, first + l), rows.q + (size_t)l * (size_t)batch->model->nq,
                      rows.v + (size_t)l * (size_t)batch->model->nv, u, t->room + (size_t)thread * t->room_size);
        else
            tell(c, t->parameters + (size_t)(first + l) * (size_t)c->count, time[l], sensors ? sensors + (size_t)l * width : NULL,
                 u, t->room + (size_t)thread * t->room_size);
        u[t->numbers] = 1;
    }
    batch_tell_lanes(batch, block);
}

int ctn_model_controller_parameters(const ctn_model *m) { return m && m->controller ? m->controller->count : 0; }

void ctn_model_controller(const ctn_model *m, double *start, double *sigma, double (*bounds)[2])
{
    const model_controller *const c = m ? m->controller : NULL;
    for (int k = 0; c && k < c->count; k++) {
        if (start) start[k] = c->start[k];
        if (sigma) sigma[k] = c->sigma[k];
        if (bounds) bounds[k][0] = c->bounds[k][0], bounds[k][1] = c->bounds[k][1];
    }
}

ctn_status ctn_batch_set_controller(ctn_batch *batch, const double *parameters, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "parameters", parameters, err)) return CTN_BAD_ARGUMENT;
    if (!batch_tells(batch)) return fail(err, CTN_BAD_ARGUMENT, "the model has no controller; give its scene a `controller`");
    const size_t n = (size_t)batch->cfg.worlds * (size_t)batch->model->controller->count;
    for (size_t k = 0; k < n; k++)
        if (!isfinite(parameters[k]))
            return fail(err, CTN_BAD_ARGUMENT, "parameter %zu of the controller of world %zu is not finite",
                        k % (size_t)batch->model->controller->count, k / (size_t)batch->model->controller->count);
    memcpy(batch->telling->parameters, parameters, n * sizeof *parameters);
    return CTN_OK;
}

void ctn_batch_targets(const ctn_batch *batch, double *u)
{
    for (int w = 0; batch && u && w < batch->cfg.worlds; w++) {
        double *const to = u + (size_t)w * (size_t)batch->model->ncontrol;
        if (batch->telling) memcpy(to, targets_of(batch, w), (size_t)batch->model->ncontrol * sizeof *to);
        else ctn_model_targets(batch->model, to);
    }
}
