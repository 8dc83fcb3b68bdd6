/// Arguments that are out of range, in the calls on batches and dynamics; saved states of other models.
#include "tests/suite.h"
#include "tests/text_model.h"

#include <catena/catena.h>
#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/// A ball with `more` in its joint.
static ctn_model *ball(const char *more, double mass)
{
    char text[400];
    snprintf(text, sizeof text,
             "catena: 1\nlinks:\n  - {name: top, joint: {type: ball%s}, mass: %.17g, com: [0, 0.1, -0.3], "
             "inertia: [0.1, 0.1, 0.1, 0, 0, 0]}\n",
             more, mass);
    return model_of(text);
}

static ctn_batch *open_batch(const ctn_model *m, ctn_method method, int worlds)
{
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.worlds = worlds, cfg.method = method;
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

/// A refused call leaves the batch as it was.
START_TEST(bad_arguments)
{
    enum { WORLDS = 3 };
    ctn_model *const m = ball("", 1);
    ctn_batch *const b = open_batch(m, _i ? CTN_ALPHA : CTN_RK4, WORLDS);
    const size_t size = ctn_batch_saved_size(b);
    char *const before = malloc(size), *const after = malloc(size);
    double q[WORLDS * 4], v[WORLDS * 3];
    ctn_step_stats stats[WORLDS];
    ctn_error err = {0};
    ck_assert_ptr_eq(ctn_batch_model(b), m);
    ctn_batch_step(b, 5, NULL, NULL);
    ctn_batch_state(b, q, v);
    ctn_batch_save(b, before);

    ck_assert_int_eq(ctn_batch_step(b, -1, stats, &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "steps: expected 0 or more, found -1");
    ck_assert_int_eq(ctn_batch_step(b, INT_MIN, NULL, NULL), CTN_BAD_ARGUMENT);
    static const double times[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) ck_assert_int_eq(ctn_batch_set_state(b, q, v, times[k], &err), CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "time: expected a finite number, found -inf");
    static const double wrong[] = {NAN, INFINITY, 1e155, -1e300};
    for (int k = 0; k < 4; k++) {
        double other[WORLDS * 4];
        memcpy(other, q, sizeof q);
        other[2 * 4 + 1] = wrong[k];
        ck_assert_int_eq(ctn_batch_set_state(b, other, v, 0, &err), CTN_BAD_ARGUMENT);
    }
    ck_assert_str_eq(err.message, "world 2: the quaternion of link 'top' is too long to be normalised");
    ck_assert_double_nan(ctn_batch_time(b, -1));
    ck_assert_double_nan(ctn_batch_time(b, WORLDS));
    ck_assert_double_nan(ctn_batch_time(b, INT_MIN));

    ctn_batch_save(b, after);
    ck_assert_mem_eq(before, after, size);

    // a long quaternion is not an error
    q[0] *= 1e150, q[1] *= 1e150, q[2] *= 1e150, q[3] *= 1e150;
    ck_assert_int_eq(ctn_batch_set_state(b, q, v, 7, &err), CTN_OK);
    ctn_batch_state(b, q, v);
    ck_assert_double_eq_tol(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-14);
    ck_assert_double_eq(ctn_batch_time(b, 2), 7);
    free(before), free(after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// The largest number of worlds is an error for lack of memory, whatever it is rounded up to.
START_TEST(too_many_worlds)
{
#if !defined __SANITIZE_ADDRESS__  // which ends the program instead
    const struct rlimit limit = {1 << 30, 1 << 30};
    ctn_model *const m = ball("", 1);
    ctn_error err = {0};
    ctn_batch_config cfg = ctn_batch_config_default();
    ctn_batch_free(ctn_batch_create(m, &cfg, &err));  // the driver of a GPU takes more room than that to begin with
    ck_assert(!setrlimit(RLIMIT_AS, &limit));
    for (int k = 0; k < 16; k++) {
        char expected[80];
        cfg.worlds = INT_MAX - k, cfg.threads = k % 2;
        ck_assert_ptr_null(ctn_batch_create(m, &cfg, &err));
        ck_assert_int_eq(err.status, CTN_NO_MEMORY);
        snprintf(expected, sizeof expected, "not enough memory for %d worlds on %s", cfg.worlds, cfg.threads ? "1 thread" : "");
        ck_assert_msg(!strncmp(err.message, expected, strlen(expected)) && !strstr(err.message, "on 0"), "%s", err.message);
        if (cfg.threads) ck_assert_str_eq(err.message, expected);
    }
    ctn_model_free(m);
#endif
}
END_TEST

/// A saved state goes back into a batch of the same model, compiled anew, and into no other.
START_TEST(saved_state_of_another_model)
{
    static const struct {
        const char *more;
        double mass;
    } others[] = {
        {"", 1.0000000000000002}, {", damping: 0.1", 1}, {", stiffness: 0.1", 1}, {", armature: 0.1", 1}, {", limits: 1", 1}};
    ctn_model *const m = ball("", 1), *const same = ball("", 1);
    ctn_batch *const b = open_batch(m, _i ? CTN_ALPHA : CTN_RK4, 2), *const c = open_batch(
                                                                               same, _i ? CTN_ALPHA : CTN_RK4, 2);
    const size_t size = ctn_batch_saved_size(b);
    void *const block = malloc(size), *const again = malloc(size);
    ctn_error err = {0};
    ctn_batch_step(b, 10, NULL, NULL);
    memset(block, 0xaa, size), memset(again, 0x55, size);
    ctn_batch_save(b, block);
    ck_assert_int_eq(ctn_batch_restore(c, block, size, &err), CTN_OK);
    ctn_batch_save(c, again);
    ck_assert_mem_eq(block, again, size);  // nothing in it is left as it was
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        ctn_model *const other = ball(others[k].more, others[k].mass);
        ctn_batch *const d = open_batch(other, _i ? CTN_ALPHA : CTN_RK4, 2);
        ck_assert_uint_eq(ctn_batch_saved_size(d), size);
        ck_assert_int_eq(ctn_batch_restore(d, block, size, &err), CTN_BAD_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(err.message, "another model"));
        ctn_batch_free(d), ctn_model_free(other);
    }
    free(block), free(again);
    ctn_batch_free(b), ctn_batch_free(c), ctn_model_free(m), ctn_model_free(same);
}
END_TEST

/// Whatever single bit of a saved state is wrong, or how much of it is missing, it is refused and changes nothing; so is one of
/// another version.
START_TEST(damaged_state)
{
    ctn_model *const m = ball("", 1);
    ctn_batch *const b = open_batch(m, CTN_COLLOCATION, 2);
    const size_t size = ctn_batch_saved_size(b);
    char *const block = malloc(size), *const before = malloc(size), *const after = malloc(size);
    ctn_error err = {0};
    ctn_batch_save(b, block);
    ctn_batch_step(b, 10, NULL, NULL);
    ctn_batch_save(b, before);
    for (size_t k = 0; k < 8 * size; k++) {
        const size_t at = k / 8;
        block[at] ^= (char)(1 << k % 8);
        ck_assert_int_eq(ctn_batch_restore(b, block, size, &err), CTN_BAD_ARGUMENT);
        const char *const says = at < 8 ? "no saved state" : at < 12 ? "expected 7: save it anew" : "is damaged";
        ck_assert_msg(strstr(err.message, says) != NULL, "bit %zu: %s", k, err.message);
        block[at] ^= (char)(1 << k % 8);
    }
    for (size_t k = 0; k < size; k++) ck_assert_int_eq(ctn_batch_restore(b, block, k, &err), CTN_BAD_ARGUMENT);
    ctn_batch_save(b, after);
    ck_assert_mem_eq(before, after, size);
    ck_assert_int_eq(ctn_batch_restore(b, block, size, &err), CTN_OK);
    free(block), free(before), free(after);
    ctn_batch_free(b), ctn_model_free(m);
}
END_TEST

/// What a batch refuses a recording of one refuses, too, in the same words.
START_TEST(no_dampers_at_order_4)
{
    static const char *const more[] = {", damping: 0.1", ", limits: 1, limit_damping: 0.1", ""};
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_VARIATIONAL, cfg.order = 4;
    for (int k = 0; k < 3; k++) {
        ctn_model *const m = ball(more[k], 1);
        ctn_error err[2] = {{0}, {0}};
        ctn_batch *const b = ctn_batch_create(m, &cfg, &err[0]);
        ctn_tape *const r = ctn_tape_create(m, &cfg, 2, &err[1]);
        ck_assert(!b == (k < 2) && !r == (k < 2));
        ck_assert_int_eq(err[1].status, k < 2 ? CTN_BAD_CONFIG : CTN_OK);
        ck_assert_str_eq(err[0].message, err[1].message);
        ctn_batch_free(b), ctn_tape_free(r), ctn_model_free(m);
    }
}
END_TEST

/// No states: nothing is read or written. A link that is not there has no Jacobian.
START_TEST(dynamics_out_of_range)
{
    enum { COUNT = 9 };
    ctn_model *const m = ball("", 1);
    ctn_error err = {0};
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, &err);
    ck_assert_msg(dyn != NULL, "%s", err.message);
    static const int none[] = {0, -1, INT_MIN};
    for (int k = 0; k < 3; k++) {
        ctn_forward_kinematics(dyn, none[k], NULL, NULL, NULL);
        ctn_link_twists(dyn, none[k], NULL, NULL, NULL);
        ctn_rnea(dyn, none[k], NULL, NULL, NULL, NULL);
        ctn_bias(dyn, none[k], NULL, NULL, NULL);
        ctn_passive(dyn, none[k], NULL, NULL, NULL);
        ctn_crba(dyn, none[k], NULL, NULL);
        ctn_aba(dyn, none[k], NULL, NULL, NULL, NULL);
        ctn_jacobian(dyn, none[k], NULL, 0, NULL);
        ctn_jacobian(dyn, none[k], NULL, 5, NULL);
        ctn_energy_momentum(dyn, none[k], NULL, NULL, NULL);
    }
    double q[COUNT * 4], J[COUNT * 6 * 3 + 1];
    for (int w = 0; w < COUNT; w++) memcpy(q + 4 * w, (double[]){1, 0, 0, 0}, 4 * sizeof *q);
    static const int links[] = {-1, 1, INT_MAX, INT_MIN};
    for (int k = 0; k < 4; k++)
        for (int count = 1; count <= COUNT; count += COUNT - 1) {
            for (int i = 0; i <= COUNT * 18; i++) J[i] = 5;
            ctn_jacobian(dyn, count, q, links[k], J);
            for (int i = 0; i <= COUNT * 18; i++) ck_assert(i < count * 18 ? isnan(J[i]) : J[i] == 5);
        }
    ctn_jacobian(dyn, COUNT, q, 0, J);
    for (int i = 0; i < COUNT * 18; i++) ck_assert(isfinite(J[i]));
    ctn_dynamics_free(dyn), ctn_model_free(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("batch");
    TCase *t = tcase_create("arguments");
    tcase_add_loop_test(t, bad_arguments, 0, 2);
    tcase_add_test(t, too_many_worlds);
    tcase_add_loop_test(t, saved_state_of_another_model, 0, 2);
    tcase_add_test(t, damaged_state);
    tcase_add_test(t, no_dampers_at_order_4);
    tcase_add_test(t, dynamics_out_of_range);
    suite_add_tcase(s, t);
    return run_suite(s);
}
