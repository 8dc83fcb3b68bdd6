/// The residual of a position-based step of order 2, its energy and its Newton matrix. (docs/theory.md, "Position-based steps")
///
/// With T = [R p] the pose of a body, V its Euclidean velocity (the rate of R and p that the method carries), h the step,
/// M the pseudo-inertia (second moment S, first moment c, mass m; body axes), the step minimises over q
///
///     E(q) = sum_bodies tr(a M a') / (2 h^2) - m g.com + joint terms,    a = T(q) - T_k - h V.
///
/// Writing Y = R_k + h V_R and tr(R S R') = tr S, the rotational part is -tr(R Z') with Z = Y S / h^2 constant through the
/// step. With e = p - p_k - h V_p, y = e / h^2 - g, and c turned into world axes, the link gradient needs only
///
///     K = R Z' - c y',   n = antisym(-K),   f = m y + c / h^2 - Y c / h^2        (wrench about the body's origin)
///     E = -tr K + e.(m e / (2 h^2) - Y c / h^2) - m g.(p - p_k)                 (up to a constant)
///
/// and the exact Newton block, inertia and curvature together, is [tr K - sym K, [b]x; ., m / h^2] with b = c / h^2 - f / 2:
/// the world inertia R S R' cancels between the two (Gauss-Newton alone would need it). The cross term of the sweep is
/// N = S x* w / 2. p only enters through differences, so that far worlds and small steps lose nothing.
#ifndef CATENA_COLLOCATION_H
#define CATENA_COLLOCATION_H

/// What a body keeps through a step.
typedef struct {
    mat3 R;   // R_k
    vec3 r;   // r_k: from the parent's origin, world axes
    mat3 Zt;  // Z'
    vec3 G;   // Y c / h^2
    vec3 e;   // h V_p
} step_body;

/// A body at the present iterate.
typedef struct {
    mat3 R;
    vec3 r, dp;  // from the parent's origin; p - p_k
    sym3 A;      // tr K - sym K
    vec3 b;
    wrench w;    // of the body, then of its subtree
} iterate_body;

/// The Euclidean velocity of a body.
typedef struct {
    mat3 R;
    vec3 p;
} rate_pose;

/// Everything one solve of a lane block works on. Arrays [nbody] unless noted.
typedef struct {
    terms_input in;       // q, rate, tau, the iterate x, u; step size
    const rate_pose *V;   // carried
    step_body *start;
    iterate_body *body;
    terms3 *terms;        // of joints that have any; one degree of freedom: g.x, k.xx
    real *r;              // [nv] residual of the joint rows
    real E;               // energy of the iterate, up to a constant
    mask too_far;         // a ball's increment is ambiguous
} solve;

FN void set_step_size(solve *W, real h)
{
    W->in.h = h;
    W->in.inv_h = rset(1) / h;
    W->in.k2 = W->in.inv_h * W->in.inv_h;
}

/// Constants of a step from the poses R_k, r_k (already in `start`), V and the step size.
KERNEL void start_step(const ctn_model *m, solve *W)
{
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        step_body *s = &W->start[i];
        const rate_pose *V = &W->V[i];
        const sym3 S = const_sym(b->S);
        const vec3 c = const3(b->h);
        const real h = W->in.h, k2 = W->in.k2;
        mat3 Y;
        Y.x = scale(add_scaled(s->R.x, V->R.x, h), k2);
        Y.y = scale(add_scaled(s->R.y, V->R.y, h), k2);
        Y.z = scale(add_scaled(s->R.z, V->R.z, h), k2);
        s->G = mul(Y, c);
        const mat3 Yt = transposed(Y);
        s->Zt.x = smul(S, Yt.x), s->Zt.y = smul(S, Yt.y), s->Zt.z = smul(S, Yt.z);
        s->e = scale(V->p, h);
    }
}

/// Poses, energy and own wrench and blocks of every body at the iterate x.
KERNEL void evaluate(const ctn_model *m, solve *W)
{
    const real *x = W->in.x, k2 = W->in.k2;
    const vec3 g = const3(m->gravity);
    W->E = rset(0);
    W->too_far = none_of();
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const step_body *s = &W->start[i];
        iterate_body *t = &W->body[i];
        const bool root_body = b->flags & BODY_ROOT;
        const mat3 parent = root_body ? t->R : W->body[b->parent].R;
        const mat3 R = body_axes(b, parent, x);
        t->R = R;
        if (b->kind == JOINT_TRANSLATION)
            t->dp = vec(W->in.u[b->vadr], W->in.u[b->vadr + 1], W->in.u[b->vadr + 2]);
        else {
            const vec3 dp = root_body ? zero3() : W->body[b->parent].dp;
            if (has_arm(b)) {
                t->r = body_offset(b, parent, R.z, x);
                t->dp = add(dp, sub(t->r, s->r));
            } else
                t->dp = dp;
        }
        if (!(b->flags & BODY_MASS)) continue;
        const real mass = rset(b->mass);
        const vec3 c = mul(R, const3(b->h)), e = sub(t->dp, s->e);
        const vec3 y = vec(fmadd(k2, e.x, negate(g.x)), fmadd(k2, e.y, negate(g.y)), fmadd(k2, e.z, negate(g.z)));
        mat3 K;
        K.x = sub_scaled(mul(R, s->Zt.x), c, y.x);
        K.y = sub_scaled(mul(R, s->Zt.y), c, y.y);
        K.z = sub_scaled(mul(R, s->Zt.z), c, y.z);
        t->w.n = vec(K.y.z - K.z.y, K.z.x - K.x.z, K.x.y - K.y.x);
        const vec3 ck = scale(c, k2);
        t->w.f = add_scaled(sub(ck, s->G), y, mass);
        t->b = sub_scaled(ck, t->w.f, rset(0.5));
        const real half = rset(-0.5);
        t->A.xx = K.y.y + K.z.z, t->A.yy = K.x.x + K.z.z, t->A.zz = K.x.x + K.y.y;
        t->A.xy = half * (K.y.x + K.x.y), t->A.xz = half * (K.z.x + K.x.z), t->A.yz = half * (K.z.y + K.y.z);
        const vec3 v = sub(scale(e, rset(0.5 * b->mass) * k2), s->G);
        W->E = W->E - (K.x.x + t->A.xx);
        W->E = dot_add(W->E, e, v);
        W->E = fnmadd(mass, dot(g, t->dp), W->E);
    }
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        if (!has_terms(b, W->in.tau)) continue;
        if (b->nv == 1) {
            const terms1 t = joint_terms1(b, &W->in);
            W->terms[i].g.x = t.g, W->terms[i].k.xx = t.k;
            W->E = W->E + t.E;
        } else {
            const terms3 t = W->terms[i] = joint_terms3(b, &W->in);
            W->E = W->E + t.E;
            W->too_far = either(W->too_far, t.too_far);
        }
    }
}

/// Sums the wrenches towards the root and forms the residual r [nv] (balls: body axes, the gradient by turns). Returns the
/// largest row over its scale of force, max(m g, m L / h^2) of its subtree, times L for rotations.
KERNEL real residual(const ctn_model *m, solve *W)
{
    real most = rset(0);
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) W->body[i].w = wrench_zero();
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *b = &m->bodies[i];
        iterate_body *t = &W->body[i];
        real *r = W->r + b->vadr;
        const real g = rset(b->force_scale[0]), a = rset(b->force_scale[1]) * W->in.k2;
        const real per_scale = rset(1) / sel(gt(a, g), a, g);
        if (b->nv == 1) {
            r[0] = joint_row(b, b->kind, t->R.z, t->w);
            if (has_terms(b, W->in.tau)) r[0] = r[0] + W->terms[i].g.x;
        } else {
            vec3 row = b->kind == JOINT_BALL ? tmul(t->R, t->w.n) : t->w.f;
            if (has_terms(b, W->in.tau)) row = add(row, W->terms[i].g);
            r[0] = row.x, r[1] = row.y, r[2] = row.z;
        }
        for (int k = 0; k < b->nv; k++) {
            const real s = magnitude(r[k]) * per_scale;
            most = sel(le(s, most), most, s);  // a NaN stays
        }
        if (b->flags & BODY_ROOT) continue;
        wrench *p = &W->body[b->parent].w;
        *p = wrench_add(*p, has_arm(b) ? wrench_shift(t->w, t->r) : t->w);
    }
    return most;
}

#endif
