/// What spins or rolls by position-based methods, which see it from frames that turn with it (integrators/turning_frame.h): the steps
/// of an independent prototype, closed forms, the law of energy, orders of convergence, the same bits in all lanes.
#include "tests/golden.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;  // in golden files
    ctn_method method;
    int stages;
} ways[] = {{"order2", CTN_COLLOCATION, 0},
            {"alpha0.2", CTN_ALPHA, 0},
            {"radau2", CTN_RADAU, 2},
            {"radau3", CTN_RADAU, 3},
            {"radau4", CTN_RADAU, 4}};
enum { WAYS = sizeof ways / sizeof *ways };

static ctn_batch_config config_of(int way, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = dt;
    if (ways[way].stages) cfg.stages = ways[way].stages;
    return cfg;
}

/// The state after `steps` from the scene's own; the caller frees it.
static double *run(const ctn_model *m, const ctn_batch_config *cfg, int steps, ctn_step_stats *stats)
{
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    double *const x = malloc((size_t)(nq + nv) * sizeof *x);
    ctn_batch *const b = batch_with(m, cfg);
    ck_assert_int_eq(ctn_batch_step(b, steps, stats, NULL), CTN_OK);
    ctn_batch_state(b, x, x + nq);
    ctn_batch_free(b);
    return x;
}

// ---- golden steps (tests/golden/spin)

static const char *const golden[] = {"spinup", "wheelarm", "gyro", "wheelarm3", "lagrange", "rover", "quad", "top", "flip"};

static void add_numbers(char *to, size_t room, const char *key, const cJSON *list)
{
    size_t at = strlen(to);
    at += (size_t)snprintf(to + at, room - at, ", %s: [", key);
    for (const cJSON *x = list->child; x; x = x->next)
        at += (size_t)snprintf(to + at, room - at, "%.17g%s", x->valuedouble, x->next ? ", " : "]");
}

static double number(const cJSON *of, const char *key) { return cJSON_GetObjectItem(of, key)->valuedouble; }

/// The model of a golden file as a scene; a translation with a ball on it is a free joint.
static ctn_model *golden_scene(const cJSON *file)
{
    static char text[20000];
    char motors[2000] = "";
    strcpy(text, "catena: 1\n");
    const cJSON *const g = cJSON_GetObjectItem(file, "gravity");
    sprintf(text + strlen(text), "gravity: [%.17g, %.17g, %.17g]\nlinks:\n", cJSON_GetArrayItem(g, 0)->valuedouble,
            cJSON_GetArrayItem(g, 1)->valuedouble, cJSON_GetArrayItem(g, 2)->valuedouble);
    int i = 0;
    bool flies = false;
    for (const cJSON *b = cJSON_GetObjectItem(file, "bodies")->child; b; b = b->next, i++) {
        const char *const joint = cJSON_GetObjectItem(b, "joint")->valuestring;
        const int parent = (int)number(b, "parent");
        if (!strcmp(joint, "translation")) {
            flies = true;
            continue;
        }
        const bool hinge = !strcmp(joint, "hinge"), free_joint = !hinge && flies && parent == i - 1;
        sprintf(text + strlen(text), "  - {name: b%d", i);
        if (parent >= 0 && !free_joint) sprintf(text + strlen(text), ", parent: b%d", parent);
        sprintf(text + strlen(text), ", joint: {type: %s", hinge ? "revolute" : free_joint ? "free" : "ball");
        if (hinge) add_numbers(text, sizeof text, "axis", cJSON_GetObjectItem(b, "axis"));
        if (hinge && number(b, "damping") > 0) sprintf(text + strlen(text), ", damping: %.17g", number(b, "damping"));
        sprintf(text + strlen(text), "}, mass: %.17g", number(b, "mass"));
        add_numbers(text, sizeof text, "position", cJSON_GetObjectItem(b, "position"));
        add_numbers(text, sizeof text, "com", cJSON_GetObjectItem(b, "com"));
        add_numbers(text, sizeof text, "inertia", cJSON_GetObjectItem(b, "inertia_about_com"));
        strcat(text, "}\n");
        if (hinge && number(b, "torque") != 0)
            sprintf(motors + strlen(motors), "  - {joint: b%d, type: torque, target: %.17g}\n", i, number(b, "torque"));
    }
    if (*motors) strcat(strcat(text, "motors:\n"), motors);
    return model_of(text);
}

START_TEST(golden_steps)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", golden[_i]);
    cJSON *const file = golden_json("spin/steps", name);
    ctn_model *const m = golden_scene(file);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    int compared = 0;
    for (const cJSON *r = cJSON_GetObjectItem(file, "runs")->child; r; r = r->next) {
        int way = 0;
        if (strcmp(cJSON_GetObjectItem(r, "form")->valuestring, "S")) continue;  // with the wheels counted to what carries them
        while (strcmp(ways[way].name, cJSON_GetObjectItem(r, "method")->valuestring)) way++;
        ctn_batch_config cfg = config_of(way, number(r, "dt"));
        cfg.tolerance = 1e-15;
        ctn_batch *const b = batch_with(m, &cfg);
        double *const q = malloc((size_t)nq * sizeof *q), *const v = malloc((size_t)nv * sizeof *v);
        int step = 0;
        for (const cJSON *s = cJSON_GetObjectItem(r, "steps")->child; s; s = s->next, step++, compared++) {
            double *const gq = golden_numbers(s, "q", nq), *const gv = golden_numbers(s, "v", nv), off = 0, scale = 1;
            if (!step) ck_assert_int_eq(ctn_batch_set_state(b, gq, gv, 0, NULL), CTN_OK);
            else ck_assert_int_eq(ctn_batch_step(b, 1, NULL, NULL), CTN_OK);
            ctn_batch_state(b, q, v);
            for (int k = 0; k < nv; k++) off = fmax(off, fabs(v[k] - gv[k])), scale = fmax(scale, fabs(gv[k]));
            off = fmax(off / scale, coordinate_distance(m, q, gq));
            ck_assert_msg(off < 1e-6, "%s, %s, dt %g, step %d: off by %g", golden[_i], ways[way].name, cfg.dt, step, off);
            free(gq), free(gv);
        }
        free(q), free(v), ctn_batch_free(b);
    }
    ck_assert_int_gt(compared, 50);
    cJSON_Delete(file), ctn_model_free(m);
}
END_TEST

// ---- closed forms

#define WHEEL(more)                                                                                                              \
    "  - {name: wheel, joint: {type: revolute, axis: [0, 0, 1]" more "}, mass: 2, inertia: [0.01, 0.01, 0.02, 0, 0, 0]}\n"
#define SLOPE "ground: {normal: [-0.25881904510252074, 0, 0.9659258262890683]}\ncontact: {friction: 0.6}\nlinks:\n"
#define ROLLS(inertia)                                                                                                           \
    "  - {name: ball, position: [-0.025881904510252074, 0, 0.09659258262890683], joint: free, mass: 3, inertia: " inertia        \
    ", shapes: [{type: sphere, radius: 0.1}]}\n"

static const struct {
    const char *scene;
    double duration;
    int dof;
    double right, within[WAYS];  // shares, of steps of up to 50 ms
} forms[] = {
    // a wheel of 0.02 kg m2 under 1 N m against 0.01 N m s: 100 (1 - exp(-t/2)) rad/s
    {"links:\n" WHEEL(", damping: 0.01") "motors:\n  - {joint: wheel, type: torque, target: 1}\n",
     6,
     0,
     95.02129316321360570,
     {3e-3, 3e-4, 2e-5, 1e-7, 1e-8}},
    {"links:\n" WHEEL(", v0: 30"), 60, 0, 30, {1e-9, 1e-9, 1e-9, 1e-9, 1e-9}},
    {"links:\n" WHEEL(", v0: 500"), 60, 0, 500, {1e-9, 1e-9, 1e-9, 1e-9, 1e-9}},
    {"links:\n" WHEEL("") "motors:\n  - {joint: wheel, type: velocity, kd: 0.05, target: 60}\n",
     30,
     0,
     60,
     {1e-9, 1e-9, 1e-9, 1e-9, 1e-9}},
    // down 15 degrees, g sin(15) / (1 + I/(m r2)) for 4 s, as rad/s: a ball, a coin, a hoop
    {SLOPE ROLLS("[0.012, 0.012, 0.012, 0, 0, 0]"), 4, 4, -72.5432879, {1e-3, 1e-3, 1e-3, 1e-5, 1e-5}},
    {SLOPE ROLLS("[0.0075, 0.015, 0.0075, 0, 0, 0]"), 4, 4, -67.7070687, {1e-3, 1e-3, 1e-3, 1e-5, 1e-5}},
    {SLOPE ROLLS("[0.015, 0.03, 0.015, 0, 0, 0]"), 4, 4, -50.7803016, {1e-3, 1e-3, 1e-3, 1e-5, 1e-5}},
};

START_TEST(closed_forms)
{
    static const double steps[] = {0.005, 0.01, 0.02, 0.05};
    char text[2000];
    snprintf(text, sizeof text, "catena: 1\n%s", forms[_i].scene);
    ctn_model *const m = model_of(text);
    for (int w = 0; w < WAYS; w++)
        for (int k = 0; k < 4; k++) {
            const ctn_batch_config cfg = config_of(w, steps[k]);
            double *const x = run(m, &cfg, (int)lround(forms[_i].duration / steps[k]), NULL),
                          v = x[ctn_model_nq(m) + forms[_i].dof];
            ck_assert_msg(fabs(v / forms[_i].right - 1) <= forms[_i].within[w], "%s, dt %g: %.10g, not %.10g", ways[w].name,
                          steps[k], v, forms[_i].right);
            free(x);
        }
    ctn_model_free(m);
}
END_TEST

/// A free symmetric body precesses: about its axis e the rates turn by w_e (1 - I_e/I_t), in space about L by L/I_t.
START_TEST(free_top)
{
    ctn_model *const m =
        model_of("catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: top, joint: {type: free, v0: [0, 0, 0, 2, 0, 10]}, "
                 "mass: 1, inertia: [1, 1, 2, 0, 0, 0]}\n");
    const double T = 5, turn = 10 * (1 - 2.0) * T, L = hypot(2, 20), half = 0.5 * L * T;
    // q = exp(L t/2) exp(-turn/2 e) from axes where L = (2, 0, 20)
    const double a[4] = {cos(half), sin(half) * 2 / L, 0, sin(half) * 20 / L}, c = cos(turn / 2), s = sin(turn / 2);
    const double q[7] = {0, 0, 0, a[0] * c - a[3] * s, a[1] * c + a[2] * s, a[2] * c - a[1] * s, a[3] * c + a[0] * s};
    for (int w = 0; w < WAYS; w++)
        for (double dt = 0.005; dt < 0.06; dt *= 2) {
            const ctn_batch_config cfg = config_of(w, dt);
            const int steps = (int)lround(T / dt);
            double *const x = run(m, &cfg, steps, NULL);
            const double off = fmax(fabs(x[7 + 3] - 2 * cos(turn)), fabs(x[7 + 4] + 2 * sin(turn)));
            ck_assert_msg(off < 1e-5 && fabs(x[7 + 5] - 10) < 1e-6, "%s, dt %g: rates %g, %g, %g", ways[w].name, dt, x[10], x[11],
                          x[12]);
            ck_assert_msg(fabs(steps * dt - T) > 1e-9 || coordinate_distance(m, x, q) < 1e-5, "%s, dt %g: attitude off by %g",
                          ways[w].name, dt, coordinate_distance(m, x, q));
            free(x);
        }
    ctn_model_free(m);
}
END_TEST

// ---- properties

/// Arms of one to three links, on axes of any direction, every fourth free, with a wheel of 20 to 300 rad/s at the end.
static ctn_model *random_arm(unsigned seed)
{
    char text[4000] = "catena: 1\nlinks:\n";
    srand(seed);
    const int links = 1 + rand() % 3;
    for (int i = 0; i <= links; i++) {
        const double ax = rand() % 201 - 100, ay = rand() % 201 - 100, az = rand() % 201 - 100.5;
        char *const end = text + strlen(text);
        if (i == links)
            sprintf(end,
                    "  - {name: wheel, parent: l%d, position: [0.3, 0.05, 0], joint: {type: revolute, axis: [0, 1, 0], v0: %d}, "
                    "mass: 0.5, "
                    "inertia: [0.002, 0.004, 0.002, 0, 0, 0]}\n",
                    links - 1, 20 + rand() % 280);
        else if (!i && seed % 4 == 0)
            sprintf(end,
                    "  - {name: l0, joint: {type: free, v0: [0, 0, 0, %d, 1, -1]}, mass: 1, com: [0.1, 0, 0], inertia: [0.003, "
                    "0.01, 0.012, 0, 0, 0]}\n",
                    rand() % 5);
        else
            sprintf(end,
                    "  - {name: l%d, %s%sposition: [%g, 0, 0], joint: {type: revolute, axis: [%g, %g, %g], v0: %d}, mass: 0.7, "
                    "com: [0.15, 0, 0], "
                    "inertia: [0.0003, 0.005, 0.005, 0, 0, 0]}\n",
                    i, i ? "parent: l" : "", i ? (i == 1 ? "0, " : "1, ") : "", i ? 0.3 : 0.0, ax, ay, az, rand() % 4);
    }
    return model_of(text);
}

/// No run has more energy than it began with: of order 2 but for rounding, of others within their law.
START_TEST(no_energy_made)
{
    static const double steps[] = {0.005, 0.02, 0.1};
    ctn_model *const m = random_arm((unsigned)_i + 1);
    for (int w = 0; w < WAYS; w++)
        for (int k = 0; k < 3; k++) {
            const ctn_batch_config cfg = config_of(w, steps[k]);
            ctn_step_stats s;
            double *const x = run(m, &cfg, (int)(4 / steps[k]), &s);
            const double most = w == 0 ? 1e-6 : 0.02, kinetic = fmax(s.energy_max - s.energy_min, 1) + fabs(s.energy_before);
            ck_assert_msg(s.energy_max <= s.energy_before + most * kinetic, "seed %d, %s, dt %g: from %.12g J up to %.12g",
                          _i + 1, ways[w].name, steps[k], s.energy_before, s.energy_max);
            free(x);
        }
    ctn_model_free(m);
}
END_TEST

/// Orders of convergence of what spins and is carried about: 1, 2, 3, 5, 7, against a fine run of an explicit method.
START_TEST(orders)
{
    static const double least[WAYS] = {0.8, 1.8, 2.7, 4.4, 6}, finest[WAYS] = {0.001, 0.002, 0.005, 0.01, 0.02};
    const char *const scenes[] = {
        "links:\n  - {name: arm, joint: {type: revolute, axis: [0, 0, 1], v0: 1}, mass: 0.7, com: [0.15, 0, 0], inertia: "
        "[0.0003, 0.005, 0.005, 0, 0, 0]}\n"
        "  - {name: l1, parent: arm, position: [0.3, 0, 0], joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0.2, 0, 0], "
        "inertia: [0.0003, 0.013, 0.013, 0, 0, 0]}\n"
        "  - {name: wheel, parent: l1, position: [0.4, 0.05, 0], joint: {type: revolute, axis: [0, 1, 0], v0: 30}, mass: 0.5, "
        "inertia: [0.002, 0.004, 0.002, 0, 0, 0]}\n",
        "links:\n  - {name: arm, joint: {type: revolute, axis: [0, 1, 0]}, mass: 0.7, com: [0.15, 0, 0], inertia: [0.0003, "
        "0.005, 0.005, 0, 0, 0]}\n"
        "  - {name: ball, parent: arm, position: [0.3, 0, 0], joint: {type: ball, v0: [5, 20, 3], damping: 0.001}, mass: 0.5, "
        "inertia: [0.002, 0.002, 0.002, 0, 0, 0]}\n",
        ("links:\n  - {name: body, joint: {type: free, v0: [0, 0, 0, 0.5, 8, 0.5]}, mass: 1, inertia: [1, 2, 2.5, 0, 0, 0]}\n"
         "forces:\n  - {link: body, point: [0.3, 0.1, 0], force: [0, 0, 30]}\n")};
    char text[3000];
    snprintf(text, sizeof text, "catena: 1\n%s", scenes[_i]);
    ctn_model *const m = model_of(text);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    ctn_batch_config fine = ctn_batch_config_default();
    fine.method = CTN_DOP853, fine.dt = 5e-4;
    double *const right = run(m, &fine, 800, NULL);
    for (int w = 0; w < WAYS; w++) {
        double e[2];
        for (int k = 0; k < 2; k++) {
            ctn_batch_config cfg = config_of(w, finest[w] * (k ? 1 : 2));
            cfg.tolerance = 1e-13;
            double *const x = run(m, &cfg, (int)lround(0.4 / cfg.dt), NULL);
            e[k] = coordinate_distance(m, x, right);
            for (int j = nq; j < nq + nv; j++) e[k] = fmax(e[k], fabs(x[j] - right[j]) / 30);
            free(x);
        }
        const double order = log2(e[0] / e[1]);
        ck_assert_msg(order > least[w] || e[1] < 1e-8, "scene %d, %s: errors %g, %g: order %g", _i, ways[w].name, e[0], e[1],
                      order);
    }
    free(right), ctn_model_free(m);
}
END_TEST

/// A world that spins has the same bits alone, among others in lanes, by iteration and step by step, saved and restored.
START_TEST(same_bits)
{
    enum { WORLDS = 11 };
    ctn_model *const m =
        _i % 2 ? random_arm((unsigned)_i)
               : model_of("catena: 1\nlinks:\n  - {name: body, joint: free, mass: 1, inertia: [1, 2, 2.5, 0, 0, 0]}\n"
                          "  - {name: ball, joint: {type: ball}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n");
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m);
    const ctn_batch_config one = config_of(_i % WAYS, 0.02);
    ctn_batch_config many = one;
    many.worlds = WORLDS, many.schedule = _i & 2 ? CTN_BY_STEP : CTN_BY_ITERATION;
    ctn_batch *const b = batch_with(m, &many), *const a = batch_with(m, &one);
    double *const q = malloc((size_t)(WORLDS * nq) * sizeof *q), *const v = malloc((size_t)(WORLDS * nv) * sizeof *v),
                  *const x = malloc((size_t)(nq + nv) * sizeof *x);
    ctn_batch_state(b, q, v);
    for (int k = 0; k < WORLDS * nv; k++) v[k] += sin(k + _i);
    ctn_batch_set_state(b, q, v, 0, NULL), ctn_batch_set_state(a, q + 7 * nq, v + 7 * nv, 0, NULL);
    ctn_batch_step(b, 40, NULL, NULL), ctn_batch_step(a, 25, NULL, NULL);
    void *const saved = malloc(ctn_batch_saved_size(a));
    ctn_batch_save(a, saved);
    ctn_batch_step(a, 3, NULL, NULL);
    ck_assert_int_eq(ctn_batch_restore(a, saved, ctn_batch_saved_size(a), NULL), CTN_OK);
    ctn_batch_step(a, 15, NULL, NULL);
    ctn_batch_state(b, q, v), ctn_batch_state(a, x, x + nq);
    ck_assert_mem_eq(x, q + 7 * nq, (size_t)nq * sizeof *x);
    ck_assert_mem_eq(x + nq, v + 7 * nv, (size_t)nv * sizeof *x);
    free(q), free(v), free(x), free(saved), ctn_batch_free(a), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("spin");
    TCase *const all = tcase_create("spin");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, golden_steps, 0, sizeof golden / sizeof *golden);
    tcase_add_loop_test(all, closed_forms, 0, sizeof forms / sizeof *forms);
    tcase_add_test(all, free_top);
    tcase_add_loop_test(all, no_energy_made, 0, 12);
    tcase_add_loop_test(all, orders, 0, 3);
    tcase_add_loop_test(all, same_bits, 0, 10);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
