/// Iterative LQR and its parallel form, multiple shooting in blocks [Plancher and Kuindersma, "A performance analysis of parallel
/// differential dynamic programming on a GPU"], with the signs of docs/trajectories.md.
///
///     u = u^ + alpha kappa + K (x - x^),   d_k = F(x_k, u_k) - x_{k+1}
///
/// An iteration linearises the plant at all knots, goes back over them for gains and the value's derivatives, and plays the new
/// controls with many alpha at once; the best one is taken. Time may be cut into blocks in both directions: `backward` blocks
/// begin with the value that the last iteration had at their ends, `forward` ones at states of their own, so that there are
/// defects d between them, which the linearised plant closes. Controls may be bounded: each knot's problem is then solved by
/// projected Newton steps [Tassa, Mansard, Todorov 2014].
///
/// The same bits for any number of threads and lanes.
#ifndef CATENA_CONTROL_ILQR_H
#define CATENA_CONTROL_ILQR_H

#include "control/plant.h"

typedef struct ilqr ilqr;

typedef struct ilqr_config {
    int backward, forward;        // blocks, 1 .. knots; default 1
    bool zero_start;              // backward blocks begin with a value of 0 at first, as published; else with one whole pass
    bool cost_alone;              // trajectories are judged by their cost alone, as published, whatever their defects
    int alphas;                   // lengths 1, 1/2, 1/4, ... that are tried, 1 .. 32; default 16
    double rho;                   // regularisation at first; default 1
    double tolerance;             // of the gradient, relative: ilqr_state.gradient; default 1e-6
    const double *lower, *upper;  // [m], of controls, may be infinite; NULL: not bounded. Copied
    bool second;  // near the optimum second derivatives are those of all (control/ilqr_second.c), and rho may be 0
    bool lent;    // what an iteration works in is lent before each call that begins or steps (ilqr_lend)
} ilqr_config;

ilqr_config ilqr_default_config(void);

typedef enum ilqr_stop {
    ILQR_RUNS,
    ILQR_OPTIMAL,  // the gradient is within the tolerance, or what is to be gained within the cost's rounding; defects are closed
    ILQR_STUCK,    // no step makes it better, however short
} ilqr_stop;

typedef struct ilqr_state {
    int iteration;  // made
    double cost;
    double defect;      // largest 1-norm of d
    double gradient;    // largest |Q_u|, of bounded controls what does not push against the bound, over the largest of its parts
    double rho, alpha;  // alpha 0: nothing was accepted in the last iteration
    long failed;        // points of roll-outs that the plant could not step from
    ilqr_stop stop;
} ilqr_state;

/// `plant` must last. NULL on error: CTN_BAD_ARGUMENT, CTN_NO_MEMORY.
ilqr *ilqr_open(const plant *plant, const ilqr_config *cfg, ctn_error *err);
void ilqr_close(ilqr *s);  // NULL is allowed
size_t ilqr_bytes(const plant *plant, const ilqr_config *cfg);

/// Numbers that an iteration works in, and these, lent: what one trajectory has left there another one may overwrite, but for
/// what ilqr_value and ilqr_tried tell of.
size_t ilqr_work_numbers(const plant *plant, const ilqr_config *cfg);
void ilqr_lend(ilqr *s, double *work);

/// From x0 [nx] under controls U [knots][m], which are brought within their bounds: rolled out. CTN_FROZEN: the plant could not
/// be stepped so; the last error of `plant`.
ctn_status ilqr_begin(ilqr *s, const double *x0, const double *U, ctn_error *err);

/// Likewise with states X [knots + 1][nx] that are given: between them there may be defects at the starts of forward blocks, and
/// only there: the states within a block are rolled out.
ctn_status ilqr_begin_from(ilqr *s, const double *X, const double *U, ctn_error *err);

/// One iteration. CTN_OK: see ilqr_get_state; else the plant's error.
ctn_status ilqr_step(ilqr *s, ctn_error *err);

/// The plant's costs have changed: the trajectory is judged anew, and iterations begin anew from it.
void ilqr_judge_again(ilqr *s);

ilqr_state ilqr_get_state(const ilqr *s);

// valid until the next call
const double *ilqr_states(const ilqr *s);                                    // [knots + 1][nx]
const double *ilqr_controls(const ilqr *s);                                  // [knots][m]
const double *ilqr_gains(const ilqr *s);                                     // K [knots][m][n], of the last iteration
const double *ilqr_feedforward(const ilqr *s);                               // kappa [knots][m], likewise
const double *ilqr_value(const ilqr *s, int knot, const double **gradient);  // V_xx [n][n], V_x [n], likewise

/// What the last backward pass expects: sum of kappa'Q_u, and half of sum of kappa'Q_uu kappa.
void ilqr_expected(const ilqr *s, double *linear, double *quadratic);

/// Costs [alphas] of what was tried last; NaN where the plant failed.
const double *ilqr_tried(const ilqr *s);

/// All that its future depends on, as numbers: into flat, or (load) out of it.
size_t ilqr_numbers(const ilqr *s);
void ilqr_flatten(ilqr *s, bool load, double *flat);

/// One step of time is over: knots move to the front by one, the last control and gains are repeated; the first state becomes x0
/// [nx], and everything is rolled out with the gains from there.
ctn_status ilqr_shift(ilqr *s, const double *x0, ctn_error *err);

#endif
