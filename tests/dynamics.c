/// Kinematics and dynamics: against the golden numbers on every engine, and by their laws on random forests.
#include "tests/golden.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/tangent.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const engines[] = {"scalar", "avx2", "avx512"};

/// Space for what a test computes, NaN so that an element never written fails.
static double *nans(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t k = 0; k < n; k++) x[k] = NAN;
    return x;
}

/// Compares one field of every state of a golden file.
static void check_field(const char *model, const char *engine, const cJSON *states, const char *key, const double *got, int n)
{
    int s = 0;
    for (const cJSON *e = states->child; e; e = e->next, s++) {
        double *want = golden_numbers(e, key, n);
        const double error = relative_error(got + (size_t)s * (size_t)n, want, n);
        ck_assert_msg(error < 1e-12, "%s, %s, state %d: %s is off by %.3g of its largest entry", model, engine, s, key, error);
        free(want);
    }
}

static double *all_states(const cJSON *states, const char *key, int n)
{
    const int count = cJSON_GetArraySize(states);
    double *x = malloc(((size_t)count * (size_t)n + 1) * sizeof *x);
    int s = 0;
    for (const cJSON *e = states->child; e; e = e->next, s++) {
        double *one = golden_numbers(e, key, n);
        memcpy(x + (size_t)s * (size_t)n, one, (size_t)n * sizeof *x);
        free(one);
    }
    return x;
}

START_TEST(golden_numbers_on_every_engine)
{
    const char *name = golden_models[_i];
    cJSON *json = golden_json(name, "dynamics.json");
    const cJSON *states = cJSON_GetObjectItem(json, "states");
    const int count = cJSON_GetArraySize(states);
    ck_assert_int_ge(count, 2);
    ctn_model *m = golden_model(name);
    const int nl = ctn_model_nlink(m), nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    ck_assert_int_eq(nq, cJSON_GetObjectItem(json, "nq")->valueint);
    double *q = all_states(states, "q", nq), *v = all_states(states, "v", nv), *a = all_states(states, "a", nv),
           *tau = all_states(states, "tau_ext", nv);
    int tried = 0;
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        ctn_error err = {0};
        ctn_dynamics *d = ctn_dynamics_create(m, engines[e], &err);
        if (!d) {
            ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
            continue;
        }
        tried++;
        const size_t c = (size_t)count;
        double *R = nans(c * 9 * (size_t)nl), *p = nans(c * 3 * (size_t)nl), *t = nans(c * 6 * (size_t)nl),
               *x = nans(c * (size_t)nv), *H = nans(c * (size_t)nv * (size_t)nv), *J = nans(c * 6 * (size_t)nv);
        ctn_forward_kinematics(d, count, q, R, p);
        check_field(name, engines[e], states, "R", R, 9 * nl);
        check_field(name, engines[e], states, "p", p, 3 * nl);
        ctn_link_twists(d, count, q, v, t);
        check_field(name, engines[e], states, "twist", t, 6 * nl);
        ctn_crba(d, count, q, H);
        check_field(name, engines[e], states, "M", H, nv * nv);
        ctn_bias(d, count, q, v, x);
        check_field(name, engines[e], states, "bias", x, nv);
        ctn_passive(d, count, q, v, x);
        check_field(name, engines[e], states, "passive", x, nv);
        ctn_rnea(d, count, q, v, a, x);
        check_field(name, engines[e], states, "tau_id", x, nv);
        ctn_aba(d, count, q, v, tau, x);
        check_field(name, engines[e], states, "qdd_fd", x, nv);
        ctn_jacobian(d, count, q, nl - 1, J);
        check_field(name, engines[e], states, "J_last", J, 6 * nv);
        ctn_totals *sum = calloc(c, sizeof *sum);
        ctn_energy_momentum(d, count, q, v, sum);
        for (int s = 0; s < count; s++) {
            const cJSON *state = cJSON_GetArrayItem(states, s);
            const struct {
                const char *key;
                const double *got;
                int n;
            } fields[] = {{"kinetic", &sum[s].kinetic, 1},
                          {"potential", &sum[s].potential, 1},
                          {"momentum_linear", sum[s].momentum_linear, 3},
                          {"momentum_angular", sum[s].momentum_angular, 3},
                          {"tree_com", sum[s].com, 3}};
            for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
                double *want = golden_numbers(state, fields[f].key, fields[f].n);
                ck_assert_msg(relative_error(fields[f].got, want, fields[f].n) < 1e-12, "%s, state %d: %s", name, s,
                              fields[f].key);
                free(want);
            }
        }
        free(R), free(p), free(t), free(x), free(H), free(J), free(sum);
        ctn_dynamics_free(d);
    }
    ck_assert_int_ge(tried, 1);
    free(q), free(v), free(a), free(tau);
    ctn_model_free(m);
    cJSON_Delete(json);
}
END_TEST

/// A random model with a random state, and its dynamics.
typedef struct {
    ctn_model *m;
    ctn_dynamics *d;
    int nq, nv, nl;
    rng r;
    double *q, *v, *a, *tau, *x, *H;
} fixture;

static fixture open_fixture(uint64_t seed, const random_options *o)
{
    fixture f = {.m = random_model(seed, o), .r = {seed ^ 0x5eed}};
    f.nq = ctn_model_nq(f.m), f.nv = ctn_model_nv(f.m), f.nl = ctn_model_nlink(f.m);
    f.d = ctn_dynamics_create(f.m, NULL, NULL);
    const size_t n = (size_t)f.nv;
    f.q = nans((size_t)f.nq), f.v = nans(n), f.a = nans(n), f.tau = nans(n), f.x = nans(n), f.H = nans(n * n);
    random_state(f.m, &f.r, f.q, f.v);
    for (int k = 0; k < f.nv; k++) f.a[k] = rng_uniform(&f.r, -5, 5);
    return f;
}

static void close_fixture(fixture *f)
{
    ctn_dynamics_free(f->d);
    ctn_model_free(f->m);
    free(f->q), free(f->v), free(f->a), free(f->tau), free(f->x), free(f->H);
}

static int size_of(uint64_t seed)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 13, 31, 32, 33, 64, 127, 128, 129};
    return sizes[seed % (sizeof sizes / sizeof *sizes)];
}

START_TEST(inverse_undoes_forward)
{
    FOR_SEEDS(seed, 120)
    {
        // in long chains the terms of the inverse dynamics cancel far below 1e-10 of their size: trees up to 129, chains up to 33
        const bool chain = seed % 5 == 0;
        const int links = size_of(seed);
        const random_options o = {.links = chain && links > 33 ? 33 : links, .passive = seed % 2, .chain = chain};
        fixture f = open_fixture(seed, &o);
        if (f.nv > 0) {
            // H a + c is what applied and passive forces give together
            double *passive = nans((size_t)f.nv);
            for (int k = 0; k < f.nv; k++) f.tau[k] = rng_uniform(&f.r, -5, 5);
            ctn_aba(f.d, 1, f.q, f.v, f.tau, f.a);
            ctn_rnea(f.d, 1, f.q, f.v, f.a, f.x);
            ctn_passive(f.d, 1, f.q, f.v, passive);
            for (int k = 0; k < f.nv; k++) f.tau[k] += passive[k];
            const double error = relative_error(f.x, f.tau, f.nv);
            ck_assert_msg(error < 1e-10, "seed %llu: ID(FD(tau)) is off by %.3g", (unsigned long long)seed, error);
            free(passive);
        }
        close_fixture(&f);
    }
}
END_TEST

START_TEST(crba_columns_are_inverse_dynamics)
{
    FOR_SEEDS(seed, 60)
    {
        const random_options o = {.links = size_of(seed) > 40 ? 40 : size_of(seed), .passive = true};
        fixture f = open_fixture(seed, &o);
        double *bias = nans((size_t)f.nv);
        ctn_crba(f.d, 1, f.q, f.H);
        ctn_bias(f.d, 1, f.q, f.v, bias);
        double scale = 0;
        for (int k = 0; k < f.nv * f.nv; k++) scale = fmax(scale, fabs(f.H[k]));
        for (int j = 0; j < f.nv; j++) {
            for (int k = 0; k < f.nv; k++) f.a[k] = k == j;
            ctn_rnea(f.d, 1, f.q, f.v, f.a, f.tau);
            for (int k = 0; k < f.nv; k++) {
                ck_assert_msg(fabs(f.tau[k] - bias[k] - f.H[k * f.nv + j]) < 1e-11 * (scale + fabs(bias[k])),
                              "seed %llu: H[%d][%d]", (unsigned long long)seed, k, j);
                ck_assert(f.H[k * f.nv + j] == f.H[j * f.nv + k]);
            }
        }
        free(bias);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(jacobian_gives_the_twist)
{
    FOR_SEEDS(seed, 60)
    {
        const random_options o = {.links = size_of(seed)};
        fixture f = open_fixture(seed, &o);
        double *J = nans(6 * (size_t)f.nv), *t = nans(6 * (size_t)f.nl);
        ctn_link_twists(f.d, 1, f.q, f.v, t);
        const int link = rng_below(&f.r, f.nl);
        ctn_jacobian(f.d, 1, f.q, link, J);
        for (int row = 0; row < 6; row++) {
            double x = 0, size = 1;
            for (int k = 0; k < f.nv; k++) x += J[row * f.nv + k] * f.v[k], size += fabs(J[row * f.nv + k] * f.v[k]);
            ck_assert_msg(fabs(x - t[6 * link + row]) < 1e-13 * size, "seed %llu: link %d row %d", (unsigned long long)seed, link,
                          row);
        }
        free(J), free(t);
        close_fixture(&f);
    }
}
END_TEST

/// How the point, the centre of mass and the momentum move along the motion that v is, by differences of second order.
START_TEST(jacobians_are_rates)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = size_of(seed) > 33 ? 33 : size_of(seed)};
        fixture f = open_fixture(seed, &o);
        const size_t nv = (size_t)f.nv, nl = (size_t)f.nl;
        const int link = rng_below(&f.r, f.nl);
        const double h = 1e-6, point[3] = {rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1)};
        double *J = nans(3 * nv), *C = nans(3 * nv), *A = nans(6 * nv), *R = nans(9 * nl), *p = nans(3 * nl), at[2][3];
        double *y = nans((size_t)ctn_model_nq(f.m)), *back = nans(nv);
        ctn_totals t[2], now;
        ctn_point_jacobian(f.d, 1, f.q, link, point, J);
        ctn_com_jacobian(f.d, 1, f.q, C);
        ctn_centroidal_matrix(f.d, 1, f.q, A);
        ctn_energy_momentum(f.d, 1, f.q, f.v, &now);
        for (int side = 0; side < 2; side++) {
            ctn_model_integrate(f.m, 1, f.q, f.v, side ? h : -h, y);
            ctn_forward_kinematics(f.d, 1, y, R, p);
            ctn_energy_momentum(f.d, 1, y, f.v, &t[side]);
            for (int i = 0; i < 3; i++) {
                const double *const row = R + 9 * link + 3 * i;
                at[side][i] = p[3 * link + i] + row[0] * point[0] + row[1] * point[1] + row[2] * point[2];
            }
            ctn_model_difference(f.m, 1, f.q, y, back);
            for (size_t k = 0; k < nv; k++) ck_assert(fabs(back[k] - (side ? h : -h) * f.v[k]) < 1e-15 * (1 + fabs(f.v[k])));
        }
        for (int i = 0; i < 3; i++) {
            double of_point = 0, of_com = 0, linear = 0, angular = 0, size = 1;
            for (size_t k = 0; k < nv; k++) {
                of_point += J[(size_t)i * nv + k] * f.v[k], of_com += C[(size_t)i * nv + k] * f.v[k];
                angular += A[(size_t)i * nv + k] * f.v[k], linear += A[(size_t)(3 + i) * nv + k] * f.v[k];
                size += fabs(J[(size_t)i * nv + k] * f.v[k]);
            }
            const double *const l = now.momentum_linear, *const c = now.com;
            const int a = (i + 1) % 3, b = (i + 2) % 3;
            const double about_com = now.momentum_angular[i] - (c[a] * l[b] - c[b] * l[a]);
            const double moved = (at[1][i] - at[0][i]) / (2 * h), com = (t[1].com[i] - t[0].com[i]) / (2 * h);
            ck_assert_msg(fabs(of_point - moved) < 1e-7 * size, "seed %llu: point %g, %g", (unsigned long long)seed, of_point,
                          moved);
            ck_assert_msg(fabs(of_com - com) < 1e-7 * size, "seed %llu: com %g, %g", (unsigned long long)seed, of_com, com);
            ck_assert(fabs(linear - l[i]) < 1e-11 * size * now.mass);
            ck_assert(fabs(angular - about_com) < 1e-10 * size * now.mass * (1 + fabs(c[a]) + fabs(c[b])));
        }
        ctn_point_jacobian(f.d, 1, f.q, f.nl, point, J);
        ck_assert(!nv || isnan(J[0]));
        free(J), free(C), free(A), free(R), free(p), free(y), free(back);
        close_fixture(&f);
    }
}
END_TEST

/// Far apart, too, difference is what integrate takes back; quaternions stay of unit length.
START_TEST(differences_are_taken_back)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = size_of(seed)};
        fixture f = open_fixture(seed, &o);
        const int nq = ctn_model_nq(f.m);
        double *const to = nans((size_t)nq), *const v = nans((size_t)f.nv), *const end = nans((size_t)nq);
        for (int k = 0; k < f.nv; k++) v[k] = rng_uniform(&f.r, -3, 3);
        ctn_model_integrate(f.m, 1, f.q, v, 0.7, to);
        ctn_model_difference(f.m, 1, f.q, to, v);
        ctn_model_integrate(f.m, 1, f.q, v, 1, end);
        ck_assert_msg(coordinate_distance(f.m, end, to) < 1e-13, "seed %llu: %g", (unsigned long long)seed,
                      coordinate_distance(f.m, end, to));
        free(to), free(v), free(end);
        close_fixture(&f);
    }
}
END_TEST

/// d/dt of energy = (tau + dampers) . v, by differences along the motion that forward dynamics gives.
START_TEST(power_balance)
{
    FOR_SEEDS(seed, 60)
    {
        const random_options o = {.links = size_of(seed) > 33 ? 33 : size_of(seed), .passive = true};
        fixture f = open_fixture(seed, &o);
        double *passive = nans((size_t)f.nv), *still = calloc((size_t)f.nv + 1, sizeof *still), *spring = nans((size_t)f.nv);
        for (int k = 0; k < f.nv; k++) f.tau[k] = rng_uniform(&f.r, -3, 3);
        ctn_aba(f.d, 1, f.q, f.v, f.tau, f.a);
        ctn_passive(f.d, 1, f.q, f.v, passive);
        ctn_passive(f.d, 1, f.q, still, spring);
        double power = 0, size = 1;
        for (int k = 0; k < f.nv; k++) {
            const double p = (f.tau[k] + passive[k] - spring[k]) * f.v[k];
            power += p, size += fabs(p);
        }
        double E[4], q[512], v[512];
        const double e = 1e-4, at[4] = {-2 * e, -e, e, 2 * e};
        ck_assert(f.nq < 512);
        for (int s = 0; s < 4; s++) {
            // second order in time: q(t) along v + a t / 2
            double w[512];
            for (int k = 0; k < f.nv; k++) w[k] = f.v[k] + 0.5 * at[s] * f.a[k], v[k] = f.v[k] + at[s] * f.a[k];
            tangent_move(f.m, f.q, w, at[s], q);
            ctn_totals t;
            ctn_energy_momentum(f.d, 1, q, v, &t);
            E[s] = t.kinetic + t.potential + t.spring;
            size = fmax(size, fabs(E[s]));
        }
        const double rate = (8 * (E[2] - E[1]) - (E[3] - E[0])) / (12 * e);
        ck_assert_msg(fabs(rate - power) < 2e-5 * size, "seed %llu: dE/dt %.9g, power %.9g", (unsigned long long)seed, rate,
                      power);
        free(passive), free(still), free(spring);
        close_fixture(&f);
    }
}
END_TEST

/// In free flight the momentum changes by the weight alone, whatever the joints do.
START_TEST(momentum_in_free_flight)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = size_of(seed), .floating = true, .no_gravity = seed % 2};
        fixture f = open_fixture(seed, &o);
        for (int k = 0; k < f.nv; k++) f.tau[k] = k < 6 ? 0 : rng_uniform(&f.r, -3, 3);
        ctn_aba(f.d, 1, f.q, f.v, f.tau, f.a);
        ctn_totals t[2], now;
        ctn_energy_momentum(f.d, 1, f.q, f.v, &now);
        const double e = 1e-5;
        for (int s = 0; s < 2; s++) {
            const double d = s ? e : -e;
            double q[1024], v[1024], w[1024];
            ck_assert(f.nq < 1024);
            for (int k = 0; k < f.nv; k++) w[k] = f.v[k] + 0.5 * d * f.a[k], v[k] = f.v[k] + d * f.a[k];
            tangent_move(f.m, f.q, w, d, q);
            ctn_energy_momentum(f.d, 1, q, v, &t[s]);
        }
        const double g = seed % 2 ? 0 : -9.81;
        const double weight[3] = {0, 0, g * now.mass}, moment[3] = {now.com[1] * weight[2], -now.com[0] * weight[2], 0};
        double size = now.mass * 20;
        for (int k = 0; k < 3; k++) size += fabs(now.momentum_linear[k]) + fabs(now.momentum_angular[k]);
        for (int k = 0; k < 3; k++) {
            const double l = (t[1].momentum_linear[k] - t[0].momentum_linear[k]) / (2 * e);
            const double h = (t[1].momentum_angular[k] - t[0].momentum_angular[k]) / (2 * e);
            ck_assert_msg(fabs(l - weight[k]) < 1e-6 * size, "seed %llu: linear %d", (unsigned long long)seed, k);
            ck_assert_msg(fabs(h - moment[k]) < 1e-6 * size, "seed %llu: angular %d: %.9g %.9g", (unsigned long long)seed, k, h,
                          moment[k]);
        }
        close_fixture(&f);
    }
}
END_TEST

/// The same forest with the world turned and moved, its links renamed and listed in another order, moves in the same way.
START_TEST(invariance)
{
    FOR_SEEDS(seed, 40)
    {
        random_options o = {.links = size_of(seed) > 64 ? 64 : size_of(seed),
                            .passive = true,
                            .joints = ~(1u << CTN_FREE),
                            .springs = (int)(seed % 4),
                            .wrenches = (int)(seed % 3)};
        fixture f = open_fixture(seed, &o);
        rng r = {seed};
        for (int k = 0; k < 3; k++) o.shift[k] = rng_uniform(&r, -1000, 1000);
        rng_quaternion(&r, o.turn);
        o.reverse = true;
        fixture g = open_fixture(seed, &o);
        for (int k = 0; k < f.nv; k++) f.tau[k] = rng_uniform(&f.r, -3, 3);
        for (int l = 0; l < f.nl; l++) {
            const ctn_link *a = ctn_model_link(f.m, l);
            char name[64];
            snprintf(name, sizeof name, "other%s", a->name + 1);
            const ctn_link *b = ctn_model_link(g.m, ctn_model_find(g.m, name));
            ck_assert(b && b->nv == a->nv && b->joint == a->joint);
            memcpy(g.q + b->qadr, f.q + a->qadr, (size_t)a->nq * sizeof *g.q);
            memcpy(g.v + b->vadr, f.v + a->vadr, (size_t)a->nv * sizeof *g.v);
            memcpy(g.tau + b->vadr, f.tau + a->vadr, (size_t)a->nv * sizeof *g.tau);
        }
        ctn_aba(f.d, 1, f.q, f.v, f.tau, f.x);
        ctn_aba(g.d, 1, g.q, g.v, g.tau, g.x);
        double size = 1;
        for (int k = 0; k < f.nv; k++) size = fmax(size, fabs(f.x[k]));
        for (int l = 0; l < f.nl; l++) {
            const ctn_link *a = ctn_model_link(f.m, l);
            char name[64];
            snprintf(name, sizeof name, "other%s", a->name + 1);
            const ctn_link *b = ctn_model_link(g.m, ctn_model_find(g.m, name));
            for (int k = 0; k < a->nv; k++)
                ck_assert_msg(fabs(f.x[a->vadr + k] - g.x[b->vadr + k]) < 1e-9 * size, "seed %llu: link %s: %.17g %.17g",
                              (unsigned long long)seed, a->name, f.x[a->vadr + k], g.x[b->vadr + k]);
        }
        close_fixture(&f), close_fixture(&g);
    }
}
END_TEST

/// A rigid link split in two by a fixed joint is the same link.
START_TEST(a_fixed_joint_changes_nothing)
{
    static const char whole[] =
        "catena: 1\nlinks:\n"
        "  - name: a\n    joint: {type: revolute, axis: [0, 1, 0]}\n    mass: 3\n    com: [0.2, 0.1, 0]\n"
        "    inertia: [0.105, 0.42, 0.525, -0.03, 0, 0]\n"
        "  - name: b\n    parent: a\n    position: [0.5, 0.1, 0]\n    joint: {type: revolute, axis: [0, 0, 1]}\n"
        "    mass: 1\n    com: [0.1, 0, 0]\n    inertia: [0.01, 0.02, 0.02, 0, 0, 0]\n";
    // 3 kg at (0.2, 0.1): 1 kg at the origin and 2 kg at (0.3, 0.15); inertias about their own centres of mass
    static const char split[] =
        "catena: 1\nlinks:\n"
        "  - name: a\n    joint: {type: revolute, axis: [0, 1, 0]}\n    mass: 1\n    com: [0, 0, 0]\n"
        "    inertia: [0.04, 0.16, 0.2, 0, 0, 0]\n"
        "  - name: half\n    parent: a\n    position: [0.3, 0.15, 0]\n    euler: [0, 0, 1.5707963267948966]\n"
        "    joint: fixed\n    mass: 2\n    inertia: [0.2, 0.05, 0.25, 0, 0, 0]\n"
        "  - name: b\n    parent: half\n    position: [-0.05, -0.2, 0]\n    euler: [0, 0, -1.5707963267948966]\n"
        "    joint: {type: revolute, axis: [0, 0, 1]}\n"
        "    mass: 1\n    com: [0.1, 0, 0]\n    inertia: [0.01, 0.02, 0.02, 0, 0, 0]\n";
    const char *texts[2] = {whole, split};
    double x[2][2];
    for (int s = 0; s < 2; s++) {
        ctn_error err = {0};
        ctn_scene *scene = ctn_scene_parse(texts[s], strlen(texts[s]), "text", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *m = ctn_model_create(scene, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        ctn_dynamics *d = ctn_dynamics_create(m, "scalar", NULL);
        ctn_aba(d, 1, (double[]){0.3, -0.7}, (double[]){1, 2}, NULL, x[s]);
        ctn_dynamics_free(d), ctn_model_free(m), ctn_scene_free(scene);
    }
    ck_assert(fabs(x[0][0] - x[1][0]) + fabs(x[0][1] - x[1][1]) < 1e-13 * fabs(x[0][0]));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dynamics");
    TCase *t = tcase_create("dynamics");
    tcase_set_timeout(t, 120);
    int models = 0;
    while (golden_models[models]) models++;
    tcase_add_loop_test(t, golden_numbers_on_every_engine, 0, models);
    tcase_add_test(t, inverse_undoes_forward);
    tcase_add_test(t, crba_columns_are_inverse_dynamics);
    tcase_add_test(t, jacobian_gives_the_twist);
    tcase_add_test(t, jacobians_are_rates);
    tcase_add_test(t, differences_are_taken_back);
    tcase_add_test(t, power_balance);
    tcase_add_test(t, momentum_in_free_flight);
    tcase_add_test(t, invariance);
    tcase_add_test(t, a_fixed_joint_changes_nothing);
    suite_add_tcase(s, t);
    return run_suite(s);
}
