#include "tests/golden_plans.h"

#include "tests/golden.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARM_MOTORS                                                                                                               \
    "[{joint: iiwa_link_1, type: torque}, {joint: iiwa_link_2, type: torque}, {joint: iiwa_link_3, type: torque},\n"             \
    "  {joint: iiwa_link_4, type: torque}, {joint: iiwa_link_5, type: torque}, {joint: iiwa_link_6, type: torque},\n"            \
    "  {joint: iiwa_link_7, type: torque}]"

const golden_case cases[CASES] = {
    {"pendulum-short",
     "links:\n"
     "  - {name: rod, joint: {type: revolute, axis: [0, 1, 0], damping: 0.1}, mass: 1, com: [0, 0, -0.5],\n"
     "     inertia: [0.083333333333333333, 0.083333333333333333, 1e-4, 0, 0, 0]}\n",
     "[{joint: rod, type: torque}]",
     NULL,
     {0},
     1e-9},
    {"cart-pole-swing-up",
     "links:\n"
     "  - {name: cart, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
     "  - {name: pole, parent: cart, joint: {type: revolute, axis: [0, -1, 0]}, mass: 0.3, com: [0, 0, -0.5],\n"
     "     inertia: [0.025, 0.025, 1e-4, 0, 0, 0]}\n",
     "[{joint: cart, type: torque}]",
     NULL,
     {0, 1},
     1e-7},
    {"two-link-reach",
     "links:\n"
     "  - {name: a, joint: {type: revolute, axis: [0, 1, 0], damping: 0.05}, mass: 1, com: [0, 0, -0.25],\n"
     "     inertia: [0.020833333333333333, 0.020833333333333333, 1e-4, 0, 0, 0]}\n"
     "  - {name: b, parent: a, position: [0, 0, -0.5], joint: {type: revolute, axis: [0, 1, 0], damping: 0.05}, mass: 0.8,\n"
     "     com: [0, 0, -0.2], inertia: [0.010666666666666667, 0.010666666666666667, 1e-4, 0, 0, 0]}\n",
     "[{joint: a, type: torque}, {joint: b, type: torque}]",
     NULL,
     {0, 1},
     1e-8},
    {"quadrotor", NULL, NULL, "quadrotor/scene.yaml", {0, 1, 2, 5, 4, 3}, 1e-8},
    {"iiwa14-reach", NULL, ARM_MOTORS, "iiwa14/scene.yaml", {0, 1, 2, 3, 4, 5, 6}, 1e-9},
    {"iiwa14-reach-semi-implicit", NULL, ARM_MOTORS, "iiwa14/scene.yaml", {0, 1, 2, 3, 4, 5, 6}, 1e-9},
};
enum { MOST_TEXT = 20000 };

static void put(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(char *text, const char *format, ...)
{
    const size_t at = strlen(text);
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text + at, MOST_TEXT - at, format, list);
    va_end(list);
    ck_assert(n >= 0 && (size_t)n < MOST_TEXT - at);
}

static void put_list(char *text, const char *name, const golden_case *of, const double *x, int n, double factor)
{
    put(text, "%s: [", name);
    double sorted[16] = {0};
    for (int i = 0; i < n; i++) sorted[of->order[i]] = x[i];
    for (int i = 0; i < n; i++) put(text, "%s%.17g", i ? ", " : "", factor * sorted[i]);
    put(text, "]");
}

static void put_file(char *text, const char *path)
{
    FILE *const f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s is not there", path);
    const size_t at = strlen(text), n = fread(text + at, 1, MOST_TEXT - at - 1, f);
    text[at + n] = 0;
    fclose(f);
}

static cJSON *file_of(const golden_case *of)
{
    char path[400];
    snprintf(path, sizeof path, "ddp/%s.json", of->name);
    cJSON *const file = golden_json("control", path);
    ck_assert_msg(file, "%s is not there", path);
    return file;
}

int golden_knots(const golden_case *of)
{
    cJSON *const file = file_of(of);
    const int knots = cJSON_GetObjectItemCaseSensitive(file, "N")->valueint;
    cJSON_Delete(file);
    return knots;
}

problem open_problem(const golden_case *of, const char *engine, int threads, double bound)
{
    char path[400];
    problem p = {.of = of, .file = file_of(of)};
    const char *const method = cJSON_GetObjectItemCaseSensitive(p.file, "integrator")->valuestring;
    p.N = cJSON_GetObjectItemCaseSensitive(p.file, "N")->valueint;
    p.nv = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(p.file, "x0")) / 2;
    p.nu = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(p.file, "u_guess"));
    const double T = cJSON_GetObjectItemCaseSensitive(p.file, "T")->valuedouble, h = T / p.N;
    double *const Q = golden_numbers(p.file, "Q", 2 * p.nv), *const R = golden_numbers(p.file, "R", p.nu),
                  *const end = golden_numbers(p.file, "Q_N", 2 * p.nv), *const goal = golden_numbers(p.file, "goal", 2 * p.nv),
                  *const guess = golden_numbers(p.file, "u_guess", p.nu), *const x0 = golden_numbers(p.file, "x0", 2 * p.nv);
    char *const text = calloc(MOST_TEXT, 1);
    if (of->links) put(text, "catena: 1\n%s", of->links);
    else snprintf(path, sizeof path, CATENA_SOURCE_DIR "/tests/golden/%s", of->scene), put_file(text, path);
    if (of->motors) put(text, "\nmotors: %s", of->motors);
    put(text, "\noptimize:\n  cost:\n    - {term: posture, ");
    put_list(text, "weight", of, Q, p.nv, 1 / h), put(text, ", ");
    put_list(text, "end", of, end, p.nv, 1), put(text, ", ");
    put_list(text, "target", of, goal, p.nv, 1), put(text, "}\n    - {term: velocity, ");
    put_list(text, "weight", of, Q + p.nv, p.nv, 1 / h), put(text, ", ");
    put_list(text, "end", of, end + p.nv, p.nv, 1), put(text, ", ");
    put_list(text, "target", of, goal + p.nv, p.nv, 1), put(text, "}\n    - {term: control, target: 0, weight: [");
    for (int i = 0; i < p.nu; i++) put(text, "%s%.17g", i ? ", " : "", R[i] / h);
    put(text, "]}\n");
    if (isfinite(bound)) put(text, "  bounds: [%.17g, %.17g]\n", -bound, bound);
    ctn_error err;
    p.scene = ctn_scene_parse(text, strlen(text), of->name, &err);
    ck_assert_msg(p.scene != NULL, "%s\n%s", err.message, text);
    p.model = ctn_model_create(p.scene, &err);
    ck_assert_msg(p.model != NULL, "%s", err.message);
    ctn_batch_config cfg = ctn_batch_config_default();
    ck_assert_int_eq(ctn_method_from_name(method, &cfg.method, &err), CTN_OK);
    cfg.dt = h, cfg.engine = engine, cfg.threads = threads;
    p.plant = scene_plant_open(p.scene, p.model, &cfg, T, 16, &err);
    ck_assert_msg(p.plant != NULL, "%s", err.message);
    ck_assert_int_eq(scene_plant_of(p.plant)->knots, p.N);
    p.x0 = calloc(2 * (size_t)p.nv, sizeof *p.x0), p.U = calloc((size_t)(p.N * p.nu), sizeof *p.U);
    for (int i = 0; i < 2 * p.nv; i++) p.x0[i / p.nv * p.nv + of->order[i % p.nv]] = x0[i];
    for (int k = 0; k < p.N * p.nu; k++) p.U[k] = guess[k % p.nu];
    free(Q), free(R), free(end), free(goal), free(guess), free(x0), free(text);
    return p;
}

void close_problem(problem *p)
{
    free(p->x0), free(p->U);
    scene_plant_close(p->plant), ctn_model_free(p->model), ctn_scene_free(p->scene);
    cJSON_Delete(p->file);
}

ilqr *begin_problem(const problem *p, const ilqr_config *cfg)
{
    ctn_error err;
    ilqr *const s = ilqr_open(scene_plant_of(p->plant), cfg, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    ck_assert_msg(ilqr_begin(s, p->x0, p->U, &err) == CTN_OK, "%s: %s", p->of->name, err.message);
    return s;
}

ilqr_config config_of(const problem *p)
{
    ilqr_config cfg = ilqr_default_config();
    cfg.rho = cJSON_GetObjectItemCaseSensitive(p->file, "rho_0")->valuedouble;
    return cfg;
}

void iterate(ilqr *s)
{
    ctn_error err;
    ck_assert_msg(ilqr_step(s, &err) == CTN_OK, "%s", err.message);
}
