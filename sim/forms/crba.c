/// Joint-space inertia of a tree: composite inertias by leaffix, then all pairs of a link and one of its ancestors at once ([L]
/// 6.2).
///
/// All is in one common frame, where no pair needs a transformation: H_ij = S_j . f_i, f_i = Ic_i S_i, j an ancestor of i. Axes S
/// lie in six arrays, so that a run of ancestors on one heavy path is a loop over neighbours.
#include "sim/forms/fix.h"
#include "sim/forms/forms_device.h"
#include "sim/forms/links.h"
#include "sim/base/status.h"

#include <string.h>

typedef struct {
    const ctn_tree *tree;
    const se3 *pose;
    v3 origin;
    inertia *I;  // of links, then of what hangs on them
    vec6 *f;     // [n] Ic S
    double *S;   // [6][n]
    double *H;
    const size_t *start;
    const int *rows;  // links as given, of the rows that are asked for; NULL: all
    int first, count, width;
} crba_call;

static void link_inertias(void *context, int block)
{
    const crba_call *c = context;
    FOR_BLOCK(k, block, c->tree->n) { c->I[k] = common_inertia(&c->tree->links[k], &c->pose[k], c->origin); }
}

static void composite_forces(void *context, int block)
{
    const crba_call *c = context;
    const size_t n = (size_t)c->tree->n;
    FOR_BLOCK(k, block, c->tree->n)
    {
        const vec6 S = common_axis(&c->tree->links[k], &c->pose[k], c->origin);
        c->f[k] = inertia_times(&c->I[k], S);
        const size_t at = (size_t)k;
        c->S[at] = S.w.x, c->S[n + at] = S.w.y, c->S[2 * n + at] = S.w.z;
        c->S[3 * n + at] = S.l.x, c->S[4 * n + at] = S.l.y, c->S[5 * n + at] = S.l.z;
    }
}

ctn_status forms_crba_begin(work *w, ctn_scan scan, const double *q, ctn_error *err)
{
    const size_t n = (size_t)w->tree->n;
    w->failed = false;
    crba_call c = {.tree = w->tree, .pose = link_poses(w, scan, q)};
    c.I = work_room(w, SLOT_A, n, sizeof(inertia));
    c.f = work_room(w, SLOT_COMPOSITE, n, sizeof(vec6));
    c.S = work_room(w, SLOT_AXES, 6 * n, sizeof(double));
    w->has_composites = false;
    if (!w->failed) {
        c.origin = common_origin(w, c.pose);
        phase(w, blocks_of(c.tree->n), link_inertias, &c);
        leaffix_inertias(w, scan, c.I, SLOT_B, c.I);
    }
    if (w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the composite inertias of %d links", c.tree->n);
    phase(w, blocks_of(c.tree->n), composite_forces, &c);
    w->has_composites = true;
    return CTN_OK;
}

static crba_call begun(work *w) { return (crba_call){.tree = w->tree, .f = w->slot[SLOT_COMPOSITE], .S = w->slot[SLOT_AXES]}; }

/// out[j - from] = S_j . f over a run of links.
static void run_of_pairs(const double *S, size_t n, int from, int to, vec6 f, double *restrict out)
{
    const double *a = S + from, *b = a + n, *c = b + n, *d = c + n, *e = d + n, *g = e + n;
    for (int j = 0; j < to - from; j++)
        out[j] = (a[j] * f.w.x + b[j] * f.w.y + c[j] * f.w.z) + (d[j] * f.l.x + e[j] * f.l.y + g[j] * f.l.z);
}

/// The pairs of link k: with its ancestor of depth d at out[d - 1], itself last.
static void pairs_of(const crba_call *c, int k, double *out)
{
    const ctn_tree *const t = c->tree;
    for (int j = k; j >= 0; j = t->parent[tree_top(t, j)])
        run_of_pairs(c->S, (size_t)t->n, tree_top(t, j), j + 1, c->f[k], out + t->depth[tree_top(t, j)] - 1);
    out[t->depth[k] - 1] += t->links[k].armature;
}

enum { ROWS_A_JOB = 8 };

static void packed_rows(void *context, int job)
{
    const crba_call *c = context;
    for (int i = job * ROWS_A_JOB; i < c->tree->n && i < (job + 1) * ROWS_A_JOB; i++)
        pairs_of(c, c->tree->place[i], c->H + c->start[i]);
}

/// Whole rows: ancestors, and what hangs on the link, whose pairs with it are S_k . f_j.
static void whole_rows(void *context, int job)
{
    const crba_call *c = context;
    const ctn_tree *const t = c->tree;
    const size_t n = (size_t)t->n;
    double some[256];
    for (int r = job * ROWS_A_JOB; r < c->count && r < (job + 1) * ROWS_A_JOB; r++) {
        const int k = t->place[c->first + r];
        double *const row = c->H + (size_t)r * n;
        memset(row, 0, n * sizeof *row);
        for (int j = k; j >= 0; j = t->parent[tree_top(t, j)])
            for (int from = tree_top(t, j); from <= j; from += 256) {
                const int to = from + 256 <= j ? from + 256 : j + 1;
                run_of_pairs(c->S, n, from, to, c->f[k], some);
                for (int a = from; a < to; a++) row[t->given[a]] = some[a - from];
            }
        row[c->first + r] += t->links[k].armature;
        const double *S = c->S + k;
        for (int j = k + 1; j < t->end[k]; j++) {
            const vec6 *f = &c->f[j];
            row[t->given[j]] =
                (S[0] * f->w.x + S[n] * f->w.y + S[2 * n] * f->w.z) + (S[3 * n] * f->l.x + S[4 * n] * f->l.y + S[5 * n] * f->l.z);
        }
    }
}

static void all_rows(work *w, int first, int count, double *H)
{
    crba_call c = begun(w);
    c.first = first, c.count = count, c.H = H;
    phase(w, (count + ROWS_A_JOB - 1) / ROWS_A_JOB, whole_rows, &c);
}

static ctn_status begin(ctn_forms *f, const char *call, ctn_scan scan, const double *q, ctn_error *err)
{
    if (forms_refused(f, call, scan == CTN_SCAN_SIMULATED, err)) return CTN_UNAVAILABLE;
    if (!f->there) return forms_crba_begin(&f->all, scan, q, err);
    const ctn_status status = f->device->crba_begin(f->there, f->all.origin, q, err);
    f->all.has_composites = !status;
    return status;
}

static ctn_status rows_of(ctn_forms *f, int first, int count, double *H, ctn_error *err)
{
    if (f->there) return f->device->crba_rows(f->there, first, count, H, err);
    all_rows(&f->all, first, count, H);
    return CTN_OK;
}

ctn_status ctn_forms_crba_begin(ctn_forms *f, ctn_scan scan, const double *q, ctn_error *err)
{
    if (missing("ctn_forms_crba_begin", "forms", f, err) || missing("ctn_forms_crba_begin", "q", q, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    return begin(f, "ctn_forms_crba_begin", scan, q, err);
}

ctn_status ctn_forms_crba_rows(ctn_forms *f, int first, int count, double *H, ctn_error *err)
{
    if (missing("ctn_forms_crba_rows", "forms", f, err) || missing("ctn_forms_crba_rows", "H", H, err)) return CTN_BAD_ARGUMENT;
    if (!f->all.has_composites) return fail(err, CTN_BAD_ARGUMENT, "ctn_forms_crba_rows: call ctn_forms_crba_begin first");
    if (first < 0 || count < 0 || first > f->tree->n - count)
        return fail(err, CTN_BAD_ARGUMENT, "rows %d and on, %d of them: expected some of the %d links", first, count, f->tree->n);
    return rows_of(f, first, count, H, err);
}

size_t ctn_tree_pairs(const ctn_tree *t, size_t *start)
{
    size_t sum = 0;
    for (int i = 0; t && i < t->n; i++) {
        if (start) start[i] = sum;
        sum += (size_t)t->depth[t->place[i]];
    }
    if (t && start) start[t->n] = sum;
    return sum;
}

ctn_status ctn_forms_crba_packed(ctn_forms *f, ctn_scan scan, const double *q, double *H, ctn_error *err)
{
    const char *const call = "ctn_forms_crba_packed";
    if (missing(call, "forms", f, err) || missing(call, "q", q, err) || missing(call, "H", H, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    if (forms_refused(f, call, false, err)) return CTN_UNAVAILABLE;
    work *const w = &f->all;
    const ctn_status status = forms_crba_begin(w, scan, q, err);
    if (status) return status;
    size_t *const start = work_room(w, SLOT_STARTS, (size_t)w->tree->n + 1, sizeof *start);
    if (!start) return fail(err, CTN_NO_MEMORY, "no memory for the rows of %d links", w->tree->n);
    ctn_tree_pairs(w->tree, start);
    crba_call c = begun(w);
    c.H = H, c.start = start;
    phase(w, (w->tree->n + ROWS_A_JOB - 1) / ROWS_A_JOB, packed_rows, &c);
    return CTN_OK;
}

size_t ctn_tree_dense_bytes(const ctn_tree *t) { return t ? (size_t)t->n * (size_t)t->n * sizeof(double) : 0; }

ctn_status dense_check(const ctn_tree *t, size_t limit, ctn_error *err)
{
    const size_t bytes = ctn_tree_dense_bytes(t);
    if (bytes <= limit) return CTN_OK;
    return fail(
        err, CTN_BAD_ARGUMENT,
        "the matrix of %d links has %zu bytes (%.3g GB), and at most %zu are allowed: raise it (ctn_forms_set_limit), or take "
        "blocks of rows or pairs",
        t->n, bytes, (double)bytes * 1e-9, limit);
}

ctn_status ctn_forms_crba(ctn_forms *f, ctn_scan scan, const double *q, double *H, ctn_error *err)
{
    const char *const call = "ctn_forms_crba";
    if (missing(call, "forms", f, err) || missing(call, "q", q, err) || missing(call, "H", H, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    ctn_status status = dense_check(f->tree, f->limit, err);
    if (!status) status = begin(f, call, scan, q, err);
    return status ? status : rows_of(f, 0, f->tree->n, H, err);
}
