/// Models by arrays of parents: the same as scenes', wrong links by name; and that large trees take memory in proportion, and no
/// stack.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

static const char *const joints[] = {"fixed", "revolute", "prismatic", "helical", "universal", "ball", "planar", "free"};

static uint64_t seed;
static double some(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}

enum { LINKS = 60 };
typedef struct {
    int parent[LINKS];
    ctn_link_spec link[LINKS];
    char name[LINKS][8];
} forest;

/// A tree with joints of all types; some links are named.
static void grow(forest *f, ctn_link_spec like)
{
    for (int i = 0; i < LINKS; i++) {
        ctn_link_spec *const l = &f->link[i];
        *l = like;
        f->parent[i] = i == 0 ? -1 : (int)some(-1, i - 1e-9);
        l->joint = (ctn_joint_type)some(0, f->parent[i] < 0 ? 7.99 : 6.99);
        for (int k = 0; k < 3; k++) l->position[k] = some(-0.3, 0.3), l->axis[k] = some(0.1, 2), l->com[k] = some(-0.1, 0.1);
        for (int k = 0; k < 4; k++) l->rotation[k] = some(0.1, 2);
        l->axis2[0] = 1, l->axis2[1] = some(-1, 0), l->axis2[2] = -0.3;
        l->pitch = some(-0.1, 0.1);
        l->mass = some(0.5, 1);
        for (int k = 0; k < 3; k++) l->inertia[k] = some(0.01, 0.015), l->inertia[3 + k] = some(-0.001, 0.001);
        if (l->joint != CTN_FIXED) l->damping = some(0, 0.1);
        if (l->joint != CTN_FIXED && l->joint != CTN_FREE) l->stiffness = some(0, 1), l->armature = some(0, 0.01);
        if (i % 2) {
            static const int nq[] = {0, 1, 1, 1, 2, 4, 3, 7}, nv[] = {0, 1, 1, 1, 2, 3, 3, 6};
            for (int k = 0; k < nq[l->joint]; k++) l->q0[k] = some(-0.7, 0.7);
            for (int k = 0; k < nv[l->joint]; k++) l->v0[k] = some(-0.7, 0.7);
        }
        snprintf(f->name[i], sizeof f->name[i], i % 3 ? "%d" : "a%d", i);
        l->name = i % 3 ? NULL : f->name[i];
    }
}

static void put(char **at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(char **at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *at += vsprintf(*at, format, args);
    va_end(args);
}

static void put_list(char **at, const char *key, const double *x, int n)
{
    put(at, ", %s: [", key);
    for (int k = 0; k < n; k++) put(at, "%s%.17g", k ? ", " : "", x[k]);
    put(at, "]");
}

static ctn_model *by_text(const forest *f)
{
    static char text[LINKS * 2000];
    static const int nq[] = {0, 1, 1, 1, 2, 4, 3, 7}, nv[] = {0, 1, 1, 1, 2, 3, 3, 6};
    char *at = text;
    put(&at, "catena: 1\nname: forest\ngravity: [1, 2, -9]\nlinks:\n");
    for (int i = 0; i < LINKS; i++) {
        const ctn_link_spec *const l = &f->link[i];
        put(&at, "  - {name: '%s', parent: '%s', mass: %.17g", f->name[i], f->parent[i] < 0 ? "world" : f->name[f->parent[i]],
            l->mass);
        const bool placed = l->joint != CTN_FREE || isnan(l->q0[0]);
        if (placed) put_list(&at, "position", l->position, 3);
        put_list(&at, "rotation", l->rotation, 4), put_list(&at, "com", l->com, 3), put_list(&at, "inertia", l->inertia, 6);
        put(&at, ", joint: {type: %s", joints[l->joint]);
        if (l->joint >= CTN_REVOLUTE && l->joint <= CTN_UNIVERSAL) put_list(&at, "axis", l->axis, 3);
        if (l->joint == CTN_UNIVERSAL) put_list(&at, "axis2", l->axis2, 3);
        if (l->joint == CTN_HELICAL) put(&at, ", pitch: %.17g", l->pitch);
        if (l->joint != CTN_FIXED) put(&at, ", damping: %.17g", l->damping);
        if (l->joint != CTN_FIXED && l->joint != CTN_FREE)
            put(&at, ", stiffness: %.17g, armature: %.17g", l->stiffness, l->armature);
        if (l->joint != CTN_FIXED && !isnan(l->q0[0]))
            put_list(&at, "q0", l->q0, nq[l->joint]), put_list(&at, "v0", l->v0, nv[l->joint]);
        put(&at, "}}\n");
    }
    return model_of(text);
}

static void take(void *context, int i, ctn_link_spec *link) { *link = ((const forest *)context)->link[i]; }

/// Dynamics and runs have the same bits as those of the scene with these links.
START_TEST(as_scenes)
{
    seed = (uint64_t)_i + 1;
    forest f;
    ctn_error err = {0};
    ctn_tree_spec spec = ctn_tree_spec_default();
    grow(&f, spec.like);
    spec.links = LINKS, spec.parent = f.parent, spec.link = take, spec.context = &f, spec.name = "forest";
    memcpy(spec.gravity, (double[]){1, 2, -9}, sizeof spec.gravity);
    ctn_model *const a = ctn_model_from_parents(&spec, &err), *const b = by_text(&f);
    ck_assert_msg(a != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_model_nlink(a), LINKS);
    ck_assert_int_eq(ctn_model_nq(a), ctn_model_nq(b));
    ck_assert_int_eq(ctn_model_nv(a), ctn_model_nv(b));
    ck_assert_str_eq(ctn_model_name(a), ctn_model_name(b));
    for (int i = 0; i < LINKS; i++) {
        const ctn_link *const x = ctn_model_link(a, i), *const y = ctn_model_link(b, i);
        ck_assert_str_eq(x->name, y->name);
        ck_assert_int_eq(ctn_model_find(a, y->name), i);
        ck_assert(x->parent == y->parent && x->joint == y->joint && x->qadr == y->qadr && x->vadr == y->vadr &&
                  x->mass == y->mass);
        ck_assert_mem_eq(x->com, y->com, sizeof x->com);
        ck_assert_mem_eq(x->inertia, y->inertia, sizeof x->inertia);
    }
    double q[2][7 * LINKS], v[2][6 * LINKS], tau[6 * LINKS], qdd[2][6 * LINKS];
    for (int k = 0; k < 6 * LINKS; k++) tau[k] = some(-1, 1);
    const ctn_model *const both[] = {a, b};
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        ctn_dynamics *const dyn = ctn_dynamics_create(both[k], NULL, &err);
        ctn_model_initial_state(both[k], q[k], v[k]);
        ctn_aba(dyn, 1, q[k], v[k], tau, qdd[k]);
        ctn_dynamics_free(dyn);
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = CTN_SEMI_IMPLICIT, cfg.dt = 1e-4;
        ctn_batch *const batch = ctn_batch_create(both[k], &cfg, &err);
        ck_assert_int_eq(ctn_batch_step(batch, 5, NULL, &err), CTN_OK);
        ctn_batch_hashes(batch, &hash[k]);
        ctn_batch_free(batch);
    }
    ck_assert_mem_eq(q[0], q[1], (size_t)ctn_model_nq(a) * sizeof **q);
    ck_assert_mem_eq(v[0], v[1], (size_t)ctn_model_nv(a) * sizeof **v);
    ck_assert_mem_eq(qdd[0], qdd[1], (size_t)ctn_model_nv(a) * sizeof **qdd);
    ck_assert_uint_eq(hash[0], hash[1]);
    ctn_model_free(a), ctn_model_free(b);
}
END_TEST

// ---- errors

/// What `change` makes of the links of a chain of five.
typedef struct {
    void (*change)(int *parent, ctn_link_spec *l);  // [5] each
    const char *says;
} mistake;

static void far(int *p, ctn_link_spec *l) { (void)l, p[3] = 7; }
static void below(int *p, ctn_link_spec *l) { (void)l, p[3] = -2; }
static void own(int *p, ctn_link_spec *l) { (void)l, p[3] = 3; }
static void cycle(int *p, ctn_link_spec *l) { (void)l, p[2] = 4; }
static void later(int *p, ctn_link_spec *l) { (void)l, p[2] = 4, p[4] = 1, p[3] = 1; }
static void negative(int *p, ctn_link_spec *l) { (void)p, l[1].mass = -1, l[1].name = "arm"; }
static void no_number(int *p, ctn_link_spec *l) { (void)p, l[2].com[1] = NAN; }
static void light(int *p, ctn_link_spec *l) { (void)p, l[3].mass = l[4].mass = 0; }
static void thin(int *p, ctn_link_spec *l) { (void)p, l[2].inertia[0] = 1; }
static void point(int *p, ctn_link_spec *l) { (void)p, memset(l[4].inertia, 0, sizeof l[4].inertia); }
static void no_axis(int *p, ctn_link_spec *l) { (void)p, memset(l[0].axis, 0, sizeof l[0].axis); }
static void parallel(int *p, ctn_link_spec *l)
{
    (void)p, l[0].joint = CTN_UNIVERSAL, memcpy(l[0].axis2, l[0].axis, sizeof l[0].axis);
}
static void flies(int *p, ctn_link_spec *l) { (void)p, l[1].joint = CTN_FREE; }
static void springy(int *p, ctn_link_spec *l) { (void)p, l[0].joint = CTN_FREE, l[0].stiffness = 1; }
static void unknown(int *p, ctn_link_spec *l) { (void)p, l[1].joint = (ctn_joint_type)8; }
static void twice(int *p, ctn_link_spec *l) { (void)p, l[1].name = "3"; }
static void world(int *p, ctn_link_spec *l) { (void)p, l[1].name = "world"; }
static void flat(int *p, ctn_link_spec *l) { (void)p, memset(l[1].rotation, 0, sizeof l[1].rotation); }
static void turned(int *p, ctn_link_spec *l) { (void)p, l[1].joint = CTN_BALL, memset(l[1].q0, 0, sizeof l[1].q0); }
static void rough(int *p, ctn_link_spec *l) { (void)p, l[1].damping = -0.1; }

static const mistake mistakes[] = {
    {far, "link 3: its parent is 7; expected -1 (the world) to 4"},
    {below, "link 3: its parent is -2; expected -1 (the world) to 4"},
    {own, "link 3: it is its own parent"},
    {cycle, "link 2: it hangs on link 4, which hangs on it: a cycle"},
    {later, "link 2: its parent, link 4, comes after it; parents come first"},
    {negative, "link 1 ('arm'): mass: expected a number >= 0, found -1"},
    {no_number, "link 2: com: expected a finite number, found nan"},
    {light, "link 3: mass: a moving link needs some, of its own or below it; found none"},
    {thin, "link 2: inertia: no body has principal moments 1, 0.01, 0.01 (kg m^2): none may be negative or exceed the sum of the "
           "others"},
    {point, "link 4: inertia: what its revolute joint moves has none about the joint's axis, so that no step can be computed"},
    {no_axis, "link 0: axis: expected a direction, found a vector of length 0"},
    {parallel, "link 0: axis2: it is parallel to `axis`"},
    {flies, "link 1: a free joint hangs on the world only; the parent here is link 0"},
    {springy, "link 0: stiffness: a free joint takes damping and armature only"},
    {unknown, "link 1: joint: there is no type 8"},
    {twice, "link 3: '3' is already the name of link 1"},
    {world, "link 1 ('world'): name: expected 1 to 255 bytes that are not 'world'"},
    {flat, "link 1: rotation: expected a quaternion w x y z, found a vector of length 0"},
    {turned, "link 1: q0: expected a quaternion w x y z, found a vector of length 0"},
    {rough, "link 1: damping: expected a number >= 0, found -0.1"},
};

static void take_five(void *context, int i, ctn_link_spec *link) { *link = ((const ctn_link_spec *)context)[i]; }

START_TEST(wrong_links)
{
    ctn_error err = {0};
    ctn_tree_spec spec = ctn_tree_spec_default();
    int parent[5] = {-1, 0, 1, 2, 3};
    ctn_link_spec links[5];
    for (int i = 0; i < 5; i++) {
        links[i] = spec.like;
        links[i].mass = 1;
        for (int k = 0; k < 3; k++) links[i].inertia[k] = 0.01;
    }
    mistakes[_i].change(parent, links);
    spec.links = 5, spec.parent = parent, spec.link = take_five, spec.context = links;
    ck_assert_ptr_null(ctn_model_from_parents(&spec, &err));
    ck_assert_str_eq(err.message, mistakes[_i].says);
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_ptr_null(ctn_model_from_parents(&spec, NULL));
}
END_TEST

START_TEST(wrong_trees)
{
    ctn_error err = {0};
    ctn_tree_spec spec = ctn_tree_spec_default();
    const int parent = -1;
    spec.parent = &parent;
    ck_assert_ptr_null(ctn_model_from_parents(&spec, &err));
    ck_assert_str_eq(err.message, "links: expected 1 to 4194304, found 0");
    spec.links = 1, spec.gravity[1] = INFINITY;
    ck_assert_ptr_null(ctn_model_from_parents(&spec, &err));
    ck_assert_str_eq(err.message, "gravity: expected finite numbers, found inf");
}
END_TEST

// ---- large trees

enum { MANY = 100000, KILOBYTE = 1000 };

typedef enum { ROPE, ROPES, STAR, RANDOM, SHAPES } shape;

static int parent_in(shape s, int i)
{
    switch (s) {
    case ROPE: return i - 1;
    case ROPES: return i % 1000 ? i - 1 : -1;
    case STAR: return i ? 0 : -1;
    default: return i ? (int)some(0, i - 1e-9) : -1;
    }
}

static size_t allocated(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static ctn_model *large(shape s, ctn_joint_type joint)
{
    ctn_error err = {0};
    ctn_tree_spec spec = ctn_tree_spec_default();
    int *const parent = malloc(MANY * sizeof *parent);
    seed = 1;
    for (int i = 0; i < MANY; i++) parent[i] = parent_in(s, i);
    spec.links = MANY, spec.parent = parent;
    spec.like.joint = joint, spec.like.axis2[1] = 0, spec.like.position[0] = 0.01;
    spec.like.mass = 0.001, spec.like.com[0] = 0.005;
    for (int k = 0; k < 3; k++) spec.like.inertia[k] = 5e-8;
    ctn_model *const m = ctn_model_from_parents(&spec, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    free(parent);
    return m;
}

/// On a stack of 256 kB, whatever the depth: made, stepped, all links found by name.
static void *on_small_stack(void *context)
{
    const shape s = *(const shape *)context;
    static const ctn_method methods[SHAPES] = {CTN_COLLOCATION, CTN_ALPHA, CTN_SEMI_IMPLICIT, CTN_COLLOCATION};
    ctn_error *const err = calloc(1, sizeof *err);
    ctn_model *const m = large(s, CTN_UNIVERSAL);
    for (int i = 0; i < MANY; i++) ck_assert_int_eq(ctn_model_find(m, ctn_model_link(m, i)->name), i);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[s], cfg.dt = 0.001;
    ctn_batch *const batch = ctn_batch_create(m, &cfg, err);
    ck_assert_msg(batch != NULL, "%s", err->message);
    ck_assert_msg(ctn_batch_step(batch, 1, NULL, err) == CTN_OK, "%s", err->message);
    ctn_batch_free(batch);
    ctn_model_free(m);
    free(err);
    return NULL;
}

START_TEST(depth)
{
    shape s = (shape)_i;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    ck_assert_int_eq(pthread_create(&thread, &attributes, on_small_stack, &s), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}
END_TEST

START_TEST(memory)
{
    const size_t before = allocated();
    ctn_model *const m = large((shape)_i, CTN_UNIVERSAL);
    ck_assert_uint_le(allocated() - before, (size_t)MANY * 14 * KILOBYTE / 10);
    ctn_model_free(m);
    ck_assert_uint_le(allocated(), before + MANY);
}
END_TEST

/// Fixed links are welded to what carries them, however many hang on each other.
START_TEST(welded)
{
    ctn_error err = {0};
    ctn_tree_spec spec = ctn_tree_spec_default();
    int *const parent = malloc(MANY * sizeof *parent);
    for (int i = 0; i < MANY; i++) parent[i] = i - 1;
    spec.links = MANY, spec.parent = parent;
    spec.like.joint = CTN_FIXED, spec.like.mass = 1;
    ctn_model *const m = ctn_model_from_parents(&spec, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_model_nv(m), 0);
    ctn_model_free(m);
    free(parent);
}
END_TEST

/// Each world has mass scales of all links.
START_TEST(parameters_of_all)
{
    ctn_error err = {0};
    ctn_model *const m = large(ROPE, CTN_REVOLUTE);
    ctn_parameter *const list = malloc(2 * MANY * sizeof *list);
    for (int i = 0; i < MANY; i++)
        list[2 * i] = (ctn_parameter){CTN_MASS_SCALE, i}, list[2 * i + 1] = (ctn_parameter){CTN_DAMPING, i};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_SEMI_IMPLICIT, cfg.parameters = list, cfg.parameter_count = 2 * MANY;
    ctn_batch *const batch = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(batch != NULL, "%s", err.message);
    list[2 * MANY - 1] = list[0];
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_str_eq(err.message, "parameters: mass_scale 0 is given twice");
    ctn_batch_free(batch);
    ctn_model_free(m);
    free(list);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("tree");
    TCase *const t = tcase_create("tree");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, as_scenes, 0, 20);
    tcase_add_loop_test(t, wrong_links, 0, (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(t, wrong_trees);
    tcase_add_loop_test(t, depth, 0, SHAPES);
    tcase_add_loop_test(t, memory, 0, SHAPES);
    tcase_add_test(t, welded);
    tcase_add_test(t, parameters_of_all);
    suite_add_tcase(s, t);
    return run_suite(s);
}
