/// What the command says to people.
#ifndef CATENA_CLI_MESSAGE_H
#define CATENA_CLI_MESSAGE_H

#include "sim/base/status.h"

enum { EXIT_OK = 0, EXIT_RUN = 1, EXIT_USAGE = 2 };  // success, a failed run, bad usage or input

/// From now on all begin with `who` and a colon; NULL: with nothing. The text must last.
void messages_from(const char *who);

/// From now on errors are not printed: the first one goes into `err`, as CTN_BAD_CONFIG. NULL: they are printed.
void errors_into(ctn_error *err);

/// Prints "error: ..." and returns EXIT_USAGE.
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Prints "error: ..." and returns EXIT_RUN.
int run_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Prints each line of the message after "error: " and `before`. Returns EXIT_RUN if memory ran out, else EXIT_USAGE.
int status_error(const ctn_error *err, const char *before);

/// The same of calls that set or step worlds: EXIT_RUN also if the engine failed, as a GPU may.
int engine_error(const ctn_error *err);

/// What ctn_batch_step or ctn_batch_run returned, as an exit status: EXIT_OK unless the engine failed, as a GPU may, which is
/// printed. Worlds that froze or needed a fallback are no failure of it; after one, the statistics and states of that call are
/// not to be used.
int step_outcome(ctn_status status, const ctn_error *err);

/// Prints each line of `text` after "warning: ".
void warn_lines(const char *text);
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// A name, or other text of a file, as it is printed on standard output: without what would command a terminal
/// (sim/base/printable.h).
typedef struct clean_text {
    char text[4200];
} clean_text;
clean_text clean(const char *text);

/// Whether all that was printed on standard output got there: `status`, or EXIT_RUN, with the error printed, instead of EXIT_OK.
int end_output(int status);

#endif
