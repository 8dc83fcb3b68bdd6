/// Vectors of three for pictures. Steps of scenes do not use these: theirs are in dynamics/.
#ifndef CATENA_RENDER_VECTORS_H
#define CATENA_RENDER_VECTORS_H

#include <math.h>

static inline double vector_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline double vector_length(const double *a) { return sqrt(vector_dot(a, a)); }

/// c is neither a nor b.
static inline void vector_cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// Scales to length 1; nothing is left of what has no length.
static inline void vector_normalise(double *a)
{
    const double n = vector_length(a);
    for (int k = 0; k < 3; k++) a[k] = n > 0 ? a[k] / n : 0;
}

/// Unit vectors u, v such that u, v, axis are right-handed, for an axis of length 1.
static inline void vector_frame(const double *axis, double *u, double *v)
{
    const int least =
        fabs(axis[0]) < fabs(axis[1]) ? (fabs(axis[0]) < fabs(axis[2]) ? 0 : 2) : (fabs(axis[1]) < fabs(axis[2]) ? 1 : 2);
    for (int k = 0; k < 3; k++) u[k] = (k == least) - axis[least] * axis[k];
    vector_normalise(u);
    vector_cross(axis, u, v);
}

/// x with rows x = b, by Cramer's rule; not finite if the rows are in one plane.
static inline void vector_solve(double rows[3][3], const double *b, double *x)
{
    double across[3][3];
    for (int i = 0; i < 3; i++) vector_cross(rows[(i + 1) % 3], rows[(i + 2) % 3], across[i]);
    const double volume = vector_dot(rows[0], across[0]);
    for (int k = 0; k < 3; k++) x[k] = (b[0] * across[0][k] + b[1] * across[1][k] + b[2] * across[2][k]) / volume;
}

#endif
