/// Thrusters: motors that push a link, in axes that turn with it. Told u, one gives
///
///     T = max(least, min(u, effort)),    a force T e at its point, and a torque T m
///
/// with e and m of the link: a propeller has a direction e and m = reaction e, the type moment m alone. It is a load on its body
/// (forces/body_loads.h), with LOAD_FOLLOWS, whose force and torque are what it gives: sim/model/thrusters.c finds these where u
/// stays. Where u moves with time they are e and m, and T is found here, at the times of the methods' own points of evaluation.
/// The limits are sharp: T goes by u alone, so that a step meets their corners only where time does.
#ifndef CATENA_THRUST_H
#define CATENA_THRUST_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"
#include "forces/motors.h"

/// What a thruster gives that is told u, and how that rises with u: at a limit as on its near side.
FN real bounded_thrust(const lane_motor *a, real u)
{
    const real high = sel(lt(u, a->effort), u, a->effort);
    return sel(lt(high, a->least), a->least, high);
}
FN real thrust_slope(const lane_motor *a, real u) { return sel(both(le(a->least, u), le(u, a->effort)), rset(1), rset(0)); }

/// What it is told now.
FN real thrust_told(const lane_model *m, const lane_motor *a) { return told_now(m, a, false).feedforward[0]; }

/// The thrust, N or N m, of a load that is a thruster.
FN real thrust_of(const lane_model *m, const lane_point_load *s)
{
    const lane_motor *const a = &m->motors[s->motor - 1];
    return bounded_thrust(a, thrust_told(m, a));
}

/// e and m of a thruster on a body with the axes R, in world axes.
FN vec3 push_force(const lane_model *m, const lane_point_load *s, mat3 R)
{
    return mul(R, mul(const33(m->frames[s->link].R), const3(s->push)));
}
FN vec3 push_torque(const lane_model *m, const lane_point_load *s, mat3 R)
{
    return mul(R, mul(const33(m->frames[s->link].R), const3(s->push + 3)));
}

#endif
