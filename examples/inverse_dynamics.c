/// The torques that hold a robot still, and what happens without them. usage: inverse_dynamics [SCENE]
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    ctn_error err;
    ctn_scene *scene = ctn_scene_load(argc > 1 ? argv[1] : "scenes/iiwa14.yaml", &err);
    ctn_model *model = scene ? ctn_model_create(scene, &err) : NULL;
    ctn_dynamics *dyn = model ? ctn_dynamics_create(model, NULL, &err) : NULL;
    if (!dyn) return fprintf(stderr, "%s\n", err.message), 1;

    const size_t nq = (size_t)ctn_model_nq(model), nv = (size_t)ctn_model_nv(model);
    double *q = calloc(nq, sizeof *q), *v = calloc(nv, sizeof *v), *tau = calloc(nv, sizeof *tau), *a = calloc(nv, sizeof *a);
    ctn_model_initial_state(model, q, NULL);
    ctn_bias(dyn, 1, q, v, tau);       // at rest: the weight
    ctn_aba(dyn, 1, q, v, NULL, a);    // nothing holds it
    for (size_t k = 0; k < nv; k++) printf("joint %zu: holds with %9.4f N m, falls with %9.4f rad/s^2\n", k, tau[k], a[k]);
    free(q), free(v), free(tau), free(a);
    ctn_dynamics_free(dyn);
    ctn_model_free(model);
    ctn_scene_free(scene);
    return 0;
}
