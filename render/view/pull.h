/// A hand that pulls at a link: the force of a spring and a damper between a point of it and a point in space.
#ifndef CATENA_RENDER_PULL_H
#define CATENA_RENDER_PULL_H

#include <catena/model.h>

/// A point of a link, and where it is to go.
typedef struct pull_at {
    int link;
    double point[3];   // m, link axes
    double target[3];  // m, world axes
} pull_at;

typedef struct pull pull;

/// Work space; `model` must outlive it. NULL: no memory.
pull *pull_create(const ctn_model *model);
void pull_free(pull *p);  // NULL is allowed

/// The force [3] (N, world axes) of the pull at state q [nq], v [nv], for a step of dt (s); ctn_batch_set_wrench makes it act.
/// The spring is as stiff as suits the mass that it moves; masses and gravity are the model's.
void pull_force(pull *p, const pull_at *at, double dt, const double *q, const double *v, double *force);

#endif
