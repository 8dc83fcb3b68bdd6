/// Critics: what states are worth, as a network says that is taught by what came of them.
#ifndef CATENA_CONTROL_CRITIC_H
#define CATENA_CONTROL_CRITIC_H

#include "control/windows.h"

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

/// What there is to learn from: columns of the decisions that were lived in a window.
typedef struct lived {
    int count;
    int *place;  // [count] d * worlds + world
    double *x;   // [inputs][count]
} lived;

bool lived_open(lived *l, const windows *w);  // room; false: no memory
void lived_close(lived *l);
void lived_collect(lived *l, const windows *w);

/// Columns chosen from x [rows][count] into y [rows][chosen].
void choose_columns(const double *x, int rows, int count, const int *columns, int chosen, double *y);

/// The numbers 0 .. count - 1 in an order by chance, of (seed, number, round).
void shuffle(int count, uint64_t seed, uint64_t number, uint32_t round, int *order);

/// Teaches the critic target [l->count]: `rounds` times all of them, in `parts` parts each. Then the slow parameters are moved:
/// `keep` of them stays. False: no memory.
bool critic_learn(critic *c, const lived *l, const double *target, double rate, int rounds, int parts, double keep, uint64_t seed,
                  uint64_t number);

/// Generalised advantages [Schulman et al., arXiv 1506.02438] of all decisions of a window, [decisions][worlds], from values
/// [decisions + 1][worlds] of what was seen; of those that were not lived 0. advantage + value is the target of TD(lambda).
void advantages(const windows *w, const double *values, double discount, double lambda, double *advantage);

/// Its state as numbers: into flat, or (load) out of it.
size_t critic_numbers(const critic *c);
void critic_flatten(critic *c, bool load, double *flat);

#endif
