/// Names of statuses, the version, and the one way in which errors are filled.
#include "sim/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *ctn_version(void) { return TEXT(CTN_VERSION_MAJOR) "." TEXT(CTN_VERSION_MINOR) "." TEXT(CTN_VERSION_PATCH); }

const char *ctn_status_name(ctn_status status)
{
    static const char *const names[] = {"ok",        "bad scene",    "bad configuration", "bad argument", "unavailable",
                                        "no memory", "input/output", "not converged",     "frozen"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

ctn_status fail(ctn_error *err, ctn_status status, const char *format, ...)
{
    if (!err) return status;
    err->status = status;
    err->count = 1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}
