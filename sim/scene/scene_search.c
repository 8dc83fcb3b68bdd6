/// `search:`, how `catena search` looks for the parameters of the scene's controller.
#include "sim/scene/scene_reader.h"

enum {
    SEARCH_POPULATION,
    SEARCH_GENERATIONS,
    SEARCH_WORLDS,
    SEARCH_SEED,
    SEARCH_SIGMA,
    SEARCH_RESTARTS,
    SEARCH_COVARIANCE,
    SEARCH_RATES,
    SEARCH_KEYS
};
static const key search_keys[SEARCH_KEYS] = {
    [SEARCH_POPULATION] = {.name = "population"}, [SEARCH_GENERATIONS] = {.name = "generations"},
    [SEARCH_WORLDS] = {.name = "worlds"},         [SEARCH_SEED] = {.name = "seed"},
    [SEARCH_SIGMA] = {.name = "sigma"},           [SEARCH_RESTARTS] = {.name = "restarts"},
    [SEARCH_COVARIANCE] = {.name = "covariance"}, [SEARCH_RATES] = {.name = "rates"},
};

enum { MOST_CANDIDATES = 100000, MOST_GENERATIONS = 100000000, MOST_EACH = 10000 };

void reset_search(scene_search *search) { *search = (scene_search){.generations = 100, .worlds = 1, .seed = 1, .sigma = 1}; }

bool read_search(source *s, const node *n)
{
    static const char *const restarts[] = {"none", "ipop", "bipop"}, *const covariances[] = {"auto", "full", "decoded",
                                                                                             "separable"};
    ctn_scene *const scene = s->r->scene;
    scene_search unused, *const to = s->includer ? &unused : &scene->search;
    const node *v[SEARCH_KEYS];
    reset_search(to);
    to->line = n->line, to->column = n->column;
    if (!read_keys(s, n, "a search", search_keys, SEARCH_KEYS, v)) return false;
    bool ok = true;
    if (v[SEARCH_POPULATION]) ok = read_whole(s, v[SEARCH_POPULATION], 2, MOST_CANDIDATES, &to->population);
    if (v[SEARCH_GENERATIONS]) ok = read_whole(s, v[SEARCH_GENERATIONS], 1, MOST_GENERATIONS, &to->generations) && ok;
    if (v[SEARCH_WORLDS]) ok = read_whole(s, v[SEARCH_WORLDS], 1, MOST_EACH, &to->worlds) && ok;
    if (v[SEARCH_SEED]) ok = read_whole(s, v[SEARCH_SEED], 0, 2147483647, &to->seed) && ok;
    if (v[SEARCH_SIGMA]) ok = read_number(s, v[SEARCH_SIGMA], POSITIVE, &to->sigma) && ok;
    if (v[SEARCH_RESTARTS]) ok = read_word(s, v[SEARCH_RESTARTS], restarts, 3, "none, ipop or bipop", &to->restarts) && ok;
    if (v[SEARCH_COVARIANCE])
        ok = read_word(s, v[SEARCH_COVARIANCE], covariances, 4, "auto, full, decoded or separable", &to->covariance) && ok;
    if (v[SEARCH_RATES]) ok = read_choice(s, v[SEARCH_RATES], "fixed", "adapted", &to->adapt_rates) && ok;
    if (ok && to->adapt_rates && to->covariance == 2)
        ok = bad_value(s, v[SEARCH_RATES], "adapted rates do not go with `covariance: decoded`; take full or separable");
    return ok;
}
