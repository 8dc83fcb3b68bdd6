/// `sample:`, how the initial states of many worlds spread about the scene's own.
#include "sim/scene_reader.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_UNIFORM, KEY_NORMAL, SPREAD_KEYS };

/// {uniform: [lo, hi]} or {normal: [mean, standard deviation]}
static bool read_spread(source *s, const node *n, scene_spread *spread)
{
    static const key keys[SPREAD_KEYS] = {{.name = "uniform"}, {.name = "normal"}};
    const node *v[SPREAD_KEYS];
    double x[2];
    if (!read_keys(s, n, "a distribution", keys, SPREAD_KEYS, v)) return false;
    if (!v[KEY_UNIFORM] == !v[KEY_NORMAL])
        return bad_value(s, n, "expected one distribution: {uniform: [lo, hi]} or {normal: [mean, standard deviation]}");
    const node *const given = v[KEY_UNIFORM] ? v[KEY_UNIFORM] : v[KEY_NORMAL];
    if (!read_vector(s, given, 2, ANY_SIGN, x)) return false;
    if (v[KEY_UNIFORM] && x[0] > x[1]) return bad_value(s, given, "expected [lo, hi] with lo <= hi, found [%g, %g]", x[0], x[1]);
    if (v[KEY_NORMAL] && x[1] < 0) return bad_value(s, given->child->next, "expected a standard deviation >= 0, found %g", x[1]);
    *spread = (scene_spread){v[KEY_UNIFORM] ? SPREAD_UNIFORM : SPREAD_NORMAL, x[0], x[1]};
    return true;
}

/// `q` or `v`: distributions by the names of links, and for `all` others. spread [links of the file]
static bool read_spreads(source *s, const node *n, scene_spread *spread)
{
    const ctn_scene *const scene = s->r->scene;
    const int links = scene->nlink - s->first_link;
    if (n->kind != NODE_MAPPING) return bad_value(s, n, "expected distributions by names of links, found %s", found(n).text);
    const node **const given = calloc((size_t)links + 1, sizeof *given);  // [links]: of `all`
    if (!given) return out_of_memory(s);
    bool ok = true;
    for (const node *value = n->child; value && !hopeless(s); value = value->next) {
        const char *const name = value->key->text;
        const int link = strcmp(name, "all") ? find_link(s, name) : scene->nlink, i = link - s->first_link;
        scene_spread one;
        if (link < 0) {
            if (s->r->names_known) ok = bad_key(s, value, "no link is called '%s'", printable(name).text);
        } else if (given[i]) ok = bad_key(s, value, "given twice; first in line %d", given[i]->key->line);
        else if (link < scene->nlink && !joint_nv(scene->links[link].joint.type))
            ok = bad_key(s, value, "the joint of this link is fixed: there is nothing to draw");
        else {
            given[i] = value;
            const bool good = read_spread(s, value, &one);
            for (int k = 0; k < links && good; k++)
                if (k == i || (i == links && !given[k])) spread[k] = one;
            ok = ok && good;
        }
    }
    free(given);
    return ok;
}

bool read_sample(source *s, const node *n)
{
    enum { SEED, Q, V, KEYS };
    static const key keys[KEYS] = {[SEED] = {.name = "seed"}, [Q] = {.name = "q"}, [V] = {.name = "v"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a sample", keys, KEYS, v)) return false;
    const size_t links = (size_t)(s->r->scene->nlink - s->first_link);
    int seed = 0;
    scene_spread *const q = calloc(links + 1, sizeof *q), *const w = calloc(links + 1, sizeof *w);
    bool ok = q && w;
    if (!ok) out_of_memory(s);
    if (ok && v[SEED]) ok = read_whole(s, v[SEED], 0, 2147483647, &seed);
    if (q && v[Q]) ok = read_spreads(s, v[Q], q) && ok;
    if (w && v[V]) ok = read_spreads(s, v[V], w) && ok;
    if (!ok || s->includer) {  // only the scene itself decides
        free(q), free(w);
        return ok;
    }
    s->r->scene->seed = seed, s->r->scene->spread_q = q, s->r->scene->spread_v = w;
    return true;
}
