/// Calls of steps of position-based methods along the links: a state out of the flat numbers of a world, steps (along_step.h,
/// along_radau.h), and back.
#ifndef CATENA_ALONG_RUN_H
#define CATENA_ALONG_RUN_H

/// Steps of a position-based method; coupled: those of the world are, a constant in each call.
FN int along_run(along_world *w, along_crew *crew, const ctn_batch_config *cfg, bool coupled, engine_clock clock, double *flat,
                 const double *tau, size_t stride, int steps, bool energy, ctn_step_stats *stats)
{
    const mask all = not_(none_of());
    const real zero = rset(0);
    along_copy copy = {w->self, flat, tau, true};
    along_part start = {.w = w->self, .part = PLACE_START, .clock = clock};
    along_ledger ledger = {.known = false};
    block_counts c;
    step_in_hand step = no_step();
    int made = 0;
    memset(&c, 0, sizeof c), memset(stats, 0, sizeof *stats);
    c.at_fault = no_culprit();
    w->cfg = cfg;
    along_choose(w, crew, (along_mode){.now = true});
    ALONG_RUN(crew, w->count, step_copy, &copy);
    if (is_alpha(cfg)) {
        along_tell(w, crew, TOLD_FRESH, TOLD_FRESH);
        if (!(w->told[TOLD_FRESH] <= 0)) return 0;  // it begins with forward dynamics
    }
    ALONG_EACH(crew, w->count, step_part_of_block, &start);
    along_evaluate(w, crew, false);
    start.part = KEEP_START;
    ALONG_EACH(crew, w->count, step_part_of_block, &start);
    if (energy) {
        real internal;
        ledger.now = along_energy(w, crew, false, false, &internal), ledger.known = true;
        const real sum = energy_sum(ledger.now);
        c.before = c.after = ledger.now, c.energy_min = c.energy_max = sum;
        if (w->plan->model->ncontact) c.depth = rset(w->told[TOLD_DEPTH]);
    }
    for (; made < steps && !asked_to_end(cfg->interrupt); made++) {
        clear_counts(&step.count, all);
        step.flow.work = step.flow.dissipated = zero;
        step.count.flow = energy ? &step.flow : NULL, step.count.interrupt = cfg->interrupt;
        if (tau && stride && made) {
            copy.tau = tau + (size_t)made * stride;
            ALONG_RUN(crew, w->count, step_forces, &copy);
        }
        if (coupled && w->stages > 1 ? !along_stage_step(w, crew, cfg, tau, made, energy, &ledger, &step)
                                     : !along_one_step(w, crew, cfg, coupled, tau, made, energy, &ledger, &step))
            break;
        count_step(&c, &step.count, all, all);
        add_flow(&c.flow, step.flow, all);
        if (energy) note_energy(&c, ledger.now, all);
        if (energy && w->plan->model->ncontact) c.depth = larger_of(c.depth, rset(w->told[TOLD_DEPTH]));
    }
    copy.load = false;
    if (made) ALONG_RUN(crew, w->count, step_copy, &copy);
    lane_stats(&c, 0, stats);
    return made;
}

#endif
