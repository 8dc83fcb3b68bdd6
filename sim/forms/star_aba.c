/// Forward dynamics all by scans: articulated inertias by star products, accelerations by the way back.
///
/// Of each level of heavy paths, the ones without children first: the star of each piece (each from its far end, joint by joint);
/// of nodes, two at a time; what is behind each node, by a port; then the articulated-body recursion within pieces, from there.
/// Outwards the same, by accelerations.
#include "sim/forms/forward.h"
#include "sim/forms/paths.h"
#include "sim/base/status.h"

typedef struct {
    path_call path;
    star *stars;   // [slots + nodes]
    port *behind;  // likewise: what is behind a piece or a node
    vec6 *before;  // likewise: the acceleration before it
    int batch;
    atomic_bool singular;
} star_call;

static void piece_stars(void *context, int job)
{
    star_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        if (p->slot < 0) continue;
        star s = star_one();
        for (int k = p->end - 1; k >= p->first; k--) {
            joint_at j;
            port own;
            path_link(&c->path, k, &j, &own);
            path_gather(&c->path, k, &own);
            port_add(&s.P, &own);
            const pivot e = joint_pivot(&j, &s.P);
            if (e.D <= 0) atomic_store(&c->singular, true);  // of a chain with a free end, where the piece is cut
            star_joint(&j, &e, &s);
        }
        c->stars[p->slot] = s;
    }
}
static void node_stars(void *context, int k)
{
    star_call *c = context;
    const int number = c->path.cut->batch[c->batch] + k;
    const piece_node *const node = &c->path.cut->node[number];
    if (node->root) return;  // nobody asks for it
    if (!star_product(&c->stars[node->left], &c->stars[node->right], &c->stars[c->path.cut->slots + number]))
        atomic_store(&c->singular, true);
}
static void behind_nodes(void *context, int k)
{
    star_call *c = context;
    const int number = c->path.cut->batch[c->batch] + k;
    const piece_node *const node = &c->path.cut->node[number];
    port *const own = &c->behind[c->path.cut->slots + number];
    if (node->root) *own = port_zero();
    c->behind[node->right] = *own;
    if (!star_close(&c->stars[node->right], own, &c->behind[node->left])) atomic_store(&c->singular, true);
}
static void links_in(void *context, int job)
{
    star_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        port P = p->slot < 0 ? port_zero() : c->behind[p->slot];
        for (int k = p->end - 1; k >= p->first; k--) {
            joint_at j;
            port own;
            path_link(&c->path, k, &j, &own);
            path_gather(&c->path, k, &own);
            port_add(&P, &own);
            factor *const f = &c->path.f[k];
            f->e = joint_pivot(&j, &P), f->b = j.b, f->r = j.r;
            if (f->e.D <= 0) {
                path_bad(&c->path, k);  // what comes of it is no number
                break;
            }
            joint_eliminate(&j, &f->e, &P);
        }
        if (p->top) c->path.handed[p->path] = P;
    }
}
static void before_nodes(void *context, int k)
{
    star_call *c = context;
    const int number = c->path.cut->batch[c->batch] + k;
    const piece_node *const node = &c->path.cut->node[number];
    vec6 *const own = &c->before[c->path.cut->slots + number];
    if (node->root) *own = path_base(&c->path, node->path);
    c->before[node->left] = *own;
    if (!star_pass(&c->stars[node->left], &c->behind[node->left], *own, &c->before[node->right]))
        atomic_store(&c->singular, true);
}
static void links_out(void *context, int job)
{
    star_call *c = context;
    const ctn_tree *const t = c->path.tree;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
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
}

static int batch_nodes(const star_call *c) { return c->path.cut->batch[c->batch + 1] - c->path.cut->batch[c->batch]; }

ctn_status star_aba(work *w, bool whole, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err)
{
    star_call c;
    const pieces *const cut = whole ? w->whole : w->cut;
    const bool ok = path_begin(&c.path, w, cut, whole ? CTN_SCAN_SERIAL : CTN_SCAN_PATHS, q, v);
    const size_t parts = (size_t)cut->slots + (size_t)cut->nodes + 1;
    c.path.tau = tau, c.path.qdd = qdd;
    c.stars = work_room(w, SLOT_ELEMENTS, parts, sizeof *c.stars);
    c.behind = work_room(w, SLOT_ENDS, parts, sizeof *c.behind);
    c.before = work_room(w, SLOT_RATES, parts, sizeof *c.before);
    if (!ok || w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the paths of %d links", w->tree->n);
    atomic_init(&c.singular, false);
    int *const level = &c.path.level;
    for (*level = w->tree->nlevel - 1; *level >= 0; --*level) {
        const int first = cut->level_batch[*level], end = cut->level_batch[*level + 1];
        if (end > first) phase(w, piece_jobs(cut, *level), piece_stars, &c);
        for (c.batch = first; c.batch < end; c.batch++) phase(w, batch_nodes(&c), node_stars, &c);
        for (c.batch = end - 1; c.batch >= first; c.batch--) phase(w, batch_nodes(&c), behind_nodes, &c);
        if (atomic_load(&c.singular)) return star_aba(w, true, q, v, tau, qdd, err);
        phase(w, piece_jobs(cut, *level), links_in, &c);
        const ctn_status status = path_bad_status(&c.path, err);
        if (status) return status;
    }
    for (*level = 0; *level < w->tree->nlevel; ++*level) {
        for (c.batch = cut->level_batch[*level + 1] - 1; c.batch >= cut->level_batch[*level]; c.batch--)
            phase(w, batch_nodes(&c), before_nodes, &c);
        if (atomic_load(&c.singular)) return star_aba(w, true, q, v, tau, qdd, err);
        phase(w, piece_jobs(cut, *level), links_out, &c);
    }
    return CTN_OK;
}
