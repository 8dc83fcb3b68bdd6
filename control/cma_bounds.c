/// Bounds: the search goes on in coordinates u without bounds, and candidates are x(u), within them. Along each parameter x is u
/// but near a bound, where it turns back over a margin a on either side of it as a parabola, and beyond goes the other way:
///
///     x = lower + (u - (lower - a))^2 / 4a,   lower - a <= u <= lower + a,   x(u) = x(2 (lower - a) - u) below
///
/// and likewise above; with both bounds, x has the period 2 (upper - lower + a + a'). So x is smooth, an optimum on a bound is
/// one inside for the search, every value is told of the x that is u's, and ranks need no penalties; resampling would need more
/// and more draws in corners of many parameters, and biases the mean away from bounds. As BoundTransform of pycma, but for a: a
/// 20th of the way between the bounds, or sigma where there is one alone, so that neither the origin nor the unit of x matters.
#include "control/cma.h"

#include <math.h>

void cma_bounds_make(ctn_cma *c)
{
    for (int i = 0; i < c->cfg.n; i++) {
        const double range = c->upper[i] - c->lower[i];
        c->margin[i] = isfinite(range) ? range / 20 : c->cfg.sigma;
    }
}

double cma_into_bounds(const ctn_cma *c, int i, double u)
{
    if (!c->lower) return u;
    const double lower = c->lower[i], upper = c->upper[i], a = c->margin[i];
    const double least = lower - a, most = upper + a, range = most - least;
    if (isfinite(range) && (u < least || u > most)) {
        u = fmod(u - least, 2 * range);
        if (u < 0) u += 2 * range;
        u += least;
    }
    if (u < least) u = 2 * least - u;
    if (u > most) u = 2 * most - u;
    if (u < lower + a) u = lower + (u - least) * (u - least) / (4 * a);
    else if (u > upper - a) u = upper - (u - most) * (u - most) / (4 * a);
    return fmin(fmax(u, lower), upper);
}

double cma_out_of_bounds(const ctn_cma *c, int i, double x)
{
    if (!c->lower) return x;
    const double lower = c->lower[i], upper = c->upper[i], a = c->margin[i];
    if (x < lower + a) return lower - a + 2 * sqrt(a * (x - lower));
    if (x > upper - a) return upper + a - 2 * sqrt(a * (upper - x));
    return x;
}
