/// MJCF as the nodes of a scene: settings, bodies in the order of the file, and where the model starts.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- settings

static bool read_compiler(mjcf *m, xml_element *e)
{
    static const char *const angles[] = {"radian", "degree"}, *const places[] = {"global", "local"};
    static const char *const sources[] = {"auto", "true", "false"};
    static const char *const unused[] = {"texturedir", "discardvisual", "convexhull",   "usethread",
                                         "fusestatic", "fitaabb",       "saveinertial", "exactmeshinertia"};
    robot *const r = m->r;
    const mjcf_item of = {e, -1};
    for (size_t k = 0; k < sizeof unused / sizeof *unused; k++) xml_value(e, unused[k]);
    const int angle = mjcf_word(m, of, "angle", angles, 2, m->degree != 1);
    const int from = mjcf_word(m, of, "inertiafromgeom", sources, 3, (int)m->mass_from);
    if (angle < 0 || from < 0) return false;
    m->degree = angle ? M_PI / 180 : 1;
    m->mass_from = from;
    if (mjcf_word(m, of, "coordinate", places, 2, 1) == 0)
        return robot_bad(r, xml_find(e, "coordinate")->at,
                         "coordinate: global ones are not read; MuJoCo 2.3 saves the model in local ones");
    m->limits_by_range = mjcf_flag(m, of, "autolimits", m->limits_by_range);
    m->balance = mjcf_flag(m, of, "balanceinertia", m->balance);
    m->strip_path = mjcf_flag(m, of, "strippath", m->strip_path);
    const xml_attribute *const order = xml_find(e, "eulerseq");
    if (order && (strlen(order->value) != 3 || strspn(order->value, "xyzXYZ") != 3))
        return robot_bad(r, order->at, "eulerseq: expected three of x, y, z, X, Y, Z, found '%s'", printable(order->value).text);
    if (order) m->euler_order = order->value;
    const char *const assets = xml_value(e, "assetdir"), *const meshes = xml_value(e, "meshdir");
    if (assets) m->mesh_folder = assets;
    if (meshes) m->mesh_folder = meshes;
    double groups[2];
    if (!(robot_numbers(r, e, "boundmass", 1, &m->bound_mass, &m->bound_mass) &&
          robot_numbers(r, e, "boundinertia", 1, &m->bound_inertia, &m->bound_inertia) &&
          robot_numbers(r, e, "settotalmass", 1, &m->total_mass, &m->total_mass) &&
          robot_numbers(r, e, "inertiagrouprange", 2, (double[]){m->groups[0], m->groups[1]}, groups)))
        return false;
    for (int k = 0; k < 2; k++) m->groups[k] = (int)fmin(fmax(groups[k], -1), 1000);
    return true;
}

/// gravity, and the time step where the file has one.
static bool tell_option(mjcf *m)
{
    robot *const r = m->r;
    double gravity[3] = {0, 0, -9.81}, step = 0;
    document_place at = r->root->at, step_at = at;
    bool ok = true;
    for (xml_element *e = xml_next(r->root->child, "option"); e; e = xml_next(e->next, "option")) {
        static const char *const words[] = {"disable", "enable"};
        if (xml_find(e, "gravity")) at = e->at;
        if (xml_find(e, "timestep")) step_at = xml_find(e, "timestep")->at;
        ok = robot_numbers(r, e, "gravity", 3, gravity, gravity) && robot_numbers(r, e, "timestep", 1, &step, &step) && ok;
        xml_element *const flag = xml_next(e->child, "flag");
        if (flag && xml_find(flag, "contact")) m->no_contact = mjcf_word(m, (mjcf_item){flag, -1}, "contact", words, 2, 1) == 0;
        if (flag && xml_find(flag, "gravity") && mjcf_word(m, (mjcf_item){flag, -1}, "gravity", words, 2, 1) == 0)
            memset(gravity, 0, sizeof gravity);
    }
    say_numbers(r, "gravity", gravity, 3, at);
    if (step != 0) {
        say_open(r, "integrator", NODE_MAPPING, step_at);
        say_number(r, "dt", step, step_at);
        say_close(r);
    }
    return ok;
}

// ---- bodies

/// Room for all that <worldbody> may have: as many of each as there are elements of the name.
static bool make_room(mjcf *m)
{
    reader *const to = m->r->s->r;
    size_t bodies = 1, scopes = 1, joints = 0, geoms = 0, sites = 0;
    for (xml_element *e = m->r->root->child; e;) {
        const bool body = !strcmp(e->name, "body");
        bodies += body;
        scopes += body || !strcmp(e->name, "frame");
        joints += !strcmp(e->name, "joint") || !strcmp(e->name, "freejoint");
        geoms += !strcmp(e->name, "geom");
        sites += !strcmp(e->name, "site");
        if (e->child) {
            e = e->child;
            continue;
        }
        while (e && !e->next) e = e->up;
        e = e ? e->next : NULL;
    }
    m->bodies = reader_alloc(to, bodies * sizeof *m->bodies);
    m->scopes = reader_alloc(to, scopes * sizeof *m->scopes);
    m->joints = reader_alloc(to, (joints + 1) * sizeof *m->joints);
    m->geoms = reader_alloc(to, (geoms + 1) * sizeof *m->geoms);
    m->sites = reader_alloc(to, (sites + 1) * sizeof *m->sites);
    return m->bodies && m->scopes && m->joints && m->geoms && m->sites;
}

static const mjcf_pose here = {.q = {1, 0, 0, 0}};

static void add_body(mjcf *m, xml_element *e, int up)
{
    m->bodies[m->nbody] = (mjcf_body){.element = e,
                                      .parent = up < 0 ? -1 : m->scopes[up].body,
                                      .first_joint = -1,
                                      .last_joint = -1,
                                      .first_geom = -1,
                                      .last_geom = -1,
                                      .pose = here};
    m->scopes[m->nscope++] = (mjcf_scope){.up = up, .body = m->nbody++, .childclass = -1, .pose = here};
}

/// <body>: a name, a place in its parent, a class for what is in it.
static bool open_body(mjcf *m, xml_element *e, int up)
{
    static const double none[1] = {0};
    robot *const r = m->r;
    add_body(m, e, up);
    mjcf_body *const b = &m->bodies[m->nbody - 1];
    const mjcf_item of = {e, -1};
    b->name = xml_value(e, "name");
    if (!b->name || !*b->name) {
        char *const name = mjcf_text(m, sizeof "body.2147483647");
        if (!name) return false;
        sprintf(name, "body.%d", m->nbody - 1);
        b->name = name;
    }
    xml_value(e, "user");
    m->scopes[m->nscope - 1].childclass = mjcf_find_class(m, e, "childclass", m->scopes[up].childclass);
    if (!mjcf_read_pose(m, of, &b->pose)) return false;
    b->pose = mjcf_at(&m->scopes[up].pose, &b->pose);
    double compensation;
    if (robot_numbers(r, e, "gravcomp", 1, none, &compensation) && compensation != 0)
        robot_warn(r, e->at, "ignored: gravcomp of '%s': gravity pulls at all of it", printable(b->name).text);
    if (mjcf_flag(m, of, "mocap", false))
        robot_warn(r, e->at, "<body>: '%s' is moved by hand (mocap) in MuJoCo; here it is fixed to the world",
                   printable(b->name).text);
    return true;
}

static bool open_frame(mjcf *m, xml_element *e, int up)
{
    mjcf_scope *const s = &m->scopes[m->nscope++];
    *s = (mjcf_scope){.up = up, .body = m->scopes[up].body};
    xml_value(e, "name");
    s->childclass = mjcf_find_class(m, e, "childclass", m->scopes[up].childclass);
    if (!mjcf_read_pose(m, (mjcf_item){e, -1}, &s->pose)) return false;
    s->pose = mjcf_at(&m->scopes[up].pose, &s->pose);
    return true;
}

/// A joint or geom, or what stands for many.
static void add_part(mjcf *m, xml_element *e, int scope)
{
    static const char *const makers[] = {"replicate", "composite", "flexcomp", "attach"};
    robot *const r = m->r;
    const int childclass = m->scopes[scope].childclass;
    mjcf_body *const b = &m->bodies[m->scopes[scope].body];
    if (!strcmp(e->name, "geom")) {
        e->used = true;
        m->geoms[m->ngeom] = (mjcf_geom){.item = mjcf_item_of(m, e, childclass), .scope = scope, .next = -1};
        if (b->last_geom >= 0) m->geoms[b->last_geom].next = m->ngeom;
        else b->first_geom = m->ngeom;
        b->last_geom = m->ngeom++;
    } else if (!strcmp(e->name, "joint") || !strcmp(e->name, "freejoint")) {
        e->used = true;
        if (b == m->bodies) {
            robot_bad(r, e->at, "<%s>: the world does not move; joints are in a <body>", e->name);
            return;
        }
        const mjcf_item of = *e->name == 'f' ? (mjcf_item){e, -1} : mjcf_item_of(m, e, childclass);
        m->joints[m->njoint] = (mjcf_joint){.item = of, .scope = scope, .next = -1};
        if (b->last_joint >= 0) m->joints[b->last_joint].next = m->njoint;
        else b->first_joint = m->njoint;
        b->last_joint = m->njoint++, b->njoint++, b->moves = true;
    } else if (!strcmp(e->name, "site")) {  // not read yet: it may be that no sensor is on it
        m->sites[m->nsite++] = (mjcf_site){.item = mjcf_item_of(m, e, childclass), .scope = scope};
    } else if (!strcmp(e->name, "inertial")) {
        e->used = true;
        if (b->inertial) robot_bad(r, e->at, "<inertial>: there is one already, in line %d", b->inertial->at.line);
        b->inertial = e;
    }
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++)
        if (!strcmp(e->name, makers[k]))
            robot_bad(r, e->at,
                      "<%s>: is not read; let MuJoCo write the model out with mj_saveLastXML, which has the bodies that it makes",
                      makers[k]);
}

/// The bodies of <worldbody> in the order of the text, parents first, as MuJoCo counts them.
static bool collect(mjcf *m, xml_element *world)
{
    int scope = 0;
    for (xml_element *e = world->child; e;) {
        const bool body = !strcmp(e->name, "body"), frame = !strcmp(e->name, "frame");
        if (body || frame) {
            e->used = true;
            if (body ? !open_body(m, e, scope) : !open_frame(m, e, scope)) return false;
            if (e->child) {
                e = e->child, scope = m->nscope - 1;
                continue;
            }
        } else {
            add_part(m, e, scope);
        }
        while (!e->next && e->up != world) e = e->up, scope = m->scopes[scope].up;
        e = e->next;
    }
    return true;
}

static void tell_body(mjcf *m, mjcf_body *b)
{
    robot *const r = m->r;
    const document_place at = b->inertial ? b->inertial->at : b->element->at;
    const mass_properties *const p = &b->mass;
    if (!mjcf_tell_joints(m, b)) return;
    if (p->mass > 0) {
        double com[3];
        for (int k = 0; k < 3; k++) com[k] = p->com[k] - b->origin[k];
        say_number(r, "mass", p->mass, at);
        say_unless_zero(r, "com", com, 3, at);
        say_numbers(r, "inertia", p->inertia, 6, at);
    } else if (b->moves) {
        say_number(r, "mass", 0, at);
    }
    mjcf_tell_shapes(m, b);
    say_close(r);
}

/// What is drawn of the world itself, as a link.
static void tell_world(mjcf *m)
{
    robot *const r = m->r;
    const mjcf_body *const world = m->bodies;
    bool any = false;
    for (int i = world->first_geom; i >= 0 && !any; i = m->geoms[i].next) any = m->geoms[i].drawn && !m->geoms[i].field;
    if (!any) return;
    say_open(r, NULL, NODE_MAPPING, world->element->at);
    say_text(r, "name", "world.fixed", world->element->at);
    mjcf_tell_shapes(m, world);
    say_close(r);
}

// ---- where the model starts

/// The <key> called home, or the first one.
static void find_key(mjcf *m)
{
    robot *const r = m->r;
    for (xml_element *k = xml_next(r->root->child, "keyframe"); k; k = xml_next(k->next, "keyframe")) {
        for (xml_element *e = k->child; e; e = e->next) {
            if (strcmp(e->name, "key") != 0) continue;
            const char *const name = xml_value(e, "name");
            if (!m->key || (name && !strcmp(name, "home"))) m->key = e;
        }
    }
    if (m->key) m->key->used = true, xml_find(m->key, "time");
    if (!m->key || !r->s->free_base) return;
    robot_warn(r, m->key->at, "<key>: not used: the base is free, so that its numbers are those of another model");
    m->key = NULL;
}

static void tell_words(robot *r, const char *key, const xml_attribute *a)
{
    say_open(r, key, NODE_SEQUENCE, a->at);
    for (const char *p = a->value; *(p += strspn(p, " \t\r\n"));) {
        char word[64];
        const size_t length = strcspn(p, " \t\r\n");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), p);
        say_word(r, NULL, word, a->at);
        p += length;
    }
    say_close(r);
}

static int count_words(const char *p)
{
    int n = 0;
    for (; *(p += strspn(p, " \t\r\n")); n++) p += strcspn(p, " \t\r\n");
    return n;
}

/// Quaternions of any length, and no turn where that is 0, as in MuJoCo. What has another number of words is an error of the scene.
static void tell_coordinates(mjcf *m, const xml_attribute *a)
{
    robot *const r = m->r;
    int n = 0;
    for (int i = 0; i < m->njoint; i++) n += m->joints[i].nq;
    if (!n || count_words(a->value) != n) {
        tell_words(r, "q", a);
        return;
    }
    double *const x = reader_alloc(r->s->r, (size_t)n * sizeof *x);
    if (x && robot_list(r, a, n, n, x)) {
        double *q = x;
        for (int b = 1; b < m->nbody; b++) {
            for (int i = m->bodies[b].first_joint; i >= 0; q += m->joints[i].nq, i = m->joints[i].next) {
                double *const turn = q + m->joints[i].nq - 4;
                if (m->joints[i].nq > 1 && !normalise(turn, 4)) turn[0] = 1, turn[1] = turn[2] = turn[3] = 0;
            }
        }
        say_numbers(r, "q", x, n, a->at);
    }
    free(x);
}

static void tell_state(mjcf *m)
{
    if (!m->key || (!xml_find(m->key, "qpos") && !xml_find(m->key, "qvel"))) return;
    say_open(m->r, "state", NODE_MAPPING, m->key->at);
    const xml_attribute *const q = xml_find(m->key, "qpos"), *const v = xml_find(m->key, "qvel");
    if (q) tell_coordinates(m, q);
    if (v) tell_words(m->r, "v", v);
    say_close(m->r);
}

// ---- the model

static void list_passed(mjcf *m)
{
    robot *const r = m->r;
    for (int k = 0; k < m->nignored; k++) {
        const mjcf_ignored *const x = &m->ignored[k];
        if (x->passed.count == 1) robot_warn(r, x->passed.first, "ignored: <%s>: %s", x->name, x->why);
        else robot_warn(r, x->passed.first, "ignored: <%s>, %d times: %s", x->name, x->passed.count, x->why);
    }
    const char *const times = m->contact.count == 1 ? "" : "s";
    if (m->contact.count && m->nsurface)
        robot_warn(r, m->contact.first,
                   "ignored: how soft geoms touch (solref, solimp, margin and others), and friction by turns that differs from surface to surface, %d time%s: "
                   "`depth` of `contact` says how soft is what they touch",
                   m->contact.count, times);
    else if (m->contact.count)
        robot_warn(
            r, m->contact.first,
            "ignored: friction, condim and priority of geoms, %d time%s: nothing in the file is fixed and touches them; a scene "
            "that has a `ground` says how links touch it",
            m->contact.count, times);
    if (m->ground.count)
        robot_warn(r, m->ground.first,
                   "ignored: planes but the first one of the world that touches, and height fields but the first one with an "
                   "image or `elevation`, %d time%s",
                   m->ground.count, m->ground.count == 1 ? "" : "s");
    if (m->lesser.count)
        robot_warn(
            r, m->lesser.first,
            "friction of %d pair%s of geoms is not MuJoCo's, the larger of both or that of the higher priority: of a shape's "
            "and an obstacle's the lesser counts here",
            m->lesser.count, m->lesser.count == 1 ? "" : "s");
    if (m->bits.count)
        robot_warn(r, m->bits.first,
                   "contype and conaffinity of geoms, %d time%s: with what is fixed they have more than %d bits that count, and a scene has "
                   "as many layers: links that touch each other go by other bits; `exclude` those that do not",
                   m->bits.count, m->bits.count == 1 ? "" : "s", (int)MOST_LAYERS);
    if (m->rows.count)
        robot_warn(r, m->rows.first, "ignored: how soft <equality> holds (solref, solimp), %d time%s: loops and couplings hold exactly",
                   m->rows.count, m->rows.count == 1 ? "" : "s");
    if (m->friction.count)
        robot_warn(r, m->friction.first,
                   "ignored: frictionloss of ball and free joints, %d time%s: these have no dry friction in this version",
                   m->friction.count, m->friction.count == 1 ? "" : "s");
}

static bool read_model(mjcf *m)
{
    robot *const r = m->r;
    if (!mjcf_include(m) || !mjcf_read_classes(m) || !mjcf_find_assets(m)) return false;
    for (xml_element *e = xml_next(r->root->child, "compiler"); e; e = xml_next(e->next, "compiler"))
        if (!read_compiler(m, e)) return false;
    xml_element *const world = xml_next(r->root->child, "worldbody");
    if (!world) return robot_bad(r, r->root->at, "<mujoco>: missing <worldbody>");
    if (!make_room(m)) return false;
    add_body(m, world, -1);
    for (xml_element *e = world; e; e = xml_next(e->next, "worldbody"))
        if (!collect(m, e)) return false;
    find_key(m);
    if (r->s->free_base && m->nbody > 1) {
        if (m->bodies[1].moves)
            return robot_bad(r, m->bodies[1].element->at, "<body>: '%s' has a joint of its own, and cannot be made free",
                             printable(m->bodies[1].name).text);
        m->bodies[1].moves = true;
    }
    for (int i = 0; i < m->ngeom && !hopeless(r->s); i++) mjcf_read_geom(m, &m->geoms[i]);
    return r->good && mjcf_read_masses(m) && mjcf_find_surfaces(m);
}

static void tell_model(mjcf *m)
{
    robot *const r = m->r;
    const char *const name = xml_value(r->root, "model");
    const document_place at = r->root->at;
    say_open(r, NULL, NODE_MAPPING, at);
    say_word(r, "catena", "1", at);
    if (name && *name) say_text(r, "name", name, at);
    tell_option(m);
    say_open(r, "links", NODE_SEQUENCE, m->bodies->element->at);
    tell_world(m);
    for (int i = 1; i < m->nbody && r->good; i++) tell_body(m, &m->bodies[i]);
    say_close(r);
    mjcf_tell_surfaces(m);
    mjcf_tell_between(m);
    mjcf_tell_actuators(m);
    mjcf_tell_sensors(m);
    tell_state(m);
    say_close(r);
}

bool read_mjcf(robot *r)
{
    mjcf m = {.r = r, .degree = M_PI / 180, .euler_order = "xyz", .mesh_folder = "", .limits_by_range = true, .groups = {0, 5}};
    const bool ok = read_model(&m);
    if (ok) tell_model(&m);
    if (ok && r->good) list_passed(&m);
    name_table_free(&m.class_names), name_table_free(&m.meshes.names), name_table_free(&m.materials.names);
    name_table_free(&m.fields.names), free(m.fields.list), free(m.surfaces), free(m.excludes);
    free(m.meshes.list), free(m.materials.list), free(m.classes);
    free(m.scopes), free(m.bodies), free(m.joints), free(m.geoms), free(m.sites), free(m.tendons);
    return ok && r->good;
}
