/// Which bodies position-based methods see from frames that turn with them (integrators/turning_frame.h): by what their mass is
/// like, what they hang on, and what they touch.
#include "sim/model/spinning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool lies_alike(double mass, const double h[3], const double S[6], const double axis[3])
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    const double trace = S[0] + S[1] + S[2], *a = axis, along = h[0] * a[0] + h[1] * a[1] + h[2] * a[2];
    double own = 0, across = 0;  // second moment along the axis; and square of the first moment across it
    for (int k = 0; k < 6; k++) own += (k < 3 ? 1 : 2) * S[k] * a[row[k]] * a[col[k]];
    for (int k = 0; k < 3; k++) across += (h[k] - along * a[k]) * (h[k] - along * a[k]);
    if (across > 1e-18 * trace * mass) return false;
    for (int k = 0; k < 6; k++) {
        const double aa = a[row[k]] * a[col[k]], one = k < 3;
        if (fabs(S[k] - own * aa - (trace - own) / 2 * (one - aa)) > 1e-9 * trace) return false;
    }
    return true;
}

/// The axis about which the second moment S lies alike, if it does: S less a third of its trace is k (a a' - 1/3).
static void symmetry_axis(const double S[6], double axis[3])
{
    const double third = (S[0] + S[1] + S[2]) / 3, x = S[0] - third, y = S[1] - third, z = S[2] - third;
    const double square = x * x + y * y + z * z + 2 * (S[3] * S[3] + S[4] * S[4] + S[5] * S[5]);
    const double det = x * (y * z - S[5] * S[5]) - S[3] * (S[3] * z - S[5] * S[4]) + S[4] * (S[3] * S[5] - y * S[4]);
    const double k = copysign(sqrt(1.5 * square), det);
    const double A[3][3] = {
        {x / k + 1. / 3, S[3] / k, S[4] / k}, {S[3] / k, y / k + 1. / 3, S[5] / k}, {S[4] / k, S[5] / k, z / k + 1. / 3}};
    int most = 0;
    for (int i = 1; i < 3; i++)
        if (A[i][i] > A[most][most]) most = i;
    for (int i = 0; i < 3; i++) axis[i] = A[most][i] / sqrt(A[most][most]);
}

static bool parallel(const double a[3], const double b[3])
{
    double across = 0;
    for (int k = 0; k < 3; k++) {
        const double c = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        across += c * c;
    }
    return across < 1e-18;
}

/// Whether a mass with these moments lies alike about all axes through the origin; or whether its inertia, about the centre of mass
/// if it is free, is that of a body with an extent along two axes at least.
static bool is_ball_of_mass(const ctn_body *o)
{
    const double least = 1e-9 * (o->S[0] + o->S[1] + o->S[2]), *S = o->S, *h = o->h;
    const bool alike = fabs(S[0] - S[1]) <= least && fabs(S[0] - S[2]) <= least && fabs(S[3]) <= least && fabs(S[4]) <= least &&
                       fabs(S[5]) <= least;
    return alike && h[0] * h[0] + h[1] * h[1] + h[2] * h[2] <= 1e-9 * least * o->mass;
}
static bool is_extended(const ctn_body *o)
{
    const double k = o->flags & BODY_ROOT ? 0 : 1 / o->mass, *h = o->h, c2 = k * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
    const double xx = o->I[0] - c2 + k * h[0] * h[0], yy = o->I[1] - c2 + k * h[1] * h[1], zz = o->I[2] - c2 + k * h[2] * h[2];
    const double xy = o->I[3] + k * h[0] * h[1], xz = o->I[4] + k * h[0] * h[2], yz = o->I[5] + k * h[1] * h[2],
                 sum = xx + yy + zz;
    const double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return det > 1e-9 * sum * sum * sum;
}

/// A body at zero coordinates: its axes, by rows, and what turns it: nothing, joints about one axis, or about several.
typedef struct {
    double R[9], about[3];
    enum { STANDS, ABOUT_ONE, ABOUT_SEVERAL } turns;
} carried;

/// R = R C, with the axes C of a body in those of its parent.
static void go_on(carried *c, const ctn_body *o)
{
    const double angle = o->quarter * (acos(-1) / 2) + o->rest_angle, x = cos(angle), y = sin(angle);
    const double bent[9] = {x, -y, 0, o->ca * y, o->ca * x, -o->sa, o->sa * y, o->sa * x, o->ca}, *const C =
                                                                                                      o->flags & BODY_ABOUT_X
                                                                                                          ? bent
                                                                                                          : o->C;
    double R[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[3 * i + j] = c->R[3 * i] * C[j] + c->R[3 * i + 1] * C[3 + j] + c->R[3 * i + 2] * C[6 + j];
    memcpy(c->R, R, sizeof R);
}

/// What turns the children of a body with a joint of this kind, which is itself turned so.
static void carry_on(carried *c, int kind)
{
    const double z[3] = {c->R[2], c->R[5], c->R[8]};
    if (kind == JOINT_BALL) c->turns = ABOUT_SEVERAL;
    if (kind != JOINT_REVOLUTE && kind != JOINT_HELICAL) return;
    if (c->turns == ABOUT_ONE && !parallel(c->about, z)) c->turns = ABOUT_SEVERAL;
    if (c->turns == STANDS) c->turns = ABOUT_ONE, memcpy(c->about, z, sizeof z);
}

/// What body i touches with: nothing; points on an axis of its own alone, so that it may roll about that; or others.
typedef enum { NOTHING, AXIS, CORNERS } meeting;

static meeting touches(const ctn_model *m, int i, const double axis[3])
{
    meeting with = NOTHING;
    const ctn_body *const o = &m->bodies[i];
    for (int k = o->load; k < o->loads_end && o->flags & BODY_LOAD; k++) {
        const point_load *const s = &m->loads[k];
        if (!(s->flags & LOAD_TOUCHES)) continue;
        const double *const p = s->point, along = p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2];
        double off = 0;
        for (int j = 0; j < 3; j++) off = fmax(off, fabs(p[j] - along * axis[j]));
        if (off > 1e-9 * s->radius) return CORNERS;
        with = AXIS;
    }
    return with;
}

/// What a leaf on a ball joint is. One that is free, or on the world, and touches nothing is a top, or a wheel about an axis of its own;
/// one that touches stays as it is, but if it rolls about such an axis.
static unsigned kind_of_ball(const ctn_model *m, int i, double axis[3])
{
    const ctn_body *const o = &m->bodies[i];
    const bool hangs = o->parent < 0, flies = !hangs && m->bodies[o->parent].kind == JOINT_TRANSLATION;
    if (is_ball_of_mass(o)) return BODY_ROUND;
    if (!hangs && !flies) return 0;
    symmetry_axis(o->S, axis);
    const meeting with = touches(m, i, axis);
    if ((hangs || with == AXIS) && lies_alike(o->mass, o->h, o->S, axis)) return BODY_SYMMETRIC | BODY_TILTS;
    return with != NOTHING || !is_extended(o) ? 0 : hangs ? BODY_TOP | BODY_PINNED : BODY_TOP;
}

bool find_spinning(ctn_model *m)
{
    static const carried world = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    carried *const on = malloc(((size_t)m->nbody + 1) * sizeof *on);  // of what hangs on each body
    const bool room = on;
    m->spins = m->skew = false;
    for (int i = 0; i < m->nbody && room; i++) {
        ctn_body *const o = &m->bodies[i];
        carried *const c = &on[i];
        *c = o->parent < 0 ? world : on[o->parent];
        o->flags &= ~(unsigned)(BODY_SYMMETRIC | BODY_TILTS | BODY_ROUND | BODY_TOP | BODY_PINNED | BODY_CARRIED);
        go_on(c, o);
        if (m->npair || m->nbond) continue;  // what acts between bodies is solved without frames (integrators/between_step.h)
        if (o->mass > 0 && o->kind == JOINT_BALL && o->flags & BODY_LEAF) o->flags |= kind_of_ball(m, i, o->axis);
        if (o->flags & BODY_ROUND && c->turns != STANDS) o->flags |= BODY_CARRIED;
        if (o->mass > 0 && o->kind == JOINT_REVOLUTE) {
            const double z[3] = {c->R[2], c->R[5], c->R[8]};
            const bool turned = c->turns == ABOUT_SEVERAL || (c->turns == ABOUT_ONE && !parallel(c->about, z));
            o->axis[2] = 1;
            if (lies_alike(o->mass, o->h, o->S, o->axis)) o->flags |= BODY_SYMMETRIC | (turned ? BODY_TILTS : 0u);
        }
        carry_on(c, o->kind);
        if (o->flags & (BODY_SPRING | BODY_SERVO)) continue;
        m->spins = m->spins || o->flags & (BODY_SYMMETRIC | BODY_ROUND | BODY_TOP);
        m->skew = m->skew || o->flags & (BODY_TOP | BODY_TILTS);
    }
    free(on);
    return room;
}
