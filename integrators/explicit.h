/// Explicit methods: Euler, semi-implicit Euler, and Runge-Kutta methods of order 2, 3, 4 on the manifold (Munthe-Kaas: the
/// stages' increments live in the chart at the start of the step). Forces: gravity, joint forces tau, dampers, springs, limits.
#ifndef CATENA_EXPLICIT_H
#define CATENA_EXPLICIT_H

enum { EXPLICIT_STAGES = 4 };

typedef struct {
    int stages;
    double a[EXPLICIT_STAGES][EXPLICIT_STAGES], b[EXPLICIT_STAGES];
} tableau;

/// Scratch of one lane block.
typedef struct {
    aba_work aba;
    real *x, *w;                                      // [nq], [nv]: configuration and velocity of a stage
    real *u, *force;                                  // [nv]
    real *kq[EXPLICIT_STAGES], *kv[EXPLICIT_STAGES];  // [nv]
} explicit_work;

/// qdd at (q, v) with the joint forces tau (NULL: none).
KERNEL void acceleration(const ctn_model *m, const real *q, const real *v, const real *tau, explicit_work *work, real *qdd)
{
    for (int k = 0; k < m->nv; k++) work->force[k] = tau ? tau[k] : rset(0);
    add_passive_forces(m, q, v, work->force);
    aba(m, q, v, work->force, &work->aba, qdd);
}

/// Increments u, configuration x and velocity w of stage s in `work`, from the rates of the stages before it; of the end of the step
/// for s = stages.
KERNEL void stage_point(const ctn_model *m, const tableau *t, int s, const real *q, const real *v, real h, explicit_work *work)
{
    const double *a = s < t->stages ? t->a[s] : t->b;
    for (int k = 0; k < m->nv; k++) {
        real u = rset(0), w = rset(0);
        for (int j = 0; j < s; j++) u = fmadd(rset(a[j]), work->kq[j][k], u), w = fmadd(rset(a[j]), work->kv[j][k], w);
        work->u[k] = h * u;
        work->w[k] = fmadd(h, w, v[k]);
    }
    config_add(m, q, work->u, work->x);
}

/// One step of a Runge-Kutta method from (q, v) to (x, w) in `work`.
KERNEL void runge_kutta(const ctn_model *m, const tableau *t, const real *q, const real *v, const real *tau, double h,
                        explicit_work *work)
{
    for (int s = 0; s <= t->stages; s++) {
        stage_point(m, t, s, q, v, rset(h), work);
        if (s == t->stages) break;
        chart_rate(m, work->u, work->w, work->kq[s]);
        acceleration(m, work->x, work->w, tau, work, work->kv[s]);
    }
}

/// Semi-implicit Euler: w = v + h qdd(q, v), x = q (+) h w.
KERNEL void semi_implicit(const ctn_model *m, const real *q, const real *v, const real *tau, double h, explicit_work *work)
{
    acceleration(m, q, v, tau, work, work->kv[0]);
    for (int k = 0; k < m->nv; k++) {
        work->w[k] = fmadd(rset(h), work->kv[0][k], v[k]);
        work->u[k] = rset(h) * work->w[k];
    }
    config_add(m, q, work->u, work->x);
}

KERNEL_DATA tableau tableau_euler = {1, {{0}}, {1}};
KERNEL_DATA tableau tableau_rk2 = {2, {{0}, {0.5}}, {0, 1}};
KERNEL_DATA tableau tableau_rk3 = {3, {{0}, {0.5}, {-1, 2}}, {1.0 / 6, 2.0 / 3, 1.0 / 6}};
KERNEL_DATA tableau tableau_rk4 = {4, {{0}, {0.5}, {0, 0.5}, {0, 0, 1}}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}};

/// The tableau of a Runge-Kutta method.
FN const tableau *tableau_of(ctn_method method)
{
    return method == CTN_EULER ? &tableau_euler
           : method == CTN_RK2 ? &tableau_rk2
           : method == CTN_RK3 ? &tableau_rk3
                               : &tableau_rk4;
}

/// One step of an explicit method from (q, v) to (x, w) in `work`; returns the number of accelerations.
KERNEL int explicit_step(const ctn_model *m, ctn_method method, const real *q, const real *v, const real *tau, double h,
                         explicit_work *work)
{
    if (method == CTN_SEMI_IMPLICIT) {
        semi_implicit(m, q, v, tau, h, work);
        return 1;
    }
    const tableau *t = tableau_of(method);
    runge_kutta(m, t, q, v, tau, h, work);
    return t->stages;
}

#endif
