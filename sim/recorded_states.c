/// A run is read a record at a time, a rollout as many as fit into memory.
#include "sim/recorded_states.h"

#include "sim/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Some records of all worlds, k among them, into memory: those from k on, or up to the one after k if that is before what is there.
static ctn_status read_window(recorded_states *s, int64_t k, ctn_error *err)
{
    const int64_t start = k < s->from_record ? (k + 2 > s->window ? k + 2 - s->window : 0) : k, left = s->count - start,
                  count = s->window < left ? s->window : left;
    const int64_t from[2] = {(int64_t)s->first, start}, block[2] = {(int64_t)s->worlds, count};
    s->held = 0;
    ctn_status status = CTN_OK;
    if (s->nq) status = recorded_block(s->from, "q", 2, from, block, s->all_q, err);
    if (status == CTN_OK && s->nv) status = recorded_block(s->from, "v", 2, from, block, s->all_v, err);
    if (status == CTN_OK) s->from_record = start, s->held = count;
    return status;
}

static ctn_status make_window(recorded_states *s, size_t most, ctn_error *err)
{
    const size_t record = s->worlds * (s->nq + s->nv) + 1, fit = most / record;
    s->window = fit < 2 ? 2 : fit < (size_t)s->count ? (int64_t)fit : s->count;
    s->all_q = malloc((s->worlds * (size_t)s->window * s->nq + 1) * sizeof *s->all_q);
    s->all_v = malloc((s->worlds * (size_t)s->window * s->nv + 1) * sizeof *s->all_v);
    return s->all_q && s->all_v
               ? CTN_OK
               : fail(err, CTN_NO_MEMORY, "%s: not enough memory for the states of %zu worlds", s->from->path, s->worlds);
}

ctn_status recorded_states_open(recorded_states *s, recorded *from, const ctn_model *model, int64_t first, int worlds,
                                size_t most, ctn_error *err)
{
    *s = (recorded_states){.from = from,
                           .nq = (size_t)ctn_model_nq(model),
                           .nv = (size_t)ctn_model_nv(model),
                           .first = (size_t)first,
                           .worlds = (size_t)worlds,
                           .count = recorded_count(from, "time")};
    if (!s->count) return fail(err, CTN_BAD_ARGUMENT, "%s: has no record yet", from->path);
    if ((s->nq && !recorded_count(from, "q")) || (s->nv && !recorded_count(from, "v")))
        return fail(err, CTN_BAD_ARGUMENT, "%s: has no states q and v to draw; make it with --keep q,v", from->path);
    const size_t wide = (size_t)from->cfg.worlds * (s->nq > s->nv ? s->nq : s->nv);
    s->times = malloc((size_t)s->count * sizeof *s->times), s->row = malloc(((from->rollout ? 0 : wide) + 1) * sizeof *s->row);
    s->until = malloc(s->worlds * sizeof *s->until), s->why = malloc(s->worlds * sizeof *s->why);
    if (!s->times || !s->row || !s->until || !s->why)
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", from->path);
    ctn_status status = recorded_rows(from, "time", H5T_NATIVE_DOUBLE, 0, s->count, 1, s->times, err);
    if (status == CTN_OK) status = recorded_ends(from, s->count, first, worlds, s->until, s->why, err);
    return status == CTN_OK && from->rollout ? make_window(s, most, err) : status;
}

void recorded_states_close(recorded_states *s)
{
    free(s->times), free(s->until), free(s->why), free(s->row), free(s->all_q), free(s->all_v);
    s->times = s->until = s->row = s->all_q = s->all_v = NULL, s->why = NULL;
}

ctn_status recorded_states_read(recorded_states *s, int64_t k, double *q, double *v, ctn_error *err)
{
    const struct {
        const char *name;
        double *to;
        const double *all;
        size_t n;
    } of[] = {{"q", q, s->all_q, s->nq}, {"v", v, s->all_v, s->nv}};
    if (s->from->rollout && (k < s->from_record || k >= s->from_record + s->held)) {
        const ctn_status status = read_window(s, k, err);
        if (status != CTN_OK) return status;
    }
    for (int i = 0; i < 2; i++) {
        const size_t n = of[i].n;
        if (!n) continue;
        for (size_t w = 0; w < s->worlds && s->from->rollout; w++)
            memcpy(of[i].to + w * n, of[i].all + (w * (size_t)s->held + (size_t)(k - s->from_record)) * n, n * sizeof *q);
        if (s->from->rollout) continue;
        const size_t wide = (size_t)s->from->cfg.worlds * n;
        const ctn_status status = recorded_rows(s->from, of[i].name, H5T_NATIVE_DOUBLE, k, 1, wide, s->row, err);
        if (status != CTN_OK) return status;
        memcpy(of[i].to, s->row + s->first * n, s->worlds * n * sizeof *q);
    }
    return CTN_OK;
}

bool recorded_state_stands(const double *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!isfinite(x[k])) return false;
    return true;
}
