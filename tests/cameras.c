/// Cameras: points land on the pixels where they should, and cameras of scenes go where their links go. What is seen is read from
/// the buffer of ids.
#include "render/draw/camera_mount.h"
#include "render/draw/fit.h"
#include "render/draw/poses.h"
#include "tests/suite.h"
#include "tests/view.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double degree = 0.017453292519943295;

/// The middle of the pixels that show a body, in pixels from the left and from the top; their number.
static int middle_of(const view *v, const render_camera *camera, uint32_t id, double *x, double *y)
{
    uint32_t *const ids = malloc(PIXELS * sizeof *ids);
    ctn_error err;
    int count = 0;
    *x = *y = 0;
    ck_assert_int_eq(renderer_ids(pen, &v->bodies, camera, ids, &err), CTN_OK);
    for (int n = 0; n < PIXELS; n++)
        if (ids[n] == id) *x += n % WIDTH + 0.5, *y += n / WIDTH + 0.5, count++;
    free(ids);
    if (count) *x /= count, *y /= count;
    return count;
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// A pinhole: where a point is seen from `eye` along `ahead` with `right` to the right, unit vectors; `field` is that of the
/// height.
static void pinhole(const double *point, const double *eye, const double *ahead, const double *right, double field, double *x,
                    double *y)
{
    const double d[3] = {point[0] - eye[0], point[1] - eye[1], point[2] - eye[2]};
    const double up[3] = {right[1] * ahead[2] - right[2] * ahead[1], right[2] * ahead[0] - right[0] * ahead[2],
                          right[0] * ahead[1] - right[1] * ahead[0]};
    const double image = HEIGHT / 2 / tan(field / 2) / dot(d, ahead);  // pixels a metre, at that depth
    *x = WIDTH / 2 + image * dot(d, right), *y = HEIGHT / 2 - image * dot(d, up);
}

/// A ball of a few pixels at a point known.
START_TEST(projection)
{
    char text[600];
    srand((unsigned)_i);
    double r[8], eye[3], ahead[3], x, y, u, w;
    for (int k = 0; k < 8; k++) r[k] = rand() / (double)RAND_MAX;
    const double point[3] = {r[0] - 0.5, r[1] - 0.5, r[2] - 0.5};
    snprintf(text, sizeof text,
             "catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.05, center: [%.17g, %.17g, "
             "%.17g]}]}]\n"
             "camera: {azimuth: %.17g, elevation: %.17g, distance: %.17g, target: [0.1, -0.2, 0.3], field_of_view: %.17g}\n",
             point[0], point[1], point[2], 360 * r[3], 170 * r[4] - 85, 3 + 3 * r[5], 30 + 30 * r[6]);
    view v = parse_view(text);
    camera_mount m = camera_mount_of(v.scene->cameras, &v.orbit, v.extent.radius);
    const render_camera c = camera_mount_at(&m, v.R, v.p, v.extent.center, 0);
    const double azimuth = 360 * r[3] * degree, elevation = (170 * r[4] - 85) * degree, distance = 3 + 3 * r[5];
    const double away[3] = {cos(elevation) * cos(azimuth), cos(elevation) * sin(azimuth), sin(elevation)};
    const double right[3] = {-sin(azimuth), cos(azimuth), 0}, target[3] = {0.1, -0.2, 0.3};
    for (int k = 0; k < 3; k++) eye[k] = target[k] + distance * away[k], ahead[k] = -away[k];
    pinhole(point, eye, ahead, right, (30 + 30 * r[6]) * degree, &u, &w);
    const int count = middle_of(&v, &c, 1, &x, &y);
    ck_assert_msg(count > 4 && hypot(x - u, y - w) < 0.5, "expected %g %g, found %g %g (%d pixels)", u, w, x, y, count);
    close_view(&v);
}
END_TEST

static const char tumbling[] =
    "catena: 1\nlinks:\n"
    "  - {name: a, joint: free, density: 1, shapes: [{type: sphere, radius: 0.1}]}\n"
    "  - {name: b, parent: a, position: [0.8, 0.3, 0.2], density: 1, shapes: [{type: sphere, radius: 0.1}]}\n"
    "  - {name: c, joint: free, density: 1, shapes: [{type: sphere, radius: 0.1, center: [0.5, -1, 0]}]}\n";

/// Poses that differ in place and turn.
static void tumble(view *v, int k)
{
    const double angle = 0.7 * k, c = cos(angle / 2), s = sin(angle / 2) / sqrt(3);
    const double pose[7] = {sin(1.3 * k), 0.5 * k, cos(2.1 * k), c, s, -s, s};
    memcpy(v->q, pose, sizeof pose);
    view_moved(v);
}

/// The link stays in the middle, what stands still moves, and the camera does not turn with the link: what is fixed to that does
/// not stay.
START_TEST(tracks)
{
    static const char *const cameras[] = {"camera: {type: track, link: a, azimuth: 20, elevation: 30, distance: 4}",
                                          "camera: {type: track, link: a, offset: [1, -2, 3]}",
                                          "camera: {target: a, distance: 5}"};
    char text[600];
    snprintf(text, sizeof text, "%s%s\n", tumbling, cameras[_i]);
    view v = parse_view(text);
    camera_mount m = camera_mount_of(v.scene->cameras, &v.orbit, v.extent.radius);
    double x, y, first[2] = {0}, offset[3] = {0};
    for (int k = 0; k < 6; k++) {
        tumble(&v, k);
        const render_camera c = camera_mount_at(&m, v.R, v.p, v.extent.center, 0.1 * k);
        ck_assert_int_gt(middle_of(&v, &c, 1, &x, &y), 20);
        ck_assert_msg(hypot(x - WIDTH / 2, y - HEIGHT / 2) < 0.6, "pose %d: at %g %g", k, x, y);
        if (middle_of(&v, &c, 2, &x, &y)) ck_assert_msg(k == 0 || hypot(x - first[0], y - first[1]) > 5, "pose %d", k);
        if (k == 0) first[0] = x, first[1] = y;
        for (int i = 0; i < 3; i++) {
            const double from = c.eye[i] - v.p[i];
            ck_assert_msg(k == 0 || fabs(from - offset[i]) < 1e-12, "pose %d: the camera is %g away", k, from);
            offset[i] = from;
        }
    }
    if (_i == 1) ck_assert_msg(fabs(offset[0] - 1) + fabs(offset[1] + 2) + fabs(offset[2] - 3) < 1e-12, "%g", offset[0]);
    close_view(&v);
}
END_TEST

/// What is fixed to the link stays where it is in the picture, where a pinhole in the link's frame has it; what stands still does
/// not.
START_TEST(first_person)
{
    char text[600];
    snprintf(
        text, sizeof text,
        "%scamera: {type: first-person, link: a, position: [0.2, 0, 0.15], look: [2, 1, 0], up: [0, 1, 3], field_of_view: 70}\n",
        tumbling);
    view v = parse_view(text);
    camera_mount m = camera_mount_of(v.scene->cameras, &v.orbit, v.extent.radius);
    // across `look` and `up`, to the right
    const double nose[3] = {0.8, 0.3, 0.2}, eye[3] = {0.2, 0, 0.15}, ahead[3] = {2 / sqrt(5), 1 / sqrt(5), 0},
                 n = sqrt(9 + 36 + 4);
    const double right[3] = {3 / n, -6 / n, 2 / n};
    double x, y, u, w, still[2] = {-1, -1};
    int others = 0;
    pinhole(nose, eye, ahead, right, 70 * degree, &u, &w);
    for (int k = 0; k < 8; k++) {
        tumble(&v, k);
        const render_camera c = camera_mount_at(&m, v.R, v.p, v.extent.center, 0);
        ck_assert_int_gt(middle_of(&v, &c, 2, &x, &y), 20);
        ck_assert_msg(hypot(x - u, y - w) < 1.5, "pose %d: expected %g %g, found %g %g", k, u, w, x,
                      y);  // a near ball's outline is no circle
        if (middle_of(&v, &c, 3, &x, &y)) others++;
        ck_assert_msg(k == 0 || hypot(x - still[0], y - still[1]) > 1 || !others, "pose %d", k);
        still[0] = x, still[1] = y;
    }
    close_view(&v);
}
END_TEST

/// Behind a link that moves evenly by the time `smooth`, whatever the number of pictures; on it after it has stopped.
START_TEST(smooth)
{
    const scene_camera track = {
        .type = CAMERA_TRACK, .smooth = 0.5, .target = {NAN}, .azimuth = NAN, .elevation = NAN, .distance = NAN, .field = NAN};
    const camera_orbit standard = {.distance = 3, .field = 1};
    const double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double seen[2][2];
    for (int many = 0; many < 2; many++) {
        camera_mount m = camera_mount_of(&track, &standard, 1);
        const int pictures = many ? 100 : 4;
        for (int k = 0; k <= 2 * pictures; k++) {
            const double t = 2.0 * k / pictures, p[3] = {3 * fmin(t, 2), 0, 0};
            const render_camera c = camera_mount_at(&m, R, p, NULL, t);
            if (k == 0) ck_assert_double_eq(c.target[0], 0);
            if (k == pictures) seen[many][0] = c.target[0];
            seen[many][1] = c.target[0];
            ck_assert(c.target[1] == 0 && c.target[0] <= p[0] + 1e-12);
        }
        ck_assert_double_eq_tol(seen[many][0], 6 - 1.5 * (1 - exp(-4)), 1e-12);  // y' = (3 t - y) / 0.5
        ck_assert_double_eq_tol(seen[many][1], 6 - 1.5 * (1 - exp(-4)) * exp(-4), 1e-12);
    }
}
END_TEST

/// A picture of a camera that rolls has its horizon rolled: the sky is on its side.
START_TEST(horizon)
{
    static uint8_t rgb[3 * PIXELS];
    ctn_error err;
    view v = parse_view(
        "catena: 1\nlinks: [{name: a, position: [0, 0, 1], joint: ball, density: 1, shapes: [{type: sphere, radius: 0.1}]}]\n"
        "camera: {type: first-person, link: a, up: [0, 1, 0]}\n");
    camera_mount m = camera_mount_of(v.scene->cameras, &v.orbit, v.extent.radius);
    const render_camera c = camera_mount_at(&m, v.R, v.p, v.extent.center, 0);
    ck_assert_int_eq(renderer_draw(pen, &v.bodies, &c, &v.around, NULL, rgb, &err), CTN_OK);
    // y up, looking along x: z, and the sky, is to the right; the ground is darker
    long side[2] = {0};
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) side[x >= WIDTH / 2] += rgb[3 * (y * WIDTH + x) + 2];
    ck_assert_msg(side[1] > 1.1 * side[0], "%ld %ld", side[0], side[1]);
    close_view(&v);
}
END_TEST

/// An eye that is dragged down stays above the floor; one that looks at what is below it, or where there is none, goes anywhere.
START_TEST(above_the_floor)
{
    for (int k = 0; k < 20; k++) {
        camera_orbit o = {.target = {0, 0, 0.1 * k}, .distance = 1 + k % 3, .elevation = -1.5, .field = 0.6};
        camera_keep_above(&o, 0);
        const double height = camera_on_orbit(&o).eye[2];
        ck_assert_msg(height > 0 && (height < 0.021 * o.distance || o.elevation == -1.5), "eye at %g m", height);
    }
    camera_orbit o = {.target = {0, 0, -1}, .distance = 5, .elevation = -1, .field = 0.6};
    camera_keep_above(&o, 0);
    ck_assert_double_eq(o.elevation, -1);
    camera_keep_above(&o, -INFINITY);
    ck_assert_double_eq(o.elevation, -1);
    o.elevation = 0.3;
    camera_keep_above(&o, -1);
    ck_assert_double_eq(o.elevation, 0.3);
}
END_TEST

// ---- what is in sight

#define BALL "links: [{name: a, position: [0, 0, 1], joint: free, density: 1, shapes: [{type: sphere, radius: 0.2}]}]\n"
#define HANGS "links: [{name: a, position: [0, 0, 1], joint: ball, density: 1, shapes: [{type: sphere, radius: 0.1, center: "
#define PENDULUM HANGS "[0.4, 0, 0]}]}]\n"

/// The orbit that has links in sight and what they may touch, of a scene moved by `shift`.
static camera_orbit fitted(const char *links, const char *more, const double *shift)
{
    char text[1000];
    instance_list fixed = {0};
    snprintf(text, sizeof text, "catena: 1\n%s%s", more, links);
    view v = parse_view(text);
    camera_orbit o = {.target = {shift[0], shift[1], 1 + shift[2]}, .azimuth = -1.25, .elevation = 0.25, .field = 0.6};
    camera_fit f = camera_fit_of(&o, (double)WIDTH / HEIGHT);
    for (int k = 0; k < 3; k++) v.p[k] += shift[k];
    instance_list_clear(&v.bodies);
    ck_assert(scene_shapes_place(v.shapes, v.R, v.p, 0, NULL, &v.bodies));
    ck_assert(scene_shapes_place_fixed(v.shapes, shift, &v.bodies));  // what is drawn; of which the bodies are links alone
    ck_assert(scene_shapes_place_fixed(v.shapes, (const double[3]){0}, &fixed));
    fit_bodies(&v.bodies, o.target, INFINITY, &f);
    const scene_reach reach = scene_shapes_reach(v.shapes, v.R, v.p, shift);
    fit_surroundings(&fixed, &reach, shift, o.target, &f);
    double from[3];
    memcpy(from, o.target, sizeof from), memset(o.target, 0, sizeof o.target);
    camera_fit_move(&f, &o);
    for (int k = 0; k < 3; k++) o.target[k] += from[k];
    instance_list_free(&fixed), close_view(&v);
    return o;
}

static bool sees(const camera_orbit *o, double x, double y, double z)
{
    const render_camera c = camera_on_orbit(o);
    const matrix4 m = camera_matrix(&c, (double)WIDTH / HEIGHT);
    double clip[4];
    for (int i = 0; i < 4; i++) clip[i] = m.m[i] * x + m.m[4 + i] * y + m.m[8 + i] * z + m.m[12 + i];
    return clip[3] > 0 && fabs(clip[0]) <= 1.001 * clip[3] && fabs(clip[1]) <= 1.001 * clip[3];
}

static const double still[3] = {0};

/// The ground is in sight where links can get to it: those that hang by their length, those that fall from ten times their
/// radius; a ground that slopes likewise.
START_TEST(ground_in_sight)
{
    const camera_orbit alone = fitted(BALL, "", still), above = fitted(BALL, "ground: true\n", still),
                       deep = fitted(BALL, "ground: {height: -5}\n", still),
                       slope = fitted(BALL, "ground: {normal: [1, 0, 2]}\n", still), hangs = fitted(PENDULUM, "", still),
                       far = fitted(PENDULUM, "ground: true\n", still),
                       reaches = fitted(PENDULUM, "ground: {height: 0.55}\n", still);
    ck_assert(!sees(&alone, 0, 0, 0) && sees(&above, 0, 0, 0) && sees(&above, 0, 0, 1.2) && sees(&slope, -0.4, 0, 0.2));
    ck_assert_double_eq(deep.distance, alone.distance);
    ck_assert_double_eq(far.distance, hangs.distance);
    ck_assert(!sees(&hangs, 0.4, 0, 0.55) && sees(&reaches, 0.4, 0, 0.55));
    ck_assert_double_lt(above.distance, 5 * alone.distance);
}
END_TEST

#define BOX(at, size) "obstacles: [{type: box, center: " at ", size: " size "}]\n"

/// Obstacles nearby are in sight as a whole; of large ones the part that is near, so that links stay about as large as they were;
/// what is far off changes nothing. All of it where a world has been moved to.
START_TEST(obstacles_in_sight)
{
    const double moved[3] = {7, -3, 0.5};
    const camera_orbit alone = fitted(BALL, "", still), beside = fitted(BALL, BOX("[0.5, 0, 1]", "[0.3, 0.3, 0.3]"), still),
                       far = fitted(BALL, BOX("[3, 0, 1]", "[0.3, 0.3, 0.3]"), still),
                       large = fitted(BALL, BOX("[8, 0, 1]", "[12, 12, 12]"), still),
                       both = fitted(BALL,
                                     "obstacles: [{type: box, center: [30, 0, 1], size: [0.3, 0.3, 0.3]}, "
                                     "{type: box, center: [0.5, 0, 1], size: [0.3, 0.3, 0.3]}]\n",
                                     still),
                       wall = fitted(BALL, BOX("[0, 50.25, 1]", "[100, 100, 100]"), still),
                       plate = fitted(BALL, BOX("[0, 0, -0.5]", "[100, 100, 1]"), still),
                       there = fitted(BALL, BOX("[0.5, 0, 1]", "[0.3, 0.3, 0.3]"), moved);
    for (int corner = 0; corner < 8; corner++) {
        const double x = 0.5 + (corner & 1 ? 0.15 : -0.15), y = corner & 2 ? 0.15 : -0.15, z = 1 + (corner & 4 ? 0.15 : -0.15);
        ck_assert(sees(&beside, x, y, z) && sees(&there, x + moved[0], y + moved[1], z + moved[2]));
    }
    ck_assert_double_eq_tol(there.distance, beside.distance, 1e-6);
    ck_assert_double_eq(far.distance, alone.distance);
    ck_assert_double_eq(large.distance, alone.distance);
    ck_assert_double_eq(both.distance, beside.distance);
    ck_assert(sees(&wall, 0, 0.25, 1) && sees(&plate, 0, 0, 0));
    ck_assert_msg(wall.distance < 2 * alone.distance && plate.distance < 5 * alone.distance, "%g, %g, alone %g", wall.distance,
                  plate.distance, alone.distance);
}
END_TEST

/// A terrain is far larger than a ball that rolls on it, which is seen as large as on a box of its own size.
START_TEST(terrain_in_sight)
{
    const camera_orbit alone = fitted(BALL, "", still),
                       on = fitted(
                           BALL,
                           "terrain: {heights: [[0, 0, 0], [0, 1, 0], [0, 0, 0]], size: [40, 40], position: [0, 0, -0.2]}\n",
                           still);
    ck_assert_msg(on.distance < 2 * alone.distance, "%g, alone %g", on.distance, alone.distance);
}
END_TEST

/// A camera that goes with a world keeps to the ground below: it stays where something falls, and goes up with what is far above.
START_TEST(followed)
{
    const double shift[3] = {5, 0, 2}, up[3] = {1 / sqrt(5), 0, 2 / sqrt(5)};
    double at[3];
    view none = parse_view("catena: 1\n" BALL), level = parse_view("catena: 1\nground: {height: -1}\n" BALL),
         slope = parse_view("catena: 1\nground: {normal: [1, 0, 2]}\n" BALL),
         hill = parse_view("catena: 1\nterrain: {heights: [[3, 3], [3, 3]], size: [4, 4], position: [0, 0, 1]}\n" BALL);
    for (int k = 0; k < 8; k++) {
        const double com[3] = {5 + 0.3 * k, 0.2 * k, 1 + k};
        world_followed(none.scene, none.model, 0.5, shift, com, at);
        for (int i = 0; i < 3; i++) ck_assert_double_eq(at[i], com[i]);
        world_followed(level.scene, level.model, 0.5, still, com, at);
        ck_assert(at[0] == com[0] && at[1] == com[1]);
        ck_assert_double_eq_tol(at[2], fmax(-1, com[2] - 2), 1e-12);
        world_followed(slope.scene, slope.model, 0.5, shift, com, at);
        const double over = up[0] * (com[0] - shift[0]) + up[2] * (com[2] - shift[2]), down = fmin(fmax(over, 0), 2);
        for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(at[i], com[i] - down * up[i], 1e-12);
        world_followed(hill.scene, hill.model, 0.5, still, com, at);
        ck_assert_double_eq_tol(at[2], com[2] < 4 ? com[2] : fmax(4, com[2] - 2), 1e-9);
    }
    close_view(&none), close_view(&level), close_view(&slope), close_view(&hill);
}
END_TEST

int main(void)
{
    if (!machine_has("cameras", pen_is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("cameras");
    TCase *const t = tcase_create("cameras");
    tcase_set_timeout(t, 120);
    tcase_add_unchecked_fixture(t, set_up_pen, tear_down_pen);
    tcase_add_loop_test(t, projection, 0, 12);
    tcase_add_loop_test(t, tracks, 0, 3);
    tcase_add_test(t, first_person);
    tcase_add_test(t, smooth);
    tcase_add_test(t, horizon);
    tcase_add_test(t, above_the_floor);
    tcase_add_test(t, ground_in_sight);
    tcase_add_test(t, obstacles_in_sight);
    tcase_add_test(t, terrain_in_sight);
    tcase_add_test(t, followed);
    suite_add_tcase(s, t);
    return run_suite(s);
}
