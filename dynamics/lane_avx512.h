/// The AVX-512 lane: real = 8 doubles, eight worlds side by side. Names as in lane_scalar.h. C11 and C++17, with -mavx512f
/// -mavx512dq.
#ifndef CATENA_LANE_H
#define CATENA_LANE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 8
#define FN static inline __attribute__((always_inline, unused))
#define KERNEL static
#define KERNEL_DATA static const

typedef __m512d real;
typedef double lane_number;  // what a real is made of
typedef __mmask8 mask;

FN real rset(double x) { return _mm512_set1_pd(x); }
FN real fmadd(real a, real b, real c) { return _mm512_fmadd_pd(a, b, c); }
FN real fnmadd(real a, real b, real c) { return _mm512_fnmadd_pd(a, b, c); }
FN real root(real a) { return _mm512_sqrt_pd(a); }

FN mask lt(real a, real b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
FN mask le(real a, real b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
FN mask gt(real a, real b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
FN mask both(mask a, mask b) { return a & b; }
FN mask either(mask a, mask b) { return a | b; }
FN mask not_(mask a) { return (mask)~a; }
FN mask none_of(void) { return 0; }
FN bool any_of(mask a) { return a != 0; }
FN real sel(mask m, real a, real b) { return _mm512_mask_blend_pd(m, b, a); }

FN real magnitude(real a) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a); }
FN real negate(real a) { return _mm512_xor_pd(_mm512_set1_pd(-0.0), a); }
FN mask bit0(real a) { return _mm512_test_epi64_mask(_mm512_castpd_si512(a), _mm512_set1_epi64(1)); }
FN real flip_by_bit1(real a, real b)
{
    const __m512i s = _mm512_slli_epi64(_mm512_srli_epi64(_mm512_castpd_si512(b), 1), 63);
    return _mm512_xor_pd(a, _mm512_castsi512_pd(s));
}

FN mask is_whole(real a)
{
    return _mm512_cmp_pd_mask(a, _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), _CMP_EQ_OQ);
}

FN real lane_load(const double *p) { return _mm512_load_pd(p); }
FN void lane_store(double *p, real a) { _mm512_store_pd(p, a); }

#include "dynamics/transpose.h"

/// dst [n] from the rows of LANES worlds, and back into the first `count` of them.
FN void lane_gather(real *dst, const double *const *row, int n)
{
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        __m256d lo[4], hi[4];
        load_columns(row, j, &lo[0], &lo[1], &lo[2], &lo[3]);
        load_columns(row + 4, j, &hi[0], &hi[1], &hi[2], &hi[3]);
        for (int k = 0; k < 4; k++) dst[j + k] = _mm512_insertf64x4(_mm512_castpd256_pd512(lo[k]), hi[k], 1);
    }
    for (; j < n; j++)
        dst[j] = _mm512_set_pd(row[7][j], row[6][j], row[5][j], row[4][j], row[3][j], row[2][j], row[1][j], row[0][j]);
}
FN void lane_scatter(double *const *row, int count, const real *src, int n)
{
    int j = 0;
    if (count == 8)
        for (; j + 4 <= n; j += 4) {
            const real a = src[j], b = src[j + 1], c = src[j + 2], d = src[j + 3];
            store_columns(row, j, _mm512_castpd512_pd256(a), _mm512_castpd512_pd256(b), _mm512_castpd512_pd256(c),
                          _mm512_castpd512_pd256(d));
            store_columns(row + 4, j, _mm512_extractf64x4_pd(a, 1), _mm512_extractf64x4_pd(b, 1), _mm512_extractf64x4_pd(c, 1),
                          _mm512_extractf64x4_pd(d, 1));
        }
    for (; j < n; j++)
        for (int l = 0; l < count; l++) row[l][j] = ((const double *)&src[j])[l];
}

#endif
