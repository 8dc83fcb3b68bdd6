/// What MuJoCo has between bodies: geoms that touch each other whatever their bits say, or do not; <equality> as loops and couplings;
/// <tendon> as tendons.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POWERS = 5 };  // of a polynomial

/// A list of the scene that is opened by its first entry.
typedef struct opened {
    const char *key;
    bool open;
} opened;

static void open_entry(mjcf *m, opened *list, document_place at)
{
    if (!list->open) say_open(m->r, list->key, NODE_SEQUENCE, at), list->open = true;
    say_open(m->r, NULL, NODE_MAPPING, at);
}

static void close_list(mjcf *m, const opened *list)
{
    if (list->open) say_close(m->r);
}

static const char *ignore(mjcf *m, xml_element *e, const char *why)
{
    xml_use_all(e);
    mjcf_ignore(m, e, why);
    return why;
}

/// 0: the world; -1: there is none.
static int body_called(const mjcf *m, const char *name)
{
    for (int b = 1; name && b < m->nbody; b++)
        if (!strcmp(m->bodies[b].name, name)) return b;
    return name && strcmp(name, "world") != 0 ? -1 : 0;
}

// ---- geoms

static void tell_excludes(mjcf *m)
{
    bool open = false;
    for (int k = 0; k < m->nexclude; k++) {
        const int *const e = m->excludes[k];
        if (e[0] == e[1] || !mjcf_moves(m, e[0]) || !mjcf_moves(m, e[1])) continue;  // those of what is fixed are layers
        const document_place at = m->bodies[e[0]].element->at;
        if (!open) say_open(m->r, "exclude", NODE_SEQUENCE, at), open = true;
        say_open(m->r, NULL, NODE_SEQUENCE, at);
        for (int side = 0; side < 2; side++) say_text(m->r, NULL, m->bodies[e[side]].name, at);
        say_close(m->r);
    }
    if (open) say_close(m->r);
}

static int body_of_geom(mjcf *m, const char *name)
{
    for (int i = 0; name && i < m->ngeom; i++) {
        const char *const other = xml_value(m->geoms[i].item.element, "name");
        if (other && !strcmp(other, name)) return m->scopes[m->geoms[i].scope].body;
    }
    return -1;
}

/// A pair here is of links: of all shapes of the one and all of the other.
static void tell_pair(mjcf *m, xml_element *e, opened *list, int (*told)[2], int *ntold)
{
    const int a = body_of_geom(m, xml_value(e, "geom1")), b = body_of_geom(m, xml_value(e, "geom2"));
    double friction[5] = {1, 1, 0.005, 0.0001, 0.0001};
    const xml_attribute *const says = xml_find(e, "friction");
    if (a < 0 || b < 0) {
        ignore(m, e, "there is no such geom");
        return;
    }
    if (a == b || !mjcf_moves(m, a) || !mjcf_moves(m, b)) {
        ignore(m, e, a == b ? "its geoms are of one body" : "one of its geoms does not move: it touches that by `layers`");
        return;
    }
    for (int k = 0; k < *ntold; k++)
        if ((told[k][0] == a && told[k][1] == b) || (told[k][0] == b && told[k][1] == a)) {
            ignore(m, e, "its bodies are a pair already, with all of their geoms");
            return;
        }
    if (says && !robot_list(m->r, says, 1, 5, friction)) return;
    told[*ntold][0] = a, told[(*ntold)++][1] = b;
    xml_use_all(e);  // how soft it is, and by how many directions it rubs
    open_entry(m, list, e->at);
    say_text(m->r, "a", m->bodies[a].name, e->at), say_text(m->r, "b", m->bodies[b].name, e->at);
    if (says) say_number(m->r, "friction", friction[0], says->at);
    say_close(m->r);
}

static void tell_pairs(mjcf *m)
{
    opened list = {.key = "pairs"};
    size_t count = 1;
    int n = 0;
    for (xml_element *c = xml_next(m->r->root->child, "contact"); c; c = xml_next(c->next, "contact"))
        for (xml_element *e = xml_next(c->child, "pair"); e; e = xml_next(e->next, "pair")) count++;
    int(*const told)[2] = reader_alloc(m->r->s->r, count * sizeof *told);
    for (xml_element *c = told ? xml_next(m->r->root->child, "contact") : NULL; c; c = xml_next(c->next, "contact"))
        for (xml_element *e = xml_next(c->child, "pair"); e; e = xml_next(e->next, "pair")) tell_pair(m, e, &list, told, &n);
    close_list(m, &list);
    free(told);
}

// ---- equalities

/// The two bodies of an equality, the second the world where it is not said, or those of its two sites with points on them. Returns
/// why there are none.
static const char *find_sides(mjcf *m, mjcf_item of, int body[2], mjcf_place at[2], bool *sites)
{
    const char *const site[2] = {mjcf_value(m, of, "site1"), mjcf_value(m, of, "site2")};
    *sites = site[0] && site[1];
    for (int k = 0; k < 2; k++) {
        if (*sites) {
            const char *const why = mjcf_find_any_site(m, site[k], &at[k], &body[k]);
            if (why) return why;
            continue;
        }
        const char *const name = mjcf_value(m, of, k ? "body2" : "body1");
        body[k] = name || k ? body_called(m, name) : -1;
        if (body[k] < 0) return "there is no such body";
    }
    if (body[0] == body[1]) return "it joins a body to itself";
    return mjcf_moves(m, body[0]) || mjcf_moves(m, body[1]) ? NULL : "nothing moves that it could hold";
}

static const char *link_called(const mjcf *m, int body) { return body ? m->bodies[body].name : "world"; }

/// A point of a body in the frame of its link.
static void say_point(mjcf *m, const char *key, int body, const double *point, document_place at)
{
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = point[k] - (body ? m->bodies[body].origin[k] : 0);
    say_numbers(m->r, key, x, 3, at);
}

static void say_sides(mjcf *m, mjcf_item of, const char *type, int a, int b)
{
    const document_place at = of.element->at;
    const char *const name = xml_value(of.element, "name");
    if (name && *name) say_text(m->r, "name", name, at);
    say_word(m->r, "type", type, at);
    say_text(m->r, "a", link_called(m, a), at), say_text(m->r, "b", link_called(m, b), at);
}

/// A ball joint between two bodies, at a point of the first one, or at a site of each.
static void tell_connect(mjcf *m, mjcf_item of, opened *list)
{
    int body[2];
    mjcf_place at[2];
    bool sites;
    double anchor[3];
    const document_place place = of.element->at;
    const char *const why = find_sides(m, of, body, at, &sites);
    if (why) {
        ignore(m, of.element, why);
        return;
    }
    if (!sites && !mjcf_numbers(m, of, "anchor", 3, NULL, anchor)) return;
    const bool swap = !body[0];  // the world is b
    open_entry(m, list, place);
    say_sides(m, of, "point", body[swap], body[!swap]);
    if (sites) say_numbers(m->r, "at_a", at[swap].at.p, 3, place), say_numbers(m->r, "at_b", at[!swap].at.p, 3, place);
    else say_point(m, swap ? "at_b" : "at_a", body[0], anchor, place);  // of the other one it is the point that is there
    say_close(m->r);
}

/// Two frames that are one: of b in a as at the start, or as `relpose` says; at a point of b, by which its turns count.
static void tell_weld(mjcf *m, mjcf_item of, opened *list)
{
    static const double none[7] = {0, 1, 0, 0, 0, 0, 0}, one[1] = {1};
    int body[2];
    mjcf_place at[2];
    bool sites;
    double anchor[3], relative[7], scale;
    const document_place place = of.element->at;
    const char *const why = find_sides(m, of, body, at, &sites);
    if (why) {
        ignore(m, of.element, why);
        return;
    }
    if (!mjcf_numbers(m, of, "anchor", 3, none + 2, anchor) || !mjcf_numbers(m, of, "relpose", 7, none, relative) ||
        !mjcf_numbers(m, of, "torquescale", 1, one, &scale))
        return;
    const bool given = !sites && normalise(relative + 3, 4);  // else a quaternion of 0: as at the start
    const bool swap = !body[0];
    open_entry(m, list, place);
    say_sides(m, of, "weld", body[swap], body[!swap]);
    if (sites || given) {
        mjcf_pose a = at[0].at, b = at[1].at, turn;
        if (given) {
            for (int k = 0; k < 3; k++) {  // the place in `relpose` is that of the anchor
                a.p[k] = relative[k] - (body[0] ? m->bodies[body[0]].origin[k] : 0);
                b.p[k] = anchor[k] - (body[1] ? m->bodies[body[1]].origin[k] : 0);
            }
            memcpy(turn.q, relative + 3, sizeof turn.q);  // of the second in the first
        } else {
            const double back[4] = {b.q[0], -b.q[1], -b.q[2], -b.q[3]};
            quaternion_product(a.q, back, turn.q);
        }
        const double back[4] = {turn.q[0], -turn.q[1], -turn.q[2], -turn.q[3]};
        say_numbers(m->r, "at_a", swap ? b.p : a.p, 3, place), say_numbers(m->r, "at_b", swap ? a.p : b.p, 3, place);
        say_numbers(m->r, "rotation", swap ? back : turn.q, 4, place);
    } else say_point(m, swap ? "at_a" : "at_b", body[1], anchor, place);
    if (scale > 0 && xml_find(of.element, "torquescale")) say_number(m->r, "length", scale, place);
    say_close(m->r);
}

/// The joint that an attribute names, of one degree of freedom, with its `ref`; NULL: there is none.
static const mjcf_joint *joint_called(mjcf *m, const char *name, double *ref)
{
    static const double none[1] = {0};
    static const char *const types[] = {"free", "ball", "hinge", "slide"};
    for (int i = 0; name && i < m->njoint; i++) {
        const mjcf_joint *const j = &m->joints[i];
        const char *const other = xml_value(j->item.element, "name");
        if (!other || strcmp(other, name) != 0) continue;
        if (j->nq != 1 || !mjcf_numbers(m, j->item, "ref", 1, none, ref)) return NULL;
        if (mjcf_word(m, j->item, "type", types, 4, 2) == 2) *ref *= m->degree;
        return j;
    }
    return NULL;
}

/// p(x - x0) + y0 of the polynomial p, as one of x.
static void shift_polynomial(const double *p, double x0, double y0, double *to)
{
    for (int k = 0; k < POWERS; k++) to[k] = 0;
    for (int k = POWERS - 1; k >= 0; k--) {  // Horner's rule on polynomials
        for (int i = POWERS - 1; i > 0; i--) to[i] = to[i - 1] - x0 * to[i];
        to[0] = p[k] - x0 * to[0];
    }
    to[0] += y0;
}

/// A joint that is a polynomial of another one, each by what it differs from its `ref`, or that is held.
static void tell_follower(mjcf *m, mjcf_item of, opened *list)
{
    double first = 0, second = 0, p[POWERS] = {0, 1, 0, 0, 0}, shifted[POWERS];
    robot *const r = m->r;
    const document_place at = of.element->at;
    const char *const name = xml_value(of.element, "name"), *const leads = mjcf_value(m, of, "joint2");
    const mjcf_joint *const a = joint_called(m, mjcf_value(m, of, "joint1"), &first), *const b = joint_called(m, leads, &second);
    if (!a || (leads && !b) || a == b) {
        ignore(m, of.element, "one of its joints is none, or neither a hinge nor a slide");
        return;
    }
    const int n = mjcf_some_numbers(m, of, "polycoef", POWERS, p);
    if (n < 0) return;
    open_entry(m, list, at);
    if (name && *name) say_text(r, "name", name, at);
    say_text(r, "joint", a->link, at);
    if (b) {
        shift_polynomial(p, second, first, shifted);
        say_text(r, "follows", b->link, at), say_numbers(r, "poly", shifted, POWERS, at);
    } else say_number(r, "offset", first + p[0], at);
    say_close(r);
}

/// Each kind of equality that there is here, one after the other: a list of the scene is of one.
static void tell_equalities(mjcf *m, const char *kind, opened *list, void (*tell)(mjcf *, mjcf_item, opened *))
{
    static const char *const soft[] = {"solref", "solimp"};
    for (xml_element *c = xml_next(m->r->root->child, "equality"); c; c = xml_next(c->next, "equality")) {
        c->used = true;
        for (xml_element *e = xml_next(c->child, kind); e && m->r->good; e = xml_next(e->next, kind)) {
            const mjcf_item of = {e, -1};  // what classes say of equalities is how soft they hold
            e->used = true, xml_value(e, "class");
            if (!mjcf_flag(m, of, "active", true)) {
                ignore(m, e, "it is not active");
                continue;
            }
            bool told = false;
            for (int k = 0; k < 2; k++)
                if (xml_find(e, soft[k]) && !told) mjcf_pass(&m->rows, e->at), told = true;
            tell(m, of, list);
        }
    }
}

// ---- tendons

/// Whether something in a list, "actuator" or "sensor", is on the tendon of this name.
static bool is_named(const mjcf *m, const char *list, const char *name)
{
    for (xml_element *c = xml_next(m->r->root->child, list); name && c; c = xml_next(c->next, list))
        for (xml_element *e = c->child; e; e = e->next) {
            const char *const tendon = xml_value(e, "tendon");
            if (tendon && !strcmp(tendon, name)) return true;
        }
    return false;
}

/// `joints`: a sum of them; *length: it at all `ref`. Why there is none; NULL: it is told, or it has been reported.
static const char *joints_of_tendon(mjcf *m, xml_element *e, double *length)
{
    for (xml_element *j = xml_next(e->child, "joint"); j; j = xml_next(j->next, "joint")) {
        double coefficient, ref;
        j->used = true;
        if (!robot_numbers(m->r, j, "coef", 1, NULL, &coefficient)) return NULL;
        if (!joint_called(m, xml_value(j, "joint"), &ref)) return "one of its joints is none, or neither a hinge nor a slide";
        *length += coefficient * ref;
    }
    return NULL;
}

static void say_joints(mjcf *m, xml_element *e)
{
    static const double none[1] = {0};
    say_open(m->r, "joints", NODE_MAPPING, e->at);
    for (xml_element *j = xml_next(e->child, "joint"); j; j = xml_next(j->next, "joint")) {
        double coefficient = 0, ref;
        const mjcf_joint *const joint = joint_called(m, xml_value(j, "joint"), &ref);
        robot_numbers(m->r, j, "coef", 1, none, &coefficient);
        say_number(m->r, joint->link, coefficient, j->at);
    }
    say_close(m->r);
}

/// Why a path is none that goes straight from site to site.
static const char *check_sites(mjcf *m, xml_element *e)
{
    int sites = 0;
    bool moves = false;
    for (xml_element *part = e->child; part; part = part->next) {
        mjcf_place at;
        int body;
        xml_use_all(part);
        if (!strcmp(part->name, "pulley")) {
            if (sites == 1) return "a branch has one site; it goes through two at least";
            sites = 0;
            continue;
        }
        if (!strcmp(part->name, "geom"))
            return "it wraps around a <geom>, which tendons here do not: lead it through more sites, or take <fixed>";
        if (strcmp(part->name, "site") != 0) continue;
        const char *const why = mjcf_find_any_site(m, xml_value(part, "site"), &at, &body);
        if (why) return why;
        sites++, moves = moves || mjcf_moves(m, body);
    }
    return sites < 2 ? "a branch has one site, or none; it goes through two at least" : moves ? NULL : "none of its sites moves";
}

static bool say_path(mjcf *m, xml_element *e)
{
    robot *const r = m->r;
    say_open(r, "path", NODE_SEQUENCE, e->at);
    for (xml_element *part = e->child; part; part = part->next) {
        const bool pulley = !strcmp(part->name, "pulley");
        mjcf_place at;
        double divisor;
        int body;
        if (!pulley && strcmp(part->name, "site") != 0) continue;
        if (pulley && !robot_numbers(r, part, "divisor", 1, NULL, &divisor)) return false;
        say_open(r, NULL, NODE_MAPPING, part->at);
        if (pulley) say_number(r, "pulley", divisor, part->at);
        else {
            mjcf_find_any_site(m, xml_value(part, "site"), &at, &body);
            say_text(r, "link", link_called(m, body), part->at), say_numbers(r, "at", at.at.p, 3, part->at);
        }
        say_close(r);
    }
    say_close(r);
    return true;
}

/// A sum of joints, or a path through sites, with a spring, a damper and limits. Where it is at rest, if nothing is said, is as long
/// as it is at all `ref`.
static void tell_tendon(mjcf *m, mjcf_item of, bool path, opened *list)
{
    robot *const r = m->r;
    xml_element *const e = of.element;
    const document_place at = e->at;
    const char *const name = xml_value(e, "name");
    double stiffness = 0, damping = 0, range[2], rest[2] = {-1, -1}, length = 0, first[3];
    const bool driven = is_named(m, "actuator", name), sensed = is_named(m, "sensor", name);
    xml_value(e, "group"), xml_value(e, "user"), xml_value(e, "margin"), xml_value(e, "width"), xml_value(e, "rgba");
    if (mjcf_find(m, of, "stiffness") && mjcf_some_numbers(m, of, "stiffness", 3, first) > 0) stiffness = first[0];
    if (mjcf_find(m, of, "damping") && mjcf_some_numbers(m, of, "damping", 3, first) > 0) damping = first[0];
    const int rests = mjcf_some_numbers(m, of, "springlength", 2, rest);
    const bool limited = mjcf_limited(m, of, "limited", "range", range);
    if (rests < 0 || !r->good) return;
    const char *const why = path ? check_sites(m, e) : joints_of_tendon(m, e, &length);
    if (!r->good) return;
    if (why || (!(stiffness > 0) && !(damping > 0) && !limited && !driven && !sensed)) {
        ignore(m, e, why ? why : "it has no spring, no damper, no limits, no actuator and no sensor");
        return;
    }
    if (rests == 1) rest[1] = rest[0];
    if (path && stiffness > 0 && rest[0] < 0 && m->key)
        robot_warn(r, at, "springlength: not given, and so it is at rest as the <key> has it at the start; say how long it is");
    open_entry(m, list, at);
    if (name && *name) say_text(r, "name", name, at);
    if (path && !say_path(m, e)) return;
    if (!path) say_joints(m, e);
    if (stiffness > 0 || driven || sensed) say_number(r, "stiffness", stiffness, at);
    if (stiffness > 0 && rest[0] >= 0 && rest[1] > rest[0]) say_numbers(r, "rest", rest, 2, at);
    else if (stiffness > 0 && (rest[0] >= 0 || !path)) say_number(r, "rest", rest[0] < 0 ? length : rest[0], at);
    if (damping > 0) say_number(r, "damping", damping, at);
    if (limited) say_numbers(r, "range", range, 2, at);
    say_close(r);
    if (name && *name) m->tendons[m->ntendon++] = (mjcf_tendon){.name = name};
}

static void tell_tendons(mjcf *m)
{
    opened list = {.key = "tendons"};
    size_t count = 1;
    for (xml_element *c = xml_next(m->r->root->child, "tendon"); c; c = xml_next(c->next, "tendon"))
        for (xml_element *e = c->child; e; e = e->next) count++;
    m->tendons = reader_alloc(m->r->s->r, count * sizeof *m->tendons);
    for (xml_element *c = m->tendons ? xml_next(m->r->root->child, "tendon") : NULL; c; c = xml_next(c->next, "tendon")) {
        c->used = true;
        for (xml_element *e = c->child; e && m->r->good; e = e->next) {
            const bool path = !strcmp(e->name, "spatial");
            if (!path && strcmp(e->name, "fixed") != 0) continue;
            e->used = true;
            tell_tendon(m, (mjcf_item){e, mjcf_find_class(m, e, "class", m->main)}, path, &list);
        }
    }
    close_list(m, &list);
}

void mjcf_tell_between(mjcf *m)
{
    opened loops = {.key = "loops"}, couplings = {.key = "couplings"};
    tell_excludes(m);
    tell_pairs(m);
    tell_equalities(m, "connect", &loops, tell_connect);
    tell_equalities(m, "weld", &loops, tell_weld);
    close_list(m, &loops);
    tell_equalities(m, "joint", &couplings, tell_follower);
    close_list(m, &couplings);
    tell_tendons(m);
}
