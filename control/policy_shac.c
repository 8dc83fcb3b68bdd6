/// Short-horizon actor-critic: the gradient of what a window earns, through its steps, and of what the critic says of its end.
/// [Xu et al., arXiv 2204.07137]
#include "control/policy_parts.h"

#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA 0.95
#define KEEP 0.4  // of the slow critic
enum { ROUNDS = 8, PARTS = 4 };

/// The last state of worlds is worth what the critic says, discounted from the begin of the window on.
static void worth(void *context, int d, const bool *last, double *by_seen)
{
    policy_search *const p = context;
    const windows *const w = &p->windows;
    const size_t n = (size_t)w->worlds, in = (size_t)w->policy.inputs;
    double *const weight = p->values;  // not needed any more
    for (size_t k = 0; k < n; k++) weight[k] = last[k] ? pow(p->how->discount, d) / (double)n : 0;
    critic_gradient(&p->critic, w->worlds, w->seen + (size_t)d * in * n, weight, by_seen);
}

ctn_status learn_by_shac(policy_search *p, ctn_error *err)
{
    windows *const w = &p->windows;
    const size_t n = (size_t)w->worlds;
    double *const target = calloc((size_t)p->lived.count, sizeof *target);
    if (!target) return fail(err, CTN_NO_MEMORY, "not enough memory for a critic");
    policy_value(p, true);
    advantages(w, p->values, p->how->discount, LAMBDA, p->advantage);
    for (int k = 0; k < p->lived.count; k++) target[k] = p->values[p->lived.place[k]] + p->advantage[p->lived.place[k]];
    for (size_t k = 0; k < (size_t)w->decisions * n; k++)
        p->weight[k] = w->fate[k] == NOT_LIVED ? 0 : pow(p->how->discount, (double)(k / n)) / (double)n;
    ctn_status status = windows_pull(w, p->weight, worth, p, p->g, p->g + p->count, err);
    for (int i = 0; i < p->outputs; i++) p->g[p->count + i] *= p->deviation[i];  // by its logarithm
    if (status == CTN_OK) policy_ascend(p, 1);
    if (status == CTN_OK && !critic_learn(&p->critic, &p->lived, target, p->how->critic_rate, ROUNDS, PARTS, KEEP,
                                          (uint64_t)p->how->seed, (uint64_t)w->made))
        status = fail(err, CTN_NO_MEMORY, "not enough memory for a critic");
    free(target);
    return status;
}
