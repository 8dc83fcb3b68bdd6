/// The solvers of position-based steps: products with the Jacobian against the Newton sweeps and against differences, and the
/// same steps from newton, lm and lbfgs.
#include "tests/golden.h"
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 400 };
static const stage_table *const tables[] = {NULL,          &radau2,       &radau3,      &radau4,
                                            &collocation3, &collocation5, &collocation6};  // NULL: order 2
enum { TABLES = sizeof tables / sizeof *tables };

typedef struct {
    ctn_model *model;
    lane_model *m;
    ctn_batch_config cfg;
    block_state S;
    block_work W;
    void *state, *work;
    objective F;  // f = r'M r / 2, or E
    rng r;
} fixture;

/// A random model in the middle of a solve: state and rates random, the iterate somewhere near.
static void open_fixture(fixture *at, uint64_t seed, const random_options *o, const stage_table *t, bool energy)
{
    fixture f = {.model = random_model(seed, o), .cfg = ctn_batch_config_default(), .r = {seed * 3 + 1}};
    const lane_model *m = f.m = scalar_lanes(f.model);
    f.cfg.solver = energy ? CTN_LBFGS : CTN_LM;
    f.cfg.method = t && t->old == 0 ? CTN_RADAU : CTN_COLLOCATION;
    if (t && t->old == 0) f.cfg.stages = t->stages;
    else f.cfg.order = t ? t->stages + 1 : 2;
    f.state = aligned_alloc(64, state_size(m, &f.cfg) + 64), f.work = aligned_alloc(64, work_size(m, &f.cfg) + 64);
    f.S = open_state(m, &f.cfg, f.state), f.W = open_work(m, &f.cfg, f.work);
    double q[MOST_ROWS], v[MOST_ROWS];
    random_state(f.model, &f.r, q, v);
    block_set(m, &f.cfg, &f.S, &f.W, q, v);
    for (int k = 0; k < m->nv; k++) f.W.tau[k] = rng_uniform(&f.r, -1, 1), f.S.gain[k] = rng_uniform(&f.r, -1, 1);
    position_work *P = &f.W.po.one;
    const position_state S = as_position(&f.S);
    P->W.in.q = f.S.q, P->W.in.rate = f.S.v, P->W.V = f.S.V, P->W.in.tau = seed % 3 ? f.W.tau : NULL;
    find_placements(m, f.S.q, P->W.start);
    set_step_size(&P->W, 0.02);
    if (t) {
        stage_work *G = &f.W.po.more;
        G->W.table = t, G->W.start = P->W.start, G->W.V = f.S.V;
        G->W.in.q = f.S.q, G->W.in.rate = f.S.v, G->W.in.tau = P->W.in.tau, G->W.in.x = G->x, G->W.in.u = G->u;
        start_stages(m, &G->W, 0.02);
        predict_stages(m, &S, G, true, true);
    } else {
        start_step(m, &P->W);
        predict_step(m, &S, P, true, true);
    }
    *at = f;
    f.F = at->F = objective_of(m, &at->W.po.one, t ? &at->W.po.more : NULL, &at->W.po.solver.objective, &at->W.po.aba, energy);
    ck_assert(f.F.n <= MOST_ROWS);
    objective_rebase(&f.F, true);
    for (int k = 0; k < f.F.n; k++) f.F.d[k] = rng_uniform(&f.r, -0.02, 0.02);
    objective_move(m, &f.F, 1, true);
    objective_rebase(&f.F, true);
    at->r = f.r;
}

static void close_fixture(fixture *f)
{
    free(f->m), ctn_model_free(f->model);
    free(f->state), free(f->work);
}

/// The sweeps solve J d = -r with the same J; and z'(J y) = y'(J'z).
START_TEST(products_agree_with_the_sweeps)
{
    const stage_table *t = tables[_i];
    int compared = 0;
    FOR_SEEDS(seed, 20)
    {
        const random_options o = {.links = 8, .passive = seed % 4 != 0, .floating = seed % 5 == 0, .motors = (int)(seed % 5)};
        fixture f;
        open_fixture(&f, seed, &o, t, false);
        const lane_model *m = f.m;
        const int n = f.F.n;
        double y[MOST_ROWS], z[MOST_ROWS], Jy[MOST_ROWS], Jz[MOST_ROWS], d[MOST_ROWS], dropped = 0;
        objective_at(m, &f.F);
        if (t) stage_newton(m, &f.W.po.more.W, &f.W.po.more.sweep, d);
        else {
            ck_assert(sweep_inward(m, &f.W.po.one.W, &f.W.po.one.sweep, true, &dropped, d));
            sweep_outward(m, &f.W.po.one.W, &f.W.po.one.sweep, d);
        }
        objective_product(m, &f.F, false, d, Jy);
        double worst = 0, scale = 0;
        for (int k = 0; k < n; k++) worst = worse(worst, fabs(Jy[k] + f.F.r[k])), scale = fmax(scale, fabs(f.F.r[k]));
        if (dropped == 0) {
            compared++;
            ck_assert_msg(worst < 1e-9 * scale, "table %d, seed %llu: J d + r is off by %.3g of %.3g", _i,
                          (unsigned long long)seed, worst, scale);
        }
        for (int k = 0; k < n; k++) y[k] = rng_uniform(&f.r, -1, 1), z[k] = rng_uniform(&f.r, -1, 1);
        objective_product(m, &f.F, false, y, Jy);
        objective_product(m, &f.F, true, z, Jz);
        double a = 0, b = 0, sum = 0;
        for (int k = 0; k < n; k++) a += z[k] * Jy[k], b += y[k] * Jz[k], sum += fabs(z[k] * Jy[k]);
        ck_assert_msg(fabs(a - b) < 1e-13 * sum, "table %d, seed %llu: z'Jy %.17g, y'J'z %.17g", _i, (unsigned long long)seed, a,
                      b);
        close_fixture(&f);
    }
    ck_assert_msg(compared >= 1, "no sweep kept its curvature");
}
END_TEST

/// Gradients of both objectives against central differences along random directions.
START_TEST(gradients_are_exact)
{
    const stage_table *t = tables[_i];
    FOR_SEEDS(seed, 20)
    {
        const random_options o = {.links = 6, .passive = true, .smooth = true, .floating = seed % 3 == 0};
        fixture f;
        open_fixture(&f, seed, &o, t, !t && seed % 2);
        const int n = f.F.n;
        double g[MOST_ROWS], slope = 0, size = 0, side[2];
        objective_at(f.m, &f.F);
        objective_gradient(f.m, &f.F, g);
        for (int k = 0; k < n; k++) f.F.d[k] = rng_uniform(&f.r, -1, 1), slope += g[k] * f.F.d[k], size += fabs(g[k] * f.F.d[k]);
        const double step = 1e-5;
        for (int k = 0; k < 2; k++) {
            objective_move(f.m, &f.F, k ? step : -step, true);
            side[k] = objective_at(f.m, &f.F).f;
        }
        const double difference = (side[1] - side[0]) / (2 * step);
        ck_assert_msg(fabs(difference - slope) < 1e-6 * size, "table %d, seed %llu: slope %.12g, by differences %.12g", _i,
                      (unsigned long long)seed, slope, difference);
        close_fixture(&f);
    }
}
END_TEST

typedef struct {
    ctn_method method;
    int number;  // order or stages
} scheme;
static const scheme schemes[] = {{CTN_COLLOCATION, 2}, {CTN_RADAU, 1}, {CTN_RADAU, 2},
                                 {CTN_RADAU, 3},       {CTN_RADAU, 4}, {CTN_COLLOCATION, 4}};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

static ctn_batch *open_batch(const ctn_model *m, scheme s, ctn_solver solver, double dt)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = s.method, cfg.solver = solver, cfg.dt = dt, cfg.tolerance = 1e-10;
    if (s.method == CTN_RADAU) cfg.stages = s.number;
    else cfg.order = s.number;
    ctn_batch *b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

/// What solvers_agree() saw: steps that newton took without a fallback, and how many of these lm and lbfgs did not.
typedef struct {
    int newton, missed[2];
} tally;

/// Steps of all solvers from the states of newton's run: without fallbacks, coordinates agree within 1e-5: a residual of 1e-10
/// leaves that much to chains of 40 links.
static void solvers_agree(const ctn_model *m, scheme s, double dt, int steps, const double *q0, const double *v0,
                          const char *what, tally *sum)
{
    static const ctn_solver others[] = {CTN_LM, CTN_LBFGS};
    double q[MOST_ROWS], other[MOST_ROWS], v[MOST_ROWS];
    ctn_batch *newton = open_batch(m, s, CTN_NEWTON, dt), *b[2];
    for (int k = 0; k < 2; k++) b[k] = open_batch(m, s, others[k], dt);
    const size_t size = ctn_batch_saved_size(newton);
    char *saved = malloc(size);
    if (q0) ck_assert(ctn_batch_set_state(newton, q0, v0, 0, NULL) == CTN_OK);
    for (int n = 0; n < steps; n++) {
        ctn_step_stats stats, mine;
        ctn_batch_save(newton, saved);
        ctn_batch_step(newton, 1, &stats, NULL);
        ctn_batch_state(newton, q, v);
        if (stats.frozen || stats.fallbacks) continue;
        sum->newton++;
        for (int k = 0; k < 2; k++) {
            ctn_error err = {0};
            ck_assert_msg(ctn_batch_restore(b[k], saved, size, &err) == CTN_OK, "%s", err.message);
            ctn_batch_step(b[k], 1, &mine, NULL);
            if (mine.frozen || mine.fallbacks) {
                sum->missed[k]++;
                continue;
            }
            ctn_batch_state(b[k], other, v);
            double worst = 0;
            for (int i = 0; i < m->nq; i++) worst = worse(worst, fabs(other[i] - q[i]));
            ck_assert_msg(worst <= 1e-5, "%s, %s %d, %s, step %d: %ld iterations, residual %.3g, off by %.3g", what,
                          ctn_method_name(s.method), s.number, ctn_solver_name(others[k]), n, mine.iterations, mine.residual,
                          worst);
        }
    }
    free(saved);
    ctn_batch_free(newton), ctn_batch_free(b[0]), ctn_batch_free(b[1]);
}

/// Of the steps asked for newton makes most, and of these the others miss a tenth at the most.
static void check_tally(tally t, int asked)
{
    ck_assert_msg(4 * t.newton >= 3 * asked && 10 * t.missed[0] <= t.newton && 10 * t.missed[1] <= t.newton,
                  "newton made %d of %d steps, lm missed %d of these, lbfgs %d", t.newton, asked, t.missed[0], t.missed[1]);
}

START_TEST(same_steps_of_golden_models)
{
    tally sum = {0};
    int asked = 0;
    for (const char *const *name = golden_models; *name; name++, asked += 5) {
        ctn_model *m = golden_model(*name);
        solvers_agree(m, schemes[_i], 0.01, 5, NULL, NULL, *name, &sum);
        ctn_model_free(m);
    }
    check_tally(sum, asked);
}
END_TEST

START_TEST(same_steps_of_random_trees)
{
    tally sum = {0};
    int asked = 0;
    FOR_SEEDS(seed, 12)
    {
        char what[40];
        const random_options o = {.links = 6, .passive = true, .floating = seed % 3 == 0};
        ctn_model *m = random_model(seed, &o);
        rng r = {seed};
        double q[MOST_ROWS], v[MOST_ROWS];
        random_state(m, &r, q, v);
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        solvers_agree(m, schemes[_i], 0.01, 3, q, v, what, &sum), asked += 3;
        ctn_model_free(m);
    }
    if (!getenv("CTN_SEED")) check_tally(sum, asked);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("solvers");
    TCase *t = tcase_create("solvers");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, products_agree_with_the_sweeps, 0, TABLES);
    tcase_add_loop_test(t, gradients_are_exact, 0, TABLES);
    tcase_add_loop_test(t, same_steps_of_golden_models, 0, SCHEMES);
    tcase_add_loop_test(t, same_steps_of_random_trees, 0, SCHEMES);
    suite_add_tcase(s, t);
    return run_suite(s);
}
