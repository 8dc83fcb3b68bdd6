/// A device's side of forms, for the file that defines the machine as sim/engine/device_table.h says, but for
///
///     machine_each(job, count, states)   Job::run(job, state, k) for k = 0 .. count - 1 of all states, in any order
///     machine_fold(scan, states)         the products of all tiles of a scan (forms_tiles.h) to its parts
///     machine_join(scan, states)         by one block a state: what is before each part, instead of it; all behind the last
///     machine_spread(scan, states)       every tile from its part, or, if it is the only one, from the beginning
///     machine_solver                     room and library for Cholesky of dense matrices:
///     solver_open(err), solver_close(s)
///     solver_bytes(s)                    of the device's memory
///     solver_solve(s, n, count, A, b, row, err)   A x = b for `count` of them, A [count][n][n] positive definite, b [count][n];
///                                        both are overwritten, b by x. *row: 0, or from 1 the first row that is not positive in
///                                        the first A that is not. What is done to one does not hang on how many there are
///
/// Compiled as CUDA C++ (forms_cuda.cu) and as C++17 (tests/forms_twin.cpp).
#ifndef CATENA_FORMS_THERE_H
#define CATENA_FORMS_THERE_H

#include "dynamics/trig.h"
#include "sim/forms/forms_device.h"
#include "sim/forms/forms_tiles.h"
#include "sim/base/status.h"

#include <stdlib.h>

/// Links of all states or columns that are side by side, and elements of dense matrices, at most, if they are several.
enum { LINKS_AT_ONCE = 1 << 20, ELEMENTS_AT_ONCE = 1 << 26 };

enum there_slot {
    ROOM_NUMBERS,
    ROOM_LOCAL,
    ROOM_POSE,
    ROOM_JOINT,
    ROOM_V,
    ROOM_A,
    ROOM_PARTS,
    ROOM_ORIGIN,
    ROOM_COMPOSITE,
    ROOM_DENSE,
    ROOM_COLUMNS,
    ROOM_SUMS,
    ROOMS
};

enum { TREE_ARRAYS = 5 };

struct machine_solver;

struct forms_there {
    ctn_tree tree, *there;  // its arrays are the device's, and so is the copy of it
    int steps;              // of its tour, until the last link is entered: tree_lp() of that, and 1
    void *array[TREE_ARRAYS];
    void *room[ROOMS];
    size_t size[ROOMS], bytes;
    machine_solver *solver;  // NULL: none was needed yet
};

/// What jobs of several states have in common: the arrays of state 0. Those of the others follow.
struct states_call {
    rnea_call call;
    const double *q;
    const v3 *centre;  // [states]; NULL: the origin is that of the first link
};
FN rnea_call call_of(const states_call &c, int state)
{
    rnea_call r = c.call;
    const size_t n = (size_t)r.tree->n, at = (size_t)state * n;
    if (r.v) r.v += at;
    r.a += at, r.tau += at, r.twist += 6 * at;
    r.local += at, r.pose += at, r.joint += at, r.V += at, r.A += at, r.F += at;
    r.origin = c.centre ? c.centre + state : &r.pose->p;
    return r;
}

#define JOB_OF(name, of_link)                                                                                                    \
    struct name {                                                                                                                \
        states_call c;                                                                                                           \
        FN void run(const name &job, int state, int k)                                                                           \
        {                                                                                                                        \
            const rnea_call c = call_of(job.c, state);                                                                           \
            of_link(&c, k);                                                                                                      \
        }                                                                                                                        \
    };
JOB_OF(joint_velocities, joint_velocity)
JOB_OF(joint_accelerations, joint_acceleration)
JOB_OF(wrenches, link_wrench)
JOB_OF(common_twists, common_twist)

struct local_poses {
    states_call c;
    se3 *local;
    FN void run(const local_poses &job, int state, int k)
    {
        const ctn_tree *const t = job.c.call.tree;
        const size_t at = (size_t)state * (size_t)t->n;
        const double q = job.c.q[at + (size_t)t->given[k]];
        double sine, cosine;
        sincosr(q, &sine, &cosine);
        job.local[at + (size_t)k] = link_pose(&t->links[k], q, sine, cosine);
    }
};
struct centres {
    const v3 *part;
    int tiles, n;
    v3 *centre;
    FN void run(const centres &job, int state, int)
    {
        job.centre[state] = v3_scale(job.part[(size_t)state * ((size_t)job.tiles + 1) + (size_t)job.tiles], 1.0 / job.n);
    }
};
struct torques {
    states_call c;
    const vec6 *sum;  // [states][n + 1]
    FN void run(const torques &job, int state, int k)
    {
        const rnea_call c = call_of(job.c, state);
        c.F[k] = subtree_sum<vector_sum>(job.sum + (size_t)state * ((size_t)c.tree->n + 1), c.tree, k);
        joint_torque(&c, k);
    }
};

/// Composite inertias: of links; of subtrees, times the axes of their joints ([L] Listing 9).
struct link_inertias {
    states_call c;
    inertia *I;
    FN void run(const link_inertias &job, int state, int k)
    {
        const rnea_call c = call_of(job.c, state);
        job.I[k] = common_inertia(&c.tree->links[k], &c.pose[k], *c.origin);
    }
};
struct axis_and_force {
    vec6 S, f;
};
struct composites {
    states_call c;
    const inertia *sum;
    axis_and_force *to;
    FN void run(const composites &job, int state, int k)
    {
        const rnea_call c = call_of(job.c, state);
        const inertia I = subtree_sum<inertia_sum>(job.sum, c.tree, k);
        const vec6 S = axis_of(&c, k);
        job.to[k] = (axis_and_force){S, inertia_times(&I, S)};
    }
};
/// All pairs of rows of the inertia: a thread an element, in the order as given.
struct pairs {
    const ctn_tree *tree;
    const axis_and_force *of;
    int first;
    double *H;
    FN void run(const pairs &job, int row, int i)
    {
        const ctn_tree *const t = job.tree;
        const int j = t->place[job.first + row], k = t->place[i];
        double element = 0;
        if (beyond(t, j, k)) element = vec6_dot(job.of[j].S, job.of[k].f);
        else if (beyond(t, k, j)) element = vec6_dot(job.of[k].S, job.of[j].f);
        if (j == k) element += t->links[k].armature;
        job.H[(size_t)row * (size_t)t->n + (size_t)i] = element;
    }
};

/// Columns of the inertia by inverse dynamics with a unit acceleration each ([Y] equation 17): column i of state s is number
/// s n + i, and `first` and those after it are side by side. F [columns][n], sum [columns][n + 1], H [states][n][n].
struct columns_call {
    const ctn_tree *tree;
    const se3 *pose;
    const v3 *centre;
    long long first;
    vec6 *F, *sum;
    double *H;
};
struct one_column {
    int joint;
    const se3 *pose;
    v3 origin;
};
FN one_column column_of(const columns_call &c, int column)
{
    const long long n = c.tree->n, number = c.first + column, state = number / n;
    const se3 *const pose = c.pose + state * n;
    return (one_column){c.tree->place[number % n], pose, c.centre ? c.centre[state] : pose->p};
}
struct column_wrenches {
    columns_call c;
    FN void run(const column_wrenches &job, int column, int k)  // A = S_j throughout the subtree of j, else 0
    {
        const ctn_tree *const t = job.c.tree;
        const one_column o = column_of(job.c, column);
        vec6 F = vec6_zero();
        if (beyond(t, o.joint, k))
            F = wrench_at_rest(&t->links[k], &o.pose[k], o.origin, common_axis(&t->links[o.joint], &o.pose[o.joint], o.origin));
        job.c.F[(size_t)column * (size_t)t->n + (size_t)k] = F;
    }
};
struct column_torques {
    columns_call c;
    FN void run(const column_torques &job, int column, int k)
    {
        const ctn_tree *const t = job.c.tree;
        const size_t n = (size_t)t->n;
        const one_column o = column_of(job.c, column);
        double element = 0;
        if (beyond(t, o.joint, k) || beyond(t, k, o.joint))
            element = vec6_dot(common_axis(&t->links[k], &o.pose[k], o.origin),
                               subtree_sum<vector_sum>(job.c.sum + (size_t)column * (n + 1), t, k));
        if (k == o.joint) element += t->links[k].armature;
        job.c.H[((size_t)job.c.first + (size_t)column) * n + (size_t)t->given[k]] = element;
    }
};
struct right_sides {
    const double *tau;
    double *bias;
    int n;
    FN void run(const right_sides &job, int state, int k)
    {
        const size_t at = (size_t)state * (size_t)job.n + (size_t)k;
        job.bias[at] = job.tau[at] - job.bias[at];
    }
};

/// Vectors of six from the order as given into that of the tree, and back.
struct vectors_in {
    const ctn_tree *tree;
    const double *x;
    vec6 *to;
    FN void run(const vectors_in &job, int, int k)
    {
        const double *const x = job.x + (size_t)6 * (size_t)job.tree->given[k];
        job.to[k] = (vec6){v3_of(x), v3_of(x + 3)};
    }
};
struct vectors_out {
    const ctn_tree *tree;
    const vec6 *from, *sum;  // sum: leaffix of it instead
    double *y;
    FN void run(const vectors_out &job, int, int k)
    {
        const vec6 y = job.sum ? subtree_sum<vector_sum>(job.sum, job.tree, k) : job.from[k];
        double *const to = job.y + (size_t)6 * (size_t)job.tree->given[k];
        v3_to(to, y.w), v3_to(to + 3, y.l);
    }
};

template <class Job> static bool machine_each(const Job &job, int count, int states);
template <class Scan> static bool machine_fold(const Scan &scan, int states);
template <class Scan> static bool machine_join(const Scan &scan, int states);
template <class Scan> static bool machine_spread(const Scan &scan, int states);

static machine_solver *solver_open(ctn_error *err);
static void solver_close(machine_solver *s);
static size_t solver_bytes(const machine_solver *s);
static ctn_status solver_solve(machine_solver *s, int n, int count, double *A, double *b, int *row, ctn_error *err);

static ctn_status lost_there(ctn_error *err)
{
    return fail(err, CTN_UNAVAILABLE, "device: it failed: %s; make the forms anew", machine_error());
}

/// Room for `count` elements. false: there is none, and `err` says so.
template <class T> static bool room(forms_there *d, there_slot slot, size_t count, T **to, ctn_error *err)
{
    const size_t size = count * sizeof(T);
    if (size > d->size[slot]) {
        machine_free(d->room[slot]);
        d->bytes -= d->size[slot], d->size[slot] = 0;
        d->room[slot] = machine_allocate(size);
        if (!d->room[slot]) {
            fail(err, CTN_NO_MEMORY, "device: it has not %.3g GB left for the scans of %d links", (double)size * 1e-9, d->tree.n);
            return false;
        }
        d->size[slot] = size, d->bytes += size;
    }
    *to = (T *)d->room[slot];
    return true;
}

static bool send_there(void *to, const double *from, size_t count)
{
    return machine_copy(to, from, count * sizeof *from, TO_DEVICE, NULL);
}
static bool receive_there(double *to, const void *from, size_t count)
{
    return machine_copy(to, from, count * sizeof *to, FROM_DEVICE, NULL);
}

static int tiles_of(int count) { return (count + TILE - 1) / TILE; }

/// Room for the parts of any scan, of elements as large as a pose.
static bool room_for_parts(forms_there *d, int states, ctn_error *err)
{
    se3 *part;
    return room(d, ROOM_PARTS, (size_t)states * ((size_t)tiles_of(2 * d->tree.n) + 1), &part, err);
}
template <class Scan> static Scan scan_there(const forms_there *d, int count)
{
    Scan s;
    s.tree = d->there, s.count = count, s.tiles = tiles_of(count), s.part = (typename Scan::element *)d->room[ROOM_PARTS];
    return s;
}
template <class Scan> static bool run_scan(const Scan &s, int states)
{
    return (s.tiles == 1 || (machine_fold(s, states) && machine_join(s, states))) && machine_spread(s, states);
}
template <class Operator>
static bool rootfix_there(const forms_there *d, int states, const typename Operator::element *x, typename Operator::element *y)
{
    rootfix_scan<Operator> s = scan_there<rootfix_scan<Operator>>(d, d->steps);
    s.x = x, s.y = y;
    return run_scan(s, states);
}
template <class Operator>
static bool tails_there(const forms_there *d, int states, const typename Operator::element *x, typename Operator::element *sum)
{
    tail_scan<Operator> s = scan_there<tail_scan<Operator>>(d, d->tree.n);
    s.x = x, s.sum = sum;
    return run_scan(s, states);
}

/// Room for `states` states, and their numbers: q, v, a, and the result.
static bool states_room(forms_there *d, ctn_origin origin, int states, states_call *c, double **numbers, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n, all = n * (size_t)states;
    se3 *local, *pose;
    v3 *centre;
    memset((void *)c, 0, sizeof *c);
    if (!room(d, ROOM_NUMBERS, 9 * all, numbers, err) || !room(d, ROOM_LOCAL, all, &local, err) ||
        !room(d, ROOM_POSE, all, &pose, err) || !room(d, ROOM_JOINT, all + (size_t)states, &c->call.joint, err) ||
        !room(d, ROOM_V, all, &c->call.V, err) || !room(d, ROOM_A, all, &c->call.A, err) ||
        !room(d, ROOM_ORIGIN, states, &centre, err) || !room_for_parts(d, states, err))
        return false;
    c->call.tree = d->there, c->call.F = c->call.A, c->call.local = local, c->call.pose = pose;
    c->q = *numbers, c->call.v = *numbers + all, c->call.a = *numbers + 2 * all;
    c->call.tau = c->call.twist = *numbers + 3 * all;
    if (origin == CTN_ORIGIN_CENTRE) c->centre = centre;
    return true;
}

/// Poses in the world, and the common origin.
static bool place_links(forms_there *d, int states, const states_call *c)
{
    const int n = d->tree.n;
    const local_poses poses = {*c, (se3 *)d->room[ROOM_LOCAL]};
    if (!machine_each(poses, n, states) || !rootfix_there<pose_product>(d, states, poses.local, (se3 *)d->room[ROOM_POSE]))
        return false;
    if (!c->centre) return true;
    origins_scan s = scan_there<origins_scan>(d, n);
    s.pose = c->call.pose;
    const centres job = {s.part, s.tiles, n, (v3 *)d->room[ROOM_ORIGIN]};
    return machine_fold(s, states) && machine_join(s, states) && machine_each(job, 1, states);
}

/// Velocities, if there are any.
static bool move_links(forms_there *d, int states, const states_call *c)
{
    const joint_velocities joints = {*c};
    return !c->call.v ||
           (machine_each(joints, d->tree.n, states) && rootfix_there<vector_sum>(d, states, c->call.joint, c->call.V));
}

/// Inverse dynamics of placed links.
static bool load_links(forms_there *d, int states, const states_call *c)
{
    const int n = d->tree.n;
    const joint_accelerations joints = {*c};
    const wrenches links = {*c};
    const torques result = {*c, c->call.joint};
    return move_links(d, states, c) && machine_each(joints, n, states) &&
           rootfix_there<vector_sum>(d, states, c->call.joint, c->call.A) && machine_each(links, n, states) &&
           tails_there<vector_sum>(d, states, c->call.F, c->call.joint) && machine_each(result, n, states);
}

static int states_at_once(const forms_there *d, int count)
{
    const int most = LINKS_AT_ONCE / d->tree.n;
    return count <= most ? count : most > 1 ? most : 1;
}

static ctn_status rnea_there(forms_there *d, ctn_origin origin, int count, const double *q, const double *v, const double *a,
                             double *tau, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    const int group = states_at_once(d, count);
    states_call c;
    double *numbers;
    if (count > 0 && !states_room(d, origin, group, &c, &numbers, err)) return CTN_NO_MEMORY;
    for (int first = 0; first < count; first += group) {
        const int states = count - first < group ? count - first : group;
        const size_t at = (size_t)first * n, all = (size_t)states * n;
        if (!send_there((void *)c.q, q + at, all) || !send_there((void *)c.call.v, v + at, all) ||
            !send_there((void *)c.call.a, a + at, all) || !place_links(d, states, &c) || !load_links(d, states, &c) ||
            !receive_there(tau + at, c.call.tau, all))
            return lost_there(err);
    }
    return CTN_OK;
}

static ctn_status twists_there(forms_there *d, ctn_origin origin, const double *q, const double *v, double *twist, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    states_call c;
    double *numbers;
    if (!states_room(d, origin, 1, &c, &numbers, err)) return CTN_NO_MEMORY;
    const common_twists result = {c};
    return send_there((void *)c.q, q, n) && send_there((void *)c.call.v, v, n) && place_links(d, 1, &c) && move_links(d, 1, &c) &&
                   machine_each(result, d->tree.n, 1) && receive_there(twist, c.call.twist, 6 * n)
               ? CTN_OK
               : lost_there(err);
}

static ctn_status fix_there(forms_there *d, bool leaves, const double *x, double *y, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    double *numbers;
    vec6 *in, *out;
    if (!room(d, ROOM_NUMBERS, 6 * n, &numbers, err) || !room(d, ROOM_V, n, &in, err) || !room(d, ROOM_JOINT, n + 1, &out, err) ||
        !room_for_parts(d, 1, err))
        return CTN_NO_MEMORY;
    const vectors_in take = {d->there, numbers, in};
    const vectors_out give = {d->there, out, leaves ? out : NULL, numbers};
    return send_there(numbers, x, 6 * n) && machine_each(take, d->tree.n, 1) &&
                   (leaves ? tails_there<vector_sum>(d, 1, in, out) : rootfix_there<vector_sum>(d, 1, in, out)) &&
                   machine_each(give, d->tree.n, 1) && receive_there(y, numbers, 6 * n)
               ? CTN_OK
               : lost_there(err);
}

static ctn_status crba_begin_there(forms_there *d, ctn_origin origin, const double *q, ctn_error *err)
{
    const int n = d->tree.n;
    states_call c;
    double *numbers;
    inertia *I, *sum;
    axis_and_force *of;
    if (!states_room(d, origin, 1, &c, &numbers, err) || !room(d, ROOM_COLUMNS, n, &I, err) ||
        !room(d, ROOM_SUMS, n + 1, &sum, err) || !room(d, ROOM_COMPOSITE, n, &of, err))
        return CTN_NO_MEMORY;
    const link_inertias links = {c, I};
    const composites result = {c, sum, of};
    return send_there(numbers, q, (size_t)n) && place_links(d, 1, &c) && machine_each(links, n, 1) &&
                   tails_there<inertia_sum>(d, 1, I, sum) && machine_each(result, n, 1)
               ? CTN_OK
               : lost_there(err);
}

static ctn_status crba_rows_there(forms_there *d, int first, int rows, double *H, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    const int most = ELEMENTS_AT_ONCE / 4 / d->tree.n, group = rows < most ? rows : most;
    double *there;
    if (rows && !room(d, ROOM_DENSE, (size_t)group * n, &there, err)) return CTN_NO_MEMORY;
    for (int done = 0; done < rows; done += group) {
        const int now = rows - done < group ? rows - done : group;
        const pairs job = {d->there, (const axis_and_force *)d->room[ROOM_COMPOSITE], first + done, there};
        if (!machine_each(job, d->tree.n, now) || !receive_there(H + (size_t)done * n, there, (size_t)now * n))
            return lost_there(err);
    }
    return CTN_OK;
}

/// The inertias of `states` placed states, as many columns at a time as there is room for.
static bool columns_there(forms_there *d, int states, int group, columns_call *c)
{
    const long long all = (long long)states * d->tree.n;
    for (c->first = 0; c->first < all; c->first += group) {
        const int now = all - c->first < group ? (int)(all - c->first) : group;
        const column_wrenches wrenches = {*c};
        const column_torques torques = {*c};
        if (!machine_each(wrenches, d->tree.n, now) || !tails_there<vector_sum>(d, now, c->F, c->sum) ||
            !machine_each(torques, d->tree.n, now))
            return false;
    }
    return true;
}

/// [Y] Algorithm 2: the bias and all columns by inverse dynamics side by side, then Cholesky.
static ctn_status jsiia_there(forms_there *d, ctn_origin origin, int count, const double *q, const double *v, const double *tau,
                              double *qdd, int *row, ctn_error *err)
{
    const size_t n = (size_t)d->tree.n;
    const size_t most = ELEMENTS_AT_ONCE / (n * n);
    int group = states_at_once(d, count);
    if ((size_t)group > most) group = most ? (int)most : 1;
    const int columns = states_at_once(d, (int)((size_t)group * n));
    states_call c;
    columns_call h;
    double *numbers;
    *row = 0;
    if (count <= 0) return CTN_OK;
    if (!d->solver && !(d->solver = solver_open(err))) return CTN_UNAVAILABLE;
    if (!states_room(d, origin, group, &c, &numbers, err) || !room(d, ROOM_DENSE, (size_t)group * n * n, &h.H, err) ||
        !room(d, ROOM_COLUMNS, (size_t)columns * n, &h.F, err) || !room(d, ROOM_SUMS, (size_t)columns * (n + 1), &h.sum, err) ||
        !room_for_parts(d, columns > group ? columns : group, err))
        return CTN_NO_MEMORY;
    h.tree = d->there, h.pose = c.call.pose, h.centre = c.centre;
    double *const forces = numbers + 4 * n * (size_t)group;
    for (int first = 0; first < count; first += group) {
        const int states = count - first < group ? count - first : group;
        const size_t at = (size_t)first * n, all = (size_t)states * n;
        const right_sides sides = {forces, c.call.tau, d->tree.n};
        if (!send_there((void *)c.q, q + at, all) || !send_there((void *)c.call.v, v + at, all) ||
            !send_there(forces, tau + at, all) || !machine_zero((void *)c.call.a, all * sizeof *c.call.a) ||
            !place_links(d, states, &c) || !load_links(d, states, &c) || !machine_each(sides, d->tree.n, states) ||
            !columns_there(d, states, columns, &h))
            return lost_there(err);
        const ctn_status status = solver_solve(d->solver, d->tree.n, states, h.H, c.call.tau, row, err);
        if (status || *row) return status;
        if (!receive_there(qdd + at, c.call.tau, all)) return lost_there(err);
    }
    return CTN_OK;
}

static void close_there(forms_there *d)
{
    if (!d) return;
    if (d->solver) solver_close(d->solver);
    for (int k = 0; k < TREE_ARRAYS; k++) machine_free(d->array[k]);
    for (int k = 0; k < ROOMS; k++) machine_free(d->room[k]);
    machine_free(d->there);
    free(d);
}

static size_t bytes_there(const forms_there *d) { return d->bytes + (d->solver ? solver_bytes(d->solver) : 0); }

/// `size` bytes of the CPU's on the device; NULL: there is no memory, or it has failed.
static void *sent(forms_there *d, const void *from, size_t size)
{
    void *const to = machine_allocate(size);
    if (!to) return NULL;
    d->bytes += size;
    if (machine_copy(to, from, size, TO_DEVICE, NULL)) return to;
    machine_free(to);
    return NULL;
}

static forms_there *open_there(const ctn_tree *t, ctn_error *err)
{
    const size_t n = (size_t)t->n;
    forms_there *const d = (forms_there *)calloc(1, sizeof(forms_there));
    if (!d) {
        fail(err, CTN_NO_MEMORY, "no memory for forms on a device");
        return NULL;
    }
    ctn_tree *const to = &d->tree;
    to->n = t->n, d->steps = 2 * t->n - t->depth[t->n - 1];
    for (int i = 0; i < 3; i++) to->gravity[i] = t->gravity[i];
    bool ok = true;
#define SEND(k, field, count)                                                                                                    \
    (ok = ok && (to->field = (decltype(to->field))(d->array[k] = sent(d, t->field, (count) * sizeof *t->field))))
    SEND(0, links, n), SEND(1, given, n), SEND(2, place, n), SEND(3, end, n), SEND(4, tour, 2 * n);
#undef SEND
    if (ok && (d->there = (ctn_tree *)sent(d, to, sizeof *to))) return d;
    close_there(d);
    fail(err, CTN_NO_MEMORY, "device: it cannot take the tree of %d links: %s", t->n, machine_error());
    return NULL;
}

extern "C" const forms_device forms_device_here;  // of the library's ctn_device
extern "C" const forms_device forms_device_here = {
    FORMS_LAYOUT,
    open_there,
    close_there,
    bytes_there,
    [](forms_there *d, const double *x, double *y, ctn_error *err) { return fix_there(d, false, x, y, err); },
    [](forms_there *d, const double *x, double *y, ctn_error *err) { return fix_there(d, true, x, y, err); },
    twists_there,
    rnea_there,
    crba_begin_there,
    crba_rows_there,
    jsiia_there};

#endif
