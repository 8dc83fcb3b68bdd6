/// Iterative LQR, for the files that go back, play and judge.
#ifndef CATENA_CONTROL_ILQR_PARTS_H
#define CATENA_CONTROL_ILQR_PARTS_H

#include "control/ilqr.h"

#include <stddef.h>

enum { MOST_ALPHAS = 32, MOST_APART = 16, MOST_NUMBERS = 30000 };  // of a knot: its matrices are counted by int

enum { TILE = 8 };  // columns that are worked on at a time: rows of matrices have room for a multiple of these

/// Matrices of a knot, and how far their rows are apart: a for n columns, c for n + m, e for n + 1.
typedef struct {
    int n, m, a, c, e;
    double *P, *s;             // of the value: behind the knot, then before it. [n][a], [a]; P is symmetric
    double *AB, *PAB;          // [A B], P [A B]: [n][c]
    double *w, *Q;             // s + P d: [a]; [A B]'w, then [Q_x Q_u]: [c]
    double *U, *V;             // [Q_ux Q_uu], and with rho in it: [m][c]
    double *R, *K, *T;         // right sides, then [K kappa]: [m][e], of which K is the first part; Q_uu K + Q_ux: [m][a]
    double *f, *kappa;         // Q_uu kappa + Q_u: [m], [m]
    double *G, *L;             // Q~_uu, and its factors: [m][m]
    double *lo, *hi, *g, *dx;  // of bounded controls: [m], [m], [m], [2 m]
    double *flat;              // [2][m][n]
    int *free;                 // [m]
} knot_room;

/// The products of a knot for one kind of lane (ilqr_sweep.h).
typedef struct {
    // P, s of what is behind the knot to PAB, U, V, w and Q, without what the knot itself costs
    void (*front)(const knot_room *r, const double *A, const double *B, const double *d, double rho);
    // R becomes (L L')^-1 R; the diagonal of L has inverses on it
    void (*solve)(const knot_room *r, const double *L, double *R);
    // P, s before the knot, from K, kappa, f; s has Q_x in it
    void (*value)(const knot_room *r, const double *xx);
    // what points that lie side by side are told, all at one knot: u [m][apart] = U + alpha kappa + K dx, of dx [n][apart],
    // alpha [apart]
    void (*law)(int m, int n, int apart, const double *U, const double *kappa, const double *K, const double *alpha,
                const double *dx, double *u);
} sweep_kernels;

extern const sweep_kernels sweep_scalar, sweep_scalar_fma, sweep_avx2, sweep_avx512;

struct ilqr {
    const plant *plant;
    const sweep_kernels *sweeps;
    ilqr_config cfg;
    double *lower, *upper;  // NULL: not bounded
    ilqr_state state;
    double delta;           // by which rho changes
    bool linear;            // A, B and the cost's derivatives are those of X, U
    bool valued;            // P, s are of an earlier pass
    double *X, *U, *d;      // [N + 1][nx], [N][m], [N][n]: F(x_k, u_k) - x_{k+1}
    double *A, *B;          // [N][n][n], [n][m]
    plant_costs costs;      // [N + 1]
    double *P, *s;          // V_xx, V_x: [N + 1][n][n], [n]
    double *end_P, *end_s;  // [backward]: of the ends of blocks, as the last iteration had them
    double *K, *kappa;      // [N][m][n], [m]
    double linear_gain, quadratic_gain;
    double *sweep;                        // [2][N + 1][n]: what states change by, for alpha = 0, and for each alpha more
    double *tried_X, *tried_U, *tried_d;  // [alphas][N + 1][nx], [N][m], [forward][n]
    double tried_J[MOST_ALPHAS], tried_M[MOST_ALPHAS], tried_defect[MOST_ALPHAS];
    bool tried[MOST_ALPHAS];
    double *x, *u, *each;  // where points begin: [points][nx]; at the end nothing is told: [m]; costs of knots: [N + 1]
    double *lanes;         // [points + MOST_APART][2 (nx + n) + m], of points that lie side by side
    int *knot, *whose;     // [points]: where a point begins, and of which alpha and block it is
    double *alpha;         // [points + MOST_APART], of points that lie side by side
    bool *lost;            // [points]
    int *knots;            // [N + 1], 0, 1, ..
    double *work;          // of a knot
    void *memory;
};

static inline double *ilqr_row(double *rows, int k, int size) { return rows + (size_t)k * (size_t)size; }
static inline int block_at(int knots, int blocks, int b) { return (int)((long)knots * b / blocks); }

/// Numbers that the passes over one knot need.
size_t ilqr_knot_work(int n, int m);

/// For the lanes of the engine that steps several worlds.
const sweep_kernels *ilqr_sweeps(void);

/// Back over all knots, with the regularisation in state.rho. false: controls of a knot have no minimum.
bool ilqr_backward(ilqr *s, int blocks);

/// Plays all alpha, into tried_*.
ctn_status ilqr_forward(ilqr *s, ctn_error *err);

#endif
