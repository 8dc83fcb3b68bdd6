#!/usr/bin/env python3
"""Prints the polynomials of dynamics/trig.h: minimax in relative error by Remez exchange, coefficients rounded to double.

sin x = x + x^3 P(x^2), cos x = 1 - x^2 (1/2 + x^2 Q(x^2)) on |x| <= pi/4; atan x = x + x^3 A(x^2) on |x| <= tan(pi/8).
Needs mpmath. The error printed is that of the rounded polynomial in exact arithmetic, in ulps of a double (2^-53).
"""
from mpmath import mp, mpf, sin, cos, atan, tan, pi, matrix, lu_solve

mp.dps = 60


def remez(f, w, lo, hi, n):
    """Coefficients of the polynomial p of degree n - 1 in t that minimises max |w(t) (p(t) - f(t))| on [lo, hi]."""
    t = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(pi * i / n) for i in range(n + 1)]
    for _ in range(30):
        A, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i in range(n + 1):
            for j in range(n):
                A[i, j] = t[i]**j
            A[i, n] = (-1)**i / w(t[i])
            b[i] = f(t[i])
        c = list(lu_solve(A, b))[:n]
        err = lambda x: w(x) * (mp.polyval(c[::-1], x) - f(x))
        grid = [lo + (hi - lo) * (1 - mp.cos(pi * i / 2000)) / 2 for i in range(2001)]
        e = [err(x) for x in grid]
        new, sign = [], 0
        for x, y in zip(grid, e):                       # the extremum of every run of one sign
            s = 1 if y > 0 else -1
            if s == sign:
                if abs(y) > abs(err(new[-1])):
                    new[-1] = x
            else:
                new.append(x)
                sign = s
        if len(new) != n + 1 or max(abs(a - b) for a, b in zip(new, t)) < mpf(10)**-12:
            break
        t = new
    return c


def table(name, f, w, lo, hi, n, value, exact):
    c = [mpf(float(x)) for x in remez(f, w, lo, hi, n)]
    worst = max(abs(value(c, x) / exact(x) - 1) for x in [hi**mpf(0.5) * i / 3000 for i in range(1, 3001)])
    print(f'// {name}: {float(worst * 2**53):.4f} ulp')
    for x in c:
        print(f'    {float(x):.17e},')


eps = mpf(10)**-20
q = (pi / 4)**2
table('sin', lambda t: (sin(t**mpf(.5)) / t**mpf(.5) - 1) / t, lambda t: t / (sin(t**mpf(.5)) / t**mpf(.5)), eps, q, 6,
      lambda c, x: x + x**3 * mp.polyval(c[::-1], x * x), sin)
table('cos', lambda t: ((1 - cos(t**mpf(.5))) / t - mpf(.5)) / t, lambda t: t**2 / cos(t**mpf(.5)), mpf(10)**-12, q, 6,
      lambda c, x: 1 - x * x * (mpf(.5) + x * x * mp.polyval(c[::-1], x * x)), cos)
a = tan(pi / 8)**2
table('atan', lambda t: (atan(t**mpf(.5)) / t**mpf(.5) - 1) / t, lambda t: t / (atan(t**mpf(.5)) / t**mpf(.5)), eps, a, 11,
      lambda c, x: x + x**3 * mp.polyval(c[::-1], x * x), atan)
