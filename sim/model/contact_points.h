/// Contact points of a model: loads that touch the ground and other surfaces (contact/law.h).
#ifndef CATENA_CONTACT_POINTS_H
#define CATENA_CONTACT_POINTS_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// Refuses too many pairs of points and surfaces.
ctn_status check_contacts(const ctn_scene *scene, ctn_error *err);

/// How many contact points the shapes have, each counted once for every surface; 0 where these are too many.
int count_contacts(const ctn_scene *scene);

/// How many corners of meshes are among the points of links, and of how many meshes.
int count_mesh_points(const ctn_scene *scene, int *meshes);

/// Makes them, count_contacts() of them with the numbers from `first` on, and what the model knows of the ground. Bodies are known.
void add_contacts(ctn_model *m, const ctn_scene *scene, point_load *loads, int first);

/// Gives the contact points of `v`, which is a copy of `of` with numbers of its own, another depth (CTN_GROUND_DEPTH); and the
/// friction of those of a link, or, -1, of those that have the ground's.
void change_contact_depth(ctn_model *v, const ctn_model *of, double depth);
void change_contact_friction(ctn_model *v, int link, double friction);

/// From gradients by what contact points and pairs are made of, by_contact [CONTACT_GRADIENTS(ncontact)], those by the parameters of
/// the list, which are all of contact or of pairs: grad [count]. Friction that the list has of a link is not the ground's.
void contact_gradients(const ctn_model *m, const ctn_parameter *list, int count, const double *by_contact, double *grad);

/// How deep the tree that a body is of sinks where one point carries its weight, m.
double contact_depth(const ctn_model *m, const ctn_scene *scene, int body);

/// How fast things fall, m/s^2, 1 at least; and what damps critically, s, that falls back from the depth at which it rests.
double gravity_of(const ctn_model *m);

/// The weight of all that moves, N: what lies on others is borne by those below.
double moving_weight(const ctn_model *m);
double critical_relaxation(const ctn_model *m, double depth);

/// Adds a warning to the scene's list if links start more than ten times that deep in the ground, which then throws them out.
/// False without memory.
bool warn_of_depth(ctn_scene *scene, const ctn_model *m);

#endif
