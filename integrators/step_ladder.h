/// One time step of a position-based method, whatever happens: the method asked for; where it finds no solution, or one that
/// gains energy, fewer stages; of one stage, what spins is braked; where even that finds none, the step in halves. Lanes go their own ways by selection.
#ifndef CATENA_STEP_LADDER_H
#define CATENA_STEP_LADDER_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "forces/signals.h"
#include "integrators/collocation.h"
#include "integrators/halving.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_terms.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_step.h"
#include "integrators/interpolant.h"
#include "integrators/step_part.h"

#include <catena/batch.h>

/// Where collocation of order > 2 starts, anew after a fallback or for the first time, it needs the point before the start: one
/// step of Radau with 3 stages back in time, of size `old` h. Returns where that was found; else the rates carried stand in for
/// it.
KERNEL mask start_old(const lane_model *m, const ctn_batch_config *cfg, position_state *S, ladder_work *P, double old, mask where,
                      position_counts *count)
{
    const mask fresh = both(where, gt(S->fresh[0], rset(0)));
    if (!any_of(fresh)) return fresh;
    stage_work *Q = &P->more;
    stages *G = &Q->W;
    turned_frame *const frame = G->frame;
    G->frame = NULL;  // what goes on by chords
    enter_rung(m, &radau3, false, S, P);
    start_stages(m, G, rset(-old) * P->one.W.in.h);
    const mask ok = solve_newton(m, cfg, S, fresh, P, count);
    G->frame = frame;
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

/// One step of size dt in the lanes `active`. Placements of the start are in one.W.start. Returns where it was completed;
/// elsewhere the state is that of the last part that was, `at` (0..1) tells which. dense: takes note of the last part; may be
/// NULL. tried: the whole step has failed with all stages in all these lanes already (lane_run.h).
KERNEL mask position_step(const lane_model *m, const ctn_batch_config *cfg, position_state *S, interpolant *dense, bool tried,
                          mask active, ladder_work *P, position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0);
    halving H = whole_step();
    mask running = active;
    while (any_of(running) && !asked_to_end(count->interrupt)) {
        mask todo = running;
        const stage_table *table;
        int failed = 0;
        int mode = carries_old(cfg) ? BY_CHORDS : FRAMED;
        clock_part(m, m->dt * H.here);
        begin_part(m, cfg, m->dt * H.size, S, P, running);
        do {
            table = ladder_rung(cfg, failed);
            if (table && table->old > 0) start_old(m, cfg, S, P, table->old, todo, count);
            const bool last = !table && !alpha_rung(cfg, failed);
            P->one.W.turn.mode = last ? mode : FRAMED;
            enter_rung(m, table, alpha_rung(cfg, failed), S, P);
            if (is_alpha(cfg) && failed) begin_at_rest(m, S, todo);
            mask tries = todo;
            if (!last) tries = both(tries, not_(settles(m, cfg, S)));
            if (!last && joins(m))
                tries = both(tries, not_(leaves_to_order2(m, table, P->one.W.start, S->q, P->p, S->pair_press)));
            if ((!tried || failed) && any_of(tries)) {
                mask far;
                P->one.W.firm = firmness(count->gave);
                const mask solved = solve_part(m, cfg, S, tries, P, count);
                const mask ok = accept_part(m, cfg, S, P, tries, solved, &far, count);
                commit_part(m, cfg, S, P, dense, todo, ok, le(one, H.size), count);
                todo = both(todo, not_(ok));
            }
            failed++;
            if (last && (!m->skew || m->ncontact || mode++ == BY_CHORDS)) break;
        } while (any_of(todo));
        P->one.W.turn.mode = FRAMED;
        tried = false;
        const mask ok = both(running, not_(todo));
        count->halvings = count->halvings + sel(todo, one, zero);
        if (any_of(todo))
            for (int k = 0; k < m->nv; k++) S->gain[k] = sel(todo, zero, S->gain[k]);
        mask resized;
        running = both(next_part(&H, ok, todo, cfg->max_halvings, &resized), may_go_on(count));
        const mask fallen = both(todo, not_(running));
        if (any_of(fallen)) {  // once more, as what the last solve left may be another thread's work (lane_run.h)
            position_counts again = no_counts();
            again.interrupt = count->interrupt;
            solve_part(m, cfg, S, fallen, P, &again);
            blame_part(m, S, P, fallen, count);
        }
        // what the last part leaves behind fits its size: the chords of one stage, and how far back the old point lies
        const mask rigid = both(resized, either(running, le(one, H.here)));
        const mask given_up = both(todo, running);
        if (stages_of(cfg) == 1 && !is_alpha(cfg) && any_of(rigid)) project_rates(m, S, P, rigid);
        if (is_alpha(cfg) && any_of(given_up)) begin_anew(m, S, P, given_up);
        if (S->fresh && !is_alpha(cfg)) S->fresh[0] = sel(resized, one, S->fresh[0]);
    }
    P->one.W.firm = one;
    *at = H.here;
    return both(active, le(one, H.here));
}

#endif
