/// Saved states that a test has changed, with the checksum of what they are now (sim/batch/batch_saved.c): what is behind it is
/// looked at.
#ifndef CATENA_TESTS_SEAL_H
#define CATENA_TESTS_SEAL_H

#include <string.h>
#include <xxhash.h>

static inline void seal(char *block, size_t size)
{
    enum { CHECKSUM = 64, HEADER = 72 };
    memset(block + CHECKSUM, 0, HEADER - CHECKSUM);
    const XXH64_hash_t sum = XXH3_64bits_withSeed(block + HEADER, size - HEADER, XXH3_64bits(block, HEADER));
    memcpy(block + CHECKSUM, &sum, sizeof sum);
}

#endif
