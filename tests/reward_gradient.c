/// Gradients of what intervals earn (control/reward.h) against differences: every term, running and of the last state, in
/// windows, on random trees; worlds that end and fail; the same bits whatever stands beside.
#include "control/reward_parts.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/tangent.h"
#include "tests/worse.h"

#include <catena/motors.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 8, WORLDS = 3, MANY = 70, MOST = 64, MOST_TERMS = 64 };
#define DT 0.1

// ---- scenes and what worlds do

/// Terms, with %s for a link; every one of them in each way of counting.
static const char *const listed[] = {
    "term: progress, weight: 1.5, link: %s, point: [0.1, -0.3, 0.2], axis: [1, 2, -1]",
    "term: progress, weight: -0.7, of: com",
    "term: speed, weight: 1.1, link: %s, point: [0.3, 0.2, -0.1], axis: [1, -1, 1]",
    "term: speed, weight: -0.4, link: %s, point: [-0.2, 0, 0.4], axis: [0, 1, 0], target: 0.5",
    "term: speed, weight: 0.9, of: com, axis: [0, 1, 1]",
    "term: speed, weight: -1.2, of: com, target: 1",
    "term: height, weight: 2, link: %s, point: [0, 0.2, 0.1]",
    "term: height, weight: -1.3, link: %s, point: [0.3, 0, 0.1], target: 0.4",
    "term: height, weight: 0.8, of: com",
    "term: upright, weight: 1.4, link: %s, axis: [1, 2, 3]",
    "term: reach, weight: -0.6, link: %s, point: [0.1, 0.1, 0.1], target: [1, -0.5, 0.3]",
    "term: reach, weight: -1, of: com, target: [0.2, 0.3, -1]",
    "term: posture, weight: -0.5",
};
static const char *const driven[] = {"term: effort, weight: -0.01", "term: energy, weight: -0.03"};
static const char *const whens[] = {"when: running", "when: end", "when: running, from: 0.25, to: 0.62",
                                    "when: end, from: 0.3, to: 0.5"};
enum {
    LISTED = sizeof listed / sizeof *listed,
    DRIVEN = sizeof driven / sizeof *driven,
    WHENS = sizeof whens / sizeof *whens,
};

static const random_options kinds[] = {
    {.links = 5, .floating = true, .motors = 4, .plain_limits = true},
    {.links = 5, .motors = 4, .moving = true, .passive = true},
    {.links = 4,
     .chain = true,
     .motors = 4,
     .speeds = true,
     .joints = 1u << CTN_BALL | 1u << CTN_UNIVERSAL | 1u << CTN_REVOLUTE | 1u << CTN_PRISMATIC},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ctn_scene *scene;
static ctn_model *model;
static int nq, nv, nu, nterm;

static void open_scene(uint64_t seed)
{
    char *const links = random_scene(seed, &kinds[seed % KINDS]), *text = NULL;
    rng r = {seed * 13};
    size_t size;
    ctn_error err = {0};
    FILE *const out = open_memstream(&text, &size);
    fprintf(out, "%s\nreward:\n", links);
    for (int k = 0; k < LISTED; k++)
        for (int when = k % 2; when < WHENS; when += 2) {  // half of them: each way with each term, from seed to seed
            char name[16];
            snprintf(name, sizeof name, "l%d", rng_below(&r, kinds[seed % KINDS].links));
            fprintf(out, "  - {"), fprintf(out, listed[k], name);
            fprintf(out, ", %s}\n", whens[(when + (int)seed) % WHENS]);
        }
    for (int k = 0; k < DRIVEN && strstr(links, "motors:"); k++)
        for (int when = 0; when < WHENS; when++) fprintf(out, "  - {%s, %s}\n", driven[k], whens[when]);
    if (strstr(links, "motors:")) fprintf(out, "  - {term: smoothness, weight: -0.02}\n");
    if (strstr(links, "motors:")) fprintf(out, "  - {term: smoothness, weight: 0.03, from: 0.25, to: 0.62}\n");
    fprintf(out, "  - {term: alive, weight: 3, link: l1, above: -0.3}\n");
    fclose(out);
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "seed %llu: %s", (unsigned long long)seed, err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "seed %llu: %s", (unsigned long long)seed, err.message);
    nq = ctn_model_nq(model), nv = ctn_model_nv(model), nu = ctn_model_ntarget(model), nterm = scene->nreward;
    ck_assert(nv <= MOST && nq <= MOST && nu <= MOST && nterm <= MOST_TERMS);
    free(links), free(text);
}

static void close_scene(void) { ctn_model_free(model), ctn_scene_free(scene), model = NULL, scene = NULL; }

/// What worlds do: states, what motors are told, times; which are lost.
typedef struct {
    double q[STEPS + 2][MANY * MOST], v[STEPS + 2][MANY * MOST], u[STEPS + 2][MANY * MOST], time[STEPS + 2][MANY];
    bool lost[STEPS + 2][MANY];
} story;

/// Of `count` worlds, by their numbers.
static void write_story(story *s, uint64_t seed, const int *worlds, int count)
{
    double own[MOST];
    ctn_model_targets(model, own);
    for (int i = 0; i < count; i++) {
        rng r = {seed * 1000 + (uint64_t)worlds[i]};
        for (int n = 0; n <= STEPS + 1; n++) {
            random_state(model, &r, s->q[n] + i * nq, s->v[n] + i * nv);
            for (int j = 0; j < nu; j++) s->u[n][i * nu + j] = own[j] + rng_uniform(&r, -0.5, 0.5);
            s->time[n][i] = n * DT + (worlds[i] % 4 == 1 ? 0.013 : 0);
            s->lost[n][i] = worlds[i] % 3 == 2 && n >= 5;
        }
    }
}

static reward *open_reward(int worlds)
{
    ctn_error err;
    reward *const r = reward_open(scene, model, worlds, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    ck_assert_int_eq(reward_open_gradient(r, &err), CTN_OK);
    return r;
}

static void step(reward *r, const story *s, int n) { reward_step(r, s->time[n], DT, s->q[n], s->v[n], s->u[n], s->lost[n]); }

/// What each term has earned in interval n, and in the one after it: of worlds and terms.
static void earnings(reward *r, const story *s, int n, double *now, double *next)
{
    static double terms[3][WORLDS * MOST_TERMS];
    reward_begin(r, NULL, s->q[0], s->v[0]);
    for (int k = 1; k <= n + 1; k++) {
        if (k >= n) reward_end(r, NULL, terms[k - n], NULL);
        step(r, s, k);
    }
    reward_end(r, NULL, terms[2], NULL);
    for (int k = 0; k < WORLDS * nterm; k++) now[k] = terms[1][k] - terms[0][k], next[k] = terms[2][k] - terms[1][k];
}

/// Room for all gradients of `worlds` worlds, NaN.
static reward_gradients room_for(double *x, int worlds)
{
    const size_t a = (size_t)worlds * (size_t)nv, b = (size_t)worlds * (size_t)nu;
    for (size_t k = 0; k < 4 * a + 3 * b; k++) x[k] = NAN;
    return (reward_gradients){.q = x,
                              .v = x + a,
                              .u = x + 2 * a,
                              .u_before = x + 2 * a + b,
                              .next_q = x + 2 * a + 2 * b,
                              .next_v = x + 3 * a + 2 * b,
                              .next_u = x + 4 * a + 2 * b};
}

// ---- differences

enum { BY_Q, BY_V, BY_U, BY_BEFORE };

/// Moves interval n's input number j of all worlds by e.
static void move_story(story *s, const story *from, int n, int kind, int j, double e)
{
    double unit[MOST] = {0};
    unit[j] = 1;
    for (int w = 0; w < WORLDS; w++) {
        if (kind == BY_Q) tangent_move(model, from->q[n] + w * nq, unit, e, s->q[n] + w * nq);
        if (kind == BY_V) s->v[n][w * nv + j] = from->v[n][w * nv + j] + e;
        if (kind == BY_U) s->u[n][w * nu + j] = from->u[n][w * nu + j] + e;
        if (kind == BY_BEFORE) s->u[n - 1][w * nu + j] = from->u[n - 1][w * nu + j] + e;
    }
}

/// Differences of the fourth order of what terms earn in an interval and in the next one: now, next [WORLDS][nterm].
static void slopes(reward *r, story *moved, const story *s, int n, int kind, int j, double h, double *now, double *next)
{
    static const double factor[] = {8, -8, -1, 1}, steps[] = {1, -1, 2, -2};
    static double a[WORLDS * MOST_TERMS], b[WORLDS * MOST_TERMS];
    for (int k = 0; k < WORLDS * nterm; k++) now[k] = next[k] = 0;
    for (int i = 0; i < 4; i++) {
        move_story(moved, s, n, kind, j, h * steps[i]);
        earnings(r, moved, n, a, b);
        for (int k = 0; k < WORLDS * nterm; k++) now[k] += factor[i] * a[k] / (12 * h), next[k] += factor[i] * b[k] / (12 * h);
    }
    move_story(moved, s, n, kind, j, 0);
}

static story told, moved;
static double expected[2][2][WORLDS * MOST_TERMS];       // by two widths; now, next
static double gradients[MOST_TERMS][7 * WORLDS * MOST];  // of each term alone

/// Each term alone, in every interval, of worlds that go on, end and are lost.
START_TEST(differences)
{
    double worst = 0;
    long compared = 0, kinks = 0, ended = 0, lost = 0, taken_back = 0;
    FOR_SEEDS(seed, 24)
    {
        open_scene(seed);
        reward *const r = open_reward(WORLDS);
        double weight[MOST_TERMS];
        for (int k = 0; k < nterm; k++) weight[k] = r->terms[k].weight;
        write_story(&told, seed, (const int[]){0, 1, 2}, WORLDS), moved = told;
        for (int n = 1; n <= STEPS; n++) {
            reward_gradients to[MOST_TERMS];
            bool over[2][WORLDS];
            reward_begin(r, NULL, told.q[0], told.v[0]);
            for (int k = 1; k < n; k++) step(r, &told, k);
            reward_end(r, NULL, NULL, over[0]), step(r, &told, n), reward_end(r, NULL, NULL, over[1]);
            for (int k = 0; k < nterm; k++) {
                for (int l = 0; l < nterm; l++) r->terms[l].weight = l == k ? weight[k] : 0;
                to[k] = room_for(gradients[k], WORLDS);
                reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &to[k]);
            }
            for (int k = 0; k < nterm; k++) r->terms[k].weight = weight[k];
            for (int kind = BY_Q; kind <= BY_BEFORE; kind++)
                for (int j = 0; j < (kind <= BY_V ? nv : nu); j++) {
                    for (int i = 0; i < 2; i++)
                        slopes(r, &moved, &told, n, kind, j, i ? 4e-4 : 1e-3, expected[i][0], expected[i][1]);
                    for (int k = 0; k < nterm; k++)
                        for (int w = 0; w < WORLDS; w++) {
                            const int at = w * (kind <= BY_V ? nv : nu) + j, of = w * nterm + k;
                            const double now = (kind == BY_Q   ? to[k].q
                                                : kind == BY_V ? to[k].v
                                                : kind == BY_U ? to[k].u
                                                               : to[k].u_before)[at];
                            const double next = kind == BY_BEFORE ? 0
                                                                  : (kind == BY_Q   ? to[k].next_q
                                                                     : kind == BY_V ? to[k].next_v
                                                                                    : to[k].next_u)[at];
                            if (over[0][w] || told.lost[n][w]) {
                                ck_assert(now == 0 && next == 0);
                                ended += over[0][w], lost += told.lost[n][w];
                                continue;
                            }
                            if (over[1][w]) ck_assert(next == 0);
                            // the earlier interval's own part is in its `next_u`
                            if (kind == BY_BEFORE && r->terms[k].term != REWARD_SMOOTHNESS) {
                                ck_assert(now == 0);
                                continue;
                            }
                            for (int i = 0; i < 2; i++) {
                                // what motors are told in two intervals is told apart in `smoothness` of the next one
                                const bool rate = r->terms[k].term == REWARD_SMOOTHNESS || kind == BY_BEFORE;
                                if (i == 1 && (rate || told.lost[n + 1][w])) continue;
                                const double a = expected[0][i][of], b = expected[1][i][of], got = i ? next : now;
                                compared++, taken_back += i && got != 0;
                                if (fabs(a - b) > 1e-7 * (1 + fabs(b))) {
                                    kinks++;
                                    continue;
                                }
                                const double off = fabs(got - b) / (1 + fabs(b));
                                worst = worse(worst, off);
                                ck_assert_msg(
                                    off < 1e-7,
                                    "seed %llu: term %d (%s%s), world %d, interval %d%s, by %c[%d]: expected %.12g, got "
                                    "%.12g",
                                    (unsigned long long)seed, k, reward_term_name(r->terms[k].term),
                                    r->terms[k].at_end ? ", end" : "", w, n, i ? " in the next" : "", "qvub"[kind], j, b, got);
                            }
                        }
                }
        }
        reward_close(r), close_scene();
    }
    printf("largest difference: %.1e of %ld, %ld at kinks, %ld taken back\n", worst, compared, kinks, taken_back);
    if (getenv("CTN_SEED")) return;
    ck_assert_msg(kinks * 100 < compared, "%ld of %ld are at kinks", kinks, compared);
    ck_assert(ended && lost && taken_back);
}
END_TEST

/// Terms add up; what motors are told by the model itself; each output may be left out.
START_TEST(together)
{
    FOR_SEEDS(seed, 12)
    {
        open_scene(seed);
        reward *const r = open_reward(WORLDS);
        const int n = 3, all = WORLDS * (4 * nv + 3 * nu);
        double *const x = calloc(3 * (size_t)all + 1, sizeof *x), *const sum = x + all, *const part = sum + all;
        reward_gradients to = room_for(x, WORLDS), of = room_for(part, WORLDS);
        double weight[MOST_TERMS];
        write_story(&told, seed, (const int[]){0, 1, 3}, WORLDS);
        reward_begin(r, NULL, told.q[0], told.v[0]);
        for (int k = 1; k <= n; k++) step(r, &told, k);
        reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &to);
        for (int k = 0; k < nterm; k++) weight[k] = r->terms[k].weight, r->terms[k].weight = 0;
        for (int k = 0; k < nterm; k++) {
            r->terms[k].weight = weight[k];
            reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &of);
            r->terms[k].weight = 0;
            for (int i = 0; i < all; i++) sum[i] += part[i];
        }
        for (int k = 0; k < nterm; k++) r->terms[k].weight = weight[k];
        for (int i = 0; i < all; i++)
            ck_assert_msg(fabs(x[i] - sum[i]) <= 1e-11 * (1 + fabs(sum[i])), "seed %llu: %.17g, sum %.17g",
                          (unsigned long long)seed, x[i], sum[i]);
        // one output at a time
        for (int k = 0; k < 7; k++) {
            of = room_for(part, WORLDS);
            const reward_gradients one = {.q = k == 0 ? of.q : NULL,
                                          .v = k == 1 ? of.v : NULL,
                                          .u = k == 2 ? of.u : NULL,
                                          .u_before = k == 3 ? of.u_before : NULL,
                                          .next_q = k == 4 ? of.next_q : NULL,
                                          .next_v = k == 5 ? of.next_v : NULL,
                                          .next_u = k == 6 ? of.next_u : NULL};
            reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &one);
            for (int i = 0; i < all; i++) ck_assert(isnan(part[i]) || part[i] == x[i]);
        }
        // the model's own targets
        double own[WORLDS * MOST];
        for (int w = 0; w < WORLDS; w++) ctn_model_targets(model, own + w * nu);
        reward_begin(r, NULL, told.q[0], told.v[0]);
        reward_step(r, told.time[1], DT, told.q[1], told.v[1], own, NULL);
        reward_gradient(r, told.time[1], DT, told.q[1], told.v[1], own, &to);
        reward_begin(r, NULL, told.q[0], told.v[0]);
        reward_step(r, told.time[1], DT, told.q[1], told.v[1], NULL, NULL);
        of = room_for(part, WORLDS);
        reward_gradient(r, told.time[1], DT, told.q[1], told.v[1], NULL, &of);
        for (int i = 0; i < all; i++) ck_assert_msg(x[i] == part[i], "seed %llu: %d", (unsigned long long)seed, i);
        free(x), reward_close(r), close_scene();
    }
}
END_TEST

/// The same bits by every engine, whatever the number of worlds and their order.
START_TEST(worlds_alone)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        open_scene(seed);
        const size_t n = 5, each = (size_t)(4 * nv + 3 * nu);
        double *const alone = calloc(2 * MANY * each + 1, sizeof *alone), *const x = alone + MANY * each;
        long some = 0;
        for (int w = 0; w < MANY; w++) {
            reward *const r = open_reward(1);
            write_story(&told, seed, &w, 1);
            reward_begin(r, NULL, told.q[0], told.v[0]);
            for (int k = 1; k <= (int)n; k++) step(r, &told, k);
            const reward_gradients to = room_for(alone + (size_t)w * each, 1);
            reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &to);
            for (size_t k = 0; k < each; k++) some += alone[(size_t)w * each + k] != 0;
            reward_close(r);
        }
        ck_assert_int_gt(some, MANY);
        for (int e = 0; e < 3; e++) {
            ctn_dynamics *const there = ctn_dynamics_create(model, names[e], NULL);
            if (!there) continue;
            ctn_dynamics_free(there), setenv("CTN_ENGINE", names[e], 1);
            static const int counts[] = {1, 2, 17, MANY};
            for (int c = 0; c < 4; c++)
                for (int back = 0; back < 2; back++) {
                    int worlds[MANY];
                    for (int i = 0; i < counts[c]; i++) worlds[i] = back ? MANY - 1 - i : i;
                    reward *const r = open_reward(counts[c]);
                    write_story(&told, seed, worlds, counts[c]);
                    reward_begin(r, NULL, told.q[0], told.v[0]);
                    for (int k = 1; k <= (int)n; k++) step(r, &told, k);
                    const reward_gradients to = room_for(x, counts[c]);
                    reward_gradient(r, told.time[n], DT, told.q[n], told.v[n], told.u[n], &to);
                    for (int i = 0; i < counts[c]; i++) {
                        const reward_gradients of = {.q = alone + (size_t)worlds[i] * each};
                        const double *const got[] = {to.q, to.v, to.u, to.u_before, to.next_q, to.next_v, to.next_u};
                        const int size[] = {nv, nv, nu, nu, nv, nv, nu};
                        for (int k = 0, at = 0; k < 7; at += size[k++])
                            ck_assert_msg(!memcmp(got[k] + i * size[k], of.q + at, (size_t)size[k] * sizeof(double)),
                                          "seed %llu, %s, world %d of %d, part %d", (unsigned long long)seed, names[e], worlds[i],
                                          counts[c], k);
                    }
                    reward_close(r);
                }
            unsetenv("CTN_ENGINE");
        }
        free(alone), close_scene();
    }
}
END_TEST

/// Closed forms, and 0 where a distance or a power is 0.
START_TEST(kinks)
{
    const char *const text =
        "catena: 1\nlinks:\n  - {name: a, joint: {type: prismatic, axis: [1, 0, 0]}, mass: 1, inertia: [1, 1, "
        "1, 0, 0, 0]}\nmotors: [{joint: a, type: torque, gear: 2}]\nreward:\n  - {term: reach, weight: -3, "
        "link: a, target: [1, 0, 0]}\n  - {term: energy, weight: 5}\n";
    ctn_error err;
    scene = ctn_scene_parse(text, strlen(text), "t.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err), nv = nu = 1;
    reward *const r = open_reward(1);
    // q, v, u: then by q, v, u, and what the next interval of 0.5 s has of them
    static const double cases[][9] = {{1, 0, 0, 0, 0, 0, 0, 0, 0},
                                      {1, 0, 7, 0, 0, 0, 0, 0, 0},
                                      {3, 2, 7, -3, 5 * 0.5 * 14, 5 * 0.5 * 4, 3, 0, 0},
                                      {-1, 2, -7, 3, 5 * 0.5 * 14, 5 * 0.5 * -4, -3, 0, 0}};
    for (int i = 0; i < 4; i++) {
        const double *const c = cases[i], time = 0.5;
        double x[7];
        const reward_gradients to = room_for(x, 1);
        reward_begin(r, NULL, c, c + 1);
        reward_step(r, &time, 0.5, c, c + 1, c + 2, NULL);
        reward_gradient(r, &time, 0.5, c, c + 1, c + 2, &to);
        const double got[] = {*to.q, *to.v, *to.u, *to.next_q, *to.next_v, *to.next_u};
        for (int k = 0; k < 6; k++) ck_assert_msg(fabs(got[k] - c[3 + k]) < 1e-13, "case %d: %d: %g", i, k, got[k]);
    }
    ck_assert_int_eq(reward_open_gradient(r, NULL), CTN_OK);  // once more
    reward_close(r), close_scene();
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("reward_gradient");
    TCase *const tests = tcase_create("gradients");
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, differences);
    tcase_add_test(tests, together);
    tcase_add_test(tests, worlds_alone);
    tcase_add_test(tests, kinks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
