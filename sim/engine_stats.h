/// What engines tell of a world: statistics and totals, out of its lane. Included by engine_kernels.h.
#ifndef CATENA_ENGINE_STATS_H
#define CATENA_ENGINE_STATS_H

#include <math.h>

/// What happened in lane l.
KERNEL void lane_stats(const block_counts *c, int l, ctn_step_stats *s)
{
    const real created = energy_created(c->before, c->after, c->flow), before = energy_sum(c->before),
               after = energy_sum(c->after);
#define LANE(x) ((double)((const lane_number *)&(x))[l])
    memset(s, 0, sizeof *s);  // padding, too
    s->steps = (long)LANE(c->steps);
    s->iterations = (long)LANE(c->iterations);
    s->iterations_max = (int)LANE(c->iterations_max);
    s->evaluations = (long)LANE(c->evaluations);
    s->line_search = (long)LANE(c->line_search);
    s->curvature = (long)LANE(c->curvature);
    s->fallbacks = (long)LANE(c->fallbacks);
    s->fewer_stages = (long)LANE(c->fewer);
    s->substeps = (long)LANE(c->substeps);
    s->rejected = (long)LANE(c->rejected);
    s->residual = LANE(c->residual);
    s->energy_before = LANE(before);
    s->energy_after = LANE(after);
    s->energy_min = LANE(c->energy_min);
    s->energy_max = LANE(c->energy_max);
    s->kinetic_before = LANE(c->before.kinetic);
    s->kinetic_after = LANE(c->after.kinetic);
    s->potential_before = LANE(c->before.potential);
    s->potential_after = LANE(c->after.potential);
    s->spring_before = LANE(c->before.spring);
    s->spring_after = LANE(c->after.spring);
    s->work = LANE(c->flow.work);
    s->dissipated = LANE(c->flow.dissipated);
    s->created = LANE(created);
    s->frozen = (ctn_freeze)LANE(c->frozen);
    s->frozen_time = LANE(c->part);
    s->frozen_dof = (int)LANE(c->at_fault.dof);
    s->frozen_position = LANE(c->at_fault.at), s->frozen_velocity = LANE(c->at_fault.rate);
    const double left = LANE(c->at_fault.left);
    s->frozen_residual = left == left ? left : NAN;  // whichever NaN it is
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
