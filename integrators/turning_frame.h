/// What spins, seen from frames that turn with it. (docs/theory.md 4.13)
///
/// Poses that are differenced put a chord in the place of an arc, and so brake what turns. A body's axes are R(t) = E(t) Q(t) F(t)
/// instead, E and F the turns that it would make if nothing acted on it, and the method differences Q, which then stands still. With
/// the angular velocities l of E, in world axes, and r of F, in those of the body, and a = dl/dt:
///
///     R' = E Q' F + X,   R'' = E Q'' F + G,   X = [l] R + R [r],   G = [l] Y + Y [r] + [a] R,   Y = 2 E Q' F + X
///
/// So a step of one stage is the method as it is, from axes, velocities and accelerations that were turned on already,
///
///     R~ = E R_k F,   V~ = E (V - X_k) F,   A~ = E (A - G_k) F,   B~ likewise,        V' = V~' + X',   A' = A~' + G',
///
/// and what G makes of the body's second moment S acts on it besides. Nothing more is carried from step to step, and the frames of
/// the next step may turn otherwise. Which body has which:
///
/// *Wheels*, hinges that nothing holds with their mass alike about the axis b, and such bodies alone on a ball joint of the world, or
/// free and rolling about b: F, by w about b, the axial momentum of V over its inertia I: of the body alone, not of the joints. S is
/// the same from there, and of G what counts is the couple of a gyrostat, I w b' across b, where joints before it turn that axis.
/// Along b it would be a brake of the first order.
///
/// *Balls*, leaves on ball joints with their mass alike about all axes there: E and F by half of the angular velocity each. G makes
/// nothing but terms of the second order in what forces do in a step; in steps of one stage these are left out.
///
/// *Tops*, other leaves on ball joints of the world or free, which touch nothing: E alone, that of the free motion about the centre of mass or, of
/// roots, about the joint, by Euler's equations. All of G counts.
///
/// Couples have no potential, and their derivatives by turns are not symmetric.
#ifndef CATENA_TURNING_FRAME_H
#define CATENA_TURNING_FRAME_H

#include "dynamics/articulated.h"
#include "dynamics/joints.h"
#include "dynamics/lane_model.h"
#include "dynamics/quaternion.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "integrators/turns.h"

/// The Euclidean velocity of a body.
typedef struct {
    mat3 R;
    vec3 p;
} rate_pose;

/// The frames of a body after the time t of a step.
typedef struct {
    mat3 E, F;
    vec3 l, a, r;  // rad/s, rad/s^2: world axes, and of the body
    vec3 way;      // the integral of the angular velocity, world axes
} turned_frame;

/// How a step of one stage sees what spins. After FRAMED has found nothing, or energy from nowhere, as couples may make it:
/// BRAKED, whose wheels have their whole couple, which takes energy away, and whose tops go by chords; then chords for all that
/// have couples: of others frames make no energy, and a fast wheel would lose all of its speed in one such step.
typedef enum { FRAMED, BRAKED, BY_CHORDS } frame_mode;

/// What a body is seen from in a step of one stage: at its end.
typedef struct {
    turned_frame at;
    mat3 from;    // R~
    vec3 shift;   // of tops, the way of the origin that R~ makes: their centre of mass is seen as it is
    real couple;  // of wheels whose axes turn: I w d, 0 of others
    bool whole;   // along the axis, too
    real rate;    // d: the rate of the axes is d (R - base)
    mat3 base;
} body_frame;

/// Frames of a step, and what is seen from them, [nbody]; of bodies without one as it is. NULL in models without any.
typedef struct {
    int mode;  // frame_mode
    body_frame *of;
    rate_pose *V, *A, *B;  // V~, and of alpha the others
} turning_frames;

FN bool held_by_spring(const lane_body *b) { return b->flags & (BODY_SPRING | BODY_SERVO); }
FN bool is_wheel(const lane_body *b) { return (b->flags & BODY_SYMMETRIC) && !held_by_spring(b); }
FN bool tilts(const lane_body *b) { return (b->flags & BODY_TILTS) && !held_by_spring(b); }
FN bool is_round(const lane_body *b) { return (b->flags & BODY_ROUND) && !held_by_spring(b); }
FN bool is_top(const lane_body *b) { return (b->flags & BODY_TOP) && !held_by_spring(b); }
FN bool spins(const lane_body *b)
{
    return (b->flags & (BODY_SYMMETRIC | BODY_ROUND | BODY_TOP)) && (is_wheel(b) || is_round(b) || is_top(b));
}

/// The axis of a wheel, body axes, and world axes.
FN vec3 own_axis(const lane_body *b)
{
    return b->kind == JOINT_REVOLUTE ? vec(rset(0), rset(0), rset(1)) : lengths3(given(b)->axis);
}
FN vec3 wheel_axis(const lane_body *b, mat3 R) { return b->kind == JOINT_REVOLUTE ? R.z : mul(R, own_axis(b)); }

/// I w of a wheel, r its angular velocity about its axis, body axes.
FN real axial_momentum(const lane_body *b, vec3 r)
{
    if (b->kind == JOINT_REVOLUTE) return given(b)->I[2] * r.z;
    return dot(own_axis(b), smul(load_sym(given(b)->I), r));
}

/// Whether a step of this frame_mode sees it from frames.
FN bool is_framed(const lane_body *b, int mode)
{
    return spins(b) && !(mode == BY_CHORDS && tilts(b)) && !(mode != FRAMED && is_top(b));
}

/// X and G at the axes R; D: E Q' F.
FN mat3 frame_rate(const lane_body *b, const turned_frame *f, mat3 R)
{
    if (is_wheel(b)) return times_skew(R, f->r);
    return is_top(b) ? skew_times(f->l, R) : mat3_add(skew_times(f->l, R), times_skew(R, f->r));
}
FN mat3 frame_change(const lane_body *b, const turned_frame *f, mat3 R, mat3 D)
{
    const mat3 Y = mat3_add(mat3_add(D, D), frame_rate(b, f, R));
    if (is_wheel(b)) return times_skew(Y, f->r);
    mat3 G = skew_times(f->l, Y);
    return is_top(b) ? mat3_add(G, skew_times(f->a, R)) : mat3_add(G, times_skew(Y, f->r));
}

/// The angular velocity, body axes, of a body with the axes R that change by V.
FN vec3 rate_of_axes(mat3 R, mat3 V) { return scale(tmul(R, sum_of_crosses(R, V)), rset(0.5)); }

/// The second moment and the inertia of a top about the point about which it turns.
typedef struct {
    sym3 S, I;
} top_mass;

FN top_mass mass_of_top(const lane_body *b)
{
    top_mass M;
    const vec3 h = load3(given(b)->h);
    M.S = load_sym(given(b)->S), M.I = load_sym(given(b)->I);
    if (b->flags & BODY_PINNED) return M;
    const real inv = rset(1) / given(b)->mass;
    sym_add_dyad(&M.S, h, negate(inv)), sym_add_dyad(&M.I, h, inv);
    const real trace = dot(h, h) * inv;
    M.I.xx = M.I.xx - trace, M.I.yy = M.I.yy - trace, M.I.zz = M.I.zz - trace;
    return M;
}

/// The angular velocity of a top with the axes R and the momentum L, in body axes, that nothing acts on, and its derivative.
FN void rates_of_top(const ldl3 *I, mat3 R, vec3 L, turned_frame *f)
{
    const vec3 W = ldl_solve(*I, L);
    f->l = mul(R, W), f->a = mul(R, ldl_solve(*I, cross(L, W)));
}

/// The number of parts in which turn_top() goes, rounded.
enum { MOST_TOP_PARTS = 512 };
FN real parts_of_top(const ldl3 *I, vec3 L, real t)
{
    const real magic = rset(NEAREST_WHOLE);
    const vec3 W = ldl_solve(*I, L);
    real parts = fmadd(root(dot(W, W)), magnitude(t) * rset(25), rset(0.5)) + magic;
    parts = parts - magic;
    parts = sel(lt(parts, rset(1)), rset(1), parts);
    return sel(lt(rset(MOST_TOP_PARTS), parts), rset(MOST_TOP_PARTS), parts);
}

/// The free motion of a top from the axes R and the momentum L, both as the step begins, L in body axes: over the time t, in parts of
/// at most 0.04 rad (but no more than MOST_TOP_PARTS of them) by the Runge-Kutta method of order 4 for its turn z and L.
FN turned_frame turn_top(const ldl3 *inertia, mat3 R, vec3 L, real t)
{
    const ldl3 I = *inertia;
    const real half = rset(0.5), sixth = rset(1. / 6), parts = parts_of_top(&I, L, t), k = t / parts;
    const vec3 start = L;
    quat z;
    z.w = rset(1), z.x = z.y = z.z = rset(0);
    vec3 way = zero3();
    for (int n = 0; n < MOST_TOP_PARTS; n++) {
        const mask goes = lt(rset(n), parts);
        if (!any_of(goes)) break;
        vec3 l[4], w[4], x = L;
        quat d[4], y = z;
        for (int s = 0; s < 4; s++) {
            w[s] = ldl_solve(I, x), l[s] = cross(x, w[s]);
            d[s] = quat_mul(y, quat_pure(w[s], half));
            const real part = rset(s < 2 ? 0.5 : 1) * k;
            if (s == 3) break;
            x = add_scaled(L, l[s], part);
            y = quat_add_scaled(z, d[s], part);
        }
        const real c = k * sixth, two = rset(2);
        const vec3 more = add(add_scaled(l[0], l[1], two), add_scaled(l[3], l[2], two));
        const vec3 middle = scale(add_scaled(add(w[0], w[3]), add(w[1], w[2]), two), c);
        way = sel3(goes, add(way, mul(quat_rotation(z), middle)), way);
        L = sel3(goes, add_scaled(L, more, c), L);
        quat next;
        next.w = fmadd(c, fmadd(two, d[1].w + d[2].w, d[0].w + d[3].w), z.w);
        next.x = fmadd(c, fmadd(two, d[1].x + d[2].x, d[0].x + d[3].x), z.x);
        next.y = fmadd(c, fmadd(two, d[1].y + d[2].y, d[0].y + d[3].y), z.y);
        next.z = fmadd(c, fmadd(two, d[1].z + d[2].z, d[0].z + d[3].z), z.z);
        z = sel_quat(goes, next, z);
    }
    turned_frame f;
    const mat3 T = quat_rotation(quat_normalised(z)), now = mmul(R, T);
    f.E = mmul(now, transposed(R)), f.F = T, f.r = zero3(), f.way = mul(R, way);
    rates_of_top(&I, now, tmul(T, start),
                 &f);  // with the momentum that in space has not changed, whatever the rounding of the parts
    return f;
}

/// The angular momentum, world axes, of the columns V with the second moment S at the axes R.
FN vec3 moment_of_columns(mat3 R, mat3 V, sym3 S) { return sum_of_crosses(R, mmul(V, sym_full(S))); }

FN turned_frame no_turn(void)
{
    const real o = rset(0), one = rset(1);
    turned_frame f;
    f.E.x = vec(one, o, o), f.E.y = vec(o, one, o), f.E.z = vec(o, o, one), f.F = f.E;
    f.l = f.a = f.r = f.way = zero3();
    return f;
}

/// The frames of body b, which spins, after the time t of a step that begins with the axes R and their change V; *start: as it does.
FN turned_frame frame_of(const lane_body *b, mat3 R, mat3 V, real t, turned_frame *start)
{
    const real o = rset(0), half = rset(0.5);
    turned_frame f = no_turn();
    *start = f;
    if (is_top(b)) {
        const top_mass M = mass_of_top(b);
        const ldl3 I = ldl_factor(M.I);
        const vec3 L = tmul(R, moment_of_columns(R, V, M.S));
        rates_of_top(&I, R, L, start);
        return turn_top(&I, R, L, t);
    }
    if (is_wheel(b) && b->kind == JOINT_REVOLUTE) {
        real sn, cs;
        f.r = vec(o, o, half * (dot(R.y, V.x) - dot(R.x, V.y)));
        sincosr(f.r.z * t, &sn, &cs);
        f.F.x = vec(cs, sn, o), f.F.y = vec(negate(sn), cs, o), f.F.z = vec(o, o, rset(1));
        f.way = scale(R.z, f.r.z * t);
    } else if (is_wheel(b)) {
        const vec3 a = own_axis(b);
        f.r = scale(a, dot(a, rate_of_axes(R, V)));
        f.F = quat_rotation(quat_exp(scale(f.r, t))), f.way = mul(R, scale(f.r, t));
    } else {
        f.r = scale(rate_of_axes(R, V), half), f.l = mul(R, f.r);
        f.F = quat_rotation(quat_exp(scale(f.r, t)));
        f.E = mmul(mmul(R, f.F), transposed(R)), f.way = scale(f.l, t + t);
    }
    *start = f;
    return f;
}

/// E M F
FN mat3 turned_on(const lane_body *b, const turned_frame *f, mat3 M)
{
    if (is_wheel(b)) return mmul(M, f->F);
    return is_top(b) ? mmul(f->E, M) : mmul(mmul(f->E, M), f->F);
}
/// E' M F'
FN mat3 turned_back(const lane_body *b, const turned_frame *f, mat3 M)
{
    if (is_wheel(b)) return mmul(M, transposed(f->F));
    M = mmul(transposed(f->E), M);
    return is_top(b) ? M : mmul(M, transposed(f->F));
}

/// The angular velocity of a body with the axes R that goes on as its frames do, world axes.
FN vec3 frame_spin(const turned_frame *f, mat3 R) { return add(f->l, mul(R, f->r)); }

/// Where the centre of mass is, if that is seen as it is, body axes.
FN vec3 seen_center(const lane_body *b)
{
    return is_top(b) && !(b->flags & BODY_PINNED) ? scale(load3(given(b)->h), rset(1) / given(b)->mass) : zero3();
}

/// Gives the columns V of a pose those of R besides, where the centre of mass goes on as it did.
FN rate_pose with_columns(const lane_body *b, rate_pose V, mat3 R)
{
    if (is_top(b) && !(b->flags & BODY_PINNED)) V.p = add(V.p, mul(mat3_add_scaled(V.R, R, rset(-1)), seen_center(b)));
    V.R = R;
    return V;
}

/// What G makes at the axes R, with D = E Q' F: a couple; and how that changes by dR and dD.
FN vec3 frame_couple(const lane_body *b, const turned_frame *f, mat3 R, mat3 D)
{
    const top_mass M = mass_of_top(b);
    return moment_of_columns(R, frame_change(b, f, R, D), M.S);
}
FN vec3 couple_change(const lane_body *b, const turned_frame *f, mat3 R, mat3 D, mat3 dR, mat3 dD)
{
    const top_mass M = mass_of_top(b);
    return add(moment_of_columns(dR, frame_change(b, f, R, D), M.S), moment_of_columns(R, frame_change(b, f, dR, dD), M.S));
}

/// The couple of a gyrostat, of the size I w d, on a wheel with the axis z whose rate is d (z - f), across it or whole; and its
/// derivative by turns, by rows.
FN vec3 gyrostat_couple(real size, bool whole, vec3 z, vec3 f) { return scale(sub(whole ? z : scale(z, dot(z, f)), f), size); }
FN mat3 gyrostat_block(real size, bool whole, vec3 z, vec3 f)
{
    const vec3 c = scale(z, negate(size * (whole ? rset(1) : dot(z, f))));
    return dyad_and_skew(z, whole ? zero3() : scale(cross(z, f), size), c);
}

/// The couple on body b at the end of a step of one stage, with the axes R; and its derivative by turns, by rows.
FN bool has_couple(const lane_body *b) { return tilts(b) || is_top(b); }
FN vec3 end_couple(const lane_body *b, const body_frame *f, mat3 R)
{
    if (!is_top(b)) return gyrostat_couple(f->couple, f->whole, wheel_axis(b, R), wheel_axis(b, f->base));
    return frame_couple(b, &f->at, R, mat3_scaled_difference(R, f->base, f->rate));
}
FN mat3 end_couple_block(const lane_body *b, const body_frame *f, mat3 R)
{
    if (!is_top(b)) return gyrostat_block(f->couple, f->whole, wheel_axis(b, R), wheel_axis(b, f->base));
    const real o = rset(0), one = rset(1);
    const vec3 e[3] = {vec(one, o, o), vec(o, one, o), vec(o, o, one)};
    const mat3 D = mat3_scaled_difference(R, f->base, f->rate);
    vec3 c[3];
    for (int k = 0; k < 3; k++) {
        const mat3 dR = skew_times(e[k], R);
        c[k] = couple_change(b, &f->at, R, D, dR, mat3_scale(dR, f->rate));
    }
    mat3 A;
    A.x = vec(c[0].x, c[1].x, c[2].x), A.y = vec(c[0].y, c[1].y, c[2].y), A.z = vec(c[0].z, c[1].z, c[2].z);
    return A;
}

#endif
