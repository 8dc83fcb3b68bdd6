/// `optimize.mpc`, how `catena mpc` makes its plans anew: settings of control/mpc.h, which its command line may override.
#include "sim/scene/scene_reader.h"

#include <stdlib.h>

enum {
    MPC_KEY_PLANNER,
    MPC_KEY_HORIZON,
    MPC_KEY_ITERATIONS,
    MPC_KEY_DEADLINE,
    MPC_KEY_SAMPLES,
    MPC_KEY_POINTS,
    MPC_KEY_NOISE,
    MPC_KEY_TEMPERATURE,
    MPC_KEY_STARTS,
    MPC_KEYS
};
static const key mpc_keys[MPC_KEYS] = {
    [MPC_KEY_PLANNER] = {.name = "planner"},       [MPC_KEY_HORIZON] = {.name = "horizon"},
    [MPC_KEY_ITERATIONS] = {.name = "iterations"}, [MPC_KEY_DEADLINE] = {.name = "deadline"},
    [MPC_KEY_SAMPLES] = {.name = "samples"},       [MPC_KEY_POINTS] = {.name = "points"},
    [MPC_KEY_NOISE] = {.name = "noise"},           [MPC_KEY_TEMPERATURE] = {.name = "temperature"},
    [MPC_KEY_STARTS] = {.name = "starts"},
};

const char *const mpc_planner_names[PLANNERS] = {
    [PLANNER_ILQR] = "ilqr", [PLANNER_SAMPLING] = "sampling", [PLANNER_MPPI] = "mppi"};

enum { STARTS_WITHIN, STARTS_SLOWER, STARTS_KEYS };
static const key starts_keys[STARTS_KEYS] = {[STARTS_WITHIN] = {.name = "within"}, [STARTS_SLOWER] = {.name = "slower"}};

/// Whether a target moves that something of the scene can be near to.
static bool has_path(const scene_optimize *o)
{
    for (int k = 0; k < o->ncost; k++) {
        const scene_cost *const t = &o->cost[k];
        if (t->term != COST_POSTURE && t->term != COST_PLACE && t->term != COST_ORIENTATION && t->term != COST_COM) continue;
        if (t->nturn) return true;
        for (int i = 0; i < t->ntarget && t->moves; i++)
            if (t->moves[i]) return true;
    }
    return false;
}

static bool read_starts(source *s, const node *n, const scene_optimize *o, scene_mpc *to)
{
    const node *v[STARTS_KEYS];
    if (!read_keys(s, n, "where time begins", starts_keys, STARTS_KEYS, v)) return false;
    if (!has_path(o))
        return bad_key(s, n, "no target of posture, place, orientation or com moves, which this would let wait; leave it out");
    bool ok = true;
    if (!v[STARTS_WITHIN]) ok = missing_key(s, n, "within", "missing; how far targets may be, m or rad, when they begin to move");
    else ok = read_number(s, v[STARTS_WITHIN], POSITIVE, &to->within);
    if (!v[STARTS_SLOWER]) return missing_key(s, n, "slower", "missing; how fast what follows them may be then, m/s or rad/s");
    return read_number(s, v[STARTS_SLOWER], POSITIVE, &to->slower) && ok;
}

bool read_mpc(source *s, const node *n, int told, scene_optimize *to)
{
    const node *v[MPC_KEYS];
    scene_mpc *const m = &to->mpc;
    int planner = PLANNER_ILQR;
    bool ok = true;
    *m = (scene_mpc){.horizon = 1, .iterations = 2, .samples = 64, .points = 10, .temperature = 0.1};
    if (!n) return true;
    if (!read_keys(s, n, "what catena mpc does", mpc_keys, MPC_KEYS, v)) return false;
    if (v[MPC_KEY_PLANNER])
        ok = read_word(s, v[MPC_KEY_PLANNER], mpc_planner_names, PLANNERS, "ilqr, sampling or mppi", &planner);
    m->planner = (mpc_planner)planner;
    if (v[MPC_KEY_HORIZON]) ok = read_number(s, v[MPC_KEY_HORIZON], POSITIVE, &m->horizon) && ok;
    if (v[MPC_KEY_ITERATIONS]) ok = read_whole(s, v[MPC_KEY_ITERATIONS], 0, MOST_MPC_ITERATIONS, &m->iterations) && ok;
    if (v[MPC_KEY_DEADLINE]) ok = read_number(s, v[MPC_KEY_DEADLINE], POSITIVE, &m->deadline) && ok;
    if (v[MPC_KEY_SAMPLES]) ok = read_whole(s, v[MPC_KEY_SAMPLES], 2, MOST_MPC_SAMPLES, &m->samples) && ok;
    if (v[MPC_KEY_POINTS]) ok = read_whole(s, v[MPC_KEY_POINTS], 2, MOST_MPC_POINTS, &m->points) && ok;
    if (v[MPC_KEY_TEMPERATURE]) ok = read_number(s, v[MPC_KEY_TEMPERATURE], POSITIVE, &m->temperature) && ok;
    if (v[MPC_KEY_NOISE]) {
        m->noise = reader_alloc(s->r, ((size_t)told + 1) * sizeof *m->noise);
        ok = m->noise && read_each(s, v[MPC_KEY_NOISE], told, NOT_NEGATIVE, NULL, m->noise) && ok;
    }
    if (v[MPC_KEY_STARTS]) ok = read_starts(s, v[MPC_KEY_STARTS], to, m) && ok;
    return ok;
}
