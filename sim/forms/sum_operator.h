/// leaffix of a sum ([L] 4.6, Figure 5), by each of the scans: y[k] = the sum of x over the subtree of k. Included once an
/// operator, which is given by
///
///     ELEMENT, NAME(word), PLUS(a, b), ZERO, MINUS(a, b)
///
/// The steps at which links are left carry nothing, so the tour is one step a link; a subtree is a run of links. Sums are taken
/// from the last link on, not from the first: y[k] = s[k] - s[end], s the sum of all from there on. On a chain nothing is then
/// subtracted.

typedef struct {
    const ctn_tree *tree;
    const ELEMENT *x;
    ELEMENT *sum;  // [n + 1] s
    ELEMENT *part, *y;
    int nodes, span;
    const pieces *cut;
    int level;
} NAME(leaffix_call);

static void NAME(sum_block)(void *context, int block)  // block 0 is the last one
{
    const NAME(leaffix_call) *c = context;
    ELEMENT sum = ZERO;
    FOR_BLOCK(k, block, c->tree->n) sum = PLUS(sum, c->x[c->tree->n - 1 - k]);
    c->part[block] = sum;
}
static void NAME(spread_sum)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    ELEMENT sum = c->part[block];
    FOR_BLOCK(k, block, c->tree->n)
    {
        const int link = c->tree->n - 1 - k;
        c->sum[link] = sum = PLUS(sum, c->x[link]);
    }
}
static void NAME(subtrees)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    FOR_BLOCK(k, block, c->tree->n) c->y[k] = MINUS(c->sum[k], c->sum[c->tree->end[k]]);
}

static void NAME(fill_sums)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    FOR_BLOCK(k, block, c->nodes) c->part[k] = k < c->tree->n ? c->x[c->tree->n - 1 - k] : ZERO;
}
static void NAME(sum_up)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    FOR_BLOCK(node, block, c->nodes)
    {
        ELEMENT *const left = &c->part[(size_t)2 * node * c->span + c->span - 1], *const right = left + c->span;
        *right = PLUS(*left, *right);
    }
}
static void NAME(sum_down)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    FOR_BLOCK(node, block, c->nodes)
    {
        ELEMENT *const left = &c->part[(size_t)2 * node * c->span + c->span - 1], *const right = left + c->span;
        const ELEMENT within = *left;
        *left = *right;
        *right = PLUS(*right, within);
    }
}
static void NAME(take_sums)(void *context, int block)
{
    const NAME(leaffix_call) *c = context;
    FOR_BLOCK(k, block, c->tree->n) c->sum[k] = PLUS(c->part[c->tree->n - 1 - k], c->x[k]);
}

/// Along heavy paths, without differences: the sum of each piece and of what hangs on it, what is behind each, and from there
/// every link of it.
static ELEMENT NAME(hung)(const NAME(leaffix_call) * c, int k, ELEMENT sum)
{
    const ctn_tree *const t = c->tree;
    sum = PLUS(sum, c->x[k]);
    for (int child = t->end[k] > k + 1 ? t->end[k + 1] : t->end[k]; child < t->end[k]; child = t->end[child])
        sum = PLUS(sum, c->y[child]);
    return sum;
}
static void NAME(sum_piece)(void *context, int job)
{
    const NAME(leaffix_call) *c = context;
    FOR_PIECES(p, c->cut, c->level, job)
    {
        if (p->slot < 0) continue;
        ELEMENT sum = ZERO;
        for (int k = p->end - 1; k >= p->first; k--) sum = NAME(hung)(c, k, sum);
        c->part[p->slot] = sum;
    }
}
static void NAME(behind_pieces)(void *context, int number)
{
    const NAME(leaffix_call) *c = context;
    const piece *p = c->cut->piece + c->cut->begin[c->cut->cut[c->cut->level_cut[c->level] + number]];
    while (!p->last) p++;
    for (ELEMENT sum = ZERO;; p--) {
        const ELEMENT own = c->part[p->slot];
        c->part[p->slot] = sum;
        if (p->top) return;
        sum = PLUS(sum, own);
    }
}
static void NAME(sum_links)(void *context, int job)
{
    const NAME(leaffix_call) *c = context;
    FOR_PIECES(p, c->cut, c->level, job)
    {
        ELEMENT sum = p->slot < 0 ? ZERO : c->part[p->slot];
        for (int k = p->end - 1; k >= p->first; k--) c->y[k] = sum = NAME(hung)(c, k, sum);
    }
}

/// x, y [n], which may be the same; `slot` has room for n + 1 sums.
static void NAME(leaffix)(work *w, ctn_scan scan, const ELEMENT *x, enum work_slot slot, ELEMENT *y)
{
    const ctn_tree *const t = w->tree;
    NAME(leaffix_call) c = {.tree = t, .x = x, .y = y};
    if (scan == CTN_SCAN_SERIAL) {
        for (int k = 0; k < t->n; k++) y[k] = x[k];
        for (int k = t->n - 1; k > 0; k--)
            if (t->parent[k] >= 0) y[t->parent[k]] = PLUS(y[t->parent[k]], y[k]);
        return;
    }
    if (scan == CTN_SCAN_PATHS) {
        c.cut = w->cut;
        c.part = work_room(w, SLOT_PARTS, (size_t)c.cut->slots + 1, sizeof *c.part);
        if (!c.part) return;
        for (c.level = t->nlevel - 1; c.level >= 0; c.level--) {
            const int cuts = c.cut->level_cut[c.level + 1] - c.cut->level_cut[c.level];
            if (cuts) phase(w, piece_jobs(c.cut, c.level), NAME(sum_piece), &c);
            phase(w, cuts, NAME(behind_pieces), &c);
            phase(w, piece_jobs(c.cut, c.level), NAME(sum_links), &c);
        }
        return;
    }
    c.sum = work_room(w, slot, (size_t)t->n + 1, sizeof *c.sum);
    if (!c.sum) return;
    c.sum[t->n] = ZERO;
    if (scan == CTN_SCAN_BLELLOCH) {
        int size = 1;
        while (size < t->n) size *= 2;
        c.part = work_room(w, SLOT_TOUR, (size_t)size, sizeof *c.part);
        if (!c.part) return;
        c.nodes = size;
        phase(w, blocks_of(size), NAME(fill_sums), &c);
        for (c.span = 1, c.nodes = size / 2; c.span < size; c.span *= 2, c.nodes /= 2)
            phase(w, blocks_of(c.nodes), NAME(sum_up), &c);
        c.part[size - 1] = ZERO;
        for (c.span = size / 2, c.nodes = 1; c.span >= 1; c.span /= 2, c.nodes *= 2)
            phase(w, blocks_of(c.nodes), NAME(sum_down), &c);
        phase(w, blocks_of(t->n), NAME(take_sums), &c);
    } else {
        const int blocks = blocks_of(t->n);
        c.part = work_room(w, SLOT_PARTS, (size_t)blocks, sizeof *c.part);
        if (!c.part) return;
        phase(w, blocks - 1, NAME(sum_block), &c);
        ELEMENT before = ZERO;
        for (int b = 0; b < blocks; b++) {
            const ELEMENT own = c.part[b];
            c.part[b] = before;
            if (b + 1 < blocks) before = PLUS(before, own);
        }
        phase(w, blocks, NAME(spread_sum), &c);
    }
    phase(w, blocks_of(t->n), NAME(subtrees), &c);
}

#undef ELEMENT
#undef NAME
#undef PLUS
#undef ZERO
#undef MINUS
