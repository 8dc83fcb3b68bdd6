/// Which elements of a pair may press, and how much each counts (contact/pair_gap.h).
///
/// Two edges are a face of the difference of the cores, or they are nothing to it; that is for the two arcs of the normals
/// about the edges to say, which cross or not [Gregorius 2013]. What counts is a face that is not much deeper than the cores
/// overlap.
///
/// Along the normal of the best plane that parts the cores along a face, or that they are the least deep by, heights bound
/// distances from below: a point, or a line, that is too far from the plane is passed over.
#ifndef CATENA_PAIR_WEIGHT_H
#define CATENA_PAIR_WEIGHT_H

#include "contact/pair_lines.h"
#include "contact/sliding_point.h"

/// 3x^2 - 2x^3 of a number that is held between 0 and 1.
FN real smooth_step(real x)
{
    const real o = rset(0), one = rset(1), y = sel(gt(x, one), one, sel(gt(x, o), x, o));
    return y * y * fnmadd(rset(2), y, rset(3));
}

FN real upper_of(real x, real y) { return sel(gt(x, y), x, y); }

// ---- how far cores are apart

/// By planes along faces: the best one's normal, from b to a, where b ends along it, from the origin of b's body, and how far
/// beyond a begins; less than 0: they overlap by that. Without faces way is 0, and nothing is known.
typedef struct {
    vec3 way;
    real top, apart;
    mask of_a;  // it is along a face of a
} core_plane;

FN void take_plane(core_plane *s, vec3 way, real top, real begin, mask of_a)
{
    const real d = begin - top;
    const mask more = gt(d, s->apart);
    s->of_a = either(both(more, of_a), both(not_(more), s->of_a));
    s->way = sel3(more, way, s->way), s->top = sel(more, top, s->top), s->apart = sel(more, d, s->apart);
}

KERNEL core_plane plane_between(const touch_shape *a, const touch_shape *b, const pair_pose *P)
{
    const vec3 of_a = add(P->a, P->ab);
    double at;
    core_plane s;
    s.way = zero3(), s.top = rset(0), s.apart = rset(-1e30), s.of_a = none_of();
    for (int k = 0; k < faces_of_core(b); k++) {
        const vec3 n = mul(P->B, face_of_core(b, k, &at));
        take_plane(&s, n, dot(n, P->b) + rset(at), dot(n, of_a) - reach_of_core(a, opposite(tmul(P->A, n))), none_of());
    }
    for (int k = 0; k < faces_of_core(a); k++) {
        const vec3 n = opposite(mul(P->A, face_of_core(a, k, &at)));
        take_plane(&s, n, dot(n, P->b) + reach_of_core(b, tmul(P->B, n)), dot(n, of_a) - rset(at), not_(none_of()));
    }
    return s;
}

/// The pair in the axes of b, and the plane as both cores see it: which way, and where it is from their middles.
typedef struct {
    pair_pose P;
    vec3 a, b;
    real at_a, at_b;
} plane_view;

FN plane_view view_of_plane(const core_plane *s, const pair_pose *P)
{
    plane_view v;
    v.P.A.x = tmul(P->B, P->A.x), v.P.A.y = tmul(P->B, P->A.y), v.P.A.z = tmul(P->B, P->A.z);
    v.P.B.x = row_of_axes(0, 1), v.P.B.y = row_of_axes(1, 1), v.P.B.z = row_of_axes(2, 1);
    v.P.a = tmul(P->B, P->a), v.P.b = tmul(P->B, P->b), v.P.ab = tmul(P->B, P->ab);
    v.a = tmul(P->A, s->way), v.b = tmul(P->B, s->way);
    v.at_a = s->top - dot(s->way, add(P->a, P->ab)), v.at_b = s->top - dot(s->way, P->b);
    return v;
}

/// How far a line of a begins above the top of b, and one of b ends below it.
FN real above_plane(const plane_view *v, const core_line *l)
{
    return fnmadd(magnitude(dot(v->a, l->way)), rset(l->half), dot(v->a, l->at)) - (v->at_a + rset(l->wide));
}
FN real below_plane(const plane_view *v, const core_line *l)
{
    return v->at_b - fmadd(magnitude(dot(v->b, l->way)), rset(l->half), dot(v->b, l->at)) - rset(l->wide);
}

/// Where two lines are near enough to the plane, and to each other along its normal: in each lane by itself, so that it does not
/// know of others.
FN mask near_plane(real above, real below, real reach, real low)
{
    return both(both(le(above, reach), le(below, low)), le(above + below, reach));
}

/// The lines of a core that may be near the plane: which, and of the first few how they are in b's axes, and how far those of a
/// begin above the top of b, or those of b end below it. All others are made anew.
enum { KEPT_LINES = 12 };
typedef struct {
    int count, which[MOST_CORE_LINES];
    core_line line[KEPT_LINES];
    real off[KEPT_LINES];
} plane_lines;

FN real off_plane(const plane_view *v, const core_line *l, bool of_a) { return of_a ? above_plane(v, l) : below_plane(v, l); }

/// Those that are at most so far off in some lane.
KERNEL void find_plane_lines(const touch_shape *s, const plane_view *v, bool of_a, real most, plane_lines *to)
{
    to->count = 0;
    for (int k = 0; k < lines_of_core(s); k++) {
        const core_line l = line_of_core(s, k);
        const real off = off_plane(v, &l, of_a);
        if (!any_of(le(off, most))) continue;
        if (to->count < KEPT_LINES) to->line[to->count] = of_a ? turned_line(v->P.A, l) : l, to->off[to->count] = off;
        to->which[to->count++] = k;
    }
}

FN core_line plane_line(const touch_shape *s, const plane_view *v, bool of_a, const plane_lines *L, int k, real *off)
{
    if (k < KEPT_LINES) {
        *off = L->off[k];
        return L->line[k];
    }
    const core_line l = line_of_core(s, L->which[k]);
    *off = off_plane(v, &l, of_a);
    return of_a ? turned_line(v->P.A, l) : l;
}

/// The plane along two lines, where it is the best: its normal, from b to a, and the arm of the nearest point on a's line.
typedef struct {
    mask best;
    vec3 n, arm;
} lines_apart;

/// How far off the plane lines are that say how far cores are apart.
FN real reach_apart(const touch_shape *a, const touch_shape *b, const core_plane *s)
{
    return upper_of(negate(s->apart), rset(a->radius + b->radius));
}

/// As apart_at(), of the lines A and B, among which are all that are near the plane.
KERNEL real apart_by_lines(const touch_shape *a, const touch_shape *b, const pair_pose *P, const core_plane *s,
                           const plane_view *v, const plane_lines *A, const plane_lines *B, lines_apart *to)
{
    const real one = rset(1), slack = rset(1e-9), reach = reach_apart(a, b, s), low = reach - s->apart;
    const vec3 middle = sub(add(v->P.a, v->P.ab), v->P.b);
    real best = s->apart;
    if (to) to->best = none_of(), to->n = to->arm = zero3();
    for (int i = 0; i < A->count; i++) {
        real above, below;
        const core_line la = plane_line(a, v, true, A, i, &above);
        if (!any_of(le(above, reach))) continue;
        const vec3 at = add(middle, la.at);
        for (int j = 0; j < B->count; j++) {
            const core_line lb = plane_line(b, v, false, B, j, &below);
            mask facing = near_plane(above, below, reach, low);
            if (!any_of(facing)) continue;
            const vec3 across = cross(la.way, lb.way), off = sub(at, lb.at);
            const vec3 n = scale(across, sign_of(dot(across, outward_of_lines(&la, &lb, off))));
            facing = both(facing, gt(dot(n, n), rset(1e-12)));
            for (int k = 0; k < 2; k++) {
                if (lb.edge) facing = both(facing, gt(dot(n, lb.across[k]), negate(slack)));
                if (la.edge) facing = both(facing, lt(dot(n, la.across[k]), slack));
                if (!any_of(facing)) break;
            }
            if (!any_of(facing)) continue;
            const real d = dot(n, off) / root(sel(facing, dot(n, n), one)) - rset(la.wide + lb.wide);
            const mask better = both(facing, gt(d, best));
            best = sel(better, d, best);
            if (!to || !any_of(better)) continue;
            const real along = dot(la.way, lb.way), over = one / dot(n, n),
                       u = fmadd(along, dot(off, lb.way), negate(dot(off, la.way))) * over;
            to->best = either(to->best, better), to->n = sel3(better, mul(P->B, scale(n, root(over))), to->n);
            to->arm = sel3(better, mul(P->B, add(v->P.a, add_scaled(la.at, la.way, u))), to->arm);
        }
    }
    return best;
}

/// How far the cores are apart by the best of the planes along faces, and along two lines whose arcs cross, in the lanes where
/// these are not farther apart than both radii; overlapping, less than 0, by how much. The lines of that plane are no deeper
/// than cores overlap by s, so that both are near the plane. to: may be NULL.
KERNEL real apart_at(const touch_shape *a, const touch_shape *b, const pair_pose *P, const core_plane *s, lines_apart *to)
{
    const plane_view v = view_of_plane(s, P);
    const real reach = reach_apart(a, b, s);
    plane_lines A, B;
    find_plane_lines(a, &v, true, reach, &A), find_plane_lines(b, &v, false, reach - s->apart, &B);
    return apart_by_lines(a, b, P, s, &v, &A, &B, to);
}

// ---- how much elements count

/// A quarter of both radii, m.
FN double weight_band(const touch_shape *a, const touch_shape *b)
{
    return 0.25 * (a->radius + b->radius) + 1e-9 * (a->bound + b->bound);
}

/// How much two lines count, from 0 to 1; apart: of apart_at(). Lines count
///
///   unless they are parallel: smooth in sin^2/1e-4, as then there is no nearest point,
///   between their ends: smooth in 1 % of their lengths, as beyond there are points,
///
/// and edges, and an axis and an edge,
///
///   unless a quarter of both radii deeper than the cores overlap: that is one across the cores, of no use to part them,
/// where n is between the normals of the faces beside them, but for 0.1 rad, which keeps faces that rock on each other on all of
/// their edges; while cores are apart they always count, as none of their points are nearer than the cores.
FN real weight_of_lines(const core_line *a, const core_line *b, const two_lines *t, real apart, double band)
{
    const real one = rset(1);
    const double slack = 0.1, window = 0.02 * a->half * b->half;
    const real sine2 = sel(t->parallel, rset(0), one / sel(t->parallel, one, t->over));
    const real ia = rset(b->half) * (rset(a->half) - magnitude(t->ua)), ib = rset(a->half) * (rset(b->half) - magnitude(t->ub));
    const real ends = sel(lt(ia, ib), ia, ib);
    const real crossing = smooth_step(sine2 * rset(1e4)) * smooth_step(ends * rset(window > 0 ? 1 / window : 0));
    if ((!a->edge && !b->edge) || !any_of(gt(crossing, rset(0)))) return crossing;
    real arc = one;
    for (int i = 0; i < 2; i++) {
        const real of_b = b->edge ? dot(t->n, b->across[i]) : one, of_a = a->edge ? negate(dot(t->n, a->across[i])) : one;
        arc = sel(lt(of_b, arc), of_b, arc), arc = sel(lt(of_a, arc), of_a, arc);
    }
    const real d = t->d - rset(a->wide + b->wide), off = smooth_step(sel(lt(d, apart), d, apart) * rset(1 / band));
    const real within = smooth_step(fmadd(arc, rset(1 / slack), one)), least = smooth_step(fmadd(d - apart, rset(1 / band), one));
    return crossing * least * upper_of(within, off);
}

/// That of an element: 1 of points and axes.
FN real weight_of_element(const touch_shape *a, const touch_shape *b, int element, const pair_pose *P, real apart)
{
    const pair_element e = element_at(a, b, element);
    const double band = weight_band(a, b);
    if (e.kind != ELEMENT_LINES) return rset(1);
    const core_line la = turned_line(P->A, line_of_core(a, e.a)), lb = turned_line(P->B, line_of_core(b, e.b));
    const two_lines t = crossing_lines(&la, &lb, P, NULL);
    return weight_of_lines(&la, &lb, &t, apart, band);
}

// ---- which are near

/// Where near_elements() puts what it finds: [room] elements, and how much each counts; where: in lanes whose cores are near.
typedef struct {
    int *element;
    real *weight;
    int room, count;
    mask where;
} near_list;

FN void note_element(near_list *to, int element, mask near, real weight)
{
    weight = sel(both(near, to->where), weight, rset(0));
    if (!any_of(gt(weight, rset(0)))) return;
    if (to->count < to->room) to->element[to->count] = element, to->weight[to->count] = weight;
    to->count++;
}

FN void near_lines(const touch_shape *a, const touch_shape *b, const pair_pose *P, const plane_view *v, const core_plane *s,
                   real reach, near_list *to)
{
    const double band = weight_band(a, b);
    const int first = points_of_core(a) + points_of_core(b), of_b = lines_of_core(b);
    const real radii = rset(a->radius + b->radius);
    const real near = upper_of(reach + radii, rset(band) - s->apart), far = upper_of(near, reach_apart(a, b, s));
    plane_lines A, B;
    find_plane_lines(a, v, true, far, &A), find_plane_lines(b, v, false, far - s->apart, &B);
    const real apart = apart_by_lines(a, b, P, s, v, &A, &B, NULL);
    const real deep = upper_of(reach + radii, rset(band) - apart), low = deep - s->apart;  // as far as they may be apart
    const vec3 middle = sub(add(v->P.a, v->P.ab), v->P.b);
    for (int i = 0; i < A.count; i++) {
        real above, below;
        const core_line la = plane_line(a, v, true, &A, i, &above);
        if (!any_of(le(above, deep))) continue;
        for (int j = 0; j < B.count; j++) {
            const core_line lb = plane_line(b, v, false, &B, j, &below);
            const vec3 off = sub(add(middle, la.at), lb.at);
            const real most = rset(la.half + lb.half + la.wide + lb.wide) + deep;
            const mask may = both(le(dot(off, off), most * most), near_plane(above, below, deep, low));
            if (!any_of(may)) continue;
            const two_lines t = crossing_lines(&la, &lb, &v->P, NULL);
            const mask is = both(may, lt(t.d - (rset(la.wide + lb.wide) + radii), reach));
            if (!any_of(is)) continue;
            note_element(to, first + A.which[i] * of_b + B.which[j], is, weight_of_lines(&la, &lb, &t, apart, band));
        }
    }
}

/// The elements that in some lane count and have a gap below `reach`, in rising order, and how much they count in each lane: 0
/// where the gap is not below. Of points some may be named that are not as near. Returns how many there are, and puts the first
/// `room` of them into element and weight.
KERNEL int near_elements(const touch_shape *a, const touch_shape *b, const pair_pose *P, real reach, int room, int *element,
                         real *weight)
{
    const real core = reach + rset(a->radius + b->radius), one = rset(1);
    const mask always = not_(none_of());
    near_list to;
    to.element = element, to.weight = weight, to.room = room, to.count = 0, to.where = always;
    if (b->kind <= CORE_SEGMENT) {
        note_element(&to, 0, always, one);
        return to.count;
    }
    const core_plane s = plane_between(a, b, P);
    const bool parted = faces_of_core(a) + faces_of_core(b);
    if (parted) to.where = lt(s.apart, core);
    if (!any_of(to.where)) return 0;
    if (touch_once(a, b)) {
        note_element(&to, 0, always, one);
        return to.count;
    }
    const plane_view v = view_of_plane(&s, P);
    const element_counts c = counts_of(a, b);
    for (int k = 0; k < c.lines; k++) {
        const bool of_a = k < c.of_b;
        const int i = of_a ? k : k - c.of_b;
        const real off = of_a ? dot(v.a, point_of_core(a, i)) - v.at_a : s.apart + v.at_b - dot(v.b, point_of_core(b, i));
        real far = core;
        if (points_slide(of_a ? a : b)) far = far + reach_of_slide(of_a ? a : b, of_a ? v.a : v.b);
        const mask near = lt(off, far);
        note_element(&to, k, parted ? near : always, one);
    }
    if (lines_between(a, b)) near_lines(a, b, P, &v, &s, reach, &to);
    return to.count;
}

#endif
