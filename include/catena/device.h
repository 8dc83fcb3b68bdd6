/// Batches on a GPU (`engine` "cuda" in their configuration): states and forces in its memory, for programs that work on the same
/// GPU and need not copy them to the CPU and back. All other calls of catena/batch.h work as ever, and copy; ctn_batch_dense is
/// not available, and ctn_batch_occupancy is NaN. Where a call that returns nothing fails on the GPU, it writes NaN, and the next
/// one that returns a status says why.
///
/// The GPU is the one that is the calling thread's current device when the batch is made; it must be so in later calls. Pointers
/// here are into the device's memory. Arrays are row-major with a row for each world, as on the CPU, of doubles, with engine
/// "cuda-float", too. Every call is done when it returns. Returns CTN_UNAVAILABLE for a batch on another engine, or when the GPU
/// fails; then the batch is of no more use.
#ifndef CATENA_DEVICE_H
#define CATENA_DEVICE_H

#include <catena/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The stream (a cudaStream_t) on which the batch does all further work; NULL, as at first: the default stream.
CTN_API ctn_status ctn_batch_device_stream(ctn_batch *batch, void *stream, ctn_error *err);

/// As ctn_batch_state: q [worlds][nq], v [worlds][nv]; either may be NULL. CTN_BAD_ARGUMENT for pointers that are not the
/// device's.
CTN_API ctn_status ctn_batch_device_state(ctn_batch *batch, double *q, double *v, ctn_error *err);

/// As ctn_batch_set_state, but the numbers are not looked at: a world that is given others than finite ones, or a quaternion of
/// length zero, freezes in its first step.
CTN_API ctn_status ctn_batch_device_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err);

/// As ctn_batch_set_force: tau [worlds][nv], which is copied; NULL: none.
CTN_API ctn_status ctn_batch_device_set_force(ctn_batch *batch, const double *tau, ctn_error *err);

/// Memory on the batch's device, for programs that have no other way to it; NULL with CTN_NO_MEMORY: there is not so much. The
/// caller frees it before the batch.
CTN_API void *ctn_batch_device_allocate(ctn_batch *batch, size_t bytes, ctn_error *err);
CTN_API void ctn_batch_device_free(ctn_batch *batch, void *memory);  // NULL is allowed

/// Copies into the device's memory, and out of it.
CTN_API ctn_status ctn_batch_device_write(ctn_batch *batch, void *to, const void *from, size_t bytes, ctn_error *err);
CTN_API ctn_status ctn_batch_device_read(ctn_batch *batch, void *to, const void *from, size_t bytes, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
