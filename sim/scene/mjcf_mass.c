/// Masses of MJCF bodies: their <inertial> or their geoms, and what <compiler> makes of them.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_inertial(mjcf *m, mjcf_body *b)
{
    robot *const r = m->r;
    const mjcf_item of = {b->inertial, -1};
    static const double none[6] = {0};
    mass_properties *const p = &b->mass;
    mjcf_pose pose;
    double J[6] = {0};
    if (!(mjcf_read_pose(m, of, &pose) && robot_numbers(r, b->inertial, "mass", 1, NULL, &p->mass))) return false;
    memcpy(p->com, pose.p, sizeof p->com);
    const xml_attribute *const full = xml_find(b->inertial, "fullinertia");
    if (full && (xml_find(b->inertial, "diaginertia") || mjcf_has_turn(m, of)))
        return robot_bad(r, full->at, "fullinertia: it stands alone, without diaginertia and orientation");
    if (full) return robot_numbers(r, b->inertial, "fullinertia", 6, NULL, p->inertia);
    if (!robot_numbers(r, b->inertial, "diaginertia", 3, none, J)) return false;
    turned_inertia(pose.q, J, p->inertia);
    return true;
}

static bool add_geoms(mjcf *m, mjcf_body *b)
{
    int count = 0;
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next) count++;
    mass_properties *const parts = reader_alloc(m->r->s->r, ((size_t)count + 1) * sizeof *parts);
    if (!parts) return false;
    count = 0;
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next)
        if (m->geoms[i].massive) parts[count++] = m->geoms[i].mass;
    b->mass = combine_masses(parts, count);
    free(parts);
    return true;
}

/// One turn of Jacobi's method: takes A[i][j] away; V collects the turns.
static void turn_away(double A[3][3], double V[3][3], int i, int j)
{
    if (A[i][j] == 0) return;
    const double angle = 0.5 * atan2(2 * A[i][j], A[j][j] - A[i][i]), c = cos(angle), s = sin(angle);
    for (int k = 0; k < 3; k++) {
        const double x = A[k][i], y = A[k][j], u = V[k][i], v = V[k][j];
        A[k][i] = c * x - s * y, A[k][j] = s * x + c * y;
        V[k][i] = c * u - s * v, V[k][j] = s * u + c * v;
    }
    for (int k = 0; k < 3; k++) {
        const double x = A[i][k], y = A[j][k];
        A[i][k] = c * x - s * y, A[j][k] = s * x + c * y;
    }
}

/// The larger one of two moments comes first: a quarter turn about the third axis.
static void sort_axes(double e[3], int k, double q[4])
{
    double turn[4] = {sqrt(0.5)};
    if (e[k] * (1 + 1e-12) >= e[k + 1]) return;
    const double smaller = e[k];
    e[k] = e[k + 1], e[k + 1] = smaller;
    turn[1 + (k + 2) % 3] = turn[0];
    quaternion_product(q, turn, q);
}

/// Principal axes as a turn q from z, by Jacobi's method, the largest entry off the diagonal first; then in falling order. With
/// this order of turns the axes point where MuJoCo's do.
static void principal_axes(const double I[6], double q[4])
{
    double D[6];
    q[0] = 1, q[1] = q[2] = q[3] = 0;
    memcpy(D, I, sizeof D);
    for (int turns = 0; turns < 100; turns++) {
        static const int row[3] = {1, 0, 0}, column[3] = {2, 2, 1}, off[3] = {5, 4, 3};  // by the axis of the turn
        const double back[4] = {q[0], -q[1], -q[2], -q[3]};
        turned_inertia(back, I, D);
        const double xy = fabs(D[3]), xz = fabs(D[4]), yz = fabs(D[5]);
        const int k = xy > xz && xy > yz ? 2 : xz > yz ? 1 : 0;
        if (!(fabs(D[off[k]]) > 1e-16 * (D[0] + D[1] + D[2]))) break;
        const double tau = (D[column[k]] - D[row[k]]) / (2 * D[off[k]]), side = tau >= 0 ? 1 : -1;
        const double t = side / (fabs(tau) + sqrt(1 + tau * tau)), c = 1 / sqrt(1 + t * t);
        const double half = sqrt(0.5 - 0.5 * c) * (k == 1 ? side : -side);
        double turn[4] = {sqrt(1 - half * half)};
        turn[1 + k] = half;
        quaternion_product(q, turn, q);
        normalise(q, 4);
    }
    sort_axes(D, 0, q), sort_axes(D, 1, q), sort_axes(D, 0, q);
}

const char *mjcf_inertial_frame(mjcf *m, const mjcf_body *b, mjcf_pose *at)
{
    const mjcf_geom *only = NULL;
    int count = 0;
    const bool given = b->inertial && m->mass_from != MASS_OF_GEOMS;
    memcpy(at->p, b->mass.com, sizeof at->p);
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next)
        if (m->geoms[i].massive) only = &m->geoms[i], count++;
    if (given && !xml_find(b->inertial, "fullinertia")) {
        mjcf_pose pose;
        if (!mjcf_read_pose(m, (mjcf_item){b->inertial, -1}, &pose)) return "its body's inertia cannot be read";
        memcpy(at->q, pose.q, sizeof at->q);
    } else if (!given && count == 1 && only->file) {
        return "it is of the principal axes of a mesh; take xbody, or give the body an <inertial>";
    } else if (!given && count == 1) {
        memcpy(at->q, only->shape.rotation, sizeof at->q);
    } else {
        principal_axes(b->mass.inertia, at->q);
    }
    return NULL;
}

/// Principal moments below `least` are made that.
static void bound_inertia(double I[6], double least)
{
    double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}, V[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 20; sweep++) turn_away(A, V, 0, 1), turn_away(A, V, 0, 2), turn_away(A, V, 1, 2);
    for (int k = 0; k < 3; k++) {
        const double more = fmax(least - A[k][k], 0), v[3] = {V[0][k], V[1][k], V[2][k]};
        I[0] += more * v[0] * v[0], I[1] += more * v[1] * v[1], I[2] += more * v[2] * v[2];
        I[3] += more * v[0] * v[1], I[4] += more * v[0] * v[2], I[5] += more * v[1] * v[2];
    }
}

/// boundmass, boundinertia, balanceinertia. What has no mass of its own gets it at `pos`, as in MuJoCo: the numbers are those of
/// the body in its parent, the frame is the body's.
static void mend(const mjcf *m, const double pos[3], mass_properties *p)
{
    double e[3];
    if (p->mass == 0 && m->bound_mass > 0) memcpy(p->com, pos, sizeof p->com);
    p->mass = fmax(p->mass, m->bound_mass);
    if (m->bound_inertia > 0) bound_inertia(p->inertia, m->bound_inertia);
    if (!m->balance || inertia_possible(p->inertia, e)) return;
    const double mean = (e[0] + e[1] + e[2]) / 3, round[6] = {mean, mean, mean, 0, 0, 0};
    memcpy(p->inertia, round, sizeof round);
}

bool mjcf_read_masses(mjcf *m)
{
    double total = 0;
    for (int i = 1; i < m->nbody; i++) {
        mjcf_body *const b = &m->bodies[i];
        const bool inertial = b->inertial && m->mass_from != MASS_OF_GEOMS;
        if (b->inertial && !inertial) xml_use_all(b->inertial);
        if (!inertial && m->mass_from == MASS_GIVEN && b->moves)
            return robot_bad(m->r, b->element->at, "<body>: missing <inertial>, as inertiafromgeom=\"false\"");
        if (inertial ? !read_inertial(m, b) : m->mass_from != MASS_GIVEN && !add_geoms(m, b)) continue;
        mend(m, b->pose.p, &b->mass);
        total += b->mass.mass;
    }
    const double scale = m->total_mass > 0 && total > 0 ? m->total_mass / total : 1;
    for (int i = 1; i < m->nbody && scale != 1; i++) {
        mass_properties *const p = &m->bodies[i].mass;
        p->mass *= scale;
        for (int k = 0; k < 6; k++) p->inertia[k] *= scale;
    }
    return m->r->good;
}
