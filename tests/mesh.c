/// Meshes: what they enclose against closed forms and other shapes, their files, whole and broken, and what recordings keep of
/// them.
#include "sim/scene/mesh.h"
#include "sim/scene/scene.h"
#include "tests/command.h"
#include "tests/scene_check.h"
#include "tests/suite.h"

#include <stdint.h>
#include <stdlib.h>

// ---- files

typedef double triangle[3][3];

static const char cube[] = "# half lengths 1, 2, 3\n"
                           "v -1 -2 -3\nv 1 -2 -3\nv 1 2 -3\nv -1 2 -3\nv -1 -2 3\nv 1 -2 3\nv 1 2 3\nv -1 2 3\n"
                           "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 3 4 8 7\nf 2 3 7 6\nf 4 1 5 8\n";
static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

static void put_number(FILE *out, uint32_t bits)
{
    for (int k = 0; k < 4; k++) putc((int)(bits >> 8 * k & 255), out);
}

static void put_float(FILE *out, double x)
{
    const float number = (float)x;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_number(out, bits);
}

/// MuJoCo's: each corner a vertex of its own, with a normal and a place in a texture for the first.
static void write_msh(const char *path, const triangle *t, int count)
{
    FILE *const out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    const uint32_t counts[4] = {3 * (uint32_t)count, 1, 1, (uint32_t)count};
    for (int k = 0; k < 4; k++) put_number(out, counts[k]);
    for (int n = 0; n < count; n++)
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) put_float(out, t[n][c][k]);
    for (int k = 0; k < 5; k++) put_float(out, NAN);
    for (uint32_t n = 0; n < 3 * (uint32_t)count; n++) put_number(out, n);
    ck_assert_int_eq(fclose(out), 0);
}

static void write_triangles(const char *path, const triangle *t, int count)
{
    FILE *const out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    const bool obj = strstr(path, ".obj"), text = strstr(path, "text");
    if (!obj && !text) fprintf(out, "%-80s", "solid is how some of these begin, too"), put_number(out, (uint32_t)count);
    if (text) fputs("solid a thing\n", out);
    for (int n = 0; n < count; n++) {
        if (text) fputs("  facet normal 0 0 0\n    outer loop\n", out);
        for (int k = 0; k < 3 && !obj && !text; k++) put_number(out, 0);
        for (int c = 0; c < 3; c++) {
            const double *const x = t[n][c];
            if (obj || text) fprintf(out, "%s %.17g %.17g %.17g\n", obj ? "v" : "      vertex", x[0], x[1], x[2]);
            for (int k = 0; k < 3 && !obj && !text; k++) put_float(out, x[k]);
        }
        if (obj) fputs("f -3 -2/7 -1/8/9\n", out);
        else fwrite(text ? "    endloop\n  endfacet\n" : "\0\0", 1, text ? strlen("    endloop\n  endfacet\n") : 2, out);
    }
    if (text) fputs("endsolid a thing\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

static void middle(const double *a, const double *b, double *m)
{
    double n = 0;
    for (int k = 0; k < 3; k++) m[k] = a[k] + b[k], n += m[k] * m[k];
    for (int k = 0; k < 3; k++) m[k] /= sqrt(n);
}

/// Divides a triangle of the unit sphere `level` times; returns how many came out.
static int divide(const double *a, const double *b, const double *c, int level, triangle *t)
{
    double x[3], y[3], z[3];
    if (!level) {
        memcpy(t[0][0], a, sizeof x), memcpy(t[0][1], b, sizeof x), memcpy(t[0][2], c, sizeof x);
        return 1;
    }
    middle(a, b, x), middle(b, c, y), middle(c, a, z);
    int n = divide(a, x, z, level - 1, t);
    n += divide(x, b, y, level - 1, t + n), n += divide(z, y, c, level - 1, t + n);
    return n + divide(x, y, z, level - 1, t + n);
}

/// A unit sphere out of an octahedron: 8 times 4^level triangles.
static int sphere(int level, triangle *t)
{
    int n = 0;
    for (int k = 0; k < 8; k++) {
        double x[3][3] = {{k & 1 ? -1 : 1, 0, 0}, {0, k & 2 ? -1 : 1, 0}, {0, 0, k & 4 ? -1 : 1}};
        const bool turned = (k & 1) ^ (k >> 1 & 1) ^ (k >> 2 & 1);
        n += divide(x[0], x[turned ? 2 : 1], x[turned ? 1 : 2], level, t + n);
    }
    return n;
}

/// A scene in main.yaml with one link that has these keys.
static ctn_scene *load_link(const char *keys)
{
    char text[2048];
    ctn_error err = {0};
    snprintf(text, sizeof text, "catena: 1\nlinks:\n  - {name: a, joint: ball, %s}\n", keys);
    spit("main.yaml", text);
    ctn_scene *const scene = ctn_scene_load("main.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

/// Two ways to say the same link.
static void expect_alike(const char *a, const char *b, double tolerance)
{
    ctn_scene *const x = load_link(a), *const y = load_link(b);
    const scene_link *const p = x->links, *const q = y->links;
    const double size = fmax(q->inertia[0], fmax(q->inertia[1], q->inertia[2]));
    near(&p->mass, &q->mass, 1, tolerance * q->mass, "mass");
    near(p->com, q->com, 3, tolerance * sqrt(size / q->mass), "com");
    near(p->inertia, q->inertia, 6, tolerance * size, "inertia");
    ctn_scene_free(x), ctn_scene_free(y);
}

// ---- what is enclosed

START_TEST(closed_forms)
{
    spit("cube.obj", cube), spit("t.obj", tetrahedron);
    expect_alike("density: 7, shapes: [{type: mesh, file: cube.obj}]", "density: 7, shapes: [{type: box, size: [2, 4, 6]}]",
                 1e-15);
    // stretched, turned, moved, and scaled to a mass
    expect_alike(
        "mass: 3, shapes: [{type: mesh, file: cube.obj, scale: [0.5, 0.1, 0.2], position: [1, 2, 3], euler: [0.3, -1, 2]}]",
        "mass: 3, shapes: [{type: box, size: [1, 0.4, 1.2], center: [1, 2, 3], euler: [0.3, -1, 2]}]", 2e-15);
    // moments about the corner are 1/60 and 1/120, the centre at a quarter
    expect_alike("density: 6, shapes: [{type: mesh, file: t.obj}]",
                 "mass: 1, com: [0.25, 0.25, 0.25], inertia: [0.075, 0.075, 0.075, 0.0125, 0.0125, 0.0125]", 1e-14);
    // mirrored along y, along x and z, along all three
    expect_alike("density: 6, shapes: [{type: mesh, file: t.obj, scale: [1, -1, 1]}]",
                 "mass: 1, com: [0.25, -0.25, 0.25], inertia: [0.075, 0.075, 0.075, -0.0125, 0.0125, -0.0125]", 1e-14);
    expect_alike("density: 6, shapes: [{type: mesh, file: t.obj, scale: [-1, 1, -1]}]",
                 "mass: 1, com: [-0.25, 0.25, -0.25], inertia: [0.075, 0.075, 0.075, -0.0125, 0.0125, -0.0125]", 1e-14);
    expect_alike("density: 6, shapes: [{type: mesh, file: t.obj, scale: -1}]",
                 "mass: 1, com: [-0.25, -0.25, -0.25], inertia: [0.075, 0.075, 0.075, 0.0125, 0.0125, 0.0125]", 1e-14);
}
END_TEST

/// The surface of a mirrored mesh is seen from outside, too; shapes that are mirrored alike share one.
START_TEST(mirrored)
{
    spit("t.obj", tetrahedron);
    ctn_scene *const scene = load_link("mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: mesh, file: t.obj}, "
                                       "{type: mesh, file: t.obj, scale: -2}, {type: mesh, file: t.obj, scale: -3}]");
    ck_assert_int_eq(scene->nmesh, 2);
    for (int i = 0; i < 2; i++) {
        const mesh_surface *const m = &scene->meshes[i]->surface;
        double volume = 0;
        for (int k = 0; k < m->ntriangle; k++) {
            const double *const a = m->vertices[m->triangles[k][0]], *const b = m->vertices[m->triangles[k][1]],
                                *const c = m->vertices[m->triangles[k][2]];
            volume +=
                (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])) /
                6;
        }
        ck_assert_msg(fabs(volume - 1.0 / 6) < 1e-15 && m->volume == scene->meshes[0]->surface.volume, "%g", volume);
    }
    ck_assert(scene->links[0].shapes[1].mesh == scene->links[0].shapes[2].mesh && scene->links[0].shapes[2].size[1] == 3);
    ctn_scene_free(scene);
}
END_TEST

/// Second order in the size of the triangles.
START_TEST(ellipsoids)
{
    enum { LEVELS = 6 };
    triangle *const t = malloc((8 << 2 * LEVELS) * sizeof *t);
    double before = 0;
    ctn_scene *const exact = load_link("density: 10, shapes: [{type: ellipsoid, radii: [1, 2, 0.5], euler: [1, 0.5, 0]}]");
    for (int level = 2; level < LEVELS; level++) {
        write_triangles("ball.obj", (const triangle *)t, sphere(level, t));
        ctn_scene *const scene =
            load_link("density: 10, shapes: [{type: mesh, file: ball.obj, scale: [1, 2, 0.5], euler: [1, 0.5, 0]}]");
        const scene_link *const p = scene->links, *const q = exact->links;
        double error = 1 - p->mass / q->mass, most = 0;
        for (int k = 0; k < 6; k++) most = fmax(most, fabs(p->inertia[k] - q->inertia[k]) / q->inertia[0]);
        NEAR(p->com, 1e-14, 0, 0, 0);
        ck_assert_msg(error > 0 && most < 3 * error, "level %d: mass %g, inertia %g off", level, error, most);
        ck_assert_msg(level == 2 || fabs(before / error - 4) < 0.2, "level %d: %g after %g", level, error, before);
        before = error;
        ctn_scene_free(scene);
    }
    ck_assert_double_lt(before, 2e-3);
    ctn_scene_free(exact), free(t);
}
END_TEST

/// Where the file has the body does not matter, if the shape puts it back.
START_TEST(moved_and_turned)
{
    static const double far[] = {0, 3, 1e4};
    triangle *const t = malloc((8 << 6) * sizeof *t);
    const int n = sphere(3, t);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) t[i][c][0] *= 0.3, t[i][c][1] = t[i][c][1] * 0.7 + 0.2 * t[i][c][0] * t[i][c][0];
    write_triangles("a.obj", (const triangle *)t, n);
    // b.obj: turned by 120 degrees about (1, 1, 1), which takes x to y, y to z, z to x, and moved
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            const double x = t[i][c][0], y = t[i][c][1], z = t[i][c][2];
            t[i][c][0] = z + far[_i], t[i][c][1] = x - far[_i], t[i][c][2] = y + 2 * far[_i];
        }
    write_triangles("b.obj", (const triangle *)t, n);
    free(t);
    char keys[300];
    snprintf(keys, sizeof keys, "density: 3, shapes: [{type: mesh, file: a.obj, rotation: [1, 1, 1, 1], position: [%g, %g, %g]}]",
             far[_i], -far[_i], 2 * far[_i]);
    expect_alike(keys, "density: 3, shapes: [{type: mesh, file: b.obj}]", 1e-14 + 1e-15 * far[_i]);
}
END_TEST

START_TEST(formats)
{
    triangle t[32];
    const int n = sphere(1, t);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) t[i][c][k] = (double)(float)t[i][c][k];
    write_triangles("a.obj", (const triangle *)t, n), write_triangles("text.stl", (const triangle *)t, n);
    write_triangles("bytes.STL", (const triangle *)t, n);
    expect_alike("density: 1, shapes: [{type: mesh, file: text.stl}]", "density: 1, shapes: [{type: mesh, file: a.obj}]", 0);
    expect_alike("density: 1, shapes: [{type: mesh, file: bytes.STL}]", "density: 1, shapes: [{type: mesh, file: a.obj}]", 0);
    write_msh("c.msh", (const triangle *)t, n);
    expect_alike("density: 1, shapes: [{type: mesh, file: c.msh}]", "density: 1, shapes: [{type: mesh, file: a.obj}]", 0);
    // lines that go on, other ends of lines, words in other cases, what is passed over
    spit("b.obj",
         "mtllib x.mtl\r\nv 0 0 0 1 1 1\r\nv 1 0 \\\r\n 0\r\nv 0 1 0\nvn 0 0 1\nvt 0 0\nV 0 0 1 # the last\no t\ng x\ns off\n"
         "usemtl red\nf 1//1 3//1 2//1\nF 1/1 2/1 -1/1\n\tf 2 3 4\nf 3/1/1 1/1/1 4/1/1\nl 1 2\np 1\n");
    spit("c.obj", tetrahedron);
    expect_alike("density: 1, shapes: [{type: mesh, file: b.obj}]", "density: 1, shapes: [{type: mesh, file: c.obj}]", 0);
}
END_TEST

// ---- polygons

static double cross(const double *a, const double *b, const double *c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/// Triangles of a polygon cover it without overlap: their areas are all of its sign, and their sum is its own.
START_TEST(ears)
{
    enum { N = 60 };
    double x[N][3];
    int corners[N], triangles[N][3];
    srand((unsigned)_i);
    const int n = 3 + rand() % (N - 2), turn = _i % 2 ? -1 : 1;
    double area = 0, sum = 0;
    for (int k = 0; k < n; k++) {  // a star about the origin, not convex
        const double angle = turn * 6.283185307179586 * k / n, radius = 0.2 + rand() / (double)RAND_MAX;
        x[k][0] = radius * cos(angle), x[k][1] = radius * sin(angle), x[k][2] = 0.3 * x[k][0] - 0.2 * x[k][1] + 1;
        corners[k] = k;
    }
    for (int k = 0; k < n; k++) area += cross((double[2]){0, 0}, x[k], x[(k + 1) % n]);
    mesh_cut_polygon((const double(*)[3])x, corners, n, triangles);
    for (int k = 0; k < n - 2; k++) {
        const double one = cross(x[triangles[k][0]], x[triangles[k][1]], x[triangles[k][2]]);
        ck_assert_msg(one * turn >= 0, "polygon %d: triangle %d is turned over", _i, k);
        sum += one;
    }
    ck_assert_double_le(fabs(sum - area), 1e-12);
}
END_TEST

/// A frame: its flat sides are single polygons with a bridge to the hole.
START_TEST(bridges)
{
    spit("frame.obj", "v -2 -2 0\nv 2 -2 0\nv 2 2 0\nv -2 2 0\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\n"
                      "v -2 -2 1\nv 2 -2 1\nv 2 2 1\nv -2 2 1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
                      "f 9 10 11 12 9 13 16 15 14 13\nf 5 6 7 8 5 1 4 3 2 1\n"
                      "f 1 2 10 9\nf 2 3 11 10\nf 3 4 12 11\nf 4 1 9 12\nf 6 5 13 14\nf 7 6 14 15\nf 8 7 15 16\nf 5 8 16 13\n");
    expect_alike(
        "density: 1, shapes: [{type: mesh, file: frame.obj}]",
        "density: 1, shapes: [{type: box, size: [4, 1, 1], center: [0, 1.5, 0.5]}, {type: box, size: [4, 1, 1], center: [0, "
        "-1.5, 0.5]}, {type: box, size: [1, 2, 1], center: [1.5, 0, 0.5]}, {type: box, size: [1, 2, 1], center: [-1.5, 0, "
        "0.5]}]",
        1e-14);
}
END_TEST

// ---- flaws

#define TETRAHEDRON "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"

static const struct {
    const char *text, *says;
} flawed[] = {
    {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n",
     "is not closed: 3 sides of its triangles have no neighbour"},
    {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 3 4\n",
     "has neighbours that face opposite ways, at 3 of its sides"},
    {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n",
     "is inside out: its triangles are clockwise seen from outside"},
    {"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 3 2 1\n",
     "encloses no volume: 1 of its 2 triangles lie on others that face the other way"},
    // every triangle twice, from another corner on; one of them twice; all of them once more, turned over
    {TETRAHEDRON "f 3 2 1\nf 2 4 1\nf 4 2 3\nf 1 4 3\n", "is doubled: 4 of its 8 triangles are there a second time"},
    {TETRAHEDRON "f 2 1 3\n", "is doubled: 1 of its 5 triangles is there a second time"},
    {TETRAHEDRON "f 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n",
     "encloses no volume: 4 of its 8 triangles lie on others that face the other way"},
    // the same place under other numbers
    {TETRAHEDRON "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 5 7 6\nf 5 6 8\nf 6 7 8\nf 7 5 8\n",
     "is doubled: 4 of its 8 triangles are there a second time"},
    // a small tetrahedron, and a long thin one that is inside out
    {"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
     "v 9 0 0\nv 9 0.1 0\nv 9 0 0.1\nv 99 0 0\nf 5 6 7\nf 5 8 6\nf 6 8 7\nf 7 8 5\n",
     "is inside out in parts"},
};
enum { FLAWED = sizeof flawed / sizeof *flawed };

START_TEST(flaws)
{
    char expected[300];
    ctn_error err = {0};
    spit("a.obj", flawed[_i].text);
    spit("main.yaml", "catena: 1\nlinks:\n  - {name: a, joint: ball, density: 1, shapes: [{type: mesh, file: a.obj}]}\n");
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    snprintf(
        expected, sizeof expected,
        "main.yaml:3:68: shapes[0].file: the surface of 'a.obj' %s, so that it has no mass; mend it, or give the link `mass` and "
        "`inertia`, or this shape `density: 0`",
        flawed[_i].says);
    ck_assert_str_eq(err.message, expected);
    // all the same it can be drawn
    ctn_scene_free(load_link("mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: mesh, file: a.obj}]"));
    expect_alike("density: 1, shapes: [{type: box, size: [1, 2, 3]}, {type: mesh, file: a.obj, density: 0}]",
                 "density: 1, shapes: [{type: box, size: [1, 2, 3]}]", 0);
}
END_TEST

/// Two cubes side by side share a wall, of which each has a face: as one solid.
START_TEST(walls_between)
{
    spit("two.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nv 1 1 0\nv 2 1 0\nv 0 0 1\nv 1 0 1\nv 2 0 1\nv 0 1 1\nv 1 1 1\nv 2 1 1\n"
                    "f 1 4 5 2\nf 7 8 11 10\nf 1 2 8 7\nf 4 10 11 5\nf 1 7 10 4\nf 2 5 11 8\n"
                    "f 2 5 6 3\nf 8 9 12 11\nf 2 3 9 8\nf 5 11 12 6\nf 2 8 11 5\nf 3 6 12 9\n");
    expect_alike("density: 1, shapes: [{type: mesh, file: two.obj}]",
                 "density: 1, shapes: [{type: box, size: [2, 1, 1], center: [1, 0.5, 0.5]}]", 1e-14);
}
END_TEST

// ---- files that are no good

static const struct {
    const char *file, *text, *says;
} broken[] = {
    {"a.obj", "v 0 0\n", "a.obj:1:1: expected 3 numbers after v, found 2"},
    {"a.obj", "v 0 0 0\nv 0 1e999 0\n", "a.obj:2:5: expected a finite number, found '1e999'; the largest is 1.8e308"},
    {"a.obj", "v 0 0 nan\n", "a.obj:1:7: expected a finite number, found 'nan'"},
    {"a.obj", "v 0 0 0x1\n", "a.obj:1:7: expected a finite number, found '0x1'"},
    {"a.obj", "v 0 0 1e-400\n",
     "a.obj:1:7: expected a finite number, found '1e-400'; it would be rounded to zero; the least is 4.9e-324"},
    {"a.obj", "v 0 0 1,5\n", "a.obj:1:7: expected a finite number, found '1,5'"},
    {"a.obj", "v 0 0 0\nf 1 1\n", "a.obj:2:1: expected 3 corners or more, found 2"},
    {"a.obj", "v 0 0 0\nf 1 1 2\n", "a.obj:2:7: expected one of the vertices above (1), from 1 on or from -1 back, found '2'"},
    {"a.obj", "v 0 0 0\nf 1 1 -2/1\n",
     "a.obj:2:7: expected one of the vertices above (1), from 1 on or from -1 back, found '-2/1'"},
    {"a.obj", "v 0 0 0\nf 0 1 1\n", "a.obj:2:3: expected one of the vertices above (1), from 1 on or from -1 back, found '0'"},
    {"a.obj", "v 0 0 0\nf 1 1 1.5\n",
     "a.obj:2:7: expected one of the vertices above (1), from 1 on or from -1 back, found '1.5'"},
    {"a.obj", "f 99999999999999999999 1 1\n",
     "a.obj:1:3: expected one of the vertices above (0), from 1 on or from -1 back, found '99999999999999999999'"},
    {"a.obj", "v 0 0 0\n v 0 \\\n 1 \\\n", "a.obj:2:2: expected 3 numbers after v, found 2"},
    {"a.obj", "v 0 0 0\n\ncurv 0 1\n",
     "a.obj:3:1: unknown word 'curv'; read are v and f, passed over vt, vn, vp, g, o, s, l, p, usemtl, mtllib"},
    {"a.obj", "", "a.obj:1:1: it has no triangle of any size"},
    {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 0 -0\nf 1 2 3\n", "a.obj:1:1: it has no triangle of any size"},
    {"a.stl", "", "a.stl:1:1: neither a text that begins with `solid` nor the 84 + 50 x 0 bytes of 0 triangles; found 0 bytes"},
    {"a.stl", "<html>",
     "a.stl:1:1: neither a text that begins with `solid` nor the 84 + 50 x 0 bytes of 0 triangles; found 6 bytes"},
    {"a.stl", "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nendloop\n",
     "a.stl:6:1: expected 3 vertices in a facet, found 2"},
    {"a.stl", "solid\nfacet\nouter loop\nvertex 0 0 0\nfacet\n", "a.stl:5:1: the facet before it has no endloop"},
    {"a.stl", "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 1 0 0\nendloop\n",
     "a.stl:8:1: the end is missing: no endsolid"},
    {"a.stl", "solid\nface 1\n",
     "a.stl:2:1: unknown word 'face'; expected solid, facet, outer, vertex, endloop, endfacet or endsolid"},
    {"a.msh", "", "a.msh:1:1: its 0 bytes are not those of 0 vertices, 0 normals, 0 texture coordinates and 0 triangles"},
    {"a.msh", "0123456789abcdef",
     "a.msh:1:1: its 16 bytes are not those of 858927408 vertices, 926299444 normals, 1650538808 texture "
     "coordinates and 1717920867 triangles"},
    {"a.stl", "solid\nvertex 0 0 zero\n", "a.stl:2:12: expected a finite number, found 'zero'"},
};
enum { BROKEN = sizeof broken / sizeof *broken };

/// One error, whichever number of shapes have the file.
START_TEST(bad_files)
{
    char text[400];
    const char *const file = broken[_i].file;
    ctn_error err = {0};
    spit(file, broken[_i].text);
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: a, joint: ball, density: 1, shapes: [{type: mesh, file: %s}]}\n"
             "  - {name: b, joint: ball, density: 1, shapes: [{type: mesh, file: %s}]}\n",
             file, file);
    spit("main.yaml", text);
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    ck_assert_str_eq(err.message, broken[_i].says);
    ck_assert_int_eq(err.count, 1);
}
END_TEST

START_TEST(other_formats)
{
    ctn_error err = {0};
    spit("main.yaml", "catena: 1\nlinks:\n  - {name: a, shapes: [{type: mesh, file: a.ply}]}\n");
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    ck_assert_str_eq(
        err.message,
        "main.yaml:3:43: shapes[0].file: expected the name of an .obj, .stl, .msh or .dae file, found a.ply; convert others");
}
END_TEST

START_TEST(missing_file)
{
    ctn_error err = {0};
    spit("main.yaml", "catena: 1\nlinks:\n  - {name: a, shapes: [{type: mesh, file: nowhere.stl}]}\n");
    ck_assert_ptr_null(ctn_scene_load("main.yaml", &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_str_eq(err.message, "main.yaml:3:43: shapes[0].file: 'nowhere.stl' cannot be read: No such file or directory");
}
END_TEST

START_TEST(too_many_triangles)
{
    const size_t line = strlen("f 1 2 3\n"), head = strlen("v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    char *const text = malloc(head + line * (MESH_MAX_TRIANGLES + 1) + 1);
    mesh_surface m;
    mesh_problem problem = {0};
    memcpy(text, "v 0 0 0\nv 1 0 0\nv 0 1 0\n", head);
    for (size_t k = 0; k <= MESH_MAX_TRIANGLES; k++) memcpy(text + head + k * line, "f 1 2 3\n", line + 1);
    ck_assert_int_eq(mesh_read(&m, MESH_OBJ, text, strlen(text), &problem), CTN_BAD_SCENE);
    ck_assert_int_eq(problem.line, MESH_MAX_TRIANGLES + 4);
    ck_assert_str_eq(problem.text, "more than 2000000 triangles");
    mesh_clear(&m);
    free(text);
}
END_TEST

/// Cut off anywhere, with bytes turned into others: an error or a surface, and nothing is read that is not there.
START_TEST(damaged)
{
    triangle t[8];
    const char *const files[] = {"a.obj", "text.stl", "bytes.stl", "a.msh"};
    size_t size;
    const int n = sphere(0, t);
    if (_i == 3) write_msh(files[_i], (const triangle *)t, n);
    else write_triangles(files[_i], (const triangle *)t, n);
    char *const whole = slurp(files[_i], &size);
    srand(7);
    int good = 0, bad = 0;
    for (size_t k = 0; k < 3 * size; k++) {
        const size_t length = k < size ? k : size;
        char *const bytes = malloc(length + 1);
        memcpy(bytes, whole, length), bytes[length] = 0;
        for (int change = k < size ? 0 : 1 + rand() % 3; change; change--) bytes[(size_t)rand() % length] = (char)(rand() >> 4);
        mesh_surface m;
        mesh_problem problem = {.line = -1};
        const ctn_status status = mesh_read(&m, _i == 3 ? MESH_MSH : _i ? MESH_STL : MESH_OBJ, bytes, length, &problem);
        ck_assert(status == CTN_OK ? m.ntriangle > 0
                                   : status == CTN_BAD_SCENE && problem.line > 0 && problem.column > 0 && *problem.text);
        *(status == CTN_OK ? &good : &bad) += 1;
        mesh_clear(&m), free(bytes);
    }
    ck_assert(good > 10 && bad > 10);
    free(whole);
}
END_TEST

// ---- scenes

/// Each file is read once, beside the scene file that names it.
START_TEST(shared)
{
    ck_assert_int_eq(system("mkdir parts"), 0);
    spit("a.obj", cube), spit("parts/a.obj", tetrahedron);
    spit("parts/part.yaml", "catena: 1\nlinks:\n  - {name: p, joint: ball, density: 1, shapes: [{type: mesh, file: a.obj}]}\n");
    spit("main.yaml",
         "catena: 1\ninclude: [parts/part.yaml]\ndefaults: {density: 1, joint: ball, shapes: [{type: mesh, file: a.obj}]}\n"
         "links:\n  - {name: b}\n  - {name: c, shapes: [{type: mesh, file: parts/a.obj}]}\n"
         "  - chain: {name: d, count: 3, step: [1, 0, 0]}\n");
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_load("main.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ck_assert(scene->nmesh == 2 && scene->nfile == 4);
    ck_assert_double_eq_tol(scene->links[0].mass, 1.0 / 6, 1e-15);
    ck_assert_double_eq_tol(scene->links[2].mass, 1.0 / 6, 1e-15);
    ck_assert_double_eq_tol(scene->links[1].mass, 48, 1e-13);
    ck_assert_double_eq_tol(scene->links[5].mass, 48, 1e-13);
    ctn_scene_free(scene);
}
END_TEST

/// A recording has the bytes of the meshes: it is replayed, and drawn, without them.
START_TEST(recorded)
{
    static const char *const files[] = {"a.obj", "text.stl", "bytes.stl"};
    char scene[400];
    triangle t[8];
    write_triangles(files[_i], (const triangle *)t, sphere(0, t));
    snprintf(scene, sizeof scene,
             "catena: 1\nlinks:\n  - {name: a, joint: {type: ball, v0: [1, 2, 3]}, density: 1, shapes: [{type: mesh, file: %s, "
             "scale: [1, "
             "2, 3]}]}\n",
             files[_i]);
    spit("main.yaml", scene);
    outcome o = catena("run", "main.yaml", "--steps", "9", "--out", "r.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("run", "main.yaml", "--steps", "1", "--out", "r.csv", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *const csv = slurp("r.csv", NULL), says[100];
    size_t size;
    free(slurp(files[_i], &size));
    snprintf(says, sizeof says, "\n# mesh: %s, %zu bytes, XXH3 ", files[_i], size);
    ck_assert(strstr(csv, says));
    free(csv);
    remove(files[_i]), remove("main.yaml");
    o = catena("replay", "r.h5", "--verify");
    ck_assert_msg(o.status == 0 && strstr(o.out, "identical: 1 world, 9 steps"), "%s%s", o.out, o.err);
    outcome_free(&o);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("mesh");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, enter_scratch, leave_scratch);
    tcase_add_test(all, closed_forms);
    tcase_add_test(all, mirrored);
    tcase_add_test(all, ellipsoids);
    tcase_add_loop_test(all, moved_and_turned, 0, 3);
    tcase_add_test(all, formats);
    tcase_add_loop_test(all, ears, 0, 200);
    tcase_add_test(all, bridges);
    tcase_add_loop_test(all, flaws, 0, FLAWED);
    tcase_add_test(all, walls_between);
    tcase_add_loop_test(all, bad_files, 0, BROKEN);
    tcase_add_test(all, other_formats);
    tcase_add_test(all, missing_file);
    tcase_add_test(all, too_many_triangles);
    tcase_add_loop_test(all, damaged, 0, 4);
    tcase_add_test(all, shared);
    tcase_add_loop_test(all, recorded, 0, 3);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
