/// Sensors of MJCF, and the sites that they are on, as sensors.
#include "sim/base/sensor_types.h"
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// What a sensor's object is.
enum { ON_SITE, ON_BALL_SITE, ON_HINGE, ON_BALL, ON_ACTUATOR, ON_FRAME, ON_TREE, ON_TENDON, ON_ALL };

static const struct {
    const char *name;
    int on;
    ctn_sensor_type type;
} kinds[] = {
    {"accelerometer", ON_SITE, CTN_SENSE_ACCELEROMETER},
    {"gyro", ON_SITE, CTN_SENSE_GYRO},
    {"velocimeter", ON_SITE, CTN_SENSE_VELOCIMETER},
    {"force", ON_SITE, CTN_SENSE_REACTION_FORCE},
    {"torque", ON_SITE, CTN_SENSE_REACTION_TORQUE},
    {"touch", ON_BALL_SITE, CTN_SENSE_TOUCH},
    {"jointpos", ON_HINGE, CTN_SENSE_JOINT_POSITION},
    {"jointvel", ON_HINGE, CTN_SENSE_JOINT_VELOCITY},
    {"ballquat", ON_BALL, CTN_SENSE_JOINT_POSITION},
    {"ballangvel", ON_BALL, CTN_SENSE_JOINT_VELOCITY},
    {"actuatorfrc", ON_ACTUATOR, CTN_SENSE_MOTOR_EFFORT},
    {"tendonpos", ON_TENDON, CTN_SENSE_TENDON_LENGTH},
    {"tendonvel", ON_TENDON, CTN_SENSE_TENDON_VELOCITY},
    {"framepos", ON_FRAME, CTN_SENSE_POSITION},
    {"framequat", ON_FRAME, CTN_SENSE_ORIENTATION},
    {"framelinvel", ON_FRAME, CTN_SENSE_VELOCITY},
    {"frameangvel", ON_FRAME, CTN_SENSE_ANGULAR_VELOCITY},
    {"frameangacc", ON_FRAME, CTN_SENSE_ANGULAR_ACCELERATION},
    {"subtreecom", ON_TREE, CTN_SENSE_COM},
    {"subtreelinvel", ON_TREE, CTN_SENSE_COM_VELOCITY},
    {"subtreeangmom", ON_TREE, CTN_SENSE_ANGULAR_MOMENTUM},
    {"e_kinetic", ON_ALL, CTN_SENSE_KINETIC_ENERGY},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_called(xml_element *e, const char *name)
{
    const char *const own = xml_value(e, "name");
    return own && name && !strcmp(own, name);
}

/// The frame of a body (0: the world) in its link's.
static const char *on_body(const mjcf *m, int body, const mjcf_pose *in_body, mjcf_place *to)
{
    const mjcf_body *const b = &m->bodies[body];
    if (!body) return "it is on the world";
    to->link = b->name, to->at = *in_body;
    for (int k = 0; k < 3; k++) to->at.p[k] -= b->origin[k];
    return NULL;
}

const char *mjcf_find_any_site(mjcf *m, const char *name, mjcf_place *to, int *body)
{
    for (int i = 0; name && i < m->nsite; i++) {
        mjcf_site *const s = &m->sites[i];
        mjcf_pose own;
        if (!is_called(s->item.element, name)) continue;
        if (mjcf_find(m, s->item, "fromto")) return "its site has a fromto";
        if (!mjcf_read_pose(m, s->item, &own)) return "its site cannot be read";
        xml_use_all(s->item.element);
        own = mjcf_at(&m->scopes[s->scope].pose, &own);
        *body = m->scopes[s->scope].body;
        if (*body) return on_body(m, *body, &own, to);
        *to = (mjcf_place){.at = own};
        return NULL;
    }
    return "there is no such site";
}

const char *mjcf_find_site(mjcf *m, const char *name, mjcf_place *to)
{
    int body;
    const char *const why = mjcf_find_any_site(m, name, to, &body);
    return why || body ? why : "it is on the world";
}

/// A site that is a ball, within which contact points are felt.
static const char *find_ball_site(mjcf *m, const char *name, mjcf_place *to)
{
    const char *const why = mjcf_find_site(m, name, to);
    double size[3] = {0.005};
    int i = 0;
    if (why) return why;
    while (!is_called(m->sites[i].item.element, name)) i++;
    const char *const type = mjcf_value(m, m->sites[i].item, "type");
    if (type && strcmp(type, "sphere") != 0) return "its site is no sphere";
    if (mjcf_some_numbers(m, m->sites[i].item, "size", 3, size) < 0 || !(size[0] > 0)) return "its site cannot be read";
    to->radius = size[0];
    return NULL;
}

static int find_body(const mjcf *m, const char *name)
{
    for (int i = 1; name && i < m->nbody; i++)
        if (!strcmp(m->bodies[i].name, name)) return i;
    return name && !strcmp(name, "world") ? 0 : -1;
}

/// Of a frame: a site, the frame of a body, or one in its centre of mass along its principal axes.
static const char *find_frame(mjcf *m, xml_element *e, ctn_sensor_type type, mjcf_place *to)
{
    const char *const of = xml_value(e, "objtype"), *const name = xml_value(e, "objname");
    mjcf_pose pose = {.q = {1, 0, 0, 0}};
    if (xml_find(e, "reftype") || xml_find(e, "refname")) return "it is relative to another frame";
    if (of && !strcmp(of, "site")) return mjcf_find_site(m, name, to);
    const bool centre = of && !strcmp(of, "body");
    if (!of || (!centre && strcmp(of, "xbody") != 0)) return "it is neither of a site nor of a body";
    const int body = find_body(m, name);
    if (body < 0) return "there is no such body";
    if (centre && type != CTN_SENSE_ORIENTATION) memcpy(pose.p, m->bodies[body].mass.com, sizeof pose.p);
    const char *const why = centre && type == CTN_SENSE_ORIENTATION ? mjcf_inertial_frame(m, &m->bodies[body], &pose) : NULL;
    if (why) return why;
    return on_body(m, body, &pose, to);
}

static const char *find_tree(mjcf *m, xml_element *e, mjcf_place *to)
{
    const int body = find_body(m, xml_value(e, "body"));
    if (body < 0) return "there is no such body";
    if (!body) return NULL;
    if (!m->bodies[body].moves) return "its body has no joint";
    to->link = m->bodies[body].name;
    return NULL;
}

/// A joint by its name, or that of an actuator.
static const char *find_joint(mjcf *m, const char *name, int on, mjcf_place *to)
{
    for (int i = 0; name && i < m->njoint; i++) {
        const mjcf_joint *const j = &m->joints[i];
        if (!is_called(j->item.element, name)) continue;
        if ((j->nq == 1) != (on != ON_BALL))
            return on == ON_BALL ? "its joint is no ball" : "its joint is neither a hinge nor a slide";
        if (on == ON_ACTUATOR && !j->driven) return "its actuator is none here";
        to->link = j->link;
        return NULL;
    }
    return "there is no such joint";
}

static const char *find_tendon(const mjcf *m, const char *name, bool actuated, mjcf_place *to)
{
    for (int i = 0; name && i < m->ntendon; i++) {
        if (strcmp(m->tendons[i].name, name) != 0) continue;
        if (actuated && !m->tendons[i].driven) return "its actuator is none here";
        to->tendon = m->tendons[i].name;
        return NULL;
    }
    return "there is no such tendon";
}

static const char *find_actuator(mjcf *m, const char *name, mjcf_place *to)
{
    for (xml_element *list = xml_next(m->r->root->child, "actuator"); list; list = xml_next(list->next, "actuator"))
        for (xml_element *e = list->child; e; e = e->next) {
            if (!is_called(e, name)) continue;
            const char *const tendon = xml_value(e, "tendon");
            return tendon ? find_tendon(m, tendon, true, to) : find_joint(m, xml_value(e, "joint"), ON_ACTUATOR, to);
        }
    return "there is no such actuator";
}

static const char *find_object(mjcf *m, xml_element *e, int kind, mjcf_place *to)
{
    switch (kinds[kind].on) {
    case ON_SITE: return mjcf_find_site(m, xml_value(e, "site"), to);
    case ON_BALL_SITE: return find_ball_site(m, xml_value(e, "site"), to);
    case ON_HINGE:
    case ON_BALL: return find_joint(m, xml_value(e, "joint"), kinds[kind].on, to);
    case ON_ACTUATOR: return find_actuator(m, xml_value(e, "actuator"), to);
    case ON_FRAME: return find_frame(m, e, kinds[kind].type, to);
    case ON_TREE: return find_tree(m, e, to);
    case ON_TENDON: return find_tendon(m, xml_value(e, "tendon"), false, to);
    default: return NULL;
    }
}

static void tell_sensor(mjcf *m, xml_element *e, int kind, int number)
{
    static const double none[1] = {0};
    robot *const r = m->r;
    const sensor_type *const type = &sensor_types[kinds[kind].type];
    const char *const given = xml_value(e, "name");
    mjcf_place place = {.at = {.q = {1, 0, 0, 0}}};
    const char *const why = find_object(m, e, kind, &place);
    double noise;
    char name[40];
    if (why) {
        xml_use_all(e);
        mjcf_ignore(m, e, why);
        return;
    }
    if (!robot_numbers(r, e, "noise", 1, none, &noise)) return;
    snprintf(name, sizeof name, "%s.%d", e->name, number);
    say_open(r, NULL, NODE_MAPPING, e->at);
    say_text(r, "name", given && *given ? given : name, e->at);
    say_word(r, "type", type->name, e->at);
    if (place.tendon) say_text(r, "tendon", place.tendon, e->at);
    if (place.link) say_text(r, type->of <= SENSOR_OF_MOTOR ? "joint" : "link", place.link, e->at);
    const bool touches = type->of == SENSOR_OF_CONTACT;
    if (type->of == SENSOR_OF_FRAME || type->of == SENSOR_OF_POINT || touches) say_unless_zero(r, "point", place.at.p, 3, e->at);
    if (touches) say_number(r, "radius", place.radius, e->at);
    const bool turned = fabs(place.at.q[0]) != 1;
    if (turned && (type->of == SENSOR_OF_FRAME || type->of == SENSOR_OF_AXES)) say_numbers(r, "rotation", place.at.q, 4, e->at);
    if (noise > 0) say_number(r, "noise", noise, e->at);
    say_close(r);
}

void mjcf_tell_sensors(mjcf *m)
{
    robot *const r = m->r;
    bool open = false;
    int number = 0;
    for (xml_element *list = xml_next(r->root->child, "sensor"); list; list = xml_next(list->next, "sensor")) {
        list->used = true;
        for (xml_element *e = list->child; e && r->good; e = e->next, number++) {
            int kind = 0;
            while (kind < KINDS && strcmp(e->name, kinds[kind].name) != 0) kind++;
            if (kind == KINDS) continue;  // listed with all that nobody has read
            e->used = true;
            xml_find(e, "user");
            if (!open) say_open(r, "sensors", NODE_SEQUENCE, list->at), open = true;
            tell_sensor(m, e, kind, number);
        }
    }
    if (open) say_close(r);
}
