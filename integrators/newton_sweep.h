/// The exact Newton step of a position-based method in O(N): one articulated-body sweep with a cross term.
/// (docs/theory.md, "The sweep")
///
///     inwards    U = P S + N,  D = S'U + joint terms,  P' = P - U D^-1 U',  p' = p - U D^-1 (S'p + r)
///     outwards   dq = -D^-1 (U' d_parent + S'p + r),  d = d_parent + S dq
///
/// N = theta/2 S x* w couples a joint to its parent's twist: the geometric stiffness of the wrench w that its subtree carries.
/// All pivots D positive certify a descent direction. theta in [0, 1] scales the curvature: 1 is Newton, 0 Gauss-Newton.
#ifndef CATENA_NEWTON_SWEEP_H
#define CATENA_NEWTON_SWEEP_H

/// What the sweep inwards leaves for the sweep outwards.
typedef struct {
    vec3 Ua, Ul;
    real i, u;  // 1/D, S'p + r
} sweep_joint1;

typedef struct {
    vec3 u;  // D^-1 (S'p + r), world axes
    gain3 G;
} sweep_joint3;

typedef union {
    sweep_joint1 one;
    sweep_joint3 three;
} sweep_body;

typedef struct {
    inertia6 P;
    wrench p;
} sweep_hand;

typedef struct {
    vec3 w, v;
} sweep_twist;

/// Scratch of one lane block, arrays [nbody].
typedef struct {
    sweep_body *body;
    sweep_hand *hand;    // sums at forks
    sweep_twist *twist;  // written for forks
} sweep_work;

/// The block of one body, its curvature scaled by theta: theta (block) + (1 - theta) (inertia).
FN void scale_curvature(const ctn_body *b, const solve *W, const iterate_body *t, real theta, sym3 *A, vec3 *h)
{
    const real k2 = W->in.k2, o = rset(1) - theta, k = o * k2;
    const sym3 I = turn(t->R, const_sym(b->I));
    A->xx = fmadd(k, I.xx, theta * A->xx), A->yy = fmadd(k, I.yy, theta * A->yy), A->zz = fmadd(k, I.zz, theta * A->zz);
    A->xy = fmadd(k, I.xy, theta * A->xy), A->xz = fmadd(k, I.xz, theta * A->xz), A->yz = fmadd(k, I.yz, theta * A->yz);
    *h = add_scaled(scale(*h, theta), mul(t->R, const3(b->h)), k);
}

/// Adds theta/2 S x* w, (s, v) x* (n, f) = (s x n + v x f, s x f), to the column U of a joint of one degree of freedom.
FN void add_cross_term(const ctn_body *b, vec3 z, wrench w, real half_theta, vec3 *Ua, vec3 *Ul)
{
    const vec3 s = scale(z, half_theta);
    switch (b->kind) {
    case JOINT_PRISMATIC: *Ua = cross_add(*Ua, s, w.f); break;
    case JOINT_HELICAL:
        *Ua = cross_add(cross_add(*Ua, s, w.n), scale(s, rset(b->pitch)), w.f);
        *Ul = cross_add(*Ul, s, w.f);
        break;
    default: *Ua = cross_add(*Ua, s, w.n), *Ul = cross_add(*Ul, s, w.f);
    }
}

/// The sweep inwards at the iterate of W (after residual()). Returns where every pivot is positive; elsewhere the numbers mean
/// nothing. theta: by lane.
KERNEL mask sweep_inward(const ctn_model *m, const solve *W, sweep_work *work, real theta)
{
    const bool blend = !all_of(le(rset(1), theta));
    const real half_theta = rset(0.5) * theta;
    mask good = le(rset(0), rset(0));
    sweep_hand c;
    c.P = inertia_zero(), c.p = wrench_zero();
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *b = &m->bodies[i];
        const iterate_body *t = &W->body[i];
        sweep_body *s = &work->body[i];
        inertia6 P;
        wrench p;
        sym3 A = t->A;
        vec3 h = t->b;
        if ((b->flags & BODY_MASS) && blend) scale_curvature(b, W, t, theta, &A, &h);
        if (b->flags & BODY_LEAF) {
            P = inertia_rigid(A, h, rset(b->mass) * W->in.k2);
            p = wrench_zero();
        } else {
            P = c.P, p = c.p;
            if (b->flags & BODY_FORK) P = inertia_add(P, work->hand[i].P), p = wrench_add(p, work->hand[i].p);
            if (b->flags & BODY_MASS) P = inertia_add_rigid(P, A, h, rset(b->mass) * W->in.k2);
        }
        const real *r = W->r + b->vadr;
        if (b->nv == 1) {
            const vec3 z = t->R.z;
            vec3 Ua, Ul;
            joint_column(b, b->kind, z, &P, &Ua, &Ul);
            // S'N = 0: the pivot needs no cross term
            real D = b->kind == JOINT_PRISMATIC ? dot(z, Ul) : b->kind == JOINT_HELICAL ? fmadd(rset(b->pitch), dot(z, Ul), dot(z, Ua)) : dot(z, Ua);
            if (has_terms(b, W->in.tau)) D = D + W->terms[i].k.xx;
            const mask ok = gt(D, rset(0));
            good = both(good, ok);
            const real I = rset(1) / sel(ok, D, rset(1)), u = joint_row(b, b->kind, z, p) + r[0];
            if (!(b->flags & BODY_ROOT)) add_cross_term(b, z, t->w, half_theta, &Ua, &Ul);
            s->one.Ua = Ua, s->one.Ul = Ul, s->one.i = I, s->one.u = u;
            if (b->flags & BODY_ROOT) continue;
            const real d = I * u;
            P = inertia_eliminate(P, Ua, Ul, I);
            p.n = sub_scaled(p.n, Ua, d), p.f = sub_scaled(p.f, Ul, d);
        } else {
            const bool ball = b->kind == JOINT_BALL;
            sym3 D = ball ? P.A : P.D;
            vec3 row = vec(r[0], r[1], r[2]);
            if (has_terms(b, W->in.tau)) {
                const sym3 k = W->terms[i].k;
                D = sym_add(D, ball ? turn(t->R, k) : k);
            }
            ldl3 F = ldl_factor(D);
            good = both(good, gt(F.least, rset(0)));
            s->three.u = ldl_solve(F, ball ? add(p.n, mul(t->R, row)) : add(p.f, row));
            if (b->flags & BODY_ROOT) continue;
            mat3 Ua = sym_full(P.A), Ul = transposed(P.B);
            // columns of the cross term: e_k x n, e_k x f
            const vec3 n = scale(t->w.n, half_theta), f = scale(t->w.f, half_theta);
            Ua.x.y = Ua.x.y - n.z, Ua.x.z = Ua.x.z + n.y, Ua.y.x = Ua.y.x + n.z, Ua.y.z = Ua.y.z - n.x;
            Ua.z.x = Ua.z.x - n.y, Ua.z.y = Ua.z.y + n.x;
            Ul.x.y = Ul.x.y - f.z, Ul.x.z = Ul.x.z + f.y, Ul.y.x = Ul.y.x + f.z, Ul.y.z = Ul.y.z - f.x;
            Ul.z.x = Ul.z.x - f.y, Ul.z.y = Ul.z.y + f.x;
            s->three.G = gain_of(F, Ua, Ul);
            P = inertia_eliminate3(P, Ua, Ul, s->three.G);
            p.n = sub(p.n, mul(Ua, s->three.u)), p.f = sub(p.f, mul(Ul, s->three.u));
        }
        if (has_arm(b)) P = inertia_shift(P, t->r), p = wrench_shift(p, t->r);
        if (b->flags & BODY_NEXT)
            c.P = P, c.p = p;
        else if (b->flags & BODY_LAST)
            work->hand[b->parent].P = P, work->hand[b->parent].p = p;
        else {
            sweep_hand *a = &work->hand[b->parent];
            a->P = inertia_add(a->P, P), a->p = wrench_add(a->p, p);
        }
    }
    return good;
}

/// The sweep outwards: d [nv], the Newton step in the coordinates of v (balls: body axes).
KERNEL void sweep_outward(const ctn_model *m, const solve *W, sweep_work *work, real *d)
{
    sweep_twist T;
    T.w = T.v = zero3();
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const iterate_body *t = &W->body[i];
        const sweep_body *s = &work->body[i];
        const bool root_body = b->flags & BODY_ROOT;
        if (root_body)
            T.w = T.v = zero3();
        else if (!(b->flags & BODY_NEXT))
            T = work->twist[b->parent];
        if (!root_body && has_arm(b)) T.v = cross_add(T.v, T.w, t->r);
        if (b->nv == 1) {
            const vec3 z = t->R.z;
            real y = s->one.u;
            if (!root_body) y = dot_add(dot_add(y, s->one.Ua, T.w), s->one.Ul, T.v);
            y = negate(y * s->one.i);
            d[b->vadr] = y;
            if (b->kind != JOINT_PRISMATIC) T.w = add_scaled(T.w, z, y);
            if (b->kind == JOINT_PRISMATIC) T.v = add_scaled(T.v, z, y);
            if (b->kind == JOINT_HELICAL) T.v = add_scaled(T.v, z, rset(b->pitch) * y);
        } else {
            vec3 y = s->three.u;
            if (!root_body) y = add(y, mul_add(mul(s->three.G.Xa, T.w), s->three.G.Xl, T.v));
            const vec3 e = b->kind == JOINT_BALL ? tmul(t->R, y) : y;
            d[b->vadr] = negate(e.x), d[b->vadr + 1] = negate(e.y), d[b->vadr + 2] = negate(e.z);
            if (b->kind == JOINT_BALL)
                T.w = sub(T.w, y);
            else
                T.v = sub(T.v, y);
        }
        if (b->flags & BODY_FORK) work->twist[i] = T;
    }
}

#endif
