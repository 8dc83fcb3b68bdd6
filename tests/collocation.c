/// Position-based steps of order 2: golden steps, the law they minimise, iteration counts, energy, fallbacks, saved states.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch *open_batch(const ctn_model *m, double dt, double tolerance, int worlds)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.dt = dt, cfg.tolerance = tolerance, cfg.worlds = worlds;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

// ---- golden steps

START_TEST(golden_steps)
{
    static const char *const models[] = {"double-pendulum", "chain5", "ball5", "flying-tree5", "spring-chain4"};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION;
    ck_assert_int_ge(golden_steps_agree(models[_i], &cfg, "order2", 1), 20);
}
END_TEST

// ---- the chains of the position-based paper

/// n rods of 2 m and 1 kg together on universal joints, at rest along the horizontal.
static ctn_model *swing(int n, double bend)
{
    char *text = malloc(1000 + 40 * (size_t)n);
    const double l = 2.0 / n, mass = 1.0 / n, I = mass * (3 * 0.02 * 0.02 + l * l) / 12;
    int at =
        sprintf(text,
                "catena: 1\nlinks:\n  - chain:\n      name: rod\n      count: %d\n      step: [0, 0, %.17g]\n"
                "      joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}\n      mass: %.17g\n      com: [0, 0, %.17g]\n"
                "      inertia: [%.17g, %.17g, %.17g, 0, 0, 0]\nstate:\n  q: [1.5707963267948966, 0",
                n, -l, mass, -l / 2, I, I, mass * 0.02 * 0.02 / 2);
    for (int i = 1; i < n; i++) at += sprintf(text + at, ", 0, %g", bend);
    sprintf(text + at, "]\n");
    ctn_model *m = model_of(text);
    free(text);
    return m;
}

typedef struct {
    double mean, residual, rise;
    long given_up;
    ctn_status worst;
} run_result;

/// `seconds` of steps; the largest rise of the method's energy in any step, relative to the fall from the horizontal.
static run_result run(const ctn_model *m, double dt, double seconds)
{
    ctn_batch *b = open_batch(m, dt, 1e-9, 1);
    run_result r = {0};
    const int steps = (int)lrint(seconds / dt);
    for (int s = 0; s < steps; s++) {
        ctn_step_stats stats;
        const ctn_status status = ctn_batch_step(b, 1, &stats, NULL);
        ck_assert_int_eq(status, CTN_OK);
        r.mean += (double)stats.iterations / steps;
        r.residual = worse(r.residual, stats.residual);
        r.rise = worse(r.rise, (stats.energy_after - stats.energy_before) / 9.81);
        r.given_up += stats.substeps - 1;
    }
    ck_assert(fabs(ctn_batch_time(b, 0) - steps * dt) < 1e-9);
    ctn_batch_free(b);
    return r;
}

/// Mean Newton iterations, 3 s from rest: below 4 for 10 links and below 6 for 40; at most 2 steps halved.
START_TEST(iterations)
{
    static const double dts[] = {0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1};
    for (int n = 10; n <= 40; n += 30) {
        ctn_model *m = swing(n, 0);
        for (size_t k = 0; k < sizeof dts / sizeof *dts; k++) {
            const run_result r = run(m, dts[k], 3);
            ck_assert_msg(r.mean < (n == 10 ? 4 : 6) && r.given_up <= 2 && r.residual <= 1e-6 && r.rise < 1e-12,
                          "%d links, dt %g: %.2f iterations, %ld halved, residual %.3g, rise %.3g", n, dts[k], r.mean, r.given_up,
                          r.residual, r.rise);
        }
        ctn_model_free(m);
    }
}
END_TEST

START_TEST(long_runs)
{
    static const struct {
        int links;
        double dt, seconds, bend;
    } cases[] = {{10, 0.1, 60, 0}, {10, 1, 60, 0}, {50, 0.1, 10, 0}, {10, 0.1, 60, 0.1}};
    ctn_model *m = swing(cases[_i].links, cases[_i].bend);
    const run_result r = run(m, cases[_i].dt, cases[_i].seconds);
    ck_assert_msg(r.residual <= 1e-6 && r.rise < 1e-12, "residual %.3g, rise %.3g", r.residual, r.rise);
    ctn_model_free(m);
}
END_TEST

// ---- the law

/// E(q) of docs/theory.md from public calls alone: sum over links of tr(a M a')/(2 h^2) - m g.com, a = T - T_k - h V.
typedef struct {
    const ctn_model *m;
    ctn_dynamics *dyn;
    double h, *R0, *p0, *VR, *Vp, *R, *p;
} law;

static law open_law(const ctn_model *m, const double *q0, const double *v0, double h)
{
    const size_t n = (size_t)ctn_model_nlink(m);
    law L = {m,
             ctn_dynamics_create(m, "scalar", NULL),
             h,
             malloc(72 * n),
             malloc(24 * n),
             malloc(72 * n),
             malloc(24 * n),
             malloc(72 * n),
             malloc(24 * n)};
    double *t = malloc(48 * n);
    ctn_forward_kinematics(L.dyn, 1, q0, L.R0, L.p0);
    ctn_link_twists(L.dyn, 1, q0, v0, t);
    for (size_t l = 0; l < n; l++) {
        const double *w = t + 6 * l, *R = L.R0 + 9 * l;
        for (int c = 0; c < 3; c++) {
            L.VR[9 * l + (size_t)c] = w[1] * R[6 + c] - w[2] * R[3 + c];
            L.VR[9 * l + 3 + (size_t)c] = w[2] * R[c] - w[0] * R[6 + c];
            L.VR[9 * l + 6 + (size_t)c] = w[0] * R[3 + c] - w[1] * R[c];
            L.Vp[3 * l + (size_t)c] = w[3 + c];
        }
    }
    free(t);
    return L;
}

static void close_law(law *L)
{
    ctn_dynamics_free(L->dyn);
    free(L->R0), free(L->p0), free(L->VR), free(L->Vp), free(L->R), free(L->p);
}

static double energy_of_law(law *L, const double *q)
{
    double g[3], E = 0;
    ctn_model_gravity(L->m, g);
    ctn_forward_kinematics(L->dyn, 1, q, L->R, L->p);
    for (int l = 0; l < ctn_model_nlink(L->m); l++) {
        const ctn_link *k = ctn_model_link(L->m, l);
        const double *I = k->inertia, half = (I[0] + I[1] + I[2]) / 2, *c = k->com, m = k->mass;
        double a[3][4], M[4][4];
        const double S[3][3] = {{half - I[0], -I[3], -I[4]}, {-I[3], half - I[1], -I[5]}, {-I[4], -I[5], half - I[2]}};
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                const int e = 9 * l + 3 * i + j;
                a[i][j] = L->R[e] - L->R0[e] - L->h * L->VR[e];
                M[i][j] = S[i][j] + m * c[i] * c[j];
            }
            a[i][3] = L->p[3 * l + i] - L->p0[3 * l + i] - L->h * L->Vp[3 * l + i];
            M[i][3] = M[3][i] = m * c[i];
        }
        M[3][3] = m;
        for (int r = 0; r < 3; r++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) E += a[r][i] * M[i][j] * a[r][j] / (2 * L->h * L->h);
        for (int i = 0; i < 3; i++) {
            double com = L->p[3 * l + i];
            for (int j = 0; j < 3; j++) com += L->R[9 * l + 3 * i + j] * c[j];
            E -= m * g[i] * com;
        }
    }
    return E;
}

/// A step from (q, v) of a random forest ends at a minimum of that energy.
START_TEST(a_step_minimises)
{
    FOR_SEEDS(seed, 30)
    {
        const random_options o = {.links = 2 + (int)(seed % 8)};
        ctn_model *m = random_model(seed, &o);
        const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
        double *q = malloc((size_t)(nq + 1) * sizeof *q), *v = malloc((size_t)(nv + 1) * sizeof *v),
               *x = malloc((size_t)(nq + 1) * sizeof *x), *y = malloc((size_t)(nq + 1) * sizeof *y);
        rng r = {seed};
        random_state(m, &r, q, v);
        ctn_batch *b = open_batch(m, 0.05, 1e-12, 1);
        ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
        ctn_step_stats stats;
        ctn_batch_step(b, 1, &stats, NULL);
        ck_assert_int_eq(stats.substeps, 1);
        law L = open_law(m, q, v, 0.05);
        ctn_batch_state(b, x, NULL);
        const double E0 = energy_of_law(&L, x), start = energy_of_law(&L, q);
        for (int trial = 0; trial < 20; trial++) {
            // random directions; quaternions by small turns, renormalised by the kinematics
            double dir[600], E[2];
            ck_assert(nq < 600);
            for (int k = 0; k < nq; k++) dir[k] = rng_uniform(&r, -1, 1);
            const double e = 1e-4;
            for (int s = 0; s < 2; s++) {
                for (int k = 0; k < nq; k++) y[k] = x[k] + (s ? e : -e) * dir[k];
                E[s] = energy_of_law(&L, y);
            }
            const double slope = (E[1] - E[0]) / (2 * e), bend = (E[0] + E[1] - 2 * E0) / (e * e);
            ck_assert_msg(fabs(slope) < 1e-5 * (bend + 1) && bend > 0, "seed %llu: slope %.3g, curvature %.3g",
                          (unsigned long long)seed, slope, bend);
        }
        ck_assert(E0 < start);
        close_law(&L);
        ctn_batch_free(b), ctn_model_free(m);
        free(q), free(v), free(x), free(y);
    }
}
END_TEST

/// Constant joint force, spring, damper and armature of a hinge without gravity: the recursion by hand.
START_TEST(joint_terms_by_hand)
{
    // J = 0.02 + 0.03 about the hinge; a disc: the rotational part of E is J (1 - cos) / h^2, its slope J sin / h^2
    ctn_model *m = model_of(
        "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - name: wheel\n"
        "    joint: {type: revolute, axis: [0, 0, 1], damping: 0.4, stiffness: 7, rest: 0.3, armature: 0.03, q0: 0.1, v0: 2}\n"
        "    mass: 1\n    inertia: [0.01, 0.01, 0.02, 0, 0, 0]\n");
    const double h = 0.01, tau = 0.6;
    ctn_batch *b = open_batch(m, h, 1e-14, 1);
    ctn_batch_set_force(b, &tau);
    // S = diag(0.01, 0.01): V_R of the plane as a 2x2 matrix
    double q = 0.1, rate = 2, V[4] = {-2 * sin(0.1), -2 * cos(0.1), 2 * cos(0.1), -2 * sin(0.1)};
    for (int step = 0; step < 20; step++) {
        const double R[4] = {cos(q), -sin(q), sin(q), cos(q)};
        double x = q + h * rate;
        for (int it = 0; it < 50; it++) {
            // r = d/dx sum 0.01 |R(x) - Y|^2 / (2 h^2) + joint terms
            const double Y[4] = {R[0] + h * V[0], R[1] + h * V[1], R[2] + h * V[2], R[3] + h * V[3]};
            const double dR[4] = {-sin(x), -cos(x), cos(x), -sin(x)}, ddR[4] = {-cos(x), sin(x), -sin(x), -cos(x)};
            double g = 0.03 * (x - q - h * rate) / (h * h) + 0.4 * (x - q) / h + 7 * (x - 0.3) - tau,
                   k = 0.03 / (h * h) + 0.4 / h + 7;
            for (int i = 0; i < 4; i++) {
                const double Rx[4] = {cos(x), -sin(x), sin(x), cos(x)};
                g += 0.01 * dR[i] * (Rx[i] - Y[i]) / (h * h);
                k += 0.01 * (dR[i] * dR[i] + ddR[i] * (Rx[i] - Y[i])) / (h * h);
            }
            x -= g / k;
        }
        const double Rx[4] = {cos(x), -sin(x), sin(x), cos(x)};
        for (int i = 0; i < 4; i++) V[i] = (Rx[i] - R[i]) / h;
        rate = (x - q) / h, q = x;
        double got;
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
        ctn_batch_state(b, &got, NULL);
        ck_assert_msg(fabs(got - q) < 1e-12, "step %d: %.17g, by hand %.17g", step, got, q);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Linear momentum of a free-flying tree: changed by the weight alone, exactly, at any step size.
START_TEST(momentum_in_free_flight)
{
    FOR_SEEDS(seed, 12)
    {
        const random_options o = {.links = 8, .floating = true, .no_gravity = seed % 2};
        ctn_model *m = random_model(seed, &o);
        double *q = malloc((size_t)ctn_model_nq(m) * sizeof *q), *v = malloc((size_t)ctn_model_nv(m) * sizeof *v);
        rng r = {seed};
        random_state(m, &r, q, v);
        ctn_dynamics *dyn = ctn_dynamics_create(m, NULL, NULL);
        ctn_batch *b = open_batch(m, seed % 3 ? 0.1 : 0.01, 1e-13, 1);
        ctn_totals first, now;
        ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
        ctn_energy_momentum(dyn, 1, q, v, &first);
        ck_assert_int_eq(ctn_batch_step(b, 100, NULL, NULL), CTN_OK);
        ctn_batch_state(b, q, v);
        ctn_energy_momentum(dyn, 1, q, v, &now);
        const double t = ctn_batch_time(b, 0), weight[3] = {0, 0, seed % 2 ? 0 : -9.81 * first.mass};
        for (int k = 0; k < 3; k++) {
            const double want = first.momentum_linear[k] + weight[k] * t;
            ck_assert_msg(fabs(now.momentum_linear[k] - want) < 1e-8 * (first.mass + fabs(want)),
                          "seed %llu: momentum %d: %.12g, %.12g", (unsigned long long)seed, k, now.momentum_linear[k], want);
        }
        ctn_batch_free(b), ctn_dynamics_free(dyn), ctn_model_free(m);
        free(q), free(v);
    }
}
END_TEST

// ---- fallbacks, freezing, saving

START_TEST(halved_steps)
{
    ctn_model *m = swing(40, 0.1);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.dt = 0.1, cfg.max_iterations = 4;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats s;
    ctn_error err = {0};
    long fallbacks = 0;
    for (int k = 1; k <= 20; k++) {
        const ctn_status status = ctn_batch_step(b, 1, &s, &err);
        ck_assert_int_eq(status, CTN_OK);
        ck_assert((s.substeps > 1) == (s.fallbacks > 0));
        ck_assert(s.residual <= 1e-6);
        ck_assert(fabs(ctn_batch_time(b, 0) - 0.1 * k) < 1e-12);
        ck_assert_msg(s.energy_after <= s.energy_before + 1e-12, "step %d: energy rose", k);
        fallbacks += s.fallbacks;
        ck_assert_int_eq(ctn_batch_fallbacks(b), fallbacks);
    }
    ck_assert_int_gt(fallbacks, 0);
    ctn_batch_free(b);

    // no halving allowed: the world freezes at its last good state and says so
    cfg.max_halvings = 0, cfg.max_iterations = 1, cfg.worlds = 2;
    b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats two[2];
    double q[2][80], v[2][80];
    ctn_batch_state(b, q[0], v[0]);
    for (int k = 0; k < 80; k++) q[1][k] = v[1][k] = 0;  // the second world hangs at rest: nothing to solve
    ck_assert(ctn_batch_set_state(b, q[0], v[0], 0, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 5, two, &err), CTN_FROZEN);
    ck_assert_msg(strstr(err.message, "world 0 is frozen") != NULL, "%s", err.message);
    ck_assert_int_eq(two[0].frozen, CTN_FREEZE_NOT_CONVERGED);
    ck_assert_int_eq(two[1].frozen, CTN_RUNNING);
    ck_assert_int_eq(two[1].steps, 5);
    ck_assert(ctn_batch_time(b, 0) == two[0].frozen_time && fabs(ctn_batch_time(b, 1) - 0.5) < 1e-15);
    double q2[2][80];
    ctn_batch_state(b, q2[0], NULL);
    for (int k = 0; k < 80; k++) ck_assert(isfinite(q2[0][k]));
    // still frozen at the next call, running again after set_state
    ck_assert_int_eq(ctn_batch_step(b, 1, two, NULL), CTN_FROZEN);
    ck_assert_int_eq(two[0].steps, 0);
    for (int k = 0; k < 80; k++) q[0][k] = v[0][k] = 0;
    ck_assert(ctn_batch_set_state(b, q[0], v[0], 3, NULL) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, 1, two, NULL), CTN_OK);
    ck_assert(fabs(ctn_batch_time(b, 0) - 3.1) < 1e-12);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

START_TEST(a_world_that_blows_up_freezes)
{
    ctn_model *m = swing(10, 0.1);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_EULER, cfg.dt = 0.05, cfg.worlds = 2;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    double q[40], v[40] = {0};
    ctn_model_initial_state(m, q, NULL);
    for (int k = 20; k < 40; k++) q[k] = 0;
    ck_assert(ctn_batch_set_state(b, q, v, 0, NULL) == CTN_OK);
    ctn_step_stats s[2];
    ctn_error err = {0};
    ck_assert_int_eq(ctn_batch_step(b, 2000, s, &err), CTN_FROZEN);
    ck_assert(s[0].frozen == CTN_FREEZE_NOT_FINITE || s[0].frozen == CTN_FREEZE_ANGLE);
    ck_assert_int_eq(s[1].frozen, CTN_RUNNING);
    ck_assert_int_eq(s[1].steps, 2000);
    ck_assert_int_lt(s[0].steps, 2000);
    ck_assert(fabs(s[0].frozen_time - 0.05 * (double)s[0].steps) < 1e-12);
    ctn_batch_state(b, q, v);
    for (int k = 0; k < 40; k++) ck_assert(isfinite(q[k]) && isfinite(v[k]));
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Free motion without any energy but rounding in it: nothing to solve, nothing to shorten.
START_TEST(coasting_takes_one_newton_step)
{
    ctn_model *m =
        model_of("catena: 1\ngravity: [0, 0, 0]\nlinks:\n"
                 "  - {name: a, joint: {type: prismatic, axis: [0.3, 0.5, 0.81]}, mass: 0.7, inertia: [0, 0, 0, 0, 0, 0]}\n"
                 "  - {name: b, parent: a, joint: {type: prismatic, axis: [1, 0.2, 0]}, mass: 0.3, inertia: [0, 0, 0, 0, 0, 0]}\n"
                 "state: {q: [0.1, 0.3], v: [0.37, -0.11]}\n");
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.dt = 0.013;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats s;
    ck_assert_int_eq(ctn_batch_step(b, 1000, &s, NULL), CTN_OK);
    ck_assert_int_eq(s.iterations, 1000);
    ck_assert_int_eq(s.line_search, 0);
    double q[2], v[2];
    ctn_batch_state(b, q, v);
    ck_assert(fabs(q[0] - (0.1 + 13 * 0.37)) < 1e-10 && fabs(q[1] - (0.3 - 13 * 0.11)) < 1e-10);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// One call of many steps, many calls of one, and a run that was saved and restored: the same bits.
START_TEST(calls_and_saved_states)
{
    for (int method = 0; method < 2; method++) {
        const random_options o = {.links = 7, .passive = true};
        ctn_model *m = random_model(5, &o);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), W = 5;
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = method ? CTN_COLLOCATION : CTN_RK3, cfg.dt = method ? 0.05 : 0.001, cfg.worlds = (int)W;
        double *q[3], *v[3];
        for (int s = 0; s < 3; s++) q[s] = malloc(W * nq * sizeof **q), v[s] = malloc(W * nv * sizeof **v);
        rng r = {9};
        for (size_t w = 0; w < W; w++) random_state(m, &r, q[0] + w * nq, v[0] + w * nv);
        ctn_batch *b[3];
        for (int s = 0; s < 3; s++) b[s] = ctn_batch_create(m, &cfg, NULL), ctn_batch_set_state(b[s], q[0], v[0], 1, NULL);
        ctn_batch_step(b[0], 40, NULL, NULL);
        for (int k = 0; k < 40; k++) ctn_batch_step(b[1], 1, NULL, NULL), ctn_batch_state(b[1], q[1], v[1]);
        ctn_batch_step(b[1], 0, NULL, NULL);
        const size_t size = ctn_batch_saved_size(b[2]);
        void *block = malloc(size);
        ctn_batch_step(b[2], 17, NULL, NULL);
        ctn_batch_save(b[2], block);
        ctn_batch_step(b[2], 100, NULL, NULL);
        ctn_error err = {0};
        ck_assert_msg(ctn_batch_restore(b[2], block, size, &err) == CTN_OK, "%s", err.message);
        ctn_batch_step(b[2], 23, NULL, NULL);
        for (int s = 0; s < 3; s++) {
            ctn_batch_state(b[s], q[s], v[s]);
            ck_assert_msg(!memcmp(q[s], q[0], W * nq * sizeof **q) && !memcmp(v[s], v[0], W * nv * sizeof **v), "way %d", s);
            ck_assert(fabs(ctn_batch_time(b[s], 2) - 1 - 40 * cfg.dt) < 1e-12);
        }
        // a block of another configuration is refused
        cfg.dt *= 2;
        ctn_batch *other = ctn_batch_create(m, &cfg, NULL);
        ck_assert_int_eq(ctn_batch_restore(other, block, size, &err), CTN_BAD_ARGUMENT);
        ck_assert_int_eq(ctn_batch_restore(b[0], block, size - 8, &err), CTN_BAD_ARGUMENT);
        ctn_batch_free(other);
        free(block);
        for (int s = 0; s < 3; s++) ctn_batch_free(b[s]), free(q[s]), free(v[s]);
        ctn_model_free(m);
    }
}
END_TEST

/// A far world: a swinging chain 100 km away moves as at the origin.
START_TEST(far_from_the_origin)
{
    static const char text[] =
        "catena: 1\nlinks:\n  - name: a\n    position: [%g, %g, %g]\n    joint: {type: ball}\n    mass: 1\n"
        "    com: [0.3, 0, 0]\n    inertia: [0.01, 0.02, 0.03, 0, 0, 0]\n"
        "  - name: b\n    parent: a\n    position: [0.6, 0, 0]\n    joint: {type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]}\n"
        "    mass: 1\n    com: [0.3, 0, 0]\n    inertia: [0.01, 0.02, 0.03, 0, 0, 0]\n";
    double q[2][6], v[2][5];
    for (int s = 0; s < 2; s++) {
        char here[1000];
        snprintf(here, sizeof here, text, s * 1e5, s * -1e5, s * 1e5);
        ctn_model *m = model_of(here);
        ctn_batch *b = open_batch(m, 1e-4, 1e-9, 1);
        ctn_step_stats stats;
        ck_assert_int_eq(ctn_batch_step(b, 2000, &stats, NULL), CTN_OK);
        ck_assert(stats.iterations <= 3 * stats.steps);
        ctn_batch_state(b, q[s], v[s]);
        ctn_batch_free(b), ctn_model_free(m);
    }
    for (int k = 0; k < 6; k++) ck_assert_msg(fabs(q[0][k] - q[1][k]) < 1e-9, "q[%d]: %.17g %.17g", k, q[0][k], q[1][k]);
}
END_TEST

/// Everything created is destroyed: run under a leak checker, this is the test of it.
START_TEST(a_thousand_models)
{
    char *text = random_scene(3, &(random_options){.links = 5, .passive = true});
    for (int k = 0; k < 1000; k++) {
        ctn_error err = {0};
        ctn_scene *scene = ctn_scene_parse(text, strlen(text), "text", &err);
        ctn_model *m = scene ? ctn_model_create(scene, &err) : NULL;
        ck_assert_msg(m != NULL, "%s", err.message);
        ctn_batch *b = open_batch(m, 0.01, 1e-9, 1 + k % 3);
        ctn_batch_step(b, 2, NULL, NULL);
        ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(scene);
    }
    free(text);
}
END_TEST

/// 200 light links, straight and horizontal, in steps of 0.1 s: as near the start as 56 s a Newton step of thousands of turns
/// used to be taken, and the world to freeze. Nothing winds up, and the chain comes to hang.
START_TEST(nothing_winds_up)
{
    ctn_model *m = swing(200, 0);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.dt = 0.1;
    ctn_batch *b = ctn_batch_create(m, &cfg, NULL);
    ctn_step_stats stats;
    ctn_error err = {0};
    ck_assert_msg(ctn_batch_step(b, 1000, &stats, &err) == CTN_OK, "%s", err.message);
    double q[400];
    ctn_batch_state(b, q, NULL);
    for (int k = 0; k < 400; k++) ck_assert_msg(fabs(q[k]) < 20, "q[%d] = %g", k, q[k]);
    ck_assert_msg(fabs(stats.energy_after + 9.81) < 1e-3, "energy %g J at the end", stats.energy_after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// A tree in steps that let a solve end in a minimum of the step's energy above that at rest: it gained 5e5 J of the 200 that it
/// has. There is a lower one.
static const char lower_minimum[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: l0, position: [-0.032, 0.042, 0.3], rotation: [0.8, 0.19, -0.42, 0.39], joint: {type:\n"
    "     universal, axis: [0, 0, 1], axis2: [0, 1, 0], q0: [0.33, 0.23], limits: [[-0.59, 0.65], [-0.59,\n"
    "     0.65]], limit_damping: 0.87}, mass: 1.5, com: [-0.064, -0.065, -0.09], inertia: [0.013, 0.021,\n"
    "     0.013, 0, 0, 0]}\n"
    "  - {name: l1, parent: l0, position: [0.17, -0.28, -0.23], joint: {type: revolute, axis: [0.76,\n"
    "     -1.5, -0.21], v0: -1.7, armature: 0.093}, mass: 1.5, com: [-0.079, 0.009, -0.011], inertia:\n"
    "     [0.0094, 0.018, 0.012, 0, 0, 0]}\n"
    "  - {name: l2, parent: l1, position: [0.048, -0.17, 0.063], joint: {type: revolute, axis: [0, 0,\n"
    "     1], q0: 0.6, limits: [-0.36, 0.69]}, mass: 0.73, com: [-0.093, -0.016, -0.091], inertia:\n"
    "     [0.0042, 0.002, 0.0041, 0, 0, 0]}\n"
    "  - {name: l3, parent: l2, position: [0.026, -0.066, -0.15], joint: {type: ball, v0: [0.062,\n"
    "     -0.78, -0.51], armature: 0.044, limits: 0.57}, mass: 1.6, com: [0.059, 0.057, -0.078], inertia:\n"
    "     [0.012, 0.0022, 0.012, 0, 0, 0]}\n"
    "  - {name: l4, parent: l3, position: [-0.25, 0.032, -0.13], joint: {type: prismatic, axis: [0, 0,\n"
    "     1], q0: -0.37, v0: 1.7}, mass: 0.75, com: [0.053, -0.0019, 0.085], inertia: [0.0056, 0.0038,\n"
    "     0.0021, 0, 0, 0]}\n"
    "  - {name: l5, parent: l4, position: [-0.28, -0.023, -0.14], joint: {type: universal, axis: [0, 1,\n"
    "     0], axis2: [0, 0, 1], v0: [0.91, 1.8], stiffness: 34000.0}, mass: 0.53, com: [0.05, -0.084,\n"
    "     0.017], inertia: [0.0035, 0.003, 0.0034, 0, 0, 0]}\n"
    "  - {name: l6, parent: l5, position: [-0.2, 0.12, 0.27], joint: {type: ball, v0: [-0.4, 1.8,\n"
    "     -1.6], limits: 0.44}, mass: 0.99, com: [0.086, 0.045, 0.054], inertia: [0.005, 0.0019, 0.0056,\n"
    "     0, 0, 0]}\n"
    "  - {name: l7, parent: l6, position: [0.25, 0.2, 0.13], rotation: [-0.57, 0.1, -0.33, -0.75],\n"
    "     joint: {type: universal, axis: [0, 0, 1], axis2: [0, 1, 0], armature: 0.092}, mass: 1.0, com:\n"
    "     [-0.059, 0.019, 0.051], inertia: [0.011, 0.008, 0.0076, 0, 0, 0]}\n";

START_TEST(takes_a_lower_minimum)
{
    ctn_error err;
    ctn_model *const m = model_of(lower_minimum);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = 0.182;
    for (int by = 0; by < 2; by++) {
        cfg.schedule = by ? CTN_BY_ITERATION : CTN_BY_STEP;
        ctn_batch *const batch = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(batch != NULL, "%s", err.message);
        ctn_step_stats s;
        ctn_batch_step(batch, 100, &s, NULL);
        ck_assert_msg(!s.frozen && s.energy_max <= s.energy_before, "from %g to %g J", s.energy_before, s.energy_max);
        ctn_batch_free(batch);
    }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("collocation");
    TCase *t = tcase_create("collocation");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, golden_steps, 0, 5);
    tcase_add_test(t, takes_a_lower_minimum);
    tcase_add_test(t, iterations);
    tcase_add_loop_test(t, long_runs, 0, 4);
    tcase_add_test(t, a_step_minimises);
    tcase_add_test(t, joint_terms_by_hand);
    tcase_add_test(t, momentum_in_free_flight);
    tcase_add_test(t, halved_steps);
    tcase_add_test(t, a_world_that_blows_up_freezes);
    tcase_add_test(t, coasting_takes_one_newton_step);
    tcase_add_test(t, calls_and_saved_states);
    tcase_add_test(t, far_from_the_origin);
    tcase_add_test(t, a_thousand_models);
    tcase_add_test(t, nothing_winds_up);
    suite_add_tcase(s, t);
    return run_suite(s);
}
