/// The processes that share the worlds of a rollout. Two files make these functions: cli/base/processes_mpi.c those of the
/// command catena-mpi, cli/base/processes_alone.c those of `catena`, which is always alone.
#ifndef CATENA_CLI_PROCESSES_H
#define CATENA_CLI_PROCESSES_H

#include "sim/runs/ranks.h"

/// Finds the other processes. Returns an exit status, the same for all; processes_close is due in any case, and waits for the
/// others.
int processes_open(ranks *r);
void processes_close(ranks *r);

#endif
