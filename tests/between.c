/// What acts between links, read and compiled: which shapes touch each other and how, loops, couplings, tendons, springs; and what is
/// refused.
#include "contact/pair_elements.h"
#include "sim/model/between.h"
#include "sim/model/model.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

static ctn_model *compile(const char *text, ctn_scene **scene)
{
    ctn_error err = {0};
    *scene = parse(text);
    ctn_model *const m = ctn_model_create(*scene, &err);
    ck_assert_msg(m != NULL, "%s\nin\n%s", err.message, text);
    return m;
}

static void drop(ctn_model *m, ctn_scene *scene) { ctn_model_free(m), ctn_scene_free(scene); }

#define BALL(name, rest) "  - {name: " name ", joint: free, " MASS ", shapes: [{type: sphere, radius: 0.1" rest "}]}\n"

// ---- shapes and pairs

/// Numbers by hand: all that moves weighs 6 kg, k = 6 * 9.81 N / 1 mm.
START_TEST(numbers)
{
    ctn_scene *scene;
    ctn_model *const m = compile("catena: 1\ncontact: {between: all, depth: 0.001, friction: 0.7, relaxation: 0.02}\nlinks:\n"
                                 "  - {name: box, joint: free, position: [0, 0, 9], mass: 3, inertia: [1, 1, 1, 0, 0, 0], "
                                 "shapes: [{type: box, size: [0.2, "
                                 "0.1, 0.4], center: [1, 2, 3], contact: {friction: 0.5}}]}\n"
                                 "  - {name: ball, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: sphere, "
                                 "radius: 0.3, center: [0, 1, 0], "
                                 "contact: {friction: 0.9}}]}\n"
                                 "  - {name: bar, joint: free, position: [5, 0, 0], mass: 2, inertia: [1, 1, 1, 0, 0, 0], "
                                 "shapes: [{type: capsule, from: [1, 0, "
                                 "0], to: [1, 4, 0], radius: 0.2}]}\n",
                                 &scene);
    ck_assert_int_eq(m->ntouch_shape, 3);
    const touch_shape *const s = m->touch_shapes;
    ck_assert(s[0].kind == CORE_BOX && s[1].kind == CORE_POINT && s[2].kind == CORE_SEGMENT);
    for (int k = 0; k < 3; k++) ck_assert(s[k].link == k && s[k].number == 0 && s[k].body == m->frames[k].body);
    NEAR(&s[0].radius, 1e-15, 0.004);  // four depths, which is more than a fiftieth
    NEAR(s[0].half, 1e-15, 0.096, 0.046, 0.196);
    NEAR(s[0].at, 1e-15, 1, 2, 3);
    NEAR(&s[0].bound, 1e-8, 0.004 + sqrt(0.096 * 0.096 + 0.046 * 0.046 + 0.196 * 0.196));
    EXACT(&s[1].radius, 0.3);
    EXACT(s[1].half, 0, 0, 0);
    NEAR(s[2].half, 1e-15, 0, 0, 2);
    NEAR(s[2].at, 1e-15, 1, 2, 0);
    NEAR(((double[]){s[2].R[2], s[2].R[5], s[2].R[8]}), 1e-15, 0, 1, 0);  // its z axis

    const double k = 6 * 9.81 / 0.001;
    const touch_pair expected[] = {{.a = 1, .b = 0, .elements = 1, .slot = 0, .slots = 1, .friction = 0.5},
                                   {.a = 1, .b = 2, .elements = 1, .slot = 1, .slots = 1, .friction = 0.9},
                                   {.a = 2, .b = 0, .elements = 22, .slot = 2, .slots = PAIR_SLOTS, .friction = 0.5}};
    ck_assert_int_eq(m->npair, 3);
    for (int i = 0; i < 3; i++) {
        const touch_pair *const p = &m->touch_pairs[i], *const e = &expected[i];
        ck_assert_msg(p->a == e->a && p->b == e->b && p->elements == e->elements && p->slot == e->slot && p->slots == e->slots &&
                          p->friction == e->friction,
                      "pair %d: %d %d, %d elements, slots %d %d, friction %g", i, p->a, p->b, p->elements, p->slot, p->slots,
                      p->friction);
        NEAR(&p->grip, 1e-9, k);
        NEAR(&p->slide, 1e-9, k / 10);
    }
    ck_assert_int_eq(m->nslot, 18);
    EXACT(&m->relaxation, 0.02);
    drop(m, scene);
}
END_TEST

/// Without a depth: 0.005 of the smaller tree's extent, its radius of gyration about the origin here; what is damped critically.
START_TEST(usual_numbers)
{
    ctn_scene *scene;
    ctn_model *m = compile(
        "catena: 1\ncontact: {between: links}\nlinks:\n" BALL(
            "a", "") "  - {name: b, joint: free, mass: 3, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: box, size: [1, 2, 3]}]}\n",
        &scene);
    const double depth = 0.005 * sqrt(0.5);
    ck_assert_int_eq(m->npair, 1);
    NEAR(&m->touch_pairs[0].grip, 1e-9, 4 * 9.81 / depth);
    NEAR(&m->touch_pairs[0].friction, 0, 0.8);
    NEAR(&m->relaxation, 1e-12, 2 * sqrt(depth / 9.81));
    NEAR(&m->touch_shapes[1].radius, 1e-15, 0.02);  // a fiftieth of its smallest side
    ck_assert(!m->ncontact);
    drop(m, scene);
    // two boxes; a thin one is round by a quarter of its smallest side at most
    m = compile("catena: 1\ncontact: {between: links, depth: 0.01}\nlinks:\n"
                "  - {name: a, joint: free, " MASS ", shapes: [{type: box, size: [1, 2, 0.1]}]}\n"
                "  - {name: b, joint: free, " MASS ", shapes: [{type: box, size: [1, 1, 1], contact: {rounding: 0.125}}]}\n",
                &scene);
    ck_assert(m->npair == 1 && m->touch_pairs[0].a == 0 && m->touch_pairs[0].b == 1);
    ck_assert(m->touch_pairs[0].elements == 160 && m->touch_pairs[0].slots == PAIR_SLOTS && m->nslot == PAIR_SLOTS);
    NEAR(&m->touch_shapes[0].radius, 1e-15, 0.025);
    NEAR(&m->touch_shapes[1].radius, 0, 0.125);
    NEAR(m->touch_shapes[1].half, 0, 0.375, 0.375, 0.375);
    drop(m, scene);
}
END_TEST

/// A box whose edges are said to be round touches the ground by rounded corners of its core.
START_TEST(round_corners)
{
    ctn_scene *scene;
    ctn_model *const m = compile("catena: 1\nground: true\nlinks:\n  - {name: a, joint: free, " MASS
                                 ", shapes: [{type: box, size: [1, 2, 4], contact: {rounding: 0.125}}]}\n",
                                 &scene);
    ck_assert(m->ncontact == 8 && !m->npair && !m->ntouch_shape);
    EXACT(m->loads[0].point, -0.375, -0.875, -1.875);
    EXACT(&m->loads[7].radius, 0.125);
    drop(m, scene);
}
END_TEST

/// Who touches whom: letters of the links of the two shapes, in the order of the model's pairs.
START_TEST(filters)
{
#define S(name, more, touch)                                                                                                     \
    "  - {name: " name ", " more ", " MASS ", shapes: [{type: sphere, radius: 0.1, contact: " touch "}]}\n"
#define FOUR                                                                                                                     \
    S("a", "joint: free", "true")                                                                                                \
    S("b", "parent: a, joint: ball", "true") S("c", "parent: b", "true") S("d", "parent: c, joint: ball", "true")
    static const struct {
        const char *links, *rest, *pairs;
    } cases[] = {
        {FOUR, "contact: {between: all}\n", "ad"},  // c is fixed to b: b d and c d are parent and child
        {FOUR, "contact: {between: world}\nground: true\n", ""},
        {FOUR, "ground: true\n", ""},
        {FOUR, "contact: {between: links}\nexclude: [[d, a]]\n", ""},
        {FOUR, "contact: {between: links}\nexclude: [[a, b], {tree: b}]\n", "ad"},
        {FOUR, "contact: {between: links}\nexclude: [{tree: a}]\n", ""},
        {FOUR, "pairs: [{a: d, b: c}]\n", "cd"},
        {FOUR, "contact: {between: links}\nexclude: [[a, d]]\npairs: [{a: d, b: a}, {a: a, b: c}]\n", "acad"},
        // what is fixed to the world: two trees of it, of which one carries b
        {S("a", "joint: fixed", "true") S("b", "parent: a, joint: ball", "true") S("c", "joint: fixed", "true"),
         "contact: {between: links}\n", "cb"},
        {S("a", "joint: free", "true") S("b", "joint: free", "false") S("c", "joint: free", "true"),
         "contact: {between: links}\n", "ac"},
        {S("a", "joint: free", "{layers: [1]}") S("b", "joint: free", "{layers: [2]}") S("c", "joint: free", "{layers: [1, 2]}"),
         "contact: {between: links}\n", "acbc"},
        // one-sided, as contype and conaffinity
        {S("a", "joint: free", "{layers: [1], touches: [2]}") S("b", "joint: free", "{layers: [2], touches: [3]}")
             S("c", "joint: free", "{layers: [4], touches: [5]}"),
         "contact: {between: links}\n", "ab"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[2000], pairs[64] = "";
        ctn_scene *scene;
        snprintf(text, sizeof text, "catena: 1\n%slinks:\n%s", cases[k].rest, cases[k].links);
        ctn_model *const m = compile(text, &scene);
        for (int i = 0; i < m->npair; i++) {
            const touch_pair *const p = &m->touch_pairs[i];
            strcat(pairs, m->links[m->touch_shapes[p->a].link].name), strcat(pairs, m->links[m->touch_shapes[p->b].link].name);
            ck_assert(m->touch_shapes[p->a].body < m->touch_shapes[p->b].body);  // cores of one kind
        }
        ck_assert_msg(!strcmp(pairs, cases[k].pairs), "case %zu: '%s', expected '%s'", k, pairs, cases[k].pairs);
        drop(m, scene);
    }
}
END_TEST

/// Explicit pairs have their own numbers; those of the others stay. `between: links` leaves the ground alone.
START_TEST(explicit_pairs)
{
    ctn_scene *scene;
    ctn_model *m = compile(
        "catena: 1\nground: true\ncontact: {between: all, depth: 0.01}\npairs: [{a: b, b: a, friction: 0.1, stiffness: 123}, "
        "{a: b, b: c, depth: 0.002}]\nlinks:\n" BALL("a", ", center: [0, 0, 9]") BALL("b", "") BALL("c", ""),
        &scene);
    ck_assert(m->npair == 3 && m->ncontact == 3);
    EXACT(&m->touch_pairs[0].friction, 0.1);
    EXACT(&m->touch_pairs[0].grip, 123);
    NEAR(&m->touch_pairs[0].slide, 1e-12, 12.3);
    NEAR(&m->touch_pairs[0].depth, 1e-12, 3 * 9.81 / 123);
    NEAR(&m->touch_pairs[1].grip, 1e-9, 3 * 9.81 / 0.01);
    NEAR(&m->touch_pairs[2].grip, 1e-9, 3 * 9.81 / 0.002);
    NEAR(&m->relaxation, 1e-12, 2 * sqrt(0.01 / 9.81));  // the ground's
    drop(m, scene);
    m = compile("catena: 1\nground: true\ncontact: {between: links}\nlinks:\n" BALL("a", "") BALL("b", ""), &scene);
    ck_assert(m->npair == 1 && m->ncontact == 0);
    ck_assert_msg(
        strstr(ctn_scene_warnings(scene), "contact: between: links: they touch each other, and not the `ground`; write all"),
        "%s", ctn_scene_warnings(scene));
    drop(m, scene);
}
END_TEST

// ---- bonds

/// The world place of a point, and the z axis of axes, of a body's side of a bond.
static void in_world(const ctn_model *m, int link, const double *at, const double *axes, double x[3], double z[3])
{
    double *p, *const R = places_at_start(m, &p), point[3], axis[3];
    for (int i = 0; i < 3; i++) axis[i] = 0;
    if (link < 0) memcpy(x, at, 3 * sizeof *x), memcpy(z, (double[]){axes[2], axes[5], axes[8]}, 3 * sizeof *z);
    else {
        link_point(m, link, at, point);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) axis[i] += m->frames[link].R[3 * k + i] * axes[3 * k + 2];
        for (int i = 0; i < 3; i++) {
            x[i] = p[3 * link + i], z[i] = 0;
            for (int k = 0; k < 3; k++) x[i] += R[9 * link + 3 * i + k] * point[k], z[i] += R[9 * link + 3 * i + k] * axis[k];
        }
    }
    free(R);
}

/// Two arms on hinges that lie oddly, which makes the frames of bodies turn against those of links.
#define ARMS                                                                                                                     \
    "  - {name: a, position: [0, 0, 1], joint: {type: revolute, axis: [0, 1, 0], q0: 0.3}, " MASS "}\n"                          \
    "  - {name: b, parent: a, position: [1, 0, 0], joint: {type: revolute, axis: [0, 1, 1], q0: -0.7}, " MASS "}\n"              \
    "  - {name: c, position: [2, 0, 0], joint: {type: revolute, axis: [1, 1, 0], q0: 0.4}, " MASS "}\n"

START_TEST(loops)
{
    static const struct {
        const char *loop;
        bond_kind kind;
        int rows;
        double length;
    } cases[] = {{"{type: point, a: b, b: c, at: [0.5, 0.1, 0.2]}", BOND_POINT, 3, 0},
                 {"{type: hinge, a: b, b: c, at: [0.5, 0.1, 0.2], axis: [0, 3, 4]}", BOND_HINGE, 5, -1},
                 {"{type: weld, a: b, b: world, at: [0.5, 0.1, 0.2], length: 0.25}", BOND_WELD, 6, 0.25},
                 {"{type: slider, a: b, b: c, at_a: [0.5, 0.1, 0.2], axis: [0, 3, 4], compliance: 1e-6}", BOND_SLIDER, 5, -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1200];
        double x[2][3], z[2][3];
        ctn_scene *scene;
        snprintf(text, sizeof text, "catena: 1\nloops: [%s]\nlinks:\n%s", cases[k].loop, ARMS);
        ctn_model *const m = compile(text, &scene);
        const model_bond *const o = &m->bonds[0];
        ck_assert(m->nbond == 1 && o->kind == cases[k].kind && o->rows == cases[k].rows && o->row == 0 && m->nrow == o->rows);
        ck_assert(o->a == m->frames[1].body && o->b == (k == 2 ? -1 : m->frames[2].body));
        in_world(m, 1, o->at_a, o->axes_a, x[0], z[0]), in_world(m, k == 2 ? -1 : 2, o->at_b, o->axes_b, x[1], z[1]);
        near(x[0], x[1], 3, 1e-14, "place"), near(z[0], z[1], 3, 1e-14, "axis");
        double point[3];
        link_point(m, 1, o->at_a, point);
        NEAR(point, 1e-15, 0.5, 0.1, 0.2);
        if (cases[k].length >= 0) EXACT(&o->length, cases[k].length);
        else ck_assert(o->length > 0);
        EXACT(&o->compliance, k == 3 ? 1e-6 : 0);
        drop(m, scene);
    }
}
END_TEST

/// Both sides given: a little open is a warning, more an error; a distance is that of the start.
START_TEST(openings)
{
    static const char *const format =
        "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [1, 0, 0], "
        "inertia: [0, 0, 0, 0, 0, 0]}\nloops: [{name: end, type: %s, a: a, b: world, at_a: [1, 0, 0], at_b: "
        "[1, %s, 0]%s}]\n";
    char text[600];
    ctn_scene *scene;
    ctn_error err = {0};
    snprintf(text, sizeof text, format, "point", "0.02", "");
    scene = parse(text);
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_msg(
        strstr(err.message,
               "t.yaml:4:9: loops[0]: 'end' is open by 0.02 m at the start, between 'a' and 'world', which is more than "
               "a hundredth of their size, 1 m"),
        "%s", err.message);
    ctn_scene_free(scene);
    snprintf(text, sizeof text, format, "point", "0.002", "");
    ctn_model *m = compile(text, &scene);
    ck_assert(warn_of_between(scene, m));
    ck_assert_msg(strstr(ctn_scene_warnings(scene), "t.yaml:4:9: loops[0]: open by 0.002 m at the start"), "%s",
                  ctn_scene_warnings(scene));
    drop(m, scene);
    snprintf(text, sizeof text, format, "point", "1e-12", "");
    m = compile(text, &scene);
    ck_assert(warn_of_between(scene, m) && !*ctn_scene_warnings(scene));
    drop(m, scene);
    snprintf(text, sizeof text, format, "distance", "3", "");
    m = compile(text, &scene);
    EXACT(&m->bonds[0].length, 3);
    ck_assert(m->nrow == 1);
    drop(m, scene);
    snprintf(text, sizeof text, format, "distance", "3", ", length: 3.5");
    scene = parse(text);
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_msg(strstr(err.message, "is open by 0.5 m"), "%s", err.message);
    ctn_scene_free(scene);
    snprintf(text, sizeof text, format, "distance", "0", "");
    scene = parse(text);
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_msg(strstr(err.message, "two points at one place at the start: give it a `length`"), "%s", err.message);
    ctn_scene_free(scene);
}
END_TEST

/// Equations that follow from others, by hand: a planar four-bar closed at a point has 3 of which 2 count, closed by a hinge 5 of which 2
/// do; twice the same adds none. A second loop that asks for another place contradicts the first.
START_TEST(ranks)
{
#define BAR(name, on, at, q0)                                                                                                    \
    "  - {name: " name ", " on "position: " at ", joint: {type: revolute, axis: [0, 1, 0], q0: " q0                              \
    "}, mass: 1, com: [0.5, 0, 0], "                                                                                             \
    "inertia: [0, 0.1, 0.1, 0, 0, 0]}\n"
#define BARS                                                                                                                     \
    BAR("a", "", "[0, 0, 0]", "-1.5707963267948966")                                                                             \
    BAR("b", "parent: a, ", "[1, 0, 0]", "1.5707963267948966") BAR("c", "parent: b, ", "[1, 0, 0]", "1.5707963267948966")
    static const struct {
        const char *loops;
        int rows, rank, redundant[2];
        double against;
    } cases[] = {
        {"{type: point, a: c, b: world, at: [1, 0, 0]}", 3, 2, {1, 0}, 0},
        {"{type: hinge, a: c, b: world, at: [1, 0, 0], axis: [0, 1, 0]}", 5, 2, {3, 0}, 0},
        {"{type: weld, a: c, b: world, at: [1, 0, 0]}", 6, 3, {3, 0}, 0},
        {"{type: slider, a: c, b: world, at: [1, 0, 0], axis: [1, 0, 0]}", 5, 2, {3, 0}, 0},
        {"{type: point, a: c, b: world, at: [1, 0, 0]}, {type: point, a: c, b: world, at: [1, 0, 0]}", 6, 2, {1, 3}, 0},
        {"{type: point, a: c, b: world, at: [1, 0, 0]}, {type: point, a: c, b: world, at: [1, 0, 0], at_b: [1.004, 0, 0]}",
         6,
         2,
         {1, 3},
         0.004},
        {"{type: distance, a: b, b: world, at_a: [1, 0, 0], at_b: [0, 0, 0]}", 1, 1, {0, 0}, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1500];
        ctn_scene *scene;
        int redundant[2];
        double against[2];
        snprintf(text, sizeof text, "catena: 1\nlinks:\n%sloops: [%s]\n", BARS, cases[k].loops);
        ctn_model *const m = compile(text, &scene);
        const int rank = bond_ranks(m, scene, redundant, against);
        ck_assert_msg(m->nrow == cases[k].rows && rank == cases[k].rank, "case %zu: %d rows of rank %d", k, m->nrow, rank);
        for (int i = 0; i < m->nbond; i++)
            ck_assert_msg(redundant[i] == cases[k].redundant[i], "case %zu: %d of %d", k, redundant[i], i);
        NEAR(&against[m->nbond - 1], 1e-9, cases[k].against);
        ck_assert(warn_of_between(scene, m));
        ck_assert((strstr(ctn_scene_warnings(scene), "loops[1]: contradicts those before it") != NULL) == (cases[k].against > 0));
        drop(m, scene);
    }
}
END_TEST

/// A weld that says how b is turned: in the frame of a, and the start must agree.
START_TEST(turned_weld)
{
    static const char *const format =
        "catena: 1\nlinks:\n  - {name: a, joint: free, " MASS "}\n  - {name: b, joint: free, euler: [0, 0, 90 deg], " MASS "}\n"
        "loops: [{type: weld, a: a, b: b, euler: [0, 0, %s deg]}]\n";
    char text[400];
    ctn_scene *scene;
    ctn_error err;
    snprintf(text, sizeof text, format, "90");
    ctn_model *const m = compile(text, &scene);
    double *p, *const R = places_at_start(m, &p);
    const double open = bond_opening(m, scene, m->bonds, R, p);
    NEAR(&open, 1e-15, 0);
    free(R), drop(m, scene);
    snprintf(text, sizeof text, format, "80");
    scene = parse(text);
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_msg(strstr(err.message, "loops[0]: is open by"), "%s", err.message);
    ctn_scene_free(scene);
}
END_TEST

/// What follows starts where it follows, one after the other, unless it says where; tendons and springs with what they join.
START_TEST(couplings)
{
    ctn_scene *scene;
    ctn_model *const m =
        compile("catena: 1\nlinks:\n" ARMS "  - {name: d, joint: prismatic, " MASS "}\n"
                "  - {name: e, joint: revolute, " MASS "}\n"
                "couplings: [{joint: d, follows: e, ratio: 2, offset: 1}, {joint: e, follows: a, poly: [1, 0, 10]}, {joint: b, "
                "offset: -0.7}]\n"
                "tendons: [{name: t, joints: {a: 0.1, c: -0.2}, stiffness: 5, rest: 0.3, range: [-1, 2]}]\n"
                "springs: [{link: a, anchor: [0, 0, 0], stiffness: 1}, {link: a, b: c, point: [1, 0, 0], b_point: [0, 1, 0], "
                "stiffness: 3, damping: 4, rest: 2}, {link: b, anchor: [0, 0, 0], stiffness: 2}]\n",
                &scene);
    NEAR(&m->q0[4], 1e-15, 1 + 10 * 0.3 * 0.3);  // e
    NEAR(&m->q0[3], 1e-15, 1 + 2 * 1.9);         // d, which follows it
    ck_assert(m->nspring == 2 && m->nload == 2 && m->nbond == 5 && m->nrow == 3);
    const model_bond *const spring = &m->bonds[0], *const first = &m->bonds[1], *const held = &m->bonds[3],
                            *const tendon = &m->bonds[4];
    ck_assert(spring->kind == BOND_SPRING && spring->points == 2 && m->bond_points[0].body == m->frames[0].body &&
              m->bond_points[0].share == 1 && m->bond_points[1].body == m->frames[2].body && !spring->rows);
    ck_assert(spring->stiffness == 3 && spring->damping == 4 && spring->rest[0] == 2 && spring->rest[1] == 2 &&
              spring->number == 0);
    double point[3];
    link_point(m, 2, m->bond_points[1].at, point);
    NEAR(point, 1e-15, 0, 1, 0);
    ck_assert(first->kind == BOND_COUPLING && first->follower == m->frames[3].body && first->leader == m->frames[4].body);
    ck_assert(first->poly[0] == 1 && first->poly[1] == 2 && first->poly[2] == 0 && first->row == 0 && m->bonds[2].row == 1);
    ck_assert(held->leader == -1 && held->follower == m->frames[1].body && held->poly[0] == -0.7 && held->poly[1] == 0 &&
              held->row == 2);
    ck_assert(tendon->kind == BOND_TENDON && tendon->joints == 2 && !tendon->rows && tendon->rest[0] == 0.3 &&
              tendon->range[1] == 2);
    ck_assert(m->bond_joints[0].body == m->frames[0].body && m->bond_joints[1].body == m->frames[2].body &&
              m->bond_joints[1].share == -0.2);
    ck_assert(tendon->compliance > 0);
    drop(m, scene);
    // drawn with the one that it follows
    scene = parse("catena: 1\nlinks:\n  - {name: a, joint: revolute, " MASS "}\n  - {name: b, joint: revolute, " MASS "}\n"
                  "couplings: [{joint: a, follows: b, poly: [1, 0, 1]}]\nsample: {q: {all: {uniform: [-1, 1]}}, v: {all: {uniform: [-1, 1]}}}\n");
    ctn_error none;
    ctn_model *const drawn = ctn_model_create(scene, &none);
    for (int w = 0; w < 10; w++) {
        double q[2], v[2];
        ctn_sample_state(scene, drawn, 3, w, 10, q, v);
        NEAR(&q[0], 1e-15, 1 + q[1] * q[1]);
        NEAR(&v[0], 1e-15, 2 * q[1] * v[1]);
        ck_assert(q[1] != 0 && v[1] != 0);
    }
    drop(drawn, scene);
    // one that says where it starts
    ctn_error err;
    scene = parse("catena: 1\nlinks:\n" ARMS "couplings: [{joint: b, follows: a, ratio: 2}]\n");
    ck_assert_ptr_null(ctn_model_create(scene, &err));
    ck_assert_msg(strstr(err.message, "couplings[0]: the joint of 'b' starts 1.3 from where it follows: change its q0"), "%s",
                  err.message);
    ctn_scene_free(scene);
}
END_TEST

// ---- cylinders, ellipsoids and meshes

/// They have the numbers of their cores, in the model's own; a pair's first shape is that with the simpler core.
START_TEST(solid_cores)
{
    ctn_scene *scene;
    ctn_model *const m = compile(
        "catena: 1\ncontact: {between: all, depth: 0.001}\nlinks:\n"
        "  - {name: rock, joint: free, mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: mesh, file: " CATENA_SOURCE_DIR
        "/tests/golden/rock.obj, scale: 0.1, density: 0}]}\n"
        "  - {name: egg, joint: free, position: [2, 0, 0], mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: ellipsoid, "
        "radii: [0.1, "
        "0.2, 0.1], center: [0, 0, 1]}]}\n"
        "  - {name: roll, joint: free, position: [4, 0, 0], mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: cylinder, "
        "from: [0, -1, "
        "0], to: [0, 1, 0], radius: 0.5}]}\n"
        "  - {name: box, joint: free, position: [6, 0, 0], mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: box, size: [1, "
        "1, 1]}]}\n",
        &scene);
    ck_assert_int_eq(m->ntouch_shape, 4);
    ck_assert_int_eq(m->npair, 6);
    const touch_shape *const s = m->touch_shapes;
    ck_assert(s[0].kind == CORE_HULL && s[1].kind == CORE_ELLIPSOID && s[2].kind == CORE_CYLINDER && s[3].kind == CORE_BOX);
    size_t numbers = 0;
    for (int k = 0; k < 4; k++) {
        if (numbers_of_core(&s[k])) ck_assert_ptr_eq(s[k].numbers, m->touch_numbers + numbers);
        numbers += (size_t)numbers_of_core(&s[k]);
    }
    ck_assert_uint_eq(numbers, m->ntouch_number);
    ck_assert(s[0].points >= 4 && s[0].points <= 24 && s[0].points - s[0].edges + s[0].faces == 2);
    ck_assert(s[0].radius > 0);
    EXACT(&s[1].radius, 0);
    NEAR(s[1].half, 1e-15, 0.1, 0.2, 0.1);
    NEAR(s[1].at, 1e-15, 0, 0, 1);
    NEAR(&s[2].radius, 1e-15, 0.02);  // a fiftieth of what it is across
    NEAR(s[2].half, 1e-15, 0.48, 0.48, 0.98);
    NEAR(((double[]){s[2].R[2], s[2].R[5], s[2].R[8]}), 1e-15, 0, 1, 0);
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        ck_assert_int_le(s[p->a].kind, s[p->b].kind);
        ck_assert_int_eq(p->elements, elements_of(&s[p->a], &s[p->b]));
        ck_assert_int_eq(p->slots, touch_once(&s[p->a], &s[p->b]) ? 1 : PAIR_SLOTS);
    }
    drop(m, scene);
}
END_TEST

// ---- what is refused

START_TEST(refused_scenes)
{
    static const char *const cases[][2] = {
        {"contact: {between: all}\nlinks:\n" BALL("a", "") "  - {name: b, joint: free, " MASS
         ", shapes: [{type: mesh, file: " CATENA_SOURCE_DIR "/tests/meshes/square.obj, density: 0}]}\n",
         "t.yaml:5:5: shapes[0]: a mesh of 'b' would touch 'a', and its hull encloses nothing: its vertices are in a plane; let it say"},
        {"contact: {between: all}\nlinks:\n" BALL("a", "") "  - {name: b, parent: a, joint: ball, mass: 0, shapes: [{type: sphere, radius: 1}]}\n"
         "  - {name: c, parent: b, joint: ball, " MASS "}\n" BALL("d", ""),
         "t.yaml:5:5: shapes[0]: 'b' has no mass, and would touch 'd'; give it some, or let the shape say `contact: false`"},
        {"links:\n" BALL("a", "") "  - {name: b, joint: free, " MASS "}\npairs: [{a: a, b: b}]\n",
         "t.yaml:5:9: pairs: 'b' has nothing to touch"},
        {"links:\n" BALL("a", "") "  - {name: b, parent: a, " MASS
                                  ", shapes: [{type: sphere, radius: 1}]}\npairs: [{a: a, b: b}]\n",
         "t.yaml:5:9: pairs: 'a' and 'b' are fixed to each other"},
        {"links:\n" BALL("a", "") "  - {name: b, parent: a, " MASS "}\nloops: [{type: weld, a: a, b: b}]\n",
         "t.yaml:5:9: loops[0]: joins two links that are fixed to each other"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1200];
        ctn_error err = {0};
        snprintf(text, sizeof text, "catena: 1\n%s", cases[k][0]);
        ctn_scene *const scene = parse(text);
        ck_assert_ptr_null(ctn_model_create(scene, &err));
        ck_assert_msg(err.status == CTN_BAD_SCENE && strstr(err.message, cases[k][1]), "case %zu: %s", k, err.message);
        ctn_scene_free(scene);
    }
}
END_TEST

/// 65536 elements and no more: boxes have 160 each pair.
START_TEST(capacity)
{
    for (int boxes = 29; boxes <= 30; boxes++) {
        char text[8000] = "catena: 1\ncontact: {between: links}\nlinks:\n";
        for (int k = 0; k < boxes; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "  - {name: a%d, joint: free, " MASS ", shapes: [{type: box, size: [1, 1, 1]}]}\n", k);
        ctn_scene *const scene = parse(text);
        ctn_error err = {0};
        ctn_model *const m = ctn_model_create(scene, &err);
        if (boxes == 29) ck_assert(m && m->npair == 29 * 28 / 2);
        else
            ck_assert_msg(
                !m && strstr(err.message, "t.yaml:2:10: contact: links that touch each other have more than 65536 elements"),
                "%s", err.message);
        drop(m, scene);
    }
}
END_TEST

/// Methods, engines and derivatives that know nothing of what acts between links.
START_TEST(refused_steps)
{
    static const struct {
        ctn_method method;
        int order;
        ctn_solver solver;
        ctn_parallel parallel;
        const char *says;
    } cases[] = {
        {CTN_COLLOCATION, 2, CTN_NEWTON, CTN_PARALLEL_WORLDS, NULL},
        {CTN_COLLOCATION, 2, CTN_NEWTON, CTN_PARALLEL_AUTO, NULL},
        {CTN_RADAU, 2, CTN_NEWTON, CTN_PARALLEL_WORLDS, NULL},
        {CTN_ALPHA, 2, CTN_NEWTON, CTN_PARALLEL_WORLDS, NULL},
        {CTN_COLLOCATION, 4, CTN_NEWTON, CTN_PARALLEL_WORLDS, "order: collocation takes %s at order 2 alone"},
        {CTN_COLLOCATION, 2, CTN_LBFGS, CTN_PARALLEL_WORLDS, "solver: lbfgs takes no %s"},
        {CTN_RK4, 2, CTN_NEWTON, CTN_PARALLEL_WORLDS, "method: rk4 takes no %s; take collocation of order 2, alpha or radau"},
        {CTN_VARIATIONAL, 2, CTN_NEWTON, CTN_PARALLEL_WORLDS, "method: variational takes no %s"},
        {CTN_COLLOCATION, 2, CTN_NEWTON, CTN_PARALLEL_LINKS, "parallel: links takes no %s; take worlds"},
    };
    static const char *const acts[][2] = {{"contact: {between: links}\n", "links that touch each other"},
                                          {"loops: [{type: point, a: a, b: b, at: [0, 0, 0]}]\n", "`loops`"},
                                          {"springs: [{link: a, b: b, stiffness: 1}]\n", "`springs` between links"}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        char text[800], says[200];
        ctn_scene *scene;
        snprintf(text, sizeof text, "catena: 1\n%slinks:\n" BALL("a", "") BALL("b", ""), acts[i][0]);
        ctn_model *const m = compile(text, &scene);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            ctn_batch_config cfg = ctn_batch_config_default();
            ctn_error err = {0};
            cfg.method = cases[k].method, cfg.order = cases[k].order, cfg.solver = cases[k].solver,
            cfg.parallel = cases[k].parallel;
            if (cfg.method == CTN_VARIATIONAL || cfg.method == CTN_COLLOCATION) cfg.order = cases[k].order;
            const ctn_status status = ctn_batch_check(m, &cfg, &err);
            if (cases[k].says) snprintf(says, sizeof says, cases[k].says, acts[i][1]);
            ck_assert_msg(cases[k].says ? status != CTN_OK && strstr(err.message, says) : status == CTN_OK, "%zu, %zu: %s", i, k,
                          err.message);
        }
        drop(m, scene);
    }
}
END_TEST

/// A start in each other, by hand: balls 0.15 apart of 0.2; a box turned by 45 degrees, whose edge is at
/// 2.4 - 0.999 sqrt(2) - 0.001.
START_TEST(deep_starts)
{
    static const struct {
        const char *links, *says;
    } cases[] = {
        {BALL("a", "") BALL("b", ", center: [0.15, 0, 0]"),
         "t.yaml:5:5: shapes: 'a' and 'b' start 0.05 m deep in each other, where they rest at 0.001 m"},
        {BALL("a", "") BALL("b", ", center: [0.191, 0, 0]"), NULL},
        {BALL("a", "") "  - {name: b, joint: free, " MASS
                       ", shapes: [{type: capsule, from: [0.12, -1, 0], to: [0.12, 1, 0], radius: 0.05}]}\n",
         "'a' and 'b' start 0.03 m deep"},
        {BALL("a", "") "  - {name: b, joint: free, " MASS ", shapes: [{type: box, size: [2, 2, 2], center: [1.05, 0, 0]}]}\n",
         "'a' and 'b' start 0.05 m deep"},
        {BALL("a", "") "  - {name: b, joint: free, " MASS ", shapes: [{type: box, size: [2, 2, 2], center: [0.5, 0, 0]}]}\n",
         "'a' and 'b' start 0.6 m deep"},
        {"  - {name: a, joint: free, " MASS ", shapes: [{type: box, size: [2, 2, 2], contact: {rounding: 0.001}}]}\n"
         "  - {name: b, joint: free, position: [2.4, 0, 0], euler: [0, 45 deg, 0], " MASS
         ", shapes: [{type: box, size: [2, 2, 2], contact: {rounding: 0.001}}]}\n",
         "'a' and 'b' start 0.0138 m deep"},
        {BALL("a", "") "  - {name: b, joint: free, " MASS
                       ", shapes: [{type: cylinder, from: [0.55, 0, -1], to: [0.55, 0, 1], radius: 0.5}]}\n",
         "'a' and 'b' start 0.05 m deep"},
        {BALL("a", "") "  - {name: b, joint: free, " MASS ", shapes: [{type: ellipsoid, radii: [0.3, 0.1, 0.1], center: [0.35, 0, 0]}]}\n",
         "'a' and 'b' start 0.05 m deep"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1000];
        ctn_scene *scene;
        snprintf(text, sizeof text, "catena: 1\ncontact: {between: links, depth: 0.001}\nlinks:\n%s", cases[k].links);
        ctn_model *const m = compile(text, &scene);
        ck_assert(warn_of_between(scene, m));
        const char *const said = ctn_scene_warnings(scene);
        ck_assert_msg(cases[k].says ? strstr(said, cases[k].says) != NULL : !*said, "case %zu: %s", k, said);
        drop(m, scene);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("between");
    TCase *const tcase = tcase_create("compiled");
    tcase_add_test(tcase, numbers);
    tcase_add_test(tcase, solid_cores);
    tcase_add_test(tcase, usual_numbers);
    tcase_add_test(tcase, round_corners);
    tcase_add_test(tcase, filters);
    tcase_add_test(tcase, explicit_pairs);
    tcase_add_test(tcase, loops);
    tcase_add_test(tcase, openings);
    tcase_add_test(tcase, ranks);
    tcase_add_test(tcase, turned_weld);
    tcase_add_test(tcase, couplings);
    tcase_add_test(tcase, refused_scenes);
    tcase_add_test(tcase, capacity);
    tcase_add_test(tcase, refused_steps);
    tcase_add_test(tcase, deep_starts);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
