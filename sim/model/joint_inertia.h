/// The joint-space inertia H of a model at one pose, factored: what forces accelerate, and the inertia that a joint meets.
#ifndef CATENA_SIM_JOINT_INERTIA_H
#define CATENA_SIM_JOINT_INERTIA_H

#include <catena/model.h>

typedef struct joint_inertia joint_inertia;

/// H(q), armature in it, in O(N). q [nq]; NULL: all coordinates zero. NULL without memory. The model must outlive it.
joint_inertia *joint_inertia_create(const ctn_model *m, const double *q);
void joint_inertia_free(joint_inertia *inertia);  // NULL is allowed

/// x = H^-1 b in O(N). b, x [nv], may be the same.
void joint_inertia_solve(joint_inertia *inertia, const double *b, double *x);

/// The articulated inertia that the joint of body i meets: what carries it is held, what hangs on it is free. kg m^2 or kg; of
/// three degrees of freedom the harmonic mean. 0 where nothing resists.
double joint_inertia_met(const joint_inertia *inertia, int i);

/// What a force at a point of body i does to the acceleration of that point: A = J H^-1 J', 1/kg. point [3], body frame; work [6
/// nv]
void point_mobility(joint_inertia *inertia, int i, const double *point, double A[3][3], double *work);

/// What the contact points push back with where the bodies move with x [nv] from the pose and all points touch, of a box those
/// of opposite corners that are the lower ones: f = sum of k J'J x [nv], J the motion of the surface. share [nload]: x'f of each
/// point, of other loads 0.
void joint_inertia_touch(joint_inertia *inertia, const double *x, double *f, double *share);

#endif
