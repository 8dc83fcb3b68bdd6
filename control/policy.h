/// Policy gradients: the parameters of a scene's controller, a network of what sensors say, go up along an estimate of how the
/// reward changes with them. Worlds are played with noise, a window at a time (control/windows.h); three estimates:
///
/// | likelihood | whole episodes; sum over decisions of (what came after - its mean) d log p(a) [Williams 1992], with a mean for
/// each |            | time [Peters, Schaal 2008] | ppo        | clipped ratios of probabilities, generalised advantages, some
/// rounds on each window [Schulman et al., 1707.06347] | shac       | the gradient of steps, contact, sensors and rewards
/// themselves, over a short window that ends in what a critic says |            | [Xu et al., arXiv 2204.07137]
///
/// The same bits for any number of threads and engines, and after a resume.
#ifndef CATENA_CONTROL_POLICY_H
#define CATENA_CONTROL_POLICY_H

#include "sim/scene/scene.h"

#include <catena/model.h>

typedef struct policy_search policy_search;

/// Of a scene whose `search` is by a gradient, and its model; an episode is `duration` s, motors are told every `hold` steps of
/// `cfg`. Scene and model must last. NULL on error: CTN_BAD_SCENE for a controller that is no network; else as windows_open.
policy_search *policy_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration, int hold,
                           ctn_error *err);
void policy_close(policy_search *p);  // NULL is allowed

/// A window, and what is learned from it. CTN_INTERRUPTED, CTN_NO_MEMORY: it is to be taken up from a saved state.
ctn_status policy_step(policy_search *p, ctn_error *err);

/// Where it is.
typedef struct policy_state {
    int64_t windows, steps, episodes;  // made; steps are those of worlds that were lived
    int64_t lost;                      // windows of worlds that froze, or had steps in halves
    double mean, least;                // of what episodes earned that ended in the last window that had some; NaN: none had
    double deviation, gradient;        // mean of noise, of half a range; length of the last gradient
} policy_state;

policy_state policy_get_state(const policy_search *p);

/// The parameters of the controller now, valid until the next call.
const double *policy_parameters(const policy_search *p);

/// All that its future depends on, as numbers: into flat, or (load) out of it.
size_t policy_numbers(const policy_search *p);
ctn_status policy_flatten(policy_search *p, bool load, double *flat, ctn_error *err);

#endif
