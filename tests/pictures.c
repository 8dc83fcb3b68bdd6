/// Pictures of the shipped scenes: they show every link, are the same every time, and do not change what they show.
#include "render/draw/pictures.h"
#include "tests/gl_debug.h"
#include "tests/suite.h"
#include "tests/view.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

static const char *const scenes[] = {"chain10",  "chain40",     "chain100", "rope1000",        "double-pendulum",
                                     "humanoid", "flying-tree", "iiwa14",   "chain10-sampled", "chain10-randomised",
                                     "wrench"};
enum { SCENES = sizeof scenes / sizeof *scenes };

/// From some sides and near enough, as a link of a long chain is smaller than a pixel from afar; of long chains some links.
START_TEST(every_link_is_seen)
{
    view v = open_view(scenes[_i]);
    ctn_error err;
    const size_t links = (size_t)ctn_model_nlink(v.model);
    const size_t stride = links > 60 ? links / 6 : 1;
    bool *const drawn = calloc(links + 1, 1), *const seen = calloc(links + 1, 1);
    uint32_t *const ids = malloc(PIXELS * sizeof *ids);
    for (int k = 0; k < v.bodies.kinds; k++)
        for (size_t n = 0; n < v.bodies.count[k]; n += stride) drawn[v.bodies.of[k][n].id] = true;
    size_t covered = 0;
    ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids, &err), CTN_OK);
    for (int n = 0; n < PIXELS; n++) covered += ids[n] > 0;
    ck_assert_msg(covered > 10 && covered < PIXELS / 2, "%s covers %zu of %d pixels", scenes[_i], covered, PIXELS);
    for (int k = 0; k < v.bodies.kinds; k++)
        for (size_t n = 0; n < v.bodies.count[k]; n += stride) {
            const render_instance *const x = &v.bodies.of[k][n];
            camera_orbit near = v.orbit;
            for (int side = 0; side < 6 && !seen[x->id]; side++) {
                for (int i = 0; i < 3; i++) near.target[i] = x->position[i];
                near.distance = 6 * (x->half + fmaxf(x->scale[0], fmaxf(x->scale[1], x->scale[2])));
                near.azimuth = side * 1.1, near.elevation = side % 2 ? 0.6 : -0.6;
                const render_camera camera = camera_on_orbit(&near);
                ck_assert_int_eq(renderer_ids(pen, &v.bodies, &camera, ids, &err), CTN_OK);
                for (int m = 0; m < PIXELS; m++) {
                    ck_assert_uint_le(ids[m], links);
                    seen[ids[m]] = true;
                }
            }
        }
    for (size_t k = 1; k <= links; k++)
        ck_assert_msg(seen[k] || !drawn[k], "%s: link '%s' is not seen", scenes[_i], ctn_model_link(v.model, (int)k - 1)->name);
    free(drawn), free(seen), free(ids), close_view(&v);
}
END_TEST

/// What lies at a pixel, or nearest to it, and how far away: as all ids of the picture say, at its edges, too.
START_TEST(picks)
{
    enum { REACH = 6 };
    static uint32_t ids[PIXELS];
    view v = open_view("chain10");
    ctn_error err;
    int found = 0;
    ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids, &err), CTN_OK);
    for (int k = 0; k < 400; k++) {
        const int x = k < 4 ? (k % 2) * (WIDTH - 1) : 37 * k % WIDTH, y = k < 4 ? (k / 2) * (HEIGHT - 1) : 59 * k % HEIGHT;
        for (int reach = 0; reach <= REACH; reach += REACH) {
            int nearest = reach * reach + 1;
            for (int j = -reach; j <= reach; j++)
                for (int i = -reach; i <= reach; i++) {
                    const bool inside = x + i >= 0 && x + i < WIDTH && y + j >= 0 && y + j < HEIGHT;
                    if (inside && ids[(y + j) * WIDTH + x + i] && i * i + j * j < nearest) nearest = i * i + j * j;
                }
            uint32_t id;
            double depth;
            ck_assert_int_eq(renderer_pick(pen, &v.bodies, &v.camera, x, y, reach, &id, &depth, &err), CTN_OK);
            ck_assert_int_eq(id != 0, nearest <= reach * reach);
            ck_assert(id ? depth > -1 && depth < 1 : depth == 1);
            if (!nearest) ck_assert_uint_eq(id, ids[y * WIDTH + x]);
            found += id != 0;
        }
    }
    ck_assert_int_gt(found, 10);
    close_view(&v);
}
END_TEST

/// What is seen through can be picked like anything else; copies without an id cannot, and hide nothing that can.
START_TEST(ghosts)
{
    static uint32_t ids[3][PIXELS];
    view v = open_view("chain10");
    ctn_error err;
    ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids[0], &err), CTN_OK);
    for (int pass = 1; pass < 3; pass++) {
        instance_list_clear(&v.bodies);
        v.bodies.fade = 0.5f;
        if (pass == 2) {  // in front of all
            ck_assert(scene_shapes_place(v.shapes, v.R, v.p, SHAPES_WITHOUT_ID, NULL, &v.bodies));
            for (int kind = 0; kind < v.bodies.kinds; kind++)
                for (size_t n = 0; n < v.bodies.count[kind]; n++)
                    for (int k = 0; k < 3; k++)
                        v.bodies.of[kind][n].position[k] += (float)(0.3 * (v.camera.eye[k] - v.camera.target[k]));
        }
        ck_assert(scene_shapes_place(v.shapes, v.R, v.p, 0, NULL, &v.bodies));
        ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids[pass], &err), CTN_OK);
        ck_assert(!memcmp(ids[pass], ids[0], sizeof ids[0]));
    }
    close_view(&v);
}
END_TEST

/// The same picture every time, also by another renderer, and one that has more in it than sky and ground.
START_TEST(same_picture)
{
    view v = open_view(scenes[_i]);
    const instance_list nothing = {0};
    ctn_error err;
    uint8_t *const rgb[3] = {malloc(3 * PIXELS), malloc(3 * PIXELS), malloc(3 * PIXELS)};
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb[0], &err), CTN_OK);
    ck_assert_int_eq(renderer_draw(pen, &nothing, &v.camera, &v.around, NULL, rgb[1], &err), CTN_OK);
    long differ = 0;
    for (int k = 0; k < 3 * PIXELS; k++) differ += abs(rgb[0][k] - rgb[1][k]) > 8;
    ck_assert_msg(differ > 30, "%s: only %ld bytes differ from the empty ground", scenes[_i], differ);
    renderer *const other = renderer_create(WIDTH, HEIGHT, &err);
    int meshes;
    const mesh *const list = scene_shapes_meshes(v.shapes, &meshes);
    ck_assert(!meshes || renderer_draw(other, &v.bodies, &v.camera, &v.around, NULL, rgb[2], &err) == CTN_BAD_ARGUMENT);
    ck_assert_int_eq(renderer_set_meshes(other, list, meshes, &err), CTN_OK);
    ck_assert_int_eq(renderer_draw(other, &v.bodies, &v.camera, &v.around, NULL, rgb[2], &err), CTN_OK);
    ck_assert(!memcmp(rgb[0], rgb[2], 3 * PIXELS));
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb[1], &err), CTN_OK);
    ck_assert(!memcmp(rgb[0], rgb[1], 3 * PIXELS));
    renderer_free(other);
    for (int k = 0; k < 3; k++) free(rgb[k]);
    close_view(&v);
}
END_TEST

/// Where the camera stands, sky and ground are kept, and only what has more in it is made anew: the same bytes as without, from
/// wherever one looks, near and far, with lines and without.
START_TEST(camera_stands)
{
    static uint8_t rgb[2][3 * PIXELS];
    static const double distances[] = {0.05, 0.3, 1, 4};
    view v = open_view(scenes[_i]);
    const instance_list nothing = {0};
    line_list lines = {0};
    ctn_error err;
    int meshes;
    const mesh *const list = scene_shapes_meshes(v.shapes, &meshes);
    renderer *const other = renderer_create(WIDTH, HEIGHT, &err);
    ck_assert(other && renderer_set_meshes(other, list, meshes, &err) == CTN_OK);
    const double middle = v.orbit.distance;
    for (int k = 0; k < 16; k++) {
        camera_orbit orbit = v.orbit;
        orbit.distance = middle * distances[k % 4], orbit.azimuth = 0.4 * k, orbit.elevation = 0.9 - 0.15 * (k % 9);
        for (int i = 0; i < 3; i++) orbit.target[i] += 0.3 * v.extent.radius * sin(k + 2 * i);
        const render_camera camera = camera_on_orbit(&orbit);
        for (int n = 0; n < ctn_model_nq(v.model); n++) v.q[n] += 0.1 * sin(7 * n + k);
        view_moved(&v);
        line_list_clear(&lines);
        line_point ends[2] = {{.width = 9, .color = {1, 0, 0, 1}}, {.width = 3, .color = {1, 1, 0, 1}}};
        for (int i = 0; i < 3; i++) {
            ends[0].position[i] = (float)v.extent.center[i];
            ends[1].position[i] = (float)(v.extent.center[i] + 0.8 * v.extent.radius * cos(k + i));
        }
        if (k % 2) ck_assert(line_list_add(&lines, ends, 2));
        const overlay over = {.lines = &lines, .scale = k % 3 ? 1 : 2};
        for (int n = 0; n < 2; n++)  // from the second picture on they are kept
            ck_assert_int_eq(renderer_draw(pen, &nothing, &camera, &v.around, NULL, rgb[0], &err), CTN_OK);
        ck_assert_int_eq(renderer_draw(pen, &v.bodies, &camera, &v.around, &over, rgb[0], &err), CTN_OK);
        ck_assert_int_eq(renderer_draw(other, &v.bodies, &camera, &v.around, &over, rgb[1], &err), CTN_OK);
        ck_assert_msg(!memcmp(rgb[0], rgb[1], sizeof rgb[0]), "%s: camera %d", scenes[_i], k);
    }
    line_list_free(&lines), renderer_free(other), close_view(&v);
}
END_TEST

// ---- the floor

#define LIMB "mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: capsule, from: [0, 0, 0], to: [0, 0, %g], radius: 0.05}]"

/// Bases stand on the floor wherever they are, however they are turned; what hangs has room; what is free begins on it or falls
/// towards it, and floats without gravity. What the scene says holds.
START_TEST(floors)
{
    static const char base[] = "  - {name: base, joint: fixed, position: [0, 0, 5], euler: [%s], density: 1, shapes: [%s]}\n"
                               "  - {name: arm, parent: base, joint: {type: revolute, axis: [0, 1, 0]}, " LIMB "}\n";
    static const char free_tree[] = "  - {name: a, joint: free, euler: [%s], density: 1, shapes: [%s]}\n"
                                    "  - {name: b, parent: a, joint: ball, " LIMB "}\n";
    static const char falling[] = "  - {name: a, joint: free, position: [0, 0, 2], euler: [%s], density: 1, shapes: [%s]}\n"
                                  "  - {name: b, parent: a, joint: ball, " LIMB "}\n";
    static const struct {
        const char *links, *euler, *shape;
        double limb;
        const char *rest;
        double low, high;
    } of[] = {
        {base, "0, 0, 0", "{type: box, size: [1, 1, 0.4]}", 1, "", 4.79, 4.8},
        {base, "0.5, 0, 0", "{type: box, size: [1, 1, 0.4]}", 1, "", 4.57, 4.585},  // 0.5 sin + 0.2 cos
        {base, "0.5, 0, 0", "{type: cylinder, from: [0, 0, -0.3], to: [0, 0, 0.3], radius: 0.4}", 1, "", 4.535, 4.546},
        {base, "0.5, 0, 0", "{type: ellipsoid, radii: [1, 0.3, 0.2]}", 1, "", 4.765, 4.775},  // sqrt(0.3^2 sin^2 + 0.2^2 cos^2)
        {base, "0, 0, 0", "{type: mesh, file: box.obj, scale: 0.001}", 1.5, "", 4.39, 4.4},
        {base, "0, 0, 0", "{type: box, size: [1, 1, 0.4]}", -1, "", 3.85, 3.95},           // the limb hangs from it
        {base, "0, 1.5707963, 0", "{type: box, size: [0.1, 1, 0.4]}", 1, "", 3.85, 3.95},  // it sticks out and will fall
        {base, "0, 0, 0", "{type: box, size: [1, 1, 0.4]}", 1, "view: {floor: 2}\n", 2, 2},
        {free_tree, "0, 0, 0", "{type: sphere, radius: 0.2}", -1, "", -1.07, -1.05},
        {free_tree, "0, 0, 0", "{type: sphere, radius: 0.2}", -1, "gravity: [0, 0, 0]\n", -1.9, -1.3},
        {falling, "0, 0, 0", "{type: sphere, radius: 0.2}", -1, "", 0, 0},
    };
    char links[600], text[1000];
    snprintf(links, sizeof links, of[_i].links, of[_i].euler, of[_i].shape, of[_i].limb);
    snprintf(text, sizeof text, "catena: 1\n%slinks:\n%s", of[_i].rest, links);
    view v = parse_view(text);
    ck_assert_msg(v.extent.floor >= of[_i].low && v.extent.floor <= of[_i].high, "%d: the floor is at %g", _i, v.extent.floor);
    close_view(&v);
}
END_TEST
enum { FLOORS = 11 };

/// Two balls, one above the floor and one below it. From above both look the same with and without it; from below the upper one
/// is seen as through a veil and the lower one is not.
START_TEST(from_below)
{
    static uint8_t rgb[2][3 * PIXELS];
    static uint32_t ids[PIXELS];
    ctn_error err;
    view v = parse_view(
        "catena: 1\nlinks:\n"
        "  - {name: a, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.4, center: [0, 0, 1], color: [1, 0, 0]}]}\n"
        "  - {name: b, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.4, center: [0, 0, -1], color: [1, 0, 0]}]}\n");
    v.around.floor = 0;
    scenery without = v.around;
    without.floor = -INFINITY;
    for (int side = 0; side < 2; side++) {
        double red[2][3] = {{0}};  // without and with a floor, of the pixels of either
        v.orbit.elevation = side ? -0.6 : 0.6, v.orbit.distance = 9;
        v.camera = camera_on_orbit(&v.orbit);
        ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids, &err), CTN_OK);
        ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &without, NULL, rgb[0], &err), CTN_OK);
        ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb[1], &err), CTN_OK);
        for (int n = 0; n < PIXELS; n++)
            for (int k = 0; k < 2; k++) red[k][ids[n]] += rgb[k][3 * n] - rgb[k][3 * n + 2];  // more than blue
        ck_assert_msg(side ? red[1][1] < 0.7 * red[0][1] && red[1][1] > 0.2 * red[0][1] : red[1][1] > 0.97 * red[0][1],
                      "from side %d the upper ball has %g of %g", side, red[1][1], red[0][1]);
        ck_assert_msg(red[1][2] > 0.97 * red[0][2], "from side %d the lower ball has %g of %g", side, red[1][2], red[0][2]);
    }
    close_view(&v);
}
END_TEST

/// With the eye below the floor, colours go evenly from the floor to the background: there is no strip at the horizon.
START_TEST(no_strip)
{
    static uint8_t rgb[3 * PIXELS];
    static const double eyes[][3] = {
        {-0.1, 8, 0}, {-0.35, 8, 2}, {0.05, 3, 30}, {-0.2, 30, 2}};  // elevation, distance, further down
    view v = parse_view("catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.01}]}]\n");
    const instance_list nothing = {0};
    ctn_error err;
    v.orbit.elevation = eyes[_i][0], v.orbit.distance = eyes[_i][1], v.orbit.target[2] = -1 - eyes[_i][2];
    v.camera = camera_on_orbit(&v.orbit);
    v.around.floor = 0, v.around.radius = 1;
    ck_assert(v.camera.eye[2] < 0);
    ck_assert_int_eq(renderer_draw(pen, &nothing, &v.camera, &v.around, NULL, rgb, &err), CTN_OK);
    double before = 0, most = 0;
    for (int y = 0; y < HEIGHT; y++) {
        double sum = 0;
        for (int x = 0; x < WIDTH; x++) sum += rgb[3 * (y * WIDTH + x)] / (double)WIDTH;
        if (y && sum < before - 6) ck_abort_msg("eye %d: row %d is darker than the one above: %g, %g", _i, y, sum, before);
        most = fmax(most, fabs(sum - before) * (y > 0)), before = sum;
    }
    ck_assert_msg(most < 25, "eye %d: rows differ by %g", _i, most);
    close_view(&v);
}
END_TEST

// ---- meshes

/// A mesh of a box is drawn as the box is, wherever the file has it and however large.
START_TEST(box_as_mesh)
{
    static uint8_t rgb[2][3 * PIXELS];
    static const char *const shapes[] = {
        "{type: box, size: [0.4, 0.8, 1.2], center: [0.1, 0.2, 0.3], euler: [0.5, 1, 2]}",
        "{type: mesh, file: box.obj, scale: 0.001, position: [0.1, 0.2, 0.3], euler: [0.5, 1, 2]}"};
    char text[300];
    ctn_error err;
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [%s]}]\n", shapes[k]);
        view v = parse_view(text);
        ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb[k], &err), CTN_OK);
        close_view(&v);
    }
    ck_assert(!memcmp(rgb[0], rgb[1], sizeof rgb[0]));
}
END_TEST

/// An open surface, a square, is seen from both sides, and nothing is lost at any.
START_TEST(both_sides)
{
    ctn_error err;
    uint32_t *const ids = malloc(PIXELS * sizeof *ids);
    view v = parse_view("catena: 1\nlinks: [{name: a, joint: ball, mass: 1, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: mesh, "
                        "file: square.obj}]}]\n");
    long covered[2] = {0};
    for (int side = 0; side < 2; side++) {
        v.orbit.elevation = side ? -1.2 : 1.2, v.orbit.distance = 8;
        v.camera = camera_on_orbit(&v.orbit);
        ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids, &err), CTN_OK);
        for (int n = 0; n < PIXELS; n++) covered[side] += ids[n] == 1;
    }
    ck_assert_msg(covered[0] > 1000 && labs(covered[0] - covered[1]) < 100, "%ld and %ld pixels", covered[0], covered[1]);
    free(ids), close_view(&v);
}
END_TEST

// ---- levels of detail

/// The outline of a ball at any distance is that of the ball to a third of a pixel, and as far off it has few triangles.
START_TEST(round_enough)
{
    const double distance = 1.5 * pow(1.35, _i);
    ctn_error err;
    uint32_t *const ids = malloc(PIXELS * sizeof *ids);
    view v = parse_view("catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.5}]}]\n");
    v.orbit.distance = distance;
    v.camera = camera_on_orbit(&v.orbit);
    ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids, &err), CTN_OK);
    const double pixel = camera_pixel(&v.camera, HEIGHT);
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            // how far the line of sight through the middle of the pixel passes from the ball's centre, which is straight ahead
            const double a = (x + 0.5 - WIDTH / 2) * pixel, b = (y + 0.5 - HEIGHT / 2) * pixel, s = a * a + b * b;
            const double off = distance * sqrt(s / (1 + s)) - 0.5;
            if (fabs(off) > 0.34 * pixel * distance) wrong += (ids[y * WIDTH + x] > 0) != (off < 0);
        }
    ck_assert_msg(wrong == 0, "%d pixels at %g m", wrong, distance);
    const double pixels = 0.5 / (pixel * distance);
    if (pixels < 2) ck_assert_uint_le(renderer_triangles(pen), pixels < 1 ? 8 : 36);
    free(ids), close_view(&v);
}
END_TEST

/// A long rope and many bodies: a few dozen triangles each.
START_TEST(few_triangles)
{
    static uint8_t rgb[3 * PIXELS];
    ctn_error err;
    view v = parse_view(
        "catena: 1\nlinks:\n  - chain: {name: c, count: 10000, step: [0.01, 0, 0], joint: ball, density: 1, shapes: [{type: "
        "capsule, from: [0, 0, 0], to: [0.01, 0, 0], radius: 0.004}]}\n");
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb, &err), CTN_OK);
    ck_assert_uint_le(renderer_triangles(pen), 10000 * 16);
    for (int k = 0; k < 3; k++) v.orbit.target[k] = v.bodies.of[MESH_CAPSULE][0].position[k];
    v.orbit.distance = 0.05;  // only what is near gets more
    v.camera = camera_on_orbit(&v.orbit);
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb, &err), CTN_OK);
    ck_assert_msg(renderer_triangles(pen) > 10000 * 16 && renderer_triangles(pen) < 10000 * 30, "%zu", renderer_triangles(pen));
    close_view(&v);
}
END_TEST

/// A ball of about 2 m^2 triangles, as of a file.
static mesh_surface ball_surface(int m, double thin)
{
    mesh_surface s = {.nvertex = m * (m + 1), .ntriangle = 2 * m * m};
    s.vertices = malloc((size_t)s.nvertex * sizeof *s.vertices), s.triangles = malloc((size_t)s.ntriangle * sizeof *s.triangles);
    for (int i = 0; i <= m; i++)
        for (int j = 0; j < m; j++) {
            const double a = 2 * M_PI * j / m, b = M_PI * (i + 1e-3) / (m + 2e-3),
                         x[3] = {sin(b) * cos(a), sin(b) * sin(a), cos(b)};
            for (int k = 0; k < 3; k++) s.vertices[i * m + j][k] = x[k] * (k < 2 ? thin : 1);
        }
    for (int i = 0, n = 0; i < m; i++)
        for (int j = 0; j < m; j++, n += 2) {
            const int a = i * m + j, b = i * m + (j + 1) % m, of[2][3] = {{a, a + m, b}, {b, a + m, b + m}};
            memcpy(s.triangles[n], of, sizeof of);
        }
    return s;
}

/// A surface of 32 768 triangles that is an ellipsoid is drawn as the ellipsoid is, however far off: outline and shades; there
/// with few triangles.
START_TEST(surfaces_far_off)
{
    static uint8_t rgb[2][3 * PIXELS];
    static uint32_t ids[2][PIXELS];
    const double distance = 1.5 * pow(1.35, _i);
    ctn_error err;
    double center[3], half[3];
    mesh_surface surface = ball_surface(128, 0.6);
    mesh m = mesh_of_surface(&surface, center, half);
    ck_assert(m.vertices != NULL);
    view v =
        parse_view("catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [{type: ellipsoid, radii: [0.3, 0.3, 0.5], "
                   "euler: [0.7, 0.4, 0]}]}]\n");
    v.orbit.distance = distance;
    v.camera = camera_on_orbit(&v.orbit);
    instance_list_clear(&v.bodies);
    view_moved(&v);
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb[0], &err), CTN_OK);
    ck_assert_int_eq(renderer_ids(pen, &v.bodies, &v.camera, ids[0], &err), CTN_OK);
    render_instance *const body = v.bodies.of[MESH_BALL];
    instance_list as_surface = {.kinds = MESHES + 1};
    render_instance *of[MESHES + 1] = {[MESHES] = body};
    size_t count[MESHES + 1] = {[MESHES] = 1};
    as_surface.of = of, as_surface.count = count;
    ck_assert_int_eq(renderer_set_meshes(pen, &m, 1, &err), CTN_OK);
    ck_assert_int_eq(renderer_draw(pen, &as_surface, &v.camera, &v.around, NULL, rgb[1], &err), CTN_OK);
    ck_assert_int_eq(renderer_ids(pen, &as_surface, &v.camera, ids[1], &err), CTN_OK);
    const double pixels = 0.5 / (camera_pixel(&v.camera, HEIGHT) * distance);
    int seen = 0, other = 0, most = 0;
    for (int k = 0; k < PIXELS; k++) {
        seen += ids[0][k] > 0, other += ids[0][k] != ids[1][k];
        for (int c = 0; c < 3 && ids[0][k] && ids[1][k]; c++) {
            const int differ = abs(rgb[0][3 * k + c] - rgb[1][3 * k + c]);
            most = differ > most ? differ : most;
        }
    }
    const double outline = 2 * sqrt(M_PI * seen);
    ck_assert_msg(seen > 3 && other <= 2 + 0.15 * outline && most < 45, "%d of %d pixels, shades differ by %d", other, seen,
                  most);
    const size_t triangles = renderer_triangles(pen);
    ck_assert_msg(triangles <= (pixels < 3.5   ? 1200
                                : pixels < 7.5 ? 4500
                                : pixels < 15  ? 15000
                                               : 32768),
                  "%zu at %g pixels", triangles, pixels);
    mesh_free(&m);
    free(surface.vertices), free(surface.triangles);
    close_view(&v);
}
END_TEST

/// Level by level closed, with nearly the volume, unit normals and fewer triangles; what is thinner than a cell stays.
START_TEST(coarse_surfaces)
{
    double center[3], half[3];
    mesh_surface surface = ball_surface(128, 0.6), needle = ball_surface(16, 0.002);
    mesh last = mesh_of_surface(&surface, center, half);
    for (int level = 1; level < MESH_LEVELS; level++) {
        mesh m = mesh_coarsen(&last, level);
        double sides[3] = {0}, volume = 0;
        for (size_t i = 0; i < m.nindex; i += 3) {
            const float *const x[3] = {m.vertices[m.indices[i]].position, m.vertices[m.indices[i + 1]].position,
                                       m.vertices[m.indices[i + 2]].position};
            for (int k = 0; k < 3; k++) {
                const int u = (k + 1) % 3, v = (k + 2) % 3;
                const double n =
                    (double)(x[1][u] - x[0][u]) * (x[2][v] - x[0][v]) - (double)(x[1][v] - x[0][v]) * (x[2][u] - x[0][u]);
                sides[k] += n / 2, volume += n * x[0][k] / 6;
            }
        }
        for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(sides[k], 0, 1e-4);
        const double whole = 4 * M_PI / 3;  // of the unit ball that it is stretched to
        ck_assert_msg(volume > (level < 3 ? 0.97 : 0.85) * whole && volume < 1.001 * whole, "level %d: %g", level,
                      volume / whole);
        ck_assert(m.nindex < last.nindex && m.nvertex < last.nvertex);
        for (size_t i = 0; i < m.nvertex; i++) {
            double n = 0;
            for (int k = 0; k < 3; k++) n += pow(m.vertices[i].normal[k] / m.shape[k], 2);
            ck_assert_double_eq_tol(n, 1, 1e-5);
        }
        mesh_free(&last);
        last = m;
    }
    mesh_free(&last);
    for (int k = 0; k < needle.nvertex; k++)  // bent, so that it does not lie on borders of cells
        needle.vertices[k][0] += 0.9 * needle.vertices[k][2] * needle.vertices[k][2],
            needle.vertices[k][1] += 0.8 * needle.vertices[k][2];
    last = mesh_of_surface(&needle, center, half);
    mesh same = mesh_coarsen(&last, 1);
    ck_assert(same.nindex == last.nindex && !memcmp(same.indices, last.indices, last.nindex * sizeof *last.indices));
    mesh_free(&same), mesh_free(&last);
    free(surface.vertices), free(surface.triangles), free(needle.vertices), free(needle.triangles);
}
END_TEST

// ---- against stored pictures

enum { CELL = 4, ROWS = HEIGHT / CELL, COLUMNS = WIDTH / CELL, NUMBERS = 3 * ROWS * COLUMNS };

/// Means of cells of CELL x CELL pixels: renderers may draw edges a little apart.
static void shrink(const uint8_t *rgb, uint8_t *cells)
{
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            for (int c = 0; c < 3; c++) {
                int sum = 0;
                for (int y = 0; y < CELL; y++)
                    for (int x = 0; x < CELL; x++) sum += rgb[3 * ((row * CELL + y) * WIDTH + column * CELL + x) + c];
                *cells++ = (uint8_t)((sum + CELL * CELL / 2) / (CELL * CELL));
            }
}

/// CTN_WRITE_PICTURES=1 stores what is drawn now; look at it before you commit it.
START_TEST(like_the_stored_one)
{
    static uint8_t rgb[3 * PIXELS], is[NUMBERS];
    char path[300];
    view v = open_view(scenes[_i]);
    ctn_error err;
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &v.camera, &v.around, NULL, rgb, &err), CTN_OK);
    close_view(&v);
    shrink(rgb, is);
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/tests/pictures/%s.png", scenes[_i]);
    if (getenv("CTN_WRITE_PICTURES")) {
        pictures *out;
        ck_assert_int_eq(pictures_open(path, COLUMNS, ROWS, 1, &out, &err), CTN_OK);
        ck_assert_int_eq(pictures_add(out, is, &err), CTN_OK);
        pictures_close(out, NULL);
    }
    int width, height, channels, most = 0;
    double mean = 0;
    uint8_t *const was = stbi_load(path, &width, &height, &channels, 3);
    ck_assert_msg(was && width == COLUMNS && height == ROWS, "%s: %s", path, was ? "of another size" : stbi_failure_reason());
    for (int k = 0; k < NUMBERS; k++) {
        const int differ = abs(is[k] - was[k]);
        most = differ > most ? differ : most, mean += (double)differ / NUMBERS;
    }
    ck_assert_msg(most < 24 && mean < 1, "%s: cells differ by up to %d of 255, by %.2f on average", path, most, mean);
    stbi_image_free(was);
}
END_TEST

/// What KHR_debug has said of all that was drawn before.
START_TEST(opengl_has_no_complaints) { ck_assert_msg(gl_errors == 0, "OpenGL reports %ld errors", gl_errors); }
END_TEST

static void set_up(void)
{
    set_up_pen();
    gl_watch();
}

/// What is not drawn is not there, nor its mesh; a link of such shapes alone has no rods.
START_TEST(hidden_shapes)
{
    view v =
        parse_view("catena: 1\nlinks:\n"
                   "  - name: a\n    joint: free\n    mass: 1\n    inertia: [1, 1, 1, 0, 0, 0]\n    shapes:\n"
                   "      - {type: mesh, file: box.obj, draw: false, density: 0}\n"
                   "      - {type: sphere, radius: 1}\n"
                   "      - {type: box, size: [1, 1, 1], draw: false}\n"
                   "  - {name: b, parent: a, position: [1, 0, 0], mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0], joint: ball,\n"
                   "     shapes: [{type: sphere, radius: 1, draw: false}]}\n");
    int meshes;
    size_t drawn = 0;
    scene_shapes_meshes(v.shapes, &meshes);
    ck_assert_int_eq(meshes, 0);
    for (int k = 0; k < v.bodies.kinds; k++) drawn += v.bodies.count[k];
    ck_assert_uint_eq(drawn, 1);
    ck_assert_uint_eq(v.bodies.count[MESH_BALL], 1);
    close_view(&v);
}
END_TEST

/// A cable that twists has two links at each place: both are what the one with the shape shows.
START_TEST(cables)
{
    view v = parse_view("catena: 1\nlinks:\n"
                        "  - cable: {name: wire, links: 5, length: 1, radius: 0.003, density: 7800, young: 2e11, shear: 8e10}\n"
                        "  - {name: ball, parent: wire.4, position: [0.2, 0, 0], density: 1,\n"
                        "     shapes: [{type: sphere, radius: 0.1}]}\n");
    size_t drawn = 0;
    for (int k = 0; k < v.bodies.kinds; k++) drawn += v.bodies.count[k];
    ck_assert_uint_eq(drawn, 6);
    ck_assert(v.bodies.count[MESH_BALL] == 1 && v.bodies.count[MESH_CAPSULE] == 0);
    close_view(&v);
}
END_TEST

int main(void)
{
    if (!machine_has("pictures", pen_is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("pictures");
    TCase *const t = tcase_create("pictures");
    tcase_set_timeout(t, 300);
    tcase_add_unchecked_fixture(t, set_up, tear_down_pen);
    tcase_add_loop_test(t, every_link_is_seen, 0, SCENES);
    tcase_add_test(t, picks);
    tcase_add_loop_test(t, camera_stands, 0, SCENES);
    tcase_add_test(t, ghosts);
    tcase_add_loop_test(t, same_picture, 0, SCENES);
    tcase_add_loop_test(t, floors, 0, FLOORS);
    tcase_add_test(t, from_below);
    tcase_add_loop_test(t, no_strip, 0, 4);
    tcase_add_test(t, box_as_mesh);
    tcase_add_test(t, hidden_shapes);
    tcase_add_test(t, cables);
    tcase_add_test(t, both_sides);
    tcase_add_loop_test(t, round_enough, 0, 17);
    tcase_add_test(t, few_triangles);
    tcase_add_loop_test(t, surfaces_far_off, 0, 14);
    tcase_add_test(t, coarse_surfaces);
    tcase_add_loop_test(t, like_the_stored_one, 0, SCENES);
    tcase_add_test(t, opengl_has_no_complaints);
    suite_add_tcase(s, t);
    return run_suite(s);
}
