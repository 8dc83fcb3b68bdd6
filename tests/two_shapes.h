/// Random shapes that touch each other, on bodies anywhere, for tests of contact/pair_gap.h in the scalar lane.
#ifndef CATENA_TESTS_TWO_SHAPES_H
#define CATENA_TESTS_TWO_SHAPES_H

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed by each
#include "contact/pair_gap.h"

#include "sim/model/core_numbers.h"
#include "tests/random_scene.h"

#include <check.h>

/// Two shapes on bodies.
typedef struct {
    touch_shape a, b;
    mat3 Ra, Rb;
    vec3 ab;
} two_shapes;

static vec3 random_vector(rng *r, double most)
{
    const double x = rng_uniform(r, -most, most), y = rng_uniform(r, -most, most), z = rng_uniform(r, -most, most);
    return vec(x, y, z);
}

/// exp([w]x)
static mat3 turned(vec3 w)
{
    const double t = sqrt(dot(w, w)), s = t > 0 ? sin(t) / t : 1, c = t > 0 ? 2 * sin(t / 2) * sin(t / 2) / (t * t) : 0.5;
    mat3 R;
    vec3 *const columns[] = {&R.x, &R.y, &R.z};
    for (int i = 0; i < 3; i++) {
        const vec3 e = vec(i == 0, i == 1, i == 2), we = cross(w, e);
        *columns[i] = add(e, add(scale(we, s), scale(cross(w, we), c)));
    }
    return R;
}
static void store_rows(mat3 R, double *rows)
{
    const double all[9] = {R.x.x, R.y.x, R.z.x, R.x.y, R.y.y, R.z.y, R.x.z, R.y.z, R.z.z};
    memcpy(rows, all, sizeof all);
}

/// One whose numbers are made once, and kept.
static touch_shape solid_shape(rng *r, core_kind kind)
{
    enum { MADE = 8, CORNERS = 14 };
    static touch_shape made[CORE_HULL + 1][MADE];
    touch_shape *const s = &made[kind][rng_below(r, MADE)];
    if (s->bound > 0) return *s;
    char reason[128];
    const double radius = rng_uniform(r, 0.01, 0.06);
    ctn_status status;
    if (kind == CORE_HULL) {
        double at[CORNERS][3];
        for (int i = 0; i < CORNERS; i++)
            for (int k = 0; k < 3; k++) at[i][k] = rng_uniform(r, -0.6, 0.6) + 0.2;
        status = make_hull_core(at, CORNERS, radius, s, reason);
        ck_assert_int_eq(s->points - s->edges + s->faces, 2);  // Euler
    } else {
        scene_shape shape = {.type = kind == CORE_CYLINDER ? SHAPE_CYLINDER : SHAPE_ELLIPSOID,
                             .radius = rng_uniform(r, 0.2, 0.4)};
        for (int k = 0; k < 3; k++)
            shape.center[k] = shape.from[k] = rng_uniform(r, -0.3, 0.3), shape.to[k] = shape.from[k] + rng_uniform(r, 0.3, 0.5),
            shape.size[k] = rng_uniform(r, 0.25, 0.6);
        rng_quaternion(r, shape.rotation);
        status = make_core(&shape, kind == CORE_CYLINDER ? radius : 0, 0, s, reason);
    }
    ck_assert_int_eq(status, CTN_OK);
    return *s;
}

static touch_shape random_shape(rng *r, core_kind kind)
{
    if (kind > CORE_BOX) return solid_shape(r, kind);
    touch_shape s = {.kind = kind, .radius = rng_uniform(r, 0.01, 0.08)};
    store_rows(turned(random_vector(r, 3)), s.R);
    double square = 0;
    for (int i = 0; i < 3; i++) {
        const bool long_ = kind == CORE_BOX || (kind == CORE_SEGMENT && i == 2);
        s.at[i] = rng_uniform(r, -0.3, 0.3), s.half[i] = long_ ? rng_uniform(r, 0.15, 0.6) : 0;
        square += s.half[i] * s.half[i];
    }
    s.bound = sqrt(square) + s.radius;
    return s;
}

/// One whose middle and axes are those of its body.
static touch_shape plain_shape(core_kind kind, double x, double y, double z)
{
    touch_shape s = {.kind = kind, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .half = {x, y, z}, .radius = 0.005};
    s.bound = sqrt(x * x + y * y + z * z) + s.radius;
    return s;
}

/// Two shapes whose middles are at most `far` apart along each axis.
static two_shapes random_pair(rng *r, core_kind a, core_kind b, double far)
{
    two_shapes p;
    p.a = random_shape(r, a), p.b = random_shape(r, b), p.Ra = turned(random_vector(r, 3)), p.Rb = turned(random_vector(r, 3));
    p.ab = add(random_vector(r, far), sub(mul(p.Rb, const3(p.b.at)), mul(p.Ra, const3(p.a.at))));
    return p;
}

static pair_pose pose_of(const two_shapes *p) { return pose_of_pair(&p->a, &p->b, p->Ra, p->Rb, p->ab); }

static double cores_apart(const two_shapes *p)
{
    const pair_pose P = pose_of(p);
    const core_plane s = plane_between(&p->a, &p->b, &P);
    return apart_at(&p->a, &p->b, &P, &s, NULL);
}

#endif
