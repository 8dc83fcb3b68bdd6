/// The force F = k (target - x) - c x' at a point x of a link. It stays the same for a step, so it is
/// that of the step's end, where the velocity is x' + dt A F, A = J H^-1 J'. k = m w^2 and c = 2 m w, critically damped, with the
/// mean mass of the point, m = 3 / trace A [Khatib 1987, operational space]. The configuration changes in a step, too: w dt stays
/// below 0.3.
#include "render/view/pull.h"

#include "render/draw/vectors.h"

#include <catena/dynamics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pull {
    ctn_dynamics *dyn;
    int links, nv;
    double *R, *p, *J;         // [links][9], [links][3], [6][nv]
    double *Jx, *still, *qdd;  // [3][nv], of the point; [nv], zero; [2][nv]
};

pull *pull_create(const ctn_model *model)
{
    pull *const p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->links = ctn_model_nlink(model), p->nv = ctn_model_nv(model);
    const size_t links = (size_t)p->links, nv = (size_t)p->nv + 1;
    p->dyn = ctn_dynamics_create(model, "scalar", NULL);
    p->R = calloc(9 * links + 1, sizeof *p->R), p->p = calloc(3 * links + 1, sizeof *p->p), p->J = calloc(6 * nv, sizeof *p->J);
    p->Jx = calloc(3 * nv, sizeof *p->Jx), p->still = calloc(nv, sizeof *p->still), p->qdd = calloc(2 * nv, sizeof *p->qdd);
    if (p->dyn && p->R && p->p && p->J && p->Jx && p->still && p->qdd) return p;
    pull_free(p);
    return NULL;
}

void pull_free(pull *p)
{
    if (!p) return;
    ctn_dynamics_free(p->dyn);
    free(p->R), free(p->p), free(p->J), free(p->Jx), free(p->still), free(p->qdd);
    free(p);
}

/// The Jacobian of the point r (m, world axes, from the link's origin): velocity = that of the origin + omega x r.
static void point_jacobian(pull *p, const double *q, int link, const double *r)
{
    const size_t n = (size_t)p->nv;
    ctn_jacobian(p->dyn, 1, q, link, p->J);
    for (size_t i = 0; i < n; i++) {
        const double w[3] = {p->J[i], p->J[n + i], p->J[2 * n + i]};
        p->Jx[i] = p->J[3 * n + i] + w[1] * r[2] - w[2] * r[1];
        p->Jx[n + i] = p->J[4 * n + i] + w[2] * r[0] - w[0] * r[2];
        p->Jx[2 * n + i] = p->J[5 * n + i] + w[0] * r[1] - w[1] * r[0];
    }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/// What a force at the point does to its acceleration: A = J H^-1 J' (1/kg) [3][3].
static void point_mobility(pull *p, const double *q, double A[3][3])
{
    double *const with = p->qdd, *const without = p->qdd + p->nv;
    ctn_aba(p->dyn, 1, q, p->still, NULL, without);
    for (int k = 0; k < 3; k++) {
        ctn_aba(p->dyn, 1, q, p->still, p->Jx + (size_t)k * (size_t)p->nv, with);
        for (int i = 0; i < p->nv; i++) with[i] -= without[i];
        for (int i = 0; i < 3; i++) A[i][k] = dot(p->Jx + (size_t)i * (size_t)p->nv, with, p->nv);
    }
}

void pull_force(pull *p, const pull_at *at, double dt, const double *q, const double *v, double *force)
{
    const double *const R = p->R + 9 * (size_t)at->link, *const origin = p->p + 3 * (size_t)at->link;
    double r[3], A[3][3], stretch[3];
    force[0] = force[1] = force[2] = 0;
    ctn_forward_kinematics(p->dyn, 1, q, p->R, p->p);
    for (int i = 0; i < 3; i++) r[i] = vector_dot(R + 3 * i, at->point);
    point_jacobian(p, q, at->link, r);
    point_mobility(p, q, A);
    const double mass = 3 / (A[0][0] + A[1][1] + A[2][2]), w = fmin(12, 0.3 / dt), k = mass * w * w, c = 2 * mass * w;
    if (!(mass > 0) || !isfinite(mass)) return;  // it hangs on nothing that moves
    for (int i = 0; i < 3; i++) {
        const double velocity = dot(p->Jx + (size_t)i * (size_t)p->nv, v, p->nv);
        stretch[i] = k * (at->target[i] - origin[i] - r[i]) - (k * dt + c) * velocity;
        for (int j = 0; j < 3; j++) A[i][j] = (i == j) + (k * dt + c) * dt * A[i][j];
    }
    vector_solve(A, stretch, force);
}
