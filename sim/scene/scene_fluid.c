/// `fluid:`, what all links of a scene move in: its current, its drag on their shapes, their buoyancy, and what of it goes along
/// with them. All of it becomes loads on points of links (scene_drag.c), but for the mass that goes along.
#include "sim/scene/scene_reader.h"

#include <stdlib.h>
#include <string.h>

// ---- drag

typedef enum drag_key { DRAG_NORMAL, DRAG_TANGENTIAL, DRAG_COEFFICIENT, DRAG_OVER, DRAG_LAW, DRAG_KEYS } drag_key;
static const key drag_keys[DRAG_KEYS] = {
    [DRAG_NORMAL] = {.name = "normal"},
    [DRAG_TANGENTIAL] = {.name = "tangential"},
    [DRAG_COEFFICIENT] = {.name = "coefficient"},
    [DRAG_OVER] = {.name = "over"},
    [DRAG_LAW] = {.name = "law"},
};

static bool read_part(source *s, const node *n, shape_part *part)
{
    static const char *const names[] = {
        [PART_VOLUME] = "volume", [PART_SURFACE] = "surface", [PART_AXIS] = "axis", [PART_FACES] = "faces", [PART_MASS] = "mass"};
    int k = 0;
    const bool ok = read_word(s, n, names, 5, "volume, surface, axis, faces or mass", &k);
    if (ok) *part = (shape_part)k;
    return ok;
}

static bool read_law(source *s, const node *n, drag_kind *law)
{
    static const char *const names[] = {
        [DRAG_LINEAR] = "linear", [DRAG_QUADRATIC] = "quadratic", [DRAG_AS_PUBLISHED] = "as-published"};
    int k = 0;
    const bool ok = read_word(s, n, names, 3, "linear, quadratic or as-published", &k);
    if (ok) *law = (drag_kind)k;
    return ok;
}

/// A number for all directions, or one for each axis of the link.
static bool read_coefficient(source *s, const node *n, link_drag *drag)
{
    if (n->kind != NODE_SEQUENCE) {
        const bool ok = read_number(s, n, NOT_NEGATIVE, &drag->tangential);
        drag->normal = drag->part == PART_FACES ? 0 : drag->tangential;
        return ok;
    }
    if (drag->part == PART_AXIS || drag->part == PART_FACES)
        return bad_value(s, n, "a list, along the axes of the link, is for a drag over volumes, surfaces and masses");
    if (drag->law == DRAG_AS_PUBLISHED) return bad_value(s, n, "as published it is one number for each link (kg)");
    drag->by_axes = true;
    return read_vector(s, n, 3, NOT_NEGATIVE, drag->along);
}

static bool read_drag(source *s, const node *n, link_drag *drag)
{
    const node *v[DRAG_KEYS];
    *drag = (link_drag){.at = NULL};
    if (n->kind == NODE_SCALAR && n->plain && !strcmp(n->text, "none")) return true;
    if (!read_keys(s, n, "a drag", drag_keys, DRAG_KEYS, v)) return false;
    const bool split = v[DRAG_NORMAL] || v[DRAG_TANGENTIAL];
    bool ok = !v[DRAG_LAW] || read_law(s, v[DRAG_LAW], &drag->law);
    const bool published = drag->law == DRAG_AS_PUBLISHED;
    drag->part = split ? PART_AXIS : published ? PART_MASS : PART_SURFACE;
    if (v[DRAG_OVER]) ok = read_part(s, v[DRAG_OVER], &drag->part) && ok;
    if (published && drag->part != PART_MASS)
        ok = split ? bad_key(s, v[DRAG_NORMAL] ? v[DRAG_NORMAL] : v[DRAG_TANGENTIAL],
                             "as published a drag is alike in all directions: give `coefficient` (kg)")
                   : bad_value(s, v[DRAG_OVER], "as published a drag is over the mass of a link");
    if (v[DRAG_COEFFICIENT] && split)
        ok = bad_key(s, v[DRAG_COEFFICIENT], "not beside `normal` and `tangential`: it is one for all directions");
    else if (v[DRAG_COEFFICIENT]) ok = read_coefficient(s, v[DRAG_COEFFICIENT], drag) && ok;
    else if (!split) ok = missing_key(s, n, "coefficient", "missing; or `normal` and `tangential`, over an axis");
    if (split && ok && drag->part != PART_AXIS)
        ok = bad_value(s, v[DRAG_OVER], "`normal` and `tangential` are those of an axis; of other parts give one `coefficient`");
    for (int k = DRAG_NORMAL; k <= DRAG_TANGENTIAL && split; k++) {
        double *const x = k == DRAG_NORMAL ? &drag->normal : &drag->tangential;
        if (v[k]) ok = read_number(s, v[k], NOT_NEGATIVE, x) && ok;
        else ok = missing_key(s, n, drag_keys[k].name, "missing; `normal` and `tangential` are given together");
    }
    drag->at = n;
    return ok;
}

// ---- the current

/// `profile`, shares of the current by height.
static bool read_profile(source *s, const node *n, fluid_stream *stream)
{
    enum { HEIGHTS, SHARES, KEYS };
    static const key keys[KEYS] = {[HEIGHTS] = {.name = "heights"}, [SHARES] = {.name = "shares"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a profile", keys, KEYS, v)) return false;
    for (int k = 0; k < KEYS; k++)
        if (!v[k])
            return missing_key(s, n, keys[k].name, "missing; a profile has `heights` (m) and `shares` of the velocity there");
    for (int k = 0; k < KEYS; k++)
        if (v[k]->kind != NODE_SEQUENCE || v[k]->size < 2 || v[k]->size > STREAM_POINTS)
            return bad_value(s, v[k], "expected a list of 2 to %d numbers, found %s", STREAM_POINTS,
                             v[k]->kind == NODE_SEQUENCE && v[k]->size < 2 ? "fewer" : "more, or no list");
    if (v[HEIGHTS]->size != v[SHARES]->size)
        return bad_value(s, v[SHARES], "expected as many as `heights`, %d, found %d", v[HEIGHTS]->size, v[SHARES]->size);
    const int points = v[HEIGHTS]->size;
    if (!read_vector(s, v[HEIGHTS], points, ANY_SIGN, stream->height) ||
        !read_vector(s, v[SHARES], points, ANY_SIGN, stream->share))
        return false;
    for (int k = 0; k + 1 < points; k++) {
        const double width = stream->height[k + 1] - stream->height[k];
        if (!(width > 0))
            return bad_value(s, v[HEIGHTS], "expected rising numbers; %g does not exceed the one before it",
                             stream->height[k + 1]);
        stream->slope[k] = (stream->share[k + 1] - stream->share[k]) / width;
    }
    stream->points = points;
    return true;
}

/// `current`, three numbers, or what varies.
static bool read_current(source *s, const node *n, scene_fluid *f)
{
    enum { VELOCITY, STRENGTH, PROFILE, KEYS };
    static const key keys[KEYS] = {
        [VELOCITY] = {.name = "velocity"}, [STRENGTH] = {.name = "strength"}, [PROFILE] = {.name = "profile"}};
    const node *v[KEYS];
    if (n->kind != NODE_MAPPING) return read_vector(s, n, 3, ANY_SIGN, f->current);
    if (!read_keys(s, n, "a current", keys, KEYS, v)) return false;
    bool ok = v[VELOCITY] ? read_vector(s, v[VELOCITY], 3, ANY_SIGN, f->current)
                          : missing_key(s, n, "velocity", "missing; [x, y, z] in m/s, where the share is 1");
    if (v[STRENGTH]) ok = read_signal(s, v[STRENGTH], NO_UNIT, &f->stream.strength, &f->stream.moves) && ok;
    if (v[PROFILE]) ok = read_profile(s, v[PROFILE], &f->stream) && ok;
    return ok;
}

// ---- all of it

/// What a link has of its own.
typedef struct link_entry {
    link_drag drag;
    double added;
} link_entry;

static bool read_added(source *s, const node *n, double *added) { return read_number(s, n, NOT_NEGATIVE, added); }

/// Gives the link that a node names the entry `number`; NAME.*: all that are called NAME.something.
static bool give_entry(source *s, const node *n, int number, int *of)
{
    const ctn_scene *const scene = s->r->scene;
    const size_t length = n->kind == NODE_SCALAR ? strlen(n->text) : 0;
    const bool many = length > 2 && !strcmp(n->text + length - 2, ".*");
    int link = -1, given = 0;
    if (!many && !read_link_name(s, n, &link)) return false;
    for (int i = many ? 0 : link; i >= 0 && i < (many ? scene->nlink : link + 1); i++) {
        if (many && strncmp(scene->links[i].name, n->text, length - 1) != 0) continue;
        if (of[i]) return bad_value(s, n, "'%s' has a drag already, further up", printable(scene->links[i].name).text);
        of[i] = number, given++;
    }
    if (given || !s->r->names_known) return given;
    return bad_value(s, n, "no link is called %s", found(n).text);
}

/// `links:`, which differ from the others. of [nlink]: which of `entries` is theirs; entries[0] is that of all others.
static bool read_links_own(source *s, const node *list, link_entry *entries, int *of)
{
    enum { LINK, DRAG, ADDED, KEYS };
    static const key keys[KEYS] = {[LINK] = {.name = "link"}, [DRAG] = {.name = "drag"}, [ADDED] = {.name = "added_mass"}};
    if (list->kind != NODE_SEQUENCE) return bad_value(s, list, "expected a list of links, found %s", found(list).text);
    bool ok = true;
    int count = 1;
    for (const node *n = list->child; n && !hopeless(s); n = n->next, count++) {
        const node *v[KEYS];
        link_entry *const own = &entries[count];
        if (!read_keys(s, n, "an entry", keys, KEYS, v)) {
            ok = false;
            continue;
        }
        if (!v[LINK]) ok = missing_key(s, n, "link", "missing; it is the one that has this drag");
        else ok = give_entry(s, v[LINK], count, of) && ok;
        if (!v[DRAG] && !v[ADDED]) ok = missing_key(s, n, "drag", "missing; a mapping, or none");
        *own = entries[0];
        if (v[DRAG]) ok = read_drag(s, v[DRAG], &own->drag) && ok;
        if (v[ADDED]) ok = read_added(s, v[ADDED], &own->added) && ok;
    }
    return ok;
}

/// Hands each link what it has.
static bool make_all(source *s, const link_entry *entries, const int *of, const node *density, const node *mass)
{
    const size_t n = (size_t)s->r->scene->nlink + 1;
    const link_drag **const drag = reader_alloc(s->r, n * sizeof *drag);
    double *const added = reader_alloc(s->r, n * sizeof *added);
    for (size_t i = 0; i + 1 < n && drag && added; i++) drag[i] = &entries[of[i]].drag, added[i] = entries[of[i]].added;
    const bool ok = drag && added && make_drags(s, drag, added, density, mass);
    free(drag), free(added);
    return ok;
}

bool read_fluid(source *s, const node *n)
{
    enum { DENSITY, CURRENT, DRAG, ADDED, LINKS, KEYS };
    static const key keys[KEYS] = {[DENSITY] = {.name = "density"},
                                   [CURRENT] = {.name = "current"},
                                   [DRAG] = {.name = "drag"},
                                   [ADDED] = {.name = "added_mass"},
                                   [LINKS] = {.name = "links"}};
    const node *v[KEYS];
    ctn_scene *const scene = s->r->scene;
    scene_fluid *const f = &scene->fluid;
    if (s->includer) return bad_key(s, n, "not in an included file: the world is that of the scene itself");
    if (!read_keys(s, n, "a fluid", keys, KEYS, v)) return false;
    const int differ = v[LINKS] && v[LINKS]->kind == NODE_SEQUENCE ? v[LINKS]->size : 0;
    link_entry *const entries = reader_alloc(s->r, ((size_t)differ + 1) * sizeof *entries);
    int *const of = reader_alloc(s->r, ((size_t)scene->nlink + 1) * sizeof *of);
    bool ok = entries && of;
    f->stream.strength = 1;
    if (ok) {
        entries[0] = (link_entry){.added = 0};
        memset(of, 0, ((size_t)scene->nlink + 1) * sizeof *of);
        if (v[DENSITY]) ok = read_number(s, v[DENSITY], NOT_NEGATIVE, &f->density) && ok;
        if (v[CURRENT]) ok = read_current(s, v[CURRENT], f) && ok;
        if (v[DRAG]) ok = read_drag(s, v[DRAG], &entries[0].drag) && ok;
        if (v[ADDED]) ok = read_added(s, v[ADDED], &entries[0].added) && ok;
        if (v[LINKS]) ok = read_links_own(s, v[LINKS], entries, of) && ok;
        if (!v[DENSITY] && !v[DRAG] && !v[LINKS])
            ok = missing_key(s, n, "drag", "missing; a fluid has a `density`, which gives buoyancy, a `drag` or both");
        bool carries = entries[0].added > 0;
        for (int k = 1; k <= differ && ok; k++) carries = carries || entries[k].added > 0;
        if (carries && ok && !(f->density > 0))
            ok = missing_key(s, n, "density", "missing; `added_mass` is a share of the fluid that links displace");
        ok = ok && make_all(s, entries, of, v[DENSITY], v[ADDED] ? v[ADDED] : v[LINKS]);
        if (ok && f->ndrag == 0) warn(s, n, "acts on nothing: no link that moves has shapes, or all its numbers are 0");
    }
    free(entries), free(of);
    return ok;
}
