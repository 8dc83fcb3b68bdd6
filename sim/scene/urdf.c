/// URDF (http://wiki.ros.org/urdf/XML): links and joints in any order become links, each with the joint that leads to it, parents
/// first.
#include "sim/base/name_table.h"
#include "sim/base/suggest.h"
#include "sim/scene/robot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct urdf_link {
    xml_element *element;
    const char *name;
    xml_element *joint;  // that moves it, NULL: it is the base
    int parent;          // link, -1: none
    int child, next;     // first child, next one of the same parent, in the order of the file; -1: none
    int last;            // child
    bool told;
} urdf_link;

typedef struct urdf {
    robot *r;
    urdf_link *links;
    int nlink;
    name_table names;
} urdf;

static const char *link_name(const void *of, int i) { return ((const urdf *)of)->links[i].name; }

static const double none[3] = {0, 0, 0};

// ---- the tree

static bool find_links(urdf *u)
{
    robot *const r = u->r;
    int most = 0;
    for (xml_element *e = xml_next(r->root->child, "link"); e; e = xml_next(e->next, "link")) most++;
    u->links = reader_alloc(r->s->r, (size_t)most * sizeof *u->links);
    if (!u->links) return false;
    for (xml_element *e = xml_next(r->root->child, "link"); e; e = xml_next(e->next, "link")) {
        const char *const name = robot_need(r, e, "name");
        if (!name) continue;
        const int other = name_table_find(&u->names, name);
        if (other >= 0) {
            robot_bad(r, e->at, "<link>: the name '%s' is already that of the link in line %d", printable(name).text,
                      u->links[other].element->at.line);
            continue;
        }
        u->links[u->nlink] = (urdf_link){.element = e, .name = name, .parent = -1, .child = -1, .next = -1, .last = -1};
        if (!name_table_add(&u->names, u->nlink)) return out_of_memory(r->s);
        u->nlink++;
    }
    return u->nlink || robot_bad(r, r->root->at, "<robot>: has no <link>");
}

/// Whether the file is URDF, not macros that URDF is made of. What xacro has made keeps `xmlns:xacro`, and is URDF.
static bool is_expanded(robot *r)
{
    const xml_element *e = r->root->child;
    bool links = false;
    for (; e && strncmp(e->name, "xacro:", 6) != 0; e = e->next) links = links || !strcmp(e->name, "link");
    if (!e && (links || !xml_find(r->root, "xmlns:xacro"))) return true;
    if (!e) e = r->root;
    return robot_bad(r, e->at, "<%s>: this is a file of macros, no URDF; `xacro FILE` makes URDF of it", printable(e->name).text);
}

/// The link that <parent link="..."/> or <child link="..."/> of a joint names, -1: reported.
static int find_end(urdf *u, xml_element *joint, const char *end)
{
    robot *const r = u->r;
    xml_element *const e = xml_next(joint->child, end);
    if (!e) robot_bad(r, joint->at, "<joint>: missing <%s link=\"...\"/>", end);
    const char *const name = e ? robot_need(r, e, "link") : NULL;
    const int link = name ? name_table_find(&u->names, name) : -1;
    if (!name || link >= 0) return link;
    const char *names[1000];
    int n = 0;
    for (; n < u->nlink && n < 1000; n++) names[n] = u->links[n].name;
    const char *const meant = nearest_name(name, names, n);
    if (meant)
        robot_bad(r, e->at, "<%s>: unknown link '%s'; did you mean '%s'?", end, printable(name).text, printable(meant).text);
    else robot_bad(r, e->at, "<%s>: unknown link '%s'; the file has no <link> of this name", end, printable(name).text);
    return -1;
}

static bool find_joints(urdf *u)
{
    robot *const r = u->r;
    for (xml_element *e = xml_next(r->root->child, "joint"); e; e = xml_next(e->next, "joint")) {
        if (!robot_need(r, e, "name")) continue;
        const int parent = find_end(u, e, "parent"), child = find_end(u, e, "child");
        if (parent < 0 || child < 0) continue;
        urdf_link *const link = &u->links[child], *const above = &u->links[parent];
        if (link->joint) {
            robot_bad(r, e->at, "<joint>: link '%s' is the child of the joint in line %d already; closed loops are not read",
                      printable(link->name).text, link->joint->at.line);
            continue;
        }
        link->joint = e, link->parent = parent;
        if (above->last >= 0) u->links[above->last].next = child;
        else above->child = child;
        above->last = child;
    }
    return r->good;
}

// ---- one link

/// xyz and rpy of <origin>, which may be missing.
static bool read_origin(robot *r, xml_element *of, double xyz[3], double rpy[3])
{
    xml_element *const origin = of ? xml_next(of->child, "origin") : NULL;
    memcpy(xyz, none, sizeof none), memcpy(rpy, none, sizeof none);
    return !origin || (robot_numbers(r, origin, "xyz", 3, none, xyz) && robot_numbers(r, origin, "rpy", 3, none, rpy));
}

static void tell_mass(robot *r, xml_element *link, bool moves)
{
    xml_element *const inertial = xml_next(link->child, "inertial");
    if (!inertial) {
        if (moves) say_number(r, "mass", 0, link->at);
        return;
    }
    xml_element *const mass = xml_next(inertial->child, "mass"), *const inertia = xml_next(inertial->child, "inertia");
    double m, xyz[3], rpy[3], q[4], J[6], I[6];
    if (!mass) robot_bad(r, inertial->at, "<inertial>: missing <mass value=\"...\"/>");
    if (!inertia) robot_warn(r, inertial->at, "<inertial>: no <inertia>: taken for a point");
    if (!mass || !read_origin(r, inertial, xyz, rpy) || !robot_numbers(r, mass, "value", 1, NULL, &m)) return;
    static const char *const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    bool ok = true;
    for (int k = 0; k < 6; k++) {
        J[k] = 0;
        if (inertia) ok = robot_numbers(r, inertia, names[k], 1, k < 3 ? NULL : none, &J[k]) && ok;
    }
    if (!ok) return;
    quaternion_from_euler(rpy, q);
    turned_inertia(q, J, I);
    const bool turned = rpy[0] != 0 || rpy[1] != 0 || rpy[2] != 0;
    say_number(r, "mass", m, xml_find(mass, "value")->at);
    say_unless_zero(r, "com", xyz, 3, inertial->at);
    say_numbers(r, "inertia", turned ? I : J, 6, (inertia ? inertia : inertial)->at);
}

/// A cylinder or capsule: its ends.
static bool tell_round(robot *r, xml_element *e, const double xyz[3], const double q[4])
{
    double radius, length;
    if (!(robot_numbers(r, e, "radius", 1, NULL, &radius) && robot_numbers(r, e, "length", 1, NULL, &length))) return false;
    double from[3] = {0, 0, -length / 2}, to[3] = {0, 0, length / 2};
    rotate(q, from, from), rotate(q, to, to);
    for (int k = 0; k < 3; k++) from[k] += xyz[k], to[k] += xyz[k];
    say_text(r, "type", e->name, e->at);
    say_numbers(r, "from", from, 3, e->at), say_numbers(r, "to", to, 3, e->at);
    say_number(r, "radius", radius, e->at);
    return true;
}

/// <geometry> at xyz, rpy as keys of a shape.
static bool tell_geometry(robot *r, xml_element *geometry, const double xyz[3], const double rpy[3])
{
    xml_element *e;
    double q[4], x[3];
    quaternion_from_euler(rpy, q);
    if ((e = xml_next(geometry->child, "cylinder")) || (e = xml_next(geometry->child, "capsule")))
        return tell_round(r, e, xyz, q);
    if ((e = xml_next(geometry->child, "sphere"))) {
        if (!robot_numbers(r, e, "radius", 1, NULL, x)) return false;
        say_text(r, "type", "sphere", e->at);
        say_numbers(r, "center", xyz, 3, e->at);
        say_number(r, "radius", *x, e->at);
        return true;
    }
    if ((e = xml_next(geometry->child, "box"))) {
        if (!robot_numbers(r, e, "size", 3, NULL, x)) return false;
        say_text(r, "type", "box", e->at);
        say_numbers(r, "center", xyz, 3, e->at), say_unless_zero(r, "euler", rpy, 3, e->at);
        say_numbers(r, "size", x, 3, e->at);
        return true;
    }
    if ((e = xml_next(geometry->child, "mesh"))) {
        static const double one[3] = {1, 1, 1};
        const char *const file = robot_need(r, e, "filename");
        if (!file || !robot_numbers(r, e, "scale", 3, one, x)) return false;
        say_text(r, "type", "mesh", e->at);
        say_text(r, "file", file, xml_find(e, "filename")->at);
        say_unless_zero(r, "position", xyz, 3, e->at), say_unless_zero(r, "euler", rpy, 3, e->at);
        if (memcmp(x, one, sizeof one) != 0) say_numbers(r, "scale", x, 3, e->at);
        say_word(r, "optional", "true", e->at);
        return true;
    }
    return robot_bad(r, geometry->at, "<geometry>: expected <box>, <cylinder>, <capsule>, <sphere> or <mesh>");
}

/// The colour of a <material>, of its own or the robot's of the same name; false: it has none.
static bool find_color(robot *r, xml_element *visual, double rgba[4])
{
    xml_element *material = xml_next(visual->child, "material");
    if (!material) return false;
    const char *const name = xml_value(material, "name");
    xml_element *color = xml_next(material->child, "color");
    xml_use_all(material);
    for (xml_element *e = xml_next(r->root->child, "material"); e && !color; e = xml_next(e->next, "material")) {
        xml_use_all(e);
        const char *const other = xml_value(e, "name");
        if (name && other && !strcmp(name, other)) color = xml_next(e->child, "color");
    }
    return color && robot_numbers(r, color, "rgba", 4, NULL, rgba);
}

/// Whether a <visual> or <collision> of a link can be read: its mesh, if it is one, is of a format that we read.
static bool readable(source *s, xml_element *link, const char *kind)
{
    for (xml_element *e = xml_next(link->child, kind); e; e = xml_next(e->next, kind)) {
        xml_element *const geometry = xml_next(e->child, "geometry");
        xml_element *const mesh = geometry ? xml_next(geometry->child, "mesh") : NULL;
        const char *const file = mesh ? xml_value(mesh, "filename") : NULL;
        if (!file || mesh_readable(s, file)) return true;
    }
    return false;
}

/// Whether a <geometry> has no inside: some files draw what is not there as a sphere of radius 0.
static bool is_nothing(robot *r, xml_element *geometry)
{
    static const double one[3] = {1, 1, 1};
    double x[3], length;
    xml_element *e;
    if ((e = xml_next(geometry->child, "sphere"))) return robot_numbers(r, e, "radius", 1, one, x) && *x == 0;
    if ((e = xml_next(geometry->child, "box")))
        return xml_find(e, "size") && robot_numbers(r, e, "size", 3, one, x) && (x[0] == 0 || x[1] == 0 || x[2] == 0);
    if ((e = xml_next(geometry->child, "cylinder")) || (e = xml_next(geometry->child, "capsule")))
        return robot_numbers(r, e, "radius", 1, one, x) && robot_numbers(r, e, "length", 1, one, &length) &&
               (*x == 0 || (length == 0 && !strcmp(e->name, "cylinder")));
    return false;
}

/// All of a kind as shapes. drawn: they are; solid: they touch, and are what fluids meet.
static void tell_kind(robot *r, xml_element *link, const char *kind, bool drawn, bool touches, bool solid)
{
    for (xml_element *e = xml_next(link->child, kind); e; e = xml_next(e->next, kind)) {
        double xyz[3], rpy[3], rgba[4];
        xml_element *const geometry = xml_next(e->child, "geometry");
        xml_value(e, "name");
        if (!geometry) robot_bad(r, e->at, "<%s>: missing <geometry>", kind);
        if (!geometry || !read_origin(r, e, xyz, rpy)) continue;
        if (is_nothing(r, geometry)) {
            find_color(r, e, rgba);
            robot_warn(r, geometry->at, "<geometry>: of a size of 0; left out");
            continue;
        }
        say_open(r, NULL, NODE_MAPPING, e->at);
        if (tell_geometry(r, geometry, xyz, rpy) && find_color(r, e, rgba)) say_numbers(r, "color", rgba, 3, e->at);
        if (!drawn) say_word(r, "draw", "false", e->at);
        if (!touches) say_word(r, "contact", "false", e->at);
        if (!solid) say_number(r, "density", 0, e->at);
        say_close(r);
    }
}

/// Shapes of a link: every <visual>, which is drawn, and every <collision>, which touches, and is what fluids meet. Where one kind
/// is there, but none of it can be read, the other one does for both. What has no <collision> touches nothing.
static void tell_shapes(robot *r, xml_element *link)
{
    xml_element *const visual = xml_next(link->child, "visual"), *const collision = xml_next(link->child, "collision");
    if (!visual && !collision) return;
    const bool visible = readable(r->s, link, "visual"), solid = readable(r->s, link, "collision");
    say_open(r, "shapes", NODE_SEQUENCE, (visual ? visual : collision)->at);
    if (visible || !solid) tell_kind(r, link, "visual", true, collision && !solid, !solid);
    else
        for (xml_element *e = visual; e; e = xml_next(e->next, "visual")) xml_use_all(e);
    tell_kind(r, link, "collision", !visible, true, true);
    say_close(r);
}

// ---- joints

static const struct {
    const char *urdf, *ours;
    bool axis, limits;
} joint_types[] = {
    {"revolute", "revolute", true, true}, {"continuous", "revolute", true, false}, {"prismatic", "prismatic", true, true},
    {"fixed", "fixed", false, false},     {"floating", "free", false, false},      {"planar", "planar", true, false},
};
enum { JOINT_TYPES = sizeof joint_types / sizeof *joint_types };

static int joint_type(robot *r, xml_element *joint)
{
    const char *const type = robot_need(r, joint, "type"), *names[JOINT_TYPES];
    if (!type) return -1;
    for (int k = 0; k < JOINT_TYPES; k++)
        if (!strcmp(type, names[k] = joint_types[k].urdf)) return k;
    const char *const meant = nearest_name(type, names, JOINT_TYPES);
    robot_bad(r, xml_find(joint, "type")->at, "<joint>: unknown type '%s'; %s%s%s", printable(type).text,
              meant ? "did you mean '" : "joints are revolute, continuous, prismatic, fixed, floating, planar",
              meant ? meant : "", meant ? "'?" : "");
    return -1;
}

/// A speed is where the effort of motors ends: without one it stays among what is ignored. single: of one degree of freedom. One that
/// follows another joint starts where that has it.
static void tell_limits(robot *r, xml_element *joint, bool bounds, bool single, bool follows)
{
    xml_element *const limit = xml_next(joint->child, "limit");
    double lo, hi, effort, speed;
    if (!limit) {
        if (bounds) robot_warn(r, joint->at, "<joint>: no <limit>: it moves without limits");
        return;
    }
    if (!(robot_numbers(r, limit, "lower", 1, none, &lo) && robot_numbers(r, limit, "upper", 1, none, &hi) &&
          robot_numbers(r, limit, "effort", 1, none, &effort)))
        return;
    const double range[2] = {lo, hi};
    if (bounds && lo < hi) {
        say_numbers(r, "limits", range, 2, limit->at);
        const double start = fmin(fmax(lo, 0), hi);  // a start outside would be thrown back
        if (start != 0 && !follows) {
            robot_warn(r, limit->at, "<limit>: 0 is not from %g to %g: the joint starts at %g", lo, hi, start);
            say_number(r, "q0", start, limit->at);
        }
    } else if (bounds) robot_warn(r, limit->at, "<limit>: from %g to %g is no range: the joint moves without limits", lo, hi);
    if (!(effort > 0)) return;
    say_number(r, "effort", effort, xml_find(limit, "effort")->at);
    if (single && robot_numbers(r, limit, "velocity", 1, none, &speed) && speed > 0)
        say_number(r, "speed", speed, xml_find(limit, "velocity")->at);
}

/// The type, axis and numbers of a joint. A planar one whose plane is not that of x and y is turned there by its caller.
static void tell_joint(robot *r, xml_element *joint, int type)
{
    static const double x[3] = {1, 0, 0};
    const char *const ours = joint_types[type].ours;
    double axis[3], damping, friction;
    xml_element *e = xml_next(joint->child, "mimic"), *const mimic = r->s->free_mimics ? NULL : e;
    if (e && r->s->free_mimics) {
        xml_use_all(e);
        robot_warn(r, e->at, "<mimic>: joint '%s' follows no other one: it moves on its own, as `mimic: free` asks for",
                   printable(robot_need(r, joint, "name")).text);
    }
    say_open(r, "joint", NODE_MAPPING, joint->at);
    say_word(r, "type", ours, joint->at);
    e = xml_next(joint->child, "axis");
    if (!joint_types[type].axis) {
        if (e) xml_use_all(e);
    } else if (strcmp(ours, "planar") != 0) {
        memcpy(axis, x, sizeof x);
        if (!e || robot_numbers(r, e, "xyz", 3, x, axis)) say_numbers(r, "axis", axis, 3, e ? e->at : joint->at);
    }
    if (strcmp(ours, "fixed") != 0) tell_limits(r, joint, joint_types[type].limits, strcmp(ours, "planar") != 0, mimic);
    else if ((e = xml_next(joint->child, "limit"))) xml_use_all(e);
    if ((e = xml_next(joint->child, "dynamics"))) {
        if (robot_numbers(r, e, "damping", 1, none, &damping) && damping != 0 && strcmp(ours, "fixed") != 0)
            say_number(r, "damping", damping, xml_find(e, "damping")->at);
        if (robot_numbers(r, e, "friction", 1, none, &friction) && friction != 0 && strcmp(ours, "fixed") != 0) {
            if (strcmp(ours, "free") != 0) say_number(r, "friction", friction, xml_find(e, "friction")->at);
            else robot_warn(r, e->at, "ignored: friction of <dynamics>: a floating joint has none");
        }
    }
    say_close(r);
}

/// q turns z to the axis of a planar joint; false where it is z already.
static bool plane_turns(robot *r, xml_element *joint, double q[4])
{
    static const double x[3] = {1, 0, 0};
    xml_element *const e = xml_next(joint->child, "axis");
    double n[3] = {1, 0, 0};
    if ((e && !robot_numbers(r, e, "xyz", 3, x, n)) || !normalise(n, 3)) {
        if (r->good) robot_bad(r, e->at, "<axis>: a direction of length 0");
        return false;
    }
    if (n[2] == 1) return false;
    const bool opposite = n[2] < -1 + 1e-12;  // half a turn about x
    q[0] = opposite ? 0 : 1 + n[2], q[1] = opposite ? 1 : -n[1], q[2] = opposite ? 0 : n[0], q[3] = 0;
    return normalise(q, 4);
}

// ---- links, parents first

static void tell_parent(urdf *u, const urdf_link *link, document_place at)
{
    const char *const parent = link->parent < 0 ? "world" : u->links[link->parent].name;
    if (strcmp(parent, "world") != 0) say_text(u->r, "parent", parent, at);
}

/// A planar joint off the plane of x and y has a frame of its own, which its link is fixed to.
static void tell_plane(urdf *u, const urdf_link *link, int type, const double xyz[3], const double rpy[3], const double turn[4])
{
    robot *const r = u->r;
    const document_place at = link->joint->at;
    const double back[4] = {turn[0], -turn[1], -turn[2], -turn[3]};
    double q[4];
    char *const name = reader_alloc(r->s->r, strlen(link->name) + sizeof ".plane");
    if (!name) return;
    strcpy(name, link->name), strcat(name, ".plane");
    quaternion_from_euler(rpy, q);
    quaternion_product(q, turn, q);
    say_open(r, NULL, NODE_MAPPING, at);
    say_text(r, "name", name, at);
    tell_parent(u, link, at);
    say_unless_zero(r, "position", xyz, 3, at), say_numbers(r, "rotation", q, 4, at);
    tell_joint(r, link->joint, type);
    say_number(r, "mass", 0, at);
    say_close(r);
    say_open(r, NULL, NODE_MAPPING, link->element->at);
    say_text(r, "name", link->name, link->element->at);
    say_text(r, "parent", name, at);
    say_numbers(r, "rotation", back, 4, at);
    free(name);
}

/// A floating joint inside a tree: three sliders along the axes of its frame, each with a link of its own, then a ball.
static void tell_floating(urdf *u, const urdf_link *link, const double xyz[3], const double rpy[3])
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    robot *const r = u->r;
    const document_place at = link->joint->at;
    xml_element *e;
    char *const name = reader_alloc(r->s->r, strlen(link->name) + sizeof ".x");
    for (const char *const *k = (const char *const[]){"limit", "axis", "dynamics", NULL}; *k; k++)
        if ((e = xml_next(link->joint->child, *k))) xml_use_all(e);
    for (int k = 0; k < 3 && name; k++) {
        say_open(r, NULL, NODE_MAPPING, at);
        strcpy(name, link->name), strcat(name, (const char *const[]){".x", ".y", ".z"}[k]);
        say_text(r, "name", name, at);
        if (k) name[strlen(name) - 1] = "xyz"[k - 1], say_text(r, "parent", name, at);
        else tell_parent(u, link, at), say_unless_zero(r, "position", xyz, 3, at), say_unless_zero(r, "euler", rpy, 3, at);
        say_open(r, "joint", NODE_MAPPING, at);
        say_word(r, "type", "prismatic", at), say_numbers(r, "axis", axes[k], 3, at);
        say_close(r);
        say_number(r, "mass", 0, at);
        say_close(r);
    }
    say_open(r, NULL, NODE_MAPPING, link->element->at);
    say_text(r, "name", link->name, link->element->at);
    if (name) strcpy(name, link->name), strcat(name, ".z"), say_text(r, "parent", name, at);
    say_word(r, "joint", "ball", at);
    free(name);
}

static void tell_link(urdf *u, int i)
{
    robot *const r = u->r;
    urdf_link *const link = &u->links[i];
    const document_place at = link->element->at;
    double xyz[3], rpy[3], turn[4];
    link->told = true;
    if (!link->joint && !strcmp(link->name, "world")) {  // what hangs on it hangs on the world
        if (r->s->free_base) robot_bad(r, at, "<link>: the base is the world, and cannot be free");
        return;
    }
    const int type = link->joint ? joint_type(r, link->joint) : -1;
    if (link->joint && (type < 0 || !read_origin(r, link->joint, xyz, rpy))) return;
    bool moves = link->joint ? strcmp(joint_types[type].ours, "fixed") != 0 : r->s->free_base;
    if (link->joint && !strcmp(joint_types[type].ours, "free") && strcmp(u->links[link->parent].name, "world") != 0)
        tell_floating(u, link, xyz, rpy);
    else if (link->joint && !strcmp(joint_types[type].ours, "planar") && plane_turns(r, link->joint, turn)) {
        tell_plane(u, link, type, xyz, rpy, turn);
        moves = false;
    } else {
        say_open(r, NULL, NODE_MAPPING, at);
        say_text(r, "name", link->name, at);
        tell_parent(u, link, at);
        if (link->joint) {
            xml_element *const origin = xml_next(link->joint->child, "origin");
            const document_place where = origin ? origin->at : link->joint->at;
            say_unless_zero(r, "position", xyz, 3, where), say_unless_zero(r, "euler", rpy, 3, where);
            tell_joint(r, link->joint, type);
        } else if (r->s->free_base) {
            say_word(r, "joint", "free", at);
        }
    }
    tell_mass(r, link->element, moves);
    tell_shapes(r, link->element);
    say_close(r);
}

// ---- joints that follow others

/// The link that the joint called `name` moves; -1: reported, at `at`.
static int link_of_joint(urdf *u, const char *name, document_place at)
{
    const char *names[1000];
    int n = 0;
    for (int i = 0; i < u->nlink; i++) {
        const char *const other = u->links[i].joint ? xml_value(u->links[i].joint, "name") : NULL;
        if (!other) continue;
        if (!strcmp(other, name)) return i;
        if (n < 1000) names[n++] = other;
    }
    const char *const meant = nearest_name(name, names, n);
    robot_bad(u->r, at, "<mimic>: unknown joint '%s'%s%s%s", printable(name).text, meant ? "; did you mean '" : "", meant ? meant : "",
              meant ? "'?" : "; the file has no <joint> of this name");
    return -1;
}

/// Whether a joint has one degree of freedom; fixed: it has none.
static bool is_single(const char *ours, bool *fixed)
{
    *fixed = !strcmp(ours, "fixed");
    return !strcmp(ours, "revolute") || !strcmp(ours, "prismatic");
}

/// An entry of `couplings:` for a joint that follows another one: q = multiplier * q of that + offset. What follows a fixed joint is held.
static bool tell_mimic(urdf *u, const urdf_link *link, bool *open)
{
    static const double one[1] = {1};
    robot *const r = u->r;
    xml_element *const e = xml_next(link->joint->child, "mimic");
    const char *const name = e ? robot_need(r, e, "joint") : NULL;
    if (!name) return !e;
    double ratio, offset;
    bool fixed, still;
    const int leader = link_of_joint(u, name, e->at), type = joint_type(r, link->joint);
    if (leader < 0 || type < 0 || !robot_numbers(r, e, "multiplier", 1, one, &ratio) || !robot_numbers(r, e, "offset", 1, none, &offset))
        return false;
    const int of = joint_type(r, u->links[leader].joint);
    if (of < 0) return false;
    const bool single = is_single(joint_types[type].ours, &fixed), led = is_single(joint_types[of].ours, &still);
    if (fixed) return true;
    if (!single || !(led || still) || u->links[leader].joint == link->joint)
        return robot_bad(r, e->at,
                         "<mimic>: a joint follows another one, both revolute, continuous or prismatic; a scene with `urdf: {file: ..., "
                         "mimic: free}` lets joints move on their own");
    if (!*open) say_open(r, "couplings", NODE_SEQUENCE, e->at), *open = true;
    say_open(r, NULL, NODE_MAPPING, e->at);
    say_text(r, "joint", link->name, e->at);
    if (led) say_text(r, "follows", u->links[leader].name, e->at), say_number(r, "ratio", ratio, e->at);
    if (offset != 0 || still) say_number(r, "offset", offset, e->at);
    say_close(r);
    return true;
}

static void tell_mimics(urdf *u)
{
    bool open = false;
    for (int i = 0; i < u->nlink && !u->r->s->free_mimics; i++)
        if (u->links[i].joint) tell_mimic(u, &u->links[i], &open);
    if (open) say_close(u->r);
}

bool read_urdf(robot *r)
{
    urdf u = {.r = r};
    u.names = (name_table){.name = link_name, .of = &u};
    const char *const name = xml_value(r->root, "name");
    const document_place at = r->root->at;
    bool ok = is_expanded(r) && find_links(&u) && find_joints(&u);
    int base = -1;
    for (int i = 0; ok && i < u.nlink; i++) {
        if (u.links[i].joint) continue;
        if (base >= 0)
            robot_bad(r, u.links[i].element->at, "<link>: '%s' hangs on no joint, as does '%s'; a robot has one base",
                      printable(u.links[i].name).text, printable(u.links[base].name).text);
        else base = i;
    }
    if (ok && base < 0) ok = robot_bad(r, at, "<robot>: every link is the child of a joint: they go in a circle");
    if (ok && r->good) {
        say_open(r, NULL, NODE_MAPPING, at);
        say_word(r, "catena", "1", at);
        if (name && *name) say_text(r, "name", name, at);
        say_word(r, "inertias", "as-given", at);
        say_open(r, "links", NODE_SEQUENCE, at);
        for (int i = base; i >= 0;) {  // depth first, in the order of the file
            tell_link(&u, i);
            if (u.links[i].child >= 0) {
                i = u.links[i].child;
                continue;
            }
            while (i >= 0 && u.links[i].next < 0) i = u.links[i].parent;
            if (i >= 0) i = u.links[i].next;
        }
        say_close(r);
        tell_mimics(&u);
        say_close(r);
        for (int i = 0; i < u.nlink && r->good; i++)
            if (!u.links[i].told)
                robot_bad(r, u.links[i].element->at, "<link>: '%s' hangs on itself, by a circle of joints",
                          printable(u.links[i].name).text);
    }
    name_table_free(&u.names);
    free(u.links);
    return ok && r->good;
}
