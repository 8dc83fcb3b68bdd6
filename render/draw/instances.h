/// What a picture of a scene is made of: bodies of some kinds, each moved, stretched and coloured.
#ifndef CATENA_RENDER_INSTANCES_H
#define CATENA_RENDER_INSTANCES_H

#include "render/draw/meshes.h"

#include <catena/model.h>

/// A point p of the unit body stands at rotation (scale p +- half z) + position: + above, - below the cut.
typedef struct render_instance {
    float rotation[9];  // row-major
    float position[3];  // m
    float scale[3];     // m
    float half;         // m, of capsules and cylinders: half the length of the axis
    float color[3];     // 0 to 1, sRGB
    float fade;         // 0; above, to 1: how far it is seen through. Then it has no shadow
    float lift;         // 1: it lies over what is in the same place and has 0; by turns along a branch, whose links touch
    uint32_t id;        // world * links + link + 1; 0: it cannot be picked
} render_instance;

/// By kinds: those of mesh_kind, and from MESHES on the scene's own (scene_shapes_meshes). All zeros: an empty list.
typedef struct instance_list {
    float fade;  // of what is placed next
    int kinds;
    render_instance **of;  // [kinds][count]
    size_t *count, *room;  // [kinds]
} instance_list;

enum { SHAPES_WITHOUT_ID = -1 };  // in place of a world: a copy of something
enum { GROUND_REACH = 10 };       // of a ground that slopes, in radii of what stands on it

/// How large the scene is, from its state at the start.
typedef struct scene_extent {
    double center[3], radius;  // m, of a ball that the scene fills, or will as far as one can know; free trees: at the start
    double floor;              // m, height of the ground to draw (docs/scene.md#view); -infinity: none
    bool travels;              // a tree hangs on a free joint: the camera follows the centre of mass
} scene_extent;

/// What is near the links of a world: what they touch or may touch of obstacles and ground is to be seen.
typedef struct scene_reach {
    double center[3], radius;  // m, of a ball about what is drawn of the links where they are
    double from[3], reach;     // m: as far from there ...
    double down[3], fall;      // ... `fall` times as far in this direction, of a unit
    bool ground;               // there is one that can be touched
    double normal[3], height;  // of it; m, along the normal
} scene_reach;

/// What is drawn of a scene, apart from where it is.
typedef struct scene_shapes scene_shapes;

/// The shapes of all links of `scene`, which must be that of `model`; both may go. A link without shapes is drawn as rods from
/// its origin to those of its children. NULL: no memory.
scene_shapes *scene_shapes_create(const ctn_scene *scene, const ctn_model *model);
void scene_shapes_free(scene_shapes *s);  // NULL is allowed

/// The kinds of body that are the scene's own, from MESHES on; owned by the shapes.
const mesh *scene_shapes_meshes(const scene_shapes *s, int *count);

/// The extent at poses R [links][9], p [links][3] of the links.
scene_extent scene_shapes_extent(const scene_shapes *s, const double *R, const double *p);

/// The reach at poses R [links][9], p [links][3] of the links, where they are moved by `shift` (m) or not.
scene_reach scene_shapes_reach(const scene_shapes *s, const double *R, const double *p, const double *shift);

/// Puts the shapes at these poses into `list`, after what is in it, as those of world number `world`, or SHAPES_WITHOUT_ID;
/// colors [links], NULL: the scene's. False: no memory.
bool scene_shapes_place(const scene_shapes *s, const double *R, const double *p, int64_t world, const float (*colors)[3],
                        instance_list *list);

/// Puts the scene's ground there if it slopes, of a world that is moved by `shift` (m): a slab from the middle of `one`, its
/// extent, which reaches `reach` times its radius; a level ground is the floor. False: no memory.
bool scene_shapes_ground(const scene_shapes *s, const scene_extent *one, const double *shift, double reach, instance_list *list);

/// Puts what is fixed in the world into `list`, as of a world that has been moved by `offset`. False: no memory.
bool scene_shapes_place_fixed(const scene_shapes *s, const double *offset, instance_list *list);

/// The rotation R [9] (row-major) of a unit quaternion w x y z.
void quaternion_matrix(const double *q, double *R);

void instance_list_clear(instance_list *list);
void instance_list_free(instance_list *list);

#endif
