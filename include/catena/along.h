/// One world, parallel along its links: long chains and large trees in the lanes and threads of a CPU. (docs/scans.md)
///
/// The tree is cut into pieces that lanes and threads work through side by side, and what passes between the pieces is solved for. Results
/// agree with catena/dynamics.h up to rounding; they are the same bits on every engine and with any number of threads, as long as the
/// number of lanes is the same: the *association class*, which by default depends on the model alone.
#ifndef CATENA_ALONG_H
#define CATENA_ALONG_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_along ctn_along;

/// Work space for the calls below; `model` must outlive it.
///
///     engine   as for ctn_dynamics_create; with "auto" the widest one that this CPU has
///     threads  1 or more; 0: as many as there are CPUs
///     lanes    association class: among how many lanes the tree is shared out, a multiple of 8 up to 1024; 0: by the model
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

/// Forward dynamics by the articulated-body algorithm, as ctn_aba of one state: q [nq], v [nv], tau [nv] (NULL: none), qdd [nv].
CTN_API void ctn_along_aba(ctn_along *along, const double *q, const double *v, const double *tau, double *qdd);

#ifdef __cplusplus
}
#endif

#endif
