/// Actuators of MJCF as motors. MuJoCo's force is gain(control) + bias(length, velocity) with length = gear q, and its joint gets
/// gear times that; controls are those of the <key> that the model starts with, else 0, and so are targets here. On a site the gear is a force and a torque
/// in its axes: a thruster.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GENERAL, MOTOR, POSITION, VELOCITY, DAMPER, KINDS, OTHER = KINDS };
static const char *const kinds[KINDS] = {"general", "motor", "position", "velocity", "damper"};

/// The other kinds, which are none here, but may stand in a class.
static const char *const others[] = {"intvelocity", "cylinder", "muscle", "adhesion", "dcmotor", "plugin"};

enum { PRM = 10 };

/// An actuator. All kinds are this one in MuJoCo, and a class has one of them. An element of any kind has its gear and ranges; its
/// law has it from the nearest class whose own is of the same kind, or a general one.
typedef struct actuator {
    int kind;
    const char *dynamics, *gain, *bias;
    double gainprm[PRM], biasprm[PRM], gear[6];
    double control[2], force[2];  // ranges; 0, 0: none
    int control_limited, force_limited;
    double inherit;   // > 0: the range of control is so many times that of the joint
    double armature;  // on its own side of the gear
} actuator;

static void reset_law(actuator *a)
{
    a->dynamics = "none", a->gain = "fixed", a->bias = "none";
    memset(a->gainprm, 0, sizeof a->gainprm), memset(a->biasprm, 0, sizeof a->biasprm);
    a->gainprm[0] = 1;
}

/// Up to `most` numbers of an attribute; those that it does not give stay.
static bool read_some(mjcf *m, xml_element *e, const char *name, int most, double *x)
{
    const xml_attribute *const a = xml_find(e, name);
    return !a || robot_list(m->r, a, 1, most, x) > 0;
}

/// A number that is not below 0, and whether it is there.
static bool read_gain(mjcf *m, xml_element *e, const char *name, double *x, bool *given)
{
    const xml_attribute *const a = xml_find(e, name);
    *given = a;
    if (!a) return true;
    return robot_list(m->r, a, 1, 1, x) && (*x >= 0 || robot_bad(m->r, a->at, "%s: expected a number >= 0", name));
}

/// kp, and what damps: kv, or dampratio, which is a biasprm above 0 until the joint is known.
static bool read_position(mjcf *m, xml_element *e, actuator *a)
{
    double kp = a->gainprm[0], kv = 0, ratio = 0, delay = 0, damping = a->biasprm[2];
    bool damped, rated;
    if (!robot_numbers(m->r, e, "kp", 1, &kp, &kp) || !read_gain(m, e, "kv", &kv, &damped) ||
        !read_gain(m, e, "dampratio", &ratio, &rated) || !robot_numbers(m->r, e, "timeconst", 1, &delay, &delay) ||
        !robot_numbers(m->r, e, "inheritrange", 1, &a->inherit, &a->inherit))
        return false;
    if (damped && rated)
        return robot_bad(m->r, xml_find(e, "dampratio")->at, "dampratio: there is kv already; one of both says how it is damped");
    const char *const dynamics = !xml_find(e, "timeconst") ? a->dynamics : delay != 0 ? "filterexact" : "none";
    if (damped) damping = -kv;
    if (rated) damping = ratio;
    reset_law(a);
    a->dynamics = dynamics, a->bias = "affine";
    a->gainprm[0] = kp, a->biasprm[1] = -kp, a->biasprm[2] = damping;
    return true;
}

static bool read_general(mjcf *m, xml_element *e, actuator *a)
{
    const char *const dynamics = xml_value(e, "dyntype"), *const gain = xml_value(e, "gaintype");
    const char *const bias = xml_value(e, "biastype");
    if (dynamics) a->dynamics = dynamics;
    if (gain) a->gain = gain;
    if (bias) a->bias = bias;
    return read_some(m, e, "gainprm", PRM, a->gainprm) && read_some(m, e, "biasprm", PRM, a->biasprm);
}

static bool fits(const actuator *a, int kind) { return kind == GENERAL || a->kind == GENERAL || a->kind == kind; }

/// The law of the nearest class from `around` outwards that fits a kind.
static void take_law(const mjcf *m, int kind, const actuator *of_class, int around, actuator *a)
{
    while (around >= 0 && !fits(&of_class[around], kind)) around = m->classes[around].up;
    reset_law(a);
    if (around < 0) return;
    const actuator *const from = &of_class[around];
    a->kind = from->kind, a->dynamics = from->dynamics, a->gain = from->gain, a->bias = from->bias;
    memcpy(a->gainprm, from->gainprm, sizeof a->gainprm), memcpy(a->biasprm, from->biasprm, sizeof a->biasprm);
}

/// What an element, or one of its class, says. of_class [nclass]: actuators of classes, of which `around` is the one
/// around its own.
static bool read_element(mjcf *m, xml_element *e, int kind, const actuator *of_class, int around, actuator *a)
{
    static const char *const flags[] = {"false", "true", "auto"};
    const mjcf_item of = {e, -1};
    a->control_limited = mjcf_word(m, of, "ctrllimited", flags, 3, a->control_limited);
    a->force_limited = mjcf_word(m, of, "forcelimited", flags, 3, a->force_limited);
    if (a->control_limited < 0 || a->force_limited < 0 || !robot_numbers(m->r, e, "ctrlrange", 2, a->control, a->control) ||
        !robot_numbers(m->r, e, "forcerange", 2, a->force, a->force) || !read_some(m, e, "gear", 6, a->gear) ||
        !robot_numbers(m->r, e, "armature", 1, &a->armature, &a->armature))
        return false;
    if (!fits(a, kind)) take_law(m, kind, of_class, around, a);
    const int before = a->kind;
    a->kind = kind;
    double kv = kind == VELOCITY ? a->gainprm[0] : before == DAMPER ? -a->gainprm[2] : 0;
    switch (kind) {
    case GENERAL: return read_general(m, e, a);
    case POSITION: return read_position(m, e, a);
    case VELOCITY:
        if (!robot_numbers(m->r, e, "kv", 1, &kv, &kv)) return false;
        reset_law(a);
        a->bias = "affine", a->gainprm[0] = kv, a->biasprm[2] = -kv;
        return true;
    case DAMPER:
        if (!robot_numbers(m->r, e, "kv", 1, &kv, &kv)) return false;
        if (kv < 0) return robot_bad(m->r, xml_find(e, "kv")->at, "kv: expected a number >= 0");
        reset_law(a);
        a->gain = "affine", a->gainprm[0] = 0, a->gainprm[2] = -kv;
        return true;
    default: reset_law(a); return true;
    }
}

static int kind_of(const xml_element *e)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (!strcmp(e->name, kinds[kind])) return kind;
    return -1;
}

/// Those of all classes, each after the one that it was copied from; NULL: reported. Free it.
static actuator *read_of_classes(mjcf *m)
{
    actuator *const of_class = reader_alloc(m->r->s->r, (size_t)m->nclass * sizeof *of_class);
    for (int class = 0; of_class && class < m->nclass; class ++) {
        const int up = m->classes[class].up;
        actuator *const a = &of_class[class];
        *a = (actuator){.gear = {1}, .control_limited = 2, .force_limited = 2};
        reset_law(a);
        if (up >= 0) *a = of_class[up];
        xml_element *const top = m->classes[class].element;
        for (xml_element *e = top ? top->child : NULL; e; e = e->next) {
            int kind = kind_of(e);
            for (size_t k = 0; k < sizeof others / sizeof *others && kind < 0; k++)
                if (!strcmp(e->name, others[k])) kind = OTHER;
            if (kind < 0) continue;
            if (!read_element(m, e, kind, of_class, up, a)) return free(of_class), NULL;
            if (kind == OTHER) a->dynamics = e->name;
        }
    }
    return of_class;
}

/// Whether it only brakes, as much as it is told.
static bool is_damper(const actuator *a)
{
    return !strcmp(a->gain, "affine") && !strcmp(a->bias, "none") && a->gainprm[0] == 0 && a->gainprm[1] == 0 &&
           a->gainprm[2] <= 0;
}

/// force = gain u + b0 + b1 length + b2 velocity
typedef struct affine {
    double gain, b[3];
} affine;

/// Its law; else why it has no place here.
static const char *find_law(const actuator *a, affine *f)
{
    if (strcmp(a->dynamics, "none") != 0) return "dyntype, timeconst: its force does not follow at once";
    if (is_damper(a)) {
        *f = (affine){0};
        return NULL;
    }
    if (strcmp(a->gain, "fixed") != 0) return "gaintype: it is not fixed";
    if (strcmp(a->bias, "none") != 0 && strcmp(a->bias, "affine") != 0) return "biastype: it is not affine";
    *f = (affine){.gain = a->gainprm[0]};
    if (!strcmp(a->bias, "affine")) memcpy(f->b, a->biasprm, sizeof f->b);
    return NULL;
}

/// The joint that an actuator drives, NULL: none that a motor here can be on.
static mjcf_joint *find_joint(mjcf *m, mjcf_item of, const char **why)
{
    const char *name = mjcf_value(m, of, "joint");
    if (!name) name = mjcf_value(m, of, "jointinparent");
    *why = "it is on no joint";
    for (int i = 0; name && i < m->njoint; i++) {
        const char *const other = xml_value(m->joints[i].item.element, "name");
        if (!other || strcmp(other, name) != 0) continue;
        *why = m->joints[i].nq != 1  ? "its joint is neither a hinge nor a slide"
               : m->joints[i].driven ? "its joint has one already"
                                     : NULL;
        return *why ? NULL : &m->joints[i];
    }
    return NULL;
}

/// The tendon that it pulls.
static mjcf_tendon *find_tendon(mjcf *m, const char *name, const actuator *a, const char **why)
{
    *why = a->armature != 0 ? "its armature: a tendon turns no rotor" : "there is no such tendon";
    for (int i = 0; a->armature == 0 && i < m->ntendon; i++) {
        if (strcmp(m->tendons[i].name, name) != 0) continue;
        *why = m->tendons[i].driven ? "its tendon has one already" : NULL;
        return *why ? NULL : &m->tendons[i];
    }
    return NULL;
}

/// Whether a range holds: if its flag says so or, if that is `auto`, if it is there.
static bool has_range(mjcf *m, mjcf_item of, int limited, const double range[2], const char *name)
{
    const bool given = range[0] != 0 || range[1] != 0;
    if (!limited || (limited == 2 && !given)) return false;
    if (limited == 2 && !m->limits_by_range)
        return robot_warn(m->r, of.element->at, "%s is not used: autolimits=\"false\" and no flag for it is true", name), false;
    return range[0] < range[1] || robot_bad(m->r, of.element->at, "%s: expected two numbers, the lower one first", name);
}

/// From what to what the force of an actuator can go: by its own range, and by that of its control. A thruster can be off.
static bool force_limits(mjcf *m, mjcf_item of, const actuator *a, const affine *f, double limits[2])
{
    limits[0] = -INFINITY, limits[1] = INFINITY;
    if (has_range(m, of, a->force_limited, a->force, "forcerange")) limits[0] = a->force[0], limits[1] = a->force[1];
    if (has_range(m, of, a->control_limited, a->control, "ctrlrange")) {
        const double x = f->gain * a->control[0] + f->b[0], y = f->gain * a->control[1] + f->b[0];
        limits[0] = fmax(limits[0], fmin(x, y)), limits[1] = fmin(limits[1], fmax(x, y));
    }
    return limits[0] <= 0 && limits[1] >= 0;
}

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Whether a joint moves the body that is called so.
static bool body_moves(const mjcf *m, const char *name)
{
    int body = m->nbody - 1;
    while (body > 0 && strcmp(m->bodies[body].name, name) != 0) body--;
    while (body > 0 && !m->bodies[body].moves) body = m->bodies[body].parent;
    return body > 0;
}

/// What a control u is with its range.
static double within_range(mjcf *m, mjcf_item of, const actuator *a, double u)
{
    if (u == 0 || !has_range(m, of, a->control_limited, a->control, "ctrlrange")) return u;
    return fmin(fmax(u, a->control[0]), a->control[1]);
}

/// What of actuators is told once for all of them.
typedef struct remarks {
    mjcf_passed scaled, ranges, pushed, brakes;
} remarks;

/// An actuator on a site: its gear pushes along an axis, and turns about the same one, or turns alone. u: its control.
static void tell_thruster(mjcf *m, mjcf_item of, const actuator *a, double u, remarks *to)
{
    robot *const r = m->r;
    const document_place at = of.element->at;
    mjcf_place place = {0};
    affine f = {0};
    const char *why = find_law(a, &f);
    double axis[3] = {0}, limits[2];
    const double *const gear = a->gear;
    if (!why && a->armature != 0) why = "its armature: a site turns no rotor";
    if (!why && mjcf_value(m, of, "refsite")) why = "it is relative to another site";
    if (!why) why = mjcf_find_site(m, mjcf_value(m, of, "site"), &place);
    if (!why && !body_moves(m, place.link)) why = "its site does not move";
    if (!why && (is_damper(a) || f.b[1] != 0 || f.b[2] != 0)) why = "its force goes by the place or the motion of its site";
    const bool pushes = dot3(gear, gear) > 0;
    const double *const way = pushes ? gear : gear + 3;
    const double size = sqrt(dot3(way, way)), along = pushes && size > 0 ? dot3(way, gear + 3) / size : 0;
    if (!why && !(size > 0)) why = "its gear is 0";
    for (int k = 0; k < 3 && !why; k++) axis[k] = way[k] / size;
    for (int k = 0; k < 3 && !why && pushes; k++)
        if (fabs(gear[3 + k] - along * axis[k]) > 1e-9 * (size + fabs(along)))
            why = "its gear turns about another axis than it pushes along";
    if (why) {
        xml_use_all(of.element), mjcf_ignore(m, of.element, why);
        return;
    }
    double turned[3];
    if (f.gain * size != 1) mjcf_pass(&to->pushed, at);
    rotate(place.at.q, axis, turned);
    say_open(r, NULL, NODE_MAPPING, at);
    say_text(r, "link", place.link, at);
    say_word(r, "type", pushes ? "thrust" : "moment", at);
    if (pushes) say_unless_zero(r, "point", place.at.p, 3, at);
    say_numbers(r, "axis", turned, 3, at);
    if (along != 0) say_number(r, "reaction", along / size, at);
    const double force = f.b[0] + f.gain * within_range(m, of, a, u);
    if (force != 0) say_number(r, "target", size * force, at);
    if (!force_limits(m, of, a, &f, limits)) robot_warn(r, at, "its range, which leaves out 0: taken as none");
    else if (isfinite(limits[0]) && isfinite(limits[1]))
        say_numbers(r, "limits", (const double[]){size * limits[0], size * limits[1]}, 2, at);
    say_close(r);
}

static void tell_motor(mjcf *m, mjcf_item of, const actuator *a, double u, remarks *to)
{
    robot *const r = m->r;
    const document_place at = of.element->at;
    affine f = {0};
    const char *why = find_law(a, &f);
    const char *const cord = mjcf_value(m, of, "tendon");
    mjcf_tendon *const tendon = why || !cord ? NULL : find_tendon(m, cord, a, &why);
    mjcf_joint *const joint = why || tendon ? NULL : find_joint(m, of, &why);
    if (!why && a->gear[0] == 0) why = "its gear is 0";
    const double ratio = f.b[2] > 0 && f.gain == -f.b[1] ? f.b[2] : 0;  // to critical damping, in the place of what damps
    if (ratio > 0) f.b[2] = 0;
    if (!why && tendon && ratio > 0) why = "its dampratio: a tendon meets another inertia in each pose; give it kv";
    if (!why && (f.b[1] > 0 || f.b[2] > 0)) why = "its bias pushes away";
    if (why) {
        xml_use_all(of.element), mjcf_ignore(m, of.element, why);
        return;
    }
    const bool only_brakes = is_damper(a), holds = f.b[1] != 0, brakes = f.b[2] != 0 || only_brakes;
    *(tendon ? &tendon->driven : &joint->driven) = true;
    say_open(r, NULL, NODE_MAPPING, at);
    if (tendon) say_text(r, "tendon", tendon->name, at);
    else say_text(r, "joint", joint->link, at);
    say_word(r, "type", holds ? "position" : brakes ? "velocity" : "torque", at);
    if (holds) say_number(r, "kp", -f.b[1], at);
    if (ratio > 0) say_number(r, "damping_ratio", ratio, at);
    u = within_range(m, of, a, u);
    if (brakes) say_number(r, "kd", only_brakes ? -a->gainprm[2] * u : -f.b[2], at);
    if (f.b[0] != 0 && (holds || brakes)) say_number(r, "feedforward", f.b[0], at);
    const double target = holds ? f.gain * u / -f.b[1] : brakes ? f.gain * u / -f.b[2] : f.b[0] + f.gain * u;
    if (target != 0 && !only_brakes) say_number(r, "target", target, at);
    if (a->gear[0] != 1) say_number(r, "gear", a->gear[0], at);
    if (a->armature != 0) say_number(r, "rotor", a->armature, at);
    if (has_range(m, of, a->force_limited, a->force, "forcerange")) {
        if (a->force[0] != -a->force[1]) robot_warn(r, at, "forcerange: taken as alike in both directions, the larger one");
        say_number(r, "effort", fmax(fabs(a->force[0]), fabs(a->force[1])), at);
    }
    say_close(r);
    if (only_brakes) mjcf_pass(&to->brakes, at);
    else if (f.gain != (holds ? -f.b[1] : brakes ? -f.b[2] : 1)) mjcf_pass(&to->scaled, at);
    if (!only_brakes && (a->control[0] != 0 || a->control[1] != 0 || a->inherit > 0)) mjcf_pass(&to->ranges, at);
}

static void list_remarks(robot *r, const remarks *x)
{
    if (x->ranges.count)
        robot_warn(r, x->ranges.first, "ignored: ctrlrange, %d time%s: targets have no limits", x->ranges.count,
                   x->ranges.count == 1 ? "" : "s");
    if (x->brakes.count)
        robot_warn(
            r, x->brakes.first,
            "a damper, whose control is how much it brakes, %d time%s: it is a motor of type velocity whose kd is the control "
            "times kv, 0 where no <key> says more; set `kd`, or the parameter motor_kd",
            x->brakes.count, x->brakes.count == 1 ? "" : "s");
    if (x->pushed.count)
        robot_warn(r, x->pushed.first,
                   "on a site: its control is not its target, %d time%s: a target here is the control times the gain and the "
                   "length of the gear's force, or torque",
                   x->pushed.count, x->pushed.count == 1 ? "" : "s");
    if (x->scaled.count)
        robot_warn(r, x->scaled.first,
                   "<general>: its control is not its target, %d time%s: a target here is the control times the gain over "
                   "kp, or kd, or 1",
                   x->scaled.count, x->scaled.count == 1 ? "" : "s");
}

/// The controls that the model starts with, one an actuator; NULL: all are 0, or it has been reported. Free it.
static double *read_controls(mjcf *m)
{
    const xml_attribute *const a = m->key ? xml_find(m->key, "ctrl") : NULL;
    int count = 0;
    for (xml_element *list = xml_next(m->r->root->child, "actuator"); list; list = xml_next(list->next, "actuator"))
        for (xml_element *e = list->child; e; e = e->next) count++;
    if (!a || !count) return NULL;
    double *const x = reader_alloc(m->r->s->r, (size_t)count * sizeof *x);
    if (!x || robot_list(m->r, a, count, count, x)) return x;
    free(x);
    return NULL;
}

void mjcf_tell_actuators(mjcf *m)
{
    robot *const r = m->r;
    remarks remarks = {0};
    bool open = false;
    if (!xml_next(r->root->child, "actuator")) return;
    actuator *const of_class = read_of_classes(m);
    if (!of_class) return;
    double *const controls = read_controls(m);
    int number = 0;
    for (xml_element *list = xml_next(r->root->child, "actuator"); list; list = xml_next(list->next, "actuator")) {
        for (xml_element *e = list->child; e && r->good; e = e->next, number++) {
            const int kind = kind_of(e);
            if (kind < 0) continue;
            e->used = true;
            static const char *const unused[] = {"name", "group", "user", "lengthrange"};
            for (size_t k = 0; k < sizeof unused / sizeof *unused; k++) xml_find(e, unused[k]);
            const mjcf_item of = mjcf_item_of(m, e, -1);
            if (of.class < 0) continue;
            actuator a = of_class[of.class];
            if (!read_element(m, e, kind, of_class, m->classes[of.class].up, &a)) continue;
            if (!open) say_open(r, "motors", NODE_SEQUENCE, list->at), open = true;
            const double u = controls ? controls[number] : 0;
            if (mjcf_value(m, of, "site")) tell_thruster(m, of, &a, u, &remarks);
            else tell_motor(m, of, &a, u, &remarks);
        }
    }
    if (open) say_close(r);
    free(of_class), free(controls);
    list_remarks(r, &remarks);
}
