/// Windows: worlds of a scene that a policy tells with noise, so many decisions at a time. What they saw, were told and earned is
/// kept, for what learns from it; worlds that have come to their end begin anew with the next window.
///
/// A policy is the scene's controller, a network of what sensors say, which is told to motors once in a decision: `hold` steps.
/// The target of number i is the middle of its range plus half of its length times a, a_i = mean_i + deviation_i e_i, with mean
/// what the network says, and e_i normal and independent. Sensors are read without noise and delay. Arrays of a window are
/// [decisions][rows][worlds]: worlds side by side, as networks take them. Random numbers are counters' of (seed, window,
/// decision, world): the same bits for any number of threads, and after a resume.
#ifndef CATENA_CONTROL_WINDOWS_H
#define CATENA_CONTROL_WINDOWS_H

#include "control/learning.h"
#include "control/reward.h"
#include "sim/model/controller.h"
#include "sim/runs/sampled_worlds.h"
#include "sim/scene/scene.h"

#include <catena/tapes.h>

/// What became of a world in a decision.
typedef enum {
    NOT_LIVED,  // it had come to its end before, or was lost before that
    LIVED,
    ENDED,  // lived, and that was the end of its episode: it is not alive, and earns no more
    CUT,    // lived, and that was the end of its time
} window_fate;

typedef struct windows {
    // given
    const ctn_scene *scene;
    const ctn_model *model;
    const model_controller *law;
    network policy;
    int worlds, hold, decisions;  // steps of a decision, decisions of a window
    int episode;                  // decisions of an episode
    uint64_t seed;
    double dt;  // s, of a step
    bool gradients;

    // the window made last
    double *seen;       // [decisions + 1][inputs][worlds], what sensors said, over their scales
    double *means;      // [decisions][outputs][worlds]
    double *noise;      // [decisions][outputs][worlds], e
    double *earned;     // [decisions][worlds]
    window_fate *fate;  // [decisions][worlds]
    double *told;       // [decisions][worlds][nu]

    // up to now
    int64_t made, begun;    // windows, episodes
    int64_t steps;          // of worlds that lived
    int64_t lost;           // windows of worlds that froze, or had a step in halves
    double returns, least;  // what episodes earned that ended in this window, all together, the least; and how many these are
    int64_t ended;

    // of its own
    ctn_tapes *tapes;
    ctn_dynamics *dyn;
    reward *reward;
    sampled_worlds sampled;
    const double *parameters, *deviation;  // of the policy, in this window
    bool *anew;                            // [worlds] begin with the next window
    bool *blind;                           // [worlds] have no gradient in this one
    int *age, *begun_age;                  // [worlds] decisions of their episode; when the window began
    double *gained;                        // [worlds] in it
    double *sensed, *outputs, *before, *total, *time;
    bool *gone, *over;
    reward_gradients by;  // of what decisions earned, [decisions][worlds][..]
} windows;

/// Of a scene whose controller is a network; gradients: for windows_pull. CTN_UNAVAILABLE for sensors that say more than where
/// worlds are and how they move, and for parameters of targets that the controller does not tell; else as ctn_tapes_create and
/// reward_open. windows_close is due in any case. `cfg` gets the parameters that the scene draws.
ctn_status windows_open(windows *w, const ctn_scene *scene, const ctn_model *model, ctn_batch_config *cfg, int hold,
                        int decisions, int episode, bool gradients, ctn_error *err);
void windows_close(windows *w);

/// Makes a window by a policy of these parameters, and deviations of its noise [outputs].
ctn_status windows_make(windows *w, const double *parameters, const double *deviation, ctn_error *err);

/// The way back through the window made last, steps and all: adds to by_parameters and by_deviation the gradient of sum of
/// weight[d][world] times what was earned + worth of the last state that each world saw. worth: adds to by_seen [inputs][worlds]
/// the gradient of that by what was seen after decision `d`, of the worlds whose last one that is (last [worlds]). Worlds that
/// are `blind`, or found to be on the way, are left out, and counted as lost.
typedef void windows_worth(void *context, int d, const bool *last, double *by_seen);
ctn_status windows_pull(windows *w, const double *weight, windows_worth *worth, void *context, double *by_parameters,
                        double *by_deviation, ctn_error *err);

/// All that the next windows depend on, as numbers: into flat, or (load) out of it.
size_t windows_numbers(const windows *w);
ctn_status windows_flatten(windows *w, bool load, double *flat, ctn_error *err);

#endif
