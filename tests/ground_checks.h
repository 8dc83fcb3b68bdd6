/// What holds of all that falls onto something: order 2 makes no energy, and bits are the same everywhere.
#ifndef CATENA_TESTS_GROUND_CHECKS_H
#define CATENA_TESTS_GROUND_CHECKS_H

#include <catena/catena.h>
#include <stdint.h>

/// Steps of dt by order 2 from (q, v) for `time` (s): none ends with more energy than it begins with, but for rounding, and the books
/// have no negative loss. Counts the steps, and those in touch.
void check_energy_falls(const ctn_model *m, double dt, double time, const double *q, const double *v, uint64_t seed, long *touched,
                        long *made);

/// Worlds that begin at q, v, with q[2] from `height` on in steps of 0.1 m, have the same bits on every engine, in batches of any
/// size, on several threads, and with a state saved after `before` of `steps` steps; and tell the same contacts. A device's, too,
/// where CTN_CUDA_LIBRARY names one or its twin. q: changed.
void check_bits_of_contact(const ctn_model *m, ctn_batch_config cfg, double *q, const double *v, double height, int before, int steps);

#endif
