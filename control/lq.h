/// Linear-quadratic problems over a horizon, by Riccati's recursion, by a scan, and by blocks of time.
///
///     min 1/2 x_N'Q_N x_N + q_N'x_N + sum_{k<N} 1/2 x'Q x + 1/2 u'R u + u'S x + q'x + r'u,    x_{k+1} = A x + B u + c
///
/// The value of a state at knot k is V_k(x) = 1/2 x'P x + s'x + const, the best control u = K x + k. Matrices row by row.
#ifndef CATENA_CONTROL_LQ_H
#define CATENA_CONTROL_LQ_H

#include <catena/status.h>

/// A problem; arrays are the caller's, one knot after the other.
typedef struct lq_problem {
    int N, n, m;              // knots, states, controls
    const double *A, *B, *c;  // [N][n][n], [n][m], [n]
    const double *Q, *R, *S;  // [N + 1][n][n], of which the last one is Q_N; [N][m][m], [N][m][n]
    const double *q, *r;      // [N + 1][n], [N][m]
} lq_problem;

/// What is found; arrays are the caller's.
typedef struct lq_solution {
    double *P, *s;  // [N + 1][n][n], [n]
    double *K, *k;  // [N][m][n], [m]
} lq_solution;

/// One knot after the other, from the last to the first. CTN_BAD_ARGUMENT: R + B'PB of a knot is not positive definite, so that
/// there is no minimum; CTN_NO_MEMORY.
ctn_status lq_riccati(const lq_problem *lq, const lq_solution *to, ctn_error *err);

/// By a scan over elements (A, b, C, eta, J) of knots [Saerkkae and Garcia-Fernandez, arXiv 2104.03186], in blocks: each of
/// `blocks` >= 1 is condensed to one element from its own end, the elements are combined, from the last to the first, and every
/// block then goes through its knots by itself. blocks = 1: as lq_riccati. Plants that are unstable lose digits with the length
/// of a block, unless there is a guess. guess_P, guess_s [N + 1][n][n], [n]: the value of a problem nearby, which is taken off
/// ("telescoped": what is scanned is the plant in closed loop, in which nothing grows); NULL: none. Errors as lq_riccati, and for
/// elements that are singular.
ctn_status lq_blocks(const lq_problem *lq, int blocks, const double *guess_P, const double *guess_s, const lq_solution *to,
                     ctn_error *err);

/// The states X [N + 1][n] from x0 [n], controls U [N][m], and, NULL: not wanted, the cost.
void lq_rollout(const lq_problem *lq, const lq_solution *solution, const double *x0, double *X, double *U, double *cost);

#endif
