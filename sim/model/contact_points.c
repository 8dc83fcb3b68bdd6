/// The points at which links touch the ground: rounded points of their shapes, and how stiff each of them is.
#include "sim/model/contact_points.h"

#include "sim/base/status.h"
#include "sim/engine/engine.h"
#include "sim/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// How deep a tree sinks where one point carries all of it, by its extent. Less asks for more iterations. (docs/theory.md 4.12)
#define DEPTH_OF_EXTENT 0.005

enum { MOST_POINTS = 8 };

/// The rounded points of a shape, in the link's frame; at [MOST_POINTS]. Returns how many; 0: it has none.
static int shape_points(const scene_shape *s, double at[][3], double *radius)
{
    *radius = s->type == SHAPE_SPHERE || s->type == SHAPE_CAPSULE ? s->radius : 0;
    if (s->type == SHAPE_SPHERE) memcpy(at[0], s->center, sizeof at[0]);
    if (s->type == SHAPE_CAPSULE) memcpy(at[0], s->from, sizeof at[0]), memcpy(at[1], s->to, sizeof at[1]);
    if (s->type != SHAPE_BOX) return s->type == SHAPE_SPHERE ? 1 : s->type == SHAPE_CAPSULE ? 2 : 0;
    double R[9];
    rotation_matrix(s->rotation, R);
    for (int k = 0; k < 8; k++) {
        const double c[3] = {(k & 1 ? 0.5 : -0.5) * s->size[0], (k & 2 ? 0.5 : -0.5) * s->size[1],
                             (k & 4 ? 0.5 : -0.5) * s->size[2]};
        for (int i = 0; i < 3; i++) at[k][i] = s->center[i] + R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2];
    }
    return 8;
}

/// Whether a shape of a link is to touch the ground: the link moves, or what it is fixed to.
static bool touches(const ctn_scene *scene, int link, const scene_shape *shape)
{
    while (link >= 0 && scene->links[link].joint.type == CTN_FIXED) link = scene->links[link].parent;
    return scene->contact.ground && link >= 0 && shape->touch != TOUCH_NO;
}

ctn_status check_contacts(const ctn_scene *scene, ctn_error *err)
{
    static const char *const names[] = {
        [SHAPE_CYLINDER] = "a cylinder", [SHAPE_ELLIPSOID] = "an ellipsoid", [SHAPE_MESH] = "a mesh"};
    double at[MOST_POINTS][3], radius;
    for (int l = 0; l < scene->nlink; l++) {
        const scene_link *const k = &scene->links[l];
        for (int i = 0; i < k->nshape; i++) {
            const scene_shape *const s = &k->shapes[i];
            if (!touches(scene, l, s) || s->touch != TOUCH_YES || shape_points(s, at, &radius)) continue;
            return fail_at(err, CTN_BAD_SCENE, k->file, k->line, k->column, "shapes",
                           "shapes[%d] of link '%s' is %s, which touches no ground in this version; leave its `contact` out, and "
                           "give the link a sphere, capsule or box besides",
                           s->entry, k->name, names[s->type]);
        }
    }
    return CTN_OK;
}

int count_contacts(const ctn_scene *scene)
{
    double at[MOST_POINTS][3], radius;
    int count = 0;
    for (int l = 0; l < scene->nlink; l++)
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            if (touches(scene, l, s)) count += shape_points(s, at, &radius);
        }
    return count;
}

static double gravity_of(const ctn_model *m)
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

/// What falls back from the depth at which it rests is damped critically.
static double critical_relaxation(const ctn_model *m, double depth) { return 2 * sqrt(depth / gravity_of(m)); }

void add_contacts(ctn_model *m, const ctn_scene *scene, point_load *loads, int first)
{
    double at[MOST_POINTS][3], radius;
    m->ncontact = 0, m->depth = 0, m->critical = isnan(scene->contact.relaxation);
    for (int k = 0; k < 3; k++) m->ground[k] = scene->contact.normal[k];
    m->ground[3] = scene->contact.height;
    for (int l = 0; l < scene->nlink; l++)
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            const int points = touches(scene, l, s) ? shape_points(s, at, &radius) : 0;
            for (int k = 0; k < points; k++) {
                point_load *const o = &loads[m->ncontact];
                *o = (point_load){.body = m->frames[l].body, .number = first + m->ncontact, .link = l, .flags = LOAD_TOUCHES};
                o->contact = m->ncontact++, o->radius = radius;
                o->friction = isnan(s->friction) ? scene->contact.friction : s->friction;
                o->rubs = !isnan(s->friction);
                o->bears = tree_weight(m, o->body), o->rest = contact_depth(m, scene, o->body);
                o->grip = o->bears / o->rest, m->depth = fmax(m->depth, o->rest);
                body_point(m, l, at[k], o->point);
            }
        }
    m->relaxation = m->critical ? critical_relaxation(m, m->depth) : scene->contact.relaxation;
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

// ---- a start in the ground

#define DEEP 10  // times the depth at rest

/// How deep a contact point is in the ground, its link at R [9] and p [3].
static double depth_at(const ctn_model *m, const point_load *s, const double *R, const double *p)
{
    double point[3], over = m->ground[3] + s->radius;
    link_point(m, s->link, s->point, point);
    for (int i = 0; i < 3; i++)
        over -= m->ground[i] * (p[i] + R[3 * i] * point[0] + R[3 * i + 1] * point[1] + R[3 * i + 2] * point[2]);
    return over;
}

/// The warning, with the links at R [nlink][9] and p [nlink][3].
static void tell_depth(ctn_scene *scene, const ctn_model *m, const double *R, const double *p)
{
    double most = DEEP, depth = 0, rest = 0;
    int deepest = -1, links = 0, last = -1;
    for (const point_load *s = m->loads; s < m->loads + m->nload; s++) {
        const double now = s->flags & LOAD_TOUCHES ? depth_at(m, s, R + 9 * s->link, p + 3 * s->link) : 0;
        const double held = now > 0 ? contact_depth(m, scene, s->body) : 1;
        if (now <= DEEP * held) continue;
        links += s->link != last, last = s->link;
        if (now > most * held) most = now / held, deepest = s->link, depth = now, rest = held;
    }
    if (deepest < 0) return;
    const scene_link *const at = &scene->links[deepest];
    char others[60] = "";
    if (links > 1) snprintf(others, sizeof others, ", the deepest of %d links", links);
    scene_warn(scene, at, NULL, "position",
               "'%.60s' starts %.3g m deep in the ground%s, where it rests at %.3g m: it is thrown out; raise it, or give "
               "`contact` a larger depth",
               at->name, depth, others, rest);
}

bool warn_of_depth(ctn_scene *scene, const ctn_model *m)
{
    if (!m->ncontact) return true;
    lane_model *const lanes = engine_model(&engine_scalar, m, 0);
    void *const scratch = lanes ? aligned_alloc(64, (engine_scalar.dynamics_size(lanes) / 64 + 1) * 64) : NULL;
    double *const R = malloc(12 * (size_t)m->nlink * sizeof *R), *const p = R ? R + 9 * m->nlink : NULL;
    const bool room = scratch && R;
    if (room) engine_scalar.forward_kinematics(lanes, scratch, 1, m->q0, R, p), tell_depth(scene, m, R, p);
    free(lanes), free(scratch), free(R);
    return room;
}
