#include "control/trajectory.h"

#include "control/costs.h"
#include "control/limits.h"
#include "control/reward_cost.h"
#include "control/scene_plant.h"
#include "control/told_last.h"
#include "control/trajectory_end.h"
#include "sim/base/new_file.h"
#include "sim/base/status.h"
#include "sim/engine/engine.h"

#include <catena/controller.h>
#include <catena/motors.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct trajectory {
    const ctn_scene *scene;
    const ctn_model *model;
    ctn_batch_config cfg;
    scene_plant *plant;
    ilqr *solver;
    limits *limits;  // NULL: none
    lagrangian *lagrangian;
    reward_cost *reward;              // NULL: none
    added_cost more;                  // context NULL: none
    double cost;                      // without what limits add
    double duration, *running, *end;  // [ncost]
    int nq, nv, nu, nx, n;            // the latter two of states, and of changes of them (control/told_last.h)
};

static double cost_besides(const plant *p, const added_cost *of, int count, const double *X, const double *U)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k <= p->knots && of[i].context; k++)
            of[i].cost(of[i].context, 1, &k, X + (size_t)k * (size_t)p->nx, U + (k < p->knots ? (size_t)k * (size_t)p->m : 0),
                       &sum);
    return sum;
}

double trajectory_cost(costs *c, int ncost, const plant *p, const added_cost *besides, int count, const double *X,
                       const double *U, double *running, double *end)
{
    costs_terms(c, X, U, running, end);
    double sum = cost_besides(p, besides, count, X, U);
    for (int k = 0; k < ncost; k++) sum += running[k] + end[k];
    return sum;
}

/// What it earns, and costs of the caller's.
enum { BESIDES = 2 };
static const added_cost *besides(const trajectory *t, added_cost of[BESIDES])
{
    of[0] = t->reward ? reward_cost_added(t->reward) : (added_cost){0}, of[1] = t->more;
    return of;
}

/// What the trajectory costs, and how it keeps to limits.
static void judge(trajectory *t)
{
    t->cost = ilqr_get_state(t->solver).cost;
    if (!t->lagrangian) return;
    const double *const X = ilqr_states(t->solver), *const U = ilqr_controls(t->solver);
    lagrangian_look(t->lagrangian, X, U);
    t->cost = trajectory_cost(scene_plant_costs(t->plant), t->scene->optimize.ncost, scene_plant_of(t->plant),
                              besides(t, (added_cost[BESIDES]){{0}}), BESIDES, X, U, t->running, t->end);
}

/// The scene's start, x [nx], before which motors were told what it says.
static void begin_at(const trajectory *t, double *x)
{
    ctn_model_initial_state(t->model, x, x + t->nq);
    if (scene_plant_of(t->plant)->carried) ctn_model_targets(t->model, x + t->nq + t->nv);
}

/// From the scene's start, with what it guesses, or, again, with what has been found.
static ctn_status begin(trajectory *t, bool again, ctn_error *err)
{
    const size_t told = (size_t)trajectory_knots(t) * (size_t)t->nu;
    double *const U = calloc(told + 1, sizeof *U);
    double *const x0 = calloc((size_t)t->nx + 1, sizeof *x0);
    ctn_status status = U && x0 ? CTN_OK : fail(err, CTN_NO_MEMORY, "not enough memory for a guess");
    if (status == CTN_OK) {
        begin_at(t, x0);
        if (again) memcpy(U, ilqr_controls(t->solver), told * sizeof *U);
        else scene_plant_guess(t->plant, U);
        status = ilqr_begin(t->solver, x0, U, err);
        if (status == CTN_OK) judge(t);
    }
    free(U), free(x0);
    return status;
}

ctn_status trajectory_set_parameters(trajectory *t, const double *values, ctn_error *err)
{
    const size_t count = (size_t)t->cfg.parameter_count;
    double *const old = calloc(count + 1, sizeof *old);
    if (!old) return fail(err, CTN_NO_MEMORY, "not enough memory for parameters");
    memcpy(old, scene_plant_parameters(t->plant), count * sizeof *old);
    ctn_status status = scene_plant_set_parameters(t->plant, values, err);
    if (status == CTN_OK) {
        if (t->lagrangian) lagrangian_begin_again(t->lagrangian);
        status = begin(t, true, err);
        if (status != CTN_OK && scene_plant_set_parameters(t->plant, old, NULL) == CTN_OK) begin(t, true, NULL);
    }
    free(old);
    return status;
}

static bool open_limits(trajectory *t, ctn_error *err)
{
    const scene_optimize *const o = &t->scene->optimize;
    const plant *const p = scene_plant_of(t->plant);
    if (!o->nlimit) return true;
    t->limits = limits_open(t->scene, t->model, p->knots, scene_plant_knot(t->plant), err);
    if (!t->limits || limits_check(t->limits, err) != CTN_OK) return false;
    t->lagrangian = lagrangian_open(p, limits_of(t->limits), o->limit_tolerance, o->penalty, err);
    if (!t->lagrangian) return false;
    scene_plant_add(t->plant, lagrangian_added(t->lagrangian));
    return true;
}

ilqr_config trajectory_settings(const ctn_scene *scene, int knots)
{
    const scene_optimize *const o = &scene->optimize;
    return (ilqr_config){.backward = o->backward < knots ? o->backward : knots,
                         .forward = o->forward < knots ? o->forward : knots,
                         .zero_start = o->method == 1,
                         .cost_alone = o->method == 1,
                         .second = o->method == 2,
                         .alphas = o->alphas,
                         .rho = o->rho,
                         .tolerance = o->tolerance};
}

enum { MOST_AT_ONCE = 256 };  // points of roll-outs: all alpha of all blocks, as lanes of several threads have room for many

trajectory *trajectory_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, double duration,
                            const added_cost *more, ctn_error *err)
{
    const scene_optimize *const o = &scene->optimize;
    trajectory *const t = calloc(1, sizeof *t);
    if (!t) return fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory"), NULL;
    t->scene = scene, t->model = model, t->cfg = *cfg, t->duration = duration;
    t->nq = ctn_model_nq(model), t->nv = ctn_model_nv(model), t->nu = ctn_model_ntarget(model);
    t->running = calloc((size_t)o->ncost + 1, sizeof *t->running), t->end = calloc((size_t)o->ncost + 1, sizeof *t->end);
    double *const lower = calloc(2 * (size_t)t->nu + 1, sizeof *lower), *const upper = lower + t->nu;
    bool opened = t->running && t->end && lower;
    if (!opened) fail(err, CTN_NO_MEMORY, "not enough memory for a trajectory");
    const int points = o->alphas * o->forward, at_once = points < MOST_AT_ONCE ? points : MOST_AT_ONCE;
    opened = opened && (t->plant = scene_plant_open(scene, model, cfg, duration, at_once, err));
    if (opened) t->nx = scene_plant_of(t->plant)->nx, t->n = scene_plant_of(t->plant)->n;
    if (opened && o->reward > 0) {
        t->reward = reward_cost_open(scene, model, trajectory_knots(t), trajectory_knot(t), err);
        if ((opened = t->reward)) scene_plant_add(t->plant, reward_cost_added(t->reward));
    }
    opened = opened && open_limits(t, err);  // after rewards, as of many worlds, so that sums are the same
    if (opened && more) t->more = *more, scene_plant_add(t->plant, *more);
    if (opened) {
        const bool bounded = scene_plant_bounds(t->plant, lower, upper);
        ilqr_config own = trajectory_settings(scene, scene_plant_of(t->plant)->knots);
        own.lower = bounded ? lower : NULL, own.upper = bounded ? upper : NULL;
        t->solver = ilqr_open(scene_plant_of(t->plant), &own, err);
        opened = t->solver && begin(t, false, err) == CTN_OK;
    }
    free(lower);
    if (opened) return t;
    trajectory_close(t);
    return NULL;
}

void trajectory_close(trajectory *t)
{
    if (!t) return;
    ilqr_close(t->solver), scene_plant_close(t->plant), lagrangian_close(t->lagrangian), limits_close(t->limits);
    reward_cost_close(t->reward);
    free(t->running), free(t->end), free(t);
}

ctn_status trajectory_step(trajectory *t, ctn_error *err)
{
    const ctn_status status = t->lagrangian ? lagrangian_step(t->lagrangian, t->solver, err) : ilqr_step(t->solver, err);
    judge(t);
    return status;
}

lagrangian_state trajectory_limits(const trajectory *t)
{
    return t->lagrangian ? lagrangian_get_state(t->lagrangian) : (lagrangian_state){0};
}

double trajectory_limit(const trajectory *t, int k, int *active)
{
    int first, some;
    const int count = limits_rows(t->limits, k, &first);
    double most = 0;
    *active = 0;
    for (int i = first; i < first + count; i++) {
        most = fmax(most, lagrangian_row(t->lagrangian, i, &some));
        *active = some > *active ? some : *active;
    }
    return most;
}

const double *trajectory_multipliers(const trajectory *t, int *rows)
{
    *rows = t->limits ? limits_of(t->limits)->rows : 0;
    return t->lagrangian ? lagrangian_multipliers(t->lagrangian) : NULL;
}

ilqr_state trajectory_state(const trajectory *t)
{
    ilqr_state x = ilqr_get_state(t->solver);
    x.cost = t->cost;
    if (t->lagrangian) x.stop = lagrangian_get_state(t->lagrangian).stop;
    return x;
}

int trajectory_knots(const trajectory *t) { return scene_plant_of(t->plant)->knots; }
double trajectory_knot(const trajectory *t) { return scene_plant_knot(t->plant); }
ilqr *trajectory_solver(const trajectory *t) { return t->solver; }
const plant *trajectory_plant(const trajectory *t) { return scene_plant_of(t->plant); }

size_t trajectory_bytes(const trajectory *t, size_t *knot)
{
    const size_t each = scene_plant_bytes(t->plant);
    if (knot) *knot = each;
    return each * (size_t)trajectory_knots(t);
}

double trajectory_plays(const trajectory *t, int k, double *running)
{
    costs_terms(scene_plant_costs(t->plant), ilqr_states(t->solver), ilqr_controls(t->solver), t->running, t->end);
    *running = t->running[k];
    return t->running[k] + t->end[k];
}

// ---- files

/// What a checkpoint begins with; then the numbers of the solver.
typedef struct {
    char magic[16];
    uint64_t of, count;  // scene, method and duration, hashed; numbers
    uint64_t checksum;   // of the numbers
} saved_trajectory;

static const char magic[16] = "catena optimize";

static uint64_t identity_of(const trajectory *t)
{
    const ctn_batch_config *const c = &t->cfg;
    const double numbers[] = {c->method, c->order,     c->stages,         c->rho,     c->dt,
                              c->solver, c->tolerance, c->max_iterations, t->duration};
    XXH64_hash_t h = XXH3_64bits(numbers, sizeof numbers);
    for (int k = 0; k < t->scene->nfile; k++) h = XXH3_64bits_withSeed(t->scene->files[k].text, t->scene->files[k].length, h);
    return h;
}

/// Numbers of a checkpoint: of the solver, then of what limits add.
static size_t numbers_of(const trajectory *t)
{
    return ilqr_numbers(t->solver) + (t->lagrangian ? lagrangian_numbers(t->lagrangian) : 0);
}

static void flatten(const trajectory *t, bool load, double *numbers)
{
    ilqr_flatten(t->solver, load, numbers);
    if (t->lagrangian) lagrangian_flatten(t->lagrangian, load, numbers + ilqr_numbers(t->solver));
}

ctn_status trajectory_save(const trajectory *t, const char *path, ctn_error *err)
{
    const size_t count = numbers_of(t);
    double *const numbers = malloc(count * sizeof *numbers);
    if (!numbers) return fail(err, CTN_NO_MEMORY, "not enough memory for a checkpoint");
    flatten(t, false, numbers);
    saved_trajectory head = {.of = identity_of(t), .count = count, .checksum = XXH3_64bits(numbers, count * sizeof *numbers)};
    memcpy(head.magic, magic, sizeof magic);
    new_file f = {0};
    ctn_status status = new_file_open(&f, path, err);
    if (status == CTN_OK) {
        fwrite(&head, sizeof head, 1, f.stream), fwrite(numbers, sizeof *numbers, count, f.stream);
        status = new_file_close(&f, true, err);
    }
    free(numbers);
    return status;
}

ctn_status trajectory_restore(trajectory *t, const char *path, ctn_error *err)
{
    const size_t count = numbers_of(t);
    saved_trajectory head;
    FILE *const f = fopen(path, "rb");
    if (!f) return fail(err, CTN_IO, "%s: cannot be read: %s", path, strerror(errno));
    double *const numbers = malloc(count * sizeof *numbers);
    ctn_status status = CTN_OK;
    if (!numbers) status = fail(err, CTN_NO_MEMORY, "not enough memory for a checkpoint");
    else if (fread(&head, sizeof head, 1, f) != 1 || memcmp(head.magic, magic, sizeof magic))
        status = fail(err, CTN_BAD_ARGUMENT, "%s: this is no checkpoint of a trajectory, or only its beginning", path);
    else if (head.of != identity_of(t) || head.count != count)
        status = fail(err, CTN_BAD_ARGUMENT,
                      "%s: the checkpoint belongs to another scene, method, step or duration: take these, or begin anew without "
                      "--resume",
                      path);
    else if (fread(numbers, sizeof *numbers, count, f) != count || XXH3_64bits(numbers, count * sizeof *numbers) != head.checksum)
        status = fail(err, CTN_BAD_ARGUMENT, "%s: the checkpoint is damaged", path);
    else flatten(t, true, numbers), judge(t);
    free(numbers), fclose(f);
    return status;
}

static void put_names(FILE *to, const char *prefix, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%s%d", prefix, i);
}

static void put_numbers(FILE *to, const double *x, int count)
{
    for (int i = 0; i < count; i++) fprintf(to, ",%.17g", x[i]);
}

ctn_status trajectory_write(const trajectory *t, const char *path, ctn_error *err)
{
    new_file f = {0};
    const ctn_status status = new_file_open(&f, path, err);
    if (status != CTN_OK) return status;
    const int N = trajectory_knots(t), n = t->n;
    const size_t nu = (size_t)t->nu, gains = nu * (size_t)n, last = (size_t)(N - 1);
    const double *const X = ilqr_states(t->solver), *const U = ilqr_controls(t->solver), *const K = ilqr_gains(t->solver);
    double *const x = malloc(((size_t)t->nx + nu + gains) * sizeof *x), *const u = x + t->nx, *const Kend = u + nu;
    if (!x) return new_file_close(&f, false, NULL), fail(err, CTN_NO_MEMORY, "not enough memory for a plan");
    memcpy(u, U + last * nu, nu * sizeof *u), memcpy(x, X + (size_t)N * (size_t)t->nx, (size_t)t->nx * sizeof *x);
    if (!trajectory_end(trajectory_plant(t), trajectory_knot(t), t->nv, x, u, Kend))  // then it lets go
        ctn_model_targets(t->model, u), memset(Kend, 0, gains * sizeof *u);
    fprintf(f.stream, "time");
    put_names(f.stream, "u", t->nu), put_names(f.stream, "q", t->nq), put_names(f.stream, "v", t->nv);
    for (int i = 0; i < t->nu; i++)
        for (int j = 0; j < n; j++) fprintf(f.stream, ",K%d_%d", i, j);
    fputc('\n', f.stream);
    for (int k = 0; k <= N; k++) {
        fprintf(f.stream, "%.17g", k * trajectory_knot(t));
        put_numbers(f.stream, k < N ? U + (size_t)k * nu : u, t->nu);
        put_numbers(f.stream, k < N ? X + (size_t)k * (size_t)t->nx : x, t->nq + t->nv);
        put_numbers(f.stream, k < N ? K + (size_t)k * gains : Kend, t->nu * n);
        fputc('\n', f.stream);
    }
    free(x);
    return new_file_close(&f, true, err);
}

/// Where a line of the text begins that begins with "controller:"; NULL: there is none.
static const char *own_line(const char *text)
{
    static const char key[] = "controller:";
    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (!strncmp(at, key, sizeof key - 1)) return at;
    return NULL;
}

char *trajectory_scene(const ctn_scene *scene, const char *path, const char *table, const char *about, ctn_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";  // that some editors begin with
    const char *const whole = scene->files[0].text, *const text = strncmp(whole, mark, 3) ? whole : whole + 3,
                      *const old = own_line(text), *rest = old ? old + strcspn(old, "\n") : NULL;
    while (rest && rest[0] == '\n' && (rest[1] == ' ' || rest[1] == '\t')) rest += 1 + strcspn(rest + 1, "\n");  // a block of it
    const size_t length = strlen(text) + strlen(table) + strlen(about) + 80;
    char *const made = malloc(length);
    if (!made) return fail(err, CTN_NO_MEMORY, "not enough memory for a scene"), NULL;
    snprintf(made, length, "# %s\n%.*s%s%scontroller: {type: plan, table: \"%s\"}\n", about,
             old ? (int)(old - text) : (int)strlen(text), text, rest ? rest + (*rest == '\n') : "",
             *text && text[strlen(text) - 1] != '\n' ? "\n" : "", table);
    ctn_error why;
    ctn_scene *const reads = ctn_scene_parse(made, strlen(made), path, &why);
    const bool plays = reads && reads->controller.given && reads->controller.type == CONTROLLER_PLAN;
    char reason[400];
    snprintf(reason, sizeof reason, "%.390s", reads ? "it would be read as something else" : why.message);
    ctn_scene_free(reads);
    if (plays) return made;
    free(made);
    return fail(err, CTN_BAD_SCENE,
                "%s: a controller that plays the plan cannot be written into this text, whose top-level keys should begin "
                "lines of their own: %s",
                scene->path, reason),
           NULL;
}

/// Knot k of a run, from x to `next`, and the most that it misses limits by before its steps.
static ctn_status play_knot(const trajectory *t, ctn_batch *batch, int k, int steps, const double *x, double *next, double *u,
                            double *missed, ctn_error *err)
{
    const size_t told = (size_t)scene_plant_of(t->plant)->carried;
    ctn_status status = CTN_OK;
    for (int j = 0; j < steps && status == CTN_OK; j++) {
        const double *const from = j ? next : x;
        status = ctn_batch_step(batch, 1, NULL, err);
        ctn_batch_targets(batch, u);
        if (t->limits) *missed = fmax(*missed, limits_missed(t->limits, k, j > 0, from, u));
        ctn_batch_state(batch, next, next + t->nq);
        if (told) memcpy(next + t->nq + t->nv, j + 1 < steps ? x + t->nq + t->nv : u, told * sizeof *u);
    }
    return status;
}

ctn_status trajectory_value(const trajectory *t, const char *path, int finer, double *cost, double *missed, ctn_error *err)
{
    const int N = trajectory_knots(t), nx = t->nx, hold = scene_plant_hold(t->plant) * finer;
    *cost = *missed = NAN;
    ctn_scene *const scene = ctn_scene_load(path, err);
    ctn_model *const model = scene ? ctn_model_create(scene, err) : NULL;
    ctn_batch_config cfg = t->cfg;
    cfg.engine = engine_beside(cfg.engine), cfg.worlds = 1, cfg.threads = 1, cfg.dt /= finer, cfg.parallel = CTN_PARALLEL_WORLDS,
    cfg.parameter_count = 0;
    ctn_batch *const batch = model ? ctn_batch_create(model, &cfg, err) : NULL;
    double *const X = calloc((size_t)(N + 1) * (size_t)nx + 1, sizeof *X),
                  *const U = calloc((size_t)N * (size_t)t->nu + 1, sizeof *U), *const each = calloc((size_t)N + 1, sizeof *each);
    int *const knots = calloc((size_t)N + 1, sizeof *knots);
    ctn_status status = !batch                    ? (err ? err->status : CTN_NO_MEMORY)
                        : X && U && each && knots ? CTN_OK
                                                  : fail(err, CTN_NO_MEMORY, "not enough memory for what is played");
    if (status == CTN_OK) begin_at(t, X), ctn_batch_state(batch, X, X + t->nq);
    bool lives = true;
    double most = 0;
    for (int k = 0; k < N && status == CTN_OK && lives; k++) {
        double *const x = X + (size_t)k * (size_t)nx;
        knots[k] = k;
        status = play_knot(t, batch, k, hold, x, x + nx, U + (size_t)k * (size_t)t->nu, &most, err);
        if (status == CTN_FROZEN) status = CTN_OK, lives = false;
    }
    knots[N] = N;
    if (status == CTN_OK && lives) {
        *missed = t->limits ? fmax(most, limits_missed(t->limits, N, false, X + (size_t)N * (size_t)nx, U)) : 0;
        costs_cost(scene_plant_costs(t->plant), N, knots, X, U, each);
        costs_cost(scene_plant_costs(t->plant), 1, knots + N, X + (size_t)N * (size_t)nx, U, each + N);
        *cost = cost_besides(scene_plant_of(t->plant), besides(t, (added_cost[BESIDES]){{0}}), BESIDES, X, U);
        for (int k = 0; k <= N; k++) *cost += each[k];
    }
    ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
    free(X), free(U), free(each), free(knots);
    return status;
}
