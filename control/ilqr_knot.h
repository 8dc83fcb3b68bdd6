/// A knot on the way back, of trajectories in lanes: the sums of ilqr_backward.c and ilqr_sweep.h, in the same order and rounded
/// alike, so that each trajectory has the bits that it has alone. The includer says who works: a CPU's thread on its lanes
/// (ilqr_lanes.h), or the threads of a device's block on one trajectory (ilqr_crew.h):
///
///     EACH(r, i, count), EACH_OF(r, i, rows, j, columns)   heads of loops over entries, in any order, dealt out
///     EACH_ABOVE(r, i, j, n), EACH_BELOW(r, i, j, n)       likewise of [n][n] above the diagonal and on it, or below
///     FIRST(r)                                    whether this thread does what only one does
///     WAIT(r)                                     for all of them
///     rows_in(r, from, rows, size, to, apart)     rows of doubles of every lane's trajectory, one behind another, to reals
///     rows_out(r, to, size, from)                 and a row of them back
///     set_product, add_product_to                 Z = X Y, Z += X Y: an entry is one sum, over the inner index in its order
///
/// Loops over the same rows and columns have the same thread for an entry.
#ifndef CATENA_CONTROL_ILQR_KNOT_H
#define CATENA_CONTROL_ILQR_KNOT_H

/// Row k of an array of each, [n] numbers.
#define GATHER(to, field, k, size)                                                                                               \
    do {                                                                                                                         \
        const double *rows_[LANES];                                                                                              \
        for (int l_ = 0; l_ < LANES; l_++) rows_[l_] = ilqr_row(t->of[l_]->field, k, size);                                      \
        rows_in(r, rows_, 1, size, to, 0);                                                                                       \
    } while (0)
#define SCATTER(from, field, k, size)                                                                                            \
    do {                                                                                                                         \
        double *rows_[LANES];                                                                                                    \
        for (int l_ = 0; l_ < LANES; l_++)                                                                                       \
            rows_[l_] = l_ < t->count && t->good[l_] ? ilqr_row(t->of[l_]->field, k, size) : r->dump;                            \
        rows_out(r, rows_, size, from);                                                                                          \
    } while (0)

/// [A B] and d of the knot.
KERNEL void knot_read(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    const double *A[LANES], *B[LANES];
    for (int l = 0; l < LANES; l++) A[l] = ilqr_row(t->of[l]->A, k, n * n), B[l] = ilqr_row(t->of[l]->B, k, n * m);
    rows_in(r, A, n, n, r->AB, r->c), rows_in(r, B, n, m, r->AB + n, r->c);
    GATHER(r->d, d, k, n);
}

/// What a rate has of what its position has.
FN real lagged(const lanes_knot *r, bool lags, real x)
{
    if (lags) return r->before * x;
    return rset(0);
}

/// Of plants with rates: PAB, and z' of it and of [A B].
KERNEL void knot_of_rates(const lanes_knot *r, bool lags)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2;
    EACH_OF(r, i, n, k, h)
    {
        const real *const P = r->P + i * n;
        r->Pz[i * h + k] = fmadd(r->after, P[k], P[h + k]);
        r->PAB[i * c + k] = P[k], r->PAB[i * c + h + k] = lagged(r, lags, P[k]);
    }
    EACH_OF(r, i, n, k, m) r->PAB[i * c + n + k] = rset(0);
    WAIT(r);
    add_product_to(r, n, c, h, r->Pz, h, 1, r->AB + h * c, c, r->PAB, c, false);
    WAIT(r);
    EACH(r, k, h * c)
    {
        r->zPAB[k] = fmadd(r->after, r->PAB[k], r->PAB[h * c + k]);
        r->zAB[k] = fmadd(r->after, r->AB[k], r->AB[h * c + k]);
    }
}

/// Q from w.
KERNEL void knot_pull(const lanes_knot *r, bool lags)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2;
    if (!r->rates) {
        set_product(r, 1, c, n, r->w, 0, 1, r->AB, c, r->Q, c);
        return;
    }
    EACH(r, k, h)
    {
        r->Q[k] = r->w[k], r->Q[h + k] = lagged(r, lags, r->w[k]);
        r->zw[k] = fmadd(r->after, r->w[k], r->w[h + k]);
    }
    EACH(r, k, m) r->Q[n + k] = rset(0);
    WAIT(r);
    add_product_to(r, 1, c, h, r->zw, 0, 1, r->AB + h * c, c, r->Q, c, false);
}

/// What a knot costs by u, and by u and x, to rows of [Q_ux Q_uu].
KERNEL void knot_costs(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c;
    GATHER(r->costs, costs.ux, k, m * n);
    EACH_OF(r, i, m, j, n)
    {
        const real x = r->costs[i * n + j];
        r->U[i * c + j] = r->U[i * c + j] + x, r->V[i * c + j] = r->V[i * c + j] + x;
    }
    GATHER(r->costs, costs.uu, k, m * m);
    EACH_OF(r, i, m, j, m)
    {
        const real x = r->costs[i * m + j];
        r->U[i * c + n + j] = r->U[i * c + n + j] + x, r->V[i * c + n + j] = r->V[i * c + n + j] + x;
    }
}

/// From P, s behind the knot: Q without costs, and U, V with them.
KERNEL void knot_front(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2, inner = r->rates ? h : n;
    const bool lags = t->of[0]->plant->before > 0;
    double rhos[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) rhos[l] = t->of[l]->state.rho;
    const real rho = lane_load(rhos);
    const mask some = gt(rho, rset(0));
    knot_read(t, r, k);
    WAIT(r);
    if (r->rates) knot_of_rates(r, lags);
    else set_product(r, n, c, n, r->P, n, 1, r->AB, c, r->PAB, c);
    WAIT(r);
    const real *const B = r->AB + (r->rates ? h * c : 0) + n;
    set_product(r, m, c, inner, B, 1, c, r->rates ? r->zPAB : r->PAB, c, r->U, c);
    set_product(r, m, c, inner - r->carried, B, 1, c, r->rates ? r->zAB : r->AB, c, r->V, c);
    EACH_OF(r, i, m, j, c) r->V[i * c + j] = fmadd(rho, sel(some, r->V[i * c + j], rset(0)), r->U[i * c + j]);
    EACH(r, i, n) r->w[i] = r->s[i];
    add_product_to(r, 1, n, n, r->d, 0, 1, r->P, n, r->w, n, false);
    WAIT(r);
    knot_pull(r, lags);
    knot_costs(t, r, k);
    WAIT(r);
}

/// Factors of V_u, with the inverses of its diagonal on it, which are seen after another wait; lanes
/// where it is not positive definite are good no more.
KERNEL void knot_factor(lanes_of_them *t, const lanes_knot *r)
{
    const int m = r->m;
    real *const L = r->L;
    EACH_OF(r, i, m, j, m) L[i * m + j] = r->V[i * r->c + r->n + j];
    WAIT(r);
    for (int j = 0; j < m; j++) {
        real d = L[j * m + j];
        for (int k = 0; k < j; k++) d = d - L[j * m + k] * L[j * m + k];
        for (int l = 0; l < LANES && FIRST(r); l++) t->good[l] = t->good[l] && entry(&d, 0, l) > 0 && isfinite(entry(&d, 0, l));
        const real diagonal = root(d);
        EACH(r, i, m - j - 1)
        {
            real *const row = L + (j + 1 + i) * m;
            real x = row[j];
            for (int k = 0; k < j; k++) x = x - row[k] * L[j * m + k];
            row[j] = x / diagonal;
        }
        WAIT(r);
        if (FIRST(r)) L[j * m + j] = rset(1) / diagonal;
    }
}

/// R [m][columns] becomes (L L')^-1 R.
FN void knot_solve(const lanes_knot *r, int columns, const real *L, real *R)
{
    const int m = r->m;
    EACH(r, j, columns)
    {
        for (int i = 0; i < m; i++) {
            real sum = R[i * columns + j];
            for (int k = 0; k < i; k++) sum = fnmadd(L[i * m + k], R[k * columns + j], sum);
            R[i * columns + j] = sum * L[i * m + i];
        }
        for (int i = m - 1; i >= 0; i--) {
            real sum = R[i * columns + j];
            for (int k = i + 1; k < m; k++) sum = fnmadd(L[k * m + i], R[k * columns + j], sum);
            R[i * columns + j] = sum * L[i * m + i];
        }
    }
}

/// Bounded controls: each lane by itself.
KERNEL void knot_bounded(lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    const bounded_room *const alone = &r->bounded;
    for (int l = 0; l < t->count; l++) {
        const ilqr *const s = t->of[l];
        if (!t->good[l]) continue;
        for (int i = 0; i < m; i++) {
            const double u = ilqr_row(s->U, k, m)[i];
            alone->lo[i] = s->lower[i] - u, alone->hi[i] = s->upper[i] - u;
            for (int j = 0; j < n; j++) alone->side[i * n + j] = entry(r->V, i * r->c + j, l);
            for (int j = 0; j < m; j++) alone->G[i * m + j] = entry(r->V, i * r->c + n + j, l);
            r->alone[i] = entry(r->Q, n + i, l);
        }
        double *const K = r->alone + 2 * m, *const kappa = r->alone + m;
        t->good[l] = ilqr_bounded_gains(m, n, alone, r->alone, kappa, K);
        for (int i = 0; i < m && t->good[l]; i++) {
            for (int j = 0; j < n; j++) set_entry(r->K, i * n + j, l, K[i * n + j]);
            set_entry(r->kappa, i, l, kappa[i]);
        }
    }
}

KERNEL void knot_gains(lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m;
    if (t->of[0]->lower) {
        if (FIRST(r)) knot_bounded(t, r, k);
    } else {
        knot_factor(t, r);
        EACH_OF(r, i, m, j, n) r->K[i * n + j] = negate(r->V[i * r->c + j]);
        EACH(r, i, m) r->kappa[i] = negate(r->Q[n + i]);
        WAIT(r);
        knot_solve(r, n, r->L, r->K), knot_solve(r, 1, r->L, r->kappa);
    }
    WAIT(r);
    SCATTER(r->K, K, k, m * n);
    SCATTER(r->kappa, kappa, k, m);
}

/// Of plants with rates: what P has of PAB, on its diagonal and above it.
FN void knot_add_shares(const lanes_knot *r, bool lags)
{
    const int n = r->n, h = n / 2;
    EACH_ABOVE(r, i, j, n)
    {
        if (i >= h && !lags) continue;
        real share = rset(1);
        if (i >= h) share = r->before;
        r->P[i * n + j] = r->P[i * n + j] + share * r->PAB[(i < h ? i : i - h) * r->c + j];
    }
}

/// P, s before the knot.
KERNEL void knot_value(const lanes_of_them *t, const lanes_knot *r, int k)
{
    const int n = r->n, m = r->m, c = r->c, h = n / 2;
    const bool lags = t->of[0]->plant->before > 0;
    EACH_OF(r, i, m, j, n) r->T[i * n + j] = r->U[i * c + j];
    add_product_to(r, m, n, m, r->U + n, c, 1, r->K, n, r->T, n, false);
    GATHER(r->P, costs.xx, k, n * n);
    WAIT(r);
    if (r->rates) knot_add_shares(r, lags);
    if (r->rates) add_product_to(r, n, n, h, r->AB + h * c, 1, c, r->zPAB, c, r->P, n, true);
    else add_product_to(r, n, n, n, r->AB, 1, c, r->PAB, c, r->P, n, true);
    add_product_to(r, n, n, m, r->U, 1, c, r->K, n, r->P, n, true);
    add_product_to(r, n, n, m, r->K, 1, n, r->T, n, r->P, n, true);
    GATHER(r->s, costs.x, k, n);
    WAIT(r);
    EACH_BELOW(r, i, j, n) r->P[i * n + j] = r->P[j * n + i];
    EACH(r, i, n) r->s[i] = r->s[i] + r->Q[i];
    add_product_to(r, 1, n, m, r->f, 0, 1, r->K, n, r->s, n, false);
    add_product_to(r, 1, n, m, r->kappa, 0, 1, r->U, c, r->s, n, false);
    SCATTER(r->s, s, k, n);
    SCATTER(r->P, P, k, n * n);
}

/// Q_u has what its knot costs, too, and is looked at.
KERNEL void knot_look(const lanes_of_them *t, const lanes_knot *r, int k, int b)
{
    const int m = r->m;
    for (int l = 0; l < t->count; l++) {
        if (!t->good[l]) continue;
        const double *const lu = ilqr_row(t->of[l]->costs.u, k, m);
        back_block block = t->of[l]->blocks[b];  // in registers
        for (int i = 0; i < m; i++) {
            const double Qu = entry(r->Q, r->n + i, l), whole = Qu + lu[i];
            block.part = fmax(block.part, fmax(fabs(lu[i]), fabs(Qu)));
            block.gradient = fmax(block.gradient, ilqr_push(t->of[l], k, i, whole));
            set_entry(r->Q, r->n + i, l, whole);
        }
        t->of[l]->blocks[b] = block;
    }
}

/// What the knot adds to what is expected, and f = Q_uu kappa + Q_u out of Q_uu kappa.
KERNEL void knot_expect(const lanes_of_them *t, const lanes_knot *r, int b)
{
    for (int l = 0; l < t->count; l++) {
        back_block block = t->of[l]->blocks[b];
        for (int i = 0; i < r->m && t->good[l]; i++) {
            const double kappa = entry(r->kappa, i, l);
            block.linear += kappa * entry(r->Q, r->n + i, l), block.quadratic += 0.5 * kappa * entry(r->f, i, l);
        }
        t->of[l]->blocks[b] = block;
    }
    for (int i = 0; i < r->m; i++) r->f[i] = r->f[i] + r->Q[r->n + i];
}

/// Knot k of block b. What one thread does is seen by the others after the first wait of what follows.
KERNEL void knot_over(lanes_of_them *t, const lanes_knot *r, int k, int b)
{
    const int m = r->m;
    knot_front(t, r, k);
    if (FIRST(r)) knot_look(t, r, k, b);
    knot_gains(t, r, k);
    EACH(r, i, m)
    {
        real sum = rset(0);
        for (int j = 0; j < m; j++) sum = sum + r->U[i * r->c + r->n + j] * r->kappa[j];
        r->f[i] = sum;
    }
    WAIT(r);
    if (FIRST(r)) knot_expect(t, r, b);
    knot_value(t, r, k);
}

/// The value at the end of block b.
KERNEL void knot_begin(const lanes_of_them *t, const lanes_knot *r, int b, int end)
{
    const int n = r->n, N = t->of[0]->plant->knots;
    if (end < N) {
        GATHER(r->P, end_P, b, n * n);
        GATHER(r->s, end_s, b, n);
        return;
    }
    GATHER(r->P, costs.xx, N, n * n);
    GATHER(r->s, costs.x, N, n);
}

FN bool any_lane(const lanes_of_them *t)
{
    bool any = false;
    for (int l = 0; l < t->count; l++) any = any || t->good[l];
    return any;
}

/// Block b of so many, and what is found of it.
KERNEL void knots_back(lanes_of_them *t, const lanes_knot *r, int blocks, int b)
{
    const int N = t->of[0]->plant->knots, end = block_at(N, blocks, b + 1);
    for (int l = 0; l < LANES && FIRST(r); l++) {
        t->good[l] = l < t->count;
        if (t->good[l]) memset(&t->of[l]->blocks[b], 0, sizeof(back_block));
    }
    knot_begin(t, r, b, end);
    WAIT(r);
    for (int k = end - 1; k >= block_at(N, blocks, b) && any_lane(t); k--) knot_over(t, r, k, b);
    for (int l = 0; l < t->count && FIRST(r); l++) t->of[l]->blocks[b].good = t->good[l];
}

#undef GATHER
#undef SCATTER

#endif
