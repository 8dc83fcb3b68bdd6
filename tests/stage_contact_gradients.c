/// Derivatives of steps of several stages that touch (integrators/stage_contact_adjoint.h): Jacobians along random changes of the
/// state, and gradients of runs, against differences of the steps themselves. What falls, lands (with one stage), slides and lies, on
/// the ground and on obstacles; machines with motors, springs and dry friction in their joints. Where the step has a kink between the
/// ends of a difference it is left out, and counted.
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

enum { PARTS = 6 };  // of the gradient by a state: q, rates, V, bristles of joints, of contact points, normal forces
enum { MACHINE = GROUND_KINDS, KINDS };

/// A model, its steps, and room for one world of the engine.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    const ctn_engine *engine;
    lane_model *lanes;
    void *state, *work;
    size_t nq, nv, flat, n, contacts;
    size_t part[PARTS + 1];    // where the parts of a gradient begin
    size_t *place;             // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *unit;              // [n] what makes it a length or an angle
    const point_load **point;  // [contacts]
    double *q, *v, *tau;       // tau [steps][nv]
    int steps;
    ctn_tape *tape;
} fixture;

/// The flat form is q, joint rates, their gain, V of every body, energies, bristles of joints, and those and normal forces of contact
/// points.
static void find_places(fixture *f)
{
    const ctn_model *m = f->m;
    const size_t V = f->nq + 2 * f->nv, slip = f->flat - 4 * f->contacts;
    size_t at = 0;
    f->place = calloc(f->n + 1, sizeof *f->place), f->unit = numbers(f->n);
    for (; at < f->nv; at++) f->unit[at] = 1;
    f->part[1] = at;
    for (size_t k = 0; k < f->nv; k++) f->unit[at] = f->cfg.dt, f->place[at++] = f->nq + k;
    f->part[2] = at;
    for (int i = 0; i < m->nbody; i++)
        for (size_t k = 0; k < 12 && (m->bodies[i].flags & BODY_MASS); k++)
            f->unit[at] = f->cfg.dt, f->place[at++] = V + 12 * (size_t)i + k;
    f->part[3] = at;
    for (size_t k = f->n - 4 * f->contacts - at; k > 0; k--) f->unit[at] = 1, f->place[at++] = slip - k;
    f->part[4] = at;
    for (size_t k = 0; k < 3 * f->contacts; k++) f->unit[at] = 1, f->place[at++] = slip + k;
    f->part[5] = at;
    for (size_t k = 0; k < f->contacts; k++) f->unit[at] = 1 / f->point[k]->grip, f->place[at++] = slip + 3 * f->contacts + k;
    f->part[6] = at;
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
    f.tape = ctn_tape_create(m, &cfg, steps, &err);
    ck_assert_msg(f.tape != NULL, "%s", err.message);
    f.n = (size_t)ctn_tape_state_size(f.tape);
    find_places(&f);
    return f;
}

static void close_fixture(fixture *f)
{
    ctn_tape_free(f->tape);
    ctn_model_free(f->m);
    free(f->lanes), free(f->state), free(f->work), free(f->q), free(f->v), free(f->tau), free(f->place), free(f->unit),
        free(f->point);
}

static flat_places places_of(const fixture *f) { return (flat_places){f->nv, f->n, f->flat, f->place, f->unit}; }

/// A trunk on a leg with motors, a springy one, and one on a ball.
static ctn_model *machine(uint64_t seed, double *q, double *v)
{
    static const char text[] =
        "catena: 1\nground: true\ncontact: {friction: %g}\nlinks:\n"
        "  - {name: trunk, joint: free, density: 300, shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}\n"
        "  - {name: thigh, parent: trunk, position: [0.15, 0.1, 0], density: 500,\n"
        "     joint: {type: revolute, axis: [0, 1, 0], armature: 0.01, stiffness: 3, limits: [-40 deg, 40 deg], friction: 0.2,\n"
        "     presliding: 0.05, damping: 0.05}, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.2], radius: 0.03}]}\n"
        "  - {name: foot, parent: thigh, position: [0, 0, -0.2], joint: {type: prismatic, axis: [0, 0, 1], damping: 2, armature: "
        "0.1},\n"
        "     density: 500, shapes: [{type: sphere, radius: 0.04}]}\n"
        "  - {name: leg, parent: trunk, position: [0.15, -0.1, 0], joint: {type: revolute, axis: [0.2, 1, 0], damping: 0.1},\n"
        "     density: 500, shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, -0.25], radius: 0.03}]}\n"
        "  - {name: tail, parent: trunk, position: [-0.2, 0, 0], joint: {type: ball, damping: 0.1, stiffness: 4, armature: "
        "0.01},\n"
        "     density: 500, shapes: [{type: capsule, from: [0, 0, 0], to: [-0.1, 0, -0.2], radius: 0.03}]}\n"
        "motors:\n"
        "  - {joint: thigh, type: position, kp: 40, kd: 1, effort: 12, target: {sinusoid: {amplitude: 0.4, frequency: 2, phase: "
        "%g}}}\n"
        "  - {joint: foot, type: position, kp: 2000, kd: 20, target: %g}\n"
        "  - {joint: leg, type: velocity, kd: 2, gear: 2, target: %g, effort: 3}\n";
    rng r = {seed * 433 + 1};
    char scene[sizeof text + 100];
    const double friction = rng_uniform(&r, 0, 1), phase = rng_uniform(&r, 0, 6), way = rng_uniform(&r, -0.05, 0.05);
    snprintf(scene, sizeof scene, text, friction, phase, way, rng_uniform(&r, -6, 6));
    ctn_model *const m = model_of(scene);
    random_state(m, &r, q, v);
    for (int k = 0; k < m->nv; k++) v[k] *= 0.5;
    memcpy(q, (double[7]){0, 0, 0.4, 1, 0, 0, 0}, 7 * sizeof *q);
    for (int k = 7; k < m->nq; k++) q[k] *= 0.3;
    return m;
}

/// A fall that is checked, by radau of 2, 3 or 4 stages: on the ground alone, or over obstacles.
static fixture open_fall(int kind, uint64_t seed, bool obstacles, int steps)
{
    double q[GROUND_MOST], v[GROUND_MOST];
    const double depth = seed % 3 ? 0 : 0.02;
    ctn_model *const m = kind == MACHINE ? machine(seed, q, v)
                         : obstacles     ? obstacle_model((ground_kind)kind, seed, depth, q, v)
                                         : ground_model((ground_kind)kind, seed, depth, q, v);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_RADAU, cfg.stages = seed % 8 == 7 ? 4 : 2 + (int)(seed / 2 % 2), cfg.tolerance = 1e-13;
    cfg.dt = seed % 2 ? 1. / 60 : 1. / 240;
    fixture f = open_fixture(m, cfg, seed % 2 ? steps : 3 * steps);
    memcpy(f.q, q, f.nq * sizeof *q), memcpy(f.v, v, f.nv * sizeof *v);
    return f;
}

/// A step as it was carried out: 0, not at all.
typedef struct {
    long parts, fewer;
} manner;

static manner step_flat(const fixture *f, int step, const double *from, const double *tau, double *to)
{
    engine_clock clock = {.since = step * f->cfg.dt};
    ctn_step_stats stats = {0};
    double *copy = numbers(f->flat);
    memcpy(copy, from, f->flat * sizeof *copy);
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, true, copy);
    free(copy);
    f->engine->step(f->lanes, &f->cfg, f->state, f->work, &clock, &tau, &(int){1}, false, 1, &stats, &(engine_use){0});
    f->engine->flatten(f->lanes, &f->cfg, f->state, 0, false, to);
    return (manner){stats.steps ? stats.substeps : 0, stats.fewer_stages};
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
/// A kink between the ends that the states do not tell of, as a point slides at a stage alone, is where kink_of() is more than this
/// share of the largest number.
#define BENT 1e-6
/// Derivatives of fourth and second order from values at -2, -1, 1, 2 times e.
static double derivative(const double x[STENCIL], double e) { return (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * e); }
/// By how much these differ from derivatives on less of the way, to the sides of the middle and, with the value x0 there, at it.
static double kink_of(const double x[STENCIL], double x0, double e)
{
    const double inner = (x[2] - x[1]) / (2 * e), near = (x[1] + x[2]) - 2 * x0, far = (x[0] + x[3]) - 2 * x0;
    return worse(fabs(derivative(x, e) - inner), fabs(far - 4 * near) / (4 * e));
}
static double node(int s) { return s < 2 ? s - 2 : s - 1; }

static double largest(const double *x, size_t n)
{
    double s = 0;
    for (size_t k = 0; k < n; k++) s = worse(s, fabs(x[k]));
    return s;
}

/// What was compared, and left out for a kink.
typedef struct {
    long compared, kinks, landed;
    double worst;
} tally;

/// The step from the flat state `from` to `to` along the change d [n + nv] of state and forces, against what A and B say.
static void check_change(const fixture *f, const double *from, const double *to, const double *tau, manner how, const double *d,
                         const double *slope, double scale, uint64_t seed, int step, const char *what, tally *t)
{
    const double e = 1e-6;
    double *one = numbers(f->flat), *pushed = numbers(f->nv), *got[STENCIL], error = 0, bend = 0;
    bool smooth = true;
    for (int s = 0; s < STENCIL; s++) got[s] = numbers(f->n);
    for (int s = 0; s < STENCIL && smooth; s++) {
        for (size_t j = 0; j < f->nv; j++) pushed[j] = tau[j] + node(s) * e * d[f->n + j];
        flat_move(f->m, places_of(f), from, d, node(s) * e, one);
        const manner now = step_flat(f, step, one, pushed, one);
        smooth = now.parts == how.parts && now.fewer == how.fewer && same_touches(f, one, to);
        flat_between(f->m, places_of(f), to, one, got[s]);
    }
    size_t row = 0;
    for (size_t i = 0; i < f->n && smooth; i++) {
        const double x[STENCIL] = {got[0][i], got[1][i], got[2][i], got[3][i]}, off = fabs(derivative(x, e) - slope[i]);
        bend = worse(bend, kink_of(x, 0, e));
        if (off > error) row = i;
        error = worse(error, off);
    }
    if (!smooth || bend > BENT * scale) t->kinks++;
    else {
        t->compared++, t->worst = worse(t->worst, error / scale);
        ck_assert_msg(error <= 1e-6 * scale, "seed %llu, step %d: by %s off by %.3g of %.3g in row %zu of %zu",
                      (unsigned long long)seed, step, what, error, scale, row, f->n);
    }
    for (int s = 0; s < STENCIL; s++) free(got[s]);
    free(one), free(pushed);
}

static bool has_bristles(const ctn_model *m, int dof)
{
    for (int i = 0; i < m->nbody; i++)
        if (m->bodies[i].vadr == dof) return m->bodies[i].flags & BODY_FRICTION;
    return false;
}

/// A and B of a step along random changes of each part of the state, of forces, and of all of these.
static void check_step(const fixture *f, int step, const double *from, const double *to, const double *tau, manner how,
                       uint64_t seed, tally *t)
{
    static const char *const parts[] = {"q", "rates", "V", "bristles of joints", "bristles", "normal forces", "forces", "all"};
    enum { FORCES = PARTS, ALL };
    ctn_error err = {0};
    rng r = {seed * 977 + (uint64_t)step};
    double *A = numbers(f->n * f->n), *B = numbers(f->n * f->nv), *d = numbers(f->n + f->nv), *slope = numbers(f->n);
    ck_assert_msg(ctn_step_jacobian(f->tape, step, A, B, &err) == CTN_OK, "seed %llu: %s", (unsigned long long)seed, err.message);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) A[i * f->n + j] *= f->unit[i] / f->unit[j];
        for (size_t j = 0; j < f->nv; j++) B[i * f->nv + j] *= f->unit[i];
    }
    const double scale = largest(A, f->n * f->n), force = scale / largest(B, f->n * f->nv);
    for (int what = 0; what <= ALL; what++) {
        memset(d, 0, (f->n + f->nv) * sizeof *d), memset(slope, 0, f->n * sizeof *slope);
        for (int p = 0; p < PARTS; p++)
            for (size_t j = f->part[p]; j < f->part[p + 1]; j++) {
                // a normal force of 0 has one side; only joints with dry friction have bristles
                const bool aside =
                    (p == 5 && !touch_of(f, from, j - f->part[p])) || (p == 3 && !has_bristles(f->m, (int)(j - f->part[p])));
                if ((what != p && what != ALL) || aside) continue;
                const double x = rng_uniform(&r, -1, 1);
                d[j] = x / f->unit[j];
                for (size_t i = 0; i < f->n; i++) slope[i] += A[i * f->n + j] * x;
            }
        for (size_t j = 0; j < f->nv && what >= FORCES; j++) {
            d[f->n + j] = rng_uniform(&r, -1, 1) * force;
            for (size_t i = 0; i < f->n; i++) slope[i] += B[i * f->nv + j] * d[f->n + j];
        }
        check_change(f, from, to, tau, how, d, slope, scale, seed, step, parts[what], t);
    }
    free(A), free(B), free(d), free(slope);
}

/// Some steps of a fall, in which something touches: up to `most` with all stages, and some with fewer.
static void check_fall(fixture *f, long most, uint64_t seed, tally *t)
{
    ctn_error err = {0};
    double *flat[2] = {numbers(f->flat), numbers(f->flat)};
    long landed = 0, others = 0;
    const ctn_status status = ctn_tape_run(f->tape, f->q, f->v, f->tau, &err);
    start_flat(f, f->q, f->v, flat[0]);
    for (int k = 0; k < f->steps && status == CTN_OK; k++) {
        const double *const tau = f->tau + (size_t)k * f->nv;
        const manner how = step_flat(f, k, flat[0], tau, flat[1]);
        const bool touches = touching(f, flat[0]) || touching(f, flat[1]);
        if (touches && how.fewer && landed < (most + 7) / 8) check_step(f, k, flat[0], flat[1], tau, how, seed, t), landed++;
        if (touches && !how.fewer && others < most && k % 3 == 0) check_step(f, k, flat[0], flat[1], tau, how, seed, t), others++;
        double *const x = flat[0];
        flat[0] = flat[1], flat[1] = x;
    }
    t->landed += landed;
    free(flat[0]), free(flat[1]);
}

static void check_tally(const tally *t, const char *what)
{
    printf("%s: %ld compared, worst %.3g; %ld at kinks; %ld steps with fewer stages\n", what, t->compared, t->worst, t->kinks,
           t->landed);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(4 * t->compared > t->kinks, "%s: %ld of %ld comparisons at kinks", what, t->kinks, t->kinks + t->compared);
}

START_TEST(steps_against_differences)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        fixture f = open_fall(_i, seed, false, 60);
        check_fall(&f, 12, seed, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on the ground");
    if (!getenv("CTN_SEED")) ck_assert_int_gt(t.landed, 0);
}
END_TEST

START_TEST(steps_on_obstacles)
{
    tally t = {0};
    FOR_SEEDS(seed, _i == GROUND_RAGDOLL ? 1 : 2)
    {
        fixture f = open_fall(_i, seed, true, 60);
        check_fall(&f, 6, seed, &t);
        close_fixture(&f);
    }
    check_tally(&t, "steps on obstacles");
}
END_TEST

enum { RUN = 10 };

/// How the steps of a run are carried out, and which points touch and slide after them.
static void manners_of_run(const fixture *f, const double *q, const double *v, const double *tau, int *manners)
{
    double *flat = numbers(f->flat);
    start_flat(f, q, v, flat);
    for (int k = 0; k < RUN; k++) {
        const manner how = step_flat(f, k, flat, tau + (size_t)k * f->nv, flat);
        *manners++ = (int)how.parts, *manners++ = (int)how.fewer;
        for (size_t p = 0; p < f->contacts; p++) *manners++ = touch_of(f, flat, p);
    }
    free(flat);
}

/// Where coordinates and velocities come to, weighed, from `origin`.
static double weigh(const fixture *f, const double *origin, const double *weights)
{
    ctn_error err = {0};
    double q[GROUND_MOST], v[GROUND_MOST], u[GROUND_MOST], sum = 0;
    ck_assert_int_eq(ctn_tape_state(f->tape, RUN, q, v, &err), CTN_OK);
    tangent_between(f->m, origin, q, u);
    for (size_t k = 0; k < f->nv; k++) sum += weights[k] * u[k] + weights[f->nv + k] * f->cfg.dt * v[k];
    return sum;
}

/// The gradient of a run of RUN steps, from the state of the fixture, by q, v and forces together.
static void check_run(const fixture *f, uint64_t seed, tally *t)
{
    const size_t nv = f->nv, force = RUN * nv, all = 2 * nv + force, told = RUN * (2 + f->contacts);
    static const double widths[] = {1e-6, 3e-6, 1e-5};  // solves of one stage leave noise, which wide differences feel less
    ctn_error err = {0};
    rng r = {seed * 31 + 7};
    double *weights = numbers(2 * nv), *dq = numbers((RUN + 1) * nv), *dv = numbers((RUN + 1) * nv), *g = numbers(all),
           *along = numbers(all), *q = numbers(f->nq), *v = numbers(nv), *tau = numbers(force), *origin = numbers(f->nq);
    int *manners[2] = {calloc(told, sizeof(int)), calloc(told, sizeof(int))};
    for (size_t k = 0; k < 2 * nv; k++) weights[k] = rng_uniform(&r, -1, 1);
    memcpy(dq + RUN * nv, weights, nv * sizeof *dq);
    for (size_t k = 0; k < nv; k++) dv[RUN * nv + k] = weights[nv + k] * f->cfg.dt;
    if (ctn_tape_run(f->tape, f->q, f->v, f->tau, &err) != CTN_OK) goto end;
    ctn_tape_state(f->tape, RUN, origin, NULL, &err);
    ck_assert_msg(ctn_tape_gradient(f->tape, dq, dv, g, g + nv, g + 2 * nv, &err) == CTN_OK, "seed %llu: %s",
                  (unsigned long long)seed, err.message);
    for (size_t k = nv; k < 2 * nv; k++) g[k] /= f->cfg.dt;  // by lengths: velocities times dt
    manners_of_run(f, f->q, f->v, f->tau, manners[0]);
    const double middle = weigh(f, origin, weights), by_force = largest(g + 2 * nv, force), size = largest(g, 2 * nv) + 1;
    for (int trial = 0; trial < 3; trial++) {
        double slope = 0, error = INFINITY;
        for (size_t j = 0; j < all; j++) {
            along[j] = rng_uniform(&r, -1, 1) * (j < 2 * nv ? 1 : 1 / by_force);
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
                manners_of_run(f, q, v, tau, manners[1]);
                smooth = !memcmp(manners[0], manners[1], told * sizeof(int)) && ctn_tape_run(f->tape, q, v, tau, &err) == CTN_OK;
                if (smooth) x[s] = weigh(f, origin, weights);
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
    for (size_t k = 0; k < RUN; k++) t->landed += manners[0][k * (2 + f->contacts) + 1];
end:
    free(weights), free(dq), free(dv), free(g), free(along), free(q), free(v), free(tau), free(origin);
    free(manners[0]), free(manners[1]);
}

/// Gradients of whole falls of machines by what their motors are told in every step, some of whose steps are held to their energy.
START_TEST(targets_of_machines)
{
    tally t = {0};
    FOR_SEEDS(seed, 4)
    {
        fixture f = open_fall(MACHINE, seed, false, 60);
        const size_t nv = f.nv, n = (size_t)f.steps * (size_t)f.m->ncontrol;
        const double e = 1e-6;
        double *dq = numbers(((size_t)f.steps + 1) * nv), *dv = numbers(((size_t)f.steps + 1) * nv), *g = numbers(n),
               *u = numbers(n), *along = numbers(n), x[STENCIL], slope = 0;
        double *const weights = dq + (size_t)f.steps * nv, origin[GROUND_MOST], q[GROUND_MOST], way[GROUND_MOST];
        bool smooth = true;
        ctn_error err = {0};
        rng r = {seed * 71 + 5};
        for (size_t k = 0; k < nv; k++) weights[k] = rng_uniform(&r, -1, 1);
        ck_assert_int_eq(ctn_tape_set_targets(f.tape, u, &err), CTN_OK);
        ck_assert_int_eq(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err), CTN_OK);
        ck_assert_int_eq(ctn_tape_state(f.tape, f.steps, origin, NULL, &err), CTN_OK);
        ck_assert_msg(ctn_tape_target_gradient(f.tape, dq, dv, NULL, NULL, NULL, g, &err) == CTN_OK, "%s", err.message);
        const double size = largest(g, n);
        for (size_t k = 0; k < n; k++) along[k] = rng_uniform(&r, -1, 1), slope += along[k] * g[k];
        const int fallbacks = ctn_tape_fallbacks(f.tape);
        for (int s = 0; s < STENCIL; s++) {
            for (size_t k = 0; k < n; k++) u[k] = node(s) * e * along[k];
            ctn_tape_set_targets(f.tape, u, &err);
            ck_assert_int_eq(ctn_tape_run(f.tape, f.q, f.v, f.tau, &err), CTN_OK);
            ctn_tape_state(f.tape, f.steps, q, NULL, &err), tangent_between(f.m, origin, q, way);
            smooth = smooth && ctn_tape_fallbacks(f.tape) == fallbacks, x[s] = 0;
            for (size_t k = 0; k < nv; k++) x[s] += weights[k] * way[k];
        }
        const double error = fabs(derivative(x, e) - slope) / size;
        if (!smooth || kink_of(x, 0, e) > 1e-5 * size) t.kinks++;
        else {
            t.compared++, t.worst = worse(t.worst, error);
            ck_assert_msg(error <= 1e-5, "seed %llu: slope %.12g of %.3g, off by %.3g", (unsigned long long)seed, slope, size,
                          error);
        }
        free(dq), free(dv), free(g), free(u), free(along);
        close_fixture(&f);
    }
    check_tally(&t, "targets of machines");
}
END_TEST

/// Runs that begin shortly before something lands, and while it lies or slides.
START_TEST(gradients_of_runs)
{
    tally t = {0};
    FOR_SEEDS(seed, 2)
    {
        fixture fall = open_fall(_i, seed, seed % 4 == 1 && seed % 3 != 0, 60), f = fall;
        ctn_error err = {0};
        const ctn_status status = ctn_tape_run(fall.tape, fall.q, fall.v, fall.tau, &err);
        for (int part = 0; part < 2 && status == CTN_OK; part++) {
            const int step = fall.steps * (2 * part + 4) / 8 + (int)(seed % 7);
            f.tape = ctn_tape_create(f.m, &f.cfg, RUN, &err), f.steps = RUN;
            ck_assert_int_eq(ctn_tape_state(fall.tape, step < fall.steps ? step : fall.steps, f.q, f.v, &err), CTN_OK);
            check_run(&f, seed, &t);
            ctn_tape_free(f.tape);
        }
        close_fixture(&fall);
    }
    check_tally(&t, "runs");
}
END_TEST

/// A step back of eight worlds at different times of a fall, of which some touch: every engine has the bits of the first.
START_TEST(same_bits)
{
    enum { WORLDS = 8 };
    fixture f = open_fall(GROUND_TREE, 2, true, 60);
    double *at[WORLDS][2], *got[WORLDS], *want[WORLDS], *bar = numbers(f.n), *tau_bar[WORLDS];
    const double *const pushed = f.tau;
    rng r = {3};
    int found = 0;
    for (size_t k = 0; k < f.n; k++) bar[k] = rng_uniform(&r, -1, 1);
    for (int w = 0; w < WORLDS; w++) got[w] = numbers(f.n), want[w] = numbers(f.n), tau_bar[w] = numbers(f.nv);
    for (int w = 0; w < WORLDS; w++) at[w][0] = numbers(f.flat), at[w][1] = numbers(f.flat);
    start_flat(&f, f.q, f.v, at[0][0]);
    for (int k = 0; found < WORLDS && k < f.steps; k++) {
        const manner how = step_flat(&f, 0, at[found][0], pushed, at[found][1]);
        double *const next = numbers(f.flat);
        memcpy(next, at[found][1], f.flat * sizeof *next);
        found += how.parts == 1 && !how.fewer && (touching(&f, next) || found < 2);  // two that fly
        if (found < WORLDS) memcpy(at[found][0], next, f.flat * sizeof *next);
        free(next);
    }
    ck_assert_int_eq(found, WORLDS);
    for (const ctn_engine *const *e = engines_available(); *e; e++) {
        const ctn_engine *g = *e;
        lane_model *const lanes = engine_model(g, f.m, f.cfg.dt);
        void *const adjoint = aligned_alloc(64, (g->adjoint_size(lanes, &f.cfg) + 127) / 64 * 64);
        memset(adjoint, 0, g->adjoint_size(lanes, &f.cfg));
        for (int w = 0; w < WORLDS; w += g->lanes) {
            const double *before[WORLDS], *after[WORLDS], *bars[WORLDS], *tau[WORLDS];
            double *to[WORLDS], *by_tau[WORLDS];
            for (int l = 0; l < g->lanes; l++)
                before[l] = at[w + l][0], after[l] = at[w + l][1], bars[l] = bar, tau[l] = pushed, to[l] = got[w + l],
                by_tau[l] = tau_bar[w + l];
            ck_assert(g->adjoint_prepare(lanes, &f.cfg, adjoint, 0, f.cfg.dt, 0, before, after, tau));
            g->adjoint_step(lanes, &f.cfg, adjoint, g->lanes, bars, to, by_tau, NULL, NULL);
        }
        for (int w = 0; w < WORLDS; w++) {
            if (e == engines_available()) memcpy(want[w], got[w], f.n * sizeof *bar);
            ck_assert_msg(!memcmp(want[w], got[w], f.n * sizeof *bar), "%s, world %d: other bits", g->name, w);
            ck_assert(largest(got[w], f.n) > 0 && largest(got[w], f.n) < 1e300);
        }
        free(adjoint), free(lanes);
    }
    for (int w = 0; w < WORLDS; w++) free(got[w]), free(want[w]), free(tau_bar[w]), free(at[w][0]), free(at[w][1]);
    free(bar);
    close_fixture(&f);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("stage_contact_gradients");
    TCase *const t = tcase_create("stage_contact_gradients");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, steps_against_differences, 0, KINDS);
    tcase_add_loop_test(t, steps_on_obstacles, 0, GROUND_KINDS);
    tcase_add_test(t, targets_of_machines);
    tcase_add_loop_test(t, gradients_of_runs, 0, KINDS);
    tcase_add_test(t, same_bits);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
