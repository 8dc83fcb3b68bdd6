#include "tests/golden.h"
#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const golden_models[] = {
    "pendulum",       "double-pendulum", "chain5",    "chain10",       "chain40",        "ball5",
    "universal10",    "prismatic-mix",   "free-body", "flying-tree5",  "binary-tree4",   "mixed-joints",
    "helical-screws", "iiwa14",          "humanoid",  "spring-chain4", "contact-chain3", NULL};

cJSON *golden_json(const char *model, const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/%s/%s", CATENA_SOURCE_DIR, model, file);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    const size_t size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(size + 1);
    ck_assert(fread(text, 1, size, f) == size);
    text[size] = 0;
    fclose(f);
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "%s: not JSON", path);
    free(text);
    return json;
}

ctn_model *golden_model(const char *model)
{
    char path[1024];
    ctn_error err = {0};
    snprintf(path, sizeof path, "%s/tests/golden/%s/scene.yaml", CATENA_SOURCE_DIR, model);
    ctn_scene *scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    ctn_scene_free(scene);
    return m;
}

double *golden_numbers(const cJSON *object, const char *key, int n)
{
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(object, key);
    ck_assert_msg(a != NULL, "no '%s'", key);
    double *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    if (cJSON_IsNumber(a)) {
        ck_assert_int_eq(n, 1);
        x[0] = a->valuedouble;
        return x;
    }
    ck_assert_msg(cJSON_GetArraySize(a) == n, "'%s' has %d numbers, expected %d", key, cJSON_GetArraySize(a), n);
    int k = 0;
    for (const cJSON *e = a->child; e; e = e->next) x[k++] = e->valuedouble;
    return x;
}

double relative_error(const double *a, const double *b, int n)
{
    double worst = 0, scale = 0;
    for (int k = 0; k < n; k++) {
        worst = worse(worst, fabs(a[k] - b[k]));
        if (fabs(b[k]) > scale) scale = fabs(b[k]);
    }
    return worst / (scale > 0 ? scale : 1);
}
