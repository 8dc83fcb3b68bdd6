/// `ground:`, `obstacles:`, `terrain:` and `contact:`, what links touch and how.
#include "sim/scene/scene_reader.h"

#include <math.h>

enum { LEAST_MESH_POINTS = 4 };  // fewer have no inside

typedef enum ground_key { GROUND_HEIGHT, GROUND_NORMAL, GROUND_LAYERS, GROUND_KEYS } ground_key;
static const key ground_keys[GROUND_KEYS] = {
    [GROUND_HEIGHT] = {.name = "height"}, [GROUND_NORMAL] = {.name = "normal"}, [GROUND_LAYERS] = {.name = "layers"}};

typedef enum contact_key {
    CONTACT_BETWEEN,
    CONTACT_LAW,
    CONTACT_MESH_POINTS,
    CONTACT_CAPACITY,
    CONTACT_FRICTION,
    CONTACT_TORSIONAL,
    CONTACT_ROLLING,
    CONTACT_DEPTH,
    CONTACT_RELAXATION,
    CONTACT_D1,
    CONTACT_D2,
    CONTACT_KEYS
} contact_key;
static const key contact_keys[CONTACT_KEYS] = {[CONTACT_BETWEEN] = {.name = "between"},
                                               [CONTACT_LAW] = {.name = "law"},
                                               [CONTACT_MESH_POINTS] = {.name = "mesh_points"},
                                               [CONTACT_CAPACITY] = {.name = "capacity"},
                                               [CONTACT_FRICTION] = {.name = "friction"},
                                               [CONTACT_TORSIONAL] = {.name = "torsional"},
                                               [CONTACT_ROLLING] = {.name = "rolling"},
                                               [CONTACT_DEPTH] = {.name = "depth"},
                                               [CONTACT_RELAXATION] = {.name = "relaxation"},
                                               [CONTACT_D1] = {.name = "D1"},
                                               [CONTACT_D2] = {.name = "D2"}};

/// some: one at least.
static bool read_bits(source *s, const node *n, bool some, unsigned *layers)
{
    unsigned bits = 0;
    if (n->kind != NODE_SEQUENCE || (some && !n->size)) return bad_value(s, n, "expected a list of whole numbers, found %s", found(n).text);
    for (const node *entry = n->child; entry; entry = entry->next) {
        int layer;
        if (!read_whole(s, entry, 0, MOST_LAYERS - 1, &layer)) return false;
        bits |= 1u << layer;
    }
    *layers = bits;
    return true;
}

bool read_layers(source *s, const node *n, unsigned *layers) { return read_bits(s, n, true, layers); }

/// `ground: true` is the plane z = 0.
static bool read_ground(source *s, const node *n, scene_contact *to)
{
    const node *v[GROUND_KEYS];
    to->height = 0, to->normal[0] = to->normal[1] = 0, to->normal[2] = 1;
    if (n->kind == NODE_SCALAR) return read_flag(s, n, &to->ground);
    if (!read_keys(s, n, "a ground", ground_keys, GROUND_KEYS, v)) return false;
    bool ok = true;
    if (v[GROUND_HEIGHT]) ok = read_number(s, v[GROUND_HEIGHT], ANY_SIGN, &to->height);
    if (v[GROUND_NORMAL]) ok = read_direction(s, v[GROUND_NORMAL], to->normal) && ok;
    if (v[GROUND_LAYERS]) ok = read_layers(s, v[GROUND_LAYERS], &to->layers) && ok;
    return to->ground = ok;
}

/// Which keys belong to which law.
static bool check_keys_of_law(source *s, const node *n, const node *const v[CONTACT_KEYS], bool published)
{
    bool ok = true;
    for (contact_key k = CONTACT_FRICTION; k < CONTACT_KEYS; k++)
        if (v[k] && published != (k >= CONTACT_D1))
            ok = bad_key(s, v[k], published ? "law: as-published has D1 and D2 in the place of friction of all kinds, depth and relaxation"
                                            : "D1 and D2 are of `law: as-published`; the law bristles has depth and friction");
    if (published && !v[CONTACT_D1]) ok = bad_value(s, n, "law: as-published has no D1; say how stiff the ground is, N/m");
    return ok;
}

/// pairs: the scene has such a list.
static bool read_law(source *s, const node *n, bool pairs, scene_contact *to)
{
    static const char *const laws[] = {"bristles", "as-published"}, *const between[] = {"world", "links", "all"};
    const node *v[CONTACT_KEYS];
    int law = 0, what = BETWEEN_WORLD;
    if (!read_keys(s, n, "a contact", contact_keys, CONTACT_KEYS, v)) return false;
    if (v[CONTACT_LAW] && !read_word(s, v[CONTACT_LAW], laws, 2, "bristles or as-published", &law)) return false;
    bool ok = check_keys_of_law(s, n, v, to->published = law == 1);
    if (v[CONTACT_BETWEEN]) ok = read_word(s, v[CONTACT_BETWEEN], between, 3, "world, links or all", &what) && ok;
    to->between = (contact_between)what;
    if (to->published && to->between != BETWEEN_WORLD)
        ok = bad_value(s, v[CONTACT_BETWEEN], "`law: as-published` knows a `ground` alone; take world, or the law bristles");
    if (v[CONTACT_MESH_POINTS]) ok = read_whole(s, v[CONTACT_MESH_POINTS], LEAST_MESH_POINTS, MOST_MESH_POINTS, &to->mesh_points) && ok;
    if (v[CONTACT_CAPACITY]) ok = read_whole(s, v[CONTACT_CAPACITY], 1, MOST_CAPACITY, &to->capacity) && ok;
    if (v[CONTACT_CAPACITY] && to->between == BETWEEN_WORLD && !pairs)
        ok = bad_key(s, v[CONTACT_CAPACITY], "is of links that touch each other: write `between: links` or all, or give `pairs`");
    if (v[CONTACT_D1]) ok = read_number(s, v[CONTACT_D1], POSITIVE, &to->D1) && ok;
    if (v[CONTACT_D2]) ok = read_number(s, v[CONTACT_D2], NOT_NEGATIVE, &to->D2) && ok;
    if (v[CONTACT_FRICTION]) ok = read_number(s, v[CONTACT_FRICTION], NOT_NEGATIVE, &to->friction) && ok;
    if (v[CONTACT_TORSIONAL]) ok = read_number(s, v[CONTACT_TORSIONAL], NOT_NEGATIVE, &to->torsional) && ok;
    if (v[CONTACT_ROLLING]) ok = read_number(s, v[CONTACT_ROLLING], NOT_NEGATIVE, &to->rolling) && ok;
    if (v[CONTACT_DEPTH]) ok = read_number(s, v[CONTACT_DEPTH], POSITIVE, &to->depth) && ok;
    if (v[CONTACT_RELAXATION]) ok = read_number(s, v[CONTACT_RELAXATION], NOT_NEGATIVE, &to->relaxation) && ok;
    return ok;
}

void reset_contact(scene_contact *contact)
{
    *contact = (scene_contact){.layers = USUAL_LAYERS, .friction = 0.8, .depth = NAN, .relaxation = NAN};
}

bool has_surfaces(const scene_contact *contact) { return contact->ground || contact->nobstacle || contact->terrain.columns; }

bool read_contact(source *s, const contact_nodes *of, scene_contact *to)
{
    const node *const at = of->law ? of->law : of->obstacles ? of->obstacles : of->terrain ? of->terrain : of->ground;
    bool ok = !of->ground || read_ground(s, of->ground, to);
    if (of->obstacles) ok = read_obstacles(s, of->obstacles, to) && ok;
    if (of->terrain) ok = read_terrain(s, of->terrain, &to->terrain) && ok;
    if (of->law) ok = read_law(s, of->law, of->pairs, to) && ok;
    if (at) to->at = (scene_place){at->line, at->column};
    if (to->published && (of->obstacles || of->terrain))
        ok = bad_key(s, of->obstacles ? of->obstacles : of->terrain, "`contact` of `law: as-published` knows a `ground` alone");
    if (ok && of->law && !has_surfaces(to) && to->between == BETWEEN_WORLD && !of->pairs)
        warn(s, of->law, "not used: the scene has no `ground`, `obstacles` or `terrain`, and its links do not touch each other");
    if (ok && has_surfaces(to) && to->between == BETWEEN_LINKS)
        warn(s, of->law, "between: links: they touch each other, and not the %s; write all to touch both",
             to->ground ? "`ground`" : to->nobstacle ? "`obstacles`" : "`terrain`");
    return ok;
}

bool touches_ground(const scene_shape *s) { return s->type != SHAPE_MESH || (s->mesh && s->mesh->good); }

bool link_touches(const ctn_scene *scene, int link)
{
    const scene_link *const l = &scene->links[link];
    const scene_contact *const c = &scene->contact;
    unsigned layers = (c->ground ? c->layers : 0) | (c->terrain.columns ? c->terrain.layers : 0);
    if (c->between == BETWEEN_LINKS) return false;
    for (int k = 0; k < c->nobstacle; k++) layers |= c->obstacles[k].shape.layers;
    for (int i = 0; i < l->nshape && link_moves(scene, link); i++)
        if (touches_ground(&l->shapes[i]) && l->shapes[i].touch != TOUCH_NO && l->shapes[i].layers & layers) return true;
    return false;
}

/// How round the edges of a box are: there is a core left.
static bool read_rounding(source *s, const node *n, scene_shape *shape)
{
    if (shape->type != SHAPE_BOX) return bad_key(s, n, "belongs to boxes: their edges are round by it");
    const double *const size = shape->size, most = fmin(size[0], fmin(size[1], size[2])) / 2;
    if (!read_number(s, n, POSITIVE, &shape->rounding)) return false;
    return shape->rounding < most || bad_value(s, n, "expected less than half the smallest side, %g, found %s", most, found(n).text);
}

bool read_touch(source *s, const node *n, scene_shape *shape)
{
    enum { FRICTION, TORSIONAL, ROLLING, POINTS, LAYERS, TOUCHES, ROUNDING, KEYS };
    static const key keys[KEYS] = {[FRICTION] = {.name = "friction"},
                                   [TORSIONAL] = {.name = "torsional"},
                                   [ROLLING] = {.name = "rolling"},
                                   [POINTS] = {.name = "points"},
                                   [LAYERS] = {.name = "layers"},
                                   [TOUCHES] = {.name = "touches"},
                                   [ROUNDING] = {.name = "rounding"}};
    const node *v[KEYS];
    bool on, ok = true;
    if (n->kind == NODE_SCALAR) {
        if (!read_flag(s, n, &on)) return false;
        shape->touch = on ? TOUCH_YES : TOUCH_NO;
        return true;
    }
    shape->touch = TOUCH_YES;
    if (!read_keys(s, n, "a shape's contact", keys, KEYS, v)) return false;
    if (v[FRICTION]) ok = read_number(s, v[FRICTION], NOT_NEGATIVE, &shape->friction);
    if (v[TORSIONAL]) ok = read_number(s, v[TORSIONAL], NOT_NEGATIVE, &shape->torsional) && ok;
    if (v[ROLLING]) ok = read_number(s, v[ROLLING], NOT_NEGATIVE, &shape->rolling) && ok;
    if (v[LAYERS]) ok = read_bits(s, v[LAYERS], !v[TOUCHES], &shape->layers) && ok, shape->touches = shape->layers;
    if (v[TOUCHES]) ok = read_bits(s, v[TOUCHES], false, &shape->touches) && ok;
    if (v[ROUNDING]) ok = read_rounding(s, v[ROUNDING], shape) && ok;
    if (!v[POINTS]) return ok;
    if (shape->type == SHAPE_MESH) return read_whole(s, v[POINTS], LEAST_MESH_POINTS, MOST_MESH_POINTS, &shape->points) && ok;
    if (shape->type != SHAPE_CAPSULE && shape->type != SHAPE_BOX)
        return bad_key(s, v[POINTS], "only capsules have points along their axis, boxes along their edges, and meshes as corners");
    return read_whole(s, v[POINTS], 2, MOST_EDGE_POINTS, &shape->points) && ok;
}
