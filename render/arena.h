/// What the viewer shows: a scene that is played or a recording, its runs and worlds side by side or over each other, with marks.
#ifndef CATENA_RENDER_ARENA_H
#define CATENA_RENDER_ARENA_H

#include "render/colors.h"
#include "render/film.h"
#include "render/instances.h"
#include "render/layout.h"
#include "render/marks.h"
#include "render/mount.h"
#include "render/player.h"
#include "render/renderer.h"

/// A link of one world of one run; link -1: nothing.
typedef struct arena_body {
    int run, world, link;
} arena_body;

typedef struct arena {
    const ctn_scene *scene;
    const ctn_model *model;
    player *player;  // of a scene, or
    film *film;      // of a recording
    player_view view;
    int runs, worlds, links, nq, nv;
    scene_extent one, extent;  // of one world, and of all that is drawn
    instance_list bodies;
    line_list lines;
    label_list labels;
    double *R, *p;  // [runs][worlds][links][9], [...][3]: poses of the links, as they are drawn
    double com[3];  // m, of the first world of the first run
    // chosen by who looks
    unsigned show;         // marks_show
    link_coloring colors;  // COLORS_WORLD: of several runs each
    double scale_energy;   // J: the end of the scale of COLORS_ENERGY; 0: the most that a link has had
    bool overlaid;         // runs stand where the first one does, seen through; worlds of a single run over each other
    bool ghosts;           // else: the first one is seen through where the others stand
    // private
    ctn_scene *own_scene;
    ctn_model *own_model;
    ctn_dynamics *dyn;
    scene_shapes *shapes;
    marks *marks;
    struct file_stamp *stamps;
    double start_com[3], *twists, *energy, most_energy;
    float (*paint)[3];
} arena;

/// How the scene at hand is to be run: fills cfg and `runs` (1 to PLAYER_RUNS). Returns false, with what is wrong in err.
typedef bool (*arena_configure)(const void *context, const ctn_scene *scene, ctn_batch_config *cfg, int *runs, ctn_error *err);

/// Opens a scene file, at time 0, or a recording (.h5), of which `world` is shown, negative: all. NULL: as ctn_scene_load, ctn_model_create,
/// player_create; film_open.
arena *arena_open(const char *path, long world, arena_configure configure, const void *context, ctn_error *err);
void arena_free(arena *a);  // NULL is allowed

/// The scene's meshes, without which its bodies cannot be drawn. CTN_NO_MEMORY.
ctn_status arena_give_meshes(const arena *a, renderer *r, ctn_error *err);

/// Takes what there is to see now, and fills bodies (ids: arena_find), lines and labels. CTN_NO_MEMORY; of a recording CTN_IO.
ctn_status arena_look(arena *a, ctn_error *err);

/// Sets `overlaid`; trails begin anew.
void arena_overlay(arena *a, bool overlaid);

/// The clock, of either: player.h, film.h. A recording is not changed: the rest of player.h is for scenes.
void arena_run_on(arena *a, bool running);
void arena_speed(arena *a, double times);
void arena_steps(arena *a, int steps);
void arena_reset(arena *a);
void arena_seek(arena *a, double time);  // of a recording

/// Which link an id of `bodies` is.
arena_body arena_find(const arena *a, uint32_t id);

/// Place of a body in R, p.
size_t arena_pose(const arena *a, arena_body body);

/// Where world `world` of run `run` stands from where the scene puts it, m.
void arena_place(const arena *a, int run, int world, double *shift);

/// An orbit that has all that can be reached in sight in a picture of width / height `aspect`.
camera_orbit arena_camera(const arena *a, double aspect);

/// Adds what there was to see at the last arena_look, as seen by an orbit about `from` (m); what has flown off is left out.
void arena_fit(const arena *a, const double *from, camera_fit *fit);

/// The twist [6] of a link now: angular velocity (rad/s), velocity of its origin (m/s).
void arena_twist(const arena *a, arena_body body, double *twist);

/// Makes a link shine in `bodies`.
void arena_mark(arena *a, arena_body body);

/// Whether one of the scene's files has been written since it was opened, or since the last call, or has been gone for some calls.
bool arena_changed(arena *a);

#endif
