/// Joint-space inertia inversion ([Y] Algorithm 2): the bias by one inverse dynamics, column j of H by another one with unit
/// acceleration of joint j, at rest and without gravity (equation 17); all at once. Then Cholesky.
///
/// Of the inverse dynamics of a column only what is not zero is computed: A = S_j throughout the subtree of j, so wrenches are
/// summed there, and the ancestors bear their sum.
#include "sim/forms/forward.h"
#include "sim/forms/fix.h"
#include "sim/base/lapack.h"
#include "sim/forms/links.h"
#include "sim/base/status.h"

#include <string.h>

typedef struct {
    work *w;
    const se3 *pose;
    v3 origin;
    vec6 *F;  // [threads][n]
    double *H;
} columns_call;

static vec6 axis_at(const columns_call *c, int k) { return common_axis(&c->w->tree->links[k], &c->pose[k], c->origin); }

static void column(void *context, int thread, int i)
{
    const columns_call *c = context;
    const ctn_tree *const t = c->w->tree;
    const int j = t->place[i];
    const vec6 A = axis_at(c, j);
    vec6 *const F = c->F + (size_t)thread * (size_t)t->n;
    double *const H = c->H + (size_t)i * (size_t)t->n;
    memset(H, 0, (size_t)t->n * sizeof *H);
    for (int k = j; k < t->end[j]; k++) F[k] = wrench_at_rest(&t->links[k], &c->pose[k], c->origin, A);
    for (int k = t->end[j] - 1; k > j; k--) {
        H[t->given[k]] = vec6_dot(axis_at(c, k), F[k]);
        F[t->parent[k]] = vec6_add(F[t->parent[k]], F[k]);
    }
    for (int k = j; k >= 0; k = t->parent[k]) H[t->given[k]] = vec6_dot(axis_at(c, k), F[j]);
    H[i] += t->links[j].armature;
}

ctn_status jsiia_not_positive(int row, ctn_error *err)
{
    return fail(err, CTN_BAD_ARGUMENT, "link %d: no inertia against its joint: the joint-space inertia is not positive there",
                row - 1);
}

ctn_status jsiia(work *w, size_t limit, const double *q, const double *v, const double *tau, double *qdd, ctn_error *err)
{
    const ctn_tree *const t = w->tree;
    const size_t n = (size_t)t->n;
    ctn_status status = dense_check(t, limit, err);
    if (status) return status;
    w->failed = false;
    const int threads = w->threads ? pool_threads(w->threads) : 1;
    double *const bias = work_room(w, SLOT_BIAS, 2 * n, sizeof *bias), *const rest = bias + n;
    columns_call c = {.w = w,
                      .H = work_room(w, SLOT_DENSE, n * n, sizeof(double)),
                      .F = work_room(w, SLOT_COLUMNS, n * (size_t)threads, sizeof(vec6))};
    if (w->failed)
        return fail(err, CTN_NO_MEMORY, "no memory for the matrix of %d links, %.3g GB", t->n, (double)n * (double)n * 8e-9);
    memset(rest, 0, n * sizeof *rest);
    status = forms_rnea(w, CTN_SCAN_PATHS, q, v, rest, bias, err);
    if (status) return status;
    c.pose = w->slot[SLOT_POSE], c.origin = common_origin(w, c.pose);
    if (w->threads) pool_run(w->threads, t->n, column, &c);
    else
        for (int i = 0; i < t->n; i++) column(&c, 0, i);
    for (size_t i = 0; i < n; i++) qdd[i] = tau[i] - bias[i];
    const int row = lapack_solve(t->n, c.H, qdd);
    return row ? jsiia_not_positive(row, err) : CTN_OK;
}
