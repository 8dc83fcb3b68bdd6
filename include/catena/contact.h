/// Contact points: where links touch the ground and what else is fixed in the world, and what they feel there.
#ifndef CATENA_CONTACT_H
#define CATENA_CONTACT_H

#include <catena/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CTN_SURFACE_LINKS = -1 };

/// A contact point of a model: a ball on a link, of a sphere or the axis of a capsule, or a point on an edge of a box; and one of
/// the surfaces that it may touch. A ball has an entry for each surface. Where links touch each other every link has one entry
/// more, of all that other links do to it: its surface is CTN_SURFACE_LINKS, and its other numbers are 0.
typedef struct ctn_contact_point {
    int link;
    double point[3];   // m, link frame: the middle of the ball, or the corner
    double radius;     // m; 0: a corner
    double friction;   // of Coulomb
    double stiffness;  // N/m, of the surface below it
    int surface;       // of ctn_model_surface, or CTN_SURFACE_LINKS
} ctn_contact_point;

/// What a contact point does.
typedef enum ctn_touch {
    CTN_APART,   // it feels no force
    CTN_STICKS,  // friction holds it
    CTN_SLIDES,
} ctn_touch;

enum { CTN_CONTACT_NUMBERS = 11 };  // of one point: position, force, depth, ctn_touch, torque

/// The name of a surface: "ground" (0); of the scene's obstacles in its order, from 1 on, and then "terrain" of the field of
/// heights. NULL for others, and for a NULL; of 0, too, where the scene has no ground. Owned by the model.
CTN_API const char *ctn_model_surface(const ctn_model *model, int surface);

/// Contact points of a model: 0 where there is nothing to touch.
CTN_API int ctn_model_ncontact(const ctn_model *model);

/// Point `contact` in 0 .. ncontact-1; in the order of the links, of their shapes, of the points of each, of surfaces; then, where
/// links touch each other, one for each link. False outside, or for a NULL; nothing is written then.
CTN_API bool ctn_model_contact(const ctn_model *model, int contact, ctn_contact_point *point);

/// What all contact points of all worlds feel at the end of the step made last: values [worlds][ncontact][CTN_CONTACT_NUMBERS].
/// Of each the place on the ball that is the deepest (m, world axes); the force of what it touches on the link there, normal and
/// friction (N, world axes); how deep it is in that (m; below 0: how far off); a ctn_touch; and the torque of torsional and rolling
/// friction on the link (N m, world axes). The normal force is that of the method's last solution, or of its last stage; friction that
/// of the bristles as they are bent then (docs/theory.md 4.12). After ctn_batch_set_state bristles are
/// unbent, and the force is that of the depth and its rate. Of CTN_SURFACE_LINKS the sum of what other links do to a link, all 0
/// while none touches it: the middle of the places, each counted as its force is large (ctn_batch_touches has them one by one);
/// CTN_STICKS if one sticks; the torque of all forces about that middle. Returns CTN_BAD_ARGUMENT for a NULL; CTN_NO_MEMORY and CTN_UNAVAILABLE of batches on a device only.
CTN_API ctn_status ctn_batch_contacts(ctn_batch *batch, double *values, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
