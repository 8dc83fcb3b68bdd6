/// Questions about a model.
#include "sim/model/controller.h"
#include "sim/model/model.h"
#include "sim/model/surfaces.h"

#include "sim/base/name_table.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ctn_model_free(ctn_model *m)
{
    if (!m) return;
    if (m->by_name) name_table_free(m->by_name);
    free_sensors(m), free_surfaces(m), free_controller_of(m);
    free(m->touch_numbers), free(m->touch_shapes), free(m->touch_pairs), free(m->bonds), free(m->bond_joints),
        free(m->bond_points);
    free(m->matrix_nodes), free(m->body_nodes), free(m->body_columns), free(m->bond_nodes);
    free(m->matrix_groups), free(m->body_groups);
    free(m->by_name), free(m->bodies), free(m->loads), free(m->motors), free(m->signals), free(m->signal_numbers),
        free(m->frames), free(m->links), free(m->dof_adr), free(m->q0), free(m->v0), free(m->name), free(m->names);
    free(m);
}

const char *ctn_model_name(const ctn_model *m) { return m ? m->name : NULL; }
int ctn_model_nq(const ctn_model *m) { return m ? m->nq : 0; }
int ctn_model_nv(const ctn_model *m) { return m ? m->nv : 0; }
int ctn_model_nlink(const ctn_model *m) { return m ? m->nlink : 0; }
const ctn_link *ctn_model_link(const ctn_model *m, int link)
{
    return m && link >= 0 && link < m->nlink ? &m->links[link] : NULL;
}

int ctn_model_find(const ctn_model *m, const char *name) { return m && name ? name_table_find(m->by_name, name) : -1; }

static const char *link_name(const void *model, int link) { return ((const ctn_model *)model)->links[link].name; }

ctn_status model_name_links(ctn_model *m, ctn_error *err)
{
    m->by_name = calloc(1, sizeof *m->by_name);
    if (m->by_name) *m->by_name = (name_table){.name = link_name, .of = m};
    for (int l = 0; l < m->nlink; l++) {
        const int other = m->by_name ? name_table_find(m->by_name, m->links[l].name) : -1;
        if (other >= 0)
            return fail(err, CTN_BAD_ARGUMENT, "link %d: '%s' is already the name of link %d", l, m->links[l].name, other);
        if (!m->by_name || !name_table_add(m->by_name, l)) return fail(err, CTN_NO_MEMORY, "not enough memory for the model");
    }
    return CTN_OK;
}

void ctn_model_initial_state(const ctn_model *m, double *q, double *v)
{
    if (m && q) memcpy(q, m->q0, (size_t)m->nq * sizeof *q);
    if (m && v) memcpy(v, m->v0, (size_t)m->nv * sizeof *v);
}

void ctn_model_gravity(const ctn_model *m, double *gravity)
{
    if (m && gravity) memcpy(gravity, m->gravity, sizeof m->gravity);
}

int link_quaternion(const ctn_link *link) { return link->joint == CTN_BALL || link->joint == CTN_FREE ? link->nq - 4 : link->nq; }

int link_of_dof(const ctn_model *m, int dof)
{
    int low = 0, high = m->nlink - 1;  // the last link that begins there or before has it: fixed ones have none
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (m->links[middle].vadr <= dof) low = middle;
        else high = middle - 1;
    }
    while (m->links[low].nv == 0) low--;
    return low;
}

int first_body(const ctn_model *m, int link, int *count)
{
    const ctn_link *const l = &m->links[link];
    int i = m->frames[link].body;  // the last
    for (*count = 1; m->bodies[i].vadr > l->vadr; i--) ++*count;
    return i;
}

void body_subtree_masses(ctn_model *m)
{
    for (int i = 0; i < m->nbody; i++) m->bodies[i].subtree_mass = 0;
    for (int i = m->nbody - 1; i >= 0; i--) {
        ctn_body *const b = &m->bodies[i];
        b->subtree_mass += b->mass;
        if (b->parent >= 0) m->bodies[b->parent].subtree_mass += b->subtree_mass;
    }
}

ctn_status state_check(const ctn_model *m, const double *q, const double *v, int world, ctn_error *err)
{
    for (int l = 0; l < m->nlink; l++) {
        const ctn_link *k = &m->links[l];
        for (int i = 0; i < k->nq; i++)
            if (!isfinite(q[k->qadr + i]))
                return fail(err, CTN_BAD_ARGUMENT, "world %d: q[%d] of link '%s' is not finite", world, k->qadr + i, k->name);
        for (int i = 0; i < k->nv; i++)
            if (!isfinite(v[k->vadr + i]))
                return fail(err, CTN_BAD_ARGUMENT, "world %d: v[%d] of link '%s' is not finite", world, k->vadr + i, k->name);
        if (link_quaternion(k) == k->nq) continue;
        const double *p = q + k->qadr + link_quaternion(k);
        const double square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
        if (sqrt(square) < 1e-6 || !isfinite(square))
            return fail(err, CTN_BAD_ARGUMENT, "world %d: the quaternion of link '%s' is %s", world, k->name,
                        isfinite(square) ? "zero" : "too long to be normalised");
    }
    return CTN_OK;
}

void body_force_scales(ctn_body *b, const double *gravity)
{
    const long double x = gravity[0], y = gravity[1], z = gravity[2];
    const double g = (double)sqrtl(x * x + y * y + z * z), L = b->extent > 0 ? b->extent : 1;
    const bool turns = b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL || b->kind == JOINT_BALL;
    b->force_scale[0] = b->subtree_mass * g * (turns ? L : 1);
    b->force_scale[1] = b->subtree_mass * L * (turns ? L : 1) + b->armature * (turns ? 1 : L);
}

point_load *load_numbered(const ctn_model *m, int number)
{
    point_load *l = m->loads;
    while (l->number != number) l++;
    return l;
}

void body_set_form(ctn_body *b)
{
    const unsigned flags = b->flags & FORM_FLAGS;
    b->form = b->kind != JOINT_REVOLUTE         ? FORM_OTHER
              : flags == FORM_HINGE_FLAGS       ? FORM_HINGE
              : flags == FORM_CROSS_FIRST_FLAGS ? FORM_CROSS_FIRST
              : flags == FORM_CROSS_LAST_FLAGS  ? FORM_CROSS_LAST
                                                : FORM_REVOLUTE;
}

void rotation_matrix(const double q[4], double R[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, M, sizeof M);
}

void body_point(const ctn_model *m, int link, const double *point, double *at)
{
    const ctn_frame *const F = &m->frames[link];
    for (int k = 0; k < 3; k++) {
        at[k] = F->p[k];
        for (int j = 0; j < 3; j++) at[k] += F->R[3 * k + j] * point[j];
    }
}

void link_point(const ctn_model *m, int link, const double *at, double *point)
{
    const ctn_frame *const F = &m->frames[link];
    for (int k = 0; k < 3; k++) {
        point[k] = 0;
        for (int j = 0; j < 3; j++) point[k] += F->R[3 * j + k] * (at[j] - F->p[j]);
    }
}

/// By body; those of one body in the order of the scene.
static int load_order(const void *a, const void *b)
{
    const point_load *const x = a, *const y = b;
    return x->body != y->body ? (x->body > y->body) - (x->body < y->body) : (x->number > y->number) - (x->number < y->number);
}

void model_sort_loads(ctn_model *m)
{
    if (m->nload) qsort(m->loads, (size_t)m->nload, sizeof *m->loads, load_order);
    for (int i = 0, next = 0; i < m->nbody; i++) {
        ctn_body *const b = &m->bodies[i];
        b->load = next;
        while (next < m->nload && m->loads[next].body == i) next++;
        b->loads_end = next;
        if (b->load == next) continue;
        b->flags |= BODY_LOAD;
        body_set_form(b);
        for (int k = i; k >= 0 && !(m->bodies[k].flags & BODY_HELD); k = m->bodies[k].parent) m->bodies[k].flags |= BODY_HELD;
    }
    load_scales(m);
}

ctn_model *model_with_wrenches(const ctn_model *m, const wrench_place *places, int count)
{
    const size_t bodies = (size_t)m->nbody + 1, loads = (size_t)(m->nload + count);
    ctn_model *const to = malloc(sizeof *to + bodies * sizeof *to->bodies + loads * sizeof *to->loads);
    if (!to) return NULL;
    *to = *m;
    to->bodies = (ctn_body *)(void *)(to + 1);
    to->loads = (point_load *)(void *)(to->bodies + bodies);
    memcpy(to->bodies, m->bodies, (size_t)m->nbody * sizeof *m->bodies);
    memcpy(to->loads, m->loads, (size_t)m->nload * sizeof *m->loads);
    for (int k = 0; k < count; k++) {
        const wrench_place *const w = &places[k];
        to->loads[to->nload] = (point_load){.body = m->frames[w->link].body,
                                            .number = to->nload,
                                            .link = w->link,
                                            .flags = LOAD_TURNS | (w->follows ? LOAD_FOLLOWS : 0)};
        to->nload++;
    }
    model_sort_loads(to);
    return to;
}

ctn_model *model_of_motion(const ctn_model *m)
{
    ctn_model *const to = malloc(sizeof *to + ((size_t)m->nbody + 1) * sizeof *to->bodies);
    if (!to) return NULL;
    *to = *m;
    to->bodies = (ctn_body *)(void *)(to + 1);
    to->nload = to->nspring = to->nforce = to->ndrag = to->ncontact = to->nbent = to->nsurface = to->nmotor = to->ncontrol = 0;
    to->nwound = to->nsignal = to->nsensor = 0, to->controller = NULL;
    to->ntouch_number = 0, to->ntouch_shape = to->npair = to->nbond = to->nslot = to->nrow = 0;
    to->plane = to->passive = to->rubs = to->fast = to->slips = to->adds = to->driven = false;
    memset(to->gravity, 0, sizeof to->gravity);
    for (int i = 0; i < m->nbody; i++) {
        ctn_body *const b = &to->bodies[i];
        *b = m->bodies[i];
        b->flags &= ~(unsigned)(BODY_PASSIVE | BODY_SPRING | BODY_LOAD | BODY_HELD | BODY_MOTOR | BODY_SERVO | BODY_FRICTION);
        b->load = b->loads_end = 0;
        memset(b->damping, 0, sizeof b->damping);
        b->stiffness = b->limit_k = b->limit_b = b->friction = b->held[0] = b->held[1] = 0;
        b->limit[0] = b->kind == JOINT_BALL ? 0 : -INFINITY, b->limit[1] = INFINITY;
        body_set_form(b);
    }
    return to;
}

void load_scales(ctn_model *m)
{
    for (int i = 0; i < m->nbody; i++) m->bodies[i].held[0] = m->bodies[i].held[1] = 0;
    for (int k = 0; k < m->nload; k++) {
        ctn_body *const b = &m->bodies[m->loads[k].body];
        b->held[0] += m->loads[k].stiffness + (m->loads[k].first ? m->loads[k].grip : 0),
            b->held[1] += m->loads[k].damping + fmax(m->loads[k].axial, 0);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *const b = &m->bodies[i];
        if (b->parent < 0 || !(b->flags & BODY_HELD)) continue;
        ctn_body *const p = &m->bodies[b->parent];
        p->held[0] += b->held[0], p->held[1] += b->held[1];
    }
}
