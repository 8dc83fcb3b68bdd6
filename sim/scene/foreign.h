/// What people bring from other simulators: their words for ours, and files that are no scenes.
#ifndef CATENA_SIM_FOREIGN_H
#define CATENA_SIM_FOREIGN_H

#include <stddef.h>

/// What to do about a key `word` of MuJoCo, URDF or others in a mapping of our format, `what` ("a link", as messages call it):
/// words that follow "unknown key; ". NULL: nobody calls anything so. `ours` receives the name of the key that takes its value as
/// it is, or NULL.
const char *foreign_key(const char *what, const char *word, const char **ours);

/// The joint type that others call `word`, or NULL.
const char *foreign_joint(const char *word);

/// What a file is if it is no YAML text: words with what can be done, that follow its name. NULL: it may be a scene.
const char *foreign_file(const char *text, size_t length);

#endif
