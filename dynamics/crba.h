/// Joint-space inertia by the composite-rigid-body algorithm, in world axes. [Featherstone 2008, ch. 6]
///
/// Outwards: axes and offsets. Inwards: the composite of each subtree about its body's origin, and for every degree of freedom
/// the wrench F = I_c S. The wrenches of a whole subtree are carried to the parent's origin in one loop over arrays, where their
/// products with the parent's S are a row of H: no dependence from one to the next, and no walks along the tree.
#ifndef CATENA_CRBA_H
#define CATENA_CRBA_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"

typedef struct {
    vec3 h;  // first moment about the body's origin
    sym3 I;  // rotational inertia about it
} composite;

typedef struct {
    mat3 R;  // world axes
    vec3 r;  // from the parent's origin to this one
} crba_body;

/// Scratch of one lane block. Degrees of freedom in the order of the bodies.
typedef struct {
    crba_body *body;    // [nbody]
    composite *sum;     // [nbody] what children hand to forks
    real *n[3], *f[3];  // [nv] each: F by components, about the origin of the body at hand
    real *row;          // [nv] of H
    real *sorted;       // [nv] the same in the order of v
} crba_work;

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

FN void crba_outward_body(const lane_body *b, joint_form f, int i, const real *q, crba_body *body)
{
    const mat3 parent = f.flags & BODY_ROOT ? body[i].R : f.flags & BODY_NEXT ? body[i - 1].R : body[b->parent].R;
    const mat3 R = body[i].R = body_axes(b, f, parent, q);
    if (has_arm(f)) body[i].r = body_offset(b, f, parent, R.z, q);
}

KERNEL void crba_outward(const lane_model *m, const real *q, crba_body *body)
{
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, crba_outward_body(b, f, i, q, body))
    }
}

/// Column k of I_c S.
FN wrench composite_column(const lane_model *m, const lane_body *b, joint_form f, composite a, mat3 R, int k)
{
    wrench w;
    if (f.kind == JOINT_REVOLUTE) {
        w.f = cross(R.z, a.h), w.n = smul(a.I, R.z);
        return w;
    }
    const twist S = joint_subspace(b, f.kind, R, k);
    const vec3 s = S.w, l = S.v;
    w.f = cross_add(scale(l, subtree_of(m, b)->subtree_mass), s, a.h);
    w.n = cross_add(smul(a.I, s), a.h, l);
    return w;
}

/// Columns do not depend on each other: in the scalar lane a compiler may take several at once.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define EACH_COLUMN _Pragma("GCC ivdep")
#else
#define EACH_COLUMN
#endif

/// Carries columns from .. to - 1 over the offset r, and writes their components along the axis z, S = (z, 0), into row.
FN void carry_columns(const crba_work *work, int from, int to, vec3 r, vec3 z)
{
    real *nx = work->n[0], *ny = work->n[1], *nz = work->n[2], *row = work->row;
    const real *fx = work->f[0], *fy = work->f[1], *fz = work->f[2];
    EACH_COLUMN
    for (int k = from; k < to; k++) {
        const vec3 n = cross_add(vec(nx[k], ny[k], nz[k]), r, vec(fx[k], fy[k], fz[k]));
        nx[k] = n.x, ny[k] = n.y, nz[k] = n.z;
        row[k] = dot(z, n);
    }
}

/// Components of columns from .. to - 1 along component k of S, into row.
FN void meet_columns(const crba_work *work, const lane_body *b, joint_form f, mat3 R, int k, int from, int to)
{
    const real *nx = work->n[0], *ny = work->n[1], *nz = work->n[2], *fx = work->f[0], *fy = work->f[1], *fz = work->f[2];
    real *row = work->row;
    const twist S = joint_subspace(b, f.kind, R, k);
    const vec3 s = S.w, l = S.v;
    if (f.kind == JOINT_TRANSLATION)
        for (int c = from; c < to; c++) row[c] = work->f[k][c];
    else if (f.kind == JOINT_PRISMATIC) {
        EACH_COLUMN
        for (int c = from; c < to; c++) row[c] = dot(l, vec(fx[c], fy[c], fz[c]));
    } else {
        EACH_COLUMN
        for (int c = from; c < to; c++) row[c] = dot(s, vec(nx[c], ny[c], nz[c]));
    }
    if (f.kind != JOINT_HELICAL) return;
    EACH_COLUMN
    for (int c = from; c < to; c++) row[c] = dot_add(row[c], l, vec(fx[c], fy[c], fz[c]));
}

/// The degree of freedom after the last one of b's subtree, in the order of the bodies.
FN int subtree_end(const lane_model *m, const lane_body *b) { return b->end < m->nbody ? m->bodies[b->end].dof : m->nv; }

/// Row `dof` (counted as the bodies stand) from the diagonal on, into the matrices of the first `count` lanes.
KERNEL void crba_store(const lane_model *m, const crba_work *work, int dof, int end, double *const *H, int count)
{
    const int n = m->nv, j = m->dof_adr[dof];
    real *row = work->row;
    if (!m->in_order) {
        row = work->sorted;
        for (int k = dof; k < end; k++) row[m->dof_adr[k]] = work->row[k];
    }
    // whole blocks of four where there are as many: what falls below the diagonal is written over by crba_mirror
    const int at = n < 4 || j < n - 4 ? j : n - 4;
    double *to[LANES];
    for (int k = 0; k < LANES; k++) to[k] = H[k] + (size_t)j * (size_t)n + at;
    lane_scatter(to, count, row + at, n - at);
}

/// Rows of body i. a: the composite of its subtree.
FN void crba_rows(const lane_model *m, const lane_body *b, joint_form f, int i, crba_work *work, composite a, double *const *H,
                  int count)
{
    const mat3 R = work->body[i].R;
    const int first = b->dof, end = subtree_end(m, b);
    for (int c = i + 1; c < b->end; c = m->bodies[c].end) {  // children
        const lane_body *d = &m->bodies[c];
        if (has_arm(form_of(d))) carry_columns(work, d->dof, subtree_end(m, d), work->body[c].r, R.z);
        else if (f.kind == JOINT_REVOLUTE) meet_columns(work, b, f, R, 0, d->dof, subtree_end(m, d));
    }
    for (int k = 0; k < b->nv; k++) {
        const wrench w = composite_column(m, b, f, a, R, k);
        work->n[0][first + k] = w.n.x, work->n[1][first + k] = w.n.y, work->n[2][first + k] = w.n.z;
        work->f[0][first + k] = w.f.x, work->f[1][first + k] = w.f.y, work->f[2][first + k] = w.f.z;
        if (f.kind == JOINT_REVOLUTE) work->row[first] = dot(R.z, w.n);
    }
    for (int k = 0; k < b->nv; k++) {
        if (f.kind != JOINT_REVOLUTE) meet_columns(work, b, f, R, k, first + k, end);
        work->row[first + k] = work->row[first + k] + given(b)->armature;
        crba_store(m, work, first + k, end, H, count);
    }
}

/// One body of the pass inwards. next: the composite that the body after it hands on, then its own.
FN void crba_inward_body(const lane_model *m, const lane_body *b, joint_form f, int i, crba_work *work, composite *next,
                         double *const *H, int count)
{
    const crba_body *s = &work->body[i];
    composite a = *next;
    if (f.flags & BODY_LEAF) {
        a.h = mul(s->R, load3(given(b)->h)), a.I = turn(s->R, load_sym(given(b)->I));
        // what the body before it carries has nothing to do with the one after it
        real *row = m->in_order ? work->row : work->sorted;
        for (int k = m->in_order ? b->dof : 0; k < m->nv; k++) row[k] = rset(0);
    } else {
        if (f.flags & BODY_FORK) a = composite_add(a, work->sum[i]);
        if (f.flags & BODY_MASS) {
            a.h = add(a.h, mul(s->R, load3(given(b)->h)));
            a.I = sym_add(a.I, turn(s->R, load_sym(given(b)->I)));
        }
    }
    crba_rows(m, b, f, i, work, a, H, count);
    if (f.flags & BODY_ROOT) return;
    if (has_arm(f)) a = composite_shift(a, s->r, subtree_of(m, b)->subtree_mass);
    if (f.flags & BODY_NEXT) *next = a;
    else if (f.flags & BODY_LAST) work->sum[b->parent] = a;
    else work->sum[b->parent] = composite_add(work->sum[b->parent], a);
}

/// What stands above the diagonal of H [n][n], also below it. Blocks of 4 x 4; the last ones overlap those before.
FN void crba_mirror(double *H, size_t n)
{
    if (n < 4) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) H[i * n + j] = H[j * n + i];
        return;
    }
    const size_t rest = n / 4 * 4;  // the first row that no whole block has
    for (size_t j = 0; j < n; j += 4) {
        const size_t diagonal = j < rest ? j : n - 4;
        lane_symmetric4(H + diagonal * n + diagonal, n);
        for (size_t i = j + 4; i < rest; i += 4) lane_mirror4(H + i * n + j, H + j * n + i, n);
        if (j < rest && j + 7 <= n) lane_mirror4(H + (n - 4) * n + j, H + j * n + n - 4, n);
        else if (j < rest)
            for (size_t i = rest; i < n; i++)
                for (size_t k = j; k < j + 4; k++) H[i * n + k] = H[k * n + i];
    }
}

/// H[lane] [nv][nv], symmetric, of the first `count` lanes.
KERNEL void crba(const lane_model *m, const real *q, crba_work *work, double *const *H, int count)
{
    crba_outward(m, q, work->body);
    composite next;
    next.h = zero3();
    next.I.xx = next.I.yy = next.I.zz = next.I.xy = next.I.xz = next.I.yz = rset(0);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const lane_body *b = &m->bodies[i];
        BY_FORM(b, f, crba_inward_body(m, b, f, i, work, &next, H, count))
    }
    for (int l = 0; l < count; l++) crba_mirror(H[l], (size_t)m->nv);
}

#endif
