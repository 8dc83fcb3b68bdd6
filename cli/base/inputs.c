/// What would be lost is told as every wrong option is.
#include "cli/base/inputs.h"

#include "cli/base/message.h"
#include "sim/runs/inputs.h"

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
