/// `springs:`, springs and dampers between points of links and points of the world.
#include "sim/scene/scene_reader.h"

#include <stdlib.h>

enum spring_key { SPRING_KEY_LINK, SPRING_KEY_POINT, SPRING_KEY_ANCHOR, SPRING_KEY_STIFFNESS, SPRING_KEY_DAMPING };

static const key spring_keys[] = {
    [SPRING_KEY_LINK] = {.name = "link"},           [SPRING_KEY_POINT] = {.name = "point"},
    [SPRING_KEY_ANCHOR] = {.name = "anchor"},       [SPRING_KEY_STIFFNESS] = {.name = "stiffness"},
    [SPRING_KEY_DAMPING] = {.name = "damping"},
};
enum { SPRING_KEYS = sizeof spring_keys / sizeof *spring_keys };

/// Whether a joint lets the link move.
static bool moves(const ctn_scene *scene, int link)
{
    while (link >= 0 && scene->links[link].joint.type == CTN_FIXED) link = scene->links[link].parent;
    return link >= 0;
}

static bool read_spring(source *s, const node *n, scene_spring *spring)
{
    const node *v[SPRING_KEYS];
    *spring = (scene_spring){.link = -1, .at = {{n->line, n->column}, {n->line, n->column}}};
    if (!read_keys(s, n, "a spring", spring_keys, SPRING_KEYS, v)) return false;
    bool ok = true;
    if (!v[SPRING_KEY_LINK]) ok = missing_key(s, n, "link", "missing; a spring holds a link");
    else if (!read_link_name(s, v[SPRING_KEY_LINK], &spring->link)) ok = false;
    else if (!moves(s->r->scene, spring->link))
        ok = bad_value(s, v[SPRING_KEY_LINK], "%s does not move: a spring to the world does nothing there",
                       found(v[SPRING_KEY_LINK]).text);
    if (v[SPRING_KEY_POINT]) ok = read_vector(s, v[SPRING_KEY_POINT], 3, ANY_SIGN, spring->point) && ok;
    if (v[SPRING_KEY_ANCHOR]) ok = read_vector(s, v[SPRING_KEY_ANCHOR], 3, ANY_SIGN, spring->anchor) && ok;
    else ok = missing_key(s, n, "anchor", "missing; it is the point of the world that the spring pulls to, [x, y, z]");
    if (v[SPRING_KEY_STIFFNESS]) ok = read_number(s, v[SPRING_KEY_STIFFNESS], NOT_NEGATIVE, &spring->stiffness) && ok;
    if (v[SPRING_KEY_DAMPING]) ok = read_number(s, v[SPRING_KEY_DAMPING], NOT_NEGATIVE, &spring->damping) && ok;
    for (int k = 0; k < 2; k++) {
        const node *const value = v[SPRING_KEY_STIFFNESS + k];
        if (value) spring->at[k] = (scene_place){value->line, value->column};
    }
    if (!v[SPRING_KEY_STIFFNESS] && !v[SPRING_KEY_DAMPING])
        ok = missing_key(s, n, "stiffness", "missing; a spring has a stiffness, a damping or both");
    return ok;
}

bool read_springs(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    if (s->includer) return bad_key(s, n, "not in an included file: anchors are points of the world of the scene itself");
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of springs, found %s", found(n).text);
    scene->springs = reader_alloc(s->r, (size_t)n->size * sizeof *scene->springs);
    bool ok = scene->springs;
    for (const node *entry = n->child; entry && scene->springs && !hopeless(s); entry = entry->next)
        ok = read_spring(s, entry, &scene->springs[scene->nspring++]) && ok;
    return ok;
}
