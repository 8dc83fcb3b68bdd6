/// One world that touches, for tests of the derivatives of its steps (contact_gradients.c, alpha_contact_gradients.c,
/// stage_contact_gradients.c): its states in the flat form of engines, steps from one to the next, and these and runs of several
/// against differences.
///
/// Where a point begins or ends to touch or to slide between the ends of a difference, the step has a kink: such a comparison is left
/// out, and counted.
#ifndef CATENA_TESTS_CONTACT_WORLD_H
#define CATENA_TESTS_CONTACT_WORLD_H

#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/tangent.h"

#include <catena/catena.h>
#include <stdbool.h>
#include <stdint.h>

/// What a gradient by a state is made of, in its order. BY_ACCELERATIONS: of alpha; BY_BENT: bristles of joints.
enum { BY_Q, BY_RATES, BY_V, BY_ACCELERATIONS, BY_WOUND, BY_BENT, BY_SLIP, BY_PRESS, GRADIENT_PARTS };

/// A model, its steps, and room for one world of the first engine.
typedef struct {
    ctn_model *m;
    ctn_batch_config cfg;
    const ctn_engine *engine;
    lane_model *lanes;
    void *state, *work;
    size_t nq, nv, flat, n, contacts, bristles;
    size_t fresh;                     // of alpha: where the flat state says how a step begins; else 0
    size_t part[GRADIENT_PARTS + 1];  // where the parts of a gradient begin
    size_t *place;                    // [n] where a coordinate of the state, from the nv-th on, is in its flat form
    double *unit;                     // [n] what makes it a length or an angle
    bool *idle;                       // [n] which mean nothing: bristles of joints without friction
    const point_load **point;         // [contacts]
    double *q, *v, *tau;              // a state to begin with, of as many numbers as a test likes; tau [steps][nv]
    int steps;
    ctn_tape *tape;
} contact_world;

/// Takes the model. Aborts the test if there are no derivatives of such steps.
contact_world open_world(ctn_model *m, ctn_batch_config cfg, int steps);
void close_world(contact_world *f);

double *numbers(size_t n);  // zeros, to be freed
double largest(const double *x, size_t n);

flat_places places_of(const contact_world *f);

/// How a step was made: in how many parts (0: not at all), how many of these with fewer stages, and by alpha from accelerations that
/// were found.
typedef struct {
    long parts, fewer;
    bool found;
} made_step;
bool made_alike(made_step a, made_step b);

/// Step number `step` under tau from one flat state to the next, which may be the same.
made_step step_flat(const contact_world *f, int step, const double *from, const double *tau, double *to);
void start_flat(const contact_world *f, const double *q, const double *v, double *to);

/// What contact point k does in a state: 0 nothing, 1 sticks, 2 slides, by what it remembers.
int touch_of(const contact_world *f, const double *flat, size_t k);
long touching(const contact_world *f, const double *flat);
bool same_touches(const contact_world *f, const double *a, const double *b);

/// Whether coordinate j of a state has no two sides: a normal force of 0, and what means nothing.
bool is_at_edge(const contact_world *f, const double *flat, size_t j);

enum { STENCIL = 4 };
/// A kink between the ends that states do not tell of, of one that slides for a part of the solve alone or a tree that is just held,
/// is where kink_of() is more than this share of the largest number.
#define BENT 1e-6
double node(int s);  // -2, -1, 1, 2
/// The derivative, of fourth order, from values at these nodes times e.
double derivative(const double x[STENCIL], double e);
/// By how much it differs from derivatives on less of the way, to the sides of the middle and, with the value x0 there, at it.
double kink_of(const double x[STENCIL], double x0, double e);

/// What was compared, and left out for a kink.
typedef struct {
    long compared, kinks;
    double worst;
} comparison;

/// The slopes [n], as lengths, of the step from `from` to `to`, made as `how`, along the change d [n + nv] of state and forces, from
/// changes of up to 2 e d; and the most that kink_of() finds. from_alike: the states before the step have to touch as `from` does.
/// False: one of the steps is made otherwise.
bool slopes_along(const contact_world *f, int step, const double *from, const double *to, const double *tau, made_step how,
                  const double *d, double e, bool from_alike, double *slope, double *bend);

/// q from `origin`, and v times dt, with the weights [2 nv].
double weigh(const contact_world *f, const double *origin, const double *q, const double *v, const double *weights);

enum { RUN = 10 };

/// Gradients of a run of RUN steps, if all of them are made in one part, from where the fall of `f`, which is recorded, is after `step` steps: along `trials` random
/// changes of q, v and forces, of which the first `apart` are each of one of these alone. made [RUN]: how its steps were made.
void check_run_from(const contact_world *f, int step, uint64_t seed, int trials, int apart, comparison *t, made_step *made);

enum { SAME_WORLDS = 8 };
/// One step back of SAME_WORLDS worlds: every engine has the bits of the first.
void check_same_bits(const contact_world *f, double *const *before, double *const *after);

#endif
