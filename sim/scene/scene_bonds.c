/// `loops:`, `couplings:` and `tendons:`, equations and springs between links and joints, and the springs between links of `springs:`.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POWERS = 5,  // of a coupling's polynomial
    MOST_BONDS = 16384
};

/// Room for one more bond. Its number is of its list.
static scene_bond *next_bond(source *s, const char *list, const node *n, int entry)
{
    ctn_scene *const scene = s->r->scene;
    int number = 0;
    scene_bond *const bonds = realloc(scene->bonds, ((size_t)scene->nbond + 1) * sizeof *bonds);
    if (!bonds) return out_of_memory(s), NULL;
    scene->bonds = bonds;
    for (int k = 0; k < scene->nbond; k++) number += bonds[k].list == list;
    bonds[scene->nbond] = (scene_bond){.list = list,
                                       .number = number,
                                       .entry = entry,
                                       .a = -1,
                                       .b = -1,
                                       .axis = {0, 0, 1},
                                       .relative = {1, 0, 0, 0},
                                       .length = NAN,
                                       .rest = {NAN, NAN},
                                       .range = {-INFINITY, INFINITY},
                                       .at = {n->line, n->column},
                                       .file = scene->files[s->file].path};
    return &bonds[scene->nbond];
}

static void drop(scene_bond *o) { free(o->name), free(o->joints), free(o->shares), free(o->points); }

/// A name of its own in its list.
static bool name_bond(source *s, const node *n, scene_bond *o)
{
    const ctn_scene *const scene = s->r->scene;
    const char *name;
    if (!n) return true;
    if (!read_name(s, n, &name)) return false;
    for (int k = 0; k < scene->nbond; k++)
        if (scene->bonds[k].list == o->list && scene->bonds[k].name && !strcmp(scene->bonds[k].name, name))
            return bad_value(s, n, "%s[%d] is already called '%s'", o->list, scene->bonds[k].number, printable(name).text);
    o->name = reader_copy(s->r, name, strlen(name));
    return o->name || out_of_memory(s);
}

int read_bond_name(source *s, const node *n, const char *list)
{
    const ctn_scene *const scene = s->r->scene;
    const char *name;
    if (!read_name(s, n, &name)) return -1;
    for (int k = 0; k < scene->nbond; k++)
        if (!strcmp(scene->bonds[k].list, list) && scene->bonds[k].name && !strcmp(scene->bonds[k].name, name)) return k;
    bad_value(s, n, "no %.*s is called %s; `%s` have a `name`", (int)strlen(list) - 1, list, found(n).text, list);
    return -1;
}

// ---- loops

#define BIT(k) (1u << (k))
enum loop_key {
    LOOP_NAME,
    LOOP_TYPE,
    LOOP_A,
    LOOP_B,
    LOOP_AT,
    LOOP_AT_A,
    LOOP_AT_B,
    LOOP_AXIS,
    LOOP_ROTATION,
    LOOP_EULER,
    LOOP_LENGTH,
    LOOP_COMPLIANCE,
    LOOP_KEYS
};
static const key loop_keys[LOOP_KEYS] = {
    [LOOP_NAME] = {.name = "name"},   [LOOP_TYPE] = {.name = "type"},     [LOOP_A] = {.name = "a"},
    [LOOP_B] = {.name = "b"},         [LOOP_AT] = {.name = "at"},         [LOOP_AT_A] = {.name = "at_a"},
    [LOOP_AT_B] = {.name = "at_b"},   [LOOP_AXIS] = {.name = "axis"},     [LOOP_ROTATION] = {.name = "rotation"},
    [LOOP_EULER] = {.name = "euler"}, [LOOP_LENGTH] = {.name = "length"}, [LOOP_COMPLIANCE] = {.name = "compliance"},
};
enum {
    OF_ALL = BIT(LOOP_NAME) | BIT(LOOP_TYPE) | BIT(LOOP_A) | BIT(LOOP_B) | BIT(LOOP_AT) | BIT(LOOP_AT_A) | BIT(LOOP_AT_B) |
             BIT(LOOP_COMPLIANCE),
    OF_TURNS = OF_ALL | BIT(LOOP_LENGTH),
    OF_FRAMES = OF_TURNS | BIT(LOOP_ROTATION) | BIT(LOOP_EULER)
};

static const struct {
    const char *name;
    bond_kind kind;
    unsigned keys;
} types[] = {
    {"point", BOND_POINT, OF_ALL},
    {"hinge", BOND_HINGE, OF_TURNS | BIT(LOOP_AXIS)},
    {"weld", BOND_WELD, OF_FRAMES},
    {"slider", BOND_SLIDER, OF_FRAMES | BIT(LOOP_AXIS)},
    {"distance", BOND_DISTANCE, (OF_ALL & ~BIT(LOOP_AT)) | BIT(LOOP_LENGTH)},
};
enum { TYPES = sizeof types / sizeof *types };
#define TYPE_NAMES "loops are point, hinge, weld, slider or distance"

/// The two links, of which b may be the world, and one moves.
static bool read_sides(source *s, const node *n, const node *const v[LOOP_KEYS], scene_bond *o)
{
    const node *const a = v[LOOP_A], *const b = v[LOOP_B];
    bool ok = a ? read_link_name(s, a, &o->a) : missing_key(s, n, "a", "missing; a loop joins two links, `a` and `b`");
    if (!b) ok = missing_key(s, n, "b", "missing; a loop joins `a` to another link, or to the world");
    else if (b->kind != NODE_SCALAR || strcmp(b->text, "world")) ok = read_link_name(s, b, &o->b) && ok;
    if (!ok) return false;
    if (o->a == o->b) return bad_value(s, b, "%s is `a` already", found(b).text);
    if (link_moves(s->r->scene, o->a) || (o->b >= 0 && link_moves(s->r->scene, o->b))) return true;
    return bad_value(s, a, "neither %s nor %s moves: there is nothing to join", found(a).text, found(b).text);
}

/// Where it joins them.
static bool read_places(source *s, const node *n, const node *const v[LOOP_KEYS], scene_bond *o)
{
    const node *const at = v[LOOP_AT] ? v[LOOP_AT] : v[LOOP_AT_A];
    bool ok = true;
    if (v[LOOP_AT] && v[LOOP_AT_A]) ok = bad_key(s, v[LOOP_AT_A], "`at` is the same point of `a`; leave one of both out");
    if (!at && (!v[LOOP_AT_B] || o->kind == BOND_DISTANCE) && o->kind != BOND_WELD)
        ok = missing_key(s, n, o->kind == BOND_DISTANCE ? "at_a" : "at", "missing; it is a point of `a`, [x, y, z] in its frame");
    o->placed[0] = at || !v[LOOP_AT_B], o->placed[1] = v[LOOP_AT_B];
    if (at) ok = read_vector(s, at, 3, ANY_SIGN, o->at_a) && ok;
    if (v[LOOP_AT_B]) ok = read_vector(s, v[LOOP_AT_B], 3, ANY_SIGN, o->at_b) && ok;
    else if (o->kind == BOND_DISTANCE)
        ok = missing_key(s, n, "at_b", "missing; it is the point of `b` that keeps its distance, [x, y, z] in its frame");
    return ok;
}

static bool read_loop(source *s, const node *n, scene_bond *o)
{
    const node *v[LOOP_KEYS];
    int row = 0;
    if (!read_keys(s, n, "a loop", loop_keys, LOOP_KEYS, v)) return false;
    if (!v[LOOP_TYPE]) return missing_key(s, n, "type", "missing; " TYPE_NAMES);
    if (!read_kind(s, v[LOOP_TYPE], types, sizeof *types, TYPES, TYPE_NAMES, &row)) return false;
    o->kind = types[row].kind;
    bool ok = name_bond(s, v[LOOP_NAME], o);
    for (int k = 0; k < LOOP_KEYS; k++)
        if (v[k] && !(types[row].keys & BIT(k)))
            ok = bad_key(s, v[k], "a loop of the type %s has none%s", types[row].name,
                         k == LOOP_AT ? "; it is between two points, `at_a` and `at_b`" : "");
    if (!ok) return false;
    ok = read_sides(s, n, v, o);
    ok = read_places(s, n, v, o) && ok;
    if (v[LOOP_AXIS]) ok = read_direction(s, v[LOOP_AXIS], o->axis) && ok;
    else if (o->kind == BOND_HINGE || o->kind == BOND_SLIDER)
        ok = missing_key(s, n, "axis", "missing; it is the axis of the %s, [x, y, z] in the frame of `a`", types[row].name);
    o->turned = v[LOOP_ROTATION] || v[LOOP_EULER];
    ok = read_rotation(s, v[LOOP_ROTATION], v[LOOP_EULER], o->relative) && ok;
    if (v[LOOP_LENGTH]) ok = read_number(s, v[LOOP_LENGTH], POSITIVE, &o->length) && ok;
    if (v[LOOP_COMPLIANCE]) ok = read_number(s, v[LOOP_COMPLIANCE], NOT_NEGATIVE, &o->compliance) && ok;
    return ok;
}

// ---- couplings

/// A joint of one degree of freedom.
static bool read_single(source *s, const node *n, int *link)
{
    if (!read_link_name(s, n, link)) return false;
    const ctn_joint_type type = s->r->scene->links[*link].joint.type;
    return joint_nv(type) == 1 || bad_value(s, n,
                                            "the joint of %s is %s; expected one of one degree of freedom: revolute, "
                                            "prismatic or helical",
                                            found(n).text, joint_name(type));
}

/// Of the joint that is followed, or a constant.
static bool read_polynomial(source *s, const node *ratio, const node *offset, const node *poly, scene_bond *o)
{
    const value_unit unit = coordinate_units(s->r->scene->links[o->a].joint.type)[0];
    bool ok = true;
    o->poly[1] = o->b >= 0;
    if (poly && (ratio || offset)) return bad_key(s, poly, "stands beside `ratio` or `offset`, which are its first two numbers");
    if (ratio) ok = read_number(s, ratio, ANY_SIGN, &o->poly[1]);
    if (offset) ok = read_quantity(s, offset, ANY_SIGN, unit, &o->poly[0]) && ok;
    if (!poly) return ok;
    if (poly->kind != NODE_SEQUENCE || poly->size < 1 || poly->size > POWERS)
        return bad_value(s, poly, "expected a list of 1 to %d numbers, of 1, q, q^2 and so on, found %s", POWERS,
                         found(poly).text);
    o->poly[1] = 0;
    return read_vector(s, poly, poly->size, ANY_SIGN, o->poly);
}

static bool read_coupling(source *s, const node *n, scene_bond *o)
{
    enum { NAME, JOINT, FOLLOWS, RATIO, OFFSET, POLY, COMPLIANCE, KEYS };
    static const key keys[KEYS] = {[NAME] = {.name = "name"},
                                   [JOINT] = {.name = "joint"},
                                   [FOLLOWS] = {.name = "follows"},
                                   [RATIO] = {.name = "ratio"},
                                   [OFFSET] = {.name = "offset"},
                                   [POLY] = {.name = "poly"},
                                   [COMPLIANCE] = {.name = "compliance"}};
    const node *v[KEYS];
    o->kind = BOND_COUPLING;
    if (!read_keys(s, n, "a coupling", keys, KEYS, v)) return false;
    bool ok = name_bond(s, v[NAME], o);
    if (!v[JOINT]) ok = missing_key(s, n, "joint", "missing; it is the link whose joint follows another one");
    else ok = read_single(s, v[JOINT], &o->a) && ok;
    if (v[FOLLOWS]) ok = read_single(s, v[FOLLOWS], &o->b) && ok;
    else if (v[RATIO] || !(v[OFFSET] || v[POLY]))
        ok = missing_key(s, n, "follows",
                         "missing; it is the link whose joint is followed; without one, `offset` holds the joint");
    else if (v[POLY] && v[POLY]->size != 1) ok = missing_key(s, n, "follows", "missing; the polynomial is of its joint");
    if (ok && o->a == o->b) ok = bad_value(s, v[FOLLOWS], "%s is the `joint` already", found(v[FOLLOWS]).text);
    if (v[COMPLIANCE]) ok = read_number(s, v[COMPLIANCE], NOT_NEGATIVE, &o->compliance) && ok;
    if (!ok || !read_polynomial(s, v[RATIO], v[OFFSET], v[POLY], o)) return false;
    const ctn_scene *const scene = s->r->scene;
    for (int k = 0; k < scene->nbond; k++)
        if (scene->bonds[k].kind == BOND_COUPLING && scene->bonds[k].a == o->a)
            return bad_value(s, v[JOINT], "the joint of %s follows another one already, by couplings[%d]", found(v[JOINT]).text,
                             scene->bonds[k].number);
    return true;
}

/// Whether the joint says where it starts, in its link or in `state`.
static bool says_start(const reader *r, int link) { return r->origins[link].q0 || r->scene->links[link].joint.stated; }

double follower_at(const double poly[5], double q, double *slope)
{
    double value = 0;
    *slope = 0;
    for (int k = POWERS - 1; k >= 0; k--) *slope = *slope * q + value, value = value * q + poly[k];
    return value;
}

void start_followers(reader *r)
{
    ctn_scene *const scene = r->scene;
    for (int pass = 0, moved = 1; moved && pass <= scene->nbond; pass++) {
        moved = 0;  // one may follow another that follows
        for (int k = 0; k < scene->nbond; k++) {
            const scene_bond *const o = &scene->bonds[k];
            if (o->kind != BOND_COUPLING || says_start(r, o->a)) continue;
            scene_joint *const to = &scene->links[o->a].joint;
            const scene_joint *const of = o->b < 0 ? NULL : &scene->links[o->b].joint;
            double slope;
            const double q = follower_at(o->poly, of ? of->q0[0] : 0, &slope), v = of ? slope * of->v0[0] : 0;
            if (q == to->q0[0] && (v == to->v0[0] || to->v0[0] != 0)) continue;
            to->q0[0] = q, moved = 1;
            if (to->v0[0] == 0) to->v0[0] = v;
        }
    }
}

// ---- tendons

/// `joints: {shoulder: 0.02, elbow: -0.015}`: how much longer the tendon is for each rad, or m, of a joint.
static bool read_tendon_joints(source *s, const node *n, scene_bond *o)
{
    if (n->kind != NODE_MAPPING || !n->size)
        return bad_value(s, n, "expected joints with how much longer the tendon is for each rad or m, {link: number}, found %s",
                         found(n).text);
    o->joints = reader_alloc(s->r, (size_t)n->size * sizeof *o->joints);
    o->shares = reader_alloc(s->r, (size_t)n->size * sizeof *o->shares);
    if (!o->joints || !o->shares) return out_of_memory(s);
    bool ok = true;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) {
        node name = *entry->key;
        name.up = entry->up, name.key = entry->key;  // messages name the entry
        int *const link = &o->joints[o->njoint];
        const bool read = read_single(s, &name, link) && read_number(s, entry, ANY_SIGN, &o->shares[o->njoint]);
        for (int k = 0; k < o->njoint && read; k++)
            if (o->joints[k] == *link) ok = bad_key(s, entry, "given twice");
        o->njoint += read, ok = ok && read;
    }
    return ok;
}

/// A point of a path, {link, at}; or {pulley}: another branch begins, whose length counts by 1 over the number.
static bool read_waypoint(source *s, const node *n, scene_bond *o, double *share)
{
    enum { LINK, AT, PULLEY, KEYS };
    static const key keys[KEYS] = {[LINK] = {.name = "link"}, [AT] = {.name = "at"}, [PULLEY] = {.name = "pulley"}};
    const node *v[KEYS];
    double divisor;
    if (!read_keys(s, n, "a point of a path", keys, KEYS, v)) return false;
    if (v[PULLEY]) {
        if (v[LINK] || v[AT])
            return bad_key(s, v[PULLEY], "stands beside a point; it is an entry of its own, between two branches");
        if (!read_number(s, v[PULLEY], POSITIVE, &divisor)) return false;
        if (o->npoint) o->points[o->npoint - 1].share = 0;
        *share = 1 / divisor;
        return true;
    }
    scene_waypoint *const to = &o->points[o->npoint];
    *to = (scene_waypoint){.link = -1, .share = *share};
    if (!v[LINK]) return missing_key(s, n, "link", "missing; it is the link that the point is of, or `world`");
    bool ok = true;
    if (v[LINK]->kind != NODE_SCALAR || strcmp(v[LINK]->text, "world")) ok = read_link_name(s, v[LINK], &to->link);
    if (v[AT]) ok = read_vector(s, v[AT], 3, ANY_SIGN, to->at) && ok;
    o->npoint += ok;
    return ok;
}

/// `path: [{link: drum, at: [0, 0, 0.1]}, {link: finger}]`: the points that it goes through.
static bool read_path(source *s, const node *n, scene_bond *o)
{
    static const char expected[] = "expected a list of at least two points, [{link, at}, ..], found %s";
    if (n->kind != NODE_SEQUENCE || n->size < 2) return bad_value(s, n, expected, found(n).text);
    o->points = reader_alloc(s->r, (size_t)n->size * sizeof *o->points);
    if (!o->points) return out_of_memory(s);
    double share = 1;
    bool ok = true, moves = false;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next) ok = read_waypoint(s, entry, o, &share) && ok;
    if (!ok) return false;
    if (!o->npoint) return bad_value(s, n, expected, "pulleys alone");
    o->points[o->npoint - 1].share = 0;
    for (int k = 0; k < o->npoint; k++) {
        moves = moves || (o->points[k].link >= 0 && link_moves(s->r->scene, o->points[k].link));
        if (!(o->points[k].share > 0) && !(k && o->points[k - 1].share > 0))
            return bad_value(s, n, "each branch goes through two points at least, and that of point %d does not", k);
    }
    return moves || bad_value(s, n, "none of its points moves: there is nothing to pull");
}

/// `rest`: a length, or from what length to what it is slack.
static bool read_rest(source *s, const node *n, double rest[2])
{
    if (n->kind != NODE_SEQUENCE) {
        const bool ok = read_number(s, n, ANY_SIGN, &rest[0]);
        rest[1] = rest[0];
        return ok;
    }
    return read_vector(s, n, 2, ANY_SIGN, rest) &&
           (rest[0] <= rest[1] ||
            bad_value(s, n, "expected a length, or [from, to] between which it is slack, found [%g, %g]", rest[0], rest[1]));
}

static bool read_tendon(source *s, const node *n, scene_bond *o)
{
    enum { NAME, JOINTS, PATH, STIFFNESS, DAMPING, REST, RANGE, KEYS };
    static const key keys[KEYS] = {
        [NAME] = {.name = "name"},           [JOINTS] = {.name = "joints"},   [PATH] = {.name = "path"},
        [STIFFNESS] = {.name = "stiffness"}, [DAMPING] = {.name = "damping"}, [REST] = {.name = "rest"},
        [RANGE] = {.name = "range"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a tendon", keys, KEYS, v)) return false;
    bool ok = name_bond(s, v[NAME], o);
    o->kind = v[PATH] ? BOND_PATH : BOND_TENDON;
    if (v[PATH] && v[JOINTS]) ok = bad_key(s, v[PATH], "stands beside `joints`; a tendon is of joints, or goes along a path");
    else if (v[PATH]) ok = read_path(s, v[PATH], o) && ok;
    else if (v[JOINTS]) ok = read_tendon_joints(s, v[JOINTS], o) && ok, o->rest[0] = o->rest[1] = 0;
    else
        ok = missing_key(s, n, "path",
                         "missing; a tendon goes through the points of a `path`, or is a sum of `joints`, which says how much "
                         "longer it is for each rad or m of a joint");
    if (v[STIFFNESS]) ok = read_number(s, v[STIFFNESS], NOT_NEGATIVE, &o->stiffness) && ok;
    if (v[DAMPING]) ok = read_number(s, v[DAMPING], NOT_NEGATIVE, &o->damping) && ok;
    if (v[REST]) ok = read_rest(s, v[REST], o->rest) && ok;
    if (v[RANGE]) ok = read_vector(s, v[RANGE], 2, ANY_SIGN, o->range) && ok;
    o->pulls = v[STIFFNESS] || v[DAMPING] || v[RANGE];
    if (ok && v[RANGE] && o->range[0] > o->range[1])
        ok = bad_value(s, v[RANGE], "expected [shortest, longest], found [%g, %g]", o->range[0], o->range[1]);
    return ok;
}

// ---- the lists

static bool read_list(source *s, const node *n, const char *list, bool (*read)(source *, const node *, scene_bond *))
{
    int entry = 0;
    bool ok = true;
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of %s, found %s", list, found(n).text);
    if (n->size > MOST_BONDS - s->r->scene->nbond)
        return bad_value(s, n, "a scene has at most %d loops, couplings, tendons and springs between links", (int)MOST_BONDS);
    for (const node *each = n->child; each && !hopeless(s); each = each->next) {
        scene_bond *const o = next_bond(s, list, each, entry++);
        if (!o) return false;
        if (read(s, each, o)) s->r->scene->nbond++;
        else drop(o), ok = false;
    }
    return ok;
}

static const char loops[] = "loops", couplings[] = "couplings", tendons[] = "tendons", springs[] = "springs";

bool read_loops(source *s, const node *n) { return read_list(s, n, loops, read_loop); }
bool read_couplings(source *s, const node *n) { return read_list(s, n, couplings, read_coupling); }
bool read_tendons(source *s, const node *n) { return read_list(s, n, tendons, read_tendon); }

bool check_tendons(source *s, const node *n)
{
    const ctn_scene *const scene = s->r->scene;
    const char *const file = scene->files[s->file].path;
    bool ok = true;
    int entry = 0;
    for (const node *each = n->child; each; each = each->next, entry++)
        for (int k = 0; k < scene->nbond; k++) {
            const scene_bond *const o = &scene->bonds[k];
            if (o->list != tendons || o->entry != entry || o->file != file) continue;
            bool acts = o->pulls;
            for (int i = 0; i < scene->nmotor; i++) acts = acts || scene->motors[i].tendon == k + 1;
            for (int i = 0; i < scene->nsensor; i++) acts = acts || scene->sensors[i].bond == k;
            if (!acts)
                ok = missing_key(s, each, "stiffness",
                                 "missing; a tendon has a stiffness, a damping, a range, a motor or a sensor");
        }
    return ok;
}

bool add_link_spring(source *s, const node *n, int entry, const scene_load *spring, int b, const double at_b[3], double rest)
{
    scene_bond *const o = next_bond(s, springs, n, entry);
    if (!o) return false;
    o->kind = BOND_SPRING, o->rest[0] = o->rest[1] = rest;
    o->stiffness = spring->stiffness, o->damping = spring->damping;
    o->points = reader_alloc(s->r, 2 * sizeof *o->points);
    if (!o->points) return out_of_memory(s);
    o->points[0] = (scene_waypoint){.link = spring->link, .share = 1}, o->points[1] = (scene_waypoint){.link = b};
    memcpy(o->points[0].at, spring->point, sizeof spring->point), memcpy(o->points[1].at, at_b, 3 * sizeof *at_b);
    o->npoint = 2;
    s->r->scene->nbond++;
    return true;
}

void free_bonds(ctn_scene *scene)
{
    for (int k = 0; k < scene->nbond; k++) drop(&scene->bonds[k]);
    free(scene->bonds), free(scene->pairs), free(scene->apart);
}
