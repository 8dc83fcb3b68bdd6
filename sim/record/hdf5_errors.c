/// The innermost entry of HDF5's error stack says what happened.
#include "sim/record/hdf5_errors.h"

#include "sim/base/status.h"

#include <stdio.h>
#include <string.h>

/// Of errors about files only the system's words are for people.
static herr_t take_reason(unsigned depth, const H5E_error2_t *entry, void *data)
{
    hdf5_errors *const e = data;
    const char *text = entry->desc, *const words = strstr(text, "error message = '");
    if (depth > 0 || *e->reason) return 0;
    if (words) text = words + strlen("error message = '");
    const size_t length = words ? strcspn(text, "'") : strlen(text);
    snprintf(e->reason, sizeof e->reason, "%.*s", (int)length, text);
    return 0;
}

/// HDF5 calls this when one of its functions fails.
static herr_t note_reason(hid_t stack, void *data) { return H5Ewalk2(stack, H5E_WALK_UPWARD, take_reason, data); }

void hdf5_quiet(hdf5_errors *e)
{
    *e->reason = 0;
    H5Eget_auto2(H5E_DEFAULT, &e->before, &e->before_data);
    H5Eset_auto2(H5E_DEFAULT, note_reason, e);
}

void hdf5_loud(const hdf5_errors *e) { H5Eset_auto2(H5E_DEFAULT, e->before, e->before_data); }

void hdf5_end_quietly(void) { H5dont_atexit(); }

ctn_status hdf5_damaged(const hdf5_errors *e, const char *path, const char *name, ctn_error *err)
{
    return fail(err, CTN_IO, "%s: `%s` cannot be read, the file is damaged (%s); " HDF5_REMEDY, path, name,
                *e->reason ? e->reason : "it does not fit what else is in the file");
}
