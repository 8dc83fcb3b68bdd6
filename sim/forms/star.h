/// Articulated bodies as affine maps (d_in, f_out) -> (d_out, f_in), and their star product: what makes the articulated-body
/// recursion a scan.
///
/// A stretch of links on one path, from a link's parent to its own last link: d_in is the acceleration of the parent, d_out of
/// the last link, f_out the wrench that it hands to what comes behind, f_in what the parent hands to the stretch. World axes,
/// each about the origin of its link.
///
///     d_out = E d_in + G f_out + g        f_in = E' f_out + P d_in + p        P = P' >= 0, G = G' <= 0
///
/// (theory 2.2: Redheffer's star product; Featherstone 1999 has the same by divide and conquer.) Accelerations are those of
/// points: that of the origin, not of the space at the origin.
#ifndef CATENA_SIM_FORMS_STAR_H
#define CATENA_SIM_FORMS_STAR_H

#include "sim/forms/algebra.h"

/// What a subtree asks of the link it hangs on: f = P d + p, with P = [A B; B' C], A and C symmetric, B by its rows.
typedef struct {
    sym33 A, C;
    v3 B[3];
    vec6 p;
} port;

FN port port_zero(void)
{
    port P;
    memset(&P, 0, sizeof P);
    return P;
}
FN void sym33_add(sym33 *a, const sym33 *b)
{
    a->xx += b->xx, a->yy += b->yy, a->zz += b->zz, a->xy += b->xy, a->xz += b->xz, a->yz += b->yz;
}
FN void port_add(port *a, const port *b)
{
    sym33_add(&a->A, &b->A), sym33_add(&a->C, &b->C);
    for (int k = 0; k < 3; k++) a->B[k] = v3_add(a->B[k], b->B[k]);
    a->p = vec6_add(a->p, b->p);
}
FN vec6 port_times(const port *P, vec6 d)
{
    const v3 n = {v3_dot(P->B[0], d.l), v3_dot(P->B[1], d.l), v3_dot(P->B[2], d.l)};
    const v3 f = v3_add(v3_add(v3_scale(P->B[0], d.w.x), v3_scale(P->B[1], d.w.y)), v3_scale(P->B[2], d.w.z));
    return (vec6){v3_add(sym33_times(&P->A, d.w), n), v3_add(f, sym33_times(&P->C, d.l))};
}
/// P - U U' s
FN void port_take_dyad(port *P, vec6 U, double s)
{
    const v3 w = v3_scale(U.w, s), l = v3_scale(U.l, s);
    P->A.xx -= w.x * U.w.x, P->A.yy -= w.y * U.w.y, P->A.zz -= w.z * U.w.z;
    P->A.xy -= w.x * U.w.y, P->A.xz -= w.x * U.w.z, P->A.yz -= w.y * U.w.z;
    P->C.xx -= l.x * U.l.x, P->C.yy -= l.y * U.l.y, P->C.zz -= l.z * U.l.z;
    P->C.xy -= l.x * U.l.y, P->C.xz -= l.x * U.l.z, P->C.yz -= l.y * U.l.z;
    P->B[0] = v3_sub(P->B[0], v3_scale(U.l, w.x));
    P->B[1] = v3_sub(P->B[1], v3_scale(U.l, w.y));
    P->B[2] = v3_sub(P->B[2], v3_scale(U.l, w.z));
}
/// The acceleration at r from an origin, and the wrench about the origin of one at r: X d, X' f.
FN vec6 shift_out(v3 r, vec6 d) { return (vec6){d.w, v3_add(d.l, v3_cross(d.w, r))}; }
FN vec6 shift_in(v3 r, vec6 f) { return (vec6){v3_add(f.w, v3_cross(r, f.l)), f.l}; }
/// Likewise X' P X, X' p.
FN void port_shift(port *P, v3 r)
{
    // B' = B + [r] C: column j of [r] C is r x column j of C
    const v3 x = v3_cross(r, (v3){P->C.xx, P->C.xy, P->C.xz}), y = v3_cross(r, (v3){P->C.xy, P->C.yy, P->C.yz}),
             z = v3_cross(r, (v3){P->C.xz, P->C.yz, P->C.zz});
    const v3 old[3] = {v3_cross(r, P->B[0]), v3_cross(r, P->B[1]), v3_cross(r, P->B[2])};
    P->B[0] = v3_add(P->B[0], (v3){x.x, y.x, z.x});
    P->B[1] = v3_add(P->B[1], (v3){x.y, y.y, z.y});
    P->B[2] = v3_add(P->B[2], (v3){x.z, y.z, z.z});
    // A' = A - B [r] + [r] B'^T: row i of -B [r] is r x row i of B, column j of [r] B'^T is r x row j of B'
    const v3 to[3] = {v3_cross(r, P->B[0]), v3_cross(r, P->B[1]), v3_cross(r, P->B[2])};
    P->A.xx += old[0].x + to[0].x, P->A.yy += old[1].y + to[1].y, P->A.zz += old[2].z + to[2].z;
    P->A.xy += old[0].y + to[1].x, P->A.xz += old[0].z + to[2].x, P->A.yz += old[1].z + to[2].y;
    P->p = shift_in(r, P->p);
}

/// A joint and its link, with all that hangs on it: S and its share are those of axis z at r from the parent.
typedef struct {
    v3 z, r;
    bool slides;
    vec6 b;  // the acceleration that it adds at rest of its joint
    double tau, armature;
} joint_at;

/// What elimination of a joint leaves: u = (rest - U . d') / D, d' = X d + b.
typedef struct {
    vec6 U;
    double D, rest;
} pivot;

FN v3 joint_part(const joint_at *j, vec6 f) { return j->slides ? f.l : f.w; }  // of S' f
FN vec6 joint_axis(const joint_at *j) { return j->slides ? (vec6){{0, 0, 0}, j->z} : (vec6){j->z, {0, 0, 0}}; }

FN pivot joint_pivot(const joint_at *j, const port *P)
{
    pivot e;
    e.U = port_times(P, joint_axis(j));
    e.D = v3_dot(j->z, joint_part(j, e.U)) + j->armature;
    e.rest = j->tau - v3_dot(j->z, joint_part(j, P->p));
    return e;
}
/// The port of the link, its own inertia in it, as its parent sees it.
FN void joint_eliminate(const joint_at *j, const pivot *e, port *P)
{
    port_take_dyad(P, e->U, 1 / e->D);
    P->p = vec6_add(P->p, vec6_scale(e->U, e->rest / e->D));
    P->p = vec6_add(P->p, port_times(P, j->b));
    port_shift(P, j->r);
}

/// A stretch. E is kept by its rows' two halves, G by its rows.
typedef struct {
    port P;
    vec6 E[6], G[6];  // rows
    vec6 g;
} star;

FN double *row_of(vec6 *m) { return &m->w.x; }
FN star star_one(void)
{
    star s = {.P = port_zero(), .g = vec6_zero()};
    for (int i = 0; i < 6; i++) {
        s.E[i] = s.G[i] = vec6_zero();
        row_of(&s.E[i])[i] = 1;
    }
    return s;
}
/// j * s: the star product with a stretch behind it, in closed form as a joint's G has rank 1. P of `s` has the link's own
/// inertia in it by now.
FN void star_joint(const joint_at *j, const pivot *e, star *s)
{
    const double over = 1 / e->D;
    double y[6], *const g = row_of(&s->g);
    for (int i = 0; i < 6; i++) y[i] = v3_dot(j->z, joint_part(j, s->E[i]));  // E S
    for (int i = 0; i < 6; i++) {
        double *const row = row_of(&s->G[i]);
        for (int k = 0; k < 6; k++) row[k] -= y[i] * over * y[k];
        s->E[i] = vec6_add(s->E[i], vec6_scale(e->U, -y[i] * over));
        g[i] += y[i] * (e->rest * over) + vec6_dot(s->E[i], j->b);
        s->E[i] = (vec6){v3_add(s->E[i].w, v3_cross(j->r, s->E[i].l)), s->E[i].l};  // E X
    }
    joint_eliminate(j, e, &s->P);
}

/// a * b, a nearer to the world: eliminates what both have in common. false: too many digits would be lost.
#ifndef STAR
bool star_product(const star *a, const star *b, star *ab);

/// a with a port behind it: what both ask of the parent. And the acceleration of a's last link.
bool star_close(const star *a, const port *behind, port *before);
bool star_pass(const star *a, const port *behind, vec6 d, vec6 *out);
#endif

#endif
