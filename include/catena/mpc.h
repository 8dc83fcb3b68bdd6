/// Model predictive control of many worlds side by side: plans over a horizon that are made anew in every knot, by iterative
/// LQR or by samples, as `catena mpc` does (docs/trajectories.md). Settings are those of `optimize:` and its `mpc:` in the
/// scene.
///
/// Who calls steps the plants, which may differ from the scene: ctn_batch with a world for each, say. A knot is a time in
/// which motors are told the same. Worlds go over lanes and threads; each has the plans that it has alone, to the last bit, but
/// with a `deadline`, in which the plans of all of them are made.
#ifndef CATENA_MPC_H
#define CATENA_MPC_H

#include <catena/batch.h>
#include <catena/scene.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_mpc ctn_mpc;

/// Plans for cfg->worlds worlds in steps of `cfg`, on cfg->threads threads; the first ones, with as many iterations as `optimize`
/// says, from x0 [worlds][nq + nv], NULL: all from where the scene begins. `model` is compiled from `scene`; both must outlive
/// it. `seed`: of samples. NULL on error: CTN_BAD_SCENE where the scene does not do;
/// CTN_UNAVAILABLE: `cfg` has parameters that plans cannot have, those that motors are told, say; CTN_FROZEN: a world has no
/// first plan; others as ctn_tapes_create (catena/tapes.h).
CTN_API ctn_mpc *ctn_mpc_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, uint64_t seed,
                                const double *x0, ctn_error *err);
CTN_API void ctn_mpc_free(ctn_mpc *mpc);  // NULL is allowed

/// First plans anew, from x [worlds][nq + nv] at `time`, s, of the worlds that which [worlds] names, NULL: of all. CTN_FROZEN,
/// CTN_UNAVAILABLE: some have none. CTN_BAD_ARGUMENT: x or time is not finite.
CTN_API ctn_status ctn_mpc_begin(ctn_mpc *mpc, const bool *which, const double *x, double time, ctn_error *err);

/// Plants are at x [worlds][nq + nv] where a knot begins: what motors are told in it, u [worlds][nu], by the plans and their
/// gains. The plans for the next knot are made. CTN_FROZEN, CTN_UNAVAILABLE: some worlds have none that goes on: `lost` in
/// their state; they are told what they were told last, until they begin again. CTN_INTERRUPTED if cfg->interrupt ended it:
/// worlds are at different knots, until they begin again. CTN_BAD_ARGUMENT: x is not finite.
CTN_API ctn_status ctn_mpc_step(ctn_mpc *mpc, const double *x, double *u, ctn_error *err);

/// Parameters of the models by which plans are made, values [worlds][cfg->parameter_count], in the order of cfg->parameters;
/// before the first call those of the scene: what is known of each plant, or estimated of it on the way. Each plan that is made
/// from then on has them, the one for the next knot first; what motors are told in this knot was planned before. Where there
/// are parameters worlds go over threads one by one. CTN_BAD_ARGUMENT for values that one of them cannot have, and without a
/// list: then nothing changes.
CTN_API ctn_status ctn_mpc_set_parameters(ctn_mpc *mpc, const double *values, ctn_error *err);

typedef struct ctn_mpc_state {
    int knot;          // told
    double time;       // s, when they are over
    double cost;       // of the plant's own way up to now, over time
    double planned;    // what the plan from here on costs, without what limits add
    double violation;  // the most that it misses limits of the scene by, in their units; without limits 0
    int iterations;    // of the last plan
    double started;    // s, when targets that wait began to move; infinite: they have not yet
    bool lost;         // there is no plan that goes on
} ctn_mpc_state;

/// Of a world. For NULL, or none of its worlds, all 0.
CTN_API ctn_mpc_state ctn_mpc_get_state(const ctn_mpc *mpc, int world);

CTN_API int ctn_mpc_worlds(const ctn_mpc *mpc);          // for NULL 0
CTN_API double ctn_mpc_knot_length(const ctn_mpc *mpc);  // s; for NULL NaN

#ifdef __cplusplus
}
#endif
#endif
