/// The solver lbfgs: the quasi-Newton method of limited memory [Liu and Nocedal 1989] with a line search for Wolfe's conditions
/// by bracketing and halving. Works in O(N) an iteration; balls carry their pairs along unchanged, in body axes.
///
///     f(alpha) <= f(0) + 1e-4 alpha f'(0),   f'(alpha) >= 0.9 f'(0)
///
/// Near the minimum f(alpha) and f(0) differ by rounding alone; there f'(alpha) <= -0.9998 f'(0) stands for the first condition,
/// which is the same for a parabola [Hager and Zhang 2005].
#ifndef CATENA_LBFGS_H
#define CATENA_LBFGS_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "integrators/position_step.h"
#include "integrators/stage_tables.h"
#include "integrators/stage_sweep.h"
#include "integrators/solver_objective.h"

enum {
    LBFGS_MEMORY = 10,
    LBFGS_TRIALS = 40,  // of one line search
    LBFGS_SHARE = 50,   // iterations allowed for each one of max_iterations
};

/// Scratch of one lane block; pairs from the oldest to the newest one.
typedef struct {
    real *s, *y;          // [LBFGS_MEMORY][n] steps, and what the gradient changed by
    real *rho;            // [LBFGS_MEMORY] 1/(s.y); 0: no pair
    real *g, *base_g;     // [n] gradient at the iterate and at its base
    real *fresh, *mixed;  // [n] the step that the memory finds
    real *between;        // [stages][stages] of the start matrix
} lbfgs_work;

/// Empties the memory. The start matrix of the inverse Hessian is M for E, whose Hessian is about H/h^2; else J is about H/h^2
/// with the table's h_ij between stages, and it is the inverse of h'h, with M.
KERNEL void lbfgs_start(const objective *F, lbfgs_work *W)
{
    for (int k = 0; k < LBFGS_MEMORY; k++) W->rho[k] = rset(0);
    for (int k = 0; k < LBFGS_MEMORY * F->n; k++) W->s[k] = W->y[k] = rset(0);
    const int s = F->more ? F->more->W.table->stages : 1;
    real A[2 * MOST_STAGES * MOST_STAGES];  // [h'h | 1]
    for (int a = 0; a < s; a++)
        for (int l = 0; l < s; l++) {
            real sum = rset(!F->more);
            for (int i = 0; F->more && i < s; i++)
                sum = fmadd(rset(F->more->W.table->h[i][a]), rset(F->more->W.table->h[i][l]), sum);
            A[2 * s * a + l] = sum, A[2 * s * a + s + l] = rset(a == l);
        }
    solve_dense(A, s, s);
    for (int a = 0; a < s; a++)
        for (int l = 0; l < s; l++) W->between[s * a + l] = A[2 * s * a + s + l];
}

/// d [n] <- start matrix d.
KERNEL void lbfgs_start_times(const lane_model *m, const objective *F, lbfgs_work *W, real *d)
{
    const int nv = m->nv, s = F->more ? F->more->W.table->stages : 1;
    for (int a = 0; a < s; a++)
        for (int k = 0; k < nv; k++) {
            real sum = rset(0);
            for (int l = 0; l < s; l++) sum = fmadd(W->between[s * a + l], d[l * nv + k], sum);
            W->mixed[a * nv + k] = sum;
        }
    metric_times(m, F, W->mixed, d);
}

/// Adds the pair of the step alpha d to the memory, in the lanes `where`; the oldest one is forgotten.
KERNEL void lbfgs_remember(lbfgs_work *W, int n, const real *d, real alpha, mask where)
{
    for (int k = 0; k < (LBFGS_MEMORY - 1) * n; k++)
        W->s[k] = sel(where, W->s[k + n], W->s[k]), W->y[k] = sel(where, W->y[k + n], W->y[k]);
    for (int k = 0; k + 1 < LBFGS_MEMORY; k++) W->rho[k] = sel(where, W->rho[k + 1], W->rho[k]);
    real *s = W->s + (LBFGS_MEMORY - 1) * n, *y = W->y + (LBFGS_MEMORY - 1) * n, *rho = W->rho + LBFGS_MEMORY - 1;
    for (int k = 0; k < n; k++) s[k] = sel(where, alpha * d[k], s[k]), y[k] = sel(where, W->g[k] - W->base_g[k], y[k]);
    const real curvature = dot_rows(n, s, y);
    *rho = sel(where, sel(gt(curvature, rset(0)), rset(1) / curvature, rset(0)), *rho);
}

/// d = -(inverse Hessian) g: two loops over the memory.
KERNEL void lbfgs_direction(const lane_model *m, const objective *F, lbfgs_work *W, real *d)
{
    const int n = F->n;
    real a[LBFGS_MEMORY];
    for (int k = 0; k < n; k++) d[k] = negate(W->g[k]);
    for (int p = LBFGS_MEMORY - 1; p >= 0; p--) {
        const real *s = W->s + p * n, *y = W->y + p * n;
        a[p] = W->rho[p] * dot_rows(n, s, d);
        for (int k = 0; k < n; k++) d[k] = fnmadd(a[p], y[k], d[k]);
    }
    lbfgs_start_times(m, F, W, d);
    for (int p = 0; p < LBFGS_MEMORY; p++) {
        const real *s = W->s + p * n, *v = W->y + p * n, b = a[p] - W->rho[p] * dot_rows(n, v, d);
        for (int k = 0; k < n; k++) d[k] = fmadd(b, s[k], d[k]);
    }
}

/// Minimises f from the iterate of F, in the lanes `active`. Returns where it converged, as solve_newton() (step_part.h) does;
/// *at: the residual there. Trials beyond the first of each iteration count as line search.
KERNEL mask solve_lbfgs(const lane_model *m, const objective *F, lbfgs_work *W, double tolerance, int max_iterations, mask active,
                        position_counts *count, real *at)
{
    const real one = rset(1), zero = rset(0), most_iterations = rset((double)LBFGS_SHARE * max_iterations),
               far = rset(NOT_REACHED);
    const int n = F->n;
    mask running = active, converged = none_of(), based = none_of();
    real f0 = zero, slope0 = zero, alpha = one, lo = zero, hi = far, trials = zero, iterations = zero, before = far;
    lbfgs_start(F, W);
    while (any_of(running) && !asked_to_end(count->interrupt)) {
        const objective_value v = objective_at(m, F);
        objective_gradient(m, F, W->g);
        count_evaluation(count, running);
        const real slope = dot_rows(n, W->g, F->d), rounding = rset(ENERGY_ROUNDING) * magnitude(f0);
        const mask finite = both(le(magnitude(v.f), far), le(magnitude(slope), far));
        const mask even = either(le(v.f, f0 + rounding), le(before, rset(tolerance > SOLVE_FLOOR ? tolerance : SOLVE_FLOOR)));
        const mask armijo = le(v.f, fmadd(rset(1e-4) * alpha, slope0, f0));
        const mask low = either(armijo, both(even, le(slope, rset(-0.9998) * slope0)));
        const mask flat = le(rset(0.9) * slope0, slope);
        const mask solved = both(even, le(v.most, rset(tolerance)));
        const mask wolfe = either(not_(based), either(both(low, flat), solved));
        // no trial is low: rounding says so, and the residual cannot fall any more
        const mask tired = both(both(running, based), le(rset(LBFGS_TRIALS), trials));
        const mask accepted = both(running, both(finite, wolfe)), rejected = both(running, not_(accepted));
        const mask floor = both(tired, both(finite, le(v.most, rset(SOLVE_FLOOR))));
        const mask done = either(floor, both(both(accepted, le(one, iterations)), le(v.most, rset(tolerance))));
        converged = either(converged, both(done, not_(v.too_far)));
        *at = sel(done, v.most, *at);
        const mask need = both(both(accepted, not_(done)), lt(iterations, most_iterations));
        // without a value to compare with, back to the start of the step, once
        const mask lost = both(both(rejected, not_(based)), gt(alpha, zero));
        const mask again = both(both(rejected, based), not_(tired));
        running = both(both(running, may_go_on(count)), either(need, either(again, lost)));
        if (any_of(need)) {
            lbfgs_remember(W, n, F->d, alpha, both(need, based));
            lbfgs_direction(m, F, W, W->fresh);
            for (int k = 0; k < n; k++)
                F->d[k] = sel(need, W->fresh[k], F->d[k]), W->base_g[k] = sel(need, W->g[k], W->base_g[k]);
            objective_rebase(F, need);
            f0 = sel(need, v.f, f0), slope0 = sel(need, dot_rows(n, W->g, F->d), slope0), before = sel(need, v.most, before);
            alpha = sel(need, one, alpha), lo = sel(need, zero, lo), hi = sel(need, far, hi), trials = sel(need, zero, trials);
            based = either(based, need);
            iterations = iterations + sel(need, one, zero);
        }
        if (any_of(again)) {
            const mask ahead = both(finite, low);  // but still falling: go further
            lo = sel(both(again, ahead), alpha, lo), hi = sel(both(again, not_(ahead)), alpha, hi);
            const real next = sel(lt(hi, far), rset(0.5) * (lo + hi), rset(2) * alpha);
            alpha = sel(again, next, alpha);
            trials = trials + sel(again, one, zero);
            count->line_search = count->line_search + sel(again, one, zero);
        }
        alpha = sel(lost, zero, alpha);
        objective_move(m, F, alpha, running);
    }
    count->iterations = count->iterations + iterations;
    return converged;
}

#endif
