/// `--control CMD`: a process that is told the state before every step and answers with what motors and joints are to do.
#ifndef CATENA_CLI_CONTROLLER_H
#define CATENA_CLI_CONTROLLER_H

#include "cli/base/setup.h"

#include <catena/batch.h>
#include <cjson/cJSON.h>

typedef struct controller controller;

/// What a process is told first: the scene's name and step, its links, motors and sensors.
cJSON *controller_greeting(const setup *s);

/// Starts the command, by /bin/sh, with pipes for its standard input and output, and lists in `cfg` the parameters of the model's
/// motors that it sets: before the batch is made. NULL: an error was printed.
controller *controller_open(const char *command, const setup *s, ctn_batch_config *cfg);

typedef enum control_answer {
    CONTROL_GOES_ON,
    CONTROL_ENDS,  // it asked for the end, or its process ended in order
    CONTROL_FAILS  // its process ended otherwise, or what it says is no answer: printed. Or a signal has come (stop_asked())
} control_answer;

/// Tells it of the batch's one world, waits for the answer and carries it out.
control_answer controller_ask(controller *c, ctn_batch *batch, long step);

/// Closes its pipes and waits for its end; after a signal it gets one, too. NULL is allowed. Returns the exit status that it makes
/// of `status`: after a failure its own, if that says more.
int controller_close(controller *c, int status);

#endif
