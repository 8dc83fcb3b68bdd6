/// Configurations and the velocities between them.
#include "dynamics/lane_scalar.h"
#include "dynamics/quaternion.h"

#include <catena/model.h>

static void store_quat(quat a, double *q) { q[0] = a.w, q[1] = a.x, q[2] = a.y, q[3] = a.z; }

/// Where the quaternion of a link is in its q and its turn in its v, -1: it has none.
static int quat_at(const ctn_link *link) { return link->joint == CTN_BALL ? 0 : link->joint == CTN_FREE ? 3 : -1; }

void ctn_model_integrate(const ctn_model *model, int count, const double *q, const double *v, double h, double *out)
{
    if (!model || !q || !v || !out) return;
    const int nq = ctn_model_nq(model), nv = ctn_model_nv(model), nlink = ctn_model_nlink(model);
    for (int k = 0; k < count; k++, q += nq, out += nq, v += nv) {
        for (int i = 0; i < nlink; i++) {
            const ctn_link *const link = ctn_model_link(model, i);
            const double *const x = q + link->qadr, *const u = v + link->vadr;
            double *const y = out + link->qadr;
            const int at = quat_at(link), plain = at < 0 ? link->nv : at;
            for (int j = 0; j < plain; j++) y[j] = x[j] + h * u[j];
            if (at < 0) continue;
            store_quat(quat_turned(quat_load(x + at), vec(h * u[at], h * u[at + 1], h * u[at + 2])), y + at);
        }
    }
}

void ctn_model_difference(const ctn_model *model, int count, const double *from, const double *to, double *v)
{
    if (!model || !from || !to || !v) return;
    const int nq = ctn_model_nq(model), nv = ctn_model_nv(model), nlink = ctn_model_nlink(model);
    for (int k = 0; k < count; k++, from += nq, to += nq, v += nv) {
        for (int i = 0; i < nlink; i++) {
            const ctn_link *const link = ctn_model_link(model, i);
            const double *const x = from + link->qadr, *const y = to + link->qadr;
            double *const u = v + link->vadr;
            const int at = quat_at(link), plain = at < 0 ? link->nv : at;
            for (int j = 0; j < plain; j++) u[j] = y[j] - x[j];
            if (at < 0) continue;
            const vec3 turn = quat_between(quat_load(x + at), quat_load(y + at));
            u[at] = turn.x, u[at + 1] = turn.y, u[at + 2] = turn.z;
        }
    }
}
