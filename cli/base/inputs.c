/// What would be lost is told as every wrong option is.
#include "cli/base/inputs.h"

#include "cli/base/message.h"
#include "sim/base/new_file.h"
#include "sim/runs/inputs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int keep_input(enum option_id option, const char *path, const char *input, const char *what)
{
    ctn_error err;
    return inputs_check(option_name(option), path, input, what, &err) == CTN_OK ? EXIT_OK : status_error(&err, "");
}

int keep_scene(enum option_id option, const char *path, const ctn_scene *scene)
{
    ctn_error err;
    return inputs_check_scene(option_name(option), path, scene, &err) == CTN_OK ? EXIT_OK : status_error(&err, "");
}

int keep_output(const char *path)
{
    struct stat there;
    new_file f = {0};
    ctn_error err;
    if (!stat(path, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) return EXIT_OK;
    if (new_file_open(&f, path, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    return new_file_close(&f, false, &err), EXIT_OK;
}

bool same_folder(const char *a, const char *b)
{
    const char *const paths[] = {a, b};
    char folder[2][PATH_MAX], *real[2];
    for (int k = 0; k < 2; k++) {
        const char *const slash = strrchr(paths[k], '/');
        snprintf(folder[k], sizeof folder[k], "%.*s", slash ? (int)(slash - paths[k]) + 1 : 1, slash ? paths[k] : ".");
        real[k] = realpath(folder[k], NULL);
    }
    const bool same = real[0] && real[1] && !strcmp(real[0], real[1]);
    free(real[0]), free(real[1]);
    return same;
}
