/// The bits of every method's steps, gradients and Jacobians, as they were when tests/golden/bits.txt was written: a change of
/// the code that is to change no result changes no line of it. A commit that moves bits writes it anew, says so, and shows by how
/// much.
///
///     build/tests/test_bits --write tests/golden/bits.txt
#include "sim/engine/engine.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_OF_BITS CATENA_SOURCE_DIR "/tests/golden/bits.txt"

static const struct {
    const char *name;
    ctn_method method;
    double dt;
    int number;         // order or stages; 0: neither
    ctn_solver solver;  // those in O(N^3) and of many iterations: of small models
    bool adaptive;
} ways[] = {{"euler", CTN_EULER, 2e-3, 0, CTN_NEWTON, false},
            {"semi-implicit", CTN_SEMI_IMPLICIT, 2e-3, 0, CTN_NEWTON, false},
            {"rk2", CTN_RK2, 2e-3, 0, CTN_NEWTON, false},
            {"rk3", CTN_RK3, 2e-3, 0, CTN_NEWTON, false},
            {"rk4", CTN_RK4, 2e-3, 0, CTN_NEWTON, false},
            {"dop853", CTN_DOP853, 5e-3, 0, CTN_NEWTON, false},
            {"dop853-auto", CTN_DOP853, 5e-3, 0, CTN_NEWTON, true},
            {"collocation-2", CTN_COLLOCATION, 0.05, 2, CTN_NEWTON, false},
            {"collocation-3", CTN_COLLOCATION, 5e-3, 3, CTN_NEWTON, false},
            {"collocation-4", CTN_COLLOCATION, 5e-3, 4, CTN_NEWTON, false},
            {"collocation-5", CTN_COLLOCATION, 5e-3, 5, CTN_NEWTON, false},
            {"collocation-6", CTN_COLLOCATION, 5e-3, 6, CTN_NEWTON, false},
            {"collocation-2-lm", CTN_COLLOCATION, 0.02, 2, CTN_LM, false},
            {"collocation-2-lbfgs", CTN_COLLOCATION, 0.02, 2, CTN_LBFGS, false},
            {"radau-1", CTN_RADAU, 0.05, 1, CTN_NEWTON, false},
            {"radau-2", CTN_RADAU, 0.05, 2, CTN_NEWTON, false},
            {"radau-3", CTN_RADAU, 0.05, 3, CTN_NEWTON, false},
            {"radau-4", CTN_RADAU, 0.05, 4, CTN_NEWTON, false},
            {"radau-2-lm", CTN_RADAU, 0.02, 2, CTN_LM, false},
            {"radau-2-auto", CTN_RADAU, 5e-3, 2, CTN_NEWTON, true},
            {"variational-2", CTN_VARIATIONAL, 0.01, 2, CTN_NEWTON, false},
            {"variational-4", CTN_VARIATIONAL, 0.01, 4, CTN_NEWTON, false},
            {"alpha", CTN_ALPHA, 0.05, 0, CTN_NEWTON, false},
            {"alpha-auto", CTN_ALPHA, 5e-3, 0, CTN_NEWTON, true},
            {"rk4-links", CTN_RK4, 1e-5, 0, CTN_NEWTON, false},
            {"collocation-2-links", CTN_COLLOCATION, 1e-3, 2, CTN_NEWTON, false},
            {"variational-2-links", CTN_VARIATIONAL, 1e-3, 2, CTN_NEWTON, false},
            {"alpha-links", CTN_ALPHA, 1e-3, 0, CTN_NEWTON, false}};
enum { WAYS = sizeof ways / sizeof *ways, LINKS = WAYS - 4 };  // from LINKS on: along the links

#ifdef __SANITIZE_ADDRESS__  // what the others would add is in other tests
static const char *const names[] = {"double-pendulum", "random-2", "links-tree"};
#else
static const char *const names[] = {
    "double-pendulum", "chain10",  "chain10-sampled", "chain10-randomised", "chain40",     "chain100",   "flying-tree",
    "humanoid",        "iiwa14",   "wrench",          "rope1000",           "random-1",    "random-2",   "random-3",
    "random-4",        "random-5", "random-6",        "random-7",           "links-chain", "links-tree", "obstacles"};
#endif
enum { NAMES = sizeof names / sizeof *names, WORLDS = 64, STEPS = 6 };

/// 64 bits of what was put in so far.
static uint64_t put(uint64_t h, const void *x, size_t bytes)
{
    const unsigned char *const b = x;
    for (size_t k = 0; k < bytes; k++) h = (h ^ b[k]) * 0x100000001b3u;
    return h;
}
static uint64_t put_numbers(uint64_t h, const double *x, size_t n) { return put(h, x, n * sizeof *x); }
static const uint64_t nothing = 0xcbf29ce484222325u;

typedef struct subject {
    ctn_scene *scene;  // NULL: a random one, of which only the model is there
    ctn_model *model;
    size_t nq, nv;
    int worlds, steps;  // fewer of large ones
} subject;

/// Bodies that touch a body of each kind, a terrain and the ground from the start.
static const char touching[] =
    "catena: 1\nground: true\ncontact: {friction: 0.5, depth: 0.01}\nobstacles:\n"
    "  - {type: sphere, center: [0, 0, 0.4], radius: 0.5}\n"
    "  - {type: box, center: [3, 0, 0.4], size: [1, 1, 0.8], euler: [0, 0.2, 0.1], friction: 0.3}\n"
    "  - {type: capsule, from: [6, -1, 0.3], to: [6, 1, 0.4], radius: 0.3}\n"
    "  - {type: cylinder, from: [9, -1, 0.3], to: [9, 1, 0.3], radius: 0.3}\n"
    "terrain: {file: " CATENA_SOURCE_DIR "/scenes/hills.pgm, size: [2.4, 2.4], height: [0, 0.6], position: [0.2, 0.1, -0.2]}\n"
    "defaults: {density: 500, joint: free}\nlinks:\n"
    "  - {name: ball, position: [0.02, 0, 0.995], shapes: [{type: sphere, radius: 0.1}]}\n"
    "  - {name: block, position: [3, 0, 0.87], shapes: [{type: box, size: [0.4, 0.3, 0.2], contact: {points: 3}}]}\n"
    "  - {name: bar, position: [5.7, 0, 0.69], shapes: [{type: capsule, from: [0, 0, 0], to: [0.6, 0, 0], radius: 0.05, contact: "
    "{points: 5}}]}\n"
    "  - {name: tail, parent: bar, position: [0.6, 0, 0], joint: {type: ball, damping: 0.01}, shapes: [{type: capsule, from: [0, "
    "0, 0], to: [0.3, 0, 0], radius: 0.05}]}\n"
    "  - {name: other, position: [9.05, 0, 0.692], shapes: [{type: sphere, radius: 0.1}]}\n";

/// Subjects that are stepped along their links alone: long enough to be cut, with joints that slide.
static bool goes_along(const char *name) { return strncmp(name, "links-", 6) == 0; }

static subject open_subject(const char *name)
{
    subject s = {.scene = NULL};
    ctn_error err = {0};
    unsigned seed;
    if (sscanf(name, "random-%u", &seed) == 1)
        s.model = random_model(seed, &(random_options){.links = 7,
                                                       .passive = true,
                                                       .floating = seed % 2,
                                                       .conservative = seed == 5,
                                                       .springs = seed == 6 ? 3 : 0,  // and a force
                                                       .wrenches = seed == 7 ? 3 : 0,
                                                       .plain_springs = true});
    else if (!strcmp(name, "obstacles")) s.scene = ctn_scene_parse(touching, strlen(touching), "obstacles.yaml", &err);
    else if (goes_along(name))
        s.model = random_model(1, &(random_options){.links = 60, .chain = !strcmp(name, "links-chain"), .passive = true});
    if (s.scene) ck_assert_msg((s.model = ctn_model_create(s.scene, &err)) != NULL, "%s", err.message);
    if (!s.model) {
        char path[400];
        snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", name);
        s.scene = ctn_scene_load(path, &err);
        ck_assert_msg(s.scene && (s.model = ctn_model_create(s.scene, &err)), "%s", err.message);
    }
    s.nq = (size_t)ctn_model_nq(s.model), s.nv = (size_t)ctn_model_nv(s.model);
    const int links = ctn_model_nlink(s.model);
    s.worlds = links < 9 ? WORLDS : links < 30 ? 13 : 5, s.steps = links < 100 ? STEPS : 2;
    return s;
}

static void close_subject(subject *s) { ctn_model_free(s->model), ctn_scene_free(s->scene); }

static ctn_batch_config configuration(int way)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = ways[way].method, cfg.dt = ways[way].dt, cfg.solver = ways[way].solver, cfg.adaptive = ways[way].adaptive;
    if (ways[way].number && cfg.method == CTN_RADAU) cfg.stages = ways[way].number;
    else if (ways[way].number) cfg.order = ways[way].number;
    return cfg;
}

/// World w begins as the model does, or anywhere (random models), with a push; odd ones feel joint forces.
static void begin(const subject *s, int w, double *q, double *v, double *tau)
{
    rng r = {(uint64_t)w * 7919 + 3};
    const double push = s->nv > 60 ? 1e-3 : 1;  // long chains of light links would whip
    if (s->scene) ctn_model_initial_state(s->model, q, v);
    else random_state(s->model, &r, q, v);
    for (size_t k = 0; k < s->nv; k++)
        v[k] += push * rng_uniform(&r, -0.1, 0.1), tau[k] = w % 2 ? push * rng_uniform(&r, -0.02, 0.02) : 0;
}

/// A hash of each world's states and statistics, into h [worlds].
static void step(const subject *s, int way, const char *engine, int worlds, ctn_schedule schedule, uint64_t *h)
{
    const size_t W = (size_t)worlds;
    double *const q = malloc(W * s->nq * sizeof *q), *const v = malloc(W * s->nv * sizeof *v),
                  *const tau = malloc(W * s->nv * sizeof *tau);
    ctn_step_stats *const stats = calloc(W, sizeof *stats);
    uint64_t *const now = malloc(W * sizeof *now);
    ctn_error err = {0};
    ctn_batch_config cfg = configuration(way);
    cfg.worlds = worlds, cfg.engine = engine, cfg.schedule = schedule;
    cfg.parallel = way >= LINKS ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
    ctn_batch *const b = ctn_batch_create(s->model, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    for (int w = 0; w < worlds; w++) {
        const size_t k = (size_t)w;
        begin(s, w, q + k * s->nq, v + k * s->nv, tau + k * s->nv), h[w] = nothing;
    }
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, &err), CTN_OK);
    ctn_batch_set_force(b, tau);
    for (int n = 0; n < 2; n++) {
        ctn_batch_step(b, s->steps / 2, stats, NULL);
        ctn_batch_state(b, q, v), ctn_batch_hashes(b, now);
        for (size_t w = 0; w < W; w++) {
            const ctn_step_stats *const c = &stats[w];
            const double real[] = {c->residual,   c->energy_before, c->energy_after, c->work,
                                   c->dissipated, c->created,       c->frozen_time};
            const long whole[] = {c->steps,     c->iterations, c->evaluations, c->line_search, c->curvature,
                                  c->fallbacks, c->substeps,   c->rejected,    (long)c->frozen};
            h[w] = put(put_numbers(h[w], real, sizeof real / sizeof *real), whole, sizeof whole);
            h[w] = put(put_numbers(put_numbers(h[w], q + w * s->nq, s->nq), v + w * s->nv, s->nv), &now[w], sizeof now[w]);
        }
    }
    // only the first step of alpha is left to the serial engine
    ck_assert_int_le((int)ctn_batch_serial_steps(b), cfg.method == CTN_ALPHA ? worlds : 0);
    ctn_batch_free(b);
    free(q), free(v), free(tau), free(stats), free(now);
}

/// The bits of a subject's worlds by one method: the same for every engine, batch and schedule.
static uint64_t worlds_of(const subject *s, int way)
{
    uint64_t all[WORLDS], some[WORLDS];
    const int most = s->worlds;
    step(s, way, "scalar", most, CTN_BY_STEP, all);
    static const char *const engines[] = {"scalar", "avx2", "avx512"};
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        if (!engine_find(engines[e], WORLDS, NULL)) continue;
        const int batches[] = {1, 3, most};
        for (int k = 0; k < 3; k++)
            for (int by = 0; by < 2; by++) {
                if (e == 0 && k == 2 && by == 0) continue;  // that was the first
                step(s, way, engines[e], batches[k], by ? CTN_BY_ITERATION : CTN_BY_STEP, some);
                for (int w = 0; w < batches[k]; w++)
                    ck_assert_msg(some[w] == all[w], "%s: world %d of %d, %s, by %s, differs", ways[way].name, w, batches[k],
                                  engines[e], by ? "iteration" : "step");
            }
    }
    return put(nothing, all, (size_t)most * sizeof *all);
}

/// The bits of the gradient of a sum over a run's states, and of its first step's Jacobian (small models); 0 where there are
/// none.
static uint64_t derivatives_of(const subject *s, int way)
{
    enum { RUN = 3 };
    if (ways[way].adaptive || way >= LINKS || ctn_model_ncontact(s->model)) return 0;  // steps of tapes are serial
    ctn_error err = {0};
    const ctn_batch_config cfg = configuration(way);
    ctn_tape *const run = ctn_tape_create(s->model, &cfg, RUN, &err);
    ck_assert_msg(run != NULL, "%s", err.message);
    const size_t nv = s->nv;
    double *const q = malloc(s->nq * sizeof *q), *const v = malloc(nv * sizeof *v), *const tau = malloc(RUN * nv * sizeof *tau),
                  *const seed = malloc((RUN + 1) * nv * sizeof *seed), *const grad = malloc((2 + RUN) * nv * sizeof *grad);
    uint64_t h = 0;
    begin(s, 1, q, v, tau);
    for (size_t k = nv; k < RUN * nv; k++) tau[k] = tau[k - nv];
    for (size_t k = 0; k < (RUN + 1) * nv; k++) seed[k] = 1 + (double)(k % 5);
    if (ctn_tape_run(run, q, v, tau, &err) == CTN_OK &&
        ctn_tape_gradient(run, seed, seed, grad, grad + nv, grad + 2 * nv, &err) == CTN_OK)
        h = put_numbers(nothing, grad, (2 + RUN) * nv);
    const size_t n = (size_t)ctn_tape_state_size(run);
    if (h && n <= 300) {
        double *const A = malloc(n * n * sizeof *A), *const B = malloc(n * nv * sizeof *B);
        if (ctn_step_jacobian(run, 1, A, B, &err) == CTN_OK) h = put_numbers(put_numbers(h, A, n * n), B, n * nv);
        free(A), free(B);
    }
    ctn_tape_free(run);
    free(q), free(v), free(tau), free(seed), free(grad);
    return h;
}

/// The line of the file for a name and a way; false: none, as it would be refused, or takes too long.
static bool line_of(const subject *s, const char *name, int way, char line[200])
{
    const ctn_method method = ways[way].method;
    if (goes_along(name) != (way >= LINKS)) return false;
    const bool explicit = !ctn_method_is_implicit(method), large = ctn_model_nlink(s->model) >= 100;
    const ctn_batch_config cfg = configuration(way);
    ctn_batch *const b = ctn_batch_create(s->model, &cfg, NULL);
    ctn_batch_free(b);
    if (!b) return false;
    if (ways[way].solver != CTN_NEWTON && s->nv > 12) return false;
    if (ways[way].adaptive && method == CTN_ALPHA && ctn_model_ncontact(s->model)) return false;  // thousands of parts a step
    if (large && (ways[way].adaptive || method == CTN_VARIATIONAL ||
                  (!explicit && (ways[way].number > 2 || ctn_model_nlink(s->model) >= 1000))))
        return false;
    snprintf(line, 200, "%s %s %016" PRIx64 " %016" PRIx64, name, ways[way].name, worlds_of(s, way), derivatives_of(s, way));
    return true;
}

static FILE *written;  // --write: where lines go

START_TEST(as_they_were)
{
    const char *const name = names[_i];
    char expected[200], line[200], beginning[80];
    subject s = open_subject(name);
    for (int way = 0; way < WAYS && written; way++)
        if (line_of(&s, name, way, line)) fprintf(written, "%s\n", line), fflush(written);
    if (written) fflush(written), close_subject(&s);
    if (written) return;
    FILE *const file = fopen(FILE_OF_BITS, "r");
    ck_assert_ptr_nonnull(file);
    snprintf(beginning, sizeof beginning, "%s ", name);
    int changed = 0, way = 0;
    while (fgets(expected, sizeof expected, file)) {
        if (strncmp(expected, beginning, strlen(beginning)) != 0) continue;
        expected[strcspn(expected, "\n")] = 0;
        while (way < WAYS && !line_of(&s, name, way++, line)) {}
        if (strcmp(line, expected) != 0) printf("bits: now %s\n     was %s\n", line, expected), changed++;
    }
    while (way < WAYS) ck_assert_msg(!line_of(&s, name, way++, line), "not in the file: %s", line);
    fflush(stdout);
    fclose(file);
    close_subject(&s);
    ck_assert_msg(changed == 0, "%s: %d methods have other bits than before", name, changed);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--write") && !(written = fopen(argv[2], "w"))) return perror(argv[2]), EXIT_FAILURE;
    Suite *const suite = suite_create("bits");
    TCase *const t = tcase_create("bits");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, as_they_were, 0, NAMES);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
