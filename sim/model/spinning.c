/// Which bodies position-based methods see from frames that turn with them (integrators/turning_frame.h): by what their mass is
/// like, what they hang on, and what they touch.
#include "sim/model/spinning.h"

#include "sim/model/long_frames.h"

#include <math.h>
#include <stdlib.h>

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
    const double A[3][3] = {{x / k + 1. / 3, S[3] / k, S[4] / k}, {S[3] / k, y / k + 1. / 3, S[5] / k}, {S[4] / k, S[5] / k, z / k + 1. / 3}};
    int most = 0;
    for (int i = 1; i < 3; i++)
        if (A[i][i] > A[most][most]) most = i;
    for (int i = 0; i < 3; i++) axis[i] = A[most][i] / sqrt(A[most][most]);
}

/// Whether these axes z are parallel.
static bool parallel(const mat *a, const mat *b)
{
    const vec x = {{a->m[2], a->m[5], a->m[8]}}, y = {{b->m[2], b->m[5], b->m[8]}};
    ld across = 0;
    for (int k = 0; k < 3; k++) {
        const ld c = x.x[(k + 1) % 3] * y.x[(k + 2) % 3] - x.x[(k + 2) % 3] * y.x[(k + 1) % 3];
        across += c * c;
    }
    return across < 1e-18L;
}

/// Whether a mass with these moments lies alike about all axes through the origin; or whether its inertia, about the centre of mass
/// if it is free, is that of a body with an extent along two axes at least.
static bool is_ball_of_mass(const ctn_body *o)
{
    const double least = 1e-9 * (o->S[0] + o->S[1] + o->S[2]), *S = o->S, *h = o->h;
    const bool alike = fabs(S[0] - S[1]) <= least && fabs(S[0] - S[2]) <= least && fabs(S[3]) <= least && fabs(S[4]) <= least && fabs(S[5]) <= least;
    return alike && h[0] * h[0] + h[1] * h[1] + h[2] * h[2] <= 1e-9 * least * o->mass;
}
static bool is_extended(const ctn_body *o)
{
    const double k = o->flags & BODY_ROOT ? 0 : 1 / o->mass, *h = o->h, c2 = k * (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]);
    const double xx = o->I[0] - c2 + k * h[0] * h[0], yy = o->I[1] - c2 + k * h[1] * h[1], zz = o->I[2] - c2 + k * h[2] * h[2];
    const double xy = o->I[3] + k * h[0] * h[1], xz = o->I[4] + k * h[0] * h[2], yz = o->I[5] + k * h[1] * h[2], sum = xx + yy + zz;
    const double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return det > 1e-9 * sum * sum * sum;
}

/// The axes of a body at zero coordinates, in those of its parent.
static mat axes_in_parent(const ctn_body *o)
{
    mat C;
    for (int k = 0; k < 9; k++) C.m[k] = o->C[k];
    if (!(o->flags & BODY_ABOUT_X)) return C;
    const ld angle = o->quarter * (acosl(-1) / 2) + o->rest_angle;
    return mat_mul((mat){{1, 0, 0, 0, o->ca, -o->sa, 0, o->sa, o->ca}}, about_z(cosl(angle), sinl(angle)));
}

/// Whether a joint before body i turns its axis z; axes [nbody], at zero coordinates.
static bool is_turned(const ctn_model *m, int i, const mat *axes)
{
    for (int k = m->bodies[i].parent; k >= 0; k = m->bodies[k].parent) {
        const int kind = m->bodies[k].kind;
        const bool hinge = kind == JOINT_REVOLUTE || kind == JOINT_HELICAL;
        if (kind == JOINT_BALL || (hinge && !parallel(&axes[i], &axes[k]))) return true;
    }
    return false;
}

static bool touches(const ctn_model *m, int i)
{
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].body == i && m->loads[k].flags & LOAD_TOUCHES) return true;
    return false;
}

/// What a leaf on a ball joint is. One that touches nothing and is free, or on the world, is a top, or a wheel about that axis of its
/// own; one that touches stays as it is, but if its mass lies alike about some axis.
static unsigned kind_of_ball(const ctn_model *m, int i, double axis[3])
{
    const ctn_body *const o = &m->bodies[i];
    const bool hangs = o->parent < 0, flies = !hangs && m->bodies[o->parent].kind == JOINT_TRANSLATION, meets = touches(m, i);
    if (is_ball_of_mass(o)) return BODY_ROUND;
    if (!hangs && !flies) return 0;
    symmetry_axis(o->S, axis);
    if ((hangs || meets) && lies_alike(o->mass, o->h, o->S, axis)) return BODY_SYMMETRIC | BODY_TILTS;
    return meets || !is_extended(o) ? 0 : hangs ? BODY_TOP | BODY_PINNED : BODY_TOP;
}

bool find_spinning(ctn_model *m)
{
    mat *const axes = malloc(((size_t)m->nbody + 1) * sizeof *axes);
    for (int i = 0; i < m->nbody && axes; i++) {
        ctn_body *const o = &m->bodies[i];
        axes[i] = axes_in_parent(o);
        if (o->parent >= 0) axes[i] = mat_mul(axes[o->parent], axes[i]);
        if (!(o->mass > 0)) continue;
        if (o->kind == JOINT_BALL && o->flags & BODY_LEAF) o->flags |= kind_of_ball(m, i, o->axis);
        else if (o->kind == JOINT_REVOLUTE) {
            o->axis[2] = 1;
            if (lies_alike(o->mass, o->h, o->S, o->axis)) o->flags |= BODY_SYMMETRIC | (is_turned(m, i, axes) ? BODY_TILTS : 0u);
        }
        if (o->flags & (BODY_SPRING | BODY_SERVO)) continue;
        m->spins = m->spins || o->flags & (BODY_SYMMETRIC | BODY_ROUND | BODY_TOP);
        m->skew = m->skew || o->flags & (BODY_TOP | BODY_TILTS);
    }
    free(axes);
    return axes;
}
