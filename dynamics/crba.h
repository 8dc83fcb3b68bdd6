/// Joint-space inertia by the composite-rigid-body algorithm. [Featherstone 2008, ch. 6]
///
/// Composites are summed in body axes, where turning an inertia back about z is cheap and their mass is a constant of the
/// model; the columns F = I_c S are then carried towards the root in world axes, where every step is one cross product.
#ifndef CATENA_CRBA_H
#define CATENA_CRBA_H

typedef struct {
    vec3 h;  // first moment
    sym3 I;  // rotational inertia about the body's origin; body axes
} composite;

typedef struct {
    mat3 R;      // world axes
    vec3 r;      // from the parent's origin to this one, world axes
    real s, c;   // of the joint's angle
} crba_body;

/// Scratch of one lane block. [nbody] each
typedef struct {
    crba_body *body;
    composite *sum;  // what children hand to forks
    mat3 *R;         // of balls: body axes in the joint frame
} crba_work;

/// S about z: R S R' for the turn (s, c).
FN sym3 sym_about_z(sym3 S, real s, real c)
{
    const real half = (S.xx - S.yy) * rset(0.5), mean = (S.xx + S.yy) * rset(0.5);
    const real c2 = fnmadd(s, s, c * c), s2 = rset(2) * s * c;
    const real d = fnmadd(S.xy, s2, half * c2);
    sym3 T;
    T.xx = mean + d, T.yy = mean - d;
    T.xy = fmadd(S.xy, c2, half * s2);
    T.xz = fnmadd(S.yz, s, S.xz * c), T.yz = fmadd(S.xz, s, S.yz * c);
    T.zz = S.zz;
    return T;
}

/// S about x by the constant turn of the joint frame.
FN sym3 sym_about_x(const ctn_body *b, sym3 S)
{
    const real c = rset(b->ca), s = rset(b->sa);
    const real half = (S.yy - S.zz) * rset(0.5), mean = (S.yy + S.zz) * rset(0.5);
    const real c2 = rset(b->ca * b->ca - b->sa * b->sa), s2 = rset(2 * b->sa * b->ca);
    const real d = fnmadd(S.yz, s2, half * c2);
    sym3 T;
    T.yy = mean + d, T.zz = mean - d;
    T.yz = fmadd(S.yz, c2, half * s2);
    T.xy = fnmadd(S.xz, s, S.xy * c), T.xz = fmadd(S.xy, s, S.xz * c);
    T.xx = S.xx;
    return T;
}

/// The composite of mass m about an origin from which it stands off by r: h' = h + m r,
/// I' = I + 2 (r.g) 1 - (r g' + g r') with g = h + m r / 2.
FN composite composite_shift(composite a, vec3 r, real m)
{
    const vec3 g = add_scaled(a.h, r, rset(0.5) * m);
    composite c;
    c.h = add_scaled(a.h, r, m);
    const real x = rset(2) * r.x * g.x, y = rset(2) * r.y * g.y, z = rset(2) * r.z * g.z;
    c.I.xx = a.I.xx + (y + z), c.I.yy = a.I.yy + (x + z), c.I.zz = a.I.zz + (x + y);
    c.I.xy = fnmadd(r.y, g.x, fnmadd(r.x, g.y, a.I.xy));
    c.I.xz = fnmadd(r.z, g.x, fnmadd(r.x, g.z, a.I.xz));
    c.I.yz = fnmadd(r.z, g.y, fnmadd(r.y, g.z, a.I.yz));
    return c;
}

FN composite composite_add(composite a, composite b)
{
    a.h = add(a.h, b.h);
    a.I = sym_add(a.I, b.I);
    return a;
}

KERNEL void crba_outward(const ctn_model *m, const real *q, crba_work *work)
{
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        crba_body *s = &work->body[i];
        const mat3 parent = b->flags & BODY_ROOT ? s->R : work->body[b->parent].R;
        const mat3 P = joint_frame(b, parent);
        switch (b->kind) {
        case JOINT_REVOLUTE:
        case JOINT_HELICAL:
            joint_sincos(b, q[b->qadr], &s->s, &s->c);
            s->R = turn_about_z(P, s->s, s->c);
            break;
        case JOINT_BALL:
            work->R[i] = quat_rotation(quat_load(q + b->qadr));
            s->R = mmul(P, work->R[i]);
            break;
        default: s->R = P;
        }
        s->r = body_offset(b, parent, s->R.z, q);
    }
}

/// The composite of a body, moved into the parent's axes and origin.
FN composite composite_outof(const ctn_body *b, composite a, const real *q, real s, real c, const mat3 *R)
{
    const real mass = rset(b->subtree_mass);
    if (b->kind == JOINT_PRISMATIC || b->kind == JOINT_HELICAL) {
        const real k = rset(b->kind == JOINT_HELICAL ? b->pitch : 1.0);
        a = composite_shift(a, vec(rset(0), rset(0), k * q[b->qadr]), mass);
    }
    if (b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL) {
        a.I = sym_about_z(a.I, s, c);
        a.h = vec(fnmadd(a.h.y, s, a.h.x * c), fmadd(a.h.x, s, a.h.y * c), a.h.z);
    } else if (b->kind == JOINT_BALL) {
        a.I = turn(*R, a.I);
        a.h = mul(*R, a.h);
    }
    if (b->flags & BODY_ABOUT_X)
        a.I = sym_about_x(b, a.I);
    else
        a.I = turn(const33(b->C), a.I);
    a.h = out_of_joint(b, a.h);
    if (b->flags & BODY_OFFSET) a = composite_shift(a, const3(b->r0), mass);
    return a;
}

/// Column k of I_c S in world axes.
FN wrench composite_column(const ctn_body *b, composite a, mat3 R, int k)
{
    const real o = rset(0), mass = rset(b->subtree_mass);
    const vec3 h = a.h;
    wrench w;
    if (b->kind == JOINT_TRANSLATION) {
        w.f = vec(k == 0 ? mass : o, k == 1 ? mass : o, k == 2 ? mass : o);
        w.n = k == 0 ? vec(o, h.z, negate(h.y)) : k == 1 ? vec(negate(h.z), o, h.x) : vec(h.y, negate(h.x), o);
        return w;
    }
    if (b->kind == JOINT_PRISMATIC) {
        w.f = scale(R.z, mass);
        w.n = add_scaled(scale(R.x, h.y), R.y, negate(h.x));
        return w;
    }
    const int axis = b->kind == JOINT_BALL ? k : 2;
    const vec3 n = axis == 0 ? vec(a.I.xx, a.I.xy, a.I.xz) : axis == 1 ? vec(a.I.xy, a.I.yy, a.I.yz) : vec(a.I.xz, a.I.yz, a.I.zz);
    if (axis == 0)
        w.f = sub_scaled(scale(R.z, h.y), R.y, h.z);  // R (e_k x h)
    else if (axis == 1)
        w.f = sub_scaled(scale(R.x, h.z), R.z, h.x);
    else
        w.f = sub_scaled(scale(R.y, h.x), R.x, h.y);
    w.n = mul(R, n);
    if (b->kind == JOINT_HELICAL) {
        const vec3 s = scale(R.z, rset(b->pitch));
        w.f = add_scaled(w.f, s, mass);
        w.n = add_scaled(w.n, R.x, rset(b->pitch) * h.y);
        w.n = sub_scaled(w.n, R.y, rset(b->pitch) * h.x);
    }
    return w;
}

/// Component k of S'w.
FN real joint_component(const ctn_body *b, mat3 R, wrench w, int k)
{
    switch (b->kind) {
    case JOINT_BALL: return dot(k == 0 ? R.x : k == 1 ? R.y : R.z, w.n);
    case JOINT_TRANSLATION: return k == 0 ? w.f.x : k == 1 ? w.f.y : w.f.z;
    default: return joint_row(b, b->kind, R.z, w);
    }
}

/// Writes x into entries (i, j) and (j, i) of the matrices of the first `count` lanes.
FN void write_both(double *const *H, int count, size_t n, int i, int j, real x)
{
    double lane[LANES] __attribute__((aligned(64)));
    lane_store(lane, x);
    for (int l = 0; l < count; l++) H[l][(size_t)i * n + (size_t)j] = H[l][(size_t)j * n + (size_t)i] = lane[l];
}

/// H[lane] [nv][nv], both triangles, of the first `count` lanes. Entries between bodies that do not hang on each other are not
/// written: the caller clears them.
KERNEL void crba(const ctn_model *m, const real *q, crba_work *work, double *const *H, int count)
{
    const size_t n = (size_t)m->nv;
    crba_outward(m, q, work);
    composite c;  // from the subtree of the next body
    c.h = zero3();
    c.I.xx = c.I.yy = c.I.zz = c.I.xy = c.I.xz = c.I.yz = rset(0);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *b = &m->bodies[i];
        const crba_body *s = &work->body[i];
        composite a;
        a.h = const3(b->h);
        a.I = const_sym(b->I);
        if (!(b->flags & BODY_LEAF)) {
            a = composite_add(a, c);
            if (b->flags & BODY_FORK) a = composite_add(a, work->sum[i]);
        }
        for (int k = 0; k < b->nv; k++) {
            wrench w = composite_column(b, a, s->R, k);
            for (int l = 0; l <= k; l++) {
                real x = joint_component(b, s->R, w, l);
                if (l == k) x = x + rset(b->armature);
                write_both(H, count, n, b->vadr + k, b->vadr + l, x);
            }
            const ctn_body *d = b;
            const crba_body *t = s;
            while (!(d->flags & BODY_ROOT)) {
                if (has_arm(d)) w = wrench_shift(w, t->r);
                t = &work->body[d->parent];
                d = &m->bodies[d->parent];
                for (int l = 0; l < d->nv; l++)
                    write_both(H, count, n, b->vadr + k, d->vadr + l, joint_component(d, t->R, w, l));
            }
        }
        if (b->flags & BODY_ROOT) continue;
        a = composite_outof(b, a, q, s->s, s->c, &work->R[i]);
        if (b->flags & BODY_NEXT)
            c = a;
        else if (b->flags & BODY_LAST)
            work->sum[b->parent] = a;
        else
            work->sum[b->parent] = composite_add(work->sum[b->parent], a);
    }
}

#endif
