/// The scalar lane: real = double (float with CATENA_FLOAT), one world. Compiled as C11, C++17 and CUDA C++; the other lane
/// headers offer the same names.
///
/// Kernels use only these names and + - * / on `real`, which round as IEEE 754 says in every lane, so that each world's
/// bits do not depend on the lane (docs/architecture.md). fmadd rounds once everywhere: without -mfma the C library does it.
#ifndef CATENA_LANE_H
#define CATENA_LANE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES 1
#ifdef __CUDACC__
#define FN static __device__ __forceinline__   // small functions
#define KERNEL static __device__ __noinline__  // the passes they make up; inlined in each other they take half an hour to compile
#define KERNEL_DATA static __device__ const
#else
#define FN static inline __attribute__((always_inline, unused))
#define KERNEL static
#define KERNEL_DATA static const
#endif

#ifdef CATENA_FLOAT
typedef float real;
typedef int32_t real_bits;
#define ALL_BUT_SIGN INT32_MAX
#define OF_REAL(function) function##f
#else
typedef double real;
typedef int64_t real_bits;
#define ALL_BUT_SIGN INT64_MAX
#define OF_REAL(function) function
#endif
typedef real lane_number;  // what a real is made of
typedef bool mask;

FN real rset(double x) { return (real)x; }
FN real fmadd(real a, real b, real c) { return OF_REAL(fma)(a, b, c); }    // a b + c, rounded once
FN real fnmadd(real a, real b, real c) { return OF_REAL(fma)(-a, b, c); }  // c - a b, rounded once
FN real root(real a) { return OF_REAL(sqrt)(a); }

FN mask lt(real a, real b) { return a < b; }
FN mask le(real a, real b) { return a <= b; }
FN mask gt(real a, real b) { return a > b; }
FN mask both(mask a, mask b) { return a && b; }
FN mask either(mask a, mask b) { return a || b; }
FN mask not_(mask a) { return !a; }
FN mask none_of(void) { return false; }
FN bool any_of(mask a) { return a; }
FN real sel(mask m, real a, real b) { return m ? a : b; }  // m ? a : b

FN real_bits bits_of(real a)
{
    real_bits i;
    memcpy(&i, &a, sizeof i);
    return i;
}
FN real real_of(real_bits i)
{
    real a;
    memcpy(&a, &i, sizeof a);
    return a;
}
FN real magnitude(real a) { return real_of(bits_of(a) & ALL_BUT_SIGN); }
FN real negate(real a) { return real_of(bits_of(a) ^ ~ALL_BUT_SIGN); }
FN mask bit0(real a) { return bits_of(a) & 1; }  // of the mantissa
FN real flip_by_bit1(real a, real b)             // -a where bit 1 of b is set
{
    return real_of(bits_of(a) ^ (real_bits)((uint64_t)(bits_of(b) & 2) << (8 * sizeof(real) - 2)));
}

FN mask is_whole(real a) { return a == OF_REAL(nearbyint)(a); }

FN real lane_load(const double *p) { return (real)*p; }
FN void lane_store(double *p, real a) { *p = a; }

#if defined __AVX2__ && defined __FMA__ && !defined CATENA_FLOAT
/// Four numbers that follow each other in one world, as the lanes of other engines are four worlds: integrators/joint_matrix.h.
#include <immintrin.h>
#define FOUR_NUMBERS
typedef __m256d four_numbers;
FN four_numbers four_load(const real *p) { return _mm256_loadu_pd(p); }
FN void four_store(real *p, four_numbers a) { _mm256_storeu_pd(p, a); }
FN four_numbers four_of(real a) { return _mm256_set1_pd(a); }
FN four_numbers four_fmadd(four_numbers a, four_numbers b, four_numbers c) { return _mm256_fmadd_pd(a, b, c); }
FN four_numbers four_fnmadd(four_numbers a, four_numbers b, four_numbers c) { return _mm256_fnmadd_pd(a, b, c); }
#endif

/// dst [n] from the rows of LANES worlds, and back into the first `count` of them.
FN void lane_gather(real *dst, const double *const *row, int n)
{
    for (int j = 0; j < n; j++) dst[j] = (real)row[0][j];
}
FN void lane_scatter(double *const *row, int count, const real *src, int n)
{
    if (count)
        for (int j = 0; j < n; j++) row[0][j] = src[j];
}

/// The 4 x 4 block at `to` becomes the transpose of the one at `from`; both in rows of n.
FN void lane_mirror4(double *to, const double *from, size_t n)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) to[(size_t)i * n + (size_t)j] = from[(size_t)j * n + (size_t)i];
}
/// What stands above the diagonal of the 4 x 4 block at H, in rows of n, also below it.
FN void lane_symmetric4(double *H, size_t n)
{
    H[n] = H[1];
    H[2 * n] = H[2], H[2 * n + 1] = H[n + 2];
    H[3 * n] = H[3], H[3 * n + 1] = H[n + 3], H[3 * n + 2] = H[2 * n + 3];
}

#endif
