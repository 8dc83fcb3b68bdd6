#include "sim/forms/angles.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/trig.h"

void angles_plain(int n, const double *angle, double *sine, double *cosine)
{
    for (int k = 0; k < n; k++) sincosr(angle[k], &sine[k], &cosine[k]);
}

void angles_of(int n, const double *angle, double *sine, double *cosine)
{
#ifdef CATENA_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        angles_fma(n, angle, sine, cosine);
        return;
    }
#endif
    angles_plain(n, angle, sine, cosine);
}
