/// Questions about a model that more than one file of sim/ asks.
#ifndef CATENA_SIM_MODEL_H
#define CATENA_SIM_MODEL_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// The place of a link's quaternion among the coordinates of its joint; those before it have rates. nq: it has none.
int link_quaternion(const ctn_link *link);

/// Checks that a world can start from q [nq] and v [nv]: all finite, quaternions of a length that can be normalised. The message
/// names the world.
ctn_status state_check(const ctn_model *m, const double *q, const double *v, int world, ctn_error *err);

/// The link whose joint has a degree of freedom of v.
int link_of_dof(const ctn_model *m, int dof);

/// The first of the bodies that make up the joint of a link that is not fixed, and how many there are.
int first_body(const ctn_model *m, int link, int *count);

/// Makes the table of links by name, when they have theirs. An error where two have the same.
ctn_status model_name_links(ctn_model *m, ctn_error *err);

/// Sets subtree_mass of all bodies.
void body_subtree_masses(ctn_model *m);

/// Sets force_scale, the scales of a residual row under `gravity` [3], from masses, extent and armature. (docs/theory.md 3.3)
void body_force_scales(ctn_body *body, const double *gravity);

/// Sets the form of a body, from its kind and flags.
void body_set_form(ctn_body *body);

/// The matrix R [9], row-major, of a unit quaternion w x y z.
void rotation_matrix(const double q[4], double R[9]);

/// A point of a link (m, link frame) in the frame of its body.
void body_point(const ctn_model *m, int link, const double *point, double *at);

/// The other way: a point of the body of a link in the frame of that link.
void link_point(const ctn_model *m, int link, const double *at, double *point);

/// Puts the loads into the order of their bodies, without changing that of one body, and says so in the bodies.
void model_sort_loads(ctn_model *model);

/// What the scene's motors are told over time: signals.c. False: no memory.
bool compile_signals(ctn_model *m, const struct ctn_scene *scene);

/// What kernels read of a list of signals [count], and the memory of their knots; both to be freed, also if false: no memory.
bool compile_signal_list(const scene_signal *list, int count, ctn_signal **signals, double **numbers);

/// The load with that number, which the model has.
point_load *load_numbered(const ctn_model *m, int number);

/// A wrench that a batch is to have room for: on a link, in its axes or in those of the world.
typedef struct {
    int link;
    bool follows;
} wrench_place;

/// `m` with loads for wrenches besides its own, at first 0, with the numbers from m->nload on. It shares all but bodies and loads
/// with `m`, which must outlive it. NULL: no memory. Free with free().
ctn_model *model_with_wrenches(const ctn_model *m, const wrench_place *places, int count);

/// A copy, free()d, of a model whose thrusters are all told what they give between steps; NULL: no memory. `m` must outlive it.
ctn_model *model_with_told_thrusters(const ctn_model *m);
/// Whether it differs from the model.
bool model_has_still_thrusters(const ctn_model *m);

/// `m` with nothing that acts on its links: neither gravity nor forces of joints, motors, loads or contact. Else as above.
ctn_model *model_of_motion(const ctn_model *m);

/// Adds the sensors of a scene, when links, bodies and motors are known: sim/model/sensors.c. false: no memory.
bool compile_sensors(ctn_model *m, const ctn_scene *scene);
void free_sensors(ctn_model *m);

/// Sets `held` of all bodies, from their world springs.
void load_scales(ctn_model *model);

#endif
