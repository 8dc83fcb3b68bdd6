/// `catena render` with marks, texts, colours and many worlds: pictures depend on their time alone, worlds are those of rollouts,
/// and mistakes are told.
#include "render/draw/context.h"
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 14 };

/// Runs catena render on `file` with `words` up to NULL; expects success, and returns what is in `picture`, to be freed.
static char *render(const char *file, const char *picture, const char *const *words, size_t *size)
{
    const char *w[MOST_WORDS + 1] = {NULL};
    for (int k = 0; k < MOST_WORDS && words[k]; k++) w[k] = words[k];
    outcome o = catena_with(NULL, "render", file, "--size", "160x120", "-q", w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8],
                            w[9], w[10], w[11], w[12], w[13], NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    return slurp(picture, size);
}
#define RENDER(file, picture, size, ...) render(file, picture, (const char *const[]){__VA_ARGS__, NULL}, size)

static bool same(const char *a, size_t n, const char *b, size_t m) { return n == m && !memcmp(a, b, n); }

/// With trails and text a picture from a given distance depends on its time alone, not on which others are made; each thing that
/// is shown changes it.
START_TEST(exact_times)
{
    static const char show[] = "axes,frames,com,trail,trail:lower:0,0,0.3,names,text";
    const char *const scene = source("scenes/double-pendulum.yaml");
    size_t n, m;
    char *const alone =
        RENDER(scene, "a.png", &n, "--from", "0.3", "--camera", "-70,15,3", "--show", show, "--trail", "0.2", "--out", "a.png");
    free(RENDER(scene, "f02.png", &m, "--from", "0.1", "--to", "0.5", "--fps", "10", "--camera", "-70,15,3", "--show", show,
                "--trail", "0.2", "--out", "f%02d.png"));
    char *const among = slurp("f02.png", &m);
    ck_assert(same(alone, n, among, m));
    free(among);
    char *const plain = RENDER(scene, "b.png", &m, "--from", "0.3", "--camera", "-70,15,3", "--out", "b.png");
    ck_assert(!same(alone, n, plain, m));
    static const char *const parts[] = {"axes", "frames", "com", "trail", "trail:upper:0.1,0,0", "names", "text"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        size_t part;
        char *const one =
            RENDER(scene, "c.png", &part, "--from", "0.3", "--camera", "-70,15,3", "--show", parts[k], "--out", "c.png");
        ck_assert_msg(!same(one, part, plain, m) && !same(one, part, alone, n), "%s", parts[k]);
        free(one);
    }
    size_t part;
    char *const titled =
        RENDER(scene, "c.png", &part, "--from", "0.3", "--camera", "-70,15,3", "--title", "a \u03c9", "--out", "c.png");
    ck_assert(!same(titled, part, plain, m));
    free(titled), free(alone), free(plain);
}
END_TEST

/// Just after a step begins the picture is that of its beginning, also where the step was made in halves, of which dense output
/// has the last.
START_TEST(halved_steps)
{
    const char *const scene = source("scenes/chain10.yaml");
    outcome o = catena("run", scene, "--dt", "0.2", "--max-iterations", "4", "--duration", "1");
    ck_assert_msg(strstr(o.out, "substeps in all"), "%s", o.out);
    outcome_free(&o);
    for (int k = 0; k < 5; k++) {
        char at[2][20];
        size_t size[2];
        char *data[2];
        for (int j = 0; j < 2; j++) {
            snprintf(at[j], sizeof at[j], "%.10f", 0.2 * k + 1e-9 * j);
            data[j] = RENDER(scene, "a.png", &size[j], "--dt", "0.2", "--max-iterations", "4", "--colors", "link", "--from",
                             at[j], "--out", "a.png");
        }
        ck_assert_msg(same(data[0], size[0], data[1], size[1]), "at %s s", at[0]);
        free(data[0]), free(data[1]);
    }
}
END_TEST

/// The floor is where the scene says, or the option, or nowhere.
START_TEST(floors)
{
    static const char text[] =
        "catena: 1\nlinks: [{name: a, joint: ball, density: 1, shapes: [{type: sphere, radius: 0.5}]}]\n%s";
    static const char *const ways[][2] = {
        {"", NULL}, {"view: {floor: -3}\n", NULL}, {"view: {floor: none}\n", NULL}, {"", "-3"}, {"view: {floor: -3}\n", "none"}};
    static const int like[] = {0, 1, 2, 1, 2};  // the option wins
    size_t size[5];
    char *data[5], scene[200];
    for (int k = 0; k < 5; k++) {
        snprintf(scene, sizeof scene, text, ways[k][0]);
        spit("floor.yaml", scene);
        data[k] = ways[k][1] ? RENDER("floor.yaml", "a.png", &size[k], "--floor", ways[k][1], "--out", "a.png")
                             : RENDER("floor.yaml", "a.png", &size[k], "--out", "a.png");
        for (int j = 0; j < k; j++)
            ck_assert_msg(same(data[j], size[j], data[k], size[k]) == (like[j] == like[k]), "%d and %d", j, k);
    }
    for (int k = 0; k < 5; k++) free(data[k]);
}
END_TEST

/// Colours are of the scene, or not; the scale of energies is the same in all pictures of a movie, and can be given.
START_TEST(colors)
{
    const char *const scene = source("scenes/chain10.yaml");
    static const char *const kinds[] = {"scene", "link", "energy", "energy:50", "world"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    size_t size[KINDS], n;
    char *data[KINDS];
    for (int k = 0; k < KINDS; k++) {
        data[k] = RENDER(scene, "a.png", &size[k], "--from", "0.4", "--colors", kinds[k], "--out", "a.png");
        for (int j = 0; j < k; j++) ck_assert_msg(!same(data[j], size[j], data[k], size[k]), "%s, %s", kinds[j], kinds[k]);
    }
    char *const plain = RENDER(scene, "a.png", &n, "--from", "0.4", "--out", "a.png");
    ck_assert(same(plain, n, data[0], size[0]));
    free(RENDER(scene, "f1.png", &n, "--from", "0", "--to", "0.8", "--fps", "2.5", "--colors", "energy", "--out", "f%d.png"));
    char *const movie = slurp("f1.png", &n);  // 0.4 s, where the scale goes to the most of 0, 0.4 and 0.8 s
    ck_assert(!same(movie, n, data[2], size[2]));
    for (int k = 0; k < KINDS; k++) free(data[k]);
    free(plain), free(movie);
}
END_TEST

/// --worlds makes those of a rollout: the same pictures from the scene and from its recording, where steps end.
START_TEST(worlds)
{
    const char *const scene = source("scenes/chain10-sampled.yaml");
    size_t n, m;
    outcome o = catena("rollout", scene, "--worlds", "5", "--seed", "3", "--steps", "20", "--out", "chains.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    static const char *const layouts[] = {"grid", "overlay"};
    char *pictures[2];
    size_t sizes[2];
    for (int k = 0; k < 2; k++) {
        char *const a = RENDER(scene, "a.png", &n, "--worlds", "5", "--seed", "3", "--from", "0.2", "--layout", layouts[k],
                               "--colors", "world", "--out", "a.png");
        char *const b = RENDER("chains.h5", "b.png", &m, "--worlds", "all", "--from", "0.2", "--layout", layouts[k], "--colors",
                               "world", "--out", "b.png");
        ck_assert_msg(same(a, n, b, m), "%s", layouts[k]);
        pictures[k] = b, sizes[k] = m;
        free(a);
    }
    ck_assert(!same(pictures[0], sizes[0], pictures[1], sizes[1]));
    char *const some = RENDER("chains.h5", "b.png", &m, "--worlds", "2", "--world", "3", "--from", "0.2", "--out", "b.png");
    char *const others = RENDER("chains.h5", "c.png", &n, "--worlds", "2", "--world", "2", "--from", "0.2", "--out", "c.png");
    ck_assert(!same(some, m, others, n));
    free(some), free(others), free(pictures[0]), free(pictures[1]);
    free(RENDER(scene, "e.png", &n, "--worlds", "1000", "--from", "0.04", "--show", "com,text", "--colors", "energy", "--out",
                "e.png"));
    free(RENDER(source("scenes/chain10-randomised.yaml"), "d.png", &n, "--worlds", "all", "--from", "0.1", "--show",
                "text,com,trail", "--colors", "energy", "--out", "d.png"));
}
END_TEST

/// A run records its worlds otherwise than a rollout.
START_TEST(worlds_of_a_run)
{
    size_t n, m;
    outcome o =
        catena("run", source("scenes/double-pendulum.yaml"), "--worlds", "3", "--duration", "0.3", "--out", "run.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *const three =
        RENDER("run.h5", "a.png", &n, "--worlds", "all", "--layout", "overlay", "--from", "0.3", "--out", "a.png");
    char *const one = RENDER("run.h5", "b.png", &m, "--from", "0.3", "--out", "b.png");
    ck_assert(same(three, n, one, m));  // all worlds of a run are alike
    free(three), free(one);
}
END_TEST

static const struct {
    const char *file, *words[6];
    const char *says;
} refused[] = {
    {"double-pendulum", {"--show", "axis"}, "--show: unknown word 'axis'; did you mean 'axes'?"},
    {"double-pendulum",
     {"--show", "everything"},
     "--show: expected a list of axes, frames, com, trail, names, contacts, and of render trail:LINK, trail:LINK:x,y,z, text, "
     "found "
     "'everything'"},
    {"double-pendulum", {"--show", "com,"}, "--show: expected a list of axes, frames, com,"},
    {"double-pendulum", {"--show", "com:upper"}, "--show: 'com' takes nothing after a colon"},
    {"double-pendulum", {"--show", "trail:uper"}, "--show: trail: there is no link 'uper'; did you mean 'upper'?"},
    {"double-pendulum", {"--show", "trail:gripper"}, "--show: trail: there is no link 'gripper'; catena info lists them"},
    {"double-pendulum",
     {"--show", "trail:upper:1,2"},
     "--show: trail: expected three numbers x,y,z (m, in the frame of the link) after 'upper:', found '1,2'"},
    {"double-pendulum", {"--show", "trail", "--trail", "0"}, "--trail: expected a number of seconds above 0, found 0"},
    {"double-pendulum", {"--trail", "1"}, "--trail is how long trails last; give --show with trail or com, too"},
    {"double-pendulum",
     {"--colors", "mass"},
     "--colors: expected scene, link, energy, energy:MAX (J, above 0) or world, found 'mass'"},
    {"double-pendulum", {"--duration", "3"}, "unknown option '--duration'; catena calls it '--to'"},
    {"double-pendulum", {"--floor", "low"}, "--floor: expected a height in metres, or none, found 'low'"},
    {"double-pendulum", {"--floor", "0x10"}, "--floor: expected a height in metres, or none, found '0x10'"},
    {"double-pendulum", {"--colors", "energy:-1"}, "--colors: expected scene, link, energy, energy:MAX (J, above 0) or world"},
    {"double-pendulum", {"--colors", "energy:0x10"}, "--colors: expected scene, link, energy, energy:MAX (J, above 0) or world"},
    {"double-pendulum", {"--show", "trail:upper:0,0x1,0"}, "--show: trail: expected three numbers x,y,z"},
    {"double-pendulum", {"--show", "trail:upper:0,1"}, "--show: trail: expected three numbers x,y,z"},
    {"double-pendulum", {"--layout", "heap"}, "--layout: expected grid or overlay, found 'heap'"},
    {"double-pendulum", {"--worlds", "many"}, "--worlds: expected a whole number, 1 or more, or all, found 'many'"},
    {"double-pendulum", {"--worlds", "0"}, "--worlds: expected a whole number, 1 or more, found 0"},
    {"double-pendulum", {"--worlds", "all"}, "has no grids in a `sample` section that say how many are all; give a number"},
    {"double-pendulum", {"--seed", "1"}, "--seed is for the worlds that --worlds draws"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(refusals)
{
    char path[100];
    const char *const *w = refused[_i].words;
    snprintf(path, sizeof path, "scenes/%s.yaml", refused[_i].file);
    outcome o = catena("render", source(path), "--out", "a.png", w[0], w[1], w[2], w[3]);
    ck_assert_msg(o.status == 2, "%d: %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, refused[_i].says), "%s", o.err);
    ck_assert(access("a.png", F_OK) != 0);
    outcome_free(&o);
}
END_TEST

/// What recordings do not have.
START_TEST(refusals_of_recordings)
{
    outcome o =
        catena("rollout", source("scenes/chain10-sampled.yaml"), "--worlds", "3", "--steps", "2", "--out", "chains.h5", "-q");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    static const struct {
        const char *words[4], *says;
    } of[] = {{{"--worlds", "4"}, "--worlds: chains.h5 has 3 worlds from --world 0 on, found 4"},
              {{"--worlds", "3", "--world", "1"}, "--worlds: chains.h5 has 2 worlds from --world 1 on, found 3"},
              {{"--seed", "4"}, "--seed is for scenes; chains.h5 is drawn as it was recorded"}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const char *const *w = of[k].words;
        o = catena("render", "chains.h5", "--out", "a.png", w[0], w[1], w[2], w[3]);
        ck_assert_msg(o.status == 2 && strstr(o.err, of[k].says), "%s", o.err);
        outcome_free(&o);
    }
}
END_TEST

/// A world that freezes stays, grey, where it stopped, and the others go on; if it is the only one, there is no picture.
START_TEST(frozen_worlds)
{
    static const char wild[] = "catena: 1\n"
                               "links:\n"
                               "  - {name: wheel, joint: {type: revolute, stiffness: 1.0e-9}, mass: 1, inertia: [1, 1, 1, 0, 0, 0], com: [0.3, 0, 0]}\n"
                               "integrator: {method: rk4, dt: 0.1}\n"
                               "sample: {v: {wheel: {grid: [0, 6.0e6, 2]}}}\n"
                               "duration: 1\n";
    spit("wild.yaml", wild);
    outcome o = catena("render", "wild.yaml", "--worlds", "all", "--from", "0.5", "--size", "160x120", "--out", "a.png");
    ck_assert_msg(o.status == 0 && strstr(o.err, "1 of 2 worlds are frozen at the end"), "%d: %s", o.status, o.err);
    outcome_free(&o);
    o = catena("render", "wild.yaml", "--worlds", "all", "--show", "text", "--from", "0.1", "--size", "160x120", "--out",
               "a.png");
    ck_assert_msg(o.status == 0 && !strstr(o.err, "frozen"), "%d: %s", o.status, o.err);
    outcome_free(&o);
}
END_TEST

/// So it does in a recording: between its records, too, and grey.
START_TEST(frozen_worlds_of_recordings)
{
    char *picture[3];
    size_t size[3];
    outcome o = catena("rollout", source("scenes/chain10-sampled.yaml"), "--worlds", "4", "--method", "rk4", "--dt", "0.02",
                       "--steps", "300", "--stride", "10", "--out", "w.h5", "-q");
    outcome_free(&o);
    for (int k = 0; k < 3; k++) {
        static const char *const from[] = {"2.0", "2.23", "2.35"};
        char name[20];
        snprintf(name, sizeof name, "%d.png", k);
        o = catena("render", "w.h5", "--world", "2", "--from", from[k], "--size", "160x120", "--out", name);  // froze at 1.8 s
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        picture[k] = slurp(name, &size[k]);
    }
    for (int k = 1; k < 3; k++) ck_assert(size[k] == size[0] && !memcmp(picture[k], picture[0], size[0]));
    for (int k = 0; k < 3; k++) free(picture[k]);
    o = catena("render", "w.h5", "--worlds", "all", "--from", "6", "--size", "160x120", "--out", "a.png");
    ck_assert_msg(o.status == 0 && strstr(o.err, "2 of 4 worlds are frozen at the end: they are grey"), "%d: %s", o.status,
                  o.err);
    outcome_free(&o);
}
END_TEST

/// What a recording lacks is said, and how to make one that has it; of an unfinished rollout what is done is drawn.
START_TEST(recordings_that_lack_something)
{
    const char *const scene = source("scenes/chain10-sampled.yaml");
    outcome o = catena("rollout", scene, "--worlds", "2", "--steps", "5", "--keep", "pose", "--out", "w.h5", "-q");
    outcome_free(&o);
    o = catena("render", "w.h5", "--out", "a.png", "--size", "64x48");
    ck_assert_msg(o.status == 2 && strstr(o.err, "w.h5: has no states to draw; make it with --keep q,v, or q alone"), "%s",
                  o.err);
    outcome_free(&o);
    o = catena("rollout", scene, "--worlds", "2", "--steps", "5", "--keep", "q", "--out", "w.h5", "-q");
    outcome_free(&o);
    o = catena("render", "w.h5", "--out", "a.png", "--size", "64x48", "--colors", "energy");
    ck_assert_msg(o.status == 2 &&
                      strstr(o.err, "--colors: w.h5 has no velocities, which energies need; make it with --keep q,v"),
                  "%s", o.err);
    outcome_free(&o);
    o = catena("render", "w.h5", "--from", "0.015", "--out", "a.png", "--size", "64x48", "--show", "text");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("rollout", scene, "--worlds", "8", "--steps", "5", "--out", "w.h5", "-q");
    outcome_free(&o);
    spoil("w.h5", "status", 5);  // as it is before a world is run
    o = catena("render", "w.h5", "--worlds", "all", "--out", "a.png", "--size", "64x48");
    ck_assert_msg(o.status == 0 && strstr(o.err, "w.h5: worlds from 5 on are left out: that one has not been run yet"), "%s",
                  o.err);
    outcome_free(&o);
    o = catena("render", "run.csv", "--out", "a.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "recordings are drawn from HDF5, not from CSV; record with --out run.h5"), "%s",
                  o.err);
    outcome_free(&o);
}
END_TEST

/// Contact points of scenes and of recordings; a ground that slopes; what lacks them says so.
START_TEST(contacts)
{
    static const char *const view[] = {"--from", "0.5", "--camera", "-70,15,4", "--out", "a.png", NULL};
    const char *const scene = source("scenes/slope.yaml");
    size_t n, m, r;
    char *const plain = render(scene, "a.png", view, &n);
    char *const shown =
        RENDER(scene, "b.png", &m, "--from", "0.5", "--camera", "-70,15,4", "--show", "contacts", "--out", "b.png");
    ck_assert(!same(plain, n, shown, m));
    outcome o = catena("run", scene, "--steps", "40", "--out", "s.h5", "-q");
    outcome_free(&o);
    char *const played =
        RENDER("s.h5", "c.png", &r, "--from", "0.5", "--camera", "-70,15,4", "--show", "contacts", "--out", "c.png");
    ck_assert(r > 0);
    free(plain), free(shown), free(played);
    o = catena("render", source("scenes/chain10.yaml"), "--from", "0", "--show", "contacts", "--out", "a.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--show: contacts: nothing touches a `ground`, nor another link, in "), "%s", o.err);
    outcome_free(&o);
    o = catena("rollout", scene, "--worlds", "2", "--steps", "5", "--out", "w.h5", "-q");
    outcome_free(&o);
    o = catena("render", "w.h5", "--from", "0", "--show", "contacts", "--out", "a.png");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--show: contacts: w.h5 has none; make it with --keep q,v,contacts"), "%s",
                  o.err);
    outcome_free(&o);
}
END_TEST

static bool is_there(ctn_error *err) { return context_create(err) != NULL; }

int main(void)
{
    if (!machine_has("cli_show", is_there)) return EXIT_SKIPPED;
    Suite *const s = suite_create("cli show");
    TCase *const t = tcase_create("cli show");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, exact_times);
    tcase_add_test(t, contacts);
    tcase_add_test(t, halved_steps);
    tcase_add_test(t, floors);
    tcase_add_test(t, colors);
    tcase_add_test(t, worlds);
    tcase_add_test(t, worlds_of_a_run);
    tcase_add_loop_test(t, refusals, 0, REFUSED);
    tcase_add_test(t, refusals_of_recordings);
    tcase_add_test(t, frozen_worlds);
    tcase_add_test(t, frozen_worlds_of_recordings);
    tcase_add_test(t, recordings_that_lack_something);
    suite_add_tcase(s, t);
    return run_suite(s);
}
