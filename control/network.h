/// Small networks of dense layers, of many columns at once, and their gradients; and Adam, which learns by them.
///
/// A layer of n outputs is y = f(b + W x); f is tanh in all layers but perhaps the last. Parameters are of each layer, the first
/// one first, b_i and then row i of W for each output: as those of a scene's controller (docs/scene.md, Controller), whose bits a
/// network of the same parameters has. Arrays are [width][columns]: columns are worlds or samples, which vectors of the CPU go
/// through side by side. Sums over columns are made in a fixed order.
#ifndef CATENA_CONTROL_NETWORK_H
#define CATENA_CONTROL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

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
