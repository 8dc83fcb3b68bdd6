/// The calls of catena/mpc.h.
#include "control/mpc_worlds.h"
#include "sim/base/config.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/mpc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ctn_mpc {
    mpc_worlds *plans;
    size_t worlds, nx;
};

static bool finite_states(const double *x, size_t worlds, size_t nx, const bool *which, ctn_error *err)
{
    for (size_t w = 0; w < worlds; w++)
        for (size_t i = 0; i < nx && (!which || which[w]); i++)
            if (!isfinite(x[w * nx + i]))
                return fail(err, CTN_BAD_ARGUMENT, "world %zu: number %zu of its state is %g; expected a number", w, i,
                            x[w * nx + i]),
                       false;
    return true;
}

ctn_mpc *ctn_mpc_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, uint64_t seed,
                        const double *x0, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "model", model, err) || missing(__func__, "cfg", cfg, err) ||
        config_check(cfg, err) != CTN_OK)
        return NULL;
    const size_t worlds = (size_t)cfg->worlds, nq = (size_t)ctn_model_nq(model), nx = nq + (size_t)ctn_model_nv(model);
    if (x0 && !finite_states(x0, worlds, nx, NULL, err)) return NULL;
    ctn_mpc *const m = calloc(1, sizeof *m);
    double *const start = x0 ? NULL : calloc(worlds * nx + 1, sizeof *start);
    if (!m || (!x0 && !start)) fail(err, CTN_NO_MEMORY, "not enough memory for plans of %zu worlds", worlds);
    else {
        for (size_t w = 0; w < worlds && start; w++) ctn_model_initial_state(model, start + w * nx, start + w * nx + nq);
        m->worlds = worlds, m->nx = nx;
        m->plans = mpc_worlds_open(scene, model, cfg, &scene->optimize.mpc, seed, start ? start : x0, err);
    }
    free(start);
    if (m && m->plans) return m;
    free(m);
    return NULL;
}

void ctn_mpc_free(ctn_mpc *m)
{
    if (!m) return;
    mpc_worlds_close(m->plans);
    free(m);
}

ctn_status ctn_mpc_begin(ctn_mpc *m, const bool *which, const double *x, double time, ctn_error *err)
{
    if (missing(__func__, "mpc", m, err) || missing(__func__, "x", x, err)) return CTN_BAD_ARGUMENT;
    if (!isfinite(time)) return fail(err, CTN_BAD_ARGUMENT, "ctn_mpc_begin: expected a time, found %g", time);
    if (!finite_states(x, m->worlds, m->nx, which, err)) return CTN_BAD_ARGUMENT;
    return mpc_worlds_begin(m->plans, which, x, time, err);
}

ctn_status ctn_mpc_step(ctn_mpc *m, const double *x, double *u, ctn_error *err)
{
    if (missing(__func__, "mpc", m, err) || missing(__func__, "x", x, err) || missing(__func__, "u", u, err))
        return CTN_BAD_ARGUMENT;
    if (!finite_states(x, m->worlds, m->nx, NULL, err)) return CTN_BAD_ARGUMENT;
    return mpc_worlds_step(m->plans, x, u, err);
}

ctn_status ctn_mpc_set_parameters(ctn_mpc *m, const double *values, ctn_error *err)
{
    if (missing(__func__, "mpc", m, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    return mpc_worlds_set_parameters(m->plans, values, err);
}

ctn_mpc_state ctn_mpc_get_state(const ctn_mpc *m, int world)
{
    if (!m || world < 0 || (size_t)world >= m->worlds) return (ctn_mpc_state){0};
    const mpc_state s = mpc_worlds_state(m->plans, world, NULL);
    return (ctn_mpc_state){s.knot,      s.time,       s.cost,    s.planned,
                           s.violation, s.iterations, s.started, mpc_worlds_lost(m->plans, world)};
}

int ctn_mpc_worlds(const ctn_mpc *m) { return m ? (int)m->worlds : 0; }
double ctn_mpc_knot_length(const ctn_mpc *m) { return m ? mpc_worlds_state(m->plans, 0, NULL).length : NAN; }
