/// What engines tell of a world: statistics and totals, out of its lane. Included by engine_kernels.h.
#ifndef CATENA_ENGINE_STATS_H
#define CATENA_ENGINE_STATS_H

#include "sim/base/step_stats.h"

#include <math.h>

/// What happened in lane l.
KERNEL void lane_stats(const block_counts *c, int l, ctn_step_stats *s)
{
    const real created = energy_created(c->before, c->after, c->flow), before = energy_sum(c->before),
               after = energy_sum(c->after);
#define LANE(x) ((double)((const lane_number *)&(x))[l])
    memset(s, 0, sizeof *s);  // padding, too
#define STAT(member, type, adds, of, unit, about) s->member = (type)LANE(of);
    STEP_STATS(STAT)
#undef STAT
    if (s->frozen_residual != s->frozen_residual) s->frozen_residual = NAN;  // whichever NaN it is
#undef LANE
}

/// Lane l of the sums [12] of totals(), the last one the energy of springs.
KERNEL void lane_totals(const lane_model *m, const real *sums, int l, ctn_totals *t)
{
    double s[12];
    for (int k = 0; k < 12; k++) s[k] = ((const lane_number *)&sums[k])[l];
    t->kinetic = s[0], t->potential = s[1], t->spring = s[11], t->mass = ((const lane_number *)&m->mass)[l];
    for (int k = 0; k < 3; k++) t->momentum_linear[k] = s[2 + k], t->momentum_angular[k] = s[5 + k], t->com[k] = s[8 + k];
}

#endif
