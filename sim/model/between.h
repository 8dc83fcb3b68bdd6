/// What acts between bodies, compiled (dynamics/between.h): pairs of shapes, and bonds.
#ifndef CATENA_SIM_BETWEEN_H
#define CATENA_SIM_BETWEEN_H

#include "dynamics/model.h"
#include "sim/scene/scene.h"

/// Finds the shapes of links that touch each other and what each pair is like: between.c. The model is whole but for these. Errors:
/// CTN_BAD_SCENE, with the place, where a shape is of a kind that touches no links, or there are too many pairs; CTN_NO_MEMORY, of
/// which err says nothing.
ctn_status compile_pairs(ctn_model *m, const ctn_scene *scene, ctn_error *err);

/// Of how many links it is told what other links do to them (ctn_batch_contacts): all where some may touch, else none.
int count_met_links(const ctn_scene *scene);

/// Makes loops, couplings, tendons and springs between links: bonds.c. What the scene does not say of b is as at the start. Errors as
/// above, where a loop is open there.
ctn_status compile_bonds(ctn_model *m, const ctn_scene *scene, ctn_error *err);

/// Places of all links at the start of the scene, R [nlink][9], p [nlink][3], in one block to free; NULL: no memory.
double *places_at_start(const ctn_model *m, double **p);

/// A side of a bond in the world: of a link (-1: the world) its place x and its axes, the columns of frame [9].
void bond_side(const ctn_model *m, int link, const double *at, const double *axes, const double *R, const double *p, double x[3],
               double frame[9]);

/// By how much a bond is open there: m, of couplings rad or m. And the size that it is measured by.
double bond_opening(const ctn_model *m, const ctn_scene *scene, const model_bond *bond, const double *R, const double *p);
double bond_size(const ctn_model *m, const model_bond *bond);

/// The equations of all bonds at the start: how many say something that those before do not, and of each bond, rows [nbond], how many
/// say nothing new. against [nbond]: by how much, m or rad, such a row is open that the others cannot close; 0: none is. Returns the
/// rank; -1: there is no memory, or they are too many to count (bond_ranks.c).
int bond_ranks(const ctn_model *m, const ctn_scene *scene, int *redundant, double *against);

/// Their derivatives by velocities there, and how far each is open, rows [nrow][nv + 1], to free; NULL: no memory.
double *bond_rows(const ctn_model *m, const ctn_scene *scene);

/// The order in which the matrix of a step is eliminated (integrators/joint_matrix.h), of a model whose pairs and bonds are known:
/// matrix_order.c. rows: of bond_rows(); NULL: equations come after all bodies. False without memory.
bool order_matrix(ctn_model *m, const double *rows);

/// Adds warnings to the scene's list: shapes that are deep in each other at the start, loops that are a little open, and those that
/// others keep from closing. False without memory.
bool warn_of_between(ctn_scene *scene, const ctn_model *m);

#endif
