/// Pictures drawn by gnuplot through a pipe. The script carries its data with it, so that it can be kept and drawn later where
/// gnuplot is missing or fails.
#include "cli/gnuplot.h"

#include "cli/message.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PDF_INCH = 120 };  // pixels

typedef enum picture_kind { PNG, SVG, PDF, KINDS } picture_kind;

/// By the ending of the file; KINDS: none.
static picture_kind kind_of(const char *path)
{
    static const char *const endings[KINDS] = {[PNG] = ".png", [SVG] = ".svg", [PDF] = ".pdf"};
    const char *const dot = strrchr(path, '.');
    picture_kind k = PNG;
    while (k < KINDS && (!dot || strcasecmp(dot, endings[k]))) k++;
    return k;
}

/// gnuplot's command for the file. pngcairo has smooth lines and dashes, but is not in every gnuplot.
static void put_terminal(FILE *out, const plot_file *to)
{
    const int w = to->width, h = to->height;
    switch (kind_of(to->path)) {
    case PNG:
        fprintf(out,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) set terminal pngcairo size %d,%d; "
                "else set terminal png size %d,%d\n",
                w, h, w, h);
        break;
    case SVG: fprintf(out, "set terminal svg size %d,%d\n", w, h); break;
    default: fprintf(out, "set terminal pdfcairo size %.9g,%.9g\n", (double)w / PDF_INCH, (double)h / PDF_INCH); break;
    }
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

plot_file plot_option(const arguments *args)
{
    return (plot_file){.option = OPT_PLOT, .path = args->value[OPT_PLOT], .width = 1200, .height = 900};
}

int check_plot(const plot_file *to)
{
    const char *const path = to->path, *const option = option_name(to->option), *const slash = strrchr(path, '/');
    if (kind_of(path) == KINDS) return usage_error("%s: '%s' should end in .png, .svg or .pdf", option, path);
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (access(folder, W_OK | X_OK)) return run_error("%s: cannot be written: %s", path, strerror(errno));
    if (!in_path("gnuplot"))
        warning("%s: gnuplot is not installed; its script and data will be kept in %s.gnuplot", option, path);
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

/// Feeds the script, which is in UTF-8 whatever the user's locale, to gnuplot. Returns whether it drew something. Its standard output
/// is where it draws when it cannot write the file.
static bool feed(const char *script, size_t size, const char *path)
{
    struct stat drawn;
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);  // a gnuplot that dies is an error, not our end
    FILE *const pipe = popen("exec env LC_ALL=C.UTF-8 gnuplot >/dev/null", "w");
    bool ok = pipe != NULL;
    if (pipe) {
        ok = fwrite(script, 1, size, pipe) == size;
        const int status = pclose(pipe);
        ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    signal(SIGPIPE, before);
    return ok && !stat(path, &drawn) && drawn.st_size > 0;
}

int draw_plot(const plot_file *to, void (*put)(FILE *out, const void *what), const void *what, bool *drawn)
{
    const char *const path = to->path, *const option = option_name(to->option);
    char *script = NULL;
    size_t size = 0;
    FILE *const text = open_memstream(&script, &size);
    if (text) {
        put_terminal(text, to);
        fprintf(text, "set output ");
        put_quoted(text, path);
        putc('\n', text);
        put(text, what);
        fprintf(text, "set output\n");
    }
    if (!text || fclose(text)) {
        free(script);
        return run_error("%s: not enough memory", option);
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
    if (lost) return run_error("%s: neither %s could be drawn nor %s written: %s", option, path, kept, strerror(errno));
    return run_error("%s: %s; its script and data are in %s: draw them with 'gnuplot %s'", option,
                     there ? "gnuplot failed" : "gnuplot is not installed", kept, kept);
}
