/// `catena mpc --worlds`: plants of many worlds, as the `sample:` section of their scene draws them, and plans for each.
#include "cli/commands/mpc_asked.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "cli/base/stop.h"
#include "control/mpc_worlds.h"
#include "dynamics/model.h"
#include "sim/base/clock.h"
#include "sim/base/new_file.h"
#include "sim/record/record.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What is really moved.
typedef struct {
    ctn_model model;  // as compiled, but without a controller
    ctn_batch *batch;
    ctn_recorder *recorder;
    ctn_parameter *list;    // what the scene draws, then what motors are told
    int hold, drawn, told;  // steps of a knot; of the list
    double *values;         // [worlds][drawn + told]
    ctn_step_stats *stats;  // [worlds], of the last step
    bool *frozen;           // [worlds]
    double *q, *v, *x, *u;  // [worlds][..]
} moved_worlds;

/// What there is to be told in the end.
typedef struct {
    double *seconds;          // [knots]: of all plans
    int knots, late, missed;  // of these: which took longer than a knot, than the deadline
    long iterations;
} told;

static bool open_room(moved_worlds *p, size_t worlds, size_t nq, size_t nv)
{
    const size_t told = (size_t)p->told, row = (size_t)p->drawn + told;
    p->values = calloc(worlds * row + 1, sizeof *p->values), p->stats = calloc(worlds, sizeof *p->stats);
    p->frozen = calloc(worlds, sizeof *p->frozen);
    p->q = calloc(worlds * nq + 1, sizeof *p->q), p->v = calloc(worlds * nv + 1, sizeof *p->v);
    p->x = calloc(worlds * (nq + nv) + 1, sizeof *p->x), p->u = calloc(worlds * told + 1, sizeof *p->u);
    return p->values && p->stats && p->frozen && p->q && p->v && p->x && p->u;
}

/// States of all worlds, as plans take them.
static void look(moved_worlds *p, int worlds, int nq, int nv)
{
    ctn_batch_state(p->batch, p->q, p->v);
    for (int w = 0; w < worlds; w++) {
        memcpy(p->x + w * (nq + nv), p->q + w * nq, (size_t)nq * sizeof *p->x);
        memcpy(p->x + w * (nq + nv) + nq, p->v + w * nv, (size_t)nv * sizeof *p->x);
    }
}

/// Motors are told u.
static ctn_status tell(moved_worlds *p, int worlds, const double *u, ctn_error *err)
{
    const size_t told = (size_t)p->told, row = (size_t)p->drawn + told;
    for (size_t w = 0; w < (size_t)worlds; w++) memcpy(p->values + w * row + p->drawn, u + w * told, told * sizeof *u);
    return ctn_batch_set_parameters(p->batch, p->values, err);
}

/// Worlds as the scene draws them.
static int draw(moved_worlds *p, const setup *s, int worlds, uint64_t seed)
{
    ctn_error err;
    const size_t nv = (size_t)ctn_model_nv(s->model), drawn = (size_t)p->drawn, told = (size_t)p->told;
    double *const tau = calloc((size_t)worlds * nv + 1, sizeof *tau), *const values =
                                                                          calloc((size_t)worlds * drawn + 1, sizeof *values);
    int status = tau && values ? EXIT_OK : run_error("not enough memory");
    if (status == EXIT_OK) {
        const bool forced = ctn_sample_worlds(s->scene, s->model, seed, 0, worlds, worlds, p->q, p->v, tau, values);
        for (size_t w = 0; w < (size_t)worlds; w++) {
            memcpy(p->values + w * (drawn + told), values + w * drawn, drawn * sizeof *values);
            ctn_model_targets(s->model, p->u + w * told);
        }
        if (tell(p, worlds, p->u, &err) != CTN_OK || ctn_batch_set_state(p->batch, p->q, p->v, 0, &err) != CTN_OK)
            status = status_error(&err, "");
        else if (forced) ctn_batch_set_force(p->batch, tau);
    }
    free(tau), free(values);
    return status;
}

static int open_recorder(const arguments *args, const mpc_asked *a, const setup *s, moved_worlds *p)
{
    ctn_error err;
    if (!named_hdf5(a->out)) return EXIT_OK;
    ctn_record_config record = ctn_record_config_default();
    char *const line = command_line(args);
    record.command = line;
    p->recorder = ctn_recorder_create(a->out, s->scene, &p->model, p->batch, &record, &err);
    free(line);
    if (!p->recorder || ctn_batch_step(p->batch, 0, p->stats, &err) != CTN_OK ||
        ctn_recorder_add(p->recorder, p->stats, &err) != CTN_OK)
        return status_error(&err, ""), EXIT_RUN;
    return EXIT_OK;
}

/// An exit status; close_plants is due in any case.
static int open_plants(const arguments *args, const mpc_asked *a, double knot, moved_worlds *p)
{
    ctn_error err;
    const setup *const s = mpc_plant(a, knot, &p->hold);
    if (!s) return EXIT_USAGE;
    if (a->worlds > 1 && !ctn_scene_is_sampled(s->scene))
        return usage_error(
            "--worlds: nothing makes worlds of %s differ; give it a `sample:` section, or --plant a scene that has one", s->path);
    p->model = *s->model, p->model.controller = NULL;
    p->drawn = ctn_scene_parameters(s->scene, s->model, NULL), p->told = ctn_model_ntarget(s->model);
    p->list = calloc((size_t)(p->drawn + p->told) + 1, sizeof *p->list);
    if (!p->list || !open_room(p, (size_t)a->worlds, (size_t)ctn_model_nq(s->model), (size_t)ctn_model_nv(s->model)))
        return run_error("not enough memory for %d worlds", a->worlds);
    ctn_scene_parameters(s->scene, s->model, p->list), ctn_model_target_parameters(&p->model, p->list + p->drawn);
    ctn_batch_config cfg = s->cfg;
    cfg.worlds = a->worlds, cfg.parallel = CTN_PARALLEL_WORLDS, cfg.parameters = p->list,
    cfg.parameter_count = p->drawn + p->told;
    p->batch = ctn_batch_create(&p->model, &cfg, &err);
    if (!p->batch) return status_error(&err, "");
    const int status = draw(p, s, a->worlds, a->seed);
    return status == EXIT_OK ? open_recorder(args, a, s, p) : status;
}

static int close_plants(moved_worlds *p, int status)
{
    ctn_error err;
    if (ctn_recorder_close(p->recorder, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    ctn_batch_free(p->batch);
    free(p->list), free(p->values), free(p->stats), free(p->frozen), free(p->q), free(p->v), free(p->x), free(p->u);
    return status;
}

/// A knot in which motors are told u. Plants that freeze stay where they are.
static int move(const mpc_asked *a, moved_worlds *p, mpc_worlds *m)
{
    ctn_error err;
    if (tell(p, a->worlds, p->u, &err) != CTN_OK) return engine_error(&err);
    for (int k = 0; k < p->hold; k++) {
        const ctn_status status = ctn_batch_step(p->batch, 1, p->stats, &err);
        if (status != CTN_OK && status != CTN_FROZEN) return engine_error(&err), EXIT_RUN;
        for (int w = 0; w < a->worlds && status == CTN_FROZEN; w++) {
            char why[512];
            if (!p->stats[w].frozen || p->frozen[w]) continue;
            p->frozen[w] = true, mpc_worlds_leave(m, w);
            warning("world %d: the plant froze at %g s: %s", w, p->stats[w].frozen_time,
                    ctn_freeze_report(&p->model, ctn_batch_configuration(p->batch), &p->stats[w], why, sizeof why));
        }
        if (p->recorder && ctn_recorder_add(p->recorder, p->stats, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    }
    return EXIT_OK;
}

/// A row of each world that goes on.
static void put_rows(const mpc_asked *a, const mpc_worlds *m, const moved_worlds *p, double time, int nx, FILE *to)
{
    for (int w = 0; w < a->worlds; w++) {
        int group;
        const mpc_state now = mpc_worlds_state(m, w, &group);
        if (mpc_worlds_lost(m, w)) continue;
        fprintf(to, "%.17g,%d", time, w), mpc_numbers(to, p->u + w * p->told, p->told), mpc_numbers(to, p->x + w * nx, nx);
        fprintf(to, ",%.17g,%d,%.6f\n", now.planned, now.iterations, now.seconds / group);
    }
}

/// How many worlds plans go on for.
static int going(const mpc_worlds *m)
{
    int count = 0;
    for (int w = 0; w < mpc_worlds_count(m); w++) count += !mpc_worlds_lost(m, w);
    return count;
}

static void print_distances(const mpc_asked *a, const mpc_worlds *m)
{
    for (int k = 0; k < a->s.scene->optimize.ncost; k++) {
        const cost_term term = a->s.scene->optimize.cost[k].term;
        double squares = 0, farthest = 0, rms, most;
        int count = 0;
        for (int w = 0; w < a->worlds; w++)
            if (!mpc_worlds_lost(m, w) && mpc_worlds_distance(m, w, k, &rms, &most))
                squares += rms * rms, farthest = fmax(farthest, most), count++;
        if (count)
            printf("  %-11s %.4g %s from its target as root of the mean square, %.4g at most, of %d worlds\n",
                   cost_term_name(term), sqrt(squares / count), mpc_unit(term), farthest, count);
    }
}

/// What plants missed limits by, at most of all worlds that go on.
static void print_limits(const mpc_asked *a, const mpc_worlds *m)
{
    double planned = 0;
    for (int w = 0; w < a->worlds; w++)
        if (!mpc_worlds_lost(m, w)) planned = fmax(planned, mpc_worlds_state(m, w, NULL).violation);
    if (a->s.scene->optimize.nlimit) printf("limits        the last plans miss them by up to %.2g\n", planned);
    for (int k = 0; k < a->s.scene->optimize.nlimit; k++) {
        const scene_limit *const t = &a->s.scene->optimize.limits[k];
        double most = 0;
        for (int w = 0; w < a->worlds; w++)
            if (!mpc_worlds_lost(m, w)) most = fmax(most, mpc_worlds_missed(m, w, k));
        mpc_print_limit(t, most);
    }
}

static void print_summary(const mpc_asked *a, const mpc_worlds *m, const moved_worlds *p, told *t)
{
    const mpc_state first = mpc_worlds_state(m, 0, NULL);
    double sum = 0, *const cost = p->u;  // what they were told is over
    int alive = 0, froze = 0;
    for (int w = 0; w < a->worlds; w++) {
        froze += p->frozen[w];
        if (!mpc_worlds_lost(m, w)) cost[alive++] = mpc_worlds_state(m, w, NULL).cost;
    }
    qsort(cost, (size_t)alive, sizeof *cost, mpc_compare), qsort(t->seconds, (size_t)t->knots, sizeof *t->seconds, mpc_compare);
    for (int k = 0; k < t->knots; k++) sum += t->seconds[k];
    printf("followed      %g s, %d knots of %g s, plans of %g s by %s, %d worlds\n", t->knots * first.length, t->knots,
           first.length, a->how.horizon, mpc_planner_of(a), a->worlds);
    printf("lost          %d worlds whose plants froze, %d from where no plan went on\n", froze, a->worlds - alive - froze);
    print_distances(a, m), print_limits(a, m);
    if (alive)
        printf("cost          %.6g over time (median), %.6g at least, %.6g at most\n", cost[alive / 2], cost[0], cost[alive - 1]);
    printf("plans         %.3f ms a knot for all of them (median), %.3f ms at most; %d of %d took longer than a knot",
           1e3 * t->seconds[t->knots / 2], 1e3 * t->seconds[t->knots - 1], t->late, t->knots);
    if (a->how.deadline > 0) printf(", %d than the deadline", t->missed);
    printf("\n  a second    %.0f iterations, with what else plans take\n", (double)t->iterations / sum);
}

/// Knot after knot; rows have the states that a knot begins with.
static int follow(const mpc_asked *a, mpc_worlds *m, moved_worlds *p, FILE *to)
{
    ctn_error err;
    const int nq = ctn_model_nq(a->s.model), nv = ctn_model_nv(a->s.model);
    const double length = mpc_worlds_state(m, 0, NULL).length;
    told t = {.knots = mpc_knots(a, length)};
    if (!t.knots) return EXIT_USAGE;
    t.seconds = calloc((size_t)t.knots, sizeof *t.seconds);
    int status = t.seconds ? EXIT_OK : run_error("not enough memory");
    fputs("time,world", to), mpc_names(to, "u", p->told), mpc_names(to, "q", nq), mpc_names(to, "v", nv);
    fputs(",planned,iterations,seconds\n", to);
    for (int k = 0; k < t.knots && status == EXIT_OK; k++) {
        look(p, a->worlds, nq, nv);
        const double began = clock_now();
        const ctn_status made = mpc_worlds_step(m, p->x, p->u, &err);
        t.seconds[k] = clock_now() - began, t.late += t.seconds[k] > length;
        t.missed += a->how.deadline > 0 && t.seconds[k] > a->how.deadline;
        if (*stop_flag()) status = run_error("interrupted at %g s", k * length);
        else if (made == CTN_FROZEN || made == CTN_UNAVAILABLE) warning("%g s: %s", k * length, err.message);
        else if (made != CTN_OK) status = engine_error(&err);
        if (status == EXIT_OK && !going(m))
            status = run_error("no plan goes on from where any of the worlds is at %g s", k * length);
        if (status != EXIT_OK) break;
        for (int w = 0; w < a->worlds; w++) t.iterations += mpc_worlds_lost(m, w) ? 0 : mpc_worlds_state(m, w, NULL).iterations;
        put_rows(a, m, p, k * length, nq + nv, to);
        status = move(a, p, m);
    }
    if (status == EXIT_OK && !a->quiet) print_summary(a, m, p, &t);
    if (status == EXIT_OK && going(m) < a->worlds) status = EXIT_RUN;
    free(t.seconds);
    return status;
}

int mpc_follow_worlds(const arguments *args, const mpc_asked *a)
{
    ctn_error err;
    moved_worlds plants = {0};
    new_file f = {0};
    mpc_worlds *m = NULL;
    const int nq = ctn_model_nq(a->s.model), nv = ctn_model_nv(a->s.model);
    const scene_optimize *const o = &a->s.scene->optimize;
    int status = open_plants(args, a, o->knot > 0 ? o->knot : a->s.cfg.dt, &plants);
    if (status == EXIT_OK) {
        ctn_batch_config cfg = a->s.cfg;
        cfg.worlds = a->worlds;
        look(&plants, a->worlds, nq, nv);
        m = mpc_worlds_open(a->s.scene, a->s.model, &cfg, &a->how, a->seed, plants.x, &err);
        if (!m) status = err.status == CTN_INTERRUPTED ? run_error("interrupted before the first plans") : status_error(&err, "");
        double most = 0;
        for (int w = 0; w < a->worlds && m; w++) most = fmax(most, mpc_worlds_state(m, w, NULL).violation);
        mpc_warn_of_limits(&a->s.scene->optimize, most);
    }
    if (status == EXIT_OK && new_file_open(&f, a->table, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    else if (status == EXIT_OK) {
        status = follow(a, m, &plants, f.stream);
        if (new_file_close(&f, true, &err) != CTN_OK) status_error(&err, ""), status = EXIT_RUN;
    }
    status = close_plants(&plants, status);
    mpc_worlds_close(m);
    return status;
}
