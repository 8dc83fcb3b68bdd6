/// Drag and buoyancy (`fluid:`): golden energies, gradients and Hessians; moments against quadrature; terminal speeds, swimmers
/// and currents in closed form; the ledger of energy; engines; what is refused. Newton matrices of stages and adjoints: stages.c,
/// step_jacobian.c.
#include "sim/engine/engine.h"
#include "sim/scene/shape_measure.h"
#include "tests/golden.h"
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- golden data

static void read_three(const cJSON *object, const char *key, double x[3])
{
    double *const from = golden_numbers(object, key, 3);
    memcpy(x, from, 3 * sizeof *x);
    free(from);
}

static scene_shape shape_of(const cJSON *of)
{
    const cJSON *const radius = cJSON_GetObjectItem(of, "radius");
    const char *const type = cJSON_GetObjectItem(of, "type")->valuestring;
    scene_shape shape = {.type = SHAPE_CAPSULE, .rotation = {1, 0, 0, 0}, .density = NAN};
    if (!strcmp(type, "capsule")) read_three(of, "from", shape.from), read_three(of, "to", shape.to);
    else {
        const bool box = !strcmp(type, "box");
        shape.type = box ? SHAPE_BOX : SHAPE_ELLIPSOID;
        read_three(of, "center", shape.center), read_three(of, box ? "size" : "radii", shape.size);
    }
    if (radius) shape.radius = radius->valuedouble;
    return shape;
}

static mat3 rotation_of(const cJSON *object, const char *key)
{
    double *const q = golden_numbers(object, key, 4);
    quat u = quat_load(q);
    const double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    u.w /= n, u.x /= n, u.y /= n, u.z /= n;
    free(q);
    return quat_rotation(u);
}

static vec3 three_of(const cJSON *object, const char *key)
{
    double x[3];
    read_three(object, key, x);
    return vec(x[0], x[1], x[2]);
}

/// Loads [8] with the drag d along the axes of the link: two at each point, the first with what is alike in all directions.
static int loads_of(const part_points *P, const double d[3], const double axis[3], bool slender, vec3 flow,
                    lane_point_load *loads)
{
    int n = 0;
    const double u[3] = {flow.x, flow.y, flow.z};
    for (int c = 0; c < P->count; c++)
        for (int k = 0; k < (slender ? 1 : 2); k++) {
            lane_point_load *const s = &loads[n++];
            *s = (lane_point_load){
                .flags = LOAD_AXIAL, .damping = k ? 0 : d[2] * P->weight[c], .axial = (d[k] - d[2]) * P->weight[c]};
            for (int i = 0; i < 3; i++) {
                s->point[i] = P->at[c][i], s->axis[i] = slender ? axis[i] : i == k, s->flow[i] = u[i];
                s->force[i] = s->damping * u[i];
            }
        }
    return n;
}

START_TEST(golden)
{
    cJSON *const file = golden_json("drag", "drag.json"), *const cases = cJSON_GetObjectItem(file, "cases"), *of = NULL;
    int compared = 0;
    cJSON_ArrayForEach(of, cases)
    {
        const scene_shape shape = shape_of(cJSON_GetObjectItem(of, "shape"));
        const char *const over = cJSON_GetObjectItem(of, "over")->valuestring;
        const bool slender = !strcmp(over, "axis");
        double axis[3] = {0}, d[3], moments[16] = {0};
        part_points P;
        if (slender) {
            P = points_of_axis(&shape, 2, axis);
            d[0] = cJSON_GetObjectItem(of, "tangential")->valuedouble;
            d[1] = d[2] = cJSON_GetObjectItem(of, "normal")->valuedouble;
        } else {
            const part_moments m = shape_moments(&shape, strcmp(over, "volume") ? PART_SURFACE : PART_VOLUME);
            P = points_of(&m);
            read_three(of, "coefficients", d);
        }
        for (int c = 0; c < P.count; c++) {
            const double p[4] = {P.at[c][0], P.at[c][1], P.at[c][2], 1};
            for (int k = 0; k < 16; k++) moments[k] += P.weight[c] * p[k / 4] * p[k % 4];
        }
        double *const want_moments = golden_numbers(of, "moments", 16), *const want_gradient = golden_numbers(of, "gradient", 6),
                      *const want_hessian = golden_numbers(of, "hessian", 36);
        ck_assert_msg(relative_error(moments, want_moments, 16) < 1e-12, "case %d: moments are off by %.3g", compared,
                      relative_error(moments, want_moments, 16));

        // the loads of one body in a solve
        const double dt = cJSON_GetObjectItem(of, "dt")->valuedouble;
        const vec3 flow = three_of(of, "flow"), p0 = three_of(of, "position_before"), p = three_of(of, "position");
        lane_point_load loads[8];
        lane_body body = {.flags = BODY_LOAD};
        lane_model model = {.nbody = 1, .bodies = &body, .loads = loads};
        model.nload = body.loads_end = loads_of(&P, d, axis, slender, flow, loads);
        load_state held[8];
        body_load load[8];
        placement start = {.R = rotation_of(of, "rotation_before")}, now = {.R = rotation_of(of, "rotation")};
        iterate_body at = {.dp = sub(p, p0)};
        solve W = {.in = {.drag = 1 / dt}, .start = &start, .now = &now, .body = &at, .held = held, .load = load};
        double rest = 0;  // of the energy: what it has where the body stays
        for (int k = 0; k < model.nload; k++) {
            held[k] = hold_load(&model, &loads[k], start.R, p0);
            rest += dt / 2 * dot(flow, held[k].F);
        }
        const double E = evaluate_loads(&model, &W, 0) + rest, want = cJSON_GetObjectItem(of, "energy")->valuedouble;
        ck_assert_msg(fabs(E - want) < 1e-10 * fabs(want), "case %d: energy %.12g, expected %.12g", compared, E, want);
        const double g[6] = {at.w.n.x, at.w.n.y, at.w.n.z, at.w.f.x, at.w.f.y, at.w.f.z};
        ck_assert_msg(relative_error(g, want_gradient, 6) < 1e-9, "case %d: gradient off by %.3g", compared,
                      relative_error(g, want_gradient, 6));
        double H[36];
        for (int k = 0; k < 6; k++) {
            const vec3 e = vec(k % 3 == 0, k % 3 == 1, k % 3 == 2);
            const twist t = {k < 3 ? e : zero3(), k < 3 ? zero3() : e};
            const wrench w = inertia_times(&load[0].P, t);
            const double column[6] = {w.n.x, w.n.y, w.n.z, w.f.x, w.f.y, w.f.z};
            for (int i = 0; i < 6; i++) H[6 * i + k] = column[i];
        }
        ck_assert_msg(relative_error(H, want_hessian, 36) < 1e-8, "case %d: Hessian off by %.3g", compared,
                      relative_error(H, want_hessian, 36));
        free(want_moments), free(want_gradient), free(want_hessian);
        compared++;
    }
    ck_assert_int_eq(compared, 24);
    cJSON_Delete(file);
}
END_TEST

/// The surface of a solid of revolution about z, by quadrature along its profile: cylinders and spheres are in no golden data.
START_TEST(moments_of_surfaces)
{
    const scene_shape ball = {.type = SHAPE_SPHERE, .center = {0.1, -0.2, 0.3}, .radius = 0.4},
                      drum = {.type = SHAPE_CYLINDER, .from = {0, 0, -0.2}, .to = {0, 0, 0.5}, .radius = 0.3};
    const part_moments of_ball = shape_moments(&ball, PART_SURFACE), of_drum = shape_moments(&drum, PART_SURFACE);
    double area[2] = {0}, zz[2] = {0}, xx[2] = {0};
    const int n = 20000;
    for (int k = 0; k < n; k++) {
        const double s = (k + 0.5) / n, z = 0.4 * (2 * s - 1), ring = 2 * M_PI * 0.4 * 0.8 / n;  // Archimedes
        area[0] += ring, zz[0] += ring * z * z, xx[0] += ring * (0.16 - z * z) / 2;
        const double y = 0.7 * (s - 0.5), band = 2 * M_PI * 0.3 * 0.7 / n, r = 0.3 * s, disc = 2 * 2 * M_PI * r * 0.3 / n;
        area[1] += band + disc, zz[1] += band * y * y + disc * 0.35 * 0.35, xx[1] += band * 0.09 / 2 + disc * r * r / 2;
    }
    const part_moments *const got[2] = {&of_ball, &of_drum};
    for (int k = 0; k < 2; k++) {
        ck_assert_double_eq_tol(got[k]->size, area[k], 1e-8);
        ck_assert_double_eq_tol(got[k]->second[2], zz[k], 1e-8);
        ck_assert_double_eq_tol(got[k]->second[0], xx[k], 1e-8);
        ck_assert_double_eq_tol(got[k]->second[1], xx[k], 1e-8);
    }
    ck_assert_double_eq_tol(of_drum.center[2], 0.15, 1e-15);
}
END_TEST

/// The surface of a scaled sphere, by a grid of its own: by latitude, evenly in the angle, where the reader has nodes of Gauss in
/// the height. Slim and flat ones by the area of solids of revolution.
START_TEST(surfaces_of_ellipsoids)
{
    static const double radii[][3] = {{0.3, 0.3, 0.3}, {0.1, 0.2, 0.3},  {0.05, 0.4, 0.1},
                                      {0.2, 0.2, 1},   {0.5, 0.5, 0.02}, {0.7, 0.1, 0.1}};
    for (size_t e = 0; e < sizeof radii / sizeof *radii; e++) {
        const double *const a = radii[e];
        const scene_shape egg = {.type = SHAPE_ELLIPSOID, .size = {a[0], a[1], a[2]}, .rotation = {1, 0, 0, 0}};
        const part_moments got = shape_moments(&egg, PART_SURFACE);
        double area = 0, second[3] = {0};
        const int n = 1000;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                const double h = M_PI / 2 / n, t = (i + 0.5) * h, f = (j + 0.5) * h;
                const double u[3] = {sin(t) * cos(f), sin(t) * sin(f), cos(t)};
                const double d = 8 * h * h * sin(t) *
                                 sqrt(pow(a[1] * a[2] * u[0], 2) + pow(a[2] * a[0] * u[1], 2) + pow(a[0] * a[1] * u[2], 2));
                area += d;
                for (int k = 0; k < 3; k++) second[k] += d * a[k] * a[k] * u[k] * u[k];
            }
        ck_assert_msg(fabs(got.size - area) < 1e-5 * area, "%zu: area %.12g, not %.12g", e, got.size, area);
        for (int k = 0; k < 3; k++)
            ck_assert_msg(fabs(got.second[k] - second[k]) < 1e-5 * second[k], "%zu: moment %.12g, not %.12g", e, got.second[k],
                          second[k]);
        if (a[0] != a[1] || a[1] == a[2]) continue;
        const bool slim = a[2] > a[0];
        const double c = a[2] / a[0], ecc = slim ? sqrt(1 - 1 / (c * c)) : sqrt(1 - c * c);
        const double exact = slim ? 2 * M_PI * a[0] * a[0] * (1 + c / ecc * asin(ecc))
                                  : 2 * M_PI * a[0] * a[0] * (1 + (1 - ecc * ecc) / ecc * atanh(ecc));
        ck_assert_msg(fabs(got.size - exact) < 1e-10 * exact, "%zu: area %.15g, not %.15g", e, got.size, exact);
    }
}
END_TEST

/// The power of drag over a body that moves by a random twist: what its loads take, and integrals over its parts by Gauss's three
/// points each way, which are exact.
START_TEST(power_by_quadrature)
{
    static const double node[3] = {-0.774596669241483377, 0, 0.774596669241483377}, weight[3] = {5 / 18.0, 8 / 18.0, 5 / 18.0};
    const double size[3] = {0.3, 0.5, 0.2}, c[3] = {0.1, -0.2, 0.05};
    for (int kind = 0; kind < 4; kind++) {  // faces; volume by axes; mass; surface
        static const char *const drags[] = {"{coefficient: 7, over: faces}", "{coefficient: [7, 1, 3], over: volume}",
                                            "{coefficient: 2, over: mass}", "{coefficient: 7, over: surface}"};
        char text[800];
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - {name: a, joint: free, density: 300, shapes: [{type: box, size: [0.3, 0.5, 0.2], "
                 "center: [0.1, -0.2, 0.05], "
                 "rotation: [0.5, 0.5, 0.5, 0.5]}]}\nfluid: {drag: %s}\n",
                 drags[kind]);
        ctn_model *const m = model_of(text);
        rng r = {3 + (uint64_t)kind};
        const mat3 R = quat_rotation(quat_load((const double[4]){0.5, 0.5, 0.5, 0.5}));
        const ctn_frame *const F = &m->frames[0];  // of its body
        const mat3 own = const33(F->R);
        for (int k = 0; k < 20; k++) {
            const vec3 w = vec(rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1)),
                       v = vec(rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1));
            double got = 0, want = 0;
            for (int n = 0; n < m->nload; n++) {
                const vec3 x = add(v, cross(w, sub(tmul(own, load3(m->loads[n].point)), tmul(own, load3(F->p)))));
                got += m->loads[n].damping * dot(x, x) + m->loads[n].axial * pow(dot(tmul(own, load3(m->loads[n].axis)), x), 2);
            }
            for (int i = 0; i < 27; i++) {
                const double g[3] = {node[i % 3], node[i / 3 % 3], node[i / 9]},
                             d = weight[i % 3] * weight[i / 3 % 3] * weight[i / 9];
                for (int f = kind == 0 || kind == 3 ? 0 : 6; f < 7; f++) {  // faces, or what is inside
                    double at[3], axis[3] = {0};
                    for (int j = 0; j < 3; j++) at[j] = 0.5 * size[j] * (f < 6 && f / 2 == j ? f % 2 ? 1 : -1 : g[j]);
                    if (f == 6 && (kind == 0 || kind == 3)) break;
                    if (f < 6) axis[f / 2] = 1;
                    const vec3 x = add(v, cross(w, add(mul(R, load3(at)), load3(c))));
                    const double area = f < 6 ? size[(f / 2 + 1) % 3] * size[(f / 2 + 2) % 3] : 0,
                                 volume = size[0] * size[1] * size[2];
                    if (kind == 0) want += d * area * 7 * pow(dot(mul(R, load3(axis)), x), 2);
                    if (kind == 1) want += d * volume * (7 * x.x * x.x + x.y * x.y + 3 * x.z * x.z);
                    if (kind == 2) want += d * volume * 300 * 2 * dot(x, x);
                    if (kind == 3) want += d * area * 7 * dot(x, x);
                }
            }
            ck_assert_msg(fabs(got - want) < 1e-10 * want, "%s: %.15g W, not %.15g", drags[kind], got, want);
        }
        ctn_model_free(m);
    }
}
END_TEST

// ---- motions

static const struct {
    ctn_method method;
    int number;
    double dt;
} ways[] = {{CTN_COLLOCATION, 2, 0.05}, {CTN_RADAU, 1, 0.05}, {CTN_RADAU, 2, 0.05},        {CTN_RADAU, 3, 0.05},
            {CTN_ALPHA, 0, 0.02},       {CTN_RK4, 0, 0.01},   {CTN_SEMI_IMPLICIT, 0, 0.01}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.tolerance = 1e-13;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    return cfg;
}

/// The velocity [6] of a free body of a scene after `T` seconds.
static void velocity_after(const char *text, int way, double T, double v[6])
{
    const ctn_batch_config cfg = config_of(way);
    ctn_model *const m = model_of(text);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_batch_step(b, (int)lround(T / cfg.dt), NULL, NULL);
    ctn_batch_state(b, NULL, v);
    ctn_batch_free(b), ctn_model_free(m);
}

/// A rod of 0.8 m sinks at m g / (D L), across its axis and along it.
START_TEST(terminal_speed)
{
    for (int along = 0; along < 2; along++) {
        char text[600];
        const char *const end = along ? "0, 0, 0.4" : "0.4, 0, 0", *const start = along ? "0, 0, -0.4" : "-0.4, 0, 0";
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - {name: rod, joint: free, mass: 0.5, inertia: [0.01, 0.01, 0.01, 0, 0, 0],\n"
                 "     shapes: [{type: capsule, from: [%s], to: [%s], radius: 0.01}]}\n"
                 "fluid: {drag: {normal: 4, tangential: 2.5, over: axis}}\n",
                 start, end);
        double v[6];
        velocity_after(text, _i, 10, v);
        const double want = -0.5 * 9.81 / ((along ? 2.5 : 4) * 0.8);
        ck_assert_msg(fabs(v[2] - want) < 1e-8 * fabs(want), "%s: %.12g m/s, expected %.12g", along ? "along" : "across", v[2],
                      want);
    }
}
END_TEST

/// What floats at rest in a current moves with it, whichever way its axis is turned; what is neither lighter nor heavier does not
/// sink.
START_TEST(goes_with_the_current)
{
    static const char text[] = "catena: 1\nlinks:\n"
                               "  - {name: rod, joint: {type: free, q0: [0, 0, 0, 0.5, 0.1, 0.7, 0.2]}, density: 900,\n"
                               "     shapes: [{type: capsule, from: [-0.1, 0, 0.02], to: [0.1, 0.05, 0], radius: 0.02}]}\n"
                               "fluid: {density: 900, current: [0.3, -0.2, 0.1], drag: {normal: 4, tangential: 2}}\n";
    const double want[3] = {0.3, -0.2, 0.1};
    double v[6];
    velocity_after(text, _i, 60, v);
    for (int k = 0; k < 3; k++) ck_assert_msg(fabs(v[k] - want[k]) < 1e-8, "velocity %d is %.12g, expected %g", k, v[k], want[k]);
    for (int k = 3; k < 6; k++) ck_assert_msg(fabs(v[k]) < 1e-8, "turns with %.3g", v[k]);
}
END_TEST

/// A drag over the volume of links that are all as dense is -c/rho times their momentum: what moves by its joints alone stays
/// where it is.
START_TEST(swimmer_stays)
{
    static const char text[] =
        "catena: 1\ngravity: [0, 0, 0]\ndefaults: {density: 1000}\nlinks:\n"
        "  - {name: a, joint: free, shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n"
        "  - {name: b, parent: a, position: [0.2, 0, 0], joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]},\n"
        "     shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n"
        "  - {name: c, parent: b, position: [0.2, 0, 0], joint: {type: revolute, axis: [0, 1, 0]},\n"
        "     shapes: [{type: capsule, from: [0, 0, 0], to: [0.2, 0, 0], radius: 0.02}]}\n"
        "fluid: {drag: {coefficient: 3000, over: volume}}\n";
    if (ways[_i].method == CTN_SEMI_IMPLICIT || ways[_i].method == CTN_RK4) return;  // these keep it to their order
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = config_of(_i);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double q[11], R[27], p[9], start[3], most = 0, turned = 0;
    for (int n = 0; n < 200; n++) {
        double com[3] = {0};
        ctn_batch_state(b, q, NULL);
        ctn_forward_kinematics(dyn, 1, q, R, p);
        for (int l = 0; l < 3; l++)  // alike, the middle of each
            for (int k = 0; k < 3; k++) com[k] += (p[3 * l + k] + 0.1 * R[9 * l + 3 * k]) / 3;
        for (int k = 0; k < 3; k++) start[k] = n ? start[k] : com[k], most = worse(most, fabs(com[k] - start[k]));
        turned = fmax(turned, fabs(q[7]));
        const double t = n * cfg.dt, tau[9] = {0, 0, 0, 0, 0, 0, 0.1 * sin(3 * t), 0.05 * cos(5 * t), 0.1 * cos(3 * t)};
        ctn_batch_set_force(b, tau);
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
    }
    ck_assert_msg(turned > 0.05, "does not swim");
    ck_assert_msg(most < 1e-9, "went off by %.3g m", most);
    ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

#define EEL(more)                                                                                                                \
    "catena: 1\nlinks:\n  - chain: {name: c, count: 12, step: [0.1, 0, 0], density: 1100,\n"                                     \
    "            joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1], q0: [0.1, 0.2]},\n"                                 \
    "            shapes: [{type: capsule, from: [0, 0, 0], to: [0.1, 0, 0], radius: 0.02}]}\n" more

/// In a fluid at rest nothing is gained: what is lost went into the fluid, step by step, and nothing else of one stage is
/// created.
START_TEST(energy_falls)
{
    ctn_model *const m = model_of(EEL("fluid: {drag: {normal: 3, tangential: 1.5}}\n"));
    ctn_batch_config cfg = config_of(_i);
    if (ways[_i].method == CTN_RK4 || ways[_i].method == CTN_SEMI_IMPLICIT) cfg.dt = 0.001;
    ctn_batch *const b = batch_with(m, &cfg);
    double taken = 0;
    for (int n = 0; n < 100; n++) {
        ctn_step_stats stats;
        ck_assert_int_eq(ctn_batch_step(b, 1, &stats, NULL), CTN_OK);
        const double all = fabs(stats.energy_before) + 1;
        ck_assert_msg(stats.dissipated >= 0, "step %d: the fluid gives %.3g J", n, -stats.dissipated);
        ck_assert_msg(stats.energy_after <= stats.energy_before + (cfg.method == CTN_COLLOCATION ? 1e-10 : 2e-3) * all,
                      "step %d: energy rises by %.3g J", n, stats.energy_after - stats.energy_before);
        ck_assert_msg(fabs(stats.energy_after - stats.energy_before + stats.dissipated - stats.created) < 1e-11 * all,
                      "step %d: open books", n);
        taken += stats.dissipated;
    }
    ck_assert(taken > 0.01);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Steps that halve lose half of their error, or more where the order is higher: drag across and along keeps the order of a
/// method.
START_TEST(order_stays)
{
    static const double order[WAYS] = {1, 1, 3, 5, 2, 4, 1};
    ctn_model *const m = model_of(EEL("fluid: {current: [0.1, 0.5, 0], drag: {normal: 3, tangential: 1}}\n"));
    const size_t nq = (size_t)ctn_model_nq(m);
    double *const q[2] = {malloc(nq * sizeof(double)), malloc(nq * sizeof(double))}, *const exact = malloc(nq * sizeof(double)),
                  error[2];
    ctn_batch_config fine = config_of(5);
    fine.method = CTN_DOP853, fine.dt = 5e-4;
    ctn_batch *const truth = batch_with(m, &fine);
    ctn_batch_step(truth, 200, NULL, NULL);
    ctn_batch_state(truth, exact, NULL);
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = config_of(_i);
        cfg.dt = (ways[_i].number == 3 ? 0.01 : ways[_i].number == 2 && cfg.method == CTN_RADAU ? 0.01 : 0.002) / (1 + h);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_batch_step(b, (int)lround(0.1 / cfg.dt), NULL, NULL);
        ctn_batch_state(b, q[h], NULL);
        error[h] = coordinate_distance(m, q[h], exact);
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(error[1] < 1e-10 || found > order[_i] - 0.4, "order %.2f (%.3g, %.3g)", found, error[0], error[1]);
    ctn_batch_free(truth), ctn_model_free(m);
    free(q[0]), free(q[1]), free(exact);
}
END_TEST

/// Worlds with another gravity have another buoyancy.
START_TEST(gravity_of_worlds)
{
    ctn_model *const m = model_of("catena: 1\nlinks:\n  - {name: ball, joint: free, density: 500,\n"
                                  "     shapes: [{type: sphere, radius: 0.1}]}\n"
                                  "fluid: {density: 1000}\n");
    const ctn_parameter list[] = {{CTN_GRAVITY, 2}};
    ctn_batch_config cfg = config_of(5);
    cfg.worlds = 2, cfg.parameters = list, cfg.parameter_count = 1;
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_error err;
    const double values[2] = {-9.81, -1.62};
    ck_assert_msg(ctn_batch_set_parameters(b, values, &err) == CTN_OK, "%s", err.message);
    ctn_batch_step(b, 100, NULL, NULL);
    double v[12];
    ctn_batch_state(b, NULL, v);
    ck_assert_double_eq_tol(v[2], 9.81, 1e-9);
    ck_assert_double_eq_tol(v[8], 1.62, 1e-9);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// The same bits on every engine; along the links, the same motion.
START_TEST(engines)
{
    const random_options o = {.links = 6, .passive = true, .springs = 1, .fluid = true, .stream = _i >= WAYS};
    const int way = _i % WAYS;
    ctn_model *const m = random_model(7 + (uint64_t)_i, &o);
    const ctn_engine *const *const list = engines_available();
    const size_t nq = (size_t)ctn_model_nq(m);
    double *const first = malloc(5 * nq * sizeof *first), *const q = malloc(5 * nq * sizeof *q);
    ctn_batch_config cfg = config_of(way);
    cfg.worlds = 5, cfg.dt = ways[way].dt / 10;
    for (int e = 0; list[e]; e++) {
        cfg.engine = list[e]->name;
        ctn_batch *const b = batch_with(m, &cfg);
        double *const v = malloc(5 * (size_t)ctn_model_nv(m) * sizeof *v);
        for (int w = 0; w < 5; w++) {
            rng r = {(uint64_t)w + 5};
            random_state(m, &r, q + (size_t)w * nq, v + (size_t)w * (size_t)ctn_model_nv(m));
        }
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_batch_step(b, 50, NULL, NULL);
        ctn_batch_state(b, e ? q : first, NULL);
        ck_assert_msg(!e || !memcmp(first, q, 5 * nq * sizeof *q), "%s: other bits", list[e]->name);
        ctn_batch_free(b), free(v);
    }
    free(first), free(q);
    ctn_model_free(m);

    ctn_model *const eel = model_of(EEL("fluid: {density: 900, current: [0.1, 0.5, 0], drag: {normal: 3, tangential: 1}}\n"));
    double x[2][24];
    for (int along = 0; along < 2; along++) {
        ctn_batch_config c = config_of(way);
        if (c.method == CTN_RADAU) break;
        c.parallel = along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, c.dt = 0.002;
        ctn_batch *const b = batch_with(eel, &c);
        ctn_batch_step(b, 50, NULL, NULL);
        ctn_batch_state(b, x[along], NULL);
        ctn_batch_free(b);
    }
    if (ways[way].method != CTN_RADAU)
        ck_assert_msg(coordinate_distance(eel, x[0], x[1]) < 1e-8, "along the links: another motion");
    ctn_model_free(eel);
}
END_TEST

/// Currents and drag of worlds are the same along the links.
START_TEST(worlds_along_links)
{
    const ctn_parameter list[] = {{CTN_CURRENT, 1}, {CTN_DRAG_SCALE, 3}, {CTN_DRAG_SCALE, 0}};
    const double values[3][3] = {{0.5, 1, 1}, {-1, 2, 0.5}, {2, 0, 3}};
    ctn_model *const m = model_of(EEL("fluid: {density: 900, current: [0.1, 0.5, 0], drag: {normal: 3, tangential: 1}}\n"));
    double x[2][3][24];
    for (int along = 0; along < 2; along++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_ALPHA, cfg.dt = 0.002, cfg.tolerance = 1e-12, cfg.worlds = 3, cfg.parameters = list, cfg.parameter_count = 3;
        cfg.parallel = along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_parameters(b, values[0], NULL), CTN_OK);
        ctn_batch_step(b, 50, NULL, NULL);
        ctn_batch_state(b, x[along][0], NULL);
        ctn_batch_free(b);
    }
    const double *const q = x[0][0], *const along = x[1][0];
    const int nq = ctn_model_nq(m);
    for (int w = 0; w < 3; w++) ck_assert_double_lt(coordinate_distance(m, q + w * nq, along + w * nq), 1e-8);
    ck_assert_double_gt(coordinate_distance(m, q, q + nq), 1e-3);
    ctn_model_free(m);
}
END_TEST

/// NAME.* is all links of a chain, and no others.
START_TEST(links_of_a_name)
{
    static const char chain[] =
        "catena: 1\nlinks:\n  - chain: {name: a, count: 2, step: [1, 0, 0], joint: ball, density: 1, shapes: "
        "[{type: sphere, radius: 0.1}]}\n  - {name: ab, joint: free, density: 1, shapes: "
        "[{type: sphere, radius: 0.1}]}\nfluid: {links: [%s]}\n";
    static const char *const entries[2] = {"{link: a.*, drag: {coefficient: 1}}",
                                           "{link: a.0, drag: {coefficient: 1}}, {link: a.1, drag: {coefficient: 1}}"};
    double force[2][12];
    for (int k = 0; k < 2; k++) {
        char text[900];
        snprintf(text, sizeof text, chain, entries[k]);
        ctn_model *const m = model_of(text);
        ctn_dynamics *const d = ctn_dynamics_create(m, NULL, NULL);
        double q[15], v[12];
        ctn_model_initial_state(m, q, v);
        for (int i = 0; i < 12; i++) v[i] = 1 + i;
        ctn_passive(d, 1, q, v, force[k]);
        ctn_dynamics_free(d), ctn_model_free(m);
    }
    ck_assert(!memcmp(force[0], force[1], sizeof force[0]));
    for (int i = 0; i < 12; i++) ck_assert((force[0][i] != 0) == (i < 6));
}
END_TEST

// ---- what is refused

static const struct {
    const char *fluid, *message;
} mistakes[] = {
    {"fluid: {}", "7:8: fluid.drag: missing; a fluid has a `density`, which gives buoyancy, a `drag` or both"},
    {"fluid: {drag: {normal: 1}}", "fluid.drag.tangential: missing; `normal` and `tangential` are given together"},
    {"fluid: {drag: {over: volume}}", "fluid.drag.coefficient: missing; or `normal` and `tangential`, over an axis"},
    {"fluid: {drag: {coefficient: 1, over: skin}}",
     "7:38: fluid.drag.over: expected volume, surface, axis, faces or mass, found 'skin'"},
    {"fluid: {drag: {normal: 1, tangential: 1, over: volume}}",
     "fluid.drag.over: `normal` and `tangential` are those of an axis"},
    {"fluid: {drag: {coefficient: 1, normal: 2, tangential: 1}}", "fluid.drag.coefficient: not beside `normal`"},
    {"fluid: {drag: {coefficient: -1}}", "fluid.drag.coefficient: expected"},
    {"fluid: {drag: {normal: 2, tangential: 1}}", "7:15: fluid.drag: shapes[0] of link 'ball' has no axis"},
    {"fluid: {drag: {coefficient: 1, over: faces}}", "7:15: fluid.drag: shapes[0] of link 'ball' has no faces: boxes have"},
    {"fluid: {density: 1, links: [{link: bal, drag: none}]}", "fluid.links[0].link: "},
    {"fluid: {links: [{link: ball, drag: none}, {link: ball, drag: none}]}", "fluid.links[1].link: 'ball' has a drag already"},
    {"fluid: {links: [{drag: none}]}", "fluid.links[0].link: missing"},
    {"fluid: {links: [{link: bal.*, drag: none}]}", "fluid.links[0].link: no link is called 'bal.*'"},
    {"fluid: {links: [{link: eggs.1, drag: none}, {link: eggs.*, drag: none}]}",
     "fluid.links[1].link: 'eggs.1' has a drag already"},
};
START_TEST(mistaken)
{
    char text[900];
    ctn_error err;
    snprintf(
        text, sizeof text,
        "catena: 1\nlinks:\n"
        "  - {name: ball, joint: free, density: 1, shapes: [{type: sphere, radius: 0.1}]}\n"
        "  - {name: egg, joint: free, density: 1, shapes: [{type: ellipsoid, radii: [0.1, 0.2, 0.1]}]}\n"
        "  - chain: {name: eggs, count: 2, step: [1, 0, 0], joint: ball, density: 1, shapes: [{type: sphere, radius: 0.1}]}\n"
        "\n%s\n",
        mistakes[_i].fluid);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert(scene == NULL);
    ck_assert_msg(strstr(err.message, mistakes[_i].message) != NULL, "found: %s", err.message);
}
END_TEST

START_TEST(methods_that_take_none)
{
    static const struct {
        ctn_method method;
        int order;
        ctn_solver solver;
        const char *message;
    } bad[] = {{CTN_VARIATIONAL, 2, CTN_NEWTON, "method: variational takes a `fluid` without drag alone; take radau"},
               {CTN_VARIATIONAL, 4, CTN_NEWTON, "method: variational takes a `fluid` without drag alone; take radau"},
               {CTN_COLLOCATION, 4, CTN_NEWTON, "order: collocation takes `springs`, `forces`, thrusters, a `fluid`"},
               {CTN_COLLOCATION, 2, CTN_LM, "solver: lm takes no `springs`, `forces`, thrusters, `fluid`"}};
    ctn_model *const m = model_of(EEL("fluid: {drag: {normal: 3, tangential: 1}}\n"));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        ctn_error err;
        cfg.method = bad[k].method, cfg.order = bad[k].order, cfg.solver = bad[k].solver;
        ck_assert(ctn_batch_create(m, &cfg, &err) == NULL);
        ck_assert_msg(strstr(err.message, bad[k].message) != NULL, "found: %s", err.message);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("fluid");
    TCase *const all = tcase_create("fluid");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, golden);
    tcase_add_test(all, moments_of_surfaces);
    tcase_add_test(all, surfaces_of_ellipsoids);
    tcase_add_test(all, power_by_quadrature);
    tcase_add_loop_test(all, terminal_speed, 0, WAYS);
    tcase_add_loop_test(all, goes_with_the_current, 0, WAYS);
    tcase_add_loop_test(all, swimmer_stays, 0, WAYS);
    tcase_add_loop_test(all, energy_falls, 0, WAYS);
    tcase_add_loop_test(all, order_stays, 0, WAYS);
    tcase_add_test(all, gravity_of_worlds);
    tcase_add_loop_test(all, engines, 0, 2 * WAYS);
    tcase_add_test(all, worlds_along_links);
    tcase_add_test(all, links_of_a_name);
    tcase_add_loop_test(all, mistaken, 0, sizeof mistakes / sizeof *mistakes);
    tcase_add_test(all, methods_that_take_none);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
