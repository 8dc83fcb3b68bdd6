/// Finds the friction of a block from how far it slides: a run is solved for its friction by Newton's method, with the gradient of
/// the run. usage: friction [DISTANCE], of a block that starts at 3 m/s, m
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 300, NQ = 7, NV = 6 };  // 3 s

static const char block[] = "catena: 1\n"
                            "ground: true\n"
                            "contact: {friction: %.17g}\n"
                            "links:\n"
                            "  - {name: block, joint: free, position: [0, 0, 0.05], mass: 2,\n"
                            "     shapes: [{type: box, size: [0.4, 0.3, 0.1]}]}\n";

/// How far the block slides, m, and by how much more for each 1 of friction.
static double slide(double friction, double *by_friction)
{
    char text[512];
    ctn_error err;
    const ctn_parameter ground = {CTN_GROUND_FRICTION, 0};
    double q[NQ], v[NV], dq[STEPS + 1][NV] = {{0}};
    snprintf(text, sizeof text, block, friction);
    ctn_scene *scene = ctn_scene_parse(text, strlen(text), "block", &err);
    ctn_model *model = scene ? ctn_model_create(scene, &err) : NULL;
    ctn_batch_config config = ctn_batch_config_default();
    config.method = CTN_COLLOCATION, config.order = 2, config.dt = 0.01, config.tolerance = 1e-12;
    ctn_tape *tape = model ? ctn_tape_create(model, &config, STEPS, &err) : NULL;
    if (tape) ctn_model_initial_state(model, q, v), v[0] = 3, dq[STEPS][0] = 1;  // of the coordinate x at the end
    if (!tape || ctn_tape_run(tape, q, v, NULL, &err) != CTN_OK ||
        ctn_tape_parameter_gradient(tape, &dq[0][0], NULL, &ground, 1, by_friction, &err) != CTN_OK ||
        ctn_tape_state(tape, STEPS, q, NULL, &err) != CTN_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    ctn_tape_free(tape);
    ctn_model_free(model);
    ctn_scene_free(scene);
    return q[0];
}

int main(int argc, char **argv)
{
    const double measured = argc > 1 ? atof(argv[1]) : 1.5;
    if (!(measured > 0)) return fprintf(stderr, "usage: friction [DISTANCE], m, above 0\n"), 2;
    double friction = 0.5;
    for (int k = 0; k < 20; k++) {
        double slope;
        const double off = slide(friction, &slope) - measured;
        printf("friction %.9f: %+.3g m off\n", friction, off);
        if (fabs(off) < 1e-9) return 0;
        // the way goes by 1/friction, and so nearly does 1/way by friction
        friction -= off / slope * (measured + off) / measured;
    }
    return 1;
}
