/// Proximal policy optimisation: rounds of small steps on what a window showed, which end to count where probabilities have
/// changed by more than a fifth. [Schulman et al., arXiv 1707.06347]
#include "control/policy_parts.h"

#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP 0.2
#define LAMBDA 0.95
enum { ROUNDS = 8, PARTS = 8 };

/// Advantages, of mean 0 and deviation 1; and what the critic is to learn, [lived].
static void weigh(policy_search *p, double *target)
{
    const lived *const l = &p->lived;
    double sum = 0, square = 0;
    policy_value(p, false);
    advantages(&p->windows, p->values, p->how->discount, LAMBDA, p->advantage);
    for (int k = 0; k < l->count; k++)
        target[k] = p->values[l->place[k]] + p->advantage[l->place[k]], sum += p->advantage[l->place[k]];
    const double mean = sum / l->count;
    for (int k = 0; k < l->count; k++) square += (p->advantage[l->place[k]] - mean) * (p->advantage[l->place[k]] - mean);
    const double deviation = sqrt(square / l->count) + 1e-12;
    for (int k = 0; k < l->count; k++) p->advantage[l->place[k]] = (p->advantage[l->place[k]] - mean) / deviation;
}

/// What is told and was meant in the decisions that were lived, [outputs][count] of each.
static void collect(const policy_search *p, const double *of, double *to)
{
    const windows *const w = &p->windows;
    const size_t n = (size_t)w->worlds, out = (size_t)p->outputs, count = (size_t)p->lived.count;
    for (size_t k = 0; k < count; k++) {
        const size_t d = (size_t)p->lived.place[k] / n, world = (size_t)p->lived.place[k] % n;
        for (size_t i = 0; i < out; i++) to[i * count + k] = of[(d * out + i) * n + world];
    }
}

/// The gradient of a part of what was lived into p->g. said: means before the first round, noise: e, [outputs][lived]; old:
/// logarithms of deviations then.
static void gradient_of(policy_search *p, const int *part, int n, const double *said, const double *noise, const double *old,
                        double *x, double *y, double *by, double *room)
{
    const network *const net = &p->windows.policy;
    const size_t count = (size_t)p->lived.count, m = (size_t)n;
    memset(p->g, 0, (size_t)(p->count + p->outputs) * sizeof *p->g);
    choose_columns(p->lived.x, net->inputs, p->lived.count, part, n, x);
    network_forward(net, p->theta, n, x, y);
    const double *const means = network_says(net, n, y);
    for (size_t k = 0; k < m; k++) {
        const size_t at = (size_t)part[k];
        const double advantage = p->advantage[p->lived.place[at]];
        double change = 0;  // of log p
        for (size_t i = 0; i < (size_t)p->outputs; i++) {
            const double e = noise[i * count + at], told = said[i * count + at] + exp(old[i]) * e;
            const double z = (told - means[i * m + k]) / p->deviation[i];
            change += (e * e - z * z) / 2 + old[i] - p->theta[(size_t)p->count + i];
        }
        const double ratio = exp(change);
        const bool clipped = advantage > 0 ? ratio > 1 + CLIP : ratio < 1 - CLIP;
        for (size_t i = 0; i < (size_t)p->outputs; i++) {
            const double told = said[i * count + at] + exp(old[i]) * noise[i * count + at];
            const double z = (told - means[i * m + k]) / p->deviation[i], share = clipped ? 0 : advantage * ratio / n;
            by[i * m + k] = share * z / p->deviation[i];
            p->g[(size_t)p->count + i] += share * (z * z - 1);
        }
    }
    network_back(net, p->theta, n, x, y, by, NULL, p->g, room);
}

ctn_status learn_by_ppo(policy_search *p, ctn_error *err)
{
    const network *const net = &p->windows.policy;
    const int each = (p->lived.count + PARTS - 1) / PARTS;
    const size_t out = (size_t)p->outputs, in = (size_t)net->inputs, rows = (size_t)network_outputs(net), most = (size_t)each,
                 count = (size_t)p->lived.count;
    int *const order = calloc(count, sizeof *order);
    double *const target = calloc(count + 2 * out * count + out + most * (in + 2 * rows + out) + 1, sizeof *target);
    if (!order || !target) return free(order), free(target), fail(err, CTN_NO_MEMORY, "not enough memory for a gradient");
    double *const said = target + count, *const noise = said + out * count, *const old = noise + out * count,
                  *const x = old + out, *const y = x + most * in, *const by = y + most * rows, *const room = by + most * out;
    weigh(p, target);
    collect(p, p->windows.means, said), collect(p, p->windows.noise, noise);
    memcpy(old, p->theta + p->count, out * sizeof *old);
    const uint64_t seed = (uint64_t)p->how->seed, number = (uint64_t)p->windows.made;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        shuffle(p->lived.count, seed, number, r | 0x8000u, order);
        for (int first = 0; first < p->lived.count; first += each) {
            const int n = p->lived.count - first < each ? p->lived.count - first : each;
            gradient_of(p, order + first, n, said, noise, old, x, y, by, room);
            policy_ascend(p, 0.5);
        }
    }
    const bool learnt = critic_learn(&p->critic, &p->lived, target, p->how->critic_rate, ROUNDS, PARTS, 0, seed, number);
    free(order), free(target);
    return learnt ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for a critic");
}
