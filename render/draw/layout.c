/// Grids of balls on the ground.
#include "render/draw/layout.h"

#include "render/draw/vectors.h"

#include <math.h>

scene_extent layout_union(const scene_extent *of, int worlds)
{
    scene_extent all = {.floor = INFINITY};
    for (int w = 0; w < worlds; w++) {
        for (int k = 0; k < 3; k++) all.center[k] += of[w].center[k] / worlds;
        all.floor = fmin(all.floor, of[w].floor), all.travels = all.travels || of[w].travels;
    }
    for (int w = 0; w < worlds; w++) {
        const double *const a = of[w].center, *const b = all.center;
        const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
        all.radius = fmax(all.radius, vector_length(d) + of[w].radius);
    }
    return all;
}

static int columns_of(int worlds) { return worlds <= 3 ? worlds : (int)ceil(sqrt(worlds)); }

void layout_offset(world_layout layout, const scene_extent *one, int world, int worlds, double *offset)
{
    offset[0] = offset[1] = offset[2] = 0;
    if (layout == LAYOUT_OVERLAY) return;
    const int columns = columns_of(worlds), rows = (worlds + columns - 1) / columns;
    const double apart = 2.05 * one->radius;
    offset[0] = apart * (world % columns - 0.5 * (columns - 1)), offset[1] = apart * (0.5 * (rows - 1) - world / columns);
}

void layout_over(const scene_extent *one, double *place)
{
    for (int k = 0; k < 3; k++) place[k] += one->center[k];
    place[2] += (one->travels ? 0.6 : 0.15) * one->radius;
}

scene_extent layout_extent(world_layout layout, const scene_extent *one, int worlds)
{
    scene_extent all = *one;
    for (int w = 0; w < worlds; w++) {
        double x[3];
        layout_offset(layout, one, w, worlds, x);
        all.radius = fmax(all.radius, hypot(x[0], x[1]) + one->radius);
    }
    return all;
}

void layout_look(world_layout layout, const scene_extent *one, int worlds, double aspect, camera_orbit *c)
{
    camera_fit fit = camera_fit_of(c, aspect);
    for (int w = 0; w < worlds; w++) {
        double x[3];
        layout_offset(layout, one, w, worlds, x);
        camera_fit_ball(&fit, x, one->radius);
    }
    camera_fit_move(&fit, c);
}
