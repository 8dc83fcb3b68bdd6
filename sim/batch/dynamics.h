/// What the calls of catena/dynamics.h work in.
#ifndef CATENA_SIM_DYNAMICS_H
#define CATENA_SIM_DYNAMICS_H

#include "dynamics/model.h"
#include "sim/engine/engine.h"

#include <catena/dynamics.h>

struct ctn_dynamics {
    const ctn_model *model;
    const ctn_engine *one, *many;  // for one state, for several
    lane_model *lane, *lanes;      // in the lanes of these
    void *scratch;
    double *frames;   // R [nlink][9], p [nlink][3] of one state
    double *columns;  // [7][nv]
    double *pulls;    // [nlink][12], [nv][6]: of sim/batch/motion_pullback.c, as is
    bool *pulled;     // [2][nlink]
};

#endif
