/// Runs of many worlds, recorded side by side in lanes and threads, and their gradients: what learning a controller asks for.
/// (docs/derivatives.md, Many worlds)
///
/// In each step a program is asked what motors are told and which forces act, and hears on the way back how the scalar changes with
/// both, so that it can go back through what it had computed them from. Each world has the bits of a `ctn_tape` that is told the
/// same and does not go along its links. Arrays of worlds are [worlds][..]; gradients by q are in tangent coordinates, laid out as v
/// (catena/derivatives.h).
#ifndef CATENA_TAPES_H
#define CATENA_TAPES_H

#include <catena/batch.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_tapes ctn_tapes;

/// A program's own part. Called by the thread that calls ctn_tapes_run or ctn_tapes_gradient, of all worlds at once.
typedef struct ctn_tapes_hooks {
    /// Before step `step`, 0 .. steps - 1, from the states q [worlds][nq], v [worlds][nv]: targets of motors u [worlds][nu], in the
    /// order of catena/motors.h, and joint forces tau [worlds][nv], both of which are as in the step before; at first the model's
    /// own targets, and 0. Worlds that are frozen are asked for, too, and do not count.
    void (*tell)(void *context, int step, const double *q, const double *v, double *u, double *tau);

    /// On the way back, `step` from steps to 0: adds to by_q, by_v [worlds][nv] the gradient by the state q, v of which step `step`
    /// begins: what the scalar has of it by itself, and through `tell`, whose u and tau have by_u [worlds][nu] and by_tau
    /// [worlds][nv] (NULL where step is `steps`: nothing was told there). Those of u and tau that were kept from the step before it
    /// are not passed on: a program that keeps them adds them up.
    void (*back)(void *context, int step, const double *q, const double *v, const double *by_u, const double *by_tau,
                 double *by_q, double *by_v);
    void *context;
} ctn_tapes_hooks;

/// Space for runs of up to `steps` >= 1 steps of cfg->worlds worlds; `model` must outlive it. The engine is that of `cfg`, of the
/// CPU; worlds may have parameters of their own. Motors are told by the hooks, not by a controller that the model has. gradients:
/// there will be ctn_tapes_gradient; without, every method and step will do. NULL on error: CTN_UNAVAILABLE for `parallel: links`,
/// and with gradients for what single tapes refuse (ctn_tape_create), and steps that differ between worlds.
CTN_API ctn_tapes *ctn_tapes_create(const ctn_model *model, const ctn_batch_config *cfg, int steps, bool gradients,
                                    ctn_error *err);
CTN_API void ctn_tapes_free(ctn_tapes *tapes);  // NULL is allowed

/// Parameters of worlds from the next run on, as ctn_batch_set_parameters has them.
CTN_API ctn_status ctn_tapes_set_parameters(ctn_tapes *tapes, const double *values, ctn_error *err);

/// The times [worlds] (s) at which worlds begin that begin in the runs that follow; 0 at first. Targets that move are those of then.
/// CTN_BAD_ARGUMENT for times that are not finite.
CTN_API ctn_status ctn_tapes_begin_at(ctn_tapes *tapes, const double *time, ctn_error *err);

/// Runs `steps` steps of all worlds and records them. Those for which begin [worlds] says so (NULL: all) begin at q [worlds][nq]
/// and v [worlds][nv], at time 0 or that of ctn_tapes_begin_at; the others go on from where the last run ended, with all that methods carry. Before the first run
/// all are at the start of the model. A world that freezes, or, with gradients, has a step that had to be halved, is lost: it has no
/// gradient in this run, and ctn_tapes_lost tells. Returns CTN_OK, also with lost worlds; CTN_BAD_ARGUMENT for states, targets or forces that are not
/// finite, CTN_INTERRUPTED if cfg->interrupt ended it: then nothing is recorded, and worlds have to begin anew.
CTN_API ctn_status ctn_tapes_run(ctn_tapes *tapes, int steps, const double *q, const double *v, const bool *begin,
                                 const ctn_tapes_hooks *hooks, ctn_error *err);

/// Gradients of the scalar that hooks->back tells of, of the run that is recorded. Into by_q, by_v [worlds][nv], each may be NULL:
/// by the q and v at which worlds have begun; 0 of those that went on, or are lost. Lost worlds are told zeros. A world whose step
/// is not found again is lost from there on: its numbers are 0, what `back` has heard of it before stays, and ctn_tapes_lost tells
/// afterwards. CTN_BAD_ARGUMENT if nothing is recorded, or the tapes were made without gradients.
CTN_API ctn_status ctn_tapes_gradient(ctn_tapes *tapes, const ctn_tapes_hooks *hooks, double *by_q, double *by_v, ctn_error *err);

/// The linearised run of every world, which all began with it: (q, v) after its last step by (q, v) at its start, A [worlds][2
/// nv][2 nv], by targets of motors that are the same in all of its steps, B [worlds][2 nv][nu], and by such joint forces, F
/// [worlds][2 nv][nv]; row i is that of coordinate i, q first, in tangent coordinates. Each may be NULL. With runs of one step it
/// linearises a knot a world. Steps are prepared once for all rows: a solve a row. Lost worlds have zeros. CTN_BAD_ARGUMENT as
/// ctn_tapes_gradient, and, with A, if a world went on from the run before: what it carried is no q
/// and v.
CTN_API ctn_status ctn_tapes_jacobian(ctn_tapes *tapes, double *A, double *B, double *F, ctn_error *err);

/// The inverse of a step: joint forces under which the next step leads exactly to given coordinates, contact, motors and all
/// other forces included. One step is made and recorded, of worlds that begin or go on as in ctn_tapes_run, towards to [worlds][nq];
/// tau [worlds][nv] (N m or N) is a guess on entry, as the forces of the step before, and then what leads there. By Newton's method on
/// the step itself, with its Jacobian: forces of a large step are those of that step, not of the differential equation. distance
/// [worlds]: the largest coordinate of what is left, rad or m, that from rounding on; a world is not led there where contact or
/// friction lets nothing through, and goes as near as was found; NaN: it is lost. CTN_BAD_ARGUMENT for tapes without gradients and for
/// coordinates that are not finite, CTN_UNAVAILABLE for the method euler, whose step does not ask what forces are for where it leads.
CTN_API ctn_status ctn_step_inverse(ctn_tapes *tapes, const double *q, const double *v, const bool *begin, const double *to,
                                    double *tau, double *distance, ctn_error *err);

/// In which step of the run a world was lost, 0 .. steps - 1; -1: it was not.
CTN_API int ctn_tapes_lost(const ctn_tapes *tapes, int world);

/// Whether a world is frozen, and why (catena/batch.h): one that is lost may only have had a step in halves, and goes on well.
CTN_API ctn_freeze ctn_tapes_frozen(const ctn_tapes *tapes, int world);

/// States after `step` steps of the run that is recorded, 0 .. steps: q [worlds][nq], v [worlds][nv], valid until the next run; NULL
/// if that is not recorded. Of lost worlds what they had.
CTN_API const double *ctn_tapes_q(const ctn_tapes *tapes, int step);
CTN_API const double *ctn_tapes_v(const ctn_tapes *tapes, int step);

/// The time of a world after `step` steps, s; NaN if that is not recorded.
CTN_API double ctn_tapes_time(const ctn_tapes *tapes, int world, int step);

/// Where the worlds are and what they were told last, as a block of bytes that another ctn_tapes of the same model and configuration
/// goes on from, with the same bits: after ctn_tapes_restore nothing is recorded. CTN_BAD_ARGUMENT for other blocks, as
/// ctn_batch_restore.
CTN_API size_t ctn_tapes_saved_size(const ctn_tapes *tapes);
CTN_API void ctn_tapes_save(const ctn_tapes *tapes, void *block);
CTN_API ctn_status ctn_tapes_restore(ctn_tapes *tapes, const void *block, size_t size, ctn_error *err);

/// Bytes of all worlds together.
CTN_API size_t ctn_tapes_bytes(const ctn_tapes *tapes);

#ifdef __cplusplus
}
#endif
#endif
