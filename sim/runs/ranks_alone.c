/// One process that makes all worlds: nothing is shared.
#include "sim/runs/ranks.h"

static int worst(ranks *r, int fault)
{
    (void)r;
    return fault;
}

static void gather(ranks *r, double *x, int n)
{
    (void)r, (void)x, (void)n;
}

static bool share(ranks *r, const tally *own, tally *sum)
{
    (void)r;
    *sum = *own;
    return own->ended;
}

ranks ranks_alone(void) { return (ranks){.count = 1, .worst = worst, .gather = gather, .share = share}; }
