#include "tests/contact_world.h"

#include "tests/random_scene.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 96 };  // numbers of q and of v

double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// The next `count` coordinates, which are at `place` in the flat form.
static void put_coordinates(contact_world *f, size_t *at, size_t place, size_t count, double unit)
{
    for (size_t k = 0; k < count; k++) f->unit[*at] = unit, f->place[(*at)++] = place + k;
}

/// Those of the bodies with mass, of columns of all.
static void put_columns(contact_world *f, size_t *at, size_t place, double unit)
{
    for (int i = 0; i < f->m->nbody; i++)
        if (f->m->bodies[i].flags & BODY_MASS) put_coordinates(f, at, place + 12 * (size_t)i, 12, unit);
}

/// The flat form is q, joint rates, their gain, V of every body, two sums of energy (of methods that keep them), of alpha A and B of
/// every body, a and b, the size that these fit and how the next step begins; bristles of joints, integral terms, bristles and normal
/// forces of contact points, turns of joints.
static void find_places(contact_world *f)
{
    const ctn_model *const m = f->m;
    const bool alpha = f->cfg.method == CTN_ALPHA;
    const double h = f->cfg.dt;
    const size_t turns = m->turns ? f->nv : 0, wound = (size_t)m->nwound, bent = m->rubs ? f->nv : 0, bodies = 12 * (size_t)m->nbody,
                 V = f->nq + 2 * f->nv, A = V + bodies + 2, a = A + 2 * bodies,
                 slip = f->flat - turns - f->contacts - 3 * f->bristles, z = slip - wound - bent;
    size_t at = 0;
    f->place = calloc(f->n + 1, sizeof *f->place), f->unit = numbers(f->n), f->idle = calloc(f->n + 1, sizeof *f->idle);
    f->fresh = alpha ? z - 1 : 0;
    put_coordinates(f, &at, 0, f->nv, 1), f->part[BY_RATES] = at;
    put_coordinates(f, &at, f->nq, f->nv, h), f->part[BY_V] = at;
    put_columns(f, &at, V, h), f->part[BY_ACCELERATIONS] = at;
    if (alpha)
        put_columns(f, &at, A, h * h), put_columns(f, &at, A + bodies, h * h), put_coordinates(f, &at, a, 2 * f->nv, h * h);
    f->part[BY_WOUND] = at;
    put_coordinates(f, &at, slip - wound, wound, 0.01), f->part[BY_BENT] = at;  // m/(N m)
    put_coordinates(f, &at, z, bent, 1), f->part[BY_SLIP] = at;
    for (int i = 0; i < m->nbody && bent; i++)
        for (int k = m->bodies[i].vadr; k < m->bodies[i].vadr + m->bodies[i].nv; k++)
            f->idle[f->part[BY_BENT] + (size_t)k] = !(m->bodies[i].flags & BODY_FRICTION);
    put_coordinates(f, &at, slip, 3 * f->bristles, 1), f->part[BY_PRESS] = at;
    for (size_t k = 0; k < f->contacts; k++) put_coordinates(f, &at, slip + 3 * f->bristles + k, 1, 1 / f->point[k]->grip);
    f->part[GRADIENT_PARTS] = at;
    ck_assert_uint_eq(at, f->n);
}

static void *room(size_t size)
{
    void *const p = aligned_alloc(64, (size + 127) / 64 * 64);
    memset(p, 0, size);
    return p;
}

contact_world open_world(ctn_model *m, ctn_batch_config cfg, int steps)
{
    contact_world f = {.m = m, .cfg = cfg, .engine = engines_available()[0], .steps = steps};
    ctn_error err = {0};
    f.lanes = engine_model(f.engine, m, cfg.dt);
    f.nq = (size_t)m->nq, f.nv = (size_t)m->nv, f.contacts = (size_t)m->ncontact, f.bristles = (size_t)m->nbent;
    ck_assert(f.nq <= ROOM && f.nv <= ROOM);
    f.flat = f.engine->flat_size(f.lanes, &f.cfg);
    f.state = room(f.engine->state_size(f.lanes, &f.cfg)), f.work = room(f.engine->work_size(f.lanes, &f.cfg));
    f.q = numbers(ROOM), f.v = numbers(ROOM), f.tau = numbers(f.nv * (size_t)steps);
    f.point = calloc(f.contacts + 1, sizeof *f.point);
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) f.point[m->loads[k].contact] = &m->loads[k];
    f.tape = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.tape != NULL, "%s", err.message);
    f.n = (size_t)ctn_tape_state_size(f.tape);
    find_places(&f);
    return f;
}

void close_world(contact_world *f)
{
    ctn_tape_free(f->tape);
    free(f->lanes);
    ctn_model_free(f->m);
    free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place), free(f->unit), free(f->idle);
    free(f->point);
}

flat_places places_of(const contact_world *f) { return (flat_places){f->nv, f->n, f->flat, f->place, f->unit}; }

bool made_alike(made_step a, made_step b) { return a.parts == b.parts && a.fewer == b.fewer && a.found == b.found; }

made_step step_flat(const contact_world *f, int step, const double *from, const double *tau, double *to)
{
    const engine_clock clock = {.since = step * f->cfg.dt};
    const bool found = f->fresh && from[f->fresh] == 1;
    ctn_step_stats stats = {0};
    double *copy = numbers(f->flat);
    memcpy(copy, from, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, &clock, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return (made_step){stats.steps ? stats.substeps : 0, stats.fewer_stages, found};
}

void start_flat(const contact_world *f, const double *q, const double *v, double *to)
{
    f->engine->set(f->lanes, &f->cfg, f->state, f->work, &q, &v);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
}

int touch_of(const contact_world *f, const double *flat, size_t k)
{
    const double *const press = flat + f->flat - (f->m->turns ? f->nv : 0) - f->contacts;
    const double *const z = press - 3 * (f->bristles - k), l = press[k];
    const point_load *s = f->point[k];
    const double bent = s->grip * sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
    return l <= 0 ? 0 : bent < (1 - 1e-9) * s->friction * l ? 1 : 2;
}

long touching(const contact_world *f, const double *flat)
{
    long n = 0;
    for (size_t k = 0; k < f->contacts; k++) n += touch_of(f, flat, k) > 0;
    return n;
}

bool same_touches(const contact_world *f, const double *a, const double *b)
{
    for (size_t k = 0; k < f->contacts; k++)
        if (touch_of(f, a, k) != touch_of(f, b, k)) return false;
    return !f->fresh || a[f->fresh] == b[f->fresh];
}

bool is_at_edge(const contact_world *f, const double *flat, size_t j)
{
    return f->idle[j] || (j >= f->part[BY_PRESS] && !touch_of(f, flat, j - f->part[BY_PRESS]));
}

double node(int s) { return s < 2 ? s - 2 : s - 1; }

double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }

double kink_of(const double x[STENCIL], double x0, double e)
{
    const double inner = (x[2] - x[1]) / (2 * e), near = (x[1] + x[2]) - 2 * x0, far = (x[0] + x[3]) - 2 * x0;
    return worse(fabs(derivative(x, e) - inner), fabs(far - 4 * near) / (4 * e));
}

bool slopes_along(const contact_world *f, int step, const double *from, const double *to, const double *tau, made_step how,
                  const double *d, double e, bool from_alike, double *slope, double *bend)
{
    double *one = numbers(f->flat), *pushed = numbers(f->nv), *got[STENCIL];
    bool smooth = true;
    *bend = 0;
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    for (int s = 0; s < STENCIL && smooth; s++) {
        for (size_t j = 0; j < f->nv; j++) pushed[j] = tau[j] + node(s) * e * d[f->n + j];
        flat_move(f->m, places_of(f), from, d, node(s) * e, one);
        smooth = (!from_alike || same_touches(f, one, from)) && made_alike(how, step_flat(f, step, one, pushed, one)) &&
                 same_touches(f, one, to);
        flat_between(f->m, places_of(f), to, one, got[s]);
    }
    for (size_t i = 0; i < f->n && smooth; i++) {
        const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]};
        slope[i] = derivative(x, e), *bend = worse(*bend, kink_of(x, 0, e));
    }
    for (int s = 0; s < STENCIL; s++) free(got[s]);
    free(one), free(pushed);
    return smooth;
}

double weigh(const contact_world *f, const double *origin, const double *q, const double *v, const double *weights)
{
    double u[ROOM], sum = 0;
    tangent_between(f->m, origin, q, u);
    for (size_t k = 0; k < f->nv; k++) sum += weights[k] * u[k] + weights[f->nv + k] * f->cfg.dt * v[k];
    return sum;
}

/// A run, step by step: how it is made, which points touch and slide, touches [RUN][contacts], and the q and v to which it comes.
static void follow_run(const contact_world *f, const double *q, const double *v, const double *tau, made_step *made, int *touches,
                       double *to_q, double *to_v)
{
    double *flat = numbers(f->flat);
    start_flat(f, q, v, flat);
    for (int k = 0; k < RUN; k++) {
        made[k] = step_flat(f, k, flat, tau + (size_t)k * f->nv, flat);
        for (size_t p = 0; p < f->contacts; p++) *touches++ = touch_of(f, flat, p);
    }
    f->engine->get(f->lanes, &f->cfg, f->state, f->work, 1, &to_q, &to_v);
    free(flat);
}

/// Whether two runs are smooth changes of each other.
static bool runs_alike(const contact_world *f, const made_step *made, const int *touches, const made_step *other,
                       const int *others)
{
    for (int k = 0; k < RUN; k++)
        if (!made_alike(made[k], other[k])) return false;
    return !memcmp(touches, others, RUN * f->contacts * sizeof *touches);
}

static void check_run(const contact_world *f, uint64_t seed, int trials, int apart, comparison *t, made_step *made)
{
    const size_t nv = f->nv, force = RUN * nv, all = 2 * nv + force;
    // solves leave normal forces a billionth of the weight (is_corrected()), ten steps more of it: noise by which differences are off,
    // by more the narrower they are
    static const double widths[] = {1e-6, 3e-6, 1e-5};
    ctn_error err = {0};
    made_step other[RUN];
    rng r = {seed * 31 + 7};
    double *weights = numbers(2 * nv), *dq = numbers((RUN + 1) * nv), *dv = numbers((RUN + 1) * nv), *g = numbers(all),
           *along = numbers(all), *q = numbers(f->nq), *v = numbers(nv), *tau = numbers(force), *origin = numbers(f->nq),
           *to_q = numbers(f->nq), *to_v = numbers(nv);
    int *touches[2];
    for (int k = 0; k < 2; k++) touches[k] = calloc(RUN * f->contacts + 1, sizeof(int));
    for (size_t k = 0; k < 2 * nv; k++) weights[k] = rng_uniform(&r, -1, 1);
    memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[RUN * nv + k] = weights[nv + k] * f->cfg.dt;
    follow_run(f, f->q, f->v, f->tau, made, touches[0], origin, to_v);
    for (int k = 0; k < RUN; k++)
        if (made[k].parts != 1) goto end;
    if (ctn_tape_run(f->tape, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    ck_assert_msg(ctn_tape_gradient(f->tape, dq, dv, g, g + nv, g + 2 * nv, &err) == CTN_OK, "seed %llu: %s",
                  (unsigned long long)seed, err.message);
    for (size_t k = nv; k < 2 * nv; k++) g[k] /= f->cfg.dt;  // by lengths: velocities times dt
    const double middle = weigh(f, origin, origin, to_v, weights);
    const double by_force = largest(g + 2 * nv, force), size = largest(g, 2 * nv) + 1;  // the largest by forces is 1 below
    for (int trial = 0; trial < trials; trial++) {
        double slope = 0, error = INFINITY;
        for (size_t j = 0; j < all; j++) {
            const int what = j < nv ? 0 : j < 2 * nv ? 1 : 2;
            along[j] = trial < apart && what != trial ? 0 : rng_uniform(&r, -1, 1) * (what == 2 ? 1 / by_force : 1);
            slope += along[j] * g[j];
        }
        for (size_t width = 0; width < sizeof widths / sizeof *widths && error > 1e-6; width++) {
            const double e = widths[width];
            double x[STENCIL];
            bool smooth = true;
            for (int s = 0; s < STENCIL && smooth; s++) {
                tangent_move(f->m, f->q, along, node(s) * e, q);
                for (size_t j = 0; j < nv; j++) v[j] = f->v[j] + node(s) * e * along[nv + j] / f->cfg.dt;
                for (size_t j = 0; j < force; j++) tau[j] = f->tau[j] + node(s) * e * along[2 * nv + j];
                follow_run(f, q, v, tau, other, touches[1], to_q, to_v);
                smooth = runs_alike(f, made, touches[0], other, touches[1]);
                x[s] = weigh(f, origin, to_q, to_v, weights);
            }
            if (!smooth || kink_of(x, middle, e) > BENT * size) continue;
            error = fmin(error, fabs(derivative(x, e) - slope) / size);
        }
        if (error == INFINITY) {
            t->kinks++;
            continue;
        }
        t->compared++, t->worst = worse(t->worst, error);
        ck_assert_msg(error <= 1e-6, "seed %llu, trial %d: slope %.12g, off by %.3g", (unsigned long long)seed, trial, slope,
                      error);
    }
end:
    free(weights), free(dq), free(dv), free(g), free(along), free(q), free(v), free(tau), free(origin), free(to_q), free(to_v);
    free(touches[0]), free(touches[1]);
}

void check_run_from(const contact_world *f, int step, uint64_t seed, int trials, int apart, comparison *t, made_step *made)
{
    contact_world run = *f;
    ctn_error err = {0};
    run.tape = ctn_tape_create(f->m, &f->cfg, RUN, &err), run.steps = RUN;
    ck_assert_msg(run.tape != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_tape_state(f->tape, step < f->steps ? step : f->steps, run.q, run.v, &err), CTN_OK);
    check_run(&run, seed, trials, apart, t, made);
    ctn_tape_free(run.tape);
}

void check_same_bits(const contact_world *f, double *const *before, double *const *after)
{
    enum { WORLDS = SAME_WORLDS };
    double *got[WORLDS], *want[WORLDS], *bar = numbers(f->n), *tau_bar[WORLDS];
    rng r = {3};
    for (size_t k = 0; k < f->n; k++) bar[k] = rng_uniform(&r, -1, 1);
    for (int w = 0; w < WORLDS; w++) got[w] = numbers(f->n), want[w] = numbers(f->n), tau_bar[w] = numbers(f->nv);
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        const ctn_engine *const g = *e;
        lane_model *const lanes = engine_model(g, f->m, f->cfg.dt);
        void *const adjoint = room(g->adjoint_size(lanes, &f->cfg));
        for (int w = 0; w < WORLDS; w += g->lanes) {
            const double *bars[WORLDS], *tau[WORLDS];
            for (int l = 0; l < g->lanes; l++) bars[l] = bar, tau[l] = f->tau;
            ck_assert(g->adjoint_prepare(lanes, &f->cfg, adjoint, NULL, f->cfg.dt, 0, (const double *const *)before + w,
                                         (const double *const *)after + w, tau, NULL));
            g->adjoint_step(lanes, &f->cfg, adjoint, g->lanes, bars, got + w, tau_bar + w, NULL, NULL);
        }
        for (int w = 0; w < WORLDS; w++) {
            if (e == engines_available()) memcpy(want[w], got[w], f->n * sizeof *bar);
            ck_assert_msg(!memcmp(want[w], got[w], f->n * sizeof *bar), "%s, world %d: other bits", g->name, w);
            ck_assert(largest(got[w], f->n) > 0 && largest(got[w], f->n) < 1e300);
        }
        free(adjoint), free(lanes);
    }
    for (int w = 0; w < WORLDS; w++) free(got[w]), free(want[w]), free(tau_bar[w]);
    free(bar);
}
