/// The model as kernels read it: structure and frames of dynamics/model.h, and in each lane the constants of its own world.
/// Worlds that have no constants of their own share one.
#ifndef CATENA_LANE_MODEL_H
#define CATENA_LANE_MODEL_H

#include "dynamics/lane.h"
#include "dynamics/model.h"

/// Lengths and angles are the same in all lanes, but where lanes are parts of one tree (CATENA_ALONG, sim/along/): there each has
/// its own.
#ifdef CATENA_ALONG
typedef real model_length;
FN real len(model_length x) { return x; }
#else
typedef double model_length;
FN real len(model_length x) { return rset(x); }
#endif

typedef struct lane_body {
    BODY_STRUCTURE
    BODY_LENGTHS(model_length)
    BODY_CONSTANTS(real)
} lane_body;

typedef struct lane_point_load {
    LOAD_STRUCTURE
    LOAD_CONSTANTS(real)
} lane_point_load;

typedef struct lane_model {
    int nbody, nlink, nq, nv, nload;
    lane_body *bodies;        // [nbody]
    lane_point_load *loads;   // [nload], by body
    const ctn_frame *frames;  // [nlink]
    const int *dof_adr;       // [nv]
    bool in_order, passive, slides;
    real dt;  // s, of a step
    WORLD_CONSTANTS(real)
} lane_model;

#endif
