/// Long paths, whose cuts are joined in a tree: star products; forward dynamics, steps and gradients in many lanes against those
/// of few lanes, which other tests compare with the serial engine; the same bits whatever the lanes and threads of a class.
#include "sim/along/boundary.h"
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

enum { LANES = 512 };

/// A stretch of a path, its own P and p among them.
typedef struct {
    boundary b;
    double hand[27];
} stretch;

static stretch random_stretch(rng *r)
{
    stretch s;
    memset(&s, 0, sizeof s);
    double *const number[] = {s.b.F, s.b.G, s.b.g, s.b.bias, s.hand};
    const int count[] = {36, 21, 6, 6, 27};
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        for (int i = 0; i < count[k]; i++) number[k][i] = rng_uniform(r, -0.3, 0.3);
    for (int i = 0, at = 0; i < 6; at += ++i + 1) s.b.G[at] -= 1, s.hand[i < 3 ? i : i + 3] += 1;  // diagonals
    return s;
}

static stretch multiply(const stretch *x, const stretch *y)
{
    boundary_star s;
    memset(&s, 0, sizeof s);
    boundary_multiply(&x->b, x->hand, &y->b, y->hand, &s);
    stretch product = {.b = s.both};
    memcpy(product.hand, s.hand, sizeof product.hand);
    product.b.negative = 0;
    return product;
}

/// The largest difference of what two are as elements of the product.
static double difference(const stretch *x, const stretch *y)
{
    const double *const a[] = {x->b.F, x->b.G, x->b.g, x->b.bias, x->hand}, *const b[] = {y->b.F, y->b.G, y->b.g, y->b.bias,
                                                                                          y->hand};
    const int count[] = {36, 21, 6, 6, 27};
    double most = 0;
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        for (int i = 0; i < count[k]; i++) most = fmax(most, fabs(a[k][i] - b[k][i]));
    return most;
}

START_TEST(the_product_is_associative)
{
    FOR_SEEDS(seed, 200)
    {
        rng r = {seed};
        const stretch x = random_stretch(&r), y = random_stretch(&r), z = random_stretch(&r), xy = multiply(&x, &y),
                      yz = multiply(&y, &z), left = multiply(&xy, &z), right = multiply(&x, &yz);
        stretch one;
        memset(&one, 0, sizeof one);
        for (int i = 0; i < 6; i++) one.b.F[7 * i] = 1;
        const stretch before = multiply(&one, &x), after = multiply(&x, &one);
        stretch moved = x;  // the bias of what is before the end is in g
        for (int i = 0; i < 6; i++) moved.b.g[i] += moved.b.bias[i], moved.b.bias[i] = 0;
        ck_assert_msg(difference(&left, &right) < 1e-12, "seed %llu: %g", (unsigned long long)seed, difference(&left, &right));
        ck_assert(difference(&before, &x) < 1e-14 && difference(&after, &moved) < 1e-14);
    }
}
END_TEST

/// The product of two, with something behind, is what these two are one after the other; so are motions and wrenches.
START_TEST(the_product_is_one_after_the_other)
{
    FOR_SEEDS(seed, 100)
    {
        rng r = {seed};
        stretch x = random_stretch(&r), y = random_stretch(&r), both = multiply(&x, &y);
        const stretch z = random_stretch(&r);
        double behind[27], once[27], tail[6], end[6];
        memcpy(behind, y.hand, sizeof behind), boundary_couple(&y.b, z.hand, behind);
        double joined[27];
        memcpy(joined, x.hand, sizeof joined), boundary_couple(&x.b, behind, joined);
        memcpy(once, both.hand, sizeof once), boundary_couple(&both.b, z.hand, once);
        for (int k = 0; k < 27; k++) ck_assert_msg(fabs(joined[k] - once[k]) < 1e-13, "seed %llu", (unsigned long long)seed);
        for (int k = 0; k < 6; k++) x.b.d[k] = both.b.d[k] = rng_uniform(&r, -1, 1);
        boundary_pass(&x.b, y.b.d), boundary_pass(&y.b, tail), boundary_pass(&both.b, end);
        for (int k = 0; k < 6; k++) ck_assert(fabs(tail[k] - end[k]) < 1e-13 && fabs(y.b.f[k] - both.b.f[k]) < 1e-13);
        double X[6][7];
        boundary_lead(&x.b, behind, X);
        for (int i = 0; i < 6; i++) {
            double t = X[i][6];
            for (int j = 0; j < 6; j++) t += X[i][j] * x.b.d[j];
            ck_assert(fabs(t - y.b.d[i]) < 1e-13);
        }
    }
}
END_TEST

/// Negative eigenvalues add up over an elimination, whichever cut is taken out first.
START_TEST(the_certificate_is_that_of_one_after_the_other)
{
    int found = 0;
    FOR_SEEDS(seed, 100)
    {
        rng r = {seed};
        stretch x = random_stretch(&r), y = random_stretch(&r), z = random_stretch(&r);
        stretch *const all[] = {&x, &y, &z};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) all[k]->hand[i] -= rng_uniform(&r, 0, 9), all[k]->b.G[0] += rng_uniform(&r, 0, 0.7);
        boundary_star s;
        double behind[27], joined[27];
        memset(&s, 0, sizeof s);
        const int between = boundary_multiply(&x.b, x.hand, &y.b, y.hand, &s);
        memcpy(joined, s.hand, sizeof joined), boundary_join(&s.both, z.hand, joined);
        memcpy(behind, y.hand, sizeof behind), boundary_join(&y.b, z.hand, behind);
        memcpy(joined, x.hand, sizeof joined), boundary_join(&x.b, behind, joined);
        ck_assert_msg(between + s.both.negative == x.b.negative + y.b.negative, "seed %llu: %d + %d, %d + %d",
                      (unsigned long long)seed, between, s.both.negative, x.b.negative, y.b.negative);
        found += between != 0;
    }
    ck_assert_int_gt(found, 0);
}
END_TEST

static const random_options kinds[] = {
    {.links = 300, .chain = true, .joints = 1u << CTN_REVOLUTE},
    {.links = 300, .chain = true, .floating = true, .passive = true, .smooth = true},
    {.links = 400, .chain = true, .joints = 1u << CTN_BALL},
    {.links = 300, .chain = true, .passive = true, .motors = 40, .friction = true, .springs = 20, .wrenches = 20},
};
enum { KINDS = sizeof kinds / sizeof *kinds, BARE = KINDS - 1 };

/// In many lanes as in few, which tests/along_dynamics.c compares with the serial engine, and as that.
START_TEST(forward_dynamics_are_those_of_few_lanes)
{
    FOR_SEEDS(seed, 3)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *x = numbers(nq + 4 * nv), *q = x, *v = q + nq, *tau = v + nv, *few = tau + nv, *many = few + nv;
        ctn_along *const a = ctn_along_create(m, NULL, 1, 8, &err), *const b = ctn_along_create(m, NULL, 1, LANES, &err);
        rng r = {seed};
        random_state(m, &r, q, v);
        for (size_t k = 0; k < nv; k++) tau[k] = rng_uniform(&r, -1, 1);
        ck_assert_int_gt(ctn_along_about(b).cut, 70);
        ctn_along_aba(a, q, v, tau, few), ctn_along_aba(b, q, v, tau, many);
        ck_assert_msg(distance(many, few, nv) < 1e-8, "seed %llu: %g", (unsigned long long)seed, distance(many, few, nv));
        ctn_along_factor(b, q), ctn_along_solve(b, 1, tau, many);
        ctn_along_factor(a, q), ctn_along_solve(a, 1, tau, few);
        ck_assert_msg(distance(many, few, nv) < 1e-8, "seed %llu: %g", (unsigned long long)seed, distance(many, few, nv));
        ctn_along_free(a), ctn_along_free(b), ctn_model_free(m), free(x);
    }
}
END_TEST

static ctn_batch_config steps_of(int method, int lanes)
{
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = (ctn_method[]){CTN_COLLOCATION, CTN_ALPHA, CTN_RADAU}[method], cfg.dt = 0.001, cfg.tolerance = 1e-12;
    cfg.stages = 1;
    cfg.parallel = lanes ? CTN_PARALLEL_LINKS : CTN_PARALLEL_WORLDS, cfg.lanes = lanes;
    return cfg;
}

/// Steps of one stage, in many lanes as in few.
START_TEST(steps_are_those_of_few_lanes)
{
    const int method = _i / KINDS;
    double most = 0;
    long serial = 0, steps = 0;
    FOR_SEEDS(seed, 3)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[_i % KINDS]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        ctn_batch *few = batch_of(m, seed, steps_of(method, 16)), *along = batch_of(m, seed, steps_of(method, LANES));
        double *x = numbers(2 * (nq + nv));
        for (int k = 0; k < 3; k++) {
            ctn_step_stats a, b;
            ck_assert(ctn_batch_step(few, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
            ck_assert_msg(labs(a.iterations - b.iterations) <= 1, "seed %llu: %ld iterations, %ld", (unsigned long long)seed,
                          b.iterations, a.iterations);
        }
        ctn_batch_state(few, x, x + nq), ctn_batch_state(along, x + nq + nv, x + 2 * nq + nv);
        const double off = distance(x + nq + nv, x, nq);
        most = off > most ? off : most, serial += ctn_batch_serial_steps(along), steps += 3;
        ck_assert_msg(off < 1e-7, "seed %llu: %g", (unsigned long long)seed, off);
        ctn_batch_free(few), ctn_batch_free(along), ctn_model_free(m), free(x);
    }
    printf("method %d, kind %d: %ld of %ld steps made serially, q off by %.1e\n", method, _i % KINDS, serial, steps, most);
    ck_assert_int_le(serial, method == 1 ? steps / 3 : 0);  // alpha's first one
}
END_TEST

/// Steps that go over cuts one after another, or without a solve, in many lanes as in few: explicit and variational.
START_TEST(other_steps_are_those_of_few_lanes)
{
    const ctn_method methods[] = {CTN_RK4, CTN_VARIATIONAL};
    FOR_SEEDS(seed, 2)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[1]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
        double *x = numbers(2 * (nq + nv));
        for (int many = 0; many < 2; many++) {
            ctn_batch_config cfg = steps_of(0, many ? LANES : 16);
            cfg.method = methods[_i], cfg.dt = _i ? 1e-4 : 1e-5;
            ctn_batch *b = batch_of(m, seed, cfg);
            ck_assert(ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
            ck_assert_int_eq((int)ctn_batch_serial_steps(b), 0);
            ctn_batch_state(b, x + (many ? nq + nv : 0), x + nq + (many ? nq + nv : 0));
            ctn_batch_free(b);
        }
        const double off = distance(x + nq + nv, x, nq), fast = distance(x + 2 * nq + nv, x + nq, nv);
        ck_assert_msg(off < 1e-9 && fast < 1e-6, "seed %llu: %g, %g", (unsigned long long)seed, off, fast);
        ctn_model_free(m), free(x);
    }
}
END_TEST

/// The gradient of a sum over the state at the end of a few steps.
START_TEST(gradients_are_those_of_few_lanes)
{
    enum { STEPS = 2 };
    FOR_SEEDS(seed, 2)
    {
        ctn_error err;
        ctn_model *m = random_model(seed, &kinds[1]);
        const size_t nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m), n = (2 + STEPS) * nv;
        double *x = numbers(nq + nv + 2 * (STEPS + 1) * nv + 2 * n), *v = x + nq, *dq = v + nv, *dv = dq + (STEPS + 1) * nv,
               *bar = dv + (STEPS + 1) * nv;
        rng r = {seed};
        random_state(m, &r, x, v);
        for (size_t k = 0; k < nv; k++) v[k] *= 0.1;
        for (size_t k = 0; k < (STEPS + 1) * nv; k++) dq[k] = rng_uniform(&r, -1, 1), dv[k] = rng_uniform(&r, -1e-3, 1e-3);
        for (int many = 0; many < 2; many++) {
            const ctn_batch_config cfg = steps_of(_i, many ? LANES : 16);
            ctn_tape *tape = ctn_tape_create(m, &cfg, STEPS, &err);
            double *const to = bar + (many ? n : 0);
            ck_assert_msg(ctn_tape_run(tape, x, v, NULL, &err) == CTN_OK, "%s", err.message);
            ck_assert(ctn_tape_gradient(tape, dq, dv, to, to + nv, to + 2 * nv, &err) == CTN_OK);
            ctn_tape_free(tape);
        }
        const double off = distance(bar + n, bar, n);
        ck_assert_msg(off < 1e-7 && off > 0, "seed %llu: %g", (unsigned long long)seed, off);
        ctn_model_free(m), free(x);
    }
}
END_TEST

/// A rope that whips, in as many lanes as its bodies want: steps with curvature dropped, shortened and followed.
START_TEST(whips_are_solved)
{
    ctn_error err;
    ctn_model *m = model_of(WHIP);
    ctn_batch_config cfg = steps_of(1, LANES);
    cfg.dt = 1. / 60, cfg.tolerance = ctn_batch_config_default().tolerance;
    ctn_batch *along = ctn_batch_create(m, &cfg, &err);
    cfg.parallel = CTN_PARALLEL_WORLDS, cfg.lanes = 0;
    ctn_batch *one = ctn_batch_create(m, &cfg, &err);
    const size_t size = ctn_batch_saved_size(along), nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    char *saved = malloc(size);
    double *x = numbers(2 * (nq + nv)), most = 0;
    long curvature = 0, iterations[2] = {0};
    for (int k = 0; k < 240; k++) {
        ctn_step_stats a, b;
        ctn_batch_save(along, saved);
        ck_assert(ctn_batch_restore(one, saved, size, &err) == CTN_OK);
        ck_assert(ctn_batch_step(one, 1, &a, &err) == CTN_OK && ctn_batch_step(along, 1, &b, &err) == CTN_OK);
        ctn_batch_state(one, x, x + nq), ctn_batch_state(along, x + nq + nv, x + 2 * nq + nv);
        most = fmax(most, distance(x + nq + nv, x, nq));
        curvature += b.curvature, iterations[0] += a.iterations, iterations[1] += b.iterations;
    }
    printf("whip: %ld iterations (serially %ld), %ld times without curvature, %ld steps made serially, at most %.1e off\n",
           iterations[1], iterations[0], curvature, ctn_batch_serial_steps(along), most);
    ck_assert_int_gt(curvature, 0);
    ck_assert(most < 1e-5 && ctn_batch_serial_steps(along) <= 12);
    ck_assert_int_lt(iterations[1], iterations[0] + iterations[0] / 5);
    free(x), free(saved), ctn_batch_free(one), ctn_batch_free(along), ctn_model_free(m);
}
END_TEST

START_TEST(steps_have_the_same_bits_everywhere)
{
    ctn_error err;
    ctn_model *m = random_model(7, &kinds[_i % KINDS]);
    uint64_t first = 0;
    for (const ctn_engine *const *e = engines_available(); *e; e++)
        for (int threads = 1; threads <= 5; threads += 4) {
            ctn_batch_config cfg = steps_of(_i / KINDS, LANES);
            cfg.engine = (*e)->name, cfg.threads = threads;
            ctn_batch *b = batch_of(m, 7, cfg);
            uint64_t hash;
            ck_assert(ctn_batch_step(b, 2, NULL, &err) == CTN_OK);
            ctn_batch_hashes(b, &hash);
            if (!first) first = hash;
            ck_assert_msg(hash == first, "%s, %d threads", (*e)->name, threads);
            ctn_batch_free(b);
        }
    ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("along_star");
    TCase *c = tcase_create("along_star");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, the_product_is_associative);
    tcase_add_test(c, the_product_is_one_after_the_other);
    tcase_add_test(c, the_certificate_is_that_of_one_after_the_other);
    tcase_add_loop_test(c, forward_dynamics_are_those_of_few_lanes, 0, BARE);
    tcase_add_loop_test(c, steps_are_those_of_few_lanes, 0, 3 * KINDS);
    tcase_add_loop_test(c, other_steps_are_those_of_few_lanes, 0, 2);
    tcase_add_loop_test(c, gradients_are_those_of_few_lanes, 0, 3);
    tcase_add_test(c, whips_are_solved);
    tcase_add_loop_test(c, steps_have_the_same_bits_everywhere, 0, 2 * KINDS);
    suite_add_tcase(s, c);
    return run_suite(s);
}
