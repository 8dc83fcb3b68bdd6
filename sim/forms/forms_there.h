/// A device's side of forms: its calls. Compiled as CUDA C++ (forms_cuda.cu) and as C++17 (tests/forms_twin.cpp), for a file that
/// defines a machine as forms_machine.h says.
#ifndef CATENA_SIM_FORMS_FORMS_THERE_H
#define CATENA_SIM_FORMS_FORMS_THERE_H

#include "sim/forms/forms_dense.h"
#include "sim/forms/forms_star.h"

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
    jsiia_there,
    star_there};

#endif
