/// Trials of iterative LQR in blocks of time, for the figures of Plancher and Kuindersma, "A performance analysis of parallel
/// differential dynamic programming on a GPU"; bench/blocks runs it.
///
///     blocks SCENE METHOD BACKWARD FORWARD TRIALS ITERATIONS SIGMA [ENGINE]
///
/// SCENE has `optimize:`, whose rho, alphas and tolerance count; METHOD is ilqr or plancher, as there, with so many blocks. A trial
/// begins with the guess, rolled out; to the velocities of all its states, of which those at the starts of blocks count, normal
/// numbers of deviation SIGMA are added. They come from a counter (Random123's Philox) of trial, knot and coordinate: trials are the
/// same for every METHOD, number of blocks and ENGINE: with `cuda` both passes are on a GPU (docs/trajectories.md). One thread.
///
/// Prints CSV, a row an iteration, and one for the start: trial, iteration, cost, defect (largest 1-norm), alpha (0: nothing was
/// accepted), stop (runs, optimal, stuck), and seconds: of all, of roll-outs, of its derivatives with those of costs, of costs. Where
/// there is no such engine it says so, and its exit status is 3.
#include "control/ilqr.h"
#include "control/scene_plant.h"
#include "sim/base/clock.h"
#include "sim/base/random.h"
#include "sim/engine/device.h"
#include "sim/scene/scene.h"

#include <catena/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A plant that knows how long each of its parts took.
typedef struct {
    const plant *inner;
    double steps, derivatives, costs;  // s
} timed;

/// Roll-outs on a device, which knows how long they took.
static struct {
    ctn_device device;
    plant_there there;
    const plant_there *inner;
    double steps;  // s
} timed_device;

static ctn_status follow(device_worlds *d, const device_follow *plan, ctn_error *err)
{
    const double began = clock_now();
    const ctn_status status = timed_device.inner->device->follow(d, plan, err);
    timed_device.steps += clock_now() - began;
    return status;
}

static const plant_there *timed_there(const plant_there *inner)
{
    timed_device.inner = inner, timed_device.device = *inner->device, timed_device.there = *inner;
    timed_device.device.follow = follow, timed_device.there.device = &timed_device.device;
    return &timed_device.there;
}

static ctn_status play(void *context, int count, const double *x, int steps, plant_tell tell, void *whose, ctn_error *err)
{
    timed *const t = context;
    const double began = clock_now();
    const ctn_status status = t->inner->play(t->inner->context, count, x, steps, tell, whose, err);
    t->steps += clock_now() - began;
    return status;
}

static ctn_status linearise(void *context, const double *x, const double *u, double *A, double *B, ctn_error *err)
{
    timed *const t = context;
    const double began = clock_now();
    const ctn_status status = t->inner->linearise(t->inner->context, x, u, A, B, err);
    t->derivatives += clock_now() - began;
    return status;
}

static void cost(void *context, int count, const int *knot, const double *x, const double *u, double *to)
{
    timed *const t = context;
    const double began = clock_now();
    t->inner->cost(t->inner->context, count, knot, x, u, to);
    t->costs += clock_now() - began;
}

static void cost_derivatives(void *context, int count, const int *knot, const double *x, const double *u, const plant_costs *to)
{
    timed *const t = context;
    const double began = clock_now();
    t->inner->cost_derivatives(t->inner->context, count, knot, x, u, to);
    t->derivatives += clock_now() - began;
}

static void add(void *context, const double *x, const double *dx, double *to)
{
    const plant *const p = ((timed *)context)->inner;
    p->add(p->context, x, dx, to);
}

static void difference(void *context, const double *from, const double *to, double *dx)
{
    const plant *const p = ((timed *)context)->inner;
    p->difference(p->context, from, to, dx);
}

static void stop(const ctn_error *err)
{
    fprintf(stderr, "blocks: %s\n", err->message);
    exit(1);
}

static double drawn(int trial, int knot, int coordinate)
{
    double pair[2];
    uniform_pair_of(random_words(1, (uint64_t)trial, (uint32_t)knot, (uint32_t)coordinate), pair);
    return normal_of(pair);
}

static void put_row(int trial, const ilqr *s, double seconds, timed *t)
{
    static const char *const stops[] = {"runs", "optimal", "stuck"};
    const ilqr_state x = ilqr_get_state(s);
    printf("%d,%d,%.12g,%.3g,%g,%s,%.9f,%.9f,%.9f,%.9f\n", trial, x.iteration, x.cost, x.defect, x.alpha, stops[x.stop], seconds,
           t->steps + timed_device.steps, t->derivatives, t->costs);
    t->steps = t->derivatives = t->costs = timed_device.steps = 0;
}

int main(int argc, char **argv)
{
    ctn_error err;
    const bool published = argc >= 8 && !strcmp(argv[2], "plancher");
    if (argc < 8 || argc > 9 || (!published && strcmp(argv[2], "ilqr") != 0))
        return fprintf(stderr, "usage: blocks SCENE ilqr|plancher BACKWARD FORWARD TRIALS ITERATIONS SIGMA [ENGINE]\n"), 2;
    if (argc == 9 && device_asked(argv[8]) && !device_find(argv[8], &err)) return fprintf(stderr, "%s\n", err.message), 3;
    const int trials = atoi(argv[5]), iterations = atoi(argv[6]);
    const double sigma = atof(argv[7]);
    ctn_scene *const scene = ctn_scene_load(argv[1], &err);
    ctn_model *const model = scene ? ctn_model_create(scene, &err) : NULL;
    if (!model) stop(&err);
    const scene_optimize *const o = &scene->optimize;
    ctn_batch_config batch = ctn_scene_config(scene);
    batch.threads = 1;
    if (argc == 9) batch.engine = argv[8];
    scene_plant *const of = scene_plant_open(scene, model, &batch, ctn_scene_duration(scene), o->alphas, &err);
    if (!of) stop(&err);
    timed t = {.inner = scene_plant_of(of)};
    plant p = *t.inner;
    p.context = &t, p.play = play, p.linearise = linearise, p.cost = cost, p.cost_derivatives = cost_derivatives, p.add = add;
    p.difference = difference;
    if (p.there) p.there = timed_there(p.there);
    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model), nx = nq + nv, states = (size_t)p.knots + 1;
    double *const X = malloc(states * nx * sizeof *X), *const U = malloc(states * (size_t)p.m * sizeof *U),
                  *const limits = malloc(2 * (size_t)p.m * sizeof *limits), *const x0 = malloc(nx * sizeof *x0);
    if (!X || !U || !limits || !x0) return fprintf(stderr, "blocks: not enough memory\n"), 1;
    ilqr_config cfg = ilqr_default_config();
    cfg.backward = atoi(argv[3]), cfg.forward = atoi(argv[4]), cfg.zero_start = cfg.cost_alone = published;
    cfg.alphas = o->alphas, cfg.rho = o->rho, cfg.tolerance = o->tolerance;
    if (scene_plant_bounds(of, limits, limits + p.m)) cfg.lower = limits, cfg.upper = limits + p.m;
    ilqr *const s = ilqr_open(&p, &cfg, &err);
    if (!s) stop(&err);
    ctn_model_initial_state(model, x0, x0 + nq), scene_plant_guess(of, U);
    printf("trial,iteration,cost,defect,alpha,stop,seconds,steps_s,derivatives_s,costs_s\n");
    for (int trial = 0; trial < trials; trial++) {
        if (ilqr_begin(s, x0, U, &err) != CTN_OK) stop(&err);
        memcpy(X, ilqr_states(s), states * nx * sizeof *X);
        for (int k = 0; k < p.knots; k++)
            for (int i = 0; i < (int)nv; i++) X[(size_t)k * nx + nq + (size_t)i] += sigma * drawn(trial, k, i);
        if (ilqr_begin_from(s, X, U, &err) != CTN_OK) stop(&err);
        t.steps = t.derivatives = t.costs = timed_device.steps = 0;
        put_row(trial, s, 0, &t);
        while (ilqr_get_state(s).iteration < iterations && ilqr_get_state(s).stop == ILQR_RUNS) {
            const double began = clock_now();
            if (ilqr_step(s, &err) != CTN_OK) stop(&err);
            put_row(trial, s, clock_now() - began, &t);
        }
    }
    ilqr_close(s), scene_plant_close(of), ctn_model_free(model), ctn_scene_free(scene);
    free(X), free(U), free(limits), free(x0);
    return 0;
}
