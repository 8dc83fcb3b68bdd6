/// What flies does not come out behind what it is thrown at: boxes, balls, rods, cylinders and ellipsoids, at plates, at what is
/// fixed in the world, and at each other.
#include "sim/model/model.h"
#include "tests/ground_checks.h"
#include "tests/ground_scenes.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/// How far the second body is on the side of the first one where it was, m; INFINITY: it has come past it. R [2][9], p [2][3];
/// of: what is known of both.
typedef double side_fn(double (*R)[9], double (*p)[3], const double *of);

/// Of a plate across the first one's z axis, which goes at least of[0] m from its middle.
static double before_plate(double (*R)[9], double (*p)[3], const double *of)
{
    double at[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++) at[c] += R[0][3 * i + c] * (p[1][i] - p[0][i]);
    return hypot(at[0], at[1]) > of[0] ? INFINITY : at[2];
}

/// Of the line of the first one, along its x, from that of the second, at the angle of[0] to its x, as long as they cross within
/// these halves of lengths, of[1] and of[2].
static double before_rod(double (*R)[9], double (*p)[3], const double *of)
{
    double e[3], f[3], n[3], d[3], nn = 0, above = 0, u = 0, w = 0;
    for (int i = 0; i < 3; i++)
        e[i] = R[0][3 * i], f[i] = R[1][3 * i] * cos(of[0]) + R[1][3 * i + 1] * sin(of[0]), d[i] = p[1][i] - p[0][i];
    for (int i = 0; i < 3; i++) n[i] = e[(i + 1) % 3] * f[(i + 2) % 3] - e[(i + 2) % 3] * f[(i + 1) % 3];
    for (int i = 0; i < 3; i++) nn += n[i] * n[i], above += n[i] * d[i];
    for (int i = 0; i < 3; i++) {
        u += (d[(i + 1) % 3] * f[(i + 2) % 3] - d[(i + 2) % 3] * f[(i + 1) % 3]) * n[i] / nn;
        w += (d[(i + 1) % 3] * e[(i + 2) % 3] - d[(i + 2) % 3] * e[(i + 1) % 3]) * n[i] / nn;
    }
    return nn < 0.04 || fabs(u) > of[1] || fabs(w) > of[2] ? INFINITY : above / sqrt(nn);
}

/// Of an obstacle about the origin across the z axis of the axes from of[1] on, which goes at least of[0] m from its middle: the
/// first body.
static double before_obstacle(double (*R)[9], double (*p)[3], const double *of)
{
    double at[3] = {0};
    (void)R;
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++) at[c] += of[1 + 3 * i + c] * p[0][i];
    return hypot(at[0], at[1]) > of[0] ? INFINITY : at[2];
}

/// Throws one body of a scene at the other one, or at an obstacle, in random steps by a random method. Fails where it comes out
/// behind it, or gains energy: on an obstacle, which is held to it, by order 2 none.
static void throw_at(const char *text, uint64_t seed, rng *r, side_fn *side, const double *of)
{
    static const ctn_method methods[] = {CTN_COLLOCATION, CTN_COLLOCATION, CTN_RADAU, CTN_ALPHA};
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.order = 2, cfg.dt = seed % 2 ? 1. / 60 : 1. / 30, cfg.method = methods[rng_below(r, 4)], cfg.stages = 2;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", NULL);
    double q[14], v[12], R[2][9], p[2][3], above = 0, slack = 0;
    ctn_step_stats s;
    ctn_error err;
    for (int k = 0; k < 20 && above < INFINITY; k++) {
        ck_assert_msg(ctn_batch_step(b, 1, &s, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
        // rates of what turns by radians a step read a little more or less than the step goes by
        if (!k) slack = 1e-3 * s.kinetic_before;
        const bool held = side == before_obstacle && cfg.method == CTN_COLLOCATION;
        const double most = held ? 1e-8 * (s.kinetic_before + fabs(s.potential_before)) : slack;
        ck_assert_msg(s.energy_after <= s.energy_before + most && (!held || s.created <= most),
                      "seed %llu, step %d: from %.12g to %.12g J, created %g in\n%s", (unsigned long long)seed, k,
                      s.energy_before, s.energy_after, s.created, text);
        ctn_batch_state(b, q, v);
        ctn_forward_kinematics(dyn, 1, q, R[0], p[0]);
        above = side(R, p, of);
        ck_assert_msg(above > 0, "seed %llu: it is %g m behind after step %d of\n%s", (unsigned long long)seed, -above, k, text);
    }
    ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
}

/// What flies at 5 m/s, several times its own size and that of a plate in a step, does not come out behind the plate, which is held or
/// free. By every method, whose parts at a touch are of order 2.
START_TEST(nothing_passes_through)
{
    FOR_ALL_SEEDS(seed, 60)
    {
        rng r = {seed};
        const int kind = rng_below(&r, 3);
        const bool held = rng_below(&r, 2);
        const double thick = rng_uniform(&r, 0.004, 0.03), size = rng_uniform(&r, 0.004, 0.03),
                     top = thick / 2 + (kind == 1 ? 3 : 2.1) * size + rng_uniform(&r, 0, 0.15), x = rng_uniform(&r, -0.1, 0.1),
                     y = rng_uniform(&r, -0.1, 0.1), vx = rng_uniform(&r, -1, 1), vy = rng_uniform(&r, -1, 1);
        char text[2000], shape[200];
        if (kind == 0) snprintf(shape, sizeof shape, "type: sphere, radius: %g", size);
        else if (kind == 1)
            snprintf(shape, sizeof shape, "type: capsule, radius: %g, from: [0, 0, %g], to: [0, 0, %g]", size, -2 * size,
                     2 * size);
        else snprintf(shape, sizeof shape, "type: box, size: [%g, %g, %g]", 2 * size, 3 * size, 2 * size);
        snprintf(text, sizeof text,
                 "catena: 1\ncontact: {between: all}\nlinks:\n"
                 "  - {name: plate, joint: %s, density: 1000, shapes: [{type: box, size: [0.5, 0.5, %g]}]}\n"
                 "  - {name: body, position: [%g, %g, %g], joint: {type: free, v0: [%g, %g, -5, 0, 0, 0]}, density: 1000, "
                 "shapes: [{%s}]}\n",
                 held ? "fixed" : "free", thick, x, y, top, vx, vy, shape);
        throw_at(text, seed, &r, before_plate, &(double){0.25});
    }
}
END_TEST

/// Something long and thin, along an axis at `angle` to x in the plane of x and y: *half of its thickness, and of its length,
/// *along.
static void rod_shape(rng *r, double angle, double *half, double *along, char shape[300])
{
    const double length = *along = rng_uniform(r, 0.15, 0.3), x = length * cos(angle), y = length * sin(angle);
    *half = rng_uniform(r, 0.004, 0.02);
    switch (rng_below(r, 4)) {
    case 0:
        snprintf(shape, 300, "type: capsule, radius: %.9g, from: [%.9g, %.9g, 0], to: [%.9g, %.9g, 0]", *half, -x, -y, x, y);
        break;
    case 1:
        snprintf(shape, 300, "type: box, size: [%.9g, %.9g, %.9g], euler: [0, 0, %.9g]", 2 * length, 3 * *half, 2 * *half, angle);
        break;
    case 2:
        snprintf(shape, 300, "type: cylinder, radius: %.9g, from: [%.9g, %.9g, 0], to: [%.9g, %.9g, 0]", *half, -x, -y, x, y);
        break;
    default:
        *along = rng_uniform(r, 6, 15) * *half;
        snprintf(shape, 300, "type: ellipsoid, radii: [%.9g, %.9g, %.9g], euler: [0, 0, %.9g]", *along, 2 * *half, *half, angle);
    }
}

/// Likewise of things that are long and thin, thrown across each other: cylinders and ellipsoids among them, whose middles have
/// no points, or few.
START_TEST(rods_do_not_pass_through_rods)
{
    FOR_ALL_SEEDS(seed, 80)
    {
        rng r = {seed};
        double half[2], of[3];
        char text[2000], shape[2][300];
        const bool held = rng_below(&r, 2);
        of[0] = rng_uniform(&r, 0.8, 2.3);
        rod_shape(&r, 0, &half[0], &of[1], shape[0]), rod_shape(&r, of[0], &half[1], &of[2], shape[1]);
        snprintf(
            text, sizeof text,
            "catena: 1\ncontact: {between: all}\nlinks:\n"
            "  - {name: plate, joint: %s, density: 1000, shapes: [{%s}]}\n"
            "  - {name: body, position: [%.9g, %.9g, %.9g], joint: {type: free, v0: [0, 0, -5, 0, 0, 0]}, density: 1000, shapes: "
            "[{%s}]}\n",
            held ? "fixed" : "free", shape[0], rng_uniform(&r, -0.3, 0.3) * of[1], rng_uniform(&r, -0.3, 0.3) * of[1],
            half[0] + half[1] + rng_uniform(&r, 0.002, 0.1), shape[1]);
        of[1] *= 0.7, of[2] *= 0.7;
        throw_at(text, seed, &r, before_rod, of);
    }
}
END_TEST

/// A plate, a disc, or something flat and round of half the thickness `thick`; *side: how far it goes at least.
static void plate_shape(rng *r, double thick, double *side, char shape[300])
{
    switch (rng_below(r, 3)) {
    case 0: snprintf(shape, 300, "type: box, size: [0.5, 0.5, %.9g]", 2 * thick), *side = 0.25; break;
    case 1:
        snprintf(shape, 300, "type: cylinder, radius: 0.25, from: [0, 0, %.9g], to: [0, 0, %.9g]", -thick, thick), *side = 0.25;
        break;
    default: snprintf(shape, 300, "type: ellipsoid, radii: [0.25, 0.25, %.9g]", thick), *side = 0.12; break;
    }
}

/// Likewise of cylinders, thin ones and flat ones, and of ellipsoids, turned at random: at plates, and as plates.
START_TEST(nothing_that_is_round_passes_through)
{
    FOR_ALL_SEEDS(seed, 120)
    {
        rng r = {seed};
        const bool held = rng_below(&r, 2);
        const double thick = rng_uniform(&r, 0.003, 0.015), size = rng_uniform(&r, 0.004, 0.03),
                     turn[] = {rng_uniform(&r, -3, 3), rng_uniform(&r, -1.5, 1.5), rng_uniform(&r, -3, 3)};
        double side, reach = size;
        char text[2000], shape[300], plate[300];
        plate_shape(&r, thick, &side, plate);
        // what has points all over is thrown at what has few
        const int kind = strstr(plate, "box") ? 2 + rng_below(&r, 2) : rng_below(&r, 2);
        if (kind == 0) snprintf(shape, sizeof shape, "type: sphere, radius: %.9g", size);
        else if (kind == 1)
            snprintf(shape, sizeof shape, "type: capsule, radius: %.9g, from: [0, 0, %.9g], to: [0, 0, %.9g]", size, -size, size),
                reach = 2 * size;
        else if (kind == 2) {
            const double half = size * (rng_below(&r, 2) ? rng_uniform(&r, 0.2, 0.5) : rng_uniform(&r, 2, 6));
            snprintf(shape, sizeof shape, "type: cylinder, radius: %.9g, from: [0, 0, %.9g], to: [0, 0, %.9g]", size, -half,
                     half);
            reach = hypot(size, half);
        } else {
            const double flat = size * rng_uniform(&r, 0.3, 1), wide = size * rng_uniform(&r, 1, 4);
            snprintf(shape, sizeof shape, "type: ellipsoid, radii: [%.9g, %.9g, %.9g]", size, wide, flat),
                reach = fmax(size, wide);
        }
        snprintf(
            text, sizeof text,
            "catena: 1\ncontact: {between: all}\nlinks:\n"
            "  - {name: plate, joint: %s, density: 1000, shapes: [{%s}]}\n"
            "  - {name: body, position: [%.9g, %.9g, %.9g], euler: [%.9g, %.9g, %.9g], joint: {type: free, v0: [%.9g, %.9g, -5, "
            "%.9g, %.9g, %.9g]}, density: 1000, shapes: [{%s}]}\n",
            held ? "fixed" : "free", plate, rng_uniform(&r, -0.06, 0.06), rng_uniform(&r, -0.06, 0.06),
            thick + reach + rng_uniform(&r, 0.01, 0.15), turn[0], turn[1], turn[2], rng_uniform(&r, -1, 1),
            rng_uniform(&r, -1, 1), rng_uniform(&r, -3, 3), rng_uniform(&r, -3, 3), rng_uniform(&r, -3, 3), shape);
        throw_at(text, seed, &r, before_plate, &side);
    }
}
END_TEST

/// A plate of half the thickness `thick` about the origin, whose normal is the z axis of R, a rotation by the quaternion `turn`.
static void plate_obstacle(int kind, double thick, const double *turn, const double *R, char to[400])
{
    char turned[120];
    const double x = thick * R[2], y = thick * R[5], z = thick * R[8];
    snprintf(turned, sizeof turned, "rotation: [%.17g, %.17g, %.17g, %.17g]", turn[0], turn[1], turn[2], turn[3]);
    switch (kind) {
    case 0: snprintf(to, 400, "type: box, size: [0.5, 0.5, %.9g], %s", 2 * thick, turned); break;
    case 1:
        snprintf(to, 400, "type: cylinder, radius: 0.25, from: [%.12g, %.12g, %.12g], to: [%.12g, %.12g, %.12g]", -x, -y, -z, x,
                 y, z);
        break;
    case 2: snprintf(to, 400, "type: ellipsoid, radii: [0.25, 0.25, %.9g], %s", thick, turned); break;
    default:
        snprintf(to, 400, "type: mesh, file: " CATENA_SOURCE_DIR "/tests/meshes/box.obj, scale: [0.00125, 0.000625, %.12g], %s",
                 thick / 600, turned);
    }
}

/// Likewise at 5 m/s or 20 m/s at what is fixed in the world, a box, a disc, an ellipsoid or a mesh, turned somehow; with and without
/// links that may touch each other.
START_TEST(nothing_passes_through_obstacles)
{
    FOR_ALL_SEEDS(seed, 120)
    {
        rng r = {seed};
        const int of = rng_below(&r, 4), kind = rng_below(&r, 5), fast = rng_below(&r, 3) ? 5 : 20;
        const double thick = rng_uniform(&r, 0.003, 0.015), size = rng_uniform(&r, 0.006, 0.03);
        double turn[4], known[10] = {of == 2 ? 0.12 : 0.24}, *const R = known + 1, start[3], flies[3], more[6];
        char text[2000], plate[400], shape[200];
        rng_quaternion(&r, turn);
        rotation_matrix(turn, R);
        plate_obstacle(of, thick, turn, R, plate);
        switch (kind) {
        case 0: snprintf(shape, sizeof shape, "type: sphere, radius: %.9g", size); break;
        case 1:
            snprintf(shape, sizeof shape, "type: capsule, radius: %.9g, from: [%.9g, 0, 0], to: [%.9g, 0, 0]", size, -size, size);
            break;
        case 2:
            snprintf(shape, sizeof shape, "type: box, size: [%.9g, %.9g, %.9g], contact: {rounding: %.9g}", 2 * size, 3 * size,
                     2 * size, 0.3 * size);
            break;
        case 3: snprintf(shape, sizeof shape, "type: box, size: [%.9g, %.9g, %.9g]", 2 * size, 3 * size, 2 * size); break;
        default: snprintf(shape, sizeof shape, "type: ellipsoid, radii: [%.9g, %.9g, %.9g]", size, 1.5 * size, 0.8 * size);
        }
        const double x = rng_uniform(&r, -0.06, 0.06), y = rng_uniform(&r, -0.06, 0.06),
                     z = thick + 2 * size + rng_uniform(&r, 0.005, 0.15), vx = rng_uniform(&r, -1, 1),
                     vy = rng_uniform(&r, -1, 1);
        for (int i = 0; i < 3; i++) {
            start[i] = R[3 * i] * x + R[3 * i + 1] * y + R[3 * i + 2] * z;
            flies[i] = R[3 * i] * vx + R[3 * i + 1] * vy - R[3 * i + 2] * fast;
        }
        const char *const between = rng_below(&r, 2) ? "all" : "world";
        for (int k = 0; k < 6; k++) more[k] = rng_uniform(&r, k == 1 ? -1.5 : -3, k == 1 ? 1.5 : 3);
        snprintf(
            text, sizeof text,
            "catena: 1\ncontact: {between: %s}\nobstacles: [{%s}]\nlinks:\n"
            "  - {name: a, position: [%.17g, %.17g, %.17g], euler: [%.9g, %.9g, %.9g], joint: {type: free, v0: [%.17g, %.17g, "
            "%.17g, %.9g, %.9g, %.9g]}, density: 1000, shapes: [{%s}]}\n"
            "  - {name: far, position: [9, 9, 9], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.02}]}\n",
            between, plate, start[0], start[1], start[2], more[0], more[1], more[2], flies[0], flies[1], flies[2], more[3],
            more[4], more[5], shape);
        throw_at(text, seed, &r, before_obstacle, known);
    }
}
END_TEST

/// A box with sharp corners at 20 m/s onto a plate of 6 mm, which gives way: to the last bit alone, in batches on every engine and
/// after its state was saved.
START_TEST(same_bits)
{
    static const ctn_method methods[] = {CTN_COLLOCATION, CTN_RADAU, CTN_ALPHA};
    static const char *const plates[] = {
        "obstacles: [{type: box, size: [1, 1, 0.006]}]\nlinks:\n",
        "links:\n  - {name: plate, joint: fixed, density: 1000, shapes: [{type: box, size: [1, 1, 0.006]}]}\n"};
    char text[1000];
    double q[GROUND_MOST], v[GROUND_MOST];
    snprintf(text, sizeof text,
             "catena: 1\ncontact: {between: all}\n%s"
             "  - {name: a, euler: [0.03, 0.02, 0.1], joint: {type: free, v0: [0, 0, -20, 0, 0, 0]}, density: 1000, shapes: "
             "[{type: box, size: [0.03, 0.04, 0.05]}]}\n",
             plates[_i % 2]);
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[_i / 2], cfg.order = 2, cfg.stages = 2, cfg.dt = 1. / 60;
    ctn_model_initial_state(m, q, v);
    check_bits_of_contact(m, cfg, q, v, 0.1, 1, 6);
    ctn_model_free(m);
}
END_TEST

/// Contacts that are soft on purpose bear weight as deep as they are told, in steps that are made as a whole, although that is deeper
/// than what is hit may be.
START_TEST(soft_contacts_stay_soft)
{
    static const char *const plates[] = {
        "obstacles: [{type: box, size: [1, 1, 0.04]}]\nlinks:\n",
        "links:\n  - {name: plate, joint: fixed, density: 1000, shapes: [{type: box, size: [1, 1, 0.04]}]}\n"};
    char text[1000];
    double q[7], v[6];
    ctn_step_stats s;
    snprintf(text, sizeof text,
             "catena: 1\ncontact: {between: all, depth: 0.03}\n%s"
             "  - {name: a, position: [0, 0, 0.04], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.02}]}\n",
             plates[_i]);
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 1. / 60;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_step(b, 200, &s, NULL), CTN_OK);
    ctn_batch_state(b, q, v);
    ck_assert_msg(s.fallbacks == 0 && fabs(q[2] - 0.01) < 1e-5, "%ld steps in parts, at %g m", s.fallbacks, q[2]);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("thrown");
    TCase *const t = tcase_create("thrown");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, nothing_passes_through);
    tcase_add_test(t, rods_do_not_pass_through_rods);
    tcase_add_test(t, nothing_that_is_round_passes_through);
    tcase_add_test(t, nothing_passes_through_obstacles);
    tcase_add_loop_test(t, same_bits, 0, 6);
    tcase_add_loop_test(t, soft_contacts_stay_soft, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
