/// States of batches as blocks of bytes: saved and restored, hashed.
#include "sim/batch/batch.h"
#include "sim/batch/batch_controller.h"
#include "sim/batch/batch_sensors.h"
#include "sim/base/config.h"
#include "sim/model/controller.h"
#include "sim/base/status.h"

#include <catena/hash.h>
#include <stddef.h>
#include <stdlib.h>
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

static uint64_t hash_surface(uint64_t h, const fixed_surface *f)
{
    h = hash_numbers(h, (double[]){f->kind, f->radius, f->columns, f->rows, f->spacing[0], f->spacing[1]}, 6);
    h = hash_numbers(hash_numbers(hash_numbers(h, f->at, 3), f->R, 9), f->half, 3);
    return hash_numbers(h, f->numbers, f->count);
}

/// What acts between bodies.
static uint64_t hash_between(uint64_t h, const ctn_model *m)
{
    for (int k = 0; k < m->ntouch_shape; k++) {
        const touch_shape *const s = &m->touch_shapes[k];
        h = hash_numbers(h, (double[]){s->kind, s->body, s->link, s->number, s->radius}, 5);
        h = hash_numbers(hash_numbers(hash_numbers(h, s->at, 3), s->R, 9), s->half, 3);
    }
    h = hash_numbers(h, m->touch_numbers, (int)m->ntouch_number);
    for (int k = 0; k < m->npair; k++) {
        const touch_pair *const p = &m->touch_pairs[k];
        h = hash_numbers(h, (double[]){p->a, p->b, p->elements, p->slots, p->friction, p->grip, p->slide}, 7);
    }
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const b = &m->bonds[k];
        const double n[] = {b->kind, b->number, b->a,        b->b,      b->length, b->stiffness, b->damping, b->compliance,
                            b->row,  b->rows,   b->follower, b->leader, b->joints, b->points,    b->rest[0], b->rest[1]};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        h = hash_numbers(hash_numbers(hash_numbers(h, b->at_a, 3), b->at_b, 3), b->axes_a, 9);
        h = hash_numbers(hash_numbers(hash_numbers(h, b->axes_b, 9), b->poly, 5), b->range, 2);
    }
    for (int k = 0; k < m->nbond_joint; k++) h = hash_numbers(h, (double[]){m->bond_joints[k].body, m->bond_joints[k].share}, 2);
    for (int k = 0; k < m->nbond_point; k++) {
        const bond_point *const p = &m->bond_points[k];
        h = hash_numbers(h, (double[]){p->body, p->at[0], p->at[1], p->at[2], p->share}, 5);
    }
    if (m->touch_capacity) h = hash_numbers(h, (double[]){m->touch_capacity}, 1);
    return m->npair ? hash_numbers(h, &m->relaxation, 1) : h;
}

uint64_t model_constants(const ctn_model *m)
{
    uint64_t h = hash_numbers(0xcbf29ce484222325u, m->gravity, 3);
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *o = &m->bodies[i];
        const double n[] = {o->kind, o->parent, o->qadr,     o->vadr,      o->ca,      o->sa,      o->rest_angle, o->quarter,
                            o->mass, o->pitch,  o->armature, o->stiffness, o->limit_k, o->limit_b, o->limit[0],   o->limit[1]};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        if (o->flags & BODY_FRICTION) h = hash_numbers(h, &o->friction, 2);
        h = hash_numbers(h, o->r0, 3), h = hash_numbers(h, o->C, 9), h = hash_numbers(h, o->h, 3), h = hash_numbers(h, o->S, 6);
        h = hash_numbers(h, o->I, 6), h = hash_numbers(h, o->damping, 3), h = hash_numbers(h, o->rest, 4);
    }
    for (int k = 0; k < m->nload; k++) {
        const point_load *o = &m->loads[k];
        h = hash_numbers(h, (double[]){o->body, o->number, o->link, o->flags}, 4);
        if (o->motor) h = hash_numbers(h, o->push, 6);
        if (o->surface) h = hash_numbers(h, (double[]){o->surface}, 1);
        h = hash_numbers(h, &o->stiffness,
                         o->flags & LOAD_TOUCHES                ? LOAD_NUMBERS
                         : o->flags & (LOAD_AXIAL | LOAD_SLIPS) ? offsetof(point_constants, radius) / sizeof(double)
                                                                : offsetof(point_constants, axial) / sizeof(double));
    }
    if (m->slips) {
        const fluid_stream *const s = &m->stream;
        h = hash_numbers(h, (double[]){s->strength, s->moves, s->points}, 3);
        h = hash_numbers(hash_numbers(h, s->height, s->points), s->share, s->points);
    }
    if (m->ncontact) h = hash_numbers(h, m->ground, 4), h = hash_numbers(h, &m->relaxation, 1);
    for (int k = 0; k < m->nsurface && m->ncontact; k++) h = hash_surface(h, &m->surfaces[k]);
    h = hash_between(h, m);
    for (int k = 0; k < m->nmotor; k++) {
        const joint_motor *const o = &m->motors[k];
        const int(*const moves)[3] = o->moves;
        const double n[] = {o->body, o->type, o->kp, o->kd, o->target[0], o->velocity[0], o->feedforward[0], o->effort, o->gear};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        if (o->type >= MOTOR_THRUST) h = hash_numbers(h, &o->least, 1);
        if (o->tendon) h = hash_numbers(h, (double[]){o->tendon}, 1);
        if (o->wound >= 0 || o->fast) h = hash_numbers(h, (double[]){o->wound, o->ki, o->fast, o->speed}, 4);
        if (m->nsignal) h = hash_numbers(h, (double[]){moves[0][0], moves[1][0], moves[2][0], o->follows}, 4);
        for (int c = 1; c < 3 && o->type < MOTOR_THRUST && !o->tendon && m->bodies[o->body].kind == JOINT_BALL; c++) {
            h = hash_numbers(h, (double[]){o->target[c], o->velocity[c], o->feedforward[c]}, 3);
            h = hash_numbers(h, (double[]){moves[0][c], moves[1][c], moves[2][c]}, 3);
        }
    }
    const model_controller *const c = m->controller;
    if (c) {
        const double n[] = {c->type,         c->outputs, c->inputs, c->count, c->net.layers, c->net.width[0],
                            c->net.width[1], c->knots,   c->period, c->ramp,  c->every,      c->clock};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        for (int i = 0; i < c->outputs; i++) h = hash_numbers(h, (double[]){c->target[i], c->range[i][0], c->range[i][1]}, 3);
        for (int i = 0; i < c->outputs && c->legs; i++) h = hash_numbers(h, (double[]){c->leg[i], c->joint[i], c->sign[i]}, 3);
        if (c->phases) h = hash_numbers(h, c->phases, c->legs);
        if (c->plan) h = hash_numbers(h, c->plan, (size_t)c->plan_rows * (size_t)c->plan_width);
        if (c->once) h = hash_numbers(h, (double[]){c->once}, 1);
        for (int i = 0; i < c->sensors; i++) h = hash_numbers(h, (double[]){c->sensed[i], c->scale[i]}, 2);
    }
    for (int k = 0; k < m->nsignal; k++) {
        const ctn_signal *s = &m->signals[k];
        const double n[] = {s->kind, s->hold, s->frequency, s->phase,  s->amplitude,
                            s->duty, s->ramp, s->every,     s->period, s->count};
        h = hash_numbers(h, n, sizeof n / sizeof *n);
        if (s->count) h = hash_numbers(hash_numbers(h, s->knots, s->count), s->pieces, 4 * (s->count + 1));
    }
    return h;
}

/// A saved state: this header, then the clocks and where worlds froze, then the values of the parameters [worlds][n], then
/// flat_size doubles a world, what it remembers for its sensors, and what a controller has told its motors. Nothing of it is padding.
typedef struct {
    char magic[8];
    uint32_t version, method;
    uint64_t worlds, numbers, model;
    double dt;
    uint32_t number, parameters;  // order, stages or rho * 1e9; n
    uint64_t list;                // of the parameters, and of sensors with a delay, hashed
    uint64_t checksum;            // of all that follows and, with 0 here, of the header
} saved_header;

enum { SAVED_VERSION = 7 };

static saved_header header_of(const ctn_batch *batch)
{
    const ctn_batch_config *const cfg = &batch->cfg;
    const uint32_t method = (uint32_t)cfg->method | (uint32_t)cfg->adaptive << 16;
    saved_header h = {"catena", SAVED_VERSION, method, (uint64_t)cfg->worlds, 0, batch->constants, cfg->dt, 0, 0, 0, 0};
    double number = 0;
    method_number(cfg, &number);
    h.numbers = batch->engine->flat_size(lanes_of(batch, 0), cfg) + batch_sensing_numbers(batch) + batch_telling_numbers(batch);
    h.number = (uint32_t)(cfg->method == CTN_ALPHA ? number * 1e9 : number), h.parameters = (uint32_t)cfg->parameter_count;
    for (int k = 0; k < cfg->parameter_count; k++)
        h.list = hash_numbers(h.list, (double[]){cfg->parameters[k].kind, cfg->parameters[k].index}, 2);
    const uint64_t late = batch_sensing_layout(batch);
    if (late) h.list = (h.list ^ late) * 0x9e3779b97f4a7c15u;
    return h;
}

/// Where its parts lie.
static char *clocks_at(char *block) { return block + sizeof(saved_header); }
static char *falls_at(char *block, const saved_header *h) { return clocks_at(block) + (size_t)h->worlds * sizeof(clock_state); }
static char *values_at(char *block, const saved_header *h) { return falls_at(block, h) + (size_t)h->worlds * sizeof(world_fall); }
static char *numbers_at(char *block, const saved_header *h)
{
    return values_at(block, h) + (size_t)h->worlds * h->parameters * sizeof(double);
}

static uint64_t checksum_of(saved_header h, const char *block, size_t size)
{
    h.checksum = 0;
    return XXH3_64bits_withSeed(block + sizeof h, size - sizeof h, XXH3_64bits(&h, sizeof h));
}

/// Bytes of a world besides the header.
static size_t world_size(const saved_header *h)
{
    return sizeof(clock_state) + sizeof(world_fall) + ((size_t)h->parameters + (size_t)h->numbers) * sizeof(double);
}

size_t ctn_batch_saved_size(const ctn_batch *batch)
{
    if (!batch) return 0;
    const saved_header h = header_of(batch);
    return sizeof h + (size_t)h.worlds * world_size(&h);
}

size_t batch_saved_world_size(const ctn_batch *batch)
{
    const saved_header h = header_of(batch);
    return sizeof h + world_size(&h);
}

void batch_saved_world(const ctn_batch *batch, const void *block, int world, void *one)
{
    const saved_header all = header_of(batch);
    saved_header h = all;
    const size_t w = (size_t)world, own = (size_t)all.parameters * sizeof(double), n = (size_t)all.numbers * sizeof(double);
    char *const from = (char *)(uintptr_t)block;  // read only
    h.worlds = 1;
    memcpy(clocks_at(one), clocks_at(from) + w * sizeof(clock_state), sizeof(clock_state));
    memcpy(falls_at(one, &h), falls_at(from, &all) + w * sizeof(world_fall), sizeof(world_fall));
    memcpy(values_at(one, &h), values_at(from, &all) + w * own, own);
    memcpy(numbers_at(one, &h), numbers_at(from, &all) + w * n, n);
    h.checksum = checksum_of(h, one, sizeof h + world_size(&h));
    memcpy(one, &h, sizeof h);
}

/// Those of a device, which come as [worlds][n], with what their sensors remember after each.
static void save_there(const ctn_batch *batch, size_t n, double *numbers)
{
    const size_t size = n + batch_sensing_numbers(batch);
    batch_device_flatten(batch, 0, batch->cfg.worlds, false, numbers);
    for (int w = batch->cfg.worlds - 1; w >= 0 && size > n; w--) {
        memmove(numbers + (size_t)w * size, numbers + (size_t)w * n, n * sizeof *numbers);
        batch_sensing_flatten(batch, w, false, numbers + (size_t)w * size + n);
    }
}

static ctn_status load_there(ctn_batch *batch, size_t n, double *numbers, ctn_error *err)
{
    const size_t worlds = (size_t)batch->cfg.worlds, size = n + batch_sensing_numbers(batch);
    if (size == n) return batch_device_load(batch, numbers, err);
    double *const flat = malloc(worlds * n * sizeof *flat + 1);
    if (!flat) return fail(err, CTN_NO_MEMORY, "not enough memory for the states of %zu worlds", worlds);
    for (size_t w = 0; w < worlds; w++) memcpy(flat + w * n, numbers + w * size, n * sizeof *flat);
    const ctn_status status = batch_device_load(batch, flat, err);
    for (size_t w = 0; w < worlds && status == CTN_OK; w++) batch_sensing_flatten(batch, (int)w, true, numbers + w * size + n);
    free(flat);
    return status;
}

/// Copies all worlds between the blocks and `numbers` [worlds][flat_size and those of sensors].
static void flatten_all(const ctn_batch *batch, bool load, double *numbers)
{
    const int lanes = batch->engine->lanes;
    const size_t n = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    if (batch->device) {
        save_there(batch, n, numbers);
        return;
    }
    const size_t sensed = batch_sensing_numbers(batch), told = batch_telling_numbers(batch);
    for (int w = 0; w < batch->cfg.worlds; w++, numbers += n + sensed + told) {
        batch->engine->flatten(lanes_of(batch, 0), &batch->cfg, state_of(batch, w / lanes), w % lanes, load, numbers);
        batch_sensing_flatten(batch, w, load, numbers + n);
        batch_telling_flatten(batch, w, load, numbers + n + sensed);
    }
    if (load) batch_telling_load(batch);
}

void ctn_batch_save(const ctn_batch *batch, void *block)
{
    if (!batch || !block) return;
    const saved_header h = header_of(batch);
    const size_t worlds = (size_t)h.worlds;
    memcpy(block, &h, sizeof h);
    memcpy(clocks_at(block), batch->clocks, worlds * sizeof *batch->clocks);
    memset(falls_at(block, &h), 0, worlds * sizeof *batch->falls);  // what was before a world was set anew is not saved
    for (size_t w = 0; w < worlds; w++)
        if (batch->clocks[w].frozen)
            memcpy(falls_at(block, &h) + w * sizeof *batch->falls, &batch->falls[w], sizeof *batch->falls);
    if (h.parameters) memcpy(values_at(block, &h), batch->values, worlds * h.parameters * sizeof *batch->values);
    flatten_all(batch, false, (double *)(void *)numbers_at(block, &h));
    const uint64_t checksum = checksum_of(h, block, ctn_batch_saved_size(batch));
    memcpy((char *)block + offsetof(saved_header, checksum), &checksum, sizeof checksum);
}

/// Whether a block is one that ctn_batch_save of this version wrote, every bit of it.
static ctn_status check_block(const char *block, size_t size, saved_header *was, ctn_error *err)
{
    const char *const magic = "catena\0";
    if (size < sizeof *was || memcmp(block, magic, sizeof was->magic))
        return fail(err, CTN_BAD_ARGUMENT, "these %zu bytes are no saved state, or only its beginning", size);
    memcpy(was, block, sizeof *was);
    if (was->version != SAVED_VERSION)
        return fail(err, CTN_BAD_ARGUMENT, "the saved state has format %u, expected %d: save it anew with this version of catena",
                    (unsigned)was->version, SAVED_VERSION);
    if (was->checksum != checksum_of(*was, block, size))
        return fail(
            err, CTN_BAD_ARGUMENT,
            "the saved state is damaged: its %zu bytes have another checksum than when they were saved; take another copy "
            "of it, or save it anew",
            size);
    return CTN_OK;
}

ctn_status ctn_batch_restore(ctn_batch *batch, const void *block_, size_t size, ctn_error *err)
{
    if (missing(__func__, "batch", batch, err) || missing(__func__, "block", block_, err)) return CTN_BAD_ARGUMENT;
    saved_header h = header_of(batch), was;
    char *const block = (char *)(uintptr_t)block_;  // read only
    if (check_block(block, size, &was, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    h.checksum = was.checksum;
    if (size != ctn_batch_saved_size(batch) || memcmp(&was, &h, sizeof h))
        return fail(err, CTN_BAD_ARGUMENT,
                    "the saved state belongs to another model, method, step size, list of parameters or number of worlds");
    const size_t worlds = (size_t)h.worlds, n = h.parameters;
    const double *const values = (const double *)(const void *)values_at(block, &h);
    for (size_t w = 0; w < worlds && n; w++)
        if (parameters_check(batch->parameters, values + w * n, (int)w, err) != CTN_OK) return CTN_BAD_ARGUMENT;
    double *const numbers = (double *)(void *)numbers_at(block, &h);
    const size_t own = batch->engine->flat_size(lanes_of(batch, 0), &batch->cfg);
    for (size_t w = 0; w < worlds; w++)
        if (!batch_sensing_sound(batch, numbers + w * (own + batch_sensing_numbers(batch) + batch_telling_numbers(batch)) + own))
            return fail(err, CTN_BAD_ARGUMENT, "the saved state is damaged: what sensors remember of world %zu is none", w);
    ctn_status status = batch->device ? batch_device_failed(batch, err) : CTN_OK;
    if (status == CTN_OK && batch->device) status = load_there(batch, own, numbers, err);
    else if (status == CTN_OK) flatten_all(batch, true, numbers);
    if (status == CTN_OK && n) {
        memcpy(batch->values, values, worlds * n * sizeof *values);
        status = batch_load_parameters(batch, err);
    }
    if (status != CTN_OK) return status;
    memcpy(batch->clocks, clocks_at(block), worlds * sizeof *batch->clocks);
    memcpy(batch->falls, falls_at(block, &h), worlds * sizeof *batch->falls);
    batch->fitted = false;
    return CTN_OK;
}

typedef struct {
    const ctn_batch *batch;
    uint64_t *hash;  // [worlds]
} hashing;

/// Turns that q does not count are the last numbers of a state; where there are none its hash is that of a state without them, as in
/// recordings from before they were counted.
static uint64_t hash_world(const ctn_batch *batch, int world, const double *flat, size_t n)
{
    const size_t turns = batch->model->turns ? (size_t)batch->model->nv : 0;
    bool none = true;
    for (size_t k = n - turns; k < n; k++) none = none && flat[k] == 0;
    if (none) n -= turns;
    const size_t own = (size_t)batch->cfg.parameter_count;
    XXH64_hash_t h = XXH3_64bits(&batch->clocks[world], sizeof *batch->clocks);
    if (batch->telling) {
        const size_t told = batch_telling_numbers(batch);
        h = XXH3_64bits_withSeed(batch_told(batch, world), told * sizeof(double), h);
    }
    if (own) h = XXH3_64bits_withSeed(batch->values + (size_t)world * own, own * sizeof *batch->values, h);
    return XXH3_64bits_withSeed(flat, n * sizeof *flat, h);
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
    if (!batch || !hash) return;
    if (batch->device) hash_on_device(batch, hash);
    else pool_run(batch->pool, batch->blocks, hash_block, &(hashing){batch, hash});
}
