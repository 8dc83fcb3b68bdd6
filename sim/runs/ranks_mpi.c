/// Processes that mpirun has started. They meet before the first world and after the last one. Between them each tells rank 0
/// how far it is, and rank 0 tells the others once one has failed and once all have ended: by messages that nobody waits for,
/// so that a long block of worlds holds up no one else.
#include "sim/runs/ranks.h"

#include "sim/base/status.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TALLY = 1 };  // tag of messages

/// What has been said to and heard of another process; of rank 0 it is about all of them.
typedef struct ranks_mail {
    tally said, heard;
    MPI_Request under_way;  // the sending of `said`
} ranks_mail;

/// Sends what is new, unless the last message is still under way: then there will be a later one.
static bool say(ranks_mail *mail, int to, const tally *what)
{
    int sent;
    MPI_Test(&mail->under_way, &sent, MPI_STATUS_IGNORE);
    if (!sent) return false;
    if (!memcmp(&mail->said, what, sizeof *what)) return true;
    mail->said = *what;
    MPI_Isend(&mail->said, sizeof mail->said, MPI_BYTE, to, TALLY, MPI_COMM_WORLD, &mail->under_way);
    return false;
}

/// Takes what has come.
static void listen(ranks_mail *mail)
{
    int there;
    MPI_Status from;
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, TALLY, MPI_COMM_WORLD, &there, &from);
        if (!there) return;
        tally *const heard = &mail[from.MPI_SOURCE].heard;
        MPI_Recv(heard, sizeof *heard, MPI_BYTE, from.MPI_SOURCE, TALLY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void add(tally *sum, const tally *one)
{
    sum->done += one->done, sum->before += one->before, sum->frozen += one->frozen, sum->fallen += one->fallen;
    sum->occupancy += one->occupancy, sum->calls += one->calls, sum->interrupted += one->interrupted;
    sum->fault = one->fault > sum->fault ? one->fault : sum->fault;
    sum->ended = sum->ended && one->ended;
}

/// Of rank 0.
static bool share_with_all(ranks *r, const tally *own, tally *sum)
{
    *sum = *own;
    for (int k = 1; k < r->count; k++) add(sum, &r->mail[k].heard);
    bool told = sum->ended;
    if (sum->ended || sum->fault)
        for (int k = 1; k < r->count; k++) told = say(&r->mail[k], k, sum) && told;
    return told;
}

static bool share(ranks *r, const tally *own, tally *sum)
{
    *sum = *own;
    if (!r->mail) return own->ended;
    listen(r->mail);
    bool over;
    if (!r->rank) over = share_with_all(r, own, sum);
    else {
        const bool told = say(&r->mail[0], 0, own);
        *sum = r->mail[0].heard;
        over = told && sum->ended;
    }
    if (own->ended && !over) nanosleep(&(struct timespec){0, 2000000}, NULL);
    return over;
}

static int worst(ranks *r, int fault)
{
    int all = fault;
    if (r->count > 1) MPI_Allreduce(&fault, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void gather(ranks *r, double *x, int n)
{
    for (int k = 0; k < r->count && r->count > 1; k++) {
        const int first = share_of_rank(r, k, n);
        MPI_Bcast(x + first, share_of_rank(r, k + 1, n) - first, MPI_DOUBLE, k, MPI_COMM_WORLD);
    }
}

ctn_status ranks_mpi_open(ranks *r, ctn_error *err)
{
    int threads;
    *r = (ranks){.worst = worst, .gather = gather, .share = share};
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads);  // the batch has threads, but they do not call MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank), MPI_Comm_size(MPI_COMM_WORLD, &r->count);
    if (r->count > 1) r->mail = calloc((size_t)r->count, sizeof *r->mail);
    for (int k = 0; r->mail && k < r->count; k++) r->mail[k].under_way = MPI_REQUEST_NULL;
    const bool ok = r->count == 1 || r->mail;
    if (!worst(r, !ok)) return CTN_OK;
    return fail(err, CTN_NO_MEMORY, "%s", ok ? "" : "not enough memory");
}

void ranks_mpi_close(ranks *r)
{
    for (int k = 0; r->mail && k < r->count; k++) MPI_Wait(&r->mail[k].under_way, MPI_STATUS_IGNORE);
    free(r->mail);
    r->mail = NULL;
    MPI_Finalize();
}
