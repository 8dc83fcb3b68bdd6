/// Runs the catena command from a test, in a folder of the test's own.
#ifndef CATENA_TESTS_COMMAND_H
#define CATENA_TESTS_COMMAND_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

/// Exit status (128 + signal if one ended it) and what it printed; both terminated, to be freed by outcome_free.
typedef struct outcome {
    int status;
    char *out, *err;
} outcome;

/// Runs `catena` with the given arguments up to NULL; `input` (may be NULL) is its standard input.
outcome catena_with(const char *input, const char *first, ...) __attribute__((sentinel));
#define catena(...) catena_with(NULL, __VA_ARGS__, NULL)

void outcome_free(outcome *o);

/// Starts it without waiting, output to files "out" and "err"; and waits for it.
pid_t catena_start(const char *const *args);
outcome catena_wait(pid_t pid);

/// Waits until the process has a handler for a signal; fails the test if it ends before.
void wait_for_handler(pid_t pid, int signal);

/// Starts another program in the same way: its path, its arguments, NULL.
pid_t program_start(const char *const *words);

/// Runs it, expects exit status `status` and one JSON object on standard output; to be freed.
cJSON *catena_json(int status, const char *first, ...) __attribute__((sentinel));

/// A member by its path, "energy.final"; fails the test if there is none.
const cJSON *member(const cJSON *object, const char *path);
double number(const cJSON *object, const char *path);

/// Makes a new folder the current one; and removes it with all that is in it.
void enter_scratch(void);
void leave_scratch(void);

/// The whole of a file, terminated, to be freed; fails the test if it cannot be read. `size` may be NULL.
char *slurp(const char *path, size_t *size);
void spit(const char *path, const char *text);

/// What lies between two marks of a text from `at` on; fails the test if they are not there. To be freed.
char *between(const char *at, const char *begin, const char *end);

/// A file of the source folder; the text is overwritten by the eighth call after.
const char *source(const char *path);

#endif
