/// Small dense matrices, row by row. Sums run over the inner index in its order.
#ifndef CATENA_SIM_MATRIX_H
#define CATENA_SIM_MATRIX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __CUDACC__
#define MATRIX_FN static inline __host__ __device__
#else
#define MATRIX_FN static inline
#endif
#ifdef __cplusplus
#define ALONE __restrict__
#else
#define ALONE restrict
#endif

/// C [a][c] += s A [a][b] B [b][c].
MATRIX_FN void matrix_multiply(int a, int b, int c, double s, const double *ALONE A, const double *ALONE B, double *ALONE C)
{
    for (int i = 0; i < a; i++)
        for (int k = 0; k < b; k++) {
            const double x = s * A[i * b + k];
            for (int j = 0; j < c; j++) C[i * c + j] += x * B[k * c + j];
        }
}

/// C [b][c] += A' B, of A [a][b], B [a][c].
MATRIX_FN void matrix_transposed(int a, int b, int c, const double *ALONE A, const double *ALONE B, double *ALONE C)
{
    for (int k = 0; k < a; k++)
        for (int i = 0; i < b; i++) {
            const double x = A[k * b + i];
            for (int j = 0; j < c; j++) C[i * c + j] += x * B[k * c + j];
        }
}

/// The mean of A [n][n] and its transpose.
MATRIX_FN void matrix_symmetric(int n, double *A)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) A[i * n + j] = A[j * n + i] = 0.5 * (A[i * n + j] + A[j * n + i]);
}

/// A [n][n] = L L', L below the diagonal and on it; false: A is not positive definite.
MATRIX_FN bool matrix_cholesky(int n, double *A)
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
MATRIX_FN void matrix_cholesky_solve(int n, int c, const double *ALONE L, double *ALONE B)
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
MATRIX_FN bool matrix_lu(int n, double *A, int *row)
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
MATRIX_FN void matrix_lu_solve(int n, int c, const double *ALONE A, const int *row, double *ALONE B)
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
