/// Actuators of MJCF as motors. MuJoCo's force is gain(control) + bias(length, velocity) with length = gear q, and its joint gets
/// gear times that; controls are 0 until somebody sets them, and so are targets here. On a site the gear is a force and a torque
/// in its axes: a thruster.
#include "sim/scene/mjcf.h"

#include <math.h>
#include <string.h>

enum { GENERAL, MOTOR, POSITION, VELOCITY, KINDS };
static const char *const kinds[KINDS] = {"general", "motor", "position", "velocity"};

/// force = gain u + b0 + b1 length + b2 velocity
typedef struct affine {
    double gain, b[3];
} affine;

/// What of an actuator has no place here; NULL: nothing.
static const char *misfit(mjcf *m, mjcf_item of)
{
    const char *const dynamics = mjcf_value(m, of, "dyntype"), *const gain = mjcf_value(m, of, "gaintype");
    const char *const bias = mjcf_value(m, of, "biastype");
    if (dynamics && strcmp(dynamics, "none") != 0) return "dyntype: its force does not follow at once";
    if (gain && strcmp(gain, "fixed") != 0) return "gaintype: it is not fixed";
    if (bias && strcmp(bias, "none") != 0 && strcmp(bias, "affine") != 0) return "biastype: it is not affine";
    if (mjcf_find(m, of, "timeconst")) return "timeconst: its force does not follow at once";
    return NULL;
}

static bool read_force(mjcf *m, mjcf_item of, int kind, affine *f)
{
    static const double none[1] = {0}, one[1] = {1};
    double kp, kv, x[MJCF_MOST_NUMBERS] = {1};
    *f = (affine){.gain = 1};
    if (kind == POSITION) {
        if (!mjcf_numbers(m, of, "kp", 1, one, &kp) || !mjcf_numbers(m, of, "kv", 1, none, &kv)) return false;
        f->gain = kp, f->b[1] = -kp, f->b[2] = -kv;
    } else if (kind == VELOCITY) {
        if (!mjcf_numbers(m, of, "kv", 1, one, &kv)) return false;
        f->gain = kv, f->b[2] = -kv;
    } else if (kind == GENERAL) {
        const char *const bias = mjcf_value(m, of, "biastype");
        if (mjcf_some_numbers(m, of, "gainprm", 3, x) < 0) return false;
        f->gain = x[0];
        double b[MJCF_MOST_NUMBERS] = {0};
        if (mjcf_some_numbers(m, of, "biasprm", 3, b) < 0) return false;
        if (bias && !strcmp(bias, "affine")) memcpy(f->b, b, sizeof f->b);
    }
    return true;
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
        *why = !m->joints[i].one_dof ? "its joint is neither a hinge nor a slide"
               : m->joints[i].driven ? "its joint has one already"
                                     : NULL;
        return *why ? NULL : &m->joints[i];
    }
    return NULL;
}

/// From what to what the force of an actuator can go: by its own range, and by that of its control. A thruster can be off.
static bool force_limits(mjcf *m, mjcf_item of, const affine *f, double limits[2])
{
    double range[2];
    limits[0] = -INFINITY, limits[1] = INFINITY;
    if (mjcf_limited(m, of, "forcelimited", "forcerange", range)) limits[0] = range[0], limits[1] = range[1];
    if (mjcf_limited(m, of, "ctrllimited", "ctrlrange", range)) {
        const double a = f->gain * range[0] + f->b[0], b = f->gain * range[1] + f->b[0];
        limits[0] = fmax(limits[0], fmin(a, b)), limits[1] = fmin(limits[1], fmax(a, b));
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

/// An actuator on a site: its gear pushes along an axis, and turns about the same one, or turns alone. scaled: whose controls are
/// no targets.
static void tell_thruster(mjcf *m, mjcf_item of, int kind, mjcf_passed *scaled)
{
    robot *const r = m->r;
    const document_place at = of.element->at;
    mjcf_place place = {0};
    affine f = {0};
    const char *why = misfit(m, of);
    double gear[MJCF_MOST_NUMBERS] = {1}, axis[3] = {0}, limits[2];
    if (!why && mjcf_value(m, of, "refsite")) why = "it is relative to another site";
    if (!why) why = mjcf_find_site(m, mjcf_value(m, of, "site"), &place);
    if (!why && !body_moves(m, place.link)) why = "its site does not move";
    if (!why && (!read_force(m, of, kind, &f) || mjcf_some_numbers(m, of, "gear", 6, gear) < 0)) return;
    if (!why && (f.b[1] != 0 || f.b[2] != 0)) why = "its force goes by the place or the motion of its site";
    const bool pushes = dot3(gear, gear) > 0;
    double *const way = pushes ? gear : gear + 3;
    const double size = sqrt(dot3(way, way)), along = pushes && size > 0 ? dot3(way, gear + 3) / size : 0;
    if (!why && !(size > 0)) why = "its gear is 0";
    for (int k = 0; k < 3 && !why; k++) axis[k] = way[k] / size;
    for (int k = 0; k < 3 && !why && pushes; k++)
        if (fabs(gear[3 + k] - along * axis[k]) > 1e-9 * (size + fabs(along)))
            why = "its gear turns about another axis than it pushes along";
    if (why) {
        xml_use_all(of.element);
        robot_warn(r, at, "ignored: <%s>: %s", of.element->name, why);
        return;
    }
    double turned[3];
    if (f.gain * size != 1) mjcf_pass(scaled, at);
    rotate(place.at.q, axis, turned);
    say_open(r, NULL, NODE_MAPPING, at);
    say_text(r, "link", place.link, at);
    say_word(r, "type", pushes ? "thrust" : "moment", at);
    if (pushes) say_unless_zero(r, "point", place.at.p, 3, at);
    say_numbers(r, "axis", turned, 3, at);
    if (along != 0) say_number(r, "reaction", along / size, at);
    if (f.b[0] != 0) say_number(r, "target", size * f.b[0], at);
    if (!force_limits(m, of, &f, limits)) robot_warn(r, at, "its range, which leaves out 0: taken as none");
    else if (isfinite(limits[0]) && isfinite(limits[1]))
        say_numbers(r, "limits", (const double[]){size * limits[0], size * limits[1]}, 2, at);
    say_close(r);
}

static void tell_actuator(mjcf *m, mjcf_item of, int kind)
{
    robot *const r = m->r;
    const document_place at = of.element->at;
    affine f;
    const char *why = misfit(m, of);
    mjcf_joint *const joint = why ? NULL : find_joint(m, of, &why);
    double gear[MJCF_MOST_NUMBERS] = {1}, range[2];
    if (joint && (!read_force(m, of, kind, &f) || mjcf_some_numbers(m, of, "gear", 6, gear) < 0)) return;
    if (joint && (f.b[1] > 0 || f.b[2] > 0)) why = "its bias pushes away";
    else if (joint && gear[0] == 0) why = "its gear is 0";
    if (why) {
        xml_use_all(of.element);
        robot_warn(r, at, "ignored: <%s>: %s", of.element->name, why);
        return;
    }
    const bool holds = f.b[1] != 0, brakes = f.b[2] != 0;
    joint->driven = true;
    say_open(r, NULL, NODE_MAPPING, at);
    say_text(r, "joint", joint->link, at);
    say_word(r, "type", holds ? "position" : brakes ? "velocity" : "torque", at);
    if (holds) say_number(r, "kp", -f.b[1], at);
    if (brakes) say_number(r, "kd", -f.b[2], at);
    if (f.b[0] != 0 && (holds || brakes)) say_number(r, "feedforward", f.b[0], at);
    else if (f.b[0] != 0) say_number(r, "target", f.b[0], at);
    if (gear[0] != 1) say_number(r, "gear", gear[0], at);
    if (mjcf_limited(m, of, "forcelimited", "forcerange", range)) {
        if (range[0] != -range[1]) robot_warn(r, at, "forcerange: taken as alike in both directions, the larger one");
        say_number(r, "effort", fmax(fabs(range[0]), fabs(range[1])), at);
    }
    say_close(r);
}

/// Whether an actuator's control means here what it means there: a target.
static void check_control(mjcf *m, mjcf_item of, int kind, mjcf_passed *scaled)
{
    affine f;
    if (kind != GENERAL || !read_force(m, of, kind, &f)) return;
    const double expected = f.b[1] != 0 ? -f.b[1] : f.b[2] != 0 ? -f.b[2] : 1;
    if (f.gain != expected) mjcf_pass(scaled, of.element->at);
}

void mjcf_tell_actuators(mjcf *m)
{
    robot *const r = m->r;
    mjcf_passed scaled = {0}, ranges = {0}, pushed = {0};
    bool open = false;
    for (xml_element *list = xml_next(r->root->child, "actuator"); list; list = xml_next(list->next, "actuator")) {
        for (xml_element *e = list->child; e && r->good; e = e->next) {
            int kind = 0;
            while (kind < KINDS && strcmp(e->name, kinds[kind]) != 0) kind++;
            if (kind == KINDS) continue;
            e->used = true;
            static const char *const unused[] = {"name", "group", "user", "ctrllimited", "lengthrange", "inheritrange"};
            for (size_t k = 0; k < sizeof unused / sizeof *unused; k++) xml_find(e, unused[k]);
            const mjcf_item of = mjcf_item_of(m, e, -1);
            if (of.class < 0) continue;
            if (!open) say_open(r, "motors", NODE_SEQUENCE, list->at), open = true;
            if (mjcf_value(m, of, "site")) {
                tell_thruster(m, of, kind, &pushed);
                mjcf_find(m, of, "ctrlrange");
                continue;
            }
            tell_actuator(m, of, kind);
            check_control(m, of, kind, &scaled);
            if (mjcf_find(m, of, "ctrlrange")) mjcf_pass(&ranges, e->at);
        }
    }
    if (open) say_close(r);
    if (ranges.count)
        robot_warn(r, ranges.first, "ignored: ctrlrange, %d time%s: targets have no limits", ranges.count,
                   ranges.count == 1 ? "" : "s");
    if (pushed.count)
        robot_warn(r, pushed.first,
                   "on a site: its control is not its target, %d time%s: a target here is the control times the gain and the "
                   "length of the gear's force, or torque",
                   pushed.count, pushed.count == 1 ? "" : "s");
    if (scaled.count)
        robot_warn(r, scaled.first,
                   "<general>: its control is not its target, %d time%s: a target here is the control times the gain over "
                   "kp, or kd, or 1",
                   scaled.count, scaled.count == 1 ? "" : "s");
}
