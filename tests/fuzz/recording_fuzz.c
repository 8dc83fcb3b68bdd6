/// Fuzzing of the readers of recordings and tables: any bytes give numbers that can all be read, or an error that names the file,
/// never a crash. Built with libFuzzer (CATENA_FUZZ), or with tests/fuzz/replay.c, which runs tests/fuzz/recordings through it.
#include "sim/record/hdf5_table.h"
#include "sim/record/recorded_states.h"
#include "sim/scene/scene.h"
#include "sim/record/trajectories.h"
#include "tests/fuzz/claim.h"

#include <catena/catena.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern int recordings_read;
int recordings_read;  // to their ends, so far

enum { MOST_WORLDS = 1000, MOST_RECORDS = 1000 };  // that are read: more of them are only slower

static void check_error(const char *path, ctn_status status, const ctn_error *err)
{
    claim(status == CTN_IO || status == CTN_BAD_ARGUMENT || status == CTN_BAD_SCENE || status == CTN_BAD_CONFIG ||
          status == CTN_NO_MEMORY || status == CTN_UNAVAILABLE);
    claim(err->status == status && *err->message && memchr(err->message, 0, sizeof err->message));
    claim(status != CTN_IO || strstr(err->message, path) != NULL);
}

/// All states of one world, and all numbers of all worlds by record.
static void read_states(recorded *r, const ctn_model *model, const char *path)
{
    ctn_error err;
    recorded_states s;
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model), worlds = (size_t)r->cfg.worlds;
    double *const q = malloc((nq + 1) * sizeof *q), *const v = malloc((nv + 1) * sizeof *v),
                  *const all = malloc(worlds * sizeof *all);
    claim(q && v && all);
    ctn_status status = recorded_states_open(&s, r, model, (int64_t)worlds - 1, 1, 1 << 16, &err);
    for (int64_t k = 0; status == CTN_OK && k < s.count && k < MOST_RECORDS; k++) {
        claim(isfinite(s.times[k]) && (!k || s.times[k] >= s.times[k - 1]));
        status = recorded_states_read(&s, k, q, v, &err);
        for (int m = 0; m < FIRST_MEMBERS && status == CTN_OK && !r->rollout; m++)
            status = recorded_rows(r, record_members[m].name, H5T_NATIVE_DOUBLE, k, 1, worlds, all, &err);
    }
    if (status != CTN_OK) check_error(path, status, &err);
    else recordings_read++;
    recorded_states_close(&s);
    free(q), free(v), free(all);
}

static void read_recording(const char *path)
{
    ctn_error err;
    recorded r;
    ctn_status status = recorded_open(&r, path, &err);
    if (status == CTN_OK) status = recorded_check_parts(&r, &err);
    ctn_model *const model = status == CTN_OK ? ctn_model_create(r.scene, &err) : NULL;
    if (status == CTN_OK && !model) status = err.status;
    if (status != CTN_OK) check_error(path, status, &err);
    if (model && r.cfg.worlds <= MOST_WORLDS) read_states(&r, model, path);
    ctn_model_free(model);
    ctn_scene_free(r.scene);
    recorded_close(&r);
}

/// As --starts reads them: `width` numbers in each last dimension.
static void read_table(const char *path, const char *name, int width)
{
    ctn_error err;
    hdf5_table *t;
    double x[8];
    char *texts = NULL;
    int64_t count;
    size_t size;
    ctn_status status = hdf5_table_open(path, name, width, "[world][n]", &t, &err);
    const int rank = t ? hdf5_table_rank(t) : 0;
    for (int64_t k = 0; t && status == CTN_OK && k < hdf5_table_size(t, 0) && k < MOST_RECORDS; k++) {
        int64_t start[TABLE_RANK] = {k}, block[TABLE_RANK] = {1, 1, 1};
        block[rank - 1] = width;
        if (rank == 3 && hdf5_table_size(t, 1) == 0) break;
        status = hdf5_table_read(t, start, block, x, &err);
        for (int i = 0; i < width && status == CTN_OK; i++) claim(isfinite(x[i]));
    }
    if (status != CTN_OK) check_error(path, status, &err);
    if (t && hdf5_table_texts(t, "model/q_name", &texts, &count, &size, &err) != CTN_OK) check_error(path, err.status, &err);
    free(texts);
    hdf5_table_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int begun;
    if (!begun++) hdf5_end_quietly();
    char path[] = "/tmp/recording-XXXXXX";  // HDF5 wants a name
    const int fd = mkstemp(path);
    claim(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    read_recording(path);
    read_table(path, "q", 2), read_table(path, "tau", 1);
    unlink(path);
    return 0;
}
