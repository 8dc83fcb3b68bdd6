/// The processes that share the worlds of a rollout, one of them, rank 0, speaking for all. The library knows only their
/// functions: sim/runs/ranks_mpi.c has those of processes that mpirun starts, and belongs to the command catena-mpi.
#ifndef CATENA_SIM_RANKS_H
#define CATENA_SIM_RANKS_H

#include <catena/status.h>

#include <stdbool.h>

/// How far a process is, or all together.
typedef struct tally {
    long done, before, frozen, fallen;  // worlds, `before` of them out of the file
    double occupancy;                   // of the lanes, summed over `calls` in which they iterated
    long calls;
    long fault;        // the worst of those that have failed; 0: none has
    long interrupted;  // how many were asked to stop
    long ended;        // no more worlds come
} tally;

typedef struct ranks ranks;
struct ranks {
    int rank, count;  // of this process; how many there are

    /// The worst of the faults of all, the larger the worse. Waits until all have called it.
    int (*worst)(ranks *r, int fault);

    /// Makes x [n] whole in all processes: of each comes the part that is its own, share_of_rank(). Waits until all have called it.
    void (*gather)(ranks *r, double *x, int n);

    /// Tells how far this process is, and puts what is known of all into `sum`, at other ranks than 0 with delay. Does not
    /// wait, but for some milliseconds when this process has ended. Returns whether all have, and know it: then there is
    /// nothing more to tell.
    bool (*share)(ranks *r, const tally *own, tally *sum);

    struct ranks_mail *mail;  // NULL: alone
};

/// Where the share of a rank of n things begins; it ends where that of the next one does.
static inline int share_of_rank(const ranks *r, int rank, int n) { return (int)((long)n * rank / r->count); }

/// One process that makes all worlds.
ranks ranks_alone(void);

/// Finds the processes that mpirun has started. Returns the same in all; the message is empty where another one failed.
/// ranks_mpi_close is due in any case, and waits for the others.
ctn_status ranks_mpi_open(ranks *r, ctn_error *err);
void ranks_mpi_close(ranks *r);

#endif
