/// `catena render`: pictures and movies of a scene, without a window.
#include "cli/commands/commands.h"
#include "cli/pictures/frames.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "cli/base/progress.h"
#include "cli/pictures/composition.h"
#include "render/draw/context.h"
#include "render/draw/camera_mount.h"
#include "render/draw/pictures.h"
#include "render/draw/renderer.h"
#include "sim/base/clock.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIL_RATE = 60 };  // states a second before the first picture that the camera takes into account

typedef struct {
    frames of;
    composition composition;
    render_context *context;
    renderer *renderer;
    pictures *out;
    camera_mount camera;
    enum {
        FITS_NOT,
        FITS_DISTANCE,
        FITS
    } fits;                            // the camera is to move away until all that is drawn is in sight, or to where it is
    double shift[3];                   // m, from the middle of the worlds to what the camera looks at then
    int width, height, columns, rows;  // of what is written, in pixels and in pictures
    int cell_width, cell_height;       // pixels, of a picture
    int gutter;                        // pixels between those of a sheet
    double fps, from, to;
    uint8_t *rgb, *cell;  // what is written; one picture of a sheet
    long count;
} rendering;

static int bad_text(enum option_id option, const char *expected, const char *found)
{
    return usage_error("%s: expected %s, found '%s'", option_name(option), expected, found);
}

/// How many pictures across and down make up what is written.
static int read_sheet(const arguments *args, rendering *r)
{
    const char *const text = args->value[OPT_SHEET];
    int end = 0;
    r->columns = r->rows = 1, r->cell_width = r->width, r->cell_height = r->height;
    if (!text) return EXIT_OK;
    const int shorter = r->width < r->height ? r->width : r->height;
    r->gutter = shorter > 300 ? shorter / 150 : 2;
    const bool read = sscanf(text, "%dx%d%n", &r->columns, &r->rows, &end) == 2 && !text[end] && r->columns >= 1 && r->rows >= 1;
    if (read && r->columns <= r->width && r->rows <= r->height) {
        r->cell_width = (r->width - (r->columns - 1) * r->gutter) / r->columns;
        r->cell_height = (r->height - (r->rows - 1) * r->gutter) / r->rows;
    } else r->cell_width = 0;
    if (r->cell_width < 1 || r->cell_height < 1)
        return bad_text(OPT_SHEET, "COLUMNSxROWS like 4x3, no more than there are pixels", text);
    if (!pictures_single(args->value[OPT_OUT]))
        return usage_error("--sheet makes one picture; give --out NAME.png, not %s", args->value[OPT_OUT]);
    r->width = r->columns * (r->cell_width + r->gutter) - r->gutter;
    r->height = r->rows * (r->cell_height + r->gutter) - r->gutter;
    if (args->value[OPT_FPS])
        return usage_error("--sheet: its pictures are evenly spread from --from to --to; --fps is for movies");
    return EXIT_OK;
}

static int read_times(const arguments *args, rendering *r)
{
    const double duration = r->of.end;
    r->fps = 30, r->from = 0;
    if (!number_option(args, OPT_FPS, &r->fps) || !number_option(args, OPT_FROM, &r->from)) return EXIT_USAGE;
    if (!(r->fps > 0 && r->fps <= 1000)) return bad_text(OPT_FPS, "a number above 0, at most 1000", args->value[OPT_FPS]);
    const char *const dot = strrchr(args->value[OPT_OUT], '.');
    if (dot && !strcmp(dot, ".gif") && r->fps > 50)
        return usage_error("--fps: a .gif has at most 50 pictures a second, found %g; others are shown far too slowly", r->fps);
    if (!(r->from >= 0) || !isfinite(r->from)) return bad_text(OPT_FROM, "a number of seconds, 0 or more", args->value[OPT_FROM]);
    const long cells = (long)r->columns * r->rows;
    const bool single = cells == 1 && pictures_single(args->value[OPT_OUT]);
    r->to = single ? r->from : duration;
    if (!number_option(args, OPT_TO, &r->to)) return EXIT_USAGE;
    if (args->value[OPT_TO] && single)
        return usage_error("--to: %s is one picture, of the time --from; number the files: frame%%04d.png", args->value[OPT_OUT]);
    if (!single && duration < 0 && !args->value[OPT_TO]) return usage_error("the scene has no duration; say --to S");
    if (!(r->to >= r->from) || !isfinite(r->to))
        return usage_error("--to: expected a number of seconds, %g (--from) or more, found %g", r->from, r->to);
    if (r->of.recording && r->to > duration)
        return usage_error("%s: the recording ends at %g s, found %g", option_name(single ? OPT_FROM : OPT_TO), duration, r->to);
    if (cells > 1 && r->to <= r->from) return usage_error("--sheet: its pictures need a span; give --to more than %g", r->from);
    if (cells > 1) r->fps = (double)(cells - 1) / (r->to - r->from);
    return EXIT_OK;
}

/// Takes a camera of the scene; NULL: `standard`.
static void take_camera(rendering *r, const scene_camera *camera, const camera_orbit *standard)
{
    r->camera = camera_mount_of(camera, standard, r->composition.one.radius);
    if (!camera) r->fits = FITS;
    else if (camera->type == CAMERA_FIRST_PERSON || !isnan(camera->distance)) r->fits = FITS_NOT;
    else r->fits = camera->link < 0 && isnan(camera->target[0]) ? FITS : FITS_DISTANCE;
}

/// Of a scene seen as `standard` does: a camera of the scene by its name, or azimuth and elevation in degrees and perhaps the
/// distance in metres. Without: the scene's first, but of a grid of worlds `standard`.
static int read_camera(const arguments *args, rendering *r, const camera_orbit *standard, bool grid)
{
    const ctn_scene *const scene = r->of.s.scene;
    const char *const text = args->value[OPT_CAMERA];
    camera_choice choice;
    ctn_error err;
    take_camera(r, !text && !grid && scene->ncamera ? scene->cameras : NULL, standard);
    if (!text) return EXIT_OK;
    if (camera_choose(scene, text, &choice, &err) != CTN_OK) return status_error(&err, "");
    if (choice.camera) return take_camera(r, choice.camera, standard), EXIT_OK;
    r->camera.orbit.azimuth = choice.azimuth, r->camera.orbit.elevation = choice.elevation;
    if (!isnan(choice.distance)) r->camera.orbit.distance = choice.distance, r->fits = FITS_NOT;
    return EXIT_OK;
}

/// Grids of worlds are seen from above.
static int place_camera(const arguments *args, rendering *r, double aspect)
{
    const composition *const c = &r->composition;
    camera_orbit standard = camera_around(c->whole.center, c->whole.radius, aspect);
    const bool grid = c->layout == LAYOUT_GRID && r->of.worlds > 1;
    if (grid) standard.azimuth = -1.5707963267948966, standard.elevation = 0.65;
    return read_camera(args, r, &standard, grid);
}

static void close_rendering(rendering *r)
{
    renderer_free(r->renderer);
    context_free(r->context);
    composition_close(&r->composition);
    free(r->rgb), free(r->cell);
    frames_close(&r->of);
}

/// Where row `row` of the picture at a place of the sheet begins.
static uint8_t *cell_row(const rendering *r, long place, int row)
{
    const size_t left = (size_t)(place % r->columns) * (size_t)(r->cell_width + r->gutter),
                 top = (size_t)(place / r->columns) * (size_t)(r->cell_height + r->gutter);
    return r->rgb + 3 * ((top + (size_t)row) * (size_t)r->width + left);
}

/// White between the pictures of a sheet, black where they are to be.
static int open_memory(rendering *r)
{
    const size_t size = 3 * (size_t)r->width * (size_t)r->height;
    r->rgb = malloc(size), r->cell = malloc(3 * (size_t)r->cell_width * (size_t)r->cell_height);
    if (!r->rgb || !r->cell) return run_error("not enough memory");
    memset(r->rgb, 255, size);
    for (long place = 0; place < (long)r->columns * r->rows; place++)
        for (int row = 0; row < r->cell_height; row++) memset(cell_row(r, place, row), 0, 3 * (size_t)r->cell_width);
    return EXIT_OK;
}

/// Everything before the first picture. Returns an exit status; close_rendering is due in any case.
static int open_rendering(const arguments *args, rendering *r)
{
    ctn_error err;
    if (!args->value[OPT_OUT])
        return usage_error("--out is missing: picture.png, frames/%%04d.png, movie.mp4, .webm, .webp or .gif, array.npy");
    int status = frames_open(args, &r->of);
    if (status != EXIT_OK) return status;
    if ((status = keep_input(OPT_OUT, args->value[OPT_OUT], args->files[0], "what is drawn")) != EXIT_OK ||
        (!r->of.recording && (status = keep_scene(OPT_OUT, args->value[OPT_OUT], r->of.s.scene)) != EXIT_OK))
        return status;
    r->width = 1280, r->height = 720;
    if (!size_option(args, &r->width, &r->height)) return EXIT_USAGE;
    if ((status = read_sheet(args, r)) != EXIT_OK || (status = read_times(args, r)) != EXIT_OK) return status;
    const int width = r->cell_width, height = r->cell_height;
    if ((status = open_memory(r)) != EXIT_OK || (status = composition_open(args, &r->of, &r->composition)) != EXIT_OK ||
        (status = place_camera(args, r, (double)width / height)) != EXIT_OK)
        return status;
    if (!(r->context = context_create(&err)) || !(r->renderer = renderer_create(width, height, &err)))
        return status_error(&err, ""), EXIT_RUN;
    int meshes;
    const mesh *const mesh_list = scene_shapes_meshes(r->composition.shapes, &meshes);
    if (renderer_set_meshes(r->renderer, mesh_list, meshes, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    if (pictures_open(args->value[OPT_OUT], r->width, r->height, r->fps, &r->out, &err) == CTN_OK) return EXIT_OK;
    status = status_error(&err, "");
    return err.status == CTN_BAD_ARGUMENT ? status : EXIT_RUN;
}

/// The picture in `cell` goes to its place on the sheet; a whole sheet is written.
static ctn_status put(rendering *r, ctn_error *err)
{
    const long place = r->count % ((long)r->columns * r->rows);
    const size_t width = 3 * (size_t)r->cell_width;
    for (int row = 0; row < r->cell_height; row++) memcpy(cell_row(r, place, row), r->cell + (size_t)row * width, width);
    if (place < (long)r->columns * r->rows - 1) return CTN_OK;
    const ctn_status status = pictures_add(r->out, r->rgb, err);
    if (status != CTN_OK) r->count--;  // the one before could not be written
    return status;
}

/// What there is of a sheet that could not be filled; the rest of it stays black. Returns an exit status.
static int put_rest(rendering *r)
{
    ctn_error err;
    if (!r->count || r->count >= (long)r->columns * r->rows) return EXIT_OK;
    return pictures_add(r->out, r->rgb, &err) == CTN_OK ? EXIT_OK : (status_error(&err, ""), EXIT_RUN);
}

static ctn_status draw(rendering *r, double t, ctn_error *err)
{
    composition *const c = &r->composition;
    scenery around = {.radius = c->whole.radius, .floor = c->whole.floor};
    const overlay over = {.lines = &c->lines, .labels = &c->labels};
    double middle[3];
    c->caption.cell = r->columns * r->rows > 1 ? r->count : -1;
    ctn_status status = composition_place(c, t, r->cell_width, r->cell_height, err);
    if (status != CTN_OK) return status;
    composition_middle(c, c->of, middle);
    for (int k = 0; k < 3; k++) {  // it goes where free trees have gone since the start
        around.center[k] = c->whole.center[k] + (c->whole.travels ? c->now[k] - c->start[k] : 0);
        middle[k] += r->shift[k];
    }
    composition_first(c, c->of);
    const render_camera camera = camera_mount_at(&r->camera, c->R, c->p, middle, t);
    status = renderer_draw(r->renderer, &c->bodies, &camera, &around, &over, r->cell, err);
    return status == CTN_OK ? put(r, err) : status;
}

static long picture_count(const rendering *r)
{
    const long cells = (long)r->columns * r->rows;
    return cells > 1 ? cells : (long)floor((r->to - r->from) * r->fps + 1e-9) + 1;
}

static double picture_time(const rendering *r, long k) { return fmin(r->from + (double)k / r->fps, r->to); }

/// With some room about what is drawn.
static camera_fit begin_fit(const rendering *r)
{
    camera_orbit tighter = r->camera.orbit;
    tighter.field *= 0.92;
    return camera_fit_of(&tighter, (double)r->cell_width / r->cell_height);
}

/// Moves the camera to where the fit says.
static void end_fit(rendering *r, const camera_fit *fit)
{
    camera_orbit orbit = r->camera.orbit;
    memset(orbit.target, 0, sizeof orbit.target);
    if (r->fits == FITS) camera_fit_move(fit, &orbit);
    else camera_fit_back(fit, &orbit);
    memcpy(r->shift, orbit.target, sizeof r->shift);
    r->camera.orbit.distance = orbit.distance;
}

/// Adds the states at t that are in `f` to what the camera is to have in sight, whose target `mount` has. Returns an exit status.
static int add_fit(rendering *r, const frames *f, double t, camera_mount *mount, camera_fit *fit)
{
    double middle[3];
    composition_middle(&r->composition, f, middle);
    composition_first(&r->composition, f);
    const render_camera camera = camera_mount_at(mount, r->composition.R, r->composition.p, middle, t);
    return composition_fit(&r->composition, f, camera.target, fit) ? EXIT_OK : run_error("not enough memory");
}

/// Goes through the motion once before: for the end of the scale of energies, so that a colour means the same in all pictures,
/// and for where the camera has all of it in sight. What goes wrong on the way is reported when it is drawn. Returns an exit
/// status.
static int look_ahead(const arguments *args, rendering *r)
{
    const long all = picture_count(r);
    arguments quiet = *args;
    char worlds[16];
    frames f;
    composition *const c = &r->composition;
    ctn_error err = {0};
    const bool energies = c->colors == COLORS_ENERGY && c->most_energy <= 0;
    if (!energies && !r->fits) return EXIT_OK;
    quiet.value[OPT_QUIET] = "";  // warnings have been given
    snprintf(worlds, sizeof worlds, "%d", r->of.worlds);
    if (args->value[OPT_WORLDS]) quiet.value[OPT_WORLDS] = worlds;  // more of them may be done by now
    int status = frames_open(&quiet, &f);
    progress bar = progress_start(args->value[OPT_QUIET] != NULL);
    camera_fit fit = begin_fit(r);
    // trails of what hangs on the world go where its links have been
    const double before = c->extras.what & (SHOW_TRAILS | SHOW_COM) && !c->whole.travels ? fmin(r->from, c->extras.seconds) : 0;
    const long early = r->fits == FITS ? (long)floor(before * TRAIL_RATE) : 0;
    camera_mount mount = r->camera;
    for (long k = -early; k < all && status == EXIT_OK && !stop_asked(); k++) {
        const double t = k < 0 ? r->from + (double)k / TRAIL_RATE : picture_time(r, k);
        if (frames_at(&f, t, &err) != CTN_OK) break;
        if (energies && k >= 0) c->most_energy = fmax(c->most_energy, composition_energy(c, &f));
        if (r->fits) status = add_fit(r, &f, t, &mount, &fit);
        progress_show(&bar, "state", early + k + 1, early + all);
    }
    progress_end(&bar);
    frames_close(&f);
    if (r->fits) end_fit(r, &fit);
    return status;
}

static int render_all(rendering *r, bool quiet)
{
    const long all = picture_count(r);
    progress bar = progress_start(quiet);
    ctn_error err = {0};
    bool interrupted = false;
    ctn_status status = CTN_OK;
    for (; r->count < all && status == CTN_OK && !(interrupted = stop_asked()); r->count++) {
        if ((status = draw(r, picture_time(r, r->count), &err)) != CTN_OK) break;
        progress_show(&bar, "picture", r->count + 1, all);
    }
    progress_end(&bar);
    interrupted = interrupted || status == CTN_INTERRUPTED;
    if (status != CTN_OK && !interrupted) return status_error(&err, ""), EXIT_RUN;
    if (interrupted) return run_error("interrupted after %ld of %ld picture%s", r->count, all, plural(all));
    if (r->of.frozen_count && !quiet)
        warning(r->of.worlds > 1 ? "%d of %d worlds are frozen at the end: they are grey, where they stopped"
                                 : "the world froze: it stands where it stopped",
                r->of.frozen_count, r->of.worlds);
    return EXIT_OK;
}

static int render_main(const arguments *args)
{
    rendering r = {0};
    ctn_error err;
    const bool quiet = args->value[OPT_QUIET] != NULL;
    int status = open_rendering(args, &r);
    if (status == EXIT_OK) {
        const double start = clock_now();
        catch_signals();
        status = look_ahead(args, &r);
        if (status == EXIT_OK) status = render_all(&r, quiet);
        if (put_rest(&r) != EXIT_OK) status = EXIT_RUN;
        const bool written = pictures_close(r.out, &err) == CTN_OK;
        if (!written) status_error(&err, ""), status = EXIT_RUN;
        const double wall = clock_now() - start, span = r.count > 1 ? (double)(r.count - 1) / r.fps : 0;
        if (!quiet && r.count && written) {
            printf("%s: %ld picture%s %s %dx%d by %s\n", clean(args->value[OPT_OUT]).text, r.count, plural(r.count),
                   r.columns * r.rows > 1 ? "on one of" : "of", r.width, r.height, clean(context_name(r.context)).text);
            if (span > 0) printf("time          %.3g s for %g s of motion: %.3g times real time\n", wall, span, span / wall);
        }
    }
    close_rendering(&r);
    return status;
}

const command command_render = {
    .name = "render",
    .files = "FILE",
    .least = 1,
    .most = 1,
    .scenes = true,
    .does = "Draws a scene or a recording as it moves: pictures or a movie. Needs no display.",
    .about = "FILE is a scene, or a recording (.h5) of catena run or rollout; options of methods are for scenes.\n"
             "One world is drawn; --worlds N: so many, of a scene as catena rollout starts them; --worlds all: of a\n"
             "recording all, of a scene as many as its grids have points.\n"
             "Pictures are taken at exact times, whatever the time step. OpenGL 3.3 comes from EGL (a GPU, or Mesa\n"
             "on the CPU) or OSMesa; CTN_GL=egl or osmesa takes one of them. Movies need ffmpeg. Ctrl-C ends in\n"
             "good order: what is written can be played.\n"
             "Exit status: 0 success; 1 the world froze, it was interrupted, or something could not be drawn or\n"
             "written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_THREADS) & ~TAKES(OPT_SCHEDULE)) | TAKES(OPT_SEED) | TAKES(OPT_SHOW) | TAKES(OPT_TRAIL) |
             TAKES(OPT_TITLE) | TAKES(OPT_COLORS) | TAKES(OPT_LAYOUT) | TAKES(OPT_OUT) | TAKES(OPT_SIZE) | TAKES(OPT_FPS) |
             TAKES(OPT_FROM) | TAKES(OPT_TO) | TAKES(OPT_CAMERA) | TAKES(OPT_FLOOR) | TAKES(OPT_WORLD) | TAKES(OPT_SHEET) |
             TAKES(OPT_QUIET),
    .out = "picture.png; frames/%04d.png; movie.mp4, .webm, .webp or .gif; array.npy, of numpy",
    .examples = "  catena render scenes/chain10.yaml --from 0.5 --out chain.png\n"
                "  catena render scenes/humanoid.yaml --out jump.mp4 --size 640x360 --fps 60\n"
                "  catena render scenes/chain40.yaml --to 2 --out frames/%04d.png --camera 30,20\n"
                "  catena render scenes/humanoid.yaml --camera eyes --out jump.mp4\n"
                "  catena render scenes/chain10.yaml --sheet 4x3 --to 2 --out sheet.png\n"
                "  catena render chains.h5 --world 7 --out chain7.mp4\n"
                "  catena render scenes/iiwa14.yaml --show axes,trail:iiwa_link_7,text --colors energy --out arm.mp4\n"
                "  catena render scenes/chain10-sampled.yaml --worlds 60 --layout overlay --colors world --out fan.mp4\n",
    .main = render_main,
};
