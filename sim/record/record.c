/// The recorder: gathers what a batch does, and hands it to the format that the file's ending asks for.
#include "sim/record/record.h"

#include "sim/batch/batch.h"
#include "sim/base/clock.h"
#include "sim/base/config.h"
#include "sim/scene/scene.h"
#include "sim/base/status.h"
#include "sim/base/sensor_types.h"
#include "sim/base/step_stats.h"
#include "sim/record/trajectories.h"

#include <catena/hash.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <xxhash.h>

#define COOKIE 0xca7e4a02u

#define ENERGY(member, about)                                                                                                    \
    {                                                                                                                            \
        "energy/" #member, "J", about, MEMBER_REAL, offsetof(record_world, member)                                               \
    }
#define RECORDED_long MEMBER_LONG
#define RECORDED_int MEMBER_INT
#define RECORDED_double MEMBER_REAL
#define RECORDED_ctn_freeze MEMBER_INT
#define STAT(member, type, adds, of, unit, about)                                                                                \
    {"stats/" #member, unit, about, RECORDED_##type, offsetof(record_world, stats.member)},

const record_member record_members[RECORD_MEMBERS] = {
    ENERGY(kinetic, "kinetic energy, rotors included"),
    ENERGY(potential, "potential energy of gravity, zero at the world origin"),
    ENERGY(spring, "potential energy of joint springs and soft limits"),
    ENERGY(energy, "total energy of q and v: kinetic + potential + spring"),
    STEP_STATS(STAT)
};

int record_members_of(const ctn_model *model)
{
    const bool between = model->npair || model->nbond;
    return RECORD_MEMBERS - (between ? 0 : model->ncontact ? BETWEEN_STATS : BETWEEN_STATS + CONTACT_STATS);
}

struct ctn_recorder {
    const record_format *format;
    void *file;
    ctn_batch *batch;
    int worlds;
    quantities now;
    record_world *world;
    uint64_t *hash;                  // [worlds]; NULL: not asked for
    double flush_interval, flushed;  // s; wall time of the last flush, negative: none yet
    long count;
    bool failed;
    ctn_error error;  // of the failed write
};

ctn_record_config ctn_record_config_default(void)
{
    return (ctn_record_config){.cookie = COOKIE, .every = 1, .flush_interval = 0.5};
}

// ---- names

/// `kind`.LINK or sensor.NAME, with the part after it where there are several numbers.
static void part_name(char *name, size_t size, const char *kind, const char *of, const char *part)
{
    snprintf(name, size, "%s.%s%s%s", kind, of, *part ? "." : "", part);
}

/// What coordinate k of a joint is called, and degree of freedom k; "": it is the only one.
static const char *coordinate_part(const ctn_link *link, int k)
{
    static const char *const free_parts[] = {"x", "y", "z", "qw", "qx", "qy", "qz"}, *const angles[] = {"1", "2"},
                             *const planar_parts[] = {"x", "y", "angle"};
    return link->joint == CTN_FREE        ? free_parts[k]
           : link->joint == CTN_BALL      ? free_parts[3 + k]
           : link->joint == CTN_PLANAR    ? planar_parts[k]
           : link->joint == CTN_UNIVERSAL ? angles[k]
                                          : "";
}

static const char *velocity_part(const ctn_link *link, int k)
{
    static const char *const free_parts[] = {"vx", "vy", "vz", "wx", "wy", "wz"}, *const angles[] = {"1", "2"},
                             *const planar_parts[] = {"vx", "vy", "wz"};
    return link->joint == CTN_FREE        ? free_parts[k]
           : link->joint == CTN_BALL      ? free_parts[3 + k]
           : link->joint == CTN_PLANAR    ? planar_parts[k]
           : link->joint == CTN_UNIVERSAL ? angles[k]
                                          : "";
}

void coordinate_name(const ctn_link *link, int k, char *name, size_t size)
{
    part_name(name, size, "q", link->name, coordinate_part(link, k));
}

void velocity_name(const ctn_link *link, int k, char *name, size_t size)
{
    part_name(name, size, "v", link->name, velocity_part(link, k));
}

const char *coordinate_unit(const ctn_link *link, int k)
{
    switch (link->joint) {
    case CTN_PRISMATIC: return "m";
    case CTN_PLANAR: return k < 2 ? "m" : "rad";
    case CTN_BALL: return "1";
    case CTN_FREE: return k < 3 ? "m" : "1";
    default: return "rad";
    }
}

const char *velocity_unit(const ctn_link *link, int k)
{
    const bool slides =
        link->joint == CTN_PRISMATIC || (link->joint == CTN_PLANAR && k < 2) || (link->joint == CTN_FREE && k < 3);
    return slides ? "m/s" : "rad/s";
}

/// The part of a joint that number k of a sensor is of.
static int sensed_dof(const ctn_sensor *s, int k) { return s->dof < 0 ? k : s->dof; }

void sensor_name(const ctn_model *model, const ctn_sensor *s, int k, char *name, size_t size)
{
    const sensor_type *const type = &sensor_types[s->type];
    const ctn_link *const link = ctn_model_link(model, s->link);
    char part[16] = "";
    if (type->of <= SENSOR_OF_MOTOR && s->count > 1)
        snprintf(part, sizeof part, "%s",
                 s->type == CTN_SENSE_JOINT_POSITION ? coordinate_part(link, k) : velocity_part(link, k));
    for (const char *at = type->parts; at && *at && k >= 0; k--) {
        const size_t length = strcspn(at, " ");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        at += length + (at[length] == ' ');
    }
    part_name(name, size, "sensor", s->name, part);
}

const char *sensor_unit(const ctn_model *model, const ctn_sensor *s, int k)
{
    const sensor_type *const type = &sensor_types[s->type];
    const ctn_link *const link = ctn_model_link(model, s->link);
    if (type->unit) return type->second && k >= type->second ? type->second_unit : type->unit;
    if (s->type == CTN_SENSE_JOINT_POSITION) return coordinate_unit(link, sensed_dof(s, k));
    for (int i = 0; i < model->nsensor; i++)
        if (&model->sensors[i].about == s && model->sensors[i].motor >= 0) {
            const motor_type type = model->motors[model->sensors[i].motor].type;
            if (s->bond) return "N";
            if (type >= MOTOR_THRUST) return type == MOTOR_THRUST ? "N" : "N m";
        }
    const char *const rate = velocity_unit(link, sensed_dof(s, k));
    const bool slides = !strcmp(rate, "m/s");
    if (s->type == CTN_SENSE_JOINT_VELOCITY) return rate;
    if (s->type == CTN_SENSE_JOINT_ACCELERATION) return slides ? "m/s^2" : "rad/s^2";
    return slides ? "N" : "N m";
}

/// Number `entry` of all sensors together.
static bool sensors_number(const ctn_model *model, int entry, char *name, size_t size, const char **unit, int *link)
{
    for (int i = 0; i < ctn_model_nsensor(model); i++) {
        const ctn_sensor *const s = ctn_model_sensor(model, i);
        if (entry >= s->first + s->count) continue;
        sensor_name(model, s, entry - s->first, name, size);
        *unit = sensor_unit(model, s, entry - s->first), *link = s->link;
        return true;
    }
    return false;
}

/// Number `entry` of all contact points together: "contact.foot.0.fz" of the first one of the link 'foot', "contact.foot.links.fz" of
/// what other links do to it.
static bool contacts_number(const ctn_model *model, int entry, char *name, size_t size, const char **unit, int *link)
{
    static const char *const parts[CTN_CONTACT_NUMBERS] = {"x", "y", "z", "fx", "fy", "fz", "depth", "touch", "tx", "ty", "tz"};
    const int point = entry / CTN_CONTACT_NUMBERS, part = entry % CTN_CONTACT_NUMBERS;
    ctn_contact_point at, before;
    int number = 0;
    char which[16] = "links";
    if (!ctn_model_contact(model, point, &at)) return false;
    while (ctn_model_contact(model, point - number - 1, &before) && before.link == at.link) number++;
    if (at.surface != CTN_SURFACE_LINKS) snprintf(which, sizeof which, "%d", number);
    snprintf(name, size, "contact.%s.%s.%s", ctn_model_link(model, at.link)->name, which, parts[part]);
    *unit = part < 3 || part == 6 ? "m" : part < 6 ? "N" : part == 7 ? "1" : "N m", *link = at.link;
    return true;
}

const char *ctn_sensor_number(const ctn_model *model, int number, char *name, size_t size)
{
    const char *unit;
    int link;
    if (!model || !name || number < 0 || !sensors_number(model, number, name, size, &unit, &link)) return NULL;
    return unit;
}

bool state_number(const ctn_model *model, const char *what, size_t entry, char *name, size_t size, const char **unit, int *link)
{
    static const char *const of_pose[POSE_NUMBERS] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
    const int at = (int)entry;
    if (!strcmp(what, "sensors")) return sensors_number(model, at, name, size, unit, link);
    if (!strcmp(what, "contacts")) return contacts_number(model, at, name, size, unit, link);
    for (int l = 0; l < ctn_model_nlink(model); l++) {
        const ctn_link *const k = ctn_model_link(model, l);
        const int q = at - k->qadr, v = at - k->vadr, pose = at - l * POSE_NUMBERS;
        *link = l;
        if (!strcmp(what, "q") && q >= 0 && q < k->nq) {
            coordinate_name(k, q, name, size), *unit = coordinate_unit(k, q);
            return true;
        }
        if (!strcmp(what, "v") && v >= 0 && v < k->nv) {
            velocity_name(k, v, name, size), *unit = velocity_unit(k, v);
            return true;
        }
        if (!strcmp(what, "pose") && pose >= 0 && pose < POSE_NUMBERS) {
            part_name(name, size, "pose", k->name, of_pose[pose]), *unit = pose < 3 ? "m" : "1";
            return true;
        }
    }
    return false;
}

// ---- what a file says about itself

void content_hash(const char *bytes, size_t length, char text[CONTENT_HASH])
{
    snprintf(text, CONTENT_HASH, "XXH3 %016" PRIx64, (uint64_t)XXH3_64bits(bytes, length));
}

static void note_text(record_head *head, const char *name, const char *text)
{
    head->notes[head->nnote++] = (record_note){.name = name, .text = text};
}

static void note_number(record_head *head, const char *name, double number, bool whole)
{
    head->notes[head->nnote++] = (record_note){.name = name, .numbers = {number}, .count = 1, .whole = whole};
}

/// What the files of recordings and of rollouts have in common.
static void fill_head(record_head *head, const char *format, const ctn_scene *scene, ctn_batch *batch, const char *command,
                      int64_t worlds)
{
    const ctn_batch_config *const b = ctn_batch_configuration(batch);
    const ctn_model *const model = ctn_batch_model(batch);
    const time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    *head = (record_head){.scene = scene, .model = model, .worlds = b->worlds};
    strftime(head->started, sizeof head->started, "%Y-%m-%dT%H:%M:%S%z", &local);
    head->sensors = ctn_model_sensor_numbers(model), head->contacts = ctn_model_ncontact(model);
    head->members = record_members_of(model);
    head->nq = ctn_model_nq(model), head->nv = ctn_model_nv(model), head->nlink = ctn_model_nlink(model);
    note_text(head, "format", format);
    note_number(head, "format_version", 1, true);
    note_text(head, "catena_version", ctn_version());
    note_text(head, "started", head->started);
    if (command) note_text(head, "command", command);
    note_text(head, "scene", ctn_scene_name(scene));
    note_text(head, "scene_file", scene->path);
    if (scene->defaults > 1) note_number(head, "scene_defaults", scene->defaults, true);  // as files of older programs are
    note_number(head, "nlink", head->nlink, true);
    note_number(head, "nq", head->nq, true);
    note_number(head, "nv", head->nv, true);
    record_note gravity = {.name = "gravity", .count = 3};
    ctn_model_gravity(model, gravity.numbers);
    head->notes[head->nnote++] = gravity;
    note_number(head, "worlds", (double)worlds, true);
    note_text(head, "engine", b->engine);
    note_text(head, "method", ctn_method_name(b->method));
    note_number(head, "dt", b->dt, false);
    if (b->adaptive) note_number(head, "error_tolerance", b->error_tolerance, false);
    double value;
    const char *const number = method_number(b, &value);
    if (number) note_number(head, number, value, b->method != CTN_ALPHA);
    if (ctn_method_is_implicit(b->method)) {
        note_text(head, "solver", ctn_solver_name(b->solver));
        note_number(head, "tolerance", b->tolerance, false);
        note_number(head, "max_iterations", b->max_iterations, true);
        note_number(head, "max_halvings", b->max_halvings, true);
    }
    if (ctn_batch_lanes(batch)) {  // else as files of older programs are
        note_text(head, "parallel", ctn_parallel_name(b->parallel));
        note_number(head, "lanes", b->lanes, true);
    }
}

void record_head_rollout(record_head *head, const trajectories_head *about)
{
    fill_head(head, ROLLOUT_FORMAT, about->scene, about->batch, about->command, about->worlds);
    note_number(head, "seed", (double)about->seed, true);
    note_number(head, "steps", (double)about->steps, true);
    note_number(head, "stride", (double)about->stride, true);
    keep_to_text(about->keep, head->keep);
    note_text(head, "keep", head->keep);
    if (about->hashes) note_text(head, "hash", HASH_NAME);
    if (about->starts) note_text(head, "starts", about->starts);
    if (about->controls) note_text(head, "controls", about->controls);
    if (about->ranks > 1) note_number(head, "rank", about->rank, true), note_number(head, "ranks", about->ranks, true);
}

void record_head_recording(record_head *head, const ctn_scene *scene, ctn_batch *batch, const ctn_record_config *cfg,
                           const record_start *start)
{
    fill_head(head, RECORDING_FORMAT, scene, batch, cfg->command, ctn_batch_configuration(batch)->worlds);
    note_number(head, "every", cfg->every, true);
    head->hashes = cfg->hashes, head->start = start;
    if (cfg->hashes) note_text(head, "hash", HASH_NAME);
    if (start)
        note_number(head, "start_world", (double)start->world, true), note_number(head, "start_step", (double)start->step, true);
}

// ---- the recorder

bool named_hdf5(const char *path)
{
    const char *const dot = strrchr(path, '.');
    return dot && (!strcasecmp(dot, ".h5") || !strcasecmp(dot, ".hdf5"));
}

static const record_format *format_of(const char *path, ctn_error *err)
{
    const char *const dot = strrchr(path, '.');
    if (dot && !strcasecmp(dot, ".csv")) return &record_csv;
    if (named_hdf5(path)) return &record_hdf5;
    fail(err, CTN_BAD_ARGUMENT, "%s: a recording ends in .csv, .h5 or .hdf5", path);
    return NULL;
}

static void free_recorder(ctn_recorder *r)
{
    quantities_close(&r->now);
    free(r->world), free(r->hash);
    free(r);
}

ctn_recorder *ctn_recorder_create(const char *path, const ctn_scene *scene, const ctn_model *model, ctn_batch *batch,
                                  const ctn_record_config *cfg, ctn_error *err)
{
    if (missing(__func__, "path", path, err) || missing(__func__, "scene", scene, err) ||
        missing(__func__, "model", model, err) || missing(__func__, "batch", batch, err))
        return NULL;
    const ctn_record_config defaults = ctn_record_config_default();
    if (!cfg) cfg = &defaults;
    if (cfg->cookie != COOKIE || cfg->every < 1 || !(cfg->flush_interval >= 0)) {
        fail(err, CTN_BAD_CONFIG,
             cfg->cookie != COOKIE ? "the configuration was not initialised; start from ctn_record_config_default()"
             : cfg->every < 1      ? "every: expected a whole number, 1 or more"
                                   : "flush_interval: expected a time (s), 0 or more");
        return NULL;
    }
    if (model != ctn_batch_model(batch)) {
        fail(err, CTN_BAD_ARGUMENT, "%s: the batch is of another model", path);
        return NULL;
    }
    return recorder_create(path, scene, batch, cfg, NULL, err);
}

ctn_recorder *recorder_create(const char *path, const ctn_scene *scene, ctn_batch *batch, const ctn_record_config *cfg,
                              const record_start *start, ctn_error *err)
{
    const record_format *const format = format_of(path, err);
    if (format && cfg->hashes && !format->hash) {
        fail(err, CTN_BAD_CONFIG, "%s: hashes go into recordings that end in .h5 or .hdf5", path);
        return NULL;
    }
    ctn_recorder *const r = format ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        if (format) fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
        return NULL;
    }
    const ctn_batch_config *const b = ctn_batch_configuration(batch);
    r->format = format, r->batch = batch, r->worlds = b->worlds;
    r->flush_interval = cfg->flush_interval, r->flushed = -1;
    r->world = calloc((size_t)b->worlds, sizeof *r->world);
    if (cfg->hashes) r->hash = calloc((size_t)b->worlds, sizeof *r->hash);
    if (!r->world || (cfg->hashes && !r->hash)) fail(err, CTN_NO_MEMORY, "%s: not enough memory to record", path);
    else if (quantities_open(&r->now, batch, KEEP_ALL, err) == CTN_OK) {
        record_head head;
        record_head_recording(&head, scene, batch, cfg, start);
        r->file = format->open(path, &head, err);
    }
    if (r->file) return r;
    free_recorder(r);
    return NULL;
}

/// Passes a failure on and remembers it: a file with a hole must not grow on.
static ctn_status broken(ctn_recorder *r, ctn_status status, ctn_error *err)
{
    if (status != CTN_OK) r->failed = true;
    if (status != CTN_OK && err) *err = r->error;
    return status;
}

/// Why what has just been read from the batch is not there, if it is not: its device failed.
static ctn_status check_device(const ctn_recorder *r, ctn_error *err)
{
    return r->batch->device ? batch_device_failed(r->batch, err) : CTN_OK;
}

ctn_status ctn_recorder_add(ctn_recorder *r, const ctn_step_stats *stats, ctn_error *err)
{
    if (missing(__func__, "recorder", r, err) || missing(__func__, "stats", stats, err)) return CTN_BAD_ARGUMENT;
    if (r->failed) return broken(r, r->error.status, err);
    quantities_update(&r->now);
    ctn_status status = check_device(r, err);
    if (status != CTN_OK) return status;
    double now = ctn_batch_time(r->batch, 0);
    for (int w = 0; w < r->worlds; w++) {
        const double *const energy = r->now.energy + w;
        const size_t next = (size_t)r->worlds;
        r->world[w] = (record_world){energy[0], energy[next], energy[2 * next], energy[3 * next], stats[w]};
        now = fmax(now, ctn_batch_time(r->batch, w));
    }
    const record_row row = {now, r->now.q, r->now.v, r->now.pose, r->now.sensors, r->now.contacts, r->world};
    status = r->format->add(r->file, &row, &r->error);
    if (status != CTN_OK) return broken(r, status, err);
    r->count++;
    return r->flushed < 0 || clock_now() - r->flushed >= r->flush_interval ? ctn_recorder_flush(r, err) : CTN_OK;
}

ctn_status ctn_recorder_hash(ctn_recorder *r, ctn_error *err)
{
    if (missing(__func__, "recorder", r, err)) return CTN_BAD_ARGUMENT;
    if (!r->hash) return fail(err, CTN_BAD_ARGUMENT, "the recording was opened without `hashes`");
    if (r->failed) return broken(r, r->error.status, err);
    ctn_batch_hashes(r->batch, r->hash);
    const ctn_status status = check_device(r, err);
    if (status != CTN_OK) return status;
    return broken(r, r->format->hash(r->file, r->hash, &r->error), err);
}

ctn_status ctn_recorder_flush(ctn_recorder *r, ctn_error *err)
{
    if (missing(__func__, "recorder", r, err)) return CTN_BAD_ARGUMENT;
    if (r->failed) return broken(r, r->error.status, err);
    const ctn_status status = r->format->flush(r->file, &r->error);
    r->flushed = clock_now();
    return broken(r, status, err);
}

long ctn_recorder_count(const ctn_recorder *r) { return r ? r->count : 0; }

ctn_status ctn_recorder_close(ctn_recorder *r, ctn_error *err)
{
    if (!r) return CTN_OK;
    ctn_error closing;
    const bool keep = r->count || check_device(r, NULL) == CTN_OK;
    ctn_status status = r->format->close(r->file, keep, &closing);
    if (r->failed) status = r->error.status, closing = r->error;  // the first failure says more
    if (status != CTN_OK && err) *err = closing;
    free_recorder(r);
    return status;
}
