/// What tapes of one world (tape.c) and of many (tapes.c) have in common.
#ifndef CATENA_SIM_TAPE_H
#define CATENA_SIM_TAPE_H

#include "dynamics/model.h"
#include "sim/engine/engine.h"

/// Whether runs of so many steps have gradients; errors as of ctn_tape_create.
ctn_status tape_check(const ctn_model *model, const ctn_batch_config *cfg, int steps, ctn_error *err);

/// In how many ways a step may have been carried out, for adjoint_prepare.
int tape_ways(const ctn_engine *engine, const ctn_model *model, const ctn_batch_config *cfg);

#endif
