/// Solutions with the factors of the Newton step of several coupled stages that stage_factor() has kept (stage_sweep.h), and with
/// their transpose. (docs/theory.md 5)
#ifndef CATENA_STAGE_SOLVE_H
#define CATENA_STAGE_SOLVE_H

#include "dynamics/joints.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "integrators/stage_sweep.h"

/// What hangs on body i, in `twist`, goes on to its parent, about whose origin it is then.
FN void hand_up(const lane_model *m, const stages *W, stage_sweep *work, int i)
{
    const int s = W->table->stages, w = 6 * s;
    const lane_body *b = &m->bodies[i];
    const real *p = work->twist + i * w;
    for (int a = 0; a < s; a++) {
        wrench t;
        t.n = vec(p[6 * a], p[6 * a + 1], p[6 * a + 2]), t.f = vec(p[6 * a + 3], p[6 * a + 4], p[6 * a + 5]);
        if (has_arm(form_of(b))) t = wrench_shift(t, W->body[i * s + a].T.r);
        const real six[6] = {t.n.x, t.n.y, t.n.z, t.f.x, t.f.y, t.f.z};
        real *up = work->twist + b->parent * w + 6 * a;
        for (int j = 0; j < 6; j++) up[j] = up[j] + six[j];
    }
}

/// The motion of its parent, in `twist`, carries body i.
FN void hand_down(const lane_model *m, const stages *W, stage_sweep *work, int i)
{
    const int s = W->table->stages, w = 6 * s;
    const lane_body *b = &m->bodies[i];
    real *d = work->twist + i * w;
    for (int a = 0; a < s; a++) {
        for (int j = 0; j < 6 && (b->flags & BODY_ROOT); j++) d[6 * a + j] = rset(0);
        if (b->flags & BODY_ROOT) continue;
        const real *up = work->twist + b->parent * w + 6 * a;
        for (int j = 0; j < 6; j++) d[6 * a + j] = up[j];
        if (!has_arm(form_of(b))) continue;
        const vec3 r = W->body[i * s + a].T.r, v = cross_add(vec(up[3], up[4], up[5]), vec(up[0], up[1], up[2]), r);
        d[6 * a + 3] = v.x, d[6 * a + 4] = v.y, d[6 * a + 5] = v.z;
    }
}

/// Adds to the motion d [6 s] of body i that of its degree of freedom c, those of a stage after those of the one before, by y.
FN void move_along(const lane_body *b, const stages *W, int i, int c, real y, real *d)
{
    const int a = c / b->nv;
    real *const t = d + 6 * a;
    const twist S = joint_subspace(b, b->kind, W->body[i * W->table->stages + a].T.R, c % b->nv);
    t[0] = fmadd(S.w.x, y, t[0]), t[1] = fmadd(S.w.y, y, t[1]), t[2] = fmadd(S.w.z, y, t[2]);
    t[3] = fmadd(S.v.x, y, t[3]), t[4] = fmadd(S.v.y, y, t[4]), t[5] = fmadd(S.v.z, y, t[5]);
}

/// g: of b [stages][nv] what body i has left for its degrees of freedom, those of a stage after those of the one before, of what hangs
/// on it, in `twist`.
FN void left_along(const lane_model *m, const stages *W, const stage_sweep *work, int i, const real *b_, real *g)
{
    const int s = W->table->stages, w = 6 * s;
    const lane_body *b = &m->bodies[i];
    const real *const p = work->twist + i * w;
    for (int c = 0; c < b->nv * s; c++) {
        const int a = c / b->nv;
        const twist S = joint_subspace(b, b->kind, W->body[i * s + a].T.R, c % b->nv);
        const vec3 f = vec(p[6 * a], p[6 * a + 1], p[6 * a + 2]), l = vec(p[6 * a + 3], p[6 * a + 4], p[6 * a + 5]);
        g[c] = dot_sub(dot_sub(b_[a * m->nv + b->vadr + c % b->nv], S.w, f), S.v, l);
    }
}

/// x with J x = b, after stage_factor(); both [stages][nv].
KERNEL void stage_solve(const lane_model *m, const stages *W, stage_sweep *work, const real *b_, real *x_)
{
    const int s = W->table->stages, w = 6 * s;
    real g[MOST_DOF];
    for (int j = 0; j < m->nbody * w; j++) work->twist[j] = rset(0);  // p
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const int n = b->nv, N = n * s;
        const real *U = work->U + b->dof * s * w, *inverse = work->inverse + 3 * s * s * b->dof;
        real *p = work->twist + i * w;
        left_along(m, W, work, i, b_, g);
        for (int c = 0; c < N; c++) {
            real y = rset(0);
            for (int k = 0; k < N; k++) y = fmadd(inverse[N * c + k], g[k], y);
            x_[(c / n) * m->nv + b->vadr + c % n] = y;
        }
        if (b->flags & BODY_ROOT) continue;
        for (int j = 0; j < w; j++)
            for (int c = 0; c < N; c++) p[j] = fmadd(U[N * j + c], x_[(c / n) * m->nv + b->vadr + c % n], p[j]);
        hand_up(m, W, work, i);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int n = b->nv, N = n * s;
        const real *X = work->X + b->dof * s * (w + 1);
        real *d = work->twist + i * w;
        hand_down(m, W, work, i);
        for (int c = 0; c < N; c++) {
            const int a = c / n, at = a * m->nv + b->vadr + c % n;
            real y = x_[at];
            for (int j = 0; j < w && !(b->flags & BODY_ROOT); j++) y = fnmadd(X[(w + 1) * c + j], d[j], y);
            x_[at] = y;
        }
        for (int c = 0; c < N; c++) move_along(b, W, i, c, x_[(c / n) * m->nv + b->vadr + c % n], d);
    }
}

/// y with J'y = b, after stage_factor(); both [stages][nv]. J' has the factors of J with U and L' exchanged:
///
///     inwards    g = b - S'p,  p' = p + (D^-1 L)' g        outwards   y = D^-T (g - U'd_parent),  d = d_parent + S y
KERNEL void stage_solve_transposed(const lane_model *m, const stages *W, stage_sweep *work, const real *b_, real *y_)
{
    const int s = W->table->stages, w = 6 * s;
    real g[MOST_DOF];
    for (int j = 0; j < m->nbody * w; j++) work->twist[j] = rset(0);  // p
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        const int n = b->nv, N = n * s;
        const real *X = work->X + b->dof * s * (w + 1);
        real *p = work->twist + i * w;
        left_along(m, W, work, i, b_, g);
        for (int c = 0; c < N; c++) y_[(c / n) * m->nv + b->vadr + c % n] = g[c];
        if (b->flags & BODY_ROOT) continue;
        for (int c = 0; c < N; c++)
            for (int j = 0; j < w; j++) p[j] = fmadd(X[(w + 1) * c + j], g[c], p[j]);
        hand_up(m, W, work, i);
    }
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const int n = b->nv, N = n * s;
        const real *U = work->U + b->dof * s * w, *inverse = work->inverse + 3 * s * s * b->dof;
        real *d = work->twist + i * w;
        for (int c = 0; c < N; c++) g[c] = y_[(c / n) * m->nv + b->vadr + c % n];
        hand_down(m, W, work, i);
        for (int j = 0; j < w && !(b->flags & BODY_ROOT); j++)
            for (int c = 0; c < N; c++) g[c] = fnmadd(U[N * j + c], d[j], g[c]);
        for (int c = 0; c < N; c++) {
            real y = rset(0);
            for (int k = 0; k < N; k++) y = fmadd(inverse[N * k + c], g[k], y);
            y_[(c / n) * m->nv + b->vadr + c % n] = y;
            move_along(b, W, i, c, y, d);
        }
    }
}

#endif
