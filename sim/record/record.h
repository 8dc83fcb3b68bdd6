/// What the two formats of a recording share: one table of what is written about a world, one list of what a file says about
/// itself. A format is a table of four functions.
#ifndef CATENA_SIM_RECORD_H
#define CATENA_SIM_RECORD_H

#include "sim/record/quantities.h"
#include "sim/base/step_stats.h"

#include <catena/record.h>
#include <stdbool.h>
#include <stdint.h>

/// Whether a file is one of HDF5, by the ending of its name.
bool named_hdf5(const char *path);

/// The numbers of one world in one record, besides time, q, v and link poses.
typedef struct record_world {
    double kinetic, potential, spring, energy;  // J, of q and v
    ctn_step_stats stats;                       // since the record before
} record_world;

/// A member of record_world. HDF5 calls it by `name`, "energy/kinetic"; CSV writes a dot for the slash.
typedef struct record_member {
    const char *name, *unit, *about;
    enum { MEMBER_REAL, MEMBER_LONG, MEMBER_INT } type;
    size_t offset;
} record_member;

/// The members; the first ones are in every file, the others came later.
enum { RECORD_MEMBERS = 4 + STEP_STATS_MEMBERS, FIRST_MEMBERS = 30 };
extern const record_member record_members[RECORD_MEMBERS];

/// How many of them a model has: all but those of contact points where it has none.
int record_members_of(const ctn_model *model);

/// By which bytes in a file are known to be whole: "XXH3 0123456789abcdef".
enum { CONTENT_HASH = 24 };
void content_hash(const char *bytes, size_t length, char text[CONTENT_HASH]);

/// Something that a file says about itself: an attribute of HDF5, a header line of CSV.
typedef struct record_note {
    const char *name;
    const char *text;  // NULL: numbers
    double numbers[3];
    int count;   // of numbers
    bool whole;  // the number is an integer
} record_note;

#define RECORDING_FORMAT "catena recording"
#define ROLLOUT_FORMAT "catena rollout"
#define HASH_NAME "XXH3-64"
enum { RECORD_NOTES = 40 };

/// A recording that does not begin with the scene's initial state, but with that of a world of another run: all that its motion
/// depends on besides scene and configuration.
typedef struct record_start {
    int64_t world, step;              // which world of that run, and how many steps it had made
    const void *state;                // a block of ctn_batch_save of that world alone
    size_t size;                      // of it, in bytes
    const ctn_parameter *parameters;  // [parameter_count], that it has of its own; their values are in `state`, too
    const double *values;
    int parameter_count;
    const double *tau;  // [steps][nv]: joint forces of every step from there on; NULL: none
    int steps;
} record_start;

/// All that is known when a file is opened.
typedef struct record_head {
    const ctn_scene *scene;
    const ctn_model *model;
    int worlds, nq, nv, nlink, sensors, contacts;  // sensors: their numbers; contacts: their points
    int members;                                   // of record_members
    bool hashes;
    const record_start *start;  // NULL: the scene's initial state
    char started[32];      // the time of day
    char keep[KEEP_TEXT];  // of a rollout
    record_note notes[RECORD_NOTES];
    int nnote;
} record_head;

/// Fill the heads of the files of `catena rollout` and of recordings. Texts belong to their givers.
struct trajectories_head;
void record_head_rollout(record_head *head, const struct trajectories_head *about);
void record_head_recording(record_head *head, const ctn_scene *scene, ctn_batch *batch, const ctn_record_config *cfg,
                           const record_start *start);

/// ctn_recorder_create for worlds that begin with `start`, NULL: with the scene's initial state. HDF5 alone has room for one.
ctn_recorder *recorder_create(const char *path, const ctn_scene *scene, ctn_batch *batch, const ctn_record_config *cfg,
                              const record_start *start, ctn_error *err);

/// One record of all worlds. The arrays belong to the recorder.
typedef struct record_row {
    double time;                // s, of the worlds that still run
    const double *q, *v;        // [worlds][nq], [worlds][nv]
    const double *pose;         // [worlds][nlink][POSE_NUMBERS]
    const double *sensors;      // [worlds][numbers]; NULL: there are none
    const double *contacts;     // [worlds][ncontact][CTN_CONTACT_NUMBERS], likewise
    const record_world *world;  // [worlds]
} record_row;

/// A format. Errors are CTN_IO with the file's name. `close` frees what `open` made, also when it fails.
typedef struct record_format {
    void *(*open)(const char *path, const record_head *head, ctn_error *err);
    ctn_status (*add)(void *file, const record_row *row, ctn_error *err);
    ctn_status (*hash)(void *file, const uint64_t *hash, ctn_error *err);  // [worlds]; NULL: has no room for them
    ctn_status (*flush)(void *file, ctn_error *err);
    ctn_status (*close)(void *file, bool keep, ctn_error *err);  // keep false: one that has no record yet is removed
} record_format;

extern const record_format record_csv, record_hdf5;

/// The name of coordinate k of a link's joint, "q.arm.x" or "q.arm", and of velocity k, "v.arm.wx"; their units.
void coordinate_name(const ctn_link *link, int k, char *name, size_t size);
void velocity_name(const ctn_link *link, int k, char *name, size_t size);
const char *coordinate_unit(const ctn_link *link, int k);
const char *velocity_unit(const ctn_link *link, int k);

/// The name of number k of a sensor, "sensor.imu.ax" or "sensor.height"; its unit.
void sensor_name(const ctn_model *model, const ctn_sensor *sensor, int k, char *name, size_t size);
const char *sensor_unit(const ctn_model *model, const ctn_sensor *sensor, int k);

/// The name of number `entry` of a world's q, v, pose, sensors or contacts, whichever `what` says: "q.arm.x", "pose.arm.qw", its unit and
/// its link, -1: none. False: it is none.
bool state_number(const ctn_model *model, const char *what, size_t entry, char *name, size_t size, const char **unit, int *link);

#endif
