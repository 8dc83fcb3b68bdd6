/// Terms of rewards, in blocks of worlds: what they need is measured of all states of a block by the calls of catena/dynamics.h,
/// then each world is told.
///
/// A quantity is a function of one state (q, v) and of what motors are told, u: quantity_of(). Its derivatives are in
/// reward_gradient.c; weights, windows and sums are the same for them.
#include "control/reward_parts.h"

#include "sim/base/status.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };  // worlds measured at once, at most: many lanes, and memory that does not grow with the worlds
#define SLACK 1e-6    // of an interval, by which a state may miss a window

// ---- what there is to measure

static void measure_motors(reward *r, const reward_states *s)
{
    const size_t nv = (size_t)r->nv, nq = (size_t)r->nq, nu = (size_t)r->nu;
    memset(r->tau, 0, (size_t)s->count * nv * sizeof *r->tau);
    for (int i = 0, n; i < s->count && s->dt > 0; i += n) {  // of one time together
        const size_t w = (size_t)(s->first + i);
        for (n = 1; i + n < s->count && s->time[w + (size_t)n] == s->time[w];) n++;
        ctn_dynamics_set_time(r->dyn, s->time[w]);
        ctn_motor_map(r->dyn, n, s->q + w * nq, s->v + w * nv, s->u ? s->u + w * nu : NULL, r->tau + (size_t)i * nv);
    }
}

void reward_measure(reward *r, const reward_states *s)
{
    const double *const q = s->q + (size_t)s->first * (size_t)r->nq, *const v = s->v + (size_t)s->first * (size_t)r->nv;
    if (r->p) ctn_forward_kinematics(r->dyn, s->count, q, r->R, r->p);
    if (r->twist) ctn_link_twists(r->dyn, s->count, q, v, r->twist);
    if (r->totals) ctn_energy_momentum(r->dyn, s->count, q, v, r->totals);
    if (r->tau) measure_motors(r, s);
    if (r->away) ctn_model_difference(r->model, s->count, r->home, q, r->away);
}

// ---- quantities

/// a' b
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

void reward_turned(const reward *r, int link, int i, const double *x, double *y)
{
    const double *const R = r->R + ((size_t)i * (size_t)r->nlink + (size_t)link) * 9;
    for (int k = 0; k < 3; k++) y[k] = dot(R + 3 * k, x);
}

void reward_position(const reward *r, const scene_reward *t, int i, double *x)
{
    if (t->link < 0) {
        memcpy(x, r->totals[i].com, 3 * sizeof *x);
        return;
    }
    const double *const p = r->p + ((size_t)i * (size_t)r->nlink + (size_t)t->link) * 3;
    reward_turned(r, t->link, i, t->point, x);
    for (int k = 0; k < 3; k++) x[k] += p[k];
}

void reward_velocity(const reward *r, const scene_reward *t, int i, double *x)
{
    if (t->link < 0) {
        for (int k = 0; k < 3; k++) x[k] = r->totals[i].momentum_linear[k] / r->totals[i].mass;
        return;
    }
    const double *const w = r->twist + ((size_t)i * (size_t)r->nlink + (size_t)t->link) * 6, *const u = w + 3;
    double a[3];
    reward_turned(r, t->link, i, t->point, a);
    for (int k = 0; k < 3; k++) x[k] = u[k] + (w[(k + 1) % 3] * a[(k + 2) % 3] - w[(k + 2) % 3] * a[(k + 1) % 3]);
}

/// A number, or the square of what it misses its target by.
static double missed(const scene_reward *t, double x)
{
    return isnan(t->target[0]) ? x : (x - t->target[0]) * (x - t->target[0]);
}

/// Of world i of a block, its term k.
static double quantity_of(const reward *r, const reward_states *s, int i, int k)
{
    const scene_reward *const t = &r->terms[k];
    const size_t w = (size_t)(s->first + i), nv = (size_t)r->nv, nu = (size_t)r->nu;
    const bool *const counts = r->counts + (size_t)k * nv;
    double x[3], sum = 0;
    switch (t->term) {
    case REWARD_PROGRESS: reward_position(r, t, i, x); return dot(t->axis, x) - r->start[w * (size_t)r->nterm + (size_t)k];
    case REWARD_SPEED: reward_velocity(r, t, i, x); return missed(t, dot(t->axis, x));
    case REWARD_HEIGHT: reward_position(r, t, i, x); return missed(t, x[2]);
    case REWARD_UPRIGHT: reward_turned(r, t->link, i, t->axis, x); return x[2];
    case REWARD_REACH:
        reward_position(r, t, i, x);
        for (int c = 0; c < 3; c++) x[c] -= t->target[c];
        return sqrt(dot(x, x));
    case REWARD_POSTURE:
        for (size_t j = 0; j < nv; j++) sum += counts[j] ? r->away[(size_t)i * nv + j] * r->away[(size_t)i * nv + j] : 0;
        return sum;
    case REWARD_EFFORT:
        for (size_t j = 0; j < nv; j++) sum += counts[j] ? r->tau[(size_t)i * nv + j] * r->tau[(size_t)i * nv + j] : 0;
        return sum;
    case REWARD_ENERGY:
        for (size_t j = 0; j < nv; j++) sum += counts[j] ? fabs(r->tau[(size_t)i * nv + j] * s->v[w * nv + j]) : 0;
        return sum;
    case REWARD_SMOOTHNESS:
        for (size_t j = 0; j < nu && s->u && r->told[w]; j++) {
            const double rate = (s->u[w * nu + j] - r->before[w * nu + j]) / s->dt;
            sum += rate * rate;
        }
        return sum;
    case REWARD_ALIVE: reward_position(r, t, i, x); return x[2] >= t->above && x[2] <= t->below;
    default: return NAN;
    }
}

// ---- time

bool reward_within(const scene_reward *t, double time, double dt)
{
    return time >= t->from - SLACK * dt && time <= t->to + SLACK * dt;
}

double reward_share(const scene_reward *t, double time, double dt)
{
    const double begin = time - dt, from = begin > t->from ? begin : t->from, to = time < t->to ? time : t->to;
    if (to - from >= (1 - SLACK) * dt) return dt;
    return to - from > SLACK * dt ? to - from : 0;
}

static bool all_finite(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/// One state of one world.
static void tell(reward *r, const reward_states *s, int i)
{
    const size_t w = (size_t)(s->first + i), nterm = (size_t)r->nterm;
    const double time = s->dt > 0 ? s->time[w] : 0;
    double *const value = r->value + w * nterm;
    bool ends = false;
    for (int k = 0; k < r->nterm; k++) {
        const scene_reward *const t = &r->terms[k];
        const double part = reward_share(t, time, s->dt);
        const bool here = reward_within(t, time, s->dt), ending = t->term == REWARD_ALIVE && t->ends && here;
        if (!(t->at_end ? here : part > 0) && !ending) continue;
        const double x = quantity_of(r, s, i, k);
        if (t->at_end) value[k] = x;
        else value[k] += x * part;
        ends = ends || (ending && x == 0);
    }
    r->ended[w] = ends;
}

/// States of all worlds, or of those `which` says.
static void tell_all(reward *r, reward_states s, const bool *lost, const bool *which)
{
    const size_t nq = (size_t)r->nq, nv = (size_t)r->nv, nterm = (size_t)r->nterm;
    if (r->counted) memset(r->counted, 0, (size_t)r->worlds);
    for (int first = 0; first < r->worlds; first += r->block) {
        s.first = first, s.count = r->worlds - first < r->block ? r->worlds - first : r->block;
        int going = 0;
        for (int i = 0; i < s.count; i++) {
            const size_t w = (size_t)(first + i);
            if (r->ended[w] || (which && !which[w])) continue;
            const bool good = all_finite(s.q + w * nq, r->nq) && all_finite(s.v + w * nv, r->nv);
            r->failed[w] = r->failed[w] || !good || (lost && lost[w]);
            going += !r->failed[w];
        }
        if (!going) continue;
        reward_measure(r, &s);
        for (int i = 0; i < s.count; i++) {
            const size_t w = (size_t)(first + i);
            if (r->ended[w] || r->failed[w] || (which && !which[w])) continue;
            for (size_t k = 0; k < nterm && s.dt <= 0; k++) {  // what progress is counted from
                double x[3];
                if (r->terms[k].term != REWARD_PROGRESS) continue;
                reward_position(r, &r->terms[k], i, x);
                r->start[w * nterm + k] = dot(r->terms[k].axis, x);
            }
            tell(r, &s, i);
            if (r->counted) r->counted[w] = true;
        }
    }
}

void reward_begin(reward *r, const bool *begin, const double *q, const double *v)
{
    const size_t nterm = (size_t)r->nterm;
    for (size_t w = 0; w < (size_t)r->worlds; w++) {
        if (begin && !begin[w]) continue;
        memset(r->value + w * nterm, 0, nterm * sizeof *r->value);
        r->ended[w] = r->failed[w] = r->told[w] = r->told_earlier[w] = false;
    }
    tell_all(r, (reward_states){.q = q, .v = v}, NULL, begin);
}

void reward_step(reward *r, const double *time, double dt, const double *q, const double *v, const double *u, const bool *lost)
{
    tell_all(r, (reward_states){.dt = dt, .time = time, .q = q, .v = v, .u = u}, lost, NULL);
    if (r->earlier) memcpy(r->earlier, r->before, (size_t)r->worlds * (size_t)r->nu * sizeof *u);
    memcpy(r->told_earlier, r->told, (size_t)r->worlds * sizeof *r->told);
    if (u) memcpy(r->before, u, (size_t)r->worlds * (size_t)r->nu * sizeof *u);
    for (int w = 0; w < r->worlds; w++) r->told[w] = u != NULL;
}

size_t reward_numbers(const reward *r) { return 2 * (size_t)r->nterm + (size_t)r->nu + 3; }

void reward_flatten(reward *r, int world, bool load, double *flat)
{
    const size_t w = (size_t)world, n = (size_t)r->nterm, nu = (size_t)r->nu;
    double *const own[] = {r->value + w * n, r->start + w * n, r->before + w * nu};
    bool *const marks[] = {&r->told[w], &r->ended[w], &r->failed[w]};
    for (size_t k = 0; k < 3; k++, flat++)
        if (load) *marks[k] = *flat != 0;
        else *flat = *marks[k];
    for (size_t k = 0; k < 3; k++) {
        const size_t size = k < 2 ? n : nu;
        memcpy(load ? own[k] : flat, load ? flat : own[k], size * sizeof *flat);
        flat += size;
    }
}

void reward_end(const reward *r, double *total, double *terms, bool *ended)
{
    for (size_t w = 0; w < (size_t)r->worlds; w++) {
        double sum = 0;
        for (size_t k = 0; k < (size_t)r->nterm; k++) {
            const double x = r->failed[w] ? NAN : r->terms[k].weight * r->value[w * (size_t)r->nterm + k];
            if (terms) terms[w * (size_t)r->nterm + k] = x;
            sum += x;
        }
        if (total) total[w] = isfinite(sum) ? sum : NAN;
        if (ended) ended[w] = r->ended[w];
    }
}

// ---- open and close

/// Chooses the degrees of freedom of a link.
static void choose(const ctn_link *link, bool *counts)
{
    for (int j = 0; j < link->nv; j++) counts[link->vadr + j] = true;
}

/// What a term counts of: counts [nv], false at first.
static void choose_joints(const reward *r, const scene_reward *t, bool *counts)
{
    for (int k = 0; k < t->njoint; k++) choose(ctn_model_link(r->model, t->joints[k]), counts);
    for (int l = 0; l < r->nlink && !t->joints; l++) {
        const ctn_link *const link = ctn_model_link(r->model, l);
        if (t->term != REWARD_POSTURE || link->joint != CTN_FREE) choose(link, counts);
    }
}

static double *numbers(size_t n, bool *room)
{
    double *const x = calloc(n + 1, sizeof *x);
    *room = *room && x;
    return x;
}

/// Room for what the terms need. False: there is none.
static bool make_room(reward *r)
{
    const size_t nlink = (size_t)r->nlink, nq = (size_t)r->nq, nv = (size_t)r->nv, nterm = (size_t)r->nterm;
    const size_t worlds = (size_t)r->worlds, block = (size_t)r->block;
    bool place = false, motion = false, centre = false, motors = false, posture = false, room = true;
    for (int k = 0; k < r->nterm; k++) {
        const reward_term term = r->terms[k].term;
        const bool link = r->terms[k].link >= 0;
        place = place || link;  // velocities of points ask for the axes of links, too
        motion = motion || (link && term == REWARD_SPEED);
        centre = centre ||
                 (!link && (term == REWARD_PROGRESS || term == REWARD_SPEED || term == REWARD_HEIGHT || term == REWARD_REACH));
        motors = motors || term == REWARD_EFFORT || term == REWARD_ENERGY;
        posture = posture || term == REWARD_POSTURE;
    }
    if (place) r->R = numbers(block * nlink * 9, &room), r->p = numbers(block * nlink * 3, &room);
    if (motion) r->twist = numbers(block * nlink * 6, &room);
    if (centre) r->totals = calloc(block, sizeof *r->totals), room = room && r->totals;
    if (motors) r->tau = numbers(block * nv, &room);
    if (posture) r->home = numbers(block * nq, &room), r->away = numbers(block * nv, &room);
    r->value = numbers(worlds * nterm, &room), r->start = numbers(worlds * nterm, &room);
    r->before = numbers(worlds * (size_t)r->nu, &room);
    r->ended = calloc(worlds, 1), r->failed = calloc(worlds, 1), r->told = calloc(worlds, 1), r->told_earlier = calloc(worlds, 1);
    r->counts = calloc(nterm * nv + 1, 1);
    return room && r->ended && r->failed && r->told && r->told_earlier && r->counts;
}

reward *reward_open(const ctn_scene *scene, const ctn_model *model, int worlds, ctn_error *err)
{
    if (missing(__func__, "scene", scene, err) || missing(__func__, "model", model, err)) return NULL;
    if (worlds < 1) return fail(err, CTN_BAD_ARGUMENT, "reward_open: expected at least one world, found %d", worlds), NULL;
    if (!scene->nreward)
        return fail(err, CTN_BAD_SCENE, "%s: the scene has no reward; say in `reward` what worlds are to be good at",
                    scene->path),
               NULL;
    return reward_open_terms(scene->reward, scene->nreward, model, worlds, err);
}

reward *reward_open_terms(const scene_reward *terms, int count, const ctn_model *model, int worlds, ctn_error *err)
{
    reward *const r = calloc(1, sizeof *r);
    const size_t nterm = (size_t)count;
    if (r) {
        *r = (reward){.model = model, .worlds = worlds, .block = worlds < BLOCK ? worlds : BLOCK, .nterm = count};
        r->nlink = ctn_model_nlink(model), r->nq = ctn_model_nq(model), r->nv = ctn_model_nv(model);
        r->nu = ctn_model_ntarget(model);
        r->terms = calloc(nterm, sizeof *r->terms);
    }
    if (!r || !r->terms) {
        reward_close(r);
        return fail(err, CTN_NO_MEMORY, "not enough memory for the reward"), NULL;
    }
    memcpy(r->terms, terms, nterm * sizeof *r->terms);
    if (!make_room(r)) {
        reward_close(r);
        return fail(err, CTN_NO_MEMORY, "not enough memory for the rewards of %d worlds", worlds), NULL;
    }
    for (size_t k = 0; k < nterm; k++) {
        choose_joints(r, &r->terms[k], r->counts + k * (size_t)r->nv);
        r->terms[k].joints = NULL, r->terms[k].njoint = 0;  // the scene's
    }
    for (int i = 0; i < r->block && r->home; i++) ctn_model_initial_state(model, r->home + (size_t)i * (size_t)r->nq, NULL);
    r->dyn = ctn_dynamics_create(model, NULL, err);
    if (r->dyn) return r;
    reward_close(r);
    return NULL;
}

static void close_gradient(reward *r)
{
    free(r->earlier), free(r->by_tau), free(r->tau_by_q), free(r->tau_by_v), free(r->tau_by_u), free(r->counted);
    r->earlier = r->by_tau = r->tau_by_q = r->tau_by_v = r->tau_by_u = NULL, r->counted = NULL;
}

ctn_status reward_open_gradient(reward *r, ctn_error *err)
{
    const size_t worlds = (size_t)r->worlds, nv = (size_t)r->nv, nu = (size_t)r->nu;
    bool room = true;
    if (r->counted) return CTN_OK;
    r->earlier = numbers(worlds * nu, &room), r->by_tau = numbers(nv, &room);
    if (r->tau) {
        r->tau_by_q = numbers(REWARD_GROUP * nv * nv, &room), r->tau_by_v = numbers(REWARD_GROUP * nv * nv, &room);
        r->tau_by_u = numbers(REWARD_GROUP * nv * nu, &room);
    }
    if (room) r->counted = calloc(worlds, 1);
    if (r->counted) return CTN_OK;
    close_gradient(r);
    return fail(err, CTN_NO_MEMORY, "not enough memory for the gradients of the rewards of %d worlds", r->worlds);
}

void reward_close(reward *r)
{
    if (!r) return;
    ctn_dynamics_free(r->dyn);
    free(r->R), free(r->p), free(r->twist), free(r->totals), free(r->tau), free(r->home), free(r->away);
    free(r->value), free(r->start), free(r->before), free(r->ended), free(r->failed), free(r->told), free(r->told_earlier);
    free(r->counts), free(r->terms);
    close_gradient(r);
    free(r);
}
