/// What forward dynamics have in common, and inverse dynamics by sums along heavy paths: CTN_SCAN_PATHS.
#include "sim/forms/forward.h"
#include "sim/forms/paths.h"
#include "sim/base/status.h"

#include <limits.h>

static void turning(void *context, int block)  // what joints add to angular velocity
{
    const path_call *c = context;
    vec6 *const joint = c->w->slot[SLOT_A];
    FOR_BLOCK(k, block, c->tree->n) joint[k] = path_turning(c, k);
}

void path_again(path_call *c, work *w, const pieces *cut, const double *v)
{
    *c = (path_call){.w = w, .tree = w->tree, .cut = cut, .v = v};
    c->local = w->slot[SLOT_LOCAL], c->pose = w->slot[SLOT_POSE], c->V = w->slot[SLOT_B];
    c->f = w->slot[SLOT_FACTORS], c->handed = w->slot[SLOT_HANDED];
    atomic_init(&c->w->bad, INT_MAX);
}

bool path_begin(path_call *c, work *w, const pieces *cut, ctn_scan scan, const double *q, const double *v)
{
    const size_t n = (size_t)w->tree->n;
    w->failed = false;
    link_poses(w, scan, q);
    vec6 *const joint = work_room(w, SLOT_A, n, sizeof *joint), *const V = work_room(w, SLOT_B, n, sizeof *V);
    work_room(w, SLOT_FACTORS, n, sizeof(factor));
    work_room(w, SLOT_HANDED, (size_t)w->tree->npath, sizeof(port));
    path_again(c, w, cut, v);
    if (w->failed) return false;
    phase(w, blocks_of(w->tree->n), turning, c);
    rootfix_sums(w, scan, joint, V);
    return !w->failed;
}

void path_bad(path_call *c, int k)
{
    const int link = c->tree->given[k];
    int seen = atomic_load(&c->w->bad);
    while (link < seen && !atomic_compare_exchange_weak(&c->w->bad, &seen, link)) {}
}

ctn_status path_bad_status(const path_call *c, ctn_error *err)
{
    const int link = atomic_load(&c->w->bad);
    return link == INT_MAX
               ? CTN_OK
               : fail(err, CTN_BAD_ARGUMENT, "link %d: no inertia against its joint, of armature or of what moves with it", link);
}

/// Accelerations outwards and wrenches inwards, f[k].d and f[k].b. What a piece adds is had first, from its own top or end; then
/// pieces of a path are added up; then every link is done from there.
typedef struct {
    path_call path;
    const double *a;
    vec6 *sum;  // [slots] of pieces: what they add; then what is before them
    v3 *reach;  // [slots] from the first link's parent to the last link
} sums_call;

static vec6 step_out(const sums_call *c, int k, vec6 d)
{
    const factor *f = &c->path.f[k];
    return vec6_add(shift_out(f->r, d), f->e.U);
}

static void prepare_links(void *context, int block)  // what a joint adds in e.U, the wrench of rates in b
{
    const sums_call *c = context;
    FOR_BLOCK(k, block, c->path.tree->n)
    {
        joint_at j;
        port own;
        path_link(&c->path, k, &j, &own);
        c->path.f[k].r = j.r;
        c->path.f[k].e.U = vec6_add(j.b, vec6_scale(joint_axis(&j), c->a[c->path.tree->given[k]]));
    }
}
static void add_out(void *context, int job)
{
    const sums_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        if (p->slot < 0) continue;
        vec6 d = vec6_zero();
        v3 reach = {0, 0, 0};
        for (int k = p->first; k < p->end; k++) d = step_out(c, k, d), reach = v3_add(reach, c->path.f[k].r);
        c->sum[p->slot] = d, c->reach[p->slot] = reach;
    }
}
static void before_out(void *context, int number)
{
    const sums_call *c = context;
    const pieces *const cut = c->path.cut;
    const int path = cut->cut[cut->level_cut[c->path.level] + number];
    vec6 d = path_base(&c->path, path);
    for (const piece *p = cut->piece + cut->begin[path];; p++) {
        const vec6 own = c->sum[p->slot];
        c->sum[p->slot] = d;
        if (p->last) return;
        d = vec6_add(shift_out(c->reach[p->slot], d), own);
    }
}
static void links_out(void *context, int job)
{
    const sums_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        vec6 d = p->slot < 0 ? path_base(&c->path, p->path) : c->sum[p->slot];
        for (int k = p->first; k < p->end; k++) c->path.f[k].d = d = step_out(c, k, d);
    }
}
static void link_wrenches(void *context, int block)
{
    const sums_call *c = context;
    FOR_BLOCK(k, block, c->path.tree->n)
    {
        joint_at j;
        port own;
        path_link(&c->path, k, &j, &own);
        c->path.f[k].b = vec6_add(port_times(&own, c->path.f[k].d), own.p);
    }
}
static vec6 step_in(const sums_call *c, int k, vec6 behind)  // the wrench through the joint of link k
{
    const ctn_tree *const t = c->path.tree;
    vec6 F = vec6_add(c->path.f[k].b, behind);
    for (int child = t->end[k] > k + 1 ? t->end[k + 1] : t->end[k]; child < t->end[k]; child = t->end[child])
        F = vec6_add(F, c->path.handed[t->on[child]].p);
    return F;
}
static void add_in(void *context, int job)
{
    const sums_call *c = context;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        if (p->slot < 0) continue;
        vec6 F = vec6_zero();
        for (int k = p->end - 1; k >= p->first; k--) F = shift_in(c->path.f[k].r, step_in(c, k, F));
        c->sum[p->slot] = F;
    }
}
static void before_in(void *context, int number)
{
    const sums_call *c = context;
    const pieces *const cut = c->path.cut;
    const int path = cut->cut[cut->level_cut[c->path.level] + number];
    const piece *p = cut->piece + cut->begin[path];
    while (!p->last) p++;
    for (vec6 F = vec6_zero();; p--) {
        const vec6 own = c->sum[p->slot];
        c->sum[p->slot] = F;
        if (p->top) return;
        F = vec6_add(own, shift_in(c->reach[p->slot], F));
    }
}
static void links_in(void *context, int job)
{
    const sums_call *c = context;
    const ctn_tree *const t = c->path.tree;
    FOR_PIECES(p, c->path.cut, c->path.level, job)
    {
        vec6 F = p->slot < 0 ? vec6_zero() : c->sum[p->slot];
        for (int k = p->end - 1; k >= p->first; k--) {
            const tree_link *const l = &t->links[k];
            F = step_in(c, k, F);
            c->path.qdd[t->given[k]] = v3_dot(c->path.pose[k].Z, l->slides ? F.l : F.w) + l->armature * c->a[t->given[k]];
            F = shift_in(c->path.f[k].r, F);
        }
        if (p->top) c->path.handed[p->path].p = F;
    }
}

ctn_status path_rnea(work *w, const pieces *cut, ctn_scan scan, const double *q, const double *v, const double *a, double *tau,
                     ctn_error *err)
{
    sums_call c;
    const bool ok = path_begin(&c.path, w, cut, scan, q, v);
    c.a = a, c.path.qdd = tau;
    c.sum = work_room(w, SLOT_ENDS, (size_t)cut->slots + 1, sizeof *c.sum);
    c.reach = work_room(w, SLOT_RATES, (size_t)cut->slots + 1, sizeof *c.reach);
    if (!ok || w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the scans of %d links", w->tree->n);
    const int levels = w->tree->nlevel, blocks = blocks_of(w->tree->n);
    int *const level = &c.path.level;
    phase(w, blocks, prepare_links, &c);
    for (*level = 0; *level < levels; ++*level) {
        const int cuts = cut->level_cut[*level + 1] - cut->level_cut[*level];
        if (cuts) phase(w, piece_jobs(cut, *level), add_out, &c);
        phase(w, cuts, before_out, &c);
        phase(w, piece_jobs(cut, *level), links_out, &c);
    }
    phase(w, blocks, link_wrenches, &c);
    for (*level = levels - 1; *level >= 0; --*level) {
        const int cuts = cut->level_cut[*level + 1] - cut->level_cut[*level];
        if (cuts) phase(w, piece_jobs(cut, *level), add_in, &c);
        phase(w, cuts, before_in, &c);
        phase(w, piece_jobs(cut, *level), links_in, &c);
    }
    return CTN_OK;
}
