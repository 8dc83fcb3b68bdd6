/// Assets of MJCF by their names, and geoms that are meshes.
#include "sim/base/suggest.h"
#include "sim/scene/mjcf.h"

#include <math.h>
#include <string.h>

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

bool mjcf_find_assets(mjcf *m)
{
    return find_assets(m, "mesh", &m->meshes) && find_assets(m, "material", &m->materials) &&
           find_assets(m, "hfield", &m->fields);
}

// ---- meshes

const char *mjcf_asset_path(mjcf *m, const char *file)
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

typedef enum mesh_mass { LEGACY, EXACT, CONVEX, SHELL, MESH_MASSES } mesh_mass;

/// The area of a triangle, its middle and its normal of length 1; 0: it has none.
static double triangle(double x[3][3], double middle[3], double normal[3])
{
    double u[3], v[3];
    for (int k = 0; k < 3; k++) u[k] = x[1][k] - x[0][k], v[k] = x[2][k] - x[0][k], middle[k] = (x[0][k] + x[1][k] + x[2][k]) / 3;
    normal[0] = u[1] * v[2] - u[2] * v[1], normal[1] = u[2] * v[0] - u[0] * v[2], normal[2] = u[0] * v[1] - u[1] * v[0];
    const double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    for (int k = 0; k < 3; k++) normal[k] = length > 0 ? normal[k] / length : 0;
    return length / 2;
}

/// MuJoCo's "legacy" mass of a mesh, of density 1, in the axes of its file: the pyramids over all triangles, all counted as
/// positive, first from the middle of the surface, then from the centre of mass that comes out of this. Of convex bodies it is
/// what they enclose; of others it is more, and it does not ask whether they are closed.
static mass_properties legacy_mass(const mesh_surface *surface, const double scale[3])
{
    mass_properties p = {0};
    double middle[3] = {0}, area = 0, second[6] = {0};
    static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int pass = 0; pass < 3; pass++) {
        double sum = 0, com[3] = {0};
        const double *const apex = pass == 1 ? middle : p.com;
        for (int t = 0; t < surface->ntriangle; t++) {
            double x[3][3], center[3], normal[3];
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++)
                    x[i][k] = surface->vertices[surface->triangles[t][i]][k] * scale[k] - (pass ? apex[k] : 0);
            const double a = triangle(x, center, normal);
            if (!pass) {
                area += a;
                for (int k = 0; k < 3; k++) middle[k] += a * center[k];
                continue;
            }
            const double volume = fabs(center[0] * normal[0] + center[1] * normal[1] + center[2] * normal[2]) * a / 3;
            sum += volume;
            for (int k = 0; k < 3; k++) com[k] += volume * 0.75 * center[k];
            for (int n = 0; n < 6 && pass == 2; n++) {  // the integral of x_i x_j over the pyramid
                const int i = pairs[n][0], j = pairs[n][1];
                double products = 9 * center[i] * center[j];
                for (int c = 0; c < 3; c++) products += x[c][i] * x[c][j];
                second[n] += volume / 20 * products;
            }
        }
        if (!pass)
            for (int k = 0; k < 3; k++) middle[k] /= area;
        if (pass == 1)
            for (int k = 0; k < 3; k++) p.com[k] = middle[k] + com[k] / sum;
        p.mass = sum;
    }
    const double I[6] = {second[1] + second[2], second[0] + second[2], second[0] + second[1], -second[3], -second[4], -second[5]};
    memcpy(p.inertia, I, sizeof I);
    return p;
}

/// The mass of what a mesh encloses, of density 1, in the body's frame.
static bool exact_mass(mjcf *m, mjcf_item mesh, mjcf_geom *g)
{
    scene_shape shape = g->shape;
    int mirrored = 0;
    if (*shape.mesh->surface.flaw)
        return robot_bad(m->r, mesh.element->at,
                         "<mesh>: the surface of '%s' %s, so that it has no mass; mend it, or give the body an <inertial>",
                         printable(g->file).text, shape.mesh->surface.flaw);
    for (int k = 0; k < 3; k++) mirrored |= (shape.size[k] < 0) << k, shape.size[k] = fabs(shape.size[k]);
    if (mirrored) shape.mesh = mirrored_mesh(m->r->s->r, shape.mesh, mirrored);
    if (!shape.mesh) return false;
    g->mass = shape_mass(&shape, 1);
    return true;
}

/// The mass of a mesh geom, of density 1, in the body's frame.
static bool weigh_mesh(mjcf *m, mjcf_item mesh, mjcf_geom *g)
{
    static const char *const kinds[MESH_MASSES] = {"legacy", "exact", "convex", "shell"};
    robot *const r = m->r;
    const scene_shape *const shape = &g->shape;
    const int kind = mjcf_word(m, mesh, "inertia", kinds, MESH_MASSES, LEGACY);
    if (kind < 0) return false;
    if (kind == SHELL)
        return robot_bad(r, mesh.element->at, "<mesh>: the inertia of a shell is not read; give the body an <inertial>");
    if (kind == CONVEX) robot_warn(r, mesh.element->at, "<mesh>: its mass is that of itself, not of its convex hull");
    if (kind != LEGACY) return exact_mass(m, mesh, g);
    g->mass = legacy_mass(&shape->mesh->surface, shape->size);
    if (!(g->mass.mass > 0))
        return robot_bad(r, mesh.element->at, "<mesh>: '%s' is flat, and has no mass; give the body an <inertial>",
                         printable(g->file).text);
    rotate(shape->rotation, g->mass.com, g->mass.com);
    for (int k = 0; k < 3; k++) g->mass.com[k] += shape->center[k];
    turned_inertia(shape->rotation, g->mass.inertia, g->mass.inertia);
    return true;
}

/// Where the file's origin is and how it is turned and scaled: v' = S R' (v - c) with refpos c and refquat R.
static bool place_mesh(mjcf *m, mjcf_item mesh, const mjcf_pose *at, scene_shape *shape)
{
    static const double one[3] = {1, 1, 1}, none[3] = {0, 0, 0}, upright[4] = {1, 0, 0, 0};
    double c[3], q[4];
    shape->type = SHAPE_MESH;
    if (!(mjcf_numbers(m, mesh, "scale", 3, one, shape->size) && mjcf_numbers(m, mesh, "refpos", 3, none, c) &&
          mjcf_numbers(m, mesh, "refquat", 4, upright, q)))
        return false;
    const double *const s = shape->size;
    if (s[0] == 0 || s[1] == 0 || s[2] == 0)
        return robot_bad(m->r, mesh.element->at, "<mesh>: scale: expected numbers other than 0");
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

bool mjcf_read_mesh(mjcf *m, mjcf_geom *g, const mjcf_pose *at)
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
        g->drawn = g->touches = false;
        return true;
    }
    if (!place_mesh(m, mesh, at, &g->shape) || !(g->file = mjcf_asset_path(m, file->value))) return false;
    if (!g->massive && !g->drawn && !g->touches) return true;
    const node name = {
        .kind = NODE_SCALAR, .text = g->file, .file = file->at.file, .line = file->at.line, .column = file->at.column};
    source *const s = r->s;
    s->lenient += !g->massive;
    const bool good = read_mesh(s, &name, &g->shape.mesh);
    s->lenient -= !g->massive;
    if (!good && g->massive) return r->good = false;
    g->drawn = g->drawn && good, g->touches = g->touches && good;
    return !g->massive || weigh_mesh(m, mesh, g);
}
