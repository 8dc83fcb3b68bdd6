/// What a thread does that follows a plan (device_follow): a block of time with an alpha. Threads of an alpha are in warps of
/// their own. Included by device_worlds.h.
#ifndef CATENA_SIM_DEVICE_FOLLOW_H
#define CATENA_SIM_DEVICE_FOLLOW_H

#include "dynamics/quaternion.h"

enum { FOLLOW_WARP = 32 };

/// How many threads there are.
static inline int threads_that_follow(const device_follow *f)
{
    return f->alphas * ((f->blocks + FOLLOW_WARP - 1) / FOLLOW_WARP * FOLLOW_WARP);
}

/// A thread's alpha, 2^-a, and block, which begins at a knot and ends at another. false: it has none.
typedef struct {
    int a, b, first, end;
} followed_block;
FN bool block_that_follows(const device_follow *f, int thread, followed_block *t)
{
    const int row = (f->blocks + FOLLOW_WARP - 1) / FOLLOW_WARP * FOLLOW_WARP;
    t->a = thread / row, t->b = thread % row;
    t->first = (int)((long long)f->knots * t->b / f->blocks), t->end = (int)((long long)f->knots * (t->b + 1) / f->blocks);
    return t->b < f->blocks;
}

/// Numbers of a body in v but for balls, where q has as many.
FN int plain_numbers(const lane_body *b) { return b->kind == JOINT_TRANSLATION ? 3 : b->kind == JOINT_BALL ? 0 : 1; }

/// to = x + dx, of the f->n numbers that dx has.
FN void move_along(const device_follow *f, const lane_model *m, const real *x, const real *dx, real *to)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *const b = &m->bodies[i];
        for (int j = 0; j < plain_numbers(b); j++) to[b->qadr + j] = x[b->qadr + j] + dx[b->vadr + j];
        if (b->kind == JOINT_BALL)
            quat_store(to + b->qadr, quat_turned(quat_load(x + b->qadr), vec(dx[b->vadr], dx[b->vadr + 1], dx[b->vadr + 2])));
    }
    for (int j = m->nv; j < f->n; j++) to[m->nq - m->nv + j] = x[m->nq - m->nv + j] + dx[j];
}

/// dx, by which `to` is further than x.
FN void difference_to(const device_follow *f, const lane_model *m, const real *x, const real *to, real *dx)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *const b = &m->bodies[i];
        for (int j = 0; j < plain_numbers(b); j++) dx[b->vadr + j] = to[b->qadr + j] - x[b->qadr + j];
        if (b->kind != JOINT_BALL) continue;
        const vec3 turn = quat_between(quat_load(x + b->qadr), quat_load(to + b->qadr));
        dx[b->vadr] = turn.x, dx[b->vadr + 1] = turn.y, dx[b->vadr + 2] = turn.z;
    }
    for (int j = m->nv; j < f->n; j++) dx[j] = to[m->nq - m->nv + j] - x[m->nq - m->nv + j];
}

FN real *row_of(real *rows, size_t k, int size) { return rows + k * (size_t)size; }

/// The thread's block gets its start.
FN void place_block(const device_follow *f, const lane_model *m, int thread)
{
    followed_block t;
    if (!block_that_follows(f, thread, &t)) return;
    const real *const X = f->X + (size_t)t.first * (size_t)f->nx;
    real *const to = row_of(f->own_X, (size_t)t.a * (size_t)(f->knots + 1) + (size_t)t.first, f->nx);
    if (t.b) move_along(f, m, X, row_of(f->defect, (size_t)t.a * (size_t)f->blocks + (size_t)t.b, f->n), to);
    else memcpy(to, X, (size_t)f->nx * sizeof *to);
}

/// What motors are told at knot k, u [m], where x is; dx [n] is room.
FN void follow_law(const device_follow *f, const lane_model *m, int a, int k, const real *x, real *dx, real *u)
{
    const real alpha = ldexp(1.0, -a);
    difference_to(f, m, f->X + (size_t)k * (size_t)f->nx, x, dx);
    for (int i = 0; i < f->m; i++) {
        const size_t at = (size_t)k * (size_t)f->m + (size_t)i;
        const real *const K = f->K + at * (size_t)f->n;
        real sum = fmadd(alpha, f->kappa[at], f->U[at]);
        for (int j = 0; j < f->n; j++) sum = fmadd(K[j], dx[j], sum);
        u[i] = f->lower ? fmin(fmax(sum, f->lower[i]), f->upper[i]) : sum;
    }
}

/// The thread's block of time, from its start; `m` is its own, with its clock.
FN void follow_block(const device_follow *f, const lane_model *m, const ctn_batch_config *cfg, int thread, block_state *S,
                     block_work *W)
{
    followed_block t;
    if (!block_that_follows(f, thread, &t)) return;
    const size_t at = (size_t)t.a * (size_t)f->blocks + (size_t)t.b;
    real *const X = row_of(f->own_X, (size_t)t.a * (size_t)(f->knots + 1), f->nx),
                *const U = row_of(f->own_U, (size_t)t.a * (size_t)f->knots, f->m), *const last = row_of(f->ends, at, f->nx);
    block_counts c;
    memset(&c, 0, sizeof c);
    f->lost[at] = 0, W->forces.row[0] = NULL;
    for (int k = t.first; k < t.end; k++) {
        real *const x = row_of(X, (size_t)k, f->nx), *const next = k + 1 < t.end || k + 1 == f->knots ? x + f->nx : last,
                    *const u = row_of(U, (size_t)k, f->m);
        if (k == t.first || f->anew) block_set(m, cfg, S, W, x, x + m->nq);
        follow_law(f, m, t.a, k, x, next, u);
        play_round(m, cfg, S, W, k - t.first, f->hold, u, &c);
        if (any_of(gt(c.frozen, rset(0)))) {
            f->lost[at] = 1;
            return;
        }
        show_state(m, cfg, S, W, next);
        for (int i = 0; i < f->carried; i++) next[m->nq + m->nv + i] = u[i];
    }
    if (t.end < f->knots) difference_to(f, m, row_of(X, (size_t)t.end, f->nx), last, row_of(f->defect, at, f->n));
}

#endif
