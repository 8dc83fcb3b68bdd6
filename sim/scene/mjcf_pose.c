/// Places of MJCF: pos, and an orientation in one of five ways.
#include "sim/scene/mjcf.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { QUAT, AXISANGLE, EULER, XYAXES, ZAXIS, TURNS };

static const struct {
    const char *name;
    int count;
} turns[TURNS] = {{"quat", 4}, {"axisangle", 4}, {"euler", 3}, {"xyaxes", 6}, {"zaxis", 3}};

mjcf_pose mjcf_at(const mjcf_pose *frame, const mjcf_pose *inner)
{
    mjcf_pose pose;
    rotate(frame->q, inner->p, pose.p);
    for (int k = 0; k < 3; k++) pose.p[k] += frame->p[k];
    quaternion_product(frame->q, inner->q, pose.q);
    return pose;
}

bool mjcf_moves(const mjcf *m, int body)
{
    while (body > 0 && !m->bodies[body].moves) body = m->bodies[body].parent;
    return body > 0;
}

mjcf_pose mjcf_body_in_world(const mjcf *m, int body)
{
    mjcf_pose pose = {.q = {1, 0, 0, 0}};
    for (; body > 0; body = m->bodies[body].parent) pose = mjcf_at(&m->bodies[body].pose, &pose);
    return pose;
}

void mjcf_turn_about(const double axis[3], double angle, double q[4])
{
    q[0] = cos(angle / 2);
    for (int k = 0; k < 3; k++) q[1 + k] = sin(angle / 2) * axis[k];
}

void mjcf_turn_from_z(const double to[3], double q[4])
{
    const double sine = hypot(to[0], to[1]);
    const bool along = sine < 1e-14;  // z, or against it
    const double axis[3] = {along ? 1 : -to[1] / sine, along ? 0 : to[0] / sine, 0};
    mjcf_turn_about(axis, atan2(sine, to[2]), q);
}

/// Angles about the axes of eulerseq, in its order: small letters turn with the frame, large ones stay.
static void turn_by_euler(const mjcf *m, const double angles[3], double q[4])
{
    const double start[4] = {1, 0, 0, 0};
    memcpy(q, start, sizeof start);
    for (int k = 0; k < 3; k++) {
        const char letter = m->euler_order[k];
        double axis[3] = {0}, turn[4];
        axis[tolower((unsigned char)letter) - 'x'] = 1;
        mjcf_turn_about(axis, angles[k] * m->degree, turn);
        if (islower((unsigned char)letter)) quaternion_product(q, turn, q);
        else quaternion_product(turn, q, q);
    }
}

/// The quaternion of a rotation with these columns.
static void turn_of_axes(const double x[3], const double y[3], const double z[3], double q[4])
{
    const double trace = x[0] + y[1] + z[2];
    if (trace > 0) {
        q[0] = 1 + trace, q[1] = y[2] - z[1], q[2] = z[0] - x[2], q[3] = x[1] - y[0];
    } else if (x[0] > y[1] && x[0] > z[2]) {
        q[0] = y[2] - z[1], q[1] = 1 + x[0] - y[1] - z[2], q[2] = x[1] + y[0], q[3] = z[0] + x[2];
    } else if (y[1] > z[2]) {
        q[0] = z[0] - x[2], q[1] = x[1] + y[0], q[2] = 1 + y[1] - x[0] - z[2], q[3] = y[2] + z[1];
    } else {
        q[0] = x[1] - y[0], q[1] = z[0] + x[2], q[2] = y[2] + z[1], q[3] = 1 + z[2] - x[0] - y[1];
    }
    normalise(q, 4);
}

/// x and y, made perpendicular to x.
static bool turn_by_axes(double v[6], double q[4])
{
    double *const x = v, *const y = v + 3, z[3];
    if (!normalise(x, 3)) return false;
    const double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    for (int k = 0; k < 3; k++) y[k] -= along * x[k];
    if (!normalise(y, 3)) return false;
    z[0] = x[1] * y[2] - x[2] * y[1], z[1] = x[2] * y[0] - x[0] * y[2], z[2] = x[0] * y[1] - x[1] * y[0];
    turn_of_axes(x, y, z, q);
    return true;
}

/// The way of turning that an element says, or else its class, -1: none. Several at once are an error.
static int find_turn(mjcf *m, mjcf_item of)
{
    int found = -1;
    for (int k = 0; k < TURNS; k++) {
        const xml_attribute *const a = xml_find(of.element, turns[k].name);
        if (!a) continue;
        if (found >= 0)
            robot_bad(m->r, a->at, "%s: there is %s already; an orientation is said once", turns[k].name, turns[found].name);
        else found = k;
    }
    for (int k = 0; k < TURNS && found < 0; k++)
        if (mjcf_find(m, of, turns[k].name)) found = k;
    return found;
}

bool mjcf_has_turn(mjcf *m, mjcf_item of) { return find_turn(m, of) >= 0; }

static bool read_turn(mjcf *m, mjcf_item of, double q[4])
{
    const int way = find_turn(m, of);
    const double none[4] = {1, 0, 0, 0};
    double x[6];
    memcpy(q, none, sizeof none);
    if (way < 0) return true;
    if (!mjcf_numbers(m, of, turns[way].name, turns[way].count, NULL, x)) return false;
    bool good = true;
    switch (way) {
    case QUAT:
        memcpy(q, x, 4 * sizeof *q);
        good = normalise(q, 4);
        break;
    case AXISANGLE:
        good = normalise(x, 3);
        mjcf_turn_about(x, x[3] * m->degree, q);
        break;
    case EULER: turn_by_euler(m, x, q); break;
    case XYAXES: good = turn_by_axes(x, q); break;
    default: good = normalise(x, 3); mjcf_turn_from_z(x, q);
    }
    return good || robot_bad(m->r, mjcf_find(m, of, turns[way].name)->at, "%s: too short to be a direction", turns[way].name);
}

bool mjcf_read_pose(mjcf *m, mjcf_item of, mjcf_pose *pose)
{
    static const double none[3] = {0, 0, 0};
    return mjcf_numbers(m, of, "pos", 3, none, pose->p) && read_turn(m, of, pose->q);
}
