/// The numbers of a convex polyhedron: of each face its normal n, n.x on its plane, and how many sides it has; then of each side its
/// beginning, its direction, its length, and the normal that leads out of the face along its plane.
#ifndef CATENA_HULL_NUMBERS_H
#define CATENA_HULL_NUMBERS_H

enum { HULL_FACE = 5, HULL_SIDE = 10 };

#endif
