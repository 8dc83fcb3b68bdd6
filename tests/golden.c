#include "tests/golden.h"
#include "tests/text_model.h"
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

double golden_trajectory_error(const char *model, const ctn_batch_config *cfg, int index, bool velocities)
{
    cJSON *json = golden_json(model, "trajectory.json");
    const cJSON *samples = cJSON_GetObjectItem(json, "samples");
    ctn_model *m = golden_model(model);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    const cJSON *first = cJSON_GetArrayItem(samples, 0), *last = cJSON_GetArrayItem(samples, index);
    double *q0 = golden_numbers(first, "q", nq), *v0 = golden_numbers(first, "v", nv), *q1 = golden_numbers(last, "q", nq),
           *v1 = golden_numbers(last, "v", nv), *q = malloc((size_t)nq * sizeof *q), *v = malloc((size_t)nv * sizeof *v);
    ctn_error err = {0};
    ctn_batch *b = ctn_batch_create(m, cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    ck_assert(ctn_batch_set_state(b, q0, v0, 0, &err) == CTN_OK);
    ck_assert_int_eq(ctn_batch_step(b, (int)lrint(cJSON_GetObjectItem(last, "t")->valuedouble / cfg->dt), NULL, &err), CTN_OK);
    ctn_batch_state(b, q, v);
    double worst = 0;
    for (int k = 0; k < nv && velocities; k++) worst = worse(worst, fabs(v[k] - v1[k]));
    worst = worse(worst, coordinate_distance(m, q, q1));
    free(q0), free(v0), free(q1), free(v1), free(q), free(v);
    ctn_batch_free(b), ctn_model_free(m), cJSON_Delete(json);
    return worst;
}

int golden_steps_agree(const char *name, const ctn_batch_config *config, const char *method, int stages)
{
    ctn_batch_config cfg = *config;
    cJSON *json = golden_json(name, "steps.json");
    ctn_model *m = golden_model(name);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), nl = ctn_model_nlink(m);
    ctn_dynamics *dyn = ctn_dynamics_create(m, "scalar", NULL);
    double *q = malloc((size_t)nq * sizeof *q), *v = malloc((size_t)nv * sizeof *v), *R[2], *p[2];
    for (int s = 0; s < 2; s++) R[s] = malloc(9 * (size_t)nl * sizeof *R[s]), p[s] = malloc(3 * (size_t)nl * sizeof *p[s]);
    int compared = 0;
    for (const cJSON *run = cJSON_GetObjectItem(json, "runs")->child; run; run = run->next) {
        if (strcmp(cJSON_GetObjectItem(run, "method")->valuestring, method)) continue;
        if (cJSON_GetObjectItem(run, "stages")->valueint != stages) continue;
        ctn_error err = {0};
        cfg.dt = cJSON_GetObjectItem(run, "dt")->valuedouble, cfg.tolerance = 1e-12;
        ctn_batch *b = ctn_batch_create(m, &cfg, &err);
        ck_assert_msg(b != NULL, "%s", err.message);
        int index = 0;
        for (const cJSON *step = cJSON_GetObjectItem(run, "steps")->child; step; step = step->next, index++) {
            double *want_q = golden_numbers(step, "q", nq), *want_v = golden_numbers(step, "v", nv);
            const cJSON *other = cJSON_GetObjectItem(step, "other_solutions");
            if (other && other->valueint) {  // a correct solver may land elsewhere from here
                free(want_q), free(want_v);
                break;
            }
            if (index == 0) ck_assert(ctn_batch_set_state(b, want_q, want_v, 0, NULL) == CTN_OK);
            else {
                ctn_step_stats stats;
                const ctn_status status = ctn_batch_step(b, 1, &stats, NULL);
                ck_assert_msg(status == CTN_OK, "%s, %d stages, dt %g, step %d: %s", name, stages, cfg.dt, index,
                              ctn_status_name(status));
                ctn_batch_state(b, q, v);
                ctn_forward_kinematics(dyn, 1, q, R[0], p[0]);
                ctn_forward_kinematics(dyn, 1, want_q, R[1], p[1]);
                const double eR = relative_error(R[0], R[1], 9 * nl), ep = relative_error(p[0], p[1], 3 * nl),
                             ev = relative_error(v, want_v, nv);
                ck_assert_msg(eR < 1e-8 && ep < 1e-8 && ev < 1e-8, "%s, %d stages, dt %g, step %d: R %.3g p %.3g v %.3g", name,
                              stages, cfg.dt, index, eR, ep, ev);
                double *tip = golden_numbers(step, "tip", 3);
                ck_assert(relative_error(p[0] + 3 * (nl - 1), tip, 3) < 1e-8);
                free(tip);
                compared++;
            }
            free(want_q), free(want_v);
        }
        ctn_batch_free(b);
    }
    for (int s = 0; s < 2; s++) free(R[s]), free(p[s]);
    free(q), free(v);
    ctn_dynamics_free(dyn), ctn_model_free(m), cJSON_Delete(json);
    return compared;
}
