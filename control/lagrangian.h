/// Limits of what a plant may do, lower <= c(x, u) <= upper, by an augmented Lagrangian around iterative LQR [Nocedal, Wright
/// 2006, section 17.3; Howell, Jackson, Manchester 2019]. To the cost is added, of each number c of a knot,
///
///     w (mu/2 z^2 - lambda^2 / (2 mu)),   z = y - min(max(y, lower), upper),   y = c + lambda/mu
///
/// [Bertsekas 1982, section 3.1: both bounds with one multiplier; lower = upper: exactly]. Where iterations have made that as
/// cheap as can be, the multipliers become mu z, and where limits are not kept four times as well as before, the penalty mu grows
/// tenfold [Birgin, Martinez 2014, algorithm 4.1]. Derivatives are Gauss-Newton's: w mu c_x'c_x where z is not 0.
#ifndef CATENA_CONTROL_LAGRANGIAN_H
#define CATENA_CONTROL_LAGRANGIAN_H

#include "control/ilqr.h"
#include "control/plant.h"

/// `rows` numbers, the same at each knot, and where they count.
typedef struct plant_limits {
    int rows;
    const double *lower, *upper;  // [knots + 1][rows], infinite where there is none
    const double *weight;         // [rows], w: a knot's length of what holds over time
    void *context;
    /// c [count][rows] at points and, if J is not NULL, its derivatives by changes of x and by u, J [count][rows][n + m]. Up to
    /// LIMIT_GROUP points; at the end u counts for nothing.
    void (*evaluate)(void *context, int count, const double *x, const double *u, double *c, double *J);
    double *c, *J;  // room for LIMIT_GROUP of them
} plant_limits;

enum { LIMIT_GROUP = 64 };

typedef struct lagrangian lagrangian;

typedef struct lagrangian_state {
    int round;         // multipliers have changed as often
    double violation;  // the most that a limit is missed by, in its units
    double penalty;    // mu
    ilqr_stop stop;    // ILQR_OPTIMAL: limits are kept within the tolerance, and the solver says so; ILQR_STUCK: no step and no
                       // penalty makes it better
} lagrangian_state;

/// `plant` (of which its numbers count alone) and `limits` must last. tolerance: of limits, in their units;
/// penalty: mu at first. NULL: CTN_NO_MEMORY.
lagrangian *lagrangian_open(const plant *plant, const plant_limits *limits, double tolerance, double penalty, ctn_error *err);
void lagrangian_close(lagrangian *l);  // NULL is allowed

/// Other limits of as many rows in the place of those it has: bounds and room of another thread, or of another time.
void lagrangian_lend(lagrangian *l, const plant_limits *limits);

/// What is added to the cost of the plant that the solver is opened with.
added_cost lagrangian_added(lagrangian *l);

/// An iteration of the solver, and, where these have done what they can, other multipliers. The solver's error.
ctn_status lagrangian_step(lagrangian *l, ilqr *solver, ctn_error *err);

/// Likewise in two parts, of which one begins and the other follows an iteration that was made beside others. false: it is over.
bool lagrangian_begins(lagrangian *l, const ilqr *solver);
void lagrangian_ends(lagrangian *l, ilqr *solver);

/// The solver begins with another trajectory: without multipliers, with the penalty at first.
void lagrangian_begin(lagrangian *l);

/// Likewise, or with a plant that has changed, but with the multipliers and the penalty that there are.
void lagrangian_begin_again(lagrangian *l);

/// The horizon has moved on by a knot, and `limits` are those of its knots now: multipliers move to the front, the last one is
/// repeated, and rounds begin anew.
void lagrangian_shift(lagrangian *l);

/// Multipliers as after a round, of where the solver has come to in this one, where its gradient is below 0.1: for plans that
/// have few iterations each.
void lagrangian_follow(lagrangian *l, const ilqr *solver);

/// What limits add to the cost of a trajectory.
double lagrangian_cost(lagrangian *l, const double *X, const double *U);

/// As of the trajectory that was looked at last: by lagrangian_look, or after a step or restored.
lagrangian_state lagrangian_get_state(const lagrangian *l);
void lagrangian_look(lagrangian *l, const double *X, const double *U);

/// Of row i: the most that it is missed by, and at how many knots it has a multiplier.
double lagrangian_row(const lagrangian *l, int i, int *active);

/// lambda [knots + 1][rows].
const double *lagrangian_multipliers(const lagrangian *l);

/// All that its future depends on, as numbers: into flat, or (load) out of it.
size_t lagrangian_numbers(const lagrangian *l);
void lagrangian_flatten(lagrangian *l, bool load, double *flat);

#endif
