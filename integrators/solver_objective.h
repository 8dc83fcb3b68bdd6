/// What the solvers lm and lbfgs minimise, the same for the step of order 2 and for steps with several stages: its iterate, its
/// value, its gradient.
///
///     order 2, lbfgs     f = E, the energy of the step (collocation.h), gradient r
///     all others         f = r'M r / 2, gradient J'M r,  M = h^2 H^-1 for every stage
///
/// [Pan and Manocha 2018, equations 5 and 7, where M = 1]. H is the inertia matrix at the start of the step, applied by the
/// articulated-body algorithm in O(N): f is the kinetic energy of the motion that the residual makes in h. As J is about H/h^2, f
/// is about as well conditioned as E; |r|^2 squares the condition of H, and then neither solver converges on chains of more than
/// a few links.
///
/// lm and lbfgs are here to be compared with, as the papers have them. A new kind of force need not pass through them: a
/// configuration that joins both is to be refused (sim/base/config.c).
#ifndef CATENA_SOLVER_OBJECTIVE_H
#define CATENA_SOLVER_OBJECTIVE_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/aba.h"
#include "integrators/collocation.h"
#include "integrators/position_step.h"
#include "integrators/stage_residual.h"
#include "integrators/stage_step.h"
#include "integrators/jacobian_product.h"

/// Scratch of one lane block.
typedef struct {
    product_work product;
    real *weighted;  // [n] M r
} objective_work;

typedef struct {
    position_work *one;
    stage_work *more;  // NULL: the step of order 2
    product_work *product;
    aba_work *aba;
    real *weighted;               // [n] M r at the iterate, unless f = E
    bool energy;                  // f = E
    int n, nx;                    // stages nv, stages nq
    real *x, *u, *base, *base_u;  // [nx], [n]: the iterate, and where the step starts that leads to it
    real *d;                      // [n] that step
    const real *r;                // [n] rows at the iterate
} objective;

/// The value at an iterate.
typedef struct {
    real f, most;  // most: the largest row over its scale of force
    mask too_far;  // an increment is ambiguous (joint_terms.h)
} objective_value;

/// more: NULL for the step of order 2.
FN objective objective_of(const lane_model *m, position_work *one, stage_work *more, objective_work *work, aba_work *aba,
                          bool energy)
{
    objective F;
    const int s = more ? more->W.table->stages : 1;
    F.one = one, F.more = more, F.product = &work->product, F.weighted = work->weighted, F.aba = aba;
    F.energy = energy && !more && !m->skew;  // couples have no potential
    F.n = s * m->nv, F.nx = s * m->nq;
    if (more) F.x = more->x, F.u = more->u, F.base = more->base, F.base_u = more->base_u, F.d = more->d, F.r = more->W.r;
    else F.x = one->x, F.u = one->u, F.base = one->base, F.base_u = one->base_u, F.d = one->d, F.r = one->W.r;
    return F;
}

/// v [nv] = H^-1 force, at the start of the step. (aba.h)
KERNEL void inverse_inertia_times(const lane_model *m, const objective *F, const real *force, real *v)
{
    const solve *W = &F->one->W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        aba_rigid *s = &F->aba->body[i].rigid;
        const mat3 R = F->aba->motion[i].R = W->start[i].R, parent = b->flags & BODY_ROOT ? R : W->start[b->parent].R;
        s->z = R.z;
        s->r = body_offset(b, form_of(b), parent, R.z, W->in.q);
        s->h = mul(R, load3(given(b)->h));
        s->A = turn(R, load_sym(given(b)->I));
        s->w = wrench_zero();
    }
    aba_inward(m, force, F->aba);
    aba_accelerate(m, F->aba, v);
}

/// out = M r, stage by stage. r, out [n]
KERNEL void metric_times(const lane_model *m, const objective *F, const real *r, real *out)
{
    const real h = F->one->W.in.h;
    for (int a = 0; a < F->n; a += m->nv) inverse_inertia_times(m, F, r + a, out + a);
    for (int k = 0; k < F->n; k++) out[k] = h * h * out[k];
}

FN real dot_rows(int n, const real *a, const real *b)
{
    real sum = rset(0);
    for (int k = 0; k < n; k++) sum = fmadd(a[k], b[k], sum);
    return sum;
}

/// Value and rows at the iterate.
KERNEL objective_value objective_at(const lane_model *m, const objective *F)
{
    objective_value v;
    if (F->more) {
        evaluate_stages(m, &F->more->W);
        v.most = stage_rows(m, &F->more->W, &v.f);
        v.too_far = F->more->W.too_far;
    } else {
        evaluate(m, &F->one->W);
        v.most = residual(m, &F->one->W);
        v.too_far = F->one->W.too_far;
        v.f = F->one->W.E;
    }
    if (F->energy) return v;
    metric_times(m, F, F->r, F->weighted);
    v.f = rset(0.5) * dot_rows(F->n, F->r, F->weighted);
    return v;
}

/// out = J y or J'y at the iterate. y, out [n]
KERNEL void objective_product(const lane_model *m, const objective *F, bool transposed, const real *y, real *out)
{
    if (F->more) stage_product(m, &F->more->W, transposed, y, F->product, out);
    else step_product(m, &F->one->W, transposed, y, F->product, out);
}

/// Gradient g [n] at the iterate, after objective_at(): J_turn' M r, with the derivative J + [r]x / 2 of a ball's rows by its own
/// turns.
KERNEL void objective_gradient(const lane_model *m, const objective *F, real *g)
{
    if (F->energy) {
        for (int k = 0; k < F->n; k++) g[k] = F->r[k];
        return;
    }
    objective_product(m, F, true, F->weighted, g);
    for (int i = 0; i < m->nbody; i++) {
        if (m->bodies[i].kind != JOINT_BALL) continue;
        for (int k = m->bodies[i].vadr; k < F->n; k += m->nv) {
            const real *r = F->r + k, *z = F->weighted + k;
            const vec3 t = cross(vec(r[0], r[1], r[2]), vec(z[0], z[1], z[2]));
            g[k] = fnmadd(rset(0.5), t.x, g[k]), g[k + 1] = fnmadd(rset(0.5), t.y, g[k + 1]);
            g[k + 2] = fnmadd(rset(0.5), t.z, g[k + 2]);
        }
    }
}

/// x = base (+) alpha d in the lanes `where`.
KERNEL void objective_move(const lane_model *m, const objective *F, real alpha, mask where)
{
    if (F->more) move_stages(m, F->more, alpha, where);
    else move_iterate(m, F->one, alpha, where);
}

/// base = x in the lanes `where`.
FN void objective_rebase(const objective *F, mask where)
{
    for (int k = 0; k < F->nx; k++) F->base[k] = sel(where, F->x[k], F->base[k]);
    for (int k = 0; k < F->n; k++) F->base_u[k] = sel(where, F->u[k], F->base_u[k]);
}

#endif
