/// The plan: paths, segments, their lanes, and the rows in which lanes go side by side.
#include "sim/along/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int along_lanes(const ctn_model *m) { return m->nbody < 2048 ? 8 : m->nbody < 8192 ? 16 : m->nbody < 32768 ? 32 : 64; }

/// Bodies of the longest path.
static int longest_path(const ctn_model *m)
{
    int longest = 0;
    for (int i = 0, path = 0; i < m->nbody; i++) {
        path = (m->bodies[i].flags & BODY_NEXT) ? path + 1 : 1;
        if (path > longest) longest = path;
    }
    return longest;
}

/// From bench/crossover on one thread: chains pay from some 256 bodies with AVX-512 and 512 with AVX2; bushy trees hardly do; and
/// worlds that fill lanes themselves do so at less cost.
enum { PAYS_FROM = 512, PAYS_BELOW_WORLDS = 4 };
bool along_pays(const ctn_model *m, int worlds) { return worlds < PAYS_BELOW_WORLDS && longest_path(m) >= PAYS_FROM; }

void along_reason(const ctn_model *m, int worlds, char text[ALONG_WORDS])
{
    const int longest = longest_path(m);
    int n = snprintf(text, ALONG_WORDS, "its longest path has %d of %d %s", longest, m->nbody, m->nbody == 1 ? "body" : "bodies");
    if (worlds > 1) n += snprintf(text + n, ALONG_WORDS - (size_t)n, ", in each of %d worlds", worlds);
    snprintf(text + n, ALONG_WORDS - (size_t)n,
             along_pays(m, worlds)  ? ", which pays"
             : longest >= PAYS_FROM ? ": enough worlds to fill lanes"
                                    : ": too short to pay");
}

static void *room(along_plan *p, size_t count, size_t size)
{
    p->bytes += count * size;
    return calloc(count ? count : 1, size);
}

// ---- paths and segments

static bool continues(const ctn_model *m, int i) { return i < m->nbody && (m->bodies[i].flags & BODY_NEXT); }

/// Whether a path may be cut behind a body: with inertia about every axis of its own, pivots of the segment that ends there are
/// positive.
static bool ends_well(const ctn_body *b)
{
    if (!(b->flags & BODY_MASS) || !(b->mass > 0)) return false;
    // the least of the inertias about axes through the centre of mass is positive: a Cholesky of I + [h]x[h]x / m
    const double h2 = b->h[0] * b->h[0] + b->h[1] * b->h[1] + b->h[2] * b->h[2], m = b->mass;
    double I[6];
    for (int k = 0; k < 3; k++) I[k] = b->I[k] - (h2 - b->h[k] * b->h[k]) / m;
    I[3] = b->I[3] + b->h[0] * b->h[1] / m, I[4] = b->I[4] + b->h[0] * b->h[2] / m, I[5] = b->I[5] + b->h[1] * b->h[2] / m;
    const double least = 1e-9 * (b->I[0] + b->I[1] + b->I[2]);
    const double yy = I[1] - I[3] * I[3] / I[0], yz = I[5] - I[3] * I[4] / I[0];
    const double zz = I[2] - I[4] * I[4] / I[0] - yz * yz / yy;
    return I[0] > least && yy > least && zz > least;
}

/// The level of the path that begins at each body that begins one; length: bodies of the path.
static int find_levels(const ctn_model *m, int *level, int *length)
{
    int most = 0;
    for (int i = m->nbody - 1; i >= 0; i--) {
        length[i] = continues(m, i + 1) ? length[i + 1] + 1 : 1;
        if (continues(m, i + 1) && level[i + 1] > level[i]) level[i] = level[i + 1];
        if (level[i] > most) most = level[i];
        const int up = m->bodies[i].parent;
        if (up >= 0 && !(m->bodies[i].flags & BODY_NEXT) && level[i] + 1 > level[up]) level[up] = level[i] + 1;
    }
    return m->nbody ? most + 1 : 0;
}

/// Cuts the path of `length` bodies from `head` on into segments of at most `share` or a few more; counts only, if there is no
/// room yet.
static int cut_path(const along_plan *p, int head, int length, int level, int share, int next)
{
    const ctn_model *const m = p->model;
    const int pieces = 2 * length > 3 * share ? (length + share - 1) / share : 1, end = head + length;
    int n = 0, first = head;
    while (first < end) {
        int tail = pieces == 1 ? end - 1 : head + (int)((long)length * (n + 1) / pieces) - 1;
        if (tail < first) tail = first;
        while (tail < end - 1 && !ends_well(&m->bodies[tail])) tail++;
        if (p->segment) {
            along_segment *const s = &p->segment[next + n];
            *s = (along_segment){
                .head = first, .tail = tail, .level = level, .before = n ? next + n - 1 : -1, .after = -1, .follows = -1};
            s->above = m->bodies[first].parent, s->cut = -1;
            if (n) p->segment[next + n - 1].after = next + n;
        }
        n++, first = tail + 1;
    }
    return n;
}

/// All segments, level by level. False: no memory.
static bool cut_paths(along_plan *p)
{
    const ctn_model *const m = p->model;
    const size_t n = (size_t)m->nbody;
    int *const level = calloc(n + 1, sizeof *level), *const length = calloc(n + 1, sizeof *length);
    long *total = NULL;
    bool ok = level && length;
    if (ok) {
        p->levels = find_levels(m, level, length);
        total = calloc((size_t)p->levels + 1, sizeof *total);
        p->cut_first = room(p, (size_t)p->levels + 2, sizeof *p->cut_first);
        p->longest = room(p, (size_t)p->levels + 1, sizeof *p->longest);
        ok = total && p->cut_first && p->longest;
    }
    for (int i = 0; ok && i < m->nbody; i++)
        if (!continues(m, i)) total[level[i]] += length[i];
    for (int turn = 0; ok && turn < 2; turn++) {
        int next = 0, cuts = 0;
        for (int l = 0; l < p->levels; l++) {
            if (turn) p->cut_first[l] = cuts;
            const int share = (int)((total[l] + p->lanes - 1) / p->lanes);
            for (int i = 0; i < m->nbody; i++) {
                if (continues(m, i) || level[i] != l) continue;
                const int pieces = cut_path(p, i, length[i], l, share < 4 ? 4 : share, next);
                for (int s = next; turn && pieces > 1 && s < next + pieces; s++) p->segment[s].cut = p->cut_segments++;
                if (turn && pieces > 1) p->cuts[cuts] = next;
                if (pieces > 1 && pieces > p->longest[l]) p->longest[l] = pieces;
                cuts += pieces > 1, next += pieces;
            }
        }
        if (turn) break;
        p->segments = next;
        p->segment = room(p, (size_t)next, sizeof *p->segment), p->cuts = room(p, (size_t)cuts, sizeof *p->cuts);
        ok = p->segment && p->cuts;
        p->cut_first[p->levels] = cuts;
    }
    free(level), free(length), free(total);
    return ok;
}

// ---- lanes

static int longer(const void *a, const void *b)
{
    const along_segment *const s = *(const along_segment *const *)a, *const t = *(const along_segment *const *)b;
    const int n = (t->tail - t->head) - (s->tail - s->head);
    return s->level != t->level ? s->level - t->level : n ? n : (s < t ? -1 : s > t);
}

/// The next rows that a lane wants.
typedef struct {
    int *segment;  // those of the lane, in order
    int count, at, body;
    long left;
} lane_list;

/// The frames that a body is seen from (integrators/turning_frame.h), as all bodies of its row; 0: none.
static const unsigned frames[] = {0, BODY_SYMMETRIC, BODY_ROUND, BODY_ROUND | BODY_CARRIED, BODY_TOP, BODY_TOP | BODY_PINNED};
enum { FRAMES = sizeof frames / sizeof *frames, KINDS = 2 * (JOINT_NONE + 1) };
static int frames_of(const ctn_body *b)
{
    const unsigned all = BODY_SYMMETRIC | BODY_ROUND | BODY_CARRIED | BODY_TOP | BODY_PINNED;
    int k = b->flags & (BODY_SPRING | BODY_SERVO) ? 0 : FRAMES - 1;
    while (k && (b->flags & all) != frames[k]) k--;
    return k;
}

/// What a lane wants next: -1: nothing; else a kind of joint, or of port. Bodies with mass and without go apart: rows are lighter
/// that way.
static int wants(const along_plan *p, const lane_list *l)
{
    if (l->at == l->count) return -1;
    if (l->body < 0) return 2 * JOINT_NONE;
    const ctn_body *const b = &p->model->bodies[l->body];
    return frames_of(b) * KINDS + 2 * b->kind + ((b->flags & BODY_MASS) ? 1 : 0);
}

static const unsigned kept_flags = BODY_FORK | BODY_MASS | BODY_OFFSET | BODY_PASSIVE | BODY_SPRING | BODY_ARMATURE | BODY_LOAD |
                                   BODY_HELD | BODY_MOTOR | BODY_SERVO | BODY_FRICTION;

/// One row of a block: the lanes that want `what` go on.
static void add_row(along_plan *p, int block, lane_list *lane, int what)
{
    along_block *const B = &p->block[block];
    along_row *const r = &B->row[B->rows];
    bool about_x = true;
    *r = (along_row){.kind = what % KINDS / 2, .flags = frames[what / KINDS], .vadr = B->nv, .qadr = B->nq};
    for (int l = 0; l < ALONG_LANES; l++) {
        lane_list *const L = &lane[l];
        r->body[l] = -1;
        if (wants(p, L) != what) continue;
        along_segment *const s = &p->segment[L->segment[L->at]];
        if (L->body < 0) {
            r->body[l] = L->segment[L->at];
            s->follows = L->at ? L->segment[L->at - 1] : -1;
            L->body = s->head;
            continue;
        }
        const ctn_body *const b = &p->model->bodies[L->body];
        r->body[l] = L->body, p->place[L->body] = (along_place){block, B->rows, l};
        r->flags |= b->flags & (kept_flags | (what < KINDS ? 0u : BODY_TILTS)), about_x = about_x && (b->flags & BODY_ABOUT_X);
        // a root with an offset has no flag that says so
        if ((b->flags & BODY_ROOT) && (b->r0[0] != 0 || b->r0[1] != 0 || b->r0[2] != 0)) r->flags |= BODY_OFFSET;
        r->q[l] = b->qadr, r->v[l] = b->vadr;
        r->nv = b->nv, r->nq = b->kind == JOINT_BALL ? 4 : b->nv;
        L->left--;
        if (L->body == s->tail) L->at++, L->body = -1;
        else L->body++;
    }
    if (r->kind != JOINT_NONE) r->flags |= (about_x ? BODY_ABOUT_X : 0) | BODY_NEXT;
    if (r->kind == JOINT_TRANSLATION) r->flags = (r->flags | BODY_ROOT) & ~(unsigned)BODY_NEXT;
    B->rows++, B->nv += r->nv, B->nq += r->nq;
}

/// The rows of a level in a block: always what is wanted by the lanes that have most to do.
static void add_rows(along_plan *p, int block, lane_list *lane)
{
    for (;;) {
        long wanted[FRAMES * KINDS] = {0};
        int what = -1;
        for (int l = 0; l < ALONG_LANES; l++)
            if (wants(p, &lane[l]) >= 0) wanted[wants(p, &lane[l])] += lane[l].left + 1;
        for (int k = 0; k < FRAMES * KINDS; k++)
            if (wanted[k] && (what < 0 || wanted[k] > wanted[what])) what = k;
        if (what < 0) return;
        add_row(p, block, lane, what);
    }
}

/// A heap of lanes, on top the one with least to do, of several the first.
static bool has_less(const lane_list *lane, int a, int b)
{
    return lane[a].left != lane[b].left ? lane[a].left < lane[b].left : a < b;
}

/// Lane heap[0] has been given more.
static void sink(const lane_list *lane, int *heap, int n)
{
    const int top = heap[0];
    int at = 0;
    for (int below; (below = 2 * at + 1) < n; at = below) {
        if (below + 1 < n && has_less(lane, heap[below + 1], heap[below])) below++;
        if (!has_less(lane, heap[below], top)) break;
        heap[at] = heap[below];
    }
    heap[at] = top;
}

/// Packs the segments of each level into lanes, longest first, and lines the lanes of each block up. False: no memory.
static bool fill_lanes(along_plan *p)
{
    const size_t n = (size_t)p->segments, lanes = (size_t)p->lanes;
    along_segment **const order = calloc(n + 1, sizeof *order);
    int *const lane_of = calloc(n + 1, sizeof *lane_of), *const list = calloc(n + 1, sizeof *list);
    lane_list *const lane = calloc(lanes, sizeof *lane);
    int *const heap = calloc(lanes, sizeof *heap);
    bool ok = order && lane_of && list && lane && heap;
    for (size_t k = 0; ok && k < n; k++) order[k] = &p->segment[k];
    if (ok) qsort(order, n, sizeof *order, longer);
    // levels stand in the rows from the highest one on; segments are in the order of levels
    for (size_t end = n; ok && end;) {
        const int level = order[end - 1]->level, k = p->levels - 1 - level;
        size_t first = end;
        while (first && order[first - 1]->level == level) first--;
        memset(lane, 0, lanes * sizeof *lane);
        for (int l = 0; l < p->lanes; l++) heap[l] = l;
        for (size_t s = first; s < end; s++) {
            const int least = heap[0];
            lane_of[s] = least, lane[least].count++, lane[least].left += order[s]->tail - order[s]->head + 2;
            sink(lane, heap, p->lanes);
        }
        int *at = list;
        for (size_t l = 0; l < lanes; l++) lane[l].segment = at, at += lane[l].count, lane[l].count = 0, lane[l].body = -1;
        for (size_t s = first; s < end; s++) {
            lane_list *const L = &lane[lane_of[s]];
            L->segment[L->count++] = (int)(order[s] - p->segment);
        }
        for (int b = 0; b < p->blocks; b++) {
            along_block *const B = &p->block[b];
            lane_list *const L = lane + (size_t)b * ALONG_LANES;
            for (int l = 0; l < ALONG_LANES; l++) B->last[k][l] = L[l].count ? L[l].segment[L[l].count - 1] : -1;
            B->first[k] = B->rows;
            // room for the rows: no more than all lanes one after another
            size_t more = 0;
            for (int l = 0; l < ALONG_LANES; l++) more += (size_t)L[l].left;
            along_row *const grown = realloc(B->row, ((size_t)B->rows + more + 1) * sizeof *grown);
            if (!(ok = grown != NULL)) break;
            B->row = grown;
            add_rows(p, b, L);
            along_row *const cut = realloc(B->row, ((size_t)B->rows + 1) * sizeof *cut);
            if (cut) B->row = cut;
            B->first[k + 1] = B->rows;
        }
        end = first;
    }
    for (int b = 0; b < p->blocks; b++) p->bytes += (size_t)p->block[b].rows * sizeof(along_row);
    free(order), free(lane_of), free(list), free(lane), free(heap);
    return ok;
}

// ---- constants: those of equal links stand in memory once

/// Whether the bodies of two rows have the same constants in every lane. What hangs on them may differ, and with it limits that
/// nobody asked for.
static bool same_constants(const ctn_model *m, const along_row *r, const along_row *s)
{
    const bool all = r->flags & (BODY_SPRING | BODY_FRICTION);
    const size_t end = all ? offsetof(ctn_body, extent) : offsetof(ctn_body, stiffness);
    if (r->kind != s->kind || r->flags != s->flags) return false;
    for (int l = 0; l < ALONG_LANES && r->kind != JOINT_NONE; l++) {
        if (r->body[l] == s->body[l]) continue;
        if (r->body[l] < 0 || s->body[l] < 0) return false;
        const ctn_body *const b = &m->bodies[r->body[l]], *const c = &m->bodies[s->body[l]];
        if (b->flags != c->flags || memcmp(&b->ca, &c->ca, end - offsetof(ctn_body, ca)) != 0) return false;
    }
    return true;
}

/// Chains repeat themselves after a few bodies: so far back is looked, if equal bodies are alike in all worlds.
static void share_constants(along_plan *p, bool alike)
{
    enum { BACK = 16 };
    for (int b = 0; b < p->blocks; b++) {
        along_block *const B = &p->block[b];
        const along_row *recent[BACK];
        for (int i = 0; i < B->rows; i++) {
            along_row *const r = &B->row[i];
            const int most = !alike ? 0 : B->constants < BACK ? B->constants : BACK;
            int k = 0;
            while (k < most && !same_constants(p->model, r, recent[k])) k++;
            const bool found = k < most;
            r->constants = found ? recent[k]->constants : B->constants;
            if (!found) k = most < BACK ? most : BACK - 1, B->constants++;
            memmove(recent + 1, recent, (size_t)k * sizeof *recent);  // what was used last is in front
            recent[0] = r;
        }
    }
}

/// What hangs on each body besides the next one of its path, and the segments of each tree.
static bool list_forks(along_plan *p)
{
    const size_t n = (size_t)p->model->nbody;
    p->hung = room(p, n + 2, sizeof *p->hung), p->hanging = room(p, (size_t)p->segments, sizeof *p->hanging);
    if (!p->hung || !p->hanging) return false;
    for (int turn = 0; turn < 2; turn++) {
        for (int s = 0; s < p->segments; s++) {
            const along_segment *const S = &p->segment[s];
            if (S->above < 0 || S->before >= 0) continue;
            if (turn) p->hanging[p->hung[S->above]++] = s;
            else p->hung[S->above + 1]++;
        }
        if (turn) break;
        for (size_t i = 0; i < n; i++) p->hung[i + 1] += p->hung[i];
    }
    int *const tree = calloc(n + 1, sizeof *tree);
    for (size_t i = 0; i < n; i++) p->trees += p->model->bodies[i].parent < 0;
    p->tree = room(p, (size_t)p->trees, sizeof *p->tree);
    if (!tree || !p->tree) {
        free(tree);
        return false;
    }
    for (int i = 0, k = 0; i < p->model->nbody; i++) {
        const int up = p->model->bodies[i].parent;
        tree[i] = up < 0 ? k : tree[up];
        if (up < 0) p->tree[k++] = (along_tree){i, -1};
    }
    for (int s = p->segments - 1; s >= 0; s--) {
        along_tree *const t = &p->tree[tree[p->segment[s].head]];
        p->segment[s].tree = (int)(t - p->tree), p->segment[s].beside = t->first, t->first = s;
    }
    free(tree);
    for (size_t i = n; i > 0; i--) p->hung[i] = p->hung[i - 1];
    p->hung[0] = 0;
    return true;
}

along_plan *along_plan_create(const ctn_model *m, int lanes, bool alike)
{
    along_plan *const p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->model = m, p->lanes = lanes, p->blocks = lanes / ALONG_LANES;
    p->place = room(p, (size_t)m->nbody, sizeof *p->place);
    p->block = room(p, (size_t)p->blocks, sizeof *p->block);
    bool ok = p->place && p->block && cut_paths(p);
    for (int b = 0; ok && b < p->blocks; b++) {
        p->block[b].first = room(p, (size_t)p->levels + 1, sizeof(int));
        p->block[b].last = room(p, (size_t)p->levels + 1, sizeof *p->block[b].last);
        ok = p->block[b].first && p->block[b].last;
    }
    if (ok && fill_lanes(p) && list_forks(p)) {
        share_constants(p, alike);
        return p;
    }
    along_plan_free(p);
    return NULL;
}

void along_plan_free(along_plan *p)
{
    if (!p) return;
    for (int b = 0; p->block && b < p->blocks; b++) free(p->block[b].row), free(p->block[b].first), free(p->block[b].last);
    free(p->block), free(p->segment), free(p->place), free(p->hung), free(p->hanging), free(p->cuts), free(p->cut_first),
        free(p->longest), free(p->tree);
    free(p);
}
