/// The Newton step of the variational method along the links (integrators/variational_sweep.h).
///
/// Motions move bodies at the end of the step and wrenches act at its start, so the matrix is not symmetric, and a segment with
/// an unknown wrench f at its tail hands on more than in dynamics/scan/far_end.h:
///
///     wrench at the head    P d + p + F f          motion of the tail    E d + G f + g
///
/// With the subspaces SL at the start and SR at the end, x = D^-1 (u - SL'P d - SL'F f) of a joint takes these to
///
///     yL = F'SL,  yR = E SR,     F <- F - P SR D^-1 yL',   E <- E - yR D^-1 SL'P,   G <- G - yR D^-1 yL',   g <- g + yR D^-1 u
///
/// F is shifted to the parent's origin at the start, E to the one at the end. Once the boundaries are joined (boundary.h), every
/// tail gets what all that follows hands to it, and the serial sweep goes over the segments again. Its pivots and factors then
/// are those of the tree as a whole, so that it says what it says serially: where they are positive, and how far dampers brake.
#ifndef CATENA_ALONG_CHORD_SWEEP_H
#define CATENA_ALONG_CHORD_SWEEP_H

/// What lanes carry inwards; F by its columns, E by its rows.
typedef struct {
    chord_hand next;
    wrench F[6], E[6];
    real G[36], g[6];
    chord_column column;  // of the body in hand
} crossing_lanes;

/// The far end over a joint of one degree of freedom. u: as the sweep has it.
FN void crossing_row1(const lane_body *b, const chord *W, int i, const pivot1 *s, real u, crossing_lanes *X)
{
    const bool arm = has_arm(form_of(b));
    const chord_start *const at = &W->start[i];
    const chord_body *const to = &W->body[i];
    const pivot1 column = {X->column.one.a, X->column.one.l, s->i};
    real left[6], right[6], e[6];
    for (int half = 0; half < 6; half += 3) {
        far_columns1(b, b->kind, at->R.z, arm, at->r, &column, half, X->F, left);
        far_columns1(b, b->kind, to->R.z, arm, to->r, s, half, X->E, right);
    }
    for (int k = 0; k < 6; k++) e[k] = right[k] * s->i;
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < 6; j++) X->G[6 * k + j] = fnmadd(e[k], left[j], X->G[6 * k + j]);
    far_side1(e, u, X->g);
}

/// Over a ball (a translation has no parent that moves). v = D^-1 u
FN void crossing_row3(const lane_body *b, const chord *W, int i, const gain3 *gain, vec3 v, crossing_lanes *X)
{
    const bool ball = b->kind == JOINT_BALL, arm = b->flags & BODY_OFFSET;
    const chord_column *const c = &X->column;
    vec3 left[6];  // D^-1 yL
    for (int k = 0; k < 6; k++) {
        left[k] = mul(c->three.inverse, ball ? X->F[k].n : X->F[k].f);
        if (!ball) continue;
        X->F[k].n = sub(X->F[k].n, mul(c->three.a, left[k])), X->F[k].f = sub(X->F[k].f, mul(c->three.l, left[k]));
        if (arm) X->F[k] = wrench_shift(X->F[k], W->start[i].r);
    }
    for (int k = 0; k < 6; k++) {
        const vec3 right = ball ? X->E[k].n : X->E[k].f;
        for (int j = 0; j < 6; j++) X->G[6 * k + j] = dot_sub(X->G[6 * k + j], right, left[j]);
        X->g[k] = dot_add(X->g[k], right, v);
        if (!ball) continue;
        X->E[k].n = sub(X->E[k].n, tmul(gain->Xa, right)), X->E[k].f = sub(X->E[k].f, tmul(gain->Xl, right));
        if (arm) X->E[k] = wrench_shift(X->E[k], W->body[i].r);
    }
}

/// One body of chord_inward(); keep: as there. Where its pivot is not positive, the block is bad.
FN void chord_sweep_row(along_world *w, int block, int i, chord_column *keep, chord_hand *next)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    variational_work *const P = &w->step[block].W.va;
    step_sums *const sums = &w->step[block].sums;
    mask good;
    if (b->flags & BODY_FORK) gather_hands(w, B, i, CROSS_HAND, w->cross, &P->sweep.hand[i]);
    if (keep) good = chord_inward_body(b, form_of(b), &P->W, &P->sweep, i, keep, next, P->fresh);
    else BY_FORM(b, f, good = chord_inward_body(b, f, &P->W, &P->sweep, i, NULL, next, P->fresh))
    sums->bad = either(sums->bad, B->partial[i] ? both(live_lanes(B, i), not_(good)) : not_(good));
}

FN void chord_open_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const variational_work *const P = &w->step[block].W.va;
    crossing_lanes *const X = (crossing_lanes *)carried;
    chord_sweep_row(w, block, i, &X->column, &X->next);
    const chord_joint *const s = &P->sweep.joint[i];
    const real *const d = P->fresh + b->vadr;
    if (b->kind == JOINT_BALL || b->kind == JOINT_TRANSLATION) crossing_row3(b, &P->W, i, &s->three.G, load3(d), X);
    else crossing_row1(b, &P->W, i, &s->one, d[0], X);
}

FN void chord_closed_row(along_world *w, int block, int i, real *carried)
{
    chord_sweep_row(w, block, i, NULL, (chord_hand *)carried);
}

static void enter_open_chord(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, (CROSS_HAND + CROSSING) * sizeof *to);
    for (int k = 0; k < 6; k++) to[CROSS_HAND + 7 * k] = to[CROSS_HAND + 36 + 7 * k] = 1;
}

static void leave_open_chord(along_world *w, int s, const double *from)
{
    const int cut = w->plan->segment[s].cut;
    memcpy(w->cross + (size_t)s * CROSS_HAND, from, CROSS_HAND * sizeof *from);
    if (cut >= 0) memcpy(&w->crossings[cut], from + CROSS_HAND, sizeof *w->crossings);
}

static void enter_closed_chord(const along_world *w, int s, double *to)
{
    const int after = w->plan->segment[s].after;
    if (after < 0) memset(to, 0, CROSS_HAND * sizeof *to);
    else memcpy(to, w->cross + (size_t)after * CROSS_HAND, CROSS_HAND * sizeof *to);
}

/// Of cut paths the joined hands stand already.
static void leave_closed_chord(along_world *w, int s, const double *from)
{
    if (w->plan->segment[s].cut < 0) memcpy(w->cross + (size_t)s * CROSS_HAND, from, CROSS_HAND * sizeof *from);
}

static void chord_open(void *context, int thread, int job)
{
    const along_call *const c = context;
    crossing_lanes X;
    (void)thread;
    pass_inwards(c->w, job, c->level, CROSS_HAND + CROSSING, (real *)&X, enter_open_chord, leave_open_chord, chord_open_row);
}

static void chord_closed(void *context, int thread, int job)
{
    const along_call *const c = context;
    chord_hand next;
    (void)thread;
    pass_inwards(c->w, job, c->level, CROSS_HAND, (real *)&next, enter_closed_chord, leave_closed_chord, chord_closed_row);
}

static void join_chords(void *context, int thread, int job)
{
    const along_call *const c = context;
    const along_world *const w = c->w;
    const along_segment *const segment = w->plan->segment;
    int s = first_of_path(c, job);
    (void)thread;
    while (segment[s].after >= 0) s = segment[s].after;
    for (s = segment[s].before; s >= 0; s = segment[s].before)
        crossing_join(&w->cut[segment[s].cut], &w->crossings[segment[s].cut], w->cross + (size_t)segment[s].after * CROSS_HAND,
                      w->cross + (size_t)s * CROSS_HAND);
}

static bool any_bad(const along_world *w)
{
    mask bad = none_of();
    for (int b = 0; b < w->count; b++) bad = either(bad, w->step[b].sums.bad);
    return any_of(bad);
}

/// chord_inward() at the iterate. Returns whether all pivots are positive, also those of segments with nothing behind their
/// tails.
static bool along_chord_inward(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (int b = 0; b < w->count; b++) w->step[b].sums.bad = none_of();
    for (c.level = 0; c.level < w->plan->levels; c.level++) {
        if (is_cut(w->plan, c.level)) {
            pool_run(threads, w->count, chord_open, &c);
            ALONG_EACH(threads, cut_paths_of(w->plan, c.level), join_chords, &c);
        }
        pool_run(threads, w->count, chord_closed, &c);
    }
    return !any_bad(w);
}

// ---- outwards

static void chord_step_above(const along_world *w, int s, double *d)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    memset(d, 0, 6 * sizeof *d);
    if (above < 0) return;
    const step_block *const up = &w->step[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->W.va.sweep.motion[row], lane, 6, d);
}

static void enter_chord_step(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) chord_step_above(w, s, to);
    else memcpy(to, w->cut[cut].d, 6 * sizeof *to);
}

static void chord_boundaries(void *context, int thread, int job)
{
    (void)thread;
    pass_boundaries(context, job, chord_step_above);
}

FN void chord_step_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    variational_work *const P = &w->step[block].W.va;
    const chord_body *const at = &P->W.body[i];
    const chord_joint *const s = &P->sweep.joint[i];
    BY_FORM(b, f, sweep_outward_body(b, f, &at->R, &at->r, &s->one, &s->three.G, P->sweep.motion, i, (twist *)carried, P->fresh))
    for (int k = b->vadr; k < b->vadr + b->nv && B->partial[i]; k++) P->fresh[k] = sel(live_lanes(B, i), P->fresh[k], rset(0));
}

static void chord_steps(void *context, int thread, int job)
{
    const along_call *const c = context;
    twist d;
    (void)thread;
    pass_outwards(c->w, job, c->level, 6, (real *)&d, enter_chord_step, NULL, NULL, chord_step_row);
}

/// chord_outward().
static void along_chord_outward(along_world *w, pool *threads)
{
    along_call c = {.w = w};
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        ALONG_EACH(threads, cut_paths_of(w->plan, c.level), chord_boundaries, &c);
        pool_run(threads, w->count, chord_steps, &c);
    }
}

#endif
