/// Factors of the matrix of one world, for engines of several lanes whose worlds have orders of their own: the kernels of one lane,
/// compiled with what those engines need anyway. (integrators/world_factors.h)
#include "dynamics/lane_scalar.h"
#include "integrators/world_factors.h"

bool one_world_factor(const world_order *o, double *F, double *inverse, bool minimum);
bool one_world_factor(const world_order *o, double *F, double *inverse, bool minimum)
{
    return factor_panels(o, F, inverse, minimum);
}

void one_world_solve(const world_order *o, const double *F, const double *inverse, double *scratch, double *x);
void one_world_solve(const world_order *o, const double *F, const double *inverse, double *scratch, double *x)
{
    solve_panels(o, F, inverse, scratch, x);
}
