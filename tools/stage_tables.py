#!/usr/bin/env python3
"""Prints the tables of integrators/stage_tables.h: Radau IIA of 2 to 4 stages, and the position-based paper's collocation of order 3 to 6.

Needs mpmath. All numbers are computed with 60 digits from the nodes alone and printed with 17, which read back to the nearest double.
"""
from mpmath import mp, mpf, legendre, polyroots, taylor, matrix, inverse

mp.dps = 60


def roots(coefficients):
    return sorted(mp.re(r) for r in polyroots(coefficients, maxsteps=500, extraprec=400))


def shifted_legendre_coefficients(n):
    """Of P_n(2 t - 1), highest power first."""
    return taylor(lambda t: legendre(n, 2 * t - 1), 0, n)[::-1] if n else [mpf(1)]


def derivative_weights(nodes, t, m):
    """Weights of the values at `nodes` in the m-th derivative at t of the polynomial that interpolates them."""
    n = len(nodes)
    V = matrix(n, n)
    b = matrix(n, 1)
    for k in range(n):
        for j in range(n):
            V[k, j] = (nodes[j] - t)**k
        b[k] = mp.factorial(m) if k == m else mpf(0)
    return list(mp.lu_solve(V, b))


def dense_weights(c):
    """Weights of the values at the nodes c in the coefficients of t (c_0 + (1 - t) (c_1 + t (c_2 + ...))) through 0 and these."""
    s = len(c)
    B = matrix(s, s)
    for k in range(s):
        for j in range(s):
            B[k, j] = c[k]**(1 + j // 2) * (1 - c[k])**((1 + j) // 2)
    return inverse(B).tolist()


def quadrature(c, end=mpf(1)):
    """Weights of the values at the nodes c in the integral from 0 to `end`."""
    s = len(c)
    V = matrix(s, s)
    b = matrix(s, 1)
    for k in range(s):
        for j in range(s):
            V[k, j] = c[j]**k
        b[k] = end**(k + 1) / (k + 1)
    return list(mp.lu_solve(V, b))


def radau(s):
    a, b = shifted_legendre_coefficients(s), [mpf(0)] + shifted_legendre_coefficients(s - 1)
    c = roots([x - y for x, y in zip(a, b)])
    c[-1] = mpf(1)
    d = [derivative_weights([mpf(0)] + c, t, 1)[1:] for t in c]  # the inverse of the Runge-Kutta matrix
    D = matrix(d)
    h = (D * D).tolist()
    V = [sum(D[i, j] for j in range(s)) for i in range(s)]
    return dict(name=f"radau{s}", title=f"Radau IIA, {s} stages", c=c, h=h, hV=V, d=d, dV=[mpf(0)] * s, old=mpf(0),
                e=derivative_weights([mpf(0)] + c, mpf(0), 1)[1:], dense=dense_weights(c), b=quadrature(c))


def collocation(K):
    s = K - 1
    c = roots(shifted_legendre_coefficients(s - 1)) + [mpf(1)]
    old = 1 - c[-2]  # the last interior point of the step before, so far back
    nodes = [-old, mpf(0)] + c
    h = [derivative_weights(nodes, t, 2) for t in c]
    d = [derivative_weights(nodes, t, 1) for t in c]
    return dict(name=f"collocation{K}", title=f"order {K} of the position-based paper", c=c, h=[r[2:] for r in h],
                hV=[r[0] * old for r in h], d=[r[2:] for r in d], dV=[-r[0] * old for r in d], old=old, e=[mpf(0)] * s,
                dense=dense_weights(c), b=quadrature(c))


def numbers(values):
    return "{" + ", ".join(mp.nstr(v, 17, strip_zeros=True, min_fixed=-4, max_fixed=6) if abs(v) > mpf(10)**-40 else "0" for v in values) + "}"


def rows(values):
    return "{" + ", ".join(numbers(v) for v in values) + "}"


for t in [radau(s) for s in (2, 3, 4)] + [collocation(K) for K in (3, 4, 5, 6)]:
    print(f"/// {t['title']}.")
    print(f"KERNEL_DATA stage_table {t['name']} = {{{len(t['c'])}, {numbers(t['c'])}, {rows(t['h'])}, {numbers(t['hV'])}, "
          f"{rows(t['d'])}, {numbers(t['dV'])}, {numbers(t['e'])}, {numbers([t['old']])[1:-1]}, {rows(t['dense'])}, "
          f"{numbers(t['b'])}, {rows([quadrature(t['c'], end) for end in t['c']])}}};")
