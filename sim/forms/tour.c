/// The vector tree of a parent array: its Euler tour, as a list of 2n steps that all threads rank together.
///
/// Steps are numbered 2i, link i is entered, and 2i + 1, it is left; what follows a step is known from its link's first child and
/// next sibling. The list is cut at every SPACING-th number: each part is walked on its own, the parts are put one behind the
/// other, and every step then knows how many are before it (Helman and JáJá 2001). Steps of links that hang in a circle are in
/// lists of their own.
#include "sim/forms/tree.h"
#include "sim/base/status.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPACING = 1024, LINKS_A_JOB = 4096 };

typedef struct {
    int n;
    const int *parent;
    int *first, *next;         // [n + 1] first child, next sibling; n is the world
    int *start, *child;        // [n + 2], [n] children of each link, in order
    atomic_int *filled;        // [n + 1]
    int *size;                 // [n] links of its subtree; NULL: not known yet
    int *rank, *part;          // [2n] steps before this one in its part of the list, and which part that is; -1: in none
    int parts;                 // [parts] of the parts:
    int *head, *tail, *steps;  // its first step, the first one after it, how many it has
    long *before;              // steps before it; -1: it is not on the way from the world
} touring;

static int mother(const touring *g, int i) { return g->parent[i] < 0 ? g->n : g->parent[i]; }

static int following(const touring *g, int step)  // -1: the end
{
    const int i = step / 2;
    if (step % 2 == 0) return g->first[i] >= 0 ? 2 * g->first[i] : step + 1;
    if (g->next[i] >= 0) return 2 * g->next[i];
    return g->parent[i] < 0 ? -1 : 2 * g->parent[i] + 1;
}

static int blocks(long count, int each) { return (int)((count + each - 1) / each); }

static void count_children(void *context, int thread, int job)
{
    touring *g = context;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i < g->n && i < (job + 1) * LINKS_A_JOB; i++) atomic_fetch_add(&g->filled[mother(g, i)], 1);
}

static void place_children(void *context, int thread, int job)
{
    touring *g = context;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i < g->n && i < (job + 1) * LINKS_A_JOB; i++) {
        const int p = mother(g, i);
        g->child[g->start[p] + atomic_fetch_add(&g->filled[p], 1)] = i;
    }
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/// Puts children into their order, whatever the order was in which threads placed them, and links them.
static void order_children(void *context, int thread, int job)
{
    touring *g = context;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i <= g->n && i < (job + 1) * LINKS_A_JOB; i++) {
        int *const c = g->child + g->start[i], count = g->start[i + 1] - g->start[i];
        if (count > 1) qsort(c, (size_t)count, sizeof *c, by_number);
        if (g->size && count > 1) {  // the largest first, the others as they are
            int large = 0;
            for (int k = 1; k < count; k++)
                if (g->size[c[k]] > g->size[c[large]]) large = k;
            const int heavy = c[large];
            memmove(c + 1, c, (size_t)large * sizeof *c);
            c[0] = heavy;
        }
        g->first[i] = count ? c[0] : -1;
        for (int k = 0; k < count; k++) g->next[c[k]] = k + 1 < count ? c[k + 1] : -1;
    }
}

/// Walks along parts of the list, each from its head to the next one.
static void walk_part(void *context, int thread, int part)
{
    touring *g = context;
    (void)thread;
    const int first = 2 * g->first[g->n];
    int step = g->head[part], count = 0;
    do {
        g->rank[step] = count++, g->part[step] = part;
        step = following(g, step);
    } while (step >= 0 && step % SPACING && step != first);
    g->tail[part] = step, g->steps[part] = count;
}

/// Ranks all steps; `before` of parts that are not reached from the world stays -1.
static void rank_steps(touring *g, pool *threads)
{
    const int steps = 2 * g->n, first = 2 * g->first[g->n], spaced = blocks(steps, SPACING);
    for (int k = 0; k < spaced; k++) g->head[k] = k * SPACING;
    g->parts = spaced;
    if (first % SPACING) g->head[g->parts++] = first;
    memset(g->part, -1, (size_t)steps * sizeof *g->part);
    pool_run(threads, g->parts, walk_part, g);
    for (int k = 0; k < g->parts; k++) g->before[k] = -1;
    long before = 0;
    for (int step = first; step >= 0;) {
        const int k = step % SPACING ? spaced : step / SPACING;
        g->before[k] = before;
        before += g->steps[k];
        step = g->tail[k];
    }
}

static long rank_of(const touring *g, int step)  // -1: not on the way from the world
{
    const int part = g->part[step];
    return part < 0 || g->before[part] < 0 ? -1 : g->before[part] + g->rank[step];
}

static void find_sizes(void *context, int thread, int job)
{
    touring *g = context;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i < g->n && i < (job + 1) * LINKS_A_JOB; i++)
        g->size[i] = (int)(rank_of(g, 2 * i + 1) - rank_of(g, 2 * i) + 1) / 2;
}

/// Says which links go round in a circle: the one of the lowest number, of the first circle that is found.
static ctn_status say_circle(const touring *g, int i, ctn_error *err)
{
    for (int k = 0; k < g->n; k++) i = g->parent[i];  // now it is on the circle
    int lowest = i, length = 1;
    for (int k = g->parent[i]; k != i; k = g->parent[k], length++)
        if (k < lowest) lowest = k;
    return fail(err, CTN_BAD_ARGUMENT,
                "link %d: its parent is link %d, and so on in a circle of %d link%s, which hangs on nothing", lowest,
                g->parent[lowest], length, plural(length));
}

typedef struct {
    const touring *g;
    ctn_tree *tree;
} placing;

/// Where links stand: as many before them as have been entered by then. Depth: those that were entered and not left.
static void place_links(void *context, int thread, int job)
{
    const placing *p = context;
    const touring *g = p->g;
    ctn_tree *const t = p->tree;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i < g->n && i < (job + 1) * LINKS_A_JOB; i++) {
        const int k = t->place[i];
        t->given[k] = i;
        t->parent[k] = g->parent[i] < 0 ? -1 : t->place[g->parent[i]];
        t->end[k] = k + g->size[i];
        t->depth[k] = 2 * k + 1 - (int)rank_of(g, 2 * i);
        t->tour[rank_of(g, 2 * i)] = k;
        t->tour[rank_of(g, 2 * i + 1)] = ~k;
    }
}

/// Where the links stand, from the tour: the steps of each block of it are counted, then numbered.
typedef struct {
    const touring *g;
    ctn_tree *tree;
    int *at, *count;  // [2n] the link that is entered at a step, or -1; [blocks] of them in a block, then before it
} numbering;

static void spread_entries(void *context, int thread, int job)
{
    const numbering *m = context;
    (void)thread;
    for (int i = job * LINKS_A_JOB; i < m->g->n && i < (job + 1) * LINKS_A_JOB; i++) {
        m->at[rank_of(m->g, 2 * i)] = i;
        m->at[rank_of(m->g, 2 * i + 1)] = -1;
    }
}
static void count_entries(void *context, int thread, int job)
{
    const numbering *m = context;
    (void)thread;
    int count = 0;
    for (int s = job * LINKS_A_JOB; s < 2 * m->g->n && s < (job + 1) * LINKS_A_JOB; s++) count += m->at[s] >= 0;
    m->count[job] = count;
}
static void number_entries(void *context, int thread, int job)
{
    const numbering *m = context;
    (void)thread;
    int k = m->count[job];
    for (int s = job * LINKS_A_JOB; s < 2 * m->g->n && s < (job + 1) * LINKS_A_JOB; s++)
        if (m->at[s] >= 0) m->tree->place[m->at[s]] = k++;
}

/// Heavy paths, which are runs of links, and their levels.
static bool find_paths(ctn_tree *t)
{
    t->npath = 0;
    for (int k = 0; k < t->n; k++) t->npath += k == 0 || t->parent[k] != k - 1;
    t->path = malloc(((size_t)t->npath + 1) * sizeof *t->path);
    t->by_level = malloc((size_t)t->npath * sizeof *t->by_level);
    int *const level = malloc((size_t)t->npath * sizeof *level), *const level_of = malloc((size_t)t->n * sizeof *level_of);
    bool ok = t->path && t->by_level && level && level_of;
    if (ok) {
        int paths = 0;
        t->nlevel = 0;
        for (int k = 0; k < t->n; k++) {
            const int p = t->parent[k];
            const bool begins = k == 0 || p != k - 1;
            level_of[k] = p < 0 ? 0 : level_of[p] + begins;
            t->on[k] = begins ? paths : paths - 1;
            if (!begins) continue;
            if (level_of[k] >= t->nlevel) t->nlevel = level_of[k] + 1;
            level[paths] = level_of[k], t->path[paths++] = k;
        }
        t->path[paths] = t->n;
        t->level = calloc((size_t)t->nlevel + 2, sizeof *t->level);
        ok = t->level;
    }
    if (ok) {
        for (int p = 0; p < t->npath; p++) t->level[level[p] + 2]++;
        for (int l = 0; l < t->nlevel; l++) t->level[l + 2] += t->level[l + 1];
        for (int p = 0; p < t->npath; p++) t->by_level[t->level[level[p] + 1]++] = p;
    }
    free(level_of);
    free(level);
    return ok;
}

static ctn_tree *tree_room(int n)
{
    ctn_tree *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    const size_t ints = (size_t)n * sizeof(int);
    t->n = n;
    t->links = malloc((size_t)n * sizeof *t->links);
    t->parent = malloc(ints), t->end = malloc(ints), t->depth = malloc(ints), t->given = malloc(ints), t->place = malloc(ints),
    t->on = malloc(ints);
    t->tour = malloc(2 * ints);
    if (t->links && t->parent && t->end && t->depth && t->given && t->place && t->on && t->tour) return t;
    ctn_tree_free(t);
    return NULL;
}

static ctn_status make_tour(touring *g, ctn_tree *t, pool *threads, ctn_error *err)
{
    const int jobs = blocks(g->n, LINKS_A_JOB);
    pool_run(threads, jobs, count_children, g);
    for (int i = 0; i <= g->n; i++) {
        g->start[i + 1] = g->start[i] + atomic_load(&g->filled[i]);
        atomic_store(&g->filled[i], 0);
    }
    if (!g->start[g->n + 1] || g->start[g->n] == g->n) return say_circle(g, 0, err);  // nothing hangs on the world
    pool_run(threads, jobs, place_children, g);
    pool_run(threads, blocks(g->n + 1L, LINKS_A_JOB), order_children, g);
    rank_steps(g, threads);
    for (int i = 0; i < g->n; i++)
        if (rank_of(g, 2 * i) < 0) return say_circle(g, i, err);
    int *const size = malloc((size_t)g->n * sizeof *size);
    if (!size) return fail(err, CTN_NO_MEMORY, "no memory for the tour of %d links", g->n);
    g->size = size;
    pool_run(threads, jobs, find_sizes, g);
    pool_run(threads, blocks(g->n + 1L, LINKS_A_JOB), order_children, g);  // now that sizes are known
    rank_steps(g, threads);

    // the tour has room for the entries until it is written itself
    const int blocks_of_steps = blocks(2L * g->n, LINKS_A_JOB);
    numbering m = {g, t, t->tour, g->start};
    pool_run(threads, jobs, spread_entries, &m);
    pool_run(threads, blocks_of_steps, count_entries, &m);
    for (int b = 0, before = 0; b < blocks_of_steps; b++) {
        const int count = m.count[b];
        m.count[b] = before;
        before += count;
    }
    pool_run(threads, blocks_of_steps, number_entries, &m);
    pool_run(threads, jobs, place_links, &(placing){g, t});
    return find_paths(t) ? CTN_OK : fail(err, CTN_NO_MEMORY, "no memory for the paths of %d links", g->n);
}

ctn_tree *tree_of_parents(int n, const int *parent, int threads, ctn_error *err)
{
    threads = threads_asked(threads, err);
    if (!threads) return NULL;
    for (int i = 0; i < n; i++)
        if (parent[i] < -1 || parent[i] >= n || parent[i] == i) {
            fail(err, CTN_BAD_ARGUMENT, "link %d: its parent is %d; expected another link, 0 to %d, or -1, the world", i,
                 parent[i], n - 1);
            return NULL;
        }
    const size_t ints = (size_t)n * sizeof(int), parts = (size_t)blocks(2L * n, SPACING) + 1;
    touring g = {.n = n, .parent = parent};
    g.first = malloc(ints + sizeof(int)), g.next = malloc(ints + sizeof(int));
    g.start = calloc((size_t)n + 2, sizeof(int)), g.child = malloc(ints);
    g.filled = calloc((size_t)n + 1, sizeof *g.filled);
    g.rank = malloc(2 * ints), g.part = malloc(2 * ints);
    g.head = malloc(parts * sizeof(int)), g.tail = malloc(parts * sizeof(int)), g.steps = malloc(parts * sizeof(int));
    g.before = malloc(parts * sizeof *g.before);
    ctn_tree *t = tree_room(n);
    pool *p = pool_create(threads);
    ctn_status status;
    if (!t || !p || !g.first || !g.next || !g.start || !g.child || !g.filled || !g.rank || !g.part || !g.head || !g.tail ||
        !g.steps || !g.before)
        status = fail(err, CTN_NO_MEMORY, "no memory or no threads for the tour of %d links", n);
    else status = make_tour(&g, t, p, err);
    pool_free(p);
    free(g.first), free(g.next), free(g.start), free(g.child), free(g.filled), free(g.size), free(g.rank), free(g.part);
    free(g.head), free(g.tail), free(g.steps), free(g.before);
    if (status == CTN_OK) return t;
    ctn_tree_free(t);
    return NULL;
}
