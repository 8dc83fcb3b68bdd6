#include "sim/model/network.h"

#include <math.h>
#include <stddef.h>

int network_parameters(const network *n)
{
    int count = 0;
    for (int l = 0, in = n->inputs; l < n->layers; in = n->width[l++]) count += n->width[l] * (in + 1);
    return count;
}

int network_outputs(const network *n)
{
    int count = 0;
    for (int l = 0; l < n->layers; l++) count += n->width[l];
    return count;
}

/// tanh x = 1 - 2/(exp(2 x) + 1), of operations alone whose bits are the same everywhere: exp(y) = 2^k exp(y - k ln 2) by its
/// series, to 1e-16 of 1.
static double bounded(double x)
{
    static const double ln2[2] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};  // in two parts
    const double y = fmin(2 * fabs(x), 40), k = floor(y / ln2[0] + 0.5), r = (y - k * ln2[0]) - k * ln2[1];
    double sum = 1;
    for (int n = 16; n > 0; n--) sum = 1 + sum * r / n;
    const double t = 1 - 2 / (ldexp(sum, (int)k) + 1);
    return x < 0 ? -t : x >= 0 ? t : x;
}

void network_forward(const network *n, const double *p, int columns, const double *x, double *y)
{
    const size_t c = (size_t)columns;
    for (int l = 0, in = n->inputs; l < n->layers; l++) {
        for (int i = 0; i < n->width[l]; i++, p += in + 1) {
            double *const out = y + (size_t)i * c;
            for (size_t k = 0; k < c; k++) out[k] = p[0];
            for (int j = 0; j < in; j++) {
                const double *const row = x + (size_t)j * c;
                const double w = p[1 + j];
                for (size_t k = 0; k < c; k++) out[k] += w * row[k];
            }
            for (size_t k = 0; k < c && has_tanh(n, l); k++) out[k] = bounded(out[k]);
        }
        in = n->width[l], x = y, y += (size_t)in * c;
    }
}

const double *network_says(const network *n, int columns, const double *y)
{
    return y + (size_t)(network_outputs(n) - n->width[n->layers - 1]) * (size_t)columns;
}
