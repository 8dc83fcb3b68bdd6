/// What can differ from world to world: which parameters a model has, and the constants that follow from them.
#include "sim/model/parameters.h"

#include "sim/model/contact_points.h"
#include "sim/model/model.h"
#include "sim/model/spinning.h"
#include "sim/model/thrusters.h"
#include "sim/base/parameter_kinds.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What a link adds to its body, in the axes of the body.
typedef struct {
    int body;  // -1: the world
    double mass, h[3], S[6], I[6];
} share;

/// A parameter and its place in the list.
typedef struct {
    ctn_parameter of;
    int at;
} entry;

struct parameters {
    const ctn_model *model;
    ctn_model declared;  // with flags for all that values can bring about; bodies are its own
    int count;
    ctn_parameter *list;
    entry *sorted;  // [count] by kind, then by index
    share *share;   // [count], of mass scales
    int *load;      // [count], of those of loads: which of the model's
};

/// Of the bodies that may come to have it.
static const unsigned flags[] = {
    [CTN_ARMATURE] = BODY_ARMATURE,
    [CTN_DAMPING] = BODY_PASSIVE,
    [CTN_STIFFNESS] = BODY_PASSIVE | BODY_SPRING,
    [CTN_LIMIT_LOWER] = BODY_PASSIVE | BODY_SPRING,
    [CTN_LIMIT_UPPER] = BODY_PASSIVE | BODY_SPRING,
    [CTN_TIME_STEP] = 0,
    [CTN_FRICTION] = BODY_PASSIVE | BODY_FRICTION,
};

static bool of_load(ctn_parameter p) { return p.kind >= CTN_SPRING_STIFFNESS && p.kind <= CTN_TORQUE; }
static bool of_motor(ctn_parameter p) { return parameter_of_motor(p.kind); }
static bool of_force(ctn_parameter p) { return p.kind == CTN_FORCE || p.kind == CTN_TORQUE; }
static bool of_vector(ctn_parameter p) { return p.kind == CTN_SPRING_ANCHOR || of_force(p); }
static bool of_axis(ctn_parameter p) { return p.kind == CTN_GRAVITY || p.kind == CTN_CURRENT; }  // of the world
static bool of_ground(ctn_parameter p) { return parameter_of_ground(p.kind); }
static bool of_pairs(ctn_parameter p) { return parameter_of_pairs(p.kind); }
static bool of_link(ctn_parameter p)
{
    return !of_axis(p) && p.kind != CTN_TIME_STEP && !of_load(p) && !of_motor(p) && !of_ground(p) && !of_pairs(p);
}

/// Those of links that are none of their joint.
static bool of_body(ctn_parameter p)
{
    return p.kind == CTN_MASS_SCALE || p.kind == CTN_DRAG_SCALE || p.kind == CTN_CONTACT_FRICTION;
}

/// The first contact point of a link, or, -1, the first one that has the friction of the ground; NULL: there is none.
static const point_load *contact_of(const ctn_model *m, int link)
{
    for (const point_load *s = m->loads; s < m->loads + m->nload; s++)
        if (s->flags & LOAD_TOUCHES && (link >= 0 ? s->link == link : !s->rubs)) return s;
    return NULL;
}

/// Whether a load is drag of the scene's fluid.
static bool is_drag(const ctn_model *m, const point_load *l)
{
    const int number = l->number - m->nspring - m->nforce;
    return number >= 0 && number < m->ndrag && !(l->displaced > 0);
}

/// Whether a link has drag; any: one.
static bool has_drag(const ctn_model *m, int link, bool any)
{
    for (int k = 0; k < m->nload; k++)
        if (is_drag(m, &m->loads[k]) && (any || m->loads[k].link == link)) return true;
    return false;
}

static bool is_limited(const ctn_model *m, int link)
{
    int count;
    if (m->links[link].nv == 0) return false;
    const ctn_body *const b = &m->bodies[first_body(m, link, &count)];
    for (int i = 0; i < count; i++)
        if (isfinite(b[i].limit[0]) || isfinite(b[i].limit[1])) return true;
    return false;
}

/// The number of the load that has the parameter, and the load itself.
static int load_number(const ctn_model *m, ctn_parameter p)
{
    const int of = of_vector(p) ? p.index / 3 : p.index;
    return of_force(p) ? m->nspring + of : of;
}

static point_load *load_of(const ctn_model *m, ctn_parameter p) { return load_numbered(m, load_number(m, p)); }

static joint_motor *motor_of(joint_motor *motors, ctn_parameter p) { return &motors[p.index / parameter_components(p.kind)]; }

/// Where a motor that has it keeps it.
static double *motor_place(joint_motor *motors, ctn_parameter p)
{
    joint_motor *const a = motor_of(motors, p);
    switch (p.kind) {
    case CTN_MOTOR_TARGET:
        return a->type == MOTOR_POSITION ? a->target : a->type == MOTOR_VELOCITY ? a->velocity : a->feedforward;
    case CTN_MOTOR_VELOCITY: return a->velocity;
    case CTN_MOTOR_FEEDFORWARD: return a->feedforward;
    case CTN_MOTOR_ROTATION: return &a->target[p.index % 3];
    case CTN_MOTOR_SPIN: return &a->velocity[p.index % 3];
    case CTN_MOTOR_TORQUE: return &a->feedforward[p.index % 3];
    case CTN_MOTOR_KP: return &a->kp;
    case CTN_MOTOR_KD: return &a->kd;
    case CTN_MOTOR_KI: return &a->ki;
    case CTN_MOTOR_SPEED: return &a->speed;
    default: return &a->effort;
    }
}

static ctn_status check_motor(const ctn_model *m, ctn_parameter p, ctn_error *err)
{
    static const char *const types[] = {"position", "velocity", "torque", "thrust", "moment"};
    const char *const name = ctn_parameter_name(p.kind);
    if (!m->nmotor) return fail(err, CTN_BAD_CONFIG, "parameters: %s: the model has no motors; give the scene `motors`", name);
    const int count = m->nmotor * parameter_components(p.kind);
    if (p.index < 0 || p.index >= count)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s has the indices 0 to %d, found %d", name, count - 1, p.index);
    const joint_motor *const a = motor_of(m->motors, p);
    const motor_traits of = traits_of_motor(m, a);
    const int told = of.told;
    if (motor_has(of, p.kind)) return CTN_OK;
    if (p.kind == CTN_MOTOR_KI || p.kind == CTN_MOTOR_SPEED)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s: motors[%d] has none; give it `%s` in the scene%s", name,
                    (int)(a - m->motors), p.kind == CTN_MOTOR_KI ? "ki" : "speed",
                    p.kind == CTN_MOTOR_KI ? ", which may be 0" : "");
    if (motor_has((motor_traits){.type = of.type, .told = 4 - told}, p.kind))
        return fail(err, CTN_BAD_CONFIG, "parameters: %s: motors[%d] is on %s joint, and has %s instead", name,
                    (int)(a - m->motors), told == 3 ? "a ball" : "no ball",
                    told == 3 ? "motor_rotation, motor_spin and motor_torque" : "motor_target and its like");
    return fail(err, CTN_BAD_CONFIG, "parameters: %s: motors[%d] is of the type %s, which has none", name, (int)(a - m->motors),
                types[a->type]);
}

static ctn_status check_ground(const ctn_model *m, ctn_parameter p, ctn_error *err)
{
    const char *const name = ctn_parameter_name(p.kind);
    if (!m->ncontact)
        return fail(err, CTN_BAD_CONFIG,
                    "parameters: %s: nothing touches a ground; give the scene a `ground`, and links a sphere, capsule or box",
                    name);
    if (m->published)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s: `contact` of `law: as-published` has none; take the law bristles", name);
    if (p.index) return fail(err, CTN_BAD_CONFIG, "parameters: %s has the index 0 alone, found %d", name, p.index);
    if (p.kind == CTN_GROUND_DEPTH || contact_of(m, -1)) return CTN_OK;
    return fail(err, CTN_BAD_CONFIG, "parameters: %s: all shapes have a friction of their own; take contact_friction of links",
                name);
}

/// Whether the model has such a parameter.
static ctn_status check_parameter(const ctn_model *m, ctn_parameter p, ctn_error *err)
{
    const char *const name = ctn_parameter_name(p.kind);
    if (!name) return fail(err, CTN_BAD_CONFIG, "parameters: there is no kind %d", (int)p.kind);
    if (of_motor(p)) return check_motor(m, p, err);
    if (of_ground(p)) return check_ground(m, p, err);
    if (of_pairs(p) && !m->npair)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s: no links touch each other; write `contact: {between: links}`, or all",
                    name);
    const int count = of_force(p) ? m->nforce : m->nspring;
    if (of_load(p) && !count)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s: the model has no %s; give the scene `%s`", name,
                    of_force(p) ? "forces" : "springs", of_force(p) ? "forces" : "springs");
    if (!of_link(p)) {
        const int most = of_axis(p) ? 2 : of_load(p) ? (of_vector(p) ? 3 : 1) * count - 1 : 0;
        if (p.index < 0 || p.index > most)
            return fail(err, CTN_BAD_CONFIG, "parameters: %s has the indices 0 to %d, found %d", name, most, p.index);
        if (p.kind == CTN_CURRENT && !has_drag(m, 0, true))
            return fail(err, CTN_BAD_CONFIG, "parameters: current: nothing has drag in it; give the scene a `fluid` with `drag`");
        if (p.kind != CTN_TORQUE || (load_of(m, p)->flags & LOAD_TURNS)) return CTN_OK;
        return fail(err, CTN_BAD_CONFIG, "parameters: torque: forces[%d] has none; give it `torque: [0, 0, 0]` in the scene",
                    p.index / 3);
    }
    if (p.index < 0 || p.index >= m->nlink)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s of link %d: there are links 0 to %d", name, p.index, m->nlink - 1);
    const ctn_link *const l = &m->links[p.index];
    if (p.kind == CTN_DRAG_SCALE && !has_drag(m, p.index, false))
        return fail(err, CTN_BAD_CONFIG, "parameters: drag_scale of link '%s': it has no drag; give it one in `fluid`", l->name);
    if (p.kind == CTN_CONTACT_FRICTION && m->published) return check_ground(m, p, err);
    if (p.kind == CTN_CONTACT_FRICTION && !contact_of(m, p.index))
        return fail(
            err, CTN_BAD_CONFIG,
            "parameters: contact_friction of link '%s': it touches no ground; give it a sphere, capsule or box, and the scene "
            "a `ground`",
            l->name);
    const char *const against = parameter_objection(p.kind, l->joint, is_limited(m, p.index));
    if (!against) return CTN_OK;
    return fail(err, CTN_BAD_CONFIG, "parameters: %s of link '%s': the joint %s", name, l->name, against);
}

/// The link's mass, and its moments about the body's origin.
static share share_of(const ctn_model *m, int link)
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    const ctn_link *const l = &m->links[link];
    const ctn_frame *const F = &m->frames[link];
    const double *const J = l->inertia, half = (J[0] + J[1] + J[2]) / 2;
    const double S[3][3] = {{half - J[0], -J[3], -J[4]}, {-J[3], half - J[1], -J[5]}, {-J[4], -J[5], half - J[2]}};
    share s = {.body = F->body, .mass = l->mass};
    double c[3], trace = 0;
    for (int i = 0; i < 3; i++) {
        c[i] = F->p[i];
        for (int j = 0; j < 3; j++) c[i] += F->R[3 * i + j] * l->com[j];
        s.h[i] = l->mass * c[i];
    }
    for (int k = 0; k < 6; k++) {
        s.S[k] = l->mass * c[row[k]] * c[col[k]];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) s.S[k] += F->R[3 * row[k] + i] * S[i][j] * F->R[3 * col[k] + j];
        if (k < 3) trace += s.S[k];
    }
    for (int k = 0; k < 6; k++) s.I[k] = (k < 3 ? trace : 0) - s.S[k];
    return s;
}

static int entry_order(const void *a, const void *b)
{
    const ctn_parameter x = ((const entry *)a)->of, y = ((const entry *)b)->of;
    return x.kind != y.kind ? (x.kind > y.kind) - (x.kind < y.kind) : (x.index > y.index) - (x.index < y.index);
}

/// Sorts the list. False: something is in it twice.
static bool sort_list(parameters *p, ctn_error *err)
{
    for (int k = 0; k < p->count; k++) p->sorted[k] = (entry){p->list[k], k};
    if (p->count) qsort(p->sorted, (size_t)p->count, sizeof *p->sorted, entry_order);
    for (int k = 1; k < p->count; k++) {
        const ctn_parameter of = p->sorted[k].of;
        if (entry_order(&p->sorted[k - 1], &p->sorted[k]) != 0) continue;
        fail(err, CTN_BAD_CONFIG, "parameters: %s %d is given twice", ctn_parameter_name(of.kind), of.index);
        return false;
    }
    return true;
}

/// The loads that the parameters are of. False: no memory.
static bool find_loads(parameters *p)
{
    const ctn_model *const m = p->model;
    int *const numbered = malloc(((size_t)m->nload + 1) * sizeof *numbered);
    for (int i = 0; i < m->nload && numbered; i++) numbered[m->loads[i].number] = i;
    for (int k = 0; k < p->count && numbered; k++)
        if (of_load(p->list[k])) p->load[k] = numbered[load_number(m, p->list[k])];
    free(numbered);
    return numbered;
}

parameters *parameters_create(const ctn_model *m, const ctn_parameter *list, int count, ctn_error *err)
{
    for (int k = 0; k < count; k++)
        if (check_parameter(m, list[k], err) != CTN_OK) return NULL;
    parameters *const p = calloc(1, sizeof *p);
    const size_t n = (size_t)count + 1;
    if (p) {
        *p = (parameters){.model = m, .declared = *m, .count = count};
        p->declared.bodies = malloc(((size_t)m->nbody + 1) * sizeof *m->bodies);
        p->list = malloc(n * sizeof *list), p->share = calloc(n, sizeof *p->share);
        p->sorted = malloc(n * sizeof *p->sorted), p->load = calloc(n, sizeof *p->load);
    }
    const bool room = p && p->declared.bodies && p->list && p->share && p->sorted && p->load;
    if (room && count) memcpy(p->list, list, (size_t)count * sizeof *list);
    if (!room || !find_loads(p)) {
        parameters_free(p);
        fail(err, CTN_NO_MEMORY, "not enough memory for %d parameter%s", count, plural(count));
        return NULL;
    }
    memcpy(p->declared.bodies, m->bodies, (size_t)m->nbody * sizeof *m->bodies);
    if (!sort_list(p, err)) {
        parameters_free(p);
        return NULL;
    }
    for (int k = 0; k < count; k++) {
        if (list[k].kind == CTN_MASS_SCALE) {
            const share *const s = &p->share[k];
            p->share[k] = share_of(m, list[k].index);
            ctn_body *const of = s->body < 0 ? NULL : &p->declared.bodies[s->body];
            if (of && !lies_alike(s->mass, s->h, s->S, of->axis))
                of->flags &= ~(unsigned)(BODY_SYMMETRIC | BODY_TILTS | BODY_ROUND);
        }
        if (!of_link(list[k]) || of_body(list[k])) continue;
        int bodies;
        const int first = first_body(m, list[k].index, &bodies);
        for (int i = first; i < first + bodies; i++) {
            p->declared.bodies[i].flags |= flags[list[k].kind];
            if (flags[list[k].kind] & BODY_PASSIVE) p->declared.passive = true;
            if (flags[list[k].kind] & BODY_FRICTION) p->declared.rubs = true;
        }
    }
    return p;
}

void parameters_free(parameters *p)
{
    if (!p) return;
    free(p->declared.bodies), free(p->list), free(p->share), free(p->sorted), free(p->load);
    free(p);
}

bool parameters_have(const parameters *p, ctn_parameter_kind kind)
{
    for (int k = 0; p && k < p->count; k++)
        if (p->list[k].kind == kind) return true;
    return false;
}

bool parameters_change_bodies(const parameters *p)
{
    for (int k = 0; p && k < p->count; k++)
        if (of_link(p->list[k])) return true;
    return false;
}

int parameters_count(const parameters *p) { return p->count; }
const ctn_parameter *parameters_list(const parameters *p) { return p->list; }

/// Where a body keeps the parameter.
static double *place(ctn_body *b, ctn_parameter_kind k)
{
    switch (k) {
    case CTN_ARMATURE: return &b->armature;
    case CTN_DAMPING: return b->damping;
    case CTN_STIFFNESS: return &b->stiffness;
    case CTN_REST: return b->rest;
    case CTN_LIMIT_LOWER: return &b->limit[0];
    case CTN_LIMIT_UPPER: return &b->limit[1];
    case CTN_LIMIT_STIFFNESS: return &b->limit_k;
    case CTN_LIMIT_DAMPING: return &b->limit_b;
    case CTN_FRICTION: return &b->friction;
    default: return NULL;
    }
}

/// Scales the drag of a link; link -1: all are in the component c of the current, m/s.
static void change_drag(ctn_model *v, int link, int c, double x)
{
    for (int k = 0; k < v->nload; k++) {
        point_load *const l = &v->loads[k];
        if (!is_drag(v, l) || (link >= 0 && l->link != link)) continue;
        if (link >= 0) l->damping *= x, l->axial *= x;
        else l->flow[c] = x;
        for (int i = 0; i < 3 && !(l->flags & LOAD_SLIPS); i++) l->force[i] = l->damping * l->flow[i];
    }
}

/// Where a load keeps it.
static double *load_place(point_load *l, ctn_parameter p)
{
    switch (p.kind) {
    case CTN_SPRING_STIFFNESS: return &l->stiffness;
    case CTN_SPRING_DAMPING: return &l->damping;
    case CTN_SPRING_ANCHOR: return &l->anchor[p.index % 3];
    case CTN_FORCE: return &l->force[p.index % 3];
    default: return &l->torque[p.index % 3];
    }
}

ctn_status ctn_model_parameter(const ctn_model *m, ctn_parameter p, double *value, ctn_error *err)
{
    if (missing(__func__, "model", m, err) || missing(__func__, "value", value, err)) return CTN_BAD_ARGUMENT;
    if (check_parameter(m, p, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (p.kind == CTN_TIME_STEP)
        return fail(err, CTN_BAD_ARGUMENT, "parameters: time_step is the configuration's, not the model's");
    int bodies;
    *value = p.kind == CTN_GRAVITY                                  ? m->gravity[p.index]
             : p.kind == CTN_CURRENT                                ? m->current[p.index]
             : p.kind == CTN_MASS_SCALE || p.kind == CTN_DRAG_SCALE ? 1
             : of_pairs(p)                                          ? 1
             : p.kind == CTN_GROUND_DEPTH                           ? m->depth
             : p.kind == CTN_GROUND_FRICTION                        ? contact_of(m, -1)->friction
             : p.kind == CTN_CONTACT_FRICTION                       ? contact_of(m, p.index)->friction
             : of_load(p)                                           ? *load_place(load_of(m, p), p)
             : of_motor(p)                                          ? *motor_place(m->motors, p)
                                                                    : *place(&m->bodies[first_body(m, p.index, &bodies)], p.kind);
    return CTN_OK;
}

void parameters_of_model(const parameters *p, double dt, double *values)
{
    for (int k = 0; k < p->count; k++)
        if (p->list[k].kind == CTN_TIME_STEP) values[k] = dt;
        else ctn_model_parameter(p->model, p->list[k], &values[k], NULL);
}

/// A value of a world, of the model where the list does not have it.
static double value_of(const parameters *p, const double *values, ctn_parameter_kind kind, int index, double of_model)
{
    const entry wanted = {.of = {kind, index}}, *const e = p->count ? bsearch(&wanted, p->sorted, (size_t)p->count, sizeof wanted,
                                                                              entry_order)
                                                                    : NULL;
    return e ? values[e->at] : of_model;
}

/// Whether the limits that a world's joint of `link` will have leave something between them.
static ctn_status check_limits(const parameters *p, const double *values, int link, int world, ctn_error *err)
{
    const ctn_link *const l = &p->model->links[link];
    int bodies;
    const ctn_body *const b = &p->model->bodies[first_body(p->model, link, &bodies)];
    for (int i = 0; i < bodies; i++) {
        const double limit[2] = {value_of(p, values, CTN_LIMIT_LOWER, link, b[i].limit[0]),
                                 value_of(p, values, CTN_LIMIT_UPPER, link, b[i].limit[1])};
        if (!(limit[0] < limit[1]))
            return fail(err, CTN_BAD_ARGUMENT,
                        "world %d: the limits of link '%s' are [%g, %g]: the lower one is not below the upper one", world,
                        l->name, limit[0], limit[1]);
    }
    return CTN_OK;
}

ctn_status parameters_check(const parameters *p, const double *values, int world, ctn_error *err)
{
    for (int k = 0; k < p->count; k++) {
        const ctn_parameter c = p->list[k];
        const ctn_link *const l = of_link(c) ? &p->model->links[c.index] : NULL;
        const parameter_range range = parameter_values(c.kind, l ? l->joint : CTN_FIXED);
        if (!parameter_allows(&range, values[k]))
            return fail(err, CTN_BAD_ARGUMENT, "world %d: %s%s%s%s: expected %s%s, found %g", world, ctn_parameter_name(c.kind),
                        l ? " of link '" : "", l ? l->name : "", l ? "'" : "", range.allowed,
                        range.unlimited > 0   ? ", or infinity"
                        : range.unlimited < 0 ? ", or -infinity"
                                              : "",
                        values[k]);
        if (c.kind == CTN_MOTOR_EFFORT && p->model->motors[c.index].fast && isinf(values[k]))
            return fail(err, CTN_BAD_ARGUMENT,
                        "world %d: motor_effort: motors[%d] has a speed, at which its effort ends: expected a number", world,
                        c.index);
        if (c.kind != CTN_LIMIT_LOWER && c.kind != CTN_LIMIT_UPPER) continue;
        const ctn_status status = check_limits(p, values, c.index, world, err);
        if (status != CTN_OK) return status;
    }
    return CTN_OK;
}

ctn_model *parameters_variant(const parameters *p)
{
    const size_t n = (size_t)p->model->nbody, loads = (size_t)p->model->nload, motors = (size_t)p->model->nmotor;
    ctn_model *const v = malloc(sizeof *v + (n + 1) * sizeof *v->bodies + loads * sizeof *v->loads + motors * sizeof *v->motors);
    if (!v) return NULL;
    *v = p->declared;
    v->bodies = (ctn_body *)(void *)(v + 1);
    v->loads = (point_load *)(void *)(v->bodies + n + 1);
    v->motors = (joint_motor *)(void *)(v->loads + loads);
    return v;
}

void parameters_apply(const parameters *p, const double *values, ctn_model *v, double *dt)
{
    memcpy(v->bodies, p->declared.bodies, (size_t)v->nbody * sizeof *v->bodies);
    if (v->nload) memcpy(v->loads, p->declared.loads, (size_t)v->nload * sizeof *v->loads);
    if (v->nmotor) memcpy(v->motors, p->declared.motors, (size_t)v->nmotor * sizeof *v->motors);
    memcpy(v->gravity, p->declared.gravity, sizeof v->gravity);
    memcpy(v->fixed_moment, p->declared.fixed_moment, sizeof v->fixed_moment);
    v->mass = p->declared.mass, v->relaxation = p->declared.relaxation;
    v->pair_friction = v->pair_grip = 1;
    for (int k = 0; k < p->count; k++)  // before links have friction of their own
        if (p->list[k].kind == CTN_GROUND_FRICTION) change_contact_friction(v, -1, values[k]);
    bool scaled = false;
    for (int k = 0; k < p->count; k++) {
        const ctn_parameter c = p->list[k];
        const double x = values[k];
        if (c.kind == CTN_GRAVITY) v->gravity[c.index] = x;
        else if (c.kind == CTN_TIME_STEP) *dt = x;
        else if (c.kind == CTN_CURRENT) change_drag(v, -1, c.index, x);
        else if (c.kind == CTN_DRAG_SCALE) change_drag(v, c.index, 0, x);
        else if (c.kind == CTN_GROUND_DEPTH) change_contact_depth(v, &p->declared, x);
        else if (c.kind == CTN_CONTACT_FRICTION) change_contact_friction(v, c.index, x);
        else if (c.kind == CTN_GROUND_FRICTION) continue;
        else if (c.kind == CTN_PAIR_FRICTION_SCALE) v->pair_friction = x;
        else if (c.kind == CTN_PAIR_DEPTH_SCALE) v->pair_grip = 1 / x;
        else if (of_motor(c)) *motor_place(v->motors, c) = x;
        else if (of_load(c)) *load_place(&v->loads[p->load[k]], c) = x;
        else if (c.kind == CTN_MASS_SCALE) {
            const share *const s = &p->share[k];
            const double more = x - 1;
            v->mass += more * s->mass;
            for (int i = 0; i < 3 && s->body < 0; i++) v->fixed_moment[i] += more * s->h[i];
            if (s->body < 0) continue;
            ctn_body *const b = &v->bodies[s->body];
            b->mass += more * s->mass;
            for (int i = 0; i < 3; i++) b->h[i] += more * s->h[i];
            for (int i = 0; i < 6; i++) b->S[i] += more * s->S[i], b->I[i] += more * s->I[i];
            scaled = true;
        } else {
            int bodies;
            const int first = first_body(v, c.index, &bodies);
            for (int i = first; i < first + bodies; i++)
                for (int d = 0; d < (c.kind == CTN_DAMPING ? v->bodies[i].nv : 1); d++) place(&v->bodies[i], c.kind)[d] = x;
        }
    }
    if (scaled) body_subtree_masses(v);
    if (v->nmotor) set_thrusts(v);
    for (int k = 0; k < v->nload; k++)  // buoyancy is made of the world's gravity
        for (int i = 0; i < 3 && v->loads[k].displaced > 0; i++)
            v->loads[k].force[i] += v->loads[k].displaced * (p->declared.gravity[i] - v->gravity[i]);
    for (int i = 0; i < v->nbody; i++) body_force_scales(&v->bodies[i], v->gravity);
    if (v->nload) load_scales(v);
}
