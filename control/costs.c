#include "control/costs.h"

#include "control/cost_targets.h"
#include "sim/base/status.h"

#include <catena/dynamics.h>
#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct costs {
    cost_terms of;
    const ctn_model *model;
    ctn_dynamics *dyn;
    int knots, nq, nv, nu;
    int nx, n;           // of states, and of changes of them
    double knot, begin;  // s: of a knot, and where the horizon begins
    bool stands;         // all knots are then
    cost_targets *targets;
    int **dof;                               // [ncost][count]: of posture and velocity, which coordinate of v; else NULL
    double *q, *v, *R, *p, *twist, *J, *dJ;  // [knots + 1][..]: of the points in hand, of the link in hand
    ctn_totals *totals;                      // [knots + 1]
    double *r, *rows;                        // [most], [most][2 nv] of a term of a point
    double **weight;                         // [ncost][count]: over a knot; NULL: there are none
    int most;                                // squares of a term
};

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// The coordinates that a term is of.
static bool open_term(costs *c, int k)
{
    const scene_cost *const t = &c->of.term[k];
    c->most = t->count > c->most ? t->count : c->most;
    if (t->weight && !(c->weight[k] = numbers((size_t)t->count))) return false;
    for (int j = 0; j < t->count && t->weight; j++) c->weight[k][j] = c->knot * t->weight[j];
    if (t->term != COST_POSTURE && t->term != COST_VELOCITY) return true;
    c->dof[k] = calloc((size_t)t->count + 1, sizeof **c->dof);
    if (!c->dof[k]) return false;
    int dof = 0;
    for (int j = 0; j < t->njoint; j++) {
        const ctn_link *const link = ctn_model_link(c->model, t->joints[j]);
        for (int i = 0; i < link->nv; i++) c->dof[k][dof++] = link->vadr + i;
    }
    return true;
}

costs *costs_open(cost_terms of, const ctn_model *model, int knots, double knot, ctn_error *err)
{
    const size_t n = (size_t)of.count, points = (size_t)knots + 1;
    costs *const c = calloc(1, sizeof *c);
    if (!c) return fail(err, CTN_NO_MEMORY, "not enough memory for costs"), NULL;
    c->of = of, c->model = model, c->knots = knots, c->knot = knot;
    c->nq = ctn_model_nq(model), c->nv = ctn_model_nv(model), c->nu = ctn_model_ntarget(model);
    c->nx = c->nq + c->nv + (of.told ? c->nu : 0), c->n = 2 * c->nv + (of.told ? c->nu : 0);
    const size_t nlink = (size_t)ctn_model_nlink(model), nv = (size_t)c->nv;
    c->dyn = ctn_dynamics_create(model, NULL, err);
    if (!c->dyn || !(c->targets = cost_targets_open(of, model, knots, knot, err))) return costs_close(c), NULL;
    c->dof = calloc(n + 1, sizeof *c->dof), c->weight = calloc(n + 1, sizeof *c->weight);
    bool room = c->dof && c->weight;
    for (size_t k = 0; k < n && room; k++) room = open_term(c, (int)k);
    c->q = numbers(points * (size_t)c->nq), c->v = numbers(points * nv), c->R = numbers(points * 9 * nlink);
    c->p = numbers(points * 3 * nlink), c->twist = numbers(points * 6 * nlink), c->J = numbers(points * 6 * nv);
    c->dJ = numbers(points * 3 * nv), c->totals = calloc(points, sizeof *c->totals);
    c->r = numbers((size_t)c->most), c->rows = numbers((size_t)c->most * 2 * nv);
    room = room && c->q && c->v && c->R && c->p && c->twist && c->J && c->dJ && c->totals && c->r && c->rows;
    if (room) return c;
    costs_close(c);
    return fail(err, CTN_NO_MEMORY, "not enough memory for costs of %d knots", knots), NULL;
}

void costs_close(costs *c)
{
    if (!c) return;
    for (int k = 0; k < c->of.count && c->dof && c->weight; k++) free(c->dof[k]), free(c->weight[k]);
    cost_targets_close(c->targets);
    free(c->dof), free(c->weight), free(c->q), free(c->v), free(c->R), free(c->p), free(c->twist), free(c->J), free(c->dJ);
    free(c->totals), free(c->r), free(c->rows);
    ctn_dynamics_free(c->dyn);
    free(c);
}

/// What the points are, for the calls below: by kinds of terms, so that each is computed once.
static void look_at(costs *c, int count, const double *x)
{
    bool links = false, moves = false, com = false;
    for (int k = 0; k < c->of.count; k++) {
        const cost_term t = c->of.term[k].term;
        moves = moves || t == COST_POINT_VELOCITY, com = com || t == COST_COM;
        links = links || t == COST_PLACE || t == COST_ORIENTATION || t == COST_POINT_VELOCITY;
    }
    const size_t nx = (size_t)c->nx;
    for (int i = 0; i < count; i++) {
        memcpy(c->q + (size_t)i * (size_t)c->nq, x + (size_t)i * nx, (size_t)c->nq * sizeof *x);
        memcpy(c->v + (size_t)i * (size_t)c->nv, x + (size_t)i * nx + (size_t)c->nq, (size_t)c->nv * sizeof *x);
    }
    if (links) ctn_forward_kinematics(c->dyn, count, c->q, c->R, c->p);
    if (moves) ctn_link_twists(c->dyn, count, c->q, c->v, c->twist);
    if (com) ctn_energy_momentum(c->dyn, count, c->q, c->v, c->totals);
}

/// The rotation vector of R T', world axes: what turns T onto R.
static void rotation_between(const double R[9], const double target[4], double r[3])
{
    const double w = target[0], x = target[1], y = target[2], z = target[3];
    const double T[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    double D[9] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) D[3 * i + j] += R[3 * i + k] * T[3 * j + k];
    const double s[3] = {D[7] - D[5], D[2] - D[6], D[3] - D[1]}, trace = D[0] + D[4] + D[8];
    const double sine = 0.5 * sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]), angle = atan2(sine, 0.5 * (trace - 1));
    if (sine > 1e-6) {
        for (int i = 0; i < 3; i++) r[i] = 0.5 * s[i] * angle / sine;
        return;
    }
    if (trace > 0) {  // small
        for (int i = 0; i < 3; i++) r[i] = 0.5 * s[i];
        return;
    }
    int most = 0;  // half a turn, about the axis of the largest column of D + 1
    for (int i = 1; i < 3; i++) most = D[4 * i] > D[4 * most] ? i : most;
    double axis[3], length = 0;
    for (int i = 0; i < 3; i++) axis[i] = D[3 * i + most] + (i == most), length += axis[i] * axis[i];
    for (int i = 0; i < 3; i++) r[i] = angle * axis[i] / sqrt(length);
}

/// The inverse of the right Jacobian of rotations at r (side 1), or of the left one (side -1): how r changes with a turn in the
/// axes of what is turned, or of the world: 1 + side [r]x/2 + c [r]x [r]x [Sola et al., arXiv 1812.01537, equations 144, 146].
static void rotation_jacobian(const double r[3], int side, double M[9])
{
    const double a2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], a = sqrt(a2);
    const double c = a < 1e-3 ? 1.0 / 12 + a2 / 720 : 1 / a2 - (1 + cos(a)) / (2 * a * sin(a));
    const double X[9] = {0, -r[2], r[1], r[2], 0, -r[0], -r[1], r[0], 0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++) square += X[3 * i + k] * X[3 * k + j];
            M[3 * i + j] = (i == j) + 0.5 * side * X[3 * i + j] + c * square;
        }
}

/// The residual of term k at point i, which is at a knot: c->r.
static void residual(costs *c, int k, int i, int knot, const double *x, const double *u)
{
    const scene_cost *const t = &c->of.term[k];
    const double *const target = cost_target(c->targets, k, knot), *const at = x + (size_t)i * (size_t)c->nx;
    switch (t->term) {
    case COST_CONTROL:
        for (int j = 0; j < t->count; j++) c->r[j] = u[(size_t)i * (size_t)c->nu + (size_t)j] - target[j];
        return;
    case COST_CONTROL_RATE:
        for (int j = 0; j < t->count; j++)
            c->r[j] = (u[(size_t)i * (size_t)c->nu + (size_t)j] - at[c->nq + c->nv + j]) / c->knot - target[j];
        return;
    case COST_POSTURE:
        if (c->nq == c->nv) {  // no turns: coordinates add up
            for (int j = 0; j < t->count; j++) c->r[j] = at[c->dof[k][j]] - target[c->dof[k][j]];
            return;
        }
        ctn_model_difference(c->model, 1, target, at, c->rows);
        for (int j = 0; j < t->count; j++) c->r[j] = c->rows[c->dof[k][j]];
        return;
    case COST_VELOCITY:
        for (int j = 0; j < t->count; j++) c->r[j] = at[c->nq + c->dof[k][j]] - target[c->dof[k][j]];
        return;
    case COST_ORIENTATION:
        rotation_between(c->R + 9 * ((size_t)i * (size_t)ctn_model_nlink(c->model) + (size_t)t->link), target, c->r);
        return;
    case COST_COM:
        for (int j = 0; j < 3; j++) c->r[j] = c->totals[i].com[j] - target[j];
        return;
    default: break;
    }
    const size_t link = (size_t)i * (size_t)ctn_model_nlink(c->model) + (size_t)t->link;
    const double *const R = c->R + 9 * link, *const p = c->p + 3 * link, *const twist = c->twist + 6 * link;
    for (int j = 0; j < 3 && t->term == COST_PLACE; j++)
        c->r[j] = p[j] + R[3 * j] * t->point[0] + R[3 * j + 1] * t->point[1] + R[3 * j + 2] * t->point[2] - target[j];
    if (t->term == COST_PLACE) return;
    double arm[3];  // from the link's origin to the point
    for (int j = 0; j < 3; j++) arm[j] = R[3 * j] * t->point[0] + R[3 * j + 1] * t->point[1] + R[3 * j + 2] * t->point[2];
    for (int j = 0; j < 3; j++) {
        const int a = (j + 1) % 3, b = (j + 2) % 3;
        c->r[j] = twist[3 + j] + twist[a] * arm[b] - twist[b] * arm[a] - target[j];
    }
}

/// The weights of term k at a knot, NULL: it costs nothing there.
static const double *weights(costs *c, int k, int knot)
{
    const scene_cost *const t = &c->of.term[k];
    if (knot == c->knots) return t->end;
    const double time =
        c->begin + c->knot * ((c->stands ? 0 : knot) + 1e-6);  // a knot belongs to a window that it misses by a millionth of it
    if (!t->weight || time < t->from || time > t->to + 2e-6 * c->knot) return NULL;
    return c->weight[k];
}

static double cost_of(costs *c, int k, int i, int knot, const double *x, const double *u)
{
    const double *const w = weights(c, k, knot);
    double sum = 0;
    if (!w) return 0;
    residual(c, k, i, knot, x, u);
    for (int j = 0; j < c->of.term[k].count; j++) sum += w[j] * c->r[j] * c->r[j];
    return 0.5 * sum;
}

void costs_begin(costs *c, double time, bool stands)
{
    if (time == c->begin && stands == c->stands) return;
    c->begin = time, c->stands = stands;
    cost_targets_begin(c->targets, time, stands);
}

void costs_cost(costs *c, int count, const int *knot, const double *x, const double *u, double *cost)
{
    const int most = c->knots + 1, nx = c->nx;
    for (; count > 0; count -= most, knot += most, x += (size_t)most * nx, u += (size_t)most * (size_t)c->nu, cost += most) {
        const int now = count < most ? count : most;
        look_at(c, now, x);
        for (int i = 0; i < now; i++) {
            cost[i] = 0;
            for (int k = 0; k < c->of.count; k++) cost[i] += cost_of(c, k, i, knot[i], x, u);
        }
    }
}

void costs_terms(costs *c, const double *X, const double *U, double *running, double *end)
{
    look_at(c, c->knots + 1, X);
    for (int k = 0; k < c->of.count; k++) {
        running[k] = 0, end[k] = 0;
        for (int i = 0; i < c->knots; i++) running[k] += cost_of(c, k, i, i, X, U);
        if (c->of.term[k].end) end[k] = cost_of(c, k, c->knots, c->knots, X, U);
    }
}

/// Adds J'w r and J'w J, of the rows of a term, which are by the first `width` of the n coordinates.
static void add_squares(const costs *c, int count, const double *w, const double *rows, int width, double *x, double *xx)
{
    const int n = c->n;
    for (int j = 0; j < count; j++)
        for (int a = 0; a < width; a++) {
            const double g = w[j] * rows[j * width + a];
            if (g == 0) continue;
            x[a] += g * c->r[j];
            for (int b = 0; b < width; b++) xx[a * n + b] += g * rows[j * width + b];
        }
}

/// Rows of posture: the identity, but for balls.
static void posture_rows(costs *c, int k)
{
    const scene_cost *const t = &c->of.term[k];
    memset(c->rows, 0, (size_t)(t->count * c->nv) * sizeof *c->rows);
    int row = 0;
    for (int l = 0; l < t->njoint; l++) {
        const ctn_link *const link = ctn_model_link(c->model, t->joints[l]);
        const bool turns = link->joint == CTN_BALL || link->joint == CTN_FREE;
        for (int i = 0; i < link->nv; i++) c->rows[(row + i) * c->nv + link->vadr + i] = 1;
        if (turns) {
            double M[9];
            const int first = link->nv - 3;
            rotation_jacobian(c->r + row + first, 1, M);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) c->rows[(row + first + i) * c->nv + link->vadr + first + j] = M[3 * i + j];
        }
        row += link->nv;
    }
}

/// Rows of a point's velocity J v, by positions and by velocities: d(J v)/dq = dJ/dt, and less J_b [v_b]x for the three columns
/// of what turns as a ball, whose v are no rates of coordinates: turns by a and by b differ in their order by a turn about a x b.
static void velocity_rows(costs *c, int i)
{
    const int nv = c->nv;
    const double *const J = c->J + 3 * (size_t)i * (size_t)nv, *const dJ = c->dJ + 3 * (size_t)i * (size_t)nv;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < nv; b++) c->rows[2 * a * nv + b] = dJ[a * nv + b], c->rows[(2 * a + 1) * nv + b] = J[a * nv + b];
    for (int l = 0; l < ctn_model_nlink(c->model); l++) {
        const ctn_link *const link = ctn_model_link(c->model, l);
        if (link->joint != CTN_BALL && link->joint != CTN_FREE) continue;
        const int first = link->vadr + link->nv - 3;
        const double *const v = c->v + (size_t)i * (size_t)nv + (size_t)first;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                const int k = (b + 1) % 3, m = (b + 2) % 3;
                c->rows[2 * a * nv + first + b] -= J[a * nv + first + k] * v[m] - J[a * nv + first + m] * v[k];
            }
    }
}

/// What a term that is of links needs of all points: c->J.
static void find_jacobians(costs *c, int k, int count)
{
    const scene_cost *const t = &c->of.term[k];
    const bool moves = t->term == COST_POINT_VELOCITY;
    if (t->term == COST_PLACE || moves) ctn_point_jacobian(c->dyn, count, c->q, t->link, t->point, c->J);
    if (moves) ctn_point_jacobian_rate(c->dyn, count, c->q, c->v, t->link, t->point, c->dJ);
    if (t->term == COST_ORIENTATION) ctn_jacobian(c->dyn, count, c->q, t->link, c->J);
    if (t->term == COST_COM) ctn_com_jacobian(c->dyn, count, c->q, c->J);
}

/// How the residual of a term changes with coordinates, and that of a point's velocity with their rates, too: c->rows.
static void find_rows(costs *c, int k, int i)
{
    const scene_cost *const t = &c->of.term[k];
    if (t->term == COST_POSTURE) {
        posture_rows(c, k);
        return;
    }
    if (t->term == COST_POINT_VELOCITY) {
        velocity_rows(c, i);
        return;
    }
    const int height = t->term == COST_ORIENTATION ? 6 : 3;
    const double *const J = c->J + (size_t)i * (size_t)(height * c->nv);
    if (t->term != COST_ORIENTATION) {
        memcpy(c->rows, J, (size_t)(3 * c->nv) * sizeof *J);
        return;
    }
    double M[9];
    rotation_jacobian(c->r, -1, M);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < c->nv; b++) {
            double sum = 0;
            for (int e = 0; e < 3; e++) sum += M[3 * a + e] * J[e * c->nv + b];
            c->rows[a * c->nv + b] = sum;
        }
}

void costs_derivatives(costs *c, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    const size_t nv = (size_t)c->nv, n = (size_t)c->n, m = (size_t)c->nu, points = (size_t)count;
    memset(to->x, 0, points * n * sizeof *to->x), memset(to->xx, 0, points * n * n * sizeof *to->xx);
    memset(to->u, 0, points * m * sizeof *to->u), memset(to->uu, 0, points * m * m * sizeof *to->uu);
    memset(to->ux, 0, points * m * n * sizeof *to->ux);
    look_at(c, count, x);
    for (int k = 0; k < c->of.count; k++) {
        const scene_cost *const t = &c->of.term[k];
        find_jacobians(c, k, count);
        for (int i = 0; i < count; i++) {
            const double *const w = weights(c, k, knot[i]);
            double *const gx = to->x + (size_t)i * n, *const gxx = to->xx + (size_t)i * n * n;
            if (!w) continue;
            residual(c, k, i, knot[i], x, u);
            switch (t->term) {
            case COST_CONTROL:
                for (size_t j = 0; j < m; j++)
                    to->u[(size_t)i * m + j] += w[j] * c->r[j], to->uu[((size_t)i * m + j) * m + j] += w[j];
                continue;
            case COST_CONTROL_RATE:
                for (size_t j = 0; j < m; j++) {
                    const double g = w[j] * c->r[j] / c->knot, h = w[j] / (c->knot * c->knot);
                    const size_t a = 2 * nv + j;
                    to->u[(size_t)i * m + j] += g, to->uu[((size_t)i * m + j) * m + j] += h;
                    gx[a] -= g, gxx[a * n + a] += h, to->ux[((size_t)i * m + j) * n + a] -= h;
                }
                continue;
            case COST_VELOCITY:
                for (int j = 0; j < t->count; j++) {
                    const size_t a = nv + (size_t)c->dof[k][j];
                    gx[a] += w[j] * c->r[j], gxx[a * n + a] += w[j];
                }
                continue;
            default: find_rows(c, k, i); break;
            }
            add_squares(c, t->count, w, c->rows, t->term == COST_POINT_VELOCITY ? 2 * c->nv : c->nv, gx, gxx);
        }
    }
}

bool costs_distance(costs *c, int k, const double *x, double *far, double *rate)
{
    const scene_cost *const t = &c->of.term[k];
    if (!cost_target_moves(c->targets, k) || t->term == COST_CONTROL || t->term == COST_CONTROL_RATE ||
        t->term == COST_VELOCITY || t->term == COST_POINT_VELOCITY)
        return false;
    look_at(c, 1, x);
    residual(c, k, 0, 0, x, NULL);
    find_jacobians(c, k, 1), find_rows(c, k, 0);
    double r2 = 0, v2 = 0;
    for (int j = 0; j < t->count; j++) {
        double v = 0;
        for (int i = 0; i < c->nv; i++) v += c->rows[j * c->nv + i] * c->v[i];
        r2 += c->r[j] * c->r[j], v2 += v * v;
    }
    *far = sqrt(r2), *rate = sqrt(v2);
    return true;
}

int costs_squares(const costs *c)
{
    int sum = 0;
    for (int k = 0; k < c->of.count; k++) sum += c->of.term[k].count;
    return sum;
}

void costs_residuals(costs *c, int count, const double *x, const double *u, double *r, double *J)
{
    const size_t nv = (size_t)c->nv, n = (size_t)c->n, width = n + (size_t)c->nu, all = (size_t)costs_squares(c);
    size_t at = 0;
    look_at(c, count, x);
    if (J) memset(J, 0, (size_t)count * all * width * sizeof *J);
    for (int k = 0; k < c->of.count; k++) {
        const scene_cost *const t = &c->of.term[k];
        const size_t squares = (size_t)t->count;
        if (J) find_jacobians(c, k, count);
        for (size_t i = 0; i < (size_t)count; i++) {
            residual(c, k, (int)i, 0, x, u);
            memcpy(r + i * all + at, c->r, squares * sizeof *r);
            double *const rows = J ? J + (i * all + at) * width : NULL;
            if (J && t->term != COST_VELOCITY && t->term != COST_CONTROL && t->term != COST_CONTROL_RATE) {
                const size_t by = t->term == COST_POINT_VELOCITY ? 2 * nv : nv;
                find_rows(c, k, (int)i);
                for (size_t j = 0; j < squares; j++) memcpy(rows + j * width, c->rows + j * by, by * sizeof *rows);
            }
            for (size_t j = 0; j < squares && J; j++) {
                if (t->term == COST_VELOCITY) rows[j * width + nv + (size_t)c->dof[k][j]] = 1;
                if (t->term == COST_CONTROL) rows[j * width + n + j] = 1;
                if (t->term == COST_CONTROL_RATE)
                    rows[j * width + n + j] = 1 / c->knot, rows[j * width + 2 * nv + j] = -1 / c->knot;
            }
        }
        at += squares;
    }
}
