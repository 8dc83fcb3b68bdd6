/// How networks (sim/model/network.h) learn: their gradients, and Adam, which goes by them. Sums over columns are made in a fixed
/// order.
#ifndef CATENA_CONTROL_LEARNING_H
#define CATENA_CONTROL_LEARNING_H

#include "sim/model/network.h"

#include <stddef.h>

/// The way back: from by_y, gradients by what the network says, to those by its inputs by_x [inputs][columns] (NULL: not wanted),
/// and, added, by parameters by_p. y as network_forward gave it; `room` [network_outputs][columns].
void network_back(const network *n, const double *p, int columns, const double *x, const double *y, const double *by_y,
                  double *by_x, double *by_p, double *room);

/// Random parameters: weights of deviation 1/sqrt(inputs + 1), those of the last layer times `last`, b 0. By counters of `seed`.
void network_draw(const network *n, unsigned long long seed, double last, double *p);

/// Adam. [Kingma, Ba, arXiv 1412.6980] Its state is plain numbers.
typedef struct adam {
    int count;
    double *m, *v;  // [count]
    double steps;
} adam;

bool adam_open(adam *a, int count);  // false: no memory
void adam_close(adam *a);

/// p goes up along the gradient g, by about `rate`.
void adam_step(adam *a, double rate, const double *g, double *p);

/// The length of a gradient; longer than `most` it is made that long. Returns what it was; not finite: it is left as it is.
double clip_gradient(double *g, size_t n, double most);

#endif
