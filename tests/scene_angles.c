/// Angles: in rad or, if they say so, in degrees; warnings of those that are most likely degrees, and of starts outside limits.
#include "sim/scene/scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#define JOINT(name, text) "  - {name: " name ", joint: {" text "}, " MASS "}\n"

/// Right angles are those of M_PI to the last bit.
START_TEST(degrees)
{
    ctn_scene *const scene = parse(
        LINKS JOINT("a", "type: revolute, q0: 90 deg, v0: 180 deg/s, limits: [-180deg, 180  deg], rest: +4.5e1 deg")
            JOINT("b", "type: universal, q0: [0.5 rad, -60 deg], v0: [1rad/s, 2], rest: 30 deg, limits: [none, [-1.5, 90 deg]]")
                JOINT("c", "type: planar, q0: [1, 2, 90 deg], v0: [3, 4, 90 deg/s], rest: [1, 2, 45 deg]")
                    JOINT("d", "type: ball, limits: 180 deg, v0: [90 deg/s, 0, 1 rad/s]")
                        JOINT("e", "type: helical, pitch: 1, q0: 720 deg")
                            JOINT("f", "type: free, v0: [1, 2, 3, 180 deg/s, 0, 0]") "  - {name: g, euler: [0, 90 deg, 3.5]}\n"
                                                                                     "  - {name: h, shapes: [{type: box, size: "
                                                                                     "[1, 1, 1], euler: [180 deg, 0, 0]}]}\n");
    const scene_link *const l = scene->links;
    EXACT(l[0].joint.q0, M_PI / 2);
    EXACT(l[0].joint.v0, M_PI);
    EXACT(l[0].joint.limits[0], -M_PI, M_PI);
    EXACT(l[0].joint.rest, M_PI / 4);
    NEAR(l[1].joint.q0, 1e-15, 0.5, -M_PI / 3);
    EXACT(l[1].joint.v0, 1, 2);
    NEAR(l[1].joint.rest, 1e-15, M_PI / 6, M_PI / 6);
    EXACT(l[1].joint.limits[1], -1.5, M_PI / 2);
    EXACT(l[2].joint.q0, 1, 2, M_PI / 2);
    EXACT(l[2].joint.v0, 3, 4, M_PI / 2);
    EXACT(l[2].joint.rest, 1, 2, M_PI / 4);
    EXACT(l[3].joint.limits[0], 0, M_PI);
    EXACT(l[3].joint.v0, M_PI / 2, 0, 1);
    EXACT(l[4].joint.q0, 4 * M_PI);
    EXACT(l[5].joint.v0, 1, 2, 3, M_PI, 0, 0);
    const double quarter = sqrt(0.5);  // Rz(3.5) Ry(90 deg)
    NEAR(l[6].rotation, 1e-15, quarter * cos(1.75), -quarter * sin(1.75), quarter * cos(1.75), quarter * sin(1.75));
    NEAR(l[7].shapes[0].rotation, 1e-15, 0, 1, 0, 0);
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    ctn_scene_free(scene);
}
END_TEST

/// Defaults, generators, the whole state, samples, cameras.
START_TEST(degrees_elsewhere)
{
    ctn_scene *const scene = parse("catena: 1\n"
                                   "defaults: {joint: {type: revolute, limits: [-90 deg, 90 deg], q0: 45 deg}}\n"
                                   "links:\n  - chain: {name: c, count: 2, step: [1, 0, 0], euler: [0, 0, 180 deg], " MASS "}\n"
                                   "  - {name: s, joint: {type: prismatic, limits: none}, " MASS "}\n"
                                   "state: {q: [60 deg, 0.5, 0.25], v: [1, 90 deg/s, 2]}\n"
                                   "sample:\n  q: {c.0: {grid: [-90 deg, 90 deg, 10]}, s: {uniform: [0, 1]}}\n"
                                   "  v: {c.0: {normal: [0, 180 deg/s]}}\n"
                                   "  parameters: {limit_upper: {all: {uniform: [45 deg, 90 deg]}}}\n"
                                   "camera: {azimuth: 90 deg, elevation: 0.5 rad, field_of_view: 120 deg}\n");
    const scene_link *const l = scene->links;
    NEAR(l[0].joint.q0, 1e-15, M_PI / 3);
    EXACT(l[1].joint.limits[0], -M_PI / 2, M_PI / 2);
    NEAR(l[0].rotation, 1e-15, 0, 0, 0, 1);
    EXACT(l[1].joint.v0, M_PI / 2);
    EXACT(&scene->spread[SAMPLE_Q][0].a, -M_PI / 2, M_PI / 2);
    ck_assert_int_eq(scene->spread[SAMPLE_Q][0].values, 10);
    EXACT(&scene->spread[SAMPLE_V][0].b, M_PI);
    EXACT(&scene->spread[SAMPLE_PARAMETER + CTN_LIMIT_UPPER][1].a, M_PI / 4, M_PI / 2);
    EXACT(&scene->cameras[0].azimuth, M_PI / 2, 0.5);
    NEAR(&scene->cameras[0].field, 1e-15, 2 * M_PI / 3);
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    ctn_scene_free(scene);
}
END_TEST

#define TURN(x) " is more than a full turn; write `" x " deg` for degrees, or `" x " rad` if it is meant"
#define AT "folder/t.yaml:"

static const struct {
    const char *text, *warnings;
} noticed[] = {
    {LINKS JOINT("a", "type: revolute, limits: [-180, 180]"), AT "3:48: joint.limits[0]: -180 rad" TURN("-180")},
    {LINKS JOINT("a", "type: revolute, limits: [-1, 90]"), AT "3:52: joint.limits[1]: 90 rad" TURN("90")},
    {LINKS JOINT("a", "type: universal, limits: [none, [-90, 90]]"), AT "3:56: joint.limits[1][0]: -90 rad" TURN("-90")},
    {LINKS JOINT("a", "type: planar, limits: [[-90, 90], [-9, 9], [-9, 1]]"), AT "3:67: joint.limits[2][0]: -9 rad" TURN("-9")},
    {LINKS JOINT("a", "type: revolute, q0: 45"), AT "3:43: joint.q0: 45 rad" TURN("45")},
    {LINKS JOINT("a", "type: revolute, rest: 45"), AT "3:45: joint.rest: 45 rad" TURN("45")},
    {LINKS "  - {name: a, euler: [0, 0, 90]}\n", AT "3:29: euler[2]: 90 rad" TURN("90")},
    {"catena: 1\ndefaults: {joint: {limits: [-90, 90]}}\nlinks:\n" JOINT("a", "type: revolute") JOINT("b", "type: revolute"),
     AT "2:29: defaults.joint.limits[0]: -90 rad" TURN("-90")},
    {TOP("sample: {q: {a: {uniform: [-1, 90]}}}"), AT "4:32: sample.q.a.uniform[1]: 90 rad" TURN("90")},
    {LINKS JOINT("a", "type: revolute, limits: [-1, 1], q0: 1.5"),
     AT "3:60: joint.q0: the joint starts at 1.5 rad, outside its limits [-1, 1]"},
    {LINKS JOINT("a", "type: prismatic, limits: [0.5, 1]"),
     AT "3:48: joint.limits: the joint starts at 0 m, outside its limits [0.5, 1]; give it a `q0`"},
    {LINKS JOINT("a", "type: universal, limits: [none, [-1, 1]], q0: [5, -2]"),
     AT "3:69: joint.q0: the joint starts at -2 rad, outside its limits [-1, 1]"},
    {LINKS JOINT("a", "type: ball, limits: 1, rest: [1, 0, 0, 0], q0: [1, 0, 0, 1]"),
     AT "3:70: joint.q0: the joint starts at 1.5708 rad from its `rest`, outside its limit of 1"},
    {LINKS JOINT("a", "type: revolute, limits: [-1, 1]") "state: {q: [-2]}\n",
     AT "4:13: state.q[0]: the joint starts at -2 rad, outside its limits [-1, 1]"},
};

START_TEST(likely_mistakes)
{
    ctn_scene *const scene = parse(noticed[_i].text);
    ck_assert_msg(!strcmp(ctn_scene_warnings(scene), noticed[_i].warnings), "got\n%s\nexpected\n%s\nof the text\n%s",
                  ctn_scene_warnings(scene), noticed[_i].warnings, noticed[_i].text);
    ctn_scene_free(scene);
}
END_TEST

/// Turns that are meant, screws, distances, states that a program wrote, limits with few digits.
START_TEST(not_noticed)
{
    ctn_scene *const scene =
        parse(LINKS JOINT("a", "type: revolute, limits: [-4 rad, 12.6 rad], q0: 7 rad")
                  JOINT("b", "type: helical, pitch: 1, limits: [0, 63], q0: 50") JOINT("c", "type: prismatic, limits: [-90, 90]")
                      JOINT("d", "type: revolute, limits: [-6.2832, 6.2832]")
                          JOINT("e", "type: ball, limits: 0.5, rest: [1, 0, 0, 1], q0: [1, 0, 0, 1]")
                              JOINT("f", "type: planar, q0: [90, 90, 1], limits: [none, [-90, 90], none]")
                                  JOINT("g", "type: revolute") "state: {q: [7, 50, 0, 0, 1, 0, 0, 1, 0, 0, 0, 90]}\n"
                                                               "sample: {q: {a: {grid: [0, 1, 90]}, c: {uniform: [0, 90]}}}\n");
    ck_assert_ptr_null(strstr(ctn_scene_warnings(scene), "turn"));
    ck_assert_ptr_null(strstr(ctn_scene_warnings(scene), "starts"));
    ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("angles");
    TCase *const tcase = tcase_create("texts");
    tcase_add_test(tcase, degrees);
    tcase_add_test(tcase, degrees_elsewhere);
    tcase_add_loop_test(tcase, likely_mistakes, 0, (int)(sizeof noticed / sizeof *noticed));
    tcase_add_test(tcase, not_noticed);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
