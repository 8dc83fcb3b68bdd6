/// Cameras of a scene as they move with it.
#ifndef CATENA_RENDER_CAMERA_MOUNT_H
#define CATENA_RENDER_CAMERA_MOUNT_H

#include "render/draw/camera.h"
#include "sim/scene/scene.h"

#include <stdbool.h>

/// A camera and what it stands on. `orbit` of cameras that look at something may be turned and moved while they follow it; its
/// target is set anew with each picture.
typedef struct camera_mount {
    scene_camera camera;
    camera_orbit orbit;
    double radius;                        // m, of the scene
    bool moving;                          // it has been asked for a time
    double time, followed[3], target[3];  // then, where the link was, and where the camera looked, which lags behind
} camera_mount;

/// `camera` of a scene, whose name may go, over the orbit that has all of the scene in sight; `radius` is that of the scene.
/// NULL: that orbit.
camera_mount camera_mount_of(const scene_camera *camera, const camera_orbit *standard, double radius);

/// A camera of a scene, or (NULL) the standard one turned to an azimuth and an elevation (rad), at a distance (m), NAN: where all
/// is in sight.
typedef struct camera_choice {
    const scene_camera *camera;
    double azimuth, elevation, distance;
} camera_choice;

/// What `text` says: a camera's name, or AZIMUTH,ELEVATION[,DISTANCE] in degrees and m. CTN_BAD_ARGUMENT: neither.
ctn_status camera_choose(const ctn_scene *scene, const char *text, camera_choice *choice, ctn_error *err);

/// Where it is at the poses R [links][9], p [links][3] of t (s). `middle`: of the scene, now. Times that grow; only of a camera
/// with `smooth` does the picture depend on those before.
render_camera camera_mount_at(camera_mount *m, const double *R, const double *p, const double *middle, double t);

#endif
