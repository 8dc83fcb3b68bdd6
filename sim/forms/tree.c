/// Trees: checked links, compiled models, the cylinders of the thesis.
#include "sim/forms/tree.h"
#include "dynamics/model.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>

int threads_asked(int threads, ctn_error *err)
{
    if (threads == 0) threads = pool_cpus();
    if (threads >= 1 && threads <= MAX_THREADS) return threads;
    fail(err, CTN_BAD_ARGUMENT, "threads: expected 0 (one a CPU) to %d, found %d", MAX_THREADS, threads);
    return 0;
}

static bool all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/// Whether three principal moments that belong to I can be a body's: none is larger than the other two together. That is, tr(I) 1
/// / 2 - I has no negative eigenvalue, up to rounding.
static bool of_a_body(const double *I)
{
    const double half = (I[0] + I[1] + I[2]) / 2, small = 1e-12 * half;
    if (!(half >= 0)) return false;
    const double a = half - I[0] + small, b = half - I[1] + small, c = half - I[2] + small, d = -I[3], e = -I[4], f = -I[5];
    if (half == 0) return I[0] == 0 && I[1] == 0 && I[2] == 0 && d == 0 && e == 0 && f == 0;
    const double cube = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    return a >= 0 && b >= 0 && c >= 0 && a * b - d * d >= -small * half && a * c - e * e >= -small * half &&
           b * c - f * f >= -small * half && cube >= -small * half * half;
}

static bool orthonormal(const double *R)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double d = R[i] * R[j] + R[3 + i] * R[3 + j] + R[6 + i] * R[6 + j] - (i == j);
            if (!(fabs(d) <= 1e-9)) return false;
        }
    return R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]) > 0;
}

static ctn_status link_check(int i, const ctn_tree_link *l, ctn_error *err)
{
    static const char *const kinds[] = {[CTN_FIXED] = "fixed", [CTN_HELICAL] = "helical", [CTN_UNIVERSAL] = "universal",
                                        [CTN_BALL] = "ball",   [CTN_PLANAR] = "planar",   [CTN_FREE] = "free"};
    if (l->joint != CTN_REVOLUTE && l->joint != CTN_PRISMATIC) {
        const bool known = (int)l->joint >= 0 && l->joint <= CTN_FREE;
        return fail(err, CTN_UNAVAILABLE, "link %d: joint: trees have revolute and prismatic joints, found %s", i,
                    known ? kinds[l->joint] : "none that is known");
    }
    if (!all_finite(l->R, 9) || !orthonormal(l->R))
        return fail(err, CTN_BAD_ARGUMENT, "link %d: R: expected a rotation, orthonormal to 1e-9 and right-handed", i);
    if (!all_finite(l->p, 3)) return fail(err, CTN_BAD_ARGUMENT, "link %d: p: expected finite numbers", i);
    if (!all_finite(l->axis, 3) || !(l->axis[0] || l->axis[1] || l->axis[2]) ||
        !isnormal(l->axis[0] * l->axis[0] + l->axis[1] * l->axis[1] + l->axis[2] * l->axis[2]))
        return fail(err, CTN_BAD_ARGUMENT, "link %d: axis: expected a direction, found %g %g %g", i, l->axis[0], l->axis[1],
                    l->axis[2]);
    if (!isfinite(l->mass) || !(l->mass > 0))
        return fail(err, CTN_BAD_ARGUMENT, "link %d: mass: expected a positive number (kg), found %g", i, l->mass);
    if (!all_finite(l->com, 3)) return fail(err, CTN_BAD_ARGUMENT, "link %d: com: expected finite numbers", i);
    if (!all_finite(l->inertia, 6) || !of_a_body(l->inertia))
        return fail(err, CTN_BAD_ARGUMENT, "link %d: inertia: no body has these moments, %g %g %g %g %g %g", i, l->inertia[0],
                    l->inertia[1], l->inertia[2], l->inertia[3], l->inertia[4], l->inertia[5]);
    if (!isfinite(l->armature) || l->armature < 0)
        return fail(err, CTN_BAD_ARGUMENT, "link %d: armature: expected a number not below 0, found %g", i, l->armature);
    return CTN_OK;
}

/// A right-handed frame whose z is `axis`.
static se3 frame_along(v3 axis)
{
    const double size = sqrt(v3_dot(axis, axis));
    se3 F = se3_one();
    if (axis.x == 0 && axis.y == 0 && axis.z > 0) return F;
    F.Z = v3_scale(axis, 1 / size);
    const v3 side = fabs(F.Z.x) < 0.6 ? (v3){1, 0, 0} : (v3){0, 1, 0};
    const v3 y = v3_cross(F.Z, side);
    F.Y = v3_scale(y, 1 / sqrt(v3_dot(y, y)));
    F.X = v3_cross(F.Y, F.Z);
    return F;
}

tree_link tree_link_of(const ctn_tree_link *l, const ctn_tree_link *parent)
{
    const se3 joint = {{l->R[0], l->R[3], l->R[6]}, {l->R[1], l->R[4], l->R[7]}, {l->R[2], l->R[5], l->R[8]}, v3_of(l->p)};
    const se3 F = frame_along(v3_of(l->axis)), back = se3_inverse(F),
              before = parent ? se3_inverse(frame_along(v3_of(parent->axis))) : se3_one();
    const sym33 I = {l->inertia[0], l->inertia[1], l->inertia[2], l->inertia[3], l->inertia[4], l->inertia[5]};
    return (tree_link){.at = se3_times(se3_times(before, joint), F),
                       .mass = l->mass,
                       .com = se3_back(&F, v3_of(l->com)),
                       .I = sym33_turned(&back, &I),
                       .armature = l->armature,
                       .slides = l->joint == CTN_PRISMATIC};
}

static ctn_status count_check(int n, ctn_error *err)
{
    if (n >= 1 && n <= CTN_TREE_MAX_LINKS) return CTN_OK;
    return fail(err, CTN_BAD_ARGUMENT, "n: expected 1 to %d links, found %d", CTN_TREE_MAX_LINKS, n);
}

ctn_tree *ctn_tree_create(int n, const int *parent, int records, const ctn_tree_link *links, const double *gravity, int threads,
                          ctn_error *err)
{
    if (missing("ctn_tree_create", "parent", parent, err) || missing("ctn_tree_create", "links", links, err) ||
        missing("ctn_tree_create", "gravity", gravity, err) || count_check(n, err))
        return NULL;
    if (records != n && records != 1) {
        fail(err, CTN_BAD_ARGUMENT, "records: expected %d, one a link, or 1 for all, found %d", n, records);
        return NULL;
    }
    if (!all_finite(gravity, 3)) {
        fail(err, CTN_BAD_ARGUMENT, "gravity: expected finite numbers");
        return NULL;
    }
    for (int i = 0; i < records; i++)
        if (link_check(i, &links[i], err)) return NULL;
    ctn_tree *t = tree_of_parents(n, parent, threads, err);
    if (!t) return NULL;
    for (int i = 0; i < n; i++) {
        const ctn_tree_link *l = &links[records == 1 ? 0 : i];
        t->links[t->place[i]] = tree_link_of(l, parent[i] < 0 ? NULL : records == 1 ? l : &links[parent[i]]);
    }
    for (int i = 0; i < 3; i++) t->gravity[i] = gravity[i];
    return t;
}

/// Cosine and sine of whole quarter turns, exactly, after an angle.
static void quarter_turns(double angle, double quarters, double *c, double *s)
{
    const int k = (int)fmod(fmod(quarters, 4) + 4, 4);
    const double a = cos(angle), b = sin(angle);
    *c = k == 0 ? a : k == 1 ? -b : k == 2 ? -a : b;
    *s = k == 0 ? b : k == 1 ? a : k == 2 ? -b : -a;
}

ctn_tree *ctn_tree_of_model(const ctn_model *model, int threads, ctn_error *err)
{
    if (missing("ctn_tree_of_model", "model", model, err)) return NULL;
    for (int l = 0; l < model->nlink; l++) {
        const ctn_link *link = &model->links[l];
        if (link->joint == CTN_FIXED || link->joint == CTN_REVOLUTE || link->joint == CTN_PRISMATIC) continue;
        fail(err, CTN_UNAVAILABLE, "link %d, '%s': joint: trees have revolute and prismatic joints, of one degree of freedom", l,
             link->name);
        return NULL;
    }
    const int n = model->nbody;
    if (count_check(n, err)) return NULL;
    int *const parent = malloc((size_t)n * sizeof *parent);
    ctn_tree *t = NULL;
    if (!parent) fail(err, CTN_NO_MEMORY, "no memory for %d links", n);
    else {
        for (int b = 0; b < n; b++) {
            const ctn_body *body = &model->bodies[b];
            parent[body->vadr] = body->parent < 0 ? -1 : model->bodies[body->parent].vadr;
        }
        t = tree_of_parents(n, parent, threads, err);
    }
    free(parent);
    if (!t) return NULL;
    for (int b = 0; b < n; b++) {
        const ctn_body *body = &model->bodies[b];
        if (!(body->mass > 0)) {
            fail(err, CTN_BAD_ARGUMENT, "link %d: mass: expected a positive number (kg), found %g", body->vadr, body->mass);
            ctn_tree_free(t);
            return NULL;
        }
        const double *C = body->C, *I = body->I, ca = body->ca, sa = body->sa;
        const v3 r = v3_of(body->r0);
        const bool turned = body->flags & BODY_ABOUT_X && !(body->flags & BODY_ROOT);
        tree_link *const l = &t->links[t->place[body->vadr]];
        *l = (tree_link){.at = turned ? (se3){{1, 0, 0}, {0, ca, sa}, {0, -sa, ca}, r}
                                      : (se3){{C[0], C[3], C[6]}, {C[1], C[4], C[7]}, {C[2], C[5], C[8]}, r},
                         .mass = body->mass,
                         .com = v3_scale(v3_of(body->h), 1 / body->mass),
                         .armature = body->armature,
                         .slides = body->kind == JOINT_PRISMATIC};
        if (!l->slides) {
            double c, s;
            quarter_turns(body->rest_angle, body->quarter, &c, &s);
            const v3 X = l->at.X, Y = l->at.Y;
            l->at.X = v3_add(v3_scale(X, c), v3_scale(Y, s)), l->at.Y = v3_sub(v3_scale(Y, c), v3_scale(X, s));
        }
        const inertia shift = inertia_about(l->mass, l->com, (sym33){0, 0, 0, 0, 0, 0});
        l->I = (sym33){I[0] - shift.I.xx, I[1] - shift.I.yy, I[2] - shift.I.zz,
                       I[3] - shift.I.xy, I[4] - shift.I.xz, I[5] - shift.I.yz};
    }
    for (int i = 0; i < 3; i++) t->gravity[i] = model->gravity[i];
    return t;
}

/// splitmix64: the same numbers everywhere for a seed.
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

ctn_tree *ctn_tree_generate(int n, double branching, uint64_t seed, int threads, ctn_error *err)
{
    if (count_check(n, err)) return NULL;
    if (!isfinite(branching) || (branching != 0 && !(branching >= 1 && branching <= CTN_TREE_MAX_LINKS))) {
        fail(err, CTN_BAD_ARGUMENT, "branching: expected 0 (by chance) or 1 to %d, found %g", CTN_TREE_MAX_LINKS, branching);
        return NULL;
    }
    int *const parent = malloc((size_t)n * sizeof *parent);
    uint64_t state = seed;
    if (!parent) {
        fail(err, CTN_NO_MEMORY, "no memory for %d links", n);
        return NULL;
    }
    parent[0] = -1;
    for (int i = 1; i < n; i++)
        parent[i] = branching == 0 ? (int)(draw(&state) % (uint64_t)i) : (int)floor((i - 1 + ceil(branching)) / branching) - 1;
    ctn_tree *t = tree_of_parents(n, parent, threads, err);
    free(parent);
    if (!t) return NULL;
    const double radius = 0.05, across = (6 * radius * radius + 1) / 12;  // m; kg m^2 of a thin wall, 1 kg, 1 m
    for (int i = 0; i < n; i++) {
        const double angle = seed ? (double)(draw(&state) >> 11) * 0x1p-53 * 6.283185307179586 : 0, c = cos(angle),
                     s = sin(angle);
        t->links[t->place[i]] = (tree_link){.at = {{1, 0, 0}, {0, c, s}, {0, -s, c}, {i ? 1 : 0, 0, 0}},
                                            .mass = 1,
                                            .com = {0.5, 0, 0},
                                            .I = {radius * radius, across, across, 0, 0, 0}};
    }
    t->gravity[2] = -9.81;
    return t;
}

void ctn_tree_free(ctn_tree *t)
{
    if (!t) return;
    free(t->links), free(t->parent), free(t->end), free(t->depth), free(t->given), free(t->place), free(t->tour), free(t->on);
    free(t->path), free(t->level), free(t->by_level);
    free(t);
}

int ctn_tree_links(const ctn_tree *t) { return t ? t->n : 0; }

int ctn_tree_parent(const ctn_tree *t, int link)
{
    if (!t || link < 0 || link >= t->n) return t ? -2 : -1;
    const int p = t->parent[t->place[link]];
    return p < 0 ? -1 : t->given[p];
}

int ctn_tree_depth(const ctn_tree *t, int link) { return t && link >= 0 && link < t->n ? t->depth[t->place[link]] : 0; }

size_t ctn_tree_bytes(const ctn_tree *t)
{
    if (!t) return 0;
    return sizeof *t + (size_t)t->n * (sizeof *t->links + 8 * sizeof(int)) +
           ((size_t)t->npath * 2 + (size_t)t->nlevel + 3) * sizeof(int);
}

ctn_status ctn_tree_tour(const ctn_tree *t, int *lp, int *rp)
{
    if (!t || !lp || !rp) return CTN_BAD_ARGUMENT;
    for (int k = 0; k < t->n; k++) lp[t->given[k]] = tree_lp(t, k), rp[t->given[k]] = tree_rp(t, k);
    return CTN_OK;
}
