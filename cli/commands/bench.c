/// `catena bench crossover`: from which length on a rope goes faster along its links than as a world (docs/scans.md), on this
/// machine.
#include "cli/commands/commands.h"

#include "cli/base/json.h"
#include "cli/base/message.h"
#include "sim/base/clock.h"
#include "sim/base/pool.h"

#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 9, METHODS = 2, WAYS = 3, ROUNDS = 3 };
enum { WORLDS, ONE_THREAD, THREADS };  // how a rope is stepped
static const int sizes[SIZES] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
static const ctn_method methods[METHODS] = {CTN_COLLOCATION, CTN_ALPHA};
static const char *const names[METHODS] = {"collocation of order 2", "alpha"};

typedef struct {
    const char *engine;  // as asked for
    int threads, steps;
    double time[METHODS][SIZES][WAYS];  // s a step
} crossover;

static ctn_model *rope(int links, ctn_error *err)
{
    char text[400];
    snprintf(text, sizeof text,
             "{catena: 1, links: [{chain: {name: rope, count: %d, step: [0, 0, -0.05], mass: 0.025, com: [0, 0, -0.025], "
             "inertia: [7.7e-06, 7.7e-06, 5e-06, 0, 0, 0], "
             "joint: {type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]}}}]}",
             links);
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "rope", err);
    ctn_model *const m = scene ? ctn_model_create(scene, err) : NULL;
    ctn_scene_free(scene);
    return m;
}

/// A batch of one rope that hangs and is on its way; alpha has found its accelerations. NULL with *err.
static ctn_batch *batch_of(const crossover *c, const ctn_model *m, int method, int way, ctn_error *err)
{
    const size_t nv = (size_t)ctn_model_nv(m);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = methods[method], cfg.dt = 0.005, cfg.engine = c->engine, cfg.threads = way == THREADS ? c->threads : 1;
    cfg.parallel = way == WORLDS ? CTN_PARALLEL_WORLDS : CTN_PARALLEL_LINKS;
    ctn_batch *b = ctn_batch_create(m, &cfg, err);
    double *const q = calloc(2 * nv, sizeof *q), *const v = q + nv;
    // slow enough for whole steps, however long the rope
    for (size_t k = 0; q && k < nv; k++) v[k] = ((double)(k * 104729 % 1000) / 1000 - 0.5) / sqrt((double)nv);
    if (b && !q) *err = (ctn_error){.status = CTN_NO_MEMORY, .message = "not enough memory"};
    if (b && (!q || ctn_batch_set_state(b, q, v, 0, err) != CTN_OK || ctn_batch_step(b, 1, NULL, err) != CTN_OK))
        ctn_batch_free(b), b = NULL;
    free(q);
    return b;
}

/// Times one rope by one method: all ways in turns, the least of the rounds.
static bool time_rope(crossover *c, const ctn_model *m, int method, int size, ctn_error *err)
{
    double *const best = c->time[method][size];
    ctn_batch *batch[WAYS] = {NULL};
    void *start[WAYS] = {NULL};
    size_t bytes[WAYS];
    bool ok = true;
    for (int w = 0; ok && w < WAYS; w++) {
        ok = (batch[w] = batch_of(c, m, method, w, err)) != NULL;
        if (!ok) break;
        bytes[w] = ctn_batch_saved_size(batch[w]), start[w] = malloc(bytes[w]), best[w] = INFINITY;
        if (start[w]) ctn_batch_save(batch[w], start[w]);
        else *err = (ctn_error){.status = CTN_NO_MEMORY, .message = "not enough memory"}, ok = false;
    }
    for (int k = 0; ok && k < ROUNDS * WAYS; k++) {
        const int w = k % WAYS;
        ctn_batch_restore(batch[w], start[w], bytes[w], NULL);
        const double begun = clock_now();
        ok = ctn_batch_step(batch[w], c->steps, NULL, err) == CTN_OK;
        best[w] = fmin(best[w], (clock_now() - begun) / c->steps);
    }
    for (int w = 0; w < WAYS; w++) ctn_batch_free(batch[w]), free(start[w]);
    return ok;
}

/// The number of links from which on a way is faster than worlds, and stays so; 0: nowhere.
static int pays_from(const crossover *c, int method, int way)
{
    int k = SIZES;
    while (k && c->time[method][k - 1][way] < c->time[method][k - 1][WORLDS]) k--;
    return k < SIZES ? sizes[k] : 0;
}

static void print_tables(const crossover *c)
{
    for (int i = 0; i < METHODS; i++) {
        printf("%sA step of %s:\n", i ? "\n" : "", names[i]);
        printf("%8s%12s%14s%8s%14s%8s\n", "links", "worlds, ms", "1 thread, ms", "gain", "threads, ms", "gain");
        for (int k = 0; k < SIZES; k++) {
            const double *const t = c->time[i][k];
            printf("%8d%12.4g%14.4g%8.2f%14.4g%8.2f\n", sizes[k], 1e3 * t[WORLDS], 1e3 * t[ONE_THREAD], t[WORLDS] / t[ONE_THREAD],
                   1e3 * t[THREADS], t[WORLDS] / t[THREADS]);
        }
        for (int w = ONE_THREAD; w < WAYS; w++) {
            const int n = w == THREADS ? c->threads : 1, from = pays_from(c, i, w);
            printf("on %d thread%s along the links ", n, n > 1 ? "s" : "");
            if (from) printf("pays from %d links on\n", from);
            else printf("pays nowhere\n");
        }
    }
}

static int print_json(const crossover *c)
{
    cJSON *const root = json_object(NULL, NULL);
    json_number(root, "threads", c->threads), json_number(root, "steps", c->steps);
    cJSON *const list = json_array(root, "methods");
    for (int i = 0; i < METHODS; i++) {
        cJSON *const one = json_object(list, NULL);
        json_text(one, "method", ctn_method_name(methods[i]));
        cJSON *const ropes = json_array(one, "ropes");
        for (int k = 0; k < SIZES; k++) {
            cJSON *const of = json_object(ropes, NULL);
            const double *const t = c->time[i][k];
            json_number(of, "links", sizes[k]), json_number(of, "worlds", t[WORLDS]);
            json_number(of, "one_thread", t[ONE_THREAD]), json_number(of, "threads", t[THREADS]);
        }
        const double from[] = {pays_from(c, i, ONE_THREAD), pays_from(c, i, THREADS)};
        json_numbers(one, "pays_from", from, 2);
    }
    return json_print(root);
}

static int bench_main(const arguments *args)
{
    long threads = pool_cpus(), steps = 10;
    if (strcmp(args->files[0], "crossover") != 0)
        return usage_error("bench: expected crossover, found '%s'", clean(args->files[0]).text);
    if (!whole_option(args, OPT_THREADS, 1, 1024, &threads) || !whole_option(args, OPT_STEPS, 1, 1000000, &steps))
        return EXIT_USAGE;
    crossover *const c = calloc(1, sizeof *c);
    if (!c) return run_error("not enough memory");
    *c = (crossover){.engine = args->value[OPT_ENGINE], .threads = (int)threads, .steps = (int)steps};
    int status = EXIT_OK;
    for (int k = 0; status == EXIT_OK && k < SIZES; k++) {
        ctn_error err;
        ctn_model *const m = rope(sizes[k], &err);
        bool ok = m != NULL;
        for (int i = 0; ok && i < METHODS; i++) ok = time_rope(c, m, i, k, &err);
        if (!ok) status = status_error(&err, "");
        ctn_model_free(m);
    }
    if (status == EXIT_OK && args->value[OPT_JSON]) status = print_json(c);
    else if (status == EXIT_OK) print_tables(c);
    free(c);
    return status;
}

const command command_bench = {
    .name = "bench",
    .files = "crossover",
    .least = 1,
    .most = 1,
    .does = "Measures on this machine from which length on a rope goes faster along its links.",
    .about = "Ropes of 32 to 8192 links on universal joints: the time of a step serially (--parallel worlds) and along the\n"
             "links, on one thread and on --threads, by collocation of order 2 and by alpha. In turns, the least of three\n"
             "rounds of --steps steps (default 10). Let nothing else run meanwhile.\n",
    .takes = TAKES(OPT_STEPS) | TAKES(OPT_ENGINE) | TAKES(OPT_THREADS) | TAKES(OPT_JSON),
    .examples = "  catena bench crossover\n"
                "  catena bench crossover --threads 4 --engine avx2 --json\n",
    .main = bench_main,
};
