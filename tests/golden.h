/// Golden data (tests/golden/README.md): JSON files of numbers, models by name.
#ifndef CATENA_TESTS_GOLDEN_H
#define CATENA_TESTS_GOLDEN_H

#include <catena/catena.h>
#include <cjson/cJSON.h>
#include <stdbool.h>

extern const char *const golden_models[];  // NULL-terminated

/// tests/golden/MODEL/FILE; NULL if the model has no such file. Free with cJSON_Delete.
cJSON *golden_json(const char *model, const char *file);

/// tests/golden/MODEL/scene.yaml, compiled.
ctn_model *golden_model(const char *model);

/// A flat array, or a single number, of an object, as doubles; `n` must be its length. The caller frees it.
double *golden_numbers(const cJSON *object, const char *key, int n);

/// Largest error of the coordinates (and of the velocities) at sample `index` of MODEL/trajectory.json, when stepped from the
/// first sample with this configuration.
double golden_trajectory_error(const char *model, const ctn_batch_config *cfg, int index, bool velocities);

/// Steps through the runs of MODEL/steps.json with this method and number of stages, with the run's dt and tolerance 1e-12, and
/// demands poses and velocities within 1e-8. Returns the number of steps compared.
int golden_steps_agree(const char *model, const ctn_batch_config *cfg, const char *method, int stages);

/// Largest |a - b| over the largest |b| (over 1 if b is zero); NaN if any of the differences is.
double relative_error(const double *a, const double *b, int n);

#endif
