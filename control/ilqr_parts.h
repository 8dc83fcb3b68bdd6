/// Iterative LQR, for the files that go back, play and judge.
#ifndef CATENA_CONTROL_ILQR_PARTS_H
#define CATENA_CONTROL_ILQR_PARTS_H

#include "control/ilqr.h"

#include <stddef.h>

/// Of what runs on a device, too.
#ifdef __CUDACC__
#define ILQR_FN static inline __host__ __device__
#else
#define ILQR_FN static inline
#endif

enum { MOST_ALPHAS = 32, MOST_NUMBERS = 30000 };  // of a knot: its matrices are counted by int

enum { TILE = 8 };  // columns that are worked on at a time: rows of matrices have room for a multiple of these

/// Of a knot with bounded controls (control/ilqr_bounded.h): G, its factors, Q~_ux twice, and vectors.
typedef struct {
    double *G, *L, *side, *flat;  // [m][m], [m][m], [m][n], [m][n]
    double *lo, *hi, *g, *dx;     // [m], [m], [m], [2 m]
    int *free;                    // [m]
} bounded_room;

/// Matrices of a knot, and how far their rows are apart: a for n columns, b for n / 2, c for n + m, e for n + 1. Of plants
/// with rates, z = (after 1)' as a column [n][n / 2] and G the lower half of [A B], so that [A B] = [1 before 0; 0 0 0] + z G.
typedef struct {
    int n, m, a, b, c, e, carried;
    bool rates;  // of the plant, and
    double before, after;
    double *P, *s;             // of the value: behind the knot, then before it. [n][a], [a]; P is symmetric
    double *AB, *PAB;          // [A B], P [A B]: [n][c]
    double *Pz, *zPAB, *zAB;   // P z, z'P [A B], z'[A B]: [n][b], [n / 2][c], likewise
    double *w, *Q;             // s + P d: [a]; [A B]'w, then [Q_x Q_u]: [c]
    double *U, *V;             // [Q_ux Q_uu], and with rho in it: [m][c]
    double *R, *K, *T;         // right sides, then [K kappa]: [m][e], of which K is the first part; Q_uu K + Q_ux: [m][a]
    double *f, *kappa;         // Q_uu kappa + Q_u: [m], [m]
    double *L;                 // factors of Q~_uu: [m][m]
    bounded_room bounded;
} knot_room;

/// The products of a knot for one kind of lane (ilqr_sweep.h), and the way back over all knots of trajectories side by side
/// (ilqr_lanes.h).
typedef struct {
    // P, s of what is behind the knot to PAB, U, V, w and Q, without what the knot itself costs
    void (*front)(const knot_room *r, const double *A, const double *B, const double *d, double rho);
    // R becomes (L L')^-1 R; the diagonal of L has inverses on it
    void (*solve)(const knot_room *r, const double *L, double *R);
    // P, s before the knot, from K, kappa, f; s has Q_x in it
    void (*value)(const knot_room *r, const double *xx);
    // what points that lie side by side are told, all at one knot: u [m][apart] = U + alpha kappa + K dx, of dx [n][apart],
    // alpha [apart]
    void (*law)(int m, int n, int apart, const double *U, const double *kappa, const double *K, const double *alpha,
                const double *dx, double *u);
    // likewise, each with U, kappa, K [apart] of its own
    void (*laws)(int m, int n, int apart, const double *const *U, const double *const *kappa, const double *const *K,
                 const double *alpha, const double *dx, double *u);
    int lanes;
    size_t (*room)(const plant *p);  // numbers that `back` works in, from a multiple of 64 bytes on
    // ilqr_backward of trajectories [count], up to `lanes`, in as many blocks each, with the same bits; good [count]
    void (*back)(ilqr *const *of, int count, int blocks, double *room, bool *good);
} sweep_kernels;

extern const sweep_kernels sweep_scalar, sweep_scalar_fma, sweep_avx2, sweep_avx512;

/// Points that are played side by side, of one trajectory or of several.
typedef struct {
    int room;             // so many
    ilqr **of;            // [room]
    int *knot, *whose;    // [room]: where a point begins, and of which alpha and block it is
    double *alpha;        // [room + MOST_APART]
    bool *lost;           // [room]
    int *fails, **rolls;  // [room]: of roll-outs, the knot that it is lost at, -1: none; and where that is told
    double *x;            // [room][nx]: where they begin
    double *lanes;        // [room + MOST_APART][2 (nx + n) + m], of points that lie side by side
} ilqr_points;

/// What a block of the backward pass has found: the largest gradient and the largest of its parts, what is expected of it; good:
/// all of its knots have a minimum.
typedef struct {
    double gradient, part, linear, quadratic;
    bool good;
} back_block;

/// What second derivatives are found in.
typedef struct {
    double *p;                                // costates: [N + 1][n]
    double *X, *U, *dx, *by;                  // knots that are moved, and by how much: [N + 1][nx], [N][m], [n], [N + 1]
    double *A, *B;                            // there, and
    plant_costs costs;                        // [N + 1]
    double *by_x, *by_u, *moved_x, *moved_u;  // gradients of Hamiltonians: [N + 1][n], [N + 1][m]
    double *H;                                // [N + 1][n + m][n + m]
} ilqr_second_room;

/// A trajectory on a device (control/ilqr_device.h).
typedef struct ilqr_there ilqr_there;

struct ilqr {
    const struct plant *plant;
    const sweep_kernels *sweeps;
    ilqr_config cfg;
    double *lower, *upper;  // NULL: not bounded
    ilqr_state state;
    double delta;           // by which rho changes
    bool linear;            // A, B and the cost's derivatives are those of X, U
    bool newton;            // with second derivatives of all
    double near;            // of the gradient from which on these count
    bool graded;            // the gradient in the state is of this trajectory, or of the one that it has moved on from
    bool valued;            // P, s are of an earlier pass
    double *X, *U, *d;      // [N + 1][nx], [N][m], [N][n]: F(x_k, u_k) - x_{k+1}
    double *A, *B;          // [N][n][n], [n][m]
    plant_costs costs;      // [N + 1]
    double *P, *s;          // V_xx, V_x: [N + 1][n][n], [n]
    double *end_P, *end_s;  // [backward]: of the ends of blocks, as the last iteration had them
    double *K, *kappa;      // [N][m][n], [m]
    double linear_gain, quadratic_gain;
    double *sweep;                        // [2][N + 1][n], then [2][m]: control/ilqr_closed.h
    double *tried_X, *tried_U, *tried_d;  // [alphas][N + 1][nx], [N][m], [forward][n]
    double tried_J[MOST_ALPHAS], tried_M[MOST_ALPHAS], tried_defect[MOST_ALPHAS];
    bool tried[MOST_ALPHAS];
    ilqr_points points;
    double *u, *each;    // at the end nothing is told: [m]; costs of knots: [N + 1]
    int *knots;          // [N + 1], 0, 1, ..
    double *work;        // of a knot; in the backward pass of one for each thread
    back_block *blocks;  // [backward]
    ilqr_second_room second;
    ilqr_there *there;  // NULL: passes are made here
    void *memory;
};

/// For plants like this one; false: no memory.
bool ilqr_points_open(ilqr_points *p, const plant *plant, int room);
void ilqr_points_close(ilqr_points *p);

ILQR_FN double *ilqr_row(double *rows, int k, int size) { return rows + (size_t)k * (size_t)size; }
ILQR_FN int block_at(int knots, int blocks, int b) { return (int)((long)knots * b / blocks); }

/// Numbers that the passes over one knot need.
size_t ilqr_knot_work(const plant *p);

/// A, B and the cost's derivatives of all knots at X, U.
ctn_status ilqr_derive(ilqr *s, const double *X, const double *U, double *A, double *B, const plant_costs *costs, ctn_error *err);

/// From those at X, U: costs.xx, uu and ux become second derivatives of Hamiltonians. Not CTN_OK: they are what they were.
ctn_status ilqr_find_second(ilqr *s, ctn_error *err);

/// For the lanes of the engine that steps several worlds.
const sweep_kernels *ilqr_sweeps(void);

/// Back over all knots, with the regularisation in state.rho, blocks on the plant's threads. false: controls of a knot have no
/// minimum.
bool ilqr_backward(ilqr *s, int blocks);

/// Its beginning, and what it comes to out of s->blocks.
void ilqr_begin_back(ilqr *s);
bool ilqr_end_back(ilqr *s, int blocks);

/// All blocks of trajectories [count] from where they start, the first one from x0 [count], in the place of the states that
/// are there; follows: with the gains, of what differs from those. fails [count]: the first knot that is not lived through,
/// the number of knots: there is none.
ctn_status ilqr_roll_out(ilqr *const *of, int count, const double *const *x0, bool follows, int *fails, ilqr_points *points,
                         ctn_error *err);
double ilqr_cost(ilqr *s);  // of the trajectory
double ilqr_largest_defect(const ilqr *s);

/// An iteration in pieces: `ilqr_begins` up to the backward pass, `ilqr_goes_on` up to the roll-outs, `ilqr_ends`. Of the
/// first two false: it is over, with that status.
typedef struct {
    ilqr_state before;
    double delta;
    int blocks;  // of the backward pass
    ctn_status status;
} ilqr_turn;
bool ilqr_begins(ilqr *s, ilqr_turn *t, ctn_error *err);
bool ilqr_goes_on(ilqr *s, ilqr_turn *t, bool valued, ctn_error *err);  // valued: the backward pass was made, and was good
void ilqr_ends(ilqr *s, const ilqr_turn *t, bool played);     // played: the roll-outs were made

/// A knot's matrices in x; NULL: only how far rows are apart.
knot_room ilqr_room_of(const plant *p, double *x);

/// Knots have moved to the front and states were rolled out: iterations are counted anew. The gradient stays what the last plan
/// had, so that second derivatives count from the first iteration on where that was near its optimum.
void ilqr_moved_on(ilqr *s);

/// Plays all alpha of trajectories [count], whose plants step alike, into tried_*.
ctn_status ilqr_forward(ilqr *const *of, int count, ilqr_points *points, ctn_error *err);

#endif
