/// In which order the matrix of a step of one world is eliminated, of a model with many trees that may touch each other.
///
/// Of a heap nobody knows beforehand who will lie on whom, and in an order that does not know it nearly all of the factors fill
/// in: 100 balls make 36 million multiplications of a factorisation, and a hundredth of that in a good order. So each world has its
/// own, by minimum degree: next comes the group of columns that is joined to the fewest others, which are then joined to each
/// other. [Tinney and Walker 1967; George and Liu, 'The evolution of the minimum degree ordering algorithm', SIAM Review 1989]
/// It depends on nothing but what is joined to what in that world, and so do its bits. Plain C, of one world.
///
/// A group is the columns of a body, with those of bodies between it and its root that nothing else hangs on
/// (sim/model/matrix_order.c): the six of a free body are one.
#ifndef CATENA_WORLD_ORDER_H
#define CATENA_WORLD_ORDER_H

#include "dynamics/between.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ORDER_FN static inline __host__ __device__
#else
#define ORDER_FN static inline __attribute__((unused))
#endif

/// A group in the order of elimination. Its rows are a panel (world_factors.h): its own columns, then those of the groups
/// after it that it is joined to.
typedef struct {
    int start, width;      // its columns in the matrix
    int later, laters;     // which of `later` these groups are,
    int earlier, earliers; // and which of `earlier` the ones before it whose panels have it
    int stride;            // columns of the panel
    size_t at;             // its first number
} row_panel;

typedef struct {
    int panel, at;  // which group, and where its columns begin in the panel that lists it
} panel_entry;

typedef struct {
    int panel, entry;  // which panel, and which of `later` there
} panel_source;

/// Columns of a panel that are taken from others of another one.
typedef struct {
    int to, from, n;
} panel_run;

typedef struct world_order {
    const matrix_group *group;  // [groups]
    int groups, words;
    size_t numbers;             // of all panels
    uint64_t *joined, *seen;    // [groups][words] what is joined to what; and when this order was made
    row_panel *panel;              // [groups] in the order of elimination
    panel_entry *later;         // [groups (groups - 1)/2]
    panel_source *earlier;      // likewise
    int *number;                // [groups] which group comes when
    // scratch, which orders may share
    uint64_t *graph;            // [groups][words]
    int *degree, *place;        // [groups]
    panel_run *run;             // [groups]
} world_order;

ORDER_FN bool are_joined(const world_order *o, int a, int b)
{
    return o->joined[(size_t)a * (size_t)o->words + (size_t)(b / 64)] >> (b % 64) & 1;
}

ORDER_FN bool same_graphs(const world_order *o, const uint64_t *a, const uint64_t *b)
{
    for (size_t k = 0; k < (size_t)o->groups * (size_t)o->words; k++)
        if (a[k] != b[k]) return false;
    return true;
}

ORDER_FN int bits_set(const uint64_t *bits, int words)
{
    int count = 0;
    for (int w = 0; w < words; w++)
#ifdef __CUDA_ARCH__
        count += __popcll(bits[w]);
#else
        count += __builtin_popcountll(bits[w]);
#endif
    return count;
}

/// All of these groups [words] are joined to each other.
ORDER_FN void join_groups(world_order *o, const uint64_t *some)
{
    for (int a = 0; a < o->groups; a++) {
        if (!(some[a / 64] >> (a % 64) & 1)) continue;
        for (int w = 0; w < o->words; w++) o->joined[(size_t)a * (size_t)o->words + (size_t)w] |= some[w];
    }
}

/// Takes group a, which comes next, out of the graph: what it is joined to is joined to each other.
ORDER_FN void take_out(world_order *o, int a)
{
    const size_t words = (size_t)o->words;
    const uint64_t *const own = o->graph + (size_t)a * words;
    for (int b = 0; b < o->groups; b++) {
        if (!(own[b / 64] >> (b % 64) & 1)) continue;
        uint64_t *const to = o->graph + (size_t)b * words;
        for (size_t w = 0; w < words; w++) to[w] |= own[w];
        to[b / 64] &= ~((uint64_t)1 << (b % 64)), to[a / 64] &= ~((uint64_t)1 << (a % 64));
        o->degree[b] = bits_set(to, o->words);
    }
}

/// The panels of the order: whose columns each has, and where.
ORDER_FN void lay_out_panels(world_order *o)
{
    int laters = 0, earliers = 0;
    o->numbers = 0;
    for (int p = 0; p < o->groups; p++) o->panel[p].earliers = 0;
    for (int p = 0; p < o->groups; p++) {
        row_panel *const P = &o->panel[p];
        const matrix_group *const g = &o->group[o->number[p]];
        const uint64_t *const bits = o->graph + (size_t)o->number[p] * (size_t)o->words;
        P->start = g->start, P->width = P->stride = g->width, P->later = laters, P->at = o->numbers;
        for (int q = p + 1; q < o->groups; q++) {
            const int b = o->number[q];
            if (!(bits[b / 64] >> (b % 64) & 1)) continue;
            o->later[laters].panel = q, o->later[laters++].at = P->stride;
            P->stride += o->group[b].width, o->panel[q].earliers++;
        }
        P->laters = laters - P->later, o->numbers += (size_t)P->width * (size_t)P->stride;
    }
    for (int p = 0; p < o->groups; p++) o->panel[p].earlier = earliers, earliers += o->panel[p].earliers, o->panel[p].earliers = 0;
    for (int p = 0; p < o->groups; p++)
        for (int e = o->panel[p].later; e < o->panel[p].later + o->panel[p].laters; e++) {
            row_panel *const Q = &o->panel[o->later[e].panel];
            panel_source *const s = &o->earlier[Q->earlier + Q->earliers++];
            s->panel = p, s->entry = e;
        }
}

/// The order of what is joined, unless it is the one that was found last.
ORDER_FN void find_order(world_order *o)
{
    const size_t all = (size_t)o->groups * (size_t)o->words;
    if (o->numbers && same_graphs(o, o->joined, o->seen)) return;
    memcpy(o->seen, o->joined, all * sizeof *o->seen), memcpy(o->graph, o->joined, all * sizeof *o->seen);
    for (int a = 0; a < o->groups; a++) {
        uint64_t *const own = o->graph + (size_t)a * (size_t)o->words;
        own[a / 64] &= ~((uint64_t)1 << (a % 64));
        o->degree[a] = bits_set(own, o->words), o->place[a] = -1;
    }
    for (int p = 0; p < o->groups; p++) {
        int next = -1;
        for (int a = 0; a < o->groups; a++)
            if (o->place[a] < 0 && (next < 0 || o->degree[a] < o->degree[next])) next = a;
        o->place[next] = p, o->number[p] = next;
        take_out(o, next);
    }
    lay_out_panels(o);
}

#endif
