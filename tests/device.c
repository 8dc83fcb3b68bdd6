/// The engine "cuda": the bits of the CPU's, on a GPU or, where CTN_CUDA_LIBRARY names it, through its twin
/// (tests/device_twin.cpp); states and forces in its memory; what it refuses. (tests/worlds.c and other tests of batches run on
/// it, too.)
#include "sim/batch/batch.h"
#include "sim/engine/device.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 19 };

static const struct {
    ctn_method method;
    int number;  // order or stages
    double dt;
    bool adaptive;
    ctn_solver solver;
    ctn_schedule schedule;
} methods[] = {
    {CTN_EULER, 0, 1e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_SEMI_IMPLICIT, 0, 1e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_RK2, 0, 2e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_RK3, 0, 2e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_RK4, 0, 2e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_DOP853, 0, 4e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_DOP853, 0, 0.04, true, CTN_NEWTON, CTN_BY_STEP},
    {CTN_COLLOCATION, 2, 0.02, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_COLLOCATION, 2, 0.2, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_COLLOCATION, 2, 0.2, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_COLLOCATION, 3, 2e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_COLLOCATION, 6, 2e-3, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_COLLOCATION, 2, 0.02, false, CTN_LM, CTN_BY_STEP},
    {CTN_RADAU, 1, 0.05, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_RADAU, 2, 0.2, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_RADAU, 2, 0.2, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_RADAU, 2, 0.02, false, CTN_LBFGS, CTN_BY_STEP},
    {CTN_RADAU, 3, 0.05, true, CTN_NEWTON, CTN_BY_STEP},
    {CTN_RADAU, 4, 0.02, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_VARIATIONAL, 2, 0.01, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_VARIATIONAL, 4, 0.01, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_ALPHA, 0, 0.02, false, CTN_NEWTON, CTN_BY_ITERATION},
    {CTN_ALPHA, 0, 0.2, false, CTN_NEWTON, CTN_BY_STEP},
    {CTN_ALPHA, 0, 0.05, true, CTN_NEWTON, CTN_BY_STEP},
};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_batch_config config_of(int k, const char *engine)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = methods[k].dt, cfg.adaptive = methods[k].adaptive, cfg.solver = methods[k].solver;
    cfg.schedule = methods[k].schedule, cfg.worlds = WORLDS, cfg.engine = engine;
    if (methods[k].number) cfg.order = cfg.stages = methods[k].number;
    if (cfg.method == CTN_RADAU) cfg.order = 2;
    else cfg.stages = 2;
    return cfg;
}

/// NaNs are equal: which one it is depends on the machine.
static void same(const void *got_, const void *want_, size_t size, int method, const char *what)
{
    const double *const got = got_, *const want = want_;
    for (size_t k = 0; k < size / sizeof *got; k++)
        ck_assert_msg(!memcmp(got + k, want + k, sizeof *got) || (isnan(got[k]) && isnan(want[k])),
                      "method %d: %s: number %zu is %.17g, not %.17g", method, what, k, got[k], want[k]);
}

/// All that two batches tell of their worlds.
static void same_batches(ctn_batch *got, ctn_batch *want, int method, const char *what)
{
    const ctn_model *const m = ctn_batch_model(got);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), size = ctn_batch_saved_size(want);
    ck_assert_uint_eq(ctn_batch_saved_size(got), size);
    uint64_t hash[2][WORLDS];
    char *const saved[] = {malloc(size), malloc(size)};
    double *const x[] = {malloc(WORLDS * (nq + nv) * sizeof(double)), malloc(WORLDS * (nq + nv) * sizeof(double))};
    ctn_totals totals[2][WORLDS];
    ctn_batch *const of[] = {got, want};
    for (int k = 0; k < 2; k++) {
        ctn_batch_save(of[k], saved[k]);
        ctn_batch_state(of[k], x[k], x[k] + WORLDS * nq);
        ctn_batch_totals(of[k], totals[k]);
        ctn_batch_hashes(of[k], hash[k]);
    }
    same(saved[0], saved[1], size, method, what);
    if (!memcmp(saved[0], saved[1], size)) ck_assert(!memcmp(hash[0], hash[1], sizeof hash[0]));
    same(x[0], x[1], WORLDS * (nq + nv) * sizeof(double), method, what);
    same(totals[0], totals[1], sizeof totals[0], method, what);
    for (int w = 0; w < WORLDS; w++) ck_assert(ctn_batch_time(got, w) == ctn_batch_time(want, w));
    for (int k = 0; k < 2; k++) free(saved[k]), free(x[k]);
}

/// Steps with and without forces and statistics, saved and restored, a world that freezes: as on the CPU.
START_TEST(bits_are_the_cpu_s)
{
    const random_options o = {
        .links = 5 + _i % 3,
        .passive = methods[_i].method != CTN_VARIATIONAL,
        .springs = (methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2) || methods[_i].solver != CTN_NEWTON ? 0 : 2,
        .wrenches = (methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2) || methods[_i].solver != CTN_NEWTON ? 0 : 2,
        .motors = _i % 4,
        .fluid = _i % 2 && methods[_i].solver == CTN_NEWTON && methods[_i].method != CTN_VARIATIONAL &&
                 !(methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2),
        .stream = _i % 4 == 1,
        .winding = _i % 2,
        .speeds = _i % 3 != 0,
        .friction = methods[_i].method != CTN_VARIATIONAL && !(methods[_i].method == CTN_COLLOCATION && methods[_i].number > 2),
        .plain_springs = methods[_i].method == CTN_VARIATIONAL};
    ctn_model *const m = random_model(900 + (uint64_t)_i, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = calloc(WORLDS * nq, sizeof *q), *const v = calloc(WORLDS * nv, sizeof *v),
                  *const tau = calloc(WORLDS * nv, sizeof *tau);
    rng r = {77 + (uint64_t)_i};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    for (size_t k = 0; k < WORLDS * nv; k++) tau[k] = rng_uniform(&r, -2, 2);
    for (size_t k = 0; k < nv; k++) v[3 * nv + k] = 1e200;
    const ctn_batch_config on_gpu = config_of(_i, "cuda"), on_cpu = config_of(_i, "scalar");
    ctn_batch *gpu = batch_with(m, &on_gpu), *const cpu = batch_with(m, &on_cpu), *const of[] = {gpu, cpu};
    ctn_step_stats stats[2][WORLDS];
    ctn_error err[2];
    ctn_status status[2];
    int frozen = 0, running = 0;
    ck_assert_str_eq(ctn_batch_configuration(gpu)->engine, "cuda");
    ck_assert_int_eq(ctn_batch_configuration(gpu)->threads, 1);
    same_batches(gpu, cpu, _i, "at the start");
    for (int phase = 0; phase < 4; phase++) {
        for (int k = 0; k < 2; k++) {
            if (phase == 0) ck_assert(ctn_batch_set_state(of[k], q, v, 0.5, NULL) == CTN_OK);
            if (phase == 1) ctn_batch_set_force(of[k], tau);
            if (phase == 3) ctn_batch_set_force(of[k], NULL);
            err[k].message[0] = 0;
            status[k] = ctn_batch_step(of[k], 1 + 3 * phase, phase == 2 ? NULL : stats[k], &err[k]);
        }
        ck_assert_int_eq(status[0], status[1]);
        ck_assert_str_eq(err[0].message, err[1].message);
        same_batches(gpu, cpu, _i, "stepped");
        if (phase != 2) same(stats[0], stats[1], sizeof stats[0], _i, "statistics");
    }
    for (int w = 0; w < WORLDS; w++) *(stats[0][w].frozen ? &frozen : &running) += 1;
    ck_assert_msg(frozen > 0 && running > 0, "method %d: %d worlds frozen, %d running", _i, frozen, running);

    // what a CPU has saved goes on on the GPU
    const size_t size = ctn_batch_saved_size(cpu);
    char *const saved = malloc(size);
    ctn_batch_save(cpu, saved);
    ctn_batch_free(gpu);
    gpu = batch_with(m, &on_gpu);
    ck_assert_int_eq(ctn_batch_restore(gpu, saved, size, NULL), CTN_OK);
    ctn_batch_step(gpu, 3, stats[0], NULL), ctn_batch_step(cpu, 3, stats[1], NULL);
    same_batches(gpu, cpu, _i, "restored");
    same(stats[0], stats[1], sizeof stats[0], _i, "statistics");
    ctn_batch_free(gpu), ctn_batch_free(cpu), ctn_model_free(m);
    free(q), free(v), free(tau), free(saved);
}
END_TEST

/// Bodies that fall, roll and come to rest on the ground, with friction in their joints: as on the CPU.
START_TEST(on_the_ground)
{
    static const ctn_method ways[] = {CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU};
    ctn_model *const m = model_of(
        "catena: 1\nground: {normal: [0.1, 0, 1]}\nlinks:\n"
        "  - {name: a, joint: free, density: 500, shapes: [{type: box, size: [0.3, 0.2, 0.1]}]}\n"
        "  - {name: b, parent: a, position: [0.2, 0, 0], joint: {type: revolute, axis: [0, 1, 0], friction: 0.1}, density: 500,\n"
        "     shapes: [{type: capsule, from: [0, 0, 0], to: [0.3, 0, 0], radius: 0.05}]}\n"
        "  - {name: c, parent: b, position: [0.3, 0, 0], joint: ball, density: 500, shapes: [{type: sphere, radius: 0.1}]}\n");
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = calloc(WORLDS * nq, sizeof *q), *const v = calloc(WORLDS * nv, sizeof *v);
    uint64_t hash[2][WORLDS], start[WORLDS];
    rng r = {11};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv), q[w * nq + 2] = 0.6;
    for (int k = 0; k < 2; k++) {
        ctn_batch_config cfg = ctn_batch_config_default();
        cfg.method = ways[_i], cfg.order = 2, cfg.stages = 2, cfg.dt = 0.02, cfg.worlds = WORLDS, cfg.engine = k ? "cuda" : "scalar";
        ctn_batch *const b = batch_with(m, &cfg);
        ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
        ctn_batch_hashes(b, start);
        ctn_batch_step(b, 60, NULL, NULL);
        ctn_batch_hashes(b, hash[k]);
        ctn_batch_free(b);
    }
    for (int w = 0; w < WORLDS; w++)
        ck_assert_msg(hash[0][w] == hash[1][w] && hash[0][w] != start[w], "method %d, world %d: other bits", (int)ways[_i], w);
    free(q), free(v), ctn_model_free(m);
}
END_TEST

/// States and forces that never leave the device.
START_TEST(device_memory)
{
    const random_options o = {.links = 6, .passive = true, .motors = 3};
    ctn_model *const m = random_model(31, &o);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m),
                 sizes[] = {WORLDS * nq * sizeof(double), WORLDS * nv * sizeof(double)};
    double *const q = calloc(WORLDS, nq * sizeof *q), *const v = calloc(WORLDS, nv * sizeof *v),
                  *const tau = calloc(WORLDS, nv * sizeof *tau);
    double *const q1 = calloc(WORLDS, nq * sizeof *q), *const v1 = calloc(WORLDS, nv * sizeof *v);
    rng r = {5};
    for (size_t w = 0; w < WORLDS; w++) random_state(m, &r, q + w * nq, v + w * nv);
    for (size_t k = 0; k < WORLDS * nv; k++) tau[k] = rng_uniform(&r, -2, 2);
    const ctn_batch_config on_gpu = config_of(7, "cuda"), on_cpu = config_of(7, "scalar");
    ctn_batch *const gpu = batch_with(m, &on_gpu), *const cpu = batch_with(m, &on_cpu);
    ctn_error err;
    double *const dq = ctn_batch_device_allocate(gpu, sizes[0], &err), *const dv = ctn_batch_device_allocate(gpu, sizes[1], &err);
    ck_assert(dq && dv);
    ck_assert_int_eq(ctn_batch_device_write(gpu, dq, q, sizes[0], &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_write(gpu, dv, v, sizes[1], &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_stream(gpu, NULL, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_set_state(gpu, dq, dv, 2, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_write(gpu, dv, tau, sizes[1], &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_set_force(gpu, dv, &err), CTN_OK);
    ctn_batch_set_state(cpu, q, v, 2, &err);
    ctn_batch_set_force(cpu, tau);
    ctn_batch_step(gpu, 5, NULL, NULL), ctn_batch_step(cpu, 5, NULL, NULL);
    same_batches(gpu, cpu, 7, "device memory");
    ck_assert_int_eq(ctn_batch_device_set_force(gpu, NULL, &err), CTN_OK);
    ctn_batch_set_force(cpu, NULL);
    ctn_batch_step(gpu, 5, NULL, NULL), ctn_batch_step(cpu, 5, NULL, NULL);
    ck_assert_int_eq(ctn_batch_device_state(gpu, dq, dv, &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_read(gpu, q1, dq, sizes[0], &err), CTN_OK);
    ck_assert_int_eq(ctn_batch_device_read(gpu, v1, dv, sizes[1], &err), CTN_OK);
    ctn_batch_state(cpu, q, v);
    same(q1, q, sizes[0], 7, "q"), same(v1, v, sizes[1], 7, "v");

    // what it refuses
    ck_assert_int_eq(ctn_batch_device_set_state(gpu, q, dv, 2, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "q: expected a pointer into the memory of the engine's device");
    ck_assert_int_eq(ctn_batch_device_state(gpu, NULL, v, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_batch_device_set_force(gpu, tau, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_batch_device_set_state(gpu, dq, dv, NAN, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_batch_device_write(gpu, q1, q, 8, &err), CTN_BAD_ARGUMENT);
    same_batches(gpu, cpu, 7, "after what was refused");
    ck_assert_int_eq(ctn_batch_device_state(cpu, dq, dv, &err), CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "the engine 'scalar' has no memory of its own; make the batch with engine 'cuda'"), "%s",
                  err.message);
    ck_assert_ptr_null(ctn_batch_device_allocate(cpu, 8, &err));
    ctn_batch_device_free(gpu, dq), ctn_batch_device_free(gpu, dv), ctn_batch_device_free(cpu, NULL);
    ctn_batch_free(gpu), ctn_batch_free(cpu), ctn_model_free(m);
    free(q), free(v), free(tau), free(q1), free(v1);
}
END_TEST

/// What the batch says about itself, and models too large for a thread.
START_TEST(limits)
{
    const random_options large = {.links = 300, .chain = true};
    ctn_model *const m = random_model(3, &large);
    ctn_batch_config cfg = config_of(14, "cuda");
    ctn_error err;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "engine: 'cuda' has 256 KiB for the work on a world, but this model needs ") &&
                      strstr(err.message, " KiB with its method; take 'auto', or parallel: both with alpha, radau or collocation of order 2, or a "),
                  "%s", err.message);
    cfg = config_of(1, "cuda"), cfg.dense = true;
    ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
    ck_assert_str_eq(err.message, "dense: the engine 'cuda' has no dense output; take 'scalar' or 'avx2'");
    ctn_model_free(m);

    const random_options o = {.links = 3};
    ctn_model *const small = random_model(3, &o);
    cfg = config_of(7, "cuda");
    ctn_batch *b = batch_with(small, &cfg);
    const size_t bytes = ctn_batch_bytes(b);
    ck_assert_double_nan(ctn_batch_occupancy(b));
    ctn_batch_free(b);
    cfg.worlds *= 2;
    b = batch_with(small, &cfg);
    const size_t more = ctn_batch_bytes(b) - bytes;
    ck_assert_msg(more > WORLDS * ctn_batch_saved_size(b) / (2 * WORLDS + 1), "%zu bytes for %d worlds more", more, WORLDS);
    ctn_batch_free(b), ctn_model_free(small);
}
END_TEST

static ctn_status no_totals(device_worlds *d, ctn_totals *totals, ctn_error *err)
{
    (void)d, (void)totals;
    snprintf(err->message, sizeof err->message, "no totals");
    return err->status = CTN_NO_MEMORY;
}

static ctn_status no_states(device_worlds *d, int first, int count, bool load, double *flat, ctn_error *err)
{
    (void)d, (void)first, (void)count, (void)load, (void)flat;
    snprintf(err->message, sizeof err->message, "no states");
    return err->status = CTN_UNAVAILABLE;
}

/// A kernel of the twin that touches the host's memory ends the process: pointers that a GPU could not follow are found without one.
START_TEST(host_memory)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    static const char *const places[] = {"heap", "stack", "program"};
    const char *const library = getenv("CTN_CUDA_LIBRARY"), *const forks = getenv("CK_FORK");
    if (!library || !strstr(library, "twin") || (forks && !strcmp(forks, "no"))) return;  // a fork of what has opened it cannot use it
    const pid_t child = fork();
    if (!child) {
        ctn_model *const m = random_model(3, &(random_options){.links = 3});
        const ctn_batch_config cfg = config_of(4, "cuda");
        setenv("CTN_TWIN_TOUCH", places[_i], 1);
        ctn_batch *const b = ctn_batch_create(m, &cfg, NULL);
        _exit(!b || ctn_batch_step(b, 1, NULL, NULL));
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%s: status %d", places[_i], status);
#endif
}
END_TEST

/// Failures are told once, by the next call that can, but for a device that is lost; what is lost does not take up a saved state.
START_TEST(failures)
{
    ctn_model *const m = random_model(3, &(random_options){.links = 3});
    const ctn_batch_config cfg = config_of(1, "cuda");
    ctn_batch *const b = batch_with(m, &cfg);
    const ctn_device *const real_one = b->device;
    ctn_device failing = *real_one;
    failing.totals = no_totals, failing.flatten = no_states;
    ctn_error err = {0};
    ctn_totals totals[WORLDS];
    const size_t size = ctn_batch_saved_size(b);
    char *const saved = malloc(size);
    ctn_batch_save(b, saved);
    ck_assert_int_eq(ctn_batch_step(b, 5, NULL, &err), CTN_OK);
    const double time = ctn_batch_time(b, 0);
    b->device = &failing;
    ctn_batch_totals(b, totals);
    ck_assert_double_nan(totals[WORLDS - 1].kinetic);
    ck_assert_int_eq(ctn_batch_step(b, 1, NULL, &err), CTN_NO_MEMORY);
    ck_assert_str_eq(err.message, "no totals");
    ck_assert_int_eq(ctn_batch_step(b, 0, NULL, &err), CTN_OK);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(ctn_batch_restore(b, saved, size, &err), CTN_UNAVAILABLE);
        ck_assert_str_eq(err.message, "no states");
        ck_assert(ctn_batch_time(b, 0) == time && time > 0);
        ck_assert_int_eq(ctn_batch_step(b, 1, NULL, &err), CTN_UNAVAILABLE);
    }
    failing.least_tolerance = 2e-6;  // counts in single precision
    ck_assert_int_eq(ctn_batch_step(b, (1 << 24) + 1, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "steps: the engine 'cuda' counts up to 16777216 a call, found 16777217");
    b->device = real_one;
    free(saved), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

static void lean_back(void *context, int first, int count, const double *time, const double *said, const double *q,
                      const double *v, double *tau)
{
    const int numbers = *(const int *)context;
    (void)first, (void)time, (void)q, (void)v;
    for (int w = 0; w < count; w++) tau[w] = -0.1 * said[w * numbers];
}

/// What sensors say of states and forces that are set in the device's memory, of worlds that rest or freeze, and of a device that
/// is lost.
START_TEST(sensors)
{
    ctn_model *const m =
        model_of("catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, com: [0, 1, 0], inertia: [1, 1, 1, 0, 0, 0]}]\n"
                 "sensors:\n  - {name: late, type: joint_position, joint: a, delay: 0.03}\n"
                 "  - {name: felt, type: accelerometer, link: a, point: [0.5, 0, 0], noise: 0.01}\n");
    enum { NUMBERS = 4, PHASES = 5, RUN = 6 };
    const ctn_batch_config on_gpu = config_of(7, "cuda"), on_cpu = config_of(7, "scalar");
    ctn_batch *const gpu = batch_with(m, &on_gpu), *const cpu = batch_with(m, &on_cpu), *const of[] = {gpu, cpu};
    double q[WORLDS], v[WORLDS], tau[WORLDS], table[WORLDS * RUN], said[2][WORLDS * NUMBERS];
    int horizon[WORLDS], numbers = ctn_model_sensor_numbers(m), frozen = 0;
    ctn_step_stats stats[2][WORLDS];
    ctn_error err = {0};
    ck_assert_int_eq(numbers, NUMBERS);
    for (int w = 0; w < WORLDS; w++) {
        q[w] = 0.1 * w, v[w] = w == 5 ? 1e200 : 1, tau[w] = 2 - 0.1 * w, horizon[w] = w % (RUN + 1);
        for (int k = 0; k < RUN; k++) table[w * RUN + k] = 0.3 * k - 0.1 * w;
    }
    ctn_batch_step(gpu, 3, NULL, NULL), ctn_batch_step(cpu, 3, NULL, NULL);
    double *const there = ctn_batch_device_allocate(gpu, 3 * sizeof q, &err), *const forces = there + (size_t)2 * WORLDS;
    ck_assert(ctn_batch_device_write(gpu, there, q, sizeof q, &err) == CTN_OK &&
              ctn_batch_device_write(gpu, there + WORLDS, v, sizeof v, &err) == CTN_OK &&
              ctn_batch_device_write(gpu, forces, tau, sizeof tau, &err) == CTN_OK);
    ck_assert(ctn_batch_device_set_state(gpu, there, there + WORLDS, 1, &err) == CTN_OK &&
              ctn_batch_device_set_force(gpu, forces, &err) == CTN_OK);
    ctn_batch_set_state(cpu, q, v, 1, NULL), ctn_batch_set_force(cpu, tau);
    const ctn_run runs[PHASES] = {{.steps = 0},
                                  {.steps = 2},
                                  {.steps = RUN, .horizon = horizon, .sensed = lean_back, .context = &numbers},
                                  {.steps = RUN, .horizon = horizon, .force = table},
                                  {.steps = 1}};
    for (int phase = 0; phase < PHASES; phase++) {
        for (int k = 0; k < 2; k++) {
            ctn_batch_run(of[k], &runs[phase], stats[k], NULL);
            ck_assert_int_eq(ctn_batch_sensors(of[k], said[k], NULL), CTN_OK);
        }
        same(said[0], said[1], sizeof said[0], phase, "sensors");
        same(stats[0], stats[1], sizeof stats[0], phase, "statistics");
        same_batches(gpu, cpu, phase, "stepped");
        if (phase == 2) ck_assert(ctn_batch_device_set_force(gpu, NULL, &err) == CTN_OK), ctn_batch_set_force(cpu, NULL);
    }
    for (int w = 0; w < WORLDS; w++) frozen += stats[0][w].frozen != 0;
    ck_assert_int_eq(frozen, 1);
    ctn_batch_device_free(gpu, there);

    const ctn_device *const real_one = gpu->device;
    ctn_device failing = *real_one;
    failing.flatten = no_states, gpu->device = &failing;
    ck_assert_int_eq(ctn_batch_run(gpu, &runs[2], NULL, &err), CTN_UNAVAILABLE);
    ck_assert_str_eq(err.message, "no states");
    ck_assert(ctn_batch_sensors(gpu, said[0], &err) == CTN_UNAVAILABLE && isnan(said[0][1]));
    gpu->device = real_one;
    ctn_batch_free(gpu), ctn_batch_free(cpu), ctn_model_free(m);
}
END_TEST

/// Where there is no GPU, or no code for it.
START_TEST(missing)
{
    static const char text[] = "catena: 1\nlinks: [{name: a, joint: {type: revolute, axis: [0, 1, 0]}, mass: 1, com: [0, 0, 1], "
                               "inertia: [1, 1, 1, 0, 0, 0]}]\n";
    ctn_model *const m = model_of(text);
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_error err;
    cfg.engine = "cuda";
    if (_i) setenv("CTN_CUDA_LIBRARY", "/nowhere/libcatena-cuda.so", 1);
    else unsetenv("CTN_CUDA_LIBRARY");
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert(!b || !_i);
    if (!b) {
        ck_assert_int_eq(err.status, CTN_UNAVAILABLE);
        ck_assert_msg(
            strstr(err.message, _i ? "engine: 'cuda' cannot be opened: CTN_CUDA_LIBRARY: /nowhere/libcatena-cuda.so: " : "engine: 'cuda' needs "),
            "%s", err.message);
        ck_assert_msg(strstr(err.message, "; take 'auto'"), "%s", err.message);
    }
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

static bool is_there(ctn_error *err) { return device_find("cuda", err) != NULL; }

int main(void)
{
    Suite *const none = suite_create("no device"), *const s = suite_create("device");
    TCase *const tn = tcase_create("missing"), *const t = tcase_create("device");
    tcase_add_loop_test(tn, missing, 0, 2);
    suite_add_tcase(none, tn);
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, bits_are_the_cpu_s, 0, METHODS);
    tcase_add_loop_test(t, on_the_ground, 0, 3);
    tcase_add_test(t, device_memory);
    tcase_add_test(t, limits);
    tcase_add_loop_test(t, host_memory, 0, 3);
    tcase_add_test(t, failures);
    tcase_add_test(t, sensors);
    suite_add_tcase(s, t);
    const int failed = run_suite(none);  // before anything has looked for the device
    if (machine_has("device", is_there)) return failed + run_suite(s) != 0;
    return failed ? 1 : EXIT_SKIPPED;
}
