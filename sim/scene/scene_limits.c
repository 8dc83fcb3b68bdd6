/// `optimize.limits`, what a trajectory has to keep to, which control/limits.c evaluates: numbers of what a term of the cost squares,
/// between bounds or exactly at a target, which may move with time; of points also heights, sides of planes, and distances from
/// balls and capsules.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_KEY_TERM,
    LIMIT_KEY_JOINTS,
    LIMIT_KEY_LINK,
    LIMIT_KEY_POINT,
    LIMIT_KEY_FROM,
    LIMIT_KEY_TO,
    LIMIT_KEY_WHEN,
    LIMIT_KEY_TARGET,  // from here on: what is limited
    LIMIT_KEY_WITHIN,
    LIMIT_KEY_ANGLE,
    LIMIT_KEY_ABOVE,
    LIMIT_KEY_BELOW,
    LIMIT_KEY_PLANE,
    LIMIT_KEY_OUTSIDE,
    LIMIT_KEY_INSIDE,
    LIMIT_KEYS
};
static const key limit_keys[LIMIT_KEYS] = {
    [LIMIT_KEY_TERM] = {.name = "term"},   [LIMIT_KEY_JOINTS] = {.name = "joints"},   [LIMIT_KEY_LINK] = {.name = "link"},
    [LIMIT_KEY_POINT] = {.name = "point"}, [LIMIT_KEY_FROM] = {.name = "from"},       [LIMIT_KEY_TO] = {.name = "to"},
    [LIMIT_KEY_WHEN] = {.name = "when"},   [LIMIT_KEY_TARGET] = {.name = "target"},   [LIMIT_KEY_WITHIN] = {.name = "within"},
    [LIMIT_KEY_ANGLE] = {.name = "angle"}, [LIMIT_KEY_ABOVE] = {.name = "above"},     [LIMIT_KEY_BELOW] = {.name = "below"},
    [LIMIT_KEY_PLANE] = {.name = "plane"}, [LIMIT_KEY_OUTSIDE] = {.name = "outside"}, [LIMIT_KEY_INSIDE] = {.name = "inside"},
};

#define BIT(k) (1u << LIMIT_KEY_##k)
enum {
    ALWAYS = BIT(TERM) | BIT(FROM) | BIT(TO) | BIT(WHEN) | BIT(TARGET),
    POINTS = BIT(WITHIN) | BIT(ABOVE) | BIT(BELOW) | BIT(PLANE) | BIT(OUTSIDE) | BIT(INSIDE),
};

/// By cost_term: what a limit of the term may have.
static const struct {
    const char *name, *kinds;
    unsigned keys;
} terms[] = {
    [COST_POSTURE] = {"posture", "`within`, or `target`", ALWAYS | BIT(JOINTS) | BIT(WITHIN)},
    [COST_VELOCITY] = {"velocity", "`within`, or `target`", ALWAYS | BIT(JOINTS) | BIT(WITHIN)},
    [COST_CONTROL] = {"control", "`within`, or `target`", ALWAYS | BIT(WITHIN)},
    [COST_CONTROL_RATE] = {"control_rate", "`within`, or `target`", ALWAYS | BIT(WITHIN)},
    [COST_PLACE] = {"place", "`within`, `above`, `below`, `plane`, `outside`, `inside`, or `target`",
                    ALWAYS | POINTS | BIT(LINK) | BIT(POINT)},
    [COST_ORIENTATION] = {"orientation", "`target`", ALWAYS | BIT(LINK) | BIT(ANGLE)},
    [COST_COM] = {"com", "`within`, `above`, `below`, `plane`, `outside`, `inside`, or `target`", ALWAYS | POINTS},
    [COST_POINT_VELOCITY] = {"point_velocity", "`within`, or `target`", ALWAYS | BIT(LINK) | BIT(POINT) | BIT(WITHIN)},
};
enum { TERMS = sizeof terms / sizeof *terms };

static bool is_word(const node *n, const char *word) { return n->kind == NODE_SCALAR && n->plain && !strcmp(n->text, word); }

/// Room for one more limit, the same as `x` but for what this one is to own.
static scene_limit *add_limit(source *s, scene_optimize *to, const scene_limit *x, int count)
{
    scene_limit *const limits = realloc(to->limits, ((size_t)to->nlimit + 1) * sizeof *limits);
    if (!limits) return out_of_memory(s), NULL;
    to->limits = limits;
    scene_limit *const own = &limits[to->nlimit];
    *own = *x;
    own->count = count, own->of.joints = NULL, own->of.target = NULL, own->lower_moves = NULL;
    own->lower = malloc(2 * ((size_t)count + 1) * sizeof *own->lower);
    if (!own->lower) return out_of_memory(s), NULL;
    own->upper = own->lower + count;
    to->nlimit++;
    for (int k = 0; k < count; k++) own->lower[k] = -INFINITY, own->upper[k] = INFINITY;
    own->of.target = calloc((size_t)x->of.ntarget + 4, sizeof *own->of.target);
    own->of.joints = calloc((size_t)x->of.njoint + 1, sizeof *own->of.joints);
    own->lower_moves = calloc(2 * ((size_t)count + 1), sizeof *own->lower_moves);
    if (!own->of.target || !own->of.joints || !own->lower_moves) return out_of_memory(s), NULL;
    own->upper_moves = own->lower_moves + count;
    if (x->of.joints) memcpy(own->of.joints, x->of.joints, (size_t)x->of.njoint * sizeof *own->of.joints);
    return own;
}

void free_limits(scene_limit *limits, int count)
{
    for (int k = 0; k < count; k++)
        free(limits[k].lower), free(limits[k].of.target), free(limits[k].of.joints), free(limits[k].lower_moves);
    free(limits);
}

/// A bound, which may move: what moves is added to a constant.
static bool read_bound(source *s, const node *n, value_unit unit, scene_optimize *to, double *constant, int *moves)
{
    *constant = 0;
    return read_signal_into(s, n, unit, &to->signals, &to->nsignal, constant, moves);
}

/// Bounds k of a limit: [lo, hi], either of which may be `none`, or `none` for both. all: they are those of all numbers.
static bool read_pair(source *s, const node *n, scene_optimize *to, scene_limit *x, int k, bool all)
{
    const value_unit unit = cost_unit(s->r->scene, &x->of, all ? -1 : k);
    double *const lo = &x->lower[k], *const hi = &x->upper[k];
    int *const low_moves = &x->lower_moves[k], *const high_moves = &x->upper_moves[k];
    if (is_word(n, "none")) return true;
    if (n->kind != NODE_SEQUENCE || n->size != 2)
        return bad_value(s, n, "expected [lo, hi], either of which may be `none`, found %s", found(n).text);
    const node *const low = n->child, *const high = low->next;
    bool ok = is_word(low, "none") || read_bound(s, low, unit, to, lo, low_moves);
    ok = (is_word(high, "none") || read_bound(s, high, unit, to, hi, high_moves)) && ok;
    if (ok && !*low_moves && !*high_moves && !(*lo < *hi))
        ok = bad_value(s, n, "expected [lo, hi] with lo below hi, found [%g, %g]", *lo, *hi);
    return ok;
}

/// A pair for all numbers, or one each.
static bool read_pairs(source *s, const node *n, scene_optimize *to, scene_limit *x)
{
    bool each = false, ok = true;
    for (const node *pair = n->kind == NODE_SEQUENCE ? n->child : NULL; pair; pair = pair->next)
        each = each || pair->kind == NODE_SEQUENCE;
    if (!each) {
        ok = read_pair(s, n, to, x, 0, true);
        for (int k = 1; k < x->count; k++)
            x->lower[k] = x->lower[0], x->upper[k] = x->upper[0], x->lower_moves[k] = x->lower_moves[0],
            x->upper_moves[k] = x->upper_moves[0];
        return ok;
    }
    if (n->size != x->count)
        return bad_value(s, n, "expected [lo, hi], or one of these for each of the %d numbers, found %d", x->count, n->size);
    const node *pair = n->child;
    for (int k = 0; k < x->count; k++, pair = pair->next) ok = read_pair(s, pair, to, x, k, false) && ok;
    return ok;
}

/// What of a value moves; NULL: nothing.
static const node *moving(const node *n)
{
    const node *found = n->kind == NODE_MAPPING ? n : NULL;
    for (const node *entry = n->kind == NODE_SEQUENCE ? n->child : NULL; entry && !found; entry = entry->next)
        found = moving(entry);
    return found;
}

/// Turns stand still, which somebody who knows targets of the cost may not expect.
static bool stands_still(source *s, const node *n)
{
    const node *const moves = n ? moving(n) : NULL;
    return !moves ||
           bad_value(s, moves,
                     "turns of limits stand still: expected a number, found %s; write several limits, each with its `from` and "
                     "`to`, or a term of `cost`, whose target may move",
                     found(moves).text);
}

/// Exactly at a target.
static bool read_target(source *s, const node *n, const scene_limit *x, scene_optimize *to)
{
    scene_limit *const own = add_limit(s, to, x, x->of.count);
    if (!own) return false;
    own->of.ntarget = x->of.term == COST_ORIENTATION ? 4 : x->of.ntarget;
    memset(own->lower, 0, 2 * (size_t)own->count * sizeof *own->lower);
    if (x->of.term == COST_ORIENTATION) return stands_still(s, n) && read_quaternion(s, n, own->of.target);
    if (x->of.ntarget != x->of.count && n->kind == NODE_SCALAR)
        return bad_value(s, n,
                         "expected a list of the %d numbers of `q` of these joints, as a ball's turn is four of them, found %s",
                         x->of.ntarget, found(n).text);
    if (x->of.ntarget != x->of.count) return stands_still(s, n) && read_each(s, n, x->of.ntarget, ANY_SIGN, NULL, own->of.target);
    const bool point = x->of.term == COST_PLACE || x->of.term == COST_COM || x->of.term == COST_POINT_VELOCITY;
    if (point && n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of 3 numbers, found %s", found(n).text);
    const bool ok = read_moving_numbers(s, n, own->count, &own->of, to, own->of.target, own->lower_moves);
    memcpy(own->upper_moves, own->lower_moves, (size_t)own->count * sizeof *own->upper_moves);
    return ok;
}

/// The joints' own limits: those of coordinates together, the cone of each ball.
static bool read_own(source *s, const node *n, const scene_limit *x, scene_optimize *to)
{
    const ctn_scene *const scene = s->r->scene;
    scene_limit numbers = *x;
    numbers.of.joints = reader_alloc(s->r, (size_t)x->of.njoint * sizeof *numbers.of.joints + 1);
    if (!numbers.of.joints) return false;
    numbers.of.njoint = numbers.of.count = 0;
    bool any = false, ok = true;
    for (int k = 0; k < x->of.njoint && ok; k++) {
        const int l = x->of.joints[k];
        const scene_joint *const joint = &scene->links[l].joint;
        bool limited = false;
        for (int i = 0; i < 3; i++) limited = limited || joint->limited[i];
        any = any || limited;
        if (!limited) continue;
        if (joint->type != CTN_BALL) {
            numbers.of.joints[numbers.of.njoint++] = l, numbers.of.count += joint_nv(joint->type);
            continue;
        }
        scene_limit cone = *x;
        cone.form = LIMIT_DISTANCE, cone.of.joints = (int *)&l, cone.of.njoint = 1, cone.of.count = 3, cone.of.ntarget = 4;
        scene_limit *const own = add_limit(s, to, &cone, 1);
        ok = own != NULL;
        if (ok) own->upper[0] = joint->limits[0][1], memcpy(own->of.target, joint->rest, sizeof joint->rest);
    }
    numbers.of.ntarget = numbers.of.count;
    scene_limit *const own = ok && numbers.of.count ? add_limit(s, to, &numbers, numbers.of.count) : NULL;
    for (int k = 0, at = 0; own && k < numbers.of.njoint; k++) {
        const scene_joint *const joint = &scene->links[numbers.of.joints[k]].joint;
        for (int i = 0; i < joint_nv(joint->type); i++, at++)
            if (joint->limited[i]) own->lower[at] = joint->limits[i][0], own->upper[at] = joint->limits[i][1];
    }
    free(numbers.of.joints);
    if (!any) return bad_value(s, n, "none of these joints has `limits` of its own; give them some, or bounds here");
    return ok && (own || !numbers.of.count);
}

static bool read_within(source *s, const node *n, const scene_limit *x, scene_optimize *to)
{
    if (is_word(n, "own")) {
        if (x->of.term == COST_POSTURE) return read_own(s, n, x, to);
        return bad_value(s, n, "`own` are limits of joints' positions; the term %s has bounds alone", terms[x->of.term].name);
    }
    if (x->of.ntarget != x->of.count)
        return bad_value(
            s, n, "a ball has no coordinates that could be between bounds; take `within: own`, or leave it out of `joints`");
    scene_limit *const own = add_limit(s, to, x, x->of.count);
    return own && read_pairs(s, n, to, own);
}

/// Heights, between which a point is.
static bool read_above(source *s, const node *above, const node *below, const scene_limit *x, scene_optimize *to)
{
    scene_limit *const own = add_limit(s, to, x, 1);
    if (!own) return false;
    own->form = LIMIT_ALONG, own->axis[2] = 1;
    bool ok = !above || read_bound(s, above, NO_UNIT, to, &own->lower[0], &own->lower_moves[0]);
    ok = (!below || read_bound(s, below, NO_UNIT, to, &own->upper[0], &own->upper_moves[0])) && ok;
    return !ok || own->lower_moves[0] || own->upper_moves[0] || own->lower[0] < own->upper[0] ||
           bad_value(s, below, "expected a height over `above` (%g m), found %s", own->lower[0], found(below).text);
}

/// The side of a plane that its normal points to; keys as of `ground`.
static bool read_plane(source *s, const node *n, const scene_limit *x, scene_optimize *to)
{
    enum { HEIGHT, NORMAL, KEYS };
    static const key keys[KEYS] = {[HEIGHT] = {.name = "height"}, [NORMAL] = {.name = "normal"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a plane", keys, KEYS, v)) return false;
    scene_limit *const own = add_limit(s, to, x, 1);
    if (!own) return false;
    own->form = LIMIT_ALONG, own->lower[0] = 0;
    if (!v[NORMAL]) return missing_key(s, n, "normal", "missing; the direction to the side that is free, 3 numbers");
    return read_direction(s, v[NORMAL], own->axis) &&
           (!v[HEIGHT] || read_bound(s, v[HEIGHT], NO_UNIT, to, &own->lower[0], &own->lower_moves[0]));
}

/// The distance from a ball or a capsule, with the keys of these shapes.
static bool read_distance(source *s, const node *n, bool outside, const scene_limit *x, scene_optimize *to)
{
    enum { TYPE, CENTER, FROM, TO, RADIUS, KEYS };
    static const key keys[KEYS] = {[TYPE] = {.name = "type"},
                                   [CENTER] = {.name = "center"},
                                   [FROM] = {.name = "from"},
                                   [TO] = {.name = "to"},
                                   [RADIUS] = {.name = "radius"}};
    static const char *const words[] = {"sphere", "capsule"};
    const node *v[KEYS];
    int capsule;
    double end[3], radius;
    if (!read_keys(s, n, "a sphere or capsule", keys, KEYS, v)) return false;
    if (!v[TYPE]) return missing_key(s, n, "type", "missing; sphere or capsule");
    if (!read_word(s, v[TYPE], words, 2, "sphere or capsule", &capsule)) return false;
    bool ok = true;
    for (int k = CENTER; k <= TO; k++) {
        const bool takes = (k == CENTER) != capsule;
        if (v[k] && !takes) ok = bad_key(s, v[k], "a shape of type %s has none", words[capsule]);
        if (!v[k] && takes && k != CENTER) ok = missing_key(s, n, keys[k].name, "missing; a capsule needs it");
    }
    if (!v[RADIUS]) ok = missing_key(s, n, "radius", "missing; m");
    scene_limit *const own = ok ? add_limit(s, to, x, 1) : NULL;
    if (!own) return false;
    own->form = LIMIT_DISTANCE;
    const node *const from = capsule ? v[FROM] : v[CENTER];
    ok = read_number(s, v[RADIUS], POSITIVE, &radius);
    if (ok) *(outside ? own->lower : own->upper) = radius;
    if (from) ok = read_vector(s, from, 3, ANY_SIGN, own->of.target) && ok;
    if (!capsule) return ok;
    ok = read_vector(s, v[TO], 3, ANY_SIGN, end) && ok;
    for (int i = 0; i < 3; i++) own->axis[i] = end[i] - own->of.target[i];
    if (ok && norm(own->axis, 3) == 0) ok = bad_value(s, v[TO], "the ends of a capsule must be apart; a ball is a sphere");
    return ok;
}

/// How far a link's turn may be from its target.
static bool read_angle(source *s, const node *angle, const node *target, const scene_limit *x, scene_optimize *to)
{
    scene_limit *const own = add_limit(s, to, x, 1);
    if (!own) return false;
    own->form = LIMIT_DISTANCE, own->of.ntarget = 4;
    return read_quaternion(s, target, own->of.target) && read_quantity(s, angle, POSITIVE, ANGLE, own->upper);
}

/// Which numbers the term has.
static bool read_residual(source *s, const node *n, const node *const v[LIMIT_KEYS], scene_cost *x)
{
    const ctn_scene *const scene = s->r->scene;
    x->count = x->ntarget = 3;
    switch (x->term) {
    case COST_CONTROL:
    case COST_CONTROL_RATE:
        if (!scene->nmotor && (!s->r->motors || !s->r->errors.count))
            return bad_value(s, v[LIMIT_KEY_TERM], "the scene has no motors; give it some in `motors`");
        x->count = x->ntarget = told_numbers(scene);
        return true;
    case COST_POSTURE:
    case COST_VELOCITY:
        if (!read_cost_joints(s, v[LIMIT_KEY_JOINTS], x)) return false;
        x->count = x->ntarget = 0;
        for (int k = 0; k < x->njoint; k++) {
            const ctn_joint_type type = scene->links[x->joints[k]].joint.type;
            x->count += joint_nv(type), x->ntarget += x->term == COST_POSTURE ? joint_nq(type) : joint_nv(type);
        }
        return true;
    case COST_COM: return true;
    default:
        if (!v[LIMIT_KEY_LINK]) return missing_key(s, n, "link", "missing; name the link");
        return read_link_name(s, v[LIMIT_KEY_LINK], &x->link) &&
               (!v[LIMIT_KEY_POINT] || read_vector(s, v[LIMIT_KEY_POINT], 3, ANY_SIGN, x->point));
    }
}

/// What is limited: one of these keys; `above` and `below` are one, and so are `angle` and `target`.
static bool read_kind_of(source *s, const node *n, const node *const v[LIMIT_KEYS], const scene_limit *x, scene_optimize *to)
{
    const node *const target = v[LIMIT_KEY_TARGET], *const angle = v[LIMIT_KEY_ANGLE], *second = NULL;
    int count = 0;
    for (int k = LIMIT_KEY_TARGET; k < LIMIT_KEYS; k++) {
        if (!v[k] || (k == LIMIT_KEY_ANGLE && target) || (k == LIMIT_KEY_BELOW && v[LIMIT_KEY_ABOVE])) continue;
        if (count++) second = v[k];
    }
    if (!count || (angle && !target))
        return missing_key(s, n, angle || x->of.term == COST_ORIENTATION ? "target" : "within",
                           "missing; a limit of the term %s has %s", terms[x->of.term].name, terms[x->of.term].kinds);
    if (second) return bad_key(s, second, "a limit has one of %s; write two limits", terms[x->of.term].kinds);
    if (angle) return stands_still(s, target) && read_angle(s, angle, target, x, to);
    if (target) return read_target(s, target, x, to);
    if (v[LIMIT_KEY_WITHIN]) return read_within(s, v[LIMIT_KEY_WITHIN], x, to);
    if (v[LIMIT_KEY_PLANE]) return read_plane(s, v[LIMIT_KEY_PLANE], x, to);
    if (v[LIMIT_KEY_OUTSIDE]) return read_distance(s, v[LIMIT_KEY_OUTSIDE], true, x, to);
    if (v[LIMIT_KEY_INSIDE]) return read_distance(s, v[LIMIT_KEY_INSIDE], false, x, to);
    return read_above(s, v[LIMIT_KEY_ABOVE], v[LIMIT_KEY_BELOW], x, to);
}

static bool read_limit(source *s, const node *n, scene_optimize *to)
{
    static const char *const words[] = {"always", "end"};
    const node *v[LIMIT_KEYS];
    int row, end = 0;
    scene_limit x = {.of = {.link = -1, .to = INFINITY}, .at = {n->line, n->column}};
    if (!read_keys(s, n, "a limit", limit_keys, LIMIT_KEYS, v)) return false;
    if (!v[LIMIT_KEY_TERM]) return missing_key(s, n, "term", "missing; as posture, velocity or place");
    if (!read_kind(s, v[LIMIT_KEY_TERM], terms, sizeof *terms, TERMS,
                   "terms are posture, velocity, control, control_rate, place, orientation, com, point_velocity", &row))
        return false;
    x.of.term = (cost_term)row;
    bool ok = true;
    for (int k = 0; k < LIMIT_KEYS; k++)
        if (v[k] && !(terms[row].keys & (1u << k))) ok = bad_key(s, v[k], "a limit of the term %s has none", terms[row].name);
    if (v[LIMIT_KEY_FROM]) ok = read_number(s, v[LIMIT_KEY_FROM], NOT_NEGATIVE, &x.of.from) && ok;
    if (v[LIMIT_KEY_TO]) ok = read_number(s, v[LIMIT_KEY_TO], POSITIVE, &x.of.to) && ok;
    if (ok && !(x.of.from <= x.of.to))
        ok = bad_value(s, v[LIMIT_KEY_TO], "expected a time not before `from` (%g s), found %s", x.of.from,
                       found(v[LIMIT_KEY_TO]).text);
    if (v[LIMIT_KEY_WHEN]) ok = read_word(s, v[LIMIT_KEY_WHEN], words, 2, "always or end", &end) && ok;
    x.end = end;
    if (ok && end && (v[LIMIT_KEY_FROM] || v[LIMIT_KEY_TO]))
        ok = bad_key(s, v[LIMIT_KEY_WHEN], "stands beside `from` or `to`; a limit has a window, or counts at the end");
    if (ok && end && (x.of.term == COST_CONTROL || x.of.term == COST_CONTROL_RATE))
        ok = bad_value(s, v[LIMIT_KEY_WHEN], "motors are told nothing any more at the end; leave `when` out");
    ok = ok && read_residual(s, n, v, &x.of) && read_kind_of(s, n, v, &x, to);
    free(x.of.joints);
    return ok;
}

bool read_state_limits(source *s, const node *n, scene_optimize *to)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of limits, found %s", found(n).text);
    if (!n->size) return bad_value(s, n, "expected at least one limit, found none");
    bool ok = true;
    for (const node *limit = n->child; limit && !hopeless(s); limit = limit->next) ok = read_limit(s, limit, to) && ok;
    return ok;
}
