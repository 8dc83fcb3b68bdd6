/// The numbers of a convex polyhedron: of each face its normal n, n.x on its plane, and how many sides it has; then of each side its
/// beginning, its direction, its length, and the normal that leads out of the face along its plane.
///
/// Then its faces in groups whose normals are alike: of each group a unit vector c, the least n.c and the largest |n x c| of its
/// normals, the least and the largest n.x on its planes, and how many faces it has; a point within the hull, and how far from it
/// they reach; then where they begin, in rising order.
#ifndef CATENA_HULL_NUMBERS_H
#define CATENA_HULL_NUMBERS_H

enum { HULL_FACE = 5, HULL_SIDE = 10, HULL_GROUP = 12 };

#endif
