#include "control/accelerations.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/model.h"
#include "integrators/tableaux.h"
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
    bool lags;              // positions go by the old velocities
    const tableau *stages;  // of Runge-Kutta methods; else NULL
    motors_are motors;
    const volatile int *interrupt;  // NULL: nothing does
    bool still;                     // motors that are told what the model says do nothing
    pool *pool;
    ctn_dynamics **dyn;  // [threads]
    // of all knots: joint forces [nv], accelerations by q, v and forces, and forces of motors by q, v and what they are told,
    // [nv][nv], [nv][nu]
    double *tau, *own, *a_q, *a_v, *inverse, *f_q, *f_v, *own_q, *own_v, *f_u, *memory;
    int *drives;  // [nu]: of torques, the one that each number is; NULL: not so
    // of all knots, in each stage: its positions, velocities and accelerations [nv], and how velocities and accelerations
    // change by x and u, [nv][n + nu]; likewise positions in the stage in hand
    double *Q, *V, *a, *dV, *da, *dQ;
    double *a_u, *one_q, *one_v;  // accelerations by u; the identity of positions and of velocities, by x and u
    const double *q, *v, *u;      // of the call in hand
    double *A, *B;
};

static const tableau *stages_of(ctn_method method)
{
    switch (method) {
    case CTN_RK2: return &tableau_rk2;
    case CTN_RK3: return &tableau_rk3;
    case CTN_RK4: return &tableau_rk4;
    default: return NULL;
    }
}

bool accelerations_suffice(const ctn_model *m, const ctn_batch_config *cfg, int hold)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_joint_type joint = ctn_model_link(m, l)->joint;
        if (joint == CTN_BALL || joint == CTN_FREE || joint == CTN_PLANAR) return false;
    }
    return hold == 1 && !cfg->adaptive &&
           (cfg->method == CTN_EULER || cfg->method == CTN_SEMI_IMPLICIT || stages_of(cfg->method)) && !m->nbent && !m->nwound &&
           !m->ncontact && !m->nsignal && !m->fast;
}

/// Rows of `count` knots out of x (NULL: only counts). Returns how many numbers they are.
static size_t deal_rows(accelerations *a, size_t count, double *x)
{
    const size_t nv = (size_t)a->nv, nu = (size_t)a->nu, S = a->stages ? (size_t)a->stages->stages : 0, by = nv * (2 * nv + nu);
    const struct {
        double **to;
        size_t size;
    } rows[] = {{&a->tau, nv},
                {&a->own, nv},
                {&a->a_q, nv * nv},
                {&a->a_v, nv * nv},
                {&a->inverse, nv * nv},
                {&a->f_q, nv * nv},
                {&a->f_v, nv * nv},
                {&a->own_q, nv * nv},
                {&a->own_v, nv * nv},
                {&a->f_u, nv * nu},
                {&a->Q, S * nv},
                {&a->V, S * nv},
                {&a->a, S * nv},
                {&a->dV, S * by},
                {&a->da, S * by},
                {&a->dQ, S ? by : 0},
                {&a->a_u, S ? nv * nu : 0},
                {&a->one_q, S ? by : 0},
                {&a->one_v, S ? by : 0}};
    size_t sum = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (x) *rows[k].to = x + sum;
        sum += count * rows[k].size;
    }
    return sum;
}

static bool open_rows(accelerations *a)
{
    const size_t N = (size_t)a->knots, nv = (size_t)a->nv, c = 2 * nv + (size_t)a->nu;
    a->memory = calloc(deal_rows(a, N, NULL) + 1, sizeof *a->memory);
    if (a->memory) deal_rows(a, N, a->memory);
    for (size_t i = 0; i < N * nv && a->memory && a->stages; i++) a->one_q[i * c + i % nv] = 1, a->one_v[i * c + nv + i % nv] = 1;
    return a->memory != NULL;
}

size_t accelerations_bytes(const ctn_model *m, const ctn_batch_config *cfg)
{
    accelerations a = {.nv = ctn_model_nv(m), .nu = ctn_model_ntarget(m), .stages = stages_of(cfg->method)};
    return deal_rows(&a, 1, NULL) * sizeof(double);
}

/// Whether motors that are told what the model says do nothing, wherever it is.
static bool are_still(const accelerations *a, const ctn_model *m)
{
    double *const u = calloc((size_t)a->nu + 1, sizeof *u);
    bool still = u && a->motors != MOTORS_ANY;
    if (u) ctn_model_targets(m, u);
    for (int i = 0; i < a->nu && still; i++) still = u[i] == 0;
    free(u);
    return still;
}

/// The derivative of torques without an effort, which is the same everywhere.
static bool find_torques(accelerations *a, const ctn_model *m)
{
    double *const x = calloc((size_t)(a->nq + a->nv + a->nu) + 1, sizeof *x);
    if (!x) return false;
    ctn_model_initial_state(m, x, x + a->nq);
    ctn_motor_map_derivatives(a->dyn[0], 1, x, x + a->nq, x + a->nq + a->nv, NULL, NULL, a->f_u);
    free(x);
    a->drives = calloc((size_t)a->nu + 1, sizeof *a->drives);
    bool each = a->drives != NULL;
    for (int j = 0; j < a->nu && each; j++) {
        int found = 0;
        for (int i = 0; i < a->nv; i++)
            if (a->f_u[i * a->nu + j] != 0) found++, a->drives[j] = i;
        each = found == 1;
    }
    if (!each) free(a->drives), a->drives = NULL;
    return true;
}

accelerations *accelerations_open(const ctn_model *m, const ctn_batch_config *cfg, int knots, motors_are motors, pool *lent,
                                  ctn_error *err)
{
    accelerations *const a = calloc(1, sizeof *a);
    const int threads = pool_threads(lent);
    bool opened = a != NULL;
    if (opened) {
        *a = (accelerations){.knots = knots,
                             .nq = ctn_model_nq(m),
                             .nv = ctn_model_nv(m),
                             .nu = ctn_model_ntarget(m),
                             .h = cfg->dt,
                             .lags = cfg->method == CTN_EULER,
                             .stages = stages_of(cfg->method),
                             .motors = motors,
                             .interrupt = cfg->interrupt,
                             .pool = pool_keep(lent),
                             .dyn = calloc((size_t)threads, sizeof(ctn_dynamics *))};
        opened = a->pool && a->dyn && open_rows(a), a->still = are_still(a, m);
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
    free(a->dyn), free(a->memory), free(a->drives);
    free(a);
}

/// to [nv][nu] = scale times how accelerations change with what motors are told, of knot k.
static void by_controls(const accelerations *a, size_t k, double scale, double *to)
{
    const int nv = a->nv, nu = a->nu;
    const size_t n2 = (size_t)nv * (size_t)nv, by_u = (size_t)nv * (size_t)nu;
    const double *const inverse = a->inverse + k * n2, *const f_u = a->f_u + (a->motors == MOTORS_PLAIN ? 0 : k * by_u);
    for (int i = 0; i < nv && a->drives; i++)
        for (int j = 0; j < nu; j++) to[i * nu + j] = scale * inverse[i * nv + a->drives[j]] * f_u[a->drives[j] * nu + j];
    if (a->drives) return;
    memset(to, 0, by_u * sizeof *to);
    matrix_multiply(nv, nv, nu, scale, inverse, f_u, to);
}

/// A and B of a knot, out of its derivatives.
static void put_together(const accelerations *a, int k)
{
    const int nv = a->nv, nu = a->nu, n = 2 * nv;
    const size_t at = (size_t)k, n2 = (size_t)nv * (size_t)nv, by_u = (size_t)nv * (size_t)nu;
    const double h = a->h, lag = a->lags ? 0 : h;  // what positions have of the new velocities
    double *const Ak = a->A + 4 * at * n2, *const Bk = a->B + (2 * at + 1) * by_u;
    const double *const a_q = a->a_q + at * n2, *const a_v = a->a_v + at * n2;
    by_controls(a, at, h, Bk);
    for (int i = 0; i < nv * nu; i++) Bk[i - nv * nu] = lag * Bk[i];
    for (int i = 0; i < nv; i++)
        for (int j = 0; j < nv; j++) {
            const double same = i == j, by_q = h * a_q[i * nv + j], by_v = same + h * a_v[i * nv + j];
            Ak[(nv + i) * n + j] = by_q, Ak[(nv + i) * n + nv + j] = by_v;
            Ak[i * n + j] = same + lag * by_q, Ak[i * n + nv + j] = lag > 0 ? lag * by_v : h * same;
        }
}

/// Derivatives of accelerations of knots from .. from + count - 1, at q, v. Accelerations are those of motors that are told
/// what the model says, and of joint forces that make up the difference, tau.
static void derive(const accelerations *a, ctn_dynamics *dyn, size_t from, int count, const double *q, const double *v)
{
    const size_t nv = (size_t)a->nv, nu = (size_t)a->nu, n2 = nv * nv;
    const double *const u = a->u + from * nu;
    double *const tau = a->tau + from * nv, *const own = a->own + from * nv, *const f_q = a->f_q + from * n2,
                  *const f_v = a->f_v + from * n2, *const own_q = a->own_q + from * n2, *const own_v = a->own_v + from * n2;
    const bool bends = a->motors == MOTORS_ANY;  // also by velocities
    ctn_motor_map(dyn, count, q, v, u, tau);
    if (!a->still) ctn_motor_map(dyn, count, q, v, NULL, own);
    for (size_t i = 0; i < (size_t)count * nv && !a->still; i++) tau[i] -= own[i];
    ctn_aba_derivatives(dyn, count, q, v, tau, a->a_q + from * n2, a->a_v + from * n2, a->inverse + from * n2);
    if (a->motors == MOTORS_TORQUES) ctn_motor_map_derivatives(dyn, count, q, v, u, NULL, NULL, a->f_u + from * nv * nu);
    if (a->motors != MOTORS_ANY && a->motors != MOTORS_PUSH) return;
    ctn_motor_map_derivatives(dyn, count, q, v, u, f_q, bends ? f_v : NULL, a->f_u + from * nv * nu);
    if (!a->still) ctn_motor_map_derivatives(dyn, count, q, v, NULL, own_q, bends ? own_v : NULL, NULL);
    for (size_t i = 0; i < (size_t)count * n2 && !a->still; i++) f_q[i] -= own_q[i];
    for (size_t i = 0; i < (size_t)count * n2 && !a->still && bends; i++) f_v[i] -= own_v[i];
    for (size_t k = from; k < from + (size_t)count; k++) {
        matrix_multiply(a->nv, a->nv, a->nv, 1, a->inverse + k * n2, a->f_q + k * n2, a->a_q + k * n2);
        if (bends) matrix_multiply(a->nv, a->nv, a->nv, 1, a->inverse + k * n2, a->f_v + k * n2, a->a_v + k * n2);
    }
}

// ---- Runge-Kutta methods

/// to = one + h times the sum of share[j] times rows x of stages 0 .. stages - 1, of knots from .. from + count - 1, [size] each.
static void add_stages(const accelerations *a, size_t from, int count, size_t size, const double *one, const double *share,
                       int stages, const double *x, double *to)
{
    const size_t all = (size_t)count * size, apart = (size_t)a->knots * size;
    memcpy(to + from * size, one, all * sizeof *to);
    for (int j = 0; j < stages; j++) {
        const double scale = a->h * share[j], *const of = x + (size_t)j * apart + from * size;
        for (size_t i = 0; i < all && scale != 0; i++) to[from * size + i] += scale * of[i];
    }
}

/// How accelerations of a stage change by x and u: a_q dQ + a_v dV + [0 0 a_u].
static void derive_stage(const accelerations *a, size_t k, const double *dV, double *da)
{
    const size_t nv = (size_t)a->nv, nu = (size_t)a->nu, n = 2 * nv, c = n + nu;
    double *const a_u = a->a_u + k * nv * nu;
    by_controls(a, k, 1, a_u);
    memset(da, 0, nv * c * sizeof *da);
    for (size_t i = 0; i < nv; i++) memcpy(da + i * c + n, a_u + i * nu, nu * sizeof *a_u);
    matrix_multiply(a->nv, a->nv, (int)c, 1, a->a_q + k * nv * nv, a->dQ + k * nv * c, da);
    matrix_multiply(a->nv, a->nv, (int)c, 1, a->a_v + k * nv * nv, dV, da);
}

/// Rows of A and B from those by x and u.
static void split_rows(const accelerations *a, size_t k, size_t at, const double *rows)
{
    const size_t nv = (size_t)a->nv, nu = (size_t)a->nu, n = 2 * nv, c = n + nu;
    for (size_t i = 0; i < nv; i++) {
        memcpy(a->A + (k * n + at + i) * n, rows + (k * nv + i) * c, n * sizeof *rows);
        memcpy(a->B + (k * n + at + i) * nu, rows + (k * nv + i) * c + n, nu * sizeof *rows);
    }
}

static void linearise_stages(const accelerations *a, ctn_dynamics *dyn, size_t from, int count)
{
    const tableau *const t = a->stages;
    const size_t nv = (size_t)a->nv, by = nv * (2 * nv + (size_t)a->nu), N = (size_t)a->knots, at = from * nv;
    const double *const one_q = a->one_q + from * by, *const one_v = a->one_v + from * by;
    for (int i = 0; i < t->stages; i++) {
        const size_t s = (size_t)i * N;
        double *const Q = a->Q + s * nv, *const V = a->V + s * nv, *const dV = a->dV + s * by, *const da = a->da + s * by;
        add_stages(a, from, count, nv, a->q + at, t->a[i], i, a->V, Q),
            add_stages(a, from, count, nv, a->v + at, t->a[i], i, a->a, V);
        add_stages(a, from, count, by, one_q, t->a[i], i, a->dV, a->dQ),
            add_stages(a, from, count, by, one_v, t->a[i], i, a->da, dV);
        derive(a, dyn, from, count, Q + at, V + at);
        if (i + 1 < t->stages) ctn_aba(dyn, count, Q + at, V + at, a->tau + at, a->a + s * nv + at);
        for (size_t k = from; k < from + (size_t)count; k++) derive_stage(a, k, dV + k * by, da + k * by);
    }
    add_stages(a, from, count, by, one_q, t->b, t->stages, a->dV, a->dQ);
    add_stages(a, from, count, by, one_v, t->b, t->stages, a->da, a->dV);  // in the place of those of the first stage
    for (size_t k = from; k < from + (size_t)count; k++) split_rows(a, k, 0, a->dQ), split_rows(a, k, nv, a->dV);
}

static bool interrupted(const accelerations *a) { return a->interrupt && *a->interrupt; }

static void linearise_some(void *context, int thread, int job)
{
    const accelerations *const a = context;
    const size_t from = (size_t)job * AT_ONCE;
    const int left = a->knots - (int)from, count = left < AT_ONCE ? left : AT_ONCE;
    if (interrupted(a)) return;
    if (a->stages) {
        linearise_stages(a, a->dyn[thread], from, count);
        return;
    }
    derive(a, a->dyn[thread], from, count, a->q + from * (size_t)a->nq, a->v + from * (size_t)a->nv);
    for (int k = 0; k < count; k++) put_together(a, (int)from + k);
}

ctn_status accelerations_linearise(accelerations *a, const double *q, const double *v, const double *u, double *A, double *B,
                                   ctn_error *err)
{
    a->q = q, a->v = v, a->u = u, a->A = A, a->B = B;
    pool_run(a->pool, (a->knots + AT_ONCE - 1) / AT_ONCE, linearise_some, a);
    return interrupted(a) ? fail(err, CTN_INTERRUPTED, "interrupted while knots were linearised") : CTN_OK;
}
