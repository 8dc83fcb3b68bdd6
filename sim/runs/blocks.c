/// Blocks of worlds: as many at a time as fit into memory and keep the engine busy.
#include "sim/runs/blocks.h"

#include "sim/base/clock.h"
#include "sim/base/pool.h"
#include "sim/base/status.h"
#include "sim/batch/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of states in memory, and worlds, at a time at most; but as many worlds for each thread as engines are wide, if these need no
// more than MOST_BYTES.
enum { BLOCK_BYTES = 64 << 20, BLOCK_WORLDS = 4096, THREAD_WORLDS = 8, MOST_BYTES = 1 << 30 };

enum { MOST_STATES = 100000000 };  // of a world, or hashes

/// Worlds at a time if each needs so many bytes.
static long block_of(size_t bytes, int threads)
{
    const size_t least = (size_t)THREAD_WORLDS * (size_t)(threads ? threads : pool_cpus()), most = MOST_BYTES / bytes;
    size_t room = BLOCK_BYTES / bytes;
    if (room > BLOCK_WORLDS) room = BLOCK_WORLDS;
    if (room < least) room = least < most ? least : most;
    return room < 1 ? 1 : (long)room;
}

trajectories_head blocks_head(const blocks *b, const char *command)
{
    return (trajectories_head){.scene = b->scene,
                               .batch = b->batch,
                               .command = command,
                               .starts = b->starts ? starts_path(b->starts) : NULL,
                               .controls = b->controls ? controls_path(b->controls) : NULL,
                               .seed = b->seed,
                               .worlds = b->all,
                               .first = b->first,
                               .end = b->end,
                               .steps = b->steps,
                               .stride = b->stride,
                               .keep = b->keep,
                               .kept = &b->now,
                               .hashes = b->hashes,
                               .times = b->times,
                               .block = b->block};
}

static ctn_status make_batch(blocks *b, int worlds, ctn_error *err)
{
    quantities_close(&b->now);
    ctn_batch_free(b->batch);
    b->cfg.worlds = worlds;
    b->batch = ctn_batch_create(b->model, &b->cfg, err);
    return b->batch ? quantities_open(&b->now, b->batch, b->keep, err) : err->status;
}

ctn_status blocks_open(blocks *b, ctn_error *err)
{
    const long times = (b->steps + b->stride - 1) / b->stride + 1;
    if (times > MOST_STATES)
        return fail(err, CTN_BAD_ARGUMENT, "%ld states of each world are too many; give a larger --stride", times);
    if (b->hashes && b->steps > MOST_STATES)
        return fail(err, CTN_BAD_ARGUMENT, "%ld hashes of each world are too many; leave out --hash", b->steps);
    b->times = (int)times, b->piece = 1;
    const size_t hashes = (size_t)b->steps + 1,
                 numbers = (size_t)times * (quantities_width(b->model, b->keep) + 1) + (b->hashes ? hashes : 0);
    const long block = block_of(numbers * sizeof(double), b->cfg.threads), worlds = b->end - b->first;
    b->block = (int)(block < worlds ? block : worlds);
    const size_t n = (size_t)b->block, t = (size_t)times;
    ctn_status status = sampled_worlds_open(&b->drawn, b->scene, b->model, b->path, b->block, &b->cfg, err);
    if (status == CTN_OK) {  // by all worlds: bits must not depend on how many there are at a time, or in a process
        ctn_batch_config all = b->cfg;
        all.worlds = (int)b->all, b->cfg.parallel = batch_parallel(b->model, &all);
        status = make_batch(b, b->block, err);
    }
    if (status != CTN_OK) return status;
    b->total = calloc(n, sizeof *b->total), b->part = calloc(n, sizeof *b->part);
    bool ok = b->total && b->part;
    for (int k = 0; k < b->now.count && ok; k++)
        ok = (b->states[k] = malloc(n * t * b->now.list[k].width * sizeof *b->states[k] + 1)) != NULL;
    if (ok && b->hashes) ok = (b->hash = malloc(n * hashes * sizeof *b->hash)) && (b->row_hash = malloc(n * sizeof *b->row_hash));
    if (!ok) return fail(err, CTN_NO_MEMORY, "not enough memory");
    const ctn_batch_config *const cfg = ctn_batch_configuration(b->batch);
    b->threads = cfg->threads, b->engine = cfg->engine;
    b->bytes = (double)ctn_batch_bytes(b->batch) / b->block;
    return CTN_OK;
}

void blocks_close(blocks *b)
{
    starts_close(b->starts), controls_close(b->controls);
    quantities_close(&b->now);
    ctn_batch_free(b->batch);
    for (int k = 0; k < QUANTITIES; k++) free(b->states[k]);
    free(b->hash), free(b->row_hash), free(b->total), free(b->part);
    sampled_worlds_close(&b->drawn);
}

/// The states of `count` worlds, as they are now, become their state k.
static void keep_states(blocks *b, int count, int k)
{
    const size_t t = (size_t)b->times;
    quantities_update(&b->now);
    for (int i = 0; i < b->now.count; i++) {
        const quantity *const x = &b->now.list[i];
        for (size_t w = 0; w < (size_t)count; w++)
            memcpy(b->states[i] + (w * t + (size_t)k) * x->width, x->now + w * x->width, x->width * sizeof *x->now);
    }
}

/// Their hashes, as they are now, become those of the state after `step`.
static void keep_hashes(blocks *b, int count, long step)
{
    const size_t hashes = (size_t)b->steps + 1;
    if (!b->hash) return;
    ctn_batch_hashes(b->batch, b->row_hash);
    for (size_t w = 0; w < (size_t)count; w++) b->hash[w * hashes + (size_t)step] = b->row_hash[w];
}

static bool interrupted(const blocks *b)
{
    const bool stop = b->stop && b->stop(b->context);
    return stop || (b->cfg.interrupt && *b->cfg.interrupt);
}

long next_piece(long piece, long made, double seconds)
{
    if (seconds > 0.05 && piece > 1) return piece / 2;
    return made == piece && seconds < 0.02 && piece < 1 << 20 ? 2 * piece : piece;
}

/// Steps from state k - 1 to state k, some at a time, to look up between.
static ctn_status make_steps(blocks *b, int count, int k, ctn_error *err)
{
    const trajectories_head head = blocks_head(b, NULL);
    const long end = trajectories_step(&head, k);
    for (long step = trajectories_step(&head, k - 1); step < end;) {
        if (interrupted(b)) return fail(err, CTN_INTERRUPTED, "interrupted after %ld of %ld worlds", b->done, b->all);
        const long left = end - step, room = freezes_room(b->freezes), most = room < left ? room : left,
                   n = b->hash           ? 1
                       : b->piece < most ? b->piece
                                         : most;
        const double before = clock_now();
        ctn_status status;
        if (b->controls) status = controls_step(b->controls, b->batch, b->done, count, step, (int)n, b->part, err);
        else status = ctn_batch_step(b->batch, (int)n, b->part, err);
        if (status != CTN_OK && status != CTN_FROZEN) return status;
        b->piece = next_piece(b->piece, n, clock_now() - before);
        const double occupancy = ctn_batch_occupancy(b->batch);
        if (isfinite(occupancy)) b->occupancy += occupancy, b->calls++;
        for (int w = 0; w < count; w++) ctn_step_stats_add(&b->total[w], &b->part[w]);
        status = freezes_look(b->freezes, b->part, n, err);
        if ((b->unsaved = status != CTN_OK)) return status;
        step += n;
        keep_hashes(b, count, step);
    }
    return CTN_OK;
}

/// As blocks_make, but `err` is filled where worlds are frozen, too.
static ctn_status make_worlds(blocks *b, int count, ctn_error *err)
{
    ctn_status status = sampled_worlds_start(&b->drawn, b->seed, b->all, b->done, count, b->starts, b->batch, err);
    if (status != CTN_OK) return status;
    status = ctn_batch_step(b->batch, 0, b->total, err);
    if (status != CTN_OK && status != CTN_FROZEN) return status;
    status = freezes_begin(b->freezes, b->batch, b->done, b->drawn.forced ? b->drawn.tau : NULL, err);
    if (status != CTN_OK) return status;
    keep_states(b, count, 0);
    keep_hashes(b, count, 0);
    for (int k = 1; k < b->times; k++) {
        status = make_steps(b, count, k, err);
        if (status != CTN_OK) return status;
        keep_states(b, count, k);
    }
    status = ctn_batch_step(b->batch, 0, NULL, err);  // says whether reading the states failed, too
    if (status != CTN_OK && status != CTN_FROZEN && status != CTN_INTERRUPTED) return status;
    return CTN_OK;
}

ctn_status blocks_make(blocks *b, int count, ctn_error *err)
{
    ctn_error why;
    const ctn_status status = make_worlds(b, count, &why);
    if (status != CTN_OK) {
        *err = why;
        return status;
    }
    for (int w = 0; w < count; w++) {
        b->frozen += b->total[w].frozen != CTN_RUNNING, b->fallen += b->total[w].fallbacks > 0;
        if (b->total[w].frozen && !b->fall.frozen) b->fell = b->done + w, b->fall = b->total[w];
    }
    return CTN_OK;
}

ctn_status blocks_next(blocks *b, int *count, ctn_error *err)
{
    const long left = b->end - b->done;
    *count = (int)(left < b->block ? left : b->block);
    return *count == b->cfg.worlds ? CTN_OK : make_batch(b, *count, err);
}
