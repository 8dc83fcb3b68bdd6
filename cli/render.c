/// `catena render`: pictures and movies of a scene, without a window.
#include "cli/commands.h"
#include "cli/frames.h"
#include "cli/message.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "render/context.h"
#include "render/mount.h"
#include "render/pictures.h"
#include "render/renderer.h"
#include "sim/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    frames of;
    ctn_dynamics *dyn;
    render_context *context;
    renderer *renderer;
    pictures *out;
    scene_shapes *shapes;
    instance_list bodies;
    scene_extent extent;
    camera_mount camera;
    int width, height, columns, rows;  // of what is written, in pixels and in pictures
    double fps, from, to;
    ctn_totals start;     // of the first state
    double *R, *p;        // poses of the state to be drawn
    uint8_t *rgb, *cell;  // what is written; one picture of a sheet
    long count;
} rendering;

static int bad_text(enum option_id option, const char *expected, const char *found)
{
    return usage_error("%s: expected %s, found '%s'", option_name(option), expected, found);
}

static int read_size(const arguments *args, rendering *r)
{
    const char *const text = args->value[OPT_SIZE];
    int end = 0;
    r->width = 1280, r->height = 720;
    if (!text) return EXIT_OK;
    if (sscanf(text, "%dx%d%n", &r->width, &r->height, &end) < 2 || text[end] || r->width < 1 || r->height < 1 ||
        r->width > 16384 || r->height > 16384)
        return bad_text(OPT_SIZE, "WIDTHxHEIGHT in pixels like 640x360, each 1 to 16384", text);
    return EXIT_OK;
}

/// How many pictures across and down make up what is written.
static int read_sheet(const arguments *args, rendering *r)
{
    const char *const text = args->value[OPT_SHEET];
    int end = 0;
    r->columns = r->rows = 1;
    if (!text) return EXIT_OK;
    if (sscanf(text, "%dx%d%n", &r->columns, &r->rows, &end) < 2 || text[end] || r->columns < 1 || r->rows < 1 ||
        r->columns > r->width || r->rows > r->height)
        return bad_text(OPT_SHEET, "COLUMNSxROWS like 4x3, no more than there are pixels", text);
    if (!pictures_single(args->value[OPT_OUT]))
        return usage_error("--sheet makes one picture; give --out NAME.png, not %s", args->value[OPT_OUT]);
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

/// The names of the scene's cameras, after "or one of the scene's: "; cut where they are too many.
static void list_cameras(const ctn_scene *scene, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int k = 0; k < scene->ncamera && used < size; k++)
        if (scene->cameras[k].name)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used ? ", " : ", or one of the scene's: ", scene->cameras[k].name);
}

/// A camera of the scene by its name, or azimuth and elevation in degrees and perhaps the distance in metres. Without: the scene's first.
static int read_camera(const arguments *args, rendering *r)
{
    const ctn_scene *const scene = r->of.s.scene;
    const char *const text = args->value[OPT_CAMERA];
    const camera_orbit standard =
        camera_around(r->extent.center, r->extent.radius, (double)(r->width / r->columns) / (r->height / r->rows));
    double azimuth, elevation, distance;
    int end = 0, all = 0;
    r->camera = camera_mount_of(!text && scene->ncamera ? scene->cameras : NULL, &standard, r->extent.radius);
    if (!text) return EXIT_OK;
    for (int k = 0; k < scene->ncamera; k++)
        if (scene->cameras[k].name && !strcmp(scene->cameras[k].name, text)) {
            r->camera = camera_mount_of(&scene->cameras[k], &standard, r->extent.radius);
            return EXIT_OK;
        }
    const int n = sscanf(text, "%lf,%lf%n,%lf%n", &azimuth, &elevation, &end, &distance, &all);
    if (n < 2 || text[n == 3 ? all : end] || !isfinite(azimuth) || !(fabs(elevation) <= 90) ||
        (n == 3 && !(distance > 0 && isfinite(distance)))) {
        char names[200];
        list_cameras(scene, names, sizeof names);
        return usage_error(
            "--camera: expected AZIMUTH,ELEVATION in degrees, elevation -90 to 90, and perhaps ,DISTANCE in metres%s; "
            "found '%s'",
            names, text);
    }
    const double degree = 3.14159265358979323846 / 180;
    r->camera.orbit.azimuth = azimuth * degree, r->camera.orbit.elevation = elevation * degree;
    if (n == 3) r->camera.orbit.distance = distance;
    return EXIT_OK;
}

static void close_rendering(rendering *r)
{
    renderer_free(r->renderer);
    context_free(r->context);
    scene_shapes_free(r->shapes);
    instance_list_free(&r->bodies);
    ctn_dynamics_free(r->dyn);
    free(r->R), free(r->p), free(r->rgb), free(r->cell);
    frames_close(&r->of);
}

static int open_memory(rendering *r)
{
    const size_t n = (size_t)ctn_model_nlink(r->of.s.model) + 1;
    r->rgb = calloc(3 * (size_t)r->width, (size_t)r->height), r->cell = malloc(3 * (size_t)r->width * (size_t)r->height);
    r->R = calloc(9 * n, sizeof *r->R), r->p = calloc(3 * n, sizeof *r->p);
    r->shapes = scene_shapes_create(r->of.s.scene, r->of.s.model);
    return r->rgb && r->cell && r->R && r->p && r->shapes ? EXIT_OK : run_error("not enough memory");
}

/// Everything before the first picture. Returns an exit status; close_rendering is due in any case.
static int open_rendering(const arguments *args, rendering *r)
{
    ctn_error err;
    if (!args->value[OPT_OUT]) return usage_error("--out is missing: picture.png, frames/%%04d.png, movie.mp4, .webm or .gif");
    int status = frames_open(args, &r->of);
    if (status != EXIT_OK) return status;
    if ((status = read_size(args, r)) != EXIT_OK || (status = read_sheet(args, r)) != EXIT_OK ||
        (status = read_times(args, r)) != EXIT_OK)
        return status;
    const int width = r->width / r->columns, height = r->height / r->rows;
    if (!(r->dyn = ctn_dynamics_create(r->of.s.model, "scalar", &err))) return status_error(&err, "");
    if ((status = open_memory(r)) != EXIT_OK) return status;
    ctn_forward_kinematics(r->dyn, 1, r->of.q1, r->R, r->p);
    ctn_energy_momentum(r->dyn, 1, r->of.q1, r->of.v1, &r->start);
    r->extent = scene_shapes_extent(r->shapes, r->R, r->p);
    if ((status = read_camera(args, r)) != EXIT_OK) return status;
    if (!(r->context = context_create(&err)) || !(r->renderer = renderer_create(width, height, &err)))
        return status_error(&err, ""), EXIT_RUN;
    int meshes;
    const mesh *const mesh_list = scene_shapes_meshes(r->shapes, &meshes);
    if (renderer_set_meshes(r->renderer, mesh_list, meshes, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    if (pictures_open(args->value[OPT_OUT], r->width, r->height, r->fps, &r->out, &err) == CTN_OK) return EXIT_OK;
    status = status_error(&err, "");
    return err.status == CTN_BAD_ARGUMENT ? status : EXIT_RUN;
}

/// The middle of the scene: it goes where free trees have gone since the start.
static void find_middle(rendering *r, double *middle)
{
    ctn_totals now;
    memcpy(middle, r->extent.center, sizeof r->extent.center);
    if (!r->extent.travels) return;
    ctn_energy_momentum(r->dyn, 1, r->of.q, r->of.v, &now);
    for (int k = 0; k < 3; k++) middle[k] += now.com[k] - r->start.com[k];
}

/// The picture in `cell` goes to its place on the sheet; a whole sheet is written.
static ctn_status put(rendering *r, ctn_error *err)
{
    const long place = r->count % ((long)r->columns * r->rows);
    const size_t width = (size_t)(r->width / r->columns), height = (size_t)(r->height / r->rows);
    const size_t left = (size_t)(place % r->columns) * width, top = (size_t)(place / r->columns) * height;
    for (size_t row = 0; row < height; row++)
        memcpy(r->rgb + 3 * ((top + row) * (size_t)r->width + left), r->cell + 3 * row * width, 3 * width);
    return place == (long)r->columns * r->rows - 1 ? pictures_add(r->out, r->rgb, err) : CTN_OK;
}

static ctn_status draw(rendering *r, double t, ctn_error *err)
{
    scenery around = {.radius = r->extent.radius, .floor = r->extent.floor};
    ctn_forward_kinematics(r->dyn, 1, r->of.q, r->R, r->p);
    instance_list_clear(&r->bodies);
    if (!scene_shapes_place(r->shapes, r->R, r->p, &r->bodies))
        return fail(err, CTN_NO_MEMORY, "not enough memory for %d links", ctn_model_nlink(r->of.s.model));
    find_middle(r, around.center);
    const render_camera camera = camera_mount_at(&r->camera, r->R, r->p, around.center, t);
    const ctn_status status = renderer_draw(r->renderer, &r->bodies, &camera, &around, r->cell, err);
    return status == CTN_OK ? put(r, err) : status;
}

static int render_all(rendering *r, bool quiet)
{
    const long cells = (long)r->columns * r->rows, all = cells > 1 ? cells : (long)floor((r->to - r->from) * r->fps + 1e-9) + 1;
    progress bar = progress_start(quiet);
    ctn_error err = {0};
    bool interrupted = false;
    ctn_status status = CTN_OK;
    catch_signals();
    for (; r->count < all && status == CTN_OK && !(interrupted = stop_asked()); r->count++) {
        const double t = fmin(r->from + (double)r->count / r->fps, r->to);
        if ((status = frames_at(&r->of, t, &err)) != CTN_OK || (status = draw(r, t, &err)) != CTN_OK) break;
        progress_show(&bar, "picture", r->count + 1, all);
    }
    progress_end(&bar);
    if (status != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    if (interrupted) return run_error("interrupted after %ld of %ld pictures", r->count, all);
    return EXIT_OK;
}

static int render_main(const arguments *args)
{
    rendering r = {0};
    ctn_error err;
    const bool quiet = args->value[OPT_QUIET] != NULL;
    int status = open_rendering(args, &r);
    if (status == EXIT_OK) {
        const double start = wall_clock();
        status = render_all(&r, quiet);
        if (pictures_close(r.out, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
        const double wall = wall_clock() - start, span = r.count > 1 ? (double)(r.count - 1) / r.fps : 0;
        if (!quiet && r.count) {
            printf("%s: %ld picture%s %s %dx%d by %s\n", args->value[OPT_OUT], r.count, r.count == 1 ? "" : "s",
                   r.columns * r.rows > 1 ? "on one of" : "of", r.width, r.height, context_name(r.context));
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
    .does = "Draws a scene or a recording as it moves: pictures or a movie. Needs no display.",
    .about = "FILE is a scene, or a recording (.h5) of catena run or rollout, of which one world is drawn;\n"
             "options of methods are for scenes.\n"
             "Pictures are taken at exact times, whatever the time step. OpenGL 3.3 comes from EGL (a GPU, or Mesa\n"
             "on the CPU) or OSMesa; CTN_GL=egl or osmesa takes one of them. Movies need ffmpeg. Ctrl-C ends in\n"
             "good order: what is written can be played.\n"
             "Exit status: 0 success; 1 the world froze, it was interrupted, or something could not be drawn or\n"
             "written; 2 bad usage or a bad scene.\n",
    .takes = (TAKES_METHOD & ~TAKES(OPT_WORLDS) & ~TAKES(OPT_THREADS) & ~TAKES(OPT_SCHEDULE)) | TAKES(OPT_OUT) | TAKES(OPT_SIZE) |
             TAKES(OPT_FPS) | TAKES(OPT_FROM) | TAKES(OPT_TO) | TAKES(OPT_CAMERA) | TAKES(OPT_WORLD) | TAKES(OPT_SHEET) |
             TAKES(OPT_QUIET),
    .out = "picture.png; frames/%04d.png; movie.mp4, .webm or .gif",
    .examples = "  catena render scenes/chain10.yaml --from 0.5 --out chain.png\n"
                "  catena render scenes/humanoid.yaml --out jump.mp4 --size 640x360 --fps 60\n"
                "  catena render scenes/chain40.yaml --to 2 --out frames/%04d.png --camera 30,20\n"
                "  catena render scenes/humanoid.yaml --camera eyes --out jump.mp4\n"
                "  catena render scenes/chain10.yaml --sheet 4x3 --to 2 --out sheet.png\n"
                "  catena render chains.h5 --world 7 --out chain7.mp4\n",
    .main = render_main,
};
