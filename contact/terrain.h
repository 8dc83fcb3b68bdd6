/// A field of heights as a surface: how high it is above a place, and how that changes.
///
/// The heights stand on a grid, and a bicubic spline h goes through them. It is twice differentiable, so that forces have no jumps.
/// Beyond its edges the field goes on as in a mirror, which keeps it so. With the slopes h_x and h_y the gap of the ball of radius
/// r about (x, y, z) is
///
///     (z - h) g - r,    g = 1/sqrt(1 + h_x^2 + h_y^2)
///
/// the distance on a slope; where the ground is bent by c (1/m) it differs from that by c r^2 (1 - g^2)/2 or less.
/// (docs/theory.md 4.12)
#ifndef CATENA_TERRAIN_H
#define CATENA_TERRAIN_H

#include "dynamics/lane_model.h"
#include "dynamics/spatial.h"

/// Where a coordinate lies on an axis of n nodes: after node i by the share t; and -1 where it is mirrored, else 1.
typedef struct {
    int i;
    double t, sign;
} grid_place;

FN grid_place fold_axis(double u, int n)
{
    const double period = 2.0 * (n - 1), magic = 6755399441055744.0;  // 1.5 2^52: what is added to it loses its fraction
    grid_place p;
    if (!(u < 1e9 && u > -1e9)) u = 0;  // nowhere
    const double periods = u / period, nearest = (periods + magic) - magic;
    u -= period * (nearest > periods ? nearest - 1 : nearest), p.sign = 1;
    if (u > n - 1) u = period - u, p.sign = -1;
    p.i = (int)u;
    if (p.i > n - 2) p.i = n - 2;
    if (p.i < 0) p.i = 0;
    p.t = u - p.i;
    return p;
}

FN int fold_index(int i, int n) { return i < 0 ? -i : i > n - 1 ? 2 * (n - 1) - i : i; }

/// The weights of four coefficients, and their first and second derivatives by t.
FN void spline_weights(double t, double w[3][4])
{
    const double s = 1 - t;
    w[0][0] = s * s * s / 6, w[0][1] = ((3 * t - 6) * t * t + 4) / 6, w[0][2] = ((3 * s - 6) * s * s + 4) / 6;
    w[0][3] = t * t * t / 6;
    w[1][0] = -s * s / 2, w[1][1] = (3 * t - 4) * t / 2, w[1][2] = (4 - 3 * s) * s / 2, w[1][3] = t * t / 2;
    w[2][0] = s, w[2][1] = 3 * t - 2, w[2][2] = 3 * s - 2, w[2][3] = t;
}

enum { HEIGHT, HEIGHT_X, HEIGHT_Y, HEIGHT_XX, HEIGHT_XY, HEIGHT_YY, HEIGHT_NUMBERS };

/// The height at (x, y) from the middle of the field, and its derivatives.
FN void height_at(const fixed_surface *f, double x, double y, double to[HEIGHT_NUMBERS])
{
    const grid_place a = fold_axis(x / f->spacing[0] + 0.5 * (f->columns - 1), f->columns),
                     b = fold_axis(y / f->spacing[1] + 0.5 * (f->rows - 1), f->rows);
    const double dx = a.sign / f->spacing[0], dy = b.sign / f->spacing[1];
    double wx[3][4], wy[3][4], sum[HEIGHT_NUMBERS] = {0, 0, 0, 0, 0, 0};
    spline_weights(a.t, wx), spline_weights(b.t, wy);
    for (int j = 0; j < 4; j++) {
        const double *const row = f->numbers + (size_t)fold_index(b.i + j - 1, f->rows) * (size_t)f->columns;
        double part[3] = {0, 0, 0};
        for (int i = 0; i < 4; i++) {
            const double c = row[fold_index(a.i + i - 1, f->columns)];
            for (int d = 0; d < 3; d++) part[d] += wx[d][i] * c;
        }
        sum[HEIGHT] += wy[0][j] * part[0], sum[HEIGHT_X] += wy[0][j] * part[1], sum[HEIGHT_XX] += wy[0][j] * part[2];
        sum[HEIGHT_Y] += wy[1][j] * part[0], sum[HEIGHT_XY] += wy[1][j] * part[1], sum[HEIGHT_YY] += wy[2][j] * part[0];
    }
    to[HEIGHT] = sum[HEIGHT], to[HEIGHT_X] = dx * sum[HEIGHT_X], to[HEIGHT_Y] = dy * sum[HEIGHT_Y];
    to[HEIGHT_XX] = dx * dx * sum[HEIGHT_XX], to[HEIGHT_XY] = dx * dy * sum[HEIGHT_XY], to[HEIGHT_YY] = dy * dy * sum[HEIGHT_YY];
}

/// Its third derivatives there, by xxx, xxy, xyy and yyy. They jump from cell to cell.
FN void height_thirds_at(const fixed_surface *f, double x, double y, double to[4])
{
    const grid_place a = fold_axis(x / f->spacing[0] + 0.5 * (f->columns - 1), f->columns),
                     b = fold_axis(y / f->spacing[1] + 0.5 * (f->rows - 1), f->rows);
    const double dx = a.sign / f->spacing[0], dy = b.sign / f->spacing[1];
    double wx[4][4] = {{0}, {0}, {0}, {-1, 3, -3, 1}}, wy[4][4] = {{0}, {0}, {0}, {-1, 3, -3, 1}}, sum[4] = {0, 0, 0, 0};
    spline_weights(a.t, wx), spline_weights(b.t, wy);
    for (int j = 0; j < 4; j++) {
        const double *const row = f->numbers + (size_t)fold_index(b.i + j - 1, f->rows) * (size_t)f->columns;
        for (int i = 0; i < 4; i++)
            for (int d = 0; d < 4; d++) sum[d] += wx[3 - d][i] * wy[d][j] * row[fold_index(a.i + i - 1, f->columns)];
    }
    to[0] = dx * dx * dx * sum[0], to[1] = dx * dx * dy * sum[1], to[2] = dx * dy * dy * sum[2], to[3] = dy * dy * dy * sum[3];
}

/// The same in every lane.
FN void heights_at(const fixed_surface *f, real x, real y, real to[HEIGHT_NUMBERS])
{
    double at[2][LANES] __attribute__((aligned(64))), h[HEIGHT_NUMBERS][LANES] __attribute__((aligned(64)));
    lane_store(at[0], x), lane_store(at[1], y);
    for (int l = 0; l < LANES; l++) {
        double one[HEIGHT_NUMBERS];
        height_at(f, at[0][l], at[1][l], one);
        for (int k = 0; k < HEIGHT_NUMBERS; k++) h[k][l] = one[k];
    }
    for (int k = 0; k < HEIGHT_NUMBERS; k++) to[k] = lane_load(h[k]);
}
FN void height_thirds(const fixed_surface *f, real x, real y, real to[4])
{
    double at[2][LANES] __attribute__((aligned(64))), h[4][LANES] __attribute__((aligned(64)));
    lane_store(at[0], x), lane_store(at[1], y);
    for (int l = 0; l < LANES; l++) {
        double one[4];
        height_thirds_at(f, at[0][l], at[1][l], one);
        for (int k = 0; k < 4; k++) h[k][l] = one[k];
    }
    for (int k = 0; k < 4; k++) to[k] = lane_load(h[k]);
}

#endif
