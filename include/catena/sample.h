/// Initial states of many worlds, joint forces on them and their parameters, drawn as the `sample:` section of a scene says.
#ifndef CATENA_SAMPLE_H
#define CATENA_SAMPLE_H

#include <catena/model.h>
#include <catena/parameters.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Whether the scene has a `sample:` section, and its seed: 0 if it gives none.
CTN_API bool ctn_scene_is_sampled(const ctn_scene *scene);
CTN_API uint64_t ctn_scene_seed(const ctn_scene *scene);

/// How many worlds the section's grids have together: after so many they start again. 1 without grids.
CTN_API int64_t ctn_scene_grid(const ctn_scene *scene);

/// The initial state of world `world` of 0 .. worlds - 1: that of the scene, q [nq] and v [nv], moved by what is drawn for each
/// degree of freedom (quaternions are turned in body axes); without a `sample:` section the scene's own. `model` is compiled from
/// `scene`. Random numbers come from a counter (Random123's Philox): they depend on seed, world and link alone, not on the order
/// of worlds; nor on how many there are, but for Latin hypercubes, whose strata `worlds` decides. Takes no memory, whatever
/// `worlds` is.
CTN_API void ctn_sample_state(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds,
                              double *q, double *v);

/// Whether the section draws joint forces.
CTN_API bool ctn_scene_has_force(const ctn_scene *scene);

/// The joint forces tau [nv] (N m, N) that act on world `world` of 0 .. worlds - 1 all along, for ctn_batch_set_force: zero where
/// nothing is drawn. False if the section draws none at all. Arguments as above.
CTN_API bool ctn_sample_force(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds,
                              double *tau);

/// The parameters that the section draws, by kind and then by index, into `list` (NULL: none); returns how many there are.
CTN_API int ctn_scene_parameters(const ctn_scene *scene, const ctn_model *model, ctn_parameter *list);

/// Their values in world `world` of 0 .. worlds - 1, in the same order, into `values` [as many]: these are the parameters
/// themselves, not to be added to the scene's. Normal distributions can give values that the parameter cannot have. Arguments as
/// above.
CTN_API void ctn_sample_parameters(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds,
                                   double *values);

/// All of these for the worlds first .. first + count - 1 of `worlds`, as rows for a batch of `count`: q [count][nq], v
/// [count][nv], tau [count][nv], values [count][parameters]; NULL: not wanted (q and v go together). Whether joint forces are
/// drawn: tau is as it was if not.
CTN_API bool ctn_sample_worlds(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t first, int count,
                               int64_t worlds, double *q, double *v, double *tau, double *values);

#ifdef __cplusplus
}
#endif
#endif
