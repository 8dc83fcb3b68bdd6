/// Random bodies that fall onto the ground and obstacles, for tests of contact: ragdolls, ropes, loose boxes and balls, trees of anything.
#ifndef CATENA_TESTS_GROUND_SCENES_H
#define CATENA_TESTS_GROUND_SCENES_H

#include <catena/catena.h>

#include "tests/random_scene.h"

typedef enum ground_kind {
    GROUND_RAGDOLL,  // 1.8 m, some 50 kg: 11 links on balls and hinges, 25 degrees of freedom
    GROUND_ROPE,     // capsules on balls, or on hinges whose axes take turns
    GROUND_LOOSE,    // boxes, balls and capsules
    GROUND_TREE,     // capsules, spheres and boxes on balls and hinges
    GROUND_KINDS
} ground_kind;

/// The model of a kind for a seed, with friction from 0 to 1, on a level ground or, every other seed, on a slope. depth: of its
/// contact, m; 0: by the model. q, v, GROUND_MOST numbers each: a state above the ground to begin with. Aborts the test if there
/// is no such model.
ctn_model *ground_model(ground_kind kind, uint64_t seed, double depth, double *q, double *v);

/// The same over a ground with random obstacles, and, every third seed, a terrain.
ctn_model *obstacle_model(ground_kind kind, uint64_t seed, double depth, double *q, double *v);

/// What else may act on a ragdoll on the ground.
typedef enum doll_load {
    DOLL_PUSHED,   // springs, forces and torques in both axes, thrusters
    DOLL_SUNK,     // a fluid with linear drag, of another one across than along limbs, and a current
    DOLL_BLOWN,    // drag by the square in a current that rises with the height
    DOLL_SERVOED,  // motors on balls, of all types
    DOLL_WOUND,    // motors on hinges, with integral terms
    DOLL_LOADS
} doll_load;
ctn_model *loaded_doll(doll_load load, uint64_t seed, double *q, double *v);

/// Gives all contact points of a random model torsional and rolling friction.
void resist_turns(ctn_model *m, uint64_t seed);

enum { GROUND_MOST = 96 };

#endif
