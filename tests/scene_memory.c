/// The reader when memory runs out: every single allocation fails once, and the reader says so and leaks nothing.
/// Linked with --wrap, so that the library's own allocations come here; libyaml's do not, and those of the tests are let through.
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);

static long allocations, failing = -1;  // which allocation fails, counted from 0
static long blocks;                     // allocated and not freed
static bool armed;                      // while the reader runs

static bool fails(void) { return armed && allocations++ == failing; }

void *__wrap_malloc(size_t size)
{
    void *const block = fails() ? 0 : __real_malloc(size);
    blocks += armed && block;
    return block;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *const block = fails() ? 0 : __real_calloc(count, size);
    blocks += armed && block;
    return block;
}

void *__wrap_realloc(void *block, size_t size)
{
    void *const moved = fails() ? 0 : __real_realloc(block, size);
    blocks += armed && !block && moved;
    return moved;
}

void __wrap_free(void *block)
{
    blocks -= armed && block;
    __real_free(block);
}

#define MASS "mass: 1, inertia: [1, 1, 1, 0, 0, 0]"

/// Every kind of thing that is stored; included: the second file.
static const char text[] =
    "catena: 1\n"
    "name: memory\n"
    "defaults: {joint: {damping: 1}, shapes: [{type: sphere, radius: 1}]}\n"
    "include: [{file: part.yaml, as: part}]\n"
    "links:\n"
    "  - {name: a, joint: {type: revolute, q0: 1}, density: 5}\n"
    "  - {name: m, joint: ball, density: 5, shapes: [{type: mesh, file: part.obj}]}\n"
    "  - chain: {name: c, count: 70, step: [1, 0, 0], joint: universal, axes: [[0, 1, 0], [0, 1, 1]], mass: 1}\n"
    "  - tree: {name: t, depth: 3, branching: 2, step: [1, 0, 0], joint: {type: ball, q0: [1, 0, 0, 0]}, " MASS "}\n"
    "sample: {q: {all: {uniform: [0, 1]}, c.0: {grid: [0, 1, 2]}}, v: {a: {latin: [0, 1]}}, parameters: {damping: {all: {grid: "
    "[0, 1, 1]}}}}\n"
    "contact: {between: links}\npairs: [{a: a, b: m}]\nexclude: [[a, m], {tree: a}]\n"
    "loops: [{name: x, type: point, a: m, b: world, at: [0, 0, 0]}]\ncouplings: [{name: y, joint: a, offset: 1}]\n"
    "tendons: [{name: z, joints: {a: 1}, damping: 1}, {name: y, path: [{link: a}, {link: world}], rest: [0, 1], damping: "
    "1}]\nsprings: [{link: a, b: m, stiffness: 1}]\n"
    "sensors: [{name: tip, type: imu, link: a, noise: 1}, {name: energy, type: energy}]\n"
    "reward: [{term: posture, weight: 1, joints: [a, m]}, {term: upright, weight: 2, link: a}, {term: posture, weight: 3, "
    "joints: "
    "[m]}]\n"
    "optimize: {cost: [{term: posture, joints: [a], weight: 1}], limits: [{term: velocity, joints: [a, m], within: [0, none]}, "
    "{term: place, link: a, above: 1}, {term: posture, joints: [a], target: 1}]}\n"
    "cameras: [{name: side, azimuth: 3}, {name: up, type: track, link: a}]\n"
    "state: {v: []}\n";
static const char part[] = "catena: 1\nlinks:\n  - {name: p, joint: {type: free, v0: [0, 0, 0, 0, 0, 0]}, " MASS "}\n"
                           "sensors: [{name: com, type: com, link: p}]\nreward: [{term: posture, weight: 1, joints: [p]}]\n";

/// A model of MuJoCo with a part.
static const char model[] =
    "<mujoco model='memory'><default><default class='x'><mesh scale='1 2 3'/></default></default>"
    "<asset><mesh file='part.obj' class='x'/><material name='m'/></asset><worldbody><include file='part.yaml'/></worldbody>"
    "<contact><pair geom1='g' geom2='h'/></contact><tendon><fixed stiffness='1'><joint joint='j' coef='1'/></fixed></tendon>"
    "<sensor><gyro site='s'/></sensor></mujoco>";
static const char model_part[] = "<mujocoinclude><geom size='1'/><body><joint/><joint name='j'/><site name='s'/><geom "
                                 "type='mesh' mesh='part' material='m'/></body></mujocoinclude>";

static const char mesh[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

static char folder[] = "/tmp/catena-scene-XXXXXX", main_path[64], part_path[64], mesh_path[64];

static void write_file(const char *path, const char *content)
{
    FILE *const file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

static void make_files(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(main_path, sizeof main_path, "%s/main.yaml", folder);
    snprintf(part_path, sizeof part_path, "%s/part.yaml", folder);
    snprintf(mesh_path, sizeof mesh_path, "%s/part.obj", folder);
}

static void remove_files(void)
{
    remove(main_path);
    remove(part_path);
    remove(mesh_path);
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

/// Loads the scene with each allocation failing in turn, and then without; returns how many there are.
static long fail_each(ctn_status expected, const char *scene_text, const char *part_text)
{
    write_file(main_path, scene_text);
    write_file(part_path, part_text);
    write_file(mesh_path, mesh);
    for (failing = 0;; failing++) {
        ctn_error err = {0};
        allocations = blocks = 0;
        armed = true;
        ctn_scene *const scene = ctn_scene_load(main_path, &err);
        const bool loaded = scene, failed = allocations > failing;
        ctn_scene_free(scene);
        armed = false;
        ck_assert_msg(blocks == 0, "allocation %ld failed: %ld blocks are not freed", failing, blocks);
        if (failed) {
            ck_assert_msg(!loaded && err.status == CTN_NO_MEMORY, "allocation %ld failed: %s", failing, err.message);
            ck_assert_int_eq(err.count, 1);
            ck_assert_str_eq(err.message, "out of memory while reading the scene");
        } else {
            ck_assert_msg(err.status == expected, "%s", err.message);
            ck_assert(loaded == (expected == CTN_OK));
            const long count = failing;
            failing = -1;
            return count;
        }
    }
}

START_TEST(good_scene)
{
    char good[sizeof text];
    snprintf(good, sizeof good, "%.*s", (int)(strstr(text, "state:") - text), text);
    const long count = fail_each(CTN_OK, good, part);
    ck_assert_int_ge(count, 100);  // names of links alone are more than 70
}
END_TEST

START_TEST(bad_scene)
{
    ck_assert_int_ge(fail_each(CTN_BAD_SCENE, text, part), 100);  // v is too short
}
END_TEST

START_TEST(mjcf)
{
    ck_assert_int_ge(fail_each(CTN_OK, model, model_part), 40);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene memory");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, make_files, remove_files);
    tcase_add_test(all, good_scene);
    tcase_add_test(all, bad_scene);
    tcase_add_test(all, mjcf);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
