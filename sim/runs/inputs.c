/// Compares files by device and inode, as hard and symbolic links give them other names.
#include "sim/runs/inputs.h"

#include "sim/base/new_file.h"
#include "sim/base/status.h"
#include "sim/scene/scene.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

ctn_status inputs_check(const char *option, const char *path, const char *input, const char *what, ctn_error *err)
{
    if (!path || !input) return CTN_OK;
    char *const made = new_file_name(path);
    if (!made) return fail(err, CTN_NO_MEMORY, "not enough memory");
    const char *const hit = same_file(path, input) ? path : same_file(made, input) ? made : NULL;
    if (hit) fail(err, CTN_BAD_ARGUMENT, "%s: %s is %s, and would be lost", option, hit, what);
    free(made);
    return hit ? CTN_BAD_ARGUMENT : CTN_OK;
}

ctn_status inputs_check_scene(const char *option, const char *path, const ctn_scene *scene, ctn_error *err)
{
    ctn_status status = CTN_OK;
    for (int f = 0; f < scene->nfile && status == CTN_OK; f++)
        status = inputs_check(option, path, scene->files[f].path, f ? "a file of the scene" : "the scene", err);
    return status;
}
