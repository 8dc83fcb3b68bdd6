/// Where links touch each other, and the forces of loops, out of the states of a batch's worlds.
#include "sim/base/status.h"
#include "sim/batch/batch.h"
#include "sim/model/model.h"

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed here
#include "contact/pair_gap.h"
#pragma GCC diagnostic pop

#include <catena/between.h>
#include <catena/dynamics.h>
#include <stdlib.h>

int ctn_model_npair(const ctn_model *model) { return model ? model->npair : 0; }
int ctn_model_nequation(const ctn_model *model) { return model ? model->nrow : 0; }

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

/// Slot `slot` of pair k, with links at R [nlink][9] and p [nlink][3].
static ctn_link_touch touch_at(const ctn_model *m, int k, int slot, const remembered_between *S, const double *R, const double *p)
{
    const touch_pair *const c = &m->touch_pairs[k];
    const touch_shape *const a = &m->touch_shapes[c->a], *const b = &m->touch_shapes[c->b];
    vec3 at_a, at_b;
    const mat3 A = body_of(m, a, R, p, &at_a), B = body_of(m, b, R, p, &at_b);
    const pair_pose P = pose_of_pair(a, b, A, B, sub(at_a, at_b));
    const int element = (int)S->element[slot] - 1;
    const pair_gap g = gap_at(a, b, element, &P, NULL);
    const vec3 slip = mul(B, const3(S->slip + 3 * slot)), f = sub_scaled(scale(g.n, S->press[slot]), slip, c->slide);
    const double bent = c->slide * root(dot(slip, slip));
    ctn_link_touch t = {.pair = k,
                        .element = element,
                        .link_a = a->link,
                        .link_b = b->link,
                        .depth = -g.gap,
                        .touch = bent < 0.999 * c->friction * S->press[slot] ? CTN_STICKS : CTN_SLIDES};
    store3(t.point, sub_scaled(add(at_a, g.ra), g.n, g.gap / 2 + a->radius)), store3(t.normal, g.n), store3(t.force, f);
    return t;
}

ctn_status ctn_batch_touches(ctn_batch *batch, int world, ctn_link_touch *list, int room, int *count, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "count", count, err)) return CTN_BAD_ARGUMENT;
    if (room > 0 && missing(__func__, "list", list, err)) return CTN_BAD_ARGUMENT;
    if (world < 0 || world >= batch->cfg.worlds)
        return fail(err, CTN_BAD_ARGUMENT, "%s: world %d is not one of the batch's %d", __func__, world, batch->cfg.worlds);
    const ctn_model *const m = batch->model;
    *count = 0;
    if (!m->npair) return CTN_OK;
    remembered_between S = {0};
    const size_t links = (size_t)m->nlink;
    double *const R = malloc((12 * links + 1) * sizeof *R);
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    const bool made = R && dyn && remember(batch, world, &S);
    const ctn_status status = made ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for the touches of a world");
    if (made) ctn_forward_kinematics(dyn, 1, S.flat, R, R + 9 * links);
    for (int k = 0; k < m->npair && made; k++)
        for (int slot = m->touch_pairs[k].slot; slot < m->touch_pairs[k].slot + m->touch_pairs[k].slots; slot++) {
            if (!(S.element[slot] > 0)) continue;
            if (*count < room) list[*count] = touch_at(m, k, slot, &S, R, R + 9 * links);
            ++*count;
        }
    ctn_dynamics_free(dyn), free(R), free(S.flat);
    return status;
}

ctn_status ctn_batch_equation_forces(ctn_batch *batch, double *values, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "values", values, err)) return CTN_BAD_ARGUMENT;
    const int n = batch->model->nrow;
    for (int w = 0; w < batch->cfg.worlds && n; w++) {
        remembered_between S;
        if (!remember(batch, w, &S)) return fail(err, CTN_NO_MEMORY, "not enough memory for the forces of loops");
        memcpy(values + (size_t)w * (size_t)n, S.force, (size_t)n * sizeof *values);
        free(S.flat);
    }
    return CTN_OK;
}
