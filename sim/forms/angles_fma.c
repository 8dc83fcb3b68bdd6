/// Compiled with -mfma.
#include "sim/forms/angles.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/trig.h"

void angles_fma(int n, const double *angle, double *sine, double *cosine)
{
    for (int k = 0; k < n; k++) sincosr(angle[k], &sine[k], &cosine[k]);
}
