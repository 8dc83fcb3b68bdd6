/// Views and projections. [OpenGL 3.3 core specification, 2.14; Akenine-Moller et al., Real-Time Rendering, chapter 4]
#include "render/draw/camera.h"

#include "render/draw/vectors.h"

#include <math.h>

/// Rows right, up, back of the frame that looks along -back, with `up` as near to the second one as can be.
static void look(const double *back, const double *up, double rows[3][3])
{
    for (int k = 0; k < 3; k++) rows[2][k] = back[k];
    vector_normalise(rows[2]);
    vector_cross(up, rows[2], rows[0]);
    vector_normalise(rows[0]);
    vector_cross(rows[2], rows[0], rows[1]);
}

/// clip = projection * (rows * (x - eye))
static matrix4 combine(double projection[4][4], double rows[3][3], const double *eye)
{
    double view[4][4] = {{0}};
    matrix4 m;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) view[i][j] = rows[i][j];
        view[i][3] = -vector_dot(rows[i], eye);
    }
    view[3][3] = 1;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += projection[i][k] * view[k][j];
            m.m[4 * j + i] = (float)sum;
        }
    return m;
}

camera_orbit camera_around(const double *center, double radius, double aspect)
{
    camera_orbit c = {.azimuth = -1.25, .elevation = 0.25, .field = 0.6};
    const double across = aspect < 1 ? atan(tan(c.field / 2) * aspect) : c.field / 2;
    for (int k = 0; k < 3; k++) c.target[k] = center[k];
    c.distance = radius / sin(across);
    return c;
}

render_camera camera_on_orbit(const camera_orbit *o)
{
    render_camera c = {.field = o->field, .near = 0.02 * o->distance, .far = 50 * o->distance};
    const double ce = cos(o->elevation), se = sin(o->elevation), ca = cos(o->azimuth), sa = sin(o->azimuth);
    const double back[3] = {ce * ca, ce * sa, se}, up[3] = {-se * ca, -se * sa, ce};
    for (int k = 0; k < 3; k++) c.target[k] = o->target[k], c.eye[k] = o->target[k] + o->distance * back[k], c.up[k] = up[k];
    return c;
}

void camera_axes(const render_camera *c, double axes[3][3])
{
    const double back[3] = {c->eye[0] - c->target[0], c->eye[1] - c->target[1], c->eye[2] - c->target[2]};
    look(back, c->up, axes);
}

void camera_pan(camera_orbit *o, double right, double up)
{
    const render_camera c = camera_on_orbit(o);
    double axes[3][3];
    camera_axes(&c, axes);
    for (int k = 0; k < 3; k++) o->target[k] -= o->distance * (right * axes[0][k] + up * axes[1][k]);
}

void camera_keep_above(camera_orbit *o, double floor)
{
    const double least = (floor - o->target[2]) / o->distance + 0.02;  // sine of the elevation
    if (!(fabs(floor) < INFINITY) || !(o->target[2] >= floor)) return;
    o->elevation = fmax(o->elevation, asin(fmax(least, -1)));
}

camera_fit camera_fit_of(const camera_orbit *o, double aspect)
{
    const camera_orbit unit = {.distance = 1, .azimuth = o->azimuth, .elevation = o->elevation};  // however near and where `o` is
    const render_camera c = camera_on_orbit(&unit);
    camera_fit f = {.half = {atan(tan(o->field / 2) * aspect), o->field / 2},
                    .side = {{-INFINITY, -INFINITY}, {-INFINITY, -INFINITY}}};
    camera_axes(&c, f.axes);
    return f;
}

/// A plane through the eye, `half` off the axis, touches the ball where the eye is (radius + across cos half) / sin half behind
/// its centre.
void camera_fit_ball(camera_fit *f, const double *center, double radius)
{
    const double back = vector_dot(f->axes[2], center);
    for (int k = 0; k < 2; k++) {
        const double across = vector_dot(f->axes[k], center) * cos(f->half[k]), s = sin(f->half[k]);
        f->side[k][0] = fmax(f->side[k][0], back + (radius + across) / s);
        f->side[k][1] = fmax(f->side[k][1], back + (radius - across) / s);
    }
}

void camera_fit_move(const camera_fit *f, camera_orbit *o)
{
    if (!isfinite(f->side[0][0])) return;
    o->distance = 0;
    for (int k = 0; k < 2; k++) {
        const double move = 0.5 * (f->side[k][0] - f->side[k][1]) * tan(f->half[k]);
        for (int i = 0; i < 3; i++) o->target[i] += move * f->axes[k][i];
        o->distance = fmax(o->distance, 0.5 * (f->side[k][0] + f->side[k][1]));
    }
}

void camera_fit_back(const camera_fit *f, camera_orbit *o)
{
    if (!isfinite(f->side[0][0])) return;
    o->distance = 0;
    for (int k = 0; k < 4; k++) o->distance = fmax(o->distance, f->side[k / 2][k % 2]);
}

double camera_pixel(const render_camera *c, int height) { return 2 * tan(c->field / 2) / height; }

matrix4 camera_matrix(const render_camera *c, double aspect)
{
    double rows[3][3];
    const double f = 1 / tan(c->field / 2), near = c->near, far = c->far;
    double projection[4][4] = {
        {f / aspect, 0, 0, 0}, {0, f, 0, 0}, {0, 0, (far + near) / (near - far), 2 * far * near / (near - far)}, {0, 0, -1, 0}};
    camera_axes(c, rows);
    return combine(projection, rows, c->eye);
}

matrix4 light_matrix(const double *direction, const double *center, double radius)
{
    const double back[3] = {-direction[0], -direction[1], -direction[2]}, s = 1 / radius, z[3] = {0, 0, 1};
    double rows[3][3], projection[4][4] = {{s, 0, 0, 0}, {0, s, 0, 0}, {0, 0, -s, 0}, {0, 0, 0, 1}};
    look(back, z, rows);
    return combine(projection, rows, center);
}

/// Three planes of homogeneous coordinates meet there: x (row 3) - row 0 = 0 and so on.
void camera_unproject(const matrix4 *to_clip, double x, double y, double z, double *point)
{
    const double at[3] = {x, y, z};
    double plane[3][3], offset[3];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) plane[i][j] = at[i] * to_clip->m[4 * j + 3] - to_clip->m[4 * j + i];
        offset[i] = to_clip->m[12 + i] - at[i] * to_clip->m[15];
    }
    vector_solve(plane, offset, point);
}
