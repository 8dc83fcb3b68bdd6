/// Records around the time that is shown.
#include "render/view/film.h"

#include "render/draw/interpolation.h"
#include "render/draw/poses.h"
#include "sim/base/clock.h"
#include "sim/record/recorded_states.h"
#include "sim/base/status.h"

#include <catena/contact.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct film {
    recorded from;
    ctn_model *model;
    size_t nq, nv, first, worlds;  // worlds from `first` on are looked at
    char lacks[120];
    recorded_states states;
    int64_t count;        // records
    const double *times;  // [count], s
    size_t *shown;        // [worlds], counted from `first`
    double *q[2], *v[2];  // of all worlds in records held[0], held[1]
    double *contacts;     // [states.worlds][ncontact][CTN_CONTACT_NUMBERS] in record `felt`; NULL: the file has none
    int64_t felt;         // negative: none
    int64_t held[2];      // negative: none
    float when[PLAYER_PLOT], energy[PLAYER_PLOT], iterations[PLAYER_PLOT];
    int plotted;
    bool running;
    double speed, from_time, from_clock;
};

/// Where the clock stands, within the recording.
static double clock_time(const film *f)
{
    const double t = f->running ? f->from_time + f->speed * (clock_now() - f->from_clock) : f->from_time;
    return fmin(fmax(t, f->times[0]), f->times[f->count - 1]);
}

static size_t contact_numbers(const film *f) { return (size_t)ctn_model_ncontact(f->model) * CTN_CONTACT_NUMBERS; }

// ---- what the file has

/// The record that is entry k of the plots: they are evenly spread over the records of a run.
static int64_t record_plotted(const film *f, int k) { return f->plotted > 1 ? (f->count - 1) * k / (f->plotted - 1) : 0; }

/// These of a dataset of the first world that is looked at.
static bool read_plot(film *f, const char *name, float *row)
{
    const size_t worlds = (size_t)f->from.cfg.worlds;
    double *const all = malloc(worlds * sizeof *all);
    bool ok = all && recorded_count(&f->from, name) >= f->count;
    for (int k = 0; k < f->plotted && ok; k++) {
        ok = recorded_rows(&f->from, name, H5T_NATIVE_DOUBLE, record_plotted(f, k), 1, worlds, all, NULL) == CTN_OK;
        row[k] = (float)all[f->first];
    }
    free(all);
    return ok;
}

/// Record k into one of the two places, not into that of `other`; which one.
static ctn_status hold(film *f, int64_t k, int64_t other, int *at, ctn_error *err)
{
    *at = f->held[0] == k || (f->held[1] != k && f->held[0] != other) ? 0 : 1;
    if (f->held[*at] == k) return CTN_OK;
    f->held[*at] = -1;
    const ctn_status status = recorded_states_read(&f->states, k, f->q[*at], f->v[*at], err);
    if (status == CTN_OK) f->held[*at] = k;
    return status;
}

static bool has_state(const film *f, int at, size_t world)
{
    return recorded_state_stands(f->q[at] + world * f->nq, f->nq) && recorded_state_stands(f->v[at] + world * f->nv, f->nv);
}

/// Worlds that were not run yet have no states: the others are shown.
static ctn_status choose_worlds(film *f, ctn_error *err)
{
    const size_t all = f->worlds;
    f->worlds = 0;
    for (size_t w = 0; w < all; w++)
        if (f->states.until[w] >= 0) f->shown[f->worlds++] = w;
    if (f->worlds < all) snprintf(f->lacks, sizeof f->lacks, "%zu worlds have not been run yet", all - f->worlds);
    if (f->states.no_rates)
        snprintf(f->lacks + strlen(f->lacks), sizeof f->lacks - strlen(f->lacks),
                 "%svelocities are not in the file: they are guessed", *f->lacks ? "; " : "");
    return f->worlds ? CTN_OK : fail(err, CTN_BAD_ARGUMENT, "%s: none of its worlds has been run yet", f->from.path);
}

static ctn_status open_states(film *f, ctn_error *err)
{
    f->nq = (size_t)ctn_model_nq(f->model), f->nv = (size_t)ctn_model_nv(f->model);
    const ctn_status status =
        recorded_states_open(&f->states, &f->from, f->model, (int64_t)f->first, (int)f->worlds, RECORDED_STATES_MOST, err);
    if (status != CTN_OK) return status;
    f->count = f->states.count, f->times = f->states.times, f->from_time = f->times[0];
    f->held[0] = f->held[1] = -1;
    bool ok = (f->shown = calloc(f->worlds, sizeof *f->shown));
    for (int k = 0; k < 2; k++)
        ok = (f->q[k] = calloc(f->worlds * f->nq + 1, sizeof **f->q)) &&
             (f->v[k] = calloc(f->worlds * f->nv + 1, sizeof **f->v)) && ok;
    f->felt = -1;
    if (recorded_count(&f->from, "contacts") > 0)
        ok = (f->contacts = calloc(f->worlds * contact_numbers(f) + 1, sizeof *f->contacts)) && ok;
    if (!ok) return fail(err, CTN_NO_MEMORY, "%s: not enough memory for %zu worlds", f->from.path, f->worlds);
    if (!f->from.rollout) {
        f->plotted = f->count < PLAYER_PLOT ? (int)f->count : PLAYER_PLOT;
        for (int k = 0; k < f->plotted; k++) f->when[k] = (float)f->times[record_plotted(f, k)];
        if (!read_plot(f, "stats/energy_after", f->energy) || !read_plot(f, "stats/iterations", f->iterations)) f->plotted = 0;
    }
    return choose_worlds(f, err);
}

film *film_open(const char *path, long world, ctn_error *err)
{
    film *const f = calloc(1, sizeof *f);
    if (!f) return fail(err, CTN_NO_MEMORY, "not enough memory for %s", path), NULL;
    ctn_status status = recorded_open(&f->from, path, err);
    if (status == CTN_OK) status = recorded_check_parts(&f->from, err);
    if (status == CTN_OK && !(f->model = ctn_model_create(f->from.scene, err))) status = CTN_BAD_SCENE;
    f->speed = 1, f->first = world < 0 ? 0 : (size_t)world, f->worlds = world < 0 ? (size_t)f->from.cfg.worlds : 1;
    if (status == CTN_OK && world >= f->from.cfg.worlds)
        status = fail(err, CTN_BAD_ARGUMENT, "--world: %s has %d worlds, from 0 on, found %ld", path, f->from.cfg.worlds, world);
    if (status == CTN_OK) status = open_states(f, err);
    if (status == CTN_OK) return f;
    film_free(f);
    return NULL;
}

void film_free(film *f)
{
    if (!f) return;
    for (int k = 0; k < 2; k++) free(f->q[k]), free(f->v[k]);
    free(f->contacts), free(f->shown), recorded_states_close(&f->states);
    ctn_model_free(f->model);
    ctn_scene_free(f->from.scene);
    recorded_close(&f->from);
    free(f);
}

const ctn_scene *film_scene(const film *f) { return f->from.scene; }
const ctn_model *film_model(const film *f) { return f->model; }
int film_world(const film *f, int k) { return (int)(f->first + f->shown[k]); }
int film_worlds(const film *f) { return (int)f->worlds; }
const char *film_lacks(const film *f) { return *f->lacks ? f->lacks : NULL; }
void film_range(const film *f, double *first, double *last) { *first = f->times[0], *last = f->times[f->count - 1]; }

bool film_view_create(const film *f, player_view *view)
{
    const size_t links = (size_t)ctn_model_nlink(f->model);
    double *drawn = NULL;
    const int all = f->from.cfg.worlds;
    bool ok = player_view_open(view, 1, f->worlds, f->model);
    if (f->from.rollout)
        ok = drawn_masses(f->from.scene, f->model, (uint64_t)f->from.seed, (int64_t)f->first, (int)f->states.worlds, all,
                          &drawn) &&
             ok;
    for (size_t w = 0; w < f->worlds && ok && drawn; w++)
        memcpy(view->mass_scale + w * links, drawn + f->shown[w] * links, links * sizeof *drawn);
    free(drawn);
    return ok;
}

// ---- looking

/// What contact points feel at record k.
static ctn_status feel(film *f, int64_t k, player_view *view, ctn_error *err)
{
    const size_t width = contact_numbers(f);
    if (!f->contacts || !width) return free(view->contacts), view->contacts = NULL, CTN_OK;
    const ctn_status status = f->felt == k ? CTN_OK : recorded_states_contacts(&f->states, k, f->contacts, err);
    f->felt = status == CTN_OK ? k : -1;
    if (status != CTN_OK) return status;
    for (size_t w = 0; w < f->worlds; w++) {
        double *const to = view->contacts + w * width;
        memcpy(to, f->contacts + f->shown[w] * width, width * sizeof *to);
    }
    player_count_contacts(&view->run[0], f->model, f->worlds, view->contacts);
    return status;
}

static int64_t record_before(const film *f, double t)
{
    int64_t low = 0, high = f->count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (f->times[middle] <= t + 1e-12) low = middle;
        else high = middle;
    }
    return low;
}

ctn_status film_look(film *f, player_view *view, ctn_error *err)
{
    const double t = clock_time(f);
    if (t >= f->times[f->count - 1]) f->running = false, f->from_time = t;  // there it stops
    const int64_t k = record_before(f, t), next = k + 1 < f->count ? k + 1 : k;
    player_run *const r = &view->run[0];
    size_t stand = 0;
    int a = 0, b = 0;
    ctn_status status = hold(f, k, next, &a, err);
    if (status == CTN_OK) status = hold(f, next, k, &b, err);
    if (status == CTN_OK) status = feel(f, k, view, err);
    if (status != CTN_OK) return status;
    r->frozen = CTN_RUNNING, r->frozen_time = 0;
    for (size_t w = 0; w < f->worlds; w++) {
        const size_t from = f->shown[w];
        if (!has_state(f, a, from) || !has_state(f, b, from)) continue;
        const double t0 = f->times[k], span = fmin(f->times[next], f->states.until[from]) - t0;
        interpolate_state(f->model, span, f->q[a] + from * f->nq, f->v[a] + from * f->nv, f->q[b] + from * f->nq,
                          f->v[b] + from * f->nv, span > 0 ? (t - t0) / span : next > k, view->q + w * f->nq,
                          view->v + w * f->nv);
        view->frozen[w] = f->states.until[from] <= t;
        stand += view->frozen[w];
        if (!view->frozen[w] || r->frozen != CTN_RUNNING) continue;
        r->frozen = f->states.why[from], r->frozen_time = f->states.until[from];
        snprintf(r->why, sizeof r->why, "%s", ctn_freeze_text(r->frozen));
    }
    r->froze = (int)stand, r->stands = stand == f->worlds;
    view->time = t, view->running = f->running, view->late = false;
    r->cfg = f->from.cfg, r->time = t, r->steps = (long)k;
    r->plotted = f->plotted ? 1 + (int)((f->plotted - 1) * k / (f->count > 1 ? f->count - 1 : 1)) : 0;  // up to now
    memcpy(r->plot_time, f->when, sizeof r->plot_time), memcpy(r->plot_energy, f->energy, sizeof r->plot_energy);
    memcpy(r->plot_iterations, f->iterations, sizeof r->plot_iterations);
    return CTN_OK;
}

// ---- the clock

void film_seek(film *f, double time) { f->from_time = time, f->from_clock = clock_now(); }

void film_run_on(film *f, bool running)
{
    double t = clock_time(f);
    if (running && t >= f->times[f->count - 1]) t = f->times[0];  // once more
    f->running = running;
    film_seek(f, t);
}

void film_speed(film *f, double times)
{
    film_seek(f, clock_time(f));
    f->speed = times;
}

void film_steps(film *f, int records)
{
    const double t = clock_time(f);
    int64_t k = record_before(f, t);
    if (records < 0 && f->times[k] < t - 1e-12) k++;  // back to the one before first
    k += records;
    f->running = false;
    film_seek(f, f->times[k < 0 ? 0 : k >= f->count ? f->count - 1 : k]);
}
