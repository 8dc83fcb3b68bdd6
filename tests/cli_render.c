/// `catena render`: files of the right size and number at exact times, movies that can be read, and what it says when something
/// is missing.
#include "render/draw/context.h"
#include "tests/command.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

/// Width and height out of a PNG file's head. [PNG specification, 11.2.2]
static void png_size(const char *path, int *width, int *height)
{
    size_t size;
    unsigned char *const data = (unsigned char *)slurp(path, &size);
    ck_assert_msg(size > 100 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8), "%s is no PNG file", path);
    *width = data[18] << 8 | data[19], *height = data[22] << 8 | data[23];
    free(data);
}

START_TEST(one_picture)
{
    outcome o = catena("render", source("scenes/double-pendulum.yaml"), "--from", "0.25", "--out", "a.png", "--size", "120x75");
    int width, height;
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "a.png: 1 picture of 120x75 by "), "%s", o.out);
    png_size("a.png", &width, &height);
    ck_assert(width == 120 && height == 75);
    outcome_free(&o);
}
END_TEST

/// From a given distance a picture depends on its time alone, not on which others are made, nor, where steps end there, on those
/// between.
START_TEST(exact_times)
{
    const char *const scene = source("scenes/double-pendulum.yaml");
    outcome o = catena("render", scene, "--from", "0.1", "--to", "0.5", "--fps", "10", "--camera", "-70,15,3", "--out",
                       "f%02d.png", "--size", "80x60", "-q");
    ck_assert_msg(o.status == 0 && !*o.out, "%s%s", o.out, o.err);
    outcome_free(&o);
    ck_assert(access("f00.png", R_OK) == 0 && access("f04.png", R_OK) == 0 && access("f05.png", R_OK) != 0);
    o = catena("render", scene, "--from", "0.3", "--camera", "-70,15,3", "--out", "b.png", "--size", "80x60", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    size_t size[3];
    char *const data[] = {slurp("f02.png", &size[0]), slurp("b.png", &size[1]), slurp("f03.png", &size[2])};
    ck_assert(size[0] == size[1] && !memcmp(data[0], data[1], size[0]));
    ck_assert(size[0] != size[2] || memcmp(data[0], data[2], size[0]) != 0);
    for (int k = 0; k < 3; k++) free(data[k]);
}
END_TEST

/// Whether a pixel is as good as white.
static bool is_white(const uint8_t *pixel) { return pixel[0] > 250 && pixel[1] > 250 && pixel[2] > 250; }

/// A sheet has the pictures in it that one by one are files, with white between them. Each has its time, in the same place; the
/// first one has the method, too, below it, and no other has.
START_TEST(sheet)
{
    enum { WIDTH = 318, HEIGHT = 238, WHOLE = 639, GUTTER = 3, TIMES = 23, METHOD = 38 };  // pixels; rows where texts end
    const char *const scene = source("scenes/double-pendulum.yaml");
    int width, height, text[4][2] = {{0}};
    outcome o =
        catena("render", scene, "--to", "0.3", "--sheet", "2x2", "--camera", "-70,15,3", "--out", "s.png", "--size", "640x480");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "s.png: 4 pictures on one of 639x479 by "), "%s", o.out);
    outcome_free(&o);
    uint8_t *const all = stbi_load("s.png", &width, &height, NULL, 3);
    ck_assert(all && width == WHOLE && height == 479);
    for (int k = 0; k < WHOLE; k++)
        for (int g = 0; g < GUTTER; g++)
            ck_assert(is_white(all + 3 * ((HEIGHT + g) * WHOLE + k)) &&
                      (k >= 479 || is_white(all + 3 * (k * WHOLE + WIDTH + g))));
    for (int place = 0; place < 4; place++) {
        char from[20];
        snprintf(from, sizeof from, "%g", 0.1 * place);
        o = catena("render", scene, "--from", from, "--camera", "-70,15,3", "--out", "one.png", "--size", "318x238", "-q");
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        uint8_t *const one = stbi_load("one.png", &width, &height, NULL, 3);
        ck_assert(one && width == WIDTH && height == HEIGHT);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const uint8_t *const cell =
                    all + 3 * ((place / 2 * (HEIGHT + GUTTER) + y) * WHOLE + place % 2 * (WIDTH + GUTTER) + x);
                if (!memcmp(cell, one + 3 * (y * WIDTH + x), 3)) continue;
                ck_assert_msg(y < METHOD, "picture %d is another one at %d, %d", place, x, y);
                text[place][y >= TIMES]++;
            }
        stbi_image_free(one);
        ck_assert_msg(text[place][0] > 60, "picture %d has no time", place);
        ck_assert_msg(place ? text[place][1] == 0 : text[place][1] > 200, "picture %d: %d pixels of a method", place,
                      text[place][1]);
    }
    stbi_image_free(all);
}
END_TEST

/// A recording shows what the scene does; a rollout's worlds differ.
START_TEST(recordings)
{
    static const char *const wanted[] = {"run.h5", "chains.h5"};
    outcome o = catena("run", source("scenes/double-pendulum.yaml"), "--duration", "0.5", "--out", "run.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("rollout", source("scenes/chain10-sampled.yaml"), "--worlds", "3", "--steps", "20", "--out", "chains.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    const char *const files[][4] = {{source("scenes/double-pendulum.yaml"), "0.3", "0", "a.png"},
                                    {wanted[0], "0.3", "0", "b.png"},
                                    {wanted[1], "0.15", "0", "c.png"},
                                    {wanted[1], "0.15", "2", "d.png"}};
    size_t size[4];
    char *data[4];
    for (int k = 0; k < 4; k++) {
        const char *const *w = files[k];
        o = catena_with(NULL, "render", w[0], "--from", w[1], "--out", w[3], "--size", "160x120", "-q", k ? "--world" : NULL,
                        w[2], NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        data[k] = slurp(w[3], &size[k]);
    }
    ck_assert(size[0] == size[1] && !memcmp(data[0], data[1], size[0]));
    ck_assert(size[2] != size[3] || memcmp(data[2], data[3], size[2]) != 0);
    for (int k = 0; k < 4; k++) free(data[k]);
    o = catena("render", "chains.h5", "--out", "e.png", "--world", "3");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "--world: chains.h5 has 3 worlds, from 0 on, found 3"), "%s", o.err);
    outcome_free(&o);
    o = catena("render", "chains.h5", "--out", "e.png", "--from", "0.5");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "--from: the recording ends at 0.4 s, found 0.5"), "%s", o.err);
    outcome_free(&o);
    o = catena("render", "chains.h5", "--out", "e.png", "--dt", "0.1");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "--dt is for scenes; chains.h5 is drawn as it was recorded"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

/// A camera of the scene by its name, of a recording too; the first one is taken without. Numbers are what they were.
START_TEST(cameras)
{
    spit("two.yaml",
         "catena: 1\nlinks:\n  - {name: a, joint: {type: revolute, axis: [0, 1, 0], v0: 3}, density: 1000, shapes: [{type: box, "
         "center: [0.5, 0, 0], size: [1, 0.1, 0.2]}]}\nintegrator: {method: rk4}\nduration: 1\n"
         "cameras: [{name: side, azimuth: 30, elevation: 20}, {name: nose, type: first-person, link: a}]\n");
    outcome o = catena("run", "two.yaml", "--out", "two.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    static const char *const ways[][2] = {{"two.yaml", NULL},   {"two.yaml", "side"}, {"two.yaml", "30,20"},
                                          {"two.yaml", "nose"}, {"two.h5", "nose"},   {"two.yaml", "30,40"}};
    size_t size[6];
    char *data[6];
    for (int k = 0; k < 6; k++) {
        o = catena_with(NULL, "render", ways[k][0], "--from", "0.5", "--out", "a.png", "--size", "80x60", "-q",
                        ways[k][1] ? "--camera" : NULL, ways[k][1], NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        data[k] = slurp("a.png", &size[k]);
    }
    static const int same[6] = {0, 0, 0, 3, 3, 5};
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < k; i++) {
            const bool equal = size[k] == size[i] && !memcmp(data[k], data[i], size[k]);
            ck_assert_msg(equal == (same[k] == same[i]), "%s and %s", ways[k][1], ways[i][1]);
        }
    for (int k = 0; k < 6; k++) free(data[k]);
    o = catena("render", "two.yaml", "--out", "a.png", "--camera", "left");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "in metres, or one of the scene's: side, nose; found 'left'"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

static const struct {
    const char *joint, *shape, *camera;
    double fills;       // of meshes the box is in sight, of cylinders balls at the ends
    const char *scene;  // its camera, which looks at the middle of the pictures; NULL: none
} fitted[] = {
    {"{type: revolute, axis: [0, 1, 0], v0: 3}", "{type: box, center: [1.5, 0, 0], size: [0.3, 0.2, 0.1], color: [1, 0, 0]}",
     NULL, 0.8, NULL},
    {"{type: revolute, axis: [0, 1, 0], v0: 3}", "{type: mesh, file: t.obj, color: [1, 0, 0]}", "40,70", 0.7, NULL},
    {"{type: prismatic, axis: [1, 0, 0], v0: 4}", "{type: sphere, radius: 0.2, color: [1, 0, 0]}", "-90,0", 0.8, NULL},
    {"{type: free, v0: [3, 1, 4, 2, 5, 1]}", "{type: capsule, from: [0, 0, 0], to: [2, 0, 0], radius: 0.1, color: [1, 0, 0]}",
     NULL, 0.8, NULL},
    {"{type: free, v0: [3, 1, 4, 2, 5, 1]}", "{type: cylinder, from: [0, 0, 0], to: [0, 0, 1], radius: 0.4, color: [1, 0, 0]}",
     "-30,-20", 0.6, NULL},
    {"{type: prismatic, axis: [1, 0, 0], v0: 4}", "{type: sphere, radius: 0.2, color: [1, 0, 0]}", NULL, 0.8,
     "{target: [0.5, 0, 0], azimuth: -90, elevation: 0}"},
    {"{type: revolute, axis: [0, 1, 0], v0: 3}", "{type: box, center: [1.5, 0, 0], size: [0.3, 0.2, 0.1], color: [1, 0, 0]}",
     NULL, 0.8, "{type: track, link: a, azimuth: -90}"},
};
enum { FITTED = sizeof fitted / sizeof *fitted };

/// Without a distance the camera is as near as it can be with all bodies in all pictures: they come close to two sides that face
/// each other, and nowhere to the edge.
START_TEST(fits)
{
    enum { WIDTH = 120, HEIGHT = 80, PICTURES = 11 };
    char scene[1000], name[20];
    int low[2] = {WIDTH, HEIGHT}, high[2] = {0, 0};
    spit("t.obj", "v 0 0 0\nv 1 0 0\nv 0 0.5 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n");
    snprintf(
        scene, sizeof scene,
        "catena: 1\nlinks:\n  - {name: a, joint: %s, density: 1000, shapes: [%s]}\nintegrator: {method: rk4, dt: 0.01}\n%s%s\n",
        fitted[_i].joint, fitted[_i].shape, fitted[_i].scene ? "camera: " : "", fitted[_i].scene ? fitted[_i].scene : "");
    spit("fits.yaml", scene);
    outcome o = catena_with(NULL, "render", "fits.yaml", "--to", "1", "--fps", "10", "--size", "120x80", "--out", "g%02d.png",
                            "-q", fitted[_i].camera ? "--camera" : NULL, fitted[_i].camera, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    for (int k = 0; k < PICTURES; k++) {
        int width, height, channels;
        snprintf(name, sizeof name, "g%02d.png", k);
        uint8_t *const rgb = stbi_load(name, &width, &height, &channels, 3);
        ck_assert(rgb && width == WIDTH && height == HEIGHT);
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const int at[2] = {i % WIDTH, i / WIDTH};
            if (rgb[3 * i] < 60 || rgb[3 * i] < 2 * rgb[3 * i + 1]) continue;
            for (int c = 0; c < 2; c++) low[c] = at[c] < low[c] ? at[c] : low[c], high[c] = at[c] > high[c] ? at[c] : high[c];
        }
        stbi_image_free(rgb);
    }
    const double across = fmax(2 * high[0] + 2 - WIDTH, WIDTH - 2 * low[0]) / WIDTH,
                 upright = fmax(2 * high[1] + 2 - HEIGHT, HEIGHT - 2 * low[1]) / HEIGHT;
    ck_assert_msg(low[0] > 0 && low[1] > 0 && high[0] < WIDTH - 1 && high[1] < HEIGHT - 1, "%d: %d to %d, %d to %d", _i, low[0],
                  high[0], low[1], high[1]);
    ck_assert_msg(fmax(across, upright) > fitted[_i].fills, "%d fills %g and %g of the picture", _i, across, upright);
}
END_TEST

/// The same pictures make the same file, byte by byte.
START_TEST(same_movie)
{
    static const char *const endings[] = {"mp4", "webm", "webp", "gif"};
    if (system("ffmpeg -version >/dev/null 2>&1")) return;
    char *data[2];
    size_t size[2];
    for (int k = 0; k < 2; k++) {
        char name[20];
        snprintf(name, sizeof name, "%d.%s", k, endings[_i]);
        outcome o = catena("render", source("scenes/double-pendulum.yaml"), "--to", "0.4", "--fps", "25", "--out", name, "--size",
                           "80x60", "-q");
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        data[k] = slurp(name, &size[k]);
    }
    ck_assert(size[0] > 1000 && size[0] == size[1] && !memcmp(data[0], data[1], size[0]));
    free(data[0]), free(data[1]);
}
END_TEST

START_TEST(movie)
{
    if (system("ffmpeg -version >/dev/null 2>&1")) {
        printf("cli_render: movies skipped: no ffmpeg\n");
        return;
    }
    outcome o = catena("render", source("scenes/double-pendulum.yaml"), "--to", "0.4", "--fps", "25", "--out", "m.mp4", "--size",
                       "81x61");
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_msg(strstr(o.out, "m.mp4: 11 pictures of 81x61"), "%s", o.out);
    outcome_free(&o);
    ck_assert_int_eq(system("ffmpeg -loglevel error -i m.mp4 out%02d.png"), 0);
    ck_assert(access("out11.png", R_OK) == 0 && access("out12.png", R_OK) != 0);
}
END_TEST

/// An array of numpy has the pixels of the pictures.
START_TEST(array)
{
    static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (3, 60, 81, 3)}";
    static const char *const files[] = {"a.npy", "a%d.png"};
    for (int k = 0; k < 2; k++) {
        outcome o = catena("render", source("scenes/double-pendulum.yaml"), "--to", "0.2", "--fps", "10", "--out", files[k],
                           "--size", "81x60");
        ck_assert_msg(o.status == 0 && strstr(o.out, ": 3 pictures of 81x60"), "%s%s", o.out, o.err);
        outcome_free(&o);
    }
    size_t size;
    char *const data = slurp("a.npy", &size);
    enum { PICTURE = 3 * 60 * 81 };
    ck_assert_uint_eq(size, 128 + 3 * PICTURE);
    ck_assert(!memcmp(data, head, sizeof head - 1) && data[127] == '\n' &&
              strspn(data + sizeof head - 1, " ") == 128 - sizeof head);
    for (int k = 0; k < 3; k++) {
        char name[20];
        int width, height;
        snprintf(name, sizeof name, "a%d.png", k);
        uint8_t *const rgb = stbi_load(name, &width, &height, NULL, 3);
        ck_assert(rgb && !memcmp(data + 128 + k * PICTURE, rgb, PICTURE));
        free(rgb);
    }
    free(data);
}
END_TEST

static const struct {
    const char *words[8];
    int status;
    const char *says;
} refused[] = {
    {{"--size", "64x48"}, 2, "--out is missing: picture.png, frames/%04d.png, movie.mp4, .webm, .webp or .gif, array.npy"},
    {{"--out", "a.jpg"}, 2, "a.jpg: unknown ending; allowed: .png, frames/%04d.png, .mp4, .webm, .webp, .gif, .npy"},
    {{"--out", "a.png", "--size", "64"}, 2, "--size: expected WIDTHxHEIGHT in pixels like 640x360, each 1 to 16384, found '64'"},
    {{"--out", "a.png", "--to", "1"}, 2, "--to: a.png is one picture, of the time --from; number the files: frame%04d.png"},
    {{"--out", "a%d.png", "--from", "2", "--to", "1"}, 2, "--to: expected a number of seconds, 2 (--from) or more, found 1"},
    {{"--out", "a.png", "--camera", "10,100"}, 2, "--camera: expected AZIMUTH,ELEVATION in degrees"},
    {{"--out", "a.png", "--camera", "0x10,20"}, 2, "--camera: expected AZIMUTH,ELEVATION in degrees"},
    {{"--out", "a.png", "--camera", "10,20,0x3"}, 2, "--camera: expected AZIMUTH,ELEVATION in degrees"},
    {{"--out", "a.png", "--camera", "10,20,3,4"}, 2, "--camera: expected AZIMUTH,ELEVATION in degrees"},
    {{"--out", "a.mp4", "--sheet", "2x2"}, 2, "--sheet makes one picture; give --out NAME.png, not a.mp4"},
    {{"--out", "a.png", "--sheet", "2x"}, 2, "--sheet: expected COLUMNSxROWS like 4x3"},
    {{"--out", "a.gif", "--fps", "60", "--to", "0.1"}, 2, "--fps: a .gif has at most 50 pictures a second, found 60"},
    {{"--out", "nowhere/deep/%d.png", "--size", "64x48", "--to", "0.1"},
     1,
     "nowhere/deep/0.png: cannot be written: No such file or directory"},
    {{"--out", "nowhere/a.png", "--size", "64x48"}, 1, "nowhere/a.png: cannot be written: No such file or directory"},
    {{"--out", "nowhere/a.mp4", "--size", "64x48"}, 1, "nowhere/a.mp4: cannot be written: No such file or directory"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(refusals)
{
    const char *const *w = refused[_i].words;
    outcome o = catena_with(NULL, "render", source("scenes/double-pendulum.yaml"), w[0], w[1], w[2], w[3], w[4], w[5], NULL);
    ck_assert_int_eq(o.status, refused[_i].status);
    ck_assert_msg(strstr(o.err, refused[_i].says), "%s", o.err);
    outcome_free(&o);
}
END_TEST

/// Files may be called what ffmpeg takes for a protocol or an option.
START_TEST(names_of_movies)
{
    static const char *const names[] = {"a:b.mp4", "-b.mp4", "a b%.gif"};
    if (system("ffmpeg -version >/dev/null 2>&1")) return;
    char option[30];
    snprintf(option, sizeof option, "--out=%s", names[_i]);
    outcome o = catena("render", source("scenes/double-pendulum.yaml"), option, "--to", "0.1", "--size", "64x48");
    ck_assert_msg(o.status == 0 && !access(names[_i], R_OK), "%s", o.err);
    outcome_free(&o);
}
END_TEST

/// Numbered pictures get their folder; a sheet has no strip at its sides that belongs to no picture.
START_TEST(folders_and_sheets)
{
    int width, height;
    outcome o = catena("render", source("scenes/double-pendulum.yaml"), "--out", "new/%d.png", "--to", "0.1", "--fps", "20",
                       "--size", "64x48");
    ck_assert_msg(o.status == 0 && !access("new/2.png", R_OK), "%s", o.err);
    outcome_free(&o);
    o = catena("render", source("scenes/double-pendulum.yaml"), "--out", "s.png", "--to", "0.1", "--sheet", "3x2", "--size",
               "200x101");
    ck_assert_msg(o.status == 0 && strstr(o.out, "s.png: 6 pictures on one of 199x100"), "%s%s", o.out, o.err);
    outcome_free(&o);
    png_size("s.png", &width, &height);
    ck_assert(width == 199 && height == 100);
}
END_TEST

/// Of a sheet that cannot be filled there is what could be drawn.
START_TEST(unfinished_sheet)
{
    outcome o = catena("render", source("scenes/chain10.yaml"), "--method", "rk4", "--dt", "0.02", "--to", "5", "--sheet", "4x2",
                       "--size", "166x82", "--out", "s.png");
    int width, height, cells;
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(sscanf(o.out, "s.png: %d pictures on one of 166x82", &cells) == 1 && cells > 1 && cells < 8, "%s", o.out);
    outcome_free(&o);
    unsigned char *const rgb = stbi_load("s.png", &width, &height, NULL, 3);
    ck_assert(rgb && width == 166 && height == 82);
    for (int k = 0; k < 8; k++) {
        const unsigned char *const middle = rgb + 3 * (size_t)((30 + 42 * (k / 4)) * width + 20 + 42 * (k % 4));
        ck_assert_int_eq(middle[0] + middle[1] + middle[2] > 0, k < cells);
    }
    stbi_image_free(rgb);
}
END_TEST

/// Without ffmpeg, without OpenGL.
START_TEST(missing)
{
    const char *const scene = source("scenes/double-pendulum.yaml");
    char *const path = strdup(getenv("PATH") ? getenv("PATH") : "");
    spit("old.mp4", "what was there");
    for (int k = 0; k < 2; k++) {  // what was there stays, what was not is not made
        setenv("PATH", "/nowhere", 1);
        outcome o = catena("render", scene, "--out", k ? "old.mp4" : "a.mp4", "--size", "64x48");
        setenv("PATH", path, 1);
        ck_assert_int_eq(o.status, 1);
        ck_assert_msg(strstr(o.err, ".mp4: movies are made by ffmpeg, which cannot be started"), "%s", o.err);
        outcome_free(&o);
    }
    ck_assert(access("a.mp4", F_OK));
    char *const old = slurp("old.mp4", NULL);
    ck_assert_str_eq(old, "what was there");
    free(old), free(path);
    setenv("CTN_GL", "vulkan", 1);
    outcome o = catena("render", scene, "--out", "a.png");
    unsetenv("CTN_GL");
    ck_assert_int_eq(o.status, 1);
    ck_assert_msg(strstr(o.err, "CTN_GL: expected egl or osmesa, found 'vulkan'"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

/// Pictures that cannot be written are reported by what was to become of them, and not counted.
START_TEST(writing_fails)
{
    const char *const scene = source("scenes/double-pendulum.yaml");
    char *const path = strdup(getenv("PATH") ? getenv("PATH") : "");
    int said = -1, counted = -1;
    for (int k = 0; k < 2; k++) {  // it fails at the end, or at once
        spit("ffmpeg", k ? "#!/bin/sh\nexit 3\n" : "#!/bin/sh\ncat >/dev/null\nexit 3\n");
        ck_assert_int_eq(chmod("ffmpeg", 0755), 0);
        char *const with = malloc(strlen(path) + 3);
        strcat(strcpy(with, ".:"), path);
        setenv("PATH", with, 1);
        outcome o = catena("render", scene, "--out", "a.mp4", "--size", "320x240", "--to", "1");  // more than a pipe holds
        setenv("PATH", path, 1);
        ck_assert_int_eq(o.status, 1);
        if (!k) ck_assert_msg(strstr(o.err, "a.mp4: ffmpeg failed after 31 pictures") != NULL, "%s", o.err);
        else ck_assert_msg(sscanf(o.err, "error: a.mp4: ffmpeg has ended after %d pictures", &said) == 1, "%s", o.err);
        if (k && sscanf(o.out, "a.mp4: %d picture", &counted) == 1) ck_assert_int_eq(counted, said);
        else ck_assert_str_eq(o.out, "");
        outcome_free(&o);
        free(with);
    }
    free(path);
    // in the program alone: messages of this test are files, too
    outcome o =
        catena_wait(program_start((const char *[]){"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh", CATENA_BINARY,
                                                   "render", scene, "--out", "a%d.png", "--size", "64x48", "--to", "1", NULL}));
    ck_assert_int_eq(o.status, 1);
    ck_assert_str_eq(o.err, "error: a0.png: cannot be written: File too large\n");
    ck_assert_str_eq(o.out, "");
    outcome_free(&o);
}
END_TEST

#ifdef LOST_CONTEXT
/// The driver is reset while it draws the sixth picture: what was drawn before is a movie.
START_TEST(lost_context)
{
    const bool movies = !system("ffmpeg -version >/dev/null 2>&1");
    const char *const scene = source("scenes/double-pendulum.yaml"), *const out = movies ? "a.mp4" : "a%02d.png";
    setenv("LD_PRELOAD", LOST_CONTEXT, 1), setenv("ASAN_OPTIONS", "verify_asan_link_order=0:intercept_tls_get_addr=0", 1);
    for (int k = 0; k < 2; k++) {  // a driver that asks nothing, first
        if (k) setenv("CTN_RESET_AFTER", "5", 1);
        outcome o = catena("render", scene, "--out", out, "--size", "160x120", "--to", "0.5", "--fps", "20", "-q");
        ck_assert_msg(o.status == k, "%s", o.err);
        ck_assert_str_eq(o.err, k ? "error: the OpenGL context is lost: the driver was reset\n" : "");
        outcome_free(&o);
        unsetenv("LD_PRELOAD");
        if (movies) ck_assert_int_eq(system("rm -f a??.png; ffmpeg -loglevel error -i a.mp4 -start_number 0 a%02d.png"), 0);
        ck_assert(!access(k ? "a04.png" : "a10.png", R_OK) && access(k ? "a05.png" : "a11.png", R_OK));
        if (!movies) ck_assert_int_eq(system("rm a??.png"), 0);
        setenv("LD_PRELOAD", LOST_CONTEXT, 1);
    }
    unsetenv("LD_PRELOAD"), unsetenv("ASAN_OPTIONS"), unsetenv("CTN_RESET_AFTER");
}
END_TEST
#endif

static bool is_there(ctn_error *err) { return context_create(err) != NULL; }

int main(void)
{
    if (!machine_has("cli_render", is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("cli render");
    TCase *const t = tcase_create("cli render");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_picture);
    tcase_add_test(t, exact_times);
    tcase_add_test(t, sheet);
    tcase_add_test(t, recordings);
    tcase_add_test(t, cameras);
    tcase_add_loop_test(t, fits, 0, FITTED);
    tcase_add_loop_test(t, same_movie, 0, 4);
    tcase_add_test(t, movie);
    tcase_add_test(t, array);
    tcase_add_loop_test(t, refusals, 0, REFUSED);
    tcase_add_test(t, missing);
    tcase_add_loop_test(t, names_of_movies, 0, 3);
    tcase_add_test(t, folders_and_sheets);
    tcase_add_test(t, unfinished_sheet);
    tcase_add_test(t, writing_fails);
#ifdef LOST_CONTEXT
    tcase_add_test(t, lost_context);
#endif
    suite_add_tcase(s, t);
    return run_suite(s);
}
