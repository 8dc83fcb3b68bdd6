/// Worlds stand on a grid, runs in columns of it.
#include "render/stage.h"

#include "sim/scene.h"
#include "sim/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/// When a file was written, and which one it is: editors put new ones in place of the old.
struct file_stamp {
    struct timespec written;
    off_t size;
    ino_t file;
};

static struct file_stamp stamp(const char *path)
{
    struct stat of;
    return stat(path, &of) ? (struct file_stamp){.size = -1} : (struct file_stamp){of.st_mtim, of.st_size, of.st_ino};
}

static bool open_memory(stage *s)
{
    const size_t poses = (size_t)s->runs * (size_t)s->worlds * (size_t)s->links + 1;
    s->R = calloc(9 * poses, sizeof *s->R), s->p = calloc(3 * poses, sizeof *s->p);
    s->twists = calloc(6 * (size_t)s->links + 1, sizeof *s->twists);
    s->stamps = calloc((size_t)s->scene->nfile, sizeof *s->stamps);
    for (int k = 0; k < s->scene->nfile && s->stamps; k++) s->stamps[k] = stamp(s->scene->files[k]);
    s->shapes = scene_shapes_create(s->scene, s->model);
    return s->R && s->p && s->twists && s->stamps && s->shapes && player_view_create(s->player, &s->view);
}

/// Columns of worlds in one run.
static int columns(const stage *s) { return (int)ceil(sqrt((double)s->worlds)); }

void stage_place(const stage *s, int run, int world, double *shift)
{
    const double apart = 2.1 * s->one.radius * (s->worlds > 1 ? 0.7 : 1);
    const int across = columns(s), rows = (s->worlds + across - 1) / across;
    const double column = world % across + (s->overlaid ? 0 : run * (across + 0.5));
    const double all = s->overlaid ? across - 1 : s->runs * (across + 0.5) - 1.5;
    shift[0] = apart * (column - all / 2), shift[1] = apart * (world / across - 0.5 * (rows - 1)), shift[2] = 0;
}

/// The ball about one world, and about all of them.
static void find_extent(stage *s)
{
    double far = 0;
    s->extent = s->one;
    for (int run = 0; run < s->runs; run++)
        for (int w = 0; w < s->worlds; w++) {
            double shift[3];
            stage_place(s, run, w, shift);
            far = fmax(far, sqrt(shift[0] * shift[0] + shift[1] * shift[1]));
        }
    s->extent.radius += far;
}

stage *stage_open(const char *path, stage_configure configure, void *context, ctn_error *err)
{
    ctn_batch_config cfg[PLAYER_RUNS];
    ctn_totals totals;
    stage *const s = calloc(1, sizeof *s);
    fail(err, CTN_NO_MEMORY, "not enough memory for %s", path);
    if (!s) return NULL;
    const bool ok = (s->scene = ctn_scene_load(path, err)) && configure(context, s->scene, cfg, &s->runs, err) &&
                    (s->model = ctn_model_create(s->scene, err)) && (s->dyn = ctn_dynamics_create(s->model, NULL, err)) &&
                    (s->player = player_create(s->scene, s->model, cfg, s->runs, err));
    if (!ok) return stage_free(s), NULL;
    s->worlds = cfg->worlds, s->links = ctn_model_nlink(s->model), s->nq = ctn_model_nq(s->model), s->nv = ctn_model_nv(s->model);
    fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds of %s", s->worlds, path);
    if (!open_memory(s)) return stage_free(s), NULL;
    player_look(s->player, &s->view);
    ctn_forward_kinematics(s->dyn, 1, s->view.q, s->R, s->p);
    ctn_energy_momentum(s->dyn, 1, s->view.q, s->view.v, &totals);
    memcpy(s->start_com, totals.com, sizeof s->start_com);
    s->one = scene_shapes_extent(s->shapes, s->R, s->p);
    find_extent(s);
    return s;
}

void stage_free(stage *s)
{
    if (!s) return;
    player_free(s->player);
    player_view_free(&s->view);
    instance_list_free(&s->bodies);
    scene_shapes_free(s->shapes);
    ctn_dynamics_free(s->dyn);
    ctn_model_free(s->model), ctn_scene_free(s->scene);
    free(s->R), free(s->p), free(s->twists), free(s->stamps);
    free(s);
}

size_t stage_pose(const stage *s, stage_body b)
{
    return ((size_t)b.run * (size_t)s->worlds + (size_t)b.world) * (size_t)s->links + (size_t)b.link;
}

/// The ids of what was added to `list` since it had `before`: those of the links count on from `first`.
static void shift_ids(instance_list *list, const size_t *before, size_t first)
{
    for (int k = 0; k < MESHES; k++)
        for (size_t n = before[k]; n < list->count[k]; n++) list->of[k][n].id += (uint32_t)first;
}

bool stage_look(stage *s)
{
    const size_t links = (size_t)s->links, worlds = (size_t)s->worlds;
    bool ok = true;
    player_look(s->player, &s->view);
    instance_list_clear(&s->bodies);
    for (int run = 0; run < s->runs; run++)
        ctn_forward_kinematics(s->dyn, s->worlds, s->view.q + (size_t)run * worlds * (size_t)s->nq,
                               s->R + 9 * (size_t)run * worlds * links, s->p + 3 * (size_t)run * worlds * links);
    ctn_totals totals;
    ctn_energy_momentum(s->dyn, 1, s->view.q, s->view.v, &totals);
    memcpy(s->com, totals.com, sizeof s->com);
    find_extent(s);
    for (int k = 0; k < 3 && s->one.travels; k++) s->extent.center[k] = s->one.center[k] + s->com[k] - s->start_com[k];
    for (int run = 0; run < s->runs && ok; run++)
        for (int w = 0; w < s->worlds && ok; w++) {
            const size_t first = stage_pose(s, (stage_body){run, w, 0});
            size_t before[MESHES];
            double shift[3];
            memcpy(before, s->bodies.count, sizeof before);
            stage_place(s, run, w, shift);
            for (size_t i = 0; i < links; i++)
                for (int k = 0; k < 3; k++) s->p[3 * (first + i) + (size_t)k] += shift[k];
            ok = scene_shapes_place(s->shapes, s->R + 9 * first, s->p + 3 * first, &s->bodies);
            shift_ids(&s->bodies, before, first);
        }
    return ok;
}

stage_body stage_find(const stage *s, uint32_t id)
{
    const int n = (int)id - 1, world = s->links ? n / s->links : 0;
    if (!id) return (stage_body){.link = -1};
    return (stage_body){world / s->worlds, world % s->worlds, n % s->links};
}

void stage_fit(const stage *s, render_camera *camera, double aspect)
{
    double *const centers = malloc(3 * (size_t)s->runs * (size_t)s->worlds * sizeof *centers);
    if (!centers) return;  // it stays as it is
    for (int n = 0; n < s->runs * s->worlds; n++) {
        stage_place(s, n / s->worlds, n % s->worlds, centers + 3 * n);
        for (int k = 0; k < 3; k++) centers[3 * n + k] += s->extent.center[k];
    }
    camera_fit(camera, centers, s->runs * s->worlds, s->one.radius, aspect);
    free(centers);
}

void stage_twist(const stage *s, stage_body b, double *twist)
{
    const size_t world = (size_t)b.run * (size_t)s->worlds + (size_t)b.world;
    ctn_link_twists(s->dyn, 1, s->view.q + world * (size_t)s->nq, s->view.v + world * (size_t)s->nv, s->twists);
    memcpy(twist, s->twists + 6 * (size_t)b.link, 6 * sizeof *twist);
}

void stage_mark(stage *s, stage_body b)
{
    const uint32_t id = (uint32_t)stage_pose(s, b) + 1;
    for (int k = 0; k < MESHES; k++)
        for (size_t n = 0; n < s->bodies.count[k]; n++)
            for (int c = 0; c < 3 && s->bodies.of[k][n].id == id; c++)
                s->bodies.of[k][n].color[c] = 0.35f * s->bodies.of[k][n].color[c] + (c < 2 ? 0.65f : 0.1f);
}

bool stage_changed(stage *s)
{
    bool changed = false;
    for (int k = 0; k < s->scene->nfile; k++) {
        const struct file_stamp now = stamp(s->scene->files[k]), then = s->stamps[k];
        if (now.size < 0) continue;  // between two forms of it
        if (now.size == then.size && now.file == then.file && now.written.tv_sec == then.written.tv_sec &&
            now.written.tv_nsec == then.written.tv_nsec)
            continue;
        s->stamps[k] = now, changed = true;
    }
    return changed;
}
