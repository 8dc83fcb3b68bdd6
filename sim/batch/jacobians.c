/// Jacobians out of those that the engines find: of points, of the centre of mass, of momentum; their rates, and that of momentum.
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

static void cross3(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// y = R x, row-major.
static void turn3(const double *R, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

/// Adds `share` times the rate of a point's Jacobian to dJ [3][nv]. With the arm r, which turns with w, a column (w_j, u_j) at the
/// origin changes by u_j' + w_j' x r + w_j x (w x r). R [9] and w [3] are of the link.
static void add_point_rate(ctn_dynamics *dyn, const double *q, const double *v, int link, const double *R, const double *w,
                           const double *point, double share, double *dJ)
{
    const int nv = dyn->model->nv;
    double *const columns = dyn->columns, r[3], turned[3];
    turn3(R, point, r), cross3(w, r, turned);
    ctn_jacobian(dyn, 1, q, link, columns);
    for (int j = 0; j < nv; j++) {
        double x[3];
        cross3((double[]){columns[j], columns[nv + j], columns[2 * nv + j]}, turned, x);
        for (int i = 0; i < 3; i++) dJ[i * nv + j] += share * x[i];
    }
    ctn_jacobian_rate(dyn, 1, q, v, link, columns);
    for (int j = 0; j < nv; j++) {
        double x[3];
        cross3((double[]){columns[j], columns[nv + j], columns[2 * nv + j]}, r, x);
        for (int i = 0; i < 3; i++) dJ[i * nv + j] += share * (columns[(3 + i) * nv + j] + x[i]);
    }
}

/// What the links are doing at one state, in the memory of `dyn`.
typedef struct {
    const double *R, *p, *twist, *acceleration;  // [nlink][9], [3], [6], [6]
} link_motion;

/// a: accelerations of the joints; NULL: those of links are not asked for.
static link_motion move_links(ctn_dynamics *dyn, const double *q, const double *v, const double *a)
{
    const size_t n = (size_t)dyn->model->nlink;
    double *const R = dyn->frames, *const p = R + 9 * n, *const twist = p + 3 * n, *const acceleration = twist + 6 * n;
    ctn_forward_kinematics(dyn, 1, q, R, p);
    ctn_link_twists(dyn, 1, q, v, twist);
    if (a) ctn_link_accelerations(dyn, 1, q, v, a, acceleration);
    return (link_motion){R, p, twist, acceleration};
}

void ctn_point_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, int link, const double *point,
                             double *dJ)
{
    if (!dyn || !q || !v || !point || !dJ) return;
    const size_t nq = (size_t)dyn->model->nq, nv = (size_t)dyn->model->nv;
    const bool there = link >= 0 && link < dyn->model->nlink;
    for (int k = 0; k < count; k++, q += nq, v += nv, dJ += 3 * nv) {
        for (size_t i = 0; i < 3 * nv; i++) dJ[i] = there ? 0 : NAN;
        if (!there) continue;
        const link_motion M = move_links(dyn, q, v, NULL);
        add_point_rate(dyn, q, v, link, M.R + 9 * (size_t)link, M.twist + 6 * (size_t)link, point, 1, dJ);
    }
}

void ctn_com_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, double *dJ)
{
    if (!dyn || !q || !v || !dJ) return;
    const ctn_model *const m = dyn->model;
    const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
    for (int k = 0; k < count; k++, q += nq, v += nv, dJ += 3 * nv) {
        for (size_t i = 0; i < 3 * nv; i++) dJ[i] = m->mass > 0 ? 0 : NAN;
        const link_motion M = move_links(dyn, q, v, NULL);
        for (int l = 0; l < m->nlink && m->mass > 0; l++)
            if (m->links[l].mass > 0)
                add_point_rate(dyn, q, v, l, M.R + 9 * (size_t)l, M.twist + 6 * (size_t)l, m->links[l].com,
                               m->links[l].mass / m->mass, dJ);
    }
}

/// y = R I R' x of an inertia xx yy zz xy xz yz.
static void turned_inertia_times(const double *R, const double *I, const double *x, double *y)
{
    const double own[3] = {R[0] * x[0] + R[3] * x[1] + R[6] * x[2], R[1] * x[0] + R[4] * x[1] + R[7] * x[2],
                           R[2] * x[0] + R[5] * x[1] + R[8] * x[2]};
    const double h[3] = {I[0] * own[0] + I[3] * own[1] + I[4] * own[2], I[3] * own[0] + I[1] * own[1] + I[5] * own[2],
                         I[4] * own[0] + I[5] * own[1] + I[2] * own[2]};
    turn3(R, h, y);
}

/// Of links with the masses m, centres c that accelerate by a, and inertias I about these: sum of m a, and of
/// (c - com) x m a + I al + w x I w.
static void momentum_rate(const ctn_model *model, const link_motion *M, double *rate)
{
    double moment[3] = {0}, about[3], com[3];
    memset(rate, 0, 6 * sizeof *rate);
    for (int pass = 0; pass < 2; pass++)
        for (size_t l = 0; l < (size_t)model->nlink; l++) {
            const ctn_link *const k = &model->links[l];
            const double *const R = M->R + 9 * l, *const w = M->twist + 6 * l, *const al = M->acceleration + 6 * l;
            double r[3], c[3], wr[3], a[3], x[3], h[3];
            if (!(k->mass > 0)) continue;
            turn3(R, k->com, r), cross3(w, r, wr), cross3(al, r, a), cross3(w, wr, x);
            for (int i = 0; i < 3; i++) c[i] = M->p[3 * l + (size_t)i] + r[i], a[i] += x[i] + al[3 + i];
            for (int i = 0; i < 3 && !pass; i++) rate[3 + i] += k->mass * a[i], moment[i] += k->mass * c[i];
            if (!pass) continue;
            for (int i = 0; i < 3; i++) com[i] = c[i] - moment[i] / model->mass, a[i] *= k->mass;
            turned_inertia_times(R, k->inertia, w, h), cross3(w, h, x), cross3(com, a, about);
            turned_inertia_times(R, k->inertia, al, h);
            for (int i = 0; i < 3; i++) rate[i] += about[i] + h[i] + x[i];
        }
}

void ctn_momentum_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *rate)
{
    if (!dyn || !q || !v || !a || !rate) return;
    const size_t nq = (size_t)dyn->model->nq, nv = (size_t)dyn->model->nv;
    for (int k = 0; k < count; k++, q += nq, v += nv, a += nv, rate += 6) {
        const link_motion M = move_links(dyn, q, v, a);
        momentum_rate(dyn->model, &M, rate);
    }
}
