#include "control/learning.h"

#include "sim/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// sum of a_k b_k, in eight sums of every eighth, which vectors can make.
static double dot(const double *a, const double *b, size_t n)
{
    double s[8] = {0};
    size_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (size_t j = 0; j < 8; j++) s[j] += a[k + j] * b[k + j];
    for (; k < n; k++) s[k % 8] += a[k] * b[k];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static double sum(const double *a, size_t n)
{
    double s[8] = {0};
    for (size_t k = 0; k < n; k++) s[k % 8] += a[k];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

void network_back(const network *n, const double *p, int columns, const double *x, const double *y, const double *by_y,
                  double *by_x, double *by_p, double *room)
{
    const size_t c = (size_t)columns;
    size_t row[MOST_LAYERS + 1] = {0}, parameter[MOST_LAYERS + 1] = {0};
    for (int l = 0, in = n->inputs; l < n->layers; in = n->width[l++])
        row[l + 1] = row[l] + (size_t)n->width[l], parameter[l + 1] = parameter[l] + (size_t)n->width[l] * (size_t)(in + 1);
    memcpy(room + row[n->layers - 1] * c, by_y, (size_t)n->width[n->layers - 1] * c * sizeof *room);
    for (int l = n->layers - 1; l >= 0; l--) {
        const size_t in = (size_t)(l ? n->width[l - 1] : n->inputs);
        const double *const from = l ? y + row[l - 1] * c : x;
        double *const down = l ? room + row[l - 1] * c : by_x;
        if (down) memset(down, 0, in * c * sizeof *down);
        for (size_t i = 0; i < (size_t)n->width[l]; i++) {
            const double *const w = p + parameter[l] + i * (in + 1), *const out = y + (row[l] + i) * c;
            double *const by_w = by_p + parameter[l] + i * (in + 1), *const by = room + (row[l] + i) * c;
            for (size_t k = 0; k < c && has_tanh(n, l); k++) by[k] *= 1 - out[k] * out[k];
            by_w[0] += sum(by, c);
            for (size_t j = 0; j < in; j++) {
                by_w[1 + j] += dot(by, from + j * c, c);
                for (size_t k = 0; k < c && down; k++) down[j * c + k] += w[1 + j] * by[k];
            }
        }
    }
}

void network_draw(const network *n, unsigned long long seed, double last, double *p)
{
    uint32_t at = 0;
    for (int l = 0, in = n->inputs; l < n->layers; in = n->width[l++]) {
        const double size = (l == n->layers - 1 ? last : 1) / sqrt(in + 1.0);
        for (int i = 0; i < n->width[l]; i++)
            for (int j = 0; j <= in; j++, at++) {
                double x[2], z[2];
                uniform_pair_of(random_words(seed, (uint64_t)l, at, 0x10000000u), x);
                normal_pair_of(x, z);
                *p++ = j ? size * z[0] : 0;
            }
    }
}

bool adam_open(adam *a, int count)
{
    *a = (adam){.count = count};
    a->m = calloc((size_t)count + 1, sizeof *a->m), a->v = calloc((size_t)count + 1, sizeof *a->v);
    return a->m && a->v;
}

void adam_close(adam *a) { free(a->m), free(a->v); }

void adam_step(adam *a, double rate, const double *g, double *p)
{
    const double b1 = 0.9, b2 = 0.999;
    a->steps++;
    const double c1 = 1 - pow(b1, a->steps), c2 = 1 - pow(b2, a->steps);
    for (int k = 0; k < a->count; k++) {
        a->m[k] = b1 * a->m[k] + (1 - b1) * g[k], a->v[k] = b2 * a->v[k] + (1 - b2) * g[k] * g[k];
        p[k] += rate * (a->m[k] / c1) / (sqrt(a->v[k] / c2) + 1e-8);
    }
}

double clip_gradient(double *g, size_t n, double most)
{
    const double length = sqrt(dot(g, g, n));
    for (size_t k = 0; k < n && length > most && isfinite(length); k++) g[k] *= most / length;
    return length;
}
