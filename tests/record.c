/// Recordings against the batch that they record: CSV read as text, HDF5 through its own library. What goes wrong is in
/// record_failures.c.
#include "tests/command.h"
#include "tests/datasets.h"
#include "tests/recorded.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 40, EVERY = 2 };

static ctn_dynamics *dyn;

/// What was recorded, kept here: [record][world][...].
static double *q, *v, *R, *p, times[RECORDS];
static ctn_totals totals[RECORDS][WORLDS];
static ctn_step_stats stats[RECORDS][WORLDS];

static void setup(void)
{
    open_recorded();
    dyn = ctn_dynamics_create(model, NULL, NULL);
    q = calloc((size_t)RECORDS * WORLDS * (size_t)nq, sizeof *q);
    v = calloc((size_t)RECORDS * WORLDS * (size_t)nv, sizeof *v);
    R = calloc((size_t)RECORDS * WORLDS * (size_t)nlink, 9 * sizeof *R);
    p = calloc((size_t)RECORDS * WORLDS * (size_t)nlink, 3 * sizeof *p);
}

static void teardown(void)
{
    free(q), free(v), free(R), free(p);
    ctn_dynamics_free(dyn);
    close_recorded();
}

/// Records RECORDS states into `path` and keeps them in the arrays above.
static void record(const char *path, double flush_interval)
{
    ctn_error err;
    ctn_record_config cfg = ctn_record_config_default();
    cfg.every = EVERY, cfg.command = "a test, \"quoted\"", cfg.flush_interval = flush_interval;
    ctn_recorder *const r = ctn_recorder_create(path, scene, model, batch, &cfg, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    for (int n = 0; n < RECORDS; n++) {
        double *const qn = q + (size_t)n * WORLDS * (size_t)nq, *const vn = v + (size_t)n * WORLDS * (size_t)nv;
        ctn_batch_step(batch, n ? EVERY : 0, stats[n], NULL);
        ck_assert_int_eq(ctn_recorder_add(r, stats[n], &err), CTN_OK);
        ctn_batch_state(batch, qn, vn);
        ctn_forward_kinematics(dyn, WORLDS, qn, R + (size_t)n * WORLDS * (size_t)nlink * 9,
                               p + (size_t)n * WORLDS * (size_t)nlink * 3);
        ctn_energy_momentum(dyn, WORLDS, qn, vn, totals[n]);
        times[n] = ctn_batch_time(batch, 0);
    }
    ck_assert_int_eq(ctn_recorder_count(r), RECORDS);
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_OK);
    ck_assert_double_eq_tol(times[RECORDS - 1], 0.5 + (RECORDS - 1) * EVERY * 0.02, 1e-12);
}

/// Position and quaternion against R and p of record n, world w, link l.
static void check_pose(const double *pose, int n, int w, int l)
{
    const size_t at = ((size_t)n * WORLDS + (size_t)w) * (size_t)nlink + (size_t)l;
    const double *const Q = R + 9 * at, a = pose[3], b = pose[4], c = pose[5], d = pose[6];
    const double S[9] = {1 - 2 * (c * c + d * d), 2 * (b * c - a * d),     2 * (b * d + a * c),
                         2 * (b * c + a * d),     1 - 2 * (b * b + d * d), 2 * (c * d - a * b),
                         2 * (b * d - a * c),     2 * (c * d + a * b),     1 - 2 * (b * b + c * c)};
    for (int k = 0; k < 3; k++) ck_assert_double_eq(pose[k], p[3 * at + (size_t)k]);
    for (int k = 0; k < 9; k++) ck_assert_double_eq_tol(S[k], Q[k], 2e-15);
    ck_assert_double_ge(a, 0);
}

/// The value of `name`, "stats/iterations" or "energy/kinetic", that was recorded.
static double kept(const char *name, int n, int w)
{
    const ctn_step_stats *const s = &stats[n][w];
    const ctn_totals *const t = &totals[n][w];
    const struct {
        const char *name;
        double value;
    } table[] = {{"energy/kinetic", t->kinetic},
                 {"energy/potential", t->potential},
                 {"energy/spring", t->spring},
                 {"energy/energy", t->kinetic + t->potential + t->spring},
                 {"stats/steps", (double)s->steps},
                 {"stats/iterations", (double)s->iterations},
                 {"stats/iterations_max", s->iterations_max},
                 {"stats/evaluations", (double)s->evaluations},
                 {"stats/line_search", (double)s->line_search},
                 {"stats/curvature", (double)s->curvature},
                 {"stats/fallbacks", (double)s->fallbacks},
                 {"stats/fewer_stages", (double)s->fewer_stages},
                 {"stats/substeps", (double)s->substeps},
                 {"stats/rejected", (double)s->rejected},
                 {"stats/residual", s->residual},
                 {"stats/energy_before", s->energy_before},
                 {"stats/energy_after", s->energy_after},
                 {"stats/energy_min", s->energy_min},
                 {"stats/energy_max", s->energy_max},
                 {"stats/kinetic_before", s->kinetic_before},
                 {"stats/kinetic_after", s->kinetic_after},
                 {"stats/potential_before", s->potential_before},
                 {"stats/potential_after", s->potential_after},
                 {"stats/spring_before", s->spring_before},
                 {"stats/spring_after", s->spring_after},
                 {"stats/work", s->work},
                 {"stats/dissipated", s->dissipated},
                 {"stats/created", s->created},
                 {"stats/frozen", s->frozen},
                 {"stats/frozen_time", s->frozen_time},
                 {"stats/frozen_dof", s->frozen_dof},
                 {"stats/frozen_position", s->frozen_position},
                 {"stats/frozen_velocity", s->frozen_velocity},
                 {"stats/frozen_residual", s->frozen_residual}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].value;
    ck_abort_msg("unknown member %s", name);
    return 0;
}

static const char *unit_of(const char *member)
{
    static const char *const joules[] = {"energy", "kinetic", "potential", "spring", "work", "dissipated", "created", "curved"};
    for (size_t i = 0; i < sizeof joules / sizeof *joules; i++)
        if (strstr(member, joules[i])) return "J";
    if (strstr(member, "_position")) return "rad or m";
    if (strstr(member, "_velocity")) return "rad/s or m/s";
    return strstr(member, "time") ? "s" : "1";
}

/// What models with contact points, and those in which something acts between links, have besides (tests/cli_contacts.c).
static const char *const of_contacts[] = {"stats/corrections", "stats/touching", "stats/sticking", "stats/sliding",
                                          "stats/depth",       "stats/joined",   "stats/near",     "stats/meeting",
                                          "stats/places",      "stats/islands",  "stats/island",   "stats/curved"};
enum { OF_CONTACTS = sizeof of_contacts / sizeof *of_contacts };

/// The lists `members` and `of_contacts`, and so both formats, have every member of ctn_step_stats: they are read from the
/// header.
START_TEST(every_statistic)
{
    char *const text = slurp(source("include/catena/batch.h"), NULL), *const end = strstr(text, "} ctn_step_stats;");
    char *at = strstr(text, "typedef struct ctn_step_stats {");
    int found = 0;
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(end);
    for (at = strchr(at, '\n') + 1; at < end; at = strchr(at, '\n') + 1) {
        char names[200], name[60];
        if (!strncmp(at + strspn(at, " "), "//", 2)) continue;
        ck_assert_int_eq(sscanf(at, " %*s %199[^;]", names), 1);  // "double energy_min, energy_max"
        for (char *word = strtok(names, ", "); word; word = strtok(NULL, ", "), found++) {
            snprintf(name, sizeof name, "stats/%s", word);
            int known = 0;
            for (int i = 0; i < MEMBERS; i++) known += !strcmp(members[i], name);
            for (int i = 0; i < OF_CONTACTS; i++) known += !strcmp(of_contacts[i], name);
            ck_assert_msg(known == 1, "%s is not recorded", name);
        }
    }
    ck_assert_int_eq(found, MEMBERS - 4 + OF_CONTACTS);
    free(text);
}
END_TEST

// ---- CSV

/// Splits a line of CSV in place into fields [most]; returns how many.
static int split(char *line, char **fields, int most)
{
    int n = 0;
    while (n < most) {
        char *to = line;
        fields[n++] = line;
        bool quoted = *line == '"';
        if (quoted) line++;
        for (; *line && (quoted || *line != ','); line++) {
            if (quoted && *line == '"' && line[1] != '"') {
                quoted = false;
                continue;
            }
            line += quoted && *line == '"';
            *to++ = *line;
        }
        const bool last = !*line;
        *to = 0;
        if (last) break;
        line++;
    }
    return n;
}

static int column(char **names, int n, const char *name)
{
    for (int k = 0; k < n; k++)
        if (!strcmp(names[k], name)) return k;
    ck_abort_msg("no column %s", name);
    return -1;
}

START_TEST(csv)
{
    record("r.csv", 0.5);
    char *const text = slurp("r.csv", NULL), *save, *names[200], *fields[200], *units[200], name[100];
    const char *const header[] = {
        "# format: catena recording\n",
        "# catena_version: 0.1.0\n",
        "# command: a test, \"quoted\"\n",
        "# scene: recorded\n",
        "# method: collocation\n",
        "# order: 2\n",
        "# solver: newton\n",
        "# tolerance: 1.0000000000000001e-09\n",
        "# max_iterations: 60\n",
        "# max_halvings: 10\n",
        "# dt: 0.02",
        "# every: 2\n",
        "# worlds: 3\n",
        "# nq: 17\n",
        "# nv: 15\n",
        "# nlink: 6\n",
        "# gravity: 0 0 -9.8100000000000005\n",
        "# engine: ",
        "# started: 2",
        "# link: head, ball on body, q 8 4, v 7 3, 1 kg\n",
        "# file: scene.yaml\n# | catena: 1\n# | name: recorded\n",
        "# | integrator: {method: collocation, dt: 0.02}\n# file: part.yaml\n# | catena: 1\n# | links:\n"};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        ck_assert_msg(strstr(text, header[i]) != NULL, "no %s", header[i]);
    char *line = strtok_r(text, "\n", &save);
    int nunit = 0;
    for (; *line == '#'; line = strtok_r(NULL, "\n", &save))
        if (!strncmp(line, "# units: ", 9)) nunit = split(line + 9, units, 200);
    const int count = split(line, names, 200);
    ck_assert_int_eq(count, 2 + nq + nv + MEMBERS + 7 * nlink);
    ck_assert_int_eq(nunit, count);
    ck_assert_str_eq(names[0], "time");
    ck_assert_str_eq(names[1], "world");
    const char *const expected[] = {"q.part",    "q.body.x",  "q.body.y",     "q.body.z",  "q.body.qw", "q.body.qx", "q.body.qy",
                                    "q.body.qz", "q.head.qw", "q.head.qx",    "q.head.qy", "q.head.qz", "q.arm.1",   "q.arm.2",
                                    "q.slab.x",  "q.slab.y",  "q.slab.angle", "v.part",    "v.body.vx", "v.body.vy", "v.body.vz",
                                    "v.body.wx", "v.body.wy", "v.body.wz",    "v.head.wx", "v.head.wy", "v.head.wz", "v.arm.1",
                                    "v.arm.2",   "v.slab.vx", "v.slab.vy",    "v.slab.wz"};
    for (int k = 0; k < nq + nv; k++) ck_assert_str_eq(names[2 + k], expected[k]);
    ck_assert_str_eq(units[2], "rad");
    ck_assert_str_eq(units[3], "m");
    ck_assert_str_eq(units[6], "1");
    ck_assert_str_eq(units[column(names, count, "v.body.vz")], "m/s");
    ck_assert_str_eq(units[column(names, count, "v.body.wx")], "rad/s");
    ck_assert_str_eq(units[column(names, count, "energy.kinetic")], "J");
    const int pose = column(names, count, "pose.base, \"fixed\".x");
    for (int n = 0; n < RECORDS; n++)
        for (int w = 0; w < WORLDS; w++) {
            line = strtok_r(NULL, "\n", &save);
            ck_assert_ptr_nonnull(line);
            ck_assert_int_eq(split(line, fields, 200), count);
            const size_t row = (size_t)n * WORLDS + (size_t)w;
            ck_assert_double_eq(strtod(fields[0], NULL), times[n]);
            ck_assert_int_eq(atoi(fields[1]), w);
            for (int k = 0; k < nq; k++) ck_assert_double_eq(strtod(fields[2 + k], NULL), q[row * (size_t)nq + (size_t)k]);
            for (int k = 0; k < nv; k++) ck_assert_double_eq(strtod(fields[2 + nq + k], NULL), v[row * (size_t)nv + (size_t)k]);
            for (int i = 0; i < MEMBERS; i++) {
                snprintf(name, sizeof name, "%s", members[i]);
                *strchr(name, '/') = '.';
                ck_assert_double_eq(strtod(fields[column(names, count, name)], NULL), kept(members[i], n, w));
            }
            double x[7];
            for (int l = 0; l < nlink; l++) {
                // links in the order of the model: part, base, ...
                const int from = column(names, count, "pose.part.x") + 7 * l;
                for (int k = 0; k < 7; k++) x[k] = strtod(fields[from + k], NULL);
                check_pose(x, n, w, l);
            }
        }
    ck_assert_int_eq(pose, column(names, count, "pose.part.x") + 7);
    ck_assert_ptr_null(strtok_r(NULL, "\n", &save));
    free(text);
}
END_TEST

// ---- HDF5

/// UTF-8 of variable length, which Python has as str.
static void check_attribute(hid_t at, const char *name, const char *expected)
{
    char *found = NULL;
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no attribute %s", name);
    const hid_t type = H5Aget_type(id);
    ck_assert_msg(H5Tis_variable_str(type) > 0 && H5Tget_cset(type) == H5T_CSET_UTF8, "%s: no text of variable length", name);
    ck_assert(H5Aread(id, type, &found) >= 0);
    ck_assert_str_eq(found, expected);
    H5free_memory(found);
    H5Tclose(type), H5Aclose(id);
}

static void check_text_dataset(hid_t file, const char *name, const char *expected)
{
    char found[3000];
    const hid_t id = H5Dopen2(file, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no dataset %s", name);
    const hid_t type = H5Dget_type(id);
    ck_assert_msg(H5Tis_variable_str(type) == 0 && H5Tget_cset(type) == H5T_CSET_UTF8, "%s: of variable length", name);
    H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found);
    found[H5Tget_size(type)] = 0;
    ck_assert_str_eq(found, expected);
    H5Tclose(type), H5Dclose(id);
}

/// Entry k of a list of texts.
static void check_entry(hid_t file, const char *name, int k, const char *expected)
{
    char *const all = calloc(100, 300);
    const hid_t id = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(id);
    ck_assert_int_lt((int)H5Tget_size(type), 300);
    H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    char found[300] = {0};
    memcpy(found, all + (size_t)k * H5Tget_size(type), H5Tget_size(type));
    ck_assert_str_eq(found, expected);
    H5Tclose(type), H5Dclose(id);
    free(all);
}

static double attribute(hid_t at, const char *name)
{
    double x[3];
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no attribute %s", name);
    H5Aread(id, H5T_NATIVE_DOUBLE, x);
    H5Aclose(id);
    return x[0];
}

START_TEST(hdf5)
{
    static const double intervals[] = {0, 0.5};
    record("r.h5", intervals[_i]);
    const hid_t file = H5Fopen("r.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    check_attribute(file, "format", "catena recording"), check_attribute(file, "catena_version", ctn_version());
    check_attribute(file, "scene", "recorded"), check_attribute(file, "scene_file", "scene.yaml");
    check_attribute(file, "command", "a test, \"quoted\""), check_attribute(file, "method", "collocation");
    check_attribute(file, "solver", "newton");
    ck_assert_double_eq(attribute(file, "dt"), 0.02);
    ck_assert_double_eq(attribute(file, "every"), EVERY);
    ck_assert_double_eq(attribute(file, "tolerance"), 1e-9);
    ck_assert_double_eq(attribute(file, "worlds"), WORLDS);
    ck_assert_double_eq(attribute(file, "format_version"), 1);
    check_text_dataset(file, "scene/0", scene_text), check_text_dataset(file, "scene/1", part_text);
    check_entry(file, "model/link_name", 0, "part"), check_entry(file, "model/link_name", 1, "base, \"fixed\"");
    check_entry(file, "model/link_joint", 4, "universal"), check_entry(file, "model/q_name", 16, "q.slab.angle");
    check_entry(file, "model/q_unit", 16, "rad"), check_entry(file, "model/v_name", 14, "v.slab.wz");
    const hsize_t n = RECORDS, w = WORLDS, shape_q[] = {n, w, (hsize_t)nq}, shape_v[] = {n, w, (hsize_t)nv},
                  shape_pose[] = {n, w, (hsize_t)nlink, 7}, links[] = {(hsize_t)nlink, 2};
    double *const t = numbers_of_shape(file, "time", 1, &n), *const fq = numbers_of_shape(file, "q", 3, shape_q),
                  *const fv = numbers_of_shape(file, "v", 3, shape_v),
                  *const pose = numbers_of_shape(file, "pose", 4, shape_pose),
                  *const slices = numbers_of_shape(file, "model/link_q", 2, links),
                  *const done = numbers_of_shape(file, "finished", 0, NULL);
    for (int i = 0; i < RECORDS; i++) ck_assert_double_eq(t[i], times[i]);
    for (int i = 0; i < RECORDS * WORLDS * nq; i++) ck_assert_double_eq(fq[i], q[i]);
    for (int i = 0; i < RECORDS * WORLDS * nv; i++) ck_assert_double_eq(fv[i], v[i]);
    for (int i = 0; i < RECORDS * WORLDS * nlink; i++)
        check_pose(pose + 7 * i, i / nlink / WORLDS, i / nlink % WORLDS, i % nlink);
    for (int l = 0; l < nlink; l++) {
        ck_assert_double_eq(slices[2 * l], ctn_model_link(model, l)->qadr);
        ck_assert_double_eq(slices[2 * l + 1], ctn_model_link(model, l)->nq);
    }
    for (int i = 0; i < MEMBERS; i++) {
        double *const x = numbers_of_shape(file, members[i], 2, shape_q);
        for (int k = 0; k < RECORDS * WORLDS; k++) ck_assert_double_eq(x[k], kept(members[i], k / WORLDS, k % WORLDS));
        const hid_t id = H5Dopen2(file, members[i], H5P_DEFAULT);
        check_attribute(id, "unit", unit_of(members[i]));
        H5Dclose(id);
        free(x);
    }
    ck_assert_double_eq(*done, 1);
    free(t), free(fq), free(fv), free(pose), free(slices), free(done);
    H5Fclose(file);
}
END_TEST

/// A model without coordinates has datasets without columns.
START_TEST(nothing_moves)
{
    static const char *const files[] = {"fixed.csv", "fixed.h5"};
    static const char text[] =
        "catena: 1\nlinks:\n  - {name: wall, joint: fixed, mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n";
    ctn_error err = {0};
    ctn_scene *const still = ctn_scene_parse(text, strlen(text), "fixed.yaml", &err);
    ctn_model *const m = ctn_model_create(still, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    const ctn_batch_config cfg = ctn_scene_config(still);
    ctn_batch *const b = ctn_batch_create(m, &cfg, &err);
    ctn_recorder *const r = ctn_recorder_create(files[_i], still, m, b, NULL, &err);
    ck_assert_msg(r != NULL, "%s", err.message);
    ctn_step_stats s;
    for (int n = 0; n < 3; n++) {
        ctn_batch_step(b, n > 0, &s, NULL);
        ck_assert_int_eq(ctn_recorder_add(r, &s, &err), CTN_OK);
    }
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_OK);
    if (_i) {
        const hid_t file = H5Fopen(files[_i], H5F_ACC_RDONLY, H5P_DEFAULT);
        const hsize_t shape[] = {3, 1, 0};
        free(numbers_of_shape(file, "q", 3, shape));
        H5Fclose(file);
    }
    ctn_batch_free(b), ctn_model_free(m), ctn_scene_free(still);
}
END_TEST

/// Sums of statistics are those of one long call; the flows of energy up to rounding.
START_TEST(sums)
{
    ctn_step_stats parts[4][WORLDS], whole[WORLDS];
    const size_t size = ctn_batch_saved_size(batch);
    void *const saved = malloc(size);
    ctn_batch_save(batch, saved);
    for (int k = 0; k < 4; k++) ctn_batch_step(batch, k + 3, parts[k], NULL);
    ck_assert_int_eq(ctn_batch_restore(batch, saved, size, NULL), CTN_OK);
    ctn_batch_step(batch, 3 + 4 + 5 + 6, whole, NULL);
    for (int w = 0; w < WORLDS; w++) {
        ctn_step_stats sum = parts[0][w];
        for (int k = 1; k < 4; k++) ctn_step_stats_add(&sum, &parts[k][w]);
        stats[0][w] = whole[w], stats[1][w] = sum;
        for (int i = 4; i < MEMBERS; i++) {
            const bool flow = strstr("stats/work stats/dissipated stats/created", members[i]) != NULL;
            const double a = kept(members[i], 0, w), b = kept(members[i], 1, w), most = flow ? 1e-11 : 0;
            ck_assert_msg(fabs(a - b) <= most, "%s: %.17g, %.17g", members[i], a, b);
        }
    }
    free(saved);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("record");
    TCase *const all = tcase_create("all");
    unsetenv("CTN_ENGINE");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, every_statistic);
    tcase_add_test(all, csv);
    tcase_add_loop_test(all, hdf5, 0, 2);
    tcase_add_loop_test(all, nothing_moves, 0, 2);
    tcase_add_test(all, sums);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
