/// Angles that count modulo a turn: a fan that turns for days neither leaves the range of sine and cosine nor loses digits.
///
///     angle = q + 2 pi turns,   |q| <= 2 pi FREE_TURNS as a step begins
///
/// Nothing that acts on a hinge without spring, limit and target of position knows how often it has turned, so that a step may begin
/// at any of its angles. Whole turns are taken off there and nowhere else: what happens within a step, and the motion between its
/// ends, are as if they never were.
#ifndef CATENA_TURNS_H
#define CATENA_TURNS_H

#include "dynamics/lane_model.h"
#include "dynamics/precision.h"

/// Turns from which on they are counted apart: angles of most joints never are.
#define FREE_TURNS 16
#define TWO_PI 6.28318530717958647693

FN bool turns_freely(const lane_body *b) { return b->kind == JOINT_REVOLUTE && !(b->flags & (BODY_SPRING | BODY_SERVO)); }

/// Where q of a joint that turns freely is to lose whole turns.
FN mask many_turns(real q) { return gt(magnitude(q), rset(FREE_TURNS * TWO_PI)); }

FN real without_turns(real q, real whole) { return fnmadd(whole, rset(4 * HALF_PI_REST), fnmadd(whole, rset(4 * HALF_PI), q)); }

/// Takes whole turns off an angle in the lanes `many`; see count_turns().
KERNEL void count_turn(real *q, real *earlier, real *turns, mask many)
{
    const real magic = rset(NEAREST_WHOLE), whole = fmadd(*q, rset(1 / TWO_PI), magic) - magic;
    *q = sel(many, without_turns(*q, whole), *q);
    if (earlier) *earlier = sel(many, without_turns(*earlier, whole), *earlier);
    *turns = *turns + sel(many, whole, rset(0));
}

/// Takes whole turns off q [nq] in the lanes `where`, and the same ones off `earlier` [nq] (NULL: there is none); adds them to turns
/// [nv]. Returns whether there were any.
KERNEL bool count_turns(const lane_model *m, real *q, real *earlier, real *turns, mask where)
{
    bool some = false;
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (!turns_freely(b)) continue;
        const mask many = both(where, many_turns(q[b->qadr]));
        if (!any_of(many)) continue;
        count_turn(q + b->qadr, earlier ? earlier + b->qadr : NULL, turns + b->vadr, many);
        some = true;
    }
    return some;
}

/// Adds the turns [nv] (NULL: none) to the angles in q [count][nq], as users see them.
FN void add_turns(const lane_model *m, const real *turns, int count, double *const *q)
{
    for (int i = 0; i < m->nbody && turns; i++) {
        const lane_body *b = &m->bodies[i];
        double lane[LANES] __attribute__((aligned(64)));
        if (!turns_freely(b)) continue;
        lane_store(lane, turns[b->vadr]);
        for (int l = 0; l < count; l++) q[l][b->qadr] += TWO_PI * lane[l];
    }
}

#endif
