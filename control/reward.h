/// Rewards: what a scene's `reward:` makes of the way that worlds go.
///
/// The reward of a world is the sum of its terms, weight times
/// - running: the integral of a quantity over time, by the rectangle rule at the ends of intervals: the sum over intervals of
///   their length within the term's window times the quantity at their end. So what an interval earns depends on the state that
///   it led to and on what motors were told in it, and on nothing else (of `smoothness`, on what they were told before).
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

/// Likewise of a list of `count` > 0 terms of such a scene, which are copied. CTN_NO_MEMORY.
reward *reward_open_terms(const scene_reward *terms, int count, const ctn_model *model, int worlds, ctn_error *err);
void reward_close(reward *r);  // NULL is allowed

/// Episodes begin, at time 0, from q [worlds][nq] and v [worlds][nv]: of all worlds, or of those begin [worlds] says. Of motors
/// nothing is known yet: effort and energy are 0.
void reward_begin(reward *r, const bool *begin, const double *q, const double *v);

/// The states that an interval of dt > 0 (s) led to, at time [worlds], and what motors were told in it, u [worlds][nu], as
/// ctn_motor_map has it; NULL: what the model tells them, and of `smoothness` nothing. lost [worlds]: worlds that have no such
/// state, as they are frozen; NULL: none. Their reward is NaN from now on, and so is that of states that are not finite; of an
/// episode that has ended before it stays as it was.
void reward_step(reward *r, const double *time, double dt, const double *q, const double *v, const double *u, const bool *lost);

/// What there is up to now: total [worlds], the terms that it is the sum of [worlds][nreward], their weights in them, and whether
/// the episode has ended. Each may be NULL. A total that is not finite is NaN. It changes nothing: asked for after every
/// interval, the differences are what each one earned, terms of the last state by how much they changed.
void reward_end(const reward *r, double *total, double *terms, bool *ended);

/// Gradients of what intervals earn, by the states and by what motors were told. An interval earns what the total changes by
/// (reward_end), so of terms of the last state what these change by: that depends on the state before, too. Arrays of the
/// caller's, [worlds][nv] by q (in tangent coordinates, catena/derivatives.h) and v, [worlds][nu] by u; each may be NULL.
typedef struct reward_gradients {
    double *q, *v, *u;                 // of what the interval earned, by the state it led to and what motors were told in it
    double *u_before;                  // and by what they were told in the interval before: of `smoothness`
    double *next_q, *next_v, *next_u;  // of what the next interval, as long, earns by the same: terms of the last state
} reward_gradients;

/// Makes room for gradients: before reward_begin. CTN_NO_MEMORY.
ctn_status reward_open_gradient(reward *r, ctn_error *err);

/// Writes the gradients of the interval that reward_step was told last, with the same arguments, after reward_open_gradient. With
/// u NULL those by u are by the model's own targets, at which motors are told nothing. Worlds that have failed, or had ended
/// before, have 0; worlds that this interval ended have no next one. Where the next interval fails, its part is the caller's to
/// leave out. `alive` has the gradient 0: where an episode ends does not move. So has what stands at a kink: a power of 0 in
/// `energy`, a distance of 0 in `reach`. Analytic, in sums of a fixed order: the same bits for every engine, number of worlds and
/// place among them.
void reward_gradient(reward *r, const double *time, double dt, const double *q, const double *v, const double *u,
                     const reward_gradients *to);

/// What a world has earned, and what its next intervals go by, as numbers: into flat, or (load) out of it.
size_t reward_numbers(const reward *r);
void reward_flatten(reward *r, int world, bool load, double *flat);

#endif
