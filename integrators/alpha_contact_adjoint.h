/// The adjoint of a step of alpha that touches: the bristles, normal forces and corrected friction of contact_adjoint.h in the
/// solve of alpha_adjoint.h, and what keeps a tree from creating energy.
///
/// A tree that is held keeps e = (1 - created/K)^(1/2) of V' about its centre of mass, as by order 2 (hold_adjoint.h). But alpha's
/// books are of the end of the step, and leave out what is taken: created is what has been gained beyond work,
///
///     K(V') - K(V) - m g.(c - c_k) + stored' - stored - tau.u
///
/// with what joints, their bristles, depths and bristles of contact points store. Trees with motors, or with other loads than contact
/// points, have no derivatives where they are held. (docs/theory.md 4.9, 4.12)
#ifndef CATENA_ALPHA_CONTACT_ADJOINT_H
#define CATENA_ALPHA_CONTACT_ADJOINT_H

#include "dynamics/lane_model.h"
#include "integrators/alpha_adjoint.h"
#include "integrators/alpha_step.h"
#include "integrators/collocation.h"
#include "integrators/contact_adjoint.h"
#include "integrators/hold_adjoint.h"
#include "integrators/pose_pullback.h"
#include "integrators/position_adjoint.h"
#include "integrators/touching_adjoint.h"

/// What a joint stores, and the work of the forces applied to it: gradients by x, added to A->b, by q to q_bar, by the increments,
/// over 1/s, to way, by tau to tau_bar [nv].
FN void alpha_joint_books(const lane_model *m, const lane_body *b, const position_adjoint *A, real c, real s, real *way,
                          real *q_bar, real *tau_bar)
{
    const solve *W = &A->W;
    const int j = b->vadr;
    if (b->flags & BODY_SPRING) {
        vec3 at_x, at_q;
        if (b->kind == JOINT_BALL) {
            at_x = ball_potential(b, cone_at(b, W->in.x)).g, at_q = ball_potential(b, cone_at(b, W->in.q)).g;
        } else {
            at_x = vec(joint_potential(b, W->in.x[b->qadr]).g, rset(0), rset(0));
            at_q = vec(joint_potential(b, W->in.q[b->qadr]).g, rset(0), rset(0));
        }
        add_joint_vector(b, A->b, scale(at_x, c)), add_joint_vector(b, q_bar, scale(at_q, negate(c)));
    }
    if (b->flags & BODY_FRICTION) {
        const real at = bent_by(b, W->in.z, W->in.u), by = bent_pullback(m, b, at, c * friction_potential(b, bent(b, at)).g);
        A->b[j] = A->b[j] + by, q_bar[j] = q_bar[j] - by;
        m->by_bent[j] = m->by_bent[j] - c * friction_potential(b, W->in.z[j]).g;
    }
    if (!W->in.tau) return;
    add_joint_vector(b, way, scale(joint_vector(b, W->in.tau), negate(c) / s));
    add_joint_vector(b, tau_bar, scale(chord_rates(b, W), negate(c * W->in.h)));
}

/// The books of contact points: gradients by x, added to A->b, by q to q_bar, and by how far bristles were bent to A->bars.slip;
/// those by how far they are bent to H->slip. kept: how far that is.
KERNEL void alpha_touch_books(const lane_model *m, position_adjoint *A, const hold_adjoint *H, const vec3 *kept, real *q_bar)
{
    const solve *W = &A->W;
    for (int way = 0; way < 2; way++) {  // the end, the start
        clear_wrenches(m, A->P.load);
        for (int k = 0; k < m->nload; k++) {
            const lane_point_load *s = &m->loads[k];
            if (!(s->flags & LOAD_TOUCHES)) continue;
            const load_state *at = &W->held[k];
            const touch t = contact_at(m, W, k);
            const real c = H->c[s->body], ck = c * s->grip, d = depth_of(way == 0 ? t.gap : t.before), o = rset(0);
            const vec3 bent = way == 0 ? kept[s->contact] : W->slip[s->contact];
            add_by_contact(m, s, o, rset(way == 0 ? 0.5 : -0.5) * c * fmadd(d, d, dot(bent, bent)), o);
            wrench *const to = &A->P.load[s->body];
            vec3 *const end = &H->slip[s->contact], *const start = &A->bars.slip[s->contact];
            if (way == 0) {
                *end = add_scaled(*end, bent, ck), *start = sub_scaled(*start, W->slip[s->contact], ck);
                *to = wrench_add(*to, force_at(t.arm, scale(t.n, negate(ck * d))));
            } else *to = wrench_add(*to, force_at(at->arm, scale(stand_of(m, s, at->gap).n, ck * d)));
        }
        add_joint_rows(m, way ? W->start : W->now, A->P.load, way ? q_bar : A->b);
    }
}

/// All books but motion, of a step in which a tree is held, and which has led to `kept`: gradients as above, those by the increments, over 1/s, added to way
/// [nv], and by the ways of bodies likewise to X.
KERNEL void alpha_books_pullback(const lane_model *m, position_adjoint *A, const hold_adjoint *H, const vec3 *kept, real s,
                                 rate_pose *X, real *way, const state_bar *before, real *tau_bar)
{
    const vec3 g = load3(m->gravity);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const real c = H->c[i];
        alpha_joint_books(m, b, A, c, s, way, before->q, tau_bar);
        if (b->flags & BODY_MASS) add_momentum_columns(b, scale(g, negate(c) / s), &X[k++]);
    }
    alpha_touch_books(m, A, H, kept, before->q);
}

/// As leads_pullback(): the gradients that `one` has left by normal forces and planes of friction go on through the solves that have
/// found these. Solves that have brought up elements of pairs hand on those of the ground: such elements do not act here.
KERNEL void alpha_leads_pullback(const lane_model *m, const alpha_rule *r, const position_state *S, const position_adjoint *one,
                                 touching_adjoint *T, alpha_adjoint *A, const state_bar *before, real *tau_bar)
{
    const contact_bars *by = &one->bars;
    for (int p = T->leads - 1; p >= 0; p--) {
        position_adjoint *const lead = &T->lead[p];
        const mask solved = gt(T->solves, rset(p));
        if (!any_of(solved)) continue;
        for (int k = 0; k < m->nv; k++) lead->b[k] = A->rate[k] = A->slack[k] = A->turn[k] = rset(0);
        lead->bars.slip = before->slip;
        pass_contact_bars(m, by, both(solved, not_(T->joins[p])), &lead->bars);
        clear_drift(m, &lead->bars);
        correction_pullback(m, &lead->W, by, &lead->bars, &lead->P, lead->b, before->q);
        alpha_solve_pullback(m, r, S, lead, A, before, tau_bar);
        by = &lead->bars;
    }
    for (int k = 0; k < m->ncontact; k++) before->press[k] = by->lag[k];
    start_face_pullback(m, &T->lead[0].W, by->face, &T->lead[0].P, before->q);
}

/// After begin_part() and all solves, whose Newton matrices are in `one` and in T, with what trees keep, of a step from S to
/// `end`, before it was held, and to kept, how far bristles are bent: as alpha_pullback().
KERNEL void alpha_touching_pullback(const lane_model *m, const alpha_rule *r, const position_state *S, const alpha_end *end,
                                    const vec3 *kept, position_adjoint *one, touching_adjoint *T, alpha_adjoint *A,
                                    const state_bar *after, const state_bar *before, real *tau_bar)
{
    hold_adjoint *const H = &T->hold;
    clock_now(m, r->h, 1);
    const ended_motion E = {NULL, end->V, end->rate};
    const bool held = kept_pullback(m, &E, H, after);
    state_bar by_end = *after;
    const position_state seen = seen_from_frames(S, &one->W);
    by_end.V = H->V, by_end.v = H->rate;
    alpha_leave_pullback(m, one, A, end->V, &by_end);
    alpha_end_pullback(m, r, one, A, &by_end, before);
    one->bars.slip = before->slip;
    clear_contact_bars(m, &one->bars);
    for (int k = 0; k < m->ncontact; k++) H->slip[k] = after->slip[k];
    if (held) alpha_books_pullback(m, one, H, kept, r->end, A->X, A->x, before, tau_bar);
    step_wound_pullback(m, one, after->wound, before->q, A->slack);
    step_bent_pullback(m, one, after->z, before->q);
    contact_memory_pullback(m, &one->W, H->slip, after->press, &one->P, &one->bars, one->b, before->q);
    way_pullback(m, one, A->X, A->x, r->end, before->q);
    alpha_solve_pullback(m, r, &seen, one, A, before, tau_bar);
    alpha_leads_pullback(m, r, &seen, one, T, A, before, tau_bar);
    enter_frames_pullback(m, &one->W, S, one->seen, &one->P, before);
    hold_start_pullback(m, H, S->V, S->rate, before);
}

#endif
