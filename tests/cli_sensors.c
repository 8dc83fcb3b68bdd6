/// Sensors in the command: recorded, listed, drawn, compared and made again.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char scene_text[] =
    "catena: 1\n"
    "name: swing\n"
    "integrator: {method: rk4, dt: 0.01}\n"
    "duration: 0.4\n"
    "links:\n"
    "  - {name: arm, joint: {type: universal, q0: [0.3, 0.2]}, mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.02, 0, 0, 0]}\n"
    "  - {name: hand, parent: arm, position: [0, 0, -1], joint: ball, mass: 0.5, com: [0, 0, -0.2], inertia: [0.02, 0.02, 0.01, "
    "0, "
    "0, 0]}\n"
    "sensors:\n"
    "  - {name: imu, type: imu, link: hand, noise: 0.1, delay: 0.025}\n"
    "  - {name: angle, type: joint_position, joint: arm, dof: 1}\n"
    "  - {name: height, type: position, link: hand, noise: [0, 0, 0.01]}\n"
    "sample: {seed: 3, v: {all: {normal: [0, 1]}}}\n";
enum { NUMBERS = 10, NQ = 6 };

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
}

static void teardown(void) { leave_scratch(); }

/// Expects an exit status, and words in what was printed.
static void expect(int status, const char *says, const char *const *args)
{
    outcome o = catena_wait(catena_start(args));
    ck_assert_msg(o.status == status, "exit status %d: %s%s", o.status, o.out, o.err);
    ck_assert_msg(strstr(o.out, says) || strstr(o.err, says), "expected '%s', found '%s%s'", says, o.out, o.err);
    outcome_free(&o);
}
#define EXPECT(status, says, ...) expect(status, says, (const char *const[]){__VA_ARGS__, NULL})

/// A run records what they say, in both formats, under their names; it can be made again.
START_TEST(recording)
{
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.h5", "--every", "3");
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.csv", "--every", "3");
    size_t count;
    double *const x = numbers("a.h5", "sensors", &count), *const q = numbers("a.h5", "q", NULL),
                  *const pose = numbers("a.h5", "pose", NULL);
    const size_t records = count / NUMBERS;
    ck_assert_uint_eq(records, 15);
    bool noise = false;
    for (size_t k = 0; k < records; k++) {
        ck_assert(x[k * NUMBERS + 6] == q[k * NQ + 1]);
        ck_assert(x[k * NUMBERS + 7] == pose[(2 * k + 1) * 7] && x[k * NUMBERS + 8] == pose[(2 * k + 1) * 7 + 1]);
        const double off = fabs(x[k * NUMBERS + 9] - pose[(2 * k + 1) * 7 + 2]);
        noise = noise || off > 1e-4;
        ck_assert_msg(off < 0.05, "%g", off);
    }
    ck_assert(noise);
    size_t length;
    char *const names = raw("a.h5", "model/sensors_name", &length), *const csv = slurp("a.csv", NULL);
    ck_assert_str_eq(names, "sensor.imu.ax");
    ck_assert(strstr(csv, "sensor.imu.ax,sensor.imu.ay,sensor.imu.az,sensor.imu.wx,sensor.imu.wy,sensor.imu.wz,sensor.angle,"
                          "sensor.height.x,sensor.height.y,sensor.height.z\n"));
    char last[300];
    snprintf(last, sizeof last, ",%.17g,%.17g,%.17g\n", x[records * NUMBERS - 3], x[records * NUMBERS - 2],
             x[records * NUMBERS - 1]);
    ck_assert_msg(strstr(csv, last), "%s", last);
    free(x), free(q), free(pose), free(names), free(csv);
    EXPECT(0, "identical: 1 world", "replay", "a.h5", "--verify");
    EXPECT(0, "identical: 1 world", "replay", "a.h5", "--verify", "--engine", "scalar");
    spoil("a.h5", "sensors", 4 * NUMBERS + 6);
    EXPECT(1, "world 0 differs at step 12 (0.12 s), link 'arm': sensor.angle is ", "replay", "a.h5", "--verify");
}
END_TEST

/// Many worlds: in any blocks of them, they say the same.
START_TEST(rollouts)
{
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "7", "--stride", "4", "--keep", "q,sensors", "--hash", "--out",
           "a.h5");
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "7", "--stride", "4", "--keep", "q,sensors", "--hash", "--out",
           "b.h5", "--engine", "scalar", "--threads", "2");
    EXPECT(0, "identical: 7 worlds", "replay", "a.h5", "--verify", "--threads", "3");
    EXPECT(0, "", "diff", "a.h5", "b.h5");
    double *const x = numbers("a.h5", "sensors", NULL), *const q = numbers("a.h5", "q", NULL);
    for (int k = 0; k < 7 * 11; k++) ck_assert(x[k * NUMBERS + 6] == q[k * NQ + 1]);
    ck_assert(x[9] != x[11 * NUMBERS + 9]);  // worlds have noise of their own
    free(x), free(q);
    spoil("b.h5", "sensors", (2 * 11 + 3) * NUMBERS + 9);
    EXPECT(1, "sensor.height.z", "diff", "a.h5", "b.h5");
    EXPECT(1, "world 2 differs at step 12 (0.12 s), link 'hand': sensor.height.z is ", "replay", "b.h5", "--verify");
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "7", "--stride", "4", "--keep", "sensors", "--out", "c.h5", "--seed",
           "4");
    EXPECT(0, "identical: 7 worlds", "replay", "c.h5", "--verify");
    spit("plain.yaml",
         "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}]\n");
    EXPECT(2, "--keep: the scene has no sensors; give it `sensors`, or leave sensors out", "rollout", "plain.yaml", "--worlds",
           "2", "--steps", "2", "--keep", "sensors", "--out", "d.h5");
}
END_TEST

/// A world that freezes is saved with what its sensors said in the whole rollout.
START_TEST(frozen)
{
    EXPECT(1, "", "rollout", "scene.yaml", "-q", "--worlds", "3", "--method", "euler", "--dt", "0.3", "--steps", "60", "--stride",
           "1", "--keep", "sensors", "--out", "a.h5", "--save-freeze", "kept");
    size_t count;
    int saved = 0;
    double *const all = numbers("a.h5", "sensors", NULL);
    for (int w = 0; w < 3; w++) {
        char path[40];
        snprintf(path, sizeof path, "kept/world-%d.h5", w);
        if (access(path, F_OK) != 0) continue;
        double *const own = numbers(path, "sensors", &count);
        ck_assert_uint_gt(count, 5 * NUMBERS);
        saved++;
        ck_assert(!memcmp(own, all + (size_t)w * 61 * NUMBERS, (count - NUMBERS) * sizeof *own));
        free(own);
        EXPECT(0, "identical: 1 world", "replay", path, "--verify");
    }
    ck_assert_int_gt(saved, 0);
    free(all);
}
END_TEST

/// `catena info` lists them, for people and programs.
START_TEST(info)
{
    outcome o = catena("info", "scene.yaml");
    ck_assert_msg(strstr(o.out, "sensor  name") && strstr(o.out, "imu                  imu                  hand"), "%s", o.out);
    outcome_free(&o);
    cJSON *const j = catena_json(0, "info", "scene.yaml", "--json", NULL);
    const cJSON *const list = member(j, "sensors"), *const height = cJSON_GetArrayItem(list, 2);
    ck_assert_int_eq(cJSON_GetArraySize(list), 3);
    ck_assert_str_eq(member(height, "name")->valuestring, "height");
    ck_assert_str_eq(member(height, "type")->valuestring, "position");
    ck_assert_str_eq(member(height, "link")->valuestring, "hand");
    ck_assert_double_eq(number(height, "first"), 7);
    ck_assert_str_eq(cJSON_GetArrayItem(member(height, "numbers"), 2)->valuestring, "sensor.height.z");
    ck_assert_str_eq(cJSON_GetArrayItem(member(height, "units"), 2)->valuestring, "m");
    ck_assert_double_eq(number(cJSON_GetArrayItem(list, 0), "delay"), 0.025);
    cJSON_Delete(j);
}
END_TEST

/// They are drawn by their names; for others the error says what there is.
START_TEST(plot)
{
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.h5");
    EXPECT(2, "a.h5: has no 'heigth'; did you mean 'height'?", "plot", "a.h5", "--y", "heigth", "--out", "a.svg");
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "2", "--out", "b.h5");
    EXPECT(2, "b.h5: has no sensors, which 'height' needs; make it with --keep sensors", "plot", "b.h5", "--y", "height", "--out",
           "a.svg");
    static const struct {
        const char *asked, *drawn;
    } names[] = {{"height", "'height (m)'"},     {"sensor.height", "'sensor.height (m)'"},
                 {"height.z", "'height.z (m)'"}, {"sensor.imu.wx", "'sensor.imu.wx (rad/s)'"},
                 {"angle", "'angle (rad)'"},     {"sensor", "'sensor (rad/s)'"}};
    char *const path = strdup(getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/nonexistent", 1);  // without gnuplot the script is kept
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        outcome o = catena("plot", "a.h5", "-q", "--y", names[k].asked, "--out", "a.svg");
        char *const script = slurp("a.svg.gnuplot", NULL);
        ck_assert_msg(o.status == 1 && strstr(script, names[k].drawn), "%s: %s", names[k].asked, o.err);
        outcome_free(&o), free(script);
    }
    setenv("PATH", path, 1);
    free(path);
}
END_TEST

static Suite *suite(void)
{
    Suite *const s = suite_create("cli_sensors");
    TCase *const t = tcase_create("cli_sensors");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, recording);
    tcase_add_test(t, rollouts);
    tcase_add_test(t, frozen);
    tcase_add_test(t, info);
    tcase_add_test(t, plot);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(suite()); }
