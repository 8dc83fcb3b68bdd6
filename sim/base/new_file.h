/// A file that is made beside its place, under its name and `.new`, and put there when there is something to keep: what goes
/// wrong before leaves what was there. A link in that place is replaced, not followed. What is no regular file, as /dev/stdout or
/// a pipe, is written as it is.
#ifndef CATENA_SIM_NEW_FILE_H
#define CATENA_SIM_NEW_FILE_H

#include <catena/status.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct new_file {
    char *path;  // as given
    char *made;  // where it is made; NULL: it is in its place
    FILE *stream;
} new_file;

/// The name under which a file that is to be called `path` is made; to be freed. NULL: no memory.
char *new_file_name(const char *path);

/// Opens it, empty, for writing. CTN_IO with the name and the reason; CTN_NO_MEMORY. It is closed then.
ctn_status new_file_open(new_file *f, const char *path, ctn_error *err);

/// Writes what the stream holds, and puts the file into its place if it is not there; it stays open. CTN_IO: it is not there.
ctn_status new_file_place(new_file *f, ctn_error *err);

/// Closes it where it is, as something else has written into it, in part.
void new_file_leave(new_file *f);

/// Closes it, after putting it into its place; with `keep` false a file that is not there yet is removed. CTN_IO: some of it
/// could not be written; what was not in its place is removed then, too. Not open: CTN_OK.
ctn_status new_file_close(new_file *f, bool keep, ctn_error *err);

#endif
