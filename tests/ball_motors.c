/// Motors on balls (forces/ball_motors.h): the potential against differences and against the sum of its springs, closed forms, gains
/// that no step resolves, the effort, the ledger of energy, targets that move, by world, and what scenes say. Hessians and adjoints,
/// engines and devices, steps along links: newton_sweep.c, stages.c, step_jacobian.c, engines.c, device.c, along.c.
#include "dynamics/lane_scalar.h"
#include "forces/ball_motors.h"
#include "sim/model/step_limit.h"
#include "tests/random_scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <stdlib.h>

static vec3 random_vector(rng *r, double most)
{
    return vec(rng_uniform(r, -most, most), rng_uniform(r, -most, most), rng_uniform(r, -most, most));
}

static quat random_turn(rng *r)
{
    double q[4];
    rng_quaternion(r, q);
    return quat_load(q);
}

static lane_motor random_motor(rng *r)
{
    static const double efforts[] = {INFINITY, 5, 0.3, 0};
    lane_motor a = {.kp = rng_below(r, 3) ? pow(10, rng_uniform(r, 0, 3)) : 0,
                    .kd = rng_below(r, 3) ? rng_uniform(r, 0, 3) : 0,
                    .effort = efforts[rng_below(r, 4)],
                    .gear = 1};
    store3(a.target, random_vector(r, 2)), store3(a.velocity, random_vector(r, 3)), store3(a.feedforward, random_vector(r, 3));
    return a;
}

// ---- potentials

static double size3(vec3 a) { return sqrt(dot(a, a)); }

/// Of a step: value, gradient and second derivative go together, the torque never exceeds the effort, and what is kept of the
/// second derivative is never negative.
START_TEST(potential_of_a_step)
{
    int bent = 0, full = 0, turned = 0;
    FOR_ALL_SEEDS(seed, 6000)
    {
        rng r = {seed * 77};
        lane_motor a = random_motor(&r);
        const quat q = random_turn(&r);
        const double s = rng_uniform(&r, 5, 200);
        const vec3 drift = random_vector(&r, seed % 9 ? 0.1 : 4), push = random_vector(&r, 0.1);
        const quat z = quat_short(seed % 3 ? quat_exp(random_vector(&r, 0.5)) : random_turn(&r));
        ball_spring B = ball_spring_of(&a, q, drift, s, push);
        const double Y = size3(scale(quat_imaginary(quat_mul(quat_conjugate(z), B.c)), 2));
        if (seed % 4 == 0) a.effort = Y * rng_uniform(&r, 0.93, 1.07);
        const double K = sqrt(quat_square(B.c)), e = 2e-4 * (a.effort > 0 ? fmin(1, a.effort / (K + 1)) : 1),
                     reach = 6 * e * (K + 1);
        const double edge = fmin(fabs(Y - (1 - MOTOR_CORNER) * a.effort), fabs(Y - (1 + MOTOR_CORNER) * a.effort));
        const turn_potential V = ball_motor_step(&a, &B, z);
        const double cosine = quat_mul(quat_conjugate(z), B.c).w / (K + 1e-300);
        ck_assert_msg(size3(V.g) <= a.effort * (1 + 1e-12), "seed %llu: %g of %g", (unsigned long long)seed, size3(V.g),
                      a.effort);
        for (int k = 0; k < 20; k++) {
            const vec3 y = random_vector(&r, 1);
            ck_assert_msg(dot(y, smul(V.safe, y)) >= -1e-12 * K, "seed %llu: negative", (unsigned long long)seed);
        }
        if ((isfinite(a.effort) && edge <= reach) || fabs(cosine) < 1e-2 || z.w < 0.05) continue;
        bent += fabs(Y - a.effort)<MOTOR_CORNER * a.effort, full += Y>(1 + MOTOR_CORNER) * a.effort && a.effort > 0,
            turned += cosine < 0;
        const vec3 n = scale(random_vector(&r, 1), 1), d = scale(n, 1 / size3(n));
        double E[4], g[4];
        for (int k = 0; k < 4; k++) {
            const double step = e * (k < 2 ? k - 2 : k - 1);
            const turn_potential W = ball_motor_step(&a, &B, quat_mul(z, quat_exp(scale(d, step))));
            E[k] = W.E, g[k] = dot(W.g, d);  // along d, turns are their own chart
        }
        const double by_E = (8 * (E[2] - E[1]) - (E[3] - E[0])) / (12 * e), by_g = (8 * (g[2] - g[1]) - (g[3] - g[0])) / (12 * e);
        const double scale_ = 1 + K + fabs(V.E) + size3(V.g);
        ck_assert_msg(fabs(by_E - dot(V.g, d)) < 1e-15 * scale_ / e + 1e-8 * scale_,
                      "seed %llu: gradient %.12g, by differences %.12g", (unsigned long long)seed, dot(V.g, d), by_E);
        const double k = dot(d, smul(V.k, d));
        ck_assert_msg(fabs(by_g - k) < 1e-14 * scale_ / e + 1e-7 * scale_,
                      "seed %llu: second derivative %.12g, by differences %.12g", (unsigned long long)seed, k, by_g);
    }
    ck_assert_msg((bent > 150 && full > 800 && turned > 100) || getenv("CTN_SEED"),
                  "the corner was met %d times, the effort %d, half a turn %d", bent, full, turned);
}
END_TEST

/// Without a limit the spring of a step is the sum of those of kp, of kd and of the torque.
START_TEST(one_spring)
{
    FOR_ALL_SEEDS(seed, 500)
    {
        rng r = {seed * 31};
        lane_motor a = random_motor(&r);
        a.effort = INFINITY;
        const quat q = random_turn(&r), z = quat_exp(random_vector(&r, 0.5)), x = quat_mul(q, z);
        const double s = rng_uniform(&r, 5, 200);
        const vec3 drift = random_vector(&r, 0.1), o = zero3();
        const ball_spring B = ball_spring_of(&a, q, drift, s, o);
        const vec3 got = ball_spring_torque(&a, &B, z).torque;
        const quat p = quat_exp(load3(a.target)), ahead = quat_exp(add_scaled(drift, load3(a.velocity), 1 / s));
        const double side = quat_mul(quat_conjugate(q), p).w < 0 ? -1 : 1;
        vec3 want = scale(quat_imaginary(quat_mul(quat_conjugate(x), p)), 2 * a.kp * side);
        want = add_scaled(want, quat_imaginary(quat_mul(quat_conjugate(z), ahead)), 2 * a.kd * s);
        want = add(want, quat_imaginary(quat_mul(quat_conjugate(z), quat_pure(load3(a.feedforward), 1))));
        ck_assert_msg(size3(sub(got, want)) < 1e-13 * (1 + a.kp + a.kd * s), "seed %llu: %g", (unsigned long long)seed,
                      size3(sub(got, want)));
        // and with small turns it is what the motor does at x, with the velocity s (u - drift)
        const vec3 u = random_vector(&r, 1e-4);
        const vec3 is = ball_motor_at(&a, quat_mul(q, quat_exp(u)), scale(sub(u, scale(drift, 1e-4)), s)).torque;
        const ball_spring C = ball_spring_of(&a, q, scale(drift, 1e-4), 1e4 * s, o);
        (void)C;
        const ball_spring D = ball_spring_of(&a, q, scale(drift, 1e-4), s, o);
        const vec3 step = ball_spring_torque(&a, &D, quat_exp(u)).torque;
        const double d3 = pow(size3(load3(a.velocity)) / s, 3) * a.kd * s;  // a spring to exp(d) pulls by sines
        ck_assert_msg(size3(sub(is, step)) < 1e-3 * (1 + a.kd * size3(load3(a.velocity)) + size3(load3(a.feedforward))) + d3,
                      "seed %llu: at once %g, in a step %g", (unsigned long long)seed, size3(is), size3(step));
    }
}
END_TEST

/// What is stored is the integral of what kp gives alone, with and without a limit, up to half a turn.
START_TEST(stored)
{
    FOR_ALL_SEEDS(seed, 400)
    {
        rng r = {seed * 131};
        lane_motor a = random_motor(&r);
        a.kp += 1;
        if (seed % 2) a.effort = 2 * a.kp * rng_uniform(&r, 0, 1);
        const vec3 n = random_vector(&r, 1), d = scale(n, 1 / size3(n));
        const double angle = rng_uniform(&r, 0, M_PI);
        const quat p = quat_exp(load3(a.target)), x = quat_mul(p, quat_exp(scale(d, angle)));
        enum { PIECES = 4000 };
        double sum = 0;
        for (int k = 0; k <= PIECES; k++) {
            const double weight = k == 0 || k == PIECES ? 1 : k % 2 ? 4 : 2;
            sum += weight * angle / PIECES / 3 * saturate(2 * a.kp * sin(angle * k / PIECES / 2), a.effort, MOTOR_CORNER).force;
        }
        const double U = ball_motor_energy(&a, x), scale_ = a.kp * angle * angle + 1e-12;
        ck_assert_msg(fabs(U - sum) < 3e-8 * scale_, "seed %llu: %.12g J, by the torque %.12g", (unsigned long long)seed, U, sum);
    }
}
END_TEST

// ---- closed forms

#define BODY                                                                                                                     \
    "catena: 1\n%s\nlinks:\n  - {name: a, joint: {type: ball%s}, mass: 1, com: [%g, 0, 0], inertia: [0.4, %s, 0, 0, 0]}\n"       \
    "motors: [{joint: a, %s}]\n"

static ctn_model *model_with(const char *scene, const char *what, double arm, bool round, const char *motor)
{
    char text[1000];
    snprintf(text, sizeof text, BODY, scene, what, arm, round ? "0.4, 0.4" : "0.3, 0.5", motor);
    return model_of(text);
}
#define STILL "gravity: [0, 0, 0]"

static ctn_batch_config config_of(ctn_method method, int number, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.dt = dt;
    if (method == CTN_RADAU) cfg.stages = number;
    else if (method != CTN_ALPHA) cfg.order = number;
    return cfg;
}

static const struct {
    ctn_method method;
    int number;
} implicit[] = {{CTN_COLLOCATION, 2}, {CTN_RADAU, 1}, {CTN_RADAU, 2}, {CTN_RADAU, 3}, {CTN_RADAU, 4}, {CTN_ALPHA, 0}};
enum { IMPLICIT = sizeof implicit / sizeof *implicit };

/// A body under gravity comes to rest where its servo holds its weight, whatever kp and the step, with and without an effort.
START_TEST(sag)
{
    static const double gains[] = {1, 1e2, 1e4, 1e6, 1e8}, steps[] = {0.002, 0.1};
    for (int k = 0; k < 5; k++)
        for (int h = 0; h < 2; h++)
            for (int limited = 0; limited < 2; limited++) {
                char motor[200];
                snprintf(motor, sizeof motor, "type: position, kp: %g, kd: %g, target: [0.3, 0.5, -0.4]%s", gains[k],
                         0.5 * sqrt(gains[k]) + 0.5 + (limited ? 0.1 * gains[k] : 0), limited ? ", effort: 20" : "");
                ctn_model *const m = model_with("", "", 0.5, false, motor);
                const ctn_batch_config cfg = config_of(implicit[_i].method, implicit[_i].number, steps[h]);
                ctn_batch *const b = batch_with(m, &cfg);
                ctn_dynamics *const dyn = ctn_dynamics_create(m, "scalar", NULL);
                double q[4], v[3], zero[3] = {0}, weight[3], held[3], off = 0, fast = 0;
                ctn_batch_step(b, (int)lround(60 / steps[h]), NULL, NULL);
                ctn_batch_state(b, q, v);
                ctn_bias(dyn, 1, q, zero, weight), ctn_passive(dyn, 1, q, zero, held);
                for (int c = 0; c < 3; c++) off = worse(off, fabs(held[c] - weight[c])), fast = worse(fast, fabs(v[c]));
                ck_assert_msg(off < 1e-6 + 1e-15 * gains[k] && fast < 1e-6, "kp %g, dt %g, limited %d: off by %g N m, %g rad/s",
                              gains[k], steps[h], limited, off, fast);
                ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
            }
}
END_TEST

/// A round body is brought to its angular velocity as 1 - exp(-kd t/J), by a bounded servo in a ramp; a torque turns it faster and
/// faster; and all the work is the motion's.
START_TEST(spin)
{
    const double T = 0.5, J = 0.4, kd = 0.6, want[3] = {3, -2, 1};
    static const struct {
        ctn_method method;
        int number;
        double error;
    } ways[] = {
        {CTN_RK4, 2, 1e-6}, {CTN_DOP853, 2, 1e-9}, {CTN_RADAU, 3, 1e-6}, {CTN_COLLOCATION, 2, 0.05}, {CTN_ALPHA, 2, 3e-3}};
    static const char *const motors[] = {
        "type: velocity, kd: 0.6, target: [3, -2, 1]", "type: velocity, kd: 0.6, target: [3, -2, 1], effort: 1",
        "type: torque, target: [0.3, -0.2, 0.1]", "type: torque, target: [30, -20, 10], effort: 0.5"};
    const double size = sqrt(14);
    for (int k = 0; k < 4; k++) {
        ctn_model *const m = model_with(STILL, "", 0, true, motors[k]);
        const ctn_batch_config cfg = config_of(ways[_i].method, ways[_i].number, 0.01);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[4], v[3], energy = 0;
        ctn_step_stats s;
        ctn_batch_step(b, (int)lround(T / cfg.dt), &s, NULL);
        ctn_batch_state(b, q, v);
        const double reached[] = {1 - exp(-kd * T / J), 1 * T / J / size, 0.1 * T / J, 0.5 * T / J / size};
        for (int c = 0; c < 3; c++) {
            ck_assert_msg(fabs(v[c] - want[c] * reached[k]) < 4 * ways[_i].error, "motor %d: %g, not %g", k, v[c],
                          want[c] * reached[k]);
            energy += 0.5 * J * v[c] * v[c];
        }
        ck_assert_msg(fabs(s.work - s.dissipated - energy) < 30 * ways[_i].error && s.dissipated >= 0,
                      "motor %d: work %g, dissipated %g, %g J", k, s.work, s.dissipated, energy);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// A servo of a velocity beyond what a step can turn pulls that way all the same, and gets there in smaller steps.
START_TEST(beyond_half_a_turn)
{
    ctn_model *const m = model_with(STILL, "", 0, true, "type: velocity, kd: 0.02, target: [0, 0, 90]");
    const ctn_batch_config cfg = config_of(implicit[_i].method, implicit[_i].number, 0.1);
    ctn_batch *const b = batch_with(m, &cfg);
    double q[4], v[3], before = 0;
    for (int k = 0; k < 8; k++) {
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, q, v);
        ck_assert_msg(v[2] > before && fabs(v[0]) + fabs(v[1]) < 1e-9, "step %d: %g after %g rad/s", k, v[2], before);
        before = v[2];
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// No step changes the angular momentum by more than the effort lets it.
START_TEST(effort_is_the_most)
{
    for (int own = 0; own < 2; own++) {
        ctn_model *const m = model_with(STILL, own ? "" : ", effort: 3", 0, true,
                                        own ? "type: position, kp: 1e5, kd: 1e3, target: [1, 1, -2], effort: 3"
                                            : "type: position, kp: 1e5, kd: 1e3, target: [1, 1, -2]");
        const ctn_batch_config cfg = config_of(implicit[_i].method, implicit[_i].number, _i < 2 ? 0.001 : 0.02);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[4], v[3], before[3] = {0}, most = 0;
        for (int k = 0; k < lround(2.4 / cfg.dt); k++) {
            ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, q, v);
            // order 2 brakes what spins. About one axis, so that body axes are as good as those of the world
            most =
                fmax(most, 0.4 * sqrt(pow(v[0] - before[0], 2) + pow(v[1] - before[1], 2) + pow(v[2] - before[2], 2)) / cfg.dt);
            memcpy(before, v, sizeof v);
        }
        ck_assert_msg(most <= 3 * (_i < 2 ? 1.04 : 1.001) && most > 2.9, "%g N m", most);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// A servo finds its target from any side, and by the shorter way.
START_TEST(from_any_side)
{
    FOR_SEEDS(seed, 12)
    {
        rng r = {seed};
        double target[4], q[4], v[3] = {0};
        char motor[300];
        rng_quaternion(&r, target), rng_quaternion(&r, q);
        const double kp = pow(10, rng_uniform(&r, 0, 4));
        snprintf(motor, sizeof motor, "type: position, kp: %g, kd: %g, target: [%.17g, %.17g, %.17g, %.17g]%s", kp,
                 kp * rng_uniform(&r, 0.3, 3), target[0], target[1], target[2], target[3], seed % 2 ? ", effort: 30" : "");
        ctn_model *const m = model_with(STILL, "", 0.1, false, motor);
        for (int h = 0; h < 2; h++) {
            const ctn_batch_config cfg = config_of(implicit[_i].method, implicit[_i].number, h ? 0.1 : 0.01);
            ctn_batch *const b = batch_with(m, &cfg);
            ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, (int)lround(100 / cfg.dt), NULL, NULL), CTN_OK);
            double at[4];
            ctn_batch_state(b, at, NULL);
            ck_assert_msg(coordinate_distance(m, at, target) < 1e-6, "seed %llu, dt %g: off by %g", (unsigned long long)seed,
                          cfg.dt, coordinate_distance(m, at, target));
            ctn_batch_free(b);
        }
        ctn_model_free(m);
    }
}
END_TEST

// ---- energy

#define TREE                                                                                                                     \
    "catena: 1\ngravity: [0, 0, 0]\nlinks:\n"                                                                                    \
    "  - {name: a, joint: ball, mass: 1, com: [0.2, 0, 0], inertia: [0.01, 0.02, 0.03, 0, 0, 0]}\n"                              \
    "  - {name: b, parent: a, position: [0.4, 0, 0], joint: ball, mass: 0.7, com: [0, 0.2, 0], inertia: [0.02, 0.01, 0.02, 0, "  \
    "0, 0]}\n"                                                                                                                   \
    "  - {name: c, parent: b, position: [0, 0.4, 0], joint: {type: revolute, axis: [1, 0, 1]}, mass: 0.4, com: [0, 0.1, 0.1], "  \
    "inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\nmotors:\n"

/// From any spin, with targets at rest, no step of order 2 ends with more energy than it began with; several stages are off by
/// their error.
START_TEST(energy_never_rises)
{
    FOR_SEEDS(seed, 12)
    {
        rng r = {seed};
        char text[2000];
        const double kp = pow(10, rng_uniform(&r, 0, 6)), kd = rng_uniform(&r, 0, 0.3) * sqrt(kp);
        int n = snprintf(text, sizeof text, TREE);
        for (int k = 0; k < 2; k++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - {joint: %c, type: position, kp: %.17g, kd: %.17g, target: [%g, %g, %g]%s}\n", 'a' + k, kp, kd,
                          rng_uniform(&r, -2, 2), rng_uniform(&r, -1, 1), rng_uniform(&r, -1, 1), seed % 2 ? ", effort: 3" : "");
        ctn_model *const m = model_of(text);
        const ctn_batch_config cfg = config_of(implicit[_i].method, implicit[_i].number, seed % 3 ? 0.03 : 0.1);
        ctn_batch *const b = batch_with(m, &cfg);
        double q[9], v[7], first = 0;
        rng_quaternion(&r, q), rng_quaternion(&r, q + 4), q[8] = 1;
        for (int k = 0; k < 7; k++) v[k] = rng_uniform(&r, -6, 6);
        ctn_batch_set_state(b, q, v, 0, NULL);
        for (int k = 0; k < 100; k++) {
            ctn_step_stats s;
            ctn_batch_step(b, 1, &s, NULL);
            if (k == 0) first = s.energy_before;
            const double part = cfg.method == CTN_ALPHA ? 0.3 : _i > 1 ? 1e-2 : 1e-9;
            ck_assert_msg(s.energy_after <= s.energy_before + part * first, "seed %llu, step %d: from %.12g to %.12g J",
                          (unsigned long long)seed, k, s.energy_before, s.energy_after);
            ck_assert_msg(s.dissipated >= -1e-12 * first && fabs(s.work) <= 1e-12 * first && s.energy_after <= first * (1 + part),
                          "seed %llu, step %d: dissipated %g, work %g", (unsigned long long)seed, k, s.dissipated, s.work);
        }
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

static const char *const moving[] = {"  - {joint: a, type: position, kp: 30, kd: 1, target: [{sinusoid: {mean: 0.2, amplitude: "
                                     "0.8, frequency: 0.7}}, 0.3, {spline: {times: [0, 0.4, 1], "
                                     "values: [0, 1, -0.5]}}], effort: 9}\n",
                                     "  - {joint: b, type: velocity, kd: 0.4, target: [{sinusoid: {amplitude: 3, frequency: "
                                     "0.5}}, 1, 0], feedforward: [0, {sinusoid: {amplitude: 1, "
                                     "frequency: 0.9}}, 0.3]}\n",
                                     "  - {joint: c, type: torque, target: 0.2}\n"};

static ctn_model *moving_tree(void)
{
    char text[3000];
    snprintf(text, sizeof text, TREE "%s%s%s", moving[0], moving[1], moving[2]);
    return model_of(text);
}

/// What goes through motors is the integral of their powers, by Simpson's rule; and the books balance, with targets that move.
START_TEST(ledger)
{
    enum { STEPS = 2000 };
    ctn_model *const m = moving_tree();
    double q[9] = {1, 0, 0, 0, 0.6, 0, 0.8, 0, 0.3}, v[7] = {1, -2, 0.5, 2, 1, 0, -1}, f[7], given = 0;
    const ctn_batch_config cfg = config_of(CTN_DOP853, 2, 1.0 / STEPS);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    ctn_step_stats sum, s;
    for (int n = 0; n <= STEPS; n++) {
        if (n) ctn_batch_step(b, 1, n == 1 ? &sum : &s, NULL);
        if (n > 1) ctn_step_stats_add(&sum, &s);
        ctn_batch_state(b, q, v);
        ctn_dynamics_set_time(dyn, ctn_batch_time(b, 0));
        ctn_passive(dyn, 1, q, v, f);
        for (int k = 0; k < 7; k++) given += cfg.dt / 3 * (n == 0 || n == STEPS ? 1 : n % 2 ? 4 : 2) * f[k] * v[k];
    }
    const double through = sum.work - sum.dissipated - (sum.spring_after - sum.spring_before);
    const double scale_ = fabs(sum.work) + sum.dissipated + sum.kinetic_before + fabs(sum.spring_before);
    ck_assert_msg(fabs(through - given) < 1e-6 * scale_, "%.12g J, by the powers %.12g", through, given);
    ck_assert_msg(fabs(sum.created) < 1e-6 * scale_ && sum.work > 0.1 && sum.dissipated > 0.1,
                  "created %g, work %g, dissipated %g", sum.created, sum.work, sum.dissipated);
    ctn_dynamics_free(dyn), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Order 2 and the others keep the same books, to their order.
START_TEST(books)
{
    static const struct {
        ctn_method method;
        int number;
        double dt, error;
    } ways[] = {{CTN_COLLOCATION, 2, 0.0005, 0.03},
                {CTN_ALPHA, 0, 0.002, 3e-3},
                {CTN_RADAU, 2, 0.004, 1e-4},
                {CTN_RADAU, 3, 0.01, 1e-4},
                {CTN_RK4, 0, 0.002, 1e-5}};
    ctn_model *const m = moving_tree();
    const double q[9] = {1, 0, 0, 0, 0.6, 0, 0.8, 0, 0.3}, v[7] = {1, -2, 0.5, 2, 1, 0, -1};
    double work[2], dissipated[2];
    for (int k = 0; k < 2; k++) {
        const ctn_batch_config cfg =
            k ? config_of(CTN_DOP853, 0, 0.001) : config_of(ways[_i].method, ways[_i].number, ways[_i].dt);
        ctn_batch *const b = batch_with(m, &cfg);
        ctn_step_stats s;
        ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_step(b, (int)lround(1 / cfg.dt), &s, NULL);
        work[k] = s.work, dissipated[k] = s.dissipated;
        ctn_batch_free(b);
    }
    ck_assert_msg(fabs(work[0] - work[1]) < ways[_i].error * work[1] &&
                      fabs(dissipated[0] - dissipated[1]) < ways[_i].error * dissipated[1],
                  "work %g of %g, dissipated %g of %g", work[0], work[1], dissipated[0], dissipated[1]);
    ctn_model_free(m);
}
END_TEST

/// Servos without kd are springs: the variational method keeps their energy.
START_TEST(variational_keeps_energy)
{
    ctn_model *const m = model_with("", "", 0.3, false, "type: position, kp: 30, target: [0.5, 0.2, -0.3]");
    const ctn_batch_config cfg = config_of(CTN_VARIATIONAL, 2 + 2 * _i, 0.005);
    ctn_batch *const b = batch_with(m, &cfg);
    ctn_step_stats s;
    ctn_batch_step(b, 20000, &s, NULL);
    ck_assert_msg(s.energy_max - s.energy_min < 0.03 && fabs(s.created) < 0.02 && s.work == 0, "between %g and %g J, created %g",
                  s.energy_min, s.energy_max, s.created);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- targets that move

/// The angular velocity of a target is that of its turn.
START_TEST(rate_of_a_target)
{
    FOR_ALL_SEEDS(seed, 200)
    {
        rng r = {seed};
        const vec3 u = random_vector(&r, 3), rate = random_vector(&r, 2), w = exp_velocity(u, rate);
        const double e = 1e-5;
        const quat back = quat_exp(add_scaled(u, rate, -e)), ahead = quat_exp(add_scaled(u, rate, e));
        const vec3 d = scale(quat_log(quat_mul(quat_conjugate(back), ahead)), 1 / (2 * e));
        ck_assert_msg(size3(sub(d, w)) < 1e-8, "seed %llu: off by %g", (unsigned long long)seed, size3(sub(d, w)));
    }
}
END_TEST

/// Motors on balls, and targets that move, cost no order.
START_TEST(order)
{
    static const struct {
        ctn_method method;
        int number;
        double dt, order;
    } ways[] = {{CTN_COLLOCATION, 2, 0.001, 1}, {CTN_ALPHA, 0, 0.01, 2},         {CTN_RADAU, 2, 0.02, 3},
                {CTN_RADAU, 3, 0.02, 5},        {CTN_RK4, 0, 0.01, 4},           {CTN_COLLOCATION, 3, 0.01, 2},
                {CTN_COLLOCATION, 4, 0.02, 3},  {CTN_SEMI_IMPLICIT, 0, 0.001, 1}};
    char text[3000];
    snprintf(text, sizeof text, TREE "%s%s%s",
             "  - {joint: a, type: position, kp: 12, kd: 1, target: [{sinusoid: {mean: 0.2, amplitude: 0.8, frequency: 0.7}}, "
             "0.3, 0]}\n",
             "  - {joint: b, type: velocity, kd: 0.4, target: [{sinusoid: {amplitude: 3, frequency: 0.5}}, 1, 0]}\n",
             "  - {joint: c, type: torque, target: 0.1}\n");
    ctn_model *const m = model_of(text);
    const double q[9] = {1, 0, 0, 0, 0.6, 0, 0.8, 0, 0.3}, v[7] = {1, -2, 0.5, 2, 1, 0, -1};
    double exact[9], error[2];
    for (int k = -1; k < 2; k++) {
        const ctn_batch_config cfg =
            k < 0 ? config_of(CTN_DOP853, 0, 0.0025) : config_of(ways[_i].method, ways[_i].number, ways[_i].dt / (1 << k));
        ctn_batch *const b = batch_with(m, &cfg);
        double x[9];
        ctn_batch_set_state(b, q, v, 0.3, NULL);
        ck_assert_int_eq(ctn_batch_step(b, (int)lround(0.4 / cfg.dt), NULL, NULL), CTN_OK);
        ctn_batch_state(b, k < 0 ? exact : x, NULL);
        if (k >= 0) error[k] = coordinate_distance(m, x, exact);
        ctn_batch_free(b);
    }
    const double found = log2(error[0] / error[1]);
    ck_assert_msg(found > ways[_i].order - 0.4, "%s: of order %.2f, not %g: off by %g, then %g", ctn_method_name(ways[_i].method),
                  found, ways[_i].order, error[0], error[1]);
    ctn_model_free(m);
}
END_TEST

/// A stiff servo goes with its target, at the rate at which that turns.
START_TEST(follows)
{
    ctn_model *const m =
        model_with(STILL, "", 0, false,
                   "type: position, kp: 1e6, kd: 1e4, target: [{spline: {times: [0, 1, 2], values: [0, 2.5, -1]}}, {sinusoid: "
                   "{amplitude: 1, frequency: 0.5}}, 0.4]");
    const ctn_batch_config cfg = config_of(CTN_RADAU, 3, 0.02);
    ctn_batch *const b = batch_with(m, &cfg);
    const double at_start[4] = {cos(0.2), 0, 0, sin(0.2)};
    double v[3] = {0}, q[4];
    ctn_batch_set_state(b, at_start, v, 0, NULL);
    for (int k = 1; k <= 100; k++) {
        ctn_batch_step(b, 1, NULL, NULL), ctn_batch_state(b, q, v);
        const double t = cfg.dt * k;
        if (k != 50) continue;  // at a knot the spline is what it goes through
        const quat p = quat_exp(vec(2.5, sin(M_PI * t), 0.4));
        const double want[4] = {p.w, p.x, p.y, p.z};
        ck_assert_msg(coordinate_distance(m, q, want) < 1e-4, "off by %g", coordinate_distance(m, q, want));
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- by world, sensors, scenes

/// Worlds have targets, spins and torques of their own.
START_TEST(targets_of_worlds)
{
    enum { WORLDS = 5 };
    ctn_model *const m = model_with(STILL, "", 0.2, false, "type: position, kp: 50, kd: 8, target: [0.1, 0.2, 0.3]");
    const ctn_parameter list[] = {{CTN_MOTOR_ROTATION, 0}, {CTN_MOTOR_ROTATION, 2}, {CTN_MOTOR_TORQUE, 1}, {CTN_MOTOR_EFFORT, 0}};
    ctn_batch_config cfg = config_of(CTN_RADAU, 2, 0.02);
    cfg.worlds = WORLDS, cfg.parameters = list, cfg.parameter_count = 4;
    ctn_batch *const b = batch_with(m, &cfg);
    double values[4 * WORLDS], q[4 * WORLDS], v[3 * WORLDS], was;
    ck_assert(ctn_model_parameter(m, list[1], &was, NULL) == CTN_OK && was == 0.3);
    for (int w = 0; w < WORLDS; w++) {
        double *const x = values + 4 * w;
        x[0] = 0.2 * w - 0.5, x[1] = 0.1 * w, x[2] = w == 2 ? 1 : 0, x[3] = w == 3 ? 0 : INFINITY;
    }
    ck_assert_int_eq(ctn_batch_set_parameters(b, values, NULL), CTN_OK);
    ctn_batch_step(b, 2000, NULL, NULL);
    ctn_batch_state(b, q, v);
    for (int w = 0; w < WORLDS; w++) {
        const quat p = quat_exp(vec(values[4 * w], 0.2, values[4 * w + 1])), x = quat_load(q + 4 * w);
        const vec3 off = quat_log(quat_mul(quat_conjugate(x), p));
        if (w == 3) ck_assert_msg(q[4 * w] == 1, "world 3 has moved");
        else if (w == 2)
            ck_assert_msg(fabs(2 * sin(off.y / 2) + 1. / 50) < 1e-9 && fabs(off.x) + fabs(off.z) < 1e-9, "held off by %g", off.y);
        else ck_assert_msg(size3(off) < 1e-9, "world %d: off by %g", w, size3(off));
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// The sensor of a motor's effort says what the joint gets.
START_TEST(sensed)
{
    char text[2000];
    snprintf(text, sizeof text,
             TREE "%s%s%ssensors: [{name: all, type: motor_effort, joint: a}, {name: one, type: motor_effort, joint: a, dof: 2}, "
                  "{name: force, type: "
                  "joint_force, joint: a}]\n",
             "  - {joint: a, type: position, kp: 40, kd: 1, target: [0.4, 1, 0.2], velocity_target: [1, 0, 0], effort: 4}\n", "",
             "");
    ctn_model *const m = model_of(text);
    const double q[9] = {1, 0, 0, 0, 0.6, 0, 0.8, 0, 0.3}, v[7] = {1, -2, 0.5, 2, 1, 0, -1};
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double f[7], said[7];
    char name[40];
    ck_assert_int_eq(ctn_model_sensor_numbers(m), 7);
    ctn_passive(dyn, 1, q, v, f), ctn_sensors(dyn, 1, q, v, NULL, said);
    NEAR(said, 1e-14, f[0], f[1], f[2], f[2], f[0], f[1], f[2]);
    ck_assert_msg(fabs(sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) - 4) < 0.05, "the effort is not reached");
    ck_assert_str_eq(ctn_sensor_number(m, 1, name, sizeof name), "N m");
    ck_assert_str_eq(name, "sensor.all.wy");
    ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

static const struct {
    ctn_parameter of;
    const char *says;
} not_there[] = {
    {{CTN_MOTOR_TARGET, 0},
     "motor_target: motors[0] is on a ball joint, and has motor_rotation, motor_spin and motor_torque instead"},
    {{CTN_MOTOR_ROTATION, 0}, "motor_rotation: motors[0] is of the type torque, which has none"},
    {{CTN_MOTOR_KD, 0}, "motor_kd: motors[0] is of the type torque, which has none"},
    {{CTN_MOTOR_TORQUE, 6}, "motor_torque has the indices 0 to 5, found 6"},
    {{CTN_MOTOR_TORQUE, 4}, "motor_torque: motors[1] is on no ball joint, and has motor_target and its like instead"},
};

START_TEST(no_such_parameter)
{
    ctn_model *const m =
        model_of(LINKS A "  - {name: b, joint: ball, " MASS "}\nmotors: [{joint: b, type: torque}, {joint: a, type: torque}]\n");
    ctn_error err;
    double value;
    ck_assert_int_eq(ctn_model_parameter(m, not_there[_i].of, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, not_there[_i].says), "%s", err.message);
    ctn_model_free(m);
}
END_TEST

/// All keys, units, a rotor, and both ways to write an orientation.
START_TEST(all_keys)
{
    ctn_model *const m = model_of(
        LINKS "  - {name: a, joint: {type: ball, effort: 7, armature: 0.5}, " MASS "}\n"
              "  - {name: b, joint: ball, " MASS "}\nmotors:\n"
              "  - {joint: a, type: position, kp: 5, kd: 2, target: [90 deg, 0, -1], velocity_target: [180 deg/s, 0, 0],\n"
              "     feedforward: [-1, 2, 3], rotor: 0.25}\n"
              "  - {joint: b, type: position, kp: 3, target: [-0.6, 0, 0, 0.8], effort: 9}\n");
    const struct {
        ctn_parameter of;
        double value;
    } wanted[] = {{{CTN_MOTOR_ROTATION, 0}, M_PI / 2}, {{CTN_MOTOR_ROTATION, 2}, -1}, {{CTN_MOTOR_SPIN, 0}, M_PI},
                  {{CTN_MOTOR_TORQUE, 1}, 2},          {{CTN_MOTOR_KP, 0}, 5},        {{CTN_MOTOR_KD, 0}, 2},
                  {{CTN_MOTOR_EFFORT, 0}, 7},          {{CTN_MOTOR_EFFORT, 1}, 9},    {{CTN_ARMATURE, 0}, 0.75},
                  {{CTN_MOTOR_ROTATION, 3}, 0},        {{CTN_MOTOR_ROTATION, 4}, 0},  {{CTN_MOTOR_ROTATION, 5}, -2 * acos(0.6)}};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        double value;
        ctn_error err;
        ck_assert_msg(ctn_model_parameter(m, wanted[k].of, &value, &err) == CTN_OK, "%s", err.message);
        ck_assert_msg(fabs(value - wanted[k].value) < 1e-15, "%zu: %.17g, not %.17g", k, value, wanted[k].value);
    }
    ctn_model_free(m);
}
END_TEST

/// Rotations that are drawn: three numbers for each.
START_TEST(drawn)
{
    ctn_scene *const scene = parse(
        LINKS
        "  - {name: a, joint: ball, " MASS "}\n  - {name: b, joint: ball, " MASS "}\n"
        "motors: [{joint: b, type: torque}, {joint: a, type: position, kp: 1}]\n"
        "sample: {parameters: {motor_rotation: {a: {uniform: [-90 deg, 90 deg]}}, motor_torque: {all: {grid: [0, 1, 2]}}}}\n");
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    ctn_parameter list[9];
    double x[9], y[9];
    ck_assert_int_eq(ctn_scene_parameters(scene, m, list), 9);
    for (int k = 0; k < 3; k++) ck_assert(list[k].kind == CTN_MOTOR_ROTATION && list[k].index == 3 + k);
    for (int k = 0; k < 6; k++) ck_assert(list[3 + k].kind == CTN_MOTOR_TORQUE && list[3 + k].index == k);
    ctn_sample_parameters(scene, m, 1, 0, 9, x), ctn_sample_parameters(scene, m, 1, 5, 9, y);
    for (int k = 0; k < 3; k++) ck_assert(fabs(x[k]) < M_PI / 2 && x[k] != y[k] && x[k] != x[(k + 1) % 3]);
    EXACT(x + 3, 0, 0, 0, 0, 0, 0);
    EXACT(y + 3, 0, 0, 0, 1, 0, 1);  // 5 in binary: the grids go by links, of which a is the first
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

#define BALL "  - {name: b, joint: ball, " MASS "}\n"
static const struct {
    const char *motor, *says;
    int column;
} wrong[] = {
    {"{joint: b, dof: 1, type: torque}", "motors[0].dof: a motor turns a ball joint as a whole; leave it out", 22},
    {"{joint: b, type: torque, gear: 2}", "motors[0].gear: the motor of a ball joint has none", 36},
    {"{joint: b, type: position, kp: 1, damping_ratio: 1}",
     "motors[0].damping_ratio: the motor of a ball joint has none: it meets an inertia about each axis; give it `kd`", 60},
    {"{joint: b, type: position, kp: 1, target: 2}",
     "motors[0].target: expected a list of 3 (a rotation vector) or 4 (a quaternion), found '2'", 53},
    {"{joint: b, type: position, kp: 1, target: [1, 2]}",
     "motors[0].target: expected a list of 3 (a rotation vector) or 4 (a quaternion), found a list", 53},
    {"{joint: b, type: position, kp: 1, target: [1, 2, x]}", "motors[0].target[2]: expected a number, found 'x'", 60},
    {"{joint: b, type: position, kp: 1, target: [0, 0, 0, 0]}", "motors[0].target: expected a unit quaternion", 53},
    {"{joint: b, type: velocity, kd: 1, target: [1, 2, 3, 4]}", "motors[0].target: expected a list of 3, found a list", 53},
    {"{joint: b, type: torque, effort: [1, 2, 3]}", "motors[0].effort: expected a number >= 0, found a list", 44},
};

START_TEST(mistakes)
{
    char text[600];
    ctn_error err = {0};
    snprintf(text, sizeof text, LINKS BALL "motors: [%s]\n", wrong[_i].motor);
    ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
    ck_assert_msg(has_error(err.message, "t.yaml", 4, 0, wrong[_i].says, false), "%s", err.message);
}
END_TEST

/// A servo that an explicit method cannot follow is a warning, at its gain.
START_TEST(too_stiff)
{
    char text[600];
    snprintf(text, sizeof text, BODY "integrator: {method: rk4, dt: 0.01}\n", "", "", 0., "0.4, 0.4",
             _i ? "type: velocity, kd: 1e4" : "type: position, kp: 1e6");
    ctn_scene *const scene = parse(text);
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    const ctn_batch_config cfg = ctn_scene_config(scene);
    ck_assert(warn_of_stiffness(scene, m, &cfg));
    ck_assert_msg(strstr(ctn_scene_warnings(scene),
                         _i ? "motors[0].kd: the motor of 'a' (stops what it moves in 4e-05 s) is too stiff for rk4"
                            : "motors[0].kp: the motor of 'a' (1.58e+03 rad/s with what it moves) is too stiff for rk4"),
                  "%s", ctn_scene_warnings(scene));
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("ball_motors");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, potential_of_a_step);
    tcase_add_test(all, one_spring);
    tcase_add_test(all, stored);
    tcase_add_loop_test(all, sag, 0, IMPLICIT);
    tcase_add_loop_test(all, spin, 0, 5);
    tcase_add_loop_test(all, beyond_half_a_turn, 0, IMPLICIT);
    tcase_add_loop_test(all, effort_is_the_most, 0, IMPLICIT);
    tcase_add_loop_test(all, from_any_side, 0, IMPLICIT);
    tcase_add_loop_test(all, energy_never_rises, 0, IMPLICIT);
    tcase_add_test(all, ledger);
    tcase_add_loop_test(all, books, 0, 5);
    tcase_add_loop_test(all, variational_keeps_energy, 0, 2);
    tcase_add_test(all, rate_of_a_target);
    tcase_add_loop_test(all, order, 0, 8);
    tcase_add_test(all, follows);
    tcase_add_test(all, targets_of_worlds);
    tcase_add_test(all, sensed);
    tcase_add_loop_test(all, no_such_parameter, 0, sizeof not_there / sizeof *not_there);
    tcase_add_test(all, all_keys);
    tcase_add_test(all, drawn);
    tcase_add_loop_test(all, mistakes, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(all, too_stiff, 0, 2);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
