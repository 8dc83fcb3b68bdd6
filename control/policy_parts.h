/// A search by policy gradients, for the files that make it learn.
#ifndef CATENA_CONTROL_POLICY_PARTS_H
#define CATENA_CONTROL_POLICY_PARTS_H

#include "control/critic.h"
#include "control/policy.h"

struct policy_search {
    const scene_search *how;
    windows windows;
    int count, outputs;  // of the network's parameters; what it says
    double *theta;       // [count + outputs], parameters, then logarithms of deviations
    double *g;           // likewise, the gradient
    double *deviation;   // [outputs]
    adam adam;
    critic critic;
    lived lived;
    double *values, *advantage, *weight;  // [decisions + 1][worlds], [decisions][worlds], likewise
    double mean, least, length;           // of the last window's episodes, of the last gradient
    int64_t episodes;
};

/// Go up along what the last window says. CTN_NO_MEMORY, and errors of ctn_tapes_gradient.
ctn_status learn_by_likelihood(policy_search *p, ctn_error *err);
ctn_status learn_by_ppo(policy_search *p, ctn_error *err);
ctn_status learn_by_shac(policy_search *p, ctn_error *err);

/// A step along p->g, not longer than `most`; deviations follow.
void policy_ascend(policy_search *p, double most);

/// What the critic says of all that was seen in the window, into p->values.
void policy_value(policy_search *p, bool slow);

#endif
