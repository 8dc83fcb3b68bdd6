/// CSV files of numbers.
#include "sim/base/csv_table.h"

#include "sim/base/number.h"

#include "sim/base/status.h"
#include "sim/base/suggest.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct csv_table {
    char *path;
    FILE *stream;
    locale_t c;  // numbers are read with a decimal point, whatever the program's locale
    int names;
    bool passes;  // over columns that have other names
    bool *has;    // [names]
    int *column;  // [columns]: which of the names; -1: none
    int columns;
    off_t body;  // where rows begin, the line before
    long body_line;
    int64_t rows, next;  // how many there are; the one that comes next
    char *text;          // the line read last, its number
    size_t room;
    long line;
};

static ctn_status cannot_read(const char *path, ctn_error *err)
{
    return fail(err, CTN_IO, "%s: cannot be read: %s", path, strerror(errno ? errno : EIO));
}

/// The next line that is neither empty nor a comment into t->text, without its end. False at the end of the file, or on error.
static bool next_line(csv_table *t)
{
    ssize_t length;
    while ((length = getline(&t->text, &t->room, t->stream)) >= 0) {
        t->line++;
        while (length && strchr("\r\n", t->text[length - 1])) t->text[--length] = 0;
        if (t->line == 1 && !strncmp(t->text, "\xef\xbb\xbf", 3))  // some programs begin UTF-8 with it
            memmove(t->text, t->text + 3, (size_t)length - 2);
        if (*t->text && *t->text != '#') return true;
    }
    return false;
}

char *csv_field(char **at)
{
    char *in = *at + strspn(*at, " \t"), *const field = in;
    char *out = field;
    if (*in == '"') {
        for (in++; *in && (*in != '"' || in[1] == '"'); in++) {
            in += *in == '"';  // two stand for one
            *out++ = *in;
        }
        if (*in++ != '"') return NULL;
        in += strspn(in, " \t");
        if (*in && *in != ',') return NULL;
    } else {
        in += strcspn(in, ",");
        for (out = in; out > field && strchr(" \t", out[-1]);) out--;
    }
    *at = *in ? in + 1 : NULL;
    *out = 0;
    return field;
}

// ---- columns

typedef struct {
    const char *name;
    int index;
} named;

static int compare_named(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

static ctn_status add_column(csv_table *t, const char *const *names, const named *sorted, const char *field, ctn_error *err)
{
    const named *const known = bsearch(&(named){.name = field}, sorted, (size_t)t->names, sizeof *sorted, compare_named);
    if (!known && t->passes) {
        int *const more = realloc(t->column, ((size_t)t->columns + (size_t)t->names + 2) * sizeof *more);
        if (!more) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", t->path);
        t->column = more, t->column[t->columns++] = -1;
        return CTN_OK;
    }
    if (!known) {
        const char *const meant = nearest_name(field, names, t->names);
        if (meant)
            return fail(err, CTN_BAD_ARGUMENT, "%s:%ld: unknown column '%s'; did you mean '%s'?", t->path, t->line, field, meant);
        return fail(err, CTN_BAD_ARGUMENT,
                    "%s:%ld: unknown column '%s'; there %s %d name%s, from '%s' to '%s'; take other columns away", t->path,
                    t->line, field, t->names == 1 ? "is" : "are", t->names, plural(t->names), t->names ? names[0] : "",
                    t->names ? names[t->names - 1] : "");
    }
    if (t->has[known->index]) return fail(err, CTN_BAD_ARGUMENT, "%s:%ld: two columns '%s'", t->path, t->line, field);
    t->has[known->index] = true;
    t->column[t->columns++] = known->index;
    return CTN_OK;
}

static ctn_status read_header(csv_table *t, const char *const *names, ctn_error *err)
{
    named *const sorted = malloc((size_t)t->names * sizeof *sorted + 1);
    if (!sorted) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", t->path);
    for (int k = 0; k < t->names; k++) sorted[k] = (named){names[k], k};
    qsort(sorted, (size_t)t->names, sizeof *sorted, compare_named);
    ctn_status status = CTN_OK;
    if (!next_line(t))
        status = ferror(t->stream) ? cannot_read(t->path, err)
                                   : fail(err, CTN_BAD_ARGUMENT, "%s: is empty; expected a line of column names, such as '%s'",
                                          t->path, t->names ? names[0] : "");
    for (char *at = t->text; status == CTN_OK && at;) {
        const char *const field = csv_field(&at);
        if (field) status = add_column(t, names, sorted, field, err);
        else status = fail(err, CTN_BAD_ARGUMENT, "%s:%ld: a quote that is not closed, or has text behind it", t->path, t->line);
    }
    free(sorted);
    t->body = ftello(t->stream), t->body_line = t->line;
    return status;
}

// ---- rows

/// The numbers of the line in t->text into x [names].
static ctn_status read_row(csv_table *t, double *x, ctn_error *err)
{
    char *at = t->text;
    int k = 0;
    for (; at && k < t->columns; k++) {
        const char *const field = csv_field(&at);
        const char *const text = field ? field + strspn(field, " ") : "", *end;
        double number;
        if (t->column[k] < 0 && field) continue;
        if (number_from_text(text, &number, &end) != NUMBER_GOOD || *end)
            return fail(err, CTN_BAD_ARGUMENT, "%s:%ld: number %d: expected a finite number, found '%s'", t->path, t->line, k + 1,
                        field ? field : "\"");
        x[t->column[k]] = number;
    }
    if (k == t->columns && !at) return CTN_OK;
    for (; at; k++) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return fail(err, CTN_BAD_ARGUMENT, "%s:%ld: expected %d number%s, one for each column, found %d", t->path, t->line,
                t->columns, plural(t->columns), k);
}

/// Back to the first row.
static bool rewind_rows(csv_table *t)
{
    t->next = 0, t->line = t->body_line;
    return !fseeko(t->stream, t->body, SEEK_SET);
}

/// Counts the rows, and finds their errors.
static ctn_status read_through(csv_table *t, ctn_error *err)
{
    double *const x = malloc((size_t)t->names * sizeof *x + 1);
    if (!x) return fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", t->path);
    ctn_status status = CTN_OK;
    for (; status == CTN_OK && next_line(t); t->rows++) status = read_row(t, x, err);
    free(x);
    if (status == CTN_OK && (ferror(t->stream) || !rewind_rows(t))) status = cannot_read(t->path, err);
    return status;
}

static csv_table *open_table(const char *path, const char *const *names, int count, bool passes, ctn_error *err)
{
    csv_table *const t = calloc(1, sizeof *t);
    if (t) {
        t->names = count, t->passes = passes, t->path = strdup(path), t->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        t->has = calloc((size_t)count + 1, sizeof *t->has), t->column = calloc((size_t)count + 1, sizeof *t->column);
    }
    if (!t || !t->path || !t->c || !t->has || !t->column) {
        csv_table_close(t);
        fail(err, CTN_NO_MEMORY, "%s: not enough memory to read it", path);
        return NULL;
    }
    struct stat info;
    errno = 0;
    t->stream = fopen(path, "re");
    if (!t->stream || fstat(fileno(t->stream), &info)) cannot_read(path, err);
    else if (!S_ISREG(info.st_mode)) fail(err, CTN_IO, "%s: cannot be read: it is no file", path);
    else {
        const locale_t before = uselocale(t->c);
        const bool ok = read_header(t, names, err) == CTN_OK && read_through(t, err) == CTN_OK;
        uselocale(before);
        if (ok) return t;
    }
    csv_table_close(t);
    return NULL;
}

csv_table *csv_table_open(const char *path, const char *const *names, int count, ctn_error *err)
{
    return open_table(path, names, count, false, err);
}

csv_table *csv_table_open_some(const char *path, const char *const *names, int count, ctn_error *err)
{
    return open_table(path, names, count, true, err);
}

int64_t csv_table_rows(const csv_table *t) { return t->rows; }

bool csv_table_has(const csv_table *t, int k) { return t->has[k]; }

ctn_status csv_table_read(csv_table *t, int64_t first, int rows, double *x, ctn_error *err)
{
    const locale_t before = uselocale(t->c);
    ctn_status status = CTN_OK;
    errno = 0;
    if (t->next > first && !rewind_rows(t)) status = cannot_read(t->path, err);
    for (; status == CTN_OK && t->next < first + rows; t->next++) {
        if (!next_line(t))
            status = ferror(t->stream) ? cannot_read(t->path, err)
                                       : fail(err, CTN_IO, "%s: has become shorter while it was read", t->path);
        else if (t->next >= first) status = read_row(t, x + (size_t)(t->next - first) * (size_t)t->names, err);
    }
    uselocale(before);
    return status;
}

void csv_table_close(csv_table *t)
{
    if (!t) return;
    if (t->stream) fclose(t->stream);
    if (t->c) freelocale(t->c);
    free(t->path), free(t->has), free(t->column), free(t->text);
    free(t);
}
