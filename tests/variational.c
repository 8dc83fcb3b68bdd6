/// The variational method: its order, and the laws that make it one: momenta, reversibility, symplecticity, energy without drift.
#include "dynamics/model.h"
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch *open_batch(const ctn_model *m, ctn_method method, int order, double dt, double tolerance)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.order = order, cfg.dt = dt, cfg.tolerance = tolerance;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

/// A state of a model in one array: q, then v.
static double *state_array(const ctn_model *m) { return calloc((size_t)(ctn_model_nq(m) + ctn_model_nv(m) + 1), sizeof(double)); }

/// `steps` steps from x to y, with the joint forces tau (NULL: none).
static ctn_step_stats advance(const ctn_model *m, ctn_method method, int order, double dt, int steps, const double *tau,
                              const double *x, double *y)
{
    const int nq = ctn_model_nq(m);
    ctn_batch *b = open_batch(m, method, order, dt, 1e-13);
    ctn_step_stats stats;
    ck_assert_int_eq(ctn_batch_set_state(b, x, x + nq, 0, NULL), CTN_OK);
    ctn_batch_set_force(b, tau);
    ck_assert_int_eq(ctn_batch_step(b, steps, &stats, NULL), CTN_OK);
    ctn_batch_state(b, y, y + nq);
    ctn_batch_free(b);
    return stats;
}

static double distance(const double *x, const double *y, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++) s += (x[k] - y[k]) * (x[k] - y[k]);
    return sqrt(s);
}

/// Halving the step divides the errors of q and v by 2^order, on forests of all joints with springs, armature and joint forces;
/// at order 2 also with dampers, soft and stiff ones. The reference is rk4 with small steps.
START_TEST(order_of_convergence)
{
    static const struct {
        int order, steps;
        bool damped;
    } cases[] = {{2, 100, false}, {2, 200, true}, {4, 100, false}};
    const double T = 0.2;
    FOR_SEEDS(seed, 12)
    {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const random_options o = {.links = 5, .passive = true, .conservative = !cases[c].damped, .smooth = true};
            ctn_model *m = random_model(seed, &o);
            const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
            double *x = state_array(m), *exact = state_array(m), *y = state_array(m), *tau = state_array(m), e[2][2];
            rng r = {seed};
            random_state(m, &r, x, x + nq);
            for (int k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -1, 1);
            advance(m, CTN_RK4, 2, T / 4000, 4000, tau, x, exact);
            for (int k = 0; k < 2; k++) {
                const int steps = cases[c].steps << k;
                advance(m, CTN_VARIATIONAL, cases[c].order, T / steps, steps, tau, x, y);
                e[k][0] = distance(y, exact, nq), e[k][1] = distance(y + nq, exact + nq, nv);
            }
            for (int s = 0; s < 2; s++) {
                const double order = log2(e[0][s] / e[1][s]);
                ck_assert_msg(fabs(order - cases[c].order) < 0.2, "seed %llu, case %zu, %c: order %.3f (errors %.3g, %.3g)",
                              (unsigned long long)seed, c, "qv"[s], order, e[0][s], e[1][s]);
            }
            free(x), free(exact), free(y), free(tau);
            ctn_model_free(m);
        }
    }
}
END_TEST

// ---- momenta

/// Component k of the angular momentum about the centre of mass.
static double spin(const ctn_totals *t, int k)
{
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    return t->momentum_angular[k] - (t->com[i] * t->momentum_linear[j] - t->com[j] * t->momentum_linear[i]);
}

/// A free-flying tree: angular momentum about its centre of mass kept, and linear momentum changed by the weight alone, to
/// rounding, over 10 000 steps.
START_TEST(momentum_in_free_flight)
{
    FOR_SEEDS(seed, 6)
    {
        const int steps = 10000;
        const double dt = 1e-3;
        const random_options o = {
            .links = 6, .floating = true, .passive = seed % 3 == 0, .conservative = true, .no_gravity = seed % 2};
        ctn_model *m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
        double *x = state_array(m), *y = state_array(m), g[3];
        rng r = {seed};
        random_state(m, &r, x, x + nq);
        for (int k = 0; k < nv; k++) x[nq + k] *= 0.3;
        ctn_model_gravity(m, g);
        ctn_dynamics *dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_totals first, last;
        ctn_batch *b = open_batch(m, CTN_VARIATIONAL, seed % 4 < 2 ? 2 : 4, dt, 1e-15);
        ck_assert_int_eq(ctn_batch_set_state(b, x, x + nq, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, steps, NULL, NULL), CTN_OK);  // halved steps keep momenta too
        ctn_batch_state(b, y, y + nq);
        ctn_batch_free(b);
        ctn_energy_momentum(dyn, 1, x, x + nq, &first);
        ctn_energy_momentum(dyn, 1, y, y + nq, &last);
        double linear = 0, angular = 0;
        for (int k = 0; k < 3; k++) {
            linear = worse(linear, fabs(last.momentum_linear[k] - first.momentum_linear[k] - first.mass * g[k] * steps * dt));
            angular = worse(angular, fabs(spin(&last, k) - spin(&first, k)));
        }
        ck_assert_msg(linear < 1e-9 && angular < 1e-9, "seed %llu: momentum off by %.3g, spin by %.3g", (unsigned long long)seed,
                      linear, angular);
        free(x), free(y);
        ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

// ---- symmetry

/// n steps, velocities turned round, n steps: back where it started, turned round.
START_TEST(reversibility)
{
    FOR_SEEDS(seed, 12)
    {
        const random_options o = {.links = 5, .passive = true, .conservative = true};
        ctn_model *m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
        double *x = state_array(m), *y = state_array(m), *z = state_array(m), *tau = state_array(m);
        rng r = {seed};
        random_state(m, &r, x, x + nq);
        for (int k = 0; k < nv; k++) x[nq + k] *= 0.3, tau[k] = rng_uniform(&r, -1, 1);
        const int order = seed % 2 ? 2 : 4;
        advance(m, CTN_VARIATIONAL, order, 0.001, 50, tau, x, y);
        for (int k = 0; k < nv; k++) y[nq + k] = -y[nq + k];
        advance(m, CTN_VARIATIONAL, order, 0.001, 50, tau, y, z);
        for (int k = 0; k < nv; k++) z[nq + k] = -z[nq + k];
        const double off = distance(x, z, nq + nv), away = distance(x, y, nq);
        ck_assert_msg(off < 1e-9 && away > 3e-3, "seed %llu: off by %.3g after a way of %.3g", (unsigned long long)seed, off,
                      away);
        free(x), free(y), free(z), free(tau);
        ctn_model_free(m);
    }
}
END_TEST

/// One step as a map of (q, p) is symplectic: J' Omega J = Omega, J by differences, p = H v. Joints whose coordinates form a
/// vector space.
START_TEST(symplecticity)
{
    FOR_SEEDS(seed, 8)
    {
        const random_options o = {.links = 4,
                                  .passive = true,
                                  .conservative = true,
                                  .smooth = true,
                                  .joints = 1u << CTN_REVOLUTE | 1u << CTN_PRISMATIC | 1u << CTN_HELICAL | 1u << CTN_UNIVERSAL |
                                            1u << CTN_PLANAR};
        ctn_model *m = random_model(seed, &o);
        const int n = ctn_model_nv(m), N = 2 * n;
        ctn_dynamics *dyn = ctn_dynamics_create(m, "scalar", NULL);
        double *x = state_array(m), *y = state_array(m), *z = state_array(m), *p = state_array(m),
               *J = calloc((size_t)(N * N + 1), 8), *H = calloc((size_t)(n * n + 1), 8), worst = 0;
        rng r = {seed};
        random_state(m, &r, x, x + n);
        ctn_crba(dyn, 1, x, H);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) p[i] += H[i * n + j] * x[n + j];
        for (int c = 0; c < N; c++) {
            static const double weight[] = {1, -8, 8, -1}, at[] = {-2, -1, 1, 2};
            const double e = 1e-3;
            for (int s = 0; s < 4; s++) {
                memcpy(y, x, (size_t)n * sizeof *y), memcpy(y + n, p, (size_t)n * sizeof *y);
                y[c] += at[s] * e;
                ctn_crba(dyn, 1, y, H);
                LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', n, 1, H, n, y + n, 1);
                advance(m, CTN_VARIATIONAL, seed % 2 ? 2 : 4, 0.02, 1, NULL, y, z);
                ctn_crba(dyn, 1, z, H);
                for (int i = 0; i < n; i++) {
                    double mom = 0;
                    for (int j = 0; j < n; j++) mom += H[i * n + j] * z[n + j];
                    J[i * N + c] += weight[s] * z[i] / (12 * e), J[(n + i) * N + c] += weight[s] * mom / (12 * e);
                }
            }
        }
        for (int a = 0; a < N; a++)
            for (int b = 0; b < N; b++) {
                double s = 0;
                for (int i = 0; i < n; i++) s += J[i * N + a] * J[(n + i) * N + b] - J[(n + i) * N + a] * J[i * N + b];
                worst = worse(worst, fabs(s - (b == a + n ? 1 : b == a - n ? -1 : 0)));
            }
        ck_assert_msg(worst < 1e-7, "seed %llu: J' Omega J is off by %.3g", (unsigned long long)seed, worst);
        free(x), free(y), free(z), free(p), free(J), free(H);
        ctn_dynamics_free(dyn), ctn_model_free(m);
    }
}
END_TEST

// ---- energy

/// A double pendulum in 32 chaotic motions, 100 000 steps each. The energy swings in a band and has no trend: the slopes of its
/// regression over time scatter about zero.
START_TEST(energy_does_not_drift)
{
    enum { WORLDS = 32, BLOCKS = 50, STEPS = 100000 };
    ctn_model *m = model_of("catena: 1\ndefaults:\n  {joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.5, 0, 0], "
                            "inertia: [0, 0.08, 0.08, 0, 0, 0]}\n"
                            "links:\n  - {name: upper}\n  - {name: lower, parent: upper, position: [1, 0, 0]}\n");
    ctn_error err;
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_VARIATIONAL, cfg.order = _i ? 4 : 2, cfg.dt = _i ? 0.005 : 0.01, cfg.worlds = WORLDS, cfg.tolerance = 1e-13;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    double q[WORLDS][2], v[WORLDS][2], mean[WORLDS][BLOCKS] = {{0}}, band = 0, slopes = 0, squares = 0;
    rng r = {1};
    for (int w = 0; w < WORLDS; w++)
        for (int k = 0; k < 2; k++) q[w][k] = rng_uniform(&r, -1, 1), v[w][k] = rng_uniform(&r, -1, 1);
    ck_assert_int_eq(ctn_batch_set_state(b, q[0], v[0], 0, NULL), CTN_OK);
    for (int n = 0; n < STEPS; n += 10) {
        ctn_step_stats stats[WORLDS];
        ck_assert_int_eq(ctn_batch_step(b, 10, stats, NULL), CTN_OK);
        for (int w = 0; w < WORLDS; w++) {
            mean[w][n / (STEPS / BLOCKS)] += stats[w].energy_after * 10 * BLOCKS / STEPS;
            band = fmax(band, stats[w].energy_max - stats[w].energy_min);
        }
    }
    for (int w = 0; w < WORLDS; w++) {
        double tt = 0, te = 0;
        for (int k = 0; k < BLOCKS; k++) {
            const double t = (k + 0.5) / BLOCKS - 0.5;
            tt += t * t, te += t * mean[w][k];
        }
        slopes += te / tt / WORLDS, squares += te / tt * te / tt / WORLDS;  // J over the run
    }
    const double noise = sqrt((squares - slopes * slopes) / (WORLDS - 1));
    ck_assert_msg(fabs(slopes) < 4 * noise && noise < 0.01 * band, "order %d: band of %.3g J, drift of %.3g +- %.3g J", cfg.order,
                  band, slopes, noise);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

// ---- solving

/// Newton iterations a step of chains of 8 to 128 links that swing from 60 degrees: about two, however long the chain.
START_TEST(iterations)
{
    for (int n = 8; n <= 128; n *= 2) {
        char text[600];
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: %d\n      euler: [0, 1.0471975511965976, 0]\n"
                 "      step: [0, 0, -0.1]\n      joint: {type: revolute, axis: [0, 1, 0]}\n      mass: 0.1\n"
                 "      com: [0, 0, -0.05]\n      inertia: [1e-4, 1e-4, 1e-5, 0, 0, 0]\n",
                 n);
        ctn_model *m = model_of(text);
        ctn_batch *b = open_batch(m, CTN_VARIATIONAL, 2, 2e-3, 1e-9);
        ctn_step_stats stats;
        ck_assert_int_eq(ctn_batch_step(b, 1000, &stats, NULL), CTN_OK);
        ck_assert_msg(stats.iterations < 2.5 * 1000, "%d links: %.2f iterations a step", n, (double)stats.iterations / 1000);
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// A wheel that turns by more than 0.35 rad a step: its steps are halved, and its momentum is kept. Slower, it needs none of
/// that.
START_TEST(fast_turns)
{
    ctn_model *m = model_of(
        "catena: 1\nlinks:\n  - {name: wheel, joint: {type: revolute}, mass: 1, inertia: [0.01, 0.01, 0.02, 0, 0, 0]}\n");
    for (int fast = 0; fast < 2; fast++) {
        const double x[2] = {0, fast ? 60 : 30};
        double y[2];
        ctn_step_stats stats;
        ctn_batch *b = open_batch(m, CTN_VARIATIONAL, 2, 0.01, 1e-13);
        ck_assert_int_eq(ctn_batch_set_state(b, x, x + 1, 0, NULL), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(b, 100, &stats, NULL), CTN_OK);
        ctn_batch_state(b, y, y + 1);
        const double h = fast ? 0.005 : 0.01;  // sin(u) = h v
        ck_assert_msg(fabs(y[0] - asin(h * x[1]) / h) < 1e-9 && fabs(y[1] - x[1]) < 1e-10, "q %.12g, v %.12g", y[0], y[1]);
        ck_assert_int_eq(stats.fallbacks, fast ? 100 : 0);
        ck_assert_int_eq(stats.substeps, fast ? 200 : 100);
        ctn_batch_free(b);
    }
    ctn_model_free(m);
}
END_TEST

/// A damped wheel: p' = p / (1 + z + z^2 / 2), z = b h / J, for small turns: never the other way round, however stiff the damper.
START_TEST(stiff_dampers)
{
    static const double damping[] = {1e-4, 0.1, 1, 1e3, 1e6};
    for (size_t k = 0; k < sizeof damping / sizeof *damping; k++) {
        char text[300];
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - name: wheel\n    joint: {type: revolute, damping: %g}\n    mass: 1\n"
                 "    inertia: [0.01, 0.01, 0.02, 0, 0, 0]\n",
                 damping[k]);
        ctn_model *m = model_of(text);
        const double x[2] = {0, 1e-3}, z = damping[k] * 0.01 / 0.02;
        double y[2];
        advance(m, CTN_VARIATIONAL, 2, 0.01, 1, NULL, x, y);
        const double want = 1e-3 / (1 + z + z * z / 2);
        ck_assert_msg(y[1] > 0 && fabs(y[1] - want) < 1e-9 * want + 1e-14, "damping %g: %.9g, expected %.9g", damping[k], y[1],
                      want);
        ctn_model_free(m);
    }
    // a stiffly damped forest creeps in steps far beyond its time constants
    FOR_SEEDS(seed, 6)
    {
        const random_options o = {.links = 6, .passive = true};
        ctn_model *m = random_model(seed, &o);
        for (int i = 0; i < m->nbody; i++)
            for (int k = 0; k < 3; k++) m->bodies[i].damping[k] = 1e4, m->bodies[i].flags |= BODY_PASSIVE, m->passive = true;
        const int nq = ctn_model_nq(m);
        double *x = state_array(m), *y = state_array(m);
        rng r = {seed};
        random_state(m, &r, x, x + nq);
        advance(m, CTN_VARIATIONAL, 2, 0.02, 50, NULL, x, y);
        ck_assert_msg(distance(x, y, nq) < 0.05, "seed %llu: moved by %.3g", (unsigned long long)seed, distance(x, y, nq));
        free(x), free(y);
        ctn_model_free(m);
    }
}
END_TEST

/// A saved state continues with the same bits.
START_TEST(saved_state)
{
    const random_options o = {.links = 5, .passive = true};
    ctn_model *m = random_model(3, &o);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    double *x = state_array(m), *y = state_array(m);
    ctn_batch *b = open_batch(m, CTN_VARIATIONAL, 2, 0.005, 1e-9), *c = open_batch(m, CTN_VARIATIONAL, 2, 0.005, 1e-9);
    void *block = malloc(ctn_batch_saved_size(b));
    ctn_batch_step(b, 20, NULL, NULL);
    ctn_batch_save(b, block);
    ck_assert_int_eq(ctn_batch_restore(c, block, ctn_batch_saved_size(b), NULL), CTN_OK);
    ctn_batch_step(b, 20, NULL, NULL), ctn_batch_step(c, 20, NULL, NULL);
    ctn_batch_state(b, x, x + nq), ctn_batch_state(c, y, y + nq);
    ck_assert_mem_eq(x, y, (size_t)(nq + nv) * sizeof *x);
    free(x), free(y), free(block);
    ctn_batch_free(b), ctn_batch_free(c), ctn_model_free(m);
}
END_TEST

/// Dampers and order 4: refused before the first step, with the link and the way out.
START_TEST(order_4_takes_no_dampers)
{
    static const struct {
        const char *joint, *message;
    } cases[] = {
        {"{type: universal, damping: [0, 0.1]}",
         "order: the method variational takes no dampers at order 4, but the joint of link 'arm' has damping; take order 2"},
        {"{type: ball, limits: 1, limit_damping: 2}", "order: the method variational takes no dampers at order 4, but the joint "
                                                      "of link 'arm' has limit_damping; take order 2, or write limit_damping: 0 (limits brake by default)"},
        {"{type: ball, limits: 1, limit_damping: 0, stiffness: 3}", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 "catena: 1\nlinks:\n  - {name: post}\n  - name: arm\n    parent: post\n    joint: %s\n    mass: 1\n"
                 "    inertia: [0.01, 0.01, 0.02, 0, 0, 0]\n",
                 cases[k].joint);
        ctn_model *m = model_of(text);
        ctn_error err = {0};
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_VARIATIONAL, cfg.order = 4;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert((b == NULL) == (cases[k].message != NULL));
        if (!b) {
            ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
            ck_assert_str_eq(err.message, cases[k].message);
        }
        ctn_batch_free(b);
        cfg.order = 2;
        ck_assert_ptr_nonnull(b = ctn_batch_create(m, &cfg, NULL));
        ctn_batch_free(b), ctn_model_free(m);
    }
}
END_TEST

/// Order 4 gives the same bits on every engine, in steps of which some are halved in some worlds. (Order 2: tests/engines.c.)
START_TEST(same_bits)
{
    enum { WORLDS = 11 };
    const random_options o = {.links = 6, .passive = true, .conservative = true};
    ctn_model *m = random_model(11 + (uint64_t)_i, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *q = malloc(WORLDS * nq * sizeof *q), *v = malloc(WORLDS * nv * sizeof *v), *x[2][2];
    ctn_step_stats stats[2][WORLDS];
    rng r = {5};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    for (int k = 0; k < 2; k++) x[k][0] = malloc(WORLDS * nq * sizeof *q), x[k][1] = malloc(WORLDS * nv * sizeof *v);
    int engines = 0;
    for (const ctn_engine *const *e = engines_available(); *e; e++, engines++) {
        const int k = engines > 0;
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_VARIATIONAL, cfg.order = 4, cfg.dt = 0.02, cfg.worlds = WORLDS, cfg.engine = (*e)->name;
        ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_batch_step(b, 100, stats[k], NULL);
        ctn_batch_state(b, x[k][0], x[k][1]);
        ck_assert_msg(!memcmp(x[k][0], x[0][0], WORLDS * nq * sizeof *q) && !memcmp(x[k][1], x[0][1], WORLDS * nv * sizeof *v),
                      "engine %s: other bits", (*e)->name);
        ctn_batch_free(b);
    }
    long halved = 0, whole = 0;
    for (int w = 0; w < WORLDS; w++) halved += stats[0][w].fallbacks, whole += stats[0][w].steps - stats[0][w].fallbacks;
    ck_assert_msg(engines > 0 && halved > 0 && whole > 0, "%d engines, %ld steps halved, %ld whole", engines, halved, whole);
    for (int k = 0; k < 2; k++) free(x[k][0]), free(x[k][1]);
    free(q), free(v);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("variational");
    TCase *t = tcase_create("variational");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, order_of_convergence);
    tcase_add_test(t, momentum_in_free_flight);
    tcase_add_test(t, reversibility);
    tcase_add_test(t, symplecticity);
    tcase_add_loop_test(t, energy_does_not_drift, 0, 2);
    tcase_add_test(t, iterations);
    tcase_add_test(t, fast_turns);
    tcase_add_test(t, stiff_dampers);
    tcase_add_test(t, order_4_takes_no_dampers);
    tcase_add_test(t, saved_state);
    tcase_add_loop_test(t, same_bits, 0, 2);
    suite_add_tcase(s, t);
    return run_suite(s);
}
