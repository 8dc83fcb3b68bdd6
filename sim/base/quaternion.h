/// Turns as quaternions (w, x, y, z).
#ifndef CATENA_SIM_QUATERNION_H
#define CATENA_SIM_QUATERNION_H

#include <math.h>

/// q may be a or b.
static inline void quaternion_product(const double a[4], const double b[4], double q[4])
{
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    q[0] = w, q[1] = x, q[2] = y, q[3] = z;
}

/// The turn by a rotation vector, exp(e/2).
static inline void quaternion_of_turn(const double e[3], double q[4])
{
    const double angle = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), half = angle > 0 ? sin(angle / 2) / angle : 0.5;
    q[0] = cos(angle / 2);
    for (int i = 0; i < 3; i++) q[1 + i] = half * e[i];
}

#endif
