/// Wheels, seen from frames that turn with them. (docs/theory.md 4.13)
///
/// Poses that are differenced put a chord in the place of an arc, and so brake what turns. What turns evenly about an axis b of its
/// own is seen from a frame that turns along: with s = w e the angular velocity about that axis e as a step of size h begins, body
/// axes, B(t) = R(t) exp(-[s] t) stands still. A method that differences B goes on as if R had been as the step began where it would
/// come to be at its end,
///
///     R~ = R_k exp([s] h),   V~ = (V - R_k [s]) exp([s] h),   likewise A~ = (A - G) exp([s] h), B~,   G = 2 V [s] - R [s]^2,
///
/// as the body's second moment S is the same about all axes across e, and its centre of mass is on e. From there on it is the method
/// as it is; at the end V' = V~' + R' [s], A' = A~' + G'. So nothing more is carried from step to step, and the frame of the next
/// step may turn otherwise. w is the axial momentum of V over its inertia I: of the body alone, not of the joints.
///
/// Where joints turn the axis b, too, there is the couple of a gyrostat, I w b' across b: with the rate that the method has for b,
/// d (b - f) of one stage, it is n = I w d (b (b.f) - f). It has no potential, and its derivative by turns of the body,
/// -I w d ((b.f) [b]x + b (f x b)'), is not symmetric.
#ifndef CATENA_TURNING_FRAME_H
#define CATENA_TURNING_FRAME_H

#include "dynamics/joints.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "integrators/turns.h"

/// The Euclidean velocity of a body.
typedef struct {
    mat3 R;
    vec3 p;
} rate_pose;

/// The couple of a wheel in a solve of one stage.
typedef struct {
    real size;  // I w d
    vec3 f;
} gyrostat;

/// Frames of a step, and what is seen from them, [nbody]; of bodies without one as it is. NULL in models without wheels.
typedef struct {
    vec3 *spin;             // s; 0: none
    mat3 *from;             // R~
    gyrostat *gyrostat;     // of wheels whose axes turn
    rate_pose *V, *A, *B;   // V~, and of alpha the others
} turning_frames;

/// The same in a step of several stages, at each of which the frame has turned by exp(-[s] t), t its time: V_B = V - R_k [s].
typedef struct {
    vec3 *spin;  // [nbody] s
    mat3 *back;  // [nbody][stages] exp(-[s] t)
} stage_frames;

/// A hinge that nothing holds, on which the mass lies alike about its axis.
FN bool is_wheel(const lane_body *b) { return (b->flags & BODY_SYMMETRIC) && turns_freely(b); }
FN bool tilts(const lane_body *b) { return (b->flags & BODY_TILTS) && turns_freely(b); }

/// The angular velocity, body axes, of a body with the axes R that change by V.
FN vec3 rate_of_axes(mat3 R, mat3 V)
{
    return scale(tmul(R, cross_add(cross_add(cross(R.x, V.x), R.y, V.y), R.z, V.z)), rset(0.5));
}

/// s of a wheel.
FN vec3 spin_of(mat3 R, mat3 V)
{
    const real o = rset(0);
    return vec(o, o, rset(0.5) * (dot(R.y, V.x) - dot(R.x, V.y)));
}

/// exp([s] t) of a wheel.
FN mat3 spun(vec3 s, real t)
{
    const real o = rset(0), one = rset(1);
    real sn, cs;
    mat3 F;
    sincosr(s.z * t, &sn, &cs);
    F.x = vec(cs, sn, o), F.y = vec(negate(sn), cs, o), F.z = vec(o, o, one);
    return F;
}

/// R [s]
FN mat3 times_skew(mat3 R, vec3 s)
{
    mat3 X;
    X.x = sub_scaled(scale(R.y, s.z), R.z, s.y), X.y = sub_scaled(scale(R.z, s.x), R.x, s.z);
    X.z = sub_scaled(scale(R.x, s.y), R.y, s.x);
    return X;
}

/// G
FN mat3 turning_change(mat3 R, mat3 V, vec3 s)
{
    return times_skew(mat3_add_scaled(mat3_add(V, V), times_skew(R, s), rset(-1)), s);
}

/// The couple on a wheel with the axis b, and its derivative by turns, by rows.
FN vec3 gyrostat_couple(const gyrostat *g, vec3 b) { return scale(sub(scale(b, dot(b, g->f)), g->f), g->size); }
FN mat3 gyrostat_block(const gyrostat *g, vec3 b)
{
    const vec3 k = scale(cross(b, g->f), g->size), c = scale(b, negate(g->size * dot(b, g->f)));  // b k' + [c]x
    mat3 A;
    A.x = add(scale(k, b.x), vec(rset(0), negate(c.z), c.y)), A.y = add(scale(k, b.y), vec(c.z, rset(0), negate(c.x)));
    A.z = add(scale(k, b.z), vec(negate(c.y), c.x, rset(0)));
    return A;
}

#endif
