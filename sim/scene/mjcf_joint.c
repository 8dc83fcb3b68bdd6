/// Joints of MJCF: each is that of a link. A body with several is a chain of links, all but the last without mass; a body whose
/// joint is off its origin has its link's frame there.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FREE, BALL, HINGE, SLIDE, JOINT_TYPES };

static const struct {
    const char *mjcf, *ours;
} types[JOINT_TYPES] = {
    [FREE] = {"free", "free"}, [BALL] = {"ball", "ball"}, [HINGE] = {"hinge", "revolute"}, [SLIDE] = {"slide", "prismatic"}};

/// A joint, read.
typedef struct motion {
    int type;
    double position[3], axis[3];  // in the body's frame
    double ref;
} motion;

static int read_type(mjcf *m, mjcf_item of)
{
    const char *names[JOINT_TYPES];
    for (int k = 0; k < JOINT_TYPES; k++) names[k] = types[k].mjcf;
    if (!strcmp(of.element->name, "freejoint")) return FREE;
    return mjcf_word(m, of, "type", names, JOINT_TYPES, HINGE);
}

static bool read_motion(mjcf *m, const mjcf_joint *j, motion *d)
{
    static const double none[3] = {0, 0, 0}, z[3] = {0, 0, 1};
    robot *const r = m->r;
    const mjcf_item of = j->item;
    const mjcf_pose *const frame = &m->scopes[j->scope].pose;
    *d = (motion){.type = read_type(m, of)};
    if (d->type < 0) return false;
    if (d->type == FREE) return true;
    if (!(mjcf_numbers(m, of, "pos", 3, none, d->position) && mjcf_numbers(m, of, "axis", 3, z, d->axis) &&
          mjcf_numbers(m, of, "ref", 1, none, &d->ref)))
        return false;
    if (!normalise(d->axis, 3)) return robot_bad(r, mjcf_find(m, of, "axis")->at, "axis: too short to be a direction");
    rotate(frame->q, d->position, d->position), rotate(frame->q, d->axis, d->axis);
    for (int k = 0; k < 3; k++) d->position[k] += frame->p[k];
    if (d->type == SLIDE) memcpy(d->position, none, sizeof none);  // it moves alike wherever it is
    d->ref *= d->type == HINGE ? m->degree : d->type == SLIDE;
    return true;
}

// ---- nodes

/// Angles with their unit, so that nobody takes a screw's many turns for degrees.
static void say_angle(robot *r, const char *key, double x, document_place at)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g rad", x);
    say_word(r, key, text, at);
}

static void tell_limits(mjcf *m, mjcf_item of, const motion *d)
{
    robot *const r = m->r;
    double range[2];
    if (!mjcf_limited(m, of, "limited", "range", range)) return;
    const document_place at = mjcf_find(m, of, "range")->at;
    const double unit = d->type == SLIDE ? 1 : m->degree;
    if (d->type == BALL) {
        if (range[1] * unit < M_PI) say_angle(r, "limits", range[1] * unit, at);  // half a turn is all there is
        return;
    }
    say_open(r, "limits", NODE_SEQUENCE, at);
    for (int k = 0; k < 2; k++) {
        if (d->type == HINGE) say_angle(r, NULL, range[k] * unit, at);
        else say_number(r, NULL, range[k], at);
    }
    say_close(r);
}

static void tell_effort(mjcf *m, mjcf_item of)
{
    double range[2];
    if (!mjcf_limited(m, of, "actuatorfrclimited", "actuatorfrcrange", range)) return;
    const document_place at = mjcf_find(m, of, "actuatorfrcrange")->at;
    if (range[0] != -range[1]) robot_warn(m->r, at, "actuatorfrcrange: taken as alike in both directions, the larger one");
    say_number(m->r, "effort", fmax(fabs(range[0]), fabs(range[1])), at);
}

/// The number of an attribute if it is there and not 0.
static bool has_number(mjcf *m, mjcf_item of, const char *name, double *x)
{
    static const double none[1] = {0};
    return mjcf_numbers(m, of, name, 1, none, x) && *x != 0;
}

static void tell_spring(mjcf *m, mjcf_item of, const motion *d, double stiffness)
{
    double rest;
    const document_place at = mjcf_find(m, of, "stiffness")->at;
    say_number(m->r, "stiffness", stiffness, at);
    if (d->type == BALL || !has_number(m, of, "springref", &rest)) return;
    if (d->type == HINGE) say_angle(m->r, "rest", rest * m->degree, at);
    else say_number(m->r, "rest", rest, at);
}

static void tell_joint(mjcf *m, const mjcf_joint *j, const motion *d)
{
    static const char *const unused[] = {"name",           "user",        "group",           "margin",
                                         "solreflimit",    "solimplimit", "solreffriction",  "springref",
                                         "solimpfriction", "ref",         "actuatorgravcomp"};
    robot *const r = m->r;
    const mjcf_item of = j->item;
    const document_place at = of.element->at;
    double x;
    for (size_t k = 0; k < sizeof unused / sizeof *unused; k++) xml_value(of.element, unused[k]);
    say_open(r, "joint", NODE_MAPPING, at);
    say_word(r, "type", types[d->type].ours, at);
    if (d->type == HINGE || d->type == SLIDE) say_numbers(r, "axis", d->axis, 3, at);
    else xml_value(of.element, "axis");
    if (has_number(m, of, "damping", &x)) say_number(r, "damping", x, mjcf_find(m, of, "damping")->at);
    if (has_number(m, of, "frictionloss", &x)) {
        if (d->type == HINGE || d->type == SLIDE) say_number(r, "friction", x, mjcf_find(m, of, "frictionloss")->at);
        else mjcf_pass(&m->friction, at);
    }
    if (mjcf_find(m, of, "springdamper")) mjcf_ignore(m, of.element, "its springdamper; give it stiffness and damping");
    if (has_number(m, of, "armature", &x)) say_number(r, "armature", x, mjcf_find(m, of, "armature")->at);
    const bool spring = has_number(m, of, "stiffness", &x);
    if (d->type == FREE) {
        if (spring) mjcf_ignore(m, of.element, "its stiffness: a free joint has none");
        xml_value(of.element, "pos"), xml_value(of.element, "limited"), xml_value(of.element, "range");
    } else {
        if (spring) tell_spring(m, of, d, x);
        tell_limits(m, of, d);
        tell_effort(m, of);
    }
    if (d->ref != 0) {
        if (d->type == HINGE) say_angle(r, "q0", d->ref, at);
        else say_number(r, "q0", d->ref, at);
    }
    say_close(r);
}

// ---- links

/// The name of the link of a body's joint that is not its last: BODY.JOINT, or BODY.NUMBER.
static const char *link_name(mjcf *m, const mjcf_body *b, const mjcf_joint *j, int number)
{
    char digits[16];
    const char *joint = xml_value(j->item.element, "name");
    if (!joint || !*joint) snprintf(digits, sizeof digits, "%d", number), joint = digits;
    char *const name = mjcf_text(m, strlen(b->name) + 1 + strlen(joint));
    if (name) strcpy(name, b->name), strcat(name, "."), strcat(name, joint);
    return name;
}

/// Begins a link whose frame, where its coordinates are zero, is at `at` of the parent's.
static void open_link(robot *r, const char *name, const char *parent, const mjcf_pose *at, document_place place)
{
    static const double upright[4] = {1, 0, 0, 0};
    say_open(r, NULL, NODE_MAPPING, place);
    say_text(r, "name", name, place);
    if (parent) say_text(r, "parent", parent, place);
    say_unless_zero(r, "position", at->p, 3, place);
    if (memcmp(at->q, upright, sizeof upright) != 0) say_numbers(r, "rotation", at->q, 4, place);
}

/// Moves the frame, which is at `start` of the body's frame before its joints, to the joint's origin and back by its ref.
static mjcf_pose at_zero(const mjcf_pose *start, const motion *d, const double origin[3])
{
    mjcf_pose shift = {.q = {1, 0, 0, 0}};
    for (int k = 0; k < 3; k++) shift.p[k] = d->position[k] - origin[k] - (d->type == SLIDE ? d->ref * d->axis[k] : 0);
    if (d->type == HINGE && d->ref != 0) mjcf_turn_about(d->axis, -d->ref, shift.q);
    return mjcf_at(start, &shift);
}

bool mjcf_tell_joints(mjcf *m, mjcf_body *b)
{
    robot *const r = m->r;
    const mjcf_body *const parent = &m->bodies[b->parent];
    const document_place at = b->element->at;
    const char *above = b->parent ? parent->name : NULL;
    const double none[3] = {0, 0, 0};
    mjcf_pose start = b->pose;
    for (int k = 0; k < 3; k++) start.p[k] -= parent->origin[k];
    memcpy(b->origin, none, sizeof none);
    if (!b->njoint) {
        open_link(r, b->name, above, &start, at);
        if (b->moves) say_word(r, "joint", "free", at);
    }
    for (int i = b->first_joint, number = 1; i >= 0; i = m->joints[i].next, number++) {
        mjcf_joint *const j = &m->joints[i];
        const bool last = j->next < 0;
        motion d;
        if (!read_motion(m, j, &d)) return false;
        if (d.type == FREE && b->njoint > 1)
            return robot_bad(r, j->item.element->at, "<joint>: a free joint is the only one of its body");
        if (d.type == FREE && b->parent)
            return robot_bad(r, j->item.element->at,
                             "<joint>: a free joint is for bodies of <worldbody> only, and '%s' is in '%s'",
                             printable(b->name).text, printable(parent->name).text);
        const char *const name = last ? b->name : link_name(m, b, j, number);
        if (!name) return false;
        j->link = name, j->nq = d.type == FREE ? 7 : d.type == BALL ? 4 : 1;
        const mjcf_pose zero = at_zero(&start, &d, b->origin);
        open_link(r, name, above, &zero, j->item.element->at);
        tell_joint(m, j, &d);
        memcpy(b->origin, d.position, sizeof d.position);
        start = (mjcf_pose){.q = {1, 0, 0, 0}};
        if (last) return true;
        say_number(r, "mass", 0, at);
        say_close(r);
        above = name;
    }
    return true;
}
