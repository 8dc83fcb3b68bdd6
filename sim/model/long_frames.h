/// Frames in long double: the constants of models that are composed of them are right to the last digit of a double.
#ifndef CATENA_SIM_LONG_FRAMES_H
#define CATENA_SIM_LONG_FRAMES_H

#include <math.h>

typedef long double ld;
typedef struct {
    ld m[9];
} mat;
typedef struct {
    ld x[3];
} vec;

static const mat identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

static inline mat mat_mul(mat a, mat b)
{
    mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[3 * i + j] = a.m[3 * i] * b.m[j] + a.m[3 * i + 1] * b.m[3 + j] + a.m[3 * i + 2] * b.m[6 + j];
    return c;
}

static inline mat mat_transpose(mat a)
{
    mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c.m[3 * i + j] = a.m[3 * j + i];
    return c;
}

static inline vec mat_vec(mat a, vec b)
{
    vec c;
    for (int i = 0; i < 3; i++) c.x[i] = a.m[3 * i] * b.x[0] + a.m[3 * i + 1] * b.x[1] + a.m[3 * i + 2] * b.x[2];
    return c;
}

static inline vec vec_add(vec a, vec b) { return (vec){{a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2]}}; }
static inline vec vec_of(const double *a) { return (vec){{a[0], a[1], a[2]}}; }
static inline ld vec_norm(vec a) { return sqrtl(a.x[0] * a.x[0] + a.x[1] * a.x[1] + a.x[2] * a.x[2]); }

static inline mat mat_of_quaternion(const double *q)
{
    const ld w = q[0], x = q[1], y = q[2], z = q[3], s = 2 / (w * w + x * x + y * y + z * z);
    return (mat){{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),  //
                  s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),  //
                  s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}};
}

/// A frame with the unit vector `axis` as its z axis; a permutation without rounding if the axis is x, y or z.
static inline mat frame_of_axis(const double *axis)
{
    const vec z = vec_of(axis);
    if (z.x[2] == 1) return identity;
    int k = 0;  // the coordinate axis least along z becomes x
    for (int i = 1; i < 3; i++)
        if (fabsl(z.x[i]) <= fabsl(z.x[k])) k = i;
    vec x = {{0, 0, 0}};
    for (int i = 0; i < 3; i++) x.x[i] = (i == k) - z.x[k] * z.x[i];
    const ld n = vec_norm(x);
    for (int i = 0; i < 3; i++) x.x[i] /= n;
    const vec y = {{z.x[1] * x.x[2] - z.x[2] * x.x[1], z.x[2] * x.x[0] - z.x[0] * x.x[2], z.x[0] * x.x[1] - z.x[1] * x.x[0]}};
    mat f;
    for (int i = 0; i < 3; i++) f.m[3 * i] = x.x[i], f.m[3 * i + 1] = y.x[i], f.m[3 * i + 2] = z.x[i];
    return f;
}

static inline mat about_z(ld c, ld s) { return (mat){{c, -s, 0, s, c, 0, 0, 0, 1}}; }

#endif
