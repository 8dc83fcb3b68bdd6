/// What is drawn over and about the bodies: lines, text, marks, colours, many worlds. Things are where their projections say they
/// are.
#include "render/draw/colors.h"
#include "render/draw/context.h"
#include "render/draw/layout.h"
#include "render/draw/marks.h"
#include "render/draw/renderer.h"
#include "tests/gl_debug.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 200, PIXELS = WIDTH * HEIGHT };

static render_context *context;
static renderer *pen;
static const camera_orbit orbit = {.target = {0, 0, 1}, .distance = 5, .azimuth = -1.2, .elevation = 0.3, .field = 0.6};
static render_camera camera;  // on it
static const scenery around = {.center = {0, 0, 1}, .radius = 1, .floor = -1};
static uint8_t rgb[3 * PIXELS], plain[3 * PIXELS];

static void setup(void)
{
    ctn_error err;
    const instance_list nothing = {0};
    context = context_create(&err);
    ck_assert_msg(context != NULL, "%s", err.message);
    gl_watch();
    camera = camera_on_orbit(&orbit);
    pen = renderer_create(WIDTH, HEIGHT, &err);
    ck_assert_msg(pen != NULL, "%s", err.message);
    ck_assert_int_eq(renderer_draw(pen, &nothing, &camera, &around, NULL, plain, &err), CTN_OK);
}

static void teardown(void)
{
    renderer_free(pen);
    context_free(context);
}

/// Draws lines and labels (NULL: none) over bodies (NULL: none) into rgb.
static void draw(const instance_list *bodies, const line_list *lines, const label_list *labels)
{
    ctn_error err;
    const instance_list nothing = {0};
    const overlay over = {.lines = lines, .labels = labels};
    const ctn_status status = renderer_draw(pen, bodies ? bodies : &nothing, &camera, &around, &over, rgb, &err);
    ck_assert_msg(status == CTN_OK, "%s", err.message);
}

/// The pixel that a point in space is at.
static void project(const double *x, double *column, double *row)
{
    const matrix4 m = camera_matrix(&camera, (double)WIDTH / HEIGHT);
    double c[4];
    for (int i = 0; i < 4; i++) c[i] = m.m[i] * x[0] + m.m[4 + i] * x[1] + m.m[8 + i] * x[2] + m.m[12 + i];
    *column = (0.5 + 0.5 * c[0] / c[3]) * WIDTH, *row = (0.5 - 0.5 * c[1] / c[3]) * HEIGHT;
}

/// Greatest difference of a channel of the pixel at column, row from a colour.
static int differs(const uint8_t *picture, double column, double row, const float *color)
{
    const uint8_t *const pixel = picture + 3 * ((int)floor(row) * WIDTH + (int)floor(column));
    int most = 0;
    for (int c = 0; c < 3; c++) {
        const int d = abs(pixel[c] - (int)lroundf(255 * color[c]));
        most = d > most ? d : most;
    }
    return most;
}

static bool changed(double column, double row)
{
    const int at = 3 * ((int)floor(row) * WIDTH + (int)floor(column));
    return memcmp(rgb + at, plain + at, 3) != 0;
}

static const float magenta[3] = {1, 0, 1};

static line_point point(double x, double y, double z, float width, float hidden)
{
    return (line_point){{(float)x, (float)y, (float)z}, width, {1, 0, 1, 1}, 0, hidden};
}

// ---- lines

/// As wide as it should be, along the whole way between the projections of its ends.
START_TEST(lines_are_where_they_should_be)
{
    line_list lines = {0};
    const line_point points[3] = {point(-0.8, 0, 1, 6, 0), point(0.1, 0, 1.2, 6, 0), point(0.9, 0.3, 0.6, 6, 0)};
    ck_assert(line_list_add(&lines, points, 3));
    draw(NULL, &lines, NULL);
    for (int piece = 0; piece < 2; piece++) {
        double a[2], b[2];
        const double from[3] = {points[piece].position[0], points[piece].position[1], points[piece].position[2]};
        const double to[3] = {points[piece + 1].position[0], points[piece + 1].position[1], points[piece + 1].position[2]};
        project(from, &a[0], &a[1]), project(to, &b[0], &b[1]);
        const double n = hypot(b[0] - a[0], b[1] - a[1]), across[2] = {-(b[1] - a[1]) / n, (b[0] - a[0]) / n};
        for (int k = 1; k < 20; k++) {
            const double x = a[0] + (b[0] - a[0]) * k / 20, y = a[1] + (b[1] - a[1]) * k / 20;
            for (int side = -1; side <= 1; side++)
                ck_assert_msg(differs(rgb, x + 1.5 * side * across[0], y + 1.5 * side * across[1], magenta) < 3, "%d, %d", piece,
                              k);
            if (k == 1 && piece == 1) continue;  // the bend is wider
            ck_assert(!changed(x + 5.2 * across[0], y + 5.2 * across[1]) && !changed(x - 5.2 * across[0], y - 5.2 * across[1]));
        }
    }
    line_list_clear(&lines);
    const line_point dot = point(0.3, 0.2, 1.1, 11, 0);
    const double at[3] = {0.3, 0.2, 1.1};
    double x, y;
    ck_assert(line_list_add(&lines, &dot, 1));
    draw(NULL, &lines, NULL);
    project(at, &x, &y);
    for (int k = 0; k < 8; k++) {
        const double a = k * 0.785398, ca = cos(a), sa = sin(a);
        ck_assert(differs(rgb, x + 4 * ca, y + 4 * sa, magenta) < 3 && !changed(x + 7.6 * ca, y + 7.6 * sa));
    }
    line_list_clear(&lines);
    line_point thin[2] = {point(-1, 0, 1, 30, 0), point(1, 0, 1, 30, 0)};  // 5 cm, of 64.6 pixels a metre in the middle
    const double middle[3] = {0, 0, 1};
    thin[0].thickness = thin[1].thickness = 0.05f;
    ck_assert(line_list_add(&lines, thin, 2));
    draw(NULL, &lines, NULL);
    project(middle, &x, &y);
    ck_assert(differs(rgb, x, y, magenta) < 3 && changed(x, y + 1.2) && !changed(x, y + 4) && !changed(x, y - 4));
    line_list_free(&lines);
}
END_TEST

/// Bodies in front hide a line as far as `hidden` says; what is behind the camera is not drawn, and what goes there from the
/// front is.
START_TEST(lines_and_depth)
{
    static render_instance box = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                  .position = {0, 0, 1},
                                  .scale = {0.4f, 0.4f, 0.4f},
                                  .color = {0.2f, 0.2f, 0.2f},
                                  .id = 1};
    render_instance *boxes[MESHES] = {[MESH_BOX] = &box};
    size_t counts[MESHES] = {[MESH_BOX] = 1};
    const instance_list bodies = {.kinds = MESHES, .of = boxes, .count = counts};
    const double middle[3] = {0, 1, 1}, before[3] = {0, -1, 1};  // behind the box, in front of it
    const float hidden[] = {0, 0.5f, 1};
    double x, y;
    int seen[3];
    for (int k = 0; k < 3; k++) {
        line_list lines = {0};
        const line_point behind[2] = {point(-1, 1, 1, 7, hidden[k]), point(1, 1, 1, 7, hidden[k])};
        ck_assert(line_list_add(&lines, behind, 2));
        draw(&bodies, &lines, NULL);
        project(middle, &x, &y);
        seen[k] = 255 - differs(rgb, x, y, magenta);
        line_list_free(&lines);
    }
    ck_assert_msg(seen[0] < 120 && seen[2] > 252 && abs(2 * seen[1] - seen[0] - seen[2]) < 6, "%d %d %d", seen[0], seen[1],
                  seen[2]);
    line_list lines = {0};
    const line_point front[2] = {point(-1, -1, 1, 7, 0), point(1, -1, 1, 7, 0)};
    ck_assert(line_list_add(&lines, front, 2));
    draw(&bodies, &lines, NULL);
    project(before, &x, &y);
    ck_assert_int_lt(differs(rgb, x, y, magenta), 3);
    line_list_clear(&lines);
    double back[3];
    for (int k = 0; k < 3; k++) back[k] = camera.target[k] + 1.5 * (camera.eye[k] - camera.target[k]);
    const line_point gone[2] = {point(back[0], back[1], back[2], 7, 1), point(back[0] + 1, back[1], back[2], 7, 1)};
    const line_point through[2] = {point(0, 0, 1, 7, 1), point(back[0] + 0.5, back[1], back[2], 7, 1)};
    ck_assert(line_list_add(&lines, gone, 2));
    draw(NULL, &lines, NULL);
    ck_assert(!memcmp(rgb, plain, sizeof rgb));
    ck_assert(line_list_add(&lines, through, 2));
    draw(NULL, &lines, NULL);
    const double t = 0.5, half[3] = {t * (back[0] + 0.5), t * back[1], 1 + t * (back[2] - 1)};
    project(half, &x, &y);
    ck_assert_int_lt(differs(rgb, x, y, magenta), 3);
    line_list_free(&lines);
}
END_TEST

// ---- text

static const label white = {.position = {20, 30, 0}, .size = 20, .color = {1, 1, 1}};

/// U+2588, the full block, is as large as the font says: white there, dark around, nothing further off.
START_TEST(letters_are_where_they_should_be)
{
    label_list labels = {0};
    float width, height;
    ctn_error err;
    text_pen *const measure = text_pen_create(&err);
    ck_assert(measure != NULL);
    text_size(measure, "\u2588", 20, 0, &width, &height);
    text_pen_free(measure);
    ck_assert_msg(fabsf(width - 15.4f) < 0.1f && fabsf(height - 23.3f) < 0.1f, "%g x %g", width,
                  height);  // 1577, 2384 of 2048 units
    for (int k = 0; k < 4; k++) {
        label how = white;
        how.align[0] = (float)(k % 2), how.align[1] = (float)(k / 2), how.position[0] = 100, how.position[1] = 80;
        label_list_clear(&labels);
        ck_assert(label_list_add(&labels, &how, "%s", "\u2588"));
        draw(NULL, NULL, &labels);
        const double x = 100 - how.align[0] * width, y = 80 - how.align[1] * height;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                ck_assert_int_lt(differs(rgb, x + 2 + 0.5 * i * (width - 4), y + 3 + 0.5 * j * (height - 6), how.color), 3);
        ck_assert(changed(x - 1.5, y + 10) && changed(x + width + 1.5, y + 10));
        ck_assert(!changed(x - 6, y + 10) && !changed(x + width + 6, y + 10) && !changed(x + 8, y - 6) &&
                  !changed(x + 8, y + height + 6));
    }
    label_list_free(&labels);
}
END_TEST

/// Lines that would be too long go on in the next one, from a space on, or within a word that has none; what stands below begins
/// under them.
START_TEST(lines_are_broken)
{
    static const struct {
        const char *text;
        int lines, letters;  // of the widest line
    } of[] = {{"\u2588\u2588 \u2588\u2588 \u2588", 3, 2},
              {"\u2588\u2588\u2588\u2588\u2588", 3, 2},
              {"\u2588\n\u2588\u2588 \u2588", 3, 2},
              {"\u2588", 1, 1},
              {"\u2588\u2588", 1, 2},
              {"", 1, 0}};
    const float letter = 15.4f, line = 23.3f, most = 2.2f * letter;
    label_list labels = {0};
    ctn_error err;
    text_pen *const measure = text_pen_create(&err);
    ck_assert(measure != NULL);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        float width, height;
        text_size(measure, of[k].text, 20, most, &width, &height);
        ck_assert_msg(fabsf(width - (float)of[k].letters * letter) < 0.1f && fabsf(height - (float)of[k].lines * line) < 0.1f,
                      "%zu: %g x %g", k, width, height);
        label how = white, under = {.position = {20, 10, 0}, .size = 20, .color = {1, 0, 0}, .below = true};
        how.width = most;
        label_list_clear(&labels);
        ck_assert(label_list_add(&labels, &how, "%s", of[k].text) && label_list_add(&labels, &under, "\u2588"));
        draw(NULL, NULL, &labels);
        const double x = how.position[0] + 8, y = how.position[1] + 11;
        for (int n = 0; n < of[k].lines && *of[k].text; n++)
            ck_assert_msg(differs(rgb, x, y + n * (double)line, how.color) < 3 &&
                              !changed(x + 2.6 * letter, y + n * (double)line),
                          "%zu: line %d", k, n);
        ck_assert_int_lt(differs(rgb, x, y + of[k].lines * (double)line + 10, under.color), 3);
    }
    text_pen_free(measure);
    label_list_free(&labels);
}
END_TEST

/// A body that fills the picture in white light, about.
static instance_list white_wall(void)
{
    static render_instance box;
    static render_instance *boxes[MESHES] = {[MESH_BOX] = &box};
    static size_t counts[MESHES] = {[MESH_BOX] = 1};
    box = (render_instance){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .scale = {90, 1, 90}, .color = {1, 1, 1}, .id = 1};
    for (int k = 0; k < 3; k++) box.position[k] = (float)camera.target[k];
    return (instance_list){.kinds = MESHES, .of = boxes, .count = counts};
}

/// How many times as light as a pixel white is. [WCAG 2.1, contrast ratio]
static double contrast(double column, double row)
{
    const uint8_t *const at = rgb + 3 * ((int)row * WIDTH + (int)column);
    double light = 0.05;
    for (int k = 0; k < 3; k++) light += (const double[3]){0.2126, 0.7152, 0.0722}[k] * pow(at[k] / 255.0, 2.2);
    return 1.05 / light;
}

/// White text on a plate can be read before a white body; the plate is as large as the text and some room, and nothing without
/// text.
START_TEST(plates)
{
    const instance_list wall = white_wall();
    label_list labels = {0};
    label how = white;
    how.plate = TEXT_PLATE;
    float width, height;
    text_size(NULL, "il", 20, 0, &width, &height);
    draw(&wall, NULL, NULL);
    ck_assert_double_lt(contrast(40, 40), 2);
    memcpy(plain, rgb, sizeof rgb);
    ck_assert(label_list_add(&labels, &how, "il"));
    draw(&wall, NULL, &labels);
    const double left = how.position[0], top = how.position[1], room = label_margin(how.size);
    for (int y = (int)top; y < (int)(top + height); y++)
        for (int x = (int)left - 1; x < (int)(left + width) + 1; x++)
            ck_assert(changed(x, y) && (contrast(x, y) > 4.5 || (x > left && x < left + width)));
    ck_assert(!changed(left - room - 2, top + 9) && !changed(left + width + room + 2, top + 9) &&
              !changed(left, top - room / 2 - 2) && !changed(left, top + height + room / 2 + 2));
    label_list_clear(&labels);
    ck_assert(label_list_add(&labels, &how, "%s", ""));
    draw(&wall, NULL, &labels);
    ck_assert(!memcmp(rgb, plain, sizeof rgb));
    draw(NULL, NULL, NULL);
    memcpy(plain, rgb, sizeof rgb);
    label_list_free(&labels);
}
END_TEST

/// In space a label is at the projection of its point, and not at all behind the camera.
START_TEST(labels_in_space)
{
    label_list labels = {0};
    const double at[3] = {0.4, 0.3, 1.3};
    double x, y;
    label how = {.in_space = true, .position = {0.4f, 0.3f, 1.3f}, .align = {0.5f, 0.5f}, .size = 20, .color = {1, 1, 1}};
    ck_assert(label_list_add(&labels, &how, "\u2588"));
    draw(NULL, NULL, &labels);
    project(at, &x, &y);
    ck_assert_int_lt(differs(rgb, x, y, how.color), 3);
    ck_assert(changed(x + 8, y) && changed(x - 8, y) && !changed(x + 14, y) && !changed(x - 14, y));
    for (int k = 0; k < 3; k++) how.position[k] = (float)(camera.target[k] + 1.4 * (camera.eye[k] - camera.target[k]));
    label_list_clear(&labels);
    ck_assert(label_list_add(&labels, &how, "\u2588"));
    draw(NULL, NULL, &labels);
    ck_assert(!memcmp(rgb, plain, sizeof rgb));
    label_list_free(&labels);
}
END_TEST

/// Labels at one point stand over each other line by line, each readable, and make room for text on the picture; twice as large
/// where pixels are half as large.
START_TEST(labels_make_room)
{
    label_list labels = {0};
    const double at[3] = {0.4, 0.3, 1.3};
    const float line = 23.3f;  // of letters of 20 pixels
    double x, y;
    label how = {.in_space = true, .position = {0.4f, 0.3f, 1.3f}, .align = {0.5f, 0.5f}, .size = 20, .color = {1, 1, 1}};
    project(at, &x, &y);
    for (int k = 0; k < 3; k++) {
        const float colors[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        memcpy(how.color, colors[k], sizeof how.color);
        ck_assert(label_list_add(&labels, &how, "\u2588"));
    }
    draw(NULL, NULL, &labels);
    for (int k = 0; k < 3; k++) {  // where it is wanted, one line up, one down
        const float colors[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        ck_assert_int_lt(differs(rgb, x, y + (k == 1 ? -1 : k == 2 ? 1 : 0) * line, colors[k]), 3);
    }
    label on = white;
    on.position[0] = (float)x, on.position[1] = (float)y, on.align[0] = on.align[1] = 0.5f;
    label_list_clear(&labels);
    ck_assert(label_list_add(&labels, &how, "\u2588") && label_list_add(&labels, &on, "\u2588"));
    draw(NULL, NULL, &labels);
    ck_assert(differs(rgb, x, y, on.color) < 3 && differs(rgb, x, y - line, how.color) < 3);
    label_list_clear(&labels);
    ck_assert(label_list_add(&labels, &how, "\u2588"));
    ctn_error err;
    const instance_list nothing = {0};
    const overlay over = {.labels = &labels, .scale = 2};
    ck_assert_int_eq(renderer_draw(pen, &nothing, &camera, &around, &over, rgb, &err), CTN_OK);
    ck_assert(differs(rgb, x, y - 15, how.color) < 3 && differs(rgb, x, y + 15, how.color) < 3 && !changed(x, y - 40));
    label_list_free(&labels);
}
END_TEST

static long differing(const uint8_t *a, const uint8_t *b)
{
    long n = 0;
    for (int k = 0; k < PIXELS; k++) n += memcmp(a + 3 * k, b + 3 * k, 3) != 0;
    return n;
}

/// The same bytes each time, whatever was written before and by whichever renderer; every text is another picture; sizes are
/// crisp.
START_TEST(same_letters)
{
    static const char *const texts[] = {
        "t = 0.125 s", "t = 0.126 s", "\u03a9 \u2212 \u00e9", "two\nlines", "\xff\xc3(\xe2\x82 \xf0\x9f", ""};
    enum { TEXTS = sizeof texts / sizeof *texts };
    static uint8_t first[TEXTS][3 * PIXELS];
    const instance_list nothing = {0};
    ctn_error err;
    label_list labels = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < TEXTS; k++) {
            label_list_clear(&labels);
            ck_assert(label_list_add(&labels, &white, "%s", texts[k]));
            draw(NULL, NULL, &labels);
            if (!pass) memcpy(first[k], rgb, sizeof rgb);
            ck_assert(!memcmp(first[k], rgb, sizeof rgb));
            if (pass || !*texts[k]) continue;
            renderer *const other = renderer_create(WIDTH, HEIGHT, &err);
            const overlay over = {.labels = &labels};
            ck_assert_int_eq(renderer_draw(other, &nothing, &camera, &around, &over, rgb, &err), CTN_OK);
            ck_assert(!memcmp(first[k], rgb, sizeof rgb));
            renderer_free(other);
            for (int j = 0; j < k; j++) ck_assert_int_gt(differing(first[j], first[k]), 10);
        }
    ck_assert_int_eq(differing(first[TEXTS - 1], plain), 0);
    for (int size = 24; size < 150; size += 31) {  // crisp: upright strokes are white within a pixel and a half of their edge
        label how = white;
        how.size = (float)size, how.position[1] = 10;
        label_list_clear(&labels);
        ck_assert(label_list_add(&labels, &how, "HH"));
        draw(NULL, NULL, &labels);
        int strokes = 0;
        const int row = 10 + (int)(0.55 * size);  // between the top of the letters and their bar
        for (int x = 2; x < WIDTH - 2; x++) {
            const uint8_t *const p = rgb + 3 * (row * WIDTH + x);
            strokes += p[0] > 235 && (p[-3] < 200 || p[-6] < 200) && p[-3] <= p[0];
        }
        ck_assert_msg(strokes >= 3 && strokes <= 8, "size %d: %d edges", size, strokes);
    }
    label_list_free(&labels);
}
END_TEST

// ---- marks

static const char joints[] =
    "catena: 1\n"
    "links:\n"
    "  - {name: arm, position: [0, 0, 1.4], joint: {type: revolute, axis: [0.6, 0, 0.8], q0: 0.5},\n"
    "     mass: 2, com: [0, 0, -0.5], inertia: [0.02, 0.02, 0.01, 0, 0, 0]}\n"
    "  - {name: 'hand: left', parent: arm, position: [0, 0, -0.8], joint: {type: prismatic, axis: [1, 0, 0]},\n"
    "     mass: 1, com: [0.3, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}\n";

typedef struct {
    ctn_scene *scene;
    ctn_model *model;
    double R[18], p[6], com[3];
} pose;

static pose open_pose(void)
{
    pose x;
    ctn_error err;
    double q[2], v[2];
    ctn_totals totals;
    x.scene = ctn_scene_parse(joints, strlen(joints), "joints", &err);
    ck_assert_msg(x.scene != NULL, "%s", err.message);
    x.model = ctn_model_create(x.scene, &err);
    ctn_dynamics *const d = ctn_dynamics_create(x.model, "scalar", &err);
    ctn_model_initial_state(x.model, q, v);
    ctn_forward_kinematics(d, 1, q, x.R, x.p);
    ctn_energy_momentum(d, 1, q, v, &totals);
    memcpy(x.com, totals.com, sizeof x.com);
    ctn_dynamics_free(d);
    return x;
}

static void close_pose(pose *x)
{
    ctn_model_free(x->model);
    ctn_scene_free(x->scene);
}

/// Axes pass through their joint along the joint's axis, frames have their colours, the centre of mass is where it is, names by
/// their links.
START_TEST(marks_are_where_they_should_be)
{
    pose x = open_pose();
    line_list lines = {0};
    label_list labels = {0};
    const marks_config cfg = {.worlds = 1, .radius = 1, .seconds = 1};
    marks *const m = marks_create(x.scene, x.model, &cfg);
    ck_assert(m != NULL);
    static const float amber[3] = {1.0f, 0.72f, 0.15f}, cyan[3] = {0.25f, 0.85f, 0.95f}, black[3] = {0.05f, 0.05f, 0.06f};
    static const float red_green_blue[3][3] = {{0.92f, 0.22f, 0.20f}, {0.25f, 0.78f, 0.28f}, {0.28f, 0.48f, 1.0f}};
    double column, row;
    ck_assert(marks_place(m, 0, 0, x.R, x.p, x.com, SHOW_AXES, NULL, &lines, &labels));
    draw(NULL, &lines, NULL);
    for (int k = -1; k <= 1; k++) {
        const double turn[3] = {0.6 * 0.06 * k, 0, 1.4 + 0.8 * 0.06 * k};
        const double slide[3] = {x.p[3] + 0.06 * k * x.R[9], x.p[4] + 0.06 * k * x.R[12], x.p[5] + 0.06 * k * x.R[15]};
        project(turn, &column, &row);
        ck_assert_msg(differs(rgb, column, row, amber) < 40, "%d: %d", k, differs(rgb, column, row, amber));
        project(slide, &column, &row);
        ck_assert_msg(differs(rgb, column, row, cyan) < 40, "%d: %d", k, differs(rgb, column, row, cyan));
    }
    line_list_clear(&lines);
    ck_assert(marks_place(m, 0, 0, x.R, x.p, x.com, SHOW_FRAMES, NULL, &lines, &labels));
    draw(NULL, &lines, NULL);
    double origin[2];
    project(x.p, &origin[0], &origin[1]);
    for (int axis = 0; axis < 3; axis++) {
        const double at[3] = {x.p[0] + 0.1 * x.R[axis], x.p[1] + 0.1 * x.R[3 + axis], x.p[2] + 0.1 * x.R[6 + axis]};
        project(at, &column, &row);
        if (hypot(column - origin[0], row - origin[1]) < 6) continue;  // seen from its end, among the others
        ck_assert_msg(differs(rgb, column, row, red_green_blue[axis]) < 30, "axis %d", axis);
    }
    line_list_clear(&lines);
    ck_assert(marks_place(m, 0, 0, x.R, x.p, x.com, SHOW_COM, NULL, &lines, &labels));
    draw(NULL, &lines, NULL);
    project(x.com, &column, &row);
    ck_assert_int_lt(differs(rgb, column, row, black), 10);
    ck_assert_int_lt(differs(rgb, column + 3.5, row, white.color), 30);
    ck_assert(!changed(column + 8.5, row));
    ck_assert_uint_eq(labels.count, 0);
    ck_assert(marks_place(m, 0, 0, x.R, x.p, x.com, SHOW_NAMES, NULL, &lines, &labels));
    ck_assert(labels.count == 2 && !strcmp(labels.letters + labels.of[1].text, "hand: left"));
    for (int k = 0; k < 3; k++) ck_assert_float_eq(labels.of[1].position[k], (float)x.p[3 + k]);
    line_list_free(&lines), label_list_free(&labels), marks_free(m), close_pose(&x);
}
END_TEST

/// Contact points are at the lowest places of their shapes, where links are; arrows are as long as forces are a share of the
/// weight of their tree; what slides, what sticks and what feels nothing have colours of their own.
START_TEST(contacts_and_forces)
{
    static const char balls[] =
        "catena: 1\nground: {normal: [0.6, 0, 0.8]}\nlinks:\n"
        "  - {name: a, joint: free, mass: 2, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: sphere, radius: "
        "0.1, center: [0.3, 0, 0]}]}\n"
        "  - {name: b, joint: free, mass: 4, inertia: [1, 1, 1, 0, 0, 0], shapes: [{type: capsule, from: [0, "
        "0, 0], to: [0, 0, 1], radius: 0.2}]}\n";
    static const float green[3] = {0.2f, 0.85f, 0.35f}, red[3] = {0.98f, 0.3f, 0.2f}, grey[3] = {0.55f, 0.57f, 0.6f};
    static const double R[18] = {0, -1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, p[6] = {1, 2, 3, 4, 5, 6};
    static const double force[3] = {0.6 * 9.81, 0, 0.8 * 9.81};  // half the weight of the first tree, a quarter of the second's
    double felt[3][CTN_CONTACT_NUMBERS] = {{0}};
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(balls, strlen(balls), "balls", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    const marks_config cfg = {.worlds = 1, .radius = 2, .seconds = 1};
    marks *const m = marks_create(scene, model, &cfg);
    line_list lines = {0};
    ck_assert_int_eq(ctn_model_ncontact(model), 3);
    for (int k = 0; k < 2; k++) memcpy(felt[k] + 3, force, sizeof force), felt[k][7] = k ? CTN_SLIDES : CTN_STICKS;
    ck_assert(marks_contacts(m, R, p, felt[0], &lines));
    const double middle[3][3] = {{1, 2.3, 3}, {4, 5, 6}, {4, 5, 7}}, radius[3] = {0.1, 0.2, 0.2}, length[3] = {0.5, 0.25, 0};
    const float *const colors[3] = {green, red, grey};
    for (int k = 0; k < 3; k++) {
        const double place[3] = {middle[k][0] - 0.6 * radius[k], middle[k][1], middle[k][2] - 0.8 * radius[k]};
        double longest = 0, nearest = INFINITY;
        for (size_t i = 0; i < lines.count; i++) {
            const float *const x = lines.of[i].position;
            const double d[3] = {x[0] - place[0], x[1] - place[1], x[2] - place[2]};
            if (memcmp(lines.of[i].color, colors[k], sizeof grey)) continue;
            longest = fmax(longest, 0.6 * d[0] + 0.8 * d[2]), nearest = fmin(nearest, fabs(d[0]) + fabs(d[1]) + fabs(d[2]));
        }
        ck_assert_msg(nearest < 1e-6, "point %d is drawn %g m off", k, nearest);
        ck_assert_msg(fabs(longest - length[k]) < 1e-6, "an arrow of %g m, expected %g m", longest, length[k]);
    }
    line_list_free(&lines), marks_free(m), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A trail goes through the places that the point was at, as long as it should be; time may go back; there is room for ever.
START_TEST(trails)
{
    pose x = open_pose();
    const trail_point chosen = {1, {0.1, -0.2, 0.3}};
    const marks_config cfg = {.worlds = 2, .radius = 1, .trails = &chosen, .trail_count = 1, .seconds = 0.5};
    marks *const m = marks_create(x.scene, x.model, &cfg);
    line_list lines = {0};
    double p[6];
    const double dt = marks_trail_step(m);
    ck_assert(dt > 0 && dt < 0.005);
    for (int round = 0; round < 3; round++) {  // the third one after a new beginning
        if (round == 2) marks_clear_trails(m);
        double t = 0, last = 0;
        for (int k = 0; k * dt <= 2; k++) {
            t = k * dt;
            memcpy(p, x.p, sizeof p), p[3] = sin(t), p[4] = 0.2 * t;
            marks_note(m, 1, t, x.R, p, x.com);
            marks_note(m, 1, t + 0.3 * dt, x.R, x.p, x.com);  // too soon: passed over
        }
        t += 0.5 * dt, memcpy(p, x.p, sizeof p), p[3] = sin(t), p[4] = 0.2 * t;
        line_list_clear(&lines);
        ck_assert(marks_place(m, 1, t, x.R, p, x.com, SHOW_TRAILS, magenta, &lines, NULL));
        ck_assert_msg(lines.count > 400 && lines.count < 600, "%zu points", lines.count);
        for (size_t k = 1; k + 1 < lines.count; k++) {
            const float *const at = lines.of[k].position;
            double shift[3];
            for (int i = 0; i < 3; i++) shift[i] = x.R[9 + 3 * i] * 0.1 - x.R[10 + 3 * i] * 0.2 + x.R[11 + 3 * i] * 0.3;
            const double when = (at[1] - shift[1]) / 0.2;
            ck_assert_double_eq_tol(at[0], shift[0] + sin(when), 1e-5);
            ck_assert_double_eq_tol(at[2], shift[2] + x.p[5], 1e-5);
            ck_assert(when > t - 0.5 - 1e-3 && when < t + 1e-3 && when >= last - 1e-5);
            ck_assert_double_eq_tol(lines.of[k].color[3], 0.95 * (1 - (t - when) / 0.5), 2e-3);
            last = when;
        }
        ck_assert_double_eq_tol(last, t, 1e-4);
    }
    line_list_clear(&lines);
    ck_assert(marks_place(m, 0, 1, x.R, x.p, x.com, SHOW_TRAILS | SHOW_COM, NULL, &lines, NULL));  // the other world has none
    ck_assert_uint_eq(lines.count, 12);                                                            // three discs
    line_list_free(&lines), marks_free(m), close_pose(&x);
}
END_TEST

// ---- colours

/// viridis at ninths as its authors have it; brighter and brighter; hues that are all different.
START_TEST(scales)
{
    static const unsigned at[] = {0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e,
                                  0x1f9e89, 0x35b779, 0x6dcd59, 0xb4de2c, 0xfde725};
    float c[3], before = -1;
    for (int k = 0; k < 10; k++) {
        color_scale(k / 9.0, c);
        for (int i = 0; i < 3; i++) ck_assert_float_eq_tol(c[i], (float)((at[k] >> (16 - 8 * i)) & 255) / 255, 0.025f);
    }
    for (int k = -10; k <= 110; k++) {
        color_scale(k / 100.0, c);
        const float bright = 0.2126f * powf(c[0], 2.2f) + 0.7152f * powf(c[1], 2.2f) + 0.0722f * powf(c[2], 2.2f);
        ck_assert(k > 0 && k <= 100 ? bright > before : k <= 0 || bright == before);
        before = bright;
    }
    float hues[12][3];
    for (int k = 0; k < 12; k++) {
        color_hue(k / 12.0, hues[k]);
        for (int j = 0; j < k; j++) {
            float far = 0;
            for (int i = 0; i < 3; i++) far = fmaxf(far, fabsf(hues[k][i] - hues[j][i]));
            ck_assert_float_gt(far, 0.2f);
        }
    }
}
END_TEST

static float apart(const float *a, const float *b)
{
    float far = 0;
    for (int i = 0; i < 3; i++) far = fmaxf(far, fabsf(a[i] - b[i]));
    return far;
}

/// Links of one colour can be told from their neighbours, whether the scene says it or the world; links of several keep theirs.
START_TEST(shades)
{
    static const char text[] = "catena: 1\ndefaults: {joint: ball, density: 1}\nlinks:\n"
                               "  - {name: a, shapes: [{type: sphere, radius: 1, color: [0.8, 0.4, 0.2]}]}\n"
                               "  - {name: b, parent: a, shapes: [{type: sphere, radius: 1, color: [0.8, 0.4, 0.2]}, {type: "
                               "sphere, radius: 1, color: [0.1, 0.1, 0.1]}]}\n"
                               "  - {name: c, parent: b, shapes: [{type: sphere, radius: 1, color: [0.8, 0.4, 0.2]}, {type: "
                               "sphere, radius: 1, color: [0.1, 0.1, 0.1]}]}\n"
                               "  - {name: d, parent: a, shapes: [{type: sphere, radius: 1, color: [0.2, 0.4, 0.8]}]}\n";
    static const float said[6][3] = {{0.8f, 0.4f, 0.2f}, {0.8f, 0.4f, 0.2f}, {0.1f, 0.1f, 0.1f},
                                     {0.8f, 0.4f, 0.2f}, {0.1f, 0.1f, 0.1f}, {0.2f, 0.4f, 0.8f}};
    ctn_error err;
    instance_list bodies = {0};
    double R[36] = {0}, p[12] = {0};
    float paint[4][3];
    ctn_scene *const scene = ctn_scene_parse(text, sizeof text - 1, "shades.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    scene_shapes *const shapes = scene_shapes_create(scene, model);
    ck_assert(scene_shapes_place(shapes, R, p, 0, NULL, &bodies) && bodies.count[MESH_BALL] == 6);
    const render_instance *const of = bodies.of[MESH_BALL];
    for (int k = 0; k < 6; k++) {  // b's first and c's second are in another shade of what is said
        const float far = apart(of[k].color, said[k]);
        ck_assert_msg(k == 1 || k == 4 ? far > 0.08f && far < 0.3f : far == 0, "shape %d is %g away", k, (double)far);
    }
    for (int frozen = 0; frozen < 2; frozen++) {
        const link_paint how = {.by = COLORS_WORLD, .share = 0.3, .frozen = frozen};
        ck_assert_ptr_eq(color_links(&how, model, paint), paint);
        ck_assert(apart(paint[0], paint[1]) > 0.08f && apart(paint[1], paint[2]) > 0.08f);
        ck_assert(apart(paint[0], paint[2]) == 0 && apart(paint[1], paint[3]) == 0);
    }
    const double still[4] = {0};  // energies that are alike look alike
    const link_paint how = {.by = COLORS_ENERGY, .energy = still, .most_energy = 1};
    color_links(&how, model, paint);
    ck_assert(apart(paint[0], paint[1]) == 0);
    instance_list_free(&bodies), scene_shapes_free(shapes), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// Energies of links add up to the kinetic energy of the whole, and go with its masses.
START_TEST(energies)
{
    static const char *const scenes[] = {"humanoid", "chain10", "flying-tree"};
    char path[300];
    ctn_error err;
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", scenes[_i]);
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ctn_model *const model = ctn_model_create(scene, &err);
    ctn_dynamics *const d = ctn_dynamics_create(model, "scalar", &err);
    const int n = ctn_model_nlink(model), nv = ctn_model_nv(model);
    double *const q = malloc((size_t)ctn_model_nq(model) * sizeof *q), *const v = malloc((size_t)nv * sizeof *v);
    double *const R = malloc(17 * (size_t)n * sizeof *R), *const twist = R + 9 * n, *const energy = twist + 6 * n,
                  *const scale = energy + n;
    double p[3 * 100], sum = 0, scaled = 0;
    ck_assert_int_le(n, 100);
    ctn_totals totals;
    ctn_model_initial_state(model, q, v);
    for (int k = 0; k < nv; k++) v[k] = sin(3.7 * k + 1);
    ctn_forward_kinematics(d, 1, q, R, p), ctn_link_twists(d, 1, q, v, twist), ctn_energy_momentum(d, 1, q, v, &totals);
    link_energies(model, NULL, R, twist, energy);
    for (int i = 0; i < n; i++) sum += energy[i], scale[i] = 2;
    ck_assert_msg(fabs(sum - totals.kinetic) < 1e-10 * totals.kinetic, "%.17g, %.17g", sum, totals.kinetic);
    link_energies(model, scale, R, twist, energy);
    for (int i = 0; i < n; i++) scaled += energy[i];
    ck_assert_double_eq_tol(scaled, 2 * sum, 1e-9 * sum);
    free(q), free(v), free(R);
    ctn_dynamics_free(d), ctn_model_free(model), ctn_scene_free(scene);
}
END_TEST

/// A bar from dark to bright in the lower right corner.
START_TEST(legend)
{
    line_list lines = {0};
    label_list labels = {0};
    float c[3];
    ck_assert(legend_place("energy", 8, WIDTH, HEIGHT, 12, &lines, &labels));
    draw(NULL, &lines, &labels);
    const double x = WIDTH - 12 - 4.8, low = labels.of[0].position[1], high = low - labels.of[2].position[1];
    ck_assert(high > 0.25 * HEIGHT && low < HEIGHT - 12);
    for (int k = 1; k < 10; k++) {
        color_scale(k / 10.0, c);
        ck_assert_msg(differs(rgb, x, low - high * k / 10, c) < 8, "%d: %d", k, differs(rgb, x, low - high * k / 10, c));
    }
    ck_assert(labels.count == 4 && !strcmp(labels.letters + labels.of[1].text, "4"));
    line_list_free(&lines), label_list_free(&labels);
}
END_TEST

/// All of a legend is on its plate, and that within the picture, whatever its size; before a white body it can be read.
START_TEST(legend_has_a_plate)
{
    static const int sizes[][2] = {{WIDTH, HEIGHT}, {1280, 720}, {220, 120}, {160, 300}, {1200, 90}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const int width = sizes[n][0], height = sizes[n][1];
        line_list lines = {0};
        label_list labels = {0};
        ck_assert(legend_place("kinetic energy of links, J", 1.234e-05, width, height, 11, &lines, &labels));
        const line_point *const plate = lines.of + 1;
        const double left = plate->position[0] - plate->width / 2, right = plate->position[0] + plate->width / 2,
                     top = plate[0].position[1], bottom = plate[1].position[1];
        ck_assert_msg(left >= 0 && right <= width && top >= 0 && bottom <= height, "%d x %d: %g %g %g %g", width, height, left,
                      right, top, bottom);
        for (size_t k = 0; k < labels.count; k++) {
            const label *const l = &labels.of[k];
            float wide, high;
            text_size(NULL, labels.letters + l->text, l->size, l->width, &wide, &high);
            const double x = l->position[0] - l->align[0] * wide, y = l->position[1] - l->align[1] * high;
            ck_assert_msg(x >= left && x + wide <= right && y >= top && y + high <= bottom, "%d x %d: label %zu", width, height,
                          k);
        }
        if (!n) {
            const instance_list wall = white_wall();
            draw(&wall, &lines, &labels);
            for (int y = (int)top + 2; y < bottom - 2; y++) ck_assert_double_gt(contrast(left + 2, y), 4.5);
        }
        line_list_free(&lines), label_list_free(&labels);
    }
}
END_TEST

// ---- many worlds

static scene_extent ball(double radius) { return (scene_extent){.center = {1, 2, 3}, .radius = radius, .floor = 0}; }

/// No two balls of a grid meet, and a camera has them all just in sight, from any side.
START_TEST(grids)
{
    static const int counts[] = {1, 2, 3, 7, 60, 1000};
    const int worlds = counts[_i];
    const scene_extent one = ball(0.7);
    for (int side = 0; side < 5; side++) {
        const double aspect = side % 2 ? 0.6 : 1.7;
        camera_orbit c = camera_around(one.center, 1, aspect);
        c.azimuth = side * 1.3, c.elevation = 0.1 + 0.3 * side;
        layout_look(LAYOUT_GRID, &one, worlds, aspect, &c);
        double most = 0;
        const render_camera from = camera_on_orbit(&c);
        const matrix4 m = camera_matrix(&from, aspect);
        for (int w = 0; w < worlds; w++) {
            double x[3], y[3];
            layout_offset(LAYOUT_GRID, &one, w, worlds, x);
            for (int j = 0; j < w && side == 0 && worlds < 100; j++) {
                layout_offset(LAYOUT_GRID, &one, j, worlds, y);
                ck_assert_double_gt(hypot(x[0] - y[0], x[1] - y[1]), 1.4);
            }
            for (int k = 0; k < 200; k++) {  // points all over the ball
                const double z = 1 - 2 * (k + 0.5) / 200, r = sqrt(1 - z * z), a = 2.399963 * k;
                const double at[3] = {one.center[0] + x[0] + 0.7 * r * cos(a), one.center[1] + x[1] + 0.7 * r * sin(a),
                                      one.center[2] + 0.7 * z};
                double clip[4];
                for (int i = 0; i < 4; i++) clip[i] = m.m[i] * at[0] + m.m[4 + i] * at[1] + m.m[8 + i] * at[2] + m.m[12 + i];
                ck_assert(fabs(clip[0]) < 1.0001 * clip[3] && fabs(clip[1]) < 1.0001 * clip[3]);
                most = fmax(most, fmax(fabs(clip[0]), fabs(clip[1])) / clip[3]);
            }
        }
        ck_assert_msg(most > 0.93, "%d worlds from side %d fill %g of the picture", worlds, side, most);
    }
}
END_TEST

/// Every link of every world has an id of its own, and is seen.
START_TEST(worlds_have_ids)
{
    enum { WORLDS = 12, LINKS = 2 };
    pose x = open_pose();
    ctn_error err;
    scene_shapes *const shapes = scene_shapes_create(x.scene, x.model);
    const scene_extent one = scene_shapes_extent(shapes, x.R, x.p);
    camera_orbit above = camera_around(one.center, one.radius, (double)WIDTH / HEIGHT);
    above.elevation = 0.7;
    layout_look(LAYOUT_GRID, &one, WORLDS, (double)WIDTH / HEIGHT, &above);
    const render_camera c = camera_on_orbit(&above);
    instance_list bodies = {0};
    const float paint[LINKS][3] = {{1, 0, 0}, {0, 0, 1}};
    for (int w = 0; w < WORLDS; w++) {
        double offset[3], p[6];
        layout_offset(LAYOUT_GRID, &one, w, WORLDS, offset);
        for (int k = 0; k < 6; k++) p[k] = x.p[k] + offset[k % 3];
        ck_assert(scene_shapes_place(shapes, x.R, p, w, w % 2 ? paint : NULL, &bodies));
    }
    uint32_t *const ids = malloc(PIXELS * sizeof *ids);
    int seen[WORLDS * LINKS + 1] = {0};
    ck_assert_int_eq(renderer_ids(pen, &bodies, &c, ids, &err), CTN_OK);
    for (int k = 0; k < PIXELS; k++) {
        ck_assert_uint_le(ids[k], WORLDS * LINKS);
        seen[ids[k]]++;
    }
    for (int k = 0; k <= WORLDS * LINKS; k++) ck_assert_msg(seen[k] > 0, "id %d is not seen", k);
    ck_assert_int_eq(renderer_draw(pen, &bodies, &c, &around, NULL, rgb, &err), CTN_OK);
    for (int k = 0; k < PIXELS; k++) {  // red and blue in odd worlds only
        const uint32_t id = ids[k];
        if (!id || (id - 1) / LINKS % 2 == 0 || k % WIDTH < 1 || ids[k - 1] != id || ids[k + 1] != id || ids[k + WIDTH] != id ||
            ids[k - WIDTH] != id)
            continue;
        const uint8_t *const pixel = rgb + 3 * k;
        ck_assert_msg((id - 1) % LINKS ? pixel[2] > pixel[0] + 60 : pixel[0] > pixel[2] + 60, "id %u: %d %d %d", id, pixel[0],
                      pixel[1], pixel[2]);
    }
    free(ids), instance_list_free(&bodies), scene_shapes_free(shapes), close_pose(&x);
}
END_TEST

/// What KHR_debug has said of all that was drawn before; it does say something when there is an error.
START_TEST(opengl_has_no_complaints)
{
    ck_assert_msg(gl_errors == 0, "OpenGL reports %ld errors", gl_errors);
    if (!GLAD_GL_KHR_debug) return;
    glEnable(GL_INVALID_ENUM);
    ck_assert_int_eq(gl_errors, 1);
    ck_assert_uint_eq(glGetError(), GL_INVALID_ENUM);
    gl_errors = 0;
}
END_TEST

static bool is_there(ctn_error *err) { return context_create(err) != NULL; }

int main(void)
{
    if (!machine_has("overlay", is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("overlay");
    TCase *const t = tcase_create("overlay");
    tcase_set_timeout(t, 120);
    tcase_add_unchecked_fixture(t, setup, teardown);
    tcase_add_test(t, lines_are_where_they_should_be);
    tcase_add_test(t, lines_and_depth);
    tcase_add_test(t, letters_are_where_they_should_be);
    tcase_add_test(t, lines_are_broken);
    tcase_add_test(t, plates);
    tcase_add_test(t, labels_in_space);
    tcase_add_test(t, labels_make_room);
    tcase_add_test(t, same_letters);
    tcase_add_test(t, marks_are_where_they_should_be);
    tcase_add_test(t, contacts_and_forces);
    tcase_add_test(t, trails);
    tcase_add_test(t, scales);
    tcase_add_test(t, shades);
    tcase_add_loop_test(t, energies, 0, 3);
    tcase_add_test(t, legend);
    tcase_add_test(t, legend_has_a_plate);
    tcase_add_loop_test(t, grids, 0, 6);
    tcase_add_test(t, worlds_have_ids);
    tcase_add_test(t, opengl_has_no_complaints);
    suite_add_tcase(s, t);
    return run_suite(s);
}
