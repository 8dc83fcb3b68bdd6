/// Loops, couplings, tendons and springs between links as kernels read them. What the scene leaves open of their second link is
/// as at its start.
#include "sim/model/between.h"

#include "sim/base/status.h"
#include "sim/engine/engine.h"
#include "sim/model/contact_points.h"
#include "sim/model/model.h"
#include "sim/model/surfaces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A loop may be open at the start by this share of the size of what it joins: rounded numbers of files.
#define OPEN_SHARE 0.01

/// The range of a tendon gives by a thousandth of its tree's size under the weight of all that moves, as limits of joints do.
#define RANGE_STIFFNESS 1000

double *places_at_start(const ctn_model *m, double **p)
{
    lane_model *const lanes = engine_model(&engine_scalar, m, 0);
    void *const scratch = lanes ? aligned_alloc(64, (engine_scalar.dynamics_size(lanes) / 64 + 1) * 64) : NULL;
    double *const R = scratch ? malloc((12 * (size_t)m->nlink + 1) * sizeof *R) : NULL;
    if (R) *p = R + 9 * m->nlink, engine_scalar.forward_kinematics(lanes, scratch, 1, m->q0, R, *p);
    free(lanes), free(scratch);
    return R;
}

// ---- frames

static const double unturned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/// C = A B, and with `back` A' B.
static void product(const double A[9], const double B[9], bool back, double C[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            C[3 * i + j] = 0;
            for (int k = 0; k < 3; k++) C[3 * i + j] += (back ? A[3 * k + i] : A[3 * i + k]) * B[3 * k + j];
        }
}

static void turned(const double A[9], const double *x, bool back, double *y)
{
    for (int i = 0; i < 3; i++) {
        y[i] = 0;
        for (int k = 0; k < 3; k++) y[i] += (back ? A[3 * k + i] : A[3 * i + k]) * x[k];
    }
}

/// The axes of a link, -1: the world, at the start.
static const double *axes_of(const double *R, int link) { return link < 0 ? unturned : R + 9 * link; }

/// A point of a link in the world.
static void in_world(const double *R, const double *p, int link, const double *point, double x[3])
{
    turned(axes_of(R, link), point, false, x);
    for (int k = 0; k < 3 && link >= 0; k++) x[k] += p[3 * link + k];
}

/// A point, and axes, of a link in its body.
static void point_in_body(const ctn_model *m, int link, const double *point, double at[3])
{
    if (link < 0) memcpy(at, point, 3 * sizeof *at);
    else body_point(m, link, point, at);
}

static void axes_in_body(const ctn_model *m, int link, const double axes[9], double to[9])
{
    product(link < 0 ? unturned : m->frames[link].R, axes, false, to);
}

// ---- sizes

/// Of the tree that a body is of, 0: the world.
static double tree_extent(const ctn_model *m, int body)
{
    if (body < 0) return 0;
    while (m->bodies[body].parent >= 0) body = m->bodies[body].parent;
    return m->bodies[body].extent > 0 ? m->bodies[body].extent : 1;
}

double bond_size(const ctn_model *m, const model_bond *o)
{
    const int a = o->kind == BOND_COUPLING ? o->follower : o->a, b = o->kind == BOND_COUPLING ? o->leader : o->b;
    if (o->kind == BOND_COUPLING && m->bodies[a].kind != JOINT_PRISMATIC) return 1;  // rad
    return fmax(tree_extent(m, a), tree_extent(m, b));
}

/// By which turns count as lengths: the size of the smaller tree that moves.
static double usual_length(const ctn_model *m, const model_bond *o)
{
    const double a = tree_extent(m, o->a), b = tree_extent(m, o->b);
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

static int rows_of(bond_kind kind)
{
    static const int rows[] = {[BOND_POINT] = 3,    [BOND_HINGE] = 5,  [BOND_WELD] = 6,   [BOND_SLIDER] = 5, [BOND_DISTANCE] = 1,
                               [BOND_COUPLING] = 1, [BOND_SPRING] = 0, [BOND_TENDON] = 0, [BOND_PATH] = 0};
    return rows[kind];
}

// ---- bonds

/// The point of a link that is where another one has a point.
static void there_of(const double *R, const double *p, int other, const double *point, int link, double at[3])
{
    double x[3];
    in_world(R, p, other, point, x);
    for (int k = 0; k < 3 && link >= 0; k++) x[k] -= p[3 * link + k];
    turned(axes_of(R, link), x, true, at);
}

/// Places and axes of both sides. R, p: of links at the start.
static void place_bond(const ctn_model *m, const scene_bond *s, const double *R, const double *p, model_bond *o)
{
    const bool along = s->kind == BOND_HINGE || s->kind == BOND_SLIDER;
    double at_a[3], at_b[3], axes[9], relative[9], there[9];
    memcpy(at_a, s->at_a, sizeof at_a), memcpy(at_b, s->at_b, sizeof at_b), memcpy(axes, unturned, sizeof axes);
    if (!s->placed[0]) there_of(R, p, s->b, at_b, s->a, at_a);
    if (!s->placed[1]) there_of(R, p, s->a, at_a, s->b, at_b);
    if (along) axes_along(s->axis, axes);
    point_in_body(m, s->a, at_a, o->at_a), axes_in_body(m, s->a, axes, o->axes_a);
    point_in_body(m, s->b, at_b, o->at_b);
    if (s->turned) rotation_matrix(s->relative, relative);  // of b in a
    else product(axes_of(R, s->a), axes_of(R, s->b), true, relative);
    product(relative, axes, true, there);
    axes_in_body(m, s->b, there, o->axes_b);
}

/// The points of a path in bodies. A rest length that is not given is that at the start.
static void lay_path(ctn_model *m, const scene_bond *s, const double *R, const double *p, model_bond *o)
{
    double length = 0, last[3] = {0}, x[3];
    o->points = s->npoint;
    for (int k = 0; k < s->npoint; k++) {
        const scene_waypoint *const w = &s->points[k];
        bond_point *const to = &m->bond_points[m->nbond_point++];
        to->body = w->link < 0 ? -1 : m->frames[w->link].body, to->share = w->share;
        point_in_body(m, w->link, w->at, to->at), in_world(R, p, w->link, w->at, x);
        if (k) length += s->points[k - 1].share * hypot(x[0] - last[0], hypot(x[1] - last[1], x[2] - last[2]));
        memcpy(last, x, sizeof last);
    }
    for (int k = 0; k < 2; k++) o->rest[k] = isnan(s->rest[k]) ? length : s->rest[k];
}

/// How large the trees are that a spring or tendon pulls at, m.
static double pulled_extent(const ctn_model *m, const model_bond *o)
{
    double extent = 0;
    for (int k = o->joint; k < o->joint + o->joints; k++) extent = fmax(extent, tree_extent(m, m->bond_joints[k].body));
    for (int k = o->point; k < o->point + o->points; k++) extent = fmax(extent, tree_extent(m, m->bond_points[k].body));
    return extent;
}

static void make_bond(ctn_model *m, const ctn_scene *scene, int k, const double *R, const double *p)
{
    const scene_bond *const s = &scene->bonds[k];
    model_bond *const o = &m->bonds[k];
    int count;
    *o = (model_bond){.kind = s->kind, .number = s->number, .a = -1, .b = -1, .follower = -1, .leader = -1};
    o->stiffness = s->stiffness, o->damping = s->damping, o->compliance = s->compliance;
    o->row = m->nrow, o->rows = rows_of(s->kind), m->nrow += o->rows;
    o->range[0] = s->range[0], o->range[1] = s->range[1], o->joint = m->nbond_joint;
    if (s->kind == BOND_COUPLING) {
        o->follower = first_body(m, s->a, &count), o->leader = s->b < 0 ? -1 : first_body(m, s->b, &count);
        memcpy(o->poly, s->poly, sizeof o->poly), o->size = bond_size(m, o);
        return;
    }
    if (!o->rows) {
        o->joints = s->njoint, o->point = m->nbond_point, memcpy(o->rest, s->rest, sizeof o->rest);
        for (int i = 0; i < s->njoint; i++)
            m->bond_joints[m->nbond_joint++] = (bond_joint){first_body(m, s->joints[i], &count), s->shares[i]};
        if (s->npoint) lay_path(m, s, R, p, o);
        if (isfinite(o->range[0]) || isfinite(o->range[1]))
            o->compliance = pulled_extent(m, o) / (RANGE_STIFFNESS * moving_weight(m));
        return;
    }
    o->a = m->frames[s->a].body, o->b = s->b < 0 ? -1 : m->frames[s->b].body;
    place_bond(m, s, R, p, o);
    o->length = s->length;
    if (s->kind == BOND_DISTANCE && isnan(s->length)) {
        double x[3], y[3];
        in_world(R, p, s->a, s->at_a, x), in_world(R, p, s->b, s->at_b, y);
        o->length = hypot(x[0] - y[0], hypot(x[1] - y[1], x[2] - y[2]));
    } else if (s->kind == BOND_POINT) o->length = 0;
    else if (isnan(s->length)) o->length = usual_length(m, o);
    o->size = bond_size(m, o);
}

void bond_side(const ctn_model *m, int link, const double *at, const double *axes, const double *R, const double *p, double x[3],
               double frame[9])
{
    double point[3], C[9];
    if (link < 0) memcpy(point, at, sizeof point), memcpy(C, axes, sizeof C);
    else link_point(m, link, at, point), product(m->frames[link].R, axes, true, C);
    in_world(R, p, link, point, x), product(axes_of(R, link), C, false, frame);
}

/// What is apart of a loop's two places; of frames with `turn`, by how much they are turned against each other, rad.
static double apart(const ctn_model *m, const scene_bond *s, const model_bond *o, const double *R, const double *p, double *turn)
{
    double x[3], y[3], axes_a[9], axes_b[9], A[9];
    bond_side(m, s->a, o->at_a, o->axes_a, R, p, x, axes_a), bond_side(m, s->b, o->at_b, o->axes_b, R, p, y, axes_b);
    product(axes_a, axes_b, true, A);
    const double w = hypot(A[7] - A[5], hypot(A[2] - A[6], A[3] - A[1])) / 2, trace = A[0] + A[4] + A[8];
    *turn = s->kind == BOND_WELD || s->kind == BOND_SLIDER ? atan2(w, (trace - 1) / 2)
            : s->kind == BOND_HINGE                        ? atan2(hypot(A[2], A[5]), A[8])
                                                           : 0;
    double d[3], along = 0;
    for (int k = 0; k < 3; k++) d[k] = x[k] - y[k], along += axes_a[3 * k + 2] * d[k];
    for (int k = 0; k < 3 && s->kind == BOND_SLIDER; k++) d[k] -= along * axes_a[3 * k + 2];
    const double length = hypot(d[0], hypot(d[1], d[2]));
    return s->kind == BOND_DISTANCE ? fabs(length - o->length) : length;
}

double bond_opening(const ctn_model *m, const ctn_scene *scene, const model_bond *o, const double *R, const double *p)
{
    const scene_bond *const s = &scene->bonds[o - m->bonds];
    if (!o->rows) return 0;
    if (s->kind == BOND_COUPLING) {
        double slope;
        const double lead = o->leader < 0 ? 0 : m->q0[m->bodies[o->leader].qadr];
        return fabs(m->q0[m->bodies[o->follower].qadr] - follower_at(o->poly, lead, &slope));
    }
    double turn;
    const double open = apart(m, s, o, R, p, &turn);
    return fmax(open, turn * bond_size(m, o));
}

/// Refuses what is no bond, and loops that are open.
static ctn_status check_bond(const ctn_model *m, const ctn_scene *scene, int k, const double *R, const double *p, ctn_error *err)
{
    const scene_bond *const s = &scene->bonds[k];
    const model_bond *const o = &m->bonds[k];
    char key[40], name[80] = "";
    snprintf(key, sizeof key, "%s[%d]", s->list, s->entry);
    if (s->name) snprintf(name, sizeof name, "'%.60s' ", s->name);
    bool fixed = s->kind < BOND_COUPLING ? o->a == o->b : o->points > 0;
    for (int i = o->point; i < o->point + o->points - 1; i++)
        fixed = fixed && !(m->bond_points[i].share > 0 && m->bond_points[i].body != m->bond_points[i + 1].body);
    if (fixed && s->kind == BOND_PATH)
        return fail_at(err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
                       "%sgoes through points that are fixed to each other: it is always as long", name);
    if (fixed)
        return fail_at(err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
                       "%sjoins two links that are fixed to each other", name);
    if (s->kind == BOND_DISTANCE && !(o->length > 0))
        return fail_at(err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
                       "%shas its two points at one place at the start: give it a `length`, or take a loop of the type point",
                       name);
    const double open = bond_opening(m, scene, o, R, p), size = bond_size(m, o);
    if (!(open > OPEN_SHARE * size)) return CTN_OK;
    if (s->kind == BOND_COUPLING)
        return fail_at(err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
                       "%sthe joint of '%.60s' starts %.3g from where it follows: change its q0, or leave it out", name,
                       scene->links[s->a].name, open);
    return fail_at(
        err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
        "%sis open by %.3g m at the start, between '%.60s' and '%.60s', which is more than a hundredth of their size, %.3g m; "
        "start where it is closed, by q0 or `state`, or move its points",
        name, open, scene->links[s->a].name, s->b < 0 ? "world" : scene->links[s->b].name, size);
}

/// Whether it is more than a length that is measured.
static bool bond_acts(const model_bond *o)
{
    return o->rows || o->stiffness > 0 || o->damping > 0 || o->compliance > 0 || o->motor;
}

/// What has no mass of its own has no row of its own that a force could act on (integrators/collocation.h).
static ctn_status check_mass(const ctn_model *m, const ctn_scene *scene, int k, ctn_error *err)
{
    const scene_bond *const s = &scene->bonds[k];
    const bool loop = s->kind < BOND_COUPLING;
    for (int side = 0; side < (loop ? 2 : s->npoint) && bond_acts(&m->bonds[k]); side++) {
        const int link = !loop ? s->points[side].link : side ? s->b : s->a, body = link < 0 ? -1 : m->frames[link].body;
        if (body < 0 || m->bodies[body].flags & BODY_MASS) continue;
        char key[40];
        snprintf(key, sizeof key, "%s[%d]", s->list, s->entry);
        return fail_at(err, CTN_BAD_SCENE, s->file, s->at.line, s->at.column, key,
                       "'%.60s' has no mass, and so nothing can pull at it; give it some", scene->links[link].name);
    }
    return CTN_OK;
}

ctn_status compile_bonds(ctn_model *m, const ctn_scene *scene, ctn_error *err)
{
    const size_t count = (size_t)scene->nbond;
    if (!count) return CTN_OK;
    double *p, *const R = places_at_start(m, &p);
    size_t joints = 1, points = 1;
    for (int k = 0; k < scene->nbond; k++) joints += (size_t)scene->bonds[k].njoint, points += (size_t)scene->bonds[k].npoint;
    m->bonds = calloc(count, sizeof *m->bonds), m->bond_joints = calloc(joints, sizeof *m->bond_joints);
    m->bond_points = calloc(points, sizeof *m->bond_points);
    ctn_status status = R && m->bonds && m->bond_joints && m->bond_points ? CTN_OK : CTN_NO_MEMORY;
    for (int k = 0; k < scene->nbond && status == CTN_OK; k++) make_bond(m, scene, k, R, p);
    for (int n = 0; n < m->nmotor && status == CTN_OK; n++)
        if (m->motors[n].tendon) m->bonds[m->motors[n].tendon - 1].motor = n + 1;
    for (int k = 0; k < scene->nbond && status == CTN_OK; k++) status = check_bond(m, scene, k, R, p, err);
    for (int k = 0; k < scene->nbond && status == CTN_OK; k++) status = check_mass(m, scene, k, err);
    bool acts = false;  // where tendons are only measured nothing acts between bodies
    for (int k = 0; k < scene->nbond && status == CTN_OK; k++) acts = acts || bond_acts(&m->bonds[k]);
    m->nbond = acts ? scene->nbond : 0;
    free(R);
    return status;
}
