/// Mass properties of a link: explicit numbers, or shapes and a density; what is physically possible.
#include "sim/scene/robot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- closed forms

/// I += m (|d|^2 1 - d d')
static void shift_inertia(double m, const double d[3], double I[6])
{
    I[0] += m * (d[1] * d[1] + d[2] * d[2]);
    I[1] += m * (d[0] * d[0] + d[2] * d[2]);
    I[2] += m * (d[0] * d[0] + d[1] * d[1]);
    I[3] -= m * d[0] * d[1];
    I[4] -= m * d[0] * d[2];
    I[5] -= m * d[1] * d[2];
}

/// I = R diag R' with the columns of R(q)
static void turn_inertia(const double q[4], const double diagonal[3], double I[6])
{
    memset(I, 0, 6 * sizeof *I);
    for (int k = 0; k < 3; k++) {
        double c[3] = {k == 0, k == 1, k == 2};
        rotate(q, c, c);
        I[0] += diagonal[k] * c[0] * c[0], I[1] += diagonal[k] * c[1] * c[1], I[2] += diagonal[k] * c[2] * c[2];
        I[3] += diagonal[k] * c[0] * c[1], I[4] += diagonal[k] * c[0] * c[2], I[5] += diagonal[k] * c[1] * c[2];
    }
}

/// Round bodies: I = across 1 + (along - across) u u' about the unit axis u.
static void round_inertia(const double u[3], double along, double across, double I[6])
{
    const double d = along - across;
    I[0] = across + d * u[0] * u[0], I[1] = across + d * u[1] * u[1], I[2] = across + d * u[2] * u[2];
    I[3] = d * u[0] * u[1], I[4] = d * u[0] * u[2], I[5] = d * u[1] * u[2];
}

static mass_properties round_bar_mass(const scene_shape *shape, double density)
{
    double u[3];
    for (int i = 0; i < 3; i++) u[i] = shape->to[i] - shape->from[i];
    const double h = norm(u, 3), r = shape->radius;
    for (int i = 0; i < 3; i++) u[i] /= h;
    const double m = density * M_PI * r * r * h;                                                      // the cylinder ...
    const double ends = shape->type == SHAPE_CAPSULE ? density * (4.0 / 3.0) * M_PI * r * r * r : 0;  // ... and two half balls
    mass_properties p = {.mass = m + ends};
    for (int i = 0; i < 3; i++) p.com[i] = shape->from[i] + 0.5 * (shape->to[i] - shape->from[i]);
    const double along = m * r * r / 2 + ends * 2 * r * r / 5;
    const double across = m * (3 * r * r + h * h) / 12 + ends * (2 * r * r / 5 + h * h / 4 + 3 * h * r / 8);
    round_inertia(u, along, across, p.inertia);
    return p;
}

/// The integrals over the mesh, stretched and turned.
static mass_properties mesh_mass(const scene_shape *shape, double density)
{
    const mesh_surface *const m = &shape->mesh->surface;
    const double *const s = shape->size, *const S = m->second, scale = density * s[0] * s[1] * s[2];
    const double x = scale * s[0] * s[0] * S[0], y = scale * s[1] * s[1] * S[1], z = scale * s[2] * s[2] * S[2];
    const double J[6] = {
        y + z, x + z, x + y, -scale * s[0] * s[1] * S[3], -scale * s[0] * s[2] * S[4], -scale * s[1] * s[2] * S[5]};
    mass_properties p = {.mass = scale * m->volume};
    for (int k = 0; k < 3; k++) p.com[k] = s[k] * m->center[k];
    rotate(shape->rotation, p.com, p.com);
    for (int k = 0; k < 3; k++) p.com[k] += shape->center[k];
    turned_inertia(shape->rotation, J, p.inertia);
    return p;
}

mass_properties shape_mass(const scene_shape *shape, double density)
{
    const double *const a = shape->size;
    mass_properties p = {0};
    memcpy(p.com, shape->center, sizeof p.com);
    switch (shape->type) {
    case SHAPE_SPHERE: {
        const double r = shape->radius;
        p.mass = density * (4.0 / 3.0) * M_PI * r * r * r;
        for (int i = 0; i < 3; i++) p.inertia[i] = p.mass * 2 * r * r / 5;
        return p;
    }
    case SHAPE_BOX:
    case SHAPE_ELLIPSOID: {
        const bool box = shape->type == SHAPE_BOX;
        p.mass = density * (box ? 1 : (4.0 / 3.0) * M_PI) * a[0] * a[1] * a[2];
        const double m = p.mass / (box ? 12 : 5);
        const double diagonal[3] = {m * (a[1] * a[1] + a[2] * a[2]), m * (a[0] * a[0] + a[2] * a[2]),
                                    m * (a[0] * a[0] + a[1] * a[1])};
        turn_inertia(shape->rotation, diagonal, p.inertia);
        return p;
    }
    case SHAPE_MESH: return mesh_mass(shape, density);
    default: return round_bar_mass(shape, density);
    }
}

mass_properties combine_masses(const mass_properties *parts, int n)
{
    mass_properties all = {0};
    for (int k = 0; k < n; k++) all.mass += parts[k].mass;
    if (!(all.mass > 0)) return all;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) all.com[i] += parts[k].mass / all.mass * parts[k].com[i];
    for (int k = 0; k < n; k++) {
        const double d[3] = {parts[k].com[0] - all.com[0], parts[k].com[1] - all.com[1], parts[k].com[2] - all.com[2]};
        for (int i = 0; i < 6; i++) all.inertia[i] += parts[k].inertia[i];
        shift_inertia(parts[k].mass, d, all.inertia);
    }
    return all;
}

// ---- what is possible

/// Eigenvalues of a symmetric 3x3 matrix xx yy zz xy xz yz by Jacobi rotations, until the rest is rounding.
static void eigenvalues(const double I[6], double values[3])
{
    double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
    for (int sweep = 0; sweep < 12; sweep++) {
        for (int p = 0; p < 2; p++) {
            for (int q = p + 1; q < 3; q++) {
                if (A[p][q] == 0) continue;
                const double theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    const double a = A[k][p], b = A[k][q];
                    A[k][p] = c * a - s * b, A[k][q] = s * a + c * b;
                }
                for (int k = 0; k < 3; k++) {
                    const double a = A[p][k], b = A[q][k];
                    A[p][k] = c * a - s * b, A[q][k] = s * a + c * b;
                }
            }
        }
    }
    for (int i = 0; i < 3; i++) values[i] = A[i][i];
}

bool inertia_possible(const double inertia[6], double principal[3])
{
    double largest = 0, scaled[6];
    for (int i = 0; i < 6; i++) largest = fmax(largest, fabs(inertia[i]));
    if (largest == 0) {
        memset(principal, 0, 3 * sizeof *principal);
        return true;  // a point
    }
    for (int i = 0; i < 6; i++) scaled[i] = inertia[i] / largest;
    double e[3];
    eigenvalues(scaled, e);
    const double trace = e[0] + e[1] + e[2], slack = 1e-6 * fabs(trace);  // for numbers written with few digits: thin plates
    for (int i = 0; i < 3; i++) principal[i] = e[i] * largest;
    for (int i = 0; i < 3; i++)
        if (!(trace - 2 * e[i] >= -slack)) return false;  // 2 int rho x_i^2: the pseudo-inertia is not negative
    return true;
}

bool read_inertia(source *s, const node *n, double inertia[6])
{
    double I[6], e[3];
    if (!read_vector(s, n, 6, ANY_SIGN, I)) return false;
    if (!inertia_possible(I, e) && s->inertias_as_given)
        warn(s, n, "no body has principal moments %.4g, %.4g, %.4g (kg m^2); taken as it is", e[0], e[1], e[2]);
    else if (!inertia_possible(I, e))
        return bad_value(
            s, n,
            "no body has principal moments %.4g, %.4g, %.4g (kg m^2): none may be negative or exceed the sum of the others "
            "(ixx, iyy, izz, ixy, ixz, iyz about the centre of mass)",
            e[0], e[1], e[2]);
    memcpy(inertia, I, sizeof I);
    return true;
}

static bool is_finite(const mass_properties *p)
{
    double sum = p->mass;
    for (int i = 0; i < 3; i++) sum += fabs(p->com[i]);
    for (int i = 0; i < 6; i++) sum += fabs(p->inertia[i]);
    return isfinite(sum);
}

// ---- the rules for a link

typedef struct mass_nodes {
    const node *mass, *com, *inertia, *density, *shapes;
    bool own_mass, own_inertia;  // not a default
} mass_nodes;

/// Own values over defaults. A link that gives its own density wants its mass computed, whatever mass the defaults have.
static mass_nodes choose_nodes(const source *s, const node *const own[LINK_KEYS])
{
    const node *const *const def = s->default_link;
    const bool computed = own[LINK_KEY_DENSITY] && !own[LINK_KEY_MASS];
    mass_nodes n = {
        .mass = own[LINK_KEY_MASS], .com = own[LINK_KEY_COM], .inertia = own[LINK_KEY_INERTIA], .density = own[LINK_KEY_DENSITY]};
    n.own_mass = n.mass, n.own_inertia = n.inertia;
    if (!n.mass && !computed) n.mass = def[LINK_KEY_MASS];
    if (!n.com && !computed) n.com = def[LINK_KEY_COM];
    if (!n.inertia && !computed) n.inertia = def[LINK_KEY_INERTIA];
    if (!n.density) n.density = def[LINK_KEY_DENSITY];
    n.shapes = own[LINK_KEY_SHAPES] ? own[LINK_KEY_SHAPES] : def[LINK_KEY_SHAPES];
    return n;
}

/// What the mass of a shape is computed of must enclose something.
static bool check_mesh(source *s, const node *shape, const scene_mesh *mesh, const mass_properties *p)
{
    const node *file = shape->child;
    double e[3];
    while (file && strcmp(file->key->text, "file")) file = file->next;
    if (!file) return false;  // another key was meant for it, which is an error already
    const char *const flaw = *mesh->surface.flaw               ? mesh->surface.flaw
                             : inertia_possible(p->inertia, e) ? NULL
                                                               : "is inside out in parts";
    return !flaw || bad_value(s, file,
                              "the surface of %s %s, so that it has no mass; mend it, or give the link `mass` and `inertia`, or "
                              "this shape `density: 0`",
                              found(file).text, flaw);
}

typedef enum shapes_sum { SHAPES_SUMMED, SHAPES_NO_DENSITY, SHAPES_BAD } shapes_sum;

/// Shapes with their own density, or `density`; with `relative`, alike if no density is given at all. shapes: the list in the
/// file.
static shapes_sum shapes_mass(source *s, const node *shapes, const scene_link *link, double density, bool relative,
                              mass_properties *sum)
{
    bool any = false, every = true;
    for (int i = 0; i < link->nshape; i++) {
        const bool has = !isnan(link->shapes[i].density) || !isnan(density);
        any = any || has, every = every && has;
    }
    if (!every && (any || !relative)) return SHAPES_NO_DENSITY;
    mass_properties *const parts = reader_alloc(s->r, (size_t)link->nshape * sizeof *parts);
    if (!parts) return SHAPES_BAD;
    bool ok = true;
    const node *entry = shapes->child;
    for (int i = 0, at = 0; i < link->nshape; i++) {
        const scene_shape *const shape = &link->shapes[i];
        for (; at < shape->entry; at++) entry = entry->next;
        const double rho = isnan(shape->density) ? (any ? density : 1) : shape->density;
        parts[i] = (mass_properties){0};
        if (rho == 0) continue;  // drawn only
        parts[i] = shape_mass(shape, rho);
        if (shape->mesh) ok = check_mesh(s, entry, shape->mesh, &parts[i]) && ok;
    }
    if (ok) *sum = combine_masses(parts, link->nshape);
    free(parts);
    return ok ? SHAPES_SUMMED : SHAPES_BAD;
}

/// A link without mass has no inertia; one that is taken as given may have.
static bool may_have_inertia(source *s, const node *n, double mass, const double inertia[6])
{
    static const double none[6] = {0};
    if (mass > 0 || !memcmp(inertia, none, sizeof none)) return true;
    if (!s->inertias_as_given)
        return bad_value(s, n,
                         "a link without mass has no inertia: give it a `mass` > 0; or zeros here, if it is fixed or links "
                         "with mass hang on it");
    warn(s, n, "a link without mass has an inertia; taken as it is");
    return true;
}

/// Explicit mass and inertia; com is filled in by the caller.
static bool explicit_mass(source *s, const node *mapping, const mass_nodes *n, double mass, double density,
                          const scene_link *link, mass_properties *p)
{
    p->mass = mass;
    if (n->inertia && (mass > 0 || n->own_inertia)) {
        if (!read_inertia(s, n->inertia, p->inertia)) return false;
        return may_have_inertia(s, n->inertia, mass, p->inertia);
    }
    if (mass == 0) return true;
    if (!link->nshape && s->defaults_failed) return false;
    if (!link->nshape) return missing_key(s, mapping, "inertia", "missing; mass needs an inertia (zeros for a point) or shapes");
    mass_properties sum;
    const shapes_sum summed = shapes_mass(s, n->shapes, link, density, true, &sum);
    if (summed != SHAPES_SUMMED) {
        if (summed == SHAPES_BAD || s->defaults_failed) return false;
        return missing_key(s, mapping, "density", "missing; some shapes have a density and others none");
    }
    if (!(sum.mass > 0) || !isfinite(sum.mass)) return bad_value(s, n->mass, "the shapes of this link have no mass to scale");
    const double scale = mass / sum.mass;
    memcpy(p->com, sum.com, sizeof p->com);
    for (int i = 0; i < 6; i++) p->inertia[i] = sum.inertia[i] * scale;
    return true;
}

bool read_mass(source *s, const node *mapping, const node *const own[LINK_KEYS], bool shapes_known, scene_link *link,
               const node **zero_mass)
{
    const bool fixed = link->joint.type == CTN_FIXED;
    mass_nodes n = choose_nodes(s, own);
    double mass = NAN, density = NAN, com[3];
    bool ok = true;
    link->mass = NAN;
    *zero_mass = 0;
    if (n.mass) ok = read_number(s, n.mass, NOT_NEGATIVE, &mass) && ok;
    if (n.com) ok = read_vector(s, n.com, 3, ANY_SIGN, com) && ok;
    if (n.density) ok = read_number(s, n.density, NOT_NEGATIVE, &density) && ok;
    if (!ok || !shapes_known) {
        if (own[LINK_KEY_INERTIA]) read_inertia(s, own[LINK_KEY_INERTIA], link->inertia);  // for its errors
        return false;
    }

    mass_properties p = {0};
    shapes_sum summed = SHAPES_NO_DENSITY;
    const bool pointless = n.mass && !n.own_mass && !n.inertia && !link->nshape;  // a default mass alone
    if (n.mass && !(pointless && fixed)) {
        if (own[LINK_KEY_DENSITY] && link->nshape) warn(s, own[LINK_KEY_DENSITY], "not used: `mass` is given");
        if (!explicit_mass(s, mapping, &n, mass, density, link, &p)) return false;
        if (mass == 0) *zero_mass = n.mass;
    } else if (own[LINK_KEY_INERTIA]) {
        read_inertia(s, own[LINK_KEY_INERTIA], link->inertia);
        return missing_key(s, mapping, "mass", "missing; `inertia` needs it");
    } else if (link->nshape && (summed = shapes_mass(s, n.shapes, link, density, false, &p)) == SHAPES_SUMMED) {
        if (p.mass == 0) *zero_mass = n.density ? n.density : own[LINK_KEY_SHAPES];
    } else if (summed == SHAPES_BAD) {
        return false;
    } else if (!fixed) {
        if (s->defaults_failed) return false;
        return missing_key(s, mapping, "mass",
                           link->nshape ? "missing; give `mass`, or the shapes a `density`"
                                        : "missing; a moving link has `mass` and `inertia`, or `shapes` and `density`");
    }
    if (own[LINK_KEY_DENSITY] && !link->nshape) warn(s, own[LINK_KEY_DENSITY], "not used: the link has no shapes");
    if (n.com) memcpy(p.com, com, sizeof p.com);
    if (!is_finite(&p))
        return bad_key(s,
                       n.mass                                 ? n.mass
                       : link->nshape && own[LINK_KEY_SHAPES] ? own[LINK_KEY_SHAPES]
                                                              : mapping,
                       "too large to compute with");
    link->mass = p.mass;
    memcpy(link->com, p.com, sizeof p.com);
    memcpy(link->inertia, p.inertia, sizeof p.inertia);
    return true;
}

void check_moving_masses(reader *r)
{
    const ctn_scene *const scene = r->scene;
    if (r->no_memory || !r->parents_known) return;
    double *const moved = reader_alloc(r, (size_t)scene->nlink * sizeof *moved);  // mass of a link and all below it
    if (!moved) return;
    for (int i = 0; i < scene->nlink; i++) moved[i] = scene->links[i].mass;
    for (int i = scene->nlink - 1; i >= 0; i--) {
        const scene_link *const link = &scene->links[i];
        if (link->parent >= 0) moved[link->parent] += moved[i];
        if (link->joint.type == CTN_FIXED || moved[i] != 0) continue;
        const link_origin *const from = &r->origins[i];
        source s = {.r = r, .file = from->file};
        static const char why[] = "a moving link needs mass, of its own or below it; found none: give it";
        const scene_file *const file = &scene->files[from->file];
        const char *const remedy = is_robot_text(file->text, file->length)
                                       ? "an <inertial> of a mass > 0, or no joint that moves"
                                       : "a `mass` > 0 with an `inertia` or shapes, or make its joint fixed";
        if (from->mass) bad_value(&s, from->mass, "%s %s", why, remedy);
        else missing_key(&s, from->start, "mass", "%s %s", why, remedy);
    }
    free(moved);
}
