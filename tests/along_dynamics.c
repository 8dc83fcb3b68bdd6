/// Kinematics, inverse dynamics and systems with the inertia of one world along its links against the serial engine; loads; and
/// the same bits whatever the lanes and threads of a class.
#include "sim/engine/engine.h"
#include "tests/along_cases.h"
#include "tests/random_scene.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const random_options kinds[] = {
    {.links = 1},
    {.links = 7, .springs = 2, .wrenches = 3},
    {.links = 40, .springs = 9, .wrenches = 12},
    {.links = 40, .floating = true, .passive = true, .springs = 6, .wrenches = 20},
    {.links = 60, .chain = true, .springs = 3, .wrenches = 3},
    {.links = 60, .chain = true, .floating = true, .passive = true, .wrenches = 60},
    {.links = 300, .passive = true},
    {.links = 300, .chain = true, .floating = true, .springs = 20, .wrenches = 20},
    {.links = 200, .chain = true, .joints = 1u << CTN_UNIVERSAL},
    {.links = 200, .chain = true, .joints = 1u << CTN_BALL, .springs = 5},
    {.links = 3000, .chain = true, .floating = true, .springs = 5, .wrenches = 5},
};
enum { KINDS = sizeof kinds / sizeof *kinds, SIDES = 3 };

/// What calls say of one state.
typedef struct {
    double *of, *R, *p, *twist, *tau, *bias, *Hx, *H, *qdd, *x;
    size_t count;
} answers;

typedef struct {
    ctn_model *m;
    size_t nq, nv, nl;
    double *q, *v, *a;  // a [SIDES][nv]
    int first, columns;
} state;

static state state_of(int kind, uint64_t seed)
{
    state s = {.m = random_model(seed, &kinds[kind])};
    rng r = {seed * 31 + 7};
    s.nq = (size_t)ctn_model_nq(s.m), s.nv = (size_t)ctn_model_nv(s.m), s.nl = (size_t)ctn_model_nlink(s.m);
    s.q = numbers(s.nq), s.v = numbers(s.nv), s.a = numbers(SIDES * s.nv);
    random_state(s.m, &r, s.q, s.v);
    for (size_t k = 0; k < SIDES * s.nv; k++) s.a[k] = rng_uniform(&r, -1, 1);
    s.first = rng_below(&r, (int)s.nv + 1), s.columns = (int)s.nv - s.first < 5 ? (int)s.nv - s.first : 5;
    return s;
}

static void state_free(state *s) { free(s->q), free(s->v), free(s->a), ctn_model_free(s->m); }

static answers room(const state *s)
{
    answers x;
    double *at = x.of = numbers(x.count = 18 * s->nl + (3 + 2 * SIDES + 5) * s->nv);
    x.R = at, at += 9 * s->nl, x.p = at, at += 3 * s->nl, x.twist = at, at += 6 * s->nl;
    x.tau = at, at += s->nv, x.bias = at, at += s->nv, x.qdd = at, at += s->nv;
    x.Hx = at, at += SIDES * s->nv, x.x = at, at += SIDES * s->nv, x.H = at;
    return x;
}

/// Everything, along the links.
static answers ask_along(const state *s, const char *engine, int threads, int lanes)
{
    ctn_error err;
    ctn_along *a = ctn_along_create(s->m, engine, threads, lanes, &err);
    ck_assert_msg(a != NULL, "%s", err.message);
    answers x = room(s);
    ctn_along_factor(a, s->q);
    ctn_along_forward_kinematics(a, s->q, x.R, x.p);
    ctn_along_link_twists(a, s->q, s->v, x.twist);
    ctn_along_rnea(a, s->q, s->v, s->a, x.tau);
    ctn_along_bias(a, s->q, s->v, x.bias);
    ctn_along_inertia(a, SIDES, s->q, s->a, x.Hx);
    ctn_along_crba(a, s->first, s->columns, s->q, x.H);
    memcpy(x.x, x.Hx, SIDES * s->nv * sizeof *x.x);  // the factors still stand
    ctn_along_solve(a, SIDES, x.x, x.x);
    ctn_along_aba(a, s->q, s->v, s->a, x.qdd);
    ctn_along_free(a);
    return x;
}

/// The same by the serial engine; x: what has been put into H x.
static answers ask_serially(const state *s)
{
    ctn_error err;
    ctn_dynamics *d = ctn_dynamics_create(s->m, "scalar", &err);
    answers x = room(s);
    const bool small = s->nv <= 1000;
    double *const H = numbers(small ? s->nv * s->nv : 0), *const unit = numbers(s->nv), *const rest = numbers(s->nv);
    ctn_forward_kinematics(d, 1, s->q, x.R, x.p);
    ctn_link_twists(d, 1, s->q, s->v, x.twist);
    ctn_rnea(d, 1, s->q, s->v, s->a, x.tau);
    ctn_bias(d, 1, s->q, s->v, x.bias);
    if (small) {
        ctn_crba(d, 1, s->q, H);
        for (size_t c = 0; c < SIDES; c++)
            for (size_t i = 0; i < s->nv; i++)
                for (size_t j = 0; j < s->nv; j++) x.Hx[c * s->nv + i] += H[i * s->nv + j] * s->a[c * s->nv + j];
        memcpy(x.H, H + (size_t)s->first * s->nv, (size_t)s->columns * s->nv * sizeof *x.H);
    } else {  // what accelerations at rest add
        double *const still = numbers(s->nv);
        ctn_bias(d, 1, s->q, still, rest);
        for (size_t c = 0; c < SIDES + (size_t)s->columns; c++) {
            const bool column = c >= SIDES;
            double *const y = column ? x.H + (c - SIDES) * s->nv : x.Hx + c * s->nv;
            memset(unit, 0, s->nv * sizeof *unit);
            if (column) unit[(size_t)s->first + c - SIDES] = 1;
            ctn_rnea(d, 1, s->q, still, column ? unit : s->a + c * s->nv, y);
            for (size_t k = 0; k < s->nv; k++) y[k] -= rest[k];
        }
        free(still);
    }
    memcpy(x.x, s->a, SIDES * s->nv * sizeof *x.x);
    ctn_aba(d, 1, s->q, s->v, s->a, x.qdd);
    free(H), free(unit), free(rest), ctn_dynamics_free(d);
    return x;
}

START_TEST(calls_say_what_the_serial_engine_says)
{
    double most[10] = {0};
    FOR_SEEDS(seed, kinds[_i].links > 1000 ? 2 : 12)
    {
        state s = state_of(_i, seed);
        answers y = ask_serially(&s);
        for (int lanes = 8; lanes <= 24; lanes += 8) {
            answers x = ask_along(&s, "auto", 1, lanes);
            const struct {
                const char *name;
                const double *x, *y;
                size_t n;
                double bound;
            } parts[] = {
                {"R", x.R, y.R, 9 * s.nl, 1e-9},
                {"p", x.p, y.p, 3 * s.nl, 1e-9},
                {"twists", x.twist, y.twist, 6 * s.nl, 1e-9},
                {"rnea", x.tau, y.tau, s.nv, 1e-9},
                {"bias", x.bias, y.bias, s.nv, 1e-9},
                {"inertia", x.Hx, y.Hx, SIDES * s.nv, 1e-9},
                {"crba", x.H, y.H, (size_t)s.columns * s.nv, 1e-9},
                {"aba", x.qdd, y.qdd, s.nv, 1e-9},
                // of what H has been multiplied with: rounding there is made larger by its condition
                {"solve", x.x, y.x, SIDES * s.nv, s.nv < 1000 ? 1e-6 : 1},
            };
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                const double off = distance(parts[k].x, parts[k].y, parts[k].n);
                most[k] = off > most[k] ? off : most[k];
                ck_assert_msg(off < parts[k].bound, "kind %d, seed %llu, %d lanes, %s: %g", _i, (unsigned long long)seed, lanes,
                              parts[k].name, off);
            }
            free(x.of);
        }
        free(y.of), state_free(&s);
    }
    printf("kind %d: R %.0e, p %.0e, twists %.0e, rnea %.0e, bias %.0e, inertia %.0e, crba %.0e, aba %.0e, solve %.0e\n", _i,
           most[0], most[1], most[2], most[3], most[4], most[5], most[6], most[7], most[8]);
}
END_TEST

/// H^-1 b, by what forward dynamics changes by with the force b; with the factors that it leaves, and those of its own call.
START_TEST(solutions_are_what_forces_add)
{
    FOR_SEEDS(seed, 6)
    {
        ctn_error err;
        state s = state_of(_i, seed);
        ctn_along *a = ctn_along_create(s.m, "auto", 1, seed % 2 ? 8 : 16, &err);
        ctn_dynamics *d = ctn_dynamics_create(s.m, "scalar", &err);
        double *with = numbers(s.nv), *without = numbers(s.nv), *x = numbers(s.nv), *y = numbers(s.nv), size = 0;
        ctn_along_solve(a, 1, s.a, x);
        for (size_t k = 0; k < s.nv; k++) ck_assert_double_nan(x[k]);  // no factors yet
        ctn_aba(d, 1, s.q, s.v, s.a, with), ctn_aba(d, 1, s.q, s.v, NULL, without);
        ctn_along_aba(a, s.q, s.v, NULL, x);
        ctn_along_solve(a, 1, s.a, x);
        ctn_along_factor(a, s.q);
        ctn_along_solve(a, 1, s.a, y);
        for (size_t k = 0; k < s.nv; k++) size = fabs(with[k]) > size ? fabs(with[k]) : size;
        for (size_t k = 0; k < s.nv; k++) {
            ck_assert_msg(fabs(x[k] - (with[k] - without[k])) <= 1e-9 * size, "kind %d, seed %llu: %g for %g of %g", _i,
                          (unsigned long long)seed, x[k], with[k] - without[k], size);
            ck_assert_msg(fabs(x[k] - y[k]) <= 1e-9 * size, "kind %d, seed %llu: %g %g", _i, (unsigned long long)seed, x[k],
                          y[k]);
        }
        ctn_along_free(a), ctn_dynamics_free(d), state_free(&s);
        free(with), free(without), free(x), free(y);
    }
}
END_TEST

START_TEST(a_class_has_the_same_bits_everywhere)
{
    FOR_SEEDS(seed, 2)
    {
        state s = state_of(_i, seed);
        answers y = {0};
        for (const ctn_engine *const *e = engines_available(); *e; e++)
            for (int threads = 1; threads <= 8; threads += threads < 2 ? 1 : 6) {
                answers x = ask_along(&s, (*e)->name, threads, 16);
                if (y.of) {
                    for (size_t k = 0; k < x.count; k++)
                        ck_assert_msg(!memcmp(x.of + k, y.of + k, sizeof *x.of), "kind %d, seed %llu, %s, %d threads: number %zu",
                                      _i, (unsigned long long)seed, (*e)->name, threads, k);
                    free(x.of);
                } else y = x;
            }
        free(y.of), state_free(&s);
    }
}
END_TEST

/// Masses of links that all differ.
static void differ(void *context, int i, ctn_link_spec *link)
{
    (void)context;
    link->mass += 1e-4 * i;
}

/// Constants of equal links stand in memory once; of others each has its own.
START_TEST(equal_links_share_their_constants)
{
    enum { LINKS = 3000 };
    ctn_error err;
    static int parent[LINKS];
    double *const v = calloc(LINKS, sizeof *v), *const to = calloc(LINKS, sizeof *to), *const want = calloc(LINKS, sizeof *want);
    double bytes[2];
    ctn_tree_spec spec = ctn_tree_spec_default();
    spec.links = LINKS, spec.parent = parent;
    spec.like.axis[0] = 1, spec.like.axis[2] = 0, spec.like.position[2] = -0.1;
    spec.like.mass = 0.1, spec.like.com[2] = -0.05;
    for (int k = 0; k < 3; k++) spec.like.inertia[k] = 1e-4;
    for (int i = 0; i < LINKS; i++) parent[i] = i - 1, v[i] = sin(i) / LINKS;
    for (int k = 0; k < 2; k++) {
        spec.link = k ? differ : NULL;
        ctn_model *const m = ctn_model_from_parents(&spec, &err);
        ck_assert_msg(m != NULL, "%s", err.message);
        ctn_along *const a = ctn_along_create(m, NULL, 1, 0, &err);
        ctn_dynamics *const d = ctn_dynamics_create(m, NULL, &err);
        ck_assert(a && d);
        ctn_along_aba(a, v, v, NULL, to), ctn_aba(d, 1, v, v, NULL, want);
        ck_assert_double_le(distance(to, want, LINKS), 1e-9);
        bytes[k] = ctn_along_about(a).bytes;
        ctn_along_free(a), ctn_dynamics_free(d), ctn_model_free(m);
    }
    // 46 numbers a body
    ck_assert_double_le(bytes[0], bytes[1] - 0.9 * LINKS * 46 * sizeof(double));
    free(v), free(to), free(want);
}
END_TEST

START_TEST(columns_beyond_the_last_are_no_numbers)
{
    state s = state_of(2, 1);
    ctn_error err;
    ctn_along *a = ctn_along_create(s.m, "auto", 1, 8, &err);
    double *H = numbers(2 * s.nv);
    ctn_along_crba(a, (int)s.nv - 1, 2, s.q, H);
    for (size_t k = 0; k < 2 * s.nv; k++) ck_assert_double_nan(H[k]);
    H[0] = 1;
    ctn_along_crba(a, 0, 0, s.q, H), ctn_along_crba(a, -1, -1, s.q, H);
    ck_assert_double_eq(H[0], 1);
    ctn_along_crba(a, -1, 1, s.q, H);
    ck_assert_double_nan(H[0]);
    ctn_along_free(a), state_free(&s), free(H);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_dynamics");
    TCase *c = tcase_create("along_dynamics");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, calls_say_what_the_serial_engine_says, 0, KINDS);
    tcase_add_loop_test(c, solutions_are_what_forces_add, 0, KINDS);
    tcase_add_loop_test(c, a_class_has_the_same_bits_everywhere, 0, KINDS);
    tcase_add_test(c, equal_links_share_their_constants);
    tcase_add_test(c, columns_beyond_the_last_are_no_numbers);
    suite_add_tcase(s, c);
    return run_suite(s);
}
