/// What acts between links: pairs of shapes that touch each other, and the equations of loops and couplings.
#ifndef CATENA_BETWEEN_LINKS_H
#define CATENA_BETWEEN_LINKS_H

#include <catena/batch.h>
#include <catena/contact.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Two shapes of links that may touch.
typedef struct ctn_pair {
    int link_a, link_b;
    int shape_a, shape_b;  // which of the link's, in the scene's order
    double friction;       // of Coulomb
    double stiffness;      // N/m, of each place where they touch
} ctn_pair;

/// A place where two shapes touch: a corner or end of one, or an edge of both.
typedef struct ctn_link_touch {
    int pair, element;  // of ctn_model_pair; which place of the pair, a number that stays while it slides
    int link_a, link_b;
    double point[3];   // m, world axes: in the middle of the gap
    double normal[3];  // from b to a
    double force[3];   // N, world axes: on a, normal and friction; the opposite acts on b
    double depth;      // m, of one in the other
    ctn_touch touch;   // CTN_STICKS or CTN_SLIDES
} ctn_link_touch;

/// How many pairs of shapes of a model may touch: 0 unless its scene has `contact: {between: links}` or `all`, or `pairs`.
CTN_API int ctn_model_npair(const ctn_model *model);

/// Pair 0 .. npair-1. False outside, or for a NULL; nothing is written then.
CTN_API bool ctn_model_pair(const ctn_model *model, int pair, ctn_pair *to);

/// Where links of a world touch each other at the end of the step made last, in the order of pairs and their places: the first
/// `room` go to list, which may be NULL if room is 0. *count: how many there are. Forces are those of the step (docs/theory.md
/// 4.14). Returns CTN_BAD_ARGUMENT for a NULL or a world that is not there, CTN_NO_MEMORY.
CTN_API ctn_status ctn_batch_touches(ctn_batch *batch, int world, ctn_link_touch *list, int room, int *count, ctn_error *err);

/// How many equations a model's loops and couplings have: 3 of a point, 5 of a hinge or slider, 6 of a weld, 1 of a distance or a
/// coupling; first those of loops, then couplings, each in the order of the scene.
CTN_API int ctn_model_nequation(const ctn_model *model);

/// The forces of these equations in the step made last, values [worlds][nequation]: N along the axes of the world where they
/// say that two points are one, on link a; N m over the loop's `length` where they say how frames are turned; N m or N of
/// couplings, on the joint that follows. Sensors of loops have them as force and torque (catena/sensors.h). Returns
/// CTN_BAD_ARGUMENT for a NULL, CTN_NO_MEMORY.
CTN_API ctn_status ctn_batch_equation_forces(ctn_batch *batch, double *values, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
