/// What the files of the scene reader (sim/scene_*.c) share: the state of one reading, errors with their places, typed values.
///
/// A reading goes on after an error, so that the user sees all of them at once. Functions that read something return false when
/// they reported an error, or when memory ran out (reader.no_memory); what they should have filled is then unchanged.
#ifndef CATENA_SIM_SCENE_READER_H
#define CATENA_SIM_SCENE_READER_H

#include "sim/base/name_table.h"
#include "sim/base/quaternion.h"
#include "sim/scene/scene.h"
#include "sim/scene/scene_yaml.h"
#include "sim/scene/shape_measure.h"

#include <sys/types.h>

// Limits, so that no input can exhaust memory: at the worst a reading takes about 2.5 GB.
#ifndef SCENE_MAX_LINKS
#define SCENE_MAX_LINKS 1000000  // a build for fuzzing has fewer
#endif
#define SCENE_MAX_SHAPES SCENE_MAX_LINKS
#define SCENE_MAX_BYTES (128L * 1024 * 1024)  // of text, all files together
#define SCENE_MAX_NODES 12000000L             // YAML values and keys, all files together: 1e6 links with parents and positions
enum {
    SCENE_MAX_FILES = 1000,
    SCENE_MAX_INCLUDE_DEPTH = 16,
    SCENE_MAX_NAME = 255,  // bytes of a link's name
};

/// Where a link came from, for what can be checked only when all links are known.
typedef struct link_origin {
    int file;
    const node *start;   // the link's mapping or its generator's
    const node *mass;    // the value that made its mass zero, if any
    const node *limits;  // of its joint, NULL: none
    const node *q0;      // the first of its coordinates, NULL: they are not given
    int q0_file;
} link_origin;

/// An explicit q0 or v0, which `state:` may override.
typedef struct given_state {
    int file;
    const node *value;
    bool velocity;
    int link;  // the first link that has it
} given_state;

/// The far end of a cable that is held: cable_end.h.
typedef struct held_end held_end;

typedef struct reader {
    ctn_scene *scene;
    scene_problems errors;
    bool no_memory;
    bool parents_known;  // false: a link or its parent could not be read, so others may lack children
    bool names_known;    // false: links were left out, and an unknown parent may be one of them
    link_origin *origins;
    int link_capacity;
    name_table names;  // of the links
    given_state *given;
    int ngiven, given_capacity;
    long nshape, bytes, nodes;
    bool motors;             // a file read so far has `motors`
    held_end *ends;          // [nend]
    int nend;
    const scene_file *from;  // [nfrom] what other files say; NULL: what they say on the disk
    int nfrom;
    document **documents;  // [scene->nfile], kept until all is read: origins point into them
} reader;

enum link_key {
    LINK_KEY_NAME,
    LINK_KEY_PARENT,
    LINK_KEY_POSITION,
    LINK_KEY_ROTATION,
    LINK_KEY_EULER,
    LINK_KEY_JOINT,
    LINK_KEY_MASS,
    LINK_KEY_COM,
    LINK_KEY_INERTIA,
    LINK_KEY_DENSITY,
    LINK_KEY_SHAPES,
    LINK_KEY_CONTACT_POINTS,
    LINK_KEY_COUNT,  // from here on: generators
    LINK_KEY_STEP,
    LINK_KEY_AXES,
    LINK_KEY_DEPTH,
    LINK_KEY_BRANCHING,
    LINK_KEY_STEPS,
    LINK_KEYS,
};

enum joint_key {
    JOINT_KEY_TYPE,
    JOINT_KEY_AXIS,
    JOINT_KEY_AXIS2,
    JOINT_KEY_PITCH,
    JOINT_KEY_DAMPING,
    JOINT_KEY_STIFFNESS,
    JOINT_KEY_REST,
    JOINT_KEY_ARMATURE,
    JOINT_KEY_LIMITS,
    JOINT_KEY_LIMIT_STIFFNESS,
    JOINT_KEY_LIMIT_DAMPING,
    JOINT_KEY_FRICTION,
    JOINT_KEY_PRESLIDING,
    JOINT_KEY_EFFORT,
    JOINT_KEY_SPEED,
    JOINT_KEY_Q0,
    JOINT_KEY_V0,
    JOINT_KEYS,
};

/// One file while it is read.
typedef struct source {
    reader *r;
    int file;                       // index in ctn_scene.files
    const struct source *includer;  // NULL: the scene itself
    dev_t device;                   // identity of the file, to find cycles; 0, 0: text without a file
    ino_t inode;
    double phase;        // cycles that its gaits are ahead by
    const char *prefix;  // of its links' names: "" or "arm." or "left.arm."
    int first_link;      // its links start here
    const node *default_link[LINK_KEYS], *default_joint[JOINT_KEYS];
    bool defaults_failed;  // a default was wrong: what is missing may have been meant to come from it
    bool layout_known;     // false: the length of q is not known, as some link could not be read
    bool of_robot;           // a robot file, of another program: its joints and its state may both say where it starts,
                             // and each kind of warning is told once
    bool inertias_as_given;  // those that no body can have are warnings
    bool free_base;          // of a robot file: its first link has a free joint in the place of a fixed one
    bool free_mimics;        // of a robot file: joints that follow others move on their own
    int lenient;             // > 0: errors are warnings: of something that is left out
    int quiet;             // > 0: errors are not reported, as when a default is tried on a joint
} source;

// ---- errors and warnings: scene_error.c

/// All of these return false, so that `return bad_value(...)` reports and fails. Messages follow "file:line:column: key.path: ".
bool bad_value(source *s, const node *value, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool bad_key(source *s, const node *value, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool missing_key(source *s, const node *mapping, const char *key, const char *format, ...) __attribute__((format(printf, 4, 5)));
bool bad_place(source *s, int line, int column, ctn_status status, const char *text);  // no key: syntax, a file as a whole
bool bad_status(source *s, const node *value, ctn_status status, const char *text);    // bad_value with another status
bool unavailable(source *s, const node *value);  // at the key of a feature that this version does not have
bool out_of_memory(source *s);
void warn(source *s, const node *value, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// Notes that some links could not be read and are left out.
void links_unknown(source *s);

/// True when there is no use in reading on: the list of errors is full, or memory ran out.
bool hopeless(const source *s);

/// Sorts problems by file, line and column and writes them to `list`, one a line, as many as fit, and a line "... and N more" for
/// others.
void list_problems(scene_problems *problems, const scene_file *files, ctn_error *list);

/// A piece of a message: what a node holds ("'heavy'", "a list"), or a text cut and made printable.
typedef struct excerpt {
    char text[64];
} excerpt;
excerpt found(const node *n);
excerpt printable(const char *text);

// ---- typed values: scene_value.c

typedef enum number_sign { ANY_SIGN, NOT_NEGATIVE, POSITIVE } number_sign;

/// What may stand behind a number: of an angle, rad or deg; of an angular velocity, rad/s or deg/s. Without it, SI units are
/// meant.
typedef enum value_unit { NO_UNIT, ANGLE, ANGULAR_VELOCITY, ANY_UNIT } value_unit;

bool read_number(source *s, const node *n, number_sign sign, double *x);
bool read_quantity(source *s, const node *n, number_sign sign, value_unit unit, double *x);
bool read_whole(source *s, const node *n, int least, int most, int *x);
/// One of `words` [count], `allowed` in messages.
bool read_word(source *s, const node *n, const char *const *words, int count, const char *allowed, int *chosen);
/// The word of a row of a table [count], whose rows are `size` bytes apart and begin with their word: *row, which. Of another one
/// the nearest is told, or `known`: "cameras are orbit, track".
bool read_kind(source *s, const node *n, const void *table, size_t size, int count, const char *known, int *row);
bool read_vector(source *s, const node *n, int count, number_sign sign, double *x);  // a list of `count` numbers

/// The same with units `of` [count] (NULL: none), and the same or one number for all, which has a unit if all have that one.
bool read_quantities(source *s, const node *n, int count, number_sign sign, const value_unit *of, double *x);
bool read_each(source *s, const node *n, int count, number_sign sign, const value_unit *of, double *x);

/// Three angles about axes, as `euler`.
bool read_angles(source *s, const node *n, double angles[3]);

/// Whether a unit stands behind a number.
bool has_unit(const node *n);

/// Warns of an angle, or the first of a list, that is more than a full turn and has no unit: degrees, most likely.
bool notice_degrees(source *s, const node *n);

bool read_direction(source *s, const node *n, double axis[3]);  // made a unit vector
bool read_quaternion(source *s, const node *n, double q[4]);    // w x y z, made a unit quaternion
bool read_text(source *s, const node *n, const char **text);
bool read_choice(source *s, const node *n, const char *no, const char *yes, bool *chosen);  // of two words
bool read_flag(source *s, const node *n, bool *flag);                                       // true or false
bool read_name(source *s, const node *n, const char **name);  // text that can name a link

/// `rotation` or `euler`, whichever is not NULL; both are an error, none is no rotation.
bool read_rotation(source *s, const node *rotation, const node *euler, double q[4]);

/// Scales q to length 1, or reports at `at` that it is too short.
bool unit_quaternion(source *s, const node *at, double q[4]);

/// Keys that a mapping may have. A key with `later` is refused: a feature of a later version.
typedef struct key {
    const char *name;  // NULL: not here
    bool later;
} key;

/// Finds the values of a mapping: values[i] is that of keys[i], or NULL. Reports keys that are unknown, repeated or of a later
/// version. `what` names the mapping in messages ("a link"). Fails only if `n` is not a mapping.
bool read_keys(source *s, const node *n, const char *what, const key *keys, int count, const node **values);

double norm(const double *x, int n);
bool normalise(double *x, int n);  // scales x [n] to length 1; false: it is too short
void quaternion_from_euler(const double euler[3], double q[4]);  // of Rz(euler[2]) Ry(euler[1]) Rx(euler[0])
void rotate(const double q[4], const double x[3], double y[3]);  // y = R(q) x; y may be x

// ---- joints: scene_joint.c

/// Reads `joint:` (NULL: none) over the defaults of the file. `link` is where a missing key is reported if there is no node.
/// `own` receives the nodes that the joint gives itself, `has_q0` whether it or the defaults give q0. `axes`: a generator
/// replaces the axis, so it is not compared to axis2.
bool read_joint(source *s, const node *link, const node *n, bool axes, scene_joint *joint, const node *own[JOINT_KEYS],
                bool *has_q0);

bool read_joint_defaults(source *s, const node *n);

/// Units of the coordinates [nq] and velocities [nv] of a joint type.
const value_unit *coordinate_units(ctn_joint_type type);
const value_unit *velocity_units(ctn_joint_type type);

/// Whether joints of this type have an axis.
bool joint_has_axis(ctn_joint_type type);

/// A joint of a type with all else as it is where nothing is said.
void reset_joint(scene_joint *joint, ctn_joint_type type);

/// Universal: the axes must not be parallel.
bool axes_apart(const double axis[3], const double axis2[3]);
bool check_axes(source *s, const node *at, const double axis[3], const double axis2[3]);

// ---- shapes and mass: scene_shapes.c, scene_mass.c, scene_inertia.c

bool read_shapes(source *s, const node *n, scene_shape **shapes, int *nshape);

/// A shape that is fixed in the world, with the hull of a mesh; *name: the node of its name, NULL: it has none. One that is
/// `optional` and cannot be read is left out, with a warning.
bool read_fixed_shape(source *s, const node *n, scene_obstacle *to, bool *left_out, const node **name);
bool read_color(source *s, const node *n, double color[3]);

/// The mesh that the value of `file` names: scene_mesh.c.
bool read_mesh(source *s, const node *n, const scene_mesh **mesh);

/// Whether a mesh of this name can be read, as far as its format tells. Of COLLADA, which not every build reads, that is whether
/// the file is there: what is read again, by whatever build, has only the files that could be read.
bool mesh_readable(source *s, const char *name);

/// A mesh mirrored along x (1), y (2), z (4), which several shapes may have; NULL without memory.
const scene_mesh *mirrored_mesh(reader *r, const scene_mesh *mesh, int along);

/// The path of the file that a shape names, in a package, too; a copy to free, NULL with an error reported.
char *mesh_path(source *s, const node *n, const char *name);

typedef struct mass_properties {
    double mass, com[3], inertia[6];  // about com: xx yy zz xy xz yz
} mass_properties;

mass_properties shape_mass(const scene_shape *shape, double density);

/// I = R(q) J R(q)', xx yy zz xy xz yz
void turned_inertia(const double q[4], const double J[6], double I[6]);

/// Several bodies as one.
mass_properties combine_masses(const mass_properties *parts, int n);

/// Whether a distribution of mass can have this inertia: no principal moment exceeds the sum of the others, but for rounding.
bool inertia_possible(const double inertia[6], double principal[3]);

bool read_inertia(source *s, const node *n, double inertia[6]);

/// Mass, com and inertia of `link`, whose joint and shapes have been read (`shapes_known`: without errors). `own` are the link's
/// nodes. zero_mass receives the value that made the mass zero, or NULL. On failure the mass is NAN.
bool read_mass(source *s, const node *mapping, const node *const own[LINK_KEYS], bool shapes_known, scene_link *link,
               const node **zero_mass);

/// Every moving link must move some mass: itself or below it. For the end, when all links are known.
void check_moving_masses(reader *r);

/// A joint that moves one rigid body alone must meet inertia in each of its directions, or have armature. After all other checks.
void check_inertias(reader *r);

/// Tells of each such joint: its link, from the last one to the first, and about what it meets none. False: no memory.
bool each_without_inertia(const ctn_scene *scene, void (*found)(void *to, int link, const char *about), void *to);

// ---- links: scene_links.c, scene_generate.c

bool read_links(source *s, const node *n);
bool read_link_defaults(source *s, const node *n);

/// What an explicit link and each link of a generator have in common.
typedef struct link_plan {
    const node *mapping;
    const node *own[LINK_KEYS], *own_joint[JOINT_KEYS];
    scene_link link;  // `name` is the name before numbering, not owned; shapes go to the links, which share them
    link_origin origin;
    bool joint_known;  // its joint had no errors
    int count;         // links made from it
} link_plan;

typedef enum link_form { EXPLICIT_LINK, CHAIN, TREE } link_form;

/// A plan of nothing yet; then its name, parent, position and rotation, whose nodes plan->own has. entry: of the list, for
/// messages.
void start_plan(source *s, const node *mapping, link_plan *plan);
bool read_place(source *s, const node *entry, link_plan *plan);

bool read_plan(source *s, const node *mapping, link_form form, link_plan *plan);
void free_plan(link_plan *plan);

/// Adds plan->link under `name` (without the file's prefix).
bool add_link(source *s, link_plan *plan, const char *name);

bool read_generator(source *s, const node *mapping, link_form form);

/// Reads `cable:`: scene_cable.c.
bool read_cable(source *s, const node *mapping);

/// Springs that hold far ends of cables, added to the scene's loads when all links are known; and how many: cable_end.c.
int cable_end_springs(const reader *r);
bool hold_cable_ends(source *s);

/// The link called prefix + name among the file's own and included links, or -1.
int find_link(const source *s, const char *name);

/// The name of a link of the file that `name` may have been meant to be, NULL: none. Of large files the last links are looked at.
const char *nearest_link(const source *s, const char *name);

/// The link of the scene that a value names.
bool read_link_name(source *s, const node *n, int *link);

// ---- files and state: scene_include.c, scene_state.c, scene_read.c

/// Reads a file into `text`, terminated. `regular`: refuses pipes and devices. `reason` tells the user what went wrong.
ctn_status read_file(const char *path, bool regular, long most, char **text, size_t *length, char reason[128]);

/// The path of a file beside the one that names it; a copy to free, NULL without memory.
char *beside(reader *r, const char *includer, const char *file);

/// The text of the file that is read next, a copy to free, from the disk or from what the files said once: read in the same
/// order, they are the same. CTN_IO, CTN_BAD_SCENE (too large) with the `reason`, CTN_NO_MEMORY.
ctn_status next_text(reader *r, const char *path, char **text, size_t *length, char reason[128]);

/// Reads `include:`; with kind "URDF" or "MJCF" `urdf:` or `mjcf:`, which may be one file as well as a list.
bool read_include(source *s, const node *n, const char *kind);

/// Reads `state:` into the joints of the file's links, those of its includes too.
bool read_state(source *s, const node *n);

/// Warns of joints that start outside their limits. For the end.
void check_starts(reader *r);

/// Refuses what is finite in the files, and no longer where it was added up or multiplied. For the end.
void check_sizes(reader *r);

/// Reads `sample:`, when all links are known.
bool read_sample(source *s, const node *n);

/// Reads `reward:`, when all links and motors are known: scene_reward.c. And frees terms [count].
bool read_reward(source *s, const node *n);
void free_reward(scene_reward *reward, int count);

/// Reads `optimize:`, when links and motors are known; frees it: scene_optimize.c.
bool read_optimize(source *s, const node *n);

/// Its `mpc:`, once costs and bounds are known, for `told` numbers that motors are told: scene_mpc.c. n NULL: what is usual.
bool read_mpc(source *s, const node *n, int told, scene_optimize *to);
void free_optimize(scene_optimize *o);

/// What its terms and limits share: joints of a list of links (NULL: all that move), and how many numbers motors are told.
/// A number for all or `count`, each of which may move with time: constants x, and what is added to them, from 1 on, 0: nothing.
/// `of` is whose numbers they are, with the units of its joints.
bool read_moving_numbers(source *s, const node *n, int count, const scene_cost *of, scene_optimize *to, double *x, int *moves);
/// The unit of number k, of positions and velocities of joints; all (k < 0): that of all of them, NO_UNIT where they differ.
value_unit cost_unit(const ctn_scene *scene, const scene_cost *x, int k);
bool read_cost_joints(source *s, const node *n, scene_cost *x);
int told_numbers(const ctn_scene *scene);

/// Reads `optimize.limits`, and frees limits [count]: scene_limits.c.
bool read_state_limits(source *s, const node *n, scene_optimize *to);
void free_limits(scene_limit *limits, int count);

/// `springs:` and `forces:` on points of links, each may be NULL: scene_loads.c.
bool read_loads(source *s, const node *springs, const node *forces);

/// Reads `motors:` on the joints of the file's links: scene_motors.c.
bool read_motors(source *s, const node *n);

/// Reads `gaits:`, before the motors of the file: scene_signals.c.
bool read_gaits(source *s, const node *n);

/// A number, or what changes with time: a constant, and (*signal, from 1; 0: none) what is added to it.
bool read_signal(source *s, const node *n, value_unit unit, double *constant, int *signal);
void free_signals(ctn_scene *scene);

/// The same into a list [*count] that is no motor's; to be freed with free_signal_list.
bool read_signal_into(source *s, const node *n, value_unit unit, scene_signal **list, int *count, double *constant, int *signal);
void free_signal_list(scene_signal *list, int count);

/// The table that a value names, beside the file; NULL: reported. And the column called `name`, -1: none. scene_table.c
const scene_table *read_table(source *s, const node *n);
int table_column(const scene_table *t, const char *name);
/// Reads `sensors:` on the file's links, whose motors are known: scene_sensors.c.
bool read_sensors(source *s, const node *n);

/// Reads `search:`; and what is usual without: scene_search.c.
bool read_search(source *s, const node *n);
bool read_hidden(source *s, const node *n, int widths[2]);  // of one or two layers of a network
void reset_search(scene_search *search);

/// Reads `controller:`, when motors and sensors are known: scene_controller.c.
bool read_controller(source *s, const node *n);
void free_controller(scene_controller *controller);

/// Whether a joint lets the link move.
bool link_moves(const ctn_scene *scene, int link);

/// No ground, and what is usual where there is one.
void reset_contact(scene_contact *contact);

/// What there is to touch, and how; each may be NULL.
typedef struct contact_nodes {
    const node *ground, *obstacles, *terrain, *law, *pairs;
} contact_nodes;

/// What touches what: a shape and a surface that have a layer in common, all but those who say others have 0.
enum { USUAL_LAYERS = 1, MOST_LAYERS = 32 };
bool read_layers(source *s, const node *n, unsigned *layers);

/// Reads `ground:`, `obstacles:`, `terrain:` and `contact:`: scene_contact.c.
bool read_contact(source *s, const contact_nodes *of, scene_contact *contact);

/// Reads `obstacles:` and `terrain:`: scene_obstacles.c. Frees both.
bool read_obstacles(source *s, const node *n, scene_contact *contact);
bool read_terrain(source *s, const node *n, scene_terrain *terrain);
void free_contact(scene_contact *contact);

/// Heights of a terrain: those of a file, a table or an image, or rows of numbers; and, NULL where it is not said, how high black
/// and white of an image are, and how high the lowest and the highest one are to be.
typedef struct height_nodes {
    const node *file, *rows;
    const double *height, *range;
} height_nodes;

/// Reads them: terrain_read.c. A block to free at terrain->heights.
bool read_heights(source *s, const height_nodes *of, scene_terrain *terrain);

/// Whether there is anything of a shape to touch: not of a mesh that could not be read.
bool touches_ground(const scene_shape *s);

/// Whether a link has a shape that touches the scene's ground or what else is fixed.
bool link_touches(const ctn_scene *scene, int link);

/// Reads the key `contact` of a shape.
bool read_touch(source *s, const node *n, scene_shape *shape);

/// Reads `pairs:` and `exclude:`, when all links are known: scene_pairs.c.
bool read_touching(source *s, const node *n);
bool read_excluded(source *s, const node *n);

/// Reads `loops:`, `couplings:` and `tendons:`, likewise, and a spring between two links: scene_bonds.c. Frees all of these.
bool read_loops(source *s, const node *n);
bool read_couplings(source *s, const node *n);
bool read_tendons(source *s, const node *n);
/// The one of a list, "loops", "couplings" or "tendons", that a value names, after it has been read; -1: there is none, which is
/// reported.
int read_bond_name(source *s, const node *n, const char *list);
bool add_link_spring(source *s, const node *n, int entry, const scene_load *spring, int b, const double at_b[3], double rest);
void free_bonds(ctn_scene *scene);

/// Whether each of the tendons in the list n has something that acts, a motor among it, or is measured: motors and sensors are
/// known.
bool check_tendons(source *s, const node *n);

/// Joints that follow others, and do not say where they start, start where they follow. For the end.
void start_followers(reader *r);

/// Reads `fluid:`, when all links are known: scene_fluid.c.
bool read_fluid(source *s, const node *n);

/// How a link is braked, for each unit of its part.
typedef struct link_drag {
    const node *at;  // NULL: there is no drag
    drag_kind law;
    shape_part part;
    bool by_axes;               // of volumes, surfaces and masses: `along`, else `normal`
    double normal, tangential;  // across an axis and along it; of faces `tangential` alone; of others both are the same
    double along[3];            // the axes of the link
} link_drag;

/// What the fluid does to all links that move: scene_drag.c. drag, added [nlink]: of each one's drag, and how much of what it
/// displaces goes along with it; density, mass: the nodes that say so, of the fluid, and of added mass. False: an error, or no
/// memory.
bool make_drags(source *s, const link_drag *const *drag, const double *added, const node *density, const node *mass);

/// Reads `camera:` or `cameras:`, of which one is NULL, when all links are known.
bool read_cameras(source *s, const node *one, const node *list);
void free_cameras(ctn_scene *scene);

/// Reads `view:`, what else there is to see.
bool read_view(source *s, const node *n);

/// The document of a file as YAML text, to free; NULL without memory. elsewhere: it will not lie beside the file.
char *document_as_yaml(source *s, const node *root, bool elsewhere);

/// Reads a whole file into the scene. s->file and s->includer are set.
bool read_source(source *s, const char *text, size_t length);

/// Adds a file to scene->files with a copy of its text; its index, or -1 without memory.
int add_file(reader *r, const char *path, const char *text, size_t length);

/// malloc that notes a failure in the reader, and a terminated copy of text.
void *reader_alloc(reader *r, size_t bytes);
char *reader_copy(reader *r, const char *text, size_t length);

#endif
