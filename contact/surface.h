/// How far a point is from a surface that is fixed in the world, and what the gradient of that is.
///
/// The gap of a point x to a solid body is its signed distance, exact on both sides and continuous; a rounded point's is less by
/// its radius. With y = R'(x - at) in the body's axes, q the distances to its faces and o = max(q, 0)
///
///     sphere, capsule   |y - c| - r              c: the nearest point of the middle, or of the axis
///     box               |o|, inside max(q)       q = |y| - half
///     cylinder          likewise                 q = (|y_xy| - r, |y_z| - half)
///     ellipsoid         contact/ellipsoid.h
///     hull of a mesh    contact/hull.h
///
/// n is its gradient, H its second derivative, (P - n n')/|o| where P projects on the faces that x is beyond: 0 before a face, 1/|o|
/// across an edge, in both directions about a corner or a middle. In here it is never negative, so that what pushes has a negative
/// one. Inside, where two faces are as near, n jumps, and the energy of what pushes has a ridge: nothing comes to rest there. Of a
/// terrain (contact/terrain.h) H is left out of steps, as it is of either sign, and wants third derivatives of the heights; their
/// derivatives have it (bend_at()).
#ifndef CATENA_CONTACT_SURFACE_H
#define CATENA_CONTACT_SURFACE_H

#include "contact/ellipsoid.h"
#include "contact/hull.h"
#include "contact/terrain.h"
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"

/// From the nearest point of the axis of a capsule, or the middle of a sphere; *on: that is no end of the axis.
FN vec3 from_axis(const fixed_surface *f, vec3 y, mask *on)
{
    const real half = rset(f->half[2]);
    *on = lt(magnitude(y.z), half);
    return vec(y.x, y.y, sel(*on, rset(0), y.z - sign_of(y.z) * half));
}

FN surface_point at_round(const fixed_surface *f, vec3 y, sym3 *H)
{
    const real o = rset(0), one = rset(1);
    mask on;
    const vec3 r = from_axis(f, y, &on);
    const real d = root(dot(r, r));
    const mask off = gt(d, o);
    const real inverse = one / sel(off, d, one);
    surface_point s;
    s.gap = d - rset(f->radius), s.n = sel3(off, scale(r, inverse), vec(one, o, o));
    if (H) {
        const real k = sel(off, inverse, o);
        *H = sym_diagonal(k, k, sel(on, o, k));
        sym_add_dyad(H, s.n, negate(k));
    }
    return s;
}

FN surface_point at_box(const fixed_surface *f, vec3 y, sym3 *H)
{
    const real o = rset(0), one = rset(1);
    const vec3 sign = vec(sign_of(y.x), sign_of(y.y), sign_of(y.z));
    const vec3 q = sub(vec(magnitude(y.x), magnitude(y.y), magnitude(y.z)), const3(f->half));
    const vec3 out = vec(above_zero(q.x), above_zero(q.y), above_zero(q.z));
    const real d = root(dot(out, out));
    const mask off = gt(d, o), x = both(le(q.y, q.x), le(q.z, q.x)), z = both(not_(x), lt(q.y, q.z));
    const real inverse = one / sel(off, d, one);
    const vec3 nearest = vec(sel(x, one, o), sel(either(x, z), o, one), sel(z, one, o));
    const vec3 n = sel3(off, scale(out, inverse), nearest);
    surface_point s;
    s.gap = sel(off, d, sel(x, q.x, sel(z, q.z, q.y))), s.n = vec(sign.x * n.x, sign.y * n.y, sign.z * n.z);
    if (H) {
        const real k = sel(off, inverse, o);
        *H = sym_diagonal(sel(gt(q.x, o), k, o), sel(gt(q.y, o), k, o), sel(gt(q.z, o), k, o));
        sym_add_dyad(H, s.n, negate(k));
    }
    return s;
}

FN surface_point at_cylinder(const fixed_surface *f, vec3 y, sym3 *H)
{
    const real o = rset(0), one = rset(1), rho = root(fmadd(y.y, y.y, y.x * y.x)), sign = sign_of(y.z);
    const mask round = gt(rho, o);
    const real over = one / sel(round, rho, one);
    const vec3 across = sel3(round, vec(y.x * over, y.y * over, o), vec(one, o, o));
    const real q = rho - rset(f->radius), p = magnitude(y.z) - rset(f->half[2]), a = above_zero(q), b = above_zero(p);
    const real d = root(fmadd(b, b, a * a));
    const mask off = gt(d, o), side = le(p, q);
    const real inverse = one / sel(off, d, one);
    const real n = sel(off, a * inverse, sel(side, one, o)), m = sel(off, b * inverse, sel(side, o, one));
    surface_point s;
    s.gap = sel(off, d, sel(side, q, p)), s.n = vec(n * across.x, n * across.y, m * sign);
    if (H) {
        const real k = sel(off, inverse, o);
        *H = sym_diagonal(o, o, sel(gt(p, o), k, o));
        sym_add_dyad(H, across, sel(gt(q, o), k, o));
        sym_add_dyad(H, s.n, negate(k));
        sym_add_dyad(H, vec(negate(across.y), across.x, o), sel(round, n * over, o));
    }
    return s;
}

FN surface_point at_terrain(const fixed_surface *f, vec3 y)
{
    real h[HEIGHT_NUMBERS];
    heights_at(f, y.x, y.y, h);
    const real one = rset(1), hx = h[HEIGHT_X], hy = h[HEIGHT_Y], over = y.z - h[HEIGHT];
    const real g = one / root(fmadd(hy, hy, fmadd(hx, hx, one))), bend = negate(over * g * g * g);
    surface_point s;
    s.gap = over * g, s.face = vec(negate(g * hx), negate(g * hy), g);
    s.n = add_scaled(s.face, vec(fmadd(hy, h[HEIGHT_XY], hx * h[HEIGHT_XX]), fmadd(hy, h[HEIGHT_YY], hx * h[HEIGHT_XY]), rset(0)),
                     bend);
    return s;
}

/// The second derivative of the gap above a terrain, (z - h) g: with p = (h_x, h_y), g = (1 + p.p)^(-1/2) and q_i = p.h_i
///
///     g_i = -g^3 q_i,    g_ij = 3 g^5 q_i q_j - g^3 (h_i.h_j + p.h_ij)
FN sym3 terrain_bend(const fixed_surface *f, vec3 y)
{
    real h[HEIGHT_NUMBERS], third[4];
    heights_at(f, y.x, y.y, h), height_thirds(f, y.x, y.y, third);
    const real one = rset(1), hx = h[HEIGHT_X], hy = h[HEIGHT_Y], over = y.z - h[HEIGHT];
    const real xx = h[HEIGHT_XX], xy = h[HEIGHT_XY], yy = h[HEIGHT_YY];
    const real g = one / root(fmadd(hy, hy, fmadd(hx, hx, one))), g3 = g * g * g, more = rset(3) * g3 * g * g;
    const real qx = fmadd(hy, xy, hx * xx), qy = fmadd(hy, yy, hx * xy), gx = negate(g3 * qx), gy = negate(g3 * qy);
    const real gxx = fnmadd(g3, fmadd(hy, third[1], hx * third[0]) + fmadd(xy, xy, xx * xx), more * qx * qx);
    const real gxy = fnmadd(g3, fmadd(hy, third[2], hx * third[1]) + xy * (xx + yy), more * qx * qy);
    const real gyy = fnmadd(g3, fmadd(hy, third[3], hx * third[2]) + fmadd(yy, yy, xy * xy), more * qy * qy);
    sym3 H;
    H.xx = fmadd(over, gxx, negate(fmadd(g, xx, rset(2) * hx * gx)));
    H.yy = fmadd(over, gyy, negate(fmadd(g, yy, rset(2) * hy * gy)));
    H.xy = fmadd(over, gxy, negate(fmadd(g, xy, fmadd(hx, gy, hy * gx))));
    H.zz = rset(0), H.xz = gx, H.yz = gy;
    return H;
}

/// How a point y in the axes of a solid body stands at it; H: takes the second derivative of the gap, may be NULL.
FN surface_point at_solid(const fixed_surface *f, vec3 y, sym3 *H)
{
    surface_point s;
    switch (f->kind) {
    case SURFACE_BOX: s = at_box(f, y, H); break;
    case SURFACE_CYLINDER: s = at_cylinder(f, y, H); break;
    case SURFACE_ELLIPSOID: s = at_ellipsoid(f, y, H); break;
    case SURFACE_HULL: s = at_hull(f, y, H); break;
    default: s = at_round(f, y, H);
    }
    return s;
}

/// Where x stands at a surface; H: takes the second derivative of the gap, may be NULL.
KERNEL surface_point stand_at(const fixed_surface *f, vec3 x, sym3 *H)
{
    const mat3 R = const33(f->R);
    const vec3 y = tmul(R, sub(x, const3(f->at)));
    surface_point s;
    if (f->kind == SURFACE_TERRAIN) {
        s = at_terrain(f, y);
        s.n = mul(R, s.n), s.face = mul(R, s.face);
        if (H) *H = sym_diagonal(rset(0), rset(0), rset(0));
        return s;
    }
    s = at_solid(f, y, H);
    s.n = s.face = mul(R, s.n);
    if (H) *H = turn(R, *H);
    return s;
}

/// The second derivative of the gap there, of a terrain, too.
FN sym3 bend_at(const fixed_surface *f, vec3 x)
{
    sym3 H;
    const mat3 R = const33(f->R);
    if (f->kind == SURFACE_TERRAIN) return turn(R, terrain_bend(f, tmul(R, sub(x, const3(f->at)))));
    stand_at(f, x, &H);
    return H;
}

/// The gradient of F.face there by x: of a terrain, where face = N/|N| with N = (-h_x, -h_y, 1), by that.
FN vec3 face_slope(const fixed_surface *f, vec3 x, vec3 F)
{
    if (f->kind != SURFACE_TERRAIN) return smul(bend_at(f, x), F);
    const mat3 R = const33(f->R);
    const vec3 y = tmul(R, sub(x, const3(f->at))), b = tmul(R, F), n = at_terrain(f, y).face;
    real h[HEIGHT_NUMBERS];
    heights_at(f, y.x, y.y, h);
    const vec3 by = scale(sub_scaled(b, n, dot(n, b)), negate(n.z));  // g = n.z
    return mul(R, vec(fmadd(h[HEIGHT_XY], by.y, h[HEIGHT_XX] * by.x), fmadd(h[HEIGHT_YY], by.y, h[HEIGHT_XY] * by.x), rset(0)));
}

/// Where a point of the radius r at x may touch: within what has all of the surface.
FN mask may_touch(const fixed_surface *f, real r, vec3 x)
{
    const vec3 d = sub(x, const3(f->at));
    if (f->kind == SURFACE_TERRAIN) return le(dot(const33(f->R).z, d), fmadd(r, rset(f->half[2]), rset(f->bound)));
    const real reach = r + rset(f->bound);
    return le(dot(d, d), reach * reach);
}

#endif
