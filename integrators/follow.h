/// A Newton step that follows itself along the tree: each joint answers what the bodies before it have come to, in place of what
/// the step's linear model foresaw for them.
///
/// A sweep outwards makes the step d_j = k_j - G_j t, k_j = -D^-1 (S'p + r), G_j = D^-1 U', with the linear motion t of the body
/// before (newton_sweep.h, stage_sweep.h). Turns by radians leave it: along a chain every link errs by half of its arm times the
/// square of its turn, and all of that adds up at the end. So in hard solves, where curvature has been dropped or a step
/// shortened, the joint takes
///
///     alpha k_j - G_j t,   t = (w, v)
///
/// with the true way v of its origin as the body before carries it, and that body's true turn exp(w). As alpha goes to 0 this is
/// alpha d_j. The idea is that of differential dynamic programming. (docs/theory.md 4.4)
#ifndef CATENA_FOLLOW_H
#define CATENA_FOLLOW_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/kinematics.h"
#include "integrators/collocation.h"

/// Where a body is at an iterate.
typedef struct {
    placement T;
    vec3 dp;  // p - p_k
} whereabouts;

FN void keep_whereabouts(whereabouts *base, const placement *T, vec3 dp, mask where)
{
    base->T.R.x = sel3(where, T->R.x, base->T.R.x), base->T.R.y = sel3(where, T->R.y, base->T.R.y);
    base->T.R.z = sel3(where, T->R.z, base->T.R.z), base->T.r = sel3(where, T->r, base->T.r),
    base->dp = sel3(where, dp, base->dp);
}

/// How a body is carried along by the one before it, which was at `base` and is at T, dp; about its own origin, which stood off
/// by r.
FN twist carried_along(joint_form f, const whereabouts *base, const placement *T, vec3 dp, vec3 r)
{
    twist t;
    t.w = mul(base->T.R, axes_increment(base->T.R, T->R)), t.v = sub(dp, base->dp);
    if (has_arm(f)) t.v = add(t.v, sub(mul(T->R, tmul(base->T.R, r)), r));
    return t;
}

FN bool only_slides(const lane_body *b) { return b->kind == JOINT_PRISMATIC || b->kind == JOINT_TRANSLATION; }

/// The answer y [nv of the joint] of a joint, which turns it by a radian at most: those beyond it answer what it leaves over.
FN void bound_turns(const lane_body *b, real *y)
{
    const real most = rset(1), least = rset(-1);
    for (int k = 0; k < b->nv && !only_slides(b); k++) {
        y[k] = sel(gt(y[k], most), most, y[k]);
        y[k] = sel(lt(y[k], least), least, y[k]);
    }
}

/// A body has followed: its placement *T and *dp at x, from those of the body before it (roots: NULL). u: increments; start: of
/// the step
FN void follow_body(const lane_body *b, joint_form f, const placement *up, const vec3 *up_dp, const real *x, const real *u,
                    const placement *start, mask where, placement *T, vec3 *dp)
{
    const mat3 parent = up ? up->R : T->R, R = body_axes(b, f, parent, x);
    const vec3 r = body_offset(b, f, parent, R.z, x);
    vec3 p = up ? *up_dp : zero3();
    if (f.kind == JOINT_TRANSLATION) p = load3(u + b->vadr);
    else if (has_arm(f)) p = add(p, sub(r, start->r));
    T->R.x = sel3(where, R.x, T->R.x), T->R.y = sel3(where, R.y, T->R.y), T->R.z = sel3(where, R.z, T->R.z);
    T->r = sel3(where, r, T->r), *dp = sel3(where, p, *dp);
}

#endif
