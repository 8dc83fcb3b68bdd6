/// The points at which links touch what is fixed in the world: rounded points of their shapes, each with an entry for every
/// surface, and how stiff each of them is.
#include "sim/model/contact_points.h"

#include "sim/base/parameter_kinds.h"
#include "sim/base/status.h"
#include "sim/model/between.h"
#include "sim/model/model.h"
#include "sim/model/solid_points.h"
#include "sim/model/surfaces.h"

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed here
#include "contact/law.h"
#pragma GCC diagnostic pop

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// How deep a tree sinks where one point carries all of it, by its extent. Less asks for more iterations. (docs/theory.md 4.12)
#define DEPTH_OF_EXTENT 0.005

enum {
    MOST_POINTS = 8 + 12 * (MOST_EDGE_POINTS - 2),  // of a shape: of a box
    MOST_ENTRIES = 65536,                           // of a model: points times surfaces
};

/// Point k of the n inside the edges of a box, or its corners, as shares of its lengths from its middle: first corners, then the
/// edges along x, y and z. Those of an edge are opposite to those of the edge across the middle, in reverse.
static void box_point(int k, int inside, double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = k & 1 << i ? 0.5 : -0.5;
    if (k < 8) return;
    const int axis = (k - 8) / (4 * inside), edge = (k - 8) / inside % 4, at = (k - 8) % inside;
    c[axis] = (edge < 2 ? 1 : -1) * ((at + 1.0) / (inside + 1) - 0.5);
    c[(axis + 1) % 3] = edge & 1 ? 0.5 : -0.5, c[(axis + 2) % 3] = edge & 2 ? 0.5 : -0.5;  // edge 3 - e is opposite to e
}

/// Which point of the shape is opposite to point k; itself: none.
static int opposite_point(const scene_shape *s, int k)
{
    const int inside = s->points > 2 ? s->points - 2 : 0;
    if (s->type == SHAPE_CYLINDER) return opposite_on_cylinder(k);
    if (s->type != SHAPE_BOX) return k;
    if (k < 8) return 7 - k;
    const int edge = (k - 8) / inside % 4, first = k - (k - 8) % (4 * inside);
    return first + (3 - edge) * inside + (k - 8) % inside;
}

/// Of a box whose edges are said to be round: the corners of its core.
static int box_points(const scene_shape *s, int inside, rounded_point *to)
{
    const double round = isnan(s->rounding) ? 0 : s->rounding;
    double R[9], c[3];
    rotation_matrix(s->rotation, R);
    for (int k = 0; k < 8 + 12 * inside; k++) {
        box_point(k, inside, c);
        for (int i = 0; i < 3; i++) c[i] *= s->size[i] - 2 * round;
        for (int i = 0; i < 3; i++) to[k].at[i] = s->center[i] + R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2];
        to[k].radius = round;
    }
    return 8 + 12 * inside;
}

/// The rounded points of a shape; to [MOST_POINTS]. Returns how many; 0: a mesh that could not be read.
static int shape_points(const ctn_scene *scene, const scene_shape *s, rounded_point *to)
{
    const int inside = s->points > 2 ? s->points - 2 : 0;
    switch (s->type) {
    case SHAPE_SPHERE: memcpy(to->at, s->center, sizeof to->at), to->radius = s->radius; return 1;
    case SHAPE_CAPSULE:
        for (int k = 0; k < 2 + inside; k++) to[k].radius = s->radius;
        memcpy(to[0].at, s->from, sizeof to->at), memcpy(to[1 + inside].at, s->to, sizeof to->at);
        for (int k = 1; k <= inside; k++)
            for (int i = 0; i < 3; i++) to[k].at[i] = s->from[i] + (s->to[i] - s->from[i]) * k / (inside + 1);
        return 2 + inside;
    case SHAPE_BOX: return box_points(s, inside, to);
    case SHAPE_CYLINDER: return cylinder_points(s, to);
    case SHAPE_ELLIPSOID: return ellipsoid_points(s, to);
    case SHAPE_MESH: return mesh_points(s, s->points ? s->points : scene->contact.mesh_points, to);
    }
    return 0;
}

/// Whether a shape of a link is to touch anything: the link moves, or what it is fixed to.
static bool touches(const ctn_scene *scene, int link, const scene_shape *shape)
{
    while (link >= 0 && scene->links[link].joint.type == CTN_FIXED) link = scene->links[link].parent;
    return has_surfaces(&scene->contact) && scene->contact.between != BETWEEN_LINKS && link >= 0 && shape->touch != TOUCH_NO;
}

/// How many surfaces a shape may touch.
static int count_met(const ctn_scene *scene, const scene_shape *s)
{
    int count = 0;
    for (int k = next_surface(scene, s, 0); k >= 0; k = next_surface(scene, s, k + 1)) count++;
    return count;
}

/// How many entries all points have, one for each surface that they may touch; and how many points there are.
static long count_entries(const ctn_scene *scene, long *points)
{
    rounded_point at[MOST_POINTS];
    long count = 0;
    *points = 0;
    for (int l = 0; l < scene->nlink; l++)
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            const int n = touches(scene, l, s) ? shape_points(scene, s, at) : 0;
            *points += n;
            if (n) count += (long)n * count_met(scene, s);
        }
    return count;
}

int count_mesh_points(const ctn_scene *scene, int *meshes)
{
    rounded_point at[MOST_POINTS];
    int count = 0;
    *meshes = 0;
    for (int l = 0; l < scene->nlink; l++)
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            const int n = s->type == SHAPE_MESH && touches(scene, l, s) && count_met(scene, s) ? shape_points(scene, s, at) : 0;
            count += n, *meshes += n > 0;
        }
    return count;
}

static bool says_friction(const scene_shape *s) { return !isnan(s->friction) || !isnan(s->torsional) || !isnan(s->rolling); }

/// The law as published has no friction of Coulomb.
static ctn_status check_published(const ctn_scene *scene, ctn_error *err)
{
    for (int l = 0; l < scene->nlink && scene->contact.published; l++)
        for (int i = 0; i < scene->links[l].nshape; i++)
            if (touches(scene, l, &scene->links[l].shapes[i]) && says_friction(&scene->links[l].shapes[i])) {
                const scene_place *const where = &scene->contact.at;
                return fail_at(
                    err, CTN_BAD_SCENE, scene->path, where->line, where->column, "contact",
                    "law: as-published has D2 for friction, but the `contact` of a shape of link '%.60s' has a friction; "
                    "take that out, or this law",
                    scene->links[l].name);
            }
    return CTN_OK;
}

ctn_status check_contacts(const ctn_scene *scene, ctn_error *err)
{
    const ctn_status published = check_published(scene, err);
    if (published != CTN_OK) return published;
    long points;
    const long entries = count_entries(scene, &points);
    if (entries > MOST_ENTRIES) {
        const scene_place *const where = &scene->contact.at;
        return fail_at(err, CTN_BAD_SCENE, scene->path, where->line, where->column, "contact",
                       "%ld points of links and %d surfaces make %ld pairs that may touch; a scene has at most %d; let fewer "
                       "shapes touch, or take `terrain` for many obstacles",
                       points, count_surfaces(scene), entries, (int)MOST_ENTRIES);
    }
    return CTN_OK;
}

int count_contacts(const ctn_scene *scene)
{
    long points;
    const long entries = count_entries(scene, &points);
    return entries > MOST_ENTRIES ? 0 : (int)entries;
}

/// The friction of a shape on surface k: its own and the surface's, whichever is less; the scene's where neither says any.
static double friction_on(const ctn_scene *scene, const scene_shape *s, int k)
{
    const double there = surface_friction(scene, k);
    if (isnan(s->friction) && isnan(there)) return scene->contact.friction;
    return isnan(there) || s->friction < there ? s->friction : there;
}

double gravity_of(const ctn_model *m)
{
    return fmax(sqrt(m->gravity[0] * m->gravity[0] + m->gravity[1] * m->gravity[1] + m->gravity[2] * m->gravity[2]), 1);
}

double contact_depth(const ctn_model *m, const ctn_scene *scene, int body)
{
    while (m->bodies[body].parent >= 0) body = m->bodies[body].parent;
    const double extent = m->bodies[body].extent > 0 ? m->bodies[body].extent : 1;
    return isnan(scene->contact.depth) ? DEPTH_OF_EXTENT * extent : scene->contact.depth;
}

/// The weight of the tree that a body is of.
static double tree_weight(const ctn_model *m, int body)
{
    while (m->bodies[body].parent >= 0) body = m->bodies[body].parent;
    return m->bodies[body].subtree_mass * gravity_of(m);
}

double moving_weight(const ctn_model *m)
{
    double weight = 0;
    for (int i = 0; i < m->nbody; i++)
        if (m->bodies[i].parent < 0) weight += m->bodies[i].subtree_mass * gravity_of(m);
    return weight;
}

double critical_relaxation(const ctn_model *m, double depth) { return 2 * sqrt(depth / gravity_of(m)); }

/// The `count` entries of a shape, `met` of each point, are a group: in a ball about the middle of the box that has all of them.
static void make_group(point_load *group, int count, int met)
{
    double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY}, r = 0;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) least[i] = fmin(least[i], group[k].point[i]), most[i] = fmax(most[i], group[k].point[i]);
    for (int i = 0; i < 3; i++) group->ball[i] = (least[i] + most[i]) / 2;
    for (int k = 0; k < count; k++) {
        const vec3 d = sub(const3(group[k].point), const3(group->ball));
        r = fmax(r, sqrt(dot(d, d)) + group[k].radius);
    }
    group->ball[3] = (1 + 1e-9) * r, group->group = count, group->met = met;
}

void add_contacts(ctn_model *m, const ctn_scene *scene, point_load *loads, int first)
{
    rounded_point at[MOST_POINTS];
    bool turns = false;
    const double all = moving_weight(m);
    const bool any = count_contacts(scene) > 0;
    m->ncontact = 0, m->depth = 0, m->critical = isnan(scene->contact.relaxation);
    m->published = scene->contact.published;
    for (int k = 0; k < 3; k++) m->ground[k] = scene->contact.normal[k];
    m->ground[3] = scene->contact.height;
    for (int l = 0; l < scene->nlink; l++)
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            const int met = any && touches(scene, l, s) ? count_met(scene, s) : 0, entries = met ? met * shape_points(scene, s, at) : 0;
            for (int n = 0, surface = -1; n < entries; n++) {
                const int k = n / met;
                point_load *const o = &loads[m->ncontact];
                *o = (point_load){.body = m->frames[l].body, .number = first + m->ncontact, .link = l, .flags = LOAD_TOUCHES};
                surface = next_surface(scene, s, n % met ? surface + 1 : 0);
                o->first = n % met == 0;
                o->contact = m->ncontact++, o->radius = at[k].radius, o->opposite = (opposite_point(s, k) - k) * met;
                o->surface = surface, o->friction = friction_on(scene, s, surface);
                o->torsional = isnan(s->torsional) ? scene->contact.torsional : s->torsional;
                o->rolling = isnan(s->rolling) ? scene->contact.rolling : s->rolling;
                o->rolls = o->torsional > 0 || o->rolling > 0, turns = turns || o->rolls;
                o->rubs = !isnan(s->friction) || !isnan(surface_friction(scene, o->surface));
                o->bears = scene->contact.between == BETWEEN_WORLD ? tree_weight(m, o->body) : all, o->rest = contact_depth(m, scene, o->body);
                o->grip = o->bears / o->rest, m->depth = fmax(m->depth, o->rest);
                if (m->published) o->grip = 2 * scene->contact.D1, o->damping = scene->contact.D2, o->friction = 0;
                body_point(m, l, at[k].at, o->point);
            }
            if (entries) make_group(&loads[m->ncontact - entries], entries, met);
        }
    m->nbent = turns ? 2 * m->ncontact : m->ncontact;
    m->relaxation = m->published ? 0 : m->critical ? critical_relaxation(m, m->depth) : scene->contact.relaxation;
}

void change_contact_depth(ctn_model *v, const ctn_model *of, double depth)
{
    for (point_load *s = v->loads; s < v->loads + v->nload; s++) {
        if (!(s->flags & LOAD_TOUCHES)) continue;
        s->grip = s->bears / (s->rest == of->depth ? depth : s->rest * (depth / of->depth));
    }
    if (of->critical) v->relaxation = critical_relaxation(of, depth);
}

void change_contact_friction(ctn_model *v, int link, double friction)
{
    for (point_load *s = v->loads; s < v->loads + v->nload; s++)
        if (s->flags & LOAD_TOUCHES && (link >= 0 ? s->link == link : !s->rubs)) s->friction = friction;
}

void contact_gradients(const ctn_model *m, const ctn_parameter *list, int count, const double *by_contact, double *grad)
{
    const double *const of_all = by_contact + 2 * m->ncontact;
    for (int k = 0; k < count; k++) {
        // stiffness goes by 1/depth, critical relaxation by its root
        grad[k] = list[k].kind == CTN_GROUND_DEPTH && m->critical ? of_all[0] * m->relaxation / (2 * m->depth) : 0;
        if (parameter_of_pairs(list[k].kind)) {
            grad[k] = list[k].kind == CTN_PAIR_FRICTION_SCALE ? of_all[1] : -of_all[2];  // the model has both at 1
            continue;
        }
        for (const point_load *s = m->loads; s < m->loads + m->nload; s++) {
            bool own = s->rubs;
            if (!(s->flags & LOAD_TOUCHES)) continue;
            const double *const by = by_contact + 2 * s->contact;
            for (int i = 0; i < count; i++) own = own || (list[i].kind == CTN_CONTACT_FRICTION && list[i].index == s->link);
            if (list[k].kind == CTN_GROUND_DEPTH) grad[k] -= by[1] * s->grip / m->depth;
            else if (list[k].kind == CTN_CONTACT_FRICTION ? list[k].index == s->link : !own) grad[k] += by[0];
        }
    }
}

// ---- a start in the ground, or in what else is fixed

#define DEEP 10  // times the depth at rest

/// How deep a contact point is in its surface, its link at R [9] and p [3].
static double depth_at(const ctn_model *m, const point_load *s, const double *R, const double *p)
{
    double point[3];
    link_point(m, s->link, s->point, point);
    const vec3 at = mul_add(const3(p), const33(R), const3(point));
    if (s->surface) return s->radius - stand_at(&m->surfaces[s->surface - 1], at, NULL).gap;
    return m->ground[3] + s->radius - dot(const3(m->ground), at);
}

/// The warning, with the links at R [nlink][9] and p [nlink][3].
static void tell_depth(ctn_scene *scene, const ctn_model *m, const double *R, const double *p)
{
    double most = DEEP, depth = 0, rest = 0;
    int deepest = -1, links = 0, last = -1, in = 0;
    for (const point_load *s = m->loads; s < m->loads + m->nload; s++) {
        const double now = s->flags & LOAD_TOUCHES ? depth_at(m, s, R + 9 * s->link, p + 3 * s->link) : 0;
        const double held = now > 0 ? contact_depth(m, scene, s->body) : 1;
        if (now <= DEEP * held) continue;
        links += s->link != last, last = s->link;
        if (now > most * held) most = now / held, deepest = s->link, in = s->surface, depth = now, rest = held;
    }
    if (deepest < 0) return;
    const scene_link *const at = &scene->links[deepest];
    char others[60] = "";
    if (links > 1) snprintf(others, sizeof others, ", the deepest of %d links", links);
    scene_warn(scene, at, NULL, "position",
               "'%.60s' starts %.3g m deep in %s%.60s%s%s, where it rests at %.3g m: it is thrown out; raise it, or give "
               "`contact` a larger depth",
               at->name, depth, in ? "'" : "the ground", in ? m->surface_names[in - 1] : "", in ? "'" : "", others, rest);
}

/// Links that touch what is fixed, and pass through each other: says so where people would see it, of trees that are apart, and of
/// chains that can fold up.
static void tell_passing(ctn_scene *scene, const ctn_model *m)
{
    enum { FOLDS = 10 };  // links of a chain
    bool *const touches = calloc((size_t)m->nlink + 1, sizeof *touches), chain = false;
    int *const length = calloc((size_t)m->nlink + 1, sizeof *length), first = -1, other = -1;
    for (int k = 0; k < m->nload && touches; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) touches[m->loads[k].link] = true;
    for (int l = 0; l < m->nlink && touches && length && other < 0; l++) {
        const int parent = scene->links[l].parent;
        int root = l;
        while (scene->links[root].parent >= 0) root = scene->links[root].parent;
        length[l] = (parent < 0 ? 0 : length[parent]) + touches[l];
        if (!touches[l]) continue;
        chain = length[l] >= FOLDS;
        if (first >= 0 && (chain || root > first)) other = l;
        else if (first < 0) first = l;
    }
    free(touches);
    free(length);
    if (other < 0) return;
    const scene_link *const at = &scene->links[other];
    if (chain)
        scene_warn(scene, at, NULL, "shapes",
                   "links do not touch each other, but what is fixed: the chain to '%.60s' passes through itself where it folds up; "
                   "write `contact: {between: all}` for links that do",
                   at->name);
    else
        scene_warn(scene, at, NULL, "shapes",
                   "links do not touch each other, but what is fixed: '%.60s' and '%.60s' pass through each other; write `contact: "
                   "{between: all}` for links that do",
                   scene->links[first].name, at->name);
}

bool warn_of_depth(ctn_scene *scene, const ctn_model *m)
{
    if (!m->ncontact) return true;
    if (scene->contact.between == BETWEEN_WORLD) tell_passing(scene, m);
    double *p, *const R = places_at_start(m, &p);
    if (R) tell_depth(scene, m, R, p);
    free(R);
    return R;
}
