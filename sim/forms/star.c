/// Star products of whole stretches: X = (1 - G_a P_b)^-1, by rows with pivots.
#include "sim/forms/star.h"

#ifndef STAR  // a device has it in its own code (forms_there.h)
#define STAR
#define STAR_PART static
#endif

enum { SIDES = 13 };

/// A cut where the nearer stretch moves so much more easily than the farther one that as many digits would be lost: behind a link
/// that has next to no inertia about its axis.
#define MOST_GROWTH 1e6

STAR_PART void port_matrix(const port *P, double M[6][6])
{
    const v3 columns[3] = {{P->A.xx, P->A.xy, P->A.xz}, {P->A.xy, P->A.yy, P->A.yz}, {P->A.xz, P->A.yz, P->A.zz}},
             low[3] = {{P->C.xx, P->C.xy, P->C.xz}, {P->C.xy, P->C.yy, P->C.yz}, {P->C.xz, P->C.yz, P->C.zz}};
    for (int i = 0; i < 3; i++) {
        v3_to(&M[i][0], columns[i]), v3_to(&M[i][3], P->B[i]), v3_to(&M[3 + i][3], low[i]);
        M[3][i] = P->B[i].x, M[4][i] = P->B[i].y, M[5][i] = P->B[i].z;
    }
}

/// (1 - G P) x = R, in place, for `sides` right-hand sides R [6][SIDES].
STAR_PART bool resolve(const vec6 *G, double P[6][6], int sides, double R[6][SIDES])
{
    double M[6][6];
    for (int i = 0; i < 6; i++) {
        const double *row = &G[i].w.x;
        for (int k = 0; k < 6; k++) {
            double sum = 0;
            for (int j = 0; j < 6; j++) sum += row[j] * P[j][k];
            M[i][k] = (i == k) - sum;
            if (!(fabs(M[i][k]) < MOST_GROWTH)) return false;
        }
    }
    for (int c = 0; c < 6; c++) {
        int best = c;
        for (int i = c + 1; i < 6; i++)
            if (fabs(M[i][c]) > fabs(M[best][c])) best = i;
        if (!(fabs(M[best][c]) > 0)) return false;
        for (int k = 0; k < 6 && best != c; k++) {
            const double swap = M[c][k];
            M[c][k] = M[best][k], M[best][k] = swap;
        }
        for (int k = 0; k < sides && best != c; k++) {
            const double swap = R[c][k];
            R[c][k] = R[best][k], R[best][k] = swap;
        }
        const double over = 1 / M[c][c];
        for (int i = c + 1; i < 6; i++) {
            const double factor = M[i][c] * over;
            for (int k = c + 1; k < 6; k++) M[i][k] -= factor * M[c][k];
            for (int k = 0; k < sides; k++) R[i][k] -= factor * R[c][k];
        }
    }
    for (int c = 5; c >= 0; c--)
        for (int k = 0; k < sides; k++) {
            for (int j = c + 1; j < 6; j++) R[c][k] -= M[c][j] * R[j][k];
            R[c][k] /= M[c][c];
        }
    return true;
}

/// P = P_a + E_a' (P_b X E_a), p = p_a + E_a' (p_b + P_b (X g)), from X E_a in columns 0-5 of R and X g in column `last`.
STAR_PART void port_before(const star *a, const port *b, double P[6][6], double R[6][SIDES], int last, port *before)
{
    double M[6][7], T[6][7];
    const double *p = &b->p.w.x;
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 7; k++) {
            double sum = k == 6 ? p[i] : 0;
            for (int j = 0; j < 6; j++) sum += P[i][j] * R[j][k == 6 ? last : k];
            M[i][k] = sum;
        }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 7; k++) {
            double sum = 0;
            for (int j = 0; j < 6; j++) sum += (&a->E[j].w.x)[i] * M[j][k];
            T[i][k] = sum;
        }
    const port more = {
        .A = {T[0][0], T[1][1], T[2][2], (T[0][1] + T[1][0]) / 2, (T[0][2] + T[2][0]) / 2, (T[1][2] + T[2][1]) / 2},
        .C = {T[3][3], T[4][4], T[5][5], (T[3][4] + T[4][3]) / 2, (T[3][5] + T[5][3]) / 2, (T[4][5] + T[5][4]) / 2},
        .B = {{(T[0][3] + T[3][0]) / 2, (T[0][4] + T[4][0]) / 2, (T[0][5] + T[5][0]) / 2},
              {(T[1][3] + T[3][1]) / 2, (T[1][4] + T[4][1]) / 2, (T[1][5] + T[5][1]) / 2},
              {(T[2][3] + T[3][2]) / 2, (T[2][4] + T[4][2]) / 2, (T[2][5] + T[5][2]) / 2}},
        .p = {{T[0][6], T[1][6], T[2][6]}, {T[3][6], T[4][6], T[5][6]}}};
    *before = a->P;
    port_add(before, &more);
}

STAR_PART void near_sides(const star *a, const port *b, double R[6][SIDES], int last)  // E_a; g_a + G_a p_b
{
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) R[i][k] = (&a->E[i].w.x)[k];
        R[i][last] = (&a->g.w.x)[i] + vec6_dot(a->G[i], b->p);
    }
}

STAR bool star_product(const star *a, const star *b, star *ab)
{
    double P[6][6], R[6][SIDES];
    port_matrix(&b->P, P);
    near_sides(a, &b->P, R, 12);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) R[i][6 + k] = vec6_dot(a->G[i], b->E[k]);  // G_a E_b'
    if (!resolve(a->G, P, 13, R)) return false;
    star s;
    port_before(a, &b->P, P, R, 12, &s.P);
    for (int i = 0; i < 6; i++) {
        double row[SIDES];
        for (int k = 0; k < SIDES; k++) {
            row[k] = 0;
            for (int j = 0; j < 6; j++) row[k] += (&b->E[i].w.x)[j] * R[j][k];
        }
        for (int k = 0; k < 6; k++) row_of(&s.E[i])[k] = row[k], row_of(&s.G[i])[k] = (&b->G[i].w.x)[k] + row[6 + k];
        row_of(&s.g)[i] = (&b->g.w.x)[i] + row[12];
    }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++) {
            const double mean = (row_of(&s.G[i])[k] + row_of(&s.G[k])[i]) / 2;
            row_of(&s.G[i])[k] = row_of(&s.G[k])[i] = mean;
        }
    *ab = s;
    return true;
}

STAR bool star_close(const star *a, const port *behind, port *before)
{
    double P[6][6], R[6][SIDES];
    port_matrix(behind, P);
    near_sides(a, behind, R, 6);
    if (!resolve(a->G, P, 7, R)) return false;
    port_before(a, behind, P, R, 6, before);
    return true;
}

STAR bool star_pass(const star *a, const port *behind, vec6 d, vec6 *out)
{
    double P[6][6], R[6][SIDES];
    port_matrix(behind, P);
    for (int i = 0; i < 6; i++) R[i][0] = vec6_dot(a->E[i], d) + (&a->g.w.x)[i] + vec6_dot(a->G[i], behind->p);
    if (!resolve(a->G, P, 1, R)) return false;
    *out = (vec6){{R[0][0], R[1][0], R[2][0]}, {R[3][0], R[4][0], R[5][0]}};
    return true;
}
