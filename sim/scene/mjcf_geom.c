/// Geoms of MJCF as shapes, with the mass that each has of its own.
#include "sim/base/suggest.h"
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF, GEOM_TYPES };
enum { DRAWN_GROUPS = 3 };  // 0, 1, 2, as in MuJoCo's viewer at its start

static const char *const type_names[GEOM_TYPES] = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                                   "cylinder", "box",    "mesh",   "sdf"};
static const int sizes[GEOM_TYPES] = {[SPHERE] = 1, [CAPSULE] = 2, [ELLIPSOID] = 3, [CYLINDER] = 2, [BOX] = 3};

// ---- assets

static const char *base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/' || *path == '\\') name = path + 1;
    return name;
}

/// The name of an asset: its own, else that of its file.
static const char *asset_name(const void *of, int i)
{
    xml_element *const e = ((const mjcf_assets *)of)->list[i];
    const char *const name = xml_value(e, "name");
    return name ? name : xml_value(e, "file");
}

/// A file's name is the asset's without folders and ending.
static bool name_by_file(mjcf *m, xml_element *e)
{
    xml_attribute *const file = xml_find(e, "file");
    if (xml_find(e, "name") || !file) return true;
    const char *const base = base_name(file->value), *const dot = strrchr(base, '.');
    const size_t length = dot ? (size_t)(dot - base) : strlen(base);
    char *const name = mjcf_text(m, length);
    xml_attribute *const list = name ? document_take(&m->r->xml->memory, ((size_t)e->count + 1) * sizeof *list) : NULL;
    if (!list) return false;
    memcpy(name, base, length);
    name[length] = 0;
    memcpy(list, e->attributes, (size_t)e->count * sizeof *list);
    list[e->count] = (xml_attribute){.name = "name", .value = name, .at = file->at, .used = true};
    e->attributes = list, e->count++;
    return true;
}

static bool find_assets(mjcf *m, const char *kind, mjcf_assets *assets)
{
    robot *const r = m->r;
    int count = 0;
    for (xml_element *a = xml_next(r->root->child, "asset"); a; a = xml_next(a->next, "asset"))
        for (xml_element *e = a->child; e; e = e->next) count += !strcmp(e->name, kind);
    assets->names = (name_table){.name = asset_name, .of = assets};
    assets->list = reader_alloc(r->s->r, ((size_t)count + 1) * sizeof *assets->list);
    if (!assets->list) return false;
    for (xml_element *a = xml_next(r->root->child, "asset"); a; a = xml_next(a->next, "asset")) {
        for (xml_element *e = xml_next(a->child, kind); e; e = xml_next(e->next, kind)) {
            xml_use_all(e);  // what else it has is for pictures
            if (!name_by_file(m, e)) return false;
            assets->list[assets->count] = e;
            const char *const name = asset_name(assets, assets->count);
            if (!name || name_table_find(&assets->names, name) >= 0) {
                robot_bad(r, e->at, name ? "<%s>: the name '%s' is there already" : "<%s>: missing attribute name=\"...\"%s",
                          kind, name ? printable(name).text : "");
                continue;
            }
            if (!name_table_add(&assets->names, assets->count)) return out_of_memory(r->s);
            assets->count++;
        }
    }
    return true;
}

bool mjcf_find_assets(mjcf *m) { return find_assets(m, "mesh", &m->meshes) && find_assets(m, "material", &m->materials); }

// ---- meshes

/// The path of a mesh file as a scene beside the model names it.
static const char *asset_path(mjcf *m, const char *file)
{
    if (m->strip_path) file = base_name(file);
    const size_t folder = *file == '/' ? 0 : strlen(m->mesh_folder);
    const bool slash = folder && m->mesh_folder[folder - 1] != '/';
    char *const path = mjcf_text(m, folder + slash + strlen(file));
    if (!path) return NULL;
    memcpy(path, m->mesh_folder, folder);
    if (slash) path[folder] = '/';
    strcpy(path + folder + slash, file);
    return path;
}

/// Where the file's origin is and how it is turned and scaled: v' = S R' (v - c) with refpos c and refquat R.
static bool place_mesh(mjcf *m, mjcf_item mesh, const mjcf_pose *at, scene_shape *shape)
{
    static const double one[3] = {1, 1, 1}, none[3] = {0, 0, 0}, upright[4] = {1, 0, 0, 0};
    double c[3], q[4];
    shape->type = SHAPE_MESH;
    if (!(mjcf_numbers(m, mesh, "scale", 3, one, shape->size) & mjcf_numbers(m, mesh, "refpos", 3, none, c) &
          mjcf_numbers(m, mesh, "refquat", 4, upright, q)))
        return false;
    const double *const s = shape->size;
    if (!normalise(q, 4)) return robot_bad(m->r, mesh.element->at, "<mesh>: refquat is too short to be a direction");
    if (memcmp(q, upright, sizeof q) != 0 && (s[0] != s[1] || s[1] != s[2]))
        return robot_bad(m->r, mesh.element->at, "<mesh>: refquat with a scale that differs from axis to axis is not read");
    for (int k = 1; k < 4; k++) q[k] = -q[k];
    rotate(q, c, c);
    for (int k = 0; k < 3; k++) c[k] *= -s[k];
    rotate(at->q, c, c);
    for (int k = 0; k < 3; k++) shape->center[k] = at->p[k] + c[k];
    quaternion_product(at->q, q, shape->rotation);
    return true;
}

/// The mesh of a geom, from its asset. What only is to be drawn may be missing.
static bool read_mesh_geom(mjcf *m, mjcf_geom *g, const mjcf_pose *at)
{
    robot *const r = m->r;
    const xml_attribute *const a = mjcf_find(m, g->item, "mesh");
    if (!a) return robot_bad(r, g->item.element->at, "<geom>: missing attribute mesh=\"...\"");
    const int i = name_table_find(&m->meshes.names, a->value);
    if (i < 0) {
        const char *names[1000];
        int n = 0;
        for (; n < m->meshes.count && n < 1000; n++) names[n] = asset_name(&m->meshes, n);
        const char *const meant = nearest_name(a->value, names, n);
        return robot_bad(r, a->at, "mesh: unknown mesh '%s'%s%s%s", printable(a->value).text, meant ? "; did you mean '" : "",
                         meant ? printable(meant).text : "; <asset> has none of this name", meant ? "'?" : "");
    }
    const mjcf_item mesh = mjcf_item_of(m, m->meshes.list[i], -1);
    const xml_attribute *const file = xml_find(mesh.element, "file");
    if (!file && g->massive)
        return robot_bad(r, mesh.element->at,
                         "<mesh>: without a file it is not read; give the body an <inertial>, or write it to "
                         "an .obj or .stl file");
    if (!file) {
        robot_warn(r, mesh.element->at, "<mesh>: without a file it is not read, nor drawn");
        g->drawn = false;
        return true;
    }
    const char *const kind = mjcf_value(m, mesh, "inertia");
    if (g->massive && kind && !strcmp(kind, "shell"))
        return robot_bad(r, mesh.element->at, "<mesh>: the inertia of a shell is not read; give the body an <inertial>");
    if (!place_mesh(m, mesh, at, &g->shape) || !(g->file = asset_path(m, file->value))) return false;
    if (!g->massive && !g->drawn) return true;
    const node name = {
        .kind = NODE_SCALAR, .text = g->file, .file = file->at.file, .line = file->at.line, .column = file->at.column};
    source *const s = r->s;
    s->lenient += !g->massive;
    const bool good = read_mesh(s, &name, &g->shape.mesh);
    s->lenient -= !g->massive;
    if (!good && g->massive) return r->good = false;
    g->drawn = g->drawn && good;
    if (g->massive && *g->shape.mesh->surface.flaw)
        return robot_bad(r, file->at, "the surface of '%s' %s, so that it has no mass; mend it, or give the body an <inertial>",
                         printable(g->file).text, g->shape.mesh->surface.flaw);
    return true;
}

// ---- shapes

/// The ends of an axis, as given or as those of a bar along z.
static bool read_ends(mjcf *m, const mjcf_geom *g, const mjcf_pose *frame, double ends[2][3], bool *given)
{
    const xml_attribute *const a = mjcf_find(m, g->item, "fromto");
    *given = a;
    if (!a) return true;
    if (!robot_list(m->r, a, 6, 6, ends[0])) return false;
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
static bool read_rgba(mjcf *m, mjcf_geom *g)
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

/// What belongs to contact, and names.
static void pass_contact(mjcf *m, xml_element *e)
{
    static const char *const contact[] = {"contype", "conaffinity", "condim", "friction", "solref",
                                          "solimp",  "solmix",      "margin", "gap",      "priority"};
    for (size_t k = 0; k < sizeof contact / sizeof *contact; k++) {
        const xml_attribute *const a = xml_find(e, contact[k]);
        if (a) mjcf_pass(&m->contact, a->at);
    }
    xml_value(e, "name"), xml_value(e, "user");
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
    pass_contact(m, e);
    const int type = mjcf_word(m, g->item, "type", type_names, GEOM_TYPES, SPHERE);
    if (type == PLANE || type == HFIELD) {
        mjcf_pass(&m->ground, e->at);
        xml_use_all(e);
        return true;
    }
    if (type < 0 || !mjcf_numbers(m, g->item, "group", 1, &zero, &group) || !read_weight(m, g, &weight, &is_mass)) return false;
    g->drawn = group < DRAWN_GROUPS;
    g->massive = weight > 0 && weighs(m, &m->bodies[in->body]) && group >= m->groups[0] && group <= m->groups[1];
    if (g->massive && (type == SDF || mjcf_flag(m, g->item, "shellinertia", false)))
        return robot_bad(r, e->at, "<geom>: the inertia of %s is not read; give the body an <inertial>",
                         type == SDF ? "an sdf" : "a shell");
    if (type == SDF) {
        robot_warn(r, e->at, "<geom>: an sdf is not drawn");
        return g->drawn = false, true;
    }
    if (!read_rgba(m, g) || !mjcf_read_pose(m, g->item, &pose)) return false;
    pose = mjcf_at(&in->pose, &pose);
    if (type == MESH ? !read_mesh_geom(m, g, &pose) : !read_primitive(m, g, type, &in->pose, &pose)) return false;
    if (!g->massive) return true;
    g->mass = shape_mass(&g->shape, 1);
    const double scale = is_mass ? weight / g->mass.mass : weight;
    g->mass.mass *= scale;
    for (int k = 0; k < 6; k++) g->mass.inertia[k] *= scale;
    return true;
}

// ---- nodes

static void tell_shape(mjcf *m, const mjcf_geom *g, const double origin[3])
{
    static const char *const names[] = {[SHAPE_SPHERE] = "sphere",
                                        [SHAPE_BOX] = "box",
                                        [SHAPE_CAPSULE] = "capsule",
                                        [SHAPE_CYLINDER] = "cylinder",
                                        [SHAPE_ELLIPSOID] = "ellipsoid"};
    static const double upright[4] = {1, 0, 0, 0}, one[3] = {1, 1, 1};
    robot *const r = m->r;
    const scene_shape *const shape = &g->shape;
    const document_place at = g->item.element->at;
    double from[3], to[3], center[3];
    for (int k = 0; k < 3; k++)
        from[k] = shape->from[k] - origin[k], to[k] = shape->to[k] - origin[k], center[k] = shape->center[k] - origin[k];
    const bool turned = memcmp(shape->rotation, upright, sizeof upright) != 0;
    say_open(r, NULL, NODE_MAPPING, at);
    say_text(r, "type", g->file ? "mesh" : names[shape->type], at);
    if (g->file) {
        say_text(r, "file", g->file, at);
        if (memcmp(shape->size, one, sizeof one) != 0) say_numbers(r, "scale", shape->size, 3, at);
        say_unless_zero(r, "position", center, 3, at);
        if (turned) say_numbers(r, "rotation", shape->rotation, 4, at);
        say_word(r, "optional", "true", at);
    } else if (shape->type == SHAPE_CAPSULE || shape->type == SHAPE_CYLINDER) {
        say_numbers(r, "from", from, 3, at), say_numbers(r, "to", to, 3, at);
        say_number(r, "radius", shape->radius, at);
    } else {
        say_unless_zero(r, "center", center, 3, at);
        if (shape->type == SHAPE_SPHERE) say_number(r, "radius", shape->radius, at);
        else say_numbers(r, shape->type == SHAPE_BOX ? "size" : "radii", shape->size, 3, at);
        if (turned && shape->type != SHAPE_SPHERE) say_numbers(r, "rotation", shape->rotation, 4, at);
    }
    say_numbers(r, "color", shape->color, 3, at);
    say_close(r);
}

void mjcf_tell_shapes(mjcf *m, const mjcf_body *b)
{
    bool any = false;
    for (int i = b->first_geom; i >= 0; i = m->geoms[i].next) {
        if (!m->geoms[i].drawn) continue;
        if (!any) say_open(m->r, "shapes", NODE_SEQUENCE, m->geoms[i].item.element->at);
        any = true;
        tell_shape(m, &m->geoms[i], b->origin);
    }
    if (any) say_close(m->r);
}
