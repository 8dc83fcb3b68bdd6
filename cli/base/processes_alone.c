/// One process that makes all worlds. It is not to be one of many that make the same ones.
#include "cli/base/processes.h"

#include "cli/base/message.h"

#include <stdlib.h>

int processes_open(ranks *r)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};  // what mpirun of Open MPI, of MPICH and others set
    *r = ranks_alone();
    for (int k = 0; k < 2; k++) {
        const char *const size = getenv(sizes[k]);
        if (size && atoi(size) > 1)
            return usage_error("built without MPI; %s is %s, and that many processes would all make the same worlds: let mpirun "
                               "start catena-mpi, or unset %s to make them alone",
                               sizes[k], size, sizes[k]);
    }
    return EXIT_OK;
}

void processes_close(ranks *r) { (void)r; }
