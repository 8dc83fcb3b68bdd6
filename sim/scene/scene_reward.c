/// `reward:`, what worlds are to be good at: a sum of terms, which control/reward.c evaluates.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum reward_key {
    REWARD_KEY_TERM,
    REWARD_KEY_WEIGHT,
    REWARD_KEY_FROM,
    REWARD_KEY_TO,
    REWARD_KEY_WHEN,
    REWARD_KEY_LINK,
    REWARD_KEY_OF,
    REWARD_KEY_POINT,
    REWARD_KEY_AXIS,
    REWARD_KEY_TARGET,
    REWARD_KEY_JOINTS,
    REWARD_KEY_ABOVE,
    REWARD_KEY_BELOW,
    REWARD_KEY_ENDS,
    REWARD_KEYS
};

static const key reward_keys[REWARD_KEYS] = {
    [REWARD_KEY_TERM] = {.name = "term"},     [REWARD_KEY_WEIGHT] = {.name = "weight"}, [REWARD_KEY_FROM] = {.name = "from"},
    [REWARD_KEY_TO] = {.name = "to"},         [REWARD_KEY_WHEN] = {.name = "when"},     [REWARD_KEY_LINK] = {.name = "link"},
    [REWARD_KEY_OF] = {.name = "of"},         [REWARD_KEY_POINT] = {.name = "point"},   [REWARD_KEY_AXIS] = {.name = "axis"},
    [REWARD_KEY_TARGET] = {.name = "target"}, [REWARD_KEY_JOINTS] = {.name = "joints"}, [REWARD_KEY_ABOVE] = {.name = "above"},
    [REWARD_KEY_BELOW] = {.name = "below"},   [REWARD_KEY_ENDS] = {.name = "ends"},
};

#define BIT(k) (1u << REWARD_KEY_##k)
enum {
    ALWAYS = BIT(TERM) | BIT(WEIGHT) | BIT(FROM) | BIT(TO) | BIT(WHEN),
    POINT = ALWAYS | BIT(LINK) | BIT(OF) | BIT(POINT),
    JOINTS = ALWAYS | BIT(JOINTS),
};

/// What a term of each kind has, and when it counts where that is not said.
static const struct {
    const char *name;
    unsigned keys;
    bool at_end, motors;  // of the last state; of what motors give
} terms[REWARD_TERMS] = {
    [REWARD_PROGRESS] = {"progress", POINT | BIT(AXIS), .at_end = true},
    [REWARD_SPEED] = {.name = "speed", .keys = POINT | BIT(AXIS) | BIT(TARGET)},
    [REWARD_HEIGHT] = {.name = "height", .keys = POINT | BIT(TARGET)},
    [REWARD_UPRIGHT] = {.name = "upright", .keys = ALWAYS | BIT(LINK) | BIT(AXIS)},
    [REWARD_REACH] = {"reach", POINT | BIT(TARGET), .at_end = true},
    [REWARD_POSTURE] = {.name = "posture", .keys = JOINTS},
    [REWARD_EFFORT] = {"effort", JOINTS, .motors = true},
    [REWARD_ENERGY] = {"energy", JOINTS, .motors = true},
    [REWARD_SMOOTHNESS] = {"smoothness", ALWAYS, .motors = true},
    [REWARD_ALIVE] = {.name = "alive", .keys = ALWAYS | BIT(LINK) | BIT(ABOVE) | BIT(BELOW) | BIT(ENDS)},
};

const char *reward_term_name(reward_term term) { return terms[term].name; }

static bool read_term(source *s, const node *n, reward_term *term)
{
    int row;
    if (!read_kind(s, n, terms, sizeof *terms, REWARD_TERMS,
                   "terms are progress, speed, height, upright, reach, posture, effort, energy, smoothness, alive", &row))
        return false;
    *term = (reward_term)row;
    return true;
}

/// The window of time, s.
static bool read_window(source *s, const node *from, const node *to, scene_reward *x)
{
    bool ok = !from || read_number(s, from, NOT_NEGATIVE, &x->from);
    ok = (!to || read_number(s, to, POSITIVE, &x->to)) && ok;
    return !ok || x->from < x->to || bad_value(s, to, "expected a time after `from` (%g s), found %s", x->from, found(to).text);
}

static bool read_when(source *s, const node *n, scene_reward *x)
{
    static const char *const words[] = {"running", "end"};
    int chosen;
    if (!read_word(s, n, words, 2, "running or end", &chosen)) return false;
    if (chosen && x->term == REWARD_SMOOTHNESS)
        return bad_value(s, n, "expected running: a state has no smoothness, only the way there has");
    x->at_end = chosen;
    return true;
}

/// The link, or the centre of mass of all of them.
static bool read_place_of(source *s, const node *n, const node *const v[REWARD_KEYS], scene_reward *x)
{
    static const char *const words[] = {"com"};
    const bool either = terms[x->term].keys & BIT(OF);
    const node *const link = v[REWARD_KEY_LINK], *const of = either ? v[REWARD_KEY_OF] : NULL, *const point = v[REWARD_KEY_POINT];
    int chosen;
    if (!link && !of)
        return missing_key(s, n, "link",
                           either ? "missing; name the link, or `of: com` for the centre of mass of all"
                                  : "missing; name the link");
    if (link && of) return bad_key(s, of, "stands beside `link`: it is a point of the link, or the centre of mass");
    if (link) {
        const bool known = read_link_name(s, link, &x->link);
        return (!point || read_vector(s, point, 3, ANY_SIGN, x->point)) && known;
    }
    if (!read_word(s, of, words, 1, "com, the centre of mass of all links", &chosen)) return false;
    if (point) return bad_key(s, point, "goes with a `link`, whose point it is");
    double mass = 0;
    for (int l = 0; l < s->r->scene->nlink; l++) mass += s->r->scene->links[l].mass;
    return mass != 0 || bad_value(s, of, "no link has a mass; name a `link`");
}

/// A number, of `reach` a point of the world.
static bool read_target(source *s, const node *n, const node *value, scene_reward *x)
{
    if (x->term != REWARD_REACH) return !value || read_number(s, value, ANY_SIGN, x->target);
    if (!value) return missing_key(s, n, "target", "missing; the point of the world to be reached, [x, y, z] in m");
    return read_vector(s, value, 3, ANY_SIGN, x->target);
}

/// Whether motors act on the joint of a link: its own, or thrusters and tendons, which any joint below them may bear.
static bool driven(const ctn_scene *scene, int link)
{
    for (int k = 0; k < scene->nmotor; k++)
        if (scene->motors[k].link == link || scene->motors[k].type >= MOTOR_THRUST || scene->motors[k].tendon) return true;
    return false;
}

static bool read_joint_of(source *s, const node *n, scene_reward *x)
{
    const ctn_scene *const scene = s->r->scene;
    int link;
    if (!read_link_name(s, n, &link)) return false;
    for (int k = 0; k < x->njoint; k++)
        if (x->joints[k] == link) return bad_value(s, n, "%s is named twice", found(n).text);
    if (scene->links[link].joint.type == CTN_FIXED)
        return bad_value(s, n, "the joint of %s is fixed: it has no motion", found(n).text);
    if (terms[x->term].motors && !s->r->errors.count && !driven(scene, link))
        return bad_value(s, n, "the joint of %s has no motor; give it one in `motors`, or leave it out", found(n).text);
    x->joints[x->njoint++] = link;
    return true;
}

static bool read_joints(source *s, const node *n, scene_reward *x)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of links, whose joints count, found %s", found(n).text);
    if (!n->size) return bad_value(s, n, "expected at least one link, found none; without `joints` all count");
    x->joints = reader_alloc(s->r, (size_t)n->size * sizeof *x->joints);
    if (!x->joints) return false;
    bool ok = true;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) ok = read_joint_of(s, entry, x) && ok;
    return ok;
}

/// Between which heights a world is alive.
static bool read_bounds(source *s, const node *n, const node *const v[REWARD_KEYS], scene_reward *x)
{
    const node *const above = v[REWARD_KEY_ABOVE], *const below = v[REWARD_KEY_BELOW];
    if (!above && !below)
        return missing_key(s, n, "above", "missing; give the least height, `below` for the largest, or both, m");
    bool ok = !above || read_number(s, above, ANY_SIGN, &x->above);
    ok = (!below || read_number(s, below, ANY_SIGN, &x->below)) && ok;
    return !ok || x->above < x->below ||
           bad_value(s, below, "expected a height over `above` (%g m), found %s", x->above, found(below).text);
}

static bool read_reward_term(source *s, const node *n, scene_reward *x)
{
    const node *v[REWARD_KEYS];
    *x = (scene_reward){.to = INFINITY, .link = -1, .target = {NAN}, .above = -INFINITY, .below = INFINITY, .ends = true};
    if (!read_keys(s, n, "a term of the reward", reward_keys, REWARD_KEYS, v)) return false;
    bool ok = v[REWARD_KEY_WEIGHT]
                  ? read_number(s, v[REWARD_KEY_WEIGHT], ANY_SIGN, &x->weight)
                  : missing_key(s, n, "weight", "missing; what the term counts, below 0 for what is to be avoided");
    if (ok && x->weight == 0)
        ok = bad_value(s, v[REWARD_KEY_WEIGHT], "expected a number other than 0, found %s; leave the term out",
                       found(v[REWARD_KEY_WEIGHT]).text);
    if (!v[REWARD_KEY_TERM]) return missing_key(s, n, "term", "missing; as progress, upright or effort");
    if (!read_term(s, v[REWARD_KEY_TERM], &x->term)) return false;
    const unsigned keys = terms[x->term].keys;
    for (int k = 0; k < REWARD_KEYS; k++)
        if (v[k] && !(keys & (1u << k))) ok = bad_key(s, v[k], "the term %s has none", terms[x->term].name);
    x->at_end = terms[x->term].at_end;
    x->axis[x->term == REWARD_UPRIGHT ? 2 : 0] = 1;
    ok = read_window(s, v[REWARD_KEY_FROM], v[REWARD_KEY_TO], x) && ok;
    if (v[REWARD_KEY_WHEN]) ok = read_when(s, v[REWARD_KEY_WHEN], x) && ok;
    if (keys & BIT(LINK)) ok = read_place_of(s, n, v, x) && ok;
    if (keys & BIT(AXIS) && v[REWARD_KEY_AXIS]) ok = read_direction(s, v[REWARD_KEY_AXIS], x->axis) && ok;
    if (keys & BIT(TARGET)) ok = read_target(s, n, v[REWARD_KEY_TARGET], x) && ok;
    if (terms[x->term].motors && !s->r->scene->nmotor && (!s->r->motors || !s->r->errors.count))
        ok = bad_value(s, v[REWARD_KEY_TERM], "the scene has no motors; give it some in `motors`");
    else if (keys & BIT(JOINTS) && v[REWARD_KEY_JOINTS]) ok = read_joints(s, v[REWARD_KEY_JOINTS], x) && ok;
    if (keys & BIT(ABOVE)) ok = read_bounds(s, n, v, x) && ok;
    if (keys & BIT(ENDS) && v[REWARD_KEY_ENDS]) ok = read_flag(s, v[REWARD_KEY_ENDS], &x->ends) && ok;
    return ok;
}

void free_reward(scene_reward *reward, int count)
{
    for (int k = 0; k < count; k++) free(reward[k].joints);
    free(reward);
}

bool read_reward(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of terms, found %s", found(n).text);
    if (!n->size) return bad_value(s, n, "expected at least one term, found none");
    scene_reward *const reward = reader_alloc(s->r, (size_t)n->size * sizeof *reward);
    if (!reward) return false;
    int count = 0;
    bool ok = true;
    for (const node *term = n->child; term && !hopeless(s); term = term->next) {
        reward[count].joints = NULL;
        ok = read_reward_term(s, term, &reward[count++]) && ok;
    }
    if (!ok || s->includer || hopeless(s)) {  // only the scene itself decides
        free_reward(reward, count);
        return ok;
    }
    scene->reward = reward, scene->nreward = count;
    return true;
}
