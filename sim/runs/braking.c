/// A run is braked where its own ledger and steps of its motion alone agree on it.
#include "sim/runs/braking.h"

#include "dynamics/model.h"
#include "sim/model/model.h"

#include <catena/dynamics.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_STATES = 8,    // of the largest models
    MOST_BODIES = 4000,  // of all states
    WORST = 4,           // states that remedies are tried on
    SETTLE = 6,          // steps until a method has found velocities and accelerations of its own
    STEPS = 2            // that are looked at then
};

#define SHARE 0.01  // that is no braking yet: 1/s, of the energy of motion; of what dampers take

struct braking {
    const ctn_model *m;
    int room, count;
    double *q, *v;   // [room][nq], [room][nv]
    double kinetic;  // J, the sum over them
};

void braking_close(braking *b)
{
    if (!b) return;
    free(b->q), free(b->v);
    free(b);
}

braking *braking_open(const ctn_model *m, int most)
{
    braking *const b = calloc(1, sizeof *b);
    if (!b) return NULL;
    const int share = MOST_BODIES / (m->nbody + 1);
    b->m = m, b->room = share < LEAST_STATES ? LEAST_STATES : share < most ? share : most;
    b->q = malloc((size_t)b->room * (size_t)m->nq * sizeof *b->q + 1);
    b->v = malloc((size_t)b->room * (size_t)m->nv * sizeof *b->v + 1);
    if (b->q && b->v) return b;
    braking_close(b);
    return NULL;
}

void braking_begin(braking *b) { b->count = 0, b->kinetic = 0; }

int braking_room(const braking *b) { return b->room; }

long braking_stride(const braking *b, long steps) { return steps / (b->room - 1) + 1; }

void braking_note(braking *b, const double *q, const double *v, double kinetic)
{
    const size_t nq = (size_t)b->m->nq, nv = (size_t)b->m->nv, k = (size_t)b->count;
    if (b->count == b->room || !isfinite(kinetic)) return;
    memcpy(b->q + k * nq, q, nq * sizeof *q), memcpy(b->v + k * nv, v, nv * sizeof *v);
    b->kinetic += kinetic, b->count++;
}

// ---- the motion alone

/// What steps of the motion alone took, J, and the energy that was in it, J s.
typedef struct {
    double lost, moving;
} taken;

/// From each of `count` states, to [count]. false: not known.
static bool step_alone(const ctn_model *alone, const ctn_batch_config *cfg, int count, const double *q, const double *v,
                       taken *to)
{
    ctn_batch_config c = *cfg;
    c.worlds = count, c.parallel = CTN_PARALLEL_WORLDS, c.lanes = 0, c.dense = false, c.engine = NULL;
    c.parameters = NULL, c.parameter_count = 0;
    ctn_batch *const batch = ctn_batch_create(alone, &c, NULL);
    ctn_step_stats *const stats = calloc((size_t)count, sizeof *stats);
    bool known = batch && stats && ctn_batch_set_state(batch, q, v, 0, NULL) == CTN_OK;
    for (int turn = 0; turn < 2 && known; turn++) {
        const ctn_status status = ctn_batch_step(batch, turn ? STEPS : SETTLE, stats, NULL);
        known = status == CTN_OK || status == CTN_FROZEN;
    }
    for (int k = 0; k < count && known; k++) {
        const ctn_step_stats *const s = &stats[k];
        to[k] = s->frozen ? (taken){0, 0} : (taken){-s->created, STEPS * c.dt * s->kinetic_before};
    }
    ctn_batch_free(batch), free(stats);
    return known;
}

/// gains: count what was gained, too.
static double share_of(const taken *t, int count, bool gains)
{
    taken sum = {0, 0};
    for (int k = 0; k < count; k++) sum.lost += gains ? t[k].lost : fmax(t[k].lost, 0), sum.moving += t[k].moving;
    return sum.moving > 0 ? sum.lost / sum.moving : 0;
}

// ---- the joint that is most to blame

typedef struct {
    int link;
    double turn;  // rad/s, at most
} blamed;

/// J, of a link with the twist V, its axes R in the world.
static double kinetic_of(const ctn_link *l, const double R[9], const double V[6])
{
    const double *const w = V, *const u = V + 3, *const I = l->inertia;
    double c[3], s[3];  // the arm of the centre of mass, world; the spin, link axes
    for (int k = 0; k < 3; k++) {
        c[k] = R[3 * k] * l->com[0] + R[3 * k + 1] * l->com[1] + R[3 * k + 2] * l->com[2];
        s[k] = R[k] * w[0] + R[3 + k] * w[1] + R[6 + k] * w[2];
    }
    const double x = u[0] + w[1] * c[2] - w[2] * c[1], y = u[1] + w[2] * c[0] - w[0] * c[2], z = u[2] + w[0] * c[1] - w[1] * c[0];
    return 0.5 * (l->mass * (x * x + y * y + z * z) + I[0] * s[0] * s[0] + I[1] * s[1] * s[1] + I[2] * s[2] * s[2]) +
           I[3] * s[0] * s[1] + I[4] * s[0] * s[2] + I[5] * s[1] * s[2];
}

/// The link nearest to the world that turns as `link` does: its joint is what turns both.
static int turned_by(const ctn_model *m, const double *twist, int link)
{
    const double *const w = twist + 6 * link;
    for (int up = m->links[link].parent; up >= 0; up = m->links[up].parent) {
        const double *const p = twist + 6 * up;
        if (hypot(hypot(w[0] - p[0], w[1] - p[1]), w[2] - p[2]) > 0.1 * hypot(hypot(w[0], w[1]), w[2])) break;
        link = up;
    }
    return link;
}

/// A chord is off its arc by the square of the turn: of that, times the energy of what turns, the joint has the most. link: -1
/// without memory.
static blamed find_blamed(const braking *b)
{
    const ctn_model *const m = b->m;
    const size_t links = (size_t)m->nlink, count = (size_t)b->count;
    ctn_dynamics *const dyn = ctn_dynamics_create(m, NULL, NULL);
    double *const R = malloc(links * 9 * sizeof *R), *const p = malloc(links * 3 * sizeof *p),
                  *const twist = malloc(links * 6 * sizeof *twist), *const blame = calloc(2 * links, sizeof *blame),
                  *const most = blame + links;
    blamed of = {-1, 0};
    for (size_t k = 0; k < count && dyn && R && p && twist && blame; k++) {
        ctn_forward_kinematics(dyn, 1, b->q + k * (size_t)m->nq, R, p);
        ctn_link_twists(dyn, 1, b->q + k * (size_t)m->nq, b->v + k * (size_t)m->nv, twist);
        for (int l = 0; l < m->nlink; l++) {
            const double *const V = twist + 6 * l, square = V[0] * V[0] + V[1] * V[1] + V[2] * V[2];
            const int to = turned_by(m, twist, l);
            blame[to] += kinetic_of(&m->links[l], R + 9 * l, V) * square, most[to] = fmax(most[to], sqrt(square));
        }
        of.link = 0;
    }
    for (int l = 0; l < m->nlink && of.link >= 0; l++)
        if (blame[l] > blame[of.link]) of.link = l;
    if (of.link >= 0) of.turn = most[of.link];
    ctn_dynamics_free(dyn), free(R), free(p), free(twist), free(blame);
    return of;
}

// ---- what helps

/// The states that lose most, and what was said of them so far.
typedef struct {
    const ctn_model *alone;
    int count;
    double *q, *v;  // [WORST][nq], [WORST][nv]
    double enough;  // 1/s, of the energy of motion: as little as this may be lost
    char said[4][40];
    int known;
} remedies;

static bool open_remedies(remedies *r, const braking *b, const taken *t)
{
    const size_t nq = (size_t)b->m->nq, nv = (size_t)b->m->nv;
    bool chosen[BRAKING_STATES] = {false};
    r->q = malloc(WORST * nq * sizeof *r->q + 1), r->v = malloc(WORST * nv * sizeof *r->v + 1);
    for (; r->q && r->v && r->count < WORST && r->count < b->count; r->count++) {
        int worst = -1;
        for (int k = 0; k < b->count; k++)
            if (!chosen[k] && (worst < 0 || t[k].lost > t[worst].lost)) worst = k;
        chosen[worst] = true;
        memcpy(r->q + (size_t)r->count * nq, b->q + (size_t)worst * nq, nq * sizeof *r->q);
        memcpy(r->v + (size_t)r->count * nv, b->v + (size_t)worst * nv, nv * sizeof *r->v);
    }
    return r->q && r->v;
}

static bool helps(const remedies *r, const ctn_batch_config *cfg)
{
    taken t[WORST];
    return step_alone(r->alone, cfg, r->count, r->q, r->v, t) && share_of(t, r->count, true) < r->enough;
}

__attribute__((format(printf, 2, 3))) static void add_remedy(remedies *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->said[r->known++], sizeof *r->said, format, args);
    va_end(args);
}

static bool position_based(const ctn_batch_config *cfg)
{
    return cfg->method == CTN_COLLOCATION || cfg->method == CTN_RADAU || cfg->method == CTN_ALPHA;
}

/// Whether nothing but gravity and dampers acts on a model: then all that its ledger misses, motion has lost, and `variational`
/// needs no small steps.
static bool is_free(const ctn_model *m)
{
    bool is = !m->nload;
    for (int i = 0; i < m->nbody; i++) is = is && !(m->bodies[i].flags & (BODY_SPRING | BODY_MOTOR | BODY_FRICTION));
    return is;
}

/// Whether the link alone turns on a hinge, about an axis that its centre of mass is on: then its joint can carry its inertia.
static bool is_rotor(const ctn_model *m, int link)
{
    int count;
    if (m->links[link].joint != CTN_REVOLUTE) return false;
    const ctn_body *const b = &m->bodies[first_body(m, link, &count)];
    return b->flags & BODY_LEAF && hypot(b->h[0], b->h[1]) <= 1e-9 * sqrt(b->mass * b->I[2]);
}

static void find_remedies(remedies *r, const ctn_model *m, const ctn_batch_config *cfg, int link)
{
    static const double parts[] = {2, 5, 20, 100};
    ctn_batch_config c = *cfg;
    if (cfg->adaptive) {
        add_remedy(r, "a smaller tolerance");
        return;
    }
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        c.dt = cfg->dt / parts[k];
        if (!helps(r, &c)) continue;
        add_remedy(r, "dt %.2g or less", c.dt);
        break;
    }
    c = *cfg, c.method = CTN_RADAU, c.solver = CTN_NEWTON;
    const int own = cfg->method == CTN_RADAU ? cfg->stages : 1, most = m->nbond ? 0 : own < 3 ? 3 : 4;
    for (c.stages = own + 1; c.stages <= most && position_based(cfg); c.stages++) {
        if (!helps(r, &c)) continue;
        add_remedy(r, "radau with %d stages", c.stages);
        break;
    }
    c = *cfg, c.method = CTN_ALPHA;
    if (m->nbond && cfg->method != CTN_ALPHA && helps(r, &c)) add_remedy(r, "alpha");  // radau leaves bonds to order 2
    c = *cfg, c.method = CTN_VARIATIONAL, c.order = 2;
    if (is_free(m) && !m->nbond && !m->npair && helps(r, &c)) add_remedy(r, "variational");
    if (position_based(cfg) && is_rotor(m, link)) add_remedy(r, "its inertia as `armature` of its joint");
    if (!r->known) add_remedy(r, "a smaller dt");
}

// ---- the warning

/// Adds to a text.
__attribute__((format(printf, 2, 3))) static void say(char text[BRAKING_TEXT], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, BRAKING_TEXT - used, format, args);
    va_end(args);
}

/// Of a run that is braked by so large a share of its energy of motion a second, `seen` of which its states lose, `t`.
static bool describe(const braking *b, const ctn_model *alone, const ctn_batch_config *cfg, const taken *t, double seen,
                     double share, char text[BRAKING_TEXT])
{
    const blamed of = find_blamed(b);
    remedies r = {.alone = alone, .enough = SHARE * fmin(seen / share, 1)};
    const bool known = of.link >= 0 && open_remedies(&r, b, t);
    char turns[60] = "";
    if (known) find_remedies(&r, b->m, cfg, of.link);
    if (known && !cfg->adaptive) snprintf(turns, sizeof turns, ", by up to %.2g rad a step", of.turn * cfg->dt);
    if (known)
        say(text, "%s takes %.*f %% of the energy of motion a second, most where '%.60s' turns%s: try ",
            ctn_method_name(cfg->method), share < 0.1, 100 * share, b->m->links[of.link].name, turns);
    for (int k = 0; k < r.known; k++) say(text, "%s%s", k == 0 ? "" : k + 1 < r.known ? ", " : ", or ", r.said[k]);
    free(r.q), free(r.v);
    return known;
}

bool braking_found(const braking *b, const ctn_batch_config *cfg, const ctn_step_stats *total, double seconds, bool *found,
                   char text[BRAKING_TEXT])
{
    const double moving = b->count ? b->kinetic / b->count * seconds : 0, lost = -total->created;
    taken t[BRAKING_STATES];
    *found = false;
    if (text) text[0] = 0;
    // the energy of `variational` swings, and is not taken
    if (cfg->method == CTN_VARIATIONAL || !(lost > SHARE * fmax(moving, total->dissipated))) return true;
    ctn_model *const alone = model_of_motion(b->m);
    bool room = alone != NULL;
    if (room && step_alone(alone, cfg, b->count, b->q, b->v, t)) {
        // of a chain, states that gain do not speak for a whip that cracks between them
        const bool plain = is_free(b->m) && position_based(cfg);
        const double seen = share_of(t, b->count, !plain), share = fmin(lost / moving, seen);
        *found = share > SHARE && share * moving > SHARE * total->dissipated;
        if (*found && text) room = describe(b, alone, cfg, t, seen, plain ? lost / moving : share, text);
    }
    free(alone);
    return room;
}
