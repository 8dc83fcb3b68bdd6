/// What motors are told over time, as kernels read it (forces/signals.h): waves as they are, points as cubics between knots.
///
/// Splines are cubic and have two derivatives everywhere: the slopes m_i at their knots solve
///
///     h_i m_(i-1) + 2 (h_(i-1) + h_i) m_i + h_(i-1) m_(i+1) = 3 (h_i d_(i-1) + h_(i-1) d_i),    h_i, d_i: length and slope of chord i
///
/// with m = 0 at both ends, beyond which they rest, or around the circle. [de Boor, A Practical Guide to Splines, 1978, chapter IV]
#include "sim/model/model.h"
#include "sim/scene/scene.h"

#include <stdlib.h>
#include <string.h>

/// Solves l_i x_(i-1) + d_i x_i + u_i x_(i+1) = r_i, 0 <= i < n, x at r; l_0 and u_(n-1) unused. d is used up.
static void solve_tridiagonal(int n, const double *l, double *d, const double *u, double *r)
{
    for (int i = 1; i < n; i++) {
        const double w = l[i] / d[i - 1];
        d[i] -= w * u[i - 1], r[i] -= w * r[i - 1];
    }
    for (int i = n - 1; i >= 0; i--) r[i] = (r[i] - (i + 1 < n ? u[i] * r[i + 1] : 0)) / d[i];
}

/// Slopes m [n] of the spline through n knots, of which a periodic one has the first again at its end. work [5 n]
static void spline_slopes(int n, const double *t, const double *x, bool periodic, double *work, double *m)
{
    double *const l = work, *const d = l + n, *const u = d + n, *const z = u + n, *const d2 = z + n;
    const int rows = periodic ? n - 1 : n;
    memset(work, 0, 5 * (size_t)n * sizeof *work);
    for (int i = 0; i < rows; i++) {
        if (!periodic && (i == 0 || i == n - 1)) {
            d[i] = 1, m[i] = 0;
            continue;
        }
        const int a = i ? i - 1 : n - 2;  // the chord before the knot
        const double before = t[a + 1] - t[a], after = t[i + 1] - t[i];
        l[i] = after, d[i] = 2 * (before + after), u[i] = before;
        m[i] = 3 * (after * (x[a + 1] - x[a]) / before + before * (x[i + 1] - x[i]) / after);
    }
    if (periodic && rows == 2) {  // both neighbours are the other knot
        const double a = d[0], b = l[0] + u[0], c = l[1] + u[1], e = d[1], det = a * e - b * c, m0 = m[0];
        m[0] = (e * m0 - b * m[1]) / det, m[1] = (a * m[1] - c * m0) / det;
    } else if (periodic) {  // the corners of the circle, taken out as a matrix of rank one (Sherman, Morrison)
        const double gamma = -d[0], top = l[0], bottom = u[rows - 1];
        z[0] = gamma, z[rows - 1] = bottom;
        d[0] -= gamma, d[rows - 1] -= top * bottom / gamma;
        memcpy(d2, d, (size_t)rows * sizeof *d);
        solve_tridiagonal(rows, l, d, u, m), solve_tridiagonal(rows, l, d2, u, z);
        const double w = (m[0] + top * m[rows - 1] / gamma) / (1 + z[0] + top * z[rows - 1] / gamma);
        for (int i = 0; i < rows; i++) m[i] -= w * z[i];
    } else solve_tridiagonal(rows, l, d, u, m);
    if (periodic) m[n - 1] = m[0];
}

/// Knots of a signal: its points, and the first again where it begins anew.
static int knots_of(const scene_signal *s) { return s->form < FORM_SPLINE ? 0 : s->count + (s->wave.period > 0); }

/// Knots [n] and pieces [n + 1][4].
static bool make_pieces(const scene_signal *s, double *t, double *piece)
{
    const int n = knots_of(s);
    const bool periodic = s->wave.period > 0;
    double *const x = calloc(7 * (size_t)n, sizeof *x), *const m = x + n, *const work = m + n;
    if (!x) return false;
    memcpy(t, s->times, (size_t)s->count * sizeof *t), memcpy(x, s->values, (size_t)s->count * sizeof *x);
    if (periodic) t[n - 1] = t[0] + s->wave.period, x[n - 1] = x[0];
    if (s->form == FORM_SPLINE) spline_slopes(n, t, x, periodic, work, m);
    memset(piece, 0, 4 * ((size_t)n + 1) * sizeof *piece);
    piece[0] = x[0], piece[4 * (size_t)n] = x[n - 1];
    for (int i = 0; i + 1 < n; i++) {
        double *const a = piece + 4 * (i + 1);
        const double h = t[i + 1] - t[i], chord = (x[i + 1] - x[i]) / h;
        a[0] = x[i];
        if (s->form == FORM_LINES) a[1] = chord;
        if (s->form != FORM_SPLINE) continue;
        a[1] = m[i], a[2] = (3 * chord - 2 * m[i] - m[i + 1]) / h, a[3] = (m[i] + m[i + 1] - 2 * chord) / (h * h);
    }
    free(x);
    return true;
}

bool compile_signal_list(const scene_signal *list, int count, ctn_signal **signals, double **numbers)
{
    size_t room = 0;
    for (int i = 0; i < count; i++) room += 5 * (size_t)knots_of(&list[i]) + 4;
    *signals = calloc((size_t)count + 1, sizeof **signals), *numbers = calloc(room + 1, sizeof **numbers);
    if (!*signals || !*numbers) return false;
    double *to = *numbers;
    for (int i = 0; i < count; i++) {
        const scene_signal *const s = &list[i];
        ctn_signal *const signal = &(*signals)[i];
        const int n = knots_of(s);
        *signal = s->wave;
        if (!n) continue;
        signal->count = n, signal->knots = to, signal->pieces = to + n;
        if (!make_pieces(s, to, to + n)) return false;
        to += 5 * (size_t)n + 4;
    }
    return true;
}

bool compile_signals(ctn_model *m, const ctn_scene *scene)
{
    m->nsignal = scene->nsignal;
    return compile_signal_list(scene->signals, scene->nsignal, &m->signals, &m->signal_numbers);
}
