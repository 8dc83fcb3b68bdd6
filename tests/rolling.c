/// Torsional and rolling friction (contact/rolling.h): derivatives of its energy, closed forms of a ball that spins or rolls, what
/// holds a ball on a slope, no energy made, the same bits everywhere, keys of scenes.
#include "tests/kernels.h"

#include "sim/model/model.h"
#include "tests/ground_checks.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"

static const struct {
    ctn_method method;
    int stages;
    double dt;
} ways[] = {{CTN_COLLOCATION, 1, 0.01}, {CTN_ALPHA, 1, 0.01},     {CTN_RADAU, 2, 0.01}, {CTN_RADAU, 3, 0.02},
            {CTN_SEMI_IMPLICIT, 1, 1e-4}, {CTN_VARIATIONAL, 1, 1e-4}, {CTN_RK4, 1, 2e-4}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt;
    if (cfg.method == CTN_RADAU) cfg.stages = ways[way].stages;
    if (cfg.method == CTN_COLLOCATION || cfg.method == CTN_VARIATIONAL) cfg.order = 2;
    return cfg;
}

static vec3 random_vector(rng *r, double most)
{
    const double x = rng_uniform(r, -most, most), y = rng_uniform(r, -most, most), z = rng_uniform(r, -most, most);
    return vec(x, y, z);
}

/// The rotation by the vector a.
static mat3 rotation_by(vec3 a)
{
    const double angle = sqrt(dot(a, a)), s = angle > 0 ? sin(angle) / angle : 1, c = angle > 0 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    const vec3 e[3] = {vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)};
    vec3 to[3];
    for (int k = 0; k < 3; k++) to[k] = add_scaled(add_scaled(e[k], cross(a, e[k]), s), cross(a, cross(a, e[k])), c);
    return (mat3){to[0], to[1], to[2]};
}

/// The energy of a step whose body has turned by Q, and then by d.
static double energy_after(const lane_model *m, const lane_point_load *s, mat3 Q, vec3 z, vec3 n, vec3 d, double lag)
{
    const turned_touch t = turned_at(mmul(rotation_by(d), Q), z, zero3());
    return turn_in_step(m, s, &t, n, 100, lag).E;
}

/// Gradient and second derivative by turns, where the law has no kink: in all four states of sticking and sliding.
START_TEST(derivatives)
{
    rng r = {7};
    int seen[4] = {0};
    for (int trial = 0; trial < 400; trial++) {
        lane_model m = {.relaxation = trial % 2 ? 0 : 0.02};
        lane_point_load s = {.flags = LOAD_TOUCHES, .rolls = 1, .bears = 50};
        s.torsional = rng_uniform(&r, 0.001, 0.05), s.rolling = rng_uniform(&r, 0.001, 0.05);
        const double lag = rng_uniform(&r, 10, 100), size = trial % 3 ? 2 : 0.003;
        const vec3 d = random_vector(&r, 1), turn = random_vector(&r, size), z = random_vector(&r, 0.003);
        vec3 n = random_vector(&r, 1);
        n = scale(n, 1 / sqrt(dot(n, n)));
        const mat3 Q = rotation_by(turn);
        const turned_touch t = turned_at(Q, z, zero3());
        const turn_law F = turn_in_step(&m, &s, &t, n, 100, lag);
        body_load L = no_load(true), safe = no_load(false);
        add_turn_friction(&L, &m, &s, &t, n, 100, lag), add_turn_friction(&safe, &m, &s, &t, n, 100, lag);
        seen[(F.k[0] > 0) + 2 * (F.k[1] > 0)]++;
        const double e = size > 1 ? 1e-3 : 1e-5, first = dot(L.w.n, d), second = dot(smul(L.P.A, d), d);
        double E[5], k[3];
        for (int i = 0; i < 5; i++) E[i] = energy_after(&m, &s, Q, z, n, scale(d, (i - 2) * e), lag);
        bool kink = false;  // between the ends of the differences
        for (int i = 0; i < 5; i++) {
            const turned_touch near = turned_at(mmul(rotation_by(scale(d, (i - 2) * e)), Q), z, zero3());
            const turn_law G = turn_in_step(&m, &s, &near, n, 100, lag);
            for (int j = 0; j < 3; j++) k[j] = G.k[j];
            kink = kink || (k[0] > 0) != (F.k[0] > 0) || (k[1] > 0) != (F.k[1] > 0) || dot(G.g, n) * dot(F.g, n) < 0;
        }
        if (kink) continue;
        const double slope = (E[0] - 8 * E[1] + 8 * E[3] - E[4]) / (12 * e);
        const double curve = (-E[0] + 16 * E[1] - 30 * E[2] + 16 * E[3] - E[4]) / (12 * e * e);
        const double most = F.k[0] + F.k[1] + F.k[2] + sqrt(dot(F.g, F.g));
        ck_assert_msg(fabs(first - slope) < 1e-7 * most, "trial %d: gradient %.12g, %.12g by differences", trial, first, slope);
        ck_assert_msg(fabs(second - curve) < 1e-4 * most, "trial %d: %.9g, %.9g by differences", trial, second, curve);
        ck_assert(dot(smul(safe.P.A, d), d) >= 0);
    }
    for (int i = 0; i < 4; i++) ck_assert_msg(seen[i] > 10, "state %d: %d times", i, seen[i]);
}
END_TEST

/// A ball of 0.1 m and 2 kg, I = 0.008 kg m^2, on a ground that slopes down along x.
static ctn_model *ball_on(double angle, const char *law)
{
    char text[600];
    snprintf(text, sizeof text,
             "catena: 1\nground: {normal: [%.17g, 0, %.17g]}\ncontact: {friction: 0.9, depth: 0.001, %s}\nlinks:\n"
             "  - {name: ball, joint: free, mass: 2, inertia: [0.008, 0.008, 0.008, 0, 0, 0],\n"
             "     shapes: [{type: sphere, radius: 0.1}]}\n",
             sin(angle), cos(angle), law);
    return model_of(text);
}

/// A batch of it that begins on the ground at rest depth, with these velocities.
static ctn_batch *ball_batch(const ctn_model *m, int way, double angle, const double *v)
{
    const ctn_batch_config cfg = config_of(way);
    ctn_batch *const b = batch_with(m, &cfg);
    const double up = 0.1 - 0.001 * cos(angle), q[7] = {up * sin(angle), 0, up * cos(angle), 1, 0, 0, 0};
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    return b;
}

/// A ball that spins on the spot is slowed by torsional m g / I, and then stands for good.
START_TEST(spin)
{
    ctn_model *const m = ball_on(0, "torsional: 0.001");
    const double v[6] = {0, 0, 0, 0, 0, 4};
    ctn_batch *const b = ball_batch(m, _i, 0, v);
    double first[6], later[6], q[7], end[7];
    const int n = (int)lround(0.4 / ways[_i].dt);
    ctn_batch_step(b, n / 4, NULL, NULL), ctn_batch_state(b, NULL, first);
    ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, NULL, later);
    const double got = (later[5] - first[5]) / (n * ways[_i].dt), want = -0.001 * 2 * 9.81 / 0.008;
    // order 2 brakes what turns by the cube of the angle of a step
    ck_assert_msg(fabs(got - want) < (_i == 0 ? 0.2 : _i == 1 ? 4e-3 : 1e-3) * fabs(want), "%g rad/s2, not %g", got, want);
    double told[CTN_CONTACT_NUMBERS];  // the torque is that of friction as it is told
    ctn_batch_contacts(b, told, NULL);
    ck_assert_msg(fabs(told[10] + 0.001 * told[5]) < 1e-12 && told[5] > 19 && fabs(told[8]) + fabs(told[9]) < 1e-12,
                  "a torque of %g N m under %g N", told[10], told[5]);
    ctn_step_stats s;
    ctn_batch_step(b, 16 * n, &s, NULL), ctn_batch_state(b, q, NULL);
    ck_assert(!s.frozen && s.dissipated > 0);
    ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, end, later);
    ck_assert_msg(fabs(later[5]) < 1e-7 && fabs(end[6] - q[6]) < 1e-8, "spins at %g rad/s, has turned by %g", later[5], end[6] - q[6]);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A ball that rolls is slowed by g rolling/r / (1 + I/(m r^2)), and then stands for good.
START_TEST(roll)
{
    ctn_model *const m = ball_on(0, "rolling: 0.005");
    const double v[6] = {0.4, 0, 0, 0, 4, 0};
    ctn_batch *const b = ball_batch(m, _i, 0, v);
    double first[6], later[6], q[7], end[7];
    const int n = (int)lround(0.4 / ways[_i].dt);
    ctn_batch_step(b, n / 4, NULL, NULL), ctn_batch_state(b, NULL, first);
    ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, NULL, later);
    // it rolls about a middle that is `depth` nearer to the ground, and the brake acts on the angle
    const double got = (later[0] - first[0]) / (n * ways[_i].dt), want = -9.81 * 0.005 / 0.1 / 1.4;
    ck_assert_msg(fabs(got - want) < (_i == 0 ? 0.08 : 0.02) * fabs(want), "%g m/s2, not %g", got, want);
    ctn_step_stats s;
    ctn_batch_step(b, 12 * n, &s, NULL), ctn_batch_state(b, q, NULL);
    ck_assert(!s.frozen && s.dissipated > 0);
    ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, end, later);
    ck_assert_msg(fabs(later[0]) < 1e-6 && fabs(end[0] - q[0]) < 1e-7, "rolls at %g m/s, by %g m", later[0], end[0] - q[0]);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// On a slope a ball stays where tan(angle) < rolling/r, without creep, and beyond it rolls down, by the difference.
START_TEST(slope)
{
    for (int rolls = 0; rolls < 2; rolls++) {
        const double angle = 0.08, rolling = rolls ? 0.004 : 0.012;
        char law[60];
        snprintf(law, sizeof law, "rolling: %g", rolling);
        ctn_model *const m = ball_on(angle, law);
        const double still[6] = {0};
        ctn_batch *const b = ball_batch(m, _i, angle, still);
        double q[7], end[7], first[6], later[6];
        const int n = (int)lround(0.5 / ways[_i].dt);
        ctn_batch_step(b, 16 * n * !rolls + n / 5, NULL, NULL), ctn_batch_state(b, q, first);
        ctn_batch_step(b, n, NULL, NULL), ctn_batch_state(b, end, later);
        const double way = (end[0] - q[0]) * cos(angle) - (end[2] - q[2]) * sin(angle);
        const double along = ((later[0] - first[0]) * cos(angle) - (later[2] - first[2]) * sin(angle)) / (n * ways[_i].dt);
        const double want = 9.81 * (sin(angle) - cos(angle) * rolling / 0.1) / 1.4;
        if (rolls) ck_assert_msg(fabs(along - want) < 0.05 * want, "%g m/s2, not %g", along, want);
        else ck_assert_msg(fabs(way) < 1e-9, "creeps by %g m", way);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

START_TEST(no_energy_made)
{
    static const double steps[] = {1 / 240., 1 / 60., 0.05};
    long touched = 0, made = 0;
    for (uint64_t seed = 1; seed < 7; seed++) {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_model *const m = seed % 3 ? ground_model(_i, seed, 0, q, v) : obstacle_model(_i, seed, 0, q, v);
        resist_turns(m, seed);
        check_energy_falls(m, steps[seed % 3], 3, q, v, seed, &touched, &made);
        ctn_model_free(m);
    }
    ck_assert_msg(touched > made / 3, "%ld of %ld steps touch", touched, made);
}
END_TEST

START_TEST(same_bits)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    ctn_model *const m = ground_model(GROUND_TREE, 2, 0.05, q, v);
    resist_turns(m, 2);
    ctn_batch_config cfg = config_of(_i);
    if (cfg.dt < 1e-3) cfg.dt = 1e-3;
    check_bits_of_contact(m, cfg, q, v, 0.6, (int)(0.4 / cfg.dt), (int)(0.8 / cfg.dt));
    ctn_model_free(m);
}
END_TEST

START_TEST(keys)
{
    ctn_model *const m = model_of("catena: 1\nground: true\ncontact: {torsional: 0.01, rolling: 0.002}\nlinks:\n"
                                  "  - {name: a, joint: free, density: 100, shapes: [{type: sphere, radius: 0.1},\n"
                                  "     {type: sphere, radius: 0.1, contact: {torsional: 0, rolling: 0}},\n"
                                  "     {type: sphere, radius: 0.1, contact: {rolling: 0.5}}]}\n");
    ck_assert(m->ncontact == 3 && m->nbent == 6 && m->loads[0].rolls && !m->loads[1].rolls && m->loads[2].rolls);
    ck_assert(m->loads[0].torsional == 0.01 && m->loads[0].rolling == 0.002 && m->loads[2].rolling == 0.5);
    ctn_batch_config cfg = config_of(0);
    ctn_error err = {0};
    cfg.parallel = CTN_PARALLEL_LINKS;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_msg(strstr(err.message, "parallel: links takes no torsional or rolling friction"), "%s", err.message);
    ctn_model_free(m);
    static const char *const bad[][2] = {{"torsional: -1", "contact.torsional: expected a number >= 0"},
                                         {"rolling: x", "contact.rolling: expected a number"}};
    for (int k = 0; k < 2; k++) {
        char text[200];
        snprintf(text, sizeof text, "catena: 1\nground: true\ncontact: {%s}\nlinks: [{name: a, joint: fixed}]\n", bad[k][0]);
        ck_assert_ptr_null(ctn_scene_parse(text, strlen(text), "t.yaml", &err));
        ck_assert_msg(strstr(err.message, bad[k][1]), "%s", err.message);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("rolling");
    TCase *const t = tcase_create("rolling");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, derivatives);
    tcase_add_loop_test(t, spin, 0, WAYS);
    tcase_add_loop_test(t, roll, 0, WAYS);
    tcase_add_loop_test(t, slope, 0, WAYS);
    tcase_add_loop_test(t, no_energy_made, 0, GROUND_KINDS);
    tcase_add_loop_test(t, same_bits, 0, WAYS);
    tcase_add_test(t, keys);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
