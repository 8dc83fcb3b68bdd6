#include "control/accelerations.h"

#include "dynamics/model.h"
#include "sim/base/matrix.h"
#include "sim/base/pool.h"
#include "sim/base/status.h"

#include <catena/dynamics.h>
#include <catena/motors.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16 };  // knots of a job: whole blocks of every lane

struct accelerations {
    int knots, nq, nv, nu;
    double h;
    bool lags;  // positions go by the old velocities
    motors_are motors;
    const volatile int *interrupt;  // NULL: nothing does
    pool *pool;
    ctn_dynamics **dyn;  // [threads]
    // of all knots: joint forces [nv], accelerations by q, v and forces, and forces of motors by q, v and what they are told,
    // [nv][nv], [nv][nu]
    double *tau, *own, *a_q, *a_v, *inverse, *f_q, *f_v, *own_q, *own_v, *f_u, *memory;
    const double *q, *v, *u;  // of the call in hand
    double *A, *B;
};

bool accelerations_suffice(const ctn_model *m, const ctn_batch_config *cfg, int hold)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_joint_type joint = ctn_model_link(m, l)->joint;
        if (joint == CTN_BALL || joint == CTN_FREE || joint == CTN_PLANAR) return false;
    }
    return hold == 1 && (cfg->method == CTN_EULER || cfg->method == CTN_SEMI_IMPLICIT) && !m->nbent && !m->nwound &&
           !m->ncontact && !m->nsignal && !m->fast;
}

static bool open_rows(accelerations *a)
{
    const size_t N = (size_t)a->knots, nv = (size_t)a->nv, nu = (size_t)a->nu;
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&a->tau, nv},      {&a->own, nv},      {&a->a_q, nv * nv},   {&a->a_v, nv * nv},   {&a->inverse, nv * nv},
                {&a->f_q, nv * nv}, {&a->f_v, nv * nv}, {&a->own_q, nv * nv}, {&a->own_v, nv * nv}, {&a->f_u, nv * nu}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) sum += N * rows[k].size;
    double *at = a->memory = calloc(sum + 1, sizeof *at);
    for (size_t k = 0; k < sizeof rows / sizeof *rows && at; k++) *rows[k].to = at, at += N * rows[k].size;
    return a->memory != NULL;
}

/// The derivative of torques without an effort, which is the same everywhere.
static bool find_torques(accelerations *a, const ctn_model *m)
{
    double *const x = calloc((size_t)(a->nq + a->nv + a->nu) + 1, sizeof *x);
    if (!x) return false;
    ctn_model_initial_state(m, x, x + a->nq);
    ctn_motor_map_derivatives(a->dyn[0], 1, x, x + a->nq, x + a->nq + a->nv, NULL, NULL, a->f_u);
    free(x);
    return true;
}

accelerations *accelerations_open(const ctn_model *m, const ctn_batch_config *cfg, int knots, motors_are motors, ctn_error *err)
{
    accelerations *const a = calloc(1, sizeof *a);
    const int jobs = (knots + AT_ONCE - 1) / AT_ONCE, asked = cfg->threads ? cfg->threads : pool_cpus(),
              threads = asked < jobs ? asked : jobs;
    bool opened = a != NULL;
    if (opened) {
        *a = (accelerations){.knots = knots,
                             .nq = ctn_model_nq(m),
                             .nv = ctn_model_nv(m),
                             .nu = ctn_model_ntarget(m),
                             .h = cfg->dt,
                             .lags = cfg->method == CTN_EULER,
                             .motors = motors,
                             .interrupt = cfg->interrupt,
                             .pool = pool_create(threads),
                             .dyn = calloc((size_t)threads, sizeof(ctn_dynamics *))};
        opened = a->pool && a->dyn && open_rows(a);
    }
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory, or threads, for %d knots", knots);
    for (int k = 0; k < threads && opened; k++) opened = (a->dyn[k] = ctn_dynamics_create(m, NULL, err));
    if (opened && motors == MOTORS_PLAIN && !find_torques(a, m))
        opened = false, fail(err, CTN_NO_MEMORY, "not enough memory for targets");
    if (opened) return a;
    accelerations_close(a);
    return NULL;
}

void accelerations_close(accelerations *a)
{
    if (!a) return;
    for (int k = 0; a->dyn && a->pool && k < pool_threads(a->pool); k++) ctn_dynamics_free(a->dyn[k]);
    pool_free(a->pool);
    free(a->dyn), free(a->memory);
    free(a);
}

/// A and B of a knot, out of its derivatives.
static void put_together(const accelerations *a, int k)
{
    const int nv = a->nv, nu = a->nu, n = 2 * nv;
    const size_t at = (size_t)k, n2 = (size_t)nv * (size_t)nv, by_u = (size_t)nv * (size_t)nu;
    const double h = a->h, lag = a->lags ? 0 : h;  // what positions have of the new velocities
    double *const Ak = a->A + 4 * at * n2, *const Bk = a->B + (2 * at + 1) * by_u, *const a_q = a->a_q + at * n2,
                  *const a_v = a->a_v + at * n2;
    const double *const inverse = a->inverse + at * n2;
    if (a->motors == MOTORS_ANY) {
        matrix_multiply(nv, nv, nv, 1, inverse, a->f_q + at * n2, a_q);
        matrix_multiply(nv, nv, nv, 1, inverse, a->f_v + at * n2, a_v);
    }
    memset(Bk, 0, by_u * sizeof *Bk);
    matrix_multiply(nv, nv, nu, h, inverse, a->f_u + (a->motors == MOTORS_PLAIN ? 0 : at * by_u), Bk);
    for (int i = 0; i < nv * nu; i++) Bk[i - nv * nu] = lag * Bk[i];
    for (int i = 0; i < nv; i++)
        for (int j = 0; j < nv; j++) {
            const double same = i == j, by_q = h * a_q[i * nv + j], by_v = same + h * a_v[i * nv + j];
            Ak[(nv + i) * n + j] = by_q, Ak[(nv + i) * n + nv + j] = by_v;
            Ak[i * n + j] = same + lag * by_q, Ak[i * n + nv + j] = lag > 0 ? lag * by_v : h * same;
        }
}

static bool interrupted(const accelerations *a) { return a->interrupt && *a->interrupt; }

/// Accelerations are those of motors that are told what the model says, and of joint forces that make up the difference.
static void linearise_some(void *context, int thread, int job)
{
    const accelerations *const a = context;
    const size_t from = (size_t)job * AT_ONCE, nv = (size_t)a->nv, nu = (size_t)a->nu, n2 = nv * nv;
    const int left = a->knots - (int)from, count = left < AT_ONCE ? left : AT_ONCE;
    ctn_dynamics *const dyn = a->dyn[thread];
    if (interrupted(a)) return;
    const double *const q = a->q + from * (size_t)a->nq, *const v = a->v + from * nv, *const u = a->u + from * nu;
    double *const tau = a->tau + from * nv, *const own = a->own + from * nv, *const f_q = a->f_q + from * n2,
                  *const f_v = a->f_v + from * n2, *const own_q = a->own_q + from * n2, *const own_v = a->own_v + from * n2;
    ctn_motor_map(dyn, count, q, v, u, tau), ctn_motor_map(dyn, count, q, v, NULL, own);
    for (size_t i = 0; i < (size_t)count * nv; i++) tau[i] -= own[i];
    ctn_aba_derivatives(dyn, count, q, v, tau, a->a_q + from * n2, a->a_v + from * n2, a->inverse + from * n2);
    if (a->motors == MOTORS_TORQUES) ctn_motor_map_derivatives(dyn, count, q, v, u, NULL, NULL, a->f_u + from * nv * nu);
    if (a->motors == MOTORS_ANY) {
        ctn_motor_map_derivatives(dyn, count, q, v, u, f_q, f_v, a->f_u + from * nv * nu);
        ctn_motor_map_derivatives(dyn, count, q, v, NULL, own_q, own_v, NULL);
        for (size_t i = 0; i < (size_t)count * n2; i++) f_q[i] -= own_q[i], f_v[i] -= own_v[i];
    }
    for (int k = 0; k < count; k++) put_together(a, (int)from + k);
}

ctn_status accelerations_linearise(accelerations *a, const double *q, const double *v, const double *u, double *A, double *B,
                                   ctn_error *err)
{
    a->q = q, a->v = v, a->u = u, a->A = A, a->B = B;
    pool_run(a->pool, (a->knots + AT_ONCE - 1) / AT_ONCE, linearise_some, a);
    return interrupted(a) ? fail(err, CTN_INTERRUPTED, "interrupted while knots were linearised") : CTN_OK;
}
