/// What can differ from world to world: which parameters a model has, what they may be, and the constants that follow from them.
#include "sim/parameters.h"

#include "sim/model.h"
#include "sim/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What a link adds to its body, in the axes of the body.
typedef struct {
    int body;  // -1: the world
    double mass, h[3], S[6], I[6];
} share;

struct parameters {
    const ctn_model *model;
    ctn_model declared;  // with flags for all that values can bring about; bodies are its own
    int count;
    ctn_parameter *list;
    int *body;     // [nlink] the first one of the link's joint
    share *share;  // [count], of mass scales
};

typedef struct {
    const char *name;
    double least, most;  // of a value
    bool above;          // and not `least` itself
    bool ball, free;     // whether these joints have one
    unsigned flags;      // of the bodies that may come to have it
} kind;

#define MOST 1.7976931348623157e308
static const kind kinds[] = {
    [CTN_GRAVITY] = {.name = "gravity", .least = -MOST, .most = MOST},
    [CTN_MASS_SCALE] = {"mass_scale", 0, MOST, .above = true},
    [CTN_ARMATURE] = {"armature", 0, MOST, .ball = true, .flags = BODY_ARMATURE},
    [CTN_DAMPING] = {"damping", 0, MOST, .ball = true, .free = true, .flags = BODY_PASSIVE},
    [CTN_STIFFNESS] = {"stiffness", 0, MOST, .ball = true, .flags = BODY_PASSIVE | BODY_SPRING},
    [CTN_REST] = {.name = "rest", .least = -MOST, .most = MOST},
    [CTN_LIMIT_LOWER] = {"limit_lower", -INFINITY, MOST, .flags = BODY_PASSIVE | BODY_SPRING},
    [CTN_LIMIT_UPPER] = {"limit_upper", -MOST, INFINITY, .ball = true, .flags = BODY_PASSIVE | BODY_SPRING},
    [CTN_LIMIT_STIFFNESS] = {"limit_stiffness", 0, MOST, .ball = true},
    [CTN_LIMIT_DAMPING] = {"limit_damping", 0, MOST, .ball = true},
    [CTN_TIME_STEP] = {"time_step", 0, MOST, .above = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *ctn_parameter_name(ctn_parameter_kind k) { return (unsigned)k < KINDS ? kinds[k].name : NULL; }

static bool of_link(ctn_parameter p) { return p.kind != CTN_GRAVITY && p.kind != CTN_TIME_STEP; }

/// Whether the model has such a parameter.
static ctn_status check_parameter(const ctn_model *m, ctn_parameter p, ctn_error *err)
{
    if ((unsigned)p.kind >= KINDS) return fail(err, CTN_BAD_CONFIG, "parameters: there is no kind %d", (int)p.kind);
    const kind *const k = &kinds[p.kind];
    if (!of_link(p)) {
        const int most = p.kind == CTN_GRAVITY ? 2 : 0;
        if (p.index >= 0 && p.index <= most) return CTN_OK;
        return fail(err, CTN_BAD_CONFIG, "parameters: %s has the indices 0 to %d, found %d", k->name, most, p.index);
    }
    if (p.index < 0 || p.index >= m->nlink)
        return fail(err, CTN_BAD_CONFIG, "parameters: %s of link %d: there are links 0 to %d", k->name, p.index, m->nlink - 1);
    const ctn_link *const l = &m->links[p.index];
    if (p.kind == CTN_MASS_SCALE) return CTN_OK;
    if (l->joint == CTN_FIXED || (l->joint == CTN_BALL && !k->ball) || (l->joint == CTN_FREE && !k->free))
        return fail(err, CTN_BAD_CONFIG, "parameters: the joint of link '%s' has no %s", l->name, k->name);
    return CTN_OK;
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

parameters *parameters_create(const ctn_model *m, const ctn_parameter *list, int count, ctn_error *err)
{
    for (int k = 0; k < count; k++) {
        if (check_parameter(m, list[k], err) != CTN_OK) return NULL;
        for (int j = 0; j < k; j++)
            if (list[j].kind == list[k].kind && list[j].index == list[k].index) {
                fail(err, CTN_BAD_CONFIG, "parameters: %s %d is given twice", kinds[list[k].kind].name, list[k].index);
                return NULL;
            }
    }
    parameters *const p = calloc(1, sizeof *p);
    const size_t n = (size_t)count + 1;
    if (p) {
        *p = (parameters){.model = m, .declared = *m, .count = count};
        p->declared.bodies = malloc(((size_t)m->nbody + 1) * sizeof *m->bodies);
        p->list = malloc(n * sizeof *list), p->share = calloc(n, sizeof *p->share);
        p->body = malloc(((size_t)m->nlink + 1) * sizeof *p->body);
    }
    if (!p || !p->declared.bodies || !p->list || !p->share || !p->body) {
        parameters_free(p);
        fail(err, CTN_NO_MEMORY, "not enough memory for %d parameters", count);
        return NULL;
    }
    memcpy(p->declared.bodies, m->bodies, (size_t)m->nbody * sizeof *m->bodies);
    memcpy(p->list, list, (size_t)count * sizeof *list);
    for (int l = 0; l < m->nlink; l++)
        for (int i = p->body[l] = 0; i < m->nbody && m->links[l].nv; i++)
            if (m->bodies[i].vadr == m->links[l].vadr) p->body[l] = i;
    for (int k = 0; k < count; k++) {
        if (list[k].kind == CTN_MASS_SCALE) p->share[k] = share_of(m, list[k].index);
        if (!of_link(list[k]) || list[k].kind == CTN_MASS_SCALE) continue;
        const ctn_link *const l = &m->links[list[k].index];
        for (int i = p->body[list[k].index], end = l->vadr + l->nv; i < m->nbody && m->bodies[i].vadr < end; i++) {
            if (m->bodies[i].vadr < l->vadr) break;
            p->declared.bodies[i].flags |= kinds[list[k].kind].flags;
            if (kinds[list[k].kind].flags & BODY_PASSIVE) p->declared.passive = true;
        }
    }
    return p;
}

void parameters_free(parameters *p)
{
    if (!p) return;
    free(p->declared.bodies), free(p->list), free(p->share), free(p->body);
    free(p);
}

bool parameters_have(const parameters *p, ctn_parameter_kind kind)
{
    for (int k = 0; p && k < p->count; k++)
        if (p->list[k].kind == kind) return true;
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
    default: return NULL;
    }
}

static int first_body(const ctn_model *m, int link)
{
    int i = 0;
    while (m->bodies[i].vadr != m->links[link].vadr) i++;
    return i;
}

ctn_status ctn_model_parameter(const ctn_model *m, ctn_parameter p, double *value, ctn_error *err)
{
    if (check_parameter(m, p, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    if (p.kind == CTN_TIME_STEP) return fail(err, CTN_BAD_ARGUMENT, "parameters: time_step is the configuration's, not the model's");
    *value = p.kind == CTN_GRAVITY      ? m->gravity[p.index]
             : p.kind == CTN_MASS_SCALE ? 1
                                        : *place(&m->bodies[first_body(m, p.index)], p.kind);
    return CTN_OK;
}

void parameters_of_model(const parameters *p, double dt, double *values)
{
    for (int k = 0; k < p->count; k++)
        if (p->list[k].kind == CTN_TIME_STEP) values[k] = dt;
        else ctn_model_parameter(p->model, p->list[k], &values[k], NULL);
}

/// The limits that a world's joint of `link` will have.
static void limits_of(const parameters *p, const double *values, int link, double *limit)
{
    memcpy(limit, p->model->bodies[p->body[link]].limit, 2 * sizeof *limit);
    for (int k = 0; k < p->count; k++)
        if (p->list[k].index == link && p->list[k].kind == CTN_LIMIT_LOWER) limit[0] = values[k];
        else if (p->list[k].index == link && p->list[k].kind == CTN_LIMIT_UPPER) limit[1] = values[k];
}

ctn_status parameters_check(const parameters *p, const double *values, int world, ctn_error *err)
{
    for (int k = 0; k < p->count; k++) {
        const ctn_parameter c = p->list[k];
        const kind *const d = &kinds[c.kind];
        const ctn_link *const l = of_link(c) ? &p->model->links[c.index] : NULL;
        const char *const of = l ? " of link '" : "", *const name = l ? l->name : "", *const end = l ? "'" : "";
        const bool cone = c.kind == CTN_LIMIT_UPPER && l->joint == CTN_BALL;
        const double x = values[k], least = cone ? 0 : d->least, most = cone ? 3.14159265358979323846 : d->most;
        if ((!(x >= least && x <= most) && !(cone && x == INFINITY)) || (d->above && x == least))
            return fail(err, CTN_BAD_ARGUMENT, "world %d: %s%s%s%s: expected %s, found %g", world, d->name, of, name, end,
                        cone         ? "half an angle from 0 to pi, or infinity"
                        : d->above   ? "a positive number"
                        : least == 0 ? "0 or more"
                                     : "a finite number",
                        x);
        if (c.kind != CTN_LIMIT_LOWER && c.kind != CTN_LIMIT_UPPER) continue;
        double limit[2];
        limits_of(p, values, c.index, limit);
        if (limit[0] > limit[1])
            return fail(err, CTN_BAD_ARGUMENT, "world %d: the limits%s%s%s are [%g, %g]: the lower one is above the upper one", world,
                        of, name, end, limit[0], limit[1]);
    }
    return CTN_OK;
}

ctn_model *parameters_variant(const parameters *p)
{
    const size_t n = (size_t)p->model->nbody;
    ctn_model *const v = malloc(sizeof *v + (n + 1) * sizeof *v->bodies);
    if (!v) return NULL;
    *v = p->declared;
    v->bodies = (ctn_body *)(void *)(v + 1);
    return v;
}

void parameters_apply(const parameters *p, const double *values, ctn_model *v, double *dt)
{
    memcpy(v->bodies, p->declared.bodies, (size_t)v->nbody * sizeof *v->bodies);
    memcpy(v->gravity, p->declared.gravity, sizeof v->gravity);
    memcpy(v->fixed_moment, p->declared.fixed_moment, sizeof v->fixed_moment);
    v->mass = p->declared.mass;
    for (int k = 0; k < p->count; k++) {
        const ctn_parameter c = p->list[k];
        const double x = values[k];
        if (c.kind == CTN_GRAVITY) v->gravity[c.index] = x;
        else if (c.kind == CTN_TIME_STEP) *dt = x;
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
            for (int i = s->body; i >= 0; i = v->bodies[i].parent) v->bodies[i].subtree_mass += more * s->mass;
        } else {
            const ctn_link *const l = &v->links[c.index];
            for (int i = p->body[c.index]; i < v->nbody && v->bodies[i].vadr - l->vadr < l->nv && v->bodies[i].vadr >= l->vadr; i++)
                for (int d = 0; d < (c.kind == CTN_DAMPING ? v->bodies[i].nv : 1); d++) place(&v->bodies[i], c.kind)[d] = x;
        }
    }
    for (int i = 0; i < v->nbody; i++) body_force_scales(&v->bodies[i], v->gravity);
}
