/// One time step of a position-based method, whatever happens: the method asked for; where it finds no solution, or one that gains
/// energy, fewer stages; where even one stage finds none, the step in halves. Lanes go their own ways by selection.
#ifndef CATENA_STEP_LADDER_H
#define CATENA_STEP_LADDER_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "dynamics/aba.h"
#include "dynamics/kinematics.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/force_unit.h"
#include "integrators/collocation.h"
#include "integrators/halving.h"
#include "integrators/load_forces.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_step.h"
#include "integrators/solvers.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/position_flow.h"

#include <catena/batch.h>

/// Scratch of one lane block. stages is unused for methods of one stage.
typedef struct {
    position_work one;
    stage_work more;
    solver_work solver;
    vec3 *p;  // [nbody]
    aba_work aba;
    pose *T;   // [nbody]
    twist *D;  // [nbody]
    loads_work loads;
} ladder_work;

/// How many stages the step of a configuration has: 1 is position_step.h.
FN int stages_of(const ctn_batch_config *cfg) { return cfg->method == CTN_RADAU ? cfg->stages : cfg->order - 1; }

/// What the state holds besides q, rates, their gain and V: `old` and `old_rate`; `created`.
FN bool carries_old(const ctn_batch_config *cfg) { return cfg->method == CTN_COLLOCATION && cfg->order > 2; }
FN bool carries_energy(const ctn_batch_config *cfg) { return cfg->method == CTN_RADAU && cfg->stages > 1 && !cfg->adaptive; }

/// The table to try after `failed` others; NULL: the method of order 2.
FN const stage_table *ladder_rung(const ctn_batch_config *cfg, int failed)
{
    const stage_table *found = NULL;
    if (cfg->method == CTN_RADAU) switch (cfg->stages - failed) {
        case 2: found = &radau2; break;
        case 3: found = &radau3; break;
        case 4: found = &radau4; break;
        default: break;
        }
    else if (!failed) switch (cfg->order) {
        case 3: found = &collocation3; break;
        case 4: found = &collocation4; break;
        case 5: found = &collocation5; break;
        case 6: found = &collocation6; break;
        default: break;
        }
    return found;
}

/// Gets the solve with the stages of a table ready, from the state at a step whose size is set.
FN void enter_rung(const lane_model *m, const stage_table *table, const position_state *S, ladder_work *P)
{
    const solve *W = &P->one.W;
    stages *G = &P->more.W;
    G->table = table, G->start = W->start;
    G->in.q = S->q, G->in.tau = W->in.tau, G->in.x = P->more.x, G->in.u = P->more.u;
    G->V = table->old > 0 ? S->old : S->V;
    G->in.rate = table->old > 0 ? S->old_rate : S->rate;
    start_stages(m, G, W->in.h);
}

/// Kinetic energy of the rates V, J, of free trees about their centre of mass: how fast one travels as a whole, or has been falling, is no
/// scale for errors of its motion.
KERNEL real internal_kinetic(const lane_model *m, const rate_pose *V)
{
    real sum = rset(0);
    vec3 momentum = zero3();
    int end = 0;  // of the free tree in hand
    real mass = rset(1);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if ((b->flags & BODY_ROOT) && b->kind == JOINT_TRANSLATION) end = b->end, mass = b->subtree_mass, momentum = zero3();
        if (b->flags & BODY_MASS) {
            sum = fmadd(rset(0.5), twice_kinetic(b, &V[i]), sum);
            if (i < end) momentum = add(momentum, add_scaled(mul(V[i].R, load3(b->h)), V[i].p, b->mass));
        }
        if (i == end - 1) sum = fnmadd(rset(0.5) / mass, dot(momentum, momentum), sum);
    }
    return larger(sum, rset(0));
}

/// Where the solution in P may be taken: it is finite, its angles are in range, and it does not gain energy from nothing. The equations
/// of a large step can have several solutions, and some gain much. A rise, beyond the work of the applied forces, is taken
/// for an error of the method while it is below a hundredth of K and below sqrt(K E), K the internal kinetic energy and E that
/// of the rates' defect at the start of the step (its error estimate); and all rises and losses of a run together stay below
/// the hundredth, too. What the solve's tolerance leaves over is no rise. before: energy at the start; F: flow of the step; *gain: what it creates (energy.h). (docs/theory.md 5.4)
KERNEL mask accept_stages(const lane_model *m, stage_work *P, const position_state *S, placement *end, vec3 *p, double tolerance,
                          energy_parts before, energy_flow F, real *gain, mask *far)
{
    const stages *W = &P->W;
    const int s = W->table->stages, last = s - 1;
    const real *x = P->x + last * m->nq, *u = P->u + last * m->nv;
    const mask valid = config_valid(m, x, u, far);
    for (int i = 0; i < m->nbody; i++) end[i] = W->body[i * s + last].T, P->rate[i] = end_rate(P, i);
    *gain = rset(0);
    if (W->table->old > 0) return valid;  // the paper's collocation has no law of energy to go by
    const real kinetic = internal_kinetic(m, P->rate);
    real defect = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        const rate_pose D = rate_defect(P, i);
        defect = fmadd(rset(0.5), twice_kinetic(b, &D), defect);
    }
    const energy_parts after = position_energy(m, x, end_rates(m, P), P->rate, end, p);
    *gain = energy_created(before, after, F);
    const real rise = *gain - F.dissipated, risen = S->created[0] - S->created[1];
    const real hundredth = rset(0.01) * kinetic, error = root(kinetic * defect);
    const real rounding = rset(10 * ENERGY_ROUNDING) * (magnitude(energy_sum(after)) + (after.kinetic + magnitude(F.work)));
    const real slack = fmadd(rset(40 * tolerance), kinetic, rounding);
    const mask step = le(rise, slack + sel(lt(error, hundredth), error, hundredth));
    const mask run = either(le(rise, slack), le(risen + rise, slack + hundredth));
    return both(valid, both(step, run));
}

/// Adds a step to what the state remembers of the run.
FN void note_created(position_state *S, real created, energy_flow F, mask where)
{
    S->created[0] = S->created[0] + sel(where, created, rset(0));
    S->created[1] = S->created[1] + sel(where, F.dissipated, rset(0));
}

/// Makes V the Euclidean velocity of the rigid motion nearest to it, and the rates that motion's, in the lanes `where`: the chords that a
/// step of one stage leaves behind are too short for methods of higher order to start from, and for parts of other sizes. The
/// projection only takes energy away.
KERNEL void project_rates(const lane_model *m, position_state *S, ladder_work *P, mask where)
{
    nearest_velocity(m, S, &P->aba, P->one.d, P->one.fresh);
    body_poses(m, S->q, P->T);
    body_twists(m, P->T, P->one.fresh, P->D);
    for (int k = 0; k < m->nv; k++) S->rate[k] = sel(where, P->one.fresh[k], S->rate[k]);
    for (int i = 0; i < m->nbody; i++) S->V[i] = sel_rate(where, rate_of_twist(&P->T[i], &P->D[i]), S->V[i]);
}

/// Where collocation of order > 2 starts, anew after a fallback or for the first time, it needs the point before the start: one step of
/// Radau with 3 stages back in time, of size `old` h. Returns where that was found; else the rates carried stand in for it.
KERNEL mask start_old(const lane_model *m, const ctn_batch_config *cfg, position_state *S, ladder_work *P, double old, mask where,
                      position_counts *count)
{
    const mask fresh = both(where, gt(S->fresh[0], rset(0)));
    if (!any_of(fresh)) return fresh;
    stage_work *Q = &P->more;
    stages *G = &Q->W;
    enter_rung(m, &radau3, S, P);
    start_stages(m, G, rset(-old) * P->one.W.in.h);
    const mask ok = solve_stages(m, S, cfg->tolerance, cfg->max_iterations, false, fresh, Q, count);
    const int last = G->table->stages - 1;
    const real inv_h = G->in.inv_h;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const stage_body *e = &G->body[i * (last + 1) + last];
        if (b->flags & BODY_MASS) {
            const rate_pose V = chord_rate(G->start[i].R, e->T.R, e->dp, inv_h);
            S->old[i] = sel_rate(ok, V, sel_rate(fresh, S->V[i], S->old[i]));
        }
        real rate[3];
        if (b->kind == JOINT_BALL) {
            quat p;
            const quat from = quat_load(S->q + b->qadr), to = quat_load(Q->x + last * m->nq + b->qadr);
            const vec3 u = scale(ball_chord(from, to, &p), inv_h);
            rate[0] = u.x, rate[1] = u.y, rate[2] = u.z;
        } else
            for (int k = 0; k < b->nv; k++) rate[k] = Q->u[last * m->nv + b->vadr + k] * inv_h;
        for (int k = 0; k < b->nv; k++) {
            real *r = &S->old_rate[b->vadr + k];
            *r = sel(ok, rate[k], sel(fresh, S->rate[b->vadr + k], *r));
        }
    }
    S->fresh[0] = sel(fresh, rset(0), S->fresh[0]);
    return ok;
}

/// One step of size dt in the lanes `active`. Placements of the start are in one.W.start. Returns where it was completed; elsewhere
/// the state is that of the last part that was, `at` (0..1) tells which. dense: takes note of the last part; may be NULL. tried: the first
/// guess for the whole step has failed in all these lanes already (lane_run.h).
KERNEL mask position_step(const lane_model *m, const ctn_batch_config *cfg, position_state *S, interpolant *dense, bool tried,
                          mask active, ladder_work *P, position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0);
    halving H = whole_step();
    mask running = active;
    solve *W = &P->one.W;
    while (any_of(running) && !asked_to_end(count->interrupt)) {
        mask far, todo = running;
        const stage_table *table;
        set_step_size(W, m->dt * H.size);
        const bool law = carries_energy(cfg), flows = law || count->flow;  // law: of energy, to go by
        energy_parts before = {zero, zero, zero};
        if (law) before = position_energy(m, S->q, S->rate, S->V, W->start, P->p);
        energy_flow flow = no_flow();
        for (int failed = 0; (table = ladder_rung(cfg, failed)) != NULL && any_of(todo); failed++) {
            if (table->old > 0) start_old(m, cfg, S, P, table->old, todo, count);
            enter_rung(m, table, S, P);
            for (int still = tried && !failed; still < 2 && any_of(todo); still++) {
                real gain;
                mask ok = solve_stages_by(m, cfg, S, still, todo, &P->one, &P->more, &P->solver, &P->aba, count);
                if (!any_of(ok)) continue;
                if (flows) flow = stages_flow(m, &P->more);
                const mask solved = ok;
                ok = both(ok, accept_stages(m, &P->more, S, W->now, P->p, cfg->tolerance, before, flow, &gain, &far));
                far = both(far, solved);
                count->far = sel(far, one, count->far);
                if (dense) keep_stages(m, dense, S, &P->more, ok);
                commit_stages(m, S, &P->more, W->start, ok);
                if (law) note_created(S, gain, flow, ok);
                if (count->flow) add_flow(count->flow, flow, ok);
                count->residual = sel(both(ok, gt(P->more.residual, count->residual)), P->more.residual, count->residual);
                if (failed) count->fewer = count->fewer + sel(ok, one, zero);
                todo = both(todo, not_(ok));
            }
        }
        if (any_of(todo)) {
            mask ok = none_of();
            if (!tried || stages_of(cfg) > 1) {
                ok = solve_step_by(m, cfg, S, todo, &P->one, &P->solver, &P->aba, count);
                ok = both(ok, config_valid(m, P->one.x, P->one.u, &far));
                count->far = sel(both(todo, far), one, count->far);
            }
            if (dense) keep_stage(m, dense, S, &P->one, ok);
            if (flows) flow = step_flow(m, &P->one);
            if (count->flow) add_flow(count->flow, flow, ok);
            // lanes at rest stand at the placements of their start
            if (any_of(ok)) commit_step(m, S, &P->one, ok, !any_of(both(todo, not_(ok))), le(one, H.size));
            count->residual = sel(both(ok, gt(P->one.residual, count->residual)), P->one.residual, count->residual);
            if (stages_of(cfg) > 1) {
                count->fewer = count->fewer + sel(ok, one, zero);
                project_rates(m, S, P, ok);
            }
            if (law && any_of(ok)) {
                const energy_parts after = position_energy(m, S->q, S->rate, S->V, W->start, P->p);
                note_created(S, energy_created(before, after, flow), flow, ok);
            }
            if (S->fresh) S->fresh[0] = sel(ok, one, S->fresh[0]);
            todo = both(todo, not_(ok));
        }
        tried = false;
        const mask ok = both(running, not_(todo));
        count->substeps = count->substeps + sel(ok, one, zero);
        count->halvings = count->halvings + sel(todo, one, zero);
        if (any_of(todo))
            for (int k = 0; k < m->nv; k++) S->gain[k] = sel(todo, zero, S->gain[k]);
        mask resized;
        running = both(next_part(&H, ok, todo, cfg->max_halvings, &resized), may_go_on(count));
        const mask fallen = both(todo, not_(running));
        if (any_of(fallen)) {  // once more, as what the last solve left may be another thread's work (lane_run.h)
            position_counts again = no_counts();
            again.interrupt = count->interrupt;
            solve_step_by(m, cfg, S, fallen, &P->one, &P->solver, &P->aba, &again);
            blame_solve(m, S, &P->one, fallen, count);
        }
        // what the last part leaves behind fits its size: the chords of one stage, and how far back the old point lies
        const mask rigid = both(resized, either(running, le(one, H.here)));
        if (stages_of(cfg) == 1 && any_of(rigid)) project_rates(m, S, P, rigid);
        if (S->fresh) S->fresh[0] = sel(resized, one, S->fresh[0]);
    }
    *at = H.here;
    return both(active, le(one, H.here));
}

#endif
