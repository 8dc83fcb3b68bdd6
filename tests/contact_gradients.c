/// Derivatives of steps that touch (integrators/contact_adjoint.h): Jacobians and gradients against differences of the steps
/// themselves, on what falls, lands, slides and lies. Where a point begins or ends to touch or to slide between the ends of a
/// difference, the step has a kink: such a comparison is left out, and counted.
#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/text_model.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

/// A model, its steps, and room for one world of the engine.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    const ctn_engine *engine;
    lane_model *lanes;
    void *state, *work;
    size_t nq, nv, flat, n, contacts;
    size_t *place;  // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *unit;   // [n] what makes it a length or an angle
    const point_load **point;  // [contacts]
    double *q, *v, *tau;  // tau [nv]
    int steps;
    ctn_tape *r;
} fixture;

/// The flat form is q, joint rates, their gain, V of every body, bristles of joints, integral terms, bristles and normal forces of
/// contact points.
static void find_places(fixture *f)
{
    const ctn_model *m = f->m;
    const size_t V = f->nq + 2 * f->nv, slip = f->flat - 4 * f->contacts;
    size_t at = 0;
    f->place = calloc(f->n + 1, sizeof *f->place), f->unit = numbers(f->n);
    for (; at < f->nv; at++) f->unit[at] = 1;
    for (size_t k = 0; k < f->nv; k++) f->unit[at] = f->cfg.dt, f->place[at++] = f->nq + k;
    for (int i = 0; i < m->nbody; i++)
        for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++)
            f->unit[at] = f->cfg.dt, f->place[at++] = V + 12 * (size_t)i + k;
    for (size_t k = 0; k < 3 * f->contacts; k++) f->unit[at] = 1, f->place[at++] = slip + k;
    for (size_t k = 0; k < f->contacts; k++) f->unit[at] = 1 / f->point[k]->grip, f->place[at++] = slip + 3 * f->contacts + k;
    ck_assert_uint_eq(at, f->n);
}

static fixture open_fixture(ctn_model *m, ctn_batch_config cfg, int steps)
{
    fixture f = {.m = m, .cfg = cfg, .engine = engines_available()[0], .steps = steps};
    ctn_error err = {0};
    f.lanes = engine_model(f.engine, m, cfg.dt);
    f.nq = (size_t)m->nq, f.nv = (size_t)m->nv, f.contacts = (size_t)m->ncontact;
    f.flat = f.engine->flat_size(f.lanes, &f.cfg);
    f.state = aligned_alloc(64, (f.engine->state_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    f.work = aligned_alloc(64, (f.engine->work_size(f.lanes, &f.cfg) + 127) / 64 * 64);
    memset(f.state, 0, f.engine->state_size(f.lanes, &f.cfg)), memset(f.work, 0, f.engine->work_size(f.lanes, &f.cfg));
    f.q = numbers(GROUND_MOST), f.v = numbers(GROUND_MOST), f.tau = numbers(f.nv * (size_t)steps);
    f.point = calloc(f.contacts + 1, sizeof *f.point);
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) f.point[m->loads[k].contact] = &m->loads[k];
    f.r = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.r != NULL, "%s", err.message);
    f.n = (size_t)ctn_tape_state_size(f.r);
    find_places(&f);
    return f;
}

static ctn_batch_config config_of(double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt, cfg.tolerance = 1e-13;
    return cfg;
}

static void close_fixture(fixture *f)
{
    ctn_tape_free(f->r);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place), free(f->unit), free(f->point);
}

/// The flat state moved by e along the coordinates d [n].
static void state_move(const fixture *f, const double *from, const double *d, double e, double *to)
{
    memcpy(to, from, f->flat * sizeof *to);
    tangent_move(f->m, from, d, e, to);
    for (size_t k = f->nv; k < f->n; k++) to[f->place[k]] += e * d[k];
}

/// Coordinates d [n] of the way from one flat state to another, as lengths.
static void state_between(const fixture *f, const double *from, const double *to, double *d)
{
    tangent_between(f->m, from, to, d);
    for (size_t k = f->nv; k < f->n; k++) d[k] = (to[f->place[k]] - from[f->place[k]]) * f->unit[k];
}

/// One step under tau from one flat state to the next. Returns whether it was made in one part.
static bool step_flat(const fixture *f, const double *from, const double *tau, double *to)
{
    ctn_step_stats stats = {0};
    double *copy = numbers(f->flat);
    memcpy(copy, from, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, NULL, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return stats.steps == 1 && stats.substeps == 1;
}

static void start_flat(const fixture *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

/// What contact point k does in a state: 0 nothing, 1 sticks, 2 slides, by what it remembers.
static int touch_of(const fixture *f, const double *flat, size_t k)
{
    const double *z = flat + f->flat - 4 * f->contacts + 3 * k, l = flat[f->flat - f->contacts + k];
    const point_load *s = f->point[k];
    const double bent = s->grip * sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
    return l <= 0 ? 0 : bent < (1 - 1e-9) * s->friction * l ? 1 : 2;
}

static long touching(const fixture *f, const double *flat)
{
    long n = 0;
    for (size_t k = 0; k < f->contacts; k++) n += touch_of(f, flat, k) > 0;
    return n;
}

static bool same_touches(const fixture *f, const double *a, const double *b)
{
    for (size_t k = 0; k < f->contacts; k++)
        if (touch_of(f, a, k) != touch_of(f, b, k)) return false;
    return true;
}

enum { STENCIL = 4 };
/// Derivatives of fourth and second order from values at -2, -1, 1, 2 times e.
static double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }
static double inner_derivative(const double x[STENCIL], double e) { return (x[2] - x[1]) / (2 * e); }
static double node(int s) { return s < 2 ? s - 2 : s - 1; }

static double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// What was compared, and left out for a kink.
typedef struct {
    long compared, kinks, held;
    double worst;
} tally;

/// A and B of the step from the flat state `from` to `to`, as lengths, against differences.
static void check_jacobian(const fixture *f, int step, const double *from, const double *to, const double *tau, uint64_t seed,
                           tally *t)
{
    const double e = 1e-6, force = 1000;
    ctn_error err = {0};
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *one = numbers(f->flat), *d = numbers(f->n),
           *pushed = numbers(f->nv), *got[STENCIL];
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    ck_assert_msg(ctn_step_jacobian(f->r, step, A, B, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double scale_a = largest(A, f->n * f->n), scale_b = largest(B, f->n * f->nv);
    for (size_t j = 0; j < f->n + f->nv; j++) {
        bool smooth = true;
        for (int s = 0; s < STENCIL && smooth; s++) {
            memset(d, 0, f->n * sizeof *d), memcpy(pushed, tau, f->nv * sizeof *pushed);
            if (j < f->n) d[j] = 1 / f->unit[j];
            else pushed[j - f->n] += node(s) * force * e;
            state_move(f, from, d, node(s) * e, one);
            smooth = same_touches(f, one, from) && step_flat(f, one, pushed, one) && same_touches(f, one, to);
            state_between(f, to, one, got[s]);
        }
        const double width = j < f->n ? e : force * e, scale = j < f->n ? scale_a : scale_b;
        const double *const column = j < f->n ? A + j : B + (j - f->n);
        const size_t stride = j < f->n ? f->n : f->nv;
        double error = 0, bend = 0;
        size_t row = 0;
        for (size_t i = 0; i < f->n && smooth; i++) {
            const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]}, slope = derivative(x, width);
            const double off = fabs(slope - column[i * stride]);
            bend = worse(bend, fabs(slope - inner_derivative(x, width)));
            if (off > error) row = i;
            error = worse(error, off);
        }
        if (!smooth || bend > 1e-4 * scale) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error / scale);
        ck_assert_msg(error <= 1e-6 * scale + 1e-10, "seed %llu, step %d: column %zu of %zu + %zu (nv %zu, contacts %zu) is off by %.3g of %.3g in row %zu (bend %.3g)",
                      (unsigned long long)seed, step, j, f->n, f->nv, f->nv, f->contacts, error, scale, row, bend);
    }
    free(A), free(B), free(one), free(d), free(pushed);
    for (int s = 0; s < STENCIL; s++) free(got[s]);
}

/// Jacobians of some steps of a fall, in which something touches.
static void check_fall(fixture *f, uint64_t seed, tally *t)
{
    ctn_error err = {0};
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    if (ctn_tape_run(f->r, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    start_flat(f, f->q, f->v, flat[0]);
    long before = 0, checked = 0;
    for (int k = 0; k < f->steps && checked < 4; k++) {
        const bool whole = step_flat(f, flat[0], f->tau + (size_t)k * f->nv, flat[1]);
        const long now = touching(f, flat[1]);
        // where contacts change, and now and then
        if (whole && now && (now != before || k % 16 == 15)) check_jacobian(f, k, flat[0], flat[1], f->tau + (size_t)k * f->nv, seed, t), checked++;
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x, before = now;
    }
end:
    free(flat[0]), free(flat[1]);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 12)
    {
        double q[GROUND_MOST], v[GROUND_MOST];
        ctn_model *const m = ground_model((ground_kind)_i, seed, seed % 3 ? 0 : 0.02, q, v);
        fixture f = open_fixture(m, config_of(seed % 2 ? 1. / 60 : 1. / 240), seed % 2 ? 60 : 200);
        memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
        check_fall(&f, seed, &t);
        close_fixture(&f);
    }
    printf("kind %d: %ld columns compared, worst %.3g; %ld at kinks\n", _i, t.compared, t.worst, t.kinks);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_gradients");
    TCase *const t = tcase_create("contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, GROUND_KINDS);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
