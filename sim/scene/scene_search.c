/// `search:`, how `catena search` looks for the parameters of the scene's controller.
#include "sim/scene/scene_reader.h"

enum {
    SEARCH_KEY_METHOD,
    SEARCH_KEY_GENERATIONS,
    SEARCH_KEY_WORLDS,
    SEARCH_KEY_SEED,
    SEARCH_KEY_POPULATION,
    SEARCH_KEY_SIGMA,
    SEARCH_KEY_RESTARTS,
    SEARCH_KEY_COVARIANCE,
    SEARCH_KEY_RATES,
    SEARCH_KEY_DISCOUNT,
    SEARCH_KEY_RATE,
    SEARCH_KEY_NOISE,
    SEARCH_KEY_HORIZON,
    SEARCH_KEY_CRITIC,
    SEARCH_KEY_CRITIC_RATE,
    SEARCH_KEYS
};
static const key search_keys[SEARCH_KEYS] = {
    [SEARCH_KEY_METHOD] = {.name = "method"},
    [SEARCH_KEY_GENERATIONS] = {.name = "generations"},
    [SEARCH_KEY_WORLDS] = {.name = "worlds"},
    [SEARCH_KEY_SEED] = {.name = "seed"},
    [SEARCH_KEY_POPULATION] = {.name = "population"},
    [SEARCH_KEY_SIGMA] = {.name = "sigma"},
    [SEARCH_KEY_RESTARTS] = {.name = "restarts"},
    [SEARCH_KEY_COVARIANCE] = {.name = "covariance"},
    [SEARCH_KEY_RATES] = {.name = "rates"},
    [SEARCH_KEY_DISCOUNT] = {.name = "discount"},
    [SEARCH_KEY_RATE] = {.name = "rate"},
    [SEARCH_KEY_NOISE] = {.name = "noise"},
    [SEARCH_KEY_HORIZON] = {.name = "horizon"},
    [SEARCH_KEY_CRITIC] = {.name = "critic"},
    [SEARCH_KEY_CRITIC_RATE] = {.name = "critic_rate"},
};

#define BIT(k) (1u << SEARCH_KEY_##k)
enum {
    OF_ALL = BIT(METHOD) | BIT(GENERATIONS) | BIT(WORLDS) | BIT(SEED),
    OF_CMA = OF_ALL | BIT(POPULATION) | BIT(SIGMA) | BIT(RESTARTS) | BIT(COVARIANCE) | BIT(RATES),
    OF_GRADIENTS = OF_ALL | BIT(DISCOUNT) | BIT(RATE) | BIT(NOISE),
    OF_CRITICS = OF_GRADIENTS | BIT(HORIZON) | BIT(CRITIC) | BIT(CRITIC_RATE),
};

/// What each method has, and what is usual of it.
static const char *const methods[] = {"cma", "likelihood", "ppo", "shac"};
static const struct {
    unsigned keys;
    scene_search usual;
} of_method[] = {
    [SEARCH_CMA] = {OF_CMA, {.method = SEARCH_CMA, .generations = 100, .worlds = 1, .seed = 1, .sigma = 1}},
    [SEARCH_LIKELIHOOD] = {OF_GRADIENTS,
                           {.method = SEARCH_LIKELIHOOD,
                            .generations = 1000,
                            .worlds = 64,
                            .seed = 1,
                            .discount = 0.99,
                            .rate = 0.01,
                            .noise = 0.3}},
    [SEARCH_PPO] = {OF_CRITICS,
                    {.method = SEARCH_PPO,
                     .generations = 1000,
                     .worlds = 64,
                     .seed = 1,
                     .discount = 0.99,
                     .rate = 0.0003,
                     .critic_rate = 0.001,
                     .noise = 0.3,
                     .critic = {64, 64}}},
    [SEARCH_SHAC] = {OF_CRITICS,
                     {.method = SEARCH_SHAC,
                      .generations = 1000,
                      .worlds = 64,
                      .seed = 1,
                      .discount = 0.99,
                      .rate = 0.01,
                      .critic_rate = 0.001,
                      .noise = 0.1,
                      .critic = {64, 64}}},
};

enum { MOST_CANDIDATES = 100000, MOST_GENERATIONS = 100000000, MOST_EACH = 10000 };

void reset_search(scene_search *search) { *search = of_method[SEARCH_CMA].usual; }

static bool read_cma(source *s, const node *const *v, scene_search *to)
{
    static const char *const restarts[] = {"none", "ipop", "bipop"}, *const covariances[] = {"auto", "full", "decoded",
                                                                                             "separable"};
    bool ok = true;
    if (v[SEARCH_KEY_POPULATION]) ok = read_whole(s, v[SEARCH_KEY_POPULATION], 2, MOST_CANDIDATES, &to->population);
    if (v[SEARCH_KEY_SIGMA]) ok = read_number(s, v[SEARCH_KEY_SIGMA], POSITIVE, &to->sigma) && ok;
    if (v[SEARCH_KEY_RESTARTS])
        ok = read_word(s, v[SEARCH_KEY_RESTARTS], restarts, 3, "none, ipop or bipop", &to->restarts) && ok;
    if (v[SEARCH_KEY_COVARIANCE])
        ok = read_word(s, v[SEARCH_KEY_COVARIANCE], covariances, 4, "auto, full, decoded or separable", &to->covariance) && ok;
    if (v[SEARCH_KEY_RATES]) ok = read_choice(s, v[SEARCH_KEY_RATES], "fixed", "adapted", &to->adapt_rates) && ok;
    if (ok && to->adapt_rates && to->covariance == 2)
        ok = bad_value(s, v[SEARCH_KEY_RATES], "adapted rates do not go with `covariance: decoded`; take full or separable");
    return ok;
}

static bool read_gradients(source *s, const node *const *v, scene_search *to)
{
    bool ok = true;
    if (v[SEARCH_KEY_DISCOUNT]) ok = read_number(s, v[SEARCH_KEY_DISCOUNT], POSITIVE, &to->discount);
    if (ok && to->discount > 1)
        ok = bad_value(s, v[SEARCH_KEY_DISCOUNT], "expected a number of at most 1, found %s", found(v[SEARCH_KEY_DISCOUNT]).text);
    if (v[SEARCH_KEY_RATE]) ok = read_number(s, v[SEARCH_KEY_RATE], POSITIVE, &to->rate) && ok;
    if (v[SEARCH_KEY_NOISE]) ok = read_number(s, v[SEARCH_KEY_NOISE], POSITIVE, &to->noise) && ok;
    if (v[SEARCH_KEY_NOISE] && ok && !(to->noise >= LEAST_NOISE && to->noise <= MOST_NOISE))
        ok = bad_value(s, v[SEARCH_KEY_NOISE], "expected a number from 0.01 to 2, found %s", found(v[SEARCH_KEY_NOISE]).text);
    if (v[SEARCH_KEY_HORIZON]) ok = read_number(s, v[SEARCH_KEY_HORIZON], POSITIVE, &to->horizon) && ok;
    if (v[SEARCH_KEY_CRITIC]) {
        to->critic[0] = to->critic[1] = 0;
        ok = read_hidden(s, v[SEARCH_KEY_CRITIC], to->critic) && ok;
    }
    if (v[SEARCH_KEY_CRITIC_RATE]) ok = read_number(s, v[SEARCH_KEY_CRITIC_RATE], POSITIVE, &to->critic_rate) && ok;
    return ok;
}

bool read_search(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    scene_search unused, *const to = s->includer ? &unused : &scene->search;
    const node *v[SEARCH_KEYS];
    int method = SEARCH_CMA;
    reset_search(to);
    to->line = n->line, to->column = n->column;
    if (!read_keys(s, n, "a search", search_keys, SEARCH_KEYS, v)) return false;
    if (v[SEARCH_KEY_METHOD] && !read_word(s, v[SEARCH_KEY_METHOD], methods, 4, "cma, likelihood, ppo or shac", &method))
        return false;
    *to = of_method[method].usual;
    to->line = n->line, to->column = n->column;
    bool ok = true;
    for (int k = 0; k < SEARCH_KEYS; k++)
        if (v[k] && !(of_method[method].keys & 1u << k))
            ok = bad_key(s, v[k], "a search of the method %s has none", methods[method]);
    if (v[SEARCH_KEY_GENERATIONS]) ok = read_whole(s, v[SEARCH_KEY_GENERATIONS], 1, MOST_GENERATIONS, &to->generations) && ok;
    if (v[SEARCH_KEY_WORLDS]) ok = read_whole(s, v[SEARCH_KEY_WORLDS], 1, MOST_EACH, &to->worlds) && ok;
    if (v[SEARCH_KEY_SEED]) ok = read_whole(s, v[SEARCH_KEY_SEED], 0, 2147483647, &to->seed) && ok;
    return (method == SEARCH_CMA ? read_cma(s, v, to) : read_gradients(s, v, to)) && ok;
}
