/// What spins, along the links: as by worlds, in all methods that see it from frames that turn (integrators/turning_frame.h).
#include "sim/along/plan.h"
#include "sim/engine/engine.h"
#include "tests/spinning_ropes.h"
#include "tests/suite.h"

enum { METHODS = 6 };

/// Order 2, alpha, radau of 1 to 4 stages.
static ctn_batch_config steps_of(int method)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = (ctn_method[]){CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU}[method < 2 ? method : 2];
    cfg.stages = method < 2 ? cfg.stages : method - 1, cfg.dt = 0.002, cfg.tolerance = 1e-13;
    return cfg;
}

/// All lanes of a row are seen from frames of one kind, and none of a row that a spring holds somewhere.
START_TEST(rows_are_of_one_kind)
{
    const unsigned frames = BODY_SYMMETRIC | BODY_ROUND | BODY_TOP | BODY_PINNED;
    ctn_model *const m = spinning_rope(_i, 90);
    int seen = 0;
    along_plan *const p = along_plan_create(m, 16, true);
    ck_assert_ptr_nonnull(p);
    for (int b = 0; b < p->blocks; b++)
        for (int i = 0; i < p->block[b].rows; i++) {
            const along_row *const r = &p->block[b].row[i];
            for (int l = 0; l < ALONG_LANES && r->kind != JOINT_NONE; l++) {
                if (r->body[l] < 0) continue;
                const unsigned flags = m->bodies[r->body[l]].flags;
                ck_assert_uint_eq(r->flags & frames, flags & BODY_SPRING ? 0 : flags & frames);
                ck_assert(!(r->flags & frames) || !(r->flags & BODY_SPRING));
                seen += (r->flags & frames) != 0;
            }
        }
    ck_assert_int_ge(seen, 20);
    along_plan_free(p), ctn_model_free(m);
}
END_TEST

/// From the same states, step by step: to the same place, with the same energies.
START_TEST(steps_are_those_of_the_serial_engine)
{
    enum { STEPS = 12 };
    const int kind = _i % SPIN_KINDS, method = _i / SPIN_KINDS;
    double most[3] = {0};
    long helped = 0, parted = 0, serial = 0;
    for (int lanes = 8; lanes <= 24; lanes += 8) {
        ctn_error err;
        ctn_model *const m = spinning_rope(kind, lanes == 8 ? 40 : 90);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *const q[2] = {numbers(nq), numbers(nq)}, *const v[2] = {numbers(nv), numbers(nv)};
        ctn_batch_config cfg = steps_of(method);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *const one = spinning_batch(m, cfg);
        cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = lanes;
        ctn_batch *const along = spinning_batch(m, cfg);
        const size_t size = ctn_batch_saved_size(along);
        void *const saved = malloc(size);
        for (int k = 0; k < STEPS; k++) {
            ctn_step_stats a, b;
            ctn_batch_save(along, saved);
            ck_assert_msg(ctn_batch_restore(one, saved, size, &err) == CTN_OK, "%s", err.message);
            ck_assert_msg(ctn_batch_step(one, 1, &a, &err) == CTN_OK, "%s", err.message);
            ck_assert_msg(ctn_batch_step(along, 1, &b, &err) == CTN_OK, "%s", err.message);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            helped += a.fallbacks > 0;
            if (!a.fallbacks != !b.fallbacks) {  // only one of them has found the solution of the whole step
                parted++;
                continue;
            }
            const double energy = fmax(fabs(a.energy_after - b.energy_after), fabs(a.created - b.created));
            const double off[] = {coordinate_distance(m, q[1], q[0]), distance(v[1], v[0], nv),
                                  energy / (1 + fabs(a.energy_after))};
            for (int n = 0; n < 3; n++) most[n] = fmax(most[n], off[n]);
            ck_assert_msg(off[0] < 1e-9 && off[1] < 1e-8 && off[2] < 1e-9,
                          "kind %d, method %d, %d lanes, step %d: q %g, v %g, energy %g", kind, method, lanes, k, off[0], off[1],
                          off[2]);
        }
        serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m), free(saved);
        for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    }
    printf("kind %d, method %d: %ld steps made serially, %ld with fallbacks, %ld parted; q %.1e, v %.1e, energies %.1e\n", kind,
           method, serial, helped, parted, most[0], most[1], most[2]);
    // alpha begins with forward dynamics; what falls on the ground may be solved by the serial engine alone, now and then
    ck_assert_int_le(serial, helped + parted + 3 * (method == 1) + 2 * (kind == SPIN_GROUND));
    ck_assert_int_le(parted, kind == SPIN_GROUND ? 6 : 0);
}
END_TEST

/// The same bits on every engine, by any number of threads, in batches of any size.
START_TEST(steps_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3 };
    const int kind = _i % SPIN_KINDS, method = _i / SPIN_KINDS;
    ctn_error err;
    ctn_model *const m = spinning_rope(kind, 40);
    uint64_t first[WORLDS], hash[WORLDS];
    bool any = false;
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int way = 0; way < 4; way++) {
            ctn_batch_config cfg = steps_of(method);
            cfg.worlds = WORLDS, cfg.threads = way % 2 ? 5 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
            cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
            ctn_batch *const b = spinning_batch(m, cfg);
            ck_assert(ctn_batch_step(b, 4, NULL, &err) == CTN_OK && ctn_batch_step(b, 1, NULL, &err) == CTN_OK);
            ctn_batch_hashes(b, any ? hash : first);
            ck_assert_msg(!any || !memcmp(hash, first, sizeof hash), "kind %d, method %d, %s, way %d", kind, method, (*e)->name,
                          way);
            any = true;
            ctn_batch_free(b);
        }
    ctn_model_free(m);
}
END_TEST

/// Worlds with masses of their own: what is scaled still spins.
START_TEST(parameters_are_those_of_worlds)
{
    enum { WORLDS = 3 };
    const int kind = _i % SPIN_KINDS, method = _i / SPIN_KINDS;
    if (kind == SPIN_GROUND) return;
    ctn_error err;
    ctn_model *const m = spinning_rope(kind, 40);
    const size_t nq = (size_t)ctn_model_nq(m);
    double *const q[2] = {numbers(WORLDS * nq), numbers(WORLDS * nq)};
    const ctn_parameter list[] = {{CTN_GRAVITY, 2}, {CTN_MASS_SCALE, ctn_model_nlink(m) - 1}, {CTN_MASS_SCALE, 1}};
    const double values[3 * WORLDS] = {-9.81, 1, 1, -5, 1.5, 0.5, 0, 0.25, 2};
    for (int along = 0; along < 2; along++) {
        ctn_batch_config cfg = steps_of(method);
        cfg.worlds = WORLDS, cfg.parallel = along ? CTN_PARALLEL_BOTH : CTN_PARALLEL_WORLDS, cfg.lanes = along ? 8 : 0;
        cfg.parameters = list, cfg.parameter_count = 3;
        ctn_batch *const b = spinning_batch(m, cfg);
        ck_assert_msg(ctn_batch_set_parameters(b, values, &err) == CTN_OK, "%s", err.message);
        ck_assert_msg(ctn_batch_step(b, 10, NULL, &err) == CTN_OK, "%s", err.message);
        ctn_batch_state(b, q[along], NULL);
        ctn_batch_free(b);
    }
    for (size_t w = 0; w < WORLDS; w++) {
        const double off = coordinate_distance(m, q[1] + w * nq, q[0] + w * nq);
        ck_assert_msg(off < 1e-9, "kind %d, method %d, world %zu: %g", kind, method, w, off);
    }
    free(q[0]), free(q[1]), ctn_model_free(m);
}
END_TEST

/// Gradients, where there are any, go by worlds.
START_TEST(gradients_are_those_of_worlds)
{
    enum { STEPS = 3 };
    ctn_error err;
    ctn_model *const m = spinning_rope(_i, 20);
    const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = numbers(nq), *const v = numbers(nv), *const aim = numbers((STEPS + 1) * nv), *const by = numbers(2 * nv);
    ctn_batch *const b = spinning_batch(m, steps_of(0));
    ctn_batch_state(b, q, v);
    for (size_t k = 0; k < nv; k++) aim[STEPS * nv + k] = 1;
    ctn_status status[2];
    for (int along = 0; along < 2; along++) {
        ctn_batch_config cfg = steps_of(0);
        cfg.parallel = along ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS;
        ctn_tape *const tape = ctn_tape_create(m, &cfg, STEPS, &err);
        ck_assert_msg(tape && ctn_tape_run(tape, q, v, NULL, &err) == CTN_OK, "%s", err.message);
        status[along] = ctn_tape_gradient(tape, aim, NULL, by + (along ? nv : 0), NULL, NULL, &err);
        ctn_tape_free(tape);
    }
    ck_assert_int_eq(status[0], status[1]);
    ck_assert(status[0] != CTN_OK || !memcmp(by, by + nv, nv * sizeof *by));
    free(q), free(v), free(aim), free(by), ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// Long ropes go along the links unasked, but where a step of what they carry takes the sweep of several stages.
START_TEST(links_are_chosen_where_they_pay)
{
    ctn_model *const m = spinning_rope(_i, 600);
    ctn_batch_config cfg = steps_of(1);
    cfg.parallel = CTN_PARALLEL_AUTO;
    ctn_batch *const b = batch_with(m, &cfg);
    ck_assert_int_eq(ctn_batch_configuration(b)->parallel, m->skew ? CTN_PARALLEL_WORLDS : CTN_PARALLEL_LINKS);
    ck_assert_int_eq(m->skew, _i >= SPIN_TILTING);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_spin");
    TCase *c = tcase_create("along_spin");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, rows_are_of_one_kind, 0, SPIN_KINDS);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, METHODS * SPIN_KINDS);
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, METHODS * SPIN_KINDS);
    tcase_add_loop_test(c, parameters_are_those_of_worlds, 0, METHODS * SPIN_KINDS);
    tcase_add_loop_test(c, gradients_are_those_of_worlds, 0, SPIN_KINDS);
    tcase_add_loop_test(c, links_are_chosen_where_they_pay, 0, SPIN_KINDS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
