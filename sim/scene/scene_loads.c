/// `springs:` and `forces:`, what acts on points of links: springs and dampers to points of the world, and forces and torques.
#include "sim/scene/scene_reader.h"

#include <stdlib.h>
#include <string.h>

enum load_key {
    LOAD_KEY_LINK,
    LOAD_KEY_POINT,
    LOAD_KEY_ANCHOR,
    LOAD_KEY_STIFFNESS,
    LOAD_KEY_DAMPING,
    LOAD_KEY_FORCE,
    LOAD_KEY_TORQUE,
    LOAD_KEY_AXES,
    LOAD_KEY_B,
    LOAD_KEY_B_POINT,
    LOAD_KEY_REST,
    LOAD_KEYS
};

static const key spring_keys[LOAD_KEYS] = {
    [LOAD_KEY_LINK] = {.name = "link"},       [LOAD_KEY_POINT] = {.name = "point"},
    [LOAD_KEY_ANCHOR] = {.name = "anchor"},   [LOAD_KEY_STIFFNESS] = {.name = "stiffness"},
    [LOAD_KEY_DAMPING] = {.name = "damping"}, [LOAD_KEY_B] = {.name = "b"},
    [LOAD_KEY_B_POINT] = {.name = "b_point"}, [LOAD_KEY_REST] = {.name = "rest"},
};
static const key force_keys[LOAD_KEYS] = {
    [LOAD_KEY_LINK] = {.name = "link"},     [LOAD_KEY_POINT] = {.name = "point"}, [LOAD_KEY_FORCE] = {.name = "force"},
    [LOAD_KEY_TORQUE] = {.name = "torque"}, [LOAD_KEY_AXES] = {.name = "axes"},
};

bool link_moves(const ctn_scene *scene, int link)
{
    while (link >= 0 && scene->links[link].joint.type == CTN_FIXED) link = scene->links[link].parent;
    return link >= 0;
}

/// The point on which a load acts.
static bool read_point(source *s, const node *n, const node *const v[LOAD_KEYS], scene_load *load)
{
    const node *const link = v[LOAD_KEY_LINK];
    bool ok = true;
    if (!link) ok = missing_key(s, n, "link", "missing; it is the one that this acts on");
    else if (!read_link_name(s, link, &load->link)) ok = false;
    else if (!link_moves(s->r->scene, load->link))
        ok = bad_value(s, link, "%s does not move: nothing can act on it", found(link).text);
    if (v[LOAD_KEY_POINT]) ok = read_vector(s, v[LOAD_KEY_POINT], 3, ANY_SIGN, load->point) && ok;
    return ok;
}

/// The other end of a spring between links, and how long it is where it does not pull.
static bool read_far_end(source *s, const node *const v[LOAD_KEYS], const scene_load *spring, int *b, double point[3], double *rest)
{
    bool ok = read_link_name(s, v[LOAD_KEY_B], b);
    if (ok && *b == spring->link) ok = bad_value(s, v[LOAD_KEY_B], "%s is the spring's `link` already", found(v[LOAD_KEY_B]).text);
    if (v[LOAD_KEY_ANCHOR]) ok = bad_key(s, v[LOAD_KEY_ANCHOR], "stands beside `b`: a spring pulls to a point of the world or to a link");
    if (v[LOAD_KEY_B_POINT]) ok = read_vector(s, v[LOAD_KEY_B_POINT], 3, ANY_SIGN, point) && ok;
    if (v[LOAD_KEY_REST]) ok = read_number(s, v[LOAD_KEY_REST], NOT_NEGATIVE, rest) && ok;
    return ok;
}

/// To a point of the world; or between links: entry number `entry`, which is no load.
static bool read_spring(source *s, const node *n, int entry, scene_load *spring)
{
    const node *v[LOAD_KEYS];
    double far[3] = {0, 0, 0}, rest = 0;
    int b = -1;
    *spring = (scene_load){.link = -1, .at = {{n->line, n->column}, {n->line, n->column}}};
    if (!read_keys(s, n, "a spring", spring_keys, LOAD_KEYS, v)) return false;
    bool ok = read_point(s, n, v, spring);
    if (v[LOAD_KEY_B]) ok = read_far_end(s, v, spring, &b, far, &rest) && ok;
    else if (v[LOAD_KEY_ANCHOR]) ok = read_vector(s, v[LOAD_KEY_ANCHOR], 3, ANY_SIGN, spring->anchor) && ok;
    else
        ok = missing_key(s, n, "anchor",
                         "missing; it is the point of the world that the spring pulls to, [x, y, z]; `b` is another link");
    for (int k = LOAD_KEY_B_POINT; k <= LOAD_KEY_REST && !v[LOAD_KEY_B]; k++)
        if (v[k]) ok = bad_key(s, v[k], "belongs to a spring between links, which has `b`, the other one");
    if (v[LOAD_KEY_STIFFNESS]) ok = read_number(s, v[LOAD_KEY_STIFFNESS], NOT_NEGATIVE, &spring->stiffness) && ok;
    if (v[LOAD_KEY_DAMPING]) ok = read_number(s, v[LOAD_KEY_DAMPING], NOT_NEGATIVE, &spring->damping) && ok;
    for (int k = 0; k < 2; k++) {
        const node *const value = v[LOAD_KEY_STIFFNESS + k];
        if (value) spring->at[k] = (scene_place){value->line, value->column};
    }
    if (!v[LOAD_KEY_STIFFNESS] && !v[LOAD_KEY_DAMPING])
        ok = missing_key(s, n, "stiffness", "missing; a spring has a stiffness, a damping or both");
    return ok && (!v[LOAD_KEY_B] || add_link_spring(s, n, entry, spring, b, far, rest));
}

/// In which axes a force and a torque are.
static bool read_axes(source *s, const node *n, bool *follows)
{
    const char *text;
    if (!read_text(s, n, &text)) return false;
    *follows = !strcmp(text, "link");
    return *follows || !strcmp(text, "world") || bad_value(s, n, "expected world or link, found %s", found(n).text);
}

static bool read_force(source *s, const node *n, scene_load *force)
{
    const node *v[LOAD_KEYS];
    *force = (scene_load){.link = -1};
    if (!read_keys(s, n, "a force", force_keys, LOAD_KEYS, v)) return false;
    bool ok = read_point(s, n, v, force);
    if (v[LOAD_KEY_FORCE]) ok = read_vector(s, v[LOAD_KEY_FORCE], 3, ANY_SIGN, force->force) && ok;
    if (v[LOAD_KEY_TORQUE]) ok = read_vector(s, v[LOAD_KEY_TORQUE], 3, ANY_SIGN, force->torque) && ok, force->turns = true;
    if (!v[LOAD_KEY_FORCE] && !v[LOAD_KEY_TORQUE])
        ok = missing_key(s, n, "force", "missing; [x, y, z] in N, or a `torque` in N m, or both");
    if (v[LOAD_KEY_AXES]) ok = read_axes(s, v[LOAD_KEY_AXES], &force->follows) && ok;
    return ok;
}

/// Whether `n` (NULL: none) can be such a list.
static bool check_list(source *s, const node *n, const char *what)
{
    if (!n) return true;
    if (s->includer) return bad_key(s, n, "not in an included file: the world is that of the scene itself");
    return n->kind == NODE_SEQUENCE || bad_value(s, n, "expected a list of %s, found %s", what, found(n).text);
}

bool read_loads(source *s, const node *springs, const node *forces)
{
    ctn_scene *const scene = s->r->scene;
    bool ok = check_list(s, springs, "springs");
    if (!check_list(s, forces, "forces") || !ok) return false;
    const size_t count =
        (size_t)(springs ? springs->size : 0) + (size_t)(forces ? forces->size : 0) + (size_t)cable_end_springs(s->r);
    scene->loads = reader_alloc(s->r, count * sizeof *scene->loads);
    if (!scene->loads) return false;
    int entry = 0, bonds = scene->nbond;
    for (const node *n = springs ? springs->child : NULL; n && !hopeless(s); n = n->next) {
        ok = read_spring(s, n, entry++, &scene->loads[scene->nload]) && ok;
        if (scene->nbond == bonds) scene->nload++;
        bonds = scene->nbond;
    }
    ok = ok && hold_cable_ends(s);
    scene->nspring = scene->nload;
    for (const node *n = forces ? forces->child : NULL; n && !hopeless(s); n = n->next)
        ok = read_force(s, n, &scene->loads[scene->nload++]) && ok;
    return ok;
}
