/// Coordinates between two known states.
#ifndef CATENA_RENDER_INTERPOLATION_H
#define CATENA_RENDER_INTERPOLATION_H

#include <catena/model.h>

/// q [nq], v [nv] at the share s of the time h (s) from the state q0, v0 (s <= 0) to q1, v1 (s >= 1): cubic Hermite polynomials
/// of angles and lengths, great circles of quaternions, straight lines of velocities. Meets both states; off by O(h^4), balls
/// O(h^2). Where the coordinates are the same they stand, whatever the velocities: those of a world that froze are its last ones.
void interpolate_state(const ctn_model *model, double h, const double *q0, const double *v0, const double *q1, const double *v1,
                       double s, double *q, double *v);

#endif
