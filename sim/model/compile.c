/// Compiles a scene into a model: its links, its bodies (bodies.c), its loads, and what limits and dampers are where the scene
/// does not say.
#include "dynamics/model.h"

#include "sim/model/between.h"
#include "sim/model/bodies.h"
#include "sim/model/contact_points.h"
#include "sim/model/surfaces.h"
#include "sim/model/controller.h"
#include "sim/model/joint_inertia.h"
#include "sim/model/model.h"
#include "sim/model/spinning.h"
#include "sim/model/thrusters.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Of a number that is not negative.
static size_t digits(int x)
{
    size_t count = 1;
    while (x /= 10) count++;
    return count;
}

static bool copy_links(ctn_model *m, const ctn_scene *scene)
{
    size_t size = 1;
    for (int l = 0; l < scene->nlink; l++) size += scene->links[l].name ? strlen(scene->links[l].name) + 1 : digits(l) + 1;
    char *at = m->names = malloc(size);
    if (!at) return false;
    int qadr = 0, vadr = 0;
    for (int l = 0; l < scene->nlink; l++) {
        const scene_link *s = &scene->links[l];
        ctn_link *o = &m->links[l];
        o->name = at;
        at += s->name ? strlen(strcpy(at, s->name)) + 1 : (size_t)sprintf(at, "%d", l) + 1;
        o->parent = s->parent, o->joint = s->joint.type;
        o->qadr = qadr, o->nq = joint_nq(o->joint), o->vadr = vadr, o->nv = joint_nv(o->joint);
        memcpy(m->q0 + qadr, s->joint.q0, (size_t)o->nq * sizeof *m->q0);
        memcpy(m->v0 + vadr, s->joint.v0, (size_t)o->nv * sizeof *m->v0);
        qadr += o->nq, vadr += o->nv;
        o->mass = s->mass;
        memcpy(o->com, s->com, sizeof o->com);
        memcpy(o->inertia, s->inertia, sizeof o->inertia);
        m->mass += s->mass;
    }
    return true;
}

/// Limits that do not say how they are damped: half of critical for the inertia that the joint meets at zero coordinates, so that
/// what hits one keeps little of its energy, and the damper needs no smaller steps than the limit's spring.
static bool damp_limits(ctn_model *m, int defaults)
{
    joint_inertia *inertia = NULL;
    for (int i = 0; i < m->nbody; i++) {
        ctn_body *const b = &m->bodies[i];
        const bool limited = isfinite(b->limit[0]) || isfinite(b->limit[1]);
        if (!isnan(b->limit_b)) continue;
        b->limit_b = 0;
        if (!limited || defaults < 2) continue;
        if (!inertia && !(inertia = joint_inertia_create(m, NULL))) return false;
        b->limit_b = sqrt(b->limit_k * joint_inertia_met(inertia, i));
    }
    joint_inertia_free(inertia);
    return true;
}

/// kd of the servos that have a damping ratio: twice that of the square root of kp and the inertia that the motor meets, all other
/// joints free, where the joints stand without `state:`.
static bool damp_motors(ctn_model *m, const ctn_scene *scene)
{
    double *const q = malloc(((size_t)m->nq + 1) * sizeof *q), *const x = malloc(((size_t)m->nv + 1) * sizeof *x);
    joint_inertia *inertia = NULL;
    bool room = q && x;
    for (int l = 0; l < m->nlink && room; l++) {
        const scene_joint *const j = &scene->links[l].joint;
        memcpy(q + m->links[l].qadr, j->stated ? j->own_q0 : j->q0, (size_t)m->links[l].nq * sizeof *q);
    }
    for (int n = 0; n < m->nmotor && room; n++) {
        const scene_motor *const s = &scene->motors[n];
        if (isnan(s->damping_ratio)) continue;
        if (!inertia) room = (inertia = joint_inertia_create(m, q));
        if (!room) break;
        const int dof = m->links[s->link].vadr + s->dof;
        memset(x, 0, (size_t)m->nv * sizeof *x);
        x[dof] = s->gear * s->gear;
        joint_inertia_solve(inertia, x, x);
        if (x[dof] > 0) m->motors[n].kd = 2 * s->damping_ratio * sqrt(s->kp / x[dof]);
    }
    joint_inertia_free(inertia);
    free(q), free(x);
    return room;
}

/// Refuses what the dynamics could not accelerate: a body at the end of the tree without mass.
static ctn_status check_bodies(const ctn_model *m, const ctn_scene *scene, ctn_error *err)
{
    for (int i = 0; i < m->nbody; i++) {
        if (m->bodies[i].subtree_mass > 0) continue;
        const scene_link *const l = &scene->links[link_of_dof(m, m->bodies[i].vadr)];
        return fail_at(err, CTN_BAD_SCENE, l->file, l->line, l->column, "links",
                       "'%s' moves no mass: give it, or a link that hangs on it, a mass", l->name);
    }
    return CTN_OK;
}

/// What a fluid does at a point: a damper of what moves against the current, c (x' - u), and the weight of what is displaced.
/// With the damping alike in all directions, c u is a force that stays; where the current or the damping varies, it is not.
static point_load fluid_load(const ctn_model *m, const scene_fluid *f, const scene_drag *d, int number)
{
    const ctn_frame *const F = &m->frames[d->link];
    const bool varies = f->stream.moves || f->stream.points, slips = !(d->displaced > 0) && (varies || d->law != DRAG_LINEAR);
    point_load o = {.body = F->body, .number = number, .link = d->link, .damping = d->damping, .axial = d->axial};
    o.displaced = d->displaced;
    o.flags = (slips ? LOAD_SLIPS : 0u) | (d->axial != 0 ? LOAD_AXIAL : 0u) | (d->added ? LOAD_ADDED : 0u);
    o.flags |= d->law == DRAG_QUADRATIC ? LOAD_SQUARE : d->law == DRAG_AS_PUBLISHED ? LOAD_PUBLISHED : 0u;
    body_point(m, d->link, d->point, o.point);
    for (int k = 0; k < 3; k++) {
        const double flow = f->current[k] * (varies ? 1 : f->stream.strength);
        o.force[k] = slips ? 0 : d->damping * flow - d->displaced * m->gravity[k];
        if (d->damping != 0 || d->axial != 0) o.flow[k] = flow;
        for (int j = 0; j < 3; j++) o.axis[k] += F->R[3 * k + j] * d->axis[j];
    }
    return o;
}

/// Loads on points. Frames of links are known.
static bool compile_loads(ctn_model *m, const ctn_scene *scene)
{
    m->nspring = scene->nspring, m->nforce = scene->nload - scene->nspring, m->ndrag = scene->fluid.ndrag;
    m->stream = scene->fluid.stream;
    for (int k = 0; k < 3; k++) {
        const bool varies = m->stream.moves || m->stream.points;
        m->current[k] = scene->fluid.current[k] * (varies ? 1 : m->stream.strength);
    }
    const int fluids = scene->nload + scene->fluid.ndrag, before = fluids + count_thrusters(scene);
    m->nload = before + count_contacts(scene);
    m->loads = calloc((size_t)m->nload + 1, sizeof *m->loads);
    if (!m->loads) return false;
    for (int n = 0; n < scene->nload; n++) {
        const scene_load *const s = &scene->loads[n];
        point_load *const o = &m->loads[n];
        *o = (point_load){.body = m->frames[s->link].body,
                          .number = n,
                          .link = s->link,
                          .flags = (s->turns ? LOAD_TURNS : 0) | (s->follows ? LOAD_FOLLOWS : 0),
                          .stiffness = s->stiffness,
                          .damping = s->damping};
        for (int k = 0; k < 3; k++) o->anchor[k] = s->anchor[k], o->force[k] = s->force[k], o->torque[k] = s->torque[k];
        body_point(m, s->link, s->point, o->point);
    }
    for (int n = 0; n < scene->fluid.ndrag; n++) {
        point_load *const o = &m->loads[scene->nload + n];
        *o = fluid_load(m, &scene->fluid, &scene->fluid.drag[n], scene->nload + n);
        m->slips = m->slips || o->flags & LOAD_SLIPS, m->adds = m->adds || o->flags & LOAD_ADDED;
    }
    add_thrusters(m, scene, m->loads + fluids, fluids);
    if (!make_surfaces(m, scene)) return false;
    add_contacts(m, scene, m->loads + before, before);
    model_sort_loads(m);
    return true;
}

/// Motors on joints, tendons and links. Bodies are known, and loads.
static bool compile_motors(ctn_model *m, const ctn_scene *scene)
{
    m->nmotor = scene->nmotor;
    m->motors = calloc((size_t)scene->nmotor + 1, sizeof *m->motors);
    for (int n = 0; n < scene->nmotor && m->motors; n++) {
        const scene_motor *const s = &scene->motors[n];
        int count;
        const bool thrusts = s->type >= MOTOR_THRUST;
        const int body = thrusts || s->tendon ? m->frames[s->link].body : first_body(m, s->link, &count) + s->dof;
        m->motors[n] = (joint_motor){.body = body,
                                     .tendon = s->tendon,
                                     .control = m->ncontrol,
                                     .type = s->type,
                                     .kp = s->kp,
                                     .kd = s->kd,
                                     .effort = s->effort,
                                     .gear = s->gear,
                                     .ki = s->ki,
                                     .speed = s->speed,
                                     .least = s->least,
                                     .follows = s->follows,
                                     .wound = -1,
                                     .fast = s->fast};
        m->ncontrol += s->told;
        m->fast = m->fast || s->fast;
        if (s->winds) m->motors[n].wound = m->nwound, m->nwound += s->told;
        joint_motor *const to = &m->motors[n];
        memcpy(to->target, s->target, sizeof s->target), memcpy(to->velocity, s->velocity, sizeof s->velocity);
        memcpy(to->feedforward, s->feedforward, sizeof s->feedforward), memcpy(to->moves, s->moves, sizeof s->moves);
        for (int k = 0; k < 3 * MOTOR_TOLD; k++) to->moving = to->moving || to->moves[k / 3][k % 3];
        if (thrusts || s->tendon) continue;
        m->bodies[body].motor = n,
        m->bodies[body].flags |= BODY_MOTOR | BODY_PASSIVE | (s->type == MOTOR_POSITION ? BODY_SERVO : 0u);
        m->passive = true;
    }
    if (m->motors) set_thrusts(m);
    return m->motors;
}

ctn_model *ctn_model_create(const ctn_scene *scene, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err)) return NULL;
    ctn_model *m = calloc(1, sizeof *m);
    const size_t links = (size_t)scene->nlink + 1;
    if (!m) goto no_memory;
    m->nlink = scene->nlink, m->nq = scene->nq, m->nv = scene->nv;
    memcpy(m->gravity, scene->gravity, sizeof m->gravity);
    m->name = strdup(scene->name);
    m->links = calloc(links, sizeof *m->links);
    m->frames = calloc(links, sizeof *m->frames);
    m->dof_adr = calloc((size_t)m->nv + 1, sizeof *m->dof_adr);
    m->q0 = calloc((size_t)m->nq + 1, sizeof *m->q0);
    m->v0 = calloc((size_t)m->nv + 1, sizeof *m->v0);
    if (!m->name || !m->links || !m->frames || !m->dof_adr || !m->q0 || !m->v0 || !copy_links(m, scene) ||
        !make_bodies(scene, m) || !compile_loads(m, scene) || !compile_motors(m, scene) || !find_spinning(m) ||
        !compile_signals(m, scene) || !compile_sensors(m, scene) || !compile_controller(m, scene))
        goto no_memory;
    if (model_name_links(m, err) != CTN_OK || check_bodies(m, scene, err) != CTN_OK || check_contacts(scene, err) != CTN_OK) {
        ctn_model_free(m);
        m = NULL;
    }
    if (m && (!damp_limits(m, scene->defaults) || !damp_motors(m, scene))) goto no_memory;
    ctn_status between = m ? compile_pairs(m, scene, err) : CTN_OK;
    if (m && between == CTN_OK) between = compile_bonds(m, scene, err);
    if (between == CTN_NO_MEMORY) goto no_memory;
    if (m && (m->npair || m->nbond) && !find_spinning(m)) goto no_memory;
    if (between != CTN_OK) {
        ctn_model_free(m);
        return NULL;
    }
    if (m && (m->npair || m->nbond)) {
        double *const rows = m->nrow ? bond_rows(m, scene) : NULL;
        const bool ordered = (rows || !m->nrow) && order_matrix(m, rows);
        free(rows);
        if (!ordered) goto no_memory;
    }
    return m;

no_memory:
    ctn_model_free(m);
    fail(err, CTN_NO_MEMORY, "%s: not enough memory for the model", scene->path);
    return NULL;
}
