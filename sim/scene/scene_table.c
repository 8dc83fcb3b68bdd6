/// Tables of numbers beside a scene: CSV files with a line of names and a column `time` that rises. Each is read once, and kept
/// with the scene, as its meshes are.
#include "sim/base/csv_table.h"
#include "sim/base/number.h"
#include "sim/scene/scene_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The next line of a text that says something, terminated in place; NULL: there is none.
static char *next_line(char **at, int *line)
{
    while (*at && **at) {
        char *const text = *at, *const end = strchr(text, '\n');
        *at = end ? end + 1 : text + strlen(text);
        if (end) *end = 0;
        ++*line;
        const size_t length = strlen(text);
        if (length && text[length - 1] == '\r') text[length - 1] = 0;
        if (*text && *text != '#' && text[strspn(text, " \t")]) return text;
    }
    return NULL;
}

static bool add_name(source *s, scene_table *t, const char *name)
{
    char **const names = realloc(t->names, ((size_t)t->columns + 1) * sizeof *names);
    if (names) t->names = names;
    char *const copy = names ? reader_copy(s->r, name, strlen(name)) : NULL;
    if (!copy) return out_of_memory(s);
    names[t->columns++] = copy;
    return true;
}

static bool wrong(source *s, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool wrong(source *s, int line, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return bad_place(s, line, 1, CTN_BAD_SCENE, text);
}

/// The names of the columns.
static bool read_names(source *s, scene_table *t, char *text, int line)
{
    for (char *at = text; at;) {
        const char *const name = csv_field(&at);
        if (!name) return wrong(s, line, "a quote that is not closed, or has text behind it");
        if (table_column(t, name) >= 0) return wrong(s, line, "two columns are called '%s'", printable(name).text);
        if (!add_name(s, t, name)) return false;
    }
    return table_column(t, "time") >= 0 || wrong(s, line, "expected a column `time`, s, among the names of the columns");
}

/// A row, at x [columns].
static bool read_row(source *s, const scene_table *t, char *text, int line, double *x)
{
    int k = 0;
    for (char *at = text; at; k++) {
        const char *const field = csv_field(&at), *end;
        if (k == t->columns) return wrong(s, line, "expected %d numbers, one for each column, found more", k);
        if (!field || number_from_text(field, &x[k], &end) != NUMBER_GOOD || *end)
            return wrong(s, line, "%s: expected a finite number, found '%s'", printable(t->names[k]).text,
                         printable(field ? field : "\"").text);
    }
    return k == t->columns || wrong(s, line, "expected %d numbers, one for each column", t->columns);
}

/// Its numbers, column by column; `rows` as found.
static bool read_rows(source *s, scene_table *t, char *at, int line, size_t most)
{
    const size_t columns = (size_t)t->columns;
    const int time = table_column(t, "time");
    double *const rows = reader_alloc(s->r, most * columns * sizeof *rows);
    t->numbers = reader_alloc(s->r, most * columns * sizeof *rows);
    bool ok = (rows && t->numbers) || out_of_memory(s);
    for (char *text; ok && (text = next_line(&at, &line)); t->rows++) {
        double *const x = rows + (size_t)t->rows * columns;
        ok = read_row(s, t, text, line, x);
        if (ok && t->rows && !(x[time] > x[time - t->columns]))
            ok = wrong(s, line, "time: expected more than %g, that of the row before, found %g", x[time - t->columns], x[time]);
    }
    if (ok && t->rows < 2) ok = wrong(s, line ? line : 1, "expected at least 2 rows of numbers, found %d", t->rows);
    for (int i = 0; ok && i < t->rows; i++)
        for (size_t k = 0; k < columns; k++) t->numbers[k * (size_t)t->rows + (size_t)i] = rows[(size_t)i * columns + k];
    free(rows);
    return ok;
}

static bool parse_table(source *s, scene_table *t, char *text)
{
    int line = 0;
    char *at = text;
    size_t most = 1;
    for (const char *p = text; *p; p++) most += *p == '\n';
    char *const names = next_line(&at, &line);
    if (!names) return wrong(s, 1, "an empty table; its first line names the columns, of which one is `time`");
    return read_names(s, t, names, line) && read_rows(s, t, at, line, most);
}

static const scene_table *load_table(source *s, const node *n, const char *path)
{
    reader *const r = s->r;
    ctn_scene *const scene = r->scene;
    char *text, reason[128], message[256];
    size_t length;
    if (scene->nfile == SCENE_MAX_FILES) {
        bad_value(s, n, "too many files; a scene has at most %d", SCENE_MAX_FILES);
        return NULL;
    }
    const ctn_status status = next_text(r, path, &text, &length, reason);
    if (status != CTN_OK) {
        snprintf(message, sizeof message, "'%s' %s", printable(path).text, reason);
        status == CTN_NO_MEMORY ? out_of_memory(s) : bad_status(s, n, status, message);
        return NULL;
    }
    source inner = {.r = r, .file = add_file(r, path, text, length), .lenient = s->lenient};
    scene_table *const tables = inner.file < 0 ? NULL : realloc(scene->tables, ((size_t)scene->ntable + 1) * sizeof *tables);
    if (tables) {
        scene->files[inner.file].mesh = true, r->bytes += (long)length;
        scene->tables = tables, tables[scene->ntable++] = (scene_table){.file = inner.file};
        scene_table *const t = &tables[scene->ntable - 1];
        if (!parse_table(&inner, t, text)) t->rows = 0;  // reported, at the first motor that names it
    } else r->no_memory = true;
    free(text);
    return tables && tables[scene->ntable - 1].rows ? &tables[scene->ntable - 1] : NULL;
}

const scene_table *read_table(source *s, const node *n)
{
    const ctn_scene *const scene = s->r->scene;
    const char *name;
    const scene_table *table = NULL;
    if (!read_text(s, n, &name)) return NULL;
    char *const path = beside(s->r, scene->files[s->file].path, name);
    if (!path) return NULL;
    for (int i = 0; i < scene->ntable && !table; i++)
        if (!strcmp(scene->files[scene->tables[i].file].path, path)) table = &scene->tables[i];
    if (!table) table = load_table(s, n, path);
    free(path);
    return table && table->rows ? table : NULL;
}

int table_column(const scene_table *t, const char *name)
{
    for (int k = 0; k < t->columns; k++)
        if (!strcmp(t->names[k], name)) return k;
    return -1;
}
