/// `catena plot`: quantities of recordings over time, one panel each, by gnuplot.
#include "cli/plots/plot.h"

#include "cli/commands/commands.h"
#include "cli/plots/learning.h"
#include "cli/base/inputs.h"
#include "cli/base/message.h"
#include "sim/base/csv_table.h"
#include "sim/base/number.h"
#include "sim/base/status.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PANELS = 32, MOST_FILES = 24 };

// ---- which panels

/// A panel of this label and unit among those from `first` on, or a new one. NULL, with the error printed: there are too many, or
/// no memory.
static panel *panel_of(plot *p, int first, const char *label, const char *unit)
{
    for (int k = first; k < p->npanel; k++)
        if (!strcmp(p->panels[k].label, label) && !strcmp(p->panels[k].unit, unit)) return &p->panels[k];
    if (p->npanel == MOST_PANELS) {
        usage_error("--y: that makes more than %d panels, beginning with '%s'; ask for fewer quantities, as q.LINK instead of q",
                    MOST_PANELS, label);
        return NULL;
    }
    panel *const more = realloc(p->panels, ((size_t)p->npanel + 1) * sizeof *more);
    if (!more) {
        run_error("not enough memory");
        return NULL;
    }
    p->panels = more;
    panel *const made = &more[p->npanel++];
    *made = (panel){.unit = unit};
    snprintf(made->label, sizeof made->label, "%s", label);
    return made;
}

/// Whether the series of a file can share their panel with each other: colours say which is which, unless they are needed for
/// files, or bands would cover each other.
static bool share_panels(const plot *p) { return p->nfile == 1 && !p->bands; }

static int add_series(plot *p, int first, const char *name, timeline *t, const series *what)
{
    panel *const to = panel_of(p, first, share_panels(p) ? name : what->name, what->unit);
    if (!to) return EXIT_USAGE;
    curve *const more = realloc(to->curves, ((size_t)to->count + 1) * sizeof *more);
    if (!more) return run_error("not enough memory");
    to->curves = more;
    more[to->count++] = (curve){.of = t, .what = *what};
    return EXIT_OK;
}

/// The range "[LOW:HIGH]" at the end of a name is cut off. Returns an exit status.
static int cut_range(char *name, bool *given, double *low, double *high)
{
    char *const bracket = strrchr(name, '[');
    double range[2];
    const char *const end = bracket ? numbers_from_text(bracket + 1, ':', 2, range) : NULL;
    *given = end && !strcmp(end, "]");
    if (!*given) return EXIT_OK;
    *low = range[0], *high = range[1];
    if (!(*low < *high)) return usage_error("--y: %s: expected a range [LOW:HIGH], LOW below HIGH", name);
    *bracket = 0;
    return EXIT_OK;
}

/// The panels of one name of --y.
static int add_name(plot *p, char *name)
{
    const int first = p->npanel;
    double low = 0, high = 0;
    bool given;
    int status = cut_range(name, &given, &low, &high);
    for (int f = 0; f < p->nfile && status == EXIT_OK; f++) {
        series_list found = {0};
        status = series_find(&p->files[f], name, &found);
        for (int k = 0; k < found.count && status == EXIT_OK; k++)
            status = add_series(p, first, name, &p->files[f], &found.list[k]);
        free(found.list);
    }
    for (int k = first; k < p->npanel && given; k++) p->panels[k].given = true, p->panels[k].low = low, p->panels[k].high = high;
    return status;
}

static int read_names(const arguments *args, plot *p)
{
    char *const text = strdup(args->value[OPT_Y] ? args->value[OPT_Y] : "energy");
    int status = text ? EXIT_OK : run_error("not enough memory");
    for (char *at = text; at && status == EXIT_OK;) {
        char *const name = csv_field(&at);
        status = name ? add_name(p, name) : usage_error("--y: a quote is not closed, or has text behind it");
    }
    free(text);
    return status;
}

// ---- what is in them

/// --from and --to, or the ends of all recordings.
static int read_times(const arguments *args, plot *p)
{
    double begin = INFINITY, end = -INFINITY;
    for (int f = 0; f < p->nfile; f++)
        begin = fmin(begin, p->files[f].time[0]), end = fmax(end, p->files[f].time[p->files[f].records - 1]);
    const char *const who = p->nfile > 1 ? "the recordings end" : "the recording ends";
    p->from = begin, p->until = end;
    if (!number_option(args, OPT_FROM, &p->from) || !number_option(args, OPT_TO, &p->until)) return EXIT_USAGE;
    if (!(p->from >= 0) || !isfinite(p->from))
        return usage_error("--from: expected a number of seconds, 0 or more, found %s", args->value[OPT_FROM]);
    if (p->from > end) return usage_error("--from: %s at %g s, found %g", who, end, p->from);
    if (p->until > end) return usage_error("--to: %s at %g s, found %g", who, end, p->until);
    if (args->value[OPT_TO] && !(p->until > p->from))
        return usage_error("--to: expected a number of seconds, more than %g (--from), found %g", p->from, p->until);
    if (p->from == p->until) p->until = p->from + p->files[0].from.cfg.dt;  // there is one record
    return EXIT_OK;
}

/// Reads a curve from the last record before p->from to the first one after p->until. Of a recording that has none between them
/// it stays empty.
static int read_curve(plot *p, curve *c)
{
    ctn_error err;
    timeline *const t = &p->files[c->of - p->files];
    const series what = c->what;
    int64_t first = 0, last = t->records - 1;
    c->low = INFINITY, c->high = -INFINITY;
    if (t->time[last] < p->from || t->time[first] > p->until) return EXIT_OK;
    while (first < last && t->time[first + 1] <= p->from) first++;
    while (last > first && t->time[last - 1] >= p->until) last--;
    if (curve_make(t, &what, first, last, c, &err) != CTN_OK) return status_error(&err, ""), EXIT_RUN;
    return EXIT_OK;
}

/// Whether the axis is logarithmic, as residuals go over many orders of magnitude. *low becomes the least above zero: what is
/// zero, as all of explicit methods are, is drawn at the lower end.
static bool is_logarithmic(const panel *x, double *low)
{
    double least = INFINITY;
    if (strcmp(x->curves[0].what.name, "residual") != 0 || (x->given && x->low <= 0)) return false;
    for (int i = 0; i < x->count; i++) {
        const curve *const c = &x->curves[i];
        for (int64_t k = 0; k < c->rows * c->lines; k++)
            if (c->y[k] > 0) least = fmin(least, c->y[k]);
    }
    if (isfinite(least)) *low = least;
    return isfinite(least);
}

/// On either side of what is drawn from `low` to `high`. What differs by rounding alone has as much as what is constant: else its
/// noise would fill the axis, with ticks that no number of digits tells apart.
static double room_about(double low, double high, bool whole)
{
    const double rounding = 1e-13, most = fmax(fabs(low), fabs(high));
    const double spread = 0.05 * high - 0.05 * low, room = spread > 0.05 * rounding * most ? spread : 0.05 * most;
    const double least = 1e-300;  // below that ticks are no numbers any more
    return room < least ? 1 : whole && high - low < 1 ? fmax(room, 1.2) : room;
}

/// The axis of a panel's quantity: what is drawn, and some room.
static int scale_panel(const plot *p, panel *x)
{
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < x->count; k++) low = fmin(low, x->curves[k].low), high = fmax(high, x->curves[k].high);
    if (low > high)
        return run_error("%s: '%s' has no number to draw from %g to %g s", x->curves[0].of->from.path, x->curves[0].what.name,
                         p->from, p->until);
    x->logarithmic = is_logarithmic(x, &low);
    if (x->given) return EXIT_OK;
    const double room = x->logarithmic ? 1.5 : room_about(low, high, x->curves[0].what.whole);
    x->low = x->logarithmic ? low / room : low - room, x->high = x->logarithmic ? high * room : high + room;
    if (x->logarithmic && x->high < 100 * x->low)  // whole powers of ten have ticks
        x->low = pow(10, floor(log10(x->low))), x->high = pow(10, ceil(log10(x->high)));
    const double most = 8e307;  // the length of an axis is a number
    if (x->low < -most || x->high > most)
        warning("%s: '%s' reaches from %g to %g; its axis ends at %g", x->curves[0].of->from.path, x->curves[0].what.name, low,
                high, most);
    x->low = fmin(fmax(x->low, -most), 0.9 * most), x->high = fmax(fmin(x->high, most), -0.9 * most);
    return EXIT_OK;
}

/// What --x names: a number of each recording, along the lower axis in the place of time.
static int read_across(const arguments *args, plot *p)
{
    const char *const name = args->value[OPT_X];
    double low = INFINITY, high = -INFINITY;
    p->left = p->from, p->right = p->until;
    if (!name) return EXIT_OK;
    if (p->bands)
        return usage_error("--x: more than %d worlds are drawn as quantiles, which go over time; choose one by --world",
                           CURVE_LINES);
    if (!(p->across = calloc((size_t)p->nfile, sizeof *p->across))) return run_error("not enough memory");
    for (int f = 0; f < p->nfile; f++) {
        series_list found = {0};
        int status = series_find(&p->files[f], name, &found);
        if (status == EXIT_OK && found.count != 1)
            status = usage_error("--x: %s: expected one number, as com.x, found %d", name, found.count);
        if (status == EXIT_OK) p->across[f] = (curve){.of = &p->files[f], .what = found.list[0]};
        free(found.list);
        if (status == EXIT_OK) status = read_curve(p, &p->across[f]);
        if (status != EXIT_OK) return status;
        low = fmin(low, p->across[f].low), high = fmax(high, p->across[f].high);
    }
    if (low > high) return run_error("--x: '%s' has no number to draw from %g to %g s", name, p->from, p->until);
    const double room = room_about(low, high, p->across[0].what.whole);
    p->left = low - room, p->right = high + room;
    return EXIT_OK;
}

static int read_panels(plot *p, bool quiet)
{
    int status = EXIT_OK;
    for (int k = 0; k < p->npanel && status == EXIT_OK; k++) {
        panel *const x = &p->panels[k];
        for (int c = 0; c < x->count && status == EXIT_OK; c++) {
            status = read_curve(p, &x->curves[c]);
            if (x->curves[c].lost && !quiet)
                warning("%s: %ld number%s of '%s' %s not finite, and left out", x->curves[c].of->from.path, x->curves[c].lost,
                        plural(x->curves[c].lost), x->curves[c].what.name, x->curves[c].lost == 1 ? "is" : "are");
        }
        if (status == EXIT_OK) status = scale_panel(p, x);
    }
    return status;
}

// ---- the command

/// The files by their names from the end of the folder that all have in common on.
static void name_files(const arguments *args, plot *p)
{
    size_t common = 0;
    for (size_t k = 0; args->files[0][k]; k++) {
        bool all = true;
        for (int f = 1; f < p->nfile; f++) all = all && args->files[f][k] == args->files[0][k];
        if (!all) break;
        if (args->files[0][k] == '/') common = k + 1;
    }
    for (int f = 0; f < p->nfile; f++) p->names[f] = args->files[f] + common;
}

/// Says what is not drawn of a recording.
static void warn_of_worlds(const timeline *t)
{
    if (t->missing)
        warning("%s: %d of %d world%s %s not run yet, and left out", t->from.path, t->missing, t->worlds, plural(t->worlds),
                t->missing == 1 ? "is" : "are");
    if (t->frozen == 1 && t->worlds == 1) warning("%s: the world froze at %.6g s, where it ends", t->from.path, t->until[0]);
    else if (t->frozen)
        warning("%s: %d of %d worlds froze, and %s drawn up to there", t->from.path, t->frozen, t->worlds,
                t->frozen == 1 ? "is" : "are");
}

static int open_files(const arguments *args, plot *p, bool quiet)
{
    if (args->nfile > MOST_FILES)
        return usage_error("%d recordings are too many to tell apart; give %d at most", args->nfile, MOST_FILES);
    p->files = calloc((size_t)args->nfile, sizeof *p->files), p->names = calloc((size_t)args->nfile, sizeof *p->names);
    if (!p->files || !p->names) return run_error("not enough memory");
    for (int f = 0; f < args->nfile; f++) {
        p->nfile = f + 1;  // to be closed
        const int status = timeline_open(args, args->files[f], &p->files[f]);
        if (status != EXIT_OK) return status;
        if (!quiet) warn_of_worlds(&p->files[f]);
        p->bands = p->bands || p->files[f].worlds > CURVE_LINES;
    }
    name_files(args, p);
    return EXIT_OK;
}

static int make_plot(const arguments *args, plot *p, bool *drawn)
{
    const bool quiet = args->value[OPT_QUIET] != NULL;
    p->out = (plot_file){.option = OPT_OUT, .path = args->value[OPT_OUT], .width = 1200};
    if (!p->out.path) return usage_error("--out is missing: FILE.png, .svg or .pdf");
    if (!size_option(args, &p->out.width, &p->out.height)) return EXIT_USAGE;
    int status = check_plot(&p->out, NULL);
    for (int k = 0; k < args->nfile && status == EXIT_OK; k++)
        status = keep_input(OPT_OUT, p->out.path, args->files[k], "the recording");
    if (status == EXIT_OK) status = open_files(args, p, quiet);
    if (status == EXIT_OK) status = read_times(args, p);
    if (status == EXIT_OK) status = read_names(args, p);
    if (status == EXIT_OK) status = size_plot(p);
    if (status == EXIT_OK) status = read_across(args, p);
    if (status == EXIT_OK) status = read_panels(p, quiet);
    return status == EXIT_OK ? draw_plot(&p->out, put_plot, p, drawn) : status;
}

static int plot_main(const arguments *args)
{
    plot p = {0};
    bool drawn = false;
    if (is_learning_table(args->files[0])) return plot_learning(args);
    const int status = make_plot(args, &p, &drawn);
    if (drawn && !args->value[OPT_QUIET])
        printf("%s: %d panel%s, %g to %g s, %dx%d\n", clean(p.out.path).text, p.npanel, plural(p.npanel), p.from, p.until,
               p.out.width, p.out.height);
    for (int k = 0; k < p.npanel; k++) {
        for (int c = 0; c < p.panels[k].count; c++) curve_free(&p.panels[k].curves[c]);
        free(p.panels[k].curves);
    }
    for (int f = 0; f < p.nfile && p.across; f++) curve_free(&p.across[f]);
    for (int f = 0; f < p.nfile; f++) timeline_close(&p.files[f]);
    free(p.across), free(p.panels), free(p.files), free(p.names);
    return status;
}

const command command_plot = {
    .name = "plot",
    .files = "FILE...",
    .least = 1,
    .most = INT_MAX,
    .does = "Draws quantities of recordings over time, by gnuplot.",
    .about = "FILE is a recording of catena run or catena rollout, .h5 or .hdf5, which may still be being written.\n"
             "--y names quantities, separated by commas, each with a panel of its own:\n"
             "  energy, kinetic, potential, spring, com, momentum_linear, momentum_angular\n"
             "  q.LINK, v.LINK, p.LINK: coordinates, velocities, position of a link; q.LINK.1: one of several;\n"
             "  q, v, p: of all links\n"
             "  of catena run also iterations, residual, work, created ..., as the file has them by record;\n"
             "  work.sum, created.sum ...: added up from the start\n"
             "  energy[-20:5]: with the ends of its axis\n"
             "--x com.x: over another number than time, as for the path of a point\n"
             "A name that is not there gets an error that says what is. More than 8 worlds are drawn as their median\n"
             "and the ranges of the middle 50 and 90 %. Several files are told apart by colours. Worlds that froze are drawn\n"
             "up to there.\n"
             "FILE.csv of catena search is drawn as a learning curve: best, mean, worst, sigma over evaluations; that of\n"
             "catena optimize as cost, gradient, defect, alpha, violation over iteration or, by --x, seconds.\n"
             "Exit status: 0 success; 1 it could not be drawn (the script and its data are kept) or read; 2 bad usage\n"
             "or a file that is no recording.\n",
    .takes = TAKES(OPT_Y) | TAKES(OPT_X) | TAKES(OPT_OUT) | TAKES(OPT_SIZE) | TAKES(OPT_FROM) | TAKES(OPT_TO) | TAKES(OPT_WORLD) |
             TAKES(OPT_QUIET),
    .out = "FILE.png, .svg or .pdf",
    .examples = "  catena plot arm.h5 --out energy.png\n"
                "  catena plot arm.h5 --y energy,q.iiwa_link_3,evaluations --from 1 --to 2 --out arm.pdf\n"
                "  catena plot rk4.h5 radau.h5 --y energy,created.sum --out methods.svg\n"
                "  catena plot chains.h5 --y p.rod.9,energy --out worlds.png\n"
                "  catena plot chains.h5 --y v.rod.9 --world 7 --out world7.png\n"
                "  catena plot gait.h5 --x com.x --y com.z,q.knee --from 2 --to 3 --out gait.png\n"
                "  catena plot found.yaml.csv --out learning.png\n",
    .main = plot_main,
};
