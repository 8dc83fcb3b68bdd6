/// States of batches as blocks of bytes: saved and restored, hashed.
#include "sim/batch.h"
#include "sim/status.h"

#include <catena/hash.h>
#include <string.h>
#include <xxhash.h>

static uint64_t hash_numbers(uint64_t h, const double *x, int n)
{
    for (int k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &x[k], sizeof bits);
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

uint64_t model_constants(const ctn_model *m)
{
    uint64_t h = hash_numbers(0xcbf29ce484222325u, m->gravity, 3);
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *o = &m->bodies[i];
        const double n[] = {o->kind, o->parent, o->qadr,     o->vadr,      o->ca,      o->sa,      o->rest_angle, o->quarter,
                            o->mass, o->pitch,  o->armature, o->stiffness, o->limit_k, o->limit_b, o->limit[0],   o->limit[1]};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        h = hash_numbers(h, o->r0, 3), h = hash_numbers(h, o->C, 9), h = hash_numbers(h, o->h, 3), h = hash_numbers(h, o->S, 6);
        h = hash_numbers(h, o->I, 6), h = hash_numbers(h, o->damping, 3), h = hash_numbers(h, o->rest, 4);
    }
    return h;
}

/// A saved state: this header, then the clocks, then flat_size doubles a world. Nothing of it is padding.
typedef struct {
    char magic[8];
    uint32_t version, method;
    uint64_t worlds, numbers, model;
    double dt;
} saved_header;

static saved_header header_of(const ctn_batch *batch)
{
    const uint32_t method = (uint32_t)batch->cfg.method | (uint32_t)batch->cfg.adaptive << 16;
    saved_header h = {"catena", 3, method, (uint64_t)batch->cfg.worlds, 0, batch->constants, batch->cfg.dt};
    h.numbers = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    return h;
}

size_t ctn_batch_saved_size(const ctn_batch *batch)
{
    const saved_header h = header_of(batch);
    return sizeof h + (size_t)h.worlds * (sizeof(clock_state) + (size_t)h.numbers * sizeof(double));
}

/// Copies all worlds between the blocks and `numbers` [worlds][flat_size].
static void flatten_all(const ctn_batch *batch, bool load, double *numbers)
{
    if (batch->device) {
        batch_device_flatten(batch, 0, batch->cfg.worlds, load, numbers);
        return;
    }
    const int lanes = batch->engine->lanes;
    const size_t n = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    for (int w = 0; w < batch->cfg.worlds; w++)
        batch->engine->flatten(lanes_of(batch, 0), &batch->cfg, state_of(batch, w / lanes), w % lanes, load,
                               numbers + (size_t)w * n);
}

void ctn_batch_save(const ctn_batch *batch, void *block)
{
    const saved_header h = header_of(batch);
    char *at = block;
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    memcpy(at, batch->clocks, (size_t)h.worlds * sizeof *batch->clocks);
    flatten_all(batch, false, (double *)(void *)(at + (size_t)h.worlds * sizeof *batch->clocks));
}

ctn_status ctn_batch_restore(ctn_batch *batch, const void *block, size_t size, ctn_error *err)
{
    const saved_header h = header_of(batch);
    if (size != ctn_batch_saved_size(batch) || memcmp(block, &h, sizeof h))
        return fail(err, CTN_BAD_ARGUMENT, "the saved state belongs to another model, method, step size or number of worlds");
    const char *at = (const char *)block + sizeof h;
    memcpy(batch->clocks, at, (size_t)h.worlds * sizeof *batch->clocks);
    batch->fitted = false;
    flatten_all(batch, true, (double *)(void *)(uintptr_t)(at + (size_t)h.worlds * sizeof *batch->clocks));
    return CTN_OK;
}

typedef struct {
    const ctn_batch *batch;
    uint64_t *hash;  // [worlds]
} hashing;

static uint64_t hash_world(const ctn_batch *batch, int world, const double *flat, size_t n)
{
    const XXH64_hash_t clock = XXH3_64bits(&batch->clocks[world], sizeof *batch->clocks);
    return XXH3_64bits_withSeed(flat, n * sizeof *flat, clock);
}

static void hash_block(void *context, int thread, int b)
{
    const hashing *job = context;
    const ctn_batch *batch = job->batch;
    const int count = worlds_in(batch, b), first = b * batch->engine->lanes;
    const size_t n = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    double *const flat = batch->flat + (size_t)thread * n;
    for (int l = 0; l < count; l++) {
        batch->engine->flatten(lanes_of(batch, b), &batch->cfg, state_of(batch, b), l, false, flat);
        job->hash[first + l] = hash_world(batch, first + l, flat, n);
    }
}

static void hash_on_device(const ctn_batch *batch, uint64_t *hash)
{
    const size_t n = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    for (int first = 0; first < batch->cfg.worlds; first += DEVICE_CHUNK) {
        const int left = batch->cfg.worlds - first, count = left < DEVICE_CHUNK ? left : DEVICE_CHUNK;
        batch_device_flatten(batch, first, count, false, batch->flat);
        for (int w = 0; w < count; w++) hash[first + w] = hash_world(batch, first + w, batch->flat + (size_t)w * n, n);
    }
}

void ctn_batch_hashes(const ctn_batch *batch, uint64_t *hash)
{
    if (batch->device) hash_on_device(batch, hash);
    else pool_run(batch->pool, batch->blocks, hash_block, &(hashing){batch, hash});
}
