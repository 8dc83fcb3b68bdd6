/// How far two shapes are from each other (contact/pair_gap.h): gradients and second derivatives of every kind of element by
/// differences, and that they know neither which shape comes first nor which way both are turned.
#include "tests/two_shapes.h"

#include "tests/suite.h"

#define SEED 20261128

typedef struct {
    twist a, b;
} two_motions;

static two_motions random_motions(rng *r)
{
    return (two_motions){{random_vector(r, 1), random_vector(r, 1)}, {random_vector(r, 1), random_vector(r, 1)}};
}

/// The way of the origin by the motion (w, v).
static vec3 moved(twist m)
{
    const double t = sqrt(dot(m.w, m.w)), c = t > 0 ? 2 * sin(t / 2) * sin(t / 2) / (t * t) : 0.5;
    const double q = t > 1e-4 ? (t - sin(t)) / (t * t * t) : (1 - t * t / 20) / 6;
    const vec3 wv = cross(m.w, m.v);
    return add(m.v, add(scale(wv, c), scale(cross(m.w, wv), q)));
}

static twist scaled(twist m, double s) { return (twist){scale(m.w, s), scale(m.v, s)}; }

/// The pair after a part of a motion; a and b, where not NULL, take how far the bodies' origins have come.
static two_shapes pair_after(const two_shapes *p, two_motions m, double part, vec3 *a, vec3 *b)
{
    two_shapes q = *p;
    const vec3 ta = moved(scaled(m.a, part)), tb = moved(scaled(m.b, part));
    q.Ra = mmul(turned(scale(m.a.w, part)), p->Ra), q.Rb = mmul(turned(scale(m.b.w, part)), p->Rb);
    q.ab = add(p->ab, sub(ta, tb));
    if (a) *a = ta, *b = tb;
    return q;
}

static double gap_after(const two_shapes *p, int element, two_motions m, double part)
{
    const two_shapes q = pair_after(p, m, part, NULL, NULL);
    const pair_pose P = pose_of(&q);
    return gap_at(&q.a, &q.b, element, &P, NULL).gap;
}

/// How fast the gap grows by `part`, told by its gradient.
static double rate_after(const two_shapes *p, int element, two_motions m, double part)
{
    vec3 a, b;
    const two_shapes q = pair_after(p, m, part, &a, &b);
    const pair_pose P = pose_of(&q);
    const pair_gap g = gap_at(&q.a, &q.b, element, &P, NULL);
    return dot(g.n, sub(cross_add(m.a.v, m.a.w, add(a, g.ra)), cross_add(m.b.v, m.b.w, add(b, g.rb))));
}

static double bend_along(const pair_bend *B, two_motions m)
{
    const wrench a = inertia_times(&B->aa, m.a), b = inertia_times(&B->bb, m.b);
    const vec3 n = add(mul(B->ww, m.b.w), mul(B->wv, m.b.v)), f = add(mul(B->vw, m.b.w), mul(B->vv, m.b.v));
    return dot(m.a.w, add(a.n, scale(n, 2))) + dot(m.a.v, add(a.f, scale(f, 2))) + dot(m.b.w, b.n) + dot(m.b.v, b.f);
}

/// Which faces of a core its point x is on, x in the axes of the core.
static unsigned faces_at(const touch_shape *s, vec3 x)
{
    unsigned on = 0;  // of many faces a number that wraps around
    if (s->kind == CORE_CYLINDER) on = (unsigned)(fabs(hypot(x.x, x.y) - s->half[0]) < 1e-9) << 2;
    if (s->kind == CORE_SEGMENT) on = fabs(x.z) > s->half[2] - 1e-9 ? x.z > 0 ? 1 : 2 : 0;
    for (int k = 0; k < faces_of_core(s); k++) {
        double at;
        const vec3 n = face_of_core(s, k, &at);
        if (fabs(dot(n, x) - at) < 1e-9) on = on * 31 + (unsigned)k + 8;
    }
    return on;
}

/// Which features the nearest points are on, by the gap alone; -1: too near a kink, or where it bends much.
static int feature_of(const two_shapes *p, int element)
{
    const pair_pose P = pose_of(p);
    const pair_element e = element_at(&p->a, &p->b, element);
    if (e.kind == ELEMENT_LINES) {
        const core_line la = turned_line(P.A, line_of_core(&p->a, e.a)), lb = turned_line(P.B, line_of_core(&p->b, e.b));
        const two_lines t = crossing_lines(&la, &lb, &P, NULL);
        const bool round = !la.edge && !lb.edge;
        const vec3 outward = outward_of_lines(&la, &lb, zero3());
        if (t.parallel || t.over > 10 || (round ? t.d < 0.1 : fabs(dot(t.n, outward)) < 0.1)) return -1;
        return t.d < 0;
    }
    if (e.kind == ELEMENT_AXES) {
        const two_lines t = axes_at(&p->a, &p->b, &P);
        if (t.parallel || t.over > 10 || t.d < 0.1) return -1;
        return (fabs(t.ua) < length_of_core(&p->a)) | (fabs(t.ub) < length_of_core(&p->b)) << 1;
    }
    const bool of_a = e.kind == ELEMENT_POINT_OF_A;
    const pair_pose Q = swapped_pose(&P);
    const touch_shape *const core = of_a ? &p->b : &p->a;
    const core_point at = of_a ? point_at_core(&p->a, &p->b, e.a, &P, NULL) : point_at_core(&p->b, &p->a, e.b, &Q, NULL);
    const touch_shape *const point = of_a ? &p->a : &p->b;
    if (point->kind == CORE_ELLIPSOID && at.d < 0) return -1;
    // at which end of its way a point of a rim is, or at none
    const real turned = at.ball * 2 / (-RIM_EASE * point->half[0]), ends = sin(M_PI / 16) * sin(M_PI / 16) - turned;
    if (point->kind == CORE_CYLINDER && fabs(ends) > 1e-12 && fabs(ends) < 1e-3) return -1;
    const int slid = point->kind == CORE_CYLINDER && ends > 1e-3;
    // of what faces away the nearest point may jump from end to end, and of what is deep at ridges of the core
    const bool stands = point->kind == CORE_CYLINDER && !(dot(at.slide[0], at.slide[0]) > 0);
    if (stands && (ends > 1e-3 || at.d > 0.1)) return -1;
    if (at.d < 0 && slid) return -1;
    if (point->kind == CORE_CYLINDER && dot(at.slide[0], at.slide[0]) > 0.25) return -1;  // where it slides fast
    const pair_pose *const R = of_a ? &P : &Q;
    const vec3 x = sub(sub_scaled(add(at.arm, R->ab), at.n, at.d), R->b), y = tmul(R->B, x);
    if (at.d > 0 && at.d < 0.1 && core->kind != CORE_ELLIPSOID) return -1;
    if (core->kind == CORE_CYLINDER && hypot(y.x, y.y) < 0.1) return -1;
    if (core->kind == CORE_CYLINDER && at.d < 0 && hypot(y.x, y.y) + at.d < 0.1) return -1;
    if (core->kind == CORE_ELLIPSOID && at.d < -0.1) return -1;
    return (int)(faces_at(core, y) & 0xfffffff) << 3 | slid << 1 | (at.d < 0);
}

/// What a difference of order 4 makes of f at parts of a motion.
#define DIFFERENCE(f, p, element, m, h)                                                                                          \
    ((8 * (f(p, element, m, h) - f(p, element, m, -(h))) - (f(p, element, m, 2 * (h)) - f(p, element, m, -2 * (h)))) / (12 * (h)))

enum { CORES = CORE_HULL + 1, KINDS = CORES * (CORES + 1) / 2 };

/// Pair of kinds number k, in which a's is not after b's.
static void kinds_of(int k, core_kind *a, core_kind *b)
{
    int j = 0;
    while (k > j) k -= ++j;
    *a = (core_kind)k, *b = (core_kind)j;
}

START_TEST(derivatives_are_those_of_differences)
{
    rng r = {SEED};
    core_kind a, b;
    int left[4] = {0}, deep[4] = {0}, ends[4] = {0};
    double worst_slope = 0, worst_bend = 0;
    kinds_of(_i, &a, &b);
    printf("pair_gap: seed %d, cores %d and %d", SEED, (int)a, (int)b);
    for (int i = 0; i < 12000; i++) {
        const two_shapes p = random_pair(&r, a, b, 1);
        int element = rng_below(&r, elements_of(&p.a, &p.b));
        if (i % 2 && !touch_once(&p.a, &p.b)) element = rng_below(&r, points_of_core(&p.a) + (a ? points_of_core(&p.b) : 0));
        const int feature = feature_of(&p, element);
        const two_motions m = random_motions(&r);
        const double h = 3e-4;
        bool same = feature >= 0;
        for (int j = -2; j <= 2 && same; j++) {
            const two_shapes q = pair_after(&p, m, j * h, NULL, NULL);
            same = feature_of(&q, element) == feature;
        }
        if (!same) continue;
        const pair_pose P = pose_of(&p);
        const pair_bend B = pair_bend_at(&p.a, &p.b, element, &P, NULL);
        const element_kind kind = element_at(&p.a, &p.b, element).kind;
        const pair_gap g = gap_at(&p.a, &p.b, element, &P, NULL);
        const double core = g.gap + p.a.radius + p.b.radius;
        left[kind]++, deep[kind] += core < 0;
        if (kind == ELEMENT_AXES) ends[feature]++;
        const double slope = rate_after(&p, element, m, 0), bend = bend_along(&B, m);
        const double slope_off = fabs(slope - DIFFERENCE(gap_after, &p, element, m, h));
        const double bend_off = fabs(bend - DIFFERENCE(rate_after, &p, element, m, h));
        worst_slope = fmax(worst_slope, slope_off), worst_bend = fmax(worst_bend, bend_off / (1 + fabs(bend)));
        ck_assert_double_le(slope_off, 1e-8);
        ck_assert_double_le(bend_off, 1e-6 * (1 + fabs(bend)));
        ck_assert_double_eq_tol(dot(g.n, g.n), 1, 1e-13);
        const vec3 off = sub_scaled(sub(add(g.ra, p.ab), g.rb), g.n, core);
        ck_assert_double_le(dot(off, off), 1e-24);
    }
    printf(":");
    for (int i = 0; i < 4; i++) printf(" %d", left[i]);
    printf(" samples of each kind of element,");
    for (int i = 1; i < 4; i++) printf(" %d", deep[i]);
    printf(" deep, off by %.1e and %.1e\n", worst_slope, worst_bend);
    if (b <= CORE_SEGMENT) {
        ck_assert_int_ge(left[ELEMENT_AXES], 8000);
        for (int i = 0; i < 4; i++)  // bit 0: between the ends of a, bit 1: of b
            if ((i & 1) <= (a == CORE_SEGMENT) && i >> 1 <= (b == CORE_SEGMENT)) ck_assert_int_ge(ends[i], 500);
        return;
    }
    if (a != CORE_POINT && (a == CORE_ELLIPSOID || b == CORE_ELLIPSOID)) {
        const element_kind kind = a == CORE_ELLIPSOID ? ELEMENT_POINT_OF_A : ELEMENT_POINT_OF_B;
        ck_assert_int_ge(left[kind], 1000);
        ck_assert_int_ge(deep[kind], 100);
        return;
    }
    ck_assert_int_ge(left[ELEMENT_POINT_OF_A], a == CORE_CYLINDER ? 200 : 400);
    ck_assert_int_ge(deep[ELEMENT_POINT_OF_A], 1);
    if (a == CORE_POINT) return;
    ck_assert_int_ge(left[ELEMENT_POINT_OF_B], b == CORE_CYLINDER ? 200 : 400);
    ck_assert_int_ge(deep[ELEMENT_POINT_OF_B], a == CORE_SEGMENT ? 0 : 10);
    const bool round = a != CORE_BOX && a != CORE_HULL && b == CORE_CYLINDER;
    ck_assert_int_ge(left[ELEMENT_LINES], round ? 30 : 600);
    ck_assert_int_ge(deep[ELEMENT_LINES], round ? 0 : 25);
}
END_TEST

static double apart(const vec3 a, const vec3 b)
{
    const vec3 d = sub(a, b);
    return sqrt(dot(d, d));
}

/// The element of b and a that is this one of a and b, of the same kind.
static int swapped_element(const two_shapes *p, int element)
{
    const pair_element e = element_at(&p->a, &p->b, element);
    const int points = points_of_core(&p->a) + points_of_core(&p->b);
    if (touch_once(&p->a, &p->b)) return 0;
    switch (e.kind) {
    case ELEMENT_POINT_OF_A: return points_of_core(&p->b) + e.a;
    case ELEMENT_POINT_OF_B: return e.b;
    case ELEMENT_LINES: return points + e.b * lines_of_core(&p->a) + e.a;
    default: return element;
    }
}

static double weight_in(const two_shapes *p, int element)
{
    const pair_pose P = pose_of(p);
    return weight_of_element(&p->a, &p->b, element, &P, cores_apart(p));
}

START_TEST(pairs_do_not_know_which_comes_first)
{
    rng r = {SEED + 1};
    int counted = 0;
    for (int i = 0; i < 12000; i++) {
        const core_kind k = (core_kind)(i % CORES);
        const two_shapes p = random_pair(&r, k, k, i % 2 ? 0.6 : 1), q = {p.b, p.a, p.Rb, p.Ra, opposite(p.ab)};
        const pair_pose P = pose_of(&p), Q = pose_of(&q);
        const int element = rng_below(&r, elements_of(&p.a, &p.b)), other = swapped_element(&p, element);
        const pair_element e = element_at(&p.a, &p.b, element);
        const bool lines = e.kind == ELEMENT_LINES;
        const double sharp = lines || k == CORE_SEGMENT ? 1e3 : k == CORE_ELLIPSOID ? 1e2 : 1;  // lines that are nearly parallel
        if (lines && lines_at(&p.a, &p.b, e, &P, NULL).over > 1e3) continue;
        if (k == CORE_SEGMENT && axes_at(&p.a, &p.b, &P).over > 1e3) continue;
        if (k == CORE_ELLIPSOID && feature_of(&p, 0) < 0) continue;  // the middle of the nearest ball is in the other one
        const pair_gap g = gap_at(&p.a, &p.b, element, &P, NULL), f = gap_at(&q.a, &q.b, other, &Q, NULL);
        ck_assert_double_eq_tol(g.gap, f.gap, 1e-15 * sharp);
        ck_assert_double_le(apart(g.n, opposite(f.n)), 1e-14 * sharp);
        ck_assert_double_le(apart(g.ra, f.rb) + apart(g.rb, f.ra), 1e-14 * sharp);
        const double w = weight_in(&p, element);
        ck_assert_double_eq_tol(w, weight_in(&q, other), 1e-9);
        counted += lines && w > 0;
        const pair_bend B = pair_bend_at(&p.a, &p.b, element, &P, NULL), C = pair_bend_at(&q.a, &q.b, other, &Q, NULL);
        const two_motions m = random_motions(&r);
        const double along = bend_along(&B, m);
        ck_assert_double_eq_tol(along, bend_along(&C, (two_motions){m.b, m.a}), 1e-10 * sharp * (1 + fabs(along)));
    }
    ck_assert_int_ge(counted, 10);
}
END_TEST

START_TEST(gaps_turn_with_both)
{
    rng r = {SEED + 2};
    int left = 0;
    for (int i = 0; i < 8000; i++) {
        core_kind a, b;
        kinds_of(i % KINDS, &a, &b);
        const two_shapes p = random_pair(&r, a, b, 0.8);
        const mat3 R = turned(random_vector(&r, 3));
        const two_shapes q = {p.a, p.b, mmul(R, p.Ra), mmul(R, p.Rb), mul(R, p.ab)};
        const pair_pose P = pose_of(&p), Q = pose_of(&q);
        const int element = rng_below(&r, elements_of(&p.a, &p.b));
        if (feature_of(&p, element) < 0) continue;
        const pair_gap g = gap_at(&p.a, &p.b, element, &P, NULL), f = gap_at(&q.a, &q.b, element, &Q, NULL);
        left++;
        ck_assert_double_eq_tol(g.gap, f.gap, 1e-13);
        ck_assert_double_le(apart(mul(R, g.n), f.n), 1e-12);
        ck_assert_double_le(apart(mul(R, g.ra), f.ra) + apart(mul(R, g.rb), f.rb), 1e-12);
        ck_assert_double_eq_tol(weight_in(&p, element), weight_in(&q, element), 1e-9);
        const pair_bend B = pair_bend_at(&p.a, &p.b, element, &P, NULL), C = pair_bend_at(&q.a, &q.b, element, &Q, NULL);
        const two_motions m = random_motions(&r);
        const two_motions n = {{mul(R, m.a.w), mul(R, m.a.v)}, {mul(R, m.b.w), mul(R, m.b.v)}};
        ck_assert_double_eq_tol(bend_along(&B, m), bend_along(&C, n), 1e-10 * (1 + fabs(bend_along(&B, m))));
    }
    ck_assert_int_ge(left, 4000);
}
END_TEST

/// The planes across n part a core from an ellipsoid by as much as they are apart, so that nothing is nearer, and no plane
/// parts them better; of what overlaps by less than the balls, likewise.
START_TEST(ellipsoids_are_as_far_as_they_are)
{
    rng r = {SEED + 7};
    const double flat[][3] = {{0, 0, 0},       {0.6, 0.06, 0.06},  {0.6, 0.6, 0.03},
                              {0.3, 0.3, 0.3}, {0.6, 0.06, 0.059}, {0.06, 0.6, 0.02}};
    int apart = 0, deep = 0, lost = 0;
    for (int i = 0; i < 60000; i++) {
        const core_kind kind = (core_kind)(1 + i % (CORE_HULL)), a = kind == CORE_HULL ? CORE_ELLIPSOID : kind,
                        b = kind == CORE_HULL ? kind : CORE_ELLIPSOID;
        two_shapes p = random_pair(&r, a, b, i % 2 ? 0.7 : 1);
        touch_shape *const s = a == CORE_ELLIPSOID ? &p.a : &p.b;
        const int size = i / CORE_HULL % 6;
        if (size) memcpy(s->half, flat[size], sizeof s->half), s->bound = 0.6;
        if (size == 3 && i % 3) s->half[1] += 1e-9;
        const pair_pose P = pose_of(&p), Q = swapped_pose(&P);
        const core_point ball = a == CORE_ELLIPSOID ? ball_at_core(&p.a, &p.b, &P, NULL) : ball_at_core(&p.b, &p.a, &Q, NULL);
        if (ball.d < 1e-3) continue;
        const pair_gap g = gap_at(&p.a, &p.b, 0, &P, NULL);
        const double d = g.gap + p.a.radius + p.b.radius, parted = dot(g.n, sub(add(P.a, P.ab), P.b)) -
                                                                   reach_of_core(&p.a, opposite(tmul(P.A, g.n))) -
                                                                   reach_of_core(&p.b, tmul(P.B, g.n));
        if (fabs(d - parted) > 1e-12) lost++;
        else apart += d > 0, deep += d < 0;
    }
    printf("pair_gap: ellipsoids at cores, %d apart, %d overlap, %d not found\n", apart, deep, lost);
    ck_assert_int_ge(apart, 20000);
    ck_assert_int_ge(deep, 4000);
    ck_assert_int_le(lost, 3);  // where the nearest ball is between two faces, and one of its neighbours is in the core
}
END_TEST

/// Where cores meet, and lines are parallel, gaps have a unit normal, and nothing is infinite.
START_TEST(nothing_is_infinite)
{
    rng r = {SEED + 6};
    for (int i = 0; i < 3000; i++) {
        const core_kind k[] = {(core_kind)(i / 3 % 3), (core_kind)(i % 3 > i / 3 % 3 ? i % 3 : i / 3 % 3)};
        const double size = i % 5 ? 0.25 : 0;  // of cores that are as good as points
        two_shapes p;
        p.a = plain_shape(k[0], size, size, 0.25), p.b = plain_shape(k[1], 0.25, size, 0.5);
        p.Ra = turned(zero3()), p.Rb = i % 3 ? p.Ra : turned(vec(i % 7 ? 0 : 1e-7, 0, M_PI / 2));
        p.ab = vec(0.25 * (rng_below(&r, 5) - 2), 0.25 * (rng_below(&r, 5) - 2), 0.25 * (rng_below(&r, 5) - 2));
        const pair_pose P = pose_of(&p);
        for (int e = 0; e < elements_of(&p.a, &p.b); e++) {
            const pair_gap g = gap_at(&p.a, &p.b, e, &P, NULL);
            const pair_bend B = pair_bend_at(&p.a, &p.b, e, &P, NULL);
            ck_assert_double_eq_tol(dot(g.n, g.n), 1, 1e-13);
            ck_assert(isfinite(g.gap) && isfinite(dot(g.ra, g.rb)));
            const double w = weight_in(&p, e);
            ck_assert(w >= 0 && w <= 1);
            ck_assert(isfinite(bend_along(&B, random_motions(&r))));
        }
    }
}
END_TEST

/// Balls and corners lie on the surfaces of their cores, with all sizes those of the shapes; what makes no hull is refused.
START_TEST(cores_are_those_of_their_shapes)
{
    rng r = {SEED + 3};
    char reason[128] = "";
    touch_shape s;
    for (int i = 0; i < 60; i++) {
        const core_kind kind = (core_kind)(CORE_CYLINDER + i % 3);
        s = solid_shape(&r, kind);
        for (int k = 0; k < s.points; k++) ck_assert_double_eq_tol(at_core(&s, point_of_core(&s, k), NULL).gap, 0, 1e-12);
        for (int k = 0; k < 20; k++) {
            vec3 n = random_vector(&r, 1);
            n = scale(n, 1 / sqrt(dot(n, n)));
            if (kind == CORE_ELLIPSOID) continue;
            double most = -1;
            for (int j = 0; j < s.points; j++) most = fmax(most, dot(n, point_of_core(&s, j)));
            ck_assert_double_le(most, reach_of_core(&s, n) + 1e-12);
            ck_assert_double_ge(most, (kind == CORE_HULL ? 1 : 0.97) * reach_of_core(&s, n) - 1e-12);
            ck_assert_double_le(reach_of_core(&s, n) + s.radius, s.bound);
        }
        for (int k = 0; k < lines_of_core(&s) && kind == CORE_HULL; k++) {
            const core_line l = line_of_core(&s, k);
            ck_assert_double_eq_tol(at_core(&s, add_scaled(l.at, l.out, 0.01), NULL).gap, 0.01, 1e-12);
            ck_assert_double_le(fabs(dot(l.way, l.across[0])) + fabs(dot(l.way, l.across[1])) + fabs(dot(l.way, l.out)), 1e-12);
            ck_assert(dot(l.out, l.across[0]) > 0 && dot(l.out, l.across[1]) > 0);
        }
    }
    const scene_shape bar = {.type = SHAPE_CYLINDER, .radius = 0.1, .from = {1, 2, 3}, .to = {1, 2, 4}};
    ck_assert_int_eq(make_core(&bar, 0.02, 0, &s, reason), CTN_OK);
    ck_assert_double_eq_tol(s.half[0] + s.radius, 0.1, 1e-15);
    ck_assert_double_eq_tol(s.half[2] + s.radius, 0.5, 1e-15);
    ck_assert_double_eq_tol(s.at[2], 3.5, 1e-15);
    free((double *)s.numbers);
    static double points[400][3];
    for (int i = 0; i < 400; i++) {
        vec3 x = random_vector(&r, 1);
        x = scale(x, 1 / sqrt(dot(x, x)));
        store3(points[i], x);
    }
    scene_mesh mesh = {.good = true, .surface = {.nvertex = 400, .vertices = points}};
    const scene_shape stone = {
        .type = SHAPE_MESH, .center = {0.5, 0, 0}, .rotation = {1, 0, 0, 0}, .size = {0.1, 0.2, 0.1}, .mesh = &mesh};
    ck_assert_int_eq(make_core(&stone, 0.01, 30, &s, reason), CTN_OK);
    ck_assert_int_eq(s.points, 30);
    ck_assert_double_eq_tol(s.at[0], 0.5, 0.02);
    ck_assert_double_eq_tol(reach_of_core(&s, vec(0, 1, 0)), 0.2, 0.02);
    free((double *)s.numbers);
    ck_assert_int_eq(make_hull_core(points, 400, 0.01, &s, reason), CTN_BAD_SCENE);
    ck_assert_str_eq(reason, "has more than 128 corners; take fewer");
    ck_assert_ptr_null(s.numbers);
    ck_assert_int_eq(make_hull_core(points, 3, 0.01, &s, reason), CTN_BAD_SCENE);
    ck_assert_str_eq(reason, "encloses nothing: its vertices are in a plane");
}
END_TEST

static Suite *pair_gap_suite(void)
{
    Suite *const s = suite_create("pair_gap");
    TCase *const t = tcase_create("pair_gap");
    tcase_add_loop_test(t, derivatives_are_those_of_differences, 0, KINDS);
    tcase_add_test(t, pairs_do_not_know_which_comes_first);
    tcase_add_test(t, gaps_turn_with_both);
    tcase_add_test(t, ellipsoids_are_as_far_as_they_are);
    tcase_add_test(t, nothing_is_infinite);
    tcase_add_test(t, cores_are_those_of_their_shapes);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(pair_gap_suite()); }
