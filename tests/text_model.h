/// Models from the text of a scene, batches of models, and how far apart two of their configurations are.
#ifndef CATENA_TESTS_TEXT_MODEL_H
#define CATENA_TESTS_TEXT_MODEL_H

#include <catena/catena.h>

/// The scene that a text says. Fails the test, with the scene's error, if there is none. Free with ctn_scene_free().
ctn_scene *parsed_scene(const char *text);

/// Its model. Fails the test likewise. Free with ctn_model_free().
ctn_model *model_of_scene(const ctn_scene *scene);

/// The model of a scene. Fails the test, with the scene's error, if there is none. Free with ctn_model_free().
ctn_model *model_of(const char *text);

/// A batch of the model. Fails the test, with the error, if there is none. Free with ctn_batch_free().
ctn_batch *batch_with(const ctn_model *m, const ctn_batch_config *cfg);

/// Largest difference of the coordinates x and y [nq]; quaternions up to their sign, which means nothing.
double coordinate_distance(const ctn_model *m, const double *x, const double *y);

#endif
