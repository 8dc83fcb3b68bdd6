/// The discrete Euler-Lagrange equations against differences of the discrete Lagrangian, which is formed from absolute poses by
/// its definition; the Newton sweep against differences of the equations and LAPACK.
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <lapacke.h>
#include <stdio.h>

typedef struct {
    ctn_model *model;
    lane_model *m;
    block_work W;
    void *work;
    double *q, *p, *force, *still;
} fixture;

static const ctn_batch_config variational = {.method = CTN_VARIATIONAL};

/// A random model in the middle of a step from a random state. h may be negative.
static fixture open_fixture(uint64_t seed, const random_options *o, double h, double reach)
{
    fixture f = {.model = random_model(seed, o)};
    const lane_model *m = f.m = scalar_lanes(f.model);
    rng r = {seed * 3 + 1};
    const size_t nq = (size_t)m->nq + 1, nv = (size_t)m->nv + 1;
    f.work = aligned_alloc(64, work_size(m, &variational) + 64);
    f.W = open_work(m, &variational, f.work);
    f.q = calloc(nq, sizeof *f.q), f.p = calloc(nv, sizeof *f.p), f.force = calloc(nv, sizeof *f.p),
    f.still = calloc(nv, sizeof *f.p);
    double *v = calloc(nv, sizeof *v);
    variational_work *P = &f.W.va;
    chord *W = &P->W;
    random_state(f.model, &r, f.q, v);
    for (int k = 0; k < m->nv; k++) f.p[k] = rng_uniform(&r, -1, 1), f.force[k] = rng_uniform(&r, -1, 1);
    W->q = f.q, W->h = h, W->inv_h = 1 / h, W->theta = o->conservative ? 0.5 : rng_uniform(&r, 0.5, 1);
    start_chord(m, W, f.p, f.force);
    rest_chord(m, P->base);
    for (int k = 0; k < m->nv; k++) P->d[k] = reach * v[k];
    move_chord(m, P, 1, true);
    chord_residual(m, W);
    free(v);
    return f;
}

static void close_fixture(fixture *f)
{
    free(f->m), ctn_model_free(f->model);
    free(f->work), free(f->q), free(f->p), free(f->force), free(f->still);
}

/// L(q0, q1) by its definition, without springs and limits, whose forces the equations take at q0 and q1.
static double lagrangian(fixture *f, const double *q0, const double *q1)
{
    const lane_model *m = f->m;
    const double h = f->W.va.W.h;
    pose *T = malloc(2 * ((size_t)m->nbody + 1) * sizeof *T), *T1 = T + m->nbody;
    body_poses(m, q0, T);
    body_poses(m, q1, T1);
    double L = 0;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        const double M[4][4] = {{given(b)->S[0], given(b)->S[3], given(b)->S[4], given(b)->h[0]},
                                {given(b)->S[3], given(b)->S[1], given(b)->S[5], given(b)->h[1]},
                                {given(b)->S[4], given(b)->S[5], given(b)->S[2], given(b)->h[2]},
                                {given(b)->h[0], given(b)->h[1], given(b)->h[2], given(b)->mass}};
        const vec3 column[4] = {sub(T1[i].R.x, T[i].R.x), sub(T1[i].R.y, T[i].R.y), sub(T1[i].R.z, T[i].R.z),
                                sub(T1[i].p, T[i].p)};
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) L += M[j][k] * dot(column[j], column[k]) / (2 * h);
        const pose *end[] = {&T[i], &T1[i]};
        for (int e = 0; e < 2; e++)  // -U = sum m g.com
            L += h / 2 * dot(load3(m->gravity), add_scaled(mul(end[e]->R, load3(given(b)->h)), end[e]->p, given(b)->mass));
        if (b->kind == JOINT_BALL) {
            double d = 0;
            for (int k = 0; k < 4; k++) d += pow(q1[b->qadr + k] - q0[b->qadr + k], 2);
            L += 4 * given(b)->armature * d / (2 * h);
        } else
            for (int k = 0; k < b->nv; k++) L += given(b)->armature * pow(q1[b->qadr + k] - q0[b->qadr + k], 2) / (2 * h);
    }
    free(T);
    return L;
}

/// The derivative of L by degree of freedom k of q0 (end 0) or q1 (end 1), by differences of the fourth order.
static double slope(fixture *f, const double *q1, int end, int k)
{
    const lane_model *m = f->m;
    const double e = 1e-3, weight[] = {1, -8, 8, -1}, at[] = {-2, -1, 1, 2};
    double s = 0, *x = malloc((size_t)m->nq * sizeof *x), *u = calloc((size_t)m->nv, sizeof *u);
    for (int i = 0; i < 4; i++) {
        u[k] = at[i] * e;
        config_add(m, end ? q1 : f->q, u, x);
        s += weight[i] * lagrangian(f, end ? f->q : x, end ? x : q1) / (12 * e);
    }
    free(x), free(u);
    return s;
}

/// Impulse of the dampers, b times the chord of the joint, by dof.
static void damping_impulse(const fixture *f, double *out)
{
    const chord *W = &f->W.va.W;
    memset(out, 0, (size_t)f->m->nv * sizeof *out);
    for (int i = 0; i < f->m->nbody; i++) {
        const lane_body *b = &f->m->bodies[i];
        if (!(b->flags & BODY_PASSIVE)) continue;
        const vec3 a = smul(W->start[i].drag, joint_chord(b, W));
        const double rows[3] = {a.x, a.y, a.z};
        memcpy(out + b->vadr, rows, (size_t)b->nv * sizeof *out);
    }
}

/// r = -D1 L - F0 - p0 and p1 = D2 L + F1.
START_TEST(equations_are_those_of_the_lagrangian)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6), .passive = seed % 2, .conservative = seed % 4 == 1};
        const double h = seed % 4 == 1 ? -0.03 : 0.02;
        fixture f = open_fixture(seed, &o, h, 0.1);
        const lane_model *m = f.m;
        const chord *W = &f.W.va.W;
        double *x = calloc((size_t)m->nq + 1, sizeof *x), *drag = calloc((size_t)m->nv + 1, sizeof *x),
               *p1 = calloc((size_t)m->nv + 1, sizeof *x), size = 1;
        end_of_chord(m, f.q, W->step, x);
        damping_impulse(&f, drag);
        chord_momentum(m, W, f.W.va.W.sum, f.force, p1);
        for (int k = 0; k < m->nv; k++) size = fmax(size, fabs(W->r[k]));
        for (int k = 0; k < m->nv; k++) {
            const double r = -slope(&f, x, 0, k) - (h / 2 * f.force[k] - W->theta * drag[k]) - f.p[k];
            const double p = slope(&f, x, 1, k) + h / 2 * f.force[k] - (1 - W->theta) * drag[k];
            ck_assert_msg(fabs(r - W->r[k]) < 1e-8 * size, "seed %llu: row %d: %.9g, of L %.9g", (unsigned long long)seed, k,
                          W->r[k], r);
            ck_assert_msg(fabs(p - p1[k]) < 1e-8 * size, "seed %llu: p1[%d]: %.9g, of L %.9g", (unsigned long long)seed, k, p1[k],
                          p);
        }
        free(x), free(drag), free(p1);
        close_fixture(&f);
    }
}
END_TEST

/// d r / d q1 [nv][nv] in the chart at the iterate, by differences of the fourth order.
static double *dense_matrix(fixture *f)
{
    const lane_model *m = f->m;
    const size_t n = (size_t)m->nv, nq = (size_t)m->nq;
    const double e = 1e-3, weight[] = {1, -8, 8, -1}, at[] = {-2, -1, 1, 2};
    variational_work *P = &f->W.va;
    double *J = calloc(n * n + 1, sizeof *J), *step = malloc((nq + 1) * sizeof *step), *r = malloc((n + 1) * sizeof *r);
    memcpy(step, P->W.step, nq * sizeof *step), memcpy(P->base, step, nq * sizeof *step), memcpy(r, P->W.r, n * sizeof *r);
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < 4; i++) {
            for (size_t j = 0; j < n; j++) P->d[j] = j == k ? at[i] * e : 0;
            move_chord(m, P, 1, true);
            chord_residual(m, &P->W);
            for (size_t j = 0; j < n; j++) J[j * n + k] += weight[i] * P->W.r[j] / (12 * e);
        }
    memcpy(P->W.step, step, nq * sizeof *step);
    chord_residual(m, &P->W);
    for (size_t j = 0; j < n; j++) ck_assert(P->W.r[j] == r[j]);
    free(step), free(r);
    return J;
}

START_TEST(sweep_is_the_dense_newton_step)
{
    int solved = 0, refused = 0;
    FOR_ALL_SEEDS(seed, 200)
    {
        static const int sizes[] = {1, 2, 3, 5, 8, 13, 21};
        const random_options o = {
            .links = sizes[seed % 7], .passive = seed % 2, .chain = seed % 5 == 0, .conservative = seed % 4 == 1};
        fixture f = open_fixture(seed, &o, seed % 4 == 1 ? -0.03 : 0.02, seed % 11 ? 0.1 : 2);
        const int n = f.m->nv;
        double *J = dense_matrix(&f), *x = malloc((size_t)(n + 1) * sizeof *x), *d = malloc((size_t)(n + 1) * sizeof *d),
               worst = 0, size = 0;
        int *pivots = malloc((size_t)(n + 1) * sizeof *pivots);
        for (int k = 0; k < n; k++) x[k] = -f.W.va.W.r[k], d[k] = NAN;
        const bool good = chord_inward(f.m, &f.W.va.W, &f.W.va.sweep, d);
        chord_outward(f.m, &f.W.va.W, &f.W.va.sweep, d);
        solved += good, refused += !good;
        ck_assert_int_eq(n > 0 ? LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, J, n, pivots, x, 1) : 0, 0);
        for (int k = 0; k < n; k++) worst = worse(worst, fabs(x[k] - d[k])), size = fmax(size, fabs(x[k]));
        ck_assert_msg(!good || worst <= 1e-7 * size, "seed %llu: %d links: the sweep is off by %.3g of %.3g",
                      (unsigned long long)seed, o.links, worst, size);
        free(J), free(x), free(d), free(pivots);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_msg(solved > 150 && refused > 3, "%d solved, %d refused", solved, refused);
}
END_TEST

/// Momenta by the sum over bodies and H from CRBA; and back.
START_TEST(momenta)
{
    FOR_SEEDS(seed, 30)
    {
        const random_options o = {.links = 1 + (int)(seed % 12), .passive = seed % 2};
        ctn_model *model = random_model(seed, &o);
        lane_model *m = scalar_lanes(model);
        const size_t nq = (size_t)m->nq, nv = (size_t)m->nv;
        double *q = calloc(nq + 1, 8), *v = calloc(nv + 1, 8), *H = calloc(nv * nv + 1, 8), *p = calloc(nv + 1, 8),
               *u = calloc(nv + 1, 8);
        void *work = aligned_alloc(64, work_size(m, &variational) + 64);
        block_work W = open_work(m, &variational, work);
        rng r = {seed};
        random_state(model, &r, q, v);
        ctn_dynamics *dyn = ctn_dynamics_create(model, NULL, NULL);
        ctn_crba(dyn, 1, q, H);
        momentum_work sums = {W.T, W.D, W.va.W.sum};
        joint_momentum(m, q, v, &sums, p);
        momentum_velocity(m, q, p, &W.po.aba, u);
        for (size_t i = 0; i < nv; i++) {
            double s = 0, size = 1;
            for (size_t j = 0; j < nv; j++) s += H[i * nv + j] * v[j], size += fabs(H[i * nv + j] * v[j]);
            ck_assert_msg(fabs(p[i] - s) < 1e-13 * size, "seed %llu: p[%zu] = %.17g, H v %.17g", (unsigned long long)seed, i,
                          p[i], s);
            ck_assert_msg(fabs(u[i] - v[i]) < 1e-9 * (1 + fabs(v[i])), "seed %llu: v[%zu]", (unsigned long long)seed, i);
        }
        free(q), free(v), free(H), free(p), free(u), free(work);
        ctn_dynamics_free(dyn), free(m), ctn_model_free(model);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("variational_sweep");
    TCase *t = tcase_create("variational_sweep");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, equations_are_those_of_the_lagrangian);
    tcase_add_test(t, sweep_is_the_dense_newton_step);
    tcase_add_test(t, momenta);
    suite_add_tcase(s, t);
    return run_suite(s);
}
