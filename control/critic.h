/// Critics: what states are worth, as a network says that is taught by what came of them.
#ifndef CATENA_CONTROL_CRITIC_H
#define CATENA_CONTROL_CRITIC_H

#include "control/lived.h"

typedef struct critic {
    network net;
    double *p, *slow;  // [count] parameters; those that follow them slowly
    adam adam;
    double scale;  // what it says is times this, about the root mean square of what it was taught: it learns numbers of size 1
    double *room, *by_p, *by_x;
    size_t columns;  // that there is room for
} critic;

/// Of `inputs` numbers; hidden: widths of two layers, 0: none. False: no memory. critic_close is due in any case.
bool critic_open(critic *c, int inputs, const int hidden[2], size_t columns, uint64_t seed);
void critic_close(critic *c);

/// Values [columns] of what was seen, x [inputs][columns]; slow: by the parameters that follow slowly.
void critic_values(critic *c, bool slow, int columns, const double *x, double *value);

/// Adds to by_x [inputs][columns] the gradient of sum weight[k] value[k], by the slow parameters.
void critic_gradient(critic *c, int columns, const double *x, const double *weight, double *by_x);

/// Teaches the critic target [l->count]: `rounds` times all of them, in `parts` parts each. Then the slow parameters are moved:
/// `keep` of them stays. False: no memory.
bool critic_learn(critic *c, const lived *l, const double *target, double rate, int rounds, int parts, double keep, uint64_t seed,
                  uint64_t number);

/// Its state as numbers: into flat, or (load) out of it.
size_t critic_numbers(const critic *c);
void critic_flatten(critic *c, bool load, double *flat);

#endif
