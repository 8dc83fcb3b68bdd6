/// The tables of pieces.h, which hang on the tree alone.
#include "sim/forms/pieces.h"

#include <stdlib.h>

enum { LINKS_A_JOB = 256 };

/// Trees over the paths of a level that are cut, all paths a height at a time: neighbours in twos, the odd one out goes up as it
/// is.
static void grow(pieces *p, const int *at, int first_cut, int end_cut, int *row, int *batches)
{
    for (bool grown = true; grown;) {
        grown = false;
        const int before = p->nodes;
        for (int c = first_cut; c < end_cut; c++) {
            const int path = p->cut[c], begin = p->begin[path];
            int *const ids = row + p->piece[begin].slot;  // of this path, at this height
            int kept = 0, put = 0;
            while (kept < at[path] && ids[kept] >= 0) kept++;
            if (kept < 2) continue;
            for (int k = 0; k < kept; k += 2) {
                if (k + 1 < kept) {
                    p->node[p->nodes] = (piece_node){ids[k], ids[k + 1], path, kept == 2};
                    ids[put++] = p->slots + p->nodes++;
                } else ids[put++] = ids[k];
            }
            for (int k = put; k < kept; k++) ids[k] = -1;
            p->root[path] = ids[0];
            grown = true;
        }
        if (grown) {
            p->batch[(*batches)++] = before;
            p->batch[*batches] = p->nodes;
        }
    }
}

bool pieces_of(const ctn_tree *t, int length, pieces *p)
{
    *p = (pieces){0};
    if (length == 0) length = t->n;
    int count = 0;
    for (int path = 0; path < t->npath; path++) count += (t->path[path + 1] - t->path[path] + length - 1) / length;
    const size_t pieces_bytes = (size_t)count * sizeof(int), levels = ((size_t)t->nlevel + 1) * sizeof(int);
    p->piece = malloc((size_t)count * sizeof *p->piece);
    p->node = malloc((size_t)count * sizeof *p->node);
    p->begin = malloc((size_t)t->npath * sizeof(int)), p->root = malloc((size_t)t->npath * sizeof(int));
    p->job = malloc(pieces_bytes + sizeof(int)), p->level_job = calloc(1, levels);
    p->batch = malloc(((size_t)t->nlevel * 32 + 1) * sizeof(int)), p->level_batch = calloc(1, levels);
    p->cut = malloc((size_t)t->npath * sizeof(int)), p->level_cut = calloc(1, levels);
    int *const row = malloc(pieces_bytes), *const at = malloc((size_t)t->npath * sizeof(int));
    const bool ok = p->piece && p->node && p->begin && p->root && p->job && p->level_job && p->batch && p->level_batch &&
                    p->cut && p->level_cut && row && at;
    int jobs = 0, batches = 0, cuts = 0;
    if (ok) p->batch[0] = 0;
    for (int l = 0; ok && l < t->nlevel; l++) {
        int links = LINKS_A_JOB;
        for (int b = t->level[l]; b < t->level[l + 1]; b++) {
            const int path = t->by_level[b], first = t->path[path], end = t->path[path + 1];
            p->begin[path] = p->count, p->root[path] = -1;
            at[path] = (end - first + length - 1) / length;
            if (at[path] > 1) p->cut[cuts++] = path;
            for (int k = first; k < end; k += length) {
                if (links >= LINKS_A_JOB) p->job[jobs++] = p->count, links = 0;
                const int stop = end - k <= length ? end : k + length;
                links += stop - k;
                const int slot = at[path] > 1 ? p->slots++ : -1;
                if (slot >= 0) row[slot] = slot;
                p->piece[p->count++] = (piece){k, stop, path, slot, k == first, stop == end};
            }
        }
        p->level_job[l + 1] = jobs, p->level_cut[l + 1] = cuts;
    }
    for (int l = 0; ok && l < t->nlevel; l++) {
        p->job[p->level_job[t->nlevel]] = p->count;
        grow(p, at, p->level_cut[l], p->level_cut[l + 1], row, &batches);
        p->level_batch[l + 1] = batches;
    }
    free(row), free(at);
    if (!ok) pieces_free(p);
    return ok;
}

void pieces_free(pieces *p)
{
    free(p->piece), free(p->node), free(p->begin), free(p->root), free(p->job), free(p->level_job), free(p->batch),
        free(p->level_batch);
    free(p->cut), free(p->level_cut);
    *p = (pieces){0};
}
