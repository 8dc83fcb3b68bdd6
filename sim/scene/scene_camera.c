/// `camera:` and `cameras:`, where pictures are taken from, and `view:`, what else is on them. Angles are in degrees there, as on
/// the command line.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum camera_key {
    CAMERA_KEY_NAME,
    CAMERA_KEY_TYPE,
    CAMERA_KEY_LINK,
    CAMERA_KEY_TARGET,
    CAMERA_KEY_AZIMUTH,
    CAMERA_KEY_ELEVATION,
    CAMERA_KEY_DISTANCE,
    CAMERA_KEY_OFFSET,
    CAMERA_KEY_SMOOTH,
    CAMERA_KEY_POSITION,
    CAMERA_KEY_LOOK,
    CAMERA_KEY_UP,
    CAMERA_KEY_FIELD,
    CAMERA_KEYS
};

static const key camera_keys[CAMERA_KEYS] = {
    [CAMERA_KEY_NAME] = {.name = "name"},           [CAMERA_KEY_TYPE] = {.name = "type"},
    [CAMERA_KEY_LINK] = {.name = "link"},           [CAMERA_KEY_TARGET] = {.name = "target"},
    [CAMERA_KEY_AZIMUTH] = {.name = "azimuth"},     [CAMERA_KEY_ELEVATION] = {.name = "elevation"},
    [CAMERA_KEY_DISTANCE] = {.name = "distance"},   [CAMERA_KEY_OFFSET] = {.name = "offset"},
    [CAMERA_KEY_SMOOTH] = {.name = "smooth"},       [CAMERA_KEY_POSITION] = {.name = "position"},
    [CAMERA_KEY_LOOK] = {.name = "look"},           [CAMERA_KEY_UP] = {.name = "up"},
    [CAMERA_KEY_FIELD] = {.name = "field_of_view"},
};

#define BIT(key) (1u << (key))
#define EVERY (BIT(CAMERA_KEY_NAME) | BIT(CAMERA_KEY_TYPE) | BIT(CAMERA_KEY_FIELD))
#define AROUND (BIT(CAMERA_KEY_AZIMUTH) | BIT(CAMERA_KEY_ELEVATION) | BIT(CAMERA_KEY_DISTANCE))

static const struct {
    const char *name;
    unsigned takes;
} types[] = {
    [CAMERA_ORBIT] = {"orbit", EVERY | AROUND | BIT(CAMERA_KEY_TARGET)},
    [CAMERA_TRACK] = {"track", EVERY | AROUND | BIT(CAMERA_KEY_LINK) | BIT(CAMERA_KEY_OFFSET) | BIT(CAMERA_KEY_SMOOTH)},
    [CAMERA_FIRST_PERSON] = {"first-person",
                             EVERY | BIT(CAMERA_KEY_LINK) | BIT(CAMERA_KEY_POSITION) | BIT(CAMERA_KEY_LOOK) | BIT(CAMERA_KEY_UP)},
};
enum { TYPES = sizeof types / sizeof *types };

const char *camera_type_name(scene_camera_type type) { return types[type].name; }

static bool read_type(source *s, const node *n, scene_camera_type *type)
{
    int row;
    if (!read_kind(s, n, types, sizeof *types, TYPES, "cameras are orbit, track, first-person", &row)) return false;
    *type = (scene_camera_type)row;
    return true;
}

/// An angle, in degrees unless it says otherwise, from `least` to `most` of them, as rad.
static bool read_angle(source *s, const node *n, double least, double most, double *angle)
{
    double x;
    if (!read_quantity(s, n, ANY_SIGN, ANGLE, &x)) return false;
    const double one = has_unit(n) ? M_PI : 180;
    if (!(x >= least / 180 * one && x <= most / 180 * one))
        return bad_value(s, n, "expected degrees from %g to %g, found %s", least, most, found(n).text);
    *angle = x * M_PI / one;
    return true;
}

/// From the link to the camera, as the angles and the distance of an orbit.
static bool read_offset(source *s, const node *n, scene_camera *c)
{
    double x[3];
    if (!read_vector(s, n, 3, ANY_SIGN, x)) return false;
    if (!(norm(x, 3) > 0)) return bad_value(s, n, "the camera must be apart from what it looks at");
    if (isinf(norm(x, 3))) return bad_value(s, n, "too large to compute with");
    c->distance = norm(x, 3), c->azimuth = atan2(x[1], x[0]), c->elevation = atan2(x[2], norm(x, 2));
    return true;
}

/// Where a camera on a link looks.
static bool read_look(source *s, const node *const v[CAMERA_KEYS], scene_camera *c)
{
    bool ok = true;
    if (v[CAMERA_KEY_POSITION]) ok = read_vector(s, v[CAMERA_KEY_POSITION], 3, ANY_SIGN, c->position) && ok;
    if (v[CAMERA_KEY_LOOK]) ok = read_direction(s, v[CAMERA_KEY_LOOK], c->look) && ok;
    if (v[CAMERA_KEY_UP]) ok = read_direction(s, v[CAMERA_KEY_UP], c->up) && ok;
    const double along = c->look[0] * c->up[0] + c->look[1] * c->up[1] + c->look[2] * c->up[2];
    if (!ok || fabs(along) < 1 - 1e-6) return ok;
    return bad_value(s, v[CAMERA_KEY_UP] ? v[CAMERA_KEY_UP] : v[CAMERA_KEY_LOOK],
                     "`look` and `up` are parallel; give an `up` across%s", v[CAMERA_KEY_UP] ? "" : " (it is [0, 0, 1] without)");
}

/// Keys that do not fit the type are told where they belong.
static bool check_keys(source *s, const node *const v[CAMERA_KEYS], scene_camera_type type)
{
    bool ok = true;
    for (int k = 0; k < CAMERA_KEYS; k++) {
        if (!v[k] || types[type].takes & BIT(k)) continue;
        char owners[64] = "";
        for (int t = 0; t < TYPES; t++)
            if (types[t].takes & BIT(k)) strcat(strcat(owners, *owners ? " and " : ""), types[t].name);
        ok = bad_key(s, v[k], "a camera of type %s has none; it is for %s", types[type].name, owners);
    }
    if (v[CAMERA_KEY_OFFSET])
        for (int k = CAMERA_KEY_AZIMUTH; k <= CAMERA_KEY_DISTANCE; k++)
            if (v[k]) ok = bad_key(s, v[k], "`offset` says where the camera is; only one of the two is allowed");
    return ok;
}

static bool read_camera(source *s, const node *n, scene_camera *c)
{
    const node *v[CAMERA_KEYS];
    *c = (scene_camera){.link = -1, .target = {NAN}, .look = {1, 0, 0}, .up = {0, 0, 1}};
    c->azimuth = c->elevation = c->distance = c->field = NAN;
    if (!read_keys(s, n, "a camera", camera_keys, CAMERA_KEYS, v)) return false;
    if (v[CAMERA_KEY_TYPE] && !read_type(s, v[CAMERA_KEY_TYPE], &c->type)) return false;
    bool ok = check_keys(s, v, c->type);
    const node *const target = v[CAMERA_KEY_TARGET];
    if (v[CAMERA_KEY_NAME]) {
        const char *name = NULL;
        ok = read_name(s, v[CAMERA_KEY_NAME], &name) && ok;
        if (name) ok = (c->name = reader_copy(s->r, name, strlen(name))) && ok;
    }
    if (v[CAMERA_KEY_LINK]) ok = read_link_name(s, v[CAMERA_KEY_LINK], &c->link) && ok;
    else if (c->type != CAMERA_ORBIT)
        ok = missing_key(s, n, "link", "missing; a camera of type %s needs it", types[c->type].name);
    if (target)
        ok = (target->kind == NODE_SEQUENCE ? read_vector(s, target, 3, ANY_SIGN, c->target)
                                            : read_link_name(s, target, &c->link)) &&
             ok;
    if (v[CAMERA_KEY_AZIMUTH]) ok = read_angle(s, v[CAMERA_KEY_AZIMUTH], -360, 360, &c->azimuth) && ok;
    if (v[CAMERA_KEY_ELEVATION]) ok = read_angle(s, v[CAMERA_KEY_ELEVATION], -90, 90, &c->elevation) && ok;
    if (v[CAMERA_KEY_DISTANCE]) ok = read_number(s, v[CAMERA_KEY_DISTANCE], POSITIVE, &c->distance) && ok;
    if (v[CAMERA_KEY_OFFSET]) ok = read_offset(s, v[CAMERA_KEY_OFFSET], c) && ok;
    if (v[CAMERA_KEY_SMOOTH]) ok = read_number(s, v[CAMERA_KEY_SMOOTH], NOT_NEGATIVE, &c->smooth) && ok;
    if (v[CAMERA_KEY_FIELD]) ok = read_angle(s, v[CAMERA_KEY_FIELD], 1, 120, &c->field) && ok;
    return read_look(s, v, c) && ok;
}

/// Names of cameras are there, and differ.
static bool check_names(source *s, const node *list, const scene_camera *cameras)
{
    bool ok = true;
    int i = 0;
    for (const node *entry = list->child; entry; entry = entry->next, i++) {
        if (!cameras[i].name) ok = missing_key(s, entry, "name", "missing; every camera of a list has a name");
        const node *first = list->child;
        for (int k = 0; k < i && cameras[i].name; k++, first = first->next)
            if (cameras[k].name && !strcmp(cameras[k].name, cameras[i].name)) {
                ok = bad_value(s, entry, "'%s' is already the name of the camera in line %d", printable(cameras[i].name).text,
                               first->line);
                break;
            }
    }
    return ok;
}

bool read_cameras(source *s, const node *one, const node *list)
{
    if (one && list) return bad_key(s, list, "`camera` is given already; put it into this list, under a name");
    if (list && list->kind != NODE_SEQUENCE) return bad_value(s, list, "expected a list of cameras, found %s", found(list).text);
    const int count = one ? 1 : list->size;
    ctn_scene read = {.cameras = reader_alloc(s->r, (size_t)count * sizeof *read.cameras)};
    if (!read.cameras) return false;
    bool ok = true;
    for (const node *entry = one ? one : list->child; entry && !hopeless(s); entry = one ? NULL : entry->next)
        ok = read_camera(s, entry, &read.cameras[read.ncamera++]) && ok;
    ok = ok && !hopeless(s);
    if (ok && list) ok = check_names(s, list, read.cameras);
    if (ok && !s->includer) {  // only the scene itself decides
        s->r->scene->cameras = read.cameras, s->r->scene->ncamera = read.ncamera;
        return true;
    }
    free_cameras(&read);
    return ok;
}

void free_cameras(ctn_scene *scene)
{
    for (int i = 0; i < scene->ncamera; i++) free(scene->cameras[i].name);
    free(scene->cameras);
}

bool read_view(source *s, const node *n)
{
    static const key keys[] = {{.name = "floor"}};
    const node *floor;
    double height = -INFINITY;
    if (!read_keys(s, n, "a view", keys, 1, &floor)) return false;
    if (!floor) return true;
    const bool none = floor->kind == NODE_SCALAR && floor->plain && !strcmp(floor->text, "none");
    if (!none && floor->kind == NODE_SCALAR && !strpbrk(floor->text, "0123456789"))
        return bad_value(s, floor, "expected a height in metres or none, found %s", found(floor).text);
    if (!none && !read_number(s, floor, ANY_SIGN, &height)) return false;
    if (!s->includer) s->r->scene->floor = height;  // only the scene itself decides
    return true;
}
