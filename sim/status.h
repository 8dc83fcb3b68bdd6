/// How the library's own files report errors.
#ifndef CATENA_SIM_STATUS_H
#define CATENA_SIM_STATUS_H

#include <catena/status.h>

/// Fills `err` (may be NULL) with one message and returns `status`.
#ifdef __cplusplus
extern "C"
#endif
ctn_status fail(ctn_error *err, ctn_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
