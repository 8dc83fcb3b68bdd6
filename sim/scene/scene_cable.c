/// `cable:`, an entry of `links`: a round elastic rod as links with bending and twist stiffness (the discrete rod of Hencky
/// 1920).
///
/// A rod of length L is cut into n rigid links of length l = L / n. Bending about y and z and twist about x are in the joints
/// between them, each of which stands for half a link on either side: stiffness E I / l and G J / l, with I = pi r^4 / 4 and J =
/// 2 I. A clamped end has half a link on one side only: twice that. So the error falls as 1 / n^2.
///
/// Angles a about y and b about z, one after the other, turn by a b / 2 about x besides: where nothing twists that is all the same,
/// but against a twisting moment M it gives way as if E I were less by (M l / E I)^2. So the joints of a rod that twists are balls,
/// whose turn away from rest has no such part, as stiff about x as about y and z. The rest of the twist, as G J is less than E I,
/// is that of a hinge behind it: 1 / k_x + l / E I = l / G J. Of a material with G = E / 2 there is none; with more, which no usual
/// one has, bends are those of a rod that does not twist, and the hinge has all of G J / l.
#include "sim/scene/cable_end.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cable_key {
    CABLE_NAME,
    CABLE_PARENT,
    CABLE_POSITION,
    CABLE_ROTATION,
    CABLE_EULER,
    CABLE_LINKS,
    CABLE_LENGTH,
    CABLE_RADIUS,
    CABLE_DENSITY,
    CABLE_YOUNG,
    CABLE_SHEAR,
    CABLE_DAMPING,
    CABLE_START,
    CABLE_END,
    CABLE_COLOR,
    CABLE_KEYS,
};

static const key cable_keys[CABLE_KEYS] = {
    [CABLE_NAME] = {.name = "name"},         [CABLE_PARENT] = {.name = "parent"}, [CABLE_POSITION] = {.name = "position"},
    [CABLE_ROTATION] = {.name = "rotation"}, [CABLE_EULER] = {.name = "euler"},   [CABLE_LINKS] = {.name = "links"},
    [CABLE_LENGTH] = {.name = "length"},     [CABLE_RADIUS] = {.name = "radius"}, [CABLE_DENSITY] = {.name = "density"},
    [CABLE_YOUNG] = {.name = "young"},       [CABLE_SHEAR] = {.name = "shear"},   [CABLE_DAMPING] = {.name = "damping"},
    [CABLE_START] = {.name = "start"},       [CABLE_END] = {.name = "end"},       [CABLE_COLOR] = {.name = "color"},
};

/// A number that has to be there, and positive.
static bool read_measure(source *s, const node *mapping, const node *n, const char *name, const char *what, double *x)
{
    return n ? read_number(s, n, POSITIVE, x) : missing_key(s, mapping, name, "missing; %s", what);
}

static bool read_numbers(source *s, const node *mapping, const node *const v[CABLE_KEYS], cable *c)
{
    *c = (cable){.shear = NAN, .end = {.hold = HOLD_FREE}, .color = {0.7, 0.7, 0.7}};
    bool ok = true;
    if (!v[CABLE_LINKS]) ok = missing_key(s, mapping, "links", "missing; among how many links the cable is shared out");
    else ok = read_whole(s, v[CABLE_LINKS], 1, SCENE_MAX_LINKS / 2, &c->links);
    if (ok && s->r->scene->nlink + 2 * c->links > SCENE_MAX_LINKS)
        ok = bad_value(s, v[CABLE_LINKS], "too many links; a scene has at most %d, and each of a cable may be two",
                       SCENE_MAX_LINKS);
    ok = read_measure(s, mapping, v[CABLE_LENGTH], "length", "of the cable (m)", &c->length) && ok;
    ok = read_measure(s, mapping, v[CABLE_RADIUS], "radius", "of its round section (m)", &c->radius) && ok;
    ok = read_measure(s, mapping, v[CABLE_DENSITY], "density", "of its material (kg/m^3)", &c->density) && ok;
    if (!v[CABLE_YOUNG]) ok = missing_key(s, mapping, "young", "missing; Young's modulus of its material (Pa), 0 for none");
    else ok = read_number(s, v[CABLE_YOUNG], NOT_NEGATIVE, &c->young) && ok;
    const node *const damping = v[CABLE_DAMPING] ? v[CABLE_DAMPING] : mapping, *const young =
                                                                                   v[CABLE_YOUNG] ? v[CABLE_YOUNG] : mapping;
    c->at[STIFF_STIFFNESS] = (scene_place){young->line, young->column};
    c->at[STIFF_DAMPING] = (scene_place){damping->line, damping->column};
    if (v[CABLE_SHEAR]) ok = read_number(s, v[CABLE_SHEAR], NOT_NEGATIVE, &c->shear) && ok;
    if (v[CABLE_DAMPING]) ok = read_number(s, v[CABLE_DAMPING], NOT_NEGATIVE, &c->damping) && ok;
    if (v[CABLE_START]) ok = read_cable_hold(s, v[CABLE_START], &c->start) && ok;
    if (v[CABLE_END] && ok) ok = read_cable_end(s, v[CABLE_END], c);
    if (v[CABLE_COLOR]) ok = read_color(s, v[CABLE_COLOR], c->color) && ok;
    return ok;
}

/// The joint of one kind of motion with the stiffness k of the material.
static scene_joint elastic(const cable *c, ctn_joint_type type, const double axis[3], const double axis2[3], double k)
{
    scene_joint joint;
    reset_joint(&joint, type);
    memcpy(joint.axis, axis, sizeof joint.axis);
    if (axis2) memcpy(joint.axis2, axis2, sizeof joint.axis2);
    for (int i = 0; i < joint_nv(type); i++) joint.stiffness[i] = k, joint.damping[i] = c->damping * k;
    memcpy(joint.at, c->at, sizeof joint.at);
    return joint;
}

/// A share of the mass of a link, which begins at its joint.
static void give_mass(const cable *c, const scene_shape *shape, double share, scene_link *link)
{
    const mass_properties p = shape_mass(shape, c->density * share);
    link->mass = p.mass;
    memcpy(link->com, p.com, sizeof p.com), memcpy(link->inertia, p.inertia, sizeof p.inertia);
}

/// The shapes of a link: what is seen, and the two ends of its middle line, which touch.
static bool give_body(source *s, const cable *c, link_plan *plan)
{
    const double l = c->length / c->links;
    scene_shape *const shapes = reader_alloc(s->r, 2 * sizeof *shapes);
    if (!shapes) return false;
    shapes[0] = shapes[1] = (scene_shape){.type = SHAPE_CYLINDER,
                                          .rotation = {1, 0, 0, 0},
                                          .to = {l, 0, 0},
                                          .radius = c->radius,
                                          .density = NAN,
                                          .friction = NAN,
                                          .torsional = NAN,
                                          .rolling = NAN,
                                          .layers = USUAL_LAYERS,
                                          .touches = USUAL_LAYERS,
                                          .rounding = NAN};
    memcpy(shapes[0].color, c->color, sizeof shapes[0].color);
    shapes[0].touch = TOUCH_NO, shapes[1].type = SHAPE_CAPSULE, shapes[1].density = 0, shapes[1].hidden = true;
    plan->link.shapes = shapes, plan->link.nshape = 2;
    return true;
}

/// Where link i begins: the first one at the place of the cable, others at the end of the one before. A free joint has its place
/// as its coordinates instead.
static void place_link(const cable *c, const link_plan *place, int i, scene_link *link)
{
    static const double none[4] = {1, 0, 0, 0};
    const bool flies = link->joint.type == CTN_FREE;
    const double *const position = place->link.position, *const rotation = place->link.rotation;
    if (flies) memcpy(link->joint.q0, position, 3 * sizeof *position), memcpy(link->joint.q0 + 3, rotation, 4 * sizeof *rotation);
    memset(link->position, 0, sizeof link->position);
    memcpy(link->rotation, none, sizeof none);
    if (i) link->position[0] = c->length / c->links;
    else if (!flies)
        memcpy(link->position, position, sizeof link->position), memcpy(link->rotation, rotation, sizeof link->rotation);
}

/// Adds NAME.0, NAME.1, ...; where twist has joints of its own, the link NAME.0.bend before NAME.0, and so on. It has no mass, but
/// behind a ball joint, which turns about the hinge's axis, too: there each has half, so that no force turns what has no inertia.
static bool expand(source *s, const cable *c, const link_plan *place, const cable_joint *lies)
{
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    const double l = c->length / c->links, I = M_PI * pow(c->radius, 4) / 4, bend = c->young * I / l, both = c->shear * 2 * I / l;
    const bool balls = bends_by_balls(c);
    const double twist = !balls ? both : both < bend ? both * bend / (bend - both) : INFINITY;
    char name[SCENE_MAX_NAME + 32];
    link_plan bends = *place, bodies = *place;
    const int before = s->r->scene->nlink;
    if (!give_body(s, c, &bodies)) return false;
    bends.link.mass = 0;
    bends.link.shapes = bodies.link.shapes;  // all links of a generator hold the same list, of which these have none
    bool ok = true;
    for (int i = 0; i < c->links && ok; i++) {
        const bool flies = !i && c->start == HOLD_FREE, turns = !i && balls && c->start == HOLD_HINGED;  // a ball is all
        const bool twists = cable_twists(c) && isfinite(twist) && !flies && !turns;
        const double share = i ? 1 : c->start == HOLD_CLAMPED ? 2 : 0;
        link_plan *const first = twists ? &bends : &bodies;
        give_mass(c, bodies.link.shapes, balls && twists ? 0.5 : 1, &bodies.link);
        if (balls && twists) give_mass(c, bodies.link.shapes, 0.5, &bends.link);
        if (flies) reset_joint(&first->link.joint, CTN_FREE);
        else first->link.joint = elastic(c, balls ? CTN_BALL : CTN_UNIVERSAL, y, z, share * bend);
        if (!flies) memcpy(first->link.joint.q0, lies[i].bend, (balls ? 4 : 2) * sizeof *lies[i].bend);
        place_link(c, place, i, &first->link);
        if (flies) turn_cable(c, &lies[0], first->link.joint.q0 + 3);
        snprintf(name, sizeof name, "%s.%d%s", place->link.name, i, twists ? ".bend" : "");
        ok = add_link(s, first, name);
        if (ok && twists) {
            bodies.link.joint = elastic(c, CTN_REVOLUTE, x, NULL, share * twist), bodies.link.joint.q0[0] = lies[i].twist;
            bodies.link.parent = s->r->scene->nlink - 1;
            memset(bodies.link.position, 0, sizeof bodies.link.position);
            memcpy(bodies.link.rotation, (double[4]){1, 0, 0, 0}, sizeof bodies.link.rotation);
            snprintf(name, sizeof name, "%s.%d", place->link.name, i);
            ok = add_link(s, &bodies, name);
        }
        bends.link.parent = bodies.link.parent = s->r->scene->nlink - 1;
    }
    if (!bodies.count) free(bodies.link.shapes);  // else the links have them
    return ok && note_cable_end(s, c, &lies[0], before, s->r->scene->nlink - 1);
}

bool read_cable(source *s, const node *mapping)
{
    const node *v[CABLE_KEYS];
    link_plan place;
    cable c;
    start_plan(s, mapping, &place);
    bool ok = read_keys(s, mapping, "a cable", cable_keys, CABLE_KEYS, v);
    if (ok) {
        for (int k = CABLE_NAME; k <= CABLE_EULER; k++) place.own[LINK_KEY_NAME + k] = v[k];
        ok = read_place(s, mapping->up, &place);
        ok = read_numbers(s, mapping, v, &c) && ok;
        if (ok && c.start == HOLD_FREE && place.link.parent >= 0)
            ok = bad_value(s, v[CABLE_START], "a free cable hangs on the world only; it has a `parent`");
        cable_joint *const lies = ok ? reader_alloc(s->r, (size_t)c.links * sizeof *lies) : NULL;
        if (lies) place_cable_end(&c, place.link.position, place.link.rotation);
        ok = lies && shape_cable(s, v[CABLE_END] ? v[CABLE_END] : mapping, &c, place.link.rotation, lies) &&
             expand(s, &c, &place, lies);
        free(lies);
    }
    if (!ok) links_unknown(s);
    return ok;
}
