/// The table of what is told of steps: ctn_step_stats, one row a member, in its order. What engines read out of lanes, how
/// statistics of calls add up, what recordings hold and what can be drawn come from here; the commands' summaries say it in their
/// own words.
///
///     stat(member, type, adds, of, unit, about)
///
/// adds: to those of the call before, TOTAL, MOST, LEAST, FIRST (it stays), LAST (the later one), or BALANCE of the others.
/// of: where it is in a lane's `c`, a block_counts (integrators/block_step.h), its energies `before` and `after`, and `created`.
#ifndef CATENA_STEP_STATS_H
#define CATENA_STEP_STATS_H

// clang-format off: a row a line, as tests/walk.sh reads them
#define STEP_STATS(stat)                                                                                                         \
    stat(steps, long, TOTAL, c->steps, "1", "steps of dt since the record before")                                               \
    stat(iterations, long, TOTAL, c->iterations, "1", "Newton iterations since the record before")                               \
    stat(iterations_max, int, MOST, c->iterations_max, "1", "most Newton iterations in one step since the record before")        \
    stat(evaluations, long, TOTAL, c->evaluations, "1",                                                                          \
         "evaluations of the residual or of the acceleration since the record before")                                           \
    stat(line_search, long, TOTAL, c->line_search, "1", "Newton steps shortened since the record before")                        \
    stat(curvature, long, TOTAL, c->curvature, "1", "Newton steps for which curvature was dropped since the record before")      \
    stat(fallbacks, long, TOTAL, c->fallbacks, "1", "steps with fewer stages or in halves since the record before")              \
    stat(fewer_stages, long, TOTAL, c->fewer, "1", "parts of steps with fewer stages since the record before")                   \
    stat(substeps, long, TOTAL, c->substeps, "1", "parts in which the steps since the record before were carried out")           \
    stat(rejected, long, TOTAL, c->rejected, "1",                                                                                \
         "parts repeated as their error was beyond the tolerance, since the record before")                                      \
    stat(residual, double, MOST, c->residual, "1", "largest scaled residual at the end of a step since the record before")       \
    stat(energy_before, double, FIRST, before, "J", "energy that the method carries, at the record before")                      \
    stat(energy_after, double, LAST, after, "J", "energy that the method carries, now")                                          \
    stat(energy_min, double, LEAST, c->energy_min, "J", "least energy that the method carried since the record before")          \
    stat(energy_max, double, MOST, c->energy_max, "J", "most energy that the method carried since the record before")            \
    stat(kinetic_before, double, FIRST, c->before.kinetic, "J", "kinetic part of energy_before")                                 \
    stat(kinetic_after, double, LAST, c->after.kinetic, "J", "kinetic part of energy_after")                                     \
    stat(potential_before, double, FIRST, c->before.potential, "J", "part of gravity in energy_before")                          \
    stat(potential_after, double, LAST, c->after.potential, "J", "part of gravity in energy_after")                              \
    stat(spring_before, double, FIRST, c->before.spring, "J", "part of springs and soft limits in energy_before")                \
    stat(spring_after, double, LAST, c->after.spring, "J", "part of springs and soft limits in energy_after")                    \
    stat(work, double, TOTAL, c->flow.work, "J", "work of the applied joint forces since the record before")                     \
    stat(dissipated, double, TOTAL, c->flow.dissipated, "J", "energy taken out by dampers since the record before")              \
    stat(created, double, BALANCE, created, "J", "energy created (lost: negative) by the numerics since the record before")      \
    stat(frozen, ctn_freeze, LAST, c->frozen, "1",                                                                               \
         "0 running; frozen as 1 not finite, 2 no step was found, 3 a joint turned too far, 4 steps too small, 5 too many "     \
         "parts, 6 too many evaluations, 7 no room for the places where links touch")                                                                                        \
    stat(frozen_time, double, LAST, c->part, "s", "time of the last good state if frozen, else 0")                               \
    stat(frozen_dof, int, LAST, c->at_fault.dof, "1", "index in v of where it froze; -1 not known, or not frozen")               \
    stat(frozen_position, double, LAST, c->at_fault.at, "rad or m", "coordinate there at the last good state; NaN of a ball")    \
    stat(frozen_velocity, double, LAST, c->at_fault.rate, "rad/s or m/s", "velocity there at the last good state")               \
    stat(frozen_residual, double, LAST, c->at_fault.left, "1", "scaled residual there, if no step was found")                    \
    stat(corrections, long, TOTAL, c->corrections, "1",                                                                          \
         "times that a step was solved once more with other normal forces for friction, since the record before")                \
    stat(touching, int, LAST, c->touching, "1", "contact points that feel the ground")                                           \
    stat(sticking, int, LAST, c->sticking, "1", "those of them that friction holds")                                             \
    stat(sliding, int, LAST, c->sliding, "1", "those of them that slide")                                                        \
    stat(depth, double, MOST, c->depth, "m",                                                                                     \
         "depth of the deepest contact point after a step since the record before; below 0: how far above the ground")            \
    stat(joined, long, TOTAL, c->joined, "1",                                                                                    \
         "Newton iterations by the matrix in joint space, with what acts between links, since the record before; others sweep")  \
    stat(near, int, LAST, c->near, "1", "pairs of shapes that the last step looked at")                                          \
    stat(meeting, int, LAST, c->between.meeting, "1", "pairs of shapes that press on each other")                                \
    stat(places, int, LAST, c->between.places, "1", "places where they do")                                                      \
    stat(islands, int, LAST, c->between.islands, "1",                                                                            \
         "groups of trees that pairs which press, loops, couplings, tendons and springs join")                                   \
    stat(island, int, LAST, c->between.island, "1", "degrees of freedom of the largest of them")                                 \
    stat(curved, double, TOTAL, c->curved, "J",                                                                                  \
         "energy that curved gaps between links may have created at most, since the record before")
// clang-format on

#define COUNT_STAT(member, type, adds, of, unit, about) +1
enum { STEP_STATS_MEMBERS = 0 STEP_STATS(COUNT_STAT) };

/// The last rows are of models in which something acts between links, those before them of these and of models with contact points.
enum { CONTACT_STATS = 5, BETWEEN_STATS = 7 };

#endif
