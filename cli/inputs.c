/// Compares files by device and inode, as hard and symbolic links give them other names.
#include "cli/inputs.h"

#include "cli/message.h"
#include "sim/new_file.h"
#include "sim/scene.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int keep_input(enum option_id option, const char *path, const char *input, const char *what)
{
    if (!path || !input) return EXIT_OK;
    char *const made = new_file_name(path);
    if (!made) return run_error("not enough memory");
    const char *const hit = same_file(path, input) ? path : same_file(made, input) ? made : NULL;
    const int status = hit ? usage_error("%s: %s is %s, and would be lost", option_name(option), hit, what) : EXIT_OK;
    free(made);
    return status;
}

int keep_scene(enum option_id option, const char *path, const ctn_scene *scene)
{
    int status = EXIT_OK;
    for (int f = 0; f < scene->nfile && status == EXIT_OK; f++)
        status = keep_input(option, path, scene->files[f].path, f ? "a file of the scene" : "the scene");
    return status;
}
