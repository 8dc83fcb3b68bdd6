/// One world along its links against the serial engine, and the same bits whatever the lanes and threads of a class.
#include "sim/along/plan.h"
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/text_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double *q, *v, *tau, *x, *y;
} state;

static state state_of(const ctn_model *m, uint64_t seed)
{
    const size_t nq = (size_t)ctn_model_nq(m) + 1, nv = (size_t)ctn_model_nv(m) + 1;
    state s = {calloc(nq, sizeof(double)), calloc(nv, sizeof(double)), calloc(nv, sizeof(double)), calloc(nv, sizeof(double)),
               calloc(nv, sizeof(double))};
    rng r = {seed * 31 + 7};
    random_state(m, &r, s.q, s.v);
    for (size_t k = 0; k + 1 < nv; k++) s.tau[k] = rng_uniform(&r, -1, 1);
    return s;
}

static void state_free(state *s) { free(s->q), free(s->v), free(s->tau), free(s->x), free(s->y); }

static const random_options kinds[] = {
    {.links = 1},
    {.links = 7},
    {.links = 40},
    {.links = 40, .passive = true},
    {.links = 40, .floating = true, .passive = true},
    {.links = 60, .chain = true},
    {.links = 60, .chain = true, .floating = true, .passive = true},
    {.links = 300},
    {.links = 60, .chain = true, .passive = true, .motors = 40},
    {.links = 300, .motors = 300},
    {.links = 300, .chain = true, .passive = true, .smooth = true},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL},
    {.links = 7, .springs = 2, .wrenches = 3},
    {.links = 40, .floating = true, .passive = true, .springs = 9, .wrenches = 12},
    {.links = 60, .chain = true, .springs = 60},
    {.links = 60, .chain = true, .floating = true, .passive = true, .wrenches = 60},
    {.links = 300, .springs = 20, .wrenches = 20},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL, .springs = 5, .wrenches = 5},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL, .springs = 5, .wrenches = 5},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/// Every body stands in one place, rows follow their parents, and nothing hangs on what comes later.
START_TEST(every_body_has_its_place)
{
    FOR_SEEDS(seed, 8)
    {
        ctn_model *m = random_model(seed, &kinds[_i]);
        for (int lanes = 8; lanes <= 24; lanes += 16) {
            along_plan *p = along_plan_create(m, lanes, true);
            ck_assert_ptr_nonnull(p);
            int bodies = 0, ports = 0;
            for (int b = 0; b < p->blocks; b++) {
                int above[ALONG_LANES];
                for (int l = 0; l < ALONG_LANES; l++) above[l] = -2;
                for (int r = 0; r < p->block[b].rows; r++)
                    for (int l = 0; l < ALONG_LANES; l++) {
                        const along_row *row = &p->block[b].row[r];
                        const int at = row->body[l];
                        if (at < 0) continue;
                        if (row->kind == JOINT_NONE) {
                            const along_segment *s = &p->segment[at];
                            ports++, above[l] = s->above;
                            ck_assert_int_eq(s->above, m->bodies[s->head].parent);
                            continue;
                        }
                        ck_assert_msg(m->bodies[at].parent == above[l], "seed %llu", (unsigned long long)seed);
                        ck_assert_int_eq(p->place[at].block, b);
                        ck_assert_int_eq(p->place[at].row, r);
                        ck_assert_int_eq(p->place[at].lane, l);
                        ck_assert_int_eq(m->bodies[at].kind, row->kind);
                        above[l] = at, bodies++;
                    }
            }
            ck_assert_int_eq(bodies, m->nbody);
            ck_assert_int_eq(ports, p->segments);
            for (int s = 0; s < p->segments; s++) {
                const along_segment *S = &p->segment[s];
                for (int i = S->head; i <= S->tail; i++)
                    for (int k = p->hung[i]; k < p->hung[i + 1]; k++) ck_assert_int_lt(p->segment[p->hanging[k]].level, S->level);
            }
            along_plan_free(p);
        }
        ctn_model_free(m);
    }
}
END_TEST

START_TEST(aba_is_that_of_the_serial_engine)
{
    FOR_SEEDS(seed, 20)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        ctn_dynamics *serial = ctn_dynamics_create(m, "scalar", &err);
        state s = state_of(m, seed);
        ctn_aba(serial, 1, s.q, s.v, s.tau, s.y);
        for (int lanes = 8; lanes <= 24; lanes += 8) {
            ctn_along *a = ctn_along_create(m, "auto", 1, lanes, &err);
            ck_assert_msg(a != NULL, "%s", err.message);
            ctn_along_aba(a, s.q, s.v, s.tau, s.x);
            const double off = distance(s.x, s.y, (size_t)ctn_model_nv(m));
            ck_assert_msg(off < 1e-9, "kind %d, seed %llu, %d lanes: %g", _i, (unsigned long long)seed, lanes, off);
            ctn_along_free(a);
        }
        ctn_dynamics_free(serial), state_free(&s), ctn_model_free(m);
    }
}
END_TEST

START_TEST(a_class_has_the_same_bits_everywhere)
{
    FOR_SEEDS(seed, 3)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        state s = state_of(m, seed);
        const size_t bytes = (size_t)ctn_model_nv(m) * sizeof(double);
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
                ctn_along *a = ctn_along_create(m, (*e)->name, threads, 16, &err);
                ck_assert_msg(a != NULL, "%s", err.message);
                double *const to = e == engines_available() && threads == 1 ? s.y : s.x;
                ctn_along_aba(a, s.q, s.v, s.tau, to);
                ck_assert_msg(!memcmp(to, s.y, bytes), "kind %d, seed %llu, %s, %d threads", _i, (unsigned long long)seed,
                              (*e)->name, threads);
                ctn_along_free(a);
            }
        state_free(&s), ctn_model_free(m);
    }
}
END_TEST

static ctn_batch_config steps_of(int method)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = method ? CTN_ALPHA : CTN_COLLOCATION, cfg.dt = 0.001, cfg.tolerance = 1e-12;
    return cfg;
}

/// Steps from the same states end at the same place, with the same energies, whatever is side by side.
START_TEST(steps_are_those_of_the_serial_engine)
{
    long steps = 0, serial = 0;
    FOR_SEEDS(seed, 12)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i % KINDS]);
        const size_t nq = (size_t)ctn_model_nq(m) + 1, nv = (size_t)ctn_model_nv(m) + 1;
        double *q[2] = {calloc(nq, sizeof(double)), calloc(nq, sizeof(double))},
               *v[2] = {calloc(nv, sizeof(double)), calloc(nv, sizeof(double))};
        ctn_batch_config cfg = steps_of(_i / KINDS);
        cfg.parallel = CTN_PARALLEL_WORLDS;
        ctn_batch *one = batch_of(m, seed, cfg);
        cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = seed % 3 ? 8 : 16;
        ctn_batch *along = batch_of(m, seed, cfg);
        for (int k = 0; k < 3; k++) {
            ctn_step_stats a, b;
            ck_assert(ctn_batch_step(one, 2, &a, &err) == CTN_OK);
            ck_assert(ctn_batch_step(along, 2, &b, &err) == CTN_OK);
            ctn_batch_state(one, q[0], v[0]), ctn_batch_state(along, q[1], v[1]);
            const double far = distance(q[1], q[0], (size_t)ctn_model_nq(m)),
                         fast = distance(v[1], v[0], (size_t)ctn_model_nv(m));
            const double scale = 1 + fabs(a.energy_after), energy = fabs(a.energy_after - b.energy_after) / scale,
                         created = fabs(a.created - b.created) / scale, lost = fabs(a.dissipated - b.dissipated) / scale,
                         work = fabs(a.work - b.work) / scale;
            ck_assert_msg(far < 1e-6 && fast < 1e-4 && energy < 1e-5 && created < 1e-5 && lost < 1e-6 && work < 1e-6,
                          "kind %d, seed %llu, call %d: q %g, v %g, energy %g, created %g, lost %g, work %g", _i,
                          (unsigned long long)seed, k, far, fast, energy, created, lost, work);
        }
        steps += 6, serial += ctn_batch_serial_steps(along);
        ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
        for (int k = 0; k < 2; k++) free(q[k]), free(v[k]);
    }
    printf("%s, kind %d: %ld of %ld steps made serially\n", _i / KINDS ? "alpha" : "order 2", _i % KINDS, serial, steps);
    ck_assert_int_lt(serial, steps - 12);
}
END_TEST

/// A rope that whips: steps with curvature dropped, shortened and followed, with joints that turn all the way round. From every
/// state the serial engine goes to the same place; but for a few, where equations have several solutions.
START_TEST(whips_are_those_of_the_serial_engine)
{
    enum { STEPS = 260 };
    ctn_error err;
    ctn_model *m = model_of(WHIP);
    const int nq = ctn_model_nq(m);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_ALPHA, cfg.dt = 1. / 60, cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *along = ctn_batch_create(m, &cfg, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_batch *one = ctn_batch_create(m, &cfg, &err);
    ck_assert(along && one);
    double *q = calloc((size_t)nq, sizeof *q), *x = calloc((size_t)nq, sizeof *x), *v = calloc((size_t)nq, sizeof *v);
    void *saved = malloc(ctn_batch_saved_size(along));
    long hard = 0, same = 0, agree = 0, turned = 0;
    for (int k = 0; k < STEPS; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(one, saved, ctn_batch_saved_size(along), &err) == CTN_OK);
        ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
        ctn_batch_state(one, x, v), ctn_batch_state(along, q, v);
        hard += b.curvature > 0;
        for (int i = 0; i < nq; i++) turned += fabs(q[i]) > 6;
        if (distance(q, x, (size_t)nq) > 1e-6) continue;
        same++, agree += fabs(a.created - b.created) <= 1e-5 * (1 + fabs(a.created));
    }
    printf("whip: %ld of %d steps dropped curvature, %ld made serially, %ld ended alike\n", hard, STEPS,
           ctn_batch_serial_steps(along), same);
    ck_assert_int_gt(hard, STEPS / 20);
    ck_assert_int_gt(turned, 0);
    ck_assert_int_gt(same, STEPS * 9 / 10);
    ck_assert_int_eq(agree, same);
    ck_assert_int_lt(ctn_batch_serial_steps(along), STEPS / 20);
    free(q), free(x), free(v), free(saved);
    ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
}
END_TEST

/// What goes along the links has the same bits on every engine, by any number of threads, in batches of any size.
START_TEST(steps_have_the_same_bits_everywhere)
{
    enum { WORLDS = 3 };
    FOR_SEEDS(seed, 2)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[5 + (int)seed % 4]);
        uint64_t first[WORLDS], hash[WORLDS];
        bool any = false;
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int way = 0; way < 4; way++) {
                ctn_batch_config cfg = steps_of(_i);
                cfg.worlds = WORLDS, cfg.threads = way % 2 ? 5 : 1, cfg.lanes = 16, cfg.engine = (*e)->name;
                cfg.parallel = way / 2 ? CTN_PARALLEL_LINKS : CTN_PARALLEL_BOTH;
                ctn_batch *b = batch_of(m, seed, cfg);
                ck_assert_str_eq(ctn_batch_configuration(b)->engine, (*e)->name);
                ck_assert_int_eq(ctn_batch_configuration(b)->lanes, 16);
                ck_assert(ctn_batch_step(b, 4, NULL, &err) == CTN_OK && ctn_batch_step(b, 1, NULL, &err) == CTN_OK);
                ctn_batch_hashes(b, any ? hash : first);
                ck_assert_msg(!any || !memcmp(hash, first, sizeof hash), "seed %llu, %s, way %d", (unsigned long long)seed,
                              (*e)->name, way);
                any = true;
                ctn_batch_free(b);
            }
        ctn_model_free(m);
    }
}
END_TEST

/// What a batch along the links does not do is refused, and says what to take instead; `auto` does without.
START_TEST(what_does_not_go_is_refused)
{
    const ctn_parameter gravity = {CTN_GRAVITY, 2};
    ctn_error err;
    ctn_model *m = random_model(3, &kinds[1]);
    struct {
        ctn_batch_config cfg;
        const char *says;
    } cases[] = {{steps_of(1), "parallel: links: the engine 'cuda' takes no parameters by world in this version"},
                 {steps_of(1), "parallel: links takes no `dt: auto` in this version"},
                 {steps_of(0), "parallel: links takes collocation of order 2, not 4"},
                 {steps_of(0), "parallel: links takes the solver newton alone, not lbfgs"},
                 {steps_of(1), "parallel: links: the engine 'cuda' takes alpha, collocation of order 2 and radau, not rk4"}};
    cases[0].cfg.parameters = &gravity, cases[0].cfg.parameter_count = 1, cases[0].cfg.engine = "cuda";
    cases[1].cfg.adaptive = true, cases[2].cfg.order = 4, cases[3].cfg.solver = CTN_LBFGS;
    cases[4].cfg.engine = "cuda", cases[4].cfg.method = CTN_RK4;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cases[k].cfg.parallel = CTN_PARALLEL_LINKS;
        ck_assert_ptr_null(ctn_batch_create(m, &cases[k].cfg, &err));
        ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
        ck_assert_msg(strstr(err.message, cases[k].says), "%s", err.message);
        cases[k].cfg.parallel = CTN_PARALLEL_AUTO;
        const bool here = !cases[k].cfg.engine;
        ctn_batch *b = here ? ctn_batch_create(m, &cases[k].cfg, &err) : NULL;
        ck_assert(!here || (b && ctn_batch_configuration(b)->parallel == CTN_PARALLEL_WORLDS && !ctn_batch_lanes(b)));
        ctn_batch_free(b);
    }
    ctn_batch_config cfg = steps_of(1);
    cfg.parallel = CTN_PARALLEL_LINKS;
    ctn_batch *b = batch_of(m, 3, cfg);
    double gravity_of[1] = {-9.81}, q[64];
    ck_assert_int_eq(ctn_batch_set_parameters(b, gravity_of, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_batch_dense(b, 0.5, q, NULL, NULL, &err), CTN_BAD_ARGUMENT);
    ctn_batch_free(b);
    cfg.method = CTN_RK4;  // steps of its tapes are serial
    ctn_tape *links = ctn_tape_create(m, &cfg, 3, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS;
    ctn_tape *worlds = ctn_tape_create(m, &cfg, 3, &err);
    state s = state_of(m, 3);
    double *x[2] = {calloc((size_t)ctn_model_nq(m), sizeof(double)), calloc((size_t)ctn_model_nq(m), sizeof(double))};
    for (int k = 0; k < ctn_model_nv(m); k++) s.v[k] *= 0.1;
    ck_assert(ctn_tape_run(links, s.q, s.v, NULL, &err) == CTN_OK && ctn_tape_run(worlds, s.q, s.v, NULL, &err) == CTN_OK);
    ck_assert(ctn_tape_state(links, 3, x[0], NULL, &err) == CTN_OK && ctn_tape_state(worlds, 3, x[1], NULL, &err) == CTN_OK);
    ck_assert(!memcmp(x[0], x[1], (size_t)ctn_model_nq(m) * sizeof(double)));
    ctn_tape_free(links), ctn_tape_free(worlds), state_free(&s), free(x[0]), free(x[1]);
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along");
    TCase *c = tcase_create("along");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, every_body_has_its_place, 0, KINDS);
    tcase_add_loop_test(c, aba_is_that_of_the_serial_engine, 0, KINDS);
    tcase_add_loop_test(c, a_class_has_the_same_bits_everywhere, 0, KINDS);
    tcase_add_loop_test(c, steps_are_those_of_the_serial_engine, 0, 2 * KINDS);
    tcase_add_test(c, whips_are_those_of_the_serial_engine);
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, 2);
    tcase_add_test(c, what_does_not_go_is_refused);
    suite_add_tcase(s, c);
    return run_suite(s);
}
