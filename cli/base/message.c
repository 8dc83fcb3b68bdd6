/// Errors and warnings, in colour on a terminal that wants it (NO_COLOR: https://no-color.org). What they quote does not reach it
/// as a command.
#define _GNU_SOURCE  // vasprintf
#include "cli/base/message.h"

#include "sim/base/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *speaker;
static ctn_error *sink;  // where errors go

void messages_from(const char *who) { speaker = who; }

void errors_into(ctn_error *err)
{
    sink = err;
    if (sink) sink->status = CTN_OK;
}

static void tag(const char *word, const char *colour)
{
    const char *const no = getenv("NO_COLOR"), *const term = getenv("TERM");
    const int plain = (no && *no) || !isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb");
    if (plain) fprintf(stderr, "%s: ", word);
    else fprintf(stderr, "\033[1;%sm%s:\033[0m ", colour, word);
    if (speaker) fprintf(stderr, "%s: ", speaker);
}

static void say_args(const char *word, const char *colour, const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0) text = NULL;
    if (text) make_printable(text);
    tag(word, colour);
    fprintf(stderr, "%s\n", text ? text : "not enough memory");
    free(text);
}

__attribute__((format(printf, 3, 4))) static void say(const char *word, const char *colour, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_args(word, colour, format, args);
    va_end(args);
}

static void say_lines(const char *word, const char *colour, const char *before, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        say(word, colour, "%s%.*s", before, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void say_error(const char *format, va_list args)
{
    if (!sink) say_args("error", "31", format, args);
    else if (sink->status == CTN_OK) {
        sink->status = CTN_BAD_CONFIG, sink->count = 1, sink->placed = 0;
        vsnprintf(sink->message, sizeof sink->message, format, args);
    }
}

int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_error(format, args);
    va_end(args);
    return EXIT_USAGE;
}

int run_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_error(format, args);
    va_end(args);
    return EXIT_RUN;
}

int status_error(const ctn_error *err, const char *before)
{
    if (sink) usage_error("%s%s", before, err->message);
    else say_lines("error", "31", before, err->message);
    return err->status == CTN_NO_MEMORY ? EXIT_RUN : EXIT_USAGE;
}

int engine_error(const ctn_error *err)
{
    const int status = status_error(err, "");
    return err->status == CTN_UNAVAILABLE ? EXIT_RUN : status;
}

int step_outcome(ctn_status status, const ctn_error *err)
{
    if (status == CTN_OK || status == CTN_FROZEN || status == CTN_INTERRUPTED) return EXIT_OK;
    say_lines("error", "31", "", err->message);
    return EXIT_RUN;
}

void warn_lines(const char *text) { say_lines("warning", "33", "", text); }

void warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_args("warning", "33", format, args);
    va_end(args);
}

clean_text clean(const char *text)
{
    clean_text of;
    const size_t size = sizeof of.text;
    if (snprintf(of.text, size, "%s", text) >= (int)size) strcpy(of.text + size - sizeof "...", "...");
    make_printable(of.text);
    return of;
}

int end_output(int status)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return status;
    run_error("standard output: cannot be written%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
    return status == EXIT_OK ? EXIT_RUN : status;
}
