/// One part of a step of a position-based method, once for all who make such parts: the ladder (step_ladder.h), lanes that are
/// each in an iteration of their own (lane_run.h), `dt: auto` (stage_adaptive.h), and adjoints, which make a part again
/// (ladder_adjoint.h).
///
///     begin_part     its size, and what is to be known of its start
///     enter_rung     its stages: those of a table, or one
///     solve_part     or guess_part, and pass_part for each iteration
///     accept_part    where the solution may be taken
///     commit_part    the solution is the state
#ifndef CATENA_STEP_PART_H
#define CATENA_STEP_PART_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/aba.h"
#include "dynamics/kinematics.h"
#include "forces/signals.h"
#include "integrators/alpha_step.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/culprit.h"
#include "integrators/collocation.h"
#include "integrators/load_forces.h"
#include "integrators/newton_control.h"
#include "integrators/position_step.h"
#include "integrators/state_energy.h"
#include "integrators/giving_way.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_step.h"
#include "integrators/solvers.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/position_flow.h"
#include "integrators/hold_energy.h"

#include <catena/batch.h>

/// What is known of the part in hand.
typedef struct {
    const stage_table *table;  // the rung that it is on; NULL: one stage (position_step.h)
    bool alpha;                // of alpha (alpha_step.h), whose numbers are:
    alpha_rule rule;
    energy_parts before;       // of its start, methods with a law of energy
    energy_parts after;        // of its solution, which is the start of the next part:
    real known;                // alpha: 1 where `before` is that; 0 in a lane that a world has just entered
    energy_flow flow;          // of its solution: what passes through forces, and what the method creates
    real created;
} step_part;

/// Scratch of one lane block. stages is unused for methods of one stage.
typedef struct {
    step_part part;
    position_work one;
    stage_work more;
    solver_work solver;
    vec3 *p;  // [nbody]
    aba_work aba;
    pose *T;   // [nbody]
    twist *D;  // [nbody]
    loads_work loads;
    id_work id;     // of alpha, as the next
    alpha_end end;  // of a step; velocities before one of order 2
    kept_motion *kept;  // [nbody] at the roots of trees that touch
    rate_pose *A;   // with `dt: auto`: A, a and size of the state before they were made to fit the part in hand
    real *a, size;
} ladder_work;

/// How many stages the step of a configuration has: 1 is position_step.h.
FN int stages_of(const ctn_batch_config *cfg)
{
    return cfg->method == CTN_RADAU ? cfg->stages : cfg->method == CTN_COLLOCATION ? cfg->order - 1 : 1;
}
FN bool is_alpha(const ctn_batch_config *cfg) { return cfg->method == CTN_ALPHA; }

/// Whether the method itself is order 2, and its energy law has couples in it, which have no potential (turning_frame.h).
FN bool goes_by_couples(const lane_model *m, const ctn_batch_config *cfg)
{
    return m->skew && stages_of(cfg) == 1 && !is_alpha(cfg) && (cfg->method == CTN_RADAU || cfg->method == CTN_COLLOCATION);
}

/// Whether velocities that are read keep to loops (loop_velocity.h).
FN bool reads_on_loops(const lane_model *m, const ctn_batch_config *cfg)
{
    return m->nrow && cfg->method == CTN_RADAU && cfg->stages > 1 && stages_take_bonds(m);
}

/// What the state holds besides q, rates, their gain and V: `old` and `old_rate`; `created`.
FN bool carries_old(const ctn_batch_config *cfg) { return cfg->method == CTN_COLLOCATION && cfg->order > 2; }
FN bool carries_energy(const lane_model *m, const ctn_batch_config *cfg)
{
    return (is_alpha(cfg) || (cfg->method == CTN_RADAU && cfg->stages > 1) || goes_by_couples(m, cfg)) && !cfg->adaptive;
}

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
    else if (cfg->method == CTN_COLLOCATION && !failed) switch (cfg->order) {
        case 3: found = &collocation3; break;
        case 4: found = &collocation4; break;
        case 5: found = &collocation5; break;
        case 6: found = &collocation6; break;
        default: break;
        }
    return found;
}

/// Whether the attempt after `failed` others is alpha's own; after it comes order 2.
FN bool alpha_rung(const ctn_batch_config *cfg, int failed) { return is_alpha(cfg) && !failed; }

/// Alpha leaves the step after one in which contacts have changed to order 2 as well: its accelerations, or those of forward
/// dynamics there, are of the impact, which is over. Likewise the first step of models with bonds, whose forces forward dynamics
/// do not know.
FN mask settles(const lane_model *m, const ctn_batch_config *cfg, const position_state *S)
{
    if (!is_alpha(cfg)) return none_of();
    return le(rset(m->nbond ? 1 : SETTLES), S->fresh[0]);
}

/// Whether what trees gain where they touch the ground is taken from them: not where loops could push them.
FN bool holds_energy(const lane_model *m) { return m->ncontact && !m->nbond; }

/// Where a part is left to order 2 for what acts between bodies: bonds that several stages do not take, pairs where they touch. at:
/// placements, p [nbody]: takes origins; press [nslot]: NULL, or what pairs remember.
FN mask leaves_to_order2(const lane_model *m, bool stages, const placement *at, const real *q, vec3 *p, const real *press)
{
    mask some = m->nbond && stages && !stages_take_bonds(m) ? not_(none_of()) : none_of();
    if (!m->npair) return some;
    for (int k = 0; k < m->nslot && press; k++) some = either(some, gt(press[k], rset(0)));
    find_origins(m, q, at, p);
    return either(some, pairs_overlap(m, at, p));
}

/// A part of size h begins in the lanes `where`. Placements of its start are in one.W.start.
FN void begin_part(const lane_model *m, const ctn_batch_config *cfg, real h, position_state *S, ladder_work *P, mask where)
{
    set_step_size(&P->one.W, h);
    clock_now(m, h, 0), hold_wound(m, S->wound);
    if (is_alpha(cfg)) {
        const mask fresh = both(where, both(gt(S->fresh[0], rset(0)), not_(settles(m, cfg, S))));
        if (any_of(fresh)) {
            start_accelerations(m, P->one.W.in.tau, S, &P->aba, &P->id, &P->loads, P->one.slack, P->one.aim_rate, fresh);
            S->size[0] = sel(fresh, h, S->size[0]), S->fresh[0] = sel(fresh, rset(0), S->fresh[0]);
        }
        fit_accelerations(m, h, S, where);
        P->part.rule = alpha_rule_of(cfg->rho, h);
    }
    const mask unknown = both(where, not_(gt(P->part.known, rset(0))));
    if (carries_energy(m, cfg) && any_of(unknown)) {
        const bool stages = ladder_rung(cfg, 0);
        const energy_parts E =
            energy_of_state(m, S, P->one.W.start, P->p, &P->one.W.between, stages ? P->more.W.watch : P->loads.watch, false);
        P->more.W.watched = stages;
        P->part.before = sel_energy(unknown, E, P->part.before);
    }
    P->part.known = sel(where, rset(0), P->part.known);
}

/// Gets the part ready to be solved with the stages of a table; NULL: one stage, of alpha or of order 2.
FN void enter_rung(const lane_model *m, const stage_table *table, bool alpha, const position_state *S, ladder_work *P)
{
    const solve *W = &P->one.W;
    stages *G = &P->more.W;
    P->part.table = table, P->part.alpha = alpha;
    clock_now(m, W->in.h, 1);
    if (!table) {
        const position_state seen = see_from_frames(m, S, &P->one.W);
        P->one.W.V = seen.V;
        if (alpha) aim_alpha(m, &P->part.rule, &seen, &P->one);
        else if (P->one.aim) aim_plainly(&seen, W->in.h, &P->one);
        start_step(m, &P->one.W);
        if (alpha) aim_wrenches(m, &P->part.rule, &seen, &P->one.W), aim_lengths(m, &P->part.rule, &seen, &P->one.W);
        return;
    }
    G->table = table, G->start = W->start;
    G->in.q = S->q, G->in.tau = W->in.tau, G->in.z = S->z, G->in.wound = S->wound, G->in.x = P->more.x, G->in.u = P->more.u;
    G->V = table->old > 0 ? S->old : S->V, G->slip = S->slip, G->press = S->press, G->glued = none_of();
    G->in.rate = table->old > 0 ? S->old_rate : S->rate;
    start_stages(m, G, W->in.h);
}

/// The first guess in the lanes `where`, with bodies there, ends where something first touches on the way, if it would go through
/// that: these lanes are returned.
KERNEL mask cut_guess(const lane_model *m, const position_state *S, position_work *P, mask where)
{
    real share = rset(1);
    if (m->npair) share = share_before_passing(m, &P->W, where, false);
    if (m->nsurface) share = lesser_of(share, share_before_piercing(m, &P->W, P->W.watch, where, false));
    const mask passes = lt(share, rset(1));
    if (any_of(passes)) {
        rest_at(m, S->q, passes, P->x, P->u, P->base, P->base_u);
        move_iterate(m, P, share, passes);
        place_bodies(m, &P->W);
    }
    return passes;
}

/// The first guess in the lanes `where`, as predict_stages().
FN void guess_part(const lane_model *m, const position_state *S, ladder_work *P, mask rest, mask where)
{
    if (P->part.table) {
        predict_stages(m, S, &P->more, rest, where);
        if (P->more.W.bonds.row) guess_stage_bonds(m, S->bond, &P->more.W, where);
        return;
    }
    predict_step(m, S, &P->one, rest, where);
    if (joins(m) || !m->nsurface) return;
    const mask fast = both(where, may_pierce(m, &P->one.W, S->V));
    if (!any_of(fast)) return;
    place_bodies(m, &P->one.W);
    cut_guess(m, S, &P->one, fast);
}

/// What acts between bodies begins at the first guess in the lanes `where`. Returns those in which that was cut.
KERNEL mask guess_between(const lane_model *m, const position_state *S, position_work *P, mask where)
{
    place_bodies(m, &P->W);
    const mask cut = cut_guess(m, S, P, where);
    begin_between(m, &P->W, where);
    return cut;
}

/// Of loads, in the solution in P.
FN const load_watch *watch_of_part(const ladder_work *P) { return P->part.table ? P->more.W.watch : P->one.W.watch; }

/// Where nothing goes through something else on the way to the solution in P, in the lanes `where`.
KERNEL mask nothing_passes(const lane_model *m, const position_state *S, ladder_work *P, mask where)
{
    solve *const W = &P->one.W;
    const stage_table *const t = P->part.table;
    const int s = t ? t->stages : 1;
    real share = rset(1);
    if (!m->npair && !m->nsurface) return where;
    for (int i = 0; i < m->nbody && t; i++)
        W->now[i] = P->more.W.body[(i + 1) * s - 1].T, W->body[i].dp = P->more.W.body[(i + 1) * s - 1].dp;
    if (t) find_origins(m, S->q, W->start, W->p);
    if (m->nsurface) share = share_before_piercing(m, W, watch_of_part(P), where, true);
    if (m->npair) share = lesser_of(share, share_before_passing(m, W, where, !t && !P->part.alpha));
    return both(where, le(rset(1), share));
}

/// Where no contact gives way in that solution, after nothing_passes().
KERNEL mask nothing_gives_way(const lane_model *m, const ladder_work *P, mask where)
{
    mask some = none_of();
    if (m->nsurface) some = points_give_way(m, &P->one.W, watch_of_part(P), where);
    if (m->npair && !P->part.table && !P->part.alpha) some = either(some, pairs_give_way(m, &P->one.W, where));
    return not_(some);
}

/// After alpha has failed, its rates may be off by whole turns: order 2 begins at rest. Wheels that roll would slide then.
FN void begin_at_rest(const lane_model *m, position_state *S, mask where)
{
    for (int k = 0; k < m->nv; k++) S->gain[k] = sel(where, m->spins ? rset(0) : negate(S->rate[k]), S->gain[k]);
}

/// One iteration of newton in the lanes that run.
FN void pass_part(const lane_model *m, const ctn_batch_config *cfg, newton_progress *N, ladder_work *P, position_counts *count)
{
    if (P->part.table) stage_pass(m, cfg->tolerance, cfg->max_iterations, N, &P->more, count);
    else newton_pass(m, cfg->tolerance, cfg->max_iterations, N, &P->one, count);
}

/// Solves the part from q, V in the lanes `active`; leaves the solution in P. Returns where it converged: the residual is below
/// the tolerance, or below SOLVE_FLOOR and at rounding level, where it falls no more.
KERNEL mask solve_newton(const lane_model *m, const ctn_batch_config *cfg, const position_state *S, mask active, ladder_work *P,
                         position_counts *count)
{
    newton_progress N = no_newton();
    guess_part(m, S, P, not_(none_of()), active);
    if (joins(m) && !P->part.table) guess_between(m, S, &P->one, active);
    begin_newton(&N, active);
    while (any_of(N.running) && !asked_to_end(count->interrupt)) pass_part(m, cfg, &N, P, count);
    count->iterations = count->iterations + N.iterations;
    return N.converged;
}

/// The same with the solver of the configuration.
KERNEL mask solve_part(const lane_model *m, const ctn_batch_config *cfg, const position_state *S, mask active, ladder_work *P,
                       position_counts *count)
{
    if (cfg->solver == CTN_NEWTON) return solve_newton(m, cfg, S, active, P, count);
    guess_part(m, S, P, not_(none_of()), active);
    return minimise(m, cfg, active, &P->one, P->part.table ? &P->more : NULL, &P->solver, &P->aba, count);
}

/// Whom to blame in the lanes `where`, whose solve has failed: by the rows at the last iterate that was accepted.
KERNEL void blame_part(const lane_model *m, const position_state *S, ladder_work *P, mask where, position_counts *count)
{
    const stage_table *t = P->part.table;
    position_work *one = &P->one;
    stage_work *more = &P->more;
    const int s = t ? t->stages : 1;
    real *x = t ? more->x : one->x, *u = t ? more->u : one->u, *reach = t ? more->W.reach : one->W.reach, square;
    for (int k = 0; k < s * m->nq; k++) x[k] = sel(where, (t ? more->base : one->base)[k], x[k]);
    for (int k = 0; k < s * m->nv; k++) u[k] = sel(where, (t ? more->base_u : one->base_u)[k], u[k]);
    if (t) look_at_stages(m, &more->W, &square);
    else {
        evaluate(m, &one->W);
        if (joins(m)) evaluate_between(m, &one->W, false);
        const real most = residual(m, &one->W);
        if (joins(m)) residual_between(m, &one->W, most);
    }
    for (int i = 0; i < m->nbody; i++) reach[i] = t ? more->W.step[i].unit : one->W.step[i].unit;
    const culprit c = blame_rows(m, t ? more->W.r : one->W.r, s, reach, S->q, S->rate);
    count->at_fault = sel_culprit(where, c, count->at_fault);
}

/// Energy of the rates' defect at the start of a part of several stages, J: its error estimate.
KERNEL real defect_energy(const lane_model *m, const stage_work *P)
{
    real defect = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        const rate_pose D = rate_defect(b, P, i);
        defect = fmadd(rset(0.5), twice_kinetic(b, &D), defect);
    }
    return defect;
}

/// What rounding and the solve's tolerance leave of a part that ends with the internal kinetic energy `kinetic`.
FN real gain_slack(const step_part *part, real kinetic, double tolerance)
{
    const energy_parts after = part->after;
    const real sum = magnitude(energy_sum(after)) + (after.kinetic + magnitude(part->flow.work));
    return fmadd(rset(40 * tolerance), kinetic, rset(10 * ENERGY_ROUNDING) * sum);
}

/// Where a solution that ends with the energies of `after` gains no energy from nothing. kinetic: the internal one there; error:
/// an estimate of the energy in error, none of alpha. The equations of a large step can have several solutions, and some gain
/// much. A rise, beyond the work of the applied forces, is taken for an error of the method while it is below a hundredth of K
/// and below sqrt(K E), K the internal kinetic energy and E that of the rates' defect at the start of the step (its error
/// estimate); and all rises and losses of a run together stay below the hundredth, too. Alpha has no such estimate, and energies
/// that rise and fall: its steps may rise by a quarter of K. What the solve's tolerance leaves over is no rise. (docs/theory.md
/// 5.4)
FN mask gains_nothing(step_part *part, const position_state *S, energy_parts after, real kinetic, const real *error, double tolerance)
{
    const energy_flow F = part->flow;
    part->after = after, part->created = energy_created(part->before, after, F);
    const real rise = part->created - F.dissipated, risen = S->created[0] - S->created[1];
    const real hundredth = rset(0.01) * kinetic;
    real most = rset(0.25) * kinetic;
    if (error) most = sel(lt(*error, hundredth), *error, hundredth);
    const real slack = gain_slack(part, kinetic, tolerance);
    const mask step = le(rise, slack + most);
    const mask run = either(le(rise, slack), le(risen + rise, slack + hundredth));
    return both(step, run);
}

/// Load k, a contact point, at the end of the solution in P.
FN end_touch touch_at_end(const lane_model *m, const ladder_work *P, int k)
{
    return P->part.table ? touch_after_stages(m, &P->more.W, k) : P->one.W.ended[m->loads[k].contact].at;
}

/// The energies that the solution in P ends with; kinetic: the internal one.
KERNEL energy_parts energy_at_end(const lane_model *m, ladder_work *L, const position_state *S, real *kinetic)
{
    stage_work *P = &L->more;
    const stage_table *t = L->part.table;
    const int s = t ? t->stages : 1;
    placement *end = L->one.W.now;
    for (int i = 0; i < m->nbody && t; i++) end[i] = P->W.body[i * s + s - 1].T;
    const rate_pose *V = t ? P->rate : L->end.V;
    energy_parts after =
        position_energy(m, t ? P->x + (s - 1) * m->nq : L->one.x, t ? end_rates(m, P) : L->end.rate, V, end, L->p, kinetic);
    after.spring = after.spring + friction_energy(m, S->z, t ? P->u + (s - 1) * m->nv : L->one.u);
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *load = &m->loads[k];
        if (passes_over(watch_of_part(L), &k) || !(load->flags & LOAD_TOUCHES)) continue;
        const end_touch e = touch_at_end(m, L, k);
        after.spring = after.spring + stored_at_end(load, &e);
    }
    if (t && m->nbond)
        after.spring = after.spring + bonds_energy(m, end, L->p, P->x + (s - 1) * m->nq, P->W.bonds.force + (s - 1) * m->nrow);
    if (joins(m) && !t) {
        after.spring = after.spring + pairs_energy(m, &L->one.W.between, end, L->p, NULL) + bent_energy(m, &L->one.W);
        after.spring = after.spring + bonds_energy(m, end, L->p, L->one.x, L->one.W.between.force);
    }
    return after;
}

/// The same of the solution in P, of several stages or of alpha.
KERNEL mask keeps_law(const lane_model *m, ladder_work *L, const position_state *S, double tolerance)
{
    real kinetic, error;
    const energy_parts after = energy_at_end(m, L, S, &kinetic);
    if (L->part.table) error = root(kinetic * defect_energy(m, &L->more));
    return gains_nothing(&L->part, S, after, kinetic, L->part.table ? &error : NULL, tolerance);
}

/// The rates at the end of the solution in P, of order 2.
KERNEL void end_rates_of_chords(const lane_model *m, ladder_work *L, const position_state *S)
{
    const solve *W = &L->one.W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        real *const rate = L->end.rate + b->vadr;
        joint_increment(b, S->q, &L->one, rate);
        for (int k = 0; k < b->nv; k++) rate[k] = rate[k] * W->in.inv_h;
        if (b->flags & BODY_MASS) L->end.V[i] = chord_velocity_of(b, W, i);
    }
}

/// Where a solution of order 2 with couples, which ends with the energies of `after`, leaves the run no more than it had, but for
/// the work of forces. kinetic: the internal one there.
FN mask takes_energy(step_part *part, const position_state *S, energy_parts after, real kinetic, double tolerance)
{
    part->after = after, part->created = energy_created(part->before, after, part->flow);
    const real rise = part->created - part->flow.dissipated, risen = S->created[0] - S->created[1];
    return le(risen + rise, fmadd(rset(1e-7), kinetic, gain_slack(part, kinetic, tolerance)));  // free motions are that exact
}

/// Where the solution of order 2 in P, with what acts between bodies, has no more than 1e-8 of the motion that comes from
/// nothing: elements that nobody had looked at, or that began to count when they were deep, could throw bodies apart.
KERNEL mask holds_back(const lane_model *m, const position_state *S, ladder_work *P)
{
    real kinetic;
    real held = rset(0);  // what one element stores that bears all
    for (int k = 0; k < m->npair; k++)
        held = larger(held, rset(m->touch_pairs[k].weight * m->touch_pairs[k].depth) / m->pair_grip);
    const mask bends = lt(rset(1e-7) * held, gain_of_curvature(m, &P->one.W));
    const mask look = either(bends, either(P->one.W.between.lands, P->one.W.between.hard));  // else it went as Newton's method goes
    if (!any_of(look)) return not_(look);
    clock_now(m, P->one.W.in.h, 0);  // targets that move do work, which is not what they store; W.watch is of the solution
    const energy_parts before = energy_of_state(m, S, P->one.W.start, P->p, &P->one.W.between, P->loads.watch, false);
    clock_now(m, P->one.W.in.h, 1);
    end_rates_of_chords(m, P, S);
    const energy_parts after = energy_at_end(m, P, S, &kinetic);
    energy_flow F = step_flow(m, &P->one);
    F.dissipated = rset(0);  // what is left may not be more than it was
    const real size = magnitude(energy_sum(after)) + magnitude(energy_sum(before));
    return either(not_(look), le(energy_created(before, after, F), fmadd(rset(1e-8), before.kinetic + held, rset(1e-9) * size)));
}

/// Where the solution in P, of alpha or in its place, has other contacts at its end than at its start, or lengths that have come
/// to their stops or left them. An impact is not smooth, and neither is a lift-off: a method that looks back to accelerations from
/// before gains energy there. (docs/theory.md 4.12)
KERNEL mask meetings_change(const lane_model *m, const position_state *S, const ladder_work *P)
{
    mask some = none_of();
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *s = &m->loads[k];
        if (passes_over(watch_of_part(P), &k) || !(s->flags & LOAD_TOUCHES)) continue;
        const mask before = gt(S->press[s->contact], rset(0)), now = gt(P->one.W.ended[s->contact].at.press, rset(0));
        some = either(some, both(either(before, now), not_(both(before, now))));
    }
    for (int k = 0; k < m->nbond; k++) some = either(some, stop_changes(m, &P->one.W, &m->bonds[k]));
    return some;
}

/// Where the solution in P, of several stages or of alpha, has driven a motor past the limit of its speed, at which its torque
/// ends: what goes by several points of a step sees the corner too late.
KERNEL mask overdrives(const lane_model *m, const position_state *S, const ladder_work *P)
{
    const stage_table *t = P->part.table;
    const stage_input *in = &P->more.W.in;
    const real past = rset(1 + 1e-6);
    mask some = none_of();
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MOTOR) || !m->motors[b->motor].fast) continue;
        const lane_motor a = t ? motor_at_stage(m, b, t, in, t->stages - 1) : motor_in_step(m, b, &P->one.W.in);
        const terms_input *one = &P->one.W.in;
        real x = P->one.x[b->qadr], w;
        if (t) x = in->x[(t->stages - 1) * m->nq + b->qadr], w = stage_rate(m, t, in, t->stages - 1, b->vadr);
        else w = one->drag * (one->u[b->vadr] - one->slack[b->vadr]);
        const real turn = a.gear * w, before = a.gear * S->rate[b->vadr], y = motor_demand(&a, x, w);
        const mask fast = both(gt(magnitude(turn), past * a.speed), le(magnitude(before), past * a.speed));
        some = either(some, both(fast, gt(y * turn, rset(0))));
    }
    return some;
}

/// The solution in P with what it ends with, after end_rate() and end_rates_of_alpha(). rate: of several stages, those of joints.
FN solved_part solution_with(const lane_model *m, const ladder_work *P, const real *rate)
{
    const stage_table *t = P->part.table;
    const int last = t ? t->stages - 1 : 0;
    solved_part Q;
    Q.one = &P->one, Q.more = t ? &P->more : NULL;
    Q.x = t ? P->more.x + last * m->nq : P->one.x, Q.u = t ? P->more.u + last * m->nv : P->one.u;
    Q.rate = t ? rate : P->part.alpha ? P->end.rate : NULL;
    Q.V = t ? P->more.rate : P->part.alpha ? P->end.V : NULL;
    return Q;
}

/// Where the solution in P may be taken, of the lanes `solved`: it is finite, its angles are in range, and it keeps the law of
/// energy of a method that has one. tried: lanes that were to be solved; *far as of config_valid.
KERNEL mask accept_part(const lane_model *m, const ctn_batch_config *cfg, const position_state *S, ladder_work *P, mask tried,
                        mask solved, mask *far, position_counts *count)
{
    const stage_table *t = P->part.table;
    const int last = t ? t->stages - 1 : 0;
    mask ok =
        both(solved, config_valid(m, t ? P->more.x + last * m->nq : P->one.x, t ? P->more.u + last * m->nv : P->one.u, far));
    count->far = sel(both(t ? solved : tried, *far), rset(1), count->far);
    P->one.W.stands = false;
    if (m->ncontact && !t) end_touches(m, &P->one.W);
    if (!cfg->adaptive && P->part.alpha) ok = both(ok, not_(meetings_change(m, S, P)));
    if (m->fast && !cfg->adaptive && (t || P->part.alpha)) ok = both(ok, not_(overdrives(m, S, P)));
    if (!any_of(either(ok, *far))) return ok;
    mask stays = nothing_passes(m, S, P, ok);
    if (!cfg->adaptive && any_of(stays)) stays = both(stays, nothing_gives_way(m, P, ok));
    if (!t && !P->part.alpha) {
        stays = either(stays, le(P->one.W.in.h, rset(1. / MOST_SWEPT) * m->dt));
        count->gave = count->gave + sel(both(ok, not_(stays)), rset(1), rset(0));
    }
    ok = both(ok, stays);
    if (m->npair && (t || P->part.alpha))
        ok = both(ok, not_(leaves_to_order2(m, t, P->one.W.now, t ? P->more.x + last * m->nq : P->one.x, P->p, NULL)));
    const bool law = carries_energy(m, cfg);
    for (int i = 0; i < m->nbody && t; i++) P->more.rate[i] = end_rate(&m->bodies[i], &P->more, i);
    if (law || count->flow) P->part.flow = t ? stages_flow(m, &P->more) : step_flow(m, &P->one);
    clock_now(m, P->one.W.in.h, 1);
    if (P->part.alpha) {
        // to the last bit the placements of a state that is taken up there
        if (any_of(unwind(m, &P->one, ok))) {
            find_placements(m, P->one.x, P->one.W.now);
            end_touches(m, &P->one.W);
        }
        end_rates_of_alpha(m, &P->part.rule, S, &P->one, &P->end);
    }
    if (holds_energy(m)) {
        const solved_part Q = solution_with(m, P, t ? end_rates(m, &P->more) : NULL);
        find_kept(m, S, &Q, P->one.W.in.h, P->kept);
        if (!cfg->adaptive) ok = both(ok, either(keeps_most(m, P->kept), le(P->one.W.in.h, rset(1. / MOST_HELD) * m->dt)));
    }
    if (law && (t || P->part.alpha)) return both(ok, keeps_law(m, P, S, cfg->tolerance));
    if (joins(m) && !t && !P->part.alpha) ok = both(ok, either(holds_back(m, S, P), le(P->one.W.in.h, rset(1. / MOST_HELD) * m->dt)));
    // what touches is held to its energy (hold_energy.h)
    const bool couples = law && goes_by_couples(m, cfg) && P->one.W.turn.mode == FRAMED && !m->ncontact;
    if (!couples) return ok;
    real kinetic;
    end_rates_of_chords(m, P, S);
    const energy_parts after = energy_at_end(m, P, S, &kinetic);
    return both(ok, takes_energy(&P->part, S, after, kinetic, cfg->tolerance));
}

/// Adds a step to what the state remembers of the run.
FN void note_created(position_state *S, real created, energy_flow F, mask where)
{
    S->created[0] = S->created[0] + sel(where, created, rset(0));
    S->created[1] = S->created[1] + sel(where, F.dissipated, rset(0));
}

/// Makes V the Euclidean velocity of the rigid motion nearest to it, and the rates that motion's, in the lanes `where`: the
/// chords that a step of one stage leaves behind are too short for methods of higher order to start from, and for parts of other
/// sizes. The projection only takes energy away.
KERNEL void project_rates(const lane_model *m, position_state *S, ladder_work *P, mask where)
{
    nearest_velocity(m, S, &P->aba, P->one.d, P->one.fresh);
    body_poses(m, S->q, P->T);
    body_twists(m, P->T, P->one.fresh, P->D);
    for (int k = 0; k < m->nv; k++) S->rate[k] = sel(where, P->one.fresh[k], S->rate[k]);
    for (int i = 0; i < m->nbody; i++) S->V[i] = sel_rate(where, rate_of_twist(&P->T[i], &P->D[i]), S->V[i]);
}

/// Alpha has found no part in the lanes `where`, nor has order 2 from its velocities: they have come to be none of a motion that
/// the joints allow. It begins anew, from the nearest ones and the accelerations of forward dynamics.
KERNEL void begin_anew(const lane_model *m, position_state *S, ladder_work *P, mask where)
{
    project_rates(m, S, P, where);
    S->fresh[0] = sel(where, rset(1), S->fresh[0]);
}

/// Makes the solution that was accepted the state in the lanes `where`, of those `tried`. whole: lanes whose step was not halved.
/// dense: takes note of the part; may be NULL.
KERNEL void commit_part(const lane_model *m, const ctn_batch_config *cfg, position_state *S, ladder_work *P, interpolant *dense,
                        mask tried, mask where, mask whole, position_counts *count)
{
    const stage_table *t = P->part.table;
    const bool law = carries_energy(m, cfg), restarts = is_alpha(cfg) && !P->part.alpha,
               fewer = t != ladder_rung(cfg, 0) || restarts;
    const real one = rset(1), zero = rset(0), residual = t ? P->more.residual : P->one.residual;
    real shaken = zero;
    if (!any_of(where)) return;
    keep_friction(m, t ? P->more.u + (t->stages - 1) * m->nv : P->one.u, where, S->z);
    if (m->nwound && t) wind_stages(m, t, &P->more.W.in, where, S->wound);
    else if (m->nwound) wind_step(m, &P->one.W.in, where, S->wound);
    if (t) {
        if (dense) keep_stages(m, dense, S, &P->more, where);
        keep_stage_contacts(m, &P->more.W, where, S->slip, S->press);
        commit_stages(m, S, &P->more, P->one.W.start, where);
        for (int e = 0; e < m->nrow; e++)
            S->bond[e] = sel(where, P->more.W.bonds.force[(t->stages - 1) * m->nrow + e], S->bond[e]);
        if (holds_energy(m)) hold_energy(m, S, P->kept, where);
    } else {
        const bool others = any_of(both(tried, not_(where)));
        if (restarts) shaken = sel(meetings_change(m, S, P), rset(SETTLES), zero);
        if (m->ncontact) {
            keep_contacts(m, &P->one.W, where, S->slip, S->press);
            // rates that an impact has changed foretell nothing
            for (int k = 0; k < m->ncontact; k++) whole = both(whole, le(S->press[k], zero));
        }
        if (m->npair) {
            keep_touches(m, &P->one.W, where, S->pair_of, S->pair_slip, S->pair_press);
            count->curved = count->curved + sel(where, gain_of_curvature(m, &P->one.W), zero);
            for (int k = 0; k < m->nslot; k++) whole = both(whole, le(S->pair_press[k], zero));
        }
        for (int e = 0; e < m->nrow; e++) S->bond[e] = sel(where, P->one.W.between.force[e], S->bond[e]);
        if (dense && P->part.alpha) keep_alpha(m, dense, S, &P->one, P->end.rate, where);
        else if (dense) keep_stage(m, dense, S, &P->one, where);
        for (int i = 0; i < m->nbody && restarts; i++) P->end.V[i] = seen_from_frames(S, &P->one.W).V[i];
        for (int k = 0; k < m->nv && restarts; k++) P->end.rate[k] = S->rate[k];
        // lanes at rest stand at the placements of their start
        if (P->part.alpha) commit_alpha(m, &P->part.rule, S, &P->one, &P->end, where, !others, whole);
        else commit_step(m, S, &P->one, where, !others, fewer ? none_of() : whole);  // no gain: its chords foretell no rates
        if (holds_energy(m)) hold_energy(m, S, P->kept, where);
        if (fewer) project_rates(m, S, P, where);
        if (restarts) restart_alpha(m, &P->one.W.turn, P->one.W.start, P->one.W.in.h, P->end.V, P->end.rate, S, where);
        if (restarts && (m->ncontact || m->nbond)) S->fresh[0] = sel(where, shaken, S->fresh[0]);
        if (S->fresh && !is_alpha(cfg)) S->fresh[0] = sel(where, one, S->fresh[0]);
    }
    if (law && (m->ncontact || !(t || P->part.alpha))) {
        const energy_parts after =
            energy_of_state(m, S, P->one.W.start, P->p, &P->one.W.between, t ? P->more.W.watch : P->one.W.watch, true);
        P->part.created = energy_created(P->part.before, after, P->part.flow);
    }
    if (law) note_created(S, P->part.created, P->part.flow, where);
    if (law && P->part.alpha) {
        P->part.before = sel_energy(where, P->part.after, P->part.before);
        P->part.known = sel(where, m->nsignal || m->ncontact ? zero : one, P->part.known);  // signals may jump between parts
    }
    if (count->flow) add_flow(count->flow, P->part.flow, where);
    count->residual = sel(both(where, gt(residual, count->residual)), residual, count->residual);
    count->substeps = count->substeps + sel(where, one, zero);
    if (fewer || (!t && P->one.W.turn.mode != FRAMED)) count->fewer = count->fewer + sel(where, one, zero);
}

#endif
