/// What happened in steps: sums over calls, and freezing in words.
#include "dynamics/model.h"
#include "sim/base/step_stats.h"

#include <catena/batch.h>
#include <math.h>
#include <stdio.h>

const char *ctn_freeze_text(ctn_freeze reason)
{
    switch (reason) {
    case CTN_RUNNING: return "it still runs";
    case CTN_FREEZE_NOT_FINITE: return "its coordinates or velocities became infinite or undefined";
    case CTN_FREEZE_NOT_CONVERGED: return "no step was found, not even after halving it repeatedly";
    case CTN_FREEZE_ANGLE: return "a joint turned by more than 1e4 rad in a step, or beyond 1e6 rad where its turns count (1e3, 1e4 in single precision)";
    case CTN_FREEZE_STEP: return "the step size that the tolerance asks for is too small";
    case CTN_FREEZE_PARTS: return "a step takes more than 100000 parts of the size that the tolerance asks for";
    case CTN_FREEZE_WORK: return "a step takes more than 300000 evaluations of its equations";
    case CTN_FREEZE_CAPACITY: return "links are near each other at more places than there is room for";
    }
    return "unknown reason";
}

/// What to try with a configuration whose world froze with these statistics.
static const char *remedy(const ctn_batch_config *cfg, const ctn_step_stats *s)
{
    if (s->frozen == CTN_FREEZE_ANGLE)
        return ctn_method_is_implicit(cfg->method) ? "try a smaller dt, or slow it down by damping; springs, limits and targets of position count all turns"
                                                   : "try radau, or a smaller dt";
    if (s->frozen == CTN_FREEZE_NOT_CONVERGED && s->frozen_dof < 0) return "give what moves a mass, or its joint armature";
    if (s->frozen == CTN_FREEZE_WORK)
        return cfg->solver == CTN_NEWTON ? "try a smaller dt, or fewer max_halvings" : "try the solver newton, or a smaller dt";
    if (s->frozen == CTN_FREEZE_CAPACITY)
        return "give `contact` a larger capacity, or exclude links that need not touch each other";
    const bool holds = cfg->method == CTN_RADAU || cfg->method == CTN_ALPHA;  // any stiffness, with parts of any size
    if (s->frozen == CTN_FREEZE_PARTS)
        return holds ? "try a shorter interval, or a larger tolerance" : "try radau, or a shorter interval";
    if (cfg->adaptive) return holds ? "try a larger tolerance, or a fixed dt" : "try radau, or a larger tolerance";
    if (cfg->method == CTN_RADAU) return "try a smaller dt, or more max_halvings";
    return "try radau, or a smaller dt";
}

/// The units of a degree of freedom: of its coordinate, and of its velocity.
static const char *unit_of(const ctn_model *m, int dof, bool rate)
{
    int i = m->nbody - 1;
    while (i > 0 && m->bodies[i].vadr != dof) i--;  // the axes of balls are in between, and turn
    const bool slides =
        m->bodies[i].vadr == dof && (m->bodies[i].kind == JOINT_PRISMATIC || m->bodies[i].kind == JOINT_TRANSLATION);
    return slides ? (rate ? "m/s" : "m") : rate ? "rad/s" : "rad";
}

const char *ctn_freeze_report(const ctn_model *model, const ctn_batch_config *cfg, const ctn_step_stats *s, char *text,
                              size_t size)
{
    if (!text || !size) return text;
    int n = snprintf(text, size, "%s", s ? ctn_freeze_text(s->frozen) : "");
    const ctn_link *link = NULL;
    if (!s || s->frozen == CTN_RUNNING) return text;
    for (int l = 0; model && l < model->nlink && s->frozen_dof >= 0; l++)
        if (s->frozen_dof >= model->links[l].vadr && s->frozen_dof < model->links[l].vadr + model->links[l].nv)
            link = &model->links[l];
#define ADD(...) (n = n < (int)size ? n + snprintf(text + n, size - (size_t)n, __VA_ARGS__) : n)
    if (link) {
        ADD(": joint '%s'", link->name);
        if (link->nv > 1) ADD(" (degree of freedom %d)", s->frozen_dof - link->vadr);
        const char *const rate = unit_of(model, s->frozen_dof, true);
        if (isfinite(s->frozen_position))
            ADD(" was last at %.6g %s, moving at %.6g %s", s->frozen_position, unit_of(model, s->frozen_dof, false),
                s->frozen_velocity, rate);
        else ADD(" was last moving at %.6g %s", s->frozen_velocity, rate);
        if (s->frozen == CTN_FREEZE_NOT_CONVERGED && isfinite(s->frozen_residual))
            ADD(", where %.3g of its scale of force is left over", s->frozen_residual);
        else if (s->frozen == CTN_FREEZE_NOT_CONVERGED) ADD(", whose equation is not finite");
    } else if (s->frozen == CTN_FREEZE_NOT_CONVERGED && s->frozen_dof < 0)
        ADD(": every joint's equation holds at the start of the step, but no motion follows from them");
    if (cfg) ADD("; %s", remedy(cfg, s));
#undef ADD
    return text;
}

void ctn_step_stats_add(ctn_step_stats *sum, const ctn_step_stats *next)
{
    if (!sum || !next) return;
    // what whoever moved a target, or a spring, between both has put in; less is rounding of sums in other orders
    const double jump = next->spring_before - sum->spring_after,
                 told = fabs(jump) > 1e-9 * fabs(next->spring_before) ? jump : 0;
#define TOTAL(x) sum->x += next->x;
#define MOST(x) sum->x = sum->x > next->x ? sum->x : next->x;
#define LEAST(x) sum->x = sum->x < next->x ? sum->x : next->x;
#define FIRST(x)
#define LAST(x) sum->x = next->x;
#define BALANCE(x)
#define STAT(member, type, adds, of, unit, about) adds(member)
    STEP_STATS(STAT)
    if (told != 0) sum->work += told;
    // as in one call with all these steps, to the last bit (integrators/energy.h)
    sum->created = (sum->kinetic_after - sum->kinetic_before) + (sum->potential_after - sum->potential_before) +
                   (sum->spring_after - sum->spring_before) - sum->work + sum->dissipated;
}
