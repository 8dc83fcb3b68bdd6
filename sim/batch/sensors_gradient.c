/// Gradients by what sensors measure, taken back to coordinates and velocities: what each type pulls at (motion_pullback.h).
#include "sim/base/sensor_types.h"
#include "sim/base/status.h"
#include "sim/batch/motion_pullback.h"
#include "sim/model/model.h"

#include <math.h>
#include <string.h>

static bool has_gradient(ctn_sensor_type type)
{
    switch (type) {
    case CTN_SENSE_JOINT_POSITION:
    case CTN_SENSE_JOINT_VELOCITY:
    case CTN_SENSE_POSITION:
    case CTN_SENSE_ORIENTATION:
    case CTN_SENSE_POSE:
    case CTN_SENSE_VELOCITY:
    case CTN_SENSE_ANGULAR_VELOCITY:
    case CTN_SENSE_TWIST:
    case CTN_SENSE_GYRO:
    case CTN_SENSE_VELOCIMETER:
    case CTN_SENSE_DISTANCE:
    case CTN_SENSE_RELATIVE_POSITION:
    case CTN_SENSE_COM:
    case CTN_SENSE_COM_VELOCITY:
    case CTN_SENSE_TENDON_LENGTH:
    case CTN_SENSE_TENDON_VELOCITY: return true;
    default: return false;
    }
}

ctn_status ctn_sensors_have_gradients(const ctn_model *model, const int *used, int count, ctn_error *err)
{
    if (missing(__func__, "model", model, err)) return CTN_BAD_ARGUMENT;
    const int numbers = ctn_model_sensor_numbers(model);
    for (int k = 0; used && k < count; k++)
        if (used[k] < 0 || used[k] >= numbers)
            return fail(err, CTN_BAD_ARGUMENT, "%s: expected numbers of sensors, 0 to %d, found %d", __func__, numbers - 1,
                        used[k]);
    for (int i = 0; i < model->nsensor; i++) {
        const ctn_sensor *const s = &model->sensors[i].about;
        bool counts = !used;
        for (int k = 0; used && k < count; k++) counts = counts || (used[k] >= s->first && used[k] < s->first + s->count);
        if (counts && !has_gradient(s->type))
            return fail(err, CTN_UNAVAILABLE,
                        "sensor '%s': the type %s has no gradient; types that have one are those of positions and velocities of "
                        "joints, of frames on links, of centres of mass and of lengths of tendons",
                        s->name, ctn_sensor_type_name(s->type));
    }
    return CTN_OK;
}

static void cross3(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// Of a unit quaternion Q that moves by (0, d / 2) Q, d a turn in world axes: d . by_turn = dQ . by.
static void by_world_turn(const double *Q, const double *by, double *by_turn)
{
    by_turn[0] = 0.5 * (-Q[1] * by[0] + Q[0] * by[1] - Q[3] * by[2] + Q[2] * by[3]);
    by_turn[1] = 0.5 * (-Q[2] * by[0] + Q[3] * by[1] + Q[0] * by[2] - Q[1] * by[3]);
    by_turn[2] = 0.5 * (-Q[3] * by[0] - Q[2] * by[1] + Q[1] * by[2] + Q[0] * by[3]);
}

/// Of one that moves by Q (0, d / 2), d a turn in its own axes.
static void by_own_turn(const double *Q, const double *by, double *by_turn)
{
    by_turn[0] = 0.5 * (-Q[1] * by[0] + Q[0] * by[1] + Q[3] * by[2] - Q[2] * by[3]);
    by_turn[1] = 0.5 * (-Q[2] * by[0] - Q[3] * by[1] + Q[0] * by[2] + Q[1] * by[3]);
    by_turn[2] = 0.5 * (-Q[3] * by[0] + Q[2] * by[1] - Q[1] * by[2] + Q[0] * by[3]);
}

/// Of a joint: nothing but its own coordinates.
static void joint_gradient(const model_sensor *s, const double *q, const double *by, double *by_q, double *by_v)
{
    if (s->about.type == CTN_SENSE_JOINT_VELOCITY) {
        for (int k = 0; by_v && k < s->nv; k++) by_v[s->vadr + k] += by[k];
        return;
    }
    if (!by_q) return;
    const int plain = s->nq > s->nv ? s->nq - 4 : s->nq;
    for (int k = 0; k < plain; k++) by_q[s->vadr + k] += by[k];
    if (plain == s->nq) return;
    double turn[3];
    by_own_turn(q + s->qadr + plain, by + plain, turn);
    for (int k = 0; k < 3; k++) by_q[s->vadr + plain + k] += turn[k];
}

/// What a gradient by a quaternion of a frame is by a turn of it. The quaternion is the measured one: it has a sign.
static void pull_orientation(const motion_pullback *m, const model_sensor *s, const double *by)
{
    model_sensor own = *s;
    double Q[CTN_SENSOR_NUMBERS], moment[3];
    own.about.first = 0;
    m->dyn->one->sensors(m->dyn->lane, m->dyn->scratch, &own, 1, 1, NULL, m->q, m->v, NULL, NULL, NULL, Q, CTN_SENSOR_NUMBERS);
    by_world_turn(Q + sensor_type_quaternion(s->about.type), by, moment);
    pull_turn(m, s->about.link, moment);
}

/// y = R x, from the axes of the sensor to those of the world.
static void from_own_axes(const motion_pullback *m, const ctn_sensor *s, const double *x, double *y)
{
    double own[9], of_link[3];
    const double *const R = m->R + 9 * (size_t)s->link;
    rotation_matrix(s->axes, own);
    for (int i = 0; i < 3; i++) of_link[i] = own[3 * i] * x[0] + own[3 * i + 1] * x[1] + own[3 * i + 2] * x[2];
    for (int i = 0; i < 3; i++) y[i] = R[3 * i] * of_link[0] + R[3 * i + 1] * of_link[1] + R[3 * i + 2] * of_link[2];
}

/// Of a vector x that is measured in own axes, with its gradient `by` in world axes: the axes move, too.
static void pull_axes(const motion_pullback *m, const ctn_sensor *s, const double *by, const double *x)
{
    double moment[3];
    cross3(by, x, moment);
    pull_turn(m, s->link, moment);
}

/// Of two points, where one of them is x.
static void pull_pair(const motion_pullback *m, const ctn_sensor *s, const double *x, const double *by)
{
    double other[3], gap[3], w[3], away[3];
    memcpy(other, s->to_point, sizeof other);
    if (s->to_link >= 0) motion_of_point(m, s->to_link, s->to_point, other, NULL);
    for (int i = 0; i < 3; i++) gap[i] = other[i] - x[i];
    if (s->type == CTN_SENSE_DISTANCE) {
        const double length = sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]);
        for (int i = 0; i < 3; i++) w[i] = length > 0 ? by[0] * gap[i] / length : 0;
    } else from_own_axes(m, s, by, w), pull_axes(m, s, w, gap);
    for (int i = 0; i < 3; i++) away[i] = -w[i];
    pull_place(m, s->link, x, away);
    if (s->to_link >= 0) pull_place(m, s->to_link, other, w);
}

static void frame_gradient(const motion_pullback *m, const model_sensor *of, const double *by)
{
    const ctn_sensor *const s = &of->about;
    const double *const spin = m->twist + 6 * (size_t)s->link;
    double x[3], u[3], w[3];
    motion_of_point(m, s->link, s->point, x, u);
    switch (s->type) {
    case CTN_SENSE_POSITION: pull_place(m, s->link, x, by); break;
    case CTN_SENSE_ORIENTATION: pull_orientation(m, of, by); break;
    case CTN_SENSE_POSE: pull_place(m, s->link, x, by), pull_orientation(m, of, by + 3); break;
    case CTN_SENSE_VELOCITY: pull_velocity(m, s->link, x, by); break;
    case CTN_SENSE_ANGULAR_VELOCITY: pull_spin(m, s->link, by); break;
    case CTN_SENSE_TWIST: pull_spin(m, s->link, by), pull_velocity(m, s->link, x, by + 3); break;
    case CTN_SENSE_GYRO: from_own_axes(m, s, by, w), pull_spin(m, s->link, w), pull_axes(m, s, w, spin); break;
    case CTN_SENSE_VELOCIMETER: from_own_axes(m, s, by, w), pull_velocity(m, s->link, x, w), pull_axes(m, s, w, u); break;
    default: pull_pair(m, s, x, by);
    }
}

/// A link that is fixed to a body; -1: the world.
static int link_on(const ctn_model *m, int body)
{
    int link = body < 0 ? -1 : 0;
    while (link >= 0 && m->frames[link].body != body) link++;
    return link;
}

/// Where a point of a path is and how fast, and on which link.
static int path_point(const motion_pullback *m, const bond_point *p, double *x, double *u)
{
    const ctn_model *const model = m->dyn->model;
    const int link = link_on(model, p->body);
    double at[3];
    memcpy(x, p->at, 3 * sizeof *x), memset(u, 0, 3 * sizeof *u);
    if (link < 0) return link;
    link_point(model, link, p->at, at);
    motion_of_point(m, link, at, x, u);
    return link;
}

/// Of the length of a tendon along a path, sum of s |d|, d from each point to the one before it, or of how fast it goes, sum of
/// s d.u / |d|, which moves with d by s (u - d d.u / |d|^2) / |d|.
static void path_gradient(const motion_pullback *m, const model_bond *o, bool rate, double by)
{
    for (const bond_point *p = m->dyn->model->bond_points + o->point, *const last = p + o->points - 1; p < last; p++) {
        double x[2][3], u[2][3], d[3], w[3], size2 = 0, along = 0;
        if (!(p->share > 0) || p[0].body == p[1].body) continue;
        const int link[2] = {path_point(m, p, x[0], u[0]), path_point(m, p + 1, x[1], u[1])};
        for (int i = 0; i < 3; i++) d[i] = x[0][i] - x[1][i], size2 += d[i] * d[i], along += d[i] * (u[0][i] - u[1][i]);
        if (!(size2 > 0)) continue;
        const double per = by * p->share / sqrt(size2);
        for (int side = 0; side < 2; side++) {
            const double sign = side ? -per : per;
            if (link[side] < 0) continue;
            for (int i = 0; i < 3; i++) w[i] = sign * d[i];
            if (rate) pull_velocity(m, link[side], x[side], w);
            for (int i = 0; i < 3 && rate; i++) w[i] = sign * (u[0][i] - u[1][i] - d[i] * along / size2);
            pull_place(m, link[side], x[side], w);
        }
    }
}

/// Of a tendon over joints.
static void shares_gradient(const ctn_model *m, const model_bond *o, double by, double *to)
{
    for (int k = o->joint; to && k < o->joint + o->joints; k++)
        to[m->bodies[m->bond_joints[k].body].vadr] += m->bond_joints[k].share * by;
}

static bool any(const double *x, int n)
{
    for (int k = 0; k < n; k++)
        if (x[k] != 0) return true;
    return false;
}

/// Of one state.
static void gradient_at(ctn_dynamics *dyn, const double *q, const double *v, const double *by_values, double *by_q, double *by_v)
{
    const ctn_model *const model = dyn->model;
    motion_pullback m = {.dyn = NULL};  // while nothing asks for it
    for (int k = 0; k < model->nsensor; k++) {
        const model_sensor *const s = &model->sensors[k];
        const double *const by = by_values + s->about.first;
        if (!has_gradient(s->about.type) || !any(by, s->about.count)) continue;
        if (s->about.type <= CTN_SENSE_JOINT_VELOCITY) {
            joint_gradient(s, q, by, by_q, by_v);
            continue;
        }
        const model_bond *const o = s->bond < 0 ? NULL : &model->bonds[s->bond];
        const bool rate = s->about.type == CTN_SENSE_TENDON_VELOCITY;
        if (o && o->joints) {
            shares_gradient(model, o, by[0], rate ? by_v : by_q);
            continue;
        }
        if (!m.dyn) m = motion_pullback_at(dyn, q, v);
        if (o) path_gradient(&m, o, rate, by[0]);
        else if (s->about.type < CTN_SENSE_COM) frame_gradient(&m, s, by);
        else pull_com(&m, s->whole ? -1 : s->first_body, s->end_body, by, s->about.type == CTN_SENSE_COM_VELOCITY);
    }
    if (m.dyn) motion_pullback_end(&m, by_q, by_v);
}

void ctn_sensors_gradient(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *by_values, double *by_q,
                          double *by_v)
{
    if (!dyn || count < 1 || !q || !v || !by_values) return;
    const size_t nq = (size_t)dyn->model->nq, nv = (size_t)dyn->model->nv, numbers = (size_t)ctn_model_sensor_numbers(dyn->model);
    for (size_t k = 0; k < (size_t)count; k++) {
        double *const to_q = by_q ? by_q + k * nv : NULL, *const to_v = by_v ? by_v + k * nv : NULL;
        if (to_q) memset(to_q, 0, nv * sizeof *to_q);
        if (to_v) memset(to_v, 0, nv * sizeof *to_v);
        gradient_at(dyn, q + k * nq, v + k * nv, by_values + k * numbers, to_q, to_v);
    }
}
