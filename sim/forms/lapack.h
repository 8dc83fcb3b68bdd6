/// Cholesky of a dense matrix, by the LAPACK of this machine: opened when it is first asked for, so that nothing else needs it.
#ifndef CATENA_SIM_FORMS_LAPACK_H
#define CATENA_SIM_FORMS_LAPACK_H

#include <catena/status.h>
#include <stdbool.h>

/// Whether there is one; CTN_UNAVAILABLE says where it was looked for. Any thread may call it.
ctn_status lapack_find(ctn_error *err);

/// Before and after calls of lapack_solve(): OpenBLAS has one thread meanwhile, as its results hang on how many it has. Returns
/// how many it had, for the end; 0: it is another library.
int lapack_begin(void);
void lapack_end(int had);

/// Solves A x = b, A [n][n] symmetric and positive definite; both are overwritten, b by x. Returns the row, from 1, that is not
/// positive; 0: solved. After lapack_find().
int lapack_solve(int n, double *A, double *b);

#endif
