/// How one world is shared out among lanes: which bodies of the tree a lane works through, and in which order. (docs/scans.md)
///
/// The tree falls into *paths*: runs of bodies, each the parent of the next, that follow the heaviest child. A path has a
/// *level*: 0 where nothing hangs on it but itself, else one more than the highest level that hangs on it. Inwards, levels are
/// worked through from 0 on, outwards back; paths of one level do not depend on each other. Long paths are cut into *segments*.
/// All segments of a level are packed into lanes, eight of which are a *block*; each lane has the segments that it got one after
/// another.
///
/// A block has rows. In a row all lanes do the same: a body with the same kind of joint, or a *port*, which stands before each
/// segment. A lane that has nothing of the kind idles in that row. So a row is a body of lane_model.h, whose parent is the row
/// before, and kernels of engines work on it as they stand.
///
/// The plan is a function of the model and of the number of lanes alone: the association class. Threads, and how many lanes a CPU
/// has in a register, do not change a bit.
#ifndef CATENA_ALONG_PLAN_H
#define CATENA_ALONG_PLAN_H

#include "dynamics/model.h"

#include <stdbool.h>
#include <stddef.h>

enum { ALONG_LANES = 8 };  // of a block

typedef struct {
    int block, row, lane;
} along_place;

typedef struct {
    int head, tail;  // bodies
    int level;
    int before, after;  // segments of its path: on whose tail the head hangs, and which hangs on its tail; -1: none
    int above;          // body that the head hangs on, of another path or of `before`; -1: the world
    int follows;        // the segment that its lane has before it in this level; -1: none
    int tree;           // which it belongs to
    int beside;         // the next segment of the same tree; -1: the last one
    int cut;            // its number among the segments of paths that are cut; -1: the path is whole
} along_segment;

typedef struct {
    int root, first;  // body, segment
} along_tree;

typedef struct {
    int body[ALONG_LANES];   // -1: the lane idles; of ports: segments
    int q[ALONG_LANES], v[ALONG_LANES];  // where its coordinates and velocities stand among those of the model
    int kind;                // joint_kind, JOINT_NONE: a port
    unsigned flags;          // of all its bodies
    int nv, nq, vadr, qadr;  // in the block
    int constants;           // which of the block's it has
} along_row;

typedef struct {
    int rows, nv, nq;
    int constants;             // how many rows have some that no row shortly before them has, lane by lane
    along_row *row;            // [rows]
    int *first;                // [levels + 1] rows where levels begin: the highest one first
    int (*last)[ALONG_LANES];  // [levels] the last segment of each lane; -1: it has none
} along_block;

typedef struct {
    const ctn_model *model;
    int lanes, blocks, levels, segments;
    int cut_segments;        // segments of paths that are cut
    along_block *block;      // [blocks]
    along_segment *segment;  // [segments]
    along_place *place;      // [nbody]
    int trees;
    along_tree *tree;        // [trees]
    int *hung;               // [nbody + 1] from where in `hanging` ...
    int *hanging;            // ... the segments begin that hang on a body, besides the next body of its path
    int *cuts;               // [cut paths] their first segments, by level
    int *cut_first;          // [levels + 1] where in `cuts` a level begins
    int *longest;            // [levels] segments of its longest cut path
    size_t bytes;
} along_plan;

/// How many lanes a model is shared out among, by default: by the bodies alone. 8, 16, 32 or 64
int along_lanes(const ctn_model *m);

/// Whether a world of a model among so many goes faster along its links than beside the others: by sizes alone.
bool along_pays(const ctn_model *m, int worlds);

/// What along_pays goes by, in words, after "links, 64 lanes: " or "worlds: ".
enum { ALONG_WORDS = 160 };
void along_reason(const ctn_model *m, int worlds, char text[ALONG_WORDS]);

/// A plan for that many lanes, a multiple of 8; alike: links that are equal are so in all worlds, and share their constants. NULL:
/// no memory. The model must outlive it.
along_plan *along_plan_create(const ctn_model *m, int lanes, bool alike);
void along_plan_free(along_plan *plan);  // NULL is allowed

#endif
