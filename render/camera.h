/// Where pictures are taken from.
#ifndef CATENA_RENDER_CAMERA_H
#define CATENA_RENDER_CAMERA_H

/// Looks at `target` from `distance` m, `azimuth` rad about z from x, `elevation` rad above the horizontal.
typedef struct render_camera {
    double target[3], distance, azimuth, elevation;
    double field;  // rad, of view, vertical
} render_camera;

/// Column-major 4 x 4 matrices, as OpenGL has them.
typedef struct matrix4 {
    float m[16];
} matrix4;

/// A camera from the side that has the ball of `radius` about `center` just in sight in a picture of width / height `aspect`.
render_camera camera_around(const double *center, double radius, double aspect);

/// Moves the camera and what it looks at across the picture: `right` and `up` are what it sees move, at distance 1.
void camera_pan(render_camera *c, double right, double up);

/// Where it stands, m.
void camera_position(const render_camera *c, double *eye);

/// Size of a pixel at distance 1 in a picture of `height`.
double camera_pixel(const render_camera *c, int height);

/// World to clip coordinates.
matrix4 camera_matrix(const render_camera *c, double aspect);

/// World to clip coordinates of light that falls along `direction` on the ball of `radius` about `center`.
matrix4 light_matrix(const double *direction, const double *center, double radius);

/// The point that `to_clip`, a camera_matrix, puts at x, y, z, each -1 to 1: from left to right, from below upwards, from near to far.
void camera_unproject(const matrix4 *to_clip, double x, double y, double z, double *point);

#endif
