/// Scene files: YAML text as a person wrote it, checked and expanded, before it is compiled into a model.
/// The format is described in docs/scene.md.
#ifndef CATENA_SCENE_H
#define CATENA_SCENE_H

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ctn_scene ctn_scene;

/// Reads a scene file, or a robot file (URDF), and everything it includes. `path` is a file's: names of scenes are the command's
/// alone. Returns NULL on error, with every problem of the file in `err` (may be NULL). The caller owns the scene and frees it
/// with ctn_scene_free.
CTN_API ctn_scene *ctn_scene_load(const char *path, ctn_error *err);

/// The same from `length` bytes of text. `name` stands for the file in messages; included files are looked for beside it.
CTN_API ctn_scene *ctn_scene_parse(const char *text, size_t length, const char *name, ctn_error *err);

/// The scene that a robot file is, as YAML text, NULL on error. `to`: the name of the file that the text will be in, which meshes
/// are named from; NULL: one beside the robot's. The caller frees the text with free().
CTN_API char *ctn_scene_convert(const char *path, const char *to, ctn_error *err);

CTN_API void ctn_scene_free(ctn_scene *scene);  // NULL is allowed

/// The scene's `name:`, or its file name without folder and ending. Valid as long as the scene.
CTN_API const char *ctn_scene_name(const ctn_scene *scene);

/// The text of the file itself, without its includes. Valid as long as the scene.
CTN_API const char *ctn_scene_text(const ctn_scene *scene);

/// Things in the file that are allowed but probably not meant, one a line; "" if there are none. Valid as long as the scene.
CTN_API const char *ctn_scene_warnings(const ctn_scene *scene);

/// How many of them are listed (at most 20: a last line of the text counts those that are not), and one of them in pieces.
/// CTN_BAD_ARGUMENT if there is none with the number `i`.
CTN_API int ctn_scene_warning_count(const ctn_scene *scene);
CTN_API ctn_status ctn_scene_warning(const ctn_scene *scene, int i, ctn_finding *finding);

/// `duration:` in seconds, or a negative number if the scene does not give one.
CTN_API double ctn_scene_duration(const ctn_scene *scene);

#ifdef __cplusplus
}
#endif
#endif
