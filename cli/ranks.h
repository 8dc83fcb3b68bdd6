/// The processes that share the worlds of a rollout, one of them, rank 0, speaking for all. Two files make these functions:
/// cli/ranks_mpi.c those of the command catena-mpi, cli/ranks_alone.c those of `catena`, which is always alone.
#ifndef CATENA_CLI_RANKS_H
#define CATENA_CLI_RANKS_H

#include <stdbool.h>

typedef struct ranks {
    int rank, count;          // of this process; how many there are
    struct ranks_mail *mail;  // NULL: alone
} ranks;

/// How far a process is, or all together.
typedef struct tally {
    long done, before, frozen, fallen;  // worlds, `before` of them out of the file
    double occupancy;                   // of the lanes, summed over `calls` in which they iterated
    long calls;
    long status;       // the worst exit status of those that have failed
    long interrupted;  // how many were asked to stop
    long ended;        // no more worlds come
} tally;

/// Finds the other processes. Returns an exit status, the same for all; ranks_close is due in any case, and waits for the others.
int ranks_open(ranks *r);
void ranks_close(ranks *r);

/// The worst of the exit statuses of all. Waits until all have called it.
int ranks_worst(ranks *r, int status);

/// Tells how far this process is, and puts what is known of all into `sum`, at other ranks than 0 with delay. Does not wait, but
/// for some milliseconds when this process has ended. Returns whether all have, and know it: then there is nothing more to tell.
bool ranks_share(ranks *r, const tally *own, tally *sum);

#endif
