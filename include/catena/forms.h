/// The forms in which papers compute the dynamics of one large tree in parallel, each by its name, to be compared: docs/scans.md.
///
///   [Y]  Yang, Wu, Pan: Parallel dynamics computation using prefix sum operations. IEEE RA-L 2(3), 2017
///   [L]  Lynghus: Data parallel rigid body dynamics. Master's thesis, University of Copenhagen, 2026
///
/// A ctn_tree is a compact model for them: up to CTN_TREE_MAX_LINKS links on revolute and prismatic joints, some 230 bytes a
/// link. The vectors q, v, a, tau have one number a link, in the order of the links as they were given. All results have the same
/// bits with any number of threads.
#ifndef CATENA_FORMS_H
#define CATENA_FORMS_H

#include <catena/model.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CTN_TREE_MAX_LINKS 4194304  // 2^22

typedef struct ctn_tree ctn_tree;

/// A link and the joint before it. The joint's frame is fixed to the parent; the link's frame lies on it at q = 0, and turns
/// about `axis` or moves along it.
typedef struct ctn_tree_link {
    ctn_joint_type joint;  // CTN_REVOLUTE or CTN_PRISMATIC; others are refused
    double R[9];           // axes of the joint's frame in those of the parent, or the world's: row-major, orthonormal to 1e-9
    double p[3];           // m, its origin, likewise
    double axis[3];        // in the joint's frame, of any length but zero
    double mass;           // kg, above 0
    double com[3];         // m, link frame
    double inertia[6];     // kg m^2, about the centre of mass, link axes: xx yy zz xy xz yz; of a body that can be
    double armature;       // kg m^2 or kg, not below 0
} ctn_tree_link;

/// A tree of n links, 1 .. CTN_TREE_MAX_LINKS. parent [n]: a link, in any order, or -1, the world, on which several may hang.
/// links [records], with records = n, or 1: all links are the same. gravity [3], m/s^2, world axes. Nothing of the arrays is
/// kept. `threads` (0: one a CPU) build its Euler tour. NULL on error, with the first link that is refused in the message:
/// parents out of range or in a circle, joints of other kinds, masses that are not positive, numbers that are not finite.
/// Immutable; free with ctn_tree_free().
CTN_API ctn_tree *ctn_tree_create(int n, const int *parent, int records, const ctn_tree_link *links, const double *gravity,
                                  int threads, ctn_error *err);

/// The tree of a compiled model whose joints are revolute and prismatic, else CTN_UNAVAILABLE. Link i is that of degree of
/// freedom i of the model, so that q, v and tau are the model's; links that are fixed to others are part of them. Springs,
/// dampers, limits, motors and loads are left out: where a model has any, ctn_aba(tau) is the tree's result for tau +
/// ctn_passive().
CTN_API ctn_tree *ctn_tree_of_model(const ctn_model *model, int threads, ctn_error *err);

/// The trees that [L] measures (section 7.1): thin-walled cylinders along x, 1 m, 1 kg, radius 0.05 m, on hinges along z at their
/// ends. branching >= 1: link i hangs on link floor((i - 1 + ceil(b)) / b) - 1, as Featherstone's autoTree has it; 1 is a chain.
/// 0: on one of those before it, by chance. seed 0: all axes are parallel; else each joint's frame is turned about its x by
/// chance. gravity 9.81 along -z.
CTN_API ctn_tree *ctn_tree_generate(int n, double branching, uint64_t seed, int threads, ctn_error *err);

CTN_API void ctn_tree_free(ctn_tree *tree);  // NULL is allowed

CTN_API int ctn_tree_links(const ctn_tree *tree);
CTN_API int ctn_tree_parent(const ctn_tree *tree, int link);  // -1: the world; -2: no such link
CTN_API int ctn_tree_depth(const ctn_tree *tree, int link);   // links from it to the world, at least 1; 0: no such link
CTN_API size_t ctn_tree_bytes(const ctn_tree *tree);          // of memory that it takes

/// Its vector tree ([L] 4.6): the steps 0 .. 2n - 1 of the Euler tour at which link i is entered, lp [n], and left, rp [n]. The
/// child with the most links beyond it comes first, the others by their numbers.
CTN_API ctn_status ctn_tree_tour(const ctn_tree *tree, int *lp, int *rp);

/// How a recursion over the tree is done.
typedef enum ctn_scan {
    CTN_SCAN_SERIAL,     // the recursion itself, on one thread: what the others are compared with ([L] Listings 11, 12)
    CTN_SCAN_BLELLOCH,   // Blelloch's work-efficient scan of the Euler tour, up and down a binary tree
    CTN_SCAN_BLOCKED,    // blocks of the Euler tour, a scan over their ends
    CTN_SCAN_SIMULATED,  // poses by a blocked scan, then sums of vectors in one common frame ([L] Listing 7): the paper's fastest
    /// Not the papers': along heavy paths in pieces, level by level. Needs no inverses, and inverse dynamics stay about each
    /// link's own origin: as exact as the recursion.
    CTN_SCAN_PATHS,
} ctn_scan;

/// Where the common frame of CTN_SCAN_SIMULATED and of composite inertias has its origin. Its axes are the world's.
typedef enum ctn_origin {
    CTN_ORIGIN_ROOT,    // at the origin of the first link that hangs on the world
    CTN_ORIGIN_CENTRE,  // at the mean of all link origins: sums reach half as far
} ctn_origin;

/// How accelerations are found from forces.
typedef enum ctn_forward {
    CTN_FORWARD_SERIAL,  // the articulated-body algorithm on one thread
    CTN_FORWARD_JSIIA,   // n + 1 inverse dynamics and Cholesky ([Y] Algorithm 2), by LAPACK; 8 n^2 bytes, which have a limit
    CTN_FORWARD_HYBRID,  // articulated inertias serially, all else by scans ([Y] Algorithm 3)
    CTN_FORWARD_STAR,    // articulated inertias by scans, too: star products (docs/scans.md)
} ctn_forward;

/// Work space and threads for the calls below. One caller at a time.
typedef struct ctn_forms ctn_forms;

/// `tree` must outlive it. threads 1 .. 1024, 0: one a CPU. Memory is taken by the first call of each kind and kept. NULL on
/// error.
CTN_API ctn_forms *ctn_forms_create(const ctn_tree *tree, int threads, ctn_error *err);

/// The same on a GPU, `engine` being "cuda". There are scan RNEA, scan CRBA (not packed), twists, rootfix and leaffix, all by
/// CTN_SCAN_SIMULATED, CTN_FORWARD_JSIIA by cuSOLVER, and CTN_FORWARD_STAR; others are CTN_UNAVAILABLE. Their results are the
/// CPU's up to the order of sums, and do not depend on which GPU it is or on how many states a call has, which are side by side.
/// The tree is copied there; arrays of calls stay the caller's. NULL on error: CTN_UNAVAILABLE without a GPU, or without the
/// library for it. CTN_UNAVAILABLE of a later call says why: the device has failed, and these forms are to be freed, or cuSOLVER
/// is missing.
CTN_API ctn_forms *ctn_forms_create_on(const ctn_tree *tree, const char *engine, ctn_error *err);
CTN_API void ctn_forms_free(ctn_forms *forms);  // NULL is allowed

CTN_API int ctn_forms_threads(const ctn_forms *forms);
CTN_API size_t ctn_forms_bytes(const ctn_forms *forms);  // of work space taken so far

CTN_API ctn_status ctn_forms_set_origin(ctn_forms *forms, ctn_origin origin);  // at first the root

/// The operations of vector trees themselves, of sums ([L] 4.6): y of a link is the sum of x over the links on the way from the
/// world to it, or over its subtree; itself included. x, y [n][6], apart.
CTN_API ctn_status ctn_forms_rootfix(ctn_forms *forms, ctn_scan scan, const double *x, double *y, ctn_error *err);
CTN_API ctn_status ctn_forms_leaffix(ctn_forms *forms, ctn_scan scan, const double *x, double *y, ctn_error *err);

/// Twist [n][6] of every link in its own frame (axis of its joint along z): angular velocity (rad/s), velocity of its origin
/// (m/s). v [n]. What [L] Figure 11 measures.
CTN_API ctn_status ctn_forms_twists(ctn_forms *forms, ctn_scan scan, const double *q, const double *v, double *twist,
                                    ctn_error *err);

/// Inverse dynamics: tau = H(q) a + c(q, v), with armature in H. q, v, a, tau [count][n]: `count` states, a thread each where
/// there are as many as threads, else one after the other with all threads.
CTN_API ctn_status ctn_forms_rnea(ctn_forms *forms, ctn_scan scan, int count, const double *q, const double *v, const double *a,
                                  double *tau, ctn_error *err);

#define CTN_FORMS_LIMIT ((size_t)1 << 31)  // 2 GiB: 16 384 links

/// Bytes that a dense matrix, [n][n], may have at most; at first CTN_FORMS_LIMIT.
CTN_API ctn_status ctn_forms_set_limit(ctn_forms *forms, size_t bytes);
CTN_API size_t ctn_tree_dense_bytes(const ctn_tree *tree);  // 8 n^2

/// Joint-space inertia H(q), armature included: composite inertias by a scan of the tree, then all pairs of a link and an
/// ancestor at once ([L] Listings 8-10). CTN_SCAN_SERIAL: these by the recursion. Whole: H [n][n], both triangles;
/// CTN_BAD_ARGUMENT if that is above the limit.
CTN_API ctn_status ctn_forms_crba(ctn_forms *forms, ctn_scan scan, const double *q, double *H, ctn_error *err);

/// By rows: composites of q, then rows first .. first + count - 1 of H, [count][n], as often as wanted.
CTN_API ctn_status ctn_forms_crba_begin(ctn_forms *forms, ctn_scan scan, const double *q, ctn_error *err);
CTN_API ctn_status ctn_forms_crba_rows(ctn_forms *forms, int first, int count, double *H, ctn_error *err);

/// Packed: the pairs alone, the only elements that are not zero, of each once. Row i begins at start[i] and has an element for
/// each of the ctn_tree_depth(i) links on the way from the world to link i, itself last. Returns how many there are; start [n +
/// 1] may be NULL.
CTN_API size_t ctn_tree_pairs(const ctn_tree *tree, size_t *start);
CTN_API ctn_status ctn_forms_crba_packed(ctn_forms *forms, ctn_scan scan, const double *q, double *H, ctn_error *err);

/// Forward dynamics: qdd of H qdd = tau - c(q, v). q, v, tau, qdd [count][n], qdd apart from the others; states share threads as
/// those of ctn_forms_rnea(). CTN_BAD_ARGUMENT names a link that has no inertia against its joint; CTN_UNAVAILABLE: no LAPACK for
/// JSIIA.
CTN_API ctn_status ctn_forms_forward(ctn_forms *forms, ctn_forward form, int count, const double *q, const double *v,
                                     const double *tau, double *qdd, ctn_error *err);

#ifdef __cplusplus
}
#endif
#endif
