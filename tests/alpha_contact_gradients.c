/// Derivatives of steps that touch by the method alpha (integrators/alpha_contact_adjoint.h): Jacobians and gradients against
/// differences of the steps themselves, on what falls, lands, slides and lies: of alpha's own steps, of those of order 2 in their
/// place where contacts change, and of the first ones, whose accelerations are those of forward dynamics.
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
    cfg.method = CTN_ALPHA, cfg.dt = dt, cfg.tolerance = 1e-15;
    return cfg;
}

/// How a step was made: in several parts, or by alpha (or, of order 2, in its place), from accelerations carried or found.
typedef enum { PARTS, CARRIED, FOUND, ORDER2, KINDS } kind_of_step;

static kind_of_step kind_of(made_step how) { return how.parts != 1 ? PARTS : how.fewer ? ORDER2 : how.found ? FOUND : CARRIED; }

/// What was compared, and of how many steps of a kind, and of how many that were held to their energy.
typedef struct {
    comparison all;
    long steps[KINDS], held;
} tally;

/// Whether a step of alpha from one flat state to the next was held to its energy (integrators/hold_energy.h): then rates are not
/// those of its accelerations.
static bool is_held(const contact_world *f, const double *from, const double *to)
{
    const double rho = f->cfg.rho, h = f->cfg.dt, gamma = 0.5 + (1 - rho) / (1 + rho);
    const size_t a = f->fresh - 1 - 2 * f->nv;
    double off = 0;
    for (size_t k = 0; k < f->nv; k++) {
        const double by = (1 - gamma) * from[a + k] + gamma * to[a + k];
        off = worse(off, h * fabs(to[f->nq + k] - from[f->nq + k] - h * by));
    }
    return off > 1e-11;
}

/// How many columns and rows of Jacobians there are for one that is compared.
enum { EACH = 7, EACH_ROW = 5 };
static bool is_compared(size_t k, int step, size_t each) { return (k + (size_t)step) % each == 0; }

/// Those rows of A [n][n] and B [n][nv] of the step from one flat state to the next, by the engine's adjoint.
static void find_jacobian(const contact_world *f, int step, const double *from, const double *to, const double *tau, double *A,
                          double *B, uint64_t seed)
{
    const ctn_engine *const g = f->engine;
    void *const work = aligned_alloc(64, (g->adjoint_size(f->lanes, &f->cfg) + 127) / 64 * 64);
    double *const unit = numbers(f->n);
    const double *const bar = unit;
    bool found = false;
    memset(work, 0, g->adjoint_size(f->lanes, &f->cfg));
    for (int way = 0; way < g->adjoint_ways(&f->cfg) && !found; way++)
        found = g->adjoint_prepare(f->lanes, &f->cfg, work, NULL, f->cfg.dt, way, &from, &to, &tau, NULL);
    ck_assert_msg(found, "seed %llu: a step was not found again", (unsigned long long)seed);
    for (size_t i = 0; i < f->n; i++) {
        if (!is_compared(i, step, EACH_ROW)) continue;
        double *const row = A + i * f->n, *const by_tau = B + i * f->nv;
        unit[i] = 1;
        g->adjoint_step(f->lanes, &f->cfg, work, 1, &bar, &row, &by_tau, NULL, NULL);
        unit[i] = 0;
        for (size_t j = 0; j < f->n; j++) row[j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) by_tau[j] *= f->unit[i];
    }
    free(work), free(unit);
}

/// Columns of A and B of the step from the flat state `from` to `to`, as lengths, against differences.
static void check_jacobian(const contact_world *f, int step, made_step how, const double *from, const double *to,
                           const double *tau, uint64_t seed, comparison *t)
{
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *d = numbers(f->n + f->nv), *slope = numbers(f->n);
    find_jacobian(f, step, from, to, tau, A, B, seed);
    const double scale = largest(A, f->n * f->n), force = scale / largest(B, f->n * f->nv);
    for (size_t j = 0; j < f->n + f->nv; j++) {
        if (!is_compared(j, step, EACH) || (j < f->n && is_at_edge(f, from, j))) continue;
        double error = 0, bend;
        size_t row = 0;
        memset(d, 0, (f->n + f->nv) * sizeof *d), d[j] = j < f->n ? 1 / f->unit[j] : force;
        const bool smooth = slopes_along(f, step, from, to, tau, how, d, 1e-6, true, slope, &bend);
        if (!smooth || bend > BENT * scale) {
            t->kinks++;
            continue;
        }
        for (size_t i = 0; i < f->n; i++) {
            if (!is_compared(i, step, EACH_ROW)) continue;
            const double off = fabs(slope[i] - (j < f->n ? A[i * f->n + j] : force * B[i * f->nv + j - f->n]));
            if (off > error) row = i;
            error = worse(error, off);
        }
        t->compared++, t->worst = worse(t->worst, error / scale);
        ck_assert_msg(error <= 1e-6 * scale,
                      "seed %llu, step %d of kind %d: column %zu of %zu + %zu is off by %.3g of %.3g in row %zu",
                      (unsigned long long)seed, step, kind_of(how), j, f->n, f->nv, error, scale, row);
    }
    free(A), free(B), free(d), free(slope);
}

/// Jacobians of some steps of a fall, in which something touches, and of the same where accelerations are found anew; or of those
/// alone that were held.
static void check_fall(contact_world *f, uint64_t seed, bool held_alone, tally *t)
{
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    static const long most[KINDS] = {0, 2, 1, 1};
    start_flat(f, f->q, f->v, flat[0]);
    long made[KINDS] = {0}, holds = 0;
    for (int k = 0; k < f->steps; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const made_step how = step_flat(f, k, flat[0], tau, flat[1]);
        const kind_of_step kind = kind_of(how);
        const bool held = kind == CARRIED && is_held(f, flat[0], flat[1]);
        const bool now = kind == CARRIED ? touching(f, flat[1]) && (held || k % 8 == 7) : kind != PARTS;
        long *const done = held ? &holds : &made[kind];
        if (now && *done < most[kind] && (held || !held_alone)) {
            check_jacobian(f, k, how, flat[0], flat[1], tau, seed, &t->all);
            ++*done, t->steps[kind]++, t->held += held;
            if (kind == CARRIED && !held) {
                double *const anew = numbers(2 * f->flat), *const to = anew + f->flat;
                memcpy(anew, flat[0], f->flat * sizeof *anew);
                anew[f->fresh] = 1;
                const made_step again = step_flat(f, k, anew, tau, to);
                if (kind_of(again) == FOUND) check_jacobian(f, k, again, anew, to, tau, seed, &t->all), t->steps[FOUND]++;
                free(anew);
            }
        }
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x;
    }
    free(flat[0]), free(flat[1]);
}

/// A fall that is checked: on the ground alone, or over obstacles.
static contact_world open_fall(ground_kind kind, uint64_t seed, bool obstacles, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = obstacles ? obstacle_model(kind, seed, depth, q, v) : ground_model(kind, seed, depth, q, v);
    contact_world f = open_world(m, config_of(seed % 2 ? 1. / 60 : 1. / 240), seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

/// share: how many comparisons there are at least for one at a kink
static void check_tally(const tally *t, const char *what, int share)
{
    const comparison *const c = &t->all;
    printf("%s: %ld compared, worst %.3g; %ld at kinks; steps: %ld by carried accelerations, %ld by found ones, %ld of order 2; "
           "%ld held\n",
           what, c->compared, c->worst, c->kinks, t->steps[CARRIED], t->steps[FOUND], t->steps[ORDER2], t->held);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(c->compared > share * c->kinks, "%s: %ld of %ld comparisons at kinks", what, c->kinks, c->kinks + c->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        contact_world f = open_fall((ground_kind)_i, seed, false, 60);
        check_fall(&f, seed, false, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on the ground", 4);
}
END_TEST

/// A ball that rolls on a slope, with a pendulum in it that has springs, friction and a rotor, pushed at every joint.
static contact_world open_marble(uint64_t seed)
{
    rng r = {seed ^ 0x3a7};
    contact_world f = open_world(
        model_of(
            "catena: 1\nground: {normal: [0.3, 0.1, 1]}\nlinks:\n"
            "  - {name: a, position: [0, 0, 0.4], joint: free, density: 300, shapes: [{type: sphere, radius: 0.3}]}\n"
            "  - {name: b, parent: a, joint: {type: revolute, axis: [0, 1, 0.2], stiffness: 3, damping: 0.1, armature: 0.2, "
            "friction: 0.5, presliding: 0.3}, mass: 5, com: [0, 0, -0.2], inertia: [0.1, 0.1, 0.05, 0, 0, 0]}\n"
            "  - {name: c, parent: b, position: [0, 0, -0.1], joint: {type: ball, stiffness: 2, damping: 0.1, armature: 0.1}, "
            "mass: 2, com: [0, 0.1, 0], inertia: [0.02, 0.01, 0.02, 0, 0, 0]}\n"),
        config_of(1. / 60), 60);
    ctn_model_initial_state(f.m, f.q, f.v);
    for (size_t k = 0; k < f.nv; k++) f.v[k] = rng_uniform(&r, -3, 3);
    for (size_t k = 0; k < f.nv * (size_t)f.steps; k++) f.tau[k] = rng_uniform(&r, -2, 2);
    return f;
}

/// What rolls is held now and then.
START_TEST(held_steps)
{
    static const struct {
        uint64_t seed;
        bool obstacles;
    } falls[] = {{7, true}, {19, false}, {20, false}};
    tally t = {0};
    for (size_t k = 0; k < sizeof falls / sizeof *falls; k++) {
        contact_world f = open_fall(GROUND_LOOSE, falls[k].seed, falls[k].obstacles, 60);
        check_fall(&f, falls[k].seed, true, &t);
        close_world(&f);
    }
    check_tally(&t, "held loose bodies", 4);
    ck_assert_int_gt(t.held, 0);
    t = (tally){0};
    FOR_SEEDS(seed, 4)
    {
        contact_world f = open_marble(seed);
        check_fall(&f, seed, true, &t);
        close_world(&f);
    }
    check_tally(&t, "held marbles", 4);
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.held, 0);
}
END_TEST

/// Every third seed has a terrain.
START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, 3)
    {
        contact_world f = open_fall((ground_kind)_i, seed, true, 60);
        check_fall(&f, seed, false, &t);
        close_world(&f);
    }
    check_tally(&t, "steps on obstacles", 4);
}
END_TEST

/// Runs that begin shortly before something lands, and while it lies or slides: accelerations at the start are of what touches.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        const bool obstacles = seed % 4 == 1 || seed % 3 == 0;
        made_step made[RUN];
        ctn_error err = {0};
        contact_world f = open_fall((ground_kind)_i, seed, obstacles, 60);
        const bool ran = ctn_tape_run(f.tape, f.q, f.v, f.tau, &err) == CTN_OK;
        for (int part = 0; part < 2 && ran; part++) {
            check_run_from(&f, f.steps * (part + 2) / 4 + (int)(seed % 7), seed, 4, 3, &t.all, made);
            for (int k = 0; k < RUN; k++) t.steps[kind_of(made[k])]++;
        }
        close_world(&f);
    }
    check_tally(&t, "runs", 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("alpha_contact_gradients");
    TCase *const t = tcase_create("alpha_contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, GROUND_KINDS);
    TCase *const held = tcase_create("held");
    tcase_set_timeout(held, 300);
    tcase_add_test(held, held_steps);
    suite_add_tcase(suite, held);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_loop_test(t, gradients_of_runs, 0, GROUND_KINDS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
