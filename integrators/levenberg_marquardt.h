/// The solver lm: Levenberg's and Marquardt's method with dense normal equations, as [Pan and Manocha 2018, section 5] use it.
///
///     (J'M J + lambda diag) d = -J'M r
///
/// lambda falls with every step that lowers r'M r (solver_objective.h) and rises where one does not. The matrix comes column by
/// column from products in O(N) each, so that the O(N^3) of a step are those of Cholesky's factorisation, here over lanes.
#ifndef CATENA_LEVENBERG_MARQUARDT_H
#define CATENA_LEVENBERG_MARQUARDT_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "integrators/newton_control.h"
#include "integrators/position_step.h"
#include "integrators/solver_objective.h"

/// Scratch of one lane block. Triangles by rows: row i starts at i (i + 1) / 2.
typedef struct {
    real *normal;  // [n (n + 1) / 2] J'M J
    real *factor;  // the same size: L of L L', with 1/L_ii on the diagonal
    real *g;       // [n] J'M r
    real *y, *z;   // [n]
} lm_work;

FN size_t triangle_row(int i) { return (size_t)i * ((size_t)i + 1) / 2; }

/// Normal matrix and gradient at the iterate, in the lanes `where`.
KERNEL void lm_linearise(const lane_model *m, const objective *F, lm_work *W, mask where, const volatile int *interrupt)
{
    const int n = F->n;
    objective_gradient(m, F, W->z);
    for (int k = 0; k < n; k++) W->g[k] = sel(where, W->z[k], W->g[k]);
    for (int j = 0; j < n && !asked_to_end(interrupt); j++) {
        for (int k = 0; k < n; k++) W->y[k] = rset(k == j);
        objective_product(m, F, false, W->y, W->z);
        metric_times(m, F, W->z, W->y);
        objective_product(m, F, true, W->y, W->z);
        for (int i = j; i < n; i++) {
            real *A = &W->normal[triangle_row(i) + (size_t)j];
            *A = sel(where, W->z[i], *A);
        }
    }
}

/// The step d [n] with the damping lambda. In a lane where the matrix is not positive definite to rounding it is not finite.
KERNEL void lm_direction(lm_work *W, int n, real lambda, real *d, const volatile int *interrupt)
{
    real *y = W->y;
    for (int i = 0; i < n && !asked_to_end(interrupt); i++) {
        const real *A = W->normal + triangle_row(i);
        real *L = W->factor + triangle_row(i), t = fmadd(lambda, A[i], A[i]), b = negate(W->g[i]);
        for (int j = 0; j < i; j++) {
            const real *row = W->factor + triangle_row(j);
            real a = A[j];
            for (int k = 0; k < j; k++) a = fnmadd(L[k], row[k], a);
            L[j] = a * row[j];
            t = fnmadd(L[j], L[j], t);
            b = fnmadd(L[j], y[j], b);
        }
        L[i] = rset(1) / root(t);
        y[i] = b * L[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        const real *L = W->factor + triangle_row(i);
        d[i] = y[i] * L[i];
        for (int j = 0; j < i; j++) y[j] = fnmadd(L[j], d[i], y[j]);
    }
}

/// Solves for r = 0 from the iterate of F, in the lanes `active`. Returns where it converged, as solve_newton() (step_part.h)
/// does; *at: the residual there. A step that is taken back counts as a line search.
KERNEL mask solve_lm(const lane_model *m, const objective *F, lm_work *W, double tolerance, int max_iterations, mask active,
                     position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0), tenth = rset(0.1);
    newton_progress N = no_newton();
    real lambda = rset(1e-4), restarted = zero;
    begin_newton(&N, active);
    while (any_of(N.running) && !asked_to_end(count->interrupt)) {
        const objective_value v = objective_at(m, F);
        count_evaluation(count, N.running);
        const mask accepted = takes_iterate(&N, le(v.f, rset(NOT_REACHED)), lt(v.f, N.E), tolerance);
        const mask rejected = both(N.running, not_(accepted));
        const mask need =
            settle_iterate(&N, accepted, v.most, le(v.most, rset(tolerance)), not_(none_of()), v.too_far, max_iterations, at);
        count->line_search = count->line_search + sel(rejected, one, zero);
        if (any_of(need)) {
            // the better the step, the closer to Newton's the next one
            const real less = sel(le(v.f, rset(0.25) * N.E), rset(0.01), tenth) * lambda;
            lambda = sel(both(need, N.based), sel(lt(less, rset(1e-20)), zero, less), lambda);
            lm_linearise(m, F, W, need, count->interrupt);
            count->work = count->work + sel(need, rset(F->n), zero);  // a product for each column
            objective_rebase(F, need);
            base_newton(&N, need, v.f, one);
        }
        const mask back = both(rejected, N.based), lost = both(rejected, not_(N.based));
        const real more = sel(lt(lambda, rset(1e-8)), rset(1e-8), rset(10) * lambda);
        lambda = sel(back, more, lambda);
        // the first guess is no number: once from the start of the step instead
        N.running = both(N.running, not_(either(both(back, gt(lambda, rset(1e8))), both(lost, gt(restarted, zero)))));
        restarted = sel(lost, one, restarted);
        const mask step = both(N.running, either(need, back));
        if (any_of(step)) lm_direction(W, F->n, lambda, W->z, count->interrupt);
        if (any_of(step))
            for (int k = 0; k < F->n; k++) F->d[k] = sel(step, W->z[k], F->d[k]);
        N.running = both(N.running, may_go_on(count));
        objective_move(m, F, sel(lost, zero, one), both(N.running, either(step, lost)));
    }
    count->iterations = count->iterations + N.iterations;
    return N.converged;
}

#endif
