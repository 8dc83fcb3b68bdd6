/// The two passes over the boundaries of a path with several stages: inwards what follows, outwards motions and wrenches.
#include "sim/along/stage_boundary.h"

#include <math.h>
#include <string.h>

#ifndef BOUNDARY  // a device has it in its own code (along_there.h)
#define BOUNDARY
#define INNER static
#endif

enum { MOST_ROWS = MOST_STAGE_BOUNDARY };

/// Exchanges rows i and j [count].
INNER void exchange(double *i, double *j, int count)
{
    for (int k = 0; k < count; k++) {
        const double t = i[k];
        i[k] = j[k], j[k] = t;
    }
}

/// M X = B by elimination with row pivots; X takes the place of B [n][n + 1].
INNER void solve_rows(int n, double (*M)[MOST_ROWS], double (*B)[MOST_ROWS + 1])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(M[i][k]) > fabs(M[p][k])) p = i;
        if (p != k) exchange(M[k], M[p], n), exchange(B[k], B[p], n + 1);
        const double d = 1 / M[k][k];
        for (int j = k; j < n; j++) M[k][j] *= d;
        for (int j = 0; j <= n; j++) B[k][j] *= d;
        for (int i = k + 1; i < n; i++) {
            const double e = M[i][k];
            for (int j = k; j < n; j++) M[i][j] -= e * M[k][j];
            for (int j = 0; j <= n; j++) B[i][j] -= e * B[k][j];
        }
    }
    for (int k = n - 1; k > 0; k--)
        for (int i = 0; i < k; i++)
            for (int j = 0; j <= n; j++) B[i][j] -= M[i][k] * B[k][j];
}

BOUNDARY void stage_boundary_join(int n, double *own, const double *behind, double *joined)
{
    const int width = 2 * n + 1;
    double M[MOST_ROWS][MOST_ROWS], X[MOST_ROWS][MOST_ROWS + 1], Y[MOST_ROWS][MOST_ROWS + 1];
    // t = E d + g + G (K t + k):  (1 - G K) [X x] = [E  g + G k]
    for (int i = 0; i < n; i++) {
        const double *const E = own + (n + i) * width, *const G = E + n + 1;
        memcpy(X[i], E, (size_t)(n + 1) * sizeof *E);
        for (int j = 0; j < n; j++) M[i][j] = i == j;
        for (int k = 0; k < n; k++) {
            const double *const K = behind + k * (n + 1);
            for (int j = 0; j < n; j++) M[i][j] -= G[k] * K[j];
            X[i][n] += G[k] * K[n];
        }
    }
    solve_rows(n, M, X);
    // [P p] + F [K X  K x + k]
    for (int i = 0; i < n; i++) {
        const double *const K = behind + i * (n + 1);
        memset(Y[i], 0, sizeof Y[i]);
        Y[i][n] = K[n];
        for (int k = 0; k < n; k++)
            for (int j = 0; j <= n; j++) Y[i][j] += K[k] * X[k][j];
    }
    for (int i = 0; i < n; i++) {
        const double *const P = own + i * width, *const F = P + n + 1;
        double *const to = joined + i * (n + 1);
        memcpy(to, P, (size_t)(n + 1) * sizeof *P);
        for (int k = 0; k < n; k++)
            for (int j = 0; j <= n; j++) to[j] += F[k] * Y[k][j];
        memcpy(own + (n + i) * width, X[i], (size_t)(n + 1) * sizeof *own);
    }
}

BOUNDARY void stage_boundary_pass(int n, const double *own, const double *behind, const double *d, double *tail, double *f)
{
    for (int i = 0; i < n; i++) {
        const double *const X = own + (n + i) * (2 * n + 1);
        tail[i] = X[n];
        for (int j = 0; j < n; j++) tail[i] += X[j] * d[j];
    }
    for (int i = 0; i < n; i++) {
        const double *const K = behind + i * (n + 1);
        f[i] = K[n];
        for (int j = 0; j < n; j++) f[i] += K[j] * tail[j];
    }
}
