/// Inverse dynamics of a tree by scans.
///
/// CTN_SCAN_SERIAL, BLELLOCH and BLOCKED are [L] Listings 3-5: velocities and accelerations by first-order recurrences in each
/// link's own frame, forces in the root's. CTN_SCAN_SIMULATED is Listing 7: poses first, then every recursion is a sum of vectors
/// in one common frame.
#include "sim/forms/fix.h"
#include "sim/forms/forms_device.h"
#include "sim/forms/forward.h"
#include "sim/forms/links.h"
#include "sim/base/status.h"

#include <stdlib.h>

static vec6 own_axis(const tree_link *l) { return l->slides ? (vec6){{0, 0, 0}, {0, 0, 1}} : (vec6){{0, 0, 1}, {0, 0, 0}}; }

#define BLOCKS_OF(name, of_link)                                                                                                 \
    static void name(void *context, int block)                                                                                   \
    {                                                                                                                            \
        const rnea_call *c = context;                                                                                            \
        FOR_BLOCK(k, block, c->tree->n) of_link(c, k);                                                                           \
    }
BLOCKS_OF(joint_velocities, joint_velocity)
BLOCKS_OF(joint_accelerations, joint_acceleration)
BLOCKS_OF(wrenches, link_wrench)
BLOCKS_OF(torques, joint_torque)
BLOCKS_OF(common_twists, common_twist)

static void simulated(work *w, rnea_call *c)
{
    const ctn_tree *const t = w->tree;
    const int blocks = blocks_of(t->n);
    const size_t n = (size_t)t->n;
    c->joint = work_room(w, SLOT_A, n + 1, sizeof(vec6));
    c->V = work_room(w, SLOT_B, n, sizeof(vec6));
    c->A = work_room(w, SLOT_C, n, sizeof(vec6));
    if (w->failed) return;
    c->F = c->A;
    phase(w, blocks, joint_velocities, c);
    rootfix_sums(w, CTN_SCAN_SIMULATED, c->joint, c->V);
    phase(w, blocks, joint_accelerations, c);
    rootfix_sums(w, CTN_SCAN_SIMULATED, c->joint, c->A);
    phase(w, blocks, wrenches, c);
    leaffix_sums(w, CTN_SCAN_SIMULATED, c->F, SLOT_A, c->F);
    phase(w, blocks, torques, c);
}

static void own_velocities(void *context, int block)
{
    const rnea_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    c->x[k] = (recurrence){c->local[k], vec6_scale(own_axis(&c->tree->links[k]), c->v[c->tree->given[k]])};
}
static void own_accelerations(void *context, int block)
{
    const rnea_call *c = context;
    const vec6 gravity = {{0, 0, 0}, v3_scale(v3_of(c->tree->gravity), -1)};
    FOR_BLOCK(k, block, c->tree->n)
    {
        const int i = c->tree->given[k];
        const vec6 S = own_axis(&c->tree->links[k]);
        vec6 b = vec6_add(vec6_scale(S, c->a[i]), vec6_scale(vec6_cross(c->vel[k].b, S), c->v[i]));
        if (c->tree->parent[k] < 0) b = vec6_add(b, se3_motion_in(&c->local[k], gravity));
        c->x[k] = (recurrence){c->local[k], b};
    }
}
static void root_wrenches(void *context, int block)  // I A + V x* I V, in the world's frame
{
    const rnea_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    {
        const tree_link *l = &c->tree->links[k];
        const inertia I = inertia_about(l->mass, l->com, l->I);
        const vec6 V = c->vel[k].b, h = inertia_times(&I, V), f = inertia_times(&I, c->acc[k].b);
        const vec6 bias = {v3_add(v3_cross(V.w, h.w), v3_cross(V.l, h.l)), v3_cross(V.w, h.l)};
        c->F[k] = se3_wrench_out(&c->acc[k].T, vec6_add(f, bias));
    }
}
static void own_torques(void *context, int block)
{
    const rnea_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    {
        const int i = c->tree->given[k];
        const se3 *T = &c->acc[k].T;
        const v3 turning = v3_sub(c->F[k].w, v3_cross(T->p, c->F[k].l));
        c->tau[i] = v3_dot(T->Z, c->tree->links[k].slides ? c->F[k].l : turning) + c->tree->links[k].armature * c->a[i];
    }
}

static void by_recurrences(work *w, ctn_scan scan, rnea_call *c)
{
    const ctn_tree *const t = w->tree;
    const int blocks = blocks_of(t->n);
    const size_t n = (size_t)t->n;
    c->x = work_room(w, SLOT_A, n, sizeof(recurrence));
    c->vel = work_room(w, SLOT_B, n, sizeof(recurrence));
    c->acc = work_room(w, SLOT_C, n, sizeof(recurrence));
    c->F = work_room(w, SLOT_FORCE, n, sizeof(vec6));
    if (w->failed) return;
    phase(w, blocks, own_velocities, c);
    rootfix_recurrences(w, scan, c->x, c->vel);
    phase(w, blocks, own_accelerations, c);
    rootfix_recurrences(w, scan, c->x, c->acc);
    phase(w, blocks, root_wrenches, c);
    leaffix_sums(w, scan, c->F, SLOT_SPACE, c->F);
    phase(w, blocks, own_torques, c);
}

/// [L] Listing 11: everything stays in its link's frame.
static void serial(work *w, rnea_call *c)
{
    const ctn_tree *const t = w->tree;
    const size_t n = (size_t)t->n;
    vec6 *const V = work_room(w, SLOT_A, n, sizeof(vec6)), *const A = work_room(w, SLOT_B, n, sizeof(vec6)),
                *const F = work_room(w, SLOT_C, n, sizeof(vec6));
    if (w->failed) return;
    const vec6 gravity = {{0, 0, 0}, v3_scale(v3_of(t->gravity), -1)};
    for (int k = 0; k < t->n; k++) {
        const tree_link *l = &t->links[k];
        const se3 *T = &c->local[k];
        const int p = t->parent[k], i = t->given[k];
        const vec6 S = own_axis(l), joint = vec6_scale(S, c->v[i]);
        V[k] = p < 0 ? joint : vec6_add(se3_motion_in(T, V[p]), joint);
        A[k] = vec6_add(se3_motion_in(T, p < 0 ? gravity : A[p]), vec6_add(vec6_scale(S, c->a[i]), vec6_cross(V[k], joint)));
        const inertia I = inertia_about(l->mass, l->com, l->I);
        const vec6 h = inertia_times(&I, V[k]), f = inertia_times(&I, A[k]);
        F[k] = (vec6){v3_add(f.w, v3_add(v3_cross(V[k].w, h.w), v3_cross(V[k].l, h.l))), v3_add(f.l, v3_cross(V[k].w, h.l))};
    }
    for (int k = t->n - 1; k >= 0; k--) {
        const tree_link *l = &t->links[k];
        c->tau[t->given[k]] = (l->slides ? F[k].l.z : F[k].w.z) + l->armature * c->a[t->given[k]];
        if (t->parent[k] >= 0) F[t->parent[k]] = vec6_add(F[t->parent[k]], se3_wrench_out(&c->local[k], F[k]));
    }
}

ctn_status forms_rnea(work *w, ctn_scan scan, const double *q, const double *v, const double *a, double *tau, ctn_error *err)
{
    if (scan == CTN_SCAN_PATHS) return path_rnea(w, w->cut, CTN_SCAN_PATHS, q, v, a, tau, err);
    rnea_call c = {.tree = w->tree, .v = v, .a = a, .tau = tau};
    w->failed = false;
    if (scan == CTN_SCAN_SIMULATED) {
        c.pose = link_poses(w, scan, q);
        if (c.pose) {
            const v3 origin = common_origin(w, c.pose);
            c.origin = &origin;
            simulated(w, &c);
        }
    } else {
        c.local = local_poses(w, q);
        if (c.local && scan == CTN_SCAN_SERIAL) serial(w, &c);
        else if (c.local) by_recurrences(w, scan, &c);
    }
    return w->failed ? fail(err, CTN_NO_MEMORY, "no memory for the scans of %d links", w->tree->n) : CTN_OK;
}

typedef struct {
    ctn_scan scan;
    const double *q, *v, *a;
    double *tau;
} rnea_states;

static ctn_status rnea_state(work *w, void *context, int state, ctn_error *err)
{
    const rnea_states *c = context;
    const size_t at = (size_t)state * (size_t)w->tree->n;
    return forms_rnea(w, c->scan, c->q + at, c->v + at, c->a + at, c->tau + at, err);
}

ctn_status scan_check(ctn_scan scan, ctn_error *err)
{
    if ((int)scan >= CTN_SCAN_SERIAL && scan <= CTN_SCAN_PATHS) return CTN_OK;
    return fail(err, CTN_BAD_ARGUMENT, "scan: expected one of ctn_scan, found %d", (int)scan);
}

ctn_status ctn_forms_rnea(ctn_forms *f, ctn_scan scan, int count, const double *q, const double *v, const double *a, double *tau,
                          ctn_error *err)
{
    const char *const call = "ctn_forms_rnea";
    if (missing(call, "forms", f, err) || missing(call, "q", q, err) || missing(call, "v", v, err) ||
        missing(call, "a", a, err) || missing(call, "tau", tau, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    if (forms_refused(f, call, scan == CTN_SCAN_SIMULATED, err)) return CTN_UNAVAILABLE;
    if (f->there) return f->device->rnea(f->there, f->all.origin, count, q, v, a, tau, err);
    return each_state(f, count, rnea_state, &(rnea_states){scan, q, v, a, tau}, err);
}

static void own_twists(void *context, int block)
{
    const rnea_call *c = context;
    FOR_BLOCK(k, block, c->tree->n)
    {
        double *const out = c->twist + (size_t)6 * (size_t)c->tree->given[k];
        v3_to(out, c->vel[k].b.w), v3_to(out + 3, c->vel[k].b.l);
    }
}

ctn_status ctn_forms_twists(ctn_forms *f, ctn_scan scan, const double *q, const double *v, double *twist, ctn_error *err)
{
    const char *const call = "ctn_forms_twists";
    if (missing(call, "forms", f, err) || missing(call, "q", q, err) || missing(call, "v", v, err) ||
        missing(call, "twist", twist, err) || scan_check(scan, err))
        return CTN_BAD_ARGUMENT;
    if (forms_refused(f, call, scan == CTN_SCAN_SIMULATED, err)) return CTN_UNAVAILABLE;
    if (f->there) return f->device->twists(f->there, f->all.origin, q, v, twist, err);
    work *const w = &f->all;
    const size_t n = (size_t)w->tree->n;
    const int blocks = blocks_of(w->tree->n);
    rnea_call c = {.tree = w->tree, .v = v, .twist = twist};
    w->failed = false;
    if (scan == CTN_SCAN_SIMULATED) {
        c.pose = link_poses(w, scan, q);
        c.joint = work_room(w, SLOT_A, n, sizeof(vec6)), c.V = work_room(w, SLOT_B, n, sizeof(vec6));
        if (!w->failed) {
            const v3 origin = common_origin(w, c.pose);
            c.origin = &origin;
            phase(w, blocks, joint_velocities, &c);
            rootfix_sums(w, scan, c.joint, c.V);
            phase(w, blocks, common_twists, &c);
        }
    } else {
        c.local = local_poses(w, q);
        c.x = work_room(w, SLOT_A, n, sizeof(recurrence)), c.vel = work_room(w, SLOT_B, n, sizeof(recurrence));
        if (!w->failed) {
            phase(w, blocks, own_velocities, &c);
            rootfix_recurrences(w, scan, c.x, c.vel);
            phase(w, blocks, own_twists, &c);
        }
    }
    return w->failed ? fail(err, CTN_NO_MEMORY, "no memory for the scans of %d links", w->tree->n) : CTN_OK;
}
