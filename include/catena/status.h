/// Status codes and messages. The library never prints, exits or aborts on a user's data: it fills a ctn_error.
///
/// One convention for all calls: CTN_OK means that what was asked for is done, all of it. Everything else is an error, with
/// nothing done unless the call says otherwise, or CTN_FROZEN: the steps are done, but for those of worlds that cannot go on. A
/// step that was made with fewer stages, or in halves, is made: that is CTN_OK, and counted (`fallbacks` of ctn_step_stats,
/// ctn_batch_fallbacks).
///
/// Pointers must not be NULL, but for those of which a call says so; arrays without elements may, and `err` always. If one is,
/// a call that returns a status returns CTN_BAD_ARGUMENT and does nothing; one that returns a pointer NULL; a double NaN; a
/// count, a size or a truth 0; an index -1; one that returns nothing does nothing.
#ifndef CATENA_STATUS_H
#define CATENA_STATUS_H

#include <stddef.h>

#if defined(__GNUC__)
#define CTN_API __attribute__((visibility("default")))
#else
#define CTN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CTN_VERSION_MAJOR 0
#define CTN_VERSION_MINOR 1
#define CTN_VERSION_PATCH 0

typedef enum ctn_status {
    CTN_OK = 0,
    CTN_BAD_SCENE,     // a scene file is malformed or unphysical; the message lists every error with its place
    CTN_BAD_CONFIG,    // a configuration value is out of its range
    CTN_BAD_ARGUMENT,  // an argument of a call is out of its range
    CTN_UNAVAILABLE,   // a known feature that this version, build or machine does not have
    CTN_NO_MEMORY,
    CTN_IO,           // a file could not be read or written
    CTN_FROZEN,       // a world could not be stepped and rests at its last good state: see the statistics
    CTN_INTERRUPTED,  // the caller ended the call early (ctn_batch_config.interrupt)
} ctn_status;

/// Where a line of a message points, and how long the pieces are of which it is made: see ctn_error_finding.
typedef struct ctn_place {
    int start;         // of the line, in the message
    int line, column;  // in the file, from 1
    int file, key;     // lengths
} ctn_place;

/// What went wrong, for people. Filled by the call that failed; a call that succeeds leaves it alone.
typedef struct ctn_error {
    ctn_status status;
    int count;             // how many problems `message` lists, one a line (scene files: up to 20, then a line "... and N more")
    char message[8192];    // "file:line:column: key: ..." where there is a place; always terminated
    ctn_place places[20];  // [placed], of the lines in order
    int placed;            // count, or 0: what went wrong has no place in a file
} ctn_error;

/// One problem of a file, an error or a warning, in pieces.
typedef struct ctn_finding {
    int line, column;  // from 1; 0: no place in a file
    char file[4096];   // "" without a place
    char key[256];     // the keys that lead to it, "joint.axis[1]"; "" if there is none
    char text[4096];   // the message alone
} ctn_finding;

/// Problem `i` of the err->count that a failed call has listed. CTN_BAD_ARGUMENT if there is none.
CTN_API ctn_status ctn_error_finding(const ctn_error *err, int i, ctn_finding *finding);

/// The name of a status, e.g. "bad argument". Never NULL.
CTN_API const char *ctn_status_name(ctn_status status);

/// The version of the library as text, e.g. "0.1.0".
CTN_API const char *ctn_version(void);

#ifdef __cplusplus
}
#endif
#endif
