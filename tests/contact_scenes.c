/// What scenes on the ground are to do: a snake crawls as far as its wheels roll, a rover drives over boulders upright, and robots
/// stand on their motors, a push notwithstanding, but not a stronger one.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>

enum { MOST = 100 };

/// A scene that comes with catena, where `was` stands for it once, if given, with `is` in its place.
typedef struct {
    ctn_model *model;
    ctn_batch_config cfg;
    double duration;
} shipped;

static shipped shipped_scene(const char *name, const char *was, const char *is)
{
    static char text[50000], changed[50000];
    char path[300];
    snprintf(path, sizeof path, "%s/scenes/%s.yaml", CATENA_SOURCE_DIR, name);
    FILE *const f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    const char *const at = was ? strstr(text, was) : NULL;
    ck_assert(!was || at);
    const int written = snprintf(changed, sizeof changed, "%.*s%s%s", was ? (int)(at - text) : 0, text, was ? is : "",
                                 was ? at + strlen(was) : text);
    ck_assert_int_lt(written, (int)sizeof changed);
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(changed, strlen(changed), path, &err);
    ck_assert_msg(scene, "%s", err.message);
    shipped s = {ctn_model_create(scene, &err), ctn_scene_config(scene), ctn_scene_duration(scene)};
    ck_assert_msg(s.model, "%s", err.message);
    ck_assert(ctn_model_nq(s.model) <= MOST);
    ctn_scene_free(scene);
    return s;
}

static int coordinate_of(const ctn_model *m, const char *link)
{
    const int l = ctn_model_find(m, link);
    ck_assert_msg(l >= 0, "no link %s", link);
    return ctn_model_link(m, l)->qadr;
}

/// How a root that is free fared in a run: its least height (m) and uprightness, the share of its z axis that points upwards; the
/// state at the end, and the largest size that each coordinate had.
typedef struct {
    double least_height, least_upright, q[MOST], v[MOST], most[MOST];
} course;

static course run_of(const shipped *s, ctn_batch *b)
{
    course c = {.least_height = INFINITY, .least_upright = INFINITY};
    double created = 0;
    for (int k = 0; k < (int)lround(s->duration / s->cfg.dt); k++) {
        ctn_step_stats one;
        ck_assert_int_eq(ctn_batch_step(b, 1, &one, NULL), CTN_OK);
        ctn_batch_state(b, c.q, c.v);
        created += one.created;
        for (int i = 0; i < ctn_model_nq(s->model); i++) c.most[i] = fmax(c.most[i], fabs(c.q[i]));
        c.least_height = fmin(c.least_height, c.q[2]);
        c.least_upright = fmin(c.least_upright, 1 - 2 * (c.q[4] * c.q[4] + c.q[5] * c.q[5]));
    }
    ck_assert_msg(created < 0, "the method creates %g J", created);
    return c;
}

static course course_of(const shipped *s)
{
    ctn_batch *const b = batch_with(s->model, &s->cfg);
    const course c = run_of(s, b);
    ctn_batch_free(b);
    return c;
}

/// A snake crawls 3 m in 10 s. With wheels that hardly turn, by a damper of 100 N m s/rad, it stays where it is: they are what
/// moves it.
START_TEST(snake)
{
    shipped s = shipped_scene("snake", NULL, NULL);
    const course rolls = course_of(&s);
    ck_assert_msg(rolls.q[0] > 3 && rolls.least_upright > 0.999, "comes to %g m", rolls.q[0]);
    ctn_parameter held[MOST];
    double damping[MOST];
    int wheels = 0;
    for (int l = 0; l < ctn_model_nlink(s.model); l++)
        if (strstr(ctn_model_link(s.model, l)->name, "wheel"))
            held[wheels] = (ctn_parameter){CTN_DAMPING, l}, damping[wheels++] = 100;
    ck_assert_int_eq(wheels, 24);
    s.cfg.parameters = held, s.cfg.parameter_count = wheels;
    ctn_batch *const b = batch_with(s.model, &s.cfg);
    ck_assert_int_eq(ctn_batch_set_parameters(b, damping, NULL), CTN_OK);
    const course slides = run_of(&s, b);
    ck_assert_msg(fabs(slides.q[0]) < 0.1, "comes to %g m on wheels that do not turn", slides.q[0]);
    ctn_batch_free(b), ctn_model_free(s.model);
}
END_TEST

/// A rover drives 6 m in 12 s and leans by less than 25 degrees; its wheels turn as fast as their servos say. That boulders were in
/// its way is seen of a bogie that turned by 20 degrees.
START_TEST(rover)
{
    const shipped s = shipped_scene("rover", NULL, NULL);
    const course c = course_of(&s);
    ck_assert_msg(c.q[0] + 4 > 6 && c.least_upright > 0.906, "comes to %g m, upright by %g", c.q[0], c.least_upright);
    const double tilt = c.most[coordinate_of(s.model, "left_bogie")];
    ck_assert_msg(tilt > 0.35, "the bogie turns by %g", tilt);
    static const char *const wheels[] = {"left_front", "left_middle", "left_hind", "right_front", "right_middle", "right_hind"};
    for (int k = 0; k < 6; k++) {
        const double speed = c.v[ctn_model_link(s.model, ctn_model_find(s.model, wheels[k]))->vadr];
        ck_assert_msg(fabs(speed - 5) < 0.5, "%s: %g rad/s", wheels[k], speed);
    }
    ctn_model_free(s.model);
}
END_TEST

/// Robots that are dropped or stand, and are pushed, stay up all the time and are at rest in the end, with joints near their
/// targets; pushed harder, they fall.
START_TEST(robots_stand)
{
    static const struct {
        const char *name, *push, *harder;
        double height, upright, fallen, sag;
        struct {
            const char *name;
            double target;
        } joints[4];
    } robots[] = {{"go2",
                   ", 140, 0]",
                   ", 180, 0]",
                   0.22,
                   0.95,
                   0.1,
                   0.2,
                   {{"front_left_hip", 0}, {"front_left_thigh", 0.9}, {"front_right_calf", -1.8}, {"hind_right_calf", -1.8}}},
                  {"g1",
                   ", 80, 0]",
                   ", 100, 0]",
                   0.77,
                   0.99,
                   0.2,
                   0.03,
                   {{"left_hip_pitch", -0.2}, {"right_knee", 0.4}, {"left_ankle_pitch", -0.2}, {"left_elbow", 0.9}}}};
    const shipped s = shipped_scene(robots[_i].name, NULL, NULL);
    const course c = course_of(&s);
    ck_assert_msg(c.least_height > robots[_i].height && c.least_upright > robots[_i].upright,
                  "%s: comes down to %g m, upright by %g", robots[_i].name, c.least_height, c.least_upright);
    for (int k = 0; k < 4; k++) {
        const double off = c.q[coordinate_of(s.model, robots[_i].joints[k].name)] - robots[_i].joints[k].target;
        ck_assert_msg(fabs(off) < robots[_i].sag, "%s: off by %g", robots[_i].joints[k].name, off);
    }
    for (int k = 0; k < ctn_model_nv(s.model); k++) ck_assert_msg(fabs(c.v[k]) < 0.02, "v[%d] is %g", k, c.v[k]);
    const shipped harder = shipped_scene(robots[_i].name, robots[_i].push, robots[_i].harder);
    const course falls = course_of(&harder);
    ck_assert_msg(falls.q[2] < robots[_i].fallen, "pushed harder: at %g m", falls.q[2]);
    ctn_model_free(harder.model), ctn_model_free(s.model);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("contact_scenes");
    TCase *const t = tcase_create("contact_scenes");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, snake);
    tcase_add_test(t, rover);
    tcase_add_loop_test(t, robots_stand, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
