/// Wavefront .obj, .stl as text or as numbers, and .msh files. Normals, texture coordinates, groups and colours are passed over.
#include "sim/scene/mesh.h"
#include "sim/base/number.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_CORNERS = 1000 };  // of a face

typedef struct reading {
    mesh_surface *m;
    int vertex_room, triangle_room;
    const char *start, *at, *end, *line_start;
    int line;
    mesh_problem *problem;
} reading;

__attribute__((format(printf, 3, 4))) static ctn_status bad(reading *r, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    while (r->line_start > at)  // a line that was gone on with
        for (r->line--, r->line_start--; r->line_start > r->start && r->line_start[-1] != '\n';) r->line_start--;
    r->problem->line = r->line, r->problem->column = (int)(at - r->line_start) + 1;
    vsnprintf(r->problem->text, sizeof r->problem->text, format, args);
    va_end(args);
    return CTN_BAD_SCENE;
}

// ---- words of a text

typedef struct word {
    const char *at;
    int length;
} word;

/// The next word of the line, false at its end. A backslash goes on in the next line.
static bool next_word(reading *r, word *w)
{
    for (;; r->at++) {
        if (r->at < r->end && *r->at == '\\' && (r->at[1] == '\n' || (r->at[1] == '\r' && r->at[2] == '\n'))) {
            r->at += r->at[1] == '\r' ? 2 : 1;
            r->line++, r->line_start = r->at + 1;
        } else if (r->at >= r->end || !strchr(" \t\r", *r->at) || !*r->at) break;
    }
    if (r->at >= r->end || *r->at == '\n' || *r->at == '#') return false;
    w->at = r->at;
    while (r->at < r->end && (!*r->at || !strchr(" \t\r\n\\", *r->at))) r->at++;
    if (r->at == w->at) r->at++;  // a lone backslash
    w->length = (int)(r->at - w->at);
    return true;
}

static void next_line(reading *r)
{
    const char *const newline = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;
    r->at = newline ? newline + 1 : r->end;
    if (newline) r->line++, r->line_start = r->at;
}

static bool is(word w, const char *name)
{
    return (size_t)w.length == strlen(name) && !strncasecmp(w.at, name, (size_t)w.length);
}

static int shown(word w) { return w.length < 40 ? w.length : 40; }

/// Three numbers; what follows them in the line is not read.
static ctn_status read_place(reading *r, word of, double x[3])
{
    for (int k = 0; k < 3; k++) {
        char text[64];
        const char *end;
        word w;
        if (!next_word(r, &w)) return bad(r, of.at, "expected 3 numbers after %.*s, found %d", shown(of), of.at, k);
        snprintf(text, sizeof text, "%.*s", w.length < 63 ? w.length : 63, w.at);
        const number_form form = number_from_text(text, &x[k], &end);
        if (w.length > 63 || end != text + w.length || form != NUMBER_GOOD)
            return bad(r, w.at, "expected a finite number, found '%.*s'%s", shown(w), w.at, number_form_remedy(form));
    }
    return CTN_OK;
}

// ---- the surface

static ctn_status add_vertex(reading *r, const double x[3])
{
    mesh_surface *const m = r->m;
    if (m->nvertex == r->vertex_room) {
        const int room = r->vertex_room ? 2 * r->vertex_room : 256;
        double(*const more)[3] = room < INT_MAX / 2 ? realloc(m->vertices, (size_t)room * sizeof *more) : NULL;
        if (!more) return CTN_NO_MEMORY;
        m->vertices = more, r->vertex_room = room;
    }
    memcpy(m->vertices[m->nvertex++], x, sizeof *m->vertices);
    return CTN_OK;
}

/// Room for n more triangles.
static ctn_status grow_triangles(reading *r, const char *at, int n)
{
    mesh_surface *const m = r->m;
    if (m->ntriangle + n > MESH_MAX_TRIANGLES) return bad(r, at, "more than %d triangles", MESH_MAX_TRIANGLES);
    if (m->ntriangle + n <= r->triangle_room) return CTN_OK;
    const int room = 2 * r->triangle_room + n + 256;
    int(*const more)[3] = realloc(m->triangles, (size_t)room * sizeof *more);
    if (!more) return CTN_NO_MEMORY;
    m->triangles = more, r->triangle_room = room;
    return CTN_OK;
}

// ---- .obj

/// A corner "v", "v/vt", "v//vn" or "v/vt/vn"; v from 1 on, or backwards from -1.
static ctn_status read_corner(reading *r, word w, int *corner)
{
    char *end;
    const long number = strtol(w.at, &end, 10), n = r->m->nvertex;
    bool good = end > w.at && (*w.at == '-' || (*w.at >= '0' && *w.at <= '9'));
    while (end < w.at + w.length && *end && strchr("/-0123456789", *end)) end++;
    good = good && end == w.at + w.length;
    if (!good || number == 0 || number > n || number < -n)
        return bad(r, w.at, "expected one of the vertices above (%ld), from 1 on or from -1 back, found '%.*s'", n, shown(w),
                   w.at);
    *corner = (int)(number > 0 ? number - 1 : n + number);
    return CTN_OK;
}

static ctn_status read_face(reading *r, word of)
{
    int corners[MOST_CORNERS], n = 0;
    word w;
    for (; next_word(r, &w); n++) {
        if (n == MOST_CORNERS) return bad(r, of.at, "a face has at most %d corners; divide it", MOST_CORNERS);
        const ctn_status status = read_corner(r, w, &corners[n]);
        if (status != CTN_OK) return status;
    }
    if (n < 3) return bad(r, of.at, "expected 3 corners or more, found %d", n);
    const ctn_status status = grow_triangles(r, of.at, n - 2);
    if (status != CTN_OK) return status;
    mesh_cut_polygon((const double(*)[3])r->m->vertices, corners, n, r->m->triangles + r->m->ntriangle);
    r->m->ntriangle += n - 2;
    return CTN_OK;
}

static ctn_status read_obj(reading *r)
{
    static const char *const passed[] = {"vt", "vn", "vp", "g", "o", "s", "l", "p", "usemtl", "mtllib"};
    ctn_status status = CTN_OK;
    for (; r->at < r->end && status == CTN_OK; next_line(r)) {
        word w;
        double x[3];
        if (!next_word(r, &w)) continue;
        size_t k = 0;
        while (k < sizeof passed / sizeof *passed && !is(w, passed[k])) k++;
        if (is(w, "f")) status = read_face(r, w);
        else if (is(w, "v")) {
            status = read_place(r, w, x);
            if (status == CTN_OK) status = add_vertex(r, x);
        } else if (k == sizeof passed / sizeof *passed)
            status = bad(r, w.at, "unknown word '%.*s'; read are v and f, passed over vt, vn, vp, g, o, s, l, p, usemtl, mtllib",
                         shown(w), w.at);
        if (status != CTN_OK) return status;  // the line is that of the error
    }
    return CTN_OK;
}

// ---- .stl

enum { STL_HEAD = 84, STL_TRIANGLE = 50 };  // bytes

/// Closes a triangle over the last three vertices.
static ctn_status add_facet(reading *r, const char *at)
{
    const ctn_status status = grow_triangles(r, at, 1);
    if (status != CTN_OK) return status;
    for (int k = 0; k < 3; k++) r->m->triangles[r->m->ntriangle][k] = r->m->nvertex - 3 + k;
    r->m->ntriangle++;
    return CTN_OK;
}

static ctn_status read_stl_text(reading *r)
{
    int corners = 0;
    bool ended = false;
    for (; r->at < r->end; next_line(r)) {
        word w;
        double x[3];
        ctn_status status = CTN_OK;
        if (!next_word(r, &w)) continue;
        const bool facet = is(w, "facet"), ends = is(w, "endloop");
        if (is(w, "vertex")) {
            status = read_place(r, w, x);
            if (status == CTN_OK) status = add_vertex(r, x);
            corners++;
        } else if (ends && corners != 3) status = bad(r, w.at, "expected 3 vertices in a facet, found %d", corners);
        else if (ends) status = add_facet(r, w.at);
        else if (!facet && !is(w, "solid") && !is(w, "outer") && !is(w, "endfacet") && !is(w, "endsolid"))
            status = bad(r, w.at, "unknown word '%.*s'; expected solid, facet, outer, vertex, endloop, endfacet or endsolid",
                         shown(w), w.at);
        if (facet && corners) status = bad(r, w.at, "the facet before it has no endloop");
        if (ends) corners = 0;
        ended = is(w, "endsolid");
        if (status != CTN_OK) return status;
    }
    return ended ? CTN_OK : bad(r, r->at, "the end is missing: no endsolid");
}

static uint32_t little_endian(const char *bytes)
{
    const unsigned char *const b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/// Three numbers of 32 bits; false: one is not finite.
static bool read_floats(const char *bytes, double x[3])
{
    for (int k = 0; k < 3; k++) {
        const uint32_t bits = little_endian(bytes + 4 * k);
        float number;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) return false;
        x[k] = (double)number;
    }
    return true;
}

/// 80 bytes of anything, the number of triangles, then for each 12 floats (normal, corners) and 2 bytes.
static ctn_status read_stl_numbers(reading *r, uint32_t count)
{
    const char *const bytes = r->at;
    for (uint32_t t = 0; t < count; t++) {
        for (int c = 0; c < 3; c++) {
            double x[3];
            if (!read_floats(bytes + STL_HEAD + (size_t)t * STL_TRIANGLE + 12 + 12 * c, x))
                return bad(r, bytes, "triangle %u: corner %d is not finite", t, c);
            if (add_vertex(r, x) != CTN_OK) return CTN_NO_MEMORY;
        }
        const ctn_status status = add_facet(r, bytes);
        if (status != CTN_OK) return status;
    }
    return CTN_OK;
}

static ctn_status read_stl(reading *r, size_t length)
{
    const uint32_t count = length >= STL_HEAD ? little_endian(r->at + STL_HEAD - 4) : 0;
    if (length == STL_HEAD + (size_t)count * STL_TRIANGLE) return read_stl_numbers(r, count);  // some begin with `solid`, too
    const char *const start = r->at + strspn(r->at, " \t\r\n");
    if (!strncasecmp(start, "solid", strlen("solid"))) return read_stl_text(r);
    return bad(r, r->at, "neither a text that begins with `solid` nor the 84 + 50 x %u bytes of %u triangles; found %zu bytes",
               count, count, length);
}

// ---- .msh, of MuJoCo

/// The numbers of vertices, normals, texture coordinates and triangles; floats 3, 3 and 2 for each of the former; 3 vertices for
/// each triangle, counted from 0.
static ctn_status read_msh(reading *r, size_t length)
{
    const char *const bytes = r->at;
    uint32_t counts[4] = {0};
    for (int k = 0; k < 4 && length >= MSH_HEAD; k++) counts[k] = little_endian(bytes + 4 * k);
    const uint64_t faces = MSH_HEAD + 12 * (uint64_t)counts[0] + 12 * (uint64_t)counts[1] + 8 * (uint64_t)counts[2];
    if (length != faces + 12 * (uint64_t)counts[3])
        return bad(r, bytes, "its %zu bytes are not those of %u vertices, %u normals, %u texture coordinates and %u triangles",
                   length, counts[0], counts[1], counts[2], counts[3]);
    for (uint32_t i = 0; i < counts[0]; i++) {
        double x[3];
        if (!read_floats(bytes + MSH_HEAD + 12 * (size_t)i, x)) return bad(r, bytes, "vertex %u is not finite", i);
        if (add_vertex(r, x) != CTN_OK) return CTN_NO_MEMORY;
    }
    for (uint32_t t = 0; t < counts[3]; t++) {
        const ctn_status status = grow_triangles(r, bytes, 1);
        if (status != CTN_OK) return status;
        for (int k = 0; k < 3; k++) {
            const uint32_t vertex = little_endian(bytes + faces + 12 * (size_t)t + 4 * (size_t)k);
            if (vertex >= counts[0]) return bad(r, bytes, "triangle %u has the vertex %u; there are %u", t, vertex, counts[0]);
            r->m->triangles[r->m->ntriangle][k] = (int)vertex;
        }
        r->m->ntriangle++;
    }
    return CTN_OK;
}

// ---- any

bool mesh_format_of(const char *path, mesh_format *format)
{
    static const char *const endings[MESH_FORMATS] = {
        [MESH_OBJ] = ".obj", [MESH_STL] = ".stl", [MESH_MSH] = ".msh", [MESH_DAE] = ".dae"};
    const char *const dot = strrchr(path, '.');
    for (int k = 0; k < MESH_FORMATS && dot; k++)
        if (!strcasecmp(dot, endings[k])) return *format = (mesh_format)k, true;
    return false;
}

ctn_status mesh_read(mesh_surface *m, mesh_format format, const char *bytes, size_t length, mesh_problem *problem)
{
    reading r = {.m = m, .start = bytes, .at = bytes, .end = bytes + length, .line_start = bytes, .line = 1, .problem = problem};
    *m = (mesh_surface){0};
    ctn_status status = format == MESH_OBJ ? read_obj(&r) : format == MESH_STL ? read_stl(&r, length) : read_msh(&r, length);
    if (status == CTN_OK) status = mesh_close(m);
    if (status == CTN_OK && !m->ntriangle) r.line = 1, status = bad(&r, r.line_start, "it has no triangle of any size");
    return status;
}

void mesh_clear(mesh_surface *m)
{
    free(m->vertices), free(m->triangles);
    m->vertices = NULL, m->triangles = NULL;
}
