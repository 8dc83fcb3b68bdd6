/// The passes of the full-scan articulated-body algorithm over pieces of paths and the nodes above them: on threads of the CPU
/// and of devices. What returns false could not be joined without losing too many digits.
#ifndef CATENA_SIM_FORMS_STAR_PASSES_H
#define CATENA_SIM_FORMS_STAR_PASSES_H

#include "sim/forms/path_links.h"
#include "sim/forms/pieces.h"

typedef struct {
    path_call path;
    star *stars;   // [slots + nodes]
    port *behind;  // likewise: what is behind a piece or a node
    vec6 *before;  // likewise: the acceleration before it
} star_passes;

/// A link and all that hangs on it into what its path has behind it; the pivot of its joint.
FN pivot star_link(const star_passes *c, int k, joint_at *j, port *P)
{
    port own;
    path_link(&c->path, k, j, &own);
    path_gather(&c->path, k, &own);
    port_add(P, &own);
    return joint_pivot(j, P);
}

/// The star of a piece of several, from its far end.
KERNEL bool star_of_piece(const star_passes *c, const piece *p)
{
    if (p->slot < 0) return true;
    bool sound = true;
    star s = star_one();
    for (int k = p->end - 1; k >= p->first; k--) {
        joint_at j;
        const pivot e = star_link(c, k, &j, &s.P);
        if (e.D <= 0) sound = false;  // of a chain with a free end, where the piece is cut
        star_joint(&j, &e, &s);
    }
    c->stars[p->slot] = s;
    return sound;
}
KERNEL bool star_of_node(const star_passes *c, int number)
{
    const piece_node *const node = &c->path.cut->node[number];
    if (node->root) return true;  // nobody asks for it
    return star_product(&c->stars[node->left], &c->stars[node->right], &c->stars[c->path.cut->slots + number]);
}
KERNEL bool star_behind_node(const star_passes *c, int number)
{
    const piece_node *const node = &c->path.cut->node[number];
    port *const own = &c->behind[c->path.cut->slots + number];
    if (node->root) *own = port_zero();
    c->behind[node->right] = *own;
    return star_close(&c->stars[node->right], own, &c->behind[node->left]);
}
/// The recursion inwards within a piece. Returns a link without inertia against its joint, at which it ended, or -1.
KERNEL int star_links_in(const star_passes *c, const piece *p)
{
    port P = p->slot < 0 ? port_zero() : c->behind[p->slot];
    for (int k = p->end - 1; k >= p->first; k--) {
        joint_at j;
        factor *const f = &c->path.f[k];
        f->e = star_link(c, k, &j, &P), f->b = j.b, f->r = j.r;
        if (f->e.D <= 0) return k;
        joint_eliminate(&j, &f->e, &P);
    }
    if (p->top) c->path.handed[p->path] = P;
    return -1;
}
KERNEL bool star_before_node(const star_passes *c, int number)
{
    const piece_node *const node = &c->path.cut->node[number];
    vec6 *const own = &c->before[c->path.cut->slots + number];
    if (node->root) *own = path_base(&c->path, node->path);
    c->before[node->left] = *own;
    return star_pass(&c->stars[node->left], &c->behind[node->left], *own, &c->before[node->right]);
}
/// The recursion outwards.
KERNEL void star_links_out(const star_passes *c, const piece *p)
{
    const ctn_tree *const t = c->path.tree;
    vec6 d = p->slot < 0 ? path_base(&c->path, p->path) : c->before[p->slot];
    for (int k = p->first; k < p->end; k++) {
        factor *const f = &c->path.f[k];
        d = vec6_add(shift_out(f->r, d), f->b);
        const double u = (f->e.rest - vec6_dot(f->e.U, d)) / f->e.D;
        const v3 z = v3_scale(c->path.pose[k].Z, u);
        if (t->links[k].slides) d.l = v3_add(d.l, z);
        else d.w = v3_add(d.w, z);
        c->path.qdd[t->given[k]] = u;
        f->d = d;
    }
}

#endif
