/// MJCF, the models of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html): what the files that read it share.
/// Bodies are collected first, in the order of MuJoCo's numbers, then told as links; docs/robots.md says what becomes of what.
#ifndef CATENA_SIM_MJCF_H
#define CATENA_SIM_MJCF_H

#include "sim/scene/robot.h"

typedef struct mjcf_pose {
    double p[3], q[4];  // m, unit quaternion w x y z
} mjcf_pose;

/// A <default>: what elements of a class have that do not say it themselves. Each one at the top goes on from the one before, and
/// the last of them is `main`.
typedef struct mjcf_class {
    const char *name;
    xml_element *element;  // NULL: `main`, where the file has none
    int up;                // the class that it was copied from, -1: none
} mjcf_class;

/// An element, and the class that speaks for it, -1: none.
typedef struct mjcf_item {
    xml_element *element;
    int class;
} mjcf_item;

/// <worldbody>, a <body>, or a <frame> in one of them.
typedef struct mjcf_scope {
    int up, body, childclass;
    mjcf_pose pose;  // of a frame in its body; of others none
} mjcf_scope;

typedef struct mjcf_joint {
    mjcf_item item;
    int scope, next;
    const char *link;  // that it moves, once it has been told; NULL before
    int nq;            // likewise: 1 of a hinge or slide, 4 of a ball, 7 of a free one
    bool driven;       // a motor has been told of it
} mjcf_joint;

/// How a geom touches.
typedef struct mjcf_touch {
    unsigned types, with;  // contype, conaffinity
    int dimensions, priority;
    double friction;    // the first number, along the surface
    double turning[2];  // the others, m: torsional, rolling
    bool says, soft;    // whether it has `friction`; whether it says how soft it is
} mjcf_touch;

typedef struct mjcf_geom {
    mjcf_item item;
    int scope, next;
    scene_shape shape;                    // in the body's frame; of a mesh without `mesh`: it could not be read
    const char *file;                     // of a mesh
    bool drawn, touches, massive, field;  // field: it is a height field, and no shape
    mjcf_touch touch;
    mass_properties mass;
} mjcf_geom;

/// The plane that is the ground.
typedef struct mjcf_floor {
    xml_element *element;  // NULL: there is none
    int body;
    mjcf_touch touch;
    double normal[3], height;  // m along it
} mjcf_floor;

/// The height field that is the terrain, in the world.
typedef struct mjcf_field {
    xml_element *element, *asset;  // NULL: there is none
    mjcf_touch touch;
    mjcf_pose pose;
    const mjcf_geom *geom;
} mjcf_field;

/// What links touch: the floor first, if there is one, then obstacles, then the height field.
typedef struct mjcf_surface {
    mjcf_touch touch;
    const mjcf_geom *geom;  // NULL: it is the floor
    int body;               // that has it, if some <exclude> names that, else -1
    int layer;
    double friction;  // of its own in the scene, NAN: none
} mjcf_surface;

typedef struct mjcf_site {
    mjcf_item item;
    int scope;
} mjcf_site;

typedef struct mjcf_body {
    xml_element *element, *inertial;
    const char *name;
    int parent, scope;                                           // the world is body 0
    int first_joint, last_joint, njoint, first_geom, last_geom;  // -1: none
    mjcf_pose pose;                                              // in its parent
    mass_properties mass;                                        // in the body's frame
    double origin[3];                                            // of the link's frame, in the body's; the axes are the same
    bool moves;
} mjcf_body;

/// Things of <asset> with names.
typedef struct mjcf_assets {
    xml_element **list;
    int count;
    name_table names;
} mjcf_assets;

/// A tendon that the scene gets, and that has a name.
typedef struct mjcf_tendon {
    const char *name;
    bool driven;
} mjcf_tendon;

/// Things that are passed over: how many, and where the first is.
typedef struct mjcf_passed {
    document_place first;
    int count;
} mjcf_passed;

/// Elements of one name that have no place here for one reason.
typedef struct mjcf_ignored {
    const char *name, *why;
    mjcf_passed passed;
} mjcf_ignored;
enum { MJCF_REASONS = 64 };

typedef struct mjcf {
    robot *r;
    // <compiler>
    double degree;  // rad of an angle's unit
    const char *euler_order, *mesh_folder;
    bool limits_by_range, balance, strip_path;
    enum { MASS_BY_NEED, MASS_OF_GEOMS, MASS_GIVEN } mass_from;
    double bound_mass, bound_inertia, total_mass;  // total: <= 0: as it is
    int groups[2];
    // what the file has
    mjcf_class *classes;
    mjcf_scope *scopes;
    mjcf_body *bodies;
    mjcf_joint *joints;
    mjcf_geom *geoms;
    mjcf_site *sites;
    int nclass, main, nscope, nbody, njoint, ngeom, nsite;
    name_table class_names;
    mjcf_assets meshes, materials, fields;
    mjcf_floor floor;
    mjcf_field field;
    mjcf_surface *surfaces;
    int (*excludes)[2];  // bodies that do not touch each other
    mjcf_tendon *tendons;
    int nsurface, nexclude, ntendon;
    bool layered, no_contact;  // not all that touches touches all of them; contacts are turned off
    bool meeting;              // bits say which of the geoms that move touch each other: each bit that counts is a layer
    int bit_layers[32];        // -1: it does not
    xml_element *key;          // of <keyframe>, that the model starts with; NULL: none
    // what was passed over, listed once
    mjcf_passed contact, ground, friction, lesser, bits, rows;
    mjcf_ignored ignored[MJCF_REASONS];
    int nignored;
} mjcf;

// ---- elements, attributes and classes: mjcf_class.c

/// Splices what the files of <include> have into the tree, in their place: mjcf_include.c.
bool mjcf_include(mjcf *m);

bool mjcf_read_classes(mjcf *m);

/// The element with its class: of its own, else `inherited`, else `main`.
mjcf_item mjcf_item_of(mjcf *m, xml_element *e, int inherited);

/// The class that an attribute names, or `inherited` if there is no such attribute; -1: reported.
int mjcf_find_class(mjcf *m, xml_element *e, const char *attribute, int inherited);

/// An attribute of the element itself, of its class, or of one around that; NULL: nowhere.
const xml_attribute *mjcf_find(mjcf *m, mjcf_item of, const char *name);
const char *mjcf_value(mjcf *m, mjcf_item of, const char *name);
bool mjcf_numbers(mjcf *m, mjcf_item of, const char *name, int count, const double *fallback, double *x);

enum { MJCF_MOST_NUMBERS = 10 };

/// Up to `most` numbers, of which an element that gives fewer than its class changes the first ones. Returns how many, -1:
/// reported.
int mjcf_some_numbers(mjcf *m, mjcf_item of, const char *name, int most, double *x);

/// The entry of `words` [count] that an attribute says, `fallback` if it is not there, -1: reported.
int mjcf_word(mjcf *m, mjcf_item of, const char *name, const char *const *words, int count, int fallback);
bool mjcf_flag(mjcf *m, mjcf_item of, const char *name, bool fallback);

/// A limit is there if `flag` says so or, if that is `auto` or missing, if there is a range.
bool mjcf_limited(mjcf *m, mjcf_item of, const char *flag, const char *range, double x[2]);

void mjcf_pass(mjcf_passed *list, document_place at);

/// The same of an element, with why it is: a text that stays.
void mjcf_ignore(mjcf *m, const xml_element *e, const char *why);

/// Room for a text of this length, as long as the file is read.
char *mjcf_text(mjcf *m, size_t length);

// ---- places: mjcf_pose.c

/// pos, and one of quat, axisangle, euler, xyaxes, zaxis.
bool mjcf_read_pose(mjcf *m, mjcf_item of, mjcf_pose *pose);
bool mjcf_has_turn(mjcf *m, mjcf_item of);
mjcf_pose mjcf_at(const mjcf_pose *frame, const mjcf_pose *inner);

/// Whether a body has joints, or one that carries it; and where a body is in the world if none has.
bool mjcf_moves(const mjcf *m, int body);
mjcf_pose mjcf_body_in_world(const mjcf *m, int body);

/// The shortest turn from z to a direction of length 1.
void mjcf_turn_from_z(const double to[3], double q[4]);
void mjcf_turn_about(const double axis[3], double angle, double q[4]);

// ---- geoms and masses: mjcf_geom.c, mjcf_mesh.c, mjcf_mass.c

bool mjcf_find_assets(mjcf *m);

/// The mesh of a geom at `at` of its body; its mass is that of density 1. What only is to be drawn may be missing.
bool mjcf_read_mesh(mjcf *m, mjcf_geom *g, const mjcf_pose *at);
bool mjcf_read_geom(mjcf *m, mjcf_geom *g);
void mjcf_tell_shapes(mjcf *m, const mjcf_body *b);

/// The keys of a shape that say its form; file: of a mesh.
void mjcf_tell_form(mjcf *m, const scene_shape *shape, const char *file, document_place at);

/// The path of an asset's file as a scene beside the model names it. NULL: no memory.
const char *mjcf_asset_path(mjcf *m, const char *file);
bool mjcf_read_masses(mjcf *m);

/// The frame of a body in its centre of mass, with the principal axes in MuJoCo's order: of its <inertial> as that has it, of a
/// single geom the geom's, else by turns of the inertia. Returns why there is none, else NULL.
const char *mjcf_inertial_frame(mjcf *m, const mjcf_body *b, mjcf_pose *at);

// ---- what touches: mjcf_contact.c

bool mjcf_read_touch(mjcf *m, mjcf_item of, mjcf_touch *t);
bool mjcf_read_plane(mjcf *m, mjcf_geom *g);

/// The friction of two geoms; of a surface with geoms that say nothing; and what a geom has of its own in the scene, NAN: nothing.
double mjcf_friction(const mjcf_touch *a, const mjcf_touch *b);
double mjcf_usual_friction(const mjcf_touch *surface);
double mjcf_own_friction(const mjcf *m, const mjcf_geom *g);

/// `contact` of a geom's shape, after all surfaces have been found.
void mjcf_tell_touch(mjcf *m, const mjcf_geom *g);

// ---- what they touch: mjcf_obstacles.c

bool mjcf_read_field(mjcf *m, mjcf_geom *g);

/// The floor, obstacles and the height field, with their layers and frictions, after all geoms have been read.
bool mjcf_find_surfaces(mjcf *m);

/// Whether a geom touches a surface: by their bits, and as no <exclude> names their bodies.
bool mjcf_meets(const mjcf *m, const mjcf_geom *g, const mjcf_surface *s);

/// The layers of what a geom touches.
unsigned mjcf_layers(const mjcf *m, const mjcf_geom *g);
void mjcf_tell_layers(mjcf *m, const char *key, unsigned layers, document_place at);

/// The layers of contact bits.
unsigned mjcf_bit_layers(const mjcf *m, unsigned bits);

/// `ground:`, `obstacles:`, `terrain:` and `contact:` of the scene, after the links.
void mjcf_tell_surfaces(mjcf *m);

/// `exclude:` and `pairs:` of <contact>, `loops:` and `couplings:` of <equality>, `tendons:` of <tendon>, likewise: mjcf_between.c.
void mjcf_tell_between(mjcf *m);

// ---- joints: mjcf_joint.c

/// Where something is: a link, and a frame in the link's.
typedef struct mjcf_place {
    const char *link;    // of sensors NULL: all links
    const char *tendon;  // of sensors: NULL: none
    mjcf_pose at;
    double radius;  // m, of a site that is a ball
} mjcf_place;

/// The place of a site by its name; else why there is none. After all links have been told. mjcf_sensor.c
const char *mjcf_find_site(mjcf *m, const char *name, mjcf_place *to);

/// The same of a site that may be on the world, too, with its body (0: that); to->link is NULL then.
const char *mjcf_find_any_site(mjcf *m, const char *name, mjcf_place *to, int *body);

/// `motors:` of <actuator>: mjcf_actuator.c. After all joints have been told.
void mjcf_tell_actuators(mjcf *m);

/// `sensors:` of <sensor>, on the sites that they name: mjcf_sensor.c. After all actuators have been told.
void mjcf_tell_sensors(mjcf *m);

/// The links of a body, from the first joint's to the one that has the body's name, of which the last is left open.
bool mjcf_tell_joints(mjcf *m, mjcf_body *b);

#endif
