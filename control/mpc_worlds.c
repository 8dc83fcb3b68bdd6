#include "control/mpc_worlds.h"

#include "control/mpc_parts.h"
#include "sim/base/clock.h"
#include "sim/base/status.h"

#include <catena/motors.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mpc_worlds {
    int worlds, nx, nu;  // the second: of states as callers have them
    plan_threads *threads;
    const volatile int *interrupt;
    mpc **of;    // [worlds]
    bool *lost;  // [worlds]
    size_t parameters;
    double *values;  // [worlds][parameters]
    // of the call in hand
    const double *x;
    double *u, time;
    const bool *which;
    pthread_mutex_t lock;  // of what follows
    ctn_status status;     // the gravest of all
    ctn_error *err;
};

// ---- statuses

/// A world without a plan leaves the others alone.
static bool loses(ctn_status status) { return status == CTN_FROZEN || status == CTN_UNAVAILABLE; }
static int grave(ctn_status status) { return status == CTN_OK ? 0 : loses(status) ? 1 : 2; }

static void note(mpc_worlds *m, ctn_status status, const ctn_error *err)
{
    pthread_mutex_lock(&m->lock);
    if (grave(status) > grave(m->status)) {
        m->status = status;
        if (m->err) *m->err = *err;
    }
    pthread_mutex_unlock(&m->lock);
}

/// Worlds of a group that go on, and what they need of the thread.
typedef struct {
    mpc_worlds *all;
    const plan_group *group;
    int count, *world;  // [count]
    ilqr **solver;      // likewise
    plan_world **plan;
    const double **x0;
    ctn_status *status;
    double *next, *told, *x;  // [count][nx], [nu], [nx]
    bool *good;
} going;

static void leave_out(going *g, int i, ctn_status status, const ctn_error *err)
{
    note(g->all, status, err);
    if (loses(status)) g->all->lost[g->world[i]] = true;
    g->status[i] = status;
}

/// Those that are left.
static void close_up(going *g)
{
    int left = 0;
    for (int i = 0; i < g->count; i++)
        if (g->status[i] == CTN_OK)
            g->status[left] = CTN_OK, g->solver[left] = g->solver[i], g->plan[left] = g->plan[i], g->world[left++] = g->world[i];
    g->count = left;
}

static mpc *world_of(const going *g, int i) { return g->all->of[g->world[i]]; }

/// Whether the caller wants to be back.
static bool interrupted(mpc_worlds *m)
{
    ctn_error err;
    if (!m->interrupt || !*m->interrupt) return false;
    return note(m, fail(&err, CTN_INTERRUPTED, "interrupted"), &err), true;
}

static bool open_going(going *g, mpc_worlds *m, const plan_group *group)
{
    const size_t n = (size_t)group->count, nx = (size_t)scene_plant_of(group->plant)->nx, nu = (size_t)m->nu;
    *g = (going){.all = m,
                 .group = group,
                 .world = calloc(n, sizeof *g->world),
                 .solver = calloc(n, sizeof(ilqr *)),
                 .plan = calloc(n, sizeof(plan_world *)),
                 .x0 = calloc(n, sizeof(double *)),
                 .status = calloc(n, sizeof *g->status),
                 .next = calloc(n * (2 * nx + nu) + 1, sizeof *g->next),
                 .good = calloc(n, sizeof *g->good)};
    g->told = g->next + n * nx, g->x = g->told + n * nu;
    if (g->world && g->solver && g->plan && g->x0 && g->status && g->next && g->good) return true;
    ctn_error err;
    note(m, fail(&err, CTN_NO_MEMORY, "not enough memory for plans"), &err);
    return false;
}

static void close_going(going *g)
{
    free(g->world), free(g->solver), free(g->plan), free(g->x0), free(g->status), free(g->next), free(g->good);
}

/// World w takes part, on this thread, if its parameters can be had.
static bool take(going *g, int w)
{
    mpc *const m = g->all->of[w];
    ctn_error err;
    const ctn_status status = plan_world_take(&m->plan, m->solver, g->group, w, &err);
    if (status != CTN_OK) return note(g->all, status, &err), g->all->lost[w] = true, false;
    g->status[g->count] = CTN_OK, g->solver[g->count] = m->solver, g->plan[g->count] = &m->plan;
    g->world[g->count++] = w;
    return true;
}

/// Whether plans of some of them can be made better.
static bool some_run(const going *g)
{
    bool run = g->count && !g->solver[0];  // samples always
    for (int i = 0; i < g->count && !run; i++) run = plan_world_runs(g->plan[i], g->solver[i]);
    return run;
}

/// Iterations of all: so many, or, with a deadline (`seconds` after `began`), one and others while the longest of them still fits
/// in.
static void iterate(going *g, int iterations, double began, double seconds)
{
    ctn_error err;
    double longest = 0, last = clock_now();
    for (int k = 0; some_run(g); k++) {
        if (seconds > 0 ? k && last - began + longest > seconds : k >= iterations) break;
        if (g->solver[0]) plan_worlds_step(g->group, g->count, g->plan, g->solver, g->status, &err);
        for (int i = 0; i < g->count && !g->solver[0]; i++) g->status[i] = sampling_step(world_of(g, i)->sampler, &err);
        for (int i = 0; i < g->count; i++)
            if (g->status[i] != CTN_OK) leave_out(g, i, g->status[i], &err);
        close_up(g);
        const double after = clock_now();
        longest = fmax(longest, after - last), last = after;
    }
}

static void judge(going *g)
{
    ctn_error err;
    for (int i = 0; i < g->count; i++) {
        const ctn_status status = mpc_judge(world_of(g, i), &err);
        if (status != CTN_OK) leave_out(g, i, status, &err);
    }
    close_up(g);
}

// ---- first plans

static void begin_group(void *context, const plan_group *group)
{
    mpc_worlds *const m = context;
    going g;
    ctn_error err;
    if (interrupted(m) || !open_going(&g, m, group)) return;
    for (int w = group->first; w < group->first + group->count; w++)
        if (!m->which || m->which[w]) take(&g, w);
    for (int i = 0; i < g.count; i++) {
        mpc *const one = world_of(&g, i);
        const double *const x = mpc_state_at(one, m->x + (size_t)g.world[i] * (size_t)m->nx);
        m->lost[g.world[i]] = false;
        mpc_waits(one, m->time), mpc_begin_limits(one);
        if (one->solver) g.status[i] = ilqr_begin(one->solver, x, one->guess, &err);
        else sampling_begin(one->sampler, x, one->guess);
        if (g.status[i] != CTN_OK) leave_out(&g, i, g.status[i], &err);
    }
    close_up(&g);
    iterate(&g, m->of[group->first]->first, 0, 0), judge(&g);
    close_going(&g);
}

static ctn_status run(mpc_worlds *m, void (*does)(void *context, const plan_group *g), ctn_error *err)
{
    ctn_error *const why = err ? err : calloc(1, sizeof *why);
    m->status = CTN_OK, m->err = why;
    plan_threads_run(m->threads, does, m);
    if (!err) free(why);
    return m->status;
}

ctn_status mpc_worlds_begin(mpc_worlds *m, const bool *which, const double *x, double time, ctn_error *err)
{
    m->x = x, m->which = which, m->time = time;
    return run(m, begin_group, err);
}

// ---- knots

/// Where the model says that the knot leads, into next.
static void step_model(going *g)
{
    const plant *const p = scene_plant_of(g->group->plant);
    const size_t nx = (size_t)p->nx, nu = (size_t)g->all->nu;
    ctn_error err;
    for (int i = 0; i < g->count; i++) {
        memcpy(g->x + (size_t)i * nx, world_of(g, i)->x, nx * sizeof *g->x);
        memcpy(g->told + (size_t)i * nu, world_of(g, i)->last, nu * sizeof *g->told);
    }
    const ctn_status status = plant_steps(p, g->count, g->x, g->told, g->next, g->good, &err);
    for (int i = 0; i < g->count; i++) {
        memcpy(world_of(g, i)->next, g->next + (size_t)i * nx, nx * sizeof *g->next);
        if (status != CTN_OK) leave_out(g, i, status, &err);
        else if (!g->good[i])
            leave_out(g, i, fail(&err, CTN_FROZEN, "world %d: the model freezes in a step from where the plant is", g->world[i]),
                      &err);
    }
    close_up(g);
}

static void shift(going *g)
{
    ctn_error err;
    for (int i = 0; i < g->count; i++) g->x0[i] = world_of(g, i)->next, mpc_shift_limits(world_of(g, i));
    if (g->count && g->solver[0]) ilqr_shift_together(g->group->together, g->count, g->solver, g->x0, g->status, &err);
    for (int i = 0; i < g->count && !g->solver[0]; i++) sampling_shift(world_of(g, i)->sampler, g->x0[i]);
    for (int i = 0; i < g->count; i++)
        if (g->status[i] != CTN_OK) leave_out(g, i, g->status[i], &err);
    close_up(g);
}

static void step_group(void *context, const plan_group *group)
{
    mpc_worlds *const m = context;
    const double began = clock_now();
    const size_t nx = (size_t)m->nx, nu = (size_t)m->nu;
    going g;
    if (interrupted(m) || !open_going(&g, m, group)) return;
    for (int w = group->first; w < group->first + group->count; w++) {
        double *const u = m->u + (size_t)w * nu;
        if (m->lost[w] || !take(&g, w)) {
            memcpy(u, m->of[w]->last, nu * sizeof *u);
            continue;
        }
        mpc_tell(m->of[w], m->x + (size_t)w * nx, u);
    }
    if (g.count) step_model(&g);
    shift(&g);
    const scene_mpc *const how = &m->of[group->first]->how;
    iterate(&g, how->iterations, began, how->deadline / plan_threads_rounds(m->threads)), judge(&g);
    for (int i = 0; i < g.count; i++) mpc_follow_limits(world_of(&g, i));
    const double seconds = clock_now() - began;
    for (int i = 0; i < g.count; i++) world_of(&g, i)->state.seconds = seconds, mpc_move_on(world_of(&g, i));
    close_going(&g);
}

ctn_status mpc_worlds_step(mpc_worlds *m, const double *x, double *u, ctn_error *err)
{
    m->x = x, m->u = u;
    return run(m, step_group, err);
}

// ---- all of them

static bool open_worlds(mpc_worlds *m, const ctn_scene *scene, const ctn_model *model, const scene_mpc *how, uint64_t seed,
                        ctn_error *err)
{
    const size_t count = (size_t)m->worlds;
    m->of = calloc(count, sizeof(mpc *)), m->lost = calloc(count, sizeof *m->lost);
    m->values = calloc(count * m->parameters + 1, sizeof *m->values);
    if (!m->of || !m->lost || !m->values) return fail(err, CTN_NO_MEMORY, "not enough memory for %d worlds", m->worlds), false;
    for (int w = 0; w < m->worlds; w++) {
        if (!(m->of[w] = mpc_make(scene, model, how, seed + (uint64_t)w, plan_threads_plant(m->threads, 0),
                                  plan_threads_limits(m->threads, 0), true, err)))
            return false;
        if (!m->parameters) continue;
        double *const own = m->values + (size_t)w * m->parameters;
        memcpy(own, scene_plant_parameters(plan_threads_plant(m->threads, 0)), m->parameters * sizeof *own);
        m->of[w]->plan.parameters = own;
    }
    return true;
}

mpc_worlds *mpc_worlds_open(const ctn_scene *scene, const ctn_model *model, const ctn_batch_config *cfg, const scene_mpc *how,
                            uint64_t seed, const double *x0, ctn_error *err)
{
    if (mpc_check(scene, how, err) != CTN_OK) return NULL;
    mpc_worlds *const m = calloc(1, sizeof *m);
    if (!m) return fail(err, CTN_NO_MEMORY, "not enough memory for plans"), NULL;
    const bool samples = how->planner != PLANNER_ILQR;
    const ilqr_config solver = mpc_solver(scene);
    pthread_mutex_init(&m->lock, NULL);
    m->interrupt = cfg->interrupt, m->worlds = cfg->worlds, m->nx = ctn_model_nq(model) + ctn_model_nv(model),
    m->nu = ctn_model_ntarget(model), m->parameters = (size_t)cfg->parameter_count;
    m->threads =
        plan_threads_open(scene, model, cfg, how->horizon, samples ? how->samples : solver.alphas, samples ? NULL : &solver, err);
    bool opened = m->threads && open_worlds(m, scene, model, how, seed, err);
    if (opened && mpc_worlds_begin(m, NULL, x0, 0, err) == CTN_OK) return m;
    mpc_worlds_close(m);
    return NULL;
}

void mpc_worlds_close(mpc_worlds *m)
{
    if (!m) return;
    for (int w = 0; w < m->worlds && m->of; w++) mpc_close(m->of[w]);
    plan_threads_close(m->threads);
    pthread_mutex_destroy(&m->lock);
    free(m->of), free(m->lost), free(m->values), free(m);
}

ctn_status mpc_worlds_set_parameters(mpc_worlds *m, const double *values, ctn_error *err)
{
    const size_t worlds = (size_t)m->worlds, count = m->parameters;
    for (size_t w = 0; w < worlds && (count || !w); w++) {  // what one world cannot have none gets
        const ctn_status status = scene_plant_set_parameters(plan_threads_plant(m->threads, 0), values + w * count, err);
        if (status != CTN_OK) return status;
    }
    memcpy(m->values, values, worlds * count * sizeof *values);
    return CTN_OK;
}

void mpc_worlds_leave(mpc_worlds *m, int world) { m->lost[world] = true; }

int mpc_worlds_count(const mpc_worlds *m) { return m->worlds; }

mpc_state mpc_worlds_state(const mpc_worlds *m, int world, int *group)
{
    if (group) *group = plan_threads_group(m->threads, world);
    return mpc_get_state(m->of[world]);
}

bool mpc_worlds_lost(const mpc_worlds *m, int world) { return m->lost[world]; }

bool mpc_worlds_distance(const mpc_worlds *m, int world, int k, double *rms, double *most)
{
    return mpc_distance(m->of[world], k, rms, most);
}

double mpc_worlds_missed(const mpc_worlds *m, int world, int k) { return mpc_missed(m->of[world], k); }
