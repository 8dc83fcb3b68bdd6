/// Processes that mpirun has started.
#include "cli/base/processes.h"

#include "cli/base/message.h"

int processes_open(ranks *r)
{
    ctn_error err;
    return ranks_mpi_open(r, &err) == CTN_OK ? EXIT_OK : status_error(&err, "");
}

void processes_close(ranks *r) { ranks_mpi_close(r); }
