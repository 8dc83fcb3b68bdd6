/// What trajectory optimisation knows of what it steers: one knot of time at a time, x_{k+1} = F_k(x_k, u_k), and what it costs.
///
/// Points lie on a manifold: x has nx numbers, a change of it n (tangent coordinates: catena/derivatives.h), controls m. Arrays
/// [count][..] are of as many points, each at a knot of its own. The same bits for any count and place in it.
#ifndef CATENA_CONTROL_PLANT_H
#define CATENA_CONTROL_PLANT_H

#include "sim/base/pool.h"

#include <catena/status.h>

#include <stdbool.h>

/// Derivatives of the cost of points, likewise [count].
typedef struct plant_costs {
    double *x, *u;         // [n], [m]
    double *xx, *uu, *ux;  // [n][n], [m][m], [m][n]: those that are kept of the second ones, at least positive semi-definite
} plant_costs;

/// What costs besides: adds to the cost of points and to their derivatives, as `cost` and `cost_derivatives` of a plant have
/// them.
typedef struct added_cost {
    void *context;
    void (*cost)(void *context, int count, const int *knot, const double *x, const double *u, double *cost);
    void (*derivatives)(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to);
} added_cost;

/// Points first .. first + count - 1 on their way, side by side: x [nx][apart] is where they are after `step` steps, u [m][apart]
/// is to be what they are told in the next one (NULL: that was the last). good [count]: false: the point got lost, x means
/// nothing. Several threads may ask at once, each for other points.
typedef void (*plant_tell)(void *whose, int first, int count, int apart, int step, const double *x, const bool *good, double *u);

enum { MOST_APART = 16 };  // points that lie side by side on their way

/// A world of the plant on a device (sim/engine/device.h), which steps it as well: `hold` steps in a knot, from x alone at each
/// knot, or (anew false) with what methods carry from step to step.
typedef struct plant_there {
    const struct ctn_device *device;
    struct device_worlds *worlds;
    int hold;
    bool anew;
} plant_there;

typedef struct plant {
    int knots;  // N: the horizon has N controls and N + 1 states
    int nx, n, m;
    int most;    // points that play is given at a time, at most
    bool added;  // changes are added number by number: nx = n, and add and difference are those of vectors
    // x = (q, v) of as many numbers, and q' = q + before v + after v': the upper halves of A and B follow from the lower ones,
    // A_q = [1 before] + after A_v, B_q = after B_v
    bool rates;
    // the last numbers of x are what the plant was told last, as many (control/told_last.h): regularisation is of the others
    int carried;
    double before, after;
    const plant_there *there;  // NULL: it is stepped by the CPU alone
    pool *threads;  // that play and linearise use, for jobs of who steers besides
    void *context;
    /// Step by step: points from x [count][nx], which are told by `tell`. Steps are the same at every knot, and beyond the
    /// horizon. Not CTN_OK: nothing is.
    ctn_status (*play)(void *context, int count, const double *x, int steps, plant_tell tell, void *whose, ctn_error *err);
    /// A [knots][n][n], B [knots][n][m] of all knots, at x [knots][nx], u [knots][m], by changes of x and u.
    ctn_status (*linearise)(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err);
    /// Of points; at knot N that of the end, where u counts for nothing.
    void (*cost)(void *context, int count, const int *knot, const double *x, const double *u, double *cost);
    void (*cost_derivatives)(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to);
    void (*add)(void *context, const double *x, const double *dx, double *to);            // to = x + dx
    void (*difference)(void *context, const double *from, const double *to, double *dx);  // from + dx = to
} plant;

/// One point, one step, at the first knot: next [nx] of x, u; good: whether there is one.
ctn_status plant_step(const plant *p, const double *x, const double *u, double *next, bool *good, ctn_error *err);

/// Points [count], up to `most`, side by side: x [count][nx], u [count][m], next [count][nx], good [count].
ctn_status plant_steps(const plant *p, int count, const double *x, const double *u, double *next, bool *good, ctn_error *err);

#endif
