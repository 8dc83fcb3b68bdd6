#include "control/critic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool critic_open(critic *c, int inputs, const int hidden[2], size_t columns, uint64_t seed)
{
    *c = (critic){.net = {.inputs = inputs}, .scale = 1, .columns = columns};
    for (int l = 0; l < 2 && hidden[l]; l++) c->net.width[c->net.layers++] = hidden[l];
    c->net.width[c->net.layers++] = 1;
    const size_t count = (size_t)network_parameters(&c->net);
    c->p = calloc(count, sizeof *c->p), c->slow = calloc(count, sizeof *c->slow), c->by_p = calloc(count, sizeof *c->by_p);
    c->room = calloc(2 * (size_t)network_outputs(&c->net) * columns + 1, sizeof *c->room);
    c->by_x = calloc(columns * ((size_t)inputs + 1) + 1, sizeof *c->by_x);
    if (!adam_open(&c->adam, (int)count) || !c->p || !c->slow || !c->by_p || !c->room || !c->by_x) return false;
    network_draw(&c->net, seed, 0.1, c->p);
    memcpy(c->slow, c->p, count * sizeof *c->p);
    return true;
}

void critic_close(critic *c)
{
    adam_close(&c->adam);
    free(c->p), free(c->slow), free(c->by_p), free(c->room), free(c->by_x);
    *c = (critic){0};
}

void critic_values(critic *c, bool slow, int columns, const double *x, double *value)
{
    network_forward(&c->net, slow ? c->slow : c->p, columns, x, c->room);
    const double *const says = network_says(&c->net, columns, c->room);
    for (int k = 0; k < columns; k++) value[k] = c->scale * says[k];
}

void critic_gradient(critic *c, int columns, const double *x, const double *weight, double *by_x)
{
    const size_t n = (size_t)columns, outputs = (size_t)network_outputs(&c->net);
    double *const by = c->by_x, *const down = by + n;
    for (size_t k = 0; k < n; k++) by[k] = c->scale * weight[k];
    network_forward(&c->net, c->slow, columns, x, c->room);
    network_back(&c->net, c->slow, columns, x, c->room, by, down, c->by_p, c->room + outputs * n);
    for (size_t k = 0; k < n * (size_t)c->net.inputs; k++) by_x[k] += down[k];
}

/// Numbers of another size than before: what the critic says stays. The scale follows slowly, so that a window in which a world
/// goes wild does not make all that is learned later small.
static void follow_scale(critic *c, const double *target, int count)
{
    const double most = 2, least = 0.95;  // a window
    double sum = 0;
    for (int k = 0; k < count; k++) sum += target[k] * target[k];
    double size = sqrt(sum / count);
    const bool first = c->adam.steps == 0;
    if (!isfinite(size) || !(size > 0)) return;
    if (!first) size = fmin(fmax(size, least * c->scale), most * c->scale);
    const network *const n = &c->net;
    const int in = n->layers > 1 ? n->width[n->layers - 2] : n->inputs, all = network_parameters(n);
    for (int k = all - in - 1; k < all && !first; k++) c->p[k] *= c->scale / size, c->slow[k] *= c->scale / size;
    c->scale = size;
}

bool critic_learn(critic *c, const lived *l, const double *target, double rate, int rounds, int parts, double keep, uint64_t seed,
                  uint64_t number)
{
    const size_t count = (size_t)network_parameters(&c->net), outputs = (size_t)network_outputs(&c->net);
    const int each = (l->count + parts - 1) / parts;
    if (!l->count) return true;
    const size_t most = (size_t)each, in = (size_t)c->net.inputs;
    int *const order = calloc((size_t)l->count, sizeof *order);
    double *const x = calloc(most * (in + 2 * outputs + 1), sizeof *x);
    if (!order || !x) return free(order), free(x), false;
    double *const y = x + most * in, *const by = y + most * outputs, *const room = by + most;
    follow_scale(c, target, l->count);
    for (int r = 0; r < rounds; r++) {
        shuffle(l->count, seed, number, (uint32_t)r, order);
        for (int first = 0; first < l->count; first += each) {
            const int n = l->count - first < each ? l->count - first : each;
            choose_columns(l->x, (int)in, l->count, order + first, n, x);
            network_forward(&c->net, c->p, n, x, y);
            const double *const says = network_says(&c->net, n, y);
            for (int k = 0; k < n; k++) by[k] = (target[order[first + k]] / c->scale - says[k]) / n;  // up along - error^2/2
            memset(c->by_p, 0, count * sizeof *c->by_p);
            network_back(&c->net, c->p, n, x, y, by, NULL, c->by_p, room);
            if (isfinite(clip_gradient(c->by_p, count, 1))) adam_step(&c->adam, rate, c->by_p, c->p);
        }
    }
    for (size_t k = 0; k < count; k++) c->slow[k] = keep * c->slow[k] + (1 - keep) * c->p[k];
    free(order), free(x);
    return true;
}

size_t critic_numbers(const critic *c) { return 4 * (size_t)c->adam.count + 2; }

void critic_flatten(critic *c, bool load, double *flat)
{
    const size_t n = (size_t)c->adam.count;
    double *const own[] = {c->p, c->slow, c->adam.m, c->adam.v, &c->adam.steps, &c->scale};
    for (size_t k = 0; k < 6; k++) {
        const size_t size = k < 4 ? n : 1;
        memcpy(load ? own[k] : flat, load ? flat : own[k], size * sizeof *flat);
        flat += size;
    }
}
