/// Whole steps along the links, of order 2 and of alpha: what the ladder does for its first rung (integrators/step_ladder.h),
/// with passes over levels in the place of kernels over the tree. A step that this does not solve leaves the state as it was: the
/// serial engine makes it.
#ifndef CATENA_ALONG_STEP_H
#define CATENA_ALONG_STEP_H

#ifndef ALONG_JOBS
/// Whether steps of a configuration can be made along the links.
static bool along_steps(const ctn_batch_config *cfg)
{
    return (is_alpha(cfg) || (position_based(cfg->method) && stages_of(cfg) == 1)) && cfg->solver == CTN_NEWTON && !cfg->adaptive;
}
#endif

// ---- the state, by rows and as the flat numbers of a world

/// What the parts of a state (STATE_PARTS) are numbers of.
typedef enum { OF_COORDINATES, OF_VELOCITIES, OF_BODIES, OF_CONTACTS, OF_WORLD } part_of;

#define NUMBER(member, type, count) PART_##member,
enum { STATE_PARTS(NUMBER) };
#undef NUMBER

FN part_of kind_of_part(int part)
{
    switch (part) {
    case PART_q: return OF_COORDINATES;
    case PART_V:
    case PART_A:
    case PART_B:
    case PART_old: return OF_BODIES;
    case PART_slip:
    case PART_press: return OF_CONTACTS;
    case PART_pair_of:  // along the links there are no pairs, and no bonds
    case PART_pair_slip:
    case PART_pair_press:
    case PART_bond:
    case PART_created:
    case PART_size:
    case PART_fresh: return OF_WORLD;
    default: return OF_VELOCITIES;
    }
}

/// The numbers [RATE_NUMBERS each] of bodies into the rows; in idle lanes and ports they are 0; and back.
KERNEL void bodies_in(const lane_rows *B, const double *from, real *to)
{
    static const double nothing[RATE_NUMBERS] = {0};
    for (int i = 0; i < B->m.nbody; i++) {
        const double *row[LANES];
        const int *const body = B->block->row[i].body + B->first;
        const bool port = B->m.bodies[i].kind == JOINT_NONE;
        for (int l = 0; l < LANES; l++) row[l] = port || body[l] < 0 ? nothing : from + (size_t)body[l] * RATE_NUMBERS;
        lane_gather(to + (size_t)i * RATE_NUMBERS, row, RATE_NUMBERS);
    }
}
KERNEL void bodies_out(const lane_rows *B, const real *from, double *to)
{
    for (int i = 0; i < B->m.nbody; i++) {
        double *row[LANES], idle[RATE_NUMBERS];
        const int *const body = B->block->row[i].body + B->first;
        if (B->m.bodies[i].kind == JOINT_NONE) continue;
        for (int l = 0; l < LANES; l++) row[l] = body[l] < 0 ? idle : to + (size_t)body[l] * RATE_NUMBERS;
        lane_scatter(row, LANES, from + (size_t)i * RATE_NUMBERS, RATE_NUMBERS);
    }
}

/// The numbers [n each] of the model's contact points, likewise.
KERNEL void contacts_copy(const lane_rows *B, bool load, int n, double *flat, real *part)
{
    for (int k = 0; k < B->m.ncontact; k++)
        for (int l = 0; l < LANES; l++)
            for (int j = 0; j < n; j++) {
                double *const here = (double *)&part[k * n + j] + l, *const there = flat + B->contact[k][l] * n + j;
                if (load) *here = B->contact[k][l] < 0 ? 0 : *there;
                else if (B->contact[k][l] >= 0) *there = *here;
            }
}

typedef struct {
    along_world *w;
    double *flat;
    const double *tau;
    bool load;
} along_copy;

/// The motion of the last step to its flat numbers (ctn_engine.load_motion); those of the world are those of block `job`.
KERNEL void motion_out(const lane_rows *B, const interpolant *I, bool fitted, int job, double *flat)
{
    const ctn_model *const m = B->plan->model;
    real *array[MOTION_ARRAYS];
    const int arrays = motion_arrays(I, fitted, array);
    rows_out(B, false, I->q, flat), flat += m->nq;
    for (int a = 0; a < arrays; a++, flat += m->nv) rows_out(B, true, array[a], flat);
    if (job) return;
    *flat++ = *(const double *)I->size;
    if (I->when) *flat = *(const double *)I->when;
}

KERNEL void step_copy(void *context, int thread, int job)
{
    (void)thread;
    const along_copy *const c = (const along_copy *)context;
    const lane_rows *const B = &c->w->rows[job];
    const block_state *const S = &c->w->step[job].S;
    const ctn_model *const m = c->w->plan->model;
    const state_parts parts = parts_of(&B->m, c->w->cfg, S);
    double *flat = c->flat;
    for (int p = 0; p < PARTS_OF_STATE; p++) {
        real *const part = parts.part[p];
        if (p != PART_slip && p != PART_press && (!part || !parts.size[p])) continue;
        switch (kind_of_part(p)) {
        case OF_COORDINATES:
            if (c->load) rows_in(B, false, flat, part);
            else rows_out(B, false, part, flat);
            flat += m->nq;
            break;
        case OF_VELOCITIES:
            if (c->load) rows_in(B, true, flat, part);
            else rows_out(B, true, part, flat);
            flat += m->nv;
            break;
        case OF_BODIES:
            if (c->load) bodies_in(B, flat, part);
            else bodies_out(B, part, flat);
            flat += (size_t)m->nbody * RATE_NUMBERS;
            break;
        case OF_CONTACTS: {
            const int n = p == PART_slip ? 3 : 1;  // rows without any have no part
            contacts_copy(B, c->load, n, flat, part);
            flat += m->ncontact * n;
            break;
        }
        case OF_WORLD:
            for (size_t k = 0; k < parts.size[p]; k++, flat++) {
                if (c->load) part[k] = rset(*flat);
                else if (!job) *flat = *(double *)&part[k];
            }
        }
    }
    if (c->load && c->tau) rows_in(B, true, c->tau, c->w->step[job].W.tau);
    if (!c->load && c->w->cfg->dense) motion_out(B, &S->part, position_based(c->w->cfg->method), job, flat);
}

KERNEL void step_forces(void *context, int thread, int job)
{
    (void)thread;
    const along_copy *const c = (const along_copy *)context;
    rows_in(&c->w->rows[job], true, c->tau, c->w->step[job].W.tau);
}

// ---- the scales of residual rows, where joints slide (integrators/force_unit.h)

KERNEL void reach_out(void *context, int thread, int job)
{
    (void)thread;
    along_world *const w = ((const along_ask *)context)->w;
    rows_out(&w->rows[job], false, w->step[job].S.q, w->plain);
}

/// The reach of the bodies of a row.
FN real reach_of(const along_world *w, int block, int row)
{
    const lane_rows *const B = &w->rows[block];
    double reach[LANES] __attribute__((aligned(64)));
    for (int l = 0; l < LANES; l++) {
        const int body = B->m.bodies[row].kind == JOINT_NONE ? -1 : B->block->row[row].body[B->first + l];
        reach[l] = body < 0 ? 0 : w->plain[w->plan->model->nq + body];
    }
    return lane_load(reach);
}

KERNEL void reach_in(void *context, int thread, int job)
{
    (void)thread;
    along_world *const w = ((const along_ask *)context)->w;
    const lane_rows *const B = &w->rows[job];
    const bool one = w->stages == 1;
    solve *const W = solve_of(w, job);
    stages *const Q = stages_in(w, job);
    for (int i = 0; i < B->m.nbody; i++) {
        const real reach = reach_of(w, job, i), unit = force_unit(&B->m, &B->m.bodies[i], reach, one ? W->in.k2 : Q->in.k2);
        if (one) W->reach[i] = reach, W->step[i].unit = unit;
        else Q->reach[i] = reach, Q->step[i].unit = unit;
    }
}

/// find_reach() of the tree as a whole, one job.
KERNEL void reach_through(void *context, int thread, int job)
{
    const along_world *const w = ((const along_ask *)context)->w;
    const ctn_model *const m = w->plan->model;
    double *const q = w->plain, *const reach = w->plain + m->nq;
    (void)thread, (void)job;
    memset(reach, 0, (size_t)m->nbody * sizeof *reach);
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *const b = &m->bodies[i];
        if (b->parent < 0) continue;
        double all = reach[i];
        if (b->kind == JOINT_PRISMATIC) all += fabs(q[b->qadr]);
        if (b->kind == JOINT_HELICAL) all += fabs(b->pitch * q[b->qadr]);
        if (!(all <= reach[b->parent])) reach[b->parent] = all;
    }
}

// ---- energies

/// The origin of what a segment's head hangs on.
KERNEL void origin_above(const along_world *w, int s, double *p)
{
    const int above = w->plan->segment[s].above;
    int row, lane;
    p[0] = p[1] = p[2] = 0;
    if (above < 0) return;
    const step_block *const up = &w->step[place_of(w->plan, above, &row, &lane)];
    leave_lane(&up->W.po.p[row], lane, 3, p);
}

FN void load_stretch(const along_world *w, int s, double *e)
{
    memcpy(e, w->stretch + 3 * (size_t)w->plan->segment[s].cut, 3 * sizeof *e);
}

KERNEL void chain_origins(void *context, int thread, int job)
{
    (void)thread;
    go_along((const along_call *)context, job, false, 3, origin_above, load_stretch, chain_on_way, put_way, NOTHING);
}

/// What lanes carry: the origin, and the momentum of the segment so far.
typedef struct {
    vec3 p, momentum;
} energy_lanes;

KERNEL void enter_origin(const along_world *w, int s, double *to)
{
    const int cut = w->plan->segment[s].cut;
    if (cut < 0) origin_above(w, s, to);
    else memcpy(to, w->start + (size_t)cut * POSE + 9, 3 * sizeof *to);
    to[3] = to[4] = to[5] = 0;
}

KERNEL void leave_momentum(along_world *w, int s, const double *from)
{
    memcpy(w->moment + 3 * (size_t)s, from + 3, 3 * sizeof *from);
}

/// One body of position_energy().
FN void energy_row(along_world *w, int block, int i, real *carried)
{
    const lane_rows *const B = &w->rows[block];
    const lane_body *const b = &B->m.bodies[i];
    step_block *const A = &w->step[block];
    const solve *const W = solve_of(w, block);
    const bool ends = w->mode.now && carries_energy(&w->rows[0].m, w->cfg);
    const real *const q = w->mode.now ? A->W.po.one.x : A->S.q, *const rate = ends ? A->W.po.end.rate : A->S.v;
    const rate_pose *const V = ends ? &A->W.po.end.V[i] : &A->S.V[i];
    const placement *const at = w->mode.now ? &W->now[i] : &W->start[i];
    energy_lanes *const c = (energy_lanes *)carried;
    energy_parts *const E = &A->sums.energy;
    const joint_form f = form_of(b);
    if (f.kind == JOINT_TRANSLATION) c->p = load3(q + b->qadr), c->p = add(c->p, lengths3(given(b)->r0));
    else if (has_arm(f)) c->p = add(c->p, at->r);
    A->W.po.p[i] = c->p;
    real rotors = rset(0), springs = rset(0);
    if (f.flags & BODY_ARMATURE)
        for (int k = b->vadr; k < b->vadr + b->nv; k++) rotors = fmadd(rset(0.5) * given(b)->armature * rate[k], rate[k], rotors);
    if (f.flags & (BODY_SPRING | BODY_SERVO)) springs = stored_energy(&B->m, b, q);
    if (f.flags & BODY_FRICTION)
        springs = springs + friction_potential(b, bent(b, bent_by(b, A->S.z, w->mode.now ? A->W.po.one.u : NULL))).E;
    for (int k = b->load; k < b->loads_end; k++) {
        const lane_point_load *const s = &B->m.loads[k];
        springs = add_spring_energy(springs, s, at->R, c->p);
        if (!(s->flags & LOAD_TOUCHES)) continue;
        if (ends) {
            const end_touch e = touch_at_end(&B->m, &A->W.po, k);
            springs = springs + stored_at_end(s, &e);
            continue;
        }
        const real gap = ground_gap(&B->m, s, mul_add(c->p, at->R, load3(s->point)));
        springs = springs + stored_in_contact(&B->m, s, gap, A->S.slip);
        const mask live = B->partial[i] ? live_lanes(B, i) : not_(none_of());
        A->sums.depth = sel(live, larger_of(A->sums.depth, negate(gap)), A->sums.depth);
    }
    if (B->partial[i]) {
        const mask live = live_lanes(B, i);
        rotors = sel(live, rotors, rset(0)), springs = sel(live, springs, rset(0));
    }
    E->kinetic = E->kinetic + rotors, E->spring = E->spring + springs;
    if (!(f.flags & BODY_MASS)) return;
    const real half = rset(0.5) * twice_kinetic(b, V);
    E->kinetic = E->kinetic + half, A->sums.internal = A->sums.internal + half;
    c->momentum = add(c->momentum, add_scaled(mul(V->R, load3(given(b)->h)), V->p, given(b)->mass));
    const vec3 moment = add_scaled(mul(at->R, load3(given(b)->h)), c->p, given(b)->mass);
    E->potential = dot_sub(E->potential, load3(B->m.gravity), moment);
}

KERNEL void step_energy(void *context, int thread, int job)
{
    const along_call *const c = (const along_call *)context;
    energy_lanes L;
    (void)thread;
    pass_outwards(c->w, job, c->level, 6, (real *)&L, enter_origin, leave_momentum, NULL, energy_row);
}

/// position_energy() at the start of the step, or (now) at its end; internal: without that of free trees as wholes and of rotors.
/// Leaves the origins of bodies. stretched: the residual has left the ways to the tails.
KERNEL energy_parts along_energy(along_world *w, along_crew *crew, bool now, bool stretched, real *internal)
{
    const ctn_model *const m = w->model;
    along_call c = {.w = w->self};
    along_mode mode = w->mode;
    mode.now = now;
    along_choose(w, crew, mode);
    along_forget(w, crew, FORGET_ENERGIES);
    for (c.level = w->plan->levels - 1; c.level >= 0; c.level--) {
        if (is_cut(w->plan, c.level)) {
            if (!stretched) ALONG_RUN(crew, w->count, step_stretch, &c);
            ALONG_CHAIN(crew, w, chain_origins, &c);
        }
        ALONG_RUN(crew, w->count, step_energy, &c);
    }
    mode.now = true;
    along_choose(w, crew, mode);
    along_tell(w, crew, TOLD_INTERNAL, m->ncontact ? TOLD_DEPTH : TOLD_SPRING);
    const double *const told = w->told, inner = told[TOLD_INTERNAL] - told[TOLD_TREES];
    double fixed = 0;
    for (int k = 0; k < 3; k++) fixed -= m->gravity[k] * m->fixed_moment[k];
    *internal = rset(inner > 0 ? inner : 0);
    energy_parts E;
    E.kinetic = rset(told[TOLD_KINETIC]), E.potential = rset(told[TOLD_POTENTIAL] + fixed), E.spring = rset(told[TOLD_SPRING]);
    return E;
}

// ---- one step

/// The clock of a call that steps, at its start.
FN void start_clock(lane_rows *B, engine_clock clock)
{
    if (!B->m.nsignal) return;
    B->clock.since = rset(clock.since), B->clock.made = rset(clock.made);
    clock_step(&B->m, rset(0)), clock_state_at(&B->m, rset(0));
}

typedef enum { PLACE_START, KEEP_START, TURN_CLOCK, BEGIN_STEP, CHECK_STEP, END_STEP, COMMIT_STEP, NOTE_STEP } along_parts;

typedef struct {
    along_world *w;
    along_parts part;
    bool forced, flow;
    bool pressed;    // COMMIT_STEP: contact points are, so that rates foretell nothing
    double created;  // NOTE_STEP: energy, and how much of it was lost
    double lost;
    engine_clock clock;  // PLACE_START: of the call
    int made;            // TURN_CLOCK, BEGIN_STEP: steps in this call
} along_part;

KERNEL void step_part_of_block(void *context, int thread, int job)
{
    (void)thread;
    const along_part *const c = (const along_part *)context;
    const lane_model *const m = &c->w->rows[job].m;
    step_block *const A = &c->w->step[job];
    ladder_work *const P = &A->W.po;
    position_state S = as_position(&A->S);
    const mask all = not_(none_of());
    const ctn_batch_config *const cfg = c->w->cfg;
    const bool alpha = is_alpha(cfg);
    mask far;
    switch (c->part) {
    case TURN_CLOCK: clock_step(m, rset(c->made)), clock_state_at(m, rset(0)); break;
    case BEGIN_STEP:
        clock_step(m, rset(c->made));
        count_row_turns(&c->w->rows[job], S.q, A->S.part.q, A->S.turns);
        start_from(&S, c->forced ? A->W.tau : NULL, &P->one.W);
        set_step_size(&P->one.W, m->dt);
        if (alpha) {
            fit_accelerations(m, m->dt, &S, all);
            P->part.rule = alpha_rule_of(cfg->rho, m->dt);
        }
        enter_rung(m, NULL, alpha, &S, P);
        break;
    case CHECK_STEP:
        A->sums.bad = not_(config_valid(m, P->one.x, P->one.u, &far));
        end_touches(m, &P->one.W);
        if (m->ncontact && alpha) A->sums.bad = either(A->sums.bad, meetings_change(m, &S, P));
        if (m->ncontact) A->sums.pressed = pressed_points(m, &P->one.W);
        A->sums.flow = no_flow();
        if (alpha || c->flow) A->sums.flow = step_flow(m, &P->one);
        if (alpha && any_of(unwind(m, &P->one, all))) A->sums.E = rset(1);
        clock_now(m, P->one.W.in.h, 1);
        break;
    case END_STEP:
        if (!alpha && m->skew) end_rates_of_chords(m, P, &S);
        if (!alpha) break;
        end_touches(m, &P->one.W);  // it may have been turned
        end_rates_of_alpha(m, &P->part.rule, &S, &P->one, &P->end);
        break;
    case COMMIT_STEP:
        keep_friction(m, P->one.u, all, S.z);
        keep_contacts(m, &P->one.W, all, S.slip, S.press);
        if (cfg->dense && alpha) keep_alpha(m, &A->S.part, &S, &P->one, P->end.rate, all);
        else if (cfg->dense) keep_stage(m, &A->S.part, &S, &P->one, all);
        if (alpha) commit_alpha(m, &P->part.rule, &S, &P->one, &P->end, all, true, c->pressed ? none_of() : all);
        else commit_step(m, &S, &P->one, all, true, c->pressed ? none_of() : all);
        if (m->nsignal) A->sums.jump = jump_work(m, S.q, m->dt);
        break;
    case NOTE_STEP: note_created(&S, rset(c->created), (energy_flow){rset(0), rset(c->lost)}, all); break;
    case PLACE_START:  // placements at the start are those at the iterate q
        start_clock(&c->w->rows[job], c->clock);
        P->one.W.in.x = S.q, P->one.W.in.u = A->S.v;
        break;
    case KEEP_START: {  // ... which are found now
        placement *const old = P->one.W.start;
        P->one.W.start = P->one.W.now, P->one.W.now = old;
        P->one.W.in.x = P->one.x, P->one.W.in.u = P->one.u;
    }
    }
}

/// The scales of residual rows, on one thread but for what goes in and out.
KERNEL void along_reach(along_world *w, along_crew *crew)
{
    along_ask c = {w->self, 0, 0};
    ALONG_RUN(crew, w->count, reach_out, &c);
    ALONG_EACH(crew, 1, reach_through, &c);
    ALONG_RUN(crew, w->count, reach_in, &c);
}

/// Energies of a call, broadcast.
typedef struct {
    energy_parts now;
    bool known;
} along_ledger;

/// The energy as a step begins, after the `made` first ones.
KERNEL void along_take_stock(along_world *w, along_crew *crew, int made, along_ledger *ledger)
{
    along_part turn = {.w = w->self, .part = TURN_CLOCK, .made = made};
    real internal;
    if (w->plan->model->nsignal) ALONG_EACH(crew, w->count, step_part_of_block, &turn);
    ledger->now = along_energy(w, crew, false, false, &internal), ledger->known = true;
}

/// What motors put in where what they are told jumps at the end of the step, after which the energy is `after`; counted: it is
/// found there. Else the next step finds it anew, as it would in a call of its own.
KERNEL void along_jump(along_world *w, along_crew *crew, bool counted, energy_parts after, along_ledger *ledger, energy_flow *F)
{
    ledger->now = after;
    if (!w->plan->model->nsignal) return;
    along_tell(w, crew, TOLD_JUMP, TOLD_JUMP);
    const real jump = rset(w->told[TOLD_JUMP]);
    F->work = F->work + jump;
    if (!counted) ledger->now.spring = ledger->now.spring + jump, ledger->known = false;
}

/// Energy that a step has created.
FN double created_by(energy_parts before, energy_parts after, energy_flow F)
{
    const real created = energy_created(before, after, F);
    return *(const double *)&created;
}

/// One step, after the `made` first ones. Returns whether it was made. skew: as of along_newton()
FN bool along_one_step(along_world *w, along_crew *crew, const ctn_batch_config *cfg, bool skew, const double *tau, int made,
                       bool energy, along_ledger *ledger, step_in_hand *step)
{
    const mask all = not_(none_of());
    const bool alpha = is_alpha(cfg), law = alpha || skew;
    const bool weighed = law || energy || w->plan->model->nload;  // loads act at where bodies are
    const bool touches = w->plan->model->ncontact;
    along_part part = {.w = w->self, .part = BEGIN_STEP, .forced = tau != NULL, .flow = energy || law, .made = made};
    position_counts *const k = &step->count;
    real residual = rset(0), internal;
    if (weighed && !ledger->known) along_take_stock(w, crew, made, ledger);
    ALONG_RUN(crew, w->count, step_part_of_block, &part);
    if (w->plan->model->slides) along_reach(w, crew);
    if (!along_newton(w, crew, cfg, skew, k, &residual)) return false;
    along_forget(w, crew, FORGET_TURNS);
    part.part = CHECK_STEP;
    ALONG_RUN(crew, w->count, step_part_of_block, &part);
    along_tell(w, crew, TOLD_WORK, TOLD_TURNED);
    if (w->told[TOLD_BAD] != 0) return false;
    energy_flow F;
    F.work = rset(w->told[TOLD_WORK]), F.dissipated = rset(w->told[TOLD_DISSIPATED]);
    part.lost = w->told[TOLD_DISSIPATED];
    const bool turned = w->told[TOLD_TURNED] > 0;
    if (turned) along_evaluate(w, crew, true);
    part.part = END_STEP;
    ALONG_RUN(crew, w->count, step_part_of_block, &part);
    const energy_parts before = ledger->now;
    energy_parts after = before;
    if (law) {
        along_tell(w, crew, TOLD_CREATED, TOLD_LOST);
        real created[2] = {rset(w->told[TOLD_CREATED]), rset(w->told[TOLD_LOST])};
        const position_state S = {.created = created};
        step_part of = {.before = before, .flow = F};
        after = along_energy(w, crew, true, !turned, &internal);
        const bool keeps = everywhere(alpha ? gains_nothing(&of, &S, after, internal, NULL, cfg->tolerance)
                                            : takes_energy(&of, &S, after, internal, cfg->tolerance));
        if (!keeps && (alpha || !touches)) return false;
        part.created = *(const double *)&of.created;
    }
    const double kept = touches ? along_keeps(w, crew) : 1;
    if (!keeps_enough(kept)) return false;
    part.pressed = touches && w->told[TOLD_PRESSED] != 0, part.part = COMMIT_STEP;
    ALONG_RUN(crew, w->count, step_part_of_block, &part);
    if (kept < 1) along_hold(w, crew);
    const bool anew = touches || !alpha;
    if (anew && weighed) after = along_energy(w, crew, false, false, &internal);
    along_jump(w, crew, anew, after, ledger, &F);
    if (anew) part.created = created_by(before, after, F);
    part.part = NOTE_STEP;
    if (law) ALONG_EACH(crew, w->count, step_part_of_block, &part);
    if (energy) add_flow(&step->flow, F, all);
    k->residual = residual, k->substeps = rset(1);
    return true;
}

#endif
