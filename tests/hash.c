/// Hashes of worlds: equal where the future is equal (engines, threads, company, calls of any length, restored states), and not
/// otherwise.
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/seal.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 21, STEPS = 12 };

static const struct {
    ctn_method method;
    double dt;
    int order, stages;
    bool adaptive;
} methods[] = {{CTN_RK4, 2e-3, 2, 2, false},         {CTN_DOP853, 0.04, 2, 2, true},        {CTN_COLLOCATION, 0.02, 2, 2, false},
               {CTN_COLLOCATION, 2e-3, 4, 2, false}, {CTN_RADAU, 0.05, 2, 2, false},        {CTN_RADAU, 0.05, 2, 3, true},
               {CTN_VARIATIONAL, 5e-3, 2, 2, false}, {CTN_SEMI_IMPLICIT, 1e-3, 2, 2, false}};
enum { METHODS = sizeof methods / sizeof *methods };

static ctn_model *model;
static size_t nq, nv;

static void setup(void)
{
    model = random_model(43, &(random_options){.links = 4, .passive = true});
    nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
}

static void teardown(void) { ctn_model_free(model); }

/// Worlds 0 .. worlds - 1, each at its own state.
static ctn_batch *batch_of(int k, int worlds, const char *engine, int threads)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[k].method, cfg.dt = methods[k].dt, cfg.order = methods[k].order, cfg.stages = methods[k].stages;
    cfg.adaptive = methods[k].adaptive, cfg.worlds = worlds, cfg.engine = engine, cfg.threads = threads;
    ctn_batch *const b = ctn_batch_create(model, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    double *const q = calloc((size_t)worlds * nq, sizeof *q), *const v = calloc((size_t)worlds * nv, sizeof *v);
    for (size_t w = 0; w < (size_t)worlds; w++) random_state(model, &(rng){w + 5}, q + w * nq, v + w * nv);
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
    free(q), free(v);
    return b;
}

START_TEST(same_future_same_hash)
{
    uint64_t expected[STEPS + 1][WORLDS], found[WORLDS];
    ctn_batch *b = batch_of(_i, WORLDS, "scalar", 1);
    for (int n = 0; n <= STEPS; n++) {
        if (n) ctn_batch_step(b, 1, NULL, NULL);
        ctn_batch_hashes(b, expected[n]);
        for (int w = 0; w < WORLDS; w++) {
            ck_assert(!w || expected[n][w] != expected[n][w - 1]);
            ck_assert(!n || expected[n][w] != expected[n - 1][w]);
        }
    }
    ctn_batch_free(b);
    const ctn_engine *const *const list = engines_available();
    for (int e = 0; list[e]; e++)
        for (int threads = 1; threads <= 3; threads += 2) {
            ctn_batch *const other = batch_of(_i, WORLDS - threads, list[e]->name, threads);
            for (int n = 0; n <= STEPS; n += 4) {
                if (n) ctn_batch_step(other, 4, NULL, NULL);
                ctn_batch_hashes(other, found);
                ck_assert_msg(!memcmp(found, expected[n], (WORLDS - (size_t)threads) * sizeof *found), "%s, %d threads, step %d",
                              list[e]->name, threads, n);
            }
            ctn_batch_free(other);
        }
}
END_TEST

START_TEST(restored)
{
    uint64_t a[WORLDS], b[WORLDS];
    ctn_batch *const from = batch_of(_i, WORLDS, NULL, 1), *const to = batch_of(_i, WORLDS, NULL, 1);
    const size_t size = ctn_batch_saved_size(from);
    void *const block = malloc(size);
    ctn_batch_step(from, STEPS, NULL, NULL);
    ctn_batch_save(from, block);
    ck_assert_int_eq(ctn_batch_restore(to, block, size, NULL), CTN_OK);
    ctn_batch_hashes(from, a), ctn_batch_hashes(to, b);
    ck_assert_mem_eq(a, b, sizeof a);
    free(block), ctn_batch_free(from), ctn_batch_free(to);
}
END_TEST

/// The clock, the last bit of a number, and what a method carries besides q and v change a hash; of that world alone.
START_TEST(other_future_other_hash)
{
    uint64_t a[WORLDS], b[WORLDS];
    ctn_batch *const batch = batch_of(_i, WORLDS, NULL, 1);
    double *const q = calloc(WORLDS * nq, sizeof *q), *const v = calloc(WORLDS * nv, sizeof *v);
    ctn_batch_step(batch, STEPS, NULL, NULL);
    const double time = ctn_batch_time(batch, 0);
    ctn_batch_state(batch, q, v);
    ctn_batch_hashes(batch, a);
    ctn_batch_set_state(batch, q, v, time, NULL);
    ctn_batch_hashes(batch, b);
    for (int w = 0; w < WORLDS; w++) ck_assert(a[w] != b[w]);  // the clock's steps
    ctn_batch_set_state(batch, q, v, 0, NULL);
    ctn_batch_hashes(batch, a);
    for (int w = 0; w < WORLDS; w++) ck_assert(a[w] != b[w]);
    v[2 * nv + 1] += v[2 * nv + 1] * 0x1p-52;
    ctn_batch_set_state(batch, q, v, 0, NULL);
    ctn_batch_hashes(batch, b);
    for (int w = 0; w < WORLDS; w++) ck_assert((a[w] != b[w]) == (w == 2));
    if (ctn_method_is_implicit(methods[_i].method)) {  // of what is carried besides q and v
        const size_t size = ctn_batch_saved_size(batch), numbers = 8;
        char *const block = malloc(size);
        ctn_batch_save(batch, block);
        block[size - numbers] ^= 1;  // the last number of the last world's state
        seal(block, size);
        ck_assert_int_eq(ctn_batch_restore(batch, block, size, NULL), CTN_OK);
        ctn_batch_hashes(batch, a);
        for (int w = 0; w < WORLDS; w++) ck_assert((a[w] != b[w]) == (w == WORLDS - 1));
        free(block);
    }
    free(q), free(v), ctn_batch_free(batch);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("hash");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, same_future_same_hash, 0, METHODS);
    tcase_add_loop_test(all, restored, 0, METHODS);
    tcase_add_loop_test(all, other_future_other_hash, 0, METHODS);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
