/// World by world of each run: poses at their place, colours, marks.
#include "render/view/exhibit.h"

#include "render/draw/fit.h"
#include "render/draw/poses.h"
#include "render/draw/vectors.h"
#include "sim/base/config.h"
#include "sim/record/record.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"
#include "sim/model/step_limit.h"

#include <catena/contact.h>
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

static int number_of(const exhibit *e, int run, int world) { return run * e->worlds + world; }

/// Runs over each other leave the grid to the worlds; those of a single run may lie over each other, too.
static int places(const exhibit *e) { return !e->overlaid ? e->runs * e->worlds : e->runs > 1 ? e->worlds : 1; }
static int place_of(const exhibit *e, int run, int world)
{
    return !e->overlaid ? number_of(e, run, world) : e->runs > 1 ? world : 0;
}
static world_layout layout_of(const exhibit *e) { return places(e) > 1 ? LAYOUT_GRID : LAYOUT_OVERLAY; }

static const double *state_q(const exhibit *e, int run, int world)
{
    return e->view.q + (size_t)number_of(e, run, world) * (size_t)e->nq;
}

static void find_extent(exhibit *e) { e->extent = layout_extent(layout_of(e), &e->one, places(e)); }

// ---- opening

static bool open_scene(exhibit *e, const char *path, exhibit_configure configure, const exhibit_guide *guide, const void *context,
                       ctn_error *err)
{
    ctn_batch_config cfg[PLAYER_RUNS];
    if (!(e->scene = e->own_scene = ctn_scene_load(path, err)) || !configure(context, e->scene, cfg, &e->runs, err) ||
        !(e->model = e->own_model = ctn_model_create(e->scene, err)) ||
        (guide && !guide->open(context, e->scene, e->model, cfg, &e->steer, err)))
        return false;
    e->guide = guide;
    if (!(e->player = player_create(e->scene, e->model, cfg, e->runs, guide ? &e->steer : NULL, err))) return false;
    for (int k = 0; k < e->runs; k++)
        if (!warn_of_stiffness(e->own_scene, e->model, &cfg[k]))
            return fail(err, CTN_NO_MEMORY, "not enough memory for the warnings of %s", path), false;
    e->worlds = cfg->worlds;
    e->stamps = calloc((size_t)e->scene->nfile, sizeof *e->stamps);
    for (int k = 0; k < e->scene->nfile && e->stamps; k++) {
        e->stamps[k] = stamp(e->scene->files[k].path);
        if (!scene_file_stands(&e->scene->files[k])) e->stamps[k].size = -1;  // it was written since: changed at the next look
    }
    if (e->stamps && player_view_create(e->player, &e->view)) return true;
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", e->worlds, path), false;
}

static bool open_film(exhibit *e, const char *path, long world, ctn_error *err)
{
    if (!(e->film = film_open(path, world, err))) return false;
    e->scene = film_scene(e->film), e->model = film_model(e->film), e->worlds = film_worlds(e->film), e->runs = 1;
    if (film_view_create(e->film, &e->view)) return true;
    return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", e->worlds, path), false;
}

static bool open_memory(exhibit *e)
{
    const size_t links = (size_t)e->links + 1, poses = (size_t)e->runs * (size_t)e->worlds * links;
    e->R = calloc(9 * poses, sizeof *e->R), e->p = calloc(3 * poses, sizeof *e->p);
    e->twists = calloc(6 * links, sizeof *e->twists), e->energy = calloc(links, sizeof *e->energy);
    e->paint = calloc(links, sizeof *e->paint);
    e->shapes = scene_shapes_create(e->scene, e->model);
    return e->R && e->p && e->twists && e->energy && e->paint && e->shapes &&
           scene_shapes_place_fixed(e->shapes, (const double[3]){0}, &e->fixed);
}

static ctn_status take_view(exhibit *e, ctn_error *err)
{
    if (e->film) return film_look(e->film, &e->view, err);
    player_look(e->player, &e->view);
    return CTN_OK;
}

static bool open_marks(exhibit *e)
{
    const marks_config cfg = {.worlds = e->runs * e->worlds, .radius = e->one.radius, .seconds = 2};
    return (e->marks = marks_create(e->scene, e->model, &cfg)) != NULL;
}

static const double *masses(const exhibit *e, int world) { return e->view.mass_scale + (size_t)world * (size_t)e->links; }

/// The extent of a world, and of all where they are at the beginning.
static bool open_extent(exhibit *e)
{
    static const double here[3] = {0};
    scene_extent *const of = malloc((size_t)e->worlds * sizeof *of);
    if (!of) return false;
    for (int w = e->worlds - 1; w >= 0; w--) {  // the first one's centre of mass is the last that is found
        world_poses(e->dyn, e->model, masses(e, w), state_q(e, 0, w), here, e->R, e->p, e->start_com);
        of[w] = scene_shapes_extent(e->shapes, e->R, e->p);
    }
    e->one = layout_union(of, e->worlds);
    world_followed(e->scene, e->model, e->one.radius, here, e->start_com, e->start);
    free(of);
    find_extent(e);
    return true;
}

exhibit *exhibit_open(const char *path, long world, exhibit_configure configure, const exhibit_guide *guide, const void *context,
                      ctn_error *err)
{
    exhibit *const e = calloc(1, sizeof *e);
    if (!e) return fail(err, CTN_NO_MEMORY, "not enough memory for %s", path), NULL;
    bool ok = named_hdf5(path) ? open_film(e, path, world, err) : open_scene(e, path, configure, guide, context, err);
    if (ok) {
        e->links = ctn_model_nlink(e->model), e->nq = ctn_model_nq(e->model), e->nv = ctn_model_nv(e->model), e->ghosts = true;
        ok = (e->dyn = ctn_dynamics_create(e->model, NULL, err)) != NULL;
    }
    if (ok && (double)e->runs * e->worlds * e->links > 4294967294.0)
        ok = false, fail(err, CTN_BAD_ARGUMENT, "%s: %d worlds of %d links are more bodies than can be told apart", path,
                         e->worlds, e->links);
    if (ok && !open_memory(e)) ok = false, fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", e->worlds, path);
    ok = ok && take_view(e, err) == CTN_OK;
    if (ok && !(open_extent(e) && open_marks(e)))
        ok = false, fail(err, CTN_NO_MEMORY, "not enough memory for the marks of %d worlds", e->worlds);
    if (ok) return e;
    exhibit_free(e);
    return NULL;
}

void exhibit_free(exhibit *e)
{
    if (!e) return;
    player_free(e->player);
    if (e->guide) e->guide->close(&e->steer);
    player_view_free(&e->view);
    instance_list_free(&e->bodies), instance_list_free(&e->fixed), line_list_free(&e->lines), label_list_free(&e->labels);
    scene_shapes_free(e->shapes), marks_free(e->marks);
    ctn_dynamics_free(e->dyn);
    ctn_model_free(e->own_model), ctn_scene_free(e->own_scene);
    film_free(e->film);
    free(e->R), free(e->p), free(e->twists), free(e->energy), free(e->paint), free(e->stamps);
    free(e);
}

ctn_status exhibit_give_meshes(const exhibit *e, renderer *r, ctn_error *err)
{
    int count;
    const mesh *const meshes = scene_shapes_meshes(e->shapes, &count);
    return renderer_set_meshes(r, meshes, count, err);
}

// ---- poses and cameras

void exhibit_place(const exhibit *e, int run, int world, double *shift)
{
    layout_offset(layout_of(e), &e->one, place_of(e, run, world), places(e), shift);
    for (int k = 0; k < 2 && e->runs > 1 && e->worlds == 1; k++) shift[k] *= TOGETHER;
}

camera_orbit exhibit_camera(const exhibit *e, double aspect)
{
    camera_orbit c = camera_around(e->extent.center, e->extent.radius, aspect);
    if (places(e) > 1)
        c.azimuth = -1.5707963267948966, c.elevation = e->worlds > 1 ? 0.65 : 0.25;  // along the columns of the grid
    layout_look(layout_of(e), &e->one, places(e), aspect, &c);
    return c;
}

void exhibit_fit(const exhibit *e, const double *from, camera_fit *fit)
{
    const double most = 1e3 * e->extent.radius;  // what flies off is let go
    fit_bodies(&e->bodies, from, most, fit);
    for (int n = 0; n < e->runs * e->worlds; n++) {
        const size_t first = (size_t)n * (size_t)e->links;
        double shift[3];
        exhibit_place(e, n / e->worlds, n % e->worlds, shift);
        const scene_reach reach = scene_shapes_reach(e->shapes, e->R + 9 * first, e->p + 3 * first, shift);
        const double way[3] = {reach.center[0] - from[0], reach.center[1] - from[1], reach.center[2] - from[2]};
        if (vector_length(way) <= most && reach.radius <= most) fit_surroundings(&e->fixed, &reach, shift, from, fit);
    }
    for (int run = 0; run < e->runs && e->runs > 1; run++) {  // their labels
        double at[3];
        exhibit_place(e, run, 0, at);
        layout_over(&e->one, at);
        for (int k = 0; k < 3; k++) at[k] -= from[k];
        camera_fit_ball(fit, at, 0);
    }
}

size_t exhibit_pose(const exhibit *e, exhibit_body b)
{
    return (size_t)number_of(e, b.run, b.world) * (size_t)e->links + (size_t)b.link;
}

exhibit_body exhibit_find(const exhibit *e, uint32_t id)
{
    if (!id || (size_t)id > (size_t)e->runs * (size_t)e->worlds * (size_t)e->links) return (exhibit_body){.link = -1};
    const int n = (int)id - 1, world = n / e->links;
    return (exhibit_body){world / e->worlds, world % e->worlds, n % e->links};
}

static const double *state_v(const exhibit *e, int run, int world)
{
    return e->view.v + (size_t)number_of(e, run, world) * (size_t)e->nv;
}

void exhibit_twist(const exhibit *e, exhibit_body b, double *twist)
{
    ctn_link_twists(e->dyn, 1, state_q(e, b.run, b.world), state_v(e, b.run, b.world), e->twists);
    memcpy(twist, e->twists + 6 * (size_t)b.link, 6 * sizeof *twist);
}

// ---- a picture

/// On the circle of hues: of several runs each has one, else each world.
static double share_of(const exhibit *e, int run, int world)
{
    return e->runs > 1 ? (double)run / e->runs : (double)world / e->worlds;
}

/// Colours of the links of a world; NULL: those of the scene.
static const float (*find_paint(exhibit *e, int run, int world))[3]
{
    const int number = number_of(e, run, world);
    link_paint how = {.by = e->colors, .frozen = e->view.frozen[number], .share = share_of(e, run, world), .energy = e->energy};
    if (how.by == COLORS_ENERGY && !how.frozen) {
        ctn_link_twists(e->dyn, 1, state_q(e, run, world), state_v(e, run, world), e->twists);
        link_energies(e->model, masses(e, world), e->R + 9 * exhibit_pose(e, (exhibit_body){run, world, 0}), e->twists,
                      e->energy);
        for (int i = 0; i < e->links; i++) e->most_energy = fmax(e->most_energy, e->energy[i]);
    }
    how.most_energy = e->scale_energy > 0 ? e->scale_energy : e->most_energy;
    return color_links(&how, e->model, e->paint);
}

/// Poses of a world, moved to its place, into R and p; its centre of mass there.
static void find_poses(exhibit *e, int run, int world, double *com)
{
    const size_t first = exhibit_pose(e, (exhibit_body){run, world, 0});
    double shift[3];
    exhibit_place(e, run, world, shift);
    world_poses(e->dyn, e->model, masses(e, world), state_q(e, run, world), shift, e->R + 9 * first, e->p + 3 * first, com);
}

/// The first run's world, seen through, where another run's is.
static bool place_ghost(exhibit *e, int run, int world)
{
    const size_t from = exhibit_pose(e, (exhibit_body){0, world, 0});
    double here[3], there[3];
    exhibit_place(e, 0, world, here), exhibit_place(e, run, world, there);
    const float(*const paint)[3] = e->colors == COLORS_WORLD ? find_paint(e, 0, world) : NULL;
    e->bodies.fade = GHOST;
    for (int side = 1; side >= -1; side -= 2) {  // there, and back again
        for (int i = 0; i < e->links; i++)
            for (int k = 0; k < 3; k++) e->p[3 * (from + (size_t)i) + (size_t)k] += side * (there[k] - here[k]);
        if (side > 0 && !scene_shapes_place(e->shapes, e->R + 9 * from, e->p + 3 * from, SHAPES_WITHOUT_ID, paint, &e->bodies))
            return false;
    }
    return true;
}

/// The ground of a world, if it slopes; of what lies over each other once.
static bool place_ground(exhibit *e, int run, int world)
{
    const int at = place_of(e, run, world), reach = places(e) > 1 ? 1 : GROUND_REACH;
    double shift[3];
    exhibit_place(e, run, world, shift);
    e->bodies.fade = 0;
    return (e->overlaid && at < number_of(e, run, world)) || scene_shapes_ground(e->shapes, &e->one, shift, reach, &e->bodies);
}

/// What the contact points of a world feel, whose poses are from `first` on.
static bool place_contacts(exhibit *e, int number, size_t first)
{
    const size_t width = (size_t)ctn_model_ncontact(e->model) * CTN_CONTACT_NUMBERS;
    if (!(e->show & SHOW_CONTACTS) || !e->view.contacts || !width) return true;
    return marks_contacts(e->marks, e->R + 9 * first, e->p + 3 * first, e->view.contacts + (size_t)number * width, &e->lines);
}

static bool place_world(exhibit *e, int run, int world)
{
    const size_t first = exhibit_pose(e, (exhibit_body){run, world, 0});
    const int number = number_of(e, run, world);
    double com[3], shift[3];
    find_poses(e, run, world, com);
    exhibit_place(e, run, world, shift);
    if (!number) memcpy(e->com, com, sizeof com), world_followed(e->scene, e->model, e->one.radius, shift, com, e->followed);
    if (e->ghosts && !e->overlaid && run && !place_ghost(e, run, world)) return false;
    const float(*const paint)[3] = find_paint(e, run, world);
    e->bodies.fade = e->overlaid && run ? GHOST : 0;
    if (!scene_shapes_place(e->shapes, e->R + 9 * first, e->p + 3 * first, number, paint, &e->bodies)) return false;
    e->bodies.fade = 0;
    const bool there = e->overlaid && (e->runs > 1 ? run : world);  // as they lie over each other
    if (!there && !scene_shapes_place_fixed(e->shapes, shift, &e->bodies)) return false;
    if (!place_ground(e, run, world) || !place_contacts(e, number, first)) return false;
    const unsigned show = e->worlds > 1 ? e->show & ~(unsigned)SHOW_NAMES : e->show;  // then worlds have numbers
    if (!(show & (SHOW_AXES | SHOW_FRAMES | SHOW_COM | SHOW_TRAILS | SHOW_NAMES))) return true;
    const double t = e->view.time;
    marks_note(e->marks, number, t, e->R + 9 * first, e->p + 3 * first, com);
    return marks_place(e->marks, number, t, e->R + 9 * first, e->p + 3 * first, com, show,
                       e->colors == COLORS_WORLD ? e->paint[0] : NULL, &e->lines, &e->labels);
}

/// What stands over a world, where runs have colours in that of its run.
static bool place_text(exhibit *e, int run, int world, const char *text)
{
    double at[3];
    float hue[3];
    exhibit_place(e, run, world, at);
    layout_over(&e->one, at);
    label how = label_over(at);
    color_hue(share_of(e, run, world), hue);
    for (int c = 0; c < 3 && e->runs > 1 && e->colors == COLORS_WORLD; c++) how.color[c] = 0.55f + 0.45f * hue[c];
    return label_list_add(&e->labels, &how, "%s", text);
}

/// Of several runs what each is, over each other in lines; else, where names are shown, which world of several each is.
static bool place_names(exhibit *e)
{
    char text[CONFIG_WORDS];
    bool ok = true;
    for (int run = 0; run < e->runs && e->runs > 1 && ok; run++) {
        config_describe(&e->view.run[run].cfg, text);
        ok = place_text(e, run, 0, text);
    }
    const bool numbers = e->show & SHOW_NAMES && !e->overlaid && e->runs == 1 && e->worlds > 1 && e->worlds <= LAYOUT_NUMBERS;
    for (int w = 0; w < e->worlds && numbers && ok; w++) {
        snprintf(text, sizeof text, "%d", e->film ? film_world(e->film, w) : w);
        ok = place_text(e, 0, w, text);
    }
    return ok;
}

ctn_status exhibit_look(exhibit *e, ctn_error *err)
{
    const ctn_status status = take_view(e, err);
    if (status != CTN_OK) return status;
    instance_list_clear(&e->bodies), line_list_clear(&e->lines), label_list_clear(&e->labels);
    bool ok = true;
    for (int n = 0; n < e->runs * e->worlds && ok; n++) ok = place_world(e, n / e->worlds, n % e->worlds);
    ok = ok && place_names(e);
    find_extent(e);
    double shift[3];
    exhibit_place(e, 0, 0, shift);
    memcpy(e->middle, e->extent.center, sizeof e->middle);
    for (int k = 0; k < 3 && e->one.travels; k++) {
        e->extent.center[k] += e->com[k] - shift[k] - e->start_com[k];
        e->middle[k] += e->followed[k] - shift[k] - e->start[k];
    }
    return ok ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %d links", e->runs * e->worlds, e->links);
}

void exhibit_mark(exhibit *e, exhibit_body b)
{
    const uint32_t id = (uint32_t)exhibit_pose(e, b) + 1;
    for (int k = 0; k < e->bodies.kinds; k++)
        for (size_t n = 0; n < e->bodies.count[k]; n++)
            for (int c = 0; c < 3 && e->bodies.of[k][n].id == id; c++)
                e->bodies.of[k][n].color[c] = 0.35f * e->bodies.of[k][n].color[c] + (c < 2 ? 0.65f : 0.1f);
}

void exhibit_overlay(exhibit *e, bool overlaid)
{
    if (e->overlaid != overlaid) marks_clear_trails(e->marks);  // they are where the worlds were
    e->overlaid = overlaid;
}

bool exhibit_changed(exhibit *e)
{
    enum { GONE = 6 };  // looks; before that it may be between two forms
    bool changed = false;
    for (int k = 0; e->stamps && k < e->scene->nfile; k++) {
        const struct file_stamp now = stamp(e->scene->files[k].path), then = e->stamps[k];
        if (now.size < 0) {
            changed = changed || ++e->stamps[k].missed == GONE;
            continue;
        }
        e->stamps[k].missed = 0;
        if (now.size == then.size && now.file == then.file && now.written.tv_sec == then.written.tv_sec &&
            now.written.tv_nsec == then.written.tv_nsec)
            continue;
        e->stamps[k] = now, changed = true;
    }
    return changed;
}

// ---- the clock

void exhibit_run_on(exhibit *e, bool running)
{
    if (e->film) film_run_on(e->film, running);
    else player_run_on(e->player, running);
}

void exhibit_speed(exhibit *e, double times)
{
    if (e->film) film_speed(e->film, times);
    else player_speed(e->player, times);
}

void exhibit_steps(exhibit *e, int steps)
{
    if (e->film) film_steps(e->film, steps);
    else player_steps(e->player, steps);
}

void exhibit_reset(exhibit *e)
{
    double first, last;
    marks_clear_trails(e->marks);
    if (!e->film) return player_reset(e->player);
    film_range(e->film, &first, &last);
    film_seek(e->film, first);
}

void exhibit_seek(exhibit *e, double time)
{
    if (e->film) film_seek(e->film, time);
}
