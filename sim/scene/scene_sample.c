/// `sample:`, how many worlds differ: their initial states, the forces on their joints, their parameters.
#include "sim/base/parameter_kinds.h"
#include "sim/scene/scene_reader.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// {uniform: [lo, hi]}, {normal: [mean, standard deviation]}, {latin: [lo, hi]} or {grid: [lo, hi, number of values]} of numbers
/// of this unit.
static bool read_spread(source *s, const node *n, value_unit unit, scene_spread *spread)
{
    enum { UNIFORM, NORMAL, LATIN, GRID, KEYS };
    static const key keys[KEYS] = {{.name = "uniform"}, {.name = "normal"}, {.name = "latin"}, {.name = "grid"}};
    const node *v[KEYS];
    double x[3];
    int kind = 0, given = 0, values = 1;
    if (!read_keys(s, n, "a distribution", keys, KEYS, v)) return false;
    for (int k = 0; k < KEYS; k++)
        if (v[k]) kind = k, given++;
    if (given != 1)
        return bad_value(s, n,
                         "expected one distribution: {uniform: [lo, hi]} or {normal: [mean, standard deviation]} or "
                         "{latin: [lo, hi]} or {grid: [lo, hi, number of values]}");
    if (!read_quantities(s, v[kind], kind == GRID ? 3 : 2, ANY_SIGN, (value_unit[]){unit, unit, NO_UNIT}, x)) return false;
    if (kind == GRID && !read_whole(s, v[kind]->child->next->next, 1, INT_MAX, &values)) return false;
    if (kind == NORMAL && x[1] < 0)
        return bad_value(s, v[kind]->child->next, "expected a standard deviation >= 0, found %g", x[1]);
    if (kind == GRID && x[0] > x[1])
        return bad_value(s, v[kind], "expected [lo, hi, number of values] with lo <= hi, found [%g, %g, %d]", x[0], x[1], values);
    if (kind != NORMAL && x[0] > x[1])
        return bad_value(s, v[kind], "expected [lo, hi] with lo <= hi, found [%g, %g]", x[0], x[1]);
    static const int kinds[KEYS] = {SPREAD_UNIFORM, SPREAD_NORMAL, SPREAD_LATIN, SPREAD_GRID};
    *spread = (scene_spread){
        .kind = kinds[kind], .values = values, .a = x[0], .b = x[1], .place = (int64_t)n->line << 32 | (unsigned)n->column};
    return true;
}

// ---- what is drawn

enum { PARAMETERS = SAMPLES - SAMPLE_PARAMETER };

static bool of_motors(sample_of what)
{
    return what >= SAMPLE_PARAMETER && parameter_of_motor((ctn_parameter_kind)(what - SAMPLE_PARAMETER));
}

static bool of_drag(sample_of what) { return what == SAMPLE_PARAMETER + CTN_DRAG_SCALE; }

static bool of_contact(sample_of what) { return what == SAMPLE_PARAMETER + CTN_CONTACT_FRICTION; }

static bool of_pairs(sample_of what)
{
    return what >= SAMPLE_PARAMETER && parameter_of_pairs((ctn_parameter_kind)(what - SAMPLE_PARAMETER));
}

/// What the world has one of.
static bool of_world(sample_of what)
{
    return of_pairs(what) || (what >= SAMPLE_PARAMETER && parameter_of_ground((ctn_parameter_kind)(what - SAMPLE_PARAMETER)));
}

/// What the world has three of, along its axes.
static bool of_axes(sample_of what) { return what == SAMPLE_PARAMETER + CTN_GRAVITY || what == SAMPLE_PARAMETER + CTN_CURRENT; }

static bool is_drag(const scene_drag *d) { return !(d->displaced > 0); }

/// Which links of the file have a motor with such a number, drag, or contact points: driven [links], false at first.
static void find_driven(const source *s, sample_of what, bool *driven)
{
    const ctn_scene *const scene = s->r->scene;
    for (int k = 0; k < scene->fluid.ndrag && of_drag(what); k++)
        if (is_drag(&scene->fluid.drag[k]) && scene->fluid.drag[k].link >= s->first_link)
            driven[scene->fluid.drag[k].link - s->first_link] = true;
    for (int l = s->first_link; l < scene->nlink && of_contact(what); l++) driven[l - s->first_link] = link_touches(scene, l);
    for (int k = 0; k < scene->nmotor && of_motors(what); k++) {
        const scene_motor *const motor = &scene->motors[k];
        if (motor->link >= s->first_link && !motor->tendon &&
            motor_has(scene_motor_traits(motor), (ctn_parameter_kind)(what - SAMPLE_PARAMETER)))
            driven[motor->link - s->first_link] = true;
    }
}

/// What there is to say against drawing `what` for a link with this joint, after "the joint of this link"; NULL: nothing.
/// driven: whether a motor on it has such a number, it has drag, or it touches the ground.
static const char *objection(sample_of what, const scene_joint *j, bool driven)
{
    if (what < SAMPLE_PARAMETER) return j->type == CTN_FIXED ? "is fixed: there is nothing to draw" : NULL;
    if (of_drag(what)) return driven ? NULL : "is that of one without drag; give it one in `fluid`";
    if (of_contact(what))
        return driven ? NULL
                      : "is that of one that touches no ground; give it a sphere, capsule or box, and the scene a `ground`";
    if (of_motors(what)) return driven ? NULL : "has no motor that has one; give it one in `motors`";
    const bool limited = j->limited[0] || j->limited[1] || j->limited[2];
    return parameter_objection((ctn_parameter_kind)(what - SAMPLE_PARAMETER), j->type, limited);
}

/// Whether a distribution of a parameter gives numbers that a link with this joint can have. Those of a normal one that go astray
/// are found when they are drawn; here its mean must be possible.
static bool check_range(source *s, const node *n, sample_of what, const scene_joint *j, const scene_spread *spread)
{
    if (what < SAMPLE_PARAMETER) return true;
    const parameter_range range = parameter_values((ctn_parameter_kind)(what - SAMPLE_PARAMETER), j->type);
    const bool normal = spread->kind == SPREAD_NORMAL;
    if (!parameter_allows(&range, spread->a))
        return bad_value(s, n, "expected %s, found %g as the %s", range.allowed, spread->a, normal ? "mean" : "least");
    if (!normal && !parameter_allows(&range, spread->b))
        return bad_value(s, n, "expected %s, found %g as the largest", range.allowed, spread->b);
    return true;
}

/// The unit of what is drawn for a link with this joint; NO_UNIT if its degrees of freedom have several. Orientations are turned.
static value_unit unit_of(sample_of what, ctn_joint_type joint)
{
    const bool rate = what == SAMPLE_V, turned = joint == CTN_BALL && what != SAMPLE_V;
    const bool angle = what == SAMPLE_Q || what == SAMPLE_PARAMETER + CTN_REST || what == SAMPLE_PARAMETER + CTN_LIMIT_LOWER ||
                       what == SAMPLE_PARAMETER + CTN_LIMIT_UPPER;
    const value_unit *const of = rate ? velocity_units(joint) : coordinate_units(joint);
    if (what == SAMPLE_PARAMETER + CTN_MOTOR_ROTATION) return ANGLE;
    if (what == SAMPLE_PARAMETER + CTN_MOTOR_SPIN) return ANGULAR_VELOCITY;
    if (!rate && !angle) return NO_UNIT;
    if (turned) return ANGLE;
    for (int i = 1; i < joint_nv(joint); i++)
        if (of[i] != of[0]) return NO_UNIT;
    return of[0];
}

/// The distribution of one entry, for its link or, `all`, for those that have no other. `given` [links + 1] notes who has one;
/// driven [links]: of find_driven().
static bool read_entry(source *s, const node *value, sample_of what, const bool *driven, const node **given, scene_spread *spread)
{
    const ctn_scene *const scene = s->r->scene;
    const char *const name = value->key->text;
    const int links = scene->nlink - s->first_link;
    const int link = strcmp(name, "all") ? find_link(s, name) : scene->nlink, i = link - s->first_link;
    scene_spread one;
    if (link < 0) return !s->r->names_known || bad_key(s, value, "no link is called '%s'", printable(name).text);
    if (given[i]) return bad_key(s, value, "given twice; first in line %d", given[i]->key->line);
    const char *const against = link < scene->nlink ? objection(what, &scene->links[link].joint, driven[i]) : NULL;
    if (against) return bad_key(s, value, "the joint of this link %s", against);
    given[i] = value;
    bool *const of_entry = calloc((size_t)links + 1, sizeof *of_entry);  // whether link k draws from it
    if (!of_entry) return out_of_memory(s);
    value_unit unit = ANY_UNIT;
    for (int k = 0; k < links; k++) {
        const scene_joint *const joint = &scene->links[s->first_link + k].joint;
        of_entry[k] = (k == i || (i == links && !given[k])) && !objection(what, joint, driven[k]);
        if (!of_entry[k]) continue;
        const value_unit its = unit_of(what, joint->type);
        unit = unit == ANY_UNIT || unit == its ? its : NO_UNIT;
    }
    bool ok = read_spread(s, value, unit == ANY_UNIT ? NO_UNIT : unit, &one);
    for (int k = 0; k < links && ok; k++) {
        if (!of_entry[k]) continue;
        ok = check_range(s, value, what, &scene->links[s->first_link + k].joint, &one);
        if (ok) spread[k] = one;
    }
    // a grid has a third number, which is no angle
    if (ok && unit == ANGLE && !notice_degrees(s, value->child->child)) notice_degrees(s, value->child->child->next);
    free(of_entry);
    return ok;
}

/// Distributions by the names of links, and for `all` others, wherever that stands. spread [links of the file]
static bool read_spreads(source *s, const node *n, sample_of what, scene_spread *spread)
{
    const int links = s->r->scene->nlink - s->first_link;
    if (n->kind != NODE_MAPPING) return bad_value(s, n, "expected distributions by names of links, found %s", found(n).text);
    const node **const given = calloc((size_t)links + 1, sizeof *given);  // [links]: of `all`
    bool *const driven = calloc((size_t)links + 1, sizeof *driven);
    if (!given || !driven) {
        free(given), free(driven);
        return out_of_memory(s);
    }
    find_driven(s, what, driven);
    bool ok = true;
    for (int others = 0; others < 2; others++)  // those with a name first
        for (const node *value = n->child; value && !hopeless(s); value = value->next)
            if ((strcmp(value->key->text, "all") == 0) == (others == 1))
                ok = read_entry(s, value, what, driven, given, spread) && ok;
    free(given), free(driven);
    return ok;
}

static bool read_axes(source *s, const node *n, sample_of what, scene_spread spread[3])
{
    static const key keys[3] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
    const node *v[3];
    bool drag = what == SAMPLE_PARAMETER + CTN_GRAVITY;
    if (!read_keys(s, n, drag ? "a gravity" : "a current", keys, 3, v)) return false;
    for (int k = 0; k < s->r->scene->fluid.ndrag; k++) drag = drag || is_drag(&s->r->scene->fluid.drag[k]);
    if (!drag) return bad_key(s, n, "nothing has drag in it; give the scene a `fluid` with `drag`");
    bool ok = true;
    for (int k = 0; k < 3; k++)
        if (v[k]) ok = read_spread(s, v[k], NO_UNIT, &spread[k]) && ok;
    return ok;
}

/// One distribution, of the ground, or of pairs of links.
static bool read_of_world(source *s, const node *n, sample_of what, scene_spread *spread)
{
    static const scene_joint none = {.type = CTN_FIXED};
    bool touches = false;
    if (of_pairs(what) && s->r->scene->contact.between == BETWEEN_WORLD && !s->r->scene->npair)
        return bad_key(s, n, "no links touch each other; write `contact: {between: links}`, or all");
    for (int l = s->first_link; l < s->r->scene->nlink; l++) touches = touches || link_touches(s->r->scene, l);
    if (!touches && !of_pairs(what))
        return bad_key(s, n, "nothing touches a ground; give the scene a `ground`, and links a sphere, capsule or box");
    return read_spread(s, n, NO_UNIT, spread) && check_range(s, n, what, &none, spread);
}

/// How many things `what` may be drawn for.
static int slots(const source *s, sample_of what)
{
    return of_axes(what) ? 3 : of_world(what) ? 1 : s->r->scene->nlink - s->first_link;
}

static bool read_section(source *s, const node *n, sample_of what, scene_spread **spread)
{
    *spread = calloc((size_t)slots(s, what) + 1, sizeof **spread);
    if (!*spread) return out_of_memory(s);
    return of_axes(what)    ? read_axes(s, n, what, *spread)
           : of_world(what) ? read_of_world(s, n, what, *spread)
                            : read_spreads(s, n, what, *spread);
}

static bool read_parameters(source *s, const node *n, scene_spread *spread[PARAMETERS])
{
    key keys[PARAMETERS] = {{0}};
    const node *v[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++)
        if (k <= CTN_LIMIT_DAMPING || k >= CTN_MOTOR_TARGET) keys[k].name = ctn_parameter_name((ctn_parameter_kind)k);
    if (!read_keys(s, n, "parameters", keys, PARAMETERS, v)) return false;
    bool ok = true;
    for (int k = 0; k < PARAMETERS; k++)
        if (v[k]) ok = read_section(s, v[k], (sample_of)(SAMPLE_PARAMETER + k), &spread[k]) && ok;
    return ok;
}

// ---- grids

/// A grid of one entry of a section: that of `dofs` numbers.
typedef struct {
    scene_spread *spread;
    int dofs;
} grid;

/// In the order of the file; of one distribution for all links, in that of the links.
static int compare_grids(const void *a, const void *b)
{
    const scene_spread *const x = ((const grid *)a)->spread, *const y = ((const grid *)b)->spread;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x < y ? -1 : x > y;
}

/// All grids together are one of as many dimensions: says how many worlds apart the values of each follow each other.
static bool number_grids(source *s, const node *n, scene_spread *const spread[SAMPLES], int64_t *points)
{
    const int64_t most = (int64_t)1 << 53;
    const scene_link *const links = s->r->scene->links;  // NULL where there are none
    grid *grids = NULL;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {  // counts them, then notes them
        count = 0;
        for (int k = 0; k < SAMPLES; k++)
            for (int l = 0; spread[k] && l < slots(s, (sample_of)k); l++) {
                if (spread[k][l].kind != SPREAD_GRID) continue;
                if (grids)
                    grids[count] = (grid){&spread[k][l], k < SAMPLE_PARAMETER
                                                             ? joint_nv(links[s->first_link + l].joint.type)
                                                             : parameter_components((ctn_parameter_kind)(k - SAMPLE_PARAMETER))};
                count++;
            }
        if (!count) return true;
        if (!grids) grids = malloc(count * sizeof *grids);
        if (!grids) return out_of_memory(s);
    }
    qsort(grids, count, sizeof *grids, compare_grids);
    bool ok = true;
    for (size_t k = 0; k < count; k++) {
        grids[k].spread->stride = *points;
        for (int i = 0; i < grids[k].dofs && ok; i++) {
            ok = *points <= most / grids[k].spread->values;
            if (ok) *points *= grids[k].spread->values;
        }
    }
    free(grids);
    return ok || bad_value(s, n, "all grids together have more than 2^53 points; make fewer of them, or draw some by latin");
}

bool read_sample(source *s, const node *n)
{
    enum { SEED = SAMPLE_PARAMETER + 1, KEYS };
    static const key keys[KEYS] = {[SAMPLE_Q] = {.name = "q"},
                                   [SAMPLE_V] = {.name = "v"},
                                   [SAMPLE_FORCE] = {.name = "force"},
                                   [SAMPLE_PARAMETER] = {.name = "parameters"},
                                   [SEED] = {.name = "seed"}};
    const node *v[KEYS];
    if (!read_keys(s, n, "a sample", keys, KEYS, v)) return false;
    ctn_scene *const scene = s->r->scene;
    scene_spread *spread[SAMPLES] = {NULL};
    int seed = 0;
    int64_t points = 1;
    bool ok = true;
    if (v[SEED]) ok = read_whole(s, v[SEED], 0, 2147483647, &seed);
    for (int k = 0; k < SAMPLE_PARAMETER; k++)
        if (v[k]) ok = read_section(s, v[k], (sample_of)k, &spread[k]) && ok;
    if (v[SAMPLE_PARAMETER]) ok = read_parameters(s, v[SAMPLE_PARAMETER], spread + SAMPLE_PARAMETER) && ok;
    ok = ok && number_grids(s, n, spread, &points);
    if (!ok || s->includer) {  // only the scene itself decides
        for (int k = 0; k < SAMPLES; k++) free(spread[k]);
        return ok;
    }
    scene->sampled = true, scene->seed = seed, scene->grid = points;
    memcpy(scene->spread, spread, sizeof spread);
    return true;
}
