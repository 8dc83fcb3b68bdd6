/// Scans on a device, by tiles: what the threads of one do. C++, for forms_there.h.
///
/// A tile is TILE neighbours, ITEMS of them a thread. Products of tiles are had first (fold), scanned by one block (join), and
/// every tile then goes from what is before it (spread). The partition is fixed, so that results hang neither on the launch nor
/// on the GPU: cub::DeviceScan looks back at whichever tile is done, which does not give sums of floating point the same bits in
/// each run.
#ifndef CATENA_SIM_FORMS_FORMS_TILES_H
#define CATENA_SIM_FORMS_FORMS_TILES_H

#include "sim/forms/links.h"

enum { THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS };

/// The operators: an associative product, its one, and inverses.
struct pose_product {
    typedef se3 element;
    FN se3 one() { return se3_one(); }
    FN se3 times(const se3 &a, const se3 &b) { return se3_times(a, b); }
    FN se3 inverse(const se3 &a) { return se3_inverse(a); }
};
struct vector_sum {
    typedef vec6 element;
    FN vec6 one() { return vec6_zero(); }
    FN vec6 times(const vec6 &a, const vec6 &b) { return vec6_add(a, b); }
    FN vec6 inverse(const vec6 &a) { return vec6_opposite(a); }
};
struct inertia_sum {
    typedef inertia element;
    FN inertia one() { return inertia_zero(); }
    FN inertia times(const inertia &a, const inertia &b) { return inertia_add(a, b); }
    FN inertia inverse(const inertia &a) { return inertia_opposite(a); }
};
struct point_sum {
    typedef v3 element;
    FN v3 one() { return (v3){0, 0, 0}; }
    FN v3 times(const v3 &a, const v3 &b) { return v3_add(a, b); }
};

/// What is scanned: `count` elements of each state, and where their products go. `part` [states][tiles + 1]: products of tiles,
/// then what is before each, and all together.
template <class Operator> struct scan_of {
    typedef Operator product;
    typedef typename Operator::element element;
    const ctn_tree *tree;
    int count, tiles;
    element *part;
};

/// rootfix: the steps of the Euler tour, x where a link is entered, its inverse where it is left. x, y [states][n].
template <class Operator> struct rootfix_scan : scan_of<Operator> {
    typedef typename Operator::element element;
    const element *x;
    element *y;
    FN element get(const rootfix_scan &s, int state, int step)
    {
        const element *const x = s.x + (size_t)state * (size_t)s.tree->n;
        const int k = s.tree->tour[step];
        return k >= 0 ? x[k] : Operator::inverse(x[~k]);
    }
    FN void put(const rootfix_scan &s, int state, int step, const element &, const element &after)
    {
        const int k = s.tree->tour[step];
        if (k >= 0) s.y[(size_t)state * (size_t)s.tree->n + (size_t)k] = after;
    }
};

/// Sums from the last link on, of which leaffix takes differences. x [states][n], sum [states][n + 1].
template <class Operator> struct tail_scan : scan_of<Operator> {
    typedef typename Operator::element element;
    const element *x;
    element *sum;
    FN element get(const tail_scan &s, int state, int i)
    {
        const int n = s.tree->n;
        return s.x[(size_t)state * (size_t)n + (size_t)(n - 1 - i)];
    }
    FN void put(const tail_scan &s, int state, int i, const element &before, const element &after)
    {
        const int n = s.tree->n;
        element *const sum = s.sum + (size_t)state * ((size_t)n + 1);
        if (!i) sum[n] = before;
        sum[n - 1 - i] = after;
    }
};
/// leaffix of link k, of such sums.
template <class Operator>
FN typename Operator::element subtree_sum(const typename Operator::element *sum, const ctn_tree *t, int k)
{
    return Operator::times(sum[k], Operator::inverse(sum[t->end[k]]));
}

/// Origins of links, for the mean of them. pose [states][n].
struct origins_scan : scan_of<point_sum> {
    const se3 *pose;
    FN v3 get(const origins_scan &s, int state, int k) { return s.pose[(size_t)state * (size_t)s.tree->n + (size_t)k].p; }
};

/// The products of the tiles of a scan.
template <class Scan> struct parts_of : scan_of<typename Scan::product> {
    typedef typename Scan::element element;
    FN element get(const parts_of &s, int state, int tile)
    {
        return s.part[(size_t)state * ((size_t)s.count + 1) + (size_t)tile];
    }
    FN void put(const parts_of &s, int state, int tile, const element &before, const element &after)
    {
        element *const part = s.part + (size_t)state * ((size_t)s.count + 1) + (size_t)tile;
        if (tile + 1 == s.count) part[1] = after;
        part[0] = before;
    }
};
template <class Scan> FN parts_of<Scan> parts(const Scan &s)
{
    parts_of<Scan> p;
    p.tree = s.tree, p.count = s.tiles, p.tiles = (s.tiles + TILE - 1) / TILE, p.part = s.part;
    return p;
}

/// The product of a thread's own elements in a tile.
template <class Scan> FN typename Scan::element thread_product(const Scan &s, int state, int tile, int thread)
{
    const int first = tile * TILE + thread * ITEMS;
    if (first >= s.count) return Scan::product::one();
    typename Scan::element product = Scan::get(s, state, first);
    for (int i = first + 1; i < first + ITEMS && i < s.count; i++)
        product = Scan::product::times(product, Scan::get(s, state, i));
    return product;
}
/// And from what is before them.
template <class Scan> FN void thread_spread(const Scan &s, int state, int tile, int thread, typename Scan::element before)
{
    const int first = tile * TILE + thread * ITEMS;
    for (int i = first; i < first + ITEMS && i < s.count; i++) {
        const typename Scan::element after = Scan::product::times(before, Scan::get(s, state, i));
        Scan::put(s, state, i, before, after);
        before = after;
    }
}

#endif
