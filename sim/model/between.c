/// The pairs of shapes that touch each other: which they are, and how stiff and rough.
#include "sim/model/between.h"

#include "contact/pair_elements.h"
#include "sim/base/status.h"
#include "sim/engine/engine.h"
#include "sim/model/contact_points.h"
#include "sim/model/core_numbers.h"
#include "sim/model/model.h"
#include "sim/model/surfaces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ELEMENTS = 65536,   // of a model
    ELEMENTS_COUNTED = 160,  // of a pair, at most: few of those of hulls are near
    MOST_SHAPES = 16384,
};

/// What has edges is round there by this share of its smallest side, by so many depths at least, and by no more than the last
/// share.
#define ROUND_SHARE 0.02
#define ROUND_DEPTHS 4
#define MOST_ROUND_SHARE 0.25

/// Bristles are so much softer than the gap (docs/theory.md 4.14).
#define SOFT_BRISTLES 0.1

/// A shape of a link that may touch others.
typedef struct candidate {
    const scene_shape *shape;
    int link, number;
    int group;   // of links that are fixed to each other: the one that has a joint, or is fixed to the world
    int parent;  // the group on whose link that one hangs, -1: the world
    int body;    // -1: the world
    bool paired;
    touch_shape core;  // of one that is
} candidate;

typedef struct pairing {
    ctn_model *m;
    const ctn_scene *scene;
    candidate *of;
    int count;
    scene_apart *apart;  // [napart] of two links, sorted
    int napart;
    const scene_pair **pairs;  // [npair] sorted
    int npair;
    bool *trees;  // [ntree][count] whether a shape is of a tree that does not touch itself
    int ntree;
    touch_pair *found;
    int nfound, room;
    long elements;
    double weight;  // N, of all that moves
} pairing;

// ---- which shapes may touch

static int group_of(const ctn_scene *scene, int link)
{
    while (scene->links[link].joint.type == CTN_FIXED && scene->links[link].parent >= 0) link = scene->links[link].parent;
    return link;
}

static bool in_pair(const pairing *p, int link)
{
    for (int k = 0; k < p->scene->npair; k++)
        if (p->scene->pairs[k].a == link || p->scene->pairs[k].b == link) return true;
    return false;
}

static bool find_candidates(pairing *p)
{
    const ctn_scene *const scene = p->scene;
    const bool all = scene->contact.between != BETWEEN_WORLD;
    size_t room = 1;
    for (int l = 0; l < scene->nlink; l++) room += (size_t)scene->links[l].nshape;
    p->of = malloc(room * sizeof *p->of);
    if (!p->of) return false;
    for (int l = 0; l < scene->nlink; l++) {
        if (!scene->links[l].nshape || !(all || in_pair(p, l))) continue;
        const int group = group_of(scene, l), on = scene->links[group].parent;
        for (int i = 0; i < scene->links[l].nshape; i++) {
            const scene_shape *const s = &scene->links[l].shapes[i];
            if (s->touch == TOUCH_NO || (s->type == SHAPE_MESH && !(s->mesh && s->mesh->good))) continue;
            p->of[p->count++] = (candidate){.shape = s,
                                            .link = l,
                                            .number = i,
                                            .group = group,
                                            .parent = on < 0 ? -1 : group_of(scene, on),
                                            .body = p->m->frames[l].body};
        }
    }
    return true;
}

static int by_links(const void *a, const void *b)
{
    const scene_apart *const x = a, *const y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static scene_apart sorted(int a, int b) { return (scene_apart){a < b ? a : b, a < b ? b : a}; }

static int by_pair(const void *a, const void *b)
{
    const scene_pair *const x = *(const scene_pair *const *)a, *const y = *(const scene_pair *const *)b;
    const scene_apart u = sorted(x->a, x->b), v = sorted(y->a, y->b);
    return by_links(&u, &v);
}

/// The scene's lists, to be searched.
static bool sort_lists(pairing *p)
{
    const ctn_scene *const scene = p->scene;
    p->apart = malloc(((size_t)scene->napart + 1) * sizeof *p->apart);
    p->pairs = malloc(((size_t)scene->npair + 1) * sizeof *p->pairs);
    bool *const in = calloc((size_t)scene->nlink + 1, sizeof *in);
    for (int k = 0; k < scene->napart; k++) p->ntree += scene->apart[k].b < 0;
    p->trees = calloc((size_t)p->ntree * (size_t)p->count + 1, sizeof *p->trees);
    const bool room = p->apart && p->pairs && in && p->trees;
    for (int k = 0, tree = 0; k < scene->napart && room; k++) {
        const scene_apart *const o = &scene->apart[k];
        if (o->b >= 0) {
            p->apart[p->napart++] = sorted(o->a, o->b);
            continue;
        }
        for (int l = 0; l < scene->nlink; l++) in[l] = l == o->a || (scene->links[l].parent >= 0 && in[scene->links[l].parent]);
        for (int i = 0; i < p->count; i++) p->trees[(size_t)tree * (size_t)p->count + (size_t)i] = in[p->of[i].link];
        tree++;
    }
    free(in);
    if (!room) return false;
    qsort(p->apart, (size_t)p->napart, sizeof *p->apart, by_links);
    for (int k = 0; k < scene->npair; k++) p->pairs[p->npair++] = &scene->pairs[k];
    qsort(p->pairs, (size_t)p->npair, sizeof *p->pairs, by_pair);
    return true;
}

static const scene_pair *explicit_pair(const pairing *p, int a, int b)
{
    const scene_pair wanted = {.a = a, .b = b}, *const key = &wanted;
    const scene_pair *const *const found = p->npair ? bsearch(&key, p->pairs, (size_t)p->npair, sizeof *p->pairs, by_pair) : NULL;
    return found ? *found : NULL;
}

/// Whether two shapes touch, unless they are of a pair that is asked for.
static bool may_touch(const pairing *p, int i, int j)
{
    const candidate *const a = &p->of[i], *const b = &p->of[j];
    if (p->scene->contact.between == BETWEEN_WORLD) return false;
    if (a->parent == b->group || b->parent == a->group) return false;
    const scene_apart key = sorted(a->link, b->link);
    if (p->napart && bsearch(&key, p->apart, (size_t)p->napart, sizeof *p->apart, by_links)) return false;
    for (int t = 0; t < p->ntree; t++) {
        const bool *const in = p->trees + (size_t)t * (size_t)p->count;
        if (in[i] && in[j]) return false;
    }
    return a->shape->layers & b->shape->touches || b->shape->layers & a->shape->touches;
}

// ---- what a pair is like

static double depth_between(const pairing *p, int a, int b)
{
    const double none = INFINITY, x = a < 0 ? none : contact_depth(p->m, p->scene, a),
                 y = b < 0 ? none : contact_depth(p->m, p->scene, b);
    return fmin(x, y);
}

static double friction_between(const pairing *p, const scene_shape *a, const scene_shape *b)
{
    return isnan(a->friction) && isnan(b->friction) ? p->scene->contact.friction : fmin(a->friction, b->friction);  // NAN is none
}

static ctn_status refuse_hull(const pairing *p, const candidate *c, const candidate *other, const char *reason, ctn_error *err)
{
    const scene_link *const l = &p->scene->links[c->link];
    char key[32];
    snprintf(key, sizeof key, "shapes[%d]", c->shape->entry);
    return fail_at(
        err, CTN_BAD_SCENE, l->file, l->line, l->column, key,
        "a mesh of '%.60s' would touch '%.60s', and its hull %s; let it say `contact: false`, or `exclude` the two links",
        l->name, p->scene->links[other->link].name, reason);
}

/// What has no mass of its own has no row of its own that a force could act on (integrators/collocation.h).
static ctn_status refuse_light(const pairing *p, const candidate *c, const candidate *other, ctn_error *err)
{
    const scene_link *const l = &p->scene->links[c->link];
    char key[32];
    snprintf(key, sizeof key, "shapes[%d]", c->shape->entry);
    return fail_at(err, CTN_BAD_SCENE, l->file, l->line, l->column, key,
                   "'%.60s' has no mass, and would touch '%.60s'; give it some, or let the shape say `contact: false`", l->name,
                   p->scene->links[other->link].name);
}

static bool is_light(const ctn_model *m, int body) { return body >= 0 && !(m->bodies[body].flags & BODY_MASS); }

static ctn_status refuse_count(const pairing *p, const char *what, long count, int most, ctn_error *err)
{
    const scene_place *const where = &p->scene->contact.at;
    return fail_at(err, CTN_BAD_SCENE, p->scene->path, where->line ? where->line : 1, where->column ? where->column : 1,
                   "contact",
                   "links that touch each other have more than %d %s (%ld so far; two boxes have 160, larger pairs count as "
                   "that, a sphere or capsule with another 1); "
                   "`exclude` some, give shapes `layers`, or take capsules in the place of boxes",
                   most, what, count);
}

/// The smallest of the lengths of a shape that has edges.
static double smallest_side(const scene_shape *s)
{
    double least = INFINITY;
    if (s->type == SHAPE_CYLINDER)
        return fmin(2 * s->radius, hypot(s->to[0] - s->from[0], hypot(s->to[1] - s->from[1], s->to[2] - s->from[2])));
    if (s->type == SHAPE_BOX) return fmin(s->size[0], fmin(s->size[1], s->size[2]));
    for (int k = 0; k < 3; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < s->mesh->surface.nvertex; i++)
            low = fmin(low, s->mesh->surface.vertices[i][k]), high = fmax(high, s->mesh->surface.vertices[i][k]);
        least = fmin(least, s->size[k] * (high - low));
    }
    return least;
}

static double rounding_of(const ctn_model *m, const ctn_scene *scene, const scene_shape *s, int body)
{
    double depth = INFINITY;
    if (!isnan(s->rounding)) return s->rounding;
    if (s->type == SHAPE_ELLIPSOID) return 0;
    if (body >= 0) depth = contact_depth(m, scene, body);
    for (int i = 0; i < m->nbody && body < 0; i++)
        if (m->bodies[i].parent < 0) depth = fmin(depth, contact_depth(m, scene, i));
    const double least = smallest_side(s);
    return fmin(fmax(ROUND_SHARE * least, ROUND_DEPTHS * depth), MOST_ROUND_SHARE * least);
}

/// Makes the core of a shape, in the link's frame.
static ctn_status core_in_link(const pairing *p, const scene_shape *s, int body, touch_shape *o, char reason[128])
{
    static const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (s->type == SHAPE_CYLINDER || s->type == SHAPE_ELLIPSOID || s->type == SHAPE_MESH)
        return make_core(s, rounding_of(p->m, p->scene, s, body), s->points ? s->points : p->scene->contact.mesh_points, o,
                         reason);
    o->kind = s->type == SHAPE_SPHERE ? CORE_POINT : s->type == SHAPE_CAPSULE ? CORE_SEGMENT : CORE_BOX;
    o->radius = s->radius;
    memcpy(o->at, s->center, sizeof o->at), memcpy(o->R, upright, sizeof o->R);
    if (o->kind == CORE_SEGMENT) lay_along(s->from, s->to, o->at, o->R, &o->half[2]);
    if (o->kind == CORE_BOX) {
        rotation_matrix(s->rotation, o->R);
        o->radius = rounding_of(p->m, p->scene, s, body);
        for (int k = 0; k < 3; k++) o->half[k] = s->size[k] / 2 - o->radius;
    }
    o->bound = (1 + 1e-9) * (o->radius + hypot(o->half[0], hypot(o->half[1], o->half[2])));
    return CTN_OK;
}

/// Makes the core of a candidate that is to touch another one, if it has none yet.
static ctn_status make_candidate(const pairing *p, candidate *c, const candidate *other, ctn_error *err)
{
    const ctn_frame *const F = &p->m->frames[c->link];
    touch_shape core = {.body = c->body, .link = c->link, .number = c->number};
    char reason[128];
    if (c->paired) return CTN_OK;
    if (is_light(p->m, c->body)) return refuse_light(p, c, other, err);
    const ctn_status status = core_in_link(p, c->shape, c->body, &core, reason);
    if (status == CTN_BAD_SCENE) return refuse_hull(p, c, other, reason, err);
    if (status != CTN_OK) return status;
    c->core = core, c->paired = true;
    body_point(p->m, c->link, core.at, c->core.at);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c->core.R[3 * i + j] = 0;
            for (int k = 0; k < 3; k++) c->core.R[3 * i + j] += F->R[3 * i + k] * core.R[3 * k + j];
        }
    return CTN_OK;
}

/// Notes that two shapes touch. spec: NULL, or what the scene says of them.
static ctn_status add_pair(pairing *p, int i, int j, const scene_pair *spec, ctn_error *err)
{
    candidate *const x = &p->of[i], *const y = &p->of[j];
    ctn_status status = make_candidate(p, x, y, err);
    if (status == CTN_OK) status = make_candidate(p, y, x, err);
    if (status != CTN_OK) return status;
    if (p->nfound == p->room) {
        const int room = p->room ? 2 * p->room : 64;
        touch_pair *const more = realloc(p->found, (size_t)room * sizeof *more);
        if (!more) return CTN_NO_MEMORY;
        p->found = more, p->room = room;
    }
    const core_kind kx = x->core.kind, ky = y->core.kind;
    const bool swap = kx != ky && (kx > CORE_SEGMENT || ky > CORE_SEGMENT) ? kx > ky : x->body > y->body;
    double depth = spec && !isnan(spec->depth) ? spec->depth : depth_between(p, x->body, y->body);
    touch_pair o = {.a = swap ? j : i, .b = swap ? i : j};
    o.elements = swap ? elements_of(&y->core, &x->core) : elements_of(&x->core, &y->core);
    o.slots = o.elements < PAIR_SLOTS ? o.elements : PAIR_SLOTS;
    o.friction = spec && !isnan(spec->friction) ? spec->friction : friction_between(p, x->shape, y->shape);
    o.grip = spec && !isnan(spec->stiffness) ? spec->stiffness : p->weight / depth;
    o.slide = SOFT_BRISTLES * o.grip, o.weight = p->weight, o.depth = p->weight / o.grip;
    p->found[p->nfound++] = o;
    p->elements += o.elements < ELEMENTS_COUNTED ? o.elements : ELEMENTS_COUNTED;
    return p->elements > MOST_ELEMENTS ? refuse_count(p, "elements", p->elements, MOST_ELEMENTS, err) : CTN_OK;
}

static ctn_status find_pairs(pairing *p, ctn_error *err)
{
    ctn_status status = p->count > MOST_SHAPES ? refuse_count(p, "shapes", p->count, MOST_SHAPES, err) : CTN_OK;
    for (int i = 0; i < p->count && status == CTN_OK; i++)
        for (int j = i + 1; j < p->count && status == CTN_OK; j++) {
            const candidate *const a = &p->of[i], *const b = &p->of[j];
            if (a->group == b->group || a->body == b->body) continue;  // they do not move against each other
            const scene_pair *const spec = p->npair ? explicit_pair(p, a->link, b->link) : NULL;
            if (spec || may_touch(p, i, j)) status = add_pair(p, i, j, spec, err);
        }
    return status;
}

// ---- the model's own

static int by_shapes(const void *a, const void *b)
{
    const touch_pair *const x = a, *const y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/// Keeps the shapes that are in a pair, and the pairs, in the order of these.
static bool keep_pairs(pairing *p)
{
    ctn_model *const m = p->m;
    int *const now = malloc(((size_t)p->count + 1) * sizeof *now);
    for (int i = 0; i < p->count; i++)
        if (p->of[i].paired) m->ntouch_number += (size_t)numbers_of_core(&p->of[i].core);
    m->touch_numbers = malloc(m->ntouch_number * sizeof *m->touch_numbers + 1);
    m->touch_shapes = calloc((size_t)p->count + 1, sizeof *m->touch_shapes);
    m->touch_pairs = calloc((size_t)p->nfound + 1, sizeof *m->touch_pairs);
    if (!now || !m->touch_numbers || !m->touch_shapes || !m->touch_pairs) {
        free(now);
        return false;
    }
    double *numbers = m->touch_numbers;
    for (int i = 0; i < p->count; i++) {
        now[i] = m->ntouch_shape;
        if (!p->of[i].paired) continue;
        touch_shape *const o = &m->touch_shapes[m->ntouch_shape++];
        *o = p->of[i].core;
        const size_t count = (size_t)numbers_of_core(o);
        if (count) o->numbers = memcpy(numbers, o->numbers, count * sizeof *numbers);
        numbers += count;
    }
    double deepest = 0;
    for (int k = 0; k < p->nfound; k++) {
        touch_pair *const o = &p->found[k];
        o->a = now[o->a], o->b = now[o->b];
        deepest = fmax(deepest, p->weight / o->grip);
    }
    free(now);
    if (p->nfound) qsort(p->found, (size_t)p->nfound, sizeof *p->found, by_shapes);
    for (int k = 0; k < p->nfound; k++)
        p->found[k].slot = m->nslot, m->nslot += p->found[k].slots, m->touch_pairs[k] = p->found[k];
    m->npair = p->nfound;
    if (m->npair && !m->ncontact) m->relaxation = m->critical ? critical_relaxation(m, deepest) : p->scene->contact.relaxation;
    return true;
}

/// A pair of links that has nothing to touch.
static ctn_status check_explicit(const pairing *p, ctn_error *err)
{
    for (int k = 0; k < p->scene->npair; k++) {
        const scene_pair *const o = &p->scene->pairs[k];
        const int bodies[2] = {p->m->frames[o->a].body, p->m->frames[o->b].body}, links[2] = {o->a, o->b};
        if (bodies[0] == bodies[1])
            return fail_at(err, CTN_BAD_SCENE, o->file, o->at.line, o->at.column, "pairs",
                           "'%.60s' and '%.60s' are fixed to each other, or do not move: they cannot touch",
                           p->scene->links[o->a].name, p->scene->links[o->b].name);
        for (int side = 0; side < 2; side++) {
            bool any = false;
            for (int i = 0; i < p->count; i++) any = any || p->of[i].link == links[side];
            if (!any)
                return fail_at(err, CTN_BAD_SCENE, o->file, o->at.line, o->at.column, "pairs",
                               "'%.60s' has nothing to touch: no shape, or none but with `contact: false`",
                               p->scene->links[links[side]].name);
        }
    }
    return CTN_OK;
}

int count_met_links(const ctn_scene *scene)
{
    return scene->contact.between == BETWEEN_WORLD && !scene->npair ? 0 : scene->nlink;
}

ctn_status compile_pairs(ctn_model *m, const ctn_scene *scene, ctn_error *err)
{
    pairing p = {.m = m, .scene = scene};
    m->pair_friction = m->pair_grip = 1;
    if (!(m->nmet = count_met_links(scene))) return CTN_OK;
    m->touch_capacity = scene->contact.capacity;
    p.weight = moving_weight(m);
    ctn_status status = find_candidates(&p) && sort_lists(&p) ? CTN_OK : CTN_NO_MEMORY;
    if (status == CTN_OK) status = check_explicit(&p, err);
    if (status == CTN_OK) status = find_pairs(&p, err);
    if (status == CTN_OK && !keep_pairs(&p)) status = CTN_NO_MEMORY;
    for (int i = 0; i < p.count; i++) free((double *)p.of[i].core.numbers);
    free(p.of), free(p.apart), free(p.pairs), free(p.trees), free(p.found);
    return status;
}
