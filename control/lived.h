/// What windows of worlds (control/windows.h) give to learn from: the decisions that were lived, in any order, and what came
/// after them.
#ifndef CATENA_CONTROL_LIVED_H
#define CATENA_CONTROL_LIVED_H

#include "control/windows.h"

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

/// Generalised advantages [Schulman et al., arXiv 1506.02438] of all decisions of a window, [decisions][worlds], from values
/// [decisions + 1][worlds] of what was seen; of those that were not lived 0. advantage + value is the target of TD(lambda).
void advantages(const windows *w, const double *values, double discount, double lambda, double *advantage);

#endif
