/// Compiles a scene into a model: joints become runs of elementary ones, fixed links are welded to what carries them, bodies are
/// sorted depth first with the heaviest subtree first, and frames are turned to suit the kernels (dynamics/model.h says how).
#include "dynamics/model.h"

#include "sim/model/joint_inertia.h"
#include "sim/model/model.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Frames are composed in long double: the model's constants are then right to the last digit of a double.
typedef long double ld;
typedef struct {
    ld m[9];
} mat;
typedef struct {
    ld x[3];
} vec;

static const mat identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

static mat mat_mul(mat a, mat b)
{
    mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[3 * i + j] = a.m[3 * i] * b.m[j] + a.m[3 * i + 1] * b.m[3 + j] + a.m[3 * i + 2] * b.m[6 + j];
    return c;
}

static mat mat_transpose(mat a)
{
    mat c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c.m[3 * i + j] = a.m[3 * j + i];
    return c;
}

static vec mat_vec(mat a, vec b)
{
    vec c;
    for (int i = 0; i < 3; i++) c.x[i] = a.m[3 * i] * b.x[0] + a.m[3 * i + 1] * b.x[1] + a.m[3 * i + 2] * b.x[2];
    return c;
}

static vec vec_add(vec a, vec b) { return (vec){{a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2]}}; }
static vec vec_of(const double *a) { return (vec){{a[0], a[1], a[2]}}; }
static ld vec_norm(vec a) { return sqrtl(a.x[0] * a.x[0] + a.x[1] * a.x[1] + a.x[2] * a.x[2]); }

static mat mat_of_quaternion(const double *q)
{
    const ld w = q[0], x = q[1], y = q[2], z = q[3], s = 2 / (w * w + x * x + y * y + z * z);
    return (mat){{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),  //
                  s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),  //
                  s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}};
}

/// A frame with the unit vector `axis` as its z axis; a permutation without rounding if the axis is x, y or z.
static mat frame_of_axis(const double *axis)
{
    const vec z = vec_of(axis);
    if (z.x[2] == 1) return identity;
    int k = 0;  // the coordinate axis least along z becomes x
    for (int i = 1; i < 3; i++)
        if (fabsl(z.x[i]) <= fabsl(z.x[k])) k = i;
    vec x = {{0, 0, 0}};
    for (int i = 0; i < 3; i++) x.x[i] = (i == k) - z.x[k] * z.x[i];
    const ld n = vec_norm(x);
    for (int i = 0; i < 3; i++) x.x[i] /= n;
    const vec y = {{z.x[1] * x.x[2] - z.x[2] * x.x[1], z.x[2] * x.x[0] - z.x[0] * x.x[2], z.x[0] * x.x[1] - z.x[1] * x.x[0]}};
    mat f;
    for (int i = 0; i < 3; i++) f.m[3 * i] = x.x[i], f.m[3 * i + 1] = y.x[i], f.m[3 * i + 2] = z.x[i];
    return f;
}

static mat about_z(ld c, ld s) { return (mat){{c, -s, 0, s, c, 0, 0, 0, 1}}; }

/// A body while the model is being made.
typedef struct {
    int kind, parent, qadr, vadr, link;
    mat C;  // joint frame in the parent's body frame
    vec r0;
    ld mass;
    vec h;
    ld S[6];  // second moment about the origin: xx yy zz xy xz yz
    mat T;    // from the body's axes as drafted to those of the model
    ctn_body out;
} draft;

typedef struct {
    int body;  // -1: world
    mat R;
    vec p;
} place;

typedef struct {
    draft *body;
    int n;
    place *link;  // of each link frame in its body
} drafts;

static draft *draft_add(drafts *d, int kind, int parent, mat C, vec r0, int qadr, int vadr, int link)
{
    draft *b = &d->body[d->n++];
    memset(b, 0, sizeof *b);
    b->kind = kind, b->parent = parent, b->C = C, b->r0 = r0, b->qadr = qadr, b->vadr = vadr, b->link = link;
    b->T = identity;
    return b;
}

/// Degree of freedom `dof` of the link's joint drives an elementary joint: its forces go there.
static void joint_forces(draft *b, const scene_joint *j, int dof, int nv)
{
    ctn_body *o = &b->out;
    for (int k = 0; k < nv; k++) o->damping[k] = j->damping[dof + k];
    o->limit[0] = -INFINITY, o->limit[1] = INFINITY;
    o->limit_k = j->limit_stiffness, o->limit_b = j->limit_damping;
    if (j->type == CTN_FREE || dof > 2) return;  // free joints have six degrees of freedom, but dampers alone
    o->stiffness = j->stiffness[dof], o->armature = j->armature[dof];
    if (b->kind == JOINT_BALL) {
        memcpy(o->rest, j->rest, sizeof o->rest);
        if (j->limited[0]) o->limit[0] = 0, o->limit[1] = j->limits[0][1];
    } else {
        o->rest[0] = j->rest[dof];
        if (j->limited[dof]) o->limit[0] = j->limits[dof][0], o->limit[1] = j->limits[dof][1];
    }
}

/// The bodies of one link's joint; sets the link's place.
static void add_joint(drafts *d, const scene_link *l, int link, int qadr, int vadr)
{
    const place world = {-1, identity, {{0, 0, 0}}}, on = l->parent < 0 ? world : d->link[l->parent];
    const scene_joint *j = &l->joint;
    const mat zero = mat_mul(on.R, mat_of_quaternion(l->rotation));  // link frame at zero coordinates, in the carrying body
    const vec at = vec_add(on.p, mat_vec(on.R, vec_of(l->position))), none = {{0, 0, 0}};
    const mat Q = frame_of_axis(j->axis);
    place p = {d->n, identity, none};
    draft *b;
    switch (j->type) {
    case CTN_FIXED: p = (place){on.body, zero, at}; break;
    case CTN_REVOLUTE:
    case CTN_PRISMATIC:
    case CTN_HELICAL:
        b = draft_add(d,
                      j->type == CTN_REVOLUTE    ? JOINT_REVOLUTE
                      : j->type == CTN_PRISMATIC ? JOINT_PRISMATIC
                                                 : JOINT_HELICAL,
                      on.body, mat_mul(zero, Q), at, qadr, vadr, link);
        b->out.pitch = j->pitch;
        joint_forces(b, j, 0, 1);
        p.R = mat_transpose(Q);
        break;
    case CTN_UNIVERSAL: {
        const mat Q2 = frame_of_axis(j->axis2);
        joint_forces(draft_add(d, JOINT_REVOLUTE, on.body, mat_mul(zero, Q), at, qadr, vadr, link), j, 0, 1);
        b = draft_add(d, JOINT_REVOLUTE, d->n - 1, mat_mul(mat_transpose(Q), Q2), none, qadr + 1, vadr + 1, link);
        joint_forces(b, j, 1, 1);
        p = (place){d->n - 1, mat_transpose(Q2), none};
        break;
    }
    case CTN_PLANAR: {
        const mat X = frame_of_axis((double[]){1, 0, 0}), Y = frame_of_axis((double[]){0, 1, 0});
        joint_forces(draft_add(d, JOINT_PRISMATIC, on.body, mat_mul(zero, X), at, qadr, vadr, link), j, 0, 1);
        b = draft_add(d, JOINT_PRISMATIC, d->n - 1, mat_mul(mat_transpose(X), Y), none, qadr + 1, vadr + 1, link);
        joint_forces(b, j, 1, 1);
        b = draft_add(d, JOINT_REVOLUTE, d->n - 1, mat_transpose(Y), none, qadr + 2, vadr + 2, link);
        joint_forces(b, j, 2, 1);
        p.body = d->n - 1;
        break;
    }
    case CTN_BALL: joint_forces(draft_add(d, JOINT_BALL, on.body, zero, at, qadr, vadr, link), j, 0, 3); break;
    case CTN_FREE:
        joint_forces(draft_add(d, JOINT_TRANSLATION, -1, identity, none, qadr, vadr, link), j, 0, 3);
        joint_forces(draft_add(d, JOINT_BALL, d->n - 1, identity, none, qadr + 3, vadr + 3, link), j, 3, 3);
        p.body = d->n - 1;
        break;
    }
    d->link[link] = p;
}

/// Adds a link's mass to the body that carries it: second moment = tr(I)/2 - I + m c c'.
static void add_mass(draft *b, const place *p, const scene_link *l)
{
    const vec c = vec_add(p->p, mat_vec(p->R, vec_of(l->com)));
    const double *I = l->inertia;
    const ld half = ((ld)I[0] + I[1] + I[2]) / 2;
    const mat S = {{half - I[0], -I[3], -I[4], -I[3], half - I[1], -I[5], -I[4], -I[5], half - I[2]}};
    const mat T = mat_mul(mat_mul(p->R, S), mat_transpose(p->R));
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    b->mass += l->mass;
    for (int i = 0; i < 3; i++) b->h.x[i] += l->mass * c.x[i];
    for (int k = 0; k < 6; k++) b->S[k] += T.m[3 * row[k] + col[k]] + l->mass * c.x[row[k]] * c.x[col[k]];
}

/// Depth-first order with the heaviest (most numerous) subtree first; fills `order` with draft indices.
static bool depth_first(drafts *d, int *order)
{
    const int n = d->n;
    int *size = calloc((size_t)n + 1, sizeof *size), *child = malloc(((size_t)n + 1) * sizeof *child),
        *start = calloc((size_t)n + 2, sizeof *start), *stack = malloc(((size_t)n + 1) * sizeof *stack);
    const bool ok = size && child && start && stack;
    if (ok) {
        for (int i = n - 1; i >= 0; i--) {
            size[i]++;
            if (d->body[i].parent >= 0) size[d->body[i].parent] += size[i];
        }
        // children of i, and of the world as n, in file order
        for (int i = 0; i < n; i++) start[(d->body[i].parent < 0 ? n : d->body[i].parent) + 1]++;
        for (int i = 0; i <= n; i++) start[i + 1] += start[i];
        int *fill = malloc(((size_t)n + 1) * sizeof *fill);
        if (!fill) {
            free(size), free(child), free(start), free(stack);
            return false;
        }
        memcpy(fill, start, ((size_t)n + 1) * sizeof *fill);
        for (int i = 0; i < n; i++) child[fill[d->body[i].parent < 0 ? n : d->body[i].parent]++] = i;
        free(fill);
        int top = 0, count = 0;
        for (int k = start[n + 1] - 1; k >= start[n]; k--) stack[top++] = child[k];
        while (top) {
            const int i = stack[--top];
            order[count++] = i;
            int heavy = -1;
            for (int k = start[i]; k < start[i + 1]; k++)
                if (heavy < 0 || size[child[k]] > size[child[heavy]]) heavy = k;
            for (int k = start[i + 1] - 1; k >= start[i]; k--)
                if (k != heavy) stack[top++] = child[k];
            if (heavy >= 0) stack[top++] = child[heavy];
        }
    }
    free(size), free(child), free(start), free(stack);
    return ok;
}

static bool turns_about_z(const draft *b) { return b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL; }

/// (c, s) of an angle as quarter turns and a rest of at most an eighth turn.
static void split_angle(ld c, ld s, double *quarter, double *rest)
{
    int k = 0;
    if (fabsl(s) > fabsl(c)) k = s > 0 ? 1 : 3;
    else if (c < 0) k = 2;
    const ld rc = k == 0 ? c : k == 1 ? s : k == 2 ? -c : -s, rs = k == 0 ? s : k == 1 ? -c : k == 2 ? -s : c;
    const ld angle = atan2l(rs, rc);
    *quarter = k;
    *rest = fabsl(angle) < 1e-16L ? 0 : (double)angle;
}

/// Chooses the x axis of every body that turns about z so that the next body's axis is reached by a turn about x, and says
/// which joint frames are then such turns. `before`: the position of each body's parent in the order, -1 for the world.
static void choose_axes(drafts *d, const int *order, const int *before)
{
    for (int i = 0; i < d->n; i++) {
        draft *b = &d->body[order[i]];
        ctn_body *o = &b->out;
        if (b->parent >= 0) {
            b->C = mat_mul(d->body[b->parent].T, b->C);
            b->r0 = mat_vec(d->body[b->parent].T, b->r0);
        }
        // C = Rx(alpha) Rz(phi) if its z axis has no x component
        ld c = 1, s = 0;  // phi
        if (b->parent >= 0 && fabsl(b->C.m[2]) < 1e-17L) {
            const ld ca = b->C.m[8], sa = -b->C.m[5];
            c = b->C.m[0], s = ca * b->C.m[3] + sa * b->C.m[6];
            if (turns_about_z(b) || (c == 1 && s == 0)) o->flags |= BODY_ABOUT_X, o->ca = (double)ca, o->sa = (double)sa;
        }
        if (turns_about_z(b) && i + 1 < d->n && before[i + 1] == i && turns_about_z(&d->body[order[i + 1]])) {
            const mat *next = &d->body[order[i + 1]].C;
            const ld x = -next->m[5], y = next->m[2], n = sqrtl(x * x + y * y);  // z x its axis
            if (n > 1e-9L) {
                const ld sign = x < 0 || (x == 0 && y < 0) ? -1 / n : 1 / n, pc = x * sign, ps = y * sign;
                b->T = about_z(pc, -ps);
                if (o->flags & BODY_ABOUT_X) {
                    const ld t = c * pc - s * ps;
                    s = s * pc + c * ps, c = t;
                } else b->C = mat_mul(b->C, about_z(pc, ps));
            }
        }
        if (o->flags & BODY_ABOUT_X) split_angle(c, s, &o->quarter, &o->rest_angle);
        b->h = mat_vec(b->T, b->h);
        const mat S = {{b->S[0], b->S[3], b->S[4], b->S[3], b->S[1], b->S[5], b->S[4], b->S[5], b->S[2]}};
        const mat U = mat_mul(mat_mul(b->T, S), mat_transpose(b->T));
        b->S[0] = U.m[0], b->S[1] = U.m[4], b->S[2] = U.m[8], b->S[3] = U.m[1], b->S[4] = U.m[2], b->S[5] = U.m[5];
    }
}

/// The finished bodies, in order, with everything that depends on the whole tree.
static void finish_bodies(ctn_model *m, drafts *d, const int *order, const int *before)
{
    const int n = d->n;
    const ld g = vec_norm(vec_of(m->gravity));
    for (int i = 0; i < n; i++) {
        const draft *b = &d->body[order[i]];
        ctn_body *o = &m->bodies[i];
        *o = b->out;
        o->kind = b->kind, o->parent = before[i], o->qadr = b->qadr, o->vadr = b->vadr;
        o->nv = b->kind == JOINT_BALL || b->kind == JOINT_TRANSLATION ? 3 : 1;
        for (int k = 0; k < 9; k++) o->C[k] = (double)b->C.m[k];
        for (int k = 0; k < 3; k++) o->r0[k] = (double)b->r0.x[k], o->h[k] = (double)b->h.x[k];
        o->mass = (double)b->mass;
        const ld tr = b->S[0] + b->S[1] + b->S[2];
        for (int k = 0; k < 6; k++) {
            o->S[k] = (double)b->S[k];
            o->I[k] = (double)((k < 3 ? tr : 0) - b->S[k]);
        }
        o->end = i + 1;
        o->flags |= BODY_LEAF;
        if (o->parent < 0) o->flags |= BODY_ROOT;
        if (o->parent == i - 1 && o->parent >= 0) o->flags |= BODY_NEXT;
        if (b->mass > 0 || tr > 0) o->flags |= BODY_MASS;
        if (vec_norm(b->r0) > 0) o->flags |= BODY_OFFSET;
        if (o->armature > 0) o->flags |= BODY_ARMATURE;
        if (o->stiffness || isfinite(o->limit[0]) || isfinite(o->limit[1])) o->flags |= BODY_SPRING | BODY_PASSIVE;
        if (o->damping[0] || o->damping[1] || o->damping[2]) o->flags |= BODY_PASSIVE;
    }
    m->in_order = true;
    for (int i = 0, dof = 0; i < n; i++) {
        ctn_body *o = &m->bodies[i];
        o->dof = dof;
        if (o->vadr != dof) m->in_order = false;
        for (int k = 0; k < o->nv; k++) m->dof_adr[dof++] = o->vadr + k;
    }
    // inwards: masses and extents of subtrees, forks
    for (int i = n - 1; i >= 0; i--) {
        ctn_body *o = &m->bodies[i];
        const double trace = o->S[0] + o->S[1] + o->S[2];
        const double own = o->mass > 0 ? sqrt(fmax(trace, 0) / o->mass) : 0;
        o->subtree_mass += o->mass;
        o->extent = fmax(o->extent, own);
        if (o->parent < 0) continue;
        ctn_body *p = &m->bodies[o->parent];
        if (o->end > p->end) p->end = o->end;
        p->subtree_mass += o->subtree_mass;
        p->extent = fmax(p->extent, o->extent + (double)vec_norm(vec_of(o->r0)));
        p->flags &= ~(unsigned)BODY_LEAF;
        if (!(o->flags & BODY_NEXT)) {
            if (!(p->flags & BODY_FORK)) o->flags |= BODY_LAST;
            p->flags |= BODY_FORK;
        }
    }
    for (int i = 0; i < n; i++) {
        ctn_body *o = &m->bodies[i];
        if (o->flags & BODY_PASSIVE) m->passive = true;
        if (o->parent >= 0 && (o->kind == JOINT_PRISMATIC || o->kind == JOINT_HELICAL)) m->slides = true;
        body_set_form(o);
        const double L = o->extent > 0 ? o->extent : 1;
        const bool turn = o->kind == JOINT_REVOLUTE || o->kind == JOINT_HELICAL || o->kind == JOINT_BALL;
        body_force_scales(o, m->gravity);
        // limits default to a thousand times what the subtree's weight can do over its extent
        if (isnan(o->limit_k)) o->limit_k = 1000 * o->subtree_mass * (double)(g > 0 ? g : 9.81L) * (turn ? L : 1 / L);
    }
}

static bool copy_links(ctn_model *m, const ctn_scene *scene)
{
    size_t size = 1;
    for (int l = 0; l < scene->nlink; l++) size += strlen(scene->links[l].name) + 1;
    char *at = m->names = malloc(size);
    if (!at) return false;
    int qadr = 0, vadr = 0;
    for (int l = 0; l < scene->nlink; l++) {
        const scene_link *s = &scene->links[l];
        ctn_link *o = &m->links[l];
        o->name = strcpy(at, s->name);
        at += strlen(at) + 1;
        o->parent = s->parent, o->joint = s->joint.type;
        o->qadr = qadr, o->nq = joint_nq(o->joint), o->vadr = vadr, o->nv = joint_nv(o->joint);
        memcpy(m->q0 + qadr, s->joint.q0, (size_t)o->nq * sizeof *m->q0);
        memcpy(m->v0 + vadr, s->joint.v0, (size_t)o->nv * sizeof *m->v0);
        qadr += o->nq, vadr += o->nv;
        o->mass = s->mass;
        memcpy(o->com, s->com, sizeof o->com);
        memcpy(o->inertia, s->inertia, sizeof o->inertia);
        m->mass += s->mass;
    }
    return true;
}

/// Limits that do not say how they are damped: half of critical for the inertia that the joint meets at zero coordinates, so that what
/// hits one keeps little of its energy, and the damper needs no smaller steps than the limit's spring.
static bool damp_limits(ctn_model *m, int defaults)
{
    joint_inertia *inertia = NULL;
    for (int i = 0; i < m->nbody; i++) {
        ctn_body *const b = &m->bodies[i];
        const bool limited = isfinite(b->limit[0]) || isfinite(b->limit[1]);
        if (!isnan(b->limit_b)) continue;
        b->limit_b = 0;
        if (!limited || defaults < 2) continue;
        if (!inertia && !(inertia = joint_inertia_create(m, NULL))) return false;
        b->limit_b = sqrt(b->limit_k * joint_inertia_met(inertia, i));
    }
    joint_inertia_free(inertia);
    return true;
}

/// Refuses what the dynamics could not accelerate: a body at the end of the tree without mass.
static ctn_status check_bodies(const ctn_model *m, const drafts *d, const int *order, const ctn_scene *scene, ctn_error *err)
{
    for (int i = 0; i < m->nbody; i++) {
        const scene_link *l = &scene->links[d->body[order[i]].link];
        if (m->bodies[i].subtree_mass > 0) continue;
        return fail_at(err, CTN_BAD_SCENE, l->file, l->line, l->column, "links",
                       "'%s' moves no mass: give it, or a link that hangs on it, a mass", l->name);
    }
    return CTN_OK;
}

/// Loads on points. Frames of links are known.
static bool compile_loads(ctn_model *m, const ctn_scene *scene)
{
    m->nload = scene->nload, m->nspring = scene->nspring, m->nforce = scene->nload - scene->nspring;
    m->loads = calloc((size_t)scene->nload + 1, sizeof *m->loads);
    if (!m->loads) return false;
    for (int n = 0; n < scene->nload; n++) {
        const scene_load *const s = &scene->loads[n];
        point_load *const o = &m->loads[n];
        *o = (point_load){.body = m->frames[s->link].body,
                          .number = n,
                          .link = s->link,
                          .flags = (s->turns ? LOAD_TURNS : 0) | (s->follows ? LOAD_FOLLOWS : 0),
                          .stiffness = s->stiffness,
                          .damping = s->damping};
        for (int k = 0; k < 3; k++) o->anchor[k] = s->anchor[k], o->force[k] = s->force[k], o->torque[k] = s->torque[k];
        body_point(m, s->link, s->point, o->point);
    }
    model_sort_loads(m);
    return true;
}

ctn_model *ctn_model_create(const ctn_scene *scene, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err)) return NULL;
    ctn_model *m = calloc(1, sizeof *m);
    drafts d = {0};
    const size_t links = (size_t)scene->nlink + 1;
    int *order = NULL, *before = NULL;
    if (!m) goto no_memory;
    m->nlink = scene->nlink, m->nq = scene->nq, m->nv = scene->nv;
    memcpy(m->gravity, scene->gravity, sizeof m->gravity);
    m->name = strdup(scene->name);
    m->links = calloc(links, sizeof *m->links);
    m->frames = calloc(links, sizeof *m->frames);
    m->dof_adr = calloc((size_t)m->nv + 1, sizeof *m->dof_adr);
    m->q0 = calloc((size_t)m->nq + 1, sizeof *m->q0);
    m->v0 = calloc((size_t)m->nv + 1, sizeof *m->v0);
    d.body = calloc(3 * links, sizeof *d.body);
    d.link = calloc(links, sizeof *d.link);
    if (!m->name || !m->links || !m->frames || !m->dof_adr || !m->q0 || !m->v0 || !d.body || !d.link || !copy_links(m, scene))
        goto no_memory;

    for (int l = 0; l < scene->nlink; l++) {
        const scene_link *s = &scene->links[l];
        add_joint(&d, s, l, m->links[l].qadr, m->links[l].vadr);
        const place *p = &d.link[l];
        if (p->body >= 0) {
            add_mass(&d.body[p->body], p, s);
        } else {
            const vec c = vec_add(p->p, mat_vec(p->R, vec_of(s->com)));
            for (int k = 0; k < 3; k++) m->fixed_moment[k] += (double)(s->mass * c.x[k]);
        }
    }
    m->nbody = d.n;
    m->bodies = calloc((size_t)d.n + 1, sizeof *m->bodies);
    order = malloc(((size_t)d.n + 1) * sizeof *order);
    before = malloc(((size_t)d.n + 1) * sizeof *before);
    if (!m->bodies || !order || !before || !depth_first(&d, order)) goto no_memory;
    for (int i = 0; i < d.n; i++) m->bodies[order[i]].parent = i;  // where each draft stands
    for (int i = 0; i < d.n; i++) before[i] = d.body[order[i]].parent < 0 ? -1 : m->bodies[d.body[order[i]].parent].parent;
    for (int l = 0; l < m->nlink; l++) m->frames[l].body = d.link[l].body < 0 ? -1 : m->bodies[d.link[l].body].parent;
    choose_axes(&d, order, before);
    finish_bodies(m, &d, order, before);
    for (int l = 0; l < m->nlink; l++) {
        const place *p = &d.link[l];
        const mat T = p->body < 0 ? identity : d.body[p->body].T, R = mat_mul(T, p->R);
        const vec at = mat_vec(T, p->p);
        for (int k = 0; k < 9; k++) m->frames[l].R[k] = (double)R.m[k];
        for (int k = 0; k < 3; k++) m->frames[l].p[k] = (double)at.x[k];
    }
    if (!compile_loads(m, scene)) goto no_memory;
    if (check_bodies(m, &d, order, scene, err) != CTN_OK) {
        ctn_model_free(m);
        m = NULL;
    }
    if (m && !damp_limits(m, scene->defaults)) goto no_memory;
    free(order), free(before), free(d.body), free(d.link);
    return m;

no_memory:
    free(order), free(before), free(d.body), free(d.link);
    ctn_model_free(m);
    fail(err, CTN_NO_MEMORY, "%s: not enough memory for the model", scene->path);
    return NULL;
}
