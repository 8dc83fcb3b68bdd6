/// `state:`, the whole vectors q and v, over the q0 and v0 of the joints.
#include "sim/scene/scene_reader.h"
#include "sim/base/status.h"

#include <math.h>
#include <string.h>

#define START_SLACK 1e-9  // of a limit: for what is written with few digits

/// The next `count` numbers of a list, of these units.
static bool next_numbers(source *s, const node **entry, int count, const value_unit *of, double *x)
{
    bool ok = true;
    for (int i = 0; i < count; i++, *entry = (*entry)->next) ok = read_quantity(s, *entry, ANY_SIGN, of[i], &x[i]) && ok;
    return ok;
}

/// What a joint and the state both give: the state wins.
static void warn_of_given(source *s, bool velocity)
{
    int first = s->r->ngiven;
    while (first > 0 && s->r->given[first - 1].link >= s->first_link) first--;
    for (int i = first; i < s->r->ngiven; i++) {
        const given_state *const g = &s->r->given[i];
        source at = {.r = s->r, .file = g->file};
        if (g->velocity == velocity) warn(&at, g->value, "not used: `state` gives %s", velocity ? "v" : "q");
    }
}

/// Whether a list has the right length: `size` numbers, one for each entry of q or v. If not, what it has is checked all the
/// same.
static bool check_length(source *s, const node *n, int size, const char *name)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of numbers, found %s", found(n).text);
    if (s->layout_known && n->size == size) return true;
    double x;
    for (const node *entry = n->child; entry && !hopeless(s); entry = entry->next)
        read_quantity(s, entry, ANY_SIGN, ANY_UNIT, &x);
    if (!s->layout_known) return false;
    return bad_value(s, n, "expected %d number%s (%s of all links in order), found %d", size, plural(size), name, n->size);
}

static bool read_q(source *s, const node *n, int nq)
{
    if (!check_length(s, n, nq, "q")) return false;
    ctn_scene *const scene = s->r->scene;
    const node *entry = n->child;
    bool ok = true;
    for (int i = s->first_link; i < scene->nlink && !hopeless(s); i++) {
        scene_joint *const joint = &scene->links[i].joint;
        const node *const first = entry;
        double x[7];
        const int count = joint_nq(joint->type);
        bool good = next_numbers(s, &entry, count, coordinate_units(joint->type), x);
        if (joint->type == CTN_BALL) good = good && unit_quaternion(s, first, x);
        if (joint->type == CTN_FREE) good = good && unit_quaternion(s, first->next->next->next, x + 3);
        if (good && !joint->stated) memcpy(joint->own_q0, joint->q0, sizeof joint->q0), joint->stated = true;
        if (good) memcpy(joint->q0, x, (size_t)count * sizeof *x);
        if (good && count) s->r->origins[i].q0 = first, s->r->origins[i].q0_file = s->file;
        ok = ok && good;
    }
    warn_of_given(s, false);
    return ok;
}

static bool read_v(source *s, const node *n, int nv)
{
    if (!check_length(s, n, nv, "v")) return false;
    ctn_scene *const scene = s->r->scene;
    const node *entry = n->child;
    bool ok = true;
    for (int i = s->first_link; i < scene->nlink && !hopeless(s); i++) {
        scene_joint *const joint = &scene->links[i].joint;
        ok = next_numbers(s, &entry, joint_nv(joint->type), velocity_units(joint->type), joint->v0) && ok;
    }
    warn_of_given(s, true);
    return ok;
}

bool read_state(source *s, const node *n)
{
    static const key keys[] = {{.name = "q"}, {.name = "v"}};
    const node *values[2];
    if (!read_keys(s, n, "a state", keys, 2, values)) return false;
    const ctn_scene *const scene = s->r->scene;
    int nq = 0, nv = 0;
    for (int i = s->first_link; i < scene->nlink; i++) {
        nq += joint_nq(scene->links[i].joint.type);
        nv += joint_nv(scene->links[i].joint.type);
    }
    bool ok = true;
    if (values[0]) ok = read_q(s, values[0], nq) && ok;
    if (values[1]) ok = read_v(s, values[1], nv) && ok;
    return ok;
}

/// Angle of the turn from one orientation to another.
static double angle_between(const double a[4], const double b[4])
{
    const double inverse[4] = {a[0], -a[1], -a[2], -a[3]};
    double turn[4];
    quaternion_product(inverse, b, turn);
    return 2 * atan2(norm(turn + 1, 3), fabs(turn[0]));
}

void check_starts(reader *r)
{
    for (int i = 0; i < r->scene->nlink; i++) {
        const scene_joint *const joint = &r->scene->links[i].joint;
        const link_origin *const from = &r->origins[i];
        source s = {.r = r, .file = from->q0 ? from->q0_file : from->file};
        const node *const at = from->q0 ? from->q0 : from->limits;
        const bool ball = joint->type == CTN_BALL;
        const int limits = joint->type == CTN_FREE ? 0 : ball ? 1 : joint_nv(joint->type);
        for (int k = 0; k < limits; k++) {
            if (!joint->limited[k]) continue;
            const double low = joint->limits[k][0], high = joint->limits[k][1];
            const double q = ball ? angle_between(joint->rest, joint->q0) : joint->q0[k];
            if (q >= low - START_SLACK * fabs(low) && q <= high + START_SLACK * fabs(high)) continue;
            const char *const unit = ball || coordinate_units(joint->type)[k] == ANGLE ? "rad" : "m";
            if (ball) warn(&s, at, "the joint starts at %g rad from its `rest`, outside its limit of %g", q, high);
            else
                warn(&s, at, "the joint starts at %g %s, outside its limits [%g, %g]%s", q, unit, low, high,
                     from->q0 ? "" : "; give it a `q0`");
            break;
        }
    }
}
