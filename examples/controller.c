/// A controller: an arm on position motors follows sines, its targets set anew before each step. usage: controller [SCENE]
#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { MOTORS = 4, STEPS = 500 };
    const double rate = 2 * acos(-1) * 0.5, dt = 0.01;  // half a turn of the sine a second
    const double middle[MOTORS] = {1, -0.7, 1.2, 1.5}, reach[MOTORS] = {0.8, 0.3, 0.4, 1};
    ctn_error err;
    ctn_scene *scene = ctn_scene_load(argc > 1 ? argv[1] : "scenes/arm-reach.yaml", &err);
    ctn_model *model = scene ? ctn_model_create(scene, &err) : NULL;
    if (!model) return fprintf(stderr, "%s\n", err.message), 1;
    if (ctn_model_nq(model) != MOTORS) return fprintf(stderr, "the arm must have %d joints\n", MOTORS), 1;

    ctn_parameter own[2 * MOTORS];  // what this program sets: where each motor is to be, and how fast it is to move there
    for (int i = 0; i < MOTORS; i++) {
        own[i] = (ctn_parameter){CTN_MOTOR_TARGET, i};
        own[MOTORS + i] = (ctn_parameter){CTN_MOTOR_VELOCITY, i};
    }
    ctn_batch_config config = ctn_batch_config_default();
    config.method = CTN_ALPHA, config.dt = dt, config.parameters = own, config.parameter_count = 2 * MOTORS;
    ctn_batch *batch = ctn_batch_create(model, &config, &err);
    if (!batch) return fprintf(stderr, "%s\n", err.message), 1;

    double q[MOTORS], v[MOTORS], target[2 * MOTORS], worst = 0;
    for (int step = 1; step <= STEPS; step++) {
        const double angle = rate * step * dt;  // at the end of the step, where a motor's servo is solved for
        for (int i = 0; i < MOTORS; i++) {
            target[i] = middle[i] + reach[i] * sin(angle);
            target[MOTORS + i] = reach[i] * rate * cos(angle);
        }
        if (ctn_batch_set_parameters(batch, target, &err) != CTN_OK || ctn_batch_step(batch, 1, NULL, &err) != CTN_OK)
            return fprintf(stderr, "%s\n", err.message), 1;
        ctn_batch_state(batch, q, v);
        for (int i = 0; i < MOTORS && 2 * step > STEPS; i++) worst = fmax(worst, fabs(q[i] - target[i]));
    }
    printf("t = %.2f s: the arm is at %.3f %.3f %.3f %.3f rad, and was within %.3f rad of its targets since %.2f s\n",
           ctn_batch_time(batch, 0), q[0], q[1], q[2], q[3], worst, STEPS * dt / 2);
    ctn_batch_free(batch);
    ctn_model_free(model);
    ctn_scene_free(scene);
    return 0;
}
