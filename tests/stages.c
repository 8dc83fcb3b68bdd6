/// Position-based methods with several coupled stages, seen from inside: their coefficients, their Newton step, their joint
/// terms.
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const stage_table *const tables[] = {&radau2,       &radau3,       &radau4,      &collocation3,
                                            &collocation4, &collocation5, &collocation6};
enum { TABLES = sizeof tables / sizeof *tables };

/// sum_j w_j ((x + c_j)^n - x^n), in long double, for the monomials below.
static long double weighted(const stage_table *t, const double *w, int n)
{
    long double sum = 0;
    for (int j = 0; j < t->stages; j++) sum += (long double)w[j] * powl(t->c[j], n);
    return sum;
}

/// Rates and accelerations of monomials t^n: exact up to the degree of the polynomial. V is the rate at the start (Radau) or the
/// mean rate since the old point (collocation).
START_TEST(tables_are_exact_for_polynomials)
{
    const stage_table *t = tables[_i];
    const int degree = t->old > 0 ? t->stages + 1 : t->stages;
    for (int n = 1; n <= degree; n++) {
        const long double V = t->old > 0 ? -powl(-(long double)t->old, n) / t->old : n == 1;
        for (int i = 0; i < t->stages; i++) {
            long double scale = 1;
            for (int j = 0; j < t->stages; j++) scale += fabsl((long double)t->h[i][j]);
            const long double c = t->c[i], rate = weighted(t, t->d[i], n) + t->dV[i] * V,
                              acceleration = weighted(t, t->h[i], n) - t->hV[i] * V;
            ck_assert_msg(fabsl(rate - n * powl(c, n - 1)) < 1e-15L * scale, "table %d, degree %d, stage %d: rate %.3Lg", _i, n,
                          i, rate - n * powl(c, n - 1));
            ck_assert_msg(fabsl(acceleration - n * (n - 1) * powl(c, n - 2)) < 1e-15L * scale,
                          "table %d, degree %d, stage %d: acceleration %.3Lg", _i, n, i, acceleration);
        }
        if (t->old == 0) ck_assert(fabsl(weighted(t, t->e, n) - (n == 1)) < 2e-15L * 20);
    }
    // integrals: Radau's nodes are good for degree 2 s - 2, Legendre's s - 1 ones for 2 s - 3
    for (int n = 0; n <= 2 * t->stages - (t->old > 0 ? 3 : 2); n++)
        ck_assert_msg(fabsl(weighted(t, t->b, n) - 1.0L / (n + 1)) < 1e-15L, "table %d: integral of degree %d", _i, n);
    for (int i = 0; i < t->stages; i++)
        for (int n = 0; n < t->stages; n++)
            ck_assert_msg(fabsl(weighted(t, t->a[i], n) - powl(t->c[i], n + 1) / (n + 1)) < 1e-15L,
                          "table %d: integral of degree %d up to stage %d", _i, n, i);
}
END_TEST

/// Nodes: Radau's integrate polynomials of degree 2 s - 2 exactly; collocation's inner ones are symmetric, with sum of squares as
/// Legendre's roots have it.
START_TEST(nodes)
{
    const stage_table *t = tables[_i];
    const int s = t->stages;
    ck_assert(t->c[s - 1] == 1);
    if (t->old == 0) {
        // the inverse of d integrates: b'd = e_s', checked through d' b = e_s with b from the moments
        long double A[MOST_STAGES][MOST_STAGES + 1];
        for (int n = 0; n < s; n++) {
            for (int j = 0; j < s; j++) A[n][j] = powl(t->c[j], n);
            A[n][s] = 1.0L / (n + 1);
        }
        for (int k = 0; k < s; k++)  // nodes are distinct: no exchanges needed for so few
            for (int i = 0; i < s; i++) {
                if (i == k) continue;
                const long double f = A[i][k] / A[k][k];
                for (int j = k; j <= s; j++) A[i][j] -= f * A[k][j];
            }
        for (int n = s; n <= 2 * s - 2; n++) {
            long double sum = 0;
            for (int j = 0; j < s; j++) sum += A[j][s] / A[j][j] * powl(t->c[j], n);
            ck_assert_msg(fabsl(sum - 1.0L / (n + 1)) < 1e-15L, "degree %d: %.3Lg", n, sum - 1.0L / (n + 1));
        }
        return;
    }
    const int n = s - 1;  // roots of P_n, shifted to 0..1: sum n/2, sum of squares about 1/2 n (n - 1) / (4 (2 n - 1))
    long double sum = 0, square = 0;
    for (int j = 0; j < n; j++) {
        sum += t->c[j], square += ((long double)t->c[j] - 0.5L) * ((long double)t->c[j] - 0.5L);
        ck_assert(fabs(t->c[j] + t->c[n - 1 - j] - 1) < 1e-15);
    }
    ck_assert(fabsl(sum - n / 2.0L) < 1e-15L && fabsl(square - n * (n - 1) / (4.0L * (2 * n - 1))) < 1e-15L);
    ck_assert(t->old == 1 - t->c[s - 2] || fabs(t->old - (1 - t->c[s - 2])) < 1e-16);
}
END_TEST

typedef struct {
    ctn_model *model;
    lane_model *m;
    block_state S;
    block_work W;
    void *state, *work;
    rng r;
} fixture;

/// A random model in the middle of a solve: state and rates random, the iterate somewhere near.
static fixture open_fixture(uint64_t seed, const random_options *o, const stage_table *t, double h)
{
    fixture f = {.model = random_model(seed, o), .r = {seed * 3 + 1}};
    const lane_model *m = f.m = scalar_lanes(f.model);
    ctn_batch_config cfg = ctn_batch_config_default();
    if (t->old > 0) cfg.method = CTN_COLLOCATION, cfg.order = t->stages + 1;
    else cfg.method = CTN_RADAU, cfg.stages = t->stages;
    f.state = aligned_alloc(64, state_size(m, &cfg) + 64);
    f.work = aligned_alloc(64, work_size(m, &cfg) + 64);
    f.S = open_state(m, &cfg, f.state);
    f.W = open_work(m, &cfg, f.work);
    double *q = malloc(((size_t)m->nq + 1) * sizeof *q), *v = malloc(((size_t)m->nv + 1) * sizeof *v);
    random_state(f.model, &f.r, q, v);
    block_set(m, &cfg, &f.S, &f.W, q, v);
    free(q), free(v);
    for (int k = 0; k < m->nv; k++) f.W.tau[k] = rng_uniform(&f.r, -1, 1), f.S.gain[k] = rng_uniform(&f.r, -1, 1);
    find_placements(m, f.S.q, f.W.po.one.W.start);
    stage_work *P = &f.W.po.more;
    stages *W = &P->W;
    const position_state S = as_position(&f.S);
    W->table = t, W->start = f.W.po.one.W.start, W->V = f.S.V;
    W->slip = f.S.slip, W->press = f.S.press;
    for (int k = 0; k < m->ncontact; k++)
        f.S.slip[k] = vec(rng_uniform(&f.r, -0.01, 0.01), rng_uniform(&f.r, -0.01, 0.01), rng_uniform(&f.r, -0.01, 0.01));
    W->in.q = f.S.q, W->in.rate = f.S.v, W->in.tau = seed % 3 ? f.W.tau : NULL, W->in.x = P->x, W->in.u = P->u;
    for (int k = 0; k < m->nwound; k++) f.S.wound[k] = rng_uniform(&f.r, -2, 2);
    W->in.wound = f.S.wound;
    start_stages(m, W, h);
    predict_stages(m, &S, P, true, true);
    for (int k = 0; k < t->stages * m->nq; k++) P->base[k] = P->x[k];
    for (int k = 0; k < t->stages * m->nv; k++) P->base_u[k] = P->u[k], P->d[k] = rng_uniform(&f.r, -0.1, 0.1);
    move_stages(m, P, 1, true);
    for (int k = 0; k < t->stages * m->nq; k++) P->base[k] = P->x[k];
    for (int k = 0; k < t->stages * m->nv; k++) P->base_u[k] = P->u[k];
    return f;
}

static void close_fixture(fixture *f)
{
    free(f->m), ctn_model_free(f->model);
    free(f->state), free(f->work);
}

/// Rows at base (+) d.
static void rows_at(fixture *f, const double *d, double alpha, double *r)
{
    stage_work *P = &f->W.po.more;
    const int n = P->W.table->stages * f->m->nv;
    real square;
    for (int k = 0; k < n; k++) P->d[k] = d[k];
    move_stages(f->m, P, alpha, true);
    evaluate_stages(f->m, &P->W);
    stage_rows(f->m, &P->W, &square);
    for (int k = 0; k < n; k++) r[k] = P->W.r[k];
}

/// The Newton step solves J d = -r, with the derivative of the rows by central differences. Where r is not zero the sweep's
/// matrix differs from J by a term proportional to r, so that it is tested at solutions: a few Newton steps lead there.
START_TEST(newton_step_is_exact)
{
    int solved = 0, seeds = 0;
    FOR_SEEDS(seed, 16)
    {
        seeds++;
        const stage_table *t = tables[_i];
        const random_options o = {.links = 5,
                                  .passive = true,
                                  .smooth = seed % 2,
                                  .floating = seed % 4 == 0,
                                  .springs = t->old > 0 ? 0 : (int)(seed % 3),
                                  .wrenches = t->old > 0 ? 0 : (int)(seed % 4),
                                  .motors = (int)(seed % 5),
                                  .winding = seed % 3 != 0,
                                  .speeds = seed % 2 == 0,
                                  .fluid = t->old == 0 && seed % 3 == 1,
                                  .stream = seed % 6 == 1,
                                  .ground = t->old == 0 && seed % 2};
        fixture f = open_fixture(seed, &o, t, 0.01);
        stage_work *P = &f.W.po.more;
        const lane_model *m = f.m;
        const int n = t->stages * m->nv;
        double *d = calloc((size_t)n, sizeof *d), *r0 = calloc((size_t)n, sizeof *d), *r1 = calloc((size_t)n, sizeof *d),
               *r2 = calloc((size_t)n, sizeof *d), *e = calloc((size_t)n, sizeof *d);
        const position_state S = as_position(&f.S);
        position_counts count = {0};
        for (int k = 0; k < m->nv; k++) f.S.gain[k] = 0;
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.tolerance = 1e-11, cfg.max_iterations = 60, f.W.po.part.table = t;
        const bool found = solve_newton(m, &cfg, &S, true, &f.W.po, &count);
        solved += found;
        for (int k = 0; k < t->stages * m->nq; k++) P->base[k] = P->x[k];
        for (int k = 0; k < n; k++) P->base_u[k] = P->u[k];
        // a random right-hand side there: rows = -J e; the step must be e
        for (int k = 0; k < n; k++) e[k] = rng_uniform(&f.r, -1, 1), d[k] = 0;
        const double step = 4e-6;
        rows_at(&f, e, step, r1);
        rows_at(&f, e, -step, r2);
        rows_at(&f, d, 0, r0);
        for (int k = 0; k < n; k++) P->W.r[k] = -(r1[k] - r2[k]) / (2 * step);
        stage_newton(m, &P->W, &P->sweep, P->fresh);
        double worst = 0, scale = 0;
        for (int k = 0; k < n; k++) worst = worse(worst, fabs(P->fresh[k] - e[k])), scale = fmax(scale, fabs(e[k]));
        ck_assert_msg(!found || worst < 2e-5 * scale, "table %d, seed %llu: the step is off by %.3g", _i,
                      (unsigned long long)seed, worst);
        free(d), free(r0), free(r1), free(r2), free(e);
        close_fixture(&f);
    }
    ck_assert_msg(4 * solved >= 3 * seeds, "only %d of %d steps were solved", solved, seeds);
}
END_TEST

/// A small share of a step that is followed is that share of the step.
START_TEST(followed_steps_begin_along_the_step)
{
    const stage_table *t = tables[_i];
    FOR_SEEDS(seed, 16)
    {
        const random_options o = {.links = 6, .passive = seed % 2, .floating = seed % 4 == 0};
        fixture f = open_fixture(seed, &o, t, 0.02);
        stage_work *P = &f.W.po.more;
        stages *W = &P->W;
        const lane_model *m = f.m;
        const int s = t->stages;
        double size = 0, worst = 0;
        real square;
        evaluate_stages(m, W);
        stage_rows(m, W, &square);
        for (int i = 0; i < s * m->nbody; i++) keep_whereabouts(&P->at[i], &W->body[i].T, W->body[i].dp, true);
        stage_newton(m, W, &P->sweep, P->fresh);
        for (int k = 0; k < s * m->nv; k++) size = fmax(size, fabs(P->fresh[k]));
        const double share = 1e-6 / fmax(1, size);
        follow_stages(m, P, share, true);
        for (int a = 0; a < s; a++)
            for (int i = 0; i < m->nbody; i++) {
                const lane_body *b = &m->bodies[i];
                const int v = a * m->nv + b->vadr, q = a * m->nq + b->qadr;
                double moved[3];
                for (int k = 0; k < b->nv; k++) moved[k] = P->u[v + k] - P->base_u[v + k];
                if (b->kind == JOINT_BALL) {
                    quat p;
                    store3(moved, ball_chord(quat_load(P->base + q), quat_load(P->x + q), &p));
                }
                for (int k = 0; k < b->nv; k++) worst = worse(worst, fabs(moved[k] / share - P->fresh[v + k]) / size);
            }
        ck_assert_msg(worst < 1e-3, "table %d, seed %llu: off by %.3g of the step", _i, (unsigned long long)seed, worst);
        close_fixture(&f);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stages");
    TCase *t = tcase_create("stages");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, tables_are_exact_for_polynomials, 0, TABLES);
    tcase_add_loop_test(t, nodes, 0, TABLES);
    tcase_add_loop_test(t, newton_step_is_exact, 0, TABLES);
    tcase_add_loop_test(t, followed_steps_begin_along_the_step, 0, TABLES);
    suite_add_tcase(s, t);
    return run_suite(s);
}
