/// `pairs:` and `exclude:`, which links touch each other whatever else is said, and which do not.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 16384 };

/// A link that can touch others.
static bool read_side(source *s, const node *n, const char *key, const node *mapping, int *link)
{
    if (!n) return missing_key(s, mapping, key, "missing; a pair is of two links, `a` and `b`");
    if (n->kind == NODE_SCALAR && !strcmp(n->text, "world"))
        return bad_value(s, n, "the world is no link; what is fixed has `ground`, `obstacles` and `terrain`, with `layers`");
    return read_link_name(s, n, link);
}

static bool read_pair(source *s, const node *n, scene_pair *to)
{
    enum { A, B, FRICTION, DEPTH, STIFFNESS, KEYS };
    static const key keys[KEYS] = {[A] = {.name = "a"},
                                   [B] = {.name = "b"},
                                   [FRICTION] = {.name = "friction"},
                                   [DEPTH] = {.name = "depth"},
                                   [STIFFNESS] = {.name = "stiffness"}};
    const node *v[KEYS];
    *to = (scene_pair){.a = -1, .b = -1, .friction = NAN, .depth = NAN, .stiffness = NAN, .at = {n->line, n->column}};
    to->file = s->r->scene->files[s->file].path;
    if (!read_keys(s, n, "a pair", keys, KEYS, v)) return false;
    bool ok = read_side(s, v[A], "a", n, &to->a);
    ok = read_side(s, v[B], "b", n, &to->b) && ok;
    if (ok && to->a == to->b) ok = bad_value(s, v[B], "%s is `a` already; a link does not touch itself", found(v[B]).text);
    if (v[FRICTION]) ok = read_number(s, v[FRICTION], NOT_NEGATIVE, &to->friction) && ok;
    if (v[DEPTH]) ok = read_number(s, v[DEPTH], POSITIVE, &to->depth) && ok;
    if (v[STIFFNESS]) ok = read_number(s, v[STIFFNESS], POSITIVE, &to->stiffness) && ok;
    if (v[DEPTH] && v[STIFFNESS])
        ok = bad_key(s, v[STIFFNESS],
                     "stands beside `depth`, which says how stiff the pair is by the weight of all that moves; "
                     "leave one of both out");
    return ok;
}

/// Room for the entries of a list besides those [count] that there are.
static bool grow(source *s, void **list, int count, const node *n, size_t size)
{
    void *const more = realloc(*list, ((size_t)count + (size_t)n->size + 1) * size);
    if (!more) return out_of_memory(s);
    *list = more;
    return true;
}

bool read_touching(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    bool ok = true;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of pairs, found %s", found(n).text);
    if (n->size > MOST_PAIRS - scene->npair) return bad_value(s, n, "a scene has at most %d pairs", (int)MOST_PAIRS);
    if (!grow(s, (void **)&scene->pairs, scene->npair, n, sizeof *scene->pairs)) return false;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        scene_pair *const p = &scene->pairs[scene->npair];
        const bool read = read_pair(s, entry, p);
        for (int k = 0; k < scene->npair && read; k++) {
            const scene_pair *const o = &scene->pairs[k];
            if ((o->a == p->a && o->b == p->b) || (o->a == p->b && o->b == p->a))
                ok = bad_value(s, entry, "'%s' and '%s' are a pair already", printable(scene->links[p->a].name).text,
                               printable(scene->links[p->b].name).text);
        }
        scene->npair += read, ok = ok && read;
    }
    return ok;
}

static bool read_apart(source *s, const node *n, scene_apart *to)
{
    static const key keys[] = {{.name = "tree"}};
    const node *tree;
    to->a = to->b = -1;
    if (n->kind == NODE_MAPPING) {
        if (!read_keys(s, n, "an exclusion", keys, 1, &tree)) return false;
        return tree ? read_link_name(s, tree, &to->a)
                    : missing_key(s, n, "tree", "missing; it is the link whose tree does not touch itself");
    }
    if (n->kind != NODE_SEQUENCE || n->size != 2)
        return bad_value(s, n, "expected two links, [a, b], or {tree: link}, found %s", found(n).text);
    const node *const second = n->child->next;
    bool ok = read_link_name(s, n->child, &to->a);
    ok = read_link_name(s, second, &to->b) && ok;
    return ok && (to->a != to->b || bad_value(s, second, "a link does not touch itself; `{tree: %s}` is all that hangs on it",
                                              printable(second->text).text));
}

bool read_excluded(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    bool ok = true;
    if (n->kind != NODE_SEQUENCE)
        return bad_value(s, n, "expected a list of links that do not touch, [[a, b], ...], found %s", found(n).text);
    if (!grow(s, (void **)&scene->apart, scene->napart, n, sizeof *scene->apart)) return false;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        const bool read = read_apart(s, entry, &scene->apart[scene->napart]);
        scene->napart += read, ok = ok && read;
    }
    return ok;
}
