/// Mass properties: shapes against closed forms and against sums over a grid of points, the rules for explicit and computed mass,
/// and which inertias are possible.
#include "sim/scene/scene_reader.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdlib.h>

static ctn_scene *parse_link(const char *keys)
{
    char text[2048];
    snprintf(text, sizeof text, "catena: 1\nlinks:\n  - {name: a, joint: ball, %s}\n", keys);
    return parse(text);
}

// ---- closed forms, in numbers worked out by hand

static const struct {
    const char *shape;
    double mass, com[3], inertia[6];
} closed[] = {
    // 4/3 pi r^3; 2/5 m r^2
    {"{type: sphere, center: [1, 2, 3], radius: 0.5}",
     1.5707963267948966 / 3,
     {1, 2, 3},
     {0.05235987755982989, 0.05235987755982989, 0.05235987755982989, 0, 0, 0}},
    // a b c; m/12 (b^2 + c^2)
    {"{type: box, center: [1, 0, 0], size: [1, 2, 3]}", 6, {1, 0, 0}, {6.5, 5, 2.5, 0, 0, 0}},
    // a quarter turn about z swaps x and y, an eighth mixes them: (6.5 + 5)/2, (5 - 6.5)/2 ... with the sign of the matrix entry
    {"{type: box, size: [1, 2, 3], euler: [0, 0, 1.5707963267948966]}", 6, {0, 0, 0}, {5, 6.5, 2.5, 0, 0, 0}},
    {"{type: box, size: [1, 2, 3], euler: [0, 0, 0.7853981633974483]}", 6, {0, 0, 0}, {5.75, 5.75, 2.5, 0.75, 0, 0}},
    // 4/3 pi a b c; m/5 (b^2 + c^2)
    {"{type: ellipsoid, radii: [1, 2, 3]}",
     25.132741228718345,
     {0, 0, 0},
     {65.3451271946677, 50.26548245743669, 25.132741228718345, 0, 0, 0}},
    // pi r^2 h; m r^2/2; m (3 r^2 + h^2)/12 with r = 1, h = 2
    {"{type: cylinder, from: [0, 0, 1], to: [0, 0, 3], radius: 1}",
     6.283185307179586,
     {0, 0, 2},
     {3.665191429188092, 3.665191429188092, 3.141592653589793, 0, 0, 0}},
    // the same along (1, 1, 0)/sqrt 2: half way between along and across
    {"{type: cylinder, from: [0, 0, 0], to: [1.4142135623730951, 1.4142135623730951, 0], radius: 1}",
     6.283185307179586,
     {0.7071067811865476, 0.7071067811865476, 0},
     {3.4033920413889427, 3.4033920413889427, 3.665191429188092, -0.2617993877991494, 0, 0}},
    // r = 0.01, h = 0.05, 1000 kg/m^3: the capsule of the golden model chain40
    {"{type: capsule, from: [0, 0, 0], to: [0.05, 0, 0], radius: 0.01, density: 1000}",
     0.019896753472735357,
     {0.025, 0, 0},
     {9.529497715889039e-07, 7.236135078768492e-06, 7.236135078768492e-06, 0, 0, 0}},
};

START_TEST(closed_forms)
{
    char keys[512];
    snprintf(keys, sizeof keys, "density: 1, shapes: [%s]", closed[_i].shape);
    ctn_scene *const scene = parse_link(keys);
    const scene_link *const link = &scene->links[0];
    const double tolerance = 4e-16 * fmax(closed[_i].inertia[0], closed[_i].inertia[1]);
    near(&link->mass, &closed[_i].mass, 1, 2e-16 * closed[_i].mass, "mass");
    near(link->com, closed[_i].com, 3, 2e-16, "com");
    near(link->inertia, closed[_i].inertia, 6, tolerance, "inertia");
    ctn_scene_free(scene);
}
END_TEST

// ---- sums over a grid: which points are inside, and nothing else

static bool inside(const scene_shape *s, const double point[3])
{
    double d[3], x[3];
    if (s->type == SHAPE_CAPSULE || s->type == SHAPE_CYLINDER) {
        double along = 0, length2 = 0, off2 = 0;
        for (int i = 0; i < 3; i++) {
            along += (point[i] - s->from[i]) * (s->to[i] - s->from[i]);
            length2 += (s->to[i] - s->from[i]) * (s->to[i] - s->from[i]);
        }
        double t = along / length2;
        if (s->type == SHAPE_CYLINDER && (t < 0 || t > 1)) return false;
        t = fmin(fmax(t, 0), 1);
        for (int i = 0; i < 3; i++) d[i] = point[i] - s->from[i] - t * (s->to[i] - s->from[i]), off2 += d[i] * d[i];
        return off2 <= s->radius * s->radius;
    }
    for (int i = 0; i < 3; i++) d[i] = point[i] - s->center[i];
    if (s->type == SHAPE_SPHERE) return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= s->radius * s->radius;
    const double w = s->rotation[0], a = s->rotation[1], b = s->rotation[2], c = s->rotation[3];
    const double R[3][3] = {{1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)},
                            {2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)},
                            {2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)}};
    for (int i = 0; i < 3; i++) x[i] = R[0][i] * d[0] + R[1][i] * d[1] + R[2][i] * d[2];
    if (s->type == SHAPE_BOX) return fabs(x[0]) <= s->size[0] / 2 && fabs(x[1]) <= s->size[1] / 2 && fabs(x[2]) <= s->size[2] / 2;
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += x[i] / s->size[i] * x[i] / s->size[i];
    return sum <= 1;
}

/// Mass properties of a link by points in the cube from -half to half.
static void sum_points(const scene_link *link, double density, double half, double *mass, double com[3], double inertia[6])
{
    enum { N = 120 };
    const double cell = 2 * half / N;
    double m = 0, first[3] = {0}, second[6] = {0};
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < N; k++) {
                const double p[3] = {-half + (i + 0.5) * cell, -half + (j + 0.5) * cell, -half + (k + 0.5) * cell};
                double dm = 0;
                for (int s = 0; s < link->nshape; s++)
                    if (inside(&link->shapes[s], p)) dm += isnan(link->shapes[s].density) ? density : link->shapes[s].density;
                if (dm == 0) continue;
                m += dm;
                for (int a = 0; a < 3; a++) first[a] += dm * p[a], second[a] += dm * p[a] * p[a];
                second[3] += dm * p[0] * p[1], second[4] += dm * p[0] * p[2], second[5] += dm * p[1] * p[2];
            }
        }
    }
    for (int a = 0; a < 3; a++) com[a] = first[a] / m, second[a] -= first[a] * first[a] / m;
    second[3] -= first[0] * first[1] / m, second[4] -= first[0] * first[2] / m, second[5] -= first[1] * first[2] / m;
    const double volume = cell * cell * cell;
    *mass = m * volume;
    inertia[0] = (second[1] + second[2]) * volume, inertia[1] = (second[0] + second[2]) * volume;
    inertia[2] = (second[0] + second[1]) * volume;
    for (int a = 3; a < 6; a++) inertia[a] = -second[a] * volume;
}

static const char *const bodies[] = {
    "{type: sphere, center: [0.1, -0.2, 0.3], radius: 0.6}",
    "{type: box, center: [0.1, 0.2, -0.1], size: [0.5, 0.8, 1.1], rotation: [0.7, 0.3, -0.5, 0.2]}",
    "{type: ellipsoid, center: [0.1, 0.1, 0.2], radii: [0.3, 0.5, 0.8], euler: [0.4, -0.7, 1.1]}",
    "{type: cylinder, from: [-0.4, -0.3, -0.2], to: [0.33, 0.45, 0.38], radius: 0.4}",
    "{type: capsule, from: [-0.2, -0.3, -0.1], to: [0.2, 0.1, 0.4], radius: 0.5}",
    // several, each with its own density or the link's, overlapping
    "{type: sphere, center: [0.5, 0.4, 0.3], radius: 0.3, density: 5}, {type: box, center: [-0.4, 0, 0], size: [0.4, 0.6, 1], "
    "euler: [0.3, 0, 0.5]},"
    "{type: capsule, from: [-0.5, -0.5, 0.5], to: [0.5, -0.4, -0.4], radius: 0.25, density: 2}, {type: ellipsoid, radii: [0.8, "
    "0.3, 0.4]}",
};

START_TEST(against_points)
{
    char keys[1024];
    snprintf(keys, sizeof keys, "density: 3, shapes: [%s]", bodies[_i]);
    ctn_scene *const scene = parse_link(keys);
    const scene_link *const link = &scene->links[0];
    double mass, com[3], inertia[6];
    sum_points(link, 3, 1.1, &mass, com, inertia);
    const double size = fmax(inertia[0], fmax(inertia[1], inertia[2]));
    near(&link->mass, &mass, 1, 1e-3 * mass, "mass");  // the grid's own errors, measured: at most 6e-4, 2e-4 m, 8e-4
    near(link->com, com, 3, 5e-4, "com");
    near(link->inertia, inertia, 6, 1e-3 * size, "inertia");
    ctn_scene_free(scene);
}
END_TEST

// ---- rules

START_TEST(explicit_wins)
{
    ctn_scene *const scene =
        parse_link("mass: 2, com: [1, 2, 3], inertia: [1, 2, 2.5, 0.1, 0, 0], shapes: [{type: sphere, radius: 1}]");
    near(&scene->links[0].mass, (double[]){2}, 1, 0, "mass");
    near(scene->links[0].com, (double[]){1, 2, 3}, 3, 0, "com");
    near(scene->links[0].inertia, (double[]){1, 2, 2.5, 0.1, 0, 0}, 6, 0, "inertia");
    ck_assert_int_eq(scene->links[0].nshape, 1);
    ctn_scene_free(scene);
}
END_TEST

START_TEST(scaled_to_mass)
{
    // one shape; two alike; two of different density; with and without a density of the link
    ctn_scene *scene = parse_link("mass: 12, shapes: [{type: box, center: [1, 0, 0], size: [1, 2, 3]}]");
    near(&scene->links[0].mass, (double[]){12}, 1, 0, "mass");
    near(scene->links[0].com, (double[]){1, 0, 0}, 3, 0, "com");
    near(scene->links[0].inertia, (double[]){13, 10, 5, 0, 0, 0}, 6, 0, "inertia");
    ctn_scene_free(scene);

    const char *const cubes[] = {
        "mass: 8, shapes: [{type: box, size: [1, 1, 1]}, {type: box, center: [4, 0, 0], size: [1, 1, 1]}]",
        "mass: 8, shapes: [{type: box, size: [1, 1, 1], density: 3}, {type: box, center: [4, 0, 0], size: [1, 1, 1], density: "
        "1}]",
        "mass: 8, density: 3, shapes: [{type: box, size: [1, 1, 1]}, {type: box, center: [4, 0, 0], size: [1, 1, 1], density: "
        "1}]",
    };
    // two cubes of masses a and b at 0 and 4: com 4 b/8, I = m/6 each + a b/8 16
    const double a[] = {4, 6, 6};
    for (int i = 0; i < 3; i++) {
        scene = parse_link(cubes[i]);
        const double b = 8 - a[i], across = 8.0 / 6 + a[i] * b / 8 * 16;
        near(&scene->links[0].mass, (double[]){8}, 1, 0, "mass");
        near(scene->links[0].com, (double[]){4 * b / 8, 0, 0}, 3, 1e-15, "com");
        near(scene->links[0].inertia, (double[]){8.0 / 6, across, across, 0, 0, 0}, 6, 2e-14, "inertia");
        ctn_scene_free(scene);
    }
}
END_TEST

START_TEST(com_wins)
{
    ctn_scene *const scene = parse_link("density: 1, com: [0, 0, 5], shapes: [{type: box, center: [1, 0, 0], size: [1, 2, 3]}]");
    near(&scene->links[0].mass, (double[]){6}, 1, 0, "mass");
    near(scene->links[0].com, (double[]){0, 0, 5}, 3, 0, "com");
    near(scene->links[0].inertia, (double[]){6.5, 5, 2.5, 0, 0, 0}, 6, 0, "inertia");
    ctn_scene_free(scene);
}
END_TEST

START_TEST(without_mass)
{
    ctn_scene *const scene =
        parse("catena: 1\nlinks:\n"
              "  - {name: frame, shapes: [{type: sphere, radius: 1}]}\n"
              "  - {name: zero, mass: 0}\n"
              "  - {name: zeros, mass: 0, inertia: [0, 0, 0, 0, 0, 0], com: [1, 2, 3]}\n"
              "  - {name: air, density: 0, shapes: [{type: sphere, radius: 1}]}\n"
              "  - {name: gimbal, joint: revolute, mass: 0}\n"
              "  - {name: carrier, parent: gimbal, joint: fixed}\n"
              "  - {name: point, parent: carrier, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [0, 0, 0, 0, 0, 0]}\n"
              "  - {name: solid, density: 2, shapes: [{type: box, size: [1, 1, 1]}]}\n");
    for (int i = 0; i < 6; i++) {
        near(&scene->links[i].mass, (double[]){0}, 1, 0, "mass");
        near(scene->links[i].inertia, (double[6]){0}, 6, 0, "inertia");
    }
    near(&scene->links[6].mass, (double[]){1}, 1, 0, "mass");
    near(&scene->links[7].mass, (double[]){2}, 1, 0, "mass");
    ctn_scene_free(scene);
}
END_TEST

/// Joints that move one rigid body: where they would meet no inertia, and where they just do. `body` is the mass of link a,
/// `also` more links.
static const struct {
    const char *joint, *body, *also, *about;  // about NULL: the scene is good
} inertias[] = {
#define POINT(com) "mass: 1, com: [" com "], inertia: [0, 0, 0, 0, 0, 0]"
#define ROD(com) "mass: 1, com: [" com "], inertia: [1, 1, 0, 0, 0, 0]"  // along z
#define FIXED(position, mass) "  - {name: b, parent: a, position: [" position "], " mass "}\n"
    {"revolute", POINT("0, 0, 3"), "", "the joint's axis"},
    {"revolute", POINT("1e-3, 0, 3"), "", NULL},
    {"{type: revolute, armature: 1e-3}", POINT("0, 0, 3"), "", NULL},
    {"{type: revolute, axis: [1, 2, 3]}", POINT("3, 6, 9"), "", "the joint's axis"},
    {"{type: revolute, axis: [0.3, -2, 0.7]}", POINT("0.39, -2.6, 0.91"), "", "the joint's axis"},
    {"revolute", ROD("0, 0, 1"), "", "the joint's axis"},
    {"{type: revolute, axis: [1, 0, 0]}", ROD("0, 0, 0"), "", NULL},
    {"revolute", POINT("0, 0, 3"), FIXED("0, 0, 1", POINT("0, 0, 1")), "the joint's axis"},
    {"revolute", POINT("0, 0, 3"), FIXED("1, 0, 0", POINT("0, 0, 1")), NULL},
    {"revolute", POINT("0, 0, 3"), FIXED("0, 1, 0", "euler: [1.5707963267948966, 0, 0], " POINT("0, 0, 1")), "the joint's axis"},
    {"{type: revolute, axis: [1, 0, 0]}", "mass: 0", FIXED("0, 0, 0", "euler: [0, 1.5707963267948966, 0], " ROD("0, 0, 1")),
     "the joint's axis"},
    {"{type: revolute, axis: [1, 0, 0]}", "mass: 0", FIXED("0, 0, 0", "euler: [0.7, 0, 0], " ROD("0, 0, 1")), NULL},
    {"revolute", POINT("0, 0, 3"), "  - {name: b, parent: a, position: [1, 0, 0], joint: revolute, " MASS "}\n", NULL},
    {"{type: helical, pitch: 0}", POINT("0, 0, 3"), "", "the joint's axis"},
    {"{type: helical, pitch: 0.1}", POINT("0, 0, 3"), "", NULL},
    {"prismatic", POINT("0, 0, 0"), "", NULL},
    {"{type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}", POINT("0, 2, 0"), "", "the joint's axis2"},
    {"{type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}", POINT("0, 0, 2"), "", NULL},
    {"{type: universal, axis: [1, 0, 0], axis2: [0, 1, 0], armature: [0, 1]}", POINT("0, 2, 0"), "", NULL},
    {"ball", POINT("0.3, 0.4, 0.5"), "", "one of the axes through its origin"},
    {"ball", ROD("0, 0, 0.5"), "", "one of the axes through its origin"},
    {"ball", ROD("1e-3, 0, 0.5"), "", NULL},
    {"{type: ball, armature: 1e-3}", POINT("0.3, 0.4, 0.5"), "", NULL},
    {"ball", POINT("0.3, 0.4, 0.5"), FIXED("1, 0, 0", POINT("0, 0, 1")), NULL},
    {"planar", POINT("1, 2, 3"), "", "the z axis through its centre of mass"},
    {"{type: planar, armature: [0, 0, 1]}", POINT("1, 2, 3"), "", NULL},
    {"planar", POINT("1, 2, 3"), FIXED("0, 0, 0", POINT("0, 0, 1")), NULL},
    {"free", POINT("1, 2, 3"), "", "one of the axes through its centre of mass"},
    {"free", ROD("1, 2, 3"), "", "one of the axes through its centre of mass"},
    {"free", ROD("0, 0, 0"), FIXED("1e-3, 0, 0", POINT("0, 0, 1")), NULL},
    {"fixed", POINT("0, 0, 0"), "", NULL},
};

/// Refused with a place, a name and a remedy; and what is not refused can be stepped.
START_TEST(joints_meet_inertia)
{
    char text[1000], words[200];
    ctn_error err = {0};
    snprintf(text, sizeof text, LINKS "  - {name: a, joint: %s, %s}\n%s", inertias[_i].joint, inertias[_i].body,
             inertias[_i].also);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    if (inertias[_i].about) {
        ck_assert_msg(!scene, "%s", text);
        snprintf(words, sizeof words, "of link 'a' moves has none about %s, so", inertias[_i].about);
        ck_assert_msg(has_error(err.message, "t.yaml", 3, 5, words, false), "%s\nin\n%s", err.message, text);
        ck_assert_ptr_nonnull(strstr(err.message, "armature"));
        return;
    }
    ck_assert_msg(scene != NULL, "%s\nin\n%s", err.message, text);
    ctn_model *const model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, "scalar", &err);
    double q[7], v[6], a[6];
    ctn_model_initial_state(model, q, v);
    ctn_aba(dyn, 1, q, v, NULL, a);
    for (int k = 0; k < ctn_model_nv(model); k++) ck_assert_msg(isfinite(a[k]), "%s", text);
    ctn_dynamics_free(dyn), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

START_TEST(mass_from_defaults)
{
    ctn_scene *scene =
        parse("catena: 1\ndefaults: {mass: 5, inertia: [1, 1, 1, 0, 0, 0], com: [1, 0, 0], joint: revolute}\nlinks:\n"
              "  - {name: a}\n"
              "  - {name: own, density: 1, shapes: [{type: box, size: [1, 1, 1]}]}\n"  // its density: computed
              "  - {name: drawn, shapes: [{type: box, size: [1, 1, 1]}]}\n"
              "  - {name: light, mass: 0}\n"
              "  - {name: tip, parent: light, mass: 1}\n");
    near(&scene->links[0].mass, (double[]){5}, 1, 0, "mass");
    near(&scene->links[1].mass, (double[]){1}, 1, 0, "mass");
    near(scene->links[1].com, (double[]){0, 0, 0}, 3, 0, "com");
    near(&scene->links[2].mass, (double[]){5}, 1, 0, "mass");
    near(scene->links[2].inertia, (double[]){1, 1, 1, 0, 0, 0}, 6, 0, "inertia");
    near(scene->links[3].inertia, (double[6]){0}, 6, 0, "inertia");
    near(&scene->links[4].mass, (double[]){1}, 1, 0, "mass");
    ctn_scene_free(scene);

    scene = parse("catena: 1\ndefaults: {density: 2, shapes: [{type: box, size: [1, 1, 1]}], joint: revolute}\nlinks:\n"
                  "  - {name: a}\n  - {name: b, mass: 6}\n"
                  "  - {name: e, shapes: [{type: box, size: [1, 1, 2], density: 3}]}\n"
                  "  - chain: {name: f, count: 2, step: [1, 0, 0]}\n");
    near(&scene->links[0].mass, (double[]){2}, 1, 0, "mass");
    near(&scene->links[1].mass, (double[]){6}, 1, 0, "mass");
    ck_assert_str_eq(ctn_scene_warnings(scene), "");
    near(&scene->links[2].mass, (double[]){6}, 1, 0, "mass");
    near(&scene->links[3].mass, (double[]){2}, 1, 0, "mass");
    near(&scene->links[4].mass, (double[]){2}, 1, 0, "mass");
    ctn_scene_free(scene);
}
END_TEST

// ---- possible inertias

/// A number in -1 .. 1, the same on every machine.
static double next_random(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(long long)(*state >> 11) / (1ll << 52) - 1;
}

/// Whatever masses are put anywhere, their inertia is possible; flat and straight bodies are on the border.
START_TEST(inertia_of_points)
{
    unsigned long long seed = 1;
    for (int body = 0; body < 3000; body++) {
        const int dimensions = body % 3 + 1;
        double I[6] = {0}, principal[3];
        double axes[3][3];
        for (int i = 0; i < 9; i++) axes[i / 3][i % 3] = next_random(&seed);
        for (int k = 0; k < 6; k++) {
            double p[3] = {0};
            const double m = 1 + next_random(&seed);
            for (int d = 0; d < dimensions; d++) {
                const double x = next_random(&seed);
                for (int i = 0; i < 3; i++) p[i] += x * axes[d][i];
            }
            I[0] += m * (p[1] * p[1] + p[2] * p[2]), I[1] += m * (p[0] * p[0] + p[2] * p[2]),
                I[2] += m * (p[0] * p[0] + p[1] * p[1]);
            I[3] -= m * p[0] * p[1], I[4] -= m * p[0] * p[2], I[5] -= m * p[1] * p[2];
        }
        ck_assert_msg(inertia_possible(I, principal), "body %d", body);
        ck_assert_double_le(fabs(principal[0] + principal[1] + principal[2] - I[0] - I[1] - I[2]), 1e-14 * (I[0] + I[1] + I[2]));
    }
}
END_TEST

/// diag(1, 1, 2 (1 + excess)) turned any way: possible without excess, impossible with a hundred thousandth.
START_TEST(inertia_on_the_border)
{
    unsigned long long seed = 7;
    for (int turn = 0; turn < 300; turn++) {
        double q[4], principal[3];
        for (int i = 0; i < 4; i++) q[i] = next_random(&seed);
        const double length = norm(q, 4), scale = pow(10, (turn % 41 - 20) * 10);
        for (int i = 0; i < 4; i++) q[i] /= length;
        for (int excess = 0; excess < 2; excess++) {
            const double e[3] = {scale, scale, 2 * scale * (1 + 1e-5 * excess)};
            double I[6] = {0};
            for (int k = 0; k < 3; k++) {
                double c[3] = {k == 0, k == 1, k == 2};
                rotate(q, c, c);
                I[0] += e[k] * c[0] * c[0], I[1] += e[k] * c[1] * c[1], I[2] += e[k] * c[2] * c[2];
                I[3] += e[k] * c[0] * c[1], I[4] += e[k] * c[0] * c[2], I[5] += e[k] * c[1] * c[2];
            }
            ck_assert_msg(inertia_possible(I, principal) == !excess, "turn %d, excess %d", turn, excess);
            const double largest = fmax(principal[0], fmax(principal[1], principal[2]));
            ck_assert_double_le(fabs(largest - e[2]), 1e-14 * e[2]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("scene mass");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, closed_forms, 0, (int)(sizeof closed / sizeof *closed));
    tcase_add_loop_test(all, against_points, 0, (int)(sizeof bodies / sizeof *bodies));
    tcase_add_test(all, explicit_wins);
    tcase_add_test(all, scaled_to_mass);
    tcase_add_test(all, com_wins);
    tcase_add_test(all, without_mass);
    tcase_add_loop_test(all, joints_meet_inertia, 0, (int)(sizeof inertias / sizeof *inertias));
    tcase_add_test(all, mass_from_defaults);
    tcase_add_test(all, inertia_of_points);
    tcase_add_test(all, inertia_on_the_border);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
