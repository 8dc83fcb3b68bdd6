/// Derivatives of time steps: a run of one world is recorded on a tape, and then differentiated; docs/derivatives.md tells how.
///
/// Coordinates are tangent ones, laid out as v: a ball moves by q exp(delta), delta a turn in link axes, every other coordinate
/// by addition. The *state* that a method carries from step to step has ctn_tape_state_size() coordinates: q and v for explicit
/// methods; q and the joint momenta for the variational one; for position-based ones q, the joint rates, and for every body that
/// has mass, in the model's order, the four columns of its Euclidean velocity V = d[R p]/dt, world axes; for collocation of order
/// > 2 then the same of the rates since the last interior point of the last step; for alpha then the columns of A, those of B,
/// and a and b of joints (accelerations; docs/theory.md 4.9); for all then the integral terms of motors, in the order of the
/// scene, how far joints with dry friction are bent, laid out as v (0 at the start of a run), how far contact points are, 3
/// numbers each in world axes (likewise), and their normal forces, in the order of catena/contact.h. (The guess for the next solve,
/// which batches save too, has no influence.)
///
/// Derivatives are exact to the tolerance to which steps were solved: take a small one, 1e-12. Where a soft limit is just reached
/// they are those of one side. Steps that had to be halved, or fell back on fewer stages, are differentiated part by part, as
/// they were made.
#ifndef CATENA_DERIVATIVES_OF_STEPS_H
#define CATENA_DERIVATIVES_OF_STEPS_H

#include <catena/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_tape ctn_tape;

/// Space for a run of `steps` >= 1 steps of one world; `model` must outlive it. cfg: as for a batch, with worlds 1; the scalar
/// engine is used, whose bits are those of every other. `parallel`: where a batch would go along the links (links, both, or
/// auto that comes to that) the run and its gradients do, with collocation of order 2, alpha and radau of one stage, of models
/// without springs and forces on links, in the lanes of `engine`; else steps are those of worlds. NULL on error:
/// CTN_UNAVAILABLE for steps that choose their size (dt: auto), integral terms of motors on balls, contact by other methods
/// than collocation of order 2, alpha and radau (docs/derivatives.md has what they know of it), and for alpha with springs,
/// forces or contact points on a link without mass. Runs begin at the time 0: targets that move are those of then. One thread at a time may use it.
CTN_API ctn_tape *ctn_tape_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, ctn_error *err);
CTN_API void ctn_tape_free(ctn_tape *tape);  // NULL is allowed

/// The targets of the model's motors in each step of the runs that follow: u [steps][nu], nu and the order as of catena/motors.h,
/// copied (NULL: the model's own, as at first). A batch that sets these as parameters before each step makes the same steps, to
/// the last bit, but along the links, which the tape does not go then. What was recorded is none any more. CTN_BAD_ARGUMENT for
/// numbers that are not finite.
CTN_API ctn_status ctn_tape_set_targets(ctn_tape *tape, const double *u, ctn_error *err);

/// Runs all steps from q [nq] and v [nv], with the joint forces tau [steps][nv] (NULL: none), and records them. As a batch would,
/// to the last bit. Returns CTN_OK; CTN_FROZEN if the world froze, CTN_BAD_ARGUMENT for numbers that are not finite,
/// CTN_NO_MEMORY, CTN_UNAVAILABLE if a step fell back in a way that cannot be recorded, CTN_INTERRUPTED if `interrupt` of the
/// configuration ended it: nothing is recorded then.
CTN_API ctn_status ctn_tape_run(ctn_tape *tape, const double *q, const double *v, const double *tau, ctn_error *err);

/// Steps of the run that is recorded that needed fewer stages or had to be halved; 0 if nothing is recorded.
CTN_API int ctn_tape_fallbacks(const ctn_tape *tape);

/// How often a contact point began or ended to touch, to stick or to slide (ctn_touch), from one recorded step, or part of one, to
/// the next. Gradients hold for changes of the input so small that none of these moves to another step. CTN_BAD_ARGUMENT if nothing
/// is recorded.
CTN_API ctn_status ctn_tape_contact_changes(ctn_tape *tape, long *changes, ctn_error *err);

/// Coordinates q [nq] and velocities v [nv] after `step` steps, 0 .. steps, as ctn_batch_state gives them; either may be NULL.
/// CTN_BAD_ARGUMENT if the step is not recorded.
CTN_API ctn_status ctn_tape_state(ctn_tape *tape, int step, double *q, double *v, ctn_error *err);

/// Gradients of a scalar, given its gradients by the states: dq, dv [steps + 1][nv] by q and v after 0 .. steps steps, q in
/// tangent coordinates (NULL: all zero). Into grad_q, grad_v [nv], by the q and v of the start, and grad_tau [steps][nv]; each
/// may be NULL. Backwards through the run, one factorisation and one solve a step: O(links steps), of the order of the time of
/// the run itself. Steps of several stages and variational ones are made once more, to find their stages again. CTN_BAD_ARGUMENT
/// if nothing is recorded; CTN_UNAVAILABLE if a step is not found again, so that it has no derivative (this and the Jacobians of
/// steps).
CTN_API ctn_status ctn_tape_gradient(ctn_tape *tape, const double *dq, const double *dv, double *grad_q, double *grad_v,
                                     double *grad_tau, ctn_error *err);

/// The same, and into grad_u [steps][nu] the gradient by the targets of motors in each step, whether set by ctn_tape_set_targets
/// or the model's own; may be NULL. To targets that move they are added. At a limit, as that of a thruster, it is one-sided.
CTN_API ctn_status ctn_tape_target_gradient(ctn_tape *tape, const double *dq, const double *dv, double *grad_q, double *grad_v,
                                            double *grad_tau, double *grad_u, ctn_error *err);

/// The same by parameters of the model, each the same in the whole run: into grad [count]. list [count]: CTN_GROUND_FRICTION,
/// CTN_GROUND_DEPTH (with it the damper's relaxation, where that is critical), CTN_CONTACT_FRICTION, CTN_PAIR_FRICTION_SCALE and
/// CTN_PAIR_DEPTH_SCALE, as a batch would take them by world; of a link with several frictions it is that by all of them
/// together. CTN_BAD_ARGUMENT for those that the model does not have, CTN_UNAVAILABLE for other kinds. grad is left as it was
/// unless this returns CTN_OK.
CTN_API ctn_status ctn_tape_parameter_gradient(ctn_tape *tape, const double *dq, const double *dv, const ctn_parameter *list,
                                               int count, double *grad, ctn_error *err);

/// Number of coordinates n of the state.
CTN_API int ctn_tape_state_size(const ctn_tape *tape);

/// A [n][n] and B [n][nv] of step `step` in 0 .. steps-1: state after = A state before + B tau, to first order. Row-major; each
/// may be NULL. One solve a row. CTN_BAD_ARGUMENT if the step is not recorded.
CTN_API ctn_status ctn_step_jacobian(ctn_tape *tape, int step, double *A, double *B, ctn_error *err);

/// The same, and U [n][nu], + U u by the targets of motors in the step; may be NULL.
CTN_API ctn_status ctn_step_target_jacobian(ctn_tape *tape, int step, double *A, double *B, double *U, ctn_error *err);

/// The state at the start by (q, v): S [n][2 nv]. With C of ctn_output_jacobian, (q, v) after k steps changes by C A_k-1 ... A_0
/// S.
CTN_API ctn_status ctn_start_jacobian(ctn_tape *tape, double *S, ctn_error *err);

/// (q, v), as ctn_tape_state gives them, by the state after `step` steps, 0 .. steps: C [2 nv][n].
CTN_API ctn_status ctn_output_jacobian(ctn_tape *tape, int step, double *C, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
