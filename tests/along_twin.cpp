// What a GPU does for worlds along their links, on the CPU: jobs compiled as C++17, a launch as a loop, memory full of NaNs at
// first. Jobs of a launch go from the last one to the first: on a GPU they are in no order. With CATENA_TWIN_FAILS, launches fail
// after the first CTN_TWIN_LAUNCHES.
#include "dynamics/lane_scalar.h"

#include <stdlib.h>

enum copy_kind { TO_DEVICE, FROM_DEVICE };

static const char *machine_error() { return "the twin was told to"; }

static void *machine_allocate(size_t size)
{
    void *const p = aligned_alloc(64, (size + 63) / 64 * 64);
    if (p) memset(p, 0xff, size);
    return p;
}

static void machine_free(void *p) { free(p); }

static bool machine_copy(void *to, const void *from, size_t size, copy_kind, void *)
{
    memcpy(to, from, size);
    return true;
}

#include "sim/along/along_there.h"

static bool machine_launch(along_task task, int count, const along_context *context)
{
#define NAME_JOB(job) job,
    static void (*const jobs[])(void *, int, int) = {ALONG_TASKS(NAME_JOB)};
#undef NAME_JOB
#ifdef CATENA_TWIN_FAILS
    static long launches;
    const char *const most = getenv("CTN_TWIN_LAUNCHES");
    if (most && launches++ >= atol(most)) return false;
#endif
    along_context own = *context;
    for (int k = count - 1; k >= 0; k--) jobs[task](&own, 0, k);
    return true;
}
