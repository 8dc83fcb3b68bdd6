/// Pictures drawn by gnuplot. Its language can run programs and write files: so all that comes from elsewhere is numbers, or
/// stands in quotes that nothing in them can end, and gnuplot draws into a pipe, from which the picture is written here. The
/// script carries its data with it, so that it can be kept and drawn later where gnuplot is missing or fails.
#define _GNU_SOURCE  // pipe2
#include "cli/plots/gnuplot.h"

#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "sim/base/new_file.h"
#include "sim/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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

int check_plot(const plot_file *to, const ctn_scene *scene)
{
    const char *const path = to->path, *const option = option_name(to->option), *const slash = strrchr(path, '/');
    if (kind_of(path) == KINDS) return usage_error("%s: '%s' should end in .png, .svg or .pdf", option, path);
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    if (access(folder, W_OK | X_OK)) return run_error("%s: cannot be written: %s", path, strerror(errno));
    const int status = scene ? keep_scene(to->option, path, scene) : EXIT_OK;
    if (status != EXIT_OK) return status;
    if (!in_path("gnuplot"))
        warning("%s: gnuplot is not installed; its script and data will be kept in %s.gnuplot", option, path);
    return EXIT_OK;
}

void put_quoted(FILE *out, const char *text)
{
    char *const clean = strdup(text);
    if (clean) make_printable(clean);  // the end of a line would end the string, and what comes then be a command
    putc('\'', out);
    for (const char *c = clean; c && *c; c++) {
        if (*c == '\'') fputs("'.\"\\047\".'", out);  // gnuplot 5.4 takes two of them at the beginning for an empty string
        else putc(*c, out);
    }
    putc('\'', out);
    free(clean);
}

// ---- gnuplot

/// gnuplot drawing a script.
typedef struct drawing {
    pid_t feeder, gnuplot;  // processes: one writes the script into a pipe, one reads it there and draws
    int picture;            // into this one
} drawing;

/// A process that writes the script into a pipe, and the end of that to read from; -1: there is none.
static int feed(drawing *d, const char *script, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    d->feeder = fork();
    if (!d->feeder) {
        close(ends[0]);  // a gnuplot that dies ends this process, too
        for (ssize_t n = 1; size && (n > 0 || errno == EINTR); script += n > 0 ? n : 0, size -= n > 0 ? (size_t)n : 0)
            n = write(ends[1], script, size);
        _exit(size > 0);
    }
    close(ends[1]);
    if (d->feeder < 0) close(ends[0]);
    return d->feeder < 0 ? -1 : ends[0];
}

/// Starts it: without the user's settings (-d), with the script in UTF-8 whatever the locale.
static bool start(drawing *d, const char *script, size_t size)
{
    static const char *const words[] = {"env", "LC_ALL=C.UTF-8", "gnuplot", "-d", NULL};
    extern char **environ;
    int ends[2] = {-1, -1};
    const int from = feed(d, script, size);
    if (from < 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    bool ok = !pipe2(ends, O_CLOEXEC);
    posix_spawn_file_actions_adddup2(&actions, from, 0), posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ok = ok && !posix_spawnp(&d->gnuplot, "env", &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(from), close(ends[1]);
    d->picture = ends[0];
    if (ok) return true;
    close(ends[0]), waitpid(d->feeder, NULL, 0);
    return false;
}

/// Copies the picture; false if it cannot be written or there is none.
static bool copy(int from, FILE *to)
{
    char part[1 << 16];
    size_t all = 0;
    ssize_t n;
    while ((n = read(from, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0) continue;
        if (fwrite(part, 1, (size_t)n, to) < (size_t)n) return false;
        all += (size_t)n;
    }
    return !n && all && !fflush(to);
}

/// Draws the script into the stream. False: gnuplot failed or cannot be started (*failed), or else the picture cannot be written.
static bool draw(const char *script, size_t size, FILE *to, bool *failed)
{
    drawing d;
    int how = 0;
    *failed = true;
    if (!start(&d, script, size)) return false;
    const bool copied = copy(d.picture, to);
    close(d.picture);
    while (waitpid(d.gnuplot, &how, 0) < 0 && errno == EINTR) continue;
    while (waitpid(d.feeder, NULL, 0) < 0 && errno == EINTR) continue;
    const bool whole = copied && WIFEXITED(how) && !WEXITSTATUS(how);
    *failed = !whole && !ferror(to);
    return whole;
}

// ---- a plot

/// The script, as it is drawn and as it can be kept. NULL: no memory.
static char *make_script(const plot_file *to, void (*put)(FILE *out, const void *what), const void *what, size_t *size)
{
    char *script = NULL;
    FILE *const text = open_memstream(&script, size);
    if (!text) return NULL;
    put_terminal(text, to);
    put(text, what);
    if (!fclose(text)) return script;
    free(script);
    return NULL;
}

/// The script and its data stay beside the picture that is not there. Returns an exit status, with the error printed.
static int keep_script(const plot_file *to, const char *script, size_t size, const char *why)
{
    const char *const option = option_name(to->option);
    char kept[4096];
    new_file file;
    ctn_error err;
    snprintf(kept, sizeof kept, "%s.gnuplot", to->path);
    ctn_status status = new_file_open(&file, kept, &err);
    if (status == CTN_OK) {
        fwrite(script, 1, size, file.stream);
        status = new_file_close(&file, true, &err);
    }
    if (status != CTN_OK) return run_error("%s: %s, and neither is its script kept: %s", option, why, err.message);
    return run_error("%s: %s; its script and data are in %s: draw them with 'gnuplot -d %s > %s'", option, why, kept, kept,
                     to->path);
}

int draw_plot(const plot_file *to, void (*put)(FILE *out, const void *what), const void *what, bool *drawn)
{
    size_t size = 0;
    char *const script = make_script(to, put, what, &size);
    const char *why = NULL;
    new_file picture;
    ctn_error err;
    *drawn = false;
    if (!script) return run_error("%s: not enough memory", option_name(to->option));
    if (!in_path("gnuplot")) why = "gnuplot is not installed";
    else if (new_file_open(&picture, to->path, &err) != CTN_OK) why = err.message;
    else {
        bool failed;
        *drawn = draw(script, size, picture.stream, &failed);
        if (new_file_close(&picture, !failed, &err) != CTN_OK) *drawn = false, why = err.message;
        else if (failed) why = "gnuplot failed";
    }
    const int status = why ? keep_script(to, script, size, why) : EXIT_OK;
    free(script);
    return status;
}
