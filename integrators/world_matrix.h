/// The matrix of a step where worlds eliminate in orders of their own: what is joined to what in each lane, and its factors.
/// (world_order.h, world_factors.h; docs/theory.md 4.14)
#ifndef CATENA_WORLD_MATRIX_H
#define CATENA_WORLD_MATRIX_H

#include "dynamics/lane_model.h"
#include "integrators/joint_matrix.h"
#include "integrators/world_factors.h"

FN int group_words(const lane_model *m) { return (m->nmatrix_group + 63) / 64; }
/// Most numbers of all panels of a world: its own columns each panel has as a square.
FN size_t panel_numbers(const lane_model *m)
{
    return matrix_numbers(m) + (size_t)matrix_size(m) * (MATRIX_GROUP - 1) / 2;
}

/// Which lanes a mask has, as numbers above 0.
FN void which_lanes(mask where, double lane[LANES]) { lane_store(lane, sel(where, rset(1), rset(0))); }

/// Adds the groups of body i and of those on the way to its root.
FN void add_path(const lane_model *m, int i, uint64_t *some)
{
    while (i >= 0) {
        set_bit(some, m->body_groups[i]);
        i = m->bodies[i].flags & BODY_ROOT ? -1 : m->bodies[i].parent;
    }
}

/// Nothing is joined but bodies of a tree.
KERNEL void begin_orders(const lane_model *m, joint_matrix *M)
{
    const size_t words = (size_t)group_words(m), all = (size_t)m->nmatrix_group * words;
    world_order *const first = &M->order[0];
    memset(first->joined, 0, all * sizeof *first->joined);
    for (int i = 0; i < m->nbody; i++) {
        uint64_t *const own = first->joined + (size_t)m->body_groups[i] * words;
        add_path(m, i, own);
    }
    for (int a = 0; a < m->nmatrix_group; a++)
        for (int b = 0; b < a; b++)
            if (are_joined(first, a, b)) set_bit(first->joined + (size_t)b * words, a);
    for (int l = 1; l < LANES; l++) memcpy(M->order[l].joined, first->joined, all * sizeof *first->joined);
}

/// Groups `some` [group_words()] are joined to each other in the lanes `where`.
KERNEL void join_in_lanes(joint_matrix *M, const uint64_t *some, mask where)
{
    double lane[LANES] __attribute__((aligned(64)));
    which_lanes(where, lane);
    for (int l = 0; l < LANES; l++)
        if (lane[l] > 0) join_groups(&M->order[l], some);
}

/// All that joins is known: the orders.
KERNEL void find_orders(joint_matrix *M)
{
    const world_order *const first = &M->order[0];
    M->alike = true;
    for (int l = 1; l < LANES && M->alike; l++) M->alike = same_graphs(first, M->order[l].joined, first->joined);
    for (int l = 0; l < (M->alike ? 1 : LANES); l++) find_order(&M->order[l]);
}

/// F: the panels of L, of `lanes` lanes from lane l on.
FN void fill_panels(const joint_matrix *M, const world_order *o, int l, int lanes, lane_number *F)
{
    const lane_number *const L = (const lane_number *)M->L;
    for (int p = 0; p < o->groups; p++) {
        const row_panel *const P = &o->panel[p];
        for (int r = 0; r < P->width; r++) {
            lane_number *const row = F + (P->at + (size_t)r * (size_t)P->stride) * (size_t)lanes;
            for (int c = 0; c < P->width; c++) {
                const int i = P->start + (r > c ? r : c), j = P->start + (r > c ? c : r);
                const lane_number *const from = L + (M->at[i] + (size_t)j) * LANES + l;
                for (int k = 0; k < lanes; k++) row[c * lanes + k] = from[k];
            }
        }
        for (int e = P->later; e < P->later + P->laters; e++) {
            const row_panel *const Q = &o->panel[o->later[e].panel];
            const int a = o->number[p], b = o->number[o->later[e].panel];
            const bool some = are_joined(o, a, b);
            for (int r = 0; r < P->width; r++) {
                lane_number *const row = F + (P->at + (size_t)r * (size_t)P->stride + (size_t)o->later[e].at) * (size_t)lanes;
                for (int c = 0; c < Q->width; c++) {
                    const int i = a > b ? P->start + r : Q->start + c, j = a > b ? Q->start + c : P->start + r;
                    const lane_number *const from = L + (M->at[i] + (size_t)j) * LANES + l;
                    for (int k = 0; k < lanes; k++) row[c * lanes + k] = some ? from[k] : 0;
                }
            }
        }
    }
}

/// As matrix_factor(), of what is in L.
KERNEL mask factor_worlds(const lane_model *m, joint_matrix *M, bool minimum, mask where)
{
    M->factored = where;
    (void)m;
#if LANES > 1
    if (!M->alike) {
        double lane[LANES] __attribute__((aligned(64)));
        which_lanes(where, lane);
        for (int l = 0; l < LANES; l++) {
            double *const F = (double *)M->F + (size_t)l * panel_numbers(m);
            double *const inverse = (double *)M->inverse + (size_t)l * (size_t)matrix_size(m);
            if (!(lane[l] > 0)) continue;
            fill_panels(M, &M->order[l], l, 1, F);
            if (!one_world_factor(&M->order[l], F, inverse, minimum)) lane[l] = -1;
        }
        return not_(lt(lane_load(lane), rset(0)));
    }
#endif
    fill_panels(M, &M->order[0], 0, LANES, (lane_number *)M->F);
    return factor_panels(&M->order[0], M->F, M->inverse, minimum);
}

/// As matrix_solve().
KERNEL void solve_worlds(const lane_model *m, joint_matrix *M, real *x)
{
    const int n = matrix_size(m);
#if LANES > 1
    if (!M->alike) {
        double lane[LANES] __attribute__((aligned(64)));
        double *const one = (double *)M->x, *const scratch = (double *)M->row, *const all = (double *)x;
        which_lanes(M->factored, lane);
        for (int l = 0; l < LANES; l++) {
            const double *const F = (const double *)M->F + (size_t)l * panel_numbers(m);
            if (!(lane[l] > 0)) continue;
            for (int c = 0; c < n; c++) one[c] = all[(size_t)c * LANES + (size_t)l];
            one_world_solve(&M->order[l], F, (const double *)M->inverse + (size_t)l * (size_t)n, scratch, one);
            for (int c = 0; c < n; c++) all[(size_t)c * LANES + (size_t)l] = one[c];
        }
        return;
    }
#endif
    (void)n;
    solve_panels(&M->order[0], M->F, M->inverse, M->row, x);
}

#endif
