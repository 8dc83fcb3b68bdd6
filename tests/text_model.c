#include "tests/text_model.h"

#include "tests/worse.h"

#include <check.h>
#include <math.h>
#include <string.h>

ctn_scene *parsed_scene(const char *text)
{
    ctn_error err = {0};
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), "text.yaml", &err);
    ck_assert_msg(scene != NULL, "%s\n%s", err.message, text);
    return scene;
}

ctn_model *model_of_scene(const ctn_scene *scene)
{
    ctn_error err = {0};
    ctn_model *const m = ctn_model_create(scene, &err);
    ck_assert_msg(m != NULL, "%s", err.message);
    return m;
}

ctn_model *model_of(const char *text)
{
    ctn_scene *const scene = parsed_scene(text);
    ctn_model *const m = model_of_scene(scene);
    ctn_scene_free(scene);
    return m;
}

ctn_batch *batch_with(const ctn_model *m, const ctn_batch_config *cfg)
{
    ctn_error err = {0};
    ctn_batch *const b = ctn_batch_create(m, cfg, &err);
    ck_assert_msg(b != NULL, "%s", err.message);
    return b;
}

double coordinate_distance(const ctn_model *m, const double *x, const double *y)
{
    double worst = 0;
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *k = ctn_model_link(m, l);
        const int turn = k->joint == CTN_BALL ? 0 : k->joint == CTN_FREE ? 3 : k->nq;
        double plus = 0, minus = 0;
        for (int i = k->qadr; i < k->qadr + turn; i++) worst = worse(worst, fabs(x[i] - y[i]));
        for (int i = k->qadr + turn; i < k->qadr + k->nq; i++) {
            plus = worse(plus, fabs(x[i] - y[i]));
            minus = worse(minus, fabs(x[i] + y[i]));
        }
        worst = worse(worst, plus < minus ? plus : minus);
    }
    return worst;
}
