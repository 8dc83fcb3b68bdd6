/// The adjoint of one lane block's steps: whichever the method, gradients by states and joint forces, backwards through time.
///
///     q, v at the start  ->  state  -> ... ->  state  ->  q, v as they are read        each arrow has its adjoint here
#ifndef CATENA_BLOCK_ADJOINT_H
#define CATENA_BLOCK_ADJOINT_H

/// Scratch of a lane block; of the one kind of methods or the other.
typedef struct {
    position_adjoint po;
    explicit_adjoint ex;
    block_state before, after;
    state_bar before_bar, after_bar;
    real *tau, *tau_bar, *q_bar, *v_bar;  // [nv]
    double h;                             // size of the step at hand
} adjoint_work;

/// Makes ready for adjoint_step() of the step of size h from W->before to W->after under W->tau; 0: of project_rates().
KERNEL void adjoint_prepare(const ctn_model *m, const ctn_batch_config *cfg, double h, adjoint_work *W)
{
    W->h = h;
    if (h == 0) return;
    if (position_based(cfg->method)) {
        const position_state before = as_position(&W->before), after = as_position(&W->after);
        position_prepare(m, rset(h), &before, &after, W->tau, &W->po);
    } else explicit_prepare(m, cfg->method, h, W->before.q, W->before.v, W->tau, &W->ex);
}

/// Of project_rates(): the nearest velocity is read from W->before, and W->after starts from it.
KERNEL void adjoint_project(const ctn_model *m, adjoint_work *W)
{
    const position_state before = as_position(&W->before);
    for (int k = 0; k < m->nv; k++) W->q_bar[k] = W->v_bar[k] = W->before_bar.q[k] = W->before_bar.v[k] = rset(0);
    for (int k = 0; k < masses_of(m); k++) W->before_bar.V[k] = zero_rate();
    position_start_pullback(m, W->after.q, W->after.v, &W->after_bar, &W->po, W->q_bar, W->v_bar);
    position_output_pullback(m, &before, W->q_bar, W->v_bar, &W->po, &W->before_bar);
}

/// W->before_bar from W->after_bar; adds to W->tau_bar.
KERNEL void adjoint_step(const ctn_model *m, const ctn_batch_config *cfg, adjoint_work *W)
{
    if (W->h == 0) adjoint_project(m, W);
    else if (position_based(cfg->method)) position_pullback(m, &W->po, &W->after_bar, &W->before_bar, W->tau_bar);
    else explicit_pullback(m, cfg->method, W->h, &W->ex, &W->after_bar, &W->before_bar, W->tau_bar);
}

/// W->q_bar and W->v_bar, by the q and v from which W->before has started, from W->before_bar. v [nv]: those velocities.
KERNEL void adjoint_start(const ctn_model *m, const ctn_batch_config *cfg, const real *v, adjoint_work *W)
{
    if (position_based(cfg->method)) {
        for (int k = 0; k < m->nv; k++) W->q_bar[k] = W->v_bar[k] = rset(0);
        position_start_pullback(m, W->before.q, v, &W->before_bar, &W->po, W->q_bar, W->v_bar);
    } else
        for (int k = 0; k < m->nv; k++) W->q_bar[k] = W->before_bar.q[k], W->v_bar[k] = W->before_bar.v[k];
}

/// Adds to W->after_bar what W->q_bar and W->v_bar make, which are by q and v as read from W->after.
KERNEL void adjoint_output(const ctn_model *m, const ctn_batch_config *cfg, adjoint_work *W)
{
    if (position_based(cfg->method)) {
        const position_state S = as_position(&W->after);
        position_output_pullback(m, &S, W->q_bar, W->v_bar, &W->po, &W->after_bar);
    } else
        for (int k = 0; k < m->nv; k++) {
            W->after_bar.q[k] = W->after_bar.q[k] + W->q_bar[k];
            W->after_bar.v[k] = W->after_bar.v[k] + W->v_bar[k];
        }
}

#endif
