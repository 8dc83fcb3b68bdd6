/// The search for the parameters of a scene's controller, as `catena search` makes it: candidates of CMA-ES, or a policy
/// gradient. The scene has a `controller:`, whose parameters are looked for, a `reward:`, and perhaps a `search:`
/// (docs/search.md).
///
///     ctn_search_config cfg = ctn_search_config_default(scene);
///     ctn_search *search = ctn_search_create(scene, &cfg, &err);
///     if (search && ctn_search_run(search, cfg.generations, "found.checkpoint", &err) == CTN_OK) {
///         char *text = ctn_search_scene(search, NULL, "found", &err);  // the scene that has what was found
///         ...
///
/// The same bits for any number of threads and engines, and after any resume.
#ifndef CATENA_SEARCH_H
#define CATENA_SEARCH_H

#include <catena/batch.h>
#include <catena/scene.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What worlds have come to: the end of an interval in which motors were told the same, or (dt = 0) the beginning of episodes.
typedef struct ctn_search_moment {
    int worlds;
    bool last;              // episodes end with it
    double dt;              // s, of the interval
    const double *time;     // [worlds] s
    const double *q, *v;    // [worlds][nq], [worlds][nv]
    const double *u;        // [worlds][ntarget], what motors were told in it
    const double *sensors;  // [worlds][all numbers]; NULL: there are none
    const bool *over;       // [worlds] it counts no more, as the world is frozen, or its episode has ended before
} ctn_search_moment;

/// Where a search is.
typedef struct ctn_search_state {
    bool learns;                   // by a policy gradient: a generation is a window, evaluations are episodes
    long generation, evaluations;  // made
    long steps;                    // of worlds
    double best;                   // the most that a candidate has earned, or the policy when it was judged; -inf: none has
    double mean, worst;   // of the last generation's candidates, but for those that are lost; or of its episodes, with noise
    long lost;            // candidates, of all generations, that are: frozen, or no number; or windows of worlds
    double sigma, ratio;  // of CMA-ES: step size, the longest over the shortest axis; deviation of a policy's noise
    double gradient;      // length of a policy's last one
    int judges;           // worlds of its own in which what was found was judged; 0: none
    bool over;            // CMA-ES has come to its end
} ctn_search_state;

/// What is asked for. Start from ctn_search_config_default(). Nothing of it is kept but `context`, and batch.interrupt.
typedef struct ctn_search_config {
    unsigned cookie;         // set by ctn_search_config_default; catches an uninitialised struct
    ctn_batch_config batch;  // default: that of the scene. Its worlds and parameters are not used: they are the search's own
    double duration;         // of an episode, s, at least a step; default: that of the scene, which is refused where it has none
    int seed;                // >= 0, default: that of `search:`
    long generations;        // of ctn_search_run, default: those of `search:`. The call takes a number of its own

    /// A reward of the caller's own, which is added to what the scene's `reward:` says, where it has one; NULL (default): that
    /// one alone. Asked where episodes begin, when nothing is to be told, and after each interval: earned [worlds], 0 before,
    /// NaN: no number, which makes its candidate the last. It should be a function of each world alone: worlds are played in any
    /// order and number. Other than CTN_OK, with `err` filled, ends the call with that. CMA-ES alone.
    ctn_status (*earn)(void *context, const ctn_search_moment *now, double *earned, ctn_error *err);
    const char *reward;  // by which a checkpoint knows `earn`; default NULL: "reward"

    void (*progress)(void *context, const ctn_search_state *state);  // after each generation of ctn_search_run; NULL (default)
    void *context;                                                   // of both
} ctn_search_config;

/// For NULL a configuration that is refused.
CTN_API ctn_search_config ctn_search_config_default(const ctn_scene *scene);

/// A search in progress. One thread at a time may use it.
typedef struct ctn_search ctn_search;

/// At its first generation. `scene` is copied, and may go. NULL on error: CTN_BAD_SCENE names what the scene lacks;
/// CTN_BAD_CONFIG a member, what it is and what it may be; others as ctn_batch_create and ctn_cma_create.
CTN_API ctn_search *ctn_search_create(const ctn_scene *scene, const ctn_search_config *cfg, ctn_error *err);
CTN_API void ctn_search_free(ctn_search *search);  // NULL is allowed

CTN_API int ctn_search_parameters(const ctn_search *search);  // of the controller; for NULL 0
CTN_API int ctn_search_worlds(const ctn_search *search);      // of a generation; for NULL 0

CTN_API ctn_search_state ctn_search_get_state(const ctn_search *search);  // for NULL all 0

/// Makes a generation. CTN_INTERRUPTED if batch.interrupt ended it, or `earn`: a search by CMA-ES is as it was before; one by a
/// policy gradient stands within a window, and refuses, with CTN_BAD_ARGUMENT, all but ctn_search_restore and ctn_search_free.
CTN_API ctn_status ctn_search_step(ctn_search *search, ctn_error *err);

/// Judges what was found, before it is taken: a policy that was not judged yet; where worlds are drawn by `sample:`, the best
/// candidate beside the mean of CMA-ES, or the best policy beside the last, in worlds that no generation had, whereupon `best`
/// becomes what the better one earns in others again. After an error, CTN_INTERRUPTED too, it can be called anew.
CTN_API ctn_status ctn_search_finish(ctn_search *search, ctn_error *err);

/// Makes generations until there are `generations` in all, those before a resume too, or CMA-ES is over, and finishes. Where
/// `checkpoint` is not NULL each one is saved there when it is made; an interrupted policy goes back to the last one that was saved.
/// CTN_BAD_ARGUMENT: generations < 1. Errors of ctn_search_step, ctn_search_save and ctn_search_finish.
CTN_API ctn_status ctn_search_run(ctn_search *search, long generations, const char *checkpoint, ctn_error *err);

/// The best parameters so far [count]. CTN_BAD_ARGUMENT: there are none, as all candidates were lost.
CTN_API ctn_status ctn_search_best(const ctn_search *search, double *parameters, ctn_error *err);

/// What parameters [count] earn in worlds that neither a generation had nor ctn_search_finish, in steps that are `parts` >= 1
/// times as small, the controller told as before: the mean over its worlds, NaN if one is frozen. Errors of steps.
CTN_API ctn_status ctn_search_value(const ctn_search *search, const double *parameters, int parts, double *value, ctn_error *err);

/// All that its future depends on, into a file, which is replaced whole, the same as `catena search` leaves; and back:
/// CTN_BAD_ARGUMENT for that of another scene, method, step, duration, reward or seed. CTN_IO with the file's name.
CTN_API ctn_status ctn_search_save(const ctn_search *search, const char *path, ctn_error *err);
CTN_API ctn_status ctn_search_restore(ctn_search *search, const char *path, ctn_error *err);

/// The scene's text with parameters [count] (NULL: the best so far) in its controller, after a first line of comment `about`. The
/// caller frees it with free(). NULL, with CTN_BAD_SCENE, where they are written otherwise than as [ ... ].
CTN_API char *ctn_search_scene(const ctn_search *search, const double *parameters, const char *about, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
