/// The calls of catena/optimize.h: a scene's trajectory, and a cost of the caller's beside its own. Where states carry what
/// motors were told last (control/told_last.h) the caller sees (q, v) all the same.
#include "control/told_last.h"
#include "control/trajectory.h"
#include "sim/base/config.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/optimize.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ctn_optimize {
    trajectory *trajectory;
    ctn_optimize_cost own;
    int nx, n, m;                // of (q, v), of changes of it, of what motors are told
    bool carries;                // states carry what these were told last
    told_apart apart;            // if so: the plan,
    double *x, *by_x, *xx, *ux;  // and a point and its derivatives
};

// ---- costs of the caller's

static void add_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
{
    const ctn_optimize *const o = context;
    if (!o->carries) {
        o->own.cost(o->own.context, count, knot, x, u, cost);
        return;
    }
    for (int i = 0; i < count; i++, x += o->nx + o->m) o->own.cost(o->own.context, 1, knot + i, x, u + i * o->m, cost + i);
}

/// Adds x [rows][n] to the first columns of rows [rows][n + m].
static void add_rows(const ctn_optimize *o, int rows, const double *x, double *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < o->n; j++) to[i * (o->n + o->m) + j] += x[i * o->n + j];
}

static void add_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const ctn_optimize *const o = context;
    const size_t n = (size_t)o->n, m = (size_t)o->m, wide = n + m;
    if (!o->carries) {
        const ctn_cost_derivatives by = {.x = to->x, .u = to->u, .xx = to->xx, .uu = to->uu, .ux = to->ux};
        o->own.derivatives(o->own.context, count, knot, x, u, &by);
        return;
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        memset(o->by_x, 0, n * sizeof *x), memset(o->xx, 0, n * n * sizeof *x), memset(o->ux, 0, m * n * sizeof *x);
        const ctn_cost_derivatives by = {o->by_x, to->u + i * m, o->xx, to->uu + i * m * m, o->ux};
        o->own.derivatives(o->own.context, 1, knot + i, x + i * (size_t)(o->nx + o->m), u + i * m, &by);
        add_rows(o, 1, o->by_x, to->x + i * wide), add_rows(o, o->n, o->xx, to->xx + i * wide * wide);
        add_rows(o, o->m, o->ux, to->ux + i * m * wide);
    }
}

// ---- opening

static bool open_room(ctn_optimize *o, const ctn_scene *scene, const ctn_model *model)
{
    o->nx = ctn_model_nq(model) + ctn_model_nv(model), o->n = 2 * ctn_model_nv(model), o->m = ctn_model_ntarget(model);
    o->carries = told_last_counts(scene);
    const size_t n = (size_t)o->n, m = (size_t)o->m;
    o->by_x = calloc(n * (1 + n + m) + 1, sizeof *o->by_x), o->xx = o->by_x + n, o->ux = o->xx + n * n;
    return o->by_x != NULL;
}

ctn_optimize *ctn_optimize_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                                  const ctn_optimize_cost *cost, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "model", model, err) || missing(__func__, "cfg", cfg, err))
        return NULL;
    if (config_check(cfg, err) != CTN_OK) return NULL;
    if (cost && (!cost->cost || !cost->derivatives))
        return fail(err, CTN_BAD_ARGUMENT, "ctn_optimize_create: a cost has both `cost` and `derivatives`, one of which is NULL"),
               NULL;
    ctn_optimize *const o = calloc(1, sizeof *o);
    if (!o || !open_room(o, scene, model)) {
        ctn_optimize_free(o);
        return fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory"), NULL;
    }
    if (cost) o->own = *cost;
    const added_cost more = {o, add_cost, add_derivatives};
    o->trajectory = trajectory_open(scene, model, cfg, duration, cost ? &more : NULL, err);
    const bool room = o->trajectory && (!o->carries || told_apart_open(&o->apart, trajectory_plant(o->trajectory)));
    if (o->trajectory && !room) fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory");
    if (room) return o;
    ctn_optimize_free(o);
    return NULL;
}

void ctn_optimize_free(ctn_optimize *o)
{
    if (!o) return;
    trajectory_close(o->trajectory), told_apart_close(&o->apart);
    free(o->by_x), free(o);
}

ctn_status ctn_optimize_set_parameters(ctn_optimize *o, const double *values, ctn_error *err)
{
    if (missing(__func__, "optimize", o, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    return trajectory_set_parameters(o->trajectory, values, err);
}

ctn_status ctn_optimize_step(ctn_optimize *o, ctn_error *err)
{
    if (missing(__func__, "optimize", o, err)) return CTN_BAD_ARGUMENT;
    return trajectory_step(o->trajectory, err);
}

ctn_optimize_state ctn_optimize_get_state(const ctn_optimize *o)
{
    if (!o) return (ctn_optimize_state){0};
    const ilqr_state x = trajectory_state(o->trajectory);
    const lagrangian_state limits = trajectory_limits(o->trajectory);
    static const ctn_optimize_stop stops[] = {
        [ILQR_RUNS] = CTN_OPTIMIZE_RUNS, [ILQR_OPTIMAL] = CTN_OPTIMIZE_OPTIMAL, [ILQR_STUCK] = CTN_OPTIMIZE_STUCK};
    return (ctn_optimize_state){x.iteration, x.cost, x.gradient, limits.violation, limits.penalty, stops[x.stop]};
}

int ctn_optimize_knots(const ctn_optimize *o) { return o ? trajectory_knots(o->trajectory) : 0; }
double ctn_optimize_knot_length(const ctn_optimize *o) { return o ? trajectory_knot(o->trajectory) : NAN; }

// ---- the plan

const double *ctn_optimize_states(const ctn_optimize *o)
{
    const double *const X = o ? ilqr_states(trajectory_solver(o->trajectory)) : NULL;
    return X && o->carries ? told_apart_states(&o->apart, X) : X;
}

const double *ctn_optimize_controls(const ctn_optimize *o) { return o ? ilqr_controls(trajectory_solver(o->trajectory)) : NULL; }

const double *ctn_optimize_gains(const ctn_optimize *o)
{
    const double *const K = o ? ilqr_gains(trajectory_solver(o->trajectory)) : NULL;
    return K && o->carries ? told_apart_gains(&o->apart, K) : K;
}

const double *ctn_optimize_told_gains(const ctn_optimize *o)
{
    return o && o->carries ? told_apart_told(&o->apart, ilqr_gains(trajectory_solver(o->trajectory))) : NULL;
}
