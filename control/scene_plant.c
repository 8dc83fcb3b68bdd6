#include "control/scene_plant.h"

#include "dynamics/model.h"
#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <catena/tapes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Derivatives of all knots: joint forces [nv], accelerations by q, v and forces, and forces of motors by q, v and what they are told,
/// [nv][nv], [nv][nu].
typedef struct {
    double *tau, *own, *a_q, *a_v, *inverse, *f_q, *f_v, *own_q, *own_v, *f_u, *memory;
} plant_derivatives;

struct scene_plant {
    plant plant;
    const ctn_scene *scene;
    const ctn_model *model;
    costs *costs;
    ctn_tapes *one, *many, *all;  // of a point, of `most`, of all knots with gradients
    int nq, nv, nu, hold;
    double knot;
    double *q, *v, *time;  // [knots], or [most]
    const double *u;       // what motors are told in the run in hand
    int told;              // worlds
    ctn_dynamics *dyn;     // of plants that are linearised by accelerations; NULL: by their steps
    plant_derivatives by;  // likewise
    bool lags;             // of these: positions go by the old velocities
    bool torques;          // of these: motors are torques along joints, whose derivative is by.f_u [nv][nu] everywhere
};

static void tell(void *context, int step, const double *q, const double *v, double *u, double *tau)
{
    const scene_plant *const s = context;
    (void)q, (void)v, (void)tau;
    if (!step) memcpy(u, s->u, (size_t)s->told * (size_t)s->nu * sizeof *u);  // held
}

/// Splits x [count][nx] for `worlds` worlds; the last point again for those that are left over.
static void split(scene_plant *s, int count, int worlds, const int *knot, const double *x)
{
    const size_t nq = (size_t)s->nq, nv = (size_t)s->nv;
    for (int i = 0; i < worlds; i++) {
        const size_t from = (size_t)(i < count ? i : count - 1), to = (size_t)i;
        memcpy(s->q + to * nq, x + from * (nq + nv), nq * sizeof *x);
        memcpy(s->v + to * nv, x + from * (nq + nv) + nq, nv * sizeof *x);
        s->time[i] = s->knot * (knot ? knot[from] : (int)from);
    }
}

static ctn_status play(scene_plant *s, ctn_tapes *tapes, int worlds, const double *u, ctn_error *err)
{
    const ctn_tapes_hooks hooks = {.tell = tell, .context = s};
    s->u = u, s->told = worlds;
    const ctn_status status = ctn_tapes_begin_at(tapes, s->time, err);
    return status == CTN_OK ? ctn_tapes_run(tapes, s->hold, s->q, s->v, NULL, &hooks, err) : status;
}

static ctn_status step(void *context, int count, const int *knot, const double *x, const double *u, double *next, bool *good,
                       ctn_error *err)
{
    scene_plant *const s = context;
    ctn_tapes *const tapes = count == 1 ? s->one : s->many;
    const int worlds = count == 1 ? 1 : s->plant.most;
    const size_t nq = (size_t)s->nq, nv = (size_t)s->nv, nu = (size_t)s->nu;
    split(s, count, worlds, knot, x);
    double *const told = s->time + s->plant.most;  // [most][nu]
    for (int i = 0; i < worlds; i++) memcpy(told + (size_t)i * nu, u + (size_t)(i < count ? i : count - 1) * nu, nu * sizeof *u);
    const ctn_status status = play(s, tapes, worlds, told, err);
    if (status != CTN_OK) return status;
    for (int i = 0; i < count; i++) {
        const size_t w = (size_t)i;
        good[i] = ctn_tapes_lost(tapes, i) < 0;
        memcpy(next + w * (nq + nv), ctn_tapes_q(tapes, s->hold) + w * nq, nq * sizeof *next);
        memcpy(next + w * (nq + nv) + nq, ctn_tapes_v(tapes, s->hold) + w * nv, nv * sizeof *next);
    }
    return CTN_OK;
}

static ctn_status linearise(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    scene_plant *const s = context;
    split(s, s->plant.knots, s->plant.knots, NULL, x);
    const ctn_status played = play(s, s->all, s->plant.knots, u, err);
    const ctn_status status = played == CTN_OK ? ctn_tapes_jacobian(s->all, A, B, NULL, err) : played;
    for (int k = 0; k < s->plant.knots && status == CTN_OK; k++)
        if (ctn_tapes_lost(s->all, k) >= 0)
            return fail(
                err, CTN_UNAVAILABLE,
                "knot %d (t = %g s) has no derivative: a step of it had to be halved, or is not found again; take a smaller "
                "`dt`",
                k, s->knot * k);
    return status;
}

/// Of euler and semi-implicit steps of joints that add up, A and B by the derivatives of accelerations a(q, v, u), all knots at once:
///
///     euler: q' = q + h v, v' = v + h a      semi-implicit: v' = v + h a, q' = q + h v'
///
/// Accelerations are those of motors that are told what the model says, and of joint forces that make up the difference.
static ctn_status linearise_accelerations(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    scene_plant *const s = context;
    const int N = s->plant.knots, nv = s->nv, nu = s->nu, n = 2 * nv, n2 = nv * nv;
    const double h = s->knot, lag = s->lags ? 0 : h;  // what positions have of the new velocities
    const plant_derivatives *const d = &s->by;
    (void)err;
    split(s, N, N, NULL, x);
    ctn_motor_map(s->dyn, N, s->q, s->v, u, d->tau), ctn_motor_map(s->dyn, N, s->q, s->v, NULL, d->own);
    for (int i = 0; i < N * nv; i++) d->tau[i] -= d->own[i];
    ctn_aba_derivatives(s->dyn, N, s->q, s->v, d->tau, d->a_q, d->a_v, d->inverse);
    if (!s->torques) {
        ctn_motor_map_derivatives(s->dyn, N, s->q, s->v, u, d->f_q, d->f_v, d->f_u);
        ctn_motor_map_derivatives(s->dyn, N, s->q, s->v, NULL, d->own_q, d->own_v, NULL);
        for (int i = 0; i < N * n2; i++) d->f_q[i] -= d->own_q[i], d->f_v[i] -= d->own_v[i];
    }
    memset(B, 0, (size_t)(N * n * nu) * sizeof *B);
    for (int k = 0; k < N; k++) {
        double *const Ak = A + k * n * n, *const Bk = B + k * n * nu + nv * nu, *const a_q = d->a_q + k * n2,
                      *const a_v = d->a_v + k * n2;
        const double *const inverse = d->inverse + k * n2;
        if (!s->torques) {
            matrix_multiply(nv, nv, nv, 1, inverse, d->f_q + k * n2, a_q);
            matrix_multiply(nv, nv, nv, 1, inverse, d->f_v + k * n2, a_v);
        }
        matrix_multiply(nv, nv, nu, h, inverse, d->f_u + (s->torques ? 0 : k * nv * nu), Bk);
        for (int i = 0; i < nv * nu; i++) Bk[i - nv * nu] = lag * Bk[i];
        for (int i = 0; i < nv; i++)
            for (int j = 0; j < nv; j++) {
                const double same = i == j, by_q = h * a_q[i * nv + j], by_v = same + h * a_v[i * nv + j];
                Ak[(nv + i) * n + j] = by_q, Ak[(nv + i) * n + nv + j] = by_v;
                Ak[i * n + j] = same + lag * by_q, Ak[i * n + nv + j] = lag > 0 ? lag * by_v : h * same;
            }
    }
    return CTN_OK;
}

/// Whether that is all that a knot does.
static bool accelerates(const ctn_model *m, const ctn_batch_config *cfg, int hold)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_joint_type joint = ctn_model_link(m, l)->joint;
        if (joint == CTN_BALL || joint == CTN_FREE || joint == CTN_PLANAR) return false;
    }
    return hold == 1 && (cfg->method == CTN_EULER || cfg->method == CTN_SEMI_IMPLICIT) && !m->nbent && !m->nwound &&
           !m->ncontact && !m->nsignal && !m->fast;
}

static bool open_derivatives(scene_plant *s, ctn_error *err)
{
    const size_t N = (size_t)s->plant.knots, nv = (size_t)s->nv, nu = (size_t)s->nu;
    plant_derivatives *const d = &s->by;
    s->dyn = ctn_dynamics_create(s->model, NULL, err);
    double *at = s->by.memory = calloc(N * (2 * nv + 7 * nv * nv + nv * nu) + 1, sizeof *at);
    if (!s->dyn) return false;
    if (!at) return fail(err, CTN_NO_MEMORY, "not enough memory for %zu knots", N), false;
    double **const rows[] = {&d->tau, &d->own, &d->a_q, &d->a_v, &d->inverse, &d->f_q, &d->f_v, &d->own_q, &d->own_v, &d->f_u};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = at, at += N * nv * (k < 2 ? 1 : nv);
    s->torques = true;
    for (int k = 0; k < s->scene->nmotor; k++) s->torques = s->torques && s->scene->motors[k].type == MOTOR_TORQUE;
    double *const u = calloc(nu + 1, sizeof *u);  // within their limits, which are bounds
    if (!u) return fail(err, CTN_NO_MEMORY, "not enough memory for targets"), false;
    ctn_model_initial_state(s->model, s->q, s->v);
    if (s->torques) ctn_motor_map_derivatives(s->dyn, 1, s->q, s->v, u, NULL, NULL, d->f_u);
    free(u);
    return true;
}

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    costs_cost(((scene_plant *)context)->costs, count, knot, x, u, to);
}

static void cost_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    costs_derivatives(((scene_plant *)context)->costs, count, knot, x, u, to);
}

static void add(void *context, const double *x, const double *dx, double *to)
{
    const scene_plant *const s = context;
    ctn_model_integrate(s->model, 1, x, dx, 1, to);
    for (int i = 0; i < s->nv; i++) to[s->nq + i] = x[s->nq + i] + dx[s->nv + i];
}

static void difference(void *context, const double *from, const double *to, double *dx)
{
    const scene_plant *const s = context;
    ctn_model_difference(s->model, 1, from, to, dx);
    for (int i = 0; i < s->nv; i++) dx[s->nv + i] = to[s->nq + i] - from[s->nq + i];
}

/// Knots of the horizon, of `hold` steps each; 0: see err.
static int knots_of(scene_plant *s, double duration, double dt, ctn_error *err)
{
    const scene_optimize *const o = &s->scene->optimize;
    const char *const file = s->scene->path;
    s->knot = o->knot > 0 ? o->knot : dt;
    const double steps = s->knot / dt, knots = duration / s->knot;
    if (!(fabs(steps - rint(steps)) <= 1e-9 * steps) || rint(steps) < 1)
        return fail_at(err, CTN_BAD_SCENE, file, o->at.line, o->at.column, "optimize.knot",
                       "%g s are no whole number of steps of %g s", s->knot, dt),
               0;
    if (!(fabs(knots - rint(knots)) <= 1e-6 * knots) || rint(knots) < 1 || !(knots < 1e6))
        return fail_at(err, CTN_BAD_SCENE, file, o->at.line, o->at.column, "optimize",
                       "the duration of %g s is no whole number, up to a million, of knots of %g s", duration, s->knot),
               0;
    s->hold = (int)rint(steps);
    return (int)rint(knots);
}

scene_plant *scene_plant_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                              int points, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    if (!o->given)
        return fail(err, CTN_BAD_SCENE, "%s: the scene has no `optimize:`; docs/trajectories.md tells what belongs there",
                    scene->path),
               NULL;
    const char *const lacks = !ctn_model_ntarget(model) ? "motors, which are what is looked for" : NULL;
    if (lacks)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize", "the scene has no %s", lacks), NULL;
    if (scene->controller.given && scene->controller.type != CONTROLLER_PLAN)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "stands beside `controller`, which tells motors, too; leave one of them out"),
               NULL;
    if (model->nsignal)
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "a motor has a target that moves by itself; make it a number, as what motors are told is looked for"),
               NULL;
    if (model->rubs && !ctn_method_is_implicit(cfg->method))
        return fail_at(err, CTN_BAD_SCENE, scene->path, o->at.line, o->at.column, "optimize",
                       "a joint has dry friction, which begins anew at every knot and is nothing in steps of %s; take radau, or "
                       "leave "
                       "the friction out",
                       ctn_method_name(cfg->method)),
               NULL;
    scene_plant *const s = calloc(1, sizeof *s);
    if (!s) return fail(err, CTN_NO_MEMORY, "not enough memory for a plant"), NULL;
    s->scene = scene, s->model = model;
    s->nq = ctn_model_nq(model), s->nv = ctn_model_nv(model), s->nu = ctn_model_ntarget(model);
    const int knots = knots_of(s, duration, cfg->dt, err);
    if (!knots) return scene_plant_close(s), NULL;
    s->plant =
        (plant){knots, s->nq + s->nv, 2 * s->nv, s->nu, points, s, step, linearise, cost, cost_derivatives, add, difference};
    const size_t room = (size_t)(knots > points ? knots : points);
    s->q = calloc(room * (size_t)s->nq + 1, sizeof *s->q), s->v = calloc(room * (size_t)s->nv + 1, sizeof *s->v);
    s->time = calloc(room + (size_t)points * (size_t)(s->nu + 1) + 1, sizeof *s->time);
    ctn_batch_config own = *cfg;
    own.parallel = CTN_PARALLEL_WORLDS, own.parameter_count = 0;
    own.max_halvings =
        0;  // what has to be halved has no derivative, and is no trajectory to go on from: it is not worth its while
    bool opened = s->q && s->v && s->time;
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory for %d knots", knots);
    if (opened && accelerates(model, cfg, s->hold)) {
        s->lags = cfg->method == CTN_EULER, s->plant.linearise = linearise_accelerations;
        opened = open_derivatives(s, err);
    }
    own.worlds = knots, opened = opened && (s->all = ctn_tapes_create(model, &own, s->hold, true, err));
    own.worlds = points, opened = opened && (s->many = ctn_tapes_create(model, &own, s->hold, false, err));
    own.worlds = 1, own.threads = 1, opened = opened && (s->one = ctn_tapes_create(model, &own, s->hold, false, err));
    opened = opened && (s->costs = costs_open(scene, model, knots, s->knot, err));
    if (opened) return s;
    scene_plant_close(s);
    return NULL;
}

void scene_plant_close(scene_plant *s)
{
    if (!s) return;
    ctn_tapes_free(s->one), ctn_tapes_free(s->many), ctn_tapes_free(s->all);
    costs_close(s->costs), ctn_dynamics_free(s->dyn);
    free(s->by.memory), free(s->q), free(s->v), free(s->time);
    free(s);
}

const plant *scene_plant_of(const scene_plant *s) { return &s->plant; }
costs *scene_plant_costs(const scene_plant *s) { return s->costs; }
double scene_plant_knot(const scene_plant *s) { return s->knot; }
int scene_plant_hold(const scene_plant *s) { return s->hold; }
size_t scene_plant_bytes(const scene_plant *s) { return ctn_tapes_bytes(s->all) / (size_t)s->plant.knots; }

bool scene_plant_bounds(const scene_plant *s, double *lower, double *upper)
{
    const ctn_scene *const scene = s->scene;
    const scene_optimize *const o = &scene->optimize;
    bool any = o->lower != NULL;
    int at = 0;
    for (int k = 0; k < scene->nmotor; k++) {
        const scene_motor *const a = &scene->motors[k];
        for (int i = 0; i < a->told; i++, at++) {
            const bool pushes = a->type >= MOTOR_THRUST, limited = a->type == MOTOR_TORQUE && a->told == 1;
            lower[at] = pushes    ? a->least
                        : limited ? -a->effort
                                  : -INFINITY,
            upper[at] = pushes || limited ? a->effort : INFINITY;
            if (o->lower) lower[at] = fmax(lower[at], o->lower[at]), upper[at] = fmin(upper[at], o->upper[at]);
            any = any || isfinite(lower[at]) || isfinite(upper[at]);
        }
    }
    return any;
}

void scene_plant_guess(const scene_plant *s, double *U)
{
    const scene_optimize *const o = &s->scene->optimize;
    const scene_controller *const c = &s->scene->controller;
    int row = 0;
    for (int k = 0; k < s->plant.knots; k++) {
        double *const u = U + (size_t)k * (size_t)s->nu;
        if (c->given) {  // a plan: others are refused
            while (row + 1 < c->plan_rows && c->plan[(row + 1) * c->plan_width] <= k * s->knot * (1 + 1e-9)) row++;
            memcpy(u, c->plan + row * c->plan_width + 1, (size_t)s->nu * sizeof *u);
        } else if (o->guess) memcpy(u, o->guess, (size_t)s->nu * sizeof *u);
        else ctn_model_targets(s->model, u);
    }
}
