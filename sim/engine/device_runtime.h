/// The CUDA runtime, as the host's sides of devices call it (sim/engine/device_table.h).
#ifndef CATENA_SIM_DEVICE_RUNTIME_H
#define CATENA_SIM_DEVICE_RUNTIME_H

#include <cuda_runtime.h>

enum copy_kind { TO_DEVICE, FROM_DEVICE, WITHIN_DEVICE };

static thread_local cudaError_t last_error = cudaSuccess;

static bool good(cudaError_t error)
{
    if (error == cudaSuccess) return true;
    cudaGetLastError();  // a later call does not fail for it
    last_error = error;
    return false;
}

static const char *machine_error() { return cudaGetErrorString(last_error); }

static void *machine_allocate(size_t size)
{
    void *p = NULL;
    return good(cudaMalloc(&p, size)) ? p : NULL;
}

static void machine_free(void *p) { good(cudaFree(p)); }

static bool machine_copy(void *to, const void *from, size_t size, copy_kind kind, void *stream)
{
    static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    return good(cudaMemcpyAsync(to, from, size, kinds[kind], (cudaStream_t)stream)) &&
           good(cudaStreamSynchronize((cudaStream_t)stream));
}

static bool machine_zero(void *to, size_t size) { return good(cudaMemset(to, 0, size)) && good(cudaDeviceSynchronize()); }

#endif
