/// Searches as calls, catena/search.h: the bits of the command, resumes, rewards of a program's own, and what is refused.
#include "tests/command.h"
#include "tests/slider.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEARCHED SLIDER SPLINE REACH SAMPLED "search: {seed: 3, population: 6, worlds: 2, generations: 5}\n"
#define LEARNED                                                                                                                  \
    SLIDER "sensors: [{name: x, type: joint_position, joint: a}]\n"                                                              \
           "controller: {type: tanh, sensors: all, hidden: [2], range: [-1, 1], every: 0.04}\n" REACH                            \
           "search: {method: ppo, worlds: 4, critic: [4], generations: 2}\n"
enum { KNOTS = 3, MOST = 20 };

static ctn_error err;

static ctn_scene *parse(const char *text)
{
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return scene;
}

/// Of a text; scene and configuration go before the search begins.
static ctn_search *opened(const char *text, void change(ctn_search_config *cfg))
{
    ctn_scene *const scene = parse(text);
    ctn_search_config cfg = ctn_search_config_default(scene);
    char engine[] = "scalar";
    cfg.batch.engine = engine;
    if (change) change(&cfg);
    ctn_search *const s = ctn_search_create(scene, &cfg, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    ctn_scene_free(scene), memset(engine, 'x', sizeof engine - 1);
    return s;
}

static void run(ctn_search *s, long generations, const char *checkpoint)
{
    ck_assert_msg(ctn_search_run(s, generations, checkpoint, &err) == CTN_OK, "%s", err.message);
}

/// What the command finds, a call finds, by an own seed, too; checkpoints of one are those of the other.
START_TEST(finds_what_the_command_finds)
{
    static const char *const texts[] = {SEARCHED, LEARNED};
    ctn_scene *const scene = parse(texts[_i]);
    ctn_search_config cfg = ctn_search_config_default(scene);
    ck_assert_int_eq(cfg.generations, _i ? 2 : 5);
    ck_assert_double_eq(cfg.duration, 1);
    cfg.seed = 7;
    ctn_search *const s = ctn_search_create(scene, &cfg, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    run(s, cfg.generations, "own.checkpoint");
    spit("t.yaml", texts[_i]);
    outcome o = catena("search", "t.yaml", "--seed", "7", "--out", "found.yaml", "--quiet");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    size_t size[3];
    char *const of_command = slurp("found.yaml", &size[0]), *const own = ctn_search_scene(s, NULL, "Found", &err);
    ck_assert_msg(own != NULL, "%s", err.message);
    ck_assert_str_eq(strchr(own, '\n'), strchr(of_command, '\n'));  // all but the first line
    ck_assert(!memcmp(own, "# Found\n", 8));
    char *const a = slurp("own.checkpoint", &size[1]), *const b = slurp("found.yaml.checkpoint", &size[2]);
    ck_assert(size[1] == size[2] && !memcmp(a, b, size[1]));
    free(of_command), free(own), free(a), free(b);
    ctn_search_free(s), ctn_scene_free(scene);
}
END_TEST

static long told;
static ctn_search_state last;

static void hear(void *context, const ctn_search_state *state)
{
    ck_assert_ptr_eq(context, &told);
    told++, last = *state;
}

static void with_progress(ctn_search_config *cfg) { cfg->progress = hear, cfg->context = &told; }

/// A search that goes on from a checkpoint has the bits of one that nothing ended.
START_TEST(goes_on)
{
    double whole[KNOTS], parts[KNOTS], value, finer;
    told = 0;
    ctn_search *const s = opened(SEARCHED, with_progress), *const first = opened(SEARCHED, NULL);
    ck_assert_int_eq(ctn_search_parameters(s), KNOTS);
    ck_assert_int_eq(ctn_search_worlds(s), 12);
    run(s, 5, NULL);
    ck_assert_int_eq(told, 5);
    ck_assert_int_eq(last.generation, 5);
    ck_assert_int_eq(ctn_search_get_state(s).judges, 8);
    for (int k = 0; k < 2; k++) ck_assert_int_eq(ctn_search_step(first, &err), CTN_OK);
    ck_assert_int_eq(ctn_search_save(first, "c", &err), CTN_OK);
    ctn_search_free(first);
    ctn_search *const then = opened(SEARCHED, NULL);
    ck_assert_int_eq(ctn_search_restore(then, "c", &err), CTN_OK);
    run(then, 5, "c");
    ck_assert(ctn_search_best(s, whole, &err) == CTN_OK && ctn_search_best(then, parts, &err) == CTN_OK);
    ck_assert(!memcmp(whole, parts, sizeof whole));
    ck_assert_double_eq(ctn_search_get_state(s).best, ctn_search_get_state(then).best);
    ck_assert_int_eq(ctn_search_value(s, whole, 1, &value, &err), CTN_OK);
    ck_assert_int_eq(ctn_search_value(then, whole, 10, &finer, &err), CTN_OK);
    ck_assert_double_eq_tol(value, finer, 0.05 * fabs(value));
    ck_assert_double_ne(value, finer);
    ctn_search_free(s), ctn_search_free(then);
}
END_TEST

// ---- rewards of one's own

typedef struct {
    int asked, fails_at;  // counted from 1; 0: never
} rewarder;

/// What `reach` says, at the end.
static ctn_status earn(void *context, const ctn_search_moment *now, double *earned, ctn_error *error)
{
    rewarder *const x = context;
    if (!(now->dt > 0)) return CTN_OK;
    for (int w = 0; w < now->worlds; w++) earned[w] = now->last ? -fabs(now->q[w] - 0.3) : 0;
    if (++x->asked != x->fails_at) return CTN_OK;
    *error = (ctn_error){.status = CTN_INTERRUPTED, .message = "not now"};
    return CTN_INTERRUPTED;
}

/// It finds what the scene's reward finds; a call that it ends leaves the search as it was.
START_TEST(own_rewards)
{
    double by_scene[KNOTS], by_call[KNOTS];
    rewarder x = {.fails_at = 60};  // in the third of 25 intervals each
    ctn_scene *const scene = parse(SLIDER SPLINE "search: {seed: 3, population: 6}\n");
    ctn_search_config cfg = ctn_search_config_default(scene);
    ck_assert_ptr_null(ctn_search_create(scene, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_BAD_SCENE);
    cfg.earn = earn, cfg.context = &x;
    ctn_search *const s = ctn_search_create(scene, &cfg, &err);
    ck_assert_msg(s != NULL, "%s", err.message);
    ck_assert_int_eq(ctn_search_run(s, 4, NULL, &err), CTN_INTERRUPTED);
    ck_assert_str_eq(err.message, "not now");
    ck_assert_int_eq(ctn_search_get_state(s).generation, 2);
    run(s, 4, NULL);
    ctn_search *const t = opened(SLIDER SPLINE REACH "search: {seed: 3, population: 6}\n", NULL);
    run(t, 4, NULL);
    ck_assert(ctn_search_best(s, by_call, &err) == CTN_OK && ctn_search_best(t, by_scene, &err) == CTN_OK);
    for (int k = 0; k < KNOTS; k++) ck_assert_double_eq_tol(by_call[k], by_scene[k], 1e-12);
    ctn_search_free(s), ctn_search_free(t), ctn_scene_free(scene);
}
END_TEST

// ---- interruptions

static volatile int stop;

static void interruptible(ctn_search_config *cfg) { cfg->batch.interrupt = &stop; }

static void stop_now(void *context, const ctn_search_state *state)
{
    (void)context, (void)state;
    stop = 1;
}

static void interrupts_itself(ctn_search_config *cfg) { cfg->batch.interrupt = &stop, cfg->progress = stop_now; }

/// A policy stands within a window then: it goes back to what `run` has saved, or refuses to go on.
START_TEST(interrupted_policies)
{
    double whole[MOST], after[MOST];
    stop = 0;
    ctn_search *const s = opened(LEARNED, interruptible), *const t = opened(LEARNED, NULL);
    ck_assert_int_le(ctn_search_parameters(s), MOST);
    run(t, 2, NULL);
    stop = 1;
    ck_assert_int_eq(ctn_search_run(s, 2, "c", &err), CTN_INTERRUPTED);
    stop = 0;
    ck_assert_int_eq(ctn_search_run(s, 2, "c", &err), CTN_BAD_ARGUMENT);  // nothing was saved yet
    ck_assert_msg(strstr(err.message, "within a window"), "%s", err.message);
    ck_assert_int_eq(ctn_search_best(s, after, &err), CTN_BAD_ARGUMENT);
    ctn_search_free(s);
    ctn_search *const u = opened(LEARNED, interruptible);
    run(u, 1, "c");
    stop = 1;
    ck_assert_int_eq(ctn_search_step(u, &err), CTN_INTERRUPTED);
    stop = 0;
    ck_assert_int_eq(ctn_search_step(u, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_search_restore(u, "c", &err), CTN_OK);
    run(u, 2, NULL);
    ck_assert(ctn_search_best(t, whole, &err) == CTN_OK && ctn_search_best(u, after, &err) == CTN_OK);
    ck_assert(!memcmp(whole, after, (size_t)ctn_search_parameters(t) * sizeof *whole));
    ctn_search_free(u);
    ctn_search *const x = opened(LEARNED, interrupts_itself);
    ck_assert_int_eq(ctn_search_run(x, 2, "c", &err), CTN_INTERRUPTED);
    ck_assert_int_eq(ctn_search_get_state(x).generation, 1);
    stop = 0;
    ck_assert(ctn_search_step(x, &err) == CTN_OK && ctn_search_finish(x, &err) == CTN_OK);
    ck_assert(ctn_search_best(x, after, &err) == CTN_OK);
    ck_assert(!memcmp(whole, after, (size_t)ctn_search_parameters(t) * sizeof *whole));
    ctn_search_free(t), ctn_search_free(x);
}
END_TEST

// ---- what it refuses

static void no_cookie(ctn_search_config *cfg) { cfg->cookie = 0; }
static void bad_seed(ctn_search_config *cfg) { cfg->seed = -1; }
static void bad_tolerance(ctn_search_config *cfg) { cfg->batch.tolerance = -1; }
static void short_episode(ctn_search_config *cfg) { cfg->duration = 0.001; }

START_TEST(refuses)
{
    static const struct {
        void (*change)(ctn_search_config *cfg);
        ctn_status status;
        const char *says;
    } bad[] = {{no_cookie, CTN_BAD_CONFIG, "start from ctn_search_config_default()"},
               {bad_seed, CTN_BAD_CONFIG, "seed: expected 0 or more, found -1"},
               {bad_tolerance, CTN_BAD_CONFIG, "tolerance"},
               {short_episode, CTN_BAD_SCENE, "duration"}};
    ctn_scene *const scene = parse(SEARCHED);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        ctn_search_config cfg = ctn_search_config_default(scene);
        bad[k].change(&cfg);
        ck_assert_ptr_null(ctn_search_create(scene, &cfg, &err));
        ck_assert_int_eq(err.status, bad[k].status);
        ck_assert_msg(strstr(err.message, bad[k].says), "%s", err.message);
    }
    ctn_scene_free(scene);
    ctn_search *const s = opened(SEARCHED, NULL);
    double x[KNOTS] = {0, NAN, 0}, value;
    ck_assert_int_eq(ctn_search_best(s, x, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_search_run(s, 0, NULL, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_search_value(s, x, 1, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_msg(strstr(err.message, "parameter 1 is nan"), "%s", err.message);
    ck_assert_ptr_null(ctn_search_scene(s, x, "about", &err));
    x[1] = 0;
    ck_assert_int_eq(ctn_search_value(s, x, 0, &value, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_search_restore(s, "none", &err), CTN_IO);
    ck_assert_int_eq(ctn_search_save(s, "no/such/folder", &err), CTN_IO);
    ctn_search_free(s);
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("search calls");
    TCase *const t = tcase_create("search calls");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, finds_what_the_command_finds, 0, 2);
    tcase_add_test(t, goes_on);
    tcase_add_test(t, own_rewards);
    tcase_add_test(t, interrupted_policies);
    tcase_add_test(t, refuses);
    suite_add_tcase(s, t);
    return run_suite(s);
}
