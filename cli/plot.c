/// Energies over time, drawn by gnuplot through a pipe. The script carries its data with it, so that it can be kept and drawn
/// later where gnuplot is missing or fails.
#include "cli/message.h"
#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// gnuplot's terminal for the ending of `path`, or NULL.
static const char *terminal_for(const char *path)
{
    static const struct {
        const char *ending, *terminal;
    } known[] = {{".png", "png size 1200,900"}, {".svg", "svg size 1200,900"}, {".pdf", "pdfcairo size 10,7.5"}};
    const char *const dot = strrchr(path, '.');
    for (size_t i = 0; i < sizeof known / sizeof *known && dot; i++)
        if (!strcasecmp(dot, known[i].ending)) return known[i].terminal;
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
    if (!in_path("gnuplot")) warning("--plot: gnuplot is not installed; its script and data will be kept in %s.gnuplot", path);
    return EXIT_OK;
}

/// A text in gnuplot's single quotes.
static void put_quoted(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'') putc('\'', out);
        putc(*text, out);
    }
    putc('\'', out);
}

static void put_script(FILE *out, const run *r)
{
    const ctn_batch_config *const cfg = ctn_batch_configuration(r->batch);
    const bool carried = cfg->method == CTN_COLLOCATION;
    bool spring = false;
    for (int i = 0; i < r->nsample; i++) spring = spring || r->samples[i].spring != 0;
    fprintf(out, "$energy << EOD\n");
    for (int i = 0; i < r->nsample; i++) {
        const energy_sample *const e = &r->samples[i];
        fprintf(out, "%.17g %.17g %.17g %.17g %.17g %.17g\n", e->time, e->kinetic, e->potential, e->spring,
                e->kinetic + e->potential + e->spring, e->method);
    }
    fprintf(out, "EOD\nset terminal %s\nset output ", terminal_for(r->plot));
    put_quoted(out, r->plot);
    fprintf(out, "\nset title ");
    char title[300];
    snprintf(title, sizeof title, "%s: %s, dt %g s", ctn_scene_name(r->s.scene), ctn_method_name(cfg->method), cfg->dt);
    put_quoted(out, title);
    fprintf(
        out,
        " noenhanced\n"
        "set multiplot layout 2,1\nset grid\nset key outside right top Left reverse\nset ylabel 'energy (J)'\nset format x ''\n"
        "set lmargin 14\nset rmargin 20\n"
        "plot $energy using 1:2 with lines lw 2 title 'kinetic', '' using 1:3 with lines lw 2 title 'potential'");
    if (spring) fprintf(out, ", '' using 1:4 with lines lw 2 title 'springs'");
    fprintf(out, ", '' using 1:5 with lines lw 2 lc rgb 'black' title 'total'");
    if (carried) fprintf(out, ", '' using 1:6 with lines lw 2 dt 2 title 'of the method'");
    const double start = r->nsample ? r->samples[0].method : 0;
    fprintf(out,
            "\nunset title\nset format x\nset xlabel 'time (s)'\nset ylabel 'change of energy (J)'\n"
            "plot $energy using 1:($6 - (%.17g)) with lines lw 2 lc rgb 'black' title '%s'\nunset multiplot\nset output\n",
            start, carried ? "of the method" : "total");
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

int draw_plot(run *r)
{
    char *script = NULL;
    size_t size = 0;
    FILE *const text = open_memstream(&script, &size);
    if (text) put_script(text, r);
    if (!text || fclose(text)) {
        free(script);
        return run_error("--plot: not enough memory");
    }
    const bool there = in_path("gnuplot");
    r->drawn = there && feed(script, size, r->plot);
    if (r->drawn) {
        free(script);
        return EXIT_OK;
    }
    char kept[4096];
    snprintf(kept, sizeof kept, "%s.gnuplot", r->plot);
    errno = 0;
    FILE *const file = fopen(kept, "w");
    const bool lost = !file || (fwrite(script, 1, size, file) != size) | fclose(file);
    free(script);
    if (lost) return run_error("--plot: neither %s could be drawn nor %s written: %s", r->plot, kept, strerror(errno));
    return run_error("--plot: %s; its script and data are in %s: draw them with 'gnuplot %s'",
                     there ? "gnuplot failed" : "gnuplot is not installed", kept, kept);
}
