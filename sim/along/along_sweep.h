/// The Newton step along the links: sweeps inwards and outwards, with open ends and with closed ones. For along_solve.h.
#ifndef CATENA_ALONG_SWEEP_H
#define CATENA_ALONG_SWEEP_H

/// 1 where a pivot is negative, from its inverse; where it is nothing or no number, more than any sum makes good.
FN real is_negative(real i)
{
    return sel(le(rset(0), i), sel(le(i, rset(NOT_REACHED)), rset(0), rset(1e6)), sel(lt(i, rset(0)), rset(1), rset(1e6)));
}

/// One body of sweep_inward(); dropped: without curvature, but for what pulls.
FN void sweep_any_row(along_world *w, int block, int i, bool dropped, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    subtree *const next = &((inward_lanes *)carried)->next;
    step_sums *const sums = &w->step[block].sums;
    const tree_pivot *const s = &P->sweep.pivot[i];
    if (b->flags & BODY_FORK) gather_hands(w, B, i, HAND, w->hand, &P->sweep.hand[i]);
    if (dropped) drop_load_curvature(&B->m, &P->W, i);
    if (dropped || is_loaded(b, &P->W)) sweep_inward_seldom(b, &P->W, &P->sweep, i, dropped, next, next, P->fresh);
    else BY_FORM(b, f, sweep_inward_body(b, f, &P->W, &P->sweep, i, false, false, next, next, P->fresh))
    real negative = is_negative(b->nv == 3 ? s->three.D.i1 : s->one.i);
    if (b->nv == 3) negative = negative + is_negative(s->three.D.i2) + is_negative(s->three.D.i3);
    if (B->partial[i]) negative = sel(live_lanes(B, i), negative, rset(0));
    sums->negative = sums->negative + negative;
}

/// And the far end.
FN void sweep_far_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    position_work *const P = &w->step[block].W.po.one;
    far_end *const X = &((inward_lanes *)carried)->X;
    const placement *const at = &P->W.now[i];
    const tree_pivot *const s = &P->sweep.pivot[i];
    real *const y = w->step[block].y + 6 * b->vadr, *const d = P->fresh + b->vadr;
    if (b->nv == 3) far_rows3(b->kind == JOINT_BALL, s->three.D, &s->three.G, b->flags & BODY_OFFSET, at->r, load3(d), X, y);
    else far_row1(b, has_arm(form_of(b)), at->R.z, at->r, &s->one, d[0], X, y);
}

FN void sweep_row(along_world *w, int block, int i, real *carried) { sweep_any_row(w, block, i, false, carried); }
FN void sweep_dropped_row(along_world *w, int block, int i, real *carried) { sweep_any_row(w, block, i, true, carried); }
FN void sweep_cut_row(along_world *w, int block, int i, real *carried)
{
    sweep_any_row(w, block, i, false, carried), sweep_far_row(w, block, i, carried);
}
FN void sweep_dropped_cut_row(along_world *w, int block, int i, real *carried)
{
    sweep_any_row(w, block, i, true, carried), sweep_far_row(w, block, i, carried);
}

// ---- tails are pulled
//
// What hangs behind a tail pulls at it with the wrench w = (n, f). All joints before it know that: it is in their rows and cross
// terms. A tail with nothing behind it does not. Its joints would answer the whole pull by their own inertia alone, with pivots
// like -|f|^2 / D, and the boundary would have to take back numbers that are larger by far than what is left: rows of torques as
// large as the weight of a rope times its length, and stiffnesses in which its own is lost. So the tail gets the pull of a force
// that stays as it is, and what is behind it has so much less: p = -w, which leaves the rows what the bodies of the segment make;
// and the block of the force at the end of the arm r to the next joint, that of a point there in collocation.h,
//
//     [-r.f + sym(r f'), [-f/2]x; ., 0]        without curvature pull_block(r, f)

enum { HAND_B = 12, HAND_P = 21 };  // of the numbers of an inertia6: where B begins, by columns; and p

/// Adds `sign` times p and that block.
FN void add_pull(const along_world *w, int s, double sign, double *hand)
{
    const along_segment *const segment = w->plan->segment, *const S = &segment[s];
    int row, lane;
    if (S->cut < 0 || S->after < 0) return;
    const int block = place_of(w->plan, segment[S->after].head, &row, &lane);
    const double *const behind = w->behind + (size_t)S->cut * WRENCH;
    double r[3] = {0}, f[3];
    if (has_arm(form_of(&w->rows[block].m.bodies[row]))) leave_lane(&solve_of(w, block)->now[row].r, lane, 3, r);
    for (int k = 0; k < WRENCH; k++) hand[HAND_P + k] -= sign * behind[k];
    for (int k = 0; k < 3; k++) f[k] = sign * behind[3 + k];
    const double along = r[0] * f[0] + r[1] * f[1] + r[2] * f[2], r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const double t = w->mode.dropped && sign * along < 0 ? along / r2 : 0;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, at = i == 0 ? 3 : i == 1 ? 5 : 4;  // of an inertia6: xx yy zz xy xz yz
        hand[i] += w->mode.dropped ? t * (r[i] * r[i] - r2) : r[i] * f[i] - along;
        hand[at] += w->mode.dropped ? t * (r[i] * r[j]) : 0.5 * (r[i] * f[j] + r[j] * f[i]);
    }
    if (w->mode.dropped) return;
    const double B[9] = {0, -0.5 * f[2], 0.5 * f[1], 0.5 * f[2], 0, -0.5 * f[0], -0.5 * f[1], 0.5 * f[0], 0};
    for (int k = 0; k < 9; k++) hand[HAND_B + k] += B[k];
}

KERNEL void enter_pulled(const along_world *w, int s, double *to) { enter_open(w, s, to), add_pull(w, s, 1, to); }

/// join_segments() of these.
KERNEL void join_pulled(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    double behind[HAND];
    (void)thread;
    if (is_long(w->plan, c->level, job)) return;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before) {
        memcpy(behind, w->hand + (size_t)segment[s].after * HAND, sizeof behind);
        add_pull(w, s, -1, behind);
        boundary_join(&w->cut[segment[s].cut], behind, w->hand + (size_t)s * HAND);
    }
}

KERNEL void step_sweep(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    along_world *const w = c->w;
    real *carried;
    inward_lanes I;
    (void)thread;
    carried = (real *)&I;
    w->step[job].W.po.one.sweep.dropped = w->mode.dropped ? not_(none_of()) : none_of(),
    w->step[job].W.po.one.sweep.held = none_of();
    if (is_cut(w->plan, c->level)) {
        if (w->mode.dropped) pass_inwards(w, job, c->level, HAND + FAR, carried, enter_pulled, leave_hand, sweep_dropped_cut_row);
        else pass_inwards(w, job, c->level, HAND + FAR, carried, enter_pulled, leave_hand, sweep_cut_row);
    } else if (w->mode.dropped) pass_inwards(w, job, c->level, HAND, carried, enter_open, leave_hand, sweep_dropped_row);
    else pass_inwards(w, job, c->level, HAND, carried, enter_open, leave_hand, sweep_row);
}

// ---- cut paths once more, with what is behind their tails: pivots and factors then are those of the tree as a whole

KERNEL void enter_closed(const along_world *w, int s, double *to)
{
    const int after = w->plan->segment[s].after;
    if (after < 0) memset(to, 0, HAND * sizeof *to);
    else memcpy(to, w->hand + (size_t)after * HAND, HAND * sizeof *to);
}

KERNEL void leave_closed(along_world *w, int s, const double *from) { (void)w, (void)s, (void)from; }

KERNEL void step_closed(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    inward_lanes I;
    (void)thread;
    if (c->w->mode.dropped) pass_inwards(c->w, job, c->level, HAND, (real *)&I, enter_closed, leave_closed, sweep_dropped_row);
    else pass_inwards(c->w, job, c->level, HAND, (real *)&I, enter_closed, leave_closed, sweep_row);
}

KERNEL void step_lead(void *context, int thread, int job)
{
    (void)thread;
    const along_call *const c = (const along_call *)context;
    keep_lead(&c->w->rows[job].m, &c->w->step[job].W.po.one, not_(none_of()));
}

/// The motion that a step gives to what a segment's head hangs on.
KERNEL void step_above(const along_world *w, int s, double *d)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memset(d, 0, 6 * sizeof *d);
    if (above < 0) return;
    const step_block *const up = &w->step[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->W.po.one.sweep.motion[row], lane, 6, d);
}

KERNEL void enter_step(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    memset(to, 0, 12 * sizeof *to);
    if (cut >= 0) memcpy(to, w->cut[cut].d, 12 * sizeof *to);  // d and f
    else step_above(w, s, to);
}

/// Slope, largest turn and change of place besides.
FN void step_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    step_block *const A = &w->step[block];
    position_work *const P = &A->W.po.one;
    const placement *const at = &P->W.now[i];
    const tree_pivot *const s = &P->sweep.pivot[i];
    twist *const d = &((outward_lanes *)carried)->d;
    BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, P->sweep.motion, i, d, P->fresh))
    for (int k = b->vadr; k < b->vadr + b->nv; k++) {
        P->d[k] = P->fresh[k];
        if (B->partial[i])
            P->d[k] = sel(live_lanes(B, i), P->d[k], rset(0)), P->W.r[k] = sel(live_lanes(B, i), P->W.r[k], rset(0));
        A->sums.slope = fmadd(P->W.r[k], P->d[k], A->sums.slope);
        if (!only_slides(b)) A->sums.most = larger(A->sums.most, magnitude(P->d[k]));
    }
    const real change = place_change(&B->m, b, d);
    A->sums.size = larger(A->sums.size, B->partial[i] ? sel(live_lanes(B, i), change, rset(0)) : change);
}

/// What the wrench at the tail takes from a joint of a cut path.
FN void far_take_row(along_world *w, int block, int i, const real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const step_block *const A = &w->step[block];
    const position_work *const P = &A->W.po.one;
    const real *const f = ((const outward_lanes *)carried)->f, *const y = A->y + 6 * b->vadr;
    real *const d = P->fresh + b->vadr;
    if (b->nv == 3) store3(d, far_take3(P->sweep.pivot[i].three.D, y, f, load3(d)));
    else d[0] = far_take1(y, f, d[0]);
}

FN void step_cut_row(along_world *w, int block, int i, real *carried)
{
    far_take_row(w, block, i, carried), step_row(w, block, i, carried);
}

KERNEL void step_outwards(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    outward_lanes O;
    (void)thread;
    if (is_cut(c->w->plan, c->level) && !c->w->mode.closed)
        pass_outwards(c->w, job, c->level, 12, (real *)&O, enter_step, NULL, NULL, step_cut_row);
    else pass_outwards(c->w, job, c->level, 6, (real *)&O, enter_step, NULL, NULL, step_row);
}

KERNEL void step_boundaries(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    (void)thread;
    if (!is_long(c->w->plan, c->level, job)) pass_boundaries(c, job, step_above);
}

/// Inwards: factors and right-hand sides of all segments. Returns how many negative eigenvalues the Hessian has.
KERNEL double along_sweep(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    along_forget(w, crew, FORGET_NEGATIVE);
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        ALONG_RUN(crew, w->count, step_sweep, &c);
        along_join_cuts(w, crew, &c, true);
    }
    along_tell(w, crew, TOLD_NEGATIVE, TOLD_CUTS);
    return w->told[TOLD_CUTS] + w->told[TOLD_NEGATIVE];
}

/// The step d from the iterate, its slope and the largest turn in it into sums; hard: it is to be followed. Returns whether the
/// energy falls along it. Where curvature has been dropped for that, it is hard, and so are those after it.
KERNEL bool along_direction(along_world *w, along_crew *crew, bool *hard, position_counts *count)
{
    along_call c = {.w = w->self};
    along_mode mode = w->mode;
    mode.dropped = false;
    along_choose(w, crew, mode);
    if (along_sweep(w, crew) != 0) {
        mode.dropped = *hard = true, count->curvature = count->curvature + rset(1);
        along_choose(w, crew, mode);
        if (along_sweep(w, crew) != 0) return false;
    }
    mode.closed = *hard;
    along_choose(w, crew, mode);
    if (*hard) {
        for (c.level = 0; c.level < w->plan->levels; c.level++)
            if (is_cut(w->plan, c.level)) ALONG_RUN(crew, w->count, step_closed, &c);
        ALONG_RUN(crew, w->count, step_lead, &c);
    }
    along_forget(w, crew, FORGET_STEP);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        along_pass_cuts(w, crew, &c, true);
        ALONG_RUN(crew, w->count, step_outwards, &c);
    }
    along_tell(w, crew, TOLD_MOST, TOLD_SLOPE);
    return true;
}

#endif
