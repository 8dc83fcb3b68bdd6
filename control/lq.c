#include "control/lq.h"

#include "sim/base/matrix.h"
#include "sim/base/status.h"

#include <stdlib.h>
#include <string.h>

static double *numbers(size_t n) { return calloc(n + 1, sizeof(double)); }

static const double *at(const double *rows, int k, int size) { return rows + (size_t)k * (size_t)size; }
static double *into(double *rows, int k, int size) { return rows + (size_t)k * (size_t)size; }

/// Knots first .. end - 1, from the value at knot `end` that is in `to`. Work: 2 n n + n m + m m + n.
static ctn_status riccati(const lq_problem *lq, int first, int end, const lq_solution *to, double *work, ctn_error *err)
{
    const int n = lq->n, m = lq->m, nn = n * n, nm = n * m, mm = m * m;
    double *const PA = work, *const PB = PA + nn, *const R = PB + nm, *const w = R + mm;
    for (int k = end - 1; k >= first; k--) {
        const double *const A = at(lq->A, k, nn), *const B = at(lq->B, k, nm), *const P = at(to->P, k + 1, nn);
        double *const K = into(to->K, k, nm), *const f = into(to->k, k, m), *const P0 = into(to->P, k, nn),
                      *const s0 = into(to->s, k, n);
        memset(PA, 0, (size_t)(nn + nm) * sizeof *PA);
        matrix_multiply(n, n, n, 1, P, A, PA), matrix_multiply(n, n, m, 1, P, B, PB);
        memcpy(w, at(to->s, k + 1, n), (size_t)n * sizeof *w);
        matrix_multiply(n, n, 1, 1, P, at(lq->c, k, n), w);
        memcpy(R, at(lq->R, k, mm), (size_t)mm * sizeof *R), matrix_transposed(n, m, m, B, PB, R);
        memcpy(K, at(lq->S, k, nm), (size_t)nm * sizeof *K), matrix_transposed(n, m, n, B, PA, K);
        memcpy(f, at(lq->r, k, m), (size_t)m * sizeof *f), matrix_transposed(n, m, 1, B, w, f);
        memcpy(P0, at(lq->Q, k, nn), (size_t)nn * sizeof *P0), matrix_transposed(n, n, n, A, PA, P0);
        memcpy(s0, at(lq->q, k, n), (size_t)n * sizeof *s0), matrix_transposed(n, n, 1, A, w, s0);
        if (!matrix_cholesky(m, R))
            return fail(err, CTN_BAD_ARGUMENT, "knot %d: what controls cost is not positive definite: there is no minimum", k);
        memcpy(PB, K, (size_t)nm * sizeof *PB), memcpy(w, f, (size_t)m * sizeof *w);
        matrix_cholesky_solve(m, n, R, K), matrix_cholesky_solve(m, 1, R, f);
        for (int j = 0; j < nm; j++) K[j] = -K[j];
        for (int j = 0; j < m; j++) f[j] = -f[j];
        matrix_transposed(m, n, n, PB, K, P0), matrix_transposed(m, n, 1, PB, f, s0);  // Q_xx - Q_ux' R^-1 Q_ux
        matrix_symmetric(n, P0);
    }
    return CTN_OK;
}

static size_t riccati_work(const lq_problem *lq)
{
    const size_t n = (size_t)lq->n, m = (size_t)lq->m;
    return n * n + n * m + m * m + n + m;
}

static void end_value(const lq_problem *lq, const lq_solution *to)
{
    memcpy(into(to->P, lq->N, lq->n * lq->n), at(lq->Q, lq->N, lq->n * lq->n), (size_t)(lq->n * lq->n) * sizeof(double));
    memcpy(into(to->s, lq->N, lq->n), at(lq->q, lq->N, lq->n), (size_t)lq->n * sizeof(double));
}

ctn_status lq_riccati(const lq_problem *lq, const lq_solution *to, ctn_error *err)
{
    double *const work = numbers(riccati_work(lq));
    if (!work) return fail(err, CTN_NO_MEMORY, "not enough memory for %d states", lq->n);
    end_value(lq, to);
    const ctn_status status = riccati(lq, 0, lq->N, to, work, err);
    free(work);
    return status;
}

// ---- blocks

/// V(x, y) = max over l of 1/2 x'J x - eta'x - 1/2 l'C l - l'(y - A x - b): what it costs to go from x to y.
typedef struct {
    double *A, *b, *C, *eta, *J;
} element;

static size_t element_size(int n) { return (3 * (size_t)n + 2) * (size_t)n; }

static element element_in(double *numbers, int n)
{
    const int nn = n * n;
    return (element){numbers, numbers + nn, numbers + nn + n, numbers + 2 * nn + n, numbers + 2 * nn + 2 * n};
}

/// Room of a thread: elements of the knot, of what is combined, and matrices in between.
typedef struct {
    element knot, sum, next;
    double *M, *X, *Y, *P, *R, *S, *r, *v;
    int *row;
    void *memory;
} room;

static bool open_room(room *w, int n, int m)
{
    const size_t e = element_size(n), nn = (size_t)(n * (n > m ? n : m)), most = (size_t)(n > m ? n : m);
    double *const x = w->memory = numbers(3 * e + 4 * nn + (size_t)(m * m) + (size_t)(m * n) + 4 * most + most);
    if (!x) return false;
    w->knot = element_in(x, n), w->sum = element_in(x + e, n), w->next = element_in(x + 2 * e, n);
    w->M = x + 3 * e, w->X = w->M + nn, w->Y = w->X + nn, w->P = w->Y + nn, w->R = w->P + nn, w->S = w->R + m * m;
    w->r = w->S + m * n, w->v = w->r + most, w->row = (int *)(w->v + 3 * most);
    return true;
}

/// The element of knot k, of the problem that guess_P, guess_s is taken off. false: R is not positive definite.
static bool knot_element(const lq_problem *lq, int k, const double *guess_P, const double *guess_s, room *w)
{
    const int n = lq->n, m = lq->m, nn = n * n;
    const double *const A = at(lq->A, k, nn), *const B = at(lq->B, k, n * m), *const c = at(lq->c, k, n);
    const element *const e = &w->knot;
    memcpy(w->R, at(lq->R, k, m * m), (size_t)(m * m) * sizeof *w->R);
    memcpy(w->S, at(lq->S, k, m * n), (size_t)(m * n) * sizeof *w->S);
    memcpy(w->r, at(lq->r, k, m), (size_t)m * sizeof *w->r);
    memcpy(e->J, at(lq->Q, k, nn), (size_t)nn * sizeof *e->J);
    for (int i = 0; i < n; i++) e->eta[i] = -at(lq->q, k, n)[i];
    if (guess_P) {
        const double *const P1 = at(guess_P, k + 1, nn), *const P0 = at(guess_P, k, nn);
        double *const g = w->v;  // s' + P'c
        memcpy(g, at(guess_s, k + 1, n), (size_t)n * sizeof *g), matrix_multiply(n, n, 1, 1, P1, c, g);
        memset(w->X, 0, (size_t)nn * sizeof *w->X), matrix_multiply(n, n, n, 1, P1, A, w->X);
        for (int j = 0; j < nn; j++) e->J[j] -= P0[j];
        matrix_transposed(n, n, n, A, w->X, e->J), matrix_transposed(n, m, n, B, w->X, w->S);
        memset(w->X, 0, (size_t)(n * m) * sizeof *w->X), matrix_multiply(n, n, m, 1, P1, B, w->X);
        matrix_transposed(n, m, m, B, w->X, w->R), matrix_transposed(n, m, 1, B, g, w->r);
        for (int i = 0; i < n; i++) {
            double x = 0;
            for (int j = 0; j < n; j++) x += A[j * n + i] * g[j];
            e->eta[i] += at(guess_s, k, n)[i] - x;
        }
    }
    if (!matrix_cholesky(m, w->R)) return false;
    double *const RS = w->X, *const RB = w->Y;  // R^-1 S [m][n], R^-1 B' [m][n]; w->v: R^-1 r
    memcpy(RS, w->S, (size_t)(m * n) * sizeof *RS), matrix_cholesky_solve(m, n, w->R, RS);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) RB[i * n + j] = B[j * m + i];
    matrix_cholesky_solve(m, n, w->R, RB);
    memcpy(w->v, w->r, (size_t)m * sizeof *w->v), matrix_cholesky_solve(m, 1, w->R, w->v);
    memcpy(e->A, A, (size_t)nn * sizeof *e->A), matrix_multiply(n, m, n, -1, B, RS, e->A);
    memcpy(e->b, c, (size_t)n * sizeof *e->b), matrix_multiply(n, m, 1, -1, B, w->v, e->b);
    memset(e->C, 0, (size_t)nn * sizeof *e->C), matrix_multiply(n, m, n, 1, B, RB, e->C);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) e->eta[j] += w->S[i * n + j] * w->v[i];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < n; l++) e->J[j * n + l] -= w->S[i * n + j] * RS[i * n + l];
    matrix_symmetric(n, e->C), matrix_symmetric(n, e->J);
    return true;
}

/// (1 + C_1 J_2) as factors in w->M. false: singular.
static bool join(int n, const double *C1, const double *J2, room *w)
{
    memset(w->M, 0, (size_t)(n * n) * sizeof *w->M);
    for (int i = 0; i < n; i++) w->M[i * n + i] = 1;
    matrix_multiply(n, n, n, 1, C1, J2, w->M);
    return matrix_lu(n, w->M, w->row);
}

/// The value J_2, eta_2 at the end of element 1 becomes that at its start. false: singular.
static bool value_through(int n, const element *first, double *J, double *eta, room *w)
{
    if (!join(n, first->C, J, w)) return false;
    double *const DA = w->X, *const JDA = w->Y;
    memcpy(DA, first->A, (size_t)(n * n) * sizeof *DA), matrix_lu_solve(n, n, w->M, w->row, DA);  // D A_1
    for (int i = 0; i < n; i++) w->v[i] = eta[i];
    matrix_multiply(n, n, 1, -1, J, first->b, w->v);  // eta_2 - J_2 b_1
    memset(JDA, 0, (size_t)(n * n) * sizeof *JDA), matrix_multiply(n, n, n, 1, J, DA, JDA);
    memcpy(eta, first->eta, (size_t)n * sizeof *eta), matrix_transposed(n, n, 1, DA, w->v, eta);
    memcpy(J, first->J, (size_t)(n * n) * sizeof *J), matrix_transposed(n, n, n, first->A, JDA, J);
    matrix_symmetric(n, J);
    return true;
}

/// Element 1, then element 2, into w->next. false: singular.
static bool combine(int n, const element *one, const element *two, room *w)
{
    const size_t nn = (size_t)(n * n) * sizeof(double), vn = (size_t)n * sizeof(double);
    const element *const to = &w->next;
    if (!join(n, one->C, two->J, w)) return false;
    double *const x = w->v;
    memcpy(w->X, one->A, nn), matrix_lu_solve(n, n, w->M, w->row, w->X);
    memset(to->A, 0, nn), matrix_multiply(n, n, n, 1, two->A, w->X, to->A);
    memcpy(x, one->b, vn), matrix_multiply(n, n, 1, 1, one->C, two->eta, x), matrix_lu_solve(n, 1, w->M, w->row, x);
    memcpy(to->b, two->b, vn), matrix_multiply(n, n, 1, 1, two->A, x, to->b);
    memcpy(w->Y, one->C, nn), matrix_lu_solve(n, n, w->M, w->row, w->Y);  // D C_1
    memset(w->P, 0, nn), matrix_multiply(n, n, n, 1, two->A, w->Y, w->P);
    memcpy(to->C, two->C, nn);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) to->C[i * n + j] += w->P[i * n + k] * two->A[j * n + k];
    memcpy(to->J, two->J, nn), memcpy(to->eta, two->eta, vn);
    matrix_symmetric(n, to->C);
    return value_through(n, one, to->J, to->eta, w);
}

/// Knots first .. end - 1 as one element, in w->sum.
static ctn_status condense(const lq_problem *lq, int first, int end, const double *guess_P, const double *guess_s, room *w,
                           ctn_error *err)
{
    for (int k = end - 1; k >= first; k--) {
        if (!knot_element(lq, k, guess_P, guess_s, w))
            return fail(err, CTN_BAD_ARGUMENT, "knot %d: what controls cost is not positive definite", k);
        if (k == end - 1) {
            const element swap = w->sum;
            w->sum = w->knot, w->knot = swap;
            continue;
        }
        if (!combine(lq->n, &w->knot, &w->sum, w))
            return fail(err, CTN_BAD_ARGUMENT,
                        "knot %d: the elements of its block cannot be combined; take more blocks, or a guess", k);
        const element swap = w->sum;
        w->sum = w->next, w->next = swap;
    }
    return CTN_OK;
}

static int block_start(int N, int blocks, int b) { return (int)((long)N * b / blocks); }

ctn_status lq_blocks(const lq_problem *lq, int blocks, const double *guess_P, const double *guess_s, const lq_solution *to,
                     ctn_error *err)
{
    const int n = lq->n, nn = n * n, N = lq->N;
    if (blocks > N) blocks = N;
    room w = {0};
    double *const work = numbers(riccati_work(lq)), *const value = numbers((size_t)(nn + n));
    ctn_status status = CTN_OK;
    if (!open_room(&w, n, lq->m) || !work || !value) status = fail(err, CTN_NO_MEMORY, "not enough memory for %d states", n);
    else end_value(lq, to);
    double *const J = value, *const eta = value + nn;
    for (int i = 0; i < nn && status == CTN_OK; i++) J[i] = at(to->P, N, nn)[i] - (guess_P ? at(guess_P, N, nn)[i] : 0);
    for (int i = 0; i < n && status == CTN_OK; i++) eta[i] = (guess_P ? at(guess_s, N, n)[i] : 0) - at(to->s, N, n)[i];
    for (int b = blocks - 1; b > 0 && status == CTN_OK; b--) {
        const int first = block_start(N, blocks, b);
        status = condense(lq, first, block_start(N, blocks, b + 1), guess_P, guess_s, &w, err);
        if (status == CTN_OK && !value_through(n, &w.sum, J, eta, &w))
            status =
                fail(err, CTN_BAD_ARGUMENT, "knot %d: the value of its block is singular; take more blocks, or a guess", first);
        for (int i = 0; i < nn && status == CTN_OK; i++)
            into(to->P, first, nn)[i] = J[i] + (guess_P ? at(guess_P, first, nn)[i] : 0);
        for (int i = 0; i < n && status == CTN_OK; i++)
            into(to->s, first, n)[i] = (guess_P ? at(guess_s, first, n)[i] : 0) - eta[i];
    }
    for (int b = blocks - 1; b >= 0 && status == CTN_OK; b--)
        status = riccati(lq, block_start(N, blocks, b), block_start(N, blocks, b + 1), to, work, err);
    free(w.memory), free(work), free(value);
    return status;
}

// ---- forwards

static double form(int a, int b, const double *x, const double *M, const double *y)
{
    double sum = 0;
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++) sum += x[i] * M[i * b + j] * y[j];
    return sum;
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

void lq_rollout(const lq_problem *lq, const lq_solution *found, const double *x0, double *X, double *U, double *cost)
{
    const int n = lq->n, m = lq->m, N = lq->N;
    double sum = 0;
    memcpy(X, x0, (size_t)n * sizeof *X);
    for (int k = 0; k < N; k++) {
        const double *const x = at(X, k, n);
        double *const u = into(U, k, m), *const next = into(X, k + 1, n);
        memcpy(u, at(found->k, k, m), (size_t)m * sizeof *u), matrix_multiply(m, n, 1, 1, at(found->K, k, m * n), x, u);
        memcpy(next, at(lq->c, k, n), (size_t)n * sizeof *next);
        matrix_multiply(n, n, 1, 1, at(lq->A, k, n * n), x, next), matrix_multiply(n, m, 1, 1, at(lq->B, k, n * m), u, next);
        sum += 0.5 * form(n, n, x, at(lq->Q, k, n * n), x) + 0.5 * form(m, m, u, at(lq->R, k, m * m), u) +
               form(m, n, u, at(lq->S, k, m * n), x) + dot(n, at(lq->q, k, n), x) + dot(m, at(lq->r, k, m), u);
    }
    const double *const last = at(X, N, n);
    if (cost) *cost = sum + 0.5 * form(n, n, last, at(lq->Q, N, n * n), last) + dot(n, at(lq->q, N, n), last);
}
