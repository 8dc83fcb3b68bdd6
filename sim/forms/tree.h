/// The compact model of the forms, and its vector tree.
///
/// Links stand in the order of the Euler tour, each before its children, the child with the most links beyond it first: a heavy
/// path is a run of links, and a subtree, too. The axis of a joint is the z axis of its frame.
#ifndef CATENA_SIM_FORMS_TREE_H
#define CATENA_SIM_FORMS_TREE_H

#include "sim/base/pool.h"
#include "sim/forms/algebra.h"

#include <catena/forms.h>
#include <stdbool.h>

typedef struct tree_link {
    se3 at;  // the joint's frame in the parent's
    double mass;
    v3 com;   // m, link frame
    sym33 I;  // about the centre of mass, link axes
    double armature;
    bool slides;  // prismatic
} tree_link;

struct ctn_tree {
    int n;
    double gravity[3];
    tree_link *links;  // [n]
    int *parent;       // [n] -1: the world
    int *end;          // [n] the link after the last one of its subtree
    int *depth;        // [n] from 1
    int *given;        // [n] its number as it was given
    int *place;        // [n] of a given number: where it stands
    int *tour;         // [2n] k: link k is entered, ~k: it is left
    int npath, nlevel;
    int *on;        // [n] its heavy path
    int *path;      // [npath + 1] heavy paths: the first link of each; n
    int *level;     // [nlevel + 1] into `by_level`: a path of level l hangs on one of level l - 1
    int *by_level;  // [npath] paths, by level, then by number
};

/// A tree without links' data: all arrays that come from `parent` [n], but `links` has room only. NULL on error.
ctn_tree *tree_of_parents(int n, const int *parent, int threads, ctn_error *err);

/// The step of the tour at which link k is entered, and left: before it, the k links before it are entered, and all but its
/// ancestors left.
FN int tree_lp(const ctn_tree *t, int k) { return 2 * k + 1 - t->depth[k]; }
FN int tree_rp(const ctn_tree *t, int k) { return tree_lp(t, k) + 2 * (t->end[k] - k) - 1; }

/// The first link of the heavy path that link k is on.
FN int tree_top(const ctn_tree *t, int k) { return t->path[t->on[k]]; }

/// A given link, and its parent (NULL: the world), both turned so that their joints' axes are z.
tree_link tree_link_of(const ctn_tree_link *link, const ctn_tree_link *parent);

/// Threads that a caller has asked for, 0 being one a CPU. 0: more than can be.
int threads_asked(int threads, ctn_error *err);

enum { MAX_THREADS = 1024 };

#endif
