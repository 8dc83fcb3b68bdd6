/// The model as kernels read it: structure and frames of dynamics/model.h, and in each lane the constants of its own world.
/// Worlds that have no constants of their own share one.
#ifndef CATENA_LANE_MODEL_H
#define CATENA_LANE_MODEL_H

#include "dynamics/lane.h"
#include "dynamics/model.h"

/// Lengths and angles are the same in all lanes, but where lanes are parts of one tree (CATENA_ALONG, sim/along/): there each has
/// its own.
#ifdef CATENA_ALONG
typedef real model_length;
FN real len(model_length x) { return x; }
#else
typedef double model_length;
FN real len(model_length x) { return rset(x); }
#endif

typedef struct lane_constants {
    BODY_LENGTHS(model_length)
    BODY_CONSTANTS(real)
} lane_constants;

typedef struct lane_subtree {
    SUBTREE_CONSTANTS(real)
} lane_subtree;

/// Along the links equal bodies share their constants; what hangs on them differs.
typedef struct lane_body {
    BODY_STRUCTURE
#ifdef CATENA_ALONG
    const lane_constants *own;
#else
    lane_constants own;
    lane_subtree subtree;
#endif
} lane_body;

typedef struct lane_point_load {
    LOAD_STRUCTURE
    LOAD_CONSTANTS(real)
} lane_point_load;

typedef struct lane_motor {
    MOTOR_STRUCTURE
    MOTOR_CONSTANTS(real)
    real target_rate[3], feedforward_rate[3];  // of what moves, now; of motor_now() alone (forces/motors.h), as the next
    real led[3];                               // of a ball: the rates of its target's numbers that `velocity` follows
} lane_motor;

/// Where lanes are parts of one tree each has a signal of its own: those of one kind side by side.
#ifdef CATENA_ALONG
typedef struct lane_signal {
    signal_kind kind;
    signal_hold hold;
    int next;  // the next kind that lanes of this motor have for the same number, counted from 1; 0: there is none
    model_length frequency, phase, amplitude, duty, ramp, every, period;  // as of ctn_signal
    real acts, follows;  // 1 where the lane has one of this kind, and where its motor's velocity follows it; else 0
    const ctn_signal *of[LANES];
} lane_signal;
FN const ctn_signal *signal_in(const lane_signal *s, int l) { return s->of[l]; }
FN int next_signal(const lane_signal *s) { return s->next; }
FN real acting(const lane_signal *s, real x) { return s->acts * x; }
FN real followed(const lane_signal *s, real rate) { return s->follows * rate; }
#else
typedef ctn_signal lane_signal;
FN const ctn_signal *signal_in(const lane_signal *s, int l)
{
    (void)l;
    return s;
}
FN int next_signal(const lane_signal *s)
{
    (void)s;
    return 0;
}
FN real acting(const lane_signal *s, real x)
{
    (void)s;
    return x;
}
FN real followed(const lane_signal *s, real rate) { return acting(s, rate); }
#endif

/// What time it is in each lane's world, s. A step begins at since + (made + steps) dt, `steps` after the call began: the bits of
/// ctn_batch_time.
typedef struct lane_clock {
    real since, made;
    real step, part;  // when the step, and the part in hand, began
    real t, beside;   // now; and a moment just before or after it, where what jumps is looked up
} lane_clock;

typedef struct lane_model {
    int nbody, nlink, nq, nv, nload, nmotor, ncontrol, nwound, nsignal, ncontact, nbent, nsurface;
    lane_body *bodies;        // [nbody]
#ifdef CATENA_ALONG
    lane_subtree *subtrees;  // [nbody]
#endif
    lane_point_load *loads;   // [nload], by body
    lane_motor *motors;       // [nmotor]
    const lane_signal *signals;  // [nsignal]
    lane_clock *clock;          // of the lanes that step; NULL: all states are at `time`, s
    real *wound;                // [nwound] integral terms of motors now (forces/integral_terms.h); NULL: all are 0
    real *by_target;            // [ncontrol] takes gradients by targets (integrators/motor_map.h); NULL: not wanted
    real *by_wound;             // [nwound] likewise by integral terms
    real *by_bent;              // [nv] and by how far joints with friction are bent (forces/joint_friction.h)
    real *by_contact;           // [CONTACT_GRADIENTS(ncontact)] takes those by what contact points are made of; NULL: not wanted
    double time;
    const fixed_surface *surfaces;  // [nsurface]
    const touch_shape *touch_shapes;  // [ntouch_shape]
    const touch_pair *touch_pairs;    // [npair]
    const model_bond *bonds;          // [nbond]
    const bond_joint *bond_joints;
    const bond_point *bond_points;
    const matrix_node *matrix_nodes;  // [nmatrix_node], as the next three of dynamics/model.h
    const int *body_nodes, *body_columns, *bond_nodes;
    const matrix_group *matrix_groups;  // [nmatrix_group], as the next one
    const int *body_groups;
    int touch_capacity;  // of a world; 0: as many as there is room for
    int ntouch_shape, npair, nbond, nslot, nrow, nmatrix_node, nmatrix_group;
    const ctn_frame *frames;  // [nlink]
    const int *dof_adr;       // [nv]
    bool in_order, passive, slides, rubs, turns, spins, skew, adds, fast, published;
    fluid_stream stream;
    real dt;  // s, of a step
    WORLD_CONSTANTS(real)
} lane_model;

/// A body's constants, and those of it and all that hangs on it.
FN const lane_constants *given(const lane_body *b)
{
#ifdef CATENA_ALONG
    return b->own;
#else
    return &b->own;
#endif
}
#ifndef CATENA_ALONG
/// Number k of BODY_NUMBERS.
FN real *body_number(lane_body *b, int k)
{
    enum { OWN = BODY_NUMBERS - sizeof(lane_subtree) / sizeof(real) };
    return k < (int)OWN ? &b->own.mass + k : &b->subtree.extent + (k - (int)OWN);
}
#endif
FN const lane_subtree *subtree_of(const lane_model *m, const lane_body *b)
{
#ifdef CATENA_ALONG
    return &m->subtrees[b - m->bodies];
#else
    (void)m;
    return &b->subtree;
#endif
}

#endif
