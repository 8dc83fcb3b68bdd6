/// What becomes of an iterate of a solver that goes by a merit: it is taken or not, it is the solution, or it is the base of the
/// next step. Once, for newton with one stage and with several, lm, and the variational step.
#ifndef CATENA_NEWTON_CONTROL_H
#define CATENA_NEWTON_CONTROL_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"

/// A solve by Newton's method in progress, by lane. before: the residual of the iterate before.
typedef struct {
    mask running, converged;
    mask based;    // `base` is an iterate with energy (several stages: squared norm of the residual) E, and slope E' along d
    mask hard;     // a step of this solve has been shortened, or made without curvature: the next ones are followed (follow.h)
    mask follows;  // the step in hand is
    mask corrected;  // the solve is the second one, with the friction of the first one's normal forces
    real alpha, E, slope, iterations, before;
} newton_progress;

/// The lanes `where` begin.
FN void begin_newton(newton_progress *N, mask where)
{
    const real one = rset(1), zero = rset(0);
    N->running = either(N->running, where);
    N->converged = both(N->converged, not_(where)), N->based = both(N->based, not_(where));
    N->hard = both(N->hard, not_(where)), N->follows = both(N->follows, not_(where));
    N->corrected = both(N->corrected, not_(where));
    N->alpha = sel(where, one, N->alpha), N->E = sel(where, zero, N->E), N->slope = sel(where, zero, N->slope);
    N->iterations = sel(where, zero, N->iterations), N->before = sel(where, rset(NOT_REACHED), N->before);
}

FN newton_progress no_newton(void)
{
    newton_progress N;
    N.running = N.converged = N.based = N.hard = N.follows = N.corrected = none_of();
    N.alpha = N.E = N.slope = N.iterations = N.before = rset(0);
    return N;
}

/// Where an iterate is taken: its merit is a number, and either there is none to compare with, or it is `lower`, or the residual
/// was small enough before, where merits may differ by nothing but rounding. A NaN is neither.
FN mask takes_iterate(const newton_progress *N, mask number, mask lower, double tolerance)
{
    const mask close = le(N->before, rset(tolerance > SOLVE_FLOOR ? tolerance : SOLVE_FLOOR));
    return both(N->running, both(number, either(either(not_(N->based), close), lower)));
}

/// Settles what an iteration makes of the lanes `taken`, with residual `res`, into *at of those that are done. full: where the
/// step that led there was not shortened. too_far: where a solution is ambiguous, and none. Done is below the tolerance, or at
/// rounding level, where the residual falls no more; never the first guess itself: at small steps it meets the tolerance without
/// any dynamics in it. Returns where another step is to be made; lanes that were taken and need none have stopped.
FN mask settle_iterate(newton_progress *N, mask taken, real res, mask full, mask too_far, double tolerance, int max_iterations,
                       real *at)
{
    const mask floor = both(le(res, rset(SOLVE_FLOOR)), both(full, le(rset(0.5) * N->before, res)));
    const mask done = both(both(taken, le(rset(1), N->iterations)), either(le(res, rset(tolerance)), floor));
    N->converged = either(N->converged, both(done, not_(too_far)));
    *at = sel(done, res, *at);
    N->before = sel(taken, res, N->before);
    const mask need = both(taken, both(not_(done), lt(N->iterations, rset(max_iterations))));
    N->running = both(N->running, either(not_(taken), need));
    return need;
}

/// The lanes `where`, which have come to a solution, solve once more from there: what they solve has changed.
FN void solve_again(newton_progress *N, mask where)
{
    N->running = either(N->running, where), N->corrected = either(N->corrected, where);
    N->converged = both(N->converged, not_(where)), N->based = both(N->based, not_(where));
    N->follows = both(N->follows, not_(where));
    N->alpha = sel(where, rset(1), N->alpha), N->before = sel(where, rset(NOT_REACHED), N->before);
}

/// The iterate, of merit E, is the base of a step in the lanes `need`, of which `share` is tried first.
FN void base_newton(newton_progress *N, mask need, real E, real share)
{
    N->E = sel(need, E, N->E), N->alpha = sel(need, share, N->alpha);
    N->based = either(N->based, need);
    N->follows = either(both(N->follows, not_(need)), both(need, N->hard));
    N->iterations = N->iterations + sel(need, rset(1), rset(0));
}

/// A shorter step in the lanes `rejected`: to the minimum `fit` of a parabola, but no less than a tenth of it; to a half where
/// there is none. Without a merit to compare with, back to the start of the step. Less than `least` ends the solve, and so does a
/// share that is no number: the step is none.
FN void shorten_newton(newton_progress *N, mask rejected, real fit, double least)
{
    const real zero = rset(0), half = rset(0.5) * N->alpha, tenth = rset(0.1) * N->alpha;
    N->hard = either(N->hard, rejected);
    const real shorter = sel(lt(fit, half), sel(lt(tenth, fit), fit, tenth), half);
    N->alpha = sel(rejected, sel(N->based, shorter, sel(gt(N->alpha, rset(0.5)), zero, rset(-1))), N->alpha);
    N->running = both(N->running, not_(both(rejected, not_(le(sel(N->based, rset(least), zero), N->alpha)))));
}

#endif
