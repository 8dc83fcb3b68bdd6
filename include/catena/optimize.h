/// Trajectory optimisation: what a scene's motors are to be told over time so that its motion costs least, by iterative LQR, as
/// `catena optimize` finds it (docs/trajectories.md). A program may add costs of its own to those of `optimize:` in the scene.
///
/// A knot is a time in which motors are told the same. Of states x = (q, v) there is one more than knots; their changes are in
/// tangent coordinates (catena/derivatives.h), n = 2 nv of them. The same bits for any number of threads and lanes.
#ifndef CATENA_OPTIMIZE_H
#define CATENA_OPTIMIZE_H

#include <catena/batch.h>
#include <catena/scene.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_optimize ctn_optimize;

/// Derivatives of the cost of points [count], all of which are to be added to: by changes of x [n], by u [nu], and the second ones,
/// row-major: xx [n][n], uu [nu][nu], ux [nu][n]. Of these what makes the whole positive semi-definite, as Gauss-Newton's; 0 will do.
typedef struct ctn_cost_derivatives {
    double *x, *u, *xx, *uu, *ux;
} ctn_cost_derivatives;

/// A cost of a program's own, besides the scene's. Both are told of points [count], each at a knot of its own, 0 .. knots: x
/// [count][nq + nv], and u [count][nu] what motors are told there; at knot `knots`, the end, u counts for nothing. They add to what
/// there is: cost [count], and its derivatives. Called by the thread that calls ctn_optimize_create or ctn_optimize_step.
typedef struct ctn_optimize_cost {
    void (*cost)(void *context, int count, const int *knot, const double *x, const double *u, double *cost);
    void (*derivatives)(void *context, int count, const int *knot, const double *x, const double *u,
                        const ctn_cost_derivatives *to);
    void *context;
} ctn_optimize_cost;

/// Why it is over.
typedef enum ctn_optimize_stop {
    CTN_OPTIMIZE_RUNS,     // it is not
    CTN_OPTIMIZE_OPTIMAL,  // the gradient is within the scene's `tolerance`, limits are kept
    CTN_OPTIMIZE_STUCK,    // no step makes it better
} ctn_optimize_stop;

typedef struct ctn_optimize_state {
    int iteration;     // made
    double cost;       // of the scene and of the program, without what limits add
    double gradient;   // by what motors are told, relative
    double violation;  // the most that a limit of the scene is missed by, in its units; without limits 0
    double penalty;    // of limits
    ctn_optimize_stop stop;
} ctn_optimize_state;

/// With cfg->engine "cuda" iterations are made on a GPU, as far as docs/trajectories.md says, with the same bits; CTN_UNAVAILABLE:
/// there is none, or it does not take this scene, or (of ctn_optimize_step) it has failed: then the trajectory is what it was, and
/// has to be made anew.
///
/// A trajectory over `duration` s of a scene with `optimize:` and motors, in steps of `cfg`, from which `model` was compiled; both
/// must outlive it. It begins with the scene's guess, or with the plan that it plays. `cost` may be NULL: none of the program's own;
/// it is copied. NULL on error: CTN_BAD_SCENE where the scene does not do, CTN_FROZEN for a guess that it does not live through,
/// CTN_UNAVAILABLE for parameters that are what is looked for, or by which a scene's costs, limits or bounds would be others;
/// others as ctn_tapes_create (catena/tapes.h).
CTN_API ctn_optimize *ctn_optimize_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg,
                                          double duration, const ctn_optimize_cost *cost, ctn_error *err);
CTN_API void ctn_optimize_free(ctn_optimize *optimize);  // NULL is allowed

/// Parameters of what is steered, values [cfg->parameter_count], in the order of cfg->parameters; before the first call those of the
/// model. What motors are told is rolled out anew, and iterations begin again from there, at 0, with the multipliers of limits that
/// were found: trajectories of many masses one after another. CTN_BAD_ARGUMENT for values that it cannot have, and without a list;
/// CTN_FROZEN: it does not live through that. Parameters and trajectory are then what they were. CTN_INTERRUPTED: call it again
/// before others.
CTN_API ctn_status ctn_optimize_set_parameters(ctn_optimize *optimize, const double *values, ctn_error *err);

/// One iteration; nothing, where it is over. CTN_UNAVAILABLE: a step has no derivative; CTN_INTERRUPTED if cfg->interrupt ended it,
/// after which it can be called again.
CTN_API ctn_status ctn_optimize_step(ctn_optimize *optimize, ctn_error *err);

/// Where it is; for NULL all 0.
CTN_API ctn_optimize_state ctn_optimize_get_state(const ctn_optimize *optimize);

CTN_API int ctn_optimize_knots(const ctn_optimize *optimize);           // for NULL 0
CTN_API double ctn_optimize_knot_length(const ctn_optimize *optimize);  // s; for NULL NaN

/// The trajectory: states x [knots + 1][nq + nv], controls u [knots][nu] in the order of ctn_model_targets (catena/motors.h), and
/// gains K [knots][nu][2 nv] of the last iteration, with which u + K (x' - x) brings a motion x' back. Where costs, limits or the
/// reward are of changes of controls, the gains by what motors were told in the knot before, [knots][nu][nu], come on top; else
/// these are NULL. Valid until the next call of ctn_optimize_step. NULL for NULL.
CTN_API const double *ctn_optimize_states(const ctn_optimize *optimize);
CTN_API const double *ctn_optimize_controls(const ctn_optimize *optimize);
CTN_API const double *ctn_optimize_gains(const ctn_optimize *optimize);
CTN_API const double *ctn_optimize_told_gains(const ctn_optimize *optimize);

#ifdef __cplusplus
}
#endif
#endif
