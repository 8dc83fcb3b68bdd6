/// What a solve knows of what acts between bodies (dynamics/between.h): elements of pairs that are looked at (pair_terms.h), rows
/// of loops and couplings (bond_terms.h), and the matrix that they are in (joint_matrix.h).
#ifndef CATENA_BETWEEN_WORK_H
#define CATENA_BETWEEN_WORK_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "contact/law.h"
#include "contact/pair_gap.h"
#include "forces/body_loads.h"
#include "integrators/joint_matrix.h"

/// An element of a pair of shapes.
typedef struct {
    int pair, element;
    bool acts;                   // at the iterate, in some lane
    real weight;                 // of its normal force; 0: it is not looked at
    real from, begun, foreseen;  // m: the depth at the start of the step, the gaps there and at the first guess
    real lag;                    // N, the normal force whose friction it has
    vec3 z, n;                   // how far its bristles are bent at the start; the normal of the plane of friction
    vec3 ma, mb;                 // material points in the middle of the gap, body axes
    // at the iterate
    pair_gap at;
    vec3 arm_a, arm_b, s;  // of these points; how far it is bent
    normal_law normal;
    friction_law rub;
    // in the inner problem: gap and bend, and their rates along its step
    real gap, gap_rate, press, stiffness;
    vec3 bent, bent_rate, pull;  // pull: slip_newton.h
    friction_law slides;
} pair_touch;

/// A contact point on what is fixed, in the inner problem (fixed_touches.h); begun: how far it is bent at the iterate.
typedef struct {
    int load;
    mask looks;  // where it touches, or has friction to feel
    touch at;
    normal_law normal;  // at the iterate, and
    friction_law rub;
    vec3 begun;
    real grip, cap;
    real gap, gap_rate, press, stiffness;  // at the inner step
    vec3 bent, bent_rate, pull;
    friction_law slides;
} fixed_touch;

/// An equation of a bond at the iterate: c, and how it goes by the motions of both bodies, as wrenches about their origins; or of
/// joints.
typedef struct {
    real c, scale;  // scale: 1 over the size that it is measured by
    wrench a, b;
    real by_follower, by_leader;
    real along, rate;  // in the inner problem: what its step adds to c, and the rate of that
} bond_row;

/// What find_near() has found last for a pair, at which pose.
enum { MEMO_ROOM = 32, MOST_MEMOS = 256 };
typedef struct {
    int pair, count, element[MEMO_ROOM];  // pair: counted from 1; 0: nothing
    real reach, weight[MEMO_ROOM];
    pair_pose at;
} near_memo;

typedef struct {
    near_memo *memo;  // [memos] of pairs, by their remainders
    int memos;
    vec3 *begun, *middle;  // [ntouch_shape] middles of shapes at the start of the step, and where bodies are now
    pair_touch *touch;     // [capacity]
    int touches, capacity;
    real passes, late;   // solves with other normal forces; elements that nobody had looked at
    real looked;         // elements that are looked at
    mask lands, full;    // something may land in this step; the list is full, or a world has as many in it as it may
    mask hard;           // a step of this solve was shortened, or has brought up elements that nobody had looked at
    fixed_touch *fixed;  // [ncontact]
    int fixeds;
    bond_row *row;  // [nrow]
    real *force;    // [nrow] their multipliers, N or N m,
    real *fresh;    // and of the step in hand
    real *tau;      // [nv] forces along joints, of couplings and tendons
    real *drift;    // [nbond] by how much lengths go without being braked, where steps have a slack (joint_terms.h)
    real c;         // the largest equation, over its scale
    joint_matrix M;
    matrix_body *body;  // [nbody]
    inertia6 *P;        // [nbody] blocks of what acts between, with curvature
    wrench *w;          // [nbody] scratch, as the next
    twist *V;
    real *d, *Hd, *g, *step;  // [size]: the step, H times it, the gradient there, a step of it
    real plain;               // the energy of the iterate without forces of equations
} between_work;

#endif
