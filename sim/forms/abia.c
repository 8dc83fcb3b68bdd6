/// The hybrid articulated-body algorithm ([Y] Algorithm 3): articulated inertias by their recursion on one thread (equation 7),
/// all else by scans: the bias, forces z inwards (18), accelerations lambda outwards (19). On trees these scans go along heavy
/// paths, a level at a time.
///
/// With the inertias known, z and lambda obey affine recursions, and those of a piece are one affine map of what is behind or
/// before it:
///
///     z -> X' ((1 - U S'/D) z + U tau / D)        lambda -> (1 - S U'/D) X lambda + S c,   c = (tau - S' z) / D
///
/// Their linear parts are transposes of each other. Pieces of a path are then one product of a matrix and a vector each.
#include "sim/forms/forward.h"
#include "sim/forms/paths.h"
#include "sim/base/status.h"

#include <string.h>

typedef struct {
    vec6 M[6];  // by columns: what a unit of z behind the piece is before it
    vec6 add;   // z before it with none behind; on the way out lambda behind it with none before
} piece_map;

typedef struct {
    path_call path;
    piece_map *map;  // [slots]
    vec6 *end;       // [slots] z behind, then lambda before a piece
} hybrid_call;

/// Line 3: U and D of every link.
static void articulated(hybrid_call *c)
{
    path_call *const h = &c->path;
    const ctn_tree *const t = h->tree;
    port P = port_zero();
    for (int k = t->n - 1; k >= 0; k--) {
        joint_at j;
        port own;
        path_link(h, k, &j, &own);
        path_gather(h, k, &own);
        if (t->end[k] == k + 1) P = own;
        else port_add(&P, &own);
        P.p = vec6_zero();
        factor *const f = &h->f[k];
        f->e = joint_pivot(&j, &P), f->r = j.r, f->e.rest = h->tau[t->given[k]];
        if (f->e.D <= 0) {
            path_bad(h, k);  // what comes of it is no number
            return;
        }
        port_take_dyad(&P, f->e.U, 1 / f->e.D);
        port_shift(&P, j.r);
        if (tree_top(t, k) == k) h->handed[t->on[k]] = P;
    }
}

static double along(const hybrid_call *c, int k, vec6 f)  // S' f
{
    return v3_dot(c->path.pose[k].Z, c->path.tree->links[k].slides ? f.l : f.w);
}
static vec6 inwards(const hybrid_call *c, int k, vec6 z, double tau)
{
    const factor *f = &c->path.f[k];
    return shift_in(f->r, vec6_add(z, vec6_scale(f->e.U, (tau - along(c, k, z)) / f->e.D)));
}
static vec6 outwards(const hybrid_call *c, int k, vec6 d, double unforced)  // `unforced`: c of the link
{
    const factor *f = &c->path.f[k];
    d = shift_out(f->r, d);
    const v3 S = v3_scale(c->path.pose[k].Z, unforced - vec6_dot(f->e.U, d) / f->e.D);
    if (c->path.tree->links[k].slides) d.l = v3_add(d.l, S);
    else d.w = v3_add(d.w, S);
    return d;
}
static vec6 light(const hybrid_call *c, int k, vec6 z)  // with what hangs on link k besides its path
{
    const ctn_tree *const t = c->path.tree;
    for (int child = t->end[k] > k + 1 ? t->end[k + 1] : t->end[k]; child < t->end[k]; child = t->end[child])
        z = vec6_add(z, c->path.handed[t->on[child]].p);
    return z;
}

static void maps_in(void *context, int job)
{
    const hybrid_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        if (p->slot < 0) continue;
        piece_map *const m = &c->map[p->slot];
        for (int i = 0; i < 6; i++) {
            vec6 z = vec6_zero();
            (&z.w.x)[i] = 1;
            for (int k = p->end - 1; k >= p->first; k--) z = inwards(c, k, z, 0);
            m->M[i] = z;
        }
        m->add = vec6_zero();
        for (int k = p->end - 1; k >= p->first; k--) m->add = inwards(c, k, light(c, k, m->add), c->path.f[k].e.rest);
    }
}
static void behind(void *context, int number)
{
    const hybrid_call *c = context;
    const pieces *const cut = c->path.cut;
    const piece *p = cut->piece + cut->begin[cut->cut[cut->level_cut[c->path.level] + number]];
    while (!p->last) p++;
    for (vec6 z = vec6_zero();; p--) {
        const piece_map *m = &c->map[p->slot];
        c->end[p->slot] = z;
        if (p->top) return;
        vec6 next = m->add;
        for (int i = 0; i < 6; i++) next = vec6_add(next, vec6_scale(m->M[i], (&z.w.x)[i]));
        z = next;
    }
}
static void links_in(void *context, int job)  // rest: from tau to c
{
    const hybrid_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        vec6 z = p->slot < 0 ? vec6_zero() : c->end[p->slot];
        for (int k = p->end - 1; k >= p->first; k--) {
            factor *const f = &c->path.f[k];
            const double tau = f->e.rest;
            z = light(c, k, z);
            f->e.rest = (tau - along(c, k, z)) / f->e.D;
            z = inwards(c, k, z, tau);
        }
        if (p->top) c->path.handed[p->path].p = z;
    }
}
static void maps_out(void *context, int job)
{
    const hybrid_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        if (p->slot < 0) continue;
        vec6 d = vec6_zero();
        for (int k = p->first; k < p->end; k++) d = outwards(c, k, d, c->path.f[k].e.rest);
        c->map[p->slot].add = d;
    }
}
static vec6 base(const hybrid_call *c, int path)  // lambda of the link that a path hangs on; the world rests
{
    const int p = c->path.tree->parent[c->path.tree->path[path]];
    return p < 0 ? vec6_zero() : c->path.f[p].d;
}
static void before(void *context, int number)
{
    const hybrid_call *c = context;
    const pieces *const cut = c->path.cut;
    const int path = cut->cut[cut->level_cut[c->path.level] + number];
    vec6 d = base(c, path);
    for (const piece *p = cut->piece + cut->begin[path];; p++) {
        const piece_map *m = &c->map[p->slot];
        c->end[p->slot] = d;
        if (p->last) return;
        vec6 next;
        for (int i = 0; i < 6; i++) (&next.w.x)[i] = vec6_dot(m->M[i], d);
        d = vec6_add(next, m->add);
    }
}
static void links_out(void *context, int job)
{
    const hybrid_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        vec6 d = p->slot < 0 ? base(c, p->path) : c->end[p->slot];
        for (int k = p->first; k < p->end; k++) {
            factor *const f = &c->path.f[k];
            c->path.qdd[c->path.tree->given[k]] = f->e.rest - vec6_dot(f->e.U, shift_out(f->r, d)) / f->e.D;
            f->d = d = outwards(c, k, d, f->e.rest);
        }
    }
}

ctn_status hybrid_abia(work *w, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err)
{
    const size_t n = (size_t)w->tree->n;
    const pieces *const cut = w->cut;
    w->failed = false;
    double *const bias = work_room(w, SLOT_BIAS, 2 * n, sizeof *bias), *const rest = bias + n;
    if (!bias) return fail(err, CTN_NO_MEMORY, "no memory for %d links", w->tree->n);

    // lines 1 and 2
    memset(rest, 0, n * sizeof *rest);
    const ctn_status status = path_rnea(w, cut, CTN_SCAN_PATHS, q, v, rest, bias, err);
    if (status) return status;
    for (size_t i = 0; i < n; i++) rest[i] = tau[i] - bias[i];

    hybrid_call c;
    path_again(&c.path, w, cut, v);
    c.path.tau = rest, c.path.qdd = qdd;
    c.map = work_room(w, SLOT_ELEMENTS, (size_t)cut->slots + 1, sizeof *c.map);
    c.end = work_room(w, SLOT_ENDS, (size_t)cut->slots + 1, sizeof *c.end);
    if (w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the paths of %d links", w->tree->n);
    articulated(&c);
    const ctn_status sound = path_bad_status(&c.path, err);
    if (sound) return sound;

    int *const level = &c.path.level;
    for (*level = w->tree->nlevel - 1; *level >= 0; --*level) {
        const int cuts = cut->level_cut[*level + 1] - cut->level_cut[*level];
        if (cuts) phase(w, piece_jobs(cut, *level), maps_in, &c);
        phase(w, cuts, behind, &c);
        phase(w, piece_jobs(cut, *level), links_in, &c);
    }
    for (*level = 0; *level < w->tree->nlevel; ++*level) {
        const int cuts = cut->level_cut[*level + 1] - cut->level_cut[*level];
        if (cuts) phase(w, piece_jobs(cut, *level), maps_out, &c);
        phase(w, cuts, before, &c);
        phase(w, piece_jobs(cut, *level), links_out, &c);
    }
    return CTN_OK;
}
