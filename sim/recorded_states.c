/// A run is read a record at a time, a rollout as a whole.
#include "sim/recorded_states.h"

#include "sim/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ctn_status read_trajectories(recorded_states *s, size_t most, ctn_error *err)
{
    const size_t q = (size_t)s->count * s->nq, v = (size_t)s->count * s->nv;
    const int64_t first = (int64_t)s->first, worlds = (int64_t)s->worlds;
    if (most && s->worlds * (q + v) > most)
        return fail(
            err, CTN_NO_MEMORY,
            "%s: its states take %.1f GB of memory, more than the %.1f GB that are allowed; catena render --world draws some",
            s->from->path, 8e-9 * (double)s->worlds * (double)(q + v), 8e-9 * (double)most);
    s->all_q = malloc((s->worlds * q + 1) * sizeof *s->all_q), s->all_v = malloc((s->worlds * v + 1) * sizeof *s->all_v);
    if (!s->all_q || !s->all_v)
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory for the states of %zu worlds", s->from->path, s->worlds);
    ctn_status status = recorded_rows(s->from, "q", H5T_NATIVE_DOUBLE, first, worlds, q, s->all_q, err);
    if (status == CTN_OK && v) status = recorded_rows(s->from, "v", H5T_NATIVE_DOUBLE, first, worlds, v, s->all_v, err);
    return status;
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
    const size_t wide = (size_t)from->cfg.worlds * (s->nq > s->nv ? s->nq : s->nv);
    s->times = malloc((size_t)s->count * sizeof *s->times), s->row = malloc(((from->rollout ? 0 : wide) + 1) * sizeof *s->row);
    s->until = malloc(s->worlds * sizeof *s->until), s->why = malloc(s->worlds * sizeof *s->why);
    if (!s->times || !s->row || !s->until || !s->why)
        return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", from->path);
    ctn_status status = recorded_rows(from, "time", H5T_NATIVE_DOUBLE, 0, s->count, 1, s->times, err);
    if (status == CTN_OK) status = recorded_ends(from, s->count, first, worlds, s->until, s->why, err);
    return status == CTN_OK && from->rollout ? read_trajectories(s, most, err) : status;
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
    for (int i = 0; i < 2; i++) {
        const size_t n = of[i].n;
        if (!n) continue;
        for (size_t w = 0; w < s->worlds && s->from->rollout; w++)
            memcpy(of[i].to + w * n, of[i].all + (w * (size_t)s->count + (size_t)k) * n, n * sizeof *q);
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
