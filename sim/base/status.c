/// Names of statuses, the version, and the one way in which errors are filled.
#include "sim/base/status.h"

#include "sim/base/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *ctn_version(void) { return TEXT(CTN_VERSION_MAJOR) "." TEXT(CTN_VERSION_MINOR) "." TEXT(CTN_VERSION_PATCH); }

const char *ctn_status_name(ctn_status status)
{
    static const char *const names[] = {"ok",          "bad scene", "bad configuration", "bad argument", "unavailable",
                                        "no memory",   "input/output", "frozen",      "interrupted"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

bool missing(const char *call, const char *name, const void *pointer, ctn_error *err)
{
    if (!pointer) fail(err, CTN_BAD_ARGUMENT, "%s: %s is NULL", call, name);
    return !pointer;
}

ctn_status fail(ctn_error *err, ctn_status status, const char *format, ...)
{
    if (!err) return status;
    err->status = status;
    err->count = 1, err->placed = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    make_printable(err->message);  // whatever names and texts of files it quotes
    return status;
}

int place_line(ctn_error *list, int start, const char *file, int line, int column, int key, const char *text)
{
    const int begin = start + (start > 0), size = (int)sizeof list->message;
    char *const at = list->message + begin;
    if (start) list->message[start] = '\n';
    const int cut = snprintf(at, (size_t)(size - begin), "%s", file) - (int)strlen(at);
    make_printable(at);
    const int name = (int)strlen(at), end = begin + name;
    const int rest = snprintf(list->message + end, (size_t)(size - end), ":%d:%d: %s", line, column, text);
    list->places[list->count] = (ctn_place){.start = begin, .line = line, .column = column, .file = name, .key = key};
    list->placed = ++list->count;
    return end - start + cut + rest;
}

ctn_status fail_at(ctn_error *err, ctn_status status, const char *file, int line, int column, const char *key, const char *format,
                   ...)
{
    char text[512];
    if (!err) return status;
    const int used = snprintf(text, sizeof text, "%s: ", key);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    make_printable(text);
    err->status = status, err->count = 0;
    place_line(err, 0, file, line, column, (int)strlen(key), text);
    return status;
}

/// The first `length` bytes of text, as far as they fit.
static void copy_piece(char *piece, size_t size, const char *text, int length) { snprintf(piece, size, "%.*s", length, text); }

/// What follows them; the text may have been cut before.
static const char *skip(const char *text, int length) { return text + strnlen(text, (size_t)length); }

ctn_status ctn_error_finding(const ctn_error *err, int i, ctn_finding *finding)
{
    if (!err || !finding || i < 0 || i >= err->count) return CTN_BAD_ARGUMENT;
    *finding = (ctn_finding){0};
    const char *rest = err->message;
    if (i < err->placed) {
        const ctn_place *const at = &err->places[i];
        rest = skip(rest, at->start);
        finding->line = at->line, finding->column = at->column;
        copy_piece(finding->file, sizeof finding->file, rest, at->file);
        rest = skip(rest, at->file + snprintf(NULL, 0, ":%d:%d: ", at->line, at->column));
        copy_piece(finding->key, sizeof finding->key, rest, at->key);
        if (at->key) rest = skip(rest, at->key + 2);
    }
    copy_piece(finding->text, sizeof finding->text, rest, (int)strcspn(rest, "\n"));
    return CTN_OK;
}
