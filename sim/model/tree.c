/// Models out of arrays of parents: the links of a scene that no file says.
#include <catena/tree.h>

#include "sim/base/printable.h"
#include "sim/base/status.h"
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ctn_tree_spec ctn_tree_spec_default(void)
{
    return (ctn_tree_spec){
        .name = "tree",
        .like = {.rotation = {1, 0, 0, 0}, .joint = CTN_REVOLUTE, .axis = {0, 0, 1}, .axis2 = {1, 0, 0}, .q0 = {NAN}},
        .gravity = {0, 0, -9.81}};
}

/// A tree while it is checked and turned into a scene.
typedef struct {
    const ctn_tree_spec *spec;
    ctn_scene *scene;
    ctn_error *err;
} planting;

/// Says what is wrong with link `i`.
__attribute__((format(printf, 3, 4))) static bool bad_link(const planting *p, int i, const char *format, ...)
{
    char text[512];
    const char *const name = i < p->scene->nlink ? p->scene->links[i].name : NULL;
    const bool named = name && *name;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail(p->err, CTN_BAD_ARGUMENT, "link %d%s%s%s: %s", i, named ? " ('" : "", named ? printable(name).text : "",
         named ? "')" : "", text);
    return false;
}

static bool check_parent(const planting *p, int i)
{
    const int *const parent = p->spec->parent, n = p->spec->links;
    if (parent[i] >= -1 && parent[i] < i) return true;
    if (parent[i] < -1 || parent[i] >= n)
        return bad_link(p, i, "its parent is %d; expected -1 (the world) to %d", parent[i], n - 1);
    if (parent[i] == i) return bad_link(p, i, "it is its own parent");
    int above = parent[i];
    for (int steps = 0; steps < n && above >= 0 && above < n && above != i; steps++) above = parent[above];
    if (above == i) return bad_link(p, i, "it hangs on link %d, which hangs on it: a cycle", parent[i]);
    return bad_link(p, i, "its parent, link %d, comes after it; parents come first", parent[i]);
}

/// Whether all numbers of a key are finite, and not negative where `least` is 0.
static bool check_numbers(const planting *p, int i, const char *key, const double *x, int count, double least)
{
    for (int k = 0; k < count; k++) {
        if (!isfinite(x[k])) return bad_link(p, i, "%s: expected a finite number, found %g", key, x[k]);
        if (!(x[k] >= least)) return bad_link(p, i, "%s: expected a number >= 0, found %g", key, x[k]);
    }
    return true;
}

static bool check_all_numbers(const planting *p, int i, const ctn_link_spec *l)
{
    const struct {
        const char *key;
        const double *x;
        int count;
        double least;
    } numbers[] = {{"position", l->position, 3, -INFINITY}, {"rotation", l->rotation, 4, -INFINITY},
                   {"axis", l->axis, 3, -INFINITY},         {"axis2", l->axis2, 3, -INFINITY},
                   {"pitch", &l->pitch, 1, -INFINITY},      {"mass", &l->mass, 1, 0},
                   {"com", l->com, 3, -INFINITY},           {"inertia", l->inertia, 6, -INFINITY},
                   {"damping", &l->damping, 1, 0},          {"stiffness", &l->stiffness, 1, 0},
                   {"armature", &l->armature, 1, 0},        {"v0", l->v0, joint_nv(l->joint), -INFINITY}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (!check_numbers(p, i, numbers[k].key, numbers[k].x, numbers[k].count, numbers[k].least)) return false;
    return isnan(l->q0[0]) || check_numbers(p, i, "q0", l->q0, joint_nq(l->joint), -INFINITY);
}

static bool take_direction(const planting *p, int i, const char *key, const double *given, int count, double *unit)
{
    memcpy(unit, given, (size_t)count * sizeof *unit);
    return normalise(unit, count) || bad_link(p, i, "%s: expected a %s, found a vector of length %g", key,
                                              count == 3 ? "direction" : "quaternion w x y z", norm(given, count));
}

static bool take_joint(const planting *p, int i, const ctn_link_spec *l, scene_joint *j)
{
    const ctn_joint_type type = l->joint;
    const int nv = joint_nv(type), turns = type == CTN_BALL ? 0 : 3;
    reset_joint(j, type);
    if (joint_has_axis(type) && !take_direction(p, i, "axis", l->axis, 3, j->axis)) return false;
    if (type == CTN_UNIVERSAL && !take_direction(p, i, "axis2", l->axis2, 3, j->axis2)) return false;
    if (type == CTN_UNIVERSAL && !axes_apart(j->axis, j->axis2)) return bad_link(p, i, "axis2: it is parallel to `axis`");
    if (type == CTN_HELICAL) j->pitch = l->pitch;
    if (type == CTN_FREE && l->stiffness > 0) return bad_link(p, i, "stiffness: a free joint takes damping and armature only");
    for (int k = 0; k < nv; k++) j->damping[k] = l->damping, j->armature[k] = l->armature;
    for (int k = 0; k < nv && type != CTN_FREE; k++) j->stiffness[k] = l->stiffness;
    memcpy(j->v0, l->v0, (size_t)nv * sizeof *j->v0);
    if (isnan(l->q0[0])) return true;
    memcpy(j->q0, l->q0, (size_t)joint_nq(type) * sizeof *j->q0);
    return (type != CTN_BALL && type != CTN_FREE) || take_direction(p, i, "q0", l->q0 + turns, 4, j->q0 + turns);
}

/// Where the link is: of a free joint, where it starts.
static bool take_place(const planting *p, int i, const ctn_link_spec *l, scene_link *to)
{
    double rotation[4];
    const bool is_free = l->joint == CTN_FREE;
    if (!take_direction(p, i, "rotation", l->rotation, 4, rotation)) return false;
    if (is_free && to->parent >= 0)
        return bad_link(p, i, "a free joint hangs on the world only; the parent here is link %d", to->parent);
    if (is_free && isnan(l->q0[0])) {
        memcpy(to->joint.q0, l->position, sizeof l->position);
        memcpy(to->joint.q0 + 3, rotation, sizeof rotation);
    }
    if (!is_free) memcpy(to->position, l->position, sizeof to->position);
    memcpy(to->rotation, is_free ? (double[4]){1, 0, 0, 0} : rotation, sizeof to->rotation);
    return true;
}

/// Adds link `i` to the scene.
static bool take_link(planting *p, int i)
{
    ctn_scene *const scene = p->scene;
    ctn_link_spec l = p->spec->like;
    if (p->spec->link) p->spec->link(p->spec->context, i, &l);
    scene_link *const to = &scene->links[scene->nlink++];
    double e[3];
    *to = (scene_link){.parent = p->spec->parent[i], .mass = l.mass};
    if (l.name && !(to->name = strdup(l.name)))
        return fail(p->err, CTN_NO_MEMORY, "not enough memory for the names of the links") == CTN_OK;
    if (l.name && (!*l.name || strlen(l.name) > SCENE_MAX_NAME || !strcmp(l.name, "world")))
        return bad_link(p, i, "name: expected 1 to %d bytes that are not 'world'", SCENE_MAX_NAME);
    if ((int)l.joint < CTN_FIXED || l.joint > CTN_FREE) return bad_link(p, i, "joint: there is no type %d", (int)l.joint);
    if (!check_parent(p, i) || !check_all_numbers(p, i, &l)) return false;
    if (!inertia_possible(l.inertia, e))
        return bad_link(p, i,
                        "inertia: no body has principal moments %.4g, %.4g, %.4g (kg m^2): none may be negative or exceed the "
                        "sum of the others",
                        e[0], e[1], e[2]);
    if (!take_joint(p, i, &l, &to->joint) || !take_place(p, i, &l, to)) return false;
    memcpy(to->com, l.com, sizeof l.com);
    memcpy(to->inertia, l.inertia, sizeof l.inertia);
    scene->nq += joint_nq(l.joint), scene->nv += joint_nv(l.joint);
    return true;
}

/// The first link that moves no mass; -1: there is none, -2: no memory.
static int massless(const ctn_scene *scene)
{
    double *const moved = malloc(((size_t)scene->nlink + 1) * sizeof *moved);
    int first = moved ? -1 : -2;
    for (int i = 0; i < scene->nlink && moved; i++) moved[i] = scene->links[i].mass;
    for (int i = scene->nlink - 1; i >= 0 && moved; i--) {
        if (scene->links[i].parent >= 0) moved[scene->links[i].parent] += moved[i];
        if (scene->links[i].joint.type != CTN_FIXED && moved[i] == 0) first = i;
    }
    free(moved);
    return first;
}

/// The first joint that meets no inertia about something.
typedef struct {
    int link;
    const char *about;
} weightless;

static void note_weightless(void *to, int link, const char *about) { *(weightless *)to = (weightless){link, about}; }

static bool check_masses(const planting *p)
{
    weightless w = {-1, NULL};
    const int light = massless(p->scene);
    if (light == -2 || !each_without_inertia(p->scene, note_weightless, &w))
        return fail(p->err, CTN_NO_MEMORY, "not enough memory for the model") == CTN_OK;
    if (light >= 0) return bad_link(p, light, "mass: a moving link needs some, of its own or below it; found none");
    if (w.link < 0) return true;
    return bad_link(p, w.link, "inertia: what its %s joint moves has none about %s, so that no step can be computed",
                    joint_name(p->scene->links[w.link].joint.type), w.about);
}

ctn_model *ctn_model_from_parents(const ctn_tree_spec *spec, ctn_error *err)
{
    if (missing(__func__, "spec", spec, err) || missing(__func__, "parent", spec->parent, err)) return NULL;
    if (spec->links < 1 || spec->links > CTN_MAX_TREE_LINKS) {
        fail(err, CTN_BAD_ARGUMENT, "links: expected 1 to %d, found %d", CTN_MAX_TREE_LINKS, spec->links);
        return NULL;
    }
    for (int k = 0; k < 3; k++)
        if (!isfinite(spec->gravity[k])) {
            fail(err, CTN_BAD_ARGUMENT, "gravity: expected finite numbers, found %g", spec->gravity[k]);
            return NULL;
        }
    planting p = {.spec = spec, .scene = calloc(1, sizeof *p.scene), .err = err};
    ctn_scene *const scene = p.scene;
    const char *const name = spec->name ? spec->name : "tree";
    bool ok = scene;
    if (scene) {
        scene->defaults = SCENE_DEFAULTS;
        memcpy(scene->gravity, spec->gravity, sizeof scene->gravity);
        scene->path = strdup(name), scene->name = strdup(name);
        scene->links = malloc((size_t)spec->links * sizeof *scene->links);
        ok = scene->path && scene->name && scene->links;
    }
    if (!ok) fail(err, CTN_NO_MEMORY, "not enough memory for a tree of %d links", spec->links);
    for (int i = 0; i < spec->links && ok; i++) ok = take_link(&p, i);
    ok = ok && check_masses(&p);
    ctn_model *const model = ok ? ctn_model_create(scene, err) : NULL;
    ctn_scene_free(scene);
    return model;
}
