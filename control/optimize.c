/// The calls of catena/optimize.h: a scene's trajectory, and a cost of the caller's beside its own.
#include "control/trajectory.h"
#include "sim/base/config.h"
#include "sim/base/status.h"

#include <catena/optimize.h>
#include <math.h>
#include <stdlib.h>

struct ctn_optimize {
    trajectory *trajectory;
    ctn_optimize_cost own;
};

static void add_cost(void *context, int count, const int *knot, const double *x, const double *u, double *cost)
{
    const ctn_optimize_cost *const own = context;
    own->cost(own->context, count, knot, x, u, cost);
}

static void add_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const ctn_optimize_cost *const own = context;
    const ctn_cost_derivatives by = {.x = to->x, .u = to->u, .xx = to->xx, .uu = to->uu, .ux = to->ux};
    own->derivatives(own->context, count, knot, x, u, &by);
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
    if (!o) return fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory"), NULL;
    if (cost) o->own = *cost;
    const added_cost more = {&o->own, add_cost, add_derivatives};
    o->trajectory = trajectory_open(scene, model, cfg, duration, cost ? &more : NULL, err);
    if (o->trajectory) return o;
    free(o);
    return NULL;
}

void ctn_optimize_free(ctn_optimize *o)
{
    if (!o) return;
    trajectory_close(o->trajectory);
    free(o);
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
const double *ctn_optimize_states(const ctn_optimize *o) { return o ? ilqr_states(trajectory_solver(o->trajectory)) : NULL; }
const double *ctn_optimize_controls(const ctn_optimize *o) { return o ? ilqr_controls(trajectory_solver(o->trajectory)) : NULL; }
const double *ctn_optimize_gains(const ctn_optimize *o) { return o ? ilqr_gains(trajectory_solver(o->trajectory)) : NULL; }
