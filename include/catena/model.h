/// Models: a scene compiled for computing. Immutable, and shared by any number of batches and threads.
#ifndef CATENA_MODEL_H
#define CATENA_MODEL_H

#include <catena/scene.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_model ctn_model;

/// Joint types as in a scene. Coordinates follow MuJoCo: `q` of ball = quaternion w x y z, of free = position, quaternion;
/// `v` of ball = angular velocity in link axes, of free = velocity of the link origin in world axes, then angular velocity
/// in link axes.
typedef enum ctn_joint_type {
    CTN_FIXED,      // nq 0, nv 0
    CTN_REVOLUTE,   // 1, 1   rad
    CTN_PRISMATIC,  // 1, 1   m
    CTN_HELICAL,    // 1, 1   rad; moves pitch * q along the axis
    CTN_UNIVERSAL,  // 2, 2   rad about axis, then about axis2
    CTN_BALL,       // 4, 3
    CTN_PLANAR,     // 3, 3   x, y (m), angle (rad)
    CTN_FREE,       // 7, 6
} ctn_joint_type;

/// A link as its user sees it, in file order.
typedef struct ctn_link {
    const char *name;  // owned by the model
    int parent;        // link, -1: the world
    ctn_joint_type joint;
    int qadr, nq;       // its slice of q
    int vadr, nv;       // its slice of v
    double mass;        // kg
    double com[3];      // m, link axes
    double inertia[6];  // kg m^2, about the centre of mass, link axes: xx yy zz xy xz yz (matrix entries)
} ctn_link;

/// Compiles a scene. Returns NULL on error. The model keeps nothing of the scene; free it with ctn_model_free when no batch
/// and no dynamics object uses it any more.
CTN_API ctn_model *ctn_model_create(const ctn_scene *scene, ctn_error *err);

CTN_API void ctn_model_free(ctn_model *model);  // NULL is allowed

CTN_API const char *ctn_model_name(const ctn_model *model);
CTN_API int ctn_model_nq(const ctn_model *model);     // length of q
CTN_API int ctn_model_nv(const ctn_model *model);     // length of v, degrees of freedom
CTN_API int ctn_model_nlink(const ctn_model *model);  // links of the file, fixed ones too

/// Link `link` in 0 .. nlink-1, or NULL outside. Valid as long as the model.
CTN_API const ctn_link *ctn_model_link(const ctn_model *model, int link);

/// The link called `name`, or -1.
CTN_API int ctn_model_find(const ctn_model *model, const char *name);

/// The scene's initial state into q [nq] and v [nv]; either may be NULL.
CTN_API void ctn_model_initial_state(const ctn_model *model, double *q, double *v);

/// gravity [3] in world axes, m/s^2.
CTN_API void ctn_model_gravity(const ctn_model *model, double *gravity);

/// Where `count` configurations q [count][nq] come to with velocities v [count][nv] for the time h (s): out [count][nq], which
/// may be q. Balls and the rotations of free joints turn by exp(h v) about their body axes, every other coordinate adds h v.
/// Quaternions in q must have unit length; those in `out` have it.
CTN_API void ctn_model_integrate(const ctn_model *model, int count, const double *q, const double *v, double h, double *out);

/// The velocities v [count][nv] that take configurations `from` [count][nq] to `to` [count][nq] in one second, by the shorter way
/// round: what ctn_model_integrate takes back.
CTN_API void ctn_model_difference(const ctn_model *model, int count, const double *from, const double *to, double *v);

#ifdef __cplusplus
}
#endif
#endif
