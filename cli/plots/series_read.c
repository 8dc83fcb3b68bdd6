/// Numbers of quantities: out of datasets, or computed of the states in them.
#include "cli/plots/series.h"

#include "dynamics/model.h"
#include "sim/base/status.h"
#include "sim/model/surfaces.h"

#include <catena/contact.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 };  // states at a time

static size_t nq_of(const timeline *t) { return (size_t)ctn_model_nq(t->model); }
static size_t nv_of(const timeline *t) { return (size_t)ctn_model_nv(t->model); }

static size_t contact_numbers(const timeline *t) { return (size_t)ctn_model_ncontact(t->model) * CTN_CONTACT_NUMBERS; }

size_t series_width(const timeline *t, const series *s)
{
    return 1 + (s->set                       ? 0
                : s->kind == SERIES_CONTACTS ? contact_numbers(t)
                : s->kind == SERIES_TOTAL    ? nq_of(t) + nv_of(t)
                                             : nq_of(t));
}

static void compute_totals(timeline *t, const series *s, int count, const double *q, const double *v, double *x)
{
    ctn_totals of[PIECE];
    ctn_energy_momentum(t->dyn, count, q, v, of);
    for (int k = 0; k < count; k++) {
        double numbers[sizeof *of / sizeof(double)];
        memcpy(numbers, &of[k], sizeof numbers);
        x[k] = numbers[s->term];
        for (int i = 1; i < s->terms; i++) x[k] += numbers[s->term + i];
    }
}

/// R [PIECE][nlink][9] and p [PIECE][nlink][3] are work space.
static void compute_positions(timeline *t, const series *s, int count, const double *q, double *R, double *p, double *x)
{
    const size_t nlink = (size_t)ctn_model_nlink(t->model);
    ctn_forward_kinematics(t->dyn, count, q, R, p);
    for (size_t k = 0; k < (size_t)count; k++) x[k] = p[3 * (k * nlink + (size_t)s->entry) + (size_t)s->axis];
}

/// What is asked for of the contact points of a world, which feel x [ncontact][CTN_CONTACT_NUMBERS]: of those on surfaces.
static double contacts_sum(const timeline *t, const series *s, const double *x)
{
    double sum = s->of == CONTACTS_DEPTH ? -INFINITY : 0;
    for (int k = 0; k < t->model->ncontact; k++, x += CTN_CONTACT_NUMBERS) {
        ctn_contact_point point;
        double n[3];
        if (!ctn_model_contact(t->model, k, &point) || (s->entry >= 0 && point.link != s->entry)) continue;
        switch (s->of) {
        case CONTACTS_NORMAL:
            if (!(x[7] > CTN_APART)) break;
            surface_normal(t->model, point.surface, x, n);
            sum += n[0] * x[3] + n[1] * x[4] + n[2] * x[5];
            break;
        case CONTACTS_DEPTH: sum = x[6] <= sum ? sum : x[6]; break;
        case CONTACTS_TOUCHING: sum += x[7] > CTN_APART; break;
        case CONTACTS_STICKING: sum += x[7] == CTN_STICKS; break;
        case CONTACTS_SLIDING: sum += x[7] == CTN_SLIDES; break;
        }
        if (isnan(x[7])) sum = NAN;  // of a world that was not run
    }
    return sum;
}

static ctn_status compute_contacts(timeline *t, const series *s, int64_t first, int64_t count, double *x, ctn_error *err)
{
    const size_t states = (size_t)count * (size_t)t->worlds, width = contact_numbers(t);
    double *const all = malloc((states * width + 1) * sizeof *all);
    if (!all) return fail(err, CTN_NO_MEMORY, "%s: not enough memory for '%s'", t->from.path, s->name);
    const ctn_status status = timeline_block(t, "contacts", first, count, 0, NULL, width, all, err);
    for (size_t k = 0; k < states && status == CTN_OK; k++) x[k] = contacts_sum(t, s, all + k * width);
    free(all);
    return status;
}

static ctn_status compute(timeline *t, const series *s, int64_t first, int64_t count, double *x, ctn_error *err)
{
    const size_t states = (size_t)count * (size_t)t->worlds, nq = nq_of(t), nv = nv_of(t);
    const bool total = s->kind == SERIES_TOTAL;
    double *const q = malloc((states * (nq + (total ? nv : 0)) + 1) * sizeof *q), *const v = q + states * nq;
    double *const R = malloc((total ? 1 : 12 * PIECE * (size_t)ctn_model_nlink(t->model)) * sizeof *R),
                  *const p = R + (total ? 0 : 9 * PIECE * (size_t)ctn_model_nlink(t->model));
    ctn_status status = q && R ? CTN_OK : fail(err, CTN_NO_MEMORY, "%s: not enough memory for '%s'", t->from.path, s->name);
    if (status == CTN_OK && nq) status = timeline_block(t, "q", first, count, 0, NULL, nq, q, err);
    if (status == CTN_OK && nv && total) status = timeline_block(t, "v", first, count, 0, NULL, nv, v, err);
    const size_t piece = t->model->nsignal ? 1 : PIECE;  // targets that move are those of each state's time
    for (size_t k = 0; k < states && status == CTN_OK; k += piece) {
        const int n = (int)(states - k < piece ? states - k : piece);
        const size_t record = t->from.rollout ? k % (size_t)count : k / (size_t)t->worlds;
        ctn_dynamics_set_time(t->dyn, t->time[(size_t)first + record]);
        if (total) compute_totals(t, s, n, q + k * nq, v + k * nv, x + k);
        else compute_positions(t, s, n, q + k * nq, R, p, x + k);
    }
    free(q), free(R);
    return status;
}

ctn_status series_read(timeline *t, const series *s, int64_t first, int64_t count, double *x, ctn_error *err)
{
    const int entry[2] = {s->entry, s->axis};
    if (s->kind == SERIES_CONTACTS) return compute_contacts(t, s, first, count, x, err);
    if (!s->set) return compute(t, s, first, count, x, err);
    const int rank = s->kind == SERIES_NUMBER ? 0 : s->kind == SERIES_ENTRY ? 1 : 2;
    return timeline_block(t, s->set, first, count, rank, entry, 1, x, err);
}
