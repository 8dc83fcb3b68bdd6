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

/// Raises the eye of an orbit to a fiftieth of its distance above the height `floor` (m; not finite: there is none), if its target
/// is no lower.
void camera_keep_above(camera_orbit *o, double floor);

/// What an orbit is to have in sight: it keeps its direction, and moves across the picture and away as far as balls want, no
/// further. Begin with camera_fit_of, whose positions are relative to the target of `o`.
typedef struct camera_fit {
    double axes[3][3];  // right, up, back
    double half[2];     // rad, half the field of view across and upwards
    double side[2][2];  // m, how far away the planes of either side (right, left; top, bottom) want the camera
} camera_fit;

camera_fit camera_fit_of(const camera_orbit *o, double aspect);
void camera_fit_ball(camera_fit *f, const double *center, double radius);

/// Moves `o`, the orbit that the fit began with, to where all balls are just in sight; without any it stays.
void camera_fit_move(const camera_fit *f, camera_orbit *o);

/// Moves `o` away or nearer alone: its target stays.
void camera_fit_back(const camera_fit *f, camera_orbit *o);

/// Size of a pixel at distance 1 in a picture of `height`.
double camera_pixel(const render_camera *c, int height);

/// World to clip coordinates.
matrix4 camera_matrix(const render_camera *c, double aspect);

/// World to clip coordinates of light that falls along `direction`, not straight down, on the ball of `radius` about `center`.
matrix4 light_matrix(const double *direction, const double *center, double radius);

/// The point that `to_clip`, a camera_matrix, puts at x, y, z, each -1 to 1: from left to right, from below upwards, from near to
/// far.
void camera_unproject(const matrix4 *to_clip, double x, double y, double z, double *point);

#endif
