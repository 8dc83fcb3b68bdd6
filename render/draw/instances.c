/// Shapes of a scene as stretched unit bodies, and where their links put them.
#include "render/draw/instances.h"

#include "render/draw/colors.h"
#include "render/draw/vectors.h"
#include "sim/model/surfaces.h"
#include "sim/scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A shape in the frame of its link.
typedef struct {
    int kind, link;
    double rotation[9], position[3], scale[3], half;
    float color[3];
} placed_shape;

struct scene_shapes {
    placed_shape *shapes;
    size_t count;
    placed_shape *fixed;  // obstacles, and the terrain
    size_t nfixed;
    mesh *meshes;
    const scene_mesh **files;            // [nmesh] that they are made of, which may be gone afterwards
    double (*middles)[3], (*halves)[3];  // [nmesh] of their surfaces
    int nmesh, links;
    double *reach;     // [links] m, how far a link's tree can be from the link's origin
    int *parents;      // [links]
    bool *free;        // [links] hangs on a free joint
    bool *welded;      // [links] cannot move
    bool *odd;         // [links] between them and the world there is an odd number of links
    bool falls;        // there is gravity
    double down[3];    // the way it pulls; 0: there is none
    bool touched;      // there is a ground that links touch
    double floor;      // m, as the scene says it; NAN: it does not
    bool slopes;       // there is a ground that is not level:
    double ground[4];  // its normal; m, its height along it
    double bones;      // m, radius of the rods of links without shapes
};

void quaternion_matrix(const double *q, double *R)
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, m, sizeof m);
}

/// A rotation whose z axis is that of the segment; its middle and half its length.
static void along(const double *from, const double *to, placed_shape *s)
{
    double x[3], y[3], z[3];
    for (int k = 0; k < 3; k++) z[k] = to[k] - from[k], s->position[k] = (from[k] + to[k]) / 2;
    s->half = vector_length(z) / 2;
    if (s->half > 0) vector_normalise(z);
    else z[2] = 1;
    vector_frame(z, x, y);
    for (int k = 0; k < 3; k++) s->rotation[3 * k] = x[k], s->rotation[3 * k + 1] = y[k], s->rotation[3 * k + 2] = z[k];
}

static placed_shape place_shape(const scene_shape *from, int link)
{
    placed_shape s = {.link = link, .color = {(float)from->color[0], (float)from->color[1], (float)from->color[2]}};
    const bool round = from->type == SHAPE_CAPSULE || from->type == SHAPE_CYLINDER;
    static const int kinds[] = {[SHAPE_SPHERE] = MESH_BALL,       [SHAPE_BOX] = MESH_BOX,        [SHAPE_CAPSULE] = MESH_CAPSULE,
                                [SHAPE_CYLINDER] = MESH_CYLINDER, [SHAPE_ELLIPSOID] = MESH_BALL, [SHAPE_MESH] = MESHES};
    s.kind = kinds[from->type];
    if (round) along(from->from, from->to, &s);
    else {
        static const double none[4] = {1, 0, 0, 0};
        quaternion_matrix(from->type == SHAPE_SPHERE ? none : from->rotation, s.rotation);
        memcpy(s.position, from->center, sizeof s.position);
    }
    for (int k = 0; k < 3; k++)
        s.scale[k] = from->type == SHAPE_BOX ? from->size[k] / 2 : from->type == SHAPE_ELLIPSOID ? from->size[k] : from->radius;
    return s;
}

/// Of a shape placed as the file has it: its own kind; the surface's middle is where the unit box has its own.
static void place_mesh(const scene_shapes *all, const scene_shape *from, placed_shape *s)
{
    int k = 0;
    while (all->files[k] != from->mesh) k++;
    s->kind += k;
    for (int i = 0; i < 3; i++) {
        s->scale[i] = from->size[i] * all->halves[k][i];
        for (int j = 0; j < 3; j++) s->position[i] += s->rotation[3 * i + j] * from->size[j] * all->middles[k][j];
    }
}

/// Farthest point of the shape from the origin of its link, at most.
static double shape_reach(const placed_shape *s)
{
    const bool corners = s->kind == MESH_BOX || s->kind >= MESHES;
    const double most = corners ? vector_length(s->scale) : fmax(s->scale[0], fmax(s->scale[1], s->scale[2]));
    return vector_length(s->position) + s->half + most;
}

/// A rod in a link without shapes, from its origin to `to`; neighbours differ in colour.
static placed_shape rod(const double *to, double radius, int link)
{
    float color[3];
    color_palette(link, color);
    const scene_shape bone = {
        .type = SHAPE_CAPSULE, .to = {to[0], to[1], to[2]}, .radius = radius, .color = {color[0], color[1], color[2]}};
    return place_shape(&bone, link);
}

/// Lengths of the tree that a link carries, beginning at its leaves.
static void find_reaches(scene_shapes *s, const ctn_scene *scene)
{
    for (size_t k = 0; k < s->count; k++)
        s->reach[s->shapes[k].link] = fmax(s->reach[s->shapes[k].link], shape_reach(&s->shapes[k]));
    for (int i = s->links - 1; i >= 0; i--) {
        const scene_link *const l = &scene->links[i];
        const bool slides = l->joint.type == CTN_PRISMATIC || l->joint.type == CTN_PLANAR;
        s->reach[i] = fmax(s->reach[i], vector_length(l->com));
        if (l->parent >= 0)
            s->reach[l->parent] = fmax(s->reach[l->parent], vector_length(l->position) + s->reach[i] * (slides ? 1.5 : 1));
    }
}

/// Neighbours of one colour have different shades: what has a colour that its link's parent shows is in the other shade.
/// first [links + 1]: of each link's shapes
static void shade_shapes(scene_shapes *s, const size_t *first)
{
    for (int i = 0; i < s->links; i++) {
        const int parent = s->parents[i];
        for (size_t k = first[i]; k < first[i + 1] && parent >= 0; k++) {
            const placed_shape *at = s->shapes + first[parent], *const end = s->shapes + first[parent + 1];
            while (at < end && memcmp(at->color, s->shapes[k].color, sizeof at->color)) at++;
            if (at < end) color_shade(s->shapes[k].color);
        }
    }
}

/// The mesh of a file that something drawn is of.
static bool make_mesh(scene_shapes *s, const scene_mesh *of)
{
    int k = 0;
    while (k < s->nmesh && s->files[k] != of) k++;
    if (k < s->nmesh) return true;
    s->files[k] = of;
    s->meshes[k] = mesh_of_surface(&of->surface, s->middles[k], s->halves[k]);
    if (!s->meshes[k].vertices) return false;
    s->nmesh++;
    return true;
}

static bool make_meshes(scene_shapes *s, const ctn_scene *scene)
{
    const size_t n = (size_t)scene->nmesh + 2;  // and the terrain
    s->meshes = calloc(n, sizeof *s->meshes), s->files = calloc(n, sizeof *s->files);
    s->middles = calloc(n, sizeof *s->middles), s->halves = calloc(n, sizeof *s->halves);
    bool ok = s->meshes && s->files && s->middles && s->halves;
    for (int i = 0; i < scene->nlink; i++)
        for (int k = 0; k < scene->links[i].nshape && ok; k++) {
            const scene_shape *const shape = &scene->links[i].shapes[k];
            ok = !shape->mesh || shape->hidden || make_mesh(s, shape->mesh);
        }
    for (int k = 0; k < scene->contact.nobstacle && ok; k++) {
        const scene_shape *const shape = &scene->contact.obstacles[k].shape;
        ok = !shape->mesh || shape->hidden || make_mesh(s, shape->mesh);
    }
    return ok;
}

/// Rods for links without shapes: to where their children are, and to their centres of mass. A link that has a child with shapes
/// at its own place, as the sides of a twisting joint, is shown by these. scratch [links], cleared.
static void add_rods(scene_shapes *s, const ctn_scene *scene, size_t *scratch)
{
    for (int i = 0; i < s->links; i++) {
        const scene_link *const l = &scene->links[i];
        if (l->parent >= 0 && l->nshape && !(vector_length(l->position) > 0)) scratch[l->parent] = 1;
    }
    for (int i = 0; i < s->links; i++) {
        const scene_link *const l = &scene->links[i];
        if (l->parent >= 0 && !scene->links[l->parent].nshape && vector_length(l->position) > 0)
            s->shapes[s->count++] = rod(l->position, s->bones, l->parent);
        if (!l->nshape && l->mass > 0 && !scratch[i]) s->shapes[s->count++] = rod(l->com, s->bones, i);
    }
}

// ---- what is fixed in the world

/// Nodes of a terrain's mesh along a side of n: as many or, of few, more between them.
static int nodes_of_side(int n)
{
    enum { LEAST = 96, MOST = 256 };
    return n - 1 >= MOST ? MOST + 1 : n - 1 >= LEAST ? n : (n - 1) * ((LEAST + n - 2) / (n - 1)) + 1;
}

/// The surface of a terrain about its middle, which is seen from below, too. False: no memory.
static bool terrain_surface(const scene_terrain *t, const fixed_surface *f, mesh_surface *m)
{
    const int nx = nodes_of_side(t->columns), ny = nodes_of_side(t->rows);
    *m = (mesh_surface){.flaw = "is open"};
    m->vertices = calloc((size_t)nx * (size_t)ny, sizeof *m->vertices);
    m->triangles = calloc(2 * (size_t)(nx - 1) * (size_t)(ny - 1), sizeof *m->triangles);
    if (!m->vertices || !m->triangles) return false;
    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++) {
            double *const x = m->vertices[m->nvertex++];
            x[0] = t->size[0] * ((double)i / (nx - 1) - 0.5), x[1] = t->size[1] * ((double)j / (ny - 1) - 0.5);
            x[2] = terrain_height(f, x[0], x[1]);
        }
    for (int j = 0; j + 1 < ny; j++)
        for (int i = 0; i + 1 < nx; i++) {
            const int a = j * nx + i, corners[2][3] = {{a, a + 1, a + nx + 1}, {a, a + nx + 1, a + nx}};
            memcpy(m->triangles[m->ntriangle], corners, sizeof corners), m->ntriangle += 2;
        }
    return true;
}

static bool add_terrain(scene_shapes *s, const ctn_scene *scene, const ctn_model *model)
{
    const scene_terrain *const t = &scene->contact.terrain;
    scene_mesh of = {.good = true};
    if (!t->columns || t->hidden) return true;
    const bool ok = terrain_surface(t, &model->surfaces[model->nsurface - 1], &of.surface) && make_mesh(s, &of);
    if (ok) {
        scene_shape as = {.type = SHAPE_MESH, .size = {1, 1, 1}, .mesh = &of};
        memcpy(as.center, t->position, sizeof as.center), memcpy(as.rotation, t->rotation, sizeof as.rotation);
        memcpy(as.color, t->color, sizeof as.color);
        placed_shape *const shape = &s->fixed[s->nfixed++];
        *shape = place_shape(&as, -1), place_mesh(s, &as, shape);
    }
    mesh_clear(&of.surface);
    return ok;
}

static bool add_fixed(scene_shapes *s, const ctn_scene *scene, const ctn_model *model)
{
    const scene_contact *const c = &scene->contact;
    s->fixed = calloc((size_t)c->nobstacle + 1, sizeof *s->fixed);
    for (int k = 0; k < c->nobstacle && s->fixed; k++)
        if (!c->obstacles[k].shape.hidden) {
            placed_shape *const shape = &s->fixed[s->nfixed++];
            *shape = place_shape(&c->obstacles[k].shape, -1);
            if (c->obstacles[k].shape.mesh) place_mesh(s, &c->obstacles[k].shape, shape);
        }
    return s->fixed && add_terrain(s, scene, model);
}

scene_shapes *scene_shapes_create(const ctn_scene *scene, const ctn_model *model)
{
    scene_shapes *const s = calloc(1, sizeof *s);
    size_t room = 1;
    if (!s) return NULL;
    s->links = scene->nlink;
    for (int i = 0; i < s->links; i++) room += (size_t)scene->links[i].nshape + 2;  // and two rods
    s->shapes = calloc(room, sizeof *s->shapes), s->reach = calloc((size_t)s->links + 1, sizeof *s->reach);
    s->parents = calloc((size_t)s->links + 1, sizeof *s->parents), s->free = calloc((size_t)s->links + 1, sizeof *s->free);
    s->welded = calloc((size_t)s->links + 1, sizeof *s->welded), s->odd = calloc((size_t)s->links + 1, sizeof *s->odd);
    size_t *const first = calloc((size_t)s->links + 1, sizeof *first);  // of each link's shapes
    if (!s->shapes || !s->reach || !s->parents || !s->free || !s->welded || !s->odd || !first || !make_meshes(s, scene) ||
        !add_fixed(s, scene, model)) {
        scene_shapes_free(s), free(first);
        return NULL;
    }
    double g[3], size = 0;
    ctn_model_gravity(model, g);
    s->falls = vector_length(g) > 0, s->floor = scene->floor, s->touched = scene->contact.ground;
    for (int k = 0; k < 3 && s->falls; k++) s->down[k] = g[k] / vector_length(g);
    s->slopes = scene->contact.ground && scene->contact.normal[2] < 1;
    memcpy(s->ground, scene->contact.normal, sizeof scene->contact.normal), s->ground[3] = scene->contact.height;
    if (s->slopes && isnan(s->floor)) s->floor = -INFINITY;  // what slopes is enough
    for (int i = 0; i < s->links; i++) {
        const scene_link *const l = &scene->links[i];
        s->parents[i] = l->parent, s->free[i] = l->joint.type == CTN_FREE;
        s->welded[i] = l->joint.type == CTN_FIXED && (l->parent < 0 || s->welded[l->parent]);
        s->odd[i] = l->parent >= 0 && !s->odd[l->parent];
        for (int k = 0; k < l->nshape; k++) {
            if (l->shapes[k].hidden) continue;
            placed_shape *const shape = &s->shapes[s->count++];
            *shape = place_shape(&l->shapes[k], i);
            if (l->shapes[k].mesh) place_mesh(s, &l->shapes[k], shape);
        }
        first[i + 1] = s->count;
    }
    shade_shapes(s, first);
    find_reaches(s, scene);
    for (int i = 0; i < s->links; i++) size = fmax(size, s->reach[i]);
    s->bones = size > 0 ? 0.02 * size : 0.01;
    memset(first, 0, ((size_t)s->links + 1) * sizeof *first);
    add_rods(s, scene, first), free(first);
    return s;
}

void scene_shapes_free(scene_shapes *s)
{
    if (!s) return;
    for (int k = 0; k < s->nmesh; k++) mesh_free(&s->meshes[k]);
    free(s->meshes), free(s->files), free(s->middles), free(s->halves);
    free(s->fixed), free(s->shapes), free(s->reach), free(s->parents), free(s->free), free(s->welded), free(s->odd);
    free(s);
}

const mesh *scene_shapes_meshes(const scene_shapes *s, int *count)
{
    *count = s->nmesh;
    return s->meshes;
}

/// How far a shape reaches below its own position, at a link turned by R, m.
static double shape_depth(const placed_shape *s, const double *R)
{
    const bool ball = s->kind == MESH_BALL || s->kind == MESH_CAPSULE;
    double down[3] = {0}, sum = 0;  // what the link's turn makes of the shape's axes, upwards
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) down[k] += R[6 + i] * s->rotation[3 * i + k];
    for (int k = 0; k < 3; k++) {
        const double x = down[k] * s->scale[k];
        sum += ball ? x * x : fabs(x);
    }
    if (s->kind == MESH_CYLINDER) return fabs(down[2]) * s->half + hypot(down[0] * s->scale[0], down[1] * s->scale[1]);
    return fabs(down[2]) * s->half + (ball ? sqrt(sum) : sum);
}

/// Where the floor is, unless the scene says it. What is fixed stands on it if nothing is lower and what moves is well above: it
/// does not hang. What is free to fall begins there, or falls towards the height 0. Else, and without gravity, it lies under all
/// that can be reached.
static double find_floor(const scene_shapes *s, const scene_extent *e, const double *R, const double *p)
{
    double fixed = INFINITY, all = INFINITY, middle = 0, moving = 0;  // m: lowest points; mean height of so many shapes that move
    if (!isnan(s->floor)) return s->floor;
    for (size_t n = 0; n < s->count; n++) {
        const placed_shape *const shape = &s->shapes[n];
        const double *const Rl = R + 9 * (size_t)shape->link;
        const double height = p[3 * (size_t)shape->link + 2] + vector_dot(Rl + 6, shape->position),
                     low = height - shape_depth(shape, Rl);
        all = fmin(all, low);
        if (s->welded[shape->link]) fixed = fmin(fixed, low);
        else middle += height, moving++;
    }
    const bool stands = fixed <= all && (!(moving > 0) || middle / moving - fixed > 0.25 * e->radius);
    if (isfinite(all) && !stands && e->travels && s->falls && all > 0) return 0;
    if (isfinite(all) && (stands || (e->travels && s->falls))) return all - 1e-3 * e->radius;
    return e->center[2] - 1.02 * e->radius;
}

/// The middle of a box about what is drawn of the links, and half its diagonal.
static double find_box(const scene_shapes *s, const double *R, const double *p, double *center)
{
    double from[3] = {INFINITY, INFINITY, INFINITY}, to[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t n = 0; n < s->count; n++) {
        const placed_shape *const shape = &s->shapes[n];
        const double *const Rl = R + 9 * (size_t)shape->link, most = shape_reach(shape) - vector_length(shape->position);
        for (int i = 0; i < 3; i++) {
            double at = p[3 * shape->link + i];
            for (int k = 0; k < 3; k++) at += Rl[3 * i + k] * shape->position[k];
            from[i] = fmin(from[i], at - most), to[i] = fmax(to[i], at + most);
        }
    }
    const double d[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    for (int k = 0; k < 3; k++) center[k] = (from[k] + to[k]) / 2;
    return 0.5 * vector_length(d);
}

scene_extent scene_shapes_extent(const scene_shapes *s, const double *R, const double *p)
{
    scene_extent e = {.radius = 0};
    int roots = 0;
    for (int i = 0; i < s->links; i++) {
        if (s->parents[i] >= 0) continue;
        roots++, e.travels = e.travels || s->free[i];
        for (int k = 0; k < 3; k++) e.center[k] += p[3 * i + k];
    }
    for (int k = 0; k < 3 && roots; k++) e.center[k] /= roots;
    for (int i = 0; i < s->links; i++) {
        if (s->parents[i] >= 0) continue;
        const double d[3] = {p[3 * i] - e.center[0], p[3 * i + 1] - e.center[1], p[3 * i + 2] - e.center[2]};
        e.radius = fmax(e.radius, vector_length(d) + s->reach[i]);
    }
    if (e.radius <= 0) e.radius = 1;
    e.floor = find_floor(s, &e, R, p);
    if (!e.travels || !s->count) return e;
    e.radius = 1.3 * find_box(s, R, p, e.center);  // what is drawn of free trees is about where it is
    e.floor = find_floor(s, &e, R, p);
    return e;
}

scene_reach scene_shapes_reach(const scene_shapes *s, const double *R, const double *p, const double *shift)
{
    enum { BESIDE = 2, BELOW = 10 };  // of free trees, in radii: how far what is near is from their middle
    const scene_extent e = scene_shapes_extent(s, R, p);
    scene_reach r = {.radius = e.radius, .reach = e.radius, .fall = 1, .ground = s->touched};
    memcpy(r.center, e.center, sizeof r.center), memcpy(r.from, e.center, sizeof r.from);
    memcpy(r.down, s->down, sizeof r.down), memcpy(r.normal, s->ground, sizeof r.normal);
    r.height = s->ground[3] + vector_dot(r.normal, shift);
    if (s->count) r.radius = find_box(s, R, p, r.center);
    if (e.travels) r.reach = BESIDE * r.radius, r.fall = (double)BELOW / BESIDE;
    return r;
}

/// Room for more kinds of bodies.
static bool grow_kinds(instance_list *list, int kinds)
{
    const size_t n = (size_t)kinds;
    render_instance **const of = realloc(list->of, n * sizeof *of);
    if (of) list->of = of;
    size_t *const count = of ? realloc(list->count, n * sizeof *count) : NULL;
    if (count) list->count = count;
    size_t *const room = count ? realloc(list->room, n * sizeof *room) : NULL;
    if (!room) return false;
    list->room = room;
    for (; list->kinds < kinds; list->kinds++) of[list->kinds] = NULL, count[list->kinds] = room[list->kinds] = 0;
    return true;
}

static bool add(instance_list *list, int kind, const render_instance *x)
{
    if (list->count[kind] == list->room[kind]) {
        const size_t room = list->room[kind] ? 2 * list->room[kind] : 64;
        render_instance *const more = realloc(list->of[kind], room * sizeof *more);
        if (!more) return false;
        list->of[kind] = more, list->room[kind] = room;
    }
    list->of[kind][list->count[kind]++] = *x;
    return true;
}

/// A shape of what is at R, p.
static render_instance place_instance(const placed_shape *shape, const double *R, const double *p)
{
    render_instance x = {.half = (float)shape->half};
    for (int i = 0; i < 3; i++) {
        double at = p[i];
        for (int k = 0; k < 3; k++) at += R[3 * i + k] * shape->position[k];
        x.position[i] = (float)at, x.scale[i] = (float)shape->scale[i];
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += R[3 * i + k] * shape->rotation[3 * k + j];
            x.rotation[3 * i + j] = (float)sum;
        }
    }
    return x;
}

bool scene_shapes_place_fixed(const scene_shapes *s, const double *offset, instance_list *list)
{
    static const double here[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (list->kinds < MESHES + s->nmesh && !grow_kinds(list, MESHES + s->nmesh)) return false;
    for (size_t n = 0; n < s->nfixed; n++) {
        render_instance x = place_instance(&s->fixed[n], here, offset);
        memcpy(x.color, s->fixed[n].color, sizeof x.color), x.fade = list->fade;
        if (!add(list, s->fixed[n].kind, &x)) return false;
    }
    return true;
}

bool scene_shapes_place(const scene_shapes *s, const double *R, const double *p, int64_t world, const float (*colors)[3],
                        instance_list *list)
{
    if (list->kinds < MESHES + s->nmesh && !grow_kinds(list, MESHES + s->nmesh)) return false;
    for (size_t n = 0; n < s->count; n++) {
        const placed_shape *const shape = &s->shapes[n];
        const double *const Rl = R + 9 * (size_t)shape->link, *const pl = p + 3 * (size_t)shape->link;
        render_instance x = place_instance(shape, Rl, pl);
        x.fade = list->fade, x.lift = s->odd[shape->link];
        x.id = world == SHAPES_WITHOUT_ID ? 0 : (uint32_t)world * (uint32_t)s->links + (uint32_t)shape->link + 1;
        memcpy(x.color, colors ? colors[shape->link] : shape->color, sizeof x.color);
        if (!add(list, shape->kind, &x)) return false;
    }
    return true;
}

bool scene_shapes_ground(const scene_shapes *s, const scene_extent *one, const double *shift, double reach, instance_list *list)
{
    const double *const n = s->ground, thickness = 0.01 * one->radius, size = reach * one->radius;
    double across[3], up[3];
    render_instance x = {
        .scale = {(float)size, (float)size, (float)thickness}, .color = {0.62f, 0.65f, 0.68f}, .fade = list->fade};
    if (!s->slopes) return true;
    if (list->kinds < MESHES + s->nmesh && !grow_kinds(list, MESHES + s->nmesh)) return false;
    vector_frame(n, across, up);
    const double over = vector_dot(n, one->center) - n[3] + thickness;
    for (int k = 0; k < 3; k++) {
        x.position[k] = (float)(one->center[k] - over * n[k] + shift[k]);
        x.rotation[3 * k] = (float)across[k], x.rotation[3 * k + 1] = (float)up[k], x.rotation[3 * k + 2] = (float)n[k];
    }
    return add(list, MESH_BOX, &x);
}

void instance_list_clear(instance_list *list)
{
    list->fade = 0;
    for (int k = 0; k < list->kinds; k++) list->count[k] = 0;
}

void instance_list_free(instance_list *list)
{
    for (int k = 0; k < list->kinds; k++) free(list->of[k]);
    free(list->of), free(list->count), free(list->room);
    memset(list, 0, sizeof *list);
}
