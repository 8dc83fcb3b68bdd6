/// A plant whose states carry what it was told last: x = (x of the plant, p), p' = u. So what a change of controls from one
/// knot to the next costs, and limits of it, are of a knot's own x and u:
///
///     A' = [A 0; 0 0],   B' = [B; 1]
///
/// A scene's trajectories do so where a cost, a limit or the reward is of such changes.
#ifndef CATENA_CONTROL_TOLD_LAST_H
#define CATENA_CONTROL_TOLD_LAST_H

#include "control/plant.h"
#include "sim/scene/scene.h"

/// Whether the scene's trajectories have to.
bool told_last_counts(const ctn_scene *scene);

typedef struct told_last told_last;

/// Around `inner`, which must last and may change until it is first asked. Its costs are those of states that carry what was
/// told. NULL: CTN_NO_MEMORY.
told_last *told_last_open(const plant *inner, ctn_error *err);
void told_last_close(told_last *t);  // NULL is allowed

plant told_last_plant(told_last *t);

/// A plan as a program sees it: states [knots + 1][nx] and gains [knots][m][n] of the plant alone, and [knots][m][m] by what it
/// was told last, apart.
typedef struct told_apart {
    int knots, nx, n, m;  // of the plant alone
    double *X, *K, *told, *memory;
} told_apart;

bool told_apart_open(told_apart *a, const plant *p);  // that carries it; false: no memory
void told_apart_close(told_apart *a);

/// Of its states X, and of its gains K.
const double *told_apart_states(const told_apart *a, const double *X);
const double *told_apart_gains(const told_apart *a, const double *K);
const double *told_apart_told(const told_apart *a, const double *K);

#endif
