/// The operators of fix.h.
#include "sim/forms/fix.h"
#include "sim/base/status.h"
#include "sim/forms/angles.h"
#include "sim/forms/forms_device.h"
#include "sim/forms/links.h"

#define ELEMENT se3
#define NAME(word) pose_##word
#define TIMES(a, b) se3_times(a, b)
#define ONE se3_one()
#define INVERSE(a) se3_inverse(a)
#include "sim/forms/fix_operator.h"

#define ELEMENT recurrence
#define NAME(word) recurrence_##word
#define TIMES(a, b) recurrence_times(a, b)
#define ONE recurrence_one()
#define INVERSE(a) recurrence_inverse(a)
#include "sim/forms/fix_operator.h"

#define ELEMENT vec6
#define NAME(word) vector_##word
#define TIMES(a, b) vec6_add(a, b)
#define ONE vec6_zero()
#define INVERSE(a) vec6_opposite(a)
#include "sim/forms/fix_operator.h"

#define ELEMENT vec6
#define NAME(word) vector_##word
#define PLUS(a, b) vec6_add(a, b)
#define ZERO vec6_zero()
#define MINUS(a, b) vec6_add(a, vec6_opposite(b))
#include "sim/forms/sum_operator.h"

#define ELEMENT inertia
#define NAME(word) inertia_##word
#define PLUS(a, b) inertia_add(a, b)
#define ZERO inertia_zero()
#define MINUS(a, b) inertia_add(a, inertia_opposite(b))
#include "sim/forms/sum_operator.h"

void rootfix_poses(work *w, ctn_scan scan, const se3 *x, se3 *y) { pose_rootfix(w, scan, x, y); }
void rootfix_recurrences(work *w, ctn_scan scan, const recurrence *x, recurrence *y) { recurrence_rootfix(w, scan, x, y); }
void rootfix_sums(work *w, ctn_scan scan, const vec6 *x, vec6 *y) { vector_rootfix(w, scan, x, y); }
void leaffix_sums(work *w, ctn_scan scan, const vec6 *x, enum work_slot slot, vec6 *y) { vector_leaffix(w, scan, x, slot, y); }
void leaffix_inertias(work *w, ctn_scan scan, const inertia *x, enum work_slot slot, inertia *y)
{
    inertia_leaffix(w, scan, x, slot, y);
}

typedef struct {
    const ctn_tree *tree;
    const double *q;
    se3 *local;
    const se3 *pose;
    v3 *sum;
} poses_call;

static void make_local(void *context, int block)
{
    const poses_call *c = context;
    double q[BLOCK], sine[BLOCK], cosine[BLOCK];
    const int first = block * BLOCK;
    FOR_BLOCK(k, block, c->tree->n) q[k - first] = c->q[c->tree->given[k]];
    angles_of(blocks_of(c->tree->n) == block + 1 ? c->tree->n - first : BLOCK, q, sine, cosine);
    FOR_BLOCK(k, block, c->tree->n)
    c->local[k] = link_pose(&c->tree->links[k], q[k - first], sine[k - first], cosine[k - first]);
}

se3 *local_poses(work *w, const double *q)
{
    poses_call c = {.tree = w->tree, .q = q, .local = work_room(w, SLOT_LOCAL, (size_t)w->tree->n, sizeof(se3))};
    if (c.local) phase(w, blocks_of(w->tree->n), make_local, &c);
    return c.local;
}

se3 *link_poses(work *w, ctn_scan scan, const double *q)
{
    se3 *const local = local_poses(w, q), *const pose = work_room(w, SLOT_POSE, (size_t)w->tree->n, sizeof(se3));
    if (local && pose) rootfix_poses(w, scan, local, pose);
    return w->failed ? NULL : pose;
}

static void sum_origins(void *context, int block)
{
    const poses_call *c = context;
    v3 sum = {0, 0, 0};
    FOR_BLOCK(k, block, c->tree->n) sum = v3_add(sum, c->pose[k].p);
    c->sum[block] = sum;
}

v3 common_origin(work *w, const se3 *T)
{
    if (w->origin == CTN_ORIGIN_ROOT) return T[0].p;
    const int blocks = blocks_of(w->tree->n);
    poses_call c = {.tree = w->tree, .pose = T, .sum = work_room(w, SLOT_PARTS, (size_t)blocks, sizeof(v3))};
    if (!c.sum) return T[0].p;
    phase(w, blocks, sum_origins, &c);
    v3 sum = {0, 0, 0};
    for (int b = 0; b < blocks; b++) sum = v3_add(sum, c.sum[b]);
    return v3_scale(sum, 1.0 / w->tree->n);
}

typedef struct {
    const ctn_tree *tree;
    const double *x;
    double *y;
    vec6 *in;
    const vec6 *out;
} vectors_call;

static void take_vectors(void *context, int block)
{
    const vectors_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    {
        const double *x = c->x + (size_t)6 * (size_t)c->tree->given[k];
        c->in[k] = (vec6){v3_of(x), v3_of(x + 3)};
    }
}
static void give_vectors(void *context, int block)
{
    const vectors_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    {
        double *y = c->y + (size_t)6 * (size_t)c->tree->given[k];
        v3_to(y, c->out[k].w), v3_to(y + 3, c->out[k].l);
    }
}

static ctn_status fix_sums(const char *call, ctn_forms *f, bool leaves, ctn_scan scan, const double *x, double *y, ctn_error *err)
{
    if (missing(call, "forms", f, err) || missing(call, "x", x, err) || missing(call, "y", y, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    if (forms_refused(f, call, scan == CTN_SCAN_SIMULATED, err)) return CTN_UNAVAILABLE;
    if (f->there) return (leaves ? f->device->leaffix : f->device->rootfix)(f->there, x, y, err);
    work *const w = &f->all;
    const size_t n = (size_t)f->tree->n;
    w->failed = false;
    vec6 *const out = work_room(w, SLOT_B, n, sizeof *out);
    vectors_call c = {f->tree, x, y, work_room(w, SLOT_A, n, sizeof(vec6)), out};
    if (!w->failed) {
        phase(w, blocks_of(f->tree->n), take_vectors, &c);
        if (leaves) leaffix_sums(w, scan, c.in, SLOT_C, out);
        else rootfix_sums(w, scan, c.in, out);
    }
    if (w->failed) return fail(err, CTN_NO_MEMORY, "no memory for the scans of %d links", f->tree->n);
    phase(w, blocks_of(f->tree->n), give_vectors, &c);
    return CTN_OK;
}

ctn_status ctn_forms_rootfix(ctn_forms *f, ctn_scan scan, const double *x, double *y, ctn_error *err)
{
    return fix_sums("ctn_forms_rootfix", f, false, scan, x, y, err);
}
ctn_status ctn_forms_leaffix(ctn_forms *f, ctn_scan scan, const double *x, double *y, ctn_error *err)
{
    return fix_sums("ctn_forms_leaffix", f, true, scan, x, y, err);
}
