/// A scene as its file says it: checked, defaults applied, generators and includes expanded, links in file order.
/// Filled by sim/scene/scene_read.c, read by sim/model/compile.c. docs/scene.md describes the format.
#ifndef CATENA_SIM_SCENE_H
#define CATENA_SIM_SCENE_H

#include <catena/batch.h>
#include <catena/model.h>
#include <catena/parameters.h>
#include <catena/sensors.h>
#include "dynamics/model.h"
#include "sim/base/parameter_kinds.h"
#include "sim/scene/hull.h"
#include "sim/scene/mesh.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum scene_shape_type {
    SHAPE_SPHERE,
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_MESH
} scene_shape_type;

/// A mesh file, which several shapes may have.
typedef struct scene_mesh {
    mesh_surface surface;
    int file;              // index in ctn_scene.files
    bool good;             // it has been read without errors
    int mirrored;          // along x (1), y (2), z (4), as a `scale` below 0 asks
    ctn_status status;     // where it is not good: what is wrong with it
    mesh_problem problem;  // and where
} scene_mesh;

typedef struct scene_shape {
    scene_shape_type type;
    double center[3];        // sphere, box, ellipsoid; mesh: where its file's origin is; link frame, m
    double rotation[4];      // box, ellipsoid, mesh: unit quaternion w x y z
    double size[3];          // box: full lengths; ellipsoid: radii; mesh: m for each unit of its file, > 0
    double from[3], to[3];   // capsule, cylinder: the ends of the axis
    double radius;           // sphere, capsule, cylinder
    double density;          // kg/m^3, NAN: the link's
    enum { TOUCH_DEFAULT, TOUCH_NO, TOUCH_YES } touch;  // whether it touches the ground: it does, if there is one
    double friction;                                    // of Coulomb there, NAN: the scene's
    double torsional, rolling;                          // m, likewise
    unsigned layers;         // bits: it touches what shares one with it
    unsigned touches;        // likewise, between links: one touches the other that has a layer which it touches
    double rounding;         // m, of the edges of a box; NAN: chosen by sim/model/between.c
    int points;                                         // along its axis, or each of its edges, that touch; 0: its ends alone
    bool hidden;                                        // it is not drawn
    double color[3];         // 0..1
    const scene_mesh *mesh;  // owned by the scene
    int entry;               // that it is of the list: others may have been left out
} scene_shape;

/// Where a file says something.
typedef struct scene_place {
    int line, column;
} scene_place;

/// What a method may be refused for, of `integrator:`.
typedef enum scene_setting {
    SETTING_METHOD,
    SETTING_ORDER,
    SETTING_SOLVER,
    SETTING_DT,
    SETTING_PARALLEL,
    SETTINGS
} scene_setting;

/// What makes a joint stiff.
typedef enum stiff_key {
    STIFF_DAMPING,
    STIFF_STIFFNESS,
    STIFF_LIMIT_STIFFNESS,
    STIFF_LIMIT_DAMPING,
    STIFF_FRICTION,
    STIFF_KEYS
} stiff_key;

typedef struct scene_joint {
    ctn_joint_type type;
    double axis[3], axis2[3];    // unit vectors; revolute, prismatic, helical: axis; universal: both
    double pitch;                // helical, m/rad
    double damping[6];           // one entry a dof (ball: all three alike)
    double stiffness[3];         // one entry a dof (ball: all three alike); not free
    double rest[4];              // one entry a dof; ball: unit quaternion
    double armature[6];          // one entry a dof (ball, and both halves of free: all three alike)
    double friction[3];          // dry, N m or N; one entry a dof; not ball, not free
    double presliding[3];        // rad or m, likewise
    bool limited[3];             // one entry a dof; ball: [0], a cone about rest
    double limits[3][2];         // [dof][lo, hi]; ball: [0][1] is the half angle of the cone, [0][0] = 0
    double limit_stiffness;      // N m/rad or N/m, NAN: chosen by sim/model/compile.c
    double limit_damping;        // N m s/rad or N s/m while violated, NAN: chosen by sim/model/compile.c
    double effort[6];            // one entry a dof, INFINITY: none
    double speed[3];             // at which motors drive no more, one entry a dof, INFINITY: no limit; not ball, not free
    double q0[7], v0[6];         // initial coordinates and velocities (after `state:` has been applied)
    double own_q0[7];            // initial coordinates without `state:`, where there is one
    bool stated;                 // there is
    scene_place at[STIFF_KEYS];  // of their values; of limits that do not say how stiff they are, that of `limits`
} scene_joint;

typedef struct scene_link {
    char *name;          // NULL, where no file has the link: its number
    int parent;          // index of a link before it, -1: world
    double position[3];  // m, in the parent's frame
    double rotation[4];  // unit quaternion w x y z
    scene_joint joint;
    double mass, com[3], inertia[6];  // inertia about com: xx yy zz xy xz yz; from shapes and density where the file says so
    scene_shape *shapes;              // links of a generator share theirs
    int nshape;
    int line, column;  // where the link (or its generator) starts, for messages of the compiler
    const char *file;  // owned by the scene
} scene_link;

/// A load on a point of a link: a spring and damper to a point of the world, or a force and a torque.
typedef struct scene_load {
    int link;
    double point[3], anchor[3];  // m: link frame, world
    double stiffness, damping;   // N/m, N s/m
    double force[3], torque[3];  // N, N m
    bool turns, follows;         // it has a torque; its numbers are in the link's axes, else in those of the world
    bool of_cable;               // it holds the end of one
    scene_place at[2];           // of stiffness and damping; where there is none, of the spring
} scene_load;

/// What a motor is told over time, beside a constant. sim/model/signals.c makes what kernels read of it.
typedef struct scene_signal {
    enum { FORM_SINUSOID, FORM_GAIT, FORM_SPLINE, FORM_STEPS, FORM_LINES } form;  // the last three: through points
    ctn_signal wave;                                                              // but for its knots and pieces
    int count;                                                                    // of points
    double *times, *values;  // [count] s, the motor's unit; one block of memory, which `times` begins
} scene_signal;

/// `gaits:`, of one file: what its motors share.
typedef struct scene_gait {
    char *name;
    int file;
    double frequency, duty, ramp;  // Hz, share of a cycle, s
} scene_gait;

/// A table of numbers that a scene has read: columns [column][row].
typedef struct scene_table {
    int file, columns, rows;
    char **names;     // [columns]
    double *numbers;  // [columns][rows]
} scene_table;

/// A motor on a degree of freedom of a link's joint, on its own side of the gear, on a ball as a whole, or on a tendon. Its rotor is
/// in the joint's armature.
typedef struct scene_motor {
    int link, dof;  // of a tendon: one of the links that it pulls at
    int tendon;     // which of the scene's bonds, counted from 1; 0: it is on no tendon
    int told;  // numbers of what it is told: 1, of a ball 3
    motor_type type;
    double kp, kd;
    double damping_ratio;  // in the place of kd, NAN: none
    double target[3], velocity[3], feedforward[3];  // [told]; of the type torque, `target` is the feedforward
    double effort;                                  // INFINITY: none
    double gear;
    double ki, speed;          // 0, and INFINITY: none
    bool winds, fast;          // it has them, or worlds may give it some
    int moves[MOTOR_TOLD][3];  // of the scene's signals, counted from 1; 0: none
    bool follows;              // its velocity is that of its target
    double point[3], axis[3];  // of a thruster on a link, whose `target` is the feedforward: m, and a unit vector; link frame
    double reaction, least;    // N m of torque about the axis for each N; from what on it gives, `effort` is up to what
    int entry;                 // of the list in its file
    const char *file;          // owned by the scene
    scene_place at[2];         // of kp and kd; where there is none, of the motor
} scene_motor;

/// What is measured (catena/sensors.h).
typedef struct scene_sensor {
    char *name;
    ctn_sensor_type type;
    int link, dof;  // -1: all links; all degrees of freedom
    int motor;      // of a thruster or a motor on a tendon: which of the scene's motors; -1: of none
    int bond;       // of a loop, a coupling or a tendon, which of the scene's bonds; -1: of none
    double point[3], axes[4];
    int to_link;  // -1: the world
    double to_point[3];
    double radius;  // m; 0: none
    double noise[CTN_SENSOR_NUMBERS];
    double delay;  // s
    int line, column;
} scene_sensor;

/// `controller:` (sim/scene/scene_controller.c).
typedef enum controller_type {
    CONTROLLER_SINUSOIDS,
    CONTROLLER_SPLINE,
    CONTROLLER_LINEAR,
    CONTROLLER_TANH,
    CONTROLLER_GAIT,
    CONTROLLER_PLAN
} controller_type;
typedef struct scene_controller {
    bool given;
    controller_type type;
    int *motors, nmotor;      // of the scene's, which it tells
    double (*range)[2];       // [nmotor], from where to where targets go
    double every;             // s, from one time that it tells them to the next; 0: before every step
    double frequency[2];      // Hz, from where to where
    double ramp, period;      // s; period: that a spline lasts
    bool once;                // it is played once, and held
    int knots;                // of a motor
    int legs, joints;         // of a gait; its motors are [legs][joints]
    double duty[2];           // from where to where
    double *phases;           // [legs] cycles; NULL: they are looked for
    bool *mirror;             // [nmotor], whether it is told the negative
    int *sensors, nsensor;    // of the scene's, which it goes by
    double *scale;            // [nsensor], that they are divided by
    double clock;             // Hz, of two more inputs; 0: there are none
    int hidden[2];            // widths of layers; 0: there is none
    int plan_rows, plan_width;  // of a plan
    bool plan_feeds;          // it has states and gains
    int plan_gains;           // numbers that a target goes by: 2 nv, or with what was told last 2 nv + nu
    double *plan;             // [plan_rows][plan_width]: s, [nu], and with gains [nq], [nv], [nu][plan_gains]
    double *parameters;       // NULL: they are not given
    scene_place at, found;    // where it begins; where its parameters do, line 0: nowhere
} scene_controller;

#define LEAST_NOISE 0.01  // of a policy, of half a range
#define MOST_NOISE 2.0

/// `search:` (sim/scene/scene_search.c). Methods but the first are policy gradients.
typedef enum search_method { SEARCH_CMA, SEARCH_LIKELIHOOD, SEARCH_PPO, SEARCH_SHAC } search_method;
typedef struct scene_search {
    search_method method;
    int population, generations, worlds, seed;  // population 0: as is usual; worlds: of each candidate
    double sigma;                               // times the deviations of the controller's own
    int restarts, covariance;                   // ctn_cma_restarts, ctn_cma_covariance
    bool adapt_rates;
    double horizon;            // s, of a window; 0: as is usual
    double discount;           // of what is earned by a decision later
    double rate, critic_rate;  // of learning
    double noise;              // deviation at first, of half a range
    int critic[2];             // widths of its layers; 0: there is none
    int line, column;
} scene_search;

/// What a term of the cost of a trajectory is of: squares of what differs from a target (sim/scene/scene_optimize.c).
typedef enum cost_term {
    COST_POSTURE,         // coordinates of joints, in tangent coordinates
    COST_VELOCITY,        // their rates
    COST_CONTROL,         // what motors are told
    COST_CONTROL_RATE,    // how fast that changes from knot to knot, a second
    COST_PLACE,           // m, of a point of a link
    COST_ORIENTATION,     // rad, a turn of a link, world axes
    COST_COM,             // m, of the centre of mass
    COST_POINT_VELOCITY,  // m/s, of a point of a link, world axes
    COST_TERMS
} cost_term;

/// A term of `optimize.cost`: half of the sum of weights times squares, over time and at the end.
typedef struct scene_cost {
    cost_term term;
    int count;             // squares
    double *weight, *end;  // [count]; NULL: 0
    double *target;        // [ntarget]; NULL: where the scene begins, velocities 0, the model's own targets. Of an orientation a
                           // quaternion [4], or a rotation vector [3]
    int *moves;            // [ntarget] the signal of scene_optimize.signals that is added, counted from 1; 0: none
    int ntarget;
    double (*turns)[5];  // [nturn], of an orientation: s and quaternions through which its target goes; NULL: it has `target`
    int nturn;
    double from, to;  // s, of what is over time
    int *joints, njoint;  // links
    int link;
    double point[3];  // m, link frame
} scene_cost;

/// How plans are made that are made anew in every knot.
typedef enum mpc_planner { PLANNER_ILQR, PLANNER_SAMPLING, PLANNER_MPPI, PLANNERS } mpc_planner;
extern const char *const mpc_planner_names[PLANNERS];  // "ilqr", "sampling", "mppi"

enum { MOST_MPC_ITERATIONS = 1000000, MOST_MPC_SAMPLES = 100000, MOST_MPC_POINTS = 100000 };

/// `optimize.mpc:` (control/mpc.h).
typedef struct scene_mpc {
    mpc_planner planner;
    double horizon, deadline;  // s; deadline 0: iterations are counted
    int iterations;            // of a plan
    int samples, points;       // of sampling and mppi: roll-outs, and points of the spline that they are told
    double *noise;             // [numbers that motors are told] likewise, deviations; NULL: by the bounds
    double temperature;        // of mppi: a share of what costs spread over
    double within, slower;     // the time of costs begins where these are met: m or rad, and these a second; 0: at once
} scene_mpc;

/// What of a term's residual r a limit is of (sim/scene/scene_limits.c).
typedef enum limit_form {
    LIMIT_EACH,      // each of its numbers
    LIMIT_ALONG,     // how long it is along an axis
    LIMIT_DISTANCE,  // how far it is from the segment from 0 to an axis
} limit_form;

/// A limit of `optimize.limits`: lower <= numbers of r <= upper, in the window of `of`, or at the end alone.
typedef struct scene_limit {
    scene_cost of;  // whose r; it has no weights
    limit_form form;
    int count;              // numbers: those of r, or one
    double *lower, *upper;  // [count], infinite where there is none; equal ones: exactly
    int *lower_moves, *upper_moves;  // [count] the signal of scene_optimize.signals that is added, counted from 1; 0: none
    scene_place at;
    double axis[3];         // of LIMIT_ALONG a unit vector, of LIMIT_DISTANCE the end of the segment; world axes
    bool end;
} scene_limit;

/// `optimize:`.
typedef struct scene_optimize {
    bool given;
    scene_place at, knot_at, reward_at, limits_at;  // of what it says first, and of these keys
    scene_cost *cost;
    int ncost;
    scene_limit *limits;
    int nlimit;
    double limit_tolerance, penalty;
    double reward;         // how much the scene's reward counts for; 0: nothing
    int method;            // 0: ilqr; 1: as Plancher and Kuindersma; 2: with second derivatives
    double knot;           // s; 0: a step
    bool remember;         // knots go on from what the method remembers
    double *guess;         // [numbers that motors are told]; NULL: the model's own targets
    double *lower, *upper; // likewise; NULL: no bounds
    double tolerance, rho;
    int iterations, alphas, backward, forward;
    scene_signal *signals;  // of targets, and of bounds of limits, that move
    int nsignal;
    scene_mpc mpc;
} scene_optimize;

/// How drag goes with the velocity.
typedef enum drag_kind { DRAG_LINEAR, DRAG_QUADRATIC, DRAG_AS_PUBLISHED } drag_kind;

/// What a fluid does at a point of a link.
typedef struct scene_drag {
    int link;
    double point[3], axis[3];  // m, and a unit vector: link frame
    drag_kind law;
    double damping, axial;  // N s/m: in all directions, and what there is more of it along the axis; quadratic: N s^2/m^2; as
                            // published: kg
    double displaced;       // kg of fluid, whose weight it loses
    bool added;             // it goes along with the link
    scene_place at;         // of what says so
} scene_drag;

/// Fluid that goes along with a link, kg, about its centroid (m, link frame): second moments xx yy zz xy xz yz, kg m^2.
typedef struct scene_added {
    double mass, center[3], second[6];
} scene_added;

/// `fluid:`.
typedef struct scene_fluid {
    double density, current[3];  // kg/m^3; m/s, world
    fluid_stream stream;         // how the current varies
    scene_drag *drag;
    int ndrag;
    scene_added *added;  // [nlink]; NULL: none
} scene_fluid;

/// Points along an axis or an edge, at most; corners of a mesh that touch, at most, and where nothing is said.
enum { MOST_EDGE_POINTS = 64, MOST_MESH_POINTS = 128, MESH_POINTS = 24, MOST_CAPACITY = 65536 };

/// One of `obstacles:`, fixed in the world: a shape, of a mesh its convex hull, and its friction.
typedef struct scene_obstacle {
    char *name;
    scene_shape shape;
    mesh_hull hull;
} scene_obstacle;

/// `terrain:`.
typedef struct scene_terrain {
    int columns, rows;             // 0: there is none
    double *heights;               // [rows][columns], m above its position; the first row has the highest y
    double size[2], position[3];   // m, from its first node to its last; of its middle
    double rotation[4], friction;  // as of a shape
    unsigned layers;               // likewise
    double color[3];
    bool hidden;
} scene_terrain;

/// What shapes of links touch: what is fixed in the world, those of other links, or both.
typedef enum contact_between { BETWEEN_WORLD, BETWEEN_LINKS, BETWEEN_ALL } contact_between;

/// One of `pairs:`, two links that touch whatever else is said.
typedef struct scene_pair {
    int a, b;                            // links
    double friction, depth, stiffness;  // m, N/m; NAN: as usual
    scene_place at;
    const char *file;  // owned by the scene
} scene_pair;

/// One of `exclude:`, two links that do not touch, or, b -1, all those that hang on a link, and itself.
typedef struct scene_apart {
    int a, b;
} scene_apart;

/// A point that a tendon goes through, and by how much the way to the next one counts; 0: a branch ends here.
typedef struct scene_waypoint {
    int link;             // -1: the world
    double at[3], share;  // m, link frame
} scene_waypoint;

/// One of `loops:`, `couplings:`, `tendons:`, or of `springs:` between links.
typedef struct scene_bond {
    bond_kind kind;
    char *name;                // NULL: none
    const char *list;          // the key that it stands under
    int number, entry;         // of its kind; in the list of its file
    int a, b;                  // links; -1: the world; of a coupling the one that follows, and the one that it follows, -1: none
    double at_a[3], at_b[3];   // m, link frames
    bool placed[2];            // which of these are given; the other one is where the first is at the start
    double axis[3];            // a unit vector, frame of a
    bool turned;               // `relative` is given; else it is as at the start
    double relative[4];        // of a weld: how b is turned in the frame of a
    double length, stiffness, damping, compliance;  // NAN: not given
    double rest[2];  // m, of springs and tendons: slack from the first to the second; NAN: as long as at the start
    double poly[5], range[2];
    bool pulls;           // of a tendon: its stiffness, damping or range is given
    int *joints, njoint;  // of a tendon: links
    double *shares;       // [njoint] m/rad or 1
    scene_waypoint *points;  // [npoint], of a tendon along a path or a spring
    int npoint;
    scene_place at;
    const char *file;  // owned by the scene
} scene_bond;

/// `ground:`, `obstacles:`, `terrain:` and `contact:`.
typedef struct scene_contact {
    contact_between between;
    bool ground;
    scene_obstacle *obstacles;
    int nobstacle;
    scene_terrain terrain;
    double height, normal[3];  // m, along a unit vector
    unsigned layers;           // of the ground
    double friction;           // of Coulomb
    double torsional, rolling;  // m, of torsional and rolling friction
    double depth, relaxation;  // m, s; NAN: chosen by sim/model/contact_points.c
    int capacity;              // places where links touch each other that a world may look at; 0: as many as there is room for
    int mesh_points;           // of meshes that do not say how many of their corners touch; 0: as many as are needed
    bool published;            // the law is that of [Pan, Manocha 2018], in the place of these
    double D1, D2;             // N/m, kg/m^2, of its energy D1 d^2 + D2 d^2 |u|^2, u the velocity along the ground
    scene_place at;            // of `contact`, else of what there is to touch
} scene_contact;

/// What `sample:` draws numbers for; a kind of parameters is SAMPLE_PARAMETER + ctn_parameter_kind.
typedef enum sample_of {
    SAMPLE_Q,
    SAMPLE_V,
    SAMPLE_FORCE,
    SAMPLE_PARAMETER,
    SAMPLES = SAMPLE_PARAMETER + PARAMETER_KINDS  // springs, forces and the time step are not drawn
} sample_of;

/// How a number is drawn.
typedef struct scene_spread {
    enum { SPREAD_NONE, SPREAD_UNIFORM, SPREAD_NORMAL, SPREAD_LATIN, SPREAD_GRID } kind;
    int values;      // of a grid
    double a, b;     // normal: mean, standard deviation; others: from a to b
    int64_t place;   // where the file says it: grids vary in this order
    int64_t stride;  // of a grid: worlds from one value to the next; the first degree of freedom's, the others follow
} scene_spread;

/// What a term of a reward is of: scene_reward.c has what each one may be told.
typedef enum reward_term {
    REWARD_PROGRESS,    // m, of a point along an axis since the start
    REWARD_SPEED,       // m/s, of a point along an axis; with a target the square of what is missing, m^2/s^2
    REWARD_HEIGHT,      // m, of a point; with a target likewise, m^2
    REWARD_UPRIGHT,     // cosine between an axis of a link and up
    REWARD_REACH,       // m, of a point from its target
    REWARD_POSTURE,     // rad^2 or m^2, of joints from where the scene starts
    REWARD_EFFORT,      // N^2 m^2 or N^2, of what motors give along joints
    REWARD_ENERGY,      // W, of their power, whatever its sign
    REWARD_SMOOTHNESS,  // squares of the rates of what motors are told
    REWARD_ALIVE,       // 1 while a link is between two heights
    REWARD_TERMS
} reward_term;

/// A term of `reward:`.
typedef struct scene_reward {
    reward_term term;
    double weight;
    bool at_end;               // of the last state, else over time
    double from, to;           // s
    int link;                  // -1: of the centre of mass of all links, or of none
    double point[3], axis[3];  // m, link frame; a unit vector, of the world, or of `upright` of the link
    double target[3];          // m/s, m, of `reach` a point of the world; [0] NAN: none
    double above, below;       // m, or infinite
    bool ends;                 // where it is not alive the world's episode ends
    int *joints, njoint;       // links; NULL: all joints, of `posture` but free ones
} scene_reward;

typedef enum scene_camera_type { CAMERA_ORBIT, CAMERA_TRACK, CAMERA_FIRST_PERSON } scene_camera_type;

/// Where pictures are taken from. NAN: not given.
typedef struct scene_camera {
    char *name;  // NULL: none
    scene_camera_type type;
    int link;          // -1: none. orbit: what it looks at; track: what it follows; first-person: what it is on
    double target[3];  // orbit without a link: world, m; [0] NAN: the middle of the scene
    double azimuth, elevation, distance;  // orbit, track: from there to the camera; rad, m
    double smooth;                        // track: s, by which it lags behind
    double position[3], look[3], up[3];   // first-person: link frame; m, unit vectors
    double field;                         // rad, of view, vertical
} scene_camera;

enum {
    SCENE_MAX_PROBLEMS = 20,
    SCENE_MAX_OTHERS = 200,  // problems that are counted but not listed
};

/// An error or a warning.
typedef struct scene_problem {
    int file;  // index in ctn_scene.files
    int line, column;
    ctn_status status;  // CTN_OK: a warning
    int key;            // bytes of the text that are the key
    bool once;          // a warning of a robot file, of which each kind is told once,
    int more;           // and how many more there were
    char text[400];     // "key.path: ..."
} scene_problem;

typedef struct scene_problems {
    scene_problem list[SCENE_MAX_PROBLEMS];
    int count;
    struct {
        int file, line, column;
    } others[SCENE_MAX_OTHERS];  // places of those that found no room
    int nother;
} scene_problems;

/// A file that a scene was read from.
typedef struct scene_file {
    char *path, *text;
    size_t length;  // of what it said; a terminating zero follows
    bool mesh;      // or a table: its bytes are numbers, perhaps: no text for people
} scene_file;

/// What a scene means where it does not say, in versions, so that recordings keep their meaning. 1: limits are undamped; 2:
/// sim/model/compile.c damps them.
enum { SCENE_DEFAULTS = 2 };

struct ctn_scene {
    char *path;  // as given, the name in messages
    char *name;
    scene_problems warnings;
    ctn_error warned;  // the same, listed
    int defaults;      // their version
    double gravity[3];
    double duration;          // s, negative: not given
    ctn_batch_config config;  // the `integrator:` section over the defaults
    scene_place settings[SETTINGS];  // where it says them, or where `integrator` or the scene starts; line 0: no file
    scene_link *links;
    int nlink, nq, nv;
    scene_load *loads;  // springs first
    int nload, nspring;
    scene_motor *motors;
    int nmotor;
    scene_signal *signals;
    int nsignal;
    scene_gait *gaits;
    int ngait;
    scene_table *tables;
    int ntable;
    scene_sensor *sensors;
    int nsensor;
    scene_controller controller;
    scene_search search;
    scene_fluid fluid;
    scene_contact contact;
    scene_pair *pairs;
    int npair;
    scene_apart *apart;
    int napart;
    scene_bond *bonds;
    int nbond;
    bool sampled;                   // there is a section `sample:`
    int seed;                       // of it
    scene_spread
        *spread[SAMPLES];  // [nlink], every degree of freedom of a joint alike; gravity, current [3]; NULL: nothing is drawn
    scene_reward *reward;
    scene_optimize optimize;
    int nreward;
    int64_t grid;                   // worlds after which the grids start again, 1 without
    scene_file *files;              // every file read, [0].path = path
    int nfile;
    scene_mesh **meshes;  // in the order in which shapes name them
    int nmesh;
    scene_camera *cameras;
    int ncamera;
    double floor;  // of pictures, m above the origin; NAN: not given, -infinity: there is none
};

/// Whether there is anything fixed to touch.
bool has_surfaces(const scene_contact *contact);

/// Reads a scene as ctn_scene_load does, from what its files [count] said once, as ctn_scene has them: the disk is not looked at.
ctn_scene *scene_from_files(const scene_file *files, int count, ctn_error *err);

/// Whether the file still says what was read from it; false too if it cannot be read.
bool scene_file_stands(const scene_file *file);

/// Where a joint is that follows another one at q, by its polynomial, and how much faster it moves than that.
double follower_at(const double poly[5], double q, double *slope);

/// Adds a warning about a link to the scene's list, for one of its keys ("joint.damping"): at the place of its value in the
/// link's file; NULL: where the link starts.
void scene_warn(ctn_scene *scene, const scene_link *link, const scene_place *at, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/// `why` the scene's method is refused, an error of ctn_batch_check, with the place in the file. Returns its status.
ctn_status scene_refuse(const ctn_scene *scene, const ctn_error *why, ctn_error *err);

/// Number of coordinates and of degrees of freedom of a joint type.
int joint_nq(ctn_joint_type type);
int joint_nv(ctn_joint_type type);
const char *joint_name(ctn_joint_type type);

/// "position", "velocity", "torque", "thrust" or "moment".
const char *motor_type_name(motor_type type);
motor_traits scene_motor_traits(const scene_motor *motor);

/// What a signal is, in words: "sine 4 at 0.5 Hz".
const char *signal_words(const scene_signal *signal, char text[64]);
/// "sinusoids", "spline", "gait", "linear" or "tanh"; and how many parameters such a controller has.
const char *controller_type_name(controller_type type);
int scene_controller_parameters(const ctn_scene *scene, const scene_controller *controller);

/// How many numbers a sensor of a scene has, and all of them together.
int scene_sensor_size(const ctn_scene *scene, int sensor);
int scene_sensor_numbers(const ctn_scene *scene);

/// "progress", "speed", ...
const char *cost_term_name(cost_term term);  // likewise, of a cost
const char *reward_term_name(reward_term term);

/// "orbit", "track" or "first-person".
const char *camera_type_name(scene_camera_type type);

#endif
