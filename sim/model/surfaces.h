/// What the points of a model touch besides the ground: the scene's obstacles, and its terrain (contact/surface.h).
#ifndef CATENA_SURFACES_H
#define CATENA_SURFACES_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// How many surfaces a scene has, the ground among them.
int count_surfaces(const ctn_scene *scene);

/// The first surface (0: the ground) from number k on that a shape may touch, by its layers; -1: none.
int next_surface(const ctn_scene *scene, const scene_shape *shape, int k);

/// Makes all but the ground: obstacles in the order of the scene, then the terrain. False: no memory.
bool make_surfaces(ctn_model *m, const ctn_scene *scene);
void free_surfaces(ctn_model *m);

/// The middle of a segment, axes whose z axis, the last column, is along it, and half its length.
void lay_along(const double *from, const double *to, double at[3], double R[9], double *half);

/// The friction of surface k (0: the ground), NAN: it says none.
double surface_friction(const ctn_scene *scene, int k);

/// The unit normal n of surface k (0: the ground) at a place x, m: about an edge that of the nearer face.
void surface_normal(const ctn_model *m, int k, const double *x, double *n);

/// How high a terrain is at (x, y) from its middle, above that, m.
double terrain_height(const fixed_surface *terrain, double x, double y);

/// Coefficients of the spline through heights [rows][columns], in place.
void fit_heights(double *heights, int columns, int rows);

/// Axes R [9], the columns, whose z axis is the unit vector z; and those along a segment, its middle, and (returned) half its length.
void axes_along(const double z[3], double R[9]);

#endif
