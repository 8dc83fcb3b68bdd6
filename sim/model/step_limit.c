/// What springs, limits and dampers ask of the time step. Linear about the start, with H the joint-space inertia there, K and C
/// the diagonal matrices of stiffnesses and dampings: H x'' = -K x - C x'. Its fastest vibration has w^2 the largest eigenvalue
/// of H^-1 K, its fastest decay the largest one of H^-1 C. All limits count as if they were violated, which can only make it
/// faster.
#include "sim/model/step_limit.h"

#include "dynamics/lane_scalar.h"
#include "dynamics/model.h"
#include "forces/motors.h"
#include "integrators/tableaux.h"
#include "sim/model/joint_inertia.h"
#include "sim/model/model.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// ---- methods

/// R(z) of an explicit Runge-Kutta method: what it multiplies x with in a step of x' = z x / h.
static double complex amplification(const tableau *t, double complex z)
{
    double complex k[EXPLICIT_STAGES], R = 1;
    for (int i = 0; i < t->stages; i++) {
        double complex x = 1;
        for (int j = 0; j < i; j++) x += t->a[i][j] * k[j];
        k[i] = z * x;
        R += t->b[i] * k[i];
    }
    return R;
}

/// The larger modulus of the eigenvalues of a matrix of two rows.
static double spectral_radius(double trace, double determinant)
{
    const double d = trace * trace / 4 - determinant;
    return d > 0 ? fabs(trace) / 2 + sqrt(d) : sqrt(fabs(determinant));
}

/// A part of size h of the variational method of order 2, leapfrog, as a matrix on (x, x').
static void leapfrog(double w2, double h, double M[4])
{
    const double half = 1 - h * h * w2 / 2;
    M[0] = M[3] = half, M[1] = h, M[2] = -h * w2 * (1 - h * h * w2 / 4);
}

static void product(const double A[4], const double B[4], double C[4])
{
    for (int i = 0; i < 4; i++) C[i] = A[i & 2] * B[i & 1] + A[(i & 2) + 1] * B[(i & 1) + 2];
}

/// Order 4 is three parts of order 2. Dampers, which order 2 takes implicitly, only help.
static double variational_radius(int order, double w2, double h)
{
    const double outer = order == 4 ? 1 / (2 - cbrt(2)) : 0, inner = order == 4 ? 1 - 2 * outer : 1;
    double A[4], B[4], AB[4], ABA[4];
    leapfrog(w2, outer * h, A), leapfrog(w2, inner * h, B);
    product(A, B, AB), product(AB, A, ABA);
    return spectral_radius(ABA[0] + ABA[3], 1);
}

static const tableau *tableau_of(ctn_method method)
{
    switch (method) {
    case CTN_EULER: return &tableau_euler;
    case CTN_RK2: return &tableau_rk2;
    case CTN_RK3: return &tableau_rk3;
    case CTN_RK4: return &tableau_rk4;
    case CTN_DOP853: return &tableau_dop853;
    default: return NULL;
    }
}

double growth_of_vibration(const ctn_batch_config *cfg, double w2, double c, double h)
{
    const tableau *const t = tableau_of(cfg->method);
    double radius = 1;
    if (t) {
        const double complex d = csqrt(c * c / 4 - w2);
        radius = fmax(cabs(amplification(t, h * (d - c / 2))), cabs(amplification(t, h * (-d - c / 2))));
    } else if (cfg->method == CTN_SEMI_IMPLICIT) radius = spectral_radius(2 - h * c - h * h * w2, 1 - h * c);
    else if (cfg->method == CTN_VARIATIONAL) radius = variational_radius(cfg->order, w2, h);
    return log(radius) / h;
}

// ---- the stiffest motion of a model

/// The fastest motion that passive forces of one kind drive.
typedef struct {
    double w2, c;  // of its vibration, 1/s^2, and of its damping, 1/s
    int body;      // whose joint has the largest part in it; -1: there is none
} mode;

static bool limited(const ctn_body *b) { return isfinite(b->limit[0]) || isfinite(b->limit[1]); }

/// The gains of a body's motor, on the joint's side of the gear: kp or kd.
static double gain_of(const ctn_model *m, const ctn_body *b, bool of_dampers)
{
    const joint_motor *const a = b->flags & BODY_MOTOR ? &m->motors[b->motor] : NULL;
    // a speed limit brakes what drives towards it, as long as it does
    const double brake = a && a->fast && isfinite(a->speed) ? a->effort / ((1 - FULL_EFFORT) * a->speed) : 0;
    return a ? a->gear * a->gear * (of_dampers ? a->kd + brake : a->kp) : 0;
}

/// The stiffness of dry friction that sticks.
static double bristles(const ctn_body *b) { return b->flags & BODY_FRICTION ? b->friction / b->presliding : 0; }

static double stiffness_of(const ctn_model *m, const ctn_body *b)
{
    return b->stiffness + (limited(b) ? b->limit_k : 0) + bristles(b) + gain_of(m, b, false);
}

static double damping_of(const ctn_model *m, const ctn_body *b, int k)
{
    return b->damping[k] + (limited(b) ? b->limit_b : 0) + gain_of(m, b, true);
}

/// How often a check may go over a model of so many degrees of freedom, so that it takes seconds.
static double most_passes(int nv) { return fmax(10, 2e7 / (nv + 1)); }

/// From 0.5 to 1.5, of either sign: power iteration that starts there misses no mode for its symmetry.
static double any_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const double x = 0.5 + (double)(*seed >> 40) * 0x1p-24;
    return *seed >> 39 & 1 ? -x : x;
}

/// Power iteration: x <- H^-1 D x with D the dampings, or the stiffnesses. Of very large models it is cut short, and what is
/// found from below is some percent lower. work [4][nv]
static mode fastest(const ctn_model *m, joint_inertia *inertia, bool of_dampers, double *work)
{
    const int nv = m->nv;
    double *const K = work, *const C = work + nv, *const x = work + 2 * nv, *const f = work + 3 * nv;
    const double *const D = of_dampers ? C : K;
    mode fast = {.body = -1};
    double most = 0, last = 0, scale = 0;
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *const b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++) K[b->vadr + k] = stiffness_of(m, b), C[b->vadr + k] = damping_of(m, b, k);
    }
    for (int k = 0; k < nv; k++) scale = fmax(scale, D[k]);  // that nothing is beyond the largest number on the way
    if (scale == 0) return fast;
    uint64_t seed = 1;
    for (int k = 0; k < nv; k++) x[k] = any_number(&seed);
    const int passes = (int)fmin(200, most_passes(nv));
    for (int pass = 0; pass < passes; pass++) {
        double xDx = 0, xKx = 0, xCx = 0, xHx = 0;
        for (int k = 0; k < nv; k++) f[k] = D[k] / scale * x[k];
        joint_inertia_solve(inertia, f, x);
        for (int k = 0; k < nv; k++)
            xHx += x[k] * f[k], xDx += x[k] * (D[k] / scale) * x[k], xKx += x[k] * K[k] * x[k], xCx += x[k] * C[k] * x[k];
        const double eigenvalue = xDx / xHx;  // from below
        if (!(xHx > 0 && isfinite(eigenvalue))) return fast;
        fast.w2 = xKx / xHx, fast.c = xCx / xHx, fast.body = 0;
        for (int k = 0; k < nv; k++) x[k] /= sqrt(xDx);
        if (fabs(eigenvalue - last) < 1e-4 * eigenvalue) break;
        last = eigenvalue;
    }
    for (int i = 0; i < m->nbody; i++) {
        double part = 0;
        for (int k = m->bodies[i].vadr; k < m->bodies[i].vadr + m->bodies[i].nv; k++) part += x[k] * D[k] * x[k];
        if (part > most) most = part, fast.body = i;
    }
    return fast;
}

// ---- the warning

/// Whether the method keeps the motion from growing more than e times in `duration`, in steps of h.
static bool holds(const ctn_batch_config *cfg, const mode *fast, double h, double duration)
{
    return growth_of_vibration(cfg, fast->w2, fast->c, h) * duration <= 1;  // false for a NaN, too
}

/// The largest step (s), with two digits, that holds the motion; 0: none above a millionth of the configuration's.
static double good_step(const ctn_batch_config *cfg, const mode *fast, double duration)
{
    double bad = cfg->dt, good = cfg->dt;
    while (!holds(cfg, fast, good, duration)) {
        bad = good, good /= 2;
        if (good < 1e-6 * cfg->dt || good == 0) return 0;  // of the least numbers there is no millionth
    }
    for (int pass = 0; pass < 10; pass++) {
        const double h = (good + bad) / 2;
        if (holds(cfg, fast, h, duration)) good = h;
        else bad = h;
    }
    const double unit = pow(10, floor(log10(good)) - 1);
    return floor(good / unit) * unit;
}

/// The key that made the joint of the link stiff.
static stiff_key key_of(const ctn_body *b, bool of_dampers)
{
    if (of_dampers) return limited(b) && b->limit_b > b->damping[0] ? STIFF_LIMIT_DAMPING : STIFF_DAMPING;
    const double limit = limited(b) ? b->limit_k : 0;
    if (bristles(b) > fmax(limit, b->stiffness)) return STIFF_FRICTION;
    return limit > b->stiffness ? STIFF_LIMIT_STIFFNESS : STIFF_STIFFNESS;
}

/// In words: how fast it is, and the step that would do, dt (s); 0: none.
static void describe(const mode *fast, bool of_dampers, double dt, char pace[60], char less[60])
{
    less[0] = 0;
    if (of_dampers) snprintf(pace, 60, "stops what it moves in %.2g s", 1 / fast->c);
    else snprintf(pace, 60, "%.3g rad/s with what it moves", sqrt(fast->w2));
    if (dt > 0) snprintf(less, 60, "dt %g or less, or ", dt);
}

static void warn_of_motor(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg, const mode *fast, bool of_dampers,
                          double dt)
{
    const scene_motor *const a = &scene->motors[m->bodies[fast->body].motor];
    const scene_link here = {.file = a->file};
    char key[60], pace[60], less[60];
    snprintf(key, sizeof key, "motors[%d].%s", a->entry, of_dampers ? "kd" : "kp");
    describe(fast, of_dampers, dt, pace, less);
    scene_warn(scene, &here, &a->at[of_dampers], key,
               "the motor of '%.60s' (%s) is too stiff for %s in steps of %g s: take %sa method that holds any stiffness: radau, "
               "collocation",
               scene->links[a->link].name, pace, ctn_method_name(cfg->method), cfg->dt, less);
}

/// dt: the step that would do (s), 0: none.
static void warn_of(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg, const mode *fast, bool of_dampers,
                    double dt)
{
    static const char *const keys[] = {"joint.damping", "joint.stiffness", "joint.limit_stiffness", "joint.limit_damping",
                                       "joint.friction"},
                             *const things[] = {"damper", "spring", "spring at a limit", "damper at a limit", "friction"};
    const ctn_body *const b = &m->bodies[fast->body];
    if (2 * gain_of(m, b, of_dampers) > (of_dampers ? damping_of(m, b, 0) : stiffness_of(m, b))) {
        warn_of_motor(scene, m, cfg, fast, of_dampers, dt);
        return;
    }
    const stiff_key key = key_of(b, of_dampers);
    const int l = link_of_dof(m, b->vadr);
    const scene_joint *const j = &scene->links[l].joint;
    const bool by_default =
        (key == STIFF_LIMIT_STIFFNESS && isnan(j->limit_stiffness)) || (key == STIFF_LIMIT_DAMPING && isnan(j->limit_damping));
    char pace[60], less[60];
    describe(fast, of_dampers, dt, pace, less);
    scene_warn(scene, &scene->links[l], &j->at[key], by_default ? "joint.limits" : keys[key],
               "the %s of '%.60s' (%s) is too stiff for %s in steps of %g s: take %sa method that holds any stiffness: radau, "
               "collocation",
               things[key], scene->links[l].name, pace, ctn_method_name(cfg->method), cfg->dt, less);
}

/// The largest eigenvalue of a symmetric matrix that is not negative, by power iteration from its largest column.
static double largest_eigenvalue(double A[3][3])
{
    double most = 0, x[3] = {1, 0.7, 0.4}, y[3];
    for (int pass = 0; pass < 100; pass++) {
        double length = 0;
        for (int i = 0; i < 3; i++) y[i] = A[i][0] * x[0] + A[i][1] * x[1] + A[i][2] * x[2], length += y[i] * y[i];
        length = sqrt(length);
        if (!(length > 0)) return 0;
        for (int i = 0; i < 3; i++) x[i] = y[i] / length;
        if (fabs(length - most) < 1e-6 * length) return length;
        most = length;
    }
    return most;
}

/// Of drag by the square, that of small motions in its current.
static double most_damping(const point_load *s)
{
    const double most = s->damping + fmax(s->axial, 0), *const u = s->flow;
    return s->flags & LOAD_SQUARE ? 2 * most * sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) : most;
}

/// Warns of the stiffest of the springs between links and the world, each alone with what it moves. Where there are very many on
/// a very large model, some of them are looked at, from the first to the last, and those with the largest numbers. work [6 nv]
static void warn_of_springs(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg, joint_inertia *inertia,
                            double duration, double *work)
{
    static const char *const keys[] = {"stiffness", "damping"};
    double worst = 0, A[3][3];
    mode fast = {.body = -1}, stiffest = fast;
    const point_load *of = NULL;
    const int every = 1 + (int)(6.0 * m->nload / most_passes(m->nv));  // a point takes six
    double most[2] = {0, 0};
    for (const point_load *s = m->loads; s < m->loads + m->nload; s++)
        most[0] = fmax(most[0], s->stiffness), most[1] = fmax(most[1], most_damping(s));
    for (const point_load *s = m->loads; s < m->loads + m->nload; s++) {
        const double damping = most_damping(s);
        if (s->stiffness == 0 && damping == 0) continue;
        const bool large = s->stiffness > 0 && s->stiffness == most[0], damps = damping > 0 && damping == most[1];
        if ((s - m->loads) % every && !large && !damps) continue;
        if (large) most[0] = INFINITY;  // one of those that are alike
        if (damps) most[1] = INFINITY;
        point_mobility(inertia, s->body, s->point, A, work);
        const double mobility = largest_eigenvalue(A);
        fast = (mode){.w2 = s->stiffness * mobility, .c = damping * mobility, .body = s->body};
        const double growth = growth_of_vibration(cfg, fast.w2, fast.c, cfg->dt);
        if (holds(cfg, &fast, cfg->dt, duration) || (of && !(growth > worst))) continue;
        worst = growth, of = s, stiffest = fast;
    }
    if (!of) return;
    const mode spring = {.w2 = stiffest.w2};
    const bool of_damper = holds(cfg, &spring, cfg->dt, duration);
    const bool of_fluid = of->number >= scene->nload;
    const scene_place *const at =
        of_fluid ? &scene->fluid.drag[of->number - scene->nload].at : &scene->loads[of->number].at[of_damper];
    const char *const link = scene->links[of->link].name;
    const scene_link here = {.file = scene->files[0].path};
    const double dt = good_step(cfg, &stiffest, duration);
    char key[60], less[60] = "";
    if (of_fluid) snprintf(key, sizeof key, "fluid");
    else if (scene->loads[of->number].of_cable) snprintf(key, sizeof key, "cable.end");
    else snprintf(key, sizeof key, "springs[%d].%s", of->number, keys[of_damper]);
    if (dt > 0) snprintf(less, sizeof less, "dt %g or less, or ", dt);
    scene_warn(scene, &here, at, key,
               "the %s '%.60s' (%.3g %s with what it moves) is too stiff for %s in steps of %g s: take %sa method "
               "that holds any "
               "stiffness: radau, collocation",
               of_fluid    ? "drag on"
               : of_damper ? "damper that holds"
                           : "spring that holds",
               link, of_damper ? stiffest.c : sqrt(stiffest.w2), of_damper ? "1/s" : "rad/s", ctn_method_name(cfg->method),
               cfg->dt, less);
}

/// The fastest vibration on the ground, by power iteration as in fastest(). Bristles are as stiff as what presses, with the same
/// damper. *of: the point with the largest part in it. work [2 nv], share [nload]
static mode fastest_contact(const ctn_model *m, joint_inertia *inertia, double *work, double *share, const point_load **of)
{
    double *const x = work, *const f = work + m->nv, last = 0, most = 0;
    mode fast = {.body = -1};
    uint64_t seed = 1;
    for (int k = 0; k < m->nv; k++) x[k] = any_number(&seed);
    joint_inertia_touch(inertia, x, f, share);
    const int passes = (int)fmin(200, most_passes(m->nv + m->ncontact));
    for (int pass = 0; pass < passes; pass++) {
        double xHx = 0, xKx = 0;
        joint_inertia_solve(inertia, f, x);
        for (int k = 0; k < m->nv; k++) xHx += x[k] * f[k];
        joint_inertia_touch(inertia, x, f, share);
        for (int k = 0; k < m->nload; k++) xKx += share[k];
        const double w2 = xKx / xHx;  // from below
        if (!(xHx > 0 && xKx > 0 && isfinite(w2))) return fast;
        for (int k = 0; k < m->nv; k++) f[k] /= sqrt(xKx);
        fast.w2 = w2, fast.c = w2 * m->relaxation, fast.body = 0;
        if (fabs(w2 - last) < 1e-4 * w2) break;
        last = w2;
    }
    for (int k = 0; k < m->nload; k++)
        if (share[k] > most) most = share[k], *of = &m->loads[k];
    if (*of) fast.body = (*of)->body;
    return fast;
}

/// Warns of the ground. The variational method takes the dampers of contact, and friction, at the ends of its steps, which makes
/// it as semi-implicit Euler is. work [2 nv]
static bool warn_of_contacts(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg, joint_inertia *inertia,
                             double duration, double *work)
{
    const point_load *of = NULL;
    double *const share = malloc((size_t)m->nload * sizeof *share);
    if (!share) return false;
    const mode fast = fastest_contact(m, inertia, work, share, &of);
    free(share);
    ctn_batch_config at_ends = *cfg;
    if (cfg->method == CTN_VARIATIONAL) at_ends.method = CTN_SEMI_IMPLICIT;
    if (!of || holds(&at_ends, &fast, cfg->dt, duration)) return true;
    const scene_link here = {.file = scene->files[0].path};
    const double dt = good_step(&at_ends, &fast, duration);
    char less[60] = "";
    if (dt > 0) snprintf(less, sizeof less, "dt %g or less, or ", dt);
    scene_warn(scene, &here, &scene->contact.at, "contact",
               "the ground under '%.60s' (%.3g rad/s with what it carries) is too stiff for %s in steps of %g s: take %sa method "
               "that holds any stiffness: radau, alpha, collocation",
               scene->links[of->link].name, sqrt(fast.w2), ctn_method_name(cfg->method), cfg->dt, less);
    return true;
}

bool warn_of_stiffness(ctn_scene *scene, const ctn_model *m, const ctn_batch_config *cfg)
{
    const double duration = scene->duration > 0 ? scene->duration : 10;
    if (!(m->passive || m->nload) || cfg->adaptive || cfg->method == CTN_COLLOCATION || cfg->method == CTN_RADAU) return true;
    joint_inertia *const inertia = joint_inertia_create(m, m->q0);
    double *const work = malloc(6 * ((size_t)m->nv + 1) * sizeof *work);
    bool room = inertia && work;
    double worst = 0, dt = cfg->dt;
    mode stiffest = {.body = -1};
    bool of_dampers = false;
    for (int kind = 0; kind < 2 && room; kind++) {
        const mode fast = fastest(m, inertia, kind, work);
        if (fast.body < 0 || holds(cfg, &fast, cfg->dt, duration)) continue;
        const mode spring = {.w2 = fast.w2}, damper = {.c = fast.c};  // which of both is to blame
        const bool good_damper = holds(cfg, &damper, cfg->dt, duration);
        if (kind ? good_damper : !good_damper && holds(cfg, &spring, cfg->dt, duration)) continue;
        const double growth = growth_of_vibration(cfg, fast.w2, fast.c, cfg->dt);
        dt = fmin(dt, good_step(cfg, &fast, duration));
        if (stiffest.body < 0 || growth > worst) stiffest = fast, of_dampers = kind, worst = growth;
    }
    if (stiffest.body >= 0) warn_of(scene, m, cfg, &stiffest, of_dampers, dt);
    if (room) warn_of_springs(scene, m, cfg, inertia, duration, work);
    if (room && m->ncontact) room = warn_of_contacts(scene, m, cfg, inertia, duration, work);
    free(work);
    joint_inertia_free(inertia);
    return room;
}
