/// The compiled model, built by sim/model/compile.c. Kernels read it with the constants of each lane's world in it
/// (lane_model.h).
///
/// A *body* is one elementary joint with the rigid mass that moves behind it. Joints of several degrees of freedom are runs of
/// elementary ones: universal = two revolutes, planar = two prismatics and a revolute, free = translation and ball; the bodies
/// inside such a run have no mass and no offset. Links fixed to others are part of their body. Bodies stand in depth-first
/// order, the heaviest subtree first, so that most parents are the body just before.
///
/// Frames: the z axis of a body is its joint axis. x is free to choose for joints that turn about z, and is chosen so that the
/// step to the next body is a rotation about x where that is possible (the rule of Denavit and Hartenberg, without moving
/// origins): half the products of a rotation vanish. All q, v, outputs stay in the user's frames and order.
#ifndef CATENA_DYNAMICS_MODEL_H
#define CATENA_DYNAMICS_MODEL_H

#include <catena/model.h>

#include "dynamics/between.h"

#include <stdbool.h>

/// Angles beyond this lose digits in the reduction to a quarter turn (trig.h); a world that goes there is frozen. rad
#define CTN_MAX_ANGLE 1.0e6

/// Likewise by how much a joint may turn in one step, whose whole turns do not count (integrators/turns.h): nothing that a step
/// tells of is left of such a motion. rad
#define CTN_MAX_TURN 1.0e4

typedef enum joint_kind {
    JOINT_REVOLUTE,     // S = (z, 0)
    JOINT_PRISMATIC,    // S = (0, z)
    JOINT_HELICAL,      // S = (z, pitch z)
    JOINT_BALL,         // S = (1, 0): v in body axes, q a quaternion w x y z
    JOINT_TRANSLATION,  // S = (0, 1): only on the world, world axes
    JOINT_NONE,         // no joint: a port, where lanes go over to other parts of a tree (sim/along/plan.h)
} joint_kind;

enum body_flag {
    BODY_ROOT = 1,         // hangs on the world
    BODY_NEXT = 2,         // its parent is the body just before
    BODY_LEAF = 4,         // no children
    BODY_FORK = 8,         // has children besides the next body
    BODY_LAST = 16,        // not NEXT, and the first to hand something to its parent on the way inwards
    BODY_MASS = 32,        // mass properties are not zero
    BODY_OFFSET = 64,      // origin off the parent's origin
    BODY_ABOUT_X = 128,    // the joint frame is the parent's turned about x: use ca, sa
    BODY_PASSIVE = 256,    // has damping, springs, limits, friction or a motor
    BODY_SPRING = 512,     // has springs or limits
    BODY_ARMATURE = 1024,  // has armature
    BODY_LOAD = 2048,      // has loads on points
    BODY_HELD = 4096,      // it, or a body of its subtree
    BODY_MOTOR = 8192,     // has a motor
    BODY_SERVO = 16384,    // it is a servo of position, and stores energy
    BODY_FRICTION = 32768,  // has dry friction
    BODY_SYMMETRIC = 65536,  // its mass lies alike about the axis of its hinge; or about an axis there, alone on a ball joint of the world
    BODY_TILTS = 131072,     // likewise, and that axis may turn
    BODY_ROUND = 262144,     // a leaf on a ball joint whose mass lies alike about all axes there
    BODY_TOP = 524288,       // another body alone on a ball joint of the world, or free
    BODY_PINNED = 1048576,   // likewise, of the world
    BODY_CARRIED = 2097152,  // a ROUND one, by links that turn
};

/// Bodies by the shape of their joint: kernels are compiled for each of these apart, so that they need not test flags (joints.h).
typedef enum body_form {
    FORM_HINGE,        // a hinge within a chain: revolute, flags FORM_HINGE_FLAGS, neither leaf nor fork
    FORM_CROSS_FIRST,  // the first axis of a universal joint within a chain
    FORM_CROSS_LAST,   // its second axis
    FORM_REVOLUTE,     // other revolute joints
    FORM_OTHER,
} body_form;
enum {
    FORM_HINGE_FLAGS = BODY_NEXT | BODY_MASS | BODY_OFFSET | BODY_ABOUT_X,
    FORM_CROSS_FIRST_FLAGS = BODY_NEXT | BODY_OFFSET | BODY_ABOUT_X,
    FORM_CROSS_LAST_FLAGS = BODY_NEXT | BODY_MASS | BODY_ABOUT_X,
    FORM_FLAGS = BODY_ROOT | BODY_NEXT | BODY_LEAF | BODY_FORK | BODY_LAST | BODY_MASS | BODY_OFFSET | BODY_ABOUT_X |
                 BODY_LOAD,  // that count
};

/// How a body is joined to the tree: the same in every world.
#define BODY_STRUCTURE                                                                                                           \
    int kind; /* joint_kind */                                                                                                   \
    body_form form;                                                                                                              \
    int parent;     /* body, -1: the world */                                                                                    \
    int end;        /* the body after the last one of its subtree */                                                             \
    int qadr, vadr; /* a parent's are before its children's */                                                                   \
    int dof;        /* the first of its degrees of freedom, counted in the order of the bodies */                                \
    unsigned flags;                                                                                                              \
    int nv;                                                                                                                      \
    int load, loads_end; /* BODY_LOAD: its loads, from the first to before the last */                                          \
    int motor;           /* BODY_MOTOR: which */

/// Likewise, as numbers of the type `length`: double here, model_length in lane_model.h.
#define BODY_LENGTHS(length)                                                                                                     \
    length ca, sa;     /* BODY_ABOUT_X: cos and sin of the turn about the parent's x */                                          \
    length rest_angle; /* added to q of a joint about z ... */                                                                   \
    length quarter;    /* ... and so many quarter turns, exactly */                                                              \
    length r0[3];      /* joint origin in the parent's frame, m */                                                               \
    length C[9];       /* joint frame in the parent's frame, row-major */                                                        \
    length pitch;      /* helical, m/rad */                                                                                      \
    length axis[3];    /* BODY_SYMMETRIC: about which its mass lies alike */

/// What may differ from world to world (catena/parameters.h), as numbers of the type `number`: double here, a lane in
/// lane_model.h.
#define BODY_CONSTANTS(number)                                                                                                   \
    number mass;             /* kg */                                                                                            \
    number h[3];             /* first moment of mass, kg m */                                                                    \
    number S[6];             /* second moment of mass about the origin, kg m^2: xx yy zz xy xz yz */                             \
    number I[6];             /* rotational inertia about the origin, kg m^2: xx yy zz xy xz yz */                                \
    number armature;         /* kg m^2 or kg */                                                                                  \
    number damping[3];       /* N m s/rad or N s/m */                                                                            \
    number stiffness;        /* N m/rad or N/m */                                                                                \
    number rest[4];          /* rad or m; ball: quaternion */                                                                    \
    number limit[2];         /* lo, hi; ball: 0, half angle of the cone about rest; +-infinity: none */                          \
    number limit_k, limit_b; /* stiffness and damping of the limits */                                                            \
    number friction;         /* N m or N: dry */                                                                                 \
    number presliding;       /* rad or m: how far it gives before it slides */

/// Likewise, of all that hangs on a body and the body itself.
#define SUBTREE_CONSTANTS(number)                                                                                                \
    number extent;         /* m, its scale: radii of gyration and offsets added up, strokes of sliding joints left out */        \
    number inv_size;       /* 1/m, of the body alone: its radius of gyration about its origin, or its arm if that is longer */   \
    number link_share;     /* of force_scale[1]: what the inertia of the link at the joint makes of it */                        \
    number subtree_mass;   /* kg */                                                                                              \
    number force_scale[2]; /* scales of a residual row (theory.md 3.3): m g L^r and m L^(1+r), r = 1 for rotations */            \
    number held[2];        /* N/m, N s/m: stiffness and damping of all its loads */

/// Likewise, of the model as a whole.
#define WORLD_CONSTANTS(number)                                                                                                  \
    number mass;            /* kg, of all links */                                                                               \
    number gravity[3];      /* m/s^2 */                                                                                          \
    number fixed_moment[3]; /* sum of mass * com of the links fixed to the world, kg m */                                        \
    number ground[4];       /* a unit normal, and the height along it, m */                                                      \
    number relaxation;      /* s, of contact */                                                                                  \
    number pair_friction;   /* what the friction of pairs of links is times, and their stiffness */                              \
    number pair_grip;

typedef struct world_constants {
    WORLD_CONSTANTS(double)
} world_constants;
enum { WORLD_NUMBERS = sizeof(world_constants) / sizeof(double) };

typedef struct body_constants {
    BODY_CONSTANTS(double)
    SUBTREE_CONSTANTS(double)
} body_constants;
enum { BODY_NUMBERS = sizeof(body_constants) / sizeof(double) };

typedef struct ctn_body {
    BODY_STRUCTURE
    BODY_LENGTHS(double)
    BODY_CONSTANTS(double)
    SUBTREE_CONSTANTS(double)
} ctn_body;

enum load_flag {
    LOAD_TURNS = 1,    // has a torque
    LOAD_FOLLOWS = 2,  // its force and torque are in the axes of its link, and turn with it; else in those of the world
    LOAD_AXIAL = 4,    // its damping along an axis of its body differs from that across; with neither of the others
    LOAD_TOUCHES = 8,  // a rounded point and what it touches (contact/law.h), and nothing else
    LOAD_SLIPS = 16,   // drag by the velocity against a current (forces/drag.h), and nothing else; perhaps LOAD_AXIAL, and one of
    LOAD_SQUARE = 32,  // ... by its square
    LOAD_PUBLISHED = 64,  // ... over the step size
    LOAD_ADDED = 128,     // takes the weight off an added mass, as energy of gravity
    LOAD_DRIVEN = 256,    // of a thruster whose target moves: force and torque are those of a target of 1
};

/// A load on a point of a body: a spring and damper to a point of the world, and a wrench; or a contact point. What is the same
/// in every world, and what may differ.
#define LOAD_STRUCTURE                                                                                                           \
    int body, number;   /* that it has in the scene: springs, forces, its fluid, then what a batch adds */                       \
    int link;           /* that the scene names, of the body */                                                                  \
    unsigned flags;     /* load_flag */                                                                                          \
    int motor;          /* of a thruster: which motor, counted from 1; 0: it is none */                                          \
    double push[6];     /* of a thruster: its force, N, and torque, N m, for a target of 1, in link axes */                      \
    int contact;        /* LOAD_TOUCHES: which of the model's contact points, as the next eight */                                \
    int surface;        /* what it touches: 0 the ground, else of the model's surfaces, counted from 1 */                        \
    int first;          /* whether it is the first entry of its point, which has one for each surface that it may touch */       \
    int opposite;       /* of a box: how many loads on the point stands that is opposite to it; 0: of no box */                  \
    int group, met;     /* of the first entry of a shape: how many it has, and how many of each point; else 0 */                 \
    double ball[4];     /* m, likewise: the middle, body frame, and the radius of a ball that has all of its points */           \
    double displaced;   /* kg, of fluid or added, whose weight is taken off in `force` */                                        \
    double bears, rest; /* N, m: the weight of its tree, which makes it sink so deep */                                          \
    int rubs;           /* whether its friction is its shape's own, not the ground's */                                          \
    int rolls;          /* whether it has torsional or rolling friction */
#define LOAD_CONSTANTS(number)                                                                                                   \
    number stiffness, damping; /* N/m, N s/m; LOAD_SQUARE N s^2/m^2, LOAD_PUBLISHED kg, `axial` likewise; D2 of contact */       \
    number point[3];           /* m, body frame */                                                                               \
    number anchor[3];          /* m, world */                                                                                    \
    number force[3];           /* N */                                                                                           \
    number torque[3];          /* N m */                                                                                         \
    number axial, axis[3];     /* N s/m: damping along the axis beyond that across it; a unit vector, body frame */              \
    number flow[3];            /* m/s, world: of what it is axial or slips in; else it is in `force` */                          \
    number radius;             /* m, of a contact point, as the next two */                                                      \
    number grip;               /* N/m, its stiffness */                                                                          \
    number friction;           /* of Coulomb */                                                                                  \
    number torsional, rolling; /* m, torsional and rolling friction (contact/rolling.h) */

/// Gradients by friction and stiffness of every contact point, and by their relaxation (integrators/contact_adjoint.h); and by what
/// friction and stiffness of pairs of links are times (integrators/pair_adjoint.h).
#define CONTACT_GRADIENTS(ncontact) (2 * (size_t)(ncontact) + 3)

typedef struct point_constants {
    LOAD_CONSTANTS(double)
} point_constants;
enum { LOAD_NUMBERS = sizeof(point_constants) / sizeof(double) };

typedef struct point_load {
    LOAD_STRUCTURE
    LOAD_CONSTANTS(double)
} point_load;

/// What points touch besides the ground (contact/surface.h), fixed and the same in every world: solid bodies about a middle, and a
/// field of heights.
typedef enum surface_kind {
    SURFACE_SPHERE,
    SURFACE_CAPSULE,
    SURFACE_BOX,
    SURFACE_CYLINDER,
    SURFACE_TERRAIN,
    SURFACE_ELLIPSOID,
    SURFACE_HULL
} surface_kind;
typedef struct fixed_surface {
    surface_kind kind;
    double at[3], R[9];     // m, its middle; its axes are the columns
    double half[3];         // m, half its lengths; ellipsoid: radii; capsule, cylinder: [2], of the axis z; hull: of a ball in it
    double radius;          // m, sphere, capsule, cylinder
    double bound;           // m, of a ball about the middle that has all of it; terrain: its highest, above the middle
    int columns, rows;      // terrain, as the next one
    double spacing[2];      // m, along x, y
    int faces, groups;      // hull: how many, and of these (contact/hull_numbers.h)
    int count;              // of `numbers`, a part of the model's: terrain: [rows][columns] coefficients of the spline, m, the
    const double *numbers;  // first row has the lowest y; hull: faces with their sides (contact/hull.h)
} fixed_surface;

/// How a current differs from place to place and with time: the `flow` of loads is multiplied by a strength, which may move, and
/// by a share that goes by the height in the world, in lines through points.
enum { STREAM_POINTS = 16 };
typedef struct fluid_stream {
    double strength;
    int moves;   // the signal that is added to it, counted from 1; 0: none
    int points;  // 0: the share is 1
    double height[STREAM_POINTS], share[STREAM_POINTS], slope[STREAM_POINTS];  // m, rising; 1/m, up to the next point
} fluid_stream;

/// What the `target` of a motor is. From MOTOR_THRUST on motors are not on joints: they push a link (forces/thrust.h).
typedef enum motor_type { MOTOR_POSITION, MOTOR_VELOCITY, MOTOR_TORQUE, MOTOR_THRUST, MOTOR_MOMENT } motor_type;

/// The numbers of a motor that may move with time.
typedef enum motor_told { TOLD_TARGET, TOLD_VELOCITY, TOLD_FEEDFORWARD, MOTOR_TOLD } motor_told;

/// What a motor is told over time (forces/signals.h), the same in every world.
typedef enum signal_kind {
    SIGNAL_SINE,    // amplitude sin(2 pi c), c = frequency t + phase
    SIGNAL_STRIDE,  // amplitude cos: from 1 to -1 while c goes through the share `duty` of a cycle, and back in the rest
    SIGNAL_LIFT,    // amplitude sin^2: once up and down in the rest, 0 during the share `duty`
    SIGNAL_PIECES   // cubic polynomials between knots
} signal_kind;
typedef enum signal_hold { HOLD_NONE, HOLD_ZERO, HOLD_FIRST } signal_hold;

typedef struct ctn_signal {
    signal_kind kind;
    signal_hold hold;                   // what becomes of it between samples, which are `every` s apart
    double frequency, phase, amplitude; // Hz, cycles, the motor's unit; all but pieces, as the next
    double duty, ramp;                  // share of a cycle; s in which the amplitude grows, from t = 0 on
    double every;                       // s
    double period;                      // s after which pieces begin again, 0: never
    int count;                          // of knots
    const double *knots;                // [count] s, rising
    const double *pieces;               // [count + 1][4]: before the first knot, from each one on; by t - its knot
} ctn_signal;

/// A motor on a joint of one degree of freedom (forces/motors.h), on its own side of the gear, or on a ball
/// (forces/ball_motors.h), on a tendon, or a thruster on a link. What is the same in every world, and what may differ. What it is
/// told is one number, of a ball three.
#define MOTOR_STRUCTURE                                                                                                          \
    int body;   /* of a tendon one that it pulls at */                                                                           \
    int tendon; /* that it is on: which of the model's bonds, counted from 1; 0: none */                                         \
    int control; /* where among all targets its own are: ctn_model_targets() */                                                  \
    motor_type type;                                                                                                             \
    int moves[MOTOR_TOLD][3]; /* by motor_told: the signal that is added to the number, counted from 1; 0: none */               \
    int moving;               /* whether one of them is */                                                                       \
    int follows;              /* `velocity` is of a motion along `target`: the rate of its signal is added, too */               \
    int wound;                /* where in the state its integral term begins; -1: it has none */                                 \
    int fast;                 /* whether its speed is limited */
#define MOTOR_CONSTANTS(number)                                                                                                  \
    number kp, kd;         /* N m/rad or N/m, N m s/rad or N s/m */                                                              \
    number target[3];      /* rad or m; of a ball the turn from its zero frame, a rotation vector */                             \
    number velocity[3];    /* its target, rad/s or m/s; of a ball in link axes, as the next */                                   \
    number feedforward[3]; /* N m or N */                                                                                        \
    number effort;         /* the most that it gives, N m or N; infinity: no limit */                                            \
    number gear;           /* how far it turns while its joint turns by 1 */                                                     \
    number ki;             /* of its integral term: N m/rad s or N/m s; of a servo of velocity N m/rad or N/m */                 \
    number speed;          /* at which it drives no more, rad/s or m/s; infinity: no limit */                                    \
    number least;          /* of a thruster, N or N m: it gives what it is told from here to `effort` */

typedef struct motor_constants {
    MOTOR_CONSTANTS(double)
} motor_constants;
enum { MOTOR_NUMBERS = sizeof(motor_constants) / sizeof(double) };

typedef struct joint_motor {
    MOTOR_STRUCTURE
    MOTOR_CONSTANTS(double)
} joint_motor;

/// A link's frame in its body's frame.
typedef struct ctn_frame {
    int body;  // -1: the world
    double R[9], p[3];
} ctn_frame;

struct ctn_model {
    int nbody, nlink, nq, nv, nload;
    int nspring, nforce, ndrag;  // how many of the loads are the scene's `springs`, its `forces`, its fluid
    int nmotor;
    int ncontrol;  // numbers that all motors are told as targets
    int ncontact;  // how many of the loads are contact points
    int nbent;          // bristles of these: those that slide and, if any `rolls`, as many that turn
    bool published;     // they go by the law as published (contact/law.h)
    double depth;  // m, the largest `rest` of these
    bool critical;      // they are damped critically from there
    int nsurface;  // of what they touch, but for the ground
    bool plane;    // there is a ground
    fixed_surface *surfaces;  // [nsurface]
    char **surface_names;     // [nsurface]
    double *surface_numbers;  // [nnumber], of hulls, then of the terrain
    size_t nnumber;
    ctn_body *bodies;   // [nbody]
    point_load *loads;  // [nload], by body
    joint_motor *motors;  // [nmotor], in the order of the scene
    int nwound;           // numbers of their integral terms
    int nsignal;
    ctn_signal *signals;     // [nsignal]
    double *signal_numbers;  // their knots and pieces
    struct model_sensor *sensors;  // [nsensor], likewise: dynamics/sensor.h
    int nsensor;
    struct model_controller *controller;  // sim/model/controller.h; NULL: there is none
    ctn_frame *frames;  // [nlink]
    ctn_link *links;    // [nlink], as the user sees them
    int *dof_adr;       // [nv] index in v of the degrees of freedom in the order of the bodies
    bool in_order;      // it is 0, 1, 2 ...
    bool passive;       // a body is BODY_PASSIVE
    bool rubs;          // a body is BODY_FRICTION
    bool turns;         // one turns freely (integrators/turns.h), or could
    bool spins;         // likewise one is seen from frames that turn with it (integrators/turning_frame.h)
    bool skew;          // and what these make of the matrix of a step is not symmetric
    bool fast;          // a motor has a limit of its speed
    bool slides;        // a body slides, or turns on a helix, on another one
    bool slips, adds;   // a load is LOAD_SLIPS, LOAD_ADDED
    bool driven;        // or LOAD_DRIVEN
    touch_shape *touch_shapes;  // [ntouch_shape], as the next three of dynamics/between.h
    touch_pair *touch_pairs;    // [npair]
    model_bond *bonds;          // [nbond]
    bond_joint *bond_joints;    // [nbond_joint]
    bond_point *bond_points;    // [nbond_point]
    int touch_capacity;         // places of pairs that a world may look at in a step; 0: as many as there is room for
    double *touch_numbers;      // [ntouch_number], of touch_shapes
    size_t ntouch_number;
    int ntouch_shape, npair, nbond, nbond_joint, nbond_point;
    matrix_node *matrix_nodes;  // [nmatrix_node], likewise; sim/model/matrix_order.c. NULL: nothing acts between bodies
    int *body_nodes, *body_columns;  // [nbody] which one is a body's, and where that begins
    int *bond_nodes;            // [nbond] likewise; 0: it has no equations
    matrix_group *matrix_groups;  // [nmatrix_group], where worlds eliminate in orders of their own; else there are none
    int *body_groups;           // [nbody]
    int nmatrix_node, nmatrix_group;
    int nslot, nrow;            // what the state has of them: memories of friction, and multipliers
    int nmet;                   // links of which recordings tell what other links do to them: all, or none
    fluid_stream stream;
    double current[3];  // m/s, of the fluid that drag is in
    WORLD_CONSTANTS(double)
    double *q0, *v0;  // [nq], [nv]
    char *name;
    char *names;  // storage of the link names
    struct name_table *by_name;  // of the links: sim/base/name_table.h
};

#endif
