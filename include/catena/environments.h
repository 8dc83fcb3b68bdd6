/// Environments, as reinforcement learning has them: worlds of a scene with a `reward`, which a program tells actions, and which
/// say what they observe and what they earn. (docs/python.md, Gymnasium)
///
/// An *action* are targets of motors, for `every` s. Of a scene with a `controller` they are those that it would tell, each
/// within its `range`: the controller itself is silent. Without one, or with a `plan`, they are all targets that do not move with
/// time, within what the motor can do: its effort, of a thruster its limits, of a servo of velocity its speed, of a servo of
/// position the limits of its joint, over the gear; half a turn of a ball; infinite where there is none.
/// An *observation* is what a `linear` or `tanh` controller would go by: what its sensors say, over their scales, then its clock.
/// In other scenes it is what all sensors say, without scales; without sensors q, then v. Noise and delays of sensors are in it.
/// A *reward* is what the scene's total (docs/scene.md, Reward) changes by: what an episode earns after all is the sum.
/// An *episode* begins at a world that the scene's `sample` draws. It is terminated where the world is not `alive`, and truncated
/// when its time is over, or where the world is frozen: that says nothing of what it could still have earned.
///
/// World w has a seed of its own. Its n-th episode, from 0 on, is drawn by this seed and n alone: the same seed has the same bits
/// in every number and place of worlds, on every engine and with any number of threads. Arrays of worlds are [worlds][..].
#ifndef CATENA_ENVIRONMENTS_H
#define CATENA_ENVIRONMENTS_H

#include <catena/batch.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_environments ctn_environments;

/// Of cfg->worlds worlds of a scene with a `reward` and its model, both of which must outlive them. `hold` >= 1: steps of an
/// action; 0: as `every` of the controller says, without one 1. `limit` >= 1: actions of an episode; 0: as `duration` of the
/// scene says, without one there is no end; below 0: none. Parameters that `sample` draws are added to those of cfg, which has to
/// list none. Everything is allocated here. NULL on error: CTN_BAD_SCENE for a scene without a reward, or without motors;
/// CTN_UNAVAILABLE for engines on a GPU and `parallel: links`; CTN_BAD_ARGUMENT, and others as ctn_batch_create.
CTN_API ctn_environments *ctn_environments_create(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg,
                                                  int hold, int limit, ctn_error *err);
CTN_API void ctn_environments_free(ctn_environments *all);  // NULL is allowed

CTN_API int ctn_environments_actions(const ctn_environments *all);       // numbers of an action
CTN_API int ctn_environments_observations(const ctn_environments *all);  // of an observation
CTN_API int ctn_environments_rewards(const ctn_environments *all);       // terms of the reward
CTN_API double ctn_environments_every(const ctn_environments *all);      // s, that an action lasts; NaN for NULL
CTN_API int ctn_environments_limit(const ctn_environments *all);         // actions of an episode; 0: it has no end

/// From where to where the numbers of actions and observations can be, [numbers][lo, hi], each infinite where nothing bounds it.
/// What a sensor with noise says has no bound. Either may be NULL.
CTN_API void ctn_environments_bounds(const ctn_environments *all, double (*actions)[2], double (*observations)[2]);

/// What a number is called, "trunk", "imu.ax"; NULL: there is none. Valid as long as `all`.
CTN_API const char *ctn_environments_action_name(const ctn_environments *all, int number);
CTN_API const char *ctn_environments_observation_name(const ctn_environments *all, int number);

/// The term `term` of the reward as scenes call it, "progress"; NULL: there is none.
CTN_API const char *ctn_environments_reward_name(const ctn_environments *all, int term);

/// Begins an episode in the worlds that `which` [worlds] names (NULL: all). seeds [worlds]: new ones, from whose first episode on
/// it goes; NULL: those that they have, by default the world's number, and their next episodes. From q [worlds][nq] and v
/// [worlds][nv], or, NULL both, where the scene's `sample` draws. observation [worlds][observations] of all worlds; NULL: not
/// wanted. CTN_BAD_ARGUMENT for states that cannot be, and for a sample that draws what a world cannot have: nothing is changed
/// then.
CTN_API ctn_status ctn_environments_reset(ctn_environments *all, const bool *which, const uint64_t *seeds, const double *q,
                                          const double *v, double *observation, ctn_error *err);

/// What an action has led to; each may be NULL.
typedef struct ctn_environments_result {
    double *observation;           // [worlds][observations]
    double *reward;                // [worlds]
    double *terms;                 // [worlds][rewards], whose sum that is
    bool *terminated, *truncated;  // [worlds]
    bool *lost;                    // [worlds] truncated before their time: frozen, or their reward is no number
    ctn_step_stats *stats;         // [worlds], without energies
} ctn_environments_result;

/// Tells actions [worlds][actions], in the units of targets: what is beyond the bounds is taken as the bound. A world whose
/// episode is over rests, earns 0, and says again how it has ended, until it is reset; before its first reset a world rests as
/// one that is truncated. A world that freezes stands at its last good state, earns 0 in this step, and is truncated: it is lost,
/// and stats->frozen says why. So is one whose reward is no number. Returns CTN_OK also with frozen worlds; CTN_BAD_ARGUMENT for
/// an action that is not finite; CTN_INTERRUPTED where cfg->interrupt ended it: nothing is changed then. Allocates nothing.
CTN_API ctn_status ctn_environments_step(ctn_environments *all, const double *action, const ctn_environments_result *result,
                                         ctn_error *err);

/// Coordinates q [worlds][nq], velocities v [worlds][nv] and times [worlds] (s) now; each may be NULL.
CTN_API void ctn_environments_state(ctn_environments *all, double *q, double *v, double *time);

/// The configuration in use, with the engine and threads that were chosen. NULL for NULL.
CTN_API const ctn_batch_config *ctn_environments_configuration(const ctn_environments *all);

#ifdef __cplusplus
}
#endif
#endif
