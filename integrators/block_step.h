/// Stepping one lane block: whichever the method, the same state layout, statistics and freezing.
#ifndef CATENA_BLOCK_STEP_H
#define CATENA_BLOCK_STEP_H

#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/kinematics.h"
#include "forces/joint_forces.h"
#include "forces/signals.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/load_forces.h"
#include "integrators/loop_velocity.h"
#include "integrators/explicit.h"
#include "integrators/between_tally.h"
#include "integrators/contact_tally.h"
#include "integrators/culprit.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/state_energy.h"
#include "integrators/remembered_forces.h"
#include "integrators/interpolant.h"
#include "integrators/stage_dense.h"
#include "integrators/step_part.h"
#include "integrators/step_ladder.h"
#include "integrators/momentum.h"
#include "integrators/variational_step.h"
#include "integrators/step_control.h"
#include "integrators/turns.h"
#include "integrators/adaptive_step.h"
#include "integrators/stage_adaptive.h"

#include <catena/batch.h>

/// The table of what a state consists of: what the future of a lane block depends on, in the order in which states are flattened.
/// Layout, copies, saving and devices come from it.
///
///     part(member, type, count)       count: how many of them a model m has with a configuration cfg; 0: the member is NULL
// clang-format off: a row a line, as tests/walk.sh reads them
#define STATE_PARTS(part)                                                                                               \
    part(q, real, m->nq)                                                                                                \
    part(v, real, m->nv)  /* joint rates of methods that solve equations */                                             \
    part(control, step_control, cfg->adaptive)  /* adaptive steps */                                                    \
    part(gain, real, solves_equations(cfg->method) ? m->nv : 0)  /* what the rates changed by */                        \
    part(V, rate_pose, position_based(cfg->method) ? m->nbody : 0)                                                      \
    part(old_rate, real, carries_old(cfg) ? m->nv : 0)                                                                  \
    part(old, rate_pose, carries_old(cfg) ? m->nbody : 0)                                                               \
    part(created, real, carries_energy(m, cfg) ? 2 : 0)                                                                 \
    part(p, real, cfg->method == CTN_VARIATIONAL ? m->nv : 0)  /* momenta */                                            \
    part(A, rate_pose, is_alpha(cfg) ? m->nbody : 0)  /* accelerations of bodies */                                     \
    part(B, rate_pose, is_alpha(cfg) ? m->nbody : 0)                                                                    \
    part(a, real, is_alpha(cfg) ? m->nv : 0)  /* of joints */                                                           \
    part(b, real, is_alpha(cfg) ? m->nv : 0)                                                                            \
    part(size, real, is_alpha(cfg))  /* of the step that they fit */                                                    \
    part(fresh, real, carries_old(cfg) || is_alpha(cfg))                                                                \
    part(z, real, m->rubs ? m->nv : 0)  /* how far bristles of joint friction are bent */                               \
    part(wound, real, m->nwound)  /* integral terms of motors */                                                        \
    part(slip, vec3, m->nbent)     /* those of contact points */                                                        \
    part(press, real, m->ncontact)  /* normal forces there */                                                           \
    part(pair_of, real, m->nslot)     /* of which element a pair of shapes remembers this: counted from 1, 0: none */   \
    part(pair_slip, vec3, m->nslot)   /* how far its bristles are bent, axes of the body of the pair's b */             \
    part(pair_press, real, m->nslot)  /* its normal force */                                                            \
    part(bond, real, m->nrow)         /* forces of loops and couplings */                                               \
    part(turns, real, m->turns ? m->nv : 0)  /* of joints, that q does not count; the last part (batch_saved.c) */
// clang-format on

typedef struct {
#define MEMBER(member, type, count) type *member;
    STATE_PARTS(MEMBER)
#undef MEMBER
    interpolant part;  // dense output: the last part of a step; not a part of the state
} block_state;

/// The joint forces that are applied to the worlds of a block, by lane.
typedef struct {
    const double *row[LANES];  // [nv] in a world's first step; NULL, all of them: none
    size_t stride;             // numbers from there to those of the next step; 0: every step has the same
    bool fresh;                // rows that no step has taken over yet
} force_rows;

/// Scratch of a lane block.
typedef struct {
    explicit_work ex;
    ladder_work po;
    variational_work va;
    pose *T;
    twist *D;
    loads_work loads;
    force_rows forces;
    lane_clock clock;
    real *wound;      // [nwound] integral terms now
    tree_factors inertia;  // of models with loops that several stages take, as the next
    loop_velocity loops;
    real *tau, *out;  // [nv], [nv]; tau: the forces of the step in hand
} block_work;

/// What acts on joints in the step in hand; NULL: nothing.
FN const real *applied_forces(const block_work *W) { return W->forces.row[0] ? W->tau : NULL; }

FN bool position_based(ctn_method method) { return method == CTN_COLLOCATION || method == CTN_RADAU || method == CTN_ALPHA; }
FN bool solves_equations(ctn_method method) { return position_based(method) || method == CTN_VARIATIONAL; }

FN position_state as_position(const block_state *S)
{
    position_state p;
    p.q = S->q, p.rate = S->v, p.gain = S->gain, p.V = S->V, p.old_rate = S->old_rate, p.old = S->old;
    p.fresh = S->fresh, p.created = S->created;
    p.A = S->A, p.B = S->B, p.a = S->a, p.b = S->b, p.size = S->size, p.z = S->z, p.wound = S->wound;
    p.slip = S->slip, p.press = S->press;
    p.pair_of = S->pair_of, p.pair_slip = S->pair_slip, p.pair_press = S->pair_press, p.bond = S->bond;
    return p;
}

FN variational_state as_variational(const block_state *S)
{
    variational_state s;
    s.q = S->q, s.p = S->p, s.rate = S->v, s.gain = S->gain, s.slip = S->slip, s.press = S->press;
    return s;
}

/// Velocities [nv] of the state.
KERNEL const real *block_velocity(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W)
{
    if (cfg->method == CTN_VARIATIONAL) {
        momentum_velocity(m, S->q, S->p, &W->po.aba, W->out);
        finite_or(m, W->out, S->v);
    } else if (position_based(cfg->method)) {
        const position_state P = as_position(S);
        nearest_velocity(m, &P, &W->po.aba, W->po.one.d, W->out);
        if (reads_on_loops(m, cfg)) {
            factor_inertia(m, S->q, &W->inertia), find_loop_rows(m, S->q, &W->inertia, &W->loops);
            keep_to_loops(m, &W->loops, W->out, W->loops.force);
        }
    } else return S->v;
    return W->out;
}

FN remembered remembered_by(const block_state *S)
{
    remembered R;
    R.z = S->z, R.slip = S->slip, R.press = S->press, R.pair_of = S->pair_of, R.pair_press = S->pair_press,
    R.pair_slip = S->pair_slip, R.bond = S->bond;
    return R;
}

/// What a state stores beyond what its q and v tell: in joint friction and contact, J.
FN real remembered_energy(const lane_model *m, const block_state *S, block_work *W)
{
    const remembered R = remembered_by(S);
    return bristles_energy(m, &R, S->q, W->loads.T, W->loads.p, W->loads.watch);
}

/// Energy of the state; for position-based methods the placements at it are in W->po.one.W.start.
KERNEL energy_parts block_energy(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W)
{
    real sums[11];
    energy_parts E;
    if (position_based(cfg->method)) {
        const position_state P = as_position(S);
        return energy_of_state(m, &P, W->po.one.W.start, W->po.p, &W->po.one.W.between, W->loads.watch, false);
    }
    totals(m, S->q, block_velocity(m, cfg, S, W), W->T, W->D, sums);
    E.kinetic = sums[0], E.potential = sums[1], E.spring = acting_energy(m, S->q, &W->loads);
    E.spring = E.spring + remembered_energy(m, S, W);
    return E;
}

/// Takes over q and v [nq], [nv].
KERNEL void block_set(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, const real *q,
                      const real *v)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->kind == JOINT_BALL) quat_store(S->q + b->qadr, quat_normalised(quat_load(q + b->qadr)));
        else
            for (int k = 0; k < b->nv; k++) S->q[b->qadr + k] = q[b->qadr + k];
    }
    for (int k = 0; k < m->nv; k++) S->v[k] = v[k];
    if (S->control) S->control->size = rset(0), S->control->error = rset(1);
    for (int k = 0; k < m->nv && S->z; k++) S->z[k] = rset(0);
    for (int k = 0; k < m->nv && S->turns; k++) S->turns[k] = rset(0);
    start_contacts(m, S->q, v, &W->loads, S->slip, S->press);
    for (int k = 0; k < m->nwound; k++) S->wound[k] = rset(0);
    for (int k = 0; k < m->nslot; k++) S->pair_of[k] = S->pair_press[k] = rset(0), S->pair_slip[k] = zero3();
    for (int k = 0; k < m->nrow; k++) S->bond[k] = rset(0);
    if (cfg->dense) start_part(m, &S->part, S->q, S->v, S->z, S->wound, NULL, rset(0), le(rset(0), rset(0)));
    if (cfg->method == CTN_VARIATIONAL) {
        momentum_work sums;
        sums.T = W->T, sums.V = W->D, sums.sum = W->va.W.sum;
        joint_momentum(m, S->q, v, &sums, S->p);
        for (int k = 0; k < m->nv; k++) S->gain[k] = rset(0);
    }
    if (!position_based(cfg->method)) return;
    position_state P = as_position(S);
    start_velocity(m, v, W->T, W->D, &P);
    if (S->fresh) S->fresh[0] = rset(1);
    if (S->created) S->created[0] = S->created[1] = rset(0);
    for (int i = 0; i < m->nbody && S->A; i++) S->A[i] = S->B[i] = zero_rate();  // found when the first step begins
    for (int k = 0; k < m->nv && S->a; k++) S->a[k] = S->b[k] = rset(0);
    if (S->size) S->size[0] = rset(0);
}

/// What happened in a call, by lane; as in ctn_step_stats.
typedef struct {
    real steps, iterations, iterations_max, evaluations, line_search, curvature, fallbacks, fewer, substeps, rejected, residual;
    real passes;  // of solvers, the same in all lanes
    energy_parts before, after;
    energy_flow flow;
    real energy_min, energy_max;
    real frozen, part;  // a ctn_freeze; completed part of the step in which the world froze
    culprit at_fault;   // likewise
    real corrections, touching, sticking, sliding, depth;  // of contact points
    real joined, near, curved;                             // of what acts between links
    between_tally between;
} block_counts;

FN void note_energy(block_counts *c, energy_parts now, mask where)
{
    const real E = energy_sum(now);
    c->after = sel_energy(where, now, c->after);
    c->energy_min = sel(both(where, lt(E, c->energy_min)), E, c->energy_min);
    c->energy_max = sel(both(where, gt(E, c->energy_max)), E, c->energy_max);
}

/// The depth of the deepest contact point in the state S, after block_energy(), or `most`, if that is more.
FN real block_depth(const lane_model *m, const ctn_batch_config *cfg, const block_work *W, real most)
{
    const bool position = position_based(cfg->method);
    return deepest_contact(m, position ? W->po.one.W.start : W->loads.T, position ? W->po.p : W->loads.p, most, W->loads.watch);
}

/// What contact points feel, and what acts between links, as the last step of a call is made.
FN void note_contacts(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, block_counts *c)
{
    const remembered R = remembered_by(S);
    between_work *const B = &W->po.one.W.between;
    if (joins(m) && position_based(cfg->method)) c->between = tally_between(m, S->pair_press, B->step, B->g);
    if (!m->ncontact) return;
    tally_contacts(m, &R, S->q, S->v, &W->loads, &c->touching, &c->sticking);
    c->sliding = c->touching - c->sticking;
}

/// Nothing has happened in the lanes `where` since the state in S, energies kept if asked for.
KERNEL void begin_counts(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, bool energy,
                         mask where, block_counts *c)
{
    const real zero = rset(0);
    energy_parts E;
    c->at_fault = sel_culprit(where, no_culprit(), c->at_fault);
    real *const sums[] = {&c->steps,     &c->iterations, &c->iterations_max, &c->evaluations,     &c->line_search,
                          &c->curvature, &c->fallbacks,  &c->fewer,          &c->substeps,        &c->rejected,
                          &c->residual,  &c->part,       &c->flow.work,      &c->flow.dissipated, &c->corrections,
                          &c->depth,     &c->joined,     &c->near,           &c->curved};
    for (int k = 0; k < (int)(sizeof sums / sizeof *sums); k++) *sums[k] = sel(where, zero, *sums[k]);
    E.kinetic = E.potential = E.spring = zero;
    clock_step(m, c->steps), clock_state_at(m, zero);
    if (energy) E = block_energy(m, cfg, S, W);
    if (energy && m->ncontact) c->depth = sel(where, block_depth(m, cfg, W, rset(-NOT_REACHED)), c->depth);
    const real sum = energy_sum(E);
    c->before = sel_energy(where, E, c->before), c->after = sel_energy(where, E, c->after);
    c->energy_min = sel(where, sum, c->energy_min), c->energy_max = sel(where, sum, c->energy_max);
}

/// The step in hand, by lane.
typedef struct {
    position_counts count;
    energy_flow flow;
} step_in_hand;

FN step_in_hand no_step(void)
{
    step_in_hand none;
    none.count = no_counts(), none.flow = no_flow();
    return none;
}

/// The forces of the step that follows the first `made` ones, by lane, in the lanes `busy`.
FN void take_forces(const lane_model *m, mask busy, real made, force_rows *F, real *tau)
{
    if (!F->row[0] || !(F->fresh || F->stride)) return;
    double steps[LANES] __attribute__((aligned(64)));
    const double *row[LANES];
    lane_store(steps, sel(busy, made, rset(0)));
    for (int l = 0; l < LANES; l++) row[l] = F->row[l] + (size_t)steps[l] * F->stride;
    lane_gather(tau, row, m->nv);
    F->fresh = false;
}

/// A step begins in the lanes `fresh`; all that have one in hand are `busy`. Whatever the method, the schedule and the device,
/// steps begin here and nowhere else; one that goes on in another lane, on the ladder, comes by as busy only. c: of the worlds in
/// the lanes.
FN void step_begins(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, bool energy,
                    mask fresh, mask busy, const block_counts *c, step_in_hand *step)
{
    const position_state P = as_position(S);
    clock_step(m, c->steps), hold_wound(m, S->wound);
    if (m->turns && count_turns(m, S->q, S->part.q, S->turns, fresh) && position_based(cfg->method))
        find_placements(m, S->q, W->po.one.W.start);  // of other lanes: as they are
    take_forces(m, busy, c->steps, &W->forces, W->tau);
    if (position_based(cfg->method)) start_from(&P, applied_forces(W), &W->po.one.W);
    clear_counts(&step->count, fresh);
    step->flow.work = sel(fresh, rset(0), step->flow.work), step->flow.dissipated = sel(fresh, rset(0), step->flow.dissipated);
    step->count.flow = energy ? &step->flow : NULL, step->count.interrupt = cfg->interrupt;
}

/// Adds a step in the lanes `where`; `done` of these completed it.
FN void count_step(block_counts *c, const position_counts *k, mask where, mask done)
{
    const real one = rset(1), zero = rset(0);
    c->iterations = c->iterations + sel(where, k->iterations, zero);
    c->iterations_max = sel(both(where, gt(k->iterations, c->iterations_max)), k->iterations, c->iterations_max);
    c->evaluations = c->evaluations + sel(where, k->evaluations, zero);
    c->line_search = c->line_search + sel(where, k->line_search, zero),
    c->curvature = c->curvature + sel(where, k->curvature, zero);
    c->fallbacks = c->fallbacks + sel(both(where, gt(k->halvings + k->fewer, zero)), one, zero);
    c->fewer = c->fewer + sel(where, k->fewer, zero);
    c->substeps = c->substeps + sel(where, k->substeps, zero);
    c->rejected = c->rejected + sel(where, k->rejected, zero);
    c->corrections = c->corrections + sel(where, k->corrections, zero);
    c->joined = c->joined + sel(where, k->joined, zero), c->near = sel(where, k->near, c->near);
    c->curved = c->curved + sel(where, k->curved, zero);
    c->residual = sel(both(where, gt(k->residual, c->residual)), k->residual, c->residual);
    c->steps = c->steps + sel(done, one, zero);
}

/// At which joint the lanes `where` are frozen, for the reason in the counts, in the state S; solving: where no step was found.
KERNEL void blame_joint(const lane_model *m, const block_state *S, culprit solving, mask where, block_counts *c)
{
    const culprit angle = blame_motion(m, true, S->q, S->v), fast = blame_motion(m, false, S->q, S->v);
    const mask turned = both(le(rset(CTN_FREEZE_ANGLE), c->frozen), le(c->frozen, rset(CTN_FREEZE_ANGLE)));
    const mask unsolved = both(le(rset(CTN_FREEZE_NOT_CONVERGED), c->frozen), le(c->frozen, rset(CTN_FREEZE_NOT_CONVERGED)));
    culprit found = sel_culprit(unsolved, solving, sel_culprit(turned, angle, fast));
    for (int k = 0; k < m->nv && m->turns; k++) {
        const mask here = both(le(found.dof, rset(k)), le(rset(k), found.dof));
        found.at = sel(here, found.at + rset(TWO_PI) * S->turns[k], found.at);
    }
    c->at_fault = sel_culprit(where, found, c->at_fault);
}

/// The lanes `where` are frozen after the part `at` of a step.
FN void freeze_lanes(const lane_model *m, const block_state *S, block_counts *c, const position_counts *k, real at, mask where)
{
    if (!any_of(where)) return;
    const real fallen = sel(may_go_on(k),
                            sel(gt(k->far, rset(0)), rset(CTN_FREEZE_ANGLE),
                                sel(gt(k->full, rset(0)), rset(CTN_FREEZE_CAPACITY), rset(CTN_FREEZE_NOT_CONVERGED))),
                            rset(CTN_FREEZE_WORK));
    c->part = sel(where, at, c->part);
    c->frozen = sel(where, sel(gt(k->frozen, rset(0)), k->frozen, fallen), c->frozen);
    blame_joint(m, S, k->at_fault, where, c);
}

/// What motors put in where what they are told jumps `into` the step, s; the clock then stands at the state there.
KERNEL real jump_work(const lane_model *m, const real *q, real into)
{
    clock_state_at(m, into);
    const real after = servo_potential(m, q), now = m->clock ? m->clock->beside : into;
    if (!m->clock) return rset(0);
    m->clock->beside = fnmadd(rset(BESIDE), m->dt, m->clock->t);
    const real jump = after - servo_potential(m, q);
    m->clock->beside = now;
    return jump;
}

/// The step in hand is over in the lanes `ended`, after its part `at` (0..1); `done` of them completed it, the others are frozen.
FN void step_ends(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, bool energy, mask ended,
                  mask done, real at, const step_in_hand *step, block_counts *c)
{
    count_step(c, &step->count, ended, done);
    add_flow(&c->flow, step->flow, ended);
    if (energy && m->nsignal)
        c->flow.work = c->flow.work + sel(ended, jump_work(m, S->q, sel(done, rset(1), at) * m->dt), rset(0));
    freeze_lanes(m, S, c, &step->count, at, both(ended, not_(done)));
    if (energy) note_energy(c, block_energy(m, cfg, S, W), ended);
    if (energy && m->ncontact) c->depth = sel(ended, block_depth(m, cfg, W, c->depth), c->depth);
}

/// Worlds have come into the lanes `where`, with their states in S: nothing has happened yet. Returns those of them that are not
/// frozen (counts->frozen says which are).
KERNEL mask enter_block(const lane_model *m, const ctn_batch_config *cfg, const block_state *S, block_work *W, bool energy,
                        mask where, block_counts *c)
{
    if (position_based(cfg->method)) find_placements(m, S->q, W->po.one.W.start);
    forget_watch(m, W->loads.watch), forget_watch(m, W->po.one.W.watch), forget_watch(m, W->po.more.W.watch);
    W->po.part.known = sel(where, rset(0), W->po.part.known);
    begin_counts(m, cfg, S, W, energy, where, c);
    return both(where, le(c->frozen, rset(0)));
}

/// One step of the lanes `active`. Returns those that completed it.
FN mask one_step(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, bool energy, mask active,
                 step_in_hand *step, block_counts *c)
{
    real at;
    mask done;
    position_state P = as_position(S);
    variational_state V = as_variational(S);
    position_counts *const k = &step->count;
    interpolant *const dense = cfg->dense ? &S->part : NULL;
    step_begins(m, cfg, S, W, energy, active, active, c, step);
    W->ex.z = S->z, W->ex.wound = S->wound, W->ex.slip = S->slip;
    const real *const tau = applied_forces(W);
    if (cfg->method == CTN_VARIATIONAL) done = variational_step(m, cfg, tau, &V, active, &W->va, k, &at);
    else if (position_based(cfg->method))
        done = cfg->adaptive ? adaptive_stages(m, cfg, &P, S->control, dense, active, &W->po, k, &at)
                             : position_step(m, cfg, &P, dense, false, active, &W->po, k, &at);
    else
        done = cfg->adaptive
                   ? adaptive_step(m, cfg, S->q, S->v, S->slip, S->press, S->control, dense, tau, active, &W->ex, k, &at)
                   : fixed_step(m, cfg, S->q, S->v, S->slip, S->press, dense, tau, active, &W->ex, k, &at);
    step_ends(m, cfg, S, W, energy, active, done, at, step, c);
    return done;
}

/// As many steps as `horizon` says, up to `steps`, of the lanes that are not frozen. energy: keep its ledger, which costs a pass
/// a step.
KERNEL void block_step(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, real horizon, int steps,
                       bool energy, block_counts *counts)
{
    step_in_hand step = no_step();
    mask active = enter_block(m, cfg, S, W, energy, not_(none_of()), counts);
    for (int n = 0; n < steps && !asked_to_end(cfg->interrupt); n++) {
        active = both(active, lt(rset(n), horizon));
        if (!any_of(active)) break;
        active = one_step(m, cfg, S, W, energy, active, &step, counts);
    }
    counts->passes = rset((double)step.count.passes);
}

/// The state at t (0 to 1) of the part that was carried out last, into x [nq] and w [nv]. fit: find the coefficients first.
KERNEL void block_interpolate(const lane_model *m, const ctn_batch_config *cfg, block_state *S, block_work *W, double t, bool fit,
                              real *x, real *w)
{
    const bool position = position_based(cfg->method);
    if (fit && position) keep_still(m, &S->part);
    else if (fit) fit_explicit(m, cfg->method, &S->part, &W->ex);
    interpolate(m, &S->part, rset(t), position ? W->po.one.u : W->ex.u, x, w);
}

#endif
