/// Coordinates between two known states.
#ifndef CATENA_RENDER_BETWEEN_H
#define CATENA_RENDER_BETWEEN_H

#include <catena/model.h>

/// q [nq] at the share s (0 to 1) of the time h (s) from the state q0, v0 to q1, v1: cubic Hermite polynomials of angles and lengths, great
/// circles of quaternions. Meets both states; off by O(h^4), balls O(h^2).
void state_between(const ctn_model *model, double h, const double *q0, const double *v0, const double *q1, const double *v1,
                   double s, double *q);

#endif
