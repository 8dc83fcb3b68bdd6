/// What a scene says about many links at once, its defaults and its state; and warnings of what it says in vain.
#include "sim/scene/scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

START_TEST(defaults_apply_where_they_can)
{
    ctn_scene *const scene = parse("catena: 1\n"
                                   "defaults:\n"
                                   "  position: [0, 0, 1]\n"
                                   "  rotation: [0, 1, 0, 0]\n"
                                   "  mass: 3\n"
                                   "  inertia: [1, 1, 1, 0, 0, 0]\n"
                                   "  com: [1, 0, 0]\n"
                                   "  joint: {type: revolute, axis: [0, 1, 0], damping: 0.5, limits: [-1, 1], effort: [1, 2], "
                                   "q0: 0.25, pitch: 0.1, rest: 2}\n"
                                   "links:\n"
                                   "  - {name: a}\n"
                                   "  - {name: b, position: [0, 0, 2], euler: [0, 0, 0], mass: 4, joint: {damping: 7}}\n"
                                   "  - {name: c, joint: ball}\n"
                                   "  - {name: d, joint: helical}\n"
                                   "  - {name: e, joint: fixed}\n"
                                   "  - {name: f, joint: {type: universal, axis2: [1, 0, 0]}}\n"
                                   "  - {name: g, joint: {type: revolute, limits: none}}\n"
                                   "  - {name: h, joint: free}\n");
    ck_assert_str_eq(ctn_scene_warnings(scene),
                     "folder/t.yaml:8:83: defaults.joint.effort: not used: the scene has no `motors` that it could limit");
    const scene_link *const links = scene->links;
    EXACT(links[0].position, 0, 0, 1);
    EXACT(links[0].rotation, 0, 1, 0, 0);
    EXACT(&links[0].mass, 3);
    EXACT(links[0].com, 1, 0, 0);
    ck_assert_int_eq(links[0].joint.type, CTN_REVOLUTE);
    EXACT(links[0].joint.axis, 0, 1, 0);
    EXACT(links[0].joint.damping, 0.5);
    EXACT(links[0].joint.limits[0], -1, 1);
    EXACT(links[0].joint.q0, 0.25);
    EXACT(links[0].joint.rest, 2);
    ck_assert_double_eq(links[0].joint.effort[0], INFINITY);  // two numbers are none for a revolute joint

    EXACT(links[1].position, 0, 0, 2);
    EXACT(links[1].rotation, 1, 0, 0, 0);
    EXACT(&links[1].mass, 4);
    ck_assert_int_eq(links[1].joint.type, CTN_REVOLUTE);
    EXACT(links[1].joint.damping, 7);
    EXACT(links[1].joint.axis, 0, 1, 0);

    ck_assert_int_eq(links[2].joint.type, CTN_BALL);
    EXACT(links[2].joint.damping, 0.5, 0.5, 0.5);
    ck_assert(!links[2].joint.limited[0]);
    EXACT(links[2].joint.q0, 1, 0, 0, 0);
    EXACT(links[2].joint.rest, 1, 0, 0, 0);

    ck_assert_int_eq(links[3].joint.type, CTN_HELICAL);
    EXACT(&links[3].joint.pitch, 0.1);
    ck_assert_int_eq(links[4].joint.type, CTN_FIXED);
    EXACT(links[4].joint.damping, 0);
    EXACT(links[5].joint.effort, 1, 2);
    EXACT(links[5].joint.rest, 2, 2);
    ck_assert(!links[5].joint.limited[0]);
    ck_assert(!links[6].joint.limited[0]);
    EXACT(links[7].joint.q0, 0, 0, 1, 0, 1, 0, 0);
    EXACT(links[7].joint.damping, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(default_parent_and_pose)
{
    ctn_scene *const scene = parse("catena: 1\n"
                                   "defaults: {parent: base, joint: {type: free, q0: [1, 2, 3, 1, 0, 0, 0]}}\n"
                                   "links:\n"
                                   "  - {name: first, joint: fixed}\n"
                                   "  - {name: base, position: [5, 5, 5], " MASS "}\n"
                                   "  - {name: arm, joint: ball, " MASS "}\n"
                                   "  - {name: hand, parent: arm, joint: ball, " MASS "}\n"
                                   "  - {name: other, parent: world, joint: ball, " MASS "}\n");
    static const int parents[] = {-1, -1, 1, 2, -1};
    for (int i = 0; i < 5; i++) ck_assert_int_eq(scene->links[i].parent, parents[i]);
    EXACT(scene->links[1].joint.q0, 1, 2, 3, 1, 0, 0, 0);
    ctn_scene_free(scene);
}
END_TEST

#define THREE                                                                                                                    \
    "links:\n"                                                                                                                   \
    "  - {name: a, joint: {type: revolute, q0: 0.5, v0: 0.25}, " MASS "}\n"                                                      \
    "  - {name: b, joint: {type: ball, q0: [0, 1, 0, 0]}, " MASS "}\n"                                                           \
    "  - {name: f, joint: free, " MASS "}\n"

START_TEST(state)
{
    ctn_scene *scene =
        parse("catena: 1\n" THREE "state:\n  q: [1, 0, 3, 4, 0, 5, 6, 7, 0, 0, 0, 2]\n  v: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n");
    EXACT(scene->links[0].joint.q0, 1);
    EXACT(scene->links[1].joint.q0, 0, 0.6, 0.8, 0);
    EXACT(scene->links[2].joint.q0, 5, 6, 7, 0, 0, 0, 1);
    EXACT(scene->links[0].joint.v0, 1);
    EXACT(scene->links[1].joint.v0, 2, 3, 4);
    EXACT(scene->links[2].joint.v0, 5, 6, 7, 8, 9, 10);
    ck_assert_str_eq(ctn_scene_warnings(scene), "folder/t.yaml:3:43: joint.q0: not used: `state` gives q\n"
                                                "folder/t.yaml:3:52: joint.v0: not used: `state` gives v\n"
                                                "folder/t.yaml:4:39: joint.q0: not used: `state` gives q");
    ctn_scene_free(scene);

    // one of the two; the other is as the joints say
    scene = parse("catena: 1\n" THREE "state: {v: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n");
    EXACT(scene->links[0].joint.q0, 0.5);
    EXACT(scene->links[1].joint.q0, 0, 1, 0, 0);
    EXACT(scene->links[0].joint.v0, 1);
    ck_assert_str_eq(ctn_scene_warnings(scene), "folder/t.yaml:3:52: joint.v0: not used: `state` gives v");
    ctn_scene_free(scene);

    // a default is there to be overridden; a chain says it once
    scene = parse("catena: 1\ndefaults: {joint: {q0: 0.5}}\nlinks:\n  - {name: a, joint: revolute, " MASS "}\n"
                  "  - chain: {name: c, count: 3, step: [1, 0, 0], joint: {type: revolute, v0: 1}, " MASS "}\n"
                  "state: {q: [1, 2, 3, 4], v: [5, 6, 7, 8]}\n");
    ck_assert_str_eq(ctn_scene_warnings(scene), "folder/t.yaml:5:77: chain.joint.v0: not used: `state` gives v");
    EXACT(scene->links[3].joint.q0, 4);
    EXACT(scene->links[3].joint.v0, 8);
    ctn_scene_free(scene);

    scene = parse("catena: 1\nlinks: [{name: a}]\nstate: {q: [], v: []}\n");
    ctn_scene_free(scene);
}
END_TEST

START_TEST(warnings)
{
    ctn_scene *const scene = parse("catena: 1\nlinks:\n"
                                   "  - {name: a, joint: {type: revolute, limit_stiffness: 3}, density: 5, " MASS "}\n"
                                   "  - {name: b, density: 5}\n"
                                   "  - {name: c, density: 5, mass: 1, shapes: [{type: sphere, radius: 1}]}\n");
    ck_assert_str_eq(ctn_scene_warnings(scene), "folder/t.yaml:3:56: joint.limit_stiffness: not used: the joint has no limits\n"
                                                "folder/t.yaml:3:69: density: not used: the link has no shapes\n"
                                                "folder/t.yaml:4:24: density: not used: the link has no shapes\n"
                                                "folder/t.yaml:5:24: density: not used: `mass` is given");
    ctn_scene_free(scene);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene defaults");
    TCase *const texts = tcase_create("texts");
    tcase_set_timeout(texts, 120);
    tcase_add_test(texts, defaults_apply_where_they_can);
    tcase_add_test(texts, default_parent_and_pose);
    tcase_add_test(texts, state);
    tcase_add_test(texts, warnings);
    suite_add_tcase(suite, texts);
    return run_suite(suite);
}
