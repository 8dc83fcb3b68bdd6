// A GPU's memory and its failures, on the CPU, for twins of what a GPU does: memory full of NaNs at first. Launches fail after the
// first CTN_TWIN_LAUNCHES, where the environment says so.
#ifndef CATENA_TESTS_TWIN_MACHINE_H
#define CATENA_TESTS_TWIN_MACHINE_H

#include "dynamics/lane_scalar.h"

#include "tests/twin_guard.h"

#include <stdlib.h>

enum copy_kind { TO_DEVICE, FROM_DEVICE };

extern "C" bool twin_is_forked();  // device_twin.cpp

static const char *machine_error() { return twin_is_forked() ? "initialization error" : "the twin was told to"; }

static void *machine_allocate(size_t size)
{
    return twin_is_forked() ? NULL : device_map(size);
}

static void machine_free(void *p) { device_unmap(p); }

static bool machine_copy(void *to, const void *from, size_t size, copy_kind, void *)
{
    memcpy(to, from, size);
    return true;
}

static bool may_launch()
{
    static long launches;
    const char *const most = getenv("CTN_TWIN_LAUNCHES");
    if (most && launches++ >= atol(most)) return false;
    return !twin_is_forked();
}

#endif
