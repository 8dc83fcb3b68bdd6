/// Dense symmetric matrices, by the LAPACK of this machine: opened when it is first asked for, so that nothing else needs it.
#ifndef CATENA_SIM_LAPACK_H
#define CATENA_SIM_LAPACK_H

#include <catena/status.h>
#include <stddef.h>

/// Whether there is one; CTN_UNAVAILABLE says that `who` needs it, and where it was looked for. Any thread may call it.
ctn_status lapack_find(const char *who, ctn_error *err);

/// Before and after calls of those below: OpenBLAS has one thread meanwhile, as its results hang on how many it has. Returns
/// how many it had, for the end; 0: it is another library.
int lapack_begin(void);
void lapack_end(int had);

/// Solves A x = b, A [n][n] symmetric and positive definite; both are overwritten, b by x. Returns the row, from 1, that is not
/// positive; 0: solved. After lapack_find().
int lapack_solve(int n, double *A, double *b);

/// Eigenvalues d [n], from the smallest on, and eigenvectors of A [n][n], symmetric, of which the upper triangle is read. They
/// take its place: vector j is row j. `room`: lapack_eigen_room(n) bytes, aligned for doubles. Returns 0; else it did not
/// converge, or A is not finite, and A and d are spoilt. After lapack_find().
size_t lapack_eigen_room(int n);
int lapack_eigen(int n, double *A, double *d, void *room);

#endif
