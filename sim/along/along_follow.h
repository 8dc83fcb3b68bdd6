/// Steps along the links that follow themselves (integrators/follow.h): within segments; where a path is cut by the linear motion
/// of the cut, which is mended until heads meet tails. For along_solve.h.
#ifndef CATENA_ALONG_FOLLOW_H
#define CATENA_ALONG_FOLLOW_H

/// Turns the axes R (columns) by the vector u, rad, world axes.
KERNEL void turn_axes(const double *u, double *R)
{
    const double x = u[0], y = u[1], z = u[2], t2 = x * x + y * y + z * z, t = sqrt(t2);
    real sine, cosine;
    sincos_quarters(rset(t), rset(0), &sine, &cosine);
    const double s = t > 1e-4 ? *(double *)&sine / t : 1 - t2 / 6, c = t > 1e-4 ? (1 - *(double *)&cosine) / t2 : 0.5 - t2 / 24;
    for (int j = 0; j < 3; j++, R += 3) {  // exp(u) r = r + s u x r + c u x (u x r)
        const double v[3] = {y * R[2] - z * R[1], z * R[0] - x * R[2], x * R[1] - y * R[0]};
        R[0] += s * v[0] + c * (y * v[2] - z * v[1]), R[1] += s * v[1] + c * (z * v[0] - x * v[2]);
        R[2] += s * v[2] + c * (x * v[1] - y * v[0]);
    }
}

/// Where the body above a segment was and is, as bodies stand in whereabouts.
typedef struct {
    whereabouts base, now;
} follow_lanes;

KERNEL void enter_follow(const along_world *w, int s, double *to)
{
    const along_segment *const S = &w->plan->segment[s];
    int row, lane;
    double *const now = to + WHERE;
    for (int k = 0; k < 2; k++) memset(to + k * WHERE, 0, WHERE * sizeof *to), memcpy(to + k * WHERE, WORLD_POSE, 9 * sizeof *to);
    if (S->before >= 0) {  // the tail before it is being followed, too
        const double *const start = w->start + (size_t)S->cut * POSE;
        memcpy(to, w->base + (size_t)S->cut * WHERE, WHERE * sizeof *to);
        memcpy(now, start, 9 * sizeof *now), memcpy(now + WHERE - 3, start + 9, 3 * sizeof *now);
    } else if (S->above >= 0) {
        const position_work *const P = &w->step[place_of(w->plan, S->above, &row, &lane)].W.po.one;
        leave_lane(&P->at[row], lane, WHERE, to);
        leave_lane(&P->W.now[row].R, lane, 9, now), leave_lane(&P->W.body[row].dp, lane, 3, now + WHERE - 3);
    }
}

KERNEL void leave_follow(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) return;
    memcpy(w->tail + (size_t)cut * POSE, from + WHERE, 9 * sizeof *from);
    memcpy(w->tail + (size_t)cut * POSE + 9, from + 2 * WHERE - 3, 3 * sizeof *from);
}

/// Where a head comes to by the share of the linear motion d [6] from `at` [WHERE].
FN void guess_head(const double *at, double share, const double *d, double *head)
{
    double u[6];
    for (int k = 0; k < 6; k++) u[k] = share * d[k];
    memcpy(head, at, 9 * sizeof *at);
    turn_axes(u, head);
    for (int k = 0; k < 3; k++) head[9 + k] = at[WHERE - 3 + k] + u[3 + k];
}

/// Moves a tail by u [6], and the head after it to where the tail is then: the head was elsewhere by off [6]; *most: the most
/// of these, rad and extents of the tree.
FN void mend_head(const double *u, double extent, double *tail, double *head, double *off, double *most)
{
    double y[6] = {0};
    turn_axes(u, tail);
    for (int k = 0; k < 3; k++) tail[9 + k] += u[3 + k];
    for (int j = 0; j < 3; j++) {  // sin of the turn from where the head was taken to be: half the sum of h x t
        const double *const h = head + 3 * j, *const t = tail + 3 * j;
        y[0] += 0.5 * (h[1] * t[2] - h[2] * t[1]), y[1] += 0.5 * (h[2] * t[0] - h[0] * t[2]);
        y[2] += 0.5 * (h[0] * t[1] - h[1] * t[0]);
    }
    for (int k = 0; k < 3; k++) y[3 + k] = tail[9 + k] - head[9 + k];
    for (int k = 0; k < 6; k++) {
        const double far = fabs(k < 3 || extent <= 0 ? y[k] : y[k] / extent);
        if (!(far <= *most)) *most = far;
    }
    memcpy(off, y, sizeof y), memcpy(head, tail, POSE * sizeof *head);
}

/// Where what the heads of a cut path hang on was, and where it comes to by the linear motions of the cuts.
KERNEL void guess_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    (void)thread;
    for (int s = w->plan->segment[first_of_path(c, job)].after; s >= 0; s = w->plan->segment[s].after) {
        int row, lane;
        const along_segment *const S = &w->plan->segment[s];
        const position_work *const P = &w->step[place_of(w->plan, S->above, &row, &lane)].W.po.one;
        double *const at = w->base + (size_t)S->cut * WHERE;
        leave_lane(&P->at[row], lane, WHERE, at);
        guess_head(at, w->mode.share, w->cut[S->cut].d, w->start + (size_t)S->cut * POSE);
    }
}

/// Where they come to once segments have been followed from there: each head is where the tail before it is, which has moved with
/// its own head by X, as far as that was elsewhere. Notes by how much the farthest head was elsewhere, in rad and in extents of
/// the tree. (Parareal in space: after n times the first n heads of a path are where they belong.)
KERNEL void mend_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    int s = first_of_path(c, job);
    const double extent = w->model->bodies[w->plan->segment[s].head].extent;
    double off[6] = {0}, most = 0;
    (void)thread;
    for (; w->plan->segment[s].after >= 0; s = w->plan->segment[s].after) {
        const boundary *const e = &w->cut[w->plan->segment[s].cut];
        double *const tail = w->tail + (size_t)w->plan->segment[s].cut * POSE;
        double *const head = w->start + (size_t)w->plan->segment[w->plan->segment[s].after].cut * POSE, u[6] = {0};
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) u[i] += e->X[i][j] * off[j];
        mend_head(u, extent, tail, head, off, &most);
    }
    w->off[job] = most;
}

/// What rows after a port take for their parent.
FN void follow_port(along_world *w, int block, int i, real *carried)
{
    const follow_lanes *const c = (const follow_lanes *)carried;
    position_work *const P = &w->step[block].W.po.one;
    P->at[i] = c->base, P->W.now[i].R = c->now.T.R, P->W.body[i].dp = c->now.dp;
}

FN void follow_any_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    position_work *const P = &w->step[block].W.po.one;
    follow_lanes *const c = (follow_lanes *)carried;
    const mask live = live_lanes(B, i);
    follow_row(&B->m.bodies[i], i, P, rset(w->mode.share), live);
    if (B->partial[i]) {  // idle lanes are where they were
        keep_whereabouts(&P->at[i], &c->base.T, c->base.dp, not_(live));
        P->W.now[i].R.x = sel3(live, P->W.now[i].R.x, c->now.T.R.x), P->W.now[i].R.y = sel3(live, P->W.now[i].R.y, c->now.T.R.y);
        P->W.now[i].R.z = sel3(live, P->W.now[i].R.z, c->now.T.R.z), P->W.body[i].dp = sel3(live, P->W.body[i].dp, c->now.dp);
    }
    c->base = P->at[i], c->now.T.R = P->W.now[i].R, c->now.dp = P->W.body[i].dp;
}

KERNEL void step_follow(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    follow_lanes F;
    (void)thread;
    pass_outwards(c->w, job, c->level, 2 * WHERE, (real *)&F, enter_follow, leave_follow, follow_port, follow_any_row);
}

#endif
