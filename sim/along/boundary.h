/// What stands between the segments of a path that was cut: which motions and wrenches go over their ends. In plain numbers, on
/// one thread; spatial vectors are (angular, linear), world axes. (docs/scans.md)
#ifndef CATENA_ALONG_BOUNDARY_H
#define CATENA_ALONG_BOUNDARY_H

/// What lanes hand over of a segment, about the origin of the body that its head hangs on; F and G in as dynamics/scan/far_end.h
/// has them.
typedef struct {
    double F[36], G[21], g[6];
    double bias[6];  // acceleration of the tail before any of d; 0 in steps
    // found here
    double X[6][7], K[6][7];  // motion of the tail X [d; 1], wrench there K [motion; 1]
    double d[6], f[6];        // motion that the head is given, wrench at the tail
    int negative;             // negative eigenvalues that the boundary behind it adds to those of the pivots
} boundary;

/// Two neighbouring stretches of a path as one: their star product (docs/scans.md).
typedef struct {
    boundary both;      // F, G, g, bias of the two; X: the motion of the first one's tail, bias included, once it is found
    double hand[27];    // their P and p
    double behind[27];  // P and p of all that is behind the first
} boundary_star;

/// The same of a segment of which matrices are not symmetric: the motion of the tail is E d + G f + g, the wrench at the head
/// P d + p + F f.
typedef struct {
    double F[36], E[36], G[36], g[6];  // F by columns; E and G by rows
} crossing;

enum { CROSS_HAND = 42 };  // numbers of its P, A to D by columns as cross6 has them, and p

/// Joins a segment (*s), whose own P and p are `joined` [27], to all that follows behind its tail, whose P and p are `behind`
/// [27]: finds X, K and `negative`, and into `joined` what the two are together. The numbers are A, D, B as inertia6 has them,
/// then p.
#ifndef BOUNDARY
void boundary_join(boundary *s, const double *behind, double *joined);

/// The same without `negative`.
void boundary_couple(boundary *s, const double *behind, double *joined);

/// The same, of which only `joined` is kept; or only X, with the bias added.
void boundary_hand(const boundary *s, const double *behind, double *joined);
void boundary_lead(const boundary *s, const double *behind, double (*X)[7]);

/// The star product of a stretch `a`, whose own P and p are `own`, and b behind it, whose are `behind`: all but X and `behind` of
/// *to. Returns the negative eigenvalues that the cut between them adds.
int boundary_multiply(const boundary *a, const double *own, const boundary *b, const double *behind, boundary_star *to);

/// The same as boundary_join() for the step of a matrix that is not symmetric; `behind`, `joined` [CROSS_HAND]. Leaves what
/// boundary_pass() needs.
void crossing_join(boundary *s, const crossing *own, const double *behind, double *joined);

/// The vectors alone, with the matrices that boundary_join() has left and without bias: p of what follows behind, and into
/// `joined` that of both. s->g is that of the segment. `behind`, `joined` [6]
void boundary_side(boundary *s, const double *behind, double *joined);

/// Given the motion s->d that the head gets: the wrench f, and the motion of the tail (bias included) into `tail` [6].
void boundary_pass(boundary *s, double *tail);
#endif

#endif
