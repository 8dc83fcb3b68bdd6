/// The bodies of a model: joints become runs of elementary ones, fixed links are welded to what carries them, bodies are sorted
/// depth first with the heaviest subtree first, and frames are turned to suit the kernels (dynamics/model.h says how).
#include "sim/model/bodies.h"

#include "sim/model/long_frames.h"
#include "sim/model/model.h"

#include <stdlib.h>
#include <string.h>

/// A body while the model is being made. What it is like follows from its link, which is asked when the body is finished.
typedef struct {
    int link, element;  // its joint is that one of the elementary joints of the link's
    int parent;         // draft, -1: the world
    int welded, last;   // the first and the last of the fixed links that it carries, in file order; -1: none
} draft;

/// Where a link's frame is in its body at all times.
typedef struct {
    int body;  // draft, -1: the world
    mat R;
    vec p;
} place;

/// A link without a joint of its own.
typedef struct {
    int link;
    int next;  // fixed link on the same body, -1: none
    place at;
} weld;

/// What turns the axes of a body as drafted to those of the model: about z, by an angle with this cosine and sine; both 0: none.
typedef struct {
    ld c, s;
} turn;

typedef struct {
    const ctn_scene *scene;
    ctn_model *m;
    draft *body;
    int n;
    weld *weld;  // in file order
    int welds;
    turn *turn;    // [n] of drafts
    int *order;    // [n] drafts
    int *stands;   // [n] where each draft stands in the order
    int *carrier;  // [nlink] draft that carries the link, -1: the world
} drafts;

/// An elementary joint of a run: its kind, and the first of the joint's degrees of freedom and coordinates that it has.
typedef struct {
    int kind, dof;
} element;

/// How many elementary joints make up a joint.
static int element_count(ctn_joint_type type)
{
    return type == CTN_FIXED ? 0 : type == CTN_PLANAR ? 3 : type == CTN_UNIVERSAL || type == CTN_FREE ? 2 : 1;
}

/// Number `k` of them.
static element element_of(ctn_joint_type type, int k)
{
    switch (type) {
    case CTN_PRISMATIC: return (element){JOINT_PRISMATIC, 0};
    case CTN_HELICAL: return (element){JOINT_HELICAL, 0};
    case CTN_BALL: return (element){JOINT_BALL, 0};
    case CTN_PLANAR: return (element){k < 2 ? JOINT_PRISMATIC : JOINT_REVOLUTE, k};
    case CTN_FREE: return (element){k ? JOINT_BALL : JOINT_TRANSLATION, 3 * k};
    default: return (element){JOINT_REVOLUTE, k};
    }
}

/// The degree of freedom `e` of a joint drives a body: its forces go there.
static void joint_forces(ctn_body *o, const scene_joint *j, element e, int nv)
{
    for (int k = 0; k < nv; k++) o->damping[k] = j->damping[e.dof + k];
    o->limit[0] = -INFINITY, o->limit[1] = INFINITY;
    o->limit_k = j->limit_stiffness, o->limit_b = j->limit_damping;
    o->armature = j->armature[e.dof];
    if (j->type == CTN_FREE || e.dof > 2) return;  // free joints have six degrees of freedom, but no springs
    o->stiffness = j->stiffness[e.dof];
    o->friction = j->friction[e.dof], o->presliding = j->presliding[e.dof];
    if (e.kind == JOINT_BALL) {
        memcpy(o->rest, j->rest, sizeof o->rest);
        if (j->limited[0]) o->limit[0] = 0, o->limit[1] = j->limits[0][1];
    } else {
        o->rest[0] = j->rest[e.dof];
        if (j->limited[e.dof]) o->limit[0] = j->limits[e.dof][0], o->limit[1] = j->limits[e.dof][1];
    }
}

/// Axes with the z axis along that of elementary joint `k`, in the link's frame.
static mat joint_axes(const scene_joint *j, int k)
{
    switch (j->type) {
    case CTN_UNIVERSAL: return frame_of_axis(k ? j->axis2 : j->axis);
    case CTN_PLANAR: return k == 2 ? identity : frame_of_axis((double[]){k == 0, k == 1, 0});
    case CTN_BALL:
    case CTN_FREE: return identity;
    default: return frame_of_axis(j->axis);
    }
}

/// The place of a link in the body that carries it.
static place place_of(const drafts *d, int link)
{
    const scene_joint *const j = &d->scene->links[link].joint;
    const int count = element_count(j->type);
    if (count) return (place){d->carrier[link], mat_transpose(joint_axes(j, count - 1)), {{0, 0, 0}}};
    int low = 0, high = d->welds - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (d->weld[middle].link < link) low = middle + 1;
        else high = middle;
    }
    return d->weld[low].at;
}

/// The frame of a link at zero coordinates, in the body that carries its parent.
static place zero_place(const drafts *d, int link)
{
    const scene_link *const l = &d->scene->links[link];
    const place world = {-1, identity, {{0, 0, 0}}}, on = l->parent < 0 ? world : place_of(d, l->parent);
    return (place){on.body, mat_mul(on.R, mat_of_quaternion(l->rotation)), vec_add(on.p, mat_vec(on.R, vec_of(l->position)))};
}

/// The frame of a body's joint in its parent's, in the axes as drafted.
static place draft_frame(const drafts *d, int i)
{
    const draft *const b = &d->body[i];
    const scene_joint *const j = &d->scene->links[b->link].joint;
    const place own = {b->parent, identity, {{0, 0, 0}}};
    if (j->type == CTN_FREE) return own;
    if (b->element)
        return (place){b->parent, mat_mul(mat_transpose(joint_axes(j, b->element - 1)), joint_axes(j, b->element)), own.p};
    const place zero = zero_place(d, b->link);
    return (place){b->parent, j->type == CTN_BALL ? zero.R : mat_mul(zero.R, joint_axes(j, 0)), zero.p};
}

/// The bodies of one link's joint, or its place on the body that carries it.
static void add_link(drafts *d, int link)
{
    const scene_link *const l = &d->scene->links[link];
    const int count = element_count(l->joint.type);
    int carrier = l->parent < 0 ? -1 : d->carrier[l->parent];
    for (int k = 0; k < count; k++) {
        d->body[d->n] = (draft){link, k, carrier, -1, -1};
        carrier = d->n++;
    }
    d->carrier[link] = carrier;
    if (count) return;
    const int number = d->welds++;
    weld *const w = &d->weld[number];
    *w = (weld){link, -1, zero_place(d, link)};
    if (carrier < 0) {
        const vec c = vec_add(w->at.p, mat_vec(w->at.R, vec_of(l->com)));
        for (int k = 0; k < 3; k++) d->m->fixed_moment[k] += (double)(l->mass * c.x[k]);
        return;
    }
    draft *const b = &d->body[carrier];
    if (b->last < 0) b->welded = number;
    else d->weld[b->last].next = number;
    b->last = number;
}

/// Mass of a body, with moments about its origin.
typedef struct {
    ld mass;
    vec h;
    ld S[6];  // second moment: xx yy zz xy xz yz
} moments;

/// Adds a mass with the centre and the second moments S about it, in the axes of a link, to the body that carries that.
static void add_part(moments *b, const place *p, double mass, const double center[3], mat S)
{
    const vec c = vec_add(p->p, mat_vec(p->R, vec_of(center)));
    const mat T = mat_mul(mat_mul(p->R, S), mat_transpose(p->R));
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    b->mass += mass;
    for (int i = 0; i < 3; i++) b->h.x[i] += mass * c.x[i];
    for (int k = 0; k < 6; k++) b->S[k] += T.m[3 * row[k] + col[k]] + mass * c.x[row[k]] * c.x[col[k]];
}

/// Adds a link's mass, second moment = tr(I)/2 - I + m c c', and that of the fluid which goes along.
static void add_mass(moments *b, const place *p, const ctn_scene *scene, int link)
{
    const scene_link *const l = &scene->links[link];
    const double *I = l->inertia;
    const ld half = ((ld)I[0] + I[1] + I[2]) / 2;
    add_part(b, p, l->mass, l->com, (mat){{half - I[0], -I[3], -I[4], -I[3], half - I[1], -I[5], -I[4], -I[5], half - I[2]}});
    if (!scene->fluid.added) return;
    const scene_added *const a = &scene->fluid.added[link];
    const double *const S = a->second;
    add_part(b, p, a->mass, a->center, (mat){{S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]}});
}

/// The moments of a body in the axes as drafted: those of its link, if it is the last of the joint's, and what is welded to that.
static moments draft_moments(const drafts *d, int i)
{
    const draft *const b = &d->body[i];
    moments M = {0};
    if (d->carrier[b->link] != i) return M;
    const place own = place_of(d, b->link);
    add_mass(&M, &own, d->scene, b->link);
    for (int k = b->welded; k >= 0; k = d->weld[k].next) add_mass(&M, &d->weld[k].at, d->scene, d->weld[k].link);
    return M;
}

/// Depth-first order with the heaviest (most numerous) subtree first; fills `order` and `stands`.
static bool depth_first(drafts *d)
{
    const int n = d->n;
    int *const size = calloc((size_t)n + 1, sizeof *size), *const child = malloc(((size_t)n + 1) * sizeof *child),
               *const start = calloc((size_t)n + 2, sizeof *start), *const stack = malloc(((size_t)n + 1) * sizeof *stack);
    const bool ok = size && child && start && stack;
    if (ok) {
        for (int i = n - 1; i >= 0; i--) {
            size[i]++;
            if (d->body[i].parent >= 0) size[d->body[i].parent] += size[i];
        }
        // children of i, and of the world as n, in file order; until all are there, the stack says how far each list is filled
        for (int i = 0; i < n; i++) start[(d->body[i].parent < 0 ? n : d->body[i].parent) + 1]++;
        for (int i = 0; i <= n; i++) start[i + 1] += start[i];
        memcpy(stack, start, ((size_t)n + 1) * sizeof *stack);
        for (int i = 0; i < n; i++) child[stack[d->body[i].parent < 0 ? n : d->body[i].parent]++] = i;
        int top = 0, count = 0;
        for (int k = start[n + 1] - 1; k >= start[n]; k--) stack[top++] = child[k];
        while (top) {
            const int i = stack[--top];
            d->stands[i] = count, d->order[count++] = i;
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

static bool turns_about_z(int kind) { return kind == JOINT_REVOLUTE || kind == JOINT_HELICAL; }

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

static mat turn_axes(turn t) { return t.c == 0 && t.s == 0 ? identity : about_z(t.c, -t.s); }

/// Chooses the x axis of a body that turns about z so that the axis of the next body is reached by a turn about x, and says
/// whether its own joint frame is then such a turn. `F`: its frame, turned on return; next: the frame of the body that comes next
/// and hangs on it and turns about z, NULL: there is none.
static turn choose_axes(ctn_body *o, place *F, const place *next)
{
    turn T = {0, 0};
    // C = Rx(alpha) Rz(phi) if its z axis has no x component
    ld c = 1, s = 0;  // phi
    if (o->parent >= 0 && fabsl(F->R.m[2]) < 1e-17L) {
        const ld ca = F->R.m[8], sa = -F->R.m[5];
        c = F->R.m[0], s = ca * F->R.m[3] + sa * F->R.m[6];
        if (turns_about_z(o->kind) || (c == 1 && s == 0)) o->flags |= BODY_ABOUT_X, o->ca = (double)ca, o->sa = (double)sa;
    }
    if (turns_about_z(o->kind) && next) {
        const ld x = -next->R.m[5], y = next->R.m[2], n = sqrtl(x * x + y * y);  // z x its axis
        if (n > 1e-9L) {
            const ld sign = x < 0 || (x == 0 && y < 0) ? -1 / n : 1 / n, pc = x * sign, ps = y * sign;
            T = (turn){pc, ps};
            if (o->flags & BODY_ABOUT_X) {
                const ld t = c * pc - s * ps;
                s = s * pc + c * ps, c = t;
            } else F->R = mat_mul(F->R, about_z(pc, ps));
        }
    }
    if (o->flags & BODY_ABOUT_X) split_angle(c, s, &o->quarter, &o->rest_angle);
    return T;
}

/// The mass of a body, with its moments in axes turned by `T`.
static void set_mass(ctn_body *o, const moments *M, mat T)
{
    const vec h = mat_vec(T, M->h);
    const mat S = {{M->S[0], M->S[3], M->S[4], M->S[3], M->S[1], M->S[5], M->S[4], M->S[5], M->S[2]}};
    const mat U = mat_mul(mat_mul(T, S), mat_transpose(T));
    const ld turned[6] = {U.m[0], U.m[4], U.m[8], U.m[1], U.m[2], U.m[5]}, tr = turned[0] + turned[1] + turned[2];
    o->mass = (double)M->mass;
    for (int k = 0; k < 3; k++) o->h[k] = (double)h.x[k];
    for (int k = 0; k < 6; k++) {
        o->S[k] = (double)turned[k];
        o->I[k] = (double)((k < 3 ? tr : 0) - turned[k]);
    }
    if (M->mass > 0 || tr > 0) o->flags |= BODY_MASS;
}

void mass_of_links(const ctn_model *m, const ctn_scene *scene, const bool *which, int body, double *mass, double h[3],
                   double I[6])
{
    moments M = {0};
    for (int l = 0; l < m->nlink; l++) {
        const ctn_frame *const F = &m->frames[l];
        if (!which[l] || F->body != body) continue;
        place at = {.body = body, .p = vec_of(F->p)};
        for (int k = 0; k < 9; k++) at.R.m[k] = F->R[k];
        add_mass(&M, &at, scene, l);
    }
    *mass = (double)M.mass;
    for (int k = 0; k < 3; k++) h[k] = (double)M.h.x[k];
    for (int k = 0; k < 6; k++) I[k] = (double)((k < 3 ? M.S[0] + M.S[1] + M.S[2] : 0) - M.S[k]);
}

/// Body `i` of the model by itself, and how its axes are turned. here: its frame as drafted; next: that of body i + 1, or NULL.
static void make_body(drafts *d, int i, const place *here, const place *next)
{
    const draft *const b = &d->body[d->order[i]];
    const ctn_link *const l = &d->m->links[b->link];
    const scene_joint *const j = &d->scene->links[b->link].joint;
    ctn_body *const o = &d->m->bodies[i];
    const element e = element_of(j->type, b->element);
    o->kind = e.kind, o->parent = b->parent < 0 ? -1 : d->stands[b->parent];
    o->qadr = l->qadr + e.dof, o->vadr = l->vadr + e.dof;
    o->nv = e.kind == JOINT_BALL || e.kind == JOINT_TRANSLATION ? 3 : 1;
    o->pitch = e.kind == JOINT_HELICAL ? j->pitch : 0;
    joint_forces(o, j, e, o->nv);
    if (next) {
        const draft *const n = &d->body[d->order[i + 1]];
        const int kind = element_of(d->m->links[n->link].joint, n->element).kind;
        if (next->body != d->order[i] || !turns_about_z(kind)) next = NULL;
    }
    place F = *here;
    if (b->parent >= 0) {
        const mat before = turn_axes(d->turn[b->parent]);
        F.R = mat_mul(before, F.R), F.p = mat_vec(before, F.p);
    }
    d->turn[d->order[i]] = choose_axes(o, &F, next);
    for (int k = 0; k < 9; k++) o->C[k] = (double)F.R.m[k];
    for (int k = 0; k < 3; k++) o->r0[k] = (double)F.p.x[k];
    const moments M = draft_moments(d, d->order[i]);
    set_mass(o, &M, turn_axes(d->turn[d->order[i]]));
    o->end = i + 1;
    o->flags |= BODY_LEAF;
    if (o->parent < 0) o->flags |= BODY_ROOT;
    if (o->parent == i - 1 && o->parent >= 0) o->flags |= BODY_NEXT;
    if (vec_norm(F.p) > 0) o->flags |= BODY_OFFSET;
    if (o->armature > 0) o->flags |= BODY_ARMATURE;
    if (o->stiffness || isfinite(o->limit[0]) || isfinite(o->limit[1])) o->flags |= BODY_SPRING | BODY_PASSIVE;
    if (o->damping[0] || o->damping[1] || o->damping[2]) o->flags |= BODY_PASSIVE;
    if (o->friction > 0) o->flags |= BODY_PASSIVE | BODY_FRICTION;
}

/// What the link at a body's joint has of force_scale[1]: that of the next body with mass, at forks the least one.
static double link_inertia(const ctn_model *m, int i)
{
    const ctn_body *const b = &m->bodies[i];
    const bool turns = b->kind == JOINT_REVOLUTE || b->kind == JOINT_HELICAL || b->kind == JOINT_BALL;
    double least = INFINITY;
    for (int k = i, end = b->end; k<end; k = m->bodies[k].mass> 0 ? m->bodies[k].end : k + 1) {
        const ctn_body *const o = &m->bodies[k];
        const double size = 1 / o->inv_size;
        if (o->mass > 0) least = fmin(least, o->mass * size * (turns ? size : 1));
    }
    const double L = b->extent > 0 ? b->extent : 1, rotor = b->armature * (turns ? 1 : L);
    return isinf(least) ? rotor : least + rotor;
}

/// All bodies, in order, with everything that depends on the whole tree.
static void finish_bodies(drafts *d)
{
    ctn_model *const m = d->m;
    const int n = d->n;
    const ld g = vec_norm(vec_of(m->gravity));
    place here, next;
    if (n) next = draft_frame(d, d->order[0]);
    for (int i = 0; i < n; i++) {
        here = next;
        if (i + 1 < n) next = draft_frame(d, d->order[i + 1]);
        make_body(d, i, &here, i + 1 < n ? &next : NULL);
    }
    m->in_order = true;
    for (int i = 0, dof = 0; i < n; i++) {
        ctn_body *o = &m->bodies[i];
        o->dof = dof;
        if (o->vadr != dof) m->in_order = false;
        for (int k = 0; k < o->nv; k++) m->dof_adr[dof++] = o->vadr + k;
    }
    body_subtree_masses(m);
    // inwards: extents of subtrees, forks
    for (int i = n - 1; i >= 0; i--) {
        ctn_body *o = &m->bodies[i];
        const double trace = o->S[0] + o->S[1] + o->S[2];
        const double own = o->mass > 0 ? sqrt(fmax(trace, 0) / o->mass) : 0;
        o->extent = fmax(o->extent, own);
        const double size = fmax(own, (double)vec_norm(vec_of(o->r0)));
        o->inv_size = 1 / (size > 0 ? size : o->extent > 0 ? o->extent : 1);
        if (o->parent < 0) continue;
        ctn_body *p = &m->bodies[o->parent];
        if (o->end > p->end) p->end = o->end;
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
        if (o->flags & BODY_FRICTION) m->rubs = true;
        if (o->kind == JOINT_REVOLUTE && !(o->flags & BODY_SPRING)) m->turns = true;
        if (o->parent >= 0 && (o->kind == JOINT_PRISMATIC || o->kind == JOINT_HELICAL)) m->slides = true;
        body_set_form(o);
        const double L = o->extent > 0 ? o->extent : 1;
        const bool turn = o->kind == JOINT_REVOLUTE || o->kind == JOINT_HELICAL || o->kind == JOINT_BALL;
        body_force_scales(o, m->gravity);
        o->link_share = fmax(link_inertia(m, i) / o->force_scale[1], 1e-30);
        // limits default to a thousand times what the subtree's weight can do over its extent
        if (isnan(o->limit_k)) o->limit_k = 1000 * o->subtree_mass * (double)(g > 0 ? g : 9.81L) * (turn ? L : 1 / L);
    }
}

/// Where the frames of links are in their bodies.
static void make_frames(const drafts *d)
{
    for (int l = 0; l < d->m->nlink; l++) {
        const place p = place_of(d, l);
        ctn_frame *const F = &d->m->frames[l];
        const mat T = p.body < 0 ? identity : turn_axes(d->turn[p.body]), R = mat_mul(T, p.R);
        const vec at = mat_vec(T, p.p);
        F->body = p.body < 0 ? -1 : d->stands[p.body];
        for (int k = 0; k < 9; k++) F->R[k] = (double)R.m[k];
        for (int k = 0; k < 3; k++) F->p[k] = (double)at.x[k];
    }
}

static void free_drafts(drafts *d)
{
    free(d->body), free(d->weld), free(d->turn), free(d->order), free(d->stands), free(d->carrier);
}

/// Makes room for the bodies and fixed links of the scene. False: no memory.
static bool start_drafts(drafts *d)
{
    size_t bodies = 1, welds = 1;
    for (int l = 0; l < d->scene->nlink; l++) {
        const int count = element_count(d->scene->links[l].joint.type);
        bodies += (size_t)count, welds += !count;
    }
    d->body = malloc(bodies * sizeof *d->body), d->weld = malloc(welds * sizeof *d->weld);
    d->turn = malloc(bodies * sizeof *d->turn);
    d->order = malloc(bodies * sizeof *d->order), d->stands = malloc(bodies * sizeof *d->stands);
    d->carrier = malloc(((size_t)d->scene->nlink + 1) * sizeof *d->carrier);
    d->m->bodies = calloc(bodies, sizeof *d->m->bodies);
    return d->body && d->weld && d->turn && d->order && d->stands && d->carrier && d->m->bodies;
}

bool make_bodies(const ctn_scene *scene, ctn_model *m)
{
    drafts d = {.scene = scene, .m = m};
    bool ok = start_drafts(&d);
    for (int l = 0; l < scene->nlink && ok; l++) add_link(&d, l);
    m->nbody = d.n;
    ok = ok && depth_first(&d);
    if (ok) finish_bodies(&d), make_frames(&d);
    free_drafts(&d);
    return ok;
}
