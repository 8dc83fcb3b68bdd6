/// Models without a scene file: a tree by its parents, and what each link is.
///
///     static void bend(void *context, int i, ctn_link_spec *link) { link->q0[0] = 0.1 * (i % 2); }
///
///     ctn_tree_spec spec = ctn_tree_spec_default();
///     spec.links = 1000000, spec.parent = parent;  // -1, 0, 1, ...: a rope
///     spec.like.joint = CTN_UNIVERSAL, spec.like.position[0] = 0.01, spec.like.mass = 0.001;
///     spec.link = bend;
///     ctn_model *rope = ctn_model_from_parents(&spec, &err);
#ifndef CATENA_TREE_H
#define CATENA_TREE_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The most links that a tree can have. A link on a universal joint takes 1.3 kB, and half as much again while the model is made.
enum { CTN_MAX_TREE_LINKS = 4194304 };

/// What a link is and how it hangs on its parent, as the keys of the same names in a scene (docs/scene.md).
typedef struct ctn_link_spec {
    const char *name;      // copied, at most 255 bytes, unlike all others'; NULL: its number, "0", "1", ...
    double position[3];    // m, the link frame in the parent's, all coordinates zero
    double rotation[4];    // quaternion w x y z, likewise; any length from 1e-6
    ctn_joint_type joint;  // free: only on the world
    double axis[3];        // revolute, prismatic, helical, universal: in the link frame; any length from 1e-6
    double axis2[3];       // universal: not parallel to `axis`
    double pitch;          // helical, m/rad
    double mass;           // kg, >= 0; 0: it carries others, or is fixed
    double com[3];         // m, link frame
    double inertia[6];     // kg m^2 about the centre of mass, link axes: xx yy zz xy xz yz (matrix entries)
    double damping;        // >= 0, N m s/rad or N s/m, of each degree of freedom
    double stiffness;      // >= 0, N m/rad or N/m, towards coordinates of zero; not of free joints
    double armature;       // >= 0, kg m^2 or kg; of free joints both
    double q0[7];          // first coordinates; [0] NAN: zero, no rotation, of a free joint position and rotation
    double v0[6];          // first velocities
} ctn_link_spec;

/// Changes `link`, a copy of what every link is, into link `i`. What it points to must stand until the
/// call of ctn_model_from_parents is over.
typedef void (*ctn_link_filler)(void *context, int i, ctn_link_spec *link);

/// A tree of links.
typedef struct ctn_tree_spec {
    const char *name;      // of the model, copied
    int links;             // 1 to CTN_MAX_TREE_LINKS
    const int *parent;     // [links], of each link one before it; -1: the world
    ctn_link_spec like;    // what every link is, but for what `link` says
    ctn_link_filler link;  // called once for each link, in order; NULL: all are alike
    void *context;         // for `link`
    double gravity[3];     // m/s^2, world axes
} ctn_tree_spec;

/// No links; `like`: a revolute joint about z at the parent's origin, no mass, at rest; gravity 9.81 m/s^2 downwards, along -z.
CTN_API ctn_tree_spec ctn_tree_spec_default(void);

/// The model of a tree, the same to the last bit as that of a scene with these links. NULL on error: CTN_BAD_ARGUMENT, with a
/// message that names the first link that is wrong (its parent is none before it, or hangs on it; a number is not finite; it, or
/// what it moves, can have no such mass or inertia), or CTN_NO_MEMORY. The model keeps nothing of the spec; free it with
/// ctn_model_free.
CTN_API ctn_model *ctn_model_from_parents(const ctn_tree_spec *spec, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
