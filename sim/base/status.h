/// How the library's own files report errors.
#ifndef CATENA_SIM_STATUS_H
#define CATENA_SIM_STATUS_H

#include <catena/status.h>

#include <stdbool.h>

/// The ending of a noun of which there are n: "1 step", "2 steps".
static inline const char *plural(long long n) { return n == 1 ? "" : "s"; }

#ifdef __cplusplus
extern "C" {
#endif

/// Fills `err` (may be NULL) with one message and returns `status`.
ctn_status fail(ctn_error *err, ctn_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// Whether a pointer that a public call needs is NULL; `err` then says CTN_BAD_ARGUMENT, with the call and the pointer's name.
bool missing(const char *call, const char *name, const void *pointer, ctn_error *err);

/// The same as fail() at a place of a file, for the value of `key`.
ctn_status fail_at(ctn_error *err, ctn_status status, const char *file, int line, int column, const char *key, const char *format,
                   ...) __attribute__((format(printf, 7, 8)));

/// Writes one more line into a list, at byte `start` of its message, as far as it fits: its place, then `text`, which begins with
/// the `key` bytes of its key. Returns how long it is. The list has room for a place.
int place_line(ctn_error *list, int start, const char *file, int line, int column, int key, const char *text);

#ifdef __cplusplus
}
#endif

#endif
