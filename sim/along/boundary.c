/// The two passes over the boundaries of a path: inwards what follows, outwards motions and wrenches.
#include "sim/along/boundary.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#ifndef BOUNDARY  // a device has it in its own code (along_there.h)
#define BOUNDARY
#define INNER static
#endif

/// P [6][7] and p in its last column, from the numbers of an inertia6 (xx yy zz xy xz yz twice, B by columns) and a wrench.
INNER void unpack(const double *from, double (*P)[7])
{
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            P[i][j] = from[at[i][j]], P[i + 3][j + 3] = from[6 + at[i][j]];
            P[i][j + 3] = P[j + 3][i] = from[12 + 3 * j + i];
        }
    for (int i = 0; i < 6; i++) P[i][6] = from[21 + i];
}

INNER void pack(double (*P)[7], double *to)
{
    static const int at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 6; k++) {
        const int i = at[k][0], j = at[k][1];
        to[k] = 0.5 * (P[i][j] + P[j][i]), to[6 + k] = 0.5 * (P[i + 3][j + 3] + P[j + 3][i + 3]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) to[12 + 3 * j + i] = 0.5 * (P[i][j + 3] + P[j + 3][i]);
    for (int i = 0; i < 6; i++) to[21 + i] = P[i][6];
}

/// M X = B by elimination with row pivots; X takes the place of B [6][columns].
INNER void solve6(double (*M)[6], double *B, int columns)
{
    for (int k = 0; k < 6; k++) {
        int p = k;
        for (int i = k + 1; i < 6; i++)
            if (fabs(M[i][k]) > fabs(M[p][k])) p = i;
        for (int j = 0; j < 6; j++) {
            const double t = M[k][j];
            M[k][j] = M[p][j], M[p][j] = t;
        }
        double *const at = B + k * columns, *const other = B + p * columns;
        for (int j = 0; j < columns; j++) {
            const double t = at[j];
            at[j] = other[j], other[j] = t;
        }
        const double d = 1 / M[k][k];
        for (int j = 0; j < 6; j++) M[k][j] *= d;
        for (int j = 0; j < columns; j++) at[j] *= d;
        for (int i = 0; i < 6; i++) {
            const double e = M[i][k];
            if (i == k) continue;
            for (int j = 0; j < 6; j++) M[i][j] -= e * M[k][j];
            for (int j = 0; j < columns; j++) B[i * columns + j] -= e * at[j];
        }
    }
}

/// Whether a symmetric 6 x 6 matrix is positive definite, by Cholesky's method.
INNER bool positive(double (*K)[7])
{
    double L[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double s = 0.5 * (K[i][j] + K[j][i]);
            for (int k = 0; k < j; k++) s -= L[i][k] * L[j][k];
            if (i == j && !(s > 0)) return false;
            L[i][j] = i == j ? sqrt(s) : s / L[j][j];
        }
    return true;
}

/// Negative eigenvalues of a symmetric matrix [12][12], by its L D L' with the pivots of Bunch and Kaufman; uses it up. -1: one
/// is no number.
INNER int negative12(double (*A)[12])
{
    enum { N = 12 };
    const double a = (1 + sqrt(17.)) / 8;
    int negative = 0;
    for (int k = 0; k < N;) {
        int r = k;
        double most = 0;
        for (int i = k + 1; i < N; i++)
            if (fabs(A[i][k]) > most) most = fabs(A[i][k]), r = i;
        if (!(fabs(A[k][k]) + most < INFINITY)) return -1;
        int size = 1, p = k;
        if (most > 0 && fabs(A[k][k]) < a * most) {
            double other = 0;
            for (int j = k; j < N; j++)
                if (j != r && fabs(A[r][j]) > other) other = fabs(A[r][j]);
            if (fabs(A[k][k]) * other >= a * most * most) p = k;
            else if (fabs(A[r][r]) >= a * other) p = r;
            else size = 2, p = r;
        }
        const int to = k + size - 1;
        for (int j = 0; j < N && p != to; j++) {
            const double t = A[to][j];
            A[to][j] = A[p][j], A[p][j] = t;
        }
        for (int j = 0; j < N && p != to; j++) {
            const double t = A[j][to];
            A[j][to] = A[j][p], A[j][p] = t;
        }
        if (size == 1) {
            const double d = A[k][k];
            negative += d < 0;
            for (int i = k + 1; i < N && d != 0; i++) {
                const double e = A[i][k] / d;
                for (int j = k + 1; j < N; j++) A[i][j] -= e * A[k][j];
            }
        } else {
            const double b = A[k + 1][k], d11 = A[k + 1][k + 1] / b, d22 = A[k][k] / b, t = 1 / (d11 * d22 - 1) / b;
            negative++;  // a pivot of two has one of each sign
            for (int i = k + 2; i < N; i++) {
                const double x = t * (d11 * A[i][k] - A[i][k + 1]), y = t * (d22 * A[i][k + 1] - A[i][k]);
                for (int j = k + 2; j < N; j++) A[i][j] -= x * A[k][j] + y * A[k + 1][j];
            }
        }
        k += size;
    }
    return negative;
}

/// The motion of a tail before which the head's is d is E d - W f + g, the wrench there f = K motion + k, k in the last column of
/// K. Finds X, and adds to P, p of the segment (NULL: to nothing) what is handed on of that: the wrench at the head has F f. E by
/// rows, F by columns.
INNER void couple(double (*X)[7], const double *E, const double *F, double (*W)[6], const double *g, double (*K)[7],
                  double (*P)[7])
{
    double M[6][6], Y[6][7];
    // (1 + W K) [X | x] = [E | g - W k]
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            double sum = i == j;
            for (int k = 0; k < 6; k++) sum += W[i][k] * K[k][j];
            M[i][j] = sum, X[i][j] = E[6 * i + j];
        }
        double x = g[i];
        for (int k = 0; k < 6; k++) x -= W[i][k] * K[k][6];
        X[i][6] = x;
    }
    solve6(M, &X[0][0], 7);
    // [K | k] <- [P | p] + F [K X | K x + k]
    for (int i = 0; i < 6 && P; i++)
        for (int j = 0; j < 7; j++) {
            double sum = j == 6 ? K[i][6] : 0;
            for (int k = 0; k < 6; k++) sum += K[i][k] * X[k][j];
            Y[i][j] = sum;
        }
    for (int i = 0; i < 6 && P; i++)
        for (int j = 0; j < 7; j++)
            for (int k = 0; k < 6; k++) P[i][j] += F[6 * k + i] * Y[k][j];
}

/// K and W of a stretch that has `behind` behind it.
INNER void behind_of(const boundary *s, const double *behind, double (*K)[7], double (*W)[6])
{
    unpack(behind, K);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) K[i][6] += K[i][j] * s->bias[j];
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++, at++) W[i][j] = W[j][i] = -s->G[at];
}

/// The eigenvalues of [K -1; -1 -W] below 0, but for the six of the multiplier f.
INNER int negative_at(double (*K)[7], double (*W)[6])
{
    enum { NO_NUMBER = 1000000 };  // more than any sum of others makes good
    double V[6][7];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) V[i][j] = W[i][j];
    if (positive(K) && positive(V)) return 0;
    double A[12][12] = {{0}};
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) A[i][j] = 0.5 * (K[i][j] + K[j][i]), A[i + 6][j + 6] = -W[i][j];
        A[i][i + 6] = A[i + 6][i] = -1;
    }
    const int n = negative12(A);
    return n < 0 ? NO_NUMBER : n - 6;
}

BOUNDARY void boundary_couple(boundary *s, const double *behind, double *joined)
{
    double W[6][6], P[6][7];
    behind_of(s, behind, s->K, W), unpack(joined, P);
    couple(s->X, s->F, s->F, W, s->g, s->K, P);
    pack(P, joined);
}

BOUNDARY void boundary_join(boundary *s, const double *behind, double *joined)
{
    double W[6][6];
    boundary_couple(s, behind, joined);
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++, at++) W[i][j] = W[j][i] = -s->G[at];
    s->negative = negative_at(s->K, W);
}

BOUNDARY void boundary_hand(const boundary *s, const double *behind, double *joined)
{
    double K[6][7], W[6][6], X[6][7], P[6][7];
    behind_of(s, behind, K, W), unpack(joined, P);
    couple(X, s->F, s->F, W, s->g, K, P);
    pack(P, joined);
}

BOUNDARY void boundary_lead(const boundary *s, const double *behind, double (*X)[7])
{
    double K[6][7], W[6][6];
    behind_of(s, behind, K, W);
    couple(X, s->F, s->F, W, s->g, K, NULL);
    for (int i = 0; i < 6; i++) X[i][6] += s->bias[i];
}

BOUNDARY int boundary_multiply(const boundary *a, const double *own, const boundary *b, const double *behind, boundary_star *to)
{
    enum { COLUMNS = 13 };
    double K[6][7], W[6][6], M[6][6], X[6][COLUMNS], P[6][7], G[6][6];
    behind_of(a, behind, K, W), unpack(own, P);
    // (1 + W K) [X | x | Y] = [E_a | g_a - W k | -W F_b]
    for (int i = 0; i < 6; i++) {
        X[i][6] = a->g[i];
        for (int k = 0; k < 6; k++) X[i][6] -= W[i][k] * K[k][6];
        for (int j = 0; j < 6; j++) {
            M[i][j] = i == j, X[i][j] = a->F[6 * i + j], X[i][7 + j] = 0;
            for (int k = 0; k < 6; k++) M[i][j] += W[i][k] * K[k][j], X[i][7 + j] -= W[i][k] * b->F[6 * j + k];
        }
    }
    solve6(M, &X[0][0], COLUMNS);
    // P = P_a + F_a K X, p = p_a + F_a (K x + k)
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < 7; j++) {
            double y = j == 6 ? K[k][6] : 0;
            for (int l = 0; l < 6; l++) y += K[k][l] * X[l][j];
            for (int i = 0; i < 6; i++) P[i][j] += a->F[6 * k + i] * y;
        }
    pack(P, to->hand);
    // E = E_b X, G = G_b + E_b Y, g = g_b + E_b (x + bias_a)
    for (int i = 0; i < 6; i++) {
        to->both.g[i] = b->g[i], to->both.bias[i] = b->bias[i];
        for (int k = 0; k < 6; k++) to->both.g[i] += b->F[6 * i + k] * (X[k][6] + a->bias[k]);
        for (int j = 0; j < 6; j++) {
            double e = 0, y = 0;
            for (int k = 0; k < 6; k++) e += b->F[6 * i + k] * X[k][j], y += b->F[6 * i + k] * X[k][7 + j];
            to->both.F[6 * i + j] = e, G[i][j] = y;
        }
    }
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = 0; j <= i; j++, at++) to->both.G[at] = b->G[at] + 0.5 * (G[i][j] + G[j][i]);
    return negative_at(K, W);
}

/// P [6][7] and p in its last column, from the numbers of a cross6 and a wrench; and back.
INNER void unpack_cross(const double *from, double (*P)[7])
{
    for (int b = 0; b < 4; b++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) P[3 * (b / 2) + i][3 * (b % 2) + j] = *from++;
    for (int i = 0; i < 6; i++) P[i][6] = *from++;
}

INNER void pack_cross(double (*P)[7], double *to)
{
    for (int b = 0; b < 4; b++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) *to++ = P[3 * (b / 2) + i][3 * (b % 2) + j];
    for (int i = 0; i < 6; i++) *to++ = P[i][6];
}

BOUNDARY void crossing_join(boundary *s, const crossing *own, const double *behind, double *joined)
{
    double K[6][7], W[6][6], P[6][7];
    unpack_cross(behind, K), unpack_cross(joined, P);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) W[i][j] = -own->G[6 * i + j];
    for (int i = 0; i < 6; i++) s->bias[i] = 0;
    memcpy(s->K, K, sizeof s->K);
    couple(s->X, own->E, own->F, W, own->g, K, P);
    pack_cross(P, joined);
}

BOUNDARY void boundary_side(boundary *s, const double *behind, double *joined)
{
    double M[6][6], x[6][7] = {{0}}, y[6];
    for (int i = 0; i < 6; i++) {
        double sum = s->g[i];
        for (int j = 0; j < 6; j++) M[i][j] = i == j;
        for (int k = 0; k < 6; k++) {
            const int low = i < k ? i : k, high = i < k ? k : i;
            const double W = -s->G[high * (high + 1) / 2 + low];
            sum -= W * behind[k];
            for (int j = 0; j < 6; j++) M[i][j] += W * s->K[k][j];
        }
        x[i][6] = sum;
    }
    solve6(M, &x[0][0], 7);
    for (int i = 0; i < 6; i++) {
        y[i] = s->K[i][6] = behind[i], s->X[i][6] = x[i][6], s->bias[i] = 0;
        for (int k = 0; k < 6; k++) y[i] += s->K[i][k] * x[k][6];
    }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) joined[i] += s->F[6 * k + i] * y[k];
}

BOUNDARY void boundary_pass(boundary *s, double *tail)
{
    double d[6];
    for (int i = 0; i < 6; i++) {
        d[i] = s->X[i][6];
        for (int j = 0; j < 6; j++) d[i] += s->X[i][j] * s->d[j];
    }
    for (int i = 0; i < 6; i++) {
        s->f[i] = s->K[i][6];
        for (int j = 0; j < 6; j++) s->f[i] += s->K[i][j] * d[j];
        tail[i] = d[i] + s->bias[i];
    }
}
