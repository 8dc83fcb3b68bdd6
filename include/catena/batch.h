/// Stepping: worlds of one model advanced through time by one method. One world is a batch of one.
#ifndef CATENA_BATCH_H
#define CATENA_BATCH_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Methods of integration; docs/integrators.md says which one to choose.
typedef enum ctn_method {
    CTN_EULER,          // explicit Euler, order 1
    CTN_SEMI_IMPLICIT,  // velocity first, then position with it: order 1
    CTN_RK2,            // explicit midpoint rule, order 2
    CTN_RK3,            // Kutta's third-order method
    CTN_RK4,            // the classical Runge-Kutta method, order 4
    CTN_COLLOCATION,    // position-based collocation; `order` 2: first-order accurate, L-stable, any step size
    CTN_VARIATIONAL,    // variational: symplectic, time-reversible, keeps momenta; `order` 2 or 4
} ctn_method;

/// How position-based methods solve their equations.
typedef enum ctn_solver {
    CTN_NEWTON,  // exact Newton step by an O(N) sweep, with line search
} ctn_solver;

/// Configuration of a batch. Start from ctn_batch_config_default() or ctn_scene_config(); a plain struct, copied in.
typedef struct ctn_batch_config {
    unsigned cookie;     // set by ctn_batch_config_default; catches an uninitialised struct
    int worlds;          // >= 1, default 1
    double dt;           // s, > 0, default 0.01; larger: cheaper, less accurate
    ctn_method method;   // default CTN_SEMI_IMPLICIT
    int order;           // collocation: 2; variational: 2 or 4 (no dampers); default 2
    ctn_solver solver;   // position-based methods, default CTN_NEWTON
    double tolerance;    // residual at which a solve stops, relative to each joint's scale of force (docs/integrators.md),
                         // > 0, default 1e-9; larger: fewer iterations, the steps' laws hold less exactly
    int max_iterations;  // Newton iterations before a step is halved, default 60
    int max_halvings;    // how often a step may be halved in a row before its world freezes, default 10
    const char *engine;  // NULL or "auto": CTN_ENGINE if set, else by CPU and number of worlds; "scalar", "avx2", "avx512".
                         // Every engine gives the same bits.
} ctn_batch_config;

CTN_API ctn_batch_config ctn_batch_config_default(void);

/// The scene's `integrator:` section over the defaults.
CTN_API ctn_batch_config ctn_scene_config(const ctn_scene *scene);

/// Names as in scene files ("semi-implicit", "newton"); NULL for a value out of range.
CTN_API const char *ctn_method_name(ctn_method method);
CTN_API const char *ctn_solver_name(ctn_solver solver);

/// Looks a name up; returns CTN_BAD_CONFIG with what is allowed, CTN_UNAVAILABLE for a method of a later version.
CTN_API ctn_status ctn_method_from_name(const char *name, ctn_method *method, ctn_error *err);
CTN_API ctn_status ctn_solver_from_name(const char *name, ctn_solver *solver, ctn_error *err);

/// Why a world does not move any more.
typedef enum ctn_freeze {
    CTN_RUNNING,
    CTN_FREEZE_NOT_FINITE,     // accelerations, velocities or coordinates became infinite or NaN
    CTN_FREEZE_NOT_CONVERGED,  // no fallback found a step
    CTN_FREEZE_ANGLE,          // a joint angle left the range of sine and cosine (1e6 rad)
} ctn_freeze;

/// What happened to one world in one call of ctn_batch_step.
typedef struct ctn_step_stats {
    long steps;                     // steps of dt carried out
    long iterations;                // Newton iterations, all steps together
    int iterations_max;             // in one step (all its parts)
    long evaluations;               // of the residual (position-based) or of the acceleration (explicit)
    long line_search;               // times a Newton step was shortened
    long curvature;                 // Newton steps without the curvature of some subtree, as a pivot was not positive
    long fallbacks;                 // steps that had to be halved at least once
    long substeps;                  // parts in which all steps were carried out; = steps if there was no fallback
    double residual;                // largest scaled residual at the end of a step (0 for explicit methods)
    double energy_before;           // J, before the call: kinetic + potential + springs
    double energy_after;            // J, after it
    double energy_min, energy_max;  // J, over the steps of this call, its start included
    ctn_freeze frozen;              // CTN_RUNNING: still going
    double frozen_time;             // s, of the last good state, if frozen
} ctn_step_stats;

/// A sentence about why a world is frozen; "it still runs" for CTN_RUNNING. Never NULL.
CTN_API const char *ctn_freeze_text(ctn_freeze reason);

/// Makes `sum`, the statistics of some steps of a world, those of these steps and the ones of `next` that followed them. Start a
/// sum with a copy of the first.
CTN_API void ctn_step_stats_add(ctn_step_stats *sum, const ctn_step_stats *next);

typedef struct ctn_batch ctn_batch;

/// Creates `cfg->worlds` worlds of `model` at the scene's initial state, time 0. `model` must outlive the batch. NULL on error.
/// Everything is allocated here; stepping allocates nothing.
CTN_API ctn_batch *ctn_batch_create(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err);
CTN_API void ctn_batch_free(ctn_batch *batch);  // NULL is allowed

/// The configuration in use; `engine` is the one that was chosen.
CTN_API const ctn_batch_config *ctn_batch_configuration(const ctn_batch *batch);

/// The model that the batch was made of.
CTN_API const ctn_model *ctn_batch_model(const ctn_batch *batch);

/// Advances every world by `steps` >= 0 steps of dt. stats [worlds] may be NULL. Returns CTN_OK, CTN_NOT_CONVERGED if a world needed
/// a fallback, CTN_FROZEN if one is frozen (now or before), with the first case in `err` (may be NULL); CTN_BAD_ARGUMENT for
/// steps < 0, with nothing done. One call per batch at a time.
CTN_API ctn_status ctn_batch_step(ctn_batch *batch, int steps, ctn_step_stats *stats, ctn_error *err);

/// Coordinates q [worlds][nq] and velocities v [worlds][nv] now; either may be NULL. For position-based methods v is the joint
/// velocity nearest, in the kinetic-energy norm, to the link velocities that the method carries; for the variational method the one of
/// the joint momenta that it carries.
CTN_API void ctn_batch_state(ctn_batch *batch, double *q, double *v);

/// Starts all worlds anew from q [worlds][nq] and v [worlds][nv] at `time` (s); frozen worlds run again. Quaternions are
/// normalised. Returns CTN_BAD_ARGUMENT for numbers that are not finite or quaternions of length zero or beyond 1e154, and then
/// changes nothing.
CTN_API ctn_status ctn_batch_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err);

/// Joint forces tau [worlds][nv] (N m, N) that act from now on until changed; NULL: none.
CTN_API void ctn_batch_set_force(ctn_batch *batch, const double *tau);

/// Time of world `world` in 0 .. worlds-1, s; NaN outside.
CTN_API double ctn_batch_time(const ctn_batch *batch, int world);

/// The whole state of the batch, all that its future depends on besides model, configuration and force: a versioned block of
/// ctn_batch_saved_size bytes. Restoring it into a batch of the same model and configuration continues with the same bits.
/// ctn_batch_restore returns CTN_BAD_ARGUMENT, and changes nothing, if model, method, dt or worlds are others.
CTN_API size_t ctn_batch_saved_size(const ctn_batch *batch);
CTN_API void ctn_batch_save(const ctn_batch *batch, void *block);
CTN_API ctn_status ctn_batch_restore(ctn_batch *batch, const void *block, size_t size, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
