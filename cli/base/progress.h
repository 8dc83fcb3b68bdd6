/// A bar on stderr if that is a terminal.
#ifndef CATENA_CLI_PROGRESS_H
#define CATENA_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
    bool shown;
    double started, drawn;  // s, wall time
} progress;

progress progress_start(bool quiet);

/// `done` of `all` things called `unit`. Call it as often as you like.
void progress_show(progress *p, const char *unit, long done, long all);
void progress_end(progress *p);

#endif
