/// Random initial states, joint forces and parameters.
#include "dynamics/model.h"
#include "sim/base/parameter_kinds.h"
#include "sim/base/quaternion.h"
#include "sim/base/random.h"
#include "sim/scene/scene.h"

#include <catena/sample.h>
#include <math.h>
#include <string.h>

/// What the numbers of a world depend on.
typedef struct {
    uint64_t seed;
    int64_t world, worlds;
} origin;

/// Two numbers, uniform in (0, 1), for number `index` of a kind of a world.
static void uniform_pair(const origin *o, int index, sample_of what, double x[2])
{
    uniform_pair_of(random_words(o->seed, (uint64_t)o->world, (uint32_t)index, (uint32_t)what), x);
}

/// Where the world comes in a permutation of 0 .. worlds - 1, another one for each number that is drawn: a Feistel network over
/// the least even number of bits that can hold it, followed on until it leads back below `worlds`. [Black, Rogaway 2002: Ciphers
/// with arbitrary finite domains]
static int64_t permuted(const origin *o, int index, sample_of what)
{
    enum { ROUNDS = 8 };
    const uint32_t network = (uint32_t)what | 0x80000000u;  // counters of its own
    int half = 1;
    while (half < 32 && (o->worlds - 1) >> (2 * half)) half++;
    const uint32_t mask = (uint32_t)(((uint64_t)1 << half) - 1);
    uint64_t at = (uint64_t)(o->world % o->worlds);
    do {
        uint32_t left = (uint32_t)(at >> half), right = (uint32_t)at & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint64_t number = (uint64_t)round << 32 | right;
            const uint32_t next = left ^ (random_words(o->seed, number, (uint32_t)index, network).v[0] & mask);
            left = right, right = next;
        }
        at = (uint64_t)left << half | right;
    } while (at >= (uint64_t)o->worlds);
    return (int64_t)at;
}

/// Value of degree of freedom `dof` of a grid: a digit of the world's number.
static double grid_value(const scene_spread *s, int64_t world, int dof)
{
    int64_t above = world / s->stride;
    for (int i = 0; i < dof; i++) above /= s->values;
    const int64_t k = above % s->values, last = s->values - 1;
    return last == 0 ? s->a + (s->b - s->a) / 2 : k == last ? s->b : s->a + (s->b - s->a) * ((double)k / (double)last);
}

/// Number `index` of its kind, that of degree of freedom `dof` of what the distribution stands for.
static double draw(const scene_spread *s, const origin *o, int index, int dof, sample_of what)
{
    double x[2];
    if (s->kind == SPREAD_GRID) return grid_value(s, o->world, dof);
    uniform_pair(o, index, what, x);
    if (s->kind == SPREAD_UNIFORM) return s->a + (s->b - s->a) * x[0];
    if (s->kind == SPREAD_LATIN) return s->a + (s->b - s->a) * (((double)permuted(o, index, what) + x[0]) / (double)o->worlds);
    return s->a + s->b * normal_of(x);
}

/// One number for each degree of freedom of a link into d; false if nothing is said about it.
static bool draw_joint(const ctn_scene *scene, const ctn_link *link, int l, const origin *o, sample_of what, double *d)
{
    const scene_spread *const s = scene->spread[what];
    if (!s || !s[l].kind) return false;
    for (int i = 0; i < link->nv; i++) d[i] = draw(&s[l], o, link->vadr + i, i, what);
    return true;
}

/// q <- q exp(d/2): turned by d in body axes.
static void turn(double *q, const double *d)
{
    double by[4];
    quaternion_of_turn(d, by);
    quaternion_product(q, by, q);
}

/// Joints that follow others are where these have been drawn to be; one may follow another that follows.
static void follow(const ctn_model *m, double *q, double *v)
{
    for (int pass = 0, moved = 1; moved && pass <= m->nbond; pass++) {
        moved = 0;
        for (int k = 0; k < m->nbond; k++) {
            const model_bond *const o = &m->bonds[k];
            if (o->kind != BOND_COUPLING) continue;
            const ctn_body *const to = &m->bodies[o->follower], *const of = o->leader < 0 ? NULL : &m->bodies[o->leader];
            double slope;
            const double x = follower_at(o->poly, of ? q[of->qadr] : 0, &slope), rate = of ? slope * v[of->vadr] : 0;
            moved = moved || x != q[to->qadr] || rate != v[to->vadr];
            q[to->qadr] = x, v[to->vadr] = rate;
        }
    }
}

bool ctn_scene_is_sampled(const ctn_scene *scene) { return scene && scene->sampled; }

uint64_t ctn_scene_seed(const ctn_scene *scene) { return scene ? (uint64_t)scene->seed : 0; }

int64_t ctn_scene_grid(const ctn_scene *scene) { return scene ? scene->grid : 0; }

void ctn_sample_state(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds, double *q,
                      double *v)
{
    if (!scene || !model || (model->nq && !q) || (model->nv && !v)) return;
    const origin o = {seed, world, worlds};
    ctn_model_initial_state(model, q, v);
    for (int l = 0; l < scene->nlink; l++) {
        const ctn_link *k = &model->links[l];
        double d[6];
        if (draw_joint(scene, k, l, &o, SAMPLE_V, d))
            for (int i = 0; i < k->nv; i++) v[k->vadr + i] += d[i];
        if (!draw_joint(scene, k, l, &o, SAMPLE_Q, d)) continue;
        const bool turns = k->joint == CTN_BALL || k->joint == CTN_FREE;
        const int slides = turns ? k->nv - 3 : k->nv;
        for (int i = 0; i < slides; i++) q[k->qadr + i] += d[i];
        if (turns) turn(q + k->qadr + slides, d + slides);
    }
    if (scene->spread[SAMPLE_Q] || scene->spread[SAMPLE_V]) follow(model, q, v);
}

bool ctn_scene_has_force(const ctn_scene *scene) { return scene && scene->spread[SAMPLE_FORCE] != NULL; }

bool ctn_sample_force(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds, double *tau)
{
    if (!scene || !model || (model->nv && !tau)) return false;
    const origin o = {seed, world, worlds};
    memset(tau, 0, (size_t)model->nv * sizeof *tau);
    for (int l = 0; l < scene->nlink; l++) draw_joint(scene, &model->links[l], l, &o, SAMPLE_FORCE, tau + model->links[l].vadr);
    return ctn_scene_has_force(scene);
}

/// The parameters that are drawn, by kind and then by index, into `list`, and those of a world into `values`; either may be NULL.
/// Returns how many there are.
static int each_parameter(const ctn_scene *scene, const ctn_model *model, const origin *o, ctn_parameter *list, double *values)
{
    int count = 0;
    for (int kind = CTN_GRAVITY; kind <= CTN_DRAG_SCALE; kind++) {
        if (kind > CTN_LIMIT_DAMPING && kind < CTN_FRICTION) continue;
        const sample_of what = (sample_of)(SAMPLE_PARAMETER + kind);
        const scene_spread *const s = scene->spread[what];
        const int slots = kind == CTN_GRAVITY || kind == CTN_CURRENT ? 3 : model->nlink;
        for (int i = 0; s && i < slots; i++) {
            if (!s[i].kind) continue;
            if (list) list[count] = (ctn_parameter){(ctn_parameter_kind)kind, i};
            if (values) values[count] = draw(&s[i], o, i, 0, what);
            count++;
        }
    }
    for (int k = CTN_MOTOR_TARGET; k < PARAMETER_KINDS; k++) {
        const ctn_parameter_kind kind = (ctn_parameter_kind)k;
        const sample_of what = (sample_of)(SAMPLE_PARAMETER + k);
        const int each = parameter_components(kind);
        for (int i = 0; i < scene->nmotor * each && scene->spread[what] && parameter_of_motor(kind); i++) {
            const scene_motor *const a = &scene->motors[i / each];
            const scene_spread *const s = &scene->spread[what][a->link];
            if (!s->kind || a->tendon || !motor_has(scene_motor_traits(a), kind)) continue;
            if (list) list[count] = (ctn_parameter){kind, i};
            if (values) values[count] = draw(s, o, i, i % each, what);
            count++;
        }
    }
    for (int k = CTN_GROUND_FRICTION; k <= CTN_PAIR_DEPTH_SCALE; k++) {
        const sample_of what = (sample_of)(SAMPLE_PARAMETER + k);
        const scene_spread *const s = scene->spread[what];
        for (int i = 0; s && i < (k == CTN_CONTACT_FRICTION ? model->nlink : 1); i++) {
            if (!s[i].kind) continue;
            if (list) list[count] = (ctn_parameter){(ctn_parameter_kind)k, i};
            if (values) values[count] = draw(&s[i], o, i, 0, what);
            count++;
        }
    }
    return count;
}

int ctn_scene_parameters(const ctn_scene *scene, const ctn_model *model, ctn_parameter *list)
{
    return scene && model ? each_parameter(scene, model, NULL, list, NULL) : 0;
}

void ctn_sample_parameters(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, int64_t worlds,
                           double *values)
{
    if (scene && model && values) each_parameter(scene, model, &(origin){seed, world, worlds}, NULL, values);
}

bool ctn_sample_worlds(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t first, int count, int64_t worlds,
                       double *q, double *v, double *tau, double *values)
{
    if (!scene || !model) return false;
    const size_t nq = (size_t)model->nq, nv = (size_t)model->nv, own = (size_t)ctn_scene_parameters(scene, model, NULL);
    const bool forced = ctn_scene_has_force(scene);
    for (int k = 0; k < count; k++) {
        const int64_t world = first + k;
        const size_t row = (size_t)k;
        if (q && v) ctn_sample_state(scene, model, seed, world, worlds, q + row * nq, v + row * nv);
        if (tau && forced) ctn_sample_force(scene, model, seed, world, worlds, tau + row * nv);
        if (values && own) ctn_sample_parameters(scene, model, seed, world, worlds, values + row * own);
    }
    return forced;
}
