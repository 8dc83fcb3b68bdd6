/// The dense forms on a device: CRBA and JSIIA. For forms_there.h.
#ifndef CATENA_SIM_FORMS_FORMS_DENSE_H
#define CATENA_SIM_FORMS_FORMS_DENSE_H

#include "sim/forms/forms_machine.h"

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

#endif
