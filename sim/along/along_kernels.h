/// One world along its links, over the lane that the including file has chosen: the kernels of engines (sim/engine/engine_kernels.h) with rows
/// of a plan for bodies. The includer defines ALONG (the table's name) and ALONG_NAME.
#pragma GCC diagnostic ignored "-Wunused-function"  // kernels of engines that are not called here
#define CATENA_ALONG
#include "sim/along/along.h"
#include "sim/along/boundary.h"
#include "sim/engine/kernels.h"
#include "dynamics/scan/far_end.h"
#include "sim/engine/engine_layout.h"

#include "sim/along/along_rows.h"
#include "sim/along/along_aba.h"

static along_world *layout_world(const along_plan *plan, arena *a)
{
    along_world *const w = TAKE(a, 1, along_world);
    const int count = plan->blocks * PARTS;
    lane_rows *const rows = TAKE(a, (size_t)count, lane_rows);
    aba_block *const aba = TAKE(a, (size_t)count, aba_block);
    double *const hand = TAKE(a, (size_t)plan->segments * HAND, double);
    double *const start = TAKE(a, (size_t)plan->cut_segments * START, double);
    boundary *const cut = TAKE(a, (size_t)plan->cut_segments, boundary);
    if (w) *w = (along_world){plan, count, rows, aba, hand, start, cut};
    for (int k = 0; k < count; k++) {
        const lane_rows shape = {.block = &plan->block[k / PARTS]};
        layout_rows(w ? &rows[k] : NULL, plan, k, a);
        const aba_block A = layout_aba_block(&shape, a);
        if (w) aba[k] = A;
    }
    return w;
}

static size_t world_size(const along_plan *plan)
{
    arena a = {NULL, 0};
    layout_world(plan, &a);
    return a.used;
}

static along_world *world_open(const along_plan *plan, double dt, void *memory)
{
    arena a = {(char *)memory, 0};
    along_world *const w = layout_world(plan, &a);
    for (int k = 0; k < w->count; k++) load_rows(&w->rows[k], dt);
    memset(w->cut, 0, (size_t)plan->cut_segments * sizeof *w->cut);
    return w;
}

const along_engine ALONG = {
    .name = ALONG_NAME,
    .lanes = LANES,
    .size = world_size,
    .open = world_open,
    .aba = along_aba,
};
