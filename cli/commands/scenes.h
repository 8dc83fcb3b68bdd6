/// Scenes by name: NAME.yaml in a folder of scenes.
#ifndef CATENA_CLI_SCENES_H
#define CATENA_CLI_SCENES_H

/// What stands in a command line for a scene, as a file: `word` itself, or, if there is no such file, that of the scene of this
/// name. The caller frees it. NULL, with an error printed: neither is there, and a scene has a name much like it; or no memory.
char *scene_file(const char *word);

#endif
