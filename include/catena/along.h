/// One world, parallel along its links: long chains and large trees in the lanes and threads of a CPU. (docs/scans.md)
///
/// The tree is cut into pieces that lanes and threads work through side by side, and what passes between the pieces is solved
/// for. Results agree with catena/dynamics.h up to rounding; they are the same bits on every engine and with any number of
/// threads, as long as the number of lanes is the same: the *association class*, which by default depends on the model alone.
#ifndef CATENA_ALONG_H
#define CATENA_ALONG_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_along ctn_along;

/// Work space for the calls below; `model` must outlive it.
///
///     engine   as for ctn_dynamics_create; with "auto" the widest one that this CPU has; "cuda": a GPU, a thread a lane
///     threads  1 or more; 0: as many as there are CPUs
///     lanes    association class: among how many lanes the tree is shared out, a multiple of 8 up to 8192; 0: by the model
///
/// NULL on error. One thread at a time may use it.
CTN_API ctn_along *ctn_along_create(const ctn_model *model, const char *engine, int threads, int lanes, ctn_error *err);
CTN_API void ctn_along_free(ctn_along *along);  // NULL is allowed

/// How a model is shared out.
typedef struct ctn_along_info {
    const char *engine;
    int lanes;     // association class
    int levels;    // of paths: each hangs on paths of higher levels
    int segments;  // pieces of paths
    int cut;       // of them, pieces of paths that were cut
    int rows;      // of all blocks of eight lanes: 8 rows are the room of so many bodies
    int bodies;    // elementary joints of the model
    double bytes;  // memory
} ctn_along_info;
CTN_API ctn_along_info ctn_along_about(const ctn_along *along);

// What follows is as the call of catena/dynamics.h that is named, of one state q [nq], v [nv], with the same units, axes and
// order. Inputs and outputs must not overlap, unless a comment says otherwise; nothing is allocated. Without `along` or an array
// that is needed: no effect.

/// World rotation R [nlink][9] and origin p [nlink][3] of every link frame, as ctn_forward_kinematics.
CTN_API void ctn_along_forward_kinematics(ctn_along *along, const double *q, double *R, double *p);

/// Twist [nlink][6] of every link, as ctn_link_twists.
CTN_API void ctn_along_link_twists(ctn_along *along, const double *q, const double *v, double *twist);

/// Inverse dynamics, tau = H(q) a + c(q, v), as ctn_rnea. a, tau [nv].
CTN_API void ctn_along_rnea(ctn_along *along, const double *q, const double *v, const double *a, double *tau);

/// Bias force c(q, v) [nv], as ctn_bias.
CTN_API void ctn_along_bias(ctn_along *along, const double *q, const double *v, double *bias);

/// Products with the joint-space inertia: y = H(q) x, rows x, y [count][nv]. O(N) each; H is nowhere formed.
CTN_API void ctn_along_inertia(ctn_along *along, int count, const double *q, const double *x, double *y);

/// `count` columns of the joint-space inertia from number `first` on, as those of ctn_crba: H [count][nv], a row each. As many as
/// the caller has memory for: all of a chain of 100 000 hinges would be 80 GB. NaN where first + count is beyond nv, or first
/// below 0.
CTN_API void ctn_along_crba(ctn_along *along, int first, int count, const double *q, double *H);

/// Forward dynamics by the articulated-body algorithm, as ctn_aba: with the forces of joints' elements, and with springs and
/// forces on links. tau [nv] (NULL: none), qdd [nv]. A GPU does it, for models without these; where it has failed qdd is NaN.
CTN_API void ctn_along_aba(ctn_along *along, const double *q, const double *v, const double *tau, double *qdd);

/// Factors the joint-space inertia H(q), in O(N), for ctn_along_solve. The factors stand until the next call of this or of
/// ctn_along_aba, which leaves those of its own q; on a GPU it leaves none.
CTN_API void ctn_along_factor(ctn_along *along, const double *q);

/// Solves H x = b with these factors: rows b, x [count][nv], which may be the same. O(N) each. NaN where there are no factors
/// yet.
CTN_API void ctn_along_solve(ctn_along *along, int count, const double *b, double *x);

#ifdef __cplusplus
}
#endif

#endif
