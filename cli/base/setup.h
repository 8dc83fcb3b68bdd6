/// What most subcommands begin with: a scene, its model, and a configuration that the command line may override.
#ifndef CATENA_CLI_SETUP_H
#define CATENA_CLI_SETUP_H

#include "cli/base/arguments.h"

#include <catena/catena.h>

typedef struct setup {
    const char *path;
    ctn_scene *scene;
    ctn_model *model;
    ctn_batch_config cfg;
} setup;

/// Reads the scene args->files[0], compiles it and applies the options. Returns EXIT_OK, or an exit status with the errors
/// printed; then nothing needs to be freed.
int setup_open(const arguments *args, setup *s);

/// The same for what makes steps: the scene's warnings say, too, what is too stiff for the method.
int setup_open_to_step(const arguments *args, setup *s);

/// The scene's configuration with the options applied. Returns EXIT_OK, or an exit status with the errors printed.
int setup_configure(const arguments *args, const ctn_scene *scene, ctn_batch_config *cfg);
void setup_close(setup *s);

#endif
