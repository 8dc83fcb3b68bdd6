/// What the warning about stiff springs, limits and dampers says, against the methods themselves: they blow up where it says so,
/// and not where it does not.
#include "sim/model/step_limit.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static ctn_batch_config config_of(ctn_method method, int order, double dt)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method, cfg.order = order, cfg.dt = dt;
    return cfg;
}

/// The largest energy (J) in `steps` steps from what the batch is at.
static double largest_energy(ctn_batch *b, int steps)
{
    ctn_step_stats s;
    ctn_batch_step(b, steps, &s, NULL);
    return s.frozen ? INFINITY : s.energy_max;
}

static const struct {
    ctn_method method;
    int order;
} methods[] = {{CTN_EULER, 2}, {CTN_SEMI_IMPLICIT, 2}, {CTN_RK2, 2},         {CTN_RK3, 2},
               {CTN_RK4, 2},   {CTN_DOP853, 2},        {CTN_VARIATIONAL, 2}, {CTN_VARIATIONAL, 4}};
enum { METHODS = sizeof methods / sizeof *methods };

/// A body on a torsion spring and a damper is the test equation itself: the amplitudes of a run grow, or fade, as
/// growth_of_vibration() says.
START_TEST(test_equation)
{
    static const double frequencies[] = {0.6, 1.4, 1.9, 2.2, 2.75, 2.95, 6.5}, dampings[] = {0, 0.3, 1.8, 2.6, 7};
    const double h = 1. / 64;
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 5; j++) {
            const double w = frequencies[i] / h, c = dampings[j] / h;
            if (methods[_i].method == CTN_VARIATIONAL && c > 0) continue;  // its dampers are implicit: they only help
            char text[300];
            snprintf(
                text, sizeof text,
                "catena: 1\ngravity: [0, 0, 0]\nlinks:\n  - {name: a, joint: {type: revolute, stiffness: %.17g, damping: %.17g, "
                "q0: 1e-30, v0: 1e-29}, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n",
                w * w, c);
            ctn_model *const m = model_of(text);
            const ctn_batch_config cfg = config_of(methods[_i].method, methods[_i].order, h);
            const double rate = growth_of_vibration(&cfg, w * w, c, h);
            // long enough for the larger eigenvalue to show, short enough for doubles
            const int steps = (int)fmin(300, 15 / (fabs(rate) * h) + 1);
            ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
            largest_energy(b, steps);
            const double first = largest_energy(b, steps), second = largest_energy(b, steps);
            const double seen = log(second / first) / (2 * h * steps), slack = 1.5 / (h * steps) + 0.02 * fabs(rate);
            ck_assert_msg(fabs(seen - rate) < slack, "%s, order %d, w h %g, c h %g: grows by %g/s, not %g",
                          ctn_method_name(cfg.method), cfg.order, frequencies[i], dampings[j], seen, rate);
            ctn_batch_free(b), ctn_model_free(m);
        }
}
END_TEST

/// Where methods stop being stable, from the literature: on the imaginary axis and on the negative real one. [Hairer, Wanner,
/// Solving Ordinary Differential Equations II, IV.2; Yoshida 1990 for the composition of order 4: 1.573]
START_TEST(known_limits)
{
    static const struct {
        ctn_method method;
        int order;
        double vibration, decay;
    } known[] = {{CTN_SEMI_IMPLICIT, 2, 2, 2},
                 {CTN_RK3, 2, 1.7320508, 2.5127453},
                 {CTN_RK4, 2, 2.8284271, 2.7852936},
                 {CTN_VARIATIONAL, 2, 2, 0},
                 {CTN_VARIATIONAL, 4, 1.5734019, 0},
                 {CTN_EULER, 2, 0, 2},
                 {CTN_RK2, 2, 0, 2}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const ctn_batch_config cfg = config_of(known[k].method, known[k].order, 1);
        const double w = known[k].vibration, c = known[k].decay;
        if (w > 0) {
            ck_assert_double_lt(growth_of_vibration(&cfg, w * w * (1 - 1e-6), 0, 1), 1e-8);
            ck_assert_double_gt(growth_of_vibration(&cfg, w * w * (1 + 1e-6), 0, 1), 1e-8);
        } else ck_assert_double_gt(growth_of_vibration(&cfg, 0.01, 0, 1), 1e-6);
        if (c > 0) {
            ck_assert_double_lt(growth_of_vibration(&cfg, 0, c * (1 - 1e-6), 1), 1e-8);
            ck_assert_double_gt(growth_of_vibration(&cfg, 0, c * (1 + 1e-6), 1), 1e-8);
        }
    }
}
END_TEST

static const char *warnings_of(ctn_scene *scene, const ctn_batch_config *cfg)
{
    ctn_model *const m = ctn_model_create(scene, NULL);
    ck_assert(warn_of_stiffness(scene, m, cfg));
    ctn_model_free(m);
    return ctn_scene_warnings(scene);
}

static ctn_scene *scene_of(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "s.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

/// A tree on springs and dampers of many strengths: at the step that the warning says the method holds it, at one a quarter
/// larger it does not. What vibrates fastest involves several joints.
START_TEST(the_step_that_is_said)
{
    static const char *const trees[] = {"joint: {type: revolute, stiffness: 900}", "joint: {type: revolute, damping: 3}",
                                        "joint: {type: revolute, stiffness: 500, damping: 0.6}"};
    for (int k = 0; k < 3; k++) {
        if (methods[_i].method == CTN_EULER || methods[_i].method == CTN_RK2)
            continue;  // nothing is sharp: vibrations grow at every step
        if (methods[_i].method == CTN_VARIATIONAL && k) continue;
        char text[900];
        snprintf(
            text, sizeof text,
            "catena: 1\ngravity: [0, 0, 0]\ndefaults: {mass: 1, com: [0.3, 0.1, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0], "
            "%s}\nlinks:\n"
            "  - {name: a}\n  - {name: b, parent: a, position: [0.5, 0, 0]}\n  - {name: c, parent: b, position: [0.3, 0.3, 0]}\n"
            "  - {name: d, parent: b, position: [0, 0.4, 0]}\nstate: {v: [1e-6, 2e-6, -3e-6, 1e-6]}\n",
            trees[k]);
        ctn_scene *const scene = scene_of(text);
        ctn_batch_config cfg = config_of(methods[_i].method, methods[_i].order, 0.5);
        const char *const said = warnings_of(scene, &cfg), *const take = strstr(said, ": take dt ");
        double dt = 0;
        ck_assert_msg(
            take && sscanf(take, ": take dt %lf or less, or a method that holds any stiffness: radau, collocation", &dt) == 1,
            "%s", said);
        ctn_model *const m = ctn_model_create(scene, NULL);
        double most[2];
        for (int large = 0; large < 2; large++) {
            cfg.dt = large ? 1.25 * dt : dt;
            ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
            ctn_step_stats s;
            ctn_batch_step(b, 1, &s, NULL);
            most[large] = largest_energy(b, (int)(10 / cfg.dt)) / s.energy_before;
            ctn_batch_free(b);
        }
        ck_assert_msg(most[0] < 30 && most[1] > 1e3, "%s, tree %d, dt %g: energy times %g; a quarter larger: %g",
                      ctn_method_name(cfg.method), k, dt, most[0], most[1]);
        ctn_model_free(m), ctn_scene_free(scene);
    }
}
END_TEST

#define LINK "mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n"

/// Link, key, line and column; the step and the remedy.
START_TEST(places)
{
    static const struct {
        const char *method, *defaults, *links, *says;
    } cases[] = {
        {"semi-implicit, dt: 0.01", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 2500}, " LINK,
         "s.yaml:5:52: joint.stiffness: the spring of 'arm' (500 rad/s with what it moves) is too stiff for semi-implicit in "
         "steps of 0.01 s: "
         "take dt 0.0039 or less, or a method that holds any stiffness: radau, collocation"},
        {"rk4, dt: 0.01", NULL, "  - {name: arm, joint: {type: revolute, damping: 5}, " LINK,
         "s.yaml:5:50: joint.damping: the damper of 'arm' (stops what it moves in 0.002 s) is too stiff for rk4 in steps of 0.01 "
         "s: take dt 0.0055 "
         "or less, or "},
        {"rk4, dt: 0.01", NULL,
         "  - {name: arm, joint: {type: revolute, limits: [-1, 1], limit_stiffness: 2500, limit_damping: 0}, " LINK,
         "s.yaml:5:75: joint.limit_stiffness: the spring at a limit of 'arm' (500 rad/s with what it moves) is too stiff for "
         "rk4"},
        {"rk4, dt: 0.01", NULL,
         "  - {name: arm, joint: {type: revolute, limits: [-1, 1], limit_stiffness: 1, limit_damping: 5}, " LINK,
         "s.yaml:5:93: joint.limit_damping: the damper at a limit of 'arm' (stops what it moves in 0.002 s) is too stiff for "
         "rk4"},
        {"semi-implicit, dt: 0.01", NULL,
         "  - {name: post}\n  - {name: arm, parent: post, joint: {type: prismatic, limits: [-0.01, 0.01], "
         "limit_damping: 0}, mass: 1, "
         "inertia: [0.01, 0.01, 0.01, 0, 0, 0], com: [0, 0, 0.2]}\n",
         "s.yaml:6:64: joint.limits: the spring at a limit of 'arm' ("},
        {"variational, dt: 0.01", NULL, "  - {name: arm, joint: {type: universal, stiffness: [1, 2500]}, " LINK,
         "s.yaml:5:53: joint.stiffness: the spring of 'arm' (500 rad/s with what it moves) is too stiff for variational"},
        {"euler, dt: 0.01", NULL, "  - {name: arm, joint: {type: ball, stiffness: 25}, " LINK,
         "is too stiff for euler in steps of 0.01 s: take dt "},
        {"rk4, dt: 0.01", NULL, "  - {name: arm, joint: {type: free, damping: 500}, " LINK, "joint.damping: the damper of 'arm'"},
        {"rk4, dt: 5.0e-324", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 1.0e+308}, " LINK,
         " is too stiff for rk4 in steps of 4.94066e-324 s: take a method that holds any stiffness"},
        // of several the stiffest; defaults have their own place
        {"rk4, dt: 0.01", "defaults: {joint: {type: revolute, stiffness: 2000}}",
         "  - {name: a, " LINK "  - {name: b, parent: a, joint: {stiffness: 1e6}, " LINK "  - {name: c, parent: b, " LINK,
         "s.yaml:6:45: joint.stiffness: the spring of 'b'"},
        {"rk4, dt: 0.01", "defaults: {joint: {type: revolute, stiffness: 2000}}", "  - {name: a, " LINK,
         "s.yaml:3:47: joint.stiffness: the spring of 'a'"},
        // what holds
        {"semi-implicit, dt: 0.0039", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 2500}, " LINK, NULL},
        {"rk4, dt: 0.0056", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 2500}, " LINK, NULL},
        {"radau, dt: 0.1", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 1e9, limits: [-1, 1]}, " LINK, NULL},
        {"collocation, dt: 0.1", NULL, "  - {name: arm, joint: {type: revolute, damping: 1e9}, " LINK, NULL},
        {"dop853, dt: auto", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 1e9}, " LINK, NULL},
        {"variational, dt: 0.1", NULL, "  - {name: arm, joint: {type: revolute, damping: 1e9}, " LINK, NULL},
        {"rk4, dt: 10", NULL, "  - {name: arm, joint: ball, " LINK, NULL},
        // what no step holds, and what is beyond numbers
        {"rk4, dt: 0.01", NULL, "  - {name: arm, joint: {type: revolute, stiffness: 1e300}, " LINK,
         "is too stiff for rk4 in steps of 0.01 s: take a method that holds any stiffness"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[900];
        snprintf(text, sizeof text, "catena: 1\nintegrator: {method: %s}\n%s\nlinks:\n%s", cases[k].method,
                 cases[k].defaults ? cases[k].defaults : "duration: 10", cases[k].links);
        ctn_scene *const scene = scene_of(text);
        const ctn_batch_config cfg = ctn_scene_config(scene);
        const char *const said = warnings_of(scene, &cfg);
        ck_assert_msg(cases[k].says ? strstr(said, cases[k].says) != NULL : !*said, "case %zu: expected '%s', found '%s'", k,
                      cases[k].says ? cases[k].says : "", said);
        ck_assert_int_eq(ctn_scene_warning_count(scene), cases[k].says != NULL);
        ctn_scene_free(scene);
    }
}
END_TEST

/// A spring to the world is warned of at its own place, just where its method blows up: the point of a turning rod has the
/// mobility l^2/I.
START_TEST(springs_to_the_world)
{
    const double w = 250, mobility = 0.5 * 0.5 / 0.1;
    char text[400];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: rod, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, inertia: [0.1, 0.1, 0.1, 0, "
             "0, 0]}\n"
             "springs:\n  - {link: rod, point: [0.5, 0, 0], anchor: [0.5, 0, 0.1], stiffness: %.17g}\n",
             w * w / mobility);
    for (int k = 0; k < 4; k++) {
        const ctn_method method = k % 2 ? CTN_RK4 : CTN_SEMI_IMPLICIT;
        const double edge = (k % 2 ? 2.82 : 2) / w;
        ctn_batch_config cfg = config_of(method, 2, k < 2 ? 0.95 * edge : 1.05 * edge);
        ctn_error err;
        ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
        ck_assert_msg(scene != NULL, "%s", err.message);
        ctn_model *const m = ctn_model_create(scene, &err);
        ck_assert(warn_of_stiffness(scene, m, &cfg));
        ck_assert_int_eq(ctn_scene_warning_count(scene), k < 2 ? 0 : 1);
        if (k >= 2) {
            const char *const says = ctn_scene_warnings(scene);
            ck_assert_msg(
                strstr(says, "t.yaml:5:71: springs[0].stiffness: the spring that holds 'rod' (250 rad/s with what it moves)"),
                "%s", says);
        }
        ctn_model_free(m), ctn_scene_free(scene);
    }
}
END_TEST

/// The ground is warned of where a method cannot hold it, with a step that does: a ball that is dropped and thrown then rolls
/// without slipping. At three times this step, it does not.
START_TEST(the_ground)
{
    static const ctn_method on_ground[] = {CTN_EULER, CTN_SEMI_IMPLICIT, CTN_RK4, CTN_DOP853, CTN_VARIATIONAL, CTN_COLLOCATION};
    const char *const text =
        "catena: 1\nground: true\ncontact: {depth: 0.001}\nlinks:\n"
        "  - {name: ball, position: [0, 0, 0.105], joint: free, density: 500, shapes: [{type: sphere, radius: 0.1}]}\n";
    ctn_batch_config cfg = config_of(on_ground[_i], 2, 0.01);
    ctn_scene *const scene = scene_of(text);
    const char *const said = warnings_of(scene, &cfg), *const take = strstr(said, ": take dt ");
    // of the surface, which turns, too: k/m (1 + r^2 m/I) = 3.5 g/depth
    if (cfg.method == CTN_COLLOCATION) ck_assert_msg(!*said, "%s", said);
    else ck_assert_msg(take && strstr(said, "s.yaml:3:10: contact: the ground under 'ball' (185 rad/s"), "%s", said);
    if (take) cfg.dt = strtod(take + strlen(": take dt "), NULL);
    ctn_model *const m = ctn_model_create(scene, NULL);
    for (int k = 0; k < (take ? 2 : 1); k++) {
        ctn_batch *const b = batch_with(m, &cfg);
        double q[7], v[6] = {0.1};
        ctn_step_stats s;
        ck_assert_int_eq(ctn_batch_set_state(b, m->q0, v, 0, NULL), CTN_OK);
        ctn_batch_step(b, (int)(3 / cfg.dt), &s, NULL), ctn_batch_state(b, q, v);
        const double slips = v[0] - 0.099 * v[4];
        const bool rolls = !s.frozen && fabs(v[2]) < 1e-6 && fabs(q[2] - 0.099) < 1e-6 && v[0] > 0.05 && fabs(slips) < 2e-3;
        ck_assert_msg(rolls == !k, "%s, dt %g: %g m/s at %g, slips %g", ctn_method_name(cfg.method), cfg.dt, v[2], q[2], slips);
        ctn_batch_free(b), cfg.dt *= 3;
    }
    ctn_model_free(m), ctn_scene_free(scene);
}
END_TEST

/// A box sways on its bristles and rocks on the four corners of the face that is down, four times as stiff as one: the largest
/// eigenvalue in closed form.
START_TEST(all_points_at_once)
{
    const char *const text =
        "catena: 1\nground: true\ncontact: {depth: 0.001}\nlinks:\n  - {name: box, position: [0, 0, 0.2], joint: free, mass: 2, "
        "inertia: [0.02, 0.02, 0.02, 0, 0, 0], shapes: [{type: box, size: [0.1, 0.1, 0.4]}]}\n";
    const double k = 2 * 9.81 / 0.001, a = 4 * k / 2, b = -4 * k * 0.2, d = 4 * k * (0.05 * 0.05 + 0.2 * 0.2);
    // H^-1 K of sway and tilt: K = [4 k, -4 k z; -4 k z, 4 k (x^2 + z^2)]
    const double trace = a + d / 0.02, determinant = a * d / 0.02 - b * b / (2 * 0.02);
    const double fast = sqrt(trace / 2 + sqrt(trace * trace / 4 - determinant));
    ctn_scene *const scene = scene_of(text);
    const ctn_batch_config cfg = config_of(CTN_SEMI_IMPLICIT, 2, 0.01);
    const char *const said = warnings_of(scene, &cfg), *const pace = strstr(said, "the ground under 'box' (");
    ck_assert_msg(pace, "%s", said);
    const double told = strtod(pace + strlen("the ground under 'box' ("), NULL);
    ck_assert_msg(fabs(told - fast) < 0.006 * fast, "%g rad/s, not %g", told, fast);
    ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("step limit");
    TCase *const t = tcase_create("step limit");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_equation, 0, METHODS);
    tcase_add_test(t, known_limits);
    tcase_add_loop_test(t, the_step_that_is_said, 0, METHODS);
    tcase_add_test(t, places);
    tcase_add_test(t, springs_to_the_world);
    tcase_add_loop_test(t, the_ground, 0, 6);
    tcase_add_test(t, all_points_at_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
