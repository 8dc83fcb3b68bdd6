/// The viewer's thread: watched or not it gives the bits of a batch, goes back and forth, takes changes while it runs; its hand
/// pulls as a spring does, and who steers it is asked before steps.
#include "render/view/player.h"
#include "render/view/words.h"
#include "tests/suite.h"

#include <catena/motors.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { MOST = 200 };

static ctn_scene *scene;
static ctn_model *model;
static player *playing;
static player_view seen;
static size_t nq, nv;

static void open_scene(const char *name)
{
    char path[300];
    ctn_error err;
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", name);
    scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    ck_assert((model = ctn_model_create(scene, &err)) != NULL);
    nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
}

static ctn_batch_config method(ctn_method m, double dt)
{
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.method = m, cfg.dt = dt;
    return cfg;
}

static void play(const ctn_batch_config *cfg, int runs)
{
    ctn_error err;
    playing = player_create(scene, model, cfg, runs, NULL, &err);
    ck_assert_msg(playing != NULL, "%s", err.message);
    ck_assert(player_view_create(playing, &seen));
    player_look(playing, &seen);
}

static void teardown(void)
{
    player_free(playing);
    player_view_free(&seen);
    ctn_model_free(model);
    ctn_scene_free(scene);
    playing = NULL, model = NULL, scene = NULL;
}

/// Looks again and again until the first run has made `steps` steps since its beginning; with a rest, as a lock that is asked for
/// at once after it was given back may never reach the thread that steps.
static void wait_steps(long steps)
{
    do {
        usleep(20);
        player_look(playing, &seen);
        ck_assert_msg(!seen.run[0].stands, "%s", ctn_freeze_text(seen.run[0].frozen));
    } while (seen.run[0].steps != steps);
}

/// The state of a batch of this configuration after `steps` steps, with constant joint forces or none.
static void direct(const ctn_batch_config *cfg, int steps, const double *tau, double *q, double *v)
{
    ctn_error err;
    ctn_batch *const batch = ctn_batch_create(model, cfg, &err);
    ck_assert_msg(batch != NULL, "%s", err.message);
    ctn_batch_set_force(batch, tau);
    ck_assert_int_eq(ctn_batch_step(batch, steps, NULL, &err), CTN_OK);
    ctn_batch_state(batch, q, v);
    ctn_batch_free(batch);
}

static void same_bits(const double *a, const double *b, size_t n, const char *what)
{
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(!memcmp(&a[k], &b[k], sizeof *a), "%s[%zu]: %.17g, not %.17g", what, k, a[k], b[k]);
}

static void same_as_direct(const ctn_batch_config *cfg, int steps, const double *tau)
{
    double q[MOST], v[MOST];
    direct(cfg, steps, tau, q, v);
    same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
}

START_TEST(watching_changes_no_bit)
{
    static const ctn_method methods[] = {CTN_RK4, CTN_COLLOCATION, CTN_RADAU, CTN_VARIATIONAL};
    open_scene("chain10");
    const ctn_batch_config cfg = method(methods[_i], 0.005);
    play(&cfg, 1);
    player_steps(playing, 60);
    wait_steps(60);
    same_as_direct(&cfg, 60, NULL);
    teardown();
}
END_TEST

START_TEST(goes_back_and_forth)
{
    open_scene("double-pendulum");
    const ctn_batch_config cfg = method(CTN_RADAU, 0.02);
    play(&cfg, 1);
    player_steps(playing, 30);
    wait_steps(30);
    player_steps(playing, -12);
    wait_steps(18);
    ck_assert_double_eq_tol(seen.time, 18 * 0.02, 1e-12);
    same_as_direct(&cfg, 18, NULL);
    player_steps(playing, 22);
    wait_steps(40);
    same_as_direct(&cfg, 40, NULL);
    player_reset(playing);
    wait_steps(0);
    same_as_direct(&cfg, 0, NULL);
    player_steps(playing, -3);  // there is nothing before the beginning
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    player_look(playing, &seen);
    same_as_direct(&cfg, 0, NULL);
    ck_assert_int_eq(seen.run[0].steps, 0);
    teardown();
}
END_TEST

/// Runs with other methods and time steps, in step with the first one, are where they would be alone.
START_TEST(runs_keep_step)
{
    open_scene("chain10");
    ctn_batch_config cfg[3] = {method(CTN_COLLOCATION, 0.01), method(CTN_RK4, 0.002), method(CTN_RADAU, 0.04)};
    double q[MOST], v[MOST];
    play(cfg, 3);
    player_steps(playing, 20);
    wait_steps(20);
    for (int k = 0; k < 3; k++) {
        const int steps = (int)lround(0.2 / cfg[k].dt);
        while (seen.run[1].steps < 100 || seen.run[2].steps < 5) player_look(playing, &seen);
        ck_assert_int_eq(seen.run[k].steps, steps);
        direct(&cfg[k], steps, NULL, q, v);
        same_bits(seen.q + (size_t)k * nq, q, nq, "q"), same_bits(seen.v + (size_t)k * nv, v, nv, "v");
    }
    teardown();
}
END_TEST

/// A run that has frozen stands where it froze; the others go on, step by step and back, as if they were alone.
START_TEST(frozen_runs_stand)
{
    open_scene("chain10");
    ctn_batch_config cfg[2] = {method(CTN_RK4, 0.2), method(CTN_COLLOCATION, 0.01)};
    double stood[MOST];
    play(cfg, 2);
    player_speed(playing, 16);
    player_run_on(playing, true);
    do player_look(playing, &seen);
    while (!seen.run[0].stands || seen.run[1].time < seen.run[0].time + 0.5);
    player_run_on(playing, false);
    for (long last = -1; last != seen.run[1].steps;) {  // a step may have been under way
        last = seen.run[1].steps;
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        player_look(playing, &seen);
    }
    ck_assert(seen.frozen[0] && !seen.frozen[1]);
    ck_assert_double_eq(seen.time, seen.run[1].time);
    ck_assert_double_le(seen.run[0].frozen_time, seen.run[0].time);
    memcpy(stood, seen.q, nq * sizeof *stood);
    const long steps = seen.run[1].steps;
    player_steps(playing, 3);
    do player_look(playing, &seen);
    while (seen.run[1].steps != steps + 3);
    same_bits(seen.q, stood, nq, "q");
    player_steps(playing, -1);
    do player_look(playing, &seen);
    while (seen.run[1].steps != steps + 2);
    double q[MOST], v[MOST];
    direct(&cfg[1], (int)steps + 2, NULL, q, v);
    same_bits(seen.q + nq, q, nq, "q"), same_bits(seen.v + nv, v, nv, "v");
    ck_assert(seen.run[0].stands);
    teardown();
}
END_TEST

START_TEST(changes_while_it_runs)
{
    double q[MOST], v[MOST];
    ctn_error err;
    open_scene("chain10");
    const ctn_batch_config cfg = method(CTN_COLLOCATION, 0.01), then = method(CTN_RK4, 0.002);
    play(&cfg, 1);
    player_steps(playing, 10);
    wait_steps(10);
    player_configure(playing, 0, &then);
    player_steps(playing, 5);
    wait_steps(15);
    ck_assert_int_eq(seen.run[0].cfg.method, CTN_RK4);
    ck_assert_double_eq_tol(seen.time, 0.11, 1e-12);
    direct(&cfg, 10, NULL, q, v);
    ctn_batch *const batch = ctn_batch_create(model, &then, &err);
    ck_assert_int_eq(ctn_batch_set_state(batch, q, v, 0.1, &err), CTN_OK);
    ctn_batch_step(batch, 5, NULL, NULL);
    ctn_batch_state(batch, q, v);
    ctn_batch_free(batch);
    same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
    ctn_batch_config bad = then;
    bad.dt = -1;
    player_configure(playing, 0, &bad);
    while (!seen.trouble[0]) player_look(playing, &seen);
    ck_assert_msg(strstr(seen.trouble, "dt"), "%s", seen.trouble);
    player_steps(playing, 1);
    wait_steps(16);
    ck_assert_double_eq(seen.run[0].cfg.dt, 0.002);
    ck_assert_double_eq_tol(seen.time, 0.112, 1e-12);
    teardown();
}
END_TEST

static double energy_at(const double *q, const double *v, bool weightless)
{
    ctn_totals t;
    ctn_dynamics *const dyn = ctn_dynamics_create(model, NULL, NULL);
    ctn_energy_momentum(dyn, 1, q, v, &t);
    ctn_dynamics_free(dyn);
    return t.kinetic + t.spring + (weightless ? 0 : t.potential);
}

/// Steps back lead beyond a change, which stays: the states are those that were, and go on as the new configuration says.
START_TEST(back_beyond_changes)
{
    double q[MOST], v[MOST];
    open_scene("chain10");
    const ctn_batch_config cfg = method(CTN_COLLOCATION, 0.01), then = method(CTN_RK4, 0.002);
    play(&cfg, 1);
    player_steps(playing, 10);
    wait_steps(10);
    player_configure(playing, 0, &then);
    player_steps(playing, 5);
    wait_steps(15);
    ck_assert_double_gt(fabs(seen.run[0].change), 0);
    player_steps(playing, -8);
    wait_steps(7);
    ck_assert_double_eq_tol(seen.time, 0.07, 1e-12);
    ck_assert_int_eq(seen.run[0].cfg.method, CTN_RK4);
    direct(&cfg, 7, NULL, q, v);
    same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
    ck_assert_double_eq(seen.run[0].change, 0);
    ck_assert_double_eq_tol(seen.run[0].energy, energy_at(q, v, false), 1e-12);
    player_steps(playing, 5);
    wait_steps(12);
    ctn_batch *const batch = ctn_batch_create(model, &then, NULL);
    ck_assert_int_eq(ctn_batch_set_state(batch, q, v, 0.07, NULL), CTN_OK);
    ctn_batch_step(batch, 5, NULL, NULL);
    ctn_batch_state(batch, q, v);
    ctn_batch_free(batch);
    same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
    for (int twice = 0; twice < 2; twice++) {  // worlds get a parameter of their own, which then changes
        player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, 2}, twice ? -9.81 : 0);
        player_steps(playing, 3);
        wait_steps(15);
        player_steps(playing, -12);
        wait_steps(3);
        direct(&cfg, 3, NULL, q, v);
        same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
        ck_assert_double_eq_tol(seen.run[0].energy, energy_at(q, v, !twice), 1e-12);
        ck_assert_double_eq(seen.run[0].change, 0);
        player_steps(playing, 9);
        wait_steps(12);
    }
    player_steps(playing, -100);
    wait_steps(0);
    ck_assert_double_eq(seen.time, 0);
    teardown();
}
END_TEST

/// Steps that are taken back while one is made are taken back after it; the next one goes on from there.
START_TEST(back_while_it_steps)
{
    open_scene("rope1000");
    const ctn_batch_config cfg = method(CTN_RADAU, 0.05);
    const struct timespec moment = {.tv_nsec = 3000000};
    play(&cfg, 1);
    player_steps(playing, 1), nanosleep(&moment, NULL), player_steps(playing, -1);
    nanosleep(&moment, NULL), wait_steps(0);
    player_steps(playing, 1);
    wait_steps(1);
    ck_assert_double_eq_tol(seen.time, 0.05, 1e-12);
    player_steps(playing, 2), nanosleep(&moment, NULL), player_steps(playing, -1);
    wait_steps(2);
    nanosleep(&moment, NULL), wait_steps(2);
    ck_assert_double_eq_tol(seen.time, 0.1, 1e-12);
    teardown();
}
END_TEST

/// What froze moves again when a parameter is changed, not only the first time that it is.
START_TEST(changes_thaw)
{
    open_scene("chain10");
    const ctn_batch_config cfg = method(CTN_RK4, 0.2);
    play(&cfg, 1);
    for (int k = 0; k < 2; k++) {
        player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, 2}, k ? -9.5 : -9);
        const double before = k ? seen.time : 0;
        do player_look(playing, &seen);
        while (k && seen.run[0].stands);
        ck_assert(!seen.run[0].stands && seen.run[0].frozen == CTN_RUNNING && !seen.frozen[0]);
        ck_assert_double_ge(seen.time, before);
        player_steps(playing, 1000);
        do player_look(playing, &seen);
        while (!seen.run[0].stands);
    }
    teardown();
}
END_TEST

/// Steps that are taken back do not count, nor do their fallbacks.
START_TEST(fallbacks_taken_back)
{
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_COLLOCATION, 0.02);
    cfg.max_iterations = 2;
    play(&cfg, 1);
    player_steps(playing, 60);
    wait_steps(60);
    const long fallbacks = seen.run[0].fallbacks;
    ck_assert_int_gt(fallbacks, 0);
    player_steps(playing, -60);
    wait_steps(0);
    ck_assert_int_eq(seen.run[0].fallbacks, 0);
    player_steps(playing, 60);
    wait_steps(60);
    ck_assert_int_eq(seen.run[0].fallbacks, fallbacks);
    teardown();
}
END_TEST

/// Masses of worlds are those drawn for them, times nothing else, until others are set.
START_TEST(masses_of_worlds)
{
    enum { WORLDS = 3, LINK = 4 };
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_RK4, 0.001);
    cfg.worlds = WORLDS;
    play(&cfg, 1);
    const int links = ctn_model_nlink(model);
    for (int k = 0; k < WORLDS * links; k++) ck_assert_double_eq(seen.mass_scale[k], 1);
    player_set_parameter(playing, (ctn_parameter){CTN_MASS_SCALE, LINK}, 2.5);
    do player_look(playing, &seen);
    while (seen.mass_scale[LINK] == 1);
    for (int k = 0; k < WORLDS * links; k++) ck_assert_double_eq(seen.mass_scale[k], k % links == LINK ? 2.5 : 1);
    teardown();
}
END_TEST

/// Where there is no room the oldest entries go, after a change to states that are larger, too; two stay in any case.
START_TEST(room_for_the_past)
{
    const size_t bytes = _i ? 30000 : 0;
    open_scene("chain10");
    const ctn_batch_config cfg = method(CTN_RK4, 0.002), then = method(CTN_RADAU, 0.002);
    double q[MOST], v[MOST];
    ctn_step_stats stats;
    bool change;
    ctn_batch *batch = ctn_batch_create(model, &cfg, NULL);
    history *const past = history_create(batch, bytes);
    for (int k = 0; k < 100; k++) ctn_batch_step(batch, 1, &stats, NULL), history_add(past, batch, &stats);
    int count = history_count(past);
    if (_i) ck_assert(count > 10 && (size_t)count * ctn_batch_saved_size(batch) <= bytes);
    else ck_assert_int_eq(count, 2);
    ck_assert_double_eq_tol(history_entry(past, 0)->time, 0.002 * (101 - count), 1e-12);
    ck_assert(history_back(past, batch, &change) && !change);
    direct(&cfg, 99, NULL, q, v);
    ctn_batch *const other = ctn_batch_create(model, &then, NULL);
    ctn_batch_set_state(other, q, v, 0.198, NULL);
    ctn_batch_free(batch), batch = other;
    history_change(past, batch);
    ck_assert_int_le(history_count(past), count - 1);
    for (int k = 0; k < 100; k++) ctn_batch_step(batch, 1, &stats, NULL), history_add(past, batch, &stats);
    count = history_count(past);
    ck_assert(count >= 2 && (count == 2 || (size_t)count * ctn_batch_saved_size(batch) <= bytes));
    for (int k = 1; k < count; k++) ck_assert(history_back(past, batch, &change) && !change);
    ck_assert(!history_back(past, batch, &change));
    ck_assert_double_eq_tol(ctn_batch_time(batch, 0), 0.398 - 0.002 * (count - 1), 1e-12);
    history_free(past);
    ctn_batch_free(batch);
    teardown();
}
END_TEST

/// A link that hangs on a hinge alone, under gravity that is changed, falls as fast as that says; a parameter that does not fit
/// is refused.
START_TEST(parameters)
{
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_RK4, 0.001);
    play(&cfg, 1);
    for (int k = 0; k < 3; k++) player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, k}, 0);
    player_set_parameter(playing, (ctn_parameter){CTN_MASS_SCALE, 2}, -1);
    while (!seen.trouble[0]) player_look(playing, &seen);
    ck_assert_msg(strstr(seen.trouble, "mass_scale"), "%s", seen.trouble);
    player_steps(playing, 50);
    wait_steps(50);
    double q[MOST], v[MOST];
    ctn_model_initial_state(model, q, v);
    for (size_t k = 0; k < nv; k++) ck_assert_msg(fabs(seen.v[k]) < 1e-12 && v[k] == 0, "without gravity nothing moves");
    player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, 2}, -9.81);
    player_steps(playing, -20);
    player_steps(playing, 20);
    player_steps(playing, 10);
    do player_look(playing, &seen);
    while (seen.run[0].steps != 60 || fabs(seen.time - 0.06) > 1e-9);
    double most = 0;
    for (size_t k = 0; k < nv; k++) most = fmax(most, fabs(seen.v[k]));
    ck_assert_double_gt(most, 1e-3);
    teardown();
}
END_TEST

/// What contact points feel is that of a batch after as many steps, also when steps are taken back; the ground's friction and
/// depth can be changed.
START_TEST(contacts)
{
    open_scene("slope");
    ctn_batch_config cfg = method(CTN_COLLOCATION, 0.02);
    play(&cfg, 1);
    const int n = ctn_model_ncontact(model);
    double felt[16 * CTN_CONTACT_NUMBERS];
    ck_assert_int_eq(n, 16);
    ck_assert(seen.contacts != NULL);
    for (int back = 0; back < 2; back++) {
        const int steps = back ? 30 : 40;
        ctn_batch *const batch = ctn_batch_create(model, &cfg, NULL);
        ctn_batch_step(batch, steps, NULL, NULL);
        ctn_batch_contacts(batch, felt, NULL);
        ctn_batch_free(batch);
        player_steps(playing, back ? -10 : steps);
        wait_steps(steps);
        for (int k = 0; k < n * CTN_CONTACT_NUMBERS; k++)
            ck_assert_msg(fabs(seen.contacts[k] - felt[k]) < 1e-6 + 1e-6 * fabs(felt[k]), "%g, %g", seen.contacts[k], felt[k]);
        ck_assert(seen.run[0].touching == 8 && seen.run[0].sticking == 4 && seen.run[0].sliding == 4 && seen.run[0].depth > 0);
    }
    const ctn_parameter depth = {CTN_GROUND_DEPTH, 0}, rough = {CTN_CONTACT_FRICTION, 0};
    const double before = player_parameter(playing, depth);
    ck_assert(before > 0 && isnan(player_parameter(playing, (ctn_parameter){CTN_GROUND_FRICTION, 0})));  // shapes have their own
    player_set_parameter(playing, depth, 2 * before), player_set_parameter(playing, rough, 0);
    player_steps(playing, 20);
    wait_steps(50);
    ck_assert(player_parameter(playing, depth) == 2 * before && seen.run[0].sliding == 8);
    player_set_parameter(playing, depth, -1);
    while (!seen.trouble[0]) player_look(playing, &seen);
    ck_assert_msg(strstr(seen.trouble, "ground_depth: expected a positive number"), "%s", seen.trouble);
    teardown();
}
END_TEST

START_TEST(joint_forces)
{
    double tau[MOST] = {0};
    open_scene("double-pendulum");
    const ctn_batch_config cfg = method(CTN_RK4, 0.005);
    play(&cfg, 1);
    tau[1] = 0.7;
    player_set_force(playing, 1, 0.7);
    player_steps(playing, 40);
    wait_steps(40);
    same_as_direct(&cfg, 40, tau);
    teardown();
}
END_TEST

/// The clock goes on while it runs and not otherwise; states between steps lie between theirs.
START_TEST(clock_goes_on)
{
    open_scene("chain10");
    const ctn_batch_config cfg = method(CTN_COLLOCATION, 0.05);
    play(&cfg, 1);
    player_speed(playing, 4);
    player_run_on(playing, true);
    double last = 0;
    bool between = false;
    do {
        player_look(playing, &seen);
        ck_assert_double_ge(seen.time, last);
        ck_assert_double_le(seen.time, seen.run[0].time + 1e-12);
        between = between || fabs(seen.time - round(seen.time / cfg.dt) * cfg.dt) > 0.1 * cfg.dt;
        last = seen.time;
    } while (seen.time < 1);
    ck_assert(between);
    player_run_on(playing, false);
    player_look(playing, &seen);
    const double stopped = seen.time;
    const struct timespec nap = {.tv_nsec = 50000000};
    nanosleep(&nap, NULL);
    player_look(playing, &seen);
    ck_assert_double_eq_tol(seen.time, stopped, cfg.dt + 1e-9);  // a step may have been under way
    teardown();
}
END_TEST

/// Where a point of a link is.
static void point_at(ctn_dynamics *dyn, const double *q, const pull_at *at, double *x)
{
    double R[64 * 9], p[64 * 3];
    ctn_forward_kinematics(dyn, 1, q, R, p);
    for (int i = 0; i < 3; i++) {
        x[i] = p[3 * at->link + i];
        for (int k = 0; k < 3; k++) x[i] += R[9 * at->link + 3 * i + k] * at->point[k];
    }
}

static const ctn_method methods[] = {CTN_COLLOCATION, CTN_RADAU, CTN_VARIATIONAL};

/// A hand pulls by a wrench at its point: steps of the player are those of a batch that is given it, and let go it acts no more.
START_TEST(pull_is_a_force_at_a_point)
{
    open_scene("humanoid");
    ctn_batch_config cfg = method(methods[_i], 0.01);
    const pull_at at = {.link = 7, .point = {0.1, -0.05, 0.2}, .target = {0.3, -0.2, 0.5}};
    double q[MOST], v[MOST];
    play(&cfg, 1);
    player_set_pull(playing, 0, 0, &at);
    player_steps(playing, 3), wait_steps(3);
    player_set_pull(playing, 0, 0, NULL);
    player_steps(playing, 2), wait_steps(5);
    pull *const hand = pull_create(model);
    ctn_batch *const batch = ctn_batch_create(model, &cfg, NULL);
    for (int k = 0; k < 5; k++) {
        ctn_wrench w = {.point = {0.1, -0.05, 0.2}};
        ctn_batch_state(batch, q, v);
        pull_force(hand, &at, cfg.dt, q, v, w.force);
        ck_assert_int_eq(ctn_batch_set_wrench(batch, 0, at.link, k < 3 ? &w : NULL, NULL), CTN_OK);
        ctn_batch_step(batch, 1, NULL, NULL);
    }
    ctn_batch_state(batch, q, v);
    ck_assert(!memcmp(q, seen.q, (size_t)ctn_model_nq(model) * sizeof *q));
    ctn_batch_free(batch), pull_free(hand);
    teardown();
}
END_TEST

/// A rope that goes along its links can be pulled at, with the bits of its batch; what does not go along them goes on side by
/// side.
START_TEST(pull_along_links)
{
    open_scene("chain40");
    ctn_batch_config cfg = method(CTN_ALPHA, 0.005);
    cfg.parallel = CTN_PARALLEL_LINKS, cfg.lanes = 16, cfg.threads = 2;
    const pull_at at = {.link = 30, .target = {0.3, -0.2, 0.5}};
    double q[MOST], v[MOST];
    play(&cfg, 1);
    ck_assert_int_eq(seen.run[0].lanes, 16);
    player_steps(playing, 2), wait_steps(2);
    player_set_pull(playing, 0, 0, &at);
    player_steps(playing, 3), wait_steps(5);
    player_set_pull(playing, 0, 0, NULL);
    player_steps(playing, 2), wait_steps(7);
    pull *const hand = pull_create(model);
    ctn_batch *const batch = ctn_batch_create(model, &cfg, NULL);
    for (int k = 0; k < 7; k++) {
        ctn_wrench w = {0};
        ctn_batch_state(batch, q, v);
        pull_force(hand, &at, cfg.dt, q, v, w.force);
        if (k > 1) ck_assert_int_eq(ctn_batch_set_wrench(batch, 0, at.link, k < 5 ? &w : NULL, NULL), CTN_OK);
        ctn_batch_step(batch, 1, NULL, NULL);
    }
    ctn_batch_state(batch, q, v);
    same_bits(seen.q, q, nq, "q");
    ctn_batch_free(batch), pull_free(hand);
    static const struct {
        ctn_method method;
        ctn_solver solver;
        bool gravity;
        int lanes;
    } then[] = {{CTN_RADAU, CTN_NEWTON, false, 16},
                {CTN_ALPHA, CTN_NEWTON, false, 16},
                {CTN_ALPHA, CTN_NEWTON, true, 16},
                {CTN_RADAU, CTN_LM, false, 0}};
    for (int k = 0; k < 4; k++) {
        cfg = player_configuration(playing, 0);
        cfg.method = then[k].method, cfg.solver = then[k].solver;
        if (then[k].gravity) player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, 2}, -5);
        else player_configure(playing, 0, &cfg);
        player_steps(playing, 1), wait_steps(8 + k);
        ck_assert_str_eq(seen.trouble, "");
        ck_assert_int_eq(seen.run[0].lanes, then[k].lanes);
    }
    teardown();
}
END_TEST

/// A method that takes no force on a link says so, and goes on.
START_TEST(pull_refused)
{
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_COLLOCATION, 0.01);
    cfg.order = 4;
    play(&cfg, 1);
    player_set_pull(playing, 0, 0, &(pull_at){.link = 3});
    player_steps(playing, 2), wait_steps(2);
    ck_assert_msg(strstr(seen.trouble, "wrenches at order 2 alone"), "%s", seen.trouble);
    teardown();
}
END_TEST

/// Numbers with the prefixes that people write.
START_TEST(quantities)
{
    static const struct {
        double x;
        const char *unit, *says;
    } of[] = {{0.01, "s", "10 ms"},     {0.001, "s", "1 ms"},     {1, "s", "1 s"},          {0.9999, "s", "1 s"},
              {2.5e-4, "s", "250 µs"},  {0, "N", "0 N"},          {12.345, "N", "12.3 N"},  {-4321, "N", "-4.32 kN"},
              {0.1, "s", "100 ms"},     {999.7, "N", "1 kN"},     {1e300, "N", "1e+300 N"}, {1e-300, "N", "1e-300 N"},
              {INFINITY, "J", "inf J"}, {0.0316, "s", "31.6 ms"}, {999.4, "N", "999 N"}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        char text[QUANTITY_WORDS];
        quantity_words(of[k].x, of[k].unit, text);
        ck_assert_str_eq(text, of[k].says);
    }
}
END_TEST

/// What froze says when, why, and what to press: keys that are there.
START_TEST(frozen_runs_say_what_to_press)
{
    char text[600];
    player_run r = {.frozen = CTN_RUNNING};
    frozen_words(&r, 1, false, text, sizeof text);
    ck_assert_str_eq(text, "");
    r.frozen = CTN_FREEZE_NOT_CONVERGED, r.frozen_time = 1.25, r.froze = 2;
    snprintf(r.why, sizeof r.why, "joint 'arm'; try radau");
    frozen_words(&r, 1, false, text, sizeof text);
    ck_assert_msg(strstr(text, "It froze at 1.25 s: joint 'arm'; try radau."), "%s", text);
    ck_assert(strstr(text, "left arrow") && strstr(text, "M for another integrator") && strstr(text, "comma for half the time step"));
    frozen_words(&r, 3, true, text, sizeof text);
    ck_assert_msg(strstr(text, "2 of 3 worlds froze, one at 1.25 s: ") && !strstr(text, "integrator"), "%s", text);
}
END_TEST

/// Who looks is told the force of a pull where the clock stands, also while nothing moves; it grows with the way, and ends with
/// the pull.
START_TEST(pulls_tell_their_force)
{
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_RADAU, 0.01);
    double at_rest[3], before = 0;
    play(&cfg, 1);
    player_look(playing, &seen);
    ck_assert(seen.pull[0] == 0 && seen.pull[1] == 0 && seen.pull[2] == 0);
    pull_at at = {.link = 9};
    ctn_dynamics *const dyn = ctn_dynamics_create(model, "scalar", NULL);
    point_at(dyn, seen.q, &at, at_rest);
    for (int k = 1; k < 4; k++) {
        for (int i = 0; i < 3; i++) at.target[i] = at_rest[i] + (i == 2 ? 0.1 * k : 0);
        player_set_pull(playing, 0, 0, &at);
        player_look(playing, &seen);
        ck_assert_msg(seen.pull[2] > before && fabs(seen.pull[1]) < 1e-9, "%g %g", seen.pull[1], seen.pull[2]);
        if (k > 1) ck_assert_double_eq_tol(seen.pull[2], before * k / (k - 1), 1e-9 * seen.pull[2]);  // a spring
        before = seen.pull[2];
    }
    player_set_pull(playing, 0, 0, NULL);
    player_look(playing, &seen);
    ck_assert(seen.pull[2] == 0);
    ctn_dynamics_free(dyn);
    teardown();
}
END_TEST

/// Plots have the times of their steps, also after some were taken back.
START_TEST(plots_have_times)
{
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_RADAU, 0.01);
    play(&cfg, 1);
    player_steps(playing, 5);
    wait_steps(5);
    player_steps(playing, -2);
    wait_steps(3);
    player_steps(playing, 1);
    wait_steps(4);
    const player_run *const r = &seen.run[0];
    ck_assert_int_eq(r->plotted, 4);
    for (int k = 0; k < 4; k++) ck_assert_float_eq_tol(r->plot_time[k], 0.01f * (float)(k + 1), 1e-6f);
    ck_assert_double_eq_tol(r->plot_energy[3], r->energy, 1e-5 * fabs(r->energy) + 1e-6);
    teardown();
}
END_TEST

/// Held long enough, without gravity, the point is where it is pulled to, whatever the method and its step.
START_TEST(pull_arrives)
{
    static const double steps[] = {0.002, 0.02, 0.1};
    open_scene("chain10");
    ctn_batch_config cfg = method(CTN_RADAU, steps[_i]);
    double reached[3];
    play(&cfg, 1);
    for (int k = 0; k < 3; k++) player_set_parameter(playing, (ctn_parameter){CTN_GRAVITY, k}, 0);
    const pull_at at = {.link = 9, .point = {0, 0, 0}, .target = {0.2, 0.1, -0.1}};
    player_set_pull(playing, 0, 0, &at);
    const int n = (int)lround(40 / cfg.dt);
    player_steps(playing, n);
    wait_steps(n);
    ctn_dynamics *const dyn = ctn_dynamics_create(model, "scalar", NULL);
    point_at(dyn, seen.q, &at, reached);
    ctn_dynamics_free(dyn);
    for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(reached[i], at.target[i], 0.03);
    teardown();
}
END_TEST

// ---- who steers

enum { FAILS = 40 };  // steps after which no more is told
static double told[FAILS + 1];

/// A number that goes by time and state, as that of a plan does; in the end none.
static bool tell(void *context, double time, const double *q, const double *v, double *u, ctn_error *err)
{
    int *const asked = context;
    if (*asked == FAILS) return strcpy(err->message, "no plan goes on"), false;
    told[(*asked)++] = u[0] = 3 * sin(20 * time) - q[1] - 0.2 * v[0];
    return true;
}

/// Steered, a player has the bits of a batch that is told the same, and says when nobody steers any more; from the beginning it is
/// steered again.
START_TEST(steered)
{
    open_scene("cartpole-swing-up");
    const ctn_batch_config cfg = method(CTN_RK4, 0.02);
    int asked = 0;
    ctn_error err;
    const player_steer steer = {tell, &asked};
    playing = player_create(scene, model, &cfg, 1, &steer, &err);
    ck_assert(playing != NULL && player_view_create(playing, &seen));
    player_steps(playing, FAILS), wait_steps(FAILS);
    ck_assert_int_eq(asked, FAILS);
    ck_assert_str_eq(seen.trouble, "");
    ctn_parameter target;
    ctn_model_target_parameters(model, &target);
    ctn_batch_config own = cfg;
    own.parameters = &target, own.parameter_count = 1;
    ctn_batch *const batch = ctn_batch_create(model, &own, &err);
    double q[2], v[2], u;
    int again = 0;
    for (int k = 0; k <= FAILS; k++) {
        ctn_batch_state(batch, q, v);
        if (k == FAILS) same_bits(seen.q, q, nq, "q"), same_bits(seen.v, v, nv, "v");
        const double before = told[k];
        if (k < FAILS) ck_assert(tell(&again, ctn_batch_time(batch, 0), q, v, &u, &err) && u == before);
        ck_assert_int_eq(ctn_batch_set_parameters(batch, &u, &err), CTN_OK);
        ck_assert_int_eq(ctn_batch_step(batch, 1, NULL, &err), CTN_OK);  // the last one is told as the one before it
    }
    player_steps(playing, 1), wait_steps(FAILS + 1);
    ctn_batch_state(batch, q, v);
    same_bits(seen.q, q, nq, "q");
    ck_assert_str_eq(seen.trouble, "no plan goes on");
    asked = 0;
    player_reset(playing), player_steps(playing, 3), wait_steps(3);
    ck_assert_int_eq(asked, 3);
    ctn_batch_free(batch);
    teardown();
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("player");
    TCase *const t = tcase_create("player");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, watching_changes_no_bit, 0, 4);
    tcase_add_test(t, goes_back_and_forth);
    tcase_add_test(t, runs_keep_step);
    tcase_add_test(t, frozen_runs_stand);
    tcase_add_test(t, changes_while_it_runs);
    tcase_add_test(t, back_beyond_changes);
    tcase_add_loop_test(t, room_for_the_past, 0, 2);
    tcase_add_test(t, back_while_it_steps);
    tcase_add_test(t, changes_thaw);
    tcase_add_test(t, fallbacks_taken_back);
    tcase_add_test(t, masses_of_worlds);
    tcase_add_test(t, parameters);
    tcase_add_test(t, contacts);
    tcase_add_test(t, joint_forces);
    tcase_add_test(t, clock_goes_on);
    tcase_add_loop_test(t, pull_is_a_force_at_a_point, 0, 3);
    tcase_add_test(t, pull_along_links);
    tcase_add_test(t, pull_refused);
    tcase_add_loop_test(t, pull_arrives, 0, 3);
    tcase_add_test(t, quantities);
    tcase_add_test(t, frozen_runs_say_what_to_press);
    tcase_add_test(t, pulls_tell_their_force);
    tcase_add_test(t, plots_have_times);
    tcase_add_test(t, steered);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
