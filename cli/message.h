/// What the command says to people, on stderr.
#ifndef CATENA_CLI_MESSAGE_H
#define CATENA_CLI_MESSAGE_H

#include <catena/status.h>

enum { EXIT_OK = 0, EXIT_RUN = 1, EXIT_USAGE = 2 };  // success, a failed run, bad usage or input

/// From now on all begin with `who` and a colon; NULL: with nothing. The text must last.
void messages_from(const char *who);

/// Prints "error: ..." and returns EXIT_USAGE.
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Prints "error: ..." and returns EXIT_RUN.
int run_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Prints each line of the message after "error: " and `before`. Returns EXIT_RUN if memory ran out, else EXIT_USAGE.
int status_error(const ctn_error *err, const char *before);

/// Prints each line of `text` after "warning: ".
void warn_lines(const char *text);
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
