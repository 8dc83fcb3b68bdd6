/// What forward dynamics have in common: links in world axes about their own origins, heavy paths level by level.
#ifndef CATENA_SIM_FORMS_PATHS_H
#define CATENA_SIM_FORMS_PATHS_H

#include "sim/forms/fix.h"
#include "sim/forms/star.h"

#include <stdatomic.h>

/// What is left of a link for the way outwards; then its acceleration.
typedef struct {
    pivot e;
    vec6 b;
    v3 r;
    vec6 d;
} factor;

typedef struct {
    work *w;
    const ctn_tree *tree;
    const pieces *cut;
    const se3 *local, *pose;
    const vec6 *V;  // [n] angular velocities
    const double *v, *tau;
    double *qdd;
    factor *f;     // [n]
    port *handed;  // [npath] what each path asks of the link that it hangs on
    int level;
    atomic_int bad;  // the first link, as it was given, without inertia against its joint; INT_MAX: none
} path_call;

/// Poses and angular velocities by scans, or by the recursion; room for factors and handed ports. false: no memory.
bool path_begin(path_call *c, work *w, const pieces *cut, ctn_scan scan, const double *q, const double *v);

/// The same state once more, after path_begin().
void path_again(path_call *c, work *w, const pieces *cut, const double *v);

/// Link k with its joint, and what it asks by itself: its inertia, the wrench of its motion.
void path_link(const path_call *c, int k, joint_at *joint, port *own);

/// Adds what hangs on link k besides the next link of its path.
static inline void path_gather(const path_call *c, int k, port *own)
{
    const ctn_tree *const t = c->tree;
    for (int child = t->end[k] > k + 1 ? t->end[k + 1] : t->end[k]; child < t->end[k]; child = t->end[child])
        port_add(own, &c->handed[t->on[child]]);
}

/// Notes that link k has no inertia against its joint.
void path_bad(path_call *c, int k);
ctn_status path_bad_status(const path_call *c, ctn_error *err);

/// The acceleration of the link, or the world, that a path hangs on: gravity is had by lifting the world.
static inline vec6 path_base(const path_call *c, int path)
{
    const int p = c->tree->parent[c->tree->path[path]];
    return p < 0 ? (vec6){{0, 0, 0}, v3_scale(v3_of(c->tree->gravity), -1)} : c->f[p].d;
}

#endif
