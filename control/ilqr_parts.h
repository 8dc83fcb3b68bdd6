/// Iterative LQR, for the files that go back, play and judge.
#ifndef CATENA_CONTROL_ILQR_PARTS_H
#define CATENA_CONTROL_ILQR_PARTS_H

#include "control/ilqr.h"

#include <stddef.h>

enum { MOST_ALPHAS = 32 };

struct ilqr {
    const plant *plant;
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
    double *x, *u, *next, *each;  // [points][nx], [m], [nx], [1]: what the plant is asked
    int *knot, *whose;            // [points]
    bool *good;
    int *knots;    // [N + 1], 0, 1, ..
    double *work;  // of a knot
    void *memory;
};

static inline double *ilqr_row(double *rows, int k, int size) { return rows + (size_t)k * (size_t)size; }
static inline int block_at(int knots, int blocks, int b) { return (int)((long)knots * b / blocks); }

/// Numbers that the passes over one knot need.
size_t ilqr_knot_work(int n, int m);

/// Back over all knots, with the regularisation in state.rho. false: controls of a knot have no minimum.
bool ilqr_backward(ilqr *s, int blocks);

/// Plays all alpha, into tried_*.
ctn_status ilqr_forward(ilqr *s, ctn_error *err);

#endif
