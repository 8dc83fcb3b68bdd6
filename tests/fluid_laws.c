/// Drag by other laws, currents that vary, and fluid that goes along (`fluid:`): derivatives by differences, golden steps of the
/// published law, terminal speeds and motions in closed form, orders, the ledger of energy, what is known of added mass. Newton
/// matrices of stages and adjoints: stages.c, step_jacobian.c; engines: fluid.c, device.c.
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

static const struct {
    ctn_method method;
    int number;
    double dt;
} ways[] = {{CTN_COLLOCATION, 2, 0.05}, {CTN_RADAU, 1, 0.05}, {CTN_RADAU, 2, 0.05},         {CTN_RADAU, 3, 0.05},
            {CTN_ALPHA, 0, 0.02},       {CTN_RK4, 0, 0.01},   {CTN_SEMI_IMPLICIT, 0, 0.001}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.tolerance = 1e-13;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    return cfg;
}

// ---- derivatives

static vec3 drawn(rng *r, double most)
{
    return vec(rng_uniform(r, -most, most), rng_uniform(r, -most, most), rng_uniform(r, -most, most));
}

/// One body with loads, in a solve.
typedef struct {
    lane_model model;
    lane_body body;
    lane_point_load loads[4];
    load_state held[4];
    body_load load[4];
    placement start, now;
    iterate_body at;
    solve W;
    vec3 p0;
} one_body;

/// The energy of the loads where the body has moved from its iterate by the twist (w, v), e of it.
static double energy_at(one_body *b, mat3 R, vec3 dp, const double *twist, double e)
{
    const vec3 w = vec(e * twist[0], e * twist[1], e * twist[2]), v = vec(e * twist[3], e * twist[4], e * twist[5]);
    const vec3 wv = cross(w, v);
    b->now.R = mmul(quat_rotation(quat_exp(w)), R);
    b->at.dp = add(dp, add_scaled(add_scaled(v, wv, 0.5), cross(w, wv), 1.0 / 6));
    b->at.w = wrench_zero();
    return evaluate_loads(&b->model, &b->W, 0);
}

/// The gradient of the energy of order 2, its second derivative, and the one without curvature, which is never negative.
START_TEST(derivatives)
{
    FOR_SEEDS(seed, 40)
    {
        rng r = {seed};
        one_body b = {.body = {.flags = BODY_LOAD}};
        static const unsigned laws[] = {LOAD_SLIPS, LOAD_SLIPS | LOAD_SQUARE, LOAD_SLIPS | LOAD_PUBLISHED};
        double q[4];
        b.model.nbody = 1, b.model.bodies = &b.body, b.model.loads = b.loads, b.model.nload = b.body.loads_end = 4;
        b.model.stream = (fluid_stream){
            .strength = 1.3, .points = 3, .height = {-9, 0, 9}, .share = {0, 1, 0.5}, .slope = {1.0 / 9, -0.5 / 9}};
        for (int k = 0; k < 4; k++) {
            lane_point_load *const s = &b.loads[k];
            *s = (lane_point_load){.flags = laws[rng_below(&r, 3)] | (k % 2 ? LOAD_AXIAL : 0u)};
            s->damping = rng_below(&r, 4) ? rng_uniform(&r, 0, 2) : 0, s->axial = k % 2 ? rng_uniform(&r, -s->damping, 2) : 0;
            rng_quaternion(&r, q);
            store3(s->point, drawn(&r, 0.3)), store3(s->flow, drawn(&r, 1)), store3(s->axis, quat_rotation(quat_load(q)).x);
        }
        rng_quaternion(&r, q);
        b.start.R = quat_rotation(quat_load(q)), b.p0 = drawn(&r, 1);
        b.W = (solve){.in = {.h = 0.1, .inv_h = 10, .drag = 8},
                      .start = &b.start,
                      .now = &b.now,
                      .body = &b.at,
                      .held = b.held,
                      .load = b.load};
        for (int k = 0; k < 4; k++) b.held[k] = hold_load(&b.model, &b.loads[k], b.start.R, b.p0);
        const mat3 R = mmul(quat_rotation(quat_exp(drawn(&r, 0.2))), b.start.R);
        const vec3 dp = drawn(&r, 0.2);
        double t[2][6], none[6] = {0};
        for (int k = 0; k < 6; k++) t[0][k] = rng_uniform(&r, -1, 1), t[1][k] = rng_uniform(&r, -1, 1);
        energy_at(&b, R, dp, none, 0);
        const wrench g = b.at.w;
        const twist d = {vec(t[0][0], t[0][1], t[0][2]), vec(t[0][3], t[0][4], t[0][5])};
        body_load dropped;
        find_loads(&b.model, &b.W, 0, false, &dropped);
        const wrench Pd = inertia_times(&b.load[0].P, d), safe = inertia_times(&dropped.P, d);
        const double first = dot(g.n, d.w) + dot(g.f, d.v), second = dot(Pd.n, d.w) + dot(Pd.f, d.v), e = 1e-3;
        double E[5];
        for (int k = 0; k < 5; k++) E[k] = energy_at(&b, R, dp, t[0], (k - 2) * e);
        const double slope = (E[0] - 8 * E[1] + 8 * E[3] - E[4]) / (12 * e);
        const double curve = (-E[0] + 16 * E[1] - 30 * E[2] + 16 * E[3] - E[4]) / (12 * e * e);
        ck_assert_msg(fabs(first - slope) < 1e-8 * (1 + fabs(slope)), "seed %d: gradient %.12g, %.12g by differences", (int)seed,
                      first, slope);
        ck_assert_msg(fabs(second - curve) < 1e-5 * (1 + fabs(curve)), "seed %d: second derivative %.9g, %.9g by differences",
                      (int)seed, second, curve);
        ck_assert(dot(safe.n, d.w) + dot(safe.f, d.v) >= 0);
    }
}
END_TEST

/// Steps of order 2 with the law as it was published.
START_TEST(published)
{
    cJSON *const file = golden_json("contact-chain3", "drag_steps.json"), *run = NULL, *step = NULL;
    int compared = 0;
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(file, "runs"))
    {
        char text[2000];
        int n = snprintf(text, sizeof text, "catena: 1\nlinks:\n");
        static const char *const joints[] = {"free", "{type: revolute, axis: [0, 1, 0]}",
                                             "{type: revolute, axis: [0, 0.6, 0.8]}"};
        for (int k = 0; k < 3; k++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {name: %c, %sjoint: %s, mass: 0.6729, com: [0.15, 0, 0], inertia: [0.0002957, 0.006664, 0.006664, "
                          "0, 0, 0]}\n",
                          'a' + k,
                          k == 0   ? ""
                          : k == 1 ? "parent: a, position: [0.3, 0, 0], "
                                   : "parent: b, position: [0.3, 0, 0], ",
                          joints[k]);
        snprintf(text + n, sizeof text - (size_t)n, "fluid: {drag: {law: as-published, coefficient: %.17g}}\n",
                 cJSON_GetObjectItem(run, "drag")->valuedouble);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of(0);
        cfg.dt = cJSON_GetObjectItem(run, "dt")->valuedouble;
        ctn_batch *const b = batch_with(m, &cfg);
        int k = 0;
        cJSON_ArrayForEach(step, cJSON_GetObjectItem(run, "steps"))
        {
            double *const q = golden_numbers(step, "q", 9), *const v = golden_numbers(step, "v", 8), x[9], w[8];
            if (!k++) ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            else ctn_batch_step(b, 1, NULL, NULL);
            ctn_batch_state(b, x, w);
            ck_assert_msg(coordinate_distance(m, x, q) < 1e-8, "dt %g, step %d: off by %.3g", cfg.dt, k - 1,
                          coordinate_distance(m, x, q));
            ck_assert_msg(relative_error(w, v, 8) < 1e-7, "dt %g, step %d: velocities off by %.3g", cfg.dt, k - 1,
                          relative_error(w, v, 8));
            free(q), free(v), compared++;
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
    ck_assert_int_eq(compared, 42);
    cJSON_Delete(file);
}
END_TEST

// ---- closed forms

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

/// By the square: a rod sinks at (m g / (D L))^1/2, across its axis and along it; a board at (m g / (D A))^1/2, where faces are
/// met, and the faster the less of them; all that is still ends there.
START_TEST(terminal_speed)
{
    static const struct {
        const char *shape, *drag;
        double scale;  // force at 1 m/s, N
    } of[] = {{"type: capsule, from: [-0.4, 0, 0], to: [0.4, 0, 0], radius: 0.01", "normal: 4, tangential: 2.5", 4 * 0.8},
              {"type: capsule, from: [0, 0, 0.4], to: [0, 0, -0.4], radius: 0.01", "normal: 4, tangential: 2.5", 2.5 * 0.8},
              {"type: box, size: [0.3, 0.2, 0.01]", "coefficient: 8, over: faces", 8 * 2 * 0.06},
              {"type: box, size: [0.3, 0.01, 0.2]", "coefficient: 8, over: faces", 8 * 2 * 0.003},
              {"type: ellipsoid, radii: [0.1, 0.2, 0.05]", "coefficient: [1, 2, 30], over: volume",
               30 * 4 / 3.0 * 3.14159265358979 * 0.001}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        char text[600];
        snprintf(
            text, sizeof text,
            "catena: 1\nlinks:\n  - {name: rod, joint: free, mass: 0.5, inertia: [0.01, 0.01, 0.01, 0, 0, 0], shapes: [{%s}]}\n"
            "fluid: {drag: {law: quadratic, %s}}\n",
            of[k].shape, of[k].drag);
        double v[6];
        velocity_after(text, _i, 25, v);
        const double want = -sqrt(0.5 * 9.81 / of[k].scale);
        ck_assert_msg(fabs(v[2] - want) < 1e-8 * fabs(want), "%zu: %.12g m/s, expected %.12g", k, v[2], want);
    }
}
END_TEST

/// What coasts by the square has v = v_0 / (1 + k t), k = c v_0 / m. Steps that halve lose as much of their error as the order of
/// the method says.
START_TEST(coasts)
{
    static const double order[WAYS] = {1, 1, 3, 5, 2, 4, 1};
    const double c = 3 * 4 / 3.0 * 3.14159265358979323846 * 1e-3, v0 = 20, k = c * v0 / 0.5;
    ctn_model *const m = model_of(
        "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: ball, joint: {type: free, v0: [20, 0, 0, 0, 0, 0]}, mass: 0.5,\n"
        "     inertia: [0.01, 0.01, 0.01, 0, 0, 0], shapes: [{type: sphere, radius: 0.1}]}\n"
        "fluid: {drag: {law: quadratic, coefficient: 3, over: volume}}\n");
    double error[2];
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = config_of(_i);
        double q[7], v[6];
        cfg.dt = (order[_i] > 2 ? 0.1 : 0.01) / (1 + h);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_batch_step(b, (int)lround(1 / cfg.dt), NULL, NULL), ctn_batch_state(b, q, v);
        error[h] = fmax(fabs(v[0] - v0 / (1 + k)), fabs(q[0] - v0 / k * log1p(k)));
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(error[1] < 1e-11 || found > order[_i] - 0.4, "order %.2f (%.3g, %.3g)", found, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// In a current whose share goes by the height, sliders go with it.
START_TEST(profile)
{
    static const double heights[] = {-3, -0.9, -0.25, 0.5, 1.75, 2.1, 9}, shares[] = {0.5, 0.525, 0.6875, 0.875, 1.75, 2, 2};
    for (int square = 0; square < 2; square++) {
        char text[3000];
        int n = snprintf(text, sizeof text, "catena: 1\nlinks:\n");
        for (int k = 0; k < 7; k++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {name: s%d, position: [0, %d, %.17g], joint: {type: prismatic, axis: [1, 0, 0]}, mass: 0.1, "
                          "inertia: [0, 0, 0, 0, 0, 0]}\n",
                          k, k, heights[k]);
        snprintf(text + n, sizeof text - (size_t)n,
                 "fluid: {current: {velocity: [3, 1, 2], strength: 0.5, profile: {heights: [-1, 1, 2], shares: [0.5, 1, 2]}},\n"
                 "  drag: {coefficient: 5, over: mass, law: %s}}\n",
                 square ? "quadratic" : "linear");
        ctn_model *const m = model_of(text);
        const ctn_batch_config cfg = config_of(_i);
        ctn_batch *const b = batch_with(m, &cfg);
        double v[7];
        ctn_step_stats s;
        ctn_batch_step(b, (int)lround(20 / cfg.dt), &s, NULL), ctn_batch_state(b, NULL, v);
        for (int k = 0; k < 7; k++) {
            // by the square, too, in no time: the slider feels what goes across its axis
            const double want = 1.5 * shares[k];
            ck_assert_msg(fabs(v[k] - want) < 1e-8 * want, "%d: at %g m %.12g m/s, expected %.12g", square, heights[k], v[k],
                          want);
        }
        ck_assert(s.work > 0 && s.dissipated > 0);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// Gusts: a slider with the linear drag k m in the current U (1 + a sin w t) moves as U + U a k (k sin w t - w cos w t)/(k^2 +
/// w^2); to the order of the method.
START_TEST(gusts)
{
    static const double order[WAYS] = {1, 1, 3, 5, 2, 4, 1};
    const double U = 2, a = 0.4, w = 5, k = 2;
    char text[700];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: s, joint: {type: prismatic, axis: [1, 0, 0], v0: %.17g}, mass: 0.5, shapes: [{type: "
             "capsule, "
             "from: [0, 0, 0], to: [0, 0, 1], radius: 0.01}]}\n"
             "fluid: {current: {velocity: [%g, 0, 0], strength: {sinusoid: {mean: 1, amplitude: %g, frequency: %.17g}}}, drag: "
             "{normal: %g, "
             "tangential: 0.2}}\n",
             U - U * a * k * w / (k * k + w * w), U, a, w / (2 * 3.14159265358979323846), 0.5 * k);
    ctn_model *const m = model_of(text);
    double error[2];
    for (int h = 0; h < 2; h++) {
        ctn_batch_config cfg = config_of(_i);
        double q, v;
        cfg.dt = (order[_i] > 2 ? 0.1 : 0.01) / (1 + h);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_batch_step(b, (int)lround(1 / cfg.dt), NULL, NULL), ctn_batch_state(b, &q, &v);
        const double at = U * a * k / (k * k + w * w);
        const double x = U - at * (k / w * (cos(w) - 1) + sin(w));
        error[h] = fmax(fabs(v - (U + at * (k * sin(w) - w * cos(w)))), fabs(q - x));
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(error[1] < 1e-10 || found > order[_i] - 0.4, "order %.2f (%.3g, %.3g)", found, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

// ---- energy

#define EEL(more)                                                                                                                \
    "catena: 1\nlinks:\n  - chain: {name: c, count: 8, step: [0.1, 0, 0], density: 1100,\n"                                      \
    "            joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1], q0: [0.1, 0.2]},\n"                                 \
    "            shapes: [{type: capsule, from: [0, 0, 0], to: [0.1, 0, 0], radius: 0.02}]}\n" more

/// In a fluid at rest nothing is gained, and the books close; in a current, too, which works.
START_TEST(energy)
{
    static const char *const fluids[] = {
        "fluid: {drag: {normal: 30, tangential: 15, law: quadratic}}\n",
        "fluid: {drag: {coefficient: 0.05, law: as-published}}\n",
        "fluid: {density: 600, added_mass: 0.8, drag: {normal: 30, tangential: 15, law: quadratic}}\n",
        ("fluid: {density: 600, added_mass: 0.8, current: {velocity: [0, 2, 0], profile: {heights: [-1, 0], shares: "
         "[0, 1]}}, drag: {normal: 3, tangential: 1}}\n")};
    for (int k = 0; k < 4; k++) {
        char text[1200];
        snprintf(text, sizeof text, EEL("%s"), fluids[k]);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = config_of(_i);
        if (ways[_i].method == CTN_RK4) cfg.dt = 0.001;
        if (k == 1 && _i) {
            ctn_error err;
            ck_assert(!ctn_batch_create(m, &cfg, &err) && strstr(err.message, "takes no `drag` of `law: as-published`"));
            ctn_model_free(m);
            continue;
        }
        ctn_batch *const b = batch_with(m, &cfg);
        const bool rests = k<3, floats = k> 1;
        double taken = 0, worked = 0;
        for (int n = 0; n < 60; n++) {
            ctn_step_stats stats;
            ck_assert_int_eq(ctn_batch_step(b, 1, &stats, NULL), CTN_OK);
            const double all = fabs(stats.energy_before) + 1, gain = stats.energy_after - stats.energy_before - stats.work;
            ck_assert_msg(stats.dissipated >= 0, "%d, step %d: the fluid gives %.3g J", k, n, -stats.dissipated);
            ck_assert_msg(!rests || gain <= (cfg.method == CTN_COLLOCATION ? 1e-10 : 2e-3) * all,
                          "%d, step %d: energy rises by %.3g J", k, n, gain);
            ck_assert_msg(fabs(gain + stats.dissipated - stats.created) < 1e-11 * all, "%d, step %d: open books", k, n);
            taken += stats.dissipated, worked += fabs(stats.work);
        }
        ck_assert(taken > 1e-6 && (worked > 0) == floats);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

// ---- added mass

/// A ball that rises in a fluid which slips off it: (rho V - m) g = (m + C rho V) a; what is known of it by itself is as it is
/// without a fluid. Worlds with another gravity have other weights.
START_TEST(rising_ball)
{
    static const char ball[] =
        "catena: 1\nlinks:\n  - {name: ball, position: [0.3, 0, 0.5], joint: {type: free, v0: [0, 0, 0, 0.1, 0.2, 0.3]}, "
        "density: 300,\n"
        "     shapes: [{type: sphere, radius: 0.1, center: [0, 0, 0]}]}\nsensors:\n  - {name: l, type: momentum}\n"
        "  - {name: c, type: com}\n  - {name: v, type: com_velocity}\n  - {name: a, type: com_acceleration}\n"
        "  - {name: e, type: potential_energy}\n%s";
    char text[1000];
    snprintf(text, sizeof text, ball, "fluid: {density: 1000, added_mass: 0.5}\n");
    ctn_model *const m = model_of(text);
    snprintf(text, sizeof text, ball, "");
    ctn_model *const dry = model_of(text);
    const ctn_parameter list[] = {{CTN_GRAVITY, 2}, {CTN_MASS_SCALE, 0}};
    for (int way = -2; way < WAYS; way++) {
        ctn_batch_config cfg = config_of(way < 0 ? 0 : way);
        if (way < 0) cfg.method = CTN_VARIATIONAL, cfg.order = way == -1 ? 2 : 4, cfg.dt = 0.01;
        cfg.worlds = 3, cfg.parameters = list, cfg.parameter_count = 2;
        ctn_batch *const b = batch_with(m, &cfg);
        const double values[6] = {-9.81, 1, -1.62, 1, -9.81, 2};
        ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
        double q[21], v[18], sensed[3][16], by_itself[16];
        ctn_totals t[3], of_dry;
        for (int w = 0; w < 3; w++) ctn_model_initial_state(m, q + 7 * w, v + 6 * w);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_step_stats stats[3];
        ctn_batch_step(b, (int)lround(1 / cfg.dt), stats, NULL), ctn_batch_state(b, q, v), ctn_batch_totals(b, t);
        ctn_batch_sensors(b, sensed[0], NULL);
        const double V = 4 / 3.0 * 3.14159265358979323846 * 1e-3;
        for (int w = 0; w < 3; w++) {
            const double mass = 300 * V * values[2 * w + 1], a = -values[2 * w] * (1000 * V - mass) / (mass + 500 * V);
            ck_assert_msg(fabs(v[6 * w + 2] - a) < 1e-9 * a, "%d, world %d: %.12g m/s, not %.12g", way, w, v[6 * w + 2], a);
            for (int k = 0; k < 3; k++)
                ck_assert_msg(fabs(v[6 * w + 3 + k] - 0.1 * (k + 1)) < 5e-3, "turns on with %g rad/s", v[6 * w + 3 + k]);
            ck_assert_msg(fabs(sensed[w][14] - a) < 1e-9 * a && fabs(sensed[w][11] - v[6 * w + 2]) < 1e-12,
                          "world %d: com %g, %g", w, sensed[w][14], sensed[w][11]);
            const double kinetic = 0.5 * (mass + 500 * V) * v[6 * w + 2] * v[6 * w + 2] + 0.5 * mass * 0.4 * 0.01 * 0.14;
            ck_assert_msg(fabs(t[w].kinetic - kinetic) < 0.02 * kinetic, "world %d: %g J, not %g", w, t[w].kinetic, kinetic);
            ck_assert_msg(fabs(stats[w].energy_after - stats[w].energy_before + stats[w].dissipated - stats[w].work -
                               stats[w].created) < 1e-11 * kinetic,
                          "open books");
            ck_assert_msg(fabs(stats[w].work - 1000 * V * -values[2 * w] * (q[7 * w + 2] - 0.5)) < 1e-9, "the fluid works %g J",
                          stats[w].work);
        }
        // the first world's numbers by itself
        ctn_dynamics *const dyn = ctn_dynamics_create(dry, NULL, NULL);
        ctn_energy_momentum(dyn, 1, q, v, &of_dry), ctn_sensors(dyn, 1, q, v, NULL, by_itself);
        for (int k = 0; k < 16; k++)
            ck_assert_msg((k >= 12 && k < 15) || fabs(sensed[0][k] - by_itself[k]) < 1e-11,
                          "%d: sensor number %d is %.15g, not %.15g", way, k, sensed[0][k], by_itself[k]);
        ck_assert_msg(fabs(t[0].potential - of_dry.potential) < 1e-11 && fabs(t[0].com[2] - of_dry.com[2]) < 1e-13, "%g J, %g m",
                      t[0].potential, t[0].com[2]);
        for (int k = 0; k < 3; k++)
            ck_assert_msg(fabs(t[0].momentum_linear[k] - of_dry.momentum_linear[k]) < 1e-12 &&
                              fabs(t[0].momentum_angular[k] - of_dry.momentum_angular[k]) < 1e-12,
                          "momentum %d", k);
        ctn_dynamics_free(dyn), ctn_batch_free(b);
    }
    ctn_model_free(m), ctn_model_free(dry);
}
END_TEST

/// A rod on a hinge carries the fluid of its slices along, as strips do: C rho V (L^2/3) about its end, less what turns about its
/// axis.
START_TEST(rod_in_strips)
{
    const double L = 0.8, r = 0.02, V = 3.14159265358979323846 * r * r * L, rho = 1000, density = 2700, C = 0.9, angle = 0.7;
    char text[600];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: rod, joint: {type: revolute, axis: [0, 1, 0]}, density: %g, shapes: [{type: "
             "cylinder, from: [0, 0, 0], to: "
             "[%g, 0, 0], radius: %g}]}\nfluid: {density: %g, links: [{link: rod, added_mass: %g}]}\n",
             density, L, r, rho, C);
    ctn_model *const m = model_of(text);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    const double I = density * V * (L * L / 3 + r * r / 4) + C * rho * V * (L * L / 3 - r * r / 4);
    const double want = (density - rho) * V * 9.81 * L / 2 * cos(angle) / I, zero = 0;
    double a;
    ctn_aba(dyn, 1, &angle, &zero, NULL, &a);
    ck_assert_msg(fabs(a - want) < 1e-12 * want, "%.15g rad/s2, not %.15g", a, want);
    ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

/// Inverse dynamics and their derivatives know no fluid but what goes along: joint forces less passive ones accelerate as forward
/// dynamics say.
START_TEST(inverse_dynamics)
{
    FOR_SEEDS(seed, 12)
    {
        const random_options o = {.links = 6, .passive = seed % 2, .fluid = true, .stream = true, .floating = seed % 3 == 0};
        ctn_model *const m = random_model(seed, &o);
        ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *const x = calloc(2 * nq + 8 * nv + 3 * nv * nv, sizeof *x), *const q = x, *const v = q + nq, *const tau = v + nv,
                      *const a = tau + nv, *const back = a + nv, *const passive = back + nv, *const moved = passive + nv,
                      *const d = moved + nq, *const other = d + nv, *const by_q = other + nv, most = 0;
        rng r = {seed};
        random_state(m, &r, q, v);
        for (size_t k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -5, 5), d[k] = rng_uniform(&r, -1, 1);
        ctn_aba(dyn, 1, q, v, tau, a), ctn_rnea(dyn, 1, q, v, a, back), ctn_passive(dyn, 1, q, v, passive);
        double scale = most;
        for (size_t k = 0; k < nv; k++) scale = fmax(scale, fabs(back[k]));
        for (size_t k = 0; k < nv; k++)
            ck_assert_msg(fabs(back[k] - passive[k] - tau[k]) < 1e-9 * scale, "seed %d: force %zu is %.12g, not %.12g", (int)seed,
                          k, back[k] - passive[k], tau[k]);
        ctn_rnea_derivatives(dyn, 1, q, v, a, by_q, by_q + nv * nv, by_q + 2 * nv * nv);
        const double e = 1e-5;
        ctn_model_integrate(m, 1, q, d, e, moved), ctn_rnea(dyn, 1, moved, v, a, back);
        ctn_model_integrate(m, 1, q, d, -e, moved), ctn_rnea(dyn, 1, moved, v, a, other);
        for (size_t i = 0; i < nv; i++) {
            double slope = 0;
            for (size_t k = 0; k < nv; k++) slope += by_q[i * nv + k] * d[k];
            ck_assert_msg(fabs(slope - (back[i] - other[i]) / (2 * e)) < 1e-6 * (scale + fabs(slope)),
                          "seed %d: row %zu: %g, by differences %g", (int)seed, i, slope, (back[i] - other[i]) / (2 * e));
        }
        free(x), ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

// ---- what worlds have of their own

/// Worlds with a current and drag of their own move as scenes that say so, to the last bit.
START_TEST(worlds_of_their_own)
{
    static const char *const laws[] = {"drag: {normal: 3, tangential: 1}", "drag: {normal: 30, tangential: 10, law: quadratic}",
                                       "drag: {coefficient: 40, over: surface}"};
    for (int k = 0; k < 3; k++) {
        const ctn_parameter list[] = {{CTN_CURRENT, 1}, {CTN_DRAG_SCALE, 2}};
        ctn_batch_config cfg = config_of(_i);
        double x[2][3][16], values[6] = {0.5, 1, -1, 2, 0.25, 0};
        cfg.dt = 0.002;
        for (int own = 0; own < 2; own++)
            for (int w = 0; w < (own ? 1 : 3); w++) {
                char text[1500], law[100];
                snprintf(law, sizeof law, "%s", laws[k]);
                int n = snprintf(text, sizeof text, EEL("fluid: {density: 500, current: [0.2, %.17g, 0], %s"),
                                 own ? 0.5 : values[2 * w], law);
                if (!own) {  // the other numbers times the scale
                    const double s = values[2 * w + 1];
                    const char *const forms[] = {"{normal: %.17g, tangential: %.17g}",
                                                 "{normal: %.17g, tangential: %.17g, law: quadratic}",
                                                 "{coefficient: %.17g, over: surface}"};
                    n += snprintf(text + n, sizeof text - (size_t)n, ", links: [{link: c.2, drag: ");
                    n += snprintf(text + n, sizeof text - (size_t)n, forms[k],
                                  s * (k == 0   ? 3
                                       : k == 1 ? 30
                                                : 40),
                                  s * (k == 0 ? 1 : 10));
                    n += snprintf(text + n, sizeof text - (size_t)n, "}]");
                }
                snprintf(text + n, sizeof text - (size_t)n, "}\n");
                ctn_model *const m = model_of(text);
                if (own) cfg.worlds = 3, cfg.parameters = list, cfg.parameter_count = 2;
                ctn_batch *const b = batch_with(m, &cfg);
                if (own) ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
                ctn_batch_step(b, 50, NULL, NULL), ctn_batch_state(b, x[own][w], NULL);
                double current = 0, scale = 0;
                ctn_model_parameter(m, list[0], &current, NULL), ctn_model_parameter(m, list[1], &scale, NULL);
                ck_assert(current == (own ? 0.5 : values[2 * w]) && (scale == 1 || values[2 * w + 1] == 0));
                ctn_batch_free(b), ctn_model_free(m);
            }
        for (int w = 0; w < 3; w++)
            for (int i = 0; i < 16; i++)
                ck_assert_msg(fabs(x[0][w][i] - x[1][w][i]) < 1e-12, "law %d, world %d: %.17g, not %.17g", k, w, x[1][w][i],
                              x[0][w][i]);
    }
}
END_TEST

/// `sample:` draws them.
START_TEST(sampled)
{
    ctn_error err;
    const char *const text =
        EEL("  - {name: dry, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\nfluid: {current: [1, 0, 0], drag: {coefficient: "
            "1}}\n"
            "sample: {parameters: {current: {x: {uniform: [2, 3]}, z: {grid: [0, 1, 2]}}, drag_scale: {all: {uniform: [0.5, 1]}, "
            "c.3: {normal: [2, 0.1]}}}}\n");
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_parameter list[20];
    double values[20];
    ck_assert_int_eq(ctn_scene_parameters(scene, m, list), 10);
    ctn_sample_parameters(scene, m, 1, 5, 10, values);
    ck_assert(list[0].kind == CTN_CURRENT && list[1].index == 2 && values[0] >= 2 && values[0] <= 3 && values[1] == 1);
    ck_assert(list[5].kind == CTN_DRAG_SCALE && list[5].index == 3 && values[5] > 1.5 && values[6] < 1);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.parameters = list, cfg.parameter_count = 10;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    static const char *const bad[][2] = {
        {"sample: {parameters: {drag_scale: {dry: {uniform: [0, 1]}}}}",
         "the joint of this link is that of one without drag; give it one in `fluid`"},
        {"sample: {parameters: {drag_scale: {c.0: {uniform: [-1, 1]}}}}", "expected a number >= 0, found -1 as the least"}};
    for (int k = 0; k < 2; k++) {
        char other[1500];
        snprintf(other, sizeof other,
                 EEL("  - {name: dry, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\nfluid: {drag: {coefficient: 1}}\n%s\n"),
                 bad[k][0]);
        ck_assert(!ctn_scene_parse(other, strlen(other), "t.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k][1]) != NULL, "found: %s", err.message);
    }
}
END_TEST

// ---- what is refused

START_TEST(refusals)
{
    static const struct {
        const char *fluid, *message;
    } bad[] = {
        {"{current: {strength: 2}, density: 1}", "fluid.current.velocity: missing"},
        {"{current: {velocity: [1, 0, 0], profile: {heights: [0, 1]}}, density: 1}", "fluid.current.profile.shares: missing"},
        {"{current: {velocity: [1, 0, 0], profile: {heights: [0, 1], shares: [1]}}, density: 1}",
         "fluid.current.profile.shares: expected a list of 2 to 16"},
        {"{current: {velocity: [1, 0, 0], profile: {heights: [0, 1], shares: [1, 2, 3]}}, density: 1}",
         "shares: expected as many as `heights`, 2, found 3"},
        {"{current: {velocity: [1, 0, 0], profile: {heights: [0, 0], shares: [1, 2]}}, density: 1}",
         "heights: expected rising numbers"},
        {"{added_mass: 1, drag: {coefficient: 1}}", "fluid.density: missing; `added_mass` is a share of the fluid"},
        {"{drag: {law: cubic, coefficient: 1}}", "fluid.drag.law: expected linear, quadratic or as-published, found 'cubic'"},
        {"{drag: {law: as-published, coefficient: 1, over: volume}}",
         "fluid.drag.over: as published a drag is over the mass of a link"},
        {"{drag: {law: as-published, normal: 1, tangential: 1}}",
         "fluid.drag.normal: as published a drag is alike in all directions"},
        {"{drag: {law: as-published, coefficient: [1, 2, 3]}}", "fluid.drag.coefficient: as published it is one number"},
        {"{drag: {over: faces, coefficient: [1, 2, 3]}}", "fluid.drag.coefficient: a list, along the axes of the link, is for"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[900];
        ctn_error err;
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - {name: box, joint: free, density: 1, shapes: [{type: box, size: [0.1, 0.1, "
                 "0.1]}]}\nfluid: %s\n",
                 bad[k].fluid);
        ck_assert(!ctn_scene_parse(text, strlen(text), "t.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k].message) != NULL, "found: %s", err.message);
    }
    static const struct {
        const char *fluid, *message;
        const char *engine;
        ctn_method method;
        ctn_parallel parallel;
    } methods[] = {{"fluid: {drag: {normal: 1, tangential: 1, law: quadratic}}",
                    "parallel: links takes no drag by the square or in a current that varies in this version; take worlds", NULL,
                    CTN_ALPHA, CTN_PARALLEL_LINKS},
                   {"fluid: {density: 900, added_mass: 1}", "parallel: both takes no `added_mass` in this version; take worlds",
                    NULL, CTN_ALPHA, CTN_PARALLEL_BOTH},
                   {"fluid: {drag: {normal: 1, tangential: 2, law: quadratic}}",
                    "method: variational takes a `fluid` without drag alone; take radau", NULL, CTN_VARIATIONAL,
                    CTN_PARALLEL_AUTO},
                   {"fluid: {current: {velocity: [1, 0, 0], strength: {sinusoid: {amplitude: 1, frequency: 1}}}, drag: {normal: "
                    "1, tangential: 1}}",
                    "engine: 'cuda' takes no `current` that changes with time in this version; take an engine of the CPU", "cuda",
                    CTN_ALPHA, CTN_PARALLEL_AUTO}};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        char text[1200];
        ctn_error err;
        snprintf(text, sizeof text, EEL("%s\n"), methods[k].fluid);
        ctn_model *const m = model_of(text);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = methods[k].method, cfg.parallel = methods[k].parallel, cfg.engine = methods[k].engine;
        ck_assert(!ctn_batch_create(m, &cfg, &err));
        ck_assert_msg(!strcmp(err.message, methods[k].message), "found: %s", err.message);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("fluid laws");
    TCase *const all = tcase_create("laws");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, derivatives);
    tcase_add_test(all, published);
    tcase_add_loop_test(all, terminal_speed, 0, WAYS);
    tcase_add_loop_test(all, coasts, 0, WAYS);
    tcase_add_loop_test(all, profile, 0, WAYS);
    tcase_add_loop_test(all, gusts, 0, WAYS);
    tcase_add_loop_test(all, energy, 0, WAYS);
    tcase_add_test(all, rising_ball);
    tcase_add_test(all, rod_in_strips);
    tcase_add_test(all, inverse_dynamics);
    tcase_add_loop_test(all, worlds_of_their_own, 0, WAYS);
    tcase_add_test(all, sampled);
    tcase_add_test(all, refusals);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
