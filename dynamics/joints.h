/// Elementary joints: where the joint puts its body, and where it lets it go.
#ifndef CATENA_JOINTS_H
#define CATENA_JOINTS_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "dynamics/quaternion.h"

/// What a kernel does for one body depends on these: constants in the copies that are compiled for the forms of model.h.
typedef struct {
    int kind;        // joint_kind
    unsigned flags;  // body_flag
} joint_form;

FN joint_form form_of(const lane_body *b)
{
    joint_form f;
    f.kind = b->kind, f.flags = b->flags;
    return f;
}
FN joint_form form_revolute(unsigned flags)
{
    joint_form f;
    f.kind = JOINT_REVOLUTE, f.flags = flags;
    return f;
}

/// Does `statement`, in which `f` is the form of body b.
#define BY_FORM(b, f, statement)                                                                                                 \
    switch ((b)->form) {                                                                                                         \
    case FORM_HINGE: {                                                                                                           \
        const joint_form f = form_revolute(FORM_HINGE_FLAGS);                                                                    \
        statement;                                                                                                               \
        break;                                                                                                                   \
    }                                                                                                                            \
    case FORM_CROSS_FIRST: {                                                                                                     \
        const joint_form f = form_revolute(FORM_CROSS_FIRST_FLAGS);                                                              \
        statement;                                                                                                               \
        break;                                                                                                                   \
    }                                                                                                                            \
    case FORM_CROSS_LAST: {                                                                                                      \
        const joint_form f = form_revolute(FORM_CROSS_LAST_FLAGS);                                                               \
        statement;                                                                                                               \
        break;                                                                                                                   \
    }                                                                                                                            \
    case FORM_REVOLUTE: {                                                                                                        \
        const joint_form f = form_revolute((b)->flags);                                                                          \
        statement;                                                                                                               \
        break;                                                                                                                   \
    }                                                                                                                            \
    default: {                                                                                                                   \
        const joint_form f = form_of(b);                                                                                         \
        statement;                                                                                                               \
    }                                                                                                                            \
    }

FN vec3 lengths3(const model_length *c) { return vec(len(c[0]), len(c[1]), len(c[2])); }

/// a 3x3 constant, row-major in the model
FN mat3 lengths33(const model_length *c)
{
    mat3 R;
    R.x = vec(len(c[0]), len(c[3]), len(c[6])), R.y = vec(len(c[1]), len(c[4]), len(c[7])), R.z = vec(len(c[2]), len(c[5]), len(c[8]));
    return R;
}

/// The scale of a body's subtree, m; 1 where it has none.
FN real extent_of(const lane_model *m, const lane_body *b)
{
    const real extent = subtree_of(m, b)->extent;
    return sel(gt(extent, rset(0)), extent, rset(1));
}

/// Sine and cosine of the angle of a joint that turns about z, counted from the body's own x axis.
FN void joint_sincos(const lane_body *b, real q, real *s, real *c)
{
    sincos_quarters(q + len(given(b)->rest_angle), len(given(b)->quarter), s, c);
}

/// Whether a joint's coordinate is an angle, and whole turns count in it.
FN bool about_z(int kind) { return kind == JOINT_REVOLUTE || kind == JOINT_HELICAL; }

/// P Rz: the columns of P turned about its z axis.
FN mat3 turn_about_z(mat3 P, real s, real c)
{
    mat3 R;
    R.x = vec(fmadd(P.y.x, s, P.x.x * c), fmadd(P.y.y, s, P.x.y * c), fmadd(P.y.z, s, P.x.z * c));
    R.y = vec(fnmadd(P.x.x, s, P.y.x * c), fnmadd(P.x.y, s, P.y.y * c), fnmadd(P.x.z, s, P.y.z * c));
    R.z = P.z;
    return R;
}

/// World axes of the joint frame (before the joint moves), from those of the parent.
FN mat3 joint_frame(const lane_body *b, joint_form f, mat3 parent)
{
    if (f.flags & BODY_ROOT) return lengths33(given(b)->C);
    if (f.flags & BODY_ABOUT_X) {
        const real c = len(given(b)->ca), s = len(given(b)->sa);
        mat3 P;
        P.x = parent.x;
        P.y = add_scaled(scale(parent.y, c), parent.z, s);
        P.z = sub_scaled(scale(parent.z, c), parent.y, s);
        return P;
    }
    return mmul(parent, lengths33(given(b)->C));
}

/// World axes of the body, from those of the parent. q: the model's coordinates.
FN mat3 body_axes(const lane_body *b, joint_form f, mat3 parent, const real *q)
{
    const mat3 P = joint_frame(b, f, parent);
    switch (f.kind) {
    case JOINT_REVOLUTE:
    case JOINT_HELICAL: {
        real s, c;
        joint_sincos(b, q[b->qadr], &s, &c);
        return turn_about_z(P, s, c);
    }
    case JOINT_BALL: return mmul(P, quat_rotation(quat_load(q + b->qadr)));
    default: return P;
    }
}

/// From the parent's origin to the body's, in world axes. z: the body's axis, after the joint.
FN vec3 body_offset(const lane_body *b, joint_form f, mat3 parent, vec3 z, const real *q)
{
    vec3 r = f.flags & BODY_ROOT ? lengths3(given(b)->r0) : f.flags & BODY_OFFSET ? mul(parent, lengths3(given(b)->r0)) : zero3();
    if (f.kind == JOINT_PRISMATIC) r = add_scaled(r, z, q[b->qadr]);
    if (f.kind == JOINT_HELICAL) r = add_scaled(r, z, len(given(b)->pitch) * q[b->qadr]);
    if (f.kind == JOINT_TRANSLATION) r = add(r, vec(q[b->qadr], q[b->qadr + 1], q[b->qadr + 2]));
    return r;
}

/// Does the joint move its body's origin with respect to the parent's, or stand off it: must wrenches be shifted?
FN bool has_arm(joint_form f) { return (f.flags & BODY_OFFSET) || f.kind == JOINT_PRISMATIC || f.kind == JOINT_HELICAL; }

/// The joint's own angular velocity and velocity of the body's origin, in world axes: S v.
FN vec3 joint_turn(const lane_body *b, joint_form f, mat3 R, const real *v)
{
    switch (f.kind) {
    case JOINT_REVOLUTE:
    case JOINT_HELICAL: return scale(R.z, v[b->vadr]);
    case JOINT_BALL: return mul(R, vec(v[b->vadr], v[b->vadr + 1], v[b->vadr + 2]));
    default: return zero3();
    }
}

FN vec3 joint_slide(const lane_body *b, joint_form f, mat3 R, const real *v)
{
    switch (f.kind) {
    case JOINT_PRISMATIC: return scale(R.z, v[b->vadr]);
    case JOINT_HELICAL: return scale(R.z, len(given(b)->pitch) * v[b->vadr]);
    case JOINT_TRANSLATION: return vec(v[b->vadr], v[b->vadr + 1], v[b->vadr + 2]);
    default: return zero3();
    }
}

/// Both: S v.
FN twist joint_twist(const lane_body *b, joint_form f, mat3 R, const real *v)
{
    twist t;
    t.w = joint_turn(b, f, R, v), t.v = joint_slide(b, f, R, v);
    return t;
}

/// Column k of the motion subspace S of a joint whose body has the axes R.
FN twist joint_subspace(const lane_body *b, int kind, mat3 R, int k)
{
    twist S;
    S.w = S.v = zero3();
    switch (kind) {
    case JOINT_BALL: S.w = k == 0 ? R.x : k == 1 ? R.y : R.z; break;
    case JOINT_TRANSLATION: S.v = vec(rset(k == 0), rset(k == 1), rset(k == 2)); break;
    case JOINT_PRISMATIC: S.v = R.z; break;
    case JOINT_HELICAL: S.w = R.z, S.v = scale(R.z, len(given(b)->pitch)); break;
    default: S.w = R.z;
    }
    return S;
}

FN bool turns(joint_form f) { return f.kind == JOINT_REVOLUTE || f.kind == JOINT_HELICAL || f.kind == JOINT_BALL; }
FN bool slides(joint_form f) { return f.kind == JOINT_PRISMATIC || f.kind == JOINT_HELICAL || f.kind == JOINT_TRANSLATION; }

#endif
