/// Plans of one world that are made anew, for the files that make them one at a time (mpc.c) and side by side (mpc_worlds.c).
#ifndef CATENA_CONTROL_MPC_PARTS_H
#define CATENA_CONTROL_MPC_PARTS_H

#include "control/lagrangian.h"
#include "control/limits.h"
#include "control/mpc.h"
#include "control/plan_threads.h"
#include "control/sampling.h"

struct mpc {
    scene_mpc how;
    plan_world plan;   // of the plant that is lent
    scene_plant *own;  // NULL: of others; and
    reward_cost *reward;
    limits *limits;           // of it; NULL: none
    ilqr *solver;             // or
    sampling *sampler;        // by the planner
    int first;                // iterations of first plans
    int nu, ncost, followed;  // knots since the time of costs began
    bool bounded;
    double *squares, *most;  // [ncost] of distances in these
    int nlimit;
    double *missed;    // [nlimit]
    double *guess;     // [knots][nu]
    double origin;     // s, at which knot 0 would have begun
    int nx;            // numbers of (q, v)
    double *x, *last;  // the state in hand, as the plant has it, and what motors were told last
    double *next, *dx, *lower, *upper, *noise, *memory;
    double told;  // what the knot that is told costs
    mpc_state state;
};

/// Settings of a solver, but for bounds.
ilqr_config mpc_solver(const ctn_scene *scene);

/// CTN_BAD_SCENE: the planner keeps no limits, and the scene has some.
ctn_status mpc_check(const ctn_scene *scene, const scene_mpc *how, ctn_error *err);

/// On a plant, with limits (NULL: none), that are lent, without a plan. lent: what the solver works in is lent, too.
mpc *mpc_make(const ctn_scene *scene, const ctn_model *model, const scene_mpc *how, uint64_t seed, scene_plant *on,
              limits *limits, bool lent, ctn_error *err);

/// A first plan begins without multipliers; one that moves on takes them along. The time of costs is that of the plan.
void mpc_begin_limits(mpc *m);
void mpc_shift_limits(mpc *m);

/// After the iterations of a plan but the first: multipliers follow it.
void mpc_follow_limits(mpc *m);

/// A first plan is to begin at `time`.
void mpc_waits(mpc *m, double time);

/// The state x [nq + nv], as the plant has it: m->x.
const double *mpc_state_at(mpc *m, const double *x);

/// What motors are told in the knot that begins at x, which is m->x then, and the time of costs is that of the next one, m->next
/// being to be found.
void mpc_tell(mpc *m, const double *x, double *u);

/// What the plan that was made costs, and how it keeps to limits, go into the state.
ctn_status mpc_judge(mpc *m, ctn_error *err);

/// The plan for it is made.
void mpc_move_on(mpc *m);

#endif
