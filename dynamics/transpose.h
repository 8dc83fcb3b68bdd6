/// Blocks of 4 x 4 doubles turned over in AVX registers, for the lanes of x86 CPUs.
#ifndef CATENA_TRANSPOSE_H
#define CATENA_TRANSPOSE_H

FN void transpose4(__m256d *a, __m256d *b, __m256d *c, __m256d *d)
{
    const __m256d p = _mm256_unpacklo_pd(*a, *b), q = _mm256_unpackhi_pd(*a, *b), r = _mm256_unpacklo_pd(*c, *d),
                  s = _mm256_unpackhi_pd(*c, *d);
    *a = _mm256_permute2f128_pd(p, r, 0x20), *b = _mm256_permute2f128_pd(q, s, 0x20);
    *c = _mm256_permute2f128_pd(p, r, 0x31), *d = _mm256_permute2f128_pd(q, s, 0x31);
}

/// Columns j .. j + 3 of four rows: a holds column j of all four.
FN void load_columns(const double *const *row, int j, __m256d *a, __m256d *b, __m256d *c, __m256d *d)
{
    *a = _mm256_loadu_pd(row[0] + j), *b = _mm256_loadu_pd(row[1] + j), *c = _mm256_loadu_pd(row[2] + j),
    *d = _mm256_loadu_pd(row[3] + j);
    transpose4(a, b, c, d);
}
FN void store_columns(double *const *row, int j, __m256d a, __m256d b, __m256d c, __m256d d)
{
    transpose4(&a, &b, &c, &d);
    _mm256_storeu_pd(row[0] + j, a), _mm256_storeu_pd(row[1] + j, b);
    _mm256_storeu_pd(row[2] + j, c), _mm256_storeu_pd(row[3] + j, d);
}

/// The 4 x 4 block at `to` becomes the transpose of the one at `from`; both in rows of n.
FN void lane_mirror4(double *to, const double *from, size_t n)
{
    const double *const row[4] = {from, from + n, from + 2 * n, from + 3 * n};
    __m256d a, b, c, d;
    load_columns(row, 0, &a, &b, &c, &d);
    _mm256_storeu_pd(to, a), _mm256_storeu_pd(to + n, b), _mm256_storeu_pd(to + 2 * n, c), _mm256_storeu_pd(to + 3 * n, d);
}

/// What stands above the diagonal of the 4 x 4 block at H, in rows of n, also below it.
FN void lane_symmetric4(double *H, size_t n)
{
    const double *const row[4] = {H, H + n, H + 2 * n, H + 3 * n};
    __m256d a, b, c, d;
    load_columns(row, 0, &a, &b, &c, &d);
    _mm256_storeu_pd(H + n, _mm256_blend_pd(_mm256_loadu_pd(H + n), b, 1));
    _mm256_storeu_pd(H + 2 * n, _mm256_blend_pd(_mm256_loadu_pd(H + 2 * n), c, 3));
    _mm256_storeu_pd(H + 3 * n, _mm256_blend_pd(_mm256_loadu_pd(H + 3 * n), d, 7));
}

#endif
