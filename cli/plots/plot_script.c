/// The picture of `catena plot` as gnuplot's commands. All lengths are in pixels until they are written.
#include "cli/base/message.h"
#include "cli/plots/plot.h"
#include "cli/plots/aggregate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 9, DIGIT = 10, LINE = 20, LEAST_PANEL = 60, GAP = 16 };  // of the font that is the terminals' own

/// Colours that can be told apart with any eyes. [Okabe, Ito 2008: Color Universal Design; without yellow, with grey]
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000"};
enum { COLOURS = sizeof colours / sizeof *colours };

const char *plot_colour(int k) { return colours[k % COLOURS]; }

static bool by_file(const plot *p) { return p->nfile > 1; }

/// Which colour and which dashes.
static int style_of(const plot *p, const panel *x, const curve *c)
{
    return (int)(by_file(p) ? c->of - p->files : c - x->curves);
}

/// Whether the curves of a panel are told apart by a key of its own.
static bool has_key(const plot *p, const panel *x) { return !by_file(p) && !p->bands && x->count > 1; }

static double most_of(const panel *x) { return fmax(fabs(x->low), fabs(x->high)); }

/// Digits that tell the ticks of a panel's axis apart.
static int digits_of(const panel *x)
{
    if (x->logarithmic || !(most_of(x) > 0)) return 6;
    const double digits = ceil(log10(most_of(x) / (x->high - x->low))) + 2;
    return digits < 6 ? 6 : digits > 16 ? 16 : (int)digits;
}

/// Letters of the ticks: a few digits, as many as it takes, or those of "-2.5e-10".
static int letters_of(const panel *x)
{
    const bool power = x->logarithmic || most_of(x) >= 1e6 || most_of(x) < 1e-3;
    return digits_of(x) > 6 ? digits_of(x) + 3 : power ? 8 : 6;
}

/// What the key calls a curve: its name without that of the panel.
static const char *short_name(const panel *x, const curve *c)
{
    const size_t length = strlen(x->label);
    return strncmp(c->what.name, x->label, length) || c->what.name[length] != '.' ? c->what.name : c->what.name + length + 1;
}

/// What stands along the axis of a panel: its quantity, and in which unit.
static void label_of(const panel *x, char *label, size_t size)
{
    const bool unit = strcmp(x->unit, "1");
    snprintf(label, size, "%s%s%s%s", x->label, unit ? " (" : "", unit ? x->unit : "", unit ? ")" : "");
}

enum { LABEL = SERIES_NAME + 60 };

/// A panel has as much room as suits a picture of so many, or its key or its label need.
static int wanted_height(const plot *p, const panel *x)
{
    enum { MOST_ROWS = 32 };  // of a key; then it gets another column
    const int usual = p->npanel == 1 ? 420 : p->npanel == 2 ? 300 : p->npanel <= 4 ? 220 : 170;
    const int key = has_key(p, x) ? (x->count < MOST_ROWS ? x->count : MOST_ROWS) * LINE : 0;
    char label[LABEL];
    label_of(x, label, sizeof label);
    const int length = ((int)strlen(label) + 1) * LETTER, most = 2 * usual;  // a longer one lies across the curves
    return key > usual ? key : length > usual && length <= most ? length : usual;
}

/// Where things are. Left and right are the same for all panels, so that their axes of time agree.
typedef struct layout {
    int left, right, top, bottom;  // margins of all panels
    int rest;                      // of the height: what is not panels
    double scale;                  // heights of panels by those wanted
} layout;

static int key_rows(const plot *p, const panel *x, const layout *l)
{
    const int rows = (int)(wanted_height(p, x) * l->scale / LINE);
    return rows > 1 ? rows : 1;
}

/// Of the key beside a panel; 0: it has none.
static int key_width(const plot *p, const panel *x, const layout *l)
{
    size_t longest = 0;
    if (!has_key(p, x)) return 0;
    for (int c = 0; c < x->count; c++) {
        const size_t length = strlen(short_name(x, &x->curves[c]));
        longest = length > longest ? length : longest;
    }
    const int rows = key_rows(p, x, l), columns = (x->count + rows - 1) / rows;
    return columns * ((int)longest + 8) * LETTER;
}

/// For a picture of the height in p->out, or, if that is 0, of the height that is wanted.
static layout lay_out(const plot *p)
{
    layout l = {.right = 3 * LETTER, .top = 2 * LINE, .bottom = 3 * LINE, .scale = 1};
    int letters = 6, wanted = 0, key = 0;
    if (by_file(p)) l.top += p->nfile * LINE;
    else if (p->bands) l.top += LINE;
    l.rest = l.top + l.bottom + (p->npanel - 1) * GAP;
    for (int k = 0; k < p->npanel; k++) wanted += wanted_height(p, &p->panels[k]);
    if (p->out.height) l.scale = (double)(p->out.height - l.rest) / wanted;
    for (int k = 0; k < p->npanel; k++) {
        const panel *const x = &p->panels[k];
        if (x->low < x->high && letters_of(x) > letters) letters = letters_of(x);
        key = key_width(p, x, &l) > key ? key_width(p, x, &l) : key;
    }
    l.left = 4 * LETTER + letters * DIGIT, l.right += key;
    return l;
}

int size_plot(plot *p)
{
    int wanted = 0;
    for (int k = 0; k < p->npanel; k++) wanted += wanted_height(p, &p->panels[k]);
    const layout l = lay_out(p);
    const int height = l.rest + p->npanel * LEAST_PANEL, width = l.left + l.right + 4 * LEAST_PANEL;
    if (!p->out.height) p->out.height = l.rest + wanted;
    if (p->out.height < height)
        return usage_error("--size: %d panel%s a height of %d or more, found %d", p->npanel, p->npanel == 1 ? " needs" : "s need",
                           height, p->out.height);
    if (p->out.width < width)
        return usage_error("--size: panels and keys need a width of %d or more, found %d", width, p->out.width);
    return EXIT_OK;
}

// ---- data

/// Rows of a line that are no gap.
static int64_t rows_of(const curve *c, int line)
{
    int64_t count = 0;
    for (int64_t k = 0; k < c->rows; k++) count += !isnan(c->y[line * c->rows + k]);
    return count;
}

/// Rows of y [lines][rows] over x [rows] that a picture of this width needs; an empty line is a gap. columns 0: all rows, as x may
/// go back.
static void put_rows(FILE *out, const curve *c, const double *x, const double *y, int lines, int columns)
{
    bool *const kept = columns ? malloc((size_t)c->rows * sizeof *kept) : NULL, begun = false, gap = false;
    if (kept) keep_extremes(x, y, lines, c->rows, columns, kept);
    for (int64_t k = 0; k < c->rows; k++) {
        if (kept && !kept[k]) continue;  // without memory for it all rows are written: the same picture
        if (isnan(y[k]) || isnan(x[k])) {
            gap = begun;
            continue;
        }
        fprintf(out, gap ? "\n%.17g" : "%.17g", x[k]);
        for (int l = 0; l < lines; l++) fprintf(out, " %.17g", y[l * c->rows + k]);
        putc('\n', out);
        begun = true, gap = false;
    }
    free(kept);
}

/// "$panel0_curve1", of a line of worlds "$panel0_curve1_2".
static void put_block_name(FILE *out, int panel, int curve, int line)
{
    fprintf(out, "$panel%d_curve%d", panel, curve);
    if (line >= 0) fprintf(out, "_%d", line);
}

static void put_data(FILE *out, const plot *p)
{
    for (int k = 0; k < p->npanel; k++) {
        for (int i = 0; i < p->panels[k].count; i++) {
            const curve *const c = &p->panels[k].curves[i];
            for (int l = 0; l < (c->bands ? 1 : c->lines); l++) {
                if (!rows_of(c, l)) continue;
                put_block_name(out, k, i, c->bands ? -1 : l);
                fprintf(out, " << EOD\n");
                const double *const x = p->across ? p->across[c->of - p->files].y + l * c->rows : c->time;
                put_rows(out, c, x, c->y + l * c->rows, c->bands ? c->lines : 1, p->across ? 0 : p->out.width);
                fprintf(out, "EOD\n");
            }
        }
    }
}

// ---- curves

/// Begins another item of the command `plot`.
static void put_comma(FILE *out, bool *begun)
{
    fprintf(out, *begun ? ", \\\n     " : "plot ");
    *begun = true;
}

/// Bands, the wider one below, and the median on them.
static void put_bands(FILE *out, const plot *p, int panel, int i, bool *begun)
{
    const curve *const c = &p->panels[panel].curves[i];
    const char *const colour = colours[style_of(p, &p->panels[panel], c) % COLOURS];
    if (!rows_of(c, 0)) return;
    for (int band = 0; band < 2; band++) {
        put_comma(out, begun);
        put_block_name(out, panel, i, -1);
        fprintf(out, " using 1:(held($%d)):(held($%d)) with filledcurves fc rgb '%s' fs transparent solid %s noborder notitle",
                2 + band, 6 - band, colour, band ? "0.3" : "0.15");
    }
    put_comma(out, begun);
    put_block_name(out, panel, i, -1);
    fprintf(out, " using 1:(held($4)) with lines lw 1.5 lc rgb '%s' notitle", colour);
}

/// A line for each world, thin if there are several. A single point could not be seen as a line.
static void put_lines(FILE *out, const plot *p, int panel, int i, bool *begun)
{
    const curve *const c = &p->panels[panel].curves[i];
    const int style = style_of(p, &p->panels[panel], c);
    for (int l = 0; l < c->lines; l++) {
        const int64_t rows = rows_of(c, l);
        if (!rows) continue;
        put_comma(out, begun);
        put_block_name(out, panel, i, l);
        fprintf(out, " using 1:(held($2)) with %s lc rgb '%s' dt %d notitle",
                rows == 1      ? "points pt 7"
                : c->lines > 1 ? "lines lw 0.8"
                               : "lines lw 1.5",
                colours[style % COLOURS], 1 + style / COLOURS % 5);
    }
}

/// Crosses where worlds froze.
static void put_ends(FILE *out, const plot *p, const panel *x)
{
    for (int i = 0; i < x->count && !p->across; i++) {
        const curve *const c = &x->curves[i];
        for (int l = 0; l < c->lines && !c->bands; l++) {
            int64_t last = c->rows - 1;
            while (last >= 0 && isnan(c->y[l * c->rows + last])) last--;
            const double t = last < 0 ? NAN : c->time[last], y = last < 0 ? NAN : c->y[l * c->rows + last];
            if (isinf(c->of->until[l]) || c->of->until[l] > p->until ||
                !(t >= p->from && t <= p->until && y >= x->low && y <= x->high))
                continue;
            fprintf(out, "set label at %.17g,%.17g point pt 2 lw 2 lc rgb '%s' front\n", t, y,
                    colours[style_of(p, x, c) % COLOURS]);
        }
    }
}

// ---- keys: curves that draw nothing, with the names of those that do

static void put_key_line(FILE *out, int style, const char *name, bool *begun)
{
    put_comma(out, begun);
    fprintf(out, "NaN with lines lw 2 lc rgb '%s' dt %d title ", colours[style % COLOURS], 1 + style / COLOURS % 5);
    put_quoted(out, name);
}

/// Beside a panel: its curves.
static void put_own_key(FILE *out, const plot *p, const panel *x, bool *begun)
{
    for (int i = 0; i < x->count; i++) put_key_line(out, style_of(p, x, &x->curves[i]), short_name(x, &x->curves[i]), begun);
}

/// Above all panels: recordings, or what the bands of the only one are.
static void put_common_key(FILE *out, const plot *p, bool *begun)
{
    char text[1000], about[300];
    for (int f = 0; f < p->nfile && by_file(p); f++) {
        timeline_describe(&p->files[f], about, sizeof about);
        snprintf(text, sizeof text, "%.600s: %s", p->names[f], about);
        put_key_line(out, f, text, begun);
    }
    if (by_file(p) || !p->bands) return;
    put_key_line(out, 0, "median of the worlds", begun);
    for (int band = 1; band >= 0; band--) {
        put_comma(out, begun);
        fprintf(out, "NaN with boxes fc rgb '%s' fs transparent solid %s noborder title '%s'", colours[0], band ? "0.45" : "0.15",
                band ? "25 to 75 %" : "5 to 95 %");
    }
}

// ---- panels

static void put_title(FILE *out, const plot *p)
{
    const timeline *const first = &p->files[0];
    const char *const scene = ctn_scene_name(first->from.scene);
    bool same = true;
    char about[300] = "";
    for (int f = 1; f < p->nfile; f++) same = same && !strcmp(ctn_scene_name(p->files[f].from.scene), scene);
    if (!by_file(p)) timeline_describe(first, about, sizeof about);
    else if (p->bands) snprintf(about, sizeof about, "median, 25 to 75 %% and 5 to 95 %% of the worlds");
    char text[700];
    snprintf(text, sizeof text, "%.300s%s%s", same ? scene : "", same && *about ? ": " : "", about);
    fprintf(out, "set label 1 ");
    put_quoted(out, text);
    fprintf(out, " at screen 0.5, screen %.6f center font ',14' noenhanced\n", 1 - 1.2 * LINE / p->out.height);
}

/// From one tick of the panel's axis to the next: 1, 2 or 5 times a power of ten, counts at least 1; of a logarithmic axis the
/// factor.
static double tick_step(const panel *x, double height)
{
    const double most = fmax(floor(height / (1.3 * LINE)), 1);  // ticks that there is room for
    if (x->logarithmic) return pow(10, fmax(ceil(log10(x->high / x->low) / most), 1));
    const double least = (x->high - x->low) / most, power = pow(10, floor(log10(least))), digit = least / power;
    const double step = (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
    return x->curves[0].what.whole ? fmax(step, 1) : step;
}

static void put_axes(FILE *out, const plot *p, const layout *l, int at)
{
    const panel *const x = &p->panels[at];
    const double whole = p->out.height, height = wanted_height(p, x) * l->scale;
    double top = l->top + at * GAP;
    for (int k = 0; k < at; k++) top += wanted_height(p, &p->panels[k]) * l->scale;
    char label[LABEL];
    const int digits = digits_of(x);
    fprintf(out, "set tmargin at screen %.6f\nset bmargin at screen %.6f\n", 1 - top / whole, 1 - (top + height) / whole);
    label_of(x, label, sizeof label);
    fprintf(out, "set label 2 ");  // where `set ylabel` puts it depends on the numbers at the axis
    put_quoted(out, label);
    if ((int)strlen(label) * LETTER <= height)
        fprintf(out, " at screen %.6f, screen %.6f center rotate by 90 noenhanced\n", 1.5 * LETTER / p->out.width,
                1 - (top + 0.5 * height) / whole);
    else
        fprintf(out, " at screen %.6f, screen %.6f left norotate front noenhanced\n", (l->left + LETTER) / (double)p->out.width,
                1 - (top + 0.5 * LINE) / whole);
    fprintf(out, "unset logscale y\nset yrange [%.17g:%.17g]\n", x->low, x->high);
    if (x->logarithmic) fprintf(out, "set logscale y\nset format y '%%.0e'\n");
    else fprintf(out, "set format y '%%.%dg'\n", digits);
    fprintf(out, "set ytics %.9g\n", tick_step(x, height));
    if (at < p->npanel - 1) return;
    fprintf(out, "set format x '%%g'\nset xlabel ");
    if (p->across) snprintf(label, sizeof label, "%s (%s)", p->across->what.name, p->across->what.unit);
    put_quoted(out, p->across ? label : "time (s)");
    fprintf(out, " noenhanced\n");
}

/// gnuplot loses lines that end hundreds of millions of ranges beyond the axis, as those of worlds that explode do. They end
/// nearer by, straight up or down as before. On a logarithmic axis zeros lie at its lower end.
static void put_held(FILE *out, const panel *x)
{
    const double far = 1e4 * (x->high - x->low);
    if (x->logarithmic) fprintf(out, "held(y) = y < %.17g ? %.17g : y\n", x->low, x->low);
    else if (!x->given) fprintf(out, "held(y) = y\n");
    else
        fprintf(out, "held(y) = y < %.17g ? %.17g : y > %.17g ? %.17g : y\n", x->low - far, x->low - far, x->high + far,
                x->high + far);
}

static void put_panel(FILE *out, const plot *p, const layout *l, int at)
{
    const panel *const x = &p->panels[at];
    const double width = p->out.width, height = p->out.height;
    bool begun = false;
    put_axes(out, p, l, at);
    put_held(out, x);
    put_ends(out, p, x);
    if (has_key(p, x))
        fprintf(out, "set key at screen %.6f, graph 1 left top Left reverse vertical maxrows %d\n",
                1 - (l->right - LETTER) / width, key_rows(p, x, l));
    else if (!at && (by_file(p) || p->bands))
        fprintf(out, "set key at screen %s, screen %.6f %s top Left reverse %s maxrows %d\n", by_file(p) ? "0.08" : "0.5",
                1 - 2 * LINE / height, by_file(p) ? "left" : "center", by_file(p) ? "vertical" : "horizontal",
                by_file(p) ? p->nfile : 1);
    else fprintf(out, "unset key\n");
    for (int i = 0; i < x->count; i++) {
        if (x->curves[i].bands) put_bands(out, p, at, i, &begun);
        else put_lines(out, p, at, i, &begun);
    }
    if (has_key(p, x)) put_own_key(out, p, x, &begun);
    else if (!at) put_common_key(out, p, &begun);
    fprintf(out, "\nunset label\n");
}

void put_plot(FILE *out, const void *what)
{
    const plot *const p = (const plot *)what;
    const layout l = lay_out(p);
    put_data(out, p);
    fprintf(out,
            "set encoding utf8\nset multiplot\nset grid lt 1 lw 0.5 lc rgb '#dddddd'\nset clip two\nset style fill noborder\n");
    fprintf(out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\n", l.left / (double)p->out.width,
            1 - l.right / (double)p->out.width);
    fprintf(out, "set key noenhanced samplen 3\nunset mytics\nset xrange [%.17g:%.17g]\nset format x ''\n", p->left, p->right);
    put_title(out, p);
    for (int k = 0; k < p->npanel; k++) put_panel(out, p, &l, k);
    fprintf(out, "unset multiplot\n");
}
