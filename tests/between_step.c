/// What acts between bodies in a step: random pairs of shapes, loops, couplings and springs in random trees, their energy against
/// differences of itself, the matrix against the sweep, and its solutions against LAPACK.
#include "sim/model/between.h"
#include "tests/kernels.h"
#include "tests/random_scene.h"
#include "tests/suite.h"
#include "tests/worse.h"

#include <check.h>
#include <lapacke.h>
#include <stdio.h>

enum { SHAPES = 6, BONDS = 6, POINTS = 4 };

typedef struct {
    ctn_model *model;
    lane_model *m;
    block_state S;
    block_work W;
    void *state, *work;
    touch_shape shapes[SHAPES];
    touch_pair pairs[SHAPES * SHAPES];
    model_bond bonds[BONDS];
    bond_joint joints[BONDS];
    bond_point points[BONDS * POINTS];
    double h;
} fixture;

static void random_axes(rng *r, double R[9])
{
    double q[4];
    rng_quaternion(r, q);
    const mat3 A = quat_rotation(quat_load(q));
    const double rows[9] = {A.x.x, A.y.x, A.z.x, A.x.y, A.y.y, A.z.y, A.x.z, A.y.z, A.z.z};
    memcpy(R, rows, sizeof rows);
}

static int random_body(const ctn_model *m, rng *r, bool mass)
{
    for (int tries = 0; tries < 100; tries++) {
        const int i = rng_below(r, m->nbody);
        if (!mass || m->bodies[i].flags & BODY_MASS) return i;
    }
    return -1;
}

/// Shapes that overlap more often than not, and all pairs of them on different bodies.
static void add_pairs(fixture *f, rng *r)
{
    ctn_model *const m = f->model;
    for (int k = 0; k < SHAPES; k++) {
        touch_shape *const s = &f->shapes[k];
        *s = (touch_shape){
            .kind = (core_kind)rng_below(r, 3), .body = random_body(m, r, true), .radius = rng_uniform(r, 0.2, 0.4)};
        for (int i = 0; i < 3; i++) s->at[i] = rng_uniform(r, -0.1, 0.1);
        random_axes(r, s->R);
        for (int i = 0; i < 3; i++)
            s->half[i] = s->kind == CORE_BOX || (s->kind == CORE_SEGMENT && i == 2) ? rng_uniform(r, 0.05, 0.3) : 0;
        s->bound = s->radius + sqrt(s->half[0] * s->half[0] + s->half[1] * s->half[1] + s->half[2] * s->half[2]);
    }
    m->touch_shapes = f->shapes, m->ntouch_shape = SHAPES, m->touch_pairs = f->pairs, m->npair = 0, m->nslot = 0;
    for (int a = 0; a < SHAPES; a++)
        for (int b = a + 1; b < SHAPES; b++) {
            const bool swap = f->shapes[a].kind == CORE_BOX && f->shapes[b].kind != CORE_BOX;
            const int first = swap ? b : a, second = swap ? a : b;
            if (f->shapes[a].body == f->shapes[b].body) continue;
            const int n = elements_of(&f->shapes[first], &f->shapes[second]);
            f->pairs[m->npair++] = (touch_pair){.a = first,
                                                .b = second,
                                                .elements = n,
                                                .slot = m->nslot,
                                                .slots = n < PAIR_SLOTS ? n : PAIR_SLOTS,
                                                .friction = 0.7,
                                                .grip = 100,
                                                .slide = 10,
                                                .weight = 10,
                                                .depth = 0.1};
            m->nslot += n < PAIR_SLOTS ? n : PAIR_SLOTS;
        }
    m->relaxation = 0.02;
}

static int random_hinge(const ctn_model *m, rng *r)
{
    for (int tries = 0; tries < 100; tries++) {
        const int i = rng_below(r, m->nbody);
        if (m->bodies[i].nv == 1) return i;
    }
    return -1;
}

/// Through points of bodies, of which some follow each other on one, and of the world; of a path in two branches.
static void lay_points(fixture *f, rng *r, model_bond *o, int k)
{
    o->point = k * POINTS, o->points = o->kind == BOND_SPRING ? 2 : POINTS;
    for (int i = 0; i < o->points; i++) {
        bond_point *const p = &f->points[o->point + i];
        *p = (bond_point){.body = i && rng_below(r, 5) == 0 ? p[-1].body
                                  : rng_below(r, 6)         ? random_body(f->model, r, true)
                                                            : -1,
                          .share = i + 1 == o->points || (k % 2 && i == 1) ? 0 : rng_uniform(r, 0.3, 1)};
        for (int c = 0; c < 3; c++) p->at[c] = rng_uniform(r, -0.5, 0.5);
    }
}

static void add_bonds(fixture *f, rng *r)
{
    static const int rows[] = {3, 5, 6, 5, 1, 1, 0, 0, 0};
    ctn_model *const m = f->model;
    m->bonds = f->bonds, m->bond_joints = f->joints, m->bond_points = f->points, m->nbond = 0, m->nrow = 0;
    for (int k = 0; k < BONDS; k++) {
        model_bond *const o = &f->bonds[m->nbond];
        *o = (model_bond){.kind = (bond_kind)rng_below(r, 9), .a = random_body(m, r, true), .b = random_body(m, r, true)};
        if (o->a == o->b) o->b = -1;
        for (int i = 0; i < 3; i++) o->at_a[i] = rng_uniform(r, -0.5, 0.5), o->at_b[i] = rng_uniform(r, -0.5, 0.5);
        random_axes(r, o->axes_a), random_axes(r, o->axes_b);
        o->length = rng_uniform(r, 0.2, 1), o->stiffness = rng_uniform(r, 1, 20), o->damping = rng_uniform(r, 0, 0.1),
        o->size = 1;
        o->compliance = k % 2 ? 0 : rng_uniform(r, 0, 0.01), o->row = m->nrow, o->rows = rows[o->kind];
        for (int i = 0; i < 5; i++) o->poly[i] = rng_uniform(r, -0.3, 0.3);
        o->follower = random_hinge(m, r), o->leader = random_hinge(m, r), o->joint = k, o->joints = o->kind == BOND_TENDON;
        if (o->kind == BOND_SPRING || o->kind == BOND_PATH) lay_points(f, r, o, k);
        o->rest[0] = rng_uniform(r, 0.2, 1), o->rest[1] = o->rest[0] + (k % 2 ? 0 : rng_uniform(r, 0, 0.2));
        o->range[0] = rng_uniform(r, 0, 1), o->range[1] = k % 2 ? INFINITY : o->range[0] + 0.5;
        f->joints[k] = (bond_joint){random_hinge(m, r), rng_uniform(r, -1, 1)};
        if (o->leader == o->follower) o->leader = -1;
        if ((o->kind == BOND_COUPLING && o->follower < 0) || (o->kind == BOND_TENDON && f->joints[k].body < 0)) continue;
        m->nrow += o->rows, m->nbond++;
    }
}

/// Rows of bonds as random as those of bodies on the way to the root can be: bonds come among bodies, as they do in scenes.
static double *random_rows(const ctn_model *m, rng *r)
{
    const size_t width = (size_t)m->nv + 1;
    double *const rows = calloc((size_t)m->nrow * width + 1, sizeof *rows);
    for (int k = 0; k < m->nbond; k++) {
        const model_bond *const o = &m->bonds[k];
        int ends[2] = {o->a, o->b};
        if (o->kind == BOND_COUPLING) ends[0] = o->follower, ends[1] = o->leader;
        for (int e = o->row; e < o->row + o->rows; e++)
            for (int side = 0; side < 2; side++)
                for (int i = ends[side]; i >= 0;) {
                    const ctn_body *const b = &m->bodies[i];
                    for (int j = b->vadr; j < b->vadr + b->nv; j++) rows[(size_t)e * width + (size_t)j] = rng_uniform(r, -1, 1);
                    i = o->kind == BOND_COUPLING || b->flags & BODY_ROOT ? -1 : b->parent;
                }
    }
    return rows;
}

/// A random model in the middle of a step, as tests/newton_sweep.c has it.
static void open_fixture(fixture *f, uint64_t seed, const random_options *o, double h, double reach, bool pairs, bool bonds)
{
    rng r = {seed * 3 + 1};
    f->model = random_model(seed, o), f->h = h;
    for (int i = 0; i < f->model->nbody; i++)
        f->model->bodies[i].flags &= ~(unsigned)(BODY_SYMMETRIC | BODY_TILTS | BODY_ROUND | BODY_TOP | BODY_PINNED);
    f->model->spins = f->model->skew = false;
    if (pairs) add_pairs(f, &r);
    if (bonds) add_bonds(f, &r);
    if (!f->model->npair && !f->model->nbond) {  // all shapes were on one body: something else is
        f->bonds[0] = (model_bond){.kind = BOND_POINT, .a = random_body(f->model, &r, true), .b = -1, .rows = 3, .size = 1};
        f->model->bonds = f->bonds, f->model->nbond = 1, f->model->nrow = 3;
    }
    double *const rows = seed % 3 ? random_rows(f->model, &r) : NULL;
    ck_assert(order_matrix(f->model, rows));
    free(rows);
    const lane_model *m = f->m = scalar_lanes(f->model);
    ctn_batch_config cfg = ctn_batch_config_default();
    cfg.method = CTN_COLLOCATION;
    f->state = calloc(1, state_size(m, &cfg) + 64), f->work = calloc(1, work_size(m, &cfg) + 64);
    f->S = open_state(m, &cfg, f->state), f->W = open_work(m, &cfg, f->work);
    double *q = malloc(((size_t)m->nq + 1) * sizeof *q), *v = malloc(((size_t)m->nv + 1) * sizeof *v);
    random_state(f->model, &r, q, v);
    block_set(m, &cfg, &f->S, &f->W, q, v);
    free(q), free(v);
    for (int k = 0; k < m->nrow; k++) f->S.bond[k] = rng_uniform(&r, -3, 3);
    position_work *P = &f->W.po.one;
    const position_state S = as_position(&f->S);
    start_from(&S, NULL, &P->W);
    find_placements(m, f->S.q, P->W.start);
    set_step_size(&P->W, h);
    start_step(m, &P->W);
    for (int k = 0; k < m->nq; k++) P->x[k] = P->base[k] = f->S.q[k];
    for (int k = 0; k < m->nv; k++)
        P->u[k] = P->base_u[k] = 0, P->d[k] = reach * h * f->S.v[k] + rng_uniform(&r, -0.1, 0.1) * reach;
    move_iterate(m, P, 1, true);
    place_bodies(m, &P->W), begin_between(m, &P->W, true);
    for (int k = 0; k < P->W.between.touches; k++) {  // some stick, some slide
        pair_touch *const t = &P->W.between.touch[k];
        t->lag = k % 3 ? rng_uniform(&r, 0, 20) : 0;
        t->z = vec(rng_uniform(&r, -0.3, 0.3), rng_uniform(&r, -0.3, 0.3), rng_uniform(&r, -0.3, 0.3));
    }
}

static void close_fixture(fixture *f)
{
    f->model->touch_shapes = NULL, f->model->touch_pairs = NULL, f->model->bonds = NULL, f->model->bond_joints = NULL,
    f->model->bond_points = NULL;
    free(f->m), ctn_model_free(f->model), free(f->state), free(f->work);
}

static double energy_now(fixture *f)
{
    solve *const W = &f->W.po.one.W;
    evaluate(f->m, W), evaluate_between(f->m, W, false);
    return W->E;
}

/// Energy after moving the iterate by t d [nv]; the iterate stays.
static double energy_at(fixture *f, const double *d, double t)
{
    const lane_model *m = f->m;
    position_work *P = &f->W.po.one;
    double *x = malloc((size_t)(m->nq + 1) * sizeof *x), *u = malloc((size_t)(m->nv + 1) * sizeof *u);
    memcpy(x, P->x, (size_t)m->nq * sizeof *x), memcpy(u, P->u, (size_t)m->nv * sizeof *u);
    memcpy(P->base, x, (size_t)m->nq * sizeof *x), memcpy(P->base_u, u, (size_t)m->nv * sizeof *u);
    memcpy(P->d, d, (size_t)m->nv * sizeof *d);
    move_iterate(m, P, t, true);
    const double E = energy_now(f);
    memcpy(P->x, x, (size_t)m->nq * sizeof *x), memcpy(P->u, u, (size_t)m->nv * sizeof *u);
    free(x), free(u);
    return E;
}

/// Which elements press, stick and slide, and where they touch: differences across a change of that say nothing.
static uint64_t contacts_now(const fixture *f)
{
    const between_work *const B = &f->W.po.one.W.between;
    uint64_t hash = 1469598103934665603u;
    for (int k = 0; k < B->touches; k++) {
        const pair_touch *const t = &B->touch[k];
        const pair_pose P = pair_now(f->m, &f->W.po.one.W, &f->m->touch_pairs[t->pair]);
        const vec3 y = tmul(P.B, sub(add(t->at.ra, P.ab), P.b)), n = tmul(P.B, t->at.n), o = tmul(P.A, t->at.n);
        int state = (t->normal.force > 0) | (t->rub.k1 > 0) << 1;
        for (int i = 0; i < 3; i++) {
            const double yi = i == 0   ? y.x
                              : i == 1 ? y.y
                                       : y.z,
                         ni = i == 0   ? n.x
                              : i == 1 ? n.y
                                       : n.z,
                         oi = i == 0   ? o.x
                              : i == 1 ? o.y
                                       : o.z;
            state = 3 * state + (fabs(yi) > f->m->touch_shapes[f->m->touch_pairs[t->pair].b].half[i]);
            state = 3 * state + (fabs(ni) < 1e-12), state = 3 * state + (fabs(oi) < 1e-12);
        }
        hash = (hash ^ (uint64_t)(unsigned)state) * 1099511628211u;
    }
    return hash;
}

/// The gradient and the second derivative of the merit along random lines.
START_TEST(derivatives_are_those_of_the_energy)
{
    int compared = 0, pressed = 0, kinds[9] = {0};
    FOR_ALL_SEEDS(seed, 300)
    {
        fixture f = {0};
        const random_options o = {.links = 3 + (int)(seed % 5), .smooth = true, .passive = seed % 2};
        open_fixture(&f, seed, &o, seed % 3 ? 0.05 : 0.3, seed % 2 ? 0.2 : 0.05, seed % 4 != 3, seed % 4 > 1);
        const lane_model *m = f.m;
        solve *const W = &f.W.po.one.W;
        between_work *const B = &W->between;
        rng r = {seed};
        double *d = malloc((size_t)(m->nv + 1) * sizeof *d);
        for (int k = 0; k < m->nv; k++) d[k] = rng_uniform(&r, -1, 1);
        energy_now(&f);
        residual_between(m, W, residual(m, W));
        const uint64_t here = contacts_now(&f);
        matrix_of_step(m, W, false);
        const int n = matrix_size(m);
        double *x = calloc((size_t)n + 1, sizeof *x), *y = calloc((size_t)n + 1, sizeof *y), slope = 0, bend = 0, size = 1;
        for (int i = 0; i < m->nbody; i++)
            for (int k = 0; k < m->bodies[i].nv; k++) {
                x[body_start(m, i) + k] = d[m->bodies[i].vadr + k];
                slope += W->r[m->bodies[i].vadr + k] * d[m->bodies[i].vadr + k];
            }
        matrix_times(m, &B->M, x, y);
        for (int k = 0; k < n; k++) bend += x[k] * y[k], size = fmax(size, fabs(x[k] * y[k]));
        motions_of(m, W, x, B->V), rates_of_touches(m, B);
        for (int k = 0; k < B->touches; k++) {
            const pair_touch *const t = &B->touch[k];
            pressed += t->normal.force > 0;
            const double along = dot(t->rub.t1, t->bent_rate), across = dot(t->rub.t2, t->bent_rate);
            bend += t->normal.stiffness * t->gap_rate * t->gap_rate + t->rub.k1 * along * along + t->rub.k2 * across * across;
            size = fmax(size, t->normal.stiffness * t->gap_rate * t->gap_rate);
        }
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const b = &m->bonds[k];
            kinds[b->kind]++;
            for (int e = b->row; e < b->row + b->rows; e++) {
                const double rate = rate_of_row(m, b, &B->row[e], B->V, x), left = B->row[e].c - b->compliance * B->force[e];
                slope += penalty_of(m, W, b) * left * rate;
            }
        }
        // without what the square of equations adds to the second derivative: that of the rest
        double E[5], c[5];
        bool same = true;
        const double step = 1e-4;
        for (int s = 0; s < 5; s++) {
            E[s] = energy_at(&f, d, step * (s - 2)), c[s] = 0;
            same = same && contacts_now(&f) == here;
            for (int k = 0; k < m->nbond; k++) {
                const model_bond *const b = &m->bonds[k];
                for (int e = b->row; e < b->row + b->rows; e++) {
                    const double left = B->row[e].c - b->compliance * B->force[e];
                    c[s] += 0.5 * penalty_of(m, W, b) * left * left;
                }
            }
        }
        if (same) {
            const double g = (8 * (E[3] - E[1]) - (E[4] - E[0])) / (12 * step), scale = fmax(size, fabs(E[2]) + fabs(c[2]));
            for (int s = 0; s < 5; s++) E[s] -= c[s];
            const double k = (16 * (E[3] + E[1]) - (E[4] + E[0]) - 30 * E[2]) / (12 * step * step);
            compared++;
            ck_assert_msg(fabs(g - slope) < 1e-8 * scale, "seed %llu: slope %.12g, by differences %.12g",
                          (unsigned long long)seed, slope, g);
            ck_assert_msg(fabs(k - bend) < 2e-5 * scale, "seed %llu: second derivative %.12g, by differences %.12g (size %g)",
                          (unsigned long long)seed, bend, k, scale);
        }
        free(d), free(x), free(y), close_fixture(&f);
    }
    printf("%d of 300 compared, %d elements press; bonds", compared, pressed);
    for (int k = 0; k < 9; k++) printf(" %d", kinds[k]);
    printf("\n");
    for (int k = 0; k < 9; k++) ck_assert_int_gt(kinds[k], 20);
    ck_assert_int_gt(compared, 200);
    ck_assert_int_gt(pressed, 100);
}
END_TEST

/// Without anything between, the matrix is that of the sweep.
START_TEST(matrix_is_the_sweep_s)
{
    int compared = 0;
    FOR_ALL_SEEDS(seed, 200)
    {
        fixture f = {0};
        const random_options o = {
            .links = 1 + (int)(seed % 20), .passive = seed % 2, .chain = seed % 7 == 0, .springs = (int)(seed % 3)};
        open_fixture(&f, seed, &o, 0.02, 0.3, true, false);
        const lane_model *m = f.m;
        solve *const W = &f.W.po.one.W;
        W->between.touches = 0;
        for (int e = 0; e < m->nrow; e++) W->between.force[e] = 0;
        energy_now(&f), residual(m, W);
        matrix_of_step(m, W, false);
        joint_matrix *const M = &W->between.M;
        memcpy(M->L, M->H, M->at[matrix_size(m)] * sizeof *M->L);
        for (int k = 0; k < m->nbond; k++)
            for (int c = bond_start(m, k); c < bond_start(m, k) + m->bonds[k].rows; c++) matrix_row(M, M->L, c)[c] = -1;
        double *x = calloc((size_t)matrix_size(m) + 1, sizeof *x), *d = calloc((size_t)m->nv + 1, sizeof *d), dropped = 0,
               worst = 0, most = 0;
        const bool good = matrix_factor(m, M, 0, true, true);
        sweep_inward(m, W, &f.W.po.one.sweep, true, &dropped, d);
        ck_assert_msg(good == (dropped == 0), "seed %llu: positive %d, the sweep dropped %g", (unsigned long long)seed, good,
                      dropped);
        if (good) {
            sweep_outward(m, W, &f.W.po.one.sweep, d);
            for (int i = 0; i < m->nbody; i++)
                for (int k = 0; k < m->bodies[i].nv; k++) x[body_start(m, i) + k] = -W->r[m->bodies[i].vadr + k];
            matrix_solve(m, M, x);
            for (int k = 0; k < m->nbond; k++)
                for (int e = 0; e < m->bonds[k].rows; e++) ck_assert(x[bond_start(m, k) + e] == 0);
            for (int i = 0; i < m->nbody; i++)
                for (int k = 0; k < m->bodies[i].nv; k++)
                    worst = worse(worst, fabs(x[body_start(m, i) + k] - d[m->bodies[i].vadr + k])),
                    most = fmax(most, fabs(d[m->bodies[i].vadr + k]));
            ck_assert_msg(worst <= 1e-9 * most, "seed %llu: differs by %g of %g", (unsigned long long)seed, worst, most);
            compared++;
        }
        free(x), free(d), close_fixture(&f);
    }
    ck_assert_int_gt(compared, 100);
}
END_TEST

/// Entry (i, j) of what is in L, j up to i: rows begin at their first column that is not zero.
static double entry_of(const joint_matrix *M, int i, int j)
{
    const size_t before = i ? M->at[i - 1] + (size_t)i : 0;
    return (size_t)j < before - M->at[i] ? 0 : matrix_row(M, M->L, i)[j];
}

/// L D L' of all that acts between, with equations, against LAPACK's elimination with pivots.
START_TEST(solutions_are_lapack_s)
{
    int compared = 0;
    FOR_ALL_SEEDS(seed, 200)
    {
        fixture f = {0};
        rng r = {seed};
        const random_options o = {.links = 4 + (int)(seed % 12), .floating = seed % 2};
        open_fixture(&f, seed, &o, 0.02, 0.1, true, true);
        const lane_model *m = f.m;
        solve *const W = &f.W.po.one.W;
        between_work *const B = &W->between;
        for (int k = 0; k < m->nbond; k++) f.bonds[k].compliance += 1e-4;  // redundant ones have no solution else
        energy_now(&f), residual_between(m, W, residual(m, W));
        matrix_of_step(m, W, true);
        for (int k = 0; k < B->touches; k++) B->touch[k].gap = B->touch[k].at.gap, B->touch[k].bent = B->touch[k].s;
        for (int e = 0; e < m->nrow; e++) B->fresh[e] = B->force[e];
        inner_gradient(m, W);
        const int n = matrix_size(m);
        double *A = calloc((size_t)(n * n) + 1, sizeof *A), *x = malloc(((size_t)n + 1) * sizeof *x),
               *y = malloc(((size_t)n + 1) * sizeof *y);
        int *pivots = malloc(((size_t)n + 1) * sizeof *pivots);
        inner_matrix(m, W);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) A[i * n + j] = A[j * n + i] = entry_of(&B->M, i, j);
        for (int i = 0; i < n; i++) x[i] = rng_uniform(&r, -1, 1);
        const bool good = matrix_factor(m, &B->M, 0, true, true);
        memcpy(y, x, (size_t)n * sizeof *y);
        matrix_solve(m, &B->M, y);
        if (good) {
            double worst = 0, most = 0;
            ck_assert_int_eq(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, A, n, pivots, x, 1), 0);
            for (int k = 0; k < n; k++) worst = worse(worst, fabs(x[k] - y[k])), most = fmax(most, fabs(x[k]));
            ck_assert_msg(worst <= 1e-6 * most, "seed %llu: differs by %g of %g", (unsigned long long)seed, worst, most);
            compared++;
        }
        free(A), free(x), free(y), free(pivots), close_fixture(&f);
    }
    printf("%d of 200 factored\n", compared);
    ck_assert_int_gt(compared, 150);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("between_step");
    TCase *const all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, derivatives_are_those_of_the_energy);
    tcase_add_test(all, matrix_is_the_sweep_s);
    tcase_add_test(all, solutions_are_lapack_s);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
