/// Gradients by how links lie and move, taken back through the tree (motion_pullback.h).
///
/// Each link has two wrenches, of what depends on its pose and of what depends on its twist: (moment, force) in world axes about
/// its origin, so that nothing loses digits far from the world's. Motions are twists there, likewise.
#include "sim/batch/motion_pullback.h"

#include <string.h>

enum { WRENCHES = 12, TWIST = 6 };  // numbers of a link, of a column

static void cross3(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// y += s a x b.
static void add_cross(double *y, double s, const double *a, const double *b)
{
    double c[3];
    cross3(a, b, c);
    for (int i = 0; i < 3; i++) y[i] += s * c[i];
}

static double dot6(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/// The wrench of its pose; that of its twist is behind it.
static double *pull_of(const motion_pullback *m, int link) { return m->dyn->pulls + (size_t)link * WRENCHES; }

/// The column of a degree of freedom, about the origin of the link whose joint has it.
static double *column_of(const motion_pullback *m, int dof)
{
    return m->dyn->pulls + (size_t)m->dyn->model->nlink * WRENCHES + (size_t)dof * TWIST;
}

motion_pullback motion_pullback_at(ctn_dynamics *dyn, const double *q, const double *v)
{
    const size_t n = (size_t)dyn->model->nlink;
    double *const R = dyn->frames, *const p = R + 9 * n, *const twist = p + 3 * n;
    ctn_forward_kinematics(dyn, 1, q, R, p);
    ctn_link_twists(dyn, 1, q, v, twist);
    const motion_pullback m = {dyn, q, v, R, p, twist};
    motion_pullback_clear(&m);
    return m;
}

void motion_pullback_clear(const motion_pullback *m)
{
    const size_t n = (size_t)m->dyn->model->nlink;
    memset(m->dyn->pulls, 0, n * WRENCHES * sizeof *m->dyn->pulls);
    memset(m->dyn->pulled, 0, n * sizeof *m->dyn->pulled);
}

void motion_of_point(const motion_pullback *m, int link, const double *point, double *x, double *u)
{
    const double *const R = m->R + 9 * (size_t)link, *const p = m->p + 3 * (size_t)link,
                        *const twist = m->twist + 6 * (size_t)link;
    double r[3];
    for (int i = 0; i < 3; i++) r[i] = R[3 * i] * point[0] + R[3 * i + 1] * point[1] + R[3 * i + 2] * point[2];
    for (int i = 0; i < 3; i++) x[i] = p[i] + r[i];
    if (!u) return;
    cross3(twist, r, u);
    for (int i = 0; i < 3; i++) u[i] += twist[3 + i];
}

/// Adds a force at x to a wrench about the origin of a link.
static void add_force(const motion_pullback *m, int link, double *wrench, const double *x, const double *force)
{
    const double *const p = m->p + 3 * (size_t)link, r[3] = {x[0] - p[0], x[1] - p[1], x[2] - p[2]};
    add_cross(wrench, 1, r, force);
    for (int i = 0; i < 3; i++) wrench[3 + i] += force[i];
    m->dyn->pulled[link] = true;
}

void pull_place(const motion_pullback *m, int link, const double *x, const double *by)
{
    add_force(m, link, pull_of(m, link), x, by);
}

void pull_turn(const motion_pullback *m, int link, const double *by)
{
    for (int i = 0; i < 3; i++) pull_of(m, link)[i] += by[i];
    m->dyn->pulled[link] = true;
}

void pull_velocity(const motion_pullback *m, int link, const double *x, const double *by)
{
    // the wrench g, and V x* g with what x moves by as the link turns; of these forces cancel, and u x by is left of moments
    const double *const p = m->p + 3 * (size_t)link, *const twist = m->twist + 6 * (size_t)link;
    double u[3] = {twist[3], twist[4], twist[5]}, moment[3];
    add_force(m, link, pull_of(m, link) + TWIST, x, by);
    add_cross(u, 1, twist, (double[]){x[0] - p[0], x[1] - p[1], x[2] - p[2]});
    cross3(u, by, moment);
    pull_turn(m, link, moment);
}

void pull_spin(const motion_pullback *m, int link, const double *by)
{
    double moment[3];
    for (int i = 0; i < 3; i++) pull_of(m, link)[TWIST + i] += by[i];
    cross3(m->twist + 6 * (size_t)link, by, moment);
    pull_turn(m, link, moment);
}

void pull_com(const motion_pullback *m, int first, int end, const double *by, bool velocity)
{
    const ctn_model *const model = m->dyn->model;
    double mass = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < model->nlink; l++) {
            const ctn_link *const link = &model->links[l];
            const int body = model->frames[l].body;
            if (!(link->mass > 0) || body < first || body >= end) continue;
            if (pass == 0) mass += link->mass;
            if (pass == 0 || body < 0) continue;  // those do not move
            const double share = link->mass / mass, part[3] = {share * by[0], share * by[1], share * by[2]};
            double x[3];
            motion_of_point(m, l, link->com, x, NULL);
            (velocity ? pull_velocity : pull_place)(m, l, x, part);
        }
}

/// The columns of all joints between the world and a link, as far as they are not known yet.
static void find_columns(const motion_pullback *m, int link, bool *known)
{
    const ctn_model *const model = m->dyn->model;
    const size_t nv = (size_t)model->nv;
    double *const J = m->dyn->columns;
    ctn_jacobian(m->dyn, 1, m->q, link, J);
    for (int l = link; l >= 0 && !known[l]; l = model->links[l].parent) {
        double r[3];
        for (int i = 0; i < 3; i++) r[i] = m->p[3 * (size_t)l + (size_t)i] - m->p[3 * (size_t)link + (size_t)i];
        for (int j = model->links[l].vadr; j < model->links[l].vadr + model->links[l].nv; j++) {
            double *const s = column_of(m, j);
            for (size_t i = 0; i < TWIST; i++) s[i] = J[i * nv + (size_t)j];
            add_cross(s + 3, 1, s, r);
        }
        known[l] = true;
    }
}

/// Adds V x* g to h, with the twist V and wrenches g, h about the same point.
static void add_cross_force(double *h, double sign, const double *V, const double *g)
{
    add_cross(h, sign, V, g), add_cross(h, sign, V + 3, g + 3);
    add_cross(h + 3, sign, V, g + 3);
}

/// What the wrenches h and g on all that hangs on a link come to, along its own joint.
static void add_along_joint(const motion_pullback *m, int l, const double *h, const double *g, double *by_q, double *by_v)
{
    const ctn_link *const link = &m->dyn->model->links[l];
    const int ball = link->joint == CTN_BALL ? 0 : link->joint == CTN_FREE ? 3 : link->nv;  // where its ball begins
    double V[6] = {0};  // of what the joint, or its next part, hangs on, where the link has its origin
    if (link->parent >= 0) {
        const double *const p = m->p + 3 * (size_t)l, *const o = m->p + 3 * (size_t)link->parent;
        memcpy(V, m->twist + 6 * (size_t)link->parent, sizeof V);
        add_cross(V + 3, 1, V, (double[]){p[0] - o[0], p[1] - o[1], p[2] - o[2]});
    }
    for (int i = 0; i < link->nv; i++) {
        const int j = link->vadr + i;
        const double *const s = column_of(m, j);
        double w[6];
        for (int k = 0; k < 6 && i && i <= ball; k++) V[k] += column_of(m, j - 1)[k] * m->v[j - 1];
        memcpy(w, h, sizeof w), add_cross_force(w, -1, V, g);
        if (by_q) by_q[j] += dot6(s, w);
        if (by_v) by_v[j] += dot6(s, g);
    }
}

void motion_pullback_end(const motion_pullback *m, double *by_q, double *by_v)
{
    const ctn_model *const model = m->dyn->model;
    bool *const pulled = m->dyn->pulled, *const known = pulled + model->nlink;
    memset(known, 0, (size_t)model->nlink * sizeof *known);
    for (int l = model->nlink - 1; l >= 0; l--) {  // children before parents
        if (!pulled[l]) continue;
        if (!known[l]) find_columns(m, l, known);
        const int up = model->links[l].parent;
        double *const h = pull_of(m, l), *const g = h + TWIST;
        add_along_joint(m, l, h, g, by_q, by_v);
        if (up < 0) continue;
        for (int k = 0; k < 2; k++) add_force(m, up, pull_of(m, up) + k * TWIST, m->p + 3 * (size_t)l, (k ? g : h) + 3);
        for (int i = 0; i < 3; i++) pull_of(m, up)[i] += h[i], pull_of(m, up)[TWIST + i] += g[i];
    }
    motion_pullback_clear(m);
}
