/// World by world of each run: poses at their place, colours, marks.
#include "render/arena.h"

#include "render/fit.h"
#include "render/poses.h"
#include "sim/config.h"
#include "sim/record.h"
#include "sim/scene.h"
#include "sim/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GHOST 0.6f  // how far it is seen through
#define TOGETHER                                                                                                                 \
    0.65  // compared runs, which have colours of their own, may reach into each other's room: so they are seen larger

/// When a file was written, and which one it is: editors put new ones in place of the old.
struct file_stamp {
    struct timespec written;
    off_t size;
    ino_t file;
    int missed;  // how many looks in a row did not find it
};

static struct file_stamp stamp(const char *path)
{
    struct stat of;
    return stat(path, &of) ? (struct file_stamp){.size = -1} : (struct file_stamp){of.st_mtim, of.st_size, of.st_ino, 0};
}

// ---- numbers and places

static int number_of(const arena *a, int run, int world) { return run * a->worlds + world; }

/// Runs over each other leave the grid to the worlds; those of a single run may lie over each other, too.
static int places(const arena *a) { return !a->overlaid ? a->runs * a->worlds : a->runs > 1 ? a->worlds : 1; }
static int place_of(const arena *a, int run, int world)
{
    return !a->overlaid ? number_of(a, run, world) : a->runs > 1 ? world : 0;
}
static world_layout layout_of(const arena *a) { return places(a) > 1 ? LAYOUT_GRID : LAYOUT_OVERLAY; }

static const double *state_q(const arena *a, int run, int world)
{
    return a->view.q + (size_t)number_of(a, run, world) * (size_t)a->nq;
}

static void find_extent(arena *a) { a->extent = layout_extent(layout_of(a), &a->one, places(a)); }

// ---- opening

static bool open_scene(arena *a, const char *path, arena_configure configure, const void *context, ctn_error *err)
{
    ctn_batch_config cfg[PLAYER_RUNS];
    if (!(a->scene = a->own_scene = ctn_scene_load(path, err)) || !configure(context, a->scene, cfg, &a->runs, err) ||
        !(a->model = a->own_model = ctn_model_create(a->scene, err)) ||
        !(a->player = player_create(a->scene, a->model, cfg, a->runs, err)))
        return false;
    a->worlds = cfg->worlds;
    a->stamps = calloc((size_t)a->scene->nfile, sizeof *a->stamps);
    for (int k = 0; k < a->scene->nfile && a->stamps; k++) {
        a->stamps[k] = stamp(a->scene->files[k].path);
        if (!scene_file_stands(&a->scene->files[k])) a->stamps[k].size = -1;  // it was written since: changed at the next look
    }
    if (a->stamps && player_view_create(a->player, &a->view)) return true;
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", a->worlds, path), false;
}

static bool open_film(arena *a, const char *path, long world, ctn_error *err)
{
    if (!(a->film = film_open(path, world, err))) return false;
    a->scene = film_scene(a->film), a->model = film_model(a->film), a->worlds = film_worlds(a->film), a->runs = 1;
    if (film_view_create(a->film, &a->view)) return true;
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", a->worlds, path), false;
}

static bool open_memory(arena *a)
{
    const size_t links = (size_t)a->links + 1, poses = (size_t)a->runs * (size_t)a->worlds * links;
    a->R = calloc(9 * poses, sizeof *a->R), a->p = calloc(3 * poses, sizeof *a->p);
    a->twists = calloc(6 * links, sizeof *a->twists), a->energy = calloc(links, sizeof *a->energy);
    a->paint = calloc(links, sizeof *a->paint);
    a->shapes = scene_shapes_create(a->scene, a->model);
    return a->R && a->p && a->twists && a->energy && a->paint && a->shapes;
}

static ctn_status take_view(arena *a, ctn_error *err)
{
    if (a->film) return film_look(a->film, &a->view, err);
    player_look(a->player, &a->view);
    return CTN_OK;
}

static bool open_marks(arena *a)
{
    const marks_config cfg = {.worlds = a->runs * a->worlds, .radius = a->one.radius, .seconds = 2};
    return (a->marks = marks_create(a->scene, a->model, &cfg)) != NULL;
}

static const double *masses(const arena *a, int world) { return a->view.mass_scale + (size_t)world * (size_t)a->links; }

/// The extent of a world, and of all where they are at the beginning.
static bool open_extent(arena *a)
{
    static const double here[3] = {0};
    scene_extent *const of = malloc((size_t)a->worlds * sizeof *of);
    if (!of) return false;
    for (int w = a->worlds - 1; w >= 0; w--) {  // the first one's centre of mass is the last that is found
        world_poses(a->dyn, a->model, masses(a, w), state_q(a, 0, w), here, a->R, a->p, a->start_com);
        of[w] = scene_shapes_extent(a->shapes, a->R, a->p);
    }
    a->one = layout_union(of, a->worlds);
    free(of);
    find_extent(a);
    return true;
}

arena *arena_open(const char *path, long world, arena_configure configure, const void *context, ctn_error *err)
{
    arena *const a = calloc(1, sizeof *a);
    if (!a) return fail(err, CTN_NO_MEMORY, "not enough memory for %s", path), NULL;
    bool ok = named_hdf5(path) ? open_film(a, path, world, err) : open_scene(a, path, configure, context, err);
    if (ok) {
        a->links = ctn_model_nlink(a->model), a->nq = ctn_model_nq(a->model), a->nv = ctn_model_nv(a->model), a->ghosts = true;
        ok = (a->dyn = ctn_dynamics_create(a->model, NULL, err)) != NULL;
    }
    if (ok && (double)a->runs * a->worlds * a->links > 4294967294.0)
        ok = false, fail(err, CTN_BAD_ARGUMENT, "%s: %d worlds of %d links are more bodies than can be told apart", path,
                         a->worlds, a->links);
    if (ok && !open_memory(a)) ok = false, fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", a->worlds, path);
    ok = ok && take_view(a, err) == CTN_OK;
    if (ok && !(open_extent(a) && open_marks(a)))
        ok = false, fail(err, CTN_NO_MEMORY, "not enough memory for the marks of %d worlds", a->worlds);
    if (ok) return a;
    arena_free(a);
    return NULL;
}

void arena_free(arena *a)
{
    if (!a) return;
    player_free(a->player);
    player_view_free(&a->view);
    instance_list_free(&a->bodies), line_list_free(&a->lines), label_list_free(&a->labels);
    scene_shapes_free(a->shapes), marks_free(a->marks);
    ctn_dynamics_free(a->dyn);
    ctn_model_free(a->own_model), ctn_scene_free(a->own_scene);
    film_free(a->film);
    free(a->R), free(a->p), free(a->twists), free(a->energy), free(a->paint), free(a->stamps);
    free(a);
}

ctn_status arena_give_meshes(const arena *a, renderer *r, ctn_error *err)
{
    int count;
    const mesh *const meshes = scene_shapes_meshes(a->shapes, &count);
    return renderer_set_meshes(r, meshes, count, err);
}

// ---- poses and cameras

void arena_place(const arena *a, int run, int world, double *shift)
{
    layout_offset(layout_of(a), &a->one, place_of(a, run, world), places(a), shift);
    for (int k = 0; k < 2 && a->runs > 1 && a->worlds == 1; k++) shift[k] *= TOGETHER;
}

camera_orbit arena_camera(const arena *a, double aspect)
{
    camera_orbit c = camera_around(a->extent.center, a->extent.radius, aspect);
    if (places(a) > 1)
        c.azimuth = -1.5707963267948966, c.elevation = a->worlds > 1 ? 0.65 : 0.25;  // along the columns of the grid
    layout_look(layout_of(a), &a->one, places(a), aspect, &c);
    return c;
}

void arena_fit(const arena *a, const double *from, camera_fit *fit)
{
    fit_bodies(&a->bodies, from, 1e3 * a->extent.radius, fit);
    for (int run = 0; run < a->runs && a->runs > 1; run++) {  // their labels
        double at[3];
        arena_place(a, run, 0, at);
        layout_over(&a->one, at);
        for (int k = 0; k < 3; k++) at[k] -= from[k];
        camera_fit_ball(fit, at, 0);
    }
}

size_t arena_pose(const arena *a, arena_body b)
{
    return (size_t)number_of(a, b.run, b.world) * (size_t)a->links + (size_t)b.link;
}

arena_body arena_find(const arena *a, uint32_t id)
{
    if (!id || (size_t)id > (size_t)a->runs * (size_t)a->worlds * (size_t)a->links) return (arena_body){.link = -1};
    const int n = (int)id - 1, world = n / a->links;
    return (arena_body){world / a->worlds, world % a->worlds, n % a->links};
}

static const double *state_v(const arena *a, int run, int world)
{
    return a->view.v + (size_t)number_of(a, run, world) * (size_t)a->nv;
}

void arena_twist(const arena *a, arena_body b, double *twist)
{
    ctn_link_twists(a->dyn, 1, state_q(a, b.run, b.world), state_v(a, b.run, b.world), a->twists);
    memcpy(twist, a->twists + 6 * (size_t)b.link, 6 * sizeof *twist);
}

// ---- a picture

/// On the circle of hues: of several runs each has one, else each world.
static double share_of(const arena *a, int run, int world)
{
    return a->runs > 1 ? (double)run / a->runs : (double)world / a->worlds;
}

/// Colours of the links of a world; NULL: those of the scene.
static const float (*find_paint(arena *a, int run, int world))[3]
{
    const int number = number_of(a, run, world);
    link_paint how = {.by = a->colors, .frozen = a->view.frozen[number], .share = share_of(a, run, world), .energy = a->energy};
    if (how.by == COLORS_ENERGY && !how.frozen) {
        ctn_link_twists(a->dyn, 1, state_q(a, run, world), state_v(a, run, world), a->twists);
        link_energies(a->model, masses(a, world), a->R + 9 * arena_pose(a, (arena_body){run, world, 0}), a->twists, a->energy);
        for (int i = 0; i < a->links; i++) a->most_energy = fmax(a->most_energy, a->energy[i]);
    }
    how.most_energy = a->scale_energy > 0 ? a->scale_energy : a->most_energy;
    return color_links(&how, a->model, a->paint);
}

/// Poses of a world, moved to its place, into R and p; its centre of mass there.
static void find_poses(arena *a, int run, int world, double *com)
{
    const size_t first = arena_pose(a, (arena_body){run, world, 0});
    double shift[3];
    arena_place(a, run, world, shift);
    world_poses(a->dyn, a->model, masses(a, world), state_q(a, run, world), shift, a->R + 9 * first, a->p + 3 * first, com);
}

/// The first run's world, seen through, where another run's is.
static bool place_ghost(arena *a, int run, int world)
{
    const size_t from = arena_pose(a, (arena_body){0, world, 0});
    double here[3], there[3];
    arena_place(a, 0, world, here), arena_place(a, run, world, there);
    const float(*const paint)[3] = a->colors == COLORS_WORLD ? find_paint(a, 0, world) : NULL;
    a->bodies.fade = GHOST;
    for (int side = 1; side >= -1; side -= 2) {  // there, and back again
        for (int i = 0; i < a->links; i++)
            for (int k = 0; k < 3; k++) a->p[3 * (from + (size_t)i) + (size_t)k] += side * (there[k] - here[k]);
        if (side > 0 && !scene_shapes_place(a->shapes, a->R + 9 * from, a->p + 3 * from, SHAPES_WITHOUT_ID, paint, &a->bodies))
            return false;
    }
    return true;
}

static bool place_world(arena *a, int run, int world)
{
    const size_t first = arena_pose(a, (arena_body){run, world, 0});
    const int number = number_of(a, run, world);
    double com[3];
    find_poses(a, run, world, com);
    if (!number) memcpy(a->com, com, sizeof com);
    if (a->ghosts && !a->overlaid && run && !place_ghost(a, run, world)) return false;
    const float(*const paint)[3] = find_paint(a, run, world);
    a->bodies.fade = a->overlaid && run ? GHOST : 0;
    if (!scene_shapes_place(a->shapes, a->R + 9 * first, a->p + 3 * first, number, paint, &a->bodies)) return false;
    const unsigned show = a->worlds > 1 ? a->show & ~(unsigned)SHOW_NAMES : a->show;  // then worlds have numbers
    if (!(show & (SHOW_AXES | SHOW_FRAMES | SHOW_COM | SHOW_TRAILS | SHOW_NAMES))) return true;
    const double t = a->view.time;
    marks_note(a->marks, number, t, a->R + 9 * first, a->p + 3 * first, com);
    return marks_place(a->marks, number, t, a->R + 9 * first, a->p + 3 * first, com, show,
                       a->colors == COLORS_WORLD ? a->paint[0] : NULL, &a->lines, &a->labels);
}

/// What stands over a world, where runs have colours in that of its run.
static bool place_text(arena *a, int run, int world, const char *text)
{
    double at[3];
    float hue[3];
    arena_place(a, run, world, at);
    layout_over(&a->one, at);
    label how = label_over(at);
    color_hue(share_of(a, run, world), hue);
    for (int c = 0; c < 3 && a->runs > 1 && a->colors == COLORS_WORLD; c++) how.color[c] = 0.55f + 0.45f * hue[c];
    return label_list_add(&a->labels, &how, "%s", text);
}

/// Of several runs what each is, over each other in lines; else, where names are shown, which world of several each is.
static bool place_names(arena *a)
{
    char text[CONFIG_WORDS];
    bool ok = true;
    for (int run = 0; run < a->runs && a->runs > 1 && ok; run++) {
        config_describe(&a->view.run[run].cfg, text);
        ok = place_text(a, run, 0, text);
    }
    const bool numbers = a->show & SHOW_NAMES && !a->overlaid && a->runs == 1 && a->worlds > 1 && a->worlds <= LAYOUT_NUMBERS;
    for (int w = 0; w < a->worlds && numbers && ok; w++) {
        snprintf(text, sizeof text, "%d", a->film ? film_world(a->film, w) : w);
        ok = place_text(a, 0, w, text);
    }
    return ok;
}

ctn_status arena_look(arena *a, ctn_error *err)
{
    const ctn_status status = take_view(a, err);
    if (status != CTN_OK) return status;
    instance_list_clear(&a->bodies), line_list_clear(&a->lines), label_list_clear(&a->labels);
    bool ok = true;
    for (int n = 0; n < a->runs * a->worlds && ok; n++) ok = place_world(a, n / a->worlds, n % a->worlds);
    ok = ok && place_names(a);
    find_extent(a);
    double shift[3];
    arena_place(a, 0, 0, shift);
    for (int k = 0; k < 3 && a->one.travels; k++) a->extent.center[k] += a->com[k] - shift[k] - a->start_com[k];
    return ok ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %d links", a->runs * a->worlds, a->links);
}

void arena_mark(arena *a, arena_body b)
{
    const uint32_t id = (uint32_t)arena_pose(a, b) + 1;
    for (int k = 0; k < a->bodies.kinds; k++)
        for (size_t n = 0; n < a->bodies.count[k]; n++)
            for (int c = 0; c < 3 && a->bodies.of[k][n].id == id; c++)
                a->bodies.of[k][n].color[c] = 0.35f * a->bodies.of[k][n].color[c] + (c < 2 ? 0.65f : 0.1f);
}

void arena_overlay(arena *a, bool overlaid)
{
    if (a->overlaid != overlaid) marks_clear_trails(a->marks);  // they are where the worlds were
    a->overlaid = overlaid;
}

bool arena_changed(arena *a)
{
    enum { GONE = 6 };  // looks; before that it may be between two forms
    bool changed = false;
    for (int k = 0; a->stamps && k < a->scene->nfile; k++) {
        const struct file_stamp now = stamp(a->scene->files[k].path), then = a->stamps[k];
        if (now.size < 0) {
            changed = changed || ++a->stamps[k].missed == GONE;
            continue;
        }
        a->stamps[k].missed = 0;
        if (now.size == then.size && now.file == then.file && now.written.tv_sec == then.written.tv_sec &&
            now.written.tv_nsec == then.written.tv_nsec)
            continue;
        a->stamps[k] = now, changed = true;
    }
    return changed;
}

// ---- the clock

void arena_run_on(arena *a, bool running)
{
    if (a->film) film_run_on(a->film, running);
    else player_run_on(a->player, running);
}

void arena_speed(arena *a, double times)
{
    if (a->film) film_speed(a->film, times);
    else player_speed(a->player, times);
}

void arena_steps(arena *a, int steps)
{
    if (a->film) film_steps(a->film, steps);
    else player_steps(a->player, steps);
}

void arena_reset(arena *a)
{
    double first, last;
    marks_clear_trails(a->marks);
    if (!a->film) return player_reset(a->player);
    film_range(a->film, &first, &last);
    film_seek(a->film, first);
}

void arena_seek(arena *a, double time)
{
    if (a->film) film_seek(a->film, time);
}
