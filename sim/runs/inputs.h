/// Files that are read must not be written.
#ifndef CATENA_SIM_INPUTS_H
#define CATENA_SIM_INPUTS_H

#include <catena/scene.h>

/// Whether the file `path`, which messages say that `option` names, is another one than `input`, by whichever links; otherwise
/// CTN_BAD_ARGUMENT, with a message in which the input is `what`. So for `path`.new, where it is made. NULL for either: CTN_OK.
/// CTN_NO_MEMORY.
ctn_status inputs_check(const char *option, const char *path, const char *input, const char *what, ctn_error *err);

/// The same for all files that a scene was read from.
ctn_status inputs_check_scene(const char *option, const char *path, const ctn_scene *scene, ctn_error *err);

#endif
