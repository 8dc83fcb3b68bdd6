/// Two worlds in portable C, a width that no other lane has and every CPU does: kernels must not know how wide a lane is.
#ifndef CATENA_LANE_H
#define CATENA_LANE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LANES 2
#define FN static inline __attribute__((always_inline, unused))
#define KERNEL static
#define KERNEL_DATA static const

typedef double real __attribute__((vector_size(16)));
typedef double lane_number;
typedef int64_t bits2 __attribute__((vector_size(16)));
typedef uint64_t ubits2 __attribute__((vector_size(16)));
typedef bits2 mask;

FN real rset(double x) { return x - (real){0}; }
FN real fmadd(real a, real b, real c) { return (real){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1])}; }
FN real fnmadd(real a, real b, real c) { return fmadd(-a, b, c); }
FN real root(real a) { return (real){sqrt(a[0]), sqrt(a[1])}; }
FN mask lt(real a, real b) { return a < b; }
FN mask le(real a, real b) { return a <= b; }
FN mask gt(real a, real b) { return a > b; }
FN mask both(mask a, mask b) { return a & b; }
FN mask either(mask a, mask b) { return a | b; }
FN mask not_(mask a) { return ~a; }
FN mask none_of(void) { return (mask){0}; }
FN bool any_of(mask a) { return a[0] || a[1]; }
FN real sel(mask m, real a, real b) { return (real)(((bits2)a & m) | ((bits2)b & ~m)); }
FN real magnitude(real a) { return (real)((bits2)a & INT64_MAX); }
FN real negate(real a) { return (real)((bits2)a ^ INT64_MIN); }
FN mask bit0(real a) { return -((bits2)a & 1); }
FN real flip_by_bit1(real a, real b) { return (real)((ubits2)a ^ (((ubits2)b & 2) << 62)); }
FN mask is_whole(real a) { return (mask){-(int64_t)(a[0] == nearbyint(a[0])), -(int64_t)(a[1] == nearbyint(a[1]))}; }
FN real lane_load(const double *p)
{
    real a;
    memcpy(&a, p, sizeof a);
    return a;
}
FN void lane_store(double *p, real a) { memcpy(p, &a, sizeof a); }
FN void lane_gather(real *dst, const double *const *row, int n)
{
    for (int j = 0; j < n; j++) dst[j] = (real){row[0][j], row[1][j]};
}
FN void lane_scatter(double *const *row, int count, const real *src, int n)
{
    for (int j = 0; j < n; j++)
        for (int l = 0; l < count; l++) row[l][j] = src[j][l];
}
FN void lane_mirror4(double *to, const double *from, size_t n)
{
    for (int i = 0; i < 16; i++) to[(size_t)(i / 4) * n + (size_t)(i % 4)] = from[(size_t)(i % 4) * n + (size_t)(i / 4)];
}
FN void lane_symmetric4(double *H, size_t n)
{
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < i; j++) H[i * n + j] = H[j * n + i];
}

#endif
