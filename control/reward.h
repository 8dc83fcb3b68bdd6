/// Rewards: what a scene's `reward:` makes of the way that worlds go.
///
/// The reward of a world is the sum of its terms, weight times
/// - running: the integral of a quantity over time, by the rectangle rule at the ends of intervals: the sum over intervals of their
///   length within the term's window times the quantity at their end. So what an interval earns depends on the state that it led
///   to and on what motors were told in it, and on nothing else (of `smoothness`, on what they were told before).
/// - end: the quantity at the last state within the window; 0 if there is none. A state belongs to a window that it misses by a
///   millionth of an interval.
///
/// An episode ends where a world is not alive, with that state; what comes after counts no more. Quantities are those of the
/// model: of masses and motors that differ between worlds, and of integral terms of motors, they know nothing. Every engine,
/// number of worlds and place among them gives the same bits; sums are made in the order of time, of degrees of freedom, and of
/// terms.
#ifndef CATENA_CONTROL_REWARD_H
#define CATENA_CONTROL_REWARD_H

#include "sim/scene/scene.h"

#include <catena/model.h>

#include <stdbool.h>

/// One thread at a time may use it; several may each have their own.
typedef struct reward reward;

/// The reward of `worlds` > 0 worlds. `model` is that of the scene, and must outlive it; of the scene it keeps nothing. NULL on
/// error: CTN_BAD_SCENE where it has no reward, CTN_NO_MEMORY.
reward *reward_open(const ctn_scene *scene, const ctn_model *model, int worlds, ctn_error *err);
void reward_close(reward *r);  // NULL is allowed

/// Episodes begin, at time 0, from q [worlds][nq] and v [worlds][nv]. Of motors nothing is known yet: effort and energy are 0.
void reward_begin(reward *r, const double *q, const double *v);

/// The states that an interval of dt > 0 (s) led to, at time [worlds], and what motors were told in it, u [worlds][nu], as
/// ctn_motor_map has it; NULL: what the model tells them, and of `smoothness` nothing. lost [worlds]: worlds that have no such
/// state, as they are frozen; NULL: none. Their reward is NaN from now on, and so is that of states that are not finite; of an
/// episode that has ended before it stays as it was.
void reward_step(reward *r, const double *time, double dt, const double *q, const double *v, const double *u, const bool *lost);

/// What there is up to now: total [worlds], the terms that it is the sum of [worlds][nreward], their weights in them, and whether
/// the episode has ended. Each may be NULL. A total that is not finite is NaN. It changes nothing: asked for after every
/// interval, the differences are what each one earned, terms of the last state by how much they changed.
void reward_end(const reward *r, double *total, double *terms, bool *ended);

#endif
