/// Explicit methods: Euler, semi-implicit Euler, and Runge-Kutta methods of order 2, 3, 4, 8 on the manifold (Munthe-Kaas: the
/// stages' increments live in the chart at the start of the step). Forces: gravity, joint forces tau, dampers, springs, limits.
#ifndef CATENA_EXPLICIT_H
#define CATENA_EXPLICIT_H

#include "dynamics/lane_model.h"
#include "dynamics/aba.h"
#include "forces/integral_terms.h"
#include "forces/joint_forces.h"
#include "forces/joint_friction.h"
#include "forces/signals.h"
#include "integrators/chart.h"
#include "integrators/energy.h"
#include "integrators/load_forces.h"
#include "integrators/tableaux.h"

#include <catena/batch.h>

/// Scratch of one lane block.
typedef struct {
    aba_work aba;
    loads_work loads;
    real *x, *w;                            // [nq], [nv]: configuration and velocity of a stage
    real *u, *force;                        // [nv]; u: the increment from the start of the step to x
    real *kq[ALL_STAGES], *kv[ALL_STAGES];  // [nv]: rates of u and of the velocity at each stage
    real *eq, *ev;                          // [nv]: estimated errors of u and of the velocity (dop853)
    real *z;                                // [nv] what joints with friction remember; NULL: there are none
    real *wound;                            // [nwound] integral terms of motors, as the next
    real *kw[ALL_STAGES];                   // their rates at each stage
    const vec3 *slip;                       // [nbent] what contact points remember
    vec3 *bent, *slides[ALL_STAGES];        // [nbent]: how far they are bent at (x, w), and how fast they slide at each stage
    bool flows;                             // find `flow`, too: what passes through the forces in the step
    energy_flow flow;
} explicit_work;

/// qdd at (q, v), which is the increments u away from the start of the step (NULL: is its start), with the joint forces tau
/// (NULL: none).
KERNEL void acceleration(const lane_model *m, const real *q, const real *v, const real *u, const real *tau, explicit_work *work,
                         real *qdd)
{
    for (int k = 0; k < m->nv; k++) work->force[k] = tau ? tau[k] : rset(0);
    work->loads.slip = work->bent;
    add_acting_forces(m, q, v, &work->loads, work->force);
    add_friction_forces(m, work->z, u, work->force);
    aba(m, q, v, work->force, &work->aba, qdd);
}

/// Adds what passes through the forces at (q, v) in the time dt.
KERNEL void add_explicit_flow(const lane_model *m, const real *q, const real *v, const real *tau, real dt, explicit_work *work)
{
    add_flow_at(&work->flow, m, q, tau, v, dt);
    add_loads_flow(&work->flow, m, q, v, dt, &work->loads);
}

/// (x, w) in `work`: the state reached from (q, v) by h times the sum of the first n stages' rates with the weights c.
KERNEL void advance(const lane_model *m, int n, const double *c, const real *q, const real *v, real h, explicit_work *work)
{
    int used[ALL_STAGES], count = 0;  // most weights of the higher methods are zero
    for (int j = 0; j < n; j++)
        if (c[j] != 0) used[count++] = j;
    for (int k = 0; k < m->nv; k++) {
        real u = rset(0), w = rset(0);
        for (int i = 0; i < count; i++) {
            const int j = used[i];
            u = fmadd(rset(c[j]), work->kq[j][k], u), w = fmadd(rset(c[j]), work->kv[j][k], w);
        }
        work->u[k] = h * u;
        work->w[k] = fmadd(h, w, v[k]);
    }
    config_add(m, q, work->u, work->x);
    for (int k = 0; k < m->nwound; k++) {
        real sum = rset(0);
        for (int i = 0; i < count; i++) sum = fmadd(rset(c[used[i]]), work->kw[used[i]][k], sum);
        m->wound[k] = fmadd(h, sum, work->wound[k]);
    }
    for (int k = 0; k < m->nbent; k++) {
        vec3 way = zero3();
        for (int i = 0; i < count; i++) way = add_scaled(way, work->slides[used[i]][k], rset(c[used[i]]));
        work->bent[k] = add_scaled(work->slip[k], way, h);
    }
    double time = 0;  // the sum of a row of weights is the time of what it leads to
    for (int i = 0; i < count; i++) time += c[used[i]];
    clock_now(m, h, time);
}

/// The rates of stage s, at (x, w).
KERNEL void stage_rates(const lane_model *m, int s, const real *tau, explicit_work *work)
{
    chart_rate(m, work->u, work->w, work->kq[s]);
    work->loads.slides = work->slides[s];
    acceleration(m, work->x, work->w, work->u, tau, work, work->kv[s]);
    wind_rates(m, work->x, work->w, work->kw[s]);
}

/// One step of a Runge-Kutta method from (q, v) to (x, w) in `work`, with the integral terms there in m->wound.
KERNEL void runge_kutta(const lane_model *m, const tableau *t, const real *q, const real *v, const real *tau, real h,
                        explicit_work *work)
{
    for (int s = 0; s < t->stages; s++) {
        advance(m, s, t->a[s], q, v, h, work);
        stage_rates(m, s, tau, work);
        if (work->flows && t->b[s] != 0) add_explicit_flow(m, work->x, work->w, tau, rset(t->b[s]) * h, work);
    }
    advance(m, t->stages, t->b, q, v, h, work);
}

/// (x, w) of semi-implicit Euler in `work`, from the acceleration kv[0].
KERNEL void move_on(const lane_model *m, const real *q, const real *v, real h, explicit_work *work)
{
    for (int k = 0; k < m->nv; k++) {
        work->w[k] = fmadd(h, work->kv[0][k], v[k]);
        work->u[k] = h * work->w[k];
    }
    config_add(m, q, work->u, work->x);
}

/// Bristles as they are when a step begins.
FN void start_bristles(const lane_model *m, explicit_work *work)
{
    for (int k = 0; k < m->nbent; k++) work->bent[k] = work->slip[k];
    work->loads.slides = NULL;
}

/// Semi-implicit Euler: w = v + h qdd(q, v), x = q (+) h w. Forces act along the way h w.
KERNEL void semi_implicit(const lane_model *m, const real *q, const real *v, const real *tau, real h, explicit_work *work)
{
    clock_now(m, h, 0);
    start_bristles(m, work);
    acceleration(m, q, v, NULL, tau, work, work->kv[0]);
    move_on(m, q, v, h, work);
    if (work->flows) add_explicit_flow(m, q, work->w, tau, h, work);
    if (m->nwound) {
        clock_now(m, h, 1);
        wind_rates(m, work->x, work->w, work->kw[0]);
    }
    for (int k = 0; k < m->nwound; k++) m->wound[k] = fmadd(h, work->kw[0][k], work->wound[k]);
    if (!m->ncontact) return;
    place_loads(m, q, work->w, &work->loads);
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) {
            vec3 *const s = &work->bent[m->loads[k].contact];
            *s = add_scaled(*s, surface_slide(m, &work->loads, k), h);
            if (!m->loads[k].rolls) continue;
            vec3 *const turned = &work->bent[turn_slot(m, &m->loads[k])];
            *turned = add_scaled(*turned, work->loads.V[m->loads[k].body].w, h);
        }
}

/// The method's coefficients; of a method that has none, those of Euler.
FN const tableau *tableau_of(ctn_method method)
{
    switch (method) {
    case CTN_RK2: return &tableau_rk2;
    case CTN_RK3: return &tableau_rk3;
    case CTN_RK4: return &tableau_rk4;
    case CTN_DOP853: return &tableau_dop853;
    default: return &tableau_euler;
    }
}

/// One step of an explicit method from (q, v) to (x, w) in `work`; returns the number of accelerations.
KERNEL int explicit_step(const lane_model *m, ctn_method method, const real *q, const real *v, const real *tau, real h,
                         explicit_work *work)
{
    const tableau *t = tableau_of(method);
    work->flow = no_flow();
    hold_wound(m, work->wound);
    if (method == CTN_SEMI_IMPLICIT) semi_implicit(m, q, v, tau, h, work);
    else runge_kutta(m, t, q, v, tau, h, work);
    return t->stages;
}

#endif
