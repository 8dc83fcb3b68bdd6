/// How much the elements of a pair count (contact/pair_weight.h): together they know how far shapes are from each other, and
/// how deep they overlap, and where faces lie on each other they are all there.
#include "tests/two_shapes.h"

#include "contact/weight_slope.h"

#include "tests/suite.h"

#define SEED 20261129

enum { MOST_CORNERS = 40, MOST_AXES = 2 * 24 + 36 * 36 };

static const core_kind kinds[][2] = {
    {CORE_BOX, CORE_BOX}, {CORE_SEGMENT, CORE_BOX}, {CORE_HULL, CORE_HULL}, {CORE_BOX, CORE_HULL}, {CORE_SEGMENT, CORE_HULL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/// The corners of a core, from an origin that both have. Returns how many.
static int corners_of(const touch_shape *s, mat3 R, vec3 middle, vec3 *to)
{
    const int count = points_of_core(s);
    for (int k = 0; k < count; k++) to[k] = add(middle, mul(R, point_of_core(s, k)));
    return count;
}

/// What is shared between corners: a point, which moves along a way between the one of them that is least along d and one that
/// has a share and is the largest; sign: -1 turns d. [Lacoste-Julien, Jaggi 2015, pairwise steps]
static vec3 share_out(const vec3 *x, int count, double *share, vec3 d, double sign)
{
    int least = 0, most = -1;
    for (int k = 1; k < count; k++)
        if (sign * dot(d, x[k]) < sign * dot(d, x[least])) least = k;
    for (int k = 0; k < count; k++)
        if (share[k] > 0 && (most < 0 || sign * dot(d, x[k]) > sign * dot(d, x[most]))) most = k;
    const vec3 way = sub(x[least], x[most]);
    const double square = dot(way, way), step = square > 0 ? fmin(-sign * dot(d, way) / square, share[most]) : 0;
    share[least] += step, share[most] -= step;
    return add_scaled(d, way, sign * step);
}

/// The distance of two cores; as planes bound it from below, it is known to 1e-11. Less than 0: they overlap, or nearly.
static double core_distance(const two_shapes *p)
{
    const pair_pose P = pose_of(p);
    vec3 a[MOST_CORNERS], b[MOST_CORNERS];
    const int of_a = corners_of(&p->a, P.A, add(P.a, P.ab), a), of_b = corners_of(&p->b, P.B, P.b, b);
    double at_a[MOST_CORNERS] = {1}, at_b[MOST_CORNERS] = {1};
    vec3 d = sub(a[0], b[0]);
    for (int i = 0; i < 1000000; i++) {
        d = share_out(b, of_b, at_b, share_out(a, of_a, at_a, d, 1), -1);
        if (i % 16) continue;
        const double most = sqrt(dot(d, d));
        if (most < 1e-4) return -1;
        double of = 1e30, to = -1e30;
        for (int k = 0; k < of_a; k++) of = fmin(of, dot(d, a[k]) / most);
        for (int k = 0; k < of_b; k++) to = fmax(to, dot(d, b[k]) / most);
        if (most - (of - to) < 1e-11) return most;
    }
    ck_abort_msg("no distance found");
    return 0;
}

/// How far two cores are apart by the best of all planes along faces, *by_face, and along any two lines.
static double parted_by_planes(const two_shapes *p, double *by_face)
{
    const pair_pose P = pose_of(p);
    vec3 a[MOST_CORNERS], b[MOST_CORNERS], axis[MOST_AXES];
    const int of_a = corners_of(&p->a, P.A, add(P.a, P.ab), a), of_b = corners_of(&p->b, P.B, P.b, b);
    int count = 0, faces;
    double at, best = -1e30;
    for (int k = 0; k < faces_of_core(&p->a); k++) axis[count++] = mul(P.A, face_of_core(&p->a, k, &at));
    for (int k = 0; k < faces_of_core(&p->b); k++) axis[count++] = mul(P.B, face_of_core(&p->b, k, &at));
    faces = count;
    for (int i = 0; i < lines_of_core(&p->a); i++)
        for (int j = 0; j < lines_of_core(&p->b); j++) {
            const vec3 n = cross(mul(P.A, line_of_core(&p->a, i).way), mul(P.B, line_of_core(&p->b, j).way));
            const double length = sqrt(dot(n, n));
            if (length > 1e-4) axis[count++] = scale(n, 1 / length);
        }
    for (int k = 0; k < count; k++) {
        double least[2] = {1e30, 1e30}, most[2] = {-1e30, -1e30};
        for (int i = 0; i < of_a; i++) least[0] = fmin(least[0], dot(axis[k], a[i])), most[0] = fmax(most[0], dot(axis[k], a[i]));
        for (int i = 0; i < of_b; i++) least[1] = fmin(least[1], dot(axis[k], b[i])), most[1] = fmax(most[1], dot(axis[k], b[i]));
        best = fmax(best, fmax(least[0] - most[1], least[1] - most[0]));
        if (k == faces - 1) *by_face = best;
    }
    return best;
}

/// Apart, the least gap of all elements that count is the distance.
START_TEST(elements_know_the_distance)
{
    rng r = {SEED + 3};
    int far = 0, by_lines = 0, near = 0;
    const core_kind *const k = kinds[_i];
    for (int i = 0; i < 4000; i++) {
        const two_shapes p = random_pair(&r, k[0], k[1], 1);
        const double d = core_distance(&p);
        if (d < 1e-3) continue;
        const pair_pose P = pose_of(&p);
        const double parted = cores_apart(&p);
        ck_assert_double_le(parted, d + 1e-12);
        ck_assert_double_gt(parted, 0);
        double least = 1e30;
        bool lines = false;
        for (int e = 0; e < elements_of(&p.a, &p.b); e++) {
            const double w = weight_of_element(&p.a, &p.b, e, &P, parted);
            ck_assert(w >= 0 && w <= 1);
            const double gap = gap_at(&p.a, &p.b, e, &P, NULL).gap + p.a.radius + p.b.radius;
            if (w > 0 && gap < least) least = gap, lines = element_at(&p.a, &p.b, e).kind == ELEMENT_LINES;
        }
        far++, by_lines += lines, near += d < 0.1;
        ck_assert_double_eq_tol(least, d, 1e-9);
    }
    printf("pair_weight: cores %d and %d: %d apart, %d little, %d by edges\n", (int)k[0], (int)k[1], far, near, by_lines);
    ck_assert_int_ge(far, 700);
    ck_assert_int_ge(by_lines, 200);
    ck_assert_int_ge(near, 150);
}
END_TEST

/// How far the planes across n part two cores.
static double parted_along(const two_shapes *p, const pair_pose *P, vec3 n)
{
    return dot(n, sub(add(P->a, P->ab), P->b)) - reach_of_core(&p->a, opposite(tmul(P->A, n))) -
           reach_of_core(&p->b, tmul(P->B, n));
}

/// Cylinders are as far as they are, apart from 2e-4 of their radius by which points of rims give way at the end of their
/// sectors: some planes part them by the least gap of all that counts.
START_TEST(cylinders_are_round)
{
    static const core_kind pairs[][2] = {
        {CORE_SEGMENT, CORE_CYLINDER}, {CORE_BOX, CORE_CYLINDER}, {CORE_CYLINDER, CORE_CYLINDER}, {CORE_CYLINDER, CORE_HULL}};
    rng r = {SEED + 7};
    int far = 0;
    double worst = 0;
    for (int i = 0; i < 8000; i++) {
        const core_kind *const k = pairs[i % 4];
        const two_shapes p = random_pair(&r, k[0], k[1], 1);
        const pair_pose P = pose_of(&p);
        const double apart = cores_apart(&p);
        double least = 1e30, parted = -1e30;
        for (int e = 0; e < elements_of(&p.a, &p.b); e++) {
            if (!(weight_of_element(&p.a, &p.b, e, &P, apart) > 0)) continue;
            const pair_gap g = gap_at(&p.a, &p.b, e, &P, NULL);
            least = fmin(least, g.gap + p.a.radius + p.b.radius), parted = fmax(parted, parted_along(&p, &P, g.n));
        }
        if (parted < 1e-3) continue;
        far++, worst = fmax(worst, least - parted);
        ck_assert_msg(least > parted - 1e-12 && least < parted + 1.5e-4, "cores %d and %d: %g, and they are %g apart", (int)k[0],
                      (int)k[1], least, parted);
    }
    printf("pair_weight: %d pairs with cylinders apart, off by %.1e\n", far, worst);
    ck_assert_int_ge(far, 2500);
}
END_TEST

/// Overlapping, the depth is that of the best plane that parts them. Where it is along two edges, these count, and their gap is
/// the depth; no edge that counts is much deeper. Where cores are no deeper than the rounding, something knows, all but a few
/// times of half the depth at least, and of 200 in all but one of anything: corners that are as near to another face do not.
START_TEST(elements_know_how_deep_cores_overlap)
{
    rng r = {SEED + 4};
    int deep = 0, by_lines = 0, little = 0, shallow = 0, silent = 0;
    const core_kind *const k = kinds[_i];
    for (int i = 0; i < 4000; i++) {
        const two_shapes p = random_pair(&r, k[0], k[1], i % 2 ? 0.6 : 0.8);
        const pair_pose P = pose_of(&p);
        double by_face, least = 1e30, nearest = 1e30;
        const double parted = cores_apart(&p), planes = parted_by_planes(&p, &by_face), radii = p.a.radius + p.b.radius;
        if (parted > 0) {
            ck_assert_double_gt(planes, parted - 1e-12);
            continue;
        }
        ck_assert_double_eq_tol(parted, planes, 1e-12);
        for (int e = 0; e < elements_of(&p.a, &p.b); e++) {
            const double w = weight_of_element(&p.a, &p.b, e, &P, parted), gap = gap_at(&p.a, &p.b, e, &P, NULL).gap + radii;
            if (!(w > 0)) continue;
            least = fmin(least, gap);
            if (element_at(&p.a, &p.b, e).kind != ELEMENT_LINES) continue;
            ck_assert_double_ge(gap, parted - 0.26 * radii);
            nearest = fmin(nearest, fabs(gap - parted));
        }
        deep++;
        if (parted > by_face + 1e-9) {
            by_lines++;
            ck_assert_double_le(nearest, 1e-12);
        }
        if (parted < -radii) continue;
        shallow++, little += least > parted / 2, silent += least > 0;
    }
    printf("pair_weight: cores %d and %d: %d overlap, %d by edges; %d little, of which %d are told less than half, %d nothing\n",
           (int)k[0], (int)k[1], deep, by_lines, shallow, little, silent);
    ck_assert_int_ge(by_lines, 400);
    ck_assert_int_ge(shallow, 100);
    ck_assert_int_le(little * 25, shallow);
    ck_assert_int_le(silent * 200, shallow);
}
END_TEST

/// A box, or its hull, that lies on another one, turned by 5 degrees, stands on the 8 places where their edges cross, whichever
/// way it rocks.
START_TEST(boxes_stand_on_edges_that_cross)
{
    rng r = {SEED + 5};
    touch_shape box = plain_shape(CORE_BOX, 0.05, 0.05, 0.05);
    if (_i) {
        double corner[8][3];
        char reason[128];
        for (int k = 0; k < 8; k++) store3(corner[k], point_of_core(&box, k));
        ck_assert_int_eq(make_hull_core(corner, 8, box.radius, &box, reason), CTN_OK);
        ck_assert(box.edges == 12 && box.faces == 6);
    }
    for (int i = 0; i < 200; i++) {
        const double most[] = {0, 1e-15, 1e-9, 1e-4, 1e-3}, rock = most[i % 5];
        two_shapes p;
        p.a = p.b = box, p.ab = vec(0.001, 0.002, 0.1095);
        const mat3 all = turned(random_vector(&r, 3));
        p.Rb = all, p.Ra = mmul(all, mmul(turned(random_vector(&r, rock)), turned(vec(0, 0, 0.0873)))), p.ab = mul(all, p.ab);
        const pair_pose P = pose_of(&p);
        const double parted = cores_apart(&p);
        int crossing = 0;
        for (int e = 16; e < elements_of(&p.a, &p.b); e++) {
            if (!(weight_of_element(&p.a, &p.b, e, &P, parted) > 0)) continue;
            const pair_gap g = gap_at(&p.a, &p.b, e, &P, NULL);
            if (g.gap > 0.005) continue;  // of edges farther off
            crossing++;
            ck_assert_double_ge(weight_of_element(&p.a, &p.b, e, &P, parted), 1 - 1e-12);
            ck_assert_double_eq_tol(g.gap, -0.0005, 1e-15 + 0.1 * rock);
            ck_assert_double_ge(dot(g.n, all.z), 1 - 1e-13 - 500 * rock * rock);
        }
        ck_assert_int_eq(crossing, 8);
    }
    if (_i) free((double *)box.numbers);
}
END_TEST

/// A cylinder that lies on a box, and an ellipsoid, roll on it at the same height, but for 2e-4 of the radius of rims, and
/// nothing is deeper than where they are round. One that stands on it stands on the points of its rim.
START_TEST(round_shapes_roll_on_faces)
{
    enum { MOST = 200 };
    int found[MOST];
    double weight[MOST];
    rng r = {SEED + 6};
    const scene_shape rolls[] = {{.type = SHAPE_CYLINDER, .radius = 0.05, .from = {0, -0.04, 0}, .to = {0, 0.04, 0}},
                                 {.type = SHAPE_ELLIPSOID, .size = {0.05, 0.08, 0.05}, .rotation = {1, 0, 0, 0}},
                                 {.type = SHAPE_CYLINDER, .radius = 0.05, .from = {0, 0, -0.05}, .to = {0, 0, 0.05}}};
    touch_shape round[3];
    char reason[128];
    for (int i = 0; i < 3; i++) ck_assert_int_eq(make_core(&rolls[i], i == 1 ? 0 : 0.002, 0, &round[i], reason), CTN_OK);
    for (int i = 0; i < 300; i++) {
        two_shapes p;
        const mat3 all = turned(random_vector(&r, 3));
        p.a = plain_shape(CORE_BOX, 0.3, 0.3, 0.1), p.b = round[i % 3], p.Ra = all;
        p.Rb = mmul(all, i % 3 == 2 ? turned(vec(0, 0, i)) : turned(vec(0, rng_uniform(&r, -3, 3), 0)));
        p.ab = mul(all, vec(0.02, 0.01, -(0.105 + 0.05 - 0.0005)));
        const pair_pose P = pose_of(&p);
        const int count = near_elements(&p.a, &p.b, &P, 0, MOST, found, weight);
        const double lack = i % 3 ? 1e-12 : 2e-4 * 0.05;
        int rims = 0, points = 0;
        ck_assert_int_le(count, MOST);
        for (int k = 0; k < count; k++) {
            const pair_gap g = gap_at(&p.a, &p.b, found[k], &P, NULL);
            if (g.gap > -0.0005 + lack) continue;
            ck_assert_double_ge(g.gap, -0.0005 - 1e-12);
            ck_assert_double_le(dot(g.n, all.z), -1 + 1e-12);
            ck_assert_double_eq(weight[k], 1);
            rims |= found[k] < 8 + 16 ? 1 : 2, points++;
        }
        if (i % 3 == 0) ck_assert(rims == 3 && points >= 2 && points <= 4);
        else ck_assert_int_eq(points, i % 3 == 1 ? 1 : 16);
    }
    for (int i = 0; i < 3; i++) free((double *)round[i].numbers);
}
END_TEST

/// What is near is what a look at every element finds, with the same weights; of points more may be named.
START_TEST(near_elements_are_all_that_are_near)
{
    enum { MOST = 8000 };
    static int found[MOST];
    static double weight[MOST];
    rng r = {SEED + 5};
    int lines = 0, points = 0, more = 0, left_out = 0;
    for (int i = 0; i < 6000; i++) {
        const core_kind b = (core_kind)(i % (CORE_HULL + 1)), a = (core_kind)rng_below(&r, b + 1);
        const two_shapes p = random_pair(&r, a, b, i % 2 ? 1 : 0.6);
        const pair_pose P = pose_of(&p);
        const double reach = rng_uniform(&r, -0.05, 0.1), parted = cores_apart(&p);
        const int all = elements_of(&p.a, &p.b), count = near_elements(&p.a, &p.b, &P, reach, MOST, found, weight);
        ck_assert_int_le(count, all);
        ck_assert_int_eq(near_elements(&p.a, &p.b, &P, reach, count / 2, found, weight), count);  // room for half of them
        ck_assert_int_eq(near_elements(&p.a, &p.b, &P, reach, MOST, found, weight), count);
        for (int e = 0, at = 0; e < all; e++) {
            const element_kind kind = element_at(&p.a, &p.b, e).kind;
            const bool named = at < count && found[at] == e, line = kind == ELEMENT_LINES;
            const double w = weight_of_element(&p.a, &p.b, e, &P, parted), gap = gap_at(&p.a, &p.b, e, &P, NULL).gap;
            if (named) ck_assert_double_eq_tol(weight[at], w, 1e-9);
            at += named;
            if (w > 1e-9 && gap < reach - 1e-12) {
                ck_assert_msg(named, "cores %d and %d, element %d of gap %g", (int)a, (int)b, e, gap);
                lines += line, points += !line;
            } else if (line && (w == 0 || gap > reach + 1e-12)) ck_assert(!named || w > 0 || weight[at - 1] < 1e-9);
            else if (b > CORE_SEGMENT) more += named, left_out += !named;
        }
    }
    printf("pair_weight: %d lines and %d points near, %d points not, but named; %d left out\n", lines, points, more, left_out);
    ck_assert_int_ge(lines, 500);
    ck_assert_int_ge(points, 1000);
    ck_assert_int_le(more, left_out);
}
END_TEST

/// How much element e counts where the body of a has moved by the share h of (w, v); *apart: how far cores are apart there.
static double weight_after(const two_shapes *p, int e, twist m, double h, double *apart)
{
    two_shapes q = *p;
    q.Ra = mmul(turned(scale(m.w, h)), p->Ra), q.ab = add_scaled(p->ab, m.v, h);
    const pair_pose P = pose_of(&q);
    const core_plane s = plane_between(&q.a, &q.b, &P);
    *apart = lines_between(&q.a, &q.b) ? apart_at(&q.a, &q.b, &P, &s, NULL) : s.apart;
    return weight_of_element(&q.a, &q.b, e, &P, *apart);
}

/// A difference of order 4; *kink: by how much one of order 2 to either side differs.
static double slope_of(const double x[5], double h, double *kink)
{
    const double before = (3 * x[2] - 4 * x[1] + x[0]) / (2 * h), after = (-3 * x[2] + 4 * x[3] - x[4]) / (2 * h);
    *kink = fabs(after - before);
    return (8 * (x[3] - x[1]) - (x[4] - x[0])) / (12 * h);
}

/// Weights that are in part, and how far cores are apart, go with the motion of a as their slopes say, and with that of b as
/// those of the other.
START_TEST(weights_have_slopes)
{
    static const core_kind of[][2] = {{CORE_BOX, CORE_BOX},       {CORE_SEGMENT, CORE_BOX},      {CORE_HULL, CORE_HULL},
                                      {CORE_BOX, CORE_HULL},      {CORE_SEGMENT, CORE_HULL},     {CORE_BOX, CORE_CYLINDER},
                                      {CORE_CYLINDER, CORE_HULL}, {CORE_SEGMENT, CORE_CYLINDER}, {CORE_CYLINDER, CORE_CYLINDER}};
    rng r = {SEED + 7};
    int lines = 0, parted = 0, kinks = 0;
    double worst = 0;
    for (int i = 0; i < 24000; i++) {
        const core_kind *const kind = of[i % (int)(sizeof of / sizeof *of)];
        const two_shapes p = random_pair(&r, kind[0], kind[1], i % 2 ? 1 : 0.6);
        const pair_pose P = pose_of(&p);
        const int first = counts_of(&p.a, &p.b).lines, more = elements_of(&p.a, &p.b) - first;
        const twist m = {random_vector(&r, 1), random_vector(&r, 1)};
        const double h = 1e-6;
        double weight[5], apart[5], kink, w = 0;
        int e = first;
        for (int tries = 0; tries < 60 && more && !(w > 1e-6 && w < 1 - 1e-6); tries++)
            e = first + rng_below(&r, more), w = weight_after(&p, e, m, 0, apart);
        for (int k = 0; k < 5; k++) weight[k] = weight_after(&p, e, m, (k - 2) * h, &apart[k]);
        const apart_with_slope A = apart_and_slope(&p.a, &p.b, &P);
        const double by_apart = dot(A.slope.n, m.w) + dot(A.slope.f, m.v), told = slope_of(apart, h, &kink);
        ck_assert_double_eq_tol(A.apart, apart[2], 1e-12);
        if (kink < 1e-4) {
            parted++;
            ck_assert_msg(fabs(by_apart - told) < 1e-7, "cores %d and %d: %g, not %g", (int)kind[0], (int)kind[1], by_apart,
                          told);
        } else kinks++;
        if (!(w > 1e-6 && w < 1 - 1e-6)) continue;
        const wrench g = weight_slope(&p.a, &p.b, e, &P), o = slope_of_other(g, P.ab);
        const double by = dot(g.n, m.w) + dot(g.f, m.v), is = slope_of(weight, h, &kink), size = 1 + fabs(is);
        // a common motion about the origin of a's body changes nothing
        const vec3 way = sub(m.v, cross(m.w, P.ab));
        ck_assert_double_le(fabs(by + dot(o.n, m.w) + dot(o.f, way)), 1e-9 * size);
        if (kink > 1e-2 * size) {
            kinks++;
            continue;
        }
        lines++;
        worst = fmax(worst, fabs(by - is) / size);
        ck_assert_msg(fabs(by - is) < 1e-5 * size, "cores %d and %d, element %d of weight %g: %g, not %g", (int)kind[0],
                      (int)kind[1], e, w, by, is);
    }
    printf("pair_weight: slopes of %d lines, off by %.1e; %d of distances; %d kinks\n", lines, worst, parted, kinks);
    ck_assert_int_ge(lines, 1000);
    ck_assert_int_le(kinks, 200);
}
END_TEST

static Suite *pair_weight_suite(void)
{
    Suite *const s = suite_create("pair_weight");
    TCase *const t = tcase_create("pair_weight");
    tcase_add_loop_test(t, elements_know_the_distance, 0, KINDS);
    tcase_add_loop_test(t, elements_know_how_deep_cores_overlap, 0, KINDS);
    tcase_add_loop_test(t, boxes_stand_on_edges_that_cross, 0, 2);
    tcase_add_test(t, weights_have_slopes);
    tcase_add_test(t, near_elements_are_all_that_are_near);
    tcase_add_test(t, round_shapes_roll_on_faces);
    tcase_add_test(t, cylinders_are_round);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(pair_weight_suite()); }
