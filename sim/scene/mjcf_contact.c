/// How geoms touch: the first plane that does not move is the scene's `ground`, and what two geoms say is made one as MuJoCo does it
/// (https://mujoco.readthedocs.io/en/stable/computation/index.html#collision, "contact parameters").
#include "sim/scene/mjcf.h"

#include <math.h>
#include <string.h>

enum { SLIDING = 3, TORSIONAL, ROLLING = 6 };  // condim from which there is friction

bool mjcf_read_touch(mjcf *m, mjcf_item of, mjcf_touch *t)
{
    static const char *const soft[] = {"solref", "solimp", "solmix", "margin", "gap"};
    static const double usual[] = {1, 1, SLIDING, 0};
    double types, bodies, dimensions, priority, friction[3] = {1, 0.005, 0.0001}, given[3];
    if (!mjcf_numbers(m, of, "contype", 1, &usual[0], &types) || !mjcf_numbers(m, of, "conaffinity", 1, &usual[1], &bodies) ||
        !mjcf_numbers(m, of, "condim", 1, &usual[2], &dimensions) || !mjcf_numbers(m, of, "priority", 1, &usual[3], &priority))
        return false;
    const int n = mjcf_some_numbers(m, of, "friction", 3, given);
    if (n < 0) return false;
    memcpy(friction, given, (size_t)n * sizeof *given);
    if (!(friction[0] >= 0 && friction[1] >= 0 && friction[2] >= 0)) return robot_bad(m->r, of.element->at, "<geom>: friction: expected numbers >= 0");
    *t = (mjcf_touch){.types = (unsigned)fmin(fmax(types, 0), INT32_MAX),
                      .with = (unsigned)fmin(fmax(bodies, 0), INT32_MAX),
                      .dimensions = (int)fmin(fmax(dimensions, 1), 6),
                      .priority = (int)fmin(fmax(priority, -1e9), 1e9),
                      .friction = friction[0],
                      .turning = {friction[1], friction[2]},
                      .says = n > 0};
    for (size_t k = 0; k < sizeof soft / sizeof *soft; k++)
        if (mjcf_find(m, of, soft[k])) t->soft = true;
    return true;
}

bool mjcf_read_plane(mjcf *m, mjcf_geom *g)
{
    const mjcf_scope *const in = &m->scopes[g->scope];
    xml_element *const e = g->item.element;
    mjcf_pose pose;
    if (mjcf_moves(m, in->body) || m->floor.element) {
        mjcf_pass(&m->ground, e->at);
        return xml_use_all(e), true;
    }
    if (!mjcf_read_touch(m, g->item, &m->floor.touch) || !mjcf_read_pose(m, g->item, &pose)) return false;
    xml_use_all(e);  // its size and colour are for the eye
    if (!m->floor.touch.types && !m->floor.touch.with) {
        mjcf_pass(&m->ground, e->at);
        return true;
    }
    const mjcf_pose body = mjcf_body_in_world(m, in->body), inner = mjcf_at(&in->pose, &pose);
    pose = mjcf_at(&body, &inner);
    m->floor.element = e, m->floor.body = in->body;
    rotate(pose.q, (double[]){0, 0, 1}, m->floor.normal);
    m->floor.height = 0;
    for (int k = 0; k < 3; k++) m->floor.height += m->floor.normal[k] * pose.p[k];
    return true;
}

/// Of two geoms: what that of the higher priority says, else the larger friction, and as many directions of it as the one that has
/// more.
static mjcf_touch touch_of_pair(const mjcf_touch *a, const mjcf_touch *b)
{
    if (a->priority != b->priority) return a->priority > b->priority ? *a : *b;
    mjcf_touch pair = *a;
    pair.dimensions = a->dimensions > b->dimensions ? a->dimensions : b->dimensions;
    pair.friction = fmax(a->friction, b->friction);
    for (int k = 0; k < 2; k++) pair.turning[k] = fmax(a->turning[k], b->turning[k]);
    return pair;
}

double mjcf_friction(const mjcf_touch *a, const mjcf_touch *b)
{
    const mjcf_touch pair = touch_of_pair(a, b);
    return pair.dimensions < SLIDING ? 0 : pair.friction;
}

/// What a geom has of torsional and rolling friction, m, as on the first surface that it meets. Returns whether it has so on all.
static bool turning_friction(const mjcf *m, const mjcf_geom *g, double to[2])
{
    bool first = true, alike = true;
    to[0] = to[1] = 0;
    for (int k = 0; k < m->nsurface; k++) {
        if (!mjcf_meets(m, g, &m->surfaces[k])) continue;
        const mjcf_touch pair = touch_of_pair(&g->touch, &m->surfaces[k].touch);
        const double here[2] = {pair.dimensions < TORSIONAL ? 0 : pair.turning[0], pair.dimensions < ROLLING ? 0 : pair.turning[1]};
        if (first) to[0] = here[0], to[1] = here[1];
        alike = alike && to[0] == here[0] && to[1] == here[1], first = false;
    }
    return alike;
}

double mjcf_usual_friction(const mjcf_touch *surface)
{
    const mjcf_touch usual = {.dimensions = SLIDING, .friction = 1};
    return mjcf_friction(&usual, surface);
}

double mjcf_own_friction(const mjcf *m, const mjcf_geom *g)
{
    for (int k = 0; k < m->nsurface; k++) {
        if (!mjcf_meets(m, g, &m->surfaces[k])) continue;
        const double here = mjcf_friction(&g->touch, &m->surfaces[k].touch);
        return here == mjcf_usual_friction(&m->surfaces[0].touch) ? NAN : here;
    }
    return NAN;
}

void mjcf_tell_touch(mjcf *m, const mjcf_geom *g)
{
    const mjcf_touch *const t = &g->touch;
    const document_place at = g->item.element->at;
    const unsigned types = mjcf_bit_layers(m, t->types), with = mjcf_bit_layers(m, t->with);
    const unsigned layers = (m->nsurface ? mjcf_layers(m, g) : 0) | types;
    if (!g->touches || (m->nsurface && !layers && !with) || !mjcf_moves(m, m->scopes[g->scope].body)) {
        say_word(m->r, "contact", "false", at);  // what does not move is an obstacle, too
        return;
    }
    if (!m->nsurface) {
        if (t->says || t->dimensions != SLIDING || t->priority) mjcf_pass(&m->contact, at);
        if (!m->meeting) return;
    }
    double turning[2];
    const bool alike = turning_friction(m, g, turning), turns = turning[0] > 0 || turning[1] > 0;
    if (t->soft || !alike) mjcf_pass(&m->contact, at);
    const double friction = mjcf_own_friction(m, g);
    if ((isnan(friction) && !m->layered && !turns) || !touches_ground(&g->shape)) return;
    say_open(m->r, "contact", NODE_MAPPING, at);
    if (!isnan(friction)) say_number(m->r, "friction", friction, at);
    if (turning[0] > 0) say_number(m->r, "torsional", turning[0], at);
    if (turning[1] > 0) say_number(m->r, "rolling", turning[1], at);
    mjcf_tell_layers(m, "layers", layers, at);
    if (m->meeting) mjcf_tell_layers(m, "touches", with, at);
    say_close(m->r);
}
