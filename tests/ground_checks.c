#include "tests/ground_checks.h"

#include "sim/engine/engine.h"
#include "sim/model/model.h"
#include "tests/ground_scenes.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void check_energy_falls(const ctn_model *m, double dt, double time, const double *q, const double *v, uint64_t seed,
                        long *touched, long *made)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION, cfg.order = 2, cfg.dt = dt;
    ctn_batch *const b = batch_with(m, &cfg);
    double scale = 0;
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 0, NULL), CTN_OK);
    for (int k = 0; k < (int)(time / dt); k++) {
        ctn_step_stats s;
        ctn_batch_step(b, 1, &s, NULL);
        if (!k) scale = s.kinetic_before + fabs(s.potential_before);
        ck_assert_msg(!s.frozen, "seed %llu, step %d: frozen", (unsigned long long)seed, k);
        ck_assert_msg(s.energy_after <= s.energy_before + 1e-11 * scale && s.created <= 1e-11 * scale,
                      "seed %llu, dt %g, step %d: from %.12g to %.12g J, created %g", (unsigned long long)seed, dt, k,
                      s.energy_before, s.energy_after, s.created);
        ck_assert_msg(s.dissipated > -1e-11 * scale, "seed %llu: %g J lost", (unsigned long long)seed, s.dissipated);
        *touched += s.spring_after > 0, ++*made;
    }
    ctn_batch_free(b);
}

void check_bits_of_contact(const ctn_model *m, ctn_batch_config cfg, double *q, const double *v, double height, int before,
                           int steps)
{
    enum { WORLDS = 9 };
    const int nq = m->nq, nv = m->nv;
    double rows[2][WORLDS * GROUND_MOST];
    for (int w = 0; w < WORLDS; w++) {
        q[2] = height + 0.1 * w;
        memcpy(rows[0] + w * nq, q, (size_t)nq * sizeof(double)), memcpy(rows[1] + w * nv, v, (size_t)nv * sizeof(double));
    }
    const size_t told = (size_t)(m->ncontact + m->nmet) * CTN_CONTACT_NUMBERS;
    uint64_t first[WORLDS] = {0}, hash[WORLDS];
    double *const others = malloc(WORLDS * told * sizeof(double)), *const now = malloc(WORLDS * told * sizeof(double));
    const char *names[8];
    int count = 0;
    for (const ctn_engine *const *e = engines_available(); *e; e++) names[count++] = (*e)->name;
    if (getenv("CTN_CUDA_LIBRARY")) names[count++] = "cuda";
    for (int e = 0; e < count; e++)
        for (int worlds = 1; worlds <= WORLDS; worlds += 4) {
            cfg.worlds = worlds, cfg.threads = 1 + worlds % 3, cfg.engine = names[e];
            ctn_batch *b = batch_with(m, &cfg), *const c = batch_with(m, &cfg);
            ck_assert_int_eq(ctn_batch_set_state(b, rows[0], rows[1], 0, NULL), CTN_OK);
            ck_assert_int_eq(ctn_batch_step(b, before, NULL, NULL), CTN_OK);
            const size_t size = ctn_batch_saved_size(b);
            char *const saved = malloc(size);
            ctn_batch_save(b, saved);
            ck_assert_int_eq(ctn_batch_restore(c, saved, size, NULL), CTN_OK);
            ctn_batch_free(b), b = c;
            ctn_step_stats s[WORLDS];
            ck_assert_int_eq(ctn_batch_step(b, steps - before, s, NULL), CTN_OK);
            ctn_batch_hashes(b, hash);
            ck_assert_msg(s[0].spring_after > 0 || s[0].spring_before > 0, "it touches nothing");
            ck_assert_int_eq(ctn_batch_contacts(b, now, NULL), CTN_OK);
            for (int w = 0; w < worlds; w++) {
                const size_t at = (size_t)w * told, bytes = told * sizeof(double);
                if (!first[w]) first[w] = hash[w], memcpy(others + at, now + at, bytes);
                size_t k = 0;
                while (k + 1 < told && !memcmp(others + at + k, now + at + k, sizeof(double))) k++;
                ck_assert_msg(!memcmp(others + at, now + at, bytes),
                              "%s, world %d of %d: tells other bits: number %zu of %zu is %.17g, not %.17g", names[e], w, worlds,
                              k, told, now[at + k], others[at + k]);
                ck_assert_msg(hash[w] == first[w], "%s, world %d of %d: other bits", names[e], w, worlds);
            }
            free(saved), ctn_batch_free(b);
        }
    free(others), free(now);
}
