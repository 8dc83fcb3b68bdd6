/// What a picture costs the CPU: usage: frame_time SCENE WORLDS WIDTH HEIGHT [PICTURES]. Least times of a picture, in ms:
/// `place`, bodies out of poses; `submit`, what all calls of OpenGL take of the calling thread's CPU (llvmpipe works on vertices
/// in it; a GPU does that by itself); `picture`, until its pixels are read.
#include "render/draw/context.h"
#include "render/draw/layout.h"
#include "render/draw/renderer.h"

#include <catena/catena.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// ms
static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int give_up(const ctn_error *err)
{
    fprintf(stderr, "frame_time: %s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    ctn_error err;
    if (argc < 5) return fprintf(stderr, "usage: frame_time SCENE WORLDS WIDTH HEIGHT [PICTURES]\n"), 2;
    const int worlds = atoi(argv[2]), width = atoi(argv[3]), height = atoi(argv[4]), pictures = argc > 5 ? atoi(argv[5]) : 20;
    ctn_scene *const scene = ctn_scene_load(argv[1], &err);
    ctn_model *const model = scene ? ctn_model_create(scene, &err) : NULL;
    ctn_dynamics *const dyn = model ? ctn_dynamics_create(model, "scalar", &err) : NULL;
    render_context *const context = dyn ? context_create(&err) : NULL;
    renderer *const pen = context ? renderer_create(width, height, &err) : NULL;
    if (!pen) return give_up(&err);
    const size_t links = (size_t)ctn_model_nlink(model);
    double *const q = calloc((size_t)ctn_model_nq(model) + 1, sizeof *q), *const R = calloc(9 * links + 1, sizeof *R);
    double *const p = calloc(3 * links + 1, sizeof *p), *const moved = calloc(3 * links + 1, sizeof *moved);
    uint8_t *const rgb = malloc(3 * (size_t)width * (size_t)height);
    scene_shapes *const shapes = scene_shapes_create(scene, model);
    if (!q || !R || !p || !moved || !rgb || !shapes) return fprintf(stderr, "frame_time: not enough memory\n"), 1;
    int meshes;
    const mesh *const list = scene_shapes_meshes(shapes, &meshes);
    if (renderer_set_meshes(pen, list, meshes, &err) != CTN_OK) return give_up(&err);
    ctn_model_initial_state(model, q, NULL);
    ctn_forward_kinematics(dyn, 1, q, R, p);
    const scene_extent one = scene_shapes_extent(shapes, R, p), all = layout_extent(LAYOUT_GRID, &one, worlds);
    camera_orbit orbit = camera_around(all.center, all.radius, (double)width / height);
    orbit.elevation = worlds > 1 ? 0.65 : 0.25;
    layout_look(LAYOUT_GRID, &one, worlds, (double)width / height, &orbit);
    const render_camera camera = camera_on_orbit(&orbit);
    scenery around = {.radius = all.radius, .floor = all.floor};
    memcpy(around.center, all.center, sizeof around.center);
    instance_list bodies = {0};
    double place = INFINITY, submit = INFINITY, picture = INFINITY;
    for (int n = 0; n < pictures; n++) {
        const double begun = now(CLOCK_MONOTONIC), t0 = now(CLOCK_THREAD_CPUTIME_ID);
        instance_list_clear(&bodies);
        for (int w = 0; w < worlds; w++) {
            double shift[3];
            layout_offset(LAYOUT_GRID, &one, w, worlds, shift);
            for (size_t k = 0; k < 3 * links; k++) moved[k] = p[k] + shift[k % 3];
            if (!scene_shapes_place(shapes, R, moved, w, NULL, &bodies))
                return fprintf(stderr, "frame_time: not enough memory\n"), 1;
        }
        const double t1 = now(CLOCK_THREAD_CPUTIME_ID);
        if (renderer_paint(pen, &bodies, &camera, &around, NULL, &err) != CTN_OK) return give_up(&err);
        const double t2 = now(CLOCK_THREAD_CPUTIME_ID);
        if (renderer_read(pen, rgb, &err) != CTN_OK) return give_up(&err);
        place = fmin(place, t1 - t0), submit = fmin(submit, t2 - t1), picture = fmin(picture, now(CLOCK_MONOTONIC) - begun);
    }
    printf("%s, %d worlds, %zu links, %zu triangles, %dx%d by %s: place %.2f ms, submit %.2f ms, picture %.2f ms\n", argv[1],
           worlds, links * (size_t)worlds, renderer_triangles(pen), width, height, context_name(context), place, submit, picture);
    instance_list_free(&bodies);
    scene_shapes_free(shapes);
    renderer_free(pen);
    context_free(context);
    ctn_dynamics_free(dyn);
    ctn_model_free(model);
    ctn_scene_free(scene);
    free(q), free(R), free(p), free(moved), free(rgb);
    return 0;
}
