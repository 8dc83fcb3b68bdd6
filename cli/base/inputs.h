/// Files that are read must not be written, and those that are written can be.
#ifndef CATENA_CLI_INPUTS_H
#define CATENA_CLI_INPUTS_H

#include "cli/base/arguments.h"

#include <catena/scene.h>

/// Whether the file that `option` names, `path`, is another one than `input`, by whichever links; otherwise EXIT_USAGE with the
/// error printed, in which the input is `what`. So for `path`.new, where it is made. NULL for either: EXIT_OK.
int keep_input(enum option_id option, const char *path, const char *input, const char *what);

/// The same for all files that a scene was read from.
int keep_scene(enum option_id option, const char *path, const ctn_scene *scene);

/// Whether a file of that name can be written, before long work: EXIT_RUN with the error printed. What is no regular file, as a pipe, is
/// not tried.
int keep_output(const char *path);

/// Whether two files lie in one folder.
bool same_folder(const char *a, const char *b);

#endif
