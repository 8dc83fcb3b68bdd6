/// The adjoint of a position-based step of order 2: gradients of a scalar by the state before the step and by the joint forces, from
/// its gradients by the state after it. (docs/theory.md 4.6)
///
/// The solution x of the step has residual r(x; q, V, rate, tau) = 0, so that with the Newton matrix H at x, symmetric,
///
///     x_bar = q'_bar + (what V' = (T(x) - T(q))/h and rate' = u/h add),   y = H^-1 x_bar,   every other bar -= (dr/d.)' y.
///
/// y is a virtual motion: y'r = sum <a M / h^2, [xi]T> + joint terms, and a = T - T_k - h V makes the derivatives by T_k and V those of
/// inner products. One factorisation, one solve, and a pass each way: O(N). H is taken with all of its curvature.
#ifndef CATENA_POSITION_ADJOINT_H
#define CATENA_POSITION_ADJOINT_H

/// Gradient by a state, in tangent coordinates of q. Explicit methods: q and v. Position-based ones: v stands for the joint rates, and
/// V for the four columns of each body that has mass, in the order of the bodies.
typedef struct {
    real *q, *v;   // [nv]
    rate_pose *V;  // [bodies with mass]
} state_bar;

/// Scratch of one lane block, arrays [nbody] but for x, u, y, b, v.
typedef struct {
    solve W;
    tree_factors F;
    twist *motion;
    wrench *load;
    vec3 *moment;
    rate_pose *M;             // [bodies with mass]
    real *x, *u, *y, *b, *v;  // x [nq], others [nv]
} position_adjoint;

/// Bodies with mass, which have columns V.
FN int masses_of(const ctn_model *m)
{
    int n = 0;
    for (int i = 0; i < m->nbody; i++) n += (m->bodies[i].flags & BODY_MASS) != 0;
    return n;
}

/// [xi] T: how a pose changes that moves with a twist.
FN rate_pose moved_by(twist t, mat3 R)
{
    rate_pose d;
    d.R.x = cross(t.w, R.x), d.R.y = cross(t.w, R.y), d.R.z = cross(t.w, R.z), d.p = t.v;
    return d;
}

/// X M with the pseudo-inertia M of a body: momentum of the columns X.
FN rate_pose times_mass(const ctn_body *b, rate_pose X)
{
    const sym3 S = const_sym(b->S);
    const vec3 c = const3(b->h);
    rate_pose Y;
    Y.R.x = add_scaled(mul(X.R, vec(S.xx, S.xy, S.xz)), X.p, c.x);
    Y.R.y = add_scaled(mul(X.R, vec(S.xy, S.yy, S.yz)), X.p, c.y);
    Y.R.z = add_scaled(mul(X.R, vec(S.xz, S.yz, S.zz)), X.p, c.z);
    Y.p = add_scaled(mul(X.R, c), X.p, rset(b->mass));
    return Y;
}

FN rate_pose columns_add_scaled(rate_pose a, rate_pose b, real s)
{
    a.R.x = add_scaled(a.R.x, b.R.x, s), a.R.y = add_scaled(a.R.y, b.R.y, s), a.R.z = add_scaled(a.R.z, b.R.z, s);
    a.p = add_scaled(a.p, b.p, s);
    return a;
}

/// The wrench w with <X, [xi]T> = w.xi.
FN wrench wrench_on(mat3 R, rate_pose X)
{
    wrench w;
    w.n = cross_add(cross_add(cross(R.x, X.R.x), R.y, X.R.y), R.z, X.R.z), w.f = X.p;
    return w;
}

FN vec3 offset_of(const ctn_body *b, const placement *T) { return has_arm(form_of(b)) ? T->r : zero3(); }

/// Twists of the bodies at T when the joints move with v.
KERNEL void joint_twists(const ctn_model *m, const placement *T, const real *v, twist *V)
{
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const joint_form f = form_of(b);
        twist t;
        t.w = joint_turn(b, f, T[i].R, v), t.v = joint_slide(b, f, T[i].R, v);
        if (!(f.flags & BODY_ROOT)) {
            const twist *up = &V[b->parent];
            t.w = add(t.w, up->w), t.v = add(t.v, cross_add(up->v, up->w, offset_of(b, &T[i])));
        }
        V[i] = t;
    }
}

/// Adds S_j' (sum over what hangs on j of w) to b [nv]. w becomes the sums.
KERNEL void add_joint_rows(const ctn_model *m, const placement *T, wrench *w, real *b_)
{
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++) {
            vec3 s, l;
            subspace_column(b, form_of(b), T[i].R, k, &s, &l);
            b_[b->vadr + k] = b_[b->vadr + k] + along(s, l, w[i]);
        }
        if (!(b->flags & BODY_ROOT)) w[b->parent] = wrench_add(w[b->parent], wrench_shift(w[i], offset_of(b, &T[i])));
    }
}

/// Adds the gradients of sign sum <L, [xi]T> by q and v (v_bar may be NULL), where the bodies at T = T(q) move with the joint
/// velocities v. L: columns of the bodies with mass. A joint that moves carries along the part of the motion beyond it:
/// d([xi]T) = [S][xi]T + [xi_p x S]T.
KERNEL void rate_pullback(const ctn_model *m, const placement *T, const real *v, const rate_pose *L, real sign,
                          position_adjoint *A, real *q_bar, real *v_bar)
{
    joint_twists(m, T, v, A->motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        A->load[i] = wrench_zero(), A->moment[i] = zero3();
        if (!(m->bodies[i].flags & BODY_MASS)) continue;
        const rate_pose X = L[k++], V = moved_by(A->motion[i], T[i].R);
        A->load[i] = wrench_on(T[i].R, X);
        A->moment[i] = add(wrench_on(V.R, X).n, cross(V.p, X.p));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        const ctn_body *b = &m->bodies[i];
        const wrench w = A->load[i];
        const vec3 r = offset_of(b, &T[i]);
        const bool root_body = b->flags & BODY_ROOT;
        twist up;
        up.w = up.v = zero3();
        if (!root_body) up.w = A->motion[b->parent].w, up.v = cross_add(A->motion[b->parent].v, up.w, r);
        for (int k = 0; k < b->nv; k++) {
            vec3 s, l;
            subspace_column(b, form_of(b), T[i].R, k, &s, &l);
            const real g = dot_add(dot_add(dot(s, A->moment[i]), cross(up.w, s), w.n), cross_add(cross(up.w, l), up.v, s), w.f);
            const int j = b->vadr + k;
            q_bar[j] = fmadd(sign, g, q_bar[j]);
            if (v_bar) v_bar[j] = fmadd(sign, along(s, l, w), v_bar[j]);
        }
        if (root_body) continue;
        A->load[b->parent] = wrench_add(A->load[b->parent], wrench_shift(w, r));
        A->moment[b->parent] = add(A->moment[b->parent], A->moment[i]);
    }
}

/// Factors the Newton matrix at the end of the step of size h from `before` to `after`, both as carried.
KERNEL void position_prepare(const ctn_model *m, real h, const position_state *before, const position_state *after,
                             const real *tau, position_adjoint *A)
{
    solve *W = &A->W;
    W->in.q = before->q, W->in.rate = before->rate, W->in.tau = tau, W->in.x = A->x, W->in.u = A->u, W->V = before->V;
    set_step_size(W, h);
    find_placements(m, before->q, W->start);
    start_step(m, W);
    for (int k = 0; k < m->nq; k++) A->x[k] = after->q[k];
    for (int k = 0; k < m->nv; k++) A->u[k] = h * after->rate[k];
    evaluate(m, W);
    residual(m, W);
    const sym3 zero = sym_diagonal(rset(0), rset(0), rset(0));
    for (int i = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const bool massive = b->flags & BODY_MASS;
        tree_node *n = &A->F.node[i];
        n->R = W->now[i].R, n->r = offset_of(b, &W->now[i]), n->w = W->sum[i], n->mass = rset(b->mass) * W->in.k2;
        n->A = massive ? W->body[i].A : zero, n->h = massive ? W->body[i].b : zero3();
        n->k = has_terms(b, tau) ? W->terms[i].k : zero;
    }
    tree_factor(m, &A->F);
}

/// What the terms of a ball give for y: gradients by q, rate and tau of y'D(u)'g(u), with u = log(q' x) and
/// g = C u / h + (limit's damper) + J (u - h rate)/h^2 - tau; negated. (joint_terms.h)
FN void ball_pullback(const ctn_body *b, const solve *W, const real *y_, real *q_bar, real *rate_bar, real *tau_bar)
{
    const terms_input *in = &W->in;
    const int j = b->vadr;
    const vec3 o = zero3(), u = ball_increment(b, in->q, in->x), rate = vec(in->rate[j], in->rate[j + 1], in->rate[j + 2]);
    const vec3 tau = in->tau ? vec(in->tau[j], in->tau[j + 1], in->tau[j + 2]) : o;
    const vec3 y = chart_velocity(u, vec(y_[0], y_[1], y_[2]));  // D y
    const vec3 c = scale(const3(b->damping), in->inv_h), a = sub_scaled(u, rate, in->h);
    const real J = rset(b->armature) * in->k2;
    vec3 g = sub(vec(fmadd(c.x, u.x, J * a.x), fmadd(c.y, u.y, J * a.y), fmadd(c.z, u.z, J * a.z)), tau);
    vec3 z = vec((c.x + J) * y.x, (c.y + J) * y.y, (c.z + J) * y.z), by_start = o;
    if (b->flags & BODY_SPRING) {
        // the normal n of the cone is that at the start
        const vec3 s = ball_turn(b, in->q);
        const real angle = root(dot(s, s));
        const mask out = gt(beyond(angle, b->limit), rset(0));
        const real i = rset(1) / sel(out, angle, rset(1)), cl = sel(out, rset(b->limit_b), rset(0)) * in->inv_h;
        const vec3 n = scale(s, i);
        const real nu = dot(n, u), ny = dot(n, y);
        g = add_scaled(g, n, cl * nu);
        z = add_scaled(z, n, cl * ny);
        const vec3 by_n = scale(add_scaled(scale(y, nu), u, ny), cl * i);
        by_start = chart_velocity(vec(negate(s.x), negate(s.y), negate(s.z)), sub_scaled(by_n, n, dot(n, by_n)));
    }
    // du = -D' dq
    z = add(z, chart_slope(u, vec(y_[0], y_[1], y_[2]), g));
    const vec3 by_q = sub(chart_velocity(u, z), by_start), by_rate = scale(y, J * in->h);
    q_bar[0] = q_bar[0] + by_q.x, q_bar[1] = q_bar[1] + by_q.y, q_bar[2] = q_bar[2] + by_q.z;
    rate_bar[0] = rate_bar[0] + by_rate.x, rate_bar[1] = rate_bar[1] + by_rate.y, rate_bar[2] = rate_bar[2] + by_rate.z;
    tau_bar[0] = tau_bar[0] + y.x, tau_bar[1] = tau_bar[1] + y.y, tau_bar[2] = tau_bar[2] + y.z;
}

/// The same for other joints, where u = x - q in every coordinate.
FN void plain_pullback(const ctn_body *b, const solve *W, const real *y, real *q_bar, real *rate_bar, real *tau_bar)
{
    const mask out =
        b->nv == 1 && (b->flags & BODY_SPRING) ? gt(magnitude(beyond(W->in.q[b->qadr], b->limit)), rset(0)) : none_of();
    const real J = rset(b->armature) * W->in.k2;
    for (int k = 0; k < b->nv; k++) {
        const real c = (rset(b->damping[k]) + sel(out, rset(b->limit_b), rset(0))) * W->in.inv_h;
        q_bar[k] = fmadd(c + J, y[k], q_bar[k]);
        rate_bar[k] = fmadd(J * W->in.h, y[k], rate_bar[k]);
        tau_bar[k] = tau_bar[k] + y[k];
    }
}

/// After position_prepare(): gradients by the state before the step, and added to tau_bar [nv], from those by the state after it.
KERNEL void position_pullback(const ctn_model *m, position_adjoint *A, const state_bar *after, const state_bar *before,
                              real *tau_bar)
{
    const solve *W = &A->W;
    const real inv_h = W->in.inv_h;
    for (int k = 0; k < m->nv; k++) A->b[k] = after->q[k], before->q[k] = before->v[k] = rset(0);
    // V' = (T(x) - T(q)) / h and rate' = u / h
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        A->load[i] = wrench_zero();
        if (b->flags & BODY_MASS) {
            const wrench w = wrench_on(W->now[i].R, after->V[k++]);
            A->load[i].n = scale(w.n, inv_h), A->load[i].f = scale(w.f, inv_h);
        }
        const int j = b->vadr;
        const real *rate = after->v + j;
        if (b->kind == JOINT_BALL) {
            const vec3 u = ball_increment(b, W->in.q, W->in.x), l = scale(vec(rate[0], rate[1], rate[2]), inv_h);
            const vec3 x = chart_velocity(vec(negate(u.x), negate(u.y), negate(u.z)), l), q = chart_velocity(u, l);
            A->b[j] = A->b[j] + x.x, A->b[j + 1] = A->b[j + 1] + x.y, A->b[j + 2] = A->b[j + 2] + x.z;
            before->q[j] = negate(q.x), before->q[j + 1] = negate(q.y), before->q[j + 2] = negate(q.z);
        } else
            for (int e = 0; e < b->nv; e++) {
                A->b[j + e] = fmadd(inv_h, rate[e], A->b[j + e]);
                before->q[j + e] = negate(inv_h * rate[e]);
            }
    }
    add_joint_rows(m, W->now, A->load, A->b);
    tree_solve(m, &A->F, A->b, A->y);

    // a = T - T_k - h V: by V, h Q with Q = [xi]T M / h^2; by T_k, Q, less what V' took
    joint_twists(m, W->now, A->y, A->motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const int j = b->vadr;
        A->load[i] = wrench_zero();
        if (b->flags & BODY_MASS) {
            const rate_pose P = times_mass(b, moved_by(A->motion[i], W->now[i].R)), L = after->V[k];
            const rate_pose zero = zero_rate();
            A->load[i] = wrench_on(W->start[i].R, columns_add_scaled(columns_add_scaled(zero, P, W->in.k2), L, negate(inv_h)));
            before->V[k++] = columns_add_scaled(zero, P, inv_h);
        }
        if (b->kind == JOINT_BALL) ball_pullback(b, W, A->y + j, before->q + j, before->v + j, tau_bar + j);
        else plain_pullback(b, W, A->y + j, before->q + j, before->v + j, tau_bar + j);
    }
    add_joint_rows(m, W->start, A->load, before->q);
}

/// From the gradient by the state that starts from (q, v), V = [xi]T and rates v, to those by q and v: added to q_bar, v_bar [nv].
KERNEL void position_start_pullback(const ctn_model *m, const real *q, const real *v, const state_bar *state, position_adjoint *A,
                                    real *q_bar, real *v_bar)
{
    find_placements(m, q, A->W.start);
    for (int k = 0; k < m->nv; k++) q_bar[k] = q_bar[k] + state->q[k], v_bar[k] = v_bar[k] + state->v[k];
    rate_pullback(m, A->W.start, v, state->V, rset(1), A, q_bar, v_bar);
}

/// Adds to the gradient by a state what those by its q and v, q_bar and v_bar [nv], make: v is the velocity nearest to V,
/// H v = S'[momentum of V] + J rate, and with y = H^-1 v_bar the scalar changes by sum <(V - [xi_v]T) M, [xi_y]T> + ...
KERNEL void position_output_pullback(const ctn_model *m, const position_state *S, const real *q_bar, const real *v_bar,
                                     position_adjoint *A, const state_bar *state)
{
    placement *T = A->W.start;
    find_placements(m, S->q, T);
    const sym3 zero = sym_diagonal(rset(0), rset(0), rset(0));
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        const real J = rset(b->armature);
        tree_node *n = &A->F.node[i];
        n->R = T[i].R, n->r = offset_of(b, &T[i]), n->w = wrench_zero(), n->mass = rset(b->mass);
        n->A = zero, n->h = zero3(), n->k = sym_diagonal(J, J, J);
        A->load[i] = wrench_zero();
        for (int e = b->vadr; e < b->vadr + b->nv; e++) A->b[e] = J * S->rate[e];
        if (!(b->flags & BODY_MASS)) continue;
        n->A = turn(T[i].R, const_sym(b->I)), n->h = mul(T[i].R, const3(b->h));
        A->M[k] = times_mass(b, S->V[i]);
        A->load[i] = wrench_on(T[i].R, A->M[k++]);
    }
    tree_factor(m, &A->F);
    add_joint_rows(m, T, A->load, A->b);
    tree_solve(m, &A->F, A->b, A->v);
    tree_solve(m, &A->F, v_bar, A->y);
    for (int k = 0; k < m->nv; k++) state->q[k] = state->q[k] + q_bar[k];

    joint_twists(m, T, A->v, A->motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        if (!(b->flags & BODY_MASS)) continue;
        A->M[k] = columns_add_scaled(A->M[k], times_mass(b, moved_by(A->motion[i], T[i].R)), rset(-1));
        k++;
    }
    rate_pullback(m, T, A->y, A->M, rset(1), A, state->q, NULL);
    joint_twists(m, T, A->y, A->motion);
    for (int i = 0, k = 0; i < m->nbody; i++) {
        const ctn_body *b = &m->bodies[i];
        for (int e = b->vadr; e < b->vadr + b->nv; e++) state->v[e] = fmadd(rset(b->armature), A->y[e], state->v[e]);
        if (!(b->flags & BODY_MASS)) continue;
        A->M[k] = times_mass(b, moved_by(A->motion[i], T[i].R));
        state->V[k] = columns_add_scaled(state->V[k], A->M[k], rset(1));
        k++;
    }
    rate_pullback(m, T, A->v, A->M, rset(-1), A, state->q, NULL);
}

#endif
