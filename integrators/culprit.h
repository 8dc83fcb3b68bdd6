/// At which joint a world freezes. A solve that fails names the joint whose equation is furthest from solved at the last iterate
/// that was an improvement; an angle out of range the joint that turns there; all else the joint that moves fastest, in its own
/// unit.
#ifndef CATENA_CULPRIT_H
#define CATENA_CULPRIT_H

#include "dynamics/lane_model.h"
#include "dynamics/joints.h"
#include "integrators/force_unit.h"

#include <math.h>

/// A joint's degree of freedom, by lane; where it was at the last good state.
typedef struct {
    real dof;       // its index in v
    real at, rate;  // coordinate (NaN: of a ball) and rate
    real left;      // of its equation, in its unit of force; NaN: it is no number
} culprit;

FN culprit no_culprit(void)
{
    culprit c;
    c.dof = rset(-1), c.at = c.rate = c.left = rset(0);
    return c;
}

FN culprit sel_culprit(mask m, culprit a, culprit b)
{
    a.dof = sel(m, a.dof, b.dof), a.at = sel(m, a.at, b.at), a.rate = sel(m, a.rate, b.rate), a.left = sel(m, a.left, b.left);
    return a;
}

/// The unit of a joint's coordinates: rad, or m.
FN real joint_unit(const lane_model *m, const lane_body *b)
{
    const bool slides = b->kind == JOINT_PRISMATIC || b->kind == JOINT_TRANSLATION;
    return slides ? extent_of(m, b) : rset(1);
}

/// Blames degree of freedom k of a body where `much` is more than *most; what is no number is more than any other, and the first
/// one stays.
FN void blame(const lane_body *b, int k, real much, const real *q, const real *rate, culprit *c, real *most)
{
    const mask more = both(le(*most, *most), not_(le(much, *most)));
    real at = rset(NAN);
    if (b->kind != JOINT_BALL) at = q[b->qadr + k];
    *most = sel(more, much, *most);
    c->dof = sel(more, rset(b->vadr + k), c->dof);
    c->at = sel(more, at, c->at), c->rate = sel(more, rate[b->vadr + k], c->rate);
}

/// Nobody is to blame where the most of all is nothing; what is no number is something.
FN culprit stands_out(culprit c, real most) { return sel_culprit(le(most, rset(0)), no_culprit(), c); }

/// By the rows r [stages][nv] of a solve, in units unit [nbody] of 1 over a force.
KERNEL culprit blame_rows(const lane_model *m, const real *r, int stages, const real *unit, const real *q, const real *rate)
{
    culprit c = no_culprit();
    real most = rset(-1);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        for (int k = 0; k < b->nv; k++) {
            real much = rset(0);
            for (int a = 0; a < stages; a++) much = larger(much, magnitude(r[a * m->nv + b->vadr + k]) * unit[i]);
            blame(b, k, much, q, rate, &c, &most);
        }
    }
    c.left = most;
    return stands_out(c, most);
}

/// By how far angles are at the end of a step of the model's size, or (angles false) by how fast joints move.
KERNEL culprit blame_motion(const lane_model *m, bool angles, const real *q, const real *rate)
{
    culprit c = no_culprit();
    real most = rset(-1);
    for (int i = 0; i < m->nbody; i++) {
        const lane_body *b = &m->bodies[i];
        if (angles && !about_z(b->kind)) continue;
        for (int k = 0; k < b->nv; k++) {
            const real speed = magnitude(rate[b->vadr + k]);
            if (angles) blame(b, k, fmadd(m->dt, speed, magnitude(q[b->qadr + k])), q, rate, &c, &most);
            else blame(b, k, speed / joint_unit(m, b), q, rate, &c, &most);
        }
    }
    return stands_out(c, most);
}

#endif
