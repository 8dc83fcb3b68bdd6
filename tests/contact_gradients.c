/// Derivatives of steps of order 2 that touch (integrators/contact_adjoint.h): Jacobians and gradients against differences of the
/// steps themselves, on what falls, lands, slides and lies.
#include "sim/model/parameters.h"
#include "tests/contact_world.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ctn_batch_config config_of(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-14;
    return cfg;
}

/// What was compared, and how many steps of it were held to their energy.
typedef struct {
    comparison all;
    long held;
} tally;

/// Whether a step from one flat state to the next was held to its energy (integrators/hold_energy.h): then rates are not those of
/// the way.
static bool is_held(const contact_world *f, const double *from, const double *to)
{
    double u[GROUND_MOST], off = 0;
    tangent_between(f->m, from, to, u);
    for (size_t k = 0; k < f->nv; k++) off = worse(off, fabs(to[f->nq + k] * f->cfg.dt - u[k]));
    return off > 1e-11;
}

static const made_step WHOLE = {.parts = 1};

/// One of EACH columns of A and B of the step from the flat state `from` to `to`, as lengths, against differences.
enum { EACH = 3 };
static void check_jacobian(const contact_world *f, int step, const double *from, const double *to, const double *tau,
                           uint64_t seed, comparison *t)
{
    const double e = 1e-6;
    ctn_error err = {0};
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *d = numbers(f->n + f->nv), *slope = numbers(f->n);
    ck_assert_msg(ctn_step_jacobian(f->tape, step, A, B, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double largest_a = largest(A, f->n * f->n), largest_b = largest(B, f->n * f->nv), force = largest_a / largest_b;
    for (size_t j = (size_t)(EACH - step % EACH) % EACH; j < f->n + f->nv; j += EACH) {
        if (j < f->n && is_at_edge(f, from, j)) continue;
        double error = 0, bend;
        size_t row = 0;
        memset(d, 0, (f->n + f->nv) * sizeof *d), d[j] = j < f->n ? 1 / f->unit[j] : force;
        const bool smooth = slopes_along(f, step, from, to, tau, WHOLE, d, e, true, slope, &bend);
        if (!smooth || bend > BENT * largest_a) {
            t->kinks++;
            continue;
        }
        for (size_t i = 0; i < f->n; i++) {
            const double off = fabs(slope[i] - (j < f->n ? A[i * f->n + j] : force * B[i * f->nv + j - f->n]));
            if (off > error) row = i;
            error = worse(error, off);
        }
        t->compared++, t->worst = worse(t->worst, error / largest_a);
        ck_assert_msg(error <= 1e-6 * largest_a, "seed %llu, step %d: column %zu of %zu + %zu is off by %.3g of %.3g in row %zu",
                      (unsigned long long)seed, step, j, f->n, f->nv, error, largest_a, row);
    }
    free(A), free(B), free(d), free(slope);
}

/// Jacobians of some steps of a fall, in which something touches.
static void check_fall(contact_world *f, uint64_t seed, tally *t)
{
    ctn_error err = {0};
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    if (ctn_tape_run(f->tape, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    start_flat(f, f->q, f->v, flat[0]);
    long before = 0, changes = 0, holds = 0, others = 0;
    for (int k = 0; k < f->steps; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const bool whole = made_alike(step_flat(f, k, flat[0], tau, flat[1]), WHOLE), held = is_held(f, flat[0], flat[1]);
        const long now = touching(f, flat[1]);
        // where contacts change, where energy is held, and now and then
        long *const kind = held ? &holds : !now ? NULL : now != before ? &changes : k % 16 == 15 ? &others : NULL;
        if (whole && kind && *kind < 2) check_jacobian(f, k, flat[0], flat[1], tau, seed, &t->all), (*kind)++, t->held += held;
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x, before = now;
    }
end:
    free(flat[0]), free(flat[1]);
}

/// A fall that is checked: on the ground alone, or over obstacles. turns: with friction of turns.
static contact_world open_fall(ground_kind kind, uint64_t seed, bool obstacles, bool turns, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = obstacles ? obstacle_model(kind, seed, depth, q, v) : ground_model(kind, seed, depth, q, v);
    if (turns) resist_turns(m, seed);
    contact_world f = open_world(m, config_of(seed % 2 ? 1. / 60 : 1. / 240), seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

/// share: how many comparisons there are at least for one at a kink
static void check_tally(const tally *t, const char *what, int share)
{
    const comparison *const c = &t->all;
    printf("%s: %ld compared, worst %.3g; %ld at kinks; %ld steps held\n", what, c->compared, c->worst, c->kinks, t->held);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(c->compared > share * c->kinks, "%s: %ld of %ld comparisons at kinks", what, c->kinks, c->kinks + c->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        contact_world f = open_fall((ground_kind)_i, seed, false, false, 60);
        check_fall(&f, seed, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on the ground", 4);
}
END_TEST

/// Every third seed has a terrain.
START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        contact_world f = open_fall((ground_kind)_i, seed, true, false, 60);
        check_fall(&f, seed, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on obstacles", 4);
}
END_TEST

/// Tells motors u [ncontrol], of a variant of the model.
static void tell(const contact_world *f, const double *u)
{
    const int count = f->m->ncontrol;
    double dt = f->cfg.dt;
    ctn_parameter *const list = calloc((size_t)count + 1, sizeof *list);
    ctn_model_target_parameters(f->m, list);
    parameters *const p = parameters_create(f->m, list, count, NULL);
    ctn_model *const variant = parameters_variant(p);
    parameters_apply(p, u, variant, &dt);
    f->engine->model_load((const ctn_model *const[]){variant}, &dt, f->lanes);
    free(variant), parameters_free(p), free(list);
}

/// A, B and U of the step from the flat state `from` to `to` along random ways: of coordinates, of what else the state has, of
/// forces, of targets, and of all together; against differences.
static void check_ways(const contact_world *f, int step, const double *from, const double *to, const double *tau, uint64_t seed,
                       comparison *t)
{
    const size_t n = f->n, nv = f->nv, nu = (size_t)f->m->ncontrol, all = n + nv + nu;
    const double e = 1e-6;
    ctn_error err = {0};
    rng r = {seed * 977 + (uint64_t)step};
    double *A = numbers(n * n), *B = numbers(n * nv), *U = numbers(n * nu), *d = numbers(all), *one = numbers(f->flat),
           *pushed = numbers(nv), *u = numbers(nu), *told = numbers(nu), *got[STENCIL];
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(n);
    ck_assert_msg(ctn_step_target_jacobian(f->tape, step, A, B, U, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed,
                  err.message);
    ctn_model_targets(f->m, told);
    const double force = 1 / (largest(B, n * nv) * 0.01 + 1e-9), target = 1 / (largest(U, n * nu) * 0.01 + 1e-9);
    for (int kind = 0; kind < 5; kind++) {
        bool smooth = true;
        for (size_t j = 0; j < all; j++) {
            const int what = j < nv ? 0 : j < n ? 1 : j < n + nv ? 2 : 3;
            const double unit = what == 0 ? 1 : what == 1 ? 0.1 / f->unit[j] : what == 2 ? force : target;
            const size_t press = f->part[BY_PRESS], slip = f->part[BY_SLIP];
            // what lies apart or slides is at an edge of what it may remember
            const bool edge = j >= slip && j < n && touch_of(f, from, j < press ? (j - slip) / 3 % f->contacts : j - press) != 1;
            d[j] = (what == kind || kind == 4) && !edge ? unit * rng_uniform(&r, -1, 1) : 0;
        }
        for (int s = 0; s < STENCIL && smooth; s++) {
            flat_move(f->m, places_of(f), from, d, node(s) * e, one);
            for (size_t j = 0; j < nv; j++) pushed[j] = tau[j] + node(s) * e * d[n + j];
            for (size_t j = 0; j < nu; j++) u[j] = told[j] + node(s) * e * d[n + nv + j];
            if (nu) tell(f, u);
            smooth =
                same_touches(f, one, from) && made_alike(step_flat(f, step, one, pushed, one), WHOLE) && same_touches(f, one, to);
            flat_between(f->m, places_of(f), to, one, got[s]);
        }
        if (nu) tell(f, told);
        double error = 0, bend = 0, scale = 0;
        for (size_t i = 0; i < n && smooth; i++) {
            const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]}, slope = derivative(x, e);
            double told_so = 0;
            for (size_t j = 0; j < all; j++)
                told_so += d[j] * (j < n ? A[i * n + j] : j < n + nv ? B[i * nv + j - n] : U[i * nu + j - n - nv]);
            bend = worse(bend, kink_of(x, 0, e)), scale = worse(scale, fabs(slope));
            error = worse(error, fabs(slope - told_so * f->unit[i]));
        }
        if (!smooth || bend > BENT * (scale + 0.1)) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error / (scale + 0.01));
        ck_assert_msg(error <= 3e-6 * (scale + 0.01), "seed %llu, step %d, way %d: off by %.3g of %.3g", (unsigned long long)seed,
                      step, kind, error, scale);
    }
    free(A), free(B), free(U), free(d), free(one), free(pushed), free(u), free(told);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
}

/// Steps that are held to their energy, whatever acts besides; every other seed with friction of turns.
START_TEST(held_steps)
{
    tally t = {0};
    FOR_SEEDS(seed, 8)
    {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_error err = {0};
        if (t.held >= 4) break;
        ctn_model *const m = loaded_doll((doll_load)_i, seed, q, v);
        if (seed % 2) resist_turns(m, seed);
        contact_world f = open_world(m, config_of(1. / 30), 120);
        double *flat[2] = {numbers(f.flat), numbers(f.flat)};
        start_flat(&f, q, v, flat[0]);
        const bool ran = ctn_tape_run(f.tape, q, v, f.tau, &err) == CTN_OK;
        for (int k = 0, held = 0; k < f.steps && ran && held < 2; k++) {
            const double *const tau = f.tau + (size_t)k * f.nv;
            const bool whole = made_alike(step_flat(&f, k, flat[0], tau, flat[1]), WHOLE);
            if (whole && is_held(&f, flat[0], flat[1])) check_ways(&f, k, flat[0], flat[1], tau, seed, &t.all), held++, t.held++;
            double *const x = flat[0];
            flat[0] = flat[1], flat[1] = x;
        }
        free(flat[0]), free(flat[1]);
        close_world(&f);
    }
    printf("held steps: %ld compared, worst %.3g; %ld at kinks; %ld steps held\n", t.all.compared, t.all.worst, t.all.kinks,
           t.held);
    if (getenv("CTN_SEED")) return;
#ifndef __SANITIZE_ADDRESS__
    ck_assert_msg(t.held > 1 && t.all.compared > 5, "%ld steps held, %ld comparisons, %ld at kinks", t.held, t.all.compared,
                  t.all.kinks);
#endif
}
END_TEST

START_TEST(steps_that_resist_turns)
{
    tally t = {0};
    FOR_SEEDS(seed, 1)
    {
        contact_world f = open_fall((ground_kind)_i, seed, _i == GROUND_LOOSE, true, 60);
        check_fall(&f, seed, &t);
        close_world(&f);
    }
    check_tally(&t, "steps that resist turns", 2);
}
END_TEST

/// Runs that begin shortly before something lands, and while it lies or slides: normal forces at the start go by q and v.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 6)
    {
        const bool obstacles = seed % 4 == 1 || seed % 3 == 0;
        made_step made[RUN];
        ctn_error err = {0};
        contact_world f = open_fall((ground_kind)_i, seed, obstacles, seed % 4 == 3, 60);
        const bool ran = ctn_tape_run(f.tape, f.q, f.v, f.tau, &err) == CTN_OK;
        for (int part = 0; part < 3 && ran; part++)
            check_run_from(&f, f.steps * (part + 4) / 8 + (int)(seed % 7), seed, 6, 3, &t.all, made);
        close_world(&f);
    }
    check_tally(&t, "runs", 4);
}
END_TEST

/// Large steps that are halved while something touches: between parts the rates are made those of a rigid motion, and what points
/// remember goes on.
START_TEST(halved_steps)
{
    int compared = 0;
    FOR_SEEDS(seed, 6)
    {
        double q[GROUND_MOST], v[GROUND_MOST], g[2 * GROUND_MOST], along[2 * GROUND_MOST], weights[2 * GROUND_MOST],
            origin[GROUND_MOST], slope = 0, size = 0, got[2];
        ctn_error err = {0};
        rng r = {seed};
        ctn_model *const m = ground_model(seed % 2 ? GROUND_ROPE : GROUND_RAGDOLL, seed, 0, q, v);
        ctn_batch_config cfg = config_of(0.1);
        cfg.max_iterations = 25;
        contact_world f = open_world(m, cfg, RUN + 2);
        const size_t nv = f.nv;
        double *dq = numbers((RUN + 3) * nv);
        for (size_t k = 0; k < 2 * nv; k++) weights[k] = k < nv ? rng_uniform(&r, -1, 1) : 0, along[k] = rng_uniform(&r, -1, 1);
        memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
        if (ctn_tape_run(f.tape, q, v, NULL, &err) != CTN_OK || !ctn_tape_fallbacks(f.tape)) goto next;
        ctn_tape_state(f.tape, RUN, origin, NULL, &err);
        ck_assert_msg(ctn_tape_gradient(f.tape, dq, NULL, g, g + nv, NULL, &err) == CTN_OK, "%s", err.message);
        for (size_t k = 0; k < 2 * nv; k++) slope += along[k] * g[k], size = worse(size, fabs(g[k]));
        for (int width = 0; width < 2; width++) {
            const double e = width ? 1e-8 : 1e-7;
            double x[2], a[GROUND_MOST], b[GROUND_MOST];
            for (int s = 0; s < 2; s++) {
                const double to = s ? e : -e;
                tangent_move(m, q, along, to, a);
                for (size_t k = 0; k < nv; k++) b[k] = v[k] + to * along[nv + k];
                ck_assert_int_eq(ctn_tape_run(f.tape, a, b, NULL, &err), CTN_OK);
                ck_assert_int_eq(ctn_tape_state(f.tape, RUN, a, b, &err), CTN_OK);
                x[s] = weigh(&f, origin, a, b, weights);
            }
            got[width] = (x[1] - x[0]) / (2 * e);
        }
        if (fabs(got[0] - got[1]) > 1e-3 * size) goto next;  // a kink
        compared++;
        ck_assert_msg(fabs(slope - got[0]) < 1e-4 * size, "seed %llu: slope %g, not %g", (unsigned long long)seed, slope, got[0]);
    next:
        free(dq);
        close_world(&f);
    }
    if (!getenv("CTN_SEED")) ck_assert_int_gt(compared, 0);
}
END_TEST

/// A step back of worlds at different times of a fall.
START_TEST(same_bits)
{
    contact_world f = open_fall((ground_kind)_i, 10, false, true, 60);
    double *at[SAME_WORLDS + 1];
    for (int w = 0; w <= SAME_WORLDS; w++) at[w] = numbers(f.flat);
    start_flat(&f, f.q, f.v, at[0]);
    for (int k = 0; k < f.steps && !touching(&f, at[0]); k++) step_flat(&f, 0, at[0], f.tau, at[0]);
    ck_assert_int_gt(touching(&f, at[0]), 0);
    for (int w = 0; w < SAME_WORLDS; w++) ck_assert(made_alike(step_flat(&f, 0, at[w], f.tau, at[w + 1]), WHOLE));
    check_same_bits(&f, at, at + 1);
    for (int w = 0; w <= SAME_WORLDS; w++) free(at[w]);
    close_world(&f);
}
END_TEST

/// What has no derivatives yet is refused by name.
START_TEST(refused)
{
    static const char *const plain =
        "catena: 1\nground: true\nlinks:\n"
        "  - {name: a, position: [0, 0, 1], joint: free, density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n";
    static const struct {
        ctn_method method;
        const char *says;
    } no[] = {{CTN_RK4, "method: rk4 has no derivatives where links touch"},
              {CTN_VARIATIONAL, "method: variational has no derivatives where links touch"}};
    for (size_t k = 0; k < sizeof no / sizeof *no; k++) {
        ctn_error err = {0};
        ctn_model *const m = model_of(plain);
        ctn_batch_config cfg = config_of(0.01);
        cfg.method = no[k].method;
        ck_assert_ptr_null(ctn_tape_create(m, &cfg, 5, &err));
        ck_assert_msg(strstr(err.message, no[k].says), "%s", err.message);
        ctn_model_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_gradients");
    TCase *const t = tcase_create("contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, GROUND_KINDS);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_loop_test(t, held_steps, 0, DOLL_LOADS);
    tcase_add_loop_test(t, steps_that_resist_turns, 0, GROUND_KINDS);
    tcase_add_loop_test(t, gradients_of_runs, 0, GROUND_KINDS);
    tcase_add_test(t, halved_steps);
    tcase_add_loop_test(t, same_bits, 0, GROUND_KINDS);
    tcase_add_test(t, refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
