/// Scenes as the tests of pictures look at them.
#include "tests/view.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

renderer *pen;
static render_context *context;

void set_up_pen(void)
{
    ctn_error err;
    context = context_create(&err);
    ck_assert_msg(context != NULL, "%s", err.message);
    pen = renderer_create(WIDTH, HEIGHT, &err);
    ck_assert_msg(pen != NULL, "%s", err.message);
}

void tear_down_pen(void)
{
    renderer_free(pen);
    context_free(context);
}

bool pen_is_there(ctn_error *err) { return context_create(err) != NULL; }

void view_moved(view *v)
{
    ctn_forward_kinematics(v->dyn, 1, v->q, v->R, v->p);
    instance_list_clear(&v->bodies);
    ck_assert(scene_shapes_place(v->shapes, v->R, v->p, 0, NULL, &v->bodies));
}

static view view_of(ctn_scene *scene)
{
    ctn_error err;
    int meshes;
    view v = {.scene = scene};
    v.model = ctn_model_create(v.scene, &err);
    v.shapes = scene_shapes_create(v.scene, v.model);
    const mesh *const list = scene_shapes_meshes(v.shapes, &meshes);
    ck_assert_int_eq(renderer_set_meshes(pen, list, meshes, &err), CTN_OK);
    const size_t n = (size_t)ctn_model_nlink(v.model), nq = (size_t)ctn_model_nq(v.model), nv = (size_t)ctn_model_nv(v.model);
    v.q = malloc((nq + nv + 1) * sizeof *v.q), v.R = malloc(9 * n * sizeof *v.R), v.p = malloc(3 * n * sizeof *v.p);
    v.dyn = ctn_dynamics_create(v.model, "scalar", &err);
    ctn_model_initial_state(v.model, v.q, v.q + nq);
    view_moved(&v);
    v.extent = scene_shapes_extent(v.shapes, v.R, v.p);
    v.orbit = camera_around(v.extent.center, v.extent.radius, (double)WIDTH / HEIGHT);
    v.camera = camera_on_orbit(&v.orbit);
    v.around = (scenery){.radius = v.extent.radius, .floor = v.extent.floor};
    memcpy(v.around.center, v.extent.center, sizeof v.around.center);
    return v;
}

view open_view(const char *name)
{
    char path[300];
    ctn_error err;
    snprintf(path, sizeof path, CATENA_SOURCE_DIR "/scenes/%s.yaml", name);
    ctn_scene *const scene = ctn_scene_load(path, &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return view_of(scene);
}

view parse_view(const char *text)
{
    ctn_error err;
    ctn_scene *const scene = ctn_scene_parse(text, strlen(text), CATENA_SOURCE_DIR "/tests/meshes/scene.yaml", &err);
    ck_assert_msg(scene != NULL, "%s", err.message);
    return view_of(scene);
}

void close_view(view *v)
{
    instance_list_free(&v->bodies);
    scene_shapes_free(v->shapes);
    ctn_dynamics_free(v->dyn);
    ctn_model_free(v->model);
    ctn_scene_free(v->scene);
    free(v->q), free(v->R), free(v->p);
}
