/// The AVX2 lane: real = 4 doubles, four worlds side by side. Names as in lane_scalar.h. C11 and C++17, with -mavx2 -mfma.
#ifndef CATENA_LANE_H
#define CATENA_LANE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 4
#define FN static inline __attribute__((always_inline, unused))
#define KERNEL static
#define KERNEL_DATA static const

typedef __m256d real;
typedef double lane_number;  // what a real is made of
typedef __m256d mask;  // all bits of a lane set, or none; bit0 sets the sign bit alone, which is the one that counts

FN real rset(double x) { return _mm256_set1_pd(x); }
FN real fmadd(real a, real b, real c) { return _mm256_fmadd_pd(a, b, c); }
FN real fnmadd(real a, real b, real c) { return _mm256_fnmadd_pd(a, b, c); }
FN real root(real a) { return _mm256_sqrt_pd(a); }

FN mask lt(real a, real b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
FN mask le(real a, real b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
FN mask gt(real a, real b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
FN mask both(mask a, mask b) { return _mm256_and_pd(a, b); }
FN mask either(mask a, mask b) { return _mm256_or_pd(a, b); }
FN mask not_(mask a) { return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1))); }
FN mask none_of(void) { return _mm256_setzero_pd(); }
FN bool any_of(mask a) { return _mm256_movemask_pd(a) != 0; }
FN real sel(mask m, real a, real b) { return _mm256_blendv_pd(b, a, m); }

FN real magnitude(real a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
FN real negate(real a) { return _mm256_xor_pd(_mm256_set1_pd(-0.0), a); }
FN mask bit0(real a) { return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a), 63)); }
FN real flip_by_bit1(real a, real b)
{
    const __m256i s = _mm256_slli_epi64(_mm256_srli_epi64(_mm256_castpd_si256(b), 1), 63);
    return _mm256_xor_pd(a, _mm256_castsi256_pd(s));
}

FN mask is_whole(real a)
{
    return _mm256_cmp_pd(a, _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), _CMP_EQ_OQ);
}

FN real lane_load(const double *p) { return _mm256_load_pd(p); }
FN void lane_store(double *p, real a) { _mm256_store_pd(p, a); }

#include "dynamics/transpose.h"

/// dst [n] from the rows of LANES worlds, and back into the first `count` of them.
FN void lane_gather(real *dst, const double *const *row, int n)
{
    for (int j = 0; j < n; j += 4) {
        if (j + 4 > n) {
            if (n < 4) break;
            j = n - 4;  // some a second time
        }
        load_columns(row, j, &dst[j], &dst[j + 1], &dst[j + 2], &dst[j + 3]);
    }
    for (int j = 0; j < n && n < 4; j++) dst[j] = _mm256_set_pd(row[3][j], row[2][j], row[1][j], row[0][j]);
}
FN void lane_scatter(double *const *row, int count, const real *src, int n)
{
    const bool blocks = count == 4 && n >= 4;
    for (int j = 0; j < n && blocks; j += 4) {
        if (j + 4 > n) j = n - 4;  // some a second time
        store_columns(row, j, src[j], src[j + 1], src[j + 2], src[j + 3]);
    }
    for (int j = 0; j < n && !blocks; j++)
        for (int l = 0; l < count; l++) row[l][j] = ((const double *)&src[j])[l];
}

#endif
