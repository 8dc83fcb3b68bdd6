/// Plans by samples: base lines for what derivatives are worth. What motors are told is a line through a few points in time;
/// points are drawn around those of the last plan, and all samples are rolled out side by side.
///
///     sampling   the best one is the next plan; the last plan is one of them [predictive sampling: Howell et al., 2212.00541]
///     mppi       their mean, by the weights exp(-(J - min J) / lambda) [Williams et al. 2017, Model predictive path integral
///                control]
///
/// lambda is the share `temperature` of what costs lie above the best one on average, so that units of costs do not matter. Costs
/// of samples are what they cost: Williams' control cost of the noise is left out. There are no gains.
///
/// Random numbers are by counters: the same bits for any number of threads and lanes.
#ifndef CATENA_CONTROL_SAMPLING_H
#define CATENA_CONTROL_SAMPLING_H

#include "control/plant.h"

#include <stdint.h>

typedef struct sampling sampling;

typedef struct sampling_config {
    bool mean;                            // mppi, else the best
    int samples;                          // 2 or more, the plan's own among them
    int points;                           // of the line, 2 or more; at most a knot each
    double temperature;                   // > 0, of mppi
    const double *noise, *lower, *upper;  // [m]: deviations of points; bounds, NULL: none. Copied
    uint64_t seed;
} sampling_config;

typedef struct sampling_state {
    int round;         // made since the last shift
    double cost;       // of the plan, once there has been a round, or it was judged
    double best;       // of the best sample of the last round
    double effective;  // of mppi: samples that the mean has, 1 / sum of squared weights; else 1
    long failed;       // samples that the plant could not go through, in all
} sampling_state;

/// `plant` must last, and its `most` is at least the samples. NULL on error: CTN_BAD_ARGUMENT, CTN_NO_MEMORY.
sampling *sampling_open(const plant *plant, const sampling_config *cfg, ctn_error *err);
void sampling_close(sampling *s);  // NULL is allowed

/// From x0 [nx], around controls U [knots][m], of which those at the points are taken.
void sampling_begin(sampling *s, const double *x0, const double *U);

/// One round. CTN_FROZEN: the plant cannot go through any sample; else the plant's error.
ctn_status sampling_step(sampling *s, ctn_error *err);

/// What the plan costs without another round. CTN_FROZEN: the plant cannot go through it; else the plant's error.
ctn_status sampling_judge(sampling *s, ctn_error *err);

/// A knot is over: the line moves to the front by as much, and begins at x0 [nx].
void sampling_shift(sampling *s, const double *x0);

sampling_state sampling_get_state(const sampling *s);

/// What motors are told in the first knot [m]; valid until the next call.
const double *sampling_control(const sampling *s);

#endif
