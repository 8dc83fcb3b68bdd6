/// Small networks of dense layers, of many columns at once: those of controllers, of policies that learn, and of their critics.
/// control/learning.h has their gradients.
///
/// A layer of n outputs is y = f(b + W x); f is tanh in all layers but perhaps the last. Parameters are of each layer, the first
/// one first, b_i and then row i of W for each output (docs/scene.md, Controller). Arrays are [width][columns]: columns are worlds
/// or samples, which vectors of the CPU go through side by side. A column's bits do not depend on how many there are.
#ifndef CATENA_SIM_NETWORK_H
#define CATENA_SIM_NETWORK_H

#include <stdbool.h>

enum { MOST_LAYERS = 3 };

typedef struct network {
    int inputs, layers, width[MOST_LAYERS];  // the last one: outputs
    bool bounded;                            // the last layer has a tanh, too
} network;

int network_parameters(const network *n);

/// Numbers of all layers' outputs together, of a column.
int network_outputs(const network *n);

/// y of all layers, one after the other, [network_outputs][columns], from x [inputs][columns]: the last width[layers - 1] rows are
/// what the network says.
void network_forward(const network *n, const double *p, int columns, const double *x, double *y);
const double *network_says(const network *n, int columns, const double *y);

/// Whether a layer has a tanh: all, but the last one where it has no bound.
static inline bool has_tanh(const network *n, int layer) { return n->bounded || layer < n->layers - 1; }

#endif
