/// How a cable lies at first that is held at its far end: as links of one length, whose directions are those of the clamps at both
/// ends, and whose ends are where they are held.
///
/// Between hinges it is an arc that sags. With a clamp it follows a cubic of Bezier as long as it is. Links along it end off by e,
/// and are turned by the least that takes them there: the direction u of each goes by (1 - u u') y, where l sum (1 - u u') y = e. A
/// rod that twists does so evenly, or turns about its axis where it starts on a hinge.
#include "sim/scene/cable_end.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double point[3];

bool cable_twists(const cable *c) { return !isnan(c->shear); }
bool bends_by_balls(const cable *c) { return c->young > 0 && 2 * c->shear <= c->young; }

void turn_cable(const cable *c, const cable_joint *joint, double q[4])
{
    const double a = joint->bend[0] / 2, b = joint->bend[1] / 2, t = joint->twist / 2;
    const double about_y[4] = {cos(a), 0, sin(a), 0}, about_z[4] = {cos(b), 0, 0, sin(b)}, about_x[4] = {cos(t), sin(t), 0, 0};
    if (bends_by_balls(c)) quaternion_product(q, joint->bend, q);
    else quaternion_product(q, about_y, q), quaternion_product(q, about_z, q);
    if (cable_twists(c)) quaternion_product(q, about_x, q);
}

/// What a joint has that turns x to u: (1 + u_x, x x u), made a unit quaternion; or angles about y, then z, to (cos a cos b, sin b,
/// -sin a cos b).
static void bend_towards(const cable *c, const point u, cable_joint *joint)
{
    double *const q = joint->bend;
    if (bends_by_balls(c)) {
        q[0] = 1 + u[0], q[1] = 0, q[2] = -u[2], q[3] = u[1];
        if (!normalise(q, 4)) memcpy(q, (double[4]){0, 0, 0, 1}, 4 * sizeof *q);
    } else q[0] = atan2(-u[2], u[0]), q[1] = asin(fmax(-1, fmin(1, u[1])));
}

/// The inverse of a turn, on x.
static void turn_back(const double q[4], const point x, point y)
{
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    rotate(back, x, y);
}

// ---- between hinges

/// The angle by which each of n links of length l turns against the one before, so that their ends are d apart.
static double arc_angle(int n, double l, double d)
{
    double low = 0, high = 2 * M_PI / n;
    for (int k = 0; k < 200; k++) {
        const double middle = (low + high) / 2;
        if (middle > 0 && l * sin(n * middle / 2) / sin(middle / 2) > d) low = middle;
        else high = middle;
    }
    return (low + high) / 2;
}

/// Directions u [links] of an arc along the chord from one end to the other, which sags; where that hangs straight down, to a side.
static void lay_arc(const cable *c, const double rotation[4], point *u)
{
    const double *const to = c->end.position, d = norm(to, 3), l = c->length / c->links;
    const point down = {0, 0, -1};
    point chord, across;
    turn_back(rotation, down, across);
    for (int k = 0; k < 3; k++) chord[k] = d > 0 ? to[k] / d : k == 0;
    for (int pass = 0; pass < 2; pass++) {
        double along = 0;
        for (int k = 0; k < 3; k++) along += across[k] * chord[k];
        for (int k = 0; k < 3; k++) across[k] -= along * chord[k];
        if (normalise(across, 3)) break;
        for (int k = 0; k < 3; k++) across[k] = fabs(chord[k]) < 0.6;
    }
    const double turn = d < c->length * (1 - 1e-9) ? arc_angle(c->links, l, d) : 0;
    for (int i = 0; i < c->links; i++) {
        const double angle = (0.5 * (c->links - 1) - i) * turn;
        for (int k = 0; k < 3; k++) u[i][k] = cos(angle) * chord[k] + sin(angle) * across[k];
    }
}

// ---- with a clamp

/// Where the cubic is at t, with handles of the length h.
static void cubic_at(const point to, const point from_start, const point to_end, double h, double t, point x)
{
    const double s = 1 - t;
    for (int k = 0; k < 3; k++)
        x[k] = 3 * s * s * t * h * from_start[k] + 3 * s * t * t * (to[k] - h * to_end[k]) + t * t * t * to[k];
}

enum { PIECES = 4000 };  // of the cubic, as its length is measured

/// The length of the cubic; p [n + 1] receives points on it at equal distances, but for NULL.
static double walk_cubic(const point to, const point from_start, const point to_end, double h, double length, int n, point *p)
{
    double walked = 0;
    point last = {0};
    int next = 1;
    for (int i = 1; i <= PIECES; i++) {
        point x, step;
        cubic_at(to, from_start, to_end, h, (double)i / PIECES, x);
        for (int k = 0; k < 3; k++) step[k] = x[k] - last[k];
        const double piece = norm(step, 3);
        for (; p && next < n && walked + piece >= length * next / n; next++)
            for (int k = 0; k < 3; k++) p[next][k] = last[k] + (length * next / n - walked) / (piece > 0 ? piece : 1) * step[k];
        walked += piece;
        memcpy(last, x, sizeof last);
    }
    return walked;
}

/// x with A x = b, A symmetric xx yy zz xy xz yz. False: it is singular.
static bool solve_symmetric(const double A[6], const point b, point x)
{
    const double c[6] = {A[1] * A[2] - A[5] * A[5], A[0] * A[2] - A[4] * A[4], A[0] * A[1] - A[3] * A[3],
                         A[4] * A[5] - A[3] * A[2], A[3] * A[5] - A[4] * A[1], A[3] * A[4] - A[0] * A[5]};
    const double det = A[0] * c[0] + A[3] * c[3] + A[4] * c[4], size = A[0] + A[1] + A[2];
    if (!(fabs(det) > 1e-12 * size * size * size)) return false;
    x[0] = (c[0] * b[0] + c[3] * b[1] + c[4] * b[2]) / det, x[1] = (c[3] * b[0] + c[1] * b[1] + c[5] * b[2]) / det;
    x[2] = (c[4] * b[0] + c[5] * b[1] + c[2] * b[2]) / det;
    return true;
}

/// Turns links from `first` to before `end` so that all of them, of the length l, lead to a place.
static void lead_to(const point to, double l, int n, int first, int end, point *u)
{
    for (int pass = 0; pass < 50; pass++) {
        double A[6] = {0};
        point off, y;
        for (int k = 0; k < 3; k++) off[k] = to[k];
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) off[k] -= l * u[i][k];
        for (int i = first; i < end; i++) {
            static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
            for (int k = 0; k < 6; k++) A[k] += l * ((k < 3) - u[i][row[k]] * u[i][col[k]]);
        }
        if (norm(off, 3) < 1e-14 * l * n || !solve_symmetric(A, off, y)) return;
        for (int i = first; i < end; i++) {
            double along = 0;
            for (int k = 0; k < 3; k++) along += u[i][k] * y[k];
            for (int k = 0; k < 3; k++) u[i][k] += y[k] - along * u[i][k];
            normalise(u[i], 3);
        }
    }
}

/// Directions u [links] along a cubic between the clamps; p [links + 1]: scratch.
static void lay_between_clamps(const cable *c, point *u, point *p)
{
    const int n = c->links, starts = c->start == HOLD_CLAMPED, ends = c->end.hold == HOLD_CLAMPED;
    const double *const to = c->end.position;
    point first = {1, 0, 0}, last = {1, 0, 0};
    if (starts) memcpy(last, u[n - 1], sizeof last);  // of the arc, but where a clamp says so
    else memcpy(first, u[0], sizeof first);
    if (ends) rotate(c->end.rotation, (point){1, 0, 0}, last);
    double low = 0, high = 4 * c->length;
    for (int k = 0; k < 50; k++) {
        const double h = (low + high) / 2;
        if (walk_cubic(to, first, last, h, 0, 0, NULL) < c->length) low = h;
        else high = h;
    }
    memset(p, 0, ((size_t)n + 1) * sizeof *p);
    walk_cubic(to, first, last, low, walk_cubic(to, first, last, low, 0, 0, NULL), n, p);
    memcpy(p[n], to, sizeof p[n]);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) u[i][k] = p[i + 1][k] - p[i][k];
        if (!normalise(u[i], 3)) memcpy(u[i], last, sizeof last);
    }
    if (starts) memcpy(u[0], first, sizeof first);
    if (ends) memcpy(u[n - 1], last, sizeof last);
    lead_to(to, c->length / n, n, starts, n - ends, u);
}

// ---- joints

/// Joints that lead through the directions u [links], each link twisted by `twist` against the one before. Returns how far the
/// last link is turned about its axis against the clamp, rad.
static double lay_joints(const cable *c, const point *u, double twist, cable_joint *joint)
{
    // of the twist between links, a ball has what its stiffness is to that of all of it
    const double share = bends_by_balls(c) ? 2 * c->shear / c->young : 0;
    double frame[4] = {1, 0, 0, 0};
    for (int i = 0; i < c->links; i++) {
        point own;
        turn_back(frame, u[i], own);
        bend_towards(c, own, &joint[i]);
        double here = i || c->start == HOLD_CLAMPED ? twist : 0;
        if (!i && c->start != HOLD_CLAMPED) here = twist * c->links;  // it turns freely there
        if (bends_by_balls(c)) {
            const double part = !i && c->start != HOLD_CLAMPED ? 1 : share, half = part * here / 2;
            quaternion_product(joint[i].bend, (double[4]){cos(half), sin(half), 0, 0}, joint[i].bend);
            here *= 1 - part;
        }
        joint[i].twist = cable_twists(c) ? here : 0;
        turn_cable(c, &joint[i], frame);
        if (c->start != HOLD_CLAMPED && !i) twist = 0;
    }
    double off[4];
    quaternion_product((double[4]){frame[0], -frame[1], -frame[2], -frame[3]}, c->end.rotation, off);
    return 2 * atan2(off[1], off[0]);
}

bool shape_cable(source *s, const node *n, const cable *c, const double rotation[4], cable_joint *joint)
{
    const cable_end *const e = &c->end;
    const double d = norm(e->position, 3);
    memset(joint, 0, (size_t)c->links * sizeof *joint);
    for (int i = 0; i < c->links && bends_by_balls(c); i++) joint[i].bend[0] = 1;
    if (e->hold == HOLD_FREE || (!e->placed && !e->turned)) return true;
    if (d > c->length * (1 + 1e-9))
        return bad_value(s, n, "the end is to be held %g m from the start, and the cable is %g m long", d, c->length);
    point *const u = reader_alloc(s->r, ((size_t)c->links + 1) * sizeof *u), *const p = reader_alloc(
                                                                                 s->r, ((size_t)c->links + 1) * sizeof *p);
    if (u && p) {
        lay_arc(c, rotation, u);
        if (c->start == HOLD_CLAMPED || e->hold == HOLD_CLAMPED) lay_between_clamps(c, u, p);
        const double off = lay_joints(c, (const point *)u, 0, joint);
        if (e->hold == HOLD_CLAMPED && cable_twists(c))
            lay_joints(c, (const point *)u, remainder(off, 2 * M_PI) / c->links, joint);
    }
    free(u), free(p);
    return u && p;
}
