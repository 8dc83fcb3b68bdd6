/// What a fluid does to links, out of their shapes: points that are braked, points that lose the weight of what is displaced, and
/// the mass of fluid that goes along.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AXIS_POINTS = 2,      // Gauss's, which have all the moments that a linear drag asks for
    AXIS_POINTS_FINE = 4  // they integrate |x|^3 to a hundredth, for what goes by the square of the velocity
};

/// Shapes that are not only drawn.
static bool is_solid(const scene_shape *shape) { return shape->density != 0; }

/// Whether all solid shapes of a link have the part; reports one that has not, at `at`.
static bool have_part(source *s, const scene_link *link, shape_part part, const node *at)
{
    for (int i = 0; i < link->nshape; i++) {
        const scene_shape *const shape = &link->shapes[i];
        const char *const why = is_solid(shape) ? part_lacks(shape, part) : NULL;
        if (why)
            return bad_value(s, at, "shapes[%d] of link '%s' %s; links of their own drag are `fluid.links`", shape->entry,
                             link->name, why);
    }
    return true;
}

/// All solid shapes together; parts [nshape]: scratch.
static part_moments link_moments(const scene_link *link, shape_part part, part_moments *parts)
{
    int n = 0;
    for (int i = 0; i < link->nshape; i++)
        if (is_solid(&link->shapes[i])) parts[n++] = shape_moments(&link->shapes[i], part);
    return n ? combine_parts(parts, n) : (part_moments){.size = 0};
}

/// Drag on points: `across` an axis and `along` it, for each unit of their weight.
static void add_points(scene_fluid *f, int link, const link_drag *drag, const part_points *P, double across, double along,
                       const double axis[3])
{
    for (int c = 0; c < P->count; c++) {
        scene_drag *const d = &f->drag[f->ndrag++];
        *d = (scene_drag){.link = link, .law = drag->law, .damping = across * P->weight[c]};
        d->at = (scene_place){drag->at->line, drag->at->column};
        memcpy(d->point, P->at[c], sizeof d->point);
        if (across == along) continue;
        d->axial = (along - across) * P->weight[c];
        memcpy(d->axis, axis, sizeof d->axis);
    }
}

/// Drag along the axes of the link: what is alike in all of them, and more along each; of the square each for itself.
static void add_by_axes(scene_fluid *f, int link, const link_drag *drag, const part_points *P)
{
    const double alike = drag->law == DRAG_LINEAR ? drag->along[2] : 0;
    for (int k = 0; k < 3; k++) {
        const double e[3] = {k == 0, k == 1, k == 2}, across = k ? 0 : alike;
        if (!k || drag->along[k] != alike) add_points(f, link, drag, P, across, across + drag->along[k] - alike, e);
    }
}

static void brake_link(scene_fluid *f, const scene_link *link, int at, const link_drag *drag, part_moments *parts)
{
    double axis[3] = {0};
    for (int i = 0; i < link->nshape && (drag->part == PART_AXIS || drag->part == PART_FACES); i++) {
        if (!is_solid(&link->shapes[i])) continue;
        for (int k = 0; k < (drag->part == PART_FACES ? 3 : 1); k++) {
            const int fine = drag->law == DRAG_LINEAR ? AXIS_POINTS : AXIS_POINTS_FINE;
            const part_points P = drag->part == PART_FACES ? points_of_faces(&link->shapes[i], k, axis)
                                                           : points_of_axis(&link->shapes[i], fine, axis);
            add_points(f, at, drag, &P, drag->normal, drag->tangential, axis);
        }
    }
    if (drag->part == PART_AXIS || drag->part == PART_FACES) return;
    part_moments m = drag->part == PART_MASS ? link_mass_moments(link) : link_moments(link, drag->part, parts);
    if (drag->law == DRAG_AS_PUBLISHED && m.size > 0) {  // one number for the link, however heavy it is
        for (int k = 0; k < 6; k++) m.second[k] /= m.size;
        m.size = 1;
    }
    if (!(m.size > 0)) return;
    const part_points P = points_of(&m);
    if (drag->by_axes) add_by_axes(f, at, drag, &P);
    else add_points(f, at, drag, &P, drag->normal, drag->tangential, axis);
}

/// A point that loses a weight.
static void add_weight(scene_fluid *f, int link, const double point[3], double displaced, bool added, const node *at)
{
    scene_drag *const d = &f->drag[f->ndrag++];
    *d = (scene_drag){.link = link, .displaced = displaced, .added = added, .at = {at->line, at->column}};
    memcpy(d->point, point, sizeof d->point);
}

/// The fluid that goes along with a link: its inertia, and points that take its weight off.
static void carry_along(scene_fluid *f, int link, const part_moments *volume, double share, const node *at)
{
    scene_added *const a = &f->added[link];
    const double scale = share * f->density;
    part_moments m = *volume;
    carried_moments(volume, m.second);
    a->mass = scale * m.size;
    memcpy(a->center, m.center, sizeof a->center);
    for (int k = 0; k < 6; k++) a->second[k] = scale * m.second[k];
    const part_points P = points_of(&m);
    for (int c = 0; c < P.count; c++) add_weight(f, link, P.at[c], scale * P.weight[c], true, at);
}

/// What the fluid does to one link.
static bool make_link_drag(source *s, int at, const link_drag *drag, double share, const node *density, const node *added,
                           part_moments *parts)
{
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    const scene_link *const link = &scene->links[at];
    const bool shapes = link->nshape > 0, floats = f->density > 0 && shapes;
    const double *const a = drag->along;
    const bool brakes = drag->at && (drag->by_axes ? a[0] > 0 || a[1] > 0 || a[2] > 0 : drag->normal > 0 || drag->tangential > 0);
    if (floats && !have_part(s, link, PART_VOLUME, density)) return false;
    if (brakes && drag->part != PART_MASS && !have_part(s, link, drag->part, drag->at)) return false;
    if (brakes && (shapes || drag->part == PART_MASS)) brake_link(f, link, at, drag, parts);
    const part_moments volume = floats ? link_moments(link, PART_VOLUME, parts) : (part_moments){.size = 0};
    if (!(volume.size > 0)) return true;
    add_weight(f, at, volume.center, f->density * volume.size, false, density);
    if (share > 0) carry_along(f, at, &volume, share, added);
    return true;
}

bool make_drags(source *s, const link_drag *const *drag, const double *added, const node *density, const node *mass)
{
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    size_t most = 0;
    int shapes = 1;
    bool carries = false;
    for (int i = 0; i < scene->nlink; i++) {
        const int n = scene->links[i].nshape;
        most += 17 + 12 * (size_t)n, shapes = n > shapes ? n : shapes;  // 3 by 4, 1 and 4; of each box 3 by 4
        carries = carries || added[i] > 0;
    }
    f->drag = reader_alloc(s->r, most * sizeof *f->drag);
    part_moments *const parts = reader_alloc(s->r, (size_t)shapes * sizeof *parts);
    if (carries && (f->added = reader_alloc(s->r, (size_t)scene->nlink * sizeof *f->added)))
        memset(f->added, 0, (size_t)scene->nlink * sizeof *f->added);
    bool ok = f->drag && parts && (!carries || f->added);
    for (int i = 0; i < scene->nlink && ok && !hopeless(s); i++)
        if (link_moves(scene, i)) ok = make_link_drag(s, i, drag[i], added[i], density, mass, parts);
    free(parts);
    return ok;
}
