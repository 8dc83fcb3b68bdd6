/// A run is read a record at a time, a rollout as many as fit into memory.
#include "sim/record/recorded_states.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/spatial.h"
#include "dynamics/quaternion.h"
#include "sim/model/model.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Some records of all worlds, low .. high (at most three) among them, into memory: those from low on, or up to high if they are
/// before what is there.
static ctn_status read_window(recorded_states *s, int64_t low, int64_t high, ctn_error *err)
{
    if (low >= s->from_record && high < s->from_record + s->held) return CTN_OK;
    const int64_t start = low < s->from_record ? (high + 1 > s->window ? high + 1 - s->window : 0) : low, left = s->count - start,
                  count = s->window < left ? s->window : left;
    const int64_t from[2] = {(int64_t)s->first, start}, block[2] = {(int64_t)s->worlds, count};
    s->held = 0;
    ctn_status status = CTN_OK;
    if (s->nq) status = recorded_block(s->from, "q", 2, from, block, s->nq, s->all_q, err);
    if (status == CTN_OK && s->nv && !s->no_rates) status = recorded_block(s->from, "v", 2, from, block, s->nv, s->all_v, err);
    if (status == CTN_OK) s->from_record = start, s->held = count;
    return status;
}

static ctn_status make_window(recorded_states *s, size_t most, ctn_error *err)
{
    const size_t record = s->worlds * (s->nq + s->nv) + 1, fit = most / record;
    s->window = fit < 3 ? 3 : fit < (size_t)s->count ? (int64_t)fit : s->count;
    s->all_q = malloc((s->worlds * (size_t)s->window * s->nq + 1) * sizeof *s->all_q);
    s->all_v = malloc((s->worlds * (size_t)s->window * s->nv + 1) * sizeof *s->all_v);
    return s->all_q && s->all_v ? CTN_OK
                                : fail(err, CTN_NO_MEMORY, "%s: not enough memory for the states of %zu world%s", s->from->path,
                                       s->worlds, plural((long long)s->worlds));
}

ctn_status recorded_states_open(recorded_states *s, recorded *from, const ctn_model *model, int64_t first, int worlds,
                                size_t most, ctn_error *err)
{
    *s = (recorded_states){.from = from,
                           .nq = (size_t)ctn_model_nq(model),
                           .nv = (size_t)ctn_model_nv(model),
                           .first = (size_t)first,
                           .worlds = (size_t)worlds,
                           .count = recorded_count(from, "time"),
                           .model = model};
    if (!s->count) return fail(err, CTN_BAD_ARGUMENT, "%s: has no record yet", from->path);
    s->no_rates = s->nv && !recorded_count(from, "v");
    if ((s->nq && !recorded_count(from, "q")) || (s->no_rates && !from->rollout))
        return fail(err, CTN_BAD_ARGUMENT, "%s: has no states to draw; make it with --keep q,v, or q alone", from->path);
    const size_t wide = (size_t)from->cfg.worlds * (s->nq > s->nv ? s->nq : s->nv);
    s->times = malloc((size_t)s->count * sizeof *s->times), s->row = malloc(((from->rollout ? 0 : wide) + 1) * sizeof *s->row);
    s->until = malloc(s->worlds * sizeof *s->until), s->why = malloc(s->worlds * sizeof *s->why);
    if (!s->times || !s->row || !s->until || !s->why)
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", from->path);
    ctn_status status = recorded_times(from, s->count, s->times, err);
    if (status == CTN_OK) status = recorded_ends(from, s->count, first, worlds, s->until, s->why, err);
    return status == CTN_OK && from->rollout ? make_window(s, most, err) : status;
}

void recorded_states_close(recorded_states *s)
{
    free(s->times), free(s->until), free(s->why), free(s->row), free(s->all_q), free(s->all_v);
    s->times = s->until = s->row = s->all_q = s->all_v = NULL, s->why = NULL;
}

// ---- a record

static const double *held_row(const recorded_states *s, const double *all, size_t n, size_t world, int64_t k)
{
    return all + (world * (size_t)s->held + (size_t)(k - s->from_record)) * n;
}

/// The constant velocities that take coordinates a to b in h seconds; of balls (a is a unit quaternion) log(a^-1 b) / h, in link
/// axes.
static void find_rates(const ctn_model *model, const double *a, const double *b, double h, double *v)
{
    for (int i = 0; i < ctn_model_nlink(model); i++) {
        const ctn_link *const l = ctn_model_link(model, i);
        const int plain = link_quaternion(l);
        for (int k = 0; k < plain; k++) v[l->vadr + k] = (b[l->qadr + k] - a[l->qadr + k]) / h;
        if (plain == l->nq) continue;
        const quat from = quat_load(a + l->qadr + plain), to = quat_load(b + l->qadr + plain);
        const vec3 turn = scale(quat_log(quat_mul(quat_conjugate(from), to)), 1 / h);
        v[l->vadr + plain] = turn.x, v[l->vadr + plain + 1] = turn.y, v[l->vadr + plain + 2] = turn.z;
    }
}

/// Velocities of record k by the records low and high about it that have states. At rest if there are none, or it has frozen.
static void guess_rates(const recorded_states *s, int64_t low, int64_t k, int64_t high, size_t w, double *v)
{
    const double *a = held_row(s, s->all_q, s->nq, w, low),
                 *b = held_row(s, s->all_q, s->nq, w, high), *const here = held_row(s, s->all_q, s->nq, w, k);
    if (!recorded_state_stands(a, s->nq)) low = k, a = here;
    if (!recorded_state_stands(b, s->nq)) high = k, b = here;
    const double h = fmin(s->times[high], s->until[w]) - fmin(s->times[low], s->until[w]);
    memset(v, 0, s->nv * sizeof *v);
    if (h > 0) find_rates(s->model, a, b, h, v);
}

static ctn_status read_rollout(recorded_states *s, int64_t k, double *q, double *v, ctn_error *err)
{
    const int64_t low = s->no_rates && k > 0 ? k - 1 : k, high = s->no_rates && k + 1 < s->count ? k + 1 : k;
    const ctn_status status = read_window(s, low, high, err);
    for (size_t w = 0; w < s->worlds && status == CTN_OK; w++) {
        memcpy(q + w * s->nq, held_row(s, s->all_q, s->nq, w, k), s->nq * sizeof *q);
        if (s->no_rates) guess_rates(s, low, k, high, w, v + w * s->nv);
        else memcpy(v + w * s->nv, held_row(s, s->all_v, s->nv, w, k), s->nv * sizeof *v);
    }
    return status;
}

static ctn_status read_run(recorded_states *s, const char *name, int64_t k, size_t n, double *to, ctn_error *err)
{
    if (!n) return CTN_OK;
    const ctn_status status = recorded_rows(s->from, name, H5T_NATIVE_DOUBLE, k, 1, (size_t)s->from->cfg.worlds * n, s->row, err);
    if (status == CTN_OK) memcpy(to, s->row + s->first * n, s->worlds * n * sizeof *to);
    return status;
}

ctn_status recorded_states_read(recorded_states *s, int64_t k, double *q, double *v, ctn_error *err)
{
    if (s->from->rollout) return read_rollout(s, k, q, v, err);
    const ctn_status status = read_run(s, "q", k, s->nq, q, err);
    return status == CTN_OK ? read_run(s, "v", k, s->nv, v, err) : status;
}

ctn_status recorded_states_contacts(recorded_states *s, int64_t k, double *contacts, ctn_error *err)
{
    const bool rollout = s->from->rollout;
    const int64_t first = (int64_t)s->first, worlds = (int64_t)s->worlds, start[2] = {rollout ? first : k, rollout ? k : first},
                  block[2] = {rollout ? worlds : 1, rollout ? 1 : worlds};
    const size_t width = (size_t)ctn_model_ncontact(s->model) * CTN_CONTACT_NUMBERS;
    return recorded_block(s->from, "contacts", 2, start, block, width, contacts, err);
}

bool recorded_state_stands(const double *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!isfinite(x[k])) return false;
    return true;
}
