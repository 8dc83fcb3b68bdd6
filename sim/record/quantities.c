/// What recordings and rollouts keep, computed from the states of a batch.
#include "sim/record/quantities.h"

#include "sim/record/record.h"
#include "sim/base/status.h"
#include "sim/base/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"q", "v", "energy", "pose", "sensors", "contacts"};  // of the bits of `keep`
enum { NAMES = sizeof names / sizeof *names };

size_t quantities_width(const ctn_model *m, unsigned keep)
{
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), pose = POSE_NUMBERS * ctn_model_nlink(m),
              sensors = ctn_model_sensor_numbers(m), contacts = CTN_CONTACT_NUMBERS * ctn_model_ncontact(m);
    return (size_t)((keep & KEEP_Q ? nq : 0) + (keep & KEEP_V ? nv : 0) + (keep & KEEP_ENERGY ? 4 : 0) +
                    (keep & KEEP_POSE ? pose : 0) + (keep & KEEP_SENSORS ? sensors : 0) + (keep & KEEP_CONTACTS ? contacts : 0));
}

static void *numbers(size_t count) { return calloc(count + 1, sizeof(double)); }

static void list_one(quantities *x, quantity one)
{
    one.width = 1;
    for (int d = 0; d < one.rank; d++) one.width *= (size_t)one.dims[d];
    x->list[x->count++] = one;
}

ctn_status quantities_open(quantities *x, ctn_batch *batch, unsigned keep, ctn_error *err)
{
    const ctn_model *const m = ctn_batch_model(batch);
    const ctn_batch_config *const cfg = ctn_batch_configuration(batch);
    const int nq = ctn_model_nq(m), nv = ctn_model_nv(m), nlink = ctn_model_nlink(m);
    const int sensors = keep & KEEP_SENSORS ? ctn_model_sensor_numbers(m) : 0;
    const int contacts = keep & KEEP_CONTACTS ? ctn_model_ncontact(m) : 0;
    const size_t worlds = (size_t)cfg->worlds, links = worlds * (size_t)nlink;
    *x = (quantities){.batch = batch, .worlds = cfg->worlds, .nlink = nlink};
    bool ok = (x->q = numbers(worlds * (size_t)nq)) && (x->v = numbers(worlds * (size_t)nv));
    if (ok && keep & KEEP_POSE)
        ok = (x->R = numbers(9 * links)) && (x->p = numbers(3 * links)) && (x->pose = numbers(POSE_NUMBERS * links));
    if (ok && keep & KEEP_ENERGY) ok = (x->totals = calloc(worlds, sizeof *x->totals)) && (x->energy = numbers(4 * worlds));
    if (ok && sensors) ok = (x->sensors = numbers(worlds * (size_t)sensors)) != NULL;
    if (ok && contacts) ok = (x->contacts = numbers(worlds * (size_t)contacts * CTN_CONTACT_NUMBERS)) != NULL;
    if (!ok)
        return fail(err, CTN_NO_MEMORY, "not enough memory for the quantities of %zu world%s", worlds, plural((long long)worlds));
    if (keep & KEEP_Q)
        list_one(x, (quantity){"q", "model/q_unit", "joint coordinates [nq]", .rank = 1, .dims = {nq}, .now = x->q});
    if (keep & KEEP_V)
        list_one(x, (quantity){"v", "model/v_unit", "joint velocities [nv]", .rank = 1, .dims = {nv}, .now = x->v});
    for (int k = 0; k < 4 && keep & KEEP_ENERGY; k++) {
        const record_member *const energy = &record_members[k];
        list_one(x, (quantity){energy->name, energy->unit, energy->about, .now = x->energy + (size_t)k * worlds});
    }
    if (keep & KEEP_POSE)
        list_one(x,
                 (quantity){"pose", "m, 1", "link frames in the world [link][7]: position x y z, unit quaternion w x y z, w >= 0",
                            .rank = 2, .dims = {nlink, POSE_NUMBERS}, .now = x->pose});
    if (sensors)
        list_one(x, (quantity){"sensors", "model/sensors_unit", "what the scene's sensors say, with noise and delay [number]",
                               .rank = 1, .dims = {sensors}, .now = x->sensors});
    if (contacts)
        list_one(x, (quantity){"contacts", CONTACTS_UNIT, CONTACTS_ABOUT " [point][11]", .rank = 2,
                               .dims = {contacts, CTN_CONTACT_NUMBERS}, .now = x->contacts});
    if (!x->pose) return CTN_OK;
    x->dyn = ctn_dynamics_create(m, cfg->engine, err);
    return x->dyn ? CTN_OK : CTN_NO_MEMORY;
}

void quantities_close(quantities *x)
{
    ctn_dynamics_free(x->dyn);
    free(x->q), free(x->v), free(x->R), free(x->p), free(x->pose), free(x->sensors), free(x->contacts), free(x->totals),
        free(x->energy);
    *x = (quantities){0};
}

/// Quaternion w x y z of the rotation R, w >= 0, from its largest component (Shepperd 1978): no root of a small difference.
static void quaternion_of(const double R[9], double q[4])
{
    const double trace = R[0] + R[4] + R[8], squares[4] = {trace, R[0], R[4], R[8]};
    int most = 0;
    for (int k = 1; k < 4; k++)
        if (squares[k] > squares[most]) most = k;
    const double c[4][4] = {
        {1 + trace, R[7] - R[5], R[2] - R[6], R[3] - R[1]},
        {R[7] - R[5], 1 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6]},
        {R[2] - R[6], R[1] + R[3], 1 + R[4] - R[0] - R[8], R[5] + R[7]},
        {R[3] - R[1], R[2] + R[6], R[5] + R[7], 1 + R[8] - R[0] - R[4]},
    };
    const double *const row = c[most];
    const double norm = sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2] + row[3] * row[3]);
    for (int k = 0; k < 4; k++) q[k] = row[k] / (row[0] < 0 ? -norm : norm) + 0.0;  // no negative zeros
}

void quantities_update(quantities *x)
{
    ctn_batch_state(x->batch, x->q, x->v);
    if (x->sensors) ctn_batch_sensors(x->batch, x->sensors, NULL);
    if (x->contacts) ctn_batch_contacts(x->batch, x->contacts, NULL);
    if (x->pose) ctn_forward_kinematics(x->dyn, x->worlds, x->q, x->R, x->p);
    for (size_t l = 0; x->pose && l < (size_t)x->worlds * (size_t)x->nlink; l++) {
        double *const pose = x->pose + POSE_NUMBERS * l;
        memcpy(pose, x->p + 3 * l, 3 * sizeof *pose);
        quaternion_of(x->R + 9 * l, pose + 3);
    }
    if (!x->totals) return;
    ctn_batch_totals(x->batch, x->totals);
    for (int w = 0; w < x->worlds; w++) {
        const ctn_totals *const t = &x->totals[w];
        const double parts[4] = {t->kinetic, t->potential, t->spring, t->kinetic + t->potential + t->spring};
        for (size_t k = 0; k < 4; k++) x->energy[k * (size_t)x->worlds + (size_t)w] = parts[k];
    }
}

ctn_status keep_from_text(const char *text, unsigned *keep, ctn_error *err)
{
    *keep = 0;
    for (const char *at = text;; at++) {
        char name[16];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        int k = 0;
        while (k < NAMES && (strlen(names[k]) != length || strcmp(names[k], name))) k++;
        const char *const meant = k < NAMES ? NULL : nearest_name(name, names, NAMES);
        if (k == NAMES)
            return fail(err, CTN_BAD_ARGUMENT,
                        "unknown quantity '%.*s'%s%s%s allowed: q, v, energy, pose, sensors, contacts, separated by commas",
                        (int)length, at, meant ? "; did you mean '" : ";", meant ? meant : "", meant ? "'?" : "");
        *keep |= 1u << k;
        at += length;
        if (!*at) return CTN_OK;
    }
}

void keep_to_text(unsigned keep, char text[KEEP_TEXT])
{
    *text = 0;
    for (int k = 0; k < NAMES; k++)
        if (keep & 1u << k) snprintf(text + strlen(text), KEEP_TEXT - strlen(text), "%s%s", *text ? "," : "", names[k]);
}
