/// A program beside this one, in lockstep with it: lines of JSON over two pipes (docs/cli.md). Whoever speaks with it says what went
/// wrong: nothing is printed here.
#ifndef CATENA_CLI_LOCKSTEP_H
#define CATENA_CLI_LOCKSTEP_H

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct lockstep {
    pid_t pid;
    int to, from;  // ends of the pipes; -1: closed
    struct sigaction pipe_before;
    int status;   // of the process, as of waitpid(); -1: it runs
    bool failed;  // it did otherwise than it should: it is ended when it is closed
    char *line;   // [room], of which `used` bytes have been read, `taken` of them an answer
    size_t room, used, taken;
} lockstep;

/// Starts the command, by /bin/sh, with pipes for its standard input and output. False: errno says why.
bool lockstep_open(lockstep *p, const char *command);

/// Sends an object as a line, and frees it. False: it is gone, or (stop_asked()) a signal has come.
bool lockstep_send(lockstep *p, cJSON *object);

/// Its next line, without the newline, until the next call. NULL: likewise, or the line is too long.
char *lockstep_receive(lockstep *p);
bool lockstep_is_too_long(const lockstep *p);

/// Waits for the end of a process that is gone, and returns its exit status: 128 + its number where a signal has ended it.
int lockstep_gone(lockstep *p);
int lockstep_signal(const lockstep *p);  // that has ended it; 0: none

/// Closes the pipes and waits for its end; after a signal, or if it failed, it gets one, too. Returns the exit status that it makes
/// of `status`: after a failure its own, if that says more.
int lockstep_close(lockstep *p, int status);

#endif
