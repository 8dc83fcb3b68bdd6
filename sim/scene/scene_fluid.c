/// `fluid:`, what all links of a scene move in: its drag on their shapes, and their buoyancy. Both become loads on points of
/// links.
#include "sim/scene/scene_reader.h"
#include "sim/scene/shape_measure.h"

#include <stdlib.h>
#include <string.h>

/// How a link is braked, for each unit of its part: N s/m^4 of volume, N s/m^3 of surface, N s/m^2 of axis.
typedef struct drag_law {
    const node *at;  // NULL: there is no drag
    shape_part part;
    double normal, tangential;  // across an axis and along it; alike over volumes and surfaces
} drag_law;

typedef enum drag_key { DRAG_NORMAL, DRAG_TANGENTIAL, DRAG_COEFFICIENT, DRAG_OVER, DRAG_KEYS } drag_key;
static const key drag_keys[DRAG_KEYS] = {
    [DRAG_NORMAL] = {.name = "normal"},
    [DRAG_TANGENTIAL] = {.name = "tangential"},
    [DRAG_COEFFICIENT] = {.name = "coefficient"},
    [DRAG_OVER] = {.name = "over"},
};

static bool read_part(source *s, const node *n, shape_part *part)
{
    static const char *const names[] = {[PART_VOLUME] = "volume", [PART_SURFACE] = "surface", [PART_AXIS] = "axis"};
    const char *text;
    if (!read_text(s, n, &text)) return false;
    for (int k = 0; k < 3; k++)
        if (!strcmp(text, names[k])) {
            *part = (shape_part)k;
            return true;
        }
    return bad_value(s, n, "expected volume, surface or axis, found %s", found(n).text);
}

static bool read_drag(source *s, const node *n, drag_law *law)
{
    const node *v[DRAG_KEYS];
    *law = (drag_law){.at = NULL};
    if (n->kind == NODE_SCALAR && n->plain && !strcmp(n->text, "none")) return true;
    if (!read_keys(s, n, "a drag", drag_keys, DRAG_KEYS, v)) return false;
    const bool split = v[DRAG_NORMAL] || v[DRAG_TANGENTIAL];
    bool ok = true;
    law->part = split ? PART_AXIS : PART_SURFACE;
    if (v[DRAG_OVER]) ok = read_part(s, v[DRAG_OVER], &law->part);
    if (v[DRAG_COEFFICIENT] && split)
        ok = bad_key(s, v[DRAG_COEFFICIENT], "not beside `normal` and `tangential`: it is one for all directions");
    else if (v[DRAG_COEFFICIENT]) {
        ok = read_number(s, v[DRAG_COEFFICIENT], NOT_NEGATIVE, &law->normal) && ok;
        law->tangential = law->normal;
    } else if (!split) ok = missing_key(s, n, "coefficient", "missing; or `normal` and `tangential`, over an axis");
    if (split && ok && law->part != PART_AXIS)
        ok = bad_value(s, v[DRAG_OVER], "`normal` and `tangential` are those of an axis; of other parts give one `coefficient`");
    for (int k = DRAG_NORMAL; k <= DRAG_TANGENTIAL && split; k++) {
        double *const x = k == DRAG_NORMAL ? &law->normal : &law->tangential;
        if (v[k]) ok = read_number(s, v[k], NOT_NEGATIVE, x) && ok;
        else ok = missing_key(s, n, drag_keys[k].name, "missing; `normal` and `tangential` are given together");
    }
    law->at = n;
    return ok;
}

/// `links:`, which differ from the others. law [nlink]: which of `laws` is theirs; laws[0] is that of all others.
static bool read_links_drag(source *s, const node *list, drag_law *laws, int *law)
{
    enum { LINK, DRAG, KEYS };
    static const key keys[KEYS] = {[LINK] = {.name = "link"}, [DRAG] = {.name = "drag"}};
    if (list->kind != NODE_SEQUENCE) return bad_value(s, list, "expected a list of links, found %s", found(list).text);
    bool ok = true;
    int count = 1;
    for (const node *n = list->child; n && !hopeless(s); n = n->next, count++) {
        const node *v[KEYS];
        int link = -1;
        if (!read_keys(s, n, "an entry", keys, KEYS, v)) {
            ok = false;
            continue;
        }
        if (!v[LINK]) ok = missing_key(s, n, "link", "missing; it is the one that has this drag");
        else if (!read_link_name(s, v[LINK], &link)) ok = false;
        else if (law[link]) ok = bad_value(s, v[LINK], "%s has a drag already, further up", found(v[LINK]).text);
        if (!v[DRAG]) ok = missing_key(s, n, "drag", "missing; a mapping, or none");
        else ok = read_drag(s, v[DRAG], &laws[count]) && ok;
        if (link >= 0) law[link] = count;
    }
    return ok;
}

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

static void add_points(scene_fluid *f, int link, const part_points *P, const drag_law *law, const double axis[3])
{
    for (int c = 0; c < P->count; c++) {
        scene_drag *const d = &f->drag[f->ndrag++];
        *d = (scene_drag){.link = link, .damping = law->normal * P->weight, .at = {law->at->line, law->at->column}};
        memcpy(d->point, P->at[c], sizeof d->point);
        if (law->normal == law->tangential) continue;
        d->axial = (law->tangential - law->normal) * P->weight;
        memcpy(d->axis, axis, sizeof d->axis);
    }
}

/// The loads of a link.
static bool add_link_drag(source *s, int at, const drag_law *law, const node *density, part_moments *parts)
{
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    const scene_link *const link = &scene->links[at];
    const bool floats = f->density > 0, brakes = law->at && (law->normal > 0 || law->tangential > 0);
    if ((floats && !have_part(s, link, PART_VOLUME, density)) || (brakes && !have_part(s, link, law->part, law->at)))
        return false;
    if (brakes && law->part == PART_AXIS)
        for (int i = 0; i < link->nshape; i++) {
            double axis[3];
            if (!is_solid(&link->shapes[i])) continue;
            const part_points P = points_of_axis(&link->shapes[i], axis);
            add_points(f, at, &P, law, axis);
        }
    else if (brakes) {
        const part_moments m = link_moments(link, law->part, parts);
        const part_points P = points_of(&m);
        if (m.size > 0) add_points(f, at, &P, law, (const double[3]){0});
    }
    const part_moments volume = floats ? link_moments(link, PART_VOLUME, parts) : (part_moments){.size = 0};
    if (!(volume.size > 0)) return true;
    scene_drag *const d = &f->drag[f->ndrag++];
    *d = (scene_drag){.link = at, .displaced = f->density * volume.size, .at = {density->line, density->column}};
    memcpy(d->point, volume.center, sizeof d->point);
    return true;
}

/// All of them. False: an error, or no memory.
static bool add_drags(source *s, const drag_law *laws, const int *law, const node *density)
{
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    size_t most = 0;
    int shapes = 1;
    for (int i = 0; i < scene->nlink; i++) {
        const int n = scene->links[i].nshape;
        most += 5 + 2 * (size_t)n, shapes = n > shapes ? n : shapes;
    }
    f->drag = reader_alloc(s->r, most * sizeof *f->drag);
    part_moments *const parts = reader_alloc(s->r, (size_t)shapes * sizeof *parts);
    bool ok = f->drag && parts;
    for (int i = 0; i < scene->nlink && ok && !hopeless(s); i++)
        if (scene->links[i].nshape && link_moves(scene, i)) ok = add_link_drag(s, i, &laws[law[i]], density, parts);
    free(parts);
    return ok;
}

bool read_fluid(source *s, const node *n)
{
    enum { DENSITY, CURRENT, DRAG, LINKS, KEYS };
    static const key keys[KEYS] = {
        [DENSITY] = {.name = "density"}, [CURRENT] = {.name = "current"}, [DRAG] = {.name = "drag"}, [LINKS] = {.name = "links"}};
    const node *v[KEYS];
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    if (s->includer) return bad_key(s, n, "not in an included file: the world is that of the scene itself");
    if (!read_keys(s, n, "a fluid", keys, KEYS, v)) return false;
    const int differ = v[LINKS] && v[LINKS]->kind == NODE_SEQUENCE ? v[LINKS]->size : 0;
    drag_law *const laws = reader_alloc(s->r, ((size_t)differ + 1) * sizeof *laws);
    int *const law = reader_alloc(s->r, ((size_t)scene->nlink + 1) * sizeof *law);
    bool ok = laws && law;
    if (ok) {
        laws[0] = (drag_law){.at = NULL};
        memset(law, 0, ((size_t)scene->nlink + 1) * sizeof *law);
        if (v[DENSITY]) ok = read_number(s, v[DENSITY], NOT_NEGATIVE, &f->density) && ok;
        if (v[CURRENT]) ok = read_vector(s, v[CURRENT], 3, ANY_SIGN, f->current) && ok;
        if (v[DRAG]) ok = read_drag(s, v[DRAG], &laws[0]) && ok;
        if (v[LINKS]) ok = read_links_drag(s, v[LINKS], laws, law) && ok;
        if (!v[DENSITY] && !v[DRAG] && !v[LINKS])
            ok = missing_key(s, n, "drag", "missing; a fluid has a `density`, which gives buoyancy, a `drag` or both");
        ok = ok && add_drags(s, laws, law, v[DENSITY]);
        if (ok && f->ndrag == 0) warn(s, n, "acts on nothing: no link that moves has shapes, or all its numbers are 0");
    }
    free(laws), free(law);
    return ok;
}
