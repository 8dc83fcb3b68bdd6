/// Generators of links: chains and trees, link by link, and golden models written both ways; the sizes of all golden models.
#include "sim/scene/scene.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>

START_TEST(chain)
{
    ctn_scene *const scene = parse(
        "catena: 1\nlinks:\n  - {name: base}\n"
        "  - chain: {name: c, count: 4, parent: base, position: [1, 2, 3], euler: [0, 0, 1], step: [0.5, 0, 0],\n"
        "            joint: {type: universal, axis2: [0, 0, 1], q0: [0.5, 0.25]}, axes: [[0, 1, 0], [2, 0, 0], [0, 3, 4]],\n"
        "            density: 1000, shapes: [{type: sphere, radius: 0.1}]}\n"
        "  - chain: {name: d, count: 1, joint: free, parent: world, " MASS "}\n"
        "  - {name: tip, parent: c.3}\n");
    static const char *const names[] = {"base", "c.0", "c.1", "c.2", "c.3", "d.0", "tip"};
    static const int parents[] = {-1, 0, 1, 2, 3, -1, 4};
    ck_assert_int_eq(scene->nlink, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_str_eq(scene->links[i].name, names[i]);
        ck_assert_int_eq(scene->links[i].parent, parents[i]);
    }
    EXACT(scene->links[1].position, 1, 2, 3);
    NEAR(scene->links[1].rotation, 1e-16, cos(0.5), 0, 0, sin(0.5));
    for (int i = 2; i <= 4; i++) {
        EXACT(scene->links[i].position, 0.5, 0, 0);
        EXACT(scene->links[i].rotation, 1, 0, 0, 0);
        EXACT(scene->links[i].joint.q0, 0.5, 0.25);
        ck_assert_int_eq(scene->links[i].line, 4);
        ck_assert_int_eq(scene->links[i].nshape, 1);
        EXACT(&scene->links[i].shapes->radius, 0.1);
    }
    EXACT(scene->links[1].joint.axis, 0, 1, 0);
    EXACT(scene->links[2].joint.axis, 1, 0, 0);
    EXACT(scene->links[3].joint.axis, 0, 0.6, 0.8);
    EXACT(scene->links[4].joint.axis, 0, 1, 0);
    EXACT(scene->links[4].joint.axis2, 0, 0, 1);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(tree)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n  - {name: base}\n"
              "  - tree: {name: t, depth: 3, branching: 4, parent: base, position: [0, 0, 7], step: [1, 2, 3], joint: revolute,\n"
              "           axes: [[0, 0, 1], [0, 1, 0]], " MASS "}\n");
    ck_assert_int_eq(scene->nlink, 1 + 1 + 4 + 16);
    // preorder: t, t.0, t.0.0 ... t.0.3, t.1, t.1.0 ...
    static const char *const names[] = {"base", "t", "t.0", "t.0.0", "t.0.1", "t.0.2", "t.0.3", "t.1", "t.1.0"};
    static const int parents[] = {-1, 0, 1, 2, 2, 2, 2, 1, 7};
    for (int i = 0; i < 9; i++) {
        ck_assert_str_eq(scene->links[i].name, names[i]);
        ck_assert_int_eq(scene->links[i].parent, parents[i]);
    }
    ck_assert_str_eq(scene->links[21].name, "t.3.3");
    ck_assert_int_eq(scene->links[21].parent, 17);
    ck_assert_str_eq(scene->links[17].name, "t.3");
    EXACT(scene->links[1].position, 0, 0, 7);
    // quarter turns about the parent's z, exactly
    EXACT(scene->links[3].position, 1, 2, 3);
    EXACT(scene->links[4].position, -2, 1, 3);
    EXACT(scene->links[5].position, -1, -2, 3);
    EXACT(scene->links[6].position, 2, -1, 3);
    EXACT(scene->links[3].rotation, 1, 0, 0, 0);
    NEAR(scene->links[4].rotation, 2e-16, sqrt(0.5), 0, 0, sqrt(0.5));
    EXACT(scene->links[5].rotation, 0, 0, 0, 1);
    NEAR(scene->links[6].rotation, 2e-16, -sqrt(0.5), 0, 0, sqrt(0.5));
    for (int i = 1; i < 22; i++) EXACT(scene->links[i].joint.axis, 0, (i - 1) % 2, 1 - (i - 1) % 2);
    ctn_scene_free(scene);

    ctn_scene *const thirds =
        parse("catena: 1\nlinks:\n  - tree: {name: t, depth: 2, branching: 3, step: [1, 0, 0], joint: ball, " MASS "}\n");
    NEAR(thirds->links[2].position, 3e-16, -0.5, sqrt(0.75), 0);
    NEAR(thirds->links[3].position, 5e-16, -0.5, -sqrt(0.75), 0);
    NEAR(thirds->links[2].rotation, 2e-16, 0.5, 0, 0, sqrt(0.75));
    NEAR(thirds->links[3].rotation, 5e-16, -0.5, 0, 0, sqrt(0.75));
    ctn_scene_free(thirds);

    // steps: the children where they say, not turned
    ctn_scene *const listed = parse(
        "catena: 1\nlinks:\n  - tree: {name: t, depth: 2, branching: 2, steps: [[1, 0, 0], [0, 2, 0]], joint: ball, " MASS "}\n");
    EXACT(listed->links[1].position, 1, 0, 0);
    EXACT(listed->links[2].position, 0, 2, 0);
    EXACT(listed->links[2].rotation, 1, 0, 0, 0);
    ctn_scene_free(listed);

    ctn_scene *const root = parse("catena: 1\nlinks:\n  - tree: {name: t, depth: 1, branching: 5, joint: free, " MASS "}\n"
                                  "  - tree: {name: s, depth: 127, branching: 1, step: [1, 0, 0], " MASS "}\n");
    ck_assert_int_eq(root->nlink, 128);
    ck_assert_uint_eq(strlen(root->links[127].name), 253);
    ck_assert_int_eq(root->links[127].parent, 126);
    ctn_scene_free(root);
}
END_TEST

START_TEST(many_links)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n  - chain: {name: c, count: 999999, step: [1, 0, 0], joint: universal, density: 1000,\n"
              "             shapes: [{type: sphere, radius: 0.1}]}\n  - {name: tip, parent: c.999998}\n");
    ck_assert_int_eq(scene->nlink, 1000000);
    ck_assert_int_eq(scene->nq, 1999998);
    ck_assert_int_eq(scene->links[999999].parent, 999998);
    ck_assert_str_eq(scene->links[999998].name, "c.999998");
    ctn_scene_free(scene);
}
END_TEST

// ---- golden models

/// The same bits in every field; the bytes between fields may differ.
static void same_joints(const scene_joint *a, const scene_joint *b)
{
    ck_assert_int_eq(a->type, b->type);
#define SAME(field) ck_assert_mem_eq(&a->field, &b->field, sizeof a->field)
    SAME(axis);
    SAME(axis2);
    SAME(pitch);
    SAME(damping);
    SAME(stiffness);
    SAME(rest);
    SAME(armature);
    SAME(limited);
    SAME(limits);
    SAME(limit_stiffness);
    SAME(limit_damping);
    SAME(effort);
    SAME(q0);
    SAME(v0);
#undef SAME
}

/// Two scenes with the same links.
static void same_links(const ctn_scene *a, const ctn_scene *b, double tolerance)
{
    ck_assert_int_eq(a->nlink, b->nlink);
    ck_assert_int_eq(a->nq, b->nq);
    ck_assert_int_eq(a->nv, b->nv);
    for (int i = 0; i < a->nlink; i++) {
        const scene_link *const x = &a->links[i], *const y = &b->links[i];
        ck_assert_str_eq(x->name, y->name);
        ck_assert_int_eq(x->parent, y->parent);
        ck_assert_mem_eq(x->position, y->position, sizeof x->position);
        ck_assert_mem_eq(x->rotation, y->rotation, sizeof x->rotation);
        same_joints(&x->joint, &y->joint);
        near(&x->mass, &y->mass, 1, tolerance * fabs(y->mass), "mass");
        near(x->com, y->com, 3, tolerance * fabs(y->com[0]), "com");
        near(x->inertia, y->inertia, 6, tolerance * fabs(y->inertia[1]), "inertia");
    }
}

static ctn_scene *load_golden(const char *model, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/%s/%s", CATENA_SOURCE_DIR, model, file);
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != 0, "%s", err.message);
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    return scene;
}

START_TEST(chains_of_the_golden_models)
{
    ctn_scene *links = load_golden("chain10", "scene.yaml"), *chain = load_golden("chain10", "scene_chain.yaml");
    same_links(chain, links, 0);
    ctn_scene_free(links);
    ctn_scene_free(chain);
    links = load_golden("chain40", "scene.yaml"), chain = load_golden("chain40", "scene_chain.yaml");
    same_links(chain, links, 4e-16);  // masses from shapes and density
    ctn_scene_free(links);
    ctn_scene_free(chain);
}
END_TEST

/// The number after "name": in a JSON text.
static int json_number(const char *json, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *const at = strstr(json, key);
    ck_assert_msg(at != 0, "no %s", key);
    return atoi(at + strlen(key));
}

START_TEST(sizes_of_the_golden_models)
{
    static const char *const models[] = {"ball5",          "binary-tree4",    "chain10",      "chain40",   "chain5",
                                         "contact-chain3", "double-pendulum", "flying-tree5", "free-body", "helical-screws",
                                         "humanoid",       "iiwa14",          "mixed-joints", "pendulum",  "prismatic-mix",
                                         "spring-chain4",  "universal10"};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        ctn_scene *const scene = load_golden(models[k], "scene.yaml");
        ck_assert_str_eq(ctn_scene_name(scene), models[k]);
        char path[512];
        snprintf(path, sizeof path, "%s/tests/golden/%s/dynamics.json", CATENA_SOURCE_DIR, models[k]);
        FILE *const file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        static char json[1 << 18];
        json[fread(json, 1, sizeof json - 1, file)] = 0;
        fclose(file);
        ck_assert_int_eq(scene->nlink, json_number(json, "nlinks"));
        ck_assert_int_eq(scene->nq, json_number(json, "nq"));
        ck_assert_int_eq(scene->nv, json_number(json, "nv"));
        const char *at = strstr(json, "\"links\"");
        for (int i = 0; i < scene->nlink; i++) {  // names in order
            char quoted[64];
            snprintf(quoted, sizeof quoted, "\"%s\"", scene->links[i].name);
            at = strstr(at, quoted);
            ck_assert_msg(at != 0, "%s: %s", models[k], quoted);
        }
        ctn_scene_free(scene);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene generators");
    TCase *const texts = tcase_create("texts");
    tcase_set_timeout(texts, 120);
    tcase_add_test(texts, chain);
    tcase_add_test(texts, tree);
    tcase_add_test(texts, many_links);
    tcase_add_test(texts, chains_of_the_golden_models);
    tcase_add_test(texts, sizes_of_the_golden_models);
    suite_add_tcase(suite, texts);
    return run_suite(suite);
}
