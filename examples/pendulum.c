/// The first program: load a scene, step it, print what it does. usage: pendulum [SCENE]
#include <catena/catena.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    ctn_error err;
    ctn_scene *scene = ctn_scene_load(argc > 1 ? argv[1] : "scenes/double-pendulum.yaml", &err);
    ctn_model *model = scene ? ctn_model_create(scene, &err) : NULL;
    if (!model) return fprintf(stderr, "%s\n", err.message), 1;

    ctn_batch_config config = ctn_scene_config(scene);  // the scene's integrator section
    ctn_batch *batch = ctn_batch_create(model, &config, &err);
    if (!batch) return fprintf(stderr, "%s\n", err.message), 1;
    double q[64];
    if (ctn_model_nq(model) > 64) return fprintf(stderr, "more than 64 coordinates\n"), 1;
    for (int i = 0; i < 10; i++) {
        ctn_step_stats stats;
        if (ctn_batch_step(batch, 10, &stats, &err) != CTN_OK) return fprintf(stderr, "%s\n", err.message), 1;
        ctn_batch_state(batch, q, NULL);
        printf("t = %.3f s   energy %.6f J   q[0] = %.9f\n", ctn_batch_time(batch, 0), stats.energy_after, q[0]);
    }
    ctn_batch_free(batch);
    ctn_model_free(model);
    ctn_scene_free(scene);
    return 0;
}
