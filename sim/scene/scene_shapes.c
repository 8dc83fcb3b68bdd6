/// The `shapes:` of a link.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum shape_key {
    SHAPE_KEY_TYPE,
    SHAPE_KEY_CENTER,
    SHAPE_KEY_ROTATION,
    SHAPE_KEY_EULER,
    SHAPE_KEY_SIZE,
    SHAPE_KEY_RADII,
    SHAPE_KEY_FROM,
    SHAPE_KEY_TO,
    SHAPE_KEY_RADIUS,
    SHAPE_KEY_DENSITY,
    SHAPE_KEY_COLOR,
    SHAPE_KEY_FILE,
    SHAPE_KEY_SCALE,
    SHAPE_KEY_POSITION,
    SHAPE_KEY_OPTIONAL,
    SHAPE_KEY_CONTACT,
    SHAPE_KEY_DRAW,
    SHAPE_KEY_NAME,  // of what is fixed, as the next
    SHAPE_KEY_FRICTION,
    SHAPE_KEY_LAYERS,
    SHAPE_KEYS,
};

static const key shape_keys[SHAPE_KEYS] = {
    [SHAPE_KEY_TYPE] = {.name = "type"},         [SHAPE_KEY_CENTER] = {.name = "center"},
    [SHAPE_KEY_ROTATION] = {.name = "rotation"}, [SHAPE_KEY_EULER] = {.name = "euler"},
    [SHAPE_KEY_SIZE] = {.name = "size"},         [SHAPE_KEY_RADII] = {.name = "radii"},
    [SHAPE_KEY_FROM] = {.name = "from"},         [SHAPE_KEY_TO] = {.name = "to"},
    [SHAPE_KEY_RADIUS] = {.name = "radius"},     [SHAPE_KEY_DENSITY] = {.name = "density"},
    [SHAPE_KEY_COLOR] = {.name = "color"},       [SHAPE_KEY_FILE] = {.name = "file"},
    [SHAPE_KEY_SCALE] = {.name = "scale"},       [SHAPE_KEY_POSITION] = {.name = "position"},
    [SHAPE_KEY_OPTIONAL] = {.name = "optional"}, [SHAPE_KEY_CONTACT] = {.name = "contact"},
    [SHAPE_KEY_DRAW] = {.name = "draw"},
};
static const key fixed_keys[SHAPE_KEYS] = {
    [SHAPE_KEY_TYPE] = {.name = "type"},
    [SHAPE_KEY_CENTER] = {.name = "center"},
    [SHAPE_KEY_ROTATION] = {.name = "rotation"},
    [SHAPE_KEY_EULER] = {.name = "euler"},
    [SHAPE_KEY_SIZE] = {.name = "size"},
    [SHAPE_KEY_FROM] = {.name = "from"},
    [SHAPE_KEY_TO] = {.name = "to"},
    [SHAPE_KEY_RADIUS] = {.name = "radius"},
    [SHAPE_KEY_COLOR] = {.name = "color"},
    [SHAPE_KEY_DRAW] = {.name = "draw"},
    [SHAPE_KEY_NAME] = {.name = "name"},
    [SHAPE_KEY_FRICTION] = {.name = "friction"},
    [SHAPE_KEY_LAYERS] = {.name = "layers"},
    [SHAPE_KEY_RADII] = {.name = "radii"},
    [SHAPE_KEY_FILE] = {.name = "file"},
    [SHAPE_KEY_SCALE] = {.name = "scale"},
    [SHAPE_KEY_POSITION] = {.name = "position"},
    [SHAPE_KEY_OPTIONAL] = {.name = "optional"},
};

#define SHAPE_NAMES "sphere, box, capsule, cylinder, ellipsoid, mesh"
#define BIT(key) (1u << (key))
#define EVERY                                                                                                                    \
    (BIT(SHAPE_KEY_TYPE) | BIT(SHAPE_KEY_DENSITY) | BIT(SHAPE_KEY_COLOR) | BIT(SHAPE_KEY_CONTACT) | BIT(SHAPE_KEY_DRAW) |        \
     BIT(SHAPE_KEY_NAME) | BIT(SHAPE_KEY_FRICTION) | BIT(SHAPE_KEY_LAYERS))
#define TURNED (BIT(SHAPE_KEY_CENTER) | BIT(SHAPE_KEY_ROTATION) | BIT(SHAPE_KEY_EULER))
#define ROUND_BAR (BIT(SHAPE_KEY_FROM) | BIT(SHAPE_KEY_TO) | BIT(SHAPE_KEY_RADIUS))

static const struct {
    const char *name;
    unsigned needs, takes;
} types[] = {
    [SHAPE_SPHERE] = {"sphere", BIT(SHAPE_KEY_RADIUS), BIT(SHAPE_KEY_CENTER)},
    [SHAPE_BOX] = {"box", BIT(SHAPE_KEY_SIZE), TURNED},
    [SHAPE_CAPSULE] = {"capsule", ROUND_BAR, 0},
    [SHAPE_CYLINDER] = {"cylinder", ROUND_BAR, 0},
    [SHAPE_ELLIPSOID] = {"ellipsoid", BIT(SHAPE_KEY_RADII), TURNED},
    [SHAPE_MESH] = {"mesh", BIT(SHAPE_KEY_FILE),
                    BIT(SHAPE_KEY_SCALE) | BIT(SHAPE_KEY_POSITION) | BIT(SHAPE_KEY_ROTATION) | BIT(SHAPE_KEY_EULER) |
                        BIT(SHAPE_KEY_OPTIONAL)},
};
enum { TYPES = sizeof types / sizeof *types };

static bool read_type(source *s, const node *n, scene_shape_type *type)
{
    int row;
    if (!read_kind(s, n, types, sizeof *types, TYPES, "shapes are " SHAPE_NAMES, &row)) return false;
    *type = (scene_shape_type)row;
    return true;
}

bool read_color(source *s, const node *n, double color[3])
{
    double c[3];
    if (!read_vector(s, n, 3, ANY_SIGN, c)) return false;
    for (int i = 0; i < 3; i++)
        if (c[i] < 0 || c[i] > 1) return bad_value(s, n, "expected red, green, blue from 0 to 1, found %g", c[i]);
    memcpy(color, c, sizeof c);
    return true;
}

/// How large a unit of a mesh is, in m along each axis; negative ones mirror it.
static bool read_scale(source *s, const node *n, scene_shape *shape)
{
    double scale[3];
    if (!read_each(s, n, 3, ANY_SIGN, NULL, scale)) return false;
    int mirrored = 0;
    for (int i = 0; i < 3; i++) {
        if (scale[i] == 0) return bad_value(s, n, "expected numbers other than 0, found %s", found(n).text);
        mirrored |= (scale[i] < 0) << i;
        shape->size[i] = fabs(scale[i]);
    }
    if (mirrored && shape->mesh) shape->mesh = mirrored_mesh(s->r, shape->mesh, mirrored);
    return !s->r->no_memory;
}

/// The mesh of a shape's file, scaled; of a fixed one its hull.
static bool read_solid(source *s, const node *file, const node *scale, scene_shape *shape, mesh_hull *hull)
{
    char reason[128];
    const bool good = !file || read_mesh(s, file, &shape->mesh);
    if ((scale && !read_scale(s, scale, shape)) || !good) return false;
    if (!file || !hull) return true;
    const ctn_status status = hull_of_mesh(hull, &shape->mesh->surface, shape->size, reason);
    if (status == CTN_NO_MEMORY) return out_of_memory(s);
    if (status != CTN_OK) return bad_value(s, file, "the hull of %s %s", found(file).text, reason);
    if (hull->faces > HULL_MANY_FACES)
        warn(s, file, "the hull of %s has %d faces, and what is near it looks at all of them; a coarser mesh is cheaper",
             found(file).text, hull->faces);
    return true;
}

/// Reads a shape, of a link, or, with a hull to fill, fixed. One that is `optional` and whose mesh cannot be read is left out, with a
/// warning. *named: the node of its name.
static bool read_shape(source *s, const node *n, mesh_hull *hull, scene_shape *shape, bool *left_out, const node **named)
{
    const bool fixed = hull;
    *shape = (scene_shape){.rotation = {1, 0, 0, 0},
                           .size = {1, 1, 1},
                           .density = NAN,
                           .friction = NAN,
                           .torsional = NAN,
                           .rolling = NAN,
                           .layers = USUAL_LAYERS,
                           .touches = USUAL_LAYERS,
                           .rounding = NAN,
                           .color = {0.7, 0.7, 0.7}};
    const node *v[SHAPE_KEYS];
    if (!read_keys(s, n, fixed ? "an obstacle" : "a shape", fixed ? fixed_keys : shape_keys, SHAPE_KEYS, v)) return false;
    *named = v[SHAPE_KEY_NAME];
    if (!v[SHAPE_KEY_TYPE]) return missing_key(s, n, "type", "missing; %s are " SHAPE_NAMES, fixed ? "obstacles" : "shapes");
    if (!read_type(s, v[SHAPE_KEY_TYPE], &shape->type)) return false;

    // keys that do not fit the type, or lack
    const char *const name = types[shape->type].name;
    const unsigned needs = types[shape->type].needs, takes = types[shape->type].takes | needs | EVERY;
    bool ok = true;
    for (int k = 0; k < SHAPE_KEYS; k++) {
        if (v[k] && !(takes & BIT(k))) ok = bad_key(s, v[k], "a shape of type %s has none", name), v[k] = 0;
        if (!v[k] && needs & BIT(k))
            ok =
                missing_key(s, n, shape_keys[k].name, "missing; %s of type %s needs it", fixed ? "an obstacle" : "a shape", name);
    }

    if (v[SHAPE_KEY_CENTER]) ok = read_vector(s, v[SHAPE_KEY_CENTER], 3, ANY_SIGN, shape->center) && ok;
    ok = read_rotation(s, v[SHAPE_KEY_ROTATION], v[SHAPE_KEY_EULER], shape->rotation) && ok;
    if (v[SHAPE_KEY_SIZE]) ok = read_vector(s, v[SHAPE_KEY_SIZE], 3, POSITIVE, shape->size) && ok;
    if (v[SHAPE_KEY_RADII]) ok = read_vector(s, v[SHAPE_KEY_RADII], 3, POSITIVE, shape->size) && ok;
    bool optional = false;
    if (v[SHAPE_KEY_OPTIONAL]) ok = read_flag(s, v[SHAPE_KEY_OPTIONAL], &optional) && ok;
    s->lenient += optional;
    const bool solid = read_solid(s, v[SHAPE_KEY_FILE], v[SHAPE_KEY_SCALE], shape, hull);
    s->lenient -= optional;
    *left_out = !solid && optional;
    ok = ok && (solid || optional);
    if (v[SHAPE_KEY_POSITION]) ok = read_vector(s, v[SHAPE_KEY_POSITION], 3, ANY_SIGN, shape->center) && ok;
    if (v[SHAPE_KEY_FROM]) ok = read_vector(s, v[SHAPE_KEY_FROM], 3, ANY_SIGN, shape->from) && ok;
    if (v[SHAPE_KEY_TO]) ok = read_vector(s, v[SHAPE_KEY_TO], 3, ANY_SIGN, shape->to) && ok;
    if (v[SHAPE_KEY_RADIUS]) ok = read_number(s, v[SHAPE_KEY_RADIUS], POSITIVE, &shape->radius) && ok;
    if (v[SHAPE_KEY_DENSITY]) ok = read_number(s, v[SHAPE_KEY_DENSITY], NOT_NEGATIVE, &shape->density) && ok;
    if (v[SHAPE_KEY_COLOR]) ok = read_color(s, v[SHAPE_KEY_COLOR], shape->color) && ok;
    if (v[SHAPE_KEY_FRICTION]) ok = read_number(s, v[SHAPE_KEY_FRICTION], NOT_NEGATIVE, &shape->friction) && ok;
    if (v[SHAPE_KEY_LAYERS]) ok = read_layers(s, v[SHAPE_KEY_LAYERS], &shape->layers) && ok;
    if (v[SHAPE_KEY_CONTACT]) ok = read_touch(s, v[SHAPE_KEY_CONTACT], shape) && ok;
    bool draw = true;
    if (v[SHAPE_KEY_DRAW]) ok = read_flag(s, v[SHAPE_KEY_DRAW], &draw) && ok;
    shape->hidden = !draw;
    if (ok && v[SHAPE_KEY_TO] && !memcmp(shape->from, shape->to, sizeof shape->to))
        ok = bad_value(s, v[SHAPE_KEY_TO], "the ends of a %s must be apart%s", name,
                       shape->type == SHAPE_CAPSULE ? "; a ball is a sphere" : "");
    return ok;
}

bool read_fixed_shape(source *s, const node *n, scene_obstacle *to, bool *left_out, const node **name)
{
    return read_shape(s, n, &to->hull, &to->shape, left_out, name);
}

bool read_shapes(source *s, const node *n, scene_shape **shapes, int *nshape)
{
    *shapes = 0, *nshape = 0;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of shapes, found %s", found(n).text);
    if (n->size == 0) return true;
    if (s->r->nshape + n->size > SCENE_MAX_SHAPES)
        return bad_value(s, n, "too many shapes; a scene has at most %d", SCENE_MAX_SHAPES);
    scene_shape *const list = reader_alloc(s->r, (size_t)n->size * sizeof *list);
    if (!list) return false;
    bool ok = true;
    int count = 0, i = 0;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        bool left_out = false;
        const node *name;
        ok = read_shape(s, entry, NULL, &list[count], &left_out, &name) && ok;
        list[count].entry = i++;
        if (!left_out) count++;
    }
    if (!ok || hopeless(s)) {
        free(list);
        return false;
    }
    s->r->nshape += count;
    *shapes = list, *nshape = count;
    return true;
}
