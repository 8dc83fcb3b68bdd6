/// `optimize:`, what `catena optimize` makes as cheap as can be: settings, and a sum of costs, which control/costs.c evaluates.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTIMIZE_KEY_COST,
    OPTIMIZE_KEY_METHOD,
    OPTIMIZE_KEY_KNOT,
    OPTIMIZE_KEY_GUESS,
    OPTIMIZE_KEY_ITERATIONS,
    OPTIMIZE_KEY_TOLERANCE,
    OPTIMIZE_KEY_RHO,
    OPTIMIZE_KEY_ALPHAS,
    OPTIMIZE_KEY_BACKWARD,
    OPTIMIZE_KEY_FORWARD,
    OPTIMIZE_KEY_BOUNDS,
    OPTIMIZE_KEY_MPC,
    OPTIMIZE_KEY_LIMITS,
    OPTIMIZE_KEY_LIMIT_TOLERANCE,
    OPTIMIZE_KEY_PENALTY,
    OPTIMIZE_KEY_REWARD,
    OPTIMIZE_KEY_REMEMBER,
    OPTIMIZE_KEYS
};
static const key optimize_keys[OPTIMIZE_KEYS] = {
    [OPTIMIZE_KEY_COST] = {.name = "cost"},
    [OPTIMIZE_KEY_METHOD] = {.name = "method"},
    [OPTIMIZE_KEY_KNOT] = {.name = "knot"},
    [OPTIMIZE_KEY_GUESS] = {.name = "guess"},
    [OPTIMIZE_KEY_ITERATIONS] = {.name = "iterations"},
    [OPTIMIZE_KEY_TOLERANCE] = {.name = "tolerance"},
    [OPTIMIZE_KEY_RHO] = {.name = "rho"},
    [OPTIMIZE_KEY_ALPHAS] = {.name = "alphas"},
    [OPTIMIZE_KEY_BACKWARD] = {.name = "backward"},
    [OPTIMIZE_KEY_FORWARD] = {.name = "forward"},
    [OPTIMIZE_KEY_BOUNDS] = {.name = "bounds"},
    [OPTIMIZE_KEY_MPC] = {.name = "mpc"},
    [OPTIMIZE_KEY_LIMITS] = {.name = "limits"},
    [OPTIMIZE_KEY_LIMIT_TOLERANCE] = {.name = "limit_tolerance"},
    [OPTIMIZE_KEY_PENALTY] = {.name = "penalty"},
    [OPTIMIZE_KEY_REWARD] = {.name = "reward"},
    [OPTIMIZE_KEY_REMEMBER] = {.name = "remember"},
};

enum {
    COST_KEY_TERM,
    COST_KEY_WEIGHT,
    COST_KEY_END,
    COST_KEY_TARGET,
    COST_KEY_JOINTS,
    COST_KEY_LINK,
    COST_KEY_POINT,
    COST_KEY_FROM,
    COST_KEY_TO,
    COST_KEYS
};
static const key cost_keys[COST_KEYS] = {
    [COST_KEY_TERM] = {.name = "term"},     [COST_KEY_WEIGHT] = {.name = "weight"}, [COST_KEY_END] = {.name = "end"},
    [COST_KEY_TARGET] = {.name = "target"}, [COST_KEY_JOINTS] = {.name = "joints"}, [COST_KEY_LINK] = {.name = "link"},
    [COST_KEY_POINT] = {.name = "point"},   [COST_KEY_FROM] = {.name = "from"},     [COST_KEY_TO] = {.name = "to"},
};

#define BIT(k) (1u << COST_KEY_##k)
enum { ALWAYS = BIT(TERM) | BIT(WEIGHT) | BIT(TARGET) | BIT(FROM) | BIT(TO) };

static const struct {
    const char *name;
    unsigned keys;
} terms[COST_TERMS] = {
    [COST_POSTURE] = {"posture", ALWAYS | BIT(END) | BIT(JOINTS)},
    [COST_VELOCITY] = {"velocity", ALWAYS | BIT(END) | BIT(JOINTS)},
    [COST_CONTROL] = {"control", ALWAYS},
    [COST_CONTROL_RATE] = {"control_rate", ALWAYS},
    [COST_PLACE] = {"place", ALWAYS | BIT(END) | BIT(LINK) | BIT(POINT)},
    [COST_ORIENTATION] = {"orientation", ALWAYS | BIT(END) | BIT(LINK)},
    [COST_COM] = {"com", ALWAYS | BIT(END)},
    [COST_POINT_VELOCITY] = {"point_velocity", ALWAYS | BIT(END) | BIT(LINK) | BIT(POINT)},
};

const char *cost_term_name(cost_term term) { return terms[term].name; }

enum { MOST_BLOCKS = 100000, MOST_ITERATIONS = 100000000 };

/// A number for all, or a list of `count`, of which there may be none: *list [count], NULL without the node.
static bool read_list(source *s, const node *n, int count, number_sign sign, double **list)
{
    if (!n) return true;
    *list = reader_alloc(s->r, ((size_t)count + 1) * sizeof **list);
    return *list && read_each(s, n, count, sign, NULL, *list);
}

bool read_cost_joints(source *s, const node *n, scene_cost *x)
{
    const ctn_scene *const scene = s->r->scene;
    if (n && n->kind != NODE_SEQUENCE)
        return bad_value(s, n, "expected a list of links, whose joints count, found %s", found(n).text);
    if (n && !n->size) return bad_value(s, n, "expected at least one link, found none; without `joints` all count");
    x->joints = reader_alloc(s->r, (size_t)(n ? n->size : scene->nlink + 1) * sizeof *x->joints);
    if (!x->joints) return false;
    for (int l = 0; l < scene->nlink && !n; l++)
        if (scene->links[l].joint.type != CTN_FIXED) x->joints[x->njoint++] = l;
    bool ok = true;
    for (const node *entry = n ? n->child : NULL; entry && !hopeless(s); entry = entry->next) {
        int link;
        if (!read_link_name(s, entry, &link)) {
            ok = false;
            continue;
        }
        for (int k = 0; k < x->njoint; k++)
            if (x->joints[k] == link) ok = bad_value(s, entry, "%s is named twice", found(entry).text);
        if (scene->links[link].joint.type == CTN_FIXED)
            ok = bad_value(s, entry, "the joint of %s is fixed: it has no motion", found(entry).text);
        x->joints[x->njoint++] = link;
    }
    return ok;
}

int told_numbers(const ctn_scene *scene)
{
    int sum = 0;
    for (int k = 0; k < scene->nmotor; k++) sum += scene->motors[k].told;
    return sum;
}

value_unit cost_unit(const ctn_scene *scene, const scene_cost *x, int k)
{
    value_unit all = ANY_UNIT;
    if (x->term == COST_ORIENTATION) return ANGLE;
    if (x->term != COST_POSTURE && x->term != COST_VELOCITY) return NO_UNIT;
    for (int j = 0, at = 0; j < x->njoint; j++) {
        const ctn_joint_type type = scene->links[x->joints[j]].joint.type;
        const int count = x->term == COST_POSTURE ? joint_nq(type) : joint_nv(type);
        const value_unit *const of = x->term == COST_POSTURE ? coordinate_units(type) : velocity_units(type);
        for (int i = 0; i < count; i++, at++) {
            if (at == k) return of[i];
            all = all == ANY_UNIT || all == of[i] ? of[i] : NO_UNIT;
        }
    }
    return all == ANY_UNIT ? NO_UNIT : all;
}

bool read_moving_numbers(source *s, const node *n, int count, const scene_cost *of, scene_optimize *to, double *x, int *moves)
{
    const bool list = n->kind == NODE_SEQUENCE;
    if (list && n->size != count) return bad_value(s, n, "expected one number or %d, found %d", count, n->size);
    bool ok = true;
    const node *entry = list ? n->child : n;
    for (int k = 0; k < (list ? count : 1); k++, entry = list ? entry->next : entry)
        ok =
            read_signal_into(s, entry, cost_unit(s->r->scene, of, list ? k : -1), &to->signals, &to->nsignal, &x[k], &moves[k]) &&
            ok;
    for (int k = 1; k < count && !list; k++) x[k] = x[0], moves[k] = moves[0];
    return ok;
}

/// The target of a term.
static bool read_target(source *s, const node *n, int count, scene_optimize *to, scene_cost *x)
{
    x->ntarget = count;
    x->target = reader_alloc(s->r, ((size_t)count + 1) * sizeof *x->target);
    x->moves = reader_alloc(s->r, ((size_t)count + 1) * sizeof *x->moves);
    if (!x->target || !x->moves) return false;
    memset(x->moves, 0, (size_t)count * sizeof *x->moves);
    memset(x->target, 0, (size_t)count * sizeof *x->target);  // of what moves, the signal may be all there is
    return read_moving_numbers(s, n, count, x, to, x->target, x->moves);
}

/// Keyframes of a turn, {slerp: {times, values}}: from each to the next it goes the shorter way, about one axis.
static bool read_slerp(source *s, const node *n, scene_cost *x)
{
    enum { SLERP, TIMES = 0, VALUES, KEYS };
    static const key outer[] = {[SLERP] = {.name = "slerp"}},
                     inner[KEYS] = {[TIMES] = {.name = "times"}, [VALUES] = {.name = "values"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a turn that moves", outer, 1, v)) return false;
    if (!v[SLERP]) return missing_key(s, n, "slerp", "missing; {times: [...], values: [[w, x, y, z], ...]}");
    const node *const of = v[SLERP];
    if (!read_keys(s, of, "keyframes of a turn", inner, KEYS, v)) return false;
    if (!v[TIMES]) return missing_key(s, of, "times", "missing; a list of times, s, one for each value");
    if (!v[VALUES]) return missing_key(s, of, "values", "missing; a list of quaternions [w, x, y, z], one for each time");
    if (v[TIMES]->kind != NODE_SEQUENCE || v[TIMES]->size < 2)
        return bad_value(s, v[TIMES], "expected a list of at least 2 times");
    if (v[VALUES]->kind != NODE_SEQUENCE || v[VALUES]->size != v[TIMES]->size)
        return bad_value(s, v[VALUES], "expected a list of %d quaternions, one for each time", v[TIMES]->size);
    x->nturn = v[TIMES]->size, x->turns = reader_alloc(s->r, (size_t)x->nturn * sizeof *x->turns);
    if (!x->turns) return false;
    const node *time = v[TIMES]->child, *turn = v[VALUES]->child;
    for (int k = 0; k < x->nturn; k++, time = time->next, turn = turn->next) {
        double *const own = x->turns[k], *const last = k ? own - 5 : NULL;
        if (!read_number(s, time, ANY_SIGN, own) || !read_quaternion(s, turn, own + 1)) return false;
        if (!last) continue;
        if (!(own[0] > last[0])) return bad_value(s, time, "expected a time after %g, found %s", last[0], found(time).text);
        double cosine = 0;  // of half of the angle
        for (int i = 1; i <= 4; i++) cosine += own[i] * last[i];
        if (fabs(cosine) < 1e-6)
            return bad_value(s, turn, "half a turn away from the one before it, which leaves open which way; put one in between");
        for (int i = 1; i <= 4 && cosine < 0; i++) own[i] = -own[i];
    }
    return true;
}

/// Where a link is to be turned: a quaternion, or a rotation vector, whose numbers may move, or keyframes.
static bool read_turn(source *s, const node *n, scene_optimize *to, scene_cost *x)
{
    if (n->kind == NODE_MAPPING) return read_slerp(s, n, x);
    if (n->kind == NODE_SEQUENCE && n->size == 3) return read_target(s, n, 3, to, x);
    if (n->kind != NODE_SEQUENCE || n->size != 4)
        return bad_value(s, n,
                         "expected a quaternion [w, x, y, z], a rotation vector of 3 angles, or {slerp: {times, values}}, "
                         "found %s",
                         found(n).text);
    x->ntarget = 4, x->target = reader_alloc(s->r, 4 * sizeof *x->target);
    return x->target && read_quaternion(s, n, x->target);
}

static bool read_place_cost(source *s, const node *n, const node *const v[COST_KEYS], scene_optimize *to, scene_cost *x)
{
    bool ok = true;
    if (x->term != COST_COM)
        ok = v[COST_KEY_LINK] ? read_link_name(s, v[COST_KEY_LINK], &x->link)
                              : missing_key(s, n, "link", "missing; name the link");
    if (v[COST_KEY_POINT]) ok = read_vector(s, v[COST_KEY_POINT], 3, ANY_SIGN, x->point) && ok;
    const node *const target = v[COST_KEY_TARGET];
    if (x->term == COST_ORIENTATION) {
        if (!target) return missing_key(s, n, "target", "missing; the turn of the link, as a quaternion [w, x, y, z]");
        return read_turn(s, target, to, x) && ok;
    }
    if (!target)
        return missing_key(s, n, "target",
                           x->term == COST_POINT_VELOCITY ? "missing; a velocity in axes of the world, [x, y, z] in m/s"
                                                          : "missing; a point of the world, [x, y, z] in m");
    if (target->kind != NODE_SEQUENCE) return bad_value(s, target, "expected a list of 3 numbers, found %s", found(target).text);
    return read_target(s, target, 3, to, x) && ok;
}

static bool read_cost(source *s, const node *n, scene_optimize *to, scene_cost *x)
{
    const ctn_scene *const scene = s->r->scene;
    const node *v[COST_KEYS];
    int row;
    *x = (scene_cost){.link = -1, .to = INFINITY};
    if (!read_keys(s, n, "a term of the cost", cost_keys, COST_KEYS, v)) return false;
    if (!v[COST_KEY_TERM]) return missing_key(s, n, "term", "missing; as posture, place or control");
    if (!read_kind(s, v[COST_KEY_TERM], terms, sizeof *terms, COST_TERMS,
                   "terms are posture, velocity, control, control_rate, place, orientation, com, point_velocity", &row))
        return false;
    x->term = (cost_term)row;
    bool ok = true;
    for (int k = 0; k < COST_KEYS; k++)
        if (v[k] && !(terms[row].keys & (1u << k))) ok = bad_key(s, v[k], "the term %s has none", terms[row].name);
    if (!v[COST_KEY_WEIGHT] && !v[COST_KEY_END])
        ok = missing_key(s, n, "weight",
                         !(terms[row].keys & BIT(END))
                             ? "missing; what a square costs each second"
                             : "missing; what a square costs each second, `end` for what it costs at the end, or both");
    if (v[COST_KEY_FROM]) ok = read_number(s, v[COST_KEY_FROM], NOT_NEGATIVE, &x->from) && ok;
    if (v[COST_KEY_TO]) ok = read_number(s, v[COST_KEY_TO], POSITIVE, &x->to) && ok;
    if (ok && !(x->from < x->to))
        ok = bad_value(s, v[COST_KEY_TO], "expected a time after `from` (%g s), found %s", x->from, found(v[COST_KEY_TO]).text);
    int count = 3;
    if (x->term == COST_CONTROL || x->term == COST_CONTROL_RATE) {
        if (!scene->nmotor && (!s->r->motors || !s->r->errors.count))
            return bad_value(s, v[COST_KEY_TERM], "the scene has no motors; give it some in `motors`");
        count = told_numbers(scene);
        if (v[COST_KEY_TARGET]) ok = read_target(s, v[COST_KEY_TARGET], count, to, x) && ok;
    } else if (x->term == COST_POSTURE || x->term == COST_VELOCITY) {
        if (!read_cost_joints(s, v[COST_KEY_JOINTS], x)) return false;
        int nq = count = 0;
        for (int k = 0; k < x->njoint; k++)
            nq += joint_nq(scene->links[x->joints[k]].joint.type), count += joint_nv(scene->links[x->joints[k]].joint.type);
        const int given = x->term == COST_POSTURE ? nq : count;
        if (nq != count && v[COST_KEY_TARGET] && x->term == COST_POSTURE && v[COST_KEY_TARGET]->kind != NODE_SEQUENCE)
            return bad_value(
                s, v[COST_KEY_TARGET],
                "expected a list of the %d numbers of `q` of these joints, as a ball's turn is four of them, found %s", nq,
                found(v[COST_KEY_TARGET]).text);
        if (v[COST_KEY_TARGET]) ok = read_target(s, v[COST_KEY_TARGET], given, to, x) && ok;
    } else ok = read_place_cost(s, n, v, to, x) && ok;
    x->count = count;
    ok = read_list(s, v[COST_KEY_WEIGHT], count, NOT_NEGATIVE, &x->weight) && ok;
    return read_list(s, v[COST_KEY_END], count, NOT_NEGATIVE, &x->end) && ok;
}

void free_optimize(scene_optimize *o)
{
    for (int k = 0; k < o->ncost; k++)
        free(o->cost[k].weight), free(o->cost[k].end), free(o->cost[k].target), free(o->cost[k].moves), free(o->cost[k].joints),
            free(o->cost[k].turns);
    free(o->cost), free(o->guess), free(o->lower), free(o->upper), free(o->mpc.noise);
    free_signal_list(o->signals, o->nsignal);
    free_limits(o->limits, o->nlimit);
    *o = (scene_optimize){0};
}

static bool read_costs(source *s, const node *mapping, const node *n, scene_optimize *to)
{
    if (!n) return missing_key(s, mapping, "cost", "missing; a list of terms, of which the sum is to be as small as can be");
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of terms, found %s", found(n).text);
    if (!n->size) return bad_value(s, n, "expected at least one term, found none");
    to->cost = reader_alloc(s->r, (size_t)n->size * sizeof *to->cost);
    if (!to->cost) return false;
    bool ok = true;
    for (const node *term = n->child; term && !hopeless(s); term = term->next) {
        to->cost[to->ncost] = (scene_cost){0};
        ok = read_cost(s, term, to, &to->cost[to->ncost++]) && ok;
    }
    return ok;
}

/// [lo, hi] of all controls, or one of these each.
static bool read_control_bounds(source *s, const node *n, scene_optimize *to)
{
    const int count = told_numbers(s->r->scene);
    if (!n) return true;
    to->lower = reader_alloc(s->r, ((size_t)count + 1) * sizeof *to->lower);
    to->upper = reader_alloc(s->r, ((size_t)count + 1) * sizeof *to->upper);
    if (!to->lower || !to->upper) return false;
    const bool each = n->kind == NODE_SEQUENCE && n->child && n->child->kind == NODE_SEQUENCE;
    if (each && n->size != count)
        return bad_value(s, n, "expected [lo, hi], or one of these for each of the %d numbers that motors are told, found %d",
                         count, n->size);
    const node *at = each ? n->child : n;
    bool ok = true;
    for (int k = 0; k < count && ok; k++) {
        double pair[2] = {0};
        ok = read_vector(s, at, 2, ANY_SIGN, pair);
        if (ok && !(pair[0] < pair[1]))
            ok = bad_value(s, at, "expected [lo, hi] with lo below hi, found [%g, %g]", pair[0], pair[1]);
        to->lower[k] = pair[0], to->upper[k] = pair[1];
        if (each) at = at->next;
    }
    return ok;
}

bool read_optimize(source *s, const node *n)
{
    ctn_scene *const scene = s->r->scene;
    static const char *const methods[] = {"ilqr", "plancher", "ddp"};
    const node *v[OPTIMIZE_KEYS];
    scene_optimize to = {.given = true,
                         .iterations = 200,
                         .tolerance = 1e-6,
                         .rho = 1,
                         .alphas = 16,
                         .backward = 1,
                         .forward = 1,
                         .limit_tolerance = 1e-4,
                         .penalty = 100};
    to.at = to.knot_at = to.reward_at = to.limits_at = (scene_place){n->line, n->column};
    if (!read_keys(s, n, "what is to be optimized", optimize_keys, OPTIMIZE_KEYS, v)) return false;
    if (v[OPTIMIZE_KEY_KNOT]) to.knot_at = (scene_place){v[OPTIMIZE_KEY_KNOT]->line, v[OPTIMIZE_KEY_KNOT]->column};
    if (v[OPTIMIZE_KEY_REWARD]) to.reward_at = (scene_place){v[OPTIMIZE_KEY_REWARD]->line, v[OPTIMIZE_KEY_REWARD]->column};
    if (v[OPTIMIZE_KEY_LIMITS]) to.limits_at = (scene_place){v[OPTIMIZE_KEY_LIMITS]->line, v[OPTIMIZE_KEY_LIMITS]->column};
    if (s->includer) return true;  // motors and joints of an included file have other numbers here; the scene itself decides
    bool ok = read_costs(s, n, v[OPTIMIZE_KEY_COST], &to);
    if (v[OPTIMIZE_KEY_METHOD]) ok = read_word(s, v[OPTIMIZE_KEY_METHOD], methods, 3, "ilqr, plancher or ddp", &to.method) && ok;
    if (v[OPTIMIZE_KEY_KNOT]) ok = read_number(s, v[OPTIMIZE_KEY_KNOT], POSITIVE, &to.knot) && ok;
    if (v[OPTIMIZE_KEY_ITERATIONS]) ok = read_whole(s, v[OPTIMIZE_KEY_ITERATIONS], 0, MOST_ITERATIONS, &to.iterations) && ok;
    if (v[OPTIMIZE_KEY_TOLERANCE]) ok = read_number(s, v[OPTIMIZE_KEY_TOLERANCE], NOT_NEGATIVE, &to.tolerance) && ok;
    if (v[OPTIMIZE_KEY_RHO]) ok = read_number(s, v[OPTIMIZE_KEY_RHO], NOT_NEGATIVE, &to.rho) && ok;
    if (v[OPTIMIZE_KEY_ALPHAS]) ok = read_whole(s, v[OPTIMIZE_KEY_ALPHAS], 1, 32, &to.alphas) && ok;
    if (v[OPTIMIZE_KEY_BACKWARD]) ok = read_whole(s, v[OPTIMIZE_KEY_BACKWARD], 1, MOST_BLOCKS, &to.backward) && ok;
    if (v[OPTIMIZE_KEY_FORWARD]) ok = read_whole(s, v[OPTIMIZE_KEY_FORWARD], 1, MOST_BLOCKS, &to.forward) && ok;
    ok = read_list(s, v[OPTIMIZE_KEY_GUESS], told_numbers(scene), ANY_SIGN, &to.guess) && ok;
    ok = read_control_bounds(s, v[OPTIMIZE_KEY_BOUNDS], &to) && ok;
    ok = read_mpc(s, v[OPTIMIZE_KEY_MPC], told_numbers(scene), &to) && ok;
    if (v[OPTIMIZE_KEY_LIMITS]) ok = read_state_limits(s, v[OPTIMIZE_KEY_LIMITS], &to) && ok;
    if (v[OPTIMIZE_KEY_LIMIT_TOLERANCE])
        ok = read_number(s, v[OPTIMIZE_KEY_LIMIT_TOLERANCE], POSITIVE, &to.limit_tolerance) && ok;
    if (v[OPTIMIZE_KEY_REWARD]) ok = read_number(s, v[OPTIMIZE_KEY_REWARD], POSITIVE, &to.reward) && ok;
    if (v[OPTIMIZE_KEY_PENALTY]) ok = read_number(s, v[OPTIMIZE_KEY_PENALTY], POSITIVE, &to.penalty) && ok;
    if (v[OPTIMIZE_KEY_REMEMBER]) ok = read_flag(s, v[OPTIMIZE_KEY_REMEMBER], &to.remember) && ok;
    if (ok && to.remember && (to.method || to.forward > 1))
        ok = bad_key(s, v[OPTIMIZE_KEY_REMEMBER],
                     "does not go with `%s`, where knots begin at states that nothing has come to; %s",
                     to.forward > 1 ? "forward" : "method", to.forward > 1 ? "leave one of them out" : "take method: ilqr");
    if (!ok || hopeless(s)) {
        free_optimize(&to);
        return ok;
    }
    scene->optimize = to;
    return true;
}
