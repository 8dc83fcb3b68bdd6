/// Random trees for the tests of forms: links as they take them, the same as a scene, and their inverse dynamics in long double.
#ifndef CATENA_TESTS_DRAWN_TREE_H
#define CATENA_TESTS_DRAWN_TREE_H

#include "tests/random_scene.h"

#include <catena/catena.h>

typedef struct {
    int n;
    int *parent;           // [n] each before its children
    ctn_tree_link *links;  // [n]
    double gravity[3];
} drawn_tree;

enum { BY_CHANCE = 0, FOREST = -1 };  // of `branching`: parents by chance; likewise, and some links hang on the world

/// Links of every kind that trees take, hung as Featherstone's autoTree hangs them, or by chance.
drawn_tree draw_tree(uint64_t seed, int n, double branching);
void drawn_free(drawn_tree *t);

/// The tree by the C API, and the model by a scene's text. Fail the test if there is none.
ctn_tree *drawn_forms(const drawn_tree *t, int threads);
ctn_model *drawn_model(const drawn_tree *t);

/// q, v, a or tau [n]: angles within 3 rad, strokes within 0.5 m, others within 1.
void draw_state(const drawn_tree *t, rng *r, double *q, double *v, double *a);

/// Inverse dynamics by the plain recursion, in long double and world axes, about each link's own origin.
void long_rnea(const drawn_tree *t, const double *q, const double *v, const double *a, double *tau);

/// Cylinders of [L] 7.1 with turned axes, as ctn_tree_generate draws them.
drawn_tree draw_cylinders(int n, double branching, uint64_t seed);

#endif
