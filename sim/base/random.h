/// Random numbers by counters: any of them at any time, without a state. [Salmon, Moraes, Dror, Shaw 2011: Parallel random
/// numbers: as easy as 1, 2, 3]
#ifndef CATENA_SIM_RANDOM_H
#define CATENA_SIM_RANDOM_H

#include <Random123/philox.h>
#include <math.h>
#include <stdint.h>

/// One call of the generator: four words out of a key, a 64-bit number and two more.
static inline philox4x32_ctr_t random_words(uint64_t seed, uint64_t number, uint32_t index, uint32_t what)
{
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t counter = {{(uint32_t)number, (uint32_t)(number >> 32), index, what}};
    return philox4x32(counter, key);
}

/// Two numbers out of four words, uniform in (0, 1).
static inline void uniform_pair_of(philox4x32_ctr_t r, double x[2])
{
    for (int k = 0; k < 2; k++) {
        const uint64_t bits = ((uint64_t)r.v[2 * k] << 32 | r.v[2 * k + 1]) >> 12;
        x[k] = ((double)bits + 0.5) * 0x1p-52;
    }
}

/// A normal number of mean 0 and deviation 1 out of such a pair, by Box and Muller.
static inline double normal_of(const double x[2]) { return sqrt(-2 * log(x[0])) * cos(2 * 3.14159265358979323846 * x[1]); }

/// Two of them, which are independent, out of one pair: the first is that of normal_of().
static inline void normal_pair_of(const double x[2], double z[2])
{
    const double radius = sqrt(-2 * log(x[0])), angle = 2 * 3.14159265358979323846 * x[1];
    z[0] = radius * cos(angle), z[1] = radius * sin(angle);
}

#endif
