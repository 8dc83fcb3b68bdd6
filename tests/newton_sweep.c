/// The position-based residual, its energy and its Newton sweep, against dense algebra that shares none of their shortcuts.
///
/// The dense Hessian follows the definition: with T = [R p; 0 1], M the 4x4 pseudo-inertia, G = (a M)/h^2 - g e4'M the link
/// gradient and E_j the 4x4 generator of degree of freedom j,
///     H_jk = sum over links l beyond k of  tr(E_j T M (E_k T)')/h^2 + tr(G'(E_j E_k T))     (j before k, mirrored)
/// with the symmetric product inside a ball, plus the joints' own second derivatives. Without the second term, the curvature,
/// what pulls at arms takes its place.
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <lapacke.h>
#include <stdio.h>

typedef struct {
    ctn_model *model;
    lane_model *m;
    block_state S;
    block_work W;
    void *state, *work;
    rng r;
    double h;
} fixture;

/// A random model in the middle of a step: state and rates random, the iterate `reach` times the predicted one.
static fixture open_fixture(uint64_t seed, const random_options *o, double h, double reach)
{
    fixture f = {.model = random_model(seed, o), .r = {seed * 3 + 1}, .h = h};
    for (int i = 0; i < f.model->nbody; i++)  // what spins has no energy that the step minimises (tests/spin.c)
        f.model->bodies[i].flags &= ~(unsigned)(BODY_SYMMETRIC | BODY_TILTS | BODY_ROUND | BODY_TOP | BODY_PINNED);
    f.model->spins = f.model->skew = false;
    const lane_model *m = f.m = scalar_lanes(f.model);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION;
    f.state = aligned_alloc(64, state_size(m, &cfg) + 64);
    f.work = aligned_alloc(64, work_size(m, &cfg) + 64);
    f.S = open_state(m, &cfg, f.state);
    f.W = open_work(m, &cfg, f.work);
    double *q = malloc(((size_t)m->nq + 1) * sizeof *q), *v = malloc(((size_t)m->nv + 1) * sizeof *v);
    random_state(f.model, &f.r, q, v);
    block_set(m, &cfg, &f.S, &f.W, q, v);
    free(q), free(v);
    solve *W = &f.W.po.one.W;
    position_work *P = &f.W.po.one;
    for (int k = 0; k < m->nv; k++) f.W.tau[k] = rng_uniform(&f.r, -1, 1);
    W->in.q = f.S.q, W->in.rate = f.S.v, W->in.tau = seed % 3 ? f.W.tau : NULL, W->V = f.S.V;
    for (int k = 0; k < m->nwound; k++) f.S.wound[k] = rng_uniform(&f.r, -2, 2);
    W->in.wound = f.S.wound;
    find_placements(m, f.S.q, W->start);
    set_step_size(W, h);
    start_step(m, W);
    for (int k = 0; k < m->nq; k++) P->x[k] = P->base[k] = f.S.q[k];
    for (int k = 0; k < m->nv; k++)
        P->u[k] = P->base_u[k] = 0, P->d[k] = reach * h * f.S.v[k] + rng_uniform(&f.r, -0.1, 0.1) * reach;
    move_iterate(m, P, 1, true);
    evaluate(m, W);
    residual(m, W);
    return f;
}

static void close_fixture(fixture *f)
{
    free(f->m), ctn_model_free(f->model);
    free(f->state), free(f->work);
}

/// Energy after moving the iterate by d [nv]; the iterate stays.
static double energy_at(fixture *f, const double *d)
{
    const lane_model *m = f->m;
    position_work *P = &f->W.po.one;
    double *x = malloc((size_t)(m->nq + 1) * sizeof *x), *u = malloc((size_t)(m->nv + 1) * sizeof *u);
    memcpy(x, P->x, (size_t)m->nq * sizeof *x), memcpy(u, P->u, (size_t)m->nv * sizeof *u);
    memcpy(P->base, x, (size_t)m->nq * sizeof *x), memcpy(P->base_u, u, (size_t)m->nv * sizeof *u);
    memcpy(P->d, d, (size_t)m->nv * sizeof *d);
    move_iterate(m, P, 1, true);
    evaluate(m, &P->W);
    const double E = P->W.E;
    memcpy(P->x, x, (size_t)m->nq * sizeof *x), memcpy(P->u, u, (size_t)m->nv * sizeof *u);
    free(x), free(u);
    return E;
}

typedef struct {
    double m[4][4];
} mat4;

static const mat3 zero33, identity3 = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static mat4 mul4(mat4 a, mat4 b)
{
    mat4 c = {{{0}}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++) c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}

static double trace_product(mat4 a, mat4 b)  // tr(a b')
{
    double s = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) s += a.m[i][j] * b.m[i][j];
    return s;
}

static mat4 pose4(mat3 R, vec3 p, double corner)
{
    return (mat4){{{R.x.x, R.y.x, R.z.x, p.x}, {R.x.y, R.y.y, R.z.y, p.y}, {R.x.z, R.y.z, R.z.z, p.z}, {0, 0, 0, corner}}};
}

static bool beyond_body(const lane_model *m, int body, int l)  // is l body or in its subtree
{
    for (; l >= 0; l = m->bodies[l].parent)
        if (l == body) return true;
    return false;
}

/// Generator of degree of freedom k of body i about the world origin.
static mat4 generator(const lane_body *b, mat3 R, vec3 p, int k)
{
    vec3 w = zero3(), v = zero3();
    const vec3 e = vec(k == 0, k == 1, k == 2);
    switch (b->kind) {
    case JOINT_BALL: w = mul(R, e); break;
    case JOINT_TRANSLATION: v = e; break;
    case JOINT_PRISMATIC: v = R.z; break;
    case JOINT_HELICAL: w = R.z, v = scale(R.z, given(b)->pitch); break;
    default: w = R.z;
    }
    v = add(v, cross(p, w));
    return (mat4){{{0, -w.z, w.y, v.x}, {w.z, 0, -w.x, v.y}, {-w.y, w.x, 0, v.z}, {0, 0, 0, 0}}};
}

static double component(vec3 a, int i) { return i == 0 ? a.x : i == 1 ? a.y : a.z; }
static vec3 turning(const mat4 *E) { return vec(E->m[2][1], E->m[0][2], E->m[1][0]); }

/// Adds that of a load with the point X = T (s, 1): (k + c/h) E_i X . E_j X + curved g . E_i E_j X (i before j, mirrored). Of a
/// torque, by the turns w of the generators, with the second derivative K of its energy and its gradient n: curved (w_i . K w_j +
/// n . (w_i x w_j) / 2).
static void add_load_hessian(const fixture *f, const lane_point_load *s, const mat4 *T, const vec3 *p, bool curved, double *H)
{
    const lane_model *m = f->m;
    const solve *W = &f->W.po.one.W;
    const int n = m->nv;
    const double c = s->damping / f->h;
    const mat4 X = mul4(T[s->body], pose4(identity3, load3(s->point), 1));
    mat4 G = {{{0}}};
    for (int i = 0; i < 3; i++) {
        const vec3 x0 = add(f->W.T[s->body].p, mul(f->W.T[s->body].R, load3(s->point)));
        const double before[3] = {x0.x, x0.y, x0.z};
        G.m[i][3] =
            s->stiffness * (X.m[i][3] - s->anchor[i]) + c * (X.m[i][3] - before[i]) - component(W->held[s - m->loads].F, i);
    }
    const mat3 R = W->now[s->body].R;
    terms3 turned = {0};
    if (s->flags & LOAD_TURNS) turned = torque_terms(W->held[s - m->loads].T, W->start[s->body].R, R);
    const vec3 moment = mul(R, turned.g);
    const sym3 K = turn(R, turned.k);
    const mat4 at = pose4(zero33, vec(X.m[0][3], X.m[1][3], X.m[2][3]), 1);
    for (int j = s->body; j >= 0; j = m->bodies[j].parent)
        for (int i = j; i >= 0; i = m->bodies[i].parent)
            for (int b = 0; b < m->bodies[j].nv; b++)
                for (int a = 0; a < m->bodies[i].nv; a++) {
                    if (i == j && b < a) continue;
                    const mat4 Ea = generator(&m->bodies[i], W->now[i].R, p[i], a),
                               Eb = generator(&m->bodies[j], W->now[j].R, p[j], b);
                    const double mixed = trace_product(G, mul4(Ea, mul4(Eb, at))),
                                 swapped = trace_product(G, mul4(Eb, mul4(Ea, at)));
                    const vec3 wa = turning(&Ea), wb = turning(&Eb);
                    const double torque = dot(wa, smul(K, wb)) + (i == j ? 0 : 0.5 * dot(moment, cross(wa, wb)));
                    const double x = (s->stiffness + c) * trace_product(mul4(Ea, at), mul4(Eb, at)) +
                                     (curved ? (i == j ? 0.5 * (mixed + swapped) : mixed) + torque : 0);
                    const int u = m->bodies[i].vadr + a, v = m->bodies[j].vadr + b;
                    H[u * n + v] += x;
                    if (u != v) H[v * n + u] += x;
                }
}

/// Adds what the subtree of each body that stands off its parent pulls with: f of it all, from the bodies' own, and its arm's
/// turns.
static void add_pulls(const fixture *f, double *H)
{
    const lane_model *m = f->m;
    const solve *W = &f->W.po.one.W;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (b->flags & BODY_ROOT || !has_arm(form_of(b))) continue;
        vec3 pull = zero3();
        for (int l = i; l < b->end; l++) pull = sub(pull, W->body[l].w.f);
        const vec3 r = W->now[i].r;
        const double t = fmax(0, dot(r, pull)) / dot(r, r);
        for (int j = b->parent; j >= 0 && t > 0; j = m->bodies[j].parent)
            for (int k = b->parent; k >= 0; k = m->bodies[k].parent)
                for (int c = 0; c < m->bodies[j].nv; c++)
                    for (int e = 0; e < m->bodies[k].nv; e++) {
                        const mat4 Ej = generator(&m->bodies[j], W->now[j].R, zero3(), c),
                                   Ek = generator(&m->bodies[k], W->now[k].R, zero3(), e);
                        H[(m->bodies[j].vadr + c) * m->nv + m->bodies[k].vadr + e] +=
                            t * dot(cross(turning(&Ej), r), cross(turning(&Ek), r));
                    }
    }
}

/// The dense Hessian [nv][nv] at the iterate; not curved: with pulls in the place of its curvature.
static double *dense_hessian(fixture *f, bool curved)
{
    const lane_model *m = f->m;
    const solve *W = &f->W.po.one.W;
    const int n = m->nv;
    const double k2 = 1 / (f->h * f->h);
    double *H = calloc((size_t)n * (size_t)n, sizeof *H);
    pose *T0 = f->W.T;
    body_poses(m, f->S.q, T0);
    mat4 *T = calloc((size_t)m->nbody, sizeof *T), *G = calloc((size_t)m->nbody, sizeof *G),
         *M = calloc((size_t)m->nbody, sizeof *M);
    vec3 *p = calloc((size_t)m->nbody, sizeof *p);
    for (int l = 0; l < m->nbody; l++) {
        const lane_body *b = &m->bodies[l];
        const rate_pose *V = &f->S.V[l];
        p[l] = add(T0[l].p, W->body[l].dp);
        T[l] = pose4(W->now[l].R, p[l], 1);
        const real *const S = given(b)->S, *const h = given(b)->h;
        M[l] = (mat4){
            {{S[0], S[3], S[4], h[0]}, {S[3], S[1], S[5], h[1]}, {S[4], S[5], S[2], h[2]}, {h[0], h[1], h[2], given(b)->mass}}};
        if (!(b->flags & BODY_MASS)) continue;
        mat4 a = pose4(T0[l].R, T0[l].p, 0);
        const mat4 v = pose4(V->R, V->p, 0);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) a.m[i][j] = T[l].m[i][j] - a.m[i][j] - f->h * v.m[i][j];
        G[l] = mul4(a, M[l]);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) G[l].m[i][j] = G[l].m[i][j] * k2 - m->gravity[i] * M[l].m[3][j];
    }
    for (int i = 0; i < m->nbody; i++)
        for (int j = i; j < m->nbody; j++) {
            if (!beyond_body(m, i, j)) continue;
            for (int a = 0; a < m->bodies[i].nv; a++)
                for (int b = 0; b < m->bodies[j].nv; b++) {
                    if (i == j && b < a) continue;
                    const mat4 Ea = generator(&m->bodies[i], W->now[i].R, p[i], a),
                               Eb = generator(&m->bodies[j], W->now[j].R, p[j], b);
                    mat4 AB = mul4(Ea, Eb);
                    if (i == j) {
                        const mat4 BA = mul4(Eb, Ea);
                        for (int k = 0; k < 16; k++) (&AB.m[0][0])[k] = 0.5 * ((&AB.m[0][0])[k] + (&BA.m[0][0])[k]);
                    }
                    double s = 0;
                    for (int l = j; l < m->nbody; l++) {
                        if (!beyond_body(m, j, l)) continue;
                        s += k2 * trace_product(mul4(mul4(Ea, T[l]), M[l]), mul4(Eb, T[l])) +
                             (curved ? trace_product(G[l], mul4(AB, T[l])) : 0);
                    }
                    const int u = m->bodies[i].vadr + a, v = m->bodies[j].vadr + b;
                    H[u * n + v] = H[v * n + u] = s;
                }
        }
    for (int k = 0; k < m->nload; k++) add_load_hessian(f, &m->loads[k], T, p, curved, H);
    if (!curved) add_pulls(f, H);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!has_terms(b, W->in.tau)) continue;
        const sym3 k = !curved && b->nv == 3 ? W->terms[i].safe : W->terms[i].k;
        const double K[3][3] = {{k.xx, k.xy, k.xz}, {k.xy, k.yy, k.yz}, {k.xz, k.yz, k.zz}};
        for (int a = 0; a < b->nv; a++)
            for (int c = 0; c < b->nv; c++) H[(b->vadr + a) * n + b->vadr + c] += b->nv == 1 ? k.xx : K[a][c];
    }
    free(T), free(G), free(M), free(p);
    return H;
}

static double largest(const double *x, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++) s = fmax(s, fabs(x[k]));
    return s;
}

/// Gradient and Hessian against differences of the energy.
START_TEST(energy_residual_and_hessian_agree)
{
    FOR_SEEDS(seed, 40)
    {
        const random_options o = {.links = 1 + (int)(seed % 6),
                                  .passive = seed % 2,
                                  .joints = seed % 5 ? 0 : 1u << CTN_BALL,
                                  .springs = seed % 3 ? (int)(seed % 3) : 0,
                                  .wrenches = (int)(seed % 4),
                                  .motors = (int)(seed % 5),
                                  .winding = seed % 3 != 0,
                                  .speeds = seed % 2 == 0};
        fixture f = open_fixture(seed, &o, 0.05, 1);
        const int n = f.m->nv;
        double *r = malloc((size_t)(n + 1) * sizeof *r), *d = calloc((size_t)n + 1, sizeof *d), *H = dense_hessian(&f, true);
        memcpy(r, f.W.po.one.W.r, (size_t)n * sizeof *r);
        const double size = largest(H, n * n);
        for (int i = 0; i < n; i++) {
            const double e = 1e-4;
            double E[4];
            for (int s = 0; s < 4; s++) d[i] = e * (s < 2 ? s - 2 : s - 1), E[s] = energy_at(&f, d);
            d[i] = 0;
            const double g = (8 * (E[2] - E[1]) - (E[3] - E[0])) / (12 * e);
            ck_assert_msg(fabs(g - r[i]) < 1e-8 * size, "seed %llu: gradient %d: %.9g, by differences %.9g",
                          (unsigned long long)seed, i, r[i], g);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                const double e = 2e-4;  // closer than a corner of a motor may be
                double x = 0;
                for (int s = 0; s < 4; s++) {
                    memset(d, 0, (size_t)n * sizeof *d);
                    d[i] += s & 1 ? e : -e, d[j] += s & 2 ? e : -e;
                    x += (s == 0 || s == 3 ? 1 : -1) * energy_at(&f, d);
                }
                x /= 4 * e * e;
                ck_assert_msg(fabs(x - H[i * n + j]) < 1e-5 * size, "seed %llu: H[%d][%d] = %.9g, by differences %.9g",
                              (unsigned long long)seed, i, j, H[i * n + j], x);
            }
        free(r), free(d), free(H);
        close_fixture(&f);
    }
}
END_TEST

static bool cholesky(const double *H, int n, double *C)
{
    memcpy(C, H, (size_t)(n * n) * sizeof *C);
    return n == 0 || LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, C, n) == 0;
}

/// x with H x = b by the Cholesky factor C of H, refined once, so that the oracle's own rounding stays below the tolerance.
static void dense_solve(const double *H, const double *C, int n, const double *b, double *x)
{
    double *const y = malloc((size_t)(n + 1) * sizeof *y);
    memcpy(x, b, (size_t)n * sizeof *x);
    if (n > 0) LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', n, 1, C, n, x, 1);
    for (int i = 0; i < n; i++) {
        long double s = b[i];
        for (int j = 0; j < n; j++) s -= (long double)H[i * n + j] * x[j];
        y[i] = (double)s;
    }
    if (n > 0) LAPACKE_dpotrs(LAPACK_ROW_MAJOR, 'L', n, 1, C, n, y, 1);
    for (int k = 0; k < n; k++) x[k] += y[k];
    free(y);
}

static double difference(const double *a, const double *b, int n)
{
    double worst = 0;
    for (int k = 0; k < n; k++) worst = worse(worst, fabs(a[k] - b[k]));
    return worst;
}

/// The sweep against LAPACK; its pivots against a Cholesky factorisation.
START_TEST(sweep_is_the_dense_newton_step)
{
    int definite = 0, indefinite = 0;
    FOR_ALL_SEEDS(seed, 300)
    {
        static const int sizes[] = {1, 2, 3, 5, 8, 13, 21, 34};
        const random_options o = {.links = sizes[seed % 8],
                                  .passive = seed % 2,
                                  .chain = seed % 7 == 0,
                                  .springs = seed % 5 < 2 ? 1 + (int)(seed % 4) : 0,
                                  .wrenches = seed % 5 > 2 ? (int)(seed % 3) : 0};
        // half of them near the start of the step, where the Hessian is positive definite
        fixture f = open_fixture(seed, &o, seed % 4 < 2 ? 0.01 : 0.1, seed % 4 < 2 ? 0.3 : 1.5);
        const int n = f.m->nv;
        double *H = dense_hessian(&f, true), *C = malloc((size_t)(n * n + 1) * sizeof *C),
               *x = malloc((size_t)(n + 1) * sizeof *x), *d = malloc((size_t)(n + 1) * sizeof *d),
               *y = malloc((size_t)(n + 1) * sizeof *y);
        for (int k = 0; k < n; k++) y[k] = -f.W.po.one.W.r[k], d[k] = NAN;
        const bool positive = cholesky(H, n, C);
        double dropped = 0;
        const bool good = sweep_inward(f.m, &f.W.po.one.W, &f.W.po.one.sweep, true, &dropped, d);
        ck_assert_msg(good, "seed %llu: no descent direction", (unsigned long long)seed);
        ck_assert_msg((dropped == 0) == positive, "seed %llu: curvature dropped %g times, Cholesky says %d",
                      (unsigned long long)seed, dropped, positive);
        definite += positive && n > 0, indefinite += !positive;
        if (!positive) {
            free(H);
            H = dense_hessian(&f, false);
            ck_assert_msg(cholesky(H, n, C), "seed %llu: not positive definite after dropping", (unsigned long long)seed);
        }
        sweep_outward(f.m, &f.W.po.one.W, &f.W.po.one.sweep, d);
        dense_solve(H, C, n, y, x);
        const double worst = difference(d, x, n);
        ck_assert_msg(worst <= 1e-10 * largest(x, n), "seed %llu: step off by %.3g of %.3g", (unsigned long long)seed, worst,
                      largest(x, n));
        free(H), free(C), free(x), free(d), free(y);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED"))
        ck_assert_msg(definite > 50 && indefinite > 50, "%d definite, %d indefinite cases", definite, indefinite);
}
END_TEST

/// A small share of a step that is followed is that share of the step, and no share is none.
START_TEST(followed_steps_begin_along_the_step)
{
    FOR_SEEDS(seed, 60)
    {
        const random_options o = {.links = 1 + (int)(seed % 12), .passive = seed % 2, .chain = seed % 3 == 0};
        fixture f = open_fixture(seed, &o, seed % 4 < 2 ? 0.01 : 0.1, seed % 4 < 2 ? 0.3 : 1.5);
        const lane_model *m = f.m;
        position_work *P = &f.W.po.one;
        double dropped = 0, worst = 0;
        ck_assert(sweep_inward(m, &P->W, &P->sweep, true, &dropped, P->fresh));
        keep_lead(m, P, true);
        sweep_outward(m, &P->W, &P->sweep, P->fresh);
        memcpy(P->base, P->x, (size_t)m->nq * sizeof *P->x), memcpy(P->base_u, P->u, (size_t)m->nv * sizeof *P->u);
        const double size = largest(P->fresh, m->nv), share = 1e-5 / fmax(1, size);
        for (int none = 0; none < 2; none++) {
            follow_iterate(m, P, none ? 0 : share, true);
            for (int i = 0; i < m->nbody; i++) {
                const lane_body *b = &m->bodies[i];
                double moved[3];
                for (int k = 0; k < b->nv; k++) moved[k] = P->u[b->vadr + k] - P->base_u[b->vadr + k];
                if (b->kind == JOINT_BALL) {
                    quat p;
                    store3(moved, ball_chord(quat_load(P->base + b->qadr), quat_load(P->x + b->qadr), &p));
                }
                for (int k = 0; k < b->nv; k++)
                    worst = worse(worst, none ? fabs(moved[k]) / 1e-9 : fabs(moved[k] / share - P->fresh[b->vadr + k]) / size);
            }
        }
        ck_assert_msg(worst < 1e-3, "seed %llu: off by %.3g of the step", (unsigned long long)seed, worst);
        close_fixture(&f);
    }
}
END_TEST

/// Adds J_i'w of body i to b [nv], from generators about the world's origin.
static void add_wrench_rows(const fixture *f, const vec3 *p, int i, wrench w, double *b)
{
    const lane_model *m = f->m;
    for (int j = i; j >= 0; j = m->bodies[j].parent)
        for (int k = 0; k < m->bodies[j].nv; k++) {
            const mat4 E = generator(&m->bodies[j], f->W.po.one.W.now[j].R, p[j], k);
            const vec3 turn = vec(E.m[2][1], E.m[0][2], E.m[1][0]), shift = vec(E.m[0][3], E.m[1][3], E.m[2][3]);
            b[m->bodies[j].vadr + k] += dot(turn, w.n) + dot(add(shift, cross(turn, p[i])), w.f);
        }
}

/// Factored once by a sweep, solved for several sides, joint forces and wrenches on bodies, against LAPACK. The sweep's own side
/// gives the sweep's own step, to the last bit where no ball has a parent.
START_TEST(factors_serve_other_sides)
{
    int dropped_some = 0, same_bits = 0, with_balls = 0;
    FOR_ALL_SEEDS(seed, 200)
    {
        static const int sizes[] = {1, 2, 4, 7, 12, 20, 33};
        const random_options o = {.links = sizes[seed % 7],
                                  .passive = seed % 2,
                                  .chain = seed % 5 == 0,
                                  .joints = seed % 3 ? 0 : 1u << CTN_REVOLUTE | 1u << CTN_PRISMATIC | 1u << CTN_HELICAL,
                                  .springs = seed % 4 == 1 ? 2 : 0};
        fixture f = open_fixture(seed, &o, seed % 4 < 2 ? 0.01 : 0.1, seed % 4 < 2 ? 0.3 : 1.5);
        const lane_model *m = f.m;
        solve *W = &f.W.po.one.W;
        sweep_work *sweep = &f.W.po.one.sweep;
        const int n = m->nv;
        const size_t bytes = (size_t)(n + 1) * sizeof(double);
        double *C = malloc((size_t)(n * n + 1) * sizeof *C), *step = malloc(bytes), *b = malloc(bytes), *all = malloc(bytes),
               *x = malloc(bytes), *y = malloc(bytes);
        wrench *w = calloc((size_t)m->nbody + 1, sizeof *w), *scratch = calloc((size_t)m->nbody + 1, sizeof *scratch);
        vec3 *p = calloc((size_t)m->nbody + 1, sizeof *p);
        double dropped = 0;
        ck_assert(sweep_inward(m, W, sweep, true, &dropped, step));
        sweep_outward(m, W, sweep, step);
        double *H = dense_hessian(&f, dropped == 0);
        ck_assert(cholesky(H, n, C));
        for (int i = 0; i < m->nbody; i++) p[i] = add(f.W.T[i].p, W->body[i].dp);
        for (int side = 0; side < 5; side++) {
            for (int k = 0; k < n; k++) all[k] = b[k] = side ? rng_uniform(&f.r, -1, 1) : -W->r[k];
            for (int i = 0; i < m->nbody && side > 2; i++) {
                w[i].n = vec(rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1));
                w[i].f = vec(rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1), rng_uniform(&f.r, -1, 1));
                add_wrench_rows(&f, p, i, w[i], all);
            }
            dense_solve(H, C, n, all, y);
            sweep_solve(m, W, sweep, b, side > 2 ? w : NULL, scratch, x);
            ck_assert_msg(difference(x, y, n) <= 1e-10 * largest(y, n), "seed %llu: side %d off by %.3g of %.3g",
                          (unsigned long long)seed, side, difference(x, y, n), largest(y, n));
            sweep_solve(m, W, sweep, b, side > 2 ? w : NULL, scratch, b);
            ck_assert_msg(n == 0 || !memcmp(b, x, bytes - sizeof *b), "seed %llu: side %d differs in place",
                          (unsigned long long)seed, side);
        }
        bool ball = false;
        for (int i = 0; i < m->nbody; i++) ball = ball || (m->bodies[i].kind == JOINT_BALL && !(m->bodies[i].flags & BODY_ROOT));
        for (int k = 0; k < n; k++) b[k] = -W->r[k];
        sweep_solve(m, W, sweep, b, NULL, scratch, x);
        for (int k = 0; k < n && !ball; k++)
            ck_assert_msg(x[k] == step[k], "seed %llu: d[%d] = %.17g, by the sweep %.17g", (unsigned long long)seed, k, x[k],
                          step[k]);
        ck_assert_msg(difference(x, step, n) <= 1e-10 * largest(step, n), "seed %llu: step off by %.3g of %.3g",
                      (unsigned long long)seed, difference(x, step, n), largest(step, n));
        dropped_some += dropped > 0, same_bits += !ball && n > 1, with_balls += ball;
        free(H), free(C), free(step), free(b), free(all), free(x), free(y), free(w), free(scratch), free(p);
        close_fixture(&f);
    }
    if (!getenv("CTN_SEED"))
        ck_assert_msg(dropped_some > 30 && same_bits > 50 && with_balls > 50,
                      "%d with dropped curvature, %d to the bit, %d with balls", dropped_some, same_bits, with_balls);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("newton_sweep");
    TCase *t = tcase_create("newton_sweep");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, energy_residual_and_hessian_agree);
    tcase_add_test(t, sweep_is_the_dense_newton_step);
    tcase_add_test(t, factors_serve_other_sides);
    tcase_add_test(t, followed_steps_begin_along_the_step);
    suite_add_tcase(s, t);
    return run_suite(s);
}
