/// Where links touch each other, and the forces of loops, out of the states of a batch's worlds.
#include "sim/base/status.h"
#include "sim/batch/batch.h"
#include "sim/model/model.h"

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed here
#include "contact/pair_gap.h"
#include "integrators/pair_terms.h"
#pragma GCC diagnostic pop

#include <catena/between.h>
#include <catena/dynamics.h>
#include <stdlib.h>

int ctn_model_npair(const ctn_model *model) { return model ? model->npair : 0; }
int ctn_model_nequation(const ctn_model *model) { return model ? model->nrow : 0; }

int touch_room(const ctn_model *m, size_t *bytes)
{
    const lane_model lanes = {.npair = m->npair, .touch_pairs = m->touch_pairs, .touch_capacity = m->touch_capacity};
    const int room = touch_capacity(&lanes);
    *bytes = (size_t)room * sizeof(pair_touch);
    return room;
}

bool ctn_model_pair(const ctn_model *model, int pair, ctn_pair *to)
{
    if (!model || !to || pair < 0 || pair >= model->npair) return false;
    const touch_pair *const p = &model->touch_pairs[pair];
    const touch_shape *const a = &model->touch_shapes[p->a], *const b = &model->touch_shapes[p->b];
    *to = (ctn_pair){a->link, b->link, a->number, b->number, p->friction, p->grip};
    return true;
}

/// What a world remembers, at the end of its flat state (STATE_PARTS, integrators/block_step.h).
typedef struct {
    double *flat;
    const double *element, *slip, *press, *force;  // [nslot], [nslot][3], [nslot], [nrow]
} remembered_between;

static bool remember(ctn_batch *batch, int world, remembered_between *to)
{
    const ctn_model *const m = batch->model;
    const ctn_engine *const engine = batch->engine;
    const int block = world / engine->lanes;
    const size_t n = engine->flat_size(lanes_of(batch, block), &batch->cfg);
    to->flat = malloc(n * sizeof *to->flat + 1);
    if (!to->flat) return false;
    engine->flatten(lanes_of(batch, block), &batch->cfg, state_of(batch, block), world % engine->lanes, false, to->flat);
    to->force = to->flat + n - (m->turns ? m->nv : 0) - m->nrow;
    to->press = to->force - m->nslot, to->slip = to->press - 3 * m->nslot, to->element = to->slip - m->nslot;
    return true;
}

/// The axes and the origin of a body from those of a link of its; of the world, at its origin.
static mat3 body_of(const ctn_model *m, const touch_shape *s, const double *R, const double *p, vec3 *origin)
{
    const double unturned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    *origin = zero3();
    if (s->body < 0) return const33(unturned);
    const ctn_frame *const F = &m->frames[s->link];
    const mat3 axes = mmul(const33(R + 9 * s->link), transposed(const33(F->R)));
    *origin = sub(const3(p + 3 * s->link), mul(axes, const3(F->p)));
    return axes;
}

/// What a world has of pairs, times what the scene says.
typedef struct {
    double friction, slide;
} pair_scales;

static pair_scales scales_of(const ctn_batch *batch, int world)
{
    const int count = batch->cfg.parameter_count;
    pair_scales s = {1, 1};
    for (int k = 0; k < count; k++) {
        const double x = batch->values[(size_t)world * (size_t)count + (size_t)k];
        if (batch->cfg.parameters[k].kind == CTN_PAIR_FRICTION_SCALE) s.friction = x;
        if (batch->cfg.parameters[k].kind == CTN_PAIR_DEPTH_SCALE) s.slide = 1 / x;
    }
    return s;
}

/// Slot `slot` of pair k, with links at R [nlink][9] and p [nlink][3].
static ctn_link_touch remembered_touch(const ctn_model *m, int k, int slot, const remembered_between *S, pair_scales scales,
                                       const double *R, const double *p)
{
    const touch_pair *const c = &m->touch_pairs[k];
    const touch_shape *const a = &m->touch_shapes[c->a], *const b = &m->touch_shapes[c->b];
    vec3 at_a, at_b;
    const mat3 A = body_of(m, a, R, p, &at_a), B = body_of(m, b, R, p, &at_b);
    const pair_pose P = pose_of_pair(a, b, A, B, sub(at_a, at_b));
    const int element = (int)S->element[slot] - 1;
    const pair_gap g = gap_at(a, b, element, &P, NULL);
    const double slide = scales.slide * c->slide;
    const vec3 slip = mul(B, const3(S->slip + 3 * slot)), f = sub_scaled(scale(g.n, S->press[slot]), slip, slide);
    const double bent = slide * root(dot(slip, slip));
    ctn_link_touch t = {.pair = k,
                        .element = element,
                        .link_a = a->link,
                        .link_b = b->link,
                        .depth = -g.gap,
                        .touch = bent < 0.999 * scales.friction * c->friction * S->press[slot] ? CTN_STICKS : CTN_SLIDES};
    store3(t.point, sub_scaled(add(at_a, g.ra), g.n, g.gap / 2 + a->radius)), store3(t.normal, g.n), store3(t.force, f);
    return t;
}

/// Where links of one world after another touch each other.
typedef struct {
    ctn_batch *batch;
    ctn_dynamics *dyn;
    double *R, *p;  // [nlink][9], [nlink][3]
    remembered_between S;
    pair_scales scales;
    int pair, slot;  // the next to look at
} touch_walk;

static void walk_close(touch_walk *t) { ctn_dynamics_free(t->dyn), free(t->R), free(t->S.flat), *t = (touch_walk){0}; }

static ctn_status walk_open(touch_walk *t, ctn_batch *batch, ctn_error *err)
{
    const ctn_model *const m = batch->model;
    *t = (touch_walk){.batch = batch, .dyn = ctn_dynamics_create(m, NULL, NULL), .R = malloc((12 * (size_t)m->nlink + 1) * sizeof *t->R)};
    t->p = t->R ? t->R + 9 * (size_t)m->nlink : NULL;
    if (t->dyn && t->R) return CTN_OK;
    walk_close(t);
    return fail(err, CTN_NO_MEMORY, "not enough memory for the touches of a world");
}

static ctn_status walk_to(touch_walk *t, int world, ctn_error *err)
{
    free(t->S.flat), t->S = (remembered_between){0};
    if (!remember(t->batch, world, &t->S)) return fail(err, CTN_NO_MEMORY, "not enough memory for the touches of a world");
    ctn_forward_kinematics(t->dyn, 1, t->S.flat, t->R, t->p);
    t->pair = 0, t->slot = 0, t->scales = scales_of(t->batch, world);
    return CTN_OK;
}

/// The next place where they touch. False: there is none.
static bool next_touch(touch_walk *t, ctn_link_touch *to)
{
    const ctn_model *const m = t->batch->model;
    for (; t->pair < m->npair; t->pair++, t->slot = 0)
        while (t->slot < m->touch_pairs[t->pair].slots) {
            const int slot = m->touch_pairs[t->pair].slot + t->slot++;
            if (!(t->S.element[slot] > 0)) continue;
            *to = remembered_touch(m, t->pair, slot, &t->S, t->scales, t->R, t->p);
            return true;
        }
    return false;
}

ctn_status ctn_batch_touches(ctn_batch *batch, int world, ctn_link_touch *list, int room, int *count, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "count", count, err)) return CTN_BAD_ARGUMENT;
    if (room > 0 && missing(__func__, "list", list, err)) return CTN_BAD_ARGUMENT;
    if (world < 0 || world >= batch->cfg.worlds)
        return fail(err, CTN_BAD_ARGUMENT, "%s: world %d is not one of the batch's %d", __func__, world, batch->cfg.worlds);
    touch_walk t;
    ctn_link_touch one;
    *count = 0;
    if (!batch->model->npair) return CTN_OK;
    ctn_status status = walk_open(&t, batch, err);
    if (status != CTN_OK) return status;
    status = walk_to(&t, world, err);
    for (; status == CTN_OK && next_touch(&t, &one); ++*count)
        if (*count < room) list[*count] = one;
    walk_close(&t);
    return status;
}

/// Adds what a place does to one of its links to the sums x [CTN_CONTACT_NUMBERS] of that: end_sum makes the middle and the torque
/// about it of the first moments of place and force about the world's origin. weight: what the places count together.
static void add_touch(const ctn_link_touch *t, double sign, double *x, double *weight)
{
    const vec3 at = const3(t->point), f = scale(const3(t->force), sign);
    const double much = root(dot(f, f)) + 1e-300;  // places without a force count alike
    store3(x, add_scaled(const3(x), at, much)), store3(x + 3, add(const3(x + 3), f));
    store3(x + 8, add(const3(x + 8), cross(at, f)));
    x[6] = x[7] == CTN_APART ? t->depth : fmax(x[6], t->depth);
    if (x[7] != CTN_STICKS) x[7] = t->touch;
    *weight += much;
}

static void end_sum(double *x, double weight)
{
    if (x[7] == CTN_APART) return;
    const vec3 at = scale(const3(x), 1 / weight);
    store3(x, at), store3(x + 8, sub(const3(x + 8), cross(at, const3(x + 3))));
}

ctn_status batch_add_met_links(ctn_batch *batch, double *values, ctn_error *err)
{
    const ctn_model *const m = batch->model;
    const size_t width = (size_t)ctn_model_ncontact(m) * CTN_CONTACT_NUMBERS;
    if (!m->npair) return CTN_OK;
    touch_walk t;
    ctn_link_touch one;
    double *const weight = malloc((size_t)m->nlink * sizeof *weight);
    if (!weight) return fail(err, CTN_NO_MEMORY, "not enough memory for the contacts of %d links", m->nlink);
    ctn_status status = walk_open(&t, batch, err);
    for (int w = 0; w < batch->cfg.worlds && status == CTN_OK; w++, values += width) {
        if ((status = walk_to(&t, w, err)) != CTN_OK) break;
        for (int l = 0; l < m->nlink; l++) weight[l] = 0;
        while (next_touch(&t, &one)) {
            add_touch(&one, 1, values + one.link_a * CTN_CONTACT_NUMBERS, &weight[one.link_a]);
            add_touch(&one, -1, values + one.link_b * CTN_CONTACT_NUMBERS, &weight[one.link_b]);
        }
        for (int l = 0; l < m->nlink; l++) end_sum(values + l * CTN_CONTACT_NUMBERS, weight[l]);
    }
    walk_close(&t), free(weight);
    return status;
}

ctn_status ctn_batch_equation_forces(ctn_batch *batch, double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    const int n = batch->model->nrow;
    for (int w = 0; w < batch->cfg.worlds && n; w++) {
        remembered_between S;
        if (!remember(batch, w, &S)) return fail(err, CTN_NO_MEMORY, "not enough memory for the forces of loops");
        for (int k = 0; k < n; k++) values[(size_t)w * (size_t)n + (size_t)k] = 0 - S.force[k];  // they are gradients
        free(S.flat);
    }
    return CTN_OK;
}
