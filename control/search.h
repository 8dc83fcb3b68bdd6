/// The search for the parameters of a scene's controller, behind catena/search.h: candidates of CMA-ES (catena/cma.h), each in
/// some worlds from beginning to end, and what these earn (control/reward.h); or a policy gradient (control/policy.h).
///
/// All candidates of a generation are the worlds of one batch, candidate after candidate; worlds j of all of them are drawn alike
/// by the scene's `sample`, anew in each generation (common random numbers). Noise of sensors is each world's own. The value of a
/// candidate is the mean of what its worlds earn; one of them that is frozen, or earns what is no number, makes it the last. The
/// same bits for any number of threads and processes, and after any resume.
#ifndef CATENA_CONTROL_SEARCH_H
#define CATENA_CONTROL_SEARCH_H

#include "sim/scene/scene.h"

#include "sim/runs/ranks.h"

#include <catena/cma.h>
#include <catena/model.h>
#include <catena/search.h>

/// A reward of the caller's own, in lockstep with the worlds. What an interval earns is added up, and to what the scene's
/// `reward` says, where it has one. The sum should be a function of each world alone: worlds are played in any order and number.
typedef struct search_reward {
    /// earned [worlds], NaN: no number, which makes its candidate the last; of a beginning nothing is asked. Other than CTN_OK
    /// ends the search with that, CTN_INTERRUPTED so that it can go on.
    ctn_status (*earn)(void *with, const ctn_search_moment *now, double *earned, ctn_error *err);
    void *with;
    const char *name;  // by which a checkpoint knows it
} search_reward;

/// A search in progress. One thread at a time may use it.
typedef struct search search;

/// Of the scene, whose controller is told at least once a step of `cfg`; `duration` (s) is the length of an episode. `all`
/// processes share the candidates of each generation, and come to the same search. `own` NULL: the scene's reward alone counts.
/// Nothing is kept of `cfg`; scene, `all` and what `own` points to must last. NULL on error: CTN_BAD_SCENE names what the scene
/// lacks; others as ctn_batch_create and ctn_cma_create.
search *search_open(ctn_scene *scene, const ctn_batch_config *cfg, double duration, ranks *all, const search_reward *own,
                    ctn_error *err);
void search_close(search *s);  // NULL is allowed

int search_parameters(const search *s);  // of the controller
int search_worlds(const search *s);      // of a generation

ctn_search_state search_get_state(const search *s);

/// Makes a generation, together with the other processes. CTN_INTERRUPTED by cfg->interrupt, of any of them: it is as before,
/// or, a policy, to be taken up from what was saved. Where
/// another one has failed, CTN_UNAVAILABLE.
ctn_status search_step(search *s, ctn_error *err);

/// Before search_best: a policy that was not judged yet is, as the first one is, and every tenth. Where worlds are drawn by
/// `sample`, the best candidate and the mean of CMA-ES, or the best and the last policy, are compared in worlds that no
/// generation had, and `best` becomes what the better one earns in others again. Errors of steps; after these, CTN_INTERRUPTED
/// too, it can be called anew.
ctn_status search_finish(search *s, ctn_error *err);

/// The best parameters so far [count]; and the mean of the search. CTN_BAD_ARGUMENT: there is none.
ctn_status search_best(const search *s, double *parameters, ctn_error *err);

/// What parameters earn in worlds that no generation had, and search_finish had not either, in steps that are `parts` times as
/// small, the controller told as before: the mean over its worlds, NaN if one is frozen. CTN_NO_MEMORY and errors of steps.
ctn_status search_value(const search *s, const double *parameters, int parts, double *value, ctn_error *err);

/// All that its future depends on, into a file, which is replaced whole; and back: CTN_BAD_ARGUMENT for that of another scene,
/// method, or search. CTN_IO with the file's name.
ctn_status search_save(const search *s, const char *path, ctn_error *err);
ctn_status search_restore(search *s, const char *path, ctn_error *err);

/// The scene's text with these parameters in its controller, after a first line of comment `about`; the caller frees it. NULL,
/// with CTN_BAD_SCENE, where they are written otherwise than as [ ... ].
char *search_scene(const ctn_scene *scene, const double *parameters, int count, const char *about, ctn_error *err);

#endif
