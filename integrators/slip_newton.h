/// The second derivative of friction that slips, for Newton's method in the inner problem of a step (between_step.h).
///
/// Along its way friction that slips has none, and a step that starts there goes much too far: heaps of balls took 40 of them, each
/// shortened to a hundredth. So the force p of friction over its cap c is an unknown of its own, with c s = |s| c p, and both are
/// made linear: with the direction t of s this is the second derivative
///
///     c/|s| (1 - (p t' + t p')/2)
///
/// which has no negative part as long as |p| <= 1, and is that of friction itself once p is t. [Chan, Golub and Mulet, 'A nonlinear
/// primal-dual method for total variation-based image restoration', SIAM J. Sci. Comput. 20, 1999] With p = (a, b) along t and
/// across it is two rows, c/|s| (1 - a - b^2/4) of t and c/|s| of the way across less b/2 t.
#ifndef CATENA_SLIP_NEWTON_H
#define CATENA_SLIP_NEWTON_H

#include "contact/law.h"

FN vec3 at_most_one(vec3 p)
{
    const real one = rset(1), square = dot(p, p);
    return scale(p, sel(gt(square, one), one / root(sel(gt(square, one), square, one)), one));
}

/// p of friction as the law has it, where there is any.
FN vec3 first_pull(const friction_law *F, real cap)
{
    const mask rubs = gt(cap, rset(0));
    return at_most_one(scale(F->g, sel(rubs, rset(1) / sel(rubs, cap, rset(1)), rset(0))));
}

/// F where it slips with the second derivative of p.
FN friction_law slip_with(friction_law F, vec3 p, real grip)
{
    const real one = rset(1), half = rset(0.5), a = dot(p, F.t1), b = dot(p, F.t2);
    const mask slips = both(gt(F.k2, rset(0)), lt(F.k1, grip));
    const real share = fnmadd(rset(0.25) * b, b, one - a);
    F.k1 = sel(both(slips, gt(share, rset(1e-9))), F.k2 * share, F.k1);
    F.t2 = sel3(slips, sub_scaled(F.t2, F.t1, half * b), F.t2);
    return F;
}

/// p after a whole step that changes s by `change`: (s + change - c p (t.change)/c)/|s|, of what sticks that over what it bends to most.
FN vec3 next_pull(vec3 p, vec3 s, vec3 change, real grip, real cap)
{
    const real o = rset(0), one = rset(1), length = root(dot(s, s)), least = cap / grip;
    const mask rubs = gt(cap, o), slips = both(rubs, gt(length, least));
    const real inverse = one / sel(slips, length, sel(rubs, least, one));
    const vec3 to = scale(add(s, change), inverse), less = scale(p, dot(s, change) * inverse * inverse);
    return sel3(rubs, at_most_one(sel3(slips, sub(to, less), to)), zero3());
}

#endif
