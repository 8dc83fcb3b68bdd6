/// Steps along the links of whatever method.
#ifndef CATENA_ALONG_WORLD_H
#define CATENA_ALONG_WORLD_H

/// Whether steps of a configuration can be made along the links.
static bool world_steps(const ctn_batch_config *cfg)
{
    if (cfg->adaptive) return false;
    return is_explicit(cfg) || cfg->method == CTN_VARIATIONAL || along_steps(cfg) ||
           (cfg->method == CTN_RADAU && cfg->solver == CTN_NEWTON);
}

/// Steps of any kind.
static int world_run(along_world *w, pool *threads, const ctn_batch_config *cfg, engine_clock clock, double *flat,
                     const double *tau, size_t stride, int steps, bool energy, ctn_step_stats *stats)
{
    if (cfg->method == CTN_VARIATIONAL) return variational_run(w, threads, cfg, flat, tau, stride, steps, energy, stats);
    if (is_explicit(cfg)) return explicit_run(w, threads, cfg, clock, flat, tau, stride, steps, energy, stats);
    if (w->coupled) return along_run(w, threads, cfg, true, clock, flat, tau, stride, steps, energy, stats);
    return along_run(w, threads, cfg, false, clock, flat, tau, stride, steps, energy, stats);
}

#endif
