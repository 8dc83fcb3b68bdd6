/// `controller:`, a law that tells motors their targets: of time alone, or of what sensors say. `catena search` finds its numbers.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum controller_key {
    CONTROLLER_KEY_TYPE,
    CONTROLLER_KEY_MOTORS,
    CONTROLLER_KEY_EVERY,
    CONTROLLER_KEY_RANGE,
    CONTROLLER_KEY_FREQUENCY,
    CONTROLLER_KEY_RAMP,
    CONTROLLER_KEY_KNOTS,
    CONTROLLER_KEY_PERIOD,
    CONTROLLER_KEY_DURATION,
    CONTROLLER_KEY_LEGS,
    CONTROLLER_KEY_PHASES,
    CONTROLLER_KEY_MIRROR,
    CONTROLLER_KEY_DUTY,
    CONTROLLER_KEY_SENSORS,
    CONTROLLER_KEY_SCALE,
    CONTROLLER_KEY_CLOCK,
    CONTROLLER_KEY_HIDDEN,
    CONTROLLER_KEY_PARAMETERS,
    CONTROLLER_KEY_TABLE,
    CONTROLLER_KEYS
};

static const key controller_keys[CONTROLLER_KEYS] = {
    [CONTROLLER_KEY_TYPE] = {.name = "type"},           [CONTROLLER_KEY_MOTORS] = {.name = "motors"},
    [CONTROLLER_KEY_EVERY] = {.name = "every"},         [CONTROLLER_KEY_RANGE] = {.name = "range"},
    [CONTROLLER_KEY_FREQUENCY] = {.name = "frequency"}, [CONTROLLER_KEY_RAMP] = {.name = "ramp"},
    [CONTROLLER_KEY_KNOTS] = {.name = "knots"},         [CONTROLLER_KEY_PERIOD] = {.name = "period"},
    [CONTROLLER_KEY_DURATION] = {.name = "duration"},   [CONTROLLER_KEY_LEGS] = {.name = "legs"},
    [CONTROLLER_KEY_PHASES] = {.name = "phases"},       [CONTROLLER_KEY_MIRROR] = {.name = "mirror"},
    [CONTROLLER_KEY_DUTY] = {.name = "duty"},           [CONTROLLER_KEY_SENSORS] = {.name = "sensors"},
    [CONTROLLER_KEY_SCALE] = {.name = "scale"},         [CONTROLLER_KEY_CLOCK] = {.name = "clock"},
    [CONTROLLER_KEY_HIDDEN] = {.name = "hidden"},       [CONTROLLER_KEY_PARAMETERS] = {.name = "parameters"},
    [CONTROLLER_KEY_TABLE] = {.name = "table"},
};

#define BIT(k) (1u << CONTROLLER_KEY_##k)
enum {
    OF_ALL = BIT(TYPE) | BIT(MOTORS) | BIT(EVERY) | BIT(RANGE) | BIT(PARAMETERS),
    OF_TIME = OF_ALL | BIT(RAMP),
    OF_LEGS = (OF_TIME & ~BIT(MOTORS)) | BIT(FREQUENCY) | BIT(LEGS) | BIT(PHASES) | BIT(MIRROR) | BIT(DUTY),
    OF_SENSORS = OF_ALL | BIT(SENSORS) | BIT(SCALE) | BIT(CLOCK),
    MOST_KNOTS = 100,
    MOST_HIDDEN = 1000
};

/// What a controller of each type has, and what it cannot do without.
static const struct {
    const char *name;
    unsigned keys, needs;
} types[] = {
    [CONTROLLER_SINUSOIDS] = {"sinusoids", OF_TIME | BIT(FREQUENCY), BIT(RANGE) | BIT(FREQUENCY)},
    [CONTROLLER_SPLINE] = {"spline", OF_TIME | BIT(KNOTS) | BIT(PERIOD) | BIT(DURATION), BIT(RANGE) | BIT(KNOTS)},
    [CONTROLLER_GAIT] = {"gait", OF_LEGS, BIT(RANGE) | BIT(FREQUENCY) | BIT(LEGS)},
    [CONTROLLER_LINEAR] = {"linear", OF_SENSORS, BIT(SENSORS) | BIT(RANGE)},
    [CONTROLLER_TANH] = {"tanh", OF_SENSORS | BIT(HIDDEN), BIT(SENSORS) | BIT(RANGE) | BIT(HIDDEN)},
    [CONTROLLER_PLAN] = {"plan", BIT(TYPE) | BIT(TABLE), BIT(TABLE)},
};
enum { TYPES = sizeof types / sizeof *types };

static const char *const missing[CONTROLLER_KEYS] = {
    [CONTROLLER_KEY_RANGE] = "from where to where targets go: [lo, hi], or a list of these, one a motor",
    [CONTROLLER_KEY_FREQUENCY] = "from where to where it may be: [lo, hi], Hz",
    [CONTROLLER_KEY_KNOTS] = "how many control points a motor has",
    [CONTROLLER_KEY_LEGS] = "the joints of each leg, from the body outwards: [[hip, knee], [other_hip, other_knee]]",
    [CONTROLLER_KEY_SENSORS] = "a list of names, or all",
    [CONTROLLER_KEY_HIDDEN] = "the widths of one or two layers: [16, 16]",
    [CONTROLLER_KEY_TABLE] = "the file that catena optimize wrote",
};

static bool read_type(source *s, const node *n, controller_type *type)
{
    int row;
    if (!read_kind(s, n, types, sizeof *types, TYPES, "controllers are sinusoids, spline, gait, linear, tanh or plan", &row))
        return false;
    *type = (controller_type)row;
    return true;
}

/// What a node holds, an empty list by that name.
static excerpt found_list(const node *n) { return n->kind == NODE_SEQUENCE && !n->size ? (excerpt){"an empty list"} : found(n); }

static bool is_all(const node *n) { return !n || (n->kind == NODE_SCALAR && n->plain && !strcmp(n->text, "all")); }

/// Adds the motors on the joint, or link, that an entry names.
static bool add_motors(source *s, const node *entry, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    const int before = to->nmotor;
    int link;
    if (!read_link_name(s, entry, &link)) return false;
    for (int k = 0; k < before; k++)
        if (scene->motors[to->motors[k]].link == link && !scene->motors[to->motors[k]].tendon)
            return bad_value(s, entry, "%s is in the list already", found(entry).text);
    for (int k = 0; k < scene->nmotor; k++)
        if (scene->motors[k].link == link && !scene->motors[k].tendon) to->motors[to->nmotor++] = k;
    return to->nmotor > before || bad_value(s, entry, "the joint of %s has no motor; give it one in `motors`", found(entry).text);
}

/// Room for all motors. False: no memory, or there are none.
static bool open_motors(source *s, const node *n, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    to->motors = reader_alloc(s->r, ((size_t)scene->nmotor + 1) * sizeof *to->motors);
    return to->motors && (scene->nmotor || bad_value(s, n, "there is nothing to tell: the scene has no `motors`"));
}

/// The motors on the joints, or links, of a list: all of them where nothing, or `all`, is said.
static bool read_told_motors(source *s, const node *n, const node *list, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    if (!open_motors(s, n, to)) return false;
    if (is_all(list)) {
        while (to->nmotor < scene->nmotor) to->motors[to->nmotor] = to->nmotor, to->nmotor++;
        return true;
    }
    if (list->kind != NODE_SEQUENCE || !list->size)
        return bad_value(s, list, "expected a list of joints that have a motor, or all, found %s", found_list(list).text);
    bool ok = true;
    for (const node *entry = list->child; entry; entry = entry->next) ok = add_motors(s, entry, to) && ok;
    return ok;
}

/// One leg: as many motors as the first one has, of the same types.
static bool read_leg(source *s, const node *leg, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    const int first = to->nmotor;
    if (leg->kind != NODE_SEQUENCE || !leg->size)
        return bad_value(s, leg, "expected a leg as a list of joints that have a motor, found %s", found_list(leg).text);
    for (const node *entry = leg->child; entry; entry = entry->next)
        if (!add_motors(s, entry, to)) return false;
    const int count = to->nmotor - first;
    if (!first) to->joints = count;
    if (count != to->joints)
        return bad_value(s, leg, "expected %d motors, as the first leg has, found %d; legs have joints alike", to->joints, count);
    for (int j = 0; j < count; j++) {
        const scene_motor *const a = &scene->motors[to->motors[j]], *const b = &scene->motors[to->motors[first + j]];
        if (a->type != b->type || a->told != b->told)
            return bad_value(s, leg, "the motor of '%s' is of another type than that of '%s' in the first leg",
                             printable(scene->links[b->link].name).text, printable(scene->links[a->link].name).text);
    }
    return true;
}

static bool read_legs(source *s, const node *n, const node *list, scene_controller *to)
{
    if (!open_motors(s, n, to)) return false;
    if (list->kind != NODE_SEQUENCE || !list->size)
        return bad_value(s, list, "expected a list of legs, each a list of joints, found %s", found_list(list).text);
    for (const node *leg = list->child; leg; leg = leg->next, to->legs++)
        if (!read_leg(s, leg, to)) return false;
    return true;
}

/// The motors whose targets have the other sign, by their joints; none where nothing is said.
static bool read_mirror(source *s, const node *list, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    bool ok = true;
    to->mirror = reader_alloc(s->r, ((size_t)to->nmotor + 1) * sizeof *to->mirror);
    if (!to->mirror) return false;
    for (int k = 0; k < to->nmotor; k++) to->mirror[k] = false;
    if (!list) return true;
    if (list->kind != NODE_SEQUENCE) return bad_value(s, list, "expected a list of joints of legs, found %s", found(list).text);
    for (const node *entry = list->child; entry; entry = entry->next) {
        bool known = false;
        int link;
        if (!read_link_name(s, entry, &link)) {
            ok = false;
            continue;
        }
        for (int k = 0; k < to->nmotor; k++)
            if (scene->motors[to->motors[k]].link == link && !scene->motors[to->motors[k]].tendon) to->mirror[k] = known = true;
        if (!known) ok = bad_value(s, entry, "%s is in none of `legs`", found(entry).text);
    }
    return ok;
}

static bool read_phases(source *s, const node *n, scene_controller *to)
{
    if (!n) return true;
    if (n->kind != NODE_SEQUENCE || n->size != to->legs)
        return bad_value(s, n, "expected %d numbers, one a leg, in cycles; without the key they are looked for", to->legs);
    to->phases = reader_alloc(s->r, (size_t)to->legs * sizeof *to->phases);
    if (!to->phases) return false;
    bool ok = true;
    const node *at = n->child;
    for (int k = 0; k < to->legs; k++, at = at->next) ok = read_number(s, at, ANY_SIGN, &to->phases[k]) && ok;
    return ok;
}

/// What a motor is told by this controller, it is told by nothing else.
static bool check_still(source *s, const node *at, const scene_controller *c)
{
    const ctn_scene *const scene = s->r->scene;
    for (int k = 0; k < c->nmotor; k++) {
        const scene_motor *const a = &scene->motors[c->motors[k]];
        const motor_told told = a->type == MOTOR_POSITION   ? TOLD_TARGET
                                : a->type == MOTOR_VELOCITY ? TOLD_VELOCITY
                                                            : TOLD_FEEDFORWARD;
        for (int i = 0; i < a->told; i++)
            if (a->moves[told][i])
                return bad_value(
                    s, at, "the target of the motor of '%s' moves by itself already; make it a number, or leave the motor out",
                    printable(scene->links[a->link].name).text);
    }
    return true;
}

static value_unit unit_of(const ctn_scene *scene, const scene_motor *a)
{
    if (a->type >= MOTOR_TORQUE || a->tendon) return NO_UNIT;
    const ctn_joint_type joint = scene->links[a->link].joint.type;
    if (a->type == MOTOR_VELOCITY) return velocity_units(joint)[a->dof];
    return joint == CTN_BALL ? ANGLE : coordinate_units(joint)[a->dof];
}

static bool read_pair(source *s, const node *n, value_unit unit, number_sign sign, double x[2])
{
    const value_unit units[2] = {unit, unit};
    if (!read_quantities(s, n, 2, sign, units, x)) return false;
    if (!(x[0] < x[1])) return bad_value(s, n, "expected [lo, hi] with lo below hi, found [%g, %g]", x[0], x[1]);
    const double length = x[1] - x[0];
    return (length > 1e-100 && length < 1e100) ||
           bad_value(s, n, "expected [lo, hi] that are 1e-100 to 1e100 apart, found [%g, %g]", x[0], x[1]);
}

/// Shares of a cycle; without the key those of walking and trotting.
static bool read_duty(source *s, const node *n, scene_controller *to)
{
    to->duty[0] = 0.5, to->duty[1] = 0.8;
    if (!n) return true;
    if (!read_pair(s, n, NO_UNIT, POSITIVE, to->duty)) return false;
    return to->duty[1] < 1 ||
           bad_value(s, n, "expected shares of the cycle, above 0 and below 1, found [%g, %g]", to->duty[0], to->duty[1]);
}

/// How long a spline lasts: `period`, after which it begins again, or `duration`, after which it is held.
static bool read_length(source *s, const node *n, const node *period, const node *duration, scene_controller *to)
{
    if (!period && !duration)
        return missing_key(s, n, "period",
                           "missing; s after which the spline begins again, or `duration` in its place, after which it is held");
    if (period && duration) return bad_key(s, duration, "a spline that has a `period` begins again, and has none");
    to->once = duration;
    return read_number(s, to->once ? duration : period, POSITIVE, &to->period);
}

/// One pair for all motors, or one each; of a gait one for each joint of a leg, which is that of all legs.
static bool read_ranges(source *s, const node *n, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    to->range = reader_alloc(s->r, ((size_t)to->nmotor + 1) * sizeof *to->range);
    if (!to->range) return false;
    const bool each = n->kind == NODE_SEQUENCE && n->child && n->child->kind == NODE_SEQUENCE;
    const int expected = to->legs ? to->joints : to->nmotor;
    if (each && n->size != expected)
        return bad_value(s, n, "expected [lo, hi], or one of these for each of the %d motors%s, found %d", expected,
                         to->legs ? " of a leg" : "", n->size);
    const node *at = each ? n->child : n;
    bool ok = true;
    for (int k = 0; k < expected; k++, at = each ? at->next : at)
        ok = read_pair(s, at, unit_of(scene, &scene->motors[to->motors[k]]), ANY_SIGN, to->range[k]) && ok;
    for (int k = expected; k < to->nmotor; k++) memcpy(to->range[k], to->range[k - expected], sizeof *to->range);
    return ok;
}

static int find_sensor(const ctn_scene *scene, const char *name)
{
    for (int k = 0; k < scene->nsensor; k++)
        if (scene->sensors[k].name && !strcmp(scene->sensors[k].name, name)) return k;
    return -1;
}

static bool read_inputs(source *s, const node *n, const node *list, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    if (!scene->nsensor) return bad_value(s, n, "there is nothing to go by: the scene has no `sensors`");
    const size_t room = is_all(list) ? (size_t)scene->nsensor : (size_t)list->size;
    to->sensors = reader_alloc(s->r, (room + 1) * sizeof *to->sensors);
    to->scale = reader_alloc(s->r, (room + 1) * sizeof *to->scale);
    if (!to->sensors || !to->scale) return false;
    for (size_t k = 0; k < room; k++) to->scale[k] = 1;
    if (is_all(list)) {
        while (to->nsensor < scene->nsensor) to->sensors[to->nsensor] = to->nsensor, to->nsensor++;
        return true;
    }
    if (list->kind != NODE_SEQUENCE || !list->size)
        return bad_value(s, list, "expected a list of names of sensors, or all, found %s", found_list(list).text);
    bool ok = true;
    for (const node *entry = list->child; entry; entry = entry->next) {
        const char *name;
        if (!read_text(s, entry, &name)) return false;
        const int k = find_sensor(scene, name);
        if (k < 0)
            ok = bad_value(s, entry, "there is no sensor called %s; `sensors` has those that there are", found(entry).text);
        else to->sensors[to->nsensor++] = k;
    }
    return ok;
}

bool read_hidden(source *s, const node *n, int widths[2])
{
    if (n->kind != NODE_SEQUENCE || n->size < 1 || n->size > 2)
        return bad_value(s, n, "expected the widths of one or two layers, as [16] or [16, 16], found %s", found_list(n).text);
    bool ok = true;
    const node *at = n->child;
    for (int k = 0; k < n->size; k++, at = at->next) ok = read_whole(s, at, 1, MOST_HIDDEN, &widths[k]) && ok;
    return ok;
}

static bool read_found(source *s, const node *n, scene_controller *to)
{
    if (n->kind != NODE_SEQUENCE || !n->size) return bad_value(s, n, "expected a list of numbers, found %s", found(n).text);
    const int expected = scene_controller_parameters(s->r->scene, to);
    if (n->size != expected)
        return bad_value(
            s, n, "expected %d numbers, as such a controller has, found %d; leave the key out, and catena search finds them",
            expected, n->size);
    to->parameters = reader_alloc(s->r, (size_t)expected * sizeof *to->parameters);
    if (!to->parameters) return false;
    bool ok = true;
    const node *at = n->child;
    for (int k = 0; k < expected; k++, at = at->next) ok = read_number(s, at, ANY_SIGN, &to->parameters[k]) && ok;
    return ok;
}

int scene_controller_parameters(const ctn_scene *scene, const scene_controller *c)
{
    int outputs = 0, inputs = 0;
    for (int k = 0; k < c->nmotor; k++) outputs += scene->motors[c->motors[k]].told;
    for (int k = 0; k < c->nsensor; k++) inputs += scene_sensor_size(scene, c->sensors[k]);
    inputs += c->clock > 0 ? 2 : 0;  // sine and cosine
    switch (c->type) {
    case CONTROLLER_SINUSOIDS: return 1 + 3 * outputs;
    case CONTROLLER_SPLINE: return c->knots * outputs;
    case CONTROLLER_PLAN: return 0;
    case CONTROLLER_GAIT: return 2 + (c->phases ? 0 : c->legs - 1) + 3 * outputs / c->legs;
    default: break;
    }
    int count = 0, width = inputs;
    for (int k = 0; k < 2 && c->hidden[k]; k++) count += c->hidden[k] * (width + 1), width = c->hidden[k];
    return count + outputs * (width + 1);
}

/// Columns prefix0 .. of a table, from `at` of each row on.
static bool take_columns(source *s, const node *n, const scene_table *t, scene_controller *to, const char *prefix, int rows,
                         int columns, int *at)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++, ++*at) {
            char name[48];
            if (rows > 1 || *prefix == 'K') snprintf(name, sizeof name, "%s%d_%d", prefix, i, j);
            else snprintf(name, sizeof name, "%s%d", prefix, j);
            const int column = table_column(t, name);
            if (column < 0) return bad_value(s, n, "the table has no column `%s`, which this scene needs", name);
            for (int k = 0; k < t->rows; k++)
                to->plan[k * to->plan_width + *at] = t->numbers[(size_t)column * (size_t)t->rows + (size_t)k];
        }
    return true;
}

/// A table with columns time, u0, u1, .. and, with feedback, q0, .., v0, .., K0_0, ..: K [nu][2 nv], or, where the plan goes by what
/// was told last as well, [nu][2 nv + nu].
static bool read_plan_table(source *s, const node *n, scene_controller *to)
{
    const ctn_scene *const scene = s->r->scene;
    const scene_table *const t = read_table(s, n);
    if (!t) return false;
    int nq = 0, nv = 0, nu = 0, at = 1;
    for (int l = 0; l < scene->nlink; l++) nq += joint_nq(scene->links[l].joint.type), nv += joint_nv(scene->links[l].joint.type);
    for (int k = 0; k < scene->nmotor; k++) nu += scene->motors[k].told;
    to->plan_rows = t->rows, to->plan_feeds = table_column(t, "K0_0") >= 0;
    char name[48];
    snprintf(name, sizeof name, "K0_%d", 2 * nv);
    to->plan_gains = 2 * nv + (table_column(t, name) >= 0 ? nu : 0);
    const int width = to->plan_width = 1 + nu + (to->plan_feeds ? nq + nv + nu * to->plan_gains : 0);
    to->plan = reader_alloc(s->r, (size_t)t->rows * (size_t)width * sizeof *to->plan);
    if (!to->plan) return false;
    const int time = table_column(t, "time");
    for (int k = 0; k < t->rows; k++) to->plan[k * width] = t->numbers[(size_t)time * (size_t)t->rows + (size_t)k];
    to->every = to->plan[width] - to->plan[0];
    return take_columns(s, n, t, to, "u", 1, nu, &at) &&
           (!to->plan_feeds || (take_columns(s, n, t, to, "q", 1, nq, &at) && take_columns(s, n, t, to, "v", 1, nv, &at) &&
                                take_columns(s, n, t, to, "K", nu, to->plan_gains, &at)));
}

bool read_controller(source *s, const node *n)
{
    scene_controller unused, *const to = s->includer ? &unused : &s->r->scene->controller;
    const node *v[CONTROLLER_KEYS];
    bool ok = true;
    *to = (scene_controller){.at = {n->line, n->column}};
    if (!read_keys(s, n, "a controller", controller_keys, CONTROLLER_KEYS, v)) return false;
    if (!v[CONTROLLER_KEY_TYPE])
        return missing_key(s, n, "type", "missing; controllers are sinusoids, spline, gait, linear, tanh or plan");
    if (!read_type(s, v[CONTROLLER_KEY_TYPE], &to->type)) return false;
    for (int k = 0; k < CONTROLLER_KEYS; k++) {
        if (v[k] && !(types[to->type].keys & 1u << k))
            ok = bad_key(s, v[k], "a controller of the type %s has none", types[to->type].name);
        if (!v[k] && types[to->type].needs & 1u << k) ok = missing_key(s, n, controller_keys[k].name, "missing; %s", missing[k]);
    }
    if (types[to->type].keys & BIT(PERIOD))
        ok = read_length(s, n, v[CONTROLLER_KEY_PERIOD], v[CONTROLLER_KEY_DURATION], to) && ok;
    if (s->includer || !ok) return ok;  // the motors and sensors of an included file have other numbers here
    ok = types[to->type].keys & BIT(LEGS) ? read_legs(s, n, v[CONTROLLER_KEY_LEGS], to)
                                          : read_told_motors(s, n, v[CONTROLLER_KEY_MOTORS], to);
    ok = ok && check_still(s, n, to);
    if (ok && to->legs)
        ok = read_phases(s, v[CONTROLLER_KEY_PHASES], to) && read_mirror(s, v[CONTROLLER_KEY_MIRROR], to) &&
             read_duty(s, v[CONTROLLER_KEY_DUTY], to);
    if (ok && to->type == CONTROLLER_PLAN) return to->given = read_plan_table(s, v[CONTROLLER_KEY_TABLE], to);
    if (ok) ok = read_ranges(s, v[CONTROLLER_KEY_RANGE], to);
    if (v[CONTROLLER_KEY_EVERY]) ok = read_number(s, v[CONTROLLER_KEY_EVERY], POSITIVE, &to->every) && ok;
    if (v[CONTROLLER_KEY_RAMP]) ok = read_number(s, v[CONTROLLER_KEY_RAMP], NOT_NEGATIVE, &to->ramp) && ok;
    if (v[CONTROLLER_KEY_FREQUENCY]) ok = read_pair(s, v[CONTROLLER_KEY_FREQUENCY], NO_UNIT, NOT_NEGATIVE, to->frequency) && ok;
    if (v[CONTROLLER_KEY_KNOTS]) ok = read_whole(s, v[CONTROLLER_KEY_KNOTS], 2, MOST_KNOTS, &to->knots) && ok;
    if (types[to->type].keys & BIT(SENSORS) && ok) ok = read_inputs(s, n, v[CONTROLLER_KEY_SENSORS], to);
    if (v[CONTROLLER_KEY_SCALE] && ok) ok = read_each(s, v[CONTROLLER_KEY_SCALE], to->nsensor, POSITIVE, NULL, to->scale);
    if (v[CONTROLLER_KEY_CLOCK]) ok = read_number(s, v[CONTROLLER_KEY_CLOCK], POSITIVE, &to->clock) && ok;
    if (v[CONTROLLER_KEY_HIDDEN]) ok = read_hidden(s, v[CONTROLLER_KEY_HIDDEN], to->hidden) && ok;
    if (v[CONTROLLER_KEY_PARAMETERS])
        to->found = (scene_place){v[CONTROLLER_KEY_PARAMETERS]->line, v[CONTROLLER_KEY_PARAMETERS]->column};
    if (v[CONTROLLER_KEY_PARAMETERS] && ok) ok = read_found(s, v[CONTROLLER_KEY_PARAMETERS], to);
    to->given = ok;
    return ok;
}

void free_controller(scene_controller *c)
{
    free(c->motors), free(c->range), free(c->phases), free(c->mirror), free(c->sensors), free(c->scale), free(c->parameters);
    free(c->plan);
    *c = (scene_controller){0};
}

const char *controller_type_name(controller_type type) { return types[type].name; }
