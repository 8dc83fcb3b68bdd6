/// Numbers of two recordings that belong to the same time, world and link, compared some records at a time: what is in
/// memory does not grow with the files.
#include "cli/base/message.h"
#include "cli/commands/diff.h"
#include "sim/base/status.h"
#include "sim/base/step_stats.h"
#include "sim/record/record.h"
#include "sim/record/trajectories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET = 1 << 20, TIMES = 4096 };  // numbers of each file in memory, but at least those of a world in a record; times

// ---- records of the same time

/// The times of a recording, some of them in memory.
typedef struct clock_tape {
    recorded *from;
    int64_t count, first, held;
    double time[TIMES];
} clock_tape;

/// Time `k`, read if need be. NaN: it cannot be, as `err` says.
static double time_at(clock_tape *t, int64_t k, ctn_error *err)
{
    if (k >= t->first && k < t->first + t->held) return t->time[k - t->first];
    t->first = k, t->held = t->count - k < TIMES ? t->count - k : TIMES;
    ctn_status status = recorded_rows(t->from, "time", H5T_NATIVE_DOUBLE, t->first, t->held, 1, t->time, err);
    for (int64_t i = 0; i < t->held && status == CTN_OK; i++)
        if (!isfinite(t->time[i]))
            status = fail(err, CTN_IO, "%s: the numbers in `time` do not rise; the file is damaged: " HDF5_REMEDY, t->from->path);
    if (status != CTN_OK) t->held = 0;
    return status == CTN_OK ? *t->time : (double)NAN;
}

/// Adds a pair of records to the last stretch, if it goes on like this, or begins another one. False: no memory.
static bool add_pair(diff *d, int64_t a, int64_t b)
{
    diff_stretch *const last = d->ncommon ? &d->common[d->ncommon - 1] : NULL;
    d->pairs++;
    if (last && last->count == 1) last->da = a - last->a, last->db = b - last->b;
    if (last && a == last->a + last->count * last->da && b == last->b + last->count * last->db) {
        last->count++;
        return true;
    }
    diff_stretch *const more = realloc(d->common, ((size_t)d->ncommon + 1) * sizeof *more);
    if (!more) return false;
    d->common = more;
    d->common[d->ncommon++] = (diff_stretch){a, b, 1, 1, 1};
    return true;
}

/// Goes through the times of both. They are multiples of the time steps, each with a rounding of its own.
static int pair_records(diff *d, clock_tape *a, clock_tape *b)
{
    const double near = 1e-6 * fmin(d->from[0].cfg.dt, d->from[1].cfg.dt);
    int64_t i = 0, j = 0;
    ctn_error err;
    while (i < a->count && j < b->count) {
        const double s = time_at(a, i, &err), t = isnan(s) ? s : time_at(b, j, &err);
        if (isnan(t)) return status_error(&err, ""), EXIT_USAGE;
        const bool at_once = fabs(s - t) <= near;
        const bool again[2] = {at_once && i + 1 < a->count && time_at(a, i + 1, &err) == s,
                               at_once && j + 1 < b->count && time_at(b, j + 1, &err) == t};
        if (again[0] != again[1]) {  // the record of the step that failed repeats the time of the one before, if there is one
            i += again[0], j += again[1];
        } else if (at_once) {
            if (!d->pairs) d->span[0] = s;
            d->span[1] = s;
            if (!add_pair(d, i++, j++)) return run_error("not enough memory");
        } else if (s < t) i++;
        else j++;
    }
    if (d->pairs) return EXIT_OK;
    return usage_error("%s and %s have no record of the same time", d->from[0].path, d->from[1].path);
}

int diff_pair(diff *d)
{
    clock_tape *const tapes = calloc(2, sizeof *tapes);
    if (!tapes) return run_error("not enough memory");
    for (int side = 0; side < 2; side++) tapes[side].from = &d->from[side], tapes[side].count = d->records[side];
    const int status = pair_records(d, &tapes[0], &tapes[1]);
    const diff_stretch *const c = d->common;
    d->side_by_side = d->ncommon == 1 && !c->a && !c->b && c->da == 1 && c->db == 1;
    free(tapes);
    return status;
}

// ---- what is compared

/// Whether a number of a record says how it is then, and not what happened since the record before.
static bool is_of_now(const char *name)
{
    static const char *const now[] = {
#define TOTAL(member)
#define BALANCE(member)
#define MOST(member)
#define LEAST(member)
#define FIRST(member)
#define LAST(member) "stats/" #member,
#define STAT(member, type, adds, of, unit, about) adds(member)
        STEP_STATS(STAT)};
    for (size_t k = 0; k < sizeof now / sizeof *now; k++)
        if (!strcmp(now[k], name)) return true;
    return strncmp(name, "stats/", 6) != 0;
}

/// Whether a number, of its kind, can be the same up to a tolerance: counts of work and what solvers left over say nothing then.
static bool is_measured(const record_member *m)
{
    return !strcmp(m->name, "stats/frozen") || (m->type == MEMBER_REAL && !strstr(m->name, "residual"));
}

/// Whether a recording has numbers of all its records under this name.
static bool has(diff *d, int side, const char *name)
{
    recorded *const r = &d->from[side];
    const int64_t count = recorded_count(r, name);
    return r->rollout ? count == r->cfg.worlds : count >= d->records[side];
}

/// Lists a quantity if both have it; else notes who does.
static diff_quantity *list_one(diff *d, const char *name, const char *unit)
{
    const bool there[2] = {has(d, 0, name), has(d, 1, name)};
    if (there[0] != there[1]) d->only[there[1]][d->nonly[there[1]]++] = name;
    if (!there[0] || !there[1]) return NULL;
    diff_quantity *const x = &d->list[d->count++];
    *x = (diff_quantity){.name = name, .unit = unit, .width = {1, 1}};
    return x;
}

static bool list_states(diff *d, const char *name, size_t a, size_t b)
{
    diff_quantity *const x = list_one(d, name, NULL);
    if (!x) return true;
    x->width[0] = a, x->width[1] = b;
    x->partner = malloc((a + 1) * sizeof *x->partner);
    if (x->partner) diff_partners(d, name, x->partner);
    return x->partner != NULL;
}

/// Whether steps of both are the same steps, so that hashes and totals are of the same times.
static bool same_steps(const diff *d) { return d->from[0].cfg.dt == d->from[1].cfg.dt; }

static bool list_all(diff *d)
{
    const ctn_model *const a = d->model[0], *const b = d->model[1];
    const ctn_step_stats none = {0};
    const bool rollouts = d->from[0].rollout && d->from[1].rollout;
    bool ok = list_states(d, "q", (size_t)ctn_model_nq(a), (size_t)ctn_model_nq(b)) &&
              list_states(d, "v", (size_t)ctn_model_nv(a), (size_t)ctn_model_nv(b)) &&
              list_states(d, "pose", (size_t)ctn_model_nlink(a) * POSE_NUMBERS, (size_t)ctn_model_nlink(b) * POSE_NUMBERS) &&
              list_states(d, "sensors", (size_t)ctn_model_sensor_numbers(a), (size_t)ctn_model_sensor_numbers(b)) &&
              list_states(d, "contacts", (size_t)ctn_model_ncontact(a) * CTN_CONTACT_NUMBERS,
                          (size_t)ctn_model_ncontact(b) * CTN_CONTACT_NUMBERS);
    for (int k = 0; k < RECORD_MEMBERS && ok; k++) {
        const record_member *const m = &record_members[k];
        if ((d->side_by_side || is_of_now(m->name)) && (d->tolerance == 0 || is_measured(m))) list_one(d, m->name, m->unit);
    }
    for (int k = 0; k < TRAJECTORIES_TOTALS && rollouts && same_steps(d) && d->from[0].steps == d->from[1].steps; k++) {
        const char *name;
        trajectories_total(&none, k, &name);
        const bool measured = !strncmp(name, "energy", 6) || !strcmp(name, "frozen_time") || !strcmp(name, "status");
        diff_quantity *const x = d->tolerance == 0 || measured ? list_one(d, name, "") : NULL;
        if (x) x->kind = DIFF_TOTAL;
    }
    const int64_t hashes[2] = {recorded_count(&d->from[0], "hash"), recorded_count(&d->from[1], "hash")};
    if (d->tolerance == 0 && same_steps(d) && hashes[0] && hashes[1])
        d->list[d->count++] = (diff_quantity){.name = "hash", .kind = DIFF_HASH, .width = {1, 1}};
    return ok;
}

// ---- numbers

/// How far apart two numbers are, as the tolerance takes it; infinite where one of them is no number.
static double distance(const diff *d, double a, double b)
{
    const double apart = fabs(a - b), scale = d->relative ? fmax(fabs(a), fabs(b)) : 1;
    return isfinite(apart) ? (apart > 0 ? apart / scale : 0) : (double)INFINITY;
}

static bool differs(const diff *d, double a, double b)
{
    if (!memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b))) return false;
    return d->tolerance == 0 || distance(d, a, b) > d->tolerance;
}

static bool is_before(const diff_place *a, const diff_place *b)
{
    if (a->pair != b->pair) return a->pair < b->pair;
    return a->world != b->world ? a->world < b->world : a->entry < b->entry;
}

static void note(diff_quantity *x, const diff_place *at)
{
    if (!x->differ++) x->first = x->largest = *at;
    if (is_before(at, &x->first)) x->first = *at;
    if (at->difference > x->largest.difference || (at->difference == x->largest.difference && is_before(at, &x->largest)))
        x->largest = *at;
}

/// The numbers of a world at one time.
static void compare_row(const diff *d, diff_quantity *x, diff_place at, const double *a, const double *b)
{
    for (size_t e = 0; e < x->width[0]; e++) {
        const int twin = x->partner ? x->partner[e] : (int)e;
        if (twin < 0) continue;
        x->compared++;
        if (!differs(d, a[e], b[twin])) continue;
        at.entry = e, at.values[0] = a[e], at.values[1] = b[twin], at.difference = distance(d, a[e], b[twin]);
        note(x, &at);
    }
}

/// Some worlds that are compared at a time: whether a file lacks them.
typedef struct world_block {
    long first;
    int64_t count;
    const bool *absent;
} world_block;

/// What is read of one of the files at a time.
typedef struct slab {
    double *data;
    int64_t rows, worlds;  // that were read
    size_t width;
    bool rollout;
} slab;

static const double *slab_row(const slab *s, int64_t row, int64_t world)
{
    const int64_t at = s->rollout ? world * s->rows + row : row * s->worlds + world;
    return s->data + (size_t)at * s->width;
}

/// Records first .. first + rows - 1 of some worlds.
static ctn_status read_slab(recorded *r, const diff_quantity *x, int side, int64_t first, int64_t rows, const world_block *w,
                            slab *s, ctn_error *err)
{
    const int64_t start[2] = {r->rollout ? w->first : first, r->rollout ? first : w->first},
                  count[2] = {r->rollout ? w->count : rows, r->rollout ? rows : w->count};
    s->rows = rows, s->worlds = w->count, s->width = x->width[side], s->rollout = r->rollout;
    return s->width ? recorded_block(r, x->name, 2, start, count, s->width, s->data, err) : CTN_OK;
}

/// One stretch of common records of some worlds; `pair` is the number of its first one. The slabs have room for `room` numbers.
static ctn_status compare_stretch(diff *d, diff_quantity *x, const diff_stretch *c, int64_t pair, const world_block *w,
                                  slab *slabs, size_t room, ctn_error *err)
{
    const size_t width = x->width[0] > x->width[1] ? x->width[0] : x->width[1];
    const int64_t stride = c->da > c->db ? c->da : c->db, most = (int64_t)(room / ((size_t)w->count * (width ? width : 1)));
    const int64_t at_a_time = 1 + (most - 1) / stride;
    ctn_status status = CTN_OK;
    for (int64_t k = 0; k < c->count && status == CTN_OK; k += at_a_time) {
        const int64_t n = c->count - k < at_a_time ? c->count - k : at_a_time;
        status = read_slab(&d->from[0], x, 0, c->a + k * c->da, (n - 1) * c->da + 1, w, &slabs[0], err);
        if (status == CTN_OK) status = read_slab(&d->from[1], x, 1, c->b + k * c->db, (n - 1) * c->db + 1, w, &slabs[1], err);
        for (int64_t i = 0; i < n && status == CTN_OK; i++)
            for (int64_t v = 0; v < w->count; v++)
                if (!w->absent[v])
                    compare_row(d, x, (diff_place){.pair = pair + k + i, .world = w->first + v},
                                slab_row(&slabs[0], i * c->da, v), slab_row(&slabs[1], i * c->db, v));
    }
    return status;
}

/// Which worlds of a block one of the files does not have yet; of runs none.
static ctn_status find_absent(diff *d, const world_block *w, bool *absent, int *status_of, ctn_error *err)
{
    ctn_status status = CTN_OK;
    memset(absent, 0, (size_t)w->count * sizeof *absent);
    for (int side = 0; side < 2 && status == CTN_OK; side++) {
        if (!d->from[side].rollout) continue;
        status = recorded_rows(&d->from[side], "status", H5T_NATIVE_INT, w->first, w->count, 1, status_of, err);
        for (int64_t v = 0; v < w->count && status == CTN_OK; v++) absent[v] = absent[v] || status_of[v] < 0;
    }
    return status;
}

/// Numbers that a file has once of each world.
static ctn_status compare_totals(diff *d, diff_quantity *x, const world_block *w, slab *slabs, ctn_error *err)
{
    ctn_status status = CTN_OK;
    for (int side = 0; side < 2 && status == CTN_OK; side++)
        status = recorded_rows(&d->from[side], x->name, H5T_NATIVE_DOUBLE, w->first, w->count, 1, slabs[side].data, err);
    for (int64_t v = 0; v < w->count && status == CTN_OK; v++)
        if (!w->absent[v])
            compare_row(d, x, (diff_place){.pair = d->pairs - 1, .world = w->first + v}, slabs[0].data + v, slabs[1].data + v);
    return status;
}

/// Hashes of some steps of some worlds, [step][world] or [world][step].
static ctn_status read_hashes(recorded *r, int64_t step, int64_t count, const world_block *w, uint64_t *hash, ctn_error *err)
{
    if (r->rollout)
        return recorded_part(r, "hash", H5T_NATIVE_UINT64, 2, (int64_t[]){w->first, step}, (int64_t[]){w->count, count}, 1, hash,
                             err);
    return recorded_part(r, "hash", H5T_NATIVE_UINT64, 2, (int64_t[]){step, w->first}, (int64_t[]){count, w->count}, 1, hash,
                         err);
}

/// Steps before the first hash of a recording, and before the end of all.
static int64_t hash_begin(const recorded *r) { return r->first > 0 ? r->first : 0; }
static int64_t hash_end(recorded *r) { return hash_begin(r) + (r->rollout ? r->steps + 1 : recorded_count(r, "hash")); }

static ctn_status compare_hashes(diff *d, diff_quantity *x, const world_block *w, slab *slabs, size_t room, ctn_error *err)
{
    const int64_t begins[2] = {hash_begin(&d->from[0]), hash_begin(&d->from[1])}, first = begins[begins[1] > begins[0]],
                  ends[2] = {hash_end(&d->from[0]), hash_end(&d->from[1])}, end = ends[ends[1] < ends[0]];
    const int64_t at_a_time = (int64_t)(room / (size_t)w->count);
    uint64_t *const hashes[2] = {(uint64_t *)(void *)slabs[0].data, (uint64_t *)(void *)slabs[1].data};
    ctn_status status = CTN_OK;
    for (int64_t k = first; k < end && status == CTN_OK; k += at_a_time) {
        const int64_t n = end - k < at_a_time ? end - k : at_a_time;
        for (int side = 0; side < 2 && status == CTN_OK; side++)
            status = read_hashes(&d->from[side], k - begins[side], n, w, hashes[side], err);
        for (int64_t i = 0; i < n && status == CTN_OK; i++)
            for (int64_t v = 0; v < w->count; v++) {
                const uint64_t was = hashes[0][d->from[0].rollout ? v * n + i : i * w->count + v],
                               is = hashes[1][d->from[1].rollout ? v * n + i : i * w->count + v];
                if (w->absent[v]) continue;
                x->compared++;
                if (was != is) note(x, &(diff_place){.pair = k + i, .world = w->first + v, .hashes = {was, is}});
            }
    }
    return status;
}

/// One quantity, some worlds at a time: of runs as many as have room in one record; of rollouts, whose worlds lie one after the
/// other, in all of them.
static ctn_status compare_quantity(diff *d, diff_quantity *x, ctn_error *err)
{
    const size_t width = (x->width[0] > x->width[1] ? x->width[0] : x->width[1]) + (x->width[0] + x->width[1] == 0);
    const bool rollouts = d->from[0].rollout || d->from[1].rollout;
    const int64_t records = d->records[0] > d->records[1] ? d->records[0] : d->records[1];
    const int64_t fit = (int64_t)(BUDGET / width) / (rollouts && x->kind != DIFF_TOTAL ? records : 1);
    const int64_t most = fit < 1 ? 1 : fit < d->worlds ? fit : d->worlds;
    const size_t room = width * (size_t)most > BUDGET ? width * (size_t)most : BUDGET;
    slab slabs[2] = {{.data = malloc(room * sizeof(double))}, {.data = malloc(room * sizeof(double))}};
    bool *const absent = calloc((size_t)most, sizeof *absent);
    int *const states = calloc((size_t)most, sizeof *states);
    ctn_status status =
        slabs[0].data && slabs[1].data && absent && states ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory");
    d->missing = 0;
    for (int64_t first = 0; first < d->worlds && status == CTN_OK; first += most) {
        const world_block w = {d->first + first, d->worlds - first < most ? d->worlds - first : most, absent};
        status = find_absent(d, &w, absent, states, err);
        for (int64_t v = 0; v < w.count; v++) d->missing += absent[v];
        int64_t pair = 0;
        if (status == CTN_OK && x->kind == DIFF_TOTAL) status = compare_totals(d, x, &w, slabs, err);
        else if (status == CTN_OK && x->kind == DIFF_HASH) status = compare_hashes(d, x, &w, slabs, room, err);
        for (int k = 0; k < d->ncommon && status == CTN_OK && x->kind == DIFF_STATES; pair += d->common[k++].count)
            status = compare_stretch(d, x, &d->common[k], pair, &w, slabs, room, err);
    }
    free(slabs[0].data), free(slabs[1].data), free(absent), free(states);
    return status;
}

/// At which step and time a place is.
static ctn_status find_time(diff *d, const diff_quantity *x, diff_place *at, ctn_error *err)
{
    const double dt = d->from[0].cfg.dt;
    int64_t record = 0, pair = at->pair;
    if (x->kind == DIFF_HASH) {
        at->step = at->pair, at->time = (double)at->step * dt;
        return CTN_OK;
    }
    for (int k = 0; k < d->ncommon && pair >= 0; pair -= d->common[k++].count) record = d->common[k].a + pair * d->common[k].da;
    const ctn_status status = recorded_rows(&d->from[0], "time", H5T_NATIVE_DOUBLE, record, 1, 1, &at->time, err);
    at->step = llround(at->time / dt);
    return status;
}

int diff_numbers(diff *d)
{
    ctn_error err;
    if (!list_all(d)) return run_error("not enough memory");
    for (int k = 0; k < d->count; k++) {
        diff_quantity *const x = &d->list[k];
        ctn_status status = compare_quantity(d, x, &err);
        if (status == CTN_OK && x->differ) status = find_time(d, x, &x->first, &err);
        if (status == CTN_OK && x->differ) status = find_time(d, x, &x->largest, &err);
        if (status != CTN_OK) return status_error(&err, "");
    }
    int64_t compared = 0;
    for (int k = 0; k < d->count; k++) compared += d->list[k].compared;
    if (compared) return EXIT_OK;
    return usage_error("%s and %s have no %s", d->from[0].path, d->from[1].path,
                       d->missing == d->worlds ? "world in common that is done" : "quantity in common");
}

const diff_quantity *diff_first_number(const diff *d)
{
    const diff_quantity *first = NULL;
    for (int k = 0; k < d->count; k++) {
        const diff_quantity *const x = &d->list[k];
        if (x->differ && x->kind == DIFF_STATES && (!first || x->first.pair < first->first.pair)) first = x;
    }
    for (int k = 0; k < d->count && !first; k++)
        if (d->list[k].differ && d->list[k].kind == DIFF_TOTAL) first = &d->list[k];
    return first;
}

const diff_quantity *diff_first_hash(const diff *d)
{
    const diff_quantity *const number = diff_first_number(d);
    for (int k = 0; k < d->count; k++) {
        const diff_quantity *const x = &d->list[k];
        if (x->differ && x->kind == DIFF_HASH && (!number || x->first.step < number->first.step)) return x;
    }
    return NULL;
}
