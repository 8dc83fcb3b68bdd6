/// Kinematics and dynamics of a model at given states, one or many at once.
///
/// Arrays are plain and row-major: q[count][nq], v[count][nv], ... in the order of the scene file. Vectors are in world axes
/// and spatial vectors are (angular, linear), unless a comment says otherwise. Every engine and every `count` gives the same
/// bits. Nothing is allocated by the calls; inputs and outputs must not overlap. Quaternions in q must have unit length.
/// A `count` below 1 is no state: nothing is written.
///
/// They are of the tree: what joints, gravity and loads do. What contact, loops, couplings, tendons and springs between links bear
/// is found by steps (catena/batch.h) alone, and ctn_passive and ctn_aba leave it out.
#ifndef CATENA_DYNAMICS_H
#define CATENA_DYNAMICS_H

#include <catena/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_dynamics ctn_dynamics;

/// Work space for the calls below; `model` must outlive it. `engine`: "auto" or NULL (the CTN_ENGINE environment variable if
/// set, else the widest one that this CPU has), "scalar", "avx2", "avx512"; with "cuda" the CPU, too. NULL on error. One thread
/// at a time may use it.
CTN_API ctn_dynamics *ctn_dynamics_create(const ctn_model *model, const char *engine, ctn_error *err);
CTN_API void ctn_dynamics_free(ctn_dynamics *dyn);  // NULL is allowed

/// The time (s) of the states in the calls that follow, 0 at first: motors have the targets of then, where these move. A time that
/// is not finite changes nothing.
CTN_API void ctn_dynamics_set_time(ctn_dynamics *dyn, double time);

/// The name of the engine in use.
CTN_API const char *ctn_dynamics_engine(const ctn_dynamics *dyn);

/// World rotation R [count][nlink][9] (row-major) and origin p [count][nlink][3] (m) of every link frame.
CTN_API void ctn_forward_kinematics(ctn_dynamics *dyn, int count, const double *q, double *R, double *p);

/// Twist [count][nlink][6] of every link: angular velocity (rad/s), velocity of the link origin (m/s).
CTN_API void ctn_link_twists(ctn_dynamics *dyn, int count, const double *q, const double *v, double *twist);

/// Acceleration [count][nlink][6] of every link while its joints accelerate by a [count][nv]: angular acceleration (rad/s^2),
/// acceleration of the link origin (m/s^2), the second derivative of its position; gravity is not taken off. With the qdd of
/// ctn_aba those of the motion.
CTN_API void ctn_link_accelerations(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a,
                                    double *acceleration);

/// Inverse dynamics by the recursive Newton-Euler algorithm (RNEA): tau = H(q) a + c(q, v), with armature in H and without
/// the passive forces of the joints. a, tau [count][nv]; N m or N.
CTN_API void ctn_rnea(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *tau);

/// Bias force c(q, v) [count][nv]: Coriolis, centrifugal and gravity terms.
CTN_API void ctn_bias(ctn_dynamics *dyn, int count, const double *q, const double *v, double *bias);

/// Passive force [count][nv] along the joints: their dampers, springs, soft limits (those that are violated) and motors, and what
/// the scene's `springs` and `forces` do on links.
CTN_API void ctn_passive(ctn_dynamics *dyn, int count, const double *q, const double *v, double *passive);

/// Joint-space inertia H(q) [count][nv][nv] by the composite-rigid-body algorithm (CRBA), both triangles, armature included.
CTN_API void ctn_crba(ctn_dynamics *dyn, int count, const double *q, double *H);

/// Forward dynamics by the articulated-body algorithm (ABA): solves H qdd = tau + passive - c. tau [count][nv] may be NULL
/// (no applied force); qdd [count][nv].
CTN_API void ctn_aba(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau, double *qdd);

/// Derivatives of inverse dynamics (ctn_rnea: armature in it, passive forces not): dtau_dq, dtau_dv, dtau_da [count][nv][nv], row
/// i that of tau[i]; each may be NULL. By q in tangent coordinates, laid out as v: a ball moves by q exp(delta), delta a turn in
/// link axes, every other coordinate by addition. Analytic, O(links depth). N m or N per rad or m, and per their rates.
CTN_API void ctn_rnea_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a,
                                  double *dtau_dq, double *dtau_dv, double *dtau_da);

/// Derivatives of forward dynamics (ctn_aba: with passive forces; tau may be NULL): dqdd_dq, dqdd_dv, dqdd_dtau [count][nv][nv],
/// row i that of qdd[i]; each may be NULL. By q as above. dqdd_dtau is the inverse of the joint-space inertia. Analytic, one O(N)
/// solve a column. Where a soft limit is just reached they are one-sided: those of the side where it does not act.
CTN_API void ctn_aba_derivatives(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *tau,
                                 double *dqdd_dq, double *dqdd_dv, double *dqdd_dtau);

/// Jacobian J [count][6][nv] of link `link` in 0 .. nlink-1: its twist is J v. NaN for a link outside.
CTN_API void ctn_jacobian(ctn_dynamics *dyn, int count, const double *q, int link, double *J);

/// Jacobian J [count][3][nv] of a point of link `link`, `point` [3] in its frame (m): the point's velocity, world axes (m/s), is
/// J v. NaN for a link outside.
CTN_API void ctn_point_jacobian(ctn_dynamics *dyn, int count, const double *q, int link, const double *point, double *J);

/// Centroidal momentum matrix A [count][6][nv] (Orin, Goswami and Lee 2013): A v is the angular momentum of all links about their
/// centre of mass (kg m^2/s) and their linear momentum (kg m/s), world axes; rotors of `armature` are not in it. O(nlink nv).
CTN_API void ctn_centroidal_matrix(ctn_dynamics *dyn, int count, const double *q, double *A);

/// Jacobian J [count][3][nv] of the centre of mass of all links: its velocity is J v. NaN where they have no mass. O(nlink nv).
CTN_API void ctn_com_jacobian(ctn_dynamics *dyn, int count, const double *q, double *J);

/// Rates of these Jacobians while joints move with v [count][nv]: dJ/dt [count][6][nv] of a link, [count][3][nv] of a point and
/// of the centre of mass. Accelerations are J a + dJ/dt v. NaN as above.
CTN_API void ctn_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, int link, double *dJ);
CTN_API void ctn_point_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, int link,
                                     const double *point, double *dJ);
CTN_API void ctn_com_jacobian_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, double *dJ);

/// The rate [count][6] of the centroidal momentum A v while the joints accelerate by a [count][nv]: of the angular momentum about
/// the centre of mass (N m), and of the linear momentum (N): all that acts on the links from outside, gravity included.
CTN_API void ctn_momentum_rate(ctn_dynamics *dyn, int count, const double *q, const double *v, const double *a, double *rate);

/// Sums over the whole model.
typedef struct ctn_totals {
    double kinetic;              // J, v' H v / 2: the rotors of `armature` count
    double potential;            // J, of gravity, zero at the world origin; no springs
    double spring;               // J, of springs, soft limits and servos; of a batch's states also in dry friction and contact
    double momentum_linear[3];   // kg m/s, of all links (not the rotors)
    double momentum_angular[3];  // kg m^2/s, about the world origin
    double com[3];               // m, centre of mass of all links of the file
    double mass;                 // kg
} ctn_totals;

/// totals [count].
CTN_API void ctn_energy_momentum(ctn_dynamics *dyn, int count, const double *q, const double *v, ctn_totals *totals);

#ifdef __cplusplus
}
#endif
#endif
