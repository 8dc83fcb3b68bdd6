/// What happened in steps: sums over calls, and freezing in words.
#include <catena/batch.h>

const char *ctn_freeze_text(ctn_freeze reason)
{
    switch (reason) {
    case CTN_RUNNING: return "it still runs";
    case CTN_FREEZE_NOT_FINITE: return "its coordinates or velocities became infinite or undefined";
    case CTN_FREEZE_NOT_CONVERGED: return "no step was found, not even after halving it repeatedly";
    case CTN_FREEZE_ANGLE: return "a joint angle went beyond 1e6 rad (1e4 in single precision)";
    case CTN_FREEZE_STEP: return "the step size that the tolerance asks for is too small";
    case CTN_FREEZE_PARTS: return "a step takes more than 100000 parts of the size that the tolerance asks for";
    }
    return "unknown reason";
}

static double larger(double a, double b) { return a > b ? a : b; }

void ctn_step_stats_add(ctn_step_stats *sum, const ctn_step_stats *next)
{
    if (!sum || !next) return;
    sum->steps += next->steps;
    sum->iterations += next->iterations;
    sum->iterations_max = next->iterations_max > sum->iterations_max ? next->iterations_max : sum->iterations_max;
    sum->evaluations += next->evaluations;
    sum->line_search += next->line_search;
    sum->curvature += next->curvature;
    sum->fallbacks += next->fallbacks;
    sum->fewer_stages += next->fewer_stages;
    sum->substeps += next->substeps;
    sum->rejected += next->rejected;
    sum->residual = larger(sum->residual, next->residual);
    sum->energy_after = next->energy_after;
    sum->energy_min = -larger(-sum->energy_min, -next->energy_min);
    sum->energy_max = larger(sum->energy_max, next->energy_max);
    sum->kinetic_after = next->kinetic_after;
    sum->potential_after = next->potential_after;
    sum->spring_after = next->spring_after;
    sum->work += next->work;
    sum->dissipated += next->dissipated;
    // as in one call with all these steps, to the last bit (integrators/energy.h)
    sum->created = (sum->kinetic_after - sum->kinetic_before) + (sum->potential_after - sum->potential_before) +
                   (sum->spring_after - sum->spring_before) - sum->work + sum->dissipated;
    sum->frozen = next->frozen;
    sum->frozen_time = next->frozen_time;
}
