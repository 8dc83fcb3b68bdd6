/// Which equations of loops and couplings say something, at the start: rows of their derivative J by the velocities, made orthogonal
/// one after the other (Gram and Schmidt, twice). One of which nothing is left follows from those before it; where what it asks for
/// differs from what those ask for, it contradicts them. With an opening c the rows are [J, c].
#include "sim/model/between.h"

#include "sim/engine/engine.h"
#include "sim/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORK 2e10      // operations
#define NOTHING_LEFT 1e-7   // of the longest row
#define AGAINST_SHARE 0.01  // of how far the bond is open: beyond what second derivatives make of that
#define AGAINST_SIZE 1e-6

typedef struct ranking {
    const ctn_model *m;
    lane_model *lanes;
    void *scratch;
    double *R, *p;
    double *of_link[2];  // [6][nv] each: angular, then linear velocity of the link's origin, world axes
    double *rows;        // [nrow][nv + 1]
} ranking;

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/// row += sign * how fast the point x of a link (-1: the world) moves along n, and how fast it turns about t.
static void add_side(const ranking *g, int side, int link, double sign, const double *x, const double *n, const double *t,
                     double *row)
{
    const int nv = g->m->nv;
    const double *const J = g->of_link[side];
    double r[3], moment[3];
    if (link < 0) return;
    for (int k = 0; k < 3; k++) r[k] = x[k] - g->p[3 * link + k];
    cross(r, n, moment);  // n.(w x r) = w.(r x n)
    for (int j = 0; j < nv; j++)
        for (int k = 0; k < 3; k++) row[j] += sign * (J[k * nv + j] * (moment[k] + t[k]) + J[(3 + k) * nv + j] * n[k]);
}

/// The rows of a loop and how far each is open.
static void loop_rows(const ranking *g, const scene_bond *s, const model_bond *o, double *rows)
{
    const size_t width = (size_t)g->m->nv + 1;
    const int links[2] = {s->a, s->b}, turns = o->kind == BOND_HINGE ? 2 : o->kind == BOND_WELD || o->kind == BOND_SLIDER ? 3 : 0;
    double x[2][3], axes[2][9], d[3], e[3][3], A[9], length = 0;
    bond_side(g->m, s->a, o->at_a, o->axes_a, g->R, g->p, x[0], axes[0]);
    bond_side(g->m, s->b, o->at_b, o->axes_b, g->R, g->p, x[1], axes[1]);
    for (int side = 0; side < 2; side++)
        if (links[side] >= 0) engine_scalar.jacobian(g->lanes, g->scratch, 1, g->m->q0, links[side], g->of_link[side]);
    for (int k = 0; k < 3; k++) d[k] = x[0][k] - x[1][k], length = hypot(length, d[k]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) e[i][k] = axes[0][3 * k + i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            A[3 * i + j] = 0;  // axes of b in those of a
            for (int k = 0; k < 3; k++) A[3 * i + j] += axes[0][3 * k + i] * axes[1][3 * k + j];
        }
    // how a is turned against b, about the axes of a; of a hinge its axis alone
    const double turned[3] = {o->kind == BOND_HINGE ? A[5] : (A[5] - A[7]) / 2, o->kind == BOND_HINGE ? -A[2] : (A[6] - A[2]) / 2,
                              (A[1] - A[3]) / 2};
    for (int i = 0, moves = o->rows - turns; i < o->rows; i++) {
        double *const row = rows + (size_t)i * width, n[3] = {0, 0, 0}, t[3] = {0, 0, 0};
        if (i >= moves)
            for (int k = 0; k < 3; k++) t[k] = o->length * e[i - moves][k];
        else if (o->kind == BOND_DISTANCE)
            for (int k = 0; k < 3; k++) n[k] = d[k] / length;
        else memcpy(n, e[i], sizeof n);
        add_side(g, 0, s->a, 1, x[0], n, t, row), add_side(g, 1, s->b, -1, x[1], n, t, row);
        for (int k = 0; k < 3; k++) row[g->m->nv] += n[k] * d[k];
        if (i >= moves) row[g->m->nv] = o->length * turned[i - moves];
        if (o->kind == BOND_DISTANCE) row[g->m->nv] -= o->length;
    }
}

static void coupling_row(const ranking *g, const model_bond *o, double *row)
{
    const ctn_model *const m = g->m;
    double slope;
    const double value = follower_at(o->poly, o->leader < 0 ? 0 : m->q0[m->bodies[o->leader].qadr], &slope);
    row[m->bodies[o->follower].vadr] += 1;
    if (o->leader >= 0) row[m->bodies[o->leader].vadr] -= slope;
    row[m->nv] = m->q0[m->bodies[o->follower].qadr] - value;
}

/// Takes what earlier rows, of length 1, say out of one. Returns what is left.
static double orthogonal(double *row, const double *rows, const int *kept, int count, int nv)
{
    double left = 0;
    for (int twice = 0; twice < 2; twice++)
        for (int k = 0; k < count; k++) {
            const double *const other = rows + (size_t)kept[k] * ((size_t)nv + 1);
            double share = 0;
            for (int j = 0; j < nv; j++) share += row[j] * other[j];
            for (int j = 0; j <= nv; j++) row[j] -= share * other[j];
        }
    for (int j = 0; j < nv; j++) left = hypot(left, row[j]);
    return left;
}

static int rank_rows(const ranking *g, int *kept, int *redundant, double *against)
{
    const ctn_model *const m = g->m;
    const size_t width = (size_t)m->nv + 1;
    double longest = 0;
    int rank = 0;
    for (int i = 0; i < m->nrow; i++) {
        double length = 0;
        for (int j = 0; j < m->nv; j++) length = hypot(length, g->rows[(size_t)i * width + (size_t)j]);
        longest = fmax(longest, length);
    }
    for (int b = 0; b < m->nbond; b++) {
        const model_bond *const o = &m->bonds[b];
        double open = 0;
        for (int i = o->row; i < o->row + o->rows; i++) open = fmax(open, fabs(g->rows[(size_t)i * width + (size_t)m->nv]));
        redundant[b] = 0, against[b] = 0;
        for (int i = o->row; i < o->row + o->rows; i++) {
            double *const row = g->rows + (size_t)i * width;
            const double left = orthogonal(row, g->rows, kept, rank, m->nv);
            if (left > NOTHING_LEFT * longest) {
                for (size_t j = 0; j < width; j++) row[j] /= left;
                kept[rank++] = i;
                continue;
            }
            const double c = fabs(row[m->nv]);
            redundant[b]++;
            if (c > AGAINST_SHARE * open && c > AGAINST_SIZE * bond_size(m, o) && !(o->compliance > 0))
                against[b] = fmax(against[b], c);
        }
    }
    return rank;
}

/// What rows are made of; rows [nrow][nv + 1] are to free. False: there is no memory.
static bool make_rows(ranking *g, const ctn_scene *scene)
{
    const ctn_model *const m = g->m;
    const size_t width = (size_t)m->nv + 1;
    g->lanes = engine_model(&engine_scalar, m, 0);
    g->scratch = g->lanes ? aligned_alloc(64, (engine_scalar.dynamics_size(g->lanes) / 64 + 1) * 64) : NULL;
    g->R = places_at_start(m, &g->p);
    g->of_link[0] = malloc(12 * width * sizeof(double)), g->of_link[1] = g->of_link[0] ? g->of_link[0] + 6 * width : NULL;
    g->rows = calloc((size_t)m->nrow * width + 1, sizeof *g->rows);
    const bool made = g->scratch && g->R && g->of_link[0] && g->rows;
    for (int b = 0; b < m->nbond && made; b++) {
        double *const first = g->rows + (size_t)m->bonds[b].row * width;
        if (m->bonds[b].kind == BOND_COUPLING) coupling_row(g, &m->bonds[b], first);
        else if (m->bonds[b].rows) loop_rows(g, &scene->bonds[b], &m->bonds[b], first);
    }
    free(g->lanes), free(g->scratch), free(g->R), free(g->of_link[0]);
    if (!made) free(g->rows), g->rows = NULL;
    return made;
}

double *bond_rows(const ctn_model *m, const ctn_scene *scene)
{
    ranking g = {.m = m};
    return make_rows(&g, scene) ? g.rows : NULL;
}

int bond_ranks(const ctn_model *m, const ctn_scene *scene, int *redundant, double *against)
{
    const size_t rows = (size_t)m->nrow, width = (size_t)m->nv + 1;
    if ((double)rows * (double)rows * (double)width > MOST_WORK) return -1;
    ranking g = {.m = m};
    int rank = -1, *const kept = malloc((rows + 1) * sizeof *kept);
    if (kept && make_rows(&g, scene)) rank = rank_rows(&g, kept, redundant, against);
    free(g.rows), free(kept);
    return rank;
}
