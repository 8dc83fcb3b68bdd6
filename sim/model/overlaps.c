/// Starts that are no good: shapes that are deep in each other, and loops that are a little open.
#include "sim/model/between.h"

#include "sim/model/contact_points.h"
#include "sim/model/model.h"

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed here
#include "contact/pair_gap.h"
#pragma GCC diagnostic pop

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEP 10         // times the depth at rest
#define ROUND_OFF 1e-9  // of the size of what a loop joins

// ---- how deep two shapes are in each other

/// Where the core of a shape is in the world.
static mat3 place_core(const ctn_model *m, const touch_shape *s, const double *R, const double *p, vec3 *at)
{
    const ctn_frame *const F = &m->frames[s->link];
    const mat3 link = const33(R + 9 * s->link), frame = const33(F->R), own = const33(s->R);
    double point[3];
    mat3 turned;
    link_point(m, s->link, s->at, point);
    *at = add(const3(p + 3 * s->link), mul(link, const3(point)));
    turned.x = mul(link, tmul(frame, own.x)), turned.y = mul(link, tmul(frame, own.y)), turned.z = mul(link, tmul(frame, own.z));
    return turned;
}

static bool has_flat_sides(const touch_shape *s) { return s->kind != CORE_CYLINDER && s->kind != CORE_ELLIPSOID; }

/// How deep the shapes are in each other, m: of cores with flat sides that overlap by the plane along faces and edges that parts them best, else by
/// the deepest element.
static double overlap(const ctn_model *m, const touch_pair *o, const double *R, const double *p)
{
    enum { ROOM = 4096 };
    const touch_shape *const s = &m->touch_shapes[o->a], *const t = &m->touch_shapes[o->b];
    vec3 a, b;
    pair_pose P;
    P.A = place_core(m, s, R, p, &a), P.B = place_core(m, t, R, p, &b);
    P.a = sub(a, b), P.b = P.ab = zero3();
    if (dot(P.a, P.a) > (s->bound + t->bound) * (s->bound + t->bound)) return 0;
    const bool flat = has_flat_sides(s) && has_flat_sides(t) && faces_of_core(s) + faces_of_core(t);
    const core_plane plane = plane_between(s, t, &P);
    const double apart = flat ? apart_at(s, t, &P, &plane, NULL) : 1;
    if (apart < 0) return s->radius + t->radius - apart;
    int element[ROOM];
    double weight[ROOM], deepest = 0;
    const int near = near_elements(s, t, &P, 0, ROOM, element, weight);
    for (int k = 0; k < near && k < ROOM; k++) deepest = fmin(deepest, gap_at(s, t, element[k], &P, NULL).gap);
    return -deepest;
}

// ---- what is told

/// One warning for two links, of the deepest of their shapes; pairs of the same links need not stand together.
typedef struct meeting {
    int a, b;
    double depth, rest;
} meeting;

static int by_links(const void *x, const void *y)
{
    const meeting *const u = x, *const v = y;
    if (u->a != v->a) return (u->a > v->a) - (u->a < v->a);
    if (u->b != v->b) return (u->b > v->b) - (u->b < v->b);
    return (u->depth < v->depth) - (u->depth > v->depth);
}

static void tell_overlaps(ctn_scene *scene, const ctn_model *m, const double *R, const double *p, meeting *list)
{
    const double weight = moving_weight(m);
    int count = 0;
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const o = &m->touch_pairs[k];
        const touch_shape *const s = &m->touch_shapes[o->a], *const t = &m->touch_shapes[o->b];
        const double depth = overlap(m, o, R, p), rest = weight / o->grip;
        if (depth > DEEP * rest)
            list[count++] = (meeting){s->link > t->link ? s->link : t->link, s->link > t->link ? t->link : s->link, depth, rest};
    }
    if (count) qsort(list, (size_t)count, sizeof *list, by_links);
    for (int k = 0; k < count; k++) {
        if (k && list[k].a == list[k - 1].a && list[k].b == list[k - 1].b) continue;
        const scene_link *const at = &scene->links[list[k].a];
        scene_warn(scene, at, NULL, "shapes",
                   "'%.60s' and '%.60s' start %.3g m deep in each other, where they rest at %.3g m: they are thrown apart; move "
                   "them, or "
                   "`exclude: [[%.60s, %.60s]]`",
                   scene->links[list[k].b].name, at->name, list[k].depth, list[k].rest, scene->links[list[k].b].name, at->name);
    }
}

static void tell_openings(ctn_scene *scene, const ctn_model *m, const double *R, const double *p)
{
    for (int k = 0; k < m->nbond; k++) {
        const scene_bond *const s = &scene->bonds[k];
        const double open = bond_opening(m, scene, &m->bonds[k], R, p);
        char key[40];
        if (!(open > ROUND_OFF * bond_size(m, &m->bonds[k]))) continue;
        scene_link at = scene->links[s->a];
        snprintf(key, sizeof key, "%s[%d]", s->list, s->entry);
        at.file = s->file;
        scene_warn(scene, &at, &s->at, key,
                   s->kind == BOND_COUPLING ? "the joint starts %.3g from where it follows; the first step closes that"
                                            : "open by %.3g m at the start; the first step closes that",
                   open);
    }
}

/// Equations that are open, and that the others do not let close.
static bool tell_contradictions(ctn_scene *scene, const ctn_model *m)
{
    int *const redundant = calloc((size_t)m->nbond + 1, sizeof *redundant);
    double *const against = calloc((size_t)m->nbond + 1, sizeof *against);
    const bool room = redundant && against;
    if (room && m->nrow) bond_ranks(m, scene, redundant, against);
    for (int k = 0; k < m->nbond && room; k++) {
        const scene_bond *const s = &scene->bonds[k];
        scene_link at = scene->links[s->a < 0 ? 0 : s->a];
        char key[40];
        if (against[k] == 0) continue;
        snprintf(key, sizeof key, "%s[%d]", s->list, s->entry);
        at.file = s->file;
        scene_warn(scene, &at, &s->at, key,
                   "contradicts those before it: they leave it open by %.3g, and no motion of the start closes them all; move "
                   "its points, or "
                   "give it a `compliance`",
                   against[k]);
    }
    free(redundant), free(against);
    return room;
}

bool warn_of_between(ctn_scene *scene, const ctn_model *m)
{
    if (!m->npair && !m->nbond) return true;
    double *p, *const R = places_at_start(m, &p);
    meeting *const list = malloc(((size_t)m->npair + 1) * sizeof *list);
    const bool room = R && list;
    if (room) tell_overlaps(scene, m, R, p, list), tell_openings(scene, m, R, p);
    free(R), free(list);
    return room && tell_contradictions(scene, m);
}
