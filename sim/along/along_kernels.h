/// One world along its links, over the lane that the including file has chosen: the kernels of engines
/// (sim/engine/engine_kernels.h) with rows of a plan for bodies. An engine defines ALONG (the table's name) and ALONG_NAME; for
/// devices see along_device.h.
#pragma GCC diagnostic ignored "-Wunused-function"  // kernels of engines that are not called here
#define CATENA_ALONG
#include "sim/along/along.h"
#include "sim/along/boundary.h"
#include "sim/along/stage_boundary.h"
#include "sim/engine/kernels.h"
#include "dynamics/scan/far_end.h"
#include "sim/engine/engine_layout.h"
#include "sim/engine/engine_stats.h"

#include "sim/along/along_rows.h"
#include "sim/along/along_passes.h"
#ifdef ALONG
#include "sim/along/along_motion.h"
#endif
#include "sim/along/along_aba.h"
#include "sim/along/along_place.h"
#include "sim/along/along_sweep.h"
#include "sim/along/along_star.h"
#include "sim/along/along_follow.h"
#include "sim/along/along_contact.h"
#include "sim/along/along_stages.h"
#include "sim/along/along_stage_sweep.h"
#include "sim/along/along_solve.h"
#include "sim/along/along_step.h"
#include "sim/along/along_stage_follow.h"
#include "sim/along/along_radau.h"
#include "sim/along/along_run.h"
#ifdef ALONG  // what only CPUs have
#include "sim/along/along_dynamics.h"
#include "sim/along/along_adjoint.h"
#include "sim/along/along_explicit.h"
#include "sim/along/along_chord.h"
#include "sim/along/along_chord_sweep.h"
#include "sim/along/along_variational.h"
#include "sim/along/along_world.h"
#endif

/// step: of a world that steps, whose scratch it shares; NULL: of one that does not.
KERNEL aba_block layout_aba_block(const lane_model *rows, const step_block *step, bool loads, arena *a)
{
    const size_t n = (size_t)rows->nbody, nq = (size_t)rows->nq, nv = (size_t)rows->nv;
    aba_block A;
    memset(&A, 0, sizeof A);
    if (step) {
        A.aba = step->W.va.d ? step->W.po.aba : step->W.ex.aba;
        A.y = step->y, A.T = step->W.T, A.V = step->W.D;
    } else {
        A.q = TAKE(a, nq, real), A.v = TAKE(a, nv, real), A.tau = TAKE(a, nv, real), A.x = TAKE(a, nv, real);
        A.y = TAKE(a, 6 * nv, real);
        A.aba = layout_aba(rows, a);
#ifdef ALONG
        A.T = TAKE(a, n, pose), A.V = TAKE(a, n, twist);
        A.rnea = layout_rnea(rows, a);
#endif
    }
    A.load = TAKE(a, loads ? n : 0, wrench);
    return A;
}

/// loads: places for loads in the rows.
KERNEL step_block layout_step_block(const lane_model *rows, size_t loads, const ctn_batch_config *cfg, arena *a)
{
    step_block A;
    memset(&A, 0, sizeof A);
    ctn_batch_config steps = *cfg;
    steps.dense = false;  // no work: motions of explicit steps are found by an engine
    A.S = layout_state(rows, cfg, a);
    A.W = layout_work(rows, &steps, a);
    if (position_based(cfg->method)) {
        solve *const W = &A.W.po.one.W;
        W->held = TAKE(a, loads, load_state), W->load = TAKE(a, loads, body_load), W->p = A.W.po.p;
        W->safe = TAKE(a, loads, inertia6);
    }
    if (stages_of(cfg) > 1) {
        const size_t s = (size_t)stages_of(cfg);
        stage_work *const Q = &A.W.po.more;
        Q->W.held = TAKE(a, loads, load_state), Q->W.point = TAKE(a, loads * s, stage_load), Q->W.p = A.W.po.p;
    }
    if (rows->skew) {
        const position_work *const P = &A.W.po.one;
        stage_work *const Q = &A.W.po.more;
        Q->W = P->whole, Q->sweep = P->skew, Q->d = P->d, Q->fresh = P->fresh;
    }
    if (stages_of(cfg) > 1 || rows->skew) {
        const size_t s = (size_t)stages_of(cfg);
        stage_work *const Q = &A.W.po.more;
        Q->sweep.Y = TAKE(a, (size_t)rows->nv * s * 6 * s, real);
#ifdef ALONG_JOBS
        A.carried = TAKE(a, 2 * 12 * s * (12 * s + 1), real);
#endif
    }
    A.y = TAKE(a, 6 * (size_t)rows->nv, real);
    return A;
}

/// back: it goes backwards through steps, too; shared: the rows of another world, which are its own, too; NULL: it has some itself
KERNEL along_world *layout_world(const along_plan *plan, const ctn_batch_config *cfg, bool back, lane_rows *shared, arena *a)
{
    along_world *const w = TAKE(a, 1, along_world);
    along_world to = {0};
    to.plan = plan, to.model = plan->model, to.self = w, to.count = plan->blocks * PARTS;
    const size_t count = (size_t)to.count, segments = (size_t)plan->segments, cuts = (size_t)plan->cut_segments;
    const ctn_model *const m = plan->model;
    if (shared) to.rows = shared;
    else to.rows = TAKE(a, count, lane_rows);
    if (cfg) to.step = TAKE(a, count, step_block);
    if (has_dynamics(cfg)) to.aba = TAKE(a, count, aba_block);
    to.hand = TAKE(a, segments * HAND, double), to.moment = TAKE(a, segments * 3, double);
    const size_t s = (size_t)(to.stages = cfg ? stages_of(cfg) : 1);
    to.weight = TAKE(a, segments * s * WRENCH, double), to.start = TAKE(a, cuts * s * POSE, double);
    to.stretch = TAKE(a, cuts * s * 3, double), to.behind = TAKE(a, cuts * s * WRENCH, double);
    to.tail = TAKE(a, cuts * s * POSE, double), to.base = TAKE(a, cuts * s * WHERE, double);
    const size_t coupled = (to.coupled = is_coupled(plan, cfg)) ? 6 * s : 0;
    to.stage_hand = TAKE(a, segments * coupled * (coupled + 1), double);
    to.border = TAKE(a, cuts * 2 * coupled * (2 * coupled + 1), double), to.crossed = TAKE(a, cuts * 2 * coupled, double);
#ifdef ALONG
    const size_t ways = has_dynamics(cfg) ? cuts * MOTION : 0;
    to.way = TAKE(a, ways, double), to.begin = TAKE(a, ways, double);
#endif
    const bool variational = cfg && cfg->method == CTN_VARIATIONAL;
    to.cross = TAKE(a, variational ? segments * CROSS_HAND : 0, double);
    to.crossings = TAKE(a, variational ? cuts : 0, crossing);
    const bool touches = cfg && m->ncontact;
    to.books = TAKE(a, touches ? segments * BOOKS : 0, double), to.kept = TAKE(a, touches ? (size_t)plan->trees : 0, tree_kept);
    bool any_long = false;
    for (int level = 0; level < plan->levels; level++) any_long = any_long || plan->longest[level] > MOST_CHAINED;
    to.cut = TAKE(a, cuts, boundary), to.off = TAKE(a, cuts, double), to.stars = TAKE(a, any_long ? cuts : 0, boundary_star);
    to.runs = TAKE(a, any_long ? cuts * POSE : 0, double);
    to.told = TAKE(a, TOLD, double);
    to.groups = TAKE(a, groups_of(plan) > 1 ? (size_t)(TOLD * groups_of(plan)) : 0, double);
#ifdef ALONG
    if (back) to.back = TAKE(a, count, adjoint_block), to.column = TAKE(a, (size_t)m->nbody, int);
#else
    (void)back;
#endif
    to.plain = TAKE(a, m->slides ? (size_t)(m->nq + m->nbody) : 0, double);
    for (size_t k = 0; k < count; k++) {
        const along_block *const block = &plan->block[k / PARTS];
        lane_model rows = {0};
        rows.nbody = block->rows, rows.nq = block->nq, rows.nv = block->nv, rows.rubs = m->rubs, rows.turns = m->turns,
        rows.spins = m->spins, rows.skew = to.coupled && s == 1;
        rows.ncontact = rows.nbent = block_contacts(plan, block), rows.nsignal = m->nsignal;
        if (!shared) layout_rows(w ? &to.rows[k] : NULL, plan, (int)k, a);
        step_block S;
        if (cfg) S = layout_step_block(&rows, (size_t)block_load_places(plan, block), cfg, a);
        if (cfg && w) to.step[k] = S;
#ifdef ALONG
        const adjoint_block backwards = layout_adjoint_block(&rows, back ? cfg : NULL, a);
        if (back && w) to.back[k] = backwards;
#endif
        if (!has_dynamics(cfg)) continue;
        const aba_block A = layout_aba_block(&rows, cfg ? &S : NULL, m->nload > 0, a);
        if (w) to.aba[k] = A;
    }
    if (w) *w = to;
    return w;
}

KERNEL size_t size_of_world(const along_plan *plan, const ctn_batch_config *cfg, bool back, lane_rows *shared)
{
    arena a = {NULL, 0};
    layout_world(plan, cfg, back, shared, &a);
    return a.used;
}

// ---- worlds are opened by jobs, too

typedef struct {
    const along_plan *plan;
    const ctn_batch_config *cfg;
    void *memory;
    size_t *size;
    bool back;
    size_t apart;       // bytes from one of several worlds to the next
    lane_rows *shared;  // the rows that they have in common; NULL: each its own
} along_opening;

KERNEL void open_measure(void *context, int thread, int job)
{
    const along_opening *const c = (const along_opening *)context;
    (void)thread, (void)job;
    *c->size = size_of_world(c->plan, c->cfg, c->back, c->shared);
}

KERNEL void open_layout(void *context, int thread, int job)
{
    const along_opening *const c = (const along_opening *)context;
    arena a = {(char *)c->memory + (size_t)job * c->apart, 0};
    along_world *const w = layout_world(c->plan, c->cfg, c->back, c->shared, &a);
    (void)thread;
    w->cfg = c->cfg;
    memset(w->cut, 0, (size_t)c->plan->cut_segments * sizeof *w->cut);
}

KERNEL void open_rows(void *context, int thread, int job)
{
    const along_opening *const c = (const along_opening *)context;
    const int count = c->plan->blocks * PARTS;
    along_world *const w =
        (along_world *)(void *)((char *)c->memory + (size_t)(job / count) * c->apart);  // the first thing there
    (void)thread;
    load_rows(&w->rows[job % count], c->cfg ? c->cfg->dt : 0, c->cfg != NULL);
}

typedef struct {
    along_world *w;
    const ctn_model *from;
    double dt;
} along_loading;

KERNEL void open_loads(void *context, int thread, int job)
{
    const along_loading *const c = (const along_loading *)context;
    (void)thread;
    load_numbers(&c->w->rows[job], c->from);
}

#ifdef ALONG
static size_t world_size(const along_plan *plan, const ctn_batch_config *cfg, bool back)
{
    return size_of_world(plan, cfg, back, NULL);
}

static void open_numbers(void *context, int thread, int job)
{
    const along_loading *const c = context;
    (void)thread;
    rows_numbers(&c->w->rows[job], c->from, c->dt), load_numbers(&c->w->rows[job], c->from);
}

static void world_numbers(along_world *w, pool *threads, const ctn_model *from, double dt)
{
    along_loading c = {w, from, dt};
    w->model = from;
    pool_run(threads, w->count, open_numbers, &c);
}

static void world_loads(along_world *w, pool *threads, const ctn_model *from)
{
    along_loading c = {w, from, 0};
    ALONG_EACH(threads, w->count, open_loads, &c);
}

static along_world *world_open(const along_plan *plan, const ctn_batch_config *cfg, bool back, void *memory)
{
    along_world *const w = memory;
    along_opening c = {.plan = plan, .cfg = cfg, .memory = memory, .back = back};
    open_layout(&c, 0, 0);
    if (back) number_columns(w);
    for (int k = 0; k < w->count; k++) open_rows(&c, 0, k);
    return w;
}

const along_engine ALONG = {
    .name = ALONG_NAME,
    .lanes = LANES,
    .size = world_size,
    .open = world_open,
    .loads = world_loads,
    .numbers = world_numbers,
    .aba = along_aba,
    .kinematics = along_kinematics,
    .rnea = along_rnea,
    .products = along_products,
    .factor = along_factor,
    .solve = along_solve_sides,
    .steps = world_steps,
    .run = world_run,
    .adjoins = adjoint_steps,
    .prepare = along_prepare,
    .pull = along_pull,
};
#endif
