/// Golden data (tests/golden/README.md): JSON files of numbers, models by name.
#ifndef CATENA_TESTS_GOLDEN_H
#define CATENA_TESTS_GOLDEN_H

#include <catena/catena.h>
#include <cjson/cJSON.h>

extern const char *const golden_models[];  // NULL-terminated

/// tests/golden/MODEL/FILE; NULL if the model has no such file. Free with cJSON_Delete.
cJSON *golden_json(const char *model, const char *file);

/// tests/golden/MODEL/scene.yaml, compiled.
ctn_model *golden_model(const char *model);

/// A flat array, or a single number, of an object, as doubles; `n` must be its length. The caller frees it.
double *golden_numbers(const cJSON *object, const char *key, int n);

/// Largest |a - b| over the largest |b| (over 1 if b is zero); NaN if any of the differences is.
double relative_error(const double *a, const double *b, int n);

#endif
