/// What becomes of an iterate of a solver that goes by a merit: it is taken or not, it is the solution, or it is the base of the
/// next step. Once, for newton with one stage and with several, lm, and the variational step.
#ifndef CATENA_NEWTON_CONTROL_H
#define CATENA_NEWTON_CONTROL_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"

/// A solve by Newton's method in progress, by lane. before: the residual of the iterate before. size, last: of the step in hand
/// and the one before it, the largest change of place that it foresees for a body, against the body's own extent or in rad; 0:
/// there was none, or the solver does not know.
typedef struct {
    mask running, converged;
    mask based;      // `base` is an iterate with energy (several stages: squared norm of the residual) E, and slope E' along d
    mask hard;       // a step of this solve has been shortened, or made without curvature: the next ones are followed (follow.h)
    mask follows;    // the step in hand is
    mask corrected;  // the solve is the second one, with the friction of the first one's normal forces
    real alpha, E, slope, iterations, before, size, last;
} newton_progress;

/// The lanes `where` begin.
FN void begin_newton(newton_progress *N, mask where)
{
    const real one = rset(1), zero = rset(0);
    N->running = either(N->running, where);
    N->converged = both(N->converged, not_(where)), N->based = both(N->based, not_(where));
    N->hard = both(N->hard, not_(where)), N->follows = both(N->follows, not_(where));
    N->corrected = both(N->corrected, not_(where));
    N->size = sel(where, zero, N->size), N->last = sel(where, zero, N->last);
    N->alpha = sel(where, one, N->alpha), N->E = sel(where, zero, N->E), N->slope = sel(where, zero, N->slope);
    N->iterations = sel(where, zero, N->iterations), N->before = sel(where, rset(NOT_REACHED), N->before);
}

FN newton_progress no_newton(void)
{
    newton_progress N;
    N.running = N.converged = N.based = N.hard = N.follows = N.corrected = none_of();
    N.alpha = N.E = N.slope = N.iterations = N.before = N.size = N.last = rset(0);
    return N;
}

/// Where an iterate is taken: its merit is a number, and either there is none to compare with, or it is `lower`, or the residual
/// was small enough before, and the step was, where merits may differ by nothing but rounding. A NaN is neither.
FN mask takes_iterate(const newton_progress *N, mask number, mask lower, double tolerance)
{
    const mask close =
        both(le(N->before, rset(tolerance > SOLVE_FLOOR ? tolerance : SOLVE_FLOOR)), le(N->size, rset(PLACE_FLOOR)));
    return both(N->running, both(number, either(either(not_(N->based), close), lower)));
}

enum { PLACES = 10, FIRST_RATE = 1000, KINKS = 1000, STAGES_PLACES = 100 };

/// Where an iterate is the solution: the next step would change no place by more than PLACES times the tolerance, against a body's
/// own extent or in rad. res, link: its largest row, against what hangs on the joint, and against the inertia of the link there. No
/// step is much larger than `link` (1e-4 to 1.2 of it were found); and where rounding hides that, as in long ropes, the steps
/// before say so. Newton's steps fall by squares, each is c times the square of the one before, and the last two say c; the first
/// one alone is taken for one of c = FIRST_RATE (ropes have 1 to 120, in steps of 0.1 s to 1 ms). A contact that begins, or a
/// limit, is in none of this: it is seen by `res`, which alone says nothing: a long rope's is small long before its links are
/// where they belong. (docs/theory.md 4.4)
FN mask is_solved(const newton_progress *N, real res, real link, mask full, double tolerance)
{
    const real size = N->size, least = rset(PLACES * tolerance);
    const mask first = le(N->last, rset(0));
    const real rate = sel(first, rset(FIRST_RATE) * size, size / sel(first, rset(1), N->last));
    const mask foreseen = both(full, le(size * sel(first, rate, rate * rate), least));
    const mask smooth = le(res, sel(N->based, rset(KINKS * tolerance), rset(tolerance)));
    return both(smooth, either(foreseen, le(link, least)));
}

/// The same with several stages, of which more digits are expected: the residual is below the tolerance, as it mostly is only where
/// places are right to far more digits. Long ropes are the exception; there the next step tells, of STAGES_PLACES times the size.
FN mask are_solved(const newton_progress *N, real res, real link, mask full, double tolerance)
{
    return both(le(res, rset(tolerance)), is_solved(N, res, link, full, STAGES_PLACES * tolerance));
}

/// Where the solution that friction has been corrected at still is one: rows are as small as where something may touch, and no
/// step is much larger than `link`, STAGES_PLACES times as much as of a solution that is followed by nothing. What friction had
/// of the solve before is off by far more, and one pass leaves as much.
FN mask is_still_solved(const newton_progress *N, real res, real link, double tolerance)
{
    const mask begins = both(N->corrected, not_(N->based));
    return both(begins, both(le(res, rset(KINKS * tolerance)), le(link, rset(STAGES_PLACES * tolerance))));
}

/// Settles what an iteration makes of the lanes `taken`, with residual `res`, into *at of those that are done. full: where the
/// step that led there was not shortened. too_far: where a solution is ambiguous, and none. Done is where it is `found`, or at
/// rounding level, where the residual falls no more; never the first guess itself: at small steps it is one without any dynamics
/// in it. Returns where another step is to be made; lanes that were taken and need none have stopped.
FN mask settle_iterate(newton_progress *N, mask taken, real res, mask found, mask full, mask too_far, int max_iterations,
                       real *at)
{
    const mask still = both(le(res, rset(SOLVE_FLOOR)), le(N->size, rset(PLACE_FLOOR)));
    const mask floor = both(still, both(full, le(rset(0.5) * N->before, res)));
    const mask done = both(both(taken, le(rset(1), N->iterations)), either(found, floor));
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
    N->size = sel(where, rset(0), N->size), N->last = sel(where, rset(0), N->last);
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

/// That step changes places by `size`.
FN void size_newton(newton_progress *N, mask need, real size)
{
    N->last = sel(need, N->size, N->last), N->size = sel(need, size, N->size);
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
