// What a GPU does for worlds along their links, on the CPU: jobs compiled as C++17, a launch as a loop. Jobs of a launch go
// from the last one to the first: on a GPU they are in no order.
#include "tests/twin_machine.h"

#include "sim/along/along_there.h"

static bool machine_launch(along_task task, int count, const along_context *context)
{
#define NAME_JOB(job) job,
    static void (*const jobs[])(void *, int, int) = {ALONG_TASKS(NAME_JOB)};
#undef NAME_JOB
    if (!may_launch()) return false;
    along_context own = *context;
    for (int k = count - 1; k >= 0; k--) jobs[task](&own, 0, k);
    return true;
}
