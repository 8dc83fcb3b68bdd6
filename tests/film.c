/// Recordings that the viewer plays: at records it shows what is recorded, between them what lies between, wherever its clock is
/// set.
#include "render/draw/interpolation.h"
#include "render/view/film.h"
#include "sim/record/recorded_states.h"
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

enum { WORLDS = 3, RECORDS = 21, NV = 20 };

static film *shown;
static player_view seen;
static double *q, *v, *t;
static bool rollout;

static const double *row(const double *all, int record, int world)
{
    return all + (rollout ? world * RECORDS + record : record * WORLDS + world) * NV;
}

static void look(void)
{
    ctn_error err;
    ck_assert_msg(film_look(shown, &seen, &err) == CTN_OK, "%s", err.message);
}

static void open_recording(bool of_rollout)
{
    ctn_error err;
    size_t count;
    rollout = of_rollout;
    outcome o = catena(rollout ? "rollout" : "run", source("scenes/chain10-sampled.yaml"), "--worlds", "3", "--steps", "20",
                       "--dt", "0.02", "--out", "a.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    q = numbers("a.h5", "q", &count), v = numbers("a.h5", "v", NULL), t = numbers("a.h5", "time", NULL);
    ck_assert_uint_eq(count, WORLDS * RECORDS * NV);
    shown = film_open("a.h5", -1, &err);
    ck_assert_msg(shown != NULL, "%s", err.message);
    ck_assert_int_eq(film_worlds(shown), WORLDS);
    ck_assert(film_view_create(shown, &seen));
}

static void teardown(void)
{
    player_view_free(&seen);
    film_free(shown);
    free(q), free(v), free(t);
    leave_scratch();
}

START_TEST(any_time)
{
    static const int order[] = {0, 20, 7, 8, 7, 19, 1};
    open_recording(_i);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        film_seek(shown, t[order[k]]);
        look();
        ck_assert_double_eq(seen.time, t[order[k]]);
        for (int w = 0; w < WORLDS; w++) {
            ck_assert(!memcmp(seen.q + w * NV, row(q, order[k], w), NV * sizeof *q));
            ck_assert(!memcmp(seen.v + w * NV, row(v, order[k], w), NV * sizeof *v));
        }
    }
    film_seek(shown, 0.3 * t[11] + 0.7 * t[12]);
    look();
    for (int w = 0; w < WORLDS; w++) {
        double between[NV], rates[NV];
        interpolate_state(film_model(shown), t[12] - t[11], row(q, 11, w), row(v, 11, w), row(q, 12, w), row(v, 12, w), 0.7,
                          between, rates);
        for (int i = 0; i < NV; i++) {
            ck_assert_double_eq_tol(seen.q[w * NV + i], between[i], 1e-12);
            ck_assert_double_eq_tol(seen.v[w * NV + i], rates[i], 1e-12);
        }
    }
    film_seek(shown, 99);  // beyond its end
    look();
    ck_assert_double_eq(seen.time, t[20]);
    teardown();
}
END_TEST

START_TEST(one_world)
{
    ctn_error err;
    open_recording(_i);
    player_view_free(&seen), film_free(shown);
    shown = film_open("a.h5", 2, &err);
    ck_assert_msg(shown != NULL, "%s", err.message);
    ck_assert(film_worlds(shown) == 1 && film_world(shown, 0) == 2 && film_view_create(shown, &seen));
    film_seek(shown, t[7]);
    look();
    ck_assert(!memcmp(seen.q, row(q, 7, 2), NV * sizeof *q) && !memcmp(seen.v, row(v, 7, 2), NV * sizeof *v));
    ck_assert(!film_open("a.h5", WORLDS, &err));
    ck_assert_str_eq(err.message, "--world: a.h5 has 3 worlds, from 0 on, found 3");
    if (!_i) {
        double *const energy = numbers("a.h5", "stats/energy_after", NULL);
        ck_assert_float_eq(seen.run[0].plot_energy[5], (float)energy[5 * WORLDS + 2]);
        free(energy);
    }
    teardown();
}
END_TEST

START_TEST(steps_and_clock)
{
    open_recording(_i);
    film_seek(shown, 0.5 * (t[4] + t[5]));
    film_steps(shown, 1);
    look();
    ck_assert_double_eq(seen.time, t[5]);
    film_seek(shown, 0.5 * (t[4] + t[5]));
    film_steps(shown, -1);
    look();
    ck_assert_double_eq(seen.time, t[4]);
    film_steps(shown, -10);
    look();
    ck_assert_double_eq(seen.time, 0);
    film_speed(shown, 16);
    film_run_on(shown, true);
    double last = 0;
    do {
        look();
        ck_assert_double_ge(seen.time, last);
        last = seen.time;
    } while (seen.running);
    ck_assert_double_eq(last, t[20]);
    film_speed(shown, 1.0 / 64);
    film_run_on(shown, true);  // once more, from the beginning
    look();
    ck_assert_double_lt(seen.time, t[20]);
    teardown();
}
END_TEST

/// What contact points feel is that of the record before; a recording without them shows none.
START_TEST(contacts)
{
    enum { NUMBERS = 16 * CTN_CONTACT_NUMBERS };
    ctn_error err;
    outcome o = _i ? catena("rollout", source("scenes/slope.yaml"), "--steps", "20", "--worlds", "2", "--keep", "q,v,contacts",
                            "--out", "a.h5")
                   : catena("run", source("scenes/slope.yaml"), "--steps", "20", "--worlds", "2", "--out", "a.h5");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    size_t count;
    double *const x = numbers("a.h5", "contacts", &count);
    ck_assert_uint_eq(count, 2 * RECORDS * NUMBERS);
    ck_assert((shown = film_open("a.h5", -1, &err)) && film_view_create(shown, &seen));
    t = numbers("a.h5", "time", NULL);
    for (int k = RECORDS - 1; k >= 0; k -= 5) {
        film_seek(shown, k < RECORDS - 1 ? 0.7 * t[k] + 0.3 * t[k + 1] : t[k]);
        look();
        int sticking = 0;
        for (int w = 0; w < 2; w++) {
            const double *const row = x + (size_t)(_i ? w * RECORDS + k : k * 2 + w) * NUMBERS;
            ck_assert(!memcmp(seen.contacts + (size_t)w * NUMBERS, row, NUMBERS * sizeof *row));
            for (int i = 7; i < NUMBERS; i += CTN_CONTACT_NUMBERS) sticking += row[i] == CTN_STICKS;
        }
        ck_assert_int_eq(seen.run[0].sticking, sticking);
    }
    player_view_free(&seen), film_free(shown), free(x);
    o = catena("rollout", source("scenes/slope.yaml"), "--steps", "20", "--worlds", "2", "--out", "a.h5");
    outcome_free(&o);
    ck_assert((shown = film_open("a.h5", -1, &err)) && film_view_create(shown, &seen));
    look();
    ck_assert(!seen.contacts);
    teardown();
}
END_TEST

/// A world that froze stands still between records, too, whatever its velocities were, from the time on when it did; it is said
/// that it did.
START_TEST(frozen_worlds_stand)
{
    ctn_error err;
    outcome o = catena(_i ? "rollout" : "run", source("scenes/chain10.yaml"), "--method", "rk4", "--dt", "0.2", "--steps", "40",
                       "--out", "f.h5");
    outcome_free(&o);
    size_t count;
    t = numbers("f.h5", "time", &count);
    shown = film_open("f.h5", -1, &err);
    ck_assert_msg(shown != NULL, "%s", err.message);
    ck_assert(film_view_create(shown, &seen));
    film_seek(shown, t[count - 1]);
    look();
    double last[NV];
    memcpy(last, seen.q, sizeof last);
    film_seek(shown, 0.4 * t[count - 2] + 0.6 * t[count - 1]);
    look();
    ck_assert(!memcmp(last, seen.q, sizeof last));
    const double stopped = seen.run[0].frozen_time;
    ck_assert(seen.frozen[0] && seen.run[0].stands && seen.run[0].frozen != CTN_RUNNING && stopped > 0);
    film_seek(shown, stopped + 1e-6), look();
    ck_assert(seen.frozen[0] && !memcmp(last, seen.q, sizeof last));
    film_seek(shown, stopped - 1e-3), look();
    ck_assert(!seen.frozen[0] && !seen.run[0].stands && memcmp(last, seen.q, sizeof last));
    teardown();
}
END_TEST

/// Records of some worlds of a rollout in any order, as many in memory at a time as there is room for.
START_TEST(little_memory)
{
    static const int order[] = {0, 1, 2, 20, 19, 7, 8, 6, 5, 4, 12, 0};
    ctn_error err;
    recorded from;
    recorded_states some;
    double got_q[WORLDS * NV], got_v[WORLDS * NV];
    open_recording(1);
    ck_assert_int_eq(recorded_open(&from, "a.h5", &err), CTN_OK);
    ck_assert_int_eq(
        recorded_states_open(&some, &from, film_model(shown), 1, WORLDS - 1, (size_t)_i * (2 * NV * (WORLDS - 1) + 1) * 5, &err),
        CTN_OK);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        ck_assert_int_eq(recorded_states_read(&some, order[k], got_q, got_v, &err), CTN_OK);
        ck_assert_int_le(some.held, _i ? 5 : 3);
        for (int w = 1; w < WORLDS; w++) {
            ck_assert(!memcmp(got_q + (w - 1) * NV, row(q, order[k], w), NV * sizeof *q));
            ck_assert(!memcmp(got_v + (w - 1) * NV, row(v, order[k], w), NV * sizeof *v));
        }
    }
    recorded_states_close(&some);
    ctn_scene_free(from.scene);
    recorded_close(&from);
    teardown();
}
END_TEST

static film *film_of(const char *path, const char *scene, const char *keep, const char *method, const char *dt)
{
    ctn_error err;
    outcome o = catena("rollout", source(scene), "--worlds", "2", "--method", method, "--dt", dt, "--steps", "40", "--keep", keep,
                       "--out", path);
    outcome_free(&o);
    film *const f = film_open(path, -1, &err);
    ck_assert_msg(f != NULL, "%s", err.message);
    return f;
}

/// Of a rollout that kept coordinates alone velocities are those of the motion about a record, to second order in the time
/// between records: of free joints, balls, hinges and sliders. It is said.
START_TEST(without_velocities)
{
    double worst[2];
    for (int k = 0; k < 2; k++) {
        const char *const dt = k ? "0.001" : "0.002";
        film *const whole = film_of("qv.h5", "scenes/flying-tree.yaml", "q,v", "rk4", dt);
        shown = film_of("q.h5", "scenes/flying-tree.yaml", "q", "rk4", dt);
        ck_assert_str_eq(film_lacks(shown), "velocities are not in the file: they are guessed");
        ck_assert(!film_lacks(whole));
        const size_t nq = (size_t)ctn_model_nq(film_model(shown)), nv = (size_t)ctn_model_nv(film_model(shown));
        player_view truth;
        ctn_error err;
        double first, last;
        film_range(whole, &first, &last);
        ck_assert(film_view_create(shown, &seen) && film_view_create(whole, &truth));
        worst[k] = 0;
        for (int n = 39; n >= 1; n -= 2) {
            film_seek(shown, last * n / 40), film_seek(whole, last * n / 40);
            look();
            ck_assert_int_eq(film_look(whole, &truth, &err), CTN_OK);
            ck_assert(!memcmp(seen.q, truth.q, 2 * nq * sizeof *seen.q));
            for (size_t i = 0; i < 2 * nv; i++) worst[k] = fmax(worst[k], fabs(seen.v[i] - truth.v[i]));
        }
        film_seek(shown, 0), look();
        ck_assert_double_eq_tol(seen.v[0], 0.5, 0.01);  // of one side
        player_view_free(&seen), player_view_free(&truth);
        film_free(shown), film_free(whole);
    }
    ck_assert_msg(worst[1] > 0 && worst[1] < 1e-3 && worst[0] / worst[1] > 3.8 && worst[0] / worst[1] < 4.2, "%g, %g", worst[0],
                  worst[1]);
    leave_scratch();
}
END_TEST

/// The same of worlds that froze: they stand where they stopped, and are at rest from then on.
START_TEST(frozen_without_velocities)
{
    film *const whole = film_of("qv.h5", "scenes/chain10.yaml", "q,v", "rk4", "0.2");
    shown = film_of("q.h5", "scenes/chain10.yaml", "q", "rk4", "0.2");
    const size_t nq = (size_t)ctn_model_nq(film_model(shown));
    player_view truth;
    ctn_error err;
    double first, last;
    film_range(whole, &first, &last);
    ck_assert(film_view_create(shown, &seen) && film_view_create(whole, &truth));
    for (int n = 0; n <= 40; n++) {
        film_seek(shown, last * n / 40), film_seek(whole, last * n / 40);
        look();
        ck_assert_int_eq(film_look(whole, &truth, &err), CTN_OK);
        ck_assert(!memcmp(seen.q, truth.q, 2 * nq * sizeof *seen.q) && seen.frozen[0] == truth.frozen[0]);
        ck_assert(recorded_state_stands(seen.v, 2 * (size_t)ctn_model_nv(film_model(shown))));
    }
    ck_assert(seen.frozen[0] && seen.v[0] == 0);
    player_view_free(&seen), player_view_free(&truth);
    film_free(shown), film_free(whole);
    leave_scratch();
}
END_TEST

/// What the window is asked for is looked at before there is one.
START_TEST(options)
{
    const struct {
        const char *words[3], *says;
    } of[] = {{{"a.h5", "--world", "3"}, "--world: a.h5 has 3 worlds, from 0 on, found 3"},
              {{"a.h5", "--camera", "10,100"}, "--camera: expected AZIMUTH,ELEVATION in degrees"},
              {{"a.h5", "--colors", "energy:-3"},
               "--colors: expected scene, link, energy, energy:MAX (J, above 0) or world, found 'energy:-3'"},
              {{"a.h5", "--layout", "rows"}, "--layout: expected grid or overlay, found 'rows'"},
              {{"a.csv"}, "a.csv: recordings are drawn from HDF5, not from CSV; record with --out a.h5"},
              {{"a.h5", "--show", "trail:rod.1"}, "--show: trail: trails of chosen links are for catena render"},
              {{"a.h5", "--show", "com,text"}, "--show: text is for catena render; the window's panel has what it says"},
              {{"none.h5", "--show", "com"}, "none.h5: cannot be read"},
              {{source("scenes/chain10.yaml"), "--world", "1"}, "--world chooses one of a recording;"}};
    open_recording(1);
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        outcome o = catena("view", of[k].words[0], of[k].words[1], of[k].words[2]);
        ck_assert_msg(o.status == 2 && strstr(o.err, of[k].says), "%d: %s", o.status, o.err);
        outcome_free(&o);
    }
    teardown();
}
END_TEST

START_TEST(refusals)
{
    ctn_error err;
    ck_assert(!film_open("none.h5", -1, &err));
    ck_assert_msg(strstr(err.message, "none.h5"), "%s", err.message);
    spit("text.h5", "no recording");
    ck_assert(!film_open("text.h5", -1, &err));
    ck_assert_msg(strstr(err.message, "text.h5"), "%s", err.message);
    leave_scratch();
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("film");
    TCase *const c = tcase_create("film");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, enter_scratch, NULL);
    tcase_add_loop_test(c, any_time, 0, 2);
    tcase_add_loop_test(c, one_world, 0, 2);
    tcase_add_loop_test(c, steps_and_clock, 0, 2);
    tcase_add_loop_test(c, contacts, 0, 2);
    tcase_add_loop_test(c, frozen_worlds_stand, 0, 2);
    tcase_add_loop_test(c, little_memory, 0, 2);
    tcase_add_test(c, without_velocities);
    tcase_add_test(c, frozen_without_velocities);
    tcase_add_test(c, options);
    tcase_add_test(c, refusals);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
