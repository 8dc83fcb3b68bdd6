/// The likelihood ratio with a baseline for each time: what came after a decision, less its mean over worlds at that time.
/// [Williams 1992; Peters, Schaal 2008]
#include "control/policy_parts.h"

#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What came after each decision, discounted, less its mean; in units of its deviation.
static void advantages_of_episodes(policy_search *p)
{
    const windows *const w = &p->windows;
    const size_t n = (size_t)w->worlds;
    double square = 0;
    for (size_t d = (size_t)w->decisions; d-- > 0;) {
        double sum = 0;
        int lived = 0;
        for (size_t k = 0; k < n; k++) {
            const size_t at = d * n + k;
            p->values[at] = w->earned[at] + (d + 1 < (size_t)w->decisions ? p->how->discount * p->values[at + n] : 0);
            if (w->fate[at] != NOT_LIVED) sum += p->values[at], lived++;
        }
        for (size_t k = 0; k < n; k++) {
            const size_t at = d * n + k;
            p->advantage[at] = w->fate[at] == NOT_LIVED ? 0 : p->values[at] - sum / lived;
            square += p->advantage[at] * p->advantage[at];
        }
    }
    const double deviation = sqrt(square / p->lived.count);
    for (size_t k = 0; k < (size_t)w->decisions * n && deviation > 0; k++) p->advantage[k] /= deviation;
}

ctn_status learn_by_likelihood(policy_search *p, ctn_error *err)
{
    const windows *const w = &p->windows;
    const size_t n = (size_t)w->worlds, out = (size_t)p->outputs, in = (size_t)w->policy.inputs,
                 rows = (size_t)network_outputs(&w->policy);
    double *const room = calloc((2 * rows + out) * n + 1, sizeof *room), *const y = room + rows * n, *const by = y + rows * n;
    if (!room) return fail(err, CTN_NO_MEMORY, "not enough memory for a gradient");
    advantages_of_episodes(p);
    for (size_t d = 0; d < (size_t)w->decisions; d++) {
        for (size_t i = 0; i < out; i++)
            for (size_t k = 0; k < n; k++) {  // of log p(a) = - e^2/2 - log deviation, e = (a - mean)/deviation
                const double e = w->noise[(d * out + i) * n + k], share = p->advantage[d * n + k] / p->lived.count;
                by[i * n + k] = share * e / p->deviation[i];
                p->g[(size_t)p->count + i] += share * (e * e - 1);
            }
        network_forward(&w->policy, p->theta, w->worlds, w->seen + d * in * n, y);
        network_back(&w->policy, p->theta, w->worlds, w->seen + d * in * n, y, by, NULL, p->g, room);
    }
    free(room);
    policy_ascend(p, 1);
    return CTN_OK;
}
