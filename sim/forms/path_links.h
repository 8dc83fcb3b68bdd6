/// Links as forward dynamics see them, and what they ask of each other along heavy paths: on threads of the CPU and of devices.
#ifndef CATENA_SIM_FORMS_PATH_LINKS_H
#define CATENA_SIM_FORMS_PATH_LINKS_H

#include "sim/forms/star.h"
#include "sim/forms/tree.h"

/// What is left of a link for the way outwards; then its acceleration.
typedef struct {
    pivot e;
    vec6 b;
    v3 r;
    vec6 d;
} factor;

typedef struct {
    struct work *w;
    const ctn_tree *tree;
    const struct pieces *cut;
    const se3 *local, *pose;
    const vec6 *V;  // [n] angular velocities
    const double *v, *tau;
    double *qdd;
    factor *f;     // [n]
    port *handed;  // [npath] what each path asks of the link that it hangs on
    int level;
} path_call;

/// What the joint of link k adds to its angular velocity.
FN vec6 path_turning(const path_call *c, int k)
{
    const double v = c->tree->links[k].slides ? 0 : c->v[c->tree->given[k]];
    return (vec6){v3_scale(c->pose[k].Z, v), {0, 0, 0}};
}

/// Link k with its joint, and what it asks by itself: its inertia, the wrench of its motion.
FN void path_link(const path_call *c, int k, joint_at *joint, port *own)
{
    const ctn_tree *const t = c->tree;
    const tree_link *const l = &t->links[k];
    const int p = t->parent[k];
    const se3 *T = &c->pose[k];
    const double v = c->v[t->given[k]];
    const v3 w = c->V[k].w, before = p < 0 ? (v3){0, 0, 0} : c->V[p].w;
    joint->z = T->Z, joint->slides = l->slides, joint->armature = l->armature;
    joint->tau = c->tau ? c->tau[t->given[k]] : 0;
    joint->r = p < 0 ? c->local[k].p : se3_turn(&c->pose[p], c->local[k].p);
    const v3 rate = v3_scale(v3_cross(before, T->Z), v);
    joint->b = (vec6){{0, 0, 0}, v3_cross(before, v3_cross(before, joint->r))};
    if (l->slides) joint->b.l = v3_add(joint->b.l, v3_scale(rate, 2));
    else joint->b.w = rate;

    const sym33 about_com = sym33_turned(T, &l->I);
    const inertia I = inertia_about(l->mass, se3_turn(T, l->com), about_com);
    own->A = I.I, own->C = (sym33){I.m, I.m, I.m, 0, 0, 0};
    own->B[0] = (v3){0, -I.h.z, I.h.y}, own->B[1] = (v3){I.h.z, 0, -I.h.x}, own->B[2] = (v3){-I.h.y, I.h.x, 0};
    own->p = (vec6){v3_cross(w, sym33_times(&I.I, w)), v3_cross(w, v3_cross(w, I.h))};
}

/// Adds what hangs on link k besides the next link of its path.
FN void path_gather(const path_call *c, int k, port *own)
{
    const ctn_tree *const t = c->tree;
    for (int child = t->end[k] > k + 1 ? t->end[k + 1] : t->end[k]; child < t->end[k]; child = t->end[child])
        port_add(own, &c->handed[t->on[child]]);
}

/// The acceleration of the link, or the world, that a path hangs on: gravity is had by lifting the world.
FN vec6 path_base(const path_call *c, int path)
{
    const int p = c->tree->parent[c->tree->path[path]];
    return p < 0 ? (vec6){{0, 0, 0}, v3_scale(v3_of(c->tree->gravity), -1)} : c->f[p].d;
}

#endif
