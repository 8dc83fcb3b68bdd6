/// Ropes that carry what is seen from frames that turn with it (integrators/turning_frame.h), for tests of worlds along links.
#ifndef CATENA_TESTS_SPINNING_ROPES_H
#define CATENA_TESTS_SPINNING_ROPES_H

#include "dynamics/model.h"
#include "tests/along_cases.h"
#include "tests/text_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum spinning_kind {
    SPIN_PARALLEL,  // hinges and wheels about parallel axes, every fifth wheel held by a spring
    SPIN_BALLS,     // round balls on a rope of universal joints
    SPIN_GROUND,    // the same, as they fall on the ground
    SPIN_TILTING,   // wheels and round balls there
    SPIN_TOPS,      // tops on the world and in the air beside such a rope
    SPIN_KINDS
} spinning_kind;

/// Appends to a text of `room` bytes.
__attribute__((format(printf, 3, 4))) static inline void say(char *text, size_t room, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, room - used, format, list);
    va_end(list);
}

/// A rope of so many links, every third of which carries something that spins, with springs and dampers to the world.
static inline ctn_model *spinning_rope(spinning_kind kind, int links)
{
    const size_t room = 1000 * (size_t)(links + 8);
    const char *const joint =
        kind == SPIN_PARALLEL ? "type: revolute, axis: [0, 1, 0]" : "type: universal, axis: [0, 1, 0], axis2: [0, 0, 1]";
    char *const text = calloc(room, 1);
    ck_assert_ptr_nonnull(text);
    say(text, room, "catena: 1\n%slinks:\n",
        kind == SPIN_GROUND ? "ground: {height: -0.026}\ncontact: {friction: 0.5, depth: 0.002}\n" : "");
    for (int i = 0; i < links; i++) {
        say(text, room, "  - {name: l%d, parent: %s%.0d, position: [%g, 0, 0], joint: {%s, damping: 0.001}, mass: 0.1, ", i,
            i ? i > 1 ? "l" : "l0" : "world", i > 1 ? i - 1 : 0, i ? 0.1 : 0., joint);
        say(text, room, "com: [0.05, 0, 0.01], inertia: [2.0e-5, 1.2e-4, 1.1e-4, 0, 0, 0]}\n");
        if (i % 3) continue;
        const bool ball = kind == SPIN_BALLS || kind == SPIN_GROUND || (kind != SPIN_PARALLEL && i % 2);
        say(text, room, "  - {name: s%d, parent: l%d, position: [0.05, 0.03, 0], mass: 0.05, joint: {", i, i);
        if (ball)
            say(text, room, "type: ball}, inertia: [2.0e-5, 2.0e-5, 2.0e-5, 0, 0, 0]%s}\n",
                kind == SPIN_GROUND ? ", shapes: [{type: sphere, radius: 0.025}]" : "");
        else
            say(text, room, "type: revolute, axis: [0, 1, 0]%s}, inertia: [2.0e-5, 3.0e-5, 2.0e-5, 0, 0, 0]}\n",
                i % 15 ? "" : ", stiffness: 0.001");
    }
    for (int i = 0; i < 6 && kind == SPIN_TOPS; i++) {
        const char *const inertia[] = {"[2.0e-5, 3.0e-5, 4.0e-5, 0, 0, 0]", "[2.0e-5, 2.0e-5, 3.0e-5, 0, 0, 0]"};
        say(text, room, "  - {name: t%d, position: [0, %d, 0], joint: {type: %s}, mass: 0.1, com: [0, 0, %s], inertia: %s}\n", i,
            i + 1, i % 2 ? "ball" : "free", i < 4 ? "0.05" : "0", inertia[i % 4 / 2]);
    }
    say(text, room, "springs:\n");
    for (int i = 0; i < links; i += 6)
        say(text, room, "  - {link: s%d, point: [0.01, 0, 0.01], anchor: [%g, 0.1, 0.1], stiffness: 0.5, damping: 0.02}\n", i,
            0.1 * i);
    ctn_model *const m = model_of(text);
    free(text);
    return m;
}

/// A batch in which ropes move slowly, bent but above a ground, and what they carry spins by some 40 rad/s.
static inline ctn_batch *spinning_batch(const ctn_model *m, ctn_batch_config cfg)
{
    ctn_error err;
    ctn_batch *const b = batch_with(m, &cfg);
    const size_t W = (size_t)cfg.worlds, nq = (size_t)ctn_model_nq(m), nv = (size_t)ctn_model_nv(m);
    double *const q = numbers(W * nq), *const v = numbers(W * nv);
    rng r = {11};
    for (size_t w = 0; w < W; w++)
        for (int l = 0; l < ctn_model_nlink(m); l++) {
            const ctn_link *const link = ctn_model_link(m, l);
            double *const x = q + w * nq + link->qadr, *const u = v + w * nv + link->vadr;
            const bool rope = link->name[0] == 'l';
            for (int k = 0; k < link->nv; k++) u[k] = rope ? rng_uniform(&r, -0.2, 0.2) : rng_uniform(&r, -40, 40);
            if (link->joint == CTN_BALL) rng_quaternion(&r, x);
            else if (link->joint == CTN_FREE) rng_quaternion(&r, x + 3);
            else
                for (int k = 0; k < link->nv; k++) x[k] = m->ncontact ? 0 : rng_uniform(&r, -0.2, 0.2);
        }
    ck_assert_msg(ctn_batch_set_state(b, q, v, 0, &err) == CTN_OK, "%s", err.message);
    free(q), free(v);
    return b;
}

#endif
