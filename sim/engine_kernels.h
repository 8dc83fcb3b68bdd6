/// The body of every engine: kernels over the lane that the including file has chosen, and the way from plain arrays into
/// lanes and back. The includer defines ENGINE (the table's name) and ENGINE_NAME.
#include "dynamics/model.h"
#include "dynamics/spatial.h"
#include "dynamics/trig.h"
#include "dynamics/quaternion.h"
#include "dynamics/joints.h"
#include "dynamics/articulated.h"
#include "dynamics/aba.h"
#include "dynamics/rnea.h"
#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "sim/engine.h"

/// Memory handed out piece by piece; with base NULL it only counts.
typedef struct {
    char *base;
    size_t used;
} arena;

static void *take(arena *a, size_t count, size_t size)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += (count * size + 63) / 64 * 64;
    return p;
}

/// Everything that one lane block of any kernel needs.
typedef struct {
    real *q, *v, *t, *x;  // [nq], [nv], [nv], [max(12 nlink, 6 nv, 11)]
    aba_work aba;
    rnea_work rnea;
    crba_work crba;
    pose *T;
    twist *V;
} frame;

static frame layout(const ctn_model *m, arena *a)
{
    const size_t n = (size_t)m->nbody, nx = (size_t)(12 * m->nlink > 6 * m->nv ? 12 * m->nlink : 6 * m->nv) + 12;
    frame f;
    f.q = take(a, (size_t)m->nq, sizeof(real));
    f.v = take(a, (size_t)m->nv, sizeof(real));
    f.t = take(a, (size_t)m->nv, sizeof(real));
    f.x = take(a, nx, sizeof(real));
    // one kernel runs at a time: they share what follows
    const size_t common = a->used;
    size_t most = common;
    f.aba.body = take(a, n, sizeof(aba_body));
    f.aba.motion = take(a, n, sizeof(aba_motion));
    f.aba.hand = take(a, n, sizeof(aba_hand));
    f.aba.accel = take(a, n, sizeof(aba_accel));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.rnea.body = take(a, n, sizeof(rnea_body));
    f.rnea.motion = take(a, n, sizeof(rnea_motion));
    f.rnea.R = take(a, n, sizeof(mat3));
    f.rnea.hand = take(a, n, sizeof(wrench));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.crba.body = take(a, n, sizeof(crba_body));
    f.crba.sum = take(a, n, sizeof(composite));
    f.crba.R = take(a, n, sizeof(mat3));
    most = a->used > most ? a->used : most;
    a->used = common;
    f.T = take(a, n, sizeof(pose));
    f.V = take(a, n, sizeof(twist));
    a->used = a->used > most ? a->used : most;
    return f;
}

static size_t dynamics_size(const ctn_model *m)
{
    arena a = {NULL, 0};
    layout(m, &a);
    return a.used;
}

static frame open_frame(const ctn_model *m, void *scratch)
{
    arena a = {(char *)scratch, 0};
    return layout(m, &a);
}

/// Rows c .. c + LANES - 1 of array [count][n] into lanes; lanes beyond the last row repeat it.
FN void gather(real *dst, const double *src, int n, int c, int count)
{
    const double *row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = src + (size_t)(c + l < count ? c + l : count - 1) * (size_t)n;
    lane_gather(dst, row, n);
}

FN void scatter(double *dst, const real *src, int n, int c, int count)
{
    double *row[LANES];
    for (int l = 0; l < LANES; l++) row[l] = dst + (size_t)(c + l < count ? c + l : count - 1) * (size_t)n;
    lane_scatter(row, count - c < LANES ? count - c : LANES, src, n);
}

static void run_forward_kinematics(const ctn_model *m, void *scratch, int count, const double *q, double *R, double *p)
{
    const frame f = open_frame(m, scratch);
    real *Rl = f.x, *pl = f.x + 9 * m->nlink;
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        forward_kinematics(m, f.q, f.T, Rl, pl);
        if (R) scatter(R, Rl, 9 * m->nlink, c, count);
        if (p) scatter(p, pl, 3 * m->nlink, c, count);
    }
}

static void run_link_twists(const ctn_model *m, void *scratch, int count, const double *q, const double *v, double *t)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        link_twists(m, f.q, f.v, f.T, f.V, f.x);
        scatter(t, f.x, 6 * m->nlink, c, count);
    }
}

static void run_rnea(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *a, double *tau)
{
    frame f = open_frame(m, scratch);
    if (!a)
        for (int k = 0; k < m->nv; k++) f.t[k] = rset(0);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        if (a) gather(f.t, a, m->nv, c, count);
        rnea(m, f.q, f.v, f.t, &f.rnea, f.x);
        scatter(tau, f.x, m->nv, c, count);
    }
}

static void run_passive(const ctn_model *m, void *scratch, int count, const double *q, const double *v, double *tau)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        passive_forces(m, f.q, f.v, f.x);
        scatter(tau, f.x, m->nv, c, count);
    }
}

static void run_crba(const ctn_model *m, void *scratch, int count, const double *q, double *H)
{
    frame f = open_frame(m, scratch);
    const size_t n = (size_t)m->nv * (size_t)m->nv;
    memset(H, 0, (size_t)count * n * sizeof *H);
    for (int c = 0; c < count; c += LANES) {
        double *out[LANES];
        const int lanes = count - c < LANES ? count - c : LANES;
        for (int l = 0; l < lanes; l++) out[l] = H + (size_t)(c + l) * n;
        gather(f.q, q, m->nq, c, count);
        crba(m, f.q, &f.crba, out, lanes);
    }
}

static void run_aba(const ctn_model *m, void *scratch, int count, const double *q, const double *v, const double *tau, double *qdd)
{
    frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        passive_forces(m, f.q, f.v, f.x);
        if (tau) {
            gather(f.t, tau, m->nv, c, count);
            for (int k = 0; k < m->nv; k++) f.x[k] = f.x[k] + f.t[k];
        }
        aba(m, f.q, f.v, f.x, &f.aba, f.t);
        scatter(qdd, f.t, m->nv, c, count);
    }
}

static void run_jacobian(const ctn_model *m, void *scratch, int count, const double *q, int link, double *J)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        link_jacobian(m, f.q, link, f.T, f.x);
        scatter(J, f.x, 6 * m->nv, c, count);
    }
}

static void run_totals(const ctn_model *m, void *scratch, int count, const double *q, const double *v, ctn_totals *out)
{
    const frame f = open_frame(m, scratch);
    for (int c = 0; c < count; c += LANES) {
        gather(f.q, q, m->nq, c, count);
        gather(f.v, v, m->nv, c, count);
        totals(m, f.q, f.v, f.T, f.V, f.x);
        f.x[11] = passive_potential(m, f.q);
        for (int l = 0; l < LANES && c + l < count; l++) {
            double s[12];
            for (int k = 0; k < 12; k++) s[k] = ((const double *)&f.x[k])[l];
            ctn_totals *t = &out[c + l];
            t->kinetic = s[0], t->potential = s[1], t->spring = s[11], t->mass = m->mass;
            for (int k = 0; k < 3; k++) t->momentum_linear[k] = s[2 + k], t->momentum_angular[k] = s[5 + k], t->com[k] = s[8 + k];
        }
    }
}

const ctn_engine ENGINE = {
    .name = ENGINE_NAME,
    .lanes = LANES,
    .dynamics_size = dynamics_size,
    .forward_kinematics = run_forward_kinematics,
    .link_twists = run_link_twists,
    .rnea = run_rnea,
    .passive = run_passive,
    .crba = run_crba,
    .aba = run_aba,
    .jacobian = run_jacobian,
    .totals = run_totals,
};
