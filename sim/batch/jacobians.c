/// Jacobians out of those that the engines find: of points, of the centre of mass, of momentum.
#include "sim/batch/dynamics.h"

#include <math.h>
#include <string.h>

void ctn_point_jacobian(ctn_dynamics *dyn, int count, const double *q, int link, const double *point, double *J)
{
    if (!dyn || !q || !point || !J) return;
    const int nq = dyn->model->nq, nv = dyn->model->nv, nlink = dyn->model->nlink;
    for (int k = 0; k < count; k++, q += nq, J += 3 * (size_t)nv) {
        if (link < 0 || link >= nlink) {
            for (int i = 0; i < 3 * nv; i++) J[i] = NAN;
            continue;
        }
        // the velocity of the origin plus omega x r
        double *const R = dyn->frames, *const p = R + 9 * (size_t)nlink, *const of_link = dyn->columns;
        ctn_forward_kinematics(dyn, 1, q, R, p);
        ctn_jacobian(dyn, 1, q, link, of_link);
        double r[3];
        for (int i = 0; i < 3; i++) {
            const double *const row = R + 9 * (size_t)link + 3 * i;
            r[i] = row[0] * point[0] + row[1] * point[1] + row[2] * point[2];
        }
        for (int j = 0; j < nv; j++) {
            const double w[3] = {of_link[j], of_link[nv + j], of_link[2 * nv + j]};
            J[j] = of_link[3 * nv + j] + (w[1] * r[2] - w[2] * r[1]);
            J[nv + j] = of_link[4 * nv + j] + (w[2] * r[0] - w[0] * r[2]);
            J[2 * nv + j] = of_link[5 * nv + j] + (w[0] * r[1] - w[1] * r[0]);
        }
    }
}

/// The centroidal matrix A [6][nv] of one state: column j is the momentum of the velocity e_j. Returns the mass.
static double momentum_columns(ctn_dynamics *dyn, const double *q, double *A)
{
    const int nv = dyn->model->nv;
    double *const unit = dyn->columns + 6 * (size_t)nv;
    ctn_totals t = {.mass = NAN};
    memset(unit, 0, (size_t)nv * sizeof *unit);
    for (int j = 0; j < nv; j++) {
        unit[j] = 1;
        ctn_energy_momentum(dyn, 1, q, unit, &t);
        unit[j] = 0;
        const double *const l = t.momentum_linear, *const c = t.com;
        A[j] = t.momentum_angular[0] - (c[1] * l[2] - c[2] * l[1]);
        A[nv + j] = t.momentum_angular[1] - (c[2] * l[0] - c[0] * l[2]);
        A[2 * nv + j] = t.momentum_angular[2] - (c[0] * l[1] - c[1] * l[0]);
        for (int i = 0; i < 3; i++) A[(3 + i) * nv + j] = l[i];
    }
    return t.mass;
}

void ctn_centroidal_matrix(ctn_dynamics *dyn, int count, const double *q, double *A)
{
    if (!dyn || !q || !A) return;
    for (int k = 0; k < count; k++)
        momentum_columns(dyn, q + (size_t)k * (size_t)dyn->model->nq, A + 6 * (size_t)k * (size_t)dyn->model->nv);
}

void ctn_com_jacobian(ctn_dynamics *dyn, int count, const double *q, double *J)
{
    if (!dyn || !q || !J) return;
    const size_t nq = (size_t)dyn->model->nq, nv = (size_t)dyn->model->nv;
    for (int k = 0; k < count; k++, q += nq, J += 3 * nv) {
        const double mass = momentum_columns(dyn, q, dyn->columns);
        for (size_t i = 0; i < 3 * nv; i++) J[i] = mass > 0 ? dyn->columns[3 * nv + i] / mass : NAN;
    }
}
