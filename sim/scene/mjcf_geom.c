/// Geoms of MJCF as shapes, with the mass that each has of its own.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <string.h>

enum { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF, GEOM_TYPES };
enum { DRAWN_GROUPS = 3 };  // 0, 1, 2, as in MuJoCo's viewer at its start

static const char *const type_names[GEOM_TYPES] = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                                   "cylinder", "box",    "mesh",   "sdf"};
static const int sizes[GEOM_TYPES] = {[SPHERE] = 1, [CAPSULE] = 2, [ELLIPSOID] = 3, [CYLINDER] = 2, [BOX] = 3};

// ---- shapes

/// The ends of an axis, as given or as those of a bar along z.
static bool read_ends(mjcf *m, const mjcf_geom *g, const mjcf_pose *frame, double ends[2][3], bool *given)
{
    const xml_attribute *const a = mjcf_find(m, g->item, "fromto");
    *given = a;
    if (!a) return true;
    if (!robot_list(m->r, a, 6, 6, &ends[0][0])) return false;
    for (int i = 0; i < 2; i++) {
        rotate(frame->q, ends[i], ends[i]);
        for (int k = 0; k < 3; k++) ends[i][k] += frame->p[k];
    }
    return true;
}

/// A shape other than a mesh at `at`, in the body's frame; size: half lengths and radii.
static void set_shape(scene_shape *shape, int type, const mjcf_pose *at, const double size[3], double ends[2][3])
{
    memcpy(shape->center, at->p, sizeof shape->center), memcpy(shape->rotation, at->q, sizeof shape->rotation);
    shape->radius = size[0];
    switch (type) {
    case SPHERE: shape->type = SHAPE_SPHERE; break;
    case BOX:
    case ELLIPSOID:
        shape->type = type == BOX ? SHAPE_BOX : SHAPE_ELLIPSOID;
        for (int k = 0; k < 3; k++) shape->size[k] = type == BOX ? 2 * size[k] : size[k];
        break;
    default:
        shape->type = type == CAPSULE ? SHAPE_CAPSULE : SHAPE_CYLINDER;
        memcpy(shape->from, ends[0], sizeof shape->from), memcpy(shape->to, ends[1], sizeof shape->to);
    }
}

static bool read_primitive(mjcf *m, mjcf_geom *g, int type, const mjcf_pose *frame, const mjcf_pose *pose)
{
    robot *const r = m->r;
    xml_element *const e = g->item.element;
    const bool round = type == CAPSULE || type == CYLINDER;
    double size[MJCF_MOST_NUMBERS] = {0}, ends[2][3];
    bool along;
    mjcf_pose at = *pose;
    if (mjcf_find(m, g->item, "mesh"))
        return robot_bad(r, e->at, "<geom>: a %s fitted to a mesh is not read; give its size, or type=\"mesh\"",
                         type_names[type]);
    const int given = mjcf_some_numbers(m, g->item, "size", 3, size);
    if (given < 0 || !read_ends(m, g, frame, ends, &along)) return false;
    if (along && (type == SPHERE)) return robot_bad(r, e->at, "<geom>: a sphere has no fromto");
    int needed = sizes[type];
    if (along) {
        double axis[3];
        needed = 1;
        for (int k = 0; k < 3; k++) axis[k] = ends[0][k] - ends[1][k], at.p[k] = (ends[0][k] + ends[1][k]) / 2;
        const double length = norm(axis, 3);
        if (!normalise(axis, 3)) return robot_bad(r, e->at, "<geom>: the points of fromto are too close");
        mjcf_turn_from_z(axis, at.q);
        size[round ? 1 : 2] = length / 2;
        if (!round) size[1] = size[0];
    } else if (round) {
        for (int i = 0; i < 2; i++) {
            const double z[3] = {0, 0, i ? size[1] : -size[1]};
            rotate(at.q, z, ends[i]);
            for (int k = 0; k < 3; k++) ends[i][k] += at.p[k];
        }
    }
    if (given < needed)
        return robot_bad(r, e->at, "<geom>: size: a %s needs %d number%s, found %d", type_names[type], needed,
                         needed == 1 ? "" : "s", given);
    for (int k = 0; k < sizes[type]; k++)
        if (!(size[k] > 0)) return robot_bad(r, e->at, "<geom>: size: a %s needs numbers > 0", type_names[type]);
    set_shape(&g->shape, type, &at, size, ends);
    return true;
}

// ---- what geoms have in common

/// rgba of the geom or its class, else that of its material; whether it can be seen.
static bool paint(mjcf *m, mjcf_geom *g)
{
    static const double gray[4] = {0.5, 0.5, 0.5, 1};
    double rgba[4];
    const char *const material = mjcf_value(m, g->item, "material");
    const int i = material && !mjcf_find(m, g->item, "rgba") ? name_table_find(&m->materials.names, material) : -1;
    const mjcf_item of = i < 0 ? g->item : mjcf_item_of(m, m->materials.list[i], -1);
    static const double white[4] = {1, 1, 1, 1};
    if (!mjcf_numbers(m, of, "rgba", 4, i < 0 ? gray : white, rgba)) return false;
    for (int k = 0; k < 3; k++) g->shape.color[k] = fmin(fmax(rgba[k], 0), 1);
    g->drawn = g->drawn && rgba[3] > 0;
    return true;
}

/// The mass of a geom, or else its density, whether it is given; false: reported.
static bool read_weight(mjcf *m, mjcf_geom *g, double *weight, bool *is_mass)
{
    static const double water[1] = {1000};
    *is_mass = mjcf_find(m, g->item, "mass");
    if (!mjcf_numbers(m, g->item, *is_mass ? "mass" : "density", 1, water, weight)) return false;
    return *weight >= 0 ||
           robot_bad(m->r, g->item.element->at, "<geom>: %s: expected a number >= 0", *is_mass ? "mass" : "density");
}

/// Whether a body's mass is that of its geoms.
static bool weighs(const mjcf *m, const mjcf_body *b)
{
    return b != m->bodies && (m->mass_from == MASS_OF_GEOMS || (m->mass_from == MASS_BY_NEED && !b->inertial));
}

bool mjcf_read_geom(mjcf *m, mjcf_geom *g)
{
    robot *const r = m->r;
    xml_element *const e = g->item.element;
    const mjcf_scope *const in = &m->scopes[g->scope];
    double group, weight;
    const double zero = 0;
    bool is_mass;
    mjcf_pose pose;
    g->shape = (scene_shape){.rotation = {1, 0, 0, 0}, .size = {1, 1, 1}, .density = NAN};
    xml_value(e, "name"), xml_value(e, "user");
    const int type = mjcf_word(m, g->item, "type", type_names, GEOM_TYPES, SPHERE);
    if (type == PLANE) return mjcf_read_plane(m, g);
    if (type < 0 || !mjcf_numbers(m, g->item, "group", 1, &zero, &group) || !read_weight(m, g, &weight, &is_mass) ||
        !mjcf_read_touch(m, g->item, &g->touch))
        return false;
    g->drawn = group < DRAWN_GROUPS;
    if (type == HFIELD) {
        const bool good = paint(m, g) && mjcf_read_field(m, g);
        g->field = true;
        return good;
    }
    g->touches = g->touch.types || g->touch.with;
    g->massive = weight > 0 && weighs(m, &m->bodies[in->body]) && group >= m->groups[0] && group <= m->groups[1];
    if (g->massive && (type == SDF || mjcf_flag(m, g->item, "shellinertia", false)))
        return robot_bad(r, e->at, "<geom>: the inertia of %s is not read; give the body an <inertial>",
                         type == SDF ? "an sdf" : "a shell");
    if (type == SDF) {
        robot_warn(r, e->at, "<geom>: an sdf is not drawn");
        return g->drawn = g->touches = false, true;
    }
    if (!paint(m, g) || !mjcf_read_pose(m, g->item, &pose)) return false;
    pose = mjcf_at(&in->pose, &pose);
    if (type == MESH ? !mjcf_read_mesh(m, g, &pose) : !read_primitive(m, g, type, &in->pose, &pose)) return false;
    if (!g->massive) return true;
    if (type != MESH) g->mass = shape_mass(&g->shape, 1);
    const double scale = is_mass ? weight / g->mass.mass : weight;
    g->mass.mass *= scale;
    for (int k = 0; k < 6; k++) g->mass.inertia[k] *= scale;
    return true;
}

// ---- nodes

void mjcf_tell_form(mjcf *m, const scene_shape *shape, const char *file, document_place at)
{
    static const char *const names[] = {[SHAPE_SPHERE] = "sphere",
                                        [SHAPE_BOX] = "box",
                                        [SHAPE_CAPSULE] = "capsule",
                                        [SHAPE_CYLINDER] = "cylinder",
                                        [SHAPE_ELLIPSOID] = "ellipsoid"};
    static const double upright[4] = {1, 0, 0, 0}, one[3] = {1, 1, 1};
    robot *const r = m->r;
    const bool turned = memcmp(shape->rotation, upright, sizeof upright) != 0;
    say_text(r, "type", file ? "mesh" : names[shape->type], at);
    if (file) {
        say_text(r, "file", file, at);
        if (memcmp(shape->size, one, sizeof one) != 0) say_numbers(r, "scale", shape->size, 3, at);
        say_unless_zero(r, "position", shape->center, 3, at);
        if (turned) say_numbers(r, "rotation", shape->rotation, 4, at);
    } else if (shape->type == SHAPE_CAPSULE || shape->type == SHAPE_CYLINDER) {
        say_numbers(r, "from", shape->from, 3, at), say_numbers(r, "to", shape->to, 3, at);
        say_number(r, "radius", shape->radius, at);
    } else {
        say_unless_zero(r, "center", shape->center, 3, at);
        if (shape->type == SHAPE_SPHERE) say_number(r, "radius", shape->radius, at);
        else say_numbers(r, shape->type == SHAPE_BOX ? "size" : "radii", shape->size, 3, at);
        if (turned && shape->type != SHAPE_SPHERE) say_numbers(r, "rotation", shape->rotation, 4, at);
    }
}

/// solid: fluids meet it; else another one of its body.
static void tell_shape(mjcf *m, const mjcf_geom *g, const double origin[3], bool solid)
{
    robot *const r = m->r;
    const document_place at = g->item.element->at;
    scene_shape shape = g->shape;
    for (int k = 0; k < 3; k++) shape.from[k] -= origin[k], shape.to[k] -= origin[k], shape.center[k] -= origin[k];
    say_open(r, NULL, NODE_MAPPING, at);
    mjcf_tell_form(m, &shape, g->file, at);
    if (g->file) say_word(r, "optional", "true", at);
    if (g->drawn) say_numbers(r, "color", shape.color, 3, at);
    else say_word(r, "draw", "false", at);
    mjcf_tell_touch(m, g);
    if (!solid) say_number(r, "density", 0, at);
    say_close(r);
}

void mjcf_tell_shapes(mjcf *m, const mjcf_body *b)
{
    bool any = false, touches = false;
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next) touches = touches || m->geoms[i].touches;
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next) {
        const mjcf_geom *const g = &m->geoms[i];
        if (g->field || (!g->drawn && !g->touches)) continue;
        if (!any) say_open(m->r, "shapes", NODE_SEQUENCE, g->item.element->at);
        any = true;
        tell_shape(m, g, b->origin, g->touches || !touches);
    }
    if (any) say_close(m->r);
}
