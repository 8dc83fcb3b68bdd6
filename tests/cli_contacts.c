/// Contact points in the command: recorded, kept, compared and made again.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <cJSON.h>
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char scene_text[] =
    "catena: 1\n"
    "ground: true\n"
    "integrator: {method: collocation, order: 2, dt: 0.01}\n"
    "duration: 2\n"
    "links:\n"
    "  - {name: box, position: [0, 0, 0.1], joint: free, mass: 2, inertia: [0.02, 0.02, 0.02, 0, 0, 0], shapes: [{type: box, "
    "size: [0.2, 0.2, 0.1]}]}\n"
    "  - {name: ball, position: [1, 0, 0.2], joint: free, mass: 3, inertia: [0.02, 0.02, 0.02, 0, 0, 0], shapes: [{type: "
    "sphere, radius: 0.1}]}\n";
enum { POINTS = 9, EACH = 11, NUMBERS = EACH * POINTS };

static void setup(void)
{
    enter_scratch();
    spit("scene.yaml", scene_text);
    spit("plain.yaml", "catena: 1\nlinks: [{name: a, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}]\n");
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

/// At the end the ground carries the weight, of the box on four corners. The run can be made again, and compared.
START_TEST(recording)
{
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.h5", "--every", "10");
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.csv", "--every", "10");
    size_t count;
    double *const x = numbers("a.h5", "contacts", &count), *const middle = numbers("a.h5", "model/contact_point", NULL),
                  *const radius = numbers("a.h5", "model/contact_radius", NULL),
                  *const link = numbers("a.h5", "model/contact_link", NULL);
    ck_assert_uint_eq(count, 21 * NUMBERS);
    double carried[2] = {0, 0};
    int touching = 0;
    for (int k = 0; k < POINTS; k++) {
        const double *const at = x + 20 * NUMBERS + EACH * k;
        carried[k == 8] += at[5], touching += at[7] > 0;
        ck_assert(link[k] == (k == 8) && radius[k] == (k == 8 ? 0.1 : 0));
        ck_assert(fabs(middle[3 * k]) == (k == 8 ? 0 : 0.1) && x[EACH * k + 7] == 0 && x[EACH * k + 5] == 0);
        ck_assert_msg((at[7] > 0) == (at[6] > 0) && fabs(at[2] + at[6]) < 1e-15, "depth %g at %g", at[6], at[2]);
    }
    ck_assert_msg(fabs(carried[0] - 2 * 9.81) < 1e-6 && fabs(carried[1] - 3 * 9.81) < 1e-6, "%g, %g N", carried[0], carried[1]);
    ck_assert_int_eq(touching, 5);
    free(x), free(middle), free(radius), free(link);
    ck_assert(!has_dataset("a.h5", "sensors"));
    EXPECT(0, "identical: 1 world", "replay", "a.h5", "--verify");
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "b.h5", "--every", "10", "--engine", "scalar");
    EXPECT(0, "", "diff", "a.h5", "b.h5");
    spoil("b.h5", "contacts", 20 * NUMBERS + EACH * 8 + 5);
    EXPECT(1, "contact.ball.0.fz", "diff", "a.h5", "b.h5");
    EXPECT(1, "link 'ball': contact.ball.0.fz is ", "replay", "b.h5", "--verify");
    EXPECT(0, "", "run", "plain.yaml", "-q", "--steps", "3", "--out", "c.h5");
    ck_assert(!has_dataset("c.h5", "contacts") && !has_dataset("c.h5", "model/contact_link"));
}
END_TEST

START_TEST(rollouts)
{
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "5", "--steps", "40", "--stride", "4", "--keep", "q,contacts",
           "--out", "a.h5");
    size_t count;
    free(numbers("a.h5", "contacts", &count));
    ck_assert_uint_eq(count, 5 * 11 * NUMBERS);
    EXPECT(0, "identical: 5 worlds", "replay", "a.h5", "--verify", "--threads", "2");
    EXPECT(2, "--keep: the scene has no contact points; give it a `ground` and links that touch it, or let links touch each other, or leave contacts out",
           "rollout", "plain.yaml", "--worlds", "2", "--steps", "2", "--keep", "contacts", "--out", "b.h5");
}
END_TEST

/// The numbers of a line of CSV, into x; how many.
static int csv_line(const char *text, const char *line, double *x, int most)
{
    int n = 0;
    for (const char *at = line; at && at < text + strlen(text) && n < most; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        x[n++] = strtod(at, NULL);
    return n;
}

/// CSV has what HDF5 has; scenes without a ground have no columns for it.
START_TEST(csv)
{
    enum { COLUMNS = 2 + 14 + 12 + 39 + 14 + NUMBERS };
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.h5", "--every", "10");
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.csv", "--every", "10");
    EXPECT(0, "", "run", "plain.yaml", "-q", "--steps", "3", "--out", "p.csv");
    size_t count;
    double *const contacts = numbers("a.h5", "contacts", NULL), *const depth = numbers("a.h5", "stats/depth", &count),
                  *const touching = numbers("a.h5", "stats/touching", NULL), x[COLUMNS + 1];
    ck_assert_uint_eq(count, 21);
    ck_assert(touching[0] == 0 && touching[20] == 5 && depth[20] > 0);
    char *const text = slurp("a.csv", NULL), *const plain = slurp("p.csv", NULL);
    char *last = text + strlen(text) - 1;
    *last = 0;
    last = strrchr(text, '\n') + 1;
    ck_assert_int_eq(csv_line(text, last, x, COLUMNS + 1), COLUMNS);
    for (int k = 0; k < NUMBERS; k++) ck_assert(x[COLUMNS - NUMBERS + k] == contacts[20 * NUMBERS + k]);
    ck_assert(x[2 + 14 + 12 + 38] == depth[20] && x[2 + 14 + 12 + 35] == touching[20]);
    ck_assert(strstr(text, ",stats.corrections,stats.touching,stats.sticking,stats.sliding,stats.depth,pose.box.x,"));
    ck_assert(strstr(text, ",contact.box.0.x,contact.box.0.y,") && strstr(text, ",contact.ball.0.depth,contact.ball.0.touch,contact.ball.0.tx,contact.ball.0.ty,contact.ball.0.tz\n"));
    ck_assert(!strstr(plain, "contact") && !strstr(plain, "stats.depth") && strstr(plain, "stats.frozen_residual,pose"));
    free(text), free(plain), free(contacts), free(depth), free(touching);
    EXPECT(0, "", "run", "plain.yaml", "-q", "--steps", "3", "--out", "p.h5");
    ck_assert(!has_dataset("p.h5", "stats/depth") && has_dataset("p.h5", "stats/frozen_residual"));
}
END_TEST

/// What the summary says.
START_TEST(summary)
{
    EXPECT(0, "contacts      5 of 9 points touch the ground, 5 stick and 0 slide\ndepth         0.0", "run", "scene.yaml");
    EXPECT(0,
           "contacts      0 of 9 points touch the ground, 0 stick and 0 slide\ndepth         none: the nearest point came to 0.0",
           "run", "scene.yaml", "--steps", "1");
    EXPECT(0, "contacts      15 of 27 points touch", "run", "scene.yaml", "--worlds", "3");
    outcome o = catena("run", "plain.yaml", "--steps", "3");
    ck_assert(o.status == 0 && !strstr(o.out, "contacts") && !strstr(o.out, "depth"));
    outcome_free(&o);
    o = catena("run", "scene.yaml", "--json");
    cJSON *const all = cJSON_Parse(o.out), *const contacts = cJSON_GetObjectItem(all, "contacts");
    ck_assert(contacts && cJSON_GetObjectItem(contacts, "points")->valuedouble == 9);
    ck_assert(cJSON_GetObjectItem(contacts, "sticking")->valuedouble == 5 &&
              cJSON_GetObjectItem(contacts, "depth")->valuedouble > 0 && cJSON_GetObjectItem(contacts, "corrections"));
    cJSON_Delete(all);
    outcome_free(&o);
}
END_TEST

/// Curves of contact, and what is said where there is none.
START_TEST(plots)
{
    EXPECT(0, "", "run", "scene.yaml", "-q", "--out", "a.h5");
    EXPECT(0, "", "run", "plain.yaml", "-q", "--steps", "3", "--out", "p.h5");
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "2", "--steps", "20", "--keep", "q,contacts", "--out", "r.h5");
    EXPECT(0, "", "rollout", "scene.yaml", "-q", "--worlds", "2", "--steps", "20", "--out", "n.h5");
    setenv("PATH", "/nonexistent", 1);  // without gnuplot its script is kept, with the numbers
    EXPECT(1, "gnuplot", "plot", "a.h5", "--y", "normal,normal.ball,touching,sliding.box,contact.ball.0.fz", "--out", "a.png");
    char *const script = slurp("a.png.gnuplot", NULL);
    ck_assert(strstr(script, "normal.ball") && strstr(script, "contact.ball.0.fz") && strstr(script, "29.4") &&
              strstr(script, "49.0"));
    free(script);
    // what stands on an obstacle that slopes presses it by its weight times the cosine
    spit("o.yaml", "catena: 1\nobstacles: [{type: box, size: [2, 2, 0.2], center: [0, 0, -0.1], euler: [0, 10 deg, 0]}]\n"
                   "integrator: {method: collocation, order: 2, dt: 0.01}\nduration: 3\nlinks:\n"
                   "  - {name: box, position: [0, 0, 0.05], euler: [0, 10 deg, 0], joint: free, mass: 2, inertia: [0.02, 0.02, 0.02, "
                   "0, 0, 0], shapes: [{type: box, size: [0.2, 0.2, 0.1]}]}\n");
    EXPECT(0, "", "run", "o.yaml", "-q", "--out", "o.h5");
    EXPECT(1, "gnuplot", "plot", "o.h5", "--y", "normal", "--out", "o.png");
    char *const stands = slurp("o.png.gnuplot", NULL);
    ck_assert_msg(strstr(stands, "19.32"), "the normal force is not 19.32 N");
    free(stands);
    EXPECT(1, "gnuplot", "plot", "r.h5", "--y", "touching,depth.ball,normal", "--out", "r.png");
    EXPECT(2, "p.h5: 'touching': nothing touches a `ground` in its scene", "plot", "p.h5", "--y", "touching", "--out", "p.png");
    EXPECT(2, "p.h5: 'normal': nothing touches a `ground` in its scene", "plot", "p.h5", "--y", "normal", "--out", "p.png");
    EXPECT(2, "n.h5: has no contacts, which 'normal' needs; make it with --keep contacts", "plot", "n.h5", "--y", "normal",
           "--out", "p.png");
    EXPECT(2, "did you mean 'normal.ball'?", "plot", "a.h5", "--y", "normal.bal", "--out", "p.png");
}
END_TEST

/// What links do to each other is recorded of every link, after the points: the upper box is lifted by its weight, which the lower
/// one bears.
START_TEST(links)
{
    enum { CORNERS = 16, WIDTH = EACH * (CORNERS + 3) };
    spit("stack.yaml", "catena: 1\nground: true\ncontact: {between: all}\nintegrator: {method: collocation, order: 2, dt: 0.01}\n"
                       "duration: 2\nlinks:\n"
                       "  - {name: low, position: [0, 0, 0.05], joint: free, mass: 2, shapes: [{type: box, size: [0.2, 0.2, 0.1]}]}\n"
                       "  - {name: mark, parent: low, joint: fixed, mass: 0}\n"
                       "  - {name: top, position: [0, 0, 0.15], joint: free, mass: 3, shapes: [{type: box, size: [0.2, 0.2, 0.1]}]}\n");
    EXPECT(0, "", "run", "stack.yaml", "-q", "--out", "a.h5", "--every", "10");
    EXPECT(0, "", "run", "stack.yaml", "-q", "--out", "a.csv", "--every", "10");
    size_t count;
    double *const x = numbers("a.h5", "contacts", &count), *const surface = numbers("a.h5", "model/contact_surface", NULL);
    ck_assert_uint_eq(count, 21 * WIDTH);
    for (int k = 0; k < CORNERS + 3; k++) ck_assert(surface[k] == (k < CORNERS ? 0 : -1));
    const double *const low = x + 20 * WIDTH + EACH * CORNERS, *const mark = low + EACH, *const top = mark + EACH;
    ck_assert_msg(fabs(top[5] - 3 * 9.81) < 1e-3 && fabs(low[5] + top[5]) < 1e-12, "%g and %g N", top[5], low[5]);
    ck_assert(fabs(top[0]) < 1e-3 && fabs(top[2] - 0.1) < 1e-3 && top[6] > 0 && top[6] < 1e-3 && top[7] == 1);
    for (int k = 0; k < EACH; k++) ck_assert(mark[k] == 0);
    free(x), free(surface);
    char *const text = slurp("a.csv", NULL);
    ck_assert(strstr(text, ",contact.low.links.x,") && strstr(text, ",contact.top.links.tz\n"));
    free(text);
    EXPECT(0, "identical: 1 world", "replay", "a.h5", "--verify");
    EXPECT(0, "", "run", "stack.yaml", "-q", "--out", "b.h5", "--every", "10", "--engine", "scalar");
    EXPECT(0, "", "diff", "a.h5", "b.h5");
    spoil("b.h5", "contacts", 20 * WIDTH + EACH * (CORNERS + 2) + 5);
    EXPECT(1, "contact.top.links.fz", "diff", "a.h5", "b.h5");
    EXPECT(0, "", "rollout", "stack.yaml", "-q", "--worlds", "5", "--steps", "40", "--stride", "4", "--keep", "q,contacts", "--out", "r.h5");
    EXPECT(0, "identical: 5 worlds", "replay", "r.h5", "--verify", "--threads", "2");
    EXPECT(0, "contacts      4 of 16 points touch the ground", "run", "stack.yaml");
    // statistics of what acts between links
    double *const meeting = numbers("a.h5", "stats/meeting", &count), *const island = numbers("a.h5", "stats/island", NULL),
                  *const joined = numbers("a.h5", "stats/joined", NULL),
                  *const iterations = numbers("a.h5", "stats/iterations", NULL);
    ck_assert_uint_eq(count, 21);
    ck_assert(meeting[20] == 1 && island[20] == 12 && joined[1] == iterations[1] && joined[1] > 0);
    free(meeting), free(island), free(joined), free(iterations);
    EXPECT(0, "between       1 pair near, 1 presses at 8 places; 1 island, the largest of 12 degrees of freedom\n", "run",
           "stack.yaml");
    EXPECT(0, "\"islands\":\t1,", "run", "stack.yaml", "--json");
    EXPECT(0, "", "run", "scene.yaml", "-q", "--steps", "3", "--out", "scene.h5");
    ck_assert(has_dataset("scene.h5", "stats/depth") && !has_dataset("scene.h5", "stats/meeting"));
    setenv("PATH", "/nonexistent", 1);
    EXPECT(1, "gnuplot", "plot", "a.h5", "--y", "contact.top.links.fz,normal", "--out", "a.png");
    char *const script = slurp("a.png.gnuplot", NULL);
    ck_assert(strstr(script, "contact.top.links.fz") && strstr(script, "29.4") && strstr(script, "49.0"));
    free(script);
}
END_TEST

static Suite *suite(void)
{
    Suite *const s = suite_create("cli_contacts");
    TCase *const t = tcase_create("cli_contacts");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, recording);
    tcase_add_test(t, rollouts);
    tcase_add_test(t, csv);
    tcase_add_test(t, summary);
    tcase_add_test(t, plots);
    tcase_add_test(t, links);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return run_suite(suite()); }
