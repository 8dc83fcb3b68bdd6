/// Contact with the ground along the links: the law and its passes are those of worlds (contact/law.h, position_step.h,
/// step_part.h, integrators/hold_energy.h); what is summed over a world or a tree there goes over lanes and segments here. Steps
/// of alpha and of several stages whose contacts change are left to the serial engine, whose order 2 makes them.
///
///     correct   friction gets the normal forces of the solution, which is solved once more if that makes a difference
///     books     what every body has gained in the step, and what has passed through its forces; by segments
///     trees     what each tree keeps of its velocities, so that it has not gained energy
///     hold      ... and that is taken from them
#ifndef CATENA_ALONG_CONTACT_H
#define CATENA_ALONG_CONTACT_H

KERNEL void step_correct(void *context, int thread, int job)
{
    (void)thread;
    along_world *const w = ((const along_ask *)context)->w;
    w->step[job].sums.change = correct_friction(&w->rows[job].m, solve_of(w, job), not_(none_of()));
}

/// Where a contact point is pressed at the end of the step, of one stage, after end_touches().
FN mask pressed_points(const lane_model *m, const solve *W)
{
    mask some = none_of();
    for (int k = 0; k < m->nload; k++)
        if (m->loads[k].flags & LOAD_TOUCHES) some = either(some, gt(W->ended[m->loads[k].contact].at.press, rset(0)));
    return some;
}

/// The solution in a lane block, whose rates at the end are in its `end`.
FN solved_part solution_in(const along_world *w, int block)
{
    const ladder_work *const P = &w->step[block].W.po;
    return solution_with(&w->rows[block].m, P, P->end.rate);
}

KERNEL void enter_books(const along_world *w, int s, double *to)
{
    (void)w, (void)s;
    memset(to, 0, BOOKS * sizeof *to);
}

KERNEL void leave_books(along_world *w, int s, const double *from)
{
    memcpy(w->books + (size_t)s * BOOKS, from, BOOKS * sizeof *from);
}

FN void book_row(along_world *w, int block, int i, real *carried)
{
    const lane_model *const m = &w->rows[block].m;
    const lane_body *const b = &m->bodies[i];
    const solved_part Q = solution_in(w, block);
    const position_state S = as_position(&w->step[block].S);
    book_lanes *const c = (book_lanes *)carried;
    c->kinetic = c->kinetic + book_motion(&c->books, m, b, &S, &Q, i, m->dt, &c->momentum);
    book_joint(&c->books, m, b, &S, &Q, m->dt);
    for (int k = b->load; k < b->loads_end; k++) book_load(&c->books, m, &S, &Q, k);
}

KERNEL void step_books(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    book_lanes L;
    (void)thread;
    pass_outwards(c->w, job, c->level, BOOKS, (real *)&L, enter_books, leave_books, NULL, book_row);
}

/// A tree, of all its segments.
KERNEL void step_trees(void *context, int thread, int job)
{
    along_world *const w = ((const along_ask *)context)->w;
    const along_tree *const tree = &w->plan->tree[job];
    const ctn_body *const top = &w->model->bodies[tree->root];
    double sum[BOOKS] = {0};
    const solved_part Q = solution_in(w, 0);
    const bool free = flies_free(top->kind, top->flags);
    book_lanes all;
    (void)thread;
    for (int s = tree->first; s >= 0; s = w->plan->segment[s].beside)
        for (int k = 0; k < BOOKS; k++) sum[k] += w->books[(size_t)s * BOOKS + (size_t)k];
    for (int k = 0; k < BOOKS; k++) ((real *)&all)[k] = rset(sum[k]);
    const kept_motion H = kept_of_tree(&Q, all.books, all.kinetic, all.momentum, free, rset(top->subtree_mass));
    leave_lane(&H, 0, sizeof(tree_kept) / sizeof(double), &w->kept[job].inner);
}

KERNEL void enter_kept(const along_world *w, int s, double *to)
{
    memcpy(to, &w->kept[w->plan->segment[s].tree], sizeof(tree_kept));
}

FN void hold_row(along_world *w, int block, int i, real *carried)
{
    const lane_body *const b = &w->rows[block].m.bodies[i];
    const kept_motion *const H = (const kept_motion *)carried;
    position_state S = as_position(&w->step[block].S);
    hold_body(H, b, flies_free(b->kind, b->flags), i, lt(H->inner, rset(1)), &S);
}

KERNEL void step_hold(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    kept_motion H;
    (void)thread;
    pass_outwards(c->w, job, c->level, sizeof H / sizeof(real), (real *)&H, enter_kept, NULL, NULL, hold_row);
}

/// Whether the solution is to be solved for once more, with other caps of friction.
KERNEL bool along_corrects(along_world *w, along_crew *crew)
{
    along_ask c = {w->self, 0, 0};
    if (!w->plan->model->ncontact) return false;
    ALONG_RUN(crew, w->count, step_correct, &c);
    along_tell(w, crew, TOLD_CHANGE, TOLD_CHANGE);
    const lane_model numbers = {.mass = rset(w->model->mass),
                                .gravity = {rset(w->model->gravity[0]), rset(w->model->gravity[1]), rset(w->model->gravity[2])}};
    return any_of(is_corrected(&numbers, rset(w->told[TOLD_CHANGE])));
}

/// The least that a tree keeps of its velocities after the step that has been solved.
KERNEL double along_keeps(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    along_ask trees = {w->self, 0, 0};
    for (c.level = 0; c.level < w->plan->levels; c.level++) ALONG_RUN(crew, w->count, step_books, &c);
    ALONG_EACH(crew, w->plan->trees, step_trees, &trees);
    along_tell(w, crew, TOLD_PRESSED, TOLD_KEPT);
    return w->told[TOLD_KEPT];
}

/// Whether that is enough for a step that is not halved, as keeps_most() says.
FN bool keeps_enough(double kept) { return kept * kept >= 0.5; }

/// Takes the rest from them.
KERNEL void along_hold(along_world *w, along_crew *crew)
{
    along_call c = {.w = w->self};
    for (c.level = 0; c.level < w->plan->levels; c.level++) ALONG_RUN(crew, w->count, step_hold, &c);
}

#endif
