/// Several worlds in one picture: over each other, or side by side.
#ifndef CATENA_RENDER_LAYOUT_H
#define CATENA_RENDER_LAYOUT_H

#include "render/draw/camera.h"
#include "render/draw/instances.h"

enum { LAYOUT_NUMBERS = 100 };  // of more worlds the numbers are not written

typedef enum world_layout { LAYOUT_OVERLAY, LAYOUT_GRID } world_layout;

/// The extent of all together where they are, from their own: of [worlds].
scene_extent layout_union(const scene_extent *of, int worlds);

/// What moves world `world` of `worlds`, whose union is `one`, to its place, m: nothing, or rows from the far left on in which no
/// two balls of `one` meet.
void layout_offset(world_layout layout, const scene_extent *one, int world, int worlds, double *offset);

/// Moves `place`, where layout_offset has put a world, to where its label stands: above what trees hang from, or above those that
/// are free.
void layout_over(const scene_extent *one, double *place);

/// The extent of all worlds at their places.
scene_extent layout_extent(world_layout layout, const scene_extent *one, int worlds);

/// Moves `c`, which looks at the center of all in a picture of width / height `aspect`, to where it has the balls of all worlds
/// just in sight; its direction stays.
void layout_look(world_layout layout, const scene_extent *one, int worlds, double aspect, camera_orbit *c);

#endif
