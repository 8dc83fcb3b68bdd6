/// Tangent coordinates for tests, by libm: q (+) u and q1 (-) q0, laid out as v; balls in body axes.
#ifndef CATENA_TESTS_TANGENT_H
#define CATENA_TESTS_TANGENT_H

#include <catena/model.h>
#include <math.h>
#include <string.h>

/// out = q (+) e u. q, out [nq]; u [nv].
static inline void tangent_move(const ctn_model *m, const double *q, const double *u, double e, double *out)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *k = ctn_model_link(m, l);
        const double *a = q + k->qadr, *w = u + k->vadr;
        double *b = out + k->qadr;
        const int plain = k->joint == CTN_BALL ? 0 : k->joint == CTN_FREE ? 3 : k->nv;
        for (int i = 0; i < plain; i++) b[i] = a[i] + e * w[i];
        if (k->joint != CTN_BALL && k->joint != CTN_FREE) continue;
        const double *p = a + plain, *x = w + plain;
        const double n = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) + 1e-300, s = sin(e * n / 2) / n, c = cos(e * n / 2);
        const double d[4] = {c, s * x[0], s * x[1], s * x[2]};
        b[plain] = p[0] * d[0] - p[1] * d[1] - p[2] * d[2] - p[3] * d[3];
        b[plain + 1] = p[0] * d[1] + p[1] * d[0] + p[2] * d[3] - p[3] * d[2];
        b[plain + 2] = p[0] * d[2] - p[1] * d[3] + p[2] * d[0] + p[3] * d[1];
        b[plain + 3] = p[0] * d[3] + p[1] * d[2] - p[2] * d[1] + p[3] * d[0];
    }
}

/// u with from (+) u = to. from, to [nq], unit quaternions; u [nv].
static inline void tangent_between(const ctn_model *m, const double *from, const double *to, double *u)
{
    for (int l = 0; l < ctn_model_nlink(m); l++) {
        const ctn_link *k = ctn_model_link(m, l);
        const int plain = k->joint == CTN_BALL ? 0 : k->joint == CTN_FREE ? 3 : k->nv;
        double *x = u + k->vadr;
        for (int i = 0; i < plain; i++) x[i] = to[k->qadr + i] - from[k->qadr + i];
        if (k->joint != CTN_BALL && k->joint != CTN_FREE) continue;
        const double *a = from + k->qadr + plain, *b = to + k->qadr + plain;
        double d[4] = {
            a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
            a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1], a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]};
        if (d[0] < 0)
            for (int i = 0; i < 4; i++) d[i] = -d[i];
        const double n = sqrt(d[1] * d[1] + d[2] * d[2] + d[3] * d[3]), s = n > 0 ? 2 * atan2(n, d[0]) / n : 2;
        for (int i = 0; i < 3; i++) x[plain + i] = s * d[1 + i];
    }
}

/// Where coordinates of a state are in its flat form: the first nv by tangents, the others at place [n].
typedef struct {
    size_t nv, n, flat;
    const size_t *place;
    const double *unit;  // [n] what makes differences of the others lengths or angles; NULL: nothing
} flat_places;

/// The flat state `from` moved by e along the coordinates d [n].
static inline void flat_move(const ctn_model *m, flat_places p, const double *from, const double *d, double e, double *to)
{
    memcpy(to, from, p.flat * sizeof *to);
    tangent_move(m, from, d, e, to);
    for (size_t k = p.nv; k < p.n; k++) to[p.place[k]] += e * d[k];
}

/// Coordinates d [n] of the way from one flat state to another.
static inline void flat_between(const ctn_model *m, flat_places p, const double *from, const double *to, double *d)
{
    tangent_between(m, from, to, d);
    for (size_t k = p.nv; k < p.n; k++) d[k] = (to[p.place[k]] - from[p.place[k]]) * (p.unit ? p.unit[k] : 1);
}

#endif
