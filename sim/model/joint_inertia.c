/// The joint-space inertia at one pose, by the kernels in the scalar lane.
#include "sim/model/joint_inertia.h"
#include "sim/engine/engine.h"

#include "dynamics/lane_scalar.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"  // few of the kernels are needed here
#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "dynamics/articulated.h"
#include "dynamics/tree_factor.h"
#include "dynamics/derivatives.h"
#include "contact/law.h"
#include "contact/rolling.h"
#include "integrators/pose_pullback.h"
#pragma GCC diagnostic pop

#include <stdlib.h>

struct joint_inertia {
    lane_model *m;
    tree_factors factors;
    twist *V;      // [nbody]
    wrench *load;  // [nbody]
};

void joint_inertia_free(joint_inertia *inertia)
{
    if (!inertia) return;
    tree_factors *const F = &inertia->factors;
    free(F->T), free(F->pivot), free(F->node), free(F->p), free(F->d);
    free(inertia->V), free(inertia->load);
    free(inertia->m);
    free(inertia);
}

/// All coordinates zero, [nq]; NULL without memory.
static double *zero_pose(const ctn_model *m)
{
    double *const q = calloc((size_t)m->nq + 1, sizeof *q);
    for (int i = 0; i < m->nbody && q; i++)
        if (m->bodies[i].kind == JOINT_BALL) q[m->bodies[i].qadr] = 1;
    return q;
}

joint_inertia *joint_inertia_create(const ctn_model *m, const double *q)
{
    const size_t n = (size_t)m->nbody + 1, nv = (size_t)m->nv + 1;
    joint_inertia *const inertia = calloc(1, sizeof *inertia);
    double *const zero = q ? NULL : zero_pose(m), *const still = calloc(nv, sizeof *still);
    id_work motion = {.body = calloc(n, sizeof *motion.body)};
    if (inertia && motion.body && still && (q || zero)) {
        inertia->m = engine_model(&engine_scalar, m, 0);
        tree_factors *const F = &inertia->factors;
        F->T = calloc(n, sizeof *F->T), F->pivot = calloc(n, sizeof *F->pivot), F->node = calloc(n, sizeof *F->node);
        F->p = calloc(n, sizeof *F->p), F->d = calloc(n, sizeof *F->d);
        inertia->V = calloc(n, sizeof *inertia->V), inertia->load = calloc(n, sizeof *inertia->load);
        if (inertia->m && F->T && F->pivot && F->node && F->p && F->d && inertia->V && inertia->load) {
            id_motion(inertia->m, q ? q : zero, still, still, &motion);
            factor_motion(inertia->m, &motion, F);
            free(zero), free(still), free(motion.body);
            return inertia;
        }
    }
    joint_inertia_free(inertia);
    free(zero), free(still), free(motion.body);
    return NULL;
}

void joint_inertia_solve(joint_inertia *inertia, const double *b, double *x) { tree_solve(inertia->m, &inertia->factors, b, x); }

double joint_inertia_met(const joint_inertia *inertia, int i)
{
    const tree_pivot *const pivot = &inertia->factors.pivot[i];
    double mobility;  // 1/D, of three degrees of freedom the mean of its diagonal
    if (inertia->m->bodies[i].nv == 1) mobility = pivot->one.i;
    else {
        const ldl3 D = pivot->three.D;
        mobility = (ldl_solve(D, vec(1, 0, 0)).x + ldl_solve(D, vec(0, 1, 0)).y + ldl_solve(D, vec(0, 0, 1)).z) / 3;
    }
    return mobility > 0 && mobility < INFINITY ? 1 / mobility : 0;
}

void point_mobility(joint_inertia *inertia, int i, const double *point, double A[3][3], double *work)
{
    const lane_model *const m = inertia->m;
    const size_t nv = (size_t)m->nv;
    for (size_t k = 0; k < 3 * nv; k++) work[k] = 0;
    for (int k = 0; k < 3; k++) {
        wrench w = {zero3(), vec(k == 0, k == 1, k == 2)};
        w = wrench_shift(w, mul(inertia->factors.T[i].R, const3(point)));
        for (int j = i; j >= 0; j = m->bodies[j].parent) {
            const placement *const T = &inertia->factors.T[j];
            joint_rows(&m->bodies[j], m->bodies[j].kind, T->R, w, work + (size_t)k * nv + m->bodies[j].vadr);
            w = wrench_shift(w, T->r);
        }
        joint_inertia_solve(inertia, work + (size_t)k * nv, work + (3 + (size_t)k) * nv);
    }
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++) {
            A[a][b] = 0;
            for (size_t k = 0; k < nv; k++) A[a][b] += work[a * nv + k] * work[(3 + b) * nv + k];
        }
}

/// Whether a point on an edge of a box, the load at `s`, is below the opposite one, its body turned by R.
static bool is_lower(const lane_model *m, const lane_point_load *s, mat3 R)
{
    const vec3 up = tmul(R, ground_normal(m));
    return dot(up, load3(s->point)) <= dot(up, load3(s[s->opposite].point));
}

void joint_inertia_touch(joint_inertia *inertia, const double *x, double *f, double *share)
{
    const lane_model *const m = inertia->m;
    const vec3 n = ground_normal(m);
    joint_twists(m, inertia->factors.T, x, inertia->V);
    for (int i = 0; i < m->nbody; i++) inertia->load[i] = wrench_zero();
    for (int k = 0; k < m->nload; k++) {
        const lane_point_load *const s = &m->loads[k];
        const mat3 R = inertia->factors.T[s->body].R;
        share[k] = 0;
        if (!s->first || (s->opposite && !is_lower(m, s, R))) continue;  // once, whatever it may touch
        const vec3 arm = sub_scaled(mul(R, load3(s->point)), n, s->radius), u = moved_point(inertia->V[s->body], arm);
        const vec3 g = scale(s->friction > 0 ? u : scale(n, dot(n, u)), s->grip);
        share[k] = dot(g, u);
        inertia->load[s->body] = wrench_add(inertia->load[s->body], force_at(arm, g));
        if (!s->rolls) continue;
        const vec3 w = inertia->V[s->body].w, torque = scale(w, turn_grip(s));
        share[k] += dot(torque, w), inertia->load[s->body].n = add(inertia->load[s->body].n, torque);
    }
    for (int k = 0; k < m->nv; k++) f[k] = 0;
    add_joint_rows(m, inertia->factors.T, inertia->load, f);
}
