/// What stands between the segments of a path that was cut, in steps of several coupled stages: motions and wrenches have n = 6 s
/// numbers, those of stage after stage, and no matrix is symmetric. Matrices by rows. (docs/scans.md)
#ifndef CATENA_ALONG_STAGE_BOUNDARY_H
#define CATENA_ALONG_STAGE_BOUNDARY_H

enum { MOST_STAGE_BOUNDARY = 24 };  // n

#ifndef BOUNDARY
/// Joins a segment, `own` [2 n][2 n + 1] = [P p F; E g G] as integrators/stage_sweep.h has it, to all that follows behind its
/// tail, the wrench K t + k of a motion t there, `behind` [n][n + 1] = [K k]. Into `joined` [n][n + 1] goes what the two are
/// together, into the rows of [E g] the motion of the tail for the d of the head, X d + x.
void stage_boundary_join(int n, double *own, const double *behind, double *joined);

/// Given the motion d [n] of the head: that of the tail, and the wrench f there, each [n]. `own` and `behind` as they were left.
void stage_boundary_pass(int n, const double *own, const double *behind, const double *d, double *tail, double *f);
#endif

#endif
