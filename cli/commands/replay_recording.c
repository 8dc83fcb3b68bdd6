/// Runs of `catena run` made again: all worlds at once, record by record.
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "cli/commands/replay.h"
#include "sim/base/clock.h"
#include "sim/record/record.h"
#include "sim/base/status.h"

#include <catena/hash.h>
#include <stdlib.h>
#include <string.h>

/// What the file says about one record, and about one step.
typedef struct record_rows {
    double *states;           // [worlds][width] of one quantity
    long *steps;              // [worlds]
    int *frozen;              // [worlds]
    double *frozen_time;      // [worlds], s
    ctn_step_stats *stats;    // [worlds], of the steps that were made last
    uint64_t *was, *is;       // [worlds]
    int64_t records, hashes;  // in the file
} record_rows;

/// Steps from record k - 1 to record k: those of the worlds that still run. With none left it does not matter.
static ctn_status steps_to(replay *p, record_rows *x, int64_t k, long *steps, ctn_error *err)
{
    const int64_t worlds = p->b.cfg.worlds;
    ctn_status status = recorded_rows(&p->from, "stats/steps", H5T_NATIVE_LONG, k, 1, (size_t)worlds, x->steps, err);
    if (status == CTN_OK) status = recorded_rows(&p->from, "stats/frozen", H5T_NATIVE_INT, k, 1, (size_t)worlds, x->frozen, err);
    bool running = false;
    *steps = 0;
    for (int64_t w = 0; w < worlds && status == CTN_OK; w++) {
        if (!x->frozen[w]) *steps = x->steps[w], running = true;
        if (x->steps[w] < 0 || x->steps[w] > p->from.every)
            status = fail(err, CTN_IO, "%s: record %lld has %ld steps, expected at most %ld; the file is damaged: " HDF5_REMEDY,
                          p->from.path, (long long)k, x->steps[w], p->from.every);
    }
    if (!running) *steps = p->from.every;
    return status;
}

static ctn_status compare_record(replay *p, record_rows *x, int64_t k, ctn_error *err)
{
    blocks *const b = &p->b;
    const size_t worlds = (size_t)b->cfg.worlds;
    ctn_status status = CTN_OK;
    quantities_update(&b->now);
    for (int i = 0; i < b->now.count && status == CTN_OK; i++) {
        const quantity *const q = &b->now.list[i];
        status = recorded_rows(&p->from, q->name, H5T_NATIVE_DOUBLE, k, 1, worlds * q->width, x->states, err);
        for (size_t w = 0; w < worlds && status == CTN_OK; w++)
            compare_state(p, q, (long)w, p->steps, x->states + w * q->width, q->now + w * q->width);
    }
    return status;
}

/// Compares which worlds are frozen at record k, why, and since when.
static ctn_status compare_frozen(replay *p, record_rows *x, int64_t k, ctn_error *err)
{
    const int64_t worlds = p->b.cfg.worlds;
    ctn_status status = recorded_rows(&p->from, "stats/frozen", H5T_NATIVE_INT, k, 1, (size_t)worlds, x->frozen, err);
    if (status == CTN_OK)
        status = recorded_rows(&p->from, "stats/frozen_time", H5T_NATIVE_DOUBLE, k, 1, (size_t)worlds, x->frozen_time, err);
    for (int64_t w = 0; w < worlds && status == CTN_OK; w++) {
        compare_total(p, "stats/frozen", (long)w, x->frozen[w], x->stats[w].frozen);
        compare_total(p, "stats/frozen_time", (long)w, x->frozen_time[w], x->stats[w].frozen_time);
    }
    return status;
}

static ctn_status compare_hashes(replay *p, record_rows *x, ctn_error *err)
{
    const size_t worlds = (size_t)p->b.cfg.worlds;
    if (p->steps >= x->hashes) return CTN_OK;
    ctn_batch_hashes(p->b.batch, x->is);
    const ctn_status status = recorded_rows(&p->from, "hash", H5T_NATIVE_UINT64, p->steps, 1, worlds, x->was, err);
    for (size_t w = 0; w < worlds && status == CTN_OK; w++) compare_hash(p, (long)w, p->steps, x->was[w], x->is[w]);
    if (status == CTN_OK) p->hashes++;
    return status;
}

/// Makes n steps, under the forces that the file has.
static ctn_status step(replay *p, record_rows *x, long n, ctn_error *err)
{
    const size_t nv = (size_t)ctn_model_nv(p->b.model);
    ctn_step_stats *const stats = p->verify ? x->stats : NULL;
    if (!p->start.tau) return ctn_batch_step(p->b.batch, (int)n, stats, err);
    const ctn_run run = {.steps = (int)n, .force = p->start.tau + (size_t)p->steps * nv};
    if (p->steps + n <= p->start.steps) return ctn_batch_run(p->b.batch, &run, stats, err);
    return fail(err, CTN_IO, "%s: has forces for %d steps, and more records; the file is damaged: " HDF5_REMEDY, p->from.path,
                p->start.steps);
}

/// Steps to the next record, some at a time, to look for signals between.
static ctn_status make_steps(replay *p, record_rows *x, long steps, ctn_error *err)
{
    ctn_status status = CTN_OK;
    for (long left = steps; left && status == CTN_OK && !(p->interrupted = stop_asked());) {
        const long n = x->hashes ? 1 : p->b.piece < left ? p->b.piece : left;
        const double before = clock_now();
        status = step(p, x, n, err);
        if ((p->failed = step_outcome(status, err) != EXIT_OK)) return status;
        if ((p->interrupted = status == CTN_INTERRUPTED)) return CTN_OK;
        p->b.piece = next_piece(p->b.piece, n, clock_now() - before);
        p->steps += n, left -= n;
        status = compare_hashes(p, x, err);
    }
    return status;
}

static ctn_status make_records(replay *p, record_rows *x, ctn_error *err)
{
    ctn_status status = compare_hashes(p, x, err);
    if (status == CTN_OK) status = step(p, x, 0, err);
    for (int64_t k = 0; k < x->records && status == CTN_OK; k++) {
        long steps = 0;
        if (k) status = steps_to(p, x, k, &steps, err);
        if (status == CTN_OK) status = make_steps(p, x, steps, err);
        if (p->interrupted) break;
        if (status == CTN_OK && p->verify) status = compare_record(p, x, k, err);
        if (status == CTN_OK && p->verify) status = compare_frozen(p, x, k, err);
        p->states++;
        progress_show(&p->bar, "record", k + 1, x->records);
    }
    if (status != CTN_OK) return status;
    const ctn_status last = ctn_batch_step(p->b.batch, 0, NULL, err);  // says whether reading states failed, too
    p->failed = step_outcome(last, err) != EXIT_OK;
    return p->failed ? last : CTN_OK;
}

/// Puts the world where the file begins.
static ctn_status restore(replay *p, ctn_error *err)
{
    ctn_error why;
    const ctn_status status = ctn_batch_restore(p->b.batch, p->start.state, p->start.size, &why);
    return status == CTN_OK ? CTN_OK : fail(err, status, "%s: `start/state`: %s", p->from.path, why.message);
}

static ctn_status open_batch(replay *p, ctn_error *err)
{
    blocks *const b = &p->b;
    record_head head;
    ctn_record_config cfg = ctn_record_config_default();
    cfg.every = (int)p->from.every, cfg.hashes = p->from.hashes;
    const record_start *const start = p->from.first >= 0 ? &p->start : NULL;
    if (start && recorded_start(&p->from, &p->start, err) != CTN_OK) return err->status;
    b->cfg.parameters = p->start.parameters, b->cfg.parameter_count = p->start.parameter_count;
    b->batch = ctn_batch_create(b->model, &b->cfg, err);
    if (!b->batch) return err->status;
    if (start && restore(p, err) != CTN_OK) return err->status;
    b->threads = ctn_batch_configuration(b->batch)->threads, b->engine = ctn_batch_configuration(b->batch)->engine;
    b->piece = 1;
    unsigned keep = KEEP_Q | KEEP_V | KEEP_SENSORS;
    if (recorded_count(&p->from, "contacts") > 0) keep |= KEEP_CONTACTS;  // older recordings have none
    const ctn_status status = quantities_open(&b->now, b->batch, keep, err);
    if (status != CTN_OK) return status;
    record_head_recording(&head, b->scene, b->batch, &cfg, start);
    return recorded_compare(&p->from, &head, err);
}

int replay_recording(replay *p)
{
    blocks *const b = &p->b;
    ctn_error err;
    if (open_batch(p, &err) != CTN_OK) return status_error(&err, "");
    const size_t worlds = (size_t)b->cfg.worlds, nq = (size_t)ctn_model_nq(b->model), nv = (size_t)ctn_model_nv(b->model),
                 sensors = (size_t)ctn_model_sensor_numbers(b->model),
                 contacts = (size_t)ctn_model_ncontact(b->model) * CTN_CONTACT_NUMBERS, joints = nq > nv ? nq : nv,
                 widest = joints > contacts ? joints : contacts;
    record_rows x = {.records = recorded_count(&p->from, "time"), .hashes = p->verify ? recorded_count(&p->from, "hash") : 0};
    x.states = malloc(worlds * (widest > sensors ? widest : sensors) * sizeof *x.states + 1);
    x.steps = malloc(worlds * sizeof *x.steps), x.frozen = malloc(worlds * sizeof *x.frozen);
    x.frozen_time = malloc(worlds * sizeof *x.frozen_time), x.stats = calloc(worlds, sizeof *x.stats);
    x.was = malloc(worlds * sizeof *x.was), x.is = malloc(worlds * sizeof *x.is);
    int status = EXIT_OK;
    if (!x.states || !x.steps || !x.frozen || !x.frozen_time || !x.stats || !x.was || !x.is)
        status = run_error("not enough memory");
    else if (make_records(p, &x, &err) != CTN_OK) status = p->failed ? EXIT_RUN : status_error(&err, "");
    if (x.records) p->worlds = b->cfg.worlds;
    free(x.states), free(x.steps), free(x.frozen), free(x.frozen_time), free(x.stats), free(x.was), free(x.is);
    return status;
}
