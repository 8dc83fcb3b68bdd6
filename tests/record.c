/// Recordings against the batch that they record: CSV read as text, HDF5 through its own library; killed writers, full disks.
#define _GNU_SOURCE
#include "tests/command.h"
#include "tests/suite.h"

#include <catena/catena.h>
#include <check.h>
#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORLDS = 3, RECORDS = 40, EVERY = 2 };

/// A fixed link, a free one, a ball, a universal, a planar joint: names with a comma and a quotation mark.
static const char scene_text[] =
    "catena: 1\n"
    "name: recorded\n"
    "include: [part.yaml]\n"
    "links:\n"
    "  - {name: 'base, \"fixed\"', joint: fixed, mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n"
    "  - {name: body, joint: {type: free, v0: [1, 2, 3, 3, -2, 1]}, mass: 2, com: [0.1, 0.2, 0], inertia: [1, 1.5, 1.2, 0.1, 0, "
    "0]}\n"
    "  - {name: head, parent: body, position: [0, 0, 1], joint: {type: ball, stiffness: 3}, mass: 1, com: [0, 0.1, 0.2],"
    " inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "  - {name: arm, parent: body, position: [1, 0, 0], joint: universal, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, "
    "0, 0, 0]}\n"
    "  - {name: slab, joint: planar, mass: 1, com: [0.2, 0, 0], inertia: [0.1, 0.12, 0.13, 0, 0, 0]}\n"
    "integrator: {method: collocation, dt: 0.02}";  // no line end
static const char part_text[] =
    "catena: 1\nlinks:\n  - {name: part, joint: revolute, mass: 1, com: [1, 0, 0], inertia: [1, 1, 1, 0, 0, 0]}\n";

static ctn_scene *scene;
static ctn_model *model;
static ctn_batch *batch;
static ctn_dynamics *dyn;
static int nq, nv, nlink;

/// What was recorded, kept here: [record][world][...].
static double *q, *v, *R, *p, times[RECORDS];
static ctn_totals totals[RECORDS][WORLDS];
static ctn_step_stats stats[RECORDS][WORLDS];

static void setup(void)
{
    ctn_error err;
    enter_scratch();
    spit("scene.yaml", scene_text), spit("part.yaml", part_text);
    scene = ctn_scene_load("scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    model = ctn_model_create(scene, &err);
    ck_assert_msg(model != NULL, "%s", err.message);
    ctn_batch_config cfg = ctn_scene_config(scene);
    cfg.worlds = WORLDS;
    batch = ctn_batch_create(model, &cfg, &err);
    dyn = ctn_dynamics_create(model, NULL, &err);
    nq = ctn_model_nq(model), nv = ctn_model_nv(model), nlink = ctn_model_nlink(model);
    ck_assert_int_eq(nq, 1 + 7 + 4 + 2 + 3);
    ck_assert_int_eq(nv, 1 + 6 + 3 + 2 + 3);
    q = calloc((size_t)RECORDS * WORLDS * (size_t)nq, sizeof *q);
    v = calloc((size_t)RECORDS * WORLDS * (size_t)nv, sizeof *v);
    R = calloc((size_t)RECORDS * WORLDS * (size_t)nlink, 9 * sizeof *R);
    p = calloc((size_t)RECORDS * WORLDS * (size_t)nlink, 3 * sizeof *p);
    // the worlds differ
    double *const v0 = calloc(WORLDS * (size_t)nv, sizeof *v0), *const q0 = calloc(WORLDS * (size_t)nq, sizeof *q0);
    ctn_batch_state(batch, q0, v0);
    for (int k = 0; k < WORLDS * nv; k++) v0[k] += 0.1 * k;
    ck_assert_int_eq(ctn_batch_set_state(batch, q0, v0, 0.5, &err), CTN_OK);
    free(v0), free(q0);
}

static void teardown(void)
{
    free(q), free(v), free(R), free(p);
    ctn_dynamics_free(dyn), ctn_batch_free(batch), ctn_model_free(model), ctn_scene_free(scene);
    leave_scratch();
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
                 {"stats/frozen_time", s->frozen_time}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].value;
    ck_abort_msg("unknown member %s", name);
    return 0;
}

static const char *const members[] = {
    "energy/kinetic",      "energy/potential",       "energy/spring",         "energy/energy",       "stats/steps",
    "stats/iterations",    "stats/iterations_max",   "stats/evaluations",     "stats/line_search",   "stats/curvature",
    "stats/fallbacks",     "stats/fewer_stages",     "stats/substeps",        "stats/rejected",      "stats/residual",
    "stats/energy_before", "stats/energy_after",     "stats/energy_min",      "stats/energy_max",    "stats/kinetic_before",
    "stats/kinetic_after", "stats/potential_before", "stats/potential_after", "stats/spring_before", "stats/spring_after",
    "stats/work",          "stats/dissipated",       "stats/created",         "stats/frozen",        "stats/frozen_time"};
enum { MEMBERS = sizeof members / sizeof *members };

static const char *unit_of(const char *member)
{
    static const char *const joules[] = {"energy", "kinetic", "potential", "spring", "work", "dissipated", "created"};
    for (size_t i = 0; i < sizeof joules / sizeof *joules; i++)
        if (strstr(member, joules[i])) return "J";
    return strstr(member, "time") ? "s" : "1";
}

/// The list above, and so both formats, has every member of ctn_step_stats: they are read from the header.
START_TEST(every_statistic)
{
    char *const text = slurp(source("include/catena/batch.h"), NULL), *const end = strstr(text, "} ctn_step_stats;");
    char *at = strstr(text, "typedef struct ctn_step_stats {");
    int found = 0;
    ck_assert_ptr_nonnull(at);
    ck_assert_ptr_nonnull(end);
    for (at = strchr(at, '\n') + 1; at < end; at = strchr(at, '\n') + 1) {
        char names[200], name[60];
        ck_assert_int_eq(sscanf(at, " %*s %199[^;]", names), 1);  // "double energy_min, energy_max"
        for (char *word = strtok(names, ", "); word; word = strtok(NULL, ", "), found++) {
            snprintf(name, sizeof name, "stats/%s", word);
            int known = 0;
            for (int i = 0; i < MEMBERS; i++) known += !strcmp(members[i], name);
            ck_assert_msg(known == 1, "%s is not recorded", name);
        }
    }
    ck_assert_int_eq(found, MEMBERS - 4);
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
            double numbers[7];
            for (int l = 0; l < nlink; l++) {
                // links in the order of the model: part, base, ...
                const int from = column(names, count, "pose.part.x") + 7 * l;
                for (int k = 0; k < 7; k++) numbers[k] = strtod(fields[from + k], NULL);
                check_pose(numbers, n, w, l);
            }
        }
    ck_assert_int_eq(pose, column(names, count, "pose.part.x") + 7);
    ck_assert_ptr_null(strtok_r(NULL, "\n", &save));
    free(text);
}
END_TEST

// ---- HDF5

/// A whole dataset as doubles, and its shape; to be freed.
static double *dataset(hid_t file, const char *name, int rank, hsize_t *dims)
{
    const hid_t id = H5Dopen2(file, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no dataset %s", name);
    const hid_t space = H5Dget_space(id);
    ck_assert_int_eq(H5Sget_simple_extent_ndims(space), rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    size_t size = 1;
    for (int d = 0; d < rank; d++) size *= dims[d];
    double *const x = malloc((size + 1) * sizeof *x);
    ck_assert_int_ge(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x), 0);
    H5Sclose(space), H5Dclose(id);
    return x;
}

static double *with_shape(hid_t file, const char *name, int rank, const hsize_t *shape)
{
    hsize_t dims[4];
    double *const x = dataset(file, name, rank, dims);
    for (int d = 0; d < rank; d++) ck_assert_msg(dims[d] == shape[d], "%s: dimension %d is %d", name, d, (int)dims[d]);
    return x;
}

static void check_text(hid_t id, hid_t type, char *found, const char *expected)
{
    ck_assert_msg(H5Tis_variable_str(type) == 0, "%s: of variable length", expected);
    found[H5Tget_size(type)] = 0;
    ck_assert_str_eq(found, expected);
    H5Tclose(type);
    (void)id;
}

static void check_attribute(hid_t at, const char *name, const char *expected)
{
    char found[300];
    const hid_t id = H5Aopen(at, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no attribute %s", name);
    const hid_t type = H5Aget_type(id);
    ck_assert_int_lt((int)H5Tget_size(type), 300);
    H5Aread(id, type, found);
    check_text(id, type, found, expected);
    H5Aclose(id);
}

static void check_text_dataset(hid_t file, const char *name, const char *expected)
{
    char found[3000];
    const hid_t id = H5Dopen2(file, name, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "no dataset %s", name);
    const hid_t type = H5Dget_type(id);
    H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found);
    check_text(id, type, found, expected);
    H5Dclose(id);
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
    check_text(id, type, found, expected);
    H5Dclose(id);
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
    double *const t = with_shape(file, "time", 1, &n), *const fq = with_shape(file, "q", 3, shape_q),
                  *const fv = with_shape(file, "v", 3, shape_v), *const pose = with_shape(file, "pose", 4, shape_pose),
                  *const slices = with_shape(file, "model/link_q", 2, links), *const done = with_shape(file, "finished", 0, NULL);
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
        double *const x = with_shape(file, members[i], 2, shape_q);
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

/// The length of `time` and that of the shortest other dataset, or -1 if the file does not open.
static long records_in(const char *path, unsigned flags, long *shortest)
{
    long count = -1;
    H5E_BEGIN_TRY
    {
        const hid_t file = H5Fopen(path, H5F_ACC_RDONLY | flags, H5P_DEFAULT);
        if (file >= 0) {
            hsize_t n[4], m[4];
            double *const t = dataset(file, "time", 1, n);
            count = (long)n[0];
            *shortest = 1L << 60;
            for (int i = 0; i < MEMBERS; i++) {
                free(dataset(file, members[i], 2, m));
                *shortest = (long)m[0] < *shortest ? (long)m[0] : *shortest;
            }
            double *const poses = dataset(file, "pose", 4, m);
            *shortest = (long)m[0] < *shortest ? (long)m[0] : *shortest;
            // whole records: times in order, quaternions of unit length
            for (long i = 1; i < count; i++) ck_assert_double_gt(t[i], t[i - 1]);
            for (long i = 0; i < count * WORLDS * nlink; i++) {
                const double *const x = poses + 7 * i + 3;
                ck_assert_double_eq_tol(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3], 1, 1e-14);
            }
            free(t), free(poses);
            H5Fclose(file);
        }
    }
    H5E_END_TRY
    return count;
}

/// Writers killed at some moment leave files that open for readers of both kinds, with whole records. They flush without pause,
/// so that some die in the middle of it. A plain reader may then, rarely, find the mark of a writer (docs/recording.md).
START_TEST(killed)
{
    enum { KILLS = 8 };
    int plain = 0;
    for (int i = 0; i < KILLS; i++) {
        remove("k.h5");
        const pid_t pid = fork();
        if (!pid) {
            ctn_record_config cfg = ctn_record_config_default();
            cfg.flush_interval = i % 2 ? 0.005 : 0.1;
            ctn_recorder *const r = ctn_recorder_create("k.h5", scene, model, batch, &cfg, NULL);
            for (ctn_step_stats s[WORLDS];;) {
                ctn_batch_step(batch, 1, s, NULL);
                usleep(100);  // some MB a second
                if (!r || ctn_recorder_add(r, s, NULL) != CTN_OK) _exit(1);
            }
        }
        long shortest, found = 0;
        while (found < 20) {  // live
            ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
            if (!access("k.h5", R_OK)) found = records_in("k.h5", H5F_ACC_SWMR_READ, &shortest);
        }
        usleep((useconds_t)(3000 * i + 137));
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        waitpid(pid, NULL, 0);
        const long swmr = records_in("k.h5", H5F_ACC_SWMR_READ, &shortest);
        ck_assert_int_ge(swmr, found);
        ck_assert_int_ge(shortest, swmr);
        const long ordinary = records_in("k.h5", 0, &shortest);
        plain += ordinary == swmr;
    }
    ck_assert_int_ge(plain, KILLS - 1);
}
END_TEST

/// A line is with the operating system as soon as its record was added.
START_TEST(killed_csv)
{
    const pid_t pid = fork();
    if (!pid) {
        ctn_step_stats s[WORLDS];
        ctn_recorder *const r = ctn_recorder_create("k.csv", scene, model, batch, NULL, NULL);
        for (int n = 0; n < 25; n++) ctn_batch_step(batch, 1, s, NULL), ctn_recorder_add(r, s, NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    char *const text = slurp("k.csv", NULL);
    int lines = 0;
    for (char *c = text; *c; c++) lines += *c == '\n' && c[1] != '#';
    ck_assert_int_eq(lines, 2 + 25 * WORLDS);  // ends of: the header, the names, the records
    ck_assert_int_eq(text[strlen(text) - 1], '\n');
    free(text);
}
END_TEST

/// While one program writes, a second one neither gets the file nor harms it; readers of both kinds do.
START_TEST(two_writers)
{
    ctn_error err;
    long shortest;
    ctn_step_stats s[WORLDS];
    ctn_record_config cfg = ctn_record_config_default();
    cfg.flush_interval = 0;
    ctn_recorder *const r = ctn_recorder_create("two.h5", scene, model, batch, &cfg, &err);
    ck_assert_ptr_nonnull(r);
    ctn_batch_step(batch, 0, s, NULL);
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_OK);
    const pid_t pid = fork();
    if (!pid) {  // the state of HDF5 is the parent's: only the lock matters here
        ctn_recorder *const second = ctn_recorder_create("two.h5", scene, model, batch, &cfg, &err);
        _exit(!second && err.status == CTN_IO && strstr(err.message, "two.h5: cannot be written: another program has it open")
                  ? 7
                  : 8);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    const char *const args[] = {"run", source("scenes/double-pendulum.yaml"), "--steps", "1", "--out", "two.h5", NULL};
    outcome o = catena_wait(catena_start(args));
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    ctn_batch_step(batch, 1, s, NULL);
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_OK);
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_OK);
    ck_assert_int_eq(records_in("two.h5", 0, &shortest), 2);
}
END_TEST

/// A file at the size limit: an error with the file's name, on that call and all later ones, and whole records before it.
START_TEST(full)
{
    static const char *const files[] = {"full.csv", "full.h5"};
    ctn_error err;
    ctn_step_stats s[WORLDS];
    signal(SIGXFSZ, SIG_IGN);
    ctn_recorder *const r = ctn_recorder_create(files[_i], scene, model, batch, NULL, &err);
    ck_assert_ptr_nonnull(r);
    const struct rlimit limit = {4 << 20, 4 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    ctn_status status = CTN_OK;
    int added = 0;
    for (; status == CTN_OK && added < 20000; added++) {
        ctn_batch_step(batch, 1, s, NULL);
        status = ctn_recorder_add(r, s, &err);
    }
    ck_assert_int_eq(status, CTN_IO);
    char expected[100];
    snprintf(expected, sizeof expected, "%s: cannot be written: File too large", files[_i]);
    ck_assert_str_eq(err.message, expected);
    err = (ctn_error){0};
    ck_assert_int_eq(ctn_recorder_add(r, s, &err), CTN_IO);
    ck_assert_str_eq(err.message, expected);
    ck_assert_int_eq(ctn_recorder_flush(r, &err), CTN_IO);
    ck_assert_int_eq(ctn_recorder_count(r), added - 1);
    ck_assert_int_eq(ctn_recorder_close(r, &err), CTN_IO);
    ck_assert_str_eq(err.message, expected);
    if (_i) {
        long shortest;
        const long count = records_in(files[_i], 0, &shortest);
        ck_assert_int_gt(count, 100);
        ck_assert_int_ge(shortest, count);
        const hid_t file = H5Fopen(files[_i], H5F_ACC_RDONLY, H5P_DEFAULT);
        double *const done = with_shape(file, "finished", 0, NULL);
        ck_assert_double_eq(*done, 0);
        free(done);
        H5Fclose(file);
    } else {
        char *const text = slurp(files[_i], NULL);
        ck_assert_int_gt((int)strlen(text), 1 << 20);
        ck_assert_int_eq(text[strlen(text) - 1], '\n');
        free(text);
    }
}
END_TEST

/// No room for the beginning of a file.
START_TEST(full_at_once)
{
    static const char *const files[] = {"full.csv", "full.h5"};
    const struct rlimit limit = {100, 100};
    ctn_error err;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_ptr_null(ctn_recorder_create(files[_i], scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, files[_i]));
    ck_assert_ptr_nonnull(strstr(err.message, "File too large"));
}
END_TEST

START_TEST(refused)
{
    ctn_error err;
    ctn_record_config cfg = {0};
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_int_eq(err.status, CTN_BAD_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "ctn_record_config_default()"));
    cfg = ctn_record_config_default(), cfg.every = 0;
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "every: "));
    cfg = ctn_record_config_default(), cfg.flush_interval = NAN;
    ck_assert_ptr_null(ctn_recorder_create("x.h5", scene, model, batch, &cfg, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "flush_interval: "));
    cfg = ctn_record_config_default(), cfg.hashes = true;
    ck_assert_ptr_null(ctn_recorder_create("x.csv", scene, model, batch, &cfg, &err));
    ck_assert_str_eq(err.message, "x.csv: hashes go into recordings that end in .h5 or .hdf5");
    ctn_recorder *const without = ctn_recorder_create("without.h5", scene, model, batch, NULL, &err);
    ck_assert_int_eq(ctn_recorder_hash(without, &err), CTN_BAD_ARGUMENT);
    ck_assert_int_eq(ctn_recorder_close(without, &err), CTN_OK);
    ck_assert_int_ne(access("x.h5", F_OK), 0);
    ck_assert_ptr_null(ctn_recorder_create("x.dat", scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ctn_scene *const other_scene = ctn_scene_load("part.yaml", &err);
    ctn_model *const smaller = ctn_model_create(other_scene, &err);
    ck_assert_ptr_null(ctn_recorder_create("x.h5", other_scene, smaller, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_BAD_ARGUMENT);
    ck_assert_str_eq(err.message, "x.h5: the batch is of another model");
    ck_assert_int_ne(access("x.h5", F_OK), 0);
    ctn_model_free(smaller), ctn_scene_free(other_scene);
    ck_assert_ptr_null(ctn_recorder_create("no/x.h5", scene, model, batch, NULL, &err));
    ck_assert_int_eq(err.status, CTN_IO);
    ck_assert_str_eq(err.message, "no/x.h5: cannot be written: No such file or directory");
    ck_assert_int_eq(ctn_recorder_close(NULL, &err), CTN_OK);
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
        free(with_shape(file, "q", 3, shape));
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
    tcase_add_test(all, killed);
    tcase_add_test(all, killed_csv);
    tcase_add_test(all, two_writers);
    tcase_add_loop_test(all, full, 0, 2);
    tcase_add_loop_test(all, full_at_once, 0, 2);
    tcase_add_test(all, refused);
    tcase_add_loop_test(all, nothing_moves, 0, 2);
    tcase_add_test(all, sums);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
