/// Two states that are known, and what lies between: dense output of the step in hand, or cubic polynomials.
#include "cli/frames.h"

#include "cli/message.h"
#include "render/between.h"
#include "sim/device.h"
#include "sim/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t nq_of(const frames *f) { return (size_t)ctn_model_nq(f->s.model); }
static size_t nv_of(const frames *f) { return (size_t)ctn_model_nv(f->s.model); }

static int open_states(frames *f)
{
    double **const rows[] = {&f->q, &f->q0, &f->q1, &f->v, &f->v0, &f->v1};
    bool ok = true;
    for (int k = 0; k < 6; k++) ok = (*rows[k] = calloc((k < 3 ? nq_of(f) : nv_of(f)) + 1, sizeof **rows[k])) && ok;
    return ok ? EXIT_OK : run_error("not enough memory");
}

static void swap(frames *f)
{
    double *const q = f->q0, *const v = f->v0;
    f->q0 = f->q1, f->v0 = f->v1, f->q1 = q, f->v1 = v, f->t0 = f->t1;
}

// ---- a scene

static int open_scene(const arguments *args, frames *f)
{
    ctn_error err;
    int status = setup_open(args, &f->s);
    if (status != EXIT_OK) return status;
    f->end = ctn_scene_duration(f->s.scene);
    f->s.cfg.worlds = 1;
    f->s.cfg.dense = !f->s.cfg.adaptive && f->s.cfg.method != CTN_VARIATIONAL && !device_asked(f->s.cfg.engine);
    if (!(f->batch = ctn_batch_create(f->s.model, &f->s.cfg, &err))) return status_error(&err, "");
    if ((status = open_states(f)) != EXIT_OK) return status;
    ctn_batch_state(f->batch, f->q1, f->v1);
    return EXIT_OK;
}

static ctn_status step(frames *f, ctn_error *err)
{
    swap(f);
    const ctn_status status = ctn_batch_step(f->batch, 1, NULL, err);
    f->t1 = ctn_batch_time(f->batch, 0);
    ctn_batch_state(f->batch, f->q1, f->v1);
    return status == CTN_NOT_CONVERGED ? CTN_OK : status;
}

// ---- a recording

/// Record k, into q1 and v1.
static ctn_status read_record(frames *f, int64_t k, ctn_error *err)
{
    const size_t worlds = (size_t)f->s.cfg.worlds, w = (size_t)f->world;
    const struct {
        const char *name;
        double *to;
        const double *all;
        size_t n;
    } of[] = {{"q", f->q1, f->all_q, nq_of(f)}, {"v", f->v1, f->all_v, nv_of(f)}};
    f->t1 = f->times[k];
    for (int i = 0; i < 2; i++) {
        const size_t n = of[i].n;
        if (!n) continue;
        if (!of[i].all) {
            const ctn_status status = recorded_rows(&f->from, of[i].name, H5T_NATIVE_DOUBLE, k, 1, worlds * n, f->rows, err);
            if (status != CTN_OK) return status;
        }
        memcpy(of[i].to, of[i].all ? of[i].all + (size_t)k * n : f->rows + w * n, n * sizeof(double));
        for (size_t j = 0; j < n; j++)
            if (!isfinite(of[i].to[j])) return fail(err, CTN_FROZEN, "world %ld has no state at %g s", f->world, f->t1);
    }
    return CTN_OK;
}

static ctn_status read_world(frames *f, ctn_error *err)
{
    const size_t n = (size_t)f->count;
    f->all_q = malloc((n * nq_of(f) + 1) * sizeof *f->all_q), f->all_v = malloc((n * nv_of(f) + 1) * sizeof *f->all_v);
    if (!f->all_q || !f->all_v) return fail(err, CTN_NO_MEMORY, "%s: not enough memory for world %ld", f->from.path, f->world);
    ctn_status status = recorded_rows(&f->from, "q", H5T_NATIVE_DOUBLE, f->world, 1, n * nq_of(f), f->all_q, err);
    if (status == CTN_OK) status = recorded_rows(&f->from, "v", H5T_NATIVE_DOUBLE, f->world, 1, n * nv_of(f), f->all_v, err);
    return status;
}

static int open_recording(const arguments *args, frames *f)
{
    ctn_error err;
    f->recording = true;
    for (int o = 0; o < OPTIONS; o++)
        if (TAKES_METHOD & TAKES(o) && args->value[o])
            return usage_error("%s is for scenes; %s is drawn as it was recorded", option_name((enum option_id)o),
                               args->files[0]);
    const ctn_status opened = recorded_open(&f->from, args->files[0], &err);
    f->s = (setup){.path = args->files[0], .scene = f->from.scene, .cfg = f->from.cfg};
    if (opened != CTN_OK) return status_error(&err, "");
    if (!(f->s.model = ctn_model_create(f->s.scene, &err))) return status_error(&err, "");
    if (f->world >= f->s.cfg.worlds)
        return usage_error("--world: %s has %d worlds, from 0 on, found %ld", args->files[0], f->s.cfg.worlds, f->world);
    f->count = recorded_count(&f->from, "time");
    if (!f->count) return usage_error("%s: has no record yet", args->files[0]);
    const size_t most = (size_t)f->s.cfg.worlds * (nq_of(f) > nv_of(f) ? nq_of(f) : nv_of(f)) + 1;
    f->times = malloc((size_t)f->count * sizeof *f->times), f->rows = f->from.rollout ? NULL : malloc(most * sizeof *f->rows);
    if (!f->times || (!f->rows && !f->from.rollout)) return run_error("not enough memory");
    const int status = open_states(f);
    if (status != EXIT_OK) return status;
    if (recorded_rows(&f->from, "time", H5T_NATIVE_DOUBLE, 0, f->count, 1, f->times, &err) != CTN_OK ||
        (f->from.rollout && read_world(f, &err) != CTN_OK) || read_record(f, 0, &err) != CTN_OK)
        return status_error(&err, ""), EXIT_RUN;
    f->next = 1, f->t0 = f->t1, f->end = f->times[f->count - 1];
    return EXIT_OK;
}

// ---- either

int frames_open(const arguments *args, frames *f)
{
    *f = (frames){.from = {.file = -1}, .world = 0};
    if (!whole_option(args, OPT_WORLD, 0, 2147483647, &f->world)) return EXIT_USAGE;
    const bool recording = named_hdf5(args->files[0]);
    if (!recording && args->value[OPT_WORLD])
        return usage_error("--world chooses one of a recording; %s is a scene", args->files[0]);
    return recording ? open_recording(args, f) : open_scene(args, f);
}

void frames_close(frames *f)
{
    ctn_batch_free(f->batch);
    free(f->q), free(f->v), free(f->q0), free(f->v0), free(f->q1), free(f->v1);
    free(f->times), free(f->rows), free(f->all_q), free(f->all_v);
    if (f->recording) recorded_close(&f->from);
    setup_close(&f->s);
}

ctn_status frames_at(frames *f, double t, ctn_error *err)
{
    const double slack = 1e-9 * f->s.cfg.dt;
    while (f->t1 < t - slack) {
        if (f->recording && f->next >= f->count) return fail(err, CTN_BAD_ARGUMENT, "%s: ends at %g s", f->from.path, f->t1);
        if (f->recording) swap(f);
        const ctn_status status = f->recording ? read_record(f, f->next++, err) : step(f, err);
        if (status != CTN_OK) return status;
    }
    const double h = f->t1 - f->t0, share = h > 0 ? (t - f->t0) / h : 1;
    if (share >= 1 - 1e-9) memcpy(f->q, f->q1, nq_of(f) * sizeof *f->q), memcpy(f->v, f->v1, nv_of(f) * sizeof *f->v);
    else if (!f->s.cfg.dense || f->recording || ctn_batch_dense(f->batch, share, f->q, f->v, NULL, err) != CTN_OK) {
        state_between(f->s.model, h, f->q0, f->v0, f->q1, f->v1, share, f->q);
        for (size_t k = 0; k < nv_of(f); k++) f->v[k] = f->v0[k] + share * (f->v1[k] - f->v0[k]);
    }
    return CTN_OK;
}
