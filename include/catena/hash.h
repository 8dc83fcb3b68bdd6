/// Hashes of states: whether two runs are the same to the last bit, in 8 bytes a world and step.
#ifndef CATENA_HASH_H
#define CATENA_HASH_H

#include <catena/batch.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Into hash [worlds]: for each world a hash (XXH3, 64 bits) of all that its future depends on besides model, configuration and
/// force: its clock, its values of the parameters that the configuration lists, and its state as the method carries it, so more
/// than q and v. Equal on every engine, number of threads and number of worlds. One call per batch at a time.
CTN_API void ctn_batch_hashes(const ctn_batch *batch, uint64_t *hash);

#ifdef __cplusplus
}
#endif
#endif
