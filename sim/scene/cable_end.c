/// The far end of a cable, which is held: where it is, and the springs that hold it.
///
/// A tree has no second joint there. A hinged end is held by a spring to a point of the world, much stiffer than what the cable
/// itself pulls with; where it is clamped, by six of them at points off the end by +-a_i along its axes. With the axes R of the end
/// and R_0 of the clamp their energy is
///
///     k/2 |x - x_0|^2 + sum_i w_i |R e_i - R_0 e_i|^2 / 2,    w_i = k a_i^2 / 3
///
/// which turns about e_1 with the stiffness w_2 + w_3, about e_2 with w_3 + w_1. Those of half a link of the material are 2 G J / l
/// and 2 E I / l, as at a clamped start: so a clamp is as exact as the joints of the cable.
#include "sim/scene/cable_end.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cable_hold_names[CABLE_HOLDS] = {"clamped", "hinged", "free"};

bool read_cable_hold(source *s, const node *n, cable_hold *hold)
{
    const char *text;
    if (!read_text(s, n, &text)) return false;
    for (int k = 0; k < CABLE_HOLDS; k++)
        if (!strcmp(text, cable_hold_names[k])) return *hold = (cable_hold)k, true;
    return bad_value(s, n, "expected clamped, hinged or free, found %s", found(n).text);
}

/// The stiffness of the spring: it gives by a ten-thousandth of the length under the weight of the cable and the largest force at
/// which this buckles.
static double usual_stiffness(const cable *c)
{
    const double r = c->radius, I = M_PI * pow(r, 4) / 4, weight = 9.81 * c->density * M_PI * r * r * c->length;
    return 1e4 * (weight + 4 * M_PI * M_PI * c->young * I / (c->length * c->length)) / c->length;
}

bool read_cable_end(source *s, const node *n, cable *c)
{
    enum { HOLD, POSITION, ROTATION, EULER, STIFFNESS, KEYS };
    static const key keys[KEYS] = {[HOLD] = {.name = "hold"},
                                   [POSITION] = {.name = "position"},
                                   [ROTATION] = {.name = "rotation"},
                                   [EULER] = {.name = "euler"},
                                   [STIFFNESS] = {.name = "stiffness"}};
    const node *v[KEYS];
    cable_end *const e = &c->end;
    *e = (cable_end){.hold = HOLD_FREE, .position = {c->length, 0, 0}, .rotation = {1, 0, 0, 0}};
    e->at = (scene_place){n->line, n->column};
    bool ok = true;
    if (n->kind != NODE_MAPPING) ok = read_cable_hold(s, n, &e->hold);
    else {
        if (!read_keys(s, n, "an end", keys, KEYS, v)) return false;
        ok = v[HOLD] ? read_cable_hold(s, v[HOLD], &e->hold) : missing_key(s, n, "hold", "missing; clamped, hinged or free");
        if (v[POSITION]) ok = read_vector(s, v[POSITION], 3, ANY_SIGN, e->position) && ok, e->placed = true;
        ok = read_rotation(s, v[ROTATION], v[EULER], e->rotation) && ok, e->turned = v[ROTATION] || v[EULER];
        if (v[STIFFNESS]) ok = read_number(s, v[STIFFNESS], POSITIVE, &e->stiffness) && ok;
        const node *const turn = v[ROTATION] ? v[ROTATION] : v[EULER];
        if (ok && turn && e->hold != HOLD_CLAMPED) ok = bad_key(s, turn, "belongs to a clamped end: a hinged one turns freely");
        for (int k = POSITION; k < KEYS && ok && e->hold == HOLD_FREE; k++)
            if (v[k]) ok = bad_key(s, v[k], "belongs to an end that is held, hinged or clamped");
    }
    if (ok && e->hold == HOLD_CLAMPED && c->shear > c->young)
        ok = bad_value(s, n,
                       "a clamp for a shear modulus of %g Pa beyond Young's of %g: no round section twists harder than it bends",
                       c->shear, c->young);
    if (e->stiffness == 0) e->stiffness = usual_stiffness(c);
    return ok;
}

void place_cable_end(cable *c, const double position[3], const double rotation[4])
{
    cable_end *const e = &c->end;
    const double back[4] = {rotation[0], -rotation[1], -rotation[2], -rotation[3]};
    if (e->placed) {
        for (int k = 0; k < 3; k++) e->position[k] -= position[k];
        rotate(back, e->position, e->position);
    }
    if (e->turned) quaternion_product(back, e->rotation, e->rotation);
}

// ---- what holds it

bool note_cable_end(source *s, const cable *c, const cable_joint *first_joint, int first, int last)
{
    reader *const r = s->r;
    if (c->end.hold == HOLD_FREE) return true;
    held_end *const ends = realloc(r->ends, ((size_t)r->nend + 1) * sizeof *ends);
    if (!ends) return out_of_memory(s);
    const double l = c->length / c->links, I = M_PI * pow(c->radius, 4) / 4;
    held_end *const to = &(r->ends = ends)[r->nend++];
    *to = (held_end){.end = c->end, .first = first, .last = last, .length = l, .damping = c->damping, .file = s->file};
    if (c->start == HOLD_FREE) {  // the coordinates of its first link, from which the end is placed, are turned
        double q[4] = {1, 0, 0, 0};
        turn_cable(c, first_joint, q);
        for (int k = 1; k < 4; k++) q[k] = -q[k];
        rotate(q, to->end.position, to->end.position);
        quaternion_product(q, to->end.rotation, to->end.rotation);
    }
    if (c->end.hold != HOLD_CLAMPED) return true;
    to->bend = 2 * c->young * I / l, to->twist = isnan(c->shear) ? 0 : 2 * c->shear * 2 * I / l;
    return true;
}

int cable_end_springs(const reader *r)
{
    int count = 0;
    for (int k = 0; k < r->nend; k++) count += r->ends[k].end.hold == HOLD_CLAMPED ? 6 : 1;
    return count;
}

/// The place of a link's zero frame in the world, which does not move.
static void zero_in_world(const ctn_scene *scene, int link, double p[3], double q[4])
{
    for (; link >= 0; link = scene->links[link].parent) {
        const scene_link *const l = &scene->links[link];
        const bool flies = l->joint.type == CTN_FREE;
        rotate(flies ? l->joint.q0 + 3 : l->rotation, p, p);
        for (int k = 0; k < 3; k++) p[k] += (flies ? l->joint.q0 : l->position)[k];
        quaternion_product(flies ? l->joint.q0 + 3 : l->rotation, q, q);
    }
}

bool hold_cable_ends(source *s)
{
    reader *const r = s->r;
    ctn_scene *const scene = r->scene;
    for (int k = 0; k < r->nend; k++) {
        const held_end *const h = &r->ends[k];
        const scene_link *const first = &scene->links[h->first];
        if (first->parent >= 0 && link_moves(scene, first->parent)) {
            source of = *s;
            of.file = h->file;
            const node at = {.line = h->end.at.line, .column = h->end.at.column};
            return bad_value(&of, &at,
                             "cable.end: an end that is held stands still in the world, and the start of this cable moves with "
                             "'%s'; hold it by a `springs` entry, or let it be free",
                             scene->links[first->parent].name);
        }
        double p[3], q[4];
        memcpy(p, h->end.position, sizeof p), memcpy(q, h->end.rotation, sizeof q);
        zero_in_world(scene, h->first, p, q);
        const bool clamped = h->end.hold == HOLD_CLAMPED;
        const double stiffness = h->end.stiffness, w[3] = {fmax(h->bend - h->twist / 2, 0), h->twist / 2, h->twist / 2};
        for (int i = 0; i < (clamped ? 6 : 1); i++) {
            scene_load *const l = &scene->loads[scene->nload++];
            const double arm = clamped ? (i % 2 ? -1 : 1) * sqrt(3 * w[i / 2] / stiffness) : 0;
            double off[3] = {i / 2 == 0 ? arm : 0, i / 2 == 1 ? arm : 0, i / 2 == 2 ? arm : 0};
            *l = (scene_load){.link = h->last, .of_cable = true, .at = {h->end.at, h->end.at}};
            l->stiffness = stiffness / (clamped ? 6 : 1), l->damping = h->damping * l->stiffness;
            for (int d = 0; d < 3; d++) l->point[d] = off[d] + (d == 0 ? h->length : 0);
            rotate(q, off, off);
            for (int d = 0; d < 3; d++) l->anchor[d] = p[d] + off[d];
        }
    }
    return true;
}
