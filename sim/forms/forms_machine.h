/// A tree on a device: its memory, jobs of its links, scans, placed and moving links. For the file that defines the machine as
/// sim/engine/device_table.h says, but for
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
#ifndef CATENA_SIM_FORMS_FORMS_MACHINE_H
#define CATENA_SIM_FORMS_FORMS_MACHINE_H

#include "dynamics/trig.h"
#include "sim/forms/forms_device.h"
#include "sim/forms/forms_tiles.h"
#include "sim/forms/pieces.h"
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
    ROOM_STARS,
    ROOM_BEHIND,
    ROOM_BEFORE,
    ROOM_FAULT,
    ROOMS
};

enum { SENT = 12 };

struct machine_solver;

struct forms_there {
    ctn_tree tree, *there;  // its arrays are the device's, and so is the copy of it
    int steps;              // of its tour, until the last link is entered: tree_lp() of that, and 1
    int levels;             // of heavy paths
    const pieces *cut;      // the CPU's, for levels and batches
    pieces *cut_there;
    void *sent[SENT];
    int sents;
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

static void close_there(forms_there *d)
{
    if (!d) return;
    if (d->solver) solver_close(d->solver);
    for (int k = 0; k < d->sents; k++) machine_free(d->sent[k]);
    for (int k = 0; k < ROOMS; k++) machine_free(d->room[k]);
    free(d);
}

static size_t bytes_there(const forms_there *d) { return d->bytes + (d->solver ? solver_bytes(d->solver) : 0); }

/// `count` elements of the CPU's on the device. false: there is no memory, or it has failed.
template <class T> static bool send_array(forms_there *d, const T *from, size_t count, T **to)
{
    *to = NULL;
    if (!count) return true;
    *to = (T *)machine_allocate(count * sizeof(T));
    if (!*to) return false;
    d->sent[d->sents++] = *to, d->bytes += count * sizeof(T);
    return machine_copy((void *)*to, from, count * sizeof(T), TO_DEVICE, NULL);
}

static forms_there *open_there(const ctn_tree *t, const pieces *cut, ctn_error *err)
{
    const size_t n = (size_t)t->n;
    forms_there *const d = (forms_there *)calloc(1, sizeof(forms_there));
    if (!d) {
        fail(err, CTN_NO_MEMORY, "no memory for forms on a device");
        return NULL;
    }
    ctn_tree *const to = &d->tree;
    pieces there;
    memset(&there, 0, sizeof there);
    to->n = t->n, to->npath = t->npath, d->levels = t->nlevel, d->cut = cut;
    d->steps = 2 * t->n - t->depth[t->n - 1];
    there.slots = cut->slots;
    for (int i = 0; i < 3; i++) to->gravity[i] = t->gravity[i];
    if (send_array(d, t->links, n, &to->links) && send_array(d, t->parent, n, &to->parent) &&
        send_array(d, t->end, n, &to->end) && send_array(d, t->given, n, &to->given) && send_array(d, t->place, n, &to->place) &&
        send_array(d, t->tour, 2 * n, &to->tour) && send_array(d, t->on, n, &to->on) &&
        send_array(d, t->path, (size_t)t->npath + 1, &to->path) && send_array(d, to, 1, &d->there) &&
        send_array(d, cut->piece, (size_t)cut->count, &there.piece) &&
        send_array(d, cut->node, (size_t)cut->nodes, &there.node) && send_array(d, &there, 1, &d->cut_there))
        return d;
    close_there(d);
    fail(err, CTN_NO_MEMORY, "device: it cannot take the tree of %d links: %s", t->n, machine_error());
    return NULL;
}

#endif
