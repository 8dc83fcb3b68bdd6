/// Stepping: worlds of one model advanced through time by one method. One world is a batch of one.
#ifndef CATENA_BATCH_H
#define CATENA_BATCH_H

#include <catena/parameters.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Methods of integration; docs/integrators.md says which one to choose.
typedef enum ctn_method {
    CTN_EULER,          // explicit Euler, order 1
    CTN_SEMI_IMPLICIT,  // velocity first, then position with it: order 1
    CTN_RK2,            // explicit midpoint rule, order 2
    CTN_RK3,            // Kutta's third-order method
    CTN_RK4,            // the classical Runge-Kutta method, order 4
    CTN_COLLOCATION,    // position-based collocation of `order` K; 2: first-order accurate, L-stable, any step size
    CTN_RADAU,          // position-based Radau IIA with `stages` s: order 2 s - 1, L-stable
    CTN_DOP853,         // Dormand and Prince's Runge-Kutta method of order 8
    CTN_VARIATIONAL,    // variational: symplectic, time-reversible, keeps momenta; `order` 2 or 4
    CTN_ALPHA,          // position-based generalised-alpha with `rho`: order 2 for one solve a step, any step size
} ctn_method;

/// How position-based methods solve their equations.
typedef enum ctn_solver {
    CTN_NEWTON,  // exact Newton step by an O(N) sweep, with line search
    CTN_LM,      // Levenberg-Marquardt with dense normal equations, O(N^3); collocation and radau
    CTN_LBFGS,   // quasi-Newton of limited memory, O(N) a step of many; collocation and radau
} ctn_solver;

/// In which order worlds that are solved side by side advance. Every order gives the same bits.
typedef enum ctn_schedule {
    CTN_SCHEDULE_AUTO,  // by iteration where worlds have time steps of their own, else by step
    CTN_BY_ITERATION,   // each on its own: one that has solved its step begins the next one, one that is done makes room for
                        // another; radau, alpha and collocation of order 2, with newton
    CTN_BY_STEP,        // each step of some worlds together: all wait for the one with the most iterations
} ctn_schedule;

/// What goes side by side in lanes and threads. (docs/scans.md)
typedef enum ctn_parallel {
    CTN_PARALLEL_AUTO,    // by the sizes of model and batch
    CTN_PARALLEL_WORLDS,  // worlds
    CTN_PARALLEL_LINKS,   // pieces of one world after the other: for a long chain or a large tree
    CTN_PARALLEL_BOTH,    // worlds on threads, pieces of each in lanes
} ctn_parallel;

/// Configuration of a batch. Start from ctn_batch_config_default() or ctn_scene_config(); a plain struct, copied in.
typedef struct ctn_batch_config {
    unsigned cookie;  // set by ctn_batch_config_default; catches an uninitialised struct
    int worlds;       // >= 1, default 1
    double dt;        // s, > 0, default 0.01; larger: cheaper, less accurate. With `adaptive`: the interval of one step
    bool adaptive;    // default false. true: each world makes its own parts of every step of dt, as large as error_tolerance
                      // allows and ending with it; for methods that estimate their error (dop853, radau, alpha)
    double error_tolerance;  // of adaptive steps: error of a part, relative to each joint's own scale (docs/integrators.md),
                             // at least 1e-15, default 1e-6; larger: fewer parts, less accurate
    ctn_method method;       // default CTN_RADAU
    int order;               // collocation: 2 to 6, from 3 on more accurate, but unstable at large steps; variational: 2 or 4 (no
                             // dampers); default 2
    int stages;              // radau: 1 to 4, default 2; more: more accurate at a higher cost a step
    double rho;  // alpha: 0 to 0.3, default 0.2: the share that a step leaves of vibrations far too fast for it. From 0.25 on
                 // fast turns gain energy, and steps fall back
    ctn_solver solver;       // implicit methods, default CTN_NEWTON
    double tolerance;        // where a solve stops, > 0, default 1e-9: with collocation of order 2 and alpha (newton) where the
                             // next step would turn no body by more than ten times that, rad, nor shift one by more than that
                             // share of its own extent; else at that residual, relative to each joint's scale of force
                             // (docs/integrators.md). Larger: fewer iterations, the steps' laws hold less exactly. With
                             // `adaptive` a batch makes it at most a millionth of error_tolerance; engine cuda-float at least
                             // 2e-6. A residual at rounding level, at most 1e-10 and falling no more, is taken under a smaller
                             // one
    int max_iterations;      // before a step is halved, default 60; lbfgs makes up to 50 times as many
    int max_halvings;        // how often a step may be halved in a row before its world freezes, default 10
    bool dense;              // default false. true: keep what ctn_batch_dense needs; for all methods but variational
    const volatile int *interrupt;  // default NULL. Else calls with steps end early once there is another number than 0, which stays
                                    // until they return; a signal handler may put it there. Looked at within steps, too, but on a
                                    // GPU never (see ctn_batch_run)
    int threads;             // that step the worlds, 0 to 1024, default 1; 0: one for each CPU that the process may use. Every
                             // number gives the same bits
    ctn_schedule schedule;   // of calls with several steps, default CTN_SCHEDULE_AUTO
    ctn_parallel parallel;   // default CTN_PARALLEL_AUTO; links and both: explicit methods, variational, and with newton
                             // radau, alpha and collocation of order 2; with fixed steps
    int lanes;  // of links and both: among how many lanes a world is shared out, a multiple of 8 up to 8192; default 0: by the
                // model. Results agree up to rounding from number to number, and with `worlds`; each has bits of its own
    const ctn_parameter *parameters;  // [parameter_count], what worlds have of their own (ctn_batch_set_parameters), copied;
    int parameter_count;              // default 0
    const char *engine;  // NULL or "auto": CTN_ENGINE if set, else by CPU and number of worlds; "scalar", "avx2", "avx512",
                         // "cuda": all the same bits; "cuda-float": in single precision (docs/batches.md)
} ctn_batch_config;

CTN_API ctn_batch_config ctn_batch_config_default(void);

/// The scene's `integrator:` section over the defaults. For NULL a configuration that every call refuses.
CTN_API ctn_batch_config ctn_scene_config(const ctn_scene *scene);

/// Names as in scene files and on the command line ("semi-implicit", "newton", "iteration"); NULL for a value out of range.
CTN_API const char *ctn_method_name(ctn_method method);
CTN_API const char *ctn_solver_name(ctn_solver solver);
CTN_API const char *ctn_schedule_name(ctn_schedule schedule);
CTN_API const char *ctn_parallel_name(ctn_parallel parallel);

/// Whether a method solves equations in each step: solver, tolerance, max_iterations and max_halvings matter to it.
CTN_API bool ctn_method_is_implicit(ctn_method method);

/// Looks a name up; returns CTN_BAD_CONFIG with what is allowed for another one.
CTN_API ctn_status ctn_method_from_name(const char *name, ctn_method *method, ctn_error *err);
CTN_API ctn_status ctn_solver_from_name(const char *name, ctn_solver *solver, ctn_error *err);
CTN_API ctn_status ctn_schedule_from_name(const char *name, ctn_schedule *schedule, ctn_error *err);
CTN_API ctn_status ctn_parallel_from_name(const char *name, ctn_parallel *parallel, ctn_error *err);

/// Why a world does not move any more.
typedef enum ctn_freeze {
    CTN_RUNNING,
    CTN_FREEZE_NOT_FINITE,     // accelerations, velocities or coordinates became infinite or NaN
    CTN_FREEZE_NOT_CONVERGED,  // no fallback found a step
    CTN_FREEZE_ANGLE,          // a joint turned by more than 1e4 rad in a step; or beyond 1e6 rad, where a spring, a limit, a
                               // target of position or a pitch counts its turns; single precision: 1e3 and 1e4
    CTN_FREEZE_STEP,           // adaptive steps: a part would have to be smaller than 1e-12 of the step
    CTN_FREEZE_PARTS,          // adaptive steps: one would take more than 100 000 parts
    CTN_FREEZE_WORK,           // a step's equations would take more than 300 000 evaluations
    CTN_FREEZE_CAPACITY,       // links are near each other at more places than there is room for
} ctn_freeze;

/// What happened to one world in one call of ctn_batch_step.
typedef struct ctn_step_stats {
    long steps;                     // steps of dt carried out
    long iterations;                // Newton iterations, all steps together
    int iterations_max;             // in one step (all its parts)
    long evaluations;               // of the residual (position-based) or of the acceleration (explicit)
    long line_search;               // times a Newton step was shortened
    long curvature;                 // Newton steps without curvature, as a pivot was not positive
    long fallbacks;                 // steps that needed fewer stages or had to be halved
    long fewer_stages;              // parts of steps that were done with fewer stages
    long substeps;                  // parts in which all steps were carried out; = steps if none was halved or adaptive
    long rejected;                  // parts repeated because their error was beyond the tolerance, or (radau, alpha) their solve failed
    double residual;                // largest scaled residual at the end of a step (0 for explicit methods)
    double energy_before;           // J, before the call: kinetic + potential + springs
    double energy_after;            // J, after it
    double energy_min, energy_max;  // J, over the steps of this call, its start included
    double kinetic_before, kinetic_after;      // J, parts of energy_before and energy_after: rotors included
    double potential_before, potential_after;  // J, of gravity, zero at the world origin
    double spring_before, spring_after;        // J, of springs, soft limits and motors with kp
    double work;                               // J, put in by joint forces, motors, forces of the scene and wrenches
    double dissipated;                         // J, taken out by the dampers of joints, limits and springs, and by motors
    double created;      // J, by the numerics (lost: negative): energy_after - energy_before - work + dissipated
    ctn_freeze frozen;   // CTN_RUNNING: still going
    double frozen_time;  // s, of the last good state, if frozen
    int frozen_dof;      // at which degree of freedom, its index in v; -1: not known, or not frozen. Of a world in whose equations no
                         // step was found the one that is furthest from solved, else the one that turned or moved furthest
    double frozen_position, frozen_velocity;  // rad or m, and per second: where it was at the last good state; NaN: of a ball
    double frozen_residual;                   // no step was found: what was left of its equation, in units of `residual`; NaN: it is
                                              // no number
    long corrections;       // times that a step was solved once more, with the first solution's normal forces for friction. This
                            // and the following are of contact points (catena/contact.h); without any they are 0
    int touching;           // how many feel the ground at the end of the last step: as many as
    int sticking, sliding;  // stick and slide there
    double depth;  // m, of the deepest one at the ends of these steps and at their start; below 0: so far above the ground
    // of what acts between links (catena/between.h); without any of it 0
    long joined;         // Newton iterations whose matrix was in joint space, with all of that; others sweep the tree
    int near;            // pairs of shapes that the last step looked at
    int meeting;         // pairs of shapes that press on each other at its end,
    int places;          // at so many places
    int islands;         // groups of trees that such pairs, loops, couplings, tendons and springs join; one that nothing joins is one
    int island;          // degrees of freedom of the largest of them
    double curved;       // J, of `created`: what gaps between links that are curved have added at most
} ctn_step_stats;

/// A sentence about why a world is frozen; "it still runs" for CTN_RUNNING. Never NULL.
CTN_API const char *ctn_freeze_text(ctn_freeze reason);

/// The same of a world with these statistics, at length: the joint by its link's name, where it was, and what to try with the
/// method of `cfg`. A model or `cfg` that is NULL: without the joint, without what to try. Into text [size], terminated if size >
/// 0; returns `text`. Without statistics it is empty.
CTN_API const char *ctn_freeze_report(const ctn_model *model, const ctn_batch_config *cfg, const ctn_step_stats *stats, char *text,
                                      size_t size);

/// Makes `sum`, the statistics of some steps of a world, those of these steps and the ones of `next` that followed them. Start a
/// sum with a copy of the first.
CTN_API void ctn_step_stats_add(ctn_step_stats *sum, const ctn_step_stats *next);

typedef struct ctn_batch ctn_batch;

/// Creates `cfg->worlds` worlds of `model` at the scene's initial state, time 0. `model` must outlive the batch. NULL on error.
/// Everything is allocated here, but for the places of wrenches (ctn_batch_set_wrench); stepping allocates nothing.
CTN_API ctn_batch *ctn_batch_create(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err);
CTN_API void ctn_batch_free(ctn_batch *batch);  // NULL is allowed

/// Whether a configuration suits a model: the same errors as ctn_batch_create, but for those of an engine's hardware, of
/// parameters that the model does not have, and of memory. Makes nothing.
CTN_API ctn_status ctn_batch_check(const ctn_model *model, const ctn_batch_config *cfg, ctn_error *err);

/// The configuration in use; `engine`, `parallel` and `lanes` (0: worlds are side by side) are what was chosen, `threads` how
/// many there are: no more than lane blocks.
CTN_API const ctn_batch_config *ctn_batch_configuration(const ctn_batch *batch);

/// The model that the batch was made of.
CTN_API const ctn_model *ctn_batch_model(const ctn_batch *batch);

/// Parameters of each world, values [worlds][parameter_count], in the order of the configuration's list; before the first call
/// those of the model. Limits keep the stiffness that the scene's masses give them unless limit_stiffness is one. A world's state
/// stays what it is, momenta of the variational method included: set the state anew after other masses. Returns CTN_BAD_ARGUMENT
/// for values that a world cannot have, and then changes nothing.
CTN_API ctn_status ctn_batch_set_parameters(ctn_batch *batch, const double *values, ctn_error *err);

/// Energies, momenta and masses of all worlds now, each with its own parameters: totals [worlds] (catena/dynamics.h).
struct ctn_totals;
CTN_API void ctn_batch_totals(ctn_batch *batch, struct ctn_totals *totals);

/// Memory that grows with the number of worlds, in bytes; along the links also that of the worlds in hand, one or with `both` one
/// a thread, and of their plan.
CTN_API size_t ctn_batch_bytes(const ctn_batch *batch);

/// Joint forces for the step that begins: tau [count][nv] (N m, N), for worlds first .. first + count - 1 at time [count] (s),
/// which are at q [count][nq] and v [count][nv]. Called for some worlds at a time, by the threads of the batch, at the same time
/// for others. A world that is frozen, or has made all its steps, may be among them, at the state and time where it stands; its
/// forces are not used.
typedef void (*ctn_control)(void *context, int first, int count, const double *time, const double *q, const double *v,
                            double *tau);

/// The same, of what the scene's sensors say: sensors [count][numbers], as ctn_batch_sensors (catena/sensors.h) has them then.
typedef void (*ctn_sensed_control)(void *context, int first, int count, const double *time, const double *sensors,
                                   const double *q, const double *v, double *tau);

/// What a call of ctn_batch_run does. Zero is a good start.
typedef struct ctn_run {
    int steps;            // >= 0, of each world
    const int *horizon;   // [worlds]: steps of each world instead, 0 .. steps; NULL: `steps` for all
    const double *force;  // [worlds][steps][nv] (N m, N): joint forces of each step of each world, or NULL
    ctn_control control;  // asked for them before every step, or NULL
    void *context;        // of control, or sensed
    ctn_sensed_control sensed;  // instead of control, with what sensors say; the model has some
} ctn_run;

/// Steps with forces of their own (with neither table nor control: those of ctn_batch_set_force). Otherwise as ctn_batch_step.
/// Where `interrupt` of the configuration ends it early it returns CTN_INTERRUPTED: all worlds are where they were before the
/// call, to the last bit, and what stats hold means nothing. On a GPU nothing is looked at.
CTN_API ctn_status ctn_batch_run(ctn_batch *batch, const ctn_run *run, ctn_step_stats *stats, ctn_error *err);

/// How much of the work of the last call was of use, 0 to 1: worlds are solved some at a time side by side (4 with avx2), and
/// where one is done before the others its place is idle. NaN if nothing was iterated, and on a GPU, where it is not measured.
CTN_API double ctn_batch_occupancy(const ctn_batch *batch);

/// Advances every world by `steps` >= 0 steps of dt. stats [worlds] may be NULL. Returns CTN_OK; CTN_FROZEN if a world is frozen
/// (now or before), with the first one in `err` (may be NULL): the others have made their steps; CTN_BAD_ARGUMENT for steps < 0
/// (cuda-float: or more than 2^24), with nothing done; CTN_UNAVAILABLE, with nothing done, for a batch of several threads in a
/// forked child, where these are not (its state can be read and saved there, and the batch freed). On a GPU also CTN_NO_MEMORY,
/// if a table of forces or what a control needs does not fit into memory, with nothing done, and CTN_UNAVAILABLE, if the GPU
/// fails, after which the batch is of no more use; stats are not written then. One call per batch at a time.
CTN_API ctn_status ctn_batch_step(ctn_batch *batch, int steps, ctn_step_stats *stats, ctn_error *err);

/// Steps of all worlds that needed fewer stages or had to be halved, since the batch was created.
CTN_API long ctn_batch_fallbacks(const ctn_batch *batch);

/// Among how many lanes each world is shared out along its links; 0: the batch steps worlds side by side.
CTN_API int ctn_batch_lanes(const ctn_batch *batch);

/// Steps of all worlds that were made serially in a batch along the links, as what was found in lanes was not certain to be a
/// solution.
CTN_API long ctn_batch_serial_steps(const ctn_batch *batch);

/// Coordinates q [worlds][nq] and velocities v [worlds][nv] now; either may be NULL. For position-based methods v is the joint
/// velocity nearest, in the kinetic-energy norm, to the link velocities that the method carries, where radau of several stages
/// has loops of those that they allow; for the variational method the one of the joint momenta that it carries.
CTN_API void ctn_batch_state(ctn_batch *batch, double *q, double *v);

/// States within the part of a step that each world carried out last (its last step, unless steps are adaptive or halved), by the
/// method's own interpolant: `fraction` 0 is the part's start, 1 its end, where the state is that of ctn_batch_state up to
/// rounding. q [worlds][nq], v [worlds][nv], time [worlds] (s; those of adaptive worlds differ); any may be NULL. dop853 has an
/// interpolant of order 7, other explicit methods the cubic of Hermite, alpha the cubic with the rates of both ends, other
/// position-based methods the polynomials through their s stages (errors of order s + 1, in velocities s; these are at both ends
/// the joint rates that the method carries, which differ from those of ctn_batch_state by its error). The first call after a step
/// of an explicit method makes its last part once more, to find the interpolant; further ones only evaluate it. Before the first
/// step, and after ctn_batch_set_state or ctn_batch_restore, it is the state itself; ctn_batch_set_parameters and
/// ctn_batch_set_wrench do not change it. Returns CTN_BAD_ARGUMENT for a fraction outside 0 .. 1, or a batch whose configuration
/// lacks `dense`.
CTN_API ctn_status ctn_batch_dense(ctn_batch *batch, double fraction, double *q, double *v, double *time, ctn_error *err);

/// Starts all worlds anew from q [worlds][nq] and v [worlds][nv] at `time` (s); frozen worlds run again. Quaternions are
/// normalised. Returns CTN_BAD_ARGUMENT for numbers that are not finite or quaternions of length zero or beyond 1e154, and then
/// changes nothing.
CTN_API ctn_status ctn_batch_set_state(ctn_batch *batch, const double *q, const double *v, double time, ctn_error *err);

/// Joint forces tau [worlds][nv] (N m, N) that act from now on until changed; NULL: none.
CTN_API void ctn_batch_set_force(ctn_batch *batch, const double *tau);

/// What acts on a link from outside.
typedef struct ctn_wrench {
    double point[3];   // m, in the axes of the link, from its origin: where the force acts
    double force[3];   // N
    double torque[3];  // N m
    bool link_axes;    // force and torque are in the axes of the link, and turn with it; else in those of the world
} ctn_wrench;

/// Makes the wrench act on a link of a world (-1: of all worlds) from now on, instead of the one that the link had there; NULL:
/// none. Explicit methods and radau of several stages take it where the link is at each of their stages, variational at both
/// ends of a step; methods of one stage (collocation of order 2, radau of one, and steps that fall back on one) take a torque,
/// and what is in link axes, as it stands at the start of a step. Like forces it is no part of a saved state, and stays when
/// the state is set anew. The first one on a link, in world axes and in link axes each, makes room for it in all worlds, which
/// costs memory and time, and a little in every step; other worlds move as before. Later ones remake the constants of their
/// lane block. Returns CTN_BAD_ARGUMENT for a world or a link that there is not, a link that cannot move, and numbers that are
/// not finite; CTN_BAD_CONFIG with a method that takes no loads on links (collocation of order > 2, the solvers lm and lbfgs);
/// CTN_UNAVAILABLE on a device; CTN_NO_MEMORY. Nothing is changed then.
CTN_API ctn_status ctn_batch_set_wrench(ctn_batch *batch, int world, int link, const ctn_wrench *wrench, ctn_error *err);

/// Time of world `world` in 0 .. worlds-1, s; NaN outside.
CTN_API double ctn_batch_time(const ctn_batch *batch, int world);

/// The whole state of the batch, all that its future depends on besides model, configuration, forces and wrenches, which stay
/// what they are: clocks, the parameters that worlds have of their own, what the method carries. A versioned block of
/// ctn_batch_saved_size bytes. Restoring it into a batch of the same model and configuration continues at the same times with the
/// same bits; into one of another `parallel` or `lanes` it fits, too, and continues with theirs. ctn_batch_restore returns
/// CTN_BAD_ARGUMENT, and changes nothing, if model, method, its order, stages or rho, dt, adaptive, the list of parameters or
/// worlds are others; if the block is of another version of the format; or if it is damaged: it has a checksum (XXH3, 64 bits) of
/// all its bytes.
CTN_API size_t ctn_batch_saved_size(const ctn_batch *batch);
CTN_API void ctn_batch_save(const ctn_batch *batch, void *block);
CTN_API ctn_status ctn_batch_restore(ctn_batch *batch, const void *block, size_t size, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
