/// Hermite's polynomial [Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6] and slerp [Shoemake 1985].
#include "render/draw/interpolation.h"

#include "sim/model/model.h"

#include <math.h>
#include <string.h>

static double hermite(double h, double q0, double v0, double q1, double v1, double s)
{
    const double d = q1 - q0;
    return q0 + s * d + s * (s - 1) * ((1 - 2 * s) * d + (s - 1) * h * v0 + s * h * v1);
}

static void great_circle(const double *a, const double *b, double s, double *q)
{
    double dot = 0, n = 0;
    for (int k = 0; k < 4; k++) dot += a[k] * b[k];
    const double sign = dot < 0 ? -1 : 1, angle = acos(fmin(fabs(dot), 1));
    const double x = angle > 1e-6 ? sin((1 - s) * angle) / sin(angle) : 1 - s,
                 y = sign * (angle > 1e-6 ? sin(s * angle) / sin(angle) : s);
    for (int k = 0; k < 4; k++) q[k] = x * a[k] + y * b[k], n += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= sqrt(n);
}

void interpolate_state(const ctn_model *model, double h, const double *q0, const double *v0, const double *q1, const double *v1,
                       double s, double *q, double *v)
{
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    for (size_t k = 0; k < nv; k++) v[k] = s <= 0 ? v0[k] : s >= 1 ? v1[k] : v0[k] + s * (v1[k] - v0[k]);
    if (s <= 0 || s >= 1 || !memcmp(q0, q1, nq * sizeof *q)) {
        memcpy(q, s < 1 ? q0 : q1, nq * sizeof *q);
        return;
    }
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const ctn_link *const l = ctn_model_link(model, i);
        const int quaternion = link_quaternion(l);
        for (int k = 0; k < quaternion; k++)
            q[l->qadr + k] = hermite(h, q0[l->qadr + k], v0[l->vadr + k], q1[l->qadr + k], v1[l->vadr + k], s);
        if (quaternion < l->nq) great_circle(q0 + l->qadr + quaternion, q1 + l->qadr + quaternion, s, q + l->qadr + quaternion);
    }
}
