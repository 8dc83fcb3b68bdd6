/// Where pictures are taken from.
#ifndef CATENA_RENDER_CAMERA_H
#define CATENA_RENDER_CAMERA_H

/// Looks from `eye` at `target`.
typedef struct render_camera {
    double eye[3], target[3];  // m
    double up[3];              // which way is up in the picture; not along the view
    double field;              // rad, of view, vertical
    double near, far;          // m, between which bodies are seen
} render_camera;

/// Looks at `target` from `distance` m, `azimuth` rad about z from x, `elevation` rad above the horizontal.
typedef struct camera_orbit {
    double target[3], distance, azimuth, elevation;
    double field;  // rad, of view, vertical
} camera_orbit;

/// Column-major 4 x 4 matrices, as OpenGL has them.
typedef struct matrix4 {
    float m[16];
} matrix4;

/// An orbit to the side that has the ball of `radius` about `center` just in sight in a picture of width / height `aspect`.
camera_orbit camera_around(const double *center, double radius, double aspect);

render_camera camera_on_orbit(const camera_orbit *orbit);

/// Unit vectors to the right, up and back.
void camera_axes(const render_camera *c, double axes[3][3]);

/// Moves an orbit across the picture: `right` and `up` are what it sees move, at distance 1.
void camera_pan(camera_orbit *o, double right, double up);

/// Size of a pixel at distance 1 in a picture of `height`.
double camera_pixel(const render_camera *c, int height);

/// World to clip coordinates.
matrix4 camera_matrix(const render_camera *c, double aspect);

/// World to clip coordinates of light that falls along `direction`, not straight down, on the ball of `radius` about `center`.
matrix4 light_matrix(const double *direction, const double *center, double radius);

/// The point that `to_clip`, a camera_matrix, puts at x, y, z, each -1 to 1: from left to right, from below upwards, from near to far.
void camera_unproject(const matrix4 *to_clip, double x, double y, double z, double *point);

#endif
