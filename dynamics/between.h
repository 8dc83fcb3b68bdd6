/// What acts between bodies, compiled (sim/model/between.c): shapes of links that touch each other, closed loops, couplings of
/// joints, springs between links. The same in every world.
///
/// A shape that touches is what lies within `radius` of its core, which is convex. Two of them are a pair, which is a list of elements
/// (contact/pair_gap.h): corners and ends against the core of the other, edges against edges. What a pair remembers of
/// friction is in slots of the state, of which a pair has as many as it has elements, but PAIR_SLOTS at most: a slot notes of which
/// element it is.
///
/// A bond joins two bodies, or joints, by rows: equations c = 0 of loops and couplings, with a force for each row, its multiplier,
/// which the state has; and springs and dampers between links, along one row.
#ifndef CATENA_BETWEEN_H
#define CATENA_BETWEEN_H

#include <stdbool.h>

enum { PAIR_SLOTS = 16 };

typedef enum core_kind { CORE_POINT, CORE_SEGMENT, CORE_BOX, CORE_CYLINDER, CORE_ELLIPSOID, CORE_HULL } core_kind;

typedef struct touch_shape {
    core_kind kind;
    int body;            // -1: the world
    int link, number;    // of the scene, and which of the link's shapes
    double at[3], R[9];  // m, the middle of the core; its axes are the columns; body frame
    double half[3];  // m; segment: [2], along z; cylinder: [2] along z, [0] its radius; ellipsoid: radii; hull: of a ball in it
    double radius;       // m
    double bound;        // m, of the ball about the middle that has all of it
    /// Of a cylinder and a hull (sim/model/core_numbers.h): how many points stand for it where it touches another core,
    /// and of a hull how many edges, faces and groups of faces there are, and numbers that tell how far a point is.
    int points, edges, faces, groups, count;
    const double *numbers;  // [numbers_of_core()]: count of contact/hull.h, then of points, edges and faces (contact/touch_core.h)
} touch_shape;

/// The kind of a's core is not after that of b's; a point and a segment may come in any order.
typedef struct touch_pair {
    int a, b;  // of the model's touch_shapes; on different bodies
    int elements;
    int slot, slots;       // of the state
    double friction;       // of Coulomb
    double grip, slide;    // N/m, stiffness of the gap, and of bristles
    double weight, depth;  // N, m: of all that moves, and how deep that presses one element
} touch_pair;

typedef enum bond_kind {
    BOND_POINT,     // 3 rows: two points are one
    BOND_HINGE,     // 5: and two axes are one
    BOND_WELD,      // 6: two frames are one
    BOND_SLIDER,    // 5: frames are one, but for a way along z
    BOND_DISTANCE,  // 1: two points are `length` apart
    BOND_COUPLING,  // 1: q of a joint is a polynomial of another one's
    // no equations: a length with spring, damper, limits and a motor
    BOND_SPRING,  // of two points of two links
    BOND_TENDON,  // of joints: sum of shares[k] q[k]
    BOND_PATH     // of points that a tendon goes through, straight from each to the next
} bond_kind;

/// A body's dof of one coordinate.
typedef struct bond_joint {
    int body;
    double share;  // m/rad or 1
} bond_joint;

/// A point that a path goes through.
typedef struct bond_point {
    int body;      // -1: the world
    double at[3];  // m, body frame
    double share;  // of the way from here to the next point in the length; 0: none, a branch ends here
} bond_point;

typedef struct model_bond {
    bond_kind kind;
    int number;                   // in the scene's list of its kind: loops, couplings, springs, tendons
    int a, b;                     // bodies; -1: the world; of loops alone, as the next
    double at_a[3], at_b[3];      // m, body frames
    double axes_a[9], axes_b[9];  // row-major, whose columns are the axes; body frames; the hinge's axis is z
    double length;                // m: distance; weld, hinge, slider: of the rows that turn
    double rest[2];               // m: springs and tendons pull beyond the second and push below the first, which may be one
    double stiffness, damping;    // N/m, N s/m: springs; tendons
    double size;                  // m, that its equations are measured by
    double compliance;            // m/N or rad/(N m), of equations; 0: exact; of the stops of a range
    int row, rows;                // of the model's rows; springs have none
    int follower, leader;         // bodies of one degree of freedom; leader -1: the polynomial is a constant
    double poly[5];               // BOND_COUPLING: q_follower = sum poly[k] q_leader^k
    int joint, joints;            // BOND_TENDON: of the model's bond_joints
    int point, points;            // BOND_SPRING, BOND_PATH: of the model's bond_points
    double range[2];              // m, of the length of a tendon; infinite: none
    int motor;                    // on a tendon: which of the model's, counted from 1; 0: none
} model_bond;

/// Columns of the matrix of a step (integrators/joint_matrix.h) that are eliminated one after the other: the degrees of freedom
/// of a body, or the equations of a bond.
typedef struct matrix_node {
    int start, width;
    bool equations;
} matrix_node;

/// Nodes whose columns follow each other and are always joined to the same: the columns of a body, with those of bodies between it
/// and its root (integrators/world_order.h).
enum { MATRIX_GROUP = 6 };  // columns, at most
typedef struct matrix_group {
    int start, width;
} matrix_group;

#endif
