/// Heights of a terrain: in files, tables of numbers separated by commas, a line for each row, and grey images (PGM, PNG), whose
/// black and white are two heights; or as lists in the scene. The first row is the one with the highest y, as on a map.
#include "sim/base/number.h"
#include "sim/scene/png_read.h"
#include "sim/scene/scene_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 4096 };  // of a terrain, nodes

static bool wrong(source *s, int line, int column, const char *format, ...) __attribute__((format(printf, 4, 5)));
static bool wrong(source *s, int line, int column, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return bad_place(s, line, column, CTN_BAD_SCENE, text);
}

/// Room for the heights of a field that is not too small, nor too large.
static bool make_room(source *s, int line, long columns, long rows, scene_terrain *to)
{
    if (columns < 2 || rows < 2)
        return wrong(s, line, 1, "expected at least 2 heights in each of 2 rows, found %ld in %ld", columns, rows);
    if (columns > MOST_SIDE || rows > MOST_SIDE)
        return wrong(s, line, 1, "expected at most %d by %d heights, found %ld by %ld; take every other one", MOST_SIDE,
                     MOST_SIDE, columns, rows);
    to->heights = reader_alloc(s->r, (size_t)columns * (size_t)rows * sizeof *to->heights);
    if (!to->heights) return out_of_memory(s);
    to->columns = (int)columns, to->rows = (int)rows;
    return true;
}

// ---- tables

/// Whether the line at `text` says something; *next: the one after it, or the end.
static bool says_something(const char *text, const char **next)
{
    const char *const end = strchr(text, '\n');
    *next = end ? end + 1 : text + strlen(text);
    const size_t blank = strspn(text, " \t\r");
    return text[blank] && text[blank] != '\n' && text[blank] != '#';
}

static bool read_cells(source *s, const char *text, int line, int row, scene_terrain *to)
{
    const char *at = text;
    for (int k = 0; k < to->columns; k++) {
        double *const x = &to->heights[(size_t)row * (size_t)to->columns + (size_t)k];
        const char *end;
        at += strspn(at, " \t");
        if (number_from_text(at, x, &end) != NUMBER_GOOD)
            return wrong(s, line, (int)(at - text) + 1, "cell %d: expected a height, m, a finite number", k + 1);
        end += strspn(end, " \t\r");
        const bool last = *end == '\n' || !*end;
        const int column = (int)(end - text) + 1;
        if (!last && *end != ',') return wrong(s, line, column, "expected a comma after cell %d, or the end of the line", k + 1);
        if (last != (k == to->columns - 1))
            return wrong(s, line, column, "expected %d heights, as in the first row, found %s", to->columns,
                         last ? "fewer" : "more");
        at = end + 1;
    }
    return true;
}

static bool read_table_of_heights(source *s, const char *text, scene_terrain *to)
{
    long columns = 1, rows = 0;
    int first = 1, line = 1, row = 0;
    const char *next;
    for (const char *at = text; *at; at = next, line++) {
        if (!says_something(at, &next) || rows++) continue;
        first = line;
        for (const char *p = at; p < next; p++) columns += *p == ',';
    }
    if (!make_room(s, first, columns, rows, to)) return false;
    line = 1;
    for (const char *at = text; *at; at = next, line++)
        if (says_something(at, &next) && !read_cells(s, at, line, row++, to)) return false;
    return true;
}

// ---- grey images

/// Pixels of 0 .. most as heights of a range.
static void heights_of_pixels(const double *range, double most, scene_terrain *to)
{
    const size_t n = (size_t)to->columns * (size_t)to->rows;
    for (size_t k = 0; k < n; k++) to->heights[k] = range[0] + (range[1] - range[0]) * (to->heights[k] / most);
}

/// The next whole number of a PGM's head or of a plain PGM, and how many lines are passed; -1: there is none.
static long next_number(const char **at, const char *end, int *line)
{
    long x = 0;
    while (*at < end && (strchr(" \t\r\n", **at) || **at == '#')) {
        if (**at == '#')
            while (*at < end && **at != '\n') ++*at;
        else *line += *(*at)++ == '\n';
    }
    if (*at == end || **at < '0' || **at > '9') return -1;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) x = x > 1000000 ? x : 10 * x + (**at - '0');
    return x;
}

static bool read_pgm(source *s, const char *text, size_t length, const double *range, scene_terrain *to)
{
    const char *at = text + 2, *const end = text + length;
    const bool plain = text[1] == '2';
    int line = 1;
    const long columns = next_number(&at, end, &line), rows = next_number(&at, end, &line), most = next_number(&at, end, &line);
    if (columns < 1 || rows < 1 || most < 1 || most > 65535)
        return wrong(s, line, 1, "expected the head of a PGM image: its width, height, and white up to 65535");
    const size_t n = (size_t)columns * (size_t)rows, bytes = plain || most > 255 ? 2 : 1;
    if (columns <= MOST_SIDE && rows <= MOST_SIDE && (size_t)(end - at) < n * bytes)
        return wrong(s, line, 1, "the image ends too early: %zu bytes of pixels, expected %zu", (size_t)(end - at), n * bytes);
    if (!make_room(s, line, columns, rows, to)) return false;
    at += !plain && at < end;  // one blank behind the head
    if (!plain && (size_t)(end - at) < n * bytes) return wrong(s, line, 1, "the image ends a pixel too early");
    for (size_t k = 0; k < n; k++) {
        const unsigned char *const p = (const unsigned char *)at + k * bytes;
        const long x = plain ? next_number(&at, end, &line) : most > 255 ? 256L * p[0] + p[1] : p[0];
        if (x < 0 || x > most)
            return wrong(s, line, 1, "pixel %zu of row %zu: expected a whole number from 0 to %ld", k % (size_t)columns + 1,
                         k / (size_t)columns + 1, most);
        to->heights[k] = (double)x;
    }
    heights_of_pixels(range, (double)most, to);
    return true;
}

static bool read_png(source *s, const char *text, size_t length, const double *range, scene_terrain *to)
{
    png_head head;
    char reason[PNG_REASON];
    if (!png_read_head(text, length, &head, reason)) return wrong(s, 1, 1, "%s", reason);
    if (!make_room(s, 1, (long)head.columns, (long)head.rows, to)) return false;
    if (!png_read_grey(text, length, &head, to->heights, reason)) return wrong(s, 1, 1, "%s", reason);
    heights_of_pixels(range, head.bits == 16 ? 65535 : 255, to);
    return true;
}

// ---- rows in the scene

static bool read_rows(source *s, const node *n, scene_terrain *to)
{
    if (n->kind != NODE_SEQUENCE) return bad_value(s, n, "expected a list of rows, found %s", found(n).text);
    const node *const first = n->child;
    const long columns = first && first->kind == NODE_SEQUENCE ? first->size : 0;
    if (!make_room(s, n->line, columns, n->size, to)) return false;
    double *x = to->heights;
    for (const node *row = first; row; row = row->next) {
        if (row->kind != NODE_SEQUENCE) return bad_value(s, row, "expected a list of heights, found %s", found(row).text);
        if (row->size != columns)
            return bad_value(s, row, "expected %ld heights, as in the first row, found %d", columns, row->size);
        for (const node *cell = row->child; cell; cell = cell->next)
            if (!read_number(s, cell, ANY_SIGN, x++)) return false;
    }
    return true;
}

/// Stretches heights to a range, from the lowest to the highest one; level ones come to its beginning.
static void stretch(const double *range, scene_terrain *to)
{
    const size_t n = (size_t)to->columns * (size_t)to->rows;
    double least = to->heights[0], most = least;
    for (size_t k = 1; k < n; k++) {
        least = to->heights[k] < least ? to->heights[k] : least;
        most = to->heights[k] > most ? to->heights[k] : most;
    }
    for (size_t k = 0; k < n; k++)
        to->heights[k] = range[0] + (most > least ? (range[1] - range[0]) * ((to->heights[k] - least) / (most - least)) : 0);
}

// ---- the file

static bool parse_heights(source *outer, const height_nodes *of, source *s, const char *text, size_t length, scene_terrain *to)
{
    static const double unit[2] = {0, 1};
    const node *const n = of->file;
    const bool pgm = length > 2 && text[0] == 'P' && (text[1] == '2' || text[1] == '5'), png = png_is(text, length);
    if (!pgm && !png && of->height)
        return bad_value(outer, n, "a table has heights in m, and `height` is for images; leave it out");
    if ((pgm || png) && !of->height && !of->range)
        return bad_value(outer, n,
                         "the heights of an image are not known; give `height: [of black, of white]`, m, or `range: [of the "
                         "lowest, of the highest]`");
    const double *const range = of->height ? of->height : unit;
    return pgm   ? read_pgm(s, text, length, range, to)
           : png ? read_png(s, text, length, range, to)
                 : read_table_of_heights(s, text, to);
}

static bool read_file_of_heights(source *s, const height_nodes *of, scene_terrain *to)
{
    const node *const n = of->file;
    reader *const r = s->r;
    ctn_scene *const scene = r->scene;
    const char *name;
    char *text, reason[128], message[256];
    size_t length;
    if (!read_text(s, n, &name)) return false;
    if (scene->nfile == SCENE_MAX_FILES) return bad_value(s, n, "too many files; a scene has at most %d", SCENE_MAX_FILES);
    char *const path = beside(r, scene->files[s->file].path, name);
    if (!path) return false;
    const ctn_status status = next_text(r, path, &text, &length, reason);
    if (status != CTN_OK) {
        snprintf(message, sizeof message, "'%s' %s", printable(path).text, reason);
        free(path);
        return status == CTN_NO_MEMORY ? out_of_memory(s) : bad_status(s, n, status, message);
    }
    source inner = {.r = r, .file = add_file(r, path, text, length), .lenient = s->lenient};
    bool ok = inner.file >= 0;
    if (ok) {
        scene->files[inner.file].mesh = true, r->bytes += (long)length;
        ok = parse_heights(s, of, &inner, text, length, to);
    }
    free(text), free(path);
    return ok;
}

bool read_heights(source *s, const height_nodes *of, scene_terrain *to)
{
    const bool ok = of->file ? read_file_of_heights(s, of, to) : read_rows(s, of->rows, to);
    if (!ok) to->columns = to->rows = 0;
    else if (of->range) stretch(of->range, to);
    return ok;
}
