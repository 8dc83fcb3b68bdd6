/// Step sizes from error estimates, by lane, for any method: a part of a step is repeated if its error is beyond the tolerance,
/// and a proportional-integral controller proposes the size of the next one. [Hairer, Norsett, Wanner, Solving Ordinary
/// Differential Equations I, section II.4; Gustafsson 1991]
///
/// An error is in units of the tolerance, and is taken to grow as h^order:
///     accepted   h <- h min(6, max(1/5, 0.9 e^(-0.7/order) e_before^(0.4/order))),   at most h if the part had to be repeated
///     rejected   h <- h min(0.9, max(1/5, 0.9 e^(-1/order)))
#ifndef CATENA_STEP_CONTROL_H
#define CATENA_STEP_CONTROL_H

#include "dynamics/lane.h"
#include "dynamics/precision.h"
#include "integrators/position_step.h"

#include <catena/batch.h>

enum { MOST_PARTS = 100000 };  // of one step, repeated ones included, as in Hairer's and Wanner's programs

/// What a controller remembers from part to part and from step to step: a part of the state.
typedef struct {
    real size;   // s, proposed for the next part; 0: none yet
    real error;  // of the last accepted part, at least 1e-4
} step_control;

/// x^a for x > 0 and 0 <= a <= 1, a taken to 2^-12: the product of the roots x^(1/2), x^(1/4), ... that a is made of.
FN real small_power(real x, double a)
{
    real y = rset(1);
    for (int bit = 0; bit < 12; bit++) {
        x = root(x), a += a;
        if (a >= 1) y = y * x, a -= 1;
    }
    return y;
}

FN real between(real least, real x, real most) { return sel(lt(x, least), least, sel(gt(x, most), most, x)); }

/// The size of the next part, `left` s before the end of the step: stretched by up to 5% to end there, or half of what is left if
/// two parts reach it, so that no part is needlessly small. last: where it ends the step.
FN real fit_size(real size, real left, mask *last)
{
    *last = le(left, rset(1.05) * size);
    return sel(*last, left, sel(lt(left, size + size), rset(0.5) * left, size));
}

/// Where a step cannot go on, and why (a ctn_freeze): the size of its next part is below the least share of it, or nothing; or it
/// has been tried in more parts than it may have. other: the reason for too small a size.
FN mask runs_out(const step_control *c, real step, real tried, real other, real *reason)
{
    const mask tiny = not_(le(rset(LEAST_PART) * step, c->size)), none = le(c->size, rset(0)), many = le(rset(MOST_PARTS), tried);
    *reason = sel(either(tiny, none), other, rset(CTN_FREEZE_PARTS));
    return either(either(tiny, none), many);
}

/// Learns from parts of size h with `error` (a NaN is beyond any tolerance) in the lanes `where`; repeated: those that were
/// rejected just before. Returns where the part is accepted.
FN mask control_step(step_control *c, real h, real error, double order, mask where, mask repeated)
{
    const real one = rset(1);
    const mask within = le(error, one), accepted = both(where, within);
    const real e = sel(le(error, rset(1e10)), sel(lt(error, rset(1e-10)), rset(1e-10), error), rset(1e10));
    const real slow = rset(0.9) * small_power(c->error, 0.4 / order) / small_power(e, 0.7 / order);
    const real grow = between(rset(0.2), slow, sel(repeated, one, rset(6)));
    const real shrink = between(rset(0.2), rset(0.9) / small_power(e, 1 / order), rset(0.9));
    const real next = h * sel(within, grow, shrink);
    c->size = sel(where, sel(le(next * rset(0), rset(0)), next, h), c->size);  // finite
    c->error = sel(accepted, sel(lt(e, rset(1e-4)), rset(1e-4), e), c->error);
    return accepted;
}

// ---- a step in parts, by lane

typedef struct {
    mask running, last, rejected;  // last, rejected: the part at hand ends the step; the part before it had to be repeated
    real here, end;                // s, what is done of the step, and all of it
} adaptive_parts;

FN adaptive_parts begin_parts(real end, mask active)
{
    adaptive_parts P;
    P.running = active, P.last = P.rejected = none_of();
    P.here = rset(0), P.end = end;
    return P;
}

/// A world begins: the size that its first part is tried with.
FN void begin_control(step_control *c, real size, mask fresh)
{
    c->size = sel(fresh, size, c->size), c->error = sel(fresh, rset(1), c->error);
}

/// The size of the part that begins.
FN real next_size(const step_control *c, adaptive_parts *P) { return fit_size(c->size, P->end - P->here, &P->last); }

/// Where the part of size h is accepted. *far: where angles went beyond what they may; then, where it would have been accepted
/// without.
FN mask take_part(step_control *c, adaptive_parts *P, real h, real error, double order, mask *far)
{
    const mask within = control_step(c, h, error, order, P->running, P->rejected);
    P->rejected = both(P->running, not_(within));
    *far = both(within, *far);
    return both(within, not_(*far));
}

/// The accepted parts are done. small: the reason why sizes become too small. Returns where the step can go on no more, and says
/// why in count->frozen, as where it went too far.
FN mask end_part(const step_control *c, adaptive_parts *P, real h, mask accepted, mask far, real small, position_counts *count)
{
    real reason;
    const mask spent = not_(may_go_on(count));
    count->rejected = count->rejected + sel(P->rejected, rset(1), rset(0));
    P->here = sel(accepted, sel(P->last, P->end, P->here + h), P->here);
    const mask ended = both(accepted, P->last), out = runs_out(c, P->end, count->substeps + count->rejected, small, &reason);
    const mask stuck = both(both(P->running, not_(ended)), either(out, spent));
    reason = sel(spent, rset(CTN_FREEZE_WORK), reason);
    count->frozen = sel(far, rset(CTN_FREEZE_ANGLE), sel(stuck, reason, count->frozen));
    P->running = both(P->running, not_(either(either(far, stuck), ended)));
    return stuck;
}

#endif
