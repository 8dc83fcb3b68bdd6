/// All that stands in a picture of some worlds: bodies in their colours, marks and texts.
#ifndef CATENA_CLI_COMPOSITION_H
#define CATENA_CLI_COMPOSITION_H

#include "cli/pictures/caption.h"
#include "cli/pictures/frames.h"
#include "cli/pictures/picture_options.h"
#include "render/draw/colors.h"
#include "render/draw/instances.h"
#include "render/draw/layout.h"

typedef struct composition {
    frames *of;
    ctn_dynamics *dyn;
    scene_extent one, whole;  // of one world, of all at their places
    world_layout layout;
    link_coloring colors;
    double most_energy;    // J, of a link: the end of the scale; 0: not known yet
    instance_list bodies;  // what the last composition_place put there
    instance_list fixed;   // obstacles, of a world that has not been moved
    line_list lines;
    label_list labels;
    picture_extras extras;
    caption caption;
    scene_shapes *shapes;
    marks *marks;      // NULL: none
    double *contacts;  // [worlds][ncontact][CTN_CONTACT_NUMBERS]; NULL: they are not shown
    int64_t noted;     // trails have the points before this one
    double start[3];   // m, centre of mass at the start, mean over the worlds
    double now[3];     // likewise, last
    double begin[3];   // m, what the camera goes with (world_followed) at the start, mean over the worlds
    double *R, *p;     // [links][9], [links][3] of one world
    double *twist, *energy;
    float (*paint)[3];  // [links]
} composition;

/// Reads the options, and makes room for the worlds of `f`, which is at its first states and must outlive it. Returns an exit
/// status with errors printed; composition_close is due in any case.
int composition_open(const arguments *args, frames *f, composition *c);
void composition_close(composition *c);

/// The most kinetic energy that a link has in the states that are in `f`, J. `f` may be another one of the same file and worlds.
double composition_energy(composition *c, const frames *f);

/// The middle of all worlds at the states in `f`, m: if trees are free it goes with the mean of what a camera follows of them.
void composition_middle(composition *c, const frames *f, double *middle);

/// Adds what is drawn of the worlds at the states in `f`, as seen by an orbit about `from`. `f` may be another one of the same
/// file and worlds. False: no memory.
bool composition_fit(composition *c, const frames *f, const double *from, camera_fit *fit);

/// Goes on to the states at t, which is not before the last one, noting trails on the way, and puts all that is in a picture of
/// width x height into bodies, lines and labels. What frames_at returns, CTN_NO_MEMORY.
ctn_status composition_place(composition *c, double t, int width, int height, ctn_error *err);

/// Poses of the first world of `f` at its place into R and p.
void composition_first(composition *c, const frames *f);

#endif
