/// What reward.c and reward_gradient.c share: what is kept of worlds, and what is measured of their states in blocks.
#ifndef CATENA_CONTROL_REWARD_PARTS_H
#define CATENA_CONTROL_REWARD_PARTS_H

#include "control/reward.h"

#include <catena/dynamics.h>
#include <stddef.h>

enum { REWARD_GROUP = 8 };  // states whose derivatives of motors are held at once

struct reward {
    const ctn_model *model;
    ctn_dynamics *dyn;
    scene_reward *terms;  // [nterm]
    bool *counts;         // [nterm][nv] whether a degree of freedom does
    int worlds, block, nterm, nlink, nq, nv, nu;

    // what the terms need, of the states of a block; NULL: nothing
    double *R, *p;        // [block][nlink][9], [block][nlink][3]
    double *twist;        // [block][nlink][6]
    ctn_totals *totals;   // [block]
    double *tau;          // [block][nv] what motors give
    double *home, *away;  // [block][nq], [block][nv] where the scene starts, each time the same, and how far from there

    // of each world
    double *value;         // [worlds][nterm] integral up to now, or what the last state had
    double *start;         // [worlds][nterm] of progress: where it began
    double *before;        // [worlds][nu] what motors were told in the last interval
    bool *told;            // [worlds] it was
    bool *ended, *failed;  // [worlds]

    // for gradients of the last interval; NULL where nothing asks for them
    double *earlier;              // [worlds][nu] what motors were told in the interval before it
    bool *told_earlier;           // [worlds] it was
    bool *counted;                // [worlds] whether it counted: the world had not ended before
    double *tau_by_q, *tau_by_v;  // [REWARD_GROUP][nv][nv]
    double *tau_by_u;             // [REWARD_GROUP][nv][nu]
    double *by_tau;               // [nv] by what motors give, of one world
};

/// Where the states of a block are: those of `count` worlds from `first` on.
typedef struct {
    int first, count;
    double dt;  // 0: they begin
    const double *time, *q, *v, *u;
} reward_states;

/// Measures what the terms need of the states of a block.
void reward_measure(reward *r, const reward_states *s);

// then, of world i of the block: R x of a link; where the point of a term is (m) and how fast (m/s)
void reward_turned(const reward *r, int link, int i, const double *x, double *y);
void reward_position(const reward *r, const scene_reward *t, int i, double *x);
void reward_velocity(const reward *r, const scene_reward *t, int i, double *x);

/// Whether a state at this time is within the window of a term.
bool reward_within(const scene_reward *t, double time, double dt);

/// How much of the interval that ends at this time is, s.
double reward_share(const scene_reward *t, double time, double dt);

#endif
