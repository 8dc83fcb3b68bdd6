// The GPU's engine on the CPU: the code of its threads compiled as C++17, memory of its own, a launch as a loop over the worlds.
// Scratch memory is full of NaNs at first, as a GPU's is of anything. Launches fail after the first CTN_TWIN_LAUNCHES, where the
// environment says so.
#include "dynamics/lane_scalar.h"
#include "sim/engine/device_worlds.h"
#include "sim/base/status.h"
#include "tests/twin_guard.h"

#include <map>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef CATENA_FLOAT
#define MACHINE_NAME "cuda-float"
#define MACHINE_ALONG NULL
#define MACHINE_FORMS NULL
#define MACHINE_PLANS NULL
#else
#define MACHINE_NAME "cuda"
#define MACHINE_ALONG &along_device_here
#define MACHINE_FORMS &forms_device_here
#define MACHINE_PLANS &ilqr_device_here
extern "C" const struct along_device along_device_here;
extern "C" const struct forms_device forms_device_here;
extern "C" const struct ilqr_device ilqr_device_here;
#endif
enum { MACHINE_SCRATCH = 256 * 1024 };
enum copy_kind { TO_DEVICE, FROM_DEVICE, WITHIN_DEVICE };

/// Sizes by address.
static std::map<const char *, size_t> &allocated()
{
    static std::map<const char *, size_t> all;
    return all;
}

static pid_t opened_by;

/// Whether this process is a fork of the one that opened the device: CUDA cannot be used there.
extern "C" bool twin_is_forked() { return opened_by != getpid(); }

static ctn_status machine_find(ctn_error *)
{
    opened_by = getpid();
    return CTN_OK;
}

static const char *machine_error()
{
    return twin_is_forked() ? "initialization error" : "the twin was given a world too large for it";
}

static void *machine_allocate(size_t size)
{
    if (twin_is_forked()) return NULL;
    void *const p = device_map(size);
    if (p) allocated()[(char *)p] = size;
    return p;
}

static void machine_free(void *p)
{
    allocated().erase((char *)p);
    device_unmap(p);
}

static bool machine_knows(const void *p)
{
    auto after = allocated().upper_bound((const char *)p);
    return after != allocated().begin() && (const char *)p < (--after)->first + after->second;
}

static bool machine_copy(void *to, const void *from, size_t size, copy_kind, void *)
{
    memcpy(to, from, size);
    return true;
}

static bool machine_zero(void *to, size_t size)
{
    memset(to, 0, size);
    return true;
}

static bool machine_launch(const device_job *job, size_t scratch, void *)
{
    if (scratch > MACHINE_SCRATCH || twin_is_forked()) return false;
    static long launches;
    const char *const most = getenv("CTN_TWIN_LAUNCHES");
    if (most && launches++ >= atol(most)) return false;
    char *const memory = (char *)device_map(scratch + 64);
    if (!memory) return false;
    const device_constant<device_job> constant(*job);
    const device_job *const there = constant.there();
    const char *const touch = getenv("CTN_TWIN_TOUCH");  // of the twin itself: whether it finds what it is there to find
    const volatile char *host = NULL;
    if (touch && !strcmp(touch, "heap")) host = (const char *)&allocated().begin()->second;
    else if (touch && !strcmp(touch, "stack")) host = (const char *)&scratch;
    else if (touch) host = (const char *)getauxval(AT_PHDR);  // the program
    launch_kernel([there, memory, scratch, host] {
        if (host) (void)*host;
        for (int w = 0; w < there->worlds; w++) {
            memset(memory, 0xff, scratch);
            run_world(there, w, memory);
        }
    });
    device_unmap(memory);
    return true;
}

#include "sim/engine/device_table.h"
