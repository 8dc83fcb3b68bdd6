/// What forms compute of single links in one common frame ([L] Listing 7): between scans, on threads of the CPU and of devices.
/// Arrays are in the order of tree.h, but for the numbers of joints, which are in the order that was given.
#ifndef CATENA_SIM_FORMS_LINKS_H
#define CATENA_SIM_FORMS_LINKS_H

#include "sim/forms/tree.h"

typedef struct {
    const ctn_tree *tree;
    const double *v, *a;  // v NULL: at rest
    double *tau, *twist;
    const se3 *local, *pose;
    const v3 *origin;           // of the common frame
    recurrence *x, *vel, *acc;  // own frames
    vec6 *joint, *V, *A, *F;    // the common frame: what joints add, and sums of it; wrenches
} rnea_call;

/// The pose of a link in its parent, of its joint's coordinate and the sine and cosine of that.
FN se3 link_pose(const tree_link *l, double q, double sine, double cosine)
{
    se3 T = l->at;
    if (l->slides) T.p = v3_add(T.p, v3_scale(T.Z, q));
    else {
        T.X = v3_add(v3_scale(l->at.X, cosine), v3_scale(l->at.Y, sine));
        T.Y = v3_sub(v3_scale(l->at.Y, cosine), v3_scale(l->at.X, sine));
    }
    return T;
}

/// A joint's axis as a motion, in the common frame.
FN vec6 common_axis(const tree_link *l, const se3 *T, v3 origin)
{
    if (l->slides) return (vec6){{0, 0, 0}, T->Z};
    return (vec6){T->Z, v3_cross(v3_sub(T->p, origin), T->Z)};
}
FN vec6 axis_of(const rnea_call *c, int k) { return common_axis(&c->tree->links[k], &c->pose[k], *c->origin); }

FN void joint_velocity(const rnea_call *c, int k) { c->joint[k] = vec6_scale(axis_of(c, k), c->v[c->tree->given[k]]); }

FN void joint_acceleration(const rnea_call *c, int k)  // S a + V x S v ([L] equation 28)
{
    const vec6 S = axis_of(c, k);
    const int i = c->tree->given[k];
    c->joint[k] = vec6_scale(S, c->a[i]);
    if (c->v) c->joint[k] = vec6_add(c->joint[k], vec6_scale(vec6_cross(c->V[k], S), c->v[i]));
}

/// What gives a link at rest this acceleration: about its centre of mass, where nothing is far off, then shifted to the common
/// origin.
FN vec6 wrench_at_rest(const tree_link *l, const se3 *T, v3 origin, vec6 A)
{
    const v3 at = v3_sub(v3_add(T->p, se3_turn(T, l->com)), origin);
    const sym33 I = sym33_turned(T, &l->I);
    const v3 force = v3_scale(v3_add(A.l, v3_cross(A.w, at)), l->mass);
    return (vec6){v3_add(sym33_times(&I, A.w), v3_cross(at, force)), force};
}

/// What moves a link, likewise, with its velocity and gravity.
FN void link_wrench(const rnea_call *c, int k)
{
    const tree_link *l = &c->tree->links[k];
    const se3 *T = &c->pose[k];
    const v3 gravity = v3_of(c->tree->gravity);
    const v3 at = v3_sub(v3_add(T->p, se3_turn(T, l->com)), *c->origin);
    const sym33 I = sym33_turned(T, &l->I);
    const vec6 A = c->A[k];
    v3 acceleration = v3_sub(v3_add(A.l, v3_cross(A.w, at)), gravity), moment = sym33_times(&I, A.w);
    if (c->v) {
        const vec6 V = c->V[k];
        acceleration = v3_add(acceleration, v3_cross(V.w, v3_add(V.l, v3_cross(V.w, at))));
        moment = v3_add(moment, v3_cross(V.w, sym33_times(&I, V.w)));
    }
    const v3 force = v3_scale(acceleration, l->mass);
    c->F[k] = (vec6){v3_add(moment, v3_cross(at, force)), force};
}

FN void joint_torque(const rnea_call *c, int k)
{
    const int i = c->tree->given[k];
    // the moment about the joint, not about the origin: z . (n - p x f)
    const se3 *T = &c->pose[k];
    const vec6 F = c->F[k];
    const v3 turning = v3_sub(F.w, v3_cross(v3_sub(T->p, *c->origin), F.l));
    c->tau[i] = v3_dot(T->Z, c->tree->links[k].slides ? F.l : turning) + c->tree->links[k].armature * c->a[i];
}

/// A link's inertia in the common frame.
FN inertia common_inertia(const tree_link *l, const se3 *T, v3 origin)
{
    return inertia_about(l->mass, v3_sub(v3_add(T->p, se3_turn(T, l->com)), origin), sym33_turned(T, &l->I));
}

/// Whether link k is link j, or beyond it.
FN bool beyond(const ctn_tree *t, int j, int k) { return j <= k && k < t->end[j]; }

/// A link's twist, from the common frame into its own.
FN void common_twist(const rnea_call *c, int k)
{
    se3 T = c->pose[k];
    T.p = v3_sub(T.p, *c->origin);
    const vec6 V = se3_motion_in(&T, c->V[k]);
    double *const out = c->twist + (size_t)6 * (size_t)c->tree->given[k];
    v3_to(out, V.w), v3_to(out + 3, V.l);
}

#endif
