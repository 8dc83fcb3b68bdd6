/// Cuts of long paths. One after another they would be as much work as the segments; so two neighbours are made one, by their star
/// product, then two of these, and so on, in a tree that the number of segments alone decides. Then, from the top of the tree down,
/// each knows what is behind its tail, and what motion its head is given. (docs/scans.md)
///
/// A node of the tree is known by the cut in its middle. On the height h nodes begin at multiples of 2^h segments; where a path
/// ends earlier the last ones are shorter, or are what they have on the height below.
#ifndef CATENA_ALONG_STAR_H
#define CATENA_ALONG_STAR_H

typedef struct {
    along_world *w;
    int level, height;
    bool step;  // of a Newton step, where tails are pulled (along_sweep.h); else of forward dynamics
} star_call;

/// Segments `from` to `end` of a path, counted from its first one; which is the path's segment 0, and how many it has.
typedef struct {
    int first, count, from, middle, end;
} star_node;

/// The node of a job; false: there is none. Jobs are as many for each path as the longest one has nodes on the height.
FN bool find_node(const star_call *c, int job, star_node *n)
{
    const along_plan *const plan = c->w->plan;
    const int nodes = ((plan->longest[c->level] - 1) >> c->height) + 1, path = job / nodes;
    n->first = plan->cuts[plan->cut_first[c->level] + path], n->count = segments_of(plan, c->level, path);
    n->from = (job % nodes) << c->height, n->middle = n->from + (1 << (c->height - 1)), n->end = n->from + (1 << c->height);
    if (n->end > n->count) n->end = n->count;
    return n->count > MOST_CHAINED && n->middle < n->count;
}

FN boundary_star *star_at(const along_world *w, const star_node *n, int segment)
{
    return &w->stars[w->plan->segment[n->first + segment].cut];
}

/// A part of a node: its boundary, and P and p.
FN const boundary *part_of_node(const along_world *w, const star_node *n, int from, int end, const double **hand)
{
    if (end - from == 1) {
        *hand = w->hand + (size_t)(n->first + from) * HAND;
        return &w->cut[w->plan->segment[n->first + from].cut];
    }
    int half = 1;
    while (2 * half < end - from) half *= 2;
    const boundary_star *const s = star_at(w, n, from + half - 1);
    *hand = s->hand;
    return &s->both;
}

/// What stands behind the tail of a segment, given P and p there.
FN void behind_tail(const star_call *c, const star_node *n, int segment, const double *hand, double *behind)
{
    memcpy(behind, hand, HAND * sizeof *behind);
    if (c->step) add_pull(c->w, n->first + segment, -1, behind);
}

/// From the leaves up: the two parts of a node as one.
KERNEL void star_up(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    along_world *const w = c->w;
    star_node n;
    double behind[HAND];
    const double *own, *next;
    (void)thread;
    if (!find_node(c, job, &n)) return;
    const boundary *const a = part_of_node(w, &n, n.from, n.middle, &own), *const b = part_of_node(w, &n, n.middle, n.end, &next);
    behind_tail(c, &n, n.middle - 1, next, behind);
    w->cut[w->plan->segment[n.first + n.middle - 1].cut].negative =
        boundary_multiply(a, own, b, behind, star_at(w, &n, n.middle - 1));
}

/// And down: what is behind the first part of a node, and how its tail moves with its head then.
KERNEL void star_down(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    along_world *const w = c->w;
    star_node n;
    double behind[HAND];
    const double *own, *next;
    (void)thread;
    if (!find_node(c, job, &n)) return;
    boundary_star *const s = star_at(w, &n, n.middle - 1);
    const boundary *const a = part_of_node(w, &n, n.from, n.middle, &own), *const b = part_of_node(w, &n, n.middle, n.end, &next);
    memcpy(s->behind, next, sizeof s->behind);
    if (n.end < n.count) {
        behind_tail(c, &n, n.end - 1, star_at(w, &n, n.end - 1)->behind, behind);
        boundary_hand(b, behind, s->behind);
    }
    behind_tail(c, &n, n.middle - 1, s->behind, behind);
    boundary_lead(a, behind, s->both.X);
}

/// A segment of a long path: the job's number over all paths of a level.
FN bool find_leaf(const star_call *c, int job, star_node *n)
{
    const along_plan *const plan = c->w->plan;
    const int longest = plan->longest[c->level], path = job / longest;
    n->first = plan->cuts[plan->cut_first[c->level] + path], n->count = segments_of(plan, c->level, path),
    n->from = job % longest;
    return n->count > MOST_CHAINED && n->from < n->count;
}

/// Every segment, with all that is behind it.
KERNEL void star_leaf(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    along_world *const w = c->w;
    star_node n;
    double behind[HAND];
    (void)thread;
    if (!find_leaf(c, job, &n) || n.from == n.count - 1) return;
    behind_tail(c, &n, n.from, star_at(w, &n, n.from)->behind, behind);
    boundary_couple(&w->cut[w->plan->segment[n.first + n.from].cut], behind, w->hand + (size_t)(n.first + n.from) * HAND);
}

// ---- motions

/// The motion that a path's head is given.
KERNEL void star_head(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    along_world *const w = c->w;
    const int s = w->plan->cuts[w->plan->cut_first[c->level] + job];
    double d[6];
    (void)thread;
    if (!is_long(w->plan, c->level, job)) return;
    if (c->step) step_above(w, s, d);
    else acceleration_above(w, s, d);
    memcpy(w->cut[w->plan->segment[s].cut].d, d, sizeof d);
}

/// From the top down: that of the head of a node's second part.
KERNEL void star_motion(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    along_world *const w = c->w;
    star_node n;
    (void)thread;
    if (!find_node(c, job, &n)) return;
    const boundary_star *const s = star_at(w, &n, n.middle - 1);
    const double *const d = w->cut[w->plan->segment[n.first + n.from].cut].d;
    double *const to = w->cut[w->plan->segment[n.first + n.middle].cut].d;
    for (int i = 0; i < 6; i++) {
        to[i] = s->both.X[i][6];
        for (int j = 0; j < 6; j++) to[i] += s->both.X[i][j] * d[j];
    }
}

/// The wrench at the tail of every segment.
KERNEL void star_wrench(void *context, int thread, int job)
{
    const star_call *const c = (const star_call *)context;
    star_node n;
    double tail[6];
    (void)thread;
    if (!find_leaf(c, job, &n)) return;
    boundary *const e = &c->w->cut[c->w->plan->segment[n.first + n.from].cut];
    if (n.from < n.count - 1) boundary_pass(e, tail);
    else memset(e->f, 0, sizeof e->f);
}

// ---- what calls them

/// How many nodes a level has on a height, by path.
FN int star_jobs(const along_plan *plan, int level, int height)
{
    return cut_paths_of(plan, level) * (((plan->longest[level] - 1) >> height) + 1);
}

/// Joins the segments of the cut paths of a level.
KERNEL void along_join_cuts(along_world *w, along_crew *crew, along_call *c, bool step)
{
    const along_plan *const plan = w->plan;
    const int paths = cut_paths_of(plan, c->level), longest = plan->longest[c->level];
    star_call s = {w->self, c->level, 0, step};
    if (step) ALONG_EACH(crew, paths, join_pulled, c);
    else ALONG_EACH(crew, paths, join_segments, c);
    if (longest <= MOST_CHAINED) return;
    for (s.height = 1; 1 << (s.height - 1) < longest; s.height++)
        ALONG_EACH(crew, star_jobs(plan, c->level, s.height), star_up, &s);
    while (--s.height > 0) ALONG_EACH(crew, star_jobs(plan, c->level, s.height), star_down, &s);
    ALONG_RUN(crew, paths * longest, star_leaf, &s);
}

/// Takes motions and wrenches over the cuts of a level.
KERNEL void along_pass_cuts(along_world *w, along_crew *crew, along_call *c, bool step)
{
    const along_plan *const plan = w->plan;
    const int paths = cut_paths_of(plan, c->level), longest = plan->longest[c->level];
    star_call s = {w->self, c->level, 0, step};
    if (step) ALONG_EACH(crew, paths, step_boundaries, c);
    else ALONG_EACH(crew, paths, aba_boundaries, c);
    if (longest <= MOST_CHAINED) return;
    ALONG_EACH(crew, paths, star_head, &s);
    while (1 << s.height < longest) s.height++;
    for (; s.height > 0; s.height--) ALONG_EACH(crew, star_jobs(plan, c->level, s.height), star_motion, &s);
    ALONG_EACH(crew, paths * longest, star_wrench, &s);
}

#endif
