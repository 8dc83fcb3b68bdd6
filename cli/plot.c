/// Pictures drawn by gnuplot through a pipe. The script carries its data with it, so that it can be kept and drawn later where
/// gnuplot is missing or fails.
#include "cli/plot.h"

#include "cli/message.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// gnuplot's command for the ending of `path`, or NULL. pngcairo has smooth lines and dashes, but is not in every gnuplot.
static const char *terminal_for(const char *path)
{
    static const struct {
        const char *ending, *command;
    } known[] = {{".png", "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) set terminal pngcairo size 1200,900; "
                          "else set terminal png size 1200,900"},
                 {".svg", "set terminal svg size 1200,900"},
                 {".pdf", "set terminal pdfcairo size 10,7.5"}};
    const char *const dot = strrchr(path, '.');
    for (size_t i = 0; i < sizeof known / sizeof *known && dot; i++)
        if (!strcasecmp(dot, known[i].ending)) return known[i].command;
    return NULL;
}

/// Whether a program of this name stands in PATH.
static bool in_path(const char *program)
{
    const char *at = getenv("PATH");
    char file[4096];
    while (at && *at) {
        const int length = (int)strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", length, at, program);
        if (!access(file, X_OK)) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

int check_plot(const char *path)
{
    if (!terminal_for(path)) return usage_error("--plot: '%s' should end in .png, .svg or .pdf", path);
    const char *const slash = strrchr(path, '/');
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (access(folder, W_OK | X_OK)) return run_error("%s: cannot be written: %s", path, strerror(errno));
    if (!in_path("gnuplot")) warning("--plot: gnuplot is not installed; its script and data will be kept in %s.gnuplot", path);
    return EXIT_OK;
}

void put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'') putc('\'', out);
        putc(*text, out);
    }
    putc('\'', out);
}

/// Feeds the script to gnuplot. Returns whether it drew something. Its standard output is where it draws when it cannot write
/// the file.
static bool feed(const char *script, size_t size, const char *path)
{
    struct stat drawn;
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);  // a gnuplot that dies is an error, not our end
    FILE *const pipe = popen("exec gnuplot >/dev/null", "w");
    bool ok = pipe != NULL;
    if (pipe) {
        ok = fwrite(script, 1, size, pipe) == size;
        const int status = pclose(pipe);
        ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    signal(SIGPIPE, before);
    return ok && !stat(path, &drawn) && drawn.st_size > 0;
}

int draw_plot(const char *path, void (*put)(FILE *out, const void *what), const void *what, bool *drawn)
{
    char *script = NULL;
    size_t size = 0;
    FILE *const text = open_memstream(&script, &size);
    if (text) {
        fprintf(text, "%s\nset output ", terminal_for(path));
        put_quoted(text, path);
        putc('\n', text);
        put(text, what);
        fprintf(text, "set output\n");
    }
    if (!text || fclose(text)) {
        free(script);
        return run_error("--plot: not enough memory");
    }
    const bool there = in_path("gnuplot");
    *drawn = there && feed(script, size, path);
    if (*drawn) {
        free(script);
        return EXIT_OK;
    }
    char kept[4096];
    snprintf(kept, sizeof kept, "%s.gnuplot", path);
    errno = 0;
    FILE *const file = fopen(kept, "w");
    const bool lost = !file || (fwrite(script, 1, size, file) != size) | fclose(file);
    free(script);
    if (lost) return run_error("--plot: neither %s could be drawn nor %s written: %s", path, kept, strerror(errno));
    return run_error("--plot: %s; its script and data are in %s: draw them with 'gnuplot %s'",
                     there ? "gnuplot failed" : "gnuplot is not installed", kept, kept);
}
