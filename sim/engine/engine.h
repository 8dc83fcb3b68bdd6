/// Engines: the kernels compiled for one kind of lane, behind one table of functions. Chosen at run time.
#ifndef CATENA_SIM_ENGINE_H
#define CATENA_SIM_ENGINE_H

#include "dynamics/model.h"
#include "dynamics/sensor.h"
#include "integrators/memory_kind.h"

#include <catena/batch.h>
#include <catena/dynamics.h>
#include <stdbool.h>

enum { MOST_LANES = 16 };  // of any engine

/// A model in the lanes of one engine (dynamics/lane_model.h).
typedef struct lane_model lane_model;

/// How much of the work of solvers was of use: evaluations of all lanes, and those of lanes whose world needed them.
typedef struct {
    double passes, used;
} engine_use;

/// What time it is in a world when a call begins: since + made dt, s (dynamics/lane_model.h).
typedef struct {
    double since, made;
} engine_clock;

/// A world that waits for a lane, and where it lives.
typedef struct {
    int world;
    void *home;               // its block's state ...
    const lane_model *model;  // ... and model
    int lane;                 // in these
    int steps;                // to make
    engine_clock clock;
    const double *tau;        // forces of its first step, NULL: none
    size_t stride;            // numbers from there to those of the next step
    ctn_step_stats stats;     // in: frozen; out: all, as `step` fills them
} engine_world;

/// Where the lanes of an engine get worlds from, and hand them back to when these have made their steps.
typedef struct engine_queue {
    bool (*take)(struct engine_queue *queue, engine_world *world);  // false: there is none any more
    void (*put)(struct engine_queue *queue, engine_world *world);
    bool energy;
} engine_queue;

/// Steps with a caller in between: `rounds` times `hold` steps. Worlds lie side by side: number k of lane l at [k][lanes].
typedef struct {
    int rounds, hold;
    bool anew;                          // each round begins at q and v alone, without what the method carries besides
    const double *const *q, *const *v;  // [lanes] rows where they begin
    double *x, *u;                      // [nq + nv][lanes] the state now, [ncontrol][lanes] what motors are told; 64-byte aligned
    // before a round, and (round == rounds) at the end: u is to be told; good [lanes]: which have not been frozen
    void (*tell)(void *context, int round, const bool *good);
    void *context;
} engine_play;

/// `count` states in plain row-major arrays; `scratch` is dynamics_size bytes, 64-byte aligned. As in catena/dynamics.h.
typedef struct ctn_engine {
    const char *name;
    int lanes;
    // models m [lanes], which differ in constants only, and step sizes dt [lanes] (s) into `to`, model_size bytes, 64-byte
    // aligned. m[0] must outlive it
    size_t (*model_size)(const ctn_model *m);
    void (*model_load)(const ctn_model *const *m, const double *dt, lane_model *to);
    void (*model_step_size)(lane_model *m, const double *dt);  // other step sizes dt [lanes]
    void (*model_tell)(lane_model *m, const double *const *u);  // targets of motors u [lanes][ncontrol], of thrusters LOAD_DRIVEN
    void (*model_time)(lane_model *m, double time);            // s, at which calls without a clock take states; 0 at first
    size_t (*dynamics_size)(const lane_model *m);
    void (*forward_kinematics)(const lane_model *m, void *scratch, int count, const double *q, double *R, double *p);
    void (*link_twists)(const lane_model *m, void *scratch, int count, const double *q, const double *v, double *twist);
    void (*rnea)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *a, double *tau);
    void (*passive)(const lane_model *m, void *scratch, int count, const double *q, const double *v, double *tau);
    void (*crba)(const lane_model *m, void *scratch, int count, const double *q, double *H);
    void (*aba)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *tau, double *qdd);
    void (*rnea_derivatives)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *a,
                             double *by_q, double *by_v, double *by_a);
    void (*aba_derivatives)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *tau,
                            double *by_q, double *by_v, double *by_tau);
    // u [count][ncontrol] (NULL: the model's); tau, or its derivatives by q, v, u: each may be NULL
    void (*motor_map)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *u,
                      double *tau, double *by_q, double *by_v, double *by_u);
    void (*jacobian)(const lane_model *m, void *scratch, int count, const double *q, int link, double *J);
    // time [count] s, NULL: 0
    void (*totals)(const lane_model *m, void *scratch, int count, const double *time, const double *q, const double *v,
                   ctn_totals *totals);
    void (*link_accelerations)(const lane_model *m, void *scratch, int count, const double *q, const double *v, const double *a,
                               double *acceleration);
    void (*jacobian_rate)(const lane_model *m, void *scratch, int count, const double *q, const double *v, int link, double *J);
    // what `n` sensors measure at `time` [count] (s; NULL: as of totals) under tau (NULL: none), into values [count][width].
    // state: of the same worlds, a lane block, which remembers how bristles and contact points are bent; NULL: there is none
    void (*sensors)(const lane_model *m, void *scratch, const model_sensor *sensors, int n, int count, const double *time,
                    const double *q, const double *v, const double *tau, const ctn_batch_config *cfg, void *state, double *values,
                    int width);

    // Stepping one lane block: `state` and `work` are state_size and work_size bytes, 64-byte aligned. q, v, tau: one row a lane,
    // `count` of them real worlds (inputs repeat a row for the others).
    size_t (*state_size)(const lane_model *m, const ctn_batch_config *cfg);
    size_t (*work_size)(const lane_model *m, const ctn_batch_config *cfg);
    void (*set)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, const double *const *q,
                const double *const *v);
    void (*get)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *const *q,
                double *const *v);
    // adds to totals [count] what the state stores beyond q and v: in joint friction and contact
    void (*stored)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, ctn_totals *totals);
    // what contact points feel: values [count][ncontact][CTN_CONTACT_NUMBERS], as in catena/contact.h. The model has some
    void (*contacts)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, int count, double *values);
    // makes the carried rates rigid, as between the parts of a halved step. false: only position-based methods of one stage do
    bool (*project)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work);
    // clock [count]: NULL: it is 0. steps [count], of each world. stats [count]: in: frozen; out: all, frozen_time as the part of
    // the step that was completed. Adds to *use. Where cfg->interrupt says so, `step` and `run` end as they are, and states and
    // stats mean nothing
    void (*step)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, const engine_clock *clock,
                 const double *const *tau, const int *steps, bool energy, int count, ctn_step_stats *stats, engine_use *use);
    // from q and v through all rounds. The model is in the lanes of this block alone, and has no targets that move
    void (*play)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, const engine_play *play, int count,
                 engine_use *use);
    // whether lanes can be in different iterations of different steps with this configuration; then, all worlds of a queue.
    // state, work [2]: of the caller's. own [2]: models of the caller's, if those of the worlds are not all `m`; else NULL
    bool (*iterates)(const ctn_batch_config *cfg);
    void (*run)(const lane_model *m, lane_model *const *own, const ctn_batch_config *cfg, void *const *state, void *const *work,
                engine_queue *queue, engine_use *use);
    // the states at t (0 to 1) of the parts carried out last, and the sizes of these (s; 0: none yet). fit: since the last step
    // these are the first. Needs cfg->dense
    void (*interpolate)(const lane_model *m, const ctn_batch_config *cfg, void *state, void *work, double t, bool fit, int count,
                        double *const *q, double *const *v, double *size);
    // one world's state as flat_size doubles, out of lane l or (load) into it
    size_t (*flat_size)(const lane_model *m, const ctn_batch_config *cfg);
    void (*flatten)(const lane_model *m, const ctn_batch_config *cfg, void *state, int l, bool load, double *flat);
    // dense output: into lane l, after its state, the motion of the step that led there, motion_size numbers (interpolant.h)
    size_t (*motion_size)(const lane_model *m, const ctn_batch_config *cfg);
    void (*load_motion)(const lane_model *m, const ctn_batch_config *cfg, void *state, int l, const double *flat);

    // Backwards through time. `work` is adjoint_size bytes, 64-byte aligned. States are flat, gradients by them of bar_size
    // numbers (as in catena/derivatives.h); one row a lane, `count` of them real worlds.
    size_t (*adjoint_size)(const lane_model *m, const ctn_batch_config *cfg);
    size_t (*bar_size)(const lane_model *m, const ctn_batch_config *cfg);
    // steps of size h at time [lanes] (s; NULL: 0) from `before` to `after` (not halved) under tau (NULL: none), for the calls of
    // adjoint_step that follow, whose by_target [ncontrol] are gradients by targets of motors, by_contact
    // [CONTACT_GRADIENTS(ncontact)] those by what contact points are made of (dynamics/lane_model.h); NULL: not wanted.
    // Which were carried out in the way `way`, 0 .. adjoint_ways - 1: made [lanes] (NULL: not asked). false: not all of them
    int (*adjoint_ways)(const ctn_batch_config *cfg);
    bool (*adjoint_prepare)(const lane_model *m, const ctn_batch_config *cfg, void *work, const double *time, double h, int way,
                            const double *const *before, const double *const *after, const double *const *tau, bool *made);
    void (*adjoint_step)(const lane_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *after_bar,
                         double *const *before_bar, double *const *tau_bar, double *const *by_target, double *const *by_contact);
    // by the q and v [nv] from which `state` was set
    void (*adjoint_start)(const lane_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                          const double *const *v, const double *const *state_bar, double *const *q_bar, double *const *v_bar,
                          double *const *by_contact);
    // from q and v as `get` reads them
    void (*adjoint_output)(const lane_model *m, const ctn_batch_config *cfg, void *work, int count, const double *const *state,
                           const double *const *q_bar, const double *const *v_bar, double *const *state_bar);
    // what states of the method remember that where bodies are tells, after adjoint_prepare of the step that led to one, in the way
    // 0: by the q [nv] of the state, and by those that the step began at
    memory_kind (*adjoint_memory_of)(const lane_model *m, const ctn_batch_config *cfg);
    void (*adjoint_memory)(const lane_model *m, const ctn_batch_config *cfg, void *work, int count,
                           const double *const *state_bar, double *const *q_bar, double *const *before_bar);
} ctn_engine;

extern const ctn_engine engine_scalar, engine_scalar_fma, engine_avx2, engine_avx512;

/// `m` and dt (s) for every lane of the engine, malloc()ed; NULL: no memory. `m` must outlive it.
lane_model *engine_model(const ctn_engine *engine, const ctn_model *m, double dt);

/// The engine called `name` (NULL or "auto": CTN_ENGINE if set, else the best one for `count` states at a time), or NULL with
/// CTN_BAD_CONFIG or CTN_UNAVAILABLE in `err`. Of an engine on a device (sim/engine/device.h) the one that does its work on the
/// CPU.
const ctn_engine *engine_find(const char *name, int count, ctn_error *err);

/// The name of the CPU's engine for what is made beside a device, where `name` asks for one: the widest; else `name`.
const char *engine_beside(const char *name);

/// Why engine_find takes the engine that it takes for `name` and `count`, in words. along: these are pieces of a world.
const char *engine_reason(const char *name, int count, bool along);

/// Engines that this CPU can run, in a NULL-terminated list.
const ctn_engine *const *engines_available(void);

#endif
