/// Small dense matrices, row by row. Sums run over the inner index in its order, and columns lie side by
/// side: the same bits for any width of vectors.
#ifndef CATENA_SIM_MATRIX_H
#define CATENA_SIM_MATRIX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/// Before a function that is all matrices: compiled once for each width of vectors, and chosen when the program is loaded. What the
/// CPU has changes no bit, as no sum is torn apart and nothing is fused.
#if defined(CATENA_X86) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                         \
    !defined(__SANITIZE_THREAD__)
#define FOR_ALL_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_ALL_WIDTHS
#endif
#define INTO_CALLER static inline __attribute__((always_inline))  // so that it is compiled for its widths

/// Four columns of a row; rows are padded to pairs of these.
typedef double columns __attribute__((vector_size(32), aligned(8)));
enum { COLUMNS = 4, PAIR = 8 };

INTO_CALLER columns columns_at(const double *x) { return *(const columns *)(const void *)x; }
INTO_CALLER void put_columns(double *x, columns y) { *(columns *)(void *)x = y; }

/// Columns that rows have room for.
static inline int padded(int columns_of) { return (columns_of + PAIR - 1) / PAIR * PAIR; }

/// `rows` rows at a time of matrix_product.
#define PRODUCT_ROWS(rows)                                                                                                       \
    for (; i + (rows) <= a; i += (rows))                                                                                         \
        for (int j = 0; j < c; j += PAIR) {                                                                                      \
            columns x[rows], y[rows];                                                                                            \
            _Pragma("GCC unroll 8") for (int r = 0; r < (rows); r++) x[r] = columns_at(C + (i + r) * stride + j),                \
                                                                     y[r] = columns_at(C + (i + r) * stride + j + COLUMNS);      \
            for (int k = 0; k < b; k++) {                                                                                        \
                const columns p = columns_at(B + k * stride + j), q = columns_at(B + k * stride + j + COLUMNS);                  \
                _Pragma("GCC unroll 8") for (int r = 0; r < (rows); r++) x[r] += A[(i + r) * down + k * across] * p,             \
                    y[r] += A[(i + r) * down + k * across] * q;                                                                  \
            }                                                                                                                    \
            _Pragma("GCC unroll 8") for (int r = 0; r < (rows); r++) put_columns(C + (i + r) * stride + j, x[r]),                \
                put_columns(C + (i + r) * stride + j + COLUMNS, y[r]);                                                           \
        }

/// C [a][c] += A B, of A whose entry (i, k) is at i down + k across, B [b][c]; rows of B and C are `stride` apart, which is c at
/// least, and padded.
INTO_CALLER void matrix_product(int a, int b, int c, const double *restrict A, int down, int across, const double *restrict B,
                                double *restrict C, int stride)
{
    int i = 0;
    PRODUCT_ROWS(4)
    PRODUCT_ROWS(1)
}
#undef PRODUCT_ROWS

/// C [a][c] += s A [a][b] B [b][c].
INTO_CALLER void matrix_multiply(int a, int b, int c, double s, const double *restrict A, const double *restrict B,
                                 double *restrict C)
{
    for (int i = 0; i < a; i++)
        for (int k = 0; k < b; k++) {
            const double x = s * A[i * b + k];
            for (int j = 0; j < c; j++) C[i * c + j] += x * B[k * c + j];
        }
}

/// C [b][c] += A' B, of A [a][b], B [a][c].
INTO_CALLER void matrix_transposed(int a, int b, int c, const double *restrict A, const double *restrict B, double *restrict C)
{
    for (int k = 0; k < a; k++)
        for (int i = 0; i < b; i++) {
            const double x = A[k * b + i];
            for (int j = 0; j < c; j++) C[i * c + j] += x * B[k * c + j];
        }
}

/// y [a] += A [a][b] x, four rows at a time.
INTO_CALLER void matrix_vector(int a, int b, const double *restrict A, const double *restrict x, double *restrict y)
{
    int i = 0;
    for (; i + 4 <= a; i += 4)
        for (int k = 0; k < b; k++)
            for (int r = 0; r < 4; r++) y[i + r] += A[(i + r) * b + k] * x[k];
    for (; i < a; i++)
        for (int k = 0; k < b; k++) y[i] += A[i * b + k] * x[k];
}

/// The mean of A [n][n] and its transpose.
INTO_CALLER void matrix_symmetric(int n, double *A)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) A[i * n + j] = A[j * n + i] = 0.5 * (A[i * n + j] + A[j * n + i]);
}

/// A [n][n] = L L', L below the diagonal and on it; false: A is not positive definite.
INTO_CALLER bool matrix_cholesky(int n, double *A)
{
    for (int j = 0; j < n; j++) {
        double d = A[j * n + j];
        for (int k = 0; k < j; k++) d -= A[j * n + k] * A[j * n + k];
        if (!(d > 0) || !isfinite(d)) return false;
        A[j * n + j] = sqrt(d);
        for (int i = j + 1; i < n; i++) {
            double x = A[i * n + j];
            for (int k = 0; k < j; k++) x -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = x / A[j * n + j];
        }
    }
    return true;
}

/// B [n][c] becomes (L L')^-1 B.
INTO_CALLER void matrix_cholesky_solve(int n, int c, const double *restrict L, double *restrict B)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            for (int j = 0; j < c; j++) B[i * c + j] -= L[i * n + k] * B[k * c + j];
        for (int j = 0; j < c; j++) B[i * c + j] /= L[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            for (int j = 0; j < c; j++) B[i * c + j] -= L[k * n + i] * B[k * c + j];
        for (int j = 0; j < c; j++) B[i * c + j] /= L[i * n + i];
    }
}

/// A [n][n] becomes its factors, with the rows that pivots were taken from; false: singular.
INTO_CALLER bool matrix_lu(int n, double *A, int *row)
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[p * n + k])) p = i;
        row[k] = p;
        if (!(fabs(A[p * n + k]) > 0) || !isfinite(A[p * n + k])) return false;
        for (int j = 0; j < n && p != k; j++) {
            const double x = A[k * n + j];
            A[k * n + j] = A[p * n + j], A[p * n + j] = x;
        }
        for (int i = k + 1; i < n; i++) {
            const double x = A[i * n + k] /= A[k * n + k];
            for (int j = k + 1; j < n; j++) A[i * n + j] -= x * A[k * n + j];
        }
    }
    return true;
}

/// B [n][c] becomes A^-1 B.
INTO_CALLER void matrix_lu_solve(int n, int c, const double *restrict A, const int *row, double *restrict B)
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < c && row[k] != k; j++) {
            const double x = B[k * c + j];
            B[k * c + j] = B[row[k] * c + j], B[row[k] * c + j] = x;
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            for (int j = 0; j < c; j++) B[i * c + j] -= A[i * n + k] * B[k * c + j];
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            for (int j = 0; j < c; j++) B[i * c + j] -= A[i * n + k] * B[k * c + j];
        for (int j = 0; j < c; j++) B[i * c + j] /= A[i * n + i];
    }
}

#endif
