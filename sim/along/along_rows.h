/// A plan (plan.h) in the lanes of one engine: its blocks as models whose bodies are rows, and the ports, where numbers go from
/// lane to lane. Included by along_kernels.h.
#ifndef CATENA_ALONG_ROWS_H
#define CATENA_ALONG_ROWS_H

enum { PARTS = ALONG_LANES / LANES };  // lane blocks in a block of the plan

/// A lane block: lanes `first` to `first` + LANES of a block of the plan.
typedef struct {
    const along_plan *plan;
    const along_block *block;
    int first;
    lane_model m;  // its rows
    lane_signal *signals;
    lane_clock clock;
    int (*contact)[LANES];      // [ncontact] of the rows: the model's contact points in their lanes; -1: none
    lane_constants *constants;  // [block->constants]
    real *live;                 // [rows] 1 where the lane has a body; ports: where a segment begins
    char *partial;              // [rows] whether some lane has none
} lane_rows;

/// Where a lane's number k of a thing at row r lies: things are rows of `numbers` reals.
FN const double *lane_at(const void *array, size_t numbers, int row, int lane)
{
    return (const double *)array + (size_t)row * numbers * LANES + lane;
}

FN mask live_lanes(const lane_rows *B, int row) { return gt(B->live[row], rset(0.5)); }

/// A body without springs and limits beside others that have some.
FN void without_spring(ctn_body *b)
{
    b->stiffness = b->limit_k = b->limit_b = 0, b->limit[0] = -INFINITY, b->limit[1] = INFINITY;
    b->rest[0] = b->kind == JOINT_BALL ? 1 : 0, b->rest[1] = b->rest[2] = b->rest[3] = 0;
}

/// A body without dry friction beside others that rub.
FN void without_friction(ctn_body *b) { b->friction = 0, b->presliding = 1; }

#define NEXT_TO_NOTHING 1e-100  // of idle lanes, what is divided by

FN void neutral_body(ctn_body *b, int kind)
{
    memset(b, 0, sizeof *b);
    b->kind = kind, b->C[0] = b->C[4] = b->C[8] = b->ca = 1;
    without_spring(b), without_friction(b);
    b->force_scale[0] = b->force_scale[1] = INFINITY;  // its rows count for nothing
}

/// `count` numbers of the bodies in the lanes, each from where its own begin.
FN void lanes_of(const double *const *from, int count, real *to)
{
    for (int k = 0; k < count; k++) {
        double lane[LANES] __attribute__((aligned(64)));
        for (int l = 0; l < LANES; l++) lane[l] = from[l][k];
        to[k] = lane_load(lane);
    }
}

/// The constants of the bodies of a row, in each lane those of its own body in a model; own: and not only those of what hangs on
/// it. Where rows are general, bodies that only turn about x have their turn in C.
FN void body_numbers(lane_rows *B, int row, const ctn_model *from, bool own)
{
    enum {
        OWN = sizeof(lane_constants) / sizeof(real),
        OF_SUBTREE = sizeof(lane_subtree) / sizeof(real),
    };
    const along_row *const r = &B->block->row[row];
    ctn_body of[LANES];
    const double *constants[LANES], *subtree[LANES];
    for (int l = 0; l < LANES; l++) {
        const int body = r->body[B->first + l];
        if (body < 0 || r->kind == JOINT_NONE) neutral_body(&of[l], r->kind);
        else of[l] = from->bodies[body];
        if (r->flags & BODY_TOP && body < 0) of[l].mass = of[l].I[0] = of[l].I[1] = of[l].I[2] = NEXT_TO_NOTHING;
        if (!(of[l].flags & BODY_SPRING)) without_spring(&of[l]);
        if (!(of[l].flags & BODY_FRICTION)) without_friction(&of[l]);
        if (body >= 0 && r->kind != JOINT_NONE && (of[l].flags & BODY_ABOUT_X) && !(r->flags & BODY_ABOUT_X)) {
            const double c = of[l].ca, s = of[l].sa, C[9] = {1, 0, 0, 0, c, -s, 0, s, c};
            memcpy(of[l].C, C, sizeof C);
        }
        constants[l] = &of[l].ca, subtree[l] = &of[l].extent;
    }
    if (own) lanes_of(constants, OWN, &B->constants[r->constants].ca);
    lanes_of(subtree, OF_SUBTREE, &B->m.subtrees[row].extent);
}

/// The body of a row: structure of all lanes.
FN void load_row(lane_rows *B, int row)
{
    const along_row *const r = &B->block->row[row];
    lane_body *const b = &B->m.bodies[row];
    double live[LANES] __attribute__((aligned(64)));
    b->kind = r->kind, b->parent = row - 1, b->end = row + 1, b->qadr = r->qadr, b->vadr = b->dof = r->vadr, b->nv = r->nv;
    b->flags = r->flags, b->load = b->loads_end = b->motor = 0;
    b->own = &B->constants[r->constants];
    B->partial[row] = 0;
    for (int l = 0; l < LANES; l++) {
        live[l] = r->body[B->first + l] >= 0;
        if (r->body[B->first + l] < 0) B->partial[row] = 1;
    }
    B->live[row] = lane_load(live);
    const unsigned shape = b->flags & (FORM_FLAGS & ~(unsigned)BODY_ABOUT_X);
    const bool about_x = b->flags & BODY_ABOUT_X;
    b->form = b->kind != JOINT_REVOLUTE                                                ? FORM_OTHER
              : about_x && shape == (FORM_HINGE_FLAGS & ~(unsigned)BODY_ABOUT_X)       ? FORM_HINGE
              : about_x && shape == (FORM_CROSS_FIRST_FLAGS & ~(unsigned)BODY_ABOUT_X) ? FORM_CROSS_FIRST
              : about_x && shape == (FORM_CROSS_LAST_FLAGS & ~(unsigned)BODY_ABOUT_X)  ? FORM_CROSS_LAST
                                                                                       : FORM_REVOLUTE;
}

// ---- loads: a row has places for as many as one of its bodies has

enum { LOAD_KINDS = 9 };  // by load_flag; what touches does nothing else

/// Places for loads with the flags `kind`: for all lanes of the plan's block, so that the same numbers are added up whatever
/// LANES is.
FN int load_places(const along_plan *plan, const along_row *r, int kind)
{
    const ctn_model *const m = plan->model;
    int most = 0;
    for (int l = 0; l < ALONG_LANES && (r->flags & BODY_LOAD); l++) {
        int n = 0;
        if (r->body[l] < 0) continue;
        const ctn_body *const b = &m->bodies[r->body[l]];
        for (int k = b->load; k < b->loads_end && (b->flags & BODY_LOAD); k++) n += m->loads[k].flags == (unsigned)kind;
        most = n > most ? n : most;
    }
    return most;
}

FN int block_load_places(const along_plan *plan, const along_block *block)
{
    int places = 0;
    for (int i = 0; i < block->rows; i++)
        for (int kind = 0; kind < LOAD_KINDS; kind++) places += load_places(plan, &block->row[i], kind);
    return places;
}

/// Those that are contact points.
FN int block_contacts(const along_plan *plan, const along_block *block)
{
    int contacts = 0;
    for (int i = 0; i < block->rows && plan->model->ncontact; i++) contacts += load_places(plan, &block->row[i], LOAD_TOUCHES);
    return contacts;
}

/// The load of a model in the place `at` of those with the flags `kind` of a body; lanes without one have a load of nothing, or
/// touch nothing. Forces in link axes are in those of the body here: lanes have links of their own.
FN point_load load_in_place(const ctn_model *m, int body, int kind, int at)
{
    point_load load = {.flags = (unsigned)kind, .contact = -1};
    if (kind & LOAD_TOUCHES) load.grip = 1, load.radius = -1e12;  // far above the ground
    const ctn_body *const b = &m->bodies[body < 0 ? 0 : body];
    for (int k = b->load; k < b->loads_end && body >= 0 && (b->flags & BODY_LOAD); k++) {
        const point_load *const s = &m->loads[k];
        if (s->flags != (unsigned)kind || at-- != 0) continue;
        load = *s;
        const double *const R = m->frames[s->link].R;
        for (int i = 0; i < 3 && (kind & LOAD_FOLLOWS); i++) {
            load.force[i] = R[3 * i] * s->force[0] + R[3 * i + 1] * s->force[1] + R[3 * i + 2] * s->force[2];
            load.torque[i] = R[3 * i] * s->torque[0] + R[3 * i + 1] * s->torque[1] + R[3 * i + 2] * s->torque[2];
        }
        break;
    }
    load.link = 0;
    return load;
}

/// Places for the loads of a row.
FN void load_loads(lane_rows *B, int row)
{
    const along_row *const r = &B->block->row[row];
    lane_body *const b = &B->m.bodies[row];
    b->load = b->loads_end = B->m.nload;
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const int places = load_places(B->plan, r, kind);
        for (int at = 0; at < places; at++) {
            lane_point_load *const to = &B->m.loads[b->loads_end++];
            to->body = row, to->number = 0, to->link = 0, to->flags = (unsigned)kind, to->contact = 0, to->displaced = 0;
            to->motor = 0, to->surface = to->opposite = to->rolls = 0;  // the ground: others do not go along the links
            if (!(kind & LOAD_TOUCHES)) continue;
            to->contact = B->m.ncontact++, B->m.nbent++;
            for (int l = 0; l < LANES; l++)
                B->contact[to->contact][l] = load_in_place(B->plan->model, r->body[B->first + l], kind, at).contact;
        }
    }
    B->m.nload = b->loads_end;
}

/// The numbers of all loads, from those of `from`: the plan's model, or one that has the same loads with other numbers.
FN void load_numbers(lane_rows *B, const ctn_model *from)
{
    for (int i = 0, at = 0; i < B->m.nload; i++) {
        lane_point_load *const to = &B->m.loads[i];
        point_load of[LANES];
        at = i && to[-1].body == to->body && to[-1].flags == to->flags ? at + 1 : 0;
        for (int l = 0; l < LANES; l++)
            of[l] = load_in_place(from, B->block->row[to->body].body[B->first + l], (int)to->flags, at);
        for (size_t k = 0; k < LOAD_NUMBERS; k++) {
            double lane[LANES] __attribute__((aligned(64)));
            for (int l = 0; l < LANES; l++) lane[l] = (&of[l].stiffness)[k];
            (&to->stiffness)[k] = lane_load(lane);
        }
    }
}

// ---- motors: one a row, where one of its bodies has one

FN int block_motors(const along_block *block)
{
    int motors = 0;
    for (int i = 0; i < block->rows; i++) motors += (block->row[i].flags & BODY_MOTOR) != 0;
    return motors;
}

/// What the motor of a body is told over time of the number t, counted through those of motor_told and their components; NULL:
/// nothing.
FN const ctn_signal *signal_of(const ctn_model *m, int body, int t)
{
    if (body < 0 || !(m->bodies[body].flags & BODY_MOTOR)) return NULL;
    const int n = m->motors[m->bodies[body].motor].moves[t / 3][t % 3];
    return n ? &m->signals[n - 1] : NULL;
}

/// Whether two signals differ by numbers alone, so that lanes can have them side by side.
FN bool of_one_kind(const ctn_signal *s, const ctn_signal *t)
{
    return s->kind == t->kind && s->hold == t->hold && (s->ramp > 0) == (t->ramp > 0) && (s->period > 0) == (t->period > 0);
}

/// The lane of the plan's block that has the first signal of the kind that lane l has; -1: it has none.
FN int first_of_kind(const along_plan *plan, const along_row *r, int l, int told)
{
    const ctn_signal *const s = signal_of(plan->model, r->body[l], told);
    for (int k = 0; s && k <= l; k++) {
        const ctn_signal *const other = signal_of(plan->model, r->body[k], told);
        if (other && of_one_kind(s, other)) return k;
    }
    return -1;
}

FN int block_signals(const along_plan *plan, const along_block *block)
{
    int signals = 0;
    for (int i = 0; i < block->rows; i++)
        for (int told = 0; told < 3 * MOTOR_TOLD && (block->row[i].flags & BODY_MOTOR); told++)
            for (int l = 0; l < ALONG_LANES; l++) signals += first_of_kind(plan, &block->row[i], l, told) == l;
    return signals;
}

/// The signals of a row's motor, for all kinds that a lane of the plan's block has, so that the same numbers are added up whatever
/// LANES is. Returns the first one, counted from 1. *follows: whether a lane's velocity goes by its target
FN int load_signals(lane_rows *B, int row, int told, int *follows)
{
    enum { NUMBERS = 7 };
    const along_row *const r = &B->block->row[row];
    const ctn_model *const m = B->plan->model;
    int first = 0;
    for (int l = 0; l < ALONG_LANES; l++) {
        if (first_of_kind(B->plan, r, l, told) != l) continue;
        const ctn_signal *const kind = signal_of(m, r->body[l], told);
        lane_signal *const to = &B->signals[B->m.nsignal++];
        const double *from[LANES];
        double acts[LANES] __attribute__((aligned(64))), led[LANES] __attribute__((aligned(64)));
        to->kind = kind->kind, to->hold = kind->hold, to->next = first, first = B->m.nsignal;
        for (int k = 0; k < LANES; k++) {
            const int body = r->body[B->first + k];
            const ctn_signal *const own = signal_of(m, body, told);
            const bool has = own && of_one_kind(own, kind);
            to->of[k] = has ? own : kind, from[k] = &to->of[k]->frequency;
            acts[k] = has, led[k] = has && told / 3 == TOLD_TARGET && m->motors[m->bodies[body].motor].follows;
            if (led[k] > 0) *follows = 1;
        }
        to->acts = lane_load(acts), to->follows = lane_load(led);
        lanes_of(from, NUMBERS, &to->frequency);
    }
    return first;
}

/// A place for the motor of a row.
FN void load_motor(lane_rows *B, int row)
{
    const ctn_model *const m = B->plan->model;
    if (!(B->m.bodies[row].flags & BODY_MOTOR)) return;
    lane_motor *const to = &B->m.motors[B->m.bodies[row].motor = B->m.nmotor++];
    memset(to, 0, offsetof(lane_motor, kp));
    to->body = row, to->type = MOTOR_POSITION, to->wound = -1;
    for (int k = 0; k < 3 * MOTOR_TOLD; k++) {
        const int moves = to->moves[k / 3][k % 3] = load_signals(B, row, k, &to->follows);
        if (moves) to->moving = 1;
    }
    for (int l = 0; l < ALONG_LANES; l++) {  // in all lanes of the plan's block, whatever LANES is
        const int body = B->block->row[row].body[l];
        if (body >= 0 && (m->bodies[body].flags & BODY_MOTOR) && m->motors[m->bodies[body].motor].fast) to->fast = 1;
    }
}

/// The numbers of all motors: in each lane those of its own body in a model; of others they do nothing.
FN void motor_numbers(lane_rows *B, const ctn_model *m)
{
    static const joint_motor none = {.effort = INFINITY, .speed = INFINITY};
    for (int k = 0; k < B->m.nmotor; k++) {
        const int *const body = B->block->row[B->m.motors[k].body].body + B->first;
        const double *from[LANES];
        for (int l = 0; l < LANES; l++) {
            const bool has = body[l] >= 0 && (m->bodies[body[l]].flags & BODY_MOTOR);
            from[l] = has ? &m->motors[m->bodies[body[l]].motor].kp : &none.kp;
        }
        lanes_of(from, MOTOR_NUMBERS, &B->m.motors[k].kp);
    }
}

FN void layout_rows(lane_rows *B, const along_plan *plan, int number, arena *a)
{
    const along_block *const block = &plan->block[number / PARTS];
    const size_t n = (size_t)block->rows;
    lane_body *const bodies = TAKE(a, n, lane_body);
    lane_subtree *const subtrees = TAKE(a, n, lane_subtree);
    lane_constants *const constants = TAKE(a, (size_t)block->constants, lane_constants);
    real *const live = TAKE(a, n, real);
    char *const partial = TAKE(a, n, char);
    lane_point_load *const loads = TAKE(a, (size_t)block_load_places(plan, block), lane_point_load);
    lane_motor *const motors = TAKE(a, (size_t)block_motors(block), lane_motor);
    lane_signal *const signals = TAKE(a, (size_t)block_signals(plan, block), lane_signal);
    int(*const contact)[LANES] = (int(*)[LANES])take(a, (size_t)block_contacts(plan, block), sizeof *contact);
    if (!B) return;
    B->plan = plan, B->block = block, B->first = number % PARTS * LANES;
    B->m.bodies = bodies, B->m.subtrees = subtrees, B->constants = constants, B->live = live, B->partial = partial,
    B->m.loads = loads, B->m.motors = motors, B->m.signals = B->signals = signals, B->contact = contact;
}

/// All numbers that may differ between worlds, from a model of the plan's structure; those of loads apart.
FN void rows_numbers(lane_rows *B, const ctn_model *from, double dt)
{
    lane_model *const m = &B->m;
    m->dt = rset(dt);
    for (size_t k = 0; k < WORLD_NUMBERS; k++) (&m->mass)[k] = rset((&from->mass)[k]);
    for (int i = 0, loaded = 0; i < m->nbody; i++) {
        const bool own = B->block->row[i].constants == loaded;  // else a row before it has the same
        body_numbers(B, i, from, own);
        loaded += own;
    }
    motor_numbers(B, from);
}

/// steps: of a world that has a clock; else its motors are told what they are at the time 0.
FN void load_rows(lane_rows *B, double dt, bool steps)
{
    static const ctn_frame plain_frame = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const ctn_model *const from = B->plan->model;
    lane_model *const m = &B->m;
    m->nbody = B->block->rows, m->nlink = 0, m->nq = B->block->nq, m->nv = B->block->nv,
    m->nload = m->nmotor = m->ncontrol = m->ncontact = m->nbent = 0;
    m->nsurface = 0, m->surfaces = NULL;
    m->touch_shapes = NULL, m->touch_pairs = NULL, m->bonds = NULL, m->bond_joints = NULL, m->bond_points = NULL;
    m->matrix_nodes = NULL, m->body_nodes = m->body_columns = m->bond_nodes = NULL;
    m->matrix_groups = NULL, m->body_groups = NULL;
    m->ntouch_shape = m->npair = m->nbond = m->nslot = m->nrow = 0;
    m->frames = &plain_frame, m->dof_adr = NULL, m->in_order = true, m->passive = from->passive, m->slides = from->slides;
    m->rubs = from->rubs, m->turns = from->turns, m->spins = from->spins, m->skew = from->skew,
    m->adds = m->fast = m->published = false;
    m->nsignal = m->nwound = 0, m->clock = steps ? &B->clock : NULL, m->wound = m->by_target = m->by_wound = m->by_bent = m->by_contact = NULL,
    m->time = 0;
    memset(&B->clock, 0, sizeof B->clock);
    for (int i = 0; i < m->nbody; i++) load_row(B, i), load_loads(B, i), load_motor(B, i);
    rows_numbers(B, from, dt), load_numbers(B, from);
    m->nsignal = from->nsignal;  // so that all blocks do the same
}

/// count_turns() of rows, which join bodies with springs and others.
KERNEL void count_row_turns(const lane_rows *B, real *q, real *earlier, real *turns)
{
    for (int i = 0; i < B->m.nbody && B->m.turns; i++) {
        const along_row *const r = &B->block->row[i];
        double free[LANES] __attribute__((aligned(64)));
        if (r->kind != JOINT_REVOLUTE) continue;
        const mask many = many_turns(q[r->qadr]);
        if (!any_of(many)) continue;
        for (int l = 0; l < LANES; l++) {
            const int body = r->body[B->first + l];
            free[l] = body >= 0 && !(B->plan->model->bodies[body].flags & (BODY_SPRING | BODY_SERVO));
        }
        count_turn(q + r->qadr, earlier ? earlier + r->qadr : NULL, turns + r->vadr, both(many, gt(lane_load(free), rset(0))));
    }
}

/// Numbers of a model's array, by degree of freedom (velocity) or by coordinate, into the rows, and back. What lanes without a
/// body get: 0, and for balls the quaternion 1.
FN void rows_in(const lane_rows *B, bool velocity, const double *from, real *to)
{
    for (int i = 0; i < B->m.nbody; i++) {
        const along_row *const r = &B->block->row[i];
        const int n = velocity ? r->nv : r->nq, *const at = (velocity ? r->v : r->q) + B->first, *const body = r->body + B->first;
        double *const out = (double *)(to + (velocity ? r->vadr : r->qadr));
        for (int l = 0; n && l < LANES; l++)
            for (int k = 0; k < n; k++) out[k * LANES + l] = body[l] >= 0 ? from[at[l] + k] : !velocity && n == 4 && !k ? 1 : 0;
    }
}
FN void rows_out(const lane_rows *B, bool velocity, const real *from, double *to)
{
    for (int i = 0; i < B->m.nbody; i++) {
        const along_row *const r = &B->block->row[i];
        const int n = velocity ? r->nv : r->nq, *const at = (velocity ? r->v : r->q) + B->first, *const body = r->body + B->first;
        const double *const in = (const double *)(from + (velocity ? r->vadr : r->qadr));
        for (int l = 0; n && l < LANES; l++)
            for (int k = 0; body[l] >= 0 && k < n; k++) to[at[l] + k] = in[k * LANES + l];
    }
}

// ---- ports: what lanes carry along, lane by lane

/// The segment that begins in lane l of a port; -1: none.
FN int segment_at(const lane_rows *B, int row, int l) { return B->block->row[row].body[B->first + l]; }

/// The segment in lane l that ends before a port at which another one begins, or where the level ends; -1: none.
FN int segment_before(const lane_rows *B, int row, int l)
{
    const int s = segment_at(B, row, l);
    return s < 0 ? -1 : B->plan->segment[s].follows;
}
FN int last_segment(const lane_rows *B, int level_at, int l) { return B->block->last[level_at][B->first + l]; }

/// n numbers into lane l of what lanes carry.
FN void set_lane(void *thing, int l, int n, const double *from)
{
    for (int k = 0; k < n; k++) ((double *)thing)[k * LANES + l] = from[k];
}

/// The numbers that lane l carries, of n in `thing`, to an array.
FN void leave_lane(const void *thing, int l, int n, double *to)
{
    for (int k = 0; k < n; k++) to[k] = ((const double *)thing)[k * LANES + l];
}

#endif
