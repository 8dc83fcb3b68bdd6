/// `catena plot`: the numbers in gnuplot's script against those of the recording, closed forms and sorted worlds; pictures, and
/// what it says when something is missing.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PENDULUM source("scenes/double-pendulum.yaml")
#define SAMPLED source("scenes/chain10-sampled.yaml")

static void make(const char *what, const char *scene, const char *out, const char *option, const char *value, const char *more)
{
    outcome o = catena_with(NULL, what, scene, "--out", out, "-q", option, value, more, NULL);
    ck_assert_msg(o.status == 0 || strstr(o.err, "frozen"), "%s", o.err);
    outcome_free(&o);
}

/// The script of a plot of up to two recordings: gnuplot is not found, so that it is kept. To be freed.
static char *script_of(const char *a, const char *b, const char *y, const char *option, const char *value)
{
    const char *const args[] = {"--y", y, "--out", "s.png", option, value};
    char *const path = strdup(getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/nonexistent", 1);
    outcome o = b ? catena("plot", a, b, args[0], args[1], args[2], args[3], args[4], args[5])
                  : catena("plot", a, args[0], args[1], args[2], args[3], args[4], args[5]);
    setenv("PATH", path, 1);
    free(path);
    ck_assert_msg(o.status == 1, "%d: %s", o.status, o.err);
    ck_assert_msg(strstr(o.err, "error: --out: gnuplot is not installed; its script and data are in s.png.gnuplot"), "%s", o.err);
    outcome_free(&o);
    return slurp("s.png.gnuplot", NULL);
}

/// A block of data of a script.
typedef struct block {
    double x[40000][6];  // time and numbers
    int rows, columns;
    int gaps;
} block;

static block of;  // too large for a stack

static void read_block(const char *script, const char *name)
{
    char head[80];
    snprintf(head, sizeof head, "\n%s << EOD\n", name);
    const char *at = strstr(script, head);
    ck_assert_msg(at != NULL, "the script has no %s", name);
    of.rows = of.columns = of.gaps = 0;
    for (at += strlen(head); strncmp(at, "EOD\n", 4); at = strchr(at, '\n') + 1) {
        if (*at == '\n') {
            of.gaps++;
            continue;
        }
        char *end;
        int n = 0;
        for (const char *c = at; n < 6 && *c != '\n'; c = end) of.x[of.rows][n++] = strtod(c, &end);
        of.columns = n;
        ck_assert_int_lt(++of.rows, 40000);
    }
}

/// Fails the test unless the block has the numbers x [rows], `stride` apart, at the times of the file.
static void has_column(const char *file, const double *x, size_t stride, double tolerance)
{
    size_t rows;
    double *const time = numbers(file, "time", &rows);
    ck_assert_int_eq(of.rows, (int)rows);
    for (size_t k = 0; k < rows; k++) {
        ck_assert_double_eq(of.x[k][0], time[k]);
        ck_assert_msg(fabs(of.x[k][1] - x[k * stride]) <= tolerance, "row %zu: %.17g, expected %.17g", k, of.x[k][1],
                      x[k * stride]);
    }
    free(time);
}

// ---- one world

/// Every record as it is in the file; what is of the steps since the record before begins with the second one; sums.
START_TEST(numbers_of_a_run)
{
    size_t rows;
    make("run", PENDULUM, "a.h5", "--duration", "0.5", NULL);
    char *const script = script_of("a.h5", NULL, "energy,evaluations,q.upper,v,created.sum", NULL, NULL);
    double *const energy = numbers("a.h5", "energy/energy", &rows),
                  *const evaluations = numbers("a.h5", "stats/evaluations", NULL), *const q = numbers("a.h5", "q", NULL),
                  *const v = numbers("a.h5", "v", NULL);
    ck_assert_int_eq((int)rows, 251);
    read_block(script, "$panel0_curve0_0"), has_column("a.h5", energy, 1, 0);
    read_block(script, "$panel2_curve0_0"), has_column("a.h5", q, 2, 0);
    read_block(script, "$panel3_curve0_0"), has_column("a.h5", v, 2, 0);
    read_block(script, "$panel3_curve1_0"), has_column("a.h5", v + 1, 2, 0);
    read_block(script, "$panel1_curve0_0");
    ck_assert_int_eq(of.rows, 250);
    for (int k = 0; k < 250; k++) ck_assert_double_eq(of.x[k][1], evaluations[k + 1]);
    for (size_t k = rows; k-- > 0;) energy[k] -= energy[0];  // no force works, and nothing damps: all that changes is created
    read_block(script, "$panel4_curve0_0"), has_column("a.h5", energy, 1, 1e-12);
    ck_assert_msg(strstr(script, "'double-pendulum: rk4, dt 0.002 s'"), "%s", script);
    ck_assert(strstr(script, "set label 2 'v (rad/s)'") && strstr(script, "set label 2 'energy (J)'") &&
              strstr(script, "set label 2 'evaluations'"));
    ck_assert(strstr(script, "title 'upper'") && strstr(script, "title 'lower'"));  // of v; of q there is one
    ck_assert_ptr_null(strstr(script, "title 'q"));
    free(script), free(energy), free(evaluations), free(q), free(v);
}
END_TEST

/// Positions and centre of mass by geometry, momentum by its derivative.
START_TEST(closed_forms)
{
    enum { ROWS = 251 };
    static double x[ROWS], z[ROWS], com[ROWS];
    make("run", PENDULUM, "a.h5", "--duration", "0.5", NULL);
    char *const script = script_of("a.h5", NULL, "p.lower,p.upper.z,com.z,momentum_linear.z", NULL, NULL);
    double *const q = numbers("a.h5", "q", NULL), *const potential = numbers("a.h5", "energy/potential", NULL);
    for (int k = 0; k < ROWS; k++)
        x[k] = 0.5 * cos(q[2 * k]), z[k] = 1 - 0.5 * sin(q[2 * k]), com[k] = potential[k] / (2.0 * 9.81);
    read_block(script, "$panel0_curve0_0"), has_column("a.h5", x, 1, 1e-13);
    read_block(script, "$panel0_curve2_0"), has_column("a.h5", z, 1, 1e-13);
    read_block(script, "$panel2_curve0_0"), has_column("a.h5", com, 1, 1e-13);
    read_block(script, "$panel1_curve0_0");
    for (int k = 0; k < ROWS; k++) ck_assert_double_eq(of.x[k][1], 1);
    read_block(script, "$panel3_curve0_0");
    for (int k = 1; k < ROWS - 1; k++) ck_assert_double_eq_tol(of.x[k][1], 2.0 * (com[k + 1] - com[k - 1]) / 0.004, 1e-3);
    free(script), free(q), free(potential);
}
END_TEST

// ---- docs/robots.md

/// The first block of YAML in a page of the docs, without its fences. To be freed.
static char *first_block(const char *page)
{
    char *const text = slurp(source(page), NULL), *const begin = strstr(text, "\n```yaml\n");
    ck_assert_msg(begin != NULL, "%s shows no scene", page);
    char *const block = strdup(begin + strlen("\n```yaml\n")), *const end = strstr(block, "```\n");
    ck_assert_ptr_nonnull(end);
    *end = 0, free(text);
    return block;
}

/// The ten lines that make a URDF file an arm that moves: it does, to where they say, is recorded, and drawn as it went.
START_TEST(arm_in_ten_lines)
{
    enum { NQ = 4 };
    static const double start[NQ] = {-0.6, 0.7, 0.8, 0}, target[NQ] = {60, -40, 70, 90};  // rad, degrees
    char *const block = first_block("docs/robots.md"), folder[4096];
    int lines = 0;
    for (const char *c = block; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(lines, 10);
    snprintf(folder, sizeof folder, "%s", source("scenes"));
    ck_assert(!symlink(folder, "scenes") && !mkdir("mine", 0700));
    spit("mine/arm.yaml", block);
    make("run", "mine/arm.yaml", "arm.h5", NULL, NULL, NULL);
    size_t count;
    double *const q = numbers("arm.h5", "q", &count), *const v = numbers("arm.h5", "v", NULL), fastest = 0;
    const size_t records = count / NQ;
    ck_assert_uint_eq(records, 101);
    for (size_t k = 0; k < NQ; k++) {
        const double sag = q[(records - 1) * NQ + k] * 180 / M_PI - target[k];
        ck_assert(q[k] == start[k]);
        ck_assert_msg(fabs(sag) < 3, "joint %zu is %g degrees off its target", k, sag);
    }
    for (size_t k = 0; k < count; k++) fastest = fmax(fastest, fabs(v[k]));
    ck_assert_msg(fastest > 1, "moves with %g rad/s", fastest);
    outcome o = catena("replay", "arm.h5", "--verify", NULL, NULL, NULL, NULL, NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "identical: 1 world"), "%s%s", o.out, o.err);
    outcome_free(&o);
    char *const script = script_of("arm.h5", NULL, "q", NULL, NULL);
    static const char *const joints[NQ] = {"title 'shoulder'", "title 'upper'", "title 'fore'", "title 'hand'"};
    for (size_t k = 0; k < NQ; k++) {
        char name[40];
        snprintf(name, sizeof name, "$panel0_curve%zu_0", k);
        read_block(script, name), has_column("arm.h5", q + k, NQ, 0);
        ck_assert_msg(strstr(script, joints[k]) != NULL, "%s", joints[k]);
    }
    free(block), free(q), free(v), free(script);
}
END_TEST

/// From the record before to the one after; sums go on from the start.
START_TEST(part_of_the_time)
{
    make("run", PENDULUM, "a.h5", "--duration", "0.5", NULL);
    char *whole = script_of("a.h5", NULL, "energy,evaluations.sum", NULL, NULL);
    read_block(whole, "$panel1_curve0_0");
    const double sum = of.x[51][1];
    free(whole);
    char *const script = script_of("a.h5", NULL, "energy,evaluations.sum", "--from=0.101", "--to=0.2");
    read_block(script, "$panel1_curve0_0");
    ck_assert_int_eq(of.rows, 51);
    ck_assert_double_eq_tol(of.x[0][0], 0.1, 1e-12);
    ck_assert_double_eq_tol(of.x[50][0], 0.2, 1e-12);
    ck_assert_double_eq(of.x[1][1], sum);
    ck_assert_msg(strstr(script, "set xrange [0.10100000000000001:0.20000000000000001]"), "%s", script);
    free(script);
}
END_TEST

/// Writes one number of a dataset of doubles.
static void put_number(const char *path, const char *name, hsize_t at, double x)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT),
                space = H5Dget_space(set);
    const hsize_t from[2] = {at, 0}, one[2] = {1, 1};
    const hid_t memory = H5Screate_simple(2, one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, one, NULL);
    ck_assert(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &x) >= 0);
    H5Sclose(memory), H5Sclose(space), H5Dclose(set);
    ck_assert(H5Fclose(file) >= 0);
}

/// Numbers whose difference is beyond all numbers have an axis, too.
START_TEST(whole_range)
{
    make("run", PENDULUM, "a.h5", "--steps", "3", NULL);
    put_number("a.h5", "energy/energy", 1, 1.7e308), put_number("a.h5", "energy/energy", 2, -1.7e308);
    char *const script = script_of("a.h5", NULL, "energy", NULL, NULL);
    ck_assert_msg(!strstr(script, " inf") && !strstr(script, "nan"), "%s", script);
    free(script);
}
END_TEST

/// The axis of the last panel of a script, whose ends are stored, has two ticks or more, with short labels that differ and say
/// where they are.
static void has_ticks(const char *script, double *low, double *high)
{
    const char *at = script, *next;
    char format[40], label[60], before[60] = "";
    double step;
    while ((next = strstr(at, "set yrange ["))) at = next + strlen("set yrange [");
    char *end;
    *low = strtod(at, &end), *high = strtod(end + 1, &end);
    ck_assert_msg(*end == ']' && *low < *high, "%.60s", at);
    const bool logarithmic = strstr(end, "set logscale y") != NULL;
    ck_assert_int_eq(sscanf(strstr(end, "set format y '"), "set format y '%39[^']'", format), 1);
    ck_assert_int_eq(sscanf(strstr(end, "set ytics "), "set ytics %lf", &step), 1);
    int count = 0;
    for (double k = logarithmic ? -400 : ceil(*low / step); count < 50; k++) {
        const double x = logarithmic ? pow(10, k) : k * step;
        if (x > *high * (*high > 0 ? 1 + 1e-9 : 1 - 1e-9)) break;
        if (x < *low * (*low > 0 ? 1 - 1e-9 : 1 + 1e-9)) continue;
        snprintf(label, sizeof label, format, x);
        ck_assert_msg(strcmp(label, before) != 0, "two ticks are called %s", label);
        ck_assert_msg(fabs(strtod(label, NULL) - x) <= 0.02 * (*high - *low), "%.17g is called %s", x, label);
        ck_assert_uint_le(strlen(label), 9);
        strcpy(before, label), count++;
    }
    ck_assert_msg(count >= 2, "%d ticks from %g to %g", count, *low, *high);
}

/// What is constant, or differs by rounding alone, is drawn in the middle of an axis on which it can be read.
START_TEST(constants)
{
    static const struct {
        const char *name, *data;
        double a, b;  // by turns
    } of[] = {{"energy", "energy/energy", 0, 0},
              {"energy", "energy/energy", 1, 1},
              {"energy", "energy/energy", 1, 1.0000000000000002},
              {"energy", "energy/energy", -9.81, -9.8100000000000059},
              {"energy", "energy/energy", 1234567.125, 1234567.125},
              {"energy", "energy/energy", 3e-12, 3.0000000000000004e-12},
              {"energy", "energy/energy", 5e-324, 5e-324},
              {"energy", "energy/energy", 1.7e308, 1.7e308},
              {"evaluations", "stats/evaluations", 4, 4},
              {"residual", "stats/residual", 3e-10, 3e-10},
              {"residual", "stats/residual", 1e-10, 1e-10}};
    make("run", PENDULUM, "a.h5", "--steps", "20", NULL);
    for (hsize_t k = 0; k < 21; k++) put_number("a.h5", of[_i].data, k, k % 2 ? of[_i].a : of[_i].b);
    char *const script = script_of("a.h5", NULL, of[_i].name, NULL, NULL);
    double low, high;
    has_ticks(script, &low, &high);
    if (of[_i].a < 1e308) ck_assert_msg(low < of[_i].a && of[_i].b < high, "%g to %g", low, high);
    ck_assert_msg(high - low >= 0.09 * fabs(of[_i].a) || of[_i].a > 1e308, "%g to %g", low, high);
    free(script);
}
END_TEST

/// What changes by more than rounding is seen to.
START_TEST(small_changes)
{
    make("run", PENDULUM, "a.h5", "--steps", "20", NULL);
    for (hsize_t k = 0; k < 21; k++) put_number("a.h5", "energy/energy", k, 1 + 1e-11 * (double)k);
    char *const script = script_of("a.h5", NULL, "energy", NULL, NULL);
    const char *const range = strstr(script, "set yrange [") + strlen("set yrange [");
    char *end;
    const double low = strtod(range, &end), high = strtod(end + 1, NULL);
    ck_assert_double_eq_tol(low, 1 - 1e-11, 1e-14);
    ck_assert_double_eq_tol(high, 1 + 21e-11, 1e-14);
    ck_assert(strstr(script, "set format y '%.12g'"));
    free(script);
}
END_TEST

/// Of a long recording much is left out, but no spike of one record; what is not finite is a gap, and said.
START_TEST(spikes)
{
    make("run", PENDULUM, "a.h5", "--steps", "30000", NULL);
    put_number("a.h5", "energy/energy", 12345, 77), put_number("a.h5", "energy/energy", 23456, -77);
    put_number("a.h5", "energy/energy", 777, NAN), put_number("a.h5", "energy/energy", 778, INFINITY);
    char *const script = script_of("a.h5", NULL, "energy", "--size", "500x400"), *const err = slurp("err", NULL);
    read_block(script, "$panel0_curve0_0");
    ck_assert_int_le(of.rows, 4 * 500 + 2);
    ck_assert_int_ge(of.rows, 2 * 500);
    ck_assert_int_eq(of.gaps, 1);
    int high = 0, low = 0;
    for (int k = 0; k < of.rows; k++) high += of.x[k][1] == 77, low += of.x[k][1] == -77;
    ck_assert(high == 1 && low == 1);
    ck_assert_msg(strstr(err, "warning: a.h5: 2 numbers of 'energy' are not finite, and left out"), "%s", err);
    free(script), free(err);
}
END_TEST

// ---- many worlds

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Columns of a block are 5, 25, 50, 75 and 95 % of x [worlds][rows] at each time, of the worlds that had not frozen and were
/// run.
static void has_quantiles(const double *time, const double *x, const double *until, int worlds, int rows)
{
    static const double p[5] = {0.05, 0.25, 0.5, 0.75, 0.95};
    double *const here = malloc((size_t)worlds * sizeof *here);
    ck_assert_int_eq(of.columns, 6);
    ck_assert_int_eq(of.rows, rows);
    for (int k = 0; k < rows; k++) {
        int n = 0;
        for (int w = 0; w < worlds; w++)
            if (time[k] <= until[w] + 1e-9) here[n++] = x[w * rows + k];
        qsort(here, (size_t)n, sizeof *here, ascending);
        for (int i = 0; i < 5; i++) {
            const int at = (int)(p[i] * (n - 1));
            const double share = p[i] * (n - 1) - at;
            const double wanted = here[at] + (share > 0 ? share * (here[at + 1] - here[at]) : 0);
            ck_assert_double_eq_tol(of.x[k][1 + i], wanted, 1e-12 * fmax(1, fabs(wanted)));
        }
    }
    free(here);
}

/// Bands of a rollout, some of whose worlds froze and one of which was not run.
START_TEST(bands)
{
    enum { WORLDS = 40, ROWS = 101 };
    static double x[WORLDS * ROWS], until[WORLDS];
    char frozen_says[80];
    int frozen = 0;
    outcome o = catena("rollout", SAMPLED, "--worlds", "40", "--method", "rk4", "--keep", "q,v,energy", "--out", "w.h5", "-q");
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    spoil("w.h5", "status", 7);
    char *const script = script_of("w.h5", NULL, "q.rod.3,kinetic[0:10]", NULL, NULL), *const err = slurp("err", NULL);
    double *const time = numbers("w.h5", "time", NULL), *const q = numbers("w.h5", "q", NULL),
                  *const kinetic = numbers("w.h5", "energy/kinetic", NULL), *const status = numbers("w.h5", "status", NULL),
                  *const when = numbers("w.h5", "frozen_time", NULL);
    for (int w = 0; w < WORLDS; w++) {
        until[w] = status[w] > 0 ? when[w] : status[w] < 0 ? -1 : INFINITY;
        frozen += status[w] > 0;
        for (int k = 0; k < ROWS; k++) x[w * ROWS + k] = q[(w * ROWS + k) * 20 + 6];
    }
    ck_assert(frozen > 3 && frozen < 36);
    read_block(script, "$panel0_curve0"), has_quantiles(time, x, until, WORLDS, ROWS);
    read_block(script, "$panel2_curve0"), has_quantiles(time, kinetic, until, WORLDS, ROWS);
    ck_assert(strstr(script, "set label 2 'q.rod.3.1 (rad)'") && strstr(script, "set label 2 'q.rod.3.2 (rad)'"));
    snprintf(frozen_says, sizeof frozen_says, "w.h5: %d of 40 worlds froze, and are drawn up to there", frozen);
    ck_assert_msg(strstr(err, frozen_says), "%s", err);
    ck_assert_msg(strstr(err, "w.h5: 1 of 40 worlds is not run yet, and left out"), "%s", err);
    snprintf(frozen_says, sizeof frozen_says, "40 worlds, 1 not run yet, %d froze'", frozen);
    ck_assert_msg(strstr(script, frozen_says), "%s", script);
    ck_assert(strstr(script, "set yrange [0:10]") && strstr(script, "filledcurves"));
    free(script), free(err), free(time), free(q), free(kinetic), free(status), free(when);
}
END_TEST

/// Recordings have worlds inside times, rollouts times inside worlds.
START_TEST(bands_of_a_run)
{
    enum { WORLDS = 12, ROWS = 26 };
    static double x[WORLDS * ROWS], until[WORLDS];
    make("run", PENDULUM, "a.h5", "--steps", "25", "--worlds=12");
    for (hsize_t k = 0; k < ROWS; k++) put_number("a.h5", "energy/energy", k, (double)k);  // of world 0
    char *const script = script_of("a.h5", NULL, "energy", NULL, NULL);
    double *const time = numbers("a.h5", "time", NULL), *const energy = numbers("a.h5", "energy/energy", NULL);
    for (int k = 0; k < WORLDS * ROWS; k++) x[k] = energy[k % ROWS * WORLDS + k / ROWS];
    for (int w = 0; w < WORLDS; w++) until[w] = INFINITY;
    read_block(script, "$panel0_curve0"), has_quantiles(time, x, until, WORLDS, ROWS);
    free(script), free(time), free(energy);
}
END_TEST

/// What is computed of q and v is what the rollout would have kept; few worlds are lines, and --world is one of them.
START_TEST(computed)
{
    make("rollout", SAMPLED, "kept.h5", "--worlds", "6", "--keep=q,v,energy,pose");
    make("rollout", SAMPLED, "bare.h5", "--worlds", "6", NULL);
    char *scripts[2];
    for (int k = 0; k < 2; k++) scripts[k] = script_of(k ? "bare.h5" : "kept.h5", NULL, "energy,spring,p.rod.9", NULL, NULL);
    static const char *const blocks[] = {"$panel0_curve0_5", "$panel1_curve0_2", "$panel2_curve0_0", "$panel2_curve2_3"};
    static block kept;
    for (int k = 0; k < 4; k++) {
        read_block(scripts[0], blocks[k]), kept = of;
        read_block(scripts[1], blocks[k]);
        ck_assert_int_eq(of.rows, 101);
        ck_assert(of.rows == kept.rows && !memcmp(of.x, kept.x, (size_t)of.rows * sizeof *of.x));
    }
    char *const one = script_of("bare.h5", NULL, "energy", "--world", "5");
    read_block(scripts[0], "$panel0_curve0_5"), kept = of;
    read_block(one, "$panel0_curve0_0");
    ck_assert(of.rows == kept.rows && !memcmp(of.x, kept.x, (size_t)of.rows * sizeof *of.x));
    ck_assert_msg(strstr(one, "world 5 of 6'"), "%s", one);
    free(scripts[0]), free(scripts[1]), free(one);
}
END_TEST

/// Two methods: colours are files, and each coordinate has its panel; one of them froze, which gets a cross.
START_TEST(two_recordings)
{
    ck_assert_int_eq(mkdir("runs", 0777), 0);
    make("run", source("scenes/chain40.yaml"), "runs/good.h5", "--dt", "0.05", "--duration=1");
    make("run", source("scenes/chain40.yaml"), "runs/bad.h5", "--dt", "0.05", "--method=rk4");
    char *const script = script_of("runs/good.h5", "runs/bad.h5", "energy,q.rod.0,residual", NULL, NULL), *const err =
                                                                                                              slurp("err", NULL);
    double *const energy = numbers("runs/bad.h5", "energy/energy", NULL), *const time = numbers("runs/bad.h5", "time", NULL);
    ck_assert_msg(strstr(script, "title 'good.h5: alpha, rho 0.2, dt 0.05 s'"), "%s", script);
    ck_assert_msg(strstr(script, "title 'bad.h5: rk4, dt 0.05 s, froze at 0.15 s'"), "%s", script);
    ck_assert_msg(strstr(err, "warning: runs/bad.h5: the world froze at 0.15 s, where it ends"), "%s", err);
    ck_assert(strstr(script, "'q.rod.0.1 (rad)'") && strstr(script, "'q.rod.0.2 (rad)'"));
    ck_assert(strstr(script, "point pt 2") && strstr(script, "set logscale y"));
    read_block(script, "$panel0_curve1_0");
    for (int k = 0; k < of.rows; k++) ck_assert(of.x[k][0] == time[k] && of.x[k][1] == energy[k]);
    ck_assert_double_eq_tol(of.x[of.rows - 1][0], 0.15, 1e-12);
    read_block(script, "$panel2_curve0_0");
    ck_assert_int_eq(of.rows, 21);
    char *const before = script_of("runs/good.h5", "runs/bad.h5", "energy,q.rod.0", "--to=0.1", NULL);
    ck_assert_ptr_null(strstr(before, "point pt 2"));  // there it had not frozen yet
    free(before);
    free(script), free(err), free(energy), free(time);
}
END_TEST

// ---- files

/// A recording that is being written, and one whose writer was killed.
START_TEST(unfinished)
{
    const char *const args[] = {"run", PENDULUM, "--steps", "2000000000", "--out", "live.h5", "-q", NULL};
    outcome killed = {0};
    size_t records = 0;
    const pid_t pid = catena_start(args);
    while (records < 200) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        if (access("live.h5", R_OK)) continue;
        free(numbers("live.h5", "time", &records));
    }
    for (int k = 0; k < 2; k++) {
        if (k) kill(pid, SIGKILL), killed = catena_wait(pid);
        char *const script = script_of("live.h5", NULL, "energy", NULL, NULL);
        ck_assert_msg(strstr(script, "dt 0.002 s, unfinished'"), "%.2000s", script);
        read_block(script, "$panel0_curve0_0");
        ck_assert_int_ge(of.rows, 200);
        ck_assert_double_eq_tol(of.x[0][1], of.x[of.rows - 1][1], 0.1);
        free(script);
    }
    outcome_free(&killed);
}
END_TEST

/// A link whose name has a comma, one that cannot move.
START_TEST(names_of_links)
{
    spit("scene.yaml", "catena: 1\nlinks:\n"
                       "  - {name: 'a, \"b\"', joint: ball, mass: 1, com: [0.1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
                       "  - {name: still, joint: fixed, mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n");
    make("run", "scene.yaml", "a.h5", "--steps", "10", NULL);
    char *const script = script_of("a.h5", NULL, "\"q.a, \"\"b\"\".qz\",\"v.a, \"\"b\"\"\"", NULL, NULL);
    double *const q = numbers("a.h5", "q", NULL);
    read_block(script, "$panel0_curve0_0"), has_column("a.h5", q + 3, 4, 0);
    ck_assert_msg(strstr(script, "set label 2 'v.a, \"b\" (rad/s)'") && strstr(script, "title 'wz'"), "%s", script);
    outcome o = catena("plot", "a.h5", "--y", "q.still", "--out", "a.png");
    ck_assert_int_eq(o.status, 2);
    ck_assert_msg(strstr(o.err, "a.h5: 'q.still': the joint of this link is fixed, and has no coordinates"), "%s", o.err);
    outcome_free(&o);
    free(script), free(q);
}
END_TEST

/// Pictures of each kind and of the size that was asked for, without a word from gnuplot, in a locale without UTF-8, too.
START_TEST(drawn)
{
    static const struct {
        const char *file, *begins;
    } kinds[] = {{"a.png", "\211PNG\r\n\032\n"}, {"it's.svg", "<?xml"}, {"a.pdf", "%PDF"}};
    static const char *const quantities[] = {"energy,q.rod.0,residual,iterations", "energy,q", "com,momentum_angular"};
    if (system("gnuplot --version >/dev/null 2>&1")) {
        printf("cli_plot: pictures skipped: gnuplot is not installed\n");
        return;
    }
    setenv("LC_ALL", "POSIX", 1);
    make("run", source("scenes/chain10.yaml"), "a.h5", "--duration", "0.3", NULL);
    make("rollout", SAMPLED, "w.h5", "--worlds", "20", "--stride=10");
    make("run", source("scenes/chain10.yaml"), "first.h5", "--duration", "0", NULL);
    for (int k = 0; k < 3; k++) {
        const char *const file = k == 1 ? "w.h5" : "a.h5";
        outcome o = catena_with(NULL, "plot", file, "--y", quantities[k], "--out", kinds[_i].file, k == 1 ? "--from=0" : "--size",
                                k == 1 ? NULL : "800x700", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        ck_assert_str_eq(o.err, "");
        size_t size;
        char *const picture = slurp(kinds[_i].file, &size);
        ck_assert_msg(!memcmp(picture, kinds[_i].begins, strlen(kinds[_i].begins)), "not a picture of its kind");
        if (!_i && k != 1) ck_assert(picture[18] == 800 >> 8 && (unsigned char)picture[19] == (800 & 255));
        ck_assert_int_gt((int)size, 5000);
        free(picture);
        outcome_free(&o);
    }
    outcome o = catena("plot", "a.h5", "w.h5", "--y", "energy,v.rod.0", "--out", kinds[_i].file);
    ck_assert_msg(o.status == 0 && !*o.err, "%s", o.err);
    outcome_free(&o);
    o = catena("plot", "first.h5", "--out", kinds[_i].file, "-q");  // a single point
    ck_assert_msg(o.status == 0 && !*o.err && !*o.out, "%s%s", o.err, o.out);
    outcome_free(&o);
    unsetenv("LC_ALL");
}
END_TEST

static const struct {
    const char *file, *words[6];
    int status;
    const char *says;
} refused[] = {
    {"a.h5", {"--y", "energy"}, 2, "--out is missing: FILE.png, .svg or .pdf"},
    {"a.h5", {"--out", "a.gif"}, 2, "--out: 'a.gif' should end in .png, .svg or .pdf"},
    {"a.h5", {"--out", "nowhere/a.png"}, 1, "nowhere/a.png: cannot be written: No such file or directory"},
    {"a.h5", {"--out", "a.png", "--size", "640"}, 2, "--size: expected WIDTHxHEIGHT in pixels like 640x360"},
    {"a.h5", {"--out", "a.png", "--size", "640x120"}, 2, "--size: 1 panel needs a height of"},
    {"a.h5", {"--out", "a.png", "--size", "100x500"}, 2, "--size: panels and keys need a width of"},
    {"a.h5", {"--out", "a.png", "--y", "enrgy"}, 2, "a.h5: has no 'enrgy'; did you mean 'energy'?"},
    {"a.h5", {"--out", "a.png", "--y", "q.uper"}, 2, "a.h5: has no 'q.uper'; did you mean 'q.upper'?"},
    {"a.h5", {"--out", "a.png", "--y", "q.elbow.shoulder"}, 2, "a.h5: has no 'q.elbow.shoulder'; there are kinetic, potential, "},
    {"a.h5", {"--out", "a.png", "--y", "energy,"}, 2, "a.h5: has no ''; there are "},
    {"a.h5", {"--out", "a.png", "--y", "residual.sum"}, 2, "a.h5: has no 'residual.sum'; "},
    {"a.h5", {"--out", "a.png", "--y", "energy[2:1]"}, 2, "--y: energy[2:1]: expected a range [LOW:HIGH], LOW below HIGH"},
    {"a.h5", {"--out", "a.png", "--y", "energy[0x0:1]"}, 2, "a.h5: has no 'energy[0x0:1]'"},
    {"a.h5", {"--out", "a.png", "--y", "\"energy"}, 2, "--y: a quote is not closed, or has text behind it"},
    {"a.h5", {"--out", "a.png", "--from", "2"}, 2, "--from: the recording ends at 0.02 s, found 2"},
    {"a.h5", {"--out", "a.png", "--to", "2"}, 2, "--to: the recording ends at 0.02 s, found 2"},
    {"a.h5",
     {"--out", "a.png", "--from", "0.01", "--to", "0.01"},
     2,
     "--to: expected a number of seconds, more than 0.01 (--from)"},
    {"a.h5", {"--out", "a.png", "--world", "1"}, 2, "--world: a.h5 has 1 world, from 0 on, found 1"},
    {"w.h5", {"--out", "a.png", "--y", "iterations"}, 2, "w.h5: has no 'iterations' over time, as it is of catena rollout"},
    {"w.h5", {"--out", "a.png", "--y", "v"}, 2, "w.h5: has no v, which 'v' needs; make it with --keep v"},
    {"w.h5",
     {"--out", "a.png", "--y", "com"},
     2,
     "w.h5: 'com' follows from q and v, which it does not have; make it with --keep q,v"},
    {"own.h5",
     {"--out", "a.png", "--y", "energy"},
     2,
     "own.h5: 'energy' cannot be computed, as its worlds have parameters of their own"},
    {"a.csv", {"--out", "a.png"}, 2, "a.csv: recordings are drawn from HDF5, not from CSV; record with --out a.h5"},
    {"a.yaml",
     {"--out", "a.png"},
     2,
     "a.yaml: expected a recording, .h5 or .hdf5, as catena run --out and catena rollout make them"},
    {"none.h5", {"--out", "a.png"}, 2, "none.h5: cannot be read: No such file or directory"},
    {"text.h5", {"--out", "a.png"}, 2, "text.h5: cannot be read: "},
    {"other.h5", {"--out", "a.png"}, 2, "other.h5: is no recording of catena run or catena rollout"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

START_TEST(refusals)
{
    make("run", PENDULUM, "a.h5", "--steps", "10", NULL);
    make("rollout", SAMPLED, "w.h5", "--worlds", "3", "--keep=q");
    make("rollout", source("scenes/chain10-randomised.yaml"), "own.h5", "--worlds", "3", NULL);
    spit("text.h5", "no HDF5"), put_numbers("other.h5", "q", 1, (hsize_t[]){1}, (double[]){0});
    for (int k = 0; k < REFUSED; k++) {
        const char *const *w = refused[k].words;
        outcome o = catena_with(NULL, "plot", refused[k].file, w[0], w[1], w[2], w[3], w[4], w[5], NULL);
        ck_assert_msg(o.status == refused[k].status && strstr(o.err, refused[k].says), "%d: %s, expected: %s", o.status, o.err,
                      refused[k].says);
        outcome_free(&o);
    }
}
END_TEST

// ---- over something else than time

/// --x: each record at the number that it names, wherever that goes.
START_TEST(across)
{
    size_t rows;
    make("run", PENDULUM, "a.h5", "--duration", "2", NULL);
    char *const script = script_of("a.h5", NULL, "q.lower,energy", "--x", "q.upper");
    double *const q = numbers("a.h5", "q", &rows), *const energy = numbers("a.h5", "energy/energy", NULL);
    ck_assert_int_eq((int)rows, 2 * 1001);
    for (int panel = 0; panel < 2; panel++) {
        read_block(script, panel ? "$panel1_curve0_0" : "$panel0_curve0_0");
        ck_assert_int_eq(of.rows, 1001);
        for (int k = 0; k < of.rows; k++) {
            ck_assert_double_eq(of.x[k][0], q[2 * k]);
            ck_assert_double_eq(of.x[k][1], panel ? energy[k] : q[2 * k + 1]);
        }
    }
    double low = INFINITY, high = -INFINITY, left, right;
    for (size_t k = 0; k < rows / 2; k++) low = fmin(low, q[2 * k]), high = fmax(high, q[2 * k]);
    ck_assert_int_eq(sscanf(strstr(script, "set xrange [") + 12, "%lf:%lf", &left, &right), 2);
    ck_assert_double_eq_tol(left, low - 0.05 * (high - low), 1e-12);
    ck_assert_double_eq_tol(right, high + 0.05 * (high - low), 1e-12);
    ck_assert_msg(strstr(script, "set xlabel 'q.upper (rad)'") != NULL, "%s", strstr(script, "set xlabel"));
    free(script), free(q), free(energy);
    outcome o = catena("plot", "a.h5", "--x", "q.upper", "--y", "q.lower", "--out", "a.svg");
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    o = catena("plot", "a.h5", "--x", "q", "--out", "a.svg");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--x: q: expected one number, as com.x, found 2"), "%s", o.err);
    outcome_free(&o);
    make("rollout", SAMPLED, "w.h5", "--worlds", "9", "--steps=5");
    o = catena("plot", "w.h5", "--x", "com.x", "--out", "a.svg");
    ck_assert_msg(o.status == 2 && strstr(o.err, "--x: more than 8 worlds are drawn as quantiles"), "%s", o.err);
    outcome_free(&o);
}
END_TEST

#define TABLE "generation,evaluations,best,mean,worst,sigma,lost\n"

/// Tables of searches are drawn as they are.
START_TEST(learning_curves)
{
    spit("a.csv", TABLE "1,10,0.5,0.25,-1,0.9,0\n2,20,0.75,0.5,-2,0.8,1\n3,30,1.5,1,0,0.7,1\n");
    spit("b.csv", TABLE "1,8,0.25,0.125,-1,0.5,0\n");
    char *script = script_of("a.csv", "b.csv", "best,worst,sigma", NULL, NULL);
    read_block(script, "$table0");
    ck_assert_int_eq(of.rows, 3);
    static const double expected[3][5] = {{10, 0.5, 0.25, -1, 0.9}, {20, 0.75, 0.5, -2, 0.8}, {30, 1.5, 1, 0, 0.7}};
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 5; k++) ck_assert_double_eq(of.x[r][k], expected[r][k]);
    read_block(script, "$table1");
    ck_assert_int_eq(of.rows, 1);
    ck_assert_msg(strstr(script, "$table0 using 1:2 with lines lw 2") && strstr(script, "'a.csv: worst'") &&
                      strstr(script, "$table1 using 1:5 with linespoints pt 7") && !strstr(script, "mean'"),
                  "%s", script);
    free(script);
    outcome o = catena("plot", "a.csv", "--out", "a.png");
    ck_assert_msg(o.status == 0 && strstr(o.out, "a.png: 1 table, 1000x520"), "%s%s", o.out, o.err);
    outcome_free(&o);
    spit("short.csv", TABLE), spit("less.csv", "generation,evaluations,best\n1,2,3\n"), spit("other.csv", "time,q\n0,1\n");
    static const struct {
        const char *words[6], *says;
    } bad[] = {
        {{"a.csv", "--y", "energy", "--out", "a.png"}, "--y: a table of catena search has best, mean, worst, sigma, found 'energy'"},
        {{"a.csv", "--from", "2", "--out", "a.png"}, "--from: belongs to recordings; a table of catena search has none"},
        {{"a.csv", "other.csv", "--out", "a.png"}, "other.csv: is no table of catena search, as a.csv is"},
        {{"short.csv", "--out", "a.png"}, "short.csv: has no generation yet"},
        {{"less.csv", "--out", "a.png"}, "less.csv: has no column 'mean'"},
        {{"a.csv", "--out", "a.csv"}, "--out: "},
        {{"a.csv"}, "--out is missing"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const char *const *w = bad[k].words;
        o = catena("plot", w[0], w[1], w[2], w[3], w[4], w[5]);
        ck_assert_msg(o.status == 2 && strstr(o.err, bad[k].says), "%d: %s, expected: %s", o.status, o.err, bad[k].says);
        outcome_free(&o);
    }
}
END_TEST

int main(void)
{
    Suite *const s = suite_create("cli plot");
    TCase *const t = tcase_create("cli plot");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, numbers_of_a_run);
    tcase_add_test(t, closed_forms);
    tcase_add_test(t, arm_in_ten_lines);
    tcase_add_test(t, part_of_the_time);
    tcase_add_test(t, whole_range);
    tcase_add_loop_test(t, constants, 0, 11);
    tcase_add_test(t, small_changes);
    tcase_add_test(t, spikes);
    tcase_add_test(t, bands);
    tcase_add_test(t, bands_of_a_run);
    tcase_add_test(t, computed);
    tcase_add_test(t, two_recordings);
    tcase_add_test(t, unfinished);
    tcase_add_test(t, names_of_links);
    tcase_add_loop_test(t, drawn, 0, 3);
    tcase_add_test(t, across), tcase_add_test(t, learning_curves);
    tcase_add_test(t, refusals);
    suite_add_tcase(s, t);
    return run_suite(s);
}
