/// rootfix of an associative operator with inverses, over the Euler tour ([L] 4.6, Figure 4), by each of the scans. Included once
/// an operator, which is given by
///
///     ELEMENT, NAME(word), TIMES(a, b), ONE, INVERSE(a)
///
/// y[k] = x[first] x .. x x[k] along the way from the world to link k, link k's own included. The tour's steps carry x where a
/// link is entered and its inverse where it is left; y is what has been multiplied when link k is entered.

typedef struct {
    const ctn_tree *tree;
    const ELEMENT *x;
    ELEMENT *y, *part;  // part: of blocks, or all steps
    int steps;          // until the last link is entered
    int nodes, span;    // of a level of the binary tree
    const pieces *cut;
    int level;  // of heavy paths
} NAME(rootfix_call);

static inline ELEMENT NAME(at_step)(const NAME(rootfix_call) * c, int step)
{
    const int k = c->tree->tour[step];
    return k >= 0 ? c->x[k] : INVERSE(c->x[~k]);
}

/// Blocked: the product of each block; what is before each block; and from there every step of it.
static void NAME(fold_block)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    ELEMENT product = ONE;
    FOR_BLOCK(s, block, c->steps) product = TIMES(product, NAME(at_step)(c, s));
    c->part[block] = product;
}
static void NAME(spread_block)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    ELEMENT product = c->part[block];
    FOR_BLOCK(s, block, c->steps)
    {
        product = TIMES(product, NAME(at_step)(c, s));
        if (c->tree->tour[s] >= 0) c->y[c->tree->tour[s]] = product;
    }
}

/// Blelloch's: elements of the steps; products up a binary tree; then down, what is before each node (Blelloch 1990, 1.3).
static void NAME(fill_steps)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    FOR_BLOCK(s, block, c->nodes) c->part[s] = s < c->steps ? NAME(at_step)(c, s) : ONE;
}
static void NAME(sweep_up)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    FOR_BLOCK(node, block, c->nodes)
    {
        ELEMENT *const left = &c->part[(size_t)2 * node * c->span + c->span - 1], *const right = left + c->span;
        *right = TIMES(*left, *right);
    }
}
static void NAME(sweep_down)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    FOR_BLOCK(node, block, c->nodes)
    {
        ELEMENT *const left = &c->part[(size_t)2 * node * c->span + c->span - 1], *const right = left + c->span;
        const ELEMENT within = *left;
        *left = *right;
        *right = TIMES(*right, within);
    }
}
static void NAME(take_steps)(void *context, int block)
{
    const NAME(rootfix_call) *c = context;
    FOR_BLOCK(k, block, c->tree->n) c->y[k] = TIMES(c->part[tree_lp(c->tree, k)], c->x[k]);
}

/// Along heavy paths, without inverses: the product of each piece, what is before each, and from there every link of it.
static void NAME(fold_piece)(void *context, int job)
{
    const NAME(rootfix_call) *c = context;
    FOR_PIECES(p, c->cut, c->level, job)
    {
        if (p->slot < 0) continue;
        ELEMENT product = c->x[p->first];
        for (int k = p->first + 1; k < p->end; k++) product = TIMES(product, c->x[k]);
        c->part[p->slot] = product;
    }
}
static ELEMENT NAME(before_path)(const NAME(rootfix_call) * c, int path)
{
    const int parent = c->tree->parent[c->tree->path[path]];
    return parent < 0 ? ONE : c->y[parent];
}
static void NAME(before_pieces)(void *context, int number)
{
    const NAME(rootfix_call) *c = context;
    const int path = c->cut->cut[c->cut->level_cut[c->level] + number];
    ELEMENT before = NAME(before_path)(c, path);
    for (const piece *p = c->cut->piece + c->cut->begin[path];; p++) {
        const ELEMENT own = c->part[p->slot];
        c->part[p->slot] = before;
        if (p->last) return;
        before = TIMES(before, own);
    }
}
static void NAME(spread_piece)(void *context, int job)
{
    const NAME(rootfix_call) *c = context;
    FOR_PIECES(p, c->cut, c->level, job)
    {
        ELEMENT product = p->slot < 0 ? NAME(before_path)(c, p->path) : c->part[p->slot];
        for (int k = p->first; k < p->end; k++) c->y[k] = product = TIMES(product, c->x[k]);
    }
}

/// x, y [n], not the same. Nothing is done if there is no memory: the work says so.
static void NAME(rootfix)(work *w, ctn_scan scan, const ELEMENT *x, ELEMENT *y)
{
    const ctn_tree *const t = w->tree;
    NAME(rootfix_call) c = {.tree = t, .x = x, .y = y, .steps = tree_lp(t, t->n - 1) + 1};
    if (scan == CTN_SCAN_SERIAL) {
        for (int k = 0; k < t->n; k++) y[k] = t->parent[k] < 0 ? x[k] : TIMES(y[t->parent[k]], x[k]);
    } else if (scan == CTN_SCAN_BLELLOCH) {
        int size = 1;
        while (size < c.steps) size *= 2;
        c.part = work_room(w, SLOT_TOUR, (size_t)size, sizeof *c.part);
        if (!c.part) return;
        c.nodes = size;
        phase(w, blocks_of(size), NAME(fill_steps), &c);
        for (c.span = 1, c.nodes = size / 2; c.span < size; c.span *= 2, c.nodes /= 2)
            phase(w, blocks_of(c.nodes), NAME(sweep_up), &c);
        c.part[size - 1] = ONE;
        for (c.span = size / 2, c.nodes = 1; c.span >= 1; c.span /= 2, c.nodes *= 2)
            phase(w, blocks_of(c.nodes), NAME(sweep_down), &c);
        phase(w, blocks_of(t->n), NAME(take_steps), &c);
    } else if (scan == CTN_SCAN_PATHS) {
        c.cut = w->cut;
        c.part = work_room(w, SLOT_PARTS, (size_t)c.cut->slots + 1, sizeof *c.part);
        if (!c.part) return;
        for (c.level = 0; c.level < t->nlevel; c.level++) {
            const int cuts = c.cut->level_cut[c.level + 1] - c.cut->level_cut[c.level];
            if (cuts) phase(w, piece_jobs(c.cut, c.level), NAME(fold_piece), &c);
            phase(w, cuts, NAME(before_pieces), &c);
            phase(w, piece_jobs(c.cut, c.level), NAME(spread_piece), &c);
        }
    } else {
        const int blocks = blocks_of(c.steps);
        c.part = work_room(w, SLOT_PARTS, (size_t)blocks, sizeof *c.part);
        if (!c.part) return;
        phase(w, blocks - 1, NAME(fold_block), &c);  // nothing comes after the last one
        ELEMENT before = ONE;
        for (int b = 0; b < blocks; b++) {
            const ELEMENT own = c.part[b];
            c.part[b] = before;
            if (b + 1 < blocks) before = TIMES(before, own);
        }
        phase(w, blocks, NAME(spread_block), &c);
    }
}

#undef ELEMENT
#undef NAME
#undef TIMES
#undef ONE
#undef INVERSE
