/// What a scene's cameras look at.
#include "render/draw/camera_mount.h"

#include "sim/base/number.h"
#include "sim/base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

camera_mount camera_mount_of(const scene_camera *camera, const camera_orbit *standard, double radius)
{
    camera_mount m = {.camera = {.link = -1, .target = {NAN}}, .orbit = *standard, .radius = radius};
    if (!camera) return m;
    m.camera = *camera, m.camera.name = NULL;
    const double given[] = {camera->azimuth, camera->elevation, camera->distance, camera->field};
    double *const used[] = {&m.orbit.azimuth, &m.orbit.elevation, &m.orbit.distance, &m.orbit.field};
    for (int k = 0; k < 4; k++)
        if (!isnan(given[k])) *used[k] = given[k];
    if (camera->type == CAMERA_FIRST_PERSON && isnan(camera->field)) m.orbit.field = M_PI / 3;
    return m;
}

/// From the last picture to this one the camera's target has moved towards the link's place by a low pass of first order, as if
/// the link had moved straight: however many pictures a second there are, they show the same.
static void lag_behind(camera_mount *m, const double *place, double t)
{
    const double h = t - m->time, lag = m->camera.smooth;
    const bool lags = m->moving && lag > 0 && h >= 0;
    for (int k = 0; k < 3; k++) {
        const double behind = lags && h > 0 ? (place[k] - m->followed[k]) / h * lag : 0;  // where it would stay for good
        if (!lags) m->target[k] = place[k];
        else if (h > 0) m->target[k] = place[k] - behind + exp(-h / lag) * (m->target[k] - m->followed[k] + behind);
        m->followed[k] = place[k];
    }
    m->moving = true, m->time = t;
}

/// In the frame of its link. What it looks at is as far away as the scene is from a camera that has all of it in sight.
static render_camera on_link(const camera_mount *m, const double *R, const double *p)
{
    const scene_camera *const f = &m->camera;
    render_camera c = {.field = m->orbit.field, .near = 0.005 * m->radius, .far = 50 * m->orbit.distance};
    for (int i = 0; i < 3; i++) {
        double eye = p[i], along = 0, up = 0;
        for (int k = 0; k < 3; k++) {
            eye += R[3 * i + k] * f->position[k];
            along += R[3 * i + k] * f->look[k], up += R[3 * i + k] * f->up[k];
        }
        c.eye[i] = eye, c.target[i] = eye + m->orbit.distance * along, c.up[i] = up;
    }
    return c;
}

render_camera camera_mount_at(camera_mount *m, const double *R, const double *p, const double *middle, double t)
{
    const scene_camera *const f = &m->camera;
    const double *const place = p + 3 * (size_t)(f->link < 0 ? 0 : f->link);
    if (f->type == CAMERA_FIRST_PERSON) return on_link(m, R + 9 * (size_t)f->link, place);
    if (f->link >= 0) lag_behind(m, place, t);
    memcpy(m->orbit.target, f->link >= 0 ? m->target : isnan(f->target[0]) ? middle : f->target, sizeof m->orbit.target);
    return camera_on_orbit(&m->orbit);
}

/// The names of the scene's cameras, after "or one of the scene's: "; cut where they are too many.
static void list_cameras(const ctn_scene *scene, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int k = 0; k < scene->ncamera && used < size; k++)
        if (scene->cameras[k].name)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used ? ", " : ", or one of the scene's: ", scene->cameras[k].name);
}

ctn_status camera_choose(const ctn_scene *scene, const char *text, camera_choice *choice, ctn_error *err)
{
    double x[3];
    for (int k = 0; k < scene->ncamera; k++)
        if (scene->cameras[k].name && !strcmp(scene->cameras[k].name, text))
            return *choice = (camera_choice){.camera = &scene->cameras[k]}, CTN_OK;
    const bool near = strchr(text, ',') != strrchr(text, ',');  // there is a distance
    const char *const end = numbers_from_text(text, ',', near ? 3 : 2, x);
    if (!end || *end || !(fabs(x[1]) <= 90) || (near && !(x[2] > 0))) {
        char names[200];
        list_cameras(scene, names, sizeof names);
        return fail(err, CTN_BAD_ARGUMENT,
                    "--camera: expected AZIMUTH,ELEVATION in degrees, elevation -90 to 90, and perhaps ,DISTANCE in metres%s; "
                    "found '%s'",
                    names, text);
    }
    const double degree = M_PI / 180;
    *choice = (camera_choice){NULL, x[0] * degree, x[1] * degree, near ? x[2] : NAN};
    return CTN_OK;
}
