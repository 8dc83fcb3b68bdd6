/// Gradients by how links lie and move, taken back to the coordinates and velocities of one state.
///
/// A scalar that depends on where points of links are, how links are turned, and how fast they do both, pulls at them: its
/// gradient by a position is a force at that place, that by a small turn (rad, world axes) a moment. J'w of these is the gradient
/// by q, and of those by velocities that by v. Velocities depend on q, too: a column s_j of the Jacobian, as a motion of space,
/// moves with every coordinate k that comes before it on its way from the world, and with those of its own ball, ds_j/dq_k = s_k
/// x s_j. Summed over j, d(J v)/dq_k = s_k x (V - V_k), with the motion V_k of what the joint of k hangs on; of a ball that
/// before the ball for all three, which do not commute. So a wrench g that pulls at V adds s_k . (V x* g - V_k x* g), and one
/// sweep from the leaves to the roots finds all. [Featherstone 2008: Rigid body dynamics algorithms, 2.9 has x and x*]
///
/// Sums are in the order of links and of what pulls at them; states are taken one by one: the same bits for every engine and
/// count.
#ifndef CATENA_SIM_MOTION_PULLBACK_H
#define CATENA_SIM_MOTION_PULLBACK_H

#include "sim/batch/dynamics.h"

/// One state, in the memory of `dyn`. Nothing is allocated; calls of jacobians.c between first and last would overwrite it.
typedef struct {
    ctn_dynamics *dyn;
    const double *q, *v;          // [nq], [nv]
    const double *R, *p, *twist;  // [nlink][9], [3], [6]: as ctn_forward_kinematics and ctn_link_twists have them
} motion_pullback;

/// Begins at q and v. Nothing pulls yet.
motion_pullback motion_pullback_at(ctn_dynamics *dyn, const double *q, const double *v);

/// Lets go of all links, at the same state.
void motion_pullback_clear(const motion_pullback *m);

/// Where a point of a link is that is at `point` in its frame, and how fast: x, u [3]; u may be NULL.
void motion_of_point(const motion_pullback *m, int link, const double *point, double *x, double *u);

// gradients by where x [3] of a link is, by a turn of the link, by the velocity of x, by the angular velocity: [3], world axes
void pull_place(const motion_pullback *m, int link, const double *x, const double *by);
void pull_turn(const motion_pullback *m, int link, const double *by);
void pull_velocity(const motion_pullback *m, int link, const double *x, const double *by);
void pull_spin(const motion_pullback *m, int link, const double *by);

/// By the centre of mass of the links on bodies from `first` (-1: the world) to before `end`, or by its velocity. Without mass:
/// nothing.
void pull_com(const motion_pullback *m, int first, int end, const double *by, bool velocity);

/// Adds what all that pulls comes to, to the gradients by q and v: by_q, by_v [nv]; each may be NULL. The pulls are used up.
void motion_pullback_end(const motion_pullback *m, double *by_q, double *by_v);

#endif
