/// Heavy paths cut into pieces: what recursions without inverses are scanned over. A level of paths hangs on the level before, so
/// levels are done one after the other, and all pieces of a level at once.
///
/// Where pieces of a path need the product of all beyond them, it is had from a binary tree over them: up, the products of nodes;
/// down, what is beyond each node.
#ifndef CATENA_SIM_FORMS_PIECES_H
#define CATENA_SIM_FORMS_PIECES_H

#include "sim/forms/tree.h"

/// Links in a piece. A product of pieces costs as much as some 3 links, so this is 5 % of the work.
enum { PIECE = 64 };

typedef struct piece {
    int first, end;  // links
    int path;
    int slot;        // of a piece of several: its number among these; -1: its path is whole
    bool top, last;  // of its path
} piece;

/// A node of a binary tree: two neighbours, each the slot of a piece or, from `slots` on, a node.
typedef struct {
    int left, right, path;
    bool root;
} piece_node;

typedef struct pieces {
    int count, slots, nodes;
    struct piece *piece;  // [count] by level, then by path, from its top
    piece_node *node;  // [nodes] number slots + k
    int *begin;        // [npath] the first piece of each path
    int *root;         // [npath] of its tree; -1: the path is whole
    int *job;          // [jobs + 1] pieces that are one job
    int *level_job;    // [nlevel + 1]
    int *batch;        // [batches + 1] nodes of a height
    int *level_batch;  // [nlevel + 1]
    int *cut;          // [cuts] paths of several pieces
    int *level_cut;    // [nlevel + 1]
} pieces;

/// length 0: paths stay whole. false: no memory.
bool pieces_of(const ctn_tree *t, int length, pieces *p);
void pieces_free(pieces *p);

/// Jobs of a level: its pieces, 256 links or so in each.
#define FOR_PIECES(p, cut, level, job)                                                                                           \
    for (const piece *p = (cut)->piece + (cut)->job[(cut)->level_job[level] + (job)],                                            \
                     *end_##p = (cut)->piece + (cut)->job[(cut)->level_job[level] + (job) + 1];                                  \
         p < end_##p; p++)
static inline int piece_jobs(const pieces *cut, int level) { return cut->level_job[level + 1] - cut->level_job[level]; }

#endif
