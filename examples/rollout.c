/// Many worlds of one model at once: the same scene from a thousand initial states. usage: rollout [SCENE]
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { WORLDS = 1000 };
    ctn_error err;
    ctn_scene *scene = ctn_scene_load(argc > 1 ? argv[1] : "scenes/chain10.yaml", &err);
    ctn_model *model = scene ? ctn_model_create(scene, &err) : NULL;
    if (!model) return fprintf(stderr, "%s\n", err.message), 1;

    ctn_batch_config config = ctn_batch_config_default();
    config.worlds = WORLDS, config.dt = 0.05, config.method = CTN_COLLOCATION;
    ctn_batch *batch = ctn_batch_create(model, &config, &err);
    if (!batch) return fprintf(stderr, "%s\n", err.message), 1;

    const int nq = ctn_model_nq(model), nv = ctn_model_nv(model);
    double *q = calloc(WORLDS, sizeof(double) * (size_t)nq), *v = calloc(WORLDS, sizeof(double) * (size_t)nv);
    ctn_step_stats *stats = calloc(WORLDS, sizeof *stats);
    for (int w = 0; w < WORLDS; w++) {
        ctn_model_initial_state(model, q + w * nq, NULL);
        q[w * nq] += 0.001 * w;  // the first joint, turned a little further in every world
    }
    if (ctn_batch_set_state(batch, q, v, 0, &err) != CTN_OK) return fprintf(stderr, "%s\n", err.message), 1;
    const ctn_status status = ctn_batch_step(batch, 20, stats, &err);
    if (status != CTN_OK) fprintf(stderr, "%s\n", err.message);
    if (status != CTN_OK && status != CTN_FROZEN) return 1;  // a frozen world stops alone

    double mean = 0, worst = 0;
    for (int w = 0; w < WORLDS; w++) {
        mean += (double)stats[w].iterations / (double)stats[w].steps / WORLDS;
        worst = fmax(worst, stats[w].residual);
    }
    printf("%d worlds at t = %.2f s: %.2f iterations a step, largest residual %.2g\n", WORLDS, ctn_batch_time(batch, 0), mean,
           worst);
    free(q), free(v), free(stats);
    ctn_batch_free(batch);
    ctn_model_free(model);
    ctn_scene_free(scene);
    return 0;
}
