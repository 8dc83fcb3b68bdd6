/// What motors are told over time: signals in closed form, a value and its derivative by t at any time. They have no state.
///
/// c = frequency t + phase counts cycles, r is what is left of the last one, 0 to 1. The waves of gaits spend the share `duty` of
/// a cycle on one way and the rest on the other, each with the phase p from 0 to 1 on it:
///
///     sine     A sin(2 pi c)
///     stride   A cos(pi p) on the way out, -A cos(pi p) on the way back: still where it turns
///     lift     A sin^2(pi p) on the way back, else 0
///
/// all times a ramp u^2 (3 - 2u), u = t/ramp up to 1. Pieces are cubics between knots. What is sampled every T s is held: zero
/// order s(kT), first order the line from s(kT) to s((k+1)T), kT <= t.
#ifndef CATENA_SIGNALS_H
#define CATENA_SIGNALS_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"
#include "dynamics/trig.h"

// ---- the clock

/// The share of a part by which a moment lies beside its ends: what is held over a part is so at both of them.
#define BESIDE 1e-6

/// A step begins in all lanes, after `steps` in this call.
FN void clock_step(const lane_model *m, real steps)
{
    if (!m->nsignal || !m->clock) return;
    lane_clock *k = m->clock;
    const real made = k->made + steps, passed = made * m->dt;
    k->step = k->part = k->since + passed;
}

/// A part begins `into` the step, s.
FN void clock_part(const lane_model *m, real into)
{
    if (m->nsignal && m->clock) m->clock->part = m->clock->step + into;
}

/// It is the share `share`, 0 to 1, of the part in hand, which has the size h.
FN void clock_now(const lane_model *m, real h, double share)
{
    if (!m->nsignal || !m->clock) return;
    lane_clock *k = m->clock;
    const double beside = share < BESIDE ? BESIDE : share > 1 - BESIDE ? 1 - BESIDE : share;
    k->t = fmadd(rset(share), h, k->part), k->beside = fmadd(rset(beside), h, k->part);
}

/// A state: `into` the step, s, just before what comes after it; dt of the step.
FN void clock_state_at(const lane_model *m, real into)
{
    if (!m->nsignal || !m->clock) return;
    m->clock->t = m->clock->step + into, m->clock->beside = fmadd(rset(BESIDE), m->dt, m->clock->t);
}

// ---- signals

typedef struct {
    real x, rate;
} signal_value;

/// Whether a number that is above 0 in all lanes or in none is so.
FN bool is_some(model_length x) { return *(const double *)&x > 0; }

FN real whole_below(real x)
{
    const real magic = rset(NEAREST_WHOLE), n = (x + magic) - magic;
    return sel(gt(n, x), n - rset(1), n);
}

/// sin and cos of a share of a cycle.
FN void sincos_cycle(real r, real *s, real *c) { sincosr(rset(6.283185307179586) * r, s, c); }

FN signal_value wave_at(const lane_signal *s, real t)
{
    const real one = rset(1), zero = rset(0), half = rset(0.5), f = len(s->frequency), A = len(s->amplitude);
    const real c = fmadd(f, t, len(s->phase)), pi = rset(3.141592653589793);
    signal_value v;
    real sine, cosine;
    if (s->kind == SIGNAL_SINE) {
        const real magic = rset(NEAREST_WHOLE), n = (c + magic) - magic;  // the nearest cycle: small angles stay exact
        sincos_cycle(c - n, &sine, &cosine);
        v.x = A * sine, v.rate = A * (rset(2) * pi * f) * cosine;
    } else {
        const real r = c - whole_below(c), duty = len(s->duty), rest = one - duty;
        const mask out = lt(r, duty);
        if (s->kind == SIGNAL_STRIDE) {
            const real share = sel(out, duty, rest), p = sel(out, r, r - duty) / share;
            sincos_cycle(half * p, &sine, &cosine);
            v.x = A * sel(out, cosine, negate(cosine));
            v.rate = A * (pi * f / share) * sel(out, negate(sine), sine);
        } else {
            sincos_cycle((r - duty) / rest, &sine, &cosine);
            v.x = sel(out, zero, A * (half * (one - cosine)));
            v.rate = sel(out, zero, A * (pi * f / rest) * sine);
        }
    }
    if (is_some(s->ramp)) {
        const real u0 = t / len(s->ramp), low = sel(lt(u0, zero), zero, u0), u = sel(gt(low, one), one, low);
        const real w = u * u * fnmadd(rset(2), u, rset(3)), dw = rset(6) * u * (one - u) / len(s->ramp);
        v.rate = fmadd(w, v.rate, dw * v.x), v.x = w * v.x;
    }
    return v;
}

/// How many of the knots lie at or before t.
FN int knots_before(const ctn_signal *s, double t)
{
    int low = 0, high = s->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (s->knots[middle] <= t) low = middle + 1;
        else high = middle;
    }
    return low;
}

/// The piece is the one at `beside`.
FN signal_value pieces_at(const lane_signal *s, real t, real beside)
{
    double at[LANES] __attribute__((aligned(64))), knot[LANES] __attribute__((aligned(64)));
    double a[4][LANES] __attribute__((aligned(64)));
    if (is_some(s->period)) {
        for (int l = 0; l < LANES; l++) knot[l] = signal_in(s, l)->knots[0];
        const real n = whole_below((beside - lane_load(knot)) / len(s->period));
        t = fnmadd(n, len(s->period), t), beside = fnmadd(n, len(s->period), beside);
    }
    lane_store(at, beside);
    for (int l = 0; l < LANES; l++) {
        const ctn_signal *of = signal_in(s, l);
        const int i = knots_before(of, at[l]);
        knot[l] = of->knots[i ? i - 1 : 0];
        for (int k = 0; k < 4; k++) a[k][l] = of->pieces[4 * i + k];
    }
    const real u = t - lane_load(knot), a1 = lane_load(a[1]), a2 = lane_load(a[2]), a3 = lane_load(a[3]);
    signal_value v;
    v.x = fmadd(fmadd(fmadd(a3, u, a2), u, a1), u, lane_load(a[0]));
    v.rate = fmadd(fmadd(rset(3) * a3, u, rset(2) * a2), u, a1);
    return v;
}

FN signal_value unheld_at(const lane_signal *s, real t, real beside)
{
    return s->kind == SIGNAL_PIECES ? pieces_at(s, t, beside) : wave_at(s, t);
}

/// The signal at t; where it jumps there, as it is at the moment `beside`.
KERNEL signal_value signal_at(const lane_signal *s, real t, real beside)
{
    if (s->hold == HOLD_NONE) return unheld_at(s, t, beside);
    const real T = len(s->every), from = T * whole_below(beside / T);
    signal_value v = unheld_at(s, from, from);
    v.rate = rset(0);
    if (s->hold == HOLD_ZERO) return v;
    const real to = from + T;
    v.rate = (unheld_at(s, to, to).x - v.x) / T;
    v.x = fmadd(v.rate, t - from, v.x);
    return v;
}

#endif
