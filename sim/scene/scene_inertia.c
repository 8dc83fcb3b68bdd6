/// What a joint moves must have inertia in each of its directions: without any, a force accelerates it without bound.
#include "sim/scene/scene_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A link and all that is fixed to it.
typedef struct cluster {
    mass_properties body;  // in the link's frame
    bool carries;          // it carries moving links, whose inertia counts too
} cluster;

void turned_inertia(const double q[4], const double J[6], double I[6])
{
    double rows[3][3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}}, columns[3][3];
    for (int k = 0; k < 3; k++) rotate(q, rows[k], rows[k]);  // J R'
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) columns[k][i] = rows[i][k];
        rotate(q, columns[k], columns[k]);
    }
    I[0] = columns[0][0], I[1] = columns[1][1], I[2] = columns[2][2];
    I[3] = columns[1][0], I[4] = columns[2][0], I[5] = columns[2][1];
}

/// Adds what is fixed at `position`, `rotation` of the cluster.
static void weld(cluster *to, const cluster *from, const double position[3], const double rotation[4])
{
    mass_properties parts[2] = {to->body, from->body};
    rotate(rotation, from->body.com, parts[1].com);
    for (int k = 0; k < 3; k++) parts[1].com[k] += position[k];
    turned_inertia(rotation, from->body.inertia, parts[1].inertia);
    to->body = combine_masses(parts, 2);
    to->carries = to->carries || from->carries;
}

/// Inertia about the link's origin instead of the centre of mass.
static void about_origin(const mass_properties *p, double I[6])
{
    const double *const c = p->com, m = p->mass;
    I[0] = p->inertia[0] + m * (c[1] * c[1] + c[2] * c[2]), I[1] = p->inertia[1] + m * (c[0] * c[0] + c[2] * c[2]);
    I[2] = p->inertia[2] + m * (c[0] * c[0] + c[1] * c[1]), I[3] = p->inertia[3] - m * c[0] * c[1];
    I[4] = p->inertia[4] - m * c[0] * c[2], I[5] = p->inertia[5] - m * c[1] * c[2];
}

static double about_axis(const double I[6], const double u[3])
{
    return I[0] * u[0] * u[0] + I[1] * u[1] * u[1] + I[2] * u[2] * u[2] +
           2 * (I[3] * u[0] * u[1] + I[4] * u[0] * u[2] + I[5] * u[1] * u[2]);
}

static double least_moment(const double I[6])
{
    double e[3];
    inertia_possible(I, e);
    return fmin(e[0], fmin(e[1], e[2]));
}

/// Where a joint that moves `p` and nothing else meets no inertia, in any position: about what; NULL: nowhere. Zero is what
/// rounding leaves of a point or a line.
static const char *free_of_inertia(const scene_joint *joint, const mass_properties *p)
{
    static const double z[3] = {0, 0, 1}, zero = 1e-14;
    double origin[6];
    about_origin(p, origin);
    const double *const own = p->inertia, large = zero * (origin[0] + origin[1] + origin[2]),
                        small = zero * (own[0] + own[1] + own[2]);
    const double *const a = joint->armature;
    switch (joint->type) {
    case CTN_REVOLUTE: return a[0] == 0 && about_axis(origin, joint->axis) <= large ? "the joint's axis" : NULL;
    case CTN_HELICAL:
        return a[0] == 0 && joint->pitch == 0 && about_axis(origin, joint->axis) <= large ? "the joint's axis" : NULL;
    case CTN_UNIVERSAL: return a[1] == 0 && about_axis(origin, joint->axis2) <= large ? "the joint's axis2" : NULL;
    case CTN_BALL: return a[0] == 0 && least_moment(origin) <= large ? "one of the axes through its origin" : NULL;
    case CTN_PLANAR:
        return a[0] == 0 && a[1] == 0 && a[2] == 0 && about_axis(own, z) <= small ? "the z axis through its centre of mass"
                                                                                  : NULL;
    case CTN_FREE: return a[3] == 0 && least_moment(own) <= small ? "one of the axes through its centre of mass" : NULL;
    default: return NULL;
    }
}

bool each_without_inertia(const ctn_scene *scene, void (*found)(void *to, int link, const char *about), void *to)
{
    cluster *const clusters = malloc(((size_t)scene->nlink + 1) * sizeof *clusters);
    if (!clusters) return false;
    for (int i = 0; i < scene->nlink; i++) {
        const scene_link *const link = &scene->links[i];
        clusters[i] = (cluster){.body = {.mass = link->mass}};
        memcpy(clusters[i].body.com, link->com, sizeof link->com);
        memcpy(clusters[i].body.inertia, link->inertia, sizeof link->inertia);
    }
    for (int i = scene->nlink - 1; i >= 0; i--) {
        const scene_link *const link = &scene->links[i];
        const cluster *const own = &clusters[i];
        if (link->joint.type == CTN_FIXED) {
            if (link->parent >= 0) weld(&clusters[link->parent], own, link->position, link->rotation);
            continue;
        }
        if (link->parent >= 0) clusters[link->parent].carries = true;
        const char *const about = own->carries ? NULL : free_of_inertia(&link->joint, &own->body);
        if (about) found(to, i, about);
    }
    free(clusters);
    return true;
}

static void report(void *to, int i, const char *about)
{
    reader *const r = to;
    const scene_link *const link = &r->scene->links[i];
    source s = {.r = r, .file = r->origins[i].file};
    const double least = least_moment(link->inertia), *const I = link->inertia;
    if (least < -1e-12 * (fabs(I[0]) + fabs(I[1]) + fabs(I[2]))) {
        missing_key(&s, r->origins[i].start, "inertia",
                    "that of link '%s' is negative about an axis: its least principal moment is %.4g kg m^2, and no body has such a "
                    "one; correct its signs, or leave it out for that of its shapes",
                    printable(link->name).text, least);
        return;
    }
    missing_key(&s, r->origins[i].start, "inertia",
                "what the %s joint of link '%s' moves has none about %s, so that no step can be computed; give it some, or the "
                "joint an `armature`",
                joint_name(link->joint.type), printable(link->name).text, about);
}

void check_inertias(reader *r)
{
    if (r->no_memory || r->errors.count) return;
    if (!each_without_inertia(r->scene, report, r)) r->no_memory = true;
}
