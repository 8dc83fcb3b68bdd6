/// Steps of several coupled stages along the links that follow themselves: along_follow.h, with whereabouts, guesses and
/// mendings of stage after stage.
#ifndef CATENA_ALONG_STAGE_FOLLOW_H
#define CATENA_ALONG_STAGE_FOLLOW_H

/// Where what the head of a segment of a cut path hangs on was, stage after stage.
FN double *stage_base(const along_world *w, int segment)
{
    return w->base + (size_t)(w->plan->segment[segment].cut * w->stages) * WHERE;
}

/// What lanes carry: where the body above was at each stage of the iterate that the step begins from, then where it is.
KERNEL void enter_stages_follow(const along_world *w, int segment, double *to)
{
    const along_segment *const S = &w->plan->segment[segment];
    const int s = w->stages;
    int row, lane;
    memset(to, 0, (size_t)(2 * s * WHERE) * sizeof *to);
    for (int a = 0; a < 2 * s; a++) memcpy(to + a * WHERE, WORLD_POSE, 9 * sizeof *to);
    if (S->before >= 0) {  // the tail before it is being followed, too
        memcpy(to, stage_base(w, segment), (size_t)(s * WHERE) * sizeof *to);
        for (int a = 0; a < s; a++) {
            const double *const start = stage_starts(w, segment) + a * POSE;
            double *const now = to + (s + a) * WHERE;
            memcpy(now, start, 9 * sizeof *now), memcpy(now + WHERE - 3, start + 9, 3 * sizeof *now);
        }
    } else if (S->above >= 0) {
        const stage_work *const P = &w->step[place_of(w->plan, S->above, &row, &lane)].W.po.more;
        for (int a = 0; a < s; a++) {
            const stage_body *const t = &P->W.body[row * s + a];
            double *const now = to + (s + a) * WHERE;
            leave_lane(&P->at[row * s + a], lane, WHERE, to + a * WHERE);
            leave_lane(&t->T.R, lane, 9, now), leave_lane(&t->dp, lane, 3, now + WHERE - 3);
        }
    }
}

/// Poses of tails at a stage, as they come out of following.
FN double *stage_tail(const along_world *w, int segment, int a)
{
    return w->tail + (size_t)(w->plan->segment[segment].cut * w->stages + a) * POSE;
}

KERNEL void leave_stages_follow(along_world *w, int segment, const double *from)
{
    if (w->plan->segment[segment].cut < 0) return;
    for (int a = 0; a < w->stages; a++) {
        const double *const now = from + (w->stages + a) * WHERE;
        memcpy(stage_tail(w, segment, a), now, 9 * sizeof *now);
        memcpy(stage_tail(w, segment, a) + 9, now + WHERE - 3, 3 * sizeof *now);
    }
}

/// Where what the heads of a cut path hang on was, and where it comes to by the linear motions of the cuts.
KERNEL void guess_stage_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    const along_world *const w = c->w;
    (void)thread;
    for (int s = w->plan->segment[first_of_path(c, job)].after; s >= 0; s = w->plan->segment[s].after) {
        int row, lane;
        const stage_work *const P = &w->step[place_of(w->plan, w->plan->segment[s].above, &row, &lane)].W.po.more;
        for (int a = 0; a < w->stages; a++) {
            double *const at = stage_base(w, s) + a * WHERE;
            leave_lane(&P->at[row * w->stages + a], lane, WHERE, at);
            guess_head(at, w->mode.share, motion_at(w, s) + 6 * a, stage_starts(w, s) + a * POSE);
        }
    }
}

/// Where they come to once segments have been followed from there, as mend_heads().
KERNEL void mend_stage_heads(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const int n = 6 * w->stages;
    int s = first_of_path(c, job);
    const double extent = w->model->bodies[w->plan->segment[s].head].extent;
    double off[6 * MOST_STAGES_ALONG] = {0}, u[6 * MOST_STAGES_ALONG], most = 0;
    (void)thread;
    for (int after; (after = w->plan->segment[s].after) >= 0; s = after) {
        const double *const X = border_at(w, s) + n * (2 * n + 1);
        for (int i = 0; i < n; i++) {
            u[i] = 0;
            for (int j = 0; j < n; j++) u[i] += X[i * (2 * n + 1) + j] * off[j];
        }
        for (int a = 0; a < w->stages; a++)
            mend_head(u + 6 * a, extent, stage_tail(w, s, a), stage_starts(w, after) + a * POSE, off + 6 * a, &most);
    }
    w->off[job] = most;
}

/// What rows after a port take for their parent.
FN void follow_stages_port(along_world *w, int block, int i, real *carried)
{
    const whereabouts *const c = (const whereabouts *)carried;
    stage_work *const P = &w->step[block].W.po.more;
    const int s = w->stages;
    for (int a = 0; a < s; a++)
        P->at[i * s + a] = c[a], P->W.body[i * s + a].T.R = c[s + a].T.R, P->W.body[i * s + a].dp = c[s + a].dp;
}

FN void follow_stages_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    stage_work *const P = &w->step[block].W.po.more;
    whereabouts *const c = (whereabouts *)carried;
    const mask live = live_lanes(B, i);
    const int s = w->stages;
    follow_stage_body(&B->m, P, rset(w->mode.share), i, live);
    for (int a = 0; a < s; a++) {
        stage_body *const t = &P->W.body[i * s + a];
        if (B->partial[i]) {  // idle lanes are where they were
            keep_whereabouts(&P->at[i * s + a], &c[a].T, c[a].dp, not_(live));
            t->T.R.x = sel3(live, t->T.R.x, c[s + a].T.R.x), t->T.R.y = sel3(live, t->T.R.y, c[s + a].T.R.y);
            t->T.R.z = sel3(live, t->T.R.z, c[s + a].T.R.z), t->dp = sel3(live, t->dp, c[s + a].dp);
        }
        c[a] = P->at[i * s + a], c[s + a].T.R = t->T.R, c[s + a].dp = t->dp;
    }
}

KERNEL void stages_follow(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    whereabouts F[2 * MOST_STAGES_ALONG];
    (void)thread;
    pass_outwards(c->w, job, c->level, 2 * c->w->stages * WHERE, (real *)F, enter_stages_follow, leave_stages_follow,
                  follow_stages_port, follow_stages_row);
}

/// follow_stages(): the share of the step from its base.
KERNEL void along_follow_stages(along_world *w, along_crew *crew, double share)
{
    along_call c = {.w = w->self};
    along_mode mode = w->mode;
    mode.share = share;
    along_choose(w, crew, mode);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        const int paths = cut_paths_of(w->plan, c.level);
        int more = w->plan->lanes;
        ALONG_EACH(crew, paths, guess_stage_heads, &c);
        do {
            ALONG_RUN(crew, w->count, stages_follow, &c);
            if (!paths) break;
            ALONG_EACH(crew, paths, mend_stage_heads, &c);
        } while (heads_off(w, crew, paths) > HEADS_MEET && --more);
    }
}

#endif
