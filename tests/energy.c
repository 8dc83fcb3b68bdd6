/// The ledger of energy: energy_after - energy_before = work - dissipated + created, for every method.
#include "dynamics/model.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    ctn_method method;
    int number;  // order or stages; 0: none
    int order;   // of accuracy
    double dt;   // of an oscillation of 1 Hz, s: errors are neither rounding nor large
    int steps;   // of forests, in 0.1 s: likewise
} methods[] = {{CTN_EULER, 0, 1, 1e-4, 2000},       {CTN_SEMI_IMPLICIT, 0, 1, 1e-4, 2000},
               {CTN_RK2, 0, 2, 2e-3, 200},          {CTN_RK3, 0, 3, 0.01, 40},
               {CTN_RK4, 0, 4, 5e-3, 40},           {CTN_DOP853, 0, 8, 0.05, 4},
               {CTN_COLLOCATION, 2, 1, 1e-4, 2000}, {CTN_COLLOCATION, 3, 2, 2e-3, 200},
               {CTN_COLLOCATION, 4, 3, 5e-3, 80},   {CTN_COLLOCATION, 5, 4, 0.01, 40},
               {CTN_COLLOCATION, 6, 5, 0.025, 40},  {CTN_RADAU, 1, 1, 1e-4, 2000},
               {CTN_RADAU, 2, 3, 0.01, 40},         {CTN_RADAU, 3, 5, 0.02, 20},
               {CTN_RADAU, 4, 7, 0.05, 8},          {CTN_VARIATIONAL, 2, 2, 2e-3, 200},
               {CTN_ALPHA, 0, 2, 2e-3, 200}};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_batch_config config_of(int k, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = dt, cfg.tolerance = 1e-13;
    if (methods[k].method == CTN_RADAU) cfg.stages = methods[k].number;
    else if (methods[k].number) cfg.order = methods[k].number;
    return cfg;
}

static const char *name_of(int k)
{
    static char name[40];
    snprintf(name, sizeof name, "%s %d", ctn_method_name(methods[k].method), methods[k].number);
    return name;
}

/// A mass of 2 kg on a slider along z.
static ctn_model *slider(const char *gravity, const char *more)
{
    char text[400];
    ctn_error err = {0};
    snprintf(text, sizeof text,
             "catena: 1\ngravity: [0, 0, %s]\nlinks:\n  - {name: mass, joint: {type: prismatic, axis: [0, 0, 1]%s}, mass: 2, "
             "inertia: [0, 0, 0, 0, 0, 0]}\n",
             gravity, more);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "slider", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    ctn_scene_free(scene);
    return m;
}

static ctn_batch *start(const ctn_model *m, const ctn_batch_config *cfg, const double *q, const double *v, const double *tau)
{
    ctn_error err = {0};
    ctn_batch *const b = ctn_batch_create(m, cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
    ctn_batch_set_force(b, tau);
    return b;
}

static double scale_of(const ctn_step_stats *s)
{
    return fabs(s->energy_before) + fabs(s->energy_after) + s->kinetic_before + s->kinetic_after + fabs(s->potential_before) +
           fabs(s->potential_after) + fabs(s->work) + fabs(s->dissipated);
}

/// How far the books are from closing, relative to what is in them.
static double gap(const ctn_step_stats *s)
{
    const double sums = fabs(s->energy_before - (s->kinetic_before + s->potential_before + s->spring_before)) +
                        fabs(s->energy_after - (s->kinetic_after + s->potential_after + s->spring_after)) +
                        fabs(s->energy_after - s->energy_before - (s->work - s->dissipated + s->created));
    return sums / scale_of(s);
}

/// A motor lifts a mass m with the constant force F + m g. With p steps of h the velocity gains F h / m in each, whatever the
/// method. Methods of second and higher order go the way of the parabola and create nothing; those of first order are off by F
/// h^2 / (2 m) in the way of a step, explicit Euler behind and the others ahead, and create that times F.
START_TEST(constant_force)
{
    enum { STEPS = 100 };
    const double h = 0.01, mass = 2, g = 9.81, forces[] = {5, 0, -3}, zero = 0, v0 = 0.7;
    ctn_model *const m = slider("-9.81", "");
    for (int f = 0; f < 3; f++) {
        const double F = forces[f], tau = F + mass * g, T = STEPS * h, one = STEPS * F * F * h * h / (2 * mass);
        const ctn_batch_config cfg = config_of(_i, h);
        ctn_batch *const b = start(m, &cfg, &zero, &v0, &tau);
        ctn_step_stats s;
        double q, v;
        ck_assert_int_eq(ctn_batch_step(b, STEPS, &s, NULL), CTN_OK);
        ctn_batch_state(b, &q, &v);
        const double want = methods[_i].order > 1 ? 0 : methods[_i].method == CTN_EULER ? one : -one;
        const double q1 = v0 * T + F * T * T / (2 * mass) - want / (F != 0 ? F : 1), v1 = v0 + F * T / mass;
        ck_assert_msg(fabs(q - q1) < 1e-10 && fabs(v - v1) < 1e-10, "%s: q %.17g, v %.17g", name_of(_i), q, v);
        ck_assert_msg(fabs(s.work - tau * q1) < 1e-9, "%s: work %.17g, not %.17g", name_of(_i), s.work, tau * q1);
        ck_assert_msg(fabs(s.created - want) < 1e-9, "%s: created %.17g, not %.17g", name_of(_i), s.created, want);
        ck_assert_msg(s.dissipated == 0 && s.spring_before == 0 && s.spring_after == 0, "%s", name_of(_i));
        ck_assert_msg(fabs(s.potential_after - mass * g * q1) < 1e-9 && s.potential_before == 0, "%s", name_of(_i));
        ck_assert_msg(fabs(s.kinetic_after - 0.5 * mass * v1 * v1) < 1e-9, "%s", name_of(_i));
        ck_assert_msg(fabs(s.kinetic_before - 0.5 * mass * v0 * v0) < 1e-15, "%s", name_of(_i));
        ck_assert_msg(gap(&s) < 1e-14, "%s: the books are off by %.3g", name_of(_i), gap(&s));
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A damped mass on a spring, pushed by a constant force: its motion in closed form.
enum { SPRING = 80, DAMPING = 3 };  // N/m, N s/m: 1 Hz, and half an amplitude a second
static const double MASS = 2, REST = 0.1, PUSH = 8, X0 = 0.5, V0 = -1;

static ctn_model *oscillator(void) { return slider("0", ", stiffness: 80, damping: 3, rest: 0.1"); }

static void oscillate(double t, double *x, double *v)
{
    const double middle = REST + PUSH / SPRING, decay = DAMPING / (2 * MASS), w = sqrt(SPRING / MASS - decay * decay);
    const double A = X0 - middle, B = (V0 + decay * A) / w, e = exp(-decay * t), c = cos(w * t), s = sin(w * t);
    *x = middle + e * (A * c + B * s);
    *v = e * ((w * B - decay * A) * c - (w * A + decay * B) * s);
}

static double oscillator_energy(double x, double v) { return 0.5 * MASS * v * v + 0.5 * SPRING * (x - REST) * (x - REST); }

/// Work, what the damper takes, and what the method creates, all converge with its order to what the closed form says.
START_TEST(damped_oscillator)
{
    const double T = 1;
    double x, v, error[3][2];
    ctn_model *const m = oscillator();
    oscillate(T, &x, &v);
    const double work = PUSH * (x - X0), taken = oscillator_energy(X0, V0) + work - oscillator_energy(x, v);
    for (int h = 0; h < 2; h++) {
        const int steps = (int)lrint(T / methods[_i].dt) << h;
        const ctn_batch_config cfg = config_of(_i, T / steps);
        ctn_batch *const b = start(m, &cfg, &X0, &V0, &PUSH);
        ctn_step_stats s;
        ck_assert_int_eq(ctn_batch_step(b, steps, &s, NULL), CTN_OK);
        error[0][h] = fabs(s.work - work), error[1][h] = fabs(s.dissipated - taken), error[2][h] = fabs(s.created);
        ck_assert_msg(gap(&s) < 1e-14, "%s: the books are off by %.3g", name_of(_i), gap(&s));
        ctn_batch_free(b);
    }
    static const char *const what[] = {"work", "dissipated", "created"};
    for (int k = 0; k < 3; k++) {
        const double order = log2(error[k][0] / error[k][1]);
        ck_assert_msg(error[k][0] > 1e-12 && error[k][0] < 0.05 && order > methods[_i].order - 0.6,
                      "%s, %s: order %.2f (errors %.3g, %.3g)", name_of(_i), what[k], order, error[k][0], error[k][1]);
    }
    ctn_model_free(m);
}
END_TEST

/// Radau IIA is algebraically stable: of a linear system's energy it creates nothing in any step, however large.
/// [Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.12]
START_TEST(radau_never_creates)
{
    ctn_model *const m = oscillator();
    for (int stages = 1; stages <= 4; stages++)
        for (double dt = 0.01; dt < 200; dt *= 1.7) {
            ctn_batch_config cfg = ctn_batch_config_default();
            cfg.method = CTN_RADAU, cfg.stages = stages, cfg.dt = dt, cfg.tolerance = 1e-13;
            ctn_batch *const b = start(m, &cfg, &X0, &V0, &PUSH);
            for (int k = 0; k < 20; k++) {
                ctn_step_stats s;
                ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_OK);
                ck_assert_msg(s.created < 1e-12 && s.dissipated >= 0, "%d stages, dt %g, step %d: created %.3g, dissipated %.3g",
                              stages, dt, k, s.created, s.dissipated);
            }
            ctn_batch_free(b);
        }
    ctn_model_free(m);
}
END_TEST

/// A random forest with joint forces that act on it.
typedef struct {
    ctn_model *m;
    int nq, nv;
    double *q, *v, *tau;
} forest;

static forest open_forest(uint64_t seed, const random_options *o)
{
    forest f = {.m = random_model(seed, o)};
    f.nq = ctn_model_nq(f.m), f.nv = ctn_model_nv(f.m);
    f.q = calloc((size_t)f.nq + 1, sizeof *f.q), f.v = calloc((size_t)f.nv + 1, sizeof *f.v);
    f.tau = calloc((size_t)f.nv + 1, sizeof *f.tau);
    rng r = {seed};
    random_state(f.m, &r, f.q, f.v);
    for (int k = 0; k < f.nv; k++) f.v[k] *= 0.3, f.tau[k] = rng_uniform(&r, -1, 1);
    return f;
}

static void close_forest(forest *f)
{
    free(f->q), free(f->v), free(f->tau);
    ctn_model_free(f->m);
}

/// On forests of all joints, balls and rotors included, the ledger agrees with Simpson's rule over powers that are formed from
/// the states of an accurate motion.
START_TEST(powers_of_forests)
{
    FOR_SEEDS(seed, 12)
    {
        enum { STEPS = 400 };
        const random_options o = {.links = 5, .passive = true, .smooth = true, .springs = seed % 2};
        forest f = open_forest(seed, &o);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_DOP853, cfg.dt = 0.1 / STEPS;
        ctn_batch *const b = start(f.m, &cfg, f.q, f.v, f.tau);
        ctn_dynamics *const dyn = ctn_dynamics_create(f.m, NULL, NULL);
        ctn_step_stats sum, s;
        double *const force = calloc((size_t)f.nv + 1, sizeof *force), *const still = calloc((size_t)f.nv + 1, sizeof *still),
                      *const none = calloc((size_t)f.nv + 1, sizeof *none), work = 0, taken = 0;
        ctn_totals first, last;
        ctn_energy_momentum(dyn, 1, f.q, f.v, &first);
        for (int n = 0; n <= STEPS; n++) {
            if (n) ctn_batch_step(b, 1, n == 1 ? &sum : &s, NULL);
            if (n > 1) ctn_step_stats_add(&sum, &s);
            ctn_batch_state(b, f.q, f.v);
            ctn_passive(dyn, 1, f.q, f.v, force), ctn_passive(dyn, 1, f.q, none, still);
            const double weight = cfg.dt / 3 * (n == 0 || n == STEPS ? 1 : n % 2 ? 4 : 2);
            for (int k = 0; k < f.nv; k++) work += weight * f.tau[k] * f.v[k], taken -= weight * (force[k] - still[k]) * f.v[k];
        }
        ctn_energy_momentum(dyn, 1, f.q, f.v, &last);
        const double scale = scale_of(&sum);
        ck_assert_msg(fabs(sum.work - work) < 1e-8 * scale && fabs(sum.dissipated - taken) < 1e-8 * scale && taken > 0,
                      "seed %llu: work %.12g, %.12g, dissipated %.12g, %.12g", (unsigned long long)seed, sum.work, work,
                      sum.dissipated, taken);
        ck_assert_msg(
            fabs(sum.kinetic_before - first.kinetic) < 1e-13 * scale && fabs(sum.kinetic_after - last.kinetic) < 1e-13 * scale &&
                fabs(sum.potential_after - last.potential) < 1e-13 * scale &&
                fabs(sum.spring_before - first.spring) < 1e-13 * scale && fabs(sum.spring_after - last.spring) < 1e-13 * scale,
            "seed %llu: other parts than ctn_energy_momentum's", (unsigned long long)seed);
        ck_assert_msg(fabs(sum.created) < 1e-10 * scale, "seed %llu: created %.3g", (unsigned long long)seed, sum.created);
        free(force), free(still), free(none);
        ctn_dynamics_free(dyn), ctn_batch_free(b), close_forest(&f);
    }
}
END_TEST

/// What a method creates on such forests fades with its order. Collocation of order 4 and more has its order on joints besides
/// balls.
START_TEST(order_on_forests)
{
    double mean = 0;
    int count = 0;
    FOR_ALL_SEEDS(seed, 8)
    {
        const random_options o = {
            .links = 4,
            .passive = true,
            .smooth = true,
            .springs = methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2 ? 0 : (int)(seed % 3),
            .wrenches = methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2 ? 0 : (int)(seed % 4),
            .plain_springs = methods[_i].method == CTN_VARIATIONAL,
            .joints = methods[_i].method == CTN_COLLOCATION && methods[_i].number > 3
                          ? 1u << CTN_REVOLUTE | 1u << CTN_PRISMATIC | 1u << CTN_UNIVERSAL | 1u << CTN_PLANAR
                          : 0};
        const int steps = methods[_i].steps;
        double created[2];
        for (int h = 0; h < 2; h++) {
            forest f = open_forest(seed, &o);
            const ctn_batch_config cfg = config_of(_i, 0.1 / (steps << h));
            ctn_batch *const b = start(f.m, &cfg, f.q, f.v, f.tau);
            ctn_step_stats s;
            ctn_batch_step(b, steps << h, &s, NULL);
            ck_assert_msg(gap(&s) < 1e-12 && !s.fallbacks, "%s, seed %llu: the books are off by %.3g", name_of(_i),
                          (unsigned long long)seed, gap(&s));
            created[h] = fabs(s.created);
            ctn_batch_free(b), close_forest(&f);
        }
        if (created[1] < 1e-11) continue;  // rounding
        mean += log2(created[0] / created[1]), count++;
    }
    ck_assert_msg(count > 3 || getenv("CTN_SEED"), "%s: created something with %d seeds only", name_of(_i), count);
    ck_assert_msg(count < 4 || mean / count > methods[_i].order - 0.4, "%s: order %.2f on average of %d", name_of(_i),
                  mean / count, count);
}
END_TEST

/// Asking for the ledger changes no bit of the motion, and calls add up to one.
START_TEST(asking_changes_nothing)
{
    enum { STEPS = 30, PARTS = 5 };
    FOR_SEEDS(seed, 4)
    {
        const random_options o = {.links = 5, .passive = true};
        for (int adaptive = 0; adaptive < 2; adaptive++) {
            ctn_batch_config cfg = config_of(_i, 0.02);
            cfg.adaptive = adaptive;
            if (adaptive && cfg.method != CTN_DOP853 && cfg.method != CTN_RADAU && cfg.method != CTN_ALPHA) continue;
            forest f = open_forest(seed, &o);
            ctn_batch *const asked = start(f.m, &cfg, f.q, f.v, f.tau), *const silent = start(f.m, &cfg, f.q, f.v, f.tau),
                             *const parted = start(f.m, &cfg, f.q, f.v, f.tau);
            const size_t size = ctn_batch_saved_size(asked);
            char *const a = malloc(size), *const c = malloc(size);
            ctn_step_stats whole, sum, part;
            ctn_batch_step(asked, STEPS, &whole, NULL);
            ctn_batch_step(silent, STEPS, NULL, NULL);
            for (int n = 0; n < PARTS; n++) {
                ctn_batch_step(parted, STEPS / PARTS, n ? &part : &sum, NULL);
                if (n) ctn_step_stats_add(&sum, &part);
            }
            ctn_batch_save(asked, a), ctn_batch_save(silent, c);
            ck_assert_msg(!memcmp(a, c, size), "%s, seed %llu: other bits", name_of(_i), (unsigned long long)seed);
            if (!whole.frozen) {
                const double scale = scale_of(&whole) + fabs(sum.created);
                ck_assert_msg(gap(&whole) < 1e-12 && gap(&sum) < 1e-12, "%s, seed %llu: the books are off by %.3g, %.3g",
                              name_of(_i), (unsigned long long)seed, gap(&whole), gap(&sum));
                ck_assert_msg(fabs(whole.work - sum.work) < 1e-12 * scale &&
                                  fabs(whole.dissipated - sum.dissipated) < 1e-12 * scale &&
                                  fabs(whole.created - sum.created) < 1e-12 * scale && whole.kinetic_after == sum.kinetic_after &&
                                  whole.potential_after == sum.potential_after && whole.spring_after == sum.spring_after &&
                                  whole.kinetic_before == sum.kinetic_before,
                              "%s, seed %llu: parts are not the whole", name_of(_i), (unsigned long long)seed);
                ck_assert(whole.dissipated > 0 && whole.work != 0);
            }
            free(a), free(c);
            ctn_batch_free(asked), ctn_batch_free(silent), ctn_batch_free(parted), close_forest(&f);
        }
    }
}
END_TEST

/// Steps that fall back, on fewer stages or halves: the books close, and what radau remembers to have created and dissipated, the
/// last two numbers of its state before the turns of joints, is what the ledger says.
START_TEST(fallbacks)
{
    long fewer = 0;
    FOR_SEEDS(seed, 8)
    {
        const random_options o = {
            .links = 8, .chain = true, .passive = true, .joints = 1u << CTN_UNIVERSAL | 1u << CTN_REVOLUTE | 1u << CTN_BALL};
        forest f = open_forest(seed, &o);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_RADAU, cfg.stages = 2 + _i, cfg.dt = 0.15;
        for (int k = 0; k < f.nv; k++) f.v[k] *= 10, f.tau[k] *= 3;
        ctn_batch *const b = start(f.m, &cfg, f.q, f.v, f.tau);
        const size_t size = ctn_batch_saved_size(b);
        char *const block = malloc(size);
        ctn_step_stats sum, s;
        for (int n = 0; n < 60; n++) {
            double kept[2];
            ctn_batch_step(b, 1, n ? &s : &sum, NULL);
            if (n) ctn_step_stats_add(&sum, &s);
            ctn_batch_save(b, block);
            memcpy(kept, block + size - sizeof kept - (f.m->turns ? (size_t)f.nv * sizeof *kept : 0), sizeof kept);
            const double most = 1e-10 * (scale_of(&sum) + fabs(sum.created));
            ck_assert_msg(fabs(kept[0] - sum.created) < most && fabs(kept[1] - sum.dissipated) < most,
                          "seed %llu, step %d: %.17g and %.17g kept, %.17g created, %.17g dissipated", (unsigned long long)seed,
                          n, kept[0], kept[1], sum.created, sum.dissipated);
        }
        ck_assert_msg(gap(&sum) < 1e-11, "seed %llu: the books are off by %.3g", (unsigned long long)seed, gap(&sum));
        fewer += sum.fewer_stages;
        free(block), ctn_batch_free(b), close_forest(&f);
    }
    ck_assert_msg(fewer > 0 || getenv("CTN_SEED"), "no step fell back");
}
END_TEST

/// A motor spins a rotor up until it turns too far in a step: the ledger is that of the last good state, and stays.
START_TEST(frozen)
{
    static const char text[] = "catena: 1\nlinks:\n  - {name: rotor, joint: {type: revolute, axis: [0, 0, 1]}, mass: 1, "
                               "inertia: [1, 1, 0.5, 0, 0, 0]}\n";
    static const double torque = 1e5;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "rotor", NULL);
    ctn_model *const m = ctn_model_create(scene, NULL);
    const ctn_batch_config cfg = config_of(_i, 0.01);
    double q = 0, v = 0;
    ctn_batch *const b = start(m, &cfg, &q, &v, &torque);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 1000, &s, NULL), CTN_FROZEN);
    ctn_batch_state(b, &q, &v);
    ck_assert_msg(s.frozen == CTN_FREEZE_ANGLE && q > 9e5, "%s: frozen at %g rad", name_of(_i), q);
    ck_assert_msg(fabs(s.work - torque * q) < 1e-12 * s.work, "%s: work %.17g, not %.17g", name_of(_i), s.work, torque * q);
    ck_assert_msg(gap(&s) < 1e-14, "%s: the books are off by %.3g", name_of(_i), gap(&s));
    ck_assert_int_eq(ctn_batch_step(b, 1, &s, NULL), CTN_FROZEN);
    ck_assert(s.work == 0 && s.dissipated == 0 && s.created == 0 && s.kinetic_before == s.kinetic_after);
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("energy");
    TCase *t = tcase_create("energy");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, constant_force, 0, METHODS);
    tcase_add_loop_test(t, damped_oscillator, 0, METHODS);
    tcase_add_test(t, radau_never_creates);
    tcase_add_test(t, powers_of_forests);
    tcase_add_loop_test(t, order_on_forests, 0, METHODS);
    tcase_add_loop_test(t, asking_changes_nothing, 0, METHODS);
    tcase_add_loop_test(t, fallbacks, 0, 3);
    tcase_add_loop_test(t, frozen, 0, 6);
    suite_add_tcase(s, t);
    return run_suite(s);
}
