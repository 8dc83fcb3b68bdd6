/// Random initial states. [Salmon, Moraes, Dror, Shaw 2011: Parallel random numbers: as easy as 1, 2, 3]
#include "dynamics/model.h"
#include "sim/scene.h"

#include <Random123/philox.h>
#include <catena/sample.h>
#include <math.h>

enum { OF_Q, OF_V };

/// Two numbers, uniform in (0, 1), for degree of freedom `dof` of a world.
static void uniform_pair(uint64_t seed, int64_t world, int dof, int what, double x[2])
{
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t counter = {{(uint32_t)world, (uint32_t)((uint64_t)world >> 32), (uint32_t)dof, (uint32_t)what}};
    const philox4x32_ctr_t r = philox4x32(counter, key);
    for (int k = 0; k < 2; k++) {
        const uint64_t bits = ((uint64_t)r.v[2 * k] << 32 | r.v[2 * k + 1]) >> 12;
        x[k] = ((double)bits + 0.5) * 0x1p-52;
    }
}

static double draw(const scene_spread *s, uint64_t seed, int64_t world, int dof, int what)
{
    double x[2];
    uniform_pair(seed, world, dof, what, x);
    if (s->kind == SPREAD_UNIFORM) return s->a + (s->b - s->a) * x[0];
    return s->a + s->b * sqrt(-2 * log(x[0])) * cos(2 * 3.14159265358979323846 * x[1]);  // Box and Muller
}

/// q <- q exp(d/2): turned by d in body axes.
static void turn(double *q, const double *d)
{
    const double angle = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    const double s = angle > 0 ? sin(angle / 2) / angle : 0.5, w = cos(angle / 2), x = s * d[0], y = s * d[1], z = s * d[2];
    const double p[4] = {q[0], q[1], q[2], q[3]};
    q[0] = p[0] * w - p[1] * x - p[2] * y - p[3] * z;
    q[1] = p[0] * x + p[1] * w + p[2] * z - p[3] * y;
    q[2] = p[0] * y - p[1] * z + p[2] * w + p[3] * x;
    q[3] = p[0] * z + p[1] * y - p[2] * x + p[3] * w;
}

bool ctn_scene_is_sampled(const ctn_scene *scene) { return scene->spread_q != NULL; }

uint64_t ctn_scene_seed(const ctn_scene *scene) { return (uint64_t)scene->seed; }

void ctn_sample_state(const ctn_scene *scene, const ctn_model *model, uint64_t seed, int64_t world, double *q, double *v)
{
    ctn_model_initial_state(model, q, v);
    for (int l = 0; l < scene->nlink && scene->spread_q; l++) {
        const ctn_link *k = &model->links[l];
        const scene_spread *of_q = &scene->spread_q[l], *of_v = &scene->spread_v[l];
        double d[6];
        for (int i = 0; i < k->nv && of_v->kind; i++) v[k->vadr + i] += draw(of_v, seed, world, k->vadr + i, OF_V);
        if (!of_q->kind) continue;
        for (int i = 0; i < k->nv; i++) d[i] = draw(of_q, seed, world, k->vadr + i, OF_Q);
        const bool turns = k->joint == CTN_BALL || k->joint == CTN_FREE;
        const int slides = turns ? k->nv - 3 : k->nv;
        for (int i = 0; i < slides; i++) q[k->qadr + i] += d[i];
        if (turns) turn(q + k->qadr + slides, d + slides);
    }
}
