/// One process that makes all worlds: nothing is shared.
#include "cli/ranks.h"

#include "cli/message.h"

#include <stdlib.h>

int ranks_open(ranks *r)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};  // what mpirun of Open MPI, of MPICH and others set
    *r = (ranks){.count = 1};
    for (int k = 0; k < 2; k++) {
        const char *const size = getenv(sizes[k]);
        if (size && atoi(size) > 1)
            return usage_error("built without MPI; %s is %s, and that many processes would all make the same worlds: let mpirun "
                               "start catena-mpi, or unset %s to make them alone",
                               sizes[k], size, sizes[k]);
    }
    return EXIT_OK;
}

void ranks_close(ranks *r) { (void)r; }

int ranks_worst(ranks *r, int status)
{
    (void)r;
    return status;
}

bool ranks_share(ranks *r, const tally *own, tally *sum)
{
    (void)r;
    *sum = *own;
    return own->ended;
}
