#include "cli/commands/view_mpc.h"

#include "cli/base/message.h"
#include "cli/commands/mpc_options.h"
#include "dynamics/model.h"
#include "sim/base/status.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mpc *plans;
    int nq, nv;
    double until, last;  // s: to where motors are told, and when that was asked for last
    double x[];          // [nq + nv]
} steered;

static void close_plans(player_steer *steer)
{
    steered *const s = steer->context;
    if (s) mpc_close(s->plans);
    free(s);
    *steer = (player_steer){0};
}

/// At the beginning of a knot the next plan is made; in the middle of it motors stay as they are. Where time went back, or no plan
/// goes on from where a hand has pulled, a first one is made.
static bool tell(void *context, double time, const double *q, const double *v, double *u, ctn_error *err)
{
    steered *const s = context;
    const double length = mpc_get_state(s->plans).length, slack = 1e-6 * length;
    const bool back = time < s->last - slack;
    s->last = time;
    if (!back && time < s->until - slack) return true;
    memcpy(s->x, q, (size_t)s->nq * sizeof *q), memcpy(s->x + s->nq, v, (size_t)s->nv * sizeof *v);
    mpc_go_to(s->plans, time);
    ctn_status status = back ? CTN_FROZEN : mpc_step(s->plans, s->x, u, err);
    if (status == CTN_FROZEN) {
        status = mpc_begin(s->plans, s->x, time, err);
        if (status == CTN_OK) status = mpc_step(s->plans, s->x, u, err);
    }
    s->until = time + length;
    return status == CTN_OK;
}

static bool open_plans(const void *context, const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg,
                       player_steer *to, ctn_error *err)
{
    const arguments *const args = context;
    scene_mpc how;
    uint64_t seed;
    if (cfg->worlds != 1) return fail(err, CTN_BAD_CONFIG, "--mpc: it steers one world, not %d", cfg->worlds), false;
    if (model->controller)
        return fail(err, CTN_BAD_CONFIG, "--mpc: the scene has a `controller`, which tells motors, too"), false;
    errors_into(err);
    const bool good = mpc_options(args, scene, &how, &seed);
    errors_into(NULL);
    if (!good) return false;
    ctn_batch_config own = *cfg;
    if (!args->value[OPT_THREADS]) own.threads = 1;  // as catena mpc
    steered *const s = calloc(1, sizeof *s + (size_t)(ctn_model_nq(model) + ctn_model_nv(model)) * sizeof *s->x);
    *to = (player_steer){tell, s};
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for plans"), false;
    s->nq = ctn_model_nq(model), s->nv = ctn_model_nv(model);
    s->plans = mpc_open(scene, model, &own, &how, seed, err);
    if (s->plans) return true;
    close_plans(to);
    return false;
}

const exhibit_guide guide_of_plans = {open_plans, close_plans};
