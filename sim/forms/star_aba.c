/// Forward dynamics all by scans: articulated inertias by star products, accelerations by the way back.
///
/// Of each level of heavy paths, the ones without children first: the star of each piece (each from its far end, joint by joint);
/// of nodes, two at a time; what is behind each node, by a port; then the articulated-body recursion within pieces, from there.
/// Outwards the same, by accelerations.
#include "sim/forms/forward.h"
#include "sim/forms/paths.h"
#include "sim/forms/star_passes.h"
#include "sim/base/status.h"

typedef struct {
    star_passes of;
    int batch;
    atomic_bool singular;
} star_call;

/// The node that job k of a batch is about.
static int node_of(const star_call *c, int k) { return c->of.path.cut->batch[c->batch] + k; }

static void piece_stars(void *context, int job)
{
    star_call *c = context;
    FOR_PIECES(p, c->of.path.cut, c->of.path.level, job)
    if (!star_of_piece(&c->of, p)) atomic_store(&c->singular, true);
}
static void node_stars(void *context, int k)
{
    star_call *c = context;
    if (!star_of_node(&c->of, node_of(c, k))) atomic_store(&c->singular, true);
}
static void behind_nodes(void *context, int k)
{
    star_call *c = context;
    if (!star_behind_node(&c->of, node_of(c, k))) atomic_store(&c->singular, true);
}
static void links_in(void *context, int job)
{
    star_call *c = context;
    FOR_PIECES(p, c->of.path.cut, c->of.path.level, job)
    {
        const int link = star_links_in(&c->of, p);
        if (link >= 0) path_bad(&c->of.path, link);  // what comes of it is no number
    }
}
static void before_nodes(void *context, int k)
{
    star_call *c = context;
    if (!star_before_node(&c->of, node_of(c, k))) atomic_store(&c->singular, true);
}
static void links_out(void *context, int job)
{
    star_call *c = context;
    FOR_PIECES(p, c->of.path.cut, c->of.path.level, job) star_links_out(&c->of, p);
}

static int batch_nodes(const star_call *c) { return c->of.path.cut->batch[c->batch + 1] - c->of.path.cut->batch[c->batch]; }

ctn_status star_aba(work *w, bool whole, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err)
{
    star_call c;
    const pieces *const cut = whole ? w->whole : w->cut;
    const bool ok = path_begin(&c.of.path, w, cut, whole ? CTN_SCAN_SERIAL : CTN_SCAN_PATHS, q, v);
    const size_t parts = (size_t)cut->slots + (size_t)cut->nodes + 1;
    c.of.path.tau = tau, c.of.path.qdd = qdd;
    c.of.stars = work_room(w, SLOT_ELEMENTS, parts, sizeof *c.of.stars);
    c.of.behind = work_room(w, SLOT_ENDS, parts, sizeof *c.of.behind);
    c.of.before = work_room(w, SLOT_RATES, parts, sizeof *c.of.before);
    if (!ok || w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the paths of %d links", w->tree->n);
    atomic_init(&c.singular, false);
    int *const level = &c.of.path.level;
    for (*level = w->tree->nlevel - 1; *level >= 0; --*level) {
        const int first = cut->level_batch[*level], end = cut->level_batch[*level + 1];
        if (end > first) phase(w, piece_jobs(cut, *level), piece_stars, &c);
        for (c.batch = first; c.batch < end; c.batch++) phase(w, batch_nodes(&c), node_stars, &c);
        for (c.batch = end - 1; c.batch >= first; c.batch--) phase(w, batch_nodes(&c), behind_nodes, &c);
        if (atomic_load(&c.singular)) return star_aba(w, true, q, v, tau, qdd, err);
        phase(w, piece_jobs(cut, *level), links_in, &c);
        const ctn_status status = path_bad_status(&c.of.path, err);
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
