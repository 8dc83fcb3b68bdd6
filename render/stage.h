/// What the viewer shows: a scene that is played, its runs and worlds side by side or over each other, as instances to be drawn.
#ifndef CATENA_RENDER_STAGE_H
#define CATENA_RENDER_STAGE_H

#include "render/camera.h"
#include "render/instances.h"
#include "render/player.h"

/// A link of one world of one run; link -1: nothing.
typedef struct stage_body {
    int run, world, link;
} stage_body;

typedef struct stage {
    ctn_scene *scene;
    ctn_model *model;
    player *player;
    player_view view;
    int runs, worlds, links, nq, nv;
    scene_extent extent;  // of all that is drawn
    bool overlaid;        // runs stand where the first one does
    instance_list bodies;
    double *R, *p;  // [runs][worlds][links][9], [...][3]: poses of the links, as they are drawn
    double com[3];  // m, of the first world of the first run
    // private
    ctn_dynamics *dyn;
    scene_shapes *shapes;
    scene_extent one;  // of one world
    struct file_stamp *stamps;
    double start_com[3], *twists;
} stage;

/// How the scene at hand is to be run: fills cfg and `runs` (1 to PLAYER_RUNS). Returns false, with what is wrong printed or in err.
typedef bool (*stage_configure)(void *context, const ctn_scene *scene, ctn_batch_config *cfg, int *runs, ctn_error *err);

/// Opens a scene file, at time 0. NULL: as ctn_scene_load, ctn_model_create, player_create.
stage *stage_open(const char *path, stage_configure configure, void *context, ctn_error *err);
void stage_free(stage *s);  // NULL is allowed

/// Takes what there is to see now, and fills `bodies` (ids: stage_find). False: no memory.
bool stage_look(stage *s);

/// Which link an id of `bodies` is.
stage_body stage_find(const stage *s, uint32_t id);

/// Place of a body in R, p.
size_t stage_pose(const stage *s, stage_body body);

/// Where world `world` of run `run` stands from where the scene puts it, m.
void stage_place(const stage *s, int run, int world, double *shift);

/// Puts the camera so far away that all worlds are in sight in a picture of width / height `aspect`.
void stage_fit(const stage *s, render_camera *camera, double aspect);

/// The twist [6] of a link now: angular velocity (rad/s), velocity of its origin (m/s).
void stage_twist(const stage *s, stage_body body, double *twist);

/// Makes a link shine in `bodies`.
void stage_mark(stage *s, stage_body body);

/// Whether one of the scene's files has been written since it was opened, or since the last call.
bool stage_changed(stage *s);

#endif
